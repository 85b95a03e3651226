/* The problem in whole steps. */
#include "form/relaxation.h"

#include <assert.h>

static const int64_t most_steps = (int64_t)1 << 24; /* 57,000 ops on 4,400 steps are common, this is not */

/* ------------------------------------------------------------------ times and edges */

static int32_t clip(int64_t t)
{
    return (int32_t)(t < -most_steps ? -most_steps : t > most_steps ? most_steps : t);
}

static sked_status copy_ops(sked_i_relaxation *m, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN(&m->arena, m->lo, m->n);
    SKED_OWN(&m->arena, m->hi, m->n);
    SKED_OWN(&m->arena, m->duration, m->n);
    for (int32_t i = 0; i < m->n; i++) {
        m->lo[i] = clip(m->frame->lo[i]);
        m->hi[i] = clip(m->frame->hi[i]);
        m->duration[i] = clip(m->loop->duration[i]);
        assert(m->lo[i] <= m->hi[i] && m->duration[i] >= 0);
    }
cleanup:
    return st;
}

/* Netlists mostly number their ops in topological order: taken in that order, neighbours lie close together.
 */
static sked_status choose_order(sked_i_relaxation *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = m->g;
    bool numbered = true;
    SKED_OWN(&m->arena, m->order, m->n);
    for (int64_t e = 0; e < g->n_edges; e++)
        numbered = numbered && (g->edge_distance[e] > 0 || g->edge_from[e] < g->edge_to[e]);
    for (int32_t k = 0; k < m->n; k++)
        m->order[k] = numbered ? k : g->topo[k];
cleanup:
    return st;
}

/* An edge is a rule where it can bind; carried edges of an unpipelined problem are none, and no use either.
 */
static sked_status copy_edges(sked_i_relaxation *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = m->g;
    SKED_OWN(&m->arena, m->gap, g->n_edges);
    SKED_OWN(&m->arena, m->shift, g->n_edges);
    SKED_OWN(&m->arena, m->kind, g->n_edges);
    SKED_OWN(&m->arena, m->bytes, g->n_edges);
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int64_t shift = m->period > 0 ? (int64_t)g->edge_distance[e] * m->period : 0;
        if (shift > most_steps)
            SKED_TRY(
                sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                            "gaus takes values that live for up to %lld steps; distance %d at an interval "
                            "of %d is more",
                            (long long)most_steps, (int)g->edge_distance[e], (int)m->period));
        assert(shift >= 0);
        m->shift[e] = (int32_t)shift;
        m->gap[e] = clip(m->loop->lag[e] - shift);
        m->bytes[e] = g->edge_bytes[e] > 0 ? 1 : 0;
        m->kind[e] = g->edge_distance[e] == 0 ? SKED_I_GAUS_EDGE_FORWARD
                     : m->period > 0          ? SKED_I_GAUS_EDGE_CARRIED
                                              : SKED_I_GAUS_EDGE_IGNORED;
        if (sked_i_relaxation_counts(m, e) && !sked_i_passes(g, e))
            m->kind[e] |= SKED_I_GAUS_EDGE_ORDERS;
    }
cleanup:
    return st;
}

/* Sizes of values that have a consumer, and which ops have parallel edges. */
static sked_status copy_memory(sked_i_relaxation *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = m->g;
    int32_t *stamp = NULL;
    SKED_NEW(stamp, m->n);
    SKED_OWN0(&m->arena, m->memory, m->n);
    SKED_OWN0(&m->arena, m->multi, m->n);
    for (int32_t i = 0; i < m->n; i++)
        stamp[i] = -1;
    for (int32_t i = 0; i < m->n; i++)
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            if (!sked_i_relaxation_reads(m, e))
                continue;
            m->multi[i] = m->multi[i] || stamp[g->edge_to[e]] == i;
            stamp[g->edge_to[e]] = i;
            m->memory[i] = m->with_memory ? g->memory[i] : 0;
        }
cleanup:
    free(stamp);
    return st;
}

/* ------------------------------------------------------------------ profiles */

