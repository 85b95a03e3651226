/* The one-shot pipeline of sked_robust, and sked_sweep. */
#include "test.h"

#include "schedule/equal.h"
#include "schedule/schedule.h"

#include <math.h>
#include <time.h>

#define SCRIPT  SKED_BINARY_DIR "/test_robust.sh"
#define COUNTER SKED_BINARY_DIR "/test_robust.count"

static sked_graph *generate(int32_t nodes, const char *duration)
{
    sked_graph *g = NULL;
    const sked_generate_options how = {.size = sizeof how, .nodes = nodes, .seed = 5, .duration = duration};
    OK(sked_graph_generate("layered", &how, &g, err));
    return g;
}

static sked_problem on_devices(const sked_graph *g, int32_t devices)
{
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = devices;
    return p;
}

/* What the callbacks saw. */
typedef struct listener {
    int warnings, measured, phases;
    char last[300];
    volatile sig_atomic_t *stop; /* set when the first candidate is measured */
} listener;

static void on_warning(void *data, const char *message)
{
    listener *l = data;
    l->warnings++;
    snprintf(l->last, sizeof l->last, "%s", message);
}

static void on_progress(void *data, const char *phase, double share, double value, double bound)
{
    listener *l = data;
    (void)share;
    (void)value;
    (void)bound;
    l->phases++;
    if (strcmp(phase, "measuring") != 0)
        return;
    l->measured++;
    if (l->stop != NULL)
        *l->stop = 1;
}

static void options_of(sked_robust_options *opt, listener *l)
{
    sked_robust_options_init(opt);
    opt->one_shot = true;
    opt->candidates = 12;
    opt->top = 5;
    opt->time_limit = INFINITY;
    opt->iterations = 20;
    opt->warning = on_warning;
    opt->warning_data = l;
    opt->progress = on_progress;
    opt->progress_data = l;
}

/* The list of measurements says what the members say, in the order they ran. */
static void check_measurements(const sked_robust_result *r)
{
    double best = NAN;
    int32_t at = 0, failures = 0;
    for (int i = 0; i < r->count; i++)
        for (int32_t k = 0; k < r->member[i]->count; k++, at++) {
            const sked_robust_measurement *x = &r->measurement[at];
            const double speedup = r->member[i]->target[k];
            assert_true(at < r->measurements && x->member == i && x->candidate == k);
            assert_true(isnan(x->time) == isnan(speedup) && (isnan(speedup) || x->time > 0));
            assert_true(isnan(x->expected) && isnan(x->fitted) && !x->again && !x->resumed);
            best = fmax(best, speedup);
            assert_true(isnan(best) ? isnan(x->best) : x->best == best);
            failures += isnan(speedup);
        }
    assert_int_equal(at, r->measurements);
    assert_int_equal(failures, r->failures);
    assert_true(best == r->member[r->winner]->target[r->member[r->winner]->best]);
    assert_true(r->one_shot && r->end == SKED_ROBUST_BUDGET && isnan(r->noise));
    assert_true(r->parameters == 0 && r->parameter == NULL && r->machine == NULL);
}

/* What every result promises. */
static void check_result(const sked_problem *p, const char *target, const sked_robust_result *r)
{
    sked_target *t = NULL;
    OK(sked_target_create(target, p, 0, &t, err));
    assert_string_equal(r->target, target);
    double best = INFINITY;
    for (int i = 0; i < r->count; i++) {
        const sked_robust_member *m = r->member[i];
        double least = INFINITY;
        int32_t failures = 0;
        for (int32_t k = 0; k < m->count; k++) {
            sked_metrics metrics = {.size = sizeof metrics};
            double time = NAN;
            OK(sked_schedule_validate(p, m->schedule[k], err));
            OK(sked_schedule_measure(p, m->schedule[k], &metrics, err));
            assert_true(m->proxy[k] == metrics.speedup);
            assert_true(k == 0 || m->proxy[k] <= m->proxy[k - 1]);
            failures += isnan(m->target[k]);
            if (isnan(m->target[k]))
                continue;
            OK(measured_time(t, m->schedule[k], &time, err));
            assert_true(m->target[k] == sked_target_work(t) / time);
            least = fmin(least, time);
        }
        assert_int_equal(failures, m->failures);
        assert_true(m->time == least && (m->best >= 0) == isfinite(least));
        assert_true(m->ged >= 0 && m->ged <= 100 && m->seconds >= 0 && m->lower_bound > 0);
        best = fmin(best, least);
    }
    assert_true(r->member[r->winner]->time == best);
    check_measurements(r);
    sked_target_destroy(t);
}

