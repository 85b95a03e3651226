/*
 * The stepwise policy on the device, as its host code shares it: tables of a model (stepwise_tables.cu),
 * plans of kernels (stepwise_plan.cu), problems (stepwise_load.cu), and the work itself (stepwise_host.cu).
 */
#ifndef SKED_BACKEND_CUDA_STEPWISE_HOST_H
#define SKED_BACKEND_CUDA_STEPWISE_HOST_H
#include "backend/cuda/gflownet_model.h"
#include "backend/cuda/stepwise_kernels.h"
#include "backend/cuda/stepwise_tile_long.h"

extern "C" {
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

struct step_device : sked_i_gpu_model {
    const sked_i_limit *limit; /* of the call under way */
    size_t memory;             /* bytes the GPU has */
    step_net net;
    step_folding folding;
    step_matrix matrix[SKED_I_MAX_LAYERS * STEP_MATRICES + STEP_HEADS];
    step_fold fold[SKED_I_MAX_LAYERS * STEP_MATRICES + STEP_HEADS];
    step_film film[SKED_I_MAX_LAYERS + 2];
    int64_t folded_size, gradient_size; /* of a problem */
    int64_t tile_count;                 /* tiles of its weights */
    step_outer_job *job;                /* on the device */
    int n_jobs;
    /* The load. */
    sked_i_gpu_walks *walks; /* [count] the caller's */
    int count, graphs;       /* graphs: of the update, on all ranks */
    bool gradients;
    step_problem *problem; /* [count] on the host, with pointers of the device */
    char *blob;            /* what is uploaded for it */
    step_problem *problem_there;
    step_draw_plan draw[2]; /* of problems whose warps have a tile each, and of longer ones */
    int parts;              /* of the gradient, over all problems */
    float *scratch, *parts_gradients;
    step_pass pass;     /* memory for the row tiles of a pass */
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
void sked_i_step_make_tables(step_device *d);
/* Pieces of matrices, for the widths of tiles. */
enum { STEP_MOST_JOBS = SKED_I_MAX_LAYERS * 12 + 16 };
struct step_job_list {
    step_outer_job at[STEP_MOST_JOBS];
    int count;
};
void sked_i_step_list_jobs(const step_device *d, step_job_list *list);

/* ------------------------------------------------------------------ stepwise_plan.cu */

/* How the problems that are loaded are drawn and learnt from. */
void sked_i_step_plan(step_device *d);
/* The plan for the gradients of problems of so many row tiles. */
void sked_i_step_plan_states(const step_device *d, int tiles, step_kernel_plan *p);
/* States of all problems; where the pass that begins at state `from` ends; row tiles of the largest. */
int64_t sked_i_step_states(const step_device *d);
int64_t sked_i_step_end_of_pass(const step_device *d, int64_t from, int64_t *taken);
int64_t sked_i_step_largest_pass(const step_device *d);
/* Numbers in global memory that blocks of any kernel have of their own. */
int64_t sked_i_step_scratch_size(const step_device *d);

/* ------------------------------------------------------------------ stepwise_load.cu */

/* Takes these walks instead of those before; gradients: they will be learnt from. */
sked_status sked_i_step_load(step_device *d, int count, sked_i_gpu_walks *walks, bool gradients,
                             sked_error *err);
#endif
