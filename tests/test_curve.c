/* Value over time: what a curve keeps, how those of threads are merged, and what runs note. */
#include "test.h"

#include "graph/graph.h"
#include "schedule/value_curve.h"

#include <math.h>
#include <pthread.h>

enum { OPS = 120 };

static void note(sked_i_value_curve *c, int64_t evaluations, double value, double bound, double ii)
{
    sked_i_value_curve_note(
        c, &(sked_curve_point){.evaluations = evaluations, .value = value, .bound = bound, .ii = ii});
}

/* A curve as a thread would have it, at times of our choice. */
static sked_i_value_curve curve_of(const double (*rows)[3], int n)
{
    sked_i_value_curve c = {0};
    for (int i = 0; i < n; i++) {
        note(&c, 0, rows[i][1], rows[i][2], 0);
        assert_int_equal(c.count, i + 1);
        c.point[i].seconds = rows[i][0];
    }
    return c;
}

static void better_points_stay(void **state)
{
    (void)state;
    /* it begins after these points: at negative times none is close to another */
    sked_i_value_curve c = {.begin = sked_clock() + 1000, .bound = 3, .before = 100, .method = "list"};
    note(&c, 1, INFINITY, 4, 0);
    note(&c, 2, 20, 4, 0);
    note(&c, 3, 20, 4, 0);  /* nothing new */
    note(&c, 4, 25, 3, 0);  /* worse */
    note(&c, 5, 25, 10, 0); /* a better bound, with the schedule that there is */
    note(&c, 6, 40, 0, -1); /* a smaller interval goes first */
    assert_int_equal(c.count, 4);
    assert_true(isinf(c.point[0].value) && c.point[0].bound == 4);
    assert_true(c.point[1].value == 20 && c.point[1].evaluations == 102);
    assert_true(c.point[2].value == 20 && c.point[2].bound == 10 && c.point[2].evaluations == 105);
    assert_true(c.point[3].value == 40 && c.point[3].bound == 10 && c.point[3].ii == -1);
    assert_string_equal(c.point[3].method, "list");
    for (int i = 1; i < 4; i++)
        assert_true(c.point[i].seconds >= c.point[i - 1].seconds);
    sked_i_value_curve_free(&c);
}

/* However often a search improves, its curve stays small; the last point is the last improvement. */
static void close_points_are_one(void **state)
{
    (void)state;
    sked_i_value_curve c = {.begin = sked_clock() - 1000};
    for (int i = 0; i < 5000; i++)
        note(&c, i, 9000 - i, 0, 0);
    assert_int_equal(c.count, 2);
    assert_true(c.point[0].value == 9000 && c.point[1].value == 4001 && c.point[1].evaluations == 4999);
    sked_i_value_curve_free(&c);
}

static void threads_are_merged_by_time(void **state)
{
    (void)state;
    static const double first[][3] = {{1, 50, 5}, {3, 40, 5}, {6, 30, 5}};
    static const double second[][3] = {{2, 45, 0}, {4, 44, 0}, {5, 35, 0}, {7, 30 - 1e-10, 0}, {8, 20, 0}};
    static const double want[][2] = {{1, 50}, {2, 45}, {3, 40}, {5, 35}, {6, 30}};
    sked_i_value_curve c = curve_of(first, 3), thread = curve_of(second, 5);
    /* 20 was never validated, and what differs by rounding is the same schedule */
    sked_i_value_curve_merge(&c, &thread, &(sked_curve_point){.value = 30});
    assert_int_equal(c.count, 5);
    assert_int_equal(thread.count, 0);
    for (int i = 0; i < 5; i++)
        assert_true(c.point[i].seconds == want[i][0] && c.point[i].value == want[i][1] &&
                    c.point[i].bound == 5);
    sked_i_value_curve_free(&c);
    sked_i_value_curve_free(&thread);
}

/* ------------------------------------------------------------------ runs */

