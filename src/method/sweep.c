/* One problem at several values of a parameter, and which of the schedules are worth choosing between. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/sized.h"
#include "problem/lower.h"

#include <stdio.h>

/* A parameter, and what is traded against the objective. */
static const struct {
    const char *name, *axis;
} parameters[] = {
#define SKED_X(name, text, axis) {text, axis},
    SKED_SWEEP_LIST(SKED_X)
#undef SKED_X
};
enum { n_parameters = sizeof parameters / sizeof *parameters };

void sked_sweep_options_init_sized(sked_sweep_options *opt, size_t size)
{
    const sked_sweep_options preset = {0};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

void sked_sweep_apply(sked_sweep_parameter parameter, double at, sked_problem *p)
{
    if (parameter == SKED_SWEEP_HORIZON)
        p->horizon = at;
    else if (parameter == SKED_SWEEP_II)
        p->ii = at;
    else if (parameter == SKED_SWEEP_ALPHA)
        p->alpha = at;
    else if (parameter == SKED_SWEEP_MEMORY_LIMIT && SKED_KNOWS(p, memory_limit))
        p->memory_limit = at;
    else if (parameter == SKED_SWEEP_CLOCK && SKED_KNOWS(p, clock))
        p->clock = at;
}

/* ------------------------------------------------------------------ the points */

static void describe(sked_sweep_parameter parameter, sked_result *r, const sked_metrics *m,
                     sked_sweep_point *pt)
{
    pt->found = true;
    pt->value = r->value;
    pt->lower_bound = r->lower_bound;
    pt->optimal = r->optimal;
    pt->seconds = r->seconds;
    pt->makespan = m->makespan;
    pt->peak_memory = m->peak_memory;
    pt->resource = m->resource;
    pt->communication = m->communication;
    pt->ii = r->schedule[0]->ii;
    pt->x = parameter == SKED_SWEEP_HORIZON        ? m->makespan
            : parameter == SKED_SWEEP_II           ? pt->ii
            : parameter >= SKED_SWEEP_MEMORY_LIMIT ? pt->at /* limits and what units there are */
                                                   : m->communication;
    pt->y = parameter == SKED_SWEEP_ALPHA ? m->resource : r->value;
    snprintf(pt->method, sizeof pt->method, "%s", r->method);
    pt->schedule = r->schedule[0];
    r->schedule[0] = NULL;
}

/* A point without a schedule is a result too; everything else that goes wrong ends the sweep. */
static sked_status run_point(const char *method, const sked_problem *p, sked_sweep_parameter parameter,
                             const sked_run_options *run, sked_sweep_point *pt, sked_error *err)
{
    sked_result r = {.size = sizeof r};
    sked_metrics m = {.size = sizeof m};
    sked_error why = {0};
    sked_status st = sked_method_run(method, p, run, &r, &why);
    if (st == SKED_ERR_INFEASIBLE || st == SKED_ERR_STOPPED) {
        snprintf(pt->reason, sizeof pt->reason, "%.199s", why.message);
        return SKED_OK;
    }
    if (st == SKED_OK)
        st = sked_schedule_measure(p, r.schedule[0], &m, &why);
    if (st == SKED_OK)
        describe(parameter, &r, &m, pt);
    else
        sked_i_fail(err, st, "%s", why.message);
    sked_result_clear(&r);
    return st;
}

/* Points that no other beats on one side without losing on the other; equal ones: the first. */
static void mark_pareto(sked_sweep_result *w)
{
    for (int32_t i = 0; i < w->count; i++) {
        sked_sweep_point *p = w->point[i];
        p->pareto = p->found;
        for (int32_t k = 0; k < w->count && p->pareto; k++) {
            const sked_sweep_point *q = w->point[k];
            const bool no_worse = q->found && k != i && q->x <= p->x && q->y <= p->y;
            p->pareto = !no_worse || (q->x == p->x && q->y == p->y && k > i);
        }
    }
}

/* Schedules that another point beats are not kept, except the one that the next search starts from. */
static void drop_beaten(sked_sweep_result *w, const sked_schedule *last)
{
    for (int32_t i = 0; i < w->count; i++)
        if (!w->point[i]->pareto && w->point[i]->schedule != last) {
            sked_schedule_destroy(w->point[i]->schedule);
            w->point[i]->schedule = NULL;
        }
}

static void widen(double *low, double *high, double x)
{
    *low = fmin(*low, x);
    *high = fmax(*high, x);
}

/* Nearest to the best of both sides at once, each side scaled to its range; -1: no point. */
static int32_t find_knee(const sked_sweep_result *w)
{
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY, least = INFINITY;
    int32_t best = -1;
    for (int32_t i = 0; i < w->count; i++)
        if (w->point[i]->pareto) {
            widen(&x0, &x1, w->point[i]->x);
            widen(&y0, &y1, w->point[i]->y);
        }
    for (int32_t i = 0; i < w->count; i++) {
        const sked_sweep_point *p = w->point[i];
        const double dx = x1 > x0 ? (p->x - x0) / (x1 - x0) : 0, dy = y1 > y0 ? (p->y - y0) / (y1 - y0) : 0;
        if (p->pareto && hypot(dx, dy) < least) {
            least = hypot(dx, dy);
            best = i;
        }
    }
    return best;
}

/* ------------------------------------------------------------------ the call */

void sked_sweep_result_clear(sked_sweep_result *w)
{
    const sked_sweep_result empty = {0};
    for (int32_t i = 0; i < w->count; i++) {
        sked_schedule_destroy(w->point[i]->schedule);
        free(w->point[i]);
    }
    free(w->point);
    SKED_GIVE(w, empty);
}

/* At one interval a schedule of another is not valid: no start there. */
static bool starts_warm(const char *method, sked_sweep_parameter parameter)
{
    const sked_method_info *info = sked_method_find(method);
    return info != NULL && (info->features & SKED_CAN_START) && parameter != SKED_SWEEP_II;
}

/* The schedule of the last value, where it keeps a memory limit, a clock or a capacity that may have fallen
 * since. */
static const sked_schedule *warm_start(const sked_problem *p, sked_sweep_parameter parameter,
                                       const sked_schedule *last, const sked_schedule *given)
{
    const sked_schedule *s = last != NULL ? last : given;
    const bool may_break = parameter >= SKED_SWEEP_MEMORY_LIMIT;
    if (s != NULL && may_break && sked_schedule_validate(p, s, NULL) != SKED_OK)
        return NULL;
    return s;
}

/* -1: no capacity is swept. */
static int32_t resource_of(const sked_problem *p, const sked_sweep_options *opt)
{
    return opt->parameter == SKED_SWEEP_CAPACITY ? sked_graph_find_resource(p->graph, opt->resource) : -1;
}

/* Capacities of the sweep's own; NULL where none is swept. */
static sked_status copy_capacities(sked_problem *p, int32_t resource, double **out, sked_error *err)
{
    sked_status st = SKED_OK;
    double *capacity = NULL;
    if (resource < 0)
        return SKED_OK;
    SKED_NEW(capacity, p->graph->n_resources);
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        capacity[r] = sked_i_capacity(p, r);
    p->capacity = *out = capacity;
cleanup:
    return st;
}

static sked_status run_points(const char *method, const sked_problem *p, const sked_sweep_options *opt,
                              const sked_run_options *preset, sked_sweep_result *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_limit limit = {.stop = preset->stop};
    const bool warm = starts_warm(method, opt->parameter);
    const sked_schedule *last = NULL;
    sked_problem problem = *p;
    sked_run_options run = *preset;
    double *capacity = NULL;
    const int32_t resource = resource_of(p, opt);
    SKED_NEW(w->point, opt->n_values);
    SKED_TRY(copy_capacities(&problem, resource, &capacity, err));
    for (int32_t i = 0; i < opt->n_values && !sked_i_limit_stopped(&limit); i++) {
        SKED_NEW0(w->point[i], 1);
        w->count++;
        w->point[i]->at = opt->values[i];
        sked_sweep_apply(opt->parameter, opt->values[i], &problem);
        if (resource >= 0)
            capacity[resource] = opt->values[i];
        run.start = warm_start(&problem, opt->parameter, warm ? last : NULL, preset->start);
        SKED_TRY(run_point(method, &problem, opt->parameter, &run, w->point[i], err));
        last = w->point[i]->found ? w->point[i]->schedule : last;
        mark_pareto(w);
        drop_beaten(w, last);
    }
    drop_beaten(w, NULL);
cleanup:
    free(capacity);
    return st;
}

static sked_status check(const sked_problem *p, const sked_sweep_options *opt, const sked_run_options *run,
                         sked_error *err)
{
    if ((unsigned)opt->parameter >= n_parameters || opt->n_values < 1 || opt->values == NULL)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "a sweep needs a parameter and one value of it at least");
    for (int32_t i = 0; i < opt->n_values; i++)
        if (!(opt->values[i] >= 0))
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "a sweep takes values of 0 or more, not %g",
                               opt->values[i]);
    const bool capacity = opt->parameter == SKED_SWEEP_CAPACITY;
    if (capacity != (opt->resource != NULL) ||
        (capacity && sked_graph_find_resource(p->graph, opt->resource) < 0))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "a sweep of a capacity, and no other, names a resource of the graph");
    if (run->candidates > 1)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "a sweep gives one schedule per value: no candidates");
    return SKED_OK;
}

