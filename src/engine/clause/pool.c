/*
 * Time-table propagation with pointwise explanations (Schutt et al. 2011). An op certainly runs on
 * [latest start, earliest finish) where that is not empty; no op may start so that it overlaps a stretch
 * where the certain load leaves no room for it.
 */
#include "engine/clause/pool.h"

typedef sked_i_clause_block block;

static inline int32_t first_start(const sked_i_clause_solver *s, const sked_i_clause_task *t)
{
    return s->low[2 * t->var];
}

static inline int32_t last_start(const sked_i_clause_solver *s, const sked_i_clause_task *t)
{
    return -s->low[2 * t->var + 1];
}

static inline bool covers(const sked_i_clause_solver *s, const sked_i_clause_task *t, int32_t time)
{
    return last_start(s, t) <= time && time < first_start(s, t) + t->duration;
}

/* Events move little between calls: insertion sort of the old order is nearly linear. */
static void sort_events(const sked_i_clause_solver *s, const sked_i_clause_pool *p, int32_t *order, bool ends)
{
    for (int32_t k = 1; k < p->count; k++) {
        const int32_t id = order[k];
        const sked_i_clause_task *t = &p->task[id];
        const int32_t key = ends ? first_start(s, t) + t->duration : last_start(s, t);
        int32_t j = k;
        for (; j > 0; j--) {
            const sked_i_clause_task *u = &p->task[order[j - 1]];
            if ((ends ? first_start(s, u) + u->duration : last_start(s, u)) <= key)
                break;
            order[j] = order[j - 1];
        }
        order[j] = id;
    }
}

/* Certain load as disjoint blocks in order of time. */
static int32_t build_profile(sked_i_clause_solver *s, sked_i_clause_pool *p, block *out, double *peak)
{
    int32_t count = 0, i = 0, j = 0, running = 0, previous = 0;
    double load = 0;
    *peak = 0;
    sort_events(s, p, p->by_begin, false);
    sort_events(s, p, p->by_end, true);
    while (j < p->count) {
        const sked_i_clause_task *b = i < p->count ? &p->task[p->by_begin[i]] : NULL;
        const sked_i_clause_task *e = &p->task[p->by_end[j]];
        const int32_t begin = b ? last_start(s, b) : INT32_MAX, end = first_start(s, e) + e->duration;
        const bool starts = begin < end;
        const sked_i_clause_task *t = starts ? b : e;
        i += starts;
        j += !starts;
        if (last_start(s, t) >= first_start(s, t) + t->duration)
            continue; /* nothing certain about this one */
        const int32_t now = starts ? begin : end;
        if (running > 0 && now > previous)
            out[count++] = (block){previous, now, load};
        running += starts ? 1 : -1;
        load = running == 0 ? 0 : starts ? load + t->demand : load - t->demand;
        *peak = load > *peak ? load : *peak;
        previous = now;
    }
    return count;
}

/* Enough ops that certainly run at `time`, other than `except`, to hold more than `room`. */
static void explain_load(sked_i_clause_solver *s, const sked_i_clause_pool *p, int32_t time, double room,
                         int32_t except, void (*add)(sked_i_clause_solver *, int32_t, int32_t))
{
    double sum = 0;
    for (int32_t k = 0; k < p->count && !(sum > room); k++) {
        const sked_i_clause_task *t = &p->task[k];
        if (t->var == except || !covers(s, t, time))
            continue;
        sum += t->demand;
        add(s, 2 * t->var, time + 1 - t->duration);
        add(s, 2 * t->var + 1, -time);
    }
}

/* Raises a view, since the pool has no room for the task at `time`; `why`: it would run then. */
static bool push(sked_i_clause_solver *s, const sked_i_clause_pool *p, const sked_i_clause_task *t,
                 int32_t time, sked_i_lit why, sked_i_lit raised)
{
    const int64_t ref = s->list_count;
    sked_i_clause_explain(s, why.view, why.value);
    explain_load(s, p, time, p->capacity - t->demand, t->var, sked_i_clause_explain);
    return sked_i_clause_raise_listed(s, raised, ref);
}

static bool push_up(sked_i_clause_solver *s, const sked_i_clause_pool *p, const sked_i_clause_task *t,
                    int32_t time)
{
    return push(s, p, t, time, (sked_i_lit){2 * t->var, time + 1 - t->duration},
                (sked_i_lit){2 * t->var, time + 1});
}

static bool push_down(sked_i_clause_solver *s, const sked_i_clause_pool *p, const sked_i_clause_task *t,
                      int32_t time)
{
    return push(s, p, t, time, (sked_i_lit){2 * t->var + 1, -time},
                (sked_i_lit){2 * t->var + 1, t->duration - time});
}

