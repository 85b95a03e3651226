#include "engine/pack/first_fit.h"

#include <string.h>

/* What lies where, by its end: a search from below meets nothing that ends below it. */
typedef struct placed {
    int64_t offset, end;
    int32_t first, last;
} placed;

struct sked_i_first_fit {
    const sked_i_boxes *x;
    placed *at; /* [n] by offset */
    int32_t count;
};

sked_status sked_i_first_fit_make(const sked_i_boxes *x, sked_i_arena *arena, sked_i_first_fit **out,
                                  sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_first_fit *f;
    SKED_OWN0(arena, f, 1);
    SKED_OWN(arena, f->at, x->n);
    f->x = x;
    *out = f;
cleanup:
    return st;
}

static int64_t lowest_place(const sked_i_first_fit *f, const sked_i_box *b)
{
    int64_t low = 0;
    for (const placed *p = f->at; p < f->at + f->count && p->offset < low + b->size; p++)
        if (p->end > low && p->first < b->last && b->first < p->last)
            low = sked_i_box_align(b, p->end);
    return low;
}

static void put(sked_i_first_fit *f, const sked_i_box *b, int64_t offset)
{
    int32_t low = 0, high = f->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (f->at[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(f->at + low + 1, f->at + low, (size_t)(f->count++ - low) * sizeof *f->at);
    f->at[low] = (placed){.offset = offset, .end = offset + b->size, .first = b->first, .last = b->last};
}

static bool is_free(const sked_i_first_fit *f, const sked_i_box *b)
{
    for (const placed *p = f->at; p < f->at + f->count && p->offset < b->fixed + b->size; p++)
        if (p->end > b->fixed && p->first < b->last && b->first < p->last)
            return false;
    return true;
}

int64_t sked_i_first_fit_run(sked_i_first_fit *f, const int32_t *order, int64_t *offset)
{
    int64_t height = 0;
    f->count = 0;
    for (int pass = 0; pass <= 1; pass++)
        for (int32_t k = 0; k < f->x->n; k++) {
            const int32_t i = order[k];
            const sked_i_box *b = &f->x->box[i];
            if ((b->fixed < 0) != (pass == 1))
                continue;
            if (pass == 0 && !is_free(f, b))
                return -1;
            offset[i] = pass == 0 ? b->fixed : lowest_place(f, b);
            put(f, b, offset[i]);
            height = offset[i] + b->size > height ? offset[i] + b->size : height;
        }
    return height;
}
