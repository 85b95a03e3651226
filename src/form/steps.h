/* A problem with whole times within a horizon, in steps: windows, lags, and what loads or values it has. */
#ifndef SKED_FORM_STEPS_H
#define SKED_FORM_STEPS_H
#include "form/dag.h"
#include "form/pools.h"
#include "form/uses.h"
#include "form/windows.h"

typedef struct sked_i_steps {
    sked_i_arena arena;
    const sked_graph *graph;
    sked_i_windows windows;
    sked_i_dag dag;
    sked_i_pools loads; /* objectives resource, cost */
    sked_i_uses uses;   /* objective memory */
    bool memory;        /* objective memory */
    double alpha;       /* of communication; 0: does not count */
    double unit;        /* time of one step */
    int32_t n, steps;
    int32_t *length;             /* [n] durations */
    int32_t *first, *last;       /* [n] start windows as given */
    int32_t *out_lag, *in_lag;   /* rows as in dag */
    uint8_t *out_sent, *in_sent; /* does the edge carry data? */
    int32_t *start;              /* [n] the schedule under work */
    double *offer;               /* [n] scratch */
} sked_i_steps;

/* For messages, who: the method. UNSUPPORTED: times are not whole, or too many steps. Free in any case. */
SKED_MUST_CHECK sked_status sked_i_steps_make(const sked_problem *p, const sked_i_costs *c, const char *who,
                                              sked_i_steps *x, sked_error *err);
void sked_i_steps_free(sked_i_steps *x);
#endif
