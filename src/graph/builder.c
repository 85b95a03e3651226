/* Builds a graph op by op, then checks it as a whole. */
#include "base/text.h"
#include "graph/graph.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct sked_builder {
    sked_graph g; /* its columns grow until finish checks them and hands them over */
    int64_t op_cap, edge_cap, on_ptr_cap, demand_ptr_cap; /* op_cap and edge_cap: of every column */
    int64_t verilog_cap;
    int64_t n_demands, demand_resource_cap, demand_amount_cap;
    int64_t n_on, on_name_cap, on_duration_cap, on_last_cap, capacity_cap;
    int32_t *on_last;   /* [g.on_names.count] op + 1 that named it last, to find repetitions */
    bool demands_mixed; /* those of the last op wait to be sorted */
    sked_error failed;  /* status OK while all is well */
};

/* Every failure of a builder goes through here, so that finish can repeat the first one. */
#define BUILDER_FAIL(b, ...) \
    (sked_i_fail(&(b)->failed, __VA_ARGS__), sked_i_fail(err, (b)->failed.status, "%s", (b)->failed.message))
#define NO_MEMORY(b) BUILDER_FAIL(b, SKED_ERR_MEMORY, "out of memory")
/* After a failure the columns may disagree in length, so nothing more is taken. */
#define REFUSE_FAILED(b)                                                            \
    do {                                                                            \
        if ((b)->failed.status != SKED_OK)                                          \
            return sked_i_fail(err, (b)->failed.status, "%s", (b)->failed.message); \
    } while (0)

sked_status sked_builder_create(sked_builder **out, sked_error *err)
{
    sked_builder *b = sked_i_alloc_zero(1, sizeof *b);
    if (b == NULL)
        return sked_i_no_memory(err);
    *out = b;
    return SKED_OK;
}

static void clear(sked_graph *g)
{
    sked_i_arena_free(&g->arena);
    sked_i_names *const tables[] = {&g->op_names, &g->type_names, &g->resource_names, &g->on_names,
                                    &g->verilog_names};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        sked_i_names_free(tables[i]);
}

void sked_graph_destroy(sked_graph *g)
{
    if (g != NULL)
        clear(g);
    free(g);
}

void sked_builder_destroy(sked_builder *b)
{
    if (b != NULL)
        clear(&b->g);
    free(b);
}

/* Names go into JSON, XML and SVG: what is no UTF-8 would not come back the same. */
static sked_status check_text(sked_builder *b, const char *what, const char *text, sked_error *err)
{
    if (text == NULL || sked_i_utf8_valid(text))
        return SKED_OK;
    return BUILDER_FAIL(b, SKED_ERR_FORMAT, "the %s '%s' is not valid UTF-8", what,
                        sked_i_quoted_text(text).text);
}

sked_status sked_builder_set_name(sked_builder *b, const char *name, sked_error *err)
{
    REFUSE_FAILED(b);
    const sked_status st = check_text(b, "graph name", name, err);
    if (st != SKED_OK)
        return st;
    char *copy = sked_i_arena_strdup(&b->g.arena, name);
    if (copy == NULL)
        return NO_MEMORY(b);
    sked_i_arena_drop(&b->g.arena, b->g.name);
    b->g.name = copy;
    return SKED_OK;
}

sked_status sked_builder_add_resource(sked_builder *b, const char *name, double capacity, int32_t *id,
                                      sked_error *err)
{
    REFUSE_FAILED(b);
    const sked_status st = check_text(b, "resource name", name, err);
    if (st != SKED_OK)
        return st;
    if (!(capacity >= 0))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "resource '%s': capacity must be 0 or more",
                            sked_i_quoted_text(name).text);
    bool fresh;
    if (!SKED_OWN_GROW(&b->g.arena, b->g.capacity, b->capacity_cap, b->g.resource_names.count + 1))
        return NO_MEMORY(b);
    const int32_t i = sked_i_names_add(&b->g.resource_names, name, strlen(name), &fresh);
    if (i < 0)
        return NO_MEMORY(b);
    if (!fresh)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "resource '%s' is declared twice",
                            sked_i_quoted_text(name).text);
    b->g.capacity[i] = capacity;
    if (id)
        *id = i;
    return SKED_OK;
}

