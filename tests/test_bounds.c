/* Bounds never exceed the optimum, and are worth something. */
#include "brute_force.h"
#include "problem/communication.h"
#include "problem/energy.h"
#include "problem/life_flow.h"
#include "problem/live_price.h"
#include "random_problem.h"
#include "test.h"

typedef struct tally {
    int count, met;
} tally;

static void check(const sked_problem *p, double optimum, unsigned kind, int seed, tally *t)
{
    double bound;
    const char *why = NULL;
    OK(sked_problem_bound(p, &bound, &why, err));
    assert_non_null(why);
    if (isinf(optimum))
        return;
    if (!(bound <= optimum + 1e-9 * fmax(1, optimum)))
        fail_msg("kind %u seed %d %s: bound %.12g (%s) above the optimum %.12g", kind, seed,
                 sked_objective_name(p->objective), bound, why, optimum);
    t->count++;
    t->met += bound >= optimum - 1e-9 * fmax(1, optimum);
}

static void makespan_bounds_hold(void **state)
{
    (void)state;
    const unsigned machines[] = {RANDOM_DEVICES, RANDOM_RESOURCES, RANDOM_DEVICES | RANDOM_RESOURCES,
                                 RANDOM_TRANSFERS};
    const unsigned extras[] = {
        0, RANDOM_LAGS, RANDOM_ZERO, RANDOM_REAL, RANDOM_LAGS | RANDOM_ZERO, RANDOM_LAGS | RANDOM_REAL};
    tally t = {0};
    for (size_t m = 0; m < 4; m++)
        for (size_t x = 0; x < 6; x++)
            for (int seed = 0; seed < 60; seed++) {
                random_problem r;
                random_problem_make((uint64_t)seed, machines[m] | extras[x], 3,
                                    machines[m] & RANDOM_TRANSFERS ? 5 : 7, &r);
                check(&r.problem, brute_force_orders(&r.problem), machines[m] | extras[x], seed, &t);
                random_problem_free(&r);
            }
    print_message("makespan: %d of %d bounds are met\n", t.met, t.count);
    assert_true(t.met * 10 > t.count * 7);
}

static void makespan_bounds_hold_with_fixed_decisions(void **state)
{
    (void)state;
    const unsigned kinds[] = {RANDOM_RESOURCES | RANDOM_FIX_START, RANDOM_RESOURCES | RANDOM_NEGATIVE,
                              RANDOM_DEVICES | RANDOM_FIX_DEVICE,
                              RANDOM_DEVICES | RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_LAGS,
                              RANDOM_TRANSFERS | RANDOM_FIX_DEVICE};
    tally t = {0};
    for (size_t k = 0; k < 5; k++)
        for (int seed = 0; seed < 40; seed++) {
            random_problem r;
            random_problem_make((uint64_t)seed, kinds[k], 2, 4, &r);
            check(&r.problem, brute_force_times(&r.problem, 30), kinds[k], seed, &t);
            random_problem_free(&r);
        }
    assert_true(t.met * 10 > t.count * 7);
}

static void other_bounds_hold(void **state)
{
    (void)state;
    const sked_objective objectives[] = {SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_MEMORY, SKED_OBJECTIVE_COST};
    const unsigned kinds[] = {0, RANDOM_LAGS, RANDOM_ZERO | RANDOM_LAGS, RANDOM_RESOURCES};
    tally t = {0};
    for (size_t o = 0; o < 3; o++)
        for (size_t k = 0; k < 4; k++)
            for (int seed = 0; seed < 40; seed++) {
                random_problem r;
                double shortest;
                random_problem_make((uint64_t)seed, kinds[k], 2, 5, &r);
                OK(sked_problem_bound(&r.problem, &shortest, NULL, err));
                r.problem.horizon = shortest + seed % 4;
                r.problem.objective = objectives[o];
                r.problem.alpha = 0.5;
                check(&r.problem, brute_force_times(&r.problem, (int)r.problem.horizon), kinds[k], seed, &t);
                random_problem_free(&r);
            }
    print_message("resource, memory, cost: %d of %d bounds are met\n", t.met, t.count);
    assert_true(t.met * 10 > t.count * 3);
}

