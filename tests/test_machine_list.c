/* Heterogeneous devices and links in the placer, the priorities, and the methods list, heft and brkga. */
#include "brute_force.h"
#include "heft_example.h"
#include "random_problem.h"
#include "test.h"

#include "engine/list/list.h"
#include "schedule/schedule.h"

#include <string.h>

enum { unequal = RANDOM_UNEQUAL };

static const struct {
    const char *name;
    unsigned flags;
} kinds[] = {
    {"plain", unequal},
    {"real", unequal | RANDOM_REAL},
    {"zero", unequal | RANDOM_ZERO},
    {"lags", unequal | RANDOM_LAGS},
    {"negative", unequal | RANDOM_LAGS | RANDOM_NEGATIVE},
    {"pools", unequal | RANDOM_RESOURCES},
    {"pools, all lags, zero", unequal | RANDOM_RESOURCES | RANDOM_LAGS | RANDOM_NEGATIVE | RANDOM_ZERO},
    {"pools, real", unequal | RANDOM_RESOURCES | RANDOM_REAL | RANDOM_LAGS | RANDOM_ZERO},
    {"fixed devices", unequal | RANDOM_FIX_DEVICE},
    {"fixed devices, pools", unequal | RANDOM_FIX_DEVICE | RANDOM_RESOURCES | RANDOM_LAGS},
    {"fixed starts", unequal | RANDOM_FIX_START},
    {"fixed starts and devices", unequal | RANDOM_FIX_START | RANDOM_FIX_DEVICE | RANDOM_REAL},
    {"fixed starts, pools", unequal | RANDOM_FIX_START | RANDOM_RESOURCES | RANDOM_ZERO},
    {"horizon", unequal | RANDOM_HORIZON},
    {"horizon, all", unequal | RANDOM_HORIZON | RANDOM_RESOURCES | RANDOM_LAGS | RANDOM_REAL},
};
enum { n_kinds = sizeof kinds / sizeof *kinds };

static bool takes(const char *method, unsigned flags)
{
    const uint32_t can = sked_method_find(method)->features;
    const bool fixed = flags & (RANDOM_FIX_START | RANDOM_FIX_DEVICE);
    return (!fixed || can & SKED_CAN_FIX) && (!(flags & RANDOM_HORIZON) || can & SKED_CAN_HORIZON);
}

/* One run; what it gives is valid and never below the optimum (NAN: not known). Returns its makespan. */
static double run(const char *method, const char *const *settings, int n_settings, const sked_problem *p,
                  uint64_t seed, const char *name, double optimum)
{
    sked_run_options opt;
    sked_result result = {.size = sizeof result};
    sked_error why = {0};
    double value = INFINITY;
    sked_run_options_init(&opt);
    opt.seed = seed;
    opt.iterations = 3;
    opt.settings = settings;
    opt.n_settings = n_settings;
    const sked_status st = sked_method_run(method, p, &opt, &result, &why);
    if (st == SKED_OK) {
        value = result.value;
        if (value < optimum - 1e-9)
            fail_msg("%s, %s, seed %d: %g below the optimum %g", method, name, (int)seed, value, optimum);
        for (int32_t k = 0; k < result.count; k++)
            OK(sked_schedule_validate(p, result.schedule[k], err));
    } else if (st != SKED_ERR_INFEASIBLE)
        fail_msg("%s, %s, seed %d: %s", method, name, (int)seed, why.message);
    sked_result_clear(&result);
    return value;
}

/* The least makespan, where enumeration can say it; NAN elsewhere. */
static double optimum_of(const random_problem *r, unsigned flags)
{
    const unsigned limits = RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_HORIZON | RANDOM_NEGATIVE;
    return flags & limits ? NAN : brute_force_orders(&r->problem);
}

