/* Means and shares to schedules, and moves of single ops. */
#include "method/gaus/device.h"

#include <string.h>

sked_status sked_i_gaus_decoder_create(const sked_i_gaus_base *b, sked_i_gaus_decoder **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_decoder *d = NULL;
    SKED_NEW0(d, 1);
    d->base = b;
    SKED_TRY(sked_i_placer_create(&b->form->dag, &b->form->pools, b->m, b->m > 0, &d->placer, err));
    if (b->m > 0)
        SKED_TRY(sked_i_sequence_create(b->form, &d->seq, err));
    SKED_NEW(d->key, b->n);
    SKED_NEW(d->up, b->n);
    SKED_NEW(d->rank, b->n);
    SKED_NEW(d->fix, b->n);
    SKED_NEW(d->chain, b->n);
    SKED_TRY(sked_i_gaus_plan_create(b->n, &d->made, err));
    sked_i_upward_ranks(&b->form->dag, b->m > 1 ? (b->m - 1.0) / b->m : 0, d->up);
    *out = d;
    return SKED_OK;
cleanup:
    sked_i_gaus_decoder_destroy(d);
    return st;
}

void sked_i_gaus_decoder_destroy(sked_i_gaus_decoder *d)
{
    if (d == NULL)
        return;
    sked_i_placer_destroy(d->placer);
    sked_i_sequence_destroy(d->seq);
    free(d->key);
    free(d->up);
    free(d->rank);
    free(d->fix);
    free(d->chain);
    sked_i_gaus_plan_free(&d->made);
    free(d);
}

/* ------------------------------------------------------------------ one schedule */

static void keep(sked_i_gaus_decoder *d, double late, sked_i_gaus_plan *best)
{
    const sked_i_dag *v = &d->base->form->dag;
    double latest = 0;
    for (int32_t i = 0; i < v->n; i++)
        latest = fmax(latest, d->made.start[i] + v->duration[i]);
    d->made.value = latest;
    d->decodes++;
    if (late == 0 && latest < best->value)
        sked_i_gaus_plan_copy(best, &d->made, v->n);
}

/* Ops in the order of d->key, on the devices in `fix` (-1: where they finish first; NULL: all free). */
static sked_status place(sked_i_gaus_decoder *d, const int32_t *fix, sked_i_gaus_plan *best, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_base *b = d->base;
    const sked_i_place how = {.fix_device = b->m > 0 ? fix : NULL,
                              .fix_start = b->p->fix_start,
                              .by_device = b->m > 0,
                              .insertion = true};
    double late = 0;
    SKED_TRY(sked_i_rank_by_key(&b->form->dag, d->key, d->rank, err));
    SKED_TRY(sked_i_placer_run(d->placer, d->rank, NULL, &how, d->made.start, d->made.device, &late, err));
    keep(d, late, best);
cleanup:
    return st;
}

static bool pinned(const sked_i_gaus_base *b, int32_t i)
{
    return b->p->fix_device != NULL && b->p->fix_device[i] >= 0;
}

