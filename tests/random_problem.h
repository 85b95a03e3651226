/*
 * Small random problems that several test programs share. Everything follows from the seed. Free with
 * random_problem_free. A kind is a sum of RANDOM_* flags; without flags: ops with whole durations from 1 and
 * default lags, no machine, objective makespan.
 */
#ifndef SKED_TESTS_RANDOM_PROBLEM_H
#define SKED_TESTS_RANDOM_PROBLEM_H
#include "base/rng.h"
#include "graph/graph.h"
#include "test.h"

#include <math.h>

enum {
    RANDOM_DEVICES = 1,      /* 1 to 3 devices */
    RANDOM_RESOURCES = 2,    /* 1 to 3 pools; every demand fits its capacity */
    RANDOM_LAGS = 4,         /* lags from 0 to duration + 2 */
    RANDOM_NEGATIVE = 8,     /* some lags below 0 */
    RANDOM_TRANSFERS = 16,   /* 2 or 3 devices, latency or bandwidth or both */
    RANDOM_LOOPS = 32,       /* loop-carried edges; ii and objective are left to the caller */
    RANDOM_HORIZON = 64,     /* loose: running the ops one after another keeps it */
    RANDOM_REAL = 128,       /* times and amounts are not integers */
    RANDOM_ZERO = 256,       /* some durations are 0 */
    RANDOM_FIX_DEVICE = 512, /* some ops fixed on a device; with RANDOM_DEVICES or RANDOM_TRANSFERS */
    RANDOM_FIX_START = 1024, /* some starts fixed as in one feasible schedule */
    RANDOM_UNEQUAL = 2048,   /* a machine of 2 or 3 devices with speeds, durations by device, links; device 0
                                can run every op */
    RANDOM_KEEP = 4096,      /* some values stay to the end */
    RANDOM_STORES = 8192,    /* with RANDOM_UNEQUAL: devices whose memory ends, some of them */
    RANDOM_ORDER = 16384,    /* some edges only order their ops */
};

typedef struct random_problem {
    sked_graph *graph;
    sked_problem problem;
    sked_machine *machine;
    int32_t *fix_device; /* what problem points to, or NULL */
    double *fix_start;
} random_problem;

static inline void random_problem_free(random_problem *r)
{
    sked_graph_destroy(r->graph);
    sked_machine_destroy(r->machine);
    free(r->fix_device);
    free(r->fix_start);
    *r = (random_problem){0};
}

static inline int random_int(sked_i_rng *rng, int low, int high)
{
    return low + (int)sked_i_rng_below(rng, (uint64_t)(high - low + 1));
}

/* A whole number in low..high, or a real one near it. */
static inline double random_amount(sked_i_rng *rng, unsigned kind, int low, int high)
{
    const double whole = random_int(rng, low, high);
    if (!(kind & RANDOM_REAL) || whole == 0)
        return whole;
    return whole - 0.5 * sked_i_rng_uniform(rng);
}

/* By name or by type of the devices random_hetero makes: d0 (type a), d1 (type b), d2 (type b). */
static inline void random_durations(sked_i_rng *rng, unsigned kind, sked_builder *b, int32_t op)
{
    static const char *const on[] = {"d0", "d1", "d2", "a", "b", "absent"};
    for (int k = 0; k < 6; k++) {
        const bool never = k != 0 && k != 3 && random_int(rng, 0, 4) == 0;
        if (random_int(rng, 0, 2) == 0)
            OK(sked_builder_add_duration(b, op, on[k], never ? INFINITY : random_amount(rng, kind, 1, 4),
                                         err));
    }
}

static inline void random_ops(sked_i_rng *rng, unsigned kind, int n, sked_builder *b)
{
    double capacity[3];
    int pools = 0;
    if (kind & RANDOM_RESOURCES)
        for (pools = 0; pools < 1 + random_int(rng, 0, 2); pools++) {
            char name[16];
            snprintf(name, sizeof name, "R%d", pools);
            capacity[pools] = random_int(rng, 1, 4);
            OK(sked_builder_add_resource(b, name, capacity[pools], NULL, err));
        }
    for (int i = 0; i < n; i++) {
        const bool zero = (kind & RANDOM_ZERO) && random_int(rng, 0, 4) == 0;
        int32_t op;
        OK(sked_builder_add_op(b, NULL, NULL, zero ? 0 : random_amount(rng, kind, 1, 3), &op, err));
        OK(sked_builder_set_memory(b, op, random_amount(rng, kind, 0, 4), err));
        OK(sked_builder_set_weight(b, op, random_amount(rng, kind, 1, 3), err));
        for (int r = 0; r < pools; r++)
            if (random_int(rng, 0, 2) > 0)
                OK(sked_builder_add_demand(b, op, r, random_amount(rng, kind, 1, (int)capacity[r]), err));
        if (kind & RANDOM_UNEQUAL)
            random_durations(rng, kind, b, op);
        if (kind & RANDOM_KEEP)
            OK(sked_builder_set_keep(b, op, random_int(rng, 0, 3) == 0, err));
    }
}

