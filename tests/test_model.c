/* Model files: solved by other solvers where they are installed, they give the optimum that `exact` proves.
 */
#define _POSIX_C_SOURCE 200809L
#include "brute_force.h"
#include "random_problem.h"
#include "test.h"

static bool installed(const char *command)
{
    char line[200];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", command);
    return system(line) == 0;
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

static char *file_at(const char *name)
{
    static char path[700];
    snprintf(path, sizeof path, "%s/%s", SKED_BINARY_DIR, name);
    return path;
}

/* Value after `key` in the output of a command; INFINITY: the key is not there. */
static double value_in(const char *command, const char *key)
{
    char line[1000];
    double value = INFINITY;
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        const char *at = strstr(line, key);
        if (at != NULL)
            value = atof(at + strlen(key));
    }
    pclose(pipe);
    return value;
}

/* Problems of every kind a model takes, small enough for brute force. */
static double make_case(int seed, random_problem *r)
{
    const unsigned kinds[] = {RANDOM_RESOURCES | RANDOM_LAGS, RANDOM_TRANSFERS, RANDOM_RESOURCES,
                              RANDOM_DEVICES | RANDOM_ZERO};
    const sked_objective objectives[] = {SKED_OBJECTIVE_MAKESPAN, SKED_OBJECTIVE_MAKESPAN,
                                         SKED_OBJECTIVE_COST, SKED_OBJECTIVE_MEMORY, SKED_OBJECTIVE_RESOURCE};
    double shortest;
    for (uint64_t k = 0;; k += 1000) { /* another draw where the horizon is too short */
        random_problem_make((uint64_t)seed + k, kinds[seed % 4], 2, 4, r);
        OK(sked_problem_bound(&r->problem, &shortest, NULL, err));
        r->problem.objective = objectives[seed % 5];
        if (r->problem.objective == SKED_OBJECTIVE_MEMORY && r->problem.devices > 1)
            r->problem.objective = SKED_OBJECTIVE_RESOURCE; /* copies have no model */
        r->problem.horizon = shortest + seed % 3;
        r->problem.alpha = 2;
        const double best = brute_force_times(&r->problem, (int)r->problem.horizon);
        if (isfinite(best))
            return best;
        random_problem_free(r);
    }
}

static double make_loop(int seed, random_problem *r)
{
    random_problem_make((uint64_t)seed, RANDOM_RESOURCES | RANDOM_LOOPS | (seed % 2 ? RANDOM_DEVICES : 0), 2,
                        4, r);
    r->problem.objective = SKED_OBJECTIVE_II;
    OK(sked_problem_bound(&r->problem, &r->problem.ii, NULL, err));
    sked_problem length = r->problem;
    length.objective = SKED_OBJECTIVE_MAKESPAN;
    double best;
    while (isinf(best = brute_force_times(&length, 16)))
        length.ii++;
    r->problem.ii = length.ii;
    return best;
}

static void solve_with_cbc(const sked_problem *p, const char *name, double best, int seed)
{
    char command[3000], solution[700];
    snprintf(solution, sizeof solution, "%s/model_solution.txt", SKED_BINARY_DIR);
    OK(sked_problem_export(p, file_at(name), NULL, err));
    snprintf(command, sizeof command,
             "cbc '%s' ratioGap 0 allowableGap 0 solve solution '%s' >/dev/null 2>&1; cat '%s'",
             file_at(name), solution, solution);
    remove(solution);
    const double value = value_in(command, "objective value");
    if (fabs(value - best) > 1e-6)
        fail_msg("%s of seed %d: CBC finds %g, brute force %g", name, seed, value, best);
}

static void linear_models_have_the_optimum(void **state)
{
    (void)state;
    if (!installed("cbc")) {
        print_message("skipped: the cbc command (package coinor-cbc) is not installed\n");
        skip();
    }
    for (int seed = 0; seed < 20; seed++) {
        random_problem r;
        const double best = make_case(seed, &r);
        solve_with_cbc(&r.problem, "model.lp", best, seed);
        solve_with_cbc(&r.problem, "model.mps", best, seed);
        random_problem_free(&r);
    }
    for (int seed = 0; seed < 6; seed++) {
        random_problem r;
        const double best = make_loop(seed, &r);
        solve_with_cbc(&r.problem, "loop.lp", best, seed);
        solve_with_cbc(&r.problem, "loop.mps", best, seed);
        random_problem_free(&r);
    }
}

static void solve_with_minizinc(const sked_problem *p, double best, int seed)
{
    char command[1500];
    OK(sked_problem_export(p, file_at("model.mzn"), NULL, err));
    snprintf(command, sizeof command,
             "minizinc --solver gecode --time-limit 20000 --output-objective --output-mode json '%s' 2>&1",
             file_at("model.mzn"));
    const double value = value_in(command, "\"_objective\" :");
    if (fabs(value - best) > 1e-6)
        fail_msg("seed %d: MiniZinc finds %g, brute force %g", seed, value, best);
}

static void minizinc_models_have_the_optimum(void **state)
{
    (void)state;
    if (!installed("minizinc") || !installed("fzn-gecode")) {
        print_message("skipped: minizinc or fzn-gecode is not installed\n");
        skip();
    }
    for (int seed = 0; seed < 10; seed++) {
        random_problem r;
        const double best = make_case(seed, &r);
        solve_with_minizinc(&r.problem, best, seed);
        random_problem_free(&r);
    }
    for (int seed = 0; seed < 4; seed++) {
        random_problem r;
        const double best = make_loop(seed, &r);
        solve_with_minizinc(&r.problem, best, seed);
        random_problem_free(&r);
    }
}

static void files_have_their_parts(void **state)
{
    (void)state;
    const char *const parts[][6] = {
        {"Minimize", "Subject To", "Bounds", "Generals", "End", NULL},
        {"ROWS", "COLUMNS", "RHS", "BOUNDS", "ENDATA", NULL},
        {"include", "var 0..latest: start", "cumulative(", "solve minimize", "output", NULL}};
    const char *const names[] = {"part.lp", "part.mps", "part.mzn"};
    random_problem r;
    random_problem_make(3, RANDOM_RESOURCES, 6, 6, &r);
    for (int k = 0; k < 3; k++) {
        OK(sked_problem_export(&r.problem, file_at(names[k]), NULL, err));
        char *text = read_all(file_at(names[k]));
        for (int j = 0; parts[k][j] != NULL; j++)
            if (strstr(text, parts[k][j]) == NULL)
                fail_msg("%s has no '%s'", names[k], parts[k][j]);
        free(text);
    }
    random_problem_free(&r);
}

static void refusals_say_why(void **state)
{
    (void)state;
    random_problem r;
    random_problem_make(2, RANDOM_RESOURCES | RANDOM_REAL, 4, 4, &r);
    FAILS(SKED_ERR_UNSUPPORTED, "whole numbers",
          sked_problem_export(&r.problem, file_at("no.lp"), NULL, err));
    FAILS(SKED_ERR_ARGUMENT, "no model format is called 'pl'",
          sked_problem_export(&r.problem, "-", "pl", err));
    FAILS(SKED_ERR_ARGUMENT, ".mzn", sked_problem_export(&r.problem, file_at("no.txt"), NULL, err));
    assert_true(sked_problem_exports("a.MPS", NULL));
    assert_false(sked_problem_exports("a.lp.json", NULL));
    random_problem_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_models_have_the_optimum),
        cmocka_unit_test(minizinc_models_have_the_optimum),
        cmocka_unit_test(files_have_their_parts),
        cmocka_unit_test(refusals_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
