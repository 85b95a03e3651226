/* Is this a problem at all, and can it be refuted at once? Each refusal says what proves it. */
#include "problem/problem.h"
#include "base/memory.h"
#include "base/text.h"
#include "problem/chaining.h"
#include "problem/lower.h"
#include "problem/memory_limit.h"

bool sked_i_has_device_memory(const sked_problem *p)
{
    for (int32_t d = 0; p->machine != NULL && d < p->machine->n_devices; d++)
        if (p->machine->memory[d] < INFINITY)
            return true;
    return false;
}

bool sked_i_is_output(const sked_graph *g, int32_t op)
{
    if ((g->output != NULL && g->output[op]) || (g->output_not != NULL && g->output_not[op]))
        return true;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (sked_i_passes(g, e))
            return false;
    return true;
}

double sked_i_result_lag(const sked_graph *g, int32_t op)
{
    double least = INFINITY;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (sked_i_passes(g, e))
            least = fmin(least, fmax(0, g->edge_lag[e]));
    return isinf(least) ? g->duration[op] : least;
}

bool sked_i_results_wait(const sked_graph *g)
{
    for (int32_t i = 0; i < g->n_ops; i++)
        if (g->memory[i] > 0 && sked_i_result_lag(g, i) > 0)
            return true;
    return false;
}

void sked_i_earliest_starts(const sked_problem *p, double *early)
{
    const sked_graph *g = p->graph;
    for (int32_t i = 0; i < g->n_ops; i++)
        early[i] = p->fix_start && p->fix_start[i] > 0 ? p->fix_start[i] : 0;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                early[g->edge_to[e]] = fmax(early[g->edge_to[e]], early[i] + g->edge_lag[e]);
    }
}

void sked_i_latest_starts(const sked_problem *p, double horizon, double *latest)
{
    const sked_graph *g = p->graph;
    for (int32_t k = g->n_ops - 1; k >= 0; k--) {
        const int32_t i = g->topo[k];
        double t = horizon - g->duration[i];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0 && latest[g->edge_to[e]] - g->edge_lag[e] < t)
                t = latest[g->edge_to[e]] - g->edge_lag[e];
        if (p->fix_start && p->fix_start[i] < t)
            t = p->fix_start[i];
        latest[i] = t;
    }
}

/* Fixed devices and starts: one there is, -1; 0 or more, NAN. */
static sked_status check_fixed_ranges(const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    char name[80];
    for (int32_t i = 0; p->fix_device && i < g->n_ops; i++)
        if (p->fix_device[i] < -1 || p->fix_device[i] >= p->devices)
            return sked_i_fail(
                err, SKED_ERR_ARGUMENT, "op '%s' is fixed on device %d, but there are %d devices",
                sked_i_op_label(g, i, name, sizeof name), (int)p->fix_device[i], (int)p->devices);
    for (int32_t i = 0; p->fix_start && i < g->n_ops; i++)
        if (!isnan(p->fix_start[i]) && !(p->fix_start[i] >= 0 && p->fix_start[i] < INFINITY))
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "op '%s' is fixed at a start that is not 0 or more",
                               sked_i_op_label(g, i, name, sizeof name));
    return SKED_OK;
}

#define SKED_X(name, text, help) +1
enum {
    n_objectives = 0 SKED_OBJECTIVE_LIST(SKED_X),
    n_lifetimes = 0 SKED_LIFETIME_LIST(SKED_X),
    n_ios = 0 SKED_IO_LIST(SKED_X),
};
#undef SKED_X

