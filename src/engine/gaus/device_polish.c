/*
 * Moves of single ops between devices and places in the list, accepted within a threshold that falls: along a
 * critical path more often than elsewhere.
 */
#include "engine/gaus/device.h"
#include "engine/sequence/moves.h"

#include <assert.h>
#include <string.h>

static int32_t below(sked_i_rng *rng, int32_t n)
{
    return (int32_t)sked_i_rng_below(rng, (uint64_t)n);
}

/* Another device for op i: that of a neighbour in the graph, or any. */
static int32_t other_device(const sked_i_gaus_device_decoder *d, int32_t i, sked_i_rng *rng)
{
    const sked_i_sequencing *l = d->model->form;
    const int64_t first = l->dag.in.ptr[i], degree = l->dag.in.ptr[i + 1] - first;
    if (degree > 0 && below(rng, 2) == 0)
        return d->seq->device[l->in[first + (int64_t)sked_i_rng_below(rng, (uint64_t)degree)].op];
    return below(rng, l->m);
}

/* One op to another place of the list, another device, or both; false: nothing would change. */
static bool propose(sked_i_gaus_device_decoder *d, int32_t i, sked_i_rng *rng, sked_i_sequence_move *move)
{
    sked_i_sequence *s = d->seq;
    int32_t low, high;
    *move = (sked_i_sequence_move){.from = s->place[i], .to = s->place[i]};
    if (below(rng, 2) == 0) {
        sked_i_sequence_range(s, move->from, &low, &high);
        const int32_t reach = 1 + below(rng, 3 * d->model->m);
        const int32_t to = move->from + (below(rng, 2) ? reach : -reach);
        move->to = to < low ? low : to > high ? high : to;
    }
    if (d->model->m > 1 && !sked_i_gaus_device_pinned(d->model, i) && below(rng, 3) > 0) {
        const int32_t device = other_device(d, i, rng);
        move->count = device != s->device[i];
        move->op[0] = i;
        move->device[0] = device;
    }
    assert(move->count == 0 || (move->device[0] >= 0 && move->device[0] < d->model->m));
    return move->from != move->to || move->count > 0;
}

/* The same for an op of the critical path, or any. */
static bool propose_near(sked_i_gaus_device_decoder *d, int32_t chain, sked_i_rng *rng,
                         sked_i_sequence_move *move)
{
    const int32_t i = below(rng, 10) < 6 && chain > 0 ? d->chain[below(rng, chain)] : below(rng, d->model->n);
    return propose(d, i, rng, move);
}

static void take(sked_i_gaus_device_decoder *d, sked_i_gaus_incumbent *best)
{
    const sked_i_sequence *s = d->seq;
    if (s->late > 0 || s->cost >= best->value)
        return;
    best->value = s->cost;
    memcpy(best->start, s->start, (size_t)d->model->n * sizeof *best->start);
    memcpy(best->device, s->device, (size_t)d->model->n * sizeof *best->device);
}

sked_status sked_i_gaus_device_polish(sked_i_gaus_device_decoder *d, int64_t moves, double heat,
                                      sked_i_rng *rng, const sked_i_limit *limit, double goal,
                                      sked_i_gaus_incumbent *best, sked_error *err)
{
    sked_i_sequence *s = d->seq;
    sked_status st = SKED_OK;
    sked_i_moves unequal = {0};
    int32_t chain = 0;
    double cooling = 1;
    const double begin = sked_clock(), time = limit->deadline - begin;
    if (s == NULL || d->model->n < 2 || best->value == INFINITY || sked_i_limit_stopped(limit))
        return SKED_OK;
    assert(moves >= 0 && heat >= 0);
    if (d->model->form->unequal != NULL && (st = sked_i_moves_open(s, rng, &unequal, err)) != SKED_OK)
        goto cleanup;
    sked_i_sequence_load(s, best->start, best->device);
    take(d, best);
    for (int64_t k = 0; k < moves && best->value > goal && s->status == SKED_OK; k++) {
        sked_i_sequence_move move;
        if (k % 64 == 0) {
            const double used = limit->paced && isfinite(time) ? (sked_clock() - begin) / time : 0;
            cooling = 1 - fmin(1, fmax((double)k / (double)moves, used)); /* the cooling ends with the time */
            if (sked_i_limit_reached(limit))
                break;
        }
        if (unequal.seq == NULL && k % (16 + d->model->n / 8) == 0)
            chain = sked_i_sequence_critical(s, rng, d->chain);
        if (unequal.seq != NULL ? !sked_i_moves_pick(&unequal, &move) : !propose_near(d, chain, rng, &move))
            continue;
        const double threshold =
            0.1 * heat * cooling * cooling * d->model->form->scale * sked_i_rng_exponential(rng);
        if (sked_i_sequence_try(s, &move, s->cost + threshold)) {
            unequal.moved++;
            take(d, best);
        }
        if (k % (4 * (int64_t)d->model->n) == 0)
            sked_i_sequence_sort(s);
    }
    st = s->status == SKED_OK ? SKED_OK : sked_i_no_memory(err);
cleanup:
    sked_i_moves_close(&unequal);
    return st;
}
