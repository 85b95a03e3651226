/*
 * Decoders. Kernels are written once as inline functions over the number of words and instantiated for
 * one word (nearly every problem) and for many.
 */
#include "engine/decode/sgs.h"
#include "base/arena.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

/* Looks for the limit: an event of the parallel scheme takes up to 50 us at 100,000 ops. */
enum { poll_mask = 255, max_steps = 1 << 22, max_hints = 64, buckets = 2048, many = 2, large = 128 };
/* Mean durations up to which one entry per time unit is faster than a list of changes. */
enum { max_mean_plain = 48, max_mean_vector = 14 };

#define KERNEL __attribute__((always_inline)) static inline /* one copy per form of the timeline */

/* ------------------------------------------------------------------ work space */

sked_status sked_i_sgs_use_plain(sked_i_sgs *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_core *core = s->core;
    const int64_t n = core->n, w = core->words;
    int32_t last = 0;
    if (s->free_at != NULL) /* it is plain */
        return SKED_OK;
    s->serial = NULL;
    for (int32_t i = 0; s->fixed != NULL && i < n; i++)
        last = s->fixed[i] > last ? s->fixed[i] : last;
    s->steps = (int64_t)core->span + last + 1;
    s->stepwise = s->steps * w <= max_steps && core->work <= max_mean_plain * n;
    s->hinted = core->kinds <= max_hints && core->kinds * 4 <= core->n;
    SKED_OWN(&s->arena, s->hint, core->kinds + 1);
    if (s->stepwise) {
        SKED_OWN(&s->arena, s->free_at, s->steps * w);
        s->used = (int32_t)s->steps;
    } else {
        SKED_OWN(&s->arena, s->free_at, (2 * n + 3) * w);
        SKED_OWN(&s->arena, s->change, 2 * n + 3);
    }
cleanup:
    return st; /* what was made is freed with s */
}

sked_status sked_i_sgs_create(const sked_i_core *core, const sked_i_limit *limit, const int32_t *fixed,
                              sked_i_sgs **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = core->n, w = core->words;
    sked_i_sgs *s = sked_i_alloc_zero(1, sizeof *s);
    if (s == NULL)
        return sked_i_no_memory(err);
    s->core = core;
    s->limit = limit;
    s->fixed = fixed;
    s->steps = (int64_t)core->span + 1;
    const bool brief = s->steps <= max_steps && core->work <= max_mean_vector * n;
    if (fixed == NULL && sked_i_serial_fit(core, brief))
        SKED_TRY(sked_i_serial_create(&s->arena, core, brief, limit, &s->serial, err));
    else
        SKED_TRY(sked_i_sgs_use_plain(s, err));
    SKED_OWN(&s->arena, s->free_now, w);
    if (n >= large && sked_i_serial_needs_fit(core))
        SKED_OWN0(&s->arena, s->need, n + 64);
    SKED_OWN(&s->arena, s->rank, n);
    SKED_OWN(&s->arena, s->waiting, n);
    SKED_OWN(&s->arena, s->ready, n);
    SKED_OWN0(&s->arena, s->eligible, n / 64 + 1);
    SKED_OWN0(&s->arena, s->summary, n / 4096 + 1);
    SKED_OWN(&s->arena, s->heap.at, 2 * n + 1);
    SKED_OWN(&s->arena, s->bucket, buckets + 1);
    SKED_OWN(&s->arena, s->sorted, n);
    *out = s;
    return SKED_OK;
cleanup:
    sked_i_sgs_destroy(s);
    return st;
}

void sked_i_sgs_destroy(sked_i_sgs *s)
{
    if (s == NULL)
        return;
    sked_i_arena_free(&s->arena);
    free(s);
}

/* ------------------------------------------------------------------ words */

static inline bool fits(const uint64_t *free_at, const uint64_t *demand, const uint64_t *guard, int w)
{
    for (int k = 0; k < w; k++)
        if (!sked_i_fits(free_at[k], demand[k], guard[k]))
            return false;
    return true;
}

