/* The stepwise policy as plain arrays for a backend that has all of it (backend/stepwise.h). */
#ifndef SKED_METHOD_GFLOWNET_STEPWISE_DEVICE_H
#define SKED_METHOD_GFLOWNET_STEPWISE_DEVICE_H
#include "backend/stepwise.h"
#include "method/gflownet/instance.h"

/* UNSUPPORTED where the problem is beyond the limits of a stepwise model. */
SKED_MUST_CHECK sked_status sked_i_stepwise_check(const sked_i_instance *x, const sked_i_layout *layout,
                                                  sked_error *err);
void sked_i_stepwise_shape_fill(const sked_i_layout *layout, sked_i_stepwise_shape *out);

/* An instance for the backend. What is wanted of it (walk, batch, ...) is the caller's to fill in. */
typedef struct sked_i_stepwise_input {
    sked_i_stepwise_problem problem; /* some of its arrays are the instance's own */
    int64_t *row;                    /* [2 * (ops + 1)] */
    int32_t *neighbour;              /* [2 * edges] */
    double *lag;                     /* [edges] */
} sked_i_stepwise_input;
/* The instance must outlive it. Clear in any case. */
SKED_MUST_CHECK sked_status sked_i_stepwise_input_make(const sked_i_instance *x, const sked_i_layout *layout,
                                                       double temperature, sked_i_stepwise_input *out,
                                                       sked_error *err);
void sked_i_stepwise_input_clear(sked_i_stepwise_input *in);
#endif
