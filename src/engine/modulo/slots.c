/*
 * Starts, slots and pools of a loop as one propagator: a start fixes its slot, a slot thins out the starts,
 * and slots that fill a pool at some time modulo II forbid others.
 */
#include "engine/modulo/modulo_proof.h"

#include <assert.h>

typedef sked_i_modulo_exact exact;

/* ------------------------------------------------------------------ literals */

static inline sked_i_lit at_least(int32_t var, int64_t value)
{
    return (sked_i_lit){2 * var, (int32_t)value};
}

static inline sked_i_lit at_most(int32_t var, int64_t value)
{
    return (sked_i_lit){2 * var + 1, (int32_t)-value};
}

/* l must hold because a and b do. */
static bool imply(sked_i_clause_solver *s, sked_i_lit l, sked_i_lit a, sked_i_lit b)
{
    if (sked_i_clause_true(s, l))
        return true;
    const int64_t ref = s->list_count;
    sked_i_clause_explain(s, a.view, a.value);
    sked_i_clause_explain(s, b.view, b.value);
    return sked_i_clause_raise_listed(s, l, ref);
}

/* Slot variable of a start; -1: the window has none. */
static int32_t slot_of(const exact *x, int32_t i, int64_t start)
{
    int64_t k = start % x->ii;
    k += k < 0 ? x->ii : 0;
    return k < x->slots[i] ? x->slot_base[i] + (int32_t)k : -1;
}

/* Folded time of a slot variable. */
static int64_t slot_time(const exact *x, int32_t var)
{
    const int32_t i = x->var_op[var];
    const int64_t t = (x->lo[i] + (var - x->slot_base[i])) % x->ii;
    return t < 0 ? t + x->ii : t;
}

/* ------------------------------------------------------------------ starts and slots of one op */

/* start(i) = t exactly means slot t: of the three, two give the third. t is inside the window. */
static bool exactly(exact *x, int32_t i, int64_t t)
{
    sked_i_clause_solver *s = x->solver;
    const int32_t slot = slot_of(x, i, t);
    const bool from = s->low[2 * i] >= t, to = -s->low[2 * i + 1] <= t;
    if (from && to)
        return imply(s, at_least(slot, 1), at_least(i, t), at_most(i, t));
    if (!(from || to) || s->low[2 * slot + 1] < 0)
        return true;
    if (from)
        return imply(s, at_least(i, t + 1), at_least(i, t), at_most(slot, 0));
    return imply(s, at_most(i, t - 1), at_most(i, t), at_most(slot, 0));
}

/*
 * Between t and t + ii (both of one slot) the slot has no time: slot, start > t and start < t + ii cannot
 * all hold. t may lie before the window and t + ii after it.
 */
static bool between(exact *x, int32_t i, int64_t t)
{
    sked_i_clause_solver *s = x->solver;
    const int32_t slot = slot_of(x, i, t);
    if (slot < 0)
        return true;
    const bool above = s->low[2 * i] > t, below = -s->low[2 * i + 1] < t + x->ii;
    if (above && below)
        return imply(s, at_most(slot, 0), at_least(i, t + 1), at_most(i, t + x->ii - 1));
    if (s->low[2 * slot] <= 0)
        return true;
    if (above)
        return imply(s, at_least(i, t + x->ii), at_least(slot, 1), at_least(i, t + 1));
    if (below)
        return imply(s, at_most(i, t), at_least(slot, 1), at_most(i, t + x->ii - 1));
    return true;
}

/* The earliest start rose from `old`: slots whose last time was passed go. */
static bool follow_at_least(exact *x, int32_t i, int64_t old, int64_t value)
{
    bool fine = exactly(x, i, value);
    for (int64_t t = old > value - x->ii ? old : value - x->ii; fine && t < value; t++)
        fine = between(x, i, t);
    return fine;
}

