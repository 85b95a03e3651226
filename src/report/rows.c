/* Rows of a view: devices, or resources whose ops are packed into rows by interval colouring. */
#include "problem/chaining.h"
#include "report/label.h"
#include "report/view.h"

#include "base/arena.h"
#include "base/heap.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>

static const int32_t most_idle_rows = 1024; /* more devices than this: rows for those in use only */
static const double most_capacity_rows = 16;

/* ------------------------------------------------------------------ packing one group */

typedef struct packer {
    sked_i_event_heap busy, free; /* rows by the time they are free again; free rows by number */
    double *limit;                /* [rows] pipelined: the row is taken again from here on */
    int32_t rows;
    double tolerance, ii;
} packer;

/* The lowest row that is free at `start` until `finish`, or a new one. It is taken until `finish`. */
static int32_t take_row(packer *k, double start, double finish)
{
    assert(start <= finish);
    int32_t row = -1;
    while (k->busy.count > 0 && k->busy.at[0].time <= start + k->tolerance) {
        const int32_t released = sked_i_event_heap_pop(&k->busy).id;
        sked_i_event_heap_push(&k->free, (sked_i_event){released, released});
    }
    while (row < 0 && k->free.count > 0) {
        row = sked_i_event_heap_pop(&k->free).id;
        if (k->limit[row] + k->tolerance < finish)
            row = -1; /* starts only grow: a row too short now is left alone */
    }
    if (row < 0) {
        row = k->rows++;
        k->limit[row] = INFINITY;
    }
    sked_i_event_heap_push(&k->busy, (sked_i_event){finish, row});
    return row;
}

static double phase_of(const packer *k, double start)
{
    const double phase = fmod(start, k->ii);
    return phase < k->ii ? phase : 0;
}

/* Bars longer than II get rows of their own, as many as iterations overlap there and are shown. */
static void place_long(packer *k, sked_i_bar *b, int32_t copies)
{
    const double overlap = ceil((b->finish - b->start - k->tolerance) / k->ii);
    b->lanes = overlap > copies + 1 ? copies + 1 : overlap > 1 ? (int32_t)overlap : 1;
    b->row = k->rows;
    for (int32_t i = 0; i < b->lanes; i++)
        k->limit[k->rows++] = 0;
}

/* A bar across the end of the interval opens a row that is free between its two ends. */
static void place_wrapped(packer *k, sked_i_bar *b, double phase)
{
    b->row = k->rows++;
    k->limit[b->row] = phase;
    sked_i_event_heap_push(&k->busy, (sked_i_event){phase + (b->finish - b->start) - k->ii, b->row});
}

typedef struct phase_item {
    double phase, length;
    int64_t bar;
} phase_item;

static int by_phase(const void *x, const void *y)
{
    const phase_item *a = x, *b = y;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return a->bar < b->bar ? -1 : a->bar > b->bar;
}

static void pack_modulo(packer *k, sked_i_bar *bar, int64_t n, phase_item *item, int32_t copies)
{
    int64_t inside = 0;
    for (int64_t i = 0; i < n; i++) {
        const double length = bar[i].finish - bar[i].start, phase = phase_of(k, bar[i].start);
        if (length >= k->ii - k->tolerance)
            place_long(k, &bar[i], copies);
        else if (phase + length > k->ii + k->tolerance)
            place_wrapped(k, &bar[i], phase);
        else
            item[inside++] = (phase_item){phase, length, i};
    }
    qsort(item, (size_t)inside, sizeof *item, by_phase);
    for (int64_t i = 0; i < inside; i++)
        bar[item[i].bar].row = take_row(k, item[i].phase, item[i].phase + item[i].length);
}

