/* The steps from the problem as asked to the one that methods solve, in their order, and relaxations of it.
 */
#include "problem/lower.h"

#include "base/clock.h"
#include "base/memory.h"

#include <assert.h>
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
    x->problem.lifetime = sked_i_holds_to_finish(&x->problem) ? SKED_LIFETIME_FINISH : SKED_LIFETIME_START;
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
    {"lifetime", lifetime_is_open, settle_lifetime}, /* auto: start, and with a limit finish */
    {"idle limit", limit_is_idle, drop_limit},       /* after the lifetime, which asks for limits */
    {NULL, NULL, compile},                           /* the last step asks what ops take */
    {"equal devices", devices_are_equal, shorten},
};
static const int n_steps = sizeof steps / sizeof *steps;
static_assert(sizeof steps / sizeof *steps <= SKED_I_MOST_STEPS, "room for every step");

static void begin(const sked_problem *asked, sked_i_lowered *x)
{
    *x = (sked_i_lowered){.asked = asked, .problem = *asked};
}

sked_status sked_i_lower(const sked_problem *asked, sked_i_lowered *x, sked_error *err)
{
    sked_status st = SKED_OK;
    begin(asked, x);
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
    begin(asked, x);
    return has_profile(x) ? apply_profile(x, err) : SKED_OK;
}

void sked_i_lowered_free(sked_i_lowered *x)
{
    sked_i_costs_free(&x->costs);
    sked_graph_destroy(x->graph);
    free(x->memory);
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
