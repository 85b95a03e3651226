/* Memory limits: the judge, the profile, the checks and the methods, against steps written from the
 * definition. */
#include "base/rng.h"
#include "brute_force.h"
#include "problem/lower.h"
#include "random_problem.h"
#include "schedule/profile.h"

enum { HORIZON = 11 };

/* ------------------------------------------------------------------ problems */

/* Two or three devices of one speed with memory of their own, in the place of the problem's machine. */
static void give_memory(random_problem *r, sked_i_rng *rng, int low, int high)
{
    static const char *const names[] = {"d0", "d1", "d2"};
    const int n = random_int(rng, 1, 3);
    sked_machine_builder *b = NULL;
    OK(sked_machine_builder_create("small", &b, err));
    for (int d = 0; d < n; d++)
        OK(sked_machine_builder_add_device(b, names[d], d ? "b" : "a", 1, random_int(rng, low, high), NULL,
                                           err));
    OK(sked_machine_builder_set_link(b, random_int(rng, 0, 1), random_int(rng, 0, 1) ? 1 : INFINITY, err));
    sked_machine_destroy(r->machine);
    r->machine = NULL;
    OK(sked_machine_builder_finish(b, &r->machine, err));
    sked_machine_builder_destroy(b);
    r->problem.machine = r->machine;
    r->problem.devices = n;
    r->problem.latency = 0;
    r->problem.bandwidth = INFINITY;
}

static const unsigned kinds[] = {0,
                                 RANDOM_KEEP,
                                 RANDOM_ORDER,
                                 RANDOM_DEVICES | RANDOM_KEEP | RANDOM_ORDER,
                                 RANDOM_DEVICES,
                                 RANDOM_DEVICES | RANDOM_KEEP | RANDOM_ZERO,
                                 RANDOM_TRANSFERS,
                                 RANDOM_TRANSFERS | RANDOM_KEEP,
                                 RANDOM_RESOURCES | RANDOM_LAGS,
                                 RANDOM_UNEQUAL,
                                 RANDOM_UNEQUAL | RANDOM_KEEP | RANDOM_ZERO,
                                 RANDOM_DEVICES | RANDOM_FIX_DEVICE,
                                 RANDOM_DEVICES | RANDOM_LAGS | RANDOM_ZERO};
enum { n_kinds = sizeof kinds / sizeof *kinds };

/* A problem of low..high ops with a limit of all together, or of each device. */
static void make_limited(uint64_t seed, unsigned kind, int low, int high, random_problem *r)
{
    sked_i_rng rng;
    random_problem_make(seed, kind, low, high, r);
    sked_i_rng_seed(&rng, seed, 77);
    r->problem.lifetime = (sked_lifetime)random_int(&rng, 0, 2);
    if (seed % 4 == 3 && !(kind & (RANDOM_FIX_DEVICE | RANDOM_RESOURCES)))
        give_memory(r, &rng, 2, 7);
    if (seed % 4 != 3 || seed % 8 == 3)
        r->problem.memory_limit = random_int(&rng, 2, 9);
    r->problem.horizon = HORIZON;
}

/* ------------------------------------------------------------------ the judge and the profile */

static void load_schedule(brute *b, const sked_problem *p, const sked_schedule *s)
{
    brute_load(b, p);
    b->limit = BRUTE_TIME;
    for (int i = 0; i < b->n; i++) {
        b->start[i] = s->start[i];
        b->device[i] = s->device ? s->device[i] : 0;
        b->placed[i] = true;
    }
}

