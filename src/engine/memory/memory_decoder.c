/*
 * A schedule from priorities under memory limits.
 *
 * The banker's rule keeps it out of dead ends: an op starts only where memory has room for it and where all
 * ops that have not started could still run one after the other, in the order and on the devices of the plan.
 * When nothing runs and nothing is admitted, the plan's next op starts, which fits.
 *
 * A slot is a value on a device: where it was made, or where readers are or are planned to be. A reader that
 * starts on another device than planned moves there: its copy arrived in the past, so tracks keep the past.
 */
#include "engine/memory/memory_engine.h"

#include "base/heap.h"
#include "base/set.h"

#include <assert.h>
#include <string.h>

/* Looks at ops that memory refuses: at a time, and per op in all; then few at a time. */
enum { most_refusals = 48, refusals_per_op = 4, few_refusals = 3, most_choices = 4 };

typedef struct slot {
    int32_t op, device, next; /* next: of the same op, -1: none */
    int32_t readers;          /* edges to ops planned here that have not started */
    int64_t first, top;       /* their places in the plan: reader[first..top], ascending */
    bool used;                /* an op that has started reads it here */
    double begin, end;        /* first arrival (INFINITY: none), last release known (-INFINITY: none) */
    double from, to;          /* what the tracks hold; nothing where from >= to */
} slot;

typedef struct saved_slot {
    int32_t index;
    slot was;
} saved_slot;
typedef struct reserve_change {
    int32_t store, from, to;
    double amount;
} reserve_change;
/* A step inserted at `first` (end < 0), or an amount added to steps first..end - 1, times from..to. */
typedef struct track_change {
    int32_t store;
    int64_t first, end; /* as they were then */
    double from, to, amount;
} track_change;
typedef struct release {
    double time, size;
    int32_t device;
} release;

/* A look at an op counts as so many steps of the pace, and as more for each store; a decode of some tenths of
 * a second is finished. */
enum { steps_per_look = 4096, steps_per_store = 64, free_steps = 1 << 25 };

struct sked_i_memory_decoder {
    sked_i_arena *arena;
    const sked_i_stores *m;
    const sked_i_memory_plan *plan;
    const sked_i_memory_wish *wish;
    sked_status status;
    sked_i_pace pace; /* looks at ops */
    double *start;
    int32_t *device;
    double now;
    bool copies; /* several devices: tracks; else the load of now is enough */
    /* the plan */
    int32_t *place, *reader; /* [n]; [edges] */
    int32_t *edge_slot;      /* [edges] slot of `from` where `to` is planned, -1: nothing to hold */
    int32_t *home_last;      /* [n] last place that the value is held at home in the plan */
    double *sums;            /* [n + 1] */
    sked_i_reserve *reserve; /* [stores] */
    /* values */
    slot *slots;
    int32_t n_slots, *head; /* head: [n] first slot, -1: none */
    sked_i_track *track;    /* [stores] */
    double *load;           /* [stores] now, without copies */
    /* ops */
    uint8_t *started;  /* [n] by place */
    int32_t *waiting;  /* [n] */
    double *wake;      /* [n] latest time asked for */
    double *free_at;   /* [devices] */
    double *pool_used; /* [pools] */
    sked_i_set ready;  /* by rank */
    uint64_t *words;
    int32_t *by_rank;
    int32_t first_rank, next_place, left;
    int64_t refusals;         /* left */
    bool news;                /* an op has become ready */
    sked_i_event_heap events; /* id: op that ends, n + op that is to be looked at, 2 n + release */
    int64_t events_cap;
    release *releases;
    int64_t n_releases, releases_cap;
    /* what the last attempt has changed */
    saved_slot *slot_log;
    reserve_change *reserve_log;
    track_change *track_log;
    int64_t n_slot_log, n_reserve_log, n_track_log, slot_cap, reserve_cap, track_cap;
    double *dropped; /* [stores] */
    int32_t slots_before, head_before;
    int64_t releases_before;
};

sked_status sked_i_memory_decoder_status(const sked_i_memory_decoder *x)
{
    return x->status;
}

/* ------------------------------------------------------------------ life */

