/*
 * `registers`: the least registers of a pipeline, by a flow (problem/least_registers.h). At interval 1 the
 * peak of the memory is the sum of all lives, so the optimum of the sum is proved; at a longer one the sum is
 * a bound, and its schedule an incumbent where the pools have room for it.
 */
#include "problem/least_registers.h"

#include "method/method.h"
#include "problem/bounds.h"

#include <string.h>

/* Pools are not in the flow. *offered: the schedule keeps them. */
static sked_status offer_if_valid(sked_i_run *run, sked_schedule *s, const double *start, bool *offered,
                                  sked_error *err)
{
    sked_error ignored;
    memcpy(s->start, start, (size_t)s->ops * sizeof *start);
    s->ii = run->problem->ii;
    *offered = sked_schedule_validate(run->problem, s, &ignored) == SKED_OK;
    return *offered ? sked_i_run_offer(run, s, err) : SKED_OK;
}

static sked_status find_least(sked_i_run *run, sked_i_registers *x, sked_schedule *s, double *start,
                              sked_error *err)
{
    sked_i_registers_found found;
    sked_i_bound_effort effort = {.work = 0x1p50, .limit = &run->limit};
    sked_status st = sked_i_registers_least(x, &effort, start, &found, err);
    if (st != SKED_OK)
        return st;
    if (found.none)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE, "no schedule keeps all edges within clock and horizon");
    sked_i_run_raise_bound(
        run, sked_i_bound_settle(found.bound / run->problem->ii, run->problem->graph->integral));
    if (run->problem->clock > 0)
        sked_i_run_note(run, "%lld pairs of the clock in %d rounds", (long long)found.pairs,
                        (int)found.rounds);
    bool offered = false;
    if (found.optimal)
        st = offer_if_valid(run, s, start, &offered, err);
    if (st == SKED_OK && offered && run->problem->ii == 1)
        sked_i_run_prove(run);
    return st;
}

static sked_status run_registers(sked_i_run *run, sked_error *err)
{
    const sked_problem *p = run->problem;
    sked_status st = SKED_OK;
    sked_i_registers *x = NULL;
    sked_schedule *s = NULL;
    double *start;
    bool offered;
    if (!sked_i_registers_fit(p))
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "registers needs objective memory, an interval, and times that are whole numbers");
    SKED_OWN(run->own, start, p->graph->n_ops);
    SKED_TRY(sked_schedule_create(p->graph->n_ops, 0, &s, err));
    SKED_TRY(sked_i_registers_open(p, &x, err));
    SKED_TRY(offer_if_valid(run, s, sked_i_registers_early(x), &offered, err));
    SKED_TRY(offer_if_valid(run, s, sked_i_registers_late(x), &offered, err));
    st = find_least(run, x, s, start, err);
cleanup:
    sked_i_registers_close(x);
    sked_schedule_destroy(s);
    return st;
}

const sked_i_method sked_i_method_registers = {
    .info = {.name = "registers",
             .summary = "least registers of a pipeline: a flow, with the pairs of ops that the clock parts",
             .features = SKED_CAN_LOOPS | SKED_CAN_HORIZON | SKED_CAN_RESOURCES | SKED_CAN_FIX |
                         SKED_CAN_MEMORY | SKED_CAN_EXACT},
    .takes_clock = sked_i_registers_fit,
    .run = run_registers,
};
