/* Small problems of every kind and a plain greedy scheduler, for the tests of reports. */
#ifndef SKED_TESTS_REPORT_SAMPLES_H
#define SKED_TESTS_REPORT_SAMPLES_H
#include "test.h"

#include "base/rng.h"
#include "graph/graph.h"
#include "schedule/schedule.h"

#include <math.h>

typedef struct sample {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
    sked_schedule *schedule;
    sked_report_data data;
} sample;

static inline void sample_free(sample *s)
{
    sked_graph_destroy(s->graph);
    sked_machine_destroy(s->machine);
    sked_schedule_destroy(s->schedule);
    *s = (sample){0};
}

/* Earliest start of op after its predecessors; device < 0: without transfers. */
static inline double ready_time(const sked_problem *p, const sked_schedule *s, int32_t op, int32_t device)
{
    const sked_graph *g = p->graph;
    double t = 0;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        if (g->edge_distance[e] > 0)
            continue;
        const int32_t from = g->pred_op[k];
        const double extra = device >= 0 ? sked_problem_transfer(p, e, s->device[from], device) : 0;
        const double lag = p->machine != NULL && !g->edge_lag_given[e]
                               ? sked_problem_duration(p, from, s->device[from])
                               : g->edge_lag[e];
        t = fmax(t, s->start[from] + lag + extra);
    }
    return t;
}

/* Devices: each op goes where it can start first (unequal ones: finish), after what is already there. */
static inline void greedy_devices(const sked_problem *p, sked_schedule *s)
{
    double *free_at = calloc((size_t)p->devices, sizeof *free_at);
    for (int32_t k = 0; k < s->ops; k++) {
        const int32_t i = p->graph->topo[k];
        double best = INFINITY;
        for (int32_t d = 0; d < p->devices; d++) {
            const double t = fmax(free_at[d], ready_time(p, s, i, d));
            const double key = t + (p->machine != NULL ? sked_problem_duration(p, i, d) : 0);
            if (key < best) {
                best = key;
                s->start[i] = t;
                s->device[i] = d;
            }
        }
        free_at[s->device[i]] = s->start[i] + sked_problem_duration(p, i, s->device[i]);
    }
    free(free_at);
}

/* Integer times only: a table of load per resource and step, folded by II where there is one. */
static inline void greedy_resources(const sked_problem *p, sked_schedule *s)
{
    const sked_graph *g = p->graph;
    const int32_t steps = p->ii > 0 ? (int32_t)p->ii : 100000;
    double *load = calloc((size_t)(g->n_resources + 1) * (size_t)steps, sizeof *load);
    for (int32_t k = 0; k < s->ops; k++) {
        const int32_t i = g->topo[k];
        for (int32_t t = (int32_t)ready_time(p, s, i, -1);; t++) {
            bool fits = true;
            for (int64_t d = g->demand_ptr[i]; d < g->demand_ptr[i + 1]; d++)
                for (int32_t u = t; u < t + (int32_t)g->duration[i]; u++)
                    fits = fits && load[g->demand_resource[d] * steps + u % steps] + g->demand_amount[d] <=
                                       g->capacity[g->demand_resource[d]];
            if (!fits)
                continue;
            for (int64_t d = g->demand_ptr[i]; d < g->demand_ptr[i + 1]; d++)
                for (int32_t u = t; u < t + (int32_t)g->duration[i]; u++)
                    load[g->demand_resource[d] * steps + u % steps] += g->demand_amount[d];
            s->start[i] = t;
            break;
        }
    }
    free(load);
}

static inline void sample_schedule(sample *s, const char *method)
{
    OK(sked_schedule_create(s->graph->n_ops, s->problem.devices, &s->schedule, err));
    s->schedule->ii = s->problem.ii;
    if (s->problem.devices > 0)
        greedy_devices(&s->problem, s->schedule);
    else
        greedy_resources(&s->problem, s->schedule);
    OK(sked_schedule_validate(&s->problem, s->schedule, err));
    s->data = (sked_report_data){.size = sizeof s->data,
                                 .problem = &s->problem,
                                 .schedule = s->schedule,
                                 .method = method,
                                 .lower_bound = NAN,
                                 .seconds = 0.012,
                                 .seed = 7};
    OK(sked_problem_bound(&s->problem, &s->data.lower_bound, NULL, err));
}