sked_status sked_i_memory_decoder_create(sked_i_arena *arena, const sked_i_stores *m,
                                         sked_i_memory_decoder **out, sked_error *err)
{
    const int64_t n = m->n, edges = m->g->n_edges;
    sked_status st = SKED_OK;
    sked_i_memory_decoder *x;
    SKED_OWN0(arena, x, 1);
    x->arena = arena;
    x->m = m;
    x->copies = m->devices > 1;
    SKED_OWN(arena, x->place, n);
    SKED_OWN(arena, x->reader, edges);
    SKED_OWN(arena, x->edge_slot, edges);
    SKED_OWN(arena, x->home_last, n);
    SKED_OWN(arena, x->sums, n + 1);
    SKED_OWN0(arena, x->reserve, m->stores);
    for (int32_t s = 0; s < m->stores; s++)
        SKED_TRY(sked_i_reserve_make(arena, m->n, &x->reserve[s], err));
    SKED_OWN(arena, x->slots, 2 * (n + edges));
    SKED_OWN(arena, x->head, n);
    SKED_OWN0(arena, x->track, m->stores);
    for (int32_t s = 0; s < m->stores; s++)
        x->track[s].arena = arena;
    SKED_OWN(arena, x->load, m->stores);
    SKED_OWN(arena, x->started, n);
    SKED_OWN(arena, x->waiting, n);
    SKED_OWN(arena, x->wake, n);
    SKED_OWN(arena, x->free_at, m->devices);
    SKED_OWN(arena, x->pool_used, m->pools.count);
    SKED_OWN(arena, x->words, sked_i_set_words(n));
    SKED_OWN(arena, x->by_rank, n);
    SKED_OWN(arena, x->dropped, m->stores);
    sked_i_set_place(&x->ready, n, x->words);
    *out = x;
cleanup:
    return st;
}

static bool fail(sked_i_memory_decoder *x)
{
    x->status = SKED_ERR_MEMORY;
    return false;
}

/* ------------------------------------------------------------------ slots and the plan */

static int32_t find_slot(const sked_i_memory_decoder *x, int32_t op, int32_t device)
{
    int32_t k = x->head[op];
    while (k >= 0 && x->slots[k].device != device)
        k = x->slots[k].next;
    return k;
}

static int32_t get_slot(sked_i_memory_decoder *x, int32_t op, int32_t device)
{
    const int32_t found = find_slot(x, op, device);
    if (found >= 0)
        return found;
    assert(x->n_slots < 2 * ((int64_t)x->m->n + x->m->g->n_edges));
    x->slots[x->n_slots] = (slot){.op = op,
                                  .device = device,
                                  .next = x->head[op],
                                  .first = 0,
                                  .top = -1,
                                  .begin = INFINITY,
                                  .end = -INFINITY};
    x->head[op] = x->n_slots;
    return x->n_slots++;
}

/* Place of the last reader planned here that has not started, -1: none. */
static int32_t last_reader(const sked_i_memory_decoder *x, const slot *k)
{
    return k->top >= k->first ? x->reader[k->top] : -1;
}

/* Readers let go at their start: then their own place does not count. */
static int32_t held_until(const sked_i_memory_decoder *x, int32_t last)
{
    return last - (x->m->to_finish ? 0 : 1);
}

/* Slots by device of the planned readers, and their places in ascending order. */
static void plan_slots(sked_i_memory_decoder *x)
{
    const sked_i_stores *m = x->m;
    const sked_graph *g = m->g;
    const int32_t *device = x->plan->device;
    int64_t filled = 0;
    x->n_slots = 0;
    for (int32_t i = 0; i < m->n; i++) {
        x->head[i] = -1;
        if (g->memory[i] > 0)
            get_slot(x, i, device[i]);
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const bool held = g->memory[i] > 0 && g->edge_distance[e] == 0 && sked_i_passes(g, e);
            x->edge_slot[e] = held ? get_slot(x, i, device[g->edge_to[e]]) : -1;
            if (held)
                x->slots[x->edge_slot[e]].readers++;
        }
    }
    for (int32_t k = 0; k < x->n_slots; k++) {
        x->slots[k].first = filled;
        x->slots[k].top = filled - 1;
        filled += x->slots[k].readers;
    }
    for (int32_t at = 0; at < m->n; at++) {
        const int32_t i = x->plan->order[at];
        for (int64_t j = g->pred_ptr[i]; j < g->pred_ptr[i + 1]; j++) {
            const int32_t k = x->edge_slot[g->pred_edge[j]];
            if (k >= 0)
                x->reader[++x->slots[k].top] = at;
        }
    }
}

/* Last place at which the plan holds the value of op at home. */
static int32_t plan_home(const sked_i_memory_decoder *x, int32_t op)
{
    const int32_t home = x->plan->device[op];
    bool remote = false;
    int32_t last = -1;
    for (int32_t k = x->head[op]; k >= 0; k = x->slots[k].next) {
        if (x->slots[k].device == home)
            last = held_until(x, last_reader(x, &x->slots[k]));
        else
            remote = true;
    }
    if (sked_i_stores_keeps(x->m, op))
        return x->m->n - 1;
    return (x->m->to_finish || remote) && last < x->place[op] ? x->place[op] : last;
}

/* Does what is held on device count in the store? */
static bool counts(const sked_i_stores *m, int32_t store, int32_t device)
{
    return store == m->total || store == m->store_of[device];
}

