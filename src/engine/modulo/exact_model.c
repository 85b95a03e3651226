/* The exact decision's view of a loop: variables, propagators, explanations. */
#include "base/memory.h"
#include "engine/modulo/exact.h"

#include <string.h>

enum { max_vars = 400000, max_cells = 10000000 }; /* some 100 MB; larger questions go unanswered anyway */

/* ------------------------------------------------------------------ building */

static bool edge_counts(const sked_i_exact *x, int64_t e)
{
    const sked_i_loop *loop = x->loop;
    if (x->q->weight[e] <= -SKED_I_FAR / 2)
        return false;
    return !x->q->inside || loop->component[loop->g->edge_from[e]] == loop->component[loop->g->edge_to[e]];
}

/* Closes the windows under the edges; false: one is empty. */
static bool close_windows(sked_i_exact *x)
{
    const sked_graph *g = x->loop->g;
    for (bool moved = true; moved;) {
        moved = false;
        for (int64_t e = 0; e < g->n_edges; e++) {
            if (!edge_counts(x, e))
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
static bool add_part(sked_i_exact *x, int32_t i, int32_t pool, int64_t amount, int64_t *parts)
{
    const int64_t turns = x->loop->duration[i] / x->ii, rest = x->loop->duration[i] % x->ii;
    x->pool_room[pool] -= turns * amount;
    if (rest > 0)
        x->part[(*parts)++] = (sked_i_part){i, pool, amount, rest};
    return x->pool_room[pool] >= 0;
}

static sked_status build_pools(sked_i_exact *x, bool *empty, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_loop *loop = x->loop;
    int64_t parts = 0;
    SKED_NEW(x->pool_room, (int64_t)x->n_pools + 1);
    SKED_NEW(x->part_ptr, (int64_t)x->n + 1);
    SKED_NEW(x->part, loop->use_ptr[x->n] + x->n);
    SKED_NEW0(x->member_ptr, (int64_t)x->n_pools + 2);
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
    SKED_NEW(x->member, parts);
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

/* Numbers the variables; false: too many. */
static bool number_variables(sked_i_exact *x)
{
    int64_t vars = 0;
    for (int32_t i = 0; i < x->n; i++) {
        x->order_base[i] = (int32_t)vars;
        vars += x->hi[i] - x->lo[i];
        if (vars > max_vars)
            return false;
    }
    x->n_order = (int32_t)vars;
    for (int32_t i = 0; i < x->n; i++) {
        const int64_t width = x->hi[i] - x->lo[i] + 1;
        const bool holds = x->part_ptr[i + 1] > x->part_ptr[i];
        x->slot_base[i] = (int32_t)vars;
        x->slots[i] = !holds ? 0 : (int32_t)(width < x->ii ? width : x->ii);
        x->n_open += holds;
        vars += x->slots[i];
        if (vars > max_vars)
            return false;
    }
    x->n_vars = (int32_t)vars;
    return x->n_pools * (double)x->ii < max_cells;
}

sked_status sked_i_exact_model(sked_i_exact *x, bool *empty, bool *too_large, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = x->n;
    SKED_NEW(x->lo, n);
    SKED_NEW(x->hi, n);
    SKED_NEW(x->lb, n);
    SKED_NEW(x->ub, n);
    SKED_NEW(x->order_base, n);
    SKED_NEW(x->slot_base, n);
    SKED_NEW(x->slots, n);
    SKED_NEW(x->chosen, n);
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
    SKED_NEW0(x->load, x->n_pools * x->ii);
    SKED_NEW(x->var_op, x->n_vars);
    for (int32_t i = 0; i < n; i++) {
        x->lb[i] = x->lo[i];
        x->ub[i] = x->hi[i];
        x->chosen[i] = -1;
        for (int64_t k = 0; k < x->hi[i] - x->lo[i]; k++)
            x->var_op[x->order_base[i] + k] = i;
        for (int32_t k = 0; k < x->slots[i]; k++)
            x->var_op[x->slot_base[i] + k] = i;
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ literals */

enum { ALWAYS = -1 }; /* a bound that the window gives: no literal stands for it */

/* start(i) >= t; ALWAYS for t <= lo. t <= hi. */
static sked_i_lit at_least(const sked_i_exact *x, int32_t i, int64_t t)
{
    return t <= x->lo[i] ? ALWAYS : 2 * (x->order_base[i] + (int32_t)(t - x->lo[i] - 1));
}

/* start(i) <= t; ALWAYS for t >= hi. t >= lo. */
static sked_i_lit at_most(const sked_i_exact *x, int32_t i, int64_t t)
{
    return t >= x->hi[i] ? ALWAYS : 2 * (x->order_base[i] + (int32_t)(t - x->lo[i])) + 1;
}

static sked_i_why because(sked_i_lit a, sked_i_lit b)
{
    if (a == ALWAYS || b == ALWAYS)
        return (sked_i_why){a == b ? WHY_NONE : WHY_ONE, a == ALWAYS ? b : a, 0};
    return (sked_i_why){WHY_TWO, a, b};
}

/* Slot literal of the times that fold like t; ALWAYS where the window has none. */
static sked_i_lit slot_lit(const sked_i_exact *x, int32_t i, int64_t t)
{
    int64_t k = (t - x->lo[i]) % x->ii;
    k += k < 0 ? x->ii : 0;
    return k < x->slots[i] ? 2 * (x->slot_base[i] + (int32_t)k) : ALWAYS;
}

/* Folded time of a slot variable. */
static int64_t slot_time(const sked_i_exact *x, int32_t var)
{
    const int32_t i = x->var_op[var];
    const int64_t t = (x->lo[i] + (var - x->slot_base[i])) % x->ii;
    return t < 0 ? t + x->ii : t;
}

/* ------------------------------------------------------------------ bounds and slots of one op */

/* start(i) = t exactly means slot t: of the three, two give the third. */
static bool exactly(sked_i_exact *x, int32_t i, int64_t t)
{
    const sked_i_lit slot = slot_lit(x, i, t);
    const bool from = x->lb[i] >= t, to = x->ub[i] <= t, no_slot = sked_i_lit_value(x, slot) < 0;
    if (from && to)
        return sked_i_exact_imply(x, slot, because(at_least(x, i, t), at_most(x, i, t)));
    if (!no_slot || !(from || to))
        return true;
    if (from)
        return sked_i_exact_imply(x, at_least(x, i, t + 1), because(at_least(x, i, t), slot ^ 1));
    return sked_i_exact_imply(x, at_most(x, i, t - 1), because(at_most(x, i, t), slot ^ 1));
}

/*
 * Between t and t + ii (both of one slot) the slot has no time: slot, start > t and start < t + ii cannot
 * all hold. t may lie before the window and t + ii after it.
 */
static bool between(sked_i_exact *x, int32_t i, int64_t t)
{
    const sked_i_lit slot = slot_lit(x, i, t);
    if (slot == ALWAYS)
        return true;
    const bool above = x->lb[i] > t, below = x->ub[i] < t + x->ii;
    if (above && below)
        return sked_i_exact_imply(x, slot ^ 1, because(at_least(x, i, t + 1), at_most(x, i, t + x->ii - 1)));
    if (sked_i_lit_value(x, slot) <= 0)
        return true;
    if (above)
        return sked_i_exact_imply(x, at_least(x, i, t + x->ii), because(slot, at_least(x, i, t + 1)));
    if (below)
        return sked_i_exact_imply(x, at_most(x, i, t), because(slot, at_most(x, i, t + x->ii - 1)));
    return true;
}

static bool follow_at_least(sked_i_exact *x, int32_t i, int64_t t, sked_i_lit l)
{
    const sked_graph *g = x->loop->g;
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
        const int32_t j = g->edge_to[e];
        const int64_t need = t + x->q->weight[e];
        if (need <= x->lo[j] || j == i || !edge_counts(x, e) || x->lb[j] >= need)
            continue;
        if (!sked_i_exact_imply(x, at_least(x, j, need), (sked_i_why){WHY_ONE, l, 0}))
            return false;
    }
    return x->slots[i] == 0 || (exactly(x, i, t) && between(x, i, t - 1));
}

static bool follow_at_most(sked_i_exact *x, int32_t i, int64_t t, sked_i_lit l)
{
    const sked_graph *g = x->loop->g;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
        const int64_t e = g->pred_edge[k], need = t - x->q->weight[e];
        const int32_t j = g->pred_op[k];
        if (need >= x->hi[j] || j == i || !edge_counts(x, e) || x->ub[j] <= need)
            continue;
        if (!sked_i_exact_imply(x, at_most(x, j, need), (sked_i_why){WHY_ONE, l, 0}))
            return false;
    }
    return x->slots[i] == 0 || (exactly(x, i, t) && between(x, i, t + 1 - x->ii));
}

/* ------------------------------------------------------------------ pools */

/* Does the part of an op in slot variable `var` cover folded time `cell`? */
static bool covers(const sked_i_exact *x, const sked_i_part *part, int32_t var, int64_t cell)
{
    int64_t since = cell - slot_time(x, var);
    since += since < 0 ? x->ii : 0;
    return since < part->rest;
}

/* Ops in slots that cover the cell, placed before `before` on the trail, until they exceed `enough`. */
static void explain_load(sked_i_exact *x, int32_t pool, int64_t cell, int32_t except, int32_t before,
                         int64_t enough, sked_i_lits *out)
{
    int64_t sum = 0;
    for (int64_t k = x->member_ptr[pool]; k < x->member_ptr[pool + 1] && sum <= enough; k++) {
        const sked_i_part *part = &x->part[x->member[k]];
        const int32_t var = x->chosen[part->op];
        if (part->op == except || var < 0 || x->place[var] >= before || !covers(x, part, var, cell))
            continue;
        sked_i_exact_append(x, out, 2 * var);
        sum += part->amount;
    }
}

/* Forbids op `part->op` every slot that covers the cell. */
static bool forbid_cell(sked_i_exact *x, const sked_i_part *part, int64_t cell)
{
    for (int64_t back = 0; back < part->rest; back++) {
        const sked_i_lit slot = slot_lit(x, part->op, cell - back);
        if (slot == ALWAYS || sked_i_lit_value(x, slot) < 0)
            continue;
        if (!sked_i_exact_imply(x, slot ^ 1, (sked_i_why){WHY_POOL, part->pool, (int32_t)cell}))
            return false;
    }
    return true;
}

static bool fill_cell(sked_i_exact *x, const sked_i_part *part, int64_t cell)
{
    const int64_t *load = &x->load[part->pool * x->ii + cell];
    const int64_t room = x->pool_room[part->pool];
    if (*load > room) {
        x->conflict.count = 0;
        explain_load(x, part->pool, cell, -1, INT32_MAX, room, &x->conflict);
        return false;
    }
    for (int64_t k = x->member_ptr[part->pool]; k < x->member_ptr[part->pool + 1]; k++) {
        const sked_i_part *other = &x->part[x->member[k]];
        if (other->op == part->op || *load + other->amount <= room)
            continue;
        const int32_t var = x->chosen[other->op];
        if (var >= 0 && x->place[var] < x->head && covers(x, other, var, cell))
            continue; /* counted in the load already */
        if (!forbid_cell(x, other, cell))
            return false;
    }
    return true;
}

/* Adds the op in slot `var` to the loads of its pools and looks at what no longer fits. */
static bool take_slot(sked_i_exact *x, int32_t var)
{
    const int32_t i = x->var_op[var];
    const int64_t at = slot_time(x, var);
    for (int64_t k = x->part_ptr[i]; k < x->part_ptr[i + 1]; k++)
        for (int64_t d = 0; d < x->part[k].rest; d++)
            x->load[x->part[k].pool * x->ii + (at + d) % x->ii] += x->part[k].amount;
    for (int64_t k = x->part_ptr[i]; k < x->part_ptr[i + 1]; k++)
        for (int64_t d = 0; d < x->part[k].rest; d++)
            if (!fill_cell(x, &x->part[k], (at + d) % x->ii))
                return false;
    return true;
}

static void leave_slot(sked_i_exact *x, int32_t var)
{
    const int32_t i = x->var_op[var];
    const int64_t at = slot_time(x, var);
    for (int64_t k = x->part_ptr[i]; k < x->part_ptr[i + 1]; k++)
        for (int64_t d = 0; d < x->part[k].rest; d++)
            x->load[x->part[k].pool * x->ii + (at + d) % x->ii] -= x->part[k].amount;
}

/* ------------------------------------------------------------------ slots */

static bool follow_slot(sked_i_exact *x, int32_t var)
{
    const int32_t i = x->var_op[var];
    const int64_t first = x->lo[i] + (var - x->slot_base[i]);
    if (!take_slot(x, var))
        return false;
    for (int32_t k = 0; k < x->slots[i]; k++)
        if (x->slot_base[i] + k != var &&
            !sked_i_exact_imply(x, 2 * (x->slot_base[i] + k) + 1, (sked_i_why){WHY_ONE, 2 * var, 0}))
            return false;
    for (int64_t t = first - x->ii; t <= x->hi[i]; t += x->ii)
        if (!between(x, i, t))
            return false;
    return true;
}

static bool follow_no_slot(sked_i_exact *x, int32_t var)
{
    const int32_t i = x->var_op[var];
    const int64_t k = var - x->slot_base[i];
    if ((x->lb[i] - x->lo[i]) % x->ii == k && !exactly(x, i, x->lb[i]))
        return false;
    if ((x->ub[i] - x->lo[i]) % x->ii == k && !exactly(x, i, x->ub[i]))
        return false;
    if (x->chosen[i] >= 0)
        return true;
    int32_t open = -1;
    for (int32_t j = 0; j < x->slots[i]; j++)
        if (x->value[x->slot_base[i] + j] >= 0) {
            if (open >= 0)
                return true;
            open = x->slot_base[i] + j;
        }
    if (open >= 0)
        return sked_i_exact_imply(x, 2 * open, (sked_i_why){WHY_LAST, i, 0});
    x->conflict.count = 0;
    sked_i_exact_explain(x, -1, (sked_i_why){WHY_LAST, i, 0}, &x->conflict);
    return false;
}

bool sked_i_exact_follow(sked_i_exact *x, sked_i_lit l)
{
    const int32_t var = l >> 1, i = x->var_op[var];
    if (var >= x->n_order)
        return (l & 1) ? follow_no_slot(x, var) : follow_slot(x, var);
    const int64_t t = x->lo[i] + (var - x->order_base[i]);
    return (l & 1) ? follow_at_most(x, i, t, l) : follow_at_least(x, i, t + 1, l);
}

sked_i_lit sked_i_exact_weaker(const sked_i_exact *x, sked_i_lit l)
{
    const int32_t var = l >> 1, i = x->var_op[var];
    if (var >= x->n_order)
        return -1;
    const int64_t t = x->lo[i] + (var - x->order_base[i]);
    return (l & 1) ? at_most(x, i, t + 1) : at_least(x, i, t);
}

bool sked_i_exact_root(sked_i_exact *x)
{
    for (int32_t i = 0; i < x->n; i++)
        if (x->slots[i] == 1 && x->lo[i] == x->hi[i] &&
            !sked_i_exact_imply(x, 2 * x->slot_base[i], (sked_i_why){WHY_NONE, 0, 0}))
            return false;
    return true;
}

/* ------------------------------------------------------------------ trail */

void sked_i_exact_set(sked_i_exact *x, sked_i_lit l)
{
    const int32_t var = l >> 1, i = x->var_op[var];
    int64_t *old = &x->old_bound[x->n_trail];
    if (var >= x->n_order) {
        if ((l & 1) == 0) {
            x->chosen[i] = var;
            x->n_open--;
        }
        return;
    }
    const int64_t t = x->lo[i] + (var - x->order_base[i]);
    if (l & 1) {
        *old = x->ub[i];
        x->ub[i] = t < x->ub[i] ? t : x->ub[i];
    } else {
        *old = x->lb[i];
        x->lb[i] = t + 1 > x->lb[i] ? t + 1 : x->lb[i];
    }
}

void sked_i_exact_unset(sked_i_exact *x, sked_i_lit l, bool followed)
{
    const int32_t var = l >> 1, i = x->var_op[var];
    if (var < x->n_order) {
        if (l & 1)
            x->ub[i] = x->old_bound[x->n_trail];
        else
            x->lb[i] = x->old_bound[x->n_trail];
    } else if ((l & 1) == 0) {
        if (followed)
            leave_slot(x, var);
        x->chosen[i] = -1;
        x->n_open++;
    }
}

void sked_i_exact_explain(sked_i_exact *x, sked_i_lit l, sked_i_why why, sked_i_lits *out)
{
    if (why.kind == WHY_LAST) {
        for (int32_t k = 0; k < x->slots[why.a]; k++)
            if (x->slot_base[why.a] + k != l >> 1)
                sked_i_exact_append(x, out, 2 * (x->slot_base[why.a] + k) + 1);
        return;
    }
    const int32_t i = x->var_op[l / 2];
    int64_t amount = 0;
    for (int64_t k = x->part_ptr[i]; k < x->part_ptr[i + 1]; k++)
        if (x->part[k].pool == why.a)
            amount = x->part[k].amount;
    const int32_t before = x->value[l >> 1] != 0 && sked_i_lit_value(x, l) > 0 ? x->place[l >> 1] : INT32_MAX;
    explain_load(x, why.a, why.b, i, before, x->pool_room[why.a] - amount, out);
}