sked_status sked_i_problem_check_ranges(const sked_problem *p, sked_error *err)
{
    const struct {
        bool fine;
        const char *rule;
    } rules[] = {
        {p->graph != NULL, "the problem has no graph"},
        {(unsigned)p->objective < n_objectives, "no such objective"},
        {(unsigned)p->lifetime < n_lifetimes, "no such lifetime"},
        {(unsigned)p->io < n_ios, "no such io"},
        {p->clock >= 0 && p->clock < INFINITY, "the clock must be a finite number, 0 or more"},
        {p->devices >= 0 && p->devices <= SKED_I_MOST_DEVICES, "devices must be from 0 to 1000000"},
        {p->latency >= 0 && p->latency < INFINITY, "latency must be a finite number, 0 or more"},
        {p->bandwidth > 0, "bandwidth must be above 0"},
        {p->machine == NULL || (p->latency == 0 && p->bandwidth == INFINITY),
         "latency and bandwidth are the machine's own: they cannot be given beside it"},
        {p->memory_limit >= 0, "the memory limit must be 0 or more"},
        {p->horizon >= 0, "the horizon must be 0 or more"},
        {(p->ii >= 0 && p->ii < INFINITY) || p->ii == SKED_II_AUTO,
         "the initiation interval must be above 0, or auto"},
        {p->alpha >= 0 && p->alpha < INFINITY, "alpha must be a finite number, 0 or more"},
        {p->align >= 1 && p->align <= SKED_I_MOST_ALIGN, "align must be from 1 to 1073741824"},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (!rules[k].fine)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s", rules[k].rule);
    for (int32_t r = 0; p->capacity && r < p->graph->n_resources; r++)
        if (!(p->capacity[r] >= 0))
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "capacity of '%s' must be 0 or more",
                               sked_graph_resource_name(p->graph, r));
    return check_fixed_ranges(p, err);
}

/* Addresses are whole numbers below 2^53: those of any schedule, each value in one place on every device. */
static sked_status check_addresses(const sked_problem *p, sked_error *err)
{
    double all = 0;
    if (!sked_i_has_addresses(p))
        return SKED_OK;
    if (p->ii != 0 || p->objective == SKED_OBJECTIVE_II || sked_i_lifetime(p) == SKED_LIFETIME_RESULT)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "addresses go with neither pipelined schedules nor lifetime result");
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        all += p->graph->memory[i] > 0 ? ceil(p->graph->memory[i]) + (double)p->align : 0;
    if (!(all * (p->devices > 1 ? p->devices : 1) < 0x1p53))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "addresses need values whose sizes add up to less than 2^53 over all devices");
    return SKED_OK;
}

static sked_status check_support(const sked_problem *p, sked_error *err)
{
    if (sked_i_has_memory_limit(p) && (p->ii != 0 || p->objective == SKED_OBJECTIVE_II))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "memory limits are not supported for pipelined schedules");
    if (p->objective != SKED_OBJECTIVE_MAKESPAN && sked_i_lower_memory_may_bind(p))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "memory limits go with objective makespan, not %s",
                           sked_objective_name(p->objective));
    const bool registers = sked_i_lifetime(p) == SKED_LIFETIME_RESULT;
    if (p->devices > 0 && (registers || p->io == SKED_IO_ALIGNED))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "%s without devices: units of a circuit are resource pools",
                           registers ? "lifetime result goes" : "aligned inputs and outputs go");
    if (registers && sked_i_results_wait(p->graph) && sked_i_lower_memory_may_bind(p))
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "a memory limit goes with lifetime result where no value waits for its op; lifetime "
            "start holds it from the beginning");
    return SKED_OK;
}

/*
 * Any sum of times or amounts, and a product of two or three such sums (an area, a weighted load), stays
 * inside the range of a double: beyond it comparisons with infinity would make nonsense of results.
 */
static const double most = 1e100;

static sked_status check_sums(const sked_problem *p, const sked_i_costs *c, sked_error *err)
{
    const sked_graph *g = p->graph;
    double time = p->ii > 0 ? p->ii : 0, amount = p->alpha;
    const double latency = sked_i_longest_transfer(c, 0), per_byte = sked_i_longest_transfer(c, 1) - latency;
    for (int32_t i = 0; i < g->n_ops; i++) {
        time += sked_i_longest_time(c, i) + (p->fix_start && p->fix_start[i] > 0 ? p->fix_start[i] : 0);
        amount += g->memory[i] + g->weight[i];
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++)
            amount += g->demand_amount[k];
    }
    for (int64_t e = 0; e < g->n_edges; e++) {
        time += fabs(g->edge_lag[e]);
        if (p->devices > 1)
            time += p->machine ? latency + g->edge_bytes[e] * per_byte : sked_i_transfer(p, e);
        amount += g->edge_bytes[e];
    }
    if (!(time < most))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "durations, lags, transfers and the interval add up to more than %g", most);
    if (!(amount < most))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "demands, memory, bytes, weights and alpha add up to more than %g", most);
    return SKED_OK;
}

