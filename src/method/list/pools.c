/* Everything of which there is a limited amount, as pools with demands. */
#include "method/list/list.h"

void sked_i_pools_free(sked_i_pools *pools)
{
    free(pools->capacity);
    free(pools->slack);
    free(pools->ptr);
    free(pools->pool);
    free(pools->amount);
    *pools = (sked_i_pools){0};
}

static sked_status allocate(int32_t count, int32_t ops, int64_t demands, sked_i_pools *out, sked_error *err)
{
    sked_status st = SKED_OK;
    *out = (sked_i_pools){.count = count};
    SKED_NEW0(out->capacity, count);
    SKED_NEW0(out->slack, count);
    SKED_NEW(out->ptr, (int64_t)ops + 1);
    SKED_NEW(out->pool, demands);
    SKED_NEW(out->amount, demands);
    return SKED_OK;
cleanup:
    sked_i_pools_free(out);
    return st;
}

/* number[r]: the pool of resource r, -1 where it is unlimited. Returns how many there are. */
static int32_t number_pools(const sked_problem *p, int32_t *number)
{
    int32_t count = 0;
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        number[r] = sked_i_capacity(p, r) < INFINITY ? count++ : -1;
    return count;
}

static void fill_demands(const sked_graph *g, const int32_t *number, bool with_devices, sked_i_pools *out)
{
    int64_t k = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        out->ptr[i] = k;
        if (!(g->duration[i] > 0))
            continue; /* holds nothing for no time */
        for (int64_t d = g->demand_ptr[i]; d < g->demand_ptr[i + 1]; d++)
            if (number[g->demand_resource[d]] >= 0) {
                out->pool[k] = number[g->demand_resource[d]];
                out->amount[k++] = g->demand_amount[d];
            }
        if (with_devices) {
            out->pool[k] = out->count - 1;
            out->amount[k++] = 1;
        }
    }
    out->ptr[g->n_ops] = k;
}

sked_status sked_i_pools_make(const sked_problem *p, bool with_devices, sked_i_pools *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    const bool devices = with_devices && p->devices > 0;
    sked_status st = SKED_OK;
    sked_i_pools pools = {0};
    int32_t *number = NULL;
    SKED_NEW(number, g->n_resources);
    const int32_t count = number_pools(p, number);
    SKED_TRY(
        allocate(count + devices, g->n_ops, g->demand_ptr[g->n_ops] + (devices ? g->n_ops : 0), &pools, err));
    for (int32_t r = 0; r < g->n_resources; r++)
        if (number[r] >= 0) {
            pools.capacity[number[r]] = sked_i_capacity(p, r);
            pools.slack[number[r]] = g->integral ? 0 : 1e-10 * fmax(1, sked_i_capacity(p, r));
        }
    if (devices)
        pools.capacity[count] = p->devices;
    fill_demands(g, number, devices, &pools);
    *out = pools;
cleanup:
    free(number);
    return st;
}

sked_status sked_i_pools_of_loads(const sked_problem *p, sked_i_pools *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    const int64_t demands = g->demand_ptr[g->n_ops];
    const bool pooled = demands > 0;
    sked_i_pools pools;
    const sked_status st =
        allocate(pooled ? g->n_resources : 1, g->n_ops, pooled ? demands : g->n_ops, &pools, err);
    if (st != SKED_OK)
        return st;
    int64_t k = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        pools.ptr[i] = k;
        if (!(g->duration[i] > 0) || !(g->weight[i] > 0))
            continue;
        for (int64_t d = g->demand_ptr[i]; pooled && d < g->demand_ptr[i + 1]; d++) {
            pools.pool[k] = g->demand_resource[d];
            pools.amount[k++] = g->demand_amount[d] * g->weight[i];
        }
        if (!pooled) {
            pools.pool[k] = 0;
            pools.amount[k++] = g->weight[i];
        }
    }
    pools.ptr[g->n_ops] = k;
    *out = pools;
    return SKED_OK;
}
