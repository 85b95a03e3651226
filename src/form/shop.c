#include "form/shop.h"

#include <assert.h>

/* binds[r]: 0 the resource never limits, 1 no two of its users fit together. false: something between. */
static bool classify(const sked_problem *p, uint8_t *binds, double *least_two)
{
    const sked_graph *g = p->graph;
    double *total = least_two + 2 * (int64_t)g->n_resources;
    for (int32_t r = 0; r < g->n_resources; r++)
        least_two[2 * r] = least_two[2 * r + 1] = INFINITY, total[r] = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int64_t k = g->demand_ptr[i]; g->duration[i] > 0 && k < g->demand_ptr[i + 1]; k++) {
            double *least = &least_two[2 * g->demand_resource[k]];
            const double amount = g->demand_amount[k];
            total[g->demand_resource[k]] += amount;
            if (amount < least[0])
                least[1] = least[0], least[0] = amount;
            else if (amount < least[1])
                least[1] = amount;
        }
    for (int32_t r = 0; r < g->n_resources; r++) {
        const double capacity = sked_i_capacity(p, r);
        binds[r] = total[r] > capacity;
        if (binds[r] && !(least_two[2 * r] + least_two[2 * r + 1] > capacity * (1 + 1e-9)))
            return false;
    }
    return true;
}

/* Which binding resource op i uses: its id, -1 none, -2 several. */
static int32_t binding_resource(const sked_problem *p, const uint8_t *binds, int32_t op)
{
    const sked_graph *g = p->graph;
    int32_t found = -1;
    for (int64_t k = g->demand_ptr[op]; g->duration[op] > 0 && k < g->demand_ptr[op + 1]; k++)
        if (binds[g->demand_resource[k]]) {
            if (found >= 0)
                return -2;
            found = g->demand_resource[k];
        }
    return found;
}

static bool plain_makespan(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    if (p->objective != SKED_OBJECTIVE_MAKESPAN || p->devices != 0 || p->ii != 0)
        return false;
    for (int32_t i = 0; p->fix_start != NULL && i < g->n_ops; i++)
        if (!isnan(p->fix_start[i]))
            return false;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] < 0)
            return false;
    return true;
}

bool sked_i_shop_model_fits(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    if (g->n_ops == 0 || g->n_resources == 0 || !plain_makespan(p))
        return false;
    uint8_t *binds = sked_i_alloc(g->n_resources, sizeof *binds);
    double *scratch = sked_i_alloc(3 * (int64_t)g->n_resources, sizeof *scratch);
    bool fits = binds != NULL && scratch != NULL && classify(p, binds, scratch);
    bool any = false;
    for (int32_t i = 0; fits && i < g->n_ops; i++) {
        const int32_t r = binding_resource(p, binds, i);
        any = any || r >= 0;
        fits = r != -2;
    }
    free(binds);
    free(scratch);
    return fits && any;
}

static sked_status allocate(sked_i_shop_model *m, const sked_graph *g, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = g->n_ops;
    SKED_OWN0(&m->arena, m->duration, n + 1);
    SKED_OWN(&m->arena, m->machine, n);
    SKED_OWN0(&m->arena, m->member_ptr, (int64_t)g->n_resources + 2);
    SKED_OWN(&m->arena, m->member, n);
    SKED_OWN0(&m->arena, m->rank, n);
    SKED_OWN0(&m->arena, m->pair_row, n);
    SKED_OWN0(&m->arena, m->pred_ptr, n + 1);
    SKED_OWN0(&m->arena, m->succ_ptr, n + 1);
    SKED_OWN(&m->arena, m->pred_op, g->n_edges);
    SKED_OWN(&m->arena, m->succ_op, g->n_edges);
    SKED_OWN(&m->arena, m->pred_lag, g->n_edges);
    SKED_OWN(&m->arena, m->succ_lag, g->n_edges);
    SKED_OWN(&m->arena, m->least_lag, n);
    SKED_OWN(&m->arena, m->end, n);
cleanup:
    return st;
}

