/* A program that measures, for the targets that are one: the user's own, and those of the Python package. */
#ifndef SKED_TARGET_COMMAND_H
#define SKED_TARGET_COMMAND_H
#include "target/target.h"

/* The options of such a target, in this order and before all others. */
enum { SKED_I_COMMAND_TIMEOUT, SKED_I_COMMAND_RETRIES };
#define SKED_I_COMMAND_OPTIONS(seconds)                                                 \
    {"timeout", SKED_OPTION_REAL, seconds, 0.001, 1e6, NULL, "seconds a run may take"}, \
    {                                                                                   \
        "retries", SKED_OPTION_INT, "1", 0, 1000, NULL,                                 \
            "further runs after one that failed or took too long"                       \
    }

/*
 * Writes the schedule to a file, runs `program FILE` through the shell and reads its answer (answer.h).
 * DEVICE where every run failed, STOPPED on t's stop. out untouched on failure.
 */
SKED_MUST_CHECK sked_status sked_i_command_run(const sked_target *t, const char *program,
                                               const double *setting, const sked_schedule *s,
                                               sked_i_trace *out, sked_error *err);
#endif
