/*
 * Threads: every method of the table, on every kind of problem it takes, gives the same bytes twice for the
 * same seed and number of threads when iterations end the run. And what several threads find and prove is
 * true: against enumeration.
 */
#include "brute_force.h"
#include "random_problem.h"

#include "base/thread.h"
#include "schedule/schedule.h"

typedef struct kind {
    const char *name;
    unsigned flags;
    sked_objective objective;
    uint32_t needs;
    int low, high; /* ops */
    bool loop;
} kind;

#define LOOPS (SKED_CAN_LOOPS | SKED_CAN_RESOURCES)
static const kind kinds[] = {
    {"makespan, devices", RANDOM_DEVICES, SKED_OBJECTIVE_MAKESPAN, SKED_CAN_MAKESPAN | SKED_CAN_DEVICES, 25,
     30, false},
    {"makespan, resources", RANDOM_RESOURCES | RANDOM_LAGS, SKED_OBJECTIVE_MAKESPAN,
     SKED_CAN_MAKESPAN | SKED_CAN_RESOURCES, 20, 26, false},
    {"makespan, transfers", RANDOM_TRANSFERS, SKED_OBJECTIVE_MAKESPAN,
     SKED_CAN_MAKESPAN | SKED_CAN_DEVICES | SKED_CAN_TRANSFERS, 15, 20, false},
    {"makespan, heterogeneous devices", RANDOM_UNEQUAL, SKED_OBJECTIVE_MAKESPAN,
     SKED_CAN_MAKESPAN | SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_MACHINES, 15, 20, false},
    {"resource", RANDOM_HORIZON, SKED_OBJECTIVE_RESOURCE, SKED_CAN_RESOURCE | SKED_CAN_HORIZON, 6, 7, false},
    {"memory", RANDOM_HORIZON, SKED_OBJECTIVE_MEMORY, SKED_CAN_MEMORY | SKED_CAN_HORIZON, 6, 7, false},
    {"cost", RANDOM_HORIZON, SKED_OBJECTIVE_COST, SKED_CAN_COST | SKED_CAN_HORIZON, 6, 7, false},
    {"ii", RANDOM_LOOPS | RANDOM_RESOURCES | RANDOM_LAGS, SKED_OBJECTIVE_II, LOOPS | SKED_CAN_II, 10, 14,
     true},
};
enum { n_kinds = sizeof kinds / sizeof *kinds };

static void options_for(const kind *k, int threads, uint64_t seed, sked_run_options *opt)
{
    sked_run_options_init(opt);
    opt->time_limit = 3600; /* never what ends a run here */
    opt->iterations = k->loop ? 40 : k->objective == SKED_OBJECTIVE_MAKESPAN ? 30 : 5;
    opt->threads = threads;
    opt->seed = seed;
}

static void make(const kind *k, uint64_t seed, random_problem *r)
{
    random_problem_make(seed, k->flags, k->low, k->high, r);
    r->problem.objective = k->objective;
    if (k->loop)
        r->problem.ii = SKED_II_AUTO;
}

static bool same_schedule(const sked_schedule *a, const sked_schedule *b)
{
    const size_t n = (size_t)a->ops;
    return a->ops == b->ops && a->ii == b->ii && memcmp(a->start, b->start, n * sizeof *a->start) == 0 &&
           (a->device == NULL || memcmp(a->device, b->device, n * sizeof *a->device) == 0);
}

static bool same(const sked_result *a, const sked_result *b)
{
    bool equal = a->count == b->count && a->value == b->value && a->lower_bound == b->lower_bound &&
                 a->optimal == b->optimal && a->evaluations == b->evaluations &&
                 strcmp(a->method, b->method) == 0;
    for (int32_t k = 0; equal && k < a->count; k++)
        equal = same_schedule(a->schedule[k], b->schedule[k]);
    return equal;
}

