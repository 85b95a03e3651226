#include "method/search/events.h"

#include "method/search/sgs.h"

#include <string.h>

/* Entries before and behind the events that vectors may touch; chunk: events compared at once. */
enum { pad = 64, chunk = 16, lanes = 8, near_chunks = 3 };

/* ------------------------------------------------------------------ work space */

static int64_t capacity_of(const sked_i_core *core)
{
    return 2 * (int64_t)core->n + 2 + 2 * (int64_t)pad;
}

/* Rows of four; returns the number of entries. */
static int64_t row_entries(const sked_i_core *core)
{
    int64_t entries = 0;
    for (int32_t i = 0; i < core->n; i++)
        entries += ((int64_t)core->pred_ptr[i + 1] - core->pred_ptr[i] + 3) / 4 * 4;
    return entries;
}

static void fill_slots(sked_i_events *v)
{
    const sked_i_core *core = v->core;
    int32_t at = 0;
    for (int32_t i = 0; i < core->n; i++) {
        const int32_t begin = core->pred_ptr[i], degree = core->pred_ptr[i + 1] - begin;
        sked_i_slot *x = &v->slot[i];
        *x = (sked_i_slot){.row = at, .duration = core->duration[i], .tail = core->tail[i]};
        x->kind = core->kind[i];
        x->demand = core->duration[i] > 0 ? core->demand[i] : 0;
        for (int32_t k = 0; k < degree || k % 4 != 0; k++) {
            const sked_i_arc arc = core->pred[begin + (k < degree ? k : degree - 1)];
            v->source[at] = arc.op;
            v->lag[at++] = arc.lag;
        }
        x->row_end = at;
    }
}

sked_status sked_i_events_create(const sked_i_core *core, const sked_i_limit *limit, sked_i_events **out,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t capacity = capacity_of(core), entries = row_entries(core);
    sked_i_events *v = sked_i_alloc_zero(1, sizeof *v);
    if (v == NULL)
        return sked_i_no_memory(err);
    v->core = core;
    v->limit = limit;
    v->wide = core->guard[0] >> 32 != 0;
    v->count = (int32_t)(capacity - 2 * pad);
    SKED_NEW(v->slot, core->n);
    SKED_NEW(v->source, entries);
    SKED_NEW(v->lag, entries);
    SKED_NEW(v->mark, core->n);
    SKED_NEW(v->hint, core->kinds + 1);
    SKED_NEW(v->when_block, capacity);
    v->room_block = sked_i_alloc_zero(capacity, v->wide ? sizeof(uint64_t) : sizeof(uint32_t));
    if (v->room_block == NULL) {
        st = sked_i_no_memory(err);
        goto cleanup;
    }
    for (int64_t k = 0; k < pad; k++)
        v->when_block[k] = -1; /* before every time */
    fill_slots(v);
    *out = v;
    return SKED_OK;
cleanup:
    sked_i_events_destroy(v);
    return st;
}

void sked_i_events_destroy(sked_i_events *v)
{
    if (v == NULL)
        return;
    void *const owned[] = {v->slot, v->source, v->lag, v->mark, v->hint, v->when_block, v->room_block};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(v);
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FAST __attribute__((target("avx2,bmi,lzcnt")))

bool sked_i_events_fit(const sked_i_core *core)
{
    return core->words == 1 && row_entries(core) < INT32_MAX && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("lzcnt");
}

/* ------------------------------------------------------------------ sixteen events at once */

/* The timeline while one list is decoded. */
typedef struct timeline {
    int32_t *when;
    uint32_t *room;      /* narrow amounts */
    uint64_t *room_wide; /* wide ones */
    int32_t count;
} timeline;

FAST static inline __m256i load(const void *at)
{
    return _mm256_loadu_si256(at);
}

FAST static inline uint32_t bits_of(__m256i lanes_32)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(lanes_32));
}

/* Bit k: event at + k is later than t. */
FAST static inline uint32_t later(const int32_t *when, int32_t t)
{
    const __m256i limit = _mm256_set1_epi32(t);
    return bits_of(_mm256_cmpgt_epi32(load(when), limit)) |
           bits_of(_mm256_cmpgt_epi32(load(when + lanes), limit)) << lanes;
}

FAST static inline uint32_t roomy_wide(const uint64_t *room, uint64_t demand, uint64_t guard)
{
    const __m256i take = _mm256_set1_epi64x((int64_t)demand), bits = _mm256_set1_epi64x((int64_t)guard);
    uint32_t mask = 0;
    for (int k = 0; k < 4; k++) {
        const __m256i left = _mm256_and_si256(_mm256_sub_epi64(load(room + 4 * k), take), bits);
        mask |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(left, bits))) << 4 * k;
    }
    return mask;
}

