/*
 * Every method of the table on every kind of problem that its features claim: what it returns is valid,
 * not below a proven optimum, and the same for the same seed. A new method is tested the day its table line
 * is added.
 */
#include "brute_force.h"
#include "random_problem.h"

#include "schedule/schedule.h"

/* One kind of problem: what random_problem_make gets, and the feature that asks for it. */
typedef struct kind {
    const char *name;
    unsigned flags;
    uint32_t needs;
} kind;

enum { unequal = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_MACHINES };

static const kind kinds[] = {
    {"free", RANDOM_LAGS, 0},
    {"negative lags", RANDOM_LAGS | RANDOM_NEGATIVE, 0},
    {"devices", RANDOM_DEVICES, SKED_CAN_DEVICES},
    {"devices, real", RANDOM_DEVICES | RANDOM_REAL | RANDOM_LAGS, SKED_CAN_DEVICES},
    {"devices, negative lags", RANDOM_DEVICES | RANDOM_NEGATIVE | RANDOM_ZERO, SKED_CAN_DEVICES},
    {"resources", RANDOM_RESOURCES, SKED_CAN_RESOURCES},
    {"resources, real", RANDOM_RESOURCES | RANDOM_REAL | RANDOM_LAGS, SKED_CAN_RESOURCES},
    {"resources, zero", RANDOM_RESOURCES | RANDOM_ZERO | RANDOM_NEGATIVE, SKED_CAN_RESOURCES},
    {"devices and resources", RANDOM_DEVICES | RANDOM_RESOURCES | RANDOM_LAGS,
     SKED_CAN_DEVICES | SKED_CAN_RESOURCES},
    {"transfers", RANDOM_TRANSFERS, SKED_CAN_DEVICES | SKED_CAN_TRANSFERS},
    {"transfers, real", RANDOM_TRANSFERS | RANDOM_REAL | RANDOM_ZERO | RANDOM_LAGS,
     SKED_CAN_DEVICES | SKED_CAN_TRANSFERS},
    {"transfers and resources", RANDOM_TRANSFERS | RANDOM_RESOURCES,
     SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES},
    {"carried edges, not pipelined", RANDOM_LOOPS | RANDOM_DEVICES, SKED_CAN_DEVICES},
    {"horizon", RANDOM_HORIZON, SKED_CAN_HORIZON},
    {"horizon, real", RANDOM_HORIZON | RANDOM_REAL | RANDOM_LAGS, SKED_CAN_HORIZON},
    {"horizon and devices", RANDOM_HORIZON | RANDOM_DEVICES, SKED_CAN_HORIZON | SKED_CAN_DEVICES},
    {"horizon and transfers", RANDOM_HORIZON | RANDOM_TRANSFERS,
     SKED_CAN_HORIZON | SKED_CAN_DEVICES | SKED_CAN_TRANSFERS},
    {"horizon and resources", RANDOM_HORIZON | RANDOM_RESOURCES | RANDOM_ZERO,
     SKED_CAN_HORIZON | SKED_CAN_RESOURCES},
    {"fixed devices", RANDOM_DEVICES | RANDOM_FIX_DEVICE, SKED_CAN_DEVICES | SKED_CAN_FIX},
    {"fixed devices and transfers", RANDOM_TRANSFERS | RANDOM_FIX_DEVICE,
     SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_FIX},
    {"fixed starts", RANDOM_FIX_START, SKED_CAN_FIX},
    {"fixed starts and resources", RANDOM_RESOURCES | RANDOM_FIX_START, SKED_CAN_RESOURCES | SKED_CAN_FIX},
    {"fixed starts and devices", RANDOM_DEVICES | RANDOM_FIX_START | RANDOM_FIX_DEVICE,
     SKED_CAN_DEVICES | SKED_CAN_FIX},
    {"fixed starts, real", RANDOM_DEVICES | RANDOM_FIX_START | RANDOM_REAL | RANDOM_LAGS,
     SKED_CAN_DEVICES | SKED_CAN_FIX},
    {"heterogeneous devices", RANDOM_UNEQUAL, unequal},
    {"heterogeneous devices, real", RANDOM_UNEQUAL | RANDOM_REAL | RANDOM_LAGS, unequal},
    {"heterogeneous devices, zero", RANDOM_UNEQUAL | RANDOM_ZERO | RANDOM_LAGS | RANDOM_NEGATIVE, unequal},
    {"heterogeneous devices and resources", RANDOM_UNEQUAL | RANDOM_RESOURCES | RANDOM_ZERO,
     unequal | SKED_CAN_RESOURCES},
    {"heterogeneous devices and horizon", RANDOM_UNEQUAL | RANDOM_HORIZON, unequal | SKED_CAN_HORIZON},
    {"fixed heterogeneous devices", RANDOM_UNEQUAL | RANDOM_FIX_DEVICE, unequal | SKED_CAN_FIX},
    {"fixed starts, heterogeneous devices", RANDOM_UNEQUAL | RANDOM_FIX_START | RANDOM_FIX_DEVICE,
     unequal | SKED_CAN_FIX},
};
enum { n_kinds = sizeof kinds / sizeof *kinds };