static sked_status check_demands(const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    char name[80];
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++) {
            const int32_t r = g->demand_resource[k];
            if (g->duration[i] > 0 && g->demand_amount[k] > sked_i_capacity(p, r))
                return sked_i_fail(
                    err, SKED_ERR_INFEASIBLE,
                    "op '%s' needs %g of resource '%s', its capacity is %g; a capacity of %g would do",
                    sked_i_op_label(g, i, name, sizeof name), g->demand_amount[k],
                    sked_graph_resource_name(g, r), sked_i_capacity(p, r), g->demand_amount[k]);
        }
    return SKED_OK;
}

/* ------------------------------------------------------------------ machines */

sked_status sked_i_check_able(const sked_problem *p, const sked_i_costs *c, sked_error *err)
{
    char name[80], device[80];
    for (int32_t i = 0; i < p->graph->n_ops; i++) {
        const int32_t d = p->fix_device ? p->fix_device[i] : -1;
        if (isinf(sked_i_shortest_time(c, i)))
            return sked_i_fail(err, SKED_ERR_INFEASIBLE, "op '%s' cannot run on any of the %d devices",
                               sked_i_op_label(p->graph, i, name, sizeof name), (int)p->devices);
        if (d >= 0 && isinf(sked_i_time(c, i, d)))
            return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                               "op '%s' is fixed on device '%s', which cannot run it",
                               sked_i_op_label(p->graph, i, name, sizeof name),
                               sked_problem_device_name(p, d, device, sizeof device));
    }
    return SKED_OK;
}

static bool allowed(const sked_problem *p, const sked_i_costs *c, int32_t op, int32_t d)
{
    const int32_t fixed = p->fix_device ? p->fix_device[op] : -1;
    return (fixed < 0 || fixed == d) && sked_i_time(c, op, d) < INFINITY;
}

/* Is there a pair of devices, or one device, for both ends of the edge? */
static bool can_pass(const sked_problem *p, const sked_i_costs *c, int64_t e)
{
    const int32_t from = p->graph->edge_from[e], to = p->graph->edge_to[e];
    for (int32_t d = 0; d < c->devices; d++)
        if (allowed(p, c, from, d) && allowed(p, c, to, d))
            return true;
    for (int32_t a = 0; a < c->devices; a++)
        for (int32_t b = 0; allowed(p, c, from, a) && b < c->devices; b++)
            if (allowed(p, c, to, b) && sked_i_transfer_time(c, p->graph->edge_bytes[e], a, b) < INFINITY)
                return true;
    return false;
}

/*
 * Data that can never pass. On machines of more devices than the budget allows to try in pairs, methods find
 * out instead.
 */
static sked_status check_links(const sked_problem *p, const sked_i_costs *c, sked_error *err)
{
    static const double budget = 1e8;
    const sked_graph *g = p->graph;
    const sked_machine *m = p->machine;
    char from[80], to[80];
    bool missing = false;
    for (int64_t k = 0; k < (int64_t)m->n_link_kinds * m->n_link_kinds; k++)
        missing = missing || isnan(m->link_latency[k]);
    if (!missing || (double)g->n_edges * m->n_devices * m->n_devices > budget)
        return SKED_OK;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_bytes[e] > 0 && !can_pass(p, c, e))
            return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                               "the data of op '%s' cannot reach op '%s': no link joins the devices that can "
                               "run the one with those that can run the other",
                               sked_i_op_label(g, g->edge_from[e], from, sizeof from),
                               sked_i_op_label(g, g->edge_to[e], to, sizeof to));
    return SKED_OK;
}

/* ------------------------------------------------------------------ paths and limits */

/* "a -> b -> ... -> z": the longest path, at most ten names. */
static void name_path(const sked_graph *g, const double *head, sked_i_buffer *text)
{
    int32_t op = 0;
    int32_t path[8];
    char name[80];
    for (int32_t i = 0; i < g->n_ops; i++)
        if (head[i] + g->duration[i] > head[op] + g->duration[op])
            op = i;
    int32_t length = 0;
    for (bool more = true; more; length++) {
        path[length % 8] = op;
        more = false;
        for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1] && !more; k++) {
            const int64_t e = g->pred_edge[k];
            if (g->edge_distance[e] == 0 && head[g->pred_op[k]] + g->edge_lag[e] == head[op]) {
                op = g->pred_op[k];
                more = true;
            }
        }
    }
    for (int32_t k = length - 1; k >= 0 && k >= length - 8; k--)
        sked_i_buffer_format(text, "%s%s", k < length - 1 ? " -> " : "",
                             sked_i_op_label(g, path[k % 8], name, sizeof name));
    if (length > 8)
        sked_i_buffer_format(text, " -> ... (%d more)", (int)(length - 8));
}

