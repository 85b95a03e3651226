/* Progress on a terminal, and signals. */
#define _POSIX_C_SOURCE 200809L
#include "program.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

volatile sig_atomic_t stop_requested;
static volatile sig_atomic_t nothing_to_lose;
static bool shown, silent;

/* Only calls that a handler may make. */
static void end_at_once(void)
{
    static const char text[] = "sked: stopped by a signal before there was a result\n";
    if (sked_dist_rank() == 0 && write(2, text, sizeof text - 1) < 0)
        _exit(SKED_ERR_STOPPED);
    _exit(SKED_ERR_STOPPED);
}

/*
 * One request may come as two signals: timeout(1) sends its signal to the process and to the group, a shell
 * and mpirun may each send one. Only a Ctrl-C or SIGTERM this many seconds after the first means "at once". A
 * GPU that is shared (MPS) must not lose a process at work: the others fail with it. SIGHUP never ends the
 * program: a terminal that closes sends it more than once, and the incumbent must still be written.
 */
static const double patience = 1;

static void on_signal(int number)
{
    static double asked; /* when the first came; 0: none yet */
    if (nothing_to_lose)
        end_at_once();
    stop_requested = 1;
    if (number == SIGHUP)
        return;
    if (asked == 0)
        asked = sked_clock();
    if (sked_clock() - asked < patience)
        return;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);
    raise(number); /* when this handler ends */
}

void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before; /* no SA_RESTART: it must end waits */
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* nohup */
        sigaction(SIGHUP, &action, NULL);
}

void end_on_signal(bool at_once)
{
    nothing_to_lose = at_once;
}

void begin_write(const char *path)
{
    struct stat info;
    nothing_to_lose = strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
}

void silence_progress(void)
{
    silent = true;
}

/* Does anybody watch? */
static bool watched(void)
{
    static int terminal = -1;
    if (terminal < 0)
        terminal = !silent && sked_dist_rank() == 0 && isatty(2);
    return terminal;
}

void show_progress(void *data, const char *phase, double share, double value, double bound)
{
    static double last;
    (void)data;
    const double now = sked_clock();
    if (!watched() || now - last < 0.1)
        return;
    last = now;
    char bar[31], best[40], least[40];
    const int filled = isfinite(share) ? (int)(share * 30) : 0;
    for (int i = 0; i < 30; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[30] = 0;
    fprintf(stderr, "\r\033[K[%s] %s", bar, phase);
    if (isfinite(value))
        fprintf(stderr, "  best %s", human(value, best, sizeof best));
    if (isfinite(value) && !isnan(bound))
        fprintf(stderr, "  bound %s", human(bound, least, sizeof least));
    if (isfinite(value) && value > 0 && bound > 0)
        fprintf(stderr, "  gap %.2f %%", 100 * (value - bound) / bound);
    fflush(stderr);
    shown = true;
}

void progress_line(const char *format, ...)
{
    va_list args;
    if (!watched())
        return;
    end_progress();
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void end_progress(void)
{
    if (shown)
        fputs("\r\033[K", stderr);
    shown = false;
}

void warn(const char *format, ...)
{
    if (silent || sked_dist_rank() > 0)
        return;
    char raw[1000], text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    end_progress();
    fprintf(stderr, "sked: note: %s\n", sked_escape(raw, text, sizeof text));
}
