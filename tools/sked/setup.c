/* A graph and a problem from the options that several commands share. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void show_note(void *data, const char *message)
{
    (void)data;
    warn("%s", message);
}

sked_status load_graph(const arguments *a, const char *path, sked_graph **out, sked_error *err)
{
    const sked_read_options opt = {.size = sizeof opt,
                                   .format = a->from,
                                   .resources = a->resources,
                                   .library = a->library,
                                   .profiles = a->profile.at,
                                   .n_profiles = a->profile.count,
                                   .dims = a->dim.at,
                                   .n_dims = a->dim.count,
                                   .note = show_note,
                                   .memory = a->value_memory,
                                   .instance = a->instance};
    return sked_graph_read(path, &opt, out, err);
}

static sked_status refuse_resource(const setup *s, const char *name, sked_error *err)
{
    char hint[160] = "";
    const int32_t n = sked_graph_resource_count(s->graph);
    const char **names = malloc(((size_t)n + 1) * sizeof *names);
    for (int32_t i = 0; names && i < n; i++)
        names[i] = sked_graph_resource_name(s->graph, i);
    if (names)
        sked_suggest(name, names, n, hint, sizeof hint);
    free(names);
    return fail(err, SKED_ERR_ARGUMENT, "--capacity: the graph has no resource '%.255s'%s", name, hint);
}

/* --capacity NAME=K; K may be "unlimited". */
static sked_status set_capacity(const char *text, setup *s, sked_error *err)
{
    const char *equals = strrchr(text, '=');
    if (equals == NULL || equals == text)
        return fail(err, SKED_ERR_ARGUMENT, "--capacity expects NAME=K, not '%.80s'", text);
    char *name = strndup(text, (size_t)(equals - text));
    if (name == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    const int32_t r = sked_graph_find_resource(s->graph, name);
    sked_status st = SKED_OK;
    if (r < 0)
        st = refuse_resource(s, name, err);
    else if (strcmp(equals + 1, "unlimited") == 0)
        s->capacity[r] = INFINITY;
    else if (!sked_parse_number(equals + 1, &s->capacity[r]) || s->capacity[r] < 0)
        st = fail(err, SKED_ERR_ARGUMENT,
                  "--capacity %.255s expects a number, 0 or more, or unlimited, not '%.60s'", name,
                  equals + 1);
    free(name);
    return st;
}

static sked_status set_capacities(const arguments *a, setup *s, sked_error *err)
{
    const int32_t n = sked_graph_resource_count(s->graph);
    if (a->capacity.count == 0)
        return SKED_OK;
    s->capacity = malloc(((size_t)n + 1) * sizeof *s->capacity);
    if (s->capacity == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    for (int32_t r = 0; r < n; r++)
        s->capacity[r] = sked_graph_capacity(s->graph, r);
    for (int i = 0; i < a->capacity.count; i++) {
        const sked_status st = set_capacity(a->capacity.at[i], s, err);
        if (st != SKED_OK)
            return st;
    }
    s->problem.capacity = s->capacity;
    return SKED_OK;
}

/* All objectives, as "a, b, c". */
static const char *list_objectives(char *buf, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < OBJECTIVE_COUNT && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
                                 sked_objective_name((sked_objective)i));
    return buf;
}

static sked_status set_objective(const char *word, sked_problem *p, sked_error *err)
{
    const char *names[OBJECTIVE_COUNT];
    char all[120], hint[120];
    for (int i = 0; i < OBJECTIVE_COUNT; i++) {
        names[i] = sked_objective_name((sked_objective)i);
        if (strcmp(names[i], word) == 0)
            return p->objective = (sked_objective)i, SKED_OK;
    }
    return fail(err, SKED_ERR_ARGUMENT, "--objective is one of %s, not '%.60s'%s",
                list_objectives(all, sizeof all), word,
                sked_suggest(word, names, OBJECTIVE_COUNT, hint, sizeof hint));
}

/* Many graphs (job shops, plain DOT) say no sizes: then every schedule would be optimal. */
static sked_status check_sizes(const sked_problem *p, sked_error *err)
{
    const int32_t ops = sked_graph_op_count(p->graph);
    int32_t i = 0;
    if (p->objective != SKED_OBJECTIVE_MEMORY)
        return SKED_OK;
    while (i < ops && sked_graph_memory(p->graph, i) == 0)
        i++;
    return i < ops || ops == 0 ? SKED_OK
                               : fail(err, SKED_ERR_UNSUPPORTED,
                                      "objective memory needs sizes, and no op of the graph has a memory: "
                                      "give ops theirs, or every value one with --memory 1");
}

/* Objective ii searches for the interval, and a search for the interval minimises it, unless told otherwise.
 */
static sked_status set_interval(const arguments *a, sked_problem *p, sked_error *err)
{
    const char *text = a->ii;
    if (text == NULL && p->objective == SKED_OBJECTIVE_II)
        text = "auto";
    if (text == NULL)
        return SKED_OK;
    if (strcmp(text, "auto") == 0) {
        p->ii = SKED_II_AUTO;
        if (a->objective == NULL)
            p->objective = SKED_OBJECTIVE_II;
        return SKED_OK;
    }
    if (!sked_parse_number(text, &p->ii) || p->ii <= 0)
        return fail(err, SKED_ERR_ARGUMENT, "--ii expects a number above 0, or auto, not '%.60s'", text);
    return SKED_OK;
}

static sked_status set_lifetime(const char *word, sked_problem *p, sked_error *err)
{
    for (sked_lifetime l = SKED_LIFETIME_START; word != NULL && l <= SKED_LIFETIME_RESULT; l++)
        if (strcmp(sked_lifetime_name(l), word) == 0)
            return p->lifetime = l, SKED_OK;
    return word ? fail(err, SKED_ERR_ARGUMENT, "--lifetime is start, finish or result, not '%.60s'", word)
                : SKED_OK;
}

static sked_status set_io(const char *word, sked_problem *p, sked_error *err)
{
    for (sked_io io = SKED_IO_FREE; word != NULL && io <= SKED_IO_ALIGNED; io++)
        if (strcmp(sked_io_name(io), word) == 0)
            return p->io = io, SKED_OK;
    return word ? fail(err, SKED_ERR_ARGUMENT, "--io is free or aligned, not '%.60s'", word) : SKED_OK;
}

sked_status add_back_edges(const arguments *a, uint64_t seed, sked_graph **g, sked_error *err)
{
    sked_graph *looped = NULL;
    const sked_back_edges draw = {.size = sizeof draw,
                                  .count = a->back_edges,
                                  .distance = (int32_t)a->distance,
                                  .span = (int32_t)a->span,
                                  .seed = seed};
    if (a->back_edges == 0 && a->distance > 1) /* of family loop it is a parameter: easily mistaken */
        return fail(err, SKED_ERR_ARGUMENT,
                    "--distance is that of --back-edges; a family's own is --set distance=D");
    if (a->back_edges == 0)
        return SKED_OK;
    const sked_status st = sked_graph_looped(*g, &draw, &looped, err);
    if (st == SKED_OK) {
        sked_graph_destroy(*g);
        *g = looped;
    }
    return st;
}

sked_status apply_profile(setup *s, sked_error *err)
{
    sked_graph *profiled = NULL;
    if (s->machine == NULL || sked_machine_duration_count(s->machine) == 0)
        return SKED_OK;
    const sked_status st = sked_graph_profiled(s->graph, s->machine, &profiled, err);
    if (st == SKED_OK) {
        sked_graph_destroy(s->graph);
        s->problem.graph = s->graph = profiled;
    }
    return st;
}

/* --machine FILE, or --devices N with --latency and --bandwidth. */
static sked_status set_machine(const arguments *a, setup *s, sked_error *err)
{
    sked_problem *p = &s->problem;
    p->devices = (int32_t)a->devices;
    p->latency = a->latency;
    p->bandwidth = a->bandwidth;
    if (a->machine == NULL)
        return SKED_OK;
    if (a->devices != 0)
        return fail(err, SKED_ERR_ARGUMENT, "--machine and --devices exclude each other");
    if (a->latency != 0 || a->bandwidth < INFINITY)
        return fail(err, SKED_ERR_ARGUMENT,
                    "--latency and --bandwidth are for --devices; a machine file has its own links");
    const sked_status st = sked_machine_read(a->machine, &s->machine, err);
    p->machine = s->machine;
    p->devices = s->machine ? sked_machine_device_count(s->machine) : 0;
    return st;
}

sked_status load_problem(const arguments *a, const char *path, setup *s, sked_error *err)
{
    *s = (setup){0};
    sked_status st = load_graph(a, path, &s->graph, err);
    if (st != SKED_OK)
        return st;
    sked_problem *p = &s->problem;
    sked_problem_init(p, s->graph);
#define X(field) p->field = a->field;
    PROBLEM_NUMBERS(X)
#undef X
    st = set_machine(a, s, err);
    if (st == SKED_OK)
        st = set_lifetime(a->lifetime, p, err);
    if (st == SKED_OK)
        st = set_io(a->io, p, err);
    if (st == SKED_OK && a->objective != NULL)
        st = set_objective(a->objective, p, err);
    if (st == SKED_OK)
        st = check_sizes(p, err);
    if (st == SKED_OK)
        st = set_interval(a, p, err);
    if (st == SKED_OK)
        st = set_capacities(a, s, err);
    if (st == SKED_OK && a->fix != NULL)
        st = sked_fix_read(a->fix, p, &s->fix_device, &s->fix_start, err);
    p->fix_device = s->fix_device;
    p->fix_start = s->fix_start;
    if (st != SKED_OK)
        clear_setup(s);
    return st;
}

void clear_setup(setup *s)
{
    sked_graph_destroy(s->graph);
    sked_machine_destroy(s->machine);
    free(s->capacity);
    sked_free(s->fix_device);
    sked_free(s->fix_start);
    *s = (setup){0};
}
