/*
 * Makes the n-th allocation fail, for every n, over what builds, reads and schedules: the status is MEMORY
 * (or OK where a library falls back), nothing leaks, nothing crashes, outputs stay untouched. The allocator
 * is replaced inside this program, so that it also sees what libraries allocate. Under AddressSanitizer the
 * allocator is the sanitizer's: there the linker (--wrap, tests/CMakeLists.txt) leads our own calls through
 * here, the sanitizer watches what is done after a failure, and its leak check does the counting.
 */
#define _GNU_SOURCE
#include "test.h"

#include <limits.h>
#include <sys/stat.h>

#include "engine/gaus/gaus_relaxation.h"
#include "formats/format.h"
#include "formats/ssp.h"
#include "schedule/schedule.h"

#include <errno.h>
#include <malloc.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ADDRESS_SANITIZER 1
#endif
#endif

/* Armed: allocations of all threads are counted, and number `fail_at` (from 1) fails; 0: none does. */
static bool armed;
static _Atomic long calls, balance;
static long fail_at;
static _Atomic bool failed;

static bool refused(void)
{
    if (!armed)
        return false;
    if (++calls != fail_at)
        return false;
    failed = true;
    errno = ENOMEM;
    return true;
}

#if defined(HAVE_ADDRESS_SANITIZER)

#include <sanitizer/lsan_interface.h>

extern void *__real_malloc(size_t size);
extern void *__real_calloc(size_t count, size_t size);
extern void *__real_realloc(void *old, size_t size);
extern void *__real_aligned_alloc(size_t alignment, size_t size);
extern int __real_posix_memalign(void **out, size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refused() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return refused() ? NULL : __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    return refused() ? ENOMEM : __real_posix_memalign(out, alignment, size);
}

/* Once per action: the search for leaks reads all memory. */
static void check_leaks(const char *what)
{
    if (__lsan_do_recoverable_leak_check())
        fail_msg("%s: memory leaked where an allocation failed", what);
}

#else

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

static void check_leaks(const char *what)
{
    (void)what; /* the balance told at once */
}

static void *counted(void *p)
{
    balance += armed && p != NULL;
    return p;
}

void *malloc(size_t size)
{
    return refused() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refused() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    if (refused())
        return NULL;
    void *const p = __libc_realloc(old, size);
    balance += armed && old == NULL && p != NULL;
    return p;
}

void *memalign(size_t alignment, size_t size)
{
    return refused() ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *const p = memalign(alignment, size);
    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}

void free(void *p)
{
    balance -= armed && p != NULL;
    __libc_free(p);
}

#endif

/* ------------------------------------------------------------------ the loop over n */

typedef sked_status (*action)(const void *data, sked_error *err);

/*
 * Runs the action with each allocation in turn failing, until it gets by without reaching the n-th. From the
 * `dense`-th on ever fewer are chosen: long actions repeat what they do.
 */
static void fail_often(const char *what, action act, const void *data, long dense)
{
    sked_error err = {0};
    if (act(data, &err) != SKED_OK) /* also lets libraries set themselves up once */
        fail_msg("%s: %s", what, err.message);
    for (long n = 1;; n += n < dense ? 1 : 1 + n / 50) {
        err = (sked_error){0};
        calls = balance = 0;
        failed = false;
        fail_at = n;
        armed = true;
        const sked_status st = act(data, &err);
        armed = false;
        if (balance != 0)
            fail_msg("%s: allocation %ld failed, %ld blocks leaked (status %d)", what, n, (long)balance,
                     (int)st);
        if (!failed) {
            assert_int_equal(st, SKED_OK);
            assert_true(n > 1);
            check_leaks(what);
            return;
        }
        if (st != SKED_OK && st != SKED_ERR_MEMORY)
            fail_msg("%s: allocation %ld failed: status %d, %s", what, n, (int)st, err.message);
        if (st == SKED_ERR_MEMORY && strstr(err.message, "memory") == NULL)
            fail_msg("%s: allocation %ld failed: message '%s'", what, n, err.message);
    }
}

static void fail_everywhere(const char *what, action act, const void *data)
{
    fail_often(what, act, data, SANITIZED ? 100 : LONG_MAX);
}

/* ------------------------------------------------------------------ actions */

static sked_status build(int32_t ops, sked_graph **out, sked_error *err)
{
    sked_builder *b = NULL;
    int32_t id;
    sked_status st = sked_builder_create(&b, err);
    if (st == SKED_OK)
        st = sked_builder_set_name(b, "g", err);
    if (st == SKED_OK)
        st = sked_builder_add_resource(b, "alu", 2, &id, err);
    for (int32_t i = 0; st == SKED_OK && i < ops; i++) {
        char name[16];
        snprintf(name, sizeof name, "op%d", (int)i);
        st = sked_builder_add_op(b, name, i % 2 ? "mul" : "add", 1 + i % 3, NULL, err);
        if (st == SKED_OK)
            st = sked_builder_set_memory(b, i, 1, err);
        if (st == SKED_OK)
            st = sked_builder_add_demand(b, i, 0, 1 + i % 2, err);
        const sked_edge edge = {i / 2, i, SKED_LAG_DEFAULT, 1, 0};
        if (st == SKED_OK && i > 0)
            st = sked_builder_add_edge(b, &edge, err);
    }
    if (st == SKED_OK)
        st = sked_builder_finish(b, out, err);
    sked_builder_destroy(b);
    return st;
}