static inline void add_edge(sked_builder *b, int32_t from, int32_t to, double bytes, int32_t distance)
{
    const sked_edge e = {from, to, NAN, bytes, distance};
    assert_int_equal(sked_builder_add_edge(b, &e, NULL), SKED_OK);
}

/* Ten ops of a small network. */
static inline void sample_network(sample *s)
{
    static const struct {
        const char *name, *type;
        double duration, memory;
        int from[2];
    } ops[] = {{"input", "Load", 1, 64, {-1, -1}},   {"conv1", "Conv", 4, 128, {0, -1}},
               {"relu1", "Relu", 1, 128, {1, -1}},   {"conv2a", "Conv", 5, 96, {2, -1}},
               {"conv2b", "Conv", 3, 96, {2, -1}},   {"pool", "MaxPool", 2, 32, {2, -1}},
               {"concat", "Concat", 1, 192, {3, 4}}, {"project", "Conv", 2, 64, {5, -1}},
               {"add", "Add", 1, 64, {6, 7}},        {"softmax", "Softmax", 2, 16, {8, -1}}};
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_set_name(b, "small network", err));
    for (int i = 0; i < 10; i++) {
        OK(sked_builder_add_op(b, ops[i].name, ops[i].type, ops[i].duration, NULL, err));
        OK(sked_builder_set_memory(b, i, ops[i].memory, err));
        for (int k = 0; k < 2; k++)
            if (ops[i].from[k] >= 0)
                add_edge(b, ops[i].from[k], i, ops[ops[i].from[k]].memory, 0);
    }
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
}

/* It on two devices with transfers. */
static inline void sample_small(sample *s)
{
    sample_network(s);
    s->problem.devices = 2;
    s->problem.bandwidth = 64;
    sample_schedule(s, "greedy");
}

/* Devices with these names and types on links of their own; the network on them. memory: of the last one. */
static inline void sample_on_machine(sample *s, const char *name, const char *const (*devices)[2], int count,
                                     double memory)
{
    sked_machine_builder *b = NULL;
    sample_network(s);
    OK(sked_machine_builder_create(name, &b, err));
    for (int d = 0; d < count; d++)
        OK(sked_machine_builder_add_device(b, devices[d][0], devices[d][1], 1 + d,
                                           d == count - 1 ? memory : INFINITY, NULL, err));
    OK(sked_machine_builder_add_link(b, devices[0][1], devices[count - 1][1], 0.25, 512, false, err));
    OK(sked_machine_builder_set_link(b, 0.5, 256, err));
    OK(sked_machine_builder_finish(b, &s->machine, err));
    sked_machine_builder_destroy(b);
    s->problem.machine = s->machine;
    s->problem.devices = count;
    sample_schedule(s, "greedy");
}

/* Two processors and a fast card whose memory is limited. */
static inline void sample_machine(sample *s)
{
    static const char *const devices[][2] = {{"cpu0", "cpu"}, {"cpu1", "cpu"}, {"gpu", "gpu"}};
    sample_on_machine(s, "workstation", devices, 3, 640);
    s->problem.memory_limit = 1000;
}

/* Devices whose names need every kind of escaping, and one that is too long for any margin. */
static inline void sample_hostile_machine(sample *s)
{
    static const char *const devices[][2] = {
        {"</script><script>alert(2)</script>", "<t>"},
        {"d \" & ' \\ ]]> \x1b[31m \x7f \xe2\x80\xa8", "u"},
        {"an accelerator with a name that is much too long for the margin of a picture", "u"},
        {"\xe7\x9f\xa9\xe9\x98\xb5\xe4\xb9\x98\xe7\x9f\xa9\xe9\x98\xb5\xe4\xb9\x98\xe7\x9f\xa9\xe9\x98"
         "\xb5\xe4\xb9\x98\xe7\x9f\xa9\xe9\x98\xb5\xe4\xb9\x98\xe7\x9f\xa9\xe9\x98\xb5\xe4\xb9\x98",
         "v"}};
    sample_on_machine(s, "</title><b>machine</b>", devices, 4, INFINITY);
}