/* The first named op gives all before it their index as name, and later unnamed ones get theirs. */
static sked_status name_op(sked_builder *b, const char *name, sked_error *err)
{
    bool fresh;
    char digits[16];
    if (name == NULL && b->g.op_names.count == 0)
        return SKED_OK;
    while (b->g.op_names.count < b->g.n_ops || name == NULL) {
        const int32_t next = b->g.op_names.count;
        snprintf(digits, sizeof digits, "%d", (int)next);
        if (sked_i_names_add(&b->g.op_names, digits, strlen(digits), &fresh) < 0)
            return NO_MEMORY(b);
        if (!fresh)
            return BUILDER_FAIL(b, SKED_ERR_FORMAT,
                                "op %d has no name, and its index is already the name of another op",
                                (int)next);
        if (next == b->g.n_ops)
            return SKED_OK;
    }
    const int32_t i = sked_i_names_add(&b->g.op_names, name, strlen(name), &fresh);
    if (i < 0)
        return NO_MEMORY(b);
    if (!fresh)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "two ops are called '%s' (numbers %d and %d)",
                            sked_i_quoted_text(name).text, (int)i, (int)b->g.n_ops);
    return SKED_OK;
}

/* The columns that there are get room for `need` elements; all have the same room. */
static bool grow_columns(sked_builder *b, const sked_i_attribute *table, int count, int64_t cap, int64_t need)
{
    for (int k = 0; k < count; k++) {
        void **column = sked_i_column(&b->g, &table[k]);
        int64_t own = cap;
        if ((*column != NULL || !table[k].when_used) &&
            !sked_i_arena_grow(&b->g.arena, column, &own, need, table[k].size))
            return false;
    }
    return true;
}

static bool grow_ops(sked_builder *b, int64_t need)
{
    sked_graph *g = &b->g;
    return grow_columns(b, sked_i_op_table, sked_i_op_attributes, b->op_cap, need) &&
           SKED_OWN_GROW(&g->arena, g->demand_ptr, b->demand_ptr_cap, need + 1) &&
           (g->verilog == NULL || SKED_OWN_GROW(&g->arena, g->verilog, b->verilog_cap, need)) &&
           (g->on_ptr == NULL || SKED_OWN_GROW(&g->arena, g->on_ptr, b->on_ptr_cap, need + 1)) &&
           SKED_OWN_GROW(&g->arena, g->type, b->op_cap, need);
}

static bool grow_edges(sked_builder *b, int64_t need)
{
    sked_graph *g = &b->g;
    int64_t cap = b->edge_cap;
    return grow_columns(b, sked_i_edge_table, sked_i_edge_attributes, cap, need) &&
           SKED_OWN_GROW(&g->arena, g->edge_from, cap, need) &&
           SKED_OWN_GROW(&g->arena, g->edge_to, b->edge_cap, need);
}

/* What an op or edge has until more is said. */
static void put_presets(sked_builder *b, const sked_i_attribute *table, int count, int64_t i)
{
    for (int k = 0; k < count; k++) {
        void *column = *sked_i_column(&b->g, &table[k]);
        if (column != NULL)
            sked_i_attribute_put(column, &table[k], i, table[k].info.preset);
    }
}

static sked_status check_amount(sked_builder *b, int32_t op, const char *what, double x, sked_error *err)
{
    char label[80];
    if (x >= 0 && x < INFINITY)
        return SKED_OK;
    return BUILDER_FAIL(b, SKED_ERR_FORMAT, "op '%s': %s must be a finite number, 0 or more, not %g",
                        sked_i_op_label(&b->g, op, label, sizeof label), what, x);
}

static sked_status two_demands(sked_builder *b, int32_t op, int32_t resource, sked_error *err)
{
    return BUILDER_FAIL(b, SKED_ERR_FORMAT, "op %d: two demands on resource '%s'", (int)op,
                        sked_i_names_at(&b->g.resource_names, resource));
}

static int by_resource(const void *x, const void *y)
{
    const sked_i_demand *a = x, *b = y;
    return (a->resource > b->resource) - (a->resource < b->resource);
}

bool sked_i_demands_sort(sked_i_demand *list, int64_t count)
{
    if (count > 1)
        qsort(list, (size_t)count, sizeof *list, by_resource);
    for (int64_t k = 1; k < count; k++)
        if (list[k].resource == list[k - 1].resource)
            return false;
    return true;
}

