/*
 * modulo-list: iterative modulo scheduling from the least initiation interval upward; the first interval
 * that takes all ops within the budget wins. One iteration after the other always fits, so a loop that
 * has a schedule gets one.
 */
#include "method/modulo/modulo.h"

#define MODULO_LIST_OPTIONS(X)                                                                           \
    X(PRIORITY, "priority", ENUM, "height", 0, 0, "height|slack|start|size",                             \
      "order of placing: longest path to the end, least slack and recurrences first, earliest, largest") \
    X(BUDGET, "budget", REAL, "8", 1, 1e6, NULL, "placements per op before an interval is given up")     \
    X(TRIES, "tries", INT, "4", 1, 1e6, NULL,                                                            \
      "attempts per interval: the priority first, the others, then perturbed ones")                      \
    X(COMPACT, "compact", BOOL, "true", 0, 0, NULL, "move ops to and fro afterwards to shorten the schedule")

SKED_I_OPTIONS(MODULO_LIST_OPTIONS);

typedef struct lister {
    sked_i_run *run;
    const sked_i_loop *loop;
    sked_i_frame *frame;
    sked_i_ims *ims;
    sked_i_list_settings set;
    sked_i_rng rng;
    double growth; /* of the budget, for intervals that are tried again */
} lister;

/* All tries at one interval; true when the engine holds a schedule. */
static bool try_interval(lister *l, int64_t ii)
{
    const int64_t budget = (int64_t)fmin(1e15, ceil(l->growth * l->set.budget * (l->loop->n + 1.0)));
    if (!sked_i_frame_set(l->loop, l->frame, ii, SKED_I_FAR))
        return false;
    for (int k = 0; k < l->set.tries; k++) {
        const int kind = (l->set.priority + k) % 4;
        const double noise = k < 4 && l->growth == 1 ? 0 : 0.3;
        l->ims->aligned = k % 2 == 1;
        sked_i_ims_order(l->ims, l->frame, kind, noise, &l->rng);
        if (sked_i_ims_run(l->ims, l->frame, budget, noise > 0 ? &l->rng : NULL, &l->run->limit))
            return true;
        if (l->ims->table->failed || sked_i_limit_reached(&l->run->limit))
            return false;
    }
    return false;
}

/* Hands over what the engine holds. */
static sked_status deliver(lister *l, sked_error *err)
{
    if (l->set.compact)
        sked_i_ims_compact(l->ims, true, &l->run->limit);
    if (l->ims->table->failed)
        return sked_i_no_memory(err);
    sked_i_run_evaluated(l->run, 1);
    sked_i_frame_note(l->loop, l->frame, l->run, l->frame->path);
    return sked_i_loop_offer(l->loop, l->run, l->frame->ii, l->ims->start, l->ims->device, err);
}

static sked_status offer_serial(lister *l, sked_error *err)
{
    if (!sked_i_loop_serial_fits(l->loop))
        return SKED_OK;
    sked_i_run_evaluated(l->run, 1);
    return sked_i_loop_offer(l->loop, l->run, l->loop->p->ii > 0 ? (int64_t)l->loop->p->ii : l->loop->max_ii,
                             l->loop->serial, NULL, err);
}

/* The interval is given (or none at all): more and more effort until the time is up. */
static sked_status run_given(lister *l, int64_t ii, sked_error *err)
{
    sked_status st = offer_serial(l, err);
    for (int round = 0; st == SKED_OK && round < 12; round++) {
        if (try_interval(l, ii))
            return deliver(l, err);
        if (l->ims->table->failed)
            return sked_i_no_memory(err);
        if (sked_i_run_incumbent(l->run) != NULL || sked_i_limit_reached(&l->run->limit))
            break;
        l->growth *= 2;
    }
    return st;
}

/*
 * One iteration after the other, each as short as list scheduling makes it: no folding, so no ejections, and
 * close to the bound where resources decide and the loop is large.
 */