/* Every choice of one option of a method, or one that stands for any. text: room for 8. Returns how many. */
static int choices_of(const sked_option *option, char (*text)[100])
{
    int count = 0;
    if (option->kind == SKED_OPTION_BOOL)
        for (; count < 2; count++)
            snprintf(text[count], sizeof *text, "%s=%s", option->name, count ? "yes" : "no");
    else if (option->kind == SKED_OPTION_ENUM)
        for (const char *c = option->choices; *c; count++) {
            const int n = (int)strcspn(c, "|");
            assert_in_range(count, 0, 7);
            snprintf(text[count], sizeof *text, "%s=%.*s", option->name, n, c);
            c += n + (c[n] == '|');
        }
    else
        snprintf(text[count++], sizeof *text, "%s=%s", option->name, option->preset);
    return count;
}

/* Every pair of choices of the first options of a method, on one problem. Returns how many found none. */
static int run_choices(const char *method, const random_problem *r, uint64_t seed, const char *name,
                       double optimum, int *runs)
{
    const sked_method_info *info = sked_method_find(method);
    char a[8][100], b[8][100];
    int none = 0;
    for (int o = 0; o < info->n_options; o++) {
        const int n_a = choices_of(&info->options[o], a);
        const int n_b = choices_of(&info->options[(o + 1) % info->n_options], b);
        for (int k = 0; k < n_a * n_b; k++) {
            const char *settings[] = {a[k / n_b], b[k % n_b]};
            none += isinf(run(method, settings, 2, &r->problem, seed, name, optimum));
            ++*runs;
        }
    }
    return none;
}

/* Options and limits in all combinations: valid, and not below the optimum. */
static void options_and_limits(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "heft", "brkga"};
    for (int m = 0; m < 3; m++)
        for (int k = 0; k < n_kinds; k++) {
            int runs = 0, none = 0;
            if (!takes(methods[m], kinds[k].flags))
                continue;
            for (uint64_t seed = 0; seed < CASES(30); seed++) {
                random_problem r;
                random_problem_make(seed, kinds[k].flags, 1, 5, &r);
                none +=
                    run_choices(methods[m], &r, seed, kinds[k].name, optimum_of(&r, kinds[k].flags), &runs);
                random_problem_free(&r);
            }
            const bool limited = kinds[k].flags & (RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_HORIZON);
            if (none > (!limited ? 0 : SANITIZED ? runs : runs / 10)) /* a share says nothing of so few */
                fail_msg("%s, %s: %d of %d runs found no schedule", methods[m], kinds[k].name, none, runs);
        }
}

/* ------------------------------------------------------------------ problems written by hand */

typedef struct built {
    sked_graph *graph;
    sked_machine *machine;
    sked_problem problem;
} built;

/* Ops, edges and machine are complete: makes the problem and frees the builders. */
static void build(sked_builder *b, sked_machine_builder *m, built *out)
{
    OK(sked_builder_finish(b, &out->graph, err));
    OK(sked_machine_builder_finish(m, &out->machine, err));
    sked_builder_destroy(b);
    sked_machine_builder_destroy(m);
    sked_problem_init(&out->problem, out->graph);
    out->problem.machine = out->machine;
    out->problem.devices = sked_machine_device_count(out->machine);
}

static void built_free(built *x)
{
    sked_graph_destroy(x->graph);
    sked_machine_destroy(x->machine);
}

static void connect(sked_builder *b, int32_t from, int32_t to, double bytes)
{
    const sked_edge edge = {.from = from, .to = to, .lag = NAN, .bytes = bytes};
    OK(sked_builder_add_edge(b, &edge, err));
}

static void published_examples(void **state)
{
    (void)state;
    static const char *const cpop[] = {"rank=critical", "device=critical"};
    built x;
    heft_example(&x.graph, &x.machine, &x.problem);
    assert_true(run("heft", NULL, 0, &x.problem, 0, "heft", 73) == 80);
    assert_true(run("heft", cpop, 2, &x.problem, 0, "cpop", 73) == 86);
    built_free(&x);
}

/* One op feeds two: the second goes where its data arrives first, though that device is not the nearest one
 * in number, and stays where no link is worth it. */
