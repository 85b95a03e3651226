#include "problem/costs.h"

#include "base/arena.h"
#include "base/sized.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Times by (op, kind of time) in one table: 256 MB at most. */
static const int64_t most_times = 1 << 25;

/* While a method runs on this thread: its run has compiled them. */
static _Thread_local bool costs_locked;

bool sked_i_costs_lock(bool locked)
{
    const bool before = costs_locked;
    costs_locked = locked;
    return before;
}

void sked_i_costs_free(sked_i_costs *c)
{
    sked_i_arena_free(&c->arena);
    *c = (sked_i_costs){0};
}

/* What decides the time of any op on a device: speed, and the durations of its name and type. */
typedef struct trait {
    double speed;
    int32_t name, type; /* in the graph's on_names, -1: not there */
} trait;

static trait trait_of(const sked_problem *p, int32_t d)
{
    const sked_machine *m = p->machine;
    const sked_i_names *names = &p->graph->on_names;
    const char *name = sked_i_names_at(&m->device_names, d), *type = sked_machine_device_type(m, d);
    trait t = {m->speed[d], -1, -1};
    if (p->graph->on_ptr != NULL) {
        t.name = sked_i_names_find(names, name, strlen(name));
        t.type = type ? sked_i_names_find(names, type, strlen(type)) : -1;
    }
    return t;
}

/* The number of a text among those seen, in the order they came; -1: no memory. */
static int32_t number_of(sked_i_names *seen, const char *text, int size)
{
    bool fresh;
    return sked_i_names_add(seen, text, (size_t)size, &fresh);
}

/* Kinds of time and classes by trait, numbered by their first device. said: [classes] a trait of each. */
static sked_status make_time_kinds(const sked_problem *p, sked_i_costs *c, trait *said, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_names kinds = {0}, classes = {0};
    char key[64];
    SKED_OWN(&c->arena, c->time_kind_of, c->devices);
    SKED_OWN(&c->arena, c->speed, c->devices);
    SKED_OWN(&c->arena, c->class_of, c->devices);
    SKED_OWN(&c->arena, c->kind_device, c->devices);
    for (int32_t d = c->devices - 1; d >= 0; d--)
        c->kind_device[d] = -1;
    for (int32_t d = 0; d < c->devices; d++) {
        const trait t = trait_of(p, d);
        const int32_t like =
            number_of(&classes, key, snprintf(key, sizeof key, "%d %d", (int)t.name, (int)t.type));
        const int32_t k = number_of(&kinds, key, snprintf(key, sizeof key, "%a %d", t.speed, (int)like));
        if (like < 0 || k < 0)
            SKED_TRY(sked_i_no_memory(err));
        said[like] = t;
        c->time_kind_of[d] = k;
        c->speed[k] = t.speed;
        c->class_of[k] = like;
        c->kind_device[k] = c->kind_device[k] < 0 ? d : c->kind_device[k];
    }
    c->time_kinds = kinds.count;
    c->classes = classes.count;
cleanup:
    sked_i_names_free(&kinds);
    sked_i_names_free(&classes);
    return st;
}

/* What one number says of all devices of a class. */
static sked_status measure_classes(sked_i_costs *c, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(&c->arena, c->fastest, c->classes);
    SKED_OWN(&c->arena, c->slowest, c->classes);
    SKED_OWN0(&c->arena, c->class_size, c->classes);
    SKED_OWN0(&c->arena, c->class_pace, c->classes);
    for (int32_t q = 0; q < c->classes; q++)
        c->fastest[q] = c->slowest[q] = -1;
    for (int32_t k = 0; k < c->time_kinds; k++) {
        int32_t *const most = &c->fastest[c->class_of[k]], *const least = &c->slowest[c->class_of[k]];
        *most = *most < 0 || c->speed[k] > c->speed[*most] ? k : *most;
        *least = *least < 0 || c->speed[k] < c->speed[*least] ? k : *least;
    }
    for (int32_t d = 0; d < c->devices; d++) {
        const int32_t k = c->time_kind_of[d];
        c->class_size[c->class_of[k]]++;
        c->class_pace[c->class_of[k]] += 1 / c->speed[k];
    }
cleanup:
    return st;
}

