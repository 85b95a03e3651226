/* A tree of maxima with amounts that are added to whole subtrees. */
#include "engine/memory/memory_engine.h"

#include <assert.h>

sked_status sked_i_reserve_make(sked_i_arena *arena, int32_t n, sked_i_reserve *r, sked_error *err)
{
    sked_status st = SKED_OK;
    *r = (sked_i_reserve){.leaves = 1};
    while (r->leaves < n)
        r->leaves *= 2;
    SKED_OWN(arena, r->most, 2 * (int64_t)r->leaves);
    SKED_OWN(arena, r->add, 2 * (int64_t)r->leaves);
cleanup:
    return st;
}

static void pull(sked_i_reserve *r, int64_t k)
{
    r->most[k] = fmax(r->most[2 * k], r->most[2 * k + 1]) + r->add[k];
}

static void pull_above(sked_i_reserve *r, int64_t k)
{
    while ((k /= 2) > 0)
        pull(r, k);
}

void sked_i_reserve_fill(sked_i_reserve *r, const double *value, int32_t n)
{
    assert(n <= r->leaves);
    for (int32_t k = 0; k < r->leaves; k++)
        r->most[r->leaves + k] = k < n ? value[k] : -INFINITY;
    for (int64_t k = 0; k < 2 * (int64_t)r->leaves; k++)
        r->add[k] = 0;
    for (int64_t k = (int64_t)r->leaves - 1; k > 0; k--)
        pull(r, k);
}

static void apply(sked_i_reserve *r, int64_t k, double amount)
{
    r->most[k] += amount;
    r->add[k] += amount;
}

void sked_i_reserve_add(sked_i_reserve *r, int32_t from, int32_t to, double amount)
{
    if (from > to)
        return;
    assert(from >= 0 && to < r->leaves);
    const int64_t first = (int64_t)r->leaves + from, last = (int64_t)r->leaves + to;
    for (int64_t a = first, b = last + 1; a < b; a /= 2, b /= 2) {
        if (a & 1)
            apply(r, a++, amount);
        if (b & 1)
            apply(r, --b, amount);
    }
    pull_above(r, first);
    pull_above(r, last);
}

double sked_i_reserve_drop(sked_i_reserve *r, int32_t place)
{
    assert(place >= 0 && place < r->leaves);
    const int64_t k = (int64_t)r->leaves + place;
    const double was = r->most[k];
    r->most[k] = -INFINITY;
    pull_above(r, k);
    return was;
}

void sked_i_reserve_restore(sked_i_reserve *r, int32_t place, double was)
{
    const int64_t k = (int64_t)r->leaves + place;
    r->most[k] = was;
    pull_above(r, k);
}
