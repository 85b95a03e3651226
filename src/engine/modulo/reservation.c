/* The modulo reservation table: loads folded into one initiation interval. */
#include "engine/modulo/modulo.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_reservation_create(sked_i_arena *arena, const sked_i_loop *loop, sked_i_reservation **out,
                                      sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t slots = loop->use_ptr[loop->n] + loop->n;
    sked_i_reservation *t;
    SKED_OWN0(arena, t, 1);
    t->arena = arena;
    t->loop = loop;
    t->pools = loop->n_resources + loop->devices;
    SKED_OWN0(arena, t->pool, t->pools);
    SKED_OWN(arena, t->next, slots);
    SKED_OWN(arena, t->previous, slots);
    SKED_OWN(arena, t->slot_op, slots);
    for (int32_t k = 0; k < t->pools; k++)
        if (!SKED_OWN_GROW(arena, t->pool[k].step, t->pool[k].cap, 8))
            SKED_TRY(sked_i_no_memory(err));
    for (int32_t i = 0; i < loop->n; i++) {
        for (int64_t u = loop->use_ptr[i]; u < loop->use_ptr[i + 1]; u++)
            t->slot_op[u] = i;
        t->slot_op[loop->use_ptr[loop->n] + i] = i;
    }
    *out = t;
cleanup:
    return st;
}

void sked_i_reservation_clear(sked_i_reservation *t, int64_t ii)
{
    assert(ii > 0);
    t->ii = ii;
    t->failed = false;
    for (int32_t k = 0; k < t->pools; k++) {
        t->pool[k].step[0] = (sked_i_reservation_step){0, 0};
        t->pool[k].count = 1;
        t->pool[k].first = -1;
    }
}

/* ------------------------------------------------------------------ one pool */

/* What one op takes: `amount` for `rest` < ii from its start, and `turns` times amount all the time. */
typedef struct hold {
    int32_t pool;
    int64_t slot, amount, room, turns, rest;
} hold;

/* Hold number k of op i: its uses in order, then its device. false: past the last. */
static bool hold_at(const sked_i_reservation *t, int32_t i, int32_t device, int64_t k, hold *h)
{
    const sked_i_loop *loop = t->loop;
    const int64_t u = loop->use_ptr[i] + k, uses = loop->use_ptr[i + 1];
    if (u > uses || (u == uses && !sked_i_loop_on_device(loop, i)))
        return false;
    if (u < uses)
        *h = (hold){.pool = loop->use[u].pool,
                    .slot = u,
                    .amount = loop->use[u].amount,
                    .room = loop->room[loop->use[u].pool]};
    else
        *h = (hold){
            .pool = loop->n_resources + device, .slot = loop->use_ptr[loop->n] + i, .amount = 1, .room = 1};
    h->turns = loop->duration[i] / t->ii;
    h->rest = loop->duration[i] % t->ii;
    return true;
}