/* The ops one after the other from a random topological choice, on random devices, with waits. */
static bool random_schedule(const sked_problem *p, sked_i_rng *rng, sked_schedule *s)
{
    static brute b;
    double clock = 0;
    brute_load(&b, p);
    for (int k = 0; k < b.n; k++) {
        const int i = b.order[k];
        const int d = p->devices ? random_int(rng, 0, p->devices - 1) : 0;
        double at = random_int(rng, 0, 3) ? 0 : clock + random_int(rng, 0, 2);
        if (isinf(b.time[i][d]))
            return false;
        for (int e = 0; e < b.edges; e++)
            if (b.edge[e].to == i && b.edge[e].distance == 0)
                at = fmax(at, b.start[b.edge[e].from] + brute_lag(&b, e) +
                                  brute_transfer(&b, &b.edge[e], b.device[b.edge[e].from], d));
        if (isinf(at))
            return false;
        b.start[i] = s->start[i] = at;
        b.device[i] = d;
        if (s->device)
            s->device[i] = d;
        clock = fmax(clock, at + b.time[i][d]);
    }
    return true;
}

/* Memory decides about a schedule exactly where the steps say so, and the profile has their peaks. */
static void judge_and_profile_agree_with_steps(void **state)
{
    (void)state;
    int broken = 0, kept = 0;
    for (uint64_t seed = 0; seed < CASES(2000); seed++) {
        random_problem r;
        sked_i_rng rng;
        sked_schedule *s = NULL;
        static brute b;
        make_limited(seed, kinds[seed % n_kinds] & ~(unsigned)RANDOM_FIX_DEVICE, 1, 6, &r);
        sked_i_rng_seed(&rng, seed, 5);
        sked_problem p = r.problem, free = p;
        p.horizon = free.horizon = INFINITY;
        OK(sked_schedule_create(r.graph->n_ops, p.devices, &s, err));
        if (random_schedule(&p, &rng, s)) {
            sked_i_costs costs = {0};
            OK(sked_i_costs_make(&p, &costs, err));
            load_schedule(&b, &p, s);
            for (int d = -1; d < p.devices; d++) {
                sked_i_profile profile = {0};
                OK(sked_i_profile_memory(&p, &costs, s, d, &profile, err));
                if (profile.peak != brute_peak(&b, d))
                    fail_msg("seed %d device %d: profile %g, steps %g", (int)seed, d, profile.peak,
                             brute_peak(&b, d));
                sked_i_profile_free(&profile);
            }
            sked_i_costs_free(&costs);
            free.lifetime = brute_to_finish(&p) ? SKED_LIFETIME_FINISH : SKED_LIFETIME_START;
            free.memory_limit = INFINITY;
            sked_error err = {0};
            const sked_status with = sked_schedule_validate(&p, s, &err);
            const bool memory = strstr(err.message, "when the value of op") != NULL;
            const bool fits = brute_limits_kept(&b);
            if (memory || with == SKED_OK) {
                if (fits != (with == SKED_OK))
                    fail_msg("seed %d: judge %d, steps %d: %s", (int)seed, (int)with, fits, err.message);
                broken += !fits;
                kept += fits;
            }
        }
        sked_schedule_destroy(s);
        random_problem_free(&r);
    }
    assert_true(broken > CASES(200) && kept > CASES(200));
}

/* ------------------------------------------------------------------ checks and bounds */

static void refusals_are_right(void **state)
{
    (void)state;
    int refuted = 0, wrong = 0;
    for (uint64_t seed = 0; seed < CASES(1000); seed++) {
        random_problem r;
        make_limited(seed, kinds[seed % n_kinds], 1, 4, &r);
        sked_error err = {0};
        r.problem.horizon = INFINITY; /* only memory may refute */
        if (sked_problem_check(&r.problem, &err) == SKED_ERR_INFEASIBLE &&
            strstr(err.message, "cannot") == NULL) {
            refuted++;
            wrong += isfinite(brute_force_times(&r.problem, HORIZON));
            assert_non_null(strstr(err.message, "the values '"));
        }
        random_problem_free(&r);
    }
    assert_true(refuted > CASES(100));
    assert_int_equal(wrong, 0);
}

/* Lifetime finish, kept values and copies: the bound of objective memory stays below what brute force finds.
 */
