/* The stages that candidates pass: repeats, order, devices, limits. */
#include "test.h"

#include "engine/stages/stages.h"
#include "schedule/schedule.h"

#include <math.h>

enum { OPS = 4, MANY = 10 };

/* Two chains of two ops each, ten devices. */
static sked_graph *two_chains(sked_problem *p)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int k = 0; k < OPS; k++) {
        int32_t id;
        OK(sked_builder_add_op(b, NULL, NULL, 100, &id, err));
    }
    for (int k = 0; k < 2; k++) {
        const sked_edge edge = {k, k + 2, SKED_LAG_DEFAULT, 5, 0};
        OK(sked_builder_add_edge(b, &edge, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem_init(p, g);
    p->devices = MANY;
    return g;
}

/* The second ops start at 100 + late. */
static sked_i_stages_candidate make(const sked_graph *g, const int32_t *device, double late, int32_t origin)
{
    sked_schedule *s = NULL;
    OK(sked_schedule_create(OPS, MANY, &s, err));
    for (int i = 0; i < OPS; i++) {
        s->start[i] = i < 2 ? 0 : 100 + late;
        s->device[i] = device[i];
    }
    return (sked_i_stages_candidate){
        .schedule = s, .makespan = sked_i_schedule_makespan(g, s), .origin = origin};
}

static const int32_t crossed[] = {0, 1, 1, 0}, renamed[] = {9, 4, 4, 9}, straight[] = {7, 3, 7, 3},
                     apart[] = {6, 7, 8, 9};

static sked_i_stages stages_of(const sked_i_limit *limit)
{
    return (sked_i_stages){.threads = 2, .limit = limit};
}

static void check_origins(const sked_i_stages_candidate *list, int32_t count, const int32_t *want,
                          int32_t wanted)
{
    assert_int_equal(count, wanted);
    for (int32_t k = 0; k < count; k++)
        assert_int_equal(list[k].origin, want[k]);
}

static void clear(sked_i_stages_candidate *list, int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        sked_schedule_destroy(list[k].schedule);
}

/* Names of devices make no difference; of equals the first stays; by makespan. */
static void repeats_go(void **state)
{
    (void)state;
    sked_problem p;
    sked_graph *g = two_chains(&p);
    const sked_i_limit limit = {.deadline = INFINITY};
    const sked_i_stages how = stages_of(&limit);
    sked_i_stages_candidate list[] = {make(g, crossed, 5, 0), make(g, straight, 0, 1), make(g, renamed, 5, 2),
                                      make(g, apart, 0, 3), make(g, apart, 0, 4)};
    int32_t count = 5;
    OK(sked_i_stages_pass(&p, &how, list, &count, err));
    check_origins(list, count, (const int32_t[]){1, 3, 0}, 3);
    assert_int_equal(list[2].schedule->device[0], crossed[0]); /* no stage: devices stay */
    clear(list, count);
    sked_graph_destroy(g);
}

/* More devices than ops, and numbers above theirs: data comes together, and different ones become the same.
 */
static void devices_come_together(void **state)
{
    (void)state;
    sked_problem p;
    sked_graph *g = two_chains(&p);
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_stages how = stages_of(&limit);
    sked_i_stages_candidate list[] = {make(g, apart, 0, 0), make(g, renamed, 0, 1), make(g, straight, 7, 2)};
    int32_t count = 3;
    how.local = true;
    OK(sked_i_stages_pass(&p, &how, list, &count, err));
    check_origins(list, count, (const int32_t[]){0, 2}, 2);
    for (int32_t k = 0; k < count; k++) {
        const int32_t *device = list[k].schedule->device;
        OK(sked_schedule_validate(&p, list[k].schedule, err));
        assert_true(device[0] == device[2] && device[1] == device[3] && device[0] != device[1]);
    }
    clear(list, count);
    sked_graph_destroy(g);
}

/* Candidates of list scheduling with random priorities, as the stages take them. */
static int32_t list_at_random(const sked_problem *p, sked_i_stages_candidate *list, int32_t most)
{
    static const char *const setting = "priority=random";
    sked_run_options run;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&run);
    run.settings = &setting;
    run.n_settings = 1;
    run.candidates = most;
    OK(sked_method_run("list", p, &run, &r, err));
    const int32_t count = r.count;
    for (int32_t k = 0; k < count; k++) /* worst first: the stages put them right */
        list[k] = (sked_i_stages_candidate){.schedule = r.schedule[count - 1 - k],
                                            .makespan =
                                                sked_i_schedule_makespan(p->graph, r.schedule[count - 1 - k]),
                                            .origin = count - 1 - k};
    r.count = 0; /* the list has them */
    sked_result_clear(&r);
    return count;
}

static sked_graph *layered(sked_problem *p)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = 40, .seed = 3};
    sked_graph *g = NULL;
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem_init(p, g);
    p->devices = 3;
    return g;
}

