/*
 * Durations were mis-profiled: the target runs the same graph with other ones. Drawn once per seed, so every
 * schedule of a comparison meets the same truth.
 */
#include "target/target.h"

#include "base/arena.h"
#include "base/explog.h"

enum { MODEL, STRENGTH, OUTLIERS };
enum { LOGNORMAL, UNIFORM, TYPE, HEAVY };

static const sked_option options[] = {
    {"model", SKED_OPTION_ENUM, "lognormal", 0, 0, "lognormal|uniform|type|heavy",
     "lognormal: exp of a normal per op; uniform: 1 +- strength per op; type: one lognormal factor per op "
     "type; "
     "heavy: a share of outliers, 1 + 10 x strength times as long"},
    {"strength", SKED_OPTION_REAL, "0.4", 0, 5, NULL, "deviation of the factors"},
    {"outliers", SKED_OPTION_REAL, "0.1", 0, 1, NULL, "share of outliers of model heavy"},
};

static double draw(sked_i_rng *r, const double *setting)
{
    const double strength = setting[STRENGTH];
    switch ((int)setting[MODEL]) {
    case UNIFORM:
        return fmax(0, 1 + strength * (2 * sked_i_rng_uniform(r) - 1));
    case HEAVY:
        return sked_i_rng_uniform(r) < setting[OUTLIERS] ? 1 + 10 * strength : 1;
    default:
        return sked_i_exp(fmax(-700, fmin(700, strength * sked_i_rng_normal(r))));
    }
}

static sked_status open_noisy(sked_target *t, const double *setting, sked_error *err)
{
    const sked_graph *g = t->problem.graph;
    sked_status st = SKED_OK;
    sked_graph *noisy = NULL;
    sked_i_arena work = {0};
    double *duration, *factor, *by_type;
    sked_i_rng r;
    sked_i_rng_seed(&r, t->seed, 0x7a72);
    SKED_OWN(&work, duration, g->n_ops);
    SKED_OWN(&work, factor, g->n_ops);
    SKED_OWN(&work, by_type, (int64_t)g->n_types + 1);
    for (int32_t k = 0; k <= g->n_types; k++)
        by_type[k] = draw(&r, setting);
    for (int32_t i = 0; i < g->n_ops; i++) {
        factor[i] = (int)setting[MODEL] == TYPE ? by_type[g->type[i] + 1] : draw(&r, setting);
        duration[i] = g->duration[i] * factor[i];
    }
    SKED_TRY(sked_i_graph_with_durations(g, duration, &noisy, err));
    for (int32_t i = 0; g->on_ptr != NULL && i < g->n_ops; i++)
        for (int64_t k = g->on_ptr[i]; k < g->on_ptr[i + 1]; k++)
            noisy->on_duration[k] *= factor[i];
    sked_i_target_take_graph(t, noisy);
cleanup:
    sked_i_arena_free(&work);
    return st;
}

const sked_i_target sked_i_target_noisy = {
    .info = {"noisy", "durations differ from the profiled ones, by a named noise model", options,
             sizeof options / sizeof *options},
    .open = open_noisy};