/* Places n bars (by start) into rows 0, 1, ...; returns the number of rows in *rows. */
static sked_status pack_group(const sked_i_view *v, sked_i_bar *bar, int64_t n, int32_t *rows,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    packer k = {.tolerance = v->tolerance, .ii = v->schedule->ii};
    sked_i_arena work = {0};
    SKED_OWN(&work, k.busy.at, n);
    SKED_OWN(&work, k.free.at, n);
    SKED_OWN(&work, k.limit, n * (v->copies + 1));
    if (v->schedule->ii > 0 && !v->in_cycles) {
        phase_item *item;
        SKED_OWN(&work, item, n);
        pack_modulo(&k, bar, n, item, v->copies);
    } else {
        for (int64_t i = 0; i < n; i++)
            bar[i].row = take_row(&k, bar[i].start, bar[i].finish);
    }
    *rows = k.rows;
cleanup:
    sked_i_arena_free(&work);
    return st;
}

/* ------------------------------------------------------------------ bars */

static int by_row(const void *x, const void *y)
{
    const sked_i_bar *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->finish != b->finish)
        return a->finish < b->finish ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

void sked_i_view_drawn(const sked_i_view *v, int32_t op, double *begin, double *end)
{
    *begin = v->schedule->start[op];
    *end = sked_i_view_finish(v, op);
    if (v->in_cycles && sked_i_is_combinational(v->graph, op)) {
        *begin += v->schedule->phase[op] / v->problem->clock;
        *end = *begin + sked_i_delay_in(v->graph, op) / v->problem->clock;
    }
}

static void add_bar(sked_i_view *v, int32_t op, int32_t row, double demand)
{
    sked_i_bar *const b = &v->bar[v->n_bars++];
    *b = (sked_i_bar){0, 0, demand, op, row, 1};
    sked_i_view_drawn(v, op, &b->start, &b->finish);
    v->last = fmax(v->last, b->finish);
}

static int by_number(const void *x, const void *y)
{
    const int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return a < b ? -1 : a > b;
}

/* The devices that get a row, ascending, in row_device. */
static sked_status choose_devices(sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_schedule *s = v->schedule;
    if (s->devices <= most_idle_rows || s->devices / 4 <= s->ops) {
        SKED_OWN(&v->arena, v->row_device, s->devices);
        for (int32_t d = 0; d < s->devices; d++)
            v->row_device[v->n_rows++] = d;
        return SKED_OK;
    }
    SKED_OWN(&v->arena, v->row_device, s->ops);
    for (int32_t i = 0; i < s->ops; i++)
        v->row_device[i] = s->device[i];
    qsort(v->row_device, (size_t)s->ops, sizeof *v->row_device, by_number);
    for (int32_t i = 0; i < s->ops; i++)
        if (i == 0 || v->row_device[i] != v->row_device[i - 1])
            v->row_device[v->n_rows++] = v->row_device[i];
cleanup:
    return st;
}

static sked_status device_rows(sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(choose_devices(v, err));
    SKED_OWN0(&v->arena, v->group, 1);
    SKED_OWN(&v->arena, v->bar, v->graph->n_ops);
    v->n_groups = 1;
    v->group[0] = (sked_i_view_group){SKED_I_DEVICE_ROWS, 0, v->n_rows};
    for (int32_t i = 0; i < v->graph->n_ops; i++) {
        const int32_t device = v->schedule->device[i];
        const int32_t *row =
            v->n_rows > device && v->row_device[device] == device
                ? &v->row_device[device]
                : bsearch(&device, v->row_device, (size_t)v->n_rows, sizeof device, by_number);
        add_bar(v, i, row ? (int32_t)(row - v->row_device) : 0, 1);
    }
cleanup:
    return st;
}

/* Every unit of a small pool has a row even where it is never used: idle capacity stays visible. */
static int32_t rows_of_pool(const sked_i_view *v, int32_t resource, const sked_i_bar *bar, int64_t n,
                            int32_t used)
{
    if (resource < 0)
        return used;
    const double capacity = floor(sked_i_capacity(v->problem, resource));
    for (int64_t i = 0; i < n; i++)
        if (bar[i].demand != 1)
            return used;
    return capacity <= most_capacity_rows && capacity > used ? (int32_t)capacity : used;
}

