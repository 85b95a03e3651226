#include "engine/pack/pack.h"
#include "base/sort.h"
#include "engine/pack/first_fit.h"

#include <string.h>

enum { orders = 4 };

static uint64_t key_of(const sked_i_box *b, int kind)
{
    const double length = (double)(b->last - b->first), size = (double)b->size;
    const double keys[orders] = {size, length, size * length, -(double)b->first};
    return ~sked_i_sort_key(keys[kind]);
}

/* The best of first fits in several orders: largest first by one key or another. */
static sked_status pack_in_order(const sked_i_boxes *x, const sked_i_pack_effort *e, int64_t *offset,
                                 int64_t *height, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena arena = {0};
    sked_i_first_fit *fit;
    sked_i_keyed *item, *spare;
    int32_t *order;
    int64_t *found;
    SKED_OWN(&arena, item, x->n);
    SKED_OWN(&arena, spare, x->n);
    SKED_OWN(&arena, order, x->n);
    SKED_OWN(&arena, found, x->n);
    SKED_TRY(sked_i_first_fit_make(x, &arena, &fit, err));
    for (int kind = 0; kind < orders && (kind == 0 || !sked_i_limit_heard(e->limit)); kind++) {
        for (int32_t i = 0; i < x->n; i++)
            item[i] = (sked_i_keyed){.key = key_of(&x->box[i], kind), .value = i};
        sked_i_sort_keyed(item, spare, x->n);
        for (int32_t k = 0; k < x->n; k++)
            order[k] = (int32_t)item[k].value;
        const int64_t reached = sked_i_first_fit_run(fit, order, found);
        if (kind > 0 && reached >= *height)
            continue;
        *height = reached;
        memcpy(offset, found, (size_t)x->n * sizeof *offset);
    }
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

static void hand_over(const sked_i_pack_buffers *b, const sked_i_boxes *x, const int64_t *found,
                      int64_t height, int64_t *offset, sked_i_packing *out)
{
    for (int64_t i = 0; i < b->count; i++) {
        offset[i] = b->fixed != NULL && b->fixed[i] >= 0 ? b->fixed[i] : 0;
        height = offset[i] + b->size[i] > height ? offset[i] + b->size[i] : height;
    }
    for (int32_t i = 0; i < x->n; i++)
        offset[x->box[i].buffer] = found[i];
    out->height = height;
}

sked_status sked_i_pack(const sked_i_pack_buffers *b, const sked_i_pack_effort *e, int64_t *offset,
                        sked_i_packing *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena arena = {0};
    sked_i_boxes x;
    int64_t *found, height = 0;
    SKED_TRY(sked_i_boxes_make(b, &arena, &x, err));
    SKED_OWN(&arena, found, x.n);
    SKED_TRY(pack_in_order(&x, e, found, &height, err));
    *out = (sked_i_packing){.height = -1, .bound = x.bound, .infeasible = height < 0};
    if (height < 0)
        goto cleanup;
    hand_over(b, &x, found, height, offset, out);
    out->infeasible = e->capacity >= 0 && x.bound > e->capacity;
cleanup:
    sked_i_arena_free(&arena);
    return st;
}