sked_status sked_sweep(const char *method, const sked_problem *p, const sked_sweep_options *opt,
                       const sked_run_options *run, sked_sweep_result *out, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    SKED_TAKE(sked_sweep_options, opt)
    SKED_TAKE(sked_run_options, run)
    SKED_CHECK_OUTPUT(sked_sweep_result, out);
    sked_status st = SKED_OK;
    sked_sweep_result w = {.size = sizeof w};
    SKED_TRY(check(p, opt, run, err));
    w.parameter = parameters[opt->parameter].name;
    w.x = parameters[opt->parameter].axis;
    if (opt->parameter == SKED_SWEEP_CAPACITY)
        w.parameter = w.x = sked_graph_resource_name(p->graph, resource_of(p, opt));
    w.y = opt->parameter == SKED_SWEEP_ALPHA ? "resource" : sked_objective_name(p->objective);
    SKED_TRY(run_points(method, p, opt, run, &w, err));
    if (w.count == 0)
        SKED_TRY(sked_i_fail(err, SKED_ERR_STOPPED, "stopped before the first value of the sweep"));
    w.knee = find_knee(&w);
    SKED_GIVE(out, w);
    w = (sked_sweep_result){.size = sizeof w};
cleanup:
    sked_sweep_result_clear(&w);
    return st;
}
