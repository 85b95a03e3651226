/* The crew on device sequences: starts and coolings in turn. */
#include "method/search/sequence_annealing.h"

#include "engine/sequence/anneal.h"
#include "method/search/places.h"

#include <string.h>

/* Coolings in turn: from the best, from the best, from a new schedule. */
static const double heats[] = {0.2, 0.05, 0.3};
enum { n_heats = sizeof heats / sizeof *heats };
enum { n_shares = 3, max_starts = n_shares + 2 };
enum { technique_starts, technique_annealing };

/* Schedules to begin with: order by key, and devices. */
typedef struct starts {
    int32_t count;
    double *key[max_starts];     /* [n] */
    int32_t *device[max_starts]; /* [n] */
} starts;

/* What the workers share. */
typedef struct sequences {
    sked_i_crew crew;
    sked_i_sequencing *form;
    starts first;
} sequences;

typedef struct worker {
    sked_i_crew_worker base;
    const sequences *shared;
    sked_i_anneal *anneal;
    void *scratch;  /* a solution */
    int32_t *label; /* [devices] scratch */
    int64_t length; /* of a cooling; 0: the starts come first */
    int cycle;
    bool cooling; /* one is under way */
} worker;

/* ------------------------------------------------------------------ starts */

static sked_status add_start(sequences *x, sked_error *err)
{
    sked_status st = SKED_OK;
    starts *s = &x->first;
    SKED_OWN(&x->crew.own, s->key[s->count], x->form->n);
    SKED_OWN(&x->crew.own, s->device[s->count], x->form->n);
    s->count++;
cleanup:
    return st;
}

/* Makes a schedule the last start. */
static sked_status take_start(sequences *x, const sked_schedule *from, sked_error *err)
{
    sked_status st = SKED_OK;
    const starts *s = &x->first;
    if (s->count < max_starts)
        SKED_TRY(add_start(x, err));
    memcpy(s->key[s->count - 1], from->start, (size_t)from->ops * sizeof *from->start);
    memcpy(s->device[s->count - 1], from->device, (size_t)from->ops * sizeof *from->device);
cleanup:
    return st;
}

/* Where op i runs when all are to run on device d as far as they can. */
static int32_t only_device(const sked_i_sequencing *l, int32_t d, int32_t i)
{
    const int32_t *fix = l->problem->fix_device;
    if (fix != NULL && fix[i] >= 0)
        return fix[i];
    if (l->hetero == NULL || sked_i_hetero_time(l->hetero, i, d) < INFINITY)
        return d;
    return sked_i_hetero_choice(l->hetero, i, 0);
}

/* Earliest finish in order of the bottom level, transfers counted in several ways; one device. */
static sked_status make_starts(const sked_i_run *run, sequences *x, sked_error *err)
{
    const sked_i_sequencing *l = x->form;
    const sked_problem *p = l->problem;
    starts *s = &x->first;
    const double share[n_shares] = {(l->m - 1.0) / l->m, 1, 0};
    const sked_i_place how = {.fix_device = p->fix_device,
                              .fix_start = p->fix_start,
                              .by_device = true,
                              .insertion = true,
                              .limit = &run->limit,
                              .hurry = sked_i_run_incumbent(run) == NULL};
    sked_status st = SKED_OK;
    sked_i_placer *placer = NULL;
    double *up, late;
    int32_t *rank;
    SKED_OWN(&x->crew.own, up, l->n);
    SKED_OWN(&x->crew.own, rank, l->n);
    SKED_TRY(sked_i_placer_create(&l->dag, &l->pools, l->m, true, &placer, err));
    for (int k = 0; k < n_shares && !(k > 0 && sked_i_limit_reached(&run->limit)); k++) {
        SKED_TRY(add_start(x, err));
        sked_i_upward_ranks(&l->dag, share[k], up);
        for (int32_t i = 0; i < l->n; i++)
            up[i] = -up[i];
        SKED_TRY(sked_i_rank_by_key(&l->dag, up, rank, err));
        sked_error why = {0};
        st = sked_i_placer_run(placer, rank, NULL, &how, s->key[k], s->device[k], &late, &why);
        if (st == SKED_ERR_STOPPED) { /* one device takes no time to fill */
            s->count--;
            break;
        }
        if (st != SKED_OK)
            SKED_TRY(sked_i_fail(err, st, "%s", why.message));
    }
    st = SKED_OK;
    SKED_TRY(add_start(x, err));
    const int32_t alone = sked_i_fastest_device(run->costs, NULL, l->n);
    for (int32_t i = 0; i < l->n; i++) {
        s->key[s->count - 1][i] = up[i];
        s->device[s->count - 1][i] = only_device(l, alone, i);
    }
    x->crew.cut = sked_i_limit_reached(&run->limit);
    if (run->options->start != NULL)
        SKED_TRY(take_start(x, run->options->start, err));
cleanup:
    sked_i_placer_destroy(placer);
    return st;
}

