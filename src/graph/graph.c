#include "graph/graph.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

const char *sked_graph_name(const sked_graph *g)
{
    return g->name ? g->name : "";
}

int32_t sked_graph_op_count(const sked_graph *g)
{
    return g->n_ops;
}

int64_t sked_graph_edge_count(const sked_graph *g)
{
    return g->n_edges;
}

int32_t sked_graph_resource_count(const sked_graph *g)
{
    return g->n_resources;
}

const char *sked_graph_op_name(const sked_graph *g, int32_t op, char *buf, size_t size)
{
    if (g->op_names.count > 0)
        snprintf(buf, size, "%s", sked_i_names_at(&g->op_names, op));
    else
        snprintf(buf, size, "%d", (int)op);
    return buf;
}

const char *sked_i_op_label(const sked_graph *g, int32_t op, char *buf, size_t size)
{
    if (g->op_names.count == 0)
        return sked_graph_op_name(g, op, buf, size);
    const char *name = sked_i_names_at(&g->op_names, op);
    return sked_i_quote(name, strlen(name), buf, size);
}

int32_t sked_graph_find_op(const sked_graph *g, const char *name)
{
    const size_t size = strlen(name);
    if (g->op_names.count > 0)
        return sked_i_names_find(&g->op_names, name, size);
    int64_t index;
    const bool canonical = strcmp(name, "0") == 0 || (name[0] >= '1' && name[0] <= '9');
    return canonical && sked_i_parse_int(name, size, 0, (int64_t)g->n_ops - 1, &index) ? (int32_t)index : -1;
}

const char *sked_graph_op_type(const sked_graph *g, int32_t op)
{
    return g->type[op] < 0 ? NULL : sked_i_names_at(&g->type_names, g->type[op]);
}

const char *sked_graph_verilog(const sked_graph *g, int32_t op)
{
    return g->verilog == NULL || g->verilog[op] < 0 ? NULL
                                                    : sked_i_names_at(&g->verilog_names, g->verilog[op]);
}

int64_t sked_i_operands(const sked_graph *g, int32_t op, sked_i_keyed *item)
{
    int64_t count = 0;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        if (sked_i_passes(g, e))
            item[count++] = (sked_i_keyed){g->edge_operand != NULL ? (uint64_t)g->edge_operand[e] : 0, e};
    }
    if (g->edge_operand != NULL)
        sked_i_sort_keyed(item, item + count, count);
    return count;
}

double sked_graph_duration(const sked_graph *g, int32_t op)
{
    return g->duration[op];
}

double sked_graph_memory(const sked_graph *g, int32_t op)
{
    return g->memory[op];
}

double sked_graph_weight(const sked_graph *g, int32_t op)
{
    return g->weight[op];
}

bool sked_graph_keep(const sked_graph *g, int32_t op)
{
    return g->keep != NULL && g->keep[op];
}

int32_t sked_graph_duration_name_count(const sked_graph *g)
{
    return g->on_names.count;
}

const char *sked_graph_duration_name(const sked_graph *g, int32_t i)
{
    return sked_i_names_at(&g->on_names, i);
}

double sked_graph_duration_on(const sked_graph *g, int32_t op, const char *device)
{
    const int32_t name = sked_i_names_find(&g->on_names, device, strlen(device));
    for (int64_t k = name < 0 ? 0 : g->on_ptr[op]; name >= 0 && k < g->on_ptr[op + 1]; k++)
        if (g->on_name[k] == name)
            return g->on_duration[k];
    return NAN;
}

