/*
 * A packing that grows from below. Over each section there is a floor, below which nothing more is put. Boxes
 * rest where all floors below them are equally high, or above the highest of them. Placements are undone in
 * reverse order.
 */
#ifndef SKED_ENGINE_PACK_SKYLINE_H
#define SKED_ENGINE_PACK_SKYLINE_H
#include "engine/pack/boxes.h"

typedef struct sked_i_skyline_change {
    int32_t which;   /* a box, or ~section */
    int32_t resting; /* of a section */
    int64_t before;  /* least or floor */
} sked_i_skyline_change;

typedef struct sked_i_skyline {
    const sked_i_boxes *x;
    int64_t capacity, ceiling; /* the second in whole units of alignment */
    int64_t *least;            /* [n] the lowest offset that an open box may have */
    int64_t *floor;            /* [sections] least of all open boxes there */
    int64_t *left;             /* [sections] room that open boxes take */
    int32_t *resting;          /* [sections] open boxes whose least is the floor */
    int32_t *crossing;         /* [sections] open boxes held in the section before as well */
    int32_t *placed;           /* [n] stack */
    int32_t n_placed;
    /* inside */
    int64_t *acc;            /* [sections] */
    int32_t *fixed, n_fixed; /* boxes by offset */
    int32_t *dirty, n_dirty;
    bool *is_dirty; /* [sections] */
    sked_i_skyline_change *change;
    int64_t n_changes, cap;
    sked_i_arena *arena;
    bool keep, full; /* changes are kept; there was no room for one */
} sked_i_skyline;

typedef struct sked_i_skyline_mark {
    int64_t changes;
    int32_t placed;
} sked_i_skyline_mark;

SKED_MUST_CHECK sked_status sked_i_skyline_make(const sked_i_boxes *x, sked_i_arena *arena,
                                                sked_i_skyline *out, sked_error *err);
/* Nothing is placed. keep: to undo. open: all boxes. false: they do not fit below the capacity. */
bool sked_i_skyline_clear(sked_i_skyline *k, int64_t capacity, bool keep, const int32_t *open);

/*
 * Places a box at its least, or raises the floor of a section. open: the boxes that are not placed and can
 * meet it. false: what is open does not fit below the capacity any more, or there is no room for what
 * changes (full); either way _undo brings back what was.
 */
bool sked_i_skyline_place(sked_i_skyline *k, int32_t box, const int32_t *open, int32_t n);
bool sked_i_skyline_raise(sked_i_skyline *k, int32_t section, int64_t floor, const int32_t *open, int32_t n);

static inline sked_i_skyline_mark sked_i_skyline_now(const sked_i_skyline *k)
{
    return (sked_i_skyline_mark){.changes = k->n_changes, .placed = k->n_placed};
}
void sked_i_skyline_undo(sked_i_skyline *k, sked_i_skyline_mark mark);

/*
 * Whether open boxes, sorted by least, fit over every section: those with a high least must all lie above
 * the lowest of these (Jackson's bound of one machine with heads).
 */
bool sked_i_skyline_fits(sked_i_skyline *k, int32_t *open, int32_t n, int32_t first, int32_t last);
#endif
