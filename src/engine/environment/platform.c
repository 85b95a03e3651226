#include "engine/environment/platform.h"

#include "problem/kinds.h"

#include <assert.h>
#include <string.h>

/* Every step looks at one empty device of each kind. */
enum { most_kinds = 4096 };

void sked_i_platform_clear(sked_i_platform *p)
{
    sked_i_arena_free(&p->arena);
    *p = (sked_i_platform){0};
}

sked_status sked_i_platform_reserve(sked_i_platform *out, int32_t n, int64_t edges, int32_t devices,
                                    int32_t kinds, sked_error *err)
{
    sked_status st = SKED_OK;
    *out = (sked_i_platform){.n = n, .kinds = kinds, .devices = devices};
    SKED_OWN0(&out->arena, out->size, kinds);
    SKED_OWN0(&out->arena, out->device, devices);
    SKED_OWN0(&out->arena, out->time, (int64_t)n * kinds);
    SKED_OWN0(&out->arena, out->latency, (int64_t)kinds * kinds);
    SKED_OWN0(&out->arena, out->per_byte, (int64_t)kinds * kinds);
    SKED_OWN0(&out->arena, out->bytes, edges);
cleanup:
    return st;
}

/* Every op must be able to run somewhere. */
static sked_status check_times(const sked_i_platform *p, sked_error *err)
{
    for (int32_t i = 0; i < p->n; i++) {
        int32_t k = 0;
        while (k < p->kinds && isinf(p->time[(int64_t)i * p->kinds + k]))
            k++;
        if (k == p->kinds)
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "op %d can run on no device", (int)i);
    }
    return SKED_OK;
}

static sked_status fill_links(const sked_i_costs *c, const sked_i_kinds *like, sked_i_platform *out,
                              sked_error *err)
{
    for (int32_t a = 0; a < out->kinds; a++)
        for (int32_t b = 0; b < out->kinds; b++) {
            const int64_t at = (int64_t)a * out->kinds + b;
            double latency, bandwidth;
            if (a == b && out->size[a] == 1)
                continue; /* no two different devices */
            sked_i_kinds_link(like, c, a, b, &latency, &bandwidth);
            if (isnan(latency))
                return sked_i_fail(
                    err, SKED_ERR_UNSUPPORTED,
                    "the sampler needs a link between every two devices; '%.60s' and '%.60s' "
                    "have none",
                    sked_machine_device_name(c->machine, sked_i_kinds_device(like, a)),
                    sked_machine_device_name(c->machine, like->device[like->first[b] + (a == b)]));
            out->latency[at] = latency;
            out->per_byte[at] = 1 / bandwidth;
        }
    return SKED_OK;
}

sked_status sked_i_platform_check(const sked_i_platform *p, sked_error *err)
{
    int64_t columns = 0;
    for (int32_t k = 0; k < p->kinds; k++)
        columns += sked_i_platform_columns(p, k);
    if (p->n > SKED_I_GFLOWNET_OPS)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "gflownet takes up to %d ops; the graph has %d",
                           (int)SKED_I_GFLOWNET_OPS, (int)p->n);
    if (p->n * columns > SKED_I_GFLOWNET_PAIRS)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "gflownet takes up to %d choices of op and device; %d ops on %d devices have more",
                           (int)SKED_I_GFLOWNET_PAIRS, (int)p->n, (int)p->devices);
    return SKED_OK;
}

sked_status sked_i_platform_make(const sked_problem *p, const sked_i_costs *c, sked_i_platform *out,
                                 sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    sked_i_kinds like = {0};
    *out = (sked_i_platform){0};
    SKED_TRY(sked_i_kinds_make(c, NULL, false, &like, err));
    if (like.count > most_kinds)
        SKED_TRY(sked_i_fail(err, SKED_ERR_UNSUPPORTED, "the sampler takes up to %d kinds of devices, not %d",
                             (int)most_kinds, (int)like.count));
    const sked_i_platform sizes = {
        .n = g->n_ops, .kinds = like.count, .devices = c->devices, .size = like.size};
    SKED_TRY(sked_i_platform_check(&sizes, err)); /* before there are tables */
    SKED_TRY(sked_i_platform_reserve(out, g->n_ops, g->n_edges, c->devices, like.count, err));
    memcpy(out->size, like.size, (size_t)like.count * sizeof *out->size);
    memcpy(out->device, like.device, (size_t)c->devices * sizeof *out->device);
    if (g->n_edges > 0)
        memcpy(out->bytes, g->edge_bytes, (size_t)g->n_edges * sizeof *out->bytes);
    sked_i_kinds_times(&like, c, out->time);
    SKED_TRY(check_times(out, err));
    SKED_TRY(fill_links(c, &like, out, err));
cleanup:
    sked_i_kinds_free(&like);
    return st;
}

void sked_i_platform_mean_link(const sked_i_platform *p, double *latency, double *per_byte)
{
    double pairs = 0, sum_latency = 0, sum_byte = 0;
    for (int32_t a = 0; a < p->kinds; a++)
        for (int32_t b = 0; b < p->kinds; b++) {
            const int64_t at = (int64_t)a * p->kinds + b;
            const double count = (double)p->size[a] * (p->size[b] - (a == b));
            sum_latency += count * p->latency[at];
            sum_byte += count * p->per_byte[at];
            pairs += count;
        }
    *latency = pairs > 0 ? sum_latency / pairs : 0;
    *per_byte = pairs > 0 ? sum_byte / pairs : 0;
}

int32_t sked_i_platform_columns(const sked_i_platform *p, int32_t kind)
{
    assert(kind >= 0 && kind < p->kinds && p->size[kind] > 0);
    enum { at_least = 256 }; /* the most devices of a stepwise model, which opens them in any order */
    const int32_t most = p->n > at_least ? p->n : at_least;
    return p->size[kind] < most ? p->size[kind] : most;
}
