/* Measured times of ops, from a profile or a trace, on their way into a graph. */
#ifndef SKED_FORMATS_OBSERVED_H
#define SKED_FORMATS_OBSERVED_H
#include "base/arena.h"
#include "formats/json.h"

typedef struct sked_i_observed_time {
    int32_t op, on; /* on: in measured.on; -1: wherever it runs */
    double time;
} sked_i_observed_time;

enum { sked_i_observed_shown = 3 };

typedef struct sked_i_observed {
    const sked_graph *graph;
    const char *type; /* all times are of devices of this name or type; NULL: as the profile says */
    sked_i_arena arena;
    sked_i_names on;
    sked_i_observed_time *time; /* by op, then device: each pair once */
    int64_t n, cap;
    sked_i_names strangers; /* the first few names in the profile that no op has */
} sked_i_observed;

/* A time of op on a device, or on all of them (NULL). false: out of memory. */
bool sked_i_observed_add(sked_i_observed *m, int32_t op, const char *on, double time);
/* A name that no op has. false: out of memory. */
bool sked_i_observed_stranger(sked_i_observed *m, const char *name, size_t size);
/* Sorts the times, and makes those of one op on one device their median. */
void sked_i_observed_settle(sked_i_observed *m);
#endif
