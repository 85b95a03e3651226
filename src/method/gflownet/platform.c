#include "method/gflownet/platform.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Every step looks at one empty device of each group. */
enum { most_groups = 4096 };

void sked_i_platform_clear(sked_i_platform *p)
{
    void *const owned[] = {p->size, p->device, p->time, p->latency, p->per_byte, p->bytes};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    *p = (sked_i_platform){0};
}

sked_status sked_i_platform_reserve(sked_i_platform *out, int32_t n, int64_t edges, int32_t devices,
                                    int32_t groups, sked_error *err)
{
    sked_status st = SKED_OK;
    *out = (sked_i_platform){.n = n, .groups = groups, .devices = devices};
    SKED_NEW0(out->size, groups);
    SKED_NEW0(out->device, devices);
    SKED_NEW0(out->time, (int64_t)n * groups);
    SKED_NEW0(out->latency, (int64_t)groups * groups);
    SKED_NEW0(out->per_byte, (int64_t)groups * groups);
    SKED_NEW0(out->bytes, edges);
cleanup:
    return st;
}

/* Devices are alike where their class of times and their group of links are. group_of: [devices] */
static sked_status find_groups(const sked_i_costs *c, int32_t *group_of, int32_t *groups, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_names seen = {0};
    char key[40];
    bool fresh;
    for (int32_t d = 0; d < c->devices; d++) {
        const int32_t links = c->machine != NULL ? c->machine->group[d] : 0;
        const int size = snprintf(key, sizeof key, "%d %d", (int)sked_i_device_class(c, d), (int)links);
        group_of[d] = sked_i_names_add(&seen, key, (size_t)size, &fresh);
        if (group_of[d] < 0)
            SKED_TRY(sked_i_no_memory(err));
    }
    *groups = seen.count;
cleanup:
    sked_i_names_free(&seen);
    return st;
}

/* Sizes and members from group_of; first[groups] gets where the members of each begin. */
static void fill_members(const int32_t *group_of, sked_i_platform *out, int32_t *first)
{
    for (int32_t d = 0; d < out->devices; d++)
        out->size[group_of[d]]++;
    for (int32_t k = 0, at = 0; k < out->groups; k++) {
        first[k] = at;
        at += out->size[k];
    }
    for (int32_t d = 0; d < out->devices; d++)
        out->device[first[group_of[d]]++] = d;
    for (int32_t k = 0; k < out->groups; k++)
        first[k] -= out->size[k];
}

static sked_status fill_times(const sked_i_costs *c, const int32_t *first, sked_i_platform *out,
                              sked_error *err)
{
    for (int32_t i = 0; i < out->n; i++) {
        double least = INFINITY;
        for (int32_t k = 0; k < out->groups; k++) {
            const double t = sked_i_time(c, i, out->device[first[k]]);
            out->time[(int64_t)i * out->groups + k] = t;
            least = t < least ? t : least;
        }
        if (least == INFINITY)
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "op %d can run on no device", (int)i);
    }
    return SKED_OK;
}

static sked_status fill_links(const sked_i_costs *c, const int32_t *first, sked_i_platform *out,
                              sked_error *err)
{
    for (int32_t a = 0; a < out->groups; a++)
        for (int32_t b = 0; b < out->groups; b++) {
            const int64_t at = (int64_t)a * out->groups + b;
            if (a == b && out->size[a] == 1)
                continue; /* no two different devices */
            double latency = c->latency, bandwidth = c->bandwidth;
            if (c->machine != NULL) {
                const int64_t pair =
                    sked_i_machine_pair(c->machine, out->device[first[a]], out->device[first[b] + (a == b)]);
                latency = c->machine->link_latency[pair];
                bandwidth = c->machine->link_bandwidth[pair];
            }
            if (isnan(latency))
                return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                                   "the sampler needs a link between every two devices; '%.60s' and '%.60s' "
                                   "have none",
                                   sked_machine_device_name(c->machine, out->device[first[a]]),
                                   sked_machine_device_name(c->machine, out->device[first[b] + (a == b)]));
            out->latency[at] = latency;
            out->per_byte[at] = 1 / bandwidth;
        }
    return SKED_OK;
}

sked_status sked_i_platform_make(const sked_problem *p, const sked_i_costs *c, sked_i_platform *out,
                                 sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    int32_t *group_of = NULL, *first = NULL, groups = 1;
    *out = (sked_i_platform){0};
    SKED_NEW0(group_of, c->devices);
    if (p->machine != NULL)
        SKED_TRY(find_groups(c, group_of, &groups, err));
    if (groups > most_groups)
        SKED_TRY(sked_i_fail(err, SKED_ERR_UNSUPPORTED, "the sampler takes up to %d kinds of devices, not %d",
                             (int)most_groups, (int)groups));
    SKED_NEW(first, groups);
    SKED_TRY(sked_i_platform_reserve(out, g->n_ops, g->n_edges, c->devices, groups, err));
    fill_members(group_of, out, first);
    if (g->n_edges > 0)
        memcpy(out->bytes, g->edge_bytes, (size_t)g->n_edges * sizeof *out->bytes);
    SKED_TRY(fill_times(c, first, out, err));
    SKED_TRY(fill_links(c, first, out, err));
cleanup:
    free(group_of);
    free(first);
    return st;
}

void sked_i_platform_mean_link(const sked_i_platform *p, double *latency, double *per_byte)
{
    double pairs = 0, sum_latency = 0, sum_byte = 0;
    for (int32_t a = 0; a < p->groups; a++)
        for (int32_t b = 0; b < p->groups; b++) {
            const int64_t at = (int64_t)a * p->groups + b;
            const double count = (double)p->size[a] * (p->size[b] - (a == b));
            sum_latency += count * p->latency[at];
            sum_byte += count * p->per_byte[at];
            pairs += count;
        }
    *latency = pairs > 0 ? sum_latency / pairs : 0;
    *per_byte = pairs > 0 ? sum_byte / pairs : 0;
}

int32_t sked_i_platform_columns(const sked_i_platform *p, int32_t group)
{
    enum { at_least = 256 }; /* the most devices of a stepwise model, which opens them in any order */
    const int32_t most = p->n > at_least ? p->n : at_least;
    return p->size[group] < most ? p->size[group] : most;
}