/* Sorts the demands of the last op where they came in large numbers and any order. */
static sked_status sort_demands(sked_builder *b, sked_error *err)
{
    const int64_t first = b->g.n_ops > 0 ? b->g.demand_ptr[b->g.n_ops - 1] : 0, n = b->n_demands - first;
    sked_status st = SKED_OK;
    sked_i_demand *list = NULL;
    if (!b->demands_mixed)
        return SKED_OK;
    assert(n > 0);
    if ((list = sked_i_alloc(n, sizeof *list)) == NULL)
        return NO_MEMORY(b);
    for (int64_t k = 0; k < n; k++)
        list[k] = (sked_i_demand){b->g.demand_resource[first + k], b->g.demand_amount[first + k]};
    (void)sked_i_demands_sort(list, n);
    for (int64_t k = 0; k < n; k++) {
        if (k > 0 && list[k].resource == list[k - 1].resource)
            st = two_demands(b, b->g.n_ops - 1, list[k].resource, err);
        b->g.demand_resource[first + k] = list[k].resource;
        b->g.demand_amount[first + k] = list[k].amount;
    }
    b->demands_mixed = false;
    free(list);
    return st;
}

sked_status sked_builder_add_op(sked_builder *b, const char *name, const char *type, double duration,
                                int32_t *id, sked_error *err)
{
    REFUSE_FAILED(b);
    const int32_t op = b->g.n_ops;
    int32_t type_id = -1;
    bool fresh;
    sked_status st = SKED_OK;
    SKED_TRY(sort_demands(b, err));
    if (op == INT32_MAX - 1)
        return BUILDER_FAIL(b, SKED_ERR_UNSUPPORTED, "more than %d ops", INT32_MAX - 1);
    if (!grow_ops(b, (int64_t)op + 1))
        return NO_MEMORY(b);
    SKED_TRY(check_text(b, "op name", name, err));
    SKED_TRY(check_text(b, "op type", type, err));
    SKED_TRY(name_op(b, name, err));
    SKED_TRY(check_amount(b, op, "duration", duration, err));
    assert(b->g.op_names.count == 0 || b->g.op_names.count == op + 1); /* all have names, or none */
    if (type != NULL && (type_id = sked_i_names_add(&b->g.type_names, type, strlen(type), &fresh)) < 0)
        return NO_MEMORY(b);
    put_presets(b, sked_i_op_table, sked_i_op_attributes, op);
    b->g.duration[op] = duration;
    b->g.type[op] = type_id;
    if (b->g.verilog != NULL)
        b->g.verilog[op] = -1;
    if (op == 0)
        b->g.demand_ptr[0] = 0;
    b->g.demand_ptr[op + 1] = b->n_demands;
    if (b->g.on_ptr != NULL)
        b->g.on_ptr[op + 1] = b->n_on;
    b->g.n_ops++;
    if (id)
        *id = op;
cleanup:
    return st;
}

/* A column that is there only where it is used begins: all have the preset so far. */
static bool begin_column(sked_builder *b, const sked_i_attribute *a)
{
    assert(a->when_used && *sked_i_column(&b->g, a) == NULL);
    const int64_t count = a->info.of_edges ? b->g.n_edges : b->g.n_ops;
    void *column = sked_i_arena_alloc(&b->g.arena, a->info.of_edges ? b->edge_cap : b->op_cap, a->size);
    *sked_i_column(&b->g, a) = column;
    for (int64_t i = 0; i < count && column != NULL; i++)
        sked_i_attribute_put(column, a, i, a->info.preset);
    return column != NULL;
}

static sked_status misfit(sked_builder *b, const sked_i_attribute *a, int64_t i, double x, const char *rule,
                          sked_error *err)
{
    char label[80];
    if (!a->info.of_edges)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "op '%s': %s must be %s, not %g",
                            sked_i_op_label(&b->g, (int32_t)i, label, sizeof label), a->info.name, rule, x);
    return BUILDER_FAIL(b, SKED_ERR_FORMAT, "edge %d -> %d: %s must be %s, not %g", (int)b->g.edge_from[i],
                        (int)b->g.edge_to[i], a->info.name, rule, x);
}

