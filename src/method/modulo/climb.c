/* From the least initiation interval upward: iterative modulo scheduling until an interval takes all ops. */
#include "method/modulo/modulo_method.h"

#include "base/logging.h"

typedef struct climber {
    sked_i_run *run;
    const sked_i_loop *loop;
    sked_i_frame *frame;
    sked_i_ims *ims;
    sked_i_climb_settings set;
    sked_i_rng rng;
    double growth; /* of the budget, for intervals that are tried again */
} climber;

/* All tries at one interval; true when the engine holds a schedule. */
static bool try_interval(climber *c, int64_t ii)
{
    const int64_t budget = (int64_t)fmin(1e15, ceil(c->growth * c->set.budget * (c->loop->n + 1.0)));
    if (!sked_i_frame_set(c->loop, c->frame, ii, SKED_I_FAR))
        return false;
    SKED_LOG(2, "modulo", "interval %lld, %lld placements", (long long)ii, (long long)budget);
    for (int k = 0; k < c->set.tries; k++) {
        const int kind = (c->set.priority + k) % 4;
        const double noise = k < 4 && c->growth == 1 ? 0 : 0.3;
        c->ims->aligned = k % 2 == 1;
        sked_i_ims_order(c->ims, c->frame, kind, noise, &c->rng);
        if (sked_i_ims_run(c->ims, c->frame, budget, noise > 0 ? &c->rng : NULL, &c->run->limit))
            return true;
        if (c->ims->table->failed || sked_i_limit_reached(&c->run->limit))
            return false;
    }
    return false;
}

/* Hands over what the engine holds. */
static sked_status deliver(climber *c, sked_error *err)
{
    if (c->set.compact)
        sked_i_ims_compact(c->ims, true, &c->run->limit);
    if (c->ims->table->failed)
        return sked_i_no_memory(err);
    sked_i_run_evaluated(c->run, 1);
    sked_i_modulo_note_frame(c->loop, c->frame, c->run, c->frame->path);
    return sked_i_modulo_offer(c->loop, c->run, c->frame->ii, c->ims->start, c->ims->device, err);
}

static sked_status offer_serial(climber *c, sked_error *err)
{
    if (!sked_i_loop_serial_fits(c->loop))
        return SKED_OK;
    sked_i_run_evaluated(c->run, 1);
    return sked_i_modulo_offer(c->loop, c->run,
                               c->loop->p->ii > 0 ? (int64_t)c->loop->p->ii : c->loop->max_ii,
                               c->loop->serial, NULL, err);
}

/* The interval is given (or none at all): more and more effort until the time is up. */
static sked_status run_given(climber *c, int64_t ii, sked_error *err)
{
    sked_status st = offer_serial(c, err);
    for (int round = 0; st == SKED_OK && round < 12; round++) {
        if (try_interval(c, ii))
            return deliver(c, err);
        if (c->ims->table->failed)
            return sked_i_no_memory(err);
        if (sked_i_run_incumbent(c->run) != NULL || sked_i_limit_reached(&c->run->limit))
            break;
        c->growth *= 2;
    }
    return st;
}

/*
 * One iteration after the other, each as short as list scheduling makes it: no folding, so no ejections, and
 * close to the bound where resources decide and the loop is large.
 */
static sked_status offer_plain(climber *c, int64_t *ii, sked_error *err)
{
    if (!sked_i_frame_set(c->loop, c->frame, c->loop->max_ii, SKED_I_FAR))
        return SKED_OK;
    sked_i_ims_order(c->ims, c->frame, c->set.priority, 0, NULL);
    if (!sked_i_ims_run(c->ims, c->frame, 2 * (int64_t)c->loop->n + 1, NULL, &c->run->limit))
        return c->ims->table->failed ? sked_i_no_memory(err) : SKED_OK;
    const int64_t plain = sked_i_loop_plain_ii(c->loop, c->ims->start, c->ims->device);
    if (plain >= *ii)
        return SKED_OK;
    sked_i_run_evaluated(c->run, 1);
    *ii = plain;
    return sked_i_modulo_offer(c->loop, c->run, plain, c->ims->start, c->ims->device, err);
}

/*
 * Upward from the bound: one by one at first, then in growing steps, then back by halves into the last
 * step, so that a far away interval takes few tries.
 */
static sked_status run_upward(climber *c, sked_error *err)
{
    enum { one_by_one = 64 };
    int64_t ii = c->loop->min_ii, failed = ii - 1, best = c->loop->max_ii;
    sked_status st = offer_serial(c, err);
    if (st == SKED_OK)
        st = offer_plain(c, &best, err);
    while (st == SKED_OK && failed + 1 < best + (sked_i_run_incumbent(c->run) == NULL)) {
        sked_i_run_progress(c->run, "modulo scheduling");
        if (try_interval(c, ii)) {
            st = deliver(c, err);
            best = ii;
        } else {
            failed = ii;
        }
        if (c->ims->table->failed)
            return sked_i_no_memory(err);
        if (sked_i_limit_reached(&c->run->limit))
            break;
        const int64_t step = 1 + (failed - c->loop->min_ii) / one_by_one;
        ii = best - failed > step ? failed + step : failed + (best - failed) / 2;
        ii = ii > failed ? ii : failed + 1;
    }
    return st;
}

sked_status sked_i_modulo_climb(sked_i_run *run, const sked_i_loop *loop, sked_i_frame *frame,
                                sked_i_ims *ims, const sked_i_climb_settings *set, sked_error *err)
{
    climber c = {.run = run, .loop = loop, .frame = frame, .ims = ims, .set = *set, .growth = 1};
    sked_i_rng_seed(&c.rng, run->options->seed, 0);
    if (!loop->pipelined)
        return run_given(&c, loop->max_ii, err);
    return run->problem->ii > 0 ? run_given(&c, (int64_t)run->problem->ii, err) : run_upward(&c, err);
}
