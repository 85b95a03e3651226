/*
 * `list`: list scheduling. Builds one schedule from a priority order, in time linear in the graph but
 * for a logarithm; more with random orders.
 */
#include "method/list/list_method.h"

#include "form/sequencing.h"
#include "problem/lower.h"

#include <assert.h>

#define LIST_OPTIONS(X)                                                                                      \
    X(PRIORITY, "priority", ENUM, "critical-path", 0, 0,                                                     \
      "critical-path|most-ops|shortest|longest|most-successors|random",                                      \
      "which ready op goes first: longest path to the end, most ops that depend on it, shortest or longest " \
      "duration, most direct successors, or at random")                                                      \
    X(SCHEME, "scheme", ENUM, "parallel", 0, 0, "serial|parallel",                                           \
      "serial: op by op, each where it fits first; parallel: through time, starting the best op that fits")  \
    X(DIRECTION, "direction", ENUM, "forward", 0, 0, "forward|backward",                                     \
      "backward: plan from the end, then move everything as early as it goes in that order")                 \
    X(TRIES, "tries", INT, "1", 1, 1e9, NULL,                                                                \
      "schedules to build with priority=random (fewer when the time limit or the bound is met)")

SKED_I_OPTIONS(LIST_OPTIONS);

typedef struct config {
    sked_i_priority priority;
    bool serial, backward;
    double noise;
} config;

/* Working memory of a run: views are made once. */
typedef struct lister {
    sked_i_run *run;
    const sked_problem *p;
    const sked_i_costs *costs;
    sked_i_dag view[2];    /* forward, mirrored; made when first needed */
    sked_i_pools pools[2]; /* without and with the devices as a pool */
    int32_t *rank;
    double *mirrored; /* starts of a backward pass */
    int32_t *mirrored_device;
    sked_schedule *s;
    sked_i_rng rng;
} lister;

static sked_status get_view(lister *x, bool mirrored, sked_error *err)
{
    sked_i_dag *v = &x->view[mirrored];
    return v->out.ptr != NULL ? SKED_OK
                              : sked_i_dag_make(x->p, x->costs, mirrored, sked_i_has_transfers(x->p), v, err);
}

static sked_status get_pools(lister *x, bool with_devices, sked_error *err)
{
    sked_i_pools *q = &x->pools[with_devices];
    return q->class_ptr != NULL ? SKED_OK : sked_i_pools_make(x->p, with_devices, q, err);
}

/* One pass in the direction of the view, into start and device. Fixed starts: forward views only. */
static sked_status generate(lister *x, bool mirrored, bool serial, const int32_t *fix_device, double *start,
                            int32_t *device, bool *fits, sked_error *err)
{
    assert(x->view[mirrored].out.ptr != NULL);
    const bool separate = sked_i_sequencing_needed(x->p) || fix_device != NULL;
    sked_status st = get_pools(x, !separate, err);
    if (st != SKED_OK)
        return st;
    const sked_i_list_input input = {&x->view[mirrored],
                                     &x->pools[!separate],
                                     x->rank,
                                     x->p->devices,
                                     NULL,
                                     &x->run->limit,
                                     sked_i_run_incumbent(x->run) == NULL};
    const double *fix_start = mirrored ? NULL : x->p->fix_start;
    *fits = true;
    sked_i_run_evaluated(x->run, 1);
    if (!serial && !separate && fix_start == NULL)
        return sked_i_list_parallel(&input, start, device, err);
    const bool stepped = !serial && separate && fix_start == NULL;
    const sked_i_place how = {.fix_device = fix_device ? fix_device : x->p->fix_device,
                              .fix_start = fix_start,
                              .by_device = separate,
                              .insertion = !stepped,
                              .stepped = stepped,
                              .limit = &x->run->limit,
                              .hurry = input.owed};
    return sked_i_list_place(&input, &how, start, device, fits, err);
}

/*
 * Backward: a mirrored pass gives an order of starts; a forward pass in that order re-times it, so that no
 * start is computed by subtraction. Where devices differ, each op keeps the device it was given.
 */