static void fill_reserve(sked_i_memory_decoder *x, int32_t store)
{
    const sked_i_stores *m = x->m;
    memset(x->sums, 0, ((size_t)m->n + 1) * sizeof *x->sums);
    for (int32_t k = 0; k < x->n_slots; k++) {
        const slot *s = &x->slots[k];
        const int32_t from = x->place[s->op];
        const int32_t to =
            s->device == x->plan->device[s->op] ? x->home_last[s->op] : held_until(x, last_reader(x, s));
        if (!counts(m, store, s->device) || from > to)
            continue;
        x->sums[from] += m->g->memory[s->op];
        x->sums[to + 1] -= m->g->memory[s->op];
    }
    for (int32_t k = 1; k < m->n; k++)
        x->sums[k] += x->sums[k - 1];
    sked_i_reserve_fill(&x->reserve[store], x->sums, m->n);
}

static bool load_plan(sked_i_memory_decoder *x)
{
    const sked_i_stores *m = x->m;
    for (int32_t k = 0; k < m->n; k++)
        x->place[x->plan->order[k]] = k;
    plan_slots(x);
    for (int32_t i = 0; i < m->n; i++)
        x->home_last[i] = m->g->memory[i] > 0 ? plan_home(x, i) : -1;
    x->pace = (sked_i_pace){.limit = x->wish->limit, .free_steps = free_steps};
    for (int32_t s = 0; s < m->stores; s++) {
        if (sked_i_pace_over(&x->pace, m->n + x->n_slots))
            return false;
        fill_reserve(x, s);
        x->load[s] = 0;
        if (x->copies && !sked_i_track_clear(&x->track[s]))
            return fail(x);
    }
    return true;
}

/* ------------------------------------------------------------------ changes that can be taken back */

static void save(sked_i_memory_decoder *x, int32_t k)
{
    if (!SKED_OWN_GROW(x->arena, x->slot_log, x->slot_cap, x->n_slot_log + 1))
        x->status = SKED_ERR_MEMORY;
    else
        x->slot_log[x->n_slot_log++] = (saved_slot){k, x->slots[k]};
}

static void reserve_on(sked_i_memory_decoder *x, int32_t device, int32_t from, int32_t to, double amount)
{
    const int32_t stores[] = {x->m->store_of[device], x->m->total};
    from = from < 0 ? 0 : from;
    for (int j = 0; j < 2; j++) {
        if (stores[j] < 0 || from > to)
            continue;
        if (!SKED_OWN_GROW(x->arena, x->reserve_log, x->reserve_cap, x->n_reserve_log + 1)) {
            x->status = SKED_ERR_MEMORY;
            return;
        }
        sked_i_reserve_add(&x->reserve[stores[j]], from, to, amount);
        x->reserve_log[x->n_reserve_log++] = (reserve_change){stores[j], from, to, amount};
    }
}

static int64_t split(sked_i_memory_decoder *x, int32_t store, double at)
{
    bool fresh;
    if (isinf(at))
        return x->track[store].count;
    const int64_t k = sked_i_track_split(&x->track[store], at, &fresh);
    if (k < 0)
        x->status = SKED_ERR_MEMORY;
    else if (fresh)
        x->track_log[x->n_track_log++] = (track_change){store, k, -1, at, at, 0};
    return k;
}

static void add_to_track(sked_i_memory_decoder *x, int32_t store, double from, double to, double amount)
{
    if (!SKED_OWN_GROW(x->arena, x->track_log, x->track_cap, x->n_track_log + 3)) {
        x->status = SKED_ERR_MEMORY;
        return;
    }
    const int64_t a = split(x, store, from), b = split(x, store, to);
    if (a < 0 || b < 0)
        return;
    for (int64_t k = a; k < b; k++)
        x->track[store].load[k] += amount;
    x->track_log[x->n_track_log++] = (track_change){store, a, b, from, to, amount};
}

static void change_load(sked_i_memory_decoder *x, int32_t device, double from, double to, double amount)
{
    const int32_t stores[] = {x->m->store_of[device], x->m->total};
    for (int j = 0; j < 2; j++)
        if (stores[j] >= 0 && from < to)
            add_to_track(x, stores[j], from, to, amount);
}

static void release_at(sked_i_memory_decoder *x, int32_t device, double time, double size)
{
    if (!SKED_OWN_GROW(x->arena, x->releases, x->releases_cap, x->n_releases + 1))
        x->status = SKED_ERR_MEMORY;
    else
        x->releases[x->n_releases++] = (release){time, size, device};
}

