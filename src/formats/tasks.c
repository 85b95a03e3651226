#include "formats/tasks.h"

#include <assert.h>
#include <stdio.h>

sked_status sked_i_tasks_init(sked_i_tasks *t, const sked_i_source *source, const char *kind, sked_error *err)
{
    *t = (sked_i_tasks){.source = source, .first_id = 1};
    const sked_status st = sked_i_text_check(source, kind, err);
    return st == SKED_OK ? sked_i_source_begin(source, NULL, &t->builder, err) : st;
}

void sked_i_tasks_free(sked_i_tasks *t)
{
    sked_builder_destroy(t->builder);
    sked_i_arena_free(&t->arena);
    *t = (sked_i_tasks){0};
}

sked_status sked_i_tasks_read_pools(sked_i_tasks *t, sked_i_scan *s, int32_t count, sked_error *err)
{
    sked_status st = SKED_OK;
    char name[16];
    double x;
    assert(t->pools == 0);
    for (; t->pools < count; t->pools++) {
        SKED_TRY(sked_i_scan_number(s, "the capacity of a resource", &x, err));
        snprintf(name, sizeof name, "R%d", (int)t->pools + 1);
        SKED_BUILD(t->source, s->at - 1, sked_builder_add_resource(t->builder, name, x, NULL, &cause));
    }
cleanup:
    return st;
}

sked_status sked_i_tasks_add(sked_i_tasks *t, double duration, const char *at, sked_error *err)
{
    if (t->count == INT32_MAX - 2)
        return sked_i_source_refuse(t->source, at, SKED_ERR_UNSUPPORTED, err, "more than %d tasks",
                                    (int)t->count);
    if (!SKED_OWN_GROW(&t->arena, t->task, t->task_cap, (int64_t)t->count + 1))
        return sked_i_no_memory(err);
    t->task[t->count++] = (sked_i_task){duration, at};
    return SKED_OK;
}

sked_status sked_i_tasks_read_demands(sked_i_tasks *t, sked_i_scan *s, int32_t count, sked_error *err)
{
    sked_status st = SKED_OK;
    double x;
    for (int32_t k = 0; k < count; k++) {
        SKED_TRY(sked_i_scan_number(s, "a resource demand", &x, err));
        if (!SKED_OWN_GROW(&t->arena, t->demand, t->demand_cap, t->demands + 1))
            return sked_i_no_memory(err);
        t->demand[t->demands++] = x;
    }
cleanup:
    return st;
}

sked_status sked_i_tasks_add_link(sked_i_tasks *t, int32_t from, int32_t to, const char *at, sked_error *err)
{
    if (!SKED_OWN_GROW(&t->arena, t->link, t->link_cap, t->links + 1))
        return sked_i_no_memory(err);
    t->link[t->links++] = (sked_i_task_link){from, to, at};
    return SKED_OK;
}

sked_status sked_i_tasks_read_successors(sked_i_tasks *t, sked_i_scan *s, int32_t id, sked_error *err)
{
    sked_status st;
    int32_t n, to;
    SKED_TRY(sked_i_scan_int(s, "the number of successors", 0, INT32_MAX, &n, err));
    for (int32_t k = 0; k < n; k++) {
        SKED_TRY(sked_i_scan_int(s, "a successor", 1, INT32_MAX, &to, err));
        SKED_TRY(sked_i_tasks_add_link(t, id, to, s->at - 1, err));
    }
cleanup:
    return st;
}

/* Zero duration and no demand: dropping it changes no schedule of the others. */
static bool is_empty(const sked_i_tasks *t, int32_t i)
{
    if (t->task[i].duration > 0)
        return false;
    for (int32_t r = 0; r < t->pools; r++)
        if (t->demand[(int64_t)i * t->pools + r] > 0)
            return false;
    return true;
}

bool sked_i_tasks_is_source(const sked_i_tasks *t)
{
    bool is = t->count > 0 && is_empty(t, 0);
    for (int64_t k = 0; is && k < t->links; k++)
        is = t->link[k].to != t->first_id;
    return is;
}

bool sked_i_tasks_is_sink(const sked_i_tasks *t)
{
    bool is = t->count > 1 && is_empty(t, t->count - 1);
    for (int64_t k = 0; is && k < t->links; k++)
        is = t->link[k].from != t->first_id + t->count - 1;
    return is;
}

static sked_status check_links(const sked_i_tasks *t, sked_error *err)
{
    const int32_t lo = t->first_id, hi = t->first_id + t->count - 1;
    for (int64_t k = 0; k < t->links; k++) {
        const sked_i_task_link *l = &t->link[k];
        const int32_t bad = l->from < lo || l->from > hi ? l->from : l->to;
        if (bad < lo || bad > hi)
            return sked_i_source_fail(t->source, l->at, err, "task %d is unknown: ids run from %d to %d",
                                      (int)bad, (int)lo, (int)hi);
    }
    return SKED_OK;
}

static sked_status build_op(sked_i_tasks *t, int32_t i, sked_error *err)
{
    sked_status st;
    int32_t op;
    char name[16];
    snprintf(name, sizeof name, "%d", (int)(t->first_id + i));
    SKED_BUILD(t->source, t->task[i].at,
               sked_builder_add_op(t->builder, name, NULL, t->task[i].duration, &op, &cause));
    for (int32_t r = 0; r < t->pools; r++)
        SKED_BUILD(t->source, t->task[i].at,
                   sked_builder_add_demand(t->builder, op, r, t->demand[(int64_t)i * t->pools + r], &cause));
cleanup:
    return st;
}

sked_status sked_i_tasks_finish(sked_i_tasks *t, sked_graph **out, sked_error *err)
{
    sked_status st = check_links(t, err);
    if (st != SKED_OK)
        return st;
    assert(t->demands == (int64_t)t->count * t->pools);
    const int32_t begin = sked_i_tasks_is_source(t) ? 1 : 0;
    const int32_t end = t->count - (sked_i_tasks_is_sink(t) ? 1 : 0);
    for (int32_t i = begin; i < end; i++)
        SKED_TRY(build_op(t, i, err));
    for (int64_t k = 0; k < t->links; k++) {
        const int32_t from = t->link[k].from - t->first_id, to = t->link[k].to - t->first_id;
        const sked_edge edge = {from - begin, to - begin, NAN, 0, 0};
        if (from >= begin && to >= begin && from < end && to < end)
            SKED_BUILD(t->source, t->link[k].at, sked_builder_add_edge(t->builder, &edge, &cause));
    }
    SKED_BUILD(t->source, NULL, sked_builder_finish(t->builder, out, &cause));
cleanup:
    return st;
}
