#include "method/gflownet/device.h"

#include "graph/graph.h"
#include "method/gflownet/choices.h"

_Static_assert(
    (int)SKED_I_ONCE_LAYERS == SKED_I_MAX_LAYERS && (int)SKED_I_ONCE_STATIC == SKED_I_STATIC_FEATURES &&
        (int)SKED_I_ONCE_HEAT == SKED_I_HEAT_FEATURES && (int)SKED_I_ONCE_WAIT == SKED_I_WAIT_FEATURES &&
        (int)SKED_I_ONCE_LAST == SKED_I_LAST_FEATURES && (int)SKED_I_ONCE_STATE == SKED_I_STATE_FEATURES &&
        (int)SKED_I_ONCE_BACK == SKED_I_BACK_FEATURES && (int)SKED_I_ONCE_PAIR == SKED_I_PAIR_FEATURES &&
        (int)SKED_I_ONCE_DIRECT == SKED_I_DIRECT_FEATURES && (int)SKED_I_ONCE_OPS == SKED_I_CHOICE_OPS &&
        (int)SKED_I_ONCE_DEVICES == SKED_I_CHOICE_DEVICES,
    "the backend computes the same policy");

void sked_i_once_shape_of(const sked_i_layout *layout, sked_i_once_shape *out)
{
    const sked_i_sizes *s = &layout->sizes;
    *out = (sked_i_once_shape){.dim = s->dim,
                               .layers = s->layers,
                               .head = s->head,
                               .mlp = s->mlp,
                               .temperature = s->temperature,
                               .context = s->context,
                               .width = s->width,
                               .learned = s->backward == SKED_I_BACKWARD_LEARNED,
                               .total = layout->total};
#define SKED_X(name) out->name = layout->name;
    SKED_I_ONCE_OFFSETS(SKED_X)
#undef SKED_X
    for (int k = 0; k < s->layers; k++) {
#define SKED_X(name) out->layer[k].name = layout->layer[k].name;
        SKED_I_LAYER_OFFSETS(SKED_X)
#undef SKED_X
    }
}

void sked_i_once_problem_of(const sked_i_instance *x, double temperature, sked_i_once_problem *out)
{
    const sked_graph *g = x->graph;
    *out = (sked_i_once_problem){.n = x->n,
                                 .devices = x->devices,
                                 .groups = x->groups,
                                 .columns = x->columns,
                                 .edges = g->n_edges,
                                 .transfers = x->transfers,
                                 .picky = x->picky,
                                 .work = x->work,
                                 .unit = x->unit,
                                 .temperature = temperature,
                                 .sharpness = sked_i_instance_sharpness(x, temperature),
                                 .group_size = x->platform.size,
                                 .group_first = x->group_first,
                                 .quickest = x->quickest,
                                 .group_of = x->group_of,
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
                                 .share = x->share,
                                 .bytes = x->platform.bytes,
                                 .masks = x->masks.bits,
                                 .words = x->masks.words};
    sked_i_instance_heat(x, temperature, out->heat);
}
