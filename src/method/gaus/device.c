/*
 * Rounds with devices. Each item of a round descends at a horizon a little below the best schedule, decodes
 * on the way and polishes what it found; threads take items in turn, and the results are compared in the
 * order of the items, so a seed gives one result whatever the number of threads.
 */
#include "method/gaus/device.h"

#include "base/thread.h"

#include <stdio.h>

static const double widest = 3; /* largest sigma in cells: a mean op is as long */

typedef struct item {
    int kind;
    double below; /* horizon as a share of the best */
    bool descend;
    sked_i_gaus_plan best;
    double gradient; /* value before the moves */
} item;

typedef struct worker {
    sked_i_gaus_grid *grid;
    sked_i_gaus_decoder *dec;
    sked_status status;
    sked_error error;
} worker;

typedef struct rounds {
    sked_i_run *run;
    sked_i_gaus_base *base;
    sked_i_gaus_tuning tuning;
    bool relaxed; /* within the memory of the relaxation */
    int threads, count, round;
    worker *workers; /* [threads] */
    item *items;     /* [count] */
    sked_i_gaus_plan best;
    double first, gradient; /* of the quick methods; best that a descent alone gave */
    double deadline;        /* of this round */
} rounds;

/* ------------------------------------------------------------------ one item */

static sked_i_limit share_of(const rounds *r, int index, double part)
{
    return sked_i_gaus_share(r->run, r->deadline, (r->count - index + r->threads - 1) / r->threads, part);
}

static sked_status run_item(rounds *r, worker *w, int index, sked_error *err)
{
    sked_status st = SKED_OK;
    item *it = &r->items[index];
    const double *set = r->run->setting;
    const bool polish = set[SKED_I_GAUS_OPTION_POLISH] != 0;
    const double begin = sked_clock();
    sked_i_gaus_tuning tuning = r->tuning;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, r->run->options->seed, (uint64_t)r->round * 1000003u + (uint64_t)index);
    sked_i_gaus_plan_copy(&it->best, &r->best, r->base->n);
    it->best.value = INFINITY;
    if (it->descend) {
        const sked_i_limit limit = share_of(r, index, polish ? 0.7 : 1);
        tuning.record = r->round == 0 && index == 0 ? r->run->recording : NULL;
        tuning.threads = sked_i_gaus_threads(r->run, r->count);
        const double goal = fmin(r->best.value, r->run->problem->horizon);
        sked_i_gaus_grid_set(w->grid, fmax(sked_i_run_bound(r->run), goal * it->below));
        if (it->kind == SKED_I_GAUS_LINES_NEAR &&
            r->round > 0) { /* stays nearer to the best than the first */
            tuning.sigma_most *= 0.25 + 0.75 * sked_i_rng_uniform(&rng);
            tuning.rate *= 0.25 + 0.75 * sked_i_rng_uniform(&rng);
        }
        SKED_TRY(sked_i_gaus_device_descend(w->grid, w->dec, &tuning, it->kind, &r->best, &rng, &limit,
                                            &it->best, err));
    }
    it->gradient = it->best.value;
    if (!(it->best.value < INFINITY))
        sked_i_gaus_plan_copy(&it->best, &r->best, r->base->n);
    if (polish) {
        sked_i_limit limit = share_of(r, index, 1);
        if (it->descend && limit.paced) /* no longer than the descent took */
            limit.deadline = fmin(limit.deadline, 2 * sked_clock() - begin);
        const double moves = set[SKED_I_GAUS_OPTION_SWEEPS] * r->base->n * (1 + r->round);
        SKED_TRY(sked_i_gaus_move_ops(w->dec, (int64_t)fmin(moves, 1e15), set[SKED_I_GAUS_OPTION_HEAT], &rng,
                                      &limit, sked_i_run_bound(r->run), &it->best, err));
    }
cleanup:
    return st;
}

static void work(void *data, int index)
{
    rounds *r = data;
    worker *w = &r->workers[index];
    for (int k = index; k < r->count && w->status == SKED_OK; k += r->threads)
        w->status = run_item(r, w, k, &w->error);
}

/* ------------------------------------------------------------------ rounds */

static sked_status open_rounds(rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_gaus_base_create(r->run->problem, &r->base, err));
    r->relaxed = sked_i_gaus_base_fits(r->base);
    SKED_TRY(sked_i_gaus_plan_create(r->base->n, &r->best, err));
    SKED_NEW0(r->workers, r->threads);
    SKED_NEW0(r->items, r->count);
    for (int k = 0; k < r->threads; k++) {
        SKED_TRY(sked_i_gaus_grid_create(r->base, &r->workers[k].grid, err));
        SKED_TRY(sked_i_gaus_decoder_create(r->base, &r->workers[k].dec, err));
    }
    for (int k = 0; k < r->count; k++)
        SKED_TRY(sked_i_gaus_plan_create(r->base->n, &r->items[k].best, err));
cleanup:
    return st;
}

