#include "engine/environment/choices.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_choices_init(sked_i_choices *c, const sked_i_instance *x, sked_error *err)
{
    sked_status st = SKED_OK;
    *c = (sked_i_choices){0};
    SKED_OWN(&c->arena, c->column, x->columns + x->kinds);
    SKED_OWN(&c->arena, c->count, x->columns + x->kinds);
cleanup:
    return st;
}

void sked_i_choices_clear(sked_i_choices *c)
{
    sked_i_arena_free(&c->arena);
}

/* ------------------------------------------------------------------ devices */

/* The free time up to which SKED_I_CHOICE_DEVICES used devices are taken, and the last one at that time. */
static sked_i_event last_taken(const sked_i_partial *p)
{
    sked_i_event at[SKED_I_CHOICE_DEVICES + 1];
    sked_i_event_heap kept = {at, 0}; /* least first: times are negated, so the latest is on top */
    for (int32_t k = 0; k < p->n_used; k++) {
        sked_i_event_heap_push(&kept, (sked_i_event){-p->free_at[p->used[k]], -k});
        if (kept.count > SKED_I_CHOICE_DEVICES)
            sked_i_event_heap_pop(&kept);
    }
    return (sked_i_event){-at[0].time, -at[0].id};
}

static void take_column(sked_i_choices *c, const sked_i_partial *p, int32_t column, int32_t count)
{
    c->column[c->n_columns] = column;
    c->count[c->n_columns++] = count;
    c->least_free = p->free_at[column] < c->least_free ? p->free_at[column] : c->least_free;
    c->most_free = sked_i_later(c->most_free, p->free_at[column]);
}

/* Where an op cannot run everywhere every device must be there: another one may not do. */
static void fill_columns(sked_i_choices *c, const sked_i_partial *p)
{
    const sked_i_instance *x = p->instance;
    const bool all = x->picky || p->n_used <= SKED_I_CHOICE_DEVICES;
    sked_i_event bound = {0};
    if (!all)
        bound = last_taken(p);
    c->n_columns = 0;
    c->least_free = INFINITY;
    c->most_free = 0;
    for (int32_t k = 0; k < p->n_used; k++)
        if (all || !sked_i_event_before(bound, (sked_i_event){p->free_at[p->used[k]], k}))
            take_column(c, p, p->used[k], 1);
    for (int32_t k = 0, taken = 0; k < x->kinds && (x->picky || taken < SKED_I_CHOICE_DEVICES); k++) {
        const int32_t kind = x->quickest[k], opened = p->opened[kind];
        if (opened == sked_i_platform_columns(&x->platform, kind))
            continue;
        take_column(c, p, x->kind_first[kind] + opened, x->platform.size[kind] - opened);
        taken++;
    }
}

/* ------------------------------------------------------------------ ops */

/* Earliest start first, then the longest path to the end, then the first to become ready. */
typedef struct candidate {
    double start, tail;
    int32_t index;
} candidate;

static inline bool later_candidate(candidate a, candidate b)
{
    return a.start != b.start ? a.start > b.start : a.tail != b.tail ? a.tail < b.tail : a.index > b.index;
}
SKED_HEAP_DEFINE(candidate_heap, candidate, later_candidate)

static candidate candidate_at(const sked_i_choices *c, const sked_i_partial *p, int32_t index)
{
    const int32_t op = p->ready[index];
    return (candidate){sked_i_later(p->ready_time[op], c->least_free), p->instance->tail[op], index};
}

static void take_op(sked_i_choices *c, const sked_i_partial *p, int32_t index)
{
    c->index[c->n_ops] = index;
    c->row[c->n_ops++] = p->ready[index];
}

static void pick_ops(sked_i_choices *c, const sked_i_partial *p)
{
    candidate at[SKED_I_CHOICE_OPS + 1];
    candidate_heap kept = {at, 0};
    for (int32_t i = 0; i < p->n_ready; i++) {
        const candidate next = candidate_at(c, p, i);
        if (kept.count == SKED_I_CHOICE_OPS && later_candidate(next, at[0]))
            continue;
        candidate_heap_push(&kept, next);
        if (kept.count > SKED_I_CHOICE_OPS)
            candidate_heap_pop(&kept);
    }
    const candidate last = at[0];
    for (int32_t i = 0; i < p->n_ready; i++)
        if (!later_candidate(candidate_at(c, p, i), last))
            take_op(c, p, i);
}

