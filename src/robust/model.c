#include "robust/model.h"

#include "base/explog.h"
#include "base/memory.h"
#include "base/text.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Medians are in mean durations (links: also of the bytes of a mean edge); spreads are of the logarithm. */
static const double wide_median = 0.3, wide_spread = 2, known_spread = 1;
static const double start_up_median = 0.01, start_up_spread = 1.5;
static const double warm_spread = 0.15, factor_spread = 0.3, op_spread_median = 0.05, op_spread_spread = 1.5;
static const double noise_median = 0.002, noise_spread = 1.2;
/* Mean and deviation of the logarithm of an exponential variable are -0.577 and 1.283. */
static const double unknown_size_mean = -0.577, unknown_size_spread = 1.283, stored_size_spread = 0.3;

void sked_i_model_close(sked_i_model *m)
{
    sked_i_costs_free(&m->costs);
    sked_i_arena_free(&m->arena);
    *m = (sked_i_model){0};
}

/* ------------------------------------------------------------------ scales of the graph */

static void scale_times(sked_i_model *m)
{
    double sum = 0;
    int64_t count = 0;
    for (int32_t i = 0; i < m->ops; i++) {
        const double t = sked_i_shortest_time(&m->costs, i);
        sum += t < INFINITY ? t : 0;
        count += t < INFINITY;
    }
    m->time_scale = sum > 0 ? sum / (double)count : 1;
}

/* Bytes as the graph says; else what its results take in memory; else sizes of mean 1. */
static sked_status scale_bytes(sked_i_model *m, bool *known, sked_error *err)
{
    const sked_graph *g = m->problem->graph;
    sked_status st = SKED_OK;
    double bytes = 0, stored = 0;
    for (int64_t e = 0; e < g->n_edges; e++) {
        bytes += g->edge_bytes[e];
        stored += g->memory[g->edge_from[e]];
    }
    m->sized = !(bytes > 0);
    *known = stored > 0;
    m->byte_scale = bytes > 0 ? bytes / (double)g->n_edges : stored > 0 ? stored / (double)g->n_edges : 1;
    if (!m->sized)
        return SKED_OK;
    SKED_OWN(&m->arena, m->unit_size, m->ops);
    for (int32_t i = 0; i < m->ops; i++)
        m->unit_size[i] = stored > 0 ? g->memory[i] : 1;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ kinds of devices and of links
 */

/*
 * Typed devices by type; the others by the kind of time that the costs found for them. Not as in
 * problem/kinds.h: devices of a type share what is unknown of them, even if their links or durations differ.
 */
static sked_status find_kinds(sked_i_model *m, sked_error *err)
{
    const sked_machine *machine = m->problem->machine;
    sked_status st = SKED_OK;
    int32_t *name = NULL;
    const int32_t devices = m->costs.devices;
    SKED_OWN0(&m->arena, m->kind_of, devices);
    m->kinds = 1;
    if (machine == NULL)
        return SKED_OK;
    const int32_t types = machine->type_names.count;
    SKED_NEW(name, (int64_t)types + m->costs.time_kinds);
    for (int32_t k = 0; k < types + m->costs.time_kinds; k++)
        name[k] = -1;
    m->kinds = 0;
    for (int32_t d = 0; d < devices; d++) {
        int32_t *at =
            &name[machine->type[d] >= 0 ? machine->type[d] : types + sked_i_device_time_kind(&m->costs, d)];
        *at = *at < 0 ? m->kinds++ : *at;
        m->kind_of[d] = *at;
    }
cleanup:
    free(name);
    return st;
}

int32_t sked_i_model_device(const sked_machine *m, const char *name, int32_t other)
{
    const int32_t device = sked_machine_find_device(m, name);
    const int32_t type = sked_i_names_find(&m->type_names, name, strlen(name));
    for (int32_t d = 0; device < 0 && type >= 0 && d < m->n_devices; d++)
        if (m->type[d] == type && d != other)
            return d;
    return device;
}

/* Which kind the names stand for that durations by device are given for. */
static sked_status find_kinds_of_durations(sked_i_model *m, sked_error *err)
{
    const sked_machine *machine = m->problem->machine;
    const sked_i_names *names = &m->problem->graph->on_names;
    sked_status st = SKED_OK;
    if (machine == NULL || names->count == 0)
        return SKED_OK;
    SKED_OWN(&m->arena, m->on_kind, names->count);
    for (int32_t k = 0; k < names->count; k++) {
        const int32_t device = sked_i_model_device(machine, sked_i_names_at(names, k), -1);
        m->on_kind[k] = device >= 0 ? m->kind_of[device] : -1;
    }
cleanup:
    return st;
}

/* A kind of link: kinds of devices at its ends, latency and bandwidth as the machine says. */
typedef struct link_kind {
    int32_t low, high;
    double latency, bandwidth;
} link_kind;

static int32_t find_link_kind(link_kind *list, int32_t *count, const link_kind *x)
{
    for (int32_t k = 0; k < *count; k++)
        if (list[k].low == x->low && list[k].high == x->high && list[k].latency == x->latency &&
            list[k].bandwidth == x->bandwidth)
            return k;
    if (*count < SKED_I_MOST_LINKS) {
        list[*count] = *x;
        return (*count)++;
    }
    return SKED_I_MOST_LINKS - 1;
}

static sked_status find_link_kinds(sked_i_model *m, link_kind *list, sked_error *err)
{
    const sked_machine *machine = m->problem->machine;
    sked_status st = SKED_OK;
    int32_t *kind = NULL; /* of devices, by kind of the machine's links */
    if (machine == NULL) {
        list[0] = (link_kind){.latency = m->problem->latency, .bandwidth = m->problem->bandwidth};
        m->links = 1;
        return SKED_OK;
    }
    const int32_t n = machine->n_link_kinds;
    SKED_NEW(kind, n);
    SKED_OWN(&m->arena, m->link_of, (int64_t)n * n);
    for (int32_t d = 0; d < machine->n_devices; d++)
        kind[machine->link_kind[d]] = m->kind_of[d];
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b < n; b++) {
            const int64_t at = (int64_t)a * n + b;
            const link_kind x = {.low = kind[a] < kind[b] ? kind[a] : kind[b],
                                 .high = kind[a] < kind[b] ? kind[b] : kind[a],
                                 .latency = machine->link_latency[at],
                                 .bandwidth = machine->link_bandwidth[at]};
            const bool none = isnan(x.latency) || (a == b && machine->link_kind_size[a] < 2);
            m->link_of[at] = none ? -1 : find_link_kind(list, &m->links, &x);
        }
cleanup:
    free(kind);
    return st;
}

