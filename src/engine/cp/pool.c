/*
 * Time-table propagation with pointwise explanations (Schutt et al. 2011). An op certainly runs on
 * [latest start, earliest finish) where that is not empty; no op may start so that it overlaps a stretch
 * where the certain load leaves no room for it.
 */
#include "engine/cp/cp.h"

typedef struct sked_i_cp_block {
    int32_t begin, end;
    double load;
} block;

static inline int32_t first_start(const sked_i_cp *cp, const sked_i_cp_task *t)
{
    return cp->low[2 * t->var];
}

static inline int32_t last_start(const sked_i_cp *cp, const sked_i_cp_task *t)
{
    return -cp->low[2 * t->var + 1];
}

static inline bool covers(const sked_i_cp *cp, const sked_i_cp_task *t, int32_t time)
{
    return last_start(cp, t) <= time && time < first_start(cp, t) + t->duration;
}

/* Events move little between calls: insertion sort of the old order is nearly linear. */
static void sort_events(const sked_i_cp *cp, const sked_i_cp_pool *p, int32_t *order, bool ends)
{
    for (int32_t k = 1; k < p->count; k++) {
        const int32_t id = order[k];
        const sked_i_cp_task *t = &p->task[id];
        const int32_t key = ends ? first_start(cp, t) + t->duration : last_start(cp, t);
        int32_t j = k;
        for (; j > 0; j--) {
            const sked_i_cp_task *u = &p->task[order[j - 1]];
            if ((ends ? first_start(cp, u) + u->duration : last_start(cp, u)) <= key)
                break;
            order[j] = order[j - 1];
        }
        order[j] = id;
    }
}