static inline double random_lag(sked_i_rng *rng, unsigned kind)
{
    if ((kind & RANDOM_NEGATIVE) && random_int(rng, 0, 3) == 0)
        return -random_amount(rng, kind, 1, 2);
    if ((kind & RANDOM_LAGS) && random_int(rng, 0, 1) == 0)
        return random_amount(rng, kind, 0, 5);
    return NAN;
}

/* The last edge orders only, one time in four. */
static inline void random_order(sked_i_rng *rng, unsigned kind, sked_builder *b)
{
    if ((kind & RANDOM_ORDER) && random_int(rng, 0, 3) == 0)
        OK(sked_builder_set_attribute(b, sked_attribute_find("order"), sked_builder_edge_count(b) - 1, 1,
                                      err));
}

static inline void random_edges(sked_i_rng *rng, unsigned kind, int n, sked_builder *b)
{
    int32_t label[64]; /* edges follow a random order, so that ids are no topological order */
    for (int i = 0; i < n; i++)
        label[i] = i;
    sked_i_rng_shuffle(rng, label, n);
    const double share = 0.1 + 0.4 * sked_i_rng_uniform(rng);
    for (int a = 0; a < n; a++)
        for (int c = a + 1; c < n; c++)
            if (sked_i_rng_uniform(rng) < share) {
                const sked_edge edge = {label[a], label[c], random_lag(rng, kind),
                                        random_amount(rng, kind, 0, 3), 0};
                OK(sked_builder_add_edge(b, &edge, err));
                random_order(rng, kind, b);
            }
    const int loops = kind & RANDOM_LOOPS ? random_int(rng, 1, 3) : 0;
    for (int k = 0; k < loops; k++) {
        const int c = random_int(rng, 0, n - 1), a = random_int(rng, 0, c);
        const sked_edge edge = {label[c], label[a], random_lag(rng, kind), random_amount(rng, kind, 0, 3),
                                random_int(rng, 1, 2)};
        OK(sked_builder_add_edge(b, &edge, err));
        random_order(rng, kind, b);
    }
}

/* Starts of a schedule that runs the ops one after another on device 0; returns its length. */
static inline double random_serial_starts(const sked_problem *p, double *start)
{
    const sked_graph *g = p->graph;
    const int32_t n = sked_graph_op_count(g);
    const int64_t m = sked_graph_edge_count(g);
    double finish = 0;
    bool done[64] = {false};
    for (int32_t placed = 0; placed < n; placed++) {
        int32_t op = -1;
        double begin = 0;
        for (int32_t i = n - 1; i >= 0; i--) {
            bool ready = !done[i];
            double t = finish;
            for (int64_t e = 0; ready && e < m; e++) {
                sked_edge x;
                sked_graph_edge(g, e, &x);
                if (x.to != i || x.distance > 0)
                    continue;
                ready = done[x.from];
                const bool follows = p->machine != NULL && !g->edge_lag_given[e];
                t = fmax(t, start[x.from] + (follows ? sked_problem_duration(p, x.from, 0) : x.lag));
            }
            if (ready) {
                op = i;
                begin = t;
            }
        }
        assert_true(op >= 0);
        if (op < 0)
            return finish;
        done[op] = true;
        start[op] = begin;
        finish = fmax(finish, begin + sked_problem_duration(p, op, 0));
    }
    return finish;
}

