/*
 * A method: one file (or folder) here, one line in table.h, one page in docs/methods. The driver checks the
 * problem against the method's features, parses its options, validates and ranks what the method offers. A
 * method only builds schedules.
 */
#ifndef SKED_METHOD_METHOD_H
#define SKED_METHOD_METHOD_H
#include "base/arena.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/rng.h"
#include "problem/lower.h"
#include "schedule/schedule.h"
#include "schedule/value_curve.h"

/* One run as a method sees it. Read-only outside the driver; everything else goes through the calls below. */
typedef struct sked_i_run {
    const sked_problem *problem;        /* as solved: the lowered one */
    const sked_i_costs *costs;          /* of it, compiled once for all */
    const sked_i_lowered *lowered;      /* the driver's */
    const sked_run_options *options;    /* never NULL */
    const struct sked_i_method *method; /* that runs now */
    const double *setting;              /* [n_options] parsed, in table order */
    const char *const *settings;        /* the same as they were given, for sked_i_option_text */
    sked_i_limit limit;
    sked_i_arena *own; /* arrays of the method that runs now, until it returns; for the run's own thread */
    bool goes_on; /* a turn after another one that was interrupted only for an exchange with other ranks */
    struct sked_i_driver *driver;
} sked_i_run;

typedef struct sked_i_method {
    sked_method_info info;
    bool (*takes_clock)(const sked_problem *asked); /* as it is, not as edges; NULL: never */
    sked_status (*run)(sked_i_run *run, sked_error *err);
    sked_method_fn own; /* what a program has registered, and its data; NULL: one of the table */
    void *own_data;
} sked_i_method;

/* The method of that name, or NULL. */
const sked_i_method *sked_i_method_find(const char *name);

/* ------------------------------------------------------------------ schedules */

/*
 * Offers a complete schedule (copied). The driver keeps the best different ones. Costs
 * O((ops + edges) log ops): offer improvements and final populations, not every evaluation.
 * Schedules past the horizon or otherwise invalid are an error of the method (BUG).
 */
SKED_MUST_CHECK sked_status sked_i_run_offer(sked_i_run *run, const sked_schedule *s, sked_error *err);
/* A warm start given by the user: validated (INVALID where it breaks a rule), then offered. */
SKED_MUST_CHECK sked_status sked_i_run_offer_start(sked_i_run *run, sked_error *err);
/* The best schedule offered so far, NULL before the first. Stays until the next offer. */
const sked_schedule *sked_i_run_incumbent(const sked_i_run *run);
/* Its objective value, INFINITY before the first offer; its makespan, likewise. */
double sked_i_run_best(const sked_i_run *run);
double sked_i_run_best_length(const sked_i_run *run);
/* How many different schedules are wanted (1 unless candidates are asked for), and how many there are. */
int32_t sked_i_run_wanted(const sked_i_run *run);
int32_t sked_i_run_count(const sked_i_run *run);

/* ------------------------------------------------------------------ bounds and proofs */

/* Proven lower bound of the objective, as of now. */
double sked_i_run_bound(const sked_i_run *run);
/* A better proven lower bound; lower values are ignored. */
void sked_i_run_raise_bound(sked_i_run *run, double bound);
/* Objective ii: a proven bound of the length at the interval that equals the bound. */
void sked_i_run_raise_length(sked_i_run *run, double bound);
/* Another objective at the least interval: a proven bound of the interval. */
void sked_i_run_raise_interval(sked_i_run *run, double bound);
/* The method has proved the incumbent optimal. */
void sked_i_run_prove(sked_i_run *run);
bool sked_i_run_proved(const sked_i_run *run);
/* True when the time is up, a stop was asked for, or the incumbent meets the bound. */
bool sked_i_run_over(const sked_i_run *run);

/* ------------------------------------------------------------------ other processes */

