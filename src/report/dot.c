/* The graph as Graphviz text: colours by device (by type without devices), times, the critical chain bold. */
#include "report/label.h"
#include "report/palette.h"
#include "report/report.h"

#include "base/memory.h"

#include <stdio.h>

enum { max_nodes = 2000, max_edges = 20000 };

/* Inside quotes; a backslash would start an escape of its own. */
static void write_quoted(sked_i_buffer *out, const char *text)
{
    for (const char *s = text; *s; s++) {
        if (*s == '"' || *s == '\\')
            sked_i_buffer_char(out, '\\');
        if ((unsigned char)*s >= 0x20 && *s != 0x7f)
            sked_i_buffer_char(out, *s);
        else
            sked_i_buffer_char(out, ' ');
    }
}

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
static sked_status choose_nodes(const sked_i_view *v, uint8_t *shown, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *queue = NULL, count = 0;
    if (v->graph->n_ops <= max_nodes) {
        for (int32_t i = 0; i < v->graph->n_ops; i++)
            shown[i] = 1;
        return SKED_OK;
    }
    SKED_NEW(queue, max_nodes);
    for (int32_t k = 0; k < v->n_chain && count < max_nodes; k++) {
        queue[count++] = v->chain[k].op;
        shown[v->chain[k].op] = 1;
    }
    add_neighbours(v->graph, shown, queue, count);
cleanup:
    free(queue);
    return st;
}

static void write_node(const sked_i_view *v, int32_t op, sked_i_buffer *out)
{
    char name[300], text[300], a[40], b[40], color[8];
    const char *type = sked_graph_op_type(v->graph, op);
    sked_graph_op_name(v->graph, op, name, sizeof name);
    sked_i_buffer_format(out, "  n%d [label=\"", (int)op);
    write_quoted(out, sked_i_label_cut(name, 60, text, sizeof text));
    sked_i_buffer_format(out, "\\n%s \xe2\x80\x93 %s",
                         sked_i_label_number(v->schedule->start[op], a, sizeof a),
                         sked_i_label_number(sked_i_view_finish(v, op), b, sizeof b));
    if (v->schedule->devices > 0) {
        sked_i_buffer_text(out, "\\n");
        write_quoted(out, sked_i_view_device_name(v, v->schedule->device[op], text, sizeof text));
    }
    sked_i_buffer_text(out, "\", tooltip=\"");
    write_quoted(out, type ? sked_i_label_cut(type, 60, text, sizeof text) : "op");
    if (v->schedule->devices > 0)
        sked_i_palette_device(v->schedule->device[op], color);
    else
        snprintf(color, sizeof color, "#%s", sked_i_palette_hex(v->color[op]));
    sked_i_buffer_format(out, "\", fillcolor=\"%s\"%s];\n", color,
                         v->critical[op] ? ", color=\"#" SKED_I_CRITICAL_LIGHT "\", penwidth=3" : "");
}

static void write_edge(const sked_graph *g, int64_t e, bool critical, sked_i_buffer *out)
{
    sked_i_buffer_format(out, "  n%d -> n%d", (int)g->edge_from[e], (int)g->edge_to[e]);
    if (critical)
        sked_i_buffer_text(out, " [color=\"#" SKED_I_CRITICAL_LIGHT "\", penwidth=3]");
    if (g->edge_distance[e] > 0)
        sked_i_buffer_format(out, " [style=dashed, constraint=false, label=\"%d\"]",
                             (int)g->edge_distance[e]);
    sked_i_buffer_text(out, ";\n");
}

/* What the chain waited for: bold edges, and dotted lines where a device or resource was taken. */
static void write_chain(const sked_i_view *v, const uint8_t *shown, uint8_t *bold, sked_i_buffer *out)
{
    for (int32_t k = 1; k < v->n_chain; k++) {
        const int32_t from = v->chain[k - 1].op, to = v->chain[k].op;
        if (v->chain[k].link == SKED_I_LINK_EDGE)
            bold[v->chain[k].edge] = 1;
        else if (shown[from] && shown[to])
            sked_i_buffer_format(out,
                                 "  n%d -> n%d [color=\"#" SKED_I_CRITICAL_LIGHT
                                 "\", penwidth=2, style=dotted, constraint=false];\n",
                                 (int)from, (int)to);
    }
}

static void write_graph_label(const sked_i_view *v, int32_t shown, sked_i_buffer *out)
{
    char text[300], number[40];
    const char *name = sked_graph_name(v->graph);
    sked_i_buffer_text(out, "digraph schedule {\n  label=\"");
    write_quoted(out, sked_i_label_cut(*name ? name : "schedule", 90, text, sizeof text));
    if (v->data->method != NULL && *v->data->method) {
        sked_i_buffer_text(out, ", ");
        write_quoted(out, sked_i_label_cut(v->data->method, 40, text, sizeof text));
    }
    sked_i_buffer_format(out, ", makespan %s", sked_i_label_number(v->makespan, number, sizeof number));
    if (shown < v->graph->n_ops)
        sked_i_buffer_format(out, "\\n%d of %d ops: the critical chain and its neighbours", (int)shown,
                             (int)v->graph->n_ops);
    sked_i_buffer_text(out,
                       "\";\n  labelloc=t;\n  fontname=\"Helvetica\";\n"
                       "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=10];\n"
                       "  edge [color=\"#59636e\", arrowsize=0.7];\n");
}

static sked_status write_graph(const sked_i_view *v, sked_i_buffer *out, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = v->graph;
    uint8_t *shown = NULL, *bold = NULL;
    int32_t count = 0, edges = 0;
    SKED_NEW0(shown, g->n_ops);
    SKED_NEW0(bold, g->n_edges);
    SKED_TRY(choose_nodes(v, shown, err));
    for (int32_t i = 0; i < g->n_ops; i++)
        count += shown[i];
    write_graph_label(v, count, out);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (shown[i])
            write_node(v, i, out);
    write_chain(v, shown, bold, out);
    for (int64_t e = 0; e < g->n_edges; e++)
        if (shown[g->edge_from[e]] && shown[g->edge_to[e]] && (bold[e] || edges++ < max_edges))
            write_edge(g, e, bold[e], out);
    sked_i_buffer_text(out, "}\n");
cleanup:
    free(shown);
    free(bold);
    return st;
}

static sked_status dot_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    sked_i_view v;
    sked_status st = sked_i_view_init(&v, data, err);
    if (st != SKED_OK)
        return st;
    st = write_graph(&v, out, err);
    sked_i_view_free(&v);
    return st;
}

const sked_i_report sked_i_report_dot = {
    {"dot", ".dot", "graph coloured by device (Graphviz)"}, dot_write, false};
