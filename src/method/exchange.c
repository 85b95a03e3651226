/* Incumbents, bounds and proofs between ranks. */
#include "method/exchange.h"

#include "base/logging.h"
#include "dist/dist.h"
#include "method/driver.h"

#include <stdio.h>
#include <string.h>

struct sked_i_exchange {
    bool waits;              /* results must repeat */
    bool *gone;              /* [ranks] */
    sked_i_result_rank told; /* of the best schedule that the others know */
    double told_bound;
    double next; /* clock: not again before */
};

/* The head of a message; a schedule, where it brings one, follows: starts, then devices. */
typedef struct news {
    bool leaves, brings;
    double bound, second_bound, least_ii, ii;
    sked_i_result_rank rank;
    char maker[48];
} news;

sked_i_exchange *sked_i_exchange_open(const sked_run_options *opt)
{
    const int ranks = sked_dist_size();
    if (!opt->together || ranks == 1)
        return NULL;
    sked_i_exchange *x = sked_i_alloc_zero(1, sizeof *x);
    bool *gone = sked_i_alloc_zero(ranks, sizeof *gone);
    if (x == NULL || gone == NULL)
        sked_i_dist_abort(SKED_ERR_MEMORY);
    *x = (sked_i_exchange){.waits = opt->iterations > 0,
                           .gone = gone,
                           .told = SKED_I_RESULT_RANK_WORST,
                           .told_bound = -INFINITY};
    gone[sked_dist_rank()] = true;
    return x;
}

/* ------------------------------------------------------------------ writing */

/* To those that still run; farewell: to those that have left, too, for they wait for it. */
static sked_status write_all(const sked_i_exchange *x, bool farewell, const void *message, int64_t size,
                             sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; k < sked_dist_size() && st == SKED_OK; k++)
        if (k != sked_dist_rank() && (farewell || !x->gone[k]))
            st = sked_i_dist_send(k, SKED_I_MAIL_NEWS, message, size, err);
    return st;
}

static int64_t message_size(const sked_problem *p, bool brings)
{
    const int64_t row = (int64_t)sizeof(double) + (p->devices > 0 ? (int64_t)sizeof(int32_t) : 0);
    return (int64_t)sizeof(news) + (brings ? p->graph->n_ops * row : 0);
}

/* A proof is a bound that the incumbent meets. */
static news describe(const sked_i_run *run)
{
    const sked_i_driver *d = run->driver;
    const bool by_length = run->problem->objective == SKED_OBJECTIVE_II;
    news n = {.bound = d->proved && !by_length ? fmax(d->bound, sked_i_run_best(run)) : d->bound,
              .second_bound = d->second_bound,
              .least_ii = d->least_ii,
              .rank = sked_i_incumbents_best(&d->incumbents)};
    n.brings = sked_i_result_rank_precedes(n.rank, d->exchange->told);
    if (n.brings) {
        n.ii = d->incumbents.entry[0].schedule->ii;
        snprintf(n.maker, sizeof n.maker, "%s", d->incumbents.entry[0].maker);
    }
    return n;
}

static sked_status tell(sked_i_run *run, sked_error *err)
{
    sked_i_exchange *x = run->driver->exchange;
    const news n = describe(run);
    if (!x->waits && !n.brings && !(n.bound > x->told_bound))
        return SKED_OK;
    const int64_t size = message_size(run->problem, n.brings);
    char *message = sked_i_alloc(size, 1);
    if (message == NULL)
        return sked_i_no_memory(err);
    memcpy(message, &n, sizeof n);
    if (n.brings) {
        const sked_schedule *s = run->driver->incumbents.entry[0].schedule;
        const size_t starts = (size_t)s->ops * sizeof *s->start;
        memcpy(message + sizeof n, s->start, starts);
        if (s->device != NULL)
            memcpy(message + sizeof n + starts, s->device, (size_t)s->ops * sizeof *s->device);
        x->told = n.rank;
    }
    x->told_bound = n.bound;
    const sked_status st = write_all(x, false, message, size, err);
    free(message);
    return st;
}

