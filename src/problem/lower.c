/* The steps from the problem as asked to the one that methods solve, in their order, and relaxations of it.
 */
#include "problem/lower.h"

#include "base/clock.h"
#include "base/memory.h"
#include "problem/chaining.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void take_graph(sked_i_lowered *x, sked_graph *g)
{
    sked_graph_destroy(x->graph);
    x->problem.graph = x->graph = g;
}

/* The machine, to be changed: all but what a step replaces is shared with the one asked for. */
static sked_machine *own_machine(sked_i_lowered *x)
{
    if (x->problem.machine != &x->machine)
        x->machine = *x->problem.machine;
    x->problem.machine = &x->machine;
    return &x->machine;
}

/* Likewise the memory of its devices. NULL: there is no memory for it. */
static double *own_memory(sked_i_lowered *x)
{
    sked_machine *const m = own_machine(x);
    if (x->memory == NULL && (x->memory = sked_i_alloc(m->n_devices, sizeof *x->memory)) != NULL)
        m->memory = memcpy(x->memory, m->memory, (size_t)m->n_devices * sizeof *x->memory);
    return x->memory;
}

/* ------------------------------------------------------------------ the machine's profile */

static bool has_profile(const sked_i_lowered *x)
{
    return x->problem.machine != NULL && x->problem.machine->durations.n > 0;
}

/* What was measured takes the place of the graph's durations. */
static sked_status apply_profile(sked_i_lowered *x, sked_error *err)
{
    sked_graph *profiled = NULL;
    const sked_status st = sked_graph_profiled(x->problem.graph, x->problem.machine, &profiled, err);
    if (st != SKED_OK)
        return st;
    take_graph(x, profiled);
    own_machine(x)->durations = (sked_i_machine_durations){0};
    return SKED_OK;
}

/* ------------------------------------------------------------------ memory */

static bool lifetime_is_open(const sked_i_lowered *x)
{
    return x->problem.lifetime == SKED_LIFETIME_AUTO;
}

static sked_status settle_lifetime(sked_i_lowered *x, sked_error *err)
{
    (void)err;
    x->problem.lifetime = sked_i_lifetime(&x->problem);
    return SKED_OK;
}

static bool results_are_instant(const sked_i_lowered *x)
{
    return x->problem.lifetime == SKED_LIFETIME_RESULT && !sked_i_results_wait(x->problem.graph);
}

/* Every result is there when its op starts. */
static sked_status take_starts(sked_i_lowered *x, sked_error *err)
{
    (void)err;
    x->problem.lifetime = SKED_LIFETIME_START;
    return SKED_OK;
}

bool sked_i_lower_memory_may_bind(const sked_problem *p)
{
    double all = 0;
    if (!sked_i_has_memory_limit(p))
        return false;
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        all += p->graph->memory[i];
    for (int32_t d = 0; p->machine != NULL && d < p->machine->n_devices; d++)
        if (p->machine->memory[d] < all)
            return true;
    return p->memory_limit < all * (p->devices > 1 ? p->devices : 1); /* a copy on every device at most */
}

static bool limit_is_idle(const sked_i_lowered *x)
{
    return sked_i_has_memory_limit(&x->problem) && !sked_i_lower_memory_may_bind(&x->problem);
}

static sked_status drop_limit(sked_i_lowered *x, sked_error *err)
{
    x->problem.memory_limit = INFINITY;
    if (!sked_i_has_device_memory(&x->problem))
        return SKED_OK;
    double *const memory = own_memory(x);
    if (memory == NULL)
        return sked_i_no_memory(err);
    for (int32_t d = 0; d < x->machine.n_devices; d++)
        memory[d] = INFINITY;
    return SKED_OK;
}

/* ------------------------------------------------------------------ inputs and outputs */

static bool is_aligned(const sked_i_lowered *x)
{
    return x->problem.io == SKED_IO_ALIGNED;
}

/* Does the value of op live to the end? */
static bool stays(const sked_graph *g, int32_t op)
{
    return sked_graph_keep(g, op) || sked_i_is_output(g, op);
}

/* Another op follows so closely that this one cannot end last. */
static bool ends_before(const sked_graph *g, int32_t op)
{
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] + g->duration[g->edge_to[e]] >= g->duration[op])
            return true;
    return false;
}

/* The lag of the edge over which the end reads op: it changes neither times nor when the result is there. */
static double lag_to_end(const sked_graph *g, int32_t op)
{
    const double result = sked_i_result_lag(g, op);
    bool read = false;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        read = read || (g->edge_distance[e] == 0 && sked_i_passes(g, e));
    return result <= g->duration[op] ? g->duration[op] : read ? result : NAN;
}

