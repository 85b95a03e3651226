#include "form/pools.h"

#include "base/hash.h"

#include <assert.h>
#include <string.h>

void sked_i_pools_free(sked_i_pools *pools)
{
    sked_i_arena_free(&pools->arena);
    *pools = (sked_i_pools){0};
}

/* Finds or adds classes while ops are gone through in order. */
typedef struct sorter {
    sked_i_arena arena;
    sked_i_pools *pools;
    int32_t ops;
    int64_t ptr_cap, pool_cap, amount_cap;
    int32_t *slot; /* open addressing from demands to classes, -1: empty */
    int64_t slots;
    int32_t *pool; /* demands of the op at hand */
    double *amount;
    int64_t n;
    int32_t last; /* class of the op before, -1: none */
    sked_i_hash_key key;
} sorter;

static sked_status sorter_make(int32_t count, int32_t ops, sked_i_pools *pools, sorter *s, sked_error *err)
{
    sked_status st = SKED_OK;
    *pools = (sked_i_pools){.count = count};
    *s = (sorter){.arena = s->arena, .pools = pools, .ops = ops, .last = -1, .key = sked_i_hash_key_new()};
    SKED_OWN0(&pools->arena, pools->capacity, count);
    SKED_OWN0(&pools->arena, pools->slack, count);
    SKED_OWN(&s->arena, s->pool, count);
    SKED_OWN(&s->arena, s->amount, count);
    if (!SKED_OWN_GROW(&pools->arena, pools->class_ptr, s->ptr_cap, 1))
        return sked_i_no_memory(err);
    pools->class_ptr[0] = 0;
cleanup:
    return st;
}

static bool is_class(const sorter *s, int32_t c)
{
    const sked_i_pools *q = s->pools;
    const int64_t first = q->class_ptr[c];
    if (q->class_ptr[c + 1] - first != s->n)
        return false;
    for (int64_t k = 0; k < s->n; k++)
        if (q->pool[first + k] != s->pool[k] || q->amount[first + k] != s->amount[k])
            return false;
    return true;
}

static uint64_t hash(const sorter *s, const int32_t *pool, const double *amount, int64_t n)
{
    sked_i_hasher h = sked_i_hash_begin(s->key);
    sked_i_hash_add(&h, (uint64_t)n);
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits;
        memcpy(&bits, &amount[k], sizeof bits);
        sked_i_hash_add(&h, (uint64_t)pool[k]);
        sked_i_hash_add(&h, bits);
    }
    return sked_i_hash_end(&h);
}

/* Keeps the table at most half full with one class more. false: no memory. */
static bool grow_table(sorter *s)
{
    const sked_i_pools *q = s->pools;
    if (2 * ((int64_t)q->n_classes + 1) <= s->slots)
        return true;
    const int64_t slots = s->slots ? 2 * s->slots : 64;
    int32_t *slot = sked_i_arena_alloc(&s->arena, slots, sizeof *slot);
    if (slot == NULL)
        return false;
    sked_i_arena_drop(&s->arena, s->slot);
    s->slot = slot;
    s->slots = slots;
    for (int64_t k = 0; k < slots; k++)
        slot[k] = -1;
    for (int32_t c = 0; c < q->n_classes; c++) {
        const int64_t first = q->class_ptr[c];
        uint64_t k = hash(s, q->pool + first, q->amount + first, q->class_ptr[c + 1] - first);
        while (slot[k & (uint64_t)(slots - 1)] >= 0)
            k++;
        slot[k & (uint64_t)(slots - 1)] = c;
    }
    return true;
}

static bool add_class(sorter *s)
{
    sked_i_pools *q = s->pools;
    const int64_t end = q->class_ptr[q->n_classes] + s->n;
    if (!SKED_OWN_GROW(&q->arena, q->class_ptr, s->ptr_cap, (int64_t)q->n_classes + 2) ||
        !SKED_OWN_GROW(&q->arena, q->pool, s->pool_cap, end) ||
        !SKED_OWN_GROW(&q->arena, q->amount, s->amount_cap, end))
        return false;
    for (int64_t k = 0; k < s->n; k++) {
        q->pool[end - s->n + k] = s->pool[k];
        q->amount[end - s->n + k] = s->amount[k];
    }
    q->class_ptr[++q->n_classes] = end;
    return true;
}