static int32_t first_block_after(const block *b, int32_t count, int32_t time)
{
    int32_t low = 0;
    for (int32_t high = count; low < high;) {
        const int32_t middle = (low + high) / 2;
        if (b[middle].end > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Pushes one op's earliest start past blocks it does not fit into. Its own certain part is in the later
 * blocks, so only those before its latest start count. */
static bool filter_low(sked_i_clause_solver *s, const sked_i_clause_pool *p, const sked_i_clause_task *t,
                       const block *b, int32_t count)
{
    const int32_t latest = last_start(s, t);
    for (int32_t k = first_block_after(b, count, first_start(s, t)); k < count; k++) {
        const int32_t finish = first_start(s, t) + t->duration;
        if (b[k].begin >= finish || b[k].begin >= latest)
            break;
        if (b[k].load + t->demand <= p->capacity)
            continue;
        const int32_t end = b[k].end < latest ? b[k].end : latest;
        while (first_start(s, t) < end) {
            const int32_t reach = first_start(s, t) + t->duration;
            if (!push_up(s, p, t, (end < reach ? end : reach) - 1))
                return false;
        }
    }
    return true;
}

static bool filter_high(sked_i_clause_solver *s, const sked_i_clause_pool *p, const sked_i_clause_task *t,
                        const block *b, int32_t count)
{
    const int32_t earliest = first_start(s, t) + t->duration;
    int32_t k = first_block_after(b, count, last_start(s, t) + t->duration - 1);
    for (k = k < count ? k : count - 1; k >= 0; k--) {
        const int32_t start = last_start(s, t);
        if (b[k].end <= start || b[k].end <= earliest)
            break;
        if (b[k].begin >= start + t->duration || b[k].load + t->demand <= p->capacity)
            continue;
        const int32_t begin = b[k].begin > earliest ? b[k].begin : earliest;
        while (last_start(s, t) + t->duration > begin) {
            const int32_t from = last_start(s, t);
            if (!push_down(s, p, t, begin > from ? begin : from))
                return false;
        }
    }
    return true;
}

static bool propagate(sked_i_clause_solver *s, void *self)
{
    double peak;
    sked_i_clause_pool *p = self;
    block *b = p->block;
    const int32_t count = build_profile(s, p, b, &peak);
    if (peak > p->capacity) {
        int32_t k = 0;
        while (k < count - 1 && !(b[k].load > p->capacity))
            k++;
        sked_i_clause_conflict_begin(s);
        explain_load(s, p, b[k].begin + (b[k].end - b[k].begin) / 2, p->capacity, -1,
                     sked_i_clause_conflict_add);
        return false;
    }
    for (int32_t k = 0; k < p->count; k++) {
        const sked_i_clause_task *t = &p->task[k];
        if (t->demand + peak <= p->capacity)
            break; /* largest demand first: no other has trouble either */
        if (first_start(s, t) == last_start(s, t))
            continue;
        if (!filter_low(s, p, t, b, count) || !filter_high(s, p, t, b, count))
            return false;
    }
    return true;
}

static int by_demand(const void *x, const void *y)
{
    const sked_i_clause_task *a = x, *b = y;
    if (a->demand != b->demand)
        return a->demand > b->demand ? -1 : 1;
    return (a->var > b->var) - (a->var < b->var);
}

static sked_i_clause_pool *create(sked_i_arena *memory, double capacity, sked_i_clause_task *task,
                                  int32_t count)
{
    sked_i_clause_pool *p = sked_i_arena_alloc(memory, 1, sizeof *p);
    int32_t *rows = sked_i_arena_alloc(memory, 4 * (int64_t)count, sizeof *rows);
    block *blocks = sked_i_arena_alloc(memory, 2 * (int64_t)count + 1, sizeof *blocks);
    if (p == NULL || rows == NULL || blocks == NULL)
        return NULL;
    *p = (sked_i_clause_pool){.capacity = capacity, .count = count, .task = task, .block = blocks};
    p->by_begin = rows;
    p->by_end = p->by_begin + count;
    p->by_last = p->by_end + count;
    p->by_mixed = p->by_last + count;
    qsort(task, (size_t)count, sizeof *task, by_demand);
    for (int32_t k = 0; k < count; k++)
        p->by_begin[k] = p->by_end[k] = p->by_last[k] = p->by_mixed[k] = k;
    return p;
}

bool sked_i_clause_add_pool(sked_i_clause_solver *s, double capacity, sked_i_clause_task *task, int32_t count)
{
    int32_t number;
    sked_i_clause_pool *p = create(&s->memory, capacity, task, count);
    if (p == NULL)
        return s->failed = true, false;
    const sked_i_clause_propagator plug = {
        .self = p, .propagate = propagate, .check = sked_i_clause_energy, .cost = 2 * (int64_t)count};
    bool fine = sked_i_clause_add_propagator(s, plug, &number);
    for (int32_t k = 0; fine && k < count; k++)
        fine = sked_i_clause_tell(s, number, task[k].var);
    return fine;
}
