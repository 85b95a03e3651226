/*
 * From the problem as asked to the one that methods solve: a table of steps with names (lower.c), each of
 * which takes a rule of the world out of the problem, and then its costs, compiled once.
 * src/schedule/realise.c goes the other way. The validator judges the problem as asked and uses none of this.
 */
#ifndef SKED_PROBLEM_LOWER_H
#define SKED_PROBLEM_LOWER_H
#include "base/clock.h"
#include "problem/costs.h"

enum { SKED_I_MOST_STEPS = 10 };

/* Everything here stays where it is until it is freed: the problem points into it, and to what was asked. */
typedef struct sked_i_lowered {
    const sked_problem *asked;
    const sked_i_limit *limit; /* of the steps; NULL: none */
    sked_problem problem;      /* what methods solve */
    sked_i_costs costs;        /* of it */
    sked_graph *graph;         /* owned, of the problem; NULL: as asked */
    sked_machine machine; /* as asked, but for what a step took away; only a step that needs it points here */
    double *memory;       /* owned, of the machine; NULL: as asked */
    double *fix_start;    /* owned, of the problem; NULL: as asked */
    bool with_clock;      /* asked for: methods take the clock as it is */
    bool ends;            /* the last op is one more than asked: it reads what lives to the end */
    struct {
        const char *name;
        double seconds;
    } step[SKED_I_MOST_STEPS]; /* those taken */
    int n_steps;
} sked_i_lowered;

/*
 * asked: of this version, checked (sked_problem_check), and it must stay. Afterwards the lifetime is start,
 * finish, or result where that is not the same as start, sked_i_has_memory_limit says whether a limit can
 * bind, a machine is one whose devices or links differ, and there is no clock and no io: edges that only
 * order stand for the one, fixed starts and one op more at the end, which the schedules of methods have, for
 * the other. O(ops + edges + devices) and what sked_i_costs_make takes. Free in any case.
 */
SKED_MUST_CHECK sked_status sked_i_lower(const sked_problem *asked, sked_i_lowered *x, sked_error *err);
/* The same until a limit: STOPPED. x->with_clock: there is a clock, and no edges stand for it. */
SKED_MUST_CHECK sked_status sked_i_lower_within(const sked_problem *asked, const sked_i_limit *limit,
                                                sked_i_lowered *x, sked_error *err);
/*
 * The first step alone, without costs: durations are those of the machine's profile, for functions that
 * look at the problem as asked. SKED_TAKE_PROBLEM does it.
 */
SKED_MUST_CHECK sked_status sked_i_lower_profile(const sked_problem *asked, sked_i_lowered *x,
                                                 sked_error *err);
void sked_i_lowered_free(sked_i_lowered *x);

/* Is it the lowered problem that proves what cannot be? */
static inline bool sked_i_is_checked_lowered(const sked_problem *p)
{
    return p->clock > 0 || p->io != SKED_IO_FREE;
}
/* Parts of sked_problem_check, of a problem with the profile's durations: as asked, and what methods solve.
 */
SKED_MUST_CHECK sked_status sked_i_problem_check_asked(const sked_problem *p, sked_error *err);
SKED_MUST_CHECK sked_status sked_i_problem_check_lowered(const sked_problem *p, sked_error *err);

/* Could a schedule break a memory limit? false: the values of all ops together fit everywhere. O(ops) */
bool sked_i_lower_memory_may_bind(const sked_problem *p);

/*
 * A relaxation in the short form: every op takes its shortest time (on its fixed device where it has one),
 * transfers are free, memory has no limit. Its bounds hold for p, of which c are the costs. Every op can run
 * somewhere. Free in any case.
 */
typedef struct sked_i_relaxed {
    sked_problem problem;
    sked_graph *graph; /* owned; NULL: that of p */
} sked_i_relaxed;
SKED_MUST_CHECK sked_status sked_i_relax(const sked_problem *p, const sked_i_costs *c, sked_i_relaxed *x,
                                         sked_error *err);
void sked_i_relaxed_free(sked_i_relaxed *x);

/*
 * At the begin of a public function that returns a status and looks at a problem as it was asked: one of any
 * version becomes one of this version, with the number of devices of its machine, and the durations that the
 * machine's profile has. What that takes is freed when the function returns.
 */
#define SKED_TAKE_PROBLEM(p)                                                         \
    SKED_TAKE_ASKED(p)                                                               \
    __attribute__((cleanup(sked_i_lowered_free))) sked_i_lowered p##_lowered = {0};  \
    if ((p)->machine != NULL && (p)->machine->durations.n > 0) {                     \
        const sked_status p##_status = sked_i_lower_profile((p), &p##_lowered, err); \
        if (p##_status != SKED_OK)                                                   \
            return p##_status;                                                       \
        (p) = &p##_lowered.problem;                                                  \
    }
#endif
