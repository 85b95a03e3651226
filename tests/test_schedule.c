/* The schedule layer: judge, simulator, metrics, bounds, problem checks. */
#include "brute_force.h"
#include "random_problem.h"

#include "method/incumbents.h"
#include "schedule/equal.h"
#include "schedule/profile.h"
#include "schedule/schedule.h"

/* ------------------------------------------------------------------ tools */

/* A graph from a short text: durations, then edges. */
typedef struct edge_text {
    int from, to;
    double lag, bytes;
    int distance;
} edge_text;

static sked_graph *make_graph(const double *duration, int n, const edge_text *edges, int m)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < n; i++) {
        char name[2] = {(char)('a' + i), 0};
        OK(sked_builder_add_op(b, name, NULL, duration[i], NULL, err));
    }
    for (int e = 0; e < m; e++) {
        const sked_edge x = {edges[e].from, edges[e].to, edges[e].lag, edges[e].bytes, edges[e].distance};
        OK(sked_builder_add_edge(b, &x, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* n ops of the given durations, each holding `demand` of one resource. */
static sked_graph *make_pool_graph(const double *duration, const double *demand, int n, double capacity)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "alu", capacity, NULL, err));
    for (int i = 0; i < n; i++) {
        int32_t op;
        char name[2] = {(char)('a' + i), 0};
        OK(sked_builder_add_op(b, name, NULL, duration[i], &op, err));
        OK(sked_builder_add_demand(b, op, 0, demand[i], err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static sked_schedule make_schedule(int n, int devices, double *start, int32_t *device)
{
    return (sked_schedule){.ops = n, .devices = devices, .start = start, .device = device};
}

/* ------------------------------------------------------------------ the judge, rule by rule */

static void rule_shape(void **state)
{
    (void)state;
    sked_graph *g = make_graph((double[]){1, 1}, 2, NULL, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    double start[3] = {0, 0, 0};
    int32_t device[3] = {0, 0, 0};
    sked_schedule s = make_schedule(3, 0, start, NULL);
    FAILS(SKED_ERR_INVALID, "has 3 ops, the graph 2", sked_schedule_validate(&p, &s, err));
    s = make_schedule(2, 2, start, device);
    FAILS(SKED_ERR_INVALID, "for 2 devices, the machine has 0", sked_schedule_validate(&p, &s, err));
    p.devices = 2;
    s.devices = 3;
    FAILS(SKED_ERR_INVALID, "for 3 devices, the machine has 2", sked_schedule_validate(&p, &s, err));
    s = make_schedule(2, 2, start, NULL);
    FAILS(SKED_ERR_INVALID, "devices", sked_schedule_validate(&p, &s, err));
    p.devices = 0;
    s = make_schedule(2, 0, start, NULL);
    OK(sked_schedule_validate(&p, &s, err));
    s.ii = 2;
    FAILS(SKED_ERR_INVALID, "not pipelined", sked_schedule_validate(&p, &s, err));
    p.ii = 3;
    FAILS(SKED_ERR_INVALID, "II 2, the problem asks for 3", sked_schedule_validate(&p, &s, err));
    p.ii = SKED_II_AUTO;
    OK(sked_schedule_validate(&p, &s, err));
    for (int k = 0; k < 4; k++) {
        const double bad[] = {0, -1, INFINITY, NAN};
        s.ii = bad[k];
        FAILS(SKED_ERR_INVALID, "no initiation interval", sked_schedule_validate(&p, &s, err));
    }
    p.ii = 0;
    p.objective = SKED_OBJECTIVE_II;
    FAILS(SKED_ERR_INVALID, "no initiation interval", sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

/* What measures schedules takes invalid ones, but no devices that are none. */
static void measuring_checks_the_shape(void **state)
{
    (void)state;
    sked_graph *g = make_graph((double[]){1, 1}, 2, NULL, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    double start[3] = {0, 0, 0}, peak[2];
    int32_t device[3] = {0, 1, 0};
    sked_metrics m = {.size = sizeof m};
    sked_diversity d = {.size = sizeof d};
    const sked_schedule good = make_schedule(2, 2, start, device);
    int32_t far[2] = {0, 1000000}, below[2] = {-1, 0};
    double never[2] = {NAN, 0};
    const sked_schedule bad[] = {make_schedule(3, 2, start, device), make_schedule(2, 3, start, device),
                                 make_schedule(2, 2, start, NULL),   make_schedule(2, 0, start, NULL),
                                 make_schedule(2, 2, start, far),    make_schedule(2, 2, start, below),
                                 make_schedule(2, 2, never, device)};
    OK(sked_schedule_measure(&p, &good, &m, err));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const sked_schedule *pair[2] = {&good, &bad[k]};
        const char *part = k < 4 ? "another graph or number of devices" : "no start or no device";
        FAILS(SKED_ERR_INVALID, part, sked_schedule_measure(&p, &bad[k], &m, err));
        FAILS(SKED_ERR_INVALID, part, sked_schedule_device_memory(&p, &bad[k], peak, err));
        FAILS(SKED_ERR_INVALID, part, sked_schedules_diversity(&p, pair, 2, &d, err));
    }
    sked_graph_destroy(g);
}

static void rule_values(void **state)
{
    (void)state;
    sked_graph *g = make_graph((double[]){1, 1}, 2, NULL, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    double start[2] = {0, 0};
    int32_t device[2] = {0, 1};
    sked_schedule s = make_schedule(2, 2, start, device);
    OK(sked_schedule_validate(&p, &s, err));
    const double bad[] = {-1, -1e-9, NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        start[1] = bad[k];
        FAILS(SKED_ERR_INVALID, "'b' starts at", sked_schedule_validate(&p, &s, err));
    }
    start[1] = 0;
    device[1] = 2;
    FAILS(SKED_ERR_INVALID, "device 2, but devices are 0 to 1", sked_schedule_validate(&p, &s, err));
    device[1] = -1;
    FAILS(SKED_ERR_INVALID, "device -1", sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

static void rule_edges(void **state)
{
    (void)state;
    const edge_text edges[] = {
        {0, 1, NAN, 4, 0}, /* lag = duration of a = 2 */
        {0, 2, 0, 0, 0},   /* same time allowed */
        {1, 2, -3, 0, 0},  /* up to 3 before b */
    };
    sked_graph *g = make_graph((double[]){2, 1, 1}, 3, edges, 3);
    sked_problem p;
    sked_problem_init(&p, g);
    double start[3] = {0, 2, 0};
    int32_t device[3] = {0, 0, 1};
    sked_schedule s = make_schedule(3, 0, start, NULL);
    OK(sked_schedule_validate(&p, &s, err));
    start[1] = 1;
    FAILS(SKED_ERR_INVALID, "'b' starts at 1, but 'a'", sked_schedule_validate(&p, &s, err));
    start[0] = 1;
    start[1] = 3;
    FAILS(SKED_ERR_INVALID, "'c' starts at 0, but 'a'", sked_schedule_validate(&p, &s, err));
    start[2] = 1;
    OK(sked_schedule_validate(&p, &s, err));
    start[1] = 4;
    OK(sked_schedule_validate(&p, &s, err));
    start[1] = 5;
    FAILS(SKED_ERR_INVALID, "'c' starts at 1, but 'b'", sked_schedule_validate(&p, &s, err));
    /* transfers: latency 1 + 4 bytes at 2 per unit, only between different devices */
    p.devices = 2;
    p.latency = 1;
    p.bandwidth = 2;
    s = make_schedule(3, 2, start, device);
    start[0] = 0;
    start[1] = 2;
    start[2] = 1;
    OK(sked_schedule_validate(&p, &s, err));
    device[1] = 1;
    FAILS(SKED_ERR_INVALID, "transfer between devices) allows it from 5",
          sked_schedule_validate(&p, &s, err));
    start[1] = 5;
    start[2] = 3;
    OK(sked_schedule_validate(&p, &s, err));
    start[1] = 4;
    FAILS(SKED_ERR_INVALID, "'b' starts at 4", sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

static void rule_loop_edges(void **state)
{
    (void)state;
    const edge_text edges[] = {{0, 1, 3, 0, 0}, {1, 0, 2, 0, 1}};
    sked_graph *g = make_graph((double[]){1, 1}, 2, edges, 2);
    sked_problem p;
    sked_problem_init(&p, g);
    double start[2] = {0, 3};
    sked_schedule s = make_schedule(2, 0, start, NULL);
    OK(sked_schedule_validate(&p, &s, err)); /* not pipelined: the back edge joins other iterations */
    p.ii = s.ii = 5;
    OK(sked_schedule_validate(&p, &s, err));
    p.ii = s.ii = 4;
    FAILS(SKED_ERR_INVALID, "loop-carried", sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

static void rule_devices(void **state)
{
    (void)state;
    sked_graph *g = make_graph((double[]){3, 2, 0}, 3, NULL, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    double start[3] = {0, 3, 1};
    int32_t device[3] = {1, 1, 1};
    sked_schedule s = make_schedule(3, 2, start, device);
    OK(sked_schedule_validate(&p, &s, err)); /* touching is no overlap; an op of duration 0 takes no time */
    start[1] = 2;
    FAILS(SKED_ERR_INVALID, "device 1 runs more than one op at time 2", sked_schedule_validate(&p, &s, err));
    device[1] = 0;
    OK(sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

static void rule_devices_folded(void **state)
{
    (void)state;
    sked_graph *g = make_graph((double[]){3, 2}, 2, NULL, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 1;
    double start[2] = {0, 0};
    int32_t device[2] = {0, 0};
    sked_schedule s = make_schedule(2, 1, start, device);
    p.ii = s.ii = 5;
    for (int a = 0; a < 12; a++)
        for (int b = 0; b < 12; b++) { /* against a table of the 5 slots */
            int slots[5] = {0}, most = 0;
            for (int t = a; t < a + 3; t++)
                slots[t % 5]++;
            for (int t = b; t < b + 2; t++)
                slots[t % 5]++;
            for (int t = 0; t < 5; t++)
                most = slots[t] > most ? slots[t] : most;
            start[0] = a;
            start[1] = b;
            if (most > 1)
                FAILS(SKED_ERR_INVALID, "(modulo II)", sked_schedule_validate(&p, &s, err));
            else
                OK(sked_schedule_validate(&p, &s, err));
        }
    start[1] = 3;
    start[0] = 0;
    p.ii = s.ii = 2; /* an op longer than the interval meets itself */
    FAILS(SKED_ERR_INVALID, "device 0 runs more than one op", sked_schedule_validate(&p, &s, err));
    p.ii = s.ii = 0.1 * 50; /* real intervals: a start that is a multiple only up to rounding */
    start[0] = 0.1 * 3 * 50;
    start[1] = 3;
    OK(sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

static void rule_resources(void **state)
{
    (void)state;
    sked_graph *g = make_pool_graph((double[]){2, 2, 2}, (double[]){2, 1, 2}, 3, 3);
    sked_problem p;
    sked_problem_init(&p, g);
    double start[3] = {0, 0, 2}, wide = 5, narrow = 2;
    sked_schedule s = make_schedule(3, 0, start, NULL);
    OK(sked_schedule_validate(&p, &s, err));
    start[2] = 1;
    FAILS(SKED_ERR_INVALID, "resource 'alu' holds 5 at time 1", sked_schedule_validate(&p, &s, err));
    p.capacity = &wide;
    OK(sked_schedule_validate(&p, &s, err));
    start[2] = 2;
    p.capacity = &narrow;
    FAILS(SKED_ERR_INVALID, "its capacity is 2", sked_schedule_validate(&p, &s, err));
    wide = INFINITY;
    p.capacity = &wide;
    start[2] = 0;
    OK(sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

static void rule_resources_folded(void **state)
{
    (void)state;
    /* 7 steps of 1 unit at II 3: two full turns and one step more */
    sked_graph *g = make_pool_graph((double[]){7, 2}, (double[]){1, 1}, 2, 3);
    sked_problem p;
    sked_problem_init(&p, g);
    double start[2] = {4, 0};
    sked_schedule s = make_schedule(2, 0, start, NULL);
    p.ii = s.ii = 3;
    for (int b = 0; b < 9; b++) {
        start[1] = b; /* slot 1 holds 3 already (4..11 mod 3), so b..b+2 must miss it */
        if (b % 3 == 2)
            OK(sked_schedule_validate(&p, &s, err));
        else
            FAILS(SKED_ERR_INVALID, "resource 'alu' holds 4", sked_schedule_validate(&p, &s, err));
    }
    sked_graph_destroy(g);
}

static void rule_limits(void **state)
{
    (void)state;
    sked_graph *g = make_graph((double[]){2, 1}, 2, NULL, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    double start[2] = {1, 0}, fixed[2] = {NAN, NAN};
    int32_t device[2] = {0, 1}, pinned[2] = {-1, -1};
    sked_schedule s = make_schedule(2, 2, start, device);
    p.devices = 2;
    p.horizon = 3;
    p.fix_start = fixed;
    p.fix_device = pinned;
    OK(sked_schedule_validate(&p, &s, err));
    p.horizon = 2;
    FAILS(SKED_ERR_INVALID, "'a' finishes at 3, the horizon is 2", sked_schedule_validate(&p, &s, err));
    p.horizon = INFINITY;
    fixed[1] = 1;
    FAILS(SKED_ERR_INVALID, "'b' is fixed at time 1, but starts at 0", sked_schedule_validate(&p, &s, err));
    fixed[1] = 0;
    pinned[0] = 1;
    FAILS(SKED_ERR_INVALID, "'a' is fixed on device 1, but runs on 0", sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

/* Integers are judged exactly, even large ones; real times to 1e-9 of the time scale. */
static void tolerance(void **state)
{
    (void)state;
    const edge_text edge = {0, 1, NAN, 0, 0};
    const double big = 0x1p50;
    sked_graph *g = make_graph((double[]){big, 1}, 2, &edge, 1);
    sked_problem p;
    sked_problem_init(&p, g);
    double start[2] = {0, big};
    sked_schedule s = make_schedule(2, 0, start, NULL);
    OK(sked_schedule_validate(&p, &s, err));
    start[1] = big - 1;
    FAILS(SKED_ERR_INVALID, "'b' starts at", sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
    g = make_graph((double[]){0.1, 0.2}, 2, &edge, 1);
    sked_problem_init(&p, g);
    p.devices = 1;
    int32_t device[2] = {0, 0};
    s = make_schedule(2, 1, start, device);
    start[0] = 0.7;
    start[1] = 0.7 + 0.1 - 1e-12;
    OK(sked_schedule_validate(&p, &s, err));
    start[1] = 0.7 + 0.1 - 1e-6;
    FAILS(SKED_ERR_INVALID, "'b' starts at", sked_schedule_validate(&p, &s, err));
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ the judge against a naive one */

/* Random starts on tiny integer problems: judge and step-by-step check must agree. */
static void judge_agrees_with_steps(void **state)
{
    (void)state;
    int valid = 0, invalid = 0;
    for (uint64_t seed = 0; seed < 5600; seed++) {
        const unsigned kinds[] = {RANDOM_DEVICES | RANDOM_LAGS,
                                  RANDOM_RESOURCES | RANDOM_NEGATIVE,
                                  RANDOM_TRANSFERS | RANDOM_RESOURCES | RANDOM_ZERO,
                                  RANDOM_LOOPS | RANDOM_DEVICES | RANDOM_RESOURCES,
                                  RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_DEVICES | RANDOM_HORIZON,
                                  RANDOM_UNEQUAL | RANDOM_LAGS | RANDOM_RESOURCES,
                                  RANDOM_UNEQUAL | RANDOM_HORIZON | RANDOM_FIX_DEVICE};
        random_problem r;
        static brute b;
        sked_i_rng rng;
        random_problem_make(seed, kinds[seed % 7], 2, 4, &r);
        sked_i_rng_seed(&rng, seed, 99);
        sked_problem *p = &r.problem;
        if (seed % 7 == 3)
            p->ii = random_int(&rng, 2, 6);
        sked_schedule *s = NULL;
        const int32_t n = sked_graph_op_count(r.graph);
        OK(sked_schedule_create(n, p->devices, &s, err));
        s->ii = p->ii;
        brute_load(&b, p);
        b.limit = p->horizon < BRUTE_TIME ? (int)p->horizon : BRUTE_TIME - 1;
        bool fine = true;
        for (int32_t i = 0; i < n; i++) {
            b.start[i] = s->start[i] = random_int(&rng, 0, 9);
            if (s->device)
                b.device[i] = s->device[i] = random_int(&rng, 0, p->devices - 1);
            b.placed[i] = true;
            fine = b.start[i] + brute_time(&b, i) <= b.limit && fine;
            fine = !(p->fix_device && p->fix_device[i] >= 0 && p->fix_device[i] != b.device[i]) && fine;
            fine = !(p->fix_start && !isnan(p->fix_start[i]) && p->fix_start[i] != b.start[i]) && fine;
        }
        for (int32_t i = 0; i < n && fine; i++) {
            fine = brute_edges_kept(&b, i) && fine;
            fine = brute_hold(&b, i, 1) && fine;
        }
        assert_int_equal(sked_schedule_validate(p, s, NULL), fine ? SKED_OK : SKED_ERR_INVALID);
        valid += fine;
        invalid += !fine;
        sked_schedule_destroy(s);
        random_problem_free(&r);
    }
    assert_true(valid > 200 && invalid > 200);
}

/* ------------------------------------------------------------------ simulator */

/* Repeats "every op as early as its predecessors and its device's order allow" until nothing moves. */
static double naive_makespan(const sked_problem *p, const int32_t *device, const int32_t *order,
                             bool transfers, double *start)
{
    const int32_t n = sked_graph_op_count(p->graph);
    double latest = 0;
    for (int32_t i = 0; i < n; i++)
        start[i] = 0;
    bool moved = true;
    for (int sweep = 0; moved; sweep++) {
        if (sweep > n + 1)
            return INFINITY; /* still moving: the order contradicts the graph */
        moved = false;
        for (int64_t e = 0; e < sked_graph_edge_count(p->graph); e++) {
            sked_edge x;
            sked_graph_edge(p->graph, e, &x);
            double t = start[x.from] + x.lag;
            if (transfers && p->devices > 1 && device[x.from] != device[x.to])
                t += p->latency + x.bytes / p->bandwidth;
            if (x.distance == 0 && t > start[x.to])
                start[x.to] = t, moved = true;
        }
        for (int32_t a = 0; a < n; a++)
            for (int32_t b = a + 1; b < n; b++) {
                const int32_t i = order[a], j = order[b];
                const double t = start[i] + sked_graph_duration(p->graph, i);
                if (p->devices > 0 && device[i] == device[j] && t > start[j])
                    start[j] = t, moved = true;
            }
    }
    for (int32_t i = 0; i < n; i++)
        latest = fmax(latest, start[i] + sked_graph_duration(p->graph, i));
    return latest;
}

enum { BATCH = 8 };

static void fill_orders(sked_i_rng *rng, const sked_problem *p, bool topological, int32_t *device,
                        int32_t *order)
{
    const sked_graph *g = p->graph;
    for (int b = 0; b < BATCH; b++) {
        int32_t *o = order + b * g->n_ops;
        for (int32_t i = 0; i < g->n_ops; i++) {
            o[i] = topological ? g->topo[i] : i;
            device[b * g->n_ops + i] = p->devices > 0 ? random_int(rng, 0, p->devices - 1) : 0;
        }
        if (!topological)
            sked_i_rng_shuffle(rng, o, g->n_ops);
    }
}

static void simulator_agrees_with_naive(void **state)
{
    (void)state;
    int contradictory = 0, fine = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        const unsigned kinds[] = {RANDOM_DEVICES, RANDOM_TRANSFERS | RANDOM_LAGS,
                                  RANDOM_TRANSFERS | RANDOM_REAL | RANDOM_LOOPS, RANDOM_LAGS};
        random_problem r;
        sked_i_rng rng;
        sked_simulator *sim = NULL;
        int32_t device[BATCH * 64], order[BATCH * 64];
        double makespan[BATCH], start[BATCH * 64], naive[64];
        random_problem_make(seed, kinds[seed % 4], 1, 14, &r);
        const int32_t n = r.graph->n_ops;
        sked_i_rng_seed(&rng, seed, 5);
        fill_orders(&rng, &r.problem, seed % 3 > 0, device, order);
        OK(sked_simulator_create(&r.problem, &sim, err));
        for (int transfers = 0; transfers < 2; transfers++) {
            sked_simulator_run(sim, BATCH, device, order, transfers, makespan, start);
            for (int b = 0; b < BATCH; b++) {
                const double want =
                    naive_makespan(&r.problem, device + b * n, order + b * n, transfers, naive);
                assert_true(isinf(want) ? isinf(makespan[b]) : fabs(makespan[b] - want) < 1e-9);
                for (int32_t i = 0; isfinite(want) && i < n; i++)
                    assert_true(fabs(start[b * n + i] - naive[i]) < 1e-9);
                contradictory += isinf(want);
                fine += isfinite(want);
            }
        }
        double again[BATCH];
        sked_simulator_run(sim, BATCH, device, order, true, again, NULL);
        assert_memory_equal(again, makespan, sizeof again);
        sked_simulator_destroy(sim);
        random_problem_free(&r);
    }
    assert_true(contradictory > 50 && fine > 500);
}

/* A schedule the simulator made is valid: its starts, its devices. */
static void simulated_schedules_are_valid(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        random_problem r;
        sked_i_rng rng;
        sked_simulator *sim = NULL;
        int32_t device[BATCH * 64], order[BATCH * 64];
        double makespan[BATCH], start[BATCH * 64];
        random_problem_make(seed, RANDOM_TRANSFERS | RANDOM_LAGS | (seed % 2 ? RANDOM_REAL : 0), 2, 20, &r);
        sked_i_rng_seed(&rng, seed, 6);
        fill_orders(&rng, &r.problem, true, device, order);
        OK(sked_simulator_create(&r.problem, &sim, err));
        sked_simulator_run(sim, BATCH, device, order, true, makespan, start);
        for (int b = 0; b < BATCH; b++) {
            const sked_schedule s = make_schedule(r.graph->n_ops, r.problem.devices,
                                                  start + b * r.graph->n_ops, device + b * r.graph->n_ops);
            OK(sked_schedule_validate(&r.problem, &s, err));
        }
        sked_simulator_destroy(sim);
        random_problem_free(&r);
    }
}

static void simulator_refuses_repeats(void **state)
{
    (void)state;
    sked_graph *g = make_graph((double[]){1, 2, 3}, 3, NULL, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    sked_simulator *sim = NULL;
    OK(sked_simulator_create(&p, &sim, err));
    const int32_t device[3] = {0, 0, 1}, twice[3] = {0, 1, 1}, fine[3] = {1, 0, 2};
    double makespan, start[3];
    sked_simulator_run(sim, 1, device, twice, true, &makespan, NULL);
    assert_true(isinf(makespan));
    sked_simulator_run(sim, 1, device, fine, true, &makespan, start);
    assert_true(makespan == 3 && start[0] == 2 && start[1] == 0 && start[2] == 0);
    sked_simulator_destroy(sim);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ metrics */

static void metrics_of_a_known_schedule(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "x", INFINITY, NULL, err));
    OK(sked_builder_add_resource(b, "y", INFINITY, NULL, err));
    for (int32_t i = 0; i < 4; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 2, NULL, err));
        OK(sked_builder_set_memory(b, i, 10 * (i + 1), err));
        OK(sked_builder_set_weight(b, i, i + 1, err));
        OK(sked_builder_add_demand(b, i, i % 2, 1, err));
    }
    const sked_edge edges[] = {{0, 1, NAN, 5, 0}, {0, 2, NAN, 0, 0}, {1, 3, NAN, 7, 0}};
    for (int e = 0; e < 3; e++)
        OK(sked_builder_add_edge(b, &edges[e], err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    p.latency = 1;
    double start[4] = {0, 2, 3, 5};
    int32_t device[4] = {0, 0, 1, 1};
    sked_schedule s = make_schedule(4, 2, start, device);
    OK(sked_schedule_validate(&p, &s, err));
    sked_metrics m = {.size = sizeof m};
    OK(sked_schedule_measure(&p, &s, &m, err));
    assert_true(m.makespan == 7 && m.value == 7);
    assert_true(m.speedup == 8.0 / 7);
    assert_true(m.idle == 1 - 8.0 / 14);
    /* x: ops 0 (weight 1, 0..2) and 2 (weight 3, 3..5); y: 1 (2, 2..4) and 3 (4, 5..7) */
    assert_true(m.resource == 3 + 4);
    /* op 0 lives 0..3 (10), op 1 lives 2..5 (20); ops 2 and 3 have no consumer */
    assert_true(m.peak_memory == 30);
    assert_true(m.communication == 2 + 3);
    assert_true(m.transfer == 2); /* 0 -> 2 and 1 -> 3 cross */
    p.objective = SKED_OBJECTIVE_COST;
    p.alpha = 0.5;
    OK(sked_schedule_measure(&p, &s, &m, err));
    assert_true(m.value == 7 + 2.5);
    sked_graph_destroy(g);
}

/* Step-by-step values of random integer schedules, pipelined and not. */
static void metrics_agree_with_steps(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        random_problem r;
        static brute b;
        sked_i_rng rng;
        random_problem_make(seed, RANDOM_LOOPS | (seed % 2 ? RANDOM_RESOURCES : 0), 2, 6, &r);
        sked_i_rng_seed(&rng, seed, 7);
        sked_problem *p = &r.problem;
        p->alpha = 0.25;
        p->ii = seed % 4 < 2 ? 0 : random_int(&rng, 1, 5);
        brute_load(&b, p);
        b.limit = 40;
        sked_schedule *s = NULL;
        OK(sked_schedule_create(b.n, 0, &s, err));
        s->ii = p->ii;
        for (int32_t k = 0; k < b.n; k++) { /* in order, so that no value dies before it is born */
            const int32_t i = r.graph->topo[k];
            double t = random_int(&rng, 0, 2);
            for (int e = 0; e < b.edges; e++)
                if (b.edge[e].to == i && b.edge[e].distance == 0)
                    t = fmax(t, s->start[b.edge[e].from] + b.edge[e].lag);
            b.start[i] = s->start[i] = t;
        }
        for (int o = 0; o < SKED_OBJECTIVE_II; o++) {
            sked_metrics m = {.size = sizeof m};
            p->objective = (sked_objective)o;
            OK(sked_schedule_measure(p, s, &m, err));
            assert_true(fabs(m.value - brute_value(&b)) < 1e-9);
            double value, makespan;
            const sked_i_costs costs = sked_i_costs_of_equal(p);
            OK(sked_i_schedule_value(p, &costs, s, &value, &makespan, err));
            assert_true(value == m.value && makespan == m.makespan);
        }
        sked_schedule_destroy(s);
        random_problem_free(&r);
    }
}

/* Names of identical devices do not matter; heterogeneous devices are themselves. */
static void equal_schedules(void **state)
{
    (void)state;
    double start[] = {0, 1, 1}, later[] = {0, 1, 2};
    int32_t one[] = {0, 0, 1}, renamed[] = {1, 1, 0}, other[] = {0, 1, 0};
    const sked_schedule a = {.ops = 3, .devices = 2, .start = start, .device = one};
    sked_schedule b = {.ops = 3, .devices = 2, .start = start, .device = renamed};
    assert_true(sked_i_schedule_equal(&a, &b, true));
    assert_false(sked_i_schedule_equal(&a, &b, false));
    assert_true(sked_i_schedule_equal(&a, &a, false));
    b.device = other;
    assert_false(sked_i_schedule_equal(&a, &b, true));
    b.device = one;
    b.start = later;
    assert_false(sked_i_schedule_equal(&a, &b, false));
}

/* Two heterogeneous devices, an op that takes the same time on both: two schedules, not one under two names.
 */
static void candidates_on_machines(void **state)
{
    static const char text[] =
        "{\"format\": \"sked-machine-1\", \"latency\": 0, \"devices\": [{\"name\": \"a\"}, "
        "{\"name\": \"b\", \"speed\": 2}]}";
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_machine *m = NULL;
    sked_problem p;
    sked_i_incumbents pool = {0};
    double start = 0;
    int32_t device = 0;
    bool kept;
    const sked_schedule s = {.ops = 1, .devices = 2, .start = &start, .device = &device};
    const sked_i_result_rank rank = {{0, 3, 3}};
    (void)state;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_op(b, "x", NULL, 3, NULL, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    OK(sked_machine_parse("machine", text, strlen(text), &m, err));
    sked_problem_init(&p, g);
    p.devices = 2;
    for (int hetero = 0; hetero < 2; hetero++) {
        p.machine = hetero ? m : NULL;
        OK(sked_i_incumbents_open(&pool, &p, 4, err));
        for (device = 0; device < 2; device++)
            OK(sked_i_incumbents_insert(&pool, &s, rank, "test", &kept, err));
        assert_int_equal(pool.count, 1 + hetero);
        sked_i_incumbents_close(&pool);
    }
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

/* Memory of each device at once is what asking for one after the other gives. */
static void device_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        random_problem r;
        sked_result result = {.size = sizeof result};
        sked_run_options opt;
        double peak[3], sum = 0;
        sked_metrics m = {.size = sizeof m};
        random_problem_make(seed, (seed % 2 ? RANDOM_UNEQUAL : RANDOM_TRANSFERS) | RANDOM_KEEP | RANDOM_REAL,
                            2, 20, &r);
        r.problem.lifetime = seed % 3 ? SKED_LIFETIME_FINISH : SKED_LIFETIME_START;
        sked_run_options_init(&opt);
        OK(sked_method_run("list", &r.problem, &opt, &result, err));
        OK(sked_schedule_measure(&r.problem, result.schedule[0], &m, err));
        OK(sked_schedule_device_memory(&r.problem, result.schedule[0], peak, err));
        sked_i_costs costs = {0};
        OK(sked_i_costs_make(&r.problem, &costs, err));
        for (int32_t d = 0; d < r.problem.devices; d++) {
            sked_i_profile one = {0};
            OK(sked_i_profile_memory(&r.problem, &costs, result.schedule[0], d, &one, err));
            assert_true(one.peak == peak[d] && peak[d] <= m.peak_memory + 1e-9);
            sum += peak[d];
            sked_i_profile_free(&one);
        }
        assert_true(sum >= m.peak_memory - 1e-9);
        sked_i_costs_free(&costs);
        sked_result_clear(&result);
        r.problem.machine = NULL;
        r.problem.devices = 0;
        OK(sked_method_run("list", &r.problem, &opt, &result, err));
        OK(sked_schedule_device_memory(&r.problem, result.schedule[0], NULL, err)); /* there are none */
        sked_result_clear(&result);
        random_problem_free(&r);
    }
}

/* Integers go into cells, everything else is sorted: half a step more gives the same profile. */
static void profile_of_integers(void **state)
{
    (void)state;
    enum { n = 40 };
    for (uint64_t seed = 0; seed < 60; seed++) {
        sked_i_rng rng;
        sked_i_interval whole[n], half[n];
        sked_i_profile cells = {0}, sorted = {0};
        const double period = seed % 3 == 0 ? (double)(1 + seed % 7) : 0, shift = period > 0 ? 0 : 0.5;
        sked_i_rng_seed(&rng, seed, 1);
        for (int k = 0; k < n; k++) {
            const double begin = (double)sked_i_rng_below(&rng, 30),
                         amount = (double)sked_i_rng_below(&rng, 9);
            whole[k] = (sked_i_interval){begin, begin + (double)sked_i_rng_below(&rng, 12), amount};
            half[k] = (sked_i_interval){begin + shift, whole[k].end + shift, amount};
        }
        half[0].amount = whole[0].amount = 0;
        half[0].end += period > 0 ? 0.5 : 0; /* nothing, but not an integer */
        OK(sked_i_profile_build(whole, n, period, 0, &cells, err));
        OK(sked_i_profile_build(half, n, period, 0, &sorted, err));
        assert_true(cells.count == sorted.count && cells.peak == sorted.peak);
        for (int64_t k = 0; k < cells.count; k++)
            assert_true(cells.time[k] + shift == sorted.time[k] && cells.value[k] == sorted.value[k]);
        sked_i_profile_free(&cells);
        sked_i_profile_free(&sorted);
    }
}

static void diversity(void **state)
{
    (void)state;
    sked_graph *g = make_graph((double[]){1, 1, 1, 1}, 4, NULL, 0);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    double s1[4] = {0, 1, 0, 1}, s2[4] = {0, 1, 0, 1}, s3[4] = {1, 0, 0, 1};
    int32_t d1[4] = {0, 0, 1, 1}, d2[4] = {1, 1, 0, 0}, d3[4] = {0, 0, 1, 1};
    const sked_schedule a = make_schedule(4, 2, s1, d1), renamed = make_schedule(4, 2, s2, d2),
                        other = make_schedule(4, 2, s3, d3);
    sked_diversity d = {.size = sizeof d};
    OK(sked_schedules_diversity(&p, (const sked_schedule *[]){&a, &renamed}, 2, &d, err));
    assert_true(d.ged == 0 && d.d_inv == 0 && d.d_sen == 0);
    /* chains 0>1, 2>3 against 1>0, 2>3: one edge of two shared on either side */
    OK(sked_schedules_diversity(&p, (const sked_schedule *[]){&a, &other}, 2, &d, err));
    assert_true(d.ged == 50 && fabs(d.d_inv - sqrt(2)) < 1e-12 && fabs(d.d_sen - sqrt(2)) < 1e-12);
    OK(sked_schedules_diversity(&p, (const sked_schedule *[]){&a, &renamed, &other}, 3, &d, err));
    assert_true(fabs(d.ged - 100.0 / 3) < 1e-12);
    OK(sked_schedules_diversity(&p, (const sked_schedule *[]){&a}, 1, &d, err));
    assert_true(d.ged == 0 && d.d_inv == 0 && d.d_sen == 0);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ bounds */

static void bound_is_at_most(const sked_problem *p, double optimum, uint64_t seed)
{
    double bound;
    const char *why = NULL;
    OK(sked_problem_bound(p, &bound, &why, err));
    if (!(bound <= optimum + 1e-9))
        fail_msg("seed %d, objective %s: bound %g (%s) above the optimum %g", (int)seed,
                 sked_objective_name(p->objective), bound, why, optimum);
    assert_non_null(why);
}

static void makespan_bounds_hold(void **state)
{
    (void)state;
    const unsigned kinds[] = {RANDOM_DEVICES,
                              RANDOM_DEVICES | RANDOM_REAL | RANDOM_LAGS,
                              RANDOM_RESOURCES,
                              RANDOM_RESOURCES | RANDOM_DEVICES | RANDOM_LAGS | RANDOM_ZERO,
                              RANDOM_RESOURCES | RANDOM_REAL,
                              RANDOM_TRANSFERS,
                              RANDOM_TRANSFERS | RANDOM_REAL | RANDOM_RESOURCES};
    int met = 0;
    for (uint64_t seed = 0; seed < 700; seed++) {
        random_problem r;
        random_problem_make(seed, kinds[seed % 7], 1, seed % 7 < 5 ? 6 : 5, &r);
        const double optimum = brute_force_orders(&r.problem);
        double bound;
        bound_is_at_most(&r.problem, optimum, seed);
        OK(sked_problem_bound(&r.problem, &bound, NULL, err));
        met += bound >= optimum - 1e-9;
        random_problem_free(&r);
    }
    assert_true(met > 350); /* a bound of 0 would hold too */
}

/* The two enumerations agree where both apply. */
static void enumerations_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        const unsigned kinds[] = {RANDOM_DEVICES | RANDOM_LAGS, RANDOM_RESOURCES | RANDOM_ZERO,
                                  RANDOM_TRANSFERS};
        random_problem r;
        random_problem_make(seed, kinds[seed % 3], 1, 4, &r);
        const double optimum = brute_force_orders(&r.problem);
        assert_true(brute_force_times(&r.problem, (int)optimum) == optimum);
        if (optimum > 0)
            assert_true(isinf(brute_force_times(&r.problem, (int)optimum - 1)));
        random_problem_free(&r);
    }
}

static void other_bounds_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const unsigned kinds[] = {0, RANDOM_RESOURCES | RANDOM_LAGS, RANDOM_NEGATIVE | RANDOM_ZERO,
                                  RANDOM_LOOPS};
        random_problem r;
        double path;
        random_problem_make(seed, kinds[seed % 4], 1, 4, &r);
        sked_problem *p = &r.problem;
        OK(sked_problem_bound(p, &path, NULL, err));
        p->horizon = path + (double)(seed % 3);
        p->alpha = 0.5;
        if (seed % 4 == 3) {
            sked_i_min_ii least;
            OK(sked_i_problem_min_ii(p, &least, err));
            p->ii = fmax(1, fmax(least.recurrence, least.resource));
        }
        for (int o = 0; o < SKED_OBJECTIVE_II; o++) {
            p->objective = (sked_objective)o;
            bound_is_at_most(p, brute_force_times(p, (int)p->horizon), seed);
        }
        random_problem_free(&r);
    }
}

/* Nothing exists below the smallest II that the bound allows. */
static void interval_bounds_hold(void **state)
{
    (void)state;
    int at_bound = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        random_problem r;
        double bound;
        random_problem_make(seed, RANDOM_LOOPS | (seed % 2 ? RANDOM_DEVICES : RANDOM_RESOURCES), 1, 4, &r);
        sked_problem p = r.problem;
        p.objective = SKED_OBJECTIVE_II;
        p.ii = SKED_II_AUTO;
        OK(sked_problem_bound(&p, &bound, NULL, err));
        assert_true(bound >= 1);
        p = r.problem;
        for (p.ii = 1; p.ii < bound; p.ii++) {
            assert_true(isinf(brute_force_times(&p, 16)));
            FAILS(SKED_ERR_INFEASIBLE, "initiation interval is", sked_problem_check(&p, err));
        }
        p.ii = bound;
        OK(sked_problem_check(&p, err));
        at_bound += isfinite(brute_force_times(&p, 16));
        random_problem_free(&r);
    }
    assert_true(at_bound > 120);
}

/* ------------------------------------------------------------------ problem checks */

static void check_refuses_ranges(void **state)
{
    (void)state;
    sked_graph *g = make_pool_graph((double[]){1}, (double[]){1}, 1, 1);
    sked_problem good, p;
    sked_problem_init(&good, g);
    OK(sked_problem_check(&good, err));
    const double negative = -1, nan = NAN;
#define REFUSES(field, bad, part)                                    \
    do {                                                             \
        p = good;                                                    \
        p.field = (bad);                                             \
        FAILS(SKED_ERR_ARGUMENT, part, sked_problem_check(&p, err)); \
    } while (0)
    REFUSES(devices, -1, "devices");
    REFUSES(latency, -1, "latency");
    REFUSES(latency, NAN, "latency");
    REFUSES(latency, INFINITY, "latency");
    REFUSES(bandwidth, 0, "bandwidth");
    REFUSES(bandwidth, NAN, "bandwidth");
    REFUSES(horizon, -1, "horizon");
    REFUSES(horizon, NAN, "horizon");
    REFUSES(ii, -2, "initiation interval");
    REFUSES(ii, INFINITY, "initiation interval");
    REFUSES(ii, NAN, "initiation interval");
    REFUSES(alpha, -1, "alpha");
    REFUSES(alpha, NAN, "alpha");
    REFUSES(capacity, &negative, "capacity of 'alu'");
    REFUSES(capacity, &nan, "capacity of 'alu'");
    REFUSES(fix_start, &negative, "fixed at a start");
    const double infinite = INFINITY;
    REFUSES(fix_start, &infinite, "fixed at a start");
    const int32_t far = 0;
    REFUSES(fix_device, &far, "fixed on device 0, but there are 0");
#undef REFUSES
    sked_graph_destroy(g);
}

/* Sums that leave the range of a double, or squares of them that would, are refused before any method runs.
 */
static void check_refuses_sums(void **state)
{
    (void)state;
    const edge_text edges[] = {{0, 1, NAN, 8, 0}};
    sked_graph *huge = make_graph((double[]){1e308, 1e308}, 2, edges, 1);
    sked_graph *g = make_graph((double[]){1e15, 1e-15}, 2, edges, 1);
    sked_problem p;
    sked_problem_init(&p, huge);
    FAILS(SKED_ERR_UNSUPPORTED, "add up to more than 1e+100", sked_problem_check(&p, err));
    sked_problem_init(&p, g);
    OK(sked_problem_check(&p, err));
    p.bandwidth = 1e-300;
    OK(sked_problem_check(&p, err)); /* nothing to transfer between */
    p.devices = 2;
    FAILS(SKED_ERR_UNSUPPORTED, "transfers", sked_problem_check(&p, err));
    p.bandwidth = INFINITY;
    p.alpha = 1e300;
    FAILS(SKED_ERR_UNSUPPORTED, "alpha", sked_problem_check(&p, err));
    p.alpha = 1;
    const double late[2] = {1e300, NAN};
    p.fix_start = late;
    FAILS(SKED_ERR_UNSUPPORTED, "durations", sked_problem_check(&p, err));
    sked_graph_destroy(huge);
    sked_graph_destroy(g);
}

static void check_refutes(void **state)
{
    (void)state;
    const edge_text edges[] = {{0, 1, NAN, 0, 0}, {1, 2, NAN, 0, 0}, {2, 0, 4, 0, 2}};
    sked_graph *g = make_graph((double[]){3, 4, 5}, 3, edges, 3);
    sked_problem p;
    sked_problem_init(&p, g);
    p.horizon = 11;
    FAILS(SKED_ERR_INFEASIBLE, "the path a -> b -> c takes 12; a horizon of 12 would",
          sked_problem_check(&p, err));
    p.horizon = 12;
    OK(sked_problem_check(&p, err));
    p.ii = 5; /* recurrence 3 + 4 + 4 = 11 over distance 2 */
    FAILS(SKED_ERR_INFEASIBLE, "takes 11 over 2 iterations (RecMII); an interval of 6",
          sked_problem_check(&p, err));
    p.ii = 6;
    OK(sked_problem_check(&p, err));
    p.devices = 1;
    FAILS(SKED_ERR_INFEASIBLE, "needs 12 (ResMII)", sked_problem_check(&p, err));
    p.ii = 0;
    const double fixed[3] = {2, 4, NAN};
    p.fix_start = fixed;
    FAILS(SKED_ERR_INFEASIBLE, "'a' and 'b' are fixed 2 apart, their edge needs 3",
          sked_problem_check(&p, err));
    const double early[3] = {NAN, NAN, 6};
    p.fix_start = early;
    FAILS(SKED_ERR_INFEASIBLE, "'c' is fixed at 6, but", sked_problem_check(&p, err));
    const double late[3] = {NAN, NAN, 8};
    p.fix_start = late;
    FAILS(SKED_ERR_INFEASIBLE, "the path c ends, with its fixed starts, at 13", sked_problem_check(&p, err));
    sked_graph_destroy(g);
    g = make_pool_graph((double[]){2, 2, 2}, (double[]){2, 3, 2}, 3, 3);
    sked_problem_init(&p, g);
    OK(sked_problem_check(&p, err));
    const double two = 2;
    p.capacity = &two;
    FAILS(SKED_ERR_INFEASIBLE, "'b' needs 3 of resource 'alu', its capacity is 2; a capacity of 3",
          sked_problem_check(&p, err));
    p.capacity = NULL;
    p.horizon = 4; /* 14 units of area in a pool of 3 need 5 */
    for (int o = 0; o <= SKED_OBJECTIVE_COST; o++) {
        p.objective = (sked_objective)o;
        FAILS(SKED_ERR_INFEASIBLE, "proves at least 5", sked_problem_check(&p, err));
    }
    sked_graph_destroy(g);
}

/* Refuting a problem that has a schedule would be the worst error. */
static void check_never_refutes_wrongly(void **state)
{
    (void)state;
    int refuted = 0, kept = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        const unsigned kinds[] = {RANDOM_DEVICES | RANDOM_FIX_START, RANDOM_RESOURCES,
                                  RANDOM_DEVICES | RANDOM_FIX_DEVICE | RANDOM_LAGS};
        random_problem r;
        random_problem_make(seed, kinds[seed % 3], 1, 4, &r);
        sked_i_rng rng;
        sked_i_rng_seed(&rng, seed, 8);
        sked_problem *p = &r.problem;
        p->horizon = random_int(&rng, 2, 9);
        p->objective = seed % 2 ? SKED_OBJECTIVE_RESOURCE : SKED_OBJECTIVE_MAKESPAN;
        const bool exists = isfinite(brute_force_times(p, 12));
        const sked_status st = sked_problem_check(p, NULL);
        if (exists)
            assert_int_equal(st, SKED_OK);
        refuted += st == SKED_ERR_INFEASIBLE;
        kept += st == SKED_OK;
        random_problem_free(&r);
    }
    assert_true(refuted > 50 && kept > 50);
}

static int crossings(const sked_graph *g, const sked_schedule *s)
{
    int count = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        count += s->device[g->edge_from[e]] != s->device[g->edge_to[e]];
    return count;
}

/* Two chains whose ops change devices at every step for no reason. */
static void localise_untangles(void **state)
{
    (void)state;
    const double duration[] = {1, 1, 1, 1, 1, 1, 0};
    const edge_text edges[] = {
        {0, 2, 1, 3, 0}, {2, 4, 1, 3, 0}, {1, 3, 1, 3, 0}, {3, 5, 1, 3, 0}, {5, 6, 1, 3, 0}};
    sked_graph *g = make_graph(duration, 7, edges, 5);
    sked_problem p;
    sked_schedule *s = NULL;
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_schedule_create(7, 2, &s, err));
    for (int i = 0; i < 7; i++) {
        s->start[i] = (double)(i / 2);
        s->device[i] = i / 2 % 2 ? 1 - i % 2 : i % 2;
    }
    s->device[6] = 0;
    assert_int_equal(crossings(g, s), 5);
    OK(sked_i_schedule_localise(&p, s, NULL, err));
    OK(sked_schedule_validate(&p, s, err));
    assert_int_equal(crossings(g, s), 0);
    assert_int_equal(s->device[0], 0);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/*
 * Devices from starts: random jobs that never need more than the machine has are told apart, a chain keeps
 * its device, and what takes no time stands on one that is free.
 */
static void devices_are_assigned(void **state)
{
    (void)state;
    enum { n = 40, m = 4 };
    const double chain[] = {2, 3, 0, 1}, begins[] = {0, 2, 5, 5};
    const int32_t topo[] = {0, 1, 2, 3};
    int32_t on[4];
    OK(sked_i_schedule_assign(4, chain, topo, m, begins, on, err));
    for (int i = 0; i < 4; i++)
        assert_int_equal(on[i], 0);
    for (uint64_t seed = 0; seed < 200; seed++) {
        sked_i_rng rng;
        double duration[n], start[n], free_at[m] = {0};
        int32_t order[n], device[n], highest = -1, most = 0;
        sked_i_rng_seed(&rng, seed, 3);
        for (int i = 0; i < n; i++) { /* each on a device that this test knows of */
            double *const at = &free_at[random_int(&rng, 0, m - 1)];
            duration[i] = random_int(&rng, 0, 5);
            start[i] = *at + random_int(&rng, 0, 2);
            *at = start[i] + duration[i];
            order[i] = i;
        }
        OK(sked_i_schedule_assign(n, duration, order, m, start, device, err));
        for (int i = 0; i < n; i++) {
            int32_t beside = 0;
            assert_true(device[i] >= 0 && device[i] < m);
            for (int j = 0; j < n; j++) {
                const bool holds =
                    duration[j] > 0 && start[j] <= start[i] && start[i] < start[j] + duration[j];
                beside += holds;
                assert_true(i == j || duration[i] == 0 || !holds || device[i] != device[j]);
            }
            most = beside > most ? beside : most;
            highest = duration[i] > 0 && device[i] > highest ? device[i] : highest;
        }
        assert_int_equal(highest + 1, most); /* no more than run at once */
    }
}

static void localise_keeps_starts(void **state)
{
    (void)state;
    static const unsigned kinds[] = {RANDOM_DEVICES,
                                     RANDOM_DEVICES | RANDOM_REAL | RANDOM_ZERO,
                                     RANDOM_DEVICES | RANDOM_ZERO | RANDOM_RESOURCES,
                                     RANDOM_DEVICES | RANDOM_LAGS | RANDOM_NEGATIVE,
                                     RANDOM_TRANSFERS,
                                     RANDOM_DEVICES | RANDOM_FIX_DEVICE};
    int fewer = 0, more = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        random_problem r;
        sked_result result = {.size = sizeof result};
        sked_schedule *was = NULL;
        const unsigned kind = kinds[seed % 6];
        random_problem_make(seed, kind, 1, 30, &r);
        OK(sked_method_run("list", &r.problem, NULL, &result, err));
        sked_schedule *s = result.schedule[0];
        OK(sked_schedule_clone(s, &was, err));
        OK(sked_i_schedule_localise(&r.problem, s, NULL, err));
        OK(sked_schedule_validate(&r.problem, s, err));
        assert_memory_equal(s->start, was->start, (size_t)s->ops * sizeof *s->start);
        fewer += crossings(r.graph, s) < crossings(r.graph, was);
        more += crossings(r.graph, s) > crossings(r.graph, was);
        if (kind & (RANDOM_TRANSFERS | RANDOM_FIX_DEVICE)) /* devices mean something there */
            assert_memory_equal(s->device, was->device, (size_t)s->ops * sizeof *s->device);
        sked_schedule_destroy(was);
        sked_result_clear(&result);
        random_problem_free(&r);
    }
    assert_true(fewer > 100 && more < fewer / 4); /* edges weigh differently: a few may count more */
}

static void empty_graph(void **state)
{
    (void)state;
    sked_graph *g = make_graph(NULL, 0, NULL, 0);
    sked_problem p;
    sked_schedule *s = NULL;
    sked_simulator *sim = NULL;
    sked_metrics m = {.size = sizeof m};
    double bound, makespan = -1;
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_problem_check(&p, err));
    OK(sked_schedule_create(0, 2, &s, err));
    OK(sked_schedule_validate(&p, s, err));
    OK(sked_schedule_measure(&p, s, &m, err));
    assert_true(m.makespan == 0 && m.speedup == 1 && m.idle == 0 && m.peak_memory == 0);
    OK(sked_problem_bound(&p, &bound, NULL, err));
    assert_true(bound == 0);
    OK(sked_simulator_create(&p, &sim, err));
    sked_simulator_run(sim, 1, s->device, s->device, true, &makespan, NULL);
    assert_true(makespan == 0);
    sked_simulator_destroy(sim);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_shape),
        cmocka_unit_test(measuring_checks_the_shape),
        cmocka_unit_test(rule_values),
        cmocka_unit_test(rule_edges),
        cmocka_unit_test(rule_loop_edges),
        cmocka_unit_test(rule_devices),
        cmocka_unit_test(rule_devices_folded),
        cmocka_unit_test(rule_resources),
        cmocka_unit_test(rule_resources_folded),
        cmocka_unit_test(rule_limits),
        cmocka_unit_test(tolerance),
        cmocka_unit_test(judge_agrees_with_steps),
        cmocka_unit_test(simulator_agrees_with_naive),
        cmocka_unit_test(simulated_schedules_are_valid),
        cmocka_unit_test(simulator_refuses_repeats),
        cmocka_unit_test(metrics_of_a_known_schedule),
        cmocka_unit_test(metrics_agree_with_steps),
        cmocka_unit_test(profile_of_integers),
        cmocka_unit_test(diversity),
        cmocka_unit_test(device_memory),
        cmocka_unit_test(equal_schedules),
        cmocka_unit_test(candidates_on_machines),
        cmocka_unit_test(makespan_bounds_hold),
        cmocka_unit_test(enumerations_agree),
        cmocka_unit_test(other_bounds_hold),
        cmocka_unit_test(interval_bounds_hold),
        cmocka_unit_test(check_refuses_ranges),
        cmocka_unit_test(check_refuses_sums),
        cmocka_unit_test(check_refutes),
        cmocka_unit_test(check_never_refutes_wrongly),
        cmocka_unit_test(localise_untangles),
        cmocka_unit_test(devices_are_assigned),
        cmocka_unit_test(localise_keeps_starts),
        cmocka_unit_test(empty_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
