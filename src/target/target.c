/* The table of targets, specs, and the replay that all models share. */
#include "target/target.h"

#include "base/sized.h"
#include "base/text.h"
#include "problem/costs.h"
#include "target/table.h"

#include <stdio.h>
#include <string.h>

#define SKED_X(name) extern const sked_i_target sked_i_target_##name;
SKED_TARGET_LIST(SKED_X)
#undef SKED_X

static const sked_i_target *const targets[] = {
#define SKED_X(name) &sked_i_target_##name,
    SKED_TARGET_LIST(SKED_X)
#undef SKED_X
};
enum { n_targets = sizeof targets / sizeof *targets };

int sked_target_count(void)
{
    return n_targets;
}

const sked_target_info *sked_target_at(int i)
{
    return i >= 0 && i < n_targets ? &targets[i]->info : NULL;
}

const sked_target_info *sked_target_find(const char *name)
{
    for (int i = 0; i < n_targets; i++)
        if (strcmp(targets[i]->info.name, name) == 0)
            return &targets[i]->info;
    return NULL;
}

static sked_status find(const char *name, const sked_i_target **out, sked_error *err)
{
    const char *names[n_targets];
    char hint[120];
    for (int i = 0; i < n_targets; i++) {
        names[i] = targets[i]->info.name;
        if (strcmp(names[i], name) == 0)
            return *out = targets[i], SKED_OK;
    }
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "no target is called '%s'%s; see `sked targets`", name,
                       sked_i_suggest(name, names, n_targets, hint, sizeof hint));
}

/* "key=value,key=value" into the target's settings. */
static sked_status parse_settings(sked_target *t, const char *text, sked_error *err)
{
    const sked_target_info *info = &t->target->info;
    char *copy = sked_i_strdup(text);
    const char *list[SKED_I_TARGET_OPTIONS];
    int n = 0;
    if (copy == NULL)
        return sked_i_no_memory(err);
    for (char *s = copy; *s && n < SKED_I_TARGET_OPTIONS;) {
        list[n++] = s;
        s += strcspn(s, ",");
        if (*s == ',')
            *s++ = 0;
    }
    const sked_status st =
        sked_i_options_parse(info->name, info->options, info->n_options, list, n, t->setting, err);
    free(copy);
    return st;
}

/* Work space, the time of all ops on one device and a simulator of what the target runs. */
static sked_status prepare(sked_target *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = t->problem.graph;
    sked_i_costs c = {0};
    SKED_TRY(sked_i_costs_make(&t->problem, &c, err));
    t->work = sked_i_sequential_time(&c);
    SKED_NEW(t->order, g->n_ops);
    SKED_NEW(t->start, g->n_ops);
    SKED_TRY(sked_simulator_create(&t->problem, &t->simulator, err));
cleanup:
    sked_i_costs_free(&c);
    return st;
}

/* "NAME:key=value,...", or for free text "NAME,key=value,...:TEXT". */
static sked_status parse_spec(sked_target *t, const char *spec, sked_error *err)
{
    const size_t head = strcspn(spec, ":"), n = strcspn(spec, ",:");
    const char *rest = spec[head] == ':' ? spec + head + 1 : "";
    char name[64], before[500];
    snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), spec);
    snprintf(before, sizeof before, "%.*s", (int)(n < head ? head - n - 1 : 0), n < head ? spec + n + 1 : "");
    sked_status st = find(name, &t->target, err);
    if (st != SKED_OK)
        return st;
    if (n < head && (!t->target->free_text || head - n > sizeof before))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "options of a target stand behind a colon: %s:%.100s",
                           name, before);
    if (t->target->free_text && (t->argument = sked_i_strdup(rest)) == NULL)
        return sked_i_no_memory(err);
    return parse_settings(t, t->target->free_text ? before : rest, err);
}

sked_status sked_target_create(const char *spec, const sked_problem *p, uint64_t seed, sked_target **out,
                               sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    sked_status st = SKED_OK;
    sked_target *t = sked_i_alloc_zero(1, sizeof *t);
    if (t == NULL)
        return sked_i_no_memory(err);
    t->asked = *p;
    t->problem = *p;
    if (p->devices <= 0) {
        st = sked_i_fail(err, SKED_ERR_ARGUMENT, "a target measures schedules on devices: give their number");
        goto cleanup;
    }
    SKED_TRY(parse_spec(t, spec, err));
    if (t->target->open != NULL)
        SKED_TRY(t->target->open(t, seed, err));
    SKED_TRY(prepare(t, err));
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
    sked_simulator_destroy(t->simulator);
    sked_graph_destroy(t->graph);
    sked_graph_destroy(t->plain);
    free(t->argument);
    free(t->order);
    free(t->start);
    free(t);
}

void sked_i_target_listen(sked_target *t, const volatile sig_atomic_t *stop)
{
    t->stop = stop;
}

double sked_target_work(const sked_target *t)
{
    return t->work;
}

typedef struct place {
    double start;
    int32_t rank, op;
} place;

static int by_start(const void *x, const void *y)
{
    const place *a = x, *b = y;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Ops by start; equal starts (zero durations) in the graph's topological order, so no cycle arises. */
static sked_status order_by_start(const sked_graph *g, const sked_schedule *s, int32_t *order,
                                  sked_error *err)
{
    place *places = sked_i_alloc(g->n_ops, sizeof *places);
    if (places == NULL)
        return sked_i_no_memory(err);
    for (int32_t k = 0; k < g->n_ops; k++)
        places[k] = (place){s->start[g->topo[k]], k, g->topo[k]};
    qsort(places, (size_t)g->n_ops, sizeof *places, by_start);
    for (int32_t k = 0; k < g->n_ops; k++)
        order[k] = places[k].op;
    free(places);
    return SKED_OK;
}

void sked_measurement_clear(sked_measurement *m)
{
    const sked_measurement empty = {0};
    free(m->start);
    free(m->finish);
    free(m->device);
    SKED_GIVE(m, empty);
}

const sked_problem *sked_target_truth(const sked_target *t)
{
    return t->target->measure == NULL ? &t->problem : NULL;
}

static sked_status replay(sked_target *t, const sked_schedule *s, double *time, sked_error *err)
{
    const sked_status st = order_by_start(t->problem.graph, s, t->order, err);
    if (st != SKED_OK)
        return st;
    sked_simulator_run(t->simulator, 1, s->device, t->order, true, time, t->start);
    if (isinf(*time))
        return sked_i_fail(err, SKED_ERR_INVALID, "the schedule's device orders contradict the graph");
    return SKED_OK;
}

sked_status sked_target_measure(sked_target *t, const sked_schedule *s, sked_measurement *out,
                                sked_error *err)
{
    SKED_CHECK_OUTPUT(sked_measurement, out);
    const sked_graph *g = t->problem.graph;
    sked_measurement m = {.size = sizeof m, .runs = 1};
    if (s->ops != g->n_ops || s->devices != t->problem.devices || s->device == NULL)
        return sked_i_fail(err, SKED_ERR_INVALID, "the schedule is for another graph or number of devices");
    const sked_status st = (t->target->measure != NULL ? t->target->measure : replay)(t, s, &m.time, err);
    if (st == SKED_OK)
        SKED_GIVE(out, m);
    return st;
}

const sked_i_target sked_i_target_proxy = {
    .info = {.name = "proxy",
             .summary = "the simulator itself, with the durations and transfers the problem has"}};