/* Certain load as disjoint blocks in order of time. */
static int32_t build_profile(sked_i_cp *cp, sked_i_cp_pool *p, block *out, double *peak)
{
    int32_t count = 0, i = 0, j = 0, running = 0, previous = 0;
    double load = 0;
    *peak = 0;
    sort_events(cp, p, p->by_begin, false);
    sort_events(cp, p, p->by_end, true);
    while (j < p->count) {
        const sked_i_cp_task *b = i < p->count ? &p->task[p->by_begin[i]] : NULL;
        const sked_i_cp_task *e = &p->task[p->by_end[j]];
        const int32_t begin = b ? last_start(cp, b) : INT32_MAX, end = first_start(cp, e) + e->duration;
        const bool starts = begin < end;
        const sked_i_cp_task *t = starts ? b : e;
        i += starts;
        j += !starts;
        if (last_start(cp, t) >= first_start(cp, t) + t->duration)
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
static void explain_load(sked_i_cp *cp, const sked_i_cp_pool *p, int32_t time, double room, int32_t except,
                         void (*add)(sked_i_cp *, int32_t, int32_t))
{
    double sum = 0;
    for (int32_t k = 0; k < p->count && !(sum > room); k++) {
        const sked_i_cp_task *t = &p->task[k];
        if (t->var == except || !covers(cp, t, time))
            continue;
        sum += t->demand;
        add(cp, 2 * t->var, time + 1 - t->duration);
        add(cp, 2 * t->var + 1, -time);
    }
}

static bool push_up(sked_i_cp *cp, const sked_i_cp_pool *p, const sked_i_cp_task *t, int32_t time)
{
    const int64_t ref = cp->list_count;
    sked_i_cp_explain(cp, 2 * t->var, time + 1 - t->duration);
    explain_load(cp, p, time, p->capacity - t->demand, t->var, sked_i_cp_explain);
    return sked_i_cp_raise(
        cp, 2 * t->var, time + 1,
        (sked_i_cp_reason){.kind = SKED_I_CP_LIST, .count = (int32_t)(cp->list_count - ref), .ref = ref});
}

static bool push_down(sked_i_cp *cp, const sked_i_cp_pool *p, const sked_i_cp_task *t, int32_t time)
{
    const int64_t ref = cp->list_count;
    sked_i_cp_explain(cp, 2 * t->var + 1, -time);
    explain_load(cp, p, time, p->capacity - t->demand, t->var, sked_i_cp_explain);
    return sked_i_cp_raise(
        cp, 2 * t->var + 1, t->duration - time,
        (sked_i_cp_reason){.kind = SKED_I_CP_LIST, .count = (int32_t)(cp->list_count - ref), .ref = ref});
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
static bool filter_low(sked_i_cp *cp, const sked_i_cp_pool *p, const sked_i_cp_task *t, const block *b,
                       int32_t count)
{
    const int32_t latest = last_start(cp, t);
    for (int32_t k = first_block_after(b, count, first_start(cp, t)); k < count; k++) {
        const int32_t finish = first_start(cp, t) + t->duration;
        if (b[k].begin >= finish || b[k].begin >= latest)
            break;
        if (b[k].load + t->demand <= p->capacity)
            continue;
        const int32_t end = b[k].end < latest ? b[k].end : latest;
        while (first_start(cp, t) < end) {
            const int32_t reach = first_start(cp, t) + t->duration;
            if (!push_up(cp, p, t, (end < reach ? end : reach) - 1))
                return false;
        }
    }
    return true;
}

static bool filter_high(sked_i_cp *cp, const sked_i_cp_pool *p, const sked_i_cp_task *t, const block *b,
                        int32_t count)
{
    const int32_t earliest = first_start(cp, t) + t->duration;
    int32_t k = first_block_after(b, count, last_start(cp, t) + t->duration - 1);
    for (k = k < count ? k : count - 1; k >= 0; k--) {
        const int32_t start = last_start(cp, t);
        if (b[k].end <= start || b[k].end <= earliest)
            break;
        if (b[k].begin >= start + t->duration || b[k].load + t->demand <= p->capacity)
            continue;
        const int32_t begin = b[k].begin > earliest ? b[k].begin : earliest;
        while (last_start(cp, t) + t->duration > begin) {
            const int32_t from = last_start(cp, t);
            if (!push_down(cp, p, t, begin > from ? begin : from))
                return false;
        }
    }
    return true;
}

bool sked_i_cp_pool_propagate(sked_i_cp *cp, sked_i_cp_pool *p)
{
    double peak;
    block *b = cp->block;
    const int32_t count = build_profile(cp, p, b, &peak);
    if (peak > p->capacity) {
        int32_t k = 0;
        while (k < count - 1 && !(b[k].load > p->capacity))
            k++;
        sked_i_cp_conflict_begin(cp);
        explain_load(cp, p, b[k].begin + (b[k].end - b[k].begin) / 2, p->capacity, -1,
                     sked_i_cp_conflict_add);
        return false;
    }
    for (int32_t k = 0; k < p->count; k++) {
        const sked_i_cp_task *t = &p->task[k];
        if (t->demand + peak <= p->capacity)
            break; /* largest demand first: no other has trouble either */
        if (first_start(cp, t) == last_start(cp, t))
            continue;
        if (!filter_low(cp, p, t, b, count) || !filter_high(cp, p, t, b, count))
            return false;
    }
    return true;
}

static int by_demand(const void *x, const void *y)
{
    const sked_i_cp_task *a = x, *b = y;
    if (a->demand != b->demand)
        return a->demand > b->demand ? -1 : 1;
    return (a->var > b->var) - (a->var < b->var);
}

static bool tell_tasks(sked_i_cp *cp, int32_t pool)
{
    const sked_i_cp_pool *p = &cp->pool[pool];
    for (int32_t k = 0; k < p->count; k++) {
        sked_i_cp_list *list = &cp->pools_of[p->task[k].var];
        if (!sked_i_grow(&list->data, &list->cap, list->count + 1, sizeof pool))
            return false;
        ((int32_t *)list->data)[list->count++] = pool;
        p->by_begin[k] = p->by_end[k] = p->by_last[k] = p->by_mixed[k] = k;
    }
    return true;
}

bool sked_i_cp_add_pool(sked_i_cp *cp, double capacity, sked_i_cp_task *task, int32_t count)
{
    int64_t cap = cp->n_pools;
    sked_i_cp_pool p = {.capacity = capacity, .count = count, .task = task, .dirty = true, .unchecked = true};
    block *b = sked_i_alloc(2 * (int64_t)cp->n_vars + 2, sizeof *b);
    p.by_begin = sked_i_alloc(count, sizeof *p.by_begin);
    p.by_end = sked_i_alloc(count, sizeof *p.by_end);
    p.by_last = sked_i_alloc(count, sizeof *p.by_last);
    p.by_mixed = sked_i_alloc(count, sizeof *p.by_mixed);
    if (p.by_begin == NULL || p.by_end == NULL || p.by_last == NULL || p.by_mixed == NULL || b == NULL ||
        !SKED_GROW(cp->pool, cap, (int64_t)cp->n_pools + 1)) {
        void *const arrays[] = {p.by_begin, p.by_end, p.by_last, p.by_mixed, b, task};
        for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
            free(arrays[k]);
        return cp->failed = true, false;
    }
    free(cp->block);
    cp->block = b;
    qsort(task, (size_t)count, sizeof *task, by_demand);
    cp->pool[cp->n_pools] = p;
    cp->failed = cp->failed || !tell_tasks(cp, cp->n_pools++);
    return !cp->failed;
}
