/* The promises of docs/api.md: structs that grow, lists that are walked alike, one version. */
#include "test.h"

#include <math.h>
#include <stddef.h>

static sked_graph *build_chain(int32_t ops)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < ops; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 2, NULL, err));
        const sked_edge edge = {.from = i - 1, .to = i, .lag = SKED_LAG_DEFAULT};
        if (i > 0)
            OK(sked_builder_add_edge(b, &edge, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static sked_problem problem_of(const sked_graph *g)
{
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    return p;
}

/* ------------------------------------------------------------------ version and lists */

static void version(void **state)
{
    (void)state;
    char text[40];
    snprintf(text, sizeof text, "%d.%d.%d", SKED_VERSION_MAJOR, SKED_VERSION_MINOR, SKED_VERSION_PATCH);
    assert_string_equal(SKED_VERSION, text);
    assert_string_equal(sked_version(), SKED_VERSION);
    assert_int_equal(sked_version_number(), SKED_VERSION_NUMBER);
    assert_int_equal(SKED_VERSION_NUMBER,
                     SKED_VERSION_MAJOR * 10000 + SKED_VERSION_MINOR * 100 + SKED_VERSION_PATCH);
}

#define WALK(list)                                           \
    do {                                                     \
        const int n_ = sked_##list##_count();                \
        assert_true(n_ > 0);                                 \
        assert_null(sked_##list##_at(-1));                   \
        assert_null(sked_##list##_at(n_));                   \
        for (int i_ = 0; i_ < n_; i_++)                      \
            assert_true(sked_##list##_at(i_)->name[0] != 0); \
    } while (0)

static void lists(void **state)
{
    (void)state;
    WALK(format);
    WALK(family);
    WALK(distribution);
    WALK(method);
    WALK(target);
    WALK(report);
    WALK(target_option);
    WALK(train_option);
    for (int i = 0; i < sked_method_count(); i++)
        assert_ptr_equal(sked_method_find(sked_method_at(i)->name), sked_method_at(i));
    assert_null(sked_method_find("no such thing"));
    assert_null(sked_method_find(""));
}

/* ------------------------------------------------------------------ structs that grow */

/* Room for a struct of a later version, filled with what was there before. */
#define LATER(type)      \
    struct {             \
        type known;      \
        double later[4]; \
    }

#define EARLIER(type, field) (offsetof(type, field))

/* init of a program that knows less, as much, or more: exactly `size` bytes are set. */
#define CHECK_INIT(type)                                                                            \
    do {                                                                                            \
        const size_t sizes[] = {sizeof(size_t), sizeof(type) / 2, sizeof(type), sizeof(type) + 32}; \
        type preset;                                                                                \
        type##_init(&preset);                                                                       \
        assert_int_equal(preset.size, sizeof(type));                                                \
        for (int i_ = 0; i_ < 4; i_++) {                                                            \
            unsigned char bytes[sizeof(type) + 64];                                                 \
            memset(bytes, 0xee, sizeof bytes);                                                      \
            type##_init_sized((type *)(void *)bytes, sizes[i_]);                                    \
            size_t size;                                                                            \
            memcpy(&size, bytes, sizeof size);                                                      \
            assert_int_equal(size, sizes[i_]);                                                      \
            const size_t shared = size < sizeof(type) ? size : sizeof(type);                        \
            assert_memory_equal(bytes + sizeof size, (unsigned char *)&preset + sizeof size,        \
                                shared - sizeof size);                                              \
            for (size_t k = shared; k < sizeof bytes; k++)                                          \
                assert_int_equal(bytes[k], k < size ? 0 : 0xee);                                    \
        }                                                                                           \
    } while (0)

static void init_keeps_to_the_callers_size(void **state)
{
    (void)state;
    CHECK_INIT(sked_read_options);
    CHECK_INIT(sked_generate_options);
    CHECK_INIT(sked_back_edges);
    CHECK_INIT(sked_run_options);
    CHECK_INIT(sked_sample_options);
    CHECK_INIT(sked_train_options);
    CHECK_INIT(sked_robust_options);
    CHECK_INIT(sked_sweep_options);
    CHECK_INIT(sked_report_data);
    unsigned char bytes[sizeof(sked_problem)];
    memset(bytes, 0xee, sizeof bytes);
    sked_problem_init_sized((sked_problem *)(void *)bytes, EARLIER(sked_problem, alpha), NULL);
    assert_int_equal(bytes[offsetof(sked_problem, alpha)], 0xee);
}

/* A program compiled before the last fields came: what stands behind its struct is not read. */
static void earlier_callers(void **state)
{
    (void)state;
    sked_graph *g = build_chain(4);
    sked_problem p = problem_of(g);
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&opt);
    p.size = EARLIER(sked_problem, fix_device);
    p.fix_device = (const int32_t *)(uintptr_t)8;
    p.fix_start = (const double *)(uintptr_t)8;
    opt.size = EARLIER(sked_run_options, start);
    opt.start = (const sked_schedule *)(uintptr_t)8;
    opt.stop = (const volatile sig_atomic_t *)(uintptr_t)8;
    opt.progress = (sked_progress_fn)(uintptr_t)8;
    opt.backend = (const char *)(uintptr_t)8;
    OK(sked_problem_check(&p, err));
    OK(sked_method_run("list", &p, &opt, &r, err));
    assert_true(r.value == 8);
    OK(sked_schedule_validate(&p, r.schedule[0], err));
    sked_metrics m = {.size = EARLIER(sked_metrics, transfer), .transfer = -7, .value = -7};
    OK(sked_schedule_measure(&p, r.schedule[0], &m, err));
    assert_true(m.makespan == 8 && m.transfer == -7 && m.value == -7);
    assert_int_equal(m.size, EARLIER(sked_metrics, transfer));
    sked_result_clear(&r);
    assert_int_equal(r.size, sizeof r);
    assert_null(r.schedule);
    r.size = EARLIER(sked_result, note);
    memset(r.note, 0x55, sizeof r.note);
    OK(sked_method_run("list", &p, NULL, &r, err));
    assert_true(r.count == 1 && r.note[0] == 0x55 && r.note[199] == 0x55);
    sked_result_clear(&r);
    assert_true(r.count == 0 && r.size == EARLIER(sked_result, note) && r.note[0] == 0x55);
    sked_graph_destroy(g);
}

/* A program compiled after fields were added: fine while it leaves them zero, refused when it sets them. */
static void later_callers(void **state)
{
    (void)state;
    sked_graph *g = build_chain(4), *other = NULL;
    LATER(sked_problem) p = {.later = {0}};
    LATER(sked_run_options) opt;
    LATER(sked_result) r = {.known = {.size = sizeof r}, .later = {1, 2, 3, 4}};
    LATER(sked_generate_options) how;
    sked_problem_init_sized(&p.known, sizeof p, g);
    sked_run_options_init_sized(&opt.known, sizeof opt);
    sked_generate_options_init_sized(&how.known, sizeof how);
    p.known.devices = 2;
    OK(sked_method_run("list", &p.known, &opt.known, &r.known, err));
    assert_true(r.known.value == 8 && r.known.count == 1);
    assert_true(r.later[0] == 0 && r.later[3] == 0); /* what this library does not know is zero */
    assert_int_equal(r.known.size, sizeof r);
    sked_result_clear(&r.known);
    opt.later[2] = 1;
    FAILS(SKED_ERR_ARGUMENT, "sked_run_options: it sets fields of a later version",
          sked_method_run("list", &p.known, &opt.known, &r.known, err));
    opt.later[2] = 0;
    p.later[0] = 1;
    FAILS(SKED_ERR_ARGUMENT, "sked_problem", sked_method_run("list", &p.known, &opt.known, &r.known, err));
    FAILS(SKED_ERR_ARGUMENT, "sked_problem", sked_problem_check(&p.known, err));
    how.later[3] = 1;
    FAILS(SKED_ERR_ARGUMENT, "sked_generate_options", sked_graph_generate("chain", &how.known, &other, err));
    assert_null(other);
    sked_graph_destroy(g);
}

/* Structs that nobody initialised: one sentence that says what to do, nothing else happens. */
static void never_initialised(void **state)
{
    (void)state;
    sked_graph *g = build_chain(3), *other = NULL;
    sked_problem p = problem_of(g), no_problem = {0};
    sked_schedule *s = NULL;
    double bound;
    OK(sked_schedule_create(3, 2, &s, err));
    for (int i = 0; i < 2; i++) { /* zeros, and whatever stood there before */
        const size_t size = i == 0 ? 0 : SIZE_MAX / 3;
        sked_run_options run = {.size = size};
        sked_read_options read = {.size = size};
        sked_generate_options how = {.size = size};
        sked_result r = {.size = size, .count = -7};
        sked_metrics m = {.size = size, .value = -7};
        sked_diversity d = {.size = size, .ged = -7};
        sked_graph_info info = {.size = size, .ops = -7};
        sked_report_data data = {.size = size};
        sked_robust_result robust = {.size = size};
        sked_sweep_result sweep = {.size = size};
        sked_sweep_options values = {.size = size};
        sked_train_options train = {.size = size};
        sked_sampler *model = NULL;
        no_problem.size = size;
        FAILS(SKED_ERR_ARGUMENT, "call sked_problem_init first", sked_problem_check(&no_problem, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_problem", sked_problem_bound(&no_problem, &bound, NULL, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_run_options", sked_method_run("list", &p, &run, &r, err));
        FAILS(SKED_ERR_ARGUMENT, "call sked_result_init first", sked_method_run("list", &p, NULL, &r, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_metrics", sked_schedule_measure(&p, s, &m, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_diversity",
              sked_schedules_diversity(&p, (const sked_schedule *const *)&s, 1, &d, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_graph_info", sked_graph_describe(g, &info, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_read_options", sked_graph_read("none.json", &read, &other, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_read_options", sked_graph_parse("x", "{}", 2, &read, &other, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_generate_options", sked_graph_generate("chain", &how, &other, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_report_data", sked_report_write(&data, "never.svg", NULL, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_robust_result", sked_robust(&p, "proxy", NULL, &robust, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_sweep_options", sked_sweep("list", &p, &values, NULL, &sweep, err));
        FAILS(SKED_ERR_ARGUMENT, "sked_train_options", sked_train(&train, &model, err));
        assert_true(r.count == -7 && m.value == -7 && d.ged == -7 && info.ops == -7);
    }
    FAILS(SKED_ERR_ARGUMENT, "sked_problem", sked_problem_check(NULL, err));
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

/* These are compiled into programs and never change. */
static void fixed_structs(void **state)
{
    (void)state;
    const size_t word = sizeof(void *);
    assert_int_equal(sizeof(sked_error), 1004);
    assert_int_equal(offsetof(sked_error, message), 4);
    assert_int_equal(sizeof(sked_edge), 32);
    assert_int_equal(offsetof(sked_edge, lag), 8);
    assert_int_equal(offsetof(sked_edge, distance), 24);
    if (word == 8) {
        assert_int_equal(sizeof(sked_option), 56);
        assert_int_equal(offsetof(sked_option, help), 48);
    }
}

static void null_options_are_presets(void **state)
{
    (void)state;
    sked_graph *a = NULL, *b = NULL;
    sked_generate_options preset;
    sked_generate_options_init(&preset);
    OK(sked_graph_generate("layered", NULL, &a, err));
    OK(sked_graph_generate("layered", &preset, &b, err));
    assert_int_equal(sked_graph_op_count(a), 100);
    assert_true(sked_graph_equal(a, b));
    sked_graph_destroy(a);
    sked_graph_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version),
        cmocka_unit_test(lists),
        cmocka_unit_test(init_keeps_to_the_callers_size),
        cmocka_unit_test(earlier_callers),
        cmocka_unit_test(later_callers),
        cmocka_unit_test(never_initialised),
        cmocka_unit_test(fixed_structs),
        cmocka_unit_test(null_options_are_presets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
