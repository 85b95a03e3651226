#include "robust/refine.h"

#include "base/explog.h"
#include "base/memory.h"
#include "base/thread.h"
#include "robust/posterior.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { GUESSES = 12, STARTS = 2, LOOK = 16 };
/* Of the annealing, in the logarithm of the time. */
static const double first_temperature = 0.004;

/* One annealing. */
typedef struct refiner {
    sked_i_arena arena;
    const sked_i_belief *b;
    const sked_i_candidate *from;
    const sked_i_limit *limit;
    const sked_i_refine_options *opt;
    sked_i_rates rates[GUESSES];
    sked_i_rng rng;
    sked_i_timing timing; /* a copy of its own */
    sked_i_timing_work work;
    sked_schedule *best; /* starts are places in the order */
    int32_t *device;     /* [ops] */
    int32_t *place;      /* [ops] in timing.order */
    int32_t *last;       /* [devices] work space */
    int32_t *critical;   /* [ops] of one guess */
    int32_t n_critical;
    sked_status status;
    sked_error err;
} refiner;

static sked_status open_refiner(refiner *r, uint64_t seed, sked_error *err)
{
    const sked_i_model *m = r->b->model;
    sked_i_arena *const a = &r->arena;
    sked_status st = SKED_OK;
    sked_i_rng_seed(&r->rng, r->opt->seed, seed);
    const double first = sked_i_rng_uniform(&r->rng);
    for (int g = 0; g < GUESSES; g++) { /* spread evenly over the weights */
        SKED_TRY(sked_i_rates_open(&r->rates[g], a, m, err));
        const int32_t i = sked_i_belief_draw(r->b, (first + g) / GUESSES);
        sked_i_model_rates(m, sked_i_belief_guess(r->b, i), &r->rates[g]);
    }
    SKED_TRY(sked_i_timing_open(&r->timing, a, m, r->from->schedule, err));
    SKED_TRY(sked_i_timing_work_open(&r->work, a, m->ops, err));
    SKED_TRY(sked_schedule_clone(r->from->schedule, &r->best, err));
    SKED_OWN(a, r->device, m->ops);
    SKED_OWN(a, r->place, m->ops);
    SKED_OWN(a, r->critical, m->ops);
    SKED_OWN(a, r->last, m->costs.devices);
    memcpy(r->device, r->from->schedule->device, (size_t)m->ops * sizeof *r->device);
    for (int32_t k = 0; k < m->ops; k++)
        r->place[r->timing.order[k]] = k;
cleanup:
    return st;
}

static void chain_devices(refiner *r)
{
    const int32_t devices = r->b->model->costs.devices;
    for (int32_t d = 0; d < devices; d++)
        r->last[d] = -1;
    for (int32_t k = 0; k < r->timing.ops; k++) {
        const int32_t i = r->timing.order[k];
        r->timing.before[i] = r->last[r->device[i]];
        r->last[r->device[i]] = i;
    }
}

/* Mean of the logarithm of the time. */
static double judge(refiner *r)
{
    double sum = 0;
    chain_devices(r);
    for (int g = 0; g < GUESSES; g++)
        sum += sked_i_model_log(sked_i_timing_run(&r->timing, &r->rates[g], &r->work));
    return sum / GUESSES;
}

/* The critical path of a guess drawn at random: moving other ops seldom helps. */
static void look(refiner *r)
{
    sked_i_timing_run(&r->timing, &r->rates[sked_i_rng_below(&r->rng, GUESSES)], &r->work);
    r->n_critical = sked_i_timing_critical(&r->timing, &r->work, r->critical);
}

/* Where the op may stand in the order: behind all it waits for, before all that wait for it. */
static void find_room(const refiner *r, int32_t op, int32_t *low, int32_t *high)
{
    const sked_graph *g = r->b->model->problem->graph;
    *low = 0;
    *high = r->timing.ops - 1;
    for (int64_t k = r->timing.row[op]; k < r->timing.row[op + 1]; k++)
        *low = r->place[r->timing.edge[k].from] >= *low ? r->place[r->timing.edge[k].from] + 1 : *low;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (g->edge_distance[e] == 0 && r->place[g->edge_to[e]] <= *high)
            *high = r->place[g->edge_to[e]] - 1;
    assert(*low <= r->place[op] && r->place[op] <= *high);
}

static void shift(refiner *r, int32_t op, int32_t to)
{
    int32_t *order = r->timing.order;
    assert(order[r->place[op]] == op && to >= 0 && to < r->timing.ops);
    const int32_t step = to > r->place[op] ? 1 : -1;
    for (int32_t k = r->place[op]; k != to; k += step) {
        order[k] = order[k + step];
        r->place[order[k]] = k;
    }
    order[to] = op;
    r->place[op] = to;
}

static void put(refiner *r, int32_t op, int32_t device, int32_t to)
{
    shift(r, op, to);
    if (device == r->device[op])
        return;
    r->device[op] = device;
    sked_i_timing_place(&r->timing, r->b->model, r->device, op);
}

