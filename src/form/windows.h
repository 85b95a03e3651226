/* Windows of start times under a horizon. */
#ifndef SKED_FORM_WINDOWS_H
#define SKED_FORM_WINDOWS_H
#include "problem/problem.h"

/* Time limits of an objective under a horizon. */
typedef struct sked_i_windows {
    double horizon;       /* the problem's, or the critical path */
    double *early, *late; /* [ops] starts */
    bool integral;        /* starts have to be integers */
    bool limited;         /* devices or finite pools: targets are not schedules yet */
} sked_i_windows;
SKED_MUST_CHECK sked_status sked_i_windows_make(const sked_problem *p, sked_i_windows *out, sked_error *err);
void sked_i_windows_free(sked_i_windows *w);
/* Is this latest finish by p's horizon? To rounding; integers exactly. */
bool sked_i_keeps_horizon(const sked_problem *p, double finish);
/* The same for starts on identical devices. */
bool sked_i_within_horizon(const sked_problem *p, const double *start);

#endif
