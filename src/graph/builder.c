/* Builds a graph op by op, then checks it as a whole. */
#include "base/memory.h"
#include "base/text.h"
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

struct sked_builder {
    char *name;
    int32_t n_ops;
    int64_t n_edges, n_demands;
    double *duration, *memory, *weight;
    int32_t *type;
    uint8_t *keep;   /* [n_ops], NULL: no op's value is kept */
    int64_t *on_ptr; /* [n_ops + 1], NULL: no durations by device */
    int32_t *on_name;
    double *on_duration;
    int64_t keep_cap, on_ptr_cap, on_name_cap, on_duration_cap, n_on;
    sked_i_names on_names;
    int32_t *on_last; /* [on_names.count] op + 1 that named it last, to find repetitions */
    int64_t on_last_cap;
    int64_t *demand_ptr; /* [n_ops + 1] first demand of each op */
    int64_t duration_cap, memory_cap, weight_cap, type_cap, demand_ptr_cap;
    int32_t *demand_resource;
    double *demand_amount;
    int64_t demand_resource_cap, demand_amount_cap;
    sked_i_names op_names, type_names, resource_names;
    bool any_named;
    bool demands_mixed; /* those of the last op wait to be sorted */
    double *capacity;
    int64_t capacity_cap;
    int32_t *from, *to, *distance;
    double *lag, *bytes;
    int64_t from_cap, to_cap, distance_cap, lag_cap, bytes_cap;
    sked_error failed; /* status OK while all is well */
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

static void release(sked_builder *b)
{
    void *const owned[] = {b->name,       b->duration,        b->memory,        b->weight,   b->type,
                           b->demand_ptr, b->demand_resource, b->demand_amount, b->capacity, b->from,
                           b->to,         b->distance,        b->lag,           b->bytes,    b->keep,
                           b->on_ptr,     b->on_name,         b->on_duration,   b->on_last};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    sked_i_names_free(&b->op_names);
    sked_i_names_free(&b->type_names);
    sked_i_names_free(&b->resource_names);
    sked_i_names_free(&b->on_names);
    *b = (sked_builder){0};
}

void sked_builder_destroy(sked_builder *b)
{
    if (b == NULL)
        return;
    release(b);
    free(b);
}

/* Names go into JSON, XML and SVG: what is no UTF-8 would not come back the same. */
static sked_status check_text(sked_builder *b, const char *what, const char *text, sked_error *err)
{
    char quoted[80];
    if (text == NULL || sked_i_utf8_valid(text))
        return SKED_OK;
    return BUILDER_FAIL(b, SKED_ERR_FORMAT, "the %s '%s' is not valid UTF-8", what,
                        sked_i_quote(text, strlen(text), quoted, sizeof quoted));
}

sked_status sked_builder_set_name(sked_builder *b, const char *name, sked_error *err)
{
    REFUSE_FAILED(b);
    const sked_status st = check_text(b, "graph name", name, err);
    if (st != SKED_OK)
        return st;
    char *copy = sked_i_strdup(name);
    if (copy == NULL)
        return NO_MEMORY(b);
    free(b->name);
    b->name = copy;
    return SKED_OK;
}

sked_status sked_builder_add_resource(sked_builder *b, const char *name, double capacity, int32_t *id,
                                      sked_error *err)
{
    REFUSE_FAILED(b);
    char quoted[80];
    const sked_status st = check_text(b, "resource name", name, err);
    if (st != SKED_OK)
        return st;
    if (!(capacity >= 0))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "resource '%s': capacity must be 0 or more",
                            sked_i_quote(name, strlen(name), quoted, sizeof quoted));
    bool fresh;
    if (!SKED_GROW(b->capacity, b->capacity_cap, b->resource_names.count + 1))
        return NO_MEMORY(b);
    const int32_t i = sked_i_names_add(&b->resource_names, name, strlen(name), &fresh);
    if (i < 0)
        return NO_MEMORY(b);
    if (!fresh)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "resource '%s' is declared twice",
                            sked_i_quote(name, strlen(name), quoted, sizeof quoted));
    b->capacity[i] = capacity;
    if (id)
        *id = i;
    return SKED_OK;
}

