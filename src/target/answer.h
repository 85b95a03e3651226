/* What a measuring program printed: a number last, or one JSON object with time and trace. */
#ifndef SKED_TARGET_ANSWER_H
#define SKED_TARGET_ANSWER_H
#include "target/target.h"

/*
 *     {"time": 12.5, "ops": [{"name": "a", "start": 0, "finish": 2, "device": 0}]}
 *
 * An object is what stands from the first line that begins with '{' to the end. Where there is no such line,
 * or the last line after it has a number and no quote or bracket, the last number of the text is the time.
 * "ops" and "device" may be missing. Every op comes once, on its device of s. Times are below 1e100; `timed`:
 * the time as a whole is above 0. FORMAT or INVALID with `name`, line and rule. out untouched on failure.
 * O(size + ops).
 */
SKED_MUST_CHECK sked_status sked_i_answer_read(const char *name, const char *text, size_t size,
                                               const sked_problem *p, const sked_schedule *s, bool timed,
                                               sked_i_trace *out, sked_error *err);
#endif
