/*
 * Clause learning on a model of engine/branch, on one or several threads.
 *
 * Each thread has a solver of its own. They work in rounds of a fixed amount of propagation, counted and not
 * timed. Between rounds, in the order of their numbers, they hand each other schedules, bounds and learned
 * clauses of few levels: the result depends on seed and number of threads only.
 */
#include "base/restart.h"
#include "engine/branch/branch.h"
#include "method/exact/exact.h"
#include "method/hands.h"

#include <assert.h>
#include <math.h>

enum { first_conflicts = 128 };
static const int64_t first_round = 1 << 19, last_round = 1 << 22;

typedef struct prover {
    sked_i_hand hand;
    sked_i_branch b;
    int64_t restarts, allowed; /* allowed: conflicts, 0: any number */
    bool empty, done, spent;   /* nothing better exists; no conflicts left */
} prover;

/* Offers the solution at hand and excludes it and all that are no better. */
static sked_status take_solution(prover *w, sked_error *err)
{
    sked_i_run *run = w->hand.run;
    bool better;
    sked_status st = sked_i_branch_read(&w->b, sked_i_run_best(run), &better, err);
    if (st == SKED_OK && better) {
        sked_i_run_evaluated(run, 1);
        st = sked_i_run_offer(run, w->b.schedule, err);
    }
    w->done = !sked_i_branch_exclude(&w->b, sked_i_run_best(run)) && !w->b.solver->failed;
    return st;
}

static sked_status conclude(sked_i_run *run, sked_error *err)
{
    const sked_problem *p = run->problem;
    if (sked_i_run_incumbent(run) != NULL) {
        sked_i_run_prove(run);
        return SKED_OK;
    }
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       isfinite(p->horizon) ? "proved by exhaustive search: no schedule keeps the horizon %g"
                       : p->machine != NULL || p->devices > 0 || sked_i_has_memory_limit(p)
                           ? "proved by exhaustive search: no schedule keeps all fixed decisions and limits"
                           : "proved by exhaustive search: no schedule keeps all fixed starts",
                       p->horizon);
}

/* Every second restart asks for a schedule as short as the bound: a no raises the bound. */
static bool goes_upward(const prover *w)
{
    return w->hand.hands->apart ? w->hand.index % 2 == 1 : w->restarts % 2 == 1;
}

/* One restart. */
static sked_status step(prover *w, sked_error *err)
{
    sked_i_branch *b = &w->b;
    sked_i_clause_solver *solver = b->solver;
    const sked_i_lit at_bound = {2 * b->end + 1, -sked_i_branch_question(b)};
    int64_t conflicts = first_conflicts * sked_i_luby(w->restarts / 2);
    if (w->allowed > 0 && w->allowed - solver->stats.conflicts < conflicts)
        conflicts = w->allowed - solver->stats.conflicts;
    w->spent = conflicts <= 0;
    if (w->spent)
        return SKED_OK;
    assert(!w->done && solver->level == 0);
    const sked_i_clause_budget budget = {.assume = &at_bound,
                                         .n_assume = goes_upward(w),
                                         .by_time = w->restarts == 0 && w->hand.index == 0 && !b->warm,
                                         .conflicts = conflicts,
                                         .limit = &w->hand.run->limit};
    const sked_i_verdict answer = sked_i_clause_solve(solver, &budget);
    w->restarts++;
    if (solver->failed)
        return sked_i_no_memory(err);
    w->done = answer == SKED_I_REFUTED;
    if (answer == SKED_I_FOUND) {
        const sked_status st = take_solution(w, err);
        if (st != SKED_OK)
            return st;
    }
    if (!w->done)
        sked_i_run_raise_bound(w->hand.run, solver->root[2 * b->end] / b->scale);
    return solver->failed ? sked_i_no_memory(err) : SKED_OK;
}

/* One thread's share of a round. */
static sked_status work(sked_i_hand *hand, sked_error *err)
{
    prover *w = (prover *)hand;
    if (!hand->hands->apart)
        return step(w, err);
    sked_status st = SKED_OK;
    while (st == SKED_OK && !w->done && !w->spent && w->b.solver->work < w->b.solver->work_end &&
           !sked_i_run_over(hand->run))
        st = step(w, err);
    return st;
}

