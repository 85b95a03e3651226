/* Problems of the stepwise policy, from the host to the device. */
#include "backend/cuda/stepwise_host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Edges of distance 0: out-edges with their lags, then in-edges. */
static void pack_edges(gpu_pack *b, const sked_i_gpu_problem *x, step_problem *p)
{
    int32_t *succ_ptr = gpu_room(b, x->n + 1, &p->succ_ptr), *succ = gpu_room(b, x->edges, &p->succ);
    int32_t *pred_ptr = gpu_room(b, x->n + 1, &p->pred_ptr), *pred = gpu_room(b, x->edges, &p->pred);
    double *lag = gpu_room(b, x->edges, &p->lag);
    int32_t succs = 0, preds = 0;
    if (b->host == NULL)
        return;
    for (int32_t i = 0; i < x->n; i++) {
        succ_ptr[i] = succs;
        pred_ptr[i] = preds;
        for (int64_t e = x->succ_ptr[i]; e < x->succ_ptr[i + 1]; e++)
            if (x->edge_distance[e] == 0) {
                lag[succs] = isnan(x->lag[e]) ? x->time[i] : x->lag[e];
                succ[succs++] = x->edge_to[e];
            }
        for (int64_t k = x->pred_ptr[i]; k < x->pred_ptr[i + 1]; k++)
            if (x->edge_distance[x->pred_edge[k]] == 0)
                pred[preds++] = x->pred_op[k];
    }
    succ_ptr[x->n] = succs;
    pred_ptr[x->n] = preds;
}

static void pack_problem(const step_device *d, gpu_pack *b, const sked_i_gpu_walks *w, step_problem *p)
{
    const sked_i_gpu_problem *from = w->problem;
    pack_edges(b, from, p);
    gpu_copy(b, from->n, from->time, &p->duration); /* one kind of devices */
    gpu_copy(b, from->n, from->tail, &p->tail);
    gpu_copy(b, SKED_I_HEADS * from->n * from->words, from->masks, &p->masks);
    p->ops = from->n;
    p->devices = from->devices;
    p->batch = w->count;
    p->listed = w->listed;
    p->greedy = w->greedy;
    p->replay = w->replay;
    p->words = (int)from->words;
    p->work = from->work;
    p->unit = from->unit;
    p->temperature = from->temperature;
    p->sharpness = d->net.ruled ? (float)from->sharpness : 1;
    p->log_devices = (float)log((double)from->devices);
    for (int i = 0; i < SKED_I_HEAT_FEATURES; i++)
        p->heat[i] = (float)from->heat[i];
    p->seed = w->seed;
    p->first = w->first;
    p->law = w->loss_of;
    p->law.entropy /= (double)p->batch * p->ops;
}

/* Whether warps take its tiles in turn, in drawing or in learning. */
static bool takes_turns(const step_device *d, const step_problem *p)
{
    step_kernel_plan plan;
    sked_i_step_plan_states(d, step_tiles_of(p->ops), &plan);
    return p->ops >= d->draw[1].least || (d->gradients && plan.turns);
}

static void cut_masks(sked_i_cuda_arena *a, step_problem *p)
{
    const int64_t tiles = step_tiles_of(p->ops), rows = TILE_HEADS * tiles;
    p->seen = sked_i_cut<uint8_t>(a, rows * tiles * SKED_STEP_WARP);
    p->live = sked_i_cut<uint32_t>(a, rows * step_live_words((int)tiles));
}

static bool has_masks(const step_device *d)
{
    for (int k = 0; k < d->count; k++)
        if (d->problem[k].seen != NULL)
            return true;
    return false;
}

static void cut_problem(const step_device *d, sked_i_cuda_arena *a, step_problem *p)
{
    const int64_t cells = (int64_t)p->batch * p->ops, columns = (int64_t)p->batch * p->devices;
    sked_i_cut_all(a, cells,
                   {&p->op, &p->device, &p->at, &p->on, &p->ready_at, &p->gone_at, &p->queue, &p->waits});
    sked_i_cut_all(a, cells, {&p->start, &p->data, &p->noise});
    sked_i_cut_all(a, p->batch, {&p->log_forward, &p->log_backward, &p->makespan});
    p->free_at = sked_i_cut<double>(a, columns);
    p->last = sked_i_cut<int32_t>(a, columns);
    p->rng = sked_i_cut<uint64_t>(a, 4 * (int64_t)p->batch);
    p->queued = sked_i_cut<int32_t>(a, p->batch);
    p->folded = sked_i_cut<float>(a, d->folded_size);
    p->tiles = sked_i_cut<step_tile>(a, d->tile_count * SKED_STEP_WARP);
    p->seen = NULL;
    if (takes_turns(d, p))
        cut_masks(a, p);
    p->film = sked_i_cut<float>(a, 2 * d->folding.film_size);
    p->warmth = sked_i_cut<float>(a, 4 * d->folding.temperature);
    if (!d->gradients)
        return;
    p->free_until = d->net.ruled ? sked_i_cut<double>(a, cells * p->devices) : NULL;
    p->slope = sked_i_cut<float>(a, p->batch);
    p->folded_gradient = sked_i_cut<float>(a, d->gradient_size);
    if (p->law.kind == SKED_I_LOSS_PPO)
        sked_i_cut_all(a, cells, {&p->log_step, &p->value});
    if (p->law.by_steps)
        sked_i_cut_all(a, cells, {&p->outlook, &p->flow});
}

