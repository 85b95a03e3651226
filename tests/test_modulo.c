/* Modulo scheduling: bounds, both methods, against brute force on tiny loops. */
#include "test.h"

#include "base/rng.h"
#include "method/modulo/modulo_method.h"
#include "schedule/schedule.h"

#include <math.h>

/* ------------------------------------------------------------------ small loops */

enum { max_ops = 64 };

typedef struct loop_edge {
    int from, to, lag, distance;
} loop_edge;

/* A loop as plain numbers, so that the brute force shares nothing with the library. */
typedef struct tiny {
    int n, m, resources, devices;
    int duration[max_ops], capacity[4], demand[max_ops][4];
    loop_edge edge[4 * max_ops];
} tiny;

static int below(sked_i_rng *rng, int n)
{
    return (int)sked_i_rng_below(rng, (uint64_t)n);
}

/* Edges of distance 0 go upwards, carried ones anywhere. */
static tiny random_loop(sked_i_rng *rng, int n, int resources, int devices, int longest)
{
    tiny t = {.n = n, .resources = resources, .devices = devices};
    for (int r = 0; r < resources; r++)
        t.capacity[r] = 1 + below(rng, 3);
    for (int i = 0; i < n; i++) {
        t.duration[i] = below(rng, longest + 1);
        for (int r = 0; r < resources; r++)
            t.demand[i][r] = below(rng, 2) ? 1 + below(rng, t.capacity[r]) : 0;
    }
    const int edges = below(rng, 2 * n);
    for (int k = 0; k < edges; k++) {
        const int a = below(rng, n), b = below(rng, n);
        const bool carried = a >= b || below(rng, 5) == 0;
        t.edge[t.m++] = (loop_edge){a, b, below(rng, 5), carried ? 1 + below(rng, 2) : 0};
    }
    return t;
}

