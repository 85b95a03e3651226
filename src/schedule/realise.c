#include "schedule/realise.h"

#include "base/clock.h"
#include "problem/chaining.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <string.h>

/* The op after all others begins when they have ended. */
static void close_schedule(const sked_i_lowered *x, sked_schedule *s)
{
    const sked_graph *g = x->asked->graph;
    s->start[g->n_ops] = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        s->start[g->n_ops] = fmax(s->start[g->n_ops], s->start[i] + g->duration[i]);
}

static sked_status place_end(const sked_i_lowered *x, sked_i_realised *r, sked_error *err)
{
    if (!x->ends || r->solved->ops != x->problem.graph->n_ops)
        return SKED_OK;
    const sked_status st = sked_schedule_clone(r->solved, &r->own, err);
    if (st != SKED_OK)
        return st;
    close_schedule(x, r->own);
    r->view = *r->own;
    r->view.ops = x->asked->graph->n_ops;
    r->solved = r->own;
    r->schedule = &r->view;
    return SKED_OK;
}

/*
 * Devices: those of the short form are the machine file's, in its order, and lowering gives neither ops nor
 * devices other numbers. A step that does not keep this comes first, and gives the schedule its own memory.
 */
static sked_status judge(const sked_i_lowered *x, sked_i_realised *r, sked_error *err)
{
    return sked_schedule_validate(x->asked, r->schedule, err);
}

/*
 * Lowering changes no objective: with a machine the costs of the run say what the schedule is worth. Without
 * one there is nothing to compile, and what lives to the end is as it was asked for.
 */
static sked_status measure(const sked_i_lowered *x, sked_i_realised *r, sked_error *err)
{
    if (x->asked->machine != NULL)
        return sked_i_schedule_value(&x->problem, &x->costs, r->schedule, &r->value, &r->makespan, err);
    const sked_i_costs c = sked_i_costs_of_equal(x->asked);
    return sked_i_schedule_value(x->asked, &c, r->schedule, &r->value, &r->makespan, err);
}

static const struct step {
    const char *name;
    sked_status (*apply)(const sked_i_lowered *x, sked_i_realised *r, sked_error *err);
} steps[] = {
    {"end", place_end},
    {"validate", judge},
    {"value", measure},
};
static_assert(sizeof steps / sizeof *steps == SKED_I_REALISE_STEPS, "a time for every step");

const char *sked_i_realise_step(int k)
{
    assert(k >= 0 && k < SKED_I_REALISE_STEPS);
    return steps[k].name;
}

sked_status sked_i_realise(const sked_i_lowered *x, const sked_schedule *s, sked_i_realised *out,
                           sked_error *err)
{
    sked_status st = SKED_OK;
    double from = sked_clock();
    *out = (sked_i_realised){.schedule = s, .solved = s};
    for (int k = 0; st == SKED_OK && k < SKED_I_REALISE_STEPS; k++) {
        st = steps[k].apply(x, out, err);
        const double now = sked_clock();
        out->seconds[k] = now - from;
        from = now;
    }
    return st;
}

void sked_i_realised_free(sked_i_realised *r)
{
    sked_schedule_destroy(r->own);
    r->own = NULL;
}

sked_status sked_i_realise_result(const sked_i_lowered *x, sked_schedule *s, sked_error *err)
{
    sked_status st = SKED_OK;
    s->ops = x->asked->graph->n_ops;
    if (x->asked->clock > 0)
        st = sked_i_schedule_add_phases(s, err);
    return st == SKED_OK && x->asked->clock > 0 ? sked_i_clock_phases(x->asked, s, s->phase, err) : st;
}

sked_status sked_i_realise_start(const sked_i_lowered *x, const sked_schedule *s, sked_schedule **out,
                                 sked_error *err)
{
    sked_schedule *lifted = NULL;
    *out = NULL;
    if (!x->ends || s == NULL || s->ops != x->asked->graph->n_ops)
        return SKED_OK;
    const sked_status st = sked_schedule_create(s->ops + 1, s->devices, &lifted, err);
    if (st != SKED_OK)
        return st;
    memcpy(lifted->start, s->start, (size_t)s->ops * sizeof *s->start);
    lifted->ii = s->ii;
    close_schedule(x, lifted);
    *out = lifted;
    return SKED_OK;
}