static sked_status offer_plain(lister *l, int64_t *ii, sked_error *err)
{
    if (!sked_i_frame_set(l->loop, l->frame, l->loop->max_ii, SKED_I_FAR))
        return SKED_OK;
    sked_i_ims_order(l->ims, l->frame, l->set.priority, 0, NULL);
    if (!sked_i_ims_run(l->ims, l->frame, 2 * (int64_t)l->loop->n + 1, NULL, &l->run->limit))
        return l->ims->table->failed ? sked_i_no_memory(err) : SKED_OK;
    const int64_t plain = sked_i_loop_plain_ii(l->loop, l->ims->start, l->ims->device);
    if (plain >= *ii)
        return SKED_OK;
    sked_i_run_evaluated(l->run, 1);
    *ii = plain;
    return sked_i_loop_offer(l->loop, l->run, plain, l->ims->start, l->ims->device, err);
}

/*
 * Upward from the bound: one by one at first, then in growing steps, then back by halves into the last
 * step, so that a far away interval takes few tries.
 */
static sked_status run_upward(lister *l, sked_error *err)
{
    enum { one_by_one = 64 };
    int64_t ii = l->loop->min_ii, failed = ii - 1, best = l->loop->max_ii;
    sked_status st = offer_serial(l, err);
    if (st == SKED_OK)
        st = offer_plain(l, &best, err);
    while (st == SKED_OK && failed + 1 < best + (sked_i_run_incumbent(l->run) == NULL)) {
        sked_i_run_progress(l->run, "modulo scheduling");
        if (try_interval(l, ii)) {
            st = deliver(l, err);
            best = ii;
        } else {
            failed = ii;
        }
        if (l->ims->table->failed)
            return sked_i_no_memory(err);
        if (sked_i_limit_reached(&l->run->limit))
            break;
        const int64_t step = 1 + (failed - l->loop->min_ii) / one_by_one;
        ii = best - failed > step ? failed + step : failed + (best - failed) / 2;
        ii = ii > failed ? ii : failed + 1;
    }
    return st;
}

sked_status sked_i_list_upward(sked_i_run *run, const sked_i_loop *loop, sked_i_frame *frame, sked_i_ims *ims,
                               const sked_i_list_settings *set, sked_error *err)
{
    lister l = {.run = run, .loop = loop, .frame = frame, .ims = ims, .set = *set, .growth = 1};
    sked_i_rng_seed(&l.rng, run->options->seed, 0);
    if (!loop->pipelined)
        return run_given(&l, loop->max_ii, err);
    return run->problem->ii > 0 ? run_given(&l, (int64_t)run->problem->ii, err) : run_upward(&l, err);
}

static sked_status run_list(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_loop *loop = NULL;
    sked_i_frame *frame = NULL;
    sked_i_ims *ims = NULL;
    const sked_i_list_settings set = {
        .priority = (int)run->setting[OPTION_PRIORITY],
        .budget = run->setting[OPTION_BUDGET],
        .tries = (int)run->setting[OPTION_TRIES],
        .compact = run->setting[OPTION_COMPACT] != 0,
    };
    SKED_TRY(sked_i_loop_create(run->problem, &loop, err));
    SKED_TRY(sked_i_frame_create(loop, &frame, err));
    SKED_TRY(sked_i_ims_create(loop, &ims, err));
    SKED_TRY(sked_i_list_upward(run, loop, frame, ims, &set, err));
cleanup:
    sked_i_ims_destroy(ims);
    sked_i_frame_destroy(frame);
    sked_i_loop_destroy(loop);
    return st;
}

const sked_i_method sked_i_method_modulo_list = {
    .info = {"modulo-list", "iterative modulo scheduling: pipelined loops, the least interval that fits",
             SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_LOOPS | SKED_CAN_HORIZON |
                 SKED_CAN_FIX | SKED_CAN_MAKESPAN | SKED_CAN_RESOURCE | SKED_CAN_MEMORY | SKED_CAN_COST |
                 SKED_CAN_II,
             options, n_options},
    .run = run_list,
};
