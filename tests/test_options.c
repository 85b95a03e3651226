/* The presets of the command's options are the defaults of the library. */
#include "../tools/sked/cli.h" /* first: cmocka has a macro fail */

#include "test.h"

static const arguments presets = {OPTION_LIST(OPTION_PRESET)};
static const option_line lines[] = {OPTION_LIST(OPTION_LINE)};
enum { n_lines = sizeof lines / sizeof *lines };

static void presets_of_a_problem(void **state)
{
    (void)state;
    sked_problem p;
    sked_problem_init(&p, NULL);
    assert_true(presets.devices == p.devices);
    assert_true(presets.latency == p.latency);
    assert_true(presets.bandwidth == p.bandwidth);
    assert_true(presets.horizon == p.horizon);
    assert_true(presets.alpha == p.alpha);
    assert_true(p.ii == 0 && presets.ii == NULL);
}

static void presets_of_a_run(void **state)
{
    (void)state;
    sked_run_options opt;
    sked_run_options_init(&opt);
    assert_true(presets.seed == (int64_t)opt.seed);
    assert_true(presets.threads == opt.threads);
    assert_true(presets.time_limit == opt.time_limit);
    assert_true(presets.iterations == opt.iterations);
    assert_true(presets.candidates == opt.candidates);
    assert_true(presets.top == opt.top);
    assert_true(presets.min_distance == opt.min_distance);
    assert_non_null(sked_method_find(presets.method));
}

static void presets_of_sampling(void **state)
{
    (void)state;
    sked_sample_options opt;
    sked_sample_options_init(&opt);
    assert_true(presets.draws == opt.count);
    assert_true(presets.temperature == opt.temperature);
    assert_true(presets.raw == opt.raw && presets.greedy == opt.greedy && presets.local == opt.local);
    assert_true(presets.improve == opt.improve);
    assert_true(presets.seed == (int64_t)opt.seed && presets.threads == opt.threads);
}

static void presets_of_robust(void **state)
{
    (void)state;
    sked_robust_options opt;
    sked_robust_options_init(&opt);
    assert_true(presets.robust_candidates == opt.candidates && presets.robust_top == opt.top);
    assert_true(presets.robust_distance == opt.min_distance && presets.robust_time == opt.time_limit);
    assert_true(presets.one_shot == opt.one_shot && presets.measurements == opt.measurements);
    assert_true((strcmp(presets.robust_local, "on") == 0) == opt.local);
    assert_true(presets.robust_improve == opt.improve && presets.iterations == opt.iterations);
    assert_true(opt.prior == NULL && opt.resume == NULL && opt.log == NULL);
    assert_true(presets.seed == (int64_t)opt.seed && presets.threads == opt.threads);
    assert_true(presets.robust_method == opt.method && presets.model == opt.model);
}

static void presets_of_training(void **state)
{
    (void)state;
    sked_train_options opt;
    sked_train_options_init(&opt);
    assert_true(presets.train_devices == opt.devices);
    assert_true(presets.steps == opt.steps);
    assert_true(presets.minutes == opt.minutes);
    assert_true(presets.seed == (int64_t)opt.seed && presets.threads == opt.threads);
}

/* The parser takes the first line of a name that its command has. */
static void names_are_unique_per_command(void **state)
{
    (void)state;
    for (int i = 0; i < n_lines; i++) {
        assert_true(lines[i].commands != 0 && lines[i].commands < 1u << COMMAND_COUNT);
        for (int k = 0; k < i; k++)
            if (strcmp(lines[i].name, lines[k].name) == 0)
                assert_true((lines[i].commands & lines[k].commands) == 0);
    }
}

static void the_version_is_its_numbers(void **state)
{
    (void)state;
    char text[40];
    snprintf(text, sizeof text, "%d.%d.%d", SKED_VERSION_MAJOR, SKED_VERSION_MINOR, SKED_VERSION_PATCH);
    assert_string_equal(text, SKED_VERSION);
    assert_string_equal(text, sked_version());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_of_a_problem),       cmocka_unit_test(presets_of_a_run),
        cmocka_unit_test(presets_of_sampling),        cmocka_unit_test(presets_of_robust),
        cmocka_unit_test(presets_of_training),        cmocka_unit_test(names_are_unique_per_command),
        cmocka_unit_test(the_version_is_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
