/*
 * What training stands on: lessons that depend on (seed, update, index) only, made ahead in any way, and
 * learners whose result depends neither on threads nor on how the lessons of an update are shared.
 */
#include "test.h"

#include "base/memory.h"
#include "method/gflownet/sampler_learner.h"

#include <string.h>

static sked_i_graph_source *source(void)
{
    sked_i_graph_source *s = NULL;
    OK(sked_i_lesson_source_open("layered:8-20,erdos-renyi:12", &s, err));
    return s;
}

static sked_i_lesson_law law_of(const sked_i_graph_source *s, const sked_i_limit *limit)
{
    return (sked_i_lesson_law){
        .source = s,
        .seed = 3,
        .largest = 16,
        .batch = 12,
        .listed = 0.25,
        .gentlest = 2,
        .sharpest = 300,
        .machine = {.least_devices = 2, .most_devices = 4, .transfers = 8, .unequal = 0.5},
        .limit = limit};
}

static void assert_same_lesson(const sked_i_lesson *a, const sked_i_lesson *b)
{
    const sked_i_instance *x = a->instance, *y = b->instance;
    assert_int_equal(a->update, b->update);
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->graph->n_ops, b->graph->n_ops);
    assert_int_equal(a->graph->n_edges, b->graph->n_edges);
    assert_memory_equal(a->graph->duration, b->graph->duration,
                        (size_t)a->graph->n_ops * sizeof *a->graph->duration);
    assert_int_equal(x->devices, y->devices);
    assert_int_equal(x->kinds, y->kinds);
    assert_memory_equal(x->platform.time, y->platform.time,
                        (size_t)x->n * (size_t)x->kinds * sizeof *x->platform.time);
    assert_true(a->temperature == b->temperature && x->scale == y->scale);
    assert_int_equal(a->batch, b->batch);
    assert_int_equal(a->listed, b->listed);
    assert_true(a->seed == b->seed && a->first == b->first);
}

/* Threads, the window, the first update and a share of the lessons change nothing of a lesson. */
static void test_lessons_are_the_same_however_they_are_made(void **state)
{
    (void)state;
    static const sked_i_lesson_plan plans[] = {
        {0, 9, 0, 3, 1, 0}, {0, 9, 0, 3, 4, 3}, {2, 9, 1, 2, 3, 1}, {5, INT64_MAX, 2, 1, 2, 2}};
    sked_i_graph_source *s = source();
    const sked_i_lesson_law law = law_of(s, NULL);
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
        sked_i_lesson_queue *q = NULL;
        OK(sked_i_lesson_queue_create(&law, &plans[p], &q, err));
        for (int64_t update = plans[p].update; update < 9; update++) {
            const sked_i_lesson *lessons = NULL;
            OK(sked_i_lesson_queue_at(q, update, &lessons, err));
            assert_true(sked_i_lesson_queue_ready(q, update));
            for (int k = 0; k < plans[p].count; k++) {
                sked_i_lesson alone;
                OK(sked_i_lesson_make(&law, update, plans[p].first + k, &alone, err));
                assert_same_lesson(&alone, &lessons[k]);
                sked_i_lesson_clear(&alone);
            }
            sked_i_lesson_queue_release(q);
        }
        assert_false(plans[p].last == 9 && sked_i_lesson_queue_ready(q, 9));
        sked_i_lesson_queue_destroy(q);
    }
    sked_i_lesson_source_close(s);
}

/* Made by whoever has time: in order, and not beyond the window. */
static void test_helping_fills_the_window(void **state)
{
    (void)state;
    sked_i_graph_source *s = source();
    const sked_i_lesson_law law = law_of(s, NULL);
    const sked_i_lesson_plan plan = {.last = 100, .count = 2, .ahead = 2};
    sked_i_lesson_queue *q = NULL;
    OK(sked_i_lesson_queue_create(&law, &plan, &q, err));
    for (int k = 0; k < 3; k++)
        sked_i_lesson_queue_help(q);
    assert_true(sked_i_lesson_queue_ready(q, 0));
    assert_false(sked_i_lesson_queue_ready(q, 1));
    for (int k = 0; k < 3; k++)
        sked_i_lesson_queue_help(q);
    assert_true(sked_i_lesson_queue_ready(q, 1));
    assert_false(sked_i_lesson_queue_ready(q, 2));
    sked_i_lesson_queue_release(q);
    assert_false(sked_i_lesson_queue_ready(q, 2));
    sked_i_lesson_queue_destroy(q);
    sked_i_lesson_source_close(s);
}

