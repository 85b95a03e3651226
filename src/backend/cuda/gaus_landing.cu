/* Runs of steps under way: how their points come back. */
#include "backend/cuda/gaus_landing.h"

sked_status sked_i_gaus_landings_open(sked_i_gaus_landings *l, int64_t count, sked_error *err)
{
    sked_status st = SKED_OK;
    l->count = count;
    for (int k = 0; k < SKED_I_GAUS_FLIGHT; k++) {
        CUDA_TRY(cudaMallocHost(&l->at[k].point, (size_t)(count > 0 ? count : 1) * sizeof(double)));
        CUDA_TRY(cudaMallocHost(&l->at[k].control, sizeof(sked_i_gaus_control)));
        CUDA_TRY(cudaEventCreateWithFlags(&l->at[k].done, cudaEventDisableTiming));
    }
cleanup:
    return st;
}

void sked_i_gaus_landings_close(sked_i_gaus_landings *l)
{
    for (int k = 0; k < SKED_I_GAUS_FLIGHT; k++) {
        cudaFreeHost(l->at[k].point);
        cudaFreeHost(l->at[k].control);
        if (l->at[k].done != NULL)
            cudaEventDestroy(l->at[k].done);
    }
}

sked_status sked_i_gaus_landings_send(sked_i_gaus_landings *l, const double *point,
                                      const sked_i_gaus_control *control, cudaStream_t stream,
                                      sked_error *err)
{
    sked_status st = SKED_OK;
    const int k = sked_i_gaus_landings_next(l);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(l->at[k].point, point, (size_t)l->count * sizeof *point, cudaMemcpyDeviceToHost,
                             stream));
    CUDA_TRY(cudaMemcpyAsync(l->at[k].control, control, sizeof *control, cudaMemcpyDeviceToHost, stream));
    CUDA_TRY(cudaEventRecord(l->at[k].done, stream));
    l->under_way++;
cleanup:
    return st;
}

sked_status sked_i_gaus_landings_wait(sked_i_gaus_landings *l, const double **point, sked_i_gaus_value *value,
                                      sked_error *err)
{
    sked_status st = SKED_OK;
    const int k = l->oldest;
    CUDA_TRY(cudaEventSynchronize(l->at[k].done));
    l->oldest = (l->oldest + 1) % SKED_I_GAUS_FLIGHT;
    l->under_way--;
    SKED_TRY(sked_i_gaus_control_check(l->at[k].control, err));
    *point = l->at[k].point;
    *value = l->at[k].control->value;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ graphs */

void sked_i_gaus_graphs_clear(sked_i_gaus_graphs *g)
{
    for (int k = 0; k < SKED_I_GAUS_FLIGHT; k++) {
        if (g->at[k] != NULL)
            cudaGraphExecDestroy(g->at[k]);
        g->at[k] = NULL;
    }
}

static sked_status capture(sked_i_gaus_graphs *g, int place, sked_i_gaus_launch_fn launch, void *data,
                           cudaStream_t stream, sked_error *err)
{
    sked_status st = SKED_OK;
    cudaGraph_t graph = NULL;
    CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < SKED_I_GAUS_CAPTURED; k++)
        launch(data, place, k);
    CUDA_TRY(cudaStreamEndCapture(stream, &graph));
    CUDA_TRY(cudaGraphInstantiate(&g->at[place], graph, 0));
cleanup:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return st;
}

sked_status sked_i_gaus_graphs_run(sked_i_gaus_graphs *g, int place, int count, sked_i_gaus_launch_fn launch,
                                   void *data, cudaStream_t stream, sked_error *err)
{
    sked_status st = SKED_OK;
    if (count == SKED_I_GAUS_CAPTURED) {
        if (g->at[place] == NULL)
            SKED_TRY(capture(g, place, launch, data, stream, err));
        CUDA_TRY(cudaGraphLaunch(g->at[place], stream));
        return SKED_OK;
    }
    for (int k = 0; k < count; k++)
        launch(data, place, k);
cleanup:
    return st;
}