double sked_graph_demand(const sked_graph *g, int32_t op, int32_t resource)
{
    int64_t low = g->demand_ptr[op], high = g->demand_ptr[op + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (g->demand_resource[middle] < resource)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->demand_ptr[op + 1] && g->demand_resource[low] == resource ? g->demand_amount[low] : 0;
}

const char *sked_graph_resource_name(const sked_graph *g, int32_t resource)
{
    return sked_i_names_at(&g->resource_names, resource);
}

double sked_graph_capacity(const sked_graph *g, int32_t resource)
{
    return g->capacity[resource];
}

int32_t sked_graph_find_resource(const sked_graph *g, const char *name)
{
    return sked_i_names_find(&g->resource_names, name, strlen(name));
}

void sked_graph_edge(const sked_graph *g, int64_t edge, sked_edge *out)
{
    *out = (sked_edge){g->edge_from[edge], g->edge_to[edge], g->edge_lag[edge], g->edge_bytes[edge],
                       g->edge_distance[edge]};
}

void sked_graph_topological(const sked_graph *g, int32_t *order)
{
    memcpy(order, g->topo, (size_t)g->n_ops * sizeof *order);
}

/* buf: room for an index. */
static const char *name_of(const sked_graph *g, int32_t op, char buf[24])
{
    return g->op_names.count > 0 ? sked_i_names_at(&g->op_names, op) : sked_graph_op_name(g, op, buf, 24);
}

static bool same_names(const sked_graph *a, const sked_graph *b)
{
    char x[24], y[24];
    for (int32_t i = 0; i < a->n_ops && (a->op_names.count > 0 || b->op_names.count > 0); i++)
        if (strcmp(name_of(a, i, x), name_of(b, i, y)) != 0)
            return false;
    return true;
}

static bool same_text(const char *s, const char *t)
{
    return s == t || (s != NULL && t != NULL && strcmp(s, t) == 0);
}

static bool same_ops(const sked_graph *a, const sked_graph *b)
{
    for (int32_t i = 0; i < a->n_ops; i++) {
        if (!same_text(sked_graph_op_type(a, i), sked_graph_op_type(b, i)) ||
            !same_text(sked_graph_verilog(a, i), sked_graph_verilog(b, i)) ||
            a->demand_ptr[i + 1] != b->demand_ptr[i + 1])
            return false;
    }
    for (int64_t k = 0; k < a->demand_ptr[a->n_ops]; k++)
        if (a->demand_resource[k] != b->demand_resource[k] || a->demand_amount[k] != b->demand_amount[k])
            return false;
    return true;
}

/* Names may have come in another order: each of a's is looked up in b. */
static bool same_durations(const sked_graph *a, const sked_graph *b)
{
    for (int32_t i = 0; i < a->n_ops; i++) {
        const int64_t count = a->on_ptr ? a->on_ptr[i + 1] - a->on_ptr[i] : 0;
        if (count != (b->on_ptr ? b->on_ptr[i + 1] - b->on_ptr[i] : 0))
            return false;
        for (int64_t k = 0; k < count; k++)
            if (sked_graph_duration_on(b, i, sked_i_names_at(&a->on_names, a->on_name[a->on_ptr[i] + k])) !=
                a->on_duration[a->on_ptr[i] + k])
                return false;
    }
    return true;
}

/* A lag is the same whether it was given or follows. */
static bool same_column(const sked_graph *a, const sked_graph *b, const sked_i_attribute *attribute)
{
    const void *x = *sked_i_column(a, attribute), *y = *sked_i_column(b, attribute);
    const int64_t count = attribute->info.of_edges ? a->n_edges : a->n_ops;
    for (int64_t i = 0; i < count && (x != NULL || y != NULL); i++)
        if (!sked_i_attribute_same(sked_i_attribute_at(x, attribute, i),
                                   sked_i_attribute_at(y, attribute, i)))
            return false;
    return true;
}

static bool same_numbers(const sked_graph *a, const sked_graph *b)
{
    for (int i = 0; i < sked_attribute_count(); i++)
        if (!same_column(a, b, (const sked_i_attribute *)(const void *)sked_attribute_at(i)))
            return false;
    return true;
}

bool sked_graph_equal(const sked_graph *a, const sked_graph *b)
{
    if (a->n_ops != b->n_ops || a->n_edges != b->n_edges || a->n_resources != b->n_resources ||
        strcmp(sked_graph_name(a), sked_graph_name(b)) != 0 || !same_names(a, b) || !same_ops(a, b) ||
        !same_durations(a, b))
        return false;
    for (int32_t r = 0; r < a->n_resources; r++)
        if (a->capacity[r] != b->capacity[r] ||
            strcmp(sked_graph_resource_name(a, r), sked_graph_resource_name(b, r)) != 0)
            return false;
    for (int64_t e = 0; e < a->n_edges; e++)
        if (a->edge_from[e] != b->edge_from[e] || a->edge_to[e] != b->edge_to[e])
            return false;
    return same_numbers(a, b);
}

sked_status sked_i_graph_copy_values(const sked_graph *g, int32_t op, sked_builder *b, int32_t to,
                                     sked_error *err)
{
    double value[sked_i_op_attributes];
    (void)sked_i_op_said(g, op, value);
    const char *verilog = sked_graph_verilog(g, op);
    const sked_status st = sked_i_builder_set_values(b, to, value, err);
    return st == SKED_OK && verilog != NULL ? sked_builder_set_verilog(b, to, verilog, err) : st;
}

sked_status sked_i_graph_copy_placement(const sked_graph *g, int32_t op, sked_builder *b, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int64_t k = g->on_ptr ? g->on_ptr[op] : 0; g->on_ptr && k < g->on_ptr[op + 1] && st == SKED_OK; k++)
        st = sked_builder_add_duration(b, sked_builder_op_count(b) - 1,
                                       sked_i_names_at(&g->on_names, g->on_name[k]), g->on_duration[k], err);
    return st;
}

