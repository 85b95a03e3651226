/*
 * Buffers as boxes: time is cut into sections, the largest sets of buffers that are held at once, and what
 * takes no room is left out.
 */
#ifndef SKED_ENGINE_PACK_BOXES_H
#define SKED_ENGINE_PACK_BOXES_H
#include "base/arena.h"
#include "engine/pack/pack.h"

typedef struct sked_i_box {
    int64_t size, room, alignment, fixed; /* room: size in whole steps; fixed: -1, or where it lies */
    int32_t first, last;                  /* held in sections [first, last) */
    int32_t buffer;
} sked_i_box;

typedef struct sked_i_boxes {
    int32_t n, sections;
    sked_i_box *box; /* [n] by first section, then buffer */
    int64_t *load;   /* [sections] rooms of the boxes held */
    int64_t step;    /* of all offsets: what alignments and fixed offsets have in common */
    int64_t unit;    /* of the least height: what sizes have in common as well */
    int64_t bound;   /* on the height */
} sked_i_boxes;

SKED_MUST_CHECK sked_status sked_i_boxes_make(const sked_i_pack_buffers *b, sked_i_arena *arena,
                                              sked_i_boxes *out, sked_error *err);

static inline bool sked_i_boxes_meet(const sked_i_box *a, const sked_i_box *b)
{
    return a->first < b->last && b->first < a->last;
}

/* The least multiple of the box's alignment that is not below x. */
static inline int64_t sked_i_box_align(const sked_i_box *b, int64_t x)
{
    return b->alignment == 1 ? x : (x + b->alignment - 1) / b->alignment * b->alignment;
}
#endif
