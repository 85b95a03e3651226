/* Problems as bytes for one copy, and the layout of a trajectory's state. */
#include "backend/cuda/gflownet_once.h"

#include <math.h>

/* Out-edges of distance 0. */
static void pack_successors(gpu_pack *p, const sked_i_gpu_problem *x, once_lesson *l)
{
    int32_t *ptr = gpu_room(p, x->n + 1, &l->succ_ptr), *to = gpu_room(p, x->edges, &l->succ_op);
    double *lag = gpu_room(p, x->edges, &l->lag),
           *share = gpu_room(p, l->transfers ? x->edges : 0, &l->share);
    double *bytes = gpu_room(p, l->transfers ? x->edges : 0, &l->bytes);
    int32_t at = 0;
    if (ptr == NULL)
        return;
    l->twice = false;
    for (int32_t i = 0; i < x->n; i++) {
        ptr[i] = at;
        for (int64_t e = x->succ_ptr[i]; e < x->succ_ptr[i + 1]; e++) {
            if (x->edge_distance[e] != 0)
                continue;
            for (int32_t k = at - 1; k >= ptr[i] && !l->twice; k--)
                l->twice = to[k] == x->edge_to[e];
            to[at] = x->edge_to[e];
            lag[at] = x->lag[e];
            if (l->transfers) {
                share[at] = x->share[e];
                bytes[at] = x->bytes[e];
            }
            at++;
        }
    }
    ptr[x->n] = at;
}

static void pack_ahead(gpu_pack *p, const sked_i_gpu_problem *x, once_lesson *l)
{
    const int64_t cells = l->transfers ? (int64_t)x->n * AHEAD : 0;
    int32_t *op = gpu_room(p, cells, &l->ahead);
    double *lag = gpu_room(p, cells, &l->ahead_lag), *hop = gpu_room(p, cells, &l->ahead_hop);
    for (int64_t k = 0; k < cells && op != NULL; k++) {
        const int32_t e = x->ahead[k];
        op[k] = e < 0 ? -1 : x->edge_to[e];
        lag[k] = e < 0 ? 0 : x->lag[e];
        hop[k] = e < 0 ? 0 : x->hop[e];
    }
}

/* Predecessors by edges of distance 0, each once: in-edges are in the order of their beginnings. */
static void pack_predecessors(gpu_pack *p, const sked_i_gpu_problem *x, once_lesson *l)
{
    int32_t *ptr = gpu_room(p, x->n + 1, &l->pred_ptr), *op = gpu_room(p, x->edges, &l->pred_op), at = 0;
    if (ptr == NULL)
        return;
    for (int32_t i = 0; i < x->n; i++) {
        ptr[i] = at;
        for (int64_t k = x->pred_ptr[i]; k < x->pred_ptr[i + 1]; k++)
            if (x->edge_distance[x->pred_edge[k]] == 0 && (at == ptr[i] || op[at - 1] != x->pred_op[k]))
                op[at++] = x->pred_op[k];
    }
    ptr[x->n] = at;
}

void once_pack_lesson(gpu_pack *p, const sked_i_gpu_walks *w, once_lesson *l)
{
    const sked_i_gpu_problem *x = w->problem;
    const int64_t n = x->n, g = x->kinds;
    l->n = x->n;
    l->devices = x->devices;
    l->kinds = x->kinds;
    l->columns = x->columns;
    l->count = w->count;
    l->listed = w->listed;
    l->words = (int32_t)x->words;
    l->transfers = x->transfers;
    l->picky = x->picky;
    l->greedy = w->greedy;
    l->replay = w->replay;
    l->work = x->work;
    l->unit = x->unit;
    l->per_unit = 1 / x->unit;
    l->temperature = x->temperature;
    l->sharpness = (float)x->sharpness;
    l->trust = (float)x->trust;
    for (int k = 0; k < SKED_I_HEAT_FEATURES; k++)
        l->heat[k] = (float)x->heat[k];
    l->law = w->loss_of;
    l->law.entropy /= (double)w->count * x->n;
    l->seed = w->seed;
    l->first = w->first;
    const int32_t used = x->picky || x->columns < MOST_DEVICES ? x->columns : (int32_t)MOST_DEVICES;
    l->choices = used + (x->picky || x->kinds < MOST_DEVICES ? x->kinds : (int32_t)MOST_DEVICES);
    gpu_copy(p, g, x->kind_size, &l->kind_size);
    gpu_copy(p, g, x->kind_first, &l->kind_first);
    gpu_copy(p, g, x->quickest, &l->quickest);
    gpu_copy(p, x->columns, x->kind_of, &l->kind_of);
    float *pace = gpu_room(p, g, &l->pace);
    for (int64_t k = 0; k < g && pace != NULL; k++)
        pace[k] = (float)(x->pace[k] / (1 + fabs(x->pace[k])));
    gpu_copy(p, g * g, x->latency, &l->latency);
    gpu_copy(p, g * g, x->per_byte, &l->per_byte);
    gpu_copy(p, n * g, x->time, &l->time);
    gpu_copy(p, n, x->duration, &l->duration);
    gpu_copy(p, n, x->least, &l->least);
    gpu_copy(p, n, x->tail, &l->tail);
    gpu_copy(p, n, x->waits, &l->waits);
    pack_successors(p, x, l);
    pack_predecessors(p, x, l);
    pack_ahead(p, x, l);
    gpu_copy(p, HEADS * n * x->words, x->masks, &l->masks);
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

once_layout once_lay_out(int32_t threads, bool want_grad, int32_t shared, int32_t lessons,
                         const once_lesson *lesson)
{
    once_layout out = {};
    int64_t n = 0, k = 0, g = 0, d = 0, p = 0, moves = 0, inside = 0, outside = 0;
    const int64_t c = ONCE_WIDE, w = ONCE_WIDE, t = threads / WARP, grad = want_grad;
    for (int32_t b = 0; b < lessons; b++) {
        const once_lesson *l = &lesson[b];
        n = larger(n, l->n);
        k = larger(k, l->columns);
        g = larger(g, l->kinds);
        d = larger(d, l->choices);
        p = larger(p, (l->n < MOST_OPS ? l->n : (int64_t)MOST_OPS) * l->choices);
        moves = larger(moves, l->transfers);
    }
    out.inside = true;
#define X(name, type, numbers)                                                        \
    do {                                                                              \
        const int64_t bytes = ((int64_t)sizeof(type) * (numbers) + 15) / 16 * 16;     \
        const bool fits = inside + bytes <= shared;                                   \
        out.offset[ONCE_PIECE_##name] = (int32_t)(fits ? inside : -1 - outside / 16); \
        out.inside &= fits || ONCE_PIECE_##name > ONCE_LAST_INSIDE;                   \
        *(fits ? &inside : &outside) += bytes;                                        \
    } while (0);
    ONCE_PIECES(X)
#undef X
    out.shared_bytes = (int32_t)inside;
    out.stride = (outside + 255) / 256 * 256;
    return out;
}
