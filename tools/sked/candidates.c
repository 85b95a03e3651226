#include "candidates.h"

#include <stdlib.h>

sked_status draw_candidates(const sked_sampler *m, const sked_problem *p, const sked_sample_options *opt,
                            int32_t top, sked_result *out, sked_error *err)
{
    sked_samples s = {0};
    const double begin = sked_clock();
    sked_status st = sked_sampler_sample(m, p, opt, &s, err);
    while (st == SKED_OK && top > 0 && s.count > top)
        sked_schedule_destroy(s.schedule[--s.count]);
    for (int32_t k = 0; st == SKED_OK && k < s.count; k++)
        st = sked_schedule_validate(p, s.schedule[k], err);
    sked_result r = {.method = "gflownet", .count = s.count, .evaluations = opt->count};
    if (st == SKED_OK)
        st = sked_problem_bound(p, &r.lower_bound, NULL, err);
    if (st == SKED_OK) {
        r.schedule = s.schedule;
        r.value = s.makespan[0];
        r.seconds = r.build_seconds = sked_clock() - begin;
        s.schedule = NULL;
        s.count = 0;
        *out = r;
    }
    sked_samples_clear(&s);
    return st;
}
