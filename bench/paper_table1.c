/*
 * Table 1: one real graph, and models that were trained on that graph alone. The paper's has 78 ops, and list
 * scheduling reaches 3.23 on it; of the networks this one, a relational graph network of 123 ops, is nearest.
 */
#include "paper.h"

static const char *const network = "rgcn_12rel";

sked_status paper_training1(const paper_run *r, char *path, size_t size, paper_training *how,
                            sked_graph **out, sked_error *err)
{
    char part[60];
    snprintf(part, sizeof part, "networks/%s.json", network);
    *how = (paper_training){.name = "table1", .graphs = path, .updates = {200, 10000}};
    const sked_status st = sked_graph_read(data_path(r->a, part, path, size), NULL, out, err);
    return st == SKED_OK ? paper_sharpness(*out, &how->sharpness, err) : st;
}

sked_status paper_table1(paper_run *r, paper_table *t, sked_error *err)
{
    char path[600];
    sked_graph *g = NULL;
    paper_training how;
    if (!have_data(r->a))
        return SKED_OK;
    sked_status st = paper_training1(r, path, sizeof path, &how, &g, err);
    if (st == SKED_OK)
        st = paper_table_learn(r, t, &how, err);
    paper_progress(t, 0, 1);
    if (st == SKED_OK && !stop_requested && r->train != PAPER_TRAIN_ONLY)
        st = paper_graph(r, g, network, t, err);
    sked_graph_destroy(g);
    return st;
}