/* ------------------------------------------------------------------ reading */

/* Takes over a schedule that is better than the run's own. */
static sked_status take_schedule(sked_i_run *run, const news *n, const char *rows, sked_error *err)
{
    sked_i_driver *d = run->driver;
    const sked_i_method *maker = sked_i_method_find(n->maker);
    sked_schedule *s = NULL;
    if (sked_i_result_rank_precedes(n->rank, d->exchange->told))
        d->exchange->told = n->rank;
    if (!sked_i_result_rank_precedes(n->rank, sked_i_incumbents_best(&d->incumbents)))
        return SKED_OK;
    if (maker == NULL)
        return sked_i_fail(err, SKED_ERR_BUG, "another rank sent a schedule of no method");
    sked_status st = sked_schedule_create(run->problem->graph->n_ops, run->problem->devices, &s, err);
    if (st != SKED_OK)
        return st;
    const size_t starts = (size_t)s->ops * sizeof *s->start;
    s->ii = n->ii;
    memcpy(s->start, rows, starts);
    if (s->device != NULL)
        memcpy(s->device, rows + starts, (size_t)s->ops * sizeof *s->device);
    st = sked_i_driver_pass_on(run, s, maker->info.name, err);
    sked_schedule_destroy(s);
    return st;
}

static sked_status take(sked_i_run *run, int from, const char *message, int64_t size, sked_error *err)
{
    sked_i_exchange *x = run->driver->exchange;
    news n;
    if (size < (int64_t)sizeof n)
        return sked_i_fail(err, SKED_ERR_BUG, "rank %d sent news of %lld bytes", from, (long long)size);
    memcpy(&n, message, sizeof n);
    x->gone[from] = n.leaves;
    if (n.leaves)
        return SKED_OK;
    if (size != message_size(run->problem, n.brings) || memchr(n.maker, 0, sizeof n.maker) == NULL)
        return sked_i_fail(err, SKED_ERR_BUG, "rank %d sent news of %lld bytes", from, (long long)size);
    SKED_LOG(2, "exchange", "rank %d says %g%s, bound %g", from, n.rank.by[1], n.brings ? ", with it" : "",
             n.bound);
    const sked_i_driver proofs = {.bound = n.bound, .second_bound = n.second_bound, .least_ii = n.least_ii};
    sked_i_driver_take_bounds(run->driver, &proofs);
    sked_i_driver_note(run);
    return n.brings ? take_schedule(run, &n, message + sizeof n, err) : SKED_OK;
}

/* One message of each rank that is there, or all that have come. Lowest rank first. */
static sked_status hear(sked_i_run *run, sked_error *err)
{
    const sked_i_exchange *x = run->driver->exchange;
    sked_status st = SKED_OK;
    for (int k = 0; k < sked_dist_size(); k++) {
        bool more = !x->gone[k];
        while (more && st == SKED_OK) {
            void *message = NULL;
            int64_t size = 0;
            st = sked_i_dist_receive(k, SKED_I_MAIL_NEWS, x->waits, &message, &size, err);
            if (st == SKED_OK && message != NULL)
                st = take(run, k, message, size, err);
            more = message != NULL && !x->waits && !x->gone[k];
            free(message);
        }
    }
    return st;
}

static sked_status exchange(sked_i_run *run, sked_error *err)
{
    const sked_status st = tell(run, err);
    return st == SKED_OK ? hear(run, err) : st;
}

/*
 * Until the next exchange that does not wait: half of the time before the first, then about a tenth. Ranks
 * that know each other's incumbents too early all search in the same place: docs/performance.md.
 */
static double rest_of(const sked_i_run *run, bool first)
{
    const double time = run->limit.deadline - run->limit.begin;
    const double gone = sked_clock() - run->limit.begin;
    return fmax(0.01, isfinite(time) ? time * (first ? 0.5 : 0.08) : first ? 1 : 0.15 * gone);
}