/* One row of the table: the durations the op has, by type, then over them by name. */
static void fill_row(const sked_i_costs *c, const trait *traits, const double *said, double *row)
{
    for (int32_t q = 0; q < c->classes; q++) {
        const trait *t = &traits[q];
        row[q] = NAN;
        if (t->type >= 0 && !isnan(said[t->type]))
            row[q] = said[t->type];
        if (t->name >= 0 && !isnan(said[t->name]))
            row[q] = said[t->name];
    }
}

static sked_status fill_table(sked_i_costs *c, const trait *traits, sked_error *err)
{
    const sked_graph *g = c->graph;
    sked_status st = SKED_OK;
    double *said = NULL; /* [on_names] of the op at hand, NAN: nothing */
    int32_t rows = 0;
    if (g->on_ptr == NULL)
        return SKED_OK;
    SKED_OWN(&c->arena, c->row, g->n_ops);
    for (int32_t i = 0; i < g->n_ops; i++)
        c->row[i] = g->on_ptr[i] < g->on_ptr[i + 1] ? rows++ : -1;
    if (rows > most_times / c->classes)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "%d ops with durations by device on %d kinds of devices: more than %lld times",
                           (int)rows, (int)c->classes, (long long)most_times);
    SKED_OWN(&c->arena, c->table, (int64_t)rows * c->classes);
    SKED_NEW(said, g->on_names.count);
    for (int32_t k = 0; k < g->on_names.count; k++)
        said[k] = NAN;
    for (int32_t i = 0; i < g->n_ops; i++) {
        for (int64_t k = g->on_ptr[i]; k < g->on_ptr[i + 1]; k++)
            said[g->on_name[k]] = g->on_duration[k];
        if (c->row[i] >= 0)
            fill_row(c, traits, said, c->table + (int64_t)c->row[i] * c->classes);
        for (int64_t k = g->on_ptr[i]; k < g->on_ptr[i + 1]; k++)
            said[g->on_name[k]] = NAN;
    }
cleanup:
    free(said);
    return st;
}

sked_status sked_i_costs_make(const sked_problem *p, sked_i_costs *c, sked_error *err)
{
    sked_status st = SKED_OK;
    trait *traits = NULL;
    *c = sked_i_costs_of_equal(p);
    if (p->machine == NULL)
        return SKED_OK;
    assert(!costs_locked);
    c->devices = p->machine->n_devices;
    c->machine = p->machine;
    SKED_NEW(traits, c->devices);
    SKED_TRY(make_time_kinds(p, c, traits, err));
    SKED_TRY(measure_classes(c, err));
    SKED_TRY(fill_table(c, traits, err));
cleanup:
    free(traits);
    return st;
}

/* Among devices of a class the fastest takes the shortest time of every op, the slowest the longest. */
double sked_i_shortest_time(const sked_i_costs *c, int32_t op)
{
    double best = INFINITY;
    for (int32_t q = 0; q < c->classes; q++)
        best = fmin(best, sked_i_kind_time(c, op, c->fastest != NULL ? c->fastest[q] : 0));
    return best;
}

double sked_i_longest_time(const sked_i_costs *c, int32_t op)
{
    double worst = 0;
    for (int32_t q = 0; q < c->classes; q++) {
        const double t = sked_i_kind_time(c, op, c->slowest != NULL ? c->slowest[q] : 0);
        worst = t < INFINITY && t > worst ? t : worst;
    }
    return worst;
}

double sked_i_longest_transfer(const sked_i_costs *c, double bytes)
{
    const sked_machine *m = c->machine;
    double worst = m == NULL && c->devices > 1 ? c->latency + bytes / c->bandwidth : 0;
    for (int64_t k = 0; m != NULL && k < (int64_t)m->n_link_kinds * m->n_link_kinds; k++)
        if (!isnan(m->link_latency[k]))
            worst = fmax(worst, m->link_latency[k] + bytes / m->link_bandwidth[k]);
    return worst;
}

/* By classes: the same but for rounding. */
static double mean_over_classes(const sked_i_costs *c, int32_t op)
{
    double sum = 0, able = 0;
    for (int32_t q = 0; q < c->classes; q++) {
        const double said = sked_i_class_time(c, op, q);
        sum += isnan(said)   ? c->graph->duration[op] * c->class_pace[q]
               : isinf(said) ? 0
                             : said * c->class_size[q];
        able += isinf(said) ? 0 : c->class_size[q];
    }
    return able > 0 ? sum / able : INFINITY;
}

