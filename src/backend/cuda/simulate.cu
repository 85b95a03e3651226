/*
 * The batched simulator on a GPU: one thread per schedule. Starts and orders are kept [op][schedule], so that
 * the threads of a warp read neighbouring words; the graph's rows are the same for all and stay in cache.
 * Floor: each op of each schedule moves its start once out and once per out-edge in, order and device once
 * in.
 */
extern "C" {
#include "backend/backend.h"
}

#include "backend/cuda/gflownet_model.h"
#include "backend/cuda/runtime.h"

#include <stdio.h>

extern "C" {

static sked_status available(sked_error *err)
{
    int devices = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess)
        return sked_i_cuda_fail(code, "no usable GPU", err);
    if (devices == 0)
        return sked_i_fail(err, SKED_ERR_DEVICE, "CUDA: this machine has no GPU");
    return sked_i_cuda_place(err);
}
}

/* [schedule][op] to [op][schedule] through shared memory, so that both sides are read and written in rows. */
__global__ static void transpose(const int32_t *in, int32_t *out, int64_t rows, int64_t columns)
{
    __shared__ int32_t tile[32][33];
    const int64_t x = (int64_t)blockIdx.x * 32 + threadIdx.x, y0 = (int64_t)blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += blockDim.y)
        if (x < columns && y0 + k < rows)
            tile[k][threadIdx.x] = in[(y0 + k) * columns + x];
    __syncthreads();
    const int64_t row = y0 + threadIdx.x, c0 = (int64_t)blockIdx.x * 32;
    for (int k = threadIdx.y; k < 32; k += blockDim.y)
        if (row < rows && c0 + k < columns)
            out[(c0 + k) * rows + row] = tile[threadIdx.x][k];
}

struct device_graph {
    int32_t ops, devices;
    const double *duration, *lag, *transfer;
    const int64_t *row;
    const int32_t *pred;
    sked_i_batch_machine machine; /* with pointers of the device */
};

/* Identical devices. */
struct plain_costs {
    __device__ static double time(const device_graph &g, int32_t i, int32_t)
    {
        return g.duration[i];
    }
    __device__ static double arrival(const device_graph &g, double start, int64_t e, int32_t, int32_t from,
                                     int32_t to)
    {
        const double arrives = start + g.lag[e];
        return g.transfer != NULL && from != to ? arrives + g.transfer[e] : arrives;
    }
};

/* Unequal devices and links: the same tables as on the CPU. */
struct machine_costs {
    __device__ static double time(const device_graph &g, int32_t i, int32_t device)
    {
        const sked_i_batch_machine &m = g.machine;
        const int32_t k = m.class_of[device];
        if (m.table_row != NULL && m.table_row[i] >= 0)
            return m.table[(int64_t)m.table_row[i] * m.classes + k];
        return g.duration[i] / m.speed[k];
    }
    __device__ static double transfer(const sked_i_batch_machine &m, int64_t e, int32_t from, int32_t to)
    {
        if (!m.transfers || from == to)
            return 0;
        const int64_t at = (int64_t)m.group_of[from] * m.groups + m.group_of[to];
        if (isnan(m.link_latency[at]))
            return m.bytes[e] > 0 ? CUDART_INF : 0;
        return m.link_latency[at] + m.bytes[e] / m.link_bandwidth[at];
    }
    __device__ static double arrival(const device_graph &g, double start, int64_t e, int32_t q, int32_t from,
                                     int32_t to)
    {
        const double lag = isnan(g.lag[e]) ? time(g, q, from) : g.lag[e];
        return start + lag + transfer(g.machine, e, from, to);
    }
};

template <class costs>
__global__ static void simulate_kernel(device_graph g, int64_t count, const int32_t *device,
                                       const int32_t *order, double *start, double *free_at, double *makespan)
{
    const int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= count)
        return;
    double latest = 0;
    for (int32_t i = 0; i < g.ops; i++)
        start[i * count + b] = -1;
    for (int32_t d = 0; d < g.devices; d++)
        free_at[d * count + b] = 0;
    for (int32_t k = 0; k < g.ops; k++) {
        const int32_t i = order[k * count + b], mine = device[i * count + b];
        double t = free_at[mine * count + b];
        for (int64_t e = g.row[i]; e < g.row[i + 1]; e++) {
            const int32_t q = g.pred[e];
            const double s = start[q * count + b];
            if (s < 0) {
                makespan[b] = nan("");
                return;
            }
            const double arrives = costs::arrival(g, s, e, q, device[q * count + b], mine);
            t = arrives > t ? arrives : t;
        }
        start[i * count + b] = t;
        t += costs::time(g, i, mine);
        free_at[mine * count + b] = t;
        latest = t > latest ? t : latest;
    }
    makespan[b] = latest;
}

