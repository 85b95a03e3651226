/*
 * Ctrl-C while the library works. Python's own handler only notes the signal: its Python part runs once the
 * call has returned. So a call made on the main thread puts a handler before that one, which also sets the
 * flag that the library looks at. Calls nest where a callback makes another one.
 */
#include <signal.h>

/* public */
typedef struct sked_py_guard {
    sig_atomic_t stop;
    int inside; /* between enter and leave */
    struct sked_py_guard *below;
} sked_py_guard;
/*
 * Main thread only. leave does nothing where enter was not called or leave was: a guard that is collected may
 * meet any thread.
 */
void sked_py_guard_enter(sked_py_guard *guard);
void sked_py_guard_leave(sked_py_guard *guard);
/* end */

static sked_py_guard *volatile sked_py_top;
static struct sigaction sked_py_before;
static int sked_py_listens;

static void sked_py_interrupted(int number, siginfo_t *info, void *context)
{
    for (sked_py_guard *g = sked_py_top; g != NULL; g = g->below)
        *(volatile sig_atomic_t *)&g->stop = 1;
    if (sked_py_before.sa_flags & SA_SIGINFO)
        sked_py_before.sa_sigaction(number, info, context);
    else
        sked_py_before.sa_handler(number);
}

/* Who ignores the signal, or wants to be ended by it, still does. */
static int sked_py_is_handled(const struct sigaction *a)
{
    return (a->sa_flags & SA_SIGINFO) != 0 || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

void sked_py_guard_enter(sked_py_guard *guard)
{
    struct sigaction ours = {0};
    guard->inside = 1;
    guard->below = sked_py_top;
    sked_py_top = guard;
    if (guard->below != NULL || sigaction(SIGINT, NULL, &sked_py_before) != 0)
        return;
    sked_py_listens = sked_py_is_handled(&sked_py_before);
    ours.sa_sigaction = sked_py_interrupted;
    ours.sa_flags = SA_SIGINFO | (sked_py_before.sa_flags & (SA_ONSTACK | SA_RESTART));
    if (sked_py_listens)
        sked_py_listens = sigaction(SIGINT, &ours, NULL) == 0;
}

/* False: it was not there. */
static int sked_py_guard_remove(sked_py_guard *guard)
{
    sked_py_guard *above = NULL, *g = guard->inside ? sked_py_top : NULL;
    guard->inside = 0;
    for (; g != NULL && g != guard; g = g->below)
        above = g;
    if (g == NULL)
        return 0;
    if (above != NULL)
        above->below = g->below;
    else
        sked_py_top = g->below;
    return 1;
}

/* A handler that a callback has put in place of ours stays. */
void sked_py_guard_leave(sked_py_guard *guard)
{
    struct sigaction now;
    if (!sked_py_guard_remove(guard) || sked_py_top != NULL || !sked_py_listens)
        return;
    if (sigaction(SIGINT, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
        now.sa_sigaction == sked_py_interrupted)
        sigaction(SIGINT, &sked_py_before, NULL);
}
