/* The least registers of a pipeline: the flow against enumeration, and its proof. */
#include "problem/least_registers.h"

#include "base/rng.h"
#include "graph/graph.h"
#include "problem/chaining.h"
#include "problem/lower.h"
#include "random_problem.h"
#include "report/pipeline.h"
#include "schedule/holdings.h"

#include <jansson.h>
#include <math.h>

enum { most_ops = 5, most_starts = 5 };

static bool near(double x, double y)
{
    return x == y || fabs(x - y) < 1e-6;
}

static void set_attribute(sked_builder *b, const char *name, int64_t at, double value)
{
    OK(sked_builder_set_attribute(b, sked_attribute_find(name), at, value, err));
}

static void pipeline_ops(sked_i_rng *rng, int n, bool pool, sked_builder *b)
{
    const double bit = random_int(rng, 0, 5) == 0 ? 0.3 : 1;
    if (pool)
        OK(sked_builder_add_resource(b, "unit", random_int(rng, 1, 3), NULL, err));
    for (int i = 0; i < n; i++) {
        const bool register_inside = random_int(rng, 0, 3) == 0;
        int32_t op;
        OK(sked_builder_add_op(b, NULL, NULL, register_inside ? random_int(rng, 1, 2) : 0, &op, err));
        OK(sked_builder_set_memory(b, op, random_int(rng, 0, 3) * bit, err));
        if (pool && register_inside)
            OK(sked_builder_add_demand(b, op, 0, 1, err));
        OK(sked_builder_set_keep(b, op, random_int(rng, 0, 5) == 0, err));
        const double in = 0.5 * random_int(rng, 0, 4),
                     out = register_inside ? 0.5 * random_int(rng, 0, 4) : in;
        set_attribute(b, "delay_in", op, in);
        set_attribute(b, "delay_out", op, out);
    }
}

static void pipeline_edges(sked_i_rng *rng, int n, sked_builder *b)
{
    int32_t label[most_ops];
    int64_t m = 0;
    for (int i = 0; i < n; i++)
        label[i] = i;
    sked_i_rng_shuffle(rng, label, n);
    for (int a = 0; a < n; a++)
        for (int c = a + 1; c < n; c++)
            if (random_int(rng, 0, 9) < 5) {
                const double lag = random_int(rng, 0, 5) == 0 ? random_int(rng, -1, 2) : SKED_LAG_DEFAULT;
                OK(sked_builder_add_edge(b, &(sked_edge){label[a], label[c], lag, 0, 0}, err));
                set_attribute(b, "order", m++, random_int(rng, 0, 7) == 0);
            }
    for (int k = random_int(rng, -2, 1); k > 0; k--)
        OK(sked_builder_add_edge(b,
                                 &(sked_edge){random_int(rng, 0, n - 1), random_int(rng, 0, n - 1),
                                              SKED_LAG_DEFAULT, 0, random_int(rng, 1, 2)},
                                 err));
}

static void pipeline_make(uint64_t seed, bool pool, random_problem *out)
{
    static const sked_lifetime lifetimes[] = {SKED_LIFETIME_AUTO, SKED_LIFETIME_RESULT, SKED_LIFETIME_START,
                                              SKED_LIFETIME_FINISH};
    sked_i_rng rng;
    sked_builder *b = NULL;
    *out = (random_problem){0};
    sked_i_rng_seed(&rng, seed, 26);
    const int n = random_int(&rng, 2, most_ops);
    OK(sked_builder_create(&b, err));
    pipeline_ops(&rng, n, pool, b);
    pipeline_edges(&rng, n, b);
    OK(sked_builder_finish(b, &out->graph, err));
    sked_builder_destroy(b);
    sked_problem *p = &out->problem;
    sked_problem_init(p, out->graph);
    p->objective = SKED_OBJECTIVE_MEMORY;
    p->ii = random_int(&rng, 0, 3) == 0 ? 2 : 1;
    p->clock = random_int(&rng, 0, 5) == 0 ? 0 : 0.5 * random_int(&rng, 4, 7);
    p->horizon = random_int(&rng, 1, most_starts - 1);
    p->io = random_int(&rng, 0, 2) == 0 ? SKED_IO_ALIGNED : SKED_IO_FREE;
    p->lifetime = lifetimes[random_int(&rng, 0, 3)];
    if (random_int(&rng, 0, 4) == 0) {
        out->fix_start = malloc((size_t)n * sizeof *out->fix_start);
        assert_non_null(out->fix_start);
        for (int i = 0; i < n; i++)
            out->fix_start[i] = random_int(&rng, 0, 3) == 0 ? random_int(&rng, 0, 2) : NAN;
        p->fix_start = out->fix_start;
    }
}

