/* Lowers a model to linear rows. */
#include "form/program.h"

#include <assert.h>
#include <stdio.h>

/* Entries allowed per column allowed; windows (from times to) up to which an arc has a row per step. */
enum { entries_per_column = 40, max_step_entries = 40000 };

typedef struct lowering {
    const sked_i_program *m;
    sked_i_mip *mip;
    bool failed;    /* out of memory */
    bool too_large; /* more entries than allowed: nothing more is added */
    int64_t max_entries;
    int32_t makespan, memory;
} lowering;

/* ------------------------------------------------------------------ columns and rows */

static int32_t add_column(lowering *w, struct sked_i_mip_name name, double low, double high, double cost,
                          bool integer)
{
    sked_i_mip *mip = w->mip;
    const int64_t c = mip->n_cols;
    if (w->failed || !SKED_OWN_GROW(&mip->arena, mip->col_low, mip->cap[0], c + 1) ||
        !SKED_OWN_GROW(&mip->arena, mip->col_high, mip->cap[1], c + 1) ||
        !SKED_OWN_GROW(&mip->arena, mip->col_cost, mip->cap[2], c + 1) ||
        !SKED_OWN_GROW(&mip->arena, mip->integer, mip->cap[3], c + 1) ||
        !SKED_OWN_GROW(&mip->arena, mip->name, mip->cap[4], c + 1)) {
        w->failed = true;
        return 0;
    }
    mip->col_low[c] = low;
    mip->col_high[c] = high;
    mip->col_cost[c] = cost;
    mip->integer[c] = integer;
    mip->name[c] = name;
    mip->n_cols++;
    return (int32_t)c;
}

static void begin_row(lowering *w, double low, double high)
{
    sked_i_mip *mip = w->mip;
    const int64_t r = mip->n_rows;
    if (w->failed || !SKED_OWN_GROW(&mip->arena, mip->row_low, mip->row_cap[0], r + 1) ||
        !SKED_OWN_GROW(&mip->arena, mip->row_high, mip->row_cap[1], r + 1) ||
        !SKED_OWN_GROW(&mip->arena, mip->row_begin, mip->row_cap[2], r + 2)) {
        w->failed = true;
        return;
    }
    mip->row_low[r] = low;
    mip->row_high[r] = high;
    mip->row_begin[r] = mip->n_entries;
    mip->n_rows++;
    mip->row_begin[r + 1] = mip->n_entries;
}

static void add_entry(lowering *w, int64_t col, double value)
{
    sked_i_mip *mip = w->mip;
    w->too_large = w->too_large || mip->n_entries >= w->max_entries;
    if (value == 0 || w->too_large)
        return;
    if (w->failed || !SKED_OWN_GROW(&mip->arena, mip->entry_col, mip->entry_cap[0], mip->n_entries + 1) ||
        !SKED_OWN_GROW(&mip->arena, mip->entry_value, mip->entry_cap[1], mip->n_entries + 1)) {
        w->failed = true;
        return;
    }
    assert(mip->n_rows > 0 && col >= 0 && col < mip->n_cols);
    mip->entry_col[mip->n_entries] = (int32_t)col;
    mip->entry_value[mip->n_entries++] = value;
    mip->row_begin[mip->n_rows] = mip->n_entries;
}

/* ------------------------------------------------------------------ starts */

/* Times an x column can stand for: the window, or the slots of the interval. */
static int32_t time_count(const sked_i_program *m, int32_t i)
{
    return m->interval > 0 ? m->interval : m->late[i] - m->early[i] + 1;
}

static int32_t first_time(const sked_i_program *m, int32_t i)
{
    return m->interval > 0 ? 0 : m->early[i];
}

static int64_t x_col(const lowering *w, int32_t i, int32_t time, int32_t place)
{
    assert(place >= 0 && place < w->m->places && time >= first_time(w->m, i));
    assert(time < first_time(w->m, i) + time_count(w->m, i));
    return w->mip->first_col[i] + (int64_t)place * time_count(w->m, i) + (time - first_time(w->m, i));
}

