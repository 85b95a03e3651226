/*
 * Devices, transfer cost and real times (docs/methods/gaus.md, "Devices"): beside its start, every op has
 * shares of the devices.
 *
 *   device_model.c    the problem at one horizon, in cells of the relaxation's own width
 *   device_descent.c  Adam on means, widths and logits of the shares
 *   device_decode.c   means and shares to schedules; moves of single ops
 *  device.c         starts, rounds, threads
 */
#ifndef SKED_METHOD_GAUS_DEVICE_H
#define SKED_METHOD_GAUS_DEVICE_H
#include "engine/sequence/sequence.h"
#include "method/gaus/tuning.h"

/* A schedule with its length; value INFINITY: none. */
typedef struct sked_i_gaus_plan {
    double *start;   /* [n] */
    int32_t *device; /* [max(1, n)], unused without devices */
    double value;
} sked_i_gaus_plan;
SKED_MUST_CHECK sked_status sked_i_gaus_plan_create(int32_t n, sked_i_gaus_plan *out, sked_error *err);
void sked_i_gaus_plan_free(sked_i_gaus_plan *x);
void sked_i_gaus_plan_copy(sked_i_gaus_plan *to, const sked_i_gaus_plan *from, int32_t n);

/* ------------------------------------------------------------------ model */

/* What does not depend on the horizon, shared by all threads. */
typedef struct sked_i_gaus_base {
    const sked_problem *p;
    sked_i_sequencing *form;
    int32_t n, m;
    double *head;     /* [n] earliest starts, devices aside */
    double mean;      /* duration */
    int64_t *use_ptr; /* [n + 1] shares of the pools' capacities */
    int32_t *use_pool;
    double *use_amount;
} sked_i_gaus_base;
SKED_MUST_CHECK sked_status sked_i_gaus_base_create(const sked_problem *p, sked_i_gaus_base **out,
                                                    sked_error *err);
void sked_i_gaus_base_destroy(sked_i_gaus_base *b);
/* Is the relaxation within its memory (ops * devices, devices * cells)? */
bool sked_i_gaus_base_fits(const sked_i_gaus_base *b);

/* The problem in cells for one horizon; one per thread. */
typedef struct sked_i_gaus_grid {
    const sked_i_gaus_base *base;
    double horizon, width; /* width: time of a cell */
    double *lo, *hi;       /* [n] windows of starts, in cells */
    double *duration, *lag, *transfer;
    sked_i_gaus_device_view view;
} sked_i_gaus_grid;
SKED_MUST_CHECK sked_status sked_i_gaus_grid_create(const sked_i_gaus_base *b, sked_i_gaus_grid **out,
                                                    sked_error *err);
void sked_i_gaus_grid_destroy(sked_i_gaus_grid *g);
/* Cuts the time up to `horizon` into cells. O(ops + edges). */
void sked_i_gaus_grid_set(sked_i_gaus_grid *g, double horizon);

/* ------------------------------------------------------------------ schedules from means and shares */

typedef struct sked_i_gaus_decoder {
    const sked_i_gaus_base *base;
    sked_i_placer *placer;
    sked_i_sequence *seq; /* NULL without devices */
    double *key, *up;     /* [n]; up: longest way to the end with its mean transfers */
    int32_t *rank, *fix;  /* [n] */
    int32_t *chain;       /* [n] */
    sked_i_gaus_plan made;
    int64_t decodes;
} sked_i_gaus_decoder;
SKED_MUST_CHECK sked_status sked_i_gaus_decoder_create(const sked_i_gaus_base *b, sked_i_gaus_decoder **out,
                                                       sked_error *err);
void sked_i_gaus_decoder_destroy(sked_i_gaus_decoder *d);
/* Earliest finish in the order of the longest way to the end, transfers counted in three ways; one device. */
SKED_MUST_CHECK sked_status sked_i_gaus_decode_ranks(sked_i_gaus_decoder *d, sked_i_gaus_plan *best,
                                                     sked_error *err);
/*
 * Schedules of this point into best where shorter: order by mean, devices by largest share; devices free
 * where undecided; all free; order by the way to the end; then `samples` drawn from the distributions.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_decode(sked_i_gaus_decoder *d, const sked_i_gaus_device_point *x,
                                               int32_t samples, sked_i_rng *rng, sked_i_gaus_plan *best,
                                               sked_error *err);
/* Moves of single ops between devices and places from `best`, cooling over `moves` tries. */
SKED_MUST_CHECK sked_status sked_i_gaus_move_ops(sked_i_gaus_decoder *d, int64_t moves, double heat,
                                                 sked_i_rng *rng, const sked_i_limit *limit, double goal,
                                                 sked_i_gaus_plan *best, sked_error *err);

/* ------------------------------------------------------------------ descent */

enum { SKED_I_GAUS_LINES_NEAR, SKED_I_GAUS_LINES_OPEN, SKED_I_GAUS_LINES_MIDDLE };

/*
 * One descent on the grid from a schedule, with shares near its devices (NEAR), open (OPEN), or open and
 * means in the middle of their windows (MIDDLE). Decodes on the way; improvements go to best.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_device_descend(const sked_i_gaus_grid *grid, sked_i_gaus_decoder *dec,
                                                       const sked_i_gaus_tuning *tuning, int kind,
                                                       const sked_i_gaus_plan *from, sked_i_rng *rng,
                                                       const sked_i_limit *limit, sked_i_gaus_plan *best,
                                                       sked_error *err);
#endif
