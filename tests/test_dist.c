/* What ranks share, as far as one process shows it. tests/mpi.py has several. */
#include "dist/dist.h"
#include "method/gflownet/gather.h"
#include "method/gflownet/shared_update.h"
#include "robust/candidates.h"
#include "target/target.h"
#include "test.h"

#include <math.h>

static void test_one_process_is_rank_0_of_1(void **state)
{
    sked_error why = {.status = SKED_ERR_IO, .message = "no disk"};
    int mine = 7, all = 0;
    (void)state;
    assert_int_equal(sked_dist_rank(), 0);
    assert_int_equal(sked_dist_size(), 1);
    assert_true(sked_dist_seed(5) == 5);
    assert_int_equal(sked_dist_agree(SKED_OK, &why), SKED_OK);
    assert_int_equal(sked_dist_agree(SKED_ERR_IO, &why), SKED_ERR_IO);
    assert_string_equal(why.message, "no disk");
    assert_true(sked_dist_tells(SKED_ERR_IO));
    assert_false(sked_dist_tells(SKED_OK));
    OK(sked_i_dist_share(&mine, sizeof mine, &all, err));
    assert_int_equal(all, 7);
    FAILS(SKED_ERR_BUG, "of one process", sked_i_dist_send(1, SKED_I_MAIL_SHARE, &mine, sizeof mine, err));
}

/* together changes nothing where there is nobody else. */
static void test_one_process_has_all_lessons_and_draws(void **state)
{
    (void)state;
    for (int together = 0; together < 2; together++) {
        sked_i_ranks r;
        sked_i_mark marks[5] = {{.loss = 1}};
        sked_i_rank_view view = {.ops = 3};
        const float *sum = (const float *)marks;
        OK(sked_i_ranks_open(together != 0, 5, 10, &r, err));
        assert_true(r.lessons == 5 && r.first == 0 && r.count == 5);
        OK(sked_i_ranks_agree(&r, SKED_OK, marks, &view, err));
        assert_int_equal(sked_i_ranks_agree(&r, SKED_ERR_STOPPED, marks, &view, NULL), SKED_ERR_STOPPED);
        OK(sked_i_ranks_sum(&r, NULL, &sum, err));
        assert_null(sum); /* the learner's own */
        sked_i_ranks_close(&r);
        const sked_i_draw_range range = sked_i_draws_of_rank(together != 0, 10, 20);
        assert_true(range.from == 10 && range.end == 20);
    }
}

static sked_graph *small_graph(void)
{
    static const char text[] =
        "{\"format\": \"sked-graph-1\", \"ops\": [{\"duration\": 2}, {\"duration\": 3}],"
        " \"edges\": [[0, 1]]}";
    sked_graph *g = NULL;
    OK(sked_graph_parse("small.json", text, sizeof text - 1, NULL, &g, err));
    return g;
}

static bool is_parallel(const sked_problem *p, const char *spec)
{
    sked_target *t = NULL;
    OK(sked_target_create(spec, p, 0, &t, err));
    const bool parallel = sked_i_target_parallel(t);
    sked_target_destroy(t);
    return parallel;
}

static void test_a_target_says_whether_ranks_may_measure_at_once(void **state)
{
    sked_graph *g = small_graph();
    sked_problem p;
    (void)state;
    sked_problem_init(&p, g);
    p.devices = 2;
    assert_true(is_parallel(&p, "noisy+linear+jitter"));
    assert_false(is_parallel(&p, "proxy:parallel=false"));
    assert_false(is_parallel(&p, "command:true"));
    assert_true(is_parallel(&p, "command,parallel=true:true"));
    sked_graph_destroy(g);
}

/* Whoever makes measurement k, its noise is the same. */
static void test_noise_belongs_to_the_number_of_a_measurement(void **state)
{
    enum { count = 4 };
    sked_graph *g = small_graph();
    sked_problem p;
    sked_schedule *s = NULL;
    sked_target *t = NULL;
    double time[count];
    (void)state;
    sked_problem_init(&p, g);
    p.devices = 2;
    OK(sked_schedule_create(2, 2, &s, err));
    s->start[0] = s->device[0] = s->device[1] = 0;
    s->start[1] = 2;
    OK(sked_target_create("jitter:repeat=2,warm-up=1", &p, 3, &t, err));
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < count; k++) {
            const int number = pass == 0 ? k : count - 1 - k;
            sked_measurement m = {.size = sizeof m};
            if (pass > 0)
                sked_i_target_seek(t, number);
            OK(sked_target_measure(t, s, &m, err));
            if (pass > 0)
                assert_true(m.time == time[number]);
            time[number] = m.time;
            sked_measurement_clear(&m);
        }
    assert_true(time[0] != time[1]);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/*
 * Two guesses. The second schedule is nearly the first one again; the third is good where the first is bad.
 * On its own the second promises more, beside the first the third.
 */
static void test_a_schedule_measured_beside_another_complements_it(void **state)
{
    double predicted[3][2] = {{1, 10}, {1.1, 9.9}, {12, 1}}, weight[2] = {0.5, 0.5}, promise;
    double particle[2 * 4] = {-20, -20, -20, -20, -20, -20, -20, -20}; /* logs of noise: next to none */
    sked_i_candidate entry[3] = {
        {.predicted = predicted[0]}, {.predicted = predicted[1]}, {.predicted = predicted[2]}};
    sked_i_candidate *list[3] = {&entry[0], &entry[1], &entry[2]};
    const sked_i_candidate_set pool = {.particles = 2, .entry = list, .count = 3};
    const sked_i_belief b = {.particles = 2, .dimension = 4, .particle = particle, .weight = weight};
    (void)state;
    assert_ptr_equal(sked_i_candidates_choose(&pool, &b, 20, NULL, 0, &promise), &entry[0]);
    assert_true(sked_i_candidates_promise(&pool, &entry[1], &b, 20) >
                sked_i_candidates_promise(&pool, &entry[2], &b, 20));
    assert_ptr_equal(sked_i_candidates_choose(&pool, &b, 20, list, 1, &promise), &entry[2]);
    assert_true(fabs(promise - 4.5) < 1e-6); /* 10 - 1 under the second guess */
    assert_ptr_equal(sked_i_candidates_choose(&pool, &b, INFINITY, list, 1, &promise), &entry[2]);
    entry[2].measured = 1;
    assert_ptr_equal(sked_i_candidates_choose(&pool, &b, 20, list, 1, &promise), &entry[1]);
    assert_null(sked_i_candidates_choose(&pool, &b, 20, list, 2, &promise));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_process_is_rank_0_of_1),
        cmocka_unit_test(test_one_process_has_all_lessons_and_draws),
        cmocka_unit_test(test_a_target_says_whether_ranks_may_measure_at_once),
        cmocka_unit_test(test_noise_belongs_to_the_number_of_a_measurement),
        cmocka_unit_test(test_a_schedule_measured_beside_another_complements_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
