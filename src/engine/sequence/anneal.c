/* Annealing on device sequences. */
#include "engine/sequence/anneal.h"

#include "base/explog.h"
#include "base/memory.h"
#include "engine/sequence/moves.h"

#include <assert.h>

struct sked_i_anneal {
    sked_i_sequence *seq;
    sked_i_client *client;
    sked_i_anneal_see *see;
    bool see_all;
    double *key; /* [n] scratch */
    sked_i_moves moves;
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
    free(a);
}

sked_status sked_i_anneal_create(const sked_i_sequencing *form, sked_i_client *client, sked_i_anneal_see *see,
                                 bool see_all, const sked_i_limit *limit, sked_i_anneal **out,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_anneal *a = NULL;
    SKED_NEW0(a, 1);
    a->client = client;
    a->see = see;
    a->see_all = see_all;
    SKED_TRY(sked_i_sequence_create(form, &a->seq, err));
    a->seq->limit = limit;
    SKED_TRY(sked_i_moves_open(a->seq, &client->rng, &a->moves, err));
    SKED_OWN(&a->seq->arena, a->key, form->n);
    *out = a;
    return SKED_OK;
cleanup:
    sked_i_anneal_destroy(a);
    return st;
}

/* ------------------------------------------------------------------ solutions */

void sked_i_anneal_load(sked_i_anneal *a, const double *start, const int32_t *device)
{
    sked_i_sequence_load(a->seq, start, device);
    sked_i_moves_forget(&a->moves);
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
    sked_i_moves_forget(&a->moves);
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
    if (!sked_i_moves_pick(&a->moves, &move))
        return;
    const double before = s->cost, limit = before + a->heat * sked_i_rng_exponential(&a->client->rng);
    if (!sked_i_sequence_try(s, &move, limit))
        return;
    a->moves.moved++;
    if (++a->accepted % (16 + s->form->n / 4) == 0)
        sked_i_sequence_sort(s);
    if (s->cost < before || a->see_all)
        a->see(a->client, s);
}

bool sked_i_anneal_run(sked_i_anneal *a)
{
    assert(a->length > 0 && a->done <= a->length); /* sked_i_anneal_begin came first */
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