/* n ops in layers of `width`, with ten types and real durations, on m devices. */
static inline void sample_layered(sample *s, int32_t n, int32_t width, int32_t devices)
{
    static const char *const types[] = {"MatMul", "Add",    "Conv",    "Relu",      "LayerNorm", "Gelu",
                                        "Concat", "Gather", "Softmax", "Transpose", "Reshape"};
    sked_builder *b = NULL;
    sked_i_rng rng;
    char name[64];
    sked_i_rng_seed(&rng, 1, 0);
    OK(sked_builder_create(&b, err));
    snprintf(name, sizeof name, "layered-%d", n);
    OK(sked_builder_set_name(b, name, err));
    for (int32_t i = 0; i < n; i++) {
        const double u = sked_i_rng_uniform(&rng);
        const char *type = types[(int)(u * u * 11)];
        snprintf(name, sizeof name, "layer%d/%s_%d", i / width, type, i % width);
        const double duration = 0.5 + 10 * sked_i_rng_uniform(&rng),
                     memory = floor(100 * sked_i_rng_uniform(&rng));
        assert_int_equal(sked_builder_add_op(b, name, type, duration, NULL, NULL), SKED_OK);
        assert_int_equal(sked_builder_set_memory(b, i, memory, NULL), SKED_OK);
        for (int k = 0; k < 2 && i >= width; k++) {
            const int32_t from = (i / width - 1) * width + (int32_t)sked_i_rng_below(&rng, (uint64_t)width);
            add_edge(b, from, i, 10 * sked_i_rng_uniform(&rng), 0);
        }
    }
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
    s->problem.devices = devices;
    sample_schedule(s, "greedy");
}

/* An elliptic-filter-like data flow on multipliers, adders and a memory bus of several lanes. */
static inline void sample_resources(sample *s)
{
    sked_builder *b = NULL;
    sked_i_rng rng;
    char name[64];
    sked_i_rng_seed(&rng, 3, 0);
    OK(sked_builder_create(&b, err));
    OK(sked_builder_set_name(b, "filter", err));
    OK(sked_builder_add_resource(b, "multiplier", 2, NULL, err));
    OK(sked_builder_add_resource(b, "adder", 2, NULL, err));
    OK(sked_builder_add_resource(b, "bus", 4, NULL, err));
    for (int32_t i = 0; i < 44; i++) {
        const uint64_t kind = i < 4 ? 2 : sked_i_rng_below(&rng, 8);
        const char *type = kind == 2 ? "load" : kind < 2 ? "mul" : kind == 7 ? "const" : "add";
        snprintf(name, sizeof name, "%s%d", type, i);
        OK(sked_builder_add_op(b, name, type, kind < 2 ? 3 : kind == 2 ? 2 : 1, NULL, err));
        OK(sked_builder_set_memory(b, i, 4, err));
        if (kind != 7)
            OK(sked_builder_add_demand(b, i,
                                       kind < 2    ? 0
                                       : kind == 2 ? 2
                                                   : 1,
                                       kind == 2 ? 1 + i % 3 : 1, err));
        for (int k = 0; k < 2 && i >= 4 && kind != 7; k++)
            add_edge(b, i - 1 - (int32_t)sked_i_rng_below(&rng, (uint64_t)(i < 9 ? i : 9)), i, 4, 0);
    }
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
    sample_schedule(s, "greedy");
}