/* ------------------------------------------------------------------ workers */

/* Takes note of a sequence as it is. */
static void see(sked_i_client *client, const sked_i_sequence *s)
{
    worker *w = (worker *)sked_i_crew_worker_of(client);
    sked_i_crew_worker *base = &w->base;
    const sked_i_sequencing *l = w->shared->form;
    base->least = s->cost < base->least ? s->cost : base->least;
    if (s->late > 0 || s->cost > l->valid ||
        (base->best == INFINITY && !sked_i_keeps_horizon(l->problem, s->cost)) ||
        (s->cost > l->problem->horizon && base->best < INFINITY) || !sked_i_crew_wants(base, s->cost))
        return;
    memcpy(w->scratch, s->start, (size_t)l->n * sizeof *s->start);
    memcpy(sked_i_places_device(w->scratch, l->n), s->device, (size_t)l->n * sizeof *s->device);
    sked_i_crew_see(base, s->cost, w->scratch);
}

static uint64_t hash(sked_i_crew_worker *base, const void *solution)
{
    const worker *w = (worker *)base;
    return sked_i_places_hash(solution, w->shared->form->n, w->shared->form->m, w->label);
}

static sked_status offer(sked_i_crew_worker *base, const void *solution, sked_error *err)
{
    return sked_i_places_offer(base->crew->run, solution, err);
}

static void close_worker(sked_i_crew_worker *base)
{
    sked_i_anneal_destroy(((worker *)base)->anneal);
}

static sked_status open_worker(sked_i_crew_worker *base, sked_error *err)
{
    sked_status st = SKED_OK;
    worker *w = (worker *)base;
    w->shared = (sequences *)base->crew;
    SKED_TRY(sked_i_anneal_create(w->shared->form, &base->client, see, base->elites.capacity > 0,
                                  &base->limit, &w->anneal, err));
    w->scratch = sked_i_arena_alloc(&base->hand.own, 1, base->crew->size);
    SKED_OWN(&base->hand.own, w->label, w->shared->form->m);
    if (w->scratch == NULL)
        st = sked_i_no_memory(err);
cleanup:
    return st;
}

/* Where the run's incumbent is shorter than the worker's, the next cooling begins there. */
static sked_status resume_worker(sked_i_crew_worker *base, sked_error *err)
{
    worker *w = (worker *)base;
    const sked_schedule *s = sked_i_run_incumbent(base->crew->run);
    (void)err;
    if (s != NULL && sked_i_run_best(base->crew->run) < base->best) {
        (void)sked_i_anneal_try(w->anneal, s->start, s->device);
        w->cooling = false;
    }
    return SKED_OK;
}

static double load_start(worker *w, int32_t k)
{
    return sked_i_anneal_try(w->anneal, w->shared->first.key[k], w->shared->first.device[k]);
}

