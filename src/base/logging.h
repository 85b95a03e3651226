/*
 * Log lines. Level 1: runs, members, new incumbents and bounds; a line that nobody listens to costs a look at
 * a number. Those of 2 (rounds, restarts, techniques) and 3 (single steps) are for those who debug sked: they
 * are compiled in where SKED_WITH_LOG is defined (debug builds) and cost nothing elsewhere.
 */
#ifndef SKED_BASE_LOGGING_H
#define SKED_BASE_LOGGING_H
#include "sked/sked.h"

#ifdef SKED_WITH_LOG
enum { SKED_I_LOG_LEVELS = 3 };
#else
enum { SKED_I_LOG_LEVELS = 1 };
#endif
/* Is anyone listening at this level? */
bool sked_i_logging(int level);
/* One line, without its end, to the listener, if there is one. Threads may call it at the same time. */
void sked_i_logging_line(int level, const char *room, const char *format, ...) SKED_PRINTF(3, 4);
#define SKED_LOG(level, room, ...)                                 \
    do {                                                           \
        if ((level) <= SKED_I_LOG_LEVELS && sked_i_logging(level)) \
            sked_i_logging_line((level), (room), __VA_ARGS__);     \
    } while (0)
#endif