static void links_decide(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        sked_builder *b = NULL;
        sked_machine_builder *m = NULL;
        sked_result result = {.size = sizeof result};
        built x;
        OK(sked_builder_create(&b, err));
        OK(sked_machine_builder_create("links", &m, err));
        for (int d = 0; d < 3; d++)
            OK(sked_machine_builder_add_device(m,
                                               d == 0   ? "a"
                                               : d == 1 ? "b"
                                                        : "c",
                                               NULL, 1, INFINITY, NULL, err));
        OK(sked_machine_builder_add_link(m, "a", "b", 0, 1, false, err));
        OK(sked_machine_builder_add_link(m, "a", "c", slow ? 5 : 0, INFINITY, false, err));
        for (int i = 0; i < 3; i++)
            OK(sked_builder_add_op(b, NULL, NULL, 4, NULL, err));
        connect(b, 0, 1, 10);
        connect(b, 0, 2, 10);
        build(b, m, &x);
        OK(sked_method_run("heft", &x.problem, NULL, &result, err));
        const int32_t first = result.schedule[0]->device[0];
        assert_true(result.value == (slow ? 12 : 8));
        assert_true((result.schedule[0]->device[2] == first) == (slow != 0));
        assert_int_equal(result.schedule[0]->device[1], first);
        sked_result_clear(&result);
        built_free(&x);
    }
}

/* ------------------------------------------------------------------ the placer */

/* Places by critical path; what `how` says holds. */
static double place(const sked_problem *p, bool costed, const sked_i_place *how, double *start,
                    int32_t *device)
{
    sked_i_dag v = {0};
    sked_i_pools pools = {0};
    sked_i_placer *x = NULL;
    sked_i_rng rng;
    int32_t rank[64];
    double late = NAN;
    sked_i_rng_seed(&rng, 0, 0);
    sked_i_costs costs = {0};
    OK(sked_i_costs_make(p, &costs, err));
    OK((costed ? sked_i_dag_make_costed : sked_i_dag_make)(p, &costs, false, true, &v, err));
    OK(sked_i_pools_make(p, false, &pools, err));
    OK(sked_i_priority_rank(p, &v, SKED_I_CRITICAL_PATH, 0, &rng, rank, err));
    OK(sked_i_placer_create(&v, &pools, p->devices, true, &x, err));
    for (int k = 0; k < 2; k++) /* a second run is like the first */
        OK(sked_i_placer_run(x, rank, NULL, how, start, device, &late, err));
    sked_i_placer_destroy(x);
    sked_i_pools_free(&pools);
    sked_i_dag_free(&v);
    sked_i_costs_free(&costs);
    return late;
}

/* Identical devices placed as unequal ones: the same schedule. */
static void identical_as_hetero(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        const unsigned extra[] = {0, RANDOM_RESOURCES, RANDOM_LAGS | RANDOM_NEGATIVE, RANDOM_FIX_DEVICE};
        random_problem r;
        double start[2][64];
        int32_t device[2][64];
        random_problem_make(seed, RANDOM_TRANSFERS | extra[seed % 4], 1, 40, &r);
        const sked_i_place how = {
            .by_device = true, .insertion = seed / 4 % 2, .fix_device = r.problem.fix_device};
        for (int k = 0; k < 2; k++)
            assert_true(place(&r.problem, k == 1, &how, start[k], device[k]) == 0);
        for (int32_t i = 0; i < sked_graph_op_count(r.graph); i++)
            if (start[0][i] != start[1][i] || device[0][i] != device[1][i])
                fail_msg("seed %d, op %d: %g on %d, as unequal %g on %d", (int)seed, (int)i, start[0][i],
                         (int)device[0][i], start[1][i], (int)device[1][i]);
        random_problem_free(&r);
    }
}

/* A host and two others that only it can talk to. D needs A and B and cannot run on the host. */
static void star(built *out)
{
    sked_builder *b = NULL;
    sked_machine_builder *m = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_machine_builder_create("star", &m, err));
    for (int d = 0; d < 3; d++)
        OK(sked_machine_builder_add_device(m,
                                           d == 0   ? "host"
                                           : d == 1 ? "g0"
                                                    : "g1",
                                           d == 0 ? "cpu" : "gpu", 1, INFINITY, NULL, err));
    OK(sked_machine_builder_add_link(m, "cpu", "gpu", 0, INFINITY, false, err));
    for (int i = 0; i < 5; i++) { /* A, B, C behind A, D behind C and B, E behind A and B */
        OK(sked_builder_add_op(b, NULL, NULL, 4, NULL, err));
        if (i != 4)
            OK(sked_builder_add_duration(b, i, "cpu", INFINITY, err));
    }
    connect(b, 0, 2, 1);
    connect(b, 2, 3, 1);
    connect(b, 1, 3, 1);
    connect(b, 0, 4, 1);
    connect(b, 1, 4, 1);
    build(b, m, out);
}

