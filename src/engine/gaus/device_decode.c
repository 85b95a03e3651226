/* Means and shares to schedules. */
#include "engine/gaus/device.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_gaus_device_decoder_create(const sked_i_gaus_device_model *b,
                                              sked_i_gaus_device_decoder **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_device_decoder *d = NULL;
    SKED_NEW0(d, 1);
    d->model = b;
    SKED_TRY(sked_i_placer_create(&b->form->dag, &b->form->pools, b->m, b->m > 0, &d->placer, err));
    if (b->m > 0)
        SKED_TRY(sked_i_sequence_create(b->form, &d->seq, err));
    SKED_NEW(d->key, b->n);
    SKED_NEW(d->bottom, b->n);
    SKED_NEW(d->rank, b->n);
    SKED_NEW(d->fix, b->n);
    SKED_NEW(d->chain, b->n);
    SKED_TRY(sked_i_gaus_incumbent_create(b->n, true, &d->made, err));
    sked_i_upward_ranks(&b->form->dag, b->m > 1 ? (b->m - 1.0) / b->m : 0, d->bottom);
    *out = d;
    return SKED_OK;
cleanup:
    sked_i_gaus_device_decoder_destroy(d);
    return st;
}

void sked_i_gaus_device_decoder_destroy(sked_i_gaus_device_decoder *d)
{
    if (d == NULL)
        return;
    sked_i_placer_destroy(d->placer);
    sked_i_sequence_destroy(d->seq);
    free(d->key);
    free(d->bottom);
    free(d->rank);
    free(d->fix);
    free(d->chain);
    sked_i_gaus_incumbent_free(&d->made);
    free(d);
}

/* ------------------------------------------------------------------ one schedule */

enum { most_kinds = 16 }; /* tried as the only device of all ops */

static void keep(sked_i_gaus_device_decoder *d, double late, sked_i_gaus_incumbent *best)
{
    const sked_i_dag *v = &d->model->form->dag;
    double latest = 0;
    for (int32_t i = 0; i < v->n; i++)
        latest =
            fmax(latest, d->made.start[i] + (v->costs != NULL ? sked_i_time(v->costs, i, d->made.device[i])
                                                              : v->duration[i]));
    d->made.value = latest;
    d->decodes++;
    if (late == 0 && latest < best->value)
        sked_i_gaus_incumbent_copy(best, &d->made, v->n);
}

/* Ops in the order of d->key, on the devices in `fix` (-1: where they finish first; NULL: all free). */
static sked_status place(sked_i_gaus_device_decoder *d, const int32_t *fix, sked_i_gaus_incumbent *best,
                         sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_device_model *b = d->model;
    const sked_i_place how = {.fix_device = b->m > 0 ? fix : NULL,
                              .fix_start = b->p->fix_start,
                              .by_device = b->m > 0,
                              .insertion = true,
                              .limit = d->limit};
    sked_error why = {0};
    double late = 0;
    for (int32_t i = 0; b->m > 0 && fix != NULL && i < b->n; i++)
        assert(fix[i] >= -1 && fix[i] < b->m && (fix[i] < 0 || sked_i_gaus_device_able(b, i, fix[i])));
    SKED_TRY(sked_i_rank_by_key(&b->form->dag, d->key, d->rank, err));
    st = sked_i_placer_run(d->placer, d->rank, NULL, &how, d->made.start, d->made.device, &late, &why);
    if (st == SKED_OK)
        keep(d, late, best);
    else if (st == SKED_ERR_STOPPED)
        st = SKED_OK; /* what was found before counts */
    else
        st = sked_i_fail(err, st, "%s", why.message);
cleanup:
    return st;
}

/* All ops on one device of the kind, the others where they finish first. */
static sked_status place_on_kind(sked_i_gaus_device_decoder *d, int32_t kind, sked_i_gaus_incumbent *best,
                                 sked_error *err)
{
    const sked_i_unequal *u = d->model->form->unequal;
    int32_t device = 0;
    while (u->kind_of[device] != kind)
        device++;
    for (int32_t i = 0; i < d->model->n; i++)
        d->fix[i] = sked_i_gaus_device_pinned(d->model, i)         ? d->model->p->fix_device[i]
                    : sked_i_gaus_device_able(d->model, i, device) ? device
                                                                   : -1;
    return place(d, d->fix, best, err);
}

