/*
 * How much work a call takes: instructions of this process where the system counts them, else processor time,
 * the least of several runs. Never the clock on the wall, so that busy machines do not matter.
 */
#ifndef SKED_TESTS_GROWTH_H
#define SKED_TESTS_GROWTH_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/perf_event.h>
#endif

/* A counter of instructions, or -1. */
static inline int work_counter(void)
{
    static int fd = -2;
#ifdef __linux__
    if (fd == -2) {
        struct perf_event_attr attr;
        memset(&attr, 0, sizeof attr);
        attr.type = PERF_TYPE_HARDWARE;
        attr.size = sizeof attr;
        attr.config = PERF_COUNT_HW_INSTRUCTIONS;
        attr.exclude_kernel = attr.exclude_hv = 1;
        fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
        uint64_t count = 0;
        if (fd >= 0 && (read(fd, &count, sizeof count) != (ssize_t)sizeof count || count == 0)) {
            close(fd);
            fd = -1;
        }
    }
#endif
    return fd < 0 ? -1 : fd;
}

static inline double work_now(void)
{
    uint64_t count = 0;
    struct timespec t;
    if (work_counter() >= 0 && read(work_counter(), &count, sizeof count) == (ssize_t)sizeof count)
        return (double)count;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double work_of(void (*call)(void *data), void *data)
{
    double least = INFINITY;
    for (int run = 0; run < (work_counter() >= 0 ? 1 : 3); run++) {
        const double begin = work_now();
        call(data);
        least = fmin(least, work_now() - begin);
    }
    return least;
}
#endif