static bool takes(const sked_method_info *m, uint32_t needs)
{
    return (m->features & needs) == needs;
}

/* Iterations end a run. Where they do not (proofs, portfolios), the clock does, on fewer instances. */
enum { slower = 4 };
static const double time_limit = 0.1;

static bool is_slow(const char *method)
{
    return sked_method_find(method)->features & SKED_CAN_EXACT || strcmp(method, "auto") == 0;
}

static void short_run(sked_run_options *opt, const char *method, uint64_t seed)
{
    sked_run_options_init(opt);
    opt->seed = seed;
    opt->time_limit = is_slow(method) ? time_limit : 60;
    opt->iterations = 10;
}

static bool exists(const sked_problem *p)
{
    sked_problem any = *p;
    any.objective = SKED_OBJECTIVE_MAKESPAN;
    return isfinite(brute_force_times(&any, 40));
}

static bool same(const sked_result *a, const sked_result *b)
{
    bool equal = a->count == b->count && a->value == b->value;
    for (int32_t k = 0; equal && k < a->count; k++)
        for (int32_t i = 0; i < a->schedule[k]->ops; i++) {
            equal = equal && a->schedule[k]->start[i] == b->schedule[k]->start[i];
            if (a->schedule[k]->device)
                equal = equal && a->schedule[k]->device[i] == b->schedule[k]->device[i];
        }
    return equal;
}

static void check_result(const char *method, const char *name, uint64_t seed, const sked_problem *p,
                         const sked_result *r)
{
    assert_true(r->count >= 1);
    for (int32_t k = 0; k < r->count; k++) {
        sked_error why = {0};
        sked_metrics m = {.size = sizeof m};
        if (sked_schedule_validate(p, r->schedule[k], &why) != SKED_OK)
            fail_msg("%s, %s, seed %d: %s", method, name, (int)seed, why.message);
        OK(sked_schedule_measure(p, r->schedule[k], &m, err));
        assert_true(k > 0 ? m.value >= r->value : m.value == r->value);
    }
    assert_true(r->lower_bound <= r->value + 1e-9 * fmax(1, fabs(r->value)));
    assert_true(r->evaluations >= 0 && r->seconds >= 0);
}

/* Fixed starts and horizons can lead a heuristic astray; an op fixed on a device may be one it cannot run. */
static bool may_fail(const kind *k)
{
    const unsigned impossible = RANDOM_UNEQUAL | RANDOM_FIX_DEVICE;
    return k->flags & (RANDOM_FIX_START | RANDOM_HORIZON) || (k->flags & impossible) == impossible;
}

typedef enum outcome { FOUND, NOT_FOUND, REFUSED /* or left out */ } outcome;

/* Methods on a grid of whole times may refuse real ones, by name. */
static bool refuses_reals(const sked_problem *p, sked_status st, const sked_error *why)
{
    return st == SKED_ERR_UNSUPPORTED && !sked_i_problem_integral(p) && strstr(why->message, "whole");
}

/* gflownet builds op by op and needs a way between every two devices. */
static bool refuses_gaps(const sked_problem *p, sked_status st, const sked_error *why)
{
    return st == SKED_ERR_UNSUPPORTED && p->machine != NULL && strstr(why->message, "link between every two");
}

/* registers is for pipelines. */
static bool refuses_one_shot(const sked_problem *p, sked_status st, const sked_error *why)
{
    return st == SKED_ERR_UNSUPPORTED && p->ii == 0 && strstr(why->message, "an interval");
}