/* One move, undone unless it is accepted. *value: of the current schedule. */
static void try_move(refiner *r, double temperature, double *value)
{
    const sked_i_model *m = r->b->model;
    const int32_t op = r->n_critical > 0 && sked_i_rng_uniform(&r->rng) < 0.7
                           ? r->critical[sked_i_rng_below(&r->rng, (uint64_t)r->n_critical)]
                           : (int32_t)sked_i_rng_below(&r->rng, (uint64_t)m->ops);
    const int32_t old_device = r->device[op], old_place = r->place[op], *fixed = m->problem->fix_device;
    const bool stays = (fixed != NULL && fixed[op] >= 0) || sked_i_rng_uniform(&r->rng) < 0.3;
    const int32_t device =
        stays ? old_device : (int32_t)sked_i_rng_below(&r->rng, (uint64_t)m->costs.devices);
    int32_t low, high;
    find_room(r, op, &low, &high);
    const int32_t to = low + (int32_t)sked_i_rng_below(&r->rng, (uint64_t)(high - low) + 1);
    if ((to == old_place && device == old_device) || isinf(sked_i_time(&m->costs, op, device)))
        return;
    put(r, op, device, to);
    const double reached = judge(r);
    if (reached <= *value + temperature * sked_i_rng_exponential(&r->rng))
        *value = reached;
    else
        put(r, op, old_device, old_place);
}

static void keep_best(refiner *r)
{
    for (int32_t i = 0; i < r->timing.ops; i++) {
        r->best->start[i] = r->place[i];
        r->best->device[i] = r->device[i];
    }
}

/* Share of the annealing that is done. */
static double progress(const refiner *r, double begin, int64_t moves)
{
    const double by_moves = r->opt->moves > 0 ? (double)moves / (double)r->opt->moves : 0;
    return isinf(r->opt->seconds) ? by_moves : fmax(by_moves, (sked_clock() - begin) / r->opt->seconds);
}

static void anneal(refiner *r)
{
    const double begin = sked_clock();
    double value = judge(r), best = value, done = 0;
    keep_best(r);
    for (int64_t k = 0; done < 1; k++) {
        if (sked_i_limit_stopped(r->limit))
            return;
        if (k % LOOK == 0) {
            done = progress(r, begin, k);
            look(r);
        }
        try_move(r, first_temperature * fmax(0, 1 - done), &value);
        if (value < best - 1e-9) {
            best = value;
            keep_best(r);
        }
    }
}

typedef struct crowd {
    refiner *r;
    int count, parts;
} crowd;

static void run_part(void *data, int part)
{
    const crowd *c = data;
    for (int k = part; k < c->count; k += c->parts) {
        refiner *r = &c->r[k];
        r->status = open_refiner(r, (uint64_t)k, &r->err);
        if (r->status == SKED_OK && r->timing.ops > 0)
            anneal(r);
    }
}

/* The entry of the least expected time. */
static const sked_i_candidate *likely_best(const sked_i_candidate_set *candidates, const sked_i_belief *b)
{
    const sked_i_candidate *best = NULL;
    double least = INFINITY;
    for (int64_t k = 0; k < candidates->count; k++) {
        const double x = -sked_i_candidates_promise(candidates, candidates->entry[k], b, INFINITY);
        if (x < least) {
            least = x;
            best = candidates->entry[k];
        }
    }
    return best;
}

sked_status sked_i_refine(sked_i_candidate_set *candidates, const sked_i_belief *b, double best,
                          const sked_i_limit *limit, const sked_i_refine_options *opt, sked_error *err)
{
    sked_status st = SKED_OK;
    double promise;
    refiner r[STARTS] = {{.b = NULL}};
    const sked_i_candidate *incumbent = sked_i_candidates_best(candidates);
    const sked_i_candidate *from[STARTS] = {incumbent,
                                            sked_i_candidates_choose(candidates, b, best, NULL, 0, &promise)};
    sked_i_refine_options each = *opt;
    crowd c = {.r = r, .parts = b->threads};
    if (from[0] == NULL)
        from[0] = likely_best(candidates, b);
    each.seconds = opt->seconds * fmin(b->threads, STARTS) / STARTS;
    for (int k = 0; k < STARTS; k++)
        if (from[k] != NULL)
            r[c.count++] = (refiner){.b = b, .from = from[k], .limit = limit, .opt = &each};
    SKED_TRY(sked_i_parallel(c.parts, run_part, &c, err));
    for (int k = 0; k < c.count; k++) {
        if (r[k].status != SKED_OK)
            SKED_TRY(sked_i_fail(err, r[k].status, "%s", r[k].err.message));
        SKED_TRY(sked_i_candidates_offer(candidates, r[k].best, r[k].from->maker, NULL, err));
    }
cleanup:
    for (int k = 0; k < STARTS; k++) {
        sked_schedule_destroy(r[k].best);
        sked_i_arena_free(&r[k].arena);
    }
    return st;
}
