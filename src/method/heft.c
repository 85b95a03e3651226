/*
 * `heft`: heterogeneous earliest finish time (Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002). Ops are
 * ranked by bottom level (the longest path to the end), mean times and mean transfers included; in that order
 * each goes to the device where it finishes first, into a gap where one is wide enough. The usual variants
 * are options: other ranks, lookahead (Bittencourt, Sakellariou and Madeira, PDP 2010), PEFT, CPOP.
 */
#include "engine/list/list.h"
#include "method/method.h"

enum { rank_upward, rank_worst, rank_path, rank_best, rank_median, rank_oct, rank_critical };
enum { device_finish, device_lookahead, device_oct, device_critical };

#define HEFT_OPTIONS(X)                                                                                     \
    X(RANK, "rank", ENUM, "upward", 0, 0, "upward|worst|path|best|median|oct|critical",                     \
      "what an op is ranked by: its bottom level with mean, worst, best or median times and transfers, or " \
      "mean times without transfers (path); its mean optimistic cost (oct, as PEFT); the longest path "     \
      "through it (critical, as CPOP)")                                                                     \
    X(DEVICE, "device", ENUM, "finish", 0, 0, "finish|lookahead|oct|critical",                              \
      "where an op goes: to the device where it finishes first; where its last successor could finish "     \
      "first; where finish and optimistic cost are least; or ops of the critical path to the one device "   \
      "that runs them fastest, the others by finish")                                                       \
    X(INSERTION, "insertion", BOOL, "true", 0, 0, NULL,                                                     \
      "put ops into earlier gaps that are wide enough; false: only after the last op of a device")

SKED_I_OPTIONS(HEFT_OPTIONS);

typedef struct hefter {
    sked_i_run *run;
    const sked_problem *p;
    int ranked, choice;
    sked_i_dag view;
    sked_i_pools pools;
    int32_t *rank;
    double *up;      /* larger goes first */
    double *through; /* longest path through an op, where asked for */
    double *ahead;   /* optimistic costs, where asked for */
    int32_t *fix;    /* devices of the critical path, -1 elsewhere */
} hefter;

/*
 * Share of a transfer that the rank counts. Identical devices: two taken at random are the same one time in
 * m. Heterogeneous devices: in full, as published.
 */
static double transfer_share(const hefter *x)
{
    if (x->ranked == rank_path || x->ranked == rank_best || x->p->devices < 2)
        return 0;
    if (x->ranked == rank_worst || x->ranked == rank_median || x->p->machine != NULL)
        return 1;
    return (x->p->devices - 1.0) / x->p->devices;
}

/* By op and kind of device: 256 MB at most. */
static const double most_costs = 1 << 25;

static sked_status find_optimistic_costs(hefter *x, double *mean, sked_error *err)
{
    const sked_i_costs *c = x->view.costs;
    sked_status st = SKED_OK;
    if ((double)x->view.n * c->time_kinds > most_costs)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "optimistic costs of %d ops on %d kinds of devices are more than %.0f",
                           (int)x->view.n, (int)c->time_kinds, most_costs);
    SKED_OWN(x->run->own, x->ahead, (int64_t)x->view.n * c->time_kinds);
    SKED_TRY(sked_i_optimistic_costs(&x->view, &x->run->limit, x->ahead, mean, err));
cleanup:
    return st;
}

/* Longest path through each op; x->up takes what lies behind its start. */
static sked_status find_critical(hefter *x, sked_error *err)
{
    const double share = transfer_share(x);
    sked_status st = SKED_OK;
    SKED_OWN(x->run->own, x->through, x->view.n);
    sked_i_upward_ranks(&x->view, share, x->up);
    sked_i_downward_ranks(&x->view, share, x->through);
    for (int32_t i = 0; i < x->view.n; i++)
        x->through[i] += x->up[i];
cleanup:
    return st;
}

/* First op of a longest path: of those it visits the one with the longest path behind it. -1: no ops. */
static int32_t first_critical(const hefter *x, double longest)
{
    int32_t first = -1;
    for (int32_t i = 0; i < x->view.n; i++)
        if (x->through[i] >= longest && (first < 0 || x->up[i] > x->up[first]))
            first = i;
    return first;
}

/* The successor of i on the path; -1: the path ends. */
static int32_t next_critical(const hefter *x, int32_t i, double longest)
{
    const sked_i_dag_rows *out = &x->view.out;
    int32_t next = -1;
    for (int64_t e = out->ptr[i]; e < out->ptr[i + 1]; e++)
        if (x->through[out->op[e]] >= longest && (next < 0 || x->through[out->op[e]] > x->through[next]))
            next = out->op[e];
    return next;
}