sked_status sked_i_builder_set(sked_builder *b, const sked_i_attribute *a, int64_t i, double x,
                               sked_error *err)
{
    REFUSE_FAILED(b);
    const char *rule;
    if (i < 0 || i >= (a->info.of_edges ? b->g.n_edges : b->g.n_ops))
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "no %s %lld", a->info.of_edges ? "edge" : "op",
                            (long long)i);
    if (!sked_i_attribute_fits(a, x, &rule))
        return misfit(b, a, i, x, rule, err);
    void **const column = sked_i_column(&b->g, a);
    if (*column == NULL && sked_i_attribute_same(x, a->info.preset))
        return SKED_OK;
    if (*column == NULL && !begin_column(b, a))
        return NO_MEMORY(b);
    sked_i_attribute_put(*column, a, i, x);
    return SKED_OK;
}

sked_status sked_i_builder_set_values(sked_builder *b, int32_t op, const double *value, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = sked_i_op_duration + 1; k < sked_i_op_attributes && st == SKED_OK; k++)
        st = sked_i_builder_set(b, &sked_i_op_table[k], op, value[k], err);
    return st;
}

sked_status sked_builder_set_memory(sked_builder *b, int32_t op, double memory, sked_error *err)
{
    return sked_i_builder_set(b, &sked_i_op_table[sked_i_op_memory], op, memory, err);
}

sked_status sked_builder_set_weight(sked_builder *b, int32_t op, double weight, sked_error *err)
{
    return sked_i_builder_set(b, &sked_i_op_table[sked_i_op_weight], op, weight, err);
}

sked_status sked_builder_set_keep(sked_builder *b, int32_t op, bool keep, sked_error *err)
{
    return sked_i_builder_set(b, &sked_i_op_table[sked_i_op_keep], op, keep, err);
}

sked_status sked_builder_set_verilog(sked_builder *b, int32_t op, const char *verilog, sked_error *err)
{
    REFUSE_FAILED(b);
    sked_graph *g = &b->g;
    char label[80];
    bool fresh = false;
    if (op < 0 || op >= g->n_ops)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "no op %d", (int)op);
    if (g->verilog == NULL) {
        if (!SKED_OWN_GROW(&g->arena, g->verilog, b->verilog_cap, b->op_cap))
            return NO_MEMORY(b);
        memset(g->verilog, 0xff, (size_t)g->n_ops * sizeof *g->verilog);
    }
    const int32_t name = sked_i_names_add(&g->verilog_names, verilog, strlen(verilog), &fresh);
    if (name < 0)
        return NO_MEMORY(b);
    const char *wrong = fresh ? sked_i_expression_wrong(verilog) : NULL;
    if (wrong != NULL)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "op '%s': Verilog '%s': %s",
                            sked_i_op_label(g, op, label, sizeof label), sked_i_quoted_text(verilog).text,
                            wrong);
    g->verilog[op] = name;
    return SKED_OK;
}

/* The first duration by device: the column begins, empty for all ops there are. */
static bool begin_durations(sked_builder *b)
{
    if (b->g.on_ptr != NULL)
        return true;
    if (!SKED_OWN_GROW(&b->g.arena, b->g.on_ptr, b->on_ptr_cap, (int64_t)b->g.n_ops + 1))
        return false;
    memset(b->g.on_ptr, 0, ((size_t)b->g.n_ops + 1) * sizeof *b->g.on_ptr);
    return true;
}

sked_status sked_builder_add_duration(sked_builder *b, int32_t op, const char *device, double duration,
                                      sked_error *err)
{
    REFUSE_FAILED(b);
    if (op < 0 || op != b->g.n_ops - 1)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "durations by device belong to the last op added");
    sked_status st = check_text(b, "device name", device, err);
    if (st == SKED_OK && (!isinf(duration) || duration < 0))
        st = check_amount(b, op, "a duration by device", duration, err);
    if (st != SKED_OK)
        return st;
    bool fresh;
    if (!begin_durations(b) || !SKED_OWN_GROW(&b->g.arena, b->g.on_name, b->on_name_cap, b->n_on + 1) ||
        !SKED_OWN_GROW(&b->g.arena, b->g.on_duration, b->on_duration_cap, b->n_on + 1) ||
        !SKED_OWN_GROW(&b->g.arena, b->on_last, b->on_last_cap, b->g.on_names.count + 1))
        return NO_MEMORY(b);
    assert(b->g.on_ptr[op + 1] == b->n_on);
    const int32_t name = sked_i_names_add(&b->g.on_names, device, strlen(device), &fresh);
    if (name < 0)
        return NO_MEMORY(b);
    if (!fresh && b->on_last[name] == op + 1)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "op %d: two durations on '%s'", (int)op,
                            sked_i_quoted_text(device).text);
    b->on_last[name] = op + 1;
    b->g.on_name[b->n_on] = name;
    b->g.on_duration[b->n_on++] = duration;
    b->g.on_ptr[op + 1] = b->n_on;
    return SKED_OK;
}