static sked_status act_build(const void *data, sked_error *err)
{
    sked_graph *g = NULL;
    const sked_status st = build(*(const int32_t *)data, &g, err);
    assert_true((st == SKED_OK) == (g != NULL));
    sked_graph_destroy(g);
    return st;
}

/* Whole arrays at once, with names. */
static sked_status act_columns(const void *data, sked_error *err)
{
    static const char *const name[] = {"a", "b", "c"};
    static const double duration[] = {1, 2, 3};
    static const int32_t from[] = {0, 1}, to[] = {1, 2};
    const sked_columns columns = {.size = sizeof columns,
                                  .ops = 3,
                                  .name = name,
                                  .duration = duration,
                                  .edges = 2,
                                  .from = from,
                                  .to = to};
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    (void)data;
    sked_status st = sked_builder_create(&b, err);
    if (st == SKED_OK)
        st = sked_builder_add_columns(b, &columns, err);
    if (st == SKED_OK)
        st = sked_builder_finish(b, &g, err);
    sked_builder_destroy(b);
    sked_graph_destroy(g);
    return st;
}

/* A cycle: the refusal itself allocates. */
static sked_status act_cycle(const void *data, sked_error *err)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_status st = sked_builder_create(&b, err);
    for (int32_t i = 0; st == SKED_OK && i < *(const int32_t *)data; i++) {
        const sked_edge edge = {i, (i + 1) % *(const int32_t *)data, 1, 0, 0};
        st = sked_builder_add_op(b, NULL, NULL, 1, NULL, err);
        if (st == SKED_OK)
            st = sked_builder_add_edge(b, &edge, err);
    }
    if (st == SKED_OK)
        st = sked_builder_finish(b, &g, err);
    sked_builder_destroy(b);
    assert_null(g);
    return st == SKED_ERR_FORMAT ? SKED_OK : st;
}

typedef struct method_case {
    const char *method, *settings[4];
    sked_problem problem;
    int32_t candidates;
} method_case;

static sked_status act_method(const void *data, sked_error *err)
{
    const method_case *c = data;
    sked_run_options opt;
    sked_result r = {.size = sizeof r, .count = -7};
    sked_run_options_init(&opt);
    opt.settings = c->settings;
    while (opt.n_settings < 4 && c->settings[opt.n_settings])
        opt.n_settings++;
    opt.candidates = c->candidates;
    opt.iterations = 3;
    opt.time_limit = INFINITY;
    const sked_status st = sked_method_run(c->method, &c->problem, &opt, &r, err);
    if (st == SKED_OK)
        sked_result_clear(&r);
    else
        assert_int_equal(r.count, -7);
    return st;
}

/* data: the problem. One member's candidates on a noisy target. */
static sked_status act_robust(const void *data, sked_error *err)
{
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r, .count = -7};
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    opt.method = "list";
    opt.candidates = 3;
    opt.iterations = 3;
    opt.time_limit = INFINITY;
    const sked_status st = sked_robust(data, "noisy", &opt, &r, err);
    if (st == SKED_OK)
        sked_robust_result_clear(&r);
    else
        assert_int_equal(r.count, -7);
    return st;
}

typedef struct given_case {
    const sked_problem *problem;
    const sked_schedule *candidates[2];
} given_case;

/* data: a given_case. */
static sked_status act_given(const void *data, sked_error *err)
{
    const given_case *c = data;
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r, .count = -7};
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    opt.given = c->candidates;
    opt.n_given = 2;
    opt.time_limit = INFINITY;
    const sked_status st = sked_robust(c->problem, "noisy", &opt, &r, err);
    if (st == SKED_OK)
        sked_robust_result_clear(&r);
    else
        assert_int_equal(r.count, -7);
    return st;
}

static sked_status measure(void *data, const sked_schedule *s, double *time, double *start, double *finish,
                           sked_error *err)
{
    (void)data;
    (void)err;
    for (int32_t i = 0; i < s->ops; i++)
        finish[i] = (start[i] = s->start[i]) + 1;
    *time = 1;
    return SKED_OK;
}

/* data: the problem. A function in place of the target, with a trace. */
static sked_status act_callback(const void *data, sked_error *err)
{
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    opt.method = "list";
    opt.candidates = 2;
    opt.time_limit = INFINITY;
    opt.measure = measure;
    const sked_status st = sked_robust(data, NULL, &opt, &r, err);
    if (st == SKED_OK)
        sked_robust_result_clear(&r);
    return st;
}

/* data: the problem. Two rounds of the loop with traces, and a record. */
static sked_status act_loop(const void *data, sked_error *err)
{
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r, .count = -7};
    sked_robust_options_init(&opt);
    opt.measurements = 2;
    opt.iterations = 1;
    opt.time_limit = INFINITY;
    opt.log = SKED_BINARY_DIR "/test_alloc.measurements.jsonl";
    const sked_status st = sked_robust(data, "noisy:trace=true", &opt, &r, err);
    if (st == SKED_OK)
        sked_robust_result_clear(&r);
    else
        assert_int_equal(r.count, -7);
    return st;
}

typedef struct target_case {
    const char *spec;
    sked_problem problem;
} target_case;