/* The first named op gives all before it their index as name, and later unnamed ones get theirs. */
static sked_status name_op(sked_builder *b, const char *name, sked_error *err)
{
    bool fresh;
    char digits[16], quoted[80];
    if (name == NULL && !b->any_named)
        return SKED_OK;
    b->any_named = true;
    while (b->op_names.count < b->n_ops || name == NULL) {
        const int32_t next = b->op_names.count;
        snprintf(digits, sizeof digits, "%d", (int)next);
        if (sked_i_names_add(&b->op_names, digits, strlen(digits), &fresh) < 0)
            return NO_MEMORY(b);
        if (!fresh)
            return BUILDER_FAIL(b, SKED_ERR_FORMAT,
                                "op %d has no name, and its index is already the name of another op",
                                (int)next);
        if (next == b->n_ops)
            return SKED_OK;
    }
    const int32_t i = sked_i_names_add(&b->op_names, name, strlen(name), &fresh);
    if (i < 0)
        return NO_MEMORY(b);
    if (!fresh)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "two ops are called '%s' (numbers %d and %d)",
                            sked_i_quote(name, strlen(name), quoted, sizeof quoted), (int)i, (int)b->n_ops);
    return SKED_OK;
}

static bool grow_ops(sked_builder *b, int64_t need)
{
    return SKED_GROW(b->duration, b->duration_cap, need) && SKED_GROW(b->memory, b->memory_cap, need) &&
           SKED_GROW(b->weight, b->weight_cap, need) && SKED_GROW(b->type, b->type_cap, need) &&
           SKED_GROW(b->demand_ptr, b->demand_ptr_cap, need + 1) &&
           (b->keep == NULL || SKED_GROW(b->keep, b->keep_cap, need)) &&
           (b->on_ptr == NULL || SKED_GROW(b->on_ptr, b->on_ptr_cap, need + 1));
}

static bool grow_edges(sked_builder *b, int64_t need)
{
    return SKED_GROW(b->from, b->from_cap, need) && SKED_GROW(b->to, b->to_cap, need) &&
           SKED_GROW(b->lag, b->lag_cap, need) && SKED_GROW(b->bytes, b->bytes_cap, need) &&
           SKED_GROW(b->distance, b->distance_cap, need);
}

/* Shared by the three numbers of an op. */
static sked_status check_amount(sked_builder *b, int32_t op, const char *what, double x, sked_error *err)
{
    char label[80];
    if (x >= 0 && x < INFINITY)
        return SKED_OK;
    if (op < b->op_names.count)
        sked_i_quote(sked_i_names_at(&b->op_names, op), strlen(sked_i_names_at(&b->op_names, op)), label,
                     sizeof label);
    else
        snprintf(label, sizeof label, "%d", (int)op);
    return BUILDER_FAIL(b, SKED_ERR_FORMAT, "op '%s': %s must be a finite number, 0 or more, not %g", label,
                        what, x);
}

static sked_status two_demands(sked_builder *b, int32_t op, int32_t resource, sked_error *err)
{
    return BUILDER_FAIL(b, SKED_ERR_FORMAT, "op %d: two demands on resource '%s'", (int)op,
                        sked_i_names_at(&b->resource_names, resource));
}

typedef struct demand {
    int32_t resource;
    double amount;
} demand;

static int by_resource(const void *x, const void *y)
{
    const demand *a = x, *b = y;
    return (a->resource > b->resource) - (a->resource < b->resource);
}

/* Sorts the demands of the last op where they came in large numbers and any order. */
static sked_status sort_demands(sked_builder *b, sked_error *err)
{
    const int64_t first = b->n_ops > 0 ? b->demand_ptr[b->n_ops - 1] : 0, n = b->n_demands - first;
    sked_status st = SKED_OK;
    demand *list = NULL;
    if (!b->demands_mixed)
        return SKED_OK;
    if ((list = sked_i_alloc(n, sizeof *list)) == NULL)
        return NO_MEMORY(b);
    for (int64_t k = 0; k < n; k++)
        list[k] = (demand){b->demand_resource[first + k], b->demand_amount[first + k]};
    qsort(list, (size_t)n, sizeof *list, by_resource);
    for (int64_t k = 0; k < n; k++) {
        if (k > 0 && list[k].resource == list[k - 1].resource)
            st = two_demands(b, b->n_ops - 1, list[k].resource, err);
        b->demand_resource[first + k] = list[k].resource;
        b->demand_amount[first + k] = list[k].amount;
    }
    b->demands_mixed = false;
    free(list);
    return st;
}