static prover *prover_of(const sked_i_hands *h, int k)
{
    return (prover *)h->hand[k];
}

/* Hands what everyone has learned to everyone. *done: that leaves nothing to find. */
static sked_status exchange(const sked_i_hands *h, bool *done, sked_error *err)
{
    for (int k = 0; k < h->count; k++)
        for (int j = 0; j < h->count && !*done; j++) {
            sked_i_clause_solver *mine = prover_of(h, k)->b.solver;
            if (j == k)
                continue;
            *done = !sked_i_clause_import(mine, prover_of(h, j)->b.solver);
            if (mine->failed)
                return sked_i_no_memory(err);
        }
    for (int k = 0; k < h->count; k++)
        prover_of(h, k)->b.solver->outbox_count = 0;
    return SKED_OK;
}

static sked_status search(sked_i_hands *h, sked_error *err)
{
    sked_status st = SKED_OK;
    bool done = false, spent = false;
    for (int64_t round = first_round; !done && !spent && !sked_i_run_over(h->run);) {
        for (int k = 0; k < h->count; k++) {
            sked_i_clause_solver *solver = prover_of(h, k)->b.solver;
            solver->work_end = h->apart ? solver->work + round : INT64_MAX;
        }
        SKED_TRY(sked_i_hands_work(h, h->count, work, err));
        spent = true;
        for (int k = 0; k < h->count; k++) {
            done = done || prover_of(h, k)->done;
            spent = spent && prover_of(h, k)->spent;
        }
        if (!done)
            SKED_TRY(exchange(h, &done, err));
        round = round < last_round ? round + round / 4 : round;
        sked_i_run_progress(h->run, "branch and learn");
    }
    if (done)
        st = conclude(h->run, err);
cleanup:
    return st;
}

static sked_status open_prover(sked_i_hand *hand, sked_error *err)
{
    prover *w = (prover *)hand;
    const int64_t iterations = hand->run->options->iterations;
    const int threads = hand->hands->run->options->threads;
    sked_i_rng rng;
    uint64_t seed = hand->run->options->seed;
    w->allowed = iterations / threads + (hand->index < iterations % threads);
    w->spent = iterations > 0 && w->allowed == 0;
    sked_i_rng_seed(&rng, seed, (uint64_t)hand->index);
    if (hand->index > 0)
        seed = sked_i_rng_next(&rng);
    const sked_i_branch_known known = {sked_i_run_best(hand->run), sked_i_run_bound(hand->run),
                                       sked_i_run_incumbent(hand->run)};
    const sked_status st =
        sked_i_branch_open(hand->run->problem, hand->run->costs, &known, seed, &w->b, &w->empty, err);
    if (st == SKED_OK) {
        w->b.solver->shares = hand->hands->apart;
        if (hand->index > 0)
            sked_i_clause_perturb(w->b.solver);
    }
    return st;
}

static void close_prover(sked_i_hand *hand)
{
    sked_i_branch_close(&((prover *)hand)->b);
}

/* Restarts as calls, conflicts as evaluations. */
static void tally(const sked_i_hands *h, double begin, double before)
{
    const double after = sked_i_run_best(h->run), gain = isfinite(before) ? before - after : 0;
    int64_t restarts = 0, conflicts = 0;
    for (int k = 0; k < h->count; k++) {
        restarts += prover_of(h, k)->b.solver->stats.restarts;
        conflicts += prover_of(h, k)->b.solver->stats.conflicts;
    }
    sked_i_run_tally(h->run, "clause learning", restarts, sked_clock() - begin, conflicts, gain);
}

sked_status sked_i_exact_branch(sked_i_run *run, sked_error *err)
{
    const int threads = run->options->threads;
    const double begin = sked_clock(), before = sked_i_run_best(run);
    sked_status st = SKED_OK;
    sked_i_hands hands = {
        .run = run, .apart = threads > 1, .size = sizeof(prover), .open = open_prover, .close = close_prover};
    SKED_TRY(sked_i_hands_fill(&hands, 1, err));
    const bool empty = prover_of(&hands, 0)->empty;
    if (!empty)
        SKED_TRY(sked_i_hands_fill(&hands, threads, err));
    st = empty ? conclude(run, err) : search(&hands, err);
    tally(&hands, begin, before);
cleanup:
    sked_i_hands_close(&hands);
    return st;
}
