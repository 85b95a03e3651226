#include "base/logging.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int wanted; /* highest level that is listened to */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static sked_log_fn listener;
static void *listener_data;

bool sked_log_set(int level, sked_log_fn fn, void *data)
{
    pthread_mutex_lock(&turn);
    listener = fn;
    listener_data = data;
    atomic_store(&wanted, fn != NULL ? level : 0);
    pthread_mutex_unlock(&turn);
    return level <= SKED_I_LOG_LEVELS;
}

bool sked_i_logging(int level)
{
    return level <= atomic_load_explicit(&wanted, memory_order_relaxed);
}

void sked_i_logging_line(int level, const char *room, const char *format, ...)
{
    char raw[500], text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    sked_escape(raw, text, sizeof text);
    pthread_mutex_lock(&turn);
    if (listener != NULL)
        listener(listener_data, level, room, text);
    pthread_mutex_unlock(&turn);
}