static void test_a_stop_ends_lessons(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 1;
    sked_run_options opt;
    sked_i_limit limit;
    sked_run_options_init(&opt);
    opt.stop = &stop;
    sked_i_limit_init(&limit, &opt);
    sked_i_graph_source *s = source();
    const sked_i_lesson_law law = law_of(s, &limit);
    for (int threads = 0; threads <= 2; threads += 2) {
        const sked_i_lesson_plan plan = {.last = 100, .count = 2, .ahead = 3, .threads = threads};
        sked_i_lesson_queue *q = NULL;
        const sked_i_lesson *lessons = NULL;
        OK(sked_i_lesson_queue_create(&law, &plan, &q, err));
        FAILS(SKED_ERR_STOPPED, "stopped", sked_i_lesson_queue_at(q, 0, &lessons, err));
        assert_false(sked_i_lesson_queue_ready(q, 0));
        sked_i_lesson_queue_destroy(q);
    }
    sked_i_lesson_source_close(s);
}

/* ------------------------------------------------------------------ learners */

enum { GRAPHS = 3, EPOCHS = 3 };

static sked_sampler *new_model(sked_i_policy_id policy, sked_i_loss_id loss)
{
    const sked_i_sizes sizes = {
        16, 2, 8, 16, 8, 8, 16, 16, policy, SKED_I_BACKWARD_UNIFORM, SKED_I_RULE_NONE};
    sked_sampler *m = NULL;
    OK(sked_i_sampler_create(&sizes, &m, err));
    sked_i_sampler_start(m, 7);
    m->epochs = loss == SKED_I_LOSS_PPO ? EPOCHS : 1;
    m->rate = loss == SKED_I_LOSS_PPO ? 0.1 : m->rate; /* so that ratios differ from 1 */
    return m;
}

/* What is learnt by, one after the other. */
static const sked_i_loss losses[] = {
    {.kind = SKED_I_LOSS_VARIANCE},
    {.kind = SKED_I_LOSS_TB, .log_z = -3},
    {.kind = SKED_I_LOSS_VARIANCE, .by_steps = true, .lambda = 0.7},
    {.kind = SKED_I_LOSS_PPO, .by_steps = true, .lambda = 0.7, .clip = 0.01, .entropy = 0.1},
    {.kind = SKED_I_LOSS_PPO, .clip = 0.01, .entropy = 0.1}, /* some ratios are cut, some are not */
};
enum { n_losses = sizeof losses / sizeof *losses };

static sked_i_sampler_learner_settings settings(const sked_i_loss *loss, int lessons, int threads)
{
    return (sked_i_sampler_learner_settings){.loss = loss->kind,
                                             .clip = 0.01, /* some are clipped, some are not */
                                             .graphs = GRAPHS,
                                             .lessons = lessons,
                                             .batch = 45,
                                             .largest = 16,
                                             .devices = 4,
                                             .threads = threads};
}

static void assert_same_state(const sked_sampler *a, const sked_sampler *b)
{
    const size_t bytes = (size_t)a->layout.total * sizeof(float);
    assert_int_equal(a->steps, b->steps);
    assert_memory_equal(a->parameter, b->parameter, bytes);
    assert_memory_equal(a->moment1, b->moment1, bytes);
    assert_memory_equal(a->moment2, b->moment2, bytes);
}

/* New trajectories, or those of the epoch before. */
static void begin_learning(sked_i_sampler_learner *l, const sked_sampler *m, const sked_i_loss *loss,
                           const sked_i_lesson *lessons, int count)
{
    const sked_i_loss each[GRAPHS] = {*loss, *loss, *loss};
    if (m->epoch > 0)
        OK(l->kind->again(l, err));
    else
        OK(l->kind->start(l, lessons, each, count, err));
}