/* An op after all others, which reads what lives to the end. */
static sked_status add_end(const sked_graph *g, sked_builder *b, sked_error *err)
{
    const int32_t end = g->n_ops;
    sked_status st = SKED_OK;
    char name[24] = "end";
    double value[sked_i_edge_attributes];
    for (int k = 1; sked_graph_find_op(g, name) >= 0; k++)
        snprintf(name, sizeof name, "end%d", k);
    SKED_TRY(sked_builder_add_op(b, name, NULL, 0, NULL, err));
    for (int32_t i = 0; i < end; i++) {
        const double lag = stays(g, i) ? lag_to_end(g, i) : NAN;
        sked_i_edge_presets(value);
        value[sked_i_edge_lag] = isnan(lag) ? g->duration[i] : lag;
        value[sked_i_edge_order] = isnan(lag);
        if (!isnan(lag) || !ends_before(g, i))
            SKED_TRY(sked_i_builder_add_edge(b, i, end, value, err));
    }
cleanup:
    return st;
}

/* Peak memory sees the end as a reader; a limit of memory has kept values of its own. */
static sked_status align_outputs(sked_i_lowered *x, sked_error *err)
{
    const sked_graph *g = x->problem.graph;
    const sked_i_attribute *const keep = &sked_i_op_table[sked_i_op_keep];
    sked_status st = SKED_OK;
    sked_builder *b = NULL;
    sked_graph *aligned = NULL;
    x->ends = x->problem.objective == SKED_OBJECTIVE_MEMORY;
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_graph_copy(g, NULL, b, err));
    for (int32_t i = 0; i < g->n_ops; i++)
        SKED_TRY(sked_i_builder_set(b, keep, i, !x->ends && stays(g, i), err));
    if (x->ends)
        SKED_TRY(add_end(g, b, err));
    SKED_TRY(sked_builder_finish(b, &aligned, err));
    take_graph(x, aligned);
cleanup:
    sked_builder_destroy(b);
    return st;
}

static sked_status align(sked_i_lowered *x, sked_error *err)
{
    const sked_graph *g = x->problem.graph;
    sked_status st = SKED_OK;
    SKED_NEW(x->fix_start, (int64_t)g->n_ops + 1);
    x->fix_start[g->n_ops] = NAN;
    for (int32_t i = 0; i < g->n_ops; i++)
        x->fix_start[i] = g->pred_ptr[i] == g->pred_ptr[i + 1] ? 0
                          : x->problem.fix_start != NULL       ? x->problem.fix_start[i]
                                                               : NAN;
    x->problem.fix_start = x->fix_start;
    x->problem.io = SKED_IO_FREE;
    st = align_outputs(x, err);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ clock */

static bool has_clock(const sked_i_lowered *x)
{
    return x->problem.clock > 0;
}

static sked_status add_pairs(const sked_graph *g, const sked_i_clock_pairs *pairs, sked_graph **out,
                             sked_error *err)
{
    sked_status st = SKED_OK;
    sked_builder *b = NULL;
    double value[sked_i_edge_attributes];
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_builder_reserve(b, g->n_ops, g->n_edges + pairs->count, err));
    SKED_TRY(sked_i_graph_copy(g, NULL, b, err));
    sked_i_edge_presets(value);
    value[sked_i_edge_order] = 1;
    for (int64_t k = 0; k < pairs->count; k++) {
        value[sked_i_edge_lag] = pairs->at[k].lag;
        value[sked_i_edge_distance] = pairs->at[k].distance;
        SKED_TRY(sked_i_builder_add_edge(b, pairs->at[k].from, pairs->at[k].to, value, err));
    }
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    return st;
}

/* Edges that only order stand for the clock. */
static sked_status apply_clock(sked_i_lowered *x, sked_error *err)
{
    sked_i_clock_pairs pairs = {0};
    sked_graph *ordered = NULL;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_clock_check(&x->problem, err));
    if (x->with_clock)
        return SKED_OK;
    SKED_TRY(sked_i_clock_pairs_find(&x->problem, x->limit, &pairs, err));
    if (pairs.count > 0) {
        SKED_TRY(add_pairs(x->problem.graph, &pairs, &ordered, err));
        take_graph(x, ordered);
    }
    x->problem.clock = 0;
cleanup:
    sked_i_clock_pairs_free(&pairs);
    return st;
}

/* ------------------------------------------------------------------ costs, and machines of equal devices */

static sked_status compile(sked_i_lowered *x, sked_error *err)
{
    return sked_i_costs_make(&x->problem, &x->costs, err);
}

/* All devices of one kind of time, all links alike, no memory of their own: equal to the short form. */
static bool devices_are_equal(const sked_i_lowered *x)
{
    double latency, bandwidth;
    return x->problem.machine != NULL && x->costs.time_kinds == 1 && !sked_i_has_device_memory(&x->problem) &&
           sked_i_machine_one_link(x->problem.machine, &latency, &bandwidth);
}