static void bounds_of_peaks_hold(void **state)
{
    (void)state;
    int met = 0;
    for (uint64_t seed = 0; seed < CASES(300); seed++) {
        random_problem r;
        double bound;
        random_problem_make(seed, kinds[seed % n_kinds], 1, 4, &r);
        r.problem.lifetime = seed % 2 ? SKED_LIFETIME_FINISH : SKED_LIFETIME_START;
        r.problem.objective = SKED_OBJECTIVE_MEMORY;
        r.problem.horizon = HORIZON - 2;
        const double best = brute_force_times(&r.problem, HORIZON - 2);
        OK(sked_problem_bound(&r.problem, &bound, NULL, err));
        if (bound > best)
            fail_msg("seed %d: bound %g, best %g", (int)seed, bound, best);
        met += bound == best;
        random_problem_free(&r);
    }
    assert_true(met > CASES(50));
}

static sked_graph *graph_of(const char *text)
{
    sked_graph *g = NULL;
    OK(sked_graph_parse("g.json", text, strlen(text), NULL, &g, err));
    return g;
}

static void refusals_name_values(void **state)
{
    (void)state;
    sked_graph *g =
        graph_of("{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"a\",\"duration\":1,\"memory\":5},"
                 "{\"name\":\"b\",\"duration\":1,\"memory\":3},{\"name\":\"c\",\"duration\":1,\"memory\":2},"
                 "{\"name\":\"d\",\"duration\":1,\"memory\":1,\"keep\":true}],"
                 "\"edges\":[[\"a\",\"c\"],[\"b\",\"c\"],[\"a\",\"d\"],[\"c\",\"d\"]]}");
    sked_problem p;
    sked_result result = {.size = sizeof result};
    sked_problem_init(&p, g);
    p.memory_limit = 9;
    FAILS(SKED_ERR_INFEASIBLE,
          "the memory limit is 9, but while op 'c' runs the values 'a' (5), 'b' (3), 'c' (2) need 10",
          sked_problem_check(&p, err));
    FAILS(SKED_ERR_INFEASIBLE, "need 10; 10 is the smallest limit known to work",
          sked_method_run("auto", &p, NULL, &result, err));
    p.memory_limit = 10;
    OK(sked_method_run("auto", &p, NULL, &result, err));
    assert_true(result.value == 4 && result.optimal == false ? true : result.value >= 3);
    sked_result_clear(&result);
    FAILS(SKED_ERR_UNSUPPORTED, "does not take memory limits",
          sked_method_run("heft", &p, NULL, &result, err));
    p.objective = SKED_OBJECTIVE_MEMORY;
    FAILS(SKED_ERR_UNSUPPORTED, "memory limits go with objective makespan", sked_problem_check(&p, err));
    p.memory_limit = INFINITY;
    p.horizon = 10;
    FAILS(SKED_ERR_UNSUPPORTED, "kept values", sked_method_run("exact", &p, NULL, &result, err));
    sked_graph_destroy(g);
}