/* A complex multiply-accumulate loop with a recurrence, pipelined at II = 4. */
static inline void sample_pipelined(sample *s)
{
    static const struct {
        const char *name, *type;
        double duration;
        int resource, from[2];
    } ops[] = {{"ld_ar", "load", 1, 2, {-1, -1}}, {"ld_ai", "load", 1, 2, {-1, -1}},
               {"ld_br", "load", 1, 2, {-1, -1}}, {"ld_bi", "load", 1, 2, {-1, -1}},
               {"m_rr", "mul", 2, 0, {0, 2}},     {"m_ii", "mul", 2, 0, {1, 3}},
               {"m_ri", "mul", 2, 0, {0, 3}},     {"m_ir", "mul", 2, 0, {1, 2}},
               {"sub", "add", 1, 1, {4, 5}},      {"sum", "add", 1, 1, {6, 7}},
               {"acc_r", "add", 1, 1, {8, -1}},   {"acc_i", "add", 1, 1, {9, -1}},
               {"norm", "div", 6, 3, {10, 11}},   {"st", "store", 1, 2, {12, -1}}};
    static const char *const resources[] = {"MUL", "ALU", "PORT", "DIV"};
    static const double capacity[] = {2, 1, 2, 2};
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_set_name(b, "complex mac loop", err));
    for (int r = 0; r < 4; r++)
        OK(sked_builder_add_resource(b, resources[r], capacity[r], NULL, err));
    for (int i = 0; i < 14; i++) {
        OK(sked_builder_add_op(b, ops[i].name, ops[i].type, ops[i].duration, NULL, err));
        OK(sked_builder_set_memory(b, i, 4, err));
        OK(sked_builder_add_demand(b, i, ops[i].resource, 1, err));
        for (int k = 0; k < 2; k++)
            if (ops[i].from[k] >= 0)
                add_edge(b, ops[i].from[k], i, 4, 0);
    }
    add_edge(b, 10, 10, 4, 1);
    add_edge(b, 11, 11, 4, 1);
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
    s->problem.ii = 4;
    s->problem.objective = SKED_OBJECTIVE_II;
    sample_schedule(s, "modulo greedy");
}

/* A data path of 16 bits with a register in its multiplier, at a clock of two adders. */
static inline void sample_clocked(sample *s)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    s->graph = must_graph(
        "{\"format\": \"sked-graph-1\", \"name\": \"data path\", \"ops\": [{\"name\": \"a\", \"duration\": "
        "0, \"memory\": 16},"
        "{\"name\": \"b\", \"duration\": 0, \"memory\": 16},"
        "{\"name\": \"mul\", \"duration\": 1, \"delay\": {\"in\": 1.5, \"out\": 0.5}, \"memory\": 32, "
        "\"verilog\": \"a * b\"},"
        "{\"name\": \"sum\", \"duration\": 0, \"delay\": 1, \"memory\": 17, \"verilog\": \"a + b\"}, "
        "{\"name\": \"low\", "
        "\"duration\": 0, \"delay\": 1, \"memory\": 16, \"verilog\": \"a ^ b\"},"
        "{\"name\": \"high\", \"duration\": 0, \"delay\": 1, \"memory\": 16, \"verilog\": \"a ^ b\"}, "
        "{\"name\": \"out\", "
        "\"duration\": 0, \"delay\": 1, \"memory\": 16, \"verilog\": \"a ^ b\"}],"
        "\"edges\": [[\"a\", \"mul\"], [\"b\", \"mul\"], [\"a\", \"sum\"], [\"b\", \"sum\"], [\"mul\", "
        "\"low\"], [\"sum\", \"low\"],"
        "[\"low\", \"high\"], [\"sum\", \"high\"], [\"high\", \"out\"], [\"a\", \"out\"]]}");
    sked_problem_init(&s->problem, s->graph);
    s->problem.objective = SKED_OBJECTIVE_MEMORY;
    s->problem.ii = 1;
    s->problem.clock = 2;
    sked_run_options_init(&opt);
    OK(sked_method_run("registers", &s->problem, &opt, &r, err));
    OK(sked_schedule_clone(r.schedule[0], &s->schedule, err));
    sked_result_clear(&r);
    s->data = (sked_report_data){.size = sizeof s->data,
                                 .problem = &s->problem,
                                 .schedule = s->schedule,
                                 .method = "registers",
                                 .lower_bound = NAN,
                                 .seconds = 0.012,
                                 .seed = 7};
}