static void data_reaches_successors(void **state)
{
    (void)state;
    const sked_i_place how = {.by_device = true, .insertion = true};
    built x;
    double start[8];
    int32_t device[8];
    star(&x);
    assert_true(place(&x.problem, false, &how, start, device) == 0);
    assert_int_equal(device[1], device[3]);
    assert_true(run("heft", NULL, 0, &x.problem, 0, "star", 12) < INFINITY);
    built_free(&x);
}

/* Machines with few links, where something always runs on device 0: nobody gives up. */
static void few_links(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "heft", "brkga"};
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        random_problem_make(1000 + seed, RANDOM_UNEQUAL | (seed % 2 ? RANDOM_RESOURCES : RANDOM_ZERO), 20, 40,
                            &r);
        for (int m = 0; m < 3; m++)
            if (isinf(run(methods[m], NULL, 0, &r.problem, seed, "few links", NAN)))
                fail_msg("%s, seed %d: none found", methods[m], (int)seed);
        random_problem_free(&r);
    }
}

/*
 * One useful device and one that is never worth it. H is ready while L1 runs, so it goes before L2, though
 * the slow device was free for L2 all the time.
 */
static void stepped_by_what_starts(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_machine_builder *m = NULL;
    sked_result result = {.size = sizeof result};
    built x;
    OK(sked_builder_create(&b, err));
    OK(sked_machine_builder_create("uneven", &m, err));
    OK(sked_machine_builder_add_device(m, "fast", NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_add_device(m, "slow", NULL, 0.001, INFINITY, NULL, err));
    OK(sked_machine_builder_set_link(m, 0, INFINITY, err));
    enum { first, high, low1, low2 };
    static const double duration[] = {1, 5, 3, 3};
    for (int i = 0; i < 4; i++)
        OK(sked_builder_add_op(b, NULL, NULL, duration[i], NULL, err));
    const sked_edge edge = {.from = first, .to = high, .lag = 2};
    OK(sked_builder_add_edge(b, &edge, err));
    build(b, m, &x);
    OK(sked_method_run("list", &x.problem, NULL, &result, err));
    assert_true(result.value == 12 && result.schedule[0]->start[high] == 4);
    sked_result_clear(&result);
    built_free(&x);
}

/* An op whose demand no pool has room for runs where it takes no time, and only there. */
static void demand_beyond_a_pool(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "heft", "brkga"};
    sked_builder *b = NULL;
    sked_machine_builder *m = NULL;
    built x;
    int32_t pool;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "R", 1, &pool, err));
    OK(sked_machine_builder_create("two", &m, err));
    OK(sked_machine_builder_add_device(m, "a", NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_add_device(m, "b", NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_set_link(m, 100, INFINITY, err));
    OK(sked_builder_add_op(b, NULL, NULL, 3, NULL, err));
    OK(sked_builder_add_duration(b, 0, "a", INFINITY, err));
    OK(sked_builder_add_op(b, NULL, NULL, 0, NULL, err));
    OK(sked_builder_add_demand(b, 1, pool, 2, err));
    OK(sked_builder_add_duration(b, 1, "b", 1, err));
    connect(b, 0, 1, 1);
    build(b, m, &x);
    for (int k = 0; k < 3; k++)
        assert_true(run(methods[k], NULL, 0, &x.problem, 0, "demand", 103) == 103);
    built_free(&x);
}

/* ------------------------------------------------------------------ levels */

/* Equation 4 of the paper, device by device. */
static double optimistic(const sked_problem *p, int32_t op, int32_t d)
{
    const sked_graph *g = p->graph;
    double most = 0, latency = 0, per_byte = 0;
    sked_i_costs c = {0};
    OK(sked_i_costs_make(p, &c, err));
    sked_i_mean_link(&c, &latency, &per_byte);
    sked_i_costs_free(&c);
    for (int64_t e = 0; e < sked_graph_edge_count(g); e++) {
        sked_edge x;
        double least = INFINITY;
        sked_graph_edge(g, e, &x);
        if (x.from != op)
            continue;
        for (int32_t k = 0; k < p->devices; k++)
            least = fmin(least, optimistic(p, x.to, k) + sked_problem_duration(p, x.to, k) +
                                    (k == d ? 0 : latency + x.bytes * per_byte));
        most = fmax(most, least);
    }
    return most;
}

static void optimistic_costs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        random_problem r;
        sked_i_dag v = {0};
        double table[64], mean[8];
        random_problem_make(seed, RANDOM_UNEQUAL | RANDOM_REAL, 1, 6, &r);
        sked_i_costs costs = {0};
        OK(sked_i_costs_make(&r.problem, &costs, err));
        OK(sked_i_dag_make(&r.problem, &costs, false, true, &v, err));
        OK(sked_i_optimistic_costs(&v, NULL, table, mean, err));
        for (int32_t i = 0; i < v.n; i++) {
            double sum = 0;
            for (int32_t d = 0; d < r.problem.devices; d++) {
                const double want = optimistic(&r.problem, i, d);
                const int32_t k = sked_i_device_time_kind(v.costs, d);
                assert_true(fabs(table[i * v.costs->time_kinds + k] - want) <= 1e-9);
                sum += want;
            }
            assert_true(fabs(mean[i] - sum / r.problem.devices) <= 1e-9);
        }
        sked_i_dag_free(&v);
        sked_i_costs_free(&costs);
        random_problem_free(&r);
    }
}