/* Runs twice; the second run must repeat the first. */
static outcome run_twice(const char *method, const char *name, uint64_t seed, const sked_problem *p)
{
    sked_run_options opt;
    sked_result first = {.size = sizeof first}, second = {.size = sizeof second};
    sked_error why = {0};
    if (is_slow(method) && seed % slower != 0)
        return REFUSED;
    short_run(&opt, method, seed);
    const sked_status st = sked_method_run(method, p, &opt, &first, &why);
    if (st == SKED_ERR_INFEASIBLE)
        return NOT_FOUND;
    /* features say what a method takes, not in which combinations */
    const bool combined =
        p->fix_device != NULL || (p->objective != SKED_OBJECTIVE_MAKESPAN && p->devices > 0);
    if (refuses_reals(p, st, &why) || refuses_gaps(p, st, &why) || refuses_one_shot(p, st, &why) ||
        (st == SKED_ERR_UNSUPPORTED && combined))
        return REFUSED;
    if (st != SKED_OK)
        fail_msg("%s, %s, seed %d: %s", method, name, (int)seed, why.message);
    check_result(method, name, seed, p, &first);
    OK(sked_method_run(method, p, &opt, &second, err));
    /* where the clock decides, two runs may differ, but not in what both have proved */
    const bool repeats = is_slow(method) ? !(first.optimal && second.optimal) || first.value == second.value
                                         : same(&first, &second);
    if (!repeats)
        fail_msg("%s, %s, %s, seed %d: two runs, two results (%g and %g)", method, name,
                 sked_objective_name(p->objective), (int)seed, first.value, second.value);
    sked_result_clear(&first);
    sked_result_clear(&second);
    return FOUND;
}

static void makespan_everywhere(void **state)
{
    (void)state;
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        for (int k = 0; k < n_kinds; k++) {
            int runs = 0, found = 0;
            if (!takes(info, kinds[k].needs | SKED_CAN_MAKESPAN))
                continue;
            for (uint64_t seed = 0; seed < CASES(8); seed++, runs++) {
                random_problem r;
                random_problem_make(seed, kinds[k].flags, 1, 9, &r);
                found += run_twice(info->name, kinds[k].name, seed, &r.problem) != NOT_FOUND;
                random_problem_free(&r);
            }
            if (may_fail(&kinds[k]) ? 2 * found < runs : found < runs)
                fail_msg("%s, %s: a schedule for %d of %d", info->name, kinds[k].name, found, runs);
        }
    }
}

/* The other objectives, with and without a horizon, and where claimed on limited machines. */
static void other_objectives(void **state)
{
    (void)state;
    static const struct {
        sked_objective objective;
        uint32_t need;
    } objectives[] = {{SKED_OBJECTIVE_RESOURCE, SKED_CAN_RESOURCE},
                      {SKED_OBJECTIVE_MEMORY, SKED_CAN_MEMORY},
                      {SKED_OBJECTIVE_COST, SKED_CAN_COST}};
    for (int m = 0; m < sked_method_count(); m++)
        for (int o = 0; o < 3; o++)
            for (int k = 0; k < n_kinds; k++) {
                const sked_method_info *info = sked_method_at(m);
                if (!takes(info, kinds[k].needs | objectives[o].need))
                    continue;
                for (uint64_t seed = 0; seed < CASES(4); seed++) {
                    random_problem r;
                    random_problem_make(seed, kinds[k].flags, 1, 9, &r);
                    r.problem.objective = objectives[o].objective;
                    if (run_twice(info->name, kinds[k].name, seed, &r.problem) == NOT_FOUND &&
                        !may_fail(&kinds[k]))
                        fail_msg("%s, %s, %s, seed %d: no schedule", info->name, kinds[k].name,
                                 sked_objective_name(r.problem.objective), (int)seed);
                    random_problem_free(&r);
                }
            }
}

/* Loops: II to find, II given, with devices or resources. */
static void pipelined(void **state)
{
    (void)state;
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        for (uint64_t seed = 0; seed < CASES(40); seed++) {
            const unsigned machine = seed % 2 ? RANDOM_DEVICES : RANDOM_RESOURCES;
            if (!takes(info,
                       SKED_CAN_LOOPS | SKED_CAN_II | (seed % 2 ? SKED_CAN_DEVICES : SKED_CAN_RESOURCES)))
                continue;
            random_problem r;
            random_problem_make(seed, RANDOM_LOOPS | RANDOM_LAGS | machine, 1, 8, &r);
            r.problem.objective = SKED_OBJECTIVE_II;
            r.problem.ii = SKED_II_AUTO;
            if (run_twice(info->name, "loop", seed, &r.problem) == NOT_FOUND)
                fail_msg("%s, loop, seed %d: no schedule", info->name, (int)seed);
            random_problem_free(&r);
        }
    }
}