/* Times and bounds never fall, schedules get better, and the last point is the result. */
static void check_curve(const sked_result *r)
{
    assert_true(r->n_curve > 0);
    for (int32_t i = 0; i < r->n_curve; i++) {
        const sked_curve_point *p = r->curve[i], *before = i > 0 ? r->curve[i - 1] : NULL;
        assert_true(p->seconds >= 0 && p->seconds <= r->seconds && p->evaluations <= r->evaluations);
        assert_non_null(sked_method_find(p->method));
        if (before == NULL)
            continue;
        assert_true(p->seconds >= before->seconds && p->bound >= before->bound);
        assert_true(p->evaluations >= before->evaluations && p->value <= before->value);
        assert_true(p->value < before->value || p->bound > before->bound);
    }
    assert_true(r->curve[r->n_curve - 1]->value == r->value);
    assert_true(r->curve[r->n_curve - 1]->bound == r->lower_bound);
}

static sked_graph *layered(const char *bytes)
{
    sked_graph *g = NULL;
    const sked_generate_options how = {.size = sizeof how,
                                       .nodes = OPS,
                                       .seed = 3,
                                       .duration = "int:1,9",
                                       .bytes = bytes,
                                       .memory = "int:1,9"};
    OK(sked_graph_generate("layered", &how, &g, err));
    return g;
}

static void run(const char *method, const sked_problem *p, int threads, int64_t iterations, sked_result *r)
{
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.threads = threads;
    opt.iterations = iterations;
    opt.time_limit = INFINITY;
    OK(sked_method_run(method, p, &opt, r, err));
}

/* Search on one thread and on several, where the threads' own improvements are part of the curve. */
static void searches_note_improvements(void **state)
{
    (void)state;
    sked_graph *g = layered("int:1,20");
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 3;
    p.bandwidth = 2;
    for (int threads = 1; threads <= 2; threads++) {
        sked_result r = {.size = sizeof r};
        run("search", &p, threads, 20000, &r);
        check_curve(&r);
        assert_true(r.n_curve > 5); /* not only what was offered at the end */
        sked_result_clear(&r);
        assert_true(r.curve == NULL && r.n_curve == 0);
    }
    sked_graph_destroy(g);
}