/* Some updates by one learner. With `others` it is told of the next lessons, and every other time of those,
 * which do not come. */
static sked_sampler *learnt_alone(sked_i_policy_id policy, const sked_i_loss *loss,
                                  const sked_i_lesson *lessons, const sked_i_lesson *others, int threads,
                                  sked_i_mark *marks)
{
    const sked_i_sampler_learner_settings how = settings(loss, GRAPHS, threads);
    sked_sampler *m = new_model(policy, loss->kind);
    sked_i_sampler_learner *l = NULL;
    OK(sked_i_sampler_learner_cpu.create(m, &how, &l, err));
    while (m->steps < 3) {
        begin_learning(l, m, loss, lessons, GRAPHS);
        if (others != NULL && m->epoch == 0)
            l->kind->prefetch(l, m->steps % 2 == 0 ? lessons : others, GRAPHS);
        OK(l->kind->finish(l, marks, err));
        OK(l->kind->update(l, NULL, err));
    }
    OK(l->kind->fetch(l, err));
    sked_i_sampler_learner_destroy(l);
    return m;
}

/* The same by two of them, as two processes would: each adds to what those before it have summed. */
static void learn_together(sked_i_policy_id policy, const sked_i_loss *loss, const sked_i_lesson *lessons,
                           const sked_sampler *alone, const sked_i_mark *marks)
{
    const int share[2] = {2, 1};
    sked_sampler *m[2];
    sked_i_sampler_learner *l[2];
    sked_i_mark mark[GRAPHS];
    float *gradient = calloc((size_t)alone->layout.total, sizeof *gradient);
    assert_non_null(gradient);
    for (int r = 0; r < 2; r++) {
        const sked_i_sampler_learner_settings how = settings(loss, share[r], 1 + r);
        m[r] = new_model(policy, loss->kind);
        OK(sked_i_sampler_learner_cpu.create(m[r], &how, &l[r], err));
    }
    while (m[0]->steps < 3) {
        memset(gradient, 0, (size_t)alone->layout.total * sizeof *gradient);
        for (int r = 0; r < 2; r++) {
            begin_learning(l[r], m[r], loss, lessons + (r == 0 ? 0 : share[0]), share[r]);
            OK(l[r]->kind->finish(l[r], mark + (r == 0 ? 0 : share[0]), err));
            OK(l[r]->kind->add(l[r], gradient, err));
        }
        for (int r = 0; r < 2; r++)
            OK(l[r]->kind->update(l[r], gradient, err));
    }
    for (int r = 0; r < 2; r++) {
        OK(l[r]->kind->fetch(l[r], err));
        assert_same_state(alone, m[r]);
        sked_i_sampler_learner_destroy(l[r]);
        sked_sampler_destroy(m[r]);
    }
    for (int k = 0; k < GRAPHS; k++)
        assert_memory_equal(&mark[k], &marks[k], sizeof *mark);
    free(gradient);
}

static void check_learning(sked_i_policy_id policy, const sked_i_loss *loss)
{
    sked_i_graph_source *s = source();
    sked_i_lesson_law law = law_of(s, NULL);
    sked_i_lesson lessons[2 * GRAPHS];
    sked_i_mark marks[GRAPHS], others[GRAPHS];
    if (policy == SKED_I_POLICY_STEPWISE)
        law.machine.transfers = law.machine.unequal = 0;
    else
        law.batch = 45; /* in long and short parts */
    for (int k = 0; k < 2 * GRAPHS; k++)
        OK(sked_i_lesson_make(&law, k / GRAPHS, k % GRAPHS, &lessons[k], err));
    sked_sampler *alone = learnt_alone(policy, loss, lessons, NULL, 1, marks);
    for (int threads = 2; threads <= 9; threads += 7) {
        sked_sampler *m = learnt_alone(policy, loss, lessons, lessons + GRAPHS, threads, others);
        assert_same_state(alone, m);
        assert_memory_equal(marks, others, sizeof marks);
        sked_sampler_destroy(m);
    }
    learn_together(policy, loss, lessons, alone, marks);
    for (int k = 0; k < GRAPHS; k++) {
        assert_true(isfinite(marks[k].loss) && marks[k].norm > 0 && marks[k].speedup > 1);
        assert_true((marks[k].pull != 0) == (loss->kind == SKED_I_LOSS_TB));
        assert_true((marks[k].log_z == loss->log_z) == (loss->kind == SKED_I_LOSS_TB));
    }
    sked_sampler_destroy(alone);
    for (int k = 0; k < 2 * GRAPHS; k++)
        sked_i_lesson_clear(&lessons[k]);
    sked_i_lesson_source_close(s);
}