static sked_status generate_backward(lister *x, const config *c, bool *fits, sked_error *err)
{
    const sked_problem *p = x->p;
    const int32_t n = p->graph->n_ops;
    sked_status st = SKED_OK;
    if (x->mirrored == NULL)
        SKED_OWN(x->run->own, x->mirrored, n);
    if (p->devices > 0 && x->mirrored_device == NULL)
        SKED_OWN(x->run->own, x->mirrored_device, n);
    SKED_TRY(get_view(x, true, err));
    SKED_TRY(sked_i_priority_rank(p, &x->view[1], c->priority, c->noise, &x->rng, x->rank, err));
    SKED_TRY(generate(x, true, c->serial, NULL, x->mirrored, x->mirrored_device, fits, err));
    for (int32_t i = 0; i < n; i++) { /* start, but for a constant */
        const double time =
            p->machine ? sked_i_time(x->costs, i, x->mirrored_device[i]) : p->graph->duration[i];
        x->mirrored[i] = -(x->mirrored[i] + time);
    }
    SKED_TRY(get_view(x, false, err));
    SKED_TRY(sked_i_rank_by_key(&x->view[0], x->mirrored, x->rank, err));
    SKED_TRY(generate(x, false, true, sked_i_sequencing_needed(p) ? x->mirrored_device : NULL, x->s->start,
                      x->s->device, fits, err));
cleanup:
    return st;
}

static sked_status offer(lister *x, bool fits, sked_error *err)
{
    return fits && sked_i_keeps_horizon(x->p, sked_i_costs_latest_finish(x->costs, x->s))
               ? sked_i_run_offer(x->run, x->s, err)
               : SKED_OK;
}

static sked_status build(lister *x, const config *c, sked_error *err)
{
    sked_status st = SKED_OK;
    bool fits = true;
    if (c->backward && x->p->fix_start == NULL)
        SKED_TRY(generate_backward(x, c, &fits, err));
    else {
        SKED_TRY(get_view(x, false, err));
        SKED_TRY(sked_i_priority_rank(x->p, &x->view[0], c->priority, c->noise, &x->rng, x->rank, err));
        SKED_TRY(generate(x, false, c->serial, NULL, x->s->start, x->s->device, &fits, err));
    }
    SKED_TRY(offer(x, fits, err));
    sked_i_run_progress(x->run, "list");
cleanup:
    return st;
}

/* Heterogeneous devices: everything that can on one device, where no transfer takes time, for each device. */
static sked_status try_single_devices(lister *x, sked_error *err)
{
    const int32_t n = x->p->graph->n_ops;
    sked_status st = SKED_OK;
    bool fits;
    if (x->mirrored_device == NULL)
        SKED_OWN(x->run->own, x->mirrored_device, n);
    SKED_TRY(get_view(x, false, err));
    SKED_TRY(sked_i_priority_rank(x->p, &x->view[0], SKED_I_CRITICAL_PATH, 0, &x->rng, x->rank, err));
    for (int32_t d = 0;
         d < x->p->devices && sked_i_run_incumbent(x->run) == NULL && !sked_i_limit_reached(&x->run->limit);
         d++) {
        for (int32_t i = 0; i < n; i++) {
            const int32_t fixed = x->p->fix_device ? x->p->fix_device[i] : -1;
            x->mirrored_device[i] = fixed >= 0 ? fixed : sked_i_time(x->costs, i, d) < INFINITY ? d : -1;
        }
        SKED_TRY(generate(x, false, true, x->mirrored_device, x->s->start, x->s->device, &fits, err));
        SKED_TRY(offer(x, fits, err));
    }
cleanup:
    return st;
}

/* Nothing kept the horizon or the fixed starts yet: every scheme and direction, other priorities, then lots.
 */
static sked_status search_feasible(lister *x, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0;
         k < 5 * 4 + 64 && sked_i_run_incumbent(x->run) == NULL && !sked_i_limit_reached(&x->run->limit);
         k++) {
        const bool noisy = k >= 5 * 4;
        const config c = {.priority = noisy ? SKED_I_CRITICAL_PATH : (sked_i_priority)(k / 4),
                          .serial = k % 2 == 0,
                          .backward = k / 2 % 2 == 1,
                          .noise = noisy ? 0.02 * (k - 20) : 0};
        SKED_TRY(build(x, &c, err));
        if (k == 0 && x->p->machine != NULL)
            SKED_TRY(try_single_devices(x, err));
    }
cleanup:
    return st;
}

/* Further schedules at random: for priority=random as many as asked, and until there are enough candidates.
 */