sked_status sked_builder_add_demand(sked_builder *b, int32_t op, int32_t resource, double amount,
                                    sked_error *err)
{
    REFUSE_FAILED(b);
    if (op < 0 || op != b->g.n_ops - 1)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "demands belong to the last op added");
    if (resource < 0 || resource >= b->g.resource_names.count)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "no resource %d", (int)resource);
    const sked_status st = check_amount(b, op, "demand", amount, err);
    if (st != SKED_OK || amount == 0)
        return st;
    if (!SKED_OWN_GROW(&b->g.arena, b->g.demand_resource, b->demand_resource_cap, b->n_demands + 1) ||
        !SKED_OWN_GROW(&b->g.arena, b->g.demand_amount, b->demand_amount_cap, b->n_demands + 1))
        return NO_MEMORY(b);
    assert(b->g.demand_ptr[op + 1] == b->n_demands);
    const int64_t first = b->g.demand_ptr[op];
    int64_t k = b->n_demands; /* a few demands are kept sorted by resource; many are sorted once, later */
    b->demands_mixed = b->demands_mixed || (k - first >= 32 && b->g.demand_resource[k - 1] >= resource);
    while (!b->demands_mixed && k > first && b->g.demand_resource[k - 1] > resource)
        k--;
    if (!b->demands_mixed && k > first && b->g.demand_resource[k - 1] == resource)
        return two_demands(b, op, resource, err);
    for (int64_t j = b->n_demands; j > k; j--) {
        b->g.demand_resource[j] = b->g.demand_resource[j - 1];
        b->g.demand_amount[j] = b->g.demand_amount[j - 1];
    }
    b->g.demand_resource[k] = resource;
    b->g.demand_amount[k] = amount;
    b->g.demand_ptr[op + 1] = ++b->n_demands;
    return SKED_OK;
}

sked_status sked_builder_add_edge(sked_builder *b, const sked_edge *edge, sked_error *err)
{
    REFUSE_FAILED(b);
    sked_graph *g = &b->g;
    if (isinf(edge->lag) || !(edge->bytes >= 0 && edge->bytes < INFINITY) || edge->distance < 0)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT,
                            "edge %d -> %d: lag must be finite, bytes and distance 0 or more",
                            (int)edge->from, (int)edge->to);
    if (!grow_edges(b, g->n_edges + 1))
        return NO_MEMORY(b);
    const int64_t e = g->n_edges++;
    put_presets(b, sked_i_edge_table, sked_i_edge_attributes, e);
    g->edge_from[e] = edge->from;
    g->edge_to[e] = edge->to;
    g->edge_lag[e] = edge->lag;
    g->edge_bytes[e] = edge->bytes;
    g->edge_distance[e] = edge->distance;
    return SKED_OK;
}

sked_status sked_i_builder_add_edge(sked_builder *b, int32_t from, int32_t to, const double *value,
                                    sked_error *err)
{
    const double distance = value[sked_i_edge_distance];
    const bool whole = sked_i_attribute_fits(&sked_i_edge_table[sked_i_edge_distance], distance, NULL);
    const sked_edge edge = {from, to, value[sked_i_edge_lag], value[sked_i_edge_bytes],
                            whole ? (int32_t)distance : -1};
    sked_status st = sked_builder_add_edge(b, &edge, err);
    for (int k = sked_i_edge_distance + 1; k < sked_i_edge_attributes && st == SKED_OK; k++)
        st = sked_i_builder_set(b, &sked_i_edge_table[k], b->g.n_edges - 1, value[k], err);
    return st;
}

sked_status sked_i_builder_refuse(sked_builder *b, const char *rule, sked_error *err)
{
    REFUSE_FAILED(b);
    return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "%s", rule);
}