sked_status sked_builder_add_op(sked_builder *b, const char *name, const char *type, double duration,
                                int32_t *id, sked_error *err)
{
    REFUSE_FAILED(b);
    const int32_t op = b->n_ops;
    const sked_status sorted = sort_demands(b, err);
    if (sorted != SKED_OK)
        return sorted;
    if (op == INT32_MAX - 1)
        return BUILDER_FAIL(b, SKED_ERR_UNSUPPORTED, "more than %d ops", INT32_MAX - 1);
    if (!grow_ops(b, (int64_t)op + 1))
        return NO_MEMORY(b);
    sked_status st = check_text(b, "op name", name, err);
    if (st == SKED_OK)
        st = check_text(b, "op type", type, err);
    if (st == SKED_OK)
        st = name_op(b, name, err);
    if (st == SKED_OK)
        st = check_amount(b, op, "duration", duration, err);
    if (st != SKED_OK)
        return st;
    int32_t type_id = -1;
    bool fresh;
    if (type != NULL && (type_id = sked_i_names_add(&b->type_names, type, strlen(type), &fresh)) < 0)
        return NO_MEMORY(b);
    b->duration[op] = duration;
    b->memory[op] = 0;
    b->weight[op] = 1;
    b->type[op] = type_id;
    if (op == 0)
        b->demand_ptr[0] = 0;
    b->demand_ptr[op + 1] = b->n_demands;
    if (b->keep != NULL)
        b->keep[op] = 0;
    if (b->on_ptr != NULL)
        b->on_ptr[op + 1] = b->n_on;
    b->n_ops++;
    if (id)
        *id = op;
    return SKED_OK;
}

static sked_status set_amount(sked_builder *b, int32_t op, const char *what, double *column, double x,
                              sked_error *err)
{
    REFUSE_FAILED(b);
    if (op < 0 || op >= b->n_ops)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "no op %d", (int)op);
    const sked_status st = check_amount(b, op, what, x, err);
    if (st == SKED_OK)
        column[op] = x;
    return st;
}

sked_status sked_builder_set_memory(sked_builder *b, int32_t op, double memory, sked_error *err)
{
    return set_amount(b, op, "memory", b->memory, memory, err);
}

sked_status sked_builder_set_weight(sked_builder *b, int32_t op, double weight, sked_error *err)
{
    return set_amount(b, op, "weight", b->weight, weight, err);
}

sked_status sked_builder_set_keep(sked_builder *b, int32_t op, bool keep, sked_error *err)
{
    REFUSE_FAILED(b);
    if (op < 0 || op >= b->n_ops)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "no op %d", (int)op);
    if (b->keep == NULL && !keep)
        return SKED_OK;
    if (b->keep == NULL) {
        if (!SKED_GROW(b->keep, b->keep_cap, b->n_ops))
            return NO_MEMORY(b);
        memset(b->keep, 0, (size_t)b->n_ops);
    }
    b->keep[op] = keep;
    return SKED_OK;
}

/* The first duration by device: the column begins, empty for all ops there are. */
static bool begin_durations(sked_builder *b)
{
    if (b->on_ptr != NULL)
        return true;
    if (!SKED_GROW(b->on_ptr, b->on_ptr_cap, (int64_t)b->n_ops + 1))
        return false;
    memset(b->on_ptr, 0, ((size_t)b->n_ops + 1) * sizeof *b->on_ptr);
    return true;
}

