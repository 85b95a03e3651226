/* Progress on a terminal, and Ctrl-C. */
#define _POSIX_C_SOURCE 200809L
#include "program.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

volatile sig_atomic_t stop_requested;
static bool shown, silent;

static void on_interrupt(int number)
{
    stop_requested = 1;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL); /* the next one ends the program */
}

void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void silence_progress(void)
{
    silent = true;
}

void show_progress(void *data, const char *phase, double share, double value, double bound)
{
    static double last;
    static int terminal = -1;
    (void)data;
    if (terminal < 0)
        terminal = !silent && sked_dist_rank() == 0 && isatty(2);
    const double now = sked_clock();
    if (!terminal || now - last < 0.1)
        return;
    last = now;
    char bar[31], best[40], least[40];
    const int filled = isfinite(share) ? (int)(share * 30) : 0;
    for (int i = 0; i < 30; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[30] = 0;
    fprintf(stderr, "\r\033[K[%s] %s", bar, phase);
    if (isfinite(value))
        fprintf(stderr, "  best %s  bound %s", human(value, best, sizeof best),
                human(bound, least, sizeof least));
    if (isfinite(value) && value > 0 && bound > 0)
        fprintf(stderr, "  gap %.2f %%", 100 * (value - bound) / bound);
    fflush(stderr);
    shown = true;
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
