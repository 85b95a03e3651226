/* Measurements as lines of JSON, written as they come and read again to go on (docs/formats/measurements.md).
 */
#ifndef SKED_ROBUST_RECORD_H
#define SKED_ROBUST_RECORD_H
#include "base/text.h"
#include "robust/robust.h"

/* What the first line says: measurements of one problem on one target belong together. */
typedef struct sked_i_record_head {
    const sked_problem *problem;
    const char *target; /* spec */
    uint64_t seed;
} sked_i_record_head;

/* One measurement. */
typedef struct sked_i_record_line {
    sked_schedule *schedule; /* devices, and starts that stand for the order */
    int32_t method;          /* number in `methods` */
    bool failed;
    sked_measurement said; /* time, deviation, runs, trace; nothing where it failed */
} sked_i_record_line;

void sked_i_record_write_head(const sked_i_record_head *h, sked_i_buffer *out);
/* order: [ops] as the schedule runs them. failure: why there is no time, or NULL. */
void sked_i_record_write_line(const sked_schedule *s, const int32_t *order, const char *method,
                              const sked_measurement *said, const char *failure, sked_i_buffer *out);

/* Takes a line; what it does not take out of it is freed. A failure ends the reading. */
typedef sked_status (*sked_i_record_take)(void *data, sked_i_record_line *line, sked_error *err);
/*
 * Reads measurements of h's problem. methods: names that lines may have. *good: bytes up to the last line
 * that is whole; a line behind it that was cut off is no error. *seed: as the file says. FORMAT: malformed.
 * ARGUMENT: of another problem or target.
 */
SKED_MUST_CHECK sked_status sked_i_record_parse(const char *name, const char *text, size_t size,
                                                const sked_i_record_head *h, const char *const *methods,
                                                int n_methods, sked_i_record_take take, void *data,
                                                int64_t *good, uint64_t *seed, sked_error *err);
#endif