sked_status sked_i_run_exchange(sked_i_run *run, sked_error *err)
{
    sked_i_exchange *x = run->driver->exchange;
    if (x == NULL)
        return SKED_OK;
    if (x->next == 0)
        x->next = run->limit.begin + rest_of(run, true);
    if (!x->waits && sked_clock() < x->next)
        return SKED_OK;
    const sked_status st = exchange(run, err);
    x->next = sked_clock() + rest_of(run, false);
    return st;
}

/* Whatever still comes is too late: sked_dist_best compares the results. */
void sked_i_exchange_close(sked_i_exchange *x)
{
    if (x == NULL)
        return;
    const news last = {.leaves = true};
    if (write_all(x, true, &last, sizeof last, NULL) != SKED_OK)
        sked_i_dist_abort(SKED_ERR_MEMORY);
    for (int k = 0; k < sked_dist_size(); k++)
        while (!x->gone[k]) {
            void *message = NULL;
            int64_t size = 0;
            if (sked_i_dist_receive(k, SKED_I_MAIL_NEWS, true, &message, &size, NULL) != SKED_OK)
                sked_i_dist_abort(SKED_ERR_MEMORY);
            x->gone[k] = ((const news *)message)->leaves;
            free(message);
        }
    free(x->gone);
    free(x);
}

/* ------------------------------------------------------------------ turns */

enum { turns_of_iterations = 8 };

/*
 * The end of turn k: an even share of the iterations, or a tenth of the time. The first turn has a quarter of
 * it: ranks that begin alike must first have found different things. Without a time limit turns grow.
 */
static void limit_turn(const sked_i_run *run, double begin, int k, sked_run_options *options,
                       sked_i_run *part)
{
    const int64_t all = run->options->iterations;
    const double now = sked_clock();
    options->iterations = all / turns_of_iterations + (k < all % turns_of_iterations);
    const double time = run->limit.deadline - begin;
    const double turn = isfinite(time) ? time * (k == 0 ? 0.25 : 0.1) : 1 + 0.2 * (now - begin);
    if (all == 0)
        part->limit.deadline = fmin(run->limit.deadline, now + fmax(turn, 0.02));
}

/* Was the turn ended by its own limit, or by an incumbent that is still missing? Then another one helps. */
static bool may_go_on(sked_status st, const sked_i_run *run, int k)
{
    const bool unfinished = st == SKED_OK || st == SKED_ERR_STOPPED || st == SKED_ERR_INFEASIBLE;
    return unfinished && !sked_i_run_over(run) && !sked_i_run_proved(run) &&
           (run->options->iterations == 0 || k + 1 < turns_of_iterations);
}

sked_status sked_i_run_in_turns(sked_i_run *run, sked_status (*turn)(sked_i_run *run, sked_error *err),
                                sked_error *err)
{
    const double begin = sked_clock();
    const bool timed = run->options->iterations == 0;
    sked_status st = SKED_OK;
    sked_error why = {0};
    if (run->driver->exchange == NULL)
        return turn(run, err);
    for (int k = 0;; k++) {
        sked_run_options options = *run->options;
        sked_i_run part = *run;
        part.options = &options;
        part.goes_on = run->goes_on || k > 0;
        limit_turn(run, begin, k, &options, &part);
        const double turned = sked_clock(), before = sked_i_run_best(run);
        if (timed || options.iterations > 0) /* fewer iterations than turns: some have none */
            st = turn(&part, &why);
        SKED_TRY(exchange(run, err));
        const bool idle = timed && before == sked_i_run_best(run) &&
                          sked_clock() - turned < 0.3 * (part.limit.deadline - turned);
        if (idle || !may_go_on(st, run, k))
            return st == SKED_OK || sked_i_run_incumbent(run) != NULL
                       ? SKED_OK
                       : sked_i_fail(err, st, "%s", why.message);
    }
cleanup:
    return st;
}