/* Groups in the order of resources, then the ops that hold nothing; bars carry their group as row. */
static sked_status pack_groups(sked_i_view *v, sked_error *err)
{
    const int32_t n_resources = v->graph->n_resources;
    qsort(v->bar, (size_t)v->n_bars, sizeof *v->bar, by_row);
    for (int64_t lo = 0, hi; lo < v->n_bars; lo = hi) {
        const int32_t key = v->bar[lo].row, resource = key < n_resources ? key : SKED_I_FREE_ROWS;
        for (hi = lo; hi < v->n_bars && v->bar[hi].row == key;)
            hi++;
        int32_t rows = 0;
        const sked_status st = pack_group(v, v->bar + lo, hi - lo, &rows, err);
        if (st != SKED_OK)
            return st;
        rows = rows_of_pool(v, resource, v->bar + lo, hi - lo, rows);
        for (int64_t i = lo; i < hi; i++)
            v->bar[i].row += v->n_rows;
        v->group[v->n_groups++] = (sked_i_view_group){resource, v->n_rows, rows};
        v->n_rows += rows;
    }
    return SKED_OK;
}

static sked_status resource_rows(sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = v->graph;
    SKED_OWN0(&v->arena, v->group, (int64_t)g->n_resources + 1);
    SKED_OWN(&v->arena, v->bar, g->demand_ptr[g->n_ops] + g->n_ops);
    for (int32_t i = 0; i < g->n_ops; i++) {
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++)
            add_bar(v, i, g->demand_resource[k], g->demand_amount[k]);
        if (g->demand_ptr[i] == g->demand_ptr[i + 1])
            add_bar(v, i, g->n_resources, 1);
    }
    SKED_TRY(pack_groups(v, err));
cleanup:
    return st;
}

sked_status sked_i_view_rows(sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(v->schedule->devices > 0 ? device_rows(v, err) : resource_rows(v, err));
    qsort(v->bar, (size_t)v->n_bars, sizeof *v->bar, by_row);
    SKED_OWN0(&v->arena, v->row_ptr, (int64_t)v->n_rows + 1);
    SKED_OWN(&v->arena, v->op_bar, v->graph->n_ops);
    SKED_OWN(&v->arena, v->row_group, v->n_rows);
    for (int32_t k = 0; k < v->n_groups; k++)
        for (int32_t r = 0; r < v->group[k].n_rows; r++)
            v->row_group[v->group[k].first_row + r] = k;
    for (int64_t b = v->n_bars - 1; b >= 0; b--) {
        v->row_ptr[v->bar[b].row + 1]++;
        v->op_bar[v->bar[b].op] = b;
    }
    for (int32_t r = 0; r < v->n_rows; r++)
        v->row_ptr[r + 1] += v->row_ptr[r];
cleanup:
    return st;
}

/* ------------------------------------------------------------------ names */

const char *sked_i_view_group_name(const sked_i_view *v, const sked_i_view_group *group)
{
    if (group->resource >= 0)
        return sked_graph_resource_name(v->graph, group->resource);
    return group->resource == SKED_I_DEVICE_ROWS ? "devices"
           : v->graph->n_resources > 0           ? "no resource"
                                                 : "lane";
}

const char *sked_i_view_device_name(const sked_i_view *v, int32_t device, char *buf, size_t size)
{
    if (v->problem->machine != NULL)
        return sked_i_label_cut(sked_machine_device_name(v->problem->machine, device), 40, buf, size);
    snprintf(buf, size, "device %d", (int)device);
    return buf;
}

const char *sked_i_view_row_name(const sked_i_view *v, int32_t row, char *buf, size_t size)
{
    assert(row >= 0 && row < v->n_rows);
    const sked_i_view_group *group = &v->group[v->row_group[row]];
    if (group->resource == SKED_I_DEVICE_ROWS)
        return sked_i_view_device_name(v, v->row_device[row], buf, size);
    char name[200];
    sked_i_label_cut(sked_i_view_group_name(v, group), 40, name, sizeof name);
    if (group->n_rows == 1)
        snprintf(buf, size, "%s", name);
    else
        snprintf(buf, size, "%s %d", name, (int)(row - group->first_row));
    return buf;
}
