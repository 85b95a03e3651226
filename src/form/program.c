#include "form/program.h"

#include <assert.h>

static const double largest_time = 1 << 28;

double sked_i_program_serial_length(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    const bool transfers = sked_i_has_transfers(p);
    double sum = 0, fixed = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        double longest = g->duration[i];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                longest = fmax(longest, g->edge_lag[e] + (transfers ? sked_i_transfer(p, e) : 0));
        sum += longest;
        if (p->fix_start && !isnan(p->fix_start[i]))
            fixed = fmax(fixed, p->fix_start[i]);
    }
    return sum + fixed;
}

/* ------------------------------------------------------------------ arcs and windows */

static sked_status add_arcs(sked_i_program *m, sked_error *err)
{
    const sked_graph *g = m->p->graph;
    const bool transfers = sked_i_has_transfers(m->p);
    sked_status st = SKED_OK;
    SKED_OWN(&m->arena, m->arc, g->n_edges);
    for (int64_t e = 0; e < g->n_edges; e++) {
        if (g->edge_distance[e] > 0 && m->interval == 0)
            continue;
        const double gap = g->edge_lag[e] - (double)g->edge_distance[e] * m->interval;
        const double transfer = transfers ? sked_i_transfer(m->p, e) : 0;
        if (fabs(gap) > largest_time || transfer > largest_time)
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "a lag of %g is too long for a model by time steps",
                               gap);
        m->arc[m->n_arcs++] = (sked_i_program_arc){.from = g->edge_from[e],
                                                   .to = g->edge_to[e],
                                                   .gap = (int32_t)gap,
                                                   .transfer = (int32_t)transfer,
                                                   .distance = g->edge_distance[e],
                                                   .counted = g->edge_bytes[e] > 0,
                                                   .passes = sked_i_passes(g, e)};
    }
cleanup:
    return st;
}

/* Relaxes windows along all arcs until nothing moves; sweeps are bounded, windows stay valid anyway. */
static void tighten(sked_i_program *m)
{
    bool moved = true;
    for (int32_t sweep = 0; moved && sweep <= m->n; sweep++) {
        moved = false;
        for (int64_t k = 0; k < m->n_arcs; k++) {
            const sked_i_program_arc *a = &m->arc[k];
            if (m->early[a->from] + a->gap > m->early[a->to]) {
                m->early[a->to] = m->early[a->from] + a->gap;
                moved = true;
            }
            if (m->late[a->to] - a->gap < m->late[a->from]) {
                m->late[a->from] = m->late[a->to] - a->gap;
                moved = true;
            }
            if (m->early[a->to] > m->latest || m->late[a->from] < 0)
                return; /* empty: the caller sees it */
        }
    }
}

/*
 * A pipelined loop that fits at all fits within this: slots given, the numbers of full intervals form longest
 * paths, and an arc makes such a path longer by its gap and less than one interval.
 */
static double pipelined_length(const sked_i_program *m)
{
    double longest = 0;
    for (int32_t i = 0; i < m->n; i++)
        longest = fmax(longest, m->p->graph->duration[i]);
    for (int64_t k = 0; k < m->n_arcs; k++)
        longest = fmax(longest, (double)m->arc[k].gap + m->arc[k].transfer);
    return (longest + 2.0 * m->interval) * (m->n + 1);
}

/* Objectives other than the makespan may gain by keeping ops as far apart as negative lags allow. */
static double spread_of_lags(const sked_i_program *m)
{
    double sum = 0;
    for (int64_t k = 0; m->objective != SKED_OBJECTIVE_MAKESPAN && k < m->n_arcs; k++)
        sum += m->arc[k].gap < 0 ? -(double)m->arc[k].gap : 0;
    return sum;
}

static sked_status add_windows(sked_i_program *m, double latest, sked_error *err)
{
    const sked_problem *p = m->p;
    sked_status st = SKED_OK;
    char name[80];
    /* only lengths themselves are never worse when everything moves left: else the horizon alone counts */
    const double enough =
        m->interval > 0 ? pipelined_length(m) : sked_i_program_serial_length(p) + spread_of_lags(m);
    if (m->objective == SKED_OBJECTIVE_MAKESPAN || isinf(p->horizon))
        latest = fmin(latest, enough);
    latest = floor(fmin(latest, p->horizon));
    if (!(latest < largest_time))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%g time steps are too many for a model", latest);
    m->latest = (int32_t)latest;
    SKED_OWN0(&m->arena, m->early, m->n);
    SKED_OWN(&m->arena, m->late, m->n);
    for (int32_t i = 0; i < m->n; i++) {
        m->late[i] = m->latest - (int32_t)p->graph->duration[i];
        if (p->fix_start && !isnan(p->fix_start[i])) {
            m->early[i] = (int32_t)p->fix_start[i];
            m->late[i] = m->late[i] < m->early[i] ? m->late[i] : m->early[i];
        }
    }
    tighten(m);
    for (int32_t i = 0; i < m->n; i++)
        if (m->early[i] > m->late[i])
            return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                               "no start is left for op '%s' by the latest finish %d",
                               sked_i_op_label(p->graph, i, name, sizeof name), (int)m->latest);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ pools */

