/* The method `fds`: against enumeration on small problems, a worked example, limits, published figures. */
#define _POSIX_C_SOURCE 200809L
#include "brute_force.h"
#include "random_problem.h"

#include <time.h>
#include <unistd.h>

static sked_status run(const sked_problem *p, int64_t iterations, double time_limit, const char *setting,
                       sked_result *out, sked_error *err)
{
    sked_run_options opt;
    const char *settings[] = {setting};
    sked_run_options_init(&opt);
    opt.iterations = iterations;
    opt.time_limit = time_limit;
    opt.settings = settings;
    opt.n_settings = setting != NULL;
    return sked_method_run("fds", p, &opt, out, err);
}

static void random_shape(uint64_t seed, unsigned flags, sked_objective objective, random_problem *r)
{
    random_problem_make(seed, flags, 3, 6, r);
    sked_graph_info info = {.size = sizeof info};
    OK(sked_graph_describe(r->graph, &info, err));
    r->problem.objective = objective;
    r->problem.alpha = 0.5;
    if (!(r->problem.horizon < INFINITY) && r->problem.fix_start == NULL)
        r->problem.horizon = info.critical_path + (double)(seed % 4);
}

/* Never below the optimum, and mostly at it. */
static void close_to_optimal(void **state)
{
    (void)state;
    static const sked_objective objective[] = {SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_COST,
                                               SKED_OBJECTIVE_MEMORY};
    for (int k = 0; k < 3; k++) {
        int solved = 0, met = 0;
        for (uint64_t seed = 0; seed < 100; seed++) {
            random_problem r;
            sked_result got = {.size = sizeof got};
            random_shape(seed, seed % 2 ? RANDOM_LAGS : RANDOM_ORDER, objective[k], &r);
            if (r.problem.horizon <= 12) {
                const double want = brute_force_times(&r.problem, 12);
                OK(run(&r.problem, 300, INFINITY, NULL, &got, err));
                if (got.value < want - 1e-9)
                    fail_msg("objective %d seed %d: %g is below the optimum %g", k, (int)seed, got.value,
                             want);
                solved++;
                met += got.value <= want + 1e-9;
            }
            sked_result_clear(&got);
            random_problem_free(&r);
        }
        assert_true(solved >= 40);
        if (100 * met < 95 * solved)
            fail_msg("objective %d: %d of %d optima", k, met, solved);
    }
}

/*
 * Two chains of two multiplications and four free ones in four steps: 8 ops, so two at a time is the least.
 * Force alone finds it, without refinement and with every neighbourhood.
 */
static void even_load(void **state)
{
    (void)state;
    static const char *const setting[] = {"refine=0", "neighbourhood=1", NULL};
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 8; i++)
        OK(sked_builder_add_op(b, NULL, "mul", 1, NULL, err));
    OK(sked_builder_add_edge(b, &(sked_edge){0, 1, SKED_LAG_DEFAULT, 0, 0}, err));
    OK(sked_builder_add_edge(b, &(sked_edge){2, 3, SKED_LAG_DEFAULT, 0, 0}, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem p;
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_RESOURCE;
    p.horizon = 4;
    for (int k = 0; k < 3; k++) {
        sked_result got = {.size = sizeof got};
        OK(run(&p, 0, INFINITY, setting[k], &got, err));
        assert_true(got.value == 2);
        sked_result_clear(&got);
    }
    sked_graph_destroy(g);
}

/* Machines with limits, fixed decisions: valid schedules, or a refusal where there may be none. */
static void limited_machines(void **state)
{
    (void)state;
    const unsigned flags[] = {RANDOM_DEVICES | RANDOM_HORIZON, RANDOM_RESOURCES | RANDOM_HORIZON,
                              RANDOM_TRANSFERS | RANDOM_HORIZON | RANDOM_FIX_DEVICE,
                              RANDOM_FIX_START | RANDOM_HORIZON | RANDOM_ZERO, RANDOM_NEGATIVE};
    for (uint64_t seed = 0; seed < 150; seed++) {
        random_problem r;
        sked_result got = {.size = sizeof got};
        sked_error why = {0};
        random_shape(seed, flags[seed % 5],
                     seed % 3 == 0   ? SKED_OBJECTIVE_RESOURCE
                     : seed % 3 == 1 ? SKED_OBJECTIVE_MEMORY
                                     : SKED_OBJECTIVE_COST,
                     &r);
        const sked_status st = run(&r.problem, 10, INFINITY, NULL, &got, &why);
        if (st == SKED_OK)
            OK(sked_schedule_validate(&r.problem, got.schedule[0], err));
        else if (st != SKED_ERR_INFEASIBLE || seed % 5 == 1)
            fail_msg("seed %d: %s", (int)seed, why.message);
        sked_result_clear(&got);
        random_problem_free(&r);
    }
}

/* Without a horizon, limits make schedules longer than the critical path that windows are made for. */
static void no_horizon(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        sked_result got = {.size = sizeof got};
        random_problem_make(seed, seed % 2 ? RANDOM_DEVICES : RANDOM_RESOURCES, 3, 20, &r);
        r.problem.objective = seed % 3 ? SKED_OBJECTIVE_RESOURCE : SKED_OBJECTIVE_MEMORY;
        OK(run(&r.problem, 40, INFINITY, NULL, &got, err));
        OK(sked_schedule_validate(&r.problem, got.schedule[0], err));
        sked_result_clear(&got);
        random_problem_free(&r);
    }
}