/* Puts op i, whose demands are at hand, into its class. false: no memory. O(demands) expected. */
static bool sort_op(sorter *s, int32_t i)
{
    sked_i_pools *q = s->pools;
    if (s->last < 0 || !is_class(s, s->last)) {
        if (!grow_table(s))
            return false;
        const uint64_t mask = (uint64_t)s->slots - 1;
        uint64_t k = hash(s, s->pool, s->amount, s->n);
        while (s->slot[k & mask] >= 0 && !is_class(s, s->slot[k & mask]))
            k++;
        if (s->slot[k & mask] < 0) {
            if (!add_class(s))
                return false;
            s->slot[k & mask] = q->n_classes - 1;
        }
        s->last = s->slot[k & mask];
    }
    if (q->class_of == NULL && q->n_classes > 1) /* all before were of class 0 */
        if ((q->class_of = sked_i_arena_alloc_zero(&q->arena, s->ops, sizeof *q->class_of)) == NULL)
            return false;
    if (q->class_of != NULL)
        q->class_of[i] = s->last;
    return true;
}

static void add_demand(sorter *s, int32_t pool, double amount)
{
    assert(s->n < s->pools->count && pool >= 0 && pool < s->pools->count);
    s->pool[s->n] = pool;
    s->amount[s->n++] = amount;
}

/* number[r]: the pool of resource r, -1 where it is unlimited. Returns how many there are. */
static int32_t number_pools(const sked_problem *p, int32_t *number)
{
    int32_t count = 0;
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        number[r] = sked_i_capacity(p, r) < INFINITY ? count++ : -1;
    return count;
}

/* On heterogeneous devices an op may take time where its duration says none: it has demands in any case. */
static bool sort_ops(sorter *s, const sked_problem *p, const int32_t *number, bool with_devices)
{
    const sked_graph *g = p->graph;
    for (int32_t i = 0; i < g->n_ops; i++) {
        const bool holds = g->duration[i] > 0 || p->machine != NULL; /* else nothing, for no time */
        s->n = 0;
        for (int64_t d = g->demand_ptr[i]; holds && d < g->demand_ptr[i + 1]; d++)
            if (number[g->demand_resource[d]] >= 0)
                add_demand(s, number[g->demand_resource[d]], g->demand_amount[d]);
        if (holds && with_devices)
            add_demand(s, s->pools->count - 1, 1);
        if (!sort_op(s, i))
            return false;
    }
    return true;
}

sked_status sked_i_pools_make(const sked_problem *p, bool with_devices, sked_i_pools *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    const bool devices = with_devices && p->devices > 0;
    sked_status st = SKED_OK;
    *out = (sked_i_pools){0};
    sorter s = {0};
    int32_t *number;
    SKED_OWN(&s.arena, number, g->n_resources);
    const int32_t count = number_pools(p, number);
    SKED_TRY(sorter_make(count + devices, g->n_ops, out, &s, err));
    for (int32_t r = 0; r < g->n_resources; r++)
        if (number[r] >= 0) {
            out->capacity[number[r]] = sked_i_capacity(p, r);
            out->slack[number[r]] = g->integral ? 0 : 1e-10 * fmax(1, sked_i_capacity(p, r));
        }
    if (devices)
        out->capacity[count] = p->devices;
    if (!sort_ops(&s, p, number, devices))
        SKED_TRY(sked_i_no_memory(err));
cleanup:
    if (st != SKED_OK)
        sked_i_pools_free(out);
    sked_i_arena_free(&s.arena);
    return st;
}

sked_status sked_i_pools_of_loads(const sked_problem *p, sked_i_pools *out, sked_error *err)
{
    const sked_graph *g = p->graph;
    const bool pooled = g->demand_ptr[g->n_ops] > 0;
    sked_status st = SKED_OK;
    sorter s = {0};
    SKED_TRY(sorter_make(pooled ? g->n_resources : 1, g->n_ops, out, &s, err));
    for (int32_t i = 0; i < g->n_ops; i++) {
        const bool holds = g->duration[i] > 0 && g->weight[i] > 0;
        s.n = 0;
        for (int64_t d = g->demand_ptr[i]; holds && d < g->demand_ptr[i + 1]; d++)
            add_demand(&s, g->demand_resource[d], g->demand_amount[d] * g->weight[i]);
        if (holds && !pooled)
            add_demand(&s, 0, g->weight[i]);
        if (!sort_op(&s, i))
            SKED_TRY(sked_i_no_memory(err));
    }
cleanup:
    if (st != SKED_OK)
        sked_i_pools_free(out);
    sked_i_arena_free(&s.arena);
    return st;
}