/* Everything on the device for one call. */
struct buffers {
    void *duration, *row, *pred, *lag, *transfer, *device, *order, *raw, *start, *free_at, *makespan;
    void *class_of, *group_of, *speed, *table_row, *table, *link_latency, *link_bandwidth, *bytes;
};

static sked_status upload(const void *from, size_t bytes, void **to, sked_error *err)
{
    sked_status st = SKED_OK;
    CUDA_TRY(cudaMalloc(to, bytes ? bytes : 1));
    if (from != NULL)
        CUDA_TRY(cudaMemcpy(*to, from, bytes, cudaMemcpyHostToDevice));
cleanup:
    return st;
}

static sked_status upload_graph(const sked_i_batch_graph *g, buffers *b, sked_error *err)
{
    const size_t n = (size_t)g->ops, m = (size_t)g->edges;
    sked_status st = upload(g->duration, n * sizeof(double), &b->duration, err);
    if (st == SKED_OK)
        st = upload(g->row, (n + 1) * sizeof(int64_t), &b->row, err);
    if (st == SKED_OK)
        st = upload(g->pred, m * sizeof(int32_t), &b->pred, err);
    if (st == SKED_OK)
        st = upload(g->lag, m * sizeof(double), &b->lag, err);
    if (st == SKED_OK && g->transfer != NULL)
        st = upload(g->transfer, m * sizeof(double), &b->transfer, err);
    return st;
}

static sked_status upload_machine(const sked_i_batch_graph *g, buffers *b, sked_error *err)
{
    const sked_i_batch_machine *m = g->machine;
    const size_t d = (size_t)g->devices, k = (size_t)m->classes, links = (size_t)m->groups * m->groups;
    sked_status st = upload(m->class_of, d * sizeof(int32_t), &b->class_of, err);
    if (st == SKED_OK)
        st = upload(m->group_of, d * sizeof(int32_t), &b->group_of, err);
    if (st == SKED_OK)
        st = upload(m->speed, k * sizeof(double), &b->speed, err);
    if (st == SKED_OK && m->table_row != NULL)
        st = upload(m->table_row, (size_t)g->ops * sizeof(int32_t), &b->table_row, err);
    if (st == SKED_OK && m->table_row != NULL)
        st = upload(m->table, (size_t)m->rows * k * sizeof(double), &b->table, err);
    if (st == SKED_OK)
        st = upload(m->link_latency, links * sizeof(double), &b->link_latency, err);
    if (st == SKED_OK)
        st = upload(m->link_bandwidth, links * sizeof(double), &b->link_bandwidth, err);
    if (st == SKED_OK)
        st = upload(m->bytes, (size_t)g->edges * sizeof(double), &b->bytes, err);
    return st;
}

/* The machine with its tables on the device. */
static sked_i_batch_machine on_device(const sked_i_batch_machine *m, const buffers *b)
{
    sked_i_batch_machine out = {};
    if (m == NULL)
        return out;
    out = *m;
    out.class_of = (const int32_t *)b->class_of;
    out.group_of = (const int32_t *)b->group_of;
    out.speed = (const double *)b->speed;
    out.table_row = (const int32_t *)b->table_row;
    out.table = (const double *)b->table;
    out.link_latency = (const double *)b->link_latency;
    out.link_bandwidth = (const double *)b->link_bandwidth;
    out.bytes = (const double *)b->bytes;
    return out;
}