/* Groups ops by machine; resources that never bind are dropped. */
static void group_members(sked_i_shop_model *m)
{
    int32_t *ptr = m->member_ptr;
    for (int32_t i = 0; i < m->n; i++)
        if (m->machine[i] >= 0)
            ptr[m->machine[i] + 2]++;
    for (int32_t k = 0; k < m->n_machines; k++)
        ptr[k + 2] += ptr[k + 1];
    int64_t pairs = 0;
    for (int32_t i = 0; i < m->n; i++)
        if (m->machine[i] >= 0)
            m->member[ptr[m->machine[i] + 1]++] = i;
    m->n_members = ptr[m->n_machines];
    for (int32_t k = 0; k < m->n_machines; k++) {
        const int64_t count = ptr[k + 1] - ptr[k];
        for (int32_t j = 0; j < count; j++) {
            m->rank[m->member[ptr[k] + j]] = j;
            m->pair_row[m->member[ptr[k] + j]] = pairs + j * count;
        }
        pairs += count * count;
    }
    m->pair_mask = 1;
    while (m->pair_mask < pairs && m->pair_mask < (1 << 22))
        m->pair_mask *= 2;
    m->pair_mask--;
}

static void copy_arcs(sked_i_shop_model *m, const sked_graph *g)
{
    int64_t out = 0, in = 0;
    for (int32_t i = 0; i < m->n; i++) {
        bool last = true;
        m->least_lag[i] = m->machine[i] >= 0 ? m->duration[i] : INFINITY;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            if (g->edge_distance[e] > 0)
                continue;
            m->succ_op[out] = g->edge_to[e];
            m->succ_lag[out++] = g->edge_lag[e];
            last = last && g->edge_lag[e] < m->duration[i];
            m->least_lag[i] = fmin(m->least_lag[i], g->edge_lag[e]);
        }
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
            if (g->edge_distance[g->pred_edge[k]] > 0)
                continue;
            m->pred_op[in] = g->pred_op[k];
            m->pred_lag[in++] = g->edge_lag[g->pred_edge[k]];
        }
        m->succ_ptr[i + 1] = out;
        m->pred_ptr[i + 1] = in;
        if (last)
            m->end[m->n_ends++] = i;
    }
    assert(out == in);
}

sked_status sked_i_shop_model_create(const sked_problem *p, sked_i_shop_model **out, sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    uint8_t *binds = NULL;
    double *scratch = NULL;
    int32_t *number = NULL;
    sked_i_shop_model *m;
    SKED_NEW0(m, 1);
    SKED_NEW(binds, g->n_resources);
    SKED_NEW(scratch, 3 * (int64_t)g->n_resources);
    SKED_NEW(number, g->n_resources);
    m->n = g->n_ops;
    SKED_TRY(allocate(m, g, err));
    if (!classify(p, binds, scratch))
        SKED_TRY(sked_i_fail(err, SKED_ERR_BUG, "not a disjunctive problem"));
    for (int32_t r = 0; r < g->n_resources; r++)
        number[r] = binds[r] ? m->n_machines++ : -1;
    for (int32_t i = 0; i < m->n; i++) {
        const int32_t r = binding_resource(p, binds, i);
        assert(r >= -1); /* sked_i_shop_model_fits */
        m->machine[i] = r < 0 ? -1 : number[r];
        m->duration[i] = g->duration[i];
    }
    group_members(m);
    copy_arcs(m, g);
    *out = m;
    m = NULL;
cleanup:
    free(binds);
    free(scratch);
    free(number);
    sked_i_shop_model_destroy(m);
    return st;
}

void sked_i_shop_model_destroy(sked_i_shop_model *m)
{
    if (m == NULL)
        return;
    sked_i_arena_free(&m->arena);
    free(m);
}
