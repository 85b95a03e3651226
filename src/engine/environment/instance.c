#include "engine/environment/instance.h"

#include "base/explog.h"
#include "base/memory.h"
#include "engine/environment/choices.h"
#include "graph/relations.h"

#include <assert.h>

static sked_status fill_masks(sked_i_instance *x, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = x->graph;
    const int32_t n = g->n_ops;
    sked_i_masks *m = &x->masks;
    uint8_t *relation = NULL;
    sked_i_closure *closure = NULL;
    m->n = n;
    m->words = (n + 63) / 64;
    SKED_OWN0(&x->arena, m->bits, SKED_I_HEADS * n * m->words);
    SKED_NEW(relation, (int64_t)n * n);
    SKED_TRY(sked_i_closure_create(g, 0, &closure, err));
    if (!sked_i_relations_fill(g, closure, x->limit, relation))
        SKED_TRY(sked_i_limit_fail(err));
    for (int64_t i = 0; i < n; i++) {
        if (i % 64 == 0 && sked_i_limit_heard(x->limit))
            SKED_TRY(sked_i_limit_fail(err));
        for (int64_t j = 0; j < n; j++) {
            const uint64_t bit = UINT64_C(1) << (j & 63);
            const int kind = relation[i * n + j];
            for (int h = i == j ? 0 : kind - 1; h < (i == j ? SKED_I_HEADS : kind); h++)
                m->bits[((int64_t)h * n + i) * m->words + (j >> 6)] |= bit;
        }
    }
cleanup:
    free(relation);
    sked_i_closure_destroy(closure);
    return st;
}

/* ------------------------------------------------------------------ devices */

static void fill_columns(sked_i_instance *x)
{
    const sked_i_platform *p = &x->platform;
    for (int32_t k = 0, at = 0, member = 0; k < x->kinds; k++) {
        x->kind_first[k] = at;
        for (int32_t j = 0; j < sked_i_platform_columns(p, k); j++) {
            x->kind_of[at] = k;
            x->real_of[at++] = p->device[member + j];
        }
        member += p->size[k];
    }
}

/* Harmonic mean over devices: what an op takes of the capacity of all of them is its share of that. */
static void fill_durations(sked_i_instance *x)
{
    const sked_i_platform *p = &x->platform;
    for (int32_t i = 0; i < x->n; i++) {
        const double *time = p->time + (int64_t)i * x->kinds;
        double able = 0, rate = 0, least = INFINITY;
        for (int32_t k = 0; k < x->kinds; k++) {
            able += time[k] < INFINITY ? p->size[k] : 0;
            rate += time[k] > 0 ? p->size[k] / time[k] : INFINITY;
            least = time[k] < least ? time[k] : least;
            x->picky |= !(time[k] < INFINITY);
        }
        x->least[i] = least;
        x->duration[i] = x->kinds == 1 ? time[0] : able / rate;
        x->work += x->duration[i];
    }
    x->unit = x->n > 0 ? x->work / x->n : 0;
}

/* How slow each kind is, and the kinds from quick to slow. */
static void fill_paces(sked_i_instance *x)
{
    for (int32_t k = 0; k < x->kinds; k++) {
        double time = 0, mean = 0;
        for (int32_t i = 0; i < x->n; i++) {
            const double t = x->platform.time[(int64_t)i * x->kinds + k];
            time += t < INFINITY ? t : 0;
            mean += t < INFINITY ? x->duration[i] : 0;
        }
        x->pace[k] = mean > 0 ? time / mean - 1 : 0;
        int32_t at = k;
        for (; at > 0 && x->pace[x->quickest[at - 1]] > x->pace[k]; at--)
            x->quickest[at] = x->quickest[at - 1];
        x->quickest[at] = k;
    }
}

/* ------------------------------------------------------------------ levels and features */

/* The mean transfer of an edge, as levels and features see it. */
typedef struct link_mean {
    double latency, per_byte, share; /* share: of pairs of devices that differ */
} link_mean;

static double transfer_of(const sked_i_instance *x, const link_mean *m, int64_t e)
{
    return m->share * (m->latency + x->platform.bytes[e] * m->per_byte);
}

