/*
 * The default: a portfolio. Quick methods first, then the improving ones share what is left of the time.
 * All members offer into one pool, so the answer is never worse than any single member's.
 *
 * Members share out the threads among themselves and take turns. With several threads, `exact` gets one of
 * them from the start, beside the member before it: a proof ends the run early.
 */
#include "base/thread.h"
#include "method/method.h"

#include <stdatomic.h>
#include <string.h>

typedef struct member {
    const char *method;
    const char *setting; /* NULL: presets */
    double share;        /* of the round's time; 0: quick, runs once, in the first round */
} member;

static const member for_makespan[] = {
    {"list", NULL, 0},   {"list", "scheme=serial", 0}, {"list", "direction=backward", 0},
    {"heft", NULL, 0},   {"search", NULL, 0.7},        {"exact", "max-ops=200", 1},
    {"search", NULL, 1},
};
/* Transfers between devices, many ops: the relaxation moves all ops at once, search goes on from there. */
static const member for_transfers[] = {
    {"list", NULL, 0}, {"list", "scheme=serial", 0}, {"list", "direction=backward", 0},
    {"heft", NULL, 0}, {"gaus", NULL, 0.5},          {"search", NULL, 1},
};
static const member for_shape[] = {
    {"list", NULL, 0}, {"fds", NULL, 0.2}, {"gaus", NULL, 0.7}, {"exact", NULL, 1}};
static const member for_loops[] = {
    {"modulo-list", NULL, 0}, {"modulo-search", NULL, 0.7}, {"exact", NULL, 1}};
/* Pipelined at a given interval for another objective than the interval and the length. */
static const member for_shaped_loops[] = {{"modulo-list", NULL, 0}, {"gaus", NULL, 0.8}, {"exact", NULL, 1}};

typedef struct plan {
    const member *members;
    int count;
} plan;

#define PLAN(list) ((plan){list, (int)(sizeof(list) / sizeof *(list))})

/* From here on gaus gains more than it takes from search (docs/methods/auto.md). */
static const int32_t relaxed_from = 2000;

static plan choose(const sked_problem *p)
{
    if (p->ii > 0 && p->objective != SKED_OBJECTIVE_II && p->objective != SKED_OBJECTIVE_MAKESPAN)
        return PLAN(for_shaped_loops);
    if (p->ii != 0 || p->objective == SKED_OBJECTIVE_II)
        return PLAN(for_loops);
    if (p->objective == SKED_OBJECTIVE_MAKESPAN && sked_i_has_transfers(p) && p->graph->n_ops >= relaxed_from)
        return PLAN(for_transfers);
    return p->objective == SKED_OBJECTIVE_MAKESPAN ? PLAN(for_makespan) : PLAN(for_shape);
}

/* A member that does not take the problem, or found nothing, leaves the others their turn. */
static bool may_go_on(sked_status st)
{
    return st == SKED_OK || st == SKED_ERR_UNSUPPORTED || st == SKED_ERR_INFEASIBLE || st == SKED_ERR_STOPPED;
}

/* The member with the best schedule so far as its start, for those that do not look into the pool. */
static sked_status run_from_best(sked_i_run *run, const member *m, const char *const *settings, double budget,
                                 sked_error *why)
{
    const sked_run_options *outer = run->options;
    sked_run_options inner = *outer;
    sked_schedule *start = NULL;
    sked_status st = SKED_OK;
    if (m->share > 0 && run->n_kept > 0 && sked_i_has_transfers(run->problem))
        st = sked_schedule_clone(run->kept[0], &start, why);
    inner.start = start != NULL ? start : outer->start;
    run->options = &inner;
    if (st == SKED_OK)
        st = sked_i_run_member(run, m->method, settings, m->setting != NULL, budget, why);
    run->options = outer;
    sked_schedule_destroy(start);
    return st;
}

/* A quick member gets a moment even when the time is up: some schedule is better than none. */
static bool owes_schedule(const sked_i_run *run, const member *m)
{
    return m->share == 0 && run->n_kept == 0 && !sked_i_limit_stopped(&run->limit);
}

static sked_status run_in_turn(sked_i_run *run, const member *m, double budget, sked_error *why)
{
    enum { moment_ms = 40 };
    const char *settings[] = {m->setting};
    const double deadline = run->limit.deadline;
    if (owes_schedule(run, m)) {
        budget = fmax(budget, 1e-3 * moment_ms);
        run->limit.deadline = fmax(deadline, sked_clock() + 1e-3 * moment_ms);
    }
    const sked_status st = run_from_best(run, m, settings, budget, why);
    run->limit.deadline = deadline;
    return st;
}

/* ------------------------------------------------------------------ two members at a time */

typedef struct side {
    sked_i_share share;
    const member *m;
    double seconds;
    sked_status status;
    sked_error why;
} side;

typedef struct pair {
    side of[2];
    const sked_i_limit *limit;  /* the caller's */
    volatile sig_atomic_t halt; /* what both sides look at */
    bool hasty;                 /* one may end the other */
    atomic_int done;
} pair;

/* Nothing is left for the other side to do, or it had better go on with all threads. */
static bool ends_both(const side *s)
{
    const sked_i_run *run = &s->share.run;
    if (s->status == SKED_ERR_INFEASIBLE || s->status == SKED_ERR_UNSUPPORTED)
        return strcmp(s->m->method, "exact") == 0;
    return run->exhausted || (sked_i_run_over(run) && !sked_i_limit_reached(&run->limit));
}

