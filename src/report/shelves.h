/* The values of a schedule at their addresses: time across, address up, an arena for each device. */
#ifndef SKED_REPORT_SHELVES_H
#define SKED_REPORT_SHELVES_H
#include "report/svg.h"

/* A value, or a copy of it, as long as it is held. */
typedef struct sked_i_shelved {
    double begin, end;
    int64_t address, size;
    int32_t op;
} sked_i_shelved;

typedef struct sked_i_shelves {
    sked_i_shelved *at;
    int64_t *first; /* [devices + 1, or 2] where those of a device begin */
    int32_t devices;
    bool numbered; /* there are devices; else one memory */
} sked_i_shelves;

/* Of a schedule without addresses: none, and no devices. O(ops + edges + devices). Free in any case. */
SKED_MUST_CHECK sked_status sked_i_shelves_make(const sked_i_view *v, sked_i_shelves *out, sked_error *err);
void sked_i_shelves_free(sked_i_shelves *b);
/* "arena", or "arena device 3". Returns buf. */
const char *sked_i_shelves_name(const sked_i_view *v, const sked_i_shelves *b, int32_t device, char *buf,
                                size_t size);
/* Pictures below the Gantt, whose left side, width and end of time they share. Returns where they end. */
SKED_MUST_CHECK sked_status sked_i_shelves_draw(const sked_i_panel *gantt, double top, double *bottom,
                                                sked_error *err);
#endif