int32_t sked_i_model_link(const sked_i_model *m, int32_t from, int32_t to)
{
    if (from == to)
        return -1;
    return m->link_of == NULL ? 0 : m->link_of[sked_i_machine_pair(m->problem->machine, from, to)];
}

/* ------------------------------------------------------------------ the prior */

static void set_prior(sked_i_model *m, int64_t at, double median, double spread)
{
    assert(at < m->count && median >= 0);
    m->mean[at] = sked_i_model_log(median);
    m->spread[at] = spread;
}

static void set_link_prior(sked_i_model *m, int32_t k, const link_kind *x)
{
    const bool delayed = x->latency > 0, limited = x->bandwidth < INFINITY;
    set_prior(m, k, delayed ? x->latency : wide_median * m->time_scale, delayed ? known_spread : wide_spread);
    set_prior(m, m->links + k, limited ? 1 / x->bandwidth : wide_median * m->time_scale / m->byte_scale,
              limited ? known_spread : wide_spread);
}

static sked_status set_priors(sked_i_model *m, const link_kind *list, bool stored, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN0(&m->arena, m->mean, m->count);
    SKED_OWN0(&m->arena, m->spread, m->count);
    for (int32_t k = 0; k < m->links; k++)
        set_link_prior(m, k, &list[k]);
    set_prior(m, m->at_start_up, start_up_median * m->time_scale, start_up_spread);
    set_prior(m, m->at_warm, 1, warm_spread);
    m->mean[m->at_read] = sked_i_nothing; /* until traces show it */
    for (int32_t k = 0; k < m->types; k++)
        m->spread[m->at_type + k] = factor_spread;
    for (int32_t k = 0; k < m->kinds; k++) /* of one kind alone the factors by type say it all */
        m->spread[m->at_kind + k] = m->kinds > 1 ? factor_spread : 0;
    for (int32_t i = 0; i < m->ops; i++)
        m->spread[m->at_op + i] = 1;
    for (int32_t i = 0; m->sized && i < m->ops; i++) {
        m->mean[m->at_size + i] = stored ? 0 : unknown_size_mean;
        m->spread[m->at_size + i] = stored ? stored_size_spread : unknown_size_spread;
    }
    m->op_spread = (sked_i_log_normal){sked_i_log(op_spread_median), op_spread_spread};
    m->noise = (sked_i_log_normal){sked_i_log(noise_median), noise_spread};
cleanup:
    return st;
}

