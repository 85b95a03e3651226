/* Op libraries: durations and units by op type. docs/formats/library.md. */
#include "base/arena.h"
#include "formats/durations.h"

#include <string.h>

static const sked_read_options no_options;

/* What the library says about one type. NAN: nothing, the op keeps its own. */
typedef struct entry {
    double duration, memory, weight, latency, delay_in, delay_out;
    const char *durations; /* where its object starts, NULL: none */
    int32_t verilog;       /* in library.verilog, -1: none */
    int64_t n_durations;
    bool has_demand;
    int64_t first_unit, n_units;
} entry;

/* One entry for every op, with many units: demands beyond this and the sizes of graph and file are not meant.
 */
static const int64_t max_expansion = 1 << 20;

typedef struct library {
    sked_i_arena arena;
    sked_i_json j;
    const sked_graph *graph;
    sked_i_names types;     /* lower case */
    entry *entry;           /* [types.count] */
    sked_i_names resources; /* the graph's, then the library's */
    double *capacity;       /* [resources.count] */
    bool declares;          /* the file has "resources" */
    sked_i_names declared;  /* resources of the file, to find repetitions */
    sked_i_names verilog;   /* expressions */
    sked_i_demand *unit;
    int64_t n_units, unit_cap, entry_cap, capacity_cap;
    int64_t expanded; /* demands that ops have from the library */
    sked_i_buffer text;
} library;

enum { TOP_TYPES, TOP_RESOURCES };
static const sked_i_json_fields top_fields = SKED_I_JSON_FIELDS("an op library", true, "types", "resources");

enum {
    TYPE_DURATION,
    TYPE_MEMORY,
    TYPE_WEIGHT,
    TYPE_LATENCY,
    TYPE_DEMAND,
    TYPE_DURATIONS,
    TYPE_DELAY,
    TYPE_VERILOG
};
static const sked_i_json_fields type_fields = SKED_I_JSON_FIELDS(
    "a type", true, "duration", "memory", "weight", "latency", "demand", "durations", "delay", "verilog");

static const char *lower_case(sked_i_buffer *out, const char *s, size_t size)
{
    out->size = 0;
    sked_i_buffer_add(out, s, size);
    for (int64_t i = 0; !out->failed && i < out->size; i++)
        if (out->data[i] >= 'A' && out->data[i] <= 'Z')
            out->data[i] = (char)(out->data[i] - 'A' + 'a');
    return out->failed ? NULL : out->data;
}

/* Index of a resource, added with `capacity` where it is new; -1 without memory. */
static int32_t add_resource(library *lib, const char *name, size_t size, double capacity, bool *fresh)
{
    if (!SKED_OWN_GROW(&lib->arena, lib->capacity, lib->capacity_cap, lib->resources.count + 1))
        return -1;
    const int32_t i = sked_i_names_add(&lib->resources, name, size, fresh);
    if (i >= 0 && *fresh)
        lib->capacity[i] = capacity;
    return i;
}

/* {"MUL": 2, "ALU": null} */
static void read_resources(library *lib, const char *place)
{
    sked_i_json *j = &lib->j;
    bool fresh;
    lib->declares = place != NULL;
    if (place == NULL || j->status != SKED_OK)
        return;
    sked_i_json_seek(j, place);
    sked_i_json_enter(j, '{', "\"resources\"");
    while (sked_i_json_key(j)) {
        const int32_t i = add_resource(lib, j->key, j->key_size, INFINITY, &fresh);
        if (i < 0 || sked_i_names_add(&lib->declared, j->key, j->key_size, &fresh) < 0) {
            sked_i_json_no_memory(&lib->j);
            return;
        }
        if (!fresh)
            sked_i_json_fail(j, "the resource '%s' comes twice", sked_i_names_at(&lib->resources, i));
        lib->capacity[i] = sked_i_json_null(j) ? INFINITY : sked_i_json_number(j, "a capacity");
        if (lib->capacity[i] < 0)
            sked_i_json_fail(j, "a capacity must be 0 or more, or null for no limit");
    }
}