static void test_learning_depends_on_the_lessons_only(void **state)
{
    (void)state;
    for (int k = 0; k < n_losses; k++) {
        check_learning(SKED_I_POLICY_ENCODE_ONCE, &losses[k]);
        check_learning(SKED_I_POLICY_STEPWISE, &losses[k]);
    }
}

/* A stop in an update: an error, and the model as it was. */
static void test_a_stop_leaves_the_model(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 0;
    sked_run_options opt;
    sked_i_limit limit;
    sked_run_options_init(&opt);
    opt.stop = &stop;
    sked_i_limit_init(&limit, &opt);
    sked_i_graph_source *s = source();
    const sked_i_lesson_law law = law_of(s, &limit);
    const sked_i_sampler_learner_settings how = settings(&losses[0], 1, 2);
    sked_sampler *m = new_model(SKED_I_POLICY_ENCODE_ONCE, SKED_I_LOSS_VARIANCE),
                 *before = new_model(SKED_I_POLICY_ENCODE_ONCE, SKED_I_LOSS_VARIANCE);
    sked_i_sampler_learner *l = NULL;
    sked_i_lesson lesson;
    sked_i_mark mark;
    OK(sked_i_lesson_make(&law, 0, 0, &lesson, err));
    OK(sked_i_sampler_learner_cpu.create(m, &how, &l, err));
    stop = 1;
    OK(l->kind->start(l, &lesson, &losses[0], 1, err));
    FAILS(SKED_ERR_STOPPED, "stopped", l->kind->finish(l, &mark, err));
    OK(l->kind->fetch(l, err));
    assert_same_state(before, m);
    stop = 0;
    begin_learning(l, m, &losses[0], &lesson, 1);
    OK(l->kind->finish(l, &mark, err));
    assert_true(isfinite(mark.loss) && mark.norm > 0);
    sked_i_sampler_learner_destroy(l);
    sked_i_lesson_clear(&lesson);
    sked_sampler_destroy(m);
    sked_sampler_destroy(before);
    sked_i_lesson_source_close(s);
}

static void test_backends_are_chosen_by_name(void **state)
{
    (void)state;
    sked_sampler *m = new_model(SKED_I_POLICY_ENCODE_ONCE, SKED_I_LOSS_VARIANCE);
    const sked_i_sampler_learner_settings how = settings(&losses[0], 1, 1);
    const sked_i_sampler_learner_kind *kind = NULL;
    OK(sked_i_sampler_learner_choose("cpu", &m->layout, &how, &kind, err));
    assert_ptr_equal(kind, &sked_i_sampler_learner_cpu);
    kind = NULL;
    OK(sked_i_sampler_learner_choose(NULL, &m->layout, &how, &kind, err));
    assert_non_null(kind);
    FAILS(SKED_ERR_ARGUMENT, "no backend",
          sked_i_sampler_learner_choose("abacus", &m->layout, &how, &kind, err));
    sked_sampler_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lessons_are_the_same_however_they_are_made),
        cmocka_unit_test(test_helping_fills_the_window),
        cmocka_unit_test(test_a_stop_ends_lessons),
        cmocka_unit_test(test_learning_depends_on_the_lessons_only),
        cmocka_unit_test(test_a_stop_leaves_the_model),
        cmocka_unit_test(test_backends_are_chosen_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
