/*
 * JSON graphs that are a list of nodes and a list of links, each an object with an id and numbers. Formats
 * of this kind differ in key names and in what the numbers mean; a spec says both.
 */
#ifndef SKED_FORMATS_NODES_H
#define SKED_FORMATS_NODES_H
#include "formats/json.h"

enum { sked_i_nodes_max_values = 16 };

/* First keys of node_fields: id and name (string or number), type (string); from there on numbers. */
enum { SKED_I_NODE_ID, SKED_I_NODE_NAME, SKED_I_NODE_TYPE, SKED_I_NODE_VALUES };
/* First keys of link_fields: the two ends, and the same again under other keys; from there on numbers. */
enum { SKED_I_LINK_FROM, SKED_I_LINK_TO, SKED_I_LINK_FROM_ALSO, SKED_I_LINK_TO_ALSO, SKED_I_LINK_VALUES };

enum { sked_i_nodes_max_devices = 2 };

typedef struct sked_i_nodes_op {
    double duration, memory, weight;
    int n_on; /* durations by device type; INFINITY: it cannot run there */
    struct {
        const char *device;
        double duration;
    } on[sked_i_nodes_max_devices];
} sked_i_nodes_op;

typedef struct sked_i_nodes_spec {
    sked_i_json_fields node_fields, link_fields;
    /* value[i] is key number i + *_VALUES, true and false as 1 and 0, NAN where absent or null. */
    void (*op)(const double *value, sked_i_nodes_op *op);
    void (*edge)(const double *value, sked_edge *edge);
} sked_i_nodes_spec;

/*
 * Builds the graph of the sections at `nodes` and `links` (places of sked_i_json_defer). Ops are called by
 * their "name" where every node has one and no two are equal, else by their "id"; a node without an id
 * has its name or else its index as id. name: the graph's, NULL or "" for the file's stem. O(nodes + links).
 */
SKED_MUST_CHECK sked_status sked_i_nodes_build(sked_i_json *j, const sked_i_nodes_spec *spec,
                                               const char *nodes, const char *links, const char *name,
                                               sked_graph **out);
#endif