/* A target is made and measures one schedule: all ops on the first device but every third. */
static sked_status act_target(const void *data, sked_error *err)
{
    const target_case *c = data;
    sked_target *t = NULL;
    sked_schedule *s = NULL;
    sked_measurement m = {.size = sizeof m, .runs = -7};
    sked_status st = sked_schedule_create(sked_graph_op_count(c->problem.graph), 3, &s, err);
    for (int32_t i = 0; st == SKED_OK && i < s->ops; i++) {
        s->start[i] = i;
        s->device[i] = i % 3 == 2;
    }
    if (st == SKED_OK)
        st = sked_target_create(c->spec, &c->problem, 1, &t, err);
    if (st == SKED_OK)
        st = sked_target_measure(t, s, &m, err);
    if (st == SKED_OK)
        sked_measurement_clear(&m);
    else
        assert_int_equal(m.runs, -7);
    sked_target_destroy(t);
    sked_schedule_destroy(s);
    return st;
}

static sked_status act_sweep(const void *data, sked_error *err)
{
    static const double values[] = {1, 100, 30, 60};
    sked_sweep_options opt;
    sked_sweep_result w = {.size = sizeof w, .count = -7};
    sked_sweep_options_init(&opt);
    opt.parameter = SKED_SWEEP_HORIZON;
    opt.values = values;
    opt.n_values = 4;
    const sked_status st = sked_sweep("list", data, &opt, NULL, &w, err);
    if (st == SKED_OK)
        sked_sweep_result_clear(&w);
    else
        assert_int_equal(w.count, -7);
    return st;
}

/* Value over time, by several threads, written. */
static sked_status act_curve(const void *data, sked_error *err)
{
    const char *file = SKED_BINARY_DIR "/test_alloc.curve.jsonl";
    sked_run_options opt;
    sked_result r = {.size = sizeof r, .n_curve = -7};
    sked_run_options_init(&opt);
    opt.threads = 2;
    opt.iterations = 20;
    opt.time_limit = INFINITY;
    sked_status st = sked_method_run("search", data, &opt, &r, err);
    if (st != SKED_OK) {
        assert_int_equal(r.n_curve, -7);
        return st;
    }
    st = sked_curve_write(&r, file, err);
    sked_result_clear(&r);
    remove(file);
    return st;
}

/* Moves of whole regions: the method has them on large graphs alone. */
static sked_status act_regions(const void *data, sked_error *err)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_status st = SKED_OK;
    sked_i_relaxation *m = NULL;
    sked_i_gaus_state *s = NULL;
    sked_i_gaus_incumbent best = {0};
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 0, 0);
    SKED_TRY(sked_i_relaxation_create(data, 0, 20, &m, err));
    SKED_TRY(sked_i_gaus_state_create(m, &s, err));
    SKED_TRY(sked_i_gaus_incumbent_create(m->n, &best, err));
    sked_i_gaus_state_set(s, m->lo);
    assert_true(sked_i_gaus_keep(&best, s));
    SKED_TRY(sked_i_gaus_move_regions(s, 50, &rng, &limit, 0, &best, err));
cleanup:
    sked_i_gaus_incumbent_free(&best);
    sked_i_gaus_state_destroy(s);
    sked_i_relaxation_destroy(m);
    return st;
}

static sked_status act_simulator(const void *data, sked_error *err)
{
    const sked_problem *p = data;
    const sked_graph *g = p->graph;
    sked_simulator *sim = NULL;
    const sked_status st = sked_simulator_create(p, &sim, err);
    assert_true((st == SKED_OK) == (sim != NULL));
    if (st == SKED_OK) {
        int32_t device[64] = {0};
        double makespan;
        const long before = calls;
        sked_simulator_run(sim, 1, device, g->topo, true, &makespan, NULL);
        assert_int_equal(calls, before); /* running allocates nothing */
        assert_true(isfinite(makespan));
    }
    sked_simulator_destroy(sim);
    return st;
}

static sked_status act_problem(const void *data, sked_error *err)
{
    const sked_problem *p = data;
    double bound = -7;
    sked_status st = sked_problem_check(p, err);
    if (st == SKED_OK)
        st = sked_problem_bound(p, &bound, NULL, err);
    if (st != SKED_OK)
        assert_true(bound == -7);
    return st;
}

typedef struct file_case {
    char path[600];
    const char *format;
} file_case;

static sked_status act_read(const void *data, sked_error *err)
{
    const file_case *c = data;
    const sked_read_options opt = {.size = sizeof opt, .format = c->format};
    sked_graph *g = NULL;
    const sked_status st = sked_graph_read(c->path, &opt, &g, err);
    assert_true((st == SKED_OK) == (g != NULL));
    sked_graph_destroy(g);
    return st;
}

