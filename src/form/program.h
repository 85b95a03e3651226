/*
 * A problem as a mathematical model: first described in its own terms (windows, arcs, pools), then lowered to
 * linear rows. The exact method hands the rows to CBC; the writers print rows (LP, MPS) or the description
 * (MiniZinc).
 *
 * Times are whole numbers. Without an initiation interval a 0/1 column says "op i starts at t"; with one it
 * says "op i starts in slot t of the interval", and a whole column counts its full intervals (Eichenberger
 * and Davidson 1997). Where load alone does not distinguish devices (transfers, fixed ops, pipelining),
 * these columns exist per device.
 */
#ifndef SKED_FORM_PROGRAM_H
#define SKED_FORM_PROGRAM_H
#include "base/arena.h"
#include "schedule/schedule.h"

/* start(to) >= start(from) + gap, plus transfer where the devices differ. */
typedef struct sked_i_program_arc {
    int32_t from, to;
    int32_t gap, transfer, distance;
    bool counted; /* its span is communication */
    bool passes;  /* `to` reads the value of `from` */
} sked_i_program_arc;

/* Ops that hold amounts of something while they run. */
typedef struct sked_i_program_pool {
    bool limited;  /* the sum of amount may not exceed capacity */
    bool measured; /* the peak of load counts in the objective */
    double capacity;
    int32_t count;
    int32_t *op;
    double *amount, *load; /* [count] */
} sked_i_program_pool;

typedef struct sked_i_program {
    sked_i_arena arena; /* has all arrays, those of the pools too */
    const sked_problem *p;
    int32_t n, n_pools, latest; /* latest: nothing finishes later (not pipelined: windows end there) */
    int32_t interval;           /* 0: not pipelined */
    int32_t places;             /* devices with columns of their own; 1: none */
    int32_t *early, *late;      /* [n] windows of starts */
    int64_t n_arcs;
    sked_i_program_arc *arc;
    sked_i_program_pool *pool;
    sked_objective objective; /* what is minimised; makespan also for `ii` at a given interval */
} sked_i_program;

/*
 * latest: an upper limit of the makespan the caller knows (INFINITY: the length of one op after another);
 * the problem's horizon counts too. UNSUPPORTED: times that are not whole, an II that is not given.
 * INFEASIBLE: a window is empty.
 */
SKED_MUST_CHECK sked_status sked_i_program_create(const sked_problem *p, double latest, sked_i_program **out,
                                                  sked_error *err);
void sked_i_program_destroy(sked_i_program *m);
/* One op after the other, each with its longest lag and transfer: no optimum is later. */
double sked_i_program_serial_length(const sked_problem *p);

/* Rows low <= sum value * column <= high, stored row by row. */
typedef struct sked_i_mip {
    sked_i_arena arena;
    int64_t n_cols, n_rows, n_entries;
    double *col_low, *col_high, *col_cost;
    uint8_t *integer;
    struct sked_i_mip_name {
        char kind;       /* x: op a starts at b on place c; k: intervals of op a; v: value of op a alive at b;
                            C: makespan; P: peak of pool a; M: peak memory */
        int32_t a, b, c; /* c: -1: none */
    } * name;
    int64_t cap[5];
    double *row_low, *row_high;
    int64_t *row_begin; /* [n_rows + 1] */
    int32_t *entry_col;
    double *entry_value;
    int64_t row_cap[3], entry_cap[2];
    double offset;      /* constant part of the objective */
    int64_t *first_col; /* [n + 1] first x column of each op: times (slots) fastest, then places */
    int32_t *stage_col; /* [n] or NULL */
} sked_i_mip;

/* UNSUPPORTED above max_columns columns, or 40 times as many entries. */
SKED_MUST_CHECK sked_status sked_i_mip_create(const sked_i_program *m, int64_t max_columns, sked_i_mip **out,
                                              sked_error *err);
void sked_i_mip_destroy(sked_i_mip *mip);
/* The rows column by column. UNSUPPORTED above 2^31 entries. */
typedef struct sked_i_mip_columns {
    sked_i_arena arena;
    int32_t *begin; /* [n_cols + 1] */
    int32_t *row;
    double *value;
} sked_i_mip_columns;
SKED_MUST_CHECK sked_status sked_i_mip_transpose(const sked_i_mip *mip, sked_i_mip_columns *out,
                                                 sked_error *err);
void sked_i_mip_columns_free(sked_i_mip_columns *c);
/* Name of a column: x_3_17, x_3_17_0, k_3, v_3_17, makespan, peak_0, memory. */
const char *sked_i_mip_column_name(const sked_i_mip *mip, int64_t col, char buf[48]);
/* Starts and places from column values. s has the problem's shape; devices without places stay untouched. */
void sked_i_mip_decode(const sked_i_program *m, const sked_i_mip *mip, const double *value, sked_schedule *s);
#endif
