/*
 * `heft`: heterogeneous earliest finish time (Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002) for identical
 * devices. Ops are ranked by the longest way to the end, mean transfer times included; in that order each
 * goes to the device where it finishes first, into a gap where one is wide enough.
 */
#include "method/list/list.h"

enum { opt_rank, opt_insertion, n_options };
enum { rank_upward, rank_worst, rank_path };

static const sked_option options[n_options] = {
    {"rank", SKED_OPTION_ENUM, "upward", 0, 0, "upward|worst|path",
     "transfers on the way to the end count by their mean over all pairs of devices, in full, or not at all"},
    {"insertion", SKED_OPTION_BOOL, "true", 0, 0, NULL,
     "put ops into earlier gaps that are wide enough; false: only after the last op of a device"},
};

/* Share of a transfer that the rank counts: two devices taken at random are the same one time in m. */
static double transfer_share(const sked_problem *p, double rank)
{
    if (rank == rank_path || p->devices < 2)
        return 0;
    return rank == rank_worst ? 1 : (p->devices - 1.0) / p->devices;
}

void sked_i_upward_ranks(const sked_i_dag *v, double share, double *up)
{
    for (int32_t k = v->n - 1; k >= 0; k--) {
        const int32_t i = v->order[k];
        double longest = v->duration[i];
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const double extra = v->out.transfer ? share * v->out.transfer[e] : 0;
            longest = fmax(longest, v->out.lag[e] + extra + up[v->out.op[e]]);
        }
        up[i] = longest;
    }
}

static sked_status rank_ops(const sked_i_run *run, const sked_i_dag *v, int32_t *rank, sked_error *err)
{
    sked_status st = SKED_OK;
    double *up = NULL;
    SKED_NEW(up, v->n);
    sked_i_upward_ranks(v, transfer_share(run->problem, run->setting[opt_rank]), up);
    for (int32_t i = 0; i < v->n; i++)
        up[i] = -up[i];
    SKED_TRY(sked_i_rank_by_key(v, up, rank, err));
cleanup:
    free(up);
    return st;
}

static sked_status heft_run(sked_i_run *run, sked_error *err)
{
    const sked_problem *p = run->problem;
    sked_status st = SKED_OK;
    sked_i_dag v = {0};
    sked_i_pools pools = {0};
    sked_schedule *s = NULL;
    int32_t *rank = NULL;
    bool fits;
    SKED_NEW(rank, p->graph->n_ops);
    SKED_TRY(sked_schedule_create(p->graph->n_ops, p->devices, &s, err));
    SKED_TRY(sked_i_dag_make(p, false, sked_i_has_transfers(p), &v, err));
    SKED_TRY(sked_i_pools_make(p, false, &pools, err));
    SKED_TRY(rank_ops(run, &v, rank, err));
    const sked_i_plan plan = {&v, &pools, rank, p->devices, NULL};
    const sked_i_place how = {.by_device = true, .insertion = run->setting[opt_insertion] != 0};
    SKED_TRY(sked_i_list_place(&plan, &how, s->start, s->device, &fits, err));
    run->evaluations++;
    if (sked_i_within_horizon(p, s->start))
        SKED_TRY(sked_i_run_offer(run, s, err));
cleanup:
    sked_i_pools_free(&pools);
    sked_i_dag_free(&v);
    sked_schedule_destroy(s);
    free(rank);
    return st;
}

const sked_i_method sked_i_method_heft = {
    .info = {.name = "heft",
             .summary = "insertion-based earliest finish in order of the longest way to the end",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_MAKESPAN,
             .options = options,
             .n_options = n_options},
    .run = heft_run,
};
