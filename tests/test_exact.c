/* The exact method against brute force, its proofs of infeasibility, refusals, determinism. */
#define _POSIX_C_SOURCE 200809L
#include "brute_force.h"
#include "random_problem.h"
#include "test.h"

#include <sys/resource.h>
#include <unistd.h>

typedef struct settings {
    const char *list[4];
    int count;
} settings;

/* warm-start=0: the engine itself has to find the optimum. */
static sked_status run_exact(const sked_problem *p, settings s, sked_result *r, sked_error *err)
{
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.time_limit = 20;
    opt.settings = s.list;
    opt.n_settings = s.count;
    return sked_method_run("exact", p, &opt, r, err);
}

static void compare(unsigned kind, int low, int high, int count, settings s)
{
    for (int k = 0; k < count; k++) {
        random_problem r;
        random_problem_make((uint64_t)k, kind, low, high, &r);
        const bool orders =
            !(kind & (RANDOM_NEGATIVE | RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_HORIZON));
        const double best = orders ? brute_force_orders(&r.problem) : brute_force_times(&r.problem, 40);
        sked_result result = {.size = sizeof result};
        sked_error e = {0};
        const sked_status st = run_exact(&r.problem, s, &result, &e);
        if (isinf(best)) {
            if (st != SKED_ERR_INFEASIBLE)
                fail_msg("kind %u seed %d: status %d for an infeasible problem", kind, k, (int)st);
        } else {
            if (st != SKED_OK)
                fail_msg("kind %u seed %d: %s", kind, k, e.message);
            if (!result.optimal || fabs(result.value - best) > 1e-7)
                fail_msg("kind %u seed %d: value %.12g (optimal %d), brute force %.12g", kind, k,
                         result.value, result.optimal, best);
            sked_result_clear(&result);
        }
        random_problem_free(&r);
    }
}

static const settings alone = {{"warm-start=0"}, 1};
static const settings with_search = {{NULL}, 0};

static void branch_meets_brute_force(void **state)
{
    (void)state;
    const unsigned kinds[] = {RANDOM_DEVICES, RANDOM_RESOURCES, RANDOM_RESOURCES | RANDOM_LAGS,
                              RANDOM_DEVICES | RANDOM_RESOURCES | RANDOM_LAGS | RANDOM_ZERO,
                              RANDOM_DEVICES | RANDOM_LAGS};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        compare(kinds[i], 2, 7, 60, alone);
    compare(RANDOM_RESOURCES | RANDOM_NEGATIVE | RANDOM_LAGS, 2, 5, 30, alone);
    compare(RANDOM_RESOURCES | RANDOM_FIX_START, 2, 5, 30, alone);
}

/* Transfers, some devices fixed, times of many decimals: devices are to choose. */
static void assignment_meets_brute_force(void **state)
{
    (void)state;
    const unsigned kinds[] = {RANDOM_TRANSFERS, RANDOM_TRANSFERS | RANDOM_RESOURCES | RANDOM_LAGS,
                              RANDOM_TRANSFERS | RANDOM_REAL, RANDOM_DEVICES | RANDOM_REAL | RANDOM_LAGS};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        compare(kinds[i], 2, 6, 60, alone);
    compare(RANDOM_TRANSFERS, 7, 7, 6, alone);
    compare(RANDOM_DEVICES | RANDOM_FIX_DEVICE, 2, 4, 30, alone);
    compare(RANDOM_TRANSFERS | RANDOM_FIX_DEVICE | RANDOM_FIX_START, 2, 4, 30, alone);
    compare(RANDOM_TRANSFERS | RANDOM_HORIZON, 2, 4, 30, alone);
}

static void warm_start_changes_nothing(void **state)
{
    (void)state;
    compare(RANDOM_DEVICES | RANDOM_RESOURCES, 2, 7, 60, with_search);
    compare(RANDOM_TRANSFERS, 2, 6, 40, with_search);
}

/* Both engines share no code but must agree. */
static void engines_agree(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        random_problem r;
        sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
        random_problem_make((uint64_t)k, RANDOM_RESOURCES | RANDOM_LAGS, 6, 8, &r);
        OK(run_exact(&r.problem, alone, &a, err));
        OK(run_exact(&r.problem, (settings){{"engine=cbc"}, 1}, &b, err));
        assert_true(a.optimal);
        if (b.optimal && a.value != b.value)
            fail_msg("seed %d: branch proves %g, cbc %g", k, a.value, b.value);
        sked_result_clear(&a);
        sked_result_clear(&b);
        random_problem_free(&r);
    }
}

/* ------------------------------------------------------------------ linear models */

static void compare_model(const sked_problem *p, double best, settings s, unsigned kind, int seed)
{
    sked_result result = {.size = sizeof result};
    sked_error e = {0};
    const sked_status st = run_exact(p, s, &result, &e);
    if (isinf(best)) {
        if (st != SKED_ERR_INFEASIBLE)
            fail_msg("kind %u seed %d: status %d for an infeasible problem: %s", kind, seed, (int)st,
                     e.message);
        return;
    }
    if (st != SKED_OK)
        fail_msg("kind %u seed %d: %s", kind, seed, e.message);
    if (!result.optimal || fabs(result.value - best) > 1e-6)
        fail_msg("kind %u seed %d %s: value %.12g (optimal %d), brute force %.12g", kind, seed,
                 sked_objective_name(p->objective), result.value, result.optimal, best);
    sked_result_clear(&result);
}