static sked_status path_too_long(const sked_problem *p, const double *head, double path, sked_error *err)
{
    sked_i_buffer text = {0};
    name_path(p->graph, head, &text);
    const sked_status st =
        text.failed ? sked_i_no_memory(err)
                    : sked_i_fail(err, SKED_ERR_INFEASIBLE,
                                  "the horizon is %g, but the path %s %s %g; a horizon of %g would admit it",
                                  p->horizon, text.data,
                                  p->fix_start ? "ends, with its fixed starts, at" : "takes", path, path);
    sked_i_buffer_free(&text);
    return st;
}

/* Is every fixed start late enough for what precedes it, and every path short enough for the horizon? */
static sked_status check_paths(const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    char name[80];
    if ((isinf(p->horizon) && p->fix_start == NULL) || g->n_ops == 0)
        return SKED_OK;
    double *head = sked_i_alloc(g->n_ops, sizeof *head);
    if (head == NULL)
        return sked_i_no_memory(err);
    sked_i_earliest_starts(p, head);
    const double path = sked_i_critical_path(g, head);
    for (int32_t i = 0; p->fix_start && i < g->n_ops && st == SKED_OK; i++)
        if (head[i] > p->fix_start[i] + 1e-9 * fmax(1, head[i]))
            st = sked_i_fail(err, SKED_ERR_INFEASIBLE,
                             "op '%s' is fixed at %g, but what precedes it takes until %g",
                             sked_i_op_label(g, i, name, sizeof name), p->fix_start[i], head[i]);
    if (st == SKED_OK && path > p->horizon + 1e-9 * fmax(1, path))
        st = path_too_long(p, head, path, err);
    free(head);
    return st;
}

/* The makespan bound of the machine against the horizon. A method that takes a clock as it is has windows by
 * it. */
static sked_status check_horizon(const sked_problem *p, sked_error *err)
{
    if (isinf(p->horizon) || p->clock > 0)
        return SKED_OK;
    sked_problem span = *p;
    double least;
    const char *why;
    span.objective = SKED_OBJECTIVE_MAKESPAN;
    sked_status st = sked_problem_bound(&span, &least, &why, err);
    if (st == SKED_OK && least > p->horizon + 1e-9 * fmax(1, least))
        st = sked_i_fail(err, SKED_ERR_INFEASIBLE, "the horizon is %g, but the %s proves at least %g",
                         p->horizon, why, least);
    return st;
}

/* "a -> b -> a": the recurrence that decides, at most eight names. */
static sked_status refuse_recurrence(const sked_problem *p, const sked_i_min_ii *least, sked_error *err)
{
    sked_i_buffer text = {0};
    char name[80];
    const int32_t shown = least->cycle_length < SKED_I_CYCLE_SHOWN ? least->cycle_length : SKED_I_CYCLE_SHOWN;
    for (int32_t k = 0; k < shown; k++)
        sked_i_buffer_format(&text, "%s -> ", sked_i_op_label(p->graph, least->cycle[k], name, sizeof name));
    if (least->cycle_length > shown)
        sked_i_buffer_format(&text, "... (%d more) -> ", (int)(least->cycle_length - shown));
    sked_i_buffer_text(&text, sked_i_op_label(p->graph, least->cycle[0], name, sizeof name));
    const sked_status st =
        text.failed ? sked_i_no_memory(err)
                    : sked_i_fail(err, SKED_ERR_INFEASIBLE,
                                  "the initiation interval is %g, but the recurrence %s takes %g over %g "
                                  "iteration%s (RecMII); an interval of %g would admit it",
                                  p->ii, text.data, least->cycle_lag, least->cycle_distance,
                                  least->cycle_distance == 1 ? "" : "s", least->recurrence);
    sked_i_buffer_free(&text);
    return st;
}