static sked_graph *build(const tiny *t)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    char name[20];
    int32_t id;
    OK(sked_builder_create(&b, err));
    for (int r = 0; r < t->resources; r++) {
        snprintf(name, sizeof name, "r%d", r);
        OK(sked_builder_add_resource(b, name, t->capacity[r], &id, err));
    }
    for (int i = 0; i < t->n; i++) {
        snprintf(name, sizeof name, "op%d", i);
        OK(sked_builder_add_op(b, name, NULL, t->duration[i], &id, err));
        for (int r = 0; r < t->resources; r++)
            if (t->demand[i][r] > 0)
                OK(sked_builder_add_demand(b, id, r, t->demand[i][r], err));
    }
    for (int k = 0; k < t->m; k++) {
        const sked_edge e = {t->edge[k].from, t->edge[k].to, t->edge[k].lag, 0, t->edge[k].distance};
        OK(sked_builder_add_edge(b, &e, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static sked_problem problem_of(const tiny *t, const sked_graph *g)
{
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = t->devices;
    p.objective = SKED_OBJECTIVE_II;
    p.ii = SKED_II_AUTO;
    return p;
}

static sked_run_options quick(void)
{
    sked_run_options o;
    sked_run_options_init(&o);
    o.time_limit = 20;
    return o;
}

/* ------------------------------------------------------------------ brute force */

typedef struct brute {
    const tiny *t;
    int ii, residue[max_ops], device[max_ops];
    int load[4][64], busy[4][64];
    long best; /* length, LONG_MAX-like: none */
} brute;

/* Adds op i at its residue; false where a pool overflows. */
static bool change_load(brute *b, int i, int sign)
{
    const tiny *t = b->t;
    bool fits = true;
    for (int d = 0; d < t->duration[i]; d++) {
        const int cell = (b->residue[i] + d) % b->ii;
        for (int r = 0; r < t->resources; r++) {
            b->load[r][cell] += sign * t->demand[i][r];
            fits = fits && b->load[r][cell] <= t->capacity[r];
        }
        if (t->devices > 0) {
            b->busy[b->device[i]][cell] += sign;
            fits = fits && b->busy[b->device[i]][cell] <= 1;
        }
    }
    return fits;
}

/* Least starts with these residues; the length, or -1 where a recurrence never settles. */
static long least_length(const brute *b)
{
    const tiny *t = b->t;
    long start[max_ops], length = 0;
    for (int i = 0; i < t->n; i++)
        start[i] = b->residue[i];
    bool moved = true;
    for (int round = 0; moved; round++) {
        if (round > t->n)
            return -1;
        moved = false;
        for (int k = 0; k < t->m; k++) {
            const loop_edge *e = &t->edge[k];
            while (start[e->to] < start[e->from] + e->lag - (long)e->distance * b->ii) {
                if (e->from == e->to)
                    return -1;
                start[e->to] += b->ii;
                moved = true;
            }
        }
    }
    for (int i = 0; i < t->n; i++)
        length = start[i] + t->duration[i] > length ? start[i] + t->duration[i] : length;
    return length;
}

static void enumerate(brute *b, int i)
{
    if (i == b->t->n) {
        const long length = least_length(b);
        if (length >= 0 && length < b->best)
            b->best = length;
        return;
    }
    const int devices = b->t->devices > 0 ? b->t->devices : 1;
    for (b->device[i] = 0; b->device[i] < devices; b->device[i]++)
        for (b->residue[i] = 0; b->residue[i] < b->ii; b->residue[i]++) {
            if (change_load(b, i, 1))
                enumerate(b, i + 1);
            change_load(b, i, -1);
        }
}

enum { no_length = 1000000 };

static long brute_length(const tiny *t, int ii)
{
    brute b = {.t = t, .ii = ii, .best = no_length};
    enumerate(&b, 0);
    return b.best;
}

/* ------------------------------------------------------------------ methods against brute force */

static void compare(const tiny *t, int limit, bool want_proof)
{
    sked_graph *g = build(t);
    sked_problem p = problem_of(t, g);
    sked_run_options o = quick();
    sked_result found = {.size = sizeof found}, listed = {.size = sizeof listed};
    double bound;
    OK(sked_problem_bound(&p, &bound, NULL, err));
    OK(sked_method_run("modulo-search", &p, &o, &found, err));
    OK(sked_method_run("modulo-list", &p, &o, &listed, err));
    assert_true(listed.value >= found.value);
    long best = no_length;
    int ii = 1;
    while (ii <= limit && (best = brute_length(t, ii)) == no_length)
        ii++;
    if (ii <= limit) {
        assert_true(bound <= ii);
        assert_true(found.lower_bound <= ii);
        assert_int_equal((long)found.value, ii);
        assert_int_equal((long)sked_i_schedule_makespan(g, found.schedule[0]), best);
        if (want_proof)
            assert_true(found.optimal);
    } else {
        assert_true(found.value > limit);
    }
    sked_result_clear(&found);
    sked_result_clear(&listed);
    sked_graph_destroy(g);
}

static void test_brute_force(void **state)
{
    (void)state;
    for (int k = 0; k < CASES(400); k++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 1000 + (uint64_t)k, 0);
        const tiny t = random_loop(&rng, 1 + below(&rng, 5), below(&rng, 3), 0, 3);
        compare(&t, 8, true);
    }
}

static void test_brute_force_unit_times(void **state)
{
    (void)state;
    for (int k = 0; k < CASES(200); k++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 2000 + (uint64_t)k, 0);
        const tiny t = random_loop(&rng, 6, 1 + below(&rng, 2), 0, 1);
        compare(&t, 6, true);
    }
}

static void test_brute_force_devices(void **state)
{
    (void)state;
    for (int k = 0; k < CASES(200); k++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 3000 + (uint64_t)k, 0);
        const tiny t = random_loop(&rng, 1 + below(&rng, 4), below(&rng, 2), 1 + below(&rng, 2), 3);
        compare(&t, 7, false);
    }
}

