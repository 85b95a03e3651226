/*
 * The Gaussian relaxation with devices, transfer cost and real times (docs/methods/gaus.md, "Devices"):
 * beside its start, every op has shares of the devices. The objective is the makespan.
 *
 *   device_model.c    the problem at one horizon, in cells of the relaxation's own width
 *   device_descent.c  Adam on means, sigmas and logits of the shares
 *   device_decode.c   means and shares to schedules
 *   device_polish.c   single-op moves between devices and places
 */
#ifndef SKED_ENGINE_GAUS_DEVICE_H
#define SKED_ENGINE_GAUS_DEVICE_H
#include "engine/gaus/incumbent.h"
#include "engine/gaus/tuning.h"
#include "engine/sequence/sequence.h"

/* ------------------------------------------------------------------ model */

/* What does not depend on the horizon, shared by all threads. */
typedef struct sked_i_gaus_device_model {
    const sked_problem *p;
    sked_i_sequencing *form;
    int32_t n, m;
    double *head;     /* [n] earliest starts, devices aside */
    double mean;      /* of the durations */
    int64_t *use_ptr; /* [n + 1] shares of the pools' capacities */
    int32_t *use_pool;
    double *use_amount;
    double *bytes, *follows; /* [edges] unequal devices: see sked_i_gaus_device_kinds */
    int32_t *links;
} sked_i_gaus_device_model;
SKED_MUST_CHECK sked_status sked_i_gaus_device_model_create(const sked_problem *p, const sked_i_costs *c,
                                                            sked_i_gaus_device_model **out, sked_error *err);
void sked_i_gaus_device_model_destroy(sked_i_gaus_device_model *b);
/* Has the user fixed the device of op i? */
static inline bool sked_i_gaus_device_pinned(const sked_i_gaus_device_model *b, int32_t i)
{
    return b->p->fix_device != NULL && b->p->fix_device[i] >= 0;
}
/* Can op i run on device d? */
static inline bool sked_i_gaus_device_able(const sked_i_gaus_device_model *b, int32_t i, int32_t d)
{
    return b->form->unequal == NULL || sked_i_unequal_time(b->form->unequal, i, d) < INFINITY;
}
/* Is the relaxation within its memory (ops * devices, devices * cells) and time (edges * kinds^2)? */
bool sked_i_gaus_device_model_fits(const sked_i_gaus_device_model *b);

/* The problem in cells for one horizon; one per thread. */
typedef struct sked_i_gaus_device_grid {
    const sked_i_gaus_device_model *model;
    double horizon, width; /* width: time of a cell */
    double *lo, *hi;       /* [n] windows of starts, in cells; lo <= hi */
    double *duration, *lag, *transfer;
    double *time, *latency, *per_byte; /* unequal devices: [n * kinds], [2 * kinds^2], [kinds^2] */
    sked_i_gaus_device_kinds kinds;
    sked_i_gaus_device_view view;
} sked_i_gaus_device_grid;
SKED_MUST_CHECK sked_status sked_i_gaus_device_grid_create(const sked_i_gaus_device_model *b,
                                                           sked_i_gaus_device_grid **out, sked_error *err);
void sked_i_gaus_device_grid_destroy(sked_i_gaus_device_grid *g);
/* Cuts the time up to `horizon` into cells. O(ops + edges). */
void sked_i_gaus_device_grid_set(sked_i_gaus_device_grid *g, double horizon);

/* ------------------------------------------------------------------ schedules from means and shares */

/* One per thread. */
typedef struct sked_i_gaus_device_decoder {
    const sked_i_gaus_device_model *model;
    sked_i_placer *placer;
    sked_i_sequence *seq; /* NULL without devices */
    double *key;          /* [n] scratch: order of placing */
    double *bottom;       /* [n] bottom levels with mean transfers */
    int32_t *rank, *fix;  /* [n] scratch */
    int32_t *chain;       /* [n] scratch: a critical path */
    sked_i_gaus_incumbent made;
    int64_t decodes;           /* schedules placed so far */
    const sked_i_limit *limit; /* heard where ops and devices are many; NULL: none */
} sked_i_gaus_device_decoder;
SKED_MUST_CHECK sked_status sked_i_gaus_device_decoder_create(const sked_i_gaus_device_model *b,
                                                              sked_i_gaus_device_decoder **out,
                                                              sked_error *err);
void sked_i_gaus_device_decoder_destroy(sked_i_gaus_device_decoder *d);
/*
 * Quick schedules into best where shorter: earliest finish in the order of bottom levels, transfers counted
 * in three ways, and all ops on one device (of each kind that can run them).
 */
SKED_MUST_CHECK sked_status sked_i_gaus_device_decode_ranks(sked_i_gaus_device_decoder *d,
                                                            sked_i_gaus_incumbent *best, sked_error *err);
/*
 * Schedules of this point into best where shorter: order by mean, devices by largest share; devices free
 * where undecided; all free; order by bottom level; then `samples` drawn from the distributions.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_device_decode(sked_i_gaus_device_decoder *d,
                                                      const sked_i_gaus_device_point *x, int32_t samples,
                                                      sked_i_rng *rng, sked_i_gaus_incumbent *best,
                                                      sked_error *err);
/*
 * Anneals from best with moves of single ops between devices and places, cooling over `moves` tries, until
 * the limit, or until best meets the goal. Nothing happens without devices.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_device_polish(sked_i_gaus_device_decoder *d, int64_t moves,
                                                      double heat, sked_i_rng *rng, const sked_i_limit *limit,
                                                      double goal, sked_i_gaus_incumbent *best,
                                                      sked_error *err);

/* ------------------------------------------------------------------ descent */

enum { SKED_I_GAUS_DEVICE_NEAR, SKED_I_GAUS_DEVICE_OPEN, SKED_I_GAUS_DEVICE_MIDDLE };

/*
 * One descent on the grid from a schedule, with shares near its devices (NEAR), open (OPEN), or open and
 * means in the middle of their windows (MIDDLE). Decodes on the way; improvements go to best.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_device_descend(const sked_i_gaus_device_grid *grid,
                                                       sked_i_gaus_device_decoder *dec,
                                                       const sked_i_gaus_tuning *tuning, int kind,
                                                       const sked_i_gaus_incumbent *from, sked_i_rng *rng,
                                                       const sked_i_limit *limit, sked_i_gaus_incumbent *best,
                                                       sked_error *err);
#endif
