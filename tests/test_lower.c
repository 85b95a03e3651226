/* From the problem as asked to the one that methods solve, and back. */
#include "random_problem.h"
#include "schedule/realise.h"
#include "test.h"

#include <string.h>

static sked_machine *pair(double speed, double memory, bool profile)
{
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    OK(sked_machine_builder_create("pair", &b, err));
    OK(sked_machine_builder_add_device(b, "x", NULL, 2, memory, NULL, err));
    OK(sked_machine_builder_add_device(b, "y", NULL, speed, INFINITY, NULL, err));
    OK(sked_machine_builder_set_link(b, 3, 5, err));
    if (profile)
        OK(sked_machine_builder_add_duration(b, "1", NULL, 8, err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    return m;
}

/* Three ops of duration 4 in a chain, values of 10. */
static sked_graph *chain(void)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < 3; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 4, NULL, err));
        OK(sked_builder_set_memory(b, i, 10, err));
    }
    for (int i = 0; i < 2; i++)
        OK(sked_builder_add_edge(b, &(sked_edge){i, i + 1, SKED_LAG_DEFAULT, 5, 0}, err));
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static void steps_are(const sked_i_lowered *x, const char *want)
{
    char text[200] = "";
    for (int k = 0; k < x->n_steps; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? ", " : "", x->step[k].name);
    assert_string_equal(text, want);
}

/* What is left: the machine, a limit, and the time of op 1. */
static void lowered(double speed, double memory, bool profile, double limit, const char *steps, bool machine,
                    bool limited, double time)
{
    sked_graph *g = chain();
    sked_machine *m = pair(speed, memory, profile);
    sked_problem p;
    sked_i_lowered x;
    sked_problem_init(&p, g);
    p.machine = m;
    p.devices = 2;
    p.memory_limit = limit;
    const sked_problem before = p;
    OK(sked_i_lower(&p, &x, err));
    steps_are(&x, steps);
    assert_true((x.problem.machine != NULL) == machine && x.problem.devices == 2 && x.costs.devices == 2);
    assert_true(sked_i_has_memory_limit(&x.problem) == limited);
    assert_int_equal(x.problem.lifetime,
                     isfinite(memory) || isfinite(limit) ? SKED_LIFETIME_FINISH : SKED_LIFETIME_START);
    assert_true(sked_i_time(&x.costs, 1, 0) == time && x.costs.graph == x.problem.graph);
    assert_true(sked_i_transfer_time(&x.costs, 5, 0, 1) == 4);
    if (!machine)
        assert_true(x.problem.graph->duration[1] == time && x.problem.latency == 3);
    sked_i_lowered_free(&x);
    assert_memory_equal(&p, &before, sizeof p);
    assert_true(sked_machine_device_memory(m, 0) == memory && sked_machine_duration_count(m) == profile);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

static void steps_are_taken_where_they_apply(void **state)
{
    (void)state;
    lowered(1, INFINITY, false, INFINITY, "lifetime", true, false, 2);
    lowered(1, 29, false, INFINITY, "lifetime", true, true, 2);
    lowered(1, 30, false, INFINITY, "lifetime, idle limit", true, false, 2);
    lowered(1, 30, true, 60, "profile, lifetime, idle limit", true, false, 4);
    lowered(1, 30, true, 59, "profile, lifetime", true, true, 4);
    lowered(2, INFINITY, false, INFINITY, "lifetime, equal devices", false, false, 2);
    lowered(2, 29, false, INFINITY, "lifetime", true, true, 2);
    lowered(2, 30, true, INFINITY, "profile, lifetime, idle limit, equal devices", false, false, 4);
    lowered(2, INFINITY, false, 59, "lifetime, equal devices", false, true, 2);
}

/* The costs of the lowered problem are the times and transfers of the problem as asked. */
static void costs_are_those_asked_for(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        sked_i_lowered x;
        random_problem_make(seed, (seed % 2 ? RANDOM_UNEQUAL : RANDOM_TRANSFERS) | RANDOM_REAL, 1, 12, &r);
        OK(sked_i_lower(&r.problem, &x, err));
        for (int32_t i = 0; i < r.graph->n_ops; i++)
            for (int32_t d = 0; d < r.problem.devices; d++)
                assert_true(sked_i_time(&x.costs, i, d) == sked_problem_duration(&r.problem, i, d));
        for (int64_t e = 0; e < r.graph->n_edges; e++)
            for (int32_t k = 0; k < r.problem.devices * r.problem.devices; k++) {
                const int32_t from = k / r.problem.devices, to = k % r.problem.devices;
                if (from != to)
                    assert_true(sked_i_transfer_time(&x.costs, r.graph->edge_bytes[e], from, to) ==
                                sked_problem_transfer(&r.problem, e, from, to));
            }
        sked_i_lowered_free(&x);
        random_problem_free(&r);
    }
}

/* What fits the solved problem is judged by the rules of the one asked for. */
static void schedules_are_judged_as_asked(void **state)
{
    (void)state;
    sked_graph *g = chain();
    sked_machine *m = pair(2, INFINITY, true);
    sked_problem p;
    sked_i_lowered x;
    sked_i_realised r;
    sked_schedule *s = NULL;
    sked_problem_init(&p, g);
    p.machine = m;
    p.devices = 2;
    OK(sked_i_lower(&p, &x, err));
    OK(sked_schedule_create(3, 2, &s, err));
    s->start[1] = 2;
    s->start[2] = 6;
    OK(sked_i_realise(&x, s, &r, err));
    assert_true(r.schedule == s && r.value == 8 && r.makespan == 8);
    s->start[2] = 5; /* before op 1 ends, whose time the profile knows */
    FAILS(SKED_ERR_INVALID, "op '2' starts at 5", sked_i_realise(&x, s, &r, err));
    sked_schedule_destroy(s);
    sked_i_lowered_free(&x);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_taken_where_they_apply),
        cmocka_unit_test(costs_are_those_asked_for),
        cmocka_unit_test(schedules_are_judged_as_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