static const settings cbc_alone = {{"warm-start=0", "engine=cbc"}, 2};

static void models_meet_brute_force(void **state)
{
    (void)state;
    const sked_objective objectives[] = {SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_MEMORY, SKED_OBJECTIVE_COST,
                                         SKED_OBJECTIVE_MAKESPAN};
    const unsigned kinds[] = {RANDOM_LAGS, RANDOM_RESOURCES | RANDOM_ZERO, RANDOM_TRANSFERS,
                              RANDOM_RESOURCES | RANDOM_NEGATIVE};
    for (size_t k = 0; k < 4; k++)
        for (int seed = 0; seed < 12; seed++) {
            random_problem r;
            double shortest;
            random_problem_make((uint64_t)seed, kinds[k], 2, 4, &r);
            OK(sked_problem_bound(&r.problem, &shortest, NULL, err));
            r.problem.horizon = shortest + seed % 3;
            r.problem.objective = objectives[(seed + (int)k) % 4];
            if (r.problem.objective == SKED_OBJECTIVE_MEMORY && r.problem.devices > 1)
                r.problem.objective = SKED_OBJECTIVE_RESOURCE; /* copies have no model */
            r.problem.alpha = 0.5;
            const double best = brute_force_times(&r.problem, (int)r.problem.horizon);
            compare_model(&r.problem, best, cbc_alone, kinds[k], seed);
            random_problem_free(&r);
        }
}

/* Given interval: least length; interval sought: brute force over intervals. */
static void loops_meet_brute_force(void **state)
{
    (void)state;
    for (int seed = 0; seed < 15; seed++) {
        random_problem r;
        double least;
        random_problem_make((uint64_t)seed, RANDOM_RESOURCES | RANDOM_LOOPS, 2, 4, &r);
        r.problem.objective = SKED_OBJECTIVE_II;
        r.problem.ii = SKED_II_AUTO;
        OK(sked_problem_bound(&r.problem, &least, NULL, err));
        sked_problem fixed = r.problem;
        fixed.objective = SKED_OBJECTIVE_MAKESPAN;
        double length = INFINITY;
        for (fixed.ii = least; isinf(length); fixed.ii++)
            length = brute_force_times(&fixed, 16);
        fixed.ii--;
        sked_result result = {.size = sizeof result};
        OK(run_exact(&r.problem, cbc_alone, &result, err));
        assert_true(result.optimal);
        assert_true(result.value == fixed.ii);
        sked_metrics m = {.size = sizeof m};
        OK(sked_schedule_measure(&r.problem, result.schedule[0], &m, err));
        if (m.makespan != length)
            fail_msg("seed %d: length %g at interval %g, brute force %g", seed, m.makespan, fixed.ii, length);
        sked_result_clear(&result);
        compare_model(&fixed, length, cbc_alone, RANDOM_LOOPS, seed);
        random_problem_free(&r);
    }
}

/* Seconds of processor time, of the processes that CBC ran in, too: the machine may be busy with other tests.
 */
static double processor_time(void)
{
    static const int who[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    double seconds = 0;
    for (int k = 0; k < 2; k++) {
        struct rusage used;
        getrusage(who[k], &used);
        seconds += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    }
    return seconds;
}

/* CBC's first relaxation of such a model takes seconds. */
static sked_graph *slow_for_cbc(void)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 1, 0);
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 70; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1 + (double)sked_i_rng_below(&rng, 3), NULL, err));
        OK(sked_builder_set_memory(b, i, 1 + (double)sked_i_rng_below(&rng, 9), err));
        for (int k = 0; k < 3 && i > 30; k++) {
            const sked_edge edge = {.from = (int32_t)sked_i_rng_below(&rng, (uint64_t)i - 20),
                                    .to = i,
                                    .lag = SKED_LAG_DEFAULT,
                                    .bytes = 1};
            OK(sked_builder_add_edge(b, &edge, err));
        }
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* A run of one second, whatever the iterations: its processor time, and no proof. */
static void one_second(const sked_problem *p, int threads, int64_t iterations)
{
    sked_run_options opt;
    sked_result result = {.size = sizeof result};
    sked_run_options_init(&opt);
    opt.time_limit = 1;
    opt.threads = threads;
    opt.iterations = iterations;
    const double before = processor_time();
    OK(sked_method_run("exact", p, &opt, &result, err));
    const double used = processor_time() - before;
    if (used > threads + 0.8)
        fail_msg("%g s on %d threads of 1 s, %d iterations", used, threads, (int)iterations);
    assert_true(!result.optimal);
    sked_result_clear(&result);
}

/* Limits and stops are kept all the same. */
static void cbc_stops_at_once(void **state)
{
    (void)state;
    sked_graph *g = slow_for_cbc();
    sked_problem p;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.horizon = 60;
    one_second(&p, 1, 0);
    one_second(&p, 1, 7);
    one_second(&p, 2, 0);
    sked_graph_destroy(g);
}