static void close_rounds(rounds *r)
{
    for (int k = 0; r->workers != NULL && k < r->threads; k++) {
        sked_i_gaus_grid_destroy(r->workers[k].grid);
        sked_i_gaus_decoder_destroy(r->workers[k].dec);
    }
    for (int k = 0; r->items != NULL && k < r->count; k++)
        sked_i_gaus_plan_free(&r->items[k].best);
    free(r->workers);
    free(r->items);
    sked_i_gaus_plan_free(&r->best);
    sked_i_gaus_base_destroy(r->base);
}

static sked_status offer(rounds *r, sked_error *err)
{
    const sked_i_gaus_base *b = r->base;
    if (!(r->best.value < sked_i_run_best(r->run)) || !sked_i_within_horizon(b->p, r->best.start))
        return SKED_OK;
    const sked_schedule s = {
        .ops = b->n, .devices = b->m, .start = r->best.start, .device = b->m > 0 ? r->best.device : NULL};
    return sked_i_run_offer(r->run, &s, err);
}

/* The best of the pool, and of our own quick orders, is where the first round begins. */
static sked_status take_first(rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_run *run = r->run;
    if (sked_i_run_incumbent(run) != NULL) {
        const sked_schedule *s = sked_i_run_incumbent(run);
        sked_i_gaus_plan pool = {.start = s->start, .device = s->device, .value = sked_i_run_best(run)};
        pool.device = s->device != NULL ? s->device : r->best.device;
        sked_i_gaus_plan_copy(&r->best, &pool, r->base->n);
    }
    SKED_TRY(sked_i_gaus_decode_ranks(r->workers[0].dec, &r->best, err));
    SKED_TRY(offer(r, err));
    r->first = r->gradient = r->best.value;
cleanup:
    return st;
}

static void plan_round(rounds *r)
{
    static const double below[] = {0.95, 0.9, 0.97, 0.93, 0.98};
    static const int kinds[] = {SKED_I_GAUS_LINES_OPEN, SKED_I_GAUS_LINES_NEAR, SKED_I_GAUS_LINES_NEAR,
                                SKED_I_GAUS_LINES_OPEN, SKED_I_GAUS_LINES_NEAR, SKED_I_GAUS_LINES_MIDDLE};
    for (int k = 0; k < r->count; k++) {
        const int turn = r->round * r->count + k;
        r->items[k].kind = kinds[turn % 6];
        r->items[k].below = below[turn % 5];
        r->items[k].descend = r->relaxed && r->run->setting[SKED_I_GAUS_OPTION_STARTS] > 0;
    }
    r->deadline = r->run->limit.deadline;
}

/* true: something got better. */
static sked_status merge(rounds *r, bool *better, sked_error *err)
{
    sked_status st = SKED_OK;
    *better = false;
    for (int k = 0; k < r->threads; k++)
        if (r->workers[k].status != SKED_OK)
            return sked_i_fail(err, r->workers[k].status, "%s", r->workers[k].error.message);
    for (int k = 0; k < r->count; k++) {
        const item *it = &r->items[k];
        r->gradient = fmin(r->gradient, it->gradient);
        if (!(it->best.value < r->best.value))
            continue;
        sked_i_gaus_plan_copy(&r->best, &it->best, r->base->n);
        *better = true;
    }
    SKED_TRY(offer(r, err));
cleanup:
    return st;
}

static sked_status run_rounds(rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t most = r->run->options->iterations;
    const int patience = (int)r->run->setting[SKED_I_GAUS_OPTION_PATIENCE];
    int stale = 0;
    for (r->round = 0; stale <= patience && !sked_i_run_over(r->run); r->round++) {
        bool better;
        if (most > 0 && r->round >= most)
            break;
        plan_round(r);
        SKED_TRY(sked_i_parallel(r->threads, work, r, err));
        SKED_TRY(merge(r, &better, err));
        stale = better ? 0 : stale + 1;
        sked_i_run_progress(r->run, "gradient and moves");
    }
    sked_i_run_note(r->run, "quick orders %g, with the gradient %g, with moves %g", r->first, r->gradient,
                    r->best.value);
cleanup:
    return st;
}

sked_status sked_i_gaus_device_run(sked_i_run *run, sked_error *err)
{
    const int starts = (int)run->setting[SKED_I_GAUS_OPTION_STARTS];
    rounds r = {.run = run,
                .tuning = sked_i_gaus_tuning_of(run),
                .threads = run->options->threads,
                .count = starts > 0 ? starts : 1};
    r.tuning.sigma_most = fmin(r.tuning.sigma_most, widest);
    r.threads = r.threads < r.count ? r.threads : r.count;
    if (run->limit.paced && isfinite(run->limit.deadline))
        r.count = r.threads; /* a descent wants its steps: one after the other, as many as the time allows */
    sked_status st = open_rounds(&r, err);
    if (st == SKED_OK)
        st = take_first(&r, err);
    if (st == SKED_OK && r.best.value < INFINITY)
        st = run_rounds(&r, err);
    for (int k = 0; r.workers != NULL && k < r.threads; k++)
        sked_i_run_evaluated(run, r.workers[k].dec != NULL ? r.workers[k].dec->decodes : 0);
    close_rounds(&r);
    return st;
}