/* The shortest schedule at every interval that fits, and a refusal at those that do not. */
static void test_given_interval(void **state)
{
    (void)state;
    for (int k = 0; k < CASES(150); k++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 4000 + (uint64_t)k, 0);
        const tiny t = random_loop(&rng, 1 + below(&rng, 4), 1 + below(&rng, 2), 0, 3);
        sked_graph *g = build(&t);
        sked_run_options o = quick();
        for (int ii = 1; ii <= 6; ii++) {
            sked_problem p = problem_of(&t, g);
            p.objective = k % 2 ? SKED_OBJECTIVE_MAKESPAN : SKED_OBJECTIVE_II;
            p.ii = ii;
            const long best = brute_length(&t, ii);
            sked_result r = {.size = sizeof r};
            sked_error e = {0};
            const sked_status st = sked_method_run("modulo-search", &p, &o, &r, &e);
            if (best == no_length) {
                assert_int_equal(st, SKED_ERR_INFEASIBLE);
                assert_true(strstr(e.message, "interval") != NULL);
                continue;
            }
            if (st != SKED_OK)
                fail_msg("loop %d at II %d: %s", k, ii, e.message);
            assert_int_equal((long)sked_i_schedule_makespan(g, r.schedule[0]), best);
            assert_int_equal((long)r.schedule[0]->ii, ii);
            assert_true(r.optimal);
            sked_result_clear(&r);
        }
        sked_graph_destroy(g);
    }
}

/* ------------------------------------------------------------------ bounds */

/* Is some cycle longer than ii allows? Plain Bellman-Ford. */
static bool recurrence_breaks(const tiny *t, int ii)
{
    long at[max_ops] = {0};
    for (int round = 0; round <= t->n; round++) {
        bool moved = false;
        for (int k = 0; k < t->m; k++) {
            const loop_edge *e = &t->edge[k];
            const long to = at[e->from] + e->lag - (long)e->distance * ii;
            if (to > at[e->to]) {
                at[e->to] = to;
                moved = true;
            }
        }
        if (!moved)
            return false;
    }
    return true;
}

/* The recurrence named really is one, and its sums are right. */
static void check_cycle(const tiny *t, const sked_i_min_ii *m)
{
    double lag = 0;
    assert_true(m->cycle_length > 0 && m->cycle_length <= t->n);
    if (m->cycle_length > SKED_I_CYCLE_SHOWN)
        return;
    for (int k = 0; k < m->cycle_length; k++) {
        int best = -1;
        for (int e = 0; e < t->m; e++)
            if (t->edge[e].from == m->cycle[k] && t->edge[e].to == m->cycle[(k + 1) % m->cycle_length])
                best = t->edge[e].lag > best ? t->edge[e].lag : best;
        assert_true(best >= 0);
        lag += best;
    }
    assert_true(m->cycle_lag <= lag);
    assert_int_equal((long)ceil(m->cycle_lag / m->cycle_distance), (long)m->recurrence);
}

static void test_recurrence_bound(void **state)
{
    (void)state;
    for (int k = 0; k < CASES(500); k++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 5000 + (uint64_t)k, 0);
        const tiny t = random_loop(&rng, 1 + below(&rng, 30), 0, 0, 5);
        sked_graph *g = build(&t);
        const sked_problem p = problem_of(&t, g);
        sked_i_min_ii m;
        int ii = 0;
        OK(sked_i_problem_min_ii(&p, &m, err));
        while (recurrence_breaks(&t, ii))
            ii++;
        assert_int_equal((long)m.recurrence, ii);
        if (ii > 0)
            check_cycle(&t, &m);
        sked_graph_destroy(g);
    }
}

static void test_resource_bound(void **state)
{
    (void)state;
    tiny t = {.n = 3, .resources = 1, .capacity = {3}, .duration = {4, 4, 4}};
    for (int i = 0; i < 3; i++)
        t.demand[i][0] = 2; /* two never run together: 12, though the area is only 8 */
    sked_graph *g = build(&t);
    sked_problem p = problem_of(&t, g);
    sked_i_min_ii m;
    OK(sked_i_problem_min_ii(&p, &m, err));
    assert_int_equal((long)m.resource, 12);
    sked_graph_destroy(g);

    t = (tiny){.n = 1, .resources = 1, .capacity = {5}, .duration = {10}};
    t.demand[0][0] = 2; /* holds longer than an interval: meets itself at most once */
    g = build(&t);
    p = problem_of(&t, g);
    OK(sked_i_problem_min_ii(&p, &m, err));
    assert_int_equal((long)m.resource, 5);
    sked_graph_destroy(g);

    t = (tiny){.n = 3, .devices = 2, .duration = {3, 3, 3}};
    g = build(&t);
    p = problem_of(&t, g);
    OK(sked_i_problem_min_ii(&p, &m, err));
    assert_int_equal((long)m.resource, 6); /* one of two devices runs two of the three */
    sked_graph_destroy(g);
}