/* The value of slot k is held from..to from now on, instead of what it was. The slot is saved. */
static void hold(sked_i_memory_decoder *x, int32_t k, double from, double to)
{
    slot *s = &x->slots[k];
    const double size = x->m->g->memory[s->op];
    const bool was = s->from < s->to, is = from < to;
    if (!x->copies) { /* held from now on, then let go once */
        for (int32_t j = 0; j < x->m->stores; j++)
            x->load[j] += is && !was ? size : 0;
        if (is && to < INFINITY && !(was && s->to < INFINITY))
            release_at(x, s->device, to, size);
        if (was && !is)
            release_at(x, s->device, x->now, size);
    } else if (!was || !is) {
        change_load(x, s->device, s->from, s->to, -size);
        change_load(x, s->device, from, to, size);
    } else {
        change_load(x, s->device, fmin(from, s->from), fmax(from, s->from), from < s->from ? size : -size);
        change_load(x, s->device, fmin(to, s->to), fmax(to, s->to), to > s->to ? size : -size);
    }
    s->from = from;
    s->to = to;
}

static void undo(sked_i_memory_decoder *x, int32_t op)
{
    while (x->n_track_log > 0) {
        const track_change *c = &x->track_log[--x->n_track_log];
        if (c->end < 0)
            sked_i_track_join(&x->track[c->store], c->first);
        for (int64_t k = c->first; k < c->end; k++)
            x->track[c->store].load[k] -= c->amount;
    }
    while (x->n_reserve_log > 0) {
        const reserve_change *c = &x->reserve_log[--x->n_reserve_log];
        sked_i_reserve_add(&x->reserve[c->store], c->from, c->to, -c->amount);
    }
    for (int32_t s = 0; s < x->m->stores; s++)
        sked_i_reserve_restore(&x->reserve[s], x->place[op], x->dropped[s]);
    while (x->n_slot_log > 0) {
        const saved_slot *c = &x->slot_log[--x->n_slot_log];
        const slot *s = &x->slots[c->index];
        if (!x->copies && !(c->was.from < c->was.to) && s->from < s->to)
            for (int32_t j = 0; j < x->m->stores; j++)
                x->load[j] -= x->m->g->memory[s->op];
        x->slots[c->index] = c->was;
    }
    while (x->n_slots > x->slots_before) {
        const slot *s = &x->slots[--x->n_slots];
        x->head[s->op] = s->next;
    }
    x->n_releases = x->releases_before;
    x->started[x->place[op]] = 0;
}

/* ------------------------------------------------------------------ starting an op */

static double lag_of(const sked_i_memory_decoder *x, int64_t e)
{
    return sked_i_lag(&x->m->costs, e, x->device[x->m->g->edge_from[e]]);
}

/* Arrivals of the value of op at the devices where its readers are planned; false: there is no link. */
static bool send(sked_i_memory_decoder *x, int32_t op, double *last)
{
    const sked_graph *g = x->m->g;
    const int32_t home = x->device[op];
    for (int64_t e = g->succ_ptr[op]; x->copies && e < g->succ_ptr[op + 1]; e++) {
        const int32_t d = x->plan->device[g->edge_to[e]];
        if (g->edge_distance[e] > 0 || d == home)
            continue;
        const double at =
            x->now + lag_of(x, e) + sked_i_transfer_time(&x->m->costs, g->edge_bytes[e], home, d);
        if (isinf(at))
            return false;
        if (x->edge_slot[e] < 0)
            continue;
        slot *s = &x->slots[x->edge_slot[e]];
        s->begin = fmin(s->begin, at);
        *last = fmax(*last, at);
    }
    return true;
}

/* The value of op comes into being: at home, and as copies where the plan reads it. */
static bool make_value(sked_i_memory_decoder *x, int32_t op, double end)
{
    const sked_graph *g = x->m->g;
    const int32_t home = x->device[op], at = x->place[op];
    const bool keeps = sked_i_stores_keeps(x->m, op);
    const double size = g->memory[op];
    if (size > 0)
        get_slot(x, op, home);
    for (int32_t k = x->head[op]; k >= 0; k = x->slots[k].next)
        if (k < x->slots_before)
            save(x, k);
    double last = x->m->to_finish ? end : x->now;
    if (x->status != SKED_OK || !send(x, op, &last))
        return false;
    for (int32_t k = x->head[op]; k >= 0; k = x->slots[k].next) {
        slot *s = &x->slots[k];
        const int32_t until = held_until(x, last_reader(x, s)), d = s->device;
        reserve_on(x, d, at, d == x->plan->device[op] ? x->home_last[op] : until, -size);
        reserve_on(x, d, 0, keeps && d == home ? x->m->n - 1 : until, size);
        if (d == home) {
            s->end = last;
            hold(x, k, x->now, keeps || s->readers > 0 ? INFINITY : last);
        } else if (s->readers > 0)
            hold(x, k, s->begin, INFINITY);
    }
    return true;
}

