#include "engine/decode/serial.h"

#include "engine/decode/sgs.h"

#include <string.h>

/* Entries before and behind the events that vectors may touch; chunk: events compared at once. */
enum { pad = 128, chunk = 32, lanes = 8, near_chunks = 2 };

/* ------------------------------------------------------------------ work space */

/* Entries of the timeline, with what vectors may touch around them. */
static int64_t capacity_of(const sked_i_core *core, bool stepwise)
{
    return (stepwise ? (int64_t)core->span : 2 * (int64_t)core->n) + 2 + 2 * (int64_t)pad + lanes;
}

/* Rows of four; returns the number of entries. */
static int64_t row_entries(const sked_i_core *core)
{
    int64_t entries = 0;
    for (int32_t i = 0; i < core->n; i++)
        entries += ((int64_t)core->pred_ptr[i + 1] - core->pred_ptr[i] + 3) / 4 * 4;
    return entries;
}

/* The next place where a vector may begin. */
static void *align(void *at)
{
    return (char *)at + (32 - (uintptr_t)at % 32) % 32;
}

static void fill_slots(sked_i_serial *v)
{
    const sked_i_core *core = v->core;
    int32_t at = 0;
    for (int32_t i = 0; i < core->n; i++) {
        const int32_t begin = core->pred_ptr[i], degree = core->pred_ptr[i + 1] - begin;
        sked_i_serial_slot *x = &v->slot[i];
        *x = (sked_i_serial_slot){.row = at, .duration = core->duration[i], .tail = core->tail[i]};
        x->kind = core->kind[i];
        x->demand = core->duration[i] > 0 ? core->demand[i] : 0;
        for (int32_t k = 0; k < degree || k % 4 != 0; k++) {
            const sked_i_core_arc arc = core->pred[begin + (k < degree ? k : degree - 1)];
            v->source[at] = arc.op;
            v->lag[at++] = arc.lag;
        }
        x->row_end = at;
    }
}

sked_status sked_i_serial_create(sked_i_arena *arena, const sked_i_core *core, bool stepwise,
                                 const sked_i_limit *limit, sked_i_serial **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t capacity = capacity_of(core, stepwise), entries = row_entries(core);
    sked_i_serial *v;
    SKED_OWN0(arena, v, 1);
    v->core = core;
    v->limit = limit;
    v->wide = core->guard[0] >> 32 != 0;
    v->stepwise = stepwise;
    v->count = (int32_t)(capacity - 2 * pad - lanes);
    SKED_OWN(arena, v->slot, core->n);
    SKED_OWN(arena, v->source, entries);
    SKED_OWN(arena, v->lag, entries);
    SKED_OWN(arena, v->mark, core->n);
    SKED_OWN(arena, v->hint, core->kinds + 1);
    SKED_OWN(arena, v->when_block, capacity);
    v->room_block = sked_i_arena_alloc_zero(arena, capacity, v->wide ? sizeof(uint64_t) : sizeof(uint32_t));
    if (v->room_block == NULL)
        SKED_TRY(sked_i_no_memory(err));
    v->when = align(v->when_block + pad);
    v->room = align((char *)v->room_block + pad * (v->wide ? sizeof(uint64_t) : sizeof(uint32_t)));
    for (int64_t k = 1; k <= pad; k++)
        v->when[-k] = -1; /* before every time */
    fill_slots(v);
    *out = v;
cleanup:
    return st;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FAST   __attribute__((target("avx2,bmi")))
#define KERNEL FAST __attribute__((always_inline)) static inline /* one copy per kind of core */

static bool is_narrow(const sked_i_core *core)
{
    return core->words == 1 && core->guard[0] >> 32 == 0;
}

static bool has_vectors(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}

bool sked_i_serial_fit(const sked_i_core *core, bool stepwise)
{
    return core->words == 1 && !(stepwise && !is_narrow(core)) && row_entries(core) < INT32_MAX &&
           has_vectors();
}

/* ------------------------------------------------------------------ many events at once */

/* The timeline while one list is decoded. */
typedef struct line {
    int32_t *when;
    uint32_t *room;      /* narrow amounts */
    uint64_t *room_wide; /* wide ones */
    int32_t count;
} line;

KERNEL __m256i load(const void *at)
{
    return _mm256_loadu_si256(at);
}

/* One bit for each of 32 lanes that are all ones or all zeros. */
KERNEL uint32_t bits_of(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* packing works on halves of vectors */
    return (uint32_t)_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(bytes, order));
}