sked_status sked_i_graph_copy_begin(const sked_graph *g, sked_builder *b, sked_error *err)
{
    sked_status st = sked_builder_set_name(b, sked_graph_name(g), err);
    for (int32_t r = 0; r < g->n_resources && st == SKED_OK; r++)
        st = sked_builder_add_resource(b, sked_graph_resource_name(g, r), g->capacity[r], NULL, err);
    return st;
}

sked_status sked_i_graph_copy_op(const sked_graph *g, int32_t op, double duration, sked_builder *b,
                                 sked_error *err)
{
    const char *name = g->op_names.count ? sked_i_names_at(&g->op_names, op) : NULL;
    sked_status st = SKED_OK;
    int32_t id = 0;
    SKED_TRY(sked_builder_add_op(b, name, sked_graph_op_type(g, op), duration, &id, err));
    SKED_TRY(sked_i_graph_copy_values(g, op, b, id, err));
    for (int64_t k = g->demand_ptr[op]; k < g->demand_ptr[op + 1]; k++)
        SKED_TRY(sked_builder_add_demand(b, id, g->demand_resource[k], g->demand_amount[k], err));
cleanup:
    return st;
}

sked_status sked_i_graph_copy_edges(const sked_graph *g, sked_builder *b, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int64_t e = 0; e < g->n_edges && st == SKED_OK; e++) {
        double value[sked_i_edge_attributes];
        (void)sked_i_edge_said(g, e, value);
        st = sked_i_builder_add_edge(b, g->edge_from[e], g->edge_to[e], value, err);
    }
    return st;
}

sked_status sked_i_graph_copy(const sked_graph *g, const double *duration, sked_builder *b, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_graph_copy_begin(g, b, err));
    for (int32_t i = 0; i < g->n_ops; i++) {
        SKED_TRY(sked_i_graph_copy_op(g, i, duration != NULL ? duration[i] : g->duration[i], b, err));
        SKED_TRY(sked_i_graph_copy_placement(g, i, b, err));
    }
    SKED_TRY(sked_i_graph_copy_edges(g, b, err));
cleanup:
    return st;
}

sked_status sked_i_graph_with_durations(const sked_graph *g, const double *duration, sked_graph **out,
                                        sked_error *err)
{
    sked_builder *b = NULL;
    sked_status st = SKED_OK;
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_graph_copy(g, duration, b, err));
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    return st;
}