static bool place_allowed(const sked_i_program *m, int32_t i, int32_t place)
{
    const int32_t *fix = m->p->fix_device;
    return m->places == 1 || fix == NULL || fix[i] < 0 || fix[i] == place;
}

/* Full intervals before the start: as many as the window allows. */
static void add_stage(lowering *w, int32_t i)
{
    const double ii = w->m->interval, least = ceil((w->m->early[i] - ii + 1) / ii);
    w->mip->stage_col[i] = add_column(w, (struct sked_i_mip_name){'k', i, 0, -1}, least > 0 ? least : 0,
                                      floor(w->m->late[i] / ii), 0, true);
}

static void add_starts(lowering *w)
{
    const sked_i_program *m = w->m;
    for (int32_t i = 0; i < m->n; i++) {
        w->mip->first_col[i] = w->mip->n_cols;
        for (int32_t k = 0; k < m->places; k++)
            for (int32_t t = 0; t < time_count(m, i); t++)
                (void)add_column(
                    w, (struct sked_i_mip_name){'x', i, first_time(m, i) + t, m->places > 1 ? k : -1}, 0,
                    place_allowed(m, i, k) ? 1 : 0, 0, true);
        if (m->interval > 0)
            add_stage(w, i);
        begin_row(w, 1, 1);
        for (int64_t c = 0; c < (int64_t)m->places * time_count(m, i); c++)
            add_entry(w, w->mip->first_col[i] + c, 1);
    }
    w->mip->first_col[m->n] = w->mip->n_cols;
}

/* factor * start(i) + extra * (i runs on place) into the present row. */
static void add_start_on(lowering *w, int32_t i, double factor, int32_t place, double extra)
{
    const sked_i_program *m = w->m;
    for (int32_t k = 0; k < m->places; k++)
        for (int32_t t = 0; t < time_count(m, i); t++)
            add_entry(w, x_col(w, i, first_time(m, i) + t, k),
                      factor * (first_time(m, i) + t) + (k == place ? extra : 0));
    if (m->interval > 0)
        add_entry(w, w->mip->stage_col[i], factor * m->interval);
}

static void add_start(lowering *w, int32_t i, double factor)
{
    add_start_on(w, i, factor, -1, 0);
}

/* Windows of pipelined starts, which their columns alone do not keep. */
static void add_pipelined_windows(lowering *w)
{
    for (int32_t i = 0; w->m->interval > 0 && i < w->m->n; i++) {
        begin_row(w, w->m->early[i], w->m->late[i]);
        add_start(w, i, 1);
    }
}

/* ------------------------------------------------------------------ arcs */

/* "from starts at t or later" and "to starts before t + gap" exclude each other; places: -1 all. */
static void add_step_row(lowering *w, const sked_i_program_arc *a, int32_t t, int32_t gap, int32_t place)
{
    const sked_i_program *m = w->m;
    const int32_t until = t + gap - 1 < m->late[a->to] ? t + gap - 1 : m->late[a->to];
    if (until < m->early[a->to])
        return;
    begin_row(w, -INFINITY, 1);
    for (int32_t k = 0; k < m->places; k++)
        for (int32_t u = t; (place < 0 || k == place) && u <= m->late[a->from]; u++)
            add_entry(w, x_col(w, a->from, u, k), 1);
    for (int32_t k = 0; k < m->places; k++)
        for (int32_t u = m->early[a->to]; (place < 0 || k != place) && u <= until; u++)
            add_entry(w, x_col(w, a->to, u, k), 1);
}

static void add_arc_by_steps(lowering *w, const sked_i_program_arc *a)
{
    const sked_i_program *m = w->m;
    for (int32_t t = m->early[a->from]; t <= m->late[a->from]; t++) {
        add_step_row(w, a, t, a->gap, -1);
        for (int32_t k = 0; a->transfer > 0 && m->places > 1 && k < m->places; k++)
            add_step_row(w, a, t, a->gap + a->transfer, k);
    }
}

