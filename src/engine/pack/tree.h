/*
 * Depth-first search for a packing within a capacity.
 *
 * A niche is a run of sections with one floor between higher ones: whatever is put at that floor lies within
 * it. Over any section of a niche, either one of the boxes that rest there comes next, or nothing does and
 * the floor rises to the next height that something could have. The search branches on the section with the
 * fewest answers; no two of them lead to the same packing. Where no open box crosses the border of two
 * sections, the sides are packed one after the other, and the first is kept when the second fails.
 */
#ifndef SKED_ENGINE_PACK_TREE_H
#define SKED_ENGINE_PACK_TREE_H
#include "base/rng.h"
#include "engine/pack/boxes.h"

typedef enum sked_i_tree_verdict {
    SKED_I_TREE_PACKED,
    SKED_I_TREE_NONE, /* proved: no packing is within the capacity */
    SKED_I_TREE_OPEN  /* it ended before */
} sked_i_tree_verdict;

typedef enum sked_i_tree_rule { /* which section of a niche, among those with equally few answers */
                                SKED_I_TREE_TIGHTEST,
                                SKED_I_TREE_LOWEST,
                                SKED_I_TREE_RULES
} sked_i_tree_rule;

typedef struct sked_i_tree_run {
    int64_t capacity;
    int64_t nodes; /* at most */
    bool dive;     /* ends with the first failure; memory is linear, where else it is up to 4 kB a box */
    sked_i_tree_rule rule;
    const int32_t *rank; /* [n] of several boxes the one with the least rank goes first */
    const sked_i_limit *limit;
} sked_i_tree_run;

typedef struct sked_i_tree sked_i_tree;
SKED_MUST_CHECK sked_status sked_i_tree_make(const sked_i_boxes *x, sked_i_arena *arena, sked_i_tree **out,
                                             sked_error *err);
/* PACKED: offset ([n]) has the packing. What was proved of partial packings is kept for later runs. */
sked_i_tree_verdict sked_i_tree_search(sked_i_tree *t, const sked_i_tree_run *run, int64_t *offset);
#endif
