/*
 * The time-step relaxation on a GPU. One warp takes an op with its windows and out-edges (a block where it
 * has many of them); lanes take the cells of a window.
 *
 *   gaus_forward.cu   what ops add to the profiles; violations of edges and latency
 *   gaus_profile.cu   profiles, their peaks, the value, prices of the cells
 *   gaus_backward.cu  gradients of an op and of the ops behind its out-edges
 *   gaus_descent.cu   memory of the device; sums of gradients, Adam; runs of steps
 *
 * No sum depends on the order in which threads come. Masses are added to the profiles as integers, a power of
 * two times the amount, which add up to the same bits in any order; all sums of floating-point numbers have
 * one fixed tree. Nothing is kept per cell of a window: F comes from the table of the normal distribution
 * where it is needed, which takes less time than reading it back.
 */
#ifndef SKED_BACKEND_CUDA_GAUS_STEPS_H
#define SKED_BACKEND_CUDA_GAUS_STEPS_H
extern "C" {
#include "backend/cpu/gaus/normal.h"
#include "backend/gaus_step.h"
}

#include "backend/cuda/runtime.h"

/* Numbers that the host and one thread of the device keep. */
typedef struct sked_i_gaus_control {
    double multiplier[SKED_I_GAUS_FAMILIES], penalty[SKED_I_GAUS_FAMILIES];
    double before[SKED_I_GAUS_FAMILIES];      /* violations of the last step */
    double coefficient[SKED_I_GAUS_FAMILIES]; /* multiplier + penalty * V */
    double alpha;
    sked_i_gaus_value value;
    int32_t lost; /* the first op whose gradient is not finite; INT32_MAX: none */
} sked_i_gaus_control;

/* A pair of numbers by (mu, sigma). */
typedef struct sked_i_gaus_pair {
    double mu, sigma;
} sked_i_gaus_pair;

enum {
    SKED_I_GAUS_BLOCK = 256,   /* threads of a block */
    SKED_I_GAUS_BLOCKS = 2048, /* blocks at most; they take ops in turn */
    SKED_I_GAUS_HEAVY = 32,    /* out-edges up to which a warp is enough */
    SKED_I_GAUS_SUMS = 4       /* dependency, recurrence, latency, communication */
};

/* The problem and its point on the device; kernels get it by value. */
typedef struct sked_i_gaus_board {
    int32_t ops, profiles, steps, period;
    int32_t cells, lead, length; /* sked_i_gaus_measure */
    int32_t heavy_count;
    int64_t edges;
    int light_blocks, heavy_blocks;
    int copies;    /* of change: blocks take turns, or few cells would keep all of them waiting */
    double shifts; /* sum of bytes * shift: what communication is beside the means */
    int32_t *duration;
    int64_t *use_ptr;
    int32_t *use_profile;
    double *use_amount;
    double *memory; /* NULL: does not matter */
    int64_t *succ_ptr;
    int32_t *edge_to, *gap, *shift;
    uint8_t *edge_kind;
    int64_t *pred_ptr, *pred_edge; /* [ops + 1], in-edges that count */
    double *net;                   /* [ops] bytes coming in less bytes going out */
    int32_t *heavy;                /* [heavy_count] ops with many out-edges */
    double *scale;                 /* [profiles + 1] of the integers in change */
    sked_i_normal *normal;
    double *weight, *capacity;  /* [profiles + 1] */
    double *mu, *sigma;         /* [ops] one after the other */
    unsigned long long *change; /* [copies * (profiles + 1) * length] 0 between evaluations */
    long long *level;           /* [(profiles + 1) * length] sums of change; NULL: not folded */
    double *profile, *price;    /* [(profiles + 1) * cells] price: of the peak alone */
    sked_i_gaus_pair *row;      /* [profiles + 1] peak and overuse */
    double *partial;            /* [blocks * SKED_I_GAUS_SUMS] */
    sked_i_gaus_pair *own;      /* [ops] gradient that an op finds itself */
    sked_i_gaus_pair *passed;   /* [edges] gradient for the op behind an edge */
    double *tau;                /* [profiles + 1] of a single evaluation */
    double *dmu, *dsigma;       /* [ops] of a single evaluation */
    sked_i_gaus_control *control;
} sked_i_gaus_board;