static sked_status build_more(lister *x, config c, int64_t tries, sked_error *err)
{
    const sked_run_options *opt = x->run->options;
    sked_status st = SKED_OK;
    const int64_t wanted = sked_i_run_wanted(x->run) > 1 ? 8 * (int64_t)sked_i_run_wanted(x->run) : 0;
    for (int64_t k = 1; k < tries || k < wanted; k++) {
        const bool enough = k >= tries && sked_i_run_count(x->run) == sked_i_run_wanted(x->run);
        if (enough || sked_i_run_over(x->run) || (opt->iterations > 0 && k >= opt->iterations))
            break;
        c.noise = c.priority == SKED_I_RANDOM ? 0 : k < wanted / 2 ? 0.1 : 0.5;
        SKED_TRY(build(x, &c, err));
    }
cleanup:
    return st;
}

static sked_status run_makespan(sked_i_run *run, lister *x, sked_error *err)
{
    const config c = {.priority = (sked_i_priority)run->setting[OPTION_PRIORITY],
                      .serial = run->setting[OPTION_SCHEME] == 0,
                      .backward = run->setting[OPTION_DIRECTION] == 1};
    sked_status st = SKED_OK;
    SKED_TRY(build(x, &c, err));
    SKED_TRY(build_more(x, c, c.priority == SKED_I_RANDOM ? (int64_t)run->setting[OPTION_TRIES] : 1, err));
    if (sked_i_run_incumbent(run) == NULL)
        SKED_TRY(search_feasible(x, err));
cleanup:
    return st;
}

/*
 * Objectives that look at the whole span of time, under a horizon. Heterogeneous devices: the shortest times
 * give the windows and the steps, placing then finds the devices.
 */
static sked_status run_shape(sked_i_run *run, lister *x, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_windows w = {0};
    sked_i_relaxed plan = {0};
    SKED_TRY(sked_i_relax(x->p, x->costs, &plan, err));
    SKED_TRY(sked_i_windows_make(&plan.problem, &w, err));
    if (x->p->objective == SKED_OBJECTIVE_MEMORY)
        SKED_TRY(sked_i_list_memory(run, &plan.problem, &w, err));
    else
        SKED_TRY(sked_i_list_fill(run, &plan.problem, &w, err));
    if (w.limited && !sked_i_run_over(run))
        SKED_TRY(run_makespan(run, x, err));
cleanup:
    sked_i_windows_free(&w);
    sked_i_relaxed_free(&plan);
    return st;
}

static sked_status run_limits(sked_i_run *run, sked_error *err)
{
    const bool random = run->setting[OPTION_PRIORITY] == SKED_I_RANDOM;
    if (run->setting[OPTION_DIRECTION] == 1)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "list plans forward only under memory limits: leave out direction=backward");
    return sked_i_list_memory_limits(run, (sked_i_priority)run->setting[OPTION_PRIORITY],
                                     run->setting[OPTION_SCHEME] == 0,
                                     random ? (int64_t)run->setting[OPTION_TRIES] : 1, err);
}

static sked_status list_run(sked_i_run *run, sked_error *err)
{
    if (sked_i_has_memory_limit(run->problem))
        return run_limits(run, err);
    sked_status st = SKED_OK;
    lister x = {.run = run, .p = run->problem, .costs = run->costs};
    const int32_t n = x.p->graph->n_ops;
    sked_i_rng_seed(&x.rng, run->options->seed, 0);
    SKED_OWN(run->own, x.rank, n);
    SKED_TRY(sked_schedule_create(n, x.p->devices, &x.s, err));
    SKED_TRY(x.p->objective == SKED_OBJECTIVE_MAKESPAN ? run_makespan(run, &x, err)
                                                       : run_shape(run, &x, err));
cleanup:
    for (int k = 0; k < 2; k++) {
        sked_i_dag_free(&x.view[k]);
        sked_i_pools_free(&x.pools[k]);
    }
    sked_schedule_destroy(x.s);
    return st;
}

const sked_i_method sked_i_method_list = {
    .info = {.name = "list",
             .summary = "list scheduling: one quick schedule from an order of preference",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_FIX | SKED_CAN_CANDIDATES | SKED_CAN_MACHINES | SKED_CAN_MAKESPAN |
                         SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST | SKED_CAN_LIMITS,
             .options = options,
             .n_options = n_options},
    .run = list_run,
};
