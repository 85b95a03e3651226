/*
 * The relaxation with devices on the CPU: one file and one pair of functions per term, as in terms.h.
 */
#ifndef SKED_BACKEND_CPU_GAUS_DEVICE_H
#define SKED_BACKEND_CPU_GAUS_DEVICE_H
#include "backend/cpu/gaus/terms.h"

/* What one thread works with. Rows are devices, then pools. */
typedef struct sked_i_gaus_device_part {
    int32_t begin, end;            /* its ops */
    double *change;                /* [rows * cells] expected load of a cell minus that of the one before */
    double *dmu, *dsigma, *dshare; /* [ops], [ops], [ops * devices] */
    double *cell, *dcell, *scell;  /* [reach + 1] scratch: a rise and its derivatives */
    int64_t reach_cap;
    double *kind[5]; /* [kinds] scratch: shares of two ops by kind, and what goes back to them */
    double violation[SKED_I_GAUS_FAMILIES];
    bool failed;  /* no memory */
    bool stopped; /* the limit was heard */
} sked_i_gaus_device_part;

struct sked_i_gaus_device_evaluator {
    const sked_i_gaus_device_view *view;
    int threads;
    int32_t rows;
    double *load;     /* [rows * cells] */
    double *price;    /* [rows * cells] dL/dload */
    double *prefix;   /* [rows * (cells + 1)] sums of prices before a cell */
    int32_t *members; /* [kinds] devices of each; NULL: identical devices */
    sked_i_gaus_device_part *part;
    sked_i_normal normal;
    const sked_i_limit *limit; /* NULL: none */
    /* of the evaluation in progress: */
    const sked_i_gaus_device_terms *terms;
    const sked_i_gaus_device_point *at;
    double coefficient[SKED_I_GAUS_FAMILIES]; /* multiplier + penalty * V */
};

/* Sums of the shares of op i by kind of device. */
static inline void sked_i_gaus_kind_shares(const sked_i_gaus_device_evaluator *s, int32_t i, double *sum)
{
    const sked_i_gaus_device_view *v = s->view;
    const double *share = s->at->share + (int64_t)i * v->devices;
    for (int32_t k = 0; k < v->kinds->count; k++)
        sum[k] = 0;
    for (int32_t d = 0; d < v->devices; d++)
        sum[v->kinds->of[d]] += share[d];
}

/* occupancy.c: E[share of cell c that op i is busy] = r(c; mu) - r(c; mu + duration), by device and pool. */
void sked_i_gaus_device_occupancy(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                  int32_t i);
void sked_i_gaus_device_occupancy_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                       int32_t i);
/*
 * transfer.c: E[max(0, lag + transfer [devices differ] - (X_to - X_from))]; on unequal devices lag and
 * transfer are those of the two devices.
 */
void sked_i_gaus_device_transfer(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                 int32_t i);
void sked_i_gaus_device_transfer_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                      int32_t i);
/* latency.c: E[max(0, X_i + duration - cells)]. */
void sked_i_gaus_device_latency(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                int32_t i);
void sked_i_gaus_device_latency_back(const sked_i_gaus_device_evaluator *s, sked_i_gaus_device_part *part,
                                     int32_t i);
#endif