/* Tries all starts and leaves the best one in the sequence. */
static void try_starts(worker *w)
{
    sked_i_client *client = &w->base.client;
    const sked_i_crew_span span = sked_i_crew_begin(&w->base);
    int32_t best = 0;
    double least = INFINITY;
    for (int32_t k = 0; k < w->shared->first.count && !(k > 0 && sked_i_crew_over(client)); k++) {
        const double cost = load_start(w, k);
        if (cost < least) {
            least = cost;
            best = k;
        }
    }
    if (!sked_i_crew_over(client))
        load_start(w, best);
    sked_i_crew_end(&w->base, technique_starts, span);
}

/* One cooling, or the rest of one that was interrupted. False: interrupted. */
static bool cool(worker *w)
{
    const double scale = w->shared->form->scale;
    const sked_i_crew_span span = sked_i_crew_begin(&w->base);
    if (!w->cooling)
        sked_i_anneal_begin(w->anneal, w->length, heats[w->cycle % n_heats] * scale, 0.01 * scale);
    w->cooling = !sked_i_anneal_run(w->anneal);
    if (sked_i_anneal_status(w->anneal) != SKED_OK)
        sked_i_crew_fail(&w->base, sked_i_no_memory(&w->base.hand.error));
    sked_i_crew_end(&w->base, technique_annealing, span);
    return !w->cooling;
}

/* What the next cooling starts from. */
static void choose_next(worker *w)
{
    const void *incumbent = w->base.incumbent;
    if (w->cycle % n_heats == n_heats - 1)
        w->length *= 2;
    if (w->cycle % n_heats == n_heats - 2)
        sked_i_anneal_build(w->anneal);
    else if (w->base.best < INFINITY)
        sked_i_anneal_load(w->anneal, sked_i_places_start(incumbent),
                           sked_i_places_device(incumbent, w->shared->form->n));
    w->cycle++;
}

static void work(sked_i_crew_worker *base)
{
    worker *w = (worker *)base;
    const int32_t n = w->shared->form->n;
    if (w->length == 0)
        try_starts(w);
    if (w->length == 0)
        w->length = 2000 + 100 * (int64_t)n;
    while (n > 1 && !sked_i_crew_over(&base->client) && cool(w))
        choose_next(w);
}

static const sked_i_crew_kind sequence_kind = {
    .phase = "search",
    .worker_size = sizeof(worker),
    .technique = {[technique_starts] = "starts", [technique_annealing] = "annealing"},
    .open = open_worker,
    .close = close_worker,
    .resume = resume_worker,
    .work = work,
    .offer = offer,
    .hash = hash,
};

/* ------------------------------------------------------------------ the run */

static void drop(sked_i_crew *crew)
{
    sked_i_sequencing_destroy(((sequences *)crew)->form);
}

static sked_status make(sked_i_run *run, sked_i_crew *crew, sked_error *err)
{
    enum { clock_every = 16, large = 2000 }; /* evaluations between looks at the clock; ops */
    sked_status st = SKED_OK;
    sequences *x = (sequences *)crew;
    SKED_TRY(sked_i_sequencing_create(run->problem, run->costs, &x->form, err));
    SKED_TRY(make_starts(run, x, err));
    sked_i_crew_init(crew, &sequence_kind, sked_i_places_size(x->form->n));
    crew->clock_mask = x->form->n < large ? clock_every - 1 : 0;
    crew->reserve = 2e-6 * x->form->n;
    crew->fixed = run->problem->fix_start != NULL;
cleanup:
    return st;
}

sked_status sked_i_sequence_annealing_of_transfers(sked_i_run *run, sked_error *err)
{
    const bool earlier = sked_i_run_state(run) != NULL;
    const sked_schedule *incumbent = sked_i_run_incumbent(run);
    sked_i_crew *crew;
    sked_status st = sked_i_crew_of_run(run, sizeof(sequences), make, drop, &crew, err);
    if (st == SKED_OK && earlier && incumbent != NULL) /* workers that join later begin there, too */
        st = take_start((sequences *)crew, incumbent, err);
    return st == SKED_OK ? sked_i_crew_run(crew, run, sked_i_crew_goal(crew, run), err) : st;
}
