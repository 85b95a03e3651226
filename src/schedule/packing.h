/* What packings of buffers share outside the engine: names for messages, and the ranges of columns. */
#ifndef SKED_SCHEDULE_PACKING_H
#define SKED_SCHEDULE_PACKING_H
#include "base/text.h"

/* Name or index of a buffer for messages. */
sked_i_quoted sked_i_buffer_name(const sked_buffer_columns *b, int64_t i);
/* ARGUMENT with the first number out of range. O(count). */
SKED_MUST_CHECK sked_status sked_i_buffers_check(const sked_buffer_columns *b, sked_error *err);
/* sked_packing_validate without a look at the columns; an offset of -1 is a buffer that is not there. */
SKED_MUST_CHECK sked_status sked_i_packing_judge(const sked_buffer_columns *b, const int64_t *offset,
                                                 int64_t *height, sked_error *err);
#endif
