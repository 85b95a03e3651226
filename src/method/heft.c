/*
 * `heft`: heterogeneous earliest finish time (Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002) for identical
 * devices. Ops are ranked by bottom level (the longest path to the end), mean transfer times included; in
 * that order each goes to the device where it finishes first, into a gap where one is wide enough.
 */
#include "engine/list/list.h"
#include "method/method.h"

enum { rank_upward, rank_worst, rank_path };

#define HEFT_OPTIONS(X)                                                                                    \
    X(RANK, "rank", ENUM, "upward", 0, 0, "upward|worst|path",                                             \
      "how transfers count in the bottom level: by their mean over all pairs of devices, in full, or not " \
      "at all")                                                                                            \
    X(INSERTION, "insertion", BOOL, "true", 0, 0, NULL,                                                    \
      "put ops into earlier gaps that are wide enough; false: only after the last op of a device")

SKED_I_OPTIONS(HEFT_OPTIONS);

/* Share of a transfer that the rank counts: two devices taken at random are the same one time in m. */
static double transfer_share(const sked_problem *p, double rank)
{
    if (rank == rank_path || p->devices < 2)
        return 0;
    return rank == rank_worst || p->machine != NULL ? 1 : (p->devices - 1.0) / p->devices;
}

static sked_status rank_ops(const sked_i_run *run, const sked_i_dag *v, int32_t *rank, sked_error *err)
{
    sked_status st = SKED_OK;
    double *up = NULL;
    SKED_NEW(up, v->n);
    sked_i_upward_ranks(v, transfer_share(run->problem, run->setting[OPTION_RANK]), up);
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
    const sked_i_list_input input = {&v, &pools, rank, p->devices, NULL};
    const sked_i_place how = {.by_device = true, .insertion = run->setting[OPTION_INSERTION] != 0};
    SKED_TRY(sked_i_list_place(&input, &how, s->start, s->device, &fits, err));
    sked_i_run_evaluated(run, 1);
    if (fits)
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
             .summary = "insertion-based earliest finish, largest bottom level first",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_MACHINES |
                         SKED_CAN_MAKESPAN,
             .options = options,
             .n_options = n_options},
    .run = heft_run,
};
