/* Graphs as DOT, so that reading them again gives equal ones; and pictures of them. */
#include "formats/dot.h"
#include "formats/durations.h"

#include <string.h>

void sked_i_dot_text(sked_i_buffer *out, const char *text)
{
    for (const char *s = text;;) {
        const size_t n = strcspn(s, "\"\\");
        sked_i_buffer_add(out, s, n);
        s += n;
        if (*s == 0)
            break;
        sked_i_buffer_char(out, '\\');
        sked_i_buffer_char(out, *s++);
    }
}

static void write_quoted(sked_i_buffer *out, const char *before, const char *text)
{
    sked_i_buffer_text(out, before);
    sked_i_buffer_char(out, '"');
    sked_i_dot_text(out, text);
    sked_i_buffer_char(out, '"');
}

/* One NAME=AMOUNT of a list, as written inside a quoted string. */
static void write_pair(sked_i_buffer *out, const char *name, double amount)
{
    for (const char *s = name; *s; s++)
        if ((unsigned char)*s <= ' ' || strchr("%,=\"\\", *s) != NULL)
            sked_i_buffer_format(out, "%%%02X", (unsigned char)*s);
        else
            sked_i_buffer_char(out, *s);
    sked_i_buffer_char(out, '=');
    if (isfinite(amount))
        sked_i_buffer_number(out, amount);
    else
        sked_i_buffer_text(out, "inf");
}

/* key=number; a numeral of the language has no exponent, so that one needs quotes. */
static void write_field(sked_i_buffer *out, const char *before, const char *key, double value)
{
    char text[40];
    const char *quote = strchr(sked_format_number(value, text, sizeof text), 'e') == NULL ? "" : "\"";
    const char *const parts[] = {before, key, "=", quote, text, quote};
    for (int k = 0; k < 6; k++)
        sked_i_buffer_text(out, parts[k]);
}

void sked_i_dot_name(const sked_graph *g, int32_t op, sked_i_buffer *out)
{
    if (g->op_names.count > 0)
        write_quoted(out, "", sked_i_names_at(&g->op_names, op));
    else
        sked_i_buffer_int(out, op);
}

static void write_op(const sked_graph *g, int32_t i, const sked_i_dot_picture *p, sked_i_buffer *out)
{
    double value[sked_i_op_attributes];
    const uint32_t said = sked_i_op_said(g, i, value);
    const char *type = sked_graph_op_type(g, i);
    sked_i_buffer_text(out, "    ");
    sked_i_dot_name(g, i, out);
    write_field(out, " [", "duration", g->duration[i]);
    if (type != NULL) {
        const bool as_label =
            p == NULL && type[0] != 0 && strcmp(type, "\\N") != 0; /* a label that says nothing is none */
        write_quoted(out, as_label ? ", label=" : ", type=", type);
    }
    if (sked_graph_verilog(g, i) != NULL)
        write_quoted(out, ", verilog=", sked_graph_verilog(g, i));
    for (int k = sked_i_op_duration + 1; k < sked_i_op_attributes; k++)
        if (said >> k & 1)
            write_field(out, ", ", sked_i_op_table[k].info.name, value[k]);
    sked_i_durations_text(g, i, ", durations=", write_quoted, out);
    for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++) {
        sked_i_buffer_text(out, k == g->demand_ptr[i] ? ", demand=\"" : ",");
        write_pair(out, sked_graph_resource_name(g, g->demand_resource[k]), g->demand_amount[k]);
    }
    sked_i_buffer_text(out, g->demand_ptr[i] < g->demand_ptr[i + 1] ? "\"" : "");
    if (p != NULL)
        p->of_op(p->data, i, out);
    sked_i_buffer_text(out, "];\n");
}

static void write_edge(const sked_graph *g, int64_t e, const sked_i_dot_picture *p, sked_i_buffer *out)
{
    double value[sked_i_edge_attributes];
    const uint32_t said = sked_i_edge_said(g, e, value);
    const char *before = " [";
    sked_i_buffer_text(out, "    ");
    sked_i_dot_name(g, g->edge_from[e], out);
    sked_i_buffer_text(out, " -> ");
    sked_i_dot_name(g, g->edge_to[e], out);
    for (int k = 0; k < sked_i_edge_attributes; k++)
        if (said >> k & 1) {
            write_field(out, before, sked_i_edge_table[k].info.name, value[k]);
            before = ", ";
        }
    sked_i_buffer_text(out, said != 0 ? "]" : "");
    if (p != NULL)
        p->of_edge(p->data, e, out);
    sked_i_buffer_text(out, ";\n");
}

void sked_i_dot_draw(const sked_graph *g, const sked_i_dot_picture *p, sked_i_buffer *out)
{
    write_quoted(out, "digraph ", sked_graph_name(g));
    sked_i_buffer_text(out, " {\n");
    for (int32_t r = 0; r < g->n_resources; r++) {
        sked_i_buffer_text(out, r == 0 ? "    graph [resources=\"" : ",");
        write_pair(out, sked_graph_resource_name(g, r), g->capacity[r]);
    }
    sked_i_buffer_text(out, g->n_resources ? "\"];\n" : "");
    if (p != NULL)
        p->before(p->data, out);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (p == NULL || p->op[i])
            write_op(g, i, p, out);
    for (int64_t e = 0; e < g->n_edges; e++)
        if (p == NULL || p->edge[e])
            write_edge(g, e, p, out);
    if (p != NULL)
        p->behind(p->data, out);
    sked_i_buffer_text(out, "}\n");
}

sked_status sked_i_dot_write(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    (void)err;
    sked_i_dot_draw(g, NULL, out);
    return SKED_OK;
}