sked_status sked_i_gaus_decode_ranks(sked_i_gaus_decoder *d, sked_i_gaus_plan *best, sked_error *err)
{
    sked_status st = SKED_OK;
    const double share[] = {d->base->m > 1 ? (d->base->m - 1.0) / d->base->m : 0, 1, 0};
    for (int k = 0; k < (d->base->m > 1 ? 3 : 1); k++) {
        sked_i_upward_ranks(&d->base->form->dag, share[k], d->key);
        for (int32_t i = 0; i < d->base->n; i++)
            d->key[i] = -d->key[i];
        SKED_TRY(place(d, d->base->p->fix_device, best, err));
    }
    for (int32_t i = 0; i < d->base->n; i++)
        d->fix[i] = pinned(d->base, i) ? d->base->p->fix_device[i] : 0;
    if (d->base->m > 1)
        SKED_TRY(place(d, d->fix, best, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ a point of the relaxation */

/* Devices of the largest shares into d->fix; free below `sure`. */
static void choose_devices(sked_i_gaus_decoder *d, const double *share, double sure)
{
    const int32_t m = d->base->m;
    for (int32_t i = 0; i < d->base->n; i++) {
        const double *own = share + (int64_t)i * m;
        int32_t most = 0;
        for (int32_t k = 1; k < m; k++)
            most = own[k] > own[most] ? k : most;
        d->fix[i] = pinned(d->base, i) ? d->base->p->fix_device[i] : m > 0 && own[most] >= sure ? most : -1;
    }
}

static void draw_devices(sked_i_gaus_decoder *d, const double *share, sked_i_rng *rng)
{
    const int32_t m = d->base->m;
    for (int32_t i = 0; i < d->base->n; i++) {
        const double *own = share + (int64_t)i * m;
        double left = sked_i_rng_uniform(rng);
        int32_t k = 0;
        while (k < m - 1 && (left -= own[k]) >= 0)
            k++;
        d->fix[i] = pinned(d->base, i) ? d->base->p->fix_device[i] : m > 0 ? k : -1;
    }
}

sked_status sked_i_gaus_decode(sked_i_gaus_decoder *d, const sked_i_gaus_device_point *x, int32_t samples,
                               sked_i_rng *rng, sked_i_gaus_plan *best, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = d->base->n;
    memcpy(d->key, x->mu, (size_t)n * sizeof *d->key);
    SKED_TRY(place(d, d->base->p->fix_device, best, err));
    if (d->base->m > 1) {
        choose_devices(d, x->share, 0.7);
        SKED_TRY(place(d, d->fix, best, err));
        choose_devices(d, x->share, 0);
        SKED_TRY(place(d, d->fix, best, err));
        for (int32_t i = 0; i < n; i++)
            d->key[i] = -d->up[i];
        SKED_TRY(place(d, d->fix, best, err));
    }
    for (int32_t k = 0; k < samples; k++) {
        for (int32_t i = 0; i < n; i++)
            d->key[i] = x->mu[i] + x->sigma[i] * sked_i_rng_normal(rng);
        draw_devices(d, x->share, rng);
        SKED_TRY(place(d, k % 2 == 0 ? d->fix : d->base->p->fix_device, best, err));
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ moves */

static int32_t below(sked_i_rng *rng, int32_t n)
{
    return (int32_t)sked_i_rng_below(rng, (uint64_t)n);
}

/* Another device for op i: that of a neighbour in the graph, or any. */
static int32_t other_device(const sked_i_gaus_decoder *d, int32_t i, sked_i_rng *rng)
{
    const sked_i_sequencing *l = d->base->form;
    const int64_t first = l->dag.in.ptr[i], degree = l->dag.in.ptr[i + 1] - first;
    if (degree > 0 && below(rng, 2) == 0)
        return d->seq->device[l->in[first + (int64_t)sked_i_rng_below(rng, (uint64_t)degree)].op];
    return below(rng, l->m);
}

/* One op to another place of the list, another device, or both; false: nothing would change. */
static bool propose(sked_i_gaus_decoder *d, int32_t i, sked_i_rng *rng, sked_i_move *move)
{
    sked_i_sequence *s = d->seq;
    int32_t low, high;
    *move = (sked_i_move){.from = s->place[i], .to = s->place[i]};
    if (below(rng, 2) == 0) {
        sked_i_sequence_range(s, move->from, &low, &high);
        const int32_t reach = 1 + below(rng, 3 * d->base->m);
        const int32_t to = move->from + (below(rng, 2) ? reach : -reach);
        move->to = to < low ? low : to > high ? high : to;
    }
    if (d->base->m > 1 && !pinned(d->base, i) && below(rng, 3) > 0) {
        const int32_t device = other_device(d, i, rng);
        move->count = device != s->device[i];
        move->op[0] = i;
        move->device[0] = device;
    }
    return move->from != move->to || move->count > 0;
}

static void take(sked_i_gaus_decoder *d, sked_i_gaus_plan *best)
{
    const sked_i_sequence *s = d->seq;
    if (s->late > 0 || s->cost >= best->value)
        return;
    best->value = s->cost;
    memcpy(best->start, s->start, (size_t)d->base->n * sizeof *best->start);
    memcpy(best->device, s->device, (size_t)d->base->n * sizeof *best->device);
}

sked_status sked_i_gaus_move_ops(sked_i_gaus_decoder *d, int64_t moves, double heat, sked_i_rng *rng,
                                 const sked_i_limit *limit, double goal, sked_i_gaus_plan *best,
                                 sked_error *err)
{
    sked_i_sequence *s = d->seq;
    int32_t chain = 0;
    double way = 1;
    const double begin = sked_clock(), time = limit->deadline - begin;
    if (s == NULL || d->base->n < 2 || best->value == INFINITY)
        return SKED_OK;
    sked_i_sequence_load(s, best->start, best->device);
    take(d, best);
    for (int64_t k = 0; k < moves && best->value > goal && s->status == SKED_OK; k++) {
        sked_i_move move;
        if (k % 64 == 0) {
            const double used = limit->paced && isfinite(time) ? (sked_clock() - begin) / time : 0;
            way = 1 - fmin(1, fmax((double)k / (double)moves, used)); /* the cooling ends with the time */
            if (sked_i_limit_reached(limit))
                break;
        }
        if (k % (16 + d->base->n / 8) == 0)
            chain = sked_i_sequence_critical(s, rng, d->chain);
        const int32_t i =
            below(rng, 10) < 6 && chain > 0 ? d->chain[below(rng, chain)] : below(rng, d->base->n);
        if (!propose(d, i, rng, &move))
            continue;
        const double threshold = 0.1 * heat * way * way * d->base->form->scale * sked_i_rng_exponential(rng);
        if (sked_i_sequence_try(s, &move, s->cost + threshold))
            take(d, best);
        if (k % (4 * (int64_t)d->base->n) == 0)
            sked_i_sequence_sort(s);
    }
    return s->status == SKED_OK ? SKED_OK : sked_i_no_memory(err);
}