/* Reads a solved instance, binds its times and writes both. */
static sked_status act_bind(const void *data, sked_error *err)
{
    const file_case *c = data;
    sked_graph *g = NULL;
    sked_schedule *s = NULL;
    sked_problem p;
    sked_bind_options opt;
    sked_binding bound = {.size = sizeof bound};
    sked_bind_options_init(&opt);
    opt.iterations = 20;
    opt.time_limit = INFINITY;
    sked_status st = sked_graph_read(c->path, NULL, &g, err);
    if (st == SKED_OK) {
        sked_problem_init(&p, g);
        p.ii = 6;
        st = sked_schedule_read(c->path, &p, &s, err);
    }
    if (st == SKED_OK)
        st = sked_schedule_bind(&p, &opt, s, &bound, err);
    sked_i_buffer out = {0};
    if (st == SKED_OK)
        st = sked_i_ssp_write(g, &(sked_i_ssp_times){s->start, NULL, s->ii}, &out, err);
    if (st == SKED_OK)
        st = out.failed ? sked_i_no_memory(err) : sked_i_native_schedule_write(&p, s, &out, err);
    sked_i_buffer_free(&out);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
    return st;
}

typedef struct text_case {
    const char *name, *text;
    size_t size;
    const sked_graph *graph; /* of a schedule or of fixed decisions */
} text_case;

static sked_status act_parse(const void *data, sked_error *err)
{
    const text_case *c = data;
    sked_graph *g = NULL;
    const sked_status st = sked_graph_parse(c->name, c->text, c->size, NULL, &g, err);
    assert_true((st == SKED_OK) == (g != NULL));
    sked_graph_destroy(g);
    return st;
}

static sked_status act_parse_schedule(const void *data, sked_error *err)
{
    const text_case *c = data;
    sked_schedule *s = NULL;
    sked_problem p;
    sked_problem_init(&p, c->graph);
    const sked_status st = sked_schedule_parse(c->name, c->text, c->size, &p, &s, err);
    assert_true((st == SKED_OK) == (s != NULL));
    sked_schedule_destroy(s);
    return st;
}

/* One update of a new model, its file, and draws from it. data: its settings of policy, backward and loss. */
static sked_status act_train(const void *data, sked_error *err)
{
    const char *const *kind = data;
    const char *const settings[] = {kind[0],   kind[1],      kind[2],   "dim=8",     "layers=1",
                                    "head=8",  "mlp=8",      "width=8", "context=8", "temperature=8",
                                    "batch=2", "validate=0", "epochs=2"};
    sked_train_options opt;
    sked_sampler *m = NULL, *again = NULL;
    sked_samples s = {.size = sizeof s};
    sked_graph *g = NULL;
    sked_problem p;
    const sked_sample_options how = {.size = sizeof how, .count = 2, .temperature = 1, .threads = 1};
    sked_train_options_init(&opt);
    opt.graphs = "layered:6";
    opt.devices = 2;
    opt.steps = 1;
    opt.settings = settings;
    opt.n_settings = sizeof settings / sizeof *settings;
    opt.output = SKED_BINARY_DIR "/test_alloc.safetensors";
    sked_status st = sked_train(&opt, &m, err);
    if (st == SKED_OK)
        st = sked_sampler_read(opt.output, &again, err);
    if (st == SKED_OK)
        st = build(5, &g, err);
    if (st == SKED_OK) {
        const double unlimited = INFINITY;
        sked_problem_init(&p, g);
        p.devices = 2;
        p.capacity = &unlimited;
        st = sked_sampler_sample(again, &p, &how, &s, err);
    }
    sked_samples_clear(&s);
    sked_graph_destroy(g);
    sked_sampler_destroy(m);
    sked_sampler_destroy(again);
    return st;
}

/* ------------------------------------------------------------------ tests */

static void graphs(void **state)
{
    (void)state;
    const int32_t few = 3, some = 40;
    fail_everywhere("small graph", act_build, &few);
    fail_everywhere("larger graph", act_build, &some);
    fail_everywhere("cycle", act_cycle, &some);
    fail_everywhere("columns", act_columns, NULL);
}

static sked_graph *shared_graph(void)
{
    sked_graph *g = NULL;
    OK(build(24, &g, err));
    return g;
}

static void problems(void **state)
{
    (void)state;
    sked_graph *g = shared_graph();
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    fail_everywhere("simulator", act_simulator, &p);
    p.latency = 1;
    fail_everywhere("simulator with transfers", act_simulator, &p);
    for (int o = 0; o <= SKED_OBJECTIVE_COST; o++) {
        p.objective = (sked_objective)o;
        p.horizon = 100;
        fail_everywhere("problem", act_problem, &p);
    }
    sked_graph_destroy(g);
}

/* Every method that takes plain devices, and list and heft on all kinds of machine. */
static void methods(void **state)
{
    (void)state;
    sked_graph *g = shared_graph();
    const double unlimited = INFINITY;
    int32_t pinned[24];
    double fixed[24];
    method_case c = {.method = "list"};
    sked_problem_init(&c.problem, g);
    fail_everywhere("list on resources", act_method, &c);
    c.settings[0] = "scheme=serial";
    fail_everywhere("list, serial, on resources", act_method, &c);
    c.problem.devices = 2;
    fail_everywhere("list, serial, on devices and resources", act_method, &c);
    c.settings[1] = "direction=backward";
    c.settings[2] = "priority=most-ops";
    fail_everywhere("list, backward", act_method, &c);
    c.problem.capacity = &unlimited;
    c.settings[0] = "scheme=parallel";
    c.candidates = 4;
    fail_everywhere("list, candidates on devices", act_method, &c);
    c.problem.latency = 1;
    fail_everywhere("list with transfers", act_method, &c);
    for (int i = 0; i < 24; i++) {
        pinned[i] = i % 3 - 1;
        fixed[i] = i == 5 ? 20 : NAN;
    }
    c.problem.fix_device = pinned;
    c.problem.fix_start = fixed;
    fail_everywhere("list with fixed decisions", act_method, &c);
    c = (method_case){.method = "heft"};
    sked_problem_init(&c.problem, g);
    c.problem.devices = 2;
    c.problem.latency = 1;
    fail_everywhere("heft", act_method, &c);
    c = (method_case){.method = "list"};
    for (int o = SKED_OBJECTIVE_RESOURCE; o <= SKED_OBJECTIVE_COST; o++) {
        sked_problem_init(&c.problem, g);
        c.problem.capacity = &unlimited;
        c.problem.objective = (sked_objective)o;
        c.problem.horizon = 20;
        fail_everywhere("list, other objectives", act_method, &c);
    }
    sked_graph_destroy(g);
}