/* A value that no device has room for. */
static void refusals_name_devices(void **state)
{
    (void)state;
    sked_graph *g =
        graph_of("{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"a\",\"duration\":1,\"memory\":5},"
                 "{\"name\":\"b\",\"duration\":1,\"memory\":3}],\"edges\":[[\"a\",\"b\"]]}");
    static const char machine[] = "{\"format\":\"sked-machine-1\",\"latency\":0,\"devices\":[{\"name\":\"x\","
                                  "\"memory\":7},{\"name\":\"y\",\"memory\":4}]}";
    sked_machine *m = NULL;
    sked_problem p;
    sked_problem_init(&p, g);
    OK(sked_machine_parse("m.json", machine, strlen(machine), &m, err));
    p.machine = m;
    FAILS(SKED_ERR_INFEASIBLE,
          "the largest device for it has 7, but while op 'b' runs the values 'a' (5), 'b' (3) need 8",
          sked_problem_check(&p, err));
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ methods */

/* Nothing better than best (NAN: unknown), no wrong proof. Returns the value, INFINITY: none was found. */
static double run_limited(const char *method, const sked_problem *p, int64_t iterations, double best,
                          int seed, bool *proved)
{
    sked_run_options opt;
    sked_result result = {.size = sizeof result};
    sked_error why = {0};
    sked_run_options_init(&opt);
    opt.iterations = iterations;
    opt.time_limit = INFINITY;
    const sked_status st = sked_method_run(method, p, &opt, &result, &why);
    *proved = false;
    if (st == SKED_ERR_INFEASIBLE || st == SKED_ERR_UNSUPPORTED) {
        *proved = st == SKED_ERR_INFEASIBLE && strstr(why.message, "not a proof") == NULL;
        if (*proved && best < INFINITY)
            fail_msg("%s seed %d: brute force has %g, but: %s", method, seed, best, why.message);
        return INFINITY;
    }
    if (st != SKED_OK)
        fail_msg("%s seed %d: %s", method, seed, why.message);
    OK(sked_schedule_validate(p, result.schedule[0], err));
    const double value = result.value;
    if (value < best || result.lower_bound > best || (result.optimal && value != best && !isnan(best)))
        fail_msg("%s seed %d: value %g, bound %g, optimal %d; brute force %g", method, seed, value,
                 result.lower_bound, result.optimal, best);
    *proved = result.optimal;
    sked_result_clear(&result);
    return value;
}

static void exact_meets_brute_force(void **state)
{
    (void)state;
    static const unsigned one_place[] = {0,
                                         RANDOM_KEEP,
                                         RANDOM_ORDER,
                                         RANDOM_KEEP | RANDOM_ZERO | RANDOM_LAGS,
                                         RANDOM_RESOURCES | RANDOM_LAGS,
                                         RANDOM_NEGATIVE | RANDOM_LAGS,
                                         RANDOM_FIX_START};
    int feasible = 0, proofs = 0;
    for (uint64_t seed = 0; seed < CASES(330); seed++) {
        random_problem r;
        bool proved;
        sked_i_lowered low = {0};
        make_limited(seed, one_place[seed % 6], 1, 5, &r);
        OK(sked_i_lower(&r.problem, &low, err));
        const bool may_bind = sked_i_has_memory_limit(&low.problem);
        sked_i_lowered_free(&low);
        if (r.problem.machine != NULL || !may_bind) {
            random_problem_free(&r);
            continue;
        }
        r.problem.devices = seed % 2; /* one device is as good as none but runs one op at a time */
        const double best = brute_force_times(&r.problem, HORIZON);
        const double value = run_limited("exact", &r.problem, 0, best, (int)seed, &proved);
        if (!proved || value != best)
            fail_msg("seed %d: exact %g (proved %d), brute force %g", (int)seed, value, proved, best);
        feasible += best < INFINITY;
        proofs += best == INFINITY;
        random_problem_free(&r);
    }
    assert_true(feasible > CASES(50) && proofs > CASES(40));
}

/* Where brute force ends, a proof still comes at once; `search` finds nothing better. */
static void exact_proves_more_ops(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t seed = 0; seed < CASES(20); seed++) {
        random_problem r;
        bool proved;
        random_problem_make(seed, RANDOM_LAGS | RANDOM_KEEP, 10, 12, &r);
        r.problem.devices = seed % 2;
        r.problem.memory_limit = 12 + (double)(seed % 8);
        if (sked_problem_check(&r.problem, NULL) == SKED_OK && sked_i_lower_memory_may_bind(&r.problem)) {
            const double value = run_limited("exact", &r.problem, 0, NAN, (int)seed, &proved);
            if (!proved)
                fail_msg("seed %d: %g is not proved", (int)seed, value);
            if (run_limited("search", &r.problem, 300, NAN, (int)seed, &proved) < value)
                fail_msg("seed %d: search finds less than %g", (int)seed, value);
            found += value < INFINITY;
        }
        random_problem_free(&r);
    }
    assert_true(found >= CASES(8));
}

