/* The values of a schedule at their addresses: time across, address up, an arena for each device. */
#ifndef SKED_REPORT_ARENA_H
#define SKED_REPORT_ARENA_H
#include "report/svg.h"

/* A value, or a copy of it, as long as it is held. */
typedef struct sked_i_block {
    double begin, end;
    int64_t address, size;
    int32_t op;
} sked_i_block;

typedef struct sked_i_blocks {
    sked_i_block *at;
    int64_t *first; /* [devices + 1, or 2] where those of a device begin */
    int32_t devices;
    bool numbered; /* there are devices; else one memory */
} sked_i_blocks;

/* Of a schedule without addresses: none, and no devices. O(ops + edges + devices). Free in any case. */
SKED_MUST_CHECK sked_status sked_i_blocks_make(const sked_i_view *v, sked_i_blocks *out, sked_error *err);
void sked_i_blocks_free(sked_i_blocks *b);
/* "arena", or "arena device 3". Returns buf. */
const char *sked_i_blocks_name(const sked_i_view *v, const sked_i_blocks *b, int32_t device, char *buf,
                               size_t size);
/* Pictures below the Gantt, whose left side, width and end of time they share. Returns where they end. */
SKED_MUST_CHECK sked_status sked_i_arenas_draw(const sked_i_panel *gantt, double top, double *bottom,
                                               sked_error *err);
#endif