static inline bool is_nothing(const uint64_t *demand, int w)
{
    uint64_t any = 0;
    for (int k = 0; k < w; k++)
        any |= demand[k];
    return any == 0;
}

static inline void take(uint64_t *free_at, const uint64_t *demand, int w)
{
    for (int k = 0; k < w; k++)
        free_at[k] -= demand[k];
}

/* ------------------------------------------------------------------ timeline in steps */

static inline void clear_steps(sked_i_sgs *s, int w)
{
    const uint64_t *full = s->core->full;
    for (int64_t t = 0; t < s->used; t++)
        for (int k = 0; k < w; k++)
            s->free_at[t * w + k] = full[k];
    s->used = 0;
    if (s->hinted)
        memset(s->hint, 0, (size_t)s->core->kinds * sizeof *s->hint);
}

/*
 * Earliest start from t on. Looks from the far end of the window, so that a conflict skips the most;
 * what lies behind `clear` is known to fit.
 */
static inline int32_t find_steps(const sked_i_sgs *s, int32_t t, int32_t d, const uint64_t *demand, int w)
{
    const uint64_t *guard = s->core->guard;
    int32_t clear = t; /* after a conflict: steps in [t, clear) fit */
    for (int32_t u = t + d - 1; u >= clear; u--) {
        if (fits(s->free_at + (int64_t)u * w, demand, guard, w))
            continue;
        clear = t + d;
        t = u + 1;
        u = t + d;
    }
    return t;
}

static inline void take_steps(sked_i_sgs *s, int32_t t, int32_t d, const uint64_t *demand, int w)
{
    uint64_t *at = s->free_at + (int64_t)t * w;
    for (int32_t u = 0; u < d; u++)
        take(at + (int64_t)u * w, demand, w);
    s->used = t + d > s->used ? t + d : s->used;
}

/* ------------------------------------------------------------------ timeline as a list of changes */

/*
 * change[k] is a time from which free_at[k] holds until change[k + 1]; the last entry is a sentinel. Lists
 * come nearly in order of start, so insertions are near the end and move little.
 */
static inline void clear_changes(sked_i_sgs *s, int w)
{
    s->change[0] = 0;
    s->change[1] = INT32_MAX;
    memcpy(s->free_at, s->core->full, (size_t)w * sizeof *s->free_at);
    s->changes = 1;
    if (s->hinted)
        memset(s->hint, 0, (size_t)s->core->kinds * sizeof *s->hint);
}

/* Last entry at or before t. */
static inline int32_t entry_at(const sked_i_sgs *s, int32_t t)
{
    const int32_t *base = s->change;
    int32_t length = s->changes;
    while (length > 1) {
        const int32_t half = length / 2;
        base += base[half] <= t ? half : 0;
        length -= half;
    }
    return (int32_t)(base - s->change);
}

typedef struct window {
    int32_t time, first, last; /* start; entries that hold in [time, time + d) */
} window;

/*
 * Earliest window from t on. Passes over entries without room first, then looks from the far end of the
 * window as find_steps does.
 */
static inline window find_window(const sked_i_sgs *s, int32_t t, int32_t d, const uint64_t *demand, int w)
{
    const int32_t *change = s->change;
    const uint64_t *guard = s->core->guard, *free_at = s->free_at;
    int32_t first = entry_at(s, t), last = first, unseen = first;
    for (;;) {
        if (first >= unseen && !fits(free_at + (int64_t)first * w, demand, guard, w)) {
            do
                first++;
            while (!fits(free_at + (int64_t)first * w, demand, guard, w));
            t = change[first];
            last = unseen = first;
        }
        const int32_t end = t + d;
        while (change[last + 1] < end)
            last++;
        int32_t u = last;
        while (u >= unseen && fits(free_at + (int64_t)u * w, demand, guard, w))
            u--;
        if (u < unseen)
            return (window){t, first, last};
        first = u + 1;
        unseen = last + 1;
        last = first > last ? first : last;
        t = change[first];
    }
}

