/* Runs of steps under way: where their points land on the host, in memory that the device writes to. */
#ifndef SKED_BACKEND_CUDA_GAUS_LANDING_H
#define SKED_BACKEND_CUDA_GAUS_LANDING_H
#include "backend/cuda/gaus_steps.h"

typedef struct sked_i_gaus_landings {
    struct {
        double *point; /* [count] */
        sked_i_gaus_control *control;
        cudaEvent_t done;
    } at[SKED_I_GAUS_FLIGHT];
    int64_t count;
    int oldest, under_way;
} sked_i_gaus_landings;

/* Close it after a failure, too; nothing may be under way then. */
sked_status sked_i_gaus_landings_open(sked_i_gaus_landings *l, int64_t count, sked_error *err);
void sked_i_gaus_landings_close(sked_i_gaus_landings *l);
/* The place of the next run, 0 .. SKED_I_GAUS_FLIGHT - 1. */
static inline int sked_i_gaus_landings_next(const sked_i_gaus_landings *l)
{
    return (l->oldest + l->under_way) % SKED_I_GAUS_FLIGHT;
}
/* After the launches of a run: its point and control follow. */
sked_status sked_i_gaus_landings_send(sked_i_gaus_landings *l, const double *point,
                                      const sked_i_gaus_control *control, cudaStream_t stream,
                                      sked_error *err);
/* Waits for the oldest run. What it gives stays until the next two runs are sent. BUG as control_check. */
sked_status sked_i_gaus_landings_wait(sked_i_gaus_landings *l, const double **point, sked_i_gaus_value *value,
                                      sked_error *err);

/*
 * Steps of a run as CUDA graphs: launching kernels one by one takes longer than small problems do. What
 * differs from step to step is read from memory, so one graph serves all runs of SKED_I_GAUS_CAPTURED steps
 * that land in the same place.
 */
enum { SKED_I_GAUS_CAPTURED = 16 };
typedef struct sked_i_gaus_graphs {
    cudaGraphExec_t at[SKED_I_GAUS_FLIGHT];
} sked_i_gaus_graphs;
void sked_i_gaus_graphs_clear(sked_i_gaus_graphs *g);
/* launch(data, place, step) launches one step on the stream; `count` of them are made. */
typedef void (*sked_i_gaus_launch_fn)(void *data, int place, int step);
sked_status sked_i_gaus_graphs_run(sked_i_gaus_graphs *g, int place, int count, sked_i_gaus_launch_fn launch,
                                   void *data, cudaStream_t stream, sked_error *err);
#endif
