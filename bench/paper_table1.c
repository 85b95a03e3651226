/* Table 1: one real graph, and models that were trained on that graph alone. */
#include "paper.h"

sked_status paper_table1(paper_run *r, paper_table *t, sked_error *err)
{
    char path[600];
    sked_graph *g = NULL;
    paper_training how = {.name = "table1", .updates = {300, 10000}};
    if (!have_data(r->a))
        return SKED_OK;
    how.graphs = real_graph_path(r->a, 0, path, sizeof path);
    sked_status st = real_graph(r->a, 0, &g, err);
    if (st == SKED_OK)
        st = paper_sharpness(g, &how.sharpness, err);
    if (st == SKED_OK)
        st = paper_table_learn(r, t, &how, err);
    paper_progress(t, 0, 1);
    if (st == SKED_OK && !stop_requested)
        st = paper_graph(r, g, real_graph_name(0), t, err);
    sked_graph_destroy(g);
    return st;
}
