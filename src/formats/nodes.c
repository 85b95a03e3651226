#include "formats/nodes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    sked_i_json *j;
    const sked_i_nodes_spec *spec;
    sked_builder *b;
    sked_i_names ids, names;
    bool by_name; /* every node has a name and no two are equal */
    sked_i_buffer id, name, type;
} reader;

/* An id or a name: a string, or a number in its shortest form. */
static void read_label(sked_i_json *j, const char *what, sked_i_buffer *out)
{
    if (sked_i_json_peek(j) != '0') {
        sked_i_json_text(j, what, out);
        return;
    }
    out->size = 0;
    sked_i_buffer_number(out, sked_i_json_number(j, what));
    if (out->failed)
        sked_i_json_no_memory(j);
}

static double read_value(sked_i_json *j, const char *what)
{
    const char c = sked_i_json_peek(j);
    if (c == 't' || c == 'f')
        return sked_i_json_bool(j, what);
    return sked_i_json_null(j) ? NAN : sked_i_json_number(j, what);
}

static int32_t add_label(reader *r, sked_i_names *table, const char *text, bool *fresh)
{
    const int32_t i = sked_i_names_add(table, text, strlen(text), fresh);
    if (i < 0)
        sked_i_json_no_memory(r->j);
    return i;
}

/* First pass over a node: who it is. */
static void read_identity(reader *r)
{
    sked_i_json *j = r->j;
    uint32_t seen = 0;
    char index[24];
    bool fresh = true;
    sked_i_json_enter(j, '{', "a node");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &r->spec->node_fields, &seen)) >= 0;) {
        if (k == SKED_I_NODE_ID)
            read_label(j, "a node's id", &r->id);
        else if (k == SKED_I_NODE_NAME)
            read_label(j, "a node's name", &r->name);
        else
            sked_i_json_skip(j);
    }
    if (j->status != SKED_OK)
        return;
    j->token = begin;
    const bool has_name = SKED_I_JSON_HAS(seen, SKED_I_NODE_NAME);
    snprintf(index, sizeof index, "%lld", (long long)j->number);
    const char *id = SKED_I_JSON_HAS(seen, SKED_I_NODE_ID) ? r->id.data : has_name ? r->name.data : index;
    if (add_label(r, &r->ids, id, &fresh) >= 0 && !fresh)
        sked_i_json_fail(j, "two nodes have the id '%s'", sked_i_quoted_text(id).text);
    r->by_name = r->by_name && has_name;
    if (r->by_name && add_label(r, &r->names, r->name.data, &fresh) >= 0)
        r->by_name = fresh;
}

/* Second pass: what it is. */
static void read_node(reader *r)
{
    sked_i_json *j = r->j;
    uint32_t seen = 0;
    double value[sked_i_nodes_max_values];
    sked_i_nodes_op x = {.duration = 1, .weight = 1};
    const int32_t op = sked_builder_op_count(r->b);
    assert(op < r->ids.count);
    for (int i = 0; i < sked_i_nodes_max_values; i++)
        value[i] = NAN;
    sked_i_json_enter(j, '{', "a node");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &r->spec->node_fields, &seen)) >= 0;) {
        if (k >= SKED_I_NODE_VALUES)
            value[k - SKED_I_NODE_VALUES] = read_value(j, r->spec->node_fields.names[k]);
        else if (k == SKED_I_NODE_TYPE)
            sked_i_json_text(j, "a node's type", &r->type);
        else
            sked_i_json_skip(j);
    }
    if (j->status != SKED_OK)
        return;
    j->token = begin;
    r->spec->op(value, &x);
    sked_i_json_check(j, sked_builder_add_op(r->b, sked_i_names_at(r->by_name ? &r->names : &r->ids, op),
                                             SKED_I_JSON_HAS(seen, SKED_I_NODE_TYPE) ? r->type.data : NULL,
                                             x.duration, NULL, &j->cause));
    if (j->status == SKED_OK)
        sked_i_json_check(j, sked_builder_set_memory(r->b, op, x.memory, &j->cause));
    if (j->status == SKED_OK)
        sked_i_json_check(j, sked_builder_set_weight(r->b, op, x.weight, &j->cause));
    for (int i = 0; i < x.n_on && j->status == SKED_OK; i++)
        sked_i_json_check(j,
                          sked_builder_add_duration(r->b, op, x.on[i].device, x.on[i].duration, &j->cause));
}

static int32_t read_end(reader *r)
{
    read_label(r->j, "an end of a link", &r->id);
    if (r->j->status != SKED_OK)
        return 0;
    const int32_t op = sked_i_names_find(&r->ids, r->id.data, (size_t)r->id.size);
    if (op < 0)
        sked_i_json_fail(r->j, "no node has the id '%s'",
                         sked_i_quoted_bytes(r->id.data, (size_t)r->id.size).text);
    return op;
}

static void read_link(reader *r)
{
    sked_i_json *j = r->j;
    uint32_t seen = 0;
    double value[sked_i_nodes_max_values];
    sked_edge edge = {.lag = NAN, .from = -1, .to = -1};
    for (int i = 0; i < sked_i_nodes_max_values; i++)
        value[i] = NAN;
    sked_i_json_enter(j, '{', "a link");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &r->spec->link_fields, &seen)) >= 0;) {
        if (k == SKED_I_LINK_FROM || (k == SKED_I_LINK_FROM_ALSO && edge.from < 0))
            edge.from = read_end(r);
        else if (k == SKED_I_LINK_TO || (k == SKED_I_LINK_TO_ALSO && edge.to < 0))
            edge.to = read_end(r);
        else if (k >= SKED_I_LINK_VALUES)
            value[k - SKED_I_LINK_VALUES] = read_value(j, r->spec->link_fields.names[k]);
        else
            sked_i_json_skip(j);
    }
    if (j->status != SKED_OK)
        return;
    j->token = begin;
    if (edge.from < 0 || edge.to < 0) {
        const char *const *names = r->spec->link_fields.names;
        sked_i_json_fail(j, "a link needs both \"%s\" and \"%s\"", names[SKED_I_LINK_FROM],
                         names[SKED_I_LINK_TO]);
        return;
    }
    r->spec->edge(value, &edge);
    sked_i_json_check(j, sked_builder_add_edge(r->b, &edge, &j->cause));
}

sked_status sked_i_nodes_build(sked_i_json *j, const sked_i_nodes_spec *spec, const char *nodes,
                               const char *links, const char *name, sked_graph **out)
{
    reader r = {.j = j, .spec = spec, .by_name = true};
    sked_status st = SKED_OK;
    sked_error *err = j->err;
    SKED_TRY(sked_i_source_begin(j->source, name != NULL && name[0] != 0 ? name : NULL, &r.b, err));
    while (sked_i_json_each(j, nodes, "node", "node"))
        read_identity(&r);
    while (sked_i_json_each(j, nodes, "node", "node"))
        read_node(&r);
    while (sked_i_json_each(j, links, "link", "link"))
        read_link(&r);
    SKED_TRY(j->status);
    SKED_BUILD(j->source, NULL, sked_builder_finish(r.b, out, &cause));
cleanup:
    sked_builder_destroy(r.b);
    sked_i_names_free(&r.ids);
    sked_i_names_free(&r.names);
    sked_i_buffer_free(&r.id);
    sked_i_buffer_free(&r.name);
    sked_i_buffer_free(&r.type);
    return st;
}