/* What the tracks hold of slot k by its readers. */
static void refresh(sked_i_memory_decoder *x, int32_t k)
{
    slot *s = &x->slots[k];
    if (s->device == x->device[s->op])
        hold(x, k, x->start[s->op], s->readers > 0 || sked_i_stores_keeps(x->m, s->op) ? INFINITY : s->end);
    else if (s->readers > 0 || s->used)
        hold(x, k, s->begin, s->readers > 0 ? INFINITY : s->end);
    else {
        hold(x, k, 0, 0);
        s->begin = INFINITY;
        s->end = -INFINITY;
    }
}

/* The plan has one reader less at slot k. */
static void leave_plan(sked_i_memory_decoder *x, int32_t k)
{
    slot *s = &x->slots[k];
    const int32_t before = last_reader(x, s);
    assert(s->readers > 0);
    s->readers--;
    while (s->top >= s->first && x->started[x->reader[s->top]])
        s->top--;
    const bool stays = sked_i_stores_keeps(x->m, s->op) && s->device == x->device[s->op];
    if (!stays)
        reserve_on(x, s->device, held_until(x, last_reader(x, s)) + 1, held_until(x, before),
                   -x->m->g->memory[s->op]);
}

/* Op reads the value at the begin of edge e where it runs. */
static void read_value(sked_i_memory_decoder *x, int32_t op, int64_t e, double release_time)
{
    const int32_t from = x->m->g->edge_from[e], d = x->device[op], planned = x->edge_slot[e];
    const int32_t here = get_slot(x, from, d), home = find_slot(x, from, x->device[from]);
    assert(planned >= 0 && home >= 0);
    const int32_t touched[] = {planned, here, home};
    for (int j = 0; j < 3; j++)
        save(x, touched[j]);
    if (x->status != SKED_OK)
        return;
    slot *s = &x->slots[here];
    s->used = true;
    s->end = fmax(s->end, release_time);
    if (here != home) {
        const double at = x->start[from] + lag_of(x, e) +
                          sked_i_transfer_time(&x->m->costs, x->m->g->edge_bytes[e], x->device[from], d);
        s->begin = fmin(s->begin, at);
        x->slots[home].end = fmax(x->slots[home].end, at);
    }
    leave_plan(x, planned);
    for (int j = 0; j < 3; j++)
        refresh(x, touched[j]);
}

/* Does memory hold what was changed, and the plan what is left of it? */
static bool fits(sked_i_memory_decoder *x)
{
    const sked_i_stores *m = x->m;
    for (int32_t s = 0; s < m->stores; s++)
        if (sked_i_reserve_most(&x->reserve[s]) > m->limit[s])
            return false;
    for (int32_t s = 0; !x->copies && s < m->stores; s++)
        if (x->load[s] > m->limit[s])
            return false;
    for (int64_t j = 0; j < x->n_track_log; j++) {
        const track_change *c = &x->track_log[j];
        const sked_i_track *t = &x->track[c->store];
        int64_t k = c->amount > 0 ? sked_i_track_find(t, c->from) : t->count;
        for (; k < t->count && t->time[k] < c->to; k++)
            if (t->load[k] > m->limit[c->store])
                return false;
    }
    return true;
}

/* Lifetime start: what is let go at this very time goes before what comes (sign -1), or is taken back (1). */
static void release_now(sked_i_memory_decoder *x, int sign)
{
    for (int64_t k = x->releases_before; k < x->n_releases; k++)
        if (x->releases[k].time <= x->now)
            for (int32_t s = 0; s < x->m->stores; s++)
                x->load[s] += sign * x->releases[k].size;
}

/* Changes memory as if op started now on its device. False: it does not fit, and nothing has changed. */
static bool admit(sked_i_memory_decoder *x, int32_t op, double time)
{
    const sked_graph *g = x->m->g;
    const double end = x->now + time;
    assert(!x->started[x->place[op]]);
    x->n_slot_log = x->n_reserve_log = x->n_track_log = 0;
    x->slots_before = x->n_slots;
    x->releases_before = x->n_releases;
    x->start[op] = x->now;
    x->started[x->place[op]] = 1;
    for (int32_t s = 0; s < x->m->stores; s++)
        x->dropped[s] = sked_i_reserve_drop(&x->reserve[s], x->place[op]);
    bool ok = make_value(x, op, end);
    for (int64_t j = g->pred_ptr[op]; ok && j < g->pred_ptr[op + 1]; j++)
        if (x->edge_slot[g->pred_edge[j]] >= 0)
            read_value(x, op, g->pred_edge[j], x->m->to_finish ? end : x->now);
    release_now(x, -1);
    if (ok && x->status == SKED_OK && fits(x))
        return true;
    release_now(x, 1);
    undo(x, op);
    return false;
}