/* Launches on a stream. what: SKED_I_GAUS_WITH_*. tau: [profiles + 1] on the device. */
void sked_i_gaus_forward(const sked_i_gaus_board *b, unsigned what, cudaStream_t stream);
/* raise: on the device, how multipliers grow afterwards; NULL: they do not. */
void sked_i_gaus_profiles(const sked_i_gaus_board *b, const double *tau, const sked_i_gaus_growth *raise,
                          cudaStream_t stream);
void sked_i_gaus_backward(const sked_i_gaus_board *b, unsigned what, cudaStream_t stream);

/* ------------------------------------------------------------------ inside kernels */

/* F of one op, in the time of another where shifted: 0 before low, 1 from low + len on. */
struct gaus_factor {
    int32_t low, len;
    double mu, inverse;
};

__device__ static inline gaus_factor gaus_factor_of(const sked_i_gaus_board &b, int32_t op, int32_t shift)
{
    const double mu = b.mu[op], sigma = b.sigma[op], reach = SKED_I_GAUS_REACH * sigma;
    const int32_t low = (int32_t)ceil(mu - reach - 0.5), high = (int32_t)floor(mu + reach - 0.5);
    return {low + shift, high >= low ? high - low + 1 : 0, mu + shift, 1 / sigma};
}
/* F at step d; *pdf and *z where it moves, 0 elsewhere. */
__device__ static inline double gaus_cdf(const sked_i_normal *t, const gaus_factor &f, int32_t d, double *pdf,
                                         double *z)
{
    const int32_t k = d - f.low;
    *pdf = *z = 0;
    if (k < 0 || k >= f.len)
        return k < 0 ? 0 : 1;
    *z = (d + 0.5 - f.mu) * f.inverse;
    return sked_i_normal_at(t, *z, pdf);
}
__device__ static inline gaus_factor gaus_shuffle(const gaus_factor &f, int from)
{
    const unsigned all = 0xffffffffu;
    return {__shfl_sync(all, f.low, from), __shfl_sync(all, f.len, from), __shfl_sync(all, f.mu, from),
            __shfl_sync(all, f.inverse, from)};
}
__device__ static inline double gaus_warp_sum(double x)
{
    for (int k = 16; k > 0; k >>= 1)
        x += __shfl_xor_sync(0xffffffffu, x, k);
    return x;
}
__device__ static inline bool gaus_counts(const sked_i_gaus_board &b, int64_t e)
{
    return b.edge_kind[e] != SKED_I_GAUS_EDGE_IGNORED;
}
__device__ static inline bool gaus_reads(const sked_i_gaus_board &b, int64_t e)
{
    return b.edge_kind[e] < SKED_I_GAUS_EDGE_IGNORED;
}

/* The gradient of op i. Eight neighbouring lanes call it, `lane` of them, and all get it. */
__device__ static inline sked_i_gaus_pair gaus_gather(const sked_i_gaus_board &b, int64_t i, int lane)
{
    sked_i_gaus_pair x = {0, 0};
    for (int64_t k = i < b.ops ? b.pred_ptr[i] + lane : 0; i < b.ops && k < b.pred_ptr[i + 1]; k += 8) {
        const sked_i_gaus_pair y = b.passed[b.pred_edge[k]];
        x = {x.mu + y.mu, x.sigma + y.sigma};
    }
    for (int k = 4; k > 0; k >>= 1) {
        x.mu += __shfl_xor_sync(0xffffffffu, x.mu, k);
        x.sigma += __shfl_xor_sync(0xffffffffu, x.sigma, k);
    }
    if (i < b.ops)
        x = {x.mu + b.own[i].mu, x.sigma + b.own[i].sigma};
    return x;
}

/*
 * The warps that share an op: one of a block (W = 1) or all of it. Every member calls the same functions in
 * the same order.
 */
enum { SKED_I_GAUS_TILES = 3, SKED_I_GAUS_TEAM = SKED_I_GAUS_BLOCK / 32 };