/* No method beats an optimum found by enumeration, and "optimal" is true when a method says so. */
static void never_below_the_optimum(void **state)
{
    (void)state;
    const unsigned flags[] = {RANDOM_DEVICES,
                              RANDOM_RESOURCES,
                              RANDOM_TRANSFERS,
                              RANDOM_DEVICES | RANDOM_RESOURCES | RANDOM_LAGS,
                              RANDOM_TRANSFERS | RANDOM_REAL,
                              RANDOM_UNEQUAL | RANDOM_LAGS | RANDOM_ZERO,
                              RANDOM_UNEQUAL | RANDOM_RESOURCES | RANDOM_REAL};
    const uint32_t needs[] = {SKED_CAN_DEVICES,
                              SKED_CAN_RESOURCES,
                              SKED_CAN_DEVICES | SKED_CAN_TRANSFERS,
                              SKED_CAN_DEVICES | SKED_CAN_RESOURCES,
                              SKED_CAN_DEVICES | SKED_CAN_TRANSFERS,
                              unequal,
                              unequal | SKED_CAN_RESOURCES};
    for (uint64_t seed = 0; seed < CASES(140); seed++) {
        random_problem r;
        random_problem_make(seed, flags[seed % 7], 1, 6, &r);
        const double optimum = brute_force_orders(&r.problem);
        for (int m = 0; m < sked_method_count(); m++) {
            const sked_method_info *info = sked_method_at(m);
            sked_run_options opt;
            sked_result result = {.size = sizeof result};
            if (!takes(info, needs[seed % 7] | SKED_CAN_MAKESPAN) ||
                (is_slow(info->name) && seed % slower != 0))
                continue;
            short_run(&opt, info->name, seed);
            sked_error why = {0};
            const sked_status st = sked_method_run(info->name, &r.problem, &opt, &result, &why);
            if (refuses_reals(&r.problem, st, &why) || refuses_gaps(&r.problem, st, &why))
                continue;
            if (st != SKED_OK)
                fail_msg("%s, seed %d: %s", info->name, (int)seed, why.message);
            if (result.value < optimum - 1e-9 || result.lower_bound > optimum + 1e-9 ||
                (result.optimal && result.value > optimum + 1e-9))
                fail_msg("%s, seed %d: value %g, bound %g, optimum %g", info->name, (int)seed, result.value,
                         result.lower_bound, optimum);
            sked_result_clear(&result);
        }
        random_problem_free(&r);
    }
}

/* A horizon that nothing keeps is never "kept", and one that exists is found often. */
static void tight_horizons(void **state)
{
    (void)state;
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        int possible = 0, found = 0;
        if (!takes(info, SKED_CAN_HORIZON | SKED_CAN_DEVICES | SKED_CAN_MAKESPAN))
            continue;
        for (uint64_t seed = 0; seed < CASES(60); seed++) {
            random_problem r;
            random_problem_make(seed, RANDOM_DEVICES | RANDOM_LAGS, 2, 5, &r);
            const double optimum = brute_force_orders(&r.problem);
            r.problem.horizon = optimum - (double)(seed % 2);
            const outcome got = run_twice(info->name, "tight horizon", seed, &r.problem);
            if (got == FOUND)
                assert_true(seed % 2 == 0);
            possible += seed % 2 == 0 && got != REFUSED;
            found += got == FOUND;
            random_problem_free(&r);
        }
        if (10 * found < 8 * possible)
            fail_msg("%s kept %d of %d horizons that can be kept", info->name, found, possible);
    }
}

