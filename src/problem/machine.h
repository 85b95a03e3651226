/*
 * Devices and links. Devices that no link names fall into kinds by type: all pairs between two kinds share
 * one link, so a machine of many devices and few types takes little memory.
 */
#ifndef SKED_PROBLEM_MACHINE_H
#define SKED_PROBLEM_MACHINE_H
#include "base/sized.h"
#include "graph/graph.h"

#include <assert.h>

/* A link as it was given: ends index `ends`. */
typedef struct sked_i_link {
    int32_t from, to;
    double latency, bandwidth;
    bool oneway;
} sked_i_link;

/* Measured times of ops, those of one op side by side in the order its name came. */
typedef struct sked_i_machine_durations {
    sked_i_names ops, on; /* names of ops; of devices and types */
    int64_t *first;       /* [ops.count] of each op's entries */
    int32_t *entry_on;    /* [n] index in on; -1: on all devices, the only entry of its op */
    double *time;         /* [n] INFINITY: cannot run there */
    int64_t n;
} sked_i_machine_durations;

struct sked_machine {
    sked_i_arena arena; /* has all arrays */
    char *name;
    int32_t n_devices;
    sked_i_names device_names, type_names;
    int32_t *type;          /* [n_devices] -1: none */
    double *speed, *memory; /* [n_devices] memory INFINITY: no limit */
    sked_i_names ends;      /* names of devices and types that links join */
    sked_i_link *links;
    int64_t n_links;
    double latency, bandwidth; /* of pairs without a link; latency NAN: they have none */
    int32_t *link_kind;        /* [n_devices] */
    int32_t n_link_kinds;
    int32_t *link_kind_size;               /* [n_link_kinds] devices */
    double *link_latency, *link_bandwidth; /* [n_link_kinds * n_link_kinds] from x to; latency NAN: no link */
    sked_i_machine_durations durations;
};

/* Latency and bandwidth between two different devices; latency NAN: they cannot exchange data. */
static inline int64_t sked_i_machine_pair(const sked_machine *m, int32_t from, int32_t to)
{
    assert(from >= 0 && from < m->n_devices && to >= 0 && to < m->n_devices);
    return (int64_t)m->link_kind[from] * m->n_link_kinds + m->link_kind[to];
}
/*
 * At the begin of a public function that returns a status: a caller's problem of any version becomes one of
 * this version, with the number of devices of its machine. For the two that judge and lower the problem as it
 * was asked: the others take it with SKED_TAKE_PROBLEM (problem/lower.h).
 */
#define SKED_TAKE_ASKED(p)                                              \
    SKED_TAKE_AS(sked_problem, p, sked_problem_init(&p##_own, NULL), p) \
    (p) = sked_i_problem_settle((p), &p##_own, err);                    \
    if ((p) == NULL)                                                    \
        return SKED_ERR_ARGUMENT;
const sked_problem *sked_i_problem_settle(const sked_problem *p, sked_problem *own, sked_error *err);
/* ARGUMENT where a number or an enumeration is none that the header allows. O(resources), with fixed
 * decisions O(ops). */
SKED_MUST_CHECK sked_status sked_i_problem_check_ranges(const sked_problem *p, sked_error *err);

/* Time of op on a device by the machine's profile, as sked_graph_profiled has it; NAN: it says nothing of it.
 */
double sked_i_machine_profile_time(const sked_machine *m, const sked_graph *g, int32_t op, int32_t device);

/* Do all pairs of devices share one latency and one bandwidth? One device: both free. */
bool sked_i_machine_one_link(const sked_machine *m, double *latency, double *bandwidth);
#endif
