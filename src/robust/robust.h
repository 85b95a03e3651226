/* What the loop and the one-shot pipeline share. */
#ifndef SKED_ROBUST_ROBUST_H
#define SKED_ROBUST_ROBUST_H
#include "base/status.h"
#include "problem/machine.h"
#include "target/target.h"

/* One call of sked_robust. */
typedef struct sked_i_robust_run {
    const sked_problem *problem;
    const sked_robust_options *opt;
    sked_target *target;
    int ranks; /* that measure at once */
} sked_i_robust_run;

/* The target cannot measure this schedule: others can still be measured. */
static inline bool sked_i_robust_left_out(sked_status st)
{
    return st == SKED_ERR_DEVICE || st == SKED_ERR_INVALID;
}
bool sked_i_robust_stopped(const sked_i_robust_run *run);
void sked_i_robust_member_destroy(sked_robust_member *m); /* NULL: nothing */

/* Fill r, which the caller clears after a failure, too. */
SKED_MUST_CHECK sked_status sked_i_robust_one_shot(const sked_i_robust_run *run, sked_robust_result *r,
                                                   sked_error *err);
SKED_MUST_CHECK sked_status sked_i_robust_loop(const sked_i_robust_run *run, sked_robust_result *r,
                                               sked_error *err);
/*
 * Runs a method as a member. To what `run` asks for come limits, backend and settings: `setting` of the
 * member (NULL: none), the model, then the caller's.
 */
SKED_MUST_CHECK sked_status sked_i_robust_run_member(const sked_robust_options *opt, const char *method,
                                                     const char *setting, const sked_problem *p,
                                                     sked_run_options *run, sked_result *out,
                                                     sked_error *err);
/* Diversity of the member's schedules. */
SKED_MUST_CHECK sked_status sked_i_robust_diversity(const sked_problem *p, sked_robust_member *m,
                                                    sked_error *err);
/* Speedup of a schedule that took so long on the target. */
double sked_i_robust_speedup(const sked_i_robust_run *run, double time);
void sked_i_robust_warn(const sked_robust_options *opt, const char *format, ...) SKED_PRINTF(2, 3);
#endif
