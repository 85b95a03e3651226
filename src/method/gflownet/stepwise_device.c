#include "method/gflownet/stepwise_device.h"

#include "base/memory.h"

/* The lists of attention take 8 bytes for every pair of ops, each walker 4 a layer: 32 MB and 16 MB here. */
enum { MAX_OPS = 2000 };

sked_status sked_i_stepwise_check(const sked_i_instance *x, const sked_i_layout *layout, sked_error *err)
{
    if (x->devices > layout->sizes.slots)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "this stepwise model takes up to %d devices, not %d (slots, fixed when it was made)",
            (int)layout->sizes.slots, (int)x->devices);
    if (x->transfers || x->groups > 1)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "a stepwise model takes equal devices without transfer cost");
    if (x->n > MAX_OPS)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "a stepwise model takes up to %d ops; the graph has %d",
                           (int)MAX_OPS, (int)x->n);
    return SKED_OK;
}

void sked_i_stepwise_shape_fill(const sked_i_layout *layout, sked_i_stepwise_shape *out)
{
    const sked_i_sizes *z = &layout->sizes;
    *out = (sked_i_stepwise_shape){.dim = z->dim,
                                   .layers = z->layers,
                                   .head = z->head,
                                   .mlp = z->mlp,
                                   .temperature = z->temperature,
                                   .width = z->width,
                                   .slots = z->slots,
                                   .learned = z->backward == SKED_I_BACKWARD_LEARNED,
                                   .ruled = z->rule == SKED_I_RULE_LIST,
                                   .total = layout->total};
#define SKED_X(name) out->name = layout->name;
    SKED_I_STEPWISE_OFFSETS(SKED_X)
#undef SKED_X
#define SKED_X(name) out->layer[i].name = layout->layer[i].name;
    for (int i = 0; i < z->layers; i++) {
        SKED_I_LAYER_OFFSETS(SKED_X)
    }
#undef SKED_X
}

/* Rows of successors and of predecessors over the edges of distance 0. */
static void fill_edges(const sked_i_instance *x, sked_i_stepwise_input *in)
{
    const sked_graph *g = x->graph;
    int64_t *succ_row = in->row, *pred_row = in->row + x->n + 1, succs = 0, preds = 0;
    int32_t *succ = in->neighbour, *pred = in->neighbour + g->n_edges;
    for (int32_t i = 0; i < x->n; i++) {
        succ_row[i] = succs;
        pred_row[i] = preds;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0) {
                in->lag[succs] = sked_i_instance_lag(x, e, 0);
                succ[succs++] = g->edge_to[e];
            }
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
            if (g->edge_distance[g->pred_edge[k]] == 0)
                pred[preds++] = g->pred_op[k];
    }
    succ_row[x->n] = succs;
    pred_row[x->n] = preds;
    in->problem.edges = succs;
    in->problem.succ_ptr = succ_row;
    in->problem.pred_ptr = pred_row;
    in->problem.succ = succ;
    in->problem.pred = pred;
    in->problem.lag = in->lag;
}

sked_status sked_i_stepwise_input_make(const sked_i_instance *x, const sked_i_layout *layout,
                                       double temperature, sked_i_stepwise_input *out, sked_error *err)
{
    sked_status st = SKED_OK;
    *out = (sked_i_stepwise_input){0};
    SKED_TRY(sked_i_stepwise_check(x, layout, err));
    SKED_NEW(out->row, 2 * ((int64_t)x->n + 1));
    SKED_NEW(out->neighbour, 2 * x->graph->n_edges);
    SKED_NEW(out->lag, x->graph->n_edges);
    sked_i_stepwise_problem *p = &out->problem;
    p->ops = x->n;
    p->devices = x->devices;
    fill_edges(x, out);
    p->duration = x->platform.time; /* one group: its times are the durations */
    p->tail = x->tail;
    p->work = x->work;
    p->unit = x->unit;
    p->words = x->masks.words;
    p->masks = x->masks.bits;
    p->temperature = temperature;
    p->sharpness = sked_i_instance_sharpness(x, temperature);
    sked_i_instance_heat(x, temperature, p->heat);
cleanup:
    return st;
}

void sked_i_stepwise_input_clear(sked_i_stepwise_input *in)
{
    free(in->row);
    free(in->neighbour);
    free(in->lag);
    *in = (sked_i_stepwise_input){0};
}