static sked_status check_interval(const sked_problem *p, sked_error *err)
{
    if (!(p->ii > 0))
        return SKED_OK;
    sked_i_min_ii least;
    const sked_status st = sked_i_problem_min_ii(p, &least, err);
    if (st != SKED_OK)
        return st;
    if (p->ii < least.recurrence * (1 - 1e-12))
        return refuse_recurrence(p, &least, err);
    if (!(p->ii < least.resource * (1 - 1e-12)))
        return SKED_OK;
    const int32_t r = least.deciding_resource;
    if (r < 0)
        return sked_i_fail(
            err, SKED_ERR_INFEASIBLE,
            "the initiation interval is %g, but the work of one iteration on %d device%s needs "
            "%g (ResMII); an interval of %g would admit it",
            p->ii, (int)p->devices, p->devices == 1 ? "" : "s", least.resource, least.resource);
    return sked_i_fail(
        err, SKED_ERR_INFEASIBLE,
        "the initiation interval is %g, but resource '%s' of capacity %g needs %g (ResMII); an "
        "interval of %g would admit it",
        p->ii, sked_graph_resource_name(p->graph, r), sked_i_capacity(p, r), least.resource, least.resource);
}

static sked_status check_fixed(const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    char name[80], other[80];
    for (int64_t e = 0; p->fix_start && e < g->n_edges; e++) {
        const double from = p->fix_start[g->edge_from[e]], to = p->fix_start[g->edge_to[e]];
        const bool by_device = p->machine != NULL && !g->edge_lag_given[e]; /* see check_paths */
        if (!by_device && g->edge_distance[e] == 0 && to < from + g->edge_lag[e] - 1e-9 * fmax(1, fabs(to)))
            return sked_i_fail(
                err, SKED_ERR_INFEASIBLE, "ops '%s' and '%s' are fixed %g apart, their edge needs %g",
                sked_i_op_label(g, g->edge_from[e], name, sizeof name),
                sked_i_op_label(g, g->edge_to[e], other, sizeof other), to - from, g->edge_lag[e]);
    }
    return SKED_OK;
}

/* Inputs that are fixed elsewhere than where aligned ones start. */
static sked_status check_inputs(const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    char name[80];
    for (int32_t i = 0; p->fix_start != NULL && p->io == SKED_IO_ALIGNED && i < g->n_ops; i++)
        if (p->fix_start[i] > 0 && g->pred_ptr[i] == g->pred_ptr[i + 1])
            return sked_i_fail(
                err, SKED_ERR_INFEASIBLE,
                "op '%s' has no predecessors and is fixed at %g: with aligned inputs it starts at 0",
                sked_i_op_label(g, i, name, sizeof name), p->fix_start[i]);
    return SKED_OK;
}

sked_status sked_i_problem_check_asked(const sked_problem *p, sked_error *err)
{
    static sked_status (*const checks[])(const sked_problem *, sked_error *) = {
        sked_i_clock_check, check_support, check_addresses, check_fixed, check_inputs};
    sked_status st = SKED_OK;
    for (size_t i = 0; st == SKED_OK && i < sizeof checks / sizeof *checks; i++)
        st = checks[i](p, err);
    return st;
}

sked_status sked_i_problem_check_lowered(const sked_problem *p, sked_error *err)
{
    static sked_status (*const checks[])(const sked_problem *, sked_error *) = {
        check_demands, check_paths, check_horizon, check_interval};
    sked_i_costs c = {0};
    sked_i_relaxed relaxed = {0};
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_costs_make(p, &c, err));
    SKED_TRY(check_sums(p, &c, err));
    if (p->machine != NULL) {
        SKED_TRY(sked_i_check_able(p, &c, err));
        SKED_TRY(check_links(p, &c, err));
    }
    SKED_TRY(sked_i_check_memory(p, &c, err));
    SKED_TRY(sked_i_relax(p, &c, &relaxed, err)); /* what it refutes is refuted */
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        SKED_TRY(checks[i](&relaxed.problem, err));
cleanup:
    sked_i_relaxed_free(&relaxed);
    sked_i_costs_free(&c);
    return st;
}

sked_status sked_problem_check(const sked_problem *p, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    sked_i_lowered low = {0};
    sked_status st = sked_i_problem_check_asked(p, err);
    if (st == SKED_OK && sked_i_is_checked_lowered(p))
        st = sked_i_lower(p, &low, err);
    if (st == SKED_OK)
        st = sked_i_problem_check_lowered(low.asked != NULL ? &low.problem : p, err);
    sked_i_lowered_free(&low);
    return st;
}
