/* What the methods on loops share: offers, bounds, and the climb from the least interval. */
#ifndef SKED_METHOD_MODULO_MODULO_METHOD_H
#define SKED_METHOD_MODULO_MODULO_METHOD_H
#include "engine/modulo/modulo.h"
#include "method/method.h"

/* The problem in whole numbers, compiled once for all turns of the current method. UNSUPPORTED: real times.
 */
SKED_MUST_CHECK sked_status sked_i_modulo_loop_of_run(sked_i_run *run, const sked_i_loop **out,
                                                      sked_error *err);
/* Offers starts (and devices, NULL: all on 0) at ii to the run. */
SKED_MUST_CHECK sked_status sked_i_modulo_offer(const sked_i_loop *loop, sked_i_run *run, int64_t ii,
                                                const int64_t *start, const int32_t *device, sked_error *err);

/* Reports to the run that no schedule at the frame's II is shorter than bound, where its objective makes use
 * of it. */
void sked_i_modulo_note_frame(const sked_i_loop *loop, const sked_i_frame *f, sked_i_run *run, int64_t bound);

typedef struct sked_i_climb_settings {
    int priority;  /* SKED_I_BY_* of the first try */
    double budget; /* placements per op */
    int tries;     /* per interval */
    bool compact;
} sked_i_climb_settings;
/*
 * climb.c: offers the schedule of the least interval that takes all ops; at a given
 * interval, or without one, tries with growing budgets. Nothing is offered where nothing was found.
 */
SKED_MUST_CHECK sked_status sked_i_modulo_climb(sked_i_run *run, const sked_i_loop *loop, sked_i_frame *frame,
                                                sked_i_ims *ims, const sked_i_climb_settings *set,
                                                sked_error *err);
#endif
