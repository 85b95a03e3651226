/*
 * The crew under memory limits. A point of the search is an order of priorities, devices that ops wish for,
 * and a window; the engine makes a schedule of it that keeps the limits (engine/memory). Annealing moves ops
 * in the order, changes wishes and the window. The order of starts of a schedule that was accepted becomes
 * the order of priorities now and then, so that moves are moves in the schedule.
 */
#include "method/search/limits_annealing.h"

#include "engine/list/list.h"
#include "method/memory_limits.h"
#include "method/search/places.h"
#include "schedule/schedule.h"

#include <string.h>

enum { planning = 60000, technique_starts = 0, technique_annealing = 1 };
static const int32_t windows[] = {64, 16, INT32_MAX, 4, 256, 32, 1}; /* those that help most often first */
enum { n_windows = sizeof windows / sizeof *windows, n_priorities = SKED_I_RANDOM };

/* What the workers share. */
typedef struct bounded {
    sked_i_crew crew;
    sked_i_memory_limits limits;
    sked_i_dag view;
    int32_t *known;        /* [n] order of the starts of a schedule found elsewhere */
    int32_t *known_device; /* [n] its devices */
    bool has_known;
} bounded;

/* A point of the search and what it costs. */
typedef struct point {
    int32_t *order, *wish; /* [n] */
    int window;
    double cost;
} point;

typedef struct worker {
    sked_i_crew_worker base;
    const bounded *shared;
    sked_i_memory_decoder *decoder;
    point now, next;
    void *scratch; /* a solution: the last decoded */
    int32_t *rank, *label;
    sked_i_keyed *item, *spare;
    int64_t length, step; /* of a cooling */
    double heat;
    bool begun;
} worker;

/* ------------------------------------------------------------------ points */

static void copy_point(point *to, const point *from, int32_t n)
{
    memcpy(to->order, from->order, (size_t)n * sizeof *to->order);
    memcpy(to->wish, from->wish, (size_t)n * sizeof *to->wish);
    to->window = from->window;
    to->cost = from->cost;
}

/* Decodes w->next into scratch and takes note of what comes out. */
static void evaluate(worker *w)
{
    const bounded *x = w->shared;
    const sked_i_stores *m = &x->limits.model;
    double cost = 0;
    for (int32_t k = 0; k < m->n; k++)
        w->rank[w->next.order[k]] = k;
    const sked_i_memory_wish wish = {w->rank, w->next.wish, windows[w->next.window], x->limits.limit};
    double *start = sked_i_places_start(w->scratch);
    int32_t *device = sked_i_places_device(w->scratch, x->limits.model.n);
    w->base.client.evaluations++;
    const bool fits = sked_i_memory_decode(w->decoder, &x->limits.plan, &wish, start, device);
    if (sked_i_memory_decoder_status(w->decoder) != SKED_OK)
        sked_i_crew_fail(&w->base, sked_i_no_memory(&w->base.hand.error));
    for (int32_t i = 0; fits && i < m->n; i++)
        cost = fmax(cost, start[i] + sked_i_time(&m->costs, i, device[i]));
    w->next.cost = fits ? cost : INFINITY;
    if (fits || !sked_i_limit_reached(x->limits.limit)) /* else it was cut short, which says nothing */
        w->base.least = fmin(w->base.least, fits ? cost : 1e300);
    if (fits && cost <= m->p->horizon && sked_i_crew_wants(&w->base, cost))
        sked_i_crew_see(&w->base, cost, w->scratch);
}

/* ------------------------------------------------------------------ starts */

static void keep_better(worker *w)
{
    evaluate(w);
    if (w->next.cost < w->now.cost || !w->begun)
        copy_point(&w->now, &w->next, w->shared->limits.model.n);
    w->begun = true;
}

static void clear_wishes(worker *w)
{
    for (int32_t i = 0; i < w->shared->limits.model.n; i++)
        w->next.wish[i] = -1;
}

/* A schedule found elsewhere: its order, with its devices and without. */
static void try_known(worker *w)
{
    const bounded *x = w->shared;
    const int32_t n = x->limits.model.n;
    memcpy(w->next.order, x->known, (size_t)n * sizeof *x->known);
    for (int k = 0; k < 4; k++) {
        clear_wishes(w);
        if (k % 2 == 0 && x->limits.model.occupied)
            memcpy(w->next.wish, x->known_device, (size_t)n * sizeof *x->known_device);
        w->next.window = k < 2 ? n_windows - 1 : 2;
        keep_better(w);
    }
}

/* The order of the plan with every window. False: the time is up. */
static bool try_plan(worker *w)
{
    const sked_i_memory_limits *x = &w->shared->limits;
    clear_wishes(w);
    memcpy(w->next.order, x->plan.order, (size_t)x->model.n * sizeof *w->next.order);
    for (w->next.window = 0; w->next.window < n_windows; w->next.window++) {
        keep_better(w);
        if (sked_i_crew_over(&w->base.client))
            return false;
    }
    return true;
}