static inline void random_machine(sked_i_rng *rng, unsigned kind, random_problem *out)
{
    sked_problem *p = &out->problem;
    if (kind & RANDOM_DEVICES)
        p->devices = random_int(rng, 1, 3);
    if (kind & RANDOM_TRANSFERS) {
        p->devices = random_int(rng, 2, 3);
        p->latency = random_int(rng, 0, 2);
        p->bandwidth = random_int(rng, 0, 1) && p->latency > 0 ? INFINITY
                       : kind & RANDOM_REAL                    ? 0.7 + sked_i_rng_uniform(rng)
                                                               : 1;
    }
}

static inline double random_store(sked_i_rng *rng, unsigned kind)
{
    return kind & RANDOM_STORES && random_int(rng, 0, 3) > 0 ? random_int(rng, 3, 14) : INFINITY;
}

static inline void random_hetero(sked_i_rng *rng, unsigned kind, random_problem *out)
{
    static const char *const names[] = {"d0", "d1", "d2"}, *const types[] = {"a", "b", "b"};
    static const char *const ends[] = {"d0", "d1", "d2", "a", "b"};
    const int n = random_int(rng, 2, 3), ends_of[][2] = {{0, 1}, {1, 2}, {3, 4}, {4, 4}, {0, 4}};
    sked_machine_builder *b = NULL;
    OK(sked_machine_builder_create("random", &b, err));
    for (int d = 0; d < n; d++)
        OK(sked_machine_builder_add_device(b, names[d], types[d],
                                           kind & RANDOM_REAL ? 0.5 + 2 * sked_i_rng_uniform(rng) : 1,
                                           random_store(rng, kind), NULL, err));
    if (random_int(rng, 0, 3) > 0)
        OK(sked_machine_builder_set_link(b, random_int(rng, 0, 2), random_int(rng, 0, 1) ? INFINITY : 1,
                                         err));
    for (int k = 0; k < 5; k++)
        if (random_int(rng, 0, 2) == 0 && (n == 3 || k != 1))
            OK(sked_machine_builder_add_link(
                b, ends[ends_of[k][0]], ends[ends_of[k][1]], random_amount(rng, kind, 0, 3),
                random_int(rng, 0, 1) ? 1 : INFINITY, random_int(rng, 0, 2) == 0, err));
    OK(sked_machine_builder_finish(b, &out->machine, err));
    sked_machine_builder_destroy(b);
    out->problem.machine = out->machine;
    out->problem.devices = n;
}

static inline void random_limits(sked_i_rng *rng, unsigned kind, random_problem *out)
{
    sked_problem *p = &out->problem;
    const int32_t n = sked_graph_op_count(out->graph);
    double serial[64] = {0};
    const double length = random_serial_starts(p, serial);
    if (kind & RANDOM_HORIZON)
        p->horizon = length;
    if (p->devices > 0 && (kind & RANDOM_FIX_DEVICE)) {
        out->fix_device = malloc((size_t)n * sizeof *out->fix_device);
        assert_non_null(out->fix_device);
        for (int32_t i = 0; i < n; i++) /* device 0 where a start is fixed too: there the serial plan runs */
            out->fix_device[i] = random_int(rng, 0, 3)       ? -1
                                 : (kind & RANDOM_FIX_START) ? 0
                                                             : random_int(rng, 0, p->devices - 1);
    }
    if (kind & RANDOM_FIX_START) {
        out->fix_start = malloc((size_t)n * sizeof *out->fix_start);
        assert_non_null(out->fix_start);
        for (int32_t i = 0; i < n; i++)
            out->fix_start[i] = random_int(rng, 0, 4) == 0 ? serial[i] : NAN;
    }
    p->fix_device = out->fix_device;
    p->fix_start = out->fix_start;
}

/* low..high: number of ops, at most 64. */
static inline void random_problem_make(uint64_t seed, unsigned kind, int low, int high, random_problem *out)
{
    sked_i_rng rng;
    sked_builder *b = NULL;
    *out = (random_problem){0};
    sked_i_rng_seed(&rng, seed, kind);
    const int n = random_int(&rng, low, high);
    assert_in_range(n, 1, 64);
    OK(sked_builder_create(&b, err));
    random_ops(&rng, kind, n, b);
    random_edges(&rng, kind, n, b);
    OK(sked_builder_finish(b, &out->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&out->problem, out->graph);
    if (kind & RANDOM_UNEQUAL)
        random_hetero(&rng, kind, out);
    else
        random_machine(&rng, kind, out);
    random_limits(&rng, kind, out);
}
#endif