static void every_member(void **state)
{
    (void)state;
    static const char *const labels[] = {"list", "random list", "brkga", "search", "gflownet"};
    sked_graph *g = generate(40, "int:1,9");
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r}, again = {.size = sizeof again};
    options_of(&opt, &l);
    OK(sked_robust(&p, "noisy:strength=0.5", &opt, &r, err));
    assert_int_equal(r.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(r.member[i]->label, labels[i]);
        assert_int_equal(r.member[i]->asked, i == 0 ? 1 : 12);
        assert_true(r.member[i]->count >= 1 && r.member[i]->count <= (i == 0 ? 1 : 5));
    }
    check_result(&p, "noisy:strength=0.5", &r);
    assert_int_equal(l.warnings, 0);
    assert_true(l.measured > 5 && l.phases > l.measured);
    OK(sked_robust(&p, "noisy:strength=0.5", &opt, &again, err)); /* the same seed: the same */
    assert_int_equal(again.winner, r.winner);
    for (int i = 0; i < 5; i++)
        assert_memory_equal(again.member[i]->target, r.member[i]->target,
                            (size_t)r.member[i]->count * sizeof *r.member[i]->target);
    sked_robust_result_clear(&r);
    assert_true(r.count == 0 && r.member == NULL && r.target == NULL && r.size == sizeof r);
    sked_robust_result_clear(&r);
    sked_robust_result_clear(&again);
    sked_graph_destroy(g);
}

/* The stages do the same with candidates that were made before as with those that the method makes. */
static void given_candidates(void **state)
{
    (void)state;
    const char *settings[] = {"priority=random"};
    sked_graph *g = generate(40, "int:1,9");
    const sked_problem p = on_devices(g, 3), other = on_devices(g, 2);
    listener l = {0};
    sked_run_options run;
    sked_result made = {.size = sizeof made};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r}, again = {.size = sizeof again};
    sked_run_options_init(&run);
    run.settings = settings;
    run.n_settings = 1;
    run.candidates = 12;
    OK(sked_method_run("list", &p, &run, &made, err));
    options_of(&opt, &l);
    opt.method = "list";
    opt.improve = 3;
    OK(sked_robust(&p, "noisy", &opt, &r, err));
    opt.given = (const sked_schedule *const *)made.schedule;
    opt.n_given = made.count;
    OK(sked_robust(&p, "noisy", &opt, &again, err));
    check_result(&p, "noisy", &again);
    assert_int_equal(again.member[0]->asked, made.count);
    assert_int_equal(again.member[0]->count, r.member[0]->count);
    assert_memory_equal(again.member[0]->target, r.member[0]->target,
                        (size_t)r.member[0]->count * sizeof *r.member[0]->target);
    sked_robust_result_clear(&again);
    opt.method = NULL;
    opt.n_given = 1;
    OK(sked_robust(&p, "noisy", &opt, &again, err));
    assert_true(again.count == 1 && again.member[0]->count == 1);
    assert_string_equal(again.member[0]->label, "given");
    sked_robust_result_clear(&again);
    FAILS(SKED_ERR_INVALID, "candidate 0 of those given", sked_robust(&other, "noisy", &opt, &again, err));
    opt.n_given = 0;
    FAILS(SKED_ERR_ARGUMENT, "n_given must be 1 or more", sked_robust(&p, "noisy", &opt, &again, err));
    opt.n_given = 1;
    opt.one_shot = false;
    FAILS(SKED_ERR_ARGUMENT, "for one-shot", sked_robust(&p, "noisy", &opt, &again, err));
    sked_robust_result_clear(&r);
    sked_result_clear(&made);
    sked_graph_destroy(g);
}