/* All times a little over two thirds: real numbers, and the same optimum. */
static void shrink_times(random_problem *r)
{
    static const double factor = 0.7;
    for (int32_t i = 0; i < r->graph->n_ops; i++)
        r->graph->duration[i] *= factor;
    for (int64_t e = 0; e < r->graph->n_edges; e++)
        r->graph->edge_lag[e] *= factor;
    r->graph->integral = false;
    r->problem.horizon *= factor;
    r->problem.ii *= factor;
}

/* Peak memory against enumeration: every kind of edge, with and without horizon, fixed starts, intervals. */
static void memory_bounds_hold(void **state)
{
    (void)state;
    const unsigned kinds[] = {0,
                              RANDOM_LAGS | RANDOM_ZERO,
                              RANDOM_NEGATIVE,
                              RANDOM_KEEP,
                              RANDOM_KEEP | RANDOM_ZERO | RANDOM_LAGS,
                              RANDOM_ORDER,
                              RANDOM_ORDER | RANDOM_NEGATIVE | RANDOM_KEEP,
                              RANDOM_FIX_START,
                              RANDOM_DEVICES,
                              RANDOM_TRANSFERS,
                              RANDOM_UNEQUAL};
    tally t = {0};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int seed = 0; seed < 60; seed++) {
            random_problem r;
            double shortest;
            const bool many = k >= 6; /* devices: more to enumerate */
            random_problem_make((uint64_t)seed, kinds[k], 2, many ? 4 : 5, &r);
            OK(sked_problem_bound(&r.problem, &shortest, NULL, err));
            const int limit = (int)shortest + (many ? 2 : seed % 5);
            r.problem.objective = SKED_OBJECTIVE_MEMORY;
            r.problem.lifetime = seed % 3 == 2 ? SKED_LIFETIME_FINISH : SKED_LIFETIME_START;
            if (seed % 2)
                r.problem.horizon = limit;
            const double optimum = brute_force_times(&r.problem, limit);
            check(&r.problem, optimum, kinds[k], seed, &t);
            if (k < 5) { /* no fixed starts, no devices */
                shrink_times(&r);
                check(&r.problem, optimum, kinds[k], seed, &t);
            }
            random_problem_free(&r);
        }
    print_message("memory: %d of %d bounds are met\n", t.met, t.count);
    assert_true(t.met * 10 > t.count * 6);
}

/* Two lives that meet at a time which is rounded: they do not overlap. */
static void rounded_windows_prove_nothing(void **state)
{
    (void)state;
    random_problem r;
    tally t = {0};
    random_problem_make(511, RANDOM_NEGATIVE, 2, 5, &r);
    r.problem.objective = SKED_OBJECTIVE_MEMORY;
    r.problem.horizon = 6;
    const double optimum = brute_force_times(&r.problem, 6);
    shrink_times(&r);
    check(&r.problem, optimum, RANDOM_NEGATIVE, 511, &t);
    assert_int_equal(t.met, 1);
    random_problem_free(&r);
}

static void pipelined_memory_bounds_hold(void **state)
{
    (void)state;
    const unsigned kinds[] = {RANDOM_LOOPS, RANDOM_LOOPS | RANDOM_LAGS | RANDOM_ORDER,
                              RANDOM_LOOPS | RANDOM_RESOURCES, RANDOM_LOOPS | RANDOM_NEGATIVE};
    tally t = {0};
    for (size_t k = 0; k < 4; k++)
        for (int seed = 0; seed < 60; seed++) {
            random_problem r;
            double shortest, interval;
            random_problem_make((uint64_t)seed, kinds[k], 2, 4, &r);
            OK(sked_problem_bound(&r.problem, &shortest, NULL, err));
            r.problem.objective = SKED_OBJECTIVE_II;
            OK(sked_problem_bound(&r.problem, &interval, NULL, err));
            r.problem.ii = interval + seed % 3;
            r.problem.objective = SKED_OBJECTIVE_MEMORY;
            if (seed % 4)
                r.problem.horizon = shortest + seed % 5;
            const double optimum = brute_force_times(&r.problem, (int)shortest + seed % 5);
            check(&r.problem, optimum, kinds[k], seed, &t);
            shrink_times(&r);
            check(&r.problem, optimum, kinds[k], seed, &t);
            random_problem_free(&r);
        }
    print_message("pipelined memory: %d of %d bounds are met\n", t.met, t.count);
    assert_true(t.met * 10 > t.count * 5);
}