/* Two ops on devices that take 2, 4 and 9; links of latency 1 (a pair), 3 (the other two pairs). */
static void measures(void **state)
{
    (void)state;
    static const char *const name[] = {"a", "b", "c"};
    static const double time[] = {2, 4, 9}, want[][2] = {[SKED_I_MEAN] = {5 + (7.0 / 3 + 10) + 5, 5},
                                                         [SKED_I_BEST] = {4, 2},
                                                         [SKED_I_WORST] = {9 + (3 + 10) + 9, 9},
                                                         [SKED_I_MEDIAN] = {4 + (3 + 10) + 4, 4}};
    sked_builder *b = NULL;
    sked_machine_builder *m = NULL;
    sked_i_dag v = {0};
    built x;
    double up[2];
    OK(sked_builder_create(&b, err));
    OK(sked_machine_builder_create("three", &m, err));
    for (int d = 0; d < 3; d++)
        OK(sked_machine_builder_add_device(m, name[d], NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_set_link(m, 3, 2, err));
    OK(sked_machine_builder_add_link(m, "a", "b", 1, 2, false, err));
    for (int i = 0; i < 2; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        for (int d = 0; d < 3; d++)
            OK(sked_builder_add_duration(b, i, name[d], time[d], err));
    }
    connect(b, 0, 1, 20);
    build(b, m, &x);
    sked_i_costs costs = {0};
    OK(sked_i_costs_make(&x.problem, &costs, err));
    OK(sked_i_dag_make(&x.problem, &costs, false, true, &v, err));
    for (int k = SKED_I_MEAN; k <= SKED_I_MEDIAN; k++) {
        OK(sked_i_measured_ranks(&v, (sked_i_measure)k, NULL, up, err));
        if (fabs(up[0] - want[k][0]) > 1e-9 || fabs(up[1] - want[k][1]) > 1e-9)
            fail_msg("measure %d: %g and %g, not %g and %g", k, up[0], up[1], want[k][0], want[k][1]);
    }
    sked_i_dag_free(&v);
    sked_i_costs_free(&costs);
    built_free(&x);
}

/* ------------------------------------------------------------------ the methods' other promises */

/* A machine of identical devices is the short form, to the last start. */
static void identical_machines(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "heft", "brkga"};
    for (uint64_t seed = 0; seed < 20; seed++) {
        random_problem r;
        sked_machine_builder *m = NULL;
        random_problem_make(seed, RANDOM_TRANSFERS, 5, 30, &r);
        sked_problem twin = r.problem;
        OK(sked_machine_builder_create("twin", &m, err));
        for (int d = 0; d < r.problem.devices; d++) {
            char name[16];
            snprintf(name, sizeof name, "t%d", d);
            OK(sked_machine_builder_add_device(m, name, NULL, 1, INFINITY, NULL, err));
        }
        OK(sked_machine_builder_set_link(m, twin.latency, twin.bandwidth, err));
        OK(sked_machine_builder_finish(m, &r.machine, err));
        sked_machine_builder_destroy(m);
        twin.machine = r.machine;
        twin.latency = 0;
        twin.bandwidth = INFINITY;
        for (int k = 0; k < 3; k++) {
            sked_run_options opt;
            sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
            sked_run_options_init(&opt);
            opt.iterations = 3;
            OK(sked_method_run(methods[k], &r.problem, &opt, &a, err));
            OK(sked_method_run(methods[k], &twin, &opt, &b, err));
            const sked_schedule *s = a.schedule[0], *t = b.schedule[0];
            assert_memory_equal(s->start, t->start, (size_t)s->ops * sizeof *s->start);
            assert_memory_equal(s->device, t->device, (size_t)s->ops * sizeof *s->device);
            sked_result_clear(&a);
            sked_result_clear(&b);
        }
        random_problem_free(&r);
    }
}

