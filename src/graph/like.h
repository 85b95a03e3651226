/* Named sets of parameters: graphs like those of a publication (`sked generate --like`). */
#ifndef SKED_GRAPH_LIKE_H
#define SKED_GRAPH_LIKE_H
#include "base/status.h"

/* A parameter; scaled: its value is for 50 ops and falls with their number, so that degrees stay. */
typedef struct sked_i_like_value {
    const char *option; /* NULL: none */
    double value;
    bool scaled;
} sked_i_like_value;

typedef struct sked_i_like {
    const char *name, *family;
    sked_i_like_value value[2];
    double parallelism; /* graphs with less work per critical path are drawn again */
} sked_i_like;
/* The set's line for the family. ARGUMENT where there is no such set, or none for this family. */
SKED_MUST_CHECK sked_status sked_i_like_find(const char *name, const char *family, const sked_i_like **out,
                                             sked_error *err);
/* Sets the values that were not given, for a graph of so many ops, and marks them as given. */
void sked_i_like_apply(const sked_i_like *l, const sked_option *options, int n_options, int32_t nodes,
                       double *value, bool *given);
#endif