static void test_infeasible_reasons(void **state)
{
    (void)state;
    tiny t = {.n = 2, .m = 2, .resources = 1, .capacity = {1}, .duration = {2, 3}};
    t.edge[0] = (loop_edge){0, 1, 4, 0};
    t.edge[1] = (loop_edge){1, 0, 5, 2};
    t.demand[0][0] = t.demand[1][0] = 1;
    sked_graph *g = build(&t);
    sked_problem p = problem_of(&t, g);
    sked_result r = {.size = sizeof r};
    sked_run_options o = quick();
    p.ii = 4;
    FAILS(SKED_ERR_INFEASIBLE, "op0 -> op1 -> op0", sked_method_run("modulo-list", &p, &o, &r, err));
    FAILS(SKED_ERR_INFEASIBLE, "an interval of 5 would", sked_method_run("modulo-search", &p, &o, &r, err));
    sked_graph_destroy(g);
    t.m = 0;
    g = build(&t);
    p.graph = g;
    FAILS(SKED_ERR_INFEASIBLE, "resource 'r0'", sked_method_run("modulo-search", &p, &o, &r, err));
    sked_graph_destroy(g);
}

/* Bounds alone admit the interval, the search refutes it: the message must say so. */
static void test_refuted_interval(void **state)
{
    (void)state;
    /* Both ops must start a whole interval apart, but share a unit. */
    tiny t = {.n = 2, .m = 2, .resources = 1, .capacity = {1}, .duration = {1, 1}};
    t.edge[0] = (loop_edge){0, 1, 4, 0};
    t.edge[1] = (loop_edge){1, 0, 4, 2};
    t.demand[0][0] = t.demand[1][0] = 1;
    sked_graph *g = build(&t);
    sked_problem p = problem_of(&t, g);
    sked_result r = {.size = sizeof r};
    sked_run_options o = quick();
    p.ii = 4;
    FAILS(SKED_ERR_INFEASIBLE, "proved", sked_method_run("modulo-search", &p, &o, &r, err));
    p.ii = SKED_II_AUTO;
    OK(sked_method_run("modulo-search", &p, &o, &r, err));
    assert_int_equal((long)r.value, 5);
    assert_int_equal((long)r.lower_bound, 5);
    assert_true(r.optimal);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ special shapes */

static void both_reach(const tiny *t, double ii, double length)
{
    sked_graph *g = build(t);
    sked_problem p = problem_of(t, g);
    const char *const methods[] = {"modulo-list", "modulo-search"};
    for (int k = 0; k < 2; k++) {
        sked_result r = {.size = sizeof r};
        sked_run_options o = quick();
        OK(sked_method_run(methods[k], &p, &o, &r, err));
        assert_true(r.value == ii);
        assert_true(sked_i_schedule_makespan(g, r.schedule[0]) == length);
        assert_true(r.schedule[0]->ii == ii);
        sked_result_clear(&r);
    }
    sked_graph_destroy(g);
}

static void test_shapes(void **state)
{
    (void)state;
    tiny none = {0};
    both_reach(&none, 1, 0);
    tiny one = {.n = 1, .resources = 1, .capacity = {1}, .duration = {3}, .demand = {{1}}};
    both_reach(&one, 3, 3);
    one.m = 1; /* a recurrence on itself */
    one.edge[0] = (loop_edge){0, 0, 7, 2};
    both_reach(&one, 4, 3);
    tiny zero = {.n = 3, .m = 2, .resources = 1, .capacity = {1}, .demand = {{1}, {1}, {1}}};
    zero.edge[0] = (loop_edge){0, 1, 2, 0};
    zero.edge[1] = (loop_edge){1, 2, 0, 0};
    both_reach(&zero, 1, 2); /* ops without a duration hold nothing */
    tiny apart = {.n = 4, .resources = 1, .capacity = {2}, .duration = {2, 2, 2, 2}};
    for (int i = 0; i < 4; i++)
        apart.demand[i][0] = 1;
    both_reach(&apart, 4, 4);
    tiny overlap = {.n = 1, .resources = 1, .capacity = {3}, .duration = {7}, .demand = {{1}}};
    both_reach(&overlap, 3, 7); /* three iterations at once */
    tiny two = {.n = 4, .devices = 2, .duration = {2, 2, 2, 2}};
    both_reach(&two, 4, 4);
}

static void test_real_times(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_result r = {.size = sizeof r};
    int32_t id;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_op(b, "a", NULL, 1.5, &id, err));
    OK(sked_builder_finish(b, &g, err));
    sked_problem p;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_II;
    FAILS(SKED_ERR_UNSUPPORTED, "op 'a' takes 1.5", sked_method_run("modulo-list", &p, NULL, &r, err));
    sked_graph_destroy(g);
    sked_builder_destroy(b);
}