/* start(to) - start(from) >= gap + transfer * (from on k and to elsewhere), for every k. */
static void add_arc_by_sums(lowering *w, const sked_i_program_arc *a)
{
    const sked_i_program *m = w->m;
    begin_row(w, a->gap, INFINITY);
    if (a->from == a->to)
        return; /* nothing but gap <= 0, which the interval's bounds have checked */
    add_start(w, a->to, 1);
    add_start(w, a->from, -1);
    for (int32_t k = 0; a->transfer > 0 && m->places > 1 && k < m->places; k++) {
        begin_row(w, a->gap, INFINITY);
        add_start_on(w, a->to, 1, k, a->transfer);
        add_start_on(w, a->from, -1, k, -a->transfer);
    }
}

/* ------------------------------------------------------------------ pools */

/* How many runs of op i at this (slot) time are under way when it starts at `start`. */
static double runs_at(const sked_i_program *m, int32_t i, int32_t start, int32_t time)
{
    const int32_t d = (int32_t)m->p->graph->duration[i];
    if (m->interval == 0)
        return start <= time && time < start + d;
    const int32_t offset = ((time - start) % m->interval + m->interval) % m->interval;
    return offset < d ? 1 + (d - 1 - offset) / m->interval : 0;
}

/* factor * (runs of op i at time) into the present row; place -1: all. */
static void add_runs(lowering *w, int32_t i, int32_t time, int32_t place, double factor)
{
    const sked_i_program *m = w->m;
    const int32_t d = (int32_t)m->p->graph->duration[i];
    int32_t from = first_time(m, i), to = from + time_count(m, i) - 1;
    if (m->interval == 0) {
        from = from > time - d + 1 ? from : time - d + 1;
        to = to < time ? to : time;
    }
    for (int32_t k = 0; k < m->places; k++)
        for (int32_t t = from; (place < 0 || k == place) && t <= to; t++)
            add_entry(w, x_col(w, i, t, k), factor * runs_at(m, i, t, time));
}

static int32_t slots(const sked_i_program *m)
{
    return m->interval > 0 ? m->interval : m->latest;
}

static void add_pool_rows(lowering *w, int32_t number)
{
    const sked_i_program_pool *q = &w->m->pool[number];
    const int32_t peak = q->measured ? add_column(w, (struct sked_i_mip_name){'P', number, 0, -1}, 0,
                                                  INFINITY, 1, w->m->p->graph->integral)
                                     : -1;
    for (int32_t t = 0; t < slots(w->m); t++) {
        if (q->limited) {
            begin_row(w, -INFINITY, q->capacity);
            for (int32_t k = 0; k < q->count; k++)
                add_runs(w, q->op[k], t, -1, q->amount[k]);
        }
        if (q->measured) {
            begin_row(w, -INFINITY, 0);
            for (int32_t k = 0; k < q->count; k++)
                add_runs(w, q->op[k], t, -1, q->load[k]);
            add_entry(w, peak, -1);
        }
    }
}

static void add_place_rows(lowering *w)
{
    const sked_i_program *m = w->m;
    for (int32_t place = 0; m->places > 1 && place < m->places; place++)
        for (int32_t t = 0; t < slots(m); t++) {
            begin_row(w, -INFINITY, 1);
            for (int32_t i = 0; i < m->n; i++)
                if (m->p->graph->duration[i] > 0)
                    add_runs(w, i, t, place, 1);
        }
}

/* ------------------------------------------------------------------ objectives */

static void add_makespan(lowering *w)
{
    const sked_i_program *m = w->m;
    w->makespan = add_column(w, (struct sked_i_mip_name){'C', 0, 0, -1}, 0, m->latest, 1, true);
    for (int32_t i = 0; i < m->n; i++) {
        begin_row(w, m->p->graph->duration[i], INFINITY);
        add_entry(w, w->makespan, 1);
        add_start(w, i, -1);
    }
}

/* factor * [start(i) <= time] into the present row. */
static void add_started(lowering *w, int32_t i, int32_t time, double factor)
{
    const sked_i_program *m = w->m;
    for (int32_t k = 0; k < m->places; k++)
        for (int32_t t = m->early[i]; t <= m->late[i] && t <= time; t++)
            add_entry(w, x_col(w, i, t, k), factor);
}