/* b may begin 9 before a. A valid schedule has it there on a's device; in that order no replay can begin. */
static void candidates_that_no_target_replays(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"a\",\"duration\":4},{\"name\":"
        "\"b\",\"duration\":1}],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"lag\":-9}]}";
    listener l = {0};
    sked_graph *g = NULL;
    sked_schedule *given[2] = {NULL, NULL};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    OK(sked_graph_parse("graph", text, sizeof text - 1, NULL, &g, err));
    const sked_problem p = on_devices(g, 2);
    for (int k = 0; k < 2; k++)
        OK(sked_schedule_create(2, 2, &given[k], err));
    given[0]->start[0] = 1; /* b, a */
    given[1]->start[1] = 4; /* a, b */
    options_of(&opt, &l);
    opt.iterations = 0;
    opt.local = false;
    opt.given = (const sked_schedule *const *)given;
    opt.n_given = 2;
    OK(sked_robust(&p, "proxy", &opt, &r, err));
    assert_true(r.failures == 1 && r.member[0]->failures == 1 && r.measurements == 2);
    assert_true(l.warnings == 1 && strstr(l.last, "contradict the graph") != NULL);
    assert_true(r.member[0]->time == 5);
    sked_robust_result_clear(&r);
    opt.n_given = 1;
    FAILS(SKED_ERR_DEVICE, "measured none", sked_robust(&p, "proxy", &opt, &r, err));
    for (int k = 0; k < 2; k++)
        sked_schedule_destroy(given[k]);
    sked_graph_destroy(g);
}

/* What a method refuses is refused before anything is made of it: no target runs, no model is drawn. */
static sked_status never(void *data, const sked_schedule *s, double *time, double *start, double *finish,
                         sked_error *err)
{
    (void)data;
    (void)s;
    (void)start;
    (void)finish;
    (void)err;
    *time = 1;
    fail_msg("the target ran");
    return SKED_OK;
}

static void checks_come_first(void **state)
{
    (void)state;
    static const double durations[] = {1.7e308, 1e100, 6e99};
    for (size_t k = 0; k < sizeof durations / sizeof *durations; k++)
        for (int one_shot = 0; one_shot < 2; one_shot++) {
            listener l = {0};
            sked_builder *b = NULL;
            sked_graph *g = NULL;
            sked_target *t = NULL;
            sked_robust_options opt;
            sked_robust_result r = {.size = sizeof r};
            OK(sked_builder_create(&b, err));
            for (int i = 0; i < 2; i++)
                OK(sked_builder_add_op(b, NULL, NULL, durations[k], NULL, err));
            OK(sked_builder_finish(b, &g, err));
            sked_builder_destroy(b);
            const sked_problem p = on_devices(g, 2);
            options_of(&opt, &l);
            opt.one_shot = one_shot == 1;
            FAILS(SKED_ERR_UNSUPPORTED, "more than 1e+100", sked_target_create("proxy", &p, 0, &t, err));
            FAILS(SKED_ERR_UNSUPPORTED, "more than 1e+100", sked_robust(&p, "noisy+linear", &opt, &r, err));
            opt.measure = never;
            FAILS(SKED_ERR_UNSUPPORTED, "more than 1e+100", sked_robust(&p, NULL, &opt, &r, err));
            sked_graph_destroy(g);
        }
}

/* Members that cannot take devices without a link are left out with a warning; asked for alone, they are
 * refused. */