static void lay_out(sked_i_model *m)
{
    m->at_start_up = 2 * (int64_t)m->links;
    m->at_warm = m->at_start_up + 1;
    m->at_read = m->at_warm + 1;
    m->at_type = m->at_read + 1;
    m->at_kind = m->at_type + m->types;
    m->at_op = m->at_kind + m->kinds;
    m->at_size = m->at_op + m->ops;
    m->count = m->at_size + (m->sized ? m->ops : 0);
}

sked_status sked_i_model_open(sked_i_model *m, const sked_problem *p, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    link_kind list[SKED_I_MOST_LINKS];
    bool stored;
    *m = (sked_i_model){.problem = p, .ops = g->n_ops, .types = g->n_types + 1};
    SKED_TRY(sked_i_costs_make(p, &m->costs, err));
    scale_times(m);
    SKED_TRY(scale_bytes(m, &stored, err));
    SKED_OWN(&m->arena, m->type_of, m->ops);
    for (int32_t i = 0; i < m->ops; i++)
        m->type_of[i] = g->type[i] + 1;
    SKED_TRY(find_kinds(m, err));
    SKED_TRY(find_kinds_of_durations(m, err));
    SKED_TRY(find_link_kinds(m, list, err));
    lay_out(m);
    SKED_TRY(set_priors(m, list, stored, err));
cleanup:
    return st;
}

/* A typed device's type; else the first device of the kind. */
static const char *kind_name(const sked_i_model *m, int32_t kind)
{
    const sked_machine *machine = m->problem->machine;
    for (int32_t d = 0; machine != NULL && d < machine->n_devices; d++)
        if (m->kind_of[d] == kind)
            return machine->type[d] >= 0 ? sked_i_names_at(&machine->type_names, machine->type[d])
                                         : sked_machine_device_name(machine, d);
    return "";
}

/* Group of the devices that the machine's links see as one. */
static int32_t kind_behind(const sked_i_model *m, int32_t linked)
{
    const sked_machine *machine = m->problem->machine;
    int32_t d = 0;
    while (machine->link_kind[d] != linked)
        d++;
    return m->kind_of[d];
}

/* Of the first pair of the kind of link. */
static void name_link(const sked_i_model *m, int32_t link, const char *what, sked_i_buffer *out)
{
    const int32_t n = m->links > 1 ? m->problem->machine->n_link_kinds : 0;
    sked_i_buffer_text(out, what);
    for (int64_t k = 0; k < (int64_t)n * n; k++)
        if (m->link_of[k] == link) {
            sked_i_buffer_char(out, ' ');
            sked_i_buffer_text(out, kind_name(m, kind_behind(m, (int32_t)(k / n))));
            sked_i_buffer_char(out, '-');
            sked_i_buffer_text(out, kind_name(m, kind_behind(m, (int32_t)(k % n))));
            return;
        }
}

/* Whole, and not always the only one of that name. */
static void name_parameter(const sked_i_model *m, int64_t k, sked_i_buffer *out)
{
    const sked_i_names *types = &m->problem->graph->type_names;
    const char *const alone[] = {"start-up", "warm input", "remote input",
                                 types->count > 0 ? "untyped ops" : "all ops"};
    if (k < m->at_start_up) {
        name_link(m, (int32_t)(k % m->links), k < m->links ? "latency" : "bandwidth", out);
    } else if (k <= m->at_type) {
        sked_i_buffer_text(out, alone[k - m->at_start_up]);
    } else {
        const bool type = k < m->at_kind;
        sked_i_buffer_text(out, type ? "type " : "device ");
        sked_i_buffer_text(out, type ? sked_i_names_at(types, (int32_t)(k - m->at_type - 1))
                                     : kind_name(m, (int32_t)(k - m->at_kind)));
    }
}