/* Index of the step that covers time x in [0, ii). */
static int32_t step_of(const sked_i_reservation_pool *pool, int64_t x)
{
    int32_t low = 0, high = pool->count;
    assert(x >= 0 && pool->count > 0 && pool->step[0].at == 0);
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (pool->step[middle].at <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Makes a step begin at x in [0, ii]; returns its index (count for x = ii). */
static int32_t cut(sked_i_reservation *t, sked_i_reservation_pool *pool, int64_t x)
{
    if (x >= t->ii)
        return pool->count;
    const int32_t k = step_of(pool, x);
    if (pool->step[k].at == x)
        return k;
    if (!SKED_OWN_GROW(t->arena, pool->step, pool->cap, (int64_t)pool->count + 1)) {
        t->failed = true;
        return k;
    }
    memmove(pool->step + k + 2, pool->step + k + 1, (size_t)(pool->count - k - 1) * sizeof *pool->step);
    assert(pool->step[k].at < x && (k + 1 == pool->count || x < pool->step[k + 2].at));
    pool->step[k + 1] = (sked_i_reservation_step){x, pool->step[k].load};
    pool->count++;
    return k + 1;
}

/* Drops steps near [from, to] that begin with the load of the one before. */
static void merge(sked_i_reservation_pool *pool, int32_t from, int32_t to)
{
    int32_t kept = from > 0 ? from - 1 : 0, k = kept + 1;
    const int32_t stop = to + 1 < pool->count ? to + 1 : pool->count;
    for (; k < stop; k++)
        if (pool->step[k].load != pool->step[kept].load)
            pool->step[++kept] = pool->step[k];
    if (kept + 1 == k)
        return;
    memmove(pool->step + kept + 1, pool->step + k, (size_t)(pool->count - k) * sizeof *pool->step);
    pool->count -= k - (kept + 1);
}

/* Adds amount on [from, to) within [0, ii]. */
static void raise_load(sked_i_reservation *t, sked_i_reservation_pool *pool, int64_t from, int64_t to,
                       int64_t amount)
{
    assert(0 <= from && from <= to && to <= t->ii);
    const int32_t a = cut(t, pool, from), b = cut(t, pool, to);
    for (int32_t k = a; k < b; k++) {
        pool->step[k].load += amount;
        assert(pool->step[k].load >= 0 || t->failed);
    }
    merge(pool, a, b);
}

static void change(sked_i_reservation *t, const hold *h, int64_t start, int64_t sign)
{
    sked_i_reservation_pool *pool = &t->pool[h->pool];
    if (h->turns > 0)
        raise_load(t, pool, 0, t->ii, sign * h->turns * h->amount);
    if (h->rest == 0)
        return;
    const int64_t begin = start % t->ii, end = begin + h->rest;
    raise_load(t, pool, begin, end < t->ii ? end : t->ii, sign * h->amount);
    if (end > t->ii)
        raise_load(t, pool, 0, end - t->ii, sign * h->amount);
}

/* Do the steps bear the whole turns of a long op? */
static bool bears_turns(const sked_i_reservation_pool *pool, const hold *h)
{
    if (h->turns == 0)
        return true;
    for (int32_t k = 0; k < pool->count; k++)
        if (pool->step[k].load + h->turns * h->amount > h->room)
            return false;
    return true;
}

/* Least delay from `from` at which the hold fits its pool, -1: none in a whole turn. O(steps). */
static int64_t fit_pool(const sked_i_reservation *t, const hold *h, int64_t from)
{
    const sked_i_reservation_pool *pool = &t->pool[h->pool];
    if (!bears_turns(pool, h))
        return -1;
    if (h->rest == 0)
        return 0;
    const int64_t x = from % t->ii, limit = h->room - (h->turns + 1) * h->amount;
    int64_t begin = x, turn = 0; /* begin of the free stretch, in unfolded time */
    for (int32_t k = step_of(pool, x);;) {
        const int64_t end = turn + (k + 1 < pool->count ? pool->step[k + 1].at : t->ii);
        if (pool->step[k].load > limit)
            begin = end;
        if (begin - x >= t->ii)
            return -1;
        if (end - begin >= h->rest)
            return begin - x;
        if (++k == pool->count) {
            k = 0;
            turn += t->ii;
        }
    }
}

/* The same towards earlier times. */
static int64_t fit_pool_before(const sked_i_reservation *t, const hold *h, int64_t from)
{
    const sked_i_reservation_pool *pool = &t->pool[h->pool];
    if (!bears_turns(pool, h))
        return -1;
    if (h->rest == 0)
        return 0;
    const int64_t x = from % t->ii, limit = h->room - (h->turns + 1) * h->amount, last = x + h->rest;
    int64_t turn = last > t->ii ? t->ii : 0, end = last; /* end of the free stretch */
    for (int32_t k = step_of(pool, last - 1 - turn);;) {
        const int64_t begin = turn + pool->step[k].at;
        if (pool->step[k].load > limit)
            end = begin;
        if (last - end >= t->ii)
            return -1;
        if (end - begin >= h->rest)
            return last - end;
        if (--k < 0) {
            k = pool->count - 1;
            turn -= t->ii;
        }
    }
}

/* ------------------------------------------------------------------ one op on all its pools */

/* Least delay, to earlier times with `before`, at which all holds of op i fit. */
static inline int64_t fit_all(const sked_i_reservation *t, int32_t i, int32_t device, int64_t from,
                              bool before)
{
    int64_t delay = 0;
    hold h;
    for (bool moved = true; moved;) {
        moved = false;
        for (int64_t k = 0; hold_at(t, i, device, k, &h); k++) {
            const int64_t more =
                before ? fit_pool_before(t, &h, from - delay) : fit_pool(t, &h, from + delay);
            if (more < 0 || delay + more >= t->ii)
                return -1;
            delay += more;
            moved = moved || (more > 0 && k > 0);
        }
    }
    return delay;
}

int64_t sked_i_reservation_fit(const sked_i_reservation *t, int32_t i, int32_t device, int64_t from)
{
    return fit_all(t, i, device, from, false);
}

int64_t sked_i_reservation_fit_before(const sked_i_reservation *t, int32_t i, int32_t device, int64_t from)
{
    return fit_all(t, i, device, from + t->ii * 2, true); /* only the residue counts; keeps times above 0 */
}

void sked_i_reservation_add(sked_i_reservation *t, int32_t i, int32_t device, int64_t start)
{
    hold h;
    assert(t->ii > 0 && start >= 0);
    for (int64_t k = 0; hold_at(t, i, device, k, &h); k++) {
        sked_i_reservation_pool *pool = &t->pool[h.pool];
        change(t, &h, start, 1);
        t->previous[h.slot] = -1;
        t->next[h.slot] = pool->first;
        if (pool->first >= 0)
            t->previous[pool->first] = (int32_t)h.slot;
        pool->first = (int32_t)h.slot;
    }
}

void sked_i_reservation_remove(sked_i_reservation *t, int32_t i, int32_t device, int64_t start)
{
    hold h;
    for (int64_t k = 0; hold_at(t, i, device, k, &h); k++) {
        sked_i_reservation_pool *pool = &t->pool[h.pool];
        change(t, &h, start, -1);
        if (t->previous[h.slot] >= 0)
            t->next[t->previous[h.slot]] = t->next[h.slot];
        else
            pool->first = t->next[h.slot];
        if (t->next[h.slot] >= 0)
            t->previous[t->next[h.slot]] = t->previous[h.slot];
    }
}

/* A folded time at which the pool is too full for the hold at `start`, -1: it fits. */
static int64_t full_at(const sked_i_reservation *t, const hold *h, int64_t start)
{
    const sked_i_reservation_pool *pool = &t->pool[h->pool];
    const int64_t x = start % t->ii;
    for (int32_t k = 0; k < pool->count; k++) {
        const int64_t begin = pool->step[k].at, end = k + 1 < pool->count ? pool->step[k + 1].at : t->ii;
        if (pool->step[k].load + h->turns * h->amount > h->room)
            return begin;
        if (pool->step[k].load + (h->turns + 1) * h->amount <= h->room || h->rest == 0)
            continue;
        /* [x, x + rest) against [begin, end) and the same one turn later */
        if (begin < x + h->rest && x < end)
            return begin > x ? begin : x;
        if (begin + t->ii < x + h->rest)
            return begin;
    }
    return -1;
}

/* Time since an op's start at folded time `when`, less than ii. */
static int64_t since(const sked_i_reservation *t, int64_t when, int64_t start)
{
    const int64_t x = when - start % t->ii;
    return x < 0 ? x + t->ii : x;
}

int32_t sked_i_reservation_blocker(const sked_i_reservation *t, int32_t i, int32_t device, int64_t start,
                                   const int64_t *starts, const int32_t *toll)
{
    hold h;
    for (int64_t k = 0; hold_at(t, i, device, k, &h); k++) {
        const int64_t when = full_at(t, &h, start);
        if (when < 0)
            continue;
        int32_t worst = -1;
        for (int32_t s = t->pool[h.pool].first; s >= 0; s = t->next[s]) {
            const int32_t other = t->slot_op[s];
            if (since(t, when, starts[other]) < t->loop->duration[other] &&
                (worst < 0 || toll[other] < toll[worst]))
                worst = other;
        }
        return worst;
    }
    return -1;
}

/* Largest load on [start, start + rest) folded. */
static int64_t peak(const sked_i_reservation *t, const hold *h, int64_t start)
{
    const sked_i_reservation_pool *pool = &t->pool[h->pool];
    const int64_t x = start % t->ii, end = x + (h->rest > 0 ? h->rest : 1);
    int64_t most = 0;
    for (int32_t k = step_of(pool, x); k < pool->count && pool->step[k].at < end; k++)
        most = pool->step[k].load > most ? pool->step[k].load : most;
    for (int32_t k = 0; k < pool->count && pool->step[k].at + t->ii < end; k++)
        most = pool->step[k].load > most ? pool->step[k].load : most;
    return most;
}

double sked_i_reservation_toll(const sked_i_reservation *t, int32_t i, int32_t device, int64_t start,
                               const int64_t *starts, const int32_t *toll)
{
    hold h;
    double sum = 0;
    for (int64_t k = 0; hold_at(t, i, device, k, &h); k++) {
        const int64_t excess = peak(t, &h, start) + (h.turns + (h.rest > 0)) * h.amount - h.room;
        double tolls = 0, amounts = 0;
        if (excess <= 0)
            continue;
        for (int32_t s = t->pool[h.pool].first; s >= 0; s = t->next[s]) {
            const int32_t other = t->slot_op[s];
            const int64_t length = t->loop->duration[other];
            if (since(t, start % t->ii, starts[other]) >= length &&
                since(t, starts[other] % t->ii, start) >= t->loop->duration[i])
                continue;
            const int64_t uses = t->loop->use_ptr[t->loop->n];
            amounts += s < uses ? (double)t->loop->use[s].amount : 1;
            tolls += toll[other];
        }
        /* only part of those in the way need to go */
        sum += amounts > 0 ? tolls * fmin(1, (double)excess / amounts) : 0;
    }
    return sum;
}
