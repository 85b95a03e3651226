/*
 * Times of many schedules under many guesses of the machine: one thread per pair. Neighbouring threads have
 * neighbouring guesses of one schedule, so that its arrays are read once for all of them and the rates, kept
 * [op][guess], in rows.
 */
extern "C" {
#include "backend/backend.h"
#include "base/memory.h"
}

#include "backend/cuda/runtime.h"

#include <string.h>

enum { THREADS = 96 }; /* of a block: the largest number of guesses there is */

/* Numbers on the device. Edges of all schedules are [candidates * edges], rows count from the first of each.
 */
struct tables {
    int32_t ops, guesses;
    int64_t edges;
    int32_t *order, *before, *kind; /* [candidates * ops] */
    double *base, *share, *remote;  /* [candidates * ops] */
    int64_t *row;                   /* [candidates * (ops + 1)] */
    sked_i_timing_edge *edge;
    double *latency, *per_byte, *start_up, *warm, *read, *factor, *speed,
        *size;            /* [.. * guesses]; size NULL: none */
    double *time, *start; /* [ops * candidates * guesses] */
    double *latest;       /* [candidates * guesses] */
};

/* As sked_i_timing_run. */
__global__ static void __launch_bounds__(THREADS) predict_kernel(tables t, int64_t candidates)
{
    const int64_t all = candidates * t.guesses, x = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (x >= all)
        return;
    const int64_t k = x / t.guesses, g = x % t.guesses, m = t.guesses;
    const int64_t *row = t.row + k * (t.ops + 1);
    double latest = 0;
    for (int32_t place = 0; place < t.ops; place++) {
        const int32_t i = t.order[k * t.ops + place], before = t.before[k * t.ops + i];
        double start = 0, warm = 1;
        if (before >= 0)
            start = fmax(start, t.start[before * all + x] + t.time[before * all + x]);
        for (int64_t e = row[i]; e < row[i + 1]; e++) {
            const sked_i_timing_edge edge = t.edge[k * t.edges + e];
            double ready =
                t.start[edge.from * all + x] + (isnan(edge.lag) ? t.time[edge.from * all + x] : edge.lag);
            if (edge.link >= 0)
                ready +=
                    t.latency[edge.link * m + g] +
                    (t.size != NULL ? t.size[edge.from * m + g] : edge.bytes) * t.per_byte[edge.link * m + g];
            start = fmax(start, ready);
            warm = edge.from == before ? t.warm[g] : warm;
        }
        const double time = (t.base[k * t.ops + i] + t.start_up[g] * t.share[k * t.ops + i]) *
                                t.factor[i * m + g] * t.speed[t.kind[k * t.ops + i] * m + g] * warm +
                            t.read[g] * t.remote[k * t.ops + i];
        t.time[i * all + x] = time;
        t.start[i * all + x] = start;
        latest = fmax(latest, start + time);
    }
    t.latest[x] = latest;
}

/* ------------------------------------------------------------------ the host */

/* Cuts the tables from an arena; those of the host have no work space. */
static void lay(tables *t, sked_i_cuda_arena *a, const sked_i_prediction *p, int64_t candidates, bool work)
{
    const int64_t n = p->ops, g = p->guesses, all = candidates * n;
    t->order = sked_i_cut<int32_t>(a, all);
    t->before = sked_i_cut<int32_t>(a, all);
    t->kind = sked_i_cut<int32_t>(a, all);
    t->base = sked_i_cut<double>(a, all);
    t->share = sked_i_cut<double>(a, all);
    t->remote = sked_i_cut<double>(a, all);
    t->row = sked_i_cut<int64_t>(a, candidates * (n + 1));
    t->edge = sked_i_cut<sked_i_timing_edge>(a, candidates * t->edges);
    t->latency = sked_i_cut<double>(a, p->links * g);
    t->per_byte = sked_i_cut<double>(a, p->links * g);
    t->start_up = sked_i_cut<double>(a, g);
    t->warm = sked_i_cut<double>(a, g);
    t->read = sked_i_cut<double>(a, g);
    t->factor = sked_i_cut<double>(a, n * g);
    t->speed = sked_i_cut<double>(a, p->kinds * g);
    t->size = p->rates[0].size != NULL ? sked_i_cut<double>(a, n * g) : NULL;
    if (!work)
        return;
    t->time = sked_i_cut<double>(a, n * candidates * g);
    t->start = sked_i_cut<double>(a, n * candidates * g);
    t->latest = sked_i_cut<double>(a, candidates * g);
}

