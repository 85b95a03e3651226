/* The exact decision's view of a loop: windows, pools, variables. */
#include "engine/modulo/modulo_proof.h"

#include <assert.h>
#include <string.h>

enum { max_vars = 400000, max_cells = 10000000 }; /* some 100 MB; larger questions go unanswered anyway */

bool sked_i_modulo_edge_counts(const sked_i_modulo_exact *x, int64_t e)
{
    const sked_i_loop *loop = x->loop;
    if (x->q->weight[e] <= -SKED_I_FAR / 2)
        return false;
    return !x->q->inside || loop->component[loop->g->edge_from[e]] == loop->component[loop->g->edge_to[e]];
}

/* Closes the windows under the edges; false: one is empty. */
static bool close_windows(sked_i_modulo_exact *x)
{
    const sked_graph *g = x->loop->g;
    for (bool moved = true; moved;) {
        moved = false;
        for (int64_t e = 0; e < g->n_edges; e++) {
            if (!sked_i_modulo_edge_counts(x, e))
                continue;
            const int32_t i = g->edge_from[e], j = g->edge_to[e];
            if (x->lo[i] + x->q->weight[e] > x->lo[j]) {
                x->lo[j] = x->lo[i] + x->q->weight[e];
                moved = true;
            }
            if (x->hi[j] - x->q->weight[e] < x->hi[i]) {
                x->hi[i] = x->hi[j] - x->q->weight[e];
                moved = true;
            }
            if (x->lo[j] > x->hi[j] || x->lo[i] > x->hi[i])
                return false;
        }
    }
    return true;
}

/* What op i holds beyond whole turns; whole turns shrink the pool for all. false: that overfills it. */
static bool add_part(sked_i_modulo_exact *x, int32_t i, int32_t pool, int64_t amount, int64_t *parts)
{
    const int64_t turns = x->loop->duration[i] / x->ii, rest = x->loop->duration[i] % x->ii;
    assert(pool < x->n_pools && amount > 0);
    x->pool_room[pool] -= turns * amount;
    if (rest > 0)
        x->part[(*parts)++] = (sked_i_modulo_part){i, pool, amount, rest};
    return x->pool_room[pool] >= 0;
}

static sked_status build_pools(sked_i_modulo_exact *x, bool *empty, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_loop *loop = x->loop;
    int64_t parts = 0;
    SKED_OWN(&x->arena, x->pool_room, (int64_t)x->n_pools + 1);
    SKED_OWN(&x->arena, x->part_ptr, (int64_t)x->n + 1);
    SKED_OWN(&x->arena, x->part, loop->use_ptr[x->n] + x->n);
    SKED_OWN0(&x->arena, x->member_ptr, (int64_t)x->n_pools + 2);
    for (int32_t k = 0; k < x->n_pools; k++)
        x->pool_room[k] = k < loop->n_resources ? loop->room[k] : loop->devices;
    for (int32_t i = 0; i < x->n; i++) {
        x->part_ptr[i] = parts;
        for (int64_t u = loop->use_ptr[i]; u < loop->use_ptr[i + 1]; u++)
            *empty = !add_part(x, i, loop->use[u].pool, loop->use[u].amount, &parts) || *empty;
        if (sked_i_loop_on_device(loop, i))
            *empty = !add_part(x, i, loop->n_resources, 1, &parts) || *empty;
    }
    x->part_ptr[x->n] = parts;
    SKED_OWN(&x->arena, x->member, parts);
    for (int64_t k = 0; k < parts; k++)
        x->member_ptr[x->part[k].pool + 2]++;
    for (int32_t k = 2; k <= x->n_pools + 1; k++)
        x->member_ptr[k] += x->member_ptr[k - 1];
    for (int64_t k = 0; k < parts; k++) {
        x->member[x->member_ptr[x->part[k].pool + 1]++] = (int32_t)k;
        *empty = *empty || x->part[k].amount > x->pool_room[x->part[k].pool];
    }
cleanup:
    return st;
}

/* Numbers the variables; false: too many, or windows too wide. */
static bool number_variables(sked_i_modulo_exact *x)
{
    int64_t vars = x->n, widths = 0;
    for (int32_t i = 0; i < x->n; i++) {
        const int64_t width = x->hi[i] - x->lo[i] + 1;
        const bool holds = x->part_ptr[i + 1] > x->part_ptr[i];
        x->slot_base[i] = (int32_t)vars;
        x->slots[i] = !holds ? 0 : (int32_t)(width < x->ii ? width : x->ii);
        vars += x->slots[i];
        widths += width;
        if (vars + widths > max_vars)
            return false;
    }
    x->n_vars = (int32_t)vars;
    return x->n_pools * (double)x->ii < max_cells;
}

sked_status sked_i_modulo_model(sked_i_modulo_exact *x, bool *empty, bool *too_large, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = x->n;
    SKED_OWN(&x->arena, x->lo, n);
    SKED_OWN(&x->arena, x->hi, n);
    SKED_OWN(&x->arena, x->slot_base, n);
    SKED_OWN(&x->arena, x->slots, n);
    SKED_OWN(&x->arena, x->chosen, n);
    memcpy(x->lo, x->q->lo, (size_t)n * sizeof *x->lo);
    memcpy(x->hi, x->q->hi, (size_t)n * sizeof *x->hi);
    for (int32_t i = 0; i < n; i++)
        *empty = *empty || x->lo[i] > x->hi[i];
    *empty = *empty || !close_windows(x);
    if (*empty)
        return SKED_OK;
    x->n_pools = x->loop->n_resources + (x->loop->devices > 0);
    SKED_TRY(build_pools(x, empty, err));
    if (*empty || (*too_large = !number_variables(x)))
        return SKED_OK;
    SKED_OWN0(&x->arena, x->load, x->n_pools * x->ii);
    SKED_OWN(&x->arena, x->var_op, x->n_vars);
    for (int32_t i = 0; i < n; i++) {
        x->chosen[i] = -1;
        x->var_op[i] = i;
        for (int32_t k = 0; k < x->slots[i]; k++)
            x->var_op[x->slot_base[i] + k] = i;
    }
cleanup:
    return st;
}
