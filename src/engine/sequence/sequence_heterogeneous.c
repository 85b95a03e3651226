/* Moves that know where an op can run, how long it takes there, and where its data is. */
#include "engine/sequence/moves.h"

enum { longest_stretch = 8 }; /* ops */

static int32_t below(sked_i_moves *a, int32_t n)
{
    return sked_i_moves_below(a, n);
}

/* A device for op i: that of a neighbour in the graph, one of the faster ones, or any that can run it. */
static int32_t pick_device(sked_i_moves *a, int32_t i)
{
    const sked_i_hetero *u = a->seq->form->hetero;
    const int32_t count = sked_i_hetero_choices(u, i);
    const int32_t how = below(a, 4);
    if (how < 2) {
        const int32_t j = sked_i_moves_neighbour(a, i);
        if (j >= 0 && sked_i_moves_can_run(a, i, a->seq->device[j]))
            return a->seq->device[j];
    }
    int32_t k = below(a, count);
    if (how == 2) {
        const int32_t other = below(a, count);
        k = other < k ? other : k;
    }
    return sked_i_hetero_choice(u, i, k);
}

/* Takes all that hangs together with op i on its device, in one direction or both, along to device d. */
static void take_cluster(sked_i_moves *a, sked_i_sequence_move *move, int32_t d)
{
    const sked_i_dag *v = &a->seq->form->dag;
    const int32_t own = a->seq->device[move->op[0]], limit = 2 + below(a, SKED_I_SEQUENCE_MOVE_OPS - 1);
    const int32_t way = below(a, 3);
    for (int32_t q = 0; q < move->count && move->count < limit; q++) {
        const int32_t i = move->op[q];
        for (int64_t k = v->in.ptr[i]; way != 0 && k < v->in.ptr[i + 1] && move->count < limit; k++)
            if (a->seq->device[v->in.op[k]] == own)
                sked_i_moves_add(a, move, v->in.op[k], d);
        for (int64_t k = v->out.ptr[i]; way != 1 && k < v->out.ptr[i + 1] && move->count < limit; k++)
            if (a->seq->device[v->out.op[k]] == own)
                sked_i_moves_add(a, move, v->out.op[k], d);
    }
}

/* Brings a stretch of the critical path onto one device, mostly that of one of its ops. */
static void take_stretch(sked_i_moves *a, sked_i_sequence_move *move)
{
    const int32_t first = below(a, a->chain_count), left = a->chain_count - first;
    const int32_t most = left < longest_stretch ? left : longest_stretch, length = 1 + below(a, most);
    const int32_t i = a->chain[first + below(a, length)];
    const int32_t d = below(a, 4) == 0 ? pick_device(a, i) : a->seq->device[i];
    for (int32_t k = 0; k < length; k++)
        sked_i_moves_add(a, move, a->chain[first + k], d);
}

/*
 * Of 100 moves: another place on the same device; another device for the op alone, with some of its
 * neighbours, with all that hangs together with it; the rest exchanges two devices. Results depend little on
 * them: half or twice of one changed the mean of 55 problems by less than other random numbers did.
 */
enum { order_share = 20, single_share = 45, gather_share = 65, cluster_share = 80, stretch_share = 90 };

bool sked_i_moves_pick_hetero(sked_i_moves *a, sked_i_sequence_move *move)
{
    const int32_t i = sked_i_moves_op(a), own = a->seq->device[i], kind = below(a, 100);
    sked_i_moves_begin(a, move, i);
    if (kind < order_share) {
        sked_i_moves_place(a, move, own, 1);
    } else if (kind < cluster_share) {
        const int32_t d = pick_device(a, i);
        sked_i_moves_place(a, move, d, 0);
        sked_i_moves_add(a, move, i, d);
        if (move->count > 0 && kind >= gather_share)
            take_cluster(a, move, d);
        else if (move->count > 0 && kind >= single_share)
            sked_i_moves_gather(a, move, i, d, 8);
    } else if (kind < stretch_share) {
        take_stretch(a, move);
    } else {
        sked_i_moves_swap(a, move, i);
    }
    return move->from != move->to || move->count > 0;
}