static void refuses_real_times(void **state)
{
    (void)state;
    random_problem r;
    sked_result got = {.size = sizeof got};
    random_shape(1, RANDOM_REAL, SKED_OBJECTIVE_RESOURCE, &r);
    FAILS(SKED_ERR_UNSUPPORTED, "whole times", run(&r.problem, 1, INFINITY, NULL, &got, err));
    random_problem_free(&r);
}

/* Large graphs, and hardly any time: there is a valid schedule all the same. */
static void time_limit_is_kept(void **state)
{
    (void)state;
    const sked_generate_options opt = {.size = sizeof opt,
                                       .nodes = 20000,
                                       .seed = 1,
                                       .duration = "int:1,3",
                                       .bytes = "int:0,4",
                                       .memory = "int:1,9"};
    sked_graph *g = NULL;
    OK(sked_graph_generate("layered", &opt, &g, err));
    sked_graph_info info = {.size = sizeof info};
    OK(sked_graph_describe(g, &info, err));
    for (int k = 0; k < 4; k++) {
        sked_problem p;
        sked_result got = {.size = sizeof got};
        sked_problem_init(&p, g);
        p.objective = k % 2 ? SKED_OBJECTIVE_MEMORY : SKED_OBJECTIVE_COST;
        p.alpha = 0.001;
        p.horizon = ceil(1.3 * info.critical_path);
        const double limit = k < 2 ? 0.01 : 1;
        const clock_t before = clock(); /* of this process: the machine may be busy with other tests */
        OK(run(&p, 0, limit, NULL, &got, err));
        const double used = (double)(clock() - before) / CLOCKS_PER_SEC;
        OK(sked_schedule_validate(&p, got.schedule[0], err));
        if (used > limit + 3) /* bounds and judging, with a sanitizer too */
            fail_msg("%g s of %g s", used, limit);
        sked_result_clear(&got);
    }
    sked_graph_destroy(g);
}

/* Least multipliers (counted a hundredfold), then others, at factor x critical path: the reference or better.
 */
static void express_graphs(void **state)
{
    (void)state;
    NEED_SHARED_DATA();
    static const struct {
        const char *name;
        double factor, value;
    } line[] = {
        {"hal", 1.5, 201},  {"ewf", 1, 303},  {"ewf", 1.5, 102}, {"matmul_dfg__3", 1, 1209},
        {"fir1", 1.5, 203}, {"fir1", 2, 202}, {"arf", 2, 201},   {"write_bmp_header_dfg__7", 1.5, 109}};
    char path[800], library[] = "/tmp/sked-test-library-XXXXXX";
    const int fd = mkstemp(library);
    assert_true(fd >= 0);
    static const char text[] =
        "{\"types\": {\"mul\": {\"duration\": 2, \"demand\": {\"MUL\": 100}}, \"div\": {\"duration\": 2, "
        "\"demand\": {\"MUL\": 100}}, \"*\": {\"duration\": 1, \"demand\": {\"ALU\": 1}}}, "
        "\"resources\": {\"MUL\": null, \"ALU\": null}}";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    for (size_t k = 0; k < sizeof line / sizeof *line; k++) {
        sked_graph *g = NULL;
        sked_result got = {.size = sizeof got};
        sked_problem p;
        sked_graph_info info = {.size = sizeof info};
        snprintf(path, sizeof path, "%s/express_dfg/%s.dot", shared_data(), line[k].name);
        OK(sked_graph_read(path, &(sked_read_options){.size = sizeof(sked_read_options), .library = library},
                           &g, err));
        OK(sked_graph_describe(g, &info, err));
        sked_problem_init(&p, g);
        p.objective = SKED_OBJECTIVE_RESOURCE;
        p.horizon = floor(line[k].factor * info.critical_path);
        OK(run(&p, 0, INFINITY, NULL, &got, err));
        if (got.value > line[k].value)
            fail_msg("%s at %g: %g, the reference is %g", line[k].name, line[k].factor, got.value,
                     line[k].value);
        sked_result_clear(&got);
        sked_graph_destroy(g);
    }
    unlink(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_to_optimal),   cmocka_unit_test(even_load),
        cmocka_unit_test(limited_machines),   cmocka_unit_test(no_horizon),
        cmocka_unit_test(refuses_real_times), cmocka_unit_test(time_limit_is_kept),
        cmocka_unit_test(express_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