/* Demands that are no integers fill a pool exactly. */
static void test_real_demands(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_result r = {.size = sizeof r};
    int32_t id, pool;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "pool", 1, &pool, err));
    for (int i = 0; i < 20; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 2, &id, err));
        OK(sked_builder_add_demand(b, id, pool, 0.1, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_problem p;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_II;
    OK(sked_method_run("modulo-search", &p, NULL, &r, err));
    assert_true(r.value == 4);
    assert_true(r.optimal);
    sked_result_clear(&r);
    sked_graph_destroy(g);
    sked_builder_destroy(b);
}

/* ------------------------------------------------------------------ larger loops */

static void test_random_loops_validate(void **state)
{
    (void)state;
    const char *const methods[] = {"modulo-list", "modulo-search"};
    for (int k = 0; k < CASES(60); k++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 6000 + (uint64_t)k, 0);
        const tiny t = random_loop(&rng, 10 + below(&rng, 50), below(&rng, 4), below(&rng, 4), 6);
        sked_graph *g = build(&t);
        sked_problem p = problem_of(&t, g);
        if (k % 3 == 0) {
            p.latency = 1 + k % 2;
        }
        double value[2];
        for (int m = 0; m < 2; m++) {
            sked_run_options o = quick();
            sked_result r = {.size = sizeof r};
            o.time_limit = INFINITY;
            o.iterations = 60;
            OK(sked_method_run(methods[m], &p, &o, &r, err));
            value[m] = r.value;
            assert_true(r.value >= r.lower_bound);
            sked_result_clear(&r);
        }
        assert_true(value[1] <= value[0]);
        sked_graph_destroy(g);
    }
}

/* Not pipelined, other objectives, horizon, fixed decisions: every schedule passes the judge. */
static void test_other_problems(void **state)
{
    (void)state;
    for (int k = 0; k < CASES(40); k++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 7000 + (uint64_t)k, 0);
        const tiny t = random_loop(&rng, 5 + below(&rng, 15), 1 + below(&rng, 2), k % 3, 4);
        sked_graph *g = build(&t);
        sked_problem p = problem_of(&t, g);
        sked_run_options o = quick();
        sked_result r = {.size = sizeof r}, again = {.size = sizeof again};
        o.iterations = 50;
        o.time_limit = INFINITY;
        p.ii = 0;
        p.objective = SKED_OBJECTIVE_MAKESPAN;
        OK(sked_method_run("modulo-list", &p, &o, &r, err));
        assert_true(r.schedule[0]->ii == 0);
        sked_result_clear(&r);
        p.ii = SKED_II_AUTO;
        p.objective = SKED_OBJECTIVE_MEMORY;
        OK(sked_method_run("modulo-list", &p, &o, &r, err));
        sked_result_clear(&r);
        p.objective = SKED_OBJECTIVE_II;
        OK(sked_method_run("modulo-search", &p, &o, &r, err));
        p.horizon = sked_i_schedule_makespan(g, r.schedule[0]);
        p.ii = r.value;
        double fixed[max_ops];
        int32_t device[max_ops];
        for (int i = 0; i < t.n; i++) {
            fixed[i] = i % 3 == 0 ? r.schedule[0]->start[i] : NAN;
            device[i] = p.devices > 0 && i % 4 == 0 ? r.schedule[0]->device[i] : -1;
        }
        p.fix_start = fixed;
        p.fix_device = p.devices > 0 ? device : NULL;
        o.start = r.schedule[0];
        OK(sked_method_run("modulo-search", &p, &o, &again, err));
        sked_result_clear(&again);
        sked_result_clear(&r);
        sked_graph_destroy(g);
    }
}