typedef struct profile_map {
    int32_t *limited, *loaded; /* [resources] profile of its capacity, of its weighted load; -1: none */
    int32_t single;            /* profile of the one pool of a graph without demands, -1: none */
} profile_map;

static int32_t new_profile(sked_i_relaxation *m, double weight, double capacity)
{
    assert(m->profiles <= 2 * m->g->n_resources);
    m->weight[m->profiles] = weight;
    m->capacity[m->profiles] = capacity;
    m->capped = m->capped || isfinite(capacity);
    return m->profiles++;
}

static void number_profiles(sked_i_relaxation *m, profile_map *map)
{
    const sked_graph *g = m->g;
    const bool load = m->p->objective == SKED_OBJECTIVE_RESOURCE || m->p->objective == SKED_OBJECTIVE_COST;
    const bool pooled = g->demand_ptr[g->n_ops] > 0;
    for (int32_t r = 0; r < g->n_resources; r++) {
        const double capacity = sked_i_capacity(m->p, r);
        map->limited[r] = isfinite(capacity) ? new_profile(m, 0, capacity) : -1;
        map->loaded[r] = load && pooled ? new_profile(m, 1, INFINITY) : -1;
    }
    map->single = load && !pooled ? new_profile(m, 1, INFINITY) : -1;
    m->weight[m->profiles] = m->with_memory ? 1 : 0;
    m->capacity[m->profiles] = INFINITY;
}

static void add_use(sked_i_relaxation *m, int64_t *count, int32_t profile, double amount)
{
    assert(profile >= 0 && profile < m->profiles && amount >= 0);
    m->use_profile[*count] = profile;
    m->use_amount[(*count)++] = amount;
}

static void add_uses(sked_i_relaxation *m, const profile_map *map, int32_t i, int64_t *count)
{
    const sked_graph *g = m->g;
    m->use_ptr[i] = *count;
    if (m->duration[i] == 0)
        return;
    for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++) {
        const int32_t r = g->demand_resource[k];
        if (map->limited[r] >= 0)
            add_use(m, count, map->limited[r], g->demand_amount[k]);
        if (map->loaded[r] >= 0 && g->weight[i] > 0)
            add_use(m, count, map->loaded[r], g->demand_amount[k] * g->weight[i]);
    }
    if (map->single >= 0 && g->weight[i] > 0)
        add_use(m, count, map->single, g->weight[i]);
}

/* One more amount of profile p. */
static void add_amount(sked_i_relaxation *m, int32_t p, double amount, bool *whole)
{
    m->typical[p] += amount;
    m->largest[p] = fmax(m->largest[p], amount);
    *whole = *whole && amount == floor(amount);
}

/*
 * Differences give the same profile as adding step by step where amounts are whole: all sums are exact. On
 * long rows of other amounts, where adding would take too long, a rounding error is the price; not against a
 * capacity, which may be met to the last bit.
 */
static void choose_differences(sked_i_relaxation *m, const bool *whole)
{
    enum { long_row = 4096 };
    for (int32_t p = 0; p <= m->profiles; p++)
        m->differences[p] =
            whole[p] ? (m->steps + 1) * m->typical[p] < 0x1p53 : m->cells > long_row && isinf(m->capacity[p]);
}

/* Mean and largest amount per profile: the scale of its smoothing. */
static sked_status set_scales(sked_i_relaxation *m, sked_error *err)
{
    sked_status st = SKED_OK;
    double *count;
    bool *whole;
    SKED_OWN0(&m->arena, count, m->profiles + 1);
    SKED_OWN0(&m->arena, m->typical, m->profiles + 1);
    SKED_OWN0(&m->arena, m->largest, m->profiles + 1);
    SKED_OWN(&m->arena, m->differences, m->profiles + 1);
    SKED_OWN(&m->arena, whole, m->profiles + 1);
    for (int32_t p = 0; p <= m->profiles; p++)
        whole[p] = true;
    for (int64_t u = 0; u < m->use_ptr[m->n]; u++) {
        count[m->use_profile[u]]++;
        add_amount(m, m->use_profile[u], m->use_amount[u], &whole[m->use_profile[u]]);
    }
    for (int32_t i = 0; i < m->n; i++) {
        count[m->profiles] += m->memory[i] > 0;
        add_amount(m, m->profiles, m->memory[i], &whole[m->profiles]);
    }
    choose_differences(m, whole);
    for (int32_t p = 0; p <= m->profiles; p++) /* a scale of 0 would divide by it */
        m->typical[p] = count[p] > 0 && m->typical[p] > 0 ? m->typical[p] / count[p] : 1;
cleanup:
    return st;
}

