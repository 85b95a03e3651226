#include "engine/pack/skyline.h"

#include <assert.h>
#include <string.h>

static sked_status list_fixed(sked_i_skyline *k, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(k->arena, k->fixed, k->x->n);
    for (int32_t i = 0; i < k->x->n; i++) {
        const int64_t offset = k->x->box[i].fixed;
        int32_t at = k->n_fixed;
        if (offset < 0)
            continue;
        for (; at > 0 && k->x->box[k->fixed[at - 1]].fixed > offset; at--)
            k->fixed[at] = k->fixed[at - 1];
        k->fixed[at] = i;
        k->n_fixed++;
    }
cleanup:
    return st;
}

sked_status sked_i_skyline_make(const sked_i_boxes *x, sked_i_arena *arena, sked_i_skyline *out,
                                sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_skyline k = {.x = x, .arena = arena};
    SKED_OWN(arena, k.least, x->n);
    SKED_OWN(arena, k.placed, x->n);
    SKED_OWN(arena, k.floor, x->sections);
    SKED_OWN(arena, k.left, x->sections);
    SKED_OWN(arena, k.acc, x->sections);
    SKED_OWN(arena, k.resting, x->sections);
    SKED_OWN(arena, k.crossing, x->sections);
    SKED_OWN(arena, k.dirty, x->sections);
    SKED_OWN0(arena, k.is_dirty, x->sections);
    SKED_TRY(list_fixed(&k, err));
    *out = k;
cleanup:
    return st;
}

/* The lowest offset from `low` on that is aligned and clear of fixed boxes. */
static int64_t clear_of_fixed(const sked_i_skyline *k, const sked_i_box *b, int64_t low)
{
    low = sked_i_box_align(b, low);
    for (int32_t q = 0; q < k->n_fixed; q++) {
        const sked_i_box *f = &k->x->box[k->fixed[q]];
        if (low < f->fixed + f->room && f->fixed < low + b->size && sked_i_boxes_meet(b, f))
            low = sked_i_box_align(b, f->fixed + f->room);
    }
    return low;
}

static bool note(sked_i_skyline *k, int32_t which, int64_t before, int32_t resting)
{
    const int64_t most = 65536 + 256 * (int64_t)k->x->n;
    if (!k->keep)
        return true;
    if (k->n_changes == most || !SKED_OWN_GROW(k->arena, k->change, k->cap, k->n_changes + 1)) {
        k->full = true;
        return false;
    }
    k->change[k->n_changes++] = (sked_i_skyline_change){.which = which, .resting = resting, .before = before};
    return true;
}

static void soil(sked_i_skyline *k, int32_t section)
{
    if (!k->is_dirty[section])
        k->dirty[k->n_dirty++] = section;
    k->is_dirty[section] = true;
}

/* A box cannot lie below `low`. */
static bool lift(sked_i_skyline *k, int32_t box, int64_t low)
{
    const sked_i_box *b = &k->x->box[box];
    const int64_t before = k->least[box];
    if (b->fixed >= 0)
        return low <= b->fixed;
    low = clear_of_fixed(k, b, low);
    if (low + b->size > k->capacity || !note(k, box, before, 0))
        return false;
    k->least[box] = low;
    for (int32_t s = b->first; s < b->last; s++)
        if (k->floor[s] == before && !k->is_dirty[s] && --k->resting[s] == 0)
            soil(k, s);
    return true;
}

static void see_least(sked_i_skyline *k, int32_t section, int64_t least)
{
    if (least < k->acc[section]) {
        k->acc[section] = least;
        k->resting[section] = 0;
    }
    k->resting[section] += least == k->acc[section];
}

/* Lowest leasts of dirty sections, into acc. */
static void scan_dirty(sked_i_skyline *k, const int32_t *open, int32_t n)
{
    int32_t low = k->x->sections, high = 0;
    for (int32_t q = 0; q < k->n_dirty; q++) {
        const int32_t s = k->dirty[q];
        k->acc[s] = INT64_MAX;
        k->resting[s] = 0;
        low = s < low ? s : low;
        high = s > high ? s : high;
    }
    for (int32_t q = 0; q < n; q++) {
        const sked_i_box *b = &k->x->box[open[q]];
        const int32_t first = b->first > low ? b->first : low, last = b->last <= high ? b->last : high + 1;
        for (int32_t s = first; s < last; s++)
            if (k->is_dirty[s])
                see_least(k, s, k->least[open[q]]);
    }
}

/* Sets the floors of dirty sections. */
static bool find_floors(sked_i_skyline *k, const int32_t *open, int32_t n)
{
    bool fits = true;
    scan_dirty(k, open, n);
    for (int32_t q = 0; q < k->n_dirty; q++) {
        const int32_t s = k->dirty[q];
        k->is_dirty[s] = false;
        if (k->left[s] == 0)
            continue;
        k->floor[s] = k->acc[s];
        fits = fits && k->floor[s] + k->left[s] <= k->ceiling;
    }
    k->n_dirty = 0;
    return fits;
}

