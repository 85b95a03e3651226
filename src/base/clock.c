#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"

#include <math.h>
#include <time.h>

double sked_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sked_i_limit_init(sked_i_limit *limit, const sked_run_options *opt)
{
    limit->begin = sked_clock();
    limit->deadline = limit->begin + opt->time_limit;
    limit->stop = opt->stop;
    limit->halt = NULL;
    limit->paced = opt->iterations == 0;
}

/* The public type is what signal handlers may write; between threads it takes atomic access as well. */
static bool asked(const volatile sig_atomic_t *stop)
{
    return stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

bool sked_i_limit_stopped(const sked_i_limit *limit)
{
    return asked(limit->stop) || asked(limit->halt);
}

bool sked_i_limit_halted(const sked_i_limit *limit)
{
    return asked(limit->halt);
}

void sked_i_ask_stop(volatile sig_atomic_t *stop)
{
    __atomic_store_n(stop, 1, __ATOMIC_RELAXED);
}

bool sked_i_limit_reached(const sked_i_limit *limit)
{
    if (sked_i_limit_stopped(limit))
        return true;
    return limit->deadline < INFINITY && sked_clock() >= limit->deadline;
}

sked_status sked_i_limit_fail(sked_error *err)
{
    return sked_i_fail(err, SKED_ERR_STOPPED, "stopped before a first schedule; give it more time");
}

bool sked_i_pace_look(sked_i_pace *p)
{
    enum { steps_between_looks = 1 << 14 };
    p->next_look = p->steps + steps_between_looks;
    if (p->limit == NULL)
        return false;
    p->over = p->over || (p->owed ? sked_i_limit_halted(p->limit) : sked_i_limit_stopped(p->limit)) ||
              (p->steps > p->free_steps && sked_i_limit_reached(p->limit));
    return p->over;
}

double sked_i_limit_share(const sked_i_limit *limit)
{
    if (!(limit->deadline < INFINITY))
        return NAN;
    const double share = (sked_clock() - limit->begin) / (limit->deadline - limit->begin);
    return share > 1 ? 1 : share;
}

void sked_i_pause(double seconds)
{
    const struct timespec t = {.tv_sec = (time_t)seconds,
                               .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&t, NULL);
}
