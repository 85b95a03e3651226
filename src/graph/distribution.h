/* Named distributions: "uniform:1,10". All give finite numbers, 0 or more. */
#ifndef SKED_GRAPH_DISTRIBUTION_H
#define SKED_GRAPH_DISTRIBUTION_H
#include "base/rng.h"
#include "base/status.h"

enum { SKED_I_DISTRIBUTION_ARGS = 32 };

typedef struct sked_i_distribution {
    int kind; /* index into the table */
    int count;
    double arg[SKED_I_DISTRIBUTION_ARGS];
} sked_i_distribution;

/* `what` names the quantity in messages ("duration"). ARGUMENT with the rule where text breaks it. */
SKED_MUST_CHECK sked_status sked_i_distribution_parse(const char *what, const char *text,
                                                      sked_i_distribution *out, sked_error *err);
double sked_i_distribution_draw(const sked_i_distribution *d, sked_i_rng *r);
#endif
