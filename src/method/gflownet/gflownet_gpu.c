#include "method/gflownet/gflownet_gpu.h"

#include "backend/backend.h"
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

sked_status sked_i_gflownet_gpu_check(const sked_i_layout *layout, sked_error *err)
{
    const sked_i_sizes *s = &layout->sizes;
    const bool once = s->policy == SKED_I_POLICY_ENCODE_ONCE;
    char context[24] = "";
    if (once && s->backward == SKED_I_BACKWARD_LEARNED)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "policy encode-once computes on the GPU with backward=uniform only; use the cpu "
                           "backend");
    if (s->dim == SKED_I_GPU_DIM && s->head == SKED_I_GPU_HEAD && s->mlp == SKED_I_GPU_MLP &&
        s->width == SKED_I_GPU_WIDTH && (!once || s->context == SKED_I_GPU_CONTEXT))
        return SKED_OK;
    if (once)
        snprintf(context, sizeof context, " context=%d", SKED_I_GPU_CONTEXT);
    return sked_i_fail(
        err, SKED_ERR_UNSUPPORTED,
        "policy %s computes on the GPU with dim=%d head=%d mlp=%d%s width=%d only; use the cpu "
        "backend",
        once ? "encode-once" : "stepwise", SKED_I_GPU_DIM, SKED_I_GPU_HEAD, SKED_I_GPU_MLP, context,
        SKED_I_GPU_WIDTH);
}

void sked_i_gflownet_gpu_shape_of(const sked_i_layout *layout, sked_i_gpu_shape *out)
{
    const sked_i_sizes *s = &layout->sizes;
    *out = (sked_i_gpu_shape){.learned = s->backward == SKED_I_BACKWARD_LEARNED,
                              .ruled = s->rule == SKED_I_RULE_LIST,
                              .total = layout->total};
#define SKED_X(name, preset, least, most, help) out->name = s->name;
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
#define SKED_X(name, rows, columns, initial) out->name = layout->name;
    SKED_I_WHOLE_PARAMETERS(SKED_X)
#undef SKED_X
    memcpy(out->layer, layout->layer, sizeof out->layer);
}

sked_status sked_i_gflownet_gpu_problem_of(const sked_i_instance *x, const sked_i_layout *layout,
                                           double temperature, sked_i_gpu_problem *out, sked_error *err)
{
    const sked_graph *g = x->graph;
    if (layout->sizes.policy == SKED_I_POLICY_STEPWISE) {
        const sked_status st = sked_i_instance_check_stepwise(x, layout->sizes.slots, err);
        if (st != SKED_OK)
            return st;
    }
    *out = (sked_i_gpu_problem){.n = x->n,
                                .devices = x->devices,
                                .kinds = x->kinds,
                                .columns = x->columns,
                                .edges = g->n_edges,
                                .transfers = x->transfers,
                                .picky = x->picky,
                                .work = x->work,
                                .unit = x->unit,
                                .temperature = temperature,
                                .sharpness = sked_i_instance_sharpness(x, temperature),
                                .trust = 1,
                                .kind_size = x->platform.size,
                                .kind_first = x->kind_first,
                                .quickest = x->quickest,
                                .kind_of = x->kind_of,
                                .pace = x->pace,
                                .latency = x->platform.latency,
                                .per_byte = x->platform.per_byte,
                                .time = x->platform.time,
                                .duration = x->duration,
                                .least = x->least,
                                .tail = x->tail,
                                .feature = x->feature,
                                .waits = x->waits,
                                .succ_ptr = g->succ_ptr,
                                .pred_ptr = g->pred_ptr,
                                .pred_edge = g->pred_edge,
                                .edge_to = g->edge_to,
                                .edge_distance = g->edge_distance,
                                .pred_op = g->pred_op,
                                .lag = x->lag,
                                .hop = x->hop,
                                .share = x->share,
                                .ahead = x->ahead,
                                .bytes = x->platform.bytes,
                                .masks = x->masks.bits,
                                .words = x->masks.words};
    sked_i_instance_heat(x, temperature, out->heat);
    return SKED_OK;
}

sked_status sked_i_gpu_model_open(const sked_i_backend *backend, const sked_sampler *model, bool moments,
                                  const sked_i_gpu_policy **policy, sked_i_gpu_model **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gpu_shape shape;
    sked_i_gpu_model *m = NULL;
    const sked_i_gpu_policy *p =
        model->layout.sizes.policy == SKED_I_POLICY_ENCODE_ONCE ? backend->once : backend->stepwise;
    SKED_TRY(sked_i_gflownet_gpu_check(&model->layout, err));
    sked_i_gflownet_gpu_shape_of(&model->layout, &shape);
    SKED_TRY(p->create(&shape, &m, err));
    SKED_TRY(
        p->put(m, model->parameter, moments ? model->moment1 : NULL, moments ? model->moment2 : NULL, err));
    *policy = p;
    *out = m;
    m = NULL;
cleanup:
    if (m != NULL)
        p->destroy(m);
    return st;
}
