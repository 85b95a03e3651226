/*
 * What a schedule adds to the graph's own DOT (formats/dot_write.c): colours by device (by type without
 * devices), times, the critical chain bold.
 */
#include "formats/dot.h"
#include "report/label.h"
#include "report/palette.h"
#include "report/report.h"

#include "base/memory.h"

#include <stdio.h>

enum { max_nodes = 2000, max_edges = 20000, BOLD = 2 };

#define CRITICAL "color=\"#" SKED_I_CRITICAL_LIGHT "\", penwidth=3"

typedef struct picture {
    sked_i_view view;
    uint8_t *op, *edge;
    int32_t ops; /* that are shown */
} picture;

/* Breadth first over both directions from what is in the queue, until max_nodes ops are chosen. */
static void add_neighbours(const sked_graph *g, uint8_t *shown, int32_t *queue, int32_t count)
{
    for (int32_t k = 0; k < count && count < max_nodes; k++) {
        const int32_t i = queue[k];
        const int64_t out = g->succ_ptr[i + 1] - g->succ_ptr[i], in = g->pred_ptr[i + 1] - g->pred_ptr[i];
        for (int64_t j = 0; j < out + in && count < max_nodes; j++) {
            const int32_t other =
                j < out ? g->edge_to[g->succ_ptr[i] + j] : g->pred_op[g->pred_ptr[i] + j - out];
            if (!shown[other]) {
                shown[other] = 1;
                queue[count++] = other;
            }
        }
    }
}

/* Graphviz cannot lay out much more: the critical chain and what is nearest to it stand for a huge graph. */
static sked_status choose_nodes(sked_i_view *v, uint8_t *shown, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *queue, count = 0;
    if (v->graph->n_ops <= max_nodes) {
        for (int32_t i = 0; i < v->graph->n_ops; i++)
            shown[i] = 1;
        return SKED_OK;
    }
    SKED_OWN(&v->arena, queue, max_nodes);
    for (int32_t k = 0; k < v->n_chain && count < max_nodes; k++) {
        queue[count++] = v->chain[k].op;
        shown[v->chain[k].op] = 1;
    }
    add_neighbours(v->graph, shown, queue, count);
cleanup:
    return st;
}

static void op_attributes(const void *data, int32_t op, sked_i_buffer *out)
{
    const sked_i_view *v = &((const picture *)data)->view;
    char name[300], text[300], a[40], b[40], color[8];
    sked_graph_op_name(v->graph, op, name, sizeof name);
    sked_i_buffer_text(out, ", label=\"");
    sked_i_dot_text(out, sked_i_label_cut(name, 60, text, sizeof text));
    sked_i_buffer_format(out, "\\n%s \xe2\x80\x93 %s",
                         sked_i_label_number(v->schedule->start[op], a, sizeof a),
                         sked_i_label_number(sked_i_view_finish(v, op), b, sizeof b));
    if (v->schedule->devices > 0) {
        sked_i_buffer_text(out, "\\n");
        sked_i_dot_text(out, sked_i_view_device_name(v, v->schedule->device[op], text, sizeof text));
        sked_i_palette_device(v->schedule->device[op], color);
    } else {
        snprintf(color, sizeof color, "#%s", sked_i_palette_hex(v->color[op]));
    }
    sked_i_buffer_format(out, "\", fillcolor=\"%s\"%s", color, v->critical[op] ? ", " CRITICAL : "");
}

static void edge_attributes(const void *data, int64_t e, sked_i_buffer *out)
{
    const picture *p = data;
    const int32_t distance = p->view.graph->edge_distance[e];
    sked_i_buffer_text(out, p->edge[e] == BOLD ? " [" CRITICAL "]" : "");
    if (distance > 0)
        sked_i_buffer_format(out, " [style=dashed, constraint=false, label=\"%d\"]", (int)distance);
}

/* Dotted lines where the chain waited for a device or resource. */
static void write_waits(const void *data, sked_i_buffer *out)
{
    const picture *p = data;
    const sked_i_view *v = &p->view;
    for (int32_t k = 1; k < v->n_chain; k++) {
        const int32_t from = v->chain[k - 1].op, to = v->chain[k].op;
        if (v->chain[k].link == SKED_I_LINK_EDGE || !p->op[from] || !p->op[to])
            continue;
        sked_i_buffer_text(out, "    ");
        sked_i_dot_name(v->graph, from, out);
        sked_i_buffer_text(out, " -> ");
        sked_i_dot_name(v->graph, to, out);
        sked_i_buffer_text(out, " [" CRITICAL ", style=dotted, constraint=false];\n");
    }
}

static void write_label(const void *data, sked_i_buffer *out)
{
    const picture *p = data;
    const sked_i_view *v = &p->view;
    char text[300], number[40];
    const char *name = sked_graph_name(v->graph);
    sked_i_buffer_text(out, "    label=\"");
    sked_i_dot_text(out, sked_i_label_cut(*name ? name : "schedule", 90, text, sizeof text));
    if (v->data->method != NULL && *v->data->method) {
        sked_i_buffer_text(out, ", ");
        sked_i_dot_text(out, sked_i_label_cut(v->data->method, 40, text, sizeof text));
    }
    sked_i_buffer_format(out, ", makespan %s", sked_i_label_number(v->makespan, number, sizeof number));
    if (p->ops < v->graph->n_ops)
        sked_i_buffer_format(out, "\\n%d of %d ops: the critical chain and its neighbours", (int)p->ops,
                             (int)v->graph->n_ops);
    sked_i_buffer_text(
        out, "\";\n    labelloc=t;\n    fontname=\"Helvetica\";\n"
             "    node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=10];\n"
             "    edge [color=\"#59636e\", arrowsize=0.7];\n");
}

/* Which ops and edges are shown, and which edges the critical chain runs over. */
static sked_status choose(picture *p, sked_error *err)
{
    sked_i_view *const v = &p->view;
    const sked_graph *g = v->graph;
    sked_status st = SKED_OK;
    int32_t edges = 0;
    SKED_OWN0(&p->view.arena, p->op, g->n_ops);
    SKED_OWN0(&p->view.arena, p->edge, g->n_edges);
    SKED_TRY(choose_nodes(v, p->op, err));
    for (int32_t i = 0; i < g->n_ops; i++)
        p->ops += p->op[i];
    for (int32_t k = 1; k < v->n_chain; k++)
        if (v->chain[k].link == SKED_I_LINK_EDGE)
            p->edge[v->chain[k].edge] = BOLD;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (!p->op[g->edge_from[e]] || !p->op[g->edge_to[e]])
            p->edge[e] = 0;
        else if (p->edge[e] == 0)
            p->edge[e] = edges++ < max_edges;
cleanup:
    return st;
}

static sked_status dot_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    picture p = {0};
    sked_status st = sked_i_view_init(&p.view, data, err);
    if (st != SKED_OK)
        return st;
    st = choose(&p, err);
    if (st == SKED_OK)
        sked_i_dot_draw(
            p.view.graph,
            &(sked_i_dot_picture){&p, p.op, p.edge, write_label, write_waits, op_attributes, edge_attributes},
            out);
    sked_i_view_free(&p.view);
    return st;
}

const sked_i_report sked_i_report_dot = {
    {"dot", ".dot", "graph coloured by device (Graphviz)"}, dot_write, false};