/* A round of gaus notes what its items found on the way; members are named. */
static void descents_note_improvements(void **state)
{
    (void)state;
    sked_graph *g = layered(NULL);
    sked_problem p, span;
    sked_result r = {.size = sizeof r};
    double path;
    sked_problem_init(&p, g);
    span = p;
    OK(sked_problem_bound(&span, &path, NULL, err));
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.horizon = 2 * path;
    run("gaus", &p, 2, 1, &r);
    check_curve(&r);
    int gaus = 0;
    for (int32_t i = 0; i < r.n_curve; i++)
        gaus += strcmp(r.curve[i]->method, "gaus") == 0;
    assert_string_equal(r.curve[0]->method, "list");
    assert_true(gaus > 1);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* Two members side by side, and a proof: the bound meets the value. */
static void proofs_end_the_curve(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    const sked_generate_options how = {.size = sizeof how, .nodes = 9, .seed = 5, .duration = "int:1,9"};
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    for (int threads = 1; threads <= 2; threads++) {
        sked_result r = {.size = sizeof r};
        run("auto", &p, threads, 2000, &r);
        assert_true(r.optimal);
        check_curve(&r);
        assert_true(r.curve[r.n_curve - 1]->bound == r.value);
        sked_result_clear(&r);
    }
    sked_graph_destroy(g);
}

/* Where the interval comes first, its bound ends the curve; that line has a method, too. */
static void bounds_at_the_interval_have_a_method(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    const sked_generate_options how = {.size = sizeof how, .nodes = 60, .seed = 3};
    OK(sked_graph_generate("loop", &how, &g, err));
    sked_problem p;
    sked_problem_init(&p, g);
    p.ii = SKED_II_AUTO;
    p.objective = SKED_OBJECTIVE_MEMORY;
    sked_result r = {.size = sizeof r};
    run("modulo-list", &p, 1, 0, &r);
    assert_true(r.n_curve > 1 && r.curve[r.n_curve - 1]->bound > r.curve[0]->bound);
    assert_string_equal(r.curve[r.n_curve - 1]->method, "modulo-list");
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ incumbents */

/* What a run told of its incumbents. */
typedef struct listener {
    const sked_problem *problem;
    sked_schedule *last;
    int count;
    double value;
    pthread_t thread;
} listener;

static void hear(void *data, const sked_schedule *s, double value)
{
    listener *l = data;
    sked_metrics m = {.size = sizeof m};
    OK(sked_schedule_validate(l->problem, s, err));
    OK(sked_schedule_measure(l->problem, s, &m, err));
    assert_true(m.value == value && (l->count == 0 || value <= l->value));
    assert_true(pthread_equal(pthread_self(), l->thread));
    assert_true((s->phase != NULL) == (l->problem->clock > 0));
    sked_schedule_destroy(l->last);
    OK(sked_schedule_clone(s, &l->last, err));
    l->value = value;
    l->count++;
}

static void listen_to(const char *method, const sked_problem *p, int threads, int least)
{
    listener l = {.problem = p, .thread = pthread_self()};
    sked_result r = {.size = sizeof r};
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.threads = threads;
    opt.iterations = 30;
    opt.time_limit = INFINITY;
    opt.incumbent = hear;
    opt.incumbent_data = &l;
    OK(sked_method_run(method, p, &opt, &r, err));
    assert_true(l.count >= least && l.value == r.value);
    const size_t size = (size_t)p->graph->n_ops * sizeof *l.last->start;
    assert_int_equal(l.last->ops, p->graph->n_ops);
    assert_memory_equal(l.last->start, r.schedule[0]->start, size);
    sked_schedule_destroy(l.last);
    sked_result_clear(&r);
}

/* Each is better than the one before, of the problem as asked, on the caller's thread; the last is the
 * result. */
static void incumbents_are_told(void **state)
{
    (void)state;
    sked_graph *g = layered("int:1,20"), *chained = NULL;
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 3;
    p.bandwidth = 2;
    for (int threads = 1; threads <= 3; threads += 2) {
        listen_to("brkga", &p, threads, 2);
        listen_to("auto", &p, threads, 2);
    }
    const sked_read_options how = {.size = sizeof how, .library = SKED_SOURCE_DIR "/examples/delays.json"};
    OK(sked_graph_read(SKED_SOURCE_DIR "/examples/fir.dot", &how, &chained, err));
    sked_problem_init(&p, chained);
    p.clock = 4;
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.io = SKED_IO_ALIGNED;
    p.horizon = 12;
    listen_to("auto", &p, 1, 1);
    sked_graph_destroy(chained);
    sked_graph_destroy(g);
}

static void lines_are_written(void **state)
{
    (void)state;
    const char *path = SKED_BINARY_DIR "/test_curve.jsonl";
    sked_curve_point rows[] = {{0.25, 0, INFINITY, 3, 0, "exact"}, {1.5, 20, 7.5, 3, 4, "gaus"}};
    sked_curve_point *curve[] = {&rows[0], &rows[1]};
    sked_result r = {.size = sizeof r, .n_curve = 2, .curve = curve};
    char text[400] = {0};
    OK(sked_curve_write(&r, path, err));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    assert_string_equal(
        text,
        "{\"seconds\": 0.25, \"evaluations\": 0, \"value\": null, \"bound\": 3, \"method\": \"exact\"}\n"
        "{\"seconds\": 1.5, \"evaluations\": 20, \"value\": 7.5, \"bound\": 3, \"ii\": 4, \"method\": "
        "\"gaus\"}\n");
    remove(path);
    FAILS(SKED_ERR_IO, "no/such", sked_curve_write(&r, "no/such/folder.jsonl", err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(better_points_stay),
        cmocka_unit_test(close_points_are_one),
        cmocka_unit_test(threads_are_merged_by_time),
        cmocka_unit_test(searches_note_improvements),
        cmocka_unit_test(descents_note_improvements),
        cmocka_unit_test(proofs_end_the_curve),
        cmocka_unit_test(bounds_at_the_interval_have_a_method),
        cmocka_unit_test(incumbents_are_told),
        cmocka_unit_test(lines_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