static sked_status add_pool(sked_i_program *m, int32_t resource, bool limited, bool measured, double capacity,
                            sked_error *err)
{
    const sked_graph *g = m->p->graph;
    assert(m->n_pools < g->n_resources + 2);
    sked_i_program_pool *q = &m->pool[m->n_pools++];
    sked_status st = SKED_OK;
    *q = (sked_i_program_pool){.limited = limited, .measured = measured, .capacity = capacity};
    const int64_t users = sked_i_user_count(g, resource);
    SKED_OWN(&m->arena, q->op, users);
    SKED_OWN(&m->arena, q->amount, users);
    SKED_OWN(&m->arena, q->load, users);
    for (int64_t k = 0; k < users; k++) {
        double amount;
        const int32_t i = sked_i_user(g, resource, k, &amount);
        if (!(g->duration[i] > 0) || !(amount > 0))
            continue;
        q->op[q->count] = i;
        q->amount[q->count] = amount;
        q->load[q->count++] = amount * g->weight[i];
    }
cleanup:
    return st;
}

static sked_status add_pools(sked_i_program *m, sked_error *err)
{
    const sked_problem *p = m->p;
    const sked_graph *g = p->graph;
    const bool measures = m->objective == SKED_OBJECTIVE_RESOURCE || m->objective == SKED_OBJECTIVE_COST;
    const bool demands = g->demand_ptr[g->n_ops] > 0;
    sked_status st = SKED_OK;
    SKED_OWN(&m->arena, m->pool, (int64_t)g->n_resources + 2);
    if (p->devices > 0 && m->places == 1)
        SKED_TRY(add_pool(m, -1, true, false, p->devices, err));
    if (measures && !demands)
        SKED_TRY(add_pool(m, -1, false, true, INFINITY, err));
    for (int32_t r = 0; r < g->n_resources; r++) {
        const double capacity = sked_i_capacity(p, r);
        if (capacity < INFINITY || (measures && demands))
            SKED_TRY(add_pool(m, r, capacity < INFINITY, measures && demands, capacity, err));
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the whole */

static bool any_fixed_device(const sked_problem *p)
{
    for (int32_t i = 0; p->fix_device && i < p->graph->n_ops; i++)
        if (p->fix_device[i] >= 0)
            return true;
    return false;
}

/* Does some value outlive the start of its last consumer, or begin later than its op? */
static bool holds_longer(const sked_problem *p)
{
    bool longer = p->lifetime != SKED_LIFETIME_START;
    for (int32_t i = 0; !longer && p->graph->keep != NULL && i < p->graph->n_ops; i++)
        longer = p->graph->keep[i];
    return longer;
}

static sked_status check_problem(const sked_problem *p, sked_error *err)
{
    const bool memory = p->objective == SKED_OBJECTIVE_MEMORY;
    const struct {
        bool broken;
        const char *rule;
    } rules[] = {
        {memory && holds_longer(p), "a model by time steps lets a value go when its last consumer starts: it "
                                    "has no other lifetime and no values that are kept"},
        {memory && p->machine == NULL && p->devices > 1,
         "a model by time steps has no copies of values on other devices"},
        {p->machine != NULL,
         "a model by time steps takes identical devices: heterogeneous devices or links, or "
         "memory of devices, have none"},
        {sked_i_has_memory_limit(p), "a model by time steps has no memory limits"},
        {sked_i_has_addresses(p), "a model by time steps has no addresses"},
        {!sked_i_problem_integral(p),
         "a model by time steps needs durations, lags and transfers that are whole numbers"},
        {p->objective == SKED_OBJECTIVE_II && !(p->ii > 0),
         "a model of a pipelined loop needs a given interval"},
        {p->ii == SKED_II_AUTO || p->ii > largest_time,
         "a model of a pipelined loop needs a given interval of moderate length"},
        {memory && p->ii > 0, "peak memory of a pipelined loop has no linear model"},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (rules[k].broken)
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%s", rules[k].rule);
    return SKED_OK;
}

sked_status sked_i_program_create(const sked_problem *p, double latest, sked_i_program **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_program *m = NULL;
    SKED_TRY(check_problem(p, err));
    SKED_NEW0(m, 1);
    m->p = p;
    m->n = p->graph->n_ops;
    m->interval = (int32_t)p->ii;
    m->objective = p->objective == SKED_OBJECTIVE_II ? SKED_OBJECTIVE_MAKESPAN : p->objective;
    const bool told_apart = sked_i_has_transfers(p) || m->interval > 0 || any_fixed_device(p);
    m->places = p->devices > 1 && told_apart ? p->devices : 1;
    SKED_TRY(add_arcs(m, err));
    SKED_TRY(add_windows(m, latest, err));
    SKED_TRY(add_pools(m, err));
    *out = m;
    m = NULL;
cleanup:
    sked_i_program_destroy(m);
    return st;
}

void sked_i_program_destroy(sked_i_program *m)
{
    if (m == NULL)
        return;
    sked_i_arena_free(&m->arena);
    free(m);
}