static sked_status fix_critical_path(hefter *x, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *path, length = 0;
    double longest = 0;
    if (x->through == NULL)
        SKED_TRY(find_critical(x, err));
    SKED_OWN(x->run->own, x->fix, x->view.n);
    SKED_OWN(x->run->own, path, x->view.n);
    for (int32_t i = 0; i < x->view.n; i++) {
        x->fix[i] = -1;
        longest = fmax(longest, x->through[i]);
    }
    longest -= 1e-9 * longest; /* sums along one path may differ by rounding */
    for (int32_t i = first_critical(x, longest); i >= 0; i = next_critical(x, i, longest))
        path[length++] = i;
    const int32_t d = sked_i_fastest_device(x->run->costs, path, length);
    for (int32_t k = 0; k < length; k++)
        if (x->view.costs == NULL || sked_i_time(x->view.costs, path[k], d) < INFINITY)
            x->fix[path[k]] = d;
cleanup:
    return st;
}

static sked_status measure(hefter *x, sked_error *err)
{
    static const sked_i_measure measures[] = {
        [rank_worst] = SKED_I_WORST, [rank_best] = SKED_I_BEST, [rank_median] = SKED_I_MEDIAN};
    if (x->ranked == rank_critical)
        return find_critical(x, err);
    if (x->ranked == rank_oct)
        return find_optimistic_costs(x, x->up, err);
    if (x->p->machine != NULL && x->ranked != rank_upward && x->ranked != rank_path)
        return sked_i_measured_ranks(&x->view, measures[x->ranked], &x->run->limit, x->up, err);
    sked_i_upward_ranks(&x->view, transfer_share(x), x->up);
    return SKED_OK;
}

/* Order of ops, and what the choice of devices needs to know. */
static sked_status prepare(hefter *x, sked_error *err)
{
    sked_status st = SKED_OK;
    double *key, *mean;
    SKED_TRY(measure(x, err));
    const double *level = x->ranked == rank_critical ? x->through : x->up;
    SKED_OWN(x->run->own, key, x->view.n);
    for (int32_t i = 0; i < x->view.n; i++)
        key[i] = -level[i];
    SKED_TRY(sked_i_rank_by_key(&x->view, key, x->rank, err));
    if (x->choice == device_critical)
        SKED_TRY(fix_critical_path(x, err));
    if (x->choice == device_oct && x->ahead == NULL) {
        SKED_OWN(x->run->own, mean, x->view.n);
        SKED_TRY(find_optimistic_costs(x, mean, err));
    }
cleanup:
    return st;
}

static sked_status build(hefter *x, sked_schedule *s, sked_error *err)
{
    const sked_problem *p = x->p;
    const bool costed = x->ranked == rank_oct || x->choice == device_lookahead || x->choice == device_oct;
    sked_status st = SKED_OK;
    bool fits;
    SKED_OWN(x->run->own, x->rank, p->graph->n_ops);
    SKED_OWN(x->run->own, x->up, p->graph->n_ops);
    SKED_TRY(costed ? sked_i_dag_make_costed(p, x->run->costs, false, true, &x->view, err)
                    : sked_i_dag_make(p, x->run->costs, false, sked_i_has_transfers(p), &x->view, err));
    SKED_TRY(sked_i_pools_make(p, false, &x->pools, err));
    SKED_TRY(prepare(x, err));
    const sked_i_list_input input = {&x->view, &x->pools, x->rank, p->devices, NULL, NULL, false};
    sked_i_place how = {.by_device = true,
                        .insertion = x->run->setting[OPTION_INSERTION] != 0,
                        .fix_device = x->fix,
                        .ahead = x->choice == device_oct ? x->ahead : NULL,
                        .lookahead = x->choice == device_lookahead,
                        .limit = &x->run->limit,
                        .hurry = sked_i_run_incumbent(x->run) == NULL};
    SKED_TRY(sked_i_list_place(&input, &how, s->start, s->device, &fits, err));
    if (!fits && x->fix != NULL) { /* no link brings the path its data there */
        how.fix_device = NULL;
        SKED_TRY(sked_i_list_place(&input, &how, s->start, s->device, &fits, err));
    }
    sked_i_run_evaluated(x->run, 1);
    if (fits)
        SKED_TRY(sked_i_run_offer(x->run, s, err));
cleanup:
    return st;
}

static sked_status heft_run(sked_i_run *run, sked_error *err)
{
    hefter x = {.run = run,
                .p = run->problem,
                .ranked = (int)run->setting[OPTION_RANK],
                .choice = (int)run->setting[OPTION_DEVICE]};
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(x.p->graph->n_ops, x.p->devices, &s, err);
    if (x.p->devices == 0) { /* nothing to choose, and no transfers */
        x.ranked = rank_path;
        x.choice = device_finish;
    }
    if (st == SKED_OK)
        st = build(&x, s, err);
    sked_i_pools_free(&x.pools);
    sked_i_dag_free(&x.view);
    sked_schedule_destroy(s);
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