static void test_same_result(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 8000, 0);
    const tiny t = random_loop(&rng, 40, 3, 0, 4);
    sked_graph *g = build(&t);
    const sked_problem p = problem_of(&t, g);
    const char *const methods[] = {"modulo-list", "modulo-search"};
    for (int k = 0; k < 6; k++) {
        sked_result r[2] = {{.size = sizeof *r}, {.size = sizeof *r}};
        for (int twice = 0; twice < 2; twice++) {
            sked_run_options o = quick();
            o.time_limit = INFINITY;
            o.iterations = 100;
            o.seed = 7;
            o.threads = 1 + k / 2;
            OK(sked_method_run(methods[k % 2], &p, &o, &r[twice], err));
        }
        assert_true(r[1].value == r[0].value);
        assert_memory_equal(r[1].schedule[0]->start, r[0].schedule[0]->start, (size_t)t.n * sizeof(double));
        for (int twice = 0; twice < 2; twice++)
            sked_result_clear(&r[twice]);
    }
    sked_graph_destroy(g);
}

/* Below the interval a recurrence needs, windows would grow without end: refused at once. */
static void test_windows_below_the_bound(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    sked_i_loop *loop = NULL;
    sked_i_frame *frame = NULL;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 2; i++) {
        const sked_edge edge = {.from = i, .to = 1 - i, .lag = 3, .distance = i};
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        OK(sked_builder_add_edge(b, &edge, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_II;
    p.ii = SKED_II_AUTO;
    OK(sked_i_loop_create(&p, &loop, err));
    OK(sked_i_frame_create(loop, &frame, err));
    for (int ii = 1; ii <= 7; ii++)
        assert_true(sked_i_frame_set(loop, frame, ii, SKED_I_FAR) == (ii >= 6));
    sked_i_frame_destroy(frame);
    sked_i_loop_destroy(loop);
    sked_graph_destroy(g);
    sked_builder_destroy(b);
}

static void test_candidates(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 9000, 0);
    const tiny t = random_loop(&rng, 20, 2, 0, 3);
    sked_graph *g = build(&t);
    const sked_problem p = problem_of(&t, g);
    sked_run_options o = quick();
    sked_result r = {.size = sizeof r};
    o.candidates = 10;
    OK(sked_method_run("modulo-search", &p, &o, &r, err));
    assert_true(r.count > 1);
    for (int a = 0; a < r.count; a++) {
        OK(sked_schedule_validate(&p, r.schedule[a], err));
        for (int b = 0; b < a; b++)
            assert_memory_not_equal(r.schedule[a]->start, r.schedule[b]->start, (size_t)t.n * sizeof(double));
    }
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* Thousands of ops with long recurrences: bounds and the list method stay quick. */
static void test_large_loop(void **state)
{
    (void)state;
    enum { n = 5000 };
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_i_rng rng;
    sked_result r = {.size = sizeof r};
    int32_t id, pool;
    sked_i_rng_seed(&rng, 1, 0);
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "unit", 4, &pool, err));
    for (int i = 0; i < n; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1 + below(&rng, 3), &id, err));
        OK(sked_builder_add_demand(b, id, pool, 1, err));
    }
    for (int i = 1; i < n; i++) {
        const sked_edge forward = {below(&rng, i), i, 1 + below(&rng, 4), 0, 0};
        OK(sked_builder_add_edge(b, &forward, err));
        if (i % 3 == 0) {
            const sked_edge back = {i, below(&rng, i), 2, 0, 1 + below(&rng, 3)};
            OK(sked_builder_add_edge(b, &back, err));
        }
    }
    OK(sked_builder_finish(b, &g, err));
    sked_problem p;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_II;
    OK(sked_method_run("modulo-list", &p, NULL, &r, err));
    assert_true(r.value <= 1.05 * r.lower_bound);
    sked_result_clear(&r);
    sked_graph_destroy(g);
    sked_builder_destroy(b);
}

