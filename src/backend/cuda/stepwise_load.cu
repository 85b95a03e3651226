/* Problems of the stepwise policy, from the host to the device. */
#include "backend/cuda/stepwise_host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef sked_i_stepwise_device device;

/* A piece of memory that is filled on the host and uploaded: host NULL only measures. */
struct packer {
    char *host, *there;
    size_t used;
};

static void *pack(packer *b, const void *from, size_t bytes)
{
    char *at = b->there + b->used;
    if (b->host != NULL && bytes > 0)
        memcpy(b->host + b->used, from, bytes);
    b->used += (bytes + 15) / 16 * 16;
    return at;
}

/* Rows of a graph as int32: it has fewer edges than that (8 bytes each have been allocated). */
static int32_t *pack_rows(packer *b, const int64_t *row, int32_t n)
{
    int32_t *at = (int32_t *)(b->there + b->used);
    for (int32_t i = 0; i <= n && b->host != NULL; i++)
        ((int32_t *)(b->host + b->used))[i] = (int32_t)row[i];
    b->used += ((size_t)n + 1 + 3) / 4 * 4 * sizeof *at;
    return at;
}

static void pack_problem(const device *d, packer *b, const sked_i_stepwise_problem *from, step_problem *p)
{
    const size_t n = (size_t)from->ops, m = (size_t)from->edges;
    p->succ_ptr = pack_rows(b, from->succ_ptr, from->ops);
    p->pred_ptr = pack_rows(b, from->pred_ptr, from->ops);
    p->succ = (const int32_t *)pack(b, from->succ, m * sizeof(int32_t));
    p->pred = (const int32_t *)pack(b, from->pred, m * sizeof(int32_t));
    p->lag = (const double *)pack(b, from->lag, m * sizeof(double));
    p->duration = (const double *)pack(b, from->duration, n * sizeof(double));
    p->tail = (const double *)pack(b, from->tail, n * sizeof(double));
    p->masks =
        (const uint64_t *)pack(b, from->masks, SKED_I_HEADS * n * (size_t)from->words * sizeof(uint64_t));
    p->ops = from->ops;
    p->devices = from->devices;
    p->batch = from->batch;
    p->listed = from->listed;
    p->walk = from->walk;
    p->words = (int)from->words;
    p->work = from->work;
    p->unit = from->unit;
    p->temperature = from->temperature;
    p->sharpness = d->net.ruled ? (float)from->sharpness : 1;
    p->log_devices = (float)log((double)from->devices);
    for (int i = 0; i < SKED_I_STEPWISE_HEAT; i++)
        p->heat[i] = (float)from->heat[i];
    p->seed = from->seed;
    p->first = from->first;
    p->law = from->loss;
    p->law.entropy /= (double)p->batch * p->ops;
}

/* Whether warps take its tiles in turn, in drawing or in learning. */
static bool takes_turns(const device *d, const step_problem *p)
{
    step_kernel_plan plan;
    if (!d->tiled)
        return false;
    sked_i_step_plan_states(d, step_tiles_of(p->ops), &plan);
    return p->ops >= d->draw[1].least || (d->gradients && plan.turns);
}

static void cut_masks(sked_i_cuda_arena *a, step_problem *p)
{
    const int64_t tiles = step_tiles_of(p->ops), rows = TILE_HEADS * tiles;
    p->seen = SKED_CUT(a, uint8_t, rows * tiles * SKED_STEP_WARP);
    p->live = SKED_CUT(a, uint32_t, rows * step_live_words((int)tiles));
}

static bool has_masks(const device *d)
{
    for (int k = 0; k < d->count; k++)
        if (d->problem[k].seen != NULL)
            return true;
    return false;
}

static void cut_problem(const device *d, sked_i_cuda_arena *a, step_problem *p)
{
    const int64_t cells = (int64_t)p->batch * p->ops, columns = (int64_t)p->batch * p->devices;
    int32_t **const words[] = {&p->op,       &p->device,  &p->at,    &p->on,
                               &p->ready_at, &p->gone_at, &p->queue, &p->waits};
    double **const numbers[] = {&p->start, &p->data, &p->noise},
                   **const of_batch[] = {&p->log_forward, &p->log_backward, &p->makespan};
    for (int32_t **w : words)
        *w = SKED_CUT(a, int32_t, cells);
    for (double **x : numbers)
        *x = SKED_CUT(a, double, cells);
    for (double **x : of_batch)
        *x = SKED_CUT(a, double, p->batch);
    p->free_at = SKED_CUT(a, double, columns);
    p->last = SKED_CUT(a, int32_t, columns);
    p->rng = SKED_CUT(a, uint64_t, 4 * (int64_t)p->batch);
    p->queued = SKED_CUT(a, int32_t, p->batch);
    p->folded = SKED_CUT(a, float, d->folded_size);
    p->tiles = d->tiled ? SKED_CUT(a, step_tile, d->tile_count * SKED_STEP_WARP) : NULL;
    p->seen = NULL;
    if (takes_turns(d, p))
        cut_masks(a, p);
    p->film = SKED_CUT(a, float, 2 * d->folding.film_size);
    p->warmth = SKED_CUT(a, float, 4 * d->folding.temperature);
    if (!d->gradients)
        return;
    p->free_until = d->net.ruled ? SKED_CUT(a, double, cells * p->devices) : NULL;
    p->slope = SKED_CUT(a, float, p->batch);
    p->gradient = SKED_CUT(a, float, d->shape.total);
    p->folded_gradient = SKED_CUT(a, float, d->gradient_size);
    if (p->law.kind != SKED_I_LOSS_PPO)
        return;
    p->log_step = SKED_CUT(a, double, cells);
    p->value = SKED_CUT(a, double, cells);
}