static void members_on_machines(void **state)
{
    static const char text[] =
        "{\"format\": \"sked-machine-1\", \"devices\": [{\"name\": \"a\"}, {\"name\": \"b\", \"speed\": 2}, "
        "{\"name\": \"c\"}], \"links\": [{\"from\": \"a\", \"to\": \"b\", \"latency\": 1}]}";
    sked_graph *g = generate(20, "uniform:1,9");
    sked_machine *m = NULL;
    sked_problem p = on_devices(g, 3);
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    listener l = {0};
    (void)state;
    OK(sked_machine_parse("machine", text, strlen(text), &m, err));
    p.machine = m;
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    opt.candidates = 10;
    opt.top = 3;
    opt.time_limit = 0.2;
    opt.warning = on_warning;
    opt.warning_data = &l;
    OK(sked_robust(&p, "noisy", &opt, &r, err));
    assert_true(r.count >= 2 && l.warnings >= 1);
    assert_non_null(strstr(l.last, "gflownet takes no part"));
    for (int32_t k = 0; k < r.count; k++)
        assert_string_not_equal(r.member[k]->label, "gflownet");
    sked_robust_result_clear(&r);
    opt.method = "gflownet";
    FAILS(SKED_ERR_UNSUPPORTED, "link between every two", sked_robust(&p, "noisy", &opt, &r, err));
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

static void one_member(void **state)
{
    (void)state;
    const char *settings[] = {"priority=random"};
    sked_graph *g = generate(30, "int:1,9");
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l);
    opt.method = "list"; /* as it stands among the members: with random priorities */
    OK(sked_robust(&p, "latency", &opt, &r, err));
    assert_int_equal(r.count, 1);
    assert_string_equal(r.member[0]->label, "random list");
    assert_int_equal(r.member[0]->count, 5);
    check_result(&p, "latency", &r);
    sked_robust_result_clear(&r);
    opt.method = "brkga"; /* and one that is told by its own name */
    OK(sked_robust(&p, "proxy", &opt, &r, err));
    assert_string_equal(r.member[0]->label, "brkga");
    sked_robust_result_clear(&r);
    opt.method = "gflownet";
    opt.model = "no/such/model";
    FAILS(SKED_ERR_IO, "no/such/model", sked_robust(&p, "proxy", &opt, &r, err));
    opt.settings = settings;
    opt.n_settings = 1;
    opt.model = NULL;
    FAILS(SKED_ERR_ARGUMENT, "priority", sked_robust(&p, "proxy", &opt, &r, err));
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ stages */

/* Members of the pipeline as methods. */
static const struct {
    const char *method, *setting;
} members[] = {{"list", NULL},
               {"list", "priority=random"},
               {"brkga", NULL},
               {"search", NULL},
               {"gflownet", "prior=true"}};
enum { MEMBERS = sizeof members / sizeof *members };

static void check_as_made(const sked_problem *p, const sked_robust_options *opt, int who,
                          const sked_robust_member *m)
{
    sked_run_options run;
    sked_result made = {.size = sizeof made};
    sked_run_options_init(&run);
    run.settings = &members[who].setting;
    run.n_settings = members[who].setting != NULL;
    run.time_limit = INFINITY;
    run.iterations = opt->iterations;
    run.candidates = who > 0 ? opt->candidates : 0;
    run.top = who > 0 ? opt->top : 0;
    run.min_distance = opt->min_distance;
    OK(sked_method_run(members[who].method, p, &run, &made, err));
    assert_int_equal(made.count, m->count);
    for (int32_t k = 0; k < m->count; k++)
        assert_true(sked_i_schedule_equal(made.schedule[k], m->schedule[k], false));
    sked_result_clear(&made);
}

/* How many of them have data further away than their starts need. */
static int count_far(const sked_problem *p, const sked_robust_member *m)
{
    int far = 0;
    for (int32_t k = 0; k < m->count; k++) {
        sked_schedule *near = NULL;
        OK(sked_schedule_clone(m->schedule[k], &near, err));
        OK(sked_i_schedule_localise(p, near, NULL, err));
        far += !sked_i_schedule_equal(near, m->schedule[k], true);
        sked_schedule_destroy(near);
    }
    return far;
}

/* No stage: as the methods made them. With them: those of every member have passed, not of some. */
static void every_member_passes_the_stages(void **state)
{
    (void)state;
    sked_graph *g = generate(60, "uniform:1,9");
    const sked_problem p = on_devices(g, 4);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result made = {.size = sizeof made}, near = {.size = sizeof near},
                       better = {.size = sizeof better};
    options_of(&opt, &l);
    opt.candidates = 30;
    opt.top = 20;
    opt.iterations = 400;
    opt.local = false;
    OK(sked_robust(&p, "latency", &opt, &made, err));
    opt.local = true;
    OK(sked_robust(&p, "latency", &opt, &near, err));
    opt.improve = 6;
    OK(sked_robust(&p, "latency", &opt, &better, err));
    assert_int_equal(made.count, MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
        check_as_made(&p, &opt, i, made.member[i]);
        assert_true(i == 0 || count_far(&p, made.member[i]) > 0);
        assert_int_equal(count_far(&p, near.member[i]), 0);
        assert_int_equal(count_far(&p, better.member[i]), 0);
        assert_true(near.member[i]->proxy[0] == made.member[i]->proxy[0]);
        assert_true(better.member[i]->proxy[0] >= made.member[i]->proxy[0]);
    }
    assert_true(better.member[1]->proxy[0] > made.member[1]->proxy[0]); /* random list leaves something */
    check_result(&p, "latency", &made);
    check_result(&p, "latency", &near);
    check_result(&p, "latency", &better);
    sked_robust_result_clear(&made);
    sked_robust_result_clear(&near);
    sked_robust_result_clear(&better);
    sked_graph_destroy(g);
}

/* Distances hold for what the stages made, not for what went into them. */
static void kept_ones_are_apart(void **state)
{
    (void)state;
    sked_graph *g = generate(40, "uniform:1,9");
    const sked_problem p = on_devices(g, 3);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l);
    opt.candidates = 60;
    opt.top = 30;
    opt.iterations = 200;
    opt.min_distance = 50;
    opt.improve = 3;
    OK(sked_robust(&p, "proxy", &opt, &r, err));
    for (int i = 0; i < r.count; i++)
        for (int32_t k = 0; k < r.member[i]->count; k++)
            for (int32_t j = 0; j < k; j++) {
                const sked_schedule *pair[] = {r.member[i]->schedule[j], r.member[i]->schedule[k]};
                sked_diversity d = {.size = sizeof d};
                OK(sked_schedules_diversity(&p, pair, 2, &d, err));
                assert_true(d.ged >= 50);
            }
    assert_true(r.member[1]->count > 1);
    check_result(&p, "proxy", &r);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

static void check_untouched(const sked_problem *p)
{
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l);
    opt.method = "list";
    opt.improve = 4;
    OK(sked_robust(p, "proxy", &opt, &r, err));
    check_as_made(p, &opt, 1, r.member[0]);
    sked_robust_result_clear(&r);
}