static void every_method(void **state)
{
    (void)state;
    const double unlimited = INFINITY;
    sked_graph *g = NULL;
    OK(build(9, &g, err));
    for (int m = 0; m < sked_method_count(); m++) {
        const sked_method_info *info = sked_method_at(m);
        method_case c = {.method = info->name};
        sked_problem_init(&c.problem, g);
        c.problem.devices = 2;
        c.problem.capacity = &unlimited;
        if (strcmp(info->name, "gflownet") == 0)
            c.settings[0] = "draws=2";
        if ((info->features & (SKED_CAN_DEVICES | SKED_CAN_MAKESPAN)) ==
            (SKED_CAN_DEVICES | SKED_CAN_MAKESPAN))
            fail_everywhere(info->name, act_method, &c);
    }
    sked_graph_destroy(g);
}

/* Three heterogeneous devices. linked: every pair has a link; otherwise one has none. */
static void make_machine(bool linked, sked_machine **out)
{
    static const char *const name[] = {"a", "b", "c"};
    sked_machine_builder *m = NULL;
    OK(sked_machine_builder_create("three", &m, err));
    for (int d = 0; d < 3; d++)
        OK(sked_machine_builder_add_device(m, name[d], NULL, 1 + d, INFINITY, NULL, err));
    OK(sked_machine_builder_add_link(m, "a", "b", 1, 2, false, err));
    OK(sked_machine_builder_add_link(m, "a", "c", 2, 1, false, err));
    if (linked)
        OK(sked_machine_builder_add_link(m, "b", "c", 1, 1, false, err));
    OK(sked_machine_builder_finish(m, out, err));
    sked_machine_builder_destroy(m);
}

/* data: a graph. A machine with durations by device and for all, read, written, and applied to the graph. */
static sked_status act_profile(const void *data, sked_error *err)
{
    static const char text[] = "{\"format\":\"sked-machine-1\",\"devices\":[{\"name\":\"x\",\"type\":\"t\"}],"
                               "\"durations\":{\"0\":2,\"1\":{\"x\":3,\"t\":null},\"nobody\":1}}";
    static const char file[] = SKED_BINARY_DIR "/test_alloc.machine.json";
    sked_machine *m = NULL;
    sked_graph *g = NULL;
    sked_status st = sked_machine_parse("m.json", text, sizeof text - 1, &m, err);
    if (st == SKED_OK)
        st = sked_machine_write(m, file, err);
    if (st == SKED_OK)
        st = sked_graph_profiled(data, m, &g, err);
    assert_true((st == SKED_OK) == (g != NULL));
    sked_machine_destroy(m);
    sked_graph_destroy(g);
    remove(file);
    return st;
}

/* data: a graph's text. A trace as its profile: complete events, begins and ends. */
static sked_status act_trace(const void *data, sked_error *err)
{
    static const char trace[] =
        "[{\"name\":\"0\",\"ph\":\"X\",\"dur\":1},{\"name\":\"1\",\"ph\":\"B\",\"ts\":1},"
        "{\"ph\":\"E\",\"ts\":3},{\"name\":\"0_kernel_time\",\"ph\":\"X\",\"dur\":2}]";
    const sked_read_options opt = {
        .size = sizeof opt, .format = "native", .profile = SKED_BINARY_DIR "/test_alloc.trace.json"};
    sked_graph *g = NULL;
    FILE *f = fopen(opt.profile, "w");
    assert_non_null(f);
    fputs(trace, f);
    fclose(f);
    const sked_status st = sked_graph_parse("g.json", data, strlen(data), &opt, &g, err);
    assert_true((st == SKED_OK) == (g != NULL));
    sked_graph_destroy(g);
    remove(opt.profile);
    return st;
}

/* data: a graph, which becomes a loop. */
static sked_status act_back_edges(const void *data, sked_error *err)
{
    sked_back_edges draw;
    sked_graph *g = NULL;
    sked_back_edges_init(&draw);
    draw.count = 3;
    const sked_status st = sked_graph_looped(data, &draw, &g, err);
    assert_true((st == SKED_OK) == (g != NULL));
    sked_graph_destroy(g);
    return st;
}