static void cut_load(step_device *d, sked_i_cuda_arena *a, size_t blob)
{
    char *there = (char *)sked_i_cuda_arena_cut(a, blob);
    d->problem_there = (step_problem *)there;
    d->loss = sked_i_cut<double>(a, STEP_LOSS_NUMBERS * d->count);
    d->trouble = sked_i_cut<int32_t>(a, d->trajectories);
    if (d->gradients) {
        d->lessons = d->count;
        sked_i_gpu_cut_gradients(d, a);
        d->norm = sked_i_cut<double>(a, d->count);
    }
    for (int k = 0; k < d->count; k++)
        cut_problem(d, a, &d->problem[k]);
    d->parts_gradients = sked_i_cut<float>(a, d->parts * d->gradient_size);
    d->scratch = sked_i_cut<float>(a, sked_i_step_scratch_size(d));
    const int64_t lanes = sked_i_step_largest_pass(d) * SKED_STEP_WARP;
    d->pass.kept = sked_i_cut<step_tile>(a, lanes * step_kept_tiles(d->net));
    d->pass.scale = sked_i_cut<float2>(a, lanes * step_kept_scales(d->net));
    int64_t first = 0;
    for (int k = 0; k < d->count && there != NULL; k++) {
        d->problem[k].loss = d->loss + STEP_LOSS_NUMBERS * k;
        d->problem[k].trouble = d->trouble + first;
        d->problem[k].gradient = d->gradients ? d->gradient + k * d->shape.total : NULL;
        first += d->problem[k].batch;
    }
}

static size_t pack_load(step_device *d, char *host)
{
    gpu_pack b = {host, (char *)d->problem_there, 0};
    const step_problem *there;
    gpu_copy(&b, d->count, d->problem, &there);
    for (int k = 0; k < d->count; k++)
        pack_problem(d, &b, &d->walks[k], &d->problem[k]);
    if (host != NULL) /* again: now the pointers are known */
        memcpy(host, d->problem, (size_t)d->count * sizeof *d->problem);
    return b.used;
}

/* Room for the load, in the memory there is or in new. */
static sked_status open_load(step_device *d, size_t blob, sked_error *err)
{
    char what[80];
    sked_i_cuda_arena count = {};
    cut_load(d, &count, blob);
    if (count.used > d->work.size) {
        snprintf(what, sizeof what, "stepwise policy: %d graph%s of up to %d ops, %lld trajectories,",
                 d->count, d->count == 1 ? "" : "s", d->most_ops, (long long)d->trajectories);
        sked_status st = sked_i_gpu_settle(d, err); /* the last update may still read there */
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

/* Trajectories that are given. */
static sked_status upload_steps(step_device *d, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; k < d->count; k++) {
        const sked_i_gpu_walks *w = &d->walks[k];
        const size_t bytes = (size_t)w->count * (size_t)w->problem->n * sizeof(int32_t);
        if (!w->replay)
            continue;
        SKED_TRY(sked_i_gpu_upload(d, d->problem[k].op, w->op, bytes, err));
        SKED_TRY(sked_i_gpu_upload(d, d->problem[k].device, w->device, bytes, err));
    }
cleanup:
    return st;
}

sked_status sked_i_step_load(step_device *d, int count, sked_i_gpu_walks *walks, bool gradients,
                             sked_error *err)
{
    sked_status st = SKED_OK;
    size_t blob;
    d->count = 0;
    free(d->problem);
    free(d->blob);
    d->blob = NULL;
    d->problem = (step_problem *)sked_i_alloc_zero(count, sizeof *d->problem);
    if (d->problem == NULL)
        return sked_i_no_memory(err);
    d->walks = walks;
    d->count = count;
    d->graphs = walks[0].graphs > count ? walks[0].graphs : count;
    d->gradients = gradients;
    d->problem_there = NULL;
    blob = pack_load(d, NULL);
    sked_i_step_plan(d);
    d->blob = (char *)sked_i_alloc((int64_t)blob, 1);
    if (d->blob == NULL) {
        d->count = 0;
        return sked_i_no_memory(err);
    }
    SKED_TRY(open_load(d, blob, err));
    pack_load(d, d->blob);
    SKED_TRY(sked_i_gpu_upload(d, d->problem_there, d->blob, blob, err));
    SKED_TRY(upload_steps(d, err));
    if (has_masks(d))
        sked_i_step_masks(d->problem_there, count, d->stream);
    for (const step_draw_plan &p : d->draw)
        if (p.trajectories > 0)
            CUDA_TRY(sked_i_step_draw_allow(p.how, p.kernel.shared));
cleanup:
    return st;
}