/* Every value of every option of every method gives a valid schedule; nonsense is refused. */
static void all_options(void **state)
{
    (void)state;
    random_problem r;
    random_problem_make(3, RANDOM_DEVICES, 6, 9, &r);
    sked_problem loop = r.problem, shape = r.problem;
    loop.objective = SKED_OBJECTIVE_II;
    loop.ii = SKED_II_AUTO;
    shape.objective = SKED_OBJECTIVE_RESOURCE;
    shape.horizon = 60;
    shape.devices = 0;
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        const sked_problem *p = takes(info, SKED_CAN_MAKESPAN | SKED_CAN_DEVICES) ? &r.problem
                                : takes(info, SKED_CAN_LOOPS | SKED_CAN_II)       ? &loop
                                                                                  : &shape;
        for (int o = 0; o < info->n_options; o++) {
            const sked_option *option = &info->options[o];
            char text[8][100];
            int count = 0;
            if (option->kind == SKED_OPTION_ENUM)
                for (const char *c = option->choices; *c; count++) {
                    const int n = (int)strcspn(c, "|");
                    snprintf(text[count], sizeof *text, "%s=%.*s", option->name, n, c);
                    c += n + (c[n] == '|');
                }
            else if (option->kind == SKED_OPTION_BOOL)
                for (; count < 2; count++)
                    snprintf(text[count], sizeof *text, "%s=%s", option->name, count ? "yes" : "no");
            else
                snprintf(text[count++], sizeof *text, "%s=%s", option->name, option->preset);
            for (int k = 0; k < count; k++) {
                sked_run_options opt;
                sked_result result = {.size = sizeof result};
                const char *settings[] = {text[k]};
                short_run(&opt, info->name, 1);
                opt.settings = settings;
                opt.n_settings = 1;
                OK(sked_method_run(info->name, p, &opt, &result, err));
                check_result(info->name, text[k], 1, p, &result);
                sked_result_clear(&result);
                snprintf(text[k], sizeof *text, "%s=?", option->name);
                /* A text may be anything; these are names of files, and this one is of none. */
                const bool file = option->kind == SKED_OPTION_TEXT;
                FAILS(file ? SKED_ERR_IO : SKED_ERR_ARGUMENT, file ? "?" : option->name,
                      sked_method_run(info->name, p, &opt, &result, err));
            }
        }
    }
    random_problem_free(&r);
}

/* Every combination of list's options on every kind of problem. */
static void list_combinations(void **state)
{
    (void)state;
    static const char *const priority[] = {"priority=critical-path",   "priority=most-ops",
                                           "priority=shortest",        "priority=longest",
                                           "priority=most-successors", "priority=random"};
    static const char *const scheme[] = {"scheme=serial", "scheme=parallel"};
    static const char *const direction[] = {"direction=forward", "direction=backward"};
    for (int k = 0; k < n_kinds; k++)
        for (int c = 0; c < 24; c++)
            for (uint64_t seed = 100; seed < 100 + CASES(10); seed++) {
                const char *settings[] = {priority[c / 4], scheme[c % 2], direction[c / 2 % 2], "tries=3"};
                random_problem r;
                sked_run_options opt;
                sked_result result = {.size = sizeof result};
                random_problem_make(seed, kinds[k].flags, 1, 24, &r);
                short_run(&opt, "list", seed);
                opt.settings = settings;
                opt.n_settings = 4;
                sked_error why = {0};
                const sked_status st = sked_method_run("list", &r.problem, &opt, &result, &why);
                if (st == SKED_OK)
                    check_result("list", kinds[k].name, seed, &r.problem, &result);
                else if (st != SKED_ERR_INFEASIBLE || !may_fail(&kinds[k]))
                    fail_msg("list %s %s %s, %s, seed %d: %s", settings[0], settings[1], settings[2],
                             kinds[k].name, (int)seed, why.message);
                sked_result_clear(&result);
                random_problem_free(&r);
            }
}

/* k candidates: different, valid, best first, at the asked distance. */
static void candidates(void **state)
{
    (void)state;
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        if (!takes(info, SKED_CAN_CANDIDATES | SKED_CAN_DEVICES | SKED_CAN_MAKESPAN))
            continue;
        random_problem r;
        sked_run_options opt;
        sked_result result = {.size = sizeof result};
        random_problem_make(7, RANDOM_DEVICES, 20, 30, &r);
        r.problem.devices = 3;
        short_run(&opt, info->name, 5);
        opt.iterations = 2000;
        opt.candidates = 20;
        opt.top = 5;
        opt.min_distance = 1;
        OK(sked_method_run(info->name, &r.problem, &opt, &result, err));
        check_result(info->name, "candidates", 7, &r.problem, &result);
        if (result.count < 2 || result.count > 5)
            fail_msg("%s: %d candidates", info->name, (int)result.count);
        for (int32_t a = 0; a < result.count; a++)
            for (int32_t b = 0; b < a; b++) {
                const sked_schedule *pair[] = {result.schedule[a], result.schedule[b]};
                sked_diversity d = {.size = sizeof d};
                OK(sked_schedules_diversity(&r.problem, pair, 2, &d, err));
                assert_true(d.ged >= 1);
            }
        sked_result_clear(&result);
        random_problem_free(&r);
    }
}