sked_status sked_builder_add_duration(sked_builder *b, int32_t op, const char *device, double duration,
                                      sked_error *err)
{
    REFUSE_FAILED(b);
    char quoted[80];
    if (op < 0 || op != b->n_ops - 1)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "durations by device belong to the last op added");
    sked_status st = check_text(b, "device name", device, err);
    if (st == SKED_OK && !isinf(duration))
        st = check_amount(b, op, "a duration by device", duration, err);
    if (st == SKED_OK && duration < 0)
        st = check_amount(b, op, "a duration by device", duration, err);
    if (st != SKED_OK)
        return st;
    bool fresh;
    if (!begin_durations(b) || !SKED_GROW(b->on_name, b->on_name_cap, b->n_on + 1) ||
        !SKED_GROW(b->on_duration, b->on_duration_cap, b->n_on + 1) ||
        !SKED_GROW(b->on_last, b->on_last_cap, b->on_names.count + 1))
        return NO_MEMORY(b);
    const int32_t name = sked_i_names_add(&b->on_names, device, strlen(device), &fresh);
    if (name < 0)
        return NO_MEMORY(b);
    if (!fresh && b->on_last[name] == op + 1)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "op %d: two durations on '%s'", (int)op,
                            sked_i_quote(device, strlen(device), quoted, sizeof quoted));
    b->on_last[name] = op + 1;
    b->on_name[b->n_on] = name;
    b->on_duration[b->n_on++] = duration;
    b->on_ptr[op + 1] = b->n_on;
    return SKED_OK;
}

sked_status sked_builder_add_demand(sked_builder *b, int32_t op, int32_t resource, double amount,
                                    sked_error *err)
{
    REFUSE_FAILED(b);
    if (op < 0 || op != b->n_ops - 1)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "demands belong to the last op added");
    if (resource < 0 || resource >= b->resource_names.count)
        return BUILDER_FAIL(b, SKED_ERR_ARGUMENT, "no resource %d", (int)resource);
    const sked_status st = check_amount(b, op, "demand", amount, err);
    if (st != SKED_OK || amount == 0)
        return st;
    if (!SKED_GROW(b->demand_resource, b->demand_resource_cap, b->n_demands + 1) ||
        !SKED_GROW(b->demand_amount, b->demand_amount_cap, b->n_demands + 1))
        return NO_MEMORY(b);
    const int64_t first = b->demand_ptr[op];
    int64_t k = b->n_demands; /* a few demands are kept sorted by resource; many are sorted once, later */
    b->demands_mixed = b->demands_mixed || (k - first >= 32 && b->demand_resource[k - 1] >= resource);
    while (!b->demands_mixed && k > first && b->demand_resource[k - 1] > resource)
        k--;
    if (!b->demands_mixed && k > first && b->demand_resource[k - 1] == resource)
        return two_demands(b, op, resource, err);
    for (int64_t j = b->n_demands; j > k; j--) {
        b->demand_resource[j] = b->demand_resource[j - 1];
        b->demand_amount[j] = b->demand_amount[j - 1];
    }
    b->demand_resource[k] = resource;
    b->demand_amount[k] = amount;
    b->demand_ptr[op + 1] = ++b->n_demands;
    return SKED_OK;
}

sked_status sked_builder_add_edge(sked_builder *b, const sked_edge *edge, sked_error *err)
{
    REFUSE_FAILED(b);
    if (isinf(edge->lag) || !(edge->bytes >= 0 && edge->bytes < INFINITY) || edge->distance < 0)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT,
                            "edge %d -> %d: lag must be finite, bytes and distance 0 or more",
                            (int)edge->from, (int)edge->to);
    if (!grow_edges(b, b->n_edges + 1))
        return NO_MEMORY(b);
    const int64_t e = b->n_edges++;
    b->from[e] = edge->from;
    b->to[e] = edge->to;
    b->lag[e] = edge->lag;
    b->bytes[e] = edge->bytes;
    b->distance[e] = edge->distance;
    return SKED_OK;
}

sked_status sked_i_builder_reserve(sked_builder *b, int32_t ops, int64_t edges, sked_error *err)
{
    REFUSE_FAILED(b);
    const bool fits = grow_ops(b, ops) && grow_edges(b, edges);
    if (fits && b->n_ops == 0)
        b->demand_ptr[0] = 0; /* finish on an empty builder reads it */
    return fits ? SKED_OK : NO_MEMORY(b);
}