double sked_i_mean_time(const sked_i_costs *c, int32_t op)
{
    static const double few = 1e7; /* ops x devices */
    double sum = 0;
    int32_t able = 0;
    if (c->time_kind_of == NULL)
        return sked_i_kind_time(c, op, 0);
    if ((double)c->graph->n_ops * c->devices > few)
        return mean_over_classes(c, op);
    for (int32_t d = 0; d < c->devices; d++) {
        const double t = sked_i_time(c, op, d);
        sum += t < INFINITY ? t : 0;
        able += t < INFINITY;
    }
    return able > 0 ? sum / able : INFINITY;
}

void sked_i_mean_link(const sked_i_costs *c, double *latency, double *per_byte)
{
    const sked_machine *m = c->machine;
    double pairs = 0;
    *latency = m == NULL ? c->latency : 0;
    *per_byte = m == NULL ? 1 / c->bandwidth : 0;
    if (m == NULL)
        return;
    for (int32_t a = 0; a < m->n_link_kinds; a++)
        for (int32_t b = 0; b < m->n_link_kinds; b++) {
            const int64_t at = (int64_t)a * m->n_link_kinds + b;
            const double count = (double)m->link_kind_size[a] * (m->link_kind_size[b] - (a == b));
            if (isnan(m->link_latency[at]) || count == 0)
                continue;
            *latency += count * m->link_latency[at];
            *per_byte += count / m->link_bandwidth[at];
            pairs += count;
        }
    *latency = pairs > 0 ? *latency / pairs : 0;
    *per_byte = pairs > 0 ? *per_byte / pairs : 0;
}

bool sked_i_costs_leads(const sked_i_costs *c, int32_t d, int32_t n)
{
    static const double few = 1e6; /* ops x devices */
    if (c->time_kind_of == NULL)
        return d == 0;
    const int32_t k = c->time_kind_of[d];
    return c->kind_device[k] == d && ((double)n * c->devices <= few || c->fastest[c->class_of[k]] == k);
}

double sked_i_sequential_time(const sked_i_costs *c)
{
    const int32_t n = c->graph->n_ops;
    double best = INFINITY, least = 0;
    for (int32_t q = 0; q < c->classes; q++) {
        double sum = 0;
        for (int32_t i = 0; i < n && sum < INFINITY; i++)
            sum += sked_i_kind_time(c, i, c->fastest != NULL ? c->fastest[q] : 0);
        best = fmin(best, sum);
    }
    for (int32_t i = 0; isinf(best) && i < n; i++)
        least += sked_i_shortest_time(c, i);
    return isinf(best) ? least : best;
}

double sked_i_costs_latest_finish(const sked_i_costs *c, const sked_schedule *s)
{
    double latest = 0;
    for (int32_t i = 0; i < c->graph->n_ops; i++) {
        const double finish = s->start[i] + sked_i_time_in(c, s, i);
        latest = finish > latest ? finish : latest;
    }
    return latest;
}

static const sked_machine *machine_of(const sked_problem *p)
{
    return SKED_KNOWS(p, machine) ? p->machine : NULL;
}

double sked_problem_duration(const sked_problem *p, int32_t op, int32_t device)
{
    const sked_graph *g = p->graph;
    if (machine_of(p) == NULL)
        return g->duration[op];
    const char *name = sked_machine_device_name(p->machine, device);
    const char *type = sked_machine_device_type(p->machine, device);
    double x = sked_i_machine_profile_time(p->machine, g, op, device);
    if (isnan(x))
        x = sked_graph_duration_on(g, op, name);
    if (isnan(x) && type != NULL)
        x = sked_graph_duration_on(g, op, type);
    return isnan(x) ? g->duration[op] / p->machine->speed[device] : x;
}

double sked_problem_transfer(const sked_problem *p, int64_t edge, int32_t from, int32_t to)
{
    const sked_i_costs c = {.machine = machine_of(p), .latency = p->latency, .bandwidth = p->bandwidth};
    return sked_i_transfer_time(&c, p->graph->edge_bytes[edge], from, to);
}

const char *sked_problem_device_name(const sked_problem *p, int32_t device, char *buf, size_t size)
{
    if (machine_of(p) != NULL)
        snprintf(buf, size, "%s", sked_machine_device_name(p->machine, device));
    else
        snprintf(buf, size, "%d", (int)device);
    return buf;
}
