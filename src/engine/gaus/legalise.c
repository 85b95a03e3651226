/* From means to schedules that keep windows, edges and capacities. */
#include "engine/gaus/gaus_relaxation.h"

#include <assert.h>

/* ------------------------------------------------------------------ rounding */

static int32_t rounded(const sked_i_relaxation *m, const double *mu, int32_t i)
{
    const double t = floor(mu[i] + 0.5);
    return t < m->lo[i] ? m->lo[i] : t > m->hi[i] ? m->hi[i] : (int32_t)t;
}

/* Pushes ops later until every edge holds; one pass without loops, at most n with them. */
static void push_later(const sked_i_relaxation *m, int32_t *at)
{
    const sked_graph *g = m->g;
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t k = 0; k < m->n; k++) {
            const int32_t i = m->order[k];
            for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
                const int32_t t = at[i] + m->gap[e];
                if (!sked_i_relaxation_counts(m, e) || t <= at[g->edge_to[e]])
                    continue;
                at[g->edge_to[e]] = t;
                moved = moved || (m->kind[e] & SKED_I_GAUS_EDGE_CARRIED) != 0;
            }
        }
    }
}

static void push_earlier(const sked_i_relaxation *m, int32_t *at)
{
    const sked_graph *g = m->g;
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t k = m->n; k-- > 0;) {
            const int32_t i = m->order[k];
            for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
                const int32_t t = at[g->edge_to[e]] - m->gap[e];
                if (!sked_i_relaxation_counts(m, e) || t >= at[i])
                    continue;
                at[i] = t;
                moved = moved || m->period > 0;
            }
        }
    }
}

void sked_i_gaus_round(const sked_i_relaxation *m, const double *mu, bool earlier, int32_t *at)
{
    for (int32_t i = 0; i < m->n; i++)
        at[i] = rounded(m, mu, i);
    (earlier ? push_earlier : push_later)(m, at);
    for (int32_t i = 0; i < m->n; i++)
        assert(at[i] >= m->lo[i] && at[i] <= m->hi[i]); /* pushed only as far as the windows reckon with */
}

void sked_i_gaus_load_rounded(sked_i_gaus_legaliser *l, const double *mu)
{
    sked_i_gaus_round(l->m, mu, false, l->at);
    sked_i_gaus_state_set(l->state, l->at);
}

/* ------------------------------------------------------------------ capacities */

sked_status sked_i_gaus_legaliser_create(const sked_i_relaxation *m, sked_i_gaus_legaliser **out,
                                         sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_legaliser *l = NULL;
    SKED_NEW0(l, 1);
    l->m = m;
    SKED_TRY(sked_i_gaus_state_create(m, &l->state, err));
    SKED_OWN(&l->arena, l->at, m->n);
    SKED_OWN(&l->arena, l->scratch, m->n);
    SKED_OWN(&l->arena, l->middle, m->n);
    if (m->capped) {
        SKED_OWN(&l->arena, l->sorter, 2 * (int64_t)m->n);
        SKED_TRY(sked_i_ims_create(m->loop, &l->ims, err));
        l->near = *m->frame;
        SKED_OWN(&l->arena, l->near.lo, m->n);
    }
    *out = l;
    return SKED_OK;
cleanup:
    sked_i_gaus_legaliser_destroy(l);
    return st;
}

void sked_i_gaus_legaliser_destroy(sked_i_gaus_legaliser *l)
{
    if (l == NULL)
        return;
    sked_i_gaus_state_destroy(l->state);
    sked_i_ims_destroy(l->ims);
    sked_i_arena_free(&l->arena);
    free(l);
}

/* Places ops in the order of their means; `back` steps before the rounded one are the earliest. */
static bool place_near(sked_i_gaus_legaliser *l, const double *mu, int32_t back, const sked_i_limit *limit)
{
    const sked_i_relaxation *m = l->m;
    sked_i_ims *ims = l->ims;
    assert(ims != NULL && back >= 0);
    for (int32_t i = 0; i < m->n; i++) {
        const int64_t t = (int64_t)l->at[i] - back;
        l->near.lo[i] = t > m->lo[i] ? t : m->lo[i];
        assert(l->near.lo[i] <= l->near.hi[i]);
        l->sorter[i] = (sked_i_keyed){sked_i_sort_key(mu[i]), i};
    }
    sked_i_sort_keyed(l->sorter, l->sorter + m->n, m->n);
    for (int32_t k = 0; k < m->n; k++) {
        ims->order[k] = (int32_t)l->sorter[k].value;
        ims->rank[ims->order[k]] = k;
    }
    if (!sked_i_ims_run(ims, &l->near, 6 * (int64_t)m->n + 16, NULL, limit))
        return false;
    for (int32_t i = 0; i < m->n; i++)
        l->at[i] = (int32_t)ims->start[i];
    return true;
}

static bool legalise_capped(sked_i_gaus_legaliser *l, const double *mu, const sked_i_limit *limit)
{
    const int32_t backs[] = {0, 2, l->m->steps};
    for (int k = 0; k < 3; k++) {
        sked_i_gaus_round(l->m, mu, true, l->at);
        if (!place_near(l, mu, backs[k], limit))
            continue;
        sked_i_gaus_state_set(l->state, l->at);
        return sked_i_gaus_state_legal(l->state);
    }
    return false;
}

/* The value of the schedule `at`, which the state takes over. */
static double value_of(sked_i_gaus_legaliser *l, const int32_t *at)
{
    sked_i_gaus_state_set(l->state, at);
    return sked_i_gaus_state_value(l->state);
}

/*
 * Later, earlier and their middle, the first of the best; later alone once the limit is reached. The middle,
 * rounded down, of two schedules that keep difference constraints keeps them.
 */
bool sked_i_gaus_legalise(sked_i_gaus_legaliser *l, const double *mu, const sked_i_limit *limit)
{
    const sked_i_relaxation *m = l->m;
    if (m->capped)
        return legalise_capped(l, mu, limit);
    sked_i_gaus_load_rounded(l, mu);
    const double later = sked_i_gaus_state_value(l->state);
    if (sked_i_limit_reached(limit)) /* the others take 0.2 s of a million ops */
        return true;
    sked_i_gaus_round(m, mu, true, l->scratch);
    for (int32_t i = 0; i < m->n; i++)
        l->middle[i] = (int32_t)floor(((double)l->at[i] + l->scratch[i]) / 2);
    const double earlier = value_of(l, l->scratch);
    if (!(value_of(l, l->middle) < fmin(later, earlier)))
        sked_i_gaus_state_set(l->state, later <= earlier ? l->at : l->scratch);
    assert(sked_i_gaus_state_legal(l->state));
    return true;
}