/* What a method does not claim is refused by name; what nobody is called is refused with a hint. */
static void refusals(void **state)
{
    (void)state;
    random_problem r;
    sked_result result = {.size = sizeof result};
    random_problem_make(1, RANDOM_DEVICES | RANDOM_TRANSFERS | RANDOM_RESOURCES, 3, 5, &r);
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        assert_non_null(sked_method_find(info->name));
        assert_true(info->summary != NULL && info->summary[0] != 0);
        if (!takes(info, SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_MAKESPAN))
            FAILS(SKED_ERR_UNSUPPORTED, "does not take",
                  sked_method_run(info->name, &r.problem, NULL, &result, err));
    }
    FAILS(SKED_ERR_ARGUMENT, "did you mean 'list'?",
          sked_method_run("lisst", &r.problem, NULL, &result, err));
    FAILS(SKED_ERR_ARGUMENT, "no method", sked_method_run("", &r.problem, NULL, &result, err));
    random_problem_free(&r);
}

/* Engines divide whole times by their common divisor: 1 / (1 / 49) is not 49. */
static void whole_times_stay_whole(void **state)
{
    (void)state;
    static const double times[] = {49, 93, 1e6 + 3, 8e15, 9e15, 0x1p53 - 1, 0x1p53, 1e30};
    for (size_t k = 0; k < sizeof times / sizeof *times; k++)
        for (int m = 0; m < sked_method_count(); m++) {
            const sked_method_info *info = sked_method_at(m);
            sked_builder *b = NULL;
            sked_graph *g = NULL;
            sked_problem p;
            sked_run_options opt;
            sked_result r = {.size = sizeof r};
            int32_t op;
            OK(sked_builder_create(&b, err));
            for (int32_t i = 0; i < 3; i++)
                OK(sked_builder_add_op(b, NULL, NULL, times[k], &op, err));
            for (int32_t i = 0; i < 2; i++)
                OK(sked_builder_add_edge(b, &(sked_edge){i, i + 1, NAN, 0, 0}, err));
            OK(sked_builder_finish(b, &g, err));
            sked_builder_destroy(b);
            sked_problem_init(&p, g);
            p.devices = 2;
            sked_run_options_init(&opt);
            opt.iterations = 20;
            const sked_status st = sked_method_run(info->name, &p, &opt, &r, NULL);
            assert_true(st == SKED_OK || st == SKED_ERR_UNSUPPORTED);
            for (int32_t i = 0; st == SKED_OK && i < 3; i++)
                assert_true(r.schedule[0]->start[i] == i * times[k]);
            for (int32_t i = 0; st == SKED_OK && i < r.n_curve; i++)
                assert_true(r.curve[i]->value == rint(r.curve[i]->value));
            sked_result_clear(&r);
            sked_graph_destroy(g);
        }
}

/* Neither no time at all nor a stop is a reason for no answer. */
static void no_time_still_gives_a_schedule(void **state)
{
    (void)state;
    static const sked_objective objectives[] = {SKED_OBJECTIVE_MAKESPAN, SKED_OBJECTIVE_MEMORY,
                                                SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_II};
    for (uint64_t seed = 0; seed < 8; seed++) {
        volatile sig_atomic_t stop = 0;
        random_problem r;
        sked_run_options opt;
        sked_result result = {.size = sizeof result};
        random_problem_make(seed, RANDOM_RESOURCES | (seed % 4 == 3 ? RANDOM_LOOPS : 0), 5, 9, &r);
        r.problem.objective = objectives[seed % 4];
        r.problem.ii = seed % 4 == 3 ? SKED_II_AUTO : 0;
        sked_run_options_init(&opt);
        opt.time_limit = 0;
        opt.stop = &stop;
        opt.threads = 1 + (int)(seed / 4);
        OK(sked_method_run("auto", &r.problem, &opt, &result, err));
        check_result("auto", "no time", seed, &r.problem, &result);
        sked_result_clear(&result);
        stop = 1;
        OK(sked_method_run("auto", &r.problem, &opt, &result, err));
        check_result("auto", "a stop", seed, &r.problem, &result);
        sked_result_clear(&result);
        random_problem_free(&r);
    }
}

