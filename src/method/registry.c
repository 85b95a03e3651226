/* The methods there are: those of the table, and those that programs register. */
#include "method/driver.h"

#include "base/sized.h"
#include "base/text.h"
#include "method/table.h"
#include "schedule/schedule.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SKED_X(name) extern const sked_i_method sked_i_method_##name;
SKED_METHOD_LIST(SKED_X)
#undef SKED_X

static const sked_i_method *const methods[] = {
#define SKED_X(name) &sked_i_method_##name,
    SKED_METHOD_LIST(SKED_X)
#undef SKED_X
};
enum { n_methods = sizeof methods / sizeof *methods, MOST_REGISTERED = 64 };

static sked_i_method registered[MOST_REGISTERED];
static atomic_int n_registered; /* an entry never changes once it is counted */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------ the list */

int sked_method_count(void)
{
    return n_methods + atomic_load_explicit(&n_registered, memory_order_acquire);
}

static const sked_i_method *method_at(int i)
{
    if (i < 0 || i >= sked_method_count())
        return NULL;
    return i < n_methods ? methods[i] : &registered[i - n_methods];
}

const sked_method_info *sked_method_at(int i)
{
    const sked_i_method *m = method_at(i);
    return m != NULL ? &m->info : NULL;
}

const sked_i_method *sked_i_method_find(const char *name)
{
    for (int i = 0; i < sked_method_count(); i++)
        if (strcmp(method_at(i)->info.name, name) == 0)
            return method_at(i);
    return NULL;
}

const sked_method_info *sked_method_find(const char *name)
{
    const sked_i_method *m = sked_i_method_find(name);
    return m != NULL ? &m->info : NULL;
}

sked_status sked_i_method_unknown(const char *name, sked_error *err)
{
    const char *names[n_methods + MOST_REGISTERED];
    char hint[120];
    const int count = sked_method_count();
    for (int i = 0; i < count; i++)
        names[i] = method_at(i)->info.name;
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "no method is called '%s'%s; see `sked methods`", name,
                       sked_suggest(name, names, count, hint, sizeof hint));
}

/* ------------------------------------------------------------------ registering */

static sked_status run_registered(sked_i_run *run, sked_error *err)
{
    const sked_i_method *m = run->method;
    sked_error why = SKED_ERROR_INIT;
    const sked_status st = m->own(m->own_data, (sked_run *)run, &why);
    why.message[sizeof why.message - 1] = 0;
    if (st == SKED_OK)
        return st;
    return sked_i_fail(err, st, why.message[0] != 0 ? "%s" : "method '%s' failed",
                       why.message[0] != 0 ? why.message : m->info.name);
}

static sked_status check_options(const sked_method *m, sked_error *err)
{
    if (m->n_options < 0 || m->n_options > SKED_I_MOST_OPTIONS || (m->n_options > 0 && m->options == NULL))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "method '%s': there are 0 to %d options, not %d", m->name,
                           (int)SKED_I_MOST_OPTIONS, m->n_options);
    for (int i = 0; i < m->n_options; i++)
        if (m->options[i].name == NULL || m->options[i].preset == NULL ||
            m->options[i].kind == SKED_OPTION_TEXT)
            return sked_i_fail(err, SKED_ERR_ARGUMENT,
                               "method '%s': option %d has no name, no preset, or is a text", m->name, i);
    double preset[SKED_I_MOST_OPTIONS];
    return sked_i_options_parse(m->name, m->options, m->n_options, NULL, 0, preset, err);
}

static sked_status check(const sked_method *m, sked_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const size_t size = m->name != NULL ? strlen(m->name) : 0;
    if (size < 1 || size > 31 || strspn(m->name, letters) < size)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "the name of a method is 1 to 31 of a-z, 0-9 and '-', not '%s'",
                           size > 0 ? m->name : "");
    if (m->summary == NULL || m->run == NULL)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "method '%s' needs a summary and a function", m->name);
    if (sked_i_method_find(m->name) != NULL)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "there is a method called '%s' already", m->name);
    return check_options(m, err);
}

sked_status sked_method_register(const sked_method *m, sked_error *err)
{
    SKED_TAKE(sked_method, m)
    pthread_mutex_lock(&turn);
    const int n = atomic_load_explicit(&n_registered, memory_order_relaxed);
    sked_status st = check(m, err);
    if (st == SKED_OK && n == MOST_REGISTERED)
        st = sked_i_fail(err, SKED_ERR_ARGUMENT, "a program may register %d methods", (int)MOST_REGISTERED);
    if (st == SKED_OK) {
        registered[n] = (sked_i_method){.info = {.name = m->name,
                                                 .summary = m->summary,
                                                 .features = m->features,
                                                 .options = m->options,
                                                 .n_options = m->n_options},
                                        .run = run_registered,
                                        .own = m->run,
                                        .own_data = m->data};
        atomic_store_explicit(&n_registered, n + 1, memory_order_release);
    }
    pthread_mutex_unlock(&turn);
    return st;
}

/* ------------------------------------------------------------------ what a registered method calls */

static const sked_i_run *seen(const sked_run *run)
{
    return (const sked_i_run *)run;
}

const sked_problem *sked_run_problem(const sked_run *run)
{
    return seen(run)->problem;
}

const sked_run_options *sked_run_options_of(const sked_run *run)
{
    return seen(run)->options;
}

double sked_run_setting(const sked_run *run, int i)
{
    return seen(run)->setting[i];
}

bool sked_run_over(const sked_run *run)
{
    return sked_i_run_over(seen(run));
}

const sked_schedule *sked_run_incumbent(const sked_run *run)
{
    return sked_i_run_incumbent(seen(run));
}

sked_status sked_run_offer(sked_run *run, const sked_schedule *s, sked_error *err)
{
    const sked_status st = sked_i_schedule_check(seen(run)->problem, s, err);
    return st == SKED_OK ? sked_i_run_offer((sked_i_run *)run, s, err) : st;
}

void sked_run_evaluated(sked_run *run, int64_t count)
{
    if (count > 0)
        sked_i_run_evaluated((sked_i_run *)run, count);
}