/* A copy of entry k becomes entry k + 1, from time t on. */
static inline void insert_change(sked_i_sgs *s, int32_t k, int32_t t, int w)
{
    const size_t after = (size_t)(s->changes - k);
    memmove(s->change + k + 2, s->change + k + 1, after * sizeof *s->change);
    memmove(s->free_at + (int64_t)(k + 1) * w, s->free_at + (int64_t)k * w,
            after * (size_t)w * sizeof *s->free_at);
    s->change[k + 1] = t;
    s->changes++;
    for (int32_t q = 0; s->hinted && q < s->core->kinds; q++)
        s->hint[q] += s->hint[q] > k;
}

static inline void take_window(sked_i_sgs *s, window at, int32_t d, const uint64_t *demand, int w)
{
    if (s->change[at.last + 1] != at.time + d)
        insert_change(s, at.last, at.time + d, w);
    if (s->change[at.first] != at.time) {
        insert_change(s, at.first, at.time, w);
        at.first++;
        at.last++;
    }
    for (int32_t k = at.first; k <= at.last; k++)
        take(s->free_at + (int64_t)k * w, demand, w);
}

/* ------------------------------------------------------------------ serial scheme */

static inline int32_t earliest(const sked_i_core *core, int32_t i, const int32_t *start)
{
    int32_t t = 0;
    for (int32_t k = core->pred_ptr[i]; k < core->pred_ptr[i + 1]; k++) {
        const int32_t at = start[core->pred[k].op] + core->pred[k].lag;
        t = at > t ? at : t;
    }
    return t;
}

/* What a fixed op that may start at t at the earliest is late by. */
static inline bool is_fixed(sked_i_sgs *s, int32_t i, int32_t t)
{
    if (s->fixed == NULL || s->fixed[i] < 0)
        return false;
    s->late += t > s->fixed[i] ? t - s->fixed[i] : 0;
    return true;
}

static inline bool poll(const sked_i_sgs *s, int32_t k)
{
    return (k & poll_mask) == poll_mask && sked_i_limit_reached(s->limit);
}

/* Fixed ops take their places first; one that finds its place taken is late by its duration. */
static inline void place_fixed(sked_i_sgs *s, int32_t *start, int w)
{
    const sked_i_core *core = s->core;
    s->late = 0;
    for (int32_t i = 0; s->fixed != NULL && i < core->n; i++) {
        const uint64_t *demand = core->demand + (int64_t)i * w;
        const int32_t d = core->duration[i], t = s->fixed[i];
        if (t < 0)
            continue;
        start[i] = t;
        if (d == 0 || is_nothing(demand, w))
            continue;
        const window at =
            s->stepwise ? (window){find_steps(s, t, d, demand, w), 0, 0} : find_window(s, t, d, demand, w);
        if (at.time != t)
            s->late += d;
        else if (s->stepwise)
            take_steps(s, t, d, demand, w);
        else
            take_window(s, at, d, demand, w);
    }
}

/* The earliest place of op i from t on; taken. hint: no room for its kind before that step or entry. */
KERNEL int32_t place(sked_i_sgs *s, int32_t i, int32_t t, int w, bool steps)
{
    const sked_i_core *core = s->core;
    const uint64_t *demand = core->demand + (int64_t)i * w;
    const int32_t d = core->duration[i];
    if (s->hinted) {
        int32_t *hint = &s->hint[core->kind[i]];
        while (!fits(s->free_at + (int64_t)*hint * w, demand, core->guard, w))
            ++*hint;
        const int32_t at = steps ? *hint : s->change[*hint];
        t = at > t ? at : t;
    }
    if (steps) {
        t = find_steps(s, t, d, demand, w);
        take_steps(s, t, d, demand, w);
        return t;
    }
    const window at = find_window(s, t, d, demand, w);
    take_window(s, at, d, demand, w);
    return at.time;
}

