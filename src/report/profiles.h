/*
 * The curves below a Gantt: busy devices, load of every resource in use, memory, and memory of each device of
 * a machine.
 */
#ifndef SKED_REPORT_PROFILES_H
#define SKED_REPORT_PROFILES_H
#include "report/view.h"
#include "schedule/profile.h"

enum { SKED_I_CURVE_NAME = 220 };

typedef struct sked_i_curve {
    const char *name;
    double capacity;        /* INFINITY: none to show */
    sked_i_profile profile; /* pipelined: of the steady state, on [0, II) */
} sked_i_curve;

typedef struct sked_i_curves {
    sked_i_curve *curve;
    int32_t count;
    char (*device_name)[SKED_I_CURVE_NAME]; /* names of the curves of devices */
} sked_i_curves;

/* O((ops + edges + demands) log ops). End with sked_i_curves_free. */
SKED_MUST_CHECK sked_status sked_i_curves_init(sked_i_curves *c, const sked_i_view *v, sked_error *err);
void sked_i_curves_free(sked_i_curves *c);
#endif
