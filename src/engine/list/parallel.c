/*
 * Parallel generation: time goes from event to event, and at each the best ready op that fits starts.
 *
 * Ready ops are kept in classes of equal demands, so that "the best that fits" is one look per class and
 * not per op. On devices alone there is one class.
 */
#include "base/arena.h"
#include "base/heap.h"
#include "base/set.h"
#include "engine/list/list.h"

#include <assert.h>

/* Where lags differ from durations: what is known of an op's predecessors. */
typedef struct op_state {
    double arrival;  /* when all data is there, as far as known */
    int32_t waiting; /* predecessors not started */
} op_state;

typedef struct op_class {
    sked_i_set ready;    /* of positions */
    int64_t first;       /* members[first + position] */
    int64_t demand, end; /* what every member holds: demands of the input's pools */
    int32_t best;        /* position of the best ready op */
    int32_t rank;        /* its rank, -1: not looked up yet */
    int32_t active;      /* index in `active`, -1: no op is ready */
} op_class;

typedef struct engine {
    sked_i_arena arena;
    const sked_i_list_input *input;
    bool plain;              /* successors follow the end of an op: nothing to remember but their number */
    op_state *state;         /* [n] unless plain */
    int32_t *waiting;        /* [n] plain: predecessors not ended */
    const int32_t *position; /* [n] place of the op in its class, by rank */
    int32_t *positions;      /* the same, where there are several classes */
    int32_t *members;        /* [n] ops by class, then rank */
    op_class *classes;
    int32_t *active; /* classes with ready ops */
    int32_t n_active;
    uint64_t *words;
    double *free; /* [pools] */
    int32_t *users;
    sked_i_event_heap pending, running;
    int32_t *idle; /* stack of free devices */
    int32_t n_idle;
    double *start;
    int32_t *device;
    sked_i_pace pace;
} engine;

/* Members of every class in order of rank. */
static sked_status number_members(engine *x, sked_error *err)
{
    const int32_t n = x->input->view->n;
    sked_status st = SKED_OK;
    int32_t *by_rank;
    x->position = x->input->rank;
    for (int32_t i = 0; x->input->pools->n_classes == 1 && i < n; i++)
        x->members[x->input->rank[i]] = i;
    if (x->input->pools->n_classes == 1)
        return SKED_OK;
    SKED_OWN(&x->arena, by_rank, n);
    SKED_OWN(&x->arena, x->positions, n);
    x->position = x->positions;
    for (int32_t i = 0; i < n; i++)
        by_rank[x->input->rank[i]] = i;
    for (int32_t r = 0; r < n; r++) {
        op_class *const c = &x->classes[x->input->pools->class_of[by_rank[r]]];
        x->positions[by_rank[r]] = c->best;
        x->members[c->first + c->best++] = by_rank[r];
    }
cleanup:
    return st;
}

/* The classes' sizes, demands and sets. */
static sked_status fill_classes(engine *x, sked_error *err)
{
    const int32_t n = x->input->view->n;
    sked_status st = SKED_OK;
    int64_t words = 0;
    SKED_OWN0(&x->arena, x->classes, x->input->pools->n_classes);
    SKED_OWN(&x->arena, x->active, x->input->pools->n_classes);
    for (int32_t i = 0; i < n; i++)
        x->classes[sked_i_pools_class(x->input->pools, i)].best++; /* holds the size for now */
    for (int32_t c = 0; c < x->input->pools->n_classes; c++)
        words += sked_i_set_words(x->classes[c].best);
    SKED_OWN0(&x->arena, x->words, words);
    int64_t first = 0, used = 0;
    for (int32_t c = 0; c < x->input->pools->n_classes; c++) {
        op_class *const k = &x->classes[c];
        used += sked_i_set_place(&k->ready, k->best, x->words + used);
        k->first = first;
        k->demand = x->input->pools->class_ptr[c];
        k->end = x->input->pools->class_ptr[c + 1];
        first += k->best;
        k->best = 0;
        k->active = -1;
    }
    SKED_TRY(number_members(x, err));
cleanup:
    return st;
}