/* Adds a name under which no other parameter is: as much of it as there is room for, and its number. */
static int32_t add_numbered(const sked_i_model *m, sked_i_names *names, const sked_i_buffer *whole, int64_t k)
{
    char name[SKED_I_MODEL_NAME];
    size_t keep = 0;
    int32_t at = 0;
    bool fresh = false;
    for (size_t n = 0; n <= (size_t)whole->size && n <= SKED_I_MODEL_NAME - 28; n++)
        keep = (whole->data[n] & 0xc0) != 0x80 ? n : keep; /* a character begins there */
    for (int64_t number = k; at >= 0 && !fresh; number += m->at_op) {
        snprintf(name, sizeof name, "%.*s%s#%lld", (int)keep, whole->data,
                 keep < (size_t)whole->size ? "..." : "", (long long)number);
        at = sked_i_names_add(names, name, strlen(name), &fresh);
    }
    return at;
}

sked_status sked_i_model_names(const sked_i_model *m, sked_i_names *names, sked_error *err)
{
    sked_i_buffer whole = {0};
    int32_t at = 0;
    for (int64_t k = 0; k < m->at_op && at >= 0 && !whole.failed; k++) {
        bool fresh = false;
        whole.size = 0;
        name_parameter(m, k, &whole);
        if (!whole.failed && whole.size < SKED_I_MODEL_NAME)
            at = sked_i_names_add(names, whole.data, (size_t)whole.size, &fresh);
        if (!whole.failed && at >= 0 && !fresh)
            at = add_numbered(m, names, &whole, k);
    }
    const bool failed = whole.failed || at < 0;
    sked_i_buffer_free(&whole);
    return failed ? sked_i_no_memory(err) : SKED_OK;
}

int64_t sked_i_model_find(const sked_i_model *m, const char *name)
{
    sked_i_buffer whole = {0};
    int64_t found = -1;
    for (int64_t k = 0; k < m->at_op && found < 0 && !whole.failed; k++) {
        whole.size = 0;
        name_parameter(m, k, &whole);
        found = !whole.failed && strcmp(whole.data, name) == 0 ? k : -1;
    }
    sked_i_buffer_free(&whole);
    return found;
}

/* ------------------------------------------------------------------ from parameters to rates */

sked_status sked_i_rates_open(sked_i_rates *r, sked_i_arena *a, const sked_i_model *m, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(a, r->latency, m->links);
    SKED_OWN(a, r->per_byte, m->links);
    SKED_OWN(a, r->factor, m->ops);
    SKED_OWN(a, r->kind, m->kinds);
    if (m->sized)
        SKED_OWN(a, r->size, m->ops);
cleanup:
    return st;
}

/* Most that logarithms are believed: all times made of such rates are finite. */
static const double most_rate = 230, most_factor = 100, most_warm = 20;

static double exp_within(double x, double most)
{
    return sked_i_exp(x > sked_i_nothing ? fmin(x, most) : sked_i_nothing);
}

void sked_i_model_rates(const sked_i_model *m, const double *x, sked_i_rates *r)
{
    for (int32_t k = 0; k < m->links; k++) {
        r->latency[k] = exp_within(x[k], most_rate);
        r->per_byte[k] = exp_within(x[m->links + k], most_rate);
    }
    r->start_up = exp_within(x[m->at_start_up], most_rate);
    r->warm = exp_within(x[m->at_warm], most_warm);
    r->read = m->sized ? 0 : exp_within(x[m->at_read], most_rate);
    for (int32_t k = 0; k < m->kinds; k++)
        r->kind[k] = exp_within(x[m->at_kind + k], most_factor);
    for (int32_t i = 0; i < m->ops; i++)
        r->factor[i] = exp_within(x[m->at_type + m->type_of[i]] + x[m->at_op + i], most_factor);
    for (int32_t i = 0; m->sized && i < m->ops; i++)
        r->size[i] = m->unit_size[i] * exp_within(x[m->at_size + i], most_factor);
}