static void cut_load(device *d, sked_i_cuda_arena *a, size_t blob)
{
    char *there = (char *)sked_i_cuda_arena_cut(a, blob);
    d->problem_there = (step_problem *)there;
    d->loss = SKED_CUT(a, double, STEP_LOSS_NUMBERS * d->count);
    d->trouble = SKED_CUT(a, int32_t, d->trajectories);
    d->share = SKED_CUT(a, float, d->count);
    for (int k = 0; k < d->count; k++)
        cut_problem(d, a, &d->problem[k]);
    d->block_gradients = SKED_CUT(a, float, d->grad.blocks * d->gradient_size);
    d->scratch = SKED_CUT(a, float, sked_i_step_scratch_size(d));
    const int64_t lanes = sked_i_step_largest_pass(d) * SKED_STEP_WARP;
    d->pass.kept = SKED_CUT(a, step_tile, lanes * step_kept_tiles(d->net));
    d->pass.scale = SKED_CUT(a, float2, lanes * step_kept_scales(d->net));
    int64_t first = 0;
    for (int k = 0; k < d->count && there != NULL; k++) {
        d->problem[k].loss = d->loss + STEP_LOSS_NUMBERS * k;
        d->problem[k].trouble = d->trouble + first;
        first += d->problem[k].batch;
    }
}

static size_t pack_load(device *d, const sked_i_stepwise_problem *problem, char *host)
{
    packer b = {host, (char *)d->problem_there, 0};
    pack(&b, d->problem, (size_t)d->count * sizeof *d->problem);
    for (int k = 0; k < d->count; k++)
        pack_problem(d, &b, &problem[k], &d->problem[k]);
    if (host != NULL) /* again: now the pointers are known */
        memcpy(host, d->problem, (size_t)d->count * sizeof *d->problem);
    return b.used;
}

/* Room for the load, in the memory there is or in new. */
static sked_status open_load(device *d, size_t blob, sked_error *err)
{
    char what[80];
    sked_i_cuda_arena count = {};
    cut_load(d, &count, blob);
    if (count.used > d->work.size) {
        snprintf(what, sizeof what, "stepwise policy: %d graph%s of up to %d ops, %lld trajectories,",
                 d->count, d->count == 1 ? "" : "s", d->most_ops, (long long)d->trajectories);
        sked_status st = sked_i_step_settle(d, err); /* the last update may still read there */
        sked_i_cuda_arena_close(&d->work);
        d->work.used = count.used;
        if (st == SKED_OK)
            st = sked_i_cuda_arena_open(&d->work, what, err);
        if (st != SKED_OK) {
            d->work = {};
            d->count = 0;
            return st;
        }
    }
    d->work.used = 0;
    cut_load(d, &d->work, blob);
    return SKED_OK;
}

sked_status sked_i_step_load(sked_i_stepwise_device *d, int count, const sked_i_stepwise_problem *problem,
                             bool gradients, sked_error *err)
{
    sked_status st = SKED_OK;
    size_t blob;
    d->count = 0;
    d->drawn = false;
    free(d->problem);
    free(d->blob);
    d->blob = NULL;
    d->problem = (step_problem *)sked_i_alloc_zero(count, sizeof *d->problem);
    if (d->problem == NULL)
        return sked_i_no_memory(err);
    d->count = count;
    d->graphs = problem[0].graphs > count ? problem[0].graphs : count;
    d->gradients = gradients;
    d->problem_there = NULL;
    blob = pack_load(d, problem, NULL);
    sked_i_step_plan(d);
    d->blob = (char *)sked_i_alloc((int64_t)blob, 1);
    if (d->blob == NULL) {
        d->count = 0;
        return sked_i_no_memory(err);
    }
    SKED_TRY(open_load(d, blob, err));
    pack_load(d, problem, d->blob);
    SKED_TRY(sked_i_step_upload(d, d->problem_there, d->blob, blob, err));
    for (int k = 0; k < count; k++)
        if (problem[k].walk == SKED_I_STEPWISE_REPLAY) {
            const size_t bytes = (size_t)problem[k].batch * (size_t)problem[k].ops * sizeof(int32_t);
            SKED_TRY(sked_i_step_upload(d, d->problem[k].op, problem[k].op, bytes, err));
            SKED_TRY(sked_i_step_upload(d, d->problem[k].device, problem[k].device, bytes, err));
        }
    if (has_masks(d))
        sked_i_step_masks(d->problem_there, count, d->stream);
    for (const step_draw_plan &p : d->draw)
        if (p.trajectories > 0)
            CUDA_TRY(sked_i_step_draw_allow(p.how, p.kernel.shared));
    if (gradients && !d->tiled)
        CUDA_TRY(sked_i_step_grad_allow(d->grad.shared));
cleanup:
    return st;
}
