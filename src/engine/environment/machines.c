#include "engine/environment/machines.h"

#include "base/explog.h"

#include <assert.h>

static double lognormal(sked_i_rng *rng, double spread)
{
    return sked_i_exp(spread * sked_i_rng_normal(rng));
}

static double mean_time(const sked_i_platform *p)
{
    double sum = 0, count = 0;
    for (int64_t k = 0; k < (int64_t)p->n * p->kinds; k++)
        if (p->time[k] < INFINITY) {
            sum += p->time[k];
            count++;
        }
    return count > 0 ? sum / count : 0;
}

void sked_i_law_draw_links(sked_i_platform *p, int64_t edges, double transfer, sked_i_rng *rng)
{
    const double time = transfer * mean_time(p);
    double bytes = 0;
    for (int64_t e = 0; e < edges; e++)
        bytes += p->bytes[e];
    const double fixed = sked_i_rng_uniform(rng), per_byte = bytes > 0 ? time * (double)edges / bytes : 0;
    for (int32_t a = 0; a < p->kinds; a++)
        for (int32_t b = 0; b < p->kinds; b++) {
            const double factor = p->kinds > 1 ? lognormal(rng, 0.5) : 1;
            p->latency[(int64_t)a * p->kinds + b] = factor * (bytes > 0 ? fixed : 1) * time;
            p->per_byte[(int64_t)a * p->kinds + b] = factor * (1 - fixed) * per_byte;
        }
}

/* One size for all that an op hands on, as tensors have. */
static void draw_bytes(const sked_graph *g, sked_i_rng *rng, double *bytes)
{
    for (int32_t i = 0; i < g->n_ops; i++) {
        const double size = lognormal(rng, 1);
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            bytes[e] = size;
    }
}

/* Every op can run in the first kind. */
static void draw_times(const sked_graph *g, sked_i_rng *rng, sked_i_platform *p)
{
    enum { most_kinds = 4 };
    double pace[most_kinds];
    const bool picky = sked_i_rng_uniform(rng) < 0.15;
    const double noise = sked_i_rng_uniform(rng) < 0.5 ? 0.4 : 0;
    for (int32_t k = 0; k < p->kinds; k++)
        pace[k] = sked_i_exp(1.2 * (2 * sked_i_rng_uniform(rng) - 1));
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; k < p->kinds; k++) {
            const double time = g->duration[i] * pace[k] * lognormal(rng, noise);
            const bool able = k == 0 || !picky || sked_i_rng_uniform(rng) > 0.2;
            p->time[(int64_t)i * p->kinds + k] = able ? time : INFINITY;
        }
}

static int32_t draw_kinds(const sked_i_machine_law *law, int32_t devices, sked_i_rng *rng)
{
    if (sked_i_rng_uniform(rng) >= law->unequal || devices < 2)
        return 1;
    const int32_t most = devices < 4 ? devices : 4;
    return 2 + (int32_t)sked_i_rng_below(rng, (uint64_t)(most - 1));
}

static void draw_sizes(sked_i_platform *p, sked_i_rng *rng)
{
    for (int32_t d = 0; d < p->devices; d++) {
        p->device[d] = d;
        p->size[d < p->kinds ? d : (int32_t)sked_i_rng_below(rng, (uint64_t)p->kinds)]++;
    }
}

sked_status sked_i_law_draw_machine(const sked_i_machine_law *law, const sked_graph *g, sked_i_rng *rng,
                                    sked_i_platform *out, sked_error *err)
{
    assert(law->least_devices >= 1 && law->least_devices <= law->most_devices);
    const int32_t devices =
        law->least_devices +
        (int32_t)sked_i_rng_below(rng, (uint64_t)(law->most_devices - law->least_devices + 1));
    const int32_t kinds = draw_kinds(law, devices, rng);
    const sked_status st = sked_i_platform_reserve(out, g->n_ops, g->n_edges, devices, kinds, err);
    if (st != SKED_OK)
        return st;
    double bytes = 0;
    draw_sizes(out, rng);
    if (kinds > 1)
        draw_times(g, rng, out);
    for (int32_t i = 0; i < g->n_ops && kinds == 1; i++)
        out->time[i] = g->duration[i];
    for (int64_t e = 0; e < g->n_edges; e++)
        bytes += out->bytes[e] = g->edge_bytes[e];
    if (!(bytes > 0))
        draw_bytes(g, rng, out->bytes);
    const double least = 0.0625, where = sked_i_rng_uniform(rng);
    if (law->transfers > 0 && sked_i_rng_uniform(rng) < 0.75) {
        const double most = law->transfers > least ? law->transfers : least;
        sked_i_law_draw_links(out, g->n_edges, least * sked_i_exp(where * sked_i_log(most / least)), rng);
    }
    return SKED_OK;
}