/* Every priority with every window. */
static void try_priorities(worker *w)
{
    const bounded *x = w->shared;
    const sked_i_stores *m = &x->limits.model;
    clear_wishes(w);
    for (int k = 0; k < n_priorities; k++) {
        if (sked_i_priority_rank(m->p, &x->view, (sked_i_priority)k, w->base.hand.index > 0 ? 0.1 : 0,
                                 &w->base.client.rng, w->rank, &w->base.hand.error) != SKED_OK) {
            sked_i_crew_fail(&w->base, SKED_ERR_MEMORY);
            return;
        }
        for (int32_t i = 0; i < m->n; i++)
            w->next.order[w->rank[i]] = i;
        for (w->next.window = 0; w->next.window < n_windows; w->next.window++) {
            keep_better(w);
            if (sked_i_crew_over(&w->base.client))
                return;
        }
    }
}

/* ------------------------------------------------------------------ annealing */

/* A few ops to other places, most of them near. */
static void move_ops(worker *w)
{
    sked_i_rng *rng = &w->base.client.rng;
    const int32_t n = w->shared->limits.model.n;
    const int count = 1 + (int)sked_i_rng_below(rng, 4);
    for (int k = 0; k < count; k++) {
        const int32_t from = (int32_t)sked_i_rng_below(rng, (uint64_t)n);
        const double reach = n * pow(sked_i_rng_uniform(rng), 3);
        int32_t to = from + (int32_t)(sked_i_rng_below(rng, 2) ? reach + 1 : -reach - 1);
        to = to < 0 ? 0 : to >= n ? n - 1 : to;
        sked_i_memory_shift(w->next.order, from, to);
    }
}

/* An op and a path that follows it wish for one device, or for none. */
static void move_wishes(worker *w)
{
    const sked_i_stores *m = &w->shared->limits.model;
    const sked_graph *g = m->g;
    sked_i_rng *rng = &w->base.client.rng;
    int32_t op = (int32_t)sked_i_rng_below(rng, (uint64_t)m->n);
    const int32_t d = (int32_t)sked_i_rng_below(rng, (uint64_t)m->devices + 1) - 1;
    const int length = 1 + (int)sked_i_rng_below(rng, 8);
    for (int k = 0; k < length; k++) {
        w->next.wish[op] = d;
        const int64_t count = g->succ_ptr[op + 1] - g->succ_ptr[op];
        if (count == 0)
            break;
        op = g->edge_to[g->succ_ptr[op] + (int64_t)sked_i_rng_below(rng, (uint64_t)count)];
    }
}

static void mutate(worker *w)
{
    sked_i_rng *rng = &w->base.client.rng;
    const sked_i_stores *m = &w->shared->limits.model;
    const uint64_t kind = sked_i_rng_below(rng, 16);
    if (kind == 0)
        w->next.window = (int)sked_i_rng_below(rng, n_windows);
    else if (kind < 5 && m->devices > 1)
        move_wishes(w);
    else
        move_ops(w);
}

/* The point becomes what its schedule is: order by starts, and now and then the devices it got. */
static void settle(worker *w)
{
    const bounded *x = w->shared;
    sked_i_rng *rng = &w->base.client.rng;
    if (sked_i_rng_below(rng, 4) == 0)
        sked_i_schedule_sort(x->limits.model.g, sked_i_places_start(w->scratch), w->item, w->spare,
                             w->now.order);
    if (x->limits.model.devices > 1 && sked_i_rng_below(rng, 8) == 0)
        memcpy(w->now.wish, sked_i_places_device(w->scratch, x->limits.model.n),
               (size_t)x->limits.model.n * sizeof *w->now.wish);
}

/* A schedule as the next point: its starts are the order, its devices the wishes. */
static void try_schedule(worker *w, const double *start, const int32_t *device)
{
    const sked_i_stores *m = &w->shared->limits.model;
    copy_point(&w->next, &w->now, m->n);
    sked_i_schedule_sort(m->g, start, w->item, w->spare, w->next.order);
    if (m->occupied)
        memcpy(w->next.wish, device, (size_t)m->n * sizeof *w->next.wish);
    w->next.window = (int)sked_i_rng_below(&w->base.client.rng, n_windows);
    evaluate(w);
    if (w->next.cost <= w->now.cost * 1.02)
        copy_point(&w->now, &w->next, m->n);
}

/* From the incumbent. */
static void restart(worker *w)
{
    if (w->base.best < INFINITY)
        try_schedule(w, sked_i_places_start(w->base.incumbent),
                     sked_i_places_device(w->base.incumbent, w->shared->limits.model.n));
}

static void work(sked_i_crew_worker *base)
{
    worker *w = (worker *)base;
    const int32_t n = w->shared->limits.model.n;
    if (!w->begun) {
        const sked_i_crew_span span = sked_i_crew_begin(base);
        if (w->shared->has_known)
            try_known(w);
        if (try_plan(w))
            try_priorities(w);
        sked_i_crew_end(base, technique_starts, span);
        w->length = 500;
    }
    const sked_i_crew_span span = sked_i_crew_begin(base);
    while (n > 1 && !sked_i_crew_over(&base->client)) {
        if (w->step++ >= w->length) {
            w->step = 0;
            w->length += w->length / 2;
            restart(w);
        }
        const double left = 1 - (double)w->step / (double)w->length;
        copy_point(&w->next, &w->now, n);
        mutate(w);
        evaluate(w);
        const double bar = w->now.cost * (1 + 0.003 * left * sked_i_rng_exponential(&base->client.rng));
        if (w->next.cost <= bar) {
            copy_point(&w->now, &w->next, n);
            settle(w);
        }
    }
    sked_i_crew_end(base, technique_annealing, span);
}