/* Two ops on one unit, the second two steps after the first: length 4 at interval 2, length 3 at interval 3.
 */
static void smallest_interval_comes_first(void **state)
{
    (void)state;
    static const char *const methods[] = {"auto", "modulo-list", "modulo-search"};
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_problem p;
    int32_t unit, op[2];
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "unit", 1, &unit, err));
    for (int i = 0; i < 2; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1, &op[i], err));
        OK(sked_builder_add_demand(b, op[i], unit, 1, err));
    }
    const sked_edge edge = {.from = op[0], .to = op[1], .lag = 2};
    OK(sked_builder_add_edge(b, &edge, err));
    OK(sked_builder_finish(b, &g, err));
    sked_problem_init(&p, g);
    p.ii = SKED_II_AUTO;
    for (int k = 0; k < 6; k++) {
        sked_run_options opt;
        sked_result result = {.size = sizeof result};
        sked_run_options_init(&opt);
        opt.time_limit = 0.5;
        opt.threads = 1 + k / 3;
        OK(sked_method_run(methods[k % 3], &p, &opt, &result, err));
        if (result.schedule[0]->ii != 2 || result.value != 4)
            fail_msg("%s: interval %g, length %g", methods[k % 3], result.schedule[0]->ii, result.value);
        sked_result_clear(&result);
    }
    sked_graph_destroy(g);
    sked_builder_destroy(b);
}

/* An infeasible problem is refuted before any method runs, and outputs stay untouched. */
static void infeasible(void **state)
{
    (void)state;
    random_problem r;
    random_problem_make(2, RANDOM_DEVICES | RANDOM_HORIZON, 4, 6, &r);
    r.problem.horizon = 0.5;
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        sked_result result = {.size = sizeof result, .count = -7};
        if (!takes(info, SKED_CAN_DEVICES | SKED_CAN_HORIZON | SKED_CAN_MAKESPAN))
            continue;
        FAILS(SKED_ERR_INFEASIBLE, "horizon", sked_method_run(info->name, &r.problem, NULL, &result, err));
        assert_int_equal(result.count, -7);
    }
    random_problem_free(&r);
}

/* No ops, one op. */
static void smallest_graphs(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        sked_builder *b = NULL;
        sked_graph *g = NULL;
        OK(sked_builder_create(&b, err));
        if (n)
            OK(sked_builder_add_op(b, "only", NULL, 3, NULL, err));
        OK(sked_builder_finish(b, &g, err));
        sked_builder_destroy(b);
        for (int m = 0; m < sked_method_count(); m++) {
            const sked_method_info *info = sked_method_at(m);
            sked_problem p;
            sked_run_options opt;
            sked_result result = {.size = sizeof result};
            if (!takes(info, SKED_CAN_DEVICES | SKED_CAN_MAKESPAN))
                continue;
            sked_problem_init(&p, g);
            p.devices = 2;
            short_run(&opt, info->name, 0);
            OK(sked_method_run(info->name, &p, &opt, &result, err));
            assert_true(result.value == 3 * n && result.optimal);
            sked_result_clear(&result);
        }
        sked_graph_destroy(g);
    }
}

/* The random horizons and fixed starts of this file can be kept: the tests above rest on it. */
static void random_limits_can_be_kept(void **state)
{
    (void)state;
    const unsigned flags[] = {RANDOM_DEVICES | RANDOM_FIX_START, RANDOM_RESOURCES | RANDOM_HORIZON,
                              RANDOM_DEVICES | RANDOM_FIX_START | RANDOM_FIX_DEVICE};
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        random_problem_make(seed, flags[seed % 3], 1, 3, &r);
        assert_true(exists(&r.problem));
        random_problem_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_limits_can_be_kept),
        cmocka_unit_test(makespan_everywhere),
        cmocka_unit_test(other_objectives),
        cmocka_unit_test(pipelined),
        cmocka_unit_test(never_below_the_optimum),
        cmocka_unit_test(tight_horizons),
        cmocka_unit_test(all_options),
        cmocka_unit_test(list_combinations),
        cmocka_unit_test(candidates),
        cmocka_unit_test(refusals),
        cmocka_unit_test(whole_times_stay_whole),
        cmocka_unit_test(no_time_still_gives_a_schedule),
        cmocka_unit_test(smallest_interval_comes_first),
        cmocka_unit_test(infeasible),
        cmocka_unit_test(smallest_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