/* All lives together, each times its size. */
static double sum_of_lives(const sked_problem *p, const sked_schedule *s)
{
    sked_i_costs c = {0};
    sked_i_holdings h = {0};
    double sum = 0;
    OK(sked_i_costs_make(p, &c, err));
    OK(sked_i_holdings_make(p, &c, s, &h, err));
    for (int64_t k = 0; k < h.count; k++)
        sum += (h.at[k].end - h.at[k].begin) * p->graph->memory[h.at[k].op];
    sked_i_holdings_free(&h);
    sked_i_costs_free(&c);
    return sum;
}

/* The least sum and the least peak of all valid schedules; INFINITY: there is none. */
static void enumerate(const sked_problem *p, double *sum, double *peak)
{
    const int32_t n = p->graph->n_ops;
    sked_schedule *s = NULL;
    sked_error ignored;
    OK(sked_schedule_create(n, 0, &s, err));
    s->ii = p->ii;
    *sum = *peak = INFINITY;
    for (int32_t i = 0; i < n;) {
        sked_metrics m = {.size = sizeof m};
        if (sked_schedule_validate(p, s, &ignored) == SKED_OK) {
            OK(sked_schedule_measure(p, s, &m, err));
            *sum = fmin(*sum, sum_of_lives(p, s));
            *peak = fmin(*peak, m.peak_memory);
        }
        for (i = 0; i < n && ++s->start[i] > p->horizon; i++)
            s->start[i] = 0;
    }
    sked_schedule_destroy(s);
}

/* It may have no schedule. */
static bool is_problem(const sked_problem *p)
{
    sked_error ignored;
    return sked_i_problem_check_asked(p, &ignored) == SKED_OK &&
           (p->clock == 0 || sked_i_clock_check(p, &ignored) == SKED_OK);
}

static double sum_of(const json_t *list)
{
    double sum = 0;
    for (size_t k = 0; k < json_array_size(list); k++)
        sum += json_number_value(json_array_get(list, k));
    return sum;
}

/* The picture of a pipeline has all its ops and registers, and no stage that is too long. */
static void judge_picture(const sked_problem *p, const sked_schedule *s, double registers)
{
    sked_report_data data;
    sked_i_buffer text = {0};
    json_error_t error;
    sked_report_data_init(&data);
    data.problem = p;
    data.schedule = s;
    assert_true(sked_i_pipeline_known(&data));
    OK(sked_i_pipeline_json(&data, &text, err));
    assert_false(text.failed);
    json_t *root = json_loadb(text.data, text.size, 0, &error);
    assert_non_null(root);
    const json_t *delay = json_object_get(root, "delay");
    assert_true(sum_of(json_object_get(root, "ops")) == s->ops);
    assert_true(near(sum_of(json_object_get(root, "registers")), registers));
    for (size_t k = 0; k < json_array_size(delay); k++)
        assert_true(json_number_value(json_array_get(delay, k)) <= p->clock);
    json_decref(root);
    sked_i_buffer_free(&text);
}

/* What the engine says, of a problem that fits it. */
static void judge(const sked_problem *p, double least, int *found, int *rounds)
{
    sked_i_registers *x = NULL;
    sked_i_registers_found f = {0};
    sked_i_bound_effort effort = {.work = 0x1p50};
    sked_schedule *s = NULL;
    sked_error why = {0};
    const sked_status st = sked_i_registers_open(p, &x, &why);
    if (st == SKED_ERR_INFEASIBLE) {
        assert_true(isinf(least));
        return;
    }
    assert_int_equal(st, SKED_OK);
    OK(sked_schedule_create(p->graph->n_ops, 0, &s, err));
    s->ii = p->ii;
    OK(sked_i_registers_least(x, &effort, s->start, &f, err));
    if (f.none)
        assert_true(isinf(least));
    if (f.optimal) {
        assert_true(near(f.bound, least));
        OK(sked_schedule_validate(p, s, err));
        assert_true(near(sum_of_lives(p, s), least));
        if (p->clock > 0 && p->ii == 1)
            judge_picture(p, s, least);
        ++*found;
        *rounds += f.pairs > 0;
    }
    assert_true(f.none || f.optimal || isinf(least));
    assert_true(f.bound <= least + (p->graph->integral ? 0 : 1e-9));
    sked_schedule_destroy(s);
    sked_i_registers_close(x);
}