/* A value is alive once its op has started and while some consumer has not: a column per value and time. */
static void add_memory(lowering *w)
{
    const sked_i_program *m = w->m;
    const sked_graph *g = m->p->graph;
    w->memory =
        add_column(w, (struct sked_i_mip_name){'M', 0, 0, -1}, 0, INFINITY, 1, w->m->p->graph->integral);
    const int64_t first = w->mip->n_cols;
    for (int32_t i = 0; i < m->n; i++)
        for (int32_t t = 0; t < m->latest; t++)
            (void)add_column(w, (struct sked_i_mip_name){'v', i, t, -1}, 0, g->memory[i] > 0 ? 1 : 0, 0,
                             false);
    for (int64_t k = 0; k < m->n_arcs; k++) {
        const sked_i_program_arc *a = &m->arc[k];
        for (int32_t t = m->early[a->from]; a->passes && g->memory[a->from] > 0 && t < m->late[a->to]; t++) {
            begin_row(w, 0, INFINITY);
            add_entry(w, first + (int64_t)a->from * m->latest + t, 1);
            add_started(w, a->from, t, -1);
            add_started(w, a->to, t, 1);
        }
    }
    for (int32_t t = 0; t < m->latest; t++) {
        begin_row(w, 0, INFINITY);
        add_entry(w, w->memory, 1);
        for (int32_t i = 0; i < m->n; i++)
            add_entry(w, first + (int64_t)i * m->latest + t, -g->memory[i]);
    }
}

/* alpha * (start(to) - start(from) + distance * interval) of every counted arc. */
static void add_communication(lowering *w)
{
    const sked_i_program *m = w->m;
    const double alpha = m->p->alpha;
    for (int64_t k = 0; k < m->n_arcs; k++) {
        const sked_i_program_arc *a = &m->arc[k];
        if (!a->counted)
            continue;
        w->mip->offset += alpha * a->distance * m->interval;
        const int32_t end[] = {a->from, a->to};
        for (int side = 0; side < 2; side++) {
            const int32_t i = end[side];
            const double factor = side ? alpha : -alpha;
            for (int64_t c = 0; c < (int64_t)m->places * time_count(m, i); c++)
                w->mip->col_cost[w->mip->first_col[i] + c] +=
                    factor * (first_time(m, i) + (double)(c % time_count(m, i)));
            if (m->interval > 0)
                w->mip->col_cost[w->mip->stage_col[i]] += factor * m->interval;
        }
    }
}

/* ------------------------------------------------------------------ the whole */

static sked_status check_size(const sked_i_program *m, int64_t max_columns, sked_error *err)
{
    double columns = 1;
    for (int32_t i = 0; i < m->n; i++)
        columns += (double)m->places * time_count(m, i) + 1;
    if (m->objective == SKED_OBJECTIVE_MEMORY)
        columns += (double)m->n * m->latest;
    if (columns > (double)max_columns)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "the model would have %.0f columns, the limit is %.0f; a shorter horizon or coarser "
            "times make it smaller",
            columns, (double)max_columns);
    return SKED_OK;
}

static void lower(lowering *w)
{
    const sked_i_program *m = w->m;
    add_starts(w);
    add_pipelined_windows(w);
    for (int64_t k = 0; k < m->n_arcs; k++)
        if (m->interval > 0 ||
            (int64_t)time_count(m, m->arc[k].from) * time_count(m, m->arc[k].to) > max_step_entries)
            add_arc_by_sums(w, &m->arc[k]);
        else
            add_arc_by_steps(w, &m->arc[k]);
    for (int32_t k = 0; k < m->n_pools; k++)
        add_pool_rows(w, k);
    add_place_rows(w);
    if (m->objective == SKED_OBJECTIVE_MAKESPAN)
        add_makespan(w);
    if (m->objective == SKED_OBJECTIVE_MEMORY)
        add_memory(w);
    if (m->objective == SKED_OBJECTIVE_COST && !w->failed)
        add_communication(w);
}

