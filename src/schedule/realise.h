/*
 * From a schedule of the problem that methods solve to one of the problem as asked: the way back from
 * problem/lower.h, a table of steps with names (realise.c). What leaves here has passed the validator, once.
 */
#ifndef SKED_SCHEDULE_REALISE_H
#define SKED_SCHEDULE_REALISE_H
#include "problem/lower.h"

enum { SKED_I_REALISE_STEPS = 3 };

typedef struct sked_i_realised {
    const sked_schedule *schedule; /* of the problem as asked */
    const sked_schedule *solved;   /* the same of the one that methods solve */
    sked_schedule *own;            /* what a step made of it; NULL: it is what the method made */
    sked_schedule view;            /* its ops that were asked for */
    double value, makespan;
    double seconds[SKED_I_REALISE_STEPS]; /* that each step took */
} sked_i_realised;

/*
 * Free in any case. INVALID with the first broken rule of the problem as asked. O((ops + edges) log ops), and
 * for objectives other than the makespan what sked_i_schedule_value takes.
 */
SKED_MUST_CHECK sked_status sked_i_realise(const sked_i_lowered *x, const sked_schedule *s,
                                           sked_i_realised *out, sked_error *err);
void sked_i_realised_free(sked_i_realised *r);
const char *sked_i_realise_step(int k);
/* A schedule that sked_i_realise has passed becomes one for the user: the ops asked for, and their phases. */
SKED_MUST_CHECK sked_status sked_i_realise_result(const sked_i_lowered *x, sked_schedule *s, sked_error *err);
/* A user's schedule as one of the problem that methods solve; *out NULL: it is one. */
SKED_MUST_CHECK sked_status sked_i_realise_start(const sked_i_lowered *x, const sked_schedule *s,
                                                 sked_schedule **out, sked_error *err);
#endif
