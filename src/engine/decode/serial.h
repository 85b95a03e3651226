/*
 * The serial scheme on a timeline of events, for one word of amounts and no fixed starts, with AVX2:
 * thirty-two events are compared at once, and what follows works on the masks that come out, with hardly a
 * branch that depends on the data. Hand-written because the plain form (sgs.c) spends most of its time on
 * mispredicted branches; figures are in docs/performance.md. Machines without AVX2 use the plain form.
 */
#ifndef SKED_ENGINE_DECODE_SERIAL_H
#define SKED_ENGINE_DECODE_SERIAL_H
#include "base/arena.h"
#include "base/clock.h"
#include "form/cumulative.h"

/* All that placing an op needs; predecessors in rows of four, the last one repeated to fill up. */
typedef struct sked_i_serial_slot {
    int32_t row, row_end; /* into source and, unless the core is standard, lag */
    int32_t duration, tail, kind;
    uint64_t demand; /* 0 where it takes no room or no time */
} sked_i_serial_slot;

/* Work space for one core and one thread. */
typedef struct sked_i_serial {
    const sked_i_core *core;
    const sked_i_limit *limit;  /* polled during long decodes */
    sked_i_serial_slot *slot;   /* [n] */
    int32_t *source, *lag;      /* rows */
    int32_t *mark;              /* [n] what lags count from: finishes (standard) or starts */
    int32_t *hint;              /* [kinds] no room for the kind before this time */
    bool stepwise;              /* one entry per time unit, else one per event */
    bool wide;                  /* amounts need 64 bits, not 32 */
    int32_t *when, *when_block; /* times of events; whole vectors before and behind may be touched */
    void *room, *room_block;    /* amounts free from an event to the next; behind the last everything */
    int32_t count;              /* events */
} sked_i_serial;

/* Does this machine run it, and does it take this core? */
bool sked_i_serial_fit(const sked_i_core *core, bool stepwise);
SKED_MUST_CHECK sked_status sked_i_serial_create(sked_i_arena *arena, const sked_i_core *core, bool stepwise,
                                                 const sked_i_limit *limit, sked_i_serial **out,
                                                 sked_error *err);
/* As sked_i_sgs_serial; the same starts. O(n + edges) and what lies between the earliest time of an op and
 * its place, plus what lies behind the latter. */
int32_t sked_i_serial_run(sked_i_serial *v, const int32_t *list, int32_t cutoff, int32_t *start);

/* Do the two below work for this core on this machine? */
bool sked_i_serial_needs_fit(const sked_i_core *core);
/* Bit k: need[k] of 64 fits into what is free. */
uint64_t sked_i_serial_needs_met(const uint32_t *need, uint64_t free_now, uint64_t guard);
#endif
