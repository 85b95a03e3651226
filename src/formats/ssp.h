/* Static scheduling problems of CIRCT (MLIR dialect SSP) with start times: docs/formats/ssp.md. */
#ifndef SKED_FORMATS_SSP_H
#define SKED_FORMATS_SSP_H
#include "formats/format.h"

/* What a solved instance says beside its graph. */
typedef struct sked_i_ssp_times {
    const double *start, *phase; /* [ops]; NULL: an instance without times, without phases */
    double ii;                   /* 0: none */
} sked_i_ssp_times;

/*
 * Writes g as one instance, of the class that its loops and pools ask for. UNSUPPORTED where SSP cannot say
 * what g has: times that are no whole numbers, lags that differ between the edges of an op, ops that hold
 * a unit for more than a cycle or take more than one.
 */
SKED_MUST_CHECK sked_status sked_i_ssp_write(const sked_graph *g, const sked_i_ssp_times *times,
                                             sked_i_buffer *out, sked_error *err);
#endif
