/* Moves on identical devices, and what moves on all devices share. */
#include "engine/sequence/moves.h"

#include <assert.h>

sked_status sked_i_moves_open(sked_i_sequence *s, sked_i_rng *rng, sked_i_moves *out, sked_error *err)
{
    sked_status st = SKED_OK;
    *out = (sked_i_moves){.seq = s, .rng = rng};
    SKED_OWN(&s->arena, out->chain, s->form->n);
cleanup:
    return st;
}

static int32_t below(sked_i_moves *a, int32_t n)
{
    return sked_i_moves_below(a, n);
}

static bool pinned(const sked_i_moves *a, int32_t i)
{
    const int32_t *fix = a->seq->form->problem->fix_device;
    return fix != NULL && fix[i] >= 0;
}

int32_t sked_i_moves_op(sked_i_moves *a)
{
    if (a->chain_count == 0 || (a->moved > 0 && a->chain_age > 16 + a->seq->form->n / 8)) {
        a->chain_count = sked_i_sequence_critical(a->seq, a->rng, a->chain);
        a->chain_age = a->moved = 0;
    }
    assert(a->chain_count > 0);
    a->chain_age++;
    return below(a, 10) < 6 ? a->chain[below(a, a->chain_count)] : below(a, a->seq->form->n);
}

/* The k-th of the predecessors and then the successors of op i. */
static int32_t neighbour(const sked_i_dag *v, int32_t i, int64_t k)
{
    const int64_t before = v->in.ptr[i + 1] - v->in.ptr[i];
    return k < before ? v->in.op[v->in.ptr[i] + k] : v->out.op[v->out.ptr[i] + k - before];
}

static int64_t degree(const sked_i_dag *v, int32_t i)
{
    return v->in.ptr[i + 1] - v->in.ptr[i] + v->out.ptr[i + 1] - v->out.ptr[i];
}

int32_t sked_i_moves_neighbour(sked_i_moves *a, int32_t i)
{
    const sked_i_dag *v = &a->seq->form->dag;
    const int64_t count = degree(v, i);
    return count > 0 ? neighbour(v, i, (int64_t)sked_i_rng_below(a->rng, (uint64_t)count)) : -1;
}

/* A device for op i: that of a neighbour in the graph, or any. */
static int32_t pick_device(sked_i_moves *a, int32_t i)
{
    if (degree(&a->seq->form->dag, i) > 0 && below(a, 2) == 0)
        return a->seq->device[sked_i_moves_neighbour(a, i)];
    return below(a, a->seq->form->m);
}

void sked_i_moves_place(sked_i_moves *a, sked_i_sequence_move *move, int32_t d, int32_t least)
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

bool sked_i_moves_can_run(const sked_i_moves *a, int32_t i, int32_t d)
{
    const sked_i_hetero *u = a->seq->form->hetero;
    const int32_t *fix = a->seq->form->problem->fix_device;
    return (fix == NULL || fix[i] < 0 || fix[i] == d) &&
           (u == NULL || sked_i_hetero_time(u, i, d) < INFINITY);
}

void sked_i_moves_add(const sked_i_moves *a, sked_i_sequence_move *move, int32_t i, int32_t d)
{
    if (move->count == SKED_I_SEQUENCE_MOVE_OPS || a->seq->device[i] == d || !sked_i_moves_can_run(a, i, d))
        return;
    for (int32_t q = 0; q < move->count; q++)
        if (move->op[q] == i)
            return;
    move->op[move->count] = i;
    move->device[move->count++] = d;
}

void sked_i_moves_gather(sked_i_moves *a, sked_i_sequence_move *move, int32_t i, int32_t d, int32_t most)
{
    for (int32_t tries = 1 + below(a, most); tries > 0; tries--) {
        const int32_t j = sked_i_moves_neighbour(a, i);
        if (j < 0)
            return;
        sked_i_moves_add(a, move, j, d);
        if (below(a, 2))
            i = j;
    }
}

void sked_i_moves_swap(sked_i_moves *a, sked_i_sequence_move *move, int32_t i)
{
    const sked_i_sequence *s = a->seq;
    const int32_t reach = 2 * s->form->m, at = s->place[i] - reach + below(a, 2 * reach + 1);
    if (at < 0 || at >= s->form->n)
        return;
    const int32_t j = s->list[at], d = s->device[i], e = s->device[j];
    if (d == e || !sked_i_moves_can_run(a, i, e) || !sked_i_moves_can_run(a, j, d))
        return;
    sked_i_moves_add(a, move, i, e);
    sked_i_moves_add(a, move, j, d);
}

bool sked_i_moves_pick(sked_i_moves *a, sked_i_sequence_move *move)
{
    if (a->seq->form->hetero != NULL)
        return sked_i_moves_pick_hetero(a, move);
    const int32_t i = sked_i_moves_op(a), own = a->seq->device[i], kind = below(a, 100);
    sked_i_moves_begin(a, move, i);
    if (kind < 35 || a->seq->form->m == 1 || pinned(a, i)) {
        sked_i_moves_place(a, move, own, 1);
    } else if (kind < 85) {
        const int32_t d = pick_device(a, i);
        sked_i_moves_place(a, move, d, 0);
        sked_i_moves_add(a, move, i, d);
        if (move->count > 0 && kind >= 75)
            sked_i_moves_gather(a, move, i, d, 5);
    } else {
        sked_i_moves_swap(a, move, i);
    }
    return move->from != move->to || move->count > 0;
}
