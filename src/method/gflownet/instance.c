#include "method/gflownet/instance.h"

#include "base/explog.h"
#include "base/memory.h"
#include "base/rng.h"
#include "graph/relations.h"
#include "method/gflownet/network/layout.h"

static sked_status fill_masks(const sked_graph *g, const sked_i_limit *limit, sked_i_masks *m,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = g->n_ops;
    uint8_t *relation = NULL;
    sked_i_closure *closure = NULL;
    m->n = n;
    m->words = (n + 63) / 64;
    SKED_NEW0(m->bits, SKED_I_HEADS * n * m->words);
    SKED_NEW(relation, (int64_t)n * n);
    SKED_TRY(sked_i_closure_create(g, 0, &closure, err));
    if (!sked_i_relations_fill(g, closure, limit, relation))
        SKED_TRY(sked_i_limit_fail(err));
    for (int64_t i = 0; i < n; i++) {
        if (i % 64 == 0 && sked_i_limit_heard(limit))
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

/* Head and tail path lengths, degrees, and what kind of problem it is, the same for every op. */
static void fill_features(sked_i_instance *x, const double *head, double critical)
{
    const sked_graph *g = x->graph;
    for (int32_t i = 0; i < x->n; i++) {
        double *f = x->feature + (int64_t)i * SKED_I_STATIC_FEATURES;
        f[0] = x->duration[i];
        f[1] = x->tail[i];
        f[2] = head[i] / x->scale;
        f[3] = sked_i_log(1.0 + (double)(g->succ_ptr[i + 1] - g->succ_ptr[i]));
        f[4] = sked_i_log(1.0 + (double)(g->pred_ptr[i + 1] - g->pred_ptr[i]));
        f[5] = critical / x->scale;
        f[6] = x->work / x->devices;
        f[7] = sked_i_log(x->devices);
        f[8] = sked_i_log(x->n);
    }
}

static sked_status fill(sked_i_instance *x, double *head, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = x->graph;
    double work = 0;
    SKED_NEW(x->duration, x->n);
    SKED_NEW(x->tail, x->n);
    SKED_NEW(x->lag, g->n_edges);
    SKED_NEW0(x->waits, x->n);
    SKED_NEW(x->feature, (int64_t)x->n * SKED_I_STATIC_FEATURES);
    sked_i_heads(g, head);
    sked_i_tails(g, x->tail);
    const double critical = sked_i_critical_path(g, head);
    for (int32_t i = 0; i < x->n; i++)
        work += g->duration[i];
    x->scale = work / x->devices > critical ? work / x->devices : critical;
    if (!(x->scale > 0 && x->scale < INFINITY))
        x->scale = 1;
    x->work = work / x->scale;
    for (int32_t i = 0; i < x->n; i++) {
        x->duration[i] = g->duration[i] / x->scale;
        x->tail[i] /= x->scale;
    }
    for (int64_t e = 0; e < g->n_edges; e++) {
        x->lag[e] = g->edge_lag[e] / x->scale;
        x->waits[g->edge_to[e]] += g->edge_distance[e] == 0;
    }
    fill_features(x, head, critical);
    SKED_TRY(fill_masks(g, x->limit, &x->masks, err));
cleanup:
    return st;
}

sked_status sked_i_instance_create(const sked_graph *g, int32_t devices, const sked_i_limit *limit,
                                   sked_i_instance **out, sked_error *err)
{
    const int64_t pairs = (int64_t)g->n_ops * (devices < g->n_ops ? devices : g->n_ops);
    if (g->n_ops > SKED_I_GFLOWNET_OPS)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "gflownet takes up to %d ops; the graph has %d",
                           (int)SKED_I_GFLOWNET_OPS, (int)g->n_ops);
    if (pairs > SKED_I_GFLOWNET_PAIRS)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "gflownet takes up to %d choices of op and device; %d ops on %d devices have more",
                           (int)SKED_I_GFLOWNET_PAIRS, (int)g->n_ops, (int)devices);
    sked_status st = SKED_OK;
    double *head = NULL;
    sked_i_instance *x = NULL;
    SKED_NEW0(x, 1);
    x->limit = limit;
    x->graph = g;
    x->n = g->n_ops;
    x->devices = devices;
    SKED_NEW(head, x->n);
    SKED_TRY(fill(x, head, err));
    *out = x;
    x = NULL;
cleanup:
    free(head);
    sked_i_instance_destroy(x);
    return st;
}

void sked_i_instance_destroy(sked_i_instance *x)
{
    if (x == NULL)
        return;
    free(x->duration);
    free(x->tail);
    free(x->lag);
    free(x->waits);
    free(x->feature);
    free(x->masks.bits);
    free(x);
}
