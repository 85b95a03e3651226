/*
 * A method: one file (or folder) here, one line in table.h, one page in docs/methods. The driver in
 * method.c checks the problem against the method's features, parses its options, validates and ranks
 * what the method offers. A method only builds schedules.
 */
#ifndef SKED_METHOD_METHOD_H
#define SKED_METHOD_METHOD_H
#include "base/clock.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/rng.h"
#include "method/record.h"
#include "schedule/schedule.h"

typedef struct sked_i_run {
    const sked_problem *problem;
    const sked_run_options *options; /* never NULL */
    const double *setting;           /* [n_options] parsed, in table order */
    const char *const *settings;     /* the same as they were given, for sked_i_option_text */
    sked_i_limit limit;
    double bound;        /* proven lower bound of the objective, as of now */
    double second_bound; /* objective ii: bound of the length at II = bound; else -INFINITY */
    double least_ii;     /* another objective at the smallest interval: proven bound of that; else 0 */
    int64_t evaluations; /* methods add what they evaluate */
    bool exhausted;      /* the method has proved its best optimal */
    char note[200];
    sked_i_recording *recording; /* what the method keeps of its first descent; NULL: nobody asks */
    /* The driver's: */
    sked_schedule **kept; /* best first; where the interval is searched for, the smallest comes first */
    double (*key)[2];     /* objective, then tie-break (length for ii, else makespan) */
    int32_t n_kept, max_kept;
    char winner[64];
    double won[3];       /* rank of the best schedule when the winner was named */
    const char *current; /* name of the method that runs now */
    double build_seconds;
    double judging; /* seconds spent on validating and ranking offers */
} sked_i_run;

typedef struct sked_i_method {
    sked_method_info info;
    sked_status (*run)(sked_i_run *run, sked_error *err);
} sked_i_method;

/*
 * Offers a complete schedule (copied). The driver keeps the best `max_kept` different ones. Costs
 * O((ops + edges) log ops): offer improvements and final populations, not every evaluation.
 * Schedules past the horizon or otherwise invalid are an error of the method (BUG).
 */
SKED_MUST_CHECK sked_status sked_i_run_offer(sked_i_run *run, const sked_schedule *s, sked_error *err);
/* Best objective value offered so far, INFINITY before the first. */
double sked_i_run_best(const sked_i_run *run);
/* A better proven lower bound; lower values are ignored. */
void sked_i_run_raise_bound(sked_i_run *run, double bound);
/* True when the time is up, a stop was asked for, or the best offer meets the bound. */
bool sked_i_run_over(const sked_i_run *run);
/* Tells the user; cheap, rate-limited by the caller's progress function. */
void sked_i_run_progress(sked_i_run *run, const char *phase);
/*
 * Runs another method on the same problem inside this run (portfolios, warm starts): it offers into the
 * same pool. settings as on the command line; time_share: seconds it may take at most.
 */
SKED_MUST_CHECK sked_status sked_i_run_member(sked_i_run *run, const char *method,
                                              const char *const *settings, int n_settings, double seconds,
                                              sked_error *err);

/*
 * One thread's own run of the same problem: its own pool, bounds and counters, one thread, no progress. The
 * thread offers and raises bounds there; between parallel stretches the caller joins the shares in the order
 * of their numbers, so that results do not depend on timing.
 */
typedef struct sked_i_share {
    sked_i_run run;
    sked_run_options options;
} sked_i_share;
/* Knows what the run knows: limit, settings, bounds, and the best schedule if any. */
SKED_MUST_CHECK sked_status sked_i_share_open(const sked_i_run *run, sked_i_share *share, sked_error *err);
/* The run takes over what the share has found, proved and counted. */
SKED_MUST_CHECK sked_status sked_i_share_join(sked_i_share *share, sked_i_run *run, sked_error *err);
/* The share learns what the run knows by now. */
SKED_MUST_CHECK sked_status sked_i_share_tell(sked_i_share *share, const sked_i_run *run, sked_error *err);
void sked_i_share_close(sked_i_share *share);
#endif