/* data: a CSV file. */
static sked_status act_pack(const void *data, sked_error *err)
{
    sked_buffers *b = NULL;
    sked_buffer_columns columns = {.size = sizeof columns};
    sked_packing p = {.size = sizeof p};
    sked_pack_options opt;
    sked_pack_options_init(&opt);
    opt.iterations = 3;
    opt.time_limit = INFINITY;
    sked_status st = sked_buffers_parse("b.csv", data, strlen(data), &b, err);
    assert_true((st == SKED_OK) == (b != NULL));
    if (st == SKED_OK)
        st = sked_buffers_columns(b, &columns, err);
    if (st == SKED_OK)
        st = sked_pack(&columns, &opt, &p, err);
    assert_true((st == SKED_OK) == (p.offset != NULL));
    sked_packing_clear(&p);
    sked_buffers_destroy(b);
    return st;
}

static void packings(void **state)
{
    (void)state;
    fail_everywhere(
        "pack", act_pack,
        "id,lower,upper,size,alignment,offset\na,0,2,16,4,\nb,1,3,8,1,32\nc,2,4,16,1,\nd,0,1,5,2,\n"
        "e,3,5,7,1,\nf,0,5,3,1,\n");
}

static void regions(void **state)
{
    (void)state;
    const double unlimited = INFINITY;
    sked_graph *g = NULL;
    sked_problem p;
    OK(build(9, &g, err));
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_MEMORY;
    p.capacity = &unlimited; /* regions move where nothing else limits a step */
    fail_everywhere("regions", act_regions, &p);
    sked_graph_destroy(g);
}

static void profiles(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    OK(build(9, &g, err));
    fail_everywhere("profile", act_profile, g);
    fail_everywhere("trace", act_trace, "{\"ops\":[{\"duration\":1},{\"duration\":2}],\"edges\":[[0,1]]}");
    fail_everywhere("back edges", act_back_edges, g);
    sked_graph_destroy(g);
}

static void hetero_devices(void **state)
{
    (void)state;
    static const char *const heft[][2] = {{"rank=median", "device=lookahead"},
                                          {"rank=oct", "device=oct"},
                                          {"rank=critical", "device=critical"}};
    const double unlimited = INFINITY;
    sked_graph *g = NULL;
    sked_machine *machine = NULL, *linked = NULL;
    OK(build(9, &g, err));
    make_machine(false, &machine);
    make_machine(true, &linked);
    for (int m = 0; m < sked_method_count() + 3; m++) {
        const int variant = m - sked_method_count();
        const sked_method_info *info = variant < 0 ? sked_method_at(m) : sked_method_find("heft");
        method_case c = {.method = info->name};
        sked_problem_init(&c.problem, g);
        c.problem.machine = strcmp(info->name, "gflownet") == 0 ? linked : machine;
        c.problem.devices = 3;
        c.problem.capacity = &unlimited;
        for (int k = 0; variant >= 0 && k < 2; k++)
            c.settings[k] = heft[variant][k];
        if (strcmp(info->name, "gaus") == 0) { /* as many allocations, fewer steps between them */
            c.settings[0] = "starts=1";
            c.settings[1] = "steps=4";
        }
        if (strcmp(info->name, "gflownet") == 0)
            c.settings[0] = "draws=2";
        if (info->features & SKED_CAN_MACHINES && info->features & SKED_CAN_MAKESPAN)
            fail_everywhere(info->name, act_method, &c);
    }
    sked_machine_destroy(machine);
    sked_machine_destroy(linked);
    sked_graph_destroy(g);
}

/* ------------------------------------------------------------------ pipelines */

static const char adders[] =
    "{\"format\":\"sked-graph-1\",\"ops\":["
    "{\"name\":\"a b\",\"type\":\"in\",\"duration\":0,\"memory\":4},"
    "{\"name\":\"reg\",\"type\":\"add\",\"duration\":0,\"memory\":4,\"delay\":2,\"verilog\":\"a + ...\"},"
    "{\"name\":\"y\",\"type\":\"add\",\"duration\":0,\"memory\":4,\"delay\":2,\"verilog\":\"a + "
    "b\",\"output\":true}],"
    "\"edges\":[[0,1],{\"from\":1,\"to\":2,\"operand\":1},[0,2]]}";

static sked_status act_verilog(const void *data, sked_error *err)
{
    const char *file = SKED_BINARY_DIR "/test_alloc.v";
    sked_result r = {.size = sizeof r};
    sked_report_data report;
    sked_status st = sked_method_run("registers", data, NULL, &r, err);
    sked_report_data_init(&report);
    report.problem = data;
    if (st == SKED_OK) {
        report.schedule = r.schedule[0];
        st = sked_report_write(&report, file, NULL, err);
        sked_result_clear(&r);
    }
    remove(file);
    return st;
}

typedef struct model_case {
    const char *path, *out;
} model_case;

/* Read, scheduled on one device for little memory, written back. */
static sked_status act_model(const void *data, sked_error *err)
{
    const model_case *c = data;
    sked_graph *g = NULL;
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_report_data report;
    sked_status st = sked_graph_read(c->path, NULL, &g, err);
    sked_problem_init(&p, g);
    p.devices = 1;
    p.objective = SKED_OBJECTIVE_MEMORY;
    sked_report_data_init(&report);
    report.problem = &p;
    report.source = c->path;
    if (st == SKED_OK)
        st = sked_method_run("list", &p, NULL, &r, err);
    if (st == SKED_OK) {
        report.schedule = r.schedule[0];
        st = sked_report_write(&report, c->out, NULL, err);
        sked_result_clear(&r);
    }
    sked_graph_destroy(g);
    remove(c->out);
    return st;
}