sked_status sked_i_mip_create(const sked_i_program *m, int64_t max_columns, sked_i_mip **out, sked_error *err)
{
    sked_status st = SKED_OK;
    lowering w = {.m = m, .max_entries = max_columns * entries_per_column};
    SKED_TRY(check_size(m, max_columns, err));
    SKED_NEW0(w.mip, 1);
    SKED_OWN(&w.mip->arena, w.mip->first_col, (int64_t)m->n + 1);
    SKED_OWN0(&w.mip->arena, w.mip->stage_col, m->n);
    lower(&w);
    if (w.failed)
        SKED_TRY(sked_i_no_memory(err));
    if (w.too_large)
        SKED_TRY(sked_i_fail(err, SKED_ERR_UNSUPPORTED, "the model would have more than %.0f entries",
                             (double)w.max_entries));
    *out = w.mip;
    w.mip = NULL;
cleanup:
    sked_i_mip_destroy(w.mip);
    return st;
}

void sked_i_mip_destroy(sked_i_mip *mip)
{
    if (mip == NULL)
        return;
    sked_i_arena_free(&mip->arena);
    free(mip);
}

sked_status sked_i_mip_transpose(const sked_i_mip *mip, sked_i_mip_columns *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_mip_columns t = {0};
    if (mip->n_entries > INT32_MAX - 1 || mip->n_cols > INT32_MAX - 2 || mip->n_rows > INT32_MAX - 1)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "the model has too many entries");
    SKED_OWN0(&t.arena, t.begin, mip->n_cols + 2);
    SKED_OWN(&t.arena, t.row, mip->n_entries);
    SKED_OWN(&t.arena, t.value, mip->n_entries);
    for (int64_t k = 0; k < mip->n_entries; k++)
        t.begin[mip->entry_col[k] + 2]++;
    for (int64_t c = 0; c < mip->n_cols; c++)
        t.begin[c + 2] += t.begin[c + 1];
    for (int64_t r = 0; r < mip->n_rows; r++)
        for (int64_t k = mip->row_begin[r]; k < mip->row_begin[r + 1]; k++) {
            const int32_t at = t.begin[mip->entry_col[k] + 1]++;
            t.row[at] = (int32_t)r;
            t.value[at] = mip->entry_value[k];
        }
    *out = t;
    t = (sked_i_mip_columns){0};
cleanup:
    sked_i_mip_columns_free(&t);
    return st;
}

void sked_i_mip_columns_free(sked_i_mip_columns *c)
{
    sked_i_arena_free(&c->arena);
}

const char *sked_i_mip_column_name(const sked_i_mip *mip, int64_t col, char buf[48])
{
    const struct sked_i_mip_name *n = &mip->name[col];
    switch (n->kind) {
    case 'C':
        return "makespan";
    case 'M':
        return "memory";
    case 'P':
        snprintf(buf, 48, "peak_%d", (int)n->a);
        break;
    case 'k':
        snprintf(buf, 48, "k_%d", (int)n->a);
        break;
    case 'v':
        snprintf(buf, 48, "v_%d_%d", (int)n->a, (int)n->b);
        break;
    default:
        if (n->c >= 0)
            snprintf(buf, 48, "x_%d_%d_%d", (int)n->a, (int)n->b, (int)n->c);
        else
            snprintf(buf, 48, "x_%d_%d", (int)n->a, (int)n->b);
    }
    return buf;
}

void sked_i_mip_decode(const sked_i_program *m, const sked_i_mip *mip, const double *value, sked_schedule *s)
{
    for (int32_t i = 0; i < m->n; i++) {
        int64_t best = mip->first_col[i];
        const int64_t count = (int64_t)m->places * time_count(m, i);
        for (int64_t c = mip->first_col[i]; c < mip->first_col[i] + count; c++)
            best = value[c] > value[best] ? c : best;
        s->start[i] = mip->name[best].b;
        if (m->interval > 0)
            s->start[i] += m->interval * nearbyint(value[mip->stage_col[i]]);
        if (m->places > 1 && s->device)
            s->device[i] = mip->name[best].c;
    }
    s->ii = m->interval;
}
