#include "engine/pack/first_fit.h"
#include "base/sort.h"

#include <string.h>

struct sked_i_first_fit {
    const sked_i_boxes *x;
    int32_t leaves; /* a power of two */
    int32_t *until; /* [2 * leaves] tree over boxes, which are in order of their begin: the latest end of
                       those that are placed, 0: none is */
    sked_i_keyed *near, *spare; /* [n] placed boxes that meet the one at hand, by offset */
    int32_t n_near;
};

sked_status sked_i_first_fit_make(const sked_i_boxes *x, sked_i_arena *arena, sked_i_first_fit **out,
                                  sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_first_fit *f;
    SKED_OWN0(arena, f, 1);
    f->x = x;
    for (f->leaves = 1; f->leaves < x->n && f->leaves < 1 << 30;)
        f->leaves *= 2;
    SKED_OWN(arena, f->until, 2 * (int64_t)f->leaves);
    SKED_OWN(arena, f->near, x->n);
    SKED_OWN(arena, f->spare, x->n);
    *out = f;
cleanup:
    return st;
}

/* Adds the placed boxes below a node that meet b; `first` is the node's first box, `size` their number. */
static void gather(sked_i_first_fit *f, const sked_i_box *b, const int64_t *offset, int64_t node,
                   int32_t first, int32_t size)
{
    if (f->until[node] <= b->first || first >= f->x->n || f->x->box[first].first >= b->last)
        return;
    if (size == 1) {
        f->near[f->n_near++] = (sked_i_keyed){.key = (uint64_t)offset[first], .value = first};
        return;
    }
    gather(f, b, offset, 2 * node, first, size / 2);
    gather(f, b, offset, 2 * node + 1, first + size / 2, size / 2);
}

static void find_near(sked_i_first_fit *f, const sked_i_box *b, const int64_t *offset)
{
    f->n_near = 0;
    gather(f, b, offset, 1, 0, f->leaves);
    sked_i_sort_keyed(f->near, f->spare, f->n_near);
}

/* The lowest free offset from `low` on. */
static int64_t lowest_place(const sked_i_first_fit *f, const sked_i_box *b, int64_t low)
{
    for (int32_t k = 0; k < f->n_near && (int64_t)f->near[k].key < low + b->size; k++) {
        const int64_t end = (int64_t)f->near[k].key + f->x->box[f->near[k].value].size;
        if (end > low)
            low = sked_i_box_align(b, end);
    }
    return low;
}

static void put(sked_i_first_fit *f, int32_t i)
{
    const int32_t last = f->x->box[i].last;
    for (int64_t node = (int64_t)f->leaves + i; node > 0 && f->until[node] < last; node /= 2)
        f->until[node] = last;
}

/* Boxes in the order, those that are fixed or the others. false: fixed boxes overlap. */
static bool place_all(sked_i_first_fit *f, const int32_t *order, bool fixed, const sked_i_limit *limit,
                      int64_t *offset, int64_t *height)
{
    enum { steps_per_look = 1 << 16 };
    int64_t steps = steps_per_look; /* at the next look */
    bool late = false;
    for (int32_t k = 0; k < f->x->n; k++) {
        const int32_t i = order[k];
        const sked_i_box *b = &f->x->box[i];
        if ((b->fixed >= 0) != fixed)
            continue;
        f->n_near = 0;
        if (!late)
            find_near(f, b, offset);
        offset[i] = late ? sked_i_box_align(b, *height) : lowest_place(f, b, fixed ? b->fixed : 0);
        if (fixed && offset[i] != b->fixed)
            return false;
        put(f, i);
        *height = offset[i] + b->size > *height ? offset[i] + b->size : *height;
        steps -= 16 + f->n_near;
        if (!fixed && steps < 0) {
            steps = steps_per_look;
            late = late || sked_i_limit_heard(limit);
        }
    }
    return true;
}

int64_t sked_i_first_fit_run(sked_i_first_fit *f, const int32_t *order, const sked_i_limit *limit,
                             int64_t *offset)
{
    int64_t height = 0;
    memset(f->until, 0, 2 * (size_t)f->leaves * sizeof *f->until);
    if (!place_all(f, order, true, limit, offset, &height))
        return -1;
    place_all(f, order, false, limit, offset, &height);
    return height;
}
