/* From wished start times to an offer: on a limited machine each op starts at its wish or later. */
#include "method/starts.h"

#include "engine/list/list.h"
#include "form/sequencing.h"

#include <string.h>

/*
 * Serial generation that starts nothing before its target, in the order of the targets. Heterogeneous
 * devices: *fits becomes false past the horizon, too.
 */
static sked_status place_from(const sked_i_run *run, const double *target, sked_schedule *s, bool *fits,
                              sked_error *err)
{
    const sked_problem *p = run->problem;
    const bool separate = sked_i_sequencing_needed(p);
    sked_status st = SKED_OK;
    sked_i_dag v = {0};
    sked_i_pools pools = {0};
    int32_t *rank = NULL;
    SKED_NEW(rank, p->graph->n_ops);
    SKED_TRY(sked_i_dag_make(p, run->costs, false, sked_i_has_transfers(p), &v, err));
    SKED_TRY(sked_i_pools_make(p, !separate, &pools, err));
    SKED_TRY(sked_i_rank_by_key(&v, target, rank, err));
    const sked_i_list_input input = {&v, &pools, rank, p->devices, target, NULL, false};
    const sked_i_place how = {.fix_device = p->fix_device,
                              .fix_start = p->fix_start,
                              .by_device = separate,
                              .insertion = true,
                              .limit = &run->limit,
                              .hurry = sked_i_run_incumbent(run) == NULL};
    SKED_TRY(sked_i_list_place(&input, &how, s->start, s->device, fits, err));
    if (*fits && v.costs != NULL)
        *fits = sked_i_keeps_horizon(p, sked_i_costs_latest_finish(v.costs, s));
cleanup:
    free(rank);
    sked_i_dag_free(&v);
    sked_i_pools_free(&pools);
    return st;
}

sked_status sked_i_offer_starts(sked_i_run *run, const sked_i_windows *w, const double *start,
                                sked_error *err)
{
    const sked_problem *p = run->problem;
    sked_status st = SKED_OK;
    sked_schedule *s = NULL;
    bool fits = true;
    sked_i_run_evaluated(run, 1);
    SKED_TRY(sked_schedule_create(p->graph->n_ops, p->devices, &s, err));
    if (w->limited)
        SKED_TRY(place_from(run, start, s, &fits, err));
    else
        memcpy(s->start, start, (size_t)s->ops * sizeof *s->start);
    if (fits && (p->machine != NULL || sked_i_within_horizon(p, s->start)))
        SKED_TRY(sked_i_run_offer(run, s, err));
cleanup:
    sked_schedule_destroy(s);
    return st;
}