static void methods_meet_brute_force(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "search", "auto"};
    int feasible = 0, found[3] = {0}, best_found[3] = {0};
    for (uint64_t seed = 0; seed < CASES(220); seed++) {
        random_problem r;
        bool proved;
        make_limited(seed, kinds[seed % n_kinds], 1, 5, &r);
        const double best = brute_force_times(&r.problem, HORIZON);
        feasible += best < INFINITY;
        for (int m = 0; m < 3; m++) {
            const double value = run_limited(methods[m], &r.problem, 300, best, (int)seed, &proved);
            found[m] += value < INFINITY;
            best_found[m] += value < INFINITY && value == best;
        }
        random_problem_free(&r);
    }
    assert_true(feasible > CASES(100));
    assert_true(found[0] >= feasible * 90 / 100 && found[1] >= feasible * 95 / 100 &&
                found[2] >= feasible * 97 / 100);
    assert_true(best_found[1] >= feasible * 90 / 100 && best_found[2] >= feasible * 95 / 100);
}

/*
 * Three sources fill a memory of 3; each needs one more for its reader. Whoever starts all sources at once is
 * stuck: the last must wait.
 */
static void no_dead_ends(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int k = 0; k < 6; k++) {
        int32_t op;
        OK(sked_builder_add_op(b, NULL, NULL, 2, &op, err));
        OK(sked_builder_set_memory(b, op, 1, err));
    }
    for (int k = 0; k < 3; k++)
        OK(sked_builder_add_edge(b, &(sked_edge){k, 3 + k, NAN, 0, 0}, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    for (int devices = 0; devices <= 4; devices++) {
        static const char *const methods[] = {"list", "search", "auto"};
        for (int m = 0; m < 3; m++) {
            sked_problem p;
            bool proved;
            sked_problem_init(&p, g);
            p.devices = devices;
            p.memory_limit = 3;
            const double value = run_limited(methods[m], &p, 200, NAN, devices, &proved);
            assert_true(value < INFINITY && value <= 12);
        }
    }
    sked_graph_destroy(g);
}

/* Real times and larger problems: whatever comes out is valid (the driver judges), and most is found. */
static void larger_problems_stay_valid(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "search", "auto"};
    int asked = 0, found = 0;
    for (uint64_t seed = 0; seed < CASES(220); seed++) {
        random_problem r;
        bool proved;
        const unsigned more = seed % 3 == 0 ? RANDOM_REAL : seed % 3 == 1 ? RANDOM_NEGATIVE | RANDOM_LAGS : 0;
        make_limited(seed, kinds[seed % n_kinds] | more, 8, 40, &r);
        r.problem.horizon = INFINITY;
        r.problem.memory_limit *= 7;
        const double value = run_limited(methods[seed / 3 % 3], &r.problem, 40, NAN, (int)seed, &proved);
        asked += !(proved && isinf(value));
        found += value < INFINITY;
        random_problem_free(&r);
    }
    assert_true(found > asked * 2 / 3);
}

/* The same seed and number of iterations: the same schedule, on one thread and on two. */
static void results_repeat(void **state)
{
    (void)state;
    int compared = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        random_problem r;
        sked_result result[2] = {{.size = sizeof *result}, {.size = sizeof *result}};
        random_problem_make(seed, RANDOM_TRANSFERS, 20, 30, &r);
        for (int32_t i = 0; i < r.graph->n_ops; i++)
            r.problem.memory_limit =
                (isinf(r.problem.memory_limit) ? 0 : r.problem.memory_limit) + 0.9 * r.graph->memory[i];
        sked_run_options opt;
        sked_run_options_init(&opt);
        opt.iterations = 400;
        opt.time_limit = INFINITY;
        opt.threads = 1 + (int)(seed % 2);
        if (sked_method_run("search", &r.problem, &opt, &result[0], NULL) == SKED_OK) {
            OK(sked_method_run("search", &r.problem, &opt, &result[1], err));
            const size_t size = (size_t)r.graph->n_ops * sizeof(double);
            assert_memory_equal(result[0].schedule[0]->start, result[1].schedule[0]->start, size);
            opt.start = result[0].schedule[0]; /* a warm start is never lost */
            opt.iterations = 1;
            sked_result_clear(&result[1]);
            OK(sked_method_run("search", &r.problem, &opt, &result[1], err));
            assert_true(result[1].value <= result[0].value);
            compared++;
        }
        sked_result_clear(&result[0]);
        sked_result_clear(&result[1]);
        random_problem_free(&r);
    }
    assert_true(compared > 6);
}