template <int W> struct gaus_team {
    int lane, rank;
    __device__ gaus_team() : lane((int)threadIdx.x % 32), rank(W == 1 ? 0 : (int)threadIdx.x / 32)
    {
    }
    __device__ int32_t most(int32_t x) const
    {
        for (int k = 16; k > 0; k >>= 1)
            x = max(x, __shfl_xor_sync(0xffffffffu, x, k));
        if (W == 1)
            return x;
        __shared__ int32_t of[SKED_I_GAUS_TEAM];
        __syncthreads();
        of[rank] = x;
        __syncthreads();
        for (int k = 0; k < W; k++)
            x = max(x, of[k]);
        return x;
    }
    __device__ double sum(double x) const
    {
        x = gaus_warp_sum(x);
        if (W == 1)
            return x;
        __shared__ double of[W];
        __syncthreads();
        of[rank] = x;
        __syncthreads();
        x = 0;
        for (int k = 0; k < W; k++)
            x += of[k];
        return x;
    }
    /* The product of what the warps have, cell by cell. */
    __device__ void multiply(double *p) const
    {
        if (W == 1)
            return;
        __shared__ double of[SKED_I_GAUS_TEAM][SKED_I_GAUS_TILES][32];
        __syncthreads();
        for (int t = 0; t < SKED_I_GAUS_TILES; t++)
            of[rank][t][lane] = p[t];
        __syncthreads();
        for (int t = 0; t < SKED_I_GAUS_TILES; t++) {
            p[t] = 1;
            for (int k = 0; k < W; k++)
                p[t] *= of[k][t][lane];
        }
    }
};

/* Where the value of an op ends: G is 0 before low, 1 from high on. */
struct gaus_stretch {
    int32_t low, high;
    bool used; /* the value has a consumer */
};

template <int W>
__device__ static gaus_stretch gaus_find_stretch(const sked_i_gaus_board &b, const gaus_team<W> &team,
                                                 int32_t i, const gaus_factor &own)
{
    gaus_stretch s = {own.low, own.low + own.len, false};
    for (int64_t e = b.succ_ptr[i] + team.rank * 32 + team.lane; e < b.succ_ptr[i + 1]; e += W * 32) {
        if (!gaus_reads(b, e))
            continue;
        const gaus_factor f = gaus_factor_of(b, b.edge_to[e], b.shift[e]);
        s.low = max(s.low, f.low);
        s.high = max(s.high, f.low + f.len);
        s.used = true;
    }
    return {team.most(s.low), team.most(s.high), team.most(s.used) != 0};
}

/* Does F still move where the value may end? */
__device__ static inline bool gaus_moves(const gaus_factor &f, const gaus_stretch &s)
{
    return f.low + f.len > s.low;
}

/* The factor of edge e; false: it does not count or does not move. */
__device__ static inline bool gaus_take(const sked_i_gaus_board &b, int64_t e, int64_t end,
                                        const gaus_stretch &s, gaus_factor *f)
{
    *f = {0, 0, 0, 1};
    if (e >= end || !gaus_reads(b, e))
        return false;
    *f = gaus_factor_of(b, b.edge_to[e], b.shift[e]);
    return gaus_moves(*f, s);
}

/* G at steps first + 32 t + lane into p[t]; 1 from s.high on. */
template <int W>
__device__ static void gaus_product(const sked_i_gaus_board &b, const gaus_team<W> &team, int32_t i,
                                    const gaus_factor &own, const gaus_stretch &s, int32_t first, double *p)
{
    const int64_t end = b.succ_ptr[i + 1];
    double pdf, z;
    for (int t = 0; t < SKED_I_GAUS_TILES; t++)
        p[t] = team.rank == 0 && gaus_moves(own, s)
                   ? gaus_cdf(b.normal, own, first + 32 * t + team.lane, &pdf, &z)
                   : 1;
    for (int64_t e0 = b.succ_ptr[i] + team.rank * 32; e0 < end; e0 += W * 32) {
        gaus_factor f;
        unsigned mask = __ballot_sync(0xffffffffu, gaus_take(b, e0 + team.lane, end, s, &f));
        for (; mask != 0; mask &= mask - 1) {
            const gaus_factor x = gaus_shuffle(f, __ffs((int)mask) - 1);
            for (int t = 0; t < SKED_I_GAUS_TILES; t++)
                p[t] *= gaus_cdf(b.normal, x, first + 32 * t + team.lane, &pdf, &z);
        }
    }
    team.multiply(p);
}
#endif