sked_status sked_i_builder_reserve(sked_builder *b, int32_t ops, int64_t edges, sked_error *err)
{
    REFUSE_FAILED(b);
    const bool fits = grow_ops(b, ops) && grow_edges(b, edges);
    if (fits && b->g.n_ops == 0)
        b->g.demand_ptr[0] = 0; /* finish on an empty builder reads it */
    return fits ? SKED_OK : NO_MEMORY(b);
}

int32_t sked_builder_find_op(sked_builder *b, const char *name)
{
    return sked_graph_find_op(&b->g, name);
}

int32_t sked_builder_find_resource(sked_builder *b, const char *name)
{
    return sked_graph_find_resource(&b->g, name);
}

int32_t sked_builder_op_count(const sked_builder *b)
{
    return b->g.n_ops;
}

int64_t sked_builder_edge_count(const sked_builder *b)
{
    return b->g.n_edges;
}

static sked_status check_ends(const sked_graph *g, sked_error *err)
{
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e], to = g->edge_to[e];
        if (from < 0 || from >= g->n_ops || to < 0 || to >= g->n_ops)
            return sked_i_fail(err, SKED_ERR_FORMAT, "edge number %lld joins ops %d and %d, but there are %d",
                               (long long)e, (int)from, (int)to, (int)g->n_ops);
    }
    return SKED_OK;
}

/* Makes succ_ptr; *sorted says whether the edges already stand by `from`. */
static sked_status count_edges(sked_graph *g, bool *sorted, sked_error *err)
{
    sked_status st = SKED_OK;
    *sorted = true;
    SKED_OWN0(&g->arena, g->succ_ptr, (int64_t)g->n_ops + 1);
    for (int64_t e = 0; e < g->n_edges; e++) {
        g->succ_ptr[g->edge_from[e] + 1]++;
        *sorted = *sorted && (e == 0 || g->edge_from[e] >= g->edge_from[e - 1]);
    }
    for (int32_t i = 0; i < g->n_ops; i++)
        g->succ_ptr[i + 1] += g->succ_ptr[i];
    assert(g->succ_ptr[g->n_ops] == g->n_edges);
cleanup:
    return st;
}

/* A copy for each size of elements, which are 8, 4 or 1 bytes. */
static inline void scatter(char *to, const char *from, const int64_t *place, int64_t count, size_t size)
{
    for (int64_t e = 0; e < count; e++)
        memcpy(to + (size_t)place[e] * size, from + (size_t)e * size, size);
}

/* Element e of the array moves to place[e] of a new one. */
static sked_status reorder(sked_graph *g, void **array, size_t size, const int64_t *place, sked_error *err)
{
    assert(size == 8 || size == 4 || size == 1);
    char *sorted = sked_i_arena_alloc(&g->arena, g->n_edges, size);
    if (sorted == NULL)
        return sked_i_no_memory(err);
    if (size == 8)
        scatter(sorted, *array, place, g->n_edges, 8);
    else if (size == 4)
        scatter(sorted, *array, place, g->n_edges, 4);
    else
        scatter(sorted, *array, place, g->n_edges, 1);
    sked_i_arena_drop(&g->arena, *array);
    *array = sorted;
    return SKED_OK;
}

/* Counting sort of the edges by `from`, keeping their order; O(ops + edges). */
static sked_status sort_edges(sked_graph *g, sked_error *err)
{
    sked_status st = SKED_OK;
    int64_t *place = NULL;
    SKED_NEW(place, g->n_edges);
    for (int64_t e = 0; e < g->n_edges; e++) /* succ_ptr[i] runs to the end of row i, then is shifted back */
        place[e] = g->succ_ptr[g->edge_from[e]]++;
    memmove(g->succ_ptr + 1, g->succ_ptr, (size_t)g->n_ops * sizeof *g->succ_ptr);
    g->succ_ptr[0] = 0;
    SKED_TRY(reorder(g, (void **)&g->edge_from, sizeof *g->edge_from, place, err));
    SKED_TRY(reorder(g, (void **)&g->edge_to, sizeof *g->edge_to, place, err));
    for (int k = 0; k < sked_i_edge_attributes; k++) {
        const sked_i_attribute *a = &sked_i_edge_table[k];
        if (*sked_i_column(g, a) != NULL)
            SKED_TRY(reorder(g, sked_i_column(g, a), a->size, place, err));
    }
cleanup:
    free(place);
    return st;
}