static void read_units(library *lib, entry *e)
{
    sked_i_json *j = &lib->j;
    e->has_demand = true;
    e->first_unit = lib->n_units;
    sked_i_json_enter(j, '{', "a type's demand");
    while (sked_i_json_key(j)) {
        bool fresh = false;
        int32_t r = sked_i_names_find(&lib->resources, j->key, j->key_size);
        if (r < 0 && lib->declares) {
            sked_i_json_fail(j, "a demand on '%s', which \"resources\" does not declare",
                             sked_i_quoted_bytes(j->key, j->key_size).text);
            return;
        }
        if (r < 0)
            r = add_resource(lib, j->key, j->key_size, INFINITY, &fresh);
        if (r < 0 || !SKED_OWN_GROW(&lib->arena, lib->unit, lib->unit_cap, lib->n_units + 1)) {
            sked_i_json_no_memory(&lib->j);
            return;
        }
        const double amount = sked_i_json_number(j, "a demand");
        if (amount < 0)
            sked_i_json_fail(j, "a demand must be 0 or more");
        lib->unit[lib->n_units++] = (sked_i_demand){r, amount};
    }
    e->n_units = lib->n_units - e->first_unit;
    if (e->n_units > 0 && !sked_i_demands_sort(lib->unit + e->first_unit, e->n_units))
        sked_i_json_fail(j, "two demands on the same resource");
}

static sked_status count_duration(void *data, const char *on, double time, sked_error *err)
{
    (void)on;
    ++*(int64_t *)data;
    return time >= 0 ? SKED_OK : sked_i_fail(err, SKED_ERR_FORMAT, "a duration must be 0 or more");
}

/* Looked at once here, and again for every op of the type. */
static void read_durations(library *lib, entry *e)
{
    e->durations = sked_i_json_defer(&lib->j);
    sked_i_json_seek(&lib->j, e->durations);
    e->n_durations = 0;
    sked_i_durations_each(&lib->j, &lib->text, count_duration, &e->n_durations);
}

enum { longest_verilog = 4096 }; /* every op of the type has it */

static void read_verilog(library *lib, entry *e)
{
    bool fresh;
    sked_i_json_text(&lib->j, "a type's Verilog", &lib->text);
    if (lib->text.size > longest_verilog)
        sked_i_json_fail(&lib->j, "Verilog of more than %d bytes", longest_verilog);
    const char *wrong = lib->j.status == SKED_OK ? sked_i_expression_wrong(lib->text.data) : NULL;
    if (wrong != NULL)
        sked_i_json_fail(&lib->j, "Verilog '%s': %s", sked_i_quoted_text(lib->text.data).text, wrong);
    if (lib->j.status != SKED_OK)
        return;
    e->verilog = sked_i_names_add(&lib->verilog, lib->text.data, (size_t)lib->text.size, &fresh);
    if (e->verilog < 0)
        sked_i_json_no_memory(&lib->j);
}

static void read_type(library *lib, entry *e)
{
    sked_i_json *j = &lib->j;
    uint32_t seen = 0;
    double *const number[] = {&e->duration, &e->memory, &e->weight, &e->latency};
    *e = (entry){
        .duration = NAN, .memory = NAN, .weight = NAN, .latency = NAN, .delay_in = NAN, .verilog = -1};
    sked_i_json_enter(j, '{', "a type");
    for (int k; (k = sked_i_json_field(j, &type_fields, &seen)) >= 0;) {
        if (k == TYPE_DEMAND) {
            read_units(lib, e);
        } else if (k == TYPE_DURATIONS) {
            read_durations(lib, e);
        } else if (k == TYPE_DELAY) {
            sked_i_delay_read(j, &e->delay_in, &e->delay_out);
        } else if (k == TYPE_VERILOG) {
            read_verilog(lib, e);
        } else {
            *number[k] = sked_i_json_number(j, type_fields.names[k]);
            if (*number[k] < 0)
                sked_i_json_fail(j, "\"%s\" must be 0 or more", type_fields.names[k]);
        }
    }
}

static void read_types(library *lib, const char *place)
{
    sked_i_json *j = &lib->j;
    bool fresh;
    if (j->status != SKED_OK)
        return;
    sked_i_json_seek(j, place);
    sked_i_json_enter(j, '{', "\"types\"");
    while (sked_i_json_key(j)) {
        const char *name = lower_case(&lib->text, j->key, j->key_size);
        const int32_t i = name ? sked_i_names_add(&lib->types, name, j->key_size, &fresh) : -1;
        if (i < 0 || !SKED_OWN_GROW(&lib->arena, lib->entry, lib->entry_cap, lib->types.count)) {
            sked_i_json_no_memory(&lib->j);
            return;
        }
        if (!fresh)
            sked_i_json_fail(j, "the type '%s' comes twice (case does not count)",
                             sked_i_names_at(&lib->types, i));
        read_type(lib, &lib->entry[i]);
    }
}