/* Makespan against the limit: refused values are points too, and more memory never makes it longer. */
static void sweeps_over_limits(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    const sked_generate_options how = {.size = sizeof how, .nodes = 40, .memory = "uniform:1,9"};
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem p;
    sked_sweep_options opt;
    sked_run_options run;
    sked_sweep_result w = {.size = sizeof w};
    const double limits[] = {5, 60, 80, 120, 200, 100};
    sked_problem_init(&p, g);
    p.devices = 3;
    sked_sweep_options_init(&opt);
    sked_run_options_init(&run);
    run.iterations = 100;
    opt.parameter = SKED_SWEEP_MEMORY_LIMIT;
    opt.values = limits;
    opt.n_values = 6;
    OK(sked_sweep("search", &p, &opt, &run, &w, err));
    assert_string_equal(w.x, "memory-limit");
    assert_string_equal(w.y, "makespan");
    assert_true(!w.point[0]->found && strstr(w.point[0]->reason, "the memory limit is 5") != NULL);
    assert_true(w.point[4]->found && w.point[5]->found);
    for (int k = 0; k < w.count; k++)
        if (w.point[k]->found) {
            assert_true(w.point[k]->x == limits[k] && w.point[k]->peak_memory <= limits[k]);
            assert_true(k == 0 || k == 5 || !w.point[k - 1]->found || w.point[k]->y <= w.point[k - 1]->y);
        }
    sked_sweep_result_clear(&w);
    sked_graph_destroy(g);
}

/* Carried edges lead to ops of which a decoder knows nothing yet: the same run again gives the same bytes. */
static void carried_edges_are_not_looked_at(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        sked_run_options opt;
        sked_result first = {.size = sizeof first}, again = {.size = sizeof again};
        random_problem_make(seed, RANDOM_LOOPS | RANDOM_DEVICES, 4, 12, &r);
        r.problem.memory_limit = 9;
        sked_run_options_init(&opt);
        opt.iterations = 2;
        opt.time_limit = INFINITY;
        if (sked_method_run("search", &r.problem, &opt, &first, NULL) == SKED_OK) {
            OK(sked_method_run("search", &r.problem, &opt, &again, err));
            assert_memory_equal(first.schedule[0]->start, again.schedule[0]->start,
                                (size_t)first.schedule[0]->ops * sizeof(double));
            assert_memory_equal(first.schedule[0]->device, again.schedule[0]->device,
                                (size_t)first.schedule[0]->ops * sizeof(int32_t));
        }
        sked_result_clear(&first);
        sked_result_clear(&again);
        random_problem_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carried_edges_are_not_looked_at),
        cmocka_unit_test(judge_and_profile_agree_with_steps),
        cmocka_unit_test(refusals_are_right),
        cmocka_unit_test(bounds_of_peaks_hold),
        cmocka_unit_test(refusals_name_values),
        cmocka_unit_test(refusals_name_devices),
        cmocka_unit_test(exact_meets_brute_force),
        cmocka_unit_test(exact_proves_more_ops),
        cmocka_unit_test(methods_meet_brute_force),
        cmocka_unit_test(no_dead_ends),
        cmocka_unit_test(larger_problems_stay_valid),
        cmocka_unit_test(results_repeat),
        cmocka_unit_test(sweeps_over_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