/* Where devices differ, transfers cost time or memory is short, candidates stay as they were made. */
static void stages_leave_what_they_cannot_move(void **state)
{
    (void)state;
    static const char text[] = "{\"format\": \"sked-machine-1\", \"latency\": 0, \"devices\": "
                               "[{\"name\": \"a\"}, {\"name\": \"b\", \"speed\": 2}]}";
    const sked_generate_options how = {
        .size = sizeof how, .nodes = 30, .seed = 5, .duration = "uniform:1,9", .memory = "const:1"};
    sked_graph *g = NULL;
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem p = on_devices(g, 2);
    sked_machine *m = NULL;
    p.latency = 1;
    check_untouched(&p);
    p = on_devices(g, 3);
    p.memory_limit = 12;
    check_untouched(&p);
    OK(sked_machine_parse("machine", text, strlen(text), &m, err));
    p = on_devices(g, 2);
    p.machine = m;
    check_untouched(&p);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

/* A machine file of equal devices and free links is those devices. */
static void stages_know_equal_devices(void **state)
{
    (void)state;
    static const char text[] = "{\"format\": \"sked-machine-1\", \"latency\": 0, \"devices\": "
                               "[{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"c\"}]}";
    sked_graph *g = generate(40, "uniform:1,9");
    sked_problem p = on_devices(g, 3);
    sked_machine *m = NULL;
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result a = {.size = sizeof a}, b = {.size = sizeof b};
    options_of(&opt, &l);
    opt.improve = 4;
    OK(sked_robust(&p, "proxy", &opt, &a, err));
    OK(sked_machine_parse("machine", text, strlen(text), &m, err));
    p.machine = m;
    OK(sked_robust(&p, "proxy", &opt, &b, err));
    assert_int_equal(a.count, b.count);
    for (int i = 0; i < a.count; i++) {
        assert_int_equal(a.member[i]->count, b.member[i]->count);
        for (int32_t k = 0; k < a.member[i]->count; k++)
            assert_true(sked_i_schedule_equal(a.member[i]->schedule[k], b.member[i]->schedule[k], false));
    }
    sked_robust_result_clear(&a);
    sked_robust_result_clear(&b);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

/* The time is for all members together, stages included, even those that would go on for ever. */
static void members_share_the_time(void **state)
{
    (void)state;
    sked_graph *g = generate(200, "uniform:1,9");
    const sked_problem p = on_devices(g, 4);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l);
    opt.iterations = 0;
    opt.time_limit = 2;
    opt.improve = 1000000;
    const clock_t begin = clock();
    OK(sked_robust(&p, "proxy", &opt, &r, err));
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 3.5); /* each its own two seconds: eight */
    check_result(&p, "proxy", &r);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

static void bad_arguments(void **state)
{
    (void)state;
    sked_graph *g = generate(10, "int:1,9");
    sked_problem p = on_devices(g, 2);
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r, .count = -7};
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    FAILS(SKED_ERR_ARGUMENT, "needs a target", sked_robust(&p, NULL, &opt, &r, err));
    FAILS(SKED_ERR_ARGUMENT, "did you mean 'noisy'", sked_robust(&p, "nosy", &opt, &r, err));
    opt.method = "nothing";
    FAILS(SKED_ERR_ARGUMENT, "no method is called", sked_robust(&p, "proxy", &opt, &r, err));
    opt.method = "exact";
    FAILS(SKED_ERR_UNSUPPORTED, "several different schedules", sked_robust(&p, "proxy", &opt, &r, err));
    opt.method = NULL;
    opt.improve = -1;
    FAILS(SKED_ERR_ARGUMENT, "improve must be 0 or more", sked_robust(&p, "proxy", &opt, &r, err));
    opt.improve = 0;
    opt.candidates = 0;
    FAILS(SKED_ERR_ARGUMENT, "candidates must be from 1", sked_robust(&p, "proxy", &opt, &r, err));
    p.devices = 0;
    FAILS(SKED_ERR_ARGUMENT, "devices", sked_robust(&p, "proxy", NULL, &r, err));
    assert_int_equal(r.count, -7); /* untouched by all of them */
    sked_graph_destroy(g);
}