/* The highest bit that is set, or -1. */
KERNEL int32_t last_bit(uint32_t bits)
{
    return bits == 0 ? -1 : 31 - __builtin_clz(bits);
}

/* Bit k: event at + k is later than t. */
KERNEL uint32_t later(const int32_t *when, int32_t t)
{
    const __m256i limit = _mm256_set1_epi32(t);
    return bits_of(_mm256_cmpgt_epi32(load(when), limit), _mm256_cmpgt_epi32(load(when + lanes), limit),
                   _mm256_cmpgt_epi32(load(when + 2 * lanes), limit),
                   _mm256_cmpgt_epi32(load(when + 3 * lanes), limit));
}

KERNEL uint32_t roomy_wide(const uint64_t *room, uint64_t demand, uint64_t guard)
{
    const __m256i take = _mm256_set1_epi64x((int64_t)demand), bits = _mm256_set1_epi64x((int64_t)guard);
    uint32_t mask = 0;
    for (int k = 0; k < chunk; k += 4) {
        const __m256i left = _mm256_and_si256(_mm256_sub_epi64(load(room + k), take), bits);
        mask |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(left, bits))) << k;
    }
    return mask;
}

KERNEL __m256i roomy_lanes(const uint32_t *room, __m256i demand, __m256i guard)
{
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_sub_epi32(load(room), demand), guard), guard);
}

/* Bit k: the demand fits from event at + k to the next. */
KERNEL uint32_t roomy(const line *l, int32_t at, uint64_t demand, uint64_t guard, bool wide)
{
    if (wide)
        return roomy_wide(l->room_wide + at, demand, guard);
    const __m256i take = _mm256_set1_epi32((int32_t)demand), bits = _mm256_set1_epi32((int32_t)guard);
    const uint32_t *room = l->room + at;
    return bits_of(roomy_lanes(room, take, bits), roomy_lanes(room + lanes, take, bits),
                   roomy_lanes(room + 2 * lanes, take, bits), roomy_lanes(room + 3 * lanes, take, bits));
}

/* ------------------------------------------------------------------ finding */

static inline int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* First event of the chunk that event `at` lies in the last vector of. */
KERNEL int32_t chunk_to(int32_t at)
{
    return (at & -lanes) + lanes - chunk;
}

/* Last event at or before t among the first ones. */
static int32_t event_at(const line *l, int32_t length, int32_t t)
{
    const int32_t *base = l->when;
    while (length > 1) {
        const int32_t half = length / 2;
        base += base[half] <= t ? half : 0;
        length -= half;
    }
    return (int32_t)(base - l->when);
}

/* First event from `at` on that is not before `end`. */
KERNEL int32_t event_from(const line *l, int32_t at, int32_t end)
{
    uint32_t past;
    while ((past = later(l->when + at, end - 1)) == 0)
        at += chunk;
    return at + (int32_t)_tzcnt_u32(past);
}

/* Last event of [first, last) without room, or less than first. */
KERNEL int32_t last_full(const line *l, int32_t first, int32_t last, uint64_t demand, uint64_t guard,
                         bool wide)
{
    int32_t at = chunk_to(last - 1);
    uint32_t full = ~roomy(l, at, demand, guard, wide) & ~0u >> (at + chunk - last);
    while (full == 0 && at > first) {
        at -= chunk;
        full = ~roomy(l, at, demand, guard, wide);
    }
    return at + last_bit(full);
}

/* Events [first, last) hold within [time, time + d); `open` is where the first one with room begins. */
typedef struct window {
    int32_t time, first, last, open;
} window;

/*
 * Looks at a window from its far end, so that a conflict skips as much as possible. Most windows lie within
 * one chunk, most of these are the last one. Vectors are read and written in their places only
 * (multiples of eight): a processor passes what it writes on to a read of the same place without delay.
 */
