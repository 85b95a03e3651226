/* Annealing on device sequences. */
#include "engine/sequence/anneal.h"

#include "base/explog.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

struct sked_i_anneal {
    sked_i_sequence *seq;
    sked_i_client *client;
    sked_i_anneal_see *see;
    bool see_all;
    double *key;                 /* [n] scratch */
    int32_t *chain, chain_count; /* critical ops of the sequence as it was a while ago */
    int64_t chain_age, moved;    /* moves tried and made since */
    /* the cooling under way */
    int64_t length, done, accepted;
    double hot, cold, heat;
};

/* ------------------------------------------------------------------ life */

void sked_i_anneal_destroy(sked_i_anneal *a)
{
    if (a == NULL)
        return;
    sked_i_sequence_destroy(a->seq);
    free(a->key);
    free(a->chain);
    free(a);
}

sked_status sked_i_anneal_create(const sked_i_sequencing *form, sked_i_client *client, sked_i_anneal_see *see,
                                 bool see_all, sked_i_anneal **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_anneal *a = NULL;
    SKED_NEW0(a, 1);
    a->client = client;
    a->see = see;
    a->see_all = see_all;
    SKED_TRY(sked_i_sequence_create(form, &a->seq, err));
    SKED_NEW(a->chain, form->n);
    SKED_NEW(a->key, form->n);
    *out = a;
    return SKED_OK;
cleanup:
    sked_i_anneal_destroy(a);
    return st;
}

/* ------------------------------------------------------------------ moves */

static int32_t below(sked_i_anneal *a, int32_t n)
{
    return (int32_t)sked_i_rng_below(&a->client->rng, (uint64_t)n);
}

static bool pinned(const sked_i_anneal *a, int32_t i)
{
    const int32_t *fix = a->seq->form->problem->fix_device;
    return fix != NULL && fix[i] >= 0;
}

static int32_t pick_op(sked_i_anneal *a)
{
    if (a->chain_count == 0 || (a->moved > 0 && a->chain_age > 16 + a->seq->form->n / 8)) {
        a->chain_count = sked_i_sequence_critical(a->seq, &a->client->rng, a->chain);
        a->chain_age = a->moved = 0;
    }
    a->chain_age++;
    return below(a, 10) < 6 ? a->chain[below(a, a->chain_count)] : below(a, a->seq->form->n);
}

/* A device for op i: that of a neighbour in the graph, or any. */
static int32_t pick_device(sked_i_anneal *a, int32_t i)
{
    const sked_i_sequencing *l = a->seq->form;
    const int64_t *in = l->dag.in.ptr + i, *out = l->dag.out.ptr + i;
    const int64_t before = in[1] - in[0], degree = before + out[1] - out[0];
    if (degree > 0 && below(a, 2) == 0) {
        const int64_t k = (int64_t)sked_i_rng_below(&a->client->rng, (uint64_t)degree);
        return a->seq->device[k < before ? l->in[in[0] + k].op : l->out[out[0] + k - before].op];
    }
    return below(a, l->m);
}

/* Moves the place past one to a few ops of device d, either way. */
static void pick_place(sked_i_anneal *a, sked_i_sequence_move *move, int32_t d, int32_t least)
{
    const sked_i_sequence *s = a->seq;
    int32_t low, high, passed = least + (below(a, 2) ? 0 : below(a, 4)), at = move->from;
    const int32_t step = below(a, 2) ? 1 : -1;
    sked_i_sequence_range(s, move->from, &low, &high);
    for (int32_t k = move->from + step; passed > 0 && k >= low && k <= high; k += step)
        if (s->device[s->list[k]] == d) {
            at = k;
            passed--;
        }
    move->to = at;
}

/* Brings op i and some of its neighbours in the graph onto device d. */
static void gather_neighbours(sked_i_anneal *a, sked_i_sequence_move *move, int32_t i, int32_t d)
{
    const sked_i_sequencing *l = a->seq->form;
    for (int32_t tries = 1 + below(a, SKED_I_SEQUENCE_MOVE_OPS - 1); tries > 0; tries--) {
        const int64_t *in = l->dag.in.ptr + i, *out = l->dag.out.ptr + i;
        const int64_t before = in[1] - in[0], degree = before + out[1] - out[0];
        if (degree == 0)
            return;
        const int64_t k = (int64_t)sked_i_rng_below(&a->client->rng, (uint64_t)degree);
        const int32_t j = k < before ? l->in[in[0] + k].op : l->out[out[0] + k - before].op;
        bool taken = pinned(a, j) || a->seq->device[j] == d;
        for (int32_t q = 0; q < move->count; q++)
            taken = taken || move->op[q] == j;
        if (!taken) {
            move->op[move->count] = j;
            move->device[move->count++] = d;
        }
        if (below(a, 2))
            i = j;
    }
}