static void count_predecessors(engine *x)
{
    const sked_i_dag *v = x->input->view;
    for (int32_t i = 0; i < v->n; i++) {
        const int32_t count = (int32_t)(v->in_ptr[i + 1] - v->in_ptr[i]);
        if (x->plain)
            x->waiting[i] = count;
        else
            x->state[i] = (op_state){x->input->release ? x->input->release[i] : 0, count};
    }
}

static sked_status prepare(engine *x, sked_error *err)
{
    const sked_i_dag *v = x->input->view;
    const sked_i_pools *q = x->input->pools;
    sked_status st = SKED_OK;
    x->plain = v->plain && x->input->release == NULL;
    if (x->plain)
        SKED_OWN(&x->arena, x->waiting, v->n);
    else
        SKED_OWN(&x->arena, x->state, v->n);
    SKED_OWN(&x->arena, x->members, v->n);
    SKED_OWN(&x->arena, x->free, q->count);
    SKED_OWN0(&x->arena, x->users, q->count);
    SKED_OWN(&x->arena, x->pending.at, x->plain ? 0 : v->n);
    SKED_OWN(&x->arena, x->running.at, v->n);
    SKED_OWN(&x->arena, x->idle, x->input->devices);
    SKED_TRY(fill_classes(x, err));
    for (int32_t r = 0; r < q->count; r++)
        x->free[r] = q->capacity[r];
    for (int32_t d = x->input->devices - 1; d >= 0; d--)
        x->idle[x->n_idle++] = d;
    count_predecessors(x);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ time */

static inline void make_ready(engine *x, int32_t i)
{
    const int32_t number = sked_i_pools_class(x->input->pools, i), position = x->position[i];
    op_class *const c = &x->classes[number];
    sked_i_set_add(&c->ready, (uint32_t)position);
    if (c->active < 0) {
        c->active = x->n_active;
        x->active[x->n_active++] = number;
    } else if (position > c->best)
        return;
    c->best = position;
    c->rank = -1;
}

/* Takes the best ready op out of its class. */
static inline int32_t take_best(engine *x, op_class *c)
{
    const int32_t i = x->members[c->first + c->best];
    assert(c->active >= 0 && c->best == (int32_t)sked_i_set_first(&c->ready));
    sked_i_set_remove(&c->ready, (uint32_t)c->best);
    c->rank = -1;
    if (!sked_i_set_empty(&c->ready)) {
        c->best = (int32_t)sked_i_set_first(&c->ready);
        return i;
    }
    const int32_t last = x->active[--x->n_active];
    x->active[c->active] = last;
    x->classes[last].active = c->active;
    c->active = -1;
    return i;
}

static inline bool has_room(const engine *x, const op_class *c)
{
    const sked_i_pools *q = x->input->pools;
    for (int64_t k = c->demand; k < c->end; k++)
        if (q->amount[k] > x->free[q->pool[k]] + q->slack[q->pool[k]])
            return false;
    return true;
}

/* The class whose best ready op is the best of all that fit now, or NULL. */
static inline op_class *choose(engine *x)
{
    op_class *chosen = NULL;
    for (int32_t a = 0; a < x->n_active; a++) {
        op_class *const c = &x->classes[x->active[a]];
        if (x->n_active > 1 && c->rank < 0)
            c->rank = x->input->rank[x->members[c->first + c->best]];
        if ((chosen == NULL || c->rank < chosen->rank) && has_room(x, c))
            chosen = c;
    }
    return chosen;
}

/* Sends the data of op i, started at t, to its successors. */
static inline void send_data(engine *x, int32_t i, double t, double now)
{
    const sked_i_dag *v = x->input->view;
    for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
        const int32_t to = v->out.op[e];
        op_state *const s = &x->state[to];
        const double arrives = t + v->out.lag[e];
        s->arrival = arrives > s->arrival ? arrives : s->arrival;
        if (--s->waiting > 0)
            continue;
        if (s->arrival <= now)
            make_ready(x, to);
        else
            sked_i_event_heap_push(&x->pending, (sked_i_event){s->arrival, to});
    }
}