/* Memory of the values made in S with a reader outside, by the definition; INFINITY: S breaks an order. */
static double alive_between(const sked_graph *g, const uint8_t *side, unsigned started)
{
    double sum = 0;
    for (int32_t v = 0; v < g->n_ops; v++) {
        bool read = false;
        const bool in = started >> v & 1;
        if ((side[v] == SKED_I_STARTED && !in) || (side[v] == SKED_I_WAITING && in))
            return INFINITY;
        for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
            const bool later = started >> g->edge_to[e] & 1;
            if (later && !in && g->edge_lag[e] >= 0)
                return INFINITY;
            read = read || (!later && sked_i_passes(g, e));
        }
        sum += read && in ? g->memory[v] : 0;
    }
    return sum;
}

/* Of one moment, the flow is the least over all sets; cut short, it is less and no more. */
static void cuts_agree_with_enumeration(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 3, 3);
    for (int seed = 0; seed < 200; seed++) {
        random_problem r;
        sked_i_live_cut *cut = NULL;
        uint8_t side[9];
        double least = INFINITY;
        sked_i_bound_effort ample = {.work = 1e6}, little = {.work = random_int(&rng, 10, 60)};
        random_problem_make((uint64_t)seed, seed % 2 ? RANDOM_LAGS | RANDOM_ORDER : RANDOM_NEGATIVE, 4, 9,
                            &r);
        const int32_t n = r.graph->n_ops, first = random_int(&rng, 0, n / 2),
                      last = random_int(&rng, n / 2, n);
        for (int32_t k = 0; k < n; k++) /* closed under the order of the edges */
            side[r.graph->topo[k]] = k < first ? SKED_I_STARTED : k >= last ? SKED_I_WAITING : SKED_I_FREE;
        for (unsigned set = 0; set < 1u << n; set++)
            least = fmin(least, alive_between(r.graph, side, set));
        OK(sked_i_live_cut_create(r.graph, &(sked_i_live_moments){.count = 1, .spacing = 1}, &cut, err));
        assert_true(sked_i_live_cut_least(cut, side, &ample) == least);
        assert_true(sked_i_live_cut_least(cut, side, &little) <= least);
        sked_i_live_cut_destroy(cut);
        random_problem_free(&r);
    }
}

/* A divider holds its divisor and the remainder all the time: more than the inputs of one op. */
static void memory_bound_of_a_circuit(void **state)
{
    (void)state;
    sked_generate_options opt;
    sked_graph *g = NULL;
    sked_problem p;
    double path, bound;
    const char *why = NULL;
    const char *const settings[] = {"kind=divider"};
    sked_generate_options_init(&opt);
    opt.nodes = 2000;
    opt.memory = "const:1";
    opt.settings = settings;
    opt.n_settings = 1;
    OK(sked_graph_generate("circuit", &opt, &g, err));
    sked_problem_init(&p, g);
    OK(sked_problem_bound(&p, &path, NULL, err));
    p.objective = SKED_OBJECTIVE_MEMORY;
    OK(sked_problem_bound(&p, &bound, &why, err));
    print_message("divider: at least %g (%s)\n", bound, why);
    assert_true(bound >= 2 * 13); /* 26 bits by 13 */
    p.horizon = floor(1.2 * path);
    OK(sked_problem_bound(&p, &bound, &why, err));
    assert_true(bound >= 2 * 13);
    sked_graph_destroy(g);
}

/* Sum of lives times sizes by the definition; INFINITY: the starts break an order. */
static double sum_of_lives(const sked_graph *g, double ii, const int *start)
{
    double sum = 0;
    for (int32_t v = 0; v < g->n_ops; v++) {
        double life = 0;
        for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
            const double apart = start[g->edge_to[e]] - start[v] + g->edge_distance[e] * ii;
            if (g->edge_distance[e] > 0 && ii == 0)
                continue;
            if (apart < g->edge_lag[e])
                return INFINITY;
            life = sked_i_passes(g, e) ? fmax(life, apart) : life;
        }
        sum += g->memory[v] * life;
    }
    return sum;
}