/* ------------------------------------------------------------------ time */

static void push(sked_i_memory_decoder *x, double time, int32_t id)
{
    if (!SKED_OWN_GROW(x->arena, x->events.at, x->events_cap, (int64_t)x->events.count + 1))
        x->status = SKED_ERR_MEMORY;
    else
        sked_i_event_heap_push(&x->events, (sked_i_event){time, id});
}

/* When the data of op is on a device; INFINITY: it cannot get there. All predecessors have started. */
static double data_at(const sked_i_memory_decoder *x, int32_t op, int32_t d)
{
    const sked_graph *g = x->m->g;
    double at = x->m->p->fix_start != NULL && x->m->p->fix_start[op] > 0 ? x->m->p->fix_start[op] : 0;
    for (int64_t j = g->pred_ptr[op]; j < g->pred_ptr[op + 1]; j++) {
        const int64_t e = g->pred_edge[j];
        const int32_t from = g->pred_op[j];
        if (g->edge_distance[e] == 0)
            at = fmax(at, x->start[from] + lag_of(x, e) +
                              sked_i_transfer_time(&x->m->costs, g->edge_bytes[e], x->device[from], d));
    }
    return at;
}

/* Looks at op again at that time. */
static void ask_at(sked_i_memory_decoder *x, int32_t op, double time)
{
    if (time > x->wake[op] && time < INFINITY) {
        x->wake[op] = time;
        push(x, time, x->m->n + op);
    }
}

/* All predecessors have started: op competes from when its data is on some device. */
static void announce(sked_i_memory_decoder *x, int32_t op)
{
    double first = INFINITY;
    const bool alike = !x->m->hetero;
    for (int32_t d = 0; d < (alike ? 1 : x->m->devices); d++)
        if (alike || sked_i_stores_able(x->m, op, d))
            first = fmin(first, data_at(x, op, d));
    if (first <= x->now) {
        sked_i_set_add(&x->ready, (uint32_t)x->wish->rank[op]);
        x->news = true;
    } else
        ask_at(x, op, first);
}

static void finish_op(sked_i_memory_decoder *x, int32_t op)
{
    const sked_i_pools *q = &x->m->pools;
    for (int64_t k = sked_i_pools_first(q, op); q->count > 0 && k < sked_i_pools_end(q, op); k++)
        x->pool_used[q->pool[k]] -= q->amount[k];
}

/* Moves to the time of the next events and takes them all. False: there are none. */
static bool next_time(sked_i_memory_decoder *x)
{
    const int32_t n = x->m->n;
    if (x->events.count == 0)
        return false;
    x->now = fmax(x->now, x->events.at[0].time);
    while (x->events.count > 0 && x->events.at[0].time <= x->now) {
        const int32_t id = sked_i_event_heap_pop(&x->events).id;
        if (id < n)
            finish_op(x, id);
        else if (id < 2 * n) {
            if (!x->started[x->place[id - n]])
                sked_i_set_add(&x->ready, (uint32_t)x->wish->rank[id - n]);
        } else
            for (int32_t s = 0; s < x->m->stores; s++)
                x->load[s] -= x->releases[id - 2 * n].size;
    }
    return true;
}

static bool pools_admit(const sked_i_memory_decoder *x, int32_t op)
{
    const sked_i_pools *q = &x->m->pools;
    for (int64_t k = sked_i_pools_first(q, op); q->count > 0 && k < sked_i_pools_end(q, op); k++)
        if (x->pool_used[q->pool[k]] + q->amount[k] > q->capacity[q->pool[k]] + q->slack[q->pool[k]])
            return false;
    return true;
}

/* Memory has taken the op in: devices, pools, successors. */
static void begin(sked_i_memory_decoder *x, int32_t op, double time)
{
    const sked_graph *g = x->m->g;
    const sked_i_pools *q = &x->m->pools;
    sked_i_set_remove(&x->ready, (uint32_t)x->wish->rank[op]);
    x->left--;
    if (time > 0) {
        x->free_at[x->device[op]] = x->now + time;
        for (int64_t k = sked_i_pools_first(q, op); q->count > 0 && k < sked_i_pools_end(q, op); k++)
            x->pool_used[q->pool[k]] += q->amount[k];
        push(x, x->now + time, op);
    }
    for (int64_t k = x->releases_before; k < x->n_releases; k++)
        if (x->releases[k].time > x->now)
            push(x, x->releases[k].time, 2 * x->m->n + (int32_t)k);
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (g->edge_distance[e] == 0 && --x->waiting[g->edge_to[e]] == 0)
            announce(x, g->edge_to[e]);
}