static sked_status shorten(sked_i_lowered *x, sked_error *err)
{
    const sked_graph *g = x->problem.graph;
    sked_status st = SKED_OK;
    sked_graph *timed = NULL;
    double *time = NULL;
    bool same = true;
    SKED_NEW(time, g->n_ops);
    for (int32_t i = 0; i < g->n_ops; i++) {
        time[i] = sked_i_kind_time(&x->costs, i, 0);
        same = same && time[i] == g->duration[i];
    }
    if (!same)
        SKED_TRY(sked_i_graph_with_durations(g, time, &timed, err));
    sked_i_costs_free(&x->costs);
    if (!same)
        take_graph(x, timed);
    sked_i_machine_one_link(x->problem.machine, &x->problem.latency, &x->problem.bandwidth);
    x->problem.machine = NULL;
    x->costs = sked_i_costs_of_equal(&x->problem);
cleanup:
    free(time);
    return st;
}

/* ------------------------------------------------------------------ the table */

static const struct step {
    const char *name; /* NULL: work of every run, and no step */
    bool (*applies)(const sked_i_lowered *x);
    sked_status (*apply)(sked_i_lowered *x, sked_error *err);
} steps[] = {
    {"profile", has_profile, apply_profile},         /* measured times in place of the graph's */
    {"lifetime", lifetime_is_open, settle_lifetime}, /* auto: by clock and limits */
    {"results", results_are_instant, take_starts},   /* result is start where no op takes time */
    {"idle limit", limit_is_idle, drop_limit},       /* after the lifetime, which asks for limits */
    {"io", is_aligned, align},                       /* before the clock, which looks at fixed starts */
    {"clock", has_clock, apply_clock},               /* edges that keep chains within a cycle */
    {NULL, NULL, compile},                           /* the last step asks what ops take */
    {"equal devices", devices_are_equal, shorten},
};
static const int n_steps = sizeof steps / sizeof *steps;
static_assert(sizeof steps / sizeof *steps <= SKED_I_MOST_STEPS, "room for every step");

static void begin(const sked_problem *asked, const sked_i_limit *limit, bool with_clock, sked_i_lowered *x)
{
    *x = (sked_i_lowered){.asked = asked, .limit = limit, .problem = *asked, .with_clock = with_clock};
}

sked_status sked_i_lower(const sked_problem *asked, sked_i_lowered *x, sked_error *err)
{
    x->with_clock = false;
    return sked_i_lower_within(asked, NULL, x, err);
}

sked_status sked_i_lower_within(const sked_problem *asked, const sked_i_limit *limit, sked_i_lowered *x,
                                sked_error *err)
{
    sked_status st = SKED_OK;
    begin(asked, limit, x->with_clock, x);
    for (int k = 0; st == SKED_OK && k < n_steps; k++) {
        const double from = sked_clock();
        if (steps[k].applies != NULL && !steps[k].applies(x))
            continue;
        st = steps[k].apply(x, err);
        if (steps[k].name != NULL) {
            x->step[x->n_steps].name = steps[k].name;
            x->step[x->n_steps++].seconds = sked_clock() - from;
        }
    }
    assert(st != SKED_OK || !limit_is_idle(x));
    return st;
}

sked_status sked_i_lower_profile(const sked_problem *asked, sked_i_lowered *x, sked_error *err)
{
    begin(asked, NULL, false, x);
    return has_profile(x) ? apply_profile(x, err) : SKED_OK;
}

void sked_i_lowered_free(sked_i_lowered *x)
{
    sked_i_costs_free(&x->costs);
    sked_graph_destroy(x->graph);
    free(x->memory);
    free(x->fix_start);
    *x = (sked_i_lowered){0};
}

/* ------------------------------------------------------------------ relaxations */

sked_status sked_i_relax(const sked_problem *p, const sked_i_costs *c, sked_i_relaxed *x, sked_error *err)
{
    sked_status st = SKED_OK;
    double *time = NULL;
    *x = (sked_i_relaxed){.problem = *p};
    x->problem.memory_limit = INFINITY;
    if (p->machine == NULL)
        return SKED_OK;
    SKED_NEW(time, p->graph->n_ops);
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        time[i] = p->fix_device != NULL && p->fix_device[i] >= 0 ? sked_i_time(c, i, p->fix_device[i])
                                                                 : sked_i_shortest_time(c, i);
    SKED_TRY(sked_i_graph_with_durations(p->graph, time, &x->graph, err));
    x->problem.graph = x->graph;
    x->problem.machine = NULL;
    x->problem.latency = 0;
    x->problem.bandwidth = INFINITY;
cleanup:
    free(time);
    return st;
}

void sked_i_relaxed_free(sked_i_relaxed *x)
{
    sked_graph_destroy(x->graph);
    *x = (sked_i_relaxed){0};
}