static void run_twice(const sked_method_info *info, const kind *k, uint64_t seed, int threads)
{
    random_problem r;
    sked_run_options opt;
    sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
    sked_error why = {0};
    make(k, seed, &r);
    options_for(k, threads, seed, &opt);
    opt.candidates = info->features & SKED_CAN_CANDIDATES && seed % 2 ? 3 : 1;
    const sked_status st = sked_method_run(info->name, &r.problem, &opt, &a, &why);
    if (st == SKED_OK) {
        if (!SANITIZED) /* what it finds, it finds in one run */
            OK(sked_method_run(info->name, &r.problem, &opt, &b, err));
        if (!SANITIZED && !same(&a, &b))
            fail_msg("%s, %s, seed %d, %d threads: two runs, two results (%g and %g)", info->name, k->name,
                     (int)seed, threads, a.value, b.value);
        for (int32_t s = 0; s < a.count; s++)
            OK(sked_schedule_validate(&r.problem, a.schedule[s], err));
    } else if (st != SKED_ERR_INFEASIBLE && st != SKED_ERR_UNSUPPORTED)
        fail_msg("%s, %s, seed %d, %d threads: %s", info->name, k->name, (int)seed, threads, why.message);
    sked_result_clear(&a);
    sked_result_clear(&b);
    random_problem_free(&r);
}

static void same_bytes_for_seed_and_threads(void **state)
{
    (void)state;
    for (int m = 0; m < sked_method_count(); m++)
        for (int k = 0; k < n_kinds; k++)
            for (int threads = SANITIZED ? 3 : 1; threads <= 3; threads++) {
                const sked_method_info *info = sked_method_at(m);
                if ((info->features & kinds[k].needs) == kinds[k].needs)
                    run_twice(info, &kinds[k], (uint64_t)threads % 2, threads);
            }
}

/* Whatever the threads: nothing below the optimum, no bound above it, "optimal" only where it is. */
static void several_threads_prove_the_truth(void **state)
{
    (void)state;
    const unsigned flags[] = {RANDOM_DEVICES, RANDOM_RESOURCES, RANDOM_TRANSFERS,
                              RANDOM_DEVICES | RANDOM_RESOURCES | RANDOM_LAGS};
    const char *const methods[] = {"exact", "auto"}; /* auto may end before the proof */
    for (uint64_t seed = 0; seed < CASES(40); seed++) {
        random_problem r;
        random_problem_make(seed, flags[seed % 4], 3, 6, &r);
        const double optimum = brute_force_orders(&r.problem);
        for (int k = 0; k < 4; k++) {
            sked_run_options opt;
            sked_result result = {.size = sizeof result};
            sked_run_options_init(&opt);
            opt.threads = 2 + k / 2;
            opt.seed = seed;
            opt.time_limit = k % 2 ? 0.1 : 20;
            OK(sked_method_run(methods[k % 2], &r.problem, &opt, &result, err));
            if ((k % 2 == 0 && !result.optimal) || result.value < optimum || result.lower_bound > optimum ||
                (result.optimal && result.value > optimum))
                fail_msg("%s, seed %d, %d threads: value %g, bound %g, optimum %g", methods[k % 2], (int)seed,
                         opt.threads, result.value, result.lower_bound, optimum);
            sked_result_clear(&result);
        }
        random_problem_free(&r);
    }
}

