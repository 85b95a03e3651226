/*
 * A look one op ahead, where data takes time between devices: when a successor of an op ends at the earliest,
 * on the device of the op or on the best of the others, and with that all that must follow it. A rule that
 * sees the inputs of an op alone scatters ops whose results are wanted together.
 */
#ifndef SKED_ENGINE_ENVIRONMENT_AHEAD_H
#define SKED_ENGINE_ENVIRONMENT_AHEAD_H
#include "engine/environment/choices.h"

/* For each successor that is looked at: when the two best of a step's devices have its other data and are
 * free. */
typedef struct sked_i_ahead {
    double first[SKED_I_AHEAD], second[SKED_I_AHEAD];
    int32_t best[SKED_I_AHEAD]; /* column of `first` */
} sked_i_ahead;

void sked_i_ahead_fill(sked_i_ahead *a, const sked_i_partial *p, const sked_i_choices *c, int32_t op);
/* Latest end of a path over a successor where op runs on column d from `start`. */
double sked_i_ahead_end(const sked_i_ahead *a, const sked_i_partial *p, int32_t op, int32_t d, double start);
/* Mean share of the inputs of those successors that lies on column d. */
double sked_i_ahead_held(const sked_i_partial *p, int32_t op, int32_t d);
#endif