KERNEL window find(const line *l, int32_t t, int32_t d, uint64_t demand, uint64_t guard, bool wide)
{
    window w = {.time = t, .open = -1};
    int32_t base = chunk_to(l->count - 1);
    uint32_t before = ~later(l->when + base, t), fits = roomy(l, base, demand, guard, wide);
    for (int tries = 0; before == 0; tries++) {
        base = tries < near_chunks ? base - chunk : event_at(l, base, t) & -lanes;
        before = ~later(l->when + base, t);
        fits = roomy(l, base, demand, guard, wide);
    }
    int32_t unseen = base;
    fits &= -(1u << last_bit(before)); /* from the last event at or before t on */
    for (;;) {
        while (fits == 0)
            fits = roomy(l, base += chunk, demand, guard, wide);
        const uint32_t begin = _tzcnt_u32(fits);
        w.first = base + (int32_t)begin;
        w.time = most(l->when[w.first], w.time);
        w.open = w.open < 0 ? w.time : w.open;
        const uint32_t past = later(l->when + base, w.time + d - 1), bits = (past & -past) - (1u << begin);
        if (past != 0) {
            w.last = base + (int32_t)_tzcnt_u32(past);
            if ((bits & ~fits) == 0)
                return w;
            fits &= -2u << last_bit(bits & ~fits);
            continue;
        }
        w.last = event_from(l, base + chunk, w.time + d);
        const int32_t full = last_full(l, most(unseen, w.first), w.last, demand, guard, wide);
        if (full < unseen || full < w.first)
            return w;
        base = (full + 1) & -lanes;
        unseen = w.last;
        fits = roomy(l, base, demand, guard, wide) & -(1u << (full + 1 - base));
    }
}

/* ------------------------------------------------------------------ taking */

/* Events from `at` on move up by one; `at` becomes a copy of the one before it, from time t on. */
KERNEL void split(line *l, int32_t at, int32_t t, bool wide)
{
    const size_t after = (size_t)(l->count - at + 1);
    memmove(l->when + at + 1, l->when + at, after * sizeof *l->when);
    l->when[at] = t;
    if (wide)
        memmove(l->room_wide + at, l->room_wide + at - 1, (after + 1) * sizeof *l->room_wide);
    else
        memmove(l->room + at, l->room + at - 1, (after + 1) * sizeof *l->room);
    l->count++;
}

/* The lanes one up; the last one of the vector before comes in. */
KERNEL __m256i rotate(__m256i x)
{
    return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
}

/* What happens to all events: the op takes its demand from [first, last); those behind move up, or not. */
typedef struct change {
    __m256i first, last, end, moves, demand;
} change;

typedef struct carry {
    __m256i when, room;
} carry;

