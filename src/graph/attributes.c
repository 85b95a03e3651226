#include "graph/graph.h"

#include <assert.h>
#include <string.h>

enum { ALWAYS, USED };
_Static_assert(sked_i_op_attributes <= 32 && sked_i_edge_attributes <= 32, "sets of them are 32 bits");

/* clang-format off */
#define SKED_X(name, kind, preset, when, meaning)                                              \
    {{#name, meaning, false, SKED_ATTRIBUTE_##kind, preset}, offsetof(sked_graph, name),       \
     sizeof(SKED_I_TYPE_##kind), when == USED},
const sked_i_attribute sked_i_op_table[sked_i_op_attributes] = {SKED_I_OP_ATTRIBUTES(SKED_X)};
#undef SKED_X
#define SKED_X(name, kind, preset, when, meaning)                                              \
    {{#name, meaning, true, SKED_ATTRIBUTE_##kind, preset}, offsetof(sked_graph, edge_##name), \
     sizeof(SKED_I_TYPE_##kind), when == USED},
const sked_i_attribute sked_i_edge_table[sked_i_edge_attributes] = {SKED_I_EDGE_ATTRIBUTES(SKED_X)};
#undef SKED_X
/* clang-format on */

double sked_i_attribute_at(const void *column, const sked_i_attribute *a, int64_t i)
{
    if (column == NULL)
        return a->info.preset;
    if (a->size == sizeof(double))
        return ((const double *)column)[i];
    return a->size == sizeof(int32_t) ? ((const int32_t *)column)[i] : ((const uint8_t *)column)[i];
}

double sked_i_attribute_get(const sked_graph *g, const sked_i_attribute *a, int64_t i)
{
    assert(i >= 0 && i < (a->info.of_edges ? g->n_edges : g->n_ops));
    const void *column = *sked_i_column(g, a);
    const bool follows = a == &sked_i_edge_table[sked_i_edge_lag] && !g->edge_lag_given[i];
    return follows ? a->info.preset : sked_i_attribute_at(column, a, i);
}

bool sked_i_attribute_same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

static uint32_t said(const sked_graph *g, const sked_i_attribute *table, int count, int64_t i, double *value)
{
    uint32_t bits = 0;
    for (int k = 0; k < count; k++) {
        value[k] = sked_i_attribute_get(g, &table[k], i);
        bits |= (uint32_t)!sked_i_attribute_same(value[k], table[k].info.preset) << k;
    }
    return bits;
}

uint32_t sked_i_op_said(const sked_graph *g, int32_t op, double *value)
{
    return said(g, sked_i_op_table, sked_i_op_attributes, op, value);
}

uint32_t sked_i_edge_said(const sked_graph *g, int64_t e, double *value)
{
    return said(g, sked_i_edge_table, sked_i_edge_attributes, e, value);
}

bool sked_i_attribute_fits(const sked_i_attribute *a, double x, const char **rule)
{
    static const char *const rules[] = {
        [SKED_ATTRIBUTE_AMOUNT] = "a finite number, 0 or more",
        [SKED_ATTRIBUTE_REAL] = "a finite number",
        [SKED_ATTRIBUTE_COUNT] = "a whole number, 0 or more",
        [SKED_ATTRIBUTE_FLAG] = "a number",
    };
    if (rule != NULL)
        *rule = rules[a->info.kind];
    const sked_attribute_kind kind = a->info.kind;
    return kind == SKED_ATTRIBUTE_AMOUNT  ? x >= 0 && x < INFINITY
           : kind == SKED_ATTRIBUTE_REAL  ? isfinite(x) || sked_i_attribute_same(x, a->info.preset)
           : kind == SKED_ATTRIBUTE_COUNT ? x >= 0 && x <= INT32_MAX && x == floor(x)
                                          : !isnan(x);
}

void sked_i_attribute_put(void *column, const sked_i_attribute *a, int64_t i, double x)
{
    assert(column != NULL && sked_i_attribute_fits(a, x, NULL));
    if (a->size == sizeof(double))
        ((double *)column)[i] = x;
    else if (a->size == sizeof(int32_t))
        ((int32_t *)column)[i] = (int32_t)x;
    else
        ((uint8_t *)column)[i] = x != 0;
}

int sked_i_attribute_number(const sked_i_attribute *table, int count, const char *name, size_t size)
{
    int k = 0;
    while (k < count && (strlen(table[k].info.name) != size || memcmp(table[k].info.name, name, size) != 0))
        k++;
    return k < count ? k : -1;
}

void sked_i_op_presets(double *value)
{
    for (int k = 0; k < sked_i_op_attributes; k++)
        value[k] = sked_i_op_table[k].info.preset;
}

void sked_i_edge_presets(double *value)
{
    for (int k = 0; k < sked_i_edge_attributes; k++)
        value[k] = sked_i_edge_table[k].info.preset;
}

/* ------------------------------------------------------------------ as the public header has them */

int sked_attribute_count(void)
{
    return (int)sked_i_op_attributes + (int)sked_i_edge_attributes;
}

static const sked_i_attribute *at(int i)
{
    if (i < 0 || i >= sked_attribute_count())
        return NULL;
    return i < sked_i_op_attributes ? &sked_i_op_table[i] : &sked_i_edge_table[i - sked_i_op_attributes];
}

const sked_attribute_info *sked_attribute_at(int i)
{
    const sked_i_attribute *a = at(i);
    return a != NULL ? &a->info : NULL;
}

const sked_attribute_info *sked_attribute_find(const char *name)
{
    for (int i = 0; i < sked_attribute_count(); i++)
        if (strcmp(at(i)->info.name, name) == 0)
            return &at(i)->info;
    return NULL;
}

/* info is the first member of ours. */
sked_status sked_builder_set_attribute(sked_builder *b, const sked_attribute_info *attribute, int64_t i,
                                       double value, sked_error *err)
{
    return sked_i_builder_set(b, (const sked_i_attribute *)(const void *)attribute, i, value, err);
}

void sked_graph_attribute(const sked_graph *g, const sked_attribute_info *attribute, double *value)
{
    const sked_i_attribute *a = (const sked_i_attribute *)(const void *)attribute;
    const int64_t count = a->info.of_edges ? g->n_edges : g->n_ops;
    for (int64_t i = 0; i < count; i++)
        value[i] = sked_i_attribute_get(g, a, i);
}
