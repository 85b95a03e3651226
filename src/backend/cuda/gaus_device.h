/*
 * The relaxation with devices on a GPU. One warp takes an op with its out-edges; lanes take the cells of a
 * window, or edges, or devices. Rows are devices, then pools. Identical devices are one kind, whose ops hold
 * the pools whatever their shares are.
 *
 *   gaus_device_terms.cu    busy cells, edges and latency: expectations and gradients
 *   gaus_device_profile.cu  loads, value, prices of the cells
 *   gaus_device.cu          memory of the device; one evaluation
 *   gaus_device_descent.cu  shares, Adam; runs of steps
 *
 * Sums do not depend on the order in which threads come: see gaus_steps.h.
 */
#ifndef SKED_BACKEND_CUDA_GAUS_DEVICE_H
#define SKED_BACKEND_CUDA_GAUS_DEVICE_H
#include "backend/cuda/gaus_steps.h"

enum { SKED_I_GAUS_DEVICE_SUMS = 2 }; /* dependency, latency */

/* The problem and its point on the device; kernels get it by value. */
typedef struct sked_i_gaus_device_board {
    int32_t ops, devices, pools, cells, rows;
    int32_t kinds;      /* of devices */
    bool equal;         /* identical devices */
    int blocks, copies; /* copies: as in sked_i_gaus_board */
    int64_t edges;
    double longest;
    int64_t *succ_ptr;
    int32_t *edge_to, *edge_from;
    double *lag, *transfer; /* transfer NULL: none */
    int64_t *use_ptr;
    int32_t *use_pool;
    double *use_amount;
    int32_t *of, *members;         /* [devices], [kinds] */
    double *time;                  /* [ops * kinds] */
    double *latency, *per_byte;    /* unequal devices: see sked_i_gaus_device_kinds */
    double *bytes, *follows;       /* [edges] */
    int32_t *links;                /* [edges] */
    int64_t *pred_ptr, *pred_edge; /* [ops + 1], in-edges */
    sked_i_normal *normal;
    double *scale;                 /* [rows] of the integers in change */
    double *mu, *sigma, *share;    /* [ops], [ops], [ops * devices] one after the other */
    double *by_kind;               /* [ops * kinds] shares of the kinds */
    unsigned long long *change;    /* [copies * rows * cells] 0 between evaluations */
    double *load, *price;          /* [rows * cells] */
    double *prefix;                /* [rows * (cells + 1)] sums of prices before a cell */
    double *over;                  /* [rows] overuse */
    double *partial;               /* [blocks * SKED_I_GAUS_DEVICE_SUMS] */
    sked_i_gaus_pair *own;         /* [ops] gradient that an op finds itself */
    sked_i_gaus_pair *passed;      /* [edges] gradient for the op behind an edge */
    double *traded;                /* [edges * (equal ? 1 : 3 kinds)] by shares: gaus_device_terms.cu */
    double *dmu, *dsigma, *dshare; /* [ops], [ops], [ops * devices] */
    sked_i_gaus_control *control;
} sked_i_gaus_device_board;

/* Launches on a stream. */
void sked_i_gaus_device_forward(const sked_i_gaus_device_board *b, cudaStream_t stream);
/* raise: as in sked_i_gaus_profiles. */
void sked_i_gaus_device_profiles(const sked_i_gaus_device_board *b, const sked_i_gaus_growth *raise,
                                 cudaStream_t stream);
void sked_i_gaus_device_backward(const sked_i_gaus_device_board *b, cudaStream_t stream);

/* The board of a view, with what the device and the stream have for it. */
typedef struct sked_i_gaus_devices {
    const sked_i_gaus_device_view *view;
    sked_i_cuda_arena arena;
    sked_i_gaus_device_board board;
    cudaStream_t stream;
} sked_i_gaus_devices;

/* As sked_i_gaus_steps_open. */
sked_status sked_i_gaus_devices_open(sked_i_gaus_devices *s, const sked_i_gaus_device_view *view,
                                     sked_i_gaus_lay_fn lay, void *data, sked_error *err);
void sked_i_gaus_devices_close(sked_i_gaus_devices *s);
sked_status sked_i_gaus_devices_aim(sked_i_gaus_devices *s, const sked_i_gaus_device_terms *terms,
                                    const double *violation, sked_error *err);
/* Sends means and sigmas, and shares unless NULL. BUG where a mean or sigma would leave the grid. */
sked_status sked_i_gaus_devices_place(sked_i_gaus_devices *s, const double *mu, const double *sigma,
                                      const double *share, sked_error *err);
/* Launches an evaluation at the point. */
void sked_i_gaus_devices_launch(const sked_i_gaus_devices *s, const sked_i_gaus_growth *raise);
/* The value of the last evaluation; waits. */
sked_status sked_i_gaus_devices_value(const sked_i_gaus_devices *s, sked_i_gaus_value *value,
                                      sked_error *err);
#endif
