/*
 * The cost model with its parameters and what is believed of them before anything is measured
 * (docs/robust.md). Every parameter is a logarithm; the prior is an independent normal of each. The
 * parameters stand in one vector: for every kind of link latency and time per byte, the start-up
 * cost of an op, what warm and remote inputs do to it, factors by op type, by kind of devices and by op, and
 * the size of each op's result where the graph says nothing of sizes.
 */
#ifndef SKED_ROBUST_MODEL_H
#define SKED_ROBUST_MODEL_H
#include "base/explog.h"
#include "problem/costs.h"
#include "robust/timing.h"

#include <math.h>

/* Logarithm of a rate that is 0 as far as is known. */
static const double sked_i_nothing = -300;
/*
 * Logarithm of a time, a rate or a ratio of two, whatever it is: numbers of hostile targets and files stay
 * where all that is computed from them is finite.
 */
static inline double sked_i_model_log(double x)
{
    return sked_i_log(x > 1e-300 ? fmin(x, 1e300) : 1e-300);
}
/* Links beyond this many kinds of links share the last one. */
enum { SKED_I_MOST_LINKS = 12 };

/* Normal of a logarithm; spread 0: the value is known. */
typedef struct sked_i_log_normal {
    double mean, spread;
} sked_i_log_normal;

typedef struct sked_i_model {
    sked_i_arena arena;
    const sked_problem *problem;
    sked_i_costs costs;
    int32_t ops, links, types, kinds;
    bool sized; /* sizes are parameters */
    int64_t at_start_up, at_warm, at_read, at_type, at_kind, at_op, at_size,
        count;             /* places in the vector; latencies at 0, then times per byte */
    int32_t *type_of;      /* [ops] */
    int32_t *kind_of;      /* [devices] */
    int32_t *link_of;      /* [kinds of the machine, squared] -1: no link; NULL: one kind of link */
    double *unit_size;     /* [ops] where sized */
    int32_t *on_kind;      /* [names of durations by device] kind that the name stands for, -1: none */
    double *mean, *spread; /* [count] of ops: the spread in units of op_spread */
    sked_i_log_normal op_spread, noise;
    double time_scale, byte_scale; /* mean duration, mean bytes of an edge */
} sked_i_model;

/* Wide defaults relative to the graph; what the problem says is the centre of a narrower prior. p must stay.
 */
SKED_MUST_CHECK sked_status sked_i_model_open(sked_i_model *m, const sked_problem *p, sked_error *err);
void sked_i_model_close(sked_i_model *m);
/* Class of the link between two devices; -1: data stays or cannot pass. */
int32_t sked_i_model_link(const sked_i_model *m, int32_t from, int32_t to);
/* The device of this name, or the first of this type that is not `other` (-1: any); -1: none. */
int32_t sked_i_model_device(const sked_machine *m, const char *name, int32_t other);
/*
 * "latency", "bandwidth cpu-gpu", "start-up", "type Conv", "device gpu": one for each parameter up to the
 * ops, in the order of the vector. What would be too long for a result, or another's name, is cut and has its
 * number: "type Co...#17". The caller frees them in any case.
 */
enum { SKED_I_MODEL_NAME = sizeof((sked_robust_parameter *)0)->name };
SKED_MUST_CHECK sked_status sked_i_model_names(const sked_i_model *m, sked_i_names *names, sked_error *err);
/* The first parameter of that whole name, however long; -1: none. O(parameters). */
int64_t sked_i_model_find(const sked_i_model *m, const char *name);

/* Arrays of the model's sizes, from the arena. */
SKED_MUST_CHECK sked_status sked_i_rates_open(sked_i_rates *r, sked_i_arena *a, const sked_i_model *m,
                                              sked_error *err);
/* The rates of a parameter vector. O(ops). */
void sked_i_model_rates(const sked_i_model *m, const double *parameter, sked_i_rates *r);
/* The rates as a problem can state them: remote inputs are transfers that take longer, warm ones save
 * nothing.
 */
void sked_i_model_state(const sked_i_model *m, sked_i_rates *r);

/* s: a valid schedule of the problem. The arrays belong to the arena. O(ops log ops + edges). */
SKED_MUST_CHECK sked_status sked_i_timing_open(sked_i_timing *r, sked_i_arena *a, const sked_i_model *m,
                                               const sked_schedule *s, sked_error *err);

/* Puts one op on a device: its time there, and the links of its edges. device: [ops] with the new one.
 * O(degree). */
void sked_i_timing_place(sked_i_timing *r, const sked_i_model *m, const int32_t *device, int32_t op);

/* The problem as a guess has it. */
typedef struct sked_i_guess {
    sked_i_arena arena;
    sked_problem problem;
    sked_graph *graph;    /* owned */
    sked_machine machine; /* shares all but these arrays with the problem's own */
    double *speed, *latency, *bandwidth;
} sked_i_guess;
SKED_MUST_CHECK sked_status sked_i_guess_open(sked_i_guess *g, const sked_i_model *m, const sked_i_rates *r,
                                              sked_error *err);
void sked_i_guess_close(sked_i_guess *g);
#endif
