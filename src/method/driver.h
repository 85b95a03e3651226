/* The driver's own side of a run. Only driver.c, share.c and method.c include this. */
#ifndef SKED_METHOD_DRIVER_H
#define SKED_METHOD_DRIVER_H
#include "method/exchange.h"
#include "method/incumbents.h"
#include "method/method.h"
#include "schedule/value_curve.h"

/* What a method keeps between its turns. */
typedef struct sked_i_kept_state {
    const char *method;
    void *state;
    void (*destroy)(void *state);
} sked_i_kept_state;

typedef struct sked_i_driver {
    sked_i_incumbents incumbents;
    double bound;        /* proven lower bound of the objective */
    double second_bound; /* objective ii: bound of the length at II = bound; else -INFINITY */
    double least_ii;     /* another objective at the least interval: proven bound of that; else 0 */
    double bounded_ii, interval_bound; /* then: bound of the objective at that interval; else 0 */
    int64_t evaluations;
    bool proved; /* a method has proved the incumbent optimal */
    char note[200];
    const char *current; /* name of the method that runs now */
    double judging;      /* seconds spent on validating and ranking offers */
    sked_i_kept_state *state;
    int64_t n_states, state_cap;
    sked_statistic *row; /* what ran, how often, how long, what it gained */
    int64_t n_rows, row_cap;
    sked_i_value_curve curve;  /* value over time */
    sked_i_exchange *exchange; /* with other ranks; NULL: this process is alone, or a share of one */
} sked_i_driver;

/* A run of a lowered problem; its limit and its driver are to be set. */
static inline sked_i_run sked_i_run_of(const sked_i_lowered *x, const sked_run_options *opt)
{
    return (sked_i_run){.lowered = x, .problem = &x->problem, .costs = &x->costs, .options = opt};
}
/* Readies run->driver; the run's other fields are set. Close it after a failure, too. */
SKED_MUST_CHECK sked_status sked_i_driver_open(sked_i_run *run, int32_t wanted, sked_error *err);
void sked_i_driver_close(sked_i_run *run);
/* Runs a method with these settings: parses them, names what it offers, counts it. */
SKED_MUST_CHECK sked_status sked_i_driver_run(sked_i_run *run, const sked_i_method *m,
                                              const char *const *settings, int n_settings, sked_error *err);
/* The interval is free and not the objective: the smallest one comes first, then the objective. */
bool sked_i_interval_first(const sked_problem *p);
/* Does the incumbent meet the bounds? */
bool sked_i_driver_meets_bound(const sked_i_run *run);
/* The curve gets a point where incumbent or bound are better than in its last one. */
void sked_i_driver_note(sked_i_run *run);
/* Takes over what another driver of the same problem has proved. share.c */
void sked_i_driver_take_bounds(sked_i_driver *d, const sked_i_driver *from);
/* Takes over what a share or the run it belongs to has kept, and judged, under the name of its method. */
SKED_MUST_CHECK sked_status sked_i_driver_take_over(sked_i_run *run, const sked_i_incumbent *e,
                                                    sked_error *err);
/* Offers a schedule under the name of the method that made it. share.c */
SKED_MUST_CHECK sked_status sked_i_driver_pass_on(sked_i_run *run, const sked_schedule *s, const char *maker,
                                                  sked_error *err);
/* Adds a row of statistics, or to the row of that method and technique ("": the method itself). */
void sked_i_driver_tally(sked_i_run *run, const sked_statistic *add);
/* UNSUPPORTED where the problem or the options need what the method does not take. method.c */
SKED_MUST_CHECK sked_status sked_i_method_check(const sked_i_method *m, const sked_problem *p,
                                                const sked_run_options *opt, sked_error *err);
/* ARGUMENT: no method is called so, with the nearest names. method.c */
sked_status sked_i_method_unknown(const char *name, sked_error *err);
#endif