static void models(void **state)
{
    static const model_case cases[] = {
        {SKED_SOURCE_DIR "/fuzz/seeds/onnx/tiny.onnx", SKED_BINARY_DIR "/test_alloc.onnx"},
        {SKED_SOURCE_DIR "/fuzz/seeds/tflite/two.tflite", SKED_BINARY_DIR "/test_alloc.tflite"}};
    (void)state;
    for (int k = 0; k < 2; k++)
        fail_everywhere(cases[k].path, act_model, &cases[k]);
}

static sked_status act_pipeline(const void *data, sked_error *err)
{
    sked_robust_options opt;
    sked_pipeline_result r = {.size = sizeof r, .trials = -7};
    sked_robust_options_init(&opt);
    opt.measurements = 1;
    opt.iterations = 10;
    const sked_status st = sked_robust_pipeline(data, "ice40", &opt, true, &r, err);
    if (st == SKED_OK)
        sked_pipeline_result_clear(&r);
    else
        assert_int_equal(r.trials, -7);
    return st == SKED_ERR_DEVICE && strstr(err->message, "memory") != NULL ? SKED_ERR_MEMORY : st;
}

/* A tool that answers without looking. */
static void make_tool(const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, SKED_BINARY_DIR "/test_alloc_tools/%s", name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", text);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
}

static void pipelines(void **state)
{
    (void)state;
    sked_problem p;
    sked_graph *g = must_graph(adders);
    sked_problem_init(&p, g);
    p.clock = 3;
    p.ii = 1;
    p.objective = SKED_OBJECTIVE_MEMORY;
    fail_everywhere("verilog", act_verilog, &p);
    (void)mkdir(SKED_BINARY_DIR "/test_alloc_tools", 0755);
    make_tool("yosys", "exit 0");
    make_tool(
        "nextpnr-ice40",
        "echo '{\"critical_paths\":[{\"from\":\"posedge c\",\"to\":\"posedge c\",\"path\":[{\"delay\":2,"
        "\"to\":{\"cell\":\"x\"}},{\"delay\":1,\"to\":{\"cell\":\"dut.o1$0_LC\"}}]}],\"detailed_net_"
        "timings\":[{"
        "\"endpoints\":[{\"cell\":\"o2_LC\",\"delay\":2.5}]}]}' >r.json");
    char *before = strdup(getenv("PATH"));
    setenv("PATH", SKED_BINARY_DIR "/test_alloc_tools:/usr/bin:/bin", 1);
    fail_often("pipelines", act_pipeline, &p, SANITIZED ? 20 : 120);
    setenv("PATH", before, 1);
    free(before);
    sked_graph_destroy(g);
}

/* In place of sked-simgrid, which need not be there: what matters here is who calls it. */
#define SIMULATOR SKED_BINARY_DIR "/test_alloc_simulator.sh"
static void make_simulator(void)
{
    FILE *f = fopen(SIMULATOR, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\necho 5\n", f);
    fclose(f);
    assert_int_equal(chmod(SIMULATOR, 0755), 0);
}

static void targets(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "proxy:trace=true",
        "noisy+linear+contention:bus=true,trace=true+cache+jitter:repeat=2,warm-up=1",
        "contention",
        "command:f() { sed 's/\"makespan\"/\"time\"/' \"$1\"; }; f",
        "simgrid,hosts=a/b/c,program=" SIMULATOR ":" SKED_SOURCE_DIR "/examples/platforms/two-clusters.xml",
        "threads:oversubscribe=true,unit=1e-7,repeat=1,warm-up=0"};
    enum { n_specs = sizeof specs / sizeof *specs };
    sked_graph *g = NULL;
    sked_machine *machine = NULL;
    OK(build(9, &g, err));
    make_machine(false, &machine);
    make_simulator();
    for (int k = 0; k < 2 * n_specs; k++) {
        target_case c = {.spec = specs[k / 2]};
        sked_problem_init(&c.problem, g);
        c.problem.devices = 3;
        c.problem.machine = k % 2 ? machine : NULL;
        fail_everywhere(c.spec, act_target, &c);
    }
    sked_machine_destroy(machine);
    sked_graph_destroy(g);
}

static void memory_limits(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "search", "auto"};
    const double unlimited = INFINITY;
    sked_graph *g = NULL;
    OK(build(9, &g, err));
    for (int m = 0; m < 3; m++)
        for (int devices = 0; devices <= 2; devices += 2) {
            method_case c = {.method = methods[m]};
            sked_problem_init(&c.problem, g);
            c.problem.devices = devices;
            c.problem.capacity = &unlimited;
            c.problem.memory_limit = 6;
            fail_everywhere(methods[m], act_method, &c);
        }
    sked_graph_destroy(g);
}

/* With a limit that the first packings break, and for the least arena. */
static void addresses(void **state)
{
    (void)state;
    const double unlimited = INFINITY;
    sked_graph *g = NULL;
    OK(build(9, &g, err));
    for (int devices = 0; devices <= 2; devices += 2)
        for (int least = 0; least < 2; least++) {
            method_case c = {.method = "list"};
            sked_problem_init(&c.problem, g);
            c.problem.devices = devices;
            c.problem.capacity = &unlimited;
            c.problem.offsets = true;
            c.problem.memory_limit = least ? INFINITY : 9;
            c.problem.objective = least ? SKED_OBJECTIVE_ARENA : SKED_OBJECTIVE_MAKESPAN;
            fail_everywhere("addresses", act_method, &c);
        }
    sked_graph_destroy(g);
}