/* Bit k: the demand fits from event at + k to the next. */
FAST static inline uint32_t roomy(const timeline *l, int32_t at, uint64_t demand, uint64_t guard, bool wide)
{
    if (wide)
        return roomy_wide(l->room_wide + at, demand, guard);
    const __m256i take = _mm256_set1_epi32((int32_t)demand), bits = _mm256_set1_epi32((int32_t)guard);
    const __m256i low = _mm256_and_si256(_mm256_sub_epi32(load(l->room + at), take), bits);
    const __m256i high = _mm256_and_si256(_mm256_sub_epi32(load(l->room + at + lanes), take), bits);
    return bits_of(_mm256_cmpeq_epi32(low, bits)) | bits_of(_mm256_cmpeq_epi32(high, bits)) << lanes;
}

/* ------------------------------------------------------------------ finding */

static inline int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Last event at or before t: mostly among the last ones. */
FAST static inline int32_t event_at(const timeline *l, int32_t t)
{
    int32_t at = l->count - chunk;
    for (int k = 0; k < near_chunks; k++, at -= chunk) {
        const uint32_t before = ~later(l->when + at, t) & 0xffff;
        if (before != 0)
            return at + 31 - (int32_t)_lzcnt_u32(before);
    }
    const int32_t *base = l->when;
    int32_t length = at + chunk;
    while (length > 1) {
        const int32_t half = length / 2;
        base += base[half] <= t ? half : 0;
        length -= half;
    }
    return (int32_t)(base - l->when);
}

/* First event from `at` on that is not before `end`. */
FAST static inline int32_t event_from(const timeline *l, int32_t at, int32_t end)
{
    uint32_t past;
    while ((past = later(l->when + at, end - 1)) == 0)
        at += chunk;
    return at + (int32_t)_tzcnt_u32(past);
}

/* Last event of [first, last) without room, or less than first. */
FAST static inline int32_t last_full(const timeline *l, int32_t first, int32_t last, uint64_t demand,
                                     uint64_t guard, bool wide)
{
    for (int32_t at = last - chunk;; at -= chunk) {
        const uint32_t full = ~roomy(l, at, demand, guard, wide) & 0xffff;
        if (full != 0 || at <= first)
            return at + 31 - (int32_t)_lzcnt_u32(full);
    }
}

/* Events [first, last) hold within [time, time + d); `open` is where the first one with room begins. */
typedef struct window {
    int32_t time, first, last, open;
} window;

/*
 * Looks at a window from its far end, so that a conflict skips as much as possible. Most windows end within
 * the chunk they begin in.
 */
FAST static inline window find(const timeline *l, int32_t t, int32_t d, uint64_t demand, uint64_t guard,
                               bool wide)
{
    window w = {.time = t, .open = -1};
    int32_t base = event_at(l, t), unseen = base;
    uint32_t fits = roomy(l, base, demand, guard, wide);
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
            fits &= ~(~0u >> _lzcnt_u32(bits & ~fits));
            continue;
        }
        w.last = event_from(l, base + chunk, w.time + d);
        const int32_t full = last_full(l, most(unseen, w.first), w.last, demand, guard, wide);
        if (full < unseen || full < w.first)
            return w;
        base = full + 1;
        unseen = w.last;
        fits = roomy(l, base, demand, guard, wide);
    }
}

/* ------------------------------------------------------------------ taking */

/* Events from `at` on move up by one. */
FAST static inline void make_gap(timeline *l, int32_t at, bool wide)
{
    __m256i times = load(l->when + at);
    if (wide) {
        for (int32_t k = l->count; k >= at; k--)
            l->room_wide[k + 1] = l->room_wide[k];
    }
    __m256i rooms = wide ? times : load(l->room + at);
    for (int32_t k = at; k <= l->count; k += lanes) { /* the next ones are read before they are written over */
        const __m256i next_times = load(l->when + k + lanes);
        const __m256i next_rooms = wide ? times : load(l->room + k + lanes);
        _mm256_storeu_si256((void *)(l->when + k + 1), times);
        if (!wide)
            _mm256_storeu_si256((void *)(l->room + k + 1), rooms);
        times = next_times;
        rooms = next_rooms;
    }
    l->count++;
}

