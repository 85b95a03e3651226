/*
 * Initiation interval and horizon of problems in time steps. With an interval, iterative modulo scheduling
 * finds a first schedule.
 */
#include "method/gaus/gaus.h"

#include <assert.h>
#include <string.h>

/* What iterative modulo scheduling finds: interval, starts, length; length 0: nothing. */
typedef struct interval {
    int64_t ii, length;
    double *start; /* [n] whole */
} interval;

/* ------------------------------------------------------------------ interval and horizon */

/* Tries all orders of placing at one interval. */
static void place_at(const sked_i_loop *loop, const sked_i_frame *frame, sked_i_ims *ims, sked_i_rng *rng,
                     const sked_i_limit *limit, interval *out)
{
    const int64_t budget = 10 * (int64_t)loop->n + 64;
    for (int k = 0; k < 8 && out->length == 0; k++) {
        sked_i_ims_order(ims, frame, k % 4, k < 4 ? 0 : 0.3, rng);
        if (!sked_i_ims_run(ims, frame, budget, k < 4 ? NULL : rng, limit))
            continue;
        sked_i_ims_compact(ims, true, limit);
        out->ii = frame->ii;
        out->length = sked_i_ims_length(ims);
        for (int32_t i = 0; i < loop->n; i++)
            out->start[i] = (double)ims->start[i];
    }
}

/* The first interval from..to at which all ops can be placed, in a third of the time. */
static sked_status find_interval(sked_i_run *run, const sked_i_loop *loop, int64_t from, int64_t to,
                                 interval *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_frame *frame = NULL;
    sked_i_ims *ims = NULL;
    sked_i_rng rng;
    const double begin = sked_clock();
    sked_i_limit limit = run->limit;
    if (limit.paced && isfinite(limit.deadline))
        limit.deadline = begin + (limit.deadline - begin) / 3;
    sked_i_rng_seed(&rng, run->options->seed, 77);
    SKED_TRY(sked_i_frame_create(loop, &frame, err));
    SKED_TRY(sked_i_ims_create(loop, &ims, err));
    for (int64_t ii = from; ii <= to && out->length == 0 && !sked_i_limit_reached(&limit); ii++) {
        if (!sked_i_frame_set(loop, frame, ii, SKED_I_FAR))
            continue;
        place_at(loop, frame, ims, &rng, &limit, out);
        if (ims->table->failed)
            SKED_TRY(sked_i_no_memory(err));
    }
    sked_i_run_tally(run, "modulo scheduling", 1, sked_clock() - begin, out->length > 0, 0);
cleanup:
    sked_i_frame_destroy(frame);
    sked_i_ims_destroy(ims);
    return st;
}

/* The incumbent, where it is one of whole steps. */
static void take_incumbent(const sked_i_run *run, const sked_i_loop *loop, interval *out)
{
    const sked_schedule *s = sked_i_run_incumbent(run);
    assert(loop->pipelined && out->length == 0);
    if (s == NULL || !(s->ii >= 1) || s->ii != floor(s->ii))
        return;
    int64_t length = 0;
    for (int32_t i = 0; i < loop->n; i++) {
        const double start = s->start[i];
        if (!(start >= 0) || start != floor(start) || start > 0x1p50)
            return;
        length = (int64_t)start + loop->duration[i] > length ? (int64_t)start + loop->duration[i] : length;
    }
    memcpy(out->start, s->start, (size_t)loop->n * sizeof *out->start);
    out->ii = (int64_t)s->ii;
    out->length = length;
}

/* The largest interval worth a look: the one given, that of the incumbent, or any. */
static int64_t most_interval(const sked_i_run *run, const sked_i_loop *loop)
{
    const sked_schedule *s = sked_i_run_incumbent(run);
    if (run->problem->ii > 0)
        return (int64_t)run->problem->ii;
    return s != NULL && s->ii < (double)loop->max_ii ? (int64_t)s->ii : loop->max_ii;
}

/*
 * A schedule with its interval: one interval after the other, and where that takes too long what modulo-list
 * finds, which makes larger steps and knows one iteration after the other. A given interval it has tried
 * before, and in a portfolio it has had its turn.
 */
static sked_status find_schedule(sked_i_run *run, const sked_i_loop *loop, interval *out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t given = (int64_t)run->problem->ii;
    SKED_TRY(find_interval(run, loop, given > 0 ? given : loop->min_ii, most_interval(run, loop), out, err));
    if (out->length == 0 && given <= 0 && sked_i_run_incumbent(run) == NULL)
        SKED_TRY(sked_i_gaus_quick_start(run, "modulo-list", 0.5, err));
    if (out->length == 0)
        take_incumbent(run, loop, out);
    out->ii = out->length > 0 ? out->ii : given > 0 ? given : loop->min_ii;
cleanup:
    return st;
}

/* Latest finish where the user set none: room for one op after another, within reason. */
static int64_t loose_horizon(const sked_i_loop *loop, int64_t path)
{
    const int64_t most = (int64_t)1 << 18;
    int64_t serial = 0;
    for (int32_t i = 0; i < loop->n; i++)
        if (loop->serial[i] + loop->duration[i] > serial)
            serial = loop->serial[i] + loop->duration[i];
    serial = serial < most ? serial : most;
    return serial > path ? serial : path;
}

/* Interval and steps of the model; found: a schedule at that interval where the problem is pipelined. */
static sked_status settle(sked_i_run *run, interval *found, int64_t *steps, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_problem *p = run->problem;
    sked_i_loop *loop = NULL;
    sked_i_frame *frame = NULL;
    SKED_TRY(sked_i_loop_create(p, &loop, err));
    if (loop->pipelined)
        SKED_TRY(find_schedule(run, loop, found, err));
    if (p->horizon < 0x1p40) {
        *steps = (int64_t)floor(p->horizon);
        goto cleanup;
    }
    SKED_TRY(sked_i_frame_create(loop, &frame, err));
    sked_i_frame_set(loop, frame, loop->pipelined ? found->ii : loop->max_ii, SKED_I_FAR);
    *steps = loop->pipelined ? (found->length > frame->path ? found->length : frame->path) + found->ii
                             : loose_horizon(loop, frame->path);
cleanup:
    sked_i_frame_destroy(frame);
    sked_i_loop_destroy(loop);
    return st;
}

/* ------------------------------------------------------------------ the whole */

sked_status sked_i_gaus_run_horizon(sked_i_run *run, const sked_i_gaus_settings *set, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_relaxation *m = NULL;
    interval found = {0};
    int64_t steps;
    SKED_NEW(found.start, run->problem->graph->n_ops);
    SKED_TRY(settle(run, &found, &steps, err));
    SKED_TRY(sked_i_relaxation_create(run->problem, found.ii, steps, &m, err));
    if (m == NULL)
        SKED_TRY(sked_i_fail(err, SKED_ERR_INFEASIBLE,
                             "the windows of starts at interval %lld and %lld steps prove that nothing fits",
                             (long long)found.ii, (long long)steps));
    const sked_schedule s = {.ops = run->problem->graph->n_ops, .ii = (double)found.ii, .start = found.start};
    if (found.length > 0 && found.length <= steps)
        SKED_TRY(sked_i_run_offer(run, &s, err));
    if (!sked_i_run_over(run)) /* else the first schedule meets the bound, or the time is up */
        SKED_TRY(sked_i_gaus_run_rounds(run, set, m, err));
cleanup:
    sked_i_relaxation_destroy(m);
    free(found.start);
    return st;
}
