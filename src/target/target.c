/* The table of targets; parts joined to one target. */
#include "target/target.h"

#include "base/sized.h"
#include "base/text.h"
#include "problem/chaining.h"
#include "target/table.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#define SKED_X(name) extern const sked_i_target sked_i_target_##name;
SKED_TARGET_LIST(SKED_X)
#undef SKED_X

static const sked_i_target *const targets[] = {
#define SKED_X(name) &sked_i_target_##name,
    SKED_TARGET_LIST(SKED_X)
#undef SKED_X
};
enum { n_targets = sizeof targets / sizeof *targets };
_Static_assert(sizeof targets / sizeof *targets <= SKED_I_TARGET_PARTS, "every part may come once");

int sked_target_count(void)
{
    return n_targets;
}

const sked_target_info *sked_target_at(int i)
{
    return i >= 0 && i < n_targets ? &targets[i]->info : NULL;
}

sked_status sked_i_target_find(const char *name, const sked_i_target **out, sked_error *err)
{
    const char *names[n_targets];
    char hint[120];
    for (int i = 0; i < n_targets; i++) {
        names[i] = targets[i]->info.name;
        if (strcmp(names[i], name) == 0)
            return *out = targets[i], SKED_OK;
    }
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "no target is called '%s'%s; see `sked targets`", name,
                       sked_suggest(name, names, n_targets, hint, sizeof hint));
}

void sked_i_target_take_graph(sked_target *t, sked_graph *graph)
{
    sked_graph_destroy(t->graph);
    t->graph = graph;
    t->problem.graph = graph;
}

void sked_i_target_take_machine(sked_target *t, sked_machine *machine)
{
    sked_machine_destroy(t->machine);
    t->machine = machine;
    t->problem.machine = machine;
}

static sked_status open_parts(sked_target *t, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; st == SKED_OK && k < t->n_parts; k++)
        if (t->part[k].kind->open != NULL)
            st = t->part[k].kind->open(t, t->part[k].setting, err);
    for (int k = 0; st == SKED_OK && k < t->n_parts; k++)
        if (t->part[k].kind->complete != NULL)
            st = t->part[k].kind->complete(t, err);
    return st;
}

/* No devices, so nothing to replay. The work is the clock: a time below it is a speedup above 1. */
static sked_status prepare_pipelines(sked_target *t, const sked_problem *p, sked_error *err)
{
    if (p->devices > 0 || p->ii != 1 || !(p->clock > 0))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "target %s measures pipelines: it goes with a clock and --ii 1, without devices",
                           t->part[0].kind->info.name);
    sked_problem any = *p; /* delays of the graph are an opinion: the target knows better */
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        any.clock = fmax(any.clock, fmax(sked_i_delay_in(p->graph, i), sked_i_delay_out(p->graph, i)));
    const sked_status st = sked_problem_check(&any, err);
    t->problem = *p;
    t->work = p->clock;
    return st == SKED_OK ? t->part[0].kind->prepare(t, t->part[0].setting, err) : st;
}

sked_status sked_i_target_prepare(sked_target *t, const sked_problem *p, sked_error *err)
{
    sked_status st = SKED_OK;
    if (t->n_parts > 0 && t->part[0].kind->pipelines)
        return prepare_pipelines(t, p, err);
    if (p->devices <= 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "a target measures schedules on devices: give their number");
    SKED_TRY(sked_problem_check(p, err));
    SKED_TRY(sked_i_lower_profile(p, &t->profiled, err));
    t->problem = t->profiled.problem;
    SKED_TRY(open_parts(t, err));
    SKED_TRY(sked_i_replay_create(&t->problem, &t->rules, &t->replay, err));
    t->work = sked_i_sequential_time(&t->replay->costs);
    if (t->work > 0 && t->work < SKED_I_LEAST_TIME) /* all that it could say would be refused */
        SKED_TRY(sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                             "all ops together take %g: targets measure times from %g on", t->work,
                             SKED_I_LEAST_TIME));
    if (t->n_parts > 0 && t->part[0].kind->prepare != NULL)
        SKED_TRY(t->part[0].kind->prepare(t, t->part[0].setting, err));
    if (t->n_parts > 0 && t->part[0].kind->run == NULL)
        sked_i_buffer_format(&t->about, "a model of %d device%s; times are in the graph's unit",
                             (int)t->problem.devices, t->problem.devices == 1 ? "" : "s");
    if (t->about.failed)
        st = sked_i_no_memory(err);