static void write_script(const char *text)
{
    FILE *f = fopen(SCRIPT, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    remove(COUNTER);
}

/* A program that fails at every second schedule: the others are still measured and one of them wins. */
static void target_fails_sometimes(void **state)
{
    (void)state;
    sked_graph *g = generate(20, "int:1,9");
    const sked_problem p = on_devices(g, 2);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l);
    opt.method = "list";
    write_script("n=$(cat " COUNTER " 2>/dev/null || echo 0)\necho $((n + 1)) >" COUNTER
                 "\ntest $((n % 2)) = 1 || exit 3\necho $((100 - n))\n");
    OK(sked_robust(&p, "command,retries=0:sh " SCRIPT, &opt, &r, err));
    const sked_robust_member *m = r.member[0];
    assert_int_equal(m->count, 5);
    assert_int_equal(m->failures, 3);
    assert_int_equal(l.warnings, 3);
    assert_int_equal(m->best, 3); /* the last that was measured took the least */
    assert_true(m->time == 97 && isnan(m->target[4]) && !isnan(m->target[1]));
    assert_non_null(strstr(l.last, "candidate 4 of random list was not measured: "));
    check_measurements(&r);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
}

static void target_fails_always(void **state)
{
    (void)state;
    sked_graph *g = generate(20, "int:1,9");
    const sked_problem p = on_devices(g, 2);
    listener l = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r, .count = -7};
    options_of(&opt, &l);
    opt.method = "list";
    FAILS(SKED_ERR_DEVICE, "measured none", sked_robust(&p, "command,retries=0:false", &opt, &r, err));
    assert_int_equal(l.warnings, 5);
    opt.warning = NULL;
    FAILS(SKED_ERR_DEVICE, "measured none", sked_robust(&p, "command,retries=0:false", &opt, &r, err));
    assert_true(r.count == -7 && l.warnings == 5);
    sked_graph_destroy(g);
}