static void fill_ops(sked_i_choices *c, const sked_i_partial *p)
{
    c->n_ops = 0;
    c->first_ready = INFINITY;
    c->top_tail = c->critical = 0;
    for (int32_t i = 0; i < p->n_ready; i++) {
        const int32_t op = p->ready[i];
        const double data = p->ready_time[op], tail = p->instance->tail[op];
        c->first_ready = data < c->first_ready ? data : c->first_ready;
        c->top_tail = sked_i_later(c->top_tail, tail);
        c->critical = sked_i_later(c->critical, sked_i_later(data, c->least_free) + tail);
    }
    if (p->n_ready > SKED_I_CHOICE_OPS) {
        pick_ops(c, p);
        return;
    }
    for (int32_t i = 0; i < p->n_ready; i++)
        take_op(c, p, i);
}

void sked_i_choices_fill(sked_i_choices *c, const sked_i_partial *p)
{
    fill_columns(c, p);
    fill_ops(c, p);
    assert(c->n_columns > 0 && c->n_ops <= SKED_I_CHOICE_OPS && (c->n_ops > 0 || p->n_ready == 0));
}

/* ------------------------------------------------------------------ list scheduling */

/* Keys by which the least pair wins, then the first. */
typedef struct verdict {
    double first, second;
    int32_t pair;
} verdict;

static verdict judge(const sked_i_partial *p, int32_t op, int32_t column, int32_t pair)
{
    const sked_i_instance *x = p->instance;
    const double start = sked_i_partial_start(p, op, column);
    if (!x->transfers && x->kinds == 1)
        return (verdict){start, -p->noise[op], pair};
    const double late = start + sked_i_instance_time(x, op, column) - x->duration[op];
    return (verdict){late - p->noise[op], 0, pair};
}

static verdict best_pair(const sked_i_choices *c, const sked_i_partial *p, bool used_only)
{
    verdict best = {0, 0, -1};
    for (int32_t i = 0; i < c->n_ops; i++)
        for (int32_t d = 0; d < c->n_columns; d++) {
            const int32_t column = c->column[d];
            if ((used_only && p->last[column] < 0) ||
                !(sked_i_instance_time(p->instance, c->row[i], column) < INFINITY))
                continue;
            const verdict v = judge(p, c->row[i], column, i * c->n_columns + d);
            if (best.pair < 0 || v.first < best.first || (v.first == best.first && v.second < best.second))
                best = v;
        }
    return best;
}

int32_t sked_i_choices_list(const sked_i_choices *c, const sked_i_partial *p, int32_t most)
{
    verdict best = {0, 0, -1};
    if (p->n_used >= most)
        best = best_pair(c, p, true);
    return best.pair >= 0 ? best.pair : best_pair(c, p, false).pair;
}

static double walk_list(sked_i_partial *p, sked_i_choices *c, int32_t most)
{
    sked_i_partial_reset(p);
    memcpy(p->noise, p->instance->tail, (size_t)p->instance->n * sizeof *p->noise);
    while (p->left > 0) {
        sked_i_choices_fill(c, p);
        const int32_t pair = sked_i_choices_list(c, p, most);
        assert(pair >= 0); /* every op can run on some device, and the graph has no cycle */
        sked_i_partial_append(p, c->index[pair / c->n_columns], c->column[pair % c->n_columns]);
    }
    return p->makespan;
}

sked_status sked_i_choices_list_makespan(const sked_i_instance *x, double *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_partial p = {0};
    sked_i_choices c = {0};
    SKED_TRY(sked_i_partial_init(&p, x, err));
    SKED_TRY(sked_i_choices_init(&c, x, err));
    *out = walk_list(&p, &c, x->columns);
    for (int32_t most = x->columns / 2; most > 0 && (x->transfers || x->kinds > 1); most /= 2) {
        const double makespan = walk_list(&p, &c, most);
        *out = makespan < *out ? makespan : *out;
    }
cleanup:
    sked_i_partial_clear(&p);
    sked_i_choices_clear(&c);
    return st;
}