KERNEL int32_t serial(sked_i_sgs *s, const int32_t *list, int32_t cutoff, int32_t *start, int w, bool steps)
{
    const sked_i_core *core = s->core;
    int32_t makespan = 0;
    if (steps)
        clear_steps(s, w);
    else
        clear_changes(s, w);
    place_fixed(s, start, w);
    for (int32_t k = 0; k < core->n; k++) {
        const int32_t i = list[k], d = core->duration[i];
        int32_t t = earliest(core, i, start);
        if (is_fixed(s, i, t))
            t = s->fixed[i];
        else if (d > 0 && !is_nothing(core->demand + (int64_t)i * w, w))
            t = place(s, i, t, w, steps);
        start[i] = t;
        if (t + core->tail[i] > cutoff || poll(s, k))
            return SKED_I_ABORTED;
        makespan = t + d > makespan ? t + d : makespan;
    }
    return makespan;
}

int32_t sked_i_sgs_serial(sked_i_sgs *s, const int32_t *list, int32_t cutoff, int32_t *start)
{
    const int32_t w = s->core->words;
    if (s->serial != NULL)
        return sked_i_serial_run(s->serial, list, cutoff, start);
    if (s->stepwise)
        return w == 1 ? serial(s, list, cutoff, start, 1, true) : serial(s, list, cutoff, start, w, true);
    return w == 1 ? serial(s, list, cutoff, start, 1, false) : serial(s, list, cutoff, start, w, false);
}

/* ------------------------------------------------------------------ parallel scheme */

static inline void admit(sked_i_sgs *s, int32_t i)
{
    const int32_t r = s->rank[i];
    s->eligible[r >> 6] |= (uint64_t)1 << (r & 63);
    s->summary[r >> 12] |= (uint64_t)1 << (r >> 6 & 63);
}

/* Events: op i finishes (2 i) or becomes ready (2 i + 1) at a time. */
static inline uint64_t event(int32_t time, int32_t i, int ready)
{
    return (uint64_t)(uint32_t)time << 32 | (uint32_t)(2 * i + ready);
}

/* One predecessor of j has started (general lags) or finished (standard ones). */
static inline void release(sked_i_sgs *s, int32_t j, int32_t at, int32_t now)
{
    s->ready[j] = at > s->ready[j] ? at : s->ready[j];
    if (--s->waiting[j] > 0)
        return;
    if (s->ready[j] <= now) {
        admit(s, j);
        s->again = true;
    } else {
        sked_i_word_heap_push(&s->heap, event(s->ready[j], j, 1));
    }
}

static inline void release_all(sked_i_sgs *s, int32_t i, int32_t started, int32_t now)
{
    const sked_i_core *core = s->core;
    for (int32_t k = core->succ_ptr[i]; k < core->succ_ptr[i + 1]; k++)
        release(s, core->succ[k].op, started + core->succ[k].lag, now);
}

static void begin_parallel(sked_i_sgs *s, const int32_t *list)
{
    const sked_i_core *core = s->core;
    s->heap.count = 0;
    memset(s->eligible, 0, ((size_t)core->n / 64 + 1) * sizeof *s->eligible);
    memset(s->summary, 0, ((size_t)core->n / 4096 + 1) * sizeof *s->summary);
    for (int32_t k = 0; k < core->n; k++)
        s->rank[list[k]] = k;
    for (int32_t k = 0; s->need != NULL && k < core->n; k++)
        s->need[k] = core->duration[list[k]] > 0 ? (uint32_t)core->demand[list[k]] : 0;
    for (int32_t i = 0; i < core->n; i++) {
        s->waiting[i] = core->pred_ptr[i + 1] - core->pred_ptr[i];
        s->ready[i] = 0;
        if (s->waiting[i] == 0)
            admit(s, i);
    }
}

