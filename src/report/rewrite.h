/* A model of a format that orders its operators, written back in the order of a schedule: rewrite.c. */
#ifndef SKED_REPORT_REWRITE_H
#define SKED_REPORT_REWRITE_H
#include "formats/format.h"
#include "report/report.h"

typedef struct sked_i_rewrite {
    sked_i_source source; /* the file, read anew */
    sked_read_options options;
    char *text;
    int32_t *order; /* [ops of the graph] by start: a topological one of the operators of the file */
} sked_i_rewrite;

/*
 * UNSUPPORTED: the schedule is no order of the operators of such a file, or the graph was not read from it.
 * IO, FORMAT, MEMORY. Free m in any case; it stays where it is. O(size of the file + ops log ops).
 */
SKED_MUST_CHECK sked_status sked_i_rewrite_begin(const sked_report_data *data, const char *format,
                                                 sked_i_rewrite *m, sked_error *err);
void sked_i_rewrite_free(sked_i_rewrite *m);
#endif
