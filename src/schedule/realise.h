/*
 * From a schedule of the problem that methods solve to one of the problem as asked: the way back from
 * problem/lower.h, a table of steps with names (realise.c). What leaves here has passed the validator, once.
 */
#ifndef SKED_SCHEDULE_REALISE_H
#define SKED_SCHEDULE_REALISE_H
#include "problem/lower.h"

enum { SKED_I_REALISE_STEPS = 2 };

typedef struct sked_i_realised {
    const sked_schedule *schedule; /* of the problem as asked: no step of today changes what a method made */
    double value, makespan;
    double seconds[SKED_I_REALISE_STEPS]; /* that each step took */
} sked_i_realised;

/*
 * INVALID with the first broken rule of the problem as asked. O((ops + edges) log ops), and for objectives
 * other than the makespan what sked_i_schedule_value takes.
 */
SKED_MUST_CHECK sked_status sked_i_realise(const sked_i_lowered *x, const sked_schedule *s,
                                           sked_i_realised *out, sked_error *err);
const char *sked_i_realise_step(int k);
#endif