static double least_sum(const sked_graph *g, double ii, int latest)
{
    int start[4] = {0};
    double least = INFINITY;
    for (int32_t k = 0; k < g->n_ops;) {
        least = fmin(least, sum_of_lives(g, ii, start));
        for (k = 0; k < g->n_ops && ++start[k] > latest; k++)
            start[k] = 0;
    }
    return least;
}

/* The flow is the least sum of lives; cut short, it is less and no more. */
static void sums_of_lives_agree_with_enumeration(void **state)
{
    (void)state;
    int met = 0, count = 0;
    for (int seed = 0; seed < 150; seed++) {
        random_problem r;
        sked_i_life_flow flow;
        double ii = 0, sum, part;
        sked_i_bound_effort ample = {.work = 1e6}, little = {.work = seed % 40};
        random_problem_make((uint64_t)seed,
                            RANDOM_LOOPS | (seed % 2 ? RANDOM_LAGS | RANDOM_ORDER : RANDOM_NEGATIVE), 2, 4,
                            &r);
        if (seed % 3) {
            r.problem.objective = SKED_OBJECTIVE_II;
            OK(sked_problem_bound(&r.problem, &ii, NULL, err));
        }
        const double least = least_sum(r.graph, ii, 13);
        OK(sked_i_life_flow_create(r.graph, &flow, err));
        OK(sked_i_life_flow_most(r.graph, ii, &little, &flow, &part, err));
        OK(sked_i_life_flow_most(r.graph, ii, &ample, &flow, &sum, err));
        assert_true(ample.work > 0);
        assert_true(part <= sum && sum <= least);
        count += least < INFINITY;
        met += sum == least;
        sked_i_life_flow_free(&flow);
        random_problem_free(&r);
    }
    print_message("least sums of lives: %d of %d are met\n", met, count);
    assert_true(count > 100 && met >= count - count / 50); /* starts up to 13 do not always do */
}

/* Communication by the definition; INFINITY: the starts break an order. */
static double spans(const sked_graph *g, double ii, const int *start)
{
    double sum = 0;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const double apart = start[g->edge_to[e]] - start[g->edge_from[e]] + g->edge_distance[e] * ii;
        if (g->edge_distance[e] > 0 && ii == 0)
            continue;
        if (apart < g->edge_lag[e])
            return INFINITY;
        sum += g->edge_bytes[e] > 0 ? apart : 0;
    }
    return sum;
}

static double least_spans(const sked_graph *g, double ii, const double *late, int *best)
{
    int start[4] = {0};
    double least = INFINITY;
    for (int32_t k = 0; k < g->n_ops;) {
        const double sum = spans(g, ii, start);
        for (int32_t i = 0; i < g->n_ops && sum < least; i++)
            best[i] = start[i];
        least = fmin(least, sum);
        for (k = 0; k < g->n_ops && ++start[k] > late[k]; k++)
            start[k] = 0;
    }
    return least;
}

