/* A schedule with an interval of 1 as a pipelined module: docs/formats/verilog.md. */
#ifndef SKED_SCHEDULE_VERILOG_H
#define SKED_SCHEDULE_VERILOG_H
#include "schedule/schedule.h"

/* Bits of registers, by what they are for. */
typedef struct sked_i_verilog_figures {
    int64_t latency; /* clock edges from an input to its outputs */
    double between;  /* ops: what objective memory counts */
    double inside;   /* ops that take cycles */
    double aligning; /* inputs and outputs to one latency */
} sked_i_verilog_figures;

/*
 * A valid schedule. figures may be NULL. bench: op 7 is called o7, the module dut, and a module `bench`
 * stands behind it, whose registers feed its inputs and take its outputs, so that every path is one between
 * registers; with free inputs and outputs nothing delays them. UNSUPPORTED: what no pipeline can be written
 * of, and why.
 */
SKED_MUST_CHECK sked_status sked_i_verilog_write(const sked_problem *p, const sked_schedule *s, bool bench,
                                                 sked_i_verilog_figures *figures, sked_i_buffer *out,
                                                 sked_error *err);
/*
 * A name and a suffix of ours, which alone has a '$': so nothing is called alike. What is no plain identifier
 * is escaped (\1$2 ); bytes that no identifier can have are written %20.
 */
void sked_i_verilog_name(sked_i_buffer *out, const char *name, const char *suffix);
#endif
