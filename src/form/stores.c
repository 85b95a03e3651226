#include "form/stores.h"

#include <assert.h>

/* Limited devices times ops: what an order needs is kept for each of them, 32 bytes a place. */
static const double most_places = 1 << 26;

void sked_i_stores_free(sked_i_stores *m)
{
    sked_i_pools_free(&m->pools);
    sked_i_arena_free(&m->arena);
    *m = (sked_i_stores){0};
}

/* Half the rounding that the validator allows. */
static double with_slack(const sked_graph *g, double limit)
{
    return limit + (g->integral ? 0 : 0.5e-9 * fmax(1, limit));
}

static sked_status make_stores(sked_i_stores *m, sked_error *err)
{
    const sked_problem *p = m->p;
    sked_status st = SKED_OK;
    m->total = -1;
    SKED_OWN(&m->arena, m->store_of, m->devices);
    SKED_OWN(&m->arena, m->limit, (int64_t)m->devices + 1);
    for (int32_t d = 0; d < m->devices; d++) {
        const double limit = p->machine != NULL ? p->machine->memory[d] : INFINITY;
        m->store_of[d] = limit < INFINITY ? m->stores++ : -1;
        if (limit < INFINITY)
            m->limit[m->store_of[d]] = with_slack(m->g, limit);
    }
    if ((double)m->stores * m->n > most_places)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "%d devices with memory limits are too many for %d ops: at most %.0f of both together",
            (int)m->stores, (int)m->n, most_places);
    if (p->memory_limit < INFINITY) {
        m->total = m->stores++;
        m->limit[m->total] = with_slack(m->g, p->memory_limit);
    }
cleanup:
    return st;
}

static void find_tails(sked_i_stores *m)
{
    const sked_graph *g = m->g;
    for (int32_t k = m->n - 1; k >= 0; k--) {
        const int32_t i = g->topo[k];
        const double time = sked_i_shortest_time(&m->costs, i);
        m->tail[i] = time;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            const double lag = m->costs.machine == NULL || g->edge_lag_given[e] ? g->edge_lag[e] : time;
            if (g->edge_distance[e] == 0)
                m->tail[i] = fmax(m->tail[i], lag + m->tail[g->edge_to[e]]);
        }
    }
}

sked_status sked_i_stores_make(const sked_problem *p, const sked_i_costs *c, sked_i_stores *m,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    assert(p->lifetime != SKED_LIFETIME_AUTO); /* lowered */
    *m = (sked_i_stores){.p = p, .g = p->graph, .costs = *c, .n = p->graph->n_ops};
    m->devices = p->devices > 0 ? p->devices : 1;
    m->occupied = p->devices > 0;
    m->to_finish = p->lifetime == SKED_LIFETIME_FINISH;
    m->hetero = p->machine != NULL || sked_i_has_transfers(p);
    SKED_TRY(sked_i_pools_make(p, false, &m->pools, err));
    SKED_TRY(make_stores(m, err));
    SKED_OWN(&m->arena, m->tail, m->n);
    find_tails(m);
cleanup:
    return st;
}
