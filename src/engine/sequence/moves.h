/*
 * Random moves on device sequences, most of them around the critical path.
 *
 *   moves.c    identical devices
 *   sequence_heterogeneous.c  heterogeneous devices and links
 */
#ifndef SKED_ENGINE_SEQUENCE_MOVES_H
#define SKED_ENGINE_SEQUENCE_MOVES_H
#include "engine/sequence/sequence.h"

typedef struct sked_i_moves {
    sked_i_sequence *seq;
    sked_i_rng *rng;
    int32_t *chain, chain_count; /* critical ops of the sequence as it was a while ago */
    int64_t chain_age, moved;    /* moves picked and made since */
} sked_i_moves;

/* s and rng must stay; s holds the memory. */
SKED_MUST_CHECK sked_status sked_i_moves_open(sked_i_sequence *s, sked_i_rng *rng, sked_i_moves *out,
                                              sked_error *err);
/* Puts a move together; false where it would change nothing. */
bool sked_i_moves_pick(sked_i_moves *a, sked_i_sequence_move *move);
/* The sequence is another one. */
static inline void sked_i_moves_forget(sked_i_moves *a)
{
    a->chain_count = 0;
}

/* For the files of this list. */
static inline int32_t sked_i_moves_below(sked_i_moves *a, int32_t n)
{
    return (int32_t)sked_i_rng_below(a->rng, (uint64_t)n);
}
/* A move that changes nothing yet, of op i. */
static inline void sked_i_moves_begin(const sked_i_moves *a, sked_i_sequence_move *move, int32_t i)
{
    move->from = move->to = a->seq->place[i];
    move->count = 0;
}
/* An op that was critical a while ago, or any. */
int32_t sked_i_moves_op(sked_i_moves *a);
/* Moves the place past `least` to a few ops of device d, either way. */
void sked_i_moves_place(sked_i_moves *a, sked_i_sequence_move *move, int32_t d, int32_t least);
/* A neighbour of op i in the graph, -1: none. */
int32_t sked_i_moves_neighbour(sked_i_moves *a, int32_t i);
/* May op i run on device d? */
bool sked_i_moves_can_run(const sked_i_moves *a, int32_t i, int32_t d);
/* Brings op i onto device d, unless it is there, cannot run there, or the move is full or has it already. */
void sked_i_moves_add(const sked_i_moves *a, sked_i_sequence_move *move, int32_t i, int32_t d);
/* Brings neighbours of op i in the graph onto device d, in 1 to `most` tries. */
void sked_i_moves_gather(sked_i_moves *a, sked_i_sequence_move *move, int32_t i, int32_t d, int32_t most);
/* Exchanges the devices of the op and another that stands near it in the list. */
void sked_i_moves_swap(sked_i_moves *a, sked_i_sequence_move *move, int32_t i);
/* As sked_i_moves_pick, on heterogeneous devices. */
bool sked_i_moves_pick_hetero(sked_i_moves *a, sked_i_sequence_move *move);
#endif