/* Plain lags: op i has ended now. */
static inline void send_end(engine *x, int32_t i)
{
    const sked_i_dag *v = x->input->view;
    for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++)
        if (--x->waiting[v->out.op[e]] == 0)
            make_ready(x, v->out.op[e]);
}

static inline void begin_op(engine *x, int32_t i, const op_class *c, double now)
{
    const sked_i_dag *v = x->input->view;
    const sked_i_pools *q = x->input->pools;
    const bool holds = c->end > c->demand;
    /* what needs nothing need not wait for events */
    const double t = holds || x->plain ? now : x->state[i].arrival;
    x->start[i] = t;
    for (int64_t k = c->demand; k < c->end; k++) {
        x->free[q->pool[k]] -= q->amount[k];
        x->users[q->pool[k]]++;
    }
    assert(x->device == NULL || !holds || x->n_idle > 0);
    if (x->device != NULL)
        x->device[i] = holds ? x->idle[--x->n_idle] : x->n_idle > 0 ? x->idle[x->n_idle - 1] : 0;
    if (holds || (x->plain && v->duration[i] > 0)) {
        sked_i_event_heap_push(&x->running, (sked_i_event){t + v->duration[i], i});
        __builtin_prefetch(&v->out.op[v->out.ptr[i]]);
    } else if (x->plain)
        send_end(x, i);
    if (!x->plain)
        send_data(x, i, t, now);
}

static inline void end_op(engine *x, int32_t i)
{
    const sked_i_pools *q = x->input->pools;
    const op_class *const c = &x->classes[sked_i_pools_class(q, i)];
    for (int64_t k = c->demand; k < c->end; k++) {
        const int32_t r = q->pool[k];
        assert(x->users[r] > 0);
        x->free[r] = --x->users[r] == 0 ? q->capacity[r] : x->free[r] + q->amount[k];
    }
    if (x->device != NULL && c->end > c->demand)
        x->idle[x->n_idle++] = x->device[i];
    if (x->plain)
        send_end(x, i);
}

/* Ends and arrivals up to now. */
static inline void catch_up(engine *x, double now)
{
    while (x->running.count > 0 && x->running.at[0].time <= now)
        end_op(x, sked_i_event_heap_pop(&x->running).id);
    while (x->pending.count > 0 && x->pending.at[0].time <= now)
        make_ready(x, sked_i_event_heap_pop(&x->pending).id);
}

/* false: the limit was reached. */
static bool go(engine *x)
{
    const sked_i_dag *v = x->input->view;
    for (int32_t i = 0; i < v->n; i++)
        if (x->plain && x->waiting[i] == 0)
            make_ready(x, i);
        else if (!x->plain && x->state[i].waiting == 0)
            sked_i_event_heap_push(&x->pending, (sked_i_event){x->state[i].arrival, i});
    double now = 0;
    for (;;) {
        catch_up(x, now);
        for (op_class *c; (c = choose(x)) != NULL;) {
            begin_op(x, take_best(x, c), c, now);
            if (sked_i_pace_over(&x->pace, x->n_active))
                return false;
        }
        if (sked_i_pace_over(&x->pace, x->n_active))
            return false;
        const double next_end = x->running.count > 0 ? x->running.at[0].time : INFINITY;
        const double next_data = x->pending.count > 0 ? x->pending.at[0].time : INFINITY;
        if (isinf(next_end) && isinf(next_data))
            return true; /* all done: whatever is ready fits an empty machine */
        assert(fmin(next_end, next_data) >= now);
        now = next_end < next_data ? next_end : next_data;
    }
}

sked_status sked_i_list_parallel(const sked_i_list_input *input, double *start, int32_t *device,
                                 sked_error *err)
{
    engine x = {.input = input, .start = start, .device = device};
    x.pace = (sked_i_pace){.limit = input->limit,
                           .free_steps = SKED_I_LIST_FREE_STEPS * (int64_t)input->view->n,
                           .owed = input->owed};
    sked_status st = prepare(&x, err);
    if (st == SKED_OK && !go(&x))
        st = sked_i_limit_fail(err);
    sked_i_arena_free(&x.arena);
    return st;
}