static bool follow_at_most(exact *x, int32_t i, int64_t old, int64_t value)
{
    bool fine = exactly(x, i, value);
    for (int64_t t = old < value + x->ii ? old : value + x->ii; fine && t > value; t--)
        fine = between(x, i, t - x->ii);
    return fine;
}

/* ------------------------------------------------------------------ pools */

/* Does the part of an op in slot variable `var` cover folded time `cell`? */
static bool covers(const exact *x, const sked_i_modulo_part *part, int32_t var, int64_t cell)
{
    int64_t since = cell - slot_time(x, var);
    since += since < 0 ? x->ii : 0;
    return since < part->rest;
}

/* Ops in slots that cover the cell, there before trail entry `before`, until they exceed `enough`. */
static void explain_load(exact *x, int32_t pool, int64_t cell, int32_t except, int64_t before, int64_t enough)
{
    int64_t sum = 0;
    for (int64_t k = x->member_ptr[pool]; k < x->member_ptr[pool + 1] && sum <= enough; k++) {
        const sked_i_modulo_part *part = &x->part[x->member[k]];
        const int32_t var = x->chosen[part->op];
        if (part->op == except || var < 0 || x->solver->latest[2 * var] >= before ||
            !covers(x, part, var, cell))
            continue;
        sked_i_clause_conflict_add(x->solver, 2 * var, 1);
        sum += part->amount;
    }
    assert(sum > enough);
}

/* A slot was forbidden because a cell of a pool had no room for its op. */
static void explain(sked_i_clause_solver *s, void *self, sked_i_lit l, int64_t note, int64_t before)
{
    exact *x = self;
    const int32_t pool = (int32_t)(note / x->ii), i = x->var_op[l.view / 2];
    int64_t amount = 0;
    for (int64_t k = x->part_ptr[i]; k < x->part_ptr[i + 1]; k++)
        if (x->part[k].pool == pool)
            amount = x->part[k].amount;
    (void)s;
    explain_load(x, pool, note % x->ii, i, before, x->pool_room[pool] - amount);
}

/* Forbids op `part->op` every slot that covers the cell. */
static bool forbid_cell(exact *x, const sked_i_modulo_part *part, int64_t cell)
{
    const sked_i_clause_reason full = {
        .kind = SKED_I_CLAUSE_BY_PROPAGATOR, .count = x->number, .ref = part->pool * x->ii + cell};
    for (int64_t back = 0; back < part->rest; back++) {
        const int32_t slot = slot_of(x, part->op, cell - back - x->lo[part->op]);
        if (slot >= 0 && !sked_i_clause_raise(x->solver, 2 * slot + 1, 0, full))
            return false;
    }
    return true;
}

static bool fill_cell(exact *x, const sked_i_modulo_part *part, int64_t cell)
{
    const int64_t *load = &x->load[part->pool * x->ii + cell];
    const int64_t room = x->pool_room[part->pool];
    if (*load > room) {
        sked_i_clause_conflict_begin(x->solver);
        explain_load(x, part->pool, cell, -1, INT64_MAX, room);
        return false;
    }
    for (int64_t k = x->member_ptr[part->pool]; k < x->member_ptr[part->pool + 1]; k++) {
        const sked_i_modulo_part *other = &x->part[x->member[k]];
        if (other->op == part->op || *load + other->amount <= room)
            continue;
        const int32_t var = x->chosen[other->op];
        if (var >= 0 && covers(x, other, var, cell))
            continue; /* counted in the load already */
        if (!forbid_cell(x, other, cell))
            return false;
    }
    return true;
}

static void add_load(exact *x, int32_t var, int sign)
{
    const int32_t i = x->var_op[var];
    const int64_t at = slot_time(x, var);
    for (int64_t k = x->part_ptr[i]; k < x->part_ptr[i + 1]; k++)
        for (int64_t d = 0; d < x->part[k].rest; d++)
            x->load[x->part[k].pool * x->ii + (at + d) % x->ii] += sign * x->part[k].amount;
}

