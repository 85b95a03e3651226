/* Noise that is another one at each run; those of a seed come in the same order again. */
#include "target/target.h"

#include "base/explog.h"

enum { STRENGTH, RUN };

static const sked_option options[] = {
    {"strength", SKED_OPTION_REAL, "0.05", 0, 5, NULL, "deviation of the factor of each duration"},
    {"run", SKED_OPTION_REAL, "0.02", 0, 5, NULL, "deviation of the factor of the whole run"},
};

/* No part changes the number of ops. */
static sked_status open_jitter(sked_target *t, const double *setting, sked_error *err)
{
    sked_status st = SKED_OK;
    t->jitter = setting[STRENGTH];
    t->run_jitter = setting[RUN];
    SKED_OWN(&t->arena, t->factor, t->problem.graph->n_ops);
cleanup:
    return st;
}

static double draw(sked_i_rng *r, double strength)
{
    return sked_i_exp(fmax(-700, fmin(700, strength * sked_i_rng_normal(r))));
}

double sked_i_jitter_draw(sked_target *t)
{
    sked_i_rng r;
    if (t->factor == NULL)
        return 1;
    sked_i_rng_seed(&r, t->seed, UINT64_C(0x6a697474) << 32 ^ t->runs);
    for (int32_t i = 0; i < t->problem.graph->n_ops; i++)
        t->factor[i] = draw(&r, t->jitter);
    return draw(&r, t->run_jitter);
}

const sked_i_target sked_i_target_jitter = {
    .info = {"jitter", "every run has noise of its own on each duration and on the whole", options,
             sizeof options / sizeof *options},
    .open = open_jitter};
