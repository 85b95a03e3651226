/* The graph's edges of distance 0 as rows, forwards or mirrored in time. */
#ifndef SKED_FORM_DAG_H
#define SKED_FORM_DAG_H
#include "problem/problem.h"

/* Edges of distance 0: those of op i are ptr[i] .. ptr[i + 1] - 1. transfer NULL: free. */
typedef struct sked_i_dag_rows {
    const int64_t *ptr;
    const int32_t *op; /* the other end */
    const double *lag, *transfer;
} sked_i_dag_rows;

typedef struct sked_i_dag {
    int32_t n;
    const double *duration;
    const int32_t *order;    /* topological in the direction of the view */
    sked_i_dag_rows out, in; /* in.ptr NULL unless asked for */
    const int64_t *in_ptr;   /* [n + 1] op i has in_ptr[i + 1] - in_ptr[i] predecessors */
    bool plain;              /* every lag is the duration of the op at the beginning of its edge */
    void *owned[12];
    int n_owned;
} sked_i_dag;

/*
 * Mirrored: time runs backwards. With start' = T - (start + duration), an edge a -> b of lag l becomes
 * b -> a of lag l + duration(b) - duration(a). O(ops + edges).
 */
SKED_MUST_CHECK sked_status sked_i_dag_make(const sked_problem *p, bool mirrored, bool with_in,
                                            sked_i_dag *out, sked_error *err);
void sked_i_dag_free(sked_i_dag *v);

#endif