/* Placing by force does not depend on the number of threads at all, large enough for them to be used. */
static void forces_do_not_depend_on_threads(void **state)
{
    (void)state;
    const sked_objective objectives[] = {SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_MEMORY};
    const char *const settings[] = {"refine=0"};
    for (int o = 0; o < 2; o++) {
        sked_builder *b = NULL;
        sked_graph *g = NULL;
        sked_problem p;
        sked_result results[3] = {
            {.size = sizeof *results}, {.size = sizeof *results}, {.size = sizeof *results}};
        sked_i_rng rng;
        sked_i_rng_seed(&rng, 5, 0);
        OK(sked_builder_create(&b, err));
        for (int i = 0; i < 300; i++) {
            int32_t op;
            OK(sked_builder_add_op(b, NULL, NULL, 1, &op, err));
            OK(sked_builder_set_memory(b, op, random_int(&rng, 1, 9), err));
            if (i > 20) {
                const sked_edge edge = {
                    .from = random_int(&rng, 0, i - 10), .to = op, .lag = SKED_LAG_DEFAULT};
                OK(sked_builder_add_edge(b, &edge, err));
            }
        }
        OK(sked_builder_finish(b, &g, err));
        sked_problem_init(&p, g);
        p.objective = objectives[o];
        p.horizon = 90;
        for (int k = 0; k < 3; k++) {
            sked_run_options opt;
            sked_run_options_init(&opt);
            opt.threads = 1 + k;
            opt.time_limit = 3600;
            opt.settings = settings;
            opt.n_settings = 1;
            OK(sked_method_run("fds", &p, &opt, &results[k], err));
            assert_true(same_schedule(results[k].schedule[0], results[0].schedule[0]));
        }
        for (int k = 0; k < 3; k++)
            sked_result_clear(&results[k]);
        sked_graph_destroy(g);
        sked_builder_destroy(b);
    }
}

typedef struct sum {
    int64_t part[5];
} sum;

static void add(void *data, int index)
{
    ((sum *)data)->part[index] += index + 1;
}

static void teams_do_every_share(void **state)
{
    (void)state;
    sum s = {0};
    sked_i_team *team = NULL;
    OK(sked_i_team_create(5, &team, err));
    for (int k = 0; k < 1000; k++)
        sked_i_team_run(team, add, &s);
    sked_i_team_destroy(team);
    for (int k = 0; k < 5; k++)
        assert_int_equal(s.part[k], 1000 * (k + 1));
}

/* Job j has j + 1 stages of up to 7 pieces. Each piece writes down that it was run, and what it saw of the
 * stage before. */
enum { JOBS = 9, MOST_PIECES = 7 };
typedef struct factory {
    int done[JOBS][JOBS][MOST_PIECES];
    int threads, out_of_order, asked[JOBS][JOBS + 1];
} factory;

static int pieces_of(int job, int stage)
{
    return stage > job ? 0 : 1 + (job * 5 + stage * 3) % MOST_PIECES;
}

static int ask_pieces(void *data, int job, int stage)
{
    ((factory *)data)->asked[job][stage]++;
    return pieces_of(job, stage);
}

static void run_piece(void *data, int job, int stage, int piece, int thread)
{
    factory *f = data;
    if (thread < 0 || thread >= f->threads)
        f->out_of_order = 1;
    for (int k = 0; stage > 0 && k < pieces_of(job, stage - 1); k++)
        if (f->done[job][stage - 1][k] != 1)
            f->out_of_order = 1;
    f->done[job][stage][piece]++;
}

static void jobs_go_through_their_stages(void **state)
{
    (void)state;
    for (int count = 1; count <= 6; count += 5) {
        sked_i_team *team = NULL;
        OK(sked_i_team_create(count, &team, err));
        for (int turn = 0; turn < 200; turn++) {
            factory f = {.threads = count};
            const sked_i_team_jobs jobs = {.count = JOBS, .pieces = ask_pieces, .run = run_piece, .data = &f};
            OK(sked_i_team_work(team, &jobs, err));
            assert_int_equal(f.out_of_order, 0);
            for (int j = 0; j < JOBS; j++)
                for (int s = 0; s <= j + 1; s++) {
                    assert_int_equal(f.asked[j][s], 1);
                    for (int k = 0; k < pieces_of(j, s); k++)
                        assert_int_equal(f.done[j][s][k], 1);
                }
        }
        sked_i_team_destroy(team);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_do_every_share),
        cmocka_unit_test(jobs_go_through_their_stages),
        cmocka_unit_test(forces_do_not_depend_on_threads),
        cmocka_unit_test(several_threads_prove_the_truth),
        cmocka_unit_test(same_bytes_for_seed_and_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