static void stop_ends_it(void **state)
{
    (void)state;
    sked_graph *g = generate(20, "int:1,9");
    const sked_problem p = on_devices(g, 2);
    volatile sig_atomic_t stop = 0;
    listener l = {.stop = &stop};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    options_of(&opt, &l);
    opt.stop = &stop;
    OK(sked_robust(&p, "noisy", &opt, &r, err)); /* stopped by the first measurement: that one wins */
    assert_int_equal(l.measured, 1);
    assert_true(r.count == 1 && r.winner == 0 && r.member[0]->best == 0 && r.member[0]->failures == 0);
    assert_true(r.end == SKED_ROBUST_STOPPED && r.measurements == 1);
    sked_robust_result_clear(&r);
    FAILS(SKED_ERR_STOPPED, "", sked_robust(&p, "noisy", &opt, &r, err)); /* stopped from the begin */
    assert_int_equal(l.measured, 1);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ sweeps */

static void check_points(const char *method, const sked_problem *p, const sked_sweep_options *opt,
                         const sked_sweep_result *w)
{
    for (int i = 0; i < w->count; i++) {
        const sked_sweep_point *a = w->point[i];
        bool beaten = false;
        assert_true(a->at == opt->values[i]);
        if (!a->found) {
            assert_true(a->reason[0] != 0 && !a->pareto && a->schedule == NULL);
            continue;
        }
        for (int k = 0; k < w->count; k++) {
            const sked_sweep_point *b = w->point[k];
            const bool same = b->x == a->x && b->y == a->y;
            beaten = beaten || (b->found && k != i && b->x <= a->x && b->y <= a->y && (!same || k < i));
        }
        assert_int_equal(a->pareto, !beaten);
        assert_int_equal(a->schedule != NULL, a->pareto);
        if (a->schedule == NULL)
            continue;
        sked_problem there = *p;
        sked_metrics m = {.size = sizeof m};
        sked_sweep_apply(opt->parameter, a->at, &there);
        OK(sked_schedule_validate(&there, a->schedule, err));
        OK(sked_schedule_measure(&there, a->schedule, &m, err));
        assert_true(m.value == a->value && m.makespan == a->makespan && m.resource == a->resource);
        assert_true(a->value >= a->lower_bound && a->seconds >= 0);
        assert_string_equal(a->method, method);
    }
}

static void horizons(void **state)
{
    (void)state;
    sked_graph *g = generate(30, "int:1,4");
    sked_problem p;
    sked_sweep_options opt;
    sked_sweep_result w = {.size = sizeof w};
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_RESOURCE;
    const double values[] = {1, 60, 45, 30, 24, 90};
    sked_sweep_options_init(&opt);
    opt.parameter = SKED_SWEEP_HORIZON;
    opt.values = values;
    opt.n_values = 6;
    OK(sked_sweep("list", &p, &opt, NULL, &w, err));
    assert_int_equal(w.count, 6);
    assert_string_equal(w.parameter, "horizon");
    assert_string_equal(w.x, "makespan");
    assert_string_equal(w.y, "resource");
    assert_false(w.point[0]->found);
    assert_non_null(strstr(w.point[0]->reason, "1"));
    check_points("list", &p, &opt, &w);
    assert_true(w.knee > 0 && w.point[w.knee]->pareto);
    assert_true(isinf(p.horizon)); /* the caller's problem stays as it was */
    sked_sweep_result_clear(&w);
    assert_true(w.count == 0 && w.point == NULL && w.size == sizeof w);
    opt.n_values = 1;
    OK(sked_sweep("list", &p, &opt, NULL, &w, err)); /* no schedule at all: no knee, and no error */
    assert_true(w.count == 1 && w.knee == -1);
    sked_sweep_result_clear(&w);
    sked_graph_destroy(g);
}

static void weights_and_intervals(void **state)
{
    (void)state;
    sked_graph *g = generate(30, "int:1,4"), *loop = NULL;
    sked_generate_options how = {.size = sizeof how, .nodes = 20, .seed = 3};
    sked_problem p;
    sked_sweep_options opt;
    sked_sweep_result w = {.size = sizeof w};
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_COST;
    p.horizon = 60;
    const double alphas[] = {0, 0.5, 1}, intervals[] = {1, 20, 40};
    sked_sweep_options_init(&opt);
    opt.parameter = SKED_SWEEP_ALPHA;
    opt.values = alphas;
    opt.n_values = 3;
    OK(sked_sweep("list", &p, &opt, NULL, &w, err));
    assert_string_equal(w.x, "communication");
    assert_string_equal(w.y, "resource");
    check_points("list", &p, &opt, &w);
    sked_sweep_result_clear(&w);
    OK(sked_graph_generate("loop", &how, &loop, err));
    sked_problem_init(&p, loop);
    p.ii = 1;
    opt.parameter = SKED_SWEEP_II;
    opt.values = intervals;
    OK(sked_sweep("modulo-list", &p, &opt, NULL, &w, err));
    assert_string_equal(w.x, "ii");
    assert_string_equal(w.y, "makespan");
    check_points("modulo-list", &p, &opt, &w);
    assert_true(w.point[2]->found && w.point[2]->ii == 40 && w.point[2]->x == 40);
    sked_sweep_result_clear(&w);
    sked_graph_destroy(loop);
    sked_graph_destroy(g);
}

/* Asks for a stop once a schedule is there. */
static void stop_when_found(void *data, const char *phase, double share, double value, double bound)
{
    (void)phase;
    (void)share;
    (void)bound;
    if (isfinite(value))
        *(volatile sig_atomic_t *)data = 1;
}

static void sweeps_stop(void **state)
{
    (void)state;
    sked_graph *g = generate(30, "uniform:1,4");
    const sked_problem p = on_devices(g, 3);
    volatile sig_atomic_t stop = 0;
    sked_sweep_options opt;
    sked_run_options run;
    sked_sweep_result w = {.size = sizeof w};
    const double values[] = {90, 80, 70};
    sked_sweep_options_init(&opt);
    opt.parameter = SKED_SWEEP_HORIZON;
    opt.values = values;
    opt.n_values = 3;
    sked_run_options_init(&run);
    run.iterations = 20;
    run.time_limit = INFINITY;
    run.stop = &stop;
    run.progress = stop_when_found;
    run.progress_data = (void *)&stop;
    OK(sked_sweep("brkga", &p, &opt, &run, &w, err));
    assert_true(w.count == 1 && w.point[0]->found && w.knee == 0); /* what was reached until then */
    check_points("brkga", &p, &opt, &w);
    sked_sweep_result_clear(&w);
    FAILS(SKED_ERR_STOPPED, "first value", sked_sweep("brkga", &p, &opt, &run, &w, err));
    sked_graph_destroy(g);
}

static void bad_sweeps(void **state)
{
    (void)state;
    sked_graph *g = generate(10, "int:1,4");
    const sked_problem p = on_devices(g, 2);
    sked_sweep_options opt;
    sked_run_options run;
    sked_sweep_result w = {.size = sizeof w, .count = -7};
    const double values[] = {50, -1};
    sked_run_options_init(&run);
    sked_sweep_options_init(&opt);
    FAILS(SKED_ERR_ARGUMENT, "one value", sked_sweep("list", &p, &opt, NULL, &w, err));
    FAILS(SKED_ERR_ARGUMENT, "one value", sked_sweep("list", &p, NULL, NULL, &w, err));
    opt.values = values;
    opt.n_values = 2;
    FAILS(SKED_ERR_ARGUMENT, "not -1", sked_sweep("list", &p, &opt, NULL, &w, err));
    opt.n_values = 1;
    opt.parameter = (sked_sweep_parameter)99;
    FAILS(SKED_ERR_ARGUMENT, "a parameter", sked_sweep("list", &p, &opt, NULL, &w, err));
    opt.parameter = SKED_SWEEP_HORIZON;
    FAILS(SKED_ERR_ARGUMENT, "no method is called", sked_sweep("lst", &p, &opt, NULL, &w, err));
    run.candidates = 4;
    FAILS(SKED_ERR_ARGUMENT, "no candidates", sked_sweep("list", &p, &opt, &run, &w, err));
    run.candidates = 0;
    assert_int_equal(w.count, -7);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member),
        cmocka_unit_test(given_candidates),
        cmocka_unit_test(candidates_that_no_target_replays),
        cmocka_unit_test(checks_come_first),
        cmocka_unit_test(members_on_machines),
        cmocka_unit_test(one_member),
        cmocka_unit_test(every_member_passes_the_stages),
        cmocka_unit_test(kept_ones_are_apart),
        cmocka_unit_test(stages_leave_what_they_cannot_move),
        cmocka_unit_test(stages_know_equal_devices),
        cmocka_unit_test(members_share_the_time),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(target_fails_sometimes),
        cmocka_unit_test(target_fails_always),
        cmocka_unit_test(stop_ends_it),
        cmocka_unit_test(horizons),
        cmocka_unit_test(weights_and_intervals),
        cmocka_unit_test(sweeps_stop),
        cmocka_unit_test(bad_sweeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
