/* The graph's edges of distance 0 as rows, forwards or mirrored in time. */
#ifndef SKED_FORM_DAG_H
#define SKED_FORM_DAG_H
#include "base/arena.h"
#include "problem/costs.h"

/* Edges of distance 0: those of op i are ptr[i] .. ptr[i + 1] - 1. transfer NULL: free. */
typedef struct sked_i_dag_rows {
    const int64_t *ptr;
    const int32_t *op; /* the other end */
    const double *lag, *transfer;
    const double *bytes;  /* with costs: transfers follow from it */
    const uint8_t *given; /* with costs: 0: the lag is the time of the op at the beginning, on its device */
} sked_i_dag_rows;

/*
 * On heterogeneous devices `costs` says what an op takes where; duration is then the mean over the devices
 * that can run the op, default lags follow it, and transfer is the mean over the links.
 */
typedef struct sked_i_dag {
    int32_t n;
    const sked_i_costs *costs; /* NULL: identical devices */
    const double *duration;
    const int32_t *order;    /* topological in the direction of the view */
    sked_i_dag_rows out, in; /* in.ptr NULL unless asked for, or with costs */
    const int64_t *in_ptr;   /* [n + 1] op i has in_ptr[i + 1] - in_ptr[i] predecessors */
    bool mirrored;
    bool plain;         /* every lag is the duration of the op at the beginning of its edge */
    sked_i_arena arena; /* what is not the graph's own */
} sked_i_dag;

/*
 * Mirrored: time runs backwards. With start' = T - (start + duration), an edge a -> b of lag l becomes
 * b -> a of lag l + duration(b) - duration(a). O(ops + edges), on heterogeneous devices O(ops * devices +
 * edges). c: the costs of p, kept by reference there; NULL will do without a machine.
 */
SKED_MUST_CHECK sked_status sked_i_dag_make(const sked_problem *p, const sked_i_costs *c, bool mirrored,
                                            bool with_in, sked_i_dag *out, sked_error *err);
/* The same with costs also where devices are identical. */
SKED_MUST_CHECK sked_status sked_i_dag_make_costed(const sked_problem *p, const sked_i_costs *c,
                                                   bool mirrored, bool with_in, sked_i_dag *out,
                                                   sked_error *err);
void sked_i_dag_free(sked_i_dag *v);

#endif
