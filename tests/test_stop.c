/*
 * Who learns a machine looks for a stop all the time, and a method hands over what it has. The linker
 * (--wrap, tests/CMakeLists.txt) leads looks and passes over the graph through here: work is counted, not
 * time.
 */
#include "test.h"

#include "base/clock.h"
#include "method/brkga/brkga.h"
#include "robust/candidates.h"
#include "robust/timing.h"
#include "schedule/profile.h"

#include <math.h>

/* Passes between two looks. A step of a fit takes one for each measurement, an update of all guesses
 * hundreds. */
enum { MEASUREMENTS = 6, MOST_PASSES = 2 * MEASUREMENTS + 20 };
static long stop_at, total, passes, most_passes, after;
static volatile sig_atomic_t stop;

static void look(void)
{
    passes = 0;
}

static void pass(void)
{
    after += stop;
    passes++;
    most_passes = passes > most_passes ? passes : most_passes;
    if (++total == stop_at)
        stop = 1;
}

extern bool __real_sked_i_limit_stopped(const sked_i_limit *limit);
extern bool __real_sked_i_limit_reached(const sked_i_limit *limit);
extern double __real_sked_i_timing_run(const sked_i_timing *r, const sked_i_rates *rates,
                                       sked_i_timing_work *w);
extern sked_status __real_sked_i_candidates_offer(sked_i_candidate_set *pool, const sked_schedule *s,
                                                  const char *maker, sked_i_candidate **out, sked_error *err);

bool __wrap_sked_i_limit_stopped(const sked_i_limit *limit)
{
    look();
    return __real_sked_i_limit_stopped(limit);
}

bool __wrap_sked_i_limit_reached(const sked_i_limit *limit)
{
    look();
    return __real_sked_i_limit_reached(limit);
}

double __wrap_sked_i_timing_run(const sked_i_timing *r, const sked_i_rates *rates, sked_i_timing_work *w)
{
    pass();
    return __real_sked_i_timing_run(r, rates, w);
}

sked_status __wrap_sked_i_candidates_offer(sked_i_candidate_set *pool, const sked_schedule *s,
                                           const char *maker, sked_i_candidate **out, sked_error *err)
{
    pass();
    return __real_sked_i_candidates_offer(pool, s, maker, out, err);
}

extern double __real_sked_i_brkga_decoder_cost(sked_i_brkga_decoder *d, const float *key);
extern sked_status __real_sked_i_profile_build(const sked_i_interval *intervals, int64_t count, double period,
                                               double tolerance, sked_i_profile *out, sked_error *err);

static long decodes_after, profiles;

double __wrap_sked_i_brkga_decoder_cost(sked_i_brkga_decoder *d, const float *key)
{
    decodes_after += stop;
    if (++total == stop_at)
        stop = 1;
    return __real_sked_i_brkga_decoder_cost(d, key);
}

sked_status __wrap_sked_i_profile_build(const sked_i_interval *intervals, int64_t count, double period,
                                        double tolerance, sked_i_profile *out, sked_error *err)
{
    profiles++;
    return __real_sked_i_profile_build(intervals, count, period, tolerance, out, err);
}

/* Runs the loop, with a stop in that pass; 0: never. */
static sked_status run(const char *target, long at, sked_error *why)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = 20, .seed = 3, .bytes = "exponential:1"};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    sked_graph *g = NULL;
    sked_problem p;
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem_init(&p, g);
    p.devices = 3;
    sked_robust_options_init(&opt);
    opt.measurements = MEASUREMENTS;
    opt.time_limit = INFINITY;
    opt.iterations = 1;
    opt.stop = &stop;
    total = passes = most_passes = after = 0;
    stop = 0;
    stop_at = at;
    const sked_status st = sked_robust(&p, target, &opt, &r, why);
    sked_robust_result_clear(&r);
    sked_graph_destroy(g);
    return st;
}

static void test_looks_are_never_far_apart(void **state)
{
    (void)state;
    static const char *const targets[] = {"noisy+linear", "noisy+linear:trace=true"};
    for (int k = 0; k < 2; k++) {
        OK(run(targets[k], 0, err));
        print_message("%s: at most %ld of %ld passes over the graph between two looks\n", targets[k],
                      most_passes, total);
        assert_in_range(most_passes, 1, MOST_PASSES);
    }
}

/* A stop at many moments: what was measured stands, and little is done any more. */
static void test_a_stop_ends_the_work(void **state)
{
    (void)state;
    long most = 0, done = 0, runs = 0;
    OK(run("noisy+linear", 0, err));
    const long all = total;
    for (int k = 1; k < 8; k += SANITIZED ? 3 : 1, runs++) {
        sked_error why = {0};
        const sked_status st = run("noisy+linear", all * k / 8, &why);
        assert_true(st == SKED_OK || st == SKED_ERR_STOPPED);
        done += st == SKED_OK;
        most = after > most ? after : most;
    }
    print_message("at most %ld passes after a stop\n", most);
    assert_true(2 * done > runs);
    assert_in_range(most, 0, MOST_PASSES);
}

/*
 * brkga is stopped in a decode: its incumbent is offered as it was decoded before, and what is offered is
 * judged without profiles, which the makespan does not need. Devices alike, then with transfers.
 */
static void test_what_was_decoded_is_offered(void **state)
{
    (void)state;
    const sked_generate_options how = {.size = sizeof how, .nodes = 60, .seed = 3, .bytes = "exponential:1"};
    for (int transfers = 0; transfers < 2; transfers++) {
        sked_run_options opt;
        sked_result r = {.size = sizeof r};
        sked_graph *g = NULL;
        sked_problem p;
        OK(sked_graph_generate("layered", &how, &g, err));
        sked_problem_init(&p, g);
        p.devices = 3;
        p.bandwidth = transfers ? 1 : p.bandwidth;
        sked_run_options_init(&opt);
        opt.time_limit = INFINITY;
        opt.stop = &stop;
        stop = 0;
        total = decodes_after = profiles = 0;
        stop_at = 50;
        OK(sked_method_run("brkga", &p, &opt, &r, err));
        assert_int_equal(r.count, 1);
        assert_int_equal(total, stop_at);
        assert_int_equal(decodes_after, 0);
        assert_int_equal(profiles, 0);
        OK(sked_schedule_validate(&p, r.schedule[0], err));
        sked_result_clear(&r);
        sked_graph_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_looks_are_never_far_apart),
                                       cmocka_unit_test(test_a_stop_ends_the_work),
                                       cmocka_unit_test(test_what_was_decoded_is_offered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