cleanup:
    return st;
}

const char *sked_i_target_other_type(const sked_target *t)
{
    const sked_machine *m = t->problem.machine;
    for (int32_t d = 0; m != NULL && d < sked_machine_device_count(m); d++) {
        const char *type = sked_machine_device_type(m, d);
        if (type != NULL && strncasecmp(type, "cpu", 3) != 0)
            return type;
    }
    return NULL;
}

const char *sked_target_about(const sked_target *t)
{
    return t->about.data != NULL ? t->about.data : "";
}

sked_status sked_target_create(const char *spec, const sked_problem *p, uint64_t seed, sked_target **out,
                               sked_error *err)
{
    return sked_target_create_stoppable(spec, p, seed, NULL, out, err);
}

sked_status sked_target_create_stoppable(const char *spec, const sked_problem *p, uint64_t seed,
                                         const volatile sig_atomic_t *stop, sked_target **out,
                                         sked_error *err)
{
    SKED_TAKE_ASKED(p)
    sked_status st = SKED_OK;
    sked_target *t = NULL;
    SKED_NEW0(t, 1);
    t->seed = seed;
    t->stop = stop;
    SKED_TRY(sked_i_target_parse(spec, t, err));
    SKED_TRY(sked_i_target_prepare(t, p, err));
    *out = t;
    return SKED_OK;
cleanup:
    sked_target_destroy(t);
    return st;
}

void sked_target_destroy(sked_target *t)
{
    if (t == NULL)
        return;
    if (t->n_parts > 0 && t->part[0].kind->close != NULL)
        t->part[0].kind->close(t);
    sked_i_replay_destroy(t->replay);
    sked_graph_destroy(t->graph);
    sked_machine_destroy(t->machine);
    sked_i_lowered_free(&t->profiled);
    sked_i_buffer_free(&t->about);
    sked_i_arena_free(&t->arena);
    free(t);
}

bool sked_i_target_parallel(const sked_target *t)
{
    assert(t->n_parts > 0);
    const int wish = (int)t->common[SKED_I_TARGET_PARALLEL];
    const sked_i_target *kind = t->part[0].kind;
    return wish == SKED_I_PARALLEL_AUTO ? kind->run == NULL || kind->simulated : wish == SKED_I_PARALLEL_TRUE;
}

void sked_i_target_seek(sked_target *t, int64_t number)
{
    assert(number >= 0);
    t->runs =
        (uint64_t)number * (uint64_t)(t->common[SKED_I_TARGET_WARM_UP] + t->common[SKED_I_TARGET_REPEAT]);
}

bool sked_target_takes_pipelines(const char *spec)
{
    for (int i = 0; i < n_targets; i++) {
        const size_t n = strlen(targets[i]->info.name);
        if (targets[i]->pipelines && strncmp(spec, targets[i]->info.name, n) == 0 &&
            strchr(":,+", spec[n]) != NULL)
            return true;
    }
    return false;
}

double sked_target_work(const sked_target *t)
{
    return t->work;
}

const sked_problem *sked_target_truth(const sked_target *t)
{
    const bool replays = t->part[0].kind->run == NULL; /* what runs schedules itself stands alone */
    return replays && !t->rules.contention && t->rules.cache_depth == 0 ? &t->problem : NULL;
}

const sked_i_target sked_i_target_proxy = {
    .info = {.name = "proxy",
             .summary = "the simulator itself, with the durations and transfers the problem has"}};
