/*
 * The replay of targets: contention, cache and jitter by hand; against the simulator where there is no rule,
 * to the bit; and against a slow reference that scans everything at every step.
 */
#include "test.h"

#include "base/rng.h"
#include "graph/graph.h"

#include <math.h>

enum { most_ops = 24, most_devices = 5 };

static void near(double is, double wanted)
{
    if (!(fabs(is - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.12g, not %.12g", is, wanted);
}

static double time_on(const char *spec, const sked_problem *p, uint64_t seed, const sked_schedule *s)
{
    sked_target *t = NULL;
    double time = NAN;
    OK(sked_target_create(spec, p, seed, &t, err));
    OK(measured_time(t, s, &time, err));
    sked_target_destroy(t);
    return time;
}

typedef struct edge {
    int32_t from, to;
    double bytes;
} edge;

static sked_graph *graph_of(const double *duration, int32_t n, const edge *edges, int32_t m)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < n; i++)
        OK(sked_builder_add_op(b, NULL, NULL, duration[i], NULL, err));
    for (int32_t k = 0; k < m; k++) {
        const sked_edge e = {edges[k].from, edges[k].to, SKED_LAG_DEFAULT, edges[k].bytes, 0};
        OK(sked_builder_add_edge(b, &e, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* Ops in the order of their numbers on these devices. */
static sked_schedule *schedule_on(const int32_t *device, int32_t n, int32_t devices)
{
    sked_schedule *s = NULL;
    OK(sked_schedule_create(n, devices, &s, err));
    for (int32_t i = 0; i < n; i++) {
        s->start[i] = i;
        s->device[i] = device[i];
    }
    return s;
}

/* ------------------------------------------------------------------ by hand */

/*
 * a and b (2 each, on devices 0 and 1) feed c and d (device 2), e (device 3). Latency 1, bandwidth 1.
 *   a -> c 4 bytes, a -> d 2 bytes, a -> e 4 bytes; b -> d 3 bytes.
 */
static void test_contention_by_hand(void **state)
{
    (void)state;
    static const double duration[] = {2, 3, 1, 1, 1};
    static const edge edges[] = {{0, 2, 4}, {0, 3, 2}, {0, 4, 4}, {1, 3, 3}};
    static const int32_t device[] = {0, 1, 2, 2, 3};
    sked_graph *g = graph_of(duration, 5, edges, 4);
    sked_schedule *s = schedule_on(device, 5, 4);
    sked_problem p;
    sked_target *t = NULL;
    sked_measurement m = {.size = sizeof m};
    sked_problem_init(&p, g);
    p.devices = 4;
    p.latency = 1;
    p.bandwidth = 1;
    /* No link is used twice: a's result goes to device 2 once, although c and d read it. */
    OK(sked_target_create("contention:trace=true", &p, 0, &t, err));
    OK(sked_target_measure(t, s, &m, err));
    near(m.start[2], 2 + 5);
    near(m.start[3], 8);
    near(m.start[4], 2 + 5);
    near(m.time, 9);
    sked_measurement_clear(&m);
    sked_target_destroy(t);
    /* The bus: to device 2 from 2 to 7, to device 3 from 7 to 12, then b's, which was ready at 3, to 16. */
    m.size = sizeof m;
    OK(sked_target_create("contention:bus=true,trace=true", &p, 0, &t, err));
    OK(sked_target_measure(t, s, &m, err));
    near(m.start[2], 7);
    near(m.start[4], 12);
    near(m.start[3], 16);
    near(m.time, 17);
    sked_measurement_clear(&m);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* Two results from device 0 to device 1: the second waits, although it could start earlier in the other
 * order. */
static void test_links_wait_in_order(void **state)
{
    (void)state;
    static const double duration[] = {1, 1, 1, 1};
    static const edge edges[] = {{0, 2, 10}, {1, 3, 1}};
    static const int32_t device[] = {0, 0, 1, 1}, back[] = {0, 1, 1, 0};
    sked_graph *g = graph_of(duration, 4, edges, 2);
    sked_schedule *s = schedule_on(device, 4, 2), *two_ways = schedule_on(back, 4, 2);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    p.bandwidth = 1;
    near(time_on("proxy", &p, 0, s), 1 + 10 + 2);
    near(time_on("contention", &p, 0, s), 1 + 10 + 1 + 1); /* op 3 gets its input at 12, when op 2 ends */
    s->start[2] = 5;                                       /* op 3 first */
    near(time_on("proxy", &p, 0, s), 1 + 10 + 1);
    near(time_on("contention", &p, 0, s), 1 + 10 + 1 + 2);
    near(time_on("contention", &p, 0, two_ways), 1 + 10 + 1); /* one link for each direction */
    near(time_on("contention:bus=true", &p, 0, two_ways), 1 + 10 + 1 + 1);
    sked_schedule_destroy(s);
    sked_schedule_destroy(two_ways);
    sked_graph_destroy(g);
}

/* Where transfers cost nothing, contention brings the costs of linear; in whatever order the parts come. */
static void test_contention_brings_costs(void **state)
{
    (void)state;
    static const double duration[] = {2, 4, 6};
    static const edge edges[] = {{0, 1, 10}, {0, 2, 30}};
    static const int32_t device[] = {0, 0, 1};
    sked_graph *g = graph_of(duration, 3, edges, 2);
    sked_schedule *s = schedule_on(device, 3, 2);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    near(time_on("contention", &p, 0, s), 2 + (2 * 1.5 + 1.5) * 4 + 6);
    near(time_on("linear+contention", &p, 0, s), 2 + (2 * 1.5 + 1.5) * 4 + 6);
    near(time_on("contention+latency:cost=1", &p, 0, s), 2 + 4 + 0.05 * 1.5 * 4 + 6);
    p.latency = 1;
    near(time_on("contention", &p, 0, s), 2 + 1 + 6);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void test_cache_by_hand(void **state)
{
    (void)state;
    static const double duration[] = {10, 10, 10, 10};
    static const edge edges[] = {{0, 1, 1}, {0, 2, 1}, {1, 3, 1}};
    static const int32_t one[] = {0, 0, 0, 0}, two[] = {0, 0, 1, 0};
    sked_graph *g = graph_of(duration, 4, edges, 3);
    sked_schedule *s = schedule_on(one, 4, 2), *other = schedule_on(two, 4, 2);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    near(time_on("cache", &p, 0, s), 10 + 7 + 10 + 10);        /* only 1 follows its maker at once */
    near(time_on("cache:depth=2", &p, 0, s), 10 + 7 + 7 + 7);  /* 2 after 0 and 1; 3 after 1 and 2 */
    near(time_on("cache:gain=0.5", &p, 0, other), 10 + 5 + 5); /* op 2 on the other device gains nothing */
    near(time_on("cache:gain=0.5+noisy:model=heavy,strength=0.1,outliers=1", &p, 0, other), 20 + 10 + 10);
    sked_schedule_destroy(s);
    sked_schedule_destroy(other);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ jitter */

static void test_jitter_repeats_by_seed(void **state)
{
    (void)state;
    static const double duration[] = {10, 20};
    static const int32_t device[] = {0, 1};
    sked_graph *g = graph_of(duration, 2, NULL, 0);
    sked_schedule *s = schedule_on(device, 2, 2);
    sked_problem p;
    sked_target *t[3] = {NULL};
    sked_problem_init(&p, g);
    p.devices = 2;
    for (int k = 0; k < 3; k++)
        OK(sked_target_create("jitter", &p, k == 2 ? 8 : 7, &t[k], err));
    double before = 0;
    for (int run = 0; run < 5; run++) {
        double time[3];
        for (int k = 0; k < 3; k++)
            OK(measured_time(t[k], s, &time[k], err));
        assert_true(time[0] == time[1]);
        assert_true(time[0] != time[2]);
        assert_true(time[0] != before);
        before = time[0];
    }
    for (int k = 0; k < 3; k++)
        sked_target_destroy(t[k]);
    assert_true(time_on("jitter:strength=0,run=0", &p, 3, s) == 20);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* Logarithms of the factors: of each op apart, and of the run for all of them at once. */
static void test_jitter_has_its_strength(void **state)
{
    (void)state;
    enum { runs = 2000 };
    static const double duration[] = {1, 1};
    static const int32_t device[] = {0, 1};
    sked_graph *g = graph_of(duration, 2, NULL, 0);
    sked_schedule *s = schedule_on(device, 2, 2);
    sked_problem p;
    sked_target *t = NULL;
    double common = 0, apart = 0, mean = 0;
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_target_create("jitter:strength=0.1,run=0.3,trace=true", &p, 1, &t, err));
    for (int k = 0; k < runs; k++) {
        sked_measurement m = {.size = sizeof m};
        OK(sked_target_measure(t, s, &m, err));
        const double a = log(m.finish[0]), b = log(m.finish[1]);
        mean += (a + b) / 2 / runs;
        common += (a + b) * (a + b) / 4 / runs; /* run^2 + strength^2 / 2 */
        apart += (a - b) * (a - b) / runs;      /* 2 strength^2 */
        sked_measurement_clear(&m);
    }
    sked_target_destroy(t);
    assert_true(fabs(mean) < 0.03);
    assert_true(fabs(sqrt(apart / 2) - 0.1) < 0.01);
    assert_true(fabs(sqrt(common - apart / 4) - 0.3) < 0.03);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ random problems */

typedef struct instance {
    sked_problem problem;
    sked_graph *graph;
    sked_machine *machine; /* NULL: equal devices */
    sked_schedule *schedule;
} instance;

/* Small whole numbers, so that many events fall together; zero durations, lags of every kind, carried edges.
 */
static sked_graph *random_graph(sked_i_rng *r, int32_t n)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < n; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, (double)sked_i_rng_below(r, 6), NULL, err));
        if (sked_i_rng_below(r, 4) == 0)
            OK(sked_builder_add_duration(b, i, "d1", (double)sked_i_rng_below(r, 9), err));
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = i + 1; k < n; k++) {
            if (sked_i_rng_below(r, 5) > 0)
                continue;
            sked_edge e = {i, k, SKED_LAG_DEFAULT, (double)sked_i_rng_below(r, 5), 0};
            if (sked_i_rng_below(r, 6) == 0)
                e.lag = (double)sked_i_rng_below(r, 8) - 2;
            if (sked_i_rng_below(r, 10) == 0)
                e.distance = 1;
            OK(sked_builder_add_edge(b, &e, err));
        }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static sked_machine *random_machine(sked_i_rng *r, int32_t devices)
{
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    OK(sked_machine_builder_create(NULL, &b, err));
    OK(sked_machine_builder_set_link(b, (double)sked_i_rng_below(r, 3), 1 + (double)sked_i_rng_below(r, 3),
                                     err));
    for (int32_t d = 0; d < devices; d++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", (int)d);
        OK(sked_machine_builder_add_device(b, name, NULL, 1 + (double)sked_i_rng_below(r, 2), INFINITY, NULL,
                                           err));
    }
    if (devices > 1)
        OK(sked_machine_builder_add_link(b, "d0", "d1", 3, 0.5, sked_i_rng_below(r, 2) == 0, err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    return m;
}

/* Devices at random, ops in a random topological order. */
static sked_schedule *random_schedule(sked_i_rng *r, const sked_graph *g, int32_t devices)
{
    sked_schedule *s = NULL;
    bool done[most_ops] = {false};
    OK(sked_schedule_create(g->n_ops, devices, &s, err));
    for (int32_t k = 0; k < g->n_ops;) {
        const int32_t i = (int32_t)sked_i_rng_below(r, (uint64_t)g->n_ops);
        bool ready = !done[i];
        for (int64_t e = 0; e < g->n_edges; e++)
            ready = ready && (g->edge_to[e] != i || g->edge_distance[e] > 0 || done[g->edge_from[e]]);
        if (!ready)
            continue;
        done[i] = true;
        s->start[i] = k++;
        s->device[i] = (int32_t)sked_i_rng_below(r, (uint64_t)devices);
    }
    return s;
}

static void open_instance(uint64_t seed, instance *x)
{
    sked_i_rng r;
    sked_i_rng_seed(&r, seed, 1);
    const int32_t n = 2 + (int32_t)sked_i_rng_below(&r, most_ops - 1);
    const int32_t devices = 1 + (int32_t)sked_i_rng_below(&r, most_devices);
    *x = (instance){.graph = random_graph(&r, n)};
    sked_problem_init(&x->problem, x->graph);
    x->problem.devices = devices;
    if (sked_i_rng_below(&r, 2) == 0) {
        x->problem.machine = x->machine = random_machine(&r, devices);
    } else {
        x->problem.latency = (double)sked_i_rng_below(&r, 3);
        x->problem.bandwidth = 1 + (double)sked_i_rng_below(&r, 2);
    }
    x->schedule = random_schedule(&r, x->graph, devices);
}

static void close_instance(instance *x)
{
    sked_schedule_destroy(x->schedule);
    sked_machine_destroy(x->machine);
    sked_graph_destroy(x->graph);
}

/* The replay without a rule is the simulator, whatever way leads to it. */
static void test_without_rules_it_is_the_simulator(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++) {
        instance x;
        sked_simulator *sim = NULL;
        sked_target *t = NULL;
        sked_measurement m = {.size = sizeof m};
        int32_t order[most_ops];
        double makespan, start[most_ops];
        open_instance(seed, &x);
        const int32_t n = x.graph->n_ops;
        for (int32_t i = 0; i < n; i++)
            order[(int32_t)x.schedule->start[i]] = i;
        OK(sked_simulator_create(&x.problem, &sim, err));
        sked_simulator_run(sim, 1, x.schedule->device, order, true, &makespan, start);
        OK(sked_target_create("cache:gain=0,trace=true+jitter:strength=0,run=0", &x.problem, 0, &t, err));
        OK(sked_target_measure(t, x.schedule, &m, err));
        assert_true(m.time == makespan);
        assert_memory_equal(m.start, start, (size_t)n * sizeof *start);
        assert_true(time_on("proxy", &x.problem, 0, x.schedule) == makespan);
        sked_measurement_clear(&m);
        sked_target_destroy(t);
        sked_simulator_destroy(sim);
        close_instance(&x);
    }
}

/* ------------------------------------------------------------------ a slow reference */

typedef struct reference {
    const instance *x;
    bool bus;
    int depth;
    double gain;
    double start[most_ops], finish[most_ops]; /* NAN: not known yet */
    double arrival[most_ops][most_devices];   /* of the result of an op on a device; NAN: not yet */
    double busy[most_devices][most_devices];
} reference;

/* The op before i on its device; -1: none. */
static int32_t before(const reference *f, int32_t i)
{
    const sked_schedule *s = f->x->schedule;
    int32_t best = -1;
    for (int32_t k = 0; k < s->ops; k++)
        if (s->device[k] == s->device[i] && s->start[k] < s->start[i] &&
            (best < 0 || s->start[k] > s->start[best]))
            best = k;
    return best;
}

static bool joins(const reference *f, int64_t e, int32_t from, int32_t to)
{
    const sked_graph *g = f->x->graph;
    return g->edge_from[e] == from && g->edge_to[e] == to && g->edge_distance[e] == 0;
}

static double reference_time(const reference *f, int32_t i)
{
    const sked_graph *g = f->x->graph;
    const double time = sked_problem_duration(&f->x->problem, i, f->x->schedule->device[i]);
    int32_t k = i;
    for (int step = 0; step < f->depth && (k = before(f, k)) >= 0; step++)
        for (int64_t e = 0; e < g->n_edges; e++)
            if (joins(f, e, k, i))
                return time * (1 - f->gain);
    return time;
}

static double reference_lag(const reference *f, int64_t e)
{
    const sked_graph *g = f->x->graph;
    return g->edge_lag_given[e] ? g->edge_lag[e] : reference_time(f, g->edge_from[e]);
}

/* When op i may start; NAN: not known yet. */
static double reference_start(const reference *f, int32_t i)
{
    const sked_graph *g = f->x->graph;
    const int32_t *device = f->x->schedule->device;
    const int32_t k = before(f, i);
    double start = k >= 0 ? f->finish[k] : 0;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e];
        if (g->edge_to[e] != i || g->edge_distance[e] > 0)
            continue;
        const double there =
            device[from] == device[i] ? f->start[from] + reference_lag(f, e) : f->arrival[from][device[i]];
        start = isnan(there) || isnan(start) ? NAN : fmax(start, there);
    }
    return start;
}

/* The result of an op for one device: when it is ready and how long it travels. false: nothing to send. */
static bool reference_copy(const reference *f, int32_t op, int32_t to, int64_t *first, double *ready,
                           double *time)
{
    const sked_graph *g = f->x->graph;
    const int32_t *device = f->x->schedule->device;
    *first = -1;
    *time = 0;
    *ready = f->start[op];
    for (int64_t e = g->n_edges - 1; e >= 0; e--)
        if (g->edge_from[e] == op && g->edge_distance[e] == 0 && device[g->edge_to[e]] == to) {
            *first = e;
            *ready = fmax(*ready, f->start[op] + reference_lag(f, e));
            *time = fmax(*time, sked_problem_transfer(&f->x->problem, e, device[op], to));
        }
    return *first >= 0 && to != device[op] && !isnan(f->start[op]) && isnan(f->arrival[op][to]);
}

/* Sends the copy that is ready first; free ones at once. false: there is none. */
static bool send_one(reference *f)
{
    const int32_t *device = f->x->schedule->device;
    int32_t best = -1, best_to = -1;
    int64_t best_edge = 0;
    double best_ready = INFINITY, best_time = 0;
    for (int32_t i = 0; i < f->x->graph->n_ops; i++)
        for (int32_t to = 0; to < f->x->problem.devices; to++) {
            int64_t first;
            double ready, time;
            if (!reference_copy(f, i, to, &first, &ready, &time))
                continue;
            if (time == 0)
                return f->arrival[i][to] = ready, true;
            if (ready < best_ready || (ready == best_ready && first < best_edge)) {
                best = i, best_to = to, best_edge = first;
                best_ready = ready, best_time = time;
            }
        }
    if (best < 0)
        return false;
    double *const busy = f->bus ? &f->busy[0][0] : &f->busy[device[best]][best_to];
    *busy = fmax(*busy, best_ready) + best_time;
    f->arrival[best][best_to] = *busy;
    return true;
}

static double reference_run(reference *f)
{
    const int32_t n = f->x->graph->n_ops;
    double latest = 0;
    for (int32_t i = 0; i < most_ops; i++) {
        f->start[i] = f->finish[i] = NAN;
        for (int32_t d = 0; d < most_devices; d++)
            f->arrival[i][d] = NAN;
    }
    memset(f->busy, 0, sizeof f->busy);
    for (bool more = true; more;) {
        more = false;
        for (int32_t i = 0; i < n; i++) {
            const double start = isnan(f->start[i]) ? reference_start(f, i) : NAN;
            if (isnan(start))
                continue;
            f->start[i] = start;
            f->finish[i] = start + reference_time(f, i);
            more = true;
        }
        more = more || send_one(f);
    }
    for (int32_t i = 0; i < n; i++)
        latest = fmax(latest, f->finish[i]);
    return latest;
}

static void test_against_the_reference(void **state)
{
    (void)state;
    int waited = 0;
    for (uint64_t seed = 0; seed < 800; seed++) {
        instance x;
        char spec[100];
        sked_target *t = NULL;
        sked_measurement m = {.size = sizeof m};
        open_instance(seed, &x);
        x.problem.latency += x.machine == NULL; /* some cost, so that contention brings none */
        reference f = {.x = &x, .bus = seed % 2, .depth = (int)(seed / 2 % 4), .gain = 0.25};
        snprintf(spec, sizeof spec, "contention:trace=true,bus=%s%s%.0d", f.bus ? "true" : "false",
                 f.depth > 0 ? "+cache:gain=0.25,depth=" : "", f.depth);
        const double time = reference_run(&f);
        OK(sked_target_create(spec, &x.problem, 0, &t, err));
        OK(sked_target_measure(t, x.schedule, &m, err));
        for (int32_t i = 0; i < x.graph->n_ops; i++)
            if (m.start[i] != f.start[i] || m.finish[i] != f.finish[i])
                fail_msg("seed %d, %s, op %d: %g to %g, not %g to %g", (int)seed, spec, (int)i, m.start[i],
                         m.finish[i], f.start[i], f.finish[i]);
        assert_true(m.time == time);
        waited += f.depth == 0 && time > time_on("proxy", &x.problem, 0, x.schedule);
        sked_measurement_clear(&m);
        sked_target_destroy(t);
        close_instance(&x);
    }
    assert_true(waited > 40); /* contention matters in many of them */
}

/* ------------------------------------------------------------------ schedules that cannot be */

static void test_impossible_schedules(void **state)
{
    (void)state;
    static const double duration[] = {1, 1};
    static const edge edges[] = {{0, 1, 1}};
    static const int32_t same[] = {0, 0}, apart[] = {0, 1};
    sked_graph *g = graph_of(duration, 2, edges, 1);
    sked_schedule *s = schedule_on(same, 2, 2), *far = schedule_on(apart, 2, 2);
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    sked_problem p;
    sked_target *t = NULL;
    double time = -1;
    sked_problem_init(&p, g);
    p.devices = 2;
    s->start[0] = 5; /* the consumer first, on the same device */
    OK(sked_target_create("contention", &p, 0, &t, err));
    FAILS(SKED_ERR_INVALID, "contradict the graph", measured_time(t, s, &time, err));
    s->device[1] = 2;
    FAILS(SKED_ERR_INVALID, "no start or no device", measured_time(t, s, &time, err));
    sked_target_destroy(t);
    OK(sked_machine_builder_create(NULL, &b, err));
    OK(sked_machine_builder_add_device(b, "x", NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_add_device(b, "y", NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    p.machine = m; /* no link */
    OK(sked_target_create("proxy", &p, 0, &t, err));
    FAILS(SKED_ERR_INVALID, "does not end", measured_time(t, far, &time, err));
    sked_target_destroy(t);
    assert_true(time == -1);
    sked_machine_destroy(m);
    sked_schedule_destroy(s);
    sked_schedule_destroy(far);
    sked_graph_destroy(g);
}

/* Without bytes and with a pair that has no link, each transfer is a mean one, and none needs that link. */
static void test_costs_on_missing_links(void **state)
{
    (void)state;
    static const double duration[] = {4, 4, 4};
    static const edge edges[] = {{0, 1, 0}, {0, 2, 0}};
    static const int32_t device[] = {0, 1, 2};
    static const char *const name[] = {"x", "y", "z"};
    sked_graph *g = graph_of(duration, 3, edges, 2);
    sked_schedule *s = schedule_on(device, 3, 3);
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    sked_problem p;
    sked_target *t = NULL;
    double latency, bandwidth;
    OK(sked_machine_builder_create("three", &b, err));
    for (int d = 0; d < 3; d++)
        OK(sked_machine_builder_add_device(b, name[d], d == 2 ? "gpu" : NULL, 1, 64, NULL, err));
    OK(sked_machine_builder_add_link(b, "x", "y", 1, 2, true, err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    sked_problem_init(&p, g);
    p.machine = m;
    near(time_on("linear", &p, 0, s), 4 + 1 + 3.5 * 4 + 4);
    OK(sked_target_create("latency:cost=2", &p, 0, &t, err));
    const sked_machine *changed = sked_target_truth(t)->machine;
    assert_string_equal(sked_machine_name(changed), "three");
    assert_string_equal(sked_machine_device_name(changed, 2), "z");
    assert_string_equal(sked_machine_device_type(changed, 2), "gpu");
    assert_true(sked_machine_device_memory(changed, 0) == 64);
    assert_true(sked_machine_link(changed, 0, 1, &latency, &bandwidth));
    near(latency, 1 + 2.1 * 4);
    near(bandwidth, 2);
    assert_false(sked_machine_link(changed, 1, 0, &latency, &bandwidth));
    sked_target_destroy(t);
    sked_machine_destroy(m);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contention_by_hand),
        cmocka_unit_test(test_links_wait_in_order),
        cmocka_unit_test(test_contention_brings_costs),
        cmocka_unit_test(test_cache_by_hand),
        cmocka_unit_test(test_jitter_repeats_by_seed),
        cmocka_unit_test(test_jitter_has_its_strength),
        cmocka_unit_test(test_without_rules_it_is_the_simulator),
        cmocka_unit_test(test_against_the_reference),
        cmocka_unit_test(test_impossible_schedules),
        cmocka_unit_test(test_costs_on_missing_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