static sked_status read_library(library *lib, const sked_i_source *source, sked_error *err)
{
    sked_i_json *j = &lib->j;
    const char *types = NULL, *resources = NULL;
    uint32_t seen = 0;
    bool fresh;
    sked_i_json_begin(j, source, err);
    for (int32_t r = 0; r < lib->graph->n_resources; r++) {
        const char *name = sked_graph_resource_name(lib->graph, r);
        if (add_resource(lib, name, strlen(name), lib->graph->capacity[r], &fresh) < 0)
            sked_i_json_no_memory(&lib->j);
    }
    sked_i_json_enter(j, '{', "an op library");
    for (int k; (k = sked_i_json_field(j, &top_fields, &seen)) >= 0;)
        *(k == TOP_TYPES ? &types : &resources) = sked_i_json_defer(j);
    sked_i_json_end(j);
    if (types == NULL)
        sked_i_json_fail(j, "an op library needs \"types\"");
    read_resources(lib, resources);
    read_types(lib, types);
    return j->status;
}

static sked_status missing_type(const library *lib, int32_t op, sked_error *err)
{
    char label[80], hint[120] = "";
    const char *file = lib->j.source->name, *type = sked_graph_op_type(lib->graph, op);
    sked_i_op_label(lib->graph, op, label, sizeof label);
    if (type == NULL)
        return sked_i_fail(err, SKED_ERR_FORMAT, "%s: op '%s' has no type, and the library has no \"*\"",
                           file, label);
    const int32_t count = lib->types.count < 1000 ? lib->types.count : 1000;
    const char **names = sked_i_alloc(count, sizeof *names);
    for (int32_t i = 0; names != NULL && i < count; i++)
        names[i] = sked_i_names_at(&lib->types, i);
    if (names != NULL)
        sked_suggest(type, names, count, hint, sizeof hint);
    free(names);
    return sked_i_fail(err, SKED_ERR_FORMAT, "%s: no type '%s' (of op '%s') and no \"*\"%s", file,
                       sked_i_quoted_text(type).text, label, hint);
}

/* For every type of the graph (and, last, for untyped ops) its entry, or the entry of "*", or -1. */
static sked_status match_types(library *lib, int32_t *match, sked_error *err)
{
    const int32_t other = sked_i_names_find(&lib->types, "*", 1);
    for (int32_t t = 0; t < lib->graph->n_types; t++) {
        const char *type = sked_i_names_at(&lib->graph->type_names, t);
        const char *name = lower_case(&lib->text, type, strlen(type));
        if (name == NULL)
            return sked_i_no_memory(err);
        match[t] = sked_i_names_find(&lib->types, name, (size_t)lib->text.size);
        if (match[t] < 0)
            match[t] = other;
    }
    match[lib->graph->n_types] = other;
    return SKED_OK;
}

/* More than the library and the graph can be meant to stand for? */
static sked_status expand(library *lib, int64_t more, sked_error *err)
{
    lib->expanded += more;
    if (lib->expanded > max_expansion + 4 * (int64_t)lib->graph->n_ops + (int64_t)lib->j.source->size)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "%s: its types stand for more than %lld demands and durations by device",
                           lib->j.source->name, (long long)max_expansion);
    return SKED_OK;
}

static sked_status add_units(library *lib, const entry *e, sked_builder *b, int32_t op, sked_error *err)
{
    const sked_graph *g = lib->graph;
    sked_status st = expand(lib, e->has_demand ? e->n_units : 0, err);
    if (e->has_demand)
        for (int64_t k = e->first_unit; k < e->first_unit + e->n_units && st == SKED_OK; k++)
            st = sked_builder_add_demand(b, op, lib->unit[k].resource, lib->unit[k].amount, err);
    else
        for (int64_t k = g->demand_ptr[op]; k < g->demand_ptr[op + 1] && st == SKED_OK; k++)
            st = sked_builder_add_demand(b, op, g->demand_resource[k], g->demand_amount[k], err);
    return st;
}