sked_status sked_i_gaus_device_decode_ranks(sked_i_gaus_device_decoder *d, sked_i_gaus_incumbent *best,
                                            sked_error *err)
{
    sked_status st = SKED_OK;
    const double share[] = {d->model->m > 1 ? (d->model->m - 1.0) / d->model->m : 0, 1, 0};
    for (int k = 0; k < (d->model->m > 1 ? 3 : 1); k++) {
        sked_i_upward_ranks(&d->model->form->dag, share[k], d->key);
        for (int32_t i = 0; i < d->model->n; i++)
            d->key[i] = -d->key[i];
        SKED_TRY(place(d, d->model->p->fix_device, best, err));
    }
    const sked_i_unequal *u = d->model->form->unequal;
    for (int32_t k = 0; u != NULL && k < u->kinds && k < most_kinds; k++)
        SKED_TRY(place_on_kind(d, k, best, err));
    for (int32_t i = 0; i < d->model->n; i++)
        d->fix[i] = sked_i_gaus_device_pinned(d->model, i) ? d->model->p->fix_device[i] : 0;
    if (d->model->m > 1 && u == NULL)
        SKED_TRY(place(d, d->fix, best, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ a point of the relaxation */

/* Devices of the largest shares into d->fix; free below `sure`. */
static void choose_devices(sked_i_gaus_device_decoder *d, const double *share, double sure)
{
    const int32_t m = d->model->m;
    for (int32_t i = 0; i < d->model->n; i++) {
        const double *own = share + (int64_t)i * m;
        int32_t most = 0;
        for (int32_t k = 1; k < m; k++)
            most = own[k] > own[most] ? k : most;
        d->fix[i] = sked_i_gaus_device_pinned(d->model, i) ? d->model->p->fix_device[i]
                    : m > 0 && own[most] >= sure           ? most
                                                           : -1;
    }
}

static void draw_devices(sked_i_gaus_device_decoder *d, const double *share, sked_i_rng *rng)
{
    const int32_t m = d->model->m;
    for (int32_t i = 0; i < d->model->n; i++) {
        const double *own = share + (int64_t)i * m;
        double left = sked_i_rng_uniform(rng);
        int32_t k = 0;
        while (k < m - 1 && (left -= own[k]) >= 0)
            k++;
        while (k > 0 && !sked_i_gaus_device_able(d->model, i, k)) /* rounding ends on the last device */
            k--;
        while (!sked_i_gaus_device_able(d->model, i, k))
            k++;
        d->fix[i] = sked_i_gaus_device_pinned(d->model, i) ? d->model->p->fix_device[i] : m > 0 ? k : -1;
    }
}

sked_status sked_i_gaus_device_decode(sked_i_gaus_device_decoder *d, const sked_i_gaus_device_point *x,
                                      int32_t samples, sked_i_rng *rng, sked_i_gaus_incumbent *best,
                                      sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = d->model->n;
    memcpy(d->key, x->mu, (size_t)n * sizeof *d->key);
    SKED_TRY(place(d, d->model->p->fix_device, best, err));
    if (d->model->m > 1) {
        choose_devices(d, x->share, 0.7);
        SKED_TRY(place(d, d->fix, best, err));
        choose_devices(d, x->share, 0);
        SKED_TRY(place(d, d->fix, best, err));
        for (int32_t i = 0; i < n; i++)
            d->key[i] = -d->bottom[i];
        SKED_TRY(place(d, d->fix, best, err));
    }
    for (int32_t k = 0; k < samples; k++) {
        for (int32_t i = 0; i < n; i++)
            d->key[i] = x->mu[i] + x->sigma[i] * sked_i_rng_normal(rng);
        draw_devices(d, x->share, rng);
        SKED_TRY(place(d, k % 2 == 0 ? d->fix : d->model->p->fix_device, best, err));
    }
cleanup:
    return st;
}