void sked_i_model_state(const sked_i_model *m, sked_i_rates *r)
{
    for (int32_t k = 0; k < m->links; k++)
        r->per_byte[k] += r->read;
    r->read = 0;
    r->warm = 1;
}

/* ------------------------------------------------------------------ schedules compiled for the model */

static sked_status order_ops(sked_i_timing *r, const sked_graph *g, const sked_schedule *s, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *last = NULL;
    SKED_NEW(last, s->devices);
    SKED_TRY(sked_i_schedule_order(g, s->start, r->order, err));
    for (int32_t d = 0; d < s->devices; d++)
        last[d] = -1;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = r->order[k];
        r->before[i] = last[s->device[i]];
        last[s->device[i]] = i;
    }
cleanup:
    free(last);
    return st;
}

static void copy_edges(sked_i_timing *r, const sked_i_model *m, const sked_schedule *s)
{
    const sked_graph *g = m->problem->graph;
    int64_t k = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        r->row[i] = k;
        for (int64_t q = g->pred_ptr[i]; q < g->pred_ptr[i + 1]; q++) {
            const int64_t e = g->pred_edge[q];
            if (g->edge_distance[e] == 0)
                r->edge[k++] =
                    (sked_i_timing_edge){.from = g->pred_op[q],
                                         .link = sked_i_model_link(m, s->device[g->pred_op[q]], s->device[i]),
                                         .bytes = g->edge_bytes[e],
                                         .lag = g->edge_lag_given[e] ? g->edge_lag[e] : NAN};
        }
    }
    r->row[g->n_ops] = k;
}

/* Part of the start-up cost that counts on the device: all of it where the graph gives a time for there. */
static double start_up_share(const sked_i_model *m, int32_t op, int32_t device)
{
    const sked_machine *machine = m->problem->machine;
    if (machine == NULL)
        return 1;
    const char *type = sked_machine_device_type(machine, device);
    double given = NAN;
    if (m->costs.row != NULL && m->costs.row[op] >= 0)
        given = sked_graph_duration_on(m->problem->graph, op, sked_machine_device_name(machine, device));
    if (isnan(given) && type != NULL && m->costs.row != NULL && m->costs.row[op] >= 0)
        given = sked_graph_duration_on(m->problem->graph, op, type);
    return isnan(given) ? fmin(1 / machine->speed[device], 1e100) : 1;
}

static void set_time(sked_i_timing *r, const sked_i_model *m, int32_t op, int32_t device)
{
    r->kind[op] = m->kind_of[device];
    r->base[op] = sked_i_time(&m->costs, op, device);
    r->share[op] = r->base[op] > 0 ? start_up_share(m, op, device) : 0;
}

/* Once the links of its edges are set. */
static void set_remote(sked_i_timing *r, int32_t op)
{
    r->remote[op] = 0;
    for (int64_t k = r->row[op]; k < r->row[op + 1]; k++)
        r->remote[op] += r->edge[k].link >= 0 ? r->edge[k].bytes : 0;
}

void sked_i_timing_place(sked_i_timing *r, const sked_i_model *m, const int32_t *device, int32_t op)
{
    const sked_graph *g = m->problem->graph;
    set_time(r, m, op, device[op]);
    for (int64_t k = r->row[op]; k < r->row[op + 1]; k++)
        r->edge[k].link = sked_i_model_link(m, device[r->edge[k].from], device[op]);
    set_remote(r, op);
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++) {
        const int32_t to = g->edge_to[e];
        for (int64_t k = r->row[to]; k < r->row[to + 1]; k++)
            if (r->edge[k].from == op)
                r->edge[k].link = sked_i_model_link(m, device[op], device[to]);
        set_remote(r, to);
    }
}

