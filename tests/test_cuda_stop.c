/*
 * A stop at every look that work on a GPU takes, or on its emulation, whose work comes as late as it may:
 * what is done after it in the same process has the same bytes as without it, and nothing is read or written
 * that the stop has freed (under AddressSanitizer). The linker (--wrap, tests/CMakeLists.txt) leads the looks
 * through here.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "test.h"

#include "base/clock.h"
#include "engine/network/sampler.h"

#include <math.h>

enum { most_stops = 6 };
static int64_t looks, stop_at; /* the look that hears a stop, and those after it; -1: none */

extern bool __real_sked_i_limit_reached(const sked_i_limit *limit);
bool __wrap_sked_i_limit_reached(const sked_i_limit *limit)
{
    (void)!__real_sked_i_limit_reached(limit);
    return looks++ >= stop_at && stop_at >= 0;
}

static void look_until(int64_t at)
{
    looks = 0;
    stop_at = at;
}

/* ------------------------------------------------------------------ training */

/* Two updates; NULL where the stop left nothing. */
static sked_sampler *train(const char *policy, const char *loss)
{
    const char *const settings[] = {policy,    loss,         "layers=1",   "epochs=2",
                                    "batch=3", "validate=0", "held-out=1", "graphs=2"};
    sked_train_options opt;
    sked_sampler *m = NULL;
    sked_error err = {0};
    sked_train_options_init(&opt);
    opt.graphs = "layered:4-5";
    opt.devices = 2;
    opt.steps = 2;
    opt.backend = "cuda";
    opt.settings = settings;
    opt.n_settings = sizeof settings / sizeof *settings;
    const sked_status st = sked_train(&opt, &m, &err);
    if (st != SKED_OK && st != SKED_ERR_STOPPED)
        fail_msg("%s", err.message);
    return m;
}

static void check_same_model(const sked_sampler *a, const sked_sampler *b)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a->steps, b->steps);
    assert_memory_equal(a->parameter, b->parameter, (size_t)a->layout.total * sizeof *a->parameter);
    assert_memory_equal(a->moment2, b->moment2, (size_t)a->layout.total * sizeof *a->moment2);
}

static void check_training(const char *policy, const char *loss)
{
    look_until(-1);
    sked_sampler *whole = train(policy, loss);
    const int64_t all = looks, by = 1 + all / most_stops;
    print_message("%s, %s: %lld looks\n", policy, loss, (long long)all);
    assert_true(all > 2);
    for (int64_t at = 0; at < all; at += by) {
        look_until(at);
        sked_sampler_destroy(train(policy, loss));
        look_until(-1);
        sked_sampler *again = train(policy, loss);
        check_same_model(whole, again);
        sked_sampler_destroy(again);
    }
    sked_sampler_destroy(whole);
}

static void test_once(void **state)
{
    (void)state;
    check_training("policy=encode-once", "loss=variance");
    check_training("policy=encode-once", "loss=ppo");
}

static void test_stepwise(void **state)
{
    (void)state;
    check_training("policy=stepwise", "loss=variance");
    check_training("policy=stepwise", "loss=ppo");
}

/* ------------------------------------------------------------------ draws */

static sked_samples draw(const sked_sampler *m, const sked_problem *p, int32_t count)
{
    sked_sample_options opt;
    sked_samples s = {.size = sizeof s};
    sked_error err = {0};
    sked_sample_options_init(&opt);
    opt.count = count;
    opt.raw = true;
    opt.seed = 4;
    opt.backend = "cuda";
    opt.time_limit = INFINITY;
    const sked_status st = sked_sampler_sample(m, p, &opt, &s, &err);
    if (st != SKED_OK && st != SKED_ERR_STOPPED)
        fail_msg("%s", err.message);
    return s;
}

static void check_same_draws(const sked_problem *p, const sked_samples *a, const sked_samples *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->log_prob, b->log_prob, (size_t)a->count * sizeof *a->log_prob);
    assert_memory_equal(a->makespan, b->makespan, (size_t)a->count * sizeof *a->makespan);
    for (int32_t k = 0; k < b->count; k++)
        OK(sked_schedule_validate(p, b->schedule[k], err));
}

static void check_draws(const char *policy, int32_t nodes, int32_t count)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = nodes, .seed = 2};
    sked_graph *g = NULL;
    sked_problem p;
    look_until(-1);
    sked_sampler *m = train(policy, "loss=variance");
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem_init(&p, g);
    p.devices = 3;
    look_until(-1);
    sked_samples whole = draw(m, &p, count);
    const int64_t all = looks, by = 1 + all / most_stops;
    print_message("%s, %d ops: %lld looks\n", policy, (int)nodes, (long long)all);
    assert_true(all > 0);
    for (int64_t at = 0; at < all; at += by) {
        look_until(at);
        sked_samples part = draw(m, &p, count);
        assert_true(part.count <= count);
        look_until(-1);
        sked_samples again = draw(m, &p, count);
        check_same_draws(&p, &whole, &again);
        sked_samples_clear(&part);
        sked_samples_clear(&again);
    }
    sked_samples_clear(&whole);
    sked_graph_destroy(g);
    sked_sampler_destroy(m);
}

static void test_draws(void **state)
{
    (void)state;
    check_draws("policy=encode-once", 8, 10);
    check_draws("policy=stepwise", 8, 10);
}

/* Several launches, with looks between them. */
static void test_long_draws(void **state)
{
    (void)state;
    check_draws("policy=encode-once", 530, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once), cmocka_unit_test(test_stepwise),
                                       cmocka_unit_test(test_draws), cmocka_unit_test(test_long_draws)};
    setenv("SKED_EMULATE_LATE", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