/*
 * Incumbent, bounds and a proof of this run to the other ranks, and theirs to it; a better incumbent becomes
 * the run's own. Call it on the run's thread, where the method can take over a new incumbent. Without an
 * iteration limit it never waits and takes what has come; calls in the first half of the time, and soon after
 * an exchange, do nothing. With one it waits for every rank that still runs, so that results repeat: then
 * it must be called after fixed numbers of iterations. Shares of a run and single processes: nothing happens.
 */
SKED_MUST_CHECK sked_status sked_i_run_exchange(sked_i_run *run, sked_error *err);
/*
 * A method that keeps its state between turns (sked_i_run_keep): run in several turns with an exchange
 * between them, or in one where there is no other rank.
 */
SKED_MUST_CHECK sked_status sked_i_run_in_turns(sked_i_run *run,
                                                sked_status (*turn)(sked_i_run *run, sked_error *err),
                                                sked_error *err);

/* ------------------------------------------------------------------ reporting */

/* Complete schedules built or evaluated since the last call. */
void sked_i_run_evaluated(sked_i_run *run, int64_t count);
int64_t sked_i_run_evaluations(const sked_i_run *run);
/* Something a user may want to know; the last note stays. */
void sked_i_run_note(sked_i_run *run, const char *format, ...) SKED_PRINTF(2, 3);
/* Reports to the user; cheap, rate-limited by the caller's progress function. */
void sked_i_run_progress(sked_i_run *run, const char *phase);
/*
 * Value over time that a thread has kept of its own, where the run learns of its incumbents only later; begin
 * it with the limit's. After the offers of what it found. Empties the thread's curve.
 */
void sked_i_run_merge_curve(sked_i_run *run, sked_i_value_curve *thread);
/*
 * Adds to the statistics of one technique of the current method ("genetic"): calls, seconds, evaluations, and
 * by how much it lowered the objective. name must stay for ever. For sked_result's statistics.
 */
void sked_i_run_tally(sked_i_run *run, const char *name, int64_t calls, double seconds, int64_t evaluations,
                      double gain);

/* ------------------------------------------------------------------ methods inside methods */

/* Another method on the same problem inside this run (portfolios, warm starts): it offers to the same
 * incumbents.
 */
typedef struct sked_i_member {
    const char *method;
    const char *setting;        /* one "name=value", or NULL */
    double seconds;             /* it may take at most; INFINITY: what the run has left */
    double grace;               /* it may take as much even when the time is up */
    int64_t iterations;         /* 0: those of the run */
    const sked_schedule *start; /* warm start; NULL: that of the run */
} sked_i_member;
SKED_MUST_CHECK sked_status sked_i_run_member(sked_i_run *run, const sked_i_member *m, sked_error *err);

/*
 * What the current method keeps for its next turn in the same run (compiled problem, population, learnt
 * clauses). NULL: its first turn. keep hands ownership to the driver, which calls destroy at the end of the
 * run; keeping NULL takes the state back without destroying it.
 */
void *sked_i_run_state(const sked_i_run *run);
SKED_MUST_CHECK sked_status sked_i_run_keep(sked_i_run *run, void *state, void (*destroy)(void *state),
                                            sked_error *err);

/*
 * One thread's own run of the same problem: its own incumbents, bounds and counters, one thread, no progress.
 * The thread offers and raises bounds there; between parallel stretches the caller joins the shares in the
 * order of their numbers, so that results do not depend on timing.
 */
typedef struct sked_i_share {
    sked_i_run run;
    sked_run_options options;
} sked_i_share;
/* Knows what the run knows: limit, settings, bounds, and the incumbent if any. Close it after a failure, too.
 */
SKED_MUST_CHECK sked_status sked_i_share_open(const sked_i_run *run, sked_i_share *share, sked_error *err);
/* The run takes over what the share has found, proved, counted and kept. */
SKED_MUST_CHECK sked_status sked_i_share_join(sked_i_share *share, sked_i_run *run, sked_error *err);
/* The share learns what the run knows by now. */
SKED_MUST_CHECK sked_status sked_i_share_tell(sked_i_share *share, const sked_i_run *run, sked_error *err);
void sked_i_share_close(sked_i_share *share);
#endif