/* Open boxes that meet `range` lie at `low` or above; then floors follow. */
static bool lift_all(sked_i_skyline *k, const sked_i_box *range, int64_t low, const int32_t *open, int32_t n)
{
    bool fits = true;
    for (int32_t q = 0; q < n && fits; q++)
        if (k->least[open[q]] < low && sked_i_boxes_meet(range, &k->x->box[open[q]]))
            fits = lift(k, open[q], low);
    for (int32_t q = 0; q < k->n_dirty && fits; q++)
        fits = note(k, ~k->dirty[q], k->floor[k->dirty[q]], 0);
    if (fits)
        return find_floors(k, open, n);
    for (int32_t q = 0; q < k->n_dirty; q++)
        k->is_dirty[k->dirty[q]] = false;
    k->n_dirty = 0;
    return false;
}

bool sked_i_skyline_place(sked_i_skyline *k, int32_t box, const int32_t *open, int32_t n)
{
    const sked_i_box *b = &k->x->box[box];
    for (int32_t s = b->first; s < b->last; s++)
        if (!note(k, ~s, k->floor[s], k->resting[s]))
            return false;
    k->placed[k->n_placed++] = box;
    for (int32_t s = b->first; s < b->last; s++) {
        k->left[s] -= b->room;
        k->crossing[s] -= s > b->first;
        soil(k, s);
    }
    return lift_all(k, b, k->least[box] + b->room, open, n);
}

bool sked_i_skyline_raise(sked_i_skyline *k, int32_t section, int64_t floor, const int32_t *open, int32_t n)
{
    const sked_i_box range = {.first = section, .last = section + 1};
    if (!note(k, ~section, k->floor[section], k->resting[section]))
        return false;
    soil(k, section);
    return lift_all(k, &range, floor, open, n);
}

static void give_back(sked_i_skyline *k, const sked_i_skyline_change *c)
{
    if (c->which < 0) {
        k->floor[~c->which] = c->before;
        k->resting[~c->which] = c->resting;
        return;
    }
    const sked_i_box *b = &k->x->box[c->which];
    k->least[c->which] = c->before;
    for (int32_t s = b->first; s < b->last; s++)
        k->resting[s] += k->floor[s] == c->before;
}

void sked_i_skyline_undo(sked_i_skyline *k, sked_i_skyline_mark mark)
{
    while (k->n_changes > mark.changes)
        give_back(k, &k->change[--k->n_changes]);
    while (k->n_placed > mark.placed) {
        const sked_i_box *b = &k->x->box[k->placed[--k->n_placed]];
        for (int32_t s = b->first; s < b->last; s++) {
            k->left[s] += b->room;
            k->crossing[s] += s > b->first;
        }
    }
}

bool sked_i_skyline_clear(sked_i_skyline *k, int64_t capacity, bool keep, const int32_t *open)
{
    const sked_i_boxes *x = k->x;
    bool fits = true;
    k->capacity = capacity;
    k->keep = keep;
    k->full = false;
    k->ceiling = (capacity + x->step - 1) / x->step * x->step;
    k->n_changes = k->n_placed = 0;
    memset(k->crossing, 0, (size_t)x->sections * sizeof *k->crossing);
    memcpy(k->left, x->load, (size_t)x->sections * sizeof *k->left);
    for (int32_t i = 0; i < x->n; i++) {
        const sked_i_box *b = &x->box[i];
        k->least[i] = b->fixed >= 0 ? b->fixed : clear_of_fixed(k, b, 0);
        fits = fits && k->least[i] + b->size <= capacity;
        for (int32_t s = b->first + 1; s < b->last; s++)
            k->crossing[s]++;
    }
    for (int32_t s = 0; s < x->sections; s++)
        soil(k, s);
    return find_floors(k, open, x->n) && fits;
}

/* Insertion: little moves from one placement to the next. */
static void sort_by_least(const sked_i_skyline *k, int32_t *open, int32_t n)
{
    for (int32_t q = 1; q < n; q++) {
        const int32_t box = open[q];
        int32_t at = q;
        for (; at > 0 && k->least[open[at - 1]] > k->least[box]; at--)
            open[at] = open[at - 1];
        open[at] = box;
    }
}

bool sked_i_skyline_fits(sked_i_skyline *k, int32_t *open, int32_t n, int32_t first, int32_t last)
{
    sort_by_least(k, open, n);
    memset(k->acc + first, 0, (size_t)(last - first) * sizeof *k->acc);
    for (int32_t q = n - 1; q >= 0; q--) {
        const sked_i_box *b = &k->x->box[open[q]];
        const int64_t most = k->ceiling - k->least[open[q]] - b->room;
        for (int32_t s = b->first; s < b->last; s++) {
            if (k->acc[s] > most)
                return false;
            k->acc[s] += b->room;
        }
    }
    return true;
}