static void loops(void **state)
{
    (void)state;
    const double unlimited = INFINITY;
    sked_graph *g = NULL;
    sked_problem p;
    sked_result made = {.size = sizeof made};
    OK(build(9, &g, err));
    sked_problem_init(&p, g);
    p.capacity = &unlimited;
    p.objective = SKED_OBJECTIVE_RESOURCE;
    fail_everywhere("sweep", act_sweep, &p);
    p.objective = SKED_OBJECTIVE_MAKESPAN;
    p.devices = 2;
    fail_everywhere("robust", act_robust, &p);
    fail_everywhere("robust with a function", act_callback, &p);
    OK(sked_method_run("list", &p, NULL, &made, err));
    const given_case given = {&p, {made.schedule[0], made.schedule[0]}};
    fail_everywhere("robust with given candidates", act_given, &given);
    sked_result_clear(&made);
    fail_often("loop", act_loop, &p, CASES(400));
    p.latency = 1;
    fail_everywhere("curve", act_curve, &p);
    sked_graph_destroy(g);
}

static void training(void **state)
{
    (void)state;
    static const char *const kinds[][3] = {{"policy=encode-once", "backward=uniform", "loss=tb"},
                                           {"policy=encode-once", "backward=learned", "loss=variance"},
                                           {"policy=stepwise", "backward=learned", "loss=variance"},
                                           {"policy=stepwise", "backward=uniform", "loss=ppo"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fail_everywhere(kinds[i][0], act_train, kinds[i]);
}

static void readers(void **state)
{
    (void)state;
    static const char *const files[] = {
        "small.stg",
        "full_adder.blif",
        "half_adder.aag",
        "counter.aig",
        "dfg.dot",
        "json_dnn.json",
        "json_layered.json",
        "json_node_link.json",
        "json_small.json",
        "own.gml",
        "json_wfformat.json",
        "rw.gml",
        "shop.txt",
        "small.rcp",
        "small.sm",
        "xml_loop.graphml",
        "counter.blif",
        "xml_plain.graphml",
        "language.dot",
        "counted.stg",
        "json_wfformat14.json",
        "modulo.mlir",
        "chaining.mlir",
    };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        file_case c = {.format = NULL};
        snprintf(c.path, sizeof c.path, "%s/tests/data/%s", SKED_SOURCE_DIR, files[k]);
        fail_everywhere(files[k], act_read, &c);
    }
    file_case c = {.format = NULL};
    snprintf(c.path, sizeof c.path, "%s/tests/data/modulo.mlir", SKED_SOURCE_DIR);
    fail_everywhere("binding", act_bind, &c);
}

/* x -> Relu -> y -> Relu -> z with the shape of x, as bytes of a ModelProto. */
static void onnx_reader(void **state)
{
    (void)state;
    static const char model[] = "\x08\x08\x3a\x30"
                                "\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu"
                                "\x0a\x0c\x0a\x01y\x12\x01z\x22\x04Relu"
                                "\x12\x01g"
                                "\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x03";
    const text_case c = {"relu.onnx", model, sizeof model - 1, NULL};
    fail_everywhere("onnx", act_parse, &c);
    static const char *const seeds[] = {"values", "layers", "bodies",
                                        "placed"}; /* values, scopes, functions, devices */
    for (int i = 0; i < 4; i++) {
        char path[400];
        static char bytes[8192];
        snprintf(path, sizeof path, "%s/fuzz/seeds/onnx/%s.onnx", SKED_SOURCE_DIR, seeds[i]);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        const text_case seed = {"seed.onnx", bytes, fread(bytes, 1, sizeof bytes, f), NULL};
        fclose(f);
        fail_everywhere(seeds[i], act_parse, &seed);
    }
}

static void schedule_reader(void **state)
{
    (void)state;
    sked_graph *g = NULL;
    OK(build(2, &g, err));
    static const char text[] =
        "{\"format\": \"sked-schedule-1\", \"graph\": \"g\", \"devices\": 2, \"makespan\": 3, \"ii\": null,"
        " \"ops\": [{\"name\": \"op0\", \"start\": 0, \"finish\": 1, \"device\": 0},"
        "         {\"name\": \"op1\", \"start\": 1, \"finish\": 3, \"device\": 1}]}";
    const text_case c = {"s.json", text, sizeof text - 1, g};
    fail_everywhere("schedule", act_parse_schedule, &c);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs),         cmocka_unit_test(problems),        cmocka_unit_test(methods),
        cmocka_unit_test(every_method),   cmocka_unit_test(regions),         cmocka_unit_test(profiles),
        cmocka_unit_test(hetero_devices), cmocka_unit_test(memory_limits),   cmocka_unit_test(readers),
        cmocka_unit_test(onnx_reader),    cmocka_unit_test(schedule_reader), cmocka_unit_test(training),
        cmocka_unit_test(packings),       cmocka_unit_test(loops),           cmocka_unit_test(targets),
        cmocka_unit_test(pipelines),      cmocka_unit_test(addresses),       cmocka_unit_test(models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