static double mean_lag(const sked_i_instance *x, int64_t e)
{
    return isnan(x->lag[e]) ? x->duration[x->graph->edge_from[e]] : x->lag[e];
}

/*
 * Bottom levels as HEFT ranks ops, but with a share of the mean transfers: a good schedule keeps most of its
 * longest path on one device. Draws at transfers of four mean durations were 1 to 2 % better than with all.
 */
static const double tail_transfers = 0.3;

static void fill_tails(sked_i_instance *x, const link_mean *m)
{
    const sked_graph *g = x->graph;
    for (int32_t k = x->n - 1; k >= 0; k--) {
        const int32_t i = g->topo[k];
        x->tail[i] = x->duration[i];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                x->tail[i] = sked_i_later(x->tail[i], mean_lag(x, e) + tail_transfers * transfer_of(x, m, e) +
                                                          x->tail[g->edge_to[e]]);
    }
}

static double fill_heads(const sked_i_instance *x, const link_mean *m, double *head)
{
    const sked_graph *g = x->graph;
    double critical = 0;
    for (int32_t i = 0; i < x->n; i++)
        head[i] = 0;
    for (int32_t k = 0; k < x->n; k++) {
        const int32_t i = g->topo[k];
        critical = sked_i_later(critical, head[i] + x->tail[i]);
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0)
                head[g->edge_to[e]] =
                    sked_i_later(head[g->edge_to[e]], head[i] + mean_lag(x, e) + transfer_of(x, m, e));
    }
    return critical;
}

/* Of all edges: mean transfer time; and each edge's share among the in-edges of its op. */
static double fill_shares(sked_i_instance *x, const link_mean *m, double *in, double *out)
{
    const sked_graph *g = x->graph;
    double sum = 0;
    for (int32_t i = 0; i < x->n; i++)
        in[i] = out[i] = 0;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const double t = g->edge_distance[e] == 0 ? transfer_of(x, m, e) : 0;
        in[g->edge_to[e]] += t;
        out[g->edge_from[e]] += t;
        sum += t;
    }
    for (int64_t e = 0; e < g->n_edges; e++) {
        x->hop[e] = transfer_of(x, m, e);
        x->share[e] = in[g->edge_to[e]] > 0 ? x->hop[e] / in[g->edge_to[e]] : 0;
    }
    return g->n_edges > 0 ? sum / (double)g->n_edges : 0;
}

/* Of each op the out-edges with the longest ways to the end; of equals the first. */
static sked_status fill_ahead(sked_i_instance *x, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = x->graph;
    SKED_OWN(&x->arena, x->ahead, (int64_t)x->n * SKED_I_AHEAD);
    for (int32_t i = 0; i < x->n; i++) {
        int32_t *at = x->ahead + (int64_t)i * SKED_I_AHEAD, count = 0;
        double way[SKED_I_AHEAD];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const double its = x->hop[e] + x->tail[g->edge_to[e]];
            if (g->edge_distance[e] != 0 || (count == SKED_I_AHEAD && !(its > way[count - 1])))
                continue;
            int32_t k = count < SKED_I_AHEAD ? count++ : count - 1;
            for (; k > 0 && its > way[k - 1]; k--) {
                way[k] = way[k - 1];
                at[k] = at[k - 1];
            }
            way[k] = its;
            at[k] = (int32_t)e;
        }
        while (count < SKED_I_AHEAD)
            at[count++] = -1;
    }
cleanup:
    return st;
}

static double log1p_of(double x)
{
    return sked_i_log(1 + (x < 1e9 ? x : 1e9));
}

static void fill_machine(sked_i_instance *x, const link_mean *m, double transfer)
{
    double square = 0;
    for (int32_t k = 0; k < x->kinds; k++)
        square += x->platform.size[k] * x->pace[k] * x->pace[k] / x->devices;
    x->machine[0] = log1p_of(transfer / x->unit);
    x->machine[1] = log1p_of(m->share * m->latency / x->unit);
    x->machine[2] = log1p_of(sqrt(square));
}