/* Within the windows it is the least communication, and its starts have it; cut short, it is less. */
static void least_communication_agrees_with_enumeration(void **state)
{
    (void)state;
    int count = 0, above_lags = 0;
    for (int seed = 0; seed < 300; seed++) {
        random_problem r;
        double ii = 0, sum, part, start[4];
        const double early[4] = {0}, wide[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
        double late[4];
        int whole[4];
        sked_i_bound_effort ample = {.work = 1e6}, little = {.work = seed % 20}, free = {.work = 1e6};
        random_problem_make((uint64_t)seed,
                            RANDOM_LOOPS | (seed % 2 ? RANDOM_LAGS | RANDOM_ORDER : RANDOM_NEGATIVE), 2, 4,
                            &r);
        if (seed % 3) {
            r.problem.objective = SKED_OBJECTIVE_II;
            OK(sked_problem_bound(&r.problem, &ii, NULL, err));
        }
        for (int32_t i = 0; i < r.graph->n_ops; i++)
            late[i] = 4 + (seed + 3 * i) % 5;
        const double least = least_spans(r.graph, ii, late, whole);
        OK(sked_i_least_communication(r.graph, ii, early, late, &little, NULL, &part, err));
        OK(sked_i_least_communication(r.graph, ii, early, late, &ample, start, &sum, err));
        if (least < INFINITY) {
            for (int32_t i = 0; i < r.graph->n_ops; i++) {
                assert_true(start[i] == floor(start[i]) && start[i] >= 0 && start[i] <= late[i]);
                whole[i] = (int)start[i];
            }
            assert_true(part <= sum && sum == least && spans(r.graph, ii, whole) == least);
            OK(sked_i_least_communication(r.graph, ii, early, wide, &free, NULL, &part, err));
            assert_true(part <= least);
            double lags = 0;
            for (int64_t e = 0; e < r.graph->n_edges; e++)
                lags += sked_i_communicates(r.graph, ii, e) ? r.graph->edge_lag[e] : 0;
            above_lags += part > lags;
            count++;
        }
        random_problem_free(&r);
    }
    print_message("least communication: %d problems, %d above the sum of lags\n", count, above_lags);
    assert_true(count > 100 && above_lags > 10);
}

/* Prices alone, of moments of any spacing, against enumeration. */
static void prices_hold(void **state)
{
    (void)state;
    int met = 0, count = 0;
    for (int seed = 0; seed < 150; seed++) {
        random_problem r;
        sked_i_life_flow flow;
        double early[5], late[5], horizon, bound;
        sked_i_bound_effort effort = {.work = 2e4};
        random_problem_make((uint64_t)seed, seed % 2 ? RANDOM_LAGS | RANDOM_ZERO : RANDOM_KEEP | RANDOM_ORDER,
                            3, 5, &r);
        OK(sked_problem_bound(&r.problem, &horizon, NULL, err));
        r.problem.objective = SKED_OBJECTIVE_MEMORY;
        r.problem.horizon = horizon += seed % 4;
        for (int32_t i = 0; i < r.graph->n_ops; i++) { /* wide, but for the ends */
            early[i] = 0;
            late[i] = horizon - r.graph->duration[i];
        }
        const double spacing = seed % 5 == 4 ? 1.5 : 1;
        const sked_i_priced_moments m = {.count = (int32_t)(horizon / spacing),
                                         .first = spacing,
                                         .spacing = spacing,
                                         .early = early,
                                         .late = late};
        const double optimum = brute_force_times(&r.problem, (int)horizon);
        OK(sked_i_life_flow_create(r.graph, &flow, err));
        OK(sked_i_price_bound(r.graph, &m, &flow, &effort, &bound, err));
        assert_true(bound <= optimum * (1 + 1e-9));
        count++;
        met += ceil(bound - 1e-9) >= optimum;
        sked_i_life_flow_free(&flow);
        random_problem_free(&r);
    }
    print_message("prices of moments: %d of %d are met\n", met, count);
    assert_true(met * 6 > count);
}

static double bound_of_family(const char *family, int32_t nodes, double factor, double ii)
{
    sked_generate_options opt;
    sked_graph *g = NULL;
    sked_problem p;
    double path, bound;
    sked_generate_options_init(&opt);
    opt.nodes = nodes;
    opt.seed = 1;
    opt.memory = "const:1";
    opt.duration = "const:1";
    OK(sked_graph_generate(family, &opt, &g, err));
    sked_problem_init(&p, g);
    OK(sked_problem_bound(&p, &path, NULL, err));
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.horizon = factor > 0 ? floor(factor * path + 1) : INFINITY;
    p.ii = ii;
    OK(sked_problem_bound(&p, &bound, NULL, err));
    sked_graph_destroy(g);
    return bound;
}

/* Wide graphs, and loops: cuts at one moment and lives one by one give 35 and 23. */
static void memory_bounds_of_whole_schedules(void **state)
{
    (void)state;
    assert_true(bound_of_family("tree", 200, 1.2, 0) == 41); /* which gaus reaches */
    assert_true(bound_of_family("lu", 200, 0, 7) >= 31);
}

/* A search for the interval ends with the bound of the interval it found. */
static void bound_at_the_interval_found(void **state)
{
    (void)state;
    sked_generate_options opt;
    sked_run_options run;
    sked_graph *g = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    double any, at;
    sked_generate_options_init(&opt);
    opt.nodes = 80;
    opt.memory = "const:1";
    OK(sked_graph_generate("loop", &opt, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.ii = SKED_II_AUTO;
    OK(sked_problem_bound(&p, &any, NULL, err));
    sked_run_options_init(&run);
    run.iterations = 1;
    OK(sked_method_run("modulo-list", &p, &run, &r, err));
    p.ii = r.schedule[0]->ii;
    OK(sked_problem_bound(&p, &at, NULL, err));
    print_message("at any interval %g, at %g %g of %g\n", any, p.ii, r.lower_bound, r.value);
    assert_true(r.lower_bound > any && r.lower_bound <= at && at <= r.value);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* A run ends once it meets the bound at the least interval. */
static void a_loop_is_proved_optimal(void **state)
{
    (void)state;
    const char *text =
        "{\"format\":\"sked-graph-1\",\"ops\":[{\"duration\":2,\"memory\":1},{\"duration\":1,"
        "\"memory\":1},{\"duration\":3,\"memory\":1}],\"edges\":[[0,1],[1,2],{\"from\":2,\"to\":"
        "0,\"distance\":2}]}";
    sked_graph *g = NULL;
    sked_problem p;
    sked_run_options run;
    sked_result r = {.size = sizeof r};
    OK(sked_graph_parse("loop.json", text, strlen(text), NULL, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.ii = SKED_II_AUTO;
    sked_run_options_init(&run);
    run.time_limit = INFINITY;
    OK(sked_method_run("gaus", &p, &run, &r, err));
    assert_true(r.schedule[0]->ii == 3 && r.value == 2); /* lives of 2, 1 and 3 steps every 3 */
    assert_true(r.optimal && r.lower_bound == 2);
    assert_int_equal(r.evaluations, 0); /* the first schedule meets it */
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* The merged sweep against the definition of certain work. */
static double work_in(const sked_i_energy_item *item, int n, double t1, double t2)
{
    double sum = 0;
    for (int k = 0; k < n; k++) {
        const double a = fmin(item[k].length, t2 - t1), b = item[k].early + item[k].length - t1,
                     c = t2 - item[k].late;
        sum += item[k].amount * fmax(0, fmin(a, fmin(b, c)));
    }
    return sum;
}

static void energy_agrees_with_its_definition(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 1, 1);
    for (int round = 0; round < 300; round++) {
        sked_i_energy_item item[6];
        const int n = random_int(&rng, 1, 6);
        for (int k = 0; k < n; k++) {
            item[k].early = random_int(&rng, 0, 8);
            item[k].late = item[k].early + random_int(&rng, 0, 4);
            item[k].length = random_int(&rng, 1, 5);
            item[k].amount = random_int(&rng, 1, 3);
        }
        double peak = 0, excess = 0;
        for (int k = 0; k < 2 * n; k++)
            for (int t2 = 0; t2 <= 20; t2++) {
                const double t1 = k % 2 ? item[k / 2].late : item[k / 2].early;
                if (t2 <= t1)
                    continue;
                const double work = work_in(item, n, t1, t2);
                peak = fmax(peak, work / (t2 - t1));
                excess = fmax(excess, work / 2 - (t2 - t1));
            }
        sked_i_energy e;
        OK(sked_i_energy_init(&e, item, n, 1e6, err));
        assert_true(fabs(sked_i_energy_peak(&e) - peak) < 1e-9);
        assert_true(fabs(sked_i_energy_excess(&e, 2) - excess) < 1e-9);
        assert_true(excess < 1e-9 || sked_i_energy_overfull(&e, 2, 0));
        sked_i_energy_free(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makespan_bounds_hold),
        cmocka_unit_test(makespan_bounds_hold_with_fixed_decisions),
        cmocka_unit_test(other_bounds_hold),
        cmocka_unit_test(memory_bounds_hold),
        cmocka_unit_test(rounded_windows_prove_nothing),
        cmocka_unit_test(pipelined_memory_bounds_hold),
        cmocka_unit_test(cuts_agree_with_enumeration),
        cmocka_unit_test(memory_bound_of_a_circuit),
        cmocka_unit_test(sums_of_lives_agree_with_enumeration),
        cmocka_unit_test(least_communication_agrees_with_enumeration),
        cmocka_unit_test(prices_hold),
        cmocka_unit_test(memory_bounds_of_whole_schedules),
        cmocka_unit_test(bound_at_the_interval_found),
        cmocka_unit_test(a_loop_is_proved_optimal),
        cmocka_unit_test(energy_agrees_with_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
