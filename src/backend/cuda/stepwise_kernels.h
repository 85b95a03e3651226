/* The kernels of the stepwise policy, as its host code (stepwise_host.cu) calls them. */
#ifndef SKED_BACKEND_CUDA_STEPWISE_KERNELS_H
#define SKED_BACKEND_CUDA_STEPWISE_KERNELS_H
#include "backend/cuda/stepwise_net.h"

/*
 * A warp a tile (stepwise_tile_net.h); the same with few enough registers for one block more on a processor,
 * which makes each a tenth slower; warps take tiles in turn (stepwise_tile_long.h).
 */
enum step_drawing { STEP_DRAW_TILES, STEP_DRAW_DENSE, STEP_DRAW_LONG };
/* Steps from .. end - 1 of trajectories of problems of least .. most ops; state `ops` ends one. */
struct step_walk {
    int least, most, from, end;
};
void sked_i_step_draw(const step_load *load, step_drawing how, int threads, int blocks, size_t shared,
                      const step_walk *walk, cudaStream_t stream);
cudaError_t sked_i_step_draw_allow(step_drawing how, size_t shared);
/*
 * A piece of a matrix of up to 64 by 64: which tiles of kept rows and of their slopes it is the product of,
 * and its place in a gradient. dbias: -1: none.
 */
enum { STEP_OUTER_TILES = 4 };
struct step_outer_job {
    int a, y, rows, columns;
    int dweight, width, dbias;
};
/* States from .. end - 1, numbered through all problems; their row tiles follow one another in kept. */
struct step_pass {
    int64_t from, end;
    step_tile *kept;
    float2 *scale;
    int tiles;                 /* states of problems of so many row tiles only */
    const step_outer_job *job; /* [jobs] */
    int jobs;
};
/* Rows and slopes of these states, by tiles; turns: warps take tiles in turn. */
void sked_i_step_tile_states(const step_load *load, const step_pass *pass, bool turns, int threads,
                             int blocks, size_t shared, cudaStream_t stream);
/* blocks: how many a processor takes at once. */
cudaError_t sked_i_step_tile_allow(size_t shared, bool turns, int threads, int *blocks);
/* The gradient by them, for problems of all sizes: added to gradients [problems * parts, size]. */
void sked_i_step_tile_outer(const step_load *load, const step_pass *pass, int parts, float *gradients,
                            int64_t size, cudaStream_t stream);

/* How a matrix comes from the parameters, by offsets there (-1: none). */
struct step_fold {
    int64_t weight, bias, gain, norm;
    int width;   /* from row to row of the parameter */
    int film;    /* where its scale begins among the scales and shifts, or -1 */
    int queries; /* so many columns are scaled by query_scale */
    float query_scale;
    bool follows; /* shares gain and norm with the matrix before */
};
struct step_film {
    int64_t scale_weight, scale_bias, shift_weight, shift_bias;
    int width, at; /* at: scale, then shift */
};
struct step_folding {
    int matrices, films, film_size, temperature;
    const step_matrix *matrix; /* [matrices] */
    const step_fold *fold;
    const step_film *film; /* [films] */
    int64_t heat1_weight, heat1_bias, heat2_weight, heat2_bias;
};
/* Masks as tiles have them, of problems that have room for them. */
void sked_i_step_masks(const step_problem *problem, int problems, cudaStream_t stream);
/* Weights of all problems for the parameters of now. */
void sked_i_step_fold(const step_load *load, const step_folding *folding, cudaStream_t stream);
/* Loss and its slopes by trajectory, with credit by steps by step. */
void sked_i_step_loss(const step_load *load, cudaStream_t stream);
/* From the gradients of the parts to those of the parameters. */
void sked_i_step_unfold(const step_load *load, const step_folding *folding, const float *gradients,
                        int64_t size, cudaStream_t stream);
#endif
