#include "report/profiles.h"

#include "base/memory.h"

#include <assert.h>
#include <stdio.h>

enum { most_devices = 64 }; /* curves of memory by device */

/* The next curve, its profile still empty. */
static sked_i_profile *push(sked_i_curves *c, const char *name, double capacity)
{
    sked_i_curve *curve = &c->curve[c->count++];
    curve->name = name;
    curve->capacity = capacity;
    return &curve->profile;
}

static sked_status add_curve(sked_i_curves *c, const sked_i_view *v, const char *name, double capacity,
                             const sked_i_interval *interval, int64_t n, sked_error *err)
{
    return sked_i_profile_build(interval, n, v->schedule->ii, v->tolerance, push(c, name, capacity), err);
}

/* Ops running at once: on devices, or anywhere where there is no machine. */
static sked_status add_running(sked_i_curves *c, const sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_interval *interval = NULL;
    const bool devices = v->schedule->devices > 0;
    SKED_NEW(interval, v->graph->n_ops);
    for (int32_t i = 0; i < v->graph->n_ops; i++)
        interval[i] = (sked_i_interval){v->schedule->start[i], sked_i_view_finish(v, i), 1};
    SKED_TRY(add_curve(c, v, devices ? "busy devices" : "running ops",
                       devices ? v->schedule->devices : INFINITY, interval, v->graph->n_ops, err));
cleanup:
    free(interval);
    return st;
}

/* One pass over the demands, sorted by resource, and one profile for each resource in use. */
static sked_status add_resources(sked_i_curves *c, const sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = v->graph;
    int64_t *first = NULL;
    sked_i_interval *interval = NULL;
    SKED_NEW0(first, (int64_t)g->n_resources + 2);
    SKED_NEW(interval, g->demand_ptr[g->n_ops]);
    for (int64_t d = 0; d < g->demand_ptr[g->n_ops]; d++)
        first[g->demand_resource[d] + 2]++;
    for (int32_t r = 0; r < g->n_resources; r++)
        first[r + 2] += first[r + 1];
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int64_t d = g->demand_ptr[i]; d < g->demand_ptr[i + 1]; d++)
            interval[first[g->demand_resource[d] + 1]++] =
                (sked_i_interval){v->schedule->start[i], sked_i_view_finish(v, i), g->demand_amount[d]};
    for (int32_t r = 0; r < g->n_resources; r++)
        if (first[r + 1] > first[r])
            SKED_TRY(add_curve(c, v, sked_graph_resource_name(g, r), sked_i_capacity(v->problem, r),
                               interval + first[r], first[r + 1] - first[r], err));
cleanup:
    free(first);
    free(interval);
    return st;
}

static sked_status add_memory(sked_i_curves *c, const sked_i_view *v, sked_error *err)
{
    sked_i_profile *profile = push(c, "memory", v->problem->memory_limit);
    const sked_status st = sked_i_profile_memory(v->problem, &v->costs, v->schedule, -1, profile, err);
    if (st == SKED_OK && !(profile->peak > 0)) {
        sked_i_profile_free(profile);
        c->count--;
    }
    return st;
}

/* Takes the profile of a device's memory over as a curve. */
static void take_device(sked_i_curves *c, const sked_i_view *v, int32_t device, char *name,
                        sked_i_profile *profile)
{
    char text[200];
    sked_i_view_device_name(v, device, text, sizeof text);
    snprintf(name, SKED_I_CURVE_NAME, "memory %s", text);
    *push(c, name, sked_machine_device_memory(v->problem->machine, device)) = *profile;
    *profile = (sked_i_profile){0};
}

/* Memory of every device of a machine that holds anything; pictures show the first ones. */
static sked_status add_devices(sked_i_curves *c, const sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_profile *profile = NULL;
    const int32_t devices = v->schedule->devices;
    int32_t shown = 0;
    SKED_NEW0(profile, devices);
    SKED_NEW(c->device_name, most_devices);
    SKED_TRY(sked_i_profile_devices(v->problem, &v->costs, v->schedule, profile, err));
    for (int32_t d = 0; d < devices && shown < most_devices; d++)
        if (profile[d].peak > 0)
            take_device(c, v, d, c->device_name[shown++], &profile[d]);
cleanup:
    for (int32_t d = 0; profile != NULL && d < devices; d++)
        sked_i_profile_free(&profile[d]);
    free(profile);
    return st;
}

sked_status sked_i_curves_init(sked_i_curves *c, const sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = v->graph;
    const bool pooled = g->demand_ptr[g->n_ops] > 0;
    *c = (sked_i_curves){0};
    SKED_NEW0(c->curve, (int64_t)g->n_resources + 2 + most_devices);
    if (v->schedule->devices > 0 || !pooled)
        SKED_TRY(add_running(c, v, err));
    SKED_TRY(add_resources(c, v, err));
    SKED_TRY(add_memory(c, v, err));
    if (v->problem->machine != NULL && v->schedule->devices > 1)
        SKED_TRY(add_devices(c, v, err));
    return SKED_OK;
cleanup:
    sked_i_curves_free(c);
    return st;
}

void sked_i_curves_free(sked_i_curves *c)
{
    for (int32_t k = 0; k < c->count; k++)
        sked_i_profile_free(&c->curve[k].profile);
    free(c->curve);
    free(c->device_name);
    *c = (sked_i_curves){0};
}
