/*
 * Log lines for those who debug sked. They are compiled in where SKED_WITH_LOG is defined (debug builds) and
 * cost nothing elsewhere. Level 1: runs, members, new incumbents and bounds. 2: rounds, restarts, techniques.
 * 3: single steps.
 */
#ifndef SKED_BASE_LOGGING_H
#define SKED_BASE_LOGGING_H
#include "sked/sked.h"

#ifdef SKED_WITH_LOG
/* Is anyone listening at this level? */
bool sked_i_logging(int level);
/* One line, without its end, to the listener, if there is one. Threads may call it at the same time. */
void sked_i_logging_line(int level, const char *room, const char *format, ...) SKED_PRINTF(3, 4);
#define SKED_LOG(level, room, ...)                             \
    do {                                                       \
        if (sked_i_logging(level))                             \
            sked_i_logging_line((level), (room), __VA_ARGS__); \
    } while (0)
#else
#define SKED_LOG(level, room, ...) ((void)0)
#endif
#endif