static sked_status make_profiles(sked_i_relaxation *m, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = m->g;
    profile_map map = {0};
    int64_t count = 0;
    SKED_OWN(&m->arena, map.limited, g->n_resources);
    SKED_OWN(&m->arena, map.loaded, g->n_resources);
    SKED_OWN(&m->arena, m->weight, 2 * (int64_t)g->n_resources + 2);
    SKED_OWN(&m->arena, m->capacity, 2 * (int64_t)g->n_resources + 2);
    number_profiles(m, &map);
    SKED_OWN(&m->arena, m->use_ptr, (int64_t)m->n + 1);
    SKED_OWN(&m->arena, m->use_profile, 2 * g->demand_ptr[m->n] + m->n);
    SKED_OWN(&m->arena, m->use_amount, 2 * g->demand_ptr[m->n] + m->n);
    for (int32_t i = 0; i < m->n; i++)
        add_uses(m, &map, i, &count);
    assert(count <= 2 * g->demand_ptr[m->n] + m->n);
    m->use_ptr[m->n] = count;
    SKED_TRY(set_scales(m, err));
    if ((double)(m->profiles + 1) * m->cells > 0x1p28)
        SKED_TRY(sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                             "gaus takes up to 2^28 cells; %d profiles of %d steps are more: scale the times",
                             (int)m->profiles + 1, (int)m->cells));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ creating */

sked_status sked_i_relaxation_create(const sked_problem *p, int64_t ii, int64_t steps,
                                     sked_i_relaxation **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_relaxation *m = NULL;
    assert(ii >= 0);
    *out = NULL;
    if (steps > most_steps || ii > most_steps)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "gaus schedules up to %lld steps, this needs %lld: scale the times or set a horizon",
            (long long)most_steps, (long long)(steps > ii ? steps : ii));
    SKED_NEW0(m, 1);
    *m = (sked_i_relaxation){.p = p,
                             .g = p->graph,
                             .n = p->graph->n_ops,
                             .steps = (int32_t)steps,
                             .period = (int32_t)ii,
                             .cells = (int32_t)(ii > 0 ? ii : steps + 1),
                             .alpha = p->objective == SKED_OBJECTIVE_COST ? p->alpha : 0,
                             .with_memory = p->objective == SKED_OBJECTIVE_MEMORY};
    SKED_TRY(sked_i_loop_create(p, &m->loop, err));
    SKED_TRY(sked_i_frame_create(m->loop, &m->frame, err));
    if (ii > 0 && ii < m->loop->min_ii)
        goto cleanup; /* windows would grow for ever */
    if (!sked_i_frame_set(m->loop, m->frame, ii > 0 ? ii : steps + 1, steps))
        goto cleanup;
    SKED_TRY(copy_ops(m, err));
    SKED_TRY(choose_order(m, err));
    SKED_TRY(copy_edges(m, err));
    SKED_TRY(copy_memory(m, err));
    SKED_TRY(make_profiles(m, err));
    *out = m;
    return SKED_OK;
cleanup:
    sked_i_relaxation_destroy(m);
    return st;
}

void sked_i_relaxation_destroy(sked_i_relaxation *m)
{
    if (m == NULL)
        return;
    sked_i_arena_free(&m->arena);
    sked_i_frame_destroy(m->frame);
    sked_i_loop_destroy(m->loop);
    free(m);
}
