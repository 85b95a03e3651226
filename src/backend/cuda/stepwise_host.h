/*
 * The stepwise policy on the device, as its host code shares it: tables of a model (stepwise_tables.cu),
 * plans of kernels (stepwise_plan.cu), problems (stepwise_load.cu), and the work itself (stepwise_host.cu).
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_HOST_H
#define SKED_BACKEND_CUDA_STEPWISE_HOST_H
#include "backend/cuda/stepwise_kernels.h"
#include "backend/cuda/stepwise_tile_long.h"

extern "C" {
#include "backend/cuda/stepwise.h"
#include "base/memory.h"
}

/* Where the rows of one kernel lie, and how it is launched. */
struct step_kernel_plan {
    step_places places;
    size_t shared;  /* bytes */
    int64_t stride; /* numbers of a block in global memory */
    int threads, blocks;
    bool turns; /* tiles: warps take them in turn */
};
/* How problems of least .. most ops are drawn. */
struct step_draw_plan {
    step_kernel_plan kernel;
    step_drawing how;
    int least, most;
    int ops; /* of the longest of them that is loaded; 0: there is none */
    int64_t trajectories;
};

struct sked_i_stepwise_device {
    sked_i_stepwise_shape shape;
    const sked_i_limit *limit;
    cudaStream_t stream;
    int processors;
    size_t shared_most;            /* bytes a block may have */
    size_t memory;                 /* bytes the device has */
    sked_i_cuda_arena model, work; /* parameters and tables; a load */
    step_net net;
    step_folding folding;
    step_matrix matrix[SKED_I_STEPWISE_LAYERS * STEP_MATRICES + STEP_HEADS];
    step_fold fold[SKED_I_STEPWISE_LAYERS * STEP_MATRICES + STEP_HEADS];
    step_film film[SKED_I_STEPWISE_LAYERS + 2];
    int64_t folded_size, gradient_size; /* of a problem */
    int64_t tile_count;                 /* tiles of its weights */
    step_outer_job *job;                /* on the device; NULL: other widths than those of tiles */
    int n_jobs;
    float *parameter, *moment1, *moment2, *sum; /* [total] */
    float *share;                               /* [count] */
    /* The load. */
    int count, graphs; /* graphs: of the update, on all ranks */
    bool gradients, drawn;
    bool tiled;            /* by stepwise_tile_net.h and stepwise_tile_long.h */
    step_problem *problem; /* [count] on the host, with pointers of the device */
    char *blob;            /* what is uploaded for it */
    step_problem *problem_there;
    step_draw_plan draw[2]; /* of problems whose warps have a tile each (rows: of all), and of longer ones */
    step_kernel_plan grad;
    step_kept keep;
    int64_t kept_size; /* of a block */
    float *scratch, *block_gradients;
    step_pass pass;     /* tiled: memory for the row tiles of a pass */
    int64_t pass_tiles; /* at most */
    double *loss;       /* [count, STEP_LOSS_NUMBERS] */
    int32_t *trouble;   /* [trajectories] */
    int64_t trajectories;
    int most_ops;
};

static inline int64_t step_most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ------------------------------------------------------------------ stepwise_tables.cu */

/* Where matrices and their gradients lie: from d->shape. */
void sked_i_step_make_tables(sked_i_stepwise_device *d);
/* Pieces of matrices, for the widths of tiles. */
enum { STEP_MOST_JOBS = SKED_I_STEPWISE_LAYERS * 12 + 16 };
struct step_job_list {
    step_outer_job at[STEP_MOST_JOBS];
    int count;
};
void sked_i_step_list_jobs(const sked_i_stepwise_device *d, step_job_list *list);

/* ------------------------------------------------------------------ stepwise_plan.cu */

/* How the problems that are loaded are drawn and learnt from. */
void sked_i_step_plan(sked_i_stepwise_device *d);
/* The plan for the gradients of problems of so many row tiles. */
void sked_i_step_plan_states(const sked_i_stepwise_device *d, int tiles, step_kernel_plan *p);
/* States of all problems; where the pass that begins at state `from` ends; row tiles of the largest. */
int64_t sked_i_step_states(const sked_i_stepwise_device *d);
int64_t sked_i_step_end_of_pass(const sked_i_stepwise_device *d, int64_t from, int64_t *taken);
int64_t sked_i_step_largest_pass(const sked_i_stepwise_device *d);
/* Numbers in global memory that blocks of any kernel have of their own. */
int64_t sked_i_step_scratch_size(const sked_i_stepwise_device *d);

/* ------------------------------------------------------------------ stepwise_load.cu, stepwise_host.cu */

/* backend/stepwise.h says what it does. */
sked_status sked_i_step_load(sked_i_stepwise_device *d, int count, const sked_i_stepwise_problem *problem,
                             bool gradients, sked_error *err);
sked_status sked_i_step_upload(sked_i_stepwise_device *d, const void *to, const void *from, size_t bytes,
                               sked_error *err);
/* Waits for all that was asked for. */
sked_status sked_i_step_settle(sked_i_stepwise_device *d, sked_error *err);
#endif