/* ------------------------------------------------------------------ workers */

static uint64_t hash(sked_i_crew_worker *base, const void *solution)
{
    const worker *w = (worker *)base;
    const sked_i_stores *m = &w->shared->limits.model;
    return sked_i_places_hash(solution, m->n, m->devices, w->label);
}

static sked_status offer(sked_i_crew_worker *base, const void *solution, sked_error *err)
{
    return sked_i_places_offer(base->crew->run, solution, err);
}

static sked_status open_worker(sked_i_crew_worker *base, sked_error *err)
{
    sked_status st = SKED_OK;
    worker *w = (worker *)base;
    sked_i_arena *own = &base->hand.own;
    w->shared = (bounded *)base->crew;
    const sked_i_stores *m = &w->shared->limits.model;
    SKED_TRY(sked_i_memory_decoder_create(own, m, &w->decoder, err));
    w->scratch = sked_i_arena_alloc(own, 1, base->crew->size);
    SKED_OWN(own, w->now.order, m->n);
    SKED_OWN(own, w->now.wish, m->n);
    SKED_OWN(own, w->next.order, m->n);
    SKED_OWN(own, w->next.wish, m->n);
    SKED_OWN(own, w->rank, m->n);
    SKED_OWN(own, w->label, m->devices);
    SKED_OWN(own, w->item, m->n);
    SKED_OWN(own, w->spare, m->n);
    if (w->scratch == NULL)
        st = sked_i_no_memory(err);
cleanup:
    return st;
}

/* Another rank's incumbent is the next point where it is shorter. */
static sked_status resume_worker(sked_i_crew_worker *base, sked_error *err)
{
    const sked_i_run *run = base->crew->run;
    const sked_schedule *s = sked_i_run_incumbent(run);
    (void)err;
    if (run->goes_on && ((worker *)base)->begun && s != NULL && sked_i_run_best(run) < base->best)
        try_schedule((worker *)base, s->start, s->device);
    return SKED_OK;
}

static const sked_i_crew_kind memory_kind = {
    .phase = "search",
    .worker_size = sizeof(worker),
    .technique = {[technique_starts] = "starts", [technique_annealing] = "annealing"},
    .open = open_worker,
    .resume = resume_worker,
    .work = work,
    .offer = offer,
    .hash = hash,
};

/* ------------------------------------------------------------------ the run */

static void drop(sked_i_crew *crew)
{
    bounded *x = (bounded *)crew;
    sked_i_dag_free(&x->view);
    sked_i_memory_limits_close(&x->limits);
}

/* What the run knows already: a warm start, or what a quicker method has found. */
static sked_status take_known(const sked_i_run *run, bounded *x, sked_error *err)
{
    const sked_schedule *s = sked_i_run_incumbent(run);
    sked_status st = SKED_OK;
    SKED_OWN0(&x->crew.own, x->known, x->limits.model.n);
    SKED_OWN0(&x->crew.own, x->known_device, x->limits.model.n);
    x->has_known = s != NULL;
    if (s != NULL)
        SKED_TRY(sked_i_schedule_order(run->problem->graph, s->start, x->known, err));
    if (s != NULL && s->device != NULL)
        memcpy(x->known_device, s->device, (size_t)s->ops * sizeof *s->device);
cleanup:
    return st;
}

static sked_status make(sked_i_run *run, sked_i_crew *crew, sked_error *err)
{
    sked_status st = SKED_OK;
    bounded *x = (bounded *)crew;
    const int64_t iterations = run->options->iterations;
    SKED_TRY(sked_i_memory_limits_open(
        run, iterations > 0 && iterations < planning ? iterations + 20 : planning, &x->limits, err));
    const int32_t n = x->limits.model.n;
    sked_i_crew_init(crew, &memory_kind, sked_i_places_size(n));
    crew->reserve = 2e-6 * n;
    crew->fixed = run->problem->fix_start != NULL;
    SKED_TRY(sked_i_dag_make(run->problem, run->costs, false, false, &x->view, err));
    SKED_TRY(take_known(run, x, err));
cleanup:
    return st;
}

sked_status sked_i_search_memory_limits(sked_i_run *run, sked_error *err)
{
    sked_i_crew *crew;
    const sked_status st = sked_i_crew_of_run(run, sizeof(bounded), make, drop, &crew, err);
    if (st != SKED_OK)
        return st;
    ((bounded *)crew)->limits.limit = &run->limit; /* of this turn */
    return sked_i_crew_run(crew, run, sked_i_crew_goal(crew, run), err);
}