KERNEL carry change_vector(line *l, int32_t at, const change *c, carry up)
{
    const __m256i index = _mm256_add_epi32(_mm256_set1_epi32(at), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i before = _mm256_cmpgt_epi32(c->last, index);
    const __m256i moves = _mm256_andnot_si256(before, c->moves);
    const __m256i mine = _mm256_andnot_si256(_mm256_cmpgt_epi32(c->first, index), before);
    const __m256i when = load(l->when + at), room = load(l->room + at);
    const carry next = {rotate(when), rotate(room)};
    const __m256i when_moved = _mm256_blend_epi32(next.when, up.when, 1);
    const __m256i room_moved = _mm256_blend_epi32(next.room, up.room, 1);
    const __m256i times = _mm256_blendv_epi8(when, when_moved, moves);
    const __m256i rooms = _mm256_blendv_epi8(room, room_moved, moves);
    const __m256i at_end = _mm256_cmpeq_epi32(c->last, index);
    _mm256_store_si256((void *)(l->when + at), _mm256_blendv_epi8(times, c->end, at_end));
    _mm256_store_si256((void *)(l->room + at), _mm256_sub_epi32(rooms, _mm256_and_si256(c->demand, mine)));
    return next;
}

/*
 * Takes the demand from events [first, last) and makes `end` an event, unless it is: from `last` on event k
 * becomes what k - 1 was.
 */
KERNEL void take(line *l, int32_t first, int32_t last, int32_t end, uint64_t demand)
{
    const int32_t added = l->when[last] != end, behind = l->count + added;
    const change c = {_mm256_set1_epi32(first), _mm256_set1_epi32(last), _mm256_set1_epi32(end),
                      _mm256_set1_epi32(-added), _mm256_set1_epi32((int32_t)demand)};
    carry up = {c.end, c.end}; /* of no use in the first vector */
    int32_t k = first & -lanes;
    do { /* two at a time: nearly always enough, and then no branch is mispredicted */
        up = change_vector(l, k, &c, up);
        up = change_vector(l, k + lanes, &c, up);
        k += 2 * lanes;
    } while (k < behind);
    l->count = behind;
}

KERNEL void take_wide(line *l, int32_t first, int32_t last, int32_t end, uint64_t demand)
{
    if (l->when[last] != end)
        split(l, last, end, true);
    for (int32_t k = first; k < last; k++)
        l->room_wide[k] -= demand;
}

KERNEL void occupy(line *l, window w, int32_t end, uint64_t demand, bool wide)
{
    if (l->when[w.first] != w.time) {
        split(l, ++w.first, w.time, wide);
        w.last++;
    }
    if (wide)
        take_wide(l, w.first, w.last, end, demand);
    else
        take(l, w.first, w.last, end, demand);
}

/* ------------------------------------------------------------------ steps */

/* As find, where entry t is for time t and no `when` is needed. d > 0. */
KERNEL int32_t find_steps(const line *l, int32_t t, int32_t d, uint64_t demand, uint64_t guard, int32_t *open)
{
    int32_t base = t & -lanes;
    uint32_t fits = roomy(l, base, demand, guard, false) & -(1u << (t - base));
    for (*open = -1;;) {
        while (fits == 0)
            fits = roomy(l, base += chunk, demand, guard, false);
        const int32_t begin = (int32_t)_tzcnt_u32(fits);
        t = base + begin;
        *open = *open < 0 ? t : *open;
        if (begin + d <= chunk) {
            const uint32_t full = (~0u >> (chunk - d)) << begin & ~fits;
            if (full == 0)
                return t;
            fits &= -2u << last_bit(full);
            continue;
        }
        const int32_t full = last_full(l, t, t + d, demand, guard, false);
        if (full < t)
            return t;
        base = (full + 1) & -lanes;
        fits = roomy(l, base, demand, guard, false) & -(1u << (full + 1 - base));
    }
}

KERNEL void take_vector(line *l, int32_t at, __m256i first, __m256i last, __m256i demand)
{
    const __m256i index = _mm256_add_epi32(_mm256_set1_epi32(at), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i mine =
        _mm256_andnot_si256(_mm256_cmpgt_epi32(first, index), _mm256_cmpgt_epi32(last, index));
    const __m256i room = _mm256_sub_epi32(load(l->room + at), _mm256_and_si256(demand, mine));
    _mm256_store_si256((void *)(l->room + at), room);
}

KERNEL void take_steps(line *l, int32_t t, int32_t end, uint64_t demand)
{
    const __m256i first = _mm256_set1_epi32(t), last = _mm256_set1_epi32(end);
    const __m256i amount = _mm256_set1_epi32((int32_t)demand);
    int32_t k = t & -lanes;
    do {
        take_vector(l, k, first, last, amount);
        take_vector(l, k + lanes, first, last, amount);
        k += 2 * lanes;
    } while (k < end);
    l->count = most(l->count, end);
}

/* ------------------------------------------------------------------ the scheme */

KERNEL int32_t earliest(const sked_i_serial *v, const sked_i_serial_slot *x, bool standard)
{
    const int32_t *mark = v->mark;
    int32_t t = 0;
    for (int32_t k = x->row; k < x->row_end; k += 4) {
        const int32_t *p = v->source + k, *lag = v->lag + k;
        const int32_t a = mark[p[0]] + (standard ? 0 : lag[0]), b = mark[p[1]] + (standard ? 0 : lag[1]);
        const int32_t c = mark[p[2]] + (standard ? 0 : lag[2]), d = mark[p[3]] + (standard ? 0 : lag[3]);
        t = most(t, most(most(a, b), most(c, d)));
    }
    return t;
}

/* Everything free: one event at 0, and behind the last one no time ever comes. */
static line clear(sked_i_serial *v)
{
    line l = {v->when, NULL, NULL, v->stepwise ? 0 : 1};
    const int64_t used = (int64_t)v->count + pad;
    if (v->wide)
        l.room_wide = v->room;
    else
        l.room = v->room;
    for (int64_t k = 0; v->wide && k < used; k++)
        l.room_wide[k] = v->core->full[0];
    for (int64_t k = 0; !v->wide && k < used; k++)
        l.room[k] = (uint32_t)v->core->full[0];
    for (int64_t k = 0; !v->stepwise && k < used; k++)
        l.when[k] = INT32_MAX;
    if (!v->stepwise)
        l.when[0] = 0;
    memset(v->hint, 0, (size_t)v->core->kinds * sizeof *v->hint);
    return l;
}

typedef enum form { narrow_events, wide_events, narrow_steps } form;

/* Finds the earliest place from t on and takes it. */
KERNEL int32_t place(sked_i_serial *v, line *l, const sked_i_serial_slot *x, int32_t t, form f)
{
    const uint64_t guard = v->core->guard[0];
    int32_t *hint = &v->hint[x->kind], open;
    const bool known = t <= *hint; /* then nothing fits between the hint and `open` */
    t = most(t, *hint);
    if (f == narrow_steps) {
        t = find_steps(l, t, x->duration, x->demand, guard, &open);
        take_steps(l, t, t + x->duration, x->demand);
    } else {
        const window w = find(l, t, x->duration, x->demand, guard, f == wide_events);
        t = w.time;
        open = w.open;
        occupy(l, w, t + x->duration, x->demand, f == wide_events);
    }
    *hint = known ? open : *hint;
    return t;
}

KERNEL int32_t decode(sked_i_serial *v, const int32_t *list, int32_t cutoff, int32_t *start, bool standard,
                      form f)
{
    const int32_t n = v->core->n;
    line l = clear(v);
    int32_t makespan = 0;
    bool aborted = false;
    for (int32_t k = 0; k < n && !aborted; k++) {
        const int32_t i = list[k];
        const sked_i_serial_slot *x = &v->slot[i];
        int32_t t = earliest(v, x, standard);
        if (x->demand != 0)
            t = place(v, &l, x, t, f);
        start[i] = t;
        v->mark[i] = standard ? t + x->duration : t;
        makespan = most(makespan, t + x->duration);
        aborted = t + x->tail > cutoff || ((k & 4095) == 4095 && sked_i_limit_reached(v->limit));
    }
    v->count = l.count;
    return aborted ? SKED_I_ABORTED : makespan;
}

FAST int32_t sked_i_serial_run(sked_i_serial *v, const int32_t *list, int32_t cutoff, int32_t *start)
{
    const bool standard = v->core->standard;
    if (v->stepwise)
        return standard ? decode(v, list, cutoff, start, true, narrow_steps)
                        : decode(v, list, cutoff, start, false, narrow_steps);
    if (v->wide)
        return standard ? decode(v, list, cutoff, start, true, wide_events)
                        : decode(v, list, cutoff, start, false, wide_events);
    return standard ? decode(v, list, cutoff, start, true, narrow_events)
                    : decode(v, list, cutoff, start, false, narrow_events);
}

/* ------------------------------------------------------------------ what fits now */

bool sked_i_serial_needs_fit(const sked_i_core *core)
{
    return is_narrow(core) && has_vectors();
}

KERNEL __m256i met_lanes(const uint32_t *need, __m256i free_now, __m256i guard)
{
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_sub_epi32(free_now, load(need)), guard), guard);
}