/* n ops that hold nothing, in `chains` chains. */
static inline void sample_free_ops(sample *s, int32_t n, int32_t chains)
{
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < n; i++) {
        assert_int_equal(sked_builder_add_op(b, NULL, NULL, 1 + i % 7, NULL, NULL), SKED_OK);
        if (i >= chains)
            add_edge(b, i - chains, i, 0, 0);
    }
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
    sample_schedule(s, "asap");
}

/* No op at all. */
static inline void sample_empty(sample *s)
{
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
    sample_schedule(s, NULL);
}

/* A chain of ops that take no time, and one that takes some, on one device. */
static inline void sample_instant(sample *s)
{
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 6; i++) {
        OK(sked_builder_add_op(b, NULL, i % 2 ? "mark" : NULL, i == 3 ? 0.001 : 0, NULL, err));
        if (i > 0)
            add_edge(b, i - 1, i, 0, 0);
    }
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
    s->problem.devices = 1;
    sample_schedule(s, "greedy");
}

/* Candidates of three methods: one schedule, a cloud, and a cloud with some that were not measured. */
enum { cloud = 60 };
static inline const sked_robust_result *sample_comparison(void)
{
    static double proxy[2][cloud], target[2][cloud];
    static double one_proxy = 1.9, one_target = 1.2;
    static char spec[] = "bandwidth:cost=4";
    static sked_robust_member list = {
        .label = "list", .count = 1, .proxy = &one_proxy, .target = &one_target, .seconds = 0.001};
    static sked_robust_member brkga = {.label = "<brkga> & co",
                                       .count = cloud,
                                       .proxy = proxy[0],
                                       .target = target[0],
                                       .best = 7,
                                       .ged = 46.5,
                                       .d_inv = 12.25,
                                       .d_sen = 40.125,
                                       .seconds = 1.25};
    static sked_robust_member gflownet = {.label = "gflownet",
                                          .count = cloud,
                                          .proxy = proxy[1],
                                          .target = target[1],
                                          .best = 11,
                                          .failures = 6,
                                          .ged = 92.02,
                                          .d_inv = 24.27,
                                          .d_sen = 90.17,
                                          .seconds = 0.5};
    static sked_robust_member *members[] = {&list, &brkga, &gflownet};
    static const sked_robust_result comparison = {
        .size = sizeof comparison, .target = spec, .member = members, .count = 3, .winner = 2};
    for (int m = 0; m < 2; m++)
        for (int k = 0; k < cloud; k++) {
            proxy[m][k] = 2 - 0.002 * k - 0.02 * m;
            target[m][k] = m == 1 && k % 10 == 3 ? NAN : 1.1 + 0.3 * m * sin(k) + 0.1 * cos(3 * k);
        }
    target[0][7] = 1.35;
    target[1][11] = 1.62;
    return &comparison;
}