static sked_status run_part(const sked_i_batch_graph *g, const buffers *b, int64_t count,
                            const int32_t *device, const int32_t *order, double *makespan, sked_error *err)
{
    sked_status st = SKED_OK;
    const size_t cells = (size_t)count * (size_t)g->ops;
    const dim3 grid((unsigned)((g->ops + 31) / 32), (unsigned)((count + 31) / 32)), block(32, 8);
    const device_graph d = {g->ops,
                            g->devices,
                            (const double *)b->duration,
                            (const double *)b->lag,
                            (const double *)b->transfer,
                            (const int64_t *)b->row,
                            (const int32_t *)b->pred,
                            on_device(g->machine, b)};
    const auto kernel = g->machine != NULL ? simulate_kernel<machine_costs> : simulate_kernel<plain_costs>;
    CUDA_TRY(cudaMemcpy(b->raw, device, cells * sizeof *device, cudaMemcpyHostToDevice));
    SKED_LAUNCH(transpose, grid, block, 0, 0, (const int32_t *)b->raw, (int32_t *)b->device, count, g->ops);
    CUDA_TRY(cudaMemcpy(b->raw, order, cells * sizeof *order, cudaMemcpyHostToDevice));
    SKED_LAUNCH(transpose, grid, block, 0, 0, (const int32_t *)b->raw, (int32_t *)b->order, count, g->ops);
    SKED_LAUNCH(kernel, (unsigned)((count + 127) / 128), 128, 0, 0, d, count, (const int32_t *)b->device,
                (const int32_t *)b->order, (double *)b->start, (double *)b->free_at, (double *)b->makespan);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpy(makespan, b->makespan, (size_t)count * sizeof *makespan, cudaMemcpyDeviceToHost));
cleanup:
    return st;
}

extern "C" {

/* Batches are cut so that the work space stays below 2 GiB. */
static sked_status simulate(const sked_i_batch_graph *g, int64_t count, const int32_t *device,
                            const int32_t *order, double *makespan, sked_error *err)
{
    buffers b = {};
    const int64_t bytes = (int64_t)g->ops * 20 + (int64_t)g->devices * 8 + 8;
    int64_t part = ((int64_t)2 << 30) / bytes;
    part = part < 1 ? 1 : part > 2000000 ? 2000000 : part;
    part = part < count ? part : count;
    const size_t cells = (size_t)part * (size_t)g->ops;
    sked_status st = upload_graph(g, &b, err);
    if (st == SKED_OK && g->machine != NULL)
        st = upload_machine(g, &b, err);
    void **const space[] = {&b.device, &b.order, &b.raw, &b.start, &b.free_at, &b.makespan};
    const size_t sizes[] = {
        cells * 4, cells * 4, cells * 4, cells * 8, (size_t)part * (size_t)g->devices * 8, (size_t)part * 8};
    for (int k = 0; st == SKED_OK && k < 6; k++)
        st = upload(NULL, sizes[k], space[k], err);
    for (int64_t done = 0; st == SKED_OK && done < count; done += part) {
        const int64_t now = part < count - done ? part : count - done;
        st = run_part(g, &b, now, device + done * g->ops, order + done * g->ops, makespan + done, err);
    }
    void *const owned[] = {b.duration, b.row,   b.pred,      b.lag,     b.transfer,     b.device,
                           b.order,    b.raw,   b.start,     b.free_at, b.makespan,     b.class_of,
                           b.group_of, b.speed, b.table_row, b.table,   b.link_latency, b.link_bandwidth,
                           b.bytes};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        cudaFree(owned[k]);
    return st;
}

/* The first call makes the context; where it fails, the next one says why. */
static void wake(void)
{
    if (sked_i_cuda_place(NULL) == SKED_OK)
        (void)cudaFree(NULL);
}

/* predict.cu */
sked_status sked_i_cuda_predict(const sked_i_prediction *p, double *time, sked_error *err);

extern const sked_i_backend sked_i_backend_cuda;
const sked_i_backend sked_i_backend_cuda = {"cuda",
                                            available,
                                            wake,
                                            simulate,
                                            &sked_i_gaus_cuda,
                                            &sked_i_gaus_descent_cuda,
                                            &sked_i_gaus_device_cuda,
                                            &sked_i_gaus_device_descent_cuda,
                                            sked_i_cuda_predict,
                                            NULL,
                                            &sked_i_once_cuda,
                                            &sked_i_stepwise_cuda};
}