int32_t sked_builder_find_op(sked_builder *b, const char *name)
{
    if (b->any_named)
        return sked_i_names_find(&b->op_names, name, strlen(name));
    int64_t index;
    const bool canonical = strcmp(name, "0") == 0 || (name[0] >= '1' && name[0] <= '9');
    if (canonical && sked_i_parse_int(name, strlen(name), 0, (int64_t)b->n_ops - 1, &index))
        return (int32_t)index;
    return -1;
}

int32_t sked_builder_find_resource(sked_builder *b, const char *name)
{
    return sked_i_names_find(&b->resource_names, name, strlen(name));
}

int32_t sked_builder_op_count(const sked_builder *b)
{
    return b->n_ops;
}

/* Checks the ends of all edges and makes succ_ptr; *sorted says whether they already stand by `from`. */
static sked_status count_edges(const sked_builder *b, sked_graph *g, bool *sorted, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = g->n_ops;
    *sorted = true;
    SKED_NEW0(g->succ_ptr, (int64_t)n + 1);
    for (int64_t e = 0; e < g->n_edges; e++) {
        if (b->from[e] < 0 || b->from[e] >= n || b->to[e] < 0 || b->to[e] >= n)
            return sked_i_fail(err, SKED_ERR_FORMAT, "edge number %lld joins ops %d and %d, but there are %d",
                               (long long)e, (int)b->from[e], (int)b->to[e], (int)n);
        g->succ_ptr[b->from[e] + 1]++;
        *sorted = *sorted && (e == 0 || b->from[e] >= b->from[e - 1]);
    }
    for (int32_t i = 0; i < n; i++)
        g->succ_ptr[i + 1] += g->succ_ptr[i];
cleanup:
    return st;
}

/* Counting sort of the edges by `from`, keeping their order; O(ops + edges). */
static sked_status sort_edges(const sked_builder *b, sked_graph *g, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t m = g->n_edges;
    SKED_NEW(g->edge_from, m);
    SKED_NEW(g->edge_to, m);
    SKED_NEW(g->edge_lag, m);
    SKED_NEW(g->edge_bytes, m);
    SKED_NEW(g->edge_distance, m);
    for (int64_t e = 0; e < m; e++) { /* succ_ptr[i] runs to the end of row i, then is shifted back */
        const int64_t k = g->succ_ptr[b->from[e]]++;
        g->edge_from[k] = b->from[e];
        g->edge_to[k] = b->to[e];
        g->edge_lag[k] = b->lag[e];
        g->edge_bytes[k] = b->bytes[e];
        g->edge_distance[k] = b->distance[e];
    }
    memmove(g->succ_ptr + 1, g->succ_ptr, (size_t)g->n_ops * sizeof *g->succ_ptr);
    g->succ_ptr[0] = 0;
cleanup:
    return st;
}

/* Gives back what growing left over; a realloc that cannot shrink changes nothing. */
static void *shrunk(void *array, int64_t count, size_t size)
{
    void *smaller = count > 0 ? realloc(array, (size_t)count * size) : NULL;
    return smaller ? smaller : array;
}

/* Edges that came in order become the graph's own: no second copy of the largest arrays. */
static void take_edges(sked_builder *b, sked_graph *g)
{
    const int64_t m = g->n_edges;
    g->edge_from = shrunk(b->from, m, sizeof *b->from);
    g->edge_to = shrunk(b->to, m, sizeof *b->to);
    g->edge_lag = shrunk(b->lag, m, sizeof *b->lag);
    g->edge_bytes = shrunk(b->bytes, m, sizeof *b->bytes);
    g->edge_distance = shrunk(b->distance, m, sizeof *b->distance);
    b->from = b->to = b->distance = NULL;
    b->lag = b->bytes = NULL;
    b->from_cap = b->to_cap = b->distance_cap = b->lag_cap = b->bytes_cap = 0;
}

/* Lags that were not given follow the duration of `from`. */
static sked_status settle_lags(sked_graph *g, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW(g->edge_lag_given, g->n_edges);
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
    SKED_NEW0(g->pred_ptr, (int64_t)n + 1);
    SKED_NEW(g->pred_edge, g->n_edges);
    SKED_NEW(g->pred_op, g->n_edges);
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
cleanup:
    return st;
}