static void write_candidate(const tables *t, const sked_i_timing *r, int64_t k)
{
    const size_t n = (size_t)t->ops;
    const int64_t first = k * t->ops;
    memcpy(t->order + first, r->order, n * sizeof *r->order);
    memcpy(t->before + first, r->before, n * sizeof *r->before);
    memcpy(t->kind + first, r->kind, n * sizeof *r->kind);
    memcpy(t->base + first, r->base, n * sizeof *r->base);
    memcpy(t->share + first, r->share, n * sizeof *r->share);
    memcpy(t->remote + first, r->remote, n * sizeof *r->remote);
    memcpy(t->row + k * (t->ops + 1), r->row, (n + 1) * sizeof *r->row);
    memcpy(t->edge + k * t->edges, r->edge, (size_t)t->edges * sizeof *r->edge);
}

static void write_row(double *to, const double *from, int64_t count, int64_t guesses, int64_t g)
{
    for (int64_t k = 0; k < count; k++)
        to[k * guesses + g] = from[k];
}

static void write_rates(const tables *t, const sked_i_prediction *p)
{
    for (int64_t g = 0; g < p->guesses; g++) {
        const sked_i_rates *r = &p->rates[g];
        write_row(t->latency, r->latency, p->links, p->guesses, g);
        write_row(t->per_byte, r->per_byte, p->links, p->guesses, g);
        write_row(t->factor, r->factor, p->ops, p->guesses, g);
        write_row(t->speed, r->kind, p->kinds, p->guesses, g);
        if (t->size != NULL)
            write_row(t->size, r->size, p->ops, p->guesses, g);
        t->start_up[g] = r->start_up;
        t->warm[g] = r->warm;
        t->read[g] = r->read;
    }
}

/* Candidates first to first + count - 1. host and device are laid out alike; the work space comes last. */
static sked_status run_part(const sked_i_prediction *p, const tables *host, const tables *device,
                            size_t bytes, int64_t first, int64_t count, double *time, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t all = count * p->guesses;
    for (int64_t k = 0; k < count; k++)
        write_candidate(host, p->timing[first + k], k);
    write_rates(host, p);
    CUDA_TRY(cudaMemcpy(device->order, host->order, bytes, cudaMemcpyHostToDevice));
    {
        const tables t = *device;
        SKED_LAUNCH(predict_kernel, (unsigned)((all + THREADS - 1) / THREADS), THREADS, 0, 0, t, count);
    }
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpy(time + first * p->guesses, device->latest, (size_t)all * sizeof *time,
                        cudaMemcpyDeviceToHost));
cleanup:
    return st;
}

extern "C" sked_status sked_i_cuda_predict(const sked_i_prediction *p, double *time, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t pairs = (int64_t)p->ops * p->guesses;
    int64_t part = ((int64_t)1 << 26) / (pairs > 0 ? pairs : 1); /* 1 GiB of starts and times */
    tables host = {}, device = {};
    sked_i_cuda_arena arena = {}, there = {};
    if (p->candidates == 0 || p->guesses == 0)
        return SKED_OK;
    part = part < 1 ? 1 : part < p->candidates ? part : p->candidates;
    host.ops = device.ops = p->ops;
    host.guesses = device.guesses = p->guesses;
    host.edges = device.edges = p->timing[0]->row[p->ops];
    lay(&host, &there, p, part, false);
    const size_t bytes = there.used;
    lay(&device, &arena, p, part, true);
    if ((there.at = (char *)sked_i_alloc((int64_t)bytes, 1)) == NULL)
        return sked_i_no_memory(err);
    there.used = 0;
    lay(&host, &there, p, part, false);
    SKED_TRY(sked_i_cuda_arena_open(&arena, "a prediction", err));
    lay(&device, &arena, p, part, true);
    for (int64_t done = 0; done < p->candidates; done += part) {
        const int64_t count = part < p->candidates - done ? part : p->candidates - done;
        SKED_TRY(run_part(p, &host, &device, bytes, done, count, time, err));
    }
cleanup:
    sked_i_cuda_arena_close(&arena);
    free(there.at);
    return st;
}
