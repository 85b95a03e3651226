/* Time limits. The clock only ever ends work; it never seeds anything. */
#ifndef SKED_BASE_CLOCK_H
#define SKED_BASE_CLOCK_H
#include "base/status.h"

/* Says when a run must end: time limit, iteration limit, signal. Threads may share it. */
typedef struct sked_i_limit {
    double begin, deadline; /* seconds of sked_clock */
    const volatile sig_atomic_t *stop;
    const volatile sig_atomic_t *halt; /* another part of the run ends this one; NULL: none does */
    /* The time left may shape the work (cooling, shares). false with an iteration limit: then results must
     * repeat. */
    bool paced;
} sked_i_limit;
void sked_i_limit_init(sked_i_limit *limit, const sked_run_options *opt);
/* True when the time is up or a stop was asked for. About 25 ns: call it once per evaluation or rarer. */
bool sked_i_limit_reached(const sked_i_limit *limit);
/* The same, and false where there is no limit. */
static inline bool sked_i_limit_heard(const sked_i_limit *limit)
{
    return limit != NULL && sked_i_limit_reached(limit);
}
/* STOPPED: the limit came before there was anything to keep. */
sked_status sked_i_limit_fail(sked_error *err);
/* A stop was asked for, by a signal handler or by another thread. */
bool sked_i_limit_stopped(const sked_i_limit *limit);
/* Another part of the run has ended this one: whatever it makes is not wanted. */
bool sked_i_limit_halted(const sked_i_limit *limit);
/* Asks for a stop from another thread. */
void sked_i_ask_stop(volatile sig_atomic_t *stop);
/*
 * A limit checked while one result is made. A stop ends it at once; the time only when more than `free_steps`
 * are done: a result that takes moderate work is finished, since it is better than none. Where it is owed,
 * for there is none yet, a stop is as if the time were up.
 */
typedef struct sked_i_pace {
    const sked_i_limit *limit; /* NULL: none */
    int64_t free_steps, steps, next_look;
    bool owed, over;
} sked_i_pace;
bool sked_i_pace_look(sked_i_pace *p);
/* Counts steps of a few nanoseconds each. true: give up. */
static inline bool sked_i_pace_over(sked_i_pace *p, int64_t steps)
{
    p->steps += steps;
    return p->steps >= p->next_look && sked_i_pace_look(p);
}
/* Share of the time limit used, NAN without one. */
double sked_i_limit_share(const sked_i_limit *limit);
/* Lets others run for a while. */
void sked_i_pause(double seconds);
#endif
