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

bool sked_i_robust_stopped(const sked_i_robust_run *run);
void sked_i_robust_member_destroy(sked_robust_member *m); /* NULL: nothing */

/* Fill r, which the caller clears after a failure, too. */
SKED_MUST_CHECK sked_status sked_i_robust_one_shot(const sked_i_robust_run *run, sked_robust_result *r,
                                                   sked_error *err);
SKED_MUST_CHECK sked_status sked_i_robust_loop(const sked_i_robust_run *run, sked_robust_result *r,
                                               sked_error *err);
/* The backend of a member: what the options say, or the CPU where it has no other. */
const char *sked_i_robust_backend(const sked_robust_options *opt, const char *method);
#endif