static void run_side(void *data, int index)
{
    pair *p = data;
    if (index == 2) { /* passes a stop on */
        for (; atomic_load(&p->done) < 2; sked_i_pause(0.005))
            if (sked_i_limit_stopped(p->limit))
                sked_i_ask_stop(&p->halt);
        return;
    }
    side *s = &p->of[index];
    const char *settings[] = {s->m->setting};
    s->status =
        sked_i_run_member(&s->share.run, s->m->method, settings, s->m->setting != NULL, s->seconds, &s->why);
    if (p->hasty && ends_both(s))
        sked_i_ask_stop(&p->halt);
    atomic_fetch_add(&p->done, 1);
}

/*
 * `first` on all threads but one, `exact` on that; what they find is taken in this order. *refuted: exact has
 * proved that there is no schedule.
 */
static sked_status run_beside(sked_i_run *run, const member *first, const member *exact, double seconds,
                              bool *refuted, sked_error *refusal, sked_error *err)
{
    sked_status st = SKED_OK;
    pair p = {.limit = &run->limit, .hasty = run->options->iterations == 0};
    for (int k = 0; k < 2; k++) {
        side *s = &p.of[k];
        s->m = k == 0 ? first : exact;
        s->seconds = seconds;
        SKED_TRY(sked_i_share_open(run, &s->share, err));
        s->share.run.limit.stop = &p.halt;
        s->share.options.threads = k == 0 ? run->options->threads - 1 : 1;
    }
    SKED_TRY(sked_i_parallel(3, run_side, &p, err));
    for (int k = 0; k < 2; k++) {
        side *s = &p.of[k];
        if (!may_go_on(s->status)) {
            st = sked_i_fail(err, s->status, "%s", s->why.message);
            goto cleanup;
        }
        SKED_TRY(sked_i_share_join(&s->share, run, err));
        if (s->status == SKED_ERR_INFEASIBLE && (k == 1 || refusal->status == SKED_OK))
            *refusal = s->why;
        *refuted = s->status == SKED_ERR_INFEASIBLE && k == 1;
    }
cleanup:
    for (int k = 0; k < 2; k++)
        sked_i_share_close(&p.of[k].share);
    return st;
}

/* ------------------------------------------------------------------ rounds */

/* Is this the member that exact shall start beside? */
static bool starts_beside(const sked_i_run *run, plan todo, int i)
{
    return run->options->threads > 1 && i + 1 < todo.count && todo.members[i].share > 0 &&
           strcmp(todo.members[i + 1].method, "exact") == 0;
}

static sked_status run_round(sked_i_run *run, plan todo, int round, double seconds, bool *any,
                             sked_error *refusal, sked_error *err)
{
    const double end = sked_clock() + seconds;
    *any = false;
    for (int i = 0; i < todo.count && !run->exhausted; i++) {
        const member *m = &todo.members[i];
        sked_error why = {0};
        if (m->share == 0 && round > 0)
            continue;
        if (sked_i_run_over(run) && !owes_schedule(run, m))
            break;
        double left = end - sked_clock();
        if (!(left > 0) && !owes_schedule(run, m))
            break;
        if (round == 0 && starts_beside(run, todo, i)) {
            bool refuted = false;
            const sked_status both = run_beside(run, m, m + 1, 0.5 * left, &refuted, refusal, err);
            if (both != SKED_OK || refuted || run->exhausted || sked_i_run_over(run))
                return both;
            *any = true;
            left = end - sked_clock();
        }
        const double budget = m->share > 0 ? left * m->share : left;
        const sked_status st = run_in_turn(run, m, budget, &why);
        if (!may_go_on(st))
            return sked_i_fail(err, st, "%s", why.message);
        *any = *any || (st == SKED_OK && m->share > 0);
        if (st == SKED_ERR_INFEASIBLE && (refusal->status == SKED_OK || strcmp(m->method, "exact") == 0))
            *refusal = why;
    }
    return SKED_OK;
}

static sked_status run_auto(sked_i_run *run, sked_error *err)
{
    const plan todo = choose(run->problem);
    const bool endless = isinf(run->limit.deadline);
    sked_error refusal = {0};
    sked_status st = SKED_OK;
    bool any = true;
    if (run->options->start != NULL)
        st = sked_i_run_offer(run, run->options->start, err);
    for (int round = 0; st == SKED_OK && any && !run->exhausted; round++) {
        if (round > 0 && sked_i_run_over(run))
            break;
        const double seconds = !endless                       ? run->limit.deadline - sked_clock()
                               : run->options->iterations > 0 ? INFINITY
                                                              : 10 * pow(2, round);
        st = run_round(run, todo, round, seconds, &any, &refusal, err);
        if (run->options->iterations > 0 || (refusal.status != SKED_OK && run->n_kept == 0))
            break; /* every member has had its iterations */
    }
    if (st == SKED_OK && run->n_kept == 0 && refusal.status != SKED_OK)
        st = sked_i_fail(err, refusal.status, "%s", refusal.message);
    return st;
}

const sked_i_method sked_i_method_auto = {
    .info = {.name = "auto",
             .summary = "portfolio of all fitting methods under the time limit; never worse than any of them",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_LOOPS |
                         SKED_CAN_HORIZON | SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_CANDIDATES |
                         SKED_CAN_ANYTIME | SKED_CAN_EXACT | SKED_CAN_MAKESPAN | SKED_CAN_RESOURCE |
                         SKED_CAN_MEMORY | SKED_CAN_COST | SKED_CAN_II},
    .run = run_auto};