/* Path lengths, degrees and transfers of each op, and what kind of problem it is, the same for every op. */
static void fill_features(sked_i_instance *x, const double *head, double critical, const double *in,
                          const double *out)
{
    const sked_graph *g = x->graph;
    for (int32_t i = 0; i < x->n; i++) {
        double *f = x->feature + (int64_t)i * SKED_I_STATIC_FEATURES;
        f[0] = x->duration[i] / (x->duration[i] + x->unit);
        f[1] = x->tail[i];
        f[2] = head[i];
        f[3] = sked_i_log(1.0 + (double)(g->succ_ptr[i + 1] - g->succ_ptr[i]));
        f[4] = sked_i_log(1.0 + (double)(g->pred_ptr[i + 1] - g->pred_ptr[i]));
        f[5] = critical;
        f[6] = x->work / x->devices;
        f[7] = sked_i_log(x->devices);
        f[8] = sked_i_log(x->n);
        f[9] = log1p_of(x->tail[i] / x->unit);
        f[10] = log1p_of(head[i] / x->unit);
        f[11] = x->duration[i] > 0 ? x->least[i] / x->duration[i] : 1;
        f[12] = log1p_of(out[i] / x->unit);
        f[13] = log1p_of(in[i] / x->unit);
        f[14] = x->machine[0];
        f[15] = x->machine[2];
    }
}

/* ------------------------------------------------------------------ scale */

/* Everything in units of the makespan of list scheduling. */
static void rescale(sked_i_instance *x, double *head, double *in, double *out)
{
    const double to = 1 / x->scale;
    sked_i_platform *p = &x->platform;
    x->work *= to;
    x->unit *= to;
    if (!(1 / x->unit < INFINITY)) /* 0, or too small to be divided by */
        x->unit = 1;
    for (int64_t k = 0; k < (int64_t)x->n * x->kinds; k++)
        p->time[k] *= to;
    for (int64_t k = 0; k < (int64_t)x->kinds * x->kinds; k++) {
        p->latency[k] *= to;
        p->per_byte[k] *= to;
    }
    for (int32_t i = 0; i < x->n; i++) {
        x->duration[i] *= to;
        x->least[i] *= to;
        x->tail[i] *= to;
        head[i] *= to;
        in[i] *= to;
        out[i] *= to;
    }
    for (int64_t e = 0; e < x->graph->n_edges; e++) {
        x->lag[e] *= to;
        x->hop[e] *= to;
    }
}

static sked_status reserve(sked_i_instance *x, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t edges = x->graph->n_edges;
    SKED_OWN(&x->arena, x->kind_first, x->kinds);
    SKED_OWN(&x->arena, x->kind_of, x->columns);
    SKED_OWN(&x->arena, x->real_of, x->columns);
    SKED_OWN(&x->arena, x->duration, x->n);
    SKED_OWN(&x->arena, x->least, x->n);
    SKED_OWN(&x->arena, x->tail, x->n);
    SKED_OWN(&x->arena, x->lag, edges);
    SKED_OWN(&x->arena, x->hop, edges);
    SKED_OWN(&x->arena, x->share, edges);
    SKED_OWN0(&x->arena, x->waits, x->n);
    SKED_OWN(&x->arena, x->pace, x->kinds);
    SKED_OWN(&x->arena, x->quickest, x->kinds);
    SKED_OWN(&x->arena, x->feature, (int64_t)x->n * SKED_I_STATIC_FEATURES);
cleanup:
    return st;
}

