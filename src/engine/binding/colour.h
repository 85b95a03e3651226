/*
 * Colours for arcs on a circle, or for intervals on a line: those that overlap get different ones. Units of a
 * pool are colours of the times in which ops hold them, folded by the interval; registers those of lifetimes.
 */
#ifndef SKED_ENGINE_BINDING_COLOUR_H
#define SKED_ENGINE_BINDING_COLOUR_H
#include "base/arena.h"

typedef struct sked_i_arc {
    double start, length; /* 0 or less: it overlaps nothing and gets colour 0 */
} sked_i_arc;

/* Do two arcs overlap? period 0: a line. Those that touch do not. */
bool sked_i_arcs_overlap(const sked_i_arc *a, const sked_i_arc *b, double period);

/*
 * Colours n arcs, none longer than the period. On a line with the fewest colours, as many as overlap at once.
 * On a circle with the fewest that are found: greedily from several cuts, then by a search of at most
 * `effort` steps for as many as overlap at once. O(n log n), on a circle O(cuts * n * colours). Where err is
 * MEMORY nothing counts.
 */
SKED_MUST_CHECK sked_status sked_i_colour(const sked_i_arc *arc, int32_t n, double period, int64_t effort,
                                          int32_t *colour, int32_t *colours, sked_error *err);
#endif
