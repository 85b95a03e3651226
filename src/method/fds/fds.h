/*
 * `fds`: force-directed scheduling (Paulin and Knight, IEEE TCAD 8(6), 1989).
 *
 *   fds.c     the problem in steps, the method
 *   force.c   placing op after op by force: on loads (objectives resource, cost) or on values (memory)
 *   refine.c  moving placed ops, one at a time
 */
#ifndef SKED_METHOD_FDS_FDS_H
#define SKED_METHOD_FDS_FDS_H
#include "engine/list/list.h"
#include "form/uses.h"
#include "method/starts.h"

typedef struct sked_i_fds_steps {
    sked_i_run *run;
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
} sked_i_fds_steps;

/* Places all ops into x->start; when the time is up, the rest as early as the placed ones allow. */
SKED_MUST_CHECK sked_status sked_i_fds_place(sked_i_fds_steps *x, int32_t neighbourhood, sked_error *err);
/* Moves ops of x->start until `passes` are done or the time is up; offers on the way. */
SKED_MUST_CHECK sked_status sked_i_fds_refine(sked_i_fds_steps *x, int64_t passes, sked_error *err);
/* Offers x->start. */
SKED_MUST_CHECK sked_status sked_i_fds_offer(sked_i_fds_steps *x, sked_error *err);
#endif