FAST static inline void subtract(timeline *l, int32_t first, int32_t last, uint64_t demand, bool wide)
{
    static const int32_t ones[2 * lanes] = {-1, -1, -1, -1, -1, -1, -1, -1};
    if (wide) {
        for (int32_t k = first; k < last; k++)
            l->room_wide[k] -= demand;
        return;
    }
    const __m256i take = _mm256_set1_epi32((int32_t)demand);
    for (int32_t k = first; k < last; k += lanes) {
        const int32_t some = last - k < lanes ? last - k : lanes;
        const __m256i mine = _mm256_and_si256(take, load(ones + lanes - some));
        _mm256_storeu_si256((void *)(l->room + k), _mm256_sub_epi32(load(l->room + k), mine));
    }
}

FAST static inline void copy_room(timeline *l, int32_t from, int32_t to, bool wide)
{
    if (wide)
        l->room_wide[to] = l->room_wide[from];
    else
        l->room[to] = l->room[from];
}

FAST static inline void occupy(timeline *l, window w, int32_t end, uint64_t demand, bool wide)
{
    if (l->when[w.first] != w.time) {
        w.first++;
        w.last++;
        make_gap(l, w.first, wide);
        l->when[w.first] = w.time;
        copy_room(l, w.first - 1, w.first, wide);
    }
    if (l->when[w.last] != end) {
        make_gap(l, w.last, wide);
        l->when[w.last] = end;
        copy_room(l, w.last - 1, w.last, wide);
    }
    subtract(l, w.first, w.last, demand, wide);
}

/* ------------------------------------------------------------------ the scheme */

FAST static inline int32_t earliest(const sked_i_events *v, const sked_i_slot *x, bool standard)
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
static timeline clear(sked_i_events *v)
{
    timeline l = {v->when_block + pad, NULL, NULL, 1};
    const int64_t used = (int64_t)v->count + pad;
    if (v->wide)
        l.room_wide = (uint64_t *)v->room_block + pad;
    else
        l.room = (uint32_t *)v->room_block + pad;
    for (int64_t k = 0; k < used; k++)
        l.when[k] = INT32_MAX;
    for (int64_t k = 0; v->wide && k < used; k++)
        l.room_wide[k] = v->core->full[0];
    for (int64_t k = 0; !v->wide && k < used; k++)
        l.room[k] = (uint32_t)v->core->full[0];
    l.when[0] = 0;
    memset(v->hint, 0, (size_t)v->core->kinds * sizeof *v->hint);
    return l;
}

FAST static inline int32_t serial(sked_i_events *v, const int32_t *list, int32_t cutoff, int32_t *start,
                                  bool standard, bool wide)
{
    const int32_t n = v->core->n;
    const uint64_t guard = v->core->guard[0];
    timeline l = clear(v);
    int32_t makespan = 0;
    bool aborted = false;
    for (int32_t k = 0; k < n && !aborted; k++) {
        const int32_t i = list[k];
        const sked_i_slot *x = &v->slot[i];
        int32_t t = earliest(v, x, standard);
        if (x->demand != 0) {
            int32_t *hint = &v->hint[x->kind];
            const bool known = t <= *hint; /* nothing fits between there and `open` either */
            const window w = find(&l, most(t, *hint), x->duration, x->demand, guard, wide);
            *hint = known ? w.open : *hint;
            t = w.time;
            occupy(&l, w, t + x->duration, x->demand, wide);
        }
        start[i] = t;
        v->mark[i] = standard ? t + x->duration : t;
        makespan = most(makespan, t + x->duration);
        aborted = t + x->tail > cutoff || ((k & 4095) == 4095 && sked_i_limit_reached(v->limit));
    }
    v->count = l.count;
    return aborted ? SKED_I_ABORTED : makespan;
}

FAST int32_t sked_i_events_serial(sked_i_events *v, const int32_t *list, int32_t cutoff, int32_t *start)
{
    if (v->wide)
        return v->core->standard ? serial(v, list, cutoff, start, true, true)
                                 : serial(v, list, cutoff, start, false, true);
    return v->core->standard ? serial(v, list, cutoff, start, true, false)
                             : serial(v, list, cutoff, start, false, false);
}

#else

bool sked_i_events_fit(const sked_i_core *core)
{
    (void)core;
    return false;
}

int32_t sked_i_events_serial(sked_i_events *v, const int32_t *list, int32_t cutoff, int32_t *start)
{
    (void)v, (void)list, (void)cutoff, (void)start; /* never called: it fits no core */
    return SKED_I_ABORTED;
}
#endif