sked_status sked_i_timing_open(sked_i_timing *r, sked_i_arena *a, const sked_i_model *m,
                               const sked_schedule *s, sked_error *err)
{
    const sked_graph *g = m->problem->graph;
    sked_status st = SKED_OK;
    *r = (sked_i_timing){.ops = g->n_ops};
    assert(s->ops == g->n_ops && s->devices == m->costs.devices);
    SKED_OWN(a, r->order, g->n_ops);
    SKED_OWN(a, r->before, g->n_ops);
    SKED_OWN(a, r->kind, g->n_ops);
    SKED_OWN(a, r->base, g->n_ops);
    SKED_OWN(a, r->share, g->n_ops);
    SKED_OWN(a, r->remote, g->n_ops);
    SKED_OWN(a, r->row, (int64_t)g->n_ops + 1);
    SKED_OWN(a, r->edge, g->n_edges - g->n_carried);
    SKED_TRY(order_ops(r, g, s, err));
    copy_edges(r, m, s);
    for (int32_t i = 0; i < g->n_ops; i++) {
        set_time(r, m, i, s->device[i]);
        set_remote(r, i);
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ a guess as a problem */

void sked_i_guess_close(sked_i_guess *g)
{
    sked_graph_destroy(g->graph);
    sked_i_arena_free(&g->arena);
    *g = (sked_i_guess){0};
}

/* An op without duration is an event: it costs no start-up. */
static double guessed_time(double base, double factor, const sked_i_rates *r)
{
    return base > 0 ? (base + r->start_up) * factor : base;
}

static sked_status guess_graph(sked_i_guess *g, const sked_i_model *m, const sked_i_rates *r, sked_error *err)
{
    const sked_graph *from = m->problem->graph;
    sked_status st = SKED_OK;
    double *duration = NULL;
    SKED_NEW(duration, m->ops);
    for (int32_t i = 0; i < m->ops; i++)
        duration[i] =
            guessed_time(from->duration[i], r->factor[i] * (m->problem->machine ? 1 : r->kind[0]), r);
    SKED_TRY(sked_i_graph_with_durations(from, duration, &g->graph, err));
    for (int32_t i = 0; from->on_ptr != NULL && i < m->ops; i++)
        for (int64_t k = from->on_ptr[i]; k < from->on_ptr[i + 1]; k++) {
            const int32_t kind = m->on_kind != NULL ? m->on_kind[from->on_name[k]] : -1;
            g->graph->on_duration[k] =
                guessed_time(from->on_duration[k], r->factor[i] * (kind < 0 ? 1 : r->kind[kind]), r);
        }
    for (int64_t e = 0; m->sized && e < from->n_edges; e++)
        g->graph->edge_bytes[e] = r->size[from->edge_from[e]];
    g->graph->integral = false;
    g->problem.graph = g->graph;
cleanup:
    free(duration);
    return st;
}

static sked_status guess_machine(sked_i_guess *g, const sked_i_model *m, const sked_i_rates *r,
                                 sked_error *err)
{
    const sked_machine *from = m->problem->machine;
    const int64_t pairs = (int64_t)from->n_link_kinds * from->n_link_kinds;
    sked_status st = SKED_OK;
    SKED_OWN(&g->arena, g->speed, from->n_devices);
    SKED_OWN(&g->arena, g->latency, pairs);
    SKED_OWN(&g->arena, g->bandwidth, pairs);
    for (int32_t d = 0; d < from->n_devices; d++)
        g->speed[d] = from->speed[d] / r->kind[m->kind_of[d]];
    for (int64_t k = 0; k < pairs; k++) {
        const int32_t link = m->link_of[k];
        assert(link < m->links);
        g->latency[k] = link < 0 ? from->link_latency[k] : r->latency[link];
        g->bandwidth[k] = link < 0 ? from->link_bandwidth[k] : 1 / r->per_byte[link];
    }
    g->machine = *from;
    g->machine.speed = g->speed;
    g->machine.link_latency = g->latency;
    g->machine.link_bandwidth = g->bandwidth;
    g->problem.machine = &g->machine;
cleanup:
    return st;
}

sked_status sked_i_guess_open(sked_i_guess *g, const sked_i_model *m, const sked_i_rates *r, sked_error *err)
{
    *g = (sked_i_guess){.problem = *m->problem};
    g->problem.horizon = INFINITY; /* a promise of the problem, not of a guess */
    if (m->problem->machine != NULL) {
        const sked_status st = guess_machine(g, m, r, err);
        if (st != SKED_OK)
            return st;
    } else {
        g->problem.latency = r->latency[0];
        g->problem.bandwidth = 1 / r->per_byte[0];
    }
    return guess_graph(g, m, r, err);
}
