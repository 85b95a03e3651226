#include "engine/pack/boxes.h"
#include "base/sort.h"

static int64_t alignment_of(const sked_i_pack_buffers *b, int64_t i)
{
    return b->alignment == NULL ? 1 : b->alignment[i];
}

static int64_t fixed_of(const sked_i_pack_buffers *b, int64_t i)
{
    return b->fixed == NULL ? -1 : b->fixed[i];
}

/* Any packing that an engine makes stays below this sum. */
static bool adds_up(const sked_i_pack_buffers *b)
{
    const int64_t most = (int64_t)1 << 53;
    int64_t sum = 0, highest = 0;
    for (int64_t i = 0; i < b->count; i++) {
        const int64_t fixed = fixed_of(b, i), alignment = alignment_of(b, i);
        highest = fixed > highest ? fixed : highest;
        if (b->size[i] >= most || alignment >= most || highest >= most)
            return false;
        sum += b->size[i] + (alignment - 1);
        if (sum + highest >= most)
            return false;
    }
    return true;
}

/* Endpoints in order of time, what ends before what begins: the buffer times 2, and 1 where it begins. */
static sked_status sort_endpoints(const sked_i_pack_buffers *b, sked_i_keyed **out, int64_t *count,
                                  sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *items, *spare = NULL;
    int64_t n = 0;
    SKED_NEW(items, 2 * b->count);
    SKED_NEW(spare, 2 * b->count);
    for (int begins = 0; begins <= 1; begins++)
        for (int64_t i = 0; i < b->count; i++)
            if (b->size[i] > 0)
                items[n++] = (sked_i_keyed){.key = sked_i_sort_key(begins ? b->lower[i] : b->upper[i]),
                                            .value = 2 * i + begins};
    sked_i_sort_keyed(items, spare, n);
    *out = items;
    *count = n;
    items = NULL;
cleanup:
    free(items);
    free(spare);
    return st;
}

/* A section ends where a buffer ends after another has begun. */
static void cut_sections(const sked_i_keyed *at, int64_t count, const sked_i_pack_buffers *b, int32_t *place,
                         sked_i_boxes *x)
{
    bool open = false;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = at[k].value / 2;
        if (at[k].value % 2) {
            place[i] = x->n;
            x->box[x->n++] = (sked_i_box){.size = b->size[i],
                                          .alignment = alignment_of(b, i),
                                          .fixed = fixed_of(b, i),
                                          .first = x->sections,
                                          .buffer = (int32_t)i};
            open = true;
        } else {
            x->sections += open;
            open = false;
            x->box[place[i]].last = x->sections;
        }
    }
}

/* Packed down, a box lies on another one, at a fixed offset or at a multiple of its alignment. */
static void find_steps(const sked_i_pack_buffers *b, sked_i_boxes *x)
{
    for (int32_t i = 0; i < x->n; i++) {
        const sked_i_box *y = &x->box[i];
        x->step = sked_i_pack_common(x->step, y->fixed >= 0 ? y->fixed : y->alignment);
        x->unit = sked_i_pack_common(x->unit, y->size);
        if (y->fixed < 0 && y->alignment > 1)
            x->unit = sked_i_pack_common(x->unit, y->alignment);
    }
    for (int64_t i = 0; i < b->count; i++)
        if (fixed_of(b, i) >= 0)
            x->unit = sked_i_pack_common(x->unit, fixed_of(b, i));
    x->step += x->step == 0;
    x->unit += x->unit == 0;
}

static void sum_loads(sked_i_boxes *x)
{
    for (int32_t i = 0; i < x->n; i++) {
        sked_i_box *b = &x->box[i];
        b->room = (b->size + x->step - 1) / x->step * x->step;
        x->load[b->first] += b->room;
        x->load[b->last] -= b->room;
    }
    for (int32_t s = 1; s < x->sections; s++)
        x->load[s] += x->load[s - 1];
}

/* Over a section all boxes but the highest take their rooms, that one its size. */
static void find_bound(const sked_i_pack_buffers *b, sked_i_boxes *x)
{
    int64_t load = 0, spare = 0;
    for (int32_t s = 0; s < x->sections; s++)
        load = x->load[s] > load ? x->load[s] : load;
    for (int32_t i = 0; i < x->n; i++)
        if (x->box[i].room - x->box[i].size > spare)
            spare = x->box[i].room - x->box[i].size;
    x->bound = (load - spare + x->unit - 1) / x->unit * x->unit;
    for (int64_t i = 0; i < b->count; i++)
        if (fixed_of(b, i) >= 0 && fixed_of(b, i) + b->size[i] > x->bound)
            x->bound = fixed_of(b, i) + b->size[i];
}

sked_status sked_i_boxes_make(const sked_i_pack_buffers *b, sked_i_arena *arena, sked_i_boxes *out,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_boxes x = {0};
    sked_i_keyed *at = NULL;
    int32_t *place = NULL;
    int64_t count = 0;
    if (!adds_up(b))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "sizes, alignments and fixed offsets must add up to less than 2^53");
    SKED_TRY(sort_endpoints(b, &at, &count, err));
    SKED_NEW(place, b->count);
    SKED_OWN(arena, x.box, count / 2);
    cut_sections(at, count, b, place, &x);
    SKED_OWN0(arena, x.load, (int64_t)x.sections + 1);
    find_steps(b, &x);
    sum_loads(&x);
    find_bound(b, &x);
    *out = x;
cleanup:
    free(at);
    free(place);
    return st;
}