static int step_of(const sked_i_stages_candidate *list, int32_t k)
{
    return (int)floor(100 * (list[k].makespan / list[0].makespan - 1));
}

/* The best first; then by steps of a hundredth, and within one by what transfers would cost. */
static void steps_are_ranked_by_transfers(void **state)
{
    (void)state;
    enum { MOST = 80 };
    sked_problem p;
    sked_graph *g = layered(&p);
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_stages how = stages_of(&limit);
    sked_i_stages_candidate list[MOST];
    int32_t count = list_at_random(&p, list, MOST);
    int longer_first = 0;
    how.local = true;
    OK(sked_i_stages_pass(&p, &how, list, &count, err));
    for (int32_t k = 0; k < count; k++) {
        OK(sked_schedule_validate(&p, list[k].schedule, err));
        assert_true(list[k].makespan == sked_i_schedule_makespan(g, list[k].schedule));
        assert_true(list[k].makespan >= list[0].makespan && list[k].delayed > list[k].makespan);
        if (k < 2)
            continue;
        assert_true(step_of(list, k - 1) <= step_of(list, k));
        if (step_of(list, k - 1) == step_of(list, k)) {
            assert_true(list[k - 1].delayed <= list[k].delayed);
            longer_first += list[k - 1].makespan > list[k].makespan;
        }
    }
    assert_true(longer_first > 0);
    clear(list, count);
    sked_graph_destroy(g);
}

/* Once the limit is reached candidates stay as they are, and are ranked by makespan all the same. */
static void limits_leave_the_rest(void **state)
{
    (void)state;
    enum { MOST = 20 };
    sked_problem p;
    sked_graph *g = layered(&p);
    volatile sig_atomic_t stop = 1;
    const sked_i_limit limit = {.deadline = INFINITY, .stop = &stop};
    sked_i_stages how = stages_of(&limit);
    sked_i_stages_candidate list[MOST];
    int32_t count = list_at_random(&p, list, MOST);
    const int32_t all = count;
    how.local = true;
    how.improve = 5;
    OK(sked_i_stages_pass(&p, &how, list, &count, err));
    assert_int_equal(count, all);
    for (int32_t k = 0; k < count; k++) {
        assert_true(isinf(list[k].delayed));
        assert_true(k == 0 || list[k - 1].makespan <= list[k].makespan);
    }
    clear(list, count);
    sked_graph_destroy(g);
}

/* Improvement without local: never longer, ranked by makespan, devices as the decoder gives them. */
static void improvement_alone(void **state)
{
    (void)state;
    enum { MOST = 40 };
    sked_problem p;
    sked_graph *g = layered(&p);
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_stages how = stages_of(&limit);
    sked_i_stages_candidate list[MOST];
    double before[MOST];
    int32_t count = list_at_random(&p, list, MOST);
    int shorter = 0;
    for (int32_t k = 0; k < count; k++)
        before[list[k].origin] = list[k].makespan;
    how.improve = 4;
    OK(sked_i_stages_pass(&p, &how, list, &count, err));
    for (int32_t k = 0; k < count; k++) {
        OK(sked_schedule_validate(&p, list[k].schedule, err));
        assert_true(list[k].delayed == 0 && list[k].makespan <= before[list[k].origin]);
        assert_true(k == 0 || list[k - 1].makespan <= list[k].makespan);
        shorter += list[k].makespan < before[list[k].origin];
    }
    assert_true(shorter > 0);
    clear(list, count);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_go),
        cmocka_unit_test(devices_come_together),
        cmocka_unit_test(steps_are_ranked_by_transfers),
        cmocka_unit_test(limits_leave_the_rest),
        cmocka_unit_test(improvement_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