/* Without a process that can be ended, CBC is not asked: the limit holds, and no run fails that has a
 * schedule. */
static void no_process_for_cbc(void **state)
{
    (void)state;
    struct rlimit files, none = {0};
    sked_graph *g = slow_for_cbc();
    sked_result result = {.size = sizeof result};
    sked_problem p;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.horizon = 60;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none.rlim_max = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0); /* no pipe */
    one_second(&p, 1, 7);
    FAILS(SKED_ERR_STOPPED, "no process", run_exact(&p, alone, &result, err));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    sked_graph_destroy(g);
}

/* What a program has printed before, CBC's process does not print again. */
static void nothing_is_printed_twice(void **state)
{
    (void)state;
    random_problem r;
    sked_result result = {.size = sizeof result};
    FILE *const f = tmpfile();
    assert_non_null(f);
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    random_problem_make(1, 0, 6, 6, &r);
    r.problem.objective = SKED_OBJECTIVE_RESOURCE;
    r.problem.horizon = 30;
    assert_true(dup2(fileno(f), STDOUT_FILENO) >= 0);
    printf("once");
    sked_error e = {0};
    const sked_status st = run_exact(&r.problem, alone, &result, &e);
    fflush(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    close(kept);
    assert_int_equal(st, SKED_OK);
    assert_int_equal(lseek(fileno(f), 0, SEEK_END), 4);
    fclose(f);
    sked_result_clear(&result);
    random_problem_free(&r);
}

static void refuses_what_is_too_large(void **state)
{
    (void)state;
    random_problem r;
    sked_result result = {.size = sizeof result};
    random_problem_make(1, RANDOM_RESOURCES, 8, 8, &r);
    FAILS(SKED_ERR_UNSUPPORTED, "max-ops=4",
          run_exact(&r.problem, (settings){{"max-ops=4"}, 1}, &result, err));
    r.problem.objective = SKED_OBJECTIVE_MEMORY;
    r.problem.horizon = 60;
    FAILS(SKED_ERR_UNSUPPORTED, "columns",
          run_exact(&r.problem, (settings){{"max-columns=10", "warm-start=0"}, 2}, &result, err));
    FAILS(SKED_ERR_UNSUPPORTED, "engine branch",
          run_exact(&r.problem, (settings){{"engine=branch"}, 1}, &result, err));
    random_problem_free(&r);
    random_problem_make(1, RANDOM_RESOURCES | RANDOM_REAL, 8, 8, &r);
    FAILS(SKED_ERR_UNSUPPORTED, "where times are whole", run_exact(&r.problem, alone, &result, err));
    random_problem_free(&r);
}

/* However soon the time is up, nothing above the optimum (23, by a run of 20 s) is called optimal or a bound.
 */
static void no_proof_by_running_out_of_time(void **state)
{
    (void)state;
    random_problem r;
    random_problem_make(3, RANDOM_TRANSFERS | RANDOM_FIX_DEVICE, 8, 9, &r);
    r.problem.objective = SKED_OBJECTIVE_COST;
    for (int k = 0; k < 60; k++) {
        sked_run_options opt;
        sked_result result = {.size = sizeof result};
        sked_run_options_init(&opt);
        opt.time_limit = 1e-3 * (1 + k % 30);
        OK(sked_method_run("exact", &r.problem, &opt, &result, err));
        if (result.optimal && result.value > 23)
            fail_msg("after %g s: %g is not the optimum", opt.time_limit, result.value);
        if (result.lower_bound > 23)
            fail_msg("after %g s: %g is no bound", opt.time_limit, result.lower_bound);
        sked_result_clear(&result);
    }
    random_problem_free(&r);
}

/* A loop that CBC has no time for still has the schedule of modulo-list. */
static void loops_have_a_first_schedule(void **state)
{
    (void)state;
    const sked_generate_options o = {.size = sizeof o, .nodes = 120, .seed = 5};
    sked_graph *g = NULL;
    sked_problem p;
    sked_run_options opt;
    sked_result result = {.size = sizeof result};
    OK(sked_graph_generate("loop", &o, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_COST;
    p.ii = 60;
    sked_run_options_init(&opt);
    opt.time_limit = 0.3;
    opt.settings = (const char *const[]){"warm-start=1"};
    opt.n_settings = 1;
    OK(sked_method_run("exact", &p, &opt, &result, err));
    sked_result_clear(&result);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branch_meets_brute_force),
        cmocka_unit_test(assignment_meets_brute_force),
        cmocka_unit_test(warm_start_changes_nothing),
        cmocka_unit_test(engines_agree),
        cmocka_unit_test(models_meet_brute_force),
        cmocka_unit_test(loops_meet_brute_force),
        cmocka_unit_test(cbc_stops_at_once),
        cmocka_unit_test(no_process_for_cbc),
        cmocka_unit_test(nothing_is_printed_twice),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(no_proof_by_running_out_of_time),
        cmocka_unit_test(loops_have_a_first_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