/* level: [3 * n] scratch */
static sked_status fill(sked_i_instance *x, double *level, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = x->graph;
    double *head = level, *in = level + x->n, *out = level + 2 * (int64_t)x->n;
    link_mean m = {.share = (x->devices - 1.0) / x->devices};
    SKED_TRY(reserve(x, err));
    fill_columns(x);
    sked_i_platform_mean_link(&x->platform, &m.latency, &m.per_byte);
    for (int64_t e = 0; e < g->n_edges; e++) {
        x->lag[e] = g->edge_lag_given[e] ? g->edge_lag[e] : NAN;
        x->waits[g->edge_to[e]] += g->edge_distance[e] == 0;
    }
    fill_durations(x);
    fill_paces(x);
    fill_tails(x, &m);
    double critical = fill_heads(x, &m, head), transfer = fill_shares(x, &m, in, out);
    x->transfers = transfer > 0;
    if (x->transfers)
        SKED_TRY(fill_ahead(x, err));
    SKED_TRY(sked_i_choices_list_makespan(x, &x->scale, err));
    if (!(1 / x->scale < INFINITY && x->scale < INFINITY))
        x->scale = 1;
    rescale(x, head, in, out);
    m.latency /= x->scale;
    fill_machine(x, &m, transfer / x->scale);
    fill_features(x, head, critical / x->scale, in, out);
    SKED_TRY(fill_masks(x, err));
cleanup:
    return st;
}

sked_status sked_i_instance_check_stepwise(const sked_i_instance *x, int32_t slots, sked_error *err)
{
    /* Lists of attention take 8 bytes for every pair of ops, each walker 4 a layer: 32 MB and 16 MB here. */
    enum { most_ops = 2000 };
    if (x->devices > slots)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "this stepwise model takes up to %d devices, not %d (slots, fixed when it was made)", (int)slots,
            (int)x->devices);
    if (x->transfers || x->kinds > 1)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "a stepwise model takes equal devices without transfer cost");
    if (x->n > most_ops)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "a stepwise model takes up to %d ops; the graph has %d",
                           (int)most_ops, (int)x->n);
    return SKED_OK;
}

sked_status sked_i_instance_on(const sked_graph *g, sked_i_platform *platform, const sked_i_limit *limit,
                               sked_i_instance **out, sked_error *err)
{
    sked_status st = SKED_OK;
    double *level = NULL;
    sked_i_instance *x = NULL;
    assert(platform->n == g->n_ops && platform->devices >= platform->kinds && platform->kinds >= 1);
    SKED_NEW0(x, 1);
    x->platform = *platform;
    *platform = (sked_i_platform){0};
    x->limit = limit;
    x->graph = g;
    x->n = g->n_ops;
    x->devices = x->platform.devices;
    x->kinds = x->platform.kinds;
    for (int32_t k = 0; k < x->kinds; k++)
        x->columns += sked_i_platform_columns(&x->platform, k);
    SKED_TRY(sked_i_platform_check(&x->platform, err));
    SKED_NEW(level, 3 * (int64_t)x->n);
    SKED_TRY(fill(x, level, err));
    *out = x;
    x = NULL;
cleanup:
    free(level);
    sked_i_platform_clear(platform);
    sked_i_instance_destroy(x);
    return st;
}

void sked_i_instance_destroy(sked_i_instance *x)
{
    if (x == NULL)
        return;
    sked_i_arena_free(&x->arena);
    sked_i_platform_clear(&x->platform);
    free(x);
}

/* ------------------------------------------------------------------ temperature */

/* U = work / makespan falls by work for every unit of time where the makespan is 1. */
double sked_i_instance_kappa(const sked_i_instance *x, double temperature)
{
    assert(temperature > 0);
    return x->work * x->unit / temperature;
}

double sked_i_instance_temperature(const sked_i_instance *x, double kappa)
{
    assert(kappa > 0);
    const double t = x->work * x->unit / kappa;
    return t > 1e-9 ? t : 1e-9; /* ops without duration */
}

double sked_i_instance_sharpness(const sked_i_instance *x, double temperature)
{
    return sqrt(fmin(fmax(sked_i_instance_kappa(x, temperature), 0.25), 4096));
}

void sked_i_instance_heat(const sked_i_instance *x, double temperature, double *out)
{
    const double kappa = sked_i_instance_kappa(x, temperature);
    out[0] = (sked_i_log(temperature) + 5) / 3; /* around 0 and of the order of 1 in training */
    out[1] = (sked_i_log(kappa > 1e-3 ? kappa : 1e-3) - 4) / 2;
    for (int k = 2; k < SKED_I_HEAT_FEATURES; k++)
        out[k] = x->machine[k - 2];
}