/* Starts what fits in one block of 4096 ranks; returns how many started. */
static inline int32_t start_block(sked_i_sgs *s, int32_t block, const int32_t *list, uint64_t *free_now,
                                  int32_t now, int32_t *start, int w)
{
    const sked_i_core *core = s->core;
    int32_t started = 0;
    for (uint64_t words = s->summary[block]; words != 0; words &= words - 1) {
        const int32_t at = block * 64 + __builtin_ctzll(words);
        uint64_t bits = s->eligible[at];
        if (s->need != NULL && __builtin_popcountll(bits) > many) /* drop those that do not fit at once */
            bits &= sked_i_serial_needs_met(s->need + (int64_t)at * 64, free_now[0], core->guard[0]);
        for (; bits != 0; bits &= bits - 1) {
            const uint64_t bit = bits & -bits;
            const int32_t i = list[at * 64 + __builtin_ctzll(bits)], d = core->duration[i];
            const uint64_t *demand = core->demand + (int64_t)i * w;
            if (d > 0 && !fits(free_now, demand, core->guard, w))
                continue;
            s->eligible[at] &= ~bit;
            start[i] = now;
            started++;
            if (d > 0) {
                take(free_now, demand, w);
                sked_i_word_heap_push(&s->heap, event(now + d, i, 0));
            }
            if (d == 0 || !core->standard)
                release_all(s, i, now, now);
        }
        if (s->eligible[at] == 0)
            s->summary[block] &= ~((uint64_t)1 << (at & 63));
    }
    return started;
}

/* Moves to the next event and takes all that happen there. Something always runs while ops are left. */
static inline void advance(sked_i_sgs *s, uint64_t *free_now, int32_t *now, const int32_t *start, int w)
{
    const sked_i_core *core = s->core;
    assert(s->heap.count > 0);
    *now = (int32_t)(s->heap.at[0] >> 32);
    while (s->heap.count > 0 && (int32_t)(s->heap.at[0] >> 32) == *now) {
        const uint32_t item = (uint32_t)sked_i_word_heap_pop(&s->heap);
        const int32_t i = (int32_t)(item >> 1);
        if (item & 1) {
            admit(s, i);
            continue;
        }
        for (int k = 0; k < w; k++)
            free_now[k] += core->demand[(int64_t)i * w + k];
        if (core->standard)
            release_all(s, i, start[i], *now);
    }
}

static inline int32_t parallel(sked_i_sgs *s, const int32_t *list, int32_t *start, int w)
{
    uint64_t *free_now = s->free_now;
    const sked_i_core *core = s->core;
    const int32_t blocks = core->n / 4096 + 1;
    int32_t now = 0, makespan = 0, left = core->n;
    memcpy(free_now, core->full, (size_t)w * sizeof *free_now);
    begin_parallel(s, list);
    for (int32_t events = 0; left > 0; events++) {
        s->again = false; /* set where an op that starts makes others eligible at once */
        for (int32_t b = 0; b < blocks; b++)
            if (s->summary[b] != 0)
                left -= start_block(s, b, list, free_now, now, start, w);
        if (!s->again && left > 0)
            advance(s, free_now, &now, start, w);
        if (poll(s, events))
            return SKED_I_ABORTED;
    }
    for (int32_t i = 0; i < core->n; i++)
        makespan = start[i] + core->duration[i] > makespan ? start[i] + core->duration[i] : makespan;
    return makespan;
}

int32_t sked_i_sgs_parallel(sked_i_sgs *s, const int32_t *list, int32_t *start)
{
    return s->core->words == 1 ? parallel(s, list, start, 1) : parallel(s, list, start, s->core->words);
}

/* ------------------------------------------------------------------ lists from keys */

/* One stable pass of counting sort by digit (key >> shift) & mask. */
static void sort_pass(sked_i_sgs *s, const int32_t *key, int shift, int32_t mask, const int32_t *from,
                      int32_t *to)
{
    const int32_t n = s->core->n;
    int32_t *bucket = s->bucket;
    memset(bucket, 0, ((size_t)mask + 2) * sizeof *bucket);
    for (int32_t i = 0; i < n; i++)
        bucket[(key[i] >> shift & mask) + 1]++;
    for (int32_t d = 0; d < mask; d++)
        bucket[d + 1] += bucket[d];
    for (int32_t k = 0; k < n; k++) {
        const int32_t i = from ? from[k] : k;
        to[bucket[key[i] >> shift & mask]++] = i;
    }
}