/*
 * Every op left in a cycle has an unordered predecessor, so walking back along those must repeat. The
 * loop found is named in the direction of its edges, at most a dozen names.
 */
static sked_status cycle_error(const sked_graph *g, const int32_t *indegree, int32_t *seen, sked_error *err)
{
    int32_t op = 0, step = 0;
    while (indegree[op] <= 0)
        op++;
    for (int32_t i = 0; i < g->n_ops; i++)
        seen[i] = -1;
    while (seen[op] < 0) {
        seen[op] = step++;
        for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
            if (g->edge_distance[g->pred_edge[k]] == 0 && indegree[g->pred_op[k]] > 0) {
                op = g->pred_op[k];
                break;
            }
    }
    const int32_t first = seen[op], length = step - first;
    sked_i_buffer text = {0};
    char label[80];
    /* ops of the loop by step: walk back again from `op`, writing names last to first */
    int32_t *loop = sked_i_alloc(length, sizeof *loop);
    if (loop == NULL)
        return sked_i_no_memory(err);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (seen[i] >= first)
            loop[length - 1 - (seen[i] - first)] = i;
    for (int32_t i = 0; i <= length; i++) {
        if (i == 12 && length > 12) {
            sked_i_buffer_format(&text, "... (%d more) -> ", (int)(length - 12));
            i = length;
        }
        sked_i_op_label(g, loop[i % length], label, sizeof label);
        sked_i_buffer_format(&text, i < length ? "%s -> " : "%s", label);
    }
    free(loop);
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
    SKED_NEW(g->topo, n);
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
    SKED_NEW0(g->user_ptr, (int64_t)g->n_resources + 1);
    SKED_NEW(g->user_op, count);
    SKED_NEW(g->user_amount, count);
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

/* Gives the graph the builder's columns; the builder forgets them. */
static void hand_over(sked_builder *b, sked_graph *g)
{
    g->name = b->name;
    g->n_types = b->type_names.count;
    g->n_resources = b->resource_names.count;
    g->duration = b->duration;
    g->memory = b->memory;
    g->weight = b->weight;
    g->type = b->type;
    g->op_names = b->op_names;
    g->type_names = b->type_names;
    g->resource_names = b->resource_names;
    g->capacity = b->capacity;
    g->demand_ptr = b->demand_ptr;
    g->demand_resource = b->demand_resource;
    g->demand_amount = b->demand_amount;
    g->keep = b->keep;
    g->on_ptr = b->on_ptr;
    g->on_name = b->on_name;
    g->on_duration = b->on_duration;
    g->on_names = b->on_names;
    b->keep = NULL;
    b->on_ptr = NULL;
    b->on_name = NULL;
    b->on_duration = NULL;
    b->on_names = (sked_i_names){0};
    b->name = NULL;
    b->duration = b->memory = b->weight = b->capacity = b->demand_amount = NULL;
    b->type = b->demand_resource = NULL;
    b->demand_ptr = NULL;
    b->op_names = b->type_names = b->resource_names = (sked_i_names){0};
}

sked_status sked_builder_finish(sked_builder *b, sked_graph **out, sked_error *err)
{
    REFUSE_FAILED(b);
    sked_status st = sort_demands(b, err);
    if (st != SKED_OK)
        return st;
    sked_graph *g = sked_i_alloc_zero(1, sizeof *g);
    if (g == NULL)
        return sked_i_no_memory(err);
    if (b->demand_ptr == NULL)
        SKED_NEW0(b->demand_ptr, 1);
    g->n_ops = b->n_ops;
    g->n_edges = b->n_edges;
    bool sorted;
    SKED_TRY(count_edges(b, g, &sorted, err));
    if (sorted)
        take_edges(b, g);
    else
        SKED_TRY(sort_edges(b, g, err));
    hand_over(b, g);
    release(b);
    SKED_TRY(settle_lags(g, err));
    SKED_TRY(build_preds(g, err));
    SKED_TRY(sort_topologically(g, err));
    SKED_TRY(list_users(g, err));
    g->integral = is_integral(g);
    *out = g;
    return SKED_OK;
cleanup:
    sked_graph_destroy(g);
    return st;
}
