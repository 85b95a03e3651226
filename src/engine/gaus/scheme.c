#include "engine/gaus/scheme.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_gaus_scheme_create(const sked_problem *p, const sked_i_limit *limit, uint64_t seed,
                                      sked_i_gaus_scheme **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_scheme *s = NULL;
    SKED_NEW0(s, 1);
    s->limit = limit;
    s->length = INT32_MAX;
    sked_i_rng_seed(&s->rng, seed, 0);
    SKED_TRY(sked_i_cumulative_create(p, &s->core, err));
    SKED_TRY(sked_i_justifier_open(&s->justifier, s->core, limit, err));
    SKED_NEW(s->key, s->core->n);
    SKED_NEW(s->made, s->core->n);
    SKED_NEW(s->start, s->core->n);
    *out = s;
    return SKED_OK;
cleanup:
    sked_i_gaus_scheme_destroy(s);
    return st;
}

void sked_i_gaus_scheme_destroy(sked_i_gaus_scheme *s)
{
    if (s == NULL)
        return;
    sked_i_justifier_close(&s->justifier);
    free(s->key);
    free(s->made);
    free(s->start);
    sked_i_cumulative_destroy(s->core);
    free(s);
}

int64_t sked_i_gaus_scheme_steps(const sked_i_gaus_scheme *s)
{
    assert(s->length < INT32_MAX);
    return (int64_t)ceil(s->length / s->core->scale);
}

static void keep(sked_i_gaus_scheme *s, int32_t length)
{
    if (length >= s->length || length > s->core->horizon)
        return;
    s->length = length;
    memcpy(s->start, s->made, (size_t)s->core->n * sizeof *s->made);
}

/* The keys' schedule, improved; kept where it is shorter than the incumbent. */
static void decode_keys(sked_i_gaus_scheme *s, bool parallel)
{
    const sked_i_justifier *j = &s->justifier;
    sked_i_sgs_sort(j->forward, s->key, false, j->list);
    int32_t length = parallel && s->core->fixed == NULL
                         ? sked_i_sgs_parallel(j->forward, j->list, s->made)
                         : sked_i_sgs_serial(j->forward, j->list, INT32_MAX - 1, s->made);
    s->decodes++;
    if (length == SKED_I_ABORTED)
        return;
    if (s->core->fixed == NULL)
        length = sked_i_justify(&s->justifier, length, s->made);
    else if (j->forward->late > 0)
        return;
    keep(s, length);
}

/* Means (plus noise of their own sigmas) as keys: eighths of a step, so that fractions still order. */
static void set_keys(sked_i_gaus_scheme *s, const double *mu, const double *sigma)
{
    for (int32_t k = 0; k < s->core->n; k++) {
        const int32_t i = s->core->op[k];
        const double t = mu[i] + (sigma != NULL ? sigma[i] * sked_i_rng_normal(&s->rng) : 0);
        s->key[k] = (int32_t)(8 * fmin(1e7, fmax(0, t + 32)));
    }
}

void sked_i_gaus_scheme_decode(sked_i_gaus_scheme *s, const double *mu)
{
    set_keys(s, mu, NULL);
    decode_keys(s, false);
    decode_keys(s, true);
}

bool sked_i_gaus_scheme_visit(void *scheme, const double *mu, const double *sigma)
{
    sked_i_gaus_scheme *s = scheme;
    const int32_t before = s->length;
    sked_i_gaus_scheme_decode(s, mu);
    for (int32_t k = 0; k < s->samples && s->length == before; k++) {
        if (sked_i_limit_reached(s->limit))
            return true;
        set_keys(s, mu, sigma);
        decode_keys(s, k % 2 == 1);
    }
    return s->length < before || sked_i_limit_reached(s->limit);
}

void sked_i_gaus_scheme_take(sked_i_gaus_scheme *s, const double *start)
{
    int32_t length = 0;
    for (int32_t k = 0; k < s->core->n; k++) {
        s->made[k] = (int32_t)(start[s->core->op[k]] * s->core->scale);
        assert(s->made[k] >= 0);
        if (s->made[k] + s->core->forward.duration[k] > length)
            length = s->made[k] + s->core->forward.duration[k];
    }
    keep(s, sked_i_justify(&s->justifier, length, s->made));
}

void sked_i_gaus_scheme_means(const sked_i_gaus_scheme *s, const sked_i_gaus_model *m, double *mu)
{
    assert(s->length < INT32_MAX && m->n == s->core->n);
    for (int32_t k = 0; k < s->core->n; k++) {
        const int32_t i = s->core->op[k];
        mu[i] = fmin(m->hi[i], fmax(m->lo[i], s->start[k] / s->core->scale));
    }
}