/* Makes the order topological: the first op of the sorted list whose predecessors are all out comes next. */
static void repair(sked_i_sgs *s, int32_t *list)
{
    const sked_i_core *core = s->core;
    s->heap.count = 0;
    memcpy(s->sorted, list, (size_t)core->n * sizeof *list);
    for (int32_t k = 0; k < core->n; k++)
        s->rank[list[k]] = k;
    for (int32_t i = 0; i < core->n; i++)
        if ((s->waiting[i] = core->pred_ptr[i + 1] - core->pred_ptr[i]) == 0)
            sked_i_word_heap_push(&s->heap, (uint64_t)s->rank[i]);
    for (int32_t k = 0; k < core->n; k++) {
        const int32_t i = s->sorted[sked_i_word_heap_pop(&s->heap)];
        list[k] = i;
        for (int32_t q = core->succ_ptr[i]; q < core->succ_ptr[i + 1]; q++)
            if (--s->waiting[core->succ[q].op] == 0)
                sked_i_word_heap_push(&s->heap, (uint64_t)s->rank[core->succ[q].op]);
    }
}

/* Sorts what one pass has brought near its place. False, and no use, where it was not near. */
static bool insertion_sort(const int32_t *key, int32_t n, int32_t *list)
{
    int64_t moves = 8 * (int64_t)n;
    for (int32_t k = 1; k < n && moves > 0; k++) {
        const int32_t i = list[k];
        int32_t at = k;
        for (; at > 0 && key[list[at - 1]] > key[i]; at--)
            list[at] = list[at - 1];
        list[at] = i;
        moves -= k - at;
    }
    return moves > 0;
}

/* Three passes: up to 32 bits. */
static void sort_digits(sked_i_sgs *s, const int32_t *key, int32_t *list)
{
    sort_pass(s, key, 0, 2047, NULL, list);
    sort_pass(s, key, 11, 2047, list, s->sorted);
    sort_pass(s, key, 22, 1023, s->sorted, list);
}

void sked_i_sgs_sort(sked_i_sgs *s, const int32_t *key, bool topological, int32_t *list)
{
    const int32_t n = s->core->n;
    int32_t largest = 0, mask = 63, shift = 0; /* digits are masks: all ones */
    for (int32_t i = 0; i < n; i++) {
        assert(key[i] >= 0);
        largest = key[i] > largest ? key[i] : largest;
    }
    while (mask < largest && mask < buckets - 1 && (mask < 2 * n || largest < buckets))
        mask = 2 * mask + 1;
    while (largest >> shift > mask)
        shift++;
    sort_pass(s, key, shift, mask, NULL, list);
    if (shift > 0 && !insertion_sort(key, n, list))
        sort_digits(s, key, list);
    if (!topological)
        repair(s, list);
}

void sked_i_sgs_shift(const sked_i_core *core, sked_i_rng *rng, int32_t *list, int32_t *position)
{
    const int32_t from = (int32_t)sked_i_rng_below(rng, (uint64_t)core->n), i = list[from];
    int32_t low = 0, high = core->n - 1;
    for (int32_t k = core->pred_ptr[i]; k < core->pred_ptr[i + 1]; k++) {
        const int32_t at = position[core->pred[k].op] + 1;
        low = at > low ? at : low;
    }
    for (int32_t k = core->succ_ptr[i]; k < core->succ_ptr[i + 1]; k++) {
        const int32_t at = position[core->succ[k].op] - 1;
        high = at < high ? at : high;
    }
    assert(low <= from && from <= high);
    const int32_t to = low + (int32_t)sked_i_rng_below(rng, (uint64_t)(high - low) + 1);
    const int32_t step = to > from ? 1 : -1;
    for (int32_t k = from; k != to; k += step) {
        list[k] = list[k + step];
        position[list[k]] = k;
    }
    list[to] = i;
    position[i] = to;
}