static void candidates_and_warm_start(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "brkga"};
    random_problem r;
    random_problem_make(12, RANDOM_UNEQUAL, 25, 30, &r);
    for (int m = 0; m < 2; m++) {
        sked_run_options opt;
        sked_result result = {.size = sizeof result}, again = {.size = sizeof again};
        sked_run_options_init(&opt);
        opt.iterations = 200;
        opt.candidates = 10;
        OK(sked_method_run(methods[m], &r.problem, &opt, &result, err));
        assert_in_range(result.count, 2, 10);
        for (int32_t k = 0; k < result.count; k++)
            OK(sked_schedule_validate(&r.problem, result.schedule[k], err));
        opt.candidates = 0;
        opt.iterations = 1;
        opt.start = result.schedule[0];
        OK(sked_method_run("brkga", &r.problem, &opt, &again, err));
        assert_true(again.value <= result.value);
        sked_result_clear(&result);
        sked_result_clear(&again);
    }
    random_problem_free(&r);
}

/* A method without the feature says so; equal devices may be exchanged, unequal ones may not. */
static void others_refuse(void **state)
{
    (void)state;
    built x;
    sked_result result = {.size = sizeof result};
    double moved;
    heft_example(&x.graph, &x.machine, &x.problem);
    OK(sked_method_run("heft", &x.problem, NULL, &result, err));
    sked_schedule *s = result.schedule[0];
    int32_t before[10];
    memcpy(before, s->device, sizeof before);
    OK(sked_i_schedule_localise(&x.problem, s, &moved, err));
    assert_memory_equal(before, s->device, sizeof before);
    sked_result_clear(&result);
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        if (!(info->features & SKED_CAN_MACHINES) && info->features & SKED_CAN_TRANSFERS &&
            info->features & SKED_CAN_MAKESPAN)
            FAILS(SKED_ERR_UNSUPPORTED, "heterogeneous devices",
                  sked_method_run(info->name, &x.problem, NULL, &result, err));
    }
    x.problem.horizon = 200;
    x.problem.objective = SKED_OBJECTIVE_RESOURCE;
    FAILS(SKED_ERR_UNSUPPORTED, "does not take", sked_method_run("fds", &x.problem, NULL, &result, err));
    built_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_limits),
        cmocka_unit_test(published_examples),
        cmocka_unit_test(links_decide),
        cmocka_unit_test(identical_as_hetero),
        cmocka_unit_test(data_reaches_successors),
        cmocka_unit_test(few_links),
        cmocka_unit_test(stepped_by_what_starts),
        cmocka_unit_test(demand_beyond_a_pool),
        cmocka_unit_test(optimistic_costs),
        cmocka_unit_test(measures),
        cmocka_unit_test(identical_machines),
        cmocka_unit_test(candidates_and_warm_start),
        cmocka_unit_test(others_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
