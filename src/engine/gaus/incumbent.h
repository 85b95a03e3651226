/* The best schedule that one thread, or one part of the search, has found. */
#ifndef SKED_ENGINE_GAUS_INCUMBENT_H
#define SKED_ENGINE_GAUS_INCUMBENT_H
#include "schedule/value_curve.h"

/* value INFINITY: none; start and device then hold no meaning. */
typedef struct sked_i_gaus_incumbent {
    double *start;              /* [n]; whole numbers in the time-step relaxation */
    int32_t *device;            /* [n]; NULL in the time-step relaxation */
    double value;               /* of the objective */
    sked_i_value_curve *curve;  /* gets a point where the time-step relaxation keeps a schedule; NULL: none */
    const int64_t *evaluations; /* for these points */
} sked_i_gaus_incumbent;

/* Free it after a failure, too. */
SKED_MUST_CHECK sked_status sked_i_gaus_incumbent_create(int32_t n, bool with_devices,
                                                         sked_i_gaus_incumbent *out, sked_error *err);
void sked_i_gaus_incumbent_free(sked_i_gaus_incumbent *x);
/* Both of the same relaxation. */
void sked_i_gaus_incumbent_copy(sked_i_gaus_incumbent *to, const sked_i_gaus_incumbent *from, int32_t n);
#endif
