/* Several schedules in one file, one object a line. */
#ifndef SKED_REPORT_JSONL_H
#define SKED_REPORT_JSONL_H
#include "base/text.h"

/* Adds a schedule, validated first; `more` (",\"key\":value" or "") goes before the closing brace. */
SKED_MUST_CHECK sked_status sked_i_lines_add(sked_i_buffer *all, const sked_problem *p,
                                             const sked_schedule *s, const char *more, sked_error *err);
/* Writes all lines where st is OK so far, and frees them. */
SKED_MUST_CHECK sked_status sked_i_lines_write(sked_i_buffer *all, sked_status st, const char *path,
                                               sked_error *err);
#endif
