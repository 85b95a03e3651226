/* The profile of a machine: measured times that take the place of a graph's durations. */
#include "base/arena.h"
#include "problem/machine.h"

#include <assert.h>
#include <string.h>

int64_t sked_machine_duration_count(const sked_machine *m)
{
    return m->durations.n;
}

/* The op whose entries hold number i: the last one that begins at or before it. O(log ops). */
static int32_t owner(const sked_i_machine_durations *x, int64_t i)
{
    int32_t lo = 0, hi = x->ops.count;
    assert(i >= 0 && i < x->n);
    while (hi - lo > 1) {
        const int32_t mid = lo + (hi - lo) / 2;
        *(x->first[mid] <= i ? &lo : &hi) = mid;
    }
    return lo;
}

void sked_machine_duration(const sked_machine *m, int64_t i, const char **op, const char **on, double *time)
{
    const sked_i_machine_durations *x = &m->durations;
    *op = sked_i_names_at(&x->ops, owner(x, i));
    *on = x->entry_on[i] < 0 ? NULL : sked_i_names_at(&x->on, x->entry_on[i]);
    *time = x->time[i];
}

static int32_t find_on(const sked_i_machine_durations *x, const char *name)
{
    return name != NULL ? sked_i_names_find(&x->on, name, strlen(name)) : -1;
}

/* Does the graph say that op cannot run on that device, or on its type? */
static bool barred(const sked_graph *g, int32_t op, const sked_machine *m, int32_t device)
{
    const char *type = sked_machine_device_type(m, device);
    return isinf(sked_graph_duration_on(g, op, sked_machine_device_name(m, device))) ||
           (type != NULL && isinf(sked_graph_duration_on(g, op, type)));
}

double sked_i_machine_profile_time(const sked_machine *m, const sked_graph *g, int32_t op, int32_t device)
{
    const sked_i_machine_durations *x = &m->durations;
    char number[16];
    const char *name = g->op_names.count > 0 ? sked_i_names_at(&g->op_names, op)
                                             : sked_graph_op_name(g, op, number, sizeof number);
    const int32_t id = x->n > 0 ? sked_i_names_find(&x->ops, name, strlen(name)) : -1;
    if (id < 0)
        return NAN;
    if (x->entry_on[x->first[id]] < 0)
        return barred(g, op, m, device) ? INFINITY : x->time[x->first[id]] / m->speed[device];
    const int32_t on = find_on(x, sked_machine_device_name(m, device)),
                  type = find_on(x, sked_machine_device_type(m, device));
    const int64_t end = id + 1 < x->ops.count ? x->first[id + 1] : x->n;
    double time = NAN;
    for (int64_t k = x->first[id]; k < end; k++) {
        if (x->entry_on[k] == on)
            return x->time[k];
        time = x->entry_on[k] == type ? x->time[k] : time;
    }
    return time;
}

/* What joins the names of a graph with those of the profile. */
typedef struct joined {
    sked_i_arena arena;
    const sked_i_machine_durations *profile;
    int32_t *of_op;       /* [ops of the graph] op in the profile, -1: none */
    int32_t *name, *type; /* [duration names of the graph] the same and the device's type in it, -1: none */
    int32_t *last;        /* [names of the profile] op + 1 of the graph that named it last */
} joined;

static sked_status join_names(const sked_graph *g, const sked_machine *m, joined *x, sked_error *err)
{
    sked_status st = SKED_OK;
    x->profile = &m->durations;
    SKED_OWN(&x->arena, x->of_op, g->n_ops);
    SKED_OWN(&x->arena, x->name, g->on_names.count);
    SKED_OWN(&x->arena, x->type, g->on_names.count);
    SKED_OWN0(&x->arena, x->last, m->durations.on.count);
    for (int32_t i = 0; i < g->n_ops; i++)
        x->of_op[i] = -1;
    for (int32_t k = 0; k < m->durations.ops.count; k++) {
        const int32_t op = sked_graph_find_op(g, sked_i_names_at(&m->durations.ops, k));
        if (op >= 0)
            x->of_op[op] = k;
    }
    for (int32_t k = 0; k < g->on_names.count; k++) {
        const int32_t device = sked_machine_find_device(m, sked_i_names_at(&g->on_names, k));
        x->name[k] = find_on(x->profile, sked_i_names_at(&g->on_names, k));
        x->type[k] = device >= 0 ? find_on(x->profile, sked_machine_device_type(m, device)) : -1;
    }
cleanup:
    return st;
}

/* Does the profile, which named its devices for this op already, say nothing of where entry k holds? */
static bool stays(const joined *x, const sked_graph *g, int32_t op, int64_t k)
{
    const int32_t name = x->name[g->on_name[k]], type = x->type[g->on_name[k]];
    return !(name >= 0 && x->last[name] == op + 1) && !(type >= 0 && x->last[type] == op + 1);
}

/*
 * What the profile says of an op comes first: a time for all devices, in place of the duration, or times by
 * device. Of the graph's own times those stay that it says nothing of; beside a time for all devices, only
 * that the op cannot run somewhere.
 */
static sked_status copy_op(joined *x, const sked_graph *g, int32_t op, sked_builder *b, sked_error *err)
{
    const sked_i_machine_durations *p = x->profile;
    const int32_t id = x->of_op[op];
    sked_status st = SKED_OK;
    if (id < 0) {
        SKED_TRY(sked_i_graph_copy_op(g, op, g->duration[op], b, err));
        return sked_i_graph_copy_placement(g, op, b, err);
    }
    const int64_t first = p->first[id], end = id + 1 < p->ops.count ? p->first[id + 1] : p->n;
    const bool all = p->entry_on[first] < 0;
    SKED_TRY(sked_i_graph_copy_op(g, op, all ? p->time[first] : g->duration[op], b, err));
    for (int64_t k = first; !all && k < end; k++) {
        x->last[p->entry_on[k]] = op + 1;
        SKED_TRY(sked_builder_add_duration(b, op, sked_i_names_at(&p->on, p->entry_on[k]), p->time[k], err));
    }
    for (int64_t k = g->on_ptr ? g->on_ptr[op] : 0; g->on_ptr && k < g->on_ptr[op + 1]; k++)
        if (all ? isinf(g->on_duration[k]) : stays(x, g, op, k))
            SKED_TRY(sked_builder_add_duration(b, op, sked_i_names_at(&g->on_names, g->on_name[k]),
                                               g->on_duration[k], err));
cleanup:
    return st;
}

sked_status sked_graph_profiled(const sked_graph *g, const sked_machine *m, sked_graph **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_builder *b = NULL;
    joined x = {0};
    SKED_TRY(join_names(g, m, &x, err));
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_graph_copy_begin(g, b, err));
    for (int32_t i = 0; i < g->n_ops; i++)
        SKED_TRY(copy_op(&x, g, i, b, err));
    SKED_TRY(sked_i_graph_copy_edges(g, b, err));
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    sked_i_arena_free(&x.arena);
    return st;
}
