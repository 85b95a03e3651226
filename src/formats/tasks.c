#include "formats/tasks.h"

#include "base/arena.h"
#include "base/memory.h"

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

sked_status sked_i_tasks_add_pool(sked_i_tasks *t, double capacity, const char *at, sked_error *err)
{
    sked_status st;
    char name[16];
    snprintf(name, sizeof name, "R%d", (int)t->pools + 1);
    SKED_BUILD(t->source, at, sked_builder_add_resource(t->builder, name, capacity, NULL, &cause));
    t->pools++;
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

sked_status sked_i_tasks_add_demand(sked_i_tasks *t, double amount, sked_error *err)
{
    if (!SKED_OWN_GROW(&t->arena, t->demand, t->demand_cap, t->demands + 1))
        return sked_i_no_memory(err);
    t->demand[t->demands++] = amount;
    return SKED_OK;
}

sked_status sked_i_tasks_add_link(sked_i_tasks *t, int32_t from, int32_t to, const char *at, sked_error *err)
{
    if (!SKED_OWN_GROW(&t->arena, t->link, t->link_cap, t->links + 1))
        return sked_i_no_memory(err);
    t->link[t->links++] = (sked_i_task_link){from, to, at};
    return SKED_OK;
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
    if (t->count == 0 || !is_empty(t, 0))
        return false;
    for (int64_t k = 0; k < t->links; k++)
        if (t->link[k].to == t->first_id)
            return false;
    return true;
}

bool sked_i_tasks_is_sink(const sked_i_tasks *t)
{
    if (t->count < 2 || !is_empty(t, t->count - 1))
        return false;
    for (int64_t k = 0; k < t->links; k++)
        if (t->link[k].from == t->first_id + t->count - 1)
            return false;
    return true;
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
