/* The stepwise model under models/: it reads, and its draws are good schedules. */
#include "test.h"

#include <math.h>

static double list_makespan(const sked_problem *p)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_run_options_init(&opt);
    OK(sked_method_run("list", p, &opt, &r, err));
    const double makespan = r.value;
    sked_result_clear(&r);
    return makespan;
}

/* Best and mean of some draws, as parts of the makespan of list scheduling. */
static void check_draws(const sked_sampler *m, const char *family, double *best, double *mean)
{
    const sked_generate_options how = {.size = sizeof how, .nodes = 24, .seed = 990000};
    sked_graph *g = NULL;
    sked_problem p;
    sked_sample_options opt;
    sked_samples s = {.size = sizeof s};
    OK(sked_graph_generate(family, &how, &g, err));
    sked_problem_init(&p, g);
    p.devices = 4;
    sked_sample_options_init(&opt);
    opt.count = 60;
    opt.raw = true;
    opt.backend = "cpu";
    OK(sked_sampler_sample(m, &p, &opt, &s, err));
    const double list = list_makespan(&p);
    *best = INFINITY;
    *mean = 0;
    for (int32_t k = 0; k < s.count; k++) {
        OK(sked_schedule_validate(&p, s.schedule[k], err));
        *best = fmin(*best, s.makespan[k] / list);
        *mean += s.makespan[k] / list / s.count;
    }
    sked_samples_clear(&s);
    sked_graph_destroy(g);
}

static void test_draws(void **state)
{
    (void)state;
    static const char *const families[] = {"layered", "erdos-renyi", "tree"};
    enum { count = sizeof families / sizeof *families };
    sked_sampler *m = NULL;
    double best[count], mean[count];
    OK(sked_sampler_read(SKED_SOURCE_DIR "/models/stepwise.safetensors", &m, err));
    for (int k = 0; k < count; k++) {
        check_draws(m, families[k], &best[k], &mean[k]);
        print_message("%s: best %.3f, mean %.3f of list scheduling\n", families[k], best[k], mean[k]);
    }
    for (int k = 0; k < count; k++) /* random choices: mean 1.4 to 1.7 */
        assert_true(best[k] < 1.03 && mean[k] < 1.12);
    sked_sampler_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