/* Every loop the generator makes gets a schedule, and the search is not behind the list method. */
static void test_generated_loops(void **state)
{
    (void)state;
    for (int k = 0; k < CASES(60); k++) {
        const sked_generate_options how = {.size = sizeof how, .nodes = 3 + 4 * k, .seed = (uint64_t)k};
        sked_graph *g = NULL;
        sked_problem p;
        sked_result listed = {.size = sizeof listed}, found = {.size = sizeof found};
        sked_run_options o = quick();
        OK(sked_graph_generate("loop", &how, &g, err));
        sked_problem_init(&p, g);
        p.objective = SKED_OBJECTIVE_II;
        o.time_limit = INFINITY;
        o.iterations = 20;
        OK(sked_method_run("modulo-list", &p, &o, &listed, err));
        OK(sked_method_run("modulo-search", &p, &o, &found, err));
        assert_true(listed.value <= 1.1 * listed.lower_bound + 1);
        assert_true(found.value <= listed.value);
        sked_result_clear(&listed);
        sked_result_clear(&found);
        sked_graph_destroy(g);
    }
}

typedef struct reference {
    char path[700];
    int ii, length; /* length 0: unknown */
} reference;

/* One line of ref_II.csv; its lengths count the latency of the last op, ours its duration, so ours is less.
 */
static bool read_reference(FILE *f, reference *r)
{
    char line[1000], *field = line;
    int column = 0;
    if (fgets(line, sizeof line, f) == NULL)
        return false;
    *r = (reference){0};
    for (char *next = line; next != NULL; column++) {
        field = next;
        if ((next = strchr(field, ',')) != NULL)
            *next++ = 0;
        if (column == 0)
            snprintf(r->path, sizeof r->path, "%.300s/modulo/%.300s", shared_data(), field);
        else if (column == 7)
            r->ii = atoi(field);
        else if (column == 9)
            r->length = atoi(field);
    }
    return column > 9;
}

static void test_known_loops(void **state)
{
    (void)state;
    NEED_SHARED_DATA();
    char path[700];
    reference r;
    int loops = 0, best = 0, shortest = 0, lengths = 0;
    double gap = 0;
    snprintf(path, sizeof path, "%s/modulo/ref_II.csv", shared_data());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(read_reference(f, &r)); /* titles */
    while (read_reference(f, &r)) {
        sked_graph *g = NULL;
        sked_problem p;
        sked_result found = {.size = sizeof found}, listed = {.size = sizeof listed};
        sked_run_options o = quick();
        o.time_limit = 1;
        OK(sked_graph_read(r.path, NULL, &g, err));
        sked_problem_init(&p, g);
        p.objective = SKED_OBJECTIVE_II;
        OK(sked_method_run("modulo-search", &p, &o, &found, err));
        OK(sked_method_run("modulo-list", &p, &o, &listed, err));
        assert_true(found.lower_bound <= r.ii);
        loops++;
        best += found.value <= r.ii;
        gap += (listed.value - r.ii) / r.ii;
        if (r.length > 0) {
            lengths++;
            shortest += found.value <= r.ii && sked_i_schedule_makespan(g, found.schedule[0]) <= r.length;
        }
        sked_result_clear(&found);
        sked_result_clear(&listed);
        sked_graph_destroy(g);
    }
    fclose(f);
    print_message("modulo: best known II on %d of %d, length on %d of %d; modulo-list %.3f %% above\n", best,
                  loops, shortest, lengths, 100 * gap / loops);
    assert_true(loops > 0 && best >= 0.97 * loops && shortest >= 0.97 * lengths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrence_bound),
        cmocka_unit_test(test_resource_bound),
        cmocka_unit_test(test_infeasible_reasons),
        cmocka_unit_test(test_refuted_interval),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_real_times),
        cmocka_unit_test(test_real_demands),
        cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_brute_force_unit_times),
        cmocka_unit_test(test_brute_force_devices),
        cmocka_unit_test(test_given_interval),
        cmocka_unit_test(test_random_loops_validate),
        cmocka_unit_test(test_other_problems),
        cmocka_unit_test(test_same_result),
        cmocka_unit_test(test_windows_below_the_bound),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_large_loop),
        cmocka_unit_test(test_generated_loops),
        cmocka_unit_test(test_known_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