/* Gives back what growing left over in the largest arrays. */
static void shrink_edges(sked_graph *g)
{
    const int64_t m = g->n_edges;
    g->edge_from = sked_i_arena_shrink(&g->arena, g->edge_from, m, sizeof *g->edge_from);
    g->edge_to = sked_i_arena_shrink(&g->arena, g->edge_to, m, sizeof *g->edge_to);
    for (int k = 0; k < sked_i_edge_attributes; k++) {
        void **column = sked_i_column(g, &sked_i_edge_table[k]);
        *column = sked_i_arena_shrink(&g->arena, *column, m, sked_i_edge_table[k].size);
    }
}

/* Lags that were not given follow the duration of `from`. */
static sked_status settle_lags(sked_graph *g, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(&g->arena, g->edge_lag_given, g->n_edges);
    assert(g->n_carried == 0);
    for (int64_t e = 0; e < g->n_edges; e++) {
        g->edge_lag_given[e] = isnan(g->edge_lag[e]) ? 0 : 1;
        if (!g->edge_lag_given[e])
            g->edge_lag[e] = g->duration[g->edge_from[e]];
        g->n_carried += g->edge_distance[e] > 0;
    }
cleanup:
    return st;
}

static sked_status build_preds(sked_graph *g, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = g->n_ops;
    SKED_OWN0(&g->arena, g->pred_ptr, (int64_t)n + 1);
    SKED_OWN(&g->arena, g->pred_edge, g->n_edges);
    SKED_OWN(&g->arena, g->pred_op, g->n_edges);
    for (int64_t e = 0; e < g->n_edges; e++)
        g->pred_ptr[g->edge_to[e] + 1]++;
    for (int32_t i = 0; i < n; i++)
        g->pred_ptr[i + 1] += g->pred_ptr[i];
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int64_t k = g->pred_ptr[g->edge_to[e]]++;
        g->pred_edge[k] = e;
        g->pred_op[k] = g->edge_from[e];
    }
    memmove(g->pred_ptr + 1, g->pred_ptr, (size_t)n * sizeof *g->pred_ptr);
    g->pred_ptr[0] = 0;
    assert(g->pred_ptr[n] == g->n_edges);
cleanup:
    return st;
}

/*
 * Every op left in a cycle has an unordered predecessor, so walking back along those must repeat. The loop
 * found is named in the direction of its edges, at most a dozen names. next: [n_ops] of each op walked over.
 */
static sked_status cycle_error(const sked_graph *g, const int32_t *indegree, int32_t *next, sked_error *err)
{
    enum { most_names = 12 };
    int32_t op = 0, length = 1;
    while (indegree[op] <= 0)
        op++;
    memset(next, 0xff, (size_t)g->n_ops * sizeof *next);
    const int32_t start = op;
    for (bool again = false; !again;) {
        int64_t k = g->pred_ptr[op];
        while (g->edge_distance[g->pred_edge[k]] > 0 || indegree[g->pred_op[k]] <= 0)
            k++;
        assert(k < g->pred_ptr[op + 1]);
        again = next[g->pred_op[k]] >= 0 || g->pred_op[k] == start;
        next[g->pred_op[k]] = op;
        op = g->pred_op[k];
    }
    for (int32_t i = next[op]; i != op; i = next[i])
        length++;
    sked_i_buffer text = {0};
    char label[80];
    const int32_t first = next[op];
    op = first;
    for (int32_t i = 0; i <= length; i++, op = next[op]) {
        if (i == most_names && length > most_names) {
            sked_i_buffer_format(&text, "... (%d more) -> ", (int)(length - most_names));
            i = length;
            op = first;
        }
        sked_i_op_label(g, op, label, sizeof label);
        sked_i_buffer_format(&text, i < length ? "%s -> " : "%s", label);
    }
    const sked_status st =
        text.failed ? sked_i_no_memory(err)
                    : sked_i_fail(err, SKED_ERR_FORMAT, "the graph has a cycle of distance 0: %s", text.data);
    sked_i_buffer_free(&text);
    return st;
}