KERNEL uint32_t met_chunk(const uint32_t *need, __m256i free_now, __m256i guard)
{
    return bits_of(met_lanes(need, free_now, guard), met_lanes(need + lanes, free_now, guard),
                   met_lanes(need + 2 * lanes, free_now, guard),
                   met_lanes(need + 3 * lanes, free_now, guard));
}

FAST uint64_t sked_i_serial_needs_met(const uint32_t *need, uint64_t free_now, uint64_t guard)
{
    const __m256i amount = _mm256_set1_epi32((int32_t)free_now), bits = _mm256_set1_epi32((int32_t)guard);
    return met_chunk(need, amount, bits) | (uint64_t)met_chunk(need + chunk, amount, bits) << chunk;
}

#else

bool sked_i_serial_needs_fit(const sked_i_core *core)
{
    (void)core;
    return false;
}

uint64_t sked_i_serial_needs_met(const uint32_t *need, uint64_t free_now, uint64_t guard)
{
    (void)need, (void)free_now, (void)guard; /* never called */
    return ~(uint64_t)0;
}

bool sked_i_serial_fit(const sked_i_core *core, bool stepwise)
{
    (void)core, (void)stepwise;
    return false;
}

int32_t sked_i_serial_run(sked_i_serial *v, const int32_t *list, int32_t cutoff, int32_t *start)
{
    (void)v, (void)list, (void)cutoff, (void)start; /* never called: it fits no core */
    return SKED_I_ABORTED;
}
#endif