/* ------------------------------------------------------------------ choosing a device */

typedef struct choice {
    int32_t device;
    double cost; /* less is better */
} choice;

/* Keeps the best few in order. */
static void offer(choice *best, int *count, int32_t device, double cost)
{
    int k = *count < most_choices ? (*count)++ : most_choices;
    for (int j = 0; j < *count && j < k; j++)
        if (best[j].device == device) {
            (*count) -= k < most_choices;
            return;
        }
    if (k == most_choices && cost >= best[--k].cost)
        return;
    for (; k > 0 && best[k - 1].cost > cost; k--)
        best[k] = best[k - 1];
    best[k] = (choice){device, cost};
}

static bool is_free(const sked_i_memory_decoder *x, int32_t op, int32_t d)
{
    return !x->m->occupied || x->free_at[d] <= x->now || !(sked_i_time(&x->m->costs, op, d) > 0);
}

/* Bytes of op's inputs that are not made on device d. */
static double foreign(const sked_i_memory_decoder *x, int32_t op, int32_t d)
{
    const sked_graph *g = x->m->g;
    double sum = 0;
    for (int64_t j = g->pred_ptr[op]; j < g->pred_ptr[op + 1]; j++)
        if (g->edge_distance[g->pred_edge[j]] == 0 && x->device[g->pred_op[j]] != d)
            sum += g->memory[g->pred_op[j]];
    return sum;
}

/* Devices that are alike: those that made an input, then any. */
static int choose_alike(const sked_i_memory_decoder *x, int32_t op, choice *best)
{
    const sked_graph *g = x->m->g;
    int count = 0;
    for (int64_t j = g->pred_ptr[op]; j < g->pred_ptr[op + 1]; j++) {
        const int32_t d = x->device[g->pred_op[j]];
        if (g->edge_distance[g->pred_edge[j]] == 0 && sked_i_stores_able(x->m, op, d) && is_free(x, op, d))
            offer(best, &count, d, foreign(x, op, d));
    }
    for (int32_t d = 0; d < x->m->devices; d++)
        if (sked_i_stores_able(x->m, op, d) && is_free(x, op, d)) {
            offer(best, &count, d, foreign(x, op, d));
            if (d != x->plan->device[op])
                break;
        }
    return count;
}

/* Devices where op can start now and ends no later than it would by waiting for another. */
static int choose_hetero(sked_i_memory_decoder *x, int32_t op, choice *best)
{
    double soonest = INFINITY, later = INFINITY;
    int count = 0;
    for (int32_t d = 0; d < x->m->devices; d++) {
        if (!sked_i_stores_able(x->m, op, d))
            continue;
        const double time = sked_i_time(&x->m->costs, op, d), data = data_at(x, op, d);
        const double at = fmax(data, time > 0 ? x->free_at[d] : 0);
        soonest = fmin(soonest, fmax(at, x->now) + time);
        if (data > x->now)
            later = fmin(later, data);
        if (at <= x->now)
            offer(best, &count, d, x->now + time);
    }
    if (later < INFINITY)
        ask_at(x, op, later);
    return count > 0 && best[0].cost <= soonest ? count : 0;
}

/* The device that was wished for, if it can start op now. */
static int choose_wished(sked_i_memory_decoder *x, int32_t op, int32_t d, choice *best)
{
    const double data = data_at(x, op, d);
    if (data > x->now)
        ask_at(x, op, data);
    if (data > x->now || !is_free(x, op, d))
        return 0;
    best[0] = (choice){d, 0};
    return 1;
}

static int choose(sked_i_memory_decoder *x, int32_t op, choice *best)
{
    const int32_t wished = x->wish->device != NULL ? x->wish->device[op] : -1;
    if (wished >= 0 && sked_i_stores_able(x->m, op, wished))
        return choose_wished(x, op, wished, best);
    return x->m->hetero ? choose_hetero(x, op, best) : choose_alike(x, op, best);
}

/* Is there room now for the result alone? Saves most of the attempts where memory is full. */
static bool has_room(const sked_i_memory_decoder *x, int32_t op, int32_t d)
{
    const sked_i_stores *m = x->m;
    const int32_t stores[] = {m->store_of[d], m->total};
    for (int j = 0; j < 2 && m->to_finish; j++) {
        const int32_t s = stores[j];
        if (s < 0)
            continue;
        const double load =
            x->copies ? x->track[s].load[sked_i_track_find(&x->track[s], x->now)] : x->load[s];
        if (load + m->g->memory[op] > m->limit[s])
            return false;
    }
    return true;
}