/* Exchanges the devices of the op and another that stands near it in the list. */
static void swap_devices(sked_i_anneal *a, sked_i_sequence_move *move, int32_t i)
{
    const sked_i_sequence *s = a->seq;
    const int32_t reach = 2 * a->seq->form->m, at = s->place[i] - reach + below(a, 2 * reach + 1);
    if (at < 0 || at >= a->seq->form->n)
        return;
    const int32_t j = s->list[at];
    if (s->device[i] == s->device[j] || pinned(a, i) || pinned(a, j))
        return;
    move->count = 2;
    move->op[0] = i;
    move->op[1] = j;
    move->device[0] = s->device[j];
    move->device[1] = s->device[i];
}

/* Puts a move together; false where it would change nothing. */
static bool pick_move(sked_i_anneal *a, sked_i_sequence_move *move)
{
    const int32_t i = pick_op(a), own = a->seq->device[i], kind = below(a, 100);
    *move = (sked_i_sequence_move){.from = a->seq->place[i], .to = a->seq->place[i]};
    if (kind < 35 || a->seq->form->m == 1 || pinned(a, i)) {
        pick_place(a, move, own, 1);
    } else if (kind < 85) {
        const int32_t d = pick_device(a, i);
        pick_place(a, move, d, 0);
        if (d != own) {
            move->count = 1;
            move->op[0] = i;
            move->device[0] = d;
            if (kind >= 75)
                gather_neighbours(a, move, i, d);
        }
    } else {
        swap_devices(a, move, i);
    }
    return move->from != move->to || move->count > 0;
}

/* ------------------------------------------------------------------ solutions */

void sked_i_anneal_load(sked_i_anneal *a, const double *start, const int32_t *device)
{
    sked_i_sequence_load(a->seq, start, device);
    a->chain_count = 0;
}

double sked_i_anneal_try(sked_i_anneal *a, const double *start, const int32_t *device)
{
    sked_i_anneal_load(a, start, device);
    a->client->evaluations++;
    a->see(a->client, a->seq);
    return a->seq->cost;
}

void sked_i_anneal_build(sked_i_anneal *a)
{
    const sked_i_sequencing *l = a->seq->form;
    sked_i_rng *r = &a->client->rng;
    sked_i_upward_ranks(&l->dag, sked_i_rng_uniform(r), a->key);
    for (int32_t i = 0; i < l->n; i++)
        a->key[i] *= -1 + 0.3 * sked_i_rng_uniform(r);
    sked_i_sequence_build(a->seq, a->key);
    a->chain_count = 0;
    a->client->evaluations++;
    a->see(a->client, a->seq);
}

sked_status sked_i_anneal_status(const sked_i_anneal *a)
{
    return a->seq->status;
}

/* ------------------------------------------------------------------ cooling */

void sked_i_anneal_begin(sked_i_anneal *a, int64_t length, double hot, double cold)
{
    assert(length > 0);
    a->length = length;
    a->hot = a->heat = hot;
    a->cold = cold;
    a->done = a->accepted = 0;
}

/* Makes a move, or not. */
static void step(sked_i_anneal *a)
{
    sked_i_sequence *s = a->seq;
    sked_i_sequence_move move;
    a->client->evaluations++;
    if (!pick_move(a, &move))
        return;
    const double before = s->cost, limit = before + a->heat * sked_i_rng_exponential(&a->client->rng);
    if (!sked_i_sequence_try(s, &move, limit))
        return;
    a->moved++;
    if (++a->accepted % (16 + s->form->n / 4) == 0)
        sked_i_sequence_sort(s);
    if (s->cost < before || a->see_all)
        a->see(a->client, s);
}

bool sked_i_anneal_run(sked_i_anneal *a)
{
    const double slope = log(a->cold / a->hot) / (double)a->length;
    for (; a->done < a->length; a->done++) {
        if (a->seq->status != SKED_OK || sked_i_client_over(a->client))
            return false;
        if (a->done % 64 == 0)
            a->heat = a->hot * sked_i_exp(slope * (double)a->done);
        step(a);
    }
    return true;
}
