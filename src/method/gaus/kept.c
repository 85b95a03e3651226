/* Models that stay for the next turn of gaus in the same run. */
#include "method/gaus/gaus.h"

typedef struct kept {
    sked_i_gaus_model *steps; /* of this interval and latest step; NULL: none yet */
    int64_t ii, latest;
    sked_i_gaus_device_model *devices; /* NULL: none yet */
} kept;

static void destroy_kept(void *state)
{
    kept *k = state;
    sked_i_gaus_model_destroy(k->steps);
    sked_i_gaus_device_model_destroy(k->devices);
    free(k);
}

static sked_status kept_of(sked_i_run *run, kept **out, sked_error *err)
{
    *out = sked_i_run_state(run);
    if (*out != NULL)
        return SKED_OK;
    if ((*out = sked_i_alloc_zero(1, sizeof **out)) == NULL)
        return sked_i_no_memory(err);
    const sked_status st = sked_i_run_keep(run, *out, destroy_kept, err);
    if (st != SKED_OK)
        destroy_kept(*out);
    return st;
}

sked_status sked_i_gaus_steps_model(sked_i_run *run, int64_t ii, int64_t latest,
                                    const sked_i_gaus_model **out, sked_error *err)
{
    kept *k = NULL;
    sked_status st = kept_of(run, &k, err);
    if (st == SKED_OK && (k->steps == NULL || k->ii != ii || k->latest != latest)) {
        sked_i_gaus_model_destroy(k->steps);
        k->steps = NULL;
        st = sked_i_gaus_model_create(run->problem, ii, latest, &k->steps, err);
        k->ii = ii;
        k->latest = latest;
    }
    *out = st == SKED_OK ? k->steps : NULL;
    return st;
}

sked_status sked_i_gaus_devices_model(sked_i_run *run, const sked_i_gaus_device_model **out, sked_error *err)
{
    kept *k = NULL;
    sked_status st = kept_of(run, &k, err);
    if (st == SKED_OK && k->devices == NULL)
        st = sked_i_gaus_device_model_create(run->problem, run->costs, &k->devices, err);
    *out = st == SKED_OK ? k->devices : NULL;
    return st;
}