/* Starts op now on one of the devices it may choose from. */
static bool try_op(sked_i_memory_decoder *x, int32_t op)
{
    choice best[most_choices];
    if (!pools_admit(x, op))
        return false;
    const int count = choose(x, op, best);
    for (int k = 0; k < count && x->status == SKED_OK; k++) {
        const double time = sked_i_time(&x->m->costs, op, best[k].device);
        x->device[op] = best[k].device;
        if ((time == 0 || has_room(x, op, best[k].device)) && admit(x, op, time)) {
            begin(x, op, time);
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ the whole */

/* Nothing runs and nothing is admitted: the plan goes on, which fits. */
static bool follow_plan(sked_i_memory_decoder *x)
{
    const int32_t n = x->m->n;
    while (x->next_place < n && x->started[x->next_place])
        x->next_place++;
    if (x->next_place == n)
        return false;
    const int32_t op = x->plan->order[x->next_place], d = x->plan->device[op];
    const double time = sked_i_time(&x->m->costs, op, d);
    x->now = fmax(x->now, fmax(data_at(x, op, d), time > 0 ? x->free_at[d] : 0));
    x->device[op] = d;
    if (isinf(x->now) || !pools_admit(x, op) || !admit(x, op, time))
        return false;
    begin(x, op, time);
    return true;
}

/* Next member of the ready set behind a rank; n: none. */
static int32_t next_ready(const sked_i_memory_decoder *x, int32_t rank)
{
    const int32_t n = x->m->n;
    for (int32_t word = rank >> 6; word <= (n - 1) >> 6; word++) {
        uint64_t bits = x->ready.level[0][word];
        if (word == rank >> 6)
            bits &= ~UINT64_C(0) << (rank & 63);
        if (bits != 0)
            return word * 64 + __builtin_ctzll(bits);
    }
    return n;
}

/* One pass over the ready ops at this time. */
static void start_ready(sked_i_memory_decoder *x)
{
    const int32_t n = x->m->n;
    const int most = x->refusals > 0 ? most_refusals : few_refusals;
    int refused = 0;
    x->news = false;
    for (int32_t r = next_ready(x, 0); r < n && refused < most; r = r + 1 < n ? next_ready(x, r + 1) : n) {
        while (x->first_rank < n && x->started[x->place[x->by_rank[x->first_rank]]])
            x->first_rank++;
        if (r - x->first_rank >= x->wish->window)
            break;
        if (sked_i_pace_over(&x->pace, steps_per_look + steps_per_store * (int64_t)x->m->stores))
            break;
        refused += !try_op(x, x->by_rank[r]);
    }
    x->refusals -= refused;
}

static void reset(sked_i_memory_decoder *x)
{
    const sked_i_stores *m = x->m;
    const sked_graph *g = m->g;
    x->now = 0;
    x->events.count = 0;
    x->n_releases = 0;
    x->first_rank = x->next_place = 0;
    x->left = m->n;
    x->refusals = 1000 + refusals_per_op * (int64_t)m->n;
    memset(x->words, 0, (size_t)sked_i_set_words(m->n) * sizeof *x->words);
    memset(x->started, 0, (size_t)m->n);
    memset(x->waiting, 0, (size_t)m->n * sizeof *x->waiting);
    for (int64_t e = 0; e < g->n_edges; e++)
        x->waiting[g->edge_to[e]] += g->edge_distance[e] == 0;
    for (int32_t i = 0; i < m->n; i++) {
        x->wake[i] = 0;
        x->by_rank[x->wish->rank[i]] = i;
    }
    for (int32_t d = 0; d < m->devices; d++)
        x->free_at[d] = 0;
    for (int32_t q = 0; q < m->pools.count; q++)
        x->pool_used[q] = 0;
}

static bool keeps_fixed(const sked_i_memory_decoder *x)
{
    const double *fixed = x->m->p->fix_start;
    const double slack = sked_i_problem_integral(x->m->p) ? 0 : 1e-10 * fmax(1, x->now);
    for (int32_t i = 0; fixed != NULL && i < x->m->n; i++)
        if (x->start[i] > fixed[i] + slack)
            return false;
    return true;
}

bool sked_i_memory_decode(sked_i_memory_decoder *x, const sked_i_memory_plan *plan,
                          const sked_i_memory_wish *wish, double *start, int32_t *device)
{
    x->plan = plan;
    x->wish = wish;
    x->start = start;
    x->device = device;
    if (!load_plan(x))
        return false;
    reset(x);
    for (int32_t i = 0; i < x->m->n; i++)
        if (x->waiting[i] == 0)
            announce(x, i);
    while (x->left > 0 && x->status == SKED_OK) {
        do
            start_ready(x);
        while (x->news && !x->pace.over);
        if (x->pace.over)
            return false;
        if (x->left > 0 && !next_time(x) && !follow_plan(x))
            return false;
    }
    return x->status == SKED_OK && keeps_fixed(x);
}