static sked_status sort_topologically(sked_graph *g, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *indegree = NULL;
    const int32_t n = g->n_ops;
    SKED_OWN(&g->arena, g->topo, n);
    SKED_NEW0(indegree, n);
    for (int64_t e = 0; e < g->n_edges; e++)
        indegree[g->edge_to[e]] += g->edge_distance[e] == 0;
    int32_t filled = 0;
    for (int32_t i = 0; i < n; i++)
        if (indegree[i] == 0)
            g->topo[filled++] = i;
    for (int32_t k = 0; k < filled; k++) {
        const int32_t i = g->topo[k];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (g->edge_distance[e] == 0 && --indegree[g->edge_to[e]] == 0)
                g->topo[filled++] = g->edge_to[e];
    }
    if (filled < n)
        st = cycle_error(g, indegree, g->topo, err);
cleanup:
    free(indegree);
    return st;
}

/* The demands once more, by resource: no question about a resource has to go through all ops. */
static sked_status list_users(sked_graph *g, sked_error *err)
{
    const int64_t count = g->demand_ptr[g->n_ops];
    sked_status st = SKED_OK;
    SKED_OWN0(&g->arena, g->user_ptr, (int64_t)g->n_resources + 1);
    SKED_OWN(&g->arena, g->user_op, count);
    SKED_OWN(&g->arena, g->user_amount, count);
    for (int64_t k = 0; k < count; k++)
        g->user_ptr[g->demand_resource[k]]++;
    for (int64_t r = 0, sum = 0; r <= g->n_resources; r++) /* where each ends; filling goes backwards */
        g->user_ptr[r] = sum += r < g->n_resources ? g->user_ptr[r] : 0;
    for (int32_t i = g->n_ops - 1; i >= 0; i--)
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++) {
            const int64_t at = --g->user_ptr[g->demand_resource[k]];
            g->user_op[at] = i;
            g->user_amount[at] = g->demand_amount[k];
        }
    assert(g->user_ptr[0] == 0 && g->user_ptr[g->n_resources] == count);
cleanup:
    return st;
}

static bool all_integers(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] != floor(x[i]) || fabs(x[i]) >= 0x1p53)
            return false;
    return true;
}

static bool is_integral(const sked_graph *g)
{
    const double *const ops[] = {g->duration, g->memory, g->weight};
    for (int k = 0; k < 3; k++)
        if (!all_integers(ops[k], g->n_ops))
            return false;
    for (int32_t r = 0; r < g->n_resources; r++)
        if (isfinite(g->capacity[r]) && !all_integers(&g->capacity[r], 1))
            return false;
    return all_integers(g->edge_lag, g->n_edges) && all_integers(g->edge_bytes, g->n_edges) &&
           all_integers(g->demand_amount, g->demand_ptr[g->n_ops]);
}

static sked_status complete(sked_graph *g, sked_error *err)
{
    bool sorted;
    sked_status st = SKED_OK;
    if (g->demand_ptr == NULL)
        SKED_OWN0(&g->arena, g->demand_ptr, 1);
    g->n_types = g->type_names.count;
    g->n_resources = g->resource_names.count;
    SKED_TRY(count_edges(g, &sorted, err));
    if (sorted)
        shrink_edges(g);
    else
        SKED_TRY(sort_edges(g, err));
    SKED_TRY(settle_lags(g, err));
    SKED_TRY(build_preds(g, err));
    SKED_TRY(sort_topologically(g, err));
    SKED_TRY(list_users(g, err));
    g->integral = is_integral(g);
cleanup:
    return st;
}

sked_status sked_builder_finish(sked_builder *b, sked_graph **out, sked_error *err)
{
    REFUSE_FAILED(b);
    sked_status st = sort_demands(b, err);
    if (st == SKED_OK)
        st = check_ends(&b->g, err); /* an op that an edge names may still come */
    if (st != SKED_OK)
        return st;
    sked_graph *g = sked_i_alloc_zero(1, sizeof *g);
    if (g == NULL)
        return NO_MEMORY(b);
    sked_i_arena_drop(&b->g.arena, b->on_last);
    *g = b->g;
    *b = (sked_builder){0};
    st = complete(g, &b->failed);
    if (st != SKED_OK) {
        sked_graph_destroy(g);
        return sked_i_fail(err, st, "%s", b->failed.message);
    }
    *out = g;
    return SKED_OK;
}
