/*
 * Linear programs of differences: least sum_k weight[k] x[k] where x[head] - x[tail] >= length on every arc.
 * The dual is a flow: units leave nodes of negative weight, reach those of positive weight over arcs of any
 * capacity, and earn the length of each arc. What any flow earns is a lower bound of the sum; the best one is
 * equal to it, and the times of its tree are the best x.
 */
#ifndef SKED_PROBLEM_NETWORK_H
#define SKED_PROBLEM_NETWORK_H
#include "base/arena.h"
#include "problem/live_cut.h"

typedef struct sked_i_network_arc {
    int32_t tail, head;
    double length;
    double flow; /* known once it is earned; meanwhile with the node below */
} sked_i_network_arc;

/* One node is the root, whose time is 0. Zeroed but for slack and effort before it is opened. */
typedef struct sked_i_network {
    sked_i_arena arena;
    int32_t root, n_nodes;
    sked_i_network_arc *arcs;
    int64_t n_arcs; /* that may enter */
    int64_t ties;   /* the first of those that may not, at the end of `arcs` */
    int64_t room;   /* of `arcs` */
    int64_t next;   /* where to look for an arc to enter */
    int64_t block;  /* arcs that are compared for it; 0: the root of their number */
    double *x;      /* [nodes] times that make all arcs of the tree tight */
    double *flow;   /* [nodes] of the arc to the parent */
    int32_t *parent, *depth, *child, *before, *after; /* [nodes] -1: none; siblings before and after */
    int64_t *up;                                      /* [nodes] arc to the parent */
    double slack;                                     /* violations up to it do not count: rounding */
    sked_i_bound_effort effort;                       /* work counts looks at arcs and nodes */
} sked_i_network;

/* Room for so many nodes and arcs, ties among them. On failure, too, the caller closes it. */
SKED_MUST_CHECK sked_status sked_i_network_open(sked_i_network *f, int64_t nodes, int64_t arcs,
                                                sked_error *err);
void sked_i_network_close(sked_i_network *f);
/* Room for so many arcs more. There are no ties. */
SKED_MUST_CHECK sked_status sked_i_network_room(sked_i_network *f, int64_t more, sked_error *err);
/* An arc that may carry flow; returns its number, from 0 on. */
int64_t sked_i_network_add(sked_i_network *f, int32_t tail, int32_t head, double length);
/*
 * The first tree: every node but the root hangs on a parent by an arc between the two, with the flow that the
 * weights ask for. An arc without flow must point to the parent.
 */
void sked_i_network_hang(sked_i_network *f, int32_t node, int32_t parent, int64_t up, double flow);
/* Hangs a node on the root by an arc that never carries flow: such arcs only tie a forest together. */
void sked_i_network_tie(sked_i_network *f, int32_t node);
/* Times of the first tree, once it is complete. */
void sked_i_network_settle(sked_i_network *f);
/* Brings in violated arcs while there are any and work is left. Where none is left, x keeps all of them. */
void sked_i_network_improve(sked_i_network *f);
/* What the flow earns, at any time. Sums of reals may round up: gives that back. Settles the flow of arcs. */
double sked_i_network_earned(sked_i_network *f);
#endif