static void least_is_the_least(void **state)
{
    (void)state;
    int found = 0, rounds = 0, none = 0;
    for (int seed = 0; seed < CASES(4000); seed++) {
        random_problem r;
        double sum, peak;
        pipeline_make((uint64_t)seed, false, &r);
        if (is_problem(&r.problem)) {
            assert_true(sked_i_registers_fit(&r.problem));
            enumerate(&r.problem, &sum, &peak);
            if (r.problem.ii == 1)
                assert_true(near(sum, peak));
            else
                assert_true(sum <= peak * r.problem.ii + 1e-6);
            none += isinf(sum);
            judge(&r.problem, sum, &found, &rounds);
        }
        random_problem_free(&r);
    }
    print_message("%d optima, %d with pairs of the clock, %d without a schedule\n", found, rounds, none);
    assert_true(found > CASES(1500) && rounds > CASES(300) && none > CASES(20));
}

/* Work that runs out leaves a bound, and more of it goes on to the optimum. */
static void little_work_leaves_a_bound(void **state)
{
    (void)state;
    int stopped = 0;
    for (int seed = 0; seed < CASES(500); seed++) {
        random_problem r;
        sked_i_registers *x = NULL;
        sked_i_registers_found f = {0}, all = {0};
        sked_error ignored;
        pipeline_make((uint64_t)seed, false, &r);
        if (is_problem(&r.problem) && sked_i_registers_open(&r.problem, &x, &ignored) == SKED_OK) {
            sked_i_bound_effort little = {.work = 1 + seed % 30}, ample = {.work = 0x1p50};
            OK(sked_i_registers_least(x, &little, NULL, &f, err));
            OK(sked_i_registers_least(x, &ample, NULL, &all, err));
            if (all.optimal)
                assert_true(f.bound <= all.bound + 1e-6);
            stopped += all.optimal && !f.optimal;
        }
        sked_i_registers_close(x);
        random_problem_free(&r);
    }
    assert_true(stopped > CASES(50));
}

/* Without a horizon: as with one that is long enough, and no later than need be. */
static void no_horizon_is_a_long_one(void **state)
{
    (void)state;
    int found = 0;
    for (int seed = 0; seed < CASES(1000); seed++) {
        random_problem r;
        sked_i_registers_found f[2] = {{0}};
        double start[most_ops];
        pipeline_make((uint64_t)seed, false, &r);
        for (int k = 0; k < 2 && is_problem(&r.problem); k++) {
            sked_i_registers *x = NULL;
            sked_i_bound_effort effort = {.work = 0x1p50};
            sked_error ignored;
            r.problem.horizon = k == 0 ? 60 : INFINITY;
            if (sked_i_registers_open(&r.problem, &x, &ignored) == SKED_OK)
                OK(sked_i_registers_least(x, &effort, start, &f[k], err));
            sked_i_registers_close(x);
        }
        assert_true(f[0].optimal == f[1].optimal && near(f[0].bound, f[1].bound));
        for (int32_t i = 0; f[1].optimal && i < r.graph->n_ops; i++)
            assert_true(start[i] <= 30);
        found += f[1].optimal;
        random_problem_free(&r);
    }
    assert_true(found > CASES(500));
}

static void run_method(const char *method, const sked_problem *p, double peak, int *proved)
{
    sked_run_options opt;
    sked_result result = {.size = sizeof result};
    sked_error why = {0};
    sked_run_options_init(&opt);
    opt.iterations = 10;
    const sked_status st = sked_method_run(method, p, &opt, &result, &why);
    if (st == SKED_ERR_INFEASIBLE) { /* only auto looks for what the flow alone has not found */
        assert_true(isinf(peak) || p->ii > 1);
        return;
    }
    if (st != SKED_OK)
        fail_msg("%s: %s", method, why.message);
    assert_true(result.lower_bound <= peak + 1e-9 && result.value >= peak - 1e-9);
    assert_true(!result.optimal || near(result.value, peak));
    *proved += result.optimal;
    sked_result_clear(&result);
}

/* At interval 1 pools do not depend on starts; at 2 the flow is a bound and a start. */
static void pools_are_kept(void **state)
{
    (void)state;
    int proved = 0;
    for (int seed = 0; seed < CASES(400); seed++) {
        random_problem r;
        double sum, peak;
        pipeline_make((uint64_t)seed, true, &r);
        sked_error ignored;
        if (sked_problem_check(&r.problem, &ignored) == SKED_OK) {
            enumerate(&r.problem, &sum, &peak);
            run_method("registers", &r.problem, peak, &proved);
            if (seed % 4 == 0)
                run_method("auto", &r.problem, peak, &proved);
        }
        random_problem_free(&r);
    }
    print_message("%d proofs\n", proved);
    assert_true(proved > CASES(150));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_is_the_least),
        cmocka_unit_test(little_work_leaves_a_bound),
        cmocka_unit_test(no_horizon_is_a_long_one),
        cmocka_unit_test(pools_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