/* {"gpu": 0.5} in place of the graph's; each op reads the text of its type again. */
static sked_status add_durations(library *lib, const entry *e, sked_builder *b, int32_t op, sked_error *err)
{
    if (e->durations == NULL)
        return sked_i_graph_copy_placement(lib->graph, op, b, err);
    const sked_status st = expand(lib, e->n_durations, err);
    if (st != SKED_OK)
        return st;
    sked_i_json_seek(&lib->j, e->durations);
    sked_i_durations_read(&lib->j, &lib->text, b, op);
    return lib->j.status;
}

static double either(double a, double otherwise)
{
    return isnan(a) ? otherwise : a;
}

static sked_status add_ops(library *lib, const int32_t *match, sked_builder *b, sked_error *err)
{
    const sked_graph *g = lib->graph;
    sked_status st = SKED_OK;
    for (int32_t i = 0; i < g->n_ops; i++) {
        const int32_t which = match[g->type[i] >= 0 ? g->type[i] : g->n_types];
        const char *name = g->op_names.count ? sked_i_names_at(&g->op_names, i) : NULL;
        if (which < 0)
            return missing_type(lib, i, err);
        const entry *e = &lib->entry[which];
        SKED_TRY(sked_builder_add_op(b, name, sked_graph_op_type(g, i), either(e->duration, g->duration[i]),
                                     NULL, err));
        SKED_TRY(sked_i_graph_copy_values(g, i, b, i, err));
        SKED_TRY(sked_builder_set_memory(b, i, either(e->memory, g->memory[i]), err));
        SKED_TRY(sked_builder_set_weight(b, i, either(e->weight, g->weight[i]), err));
        if (!isnan(e->delay_in)) {
            SKED_TRY(sked_i_builder_set(b, &sked_i_op_table[sked_i_op_delay_in], i, e->delay_in, err));
            SKED_TRY(sked_i_builder_set(b, &sked_i_op_table[sked_i_op_delay_out], i, e->delay_out, err));
        }
        if (e->verilog >= 0)
            SKED_TRY(sked_builder_set_verilog(b, i, sked_i_names_at(&lib->verilog, e->verilog), err));
        SKED_TRY(add_durations(lib, e, b, i, err));
        SKED_TRY(add_units(lib, e, b, i, err));
    }
cleanup:
    return st;
}

/* The latency of a type is the lag of edges that say none. */
static sked_status add_edges(library *lib, const int32_t *match, sked_builder *b, sked_error *err)
{
    const sked_graph *g = lib->graph;
    sked_status st = SKED_OK;
    for (int64_t e = 0; e < g->n_edges && st == SKED_OK; e++) {
        const int32_t from = g->edge_from[e], type = g->type[from];
        double value[sked_i_edge_attributes];
        (void)sked_i_edge_said(g, e, value);
        if (isnan(value[sked_i_edge_lag]))
            value[sked_i_edge_lag] = lib->entry[match[type >= 0 ? type : g->n_types]].latency;
        st = sked_i_builder_add_edge(b, from, g->edge_to[e], value, err);
    }
    return st;
}

static sked_status rebuild(library *lib, sked_graph **out, sked_error *err)
{
    const sked_graph *g = lib->graph;
    sked_status st = SKED_OK;
    sked_builder *b = NULL;
    int32_t *match = NULL;
    SKED_NEW(match, (int64_t)g->n_types + 1);
    SKED_TRY(match_types(lib, match, err));
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_builder_set_name(b, sked_graph_name(g), err));
    for (int32_t r = 0; r < lib->resources.count; r++)
        SKED_TRY(
            sked_builder_add_resource(b, sked_i_names_at(&lib->resources, r), lib->capacity[r], NULL, err));
    SKED_TRY(add_ops(lib, match, b, err));
    SKED_TRY(add_edges(lib, match, b, err));
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    free(match);
    return st;
}

sked_status sked_i_library_parse(const char *name, const char *text, size_t size, const sked_graph *g,
                                 sked_graph **out, sked_error *err)
{
    library lib = {.graph = g};
    const sked_i_source source = {name, text, size, &no_options};
    sked_status st = read_library(&lib, &source, err);
    if (st == SKED_OK)
        st = rebuild(&lib, out, err);
    sked_i_json_free(&lib.j);
    sked_i_names_free(&lib.types);
    sked_i_names_free(&lib.declared);
    sked_i_names_free(&lib.resources);
    sked_i_names_free(&lib.verilog);
    sked_i_buffer_free(&lib.text);
    sked_i_arena_free(&lib.arena);
    return st;
}