/* Adds the op in slot `var` to the loads of its pools and looks at what no longer fits. */
static bool take_slot(exact *x, int32_t var)
{
    const int32_t i = x->var_op[var];
    const int64_t at = slot_time(x, var);
    assert(x->chosen[i] < 0);
    x->chosen[i] = var;
    add_load(x, var, 1);
    for (int64_t k = x->part_ptr[i]; k < x->part_ptr[i + 1]; k++)
        for (int64_t d = 0; d < x->part[k].rest; d++)
            if (!fill_cell(x, &x->part[k], (at + d) % x->ii))
                return false;
    return true;
}

/* ------------------------------------------------------------------ slots */

static bool follow_slot(exact *x, int32_t var)
{
    sked_i_clause_solver *s = x->solver;
    const int32_t i = x->var_op[var], base = x->slot_base[i];
    const sked_i_lit is = at_least(var, 1);
    if (!take_slot(x, var))
        return false;
    for (int32_t k = 0; k < x->slots[i]; k++)
        if (base + k != var && !imply(s, at_most(base + k, 0), is, is))
            return false;
    for (int64_t t = var - base - x->ii; t <= x->hi[i] - x->lo[i]; t += x->ii)
        if (!between(x, i, t))
            return false;
    return true;
}

/* All slots but `open` (-1: all) are out. */
static bool take_last(exact *x, int32_t i, int32_t open)
{
    sked_i_clause_solver *s = x->solver;
    const int64_t ref = s->list_count;
    if (open < 0)
        sked_i_clause_conflict_begin(s);
    for (int32_t var = x->slot_base[i]; var < x->slot_base[i] + x->slots[i]; var++) {
        if (open < 0)
            sked_i_clause_conflict_add(s, 2 * var + 1, 0);
        else if (var != open)
            sked_i_clause_explain(s, 2 * var + 1, 0);
    }
    return open >= 0 && sked_i_clause_raise_listed(s, at_least(open, 1), ref);
}

static bool follow_no_slot(exact *x, int32_t var)
{
    const sked_i_clause_solver *s = x->solver;
    const int32_t i = x->var_op[var], k = var - x->slot_base[i];
    if (s->low[2 * i] % x->ii == k && !exactly(x, i, s->low[2 * i]))
        return false;
    if (-s->low[2 * i + 1] % x->ii == k && !exactly(x, i, -s->low[2 * i + 1]))
        return false;
    int32_t open = -1;
    for (int32_t v = x->slot_base[i]; v < x->slot_base[i] + x->slots[i]; v++) {
        if (s->low[2 * v] > 0)
            return true;
        if (s->low[2 * v + 1] < 0) {
            if (open >= 0)
                return true;
            open = v;
        }
    }
    return take_last(x, i, open);
}

static bool follow(sked_i_clause_solver *s, void *self, sked_i_lit l, int32_t old)
{
    exact *x = self;
    const int32_t var = l.view / 2;
    (void)s;
    if (var >= x->n) {
        if (l.view & 1)
            return l.value < 0 || follow_no_slot(x, var); /* less: the range of the variable itself */
        return l.value < 1 || follow_slot(x, var);
    }
    if (x->slots[var] == 0)
        return true;
    return l.view & 1 ? follow_at_most(x, var, -(int64_t)old, -(int64_t)l.value)
                      : follow_at_least(x, var, old, l.value);
}

static void undo(sked_i_clause_solver *s, void *self, sked_i_lit l)
{
    exact *x = self;
    const int32_t var = l.view / 2;
    (void)s;
    if (var < x->n || (l.view & 1) || x->chosen[x->var_op[var]] != var)
        return;
    add_load(x, var, -1);
    x->chosen[x->var_op[var]] = -1;
}

bool sked_i_modulo_add_slots(sked_i_modulo_exact *x)
{
    const sked_i_clause_propagator plug = {.self = x, .follow = follow, .undo = undo, .explain = explain};
    return sked_i_clause_add_propagator(x->solver, plug, &x->number);
}