/* A fitted machine of two devices with a profile. */
static inline sked_machine *sample_fitted(void)
{
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    OK(sked_machine_builder_create("fitted", &b, err));
    OK(sked_machine_builder_add_device(b, "0", NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_add_device(b, "1", NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_set_link(b, 0.75, 42, err));
    OK(sked_machine_builder_add_duration(b, "conv1", NULL, 4.5, err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    return m;
}

/*
 * A run of the loop on a target of work 22: two methods, 24 measurements. The first two come from an earlier
 * run, every seventh failed, the last three are repetitions. Machine: the caller's.
 */
enum { course = 24 };
static inline const sked_robust_result *sample_course(sked_machine *machine)
{
    static double proxy[2][course], target[2][course];
    static char spec[] = "noisy+linear:cost=<4> & more";
    static sked_robust_measurement measurement[course];
    static sked_robust_parameter parameter[] = {
        {"latency", {0.01, 0.2, 0.5, 1.2, 20}, {0.6, 0.7, 0.75, 0.8, 0.95}, 0.76, 0.08},
        {"bandwidth", {1, 20, 64, 200, 4000}, {38, 40, 42, 44, 50}, 42.5, 3.25},
        {"start-up", {0, 0.01, 0.05, 0.1, 0.5}, {0, 0.01, 0.02, 0.03, 0.04}, 0.02, 0.01},
        {"type </script><b>Conv</b>", {0.5, 0.8, 1, 1.2, 2}, {1.08, 1.1, 1.12, 1.14, 1.17}, 1.12, 0.02},
        {"noise", {1e-4, 1e-3, 1e-2, 0.05, 0.2}, {0.008, 0.01, 0.011, 0.013, 0.017}, 0.0112, 0.002}};
    static sked_robust_member search = {.label = "search",
                                        .asked = course,
                                        .count = course,
                                        .proxy = proxy[0],
                                        .target = target[0],
                                        .seconds = 2};
    static sked_robust_member gflownet = {.label = "gflownet",
                                          .asked = course,
                                          .count = course,
                                          .proxy = proxy[1],
                                          .target = target[1],
                                          .seconds = 1};
    static sked_robust_member *members[] = {&search, &gflownet};
    static sked_robust_result result;
    double best = NAN;
    for (int m = 0; m < 2; m++) {
        members[m]->best = -1;
        members[m]->time = INFINITY;
        members[m]->failures = 0;
        members[m]->ged = 40 + 20 * m;
    }
    for (int i = 0; i < course; i++) {
        const int m = i % 3 == 1;
        const bool failed = i % 7 == 5;
        const double time = 9 + 14 * exp(-0.2 * i) + 0.9 * sin(3 * i);
        proxy[m][i] = proxy[!m][i] = 22 / (8 + 0.3 * cos(i));
        target[!m][i] = NAN;
        target[m][i] = failed ? NAN : 22 / time;
        members[m]->failures += failed;
        if (!failed && time < members[m]->time) {
            members[m]->best = i;
            members[m]->time = time;
        }
        best = failed ? best : fmax(best, 22 / time);
        measurement[i] =
            (sked_robust_measurement){.member = m,
                                      .candidate = i,
                                      .time = failed ? NAN : time,
                                      .deviation = i % 2 ? 0.1 : 0,
                                      .expected = i == 0 ? NAN : time * (1 + 0.3 * exp(-0.3 * i)),
                                      .fitted = time * (1 + 0.02 * cos(5 * i)),
                                      .best = best,
                                      .again = i >= course - 3,
                                      .resumed = i < 2};
    }
    result = (sked_robust_result){.size = sizeof result,
                                  .target = spec,
                                  .member = members,
                                  .count = 2,
                                  .winner = gflownet.time < search.time,
                                  .end = SKED_ROBUST_SETTLED,
                                  .failures = 3,
                                  .measurement = measurement,
                                  .measurements = course,
                                  .parameter = parameter,
                                  .parameters = sizeof parameter / sizeof *parameter,
                                  .machine = machine,
                                  .noise = 0.0112,
                                  .seconds = 3};
    return &result;
}

/* Names that need every kind of escaping. */
static inline void sample_hostile(sample *s)
{
    static const char *const names[] = {"</script><script>alert(1)</script>",
                                        "a & b < c > d \" e ' f",
                                        "back\\slash\nnew\tline",
                                        "caf\xc3\xa9 \xe2\x80\xa8 line separator",
                                        "\xe7\x9f\xa9\xe9\x98\xb5\xe4\xb9\x98",
                                        "]]>--><!--",
                                        "\x01\x02"};
    char *lengthy = malloc(5001);
    memset(lengthy, 'x', 5000);
    lengthy[5000] = 0;
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_set_name(b, "</title></script><b>&\"'", err));
    for (int i = 0; i < 8; i++) {
        OK(sked_builder_add_op(b, i < 7 ? names[i] : lengthy, i < 7 ? names[6 - i] : "t", 50, NULL, err));
        if (i > 0)
            add_edge(b, i - 1, i, 1, 0);
    }
    free(lengthy);
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
    s->problem.devices = 3;
    sample_schedule(s, "<method>");
}

static inline void sample_robust(sample *s)
{
    sample_small(s);
    s->data.robust = sample_comparison();
}

static inline void sample_loop(sample *s)
{
    sample_small(s);
    s->machine = sample_fitted();
    s->data.robust = sample_course(s->machine);
}

/* Value over time of a run: a bound before the first schedule, three members, a better bound at the end. */
static inline void add_progress(sample *s)
{
    static sked_curve_point row[] = {{0.00002, 0, INFINITY, 10, 0, "exact"},
                                     {0.0004, 1, 40, 10, 0, "list"},
                                     {0.03, 250, 33.5, 10, 0, "</script> & <co>"},
                                     {0.5, 9000, 30, 10, 0, "gaus"},
                                     {4, 80000, 30, 21, 0, "exact"}};
    static sked_curve_point *const curve[] = {&row[0], &row[1], &row[2], &row[3], &row[4]};
    s->data.curve = curve;
    s->data.n_curve = 5;
    s->data.seconds = 20;
}

static inline void sample_progress(sample *s)
{
    sample_small(s);
    add_progress(s);
}

static inline void sample_thousand(sample *s)
{
    sample_layered(s, 1000, 40, 8);
}
/* No device is ever idle: 500 ops of 1 to 10 on each of four, one type. */
static inline void sample_dense(sample *s)
{
    enum { devices = 4, each = 501 };
    sked_builder *b = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_set_name(b, "dense", err));
    for (int i = 0; i < devices * each; i++)
        OK(sked_builder_add_op(b, NULL, NULL, 1 + i / devices * 7 % 10 + i / devices % 3 * 0.3, NULL, err));
    OK(sked_builder_finish(b, &s->graph, err));
    sked_builder_destroy(b);
    sked_problem_init(&s->problem, s->graph);
    s->problem.devices = devices;
    OK(sked_schedule_create(devices * each, devices, &s->schedule, err));
    double end = 0;
    for (int i = 0; i < devices * each; i++) {
        s->schedule->device[i] = i % devices;
        s->schedule->start[i] = end;
        end += i % devices == devices - 1 ? sked_graph_duration(s->graph, i) : 0;
    }
    sked_report_data_init(&s->data);
    s->data.problem = &s->problem;
    s->data.schedule = s->schedule;
}
static inline void sample_large(sample *s)
{
    sample_layered(s, 100000, 400, 16);
}
static inline void sample_chains(sample *s)
{
    sample_free_ops(s, 1500, 30);
}

/* Two combinational ops in one cycle: times in whole cycles, phases that are no whole numbers. */
static inline void sample_chained(sample *s)
{
    static const char text[] = "{\"format\":\"sked-graph-1\",\"name\":\"chained\",\"ops\":["
                               "{\"name\":\"a\",\"duration\":0,\"delay\":1.25},"
                               "{\"name\":\"b\",\"duration\":0,\"delay\":2.5},"
                               "{\"name\":\"c\",\"duration\":2,\"delay\":{\"in\":1.5,\"out\":0.75}}],"
                               "\"edges\":[[\"a\",\"b\"],[\"b\",\"c\"]]}";
    s->graph = must_graph(text);
    sked_problem_init(&s->problem, s->graph);
    s->problem.clock = 4.5;
    OK(sked_schedule_create(3, 0, &s->schedule, err));
    OK(sked_i_schedule_add_phases(s->schedule, err));
    s->schedule->phase[1] = 1.25;
    s->schedule->start[2] = 1;
    sked_report_data_init(&s->data);
    s->data.problem = &s->problem;
    s->data.schedule = s->schedule;
}

static const struct sample_kind {
    const char *name;
    void (*make)(sample *s);
} sample_kinds[] = {{"small", sample_small},         {"resources", sample_resources},
                    {"pipelined", sample_pipelined}, {"clocked", sample_clocked},
                    {"layered", sample_thousand},    {"free", sample_chains},
                    {"hostile", sample_hostile},     {"instant", sample_instant},
                    {"empty", sample_empty},         {"robust", sample_robust},
                    {"loop", sample_loop},           {"progress", sample_progress},
                    {"machine", sample_machine},     {"hostile-machine", sample_hostile_machine},
                    {"dense", sample_dense},         {"large", sample_large}};
enum { n_sample_kinds = sizeof sample_kinds / sizeof *sample_kinds, n_small_kinds = n_sample_kinds - 1 };
#endif
