/*
 * The operators of the neural network, each a forward function and its gradient, as one table a backend
 * fills in. Matrices are row-major with the shape beside the pointer; dx is the gradient of the loss by x and
 * is added to (+=). A gradient that is not wanted is NULL where the comment says so.
 *
 * Row lengths of score, score_grad and of every matrix that linear multiplies by are multiples of
 * SKED_I_LANES. Sums run in a fixed order, so results are the same bits whatever vector unit does the work.
 */
#ifndef SKED_BACKEND_KERNELS_H
#define SKED_BACKEND_KERNELS_H
#include "backend/real.h"

#include <stdbool.h>

enum { SKED_I_LANES = 8, SKED_I_HEADS = 7, SKED_I_NEAR_FEATURES = 12, SKED_I_PAIR_FEATURES = 16 };

/* Who may attend to whom: bit j of row i of head h. Every op sees itself in every head. */
typedef struct sked_i_masks {
    int32_t n;
    int64_t words;  /* 64-bit words of a row */
    uint64_t *bits; /* row i of head h: bits + (h * n + i) * words */
} sked_i_masks;

/*
 * The same relations as lists, for attention that runs often: the pairs of every op, head by head. All ops
 * have the same number of pairs, filled up to a multiple of SKED_I_LANES.
 */
typedef struct sked_i_attention_views {
    int32_t n, stride; /* stride: pairs of an op with the filling */
    int32_t *end;      /* [n * SKED_I_HEADS] where a head's pairs end, within those of the op */
    int32_t *query;    /* [n * stride] where the query of a pair begins in its row of q */
    int32_t *key;      /* [n * stride] where its key begins in kv; filling: 0 */
} sked_i_attention_views;

/* The (op, device) pairs of one decision. Pair p = i * devices + d has op row[i] and device row d. */
typedef struct RN(pairs) {
    int32_t ops, devices, width;
    bool far;            /* features from SKED_I_NEAR_FEATURES on are not all 0 */
    const int32_t *row;  /* [ops] rows of op_part */
    const real *op_part; /* [n, width] */
    const real *device;  /* [devices, width] device part plus the state's part */
    const real *feature; /* [ops * devices, SKED_I_PAIR_FEATURES] */
    const real *weight;  /* [SKED_I_PAIR_FEATURES, width] */
    const real *out;     /* [width] */
} RN(pairs);

typedef struct RN(kernels) {
    /* y[n,q] = x[n,p] w[p,q] + b[q]; b may be NULL. */
    void (*linear)(int32_t n, int32_t p, int32_t q, const real *x, const real *w, const real *b, real *y);
    /* dx, dw and db may be NULL; w is not read where dx is NULL. */
    void (*linear_grad)(int32_t n, int32_t p, int32_t q, const real *x, const real *w, const real *dy,
                        real *dx, real *dw, real *db);
    /* dw and db of linear_grad alone, of columns first to end - 1 (multiples of SKED_I_LANES). */
    void (*weight_grad)(int32_t n, int32_t p, int32_t q, int32_t first, int32_t end, const real *x,
                        const real *dy, real *dw, real *db);
    /*
     * For a matrix that is used often: pack copies w[p,q] into an order of the backend's own, p * q numbers,
     * and linear_packed takes that. y[n,q] = x[n,p] w + b, or where b is NULL y += x w.
     */
    void (*pack)(int32_t p, int32_t q, const real *w, real *packed);
    void (*linear_packed)(int32_t n, int32_t p, int32_t q, const real *x, const real *packed, const real *b,
                          real *y);
    /* Rows of mean 0 and deviation 1: y[n,p], p a multiple of SKED_I_LANES; rstd[n] for the gradient. */
    void (*unit)(int32_t n, int32_t p, const real *x, real *y, real *rstd);
    void (*unit_grad)(int32_t n, int32_t p, const real *y, const real *rstd, const real *dy, real *dx);
    /* Layer normalisation: y[n,p]; mean[n] and rstd[n] are kept for the gradient. There dx may be NULL, and
     * so may dgain and dbias. */
    void (*norm)(int32_t n, int32_t p, const real *x, const real *gain, const real *bias, real *y, real *mean,
                 real *rstd);
    void (*norm_grad)(int32_t n, int32_t p, const real *x, const real *gain, const real *mean,
                      const real *rstd, const real *dy, real *dx, real *dgain, real *dbias);
    /* y[n,p] = max(0, scale[p] * x[n,p] + shift[p]). dx may be NULL, and so may dscale and dshift. */
    void (*film)(int32_t n, int32_t p, const real *x, const real *scale, const real *shift, real *y);
    void (*film_grad)(int32_t n, int32_t p, const real *x, const real *scale, const real *y, const real *dy,
                      real *dx, real *dscale, real *dshift);
    /*
     * Masked attention, one relation a head: qkv[n, 3 * heads * size], y[n, heads * size], lse[n * heads]
     * log of each softmax's sum, from which the gradient gets the weights back. For the ops first to end - 1;
     * pieces taken in order give the same numbers as all at once. The gradient is that of the heads
     * first_head to end_head - 1; heads write apart from each other. Time follows the allowed pairs, memory
     * the ops.
     */
    void (*attention)(const sked_i_masks *m, int32_t first, int32_t end, int32_t size, const real *qkv,
                      real *y, real *lse);
    void (*attention_grad)(const sked_i_masks *m, int32_t first, int32_t end, int32_t first_head,
                           int32_t end_head, int32_t size, const real *qkv, const real *y, const real *lse,
                           const real *dy, real *dqkv);
    /*
     * The same for some ops only, by lists: op[r] looks with query row[r] of q[., heads * size], which is
     * scaled already, at kv[n, 2 * heads * size]. y[rows, heads * size]; weight[rows, stride] keeps the
     * softmax for the gradient. attend_grad adds to dq and dkv; scratch[stride] is for its own use.
     */
    void (*attend)(const sked_i_attention_views *v, int32_t size, int32_t rows, const int32_t *op,
                   const int32_t *row, const real *q, const real *kv, real *y, real *weight);
    void (*attend_grad)(const sked_i_attention_views *v, int32_t size, int32_t rows, const int32_t *op,
                        const int32_t *row, const real *q, const real *kv, const real *weight, const real *dy,
                        real *scratch, real *dq, real *dkv);
    /*
     * Logit of every pair: out . max(0, op + device + feature . weight). score_grad takes dlogit and adds
     * to dop [n, width], ddevice [devices, width], dweight, dout.
     */
    void (*score)(const RN(pairs) * s, real *logit);
    void (*score_grad)(const RN(pairs) * s, const real *dlogit, real *dop, real *ddevice, real *dweight,
                       real *dout);
    /*
     * logp[i] = x[i] - log(sum_j count[j] exp(x[j])): count[j] equal choices hide behind entry j, and 0
     * masks it (logp -infinity). false, logp untouched, where every entry is masked.
     */
    bool (*log_softmax)(int32_t n, const real *x, const int32_t *count, real *logp);
    void (*log_softmax_grad)(int32_t n, const real *logp, const int32_t *count, const real *dlogp, real *dx);
} RN(kernels);

extern const RN(kernels) RN(kernels_cpu);
#endif
