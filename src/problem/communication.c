/*
 * Communication is linear in the starts, so the least of it is a linear program of differences (network.h):
 * an op weighs as much as it has edges in, less those out. The root is time 0, and the windows are arcs from
 * and to it. In the first tree all ops hang on the root: at their latest start where late is better, at
 * their earliest otherwise.
 */
#include "problem/communication.h"

#include "problem/network.h"

#include <assert.h>
#include <math.h>

typedef struct span_flow {
    const sked_graph *g;
    double ii;
    const double *early, *late;
    double most;    /* no least schedule needs more time than this */
    double *weight; /* [ops] edges in, less edges out */
    sked_i_network net;
} span_flow;

static double length_of(const sked_graph *g, double ii, int64_t e)
{
    return g->edge_lag[e] - (ii > 0 ? g->edge_distance[e] * ii : 0);
}

bool sked_i_communicates(const sked_graph *g, double ii, int64_t e)
{
    return g->edge_bytes[e] > 0 && sked_i_edge_counts(g, ii > 0, e);
}

bool sked_i_must_communicate(const sked_graph *g, double ii)
{
    for (int64_t e = 0; e < g->n_edges; e++)
        if (sked_i_communicates(g, ii, e) && length_of(g, ii, e) > 0)
            return true;
    return false;
}

static void weigh(span_flow *f)
{
    const sked_graph *g = f->g;
    for (int64_t e = 0; e < g->n_edges; e++) {
        f->most += sked_i_edge_counts(g, f->ii > 0, e) ? fabs(length_of(g, f->ii, e)) : 0;
        if (sked_i_communicates(g, f->ii, e)) {
            f->weight[g->edge_to[e]]++;
            f->weight[g->edge_from[e]]--;
        }
    }
}

static void plant(span_flow *f)
{
    const sked_graph *g = f->g;
    sked_i_network *net = &f->net;
    net->root = g->n_ops;
    net->n_nodes = g->n_ops + 1;
    for (int32_t i = 0; i < g->n_ops; i++) {
        const double late = fmax(f->early[i], fmin(f->late[i], f->early[i] + f->most));
        const int64_t after = sked_i_network_add(net, net->root, i, f->early[i]);
        const int64_t before = sked_i_network_add(net, i, net->root, -late);
        sked_i_network_hang(net, i, net->root, f->weight[i] > 0 ? after : before, fabs(f->weight[i]));
    }
    for (int64_t e = 0; e < g->n_edges; e++)
        if (sked_i_edge_counts(g, f->ii > 0, e))
            (void)sked_i_network_add(net, g->edge_from[e], g->edge_to[e], length_of(g, f->ii, e));
    sked_i_network_settle(net);
}

/* Every edge spans at least its lag; the sum of starts leaves out the iterations between. */
static double settle_sum(span_flow *f)
{
    const sked_graph *g = f->g;
    double lags = 0, turns = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (sked_i_communicates(g, f->ii, e)) {
            lags += g->edge_lag[e];
            turns += f->ii > 0 ? g->edge_distance[e] * f->ii : 0;
        }
    return fmax(lags, sked_i_network_earned(&f->net) + turns);
}

sked_status sked_i_least_communication(const sked_graph *g, double ii, const double *early,
                                       const double *late, sked_i_bound_effort *effort, double *start,
                                       double *sum, sked_error *err)
{
    sked_status st = SKED_OK;
    span_flow f = {.g = g, .ii = ii, .early = early, .late = late, .net = {.effort = *effort}};
    assert(ii >= 0);
    f.net.slack = g->integral && ii == floor(ii) ? 0 : 1e-9;
    SKED_OWN0(&f.net.arena, f.weight, g->n_ops);
    SKED_TRY(sked_i_network_open(&f.net, (int64_t)g->n_ops + 1, g->n_edges + 2 * (int64_t)g->n_ops, err));
    weigh(&f);
    plant(&f);
    sked_i_network_improve(&f.net);
    *sum = settle_sum(&f);
    for (int32_t i = 0; start != NULL && i < g->n_ops; i++)
        start[i] = f.net.x[i];
    effort->work = f.net.effort.work;
cleanup:
    sked_i_network_close(&f.net);
    return st;
}
