/* Conflict-driven search with clause learning, restarts and activity (after MiniSat; Een, Sorensson 2003). */
#include "engine/modulo/exact.h"
#include "base/memory.h"

#include <string.h>

enum { header = 2, restart_unit = 100, first_clauses = 4000 };

void sked_i_exact_append(sked_i_exact *x, sked_i_lits *list, sked_i_lit l)
{
    if (!SKED_GROW(list->at, list->cap, list->count + 1)) {
        x->failed = true;
        return;
    }
    list->at[list->count++] = l;
}

/* ------------------------------------------------------------------ heap of open variables by activity */

static bool before(const sked_i_exact *x, int32_t a, int32_t b)
{
    return x->activity[a] != x->activity[b] ? x->activity[a] > x->activity[b] : a < b;
}

static void heap_set(sked_i_exact *x, int32_t k, int32_t var)
{
    x->heap[k] = var;
    x->heap_at[var] = k;
}

static void heap_up(sked_i_exact *x, int32_t k)
{
    const int32_t var = x->heap[k];
    for (; k > 0 && before(x, var, x->heap[(k - 1) / 2]); k = (k - 1) / 2)
        heap_set(x, k, x->heap[(k - 1) / 2]);
    heap_set(x, k, var);
}

static void heap_down(sked_i_exact *x, int32_t k)
{
    const int32_t var = x->heap[k];
    for (int32_t child = 2 * k + 1; child < x->heaped; child = 2 * k + 1) {
        if (child + 1 < x->heaped && before(x, x->heap[child + 1], x->heap[child]))
            child++;
        if (!before(x, x->heap[child], var))
            break;
        heap_set(x, k, x->heap[child]);
        k = child;
    }
    heap_set(x, k, var);
}

static void heap_insert(sked_i_exact *x, int32_t var)
{
    if (x->heap_at[var] >= 0)
        return;
    heap_set(x, x->heaped++, var);
    heap_up(x, x->heaped - 1);
}

static int32_t heap_pop(sked_i_exact *x)
{
    const int32_t top = x->heap[0], last = x->heap[--x->heaped];
    x->heap_at[top] = -1;
    if (x->heaped > 0) {
        heap_set(x, 0, last);
        heap_down(x, 0);
    }
    return top;
}

static void bump(sked_i_exact *x, int32_t var)
{
    x->activity[var] += x->bump;
    if (x->activity[var] > 1e100) {
        for (int32_t v = 0; v < x->n_vars; v++)
            x->activity[v] *= 1e-100;
        x->bump *= 1e-100;
    }
    if (x->heap_at[var] >= 0)
        heap_up(x, x->heap_at[var]);
}

/* ------------------------------------------------------------------ trail */

static void put(sked_i_exact *x, sked_i_lit l, sked_i_why why)
{
    const int32_t var = l >> 1;
    x->value[var] = (l & 1) ? -1 : 1;
    x->why[var] = why;
    x->level[var] = x->n_levels;
    x->place[var] = x->n_trail;
    sked_i_exact_set(x, l);
    x->trail[x->n_trail++] = l;
}

/* A bound brings all weaker ones with it, so that every reason that names one finds it on the trail. */
static void put_all(sked_i_exact *x, sked_i_lit l, sked_i_why why)
{
    put(x, l, why);
    for (sked_i_lit w = sked_i_exact_weaker(x, l); w >= 0 && x->value[w >> 1] == 0;
         l = w, w = sked_i_exact_weaker(x, w))
        put(x, w, (sked_i_why){WHY_ONE, l, 0});
}

/* The true literals that imply l. */
static void explain(sked_i_exact *x, sked_i_lit l, sked_i_why why, sked_i_lits *out)
{
    if (why.kind == WHY_ONE || why.kind == WHY_TWO)
        sked_i_exact_append(x, out, why.a);
    if (why.kind == WHY_TWO)
        sked_i_exact_append(x, out, why.b);
    if (why.kind == WHY_CLAUSE)
        for (int32_t k = 0; k < x->clauses[why.a]; k++)
            if (x->clauses[why.a + header + k] != l)
                sked_i_exact_append(x, out, x->clauses[why.a + header + k] ^ 1);
    if (why.kind == WHY_POOL || why.kind == WHY_LAST)
        sked_i_exact_explain(x, l, why, out);
}

bool sked_i_exact_imply(sked_i_exact *x, sked_i_lit l, sked_i_why why)
{
    const int8_t value = l < 0 ? 1 : sked_i_lit_value(x, l);
    if (value > 0)
        return true;
    if (value == 0) {
        put_all(x, l, why);
        return true;
    }
    x->conflict.count = 0;
    explain(x, l, why, &x->conflict);
    sked_i_exact_append(x, &x->conflict, l ^ 1);
    return false;
}

static void undo_to(sked_i_exact *x, int32_t level)
{
    if (x->n_levels <= level)
        return;
    const int32_t keep = x->mark[level];
    while (x->n_trail > keep) {
        const sked_i_lit l = x->trail[--x->n_trail];
        const int32_t var = l >> 1;
        sked_i_exact_unset(x, l, x->n_trail < x->head);
        x->phase[var] = x->value[var];
        x->value[var] = 0;
        heap_insert(x, var);
    }
    x->head = keep;
    x->n_levels = level;
}

/* ------------------------------------------------------------------ clauses */

static void watch(sked_i_exact *x, sked_i_lit l, int32_t clause, sked_i_lit other)
{
    sked_i_watches *w = &x->watch[l];
    if (!SKED_GROW(w->at, w->cap, w->count + 1)) {
        x->failed = true;
        return;
    }
    w->at[w->count++] = (sked_i_watch){clause, other};
}

/* Looks at one clause in which `l` has become false. Keeps, moves or uses the watch; false: conflict. */
static bool visit_clause(sked_i_exact *x, sked_i_lit l, sked_i_watch w, bool *keep)
{
    int32_t *lits = x->clauses + w.clause + header;
    const int32_t size = x->clauses[w.clause];
    if (lits[0] == l) {
        lits[0] = lits[1];
        lits[1] = l;
    }
    *keep = true;
    if (sked_i_lit_value(x, lits[0]) > 0)
        return true;
    for (int32_t k = 2; k < size; k++)
        if (sked_i_lit_value(x, lits[k]) >= 0) {
            lits[1] = lits[k];
            lits[k] = l;
            watch(x, lits[1], w.clause, lits[0]);
            *keep = false;
            return true;
        }
    return sked_i_exact_imply(x, lits[0], (sked_i_why){WHY_CLAUSE, w.clause, 0});
}

static bool visit_watches(sked_i_exact *x, sked_i_lit l)
{
    sked_i_watches *w = &x->watch[l];
    int64_t kept = 0, k = 0;
    bool fine = true;
    for (; k < w->count && fine && !x->failed; k++) {
        const sked_i_watch now = w->at[k];
        bool keep = true;
        if (sked_i_lit_value(x, now.other) <= 0)
            fine = visit_clause(x, l, now, &keep);
        if (keep)
            w->at[kept++] = now;
    }
    for (; k < w->count; k++)
        w->at[kept++] = w->at[k];
    w->count = kept;
    return fine;
}

static bool propagate(sked_i_exact *x)
{
    while (x->head < x->n_trail && !x->failed) {
        const sked_i_lit l = x->trail[x->head++];
        if (!sked_i_exact_follow(x, l) || !visit_watches(x, l ^ 1))
            return false;
    }
    return true;
}

/* Decision levels among the literals: small ones make clauses worth keeping. */
static int32_t count_levels(sked_i_exact *x, const sked_i_lits *lits)
{
    int32_t count = 0;
    x->stamps++;
    for (int64_t k = 0; k < lits->count; k++) {
        int64_t *stamp = &x->stamp[x->level[lits->at[k] >> 1]];
        count += *stamp != x->stamps;
        *stamp = x->stamps;
    }
    return count;
}

/* Adds x->learnt, its first literal to be implied, the second of the next highest level. */
static void learn(sked_i_exact *x)
{
    const sked_i_lits *lits = &x->learnt;
    if (lits->count == 1) {
        if (!sked_i_exact_imply(x, lits->at[0], (sked_i_why){WHY_NONE, 0, 0}))
            x->conflict.count = 0;
        return;
    }
    if (x->clauses_size + lits->count + header > INT32_MAX ||
        !SKED_GROW(x->clauses, x->clauses_cap, x->clauses_size + lits->count + header)) {
        x->failed = true;
        return;
    }
    const int32_t at = (int32_t)x->clauses_size;
    x->clauses[at] = (int32_t)lits->count;
    x->clauses[at + 1] = count_levels(x, lits);
    memcpy(x->clauses + at + header, lits->at, (size_t)lits->count * sizeof *lits->at);
    x->clauses_size += lits->count + header;
    x->n_learnt++;
    watch(x, lits->at[0], at, lits->at[1]);
    watch(x, lits->at[1], at, lits->at[0]);
    if (!x->failed)
        (void)sked_i_exact_imply(x, lits->at[0], (sked_i_why){WHY_CLAUSE, at, 0});
}

/*
 * Forgets about half of the clauses, those that span many levels first and old ones before new ones. Only
 * at level 0, where no reason is looked at any more.
 */
static void forget(sked_i_exact *x)
{
    int64_t histogram[65] = {0}, drop = x->n_learnt / 2, kept = 0, from = 0;
    for (int64_t k = 0; k < x->clauses_size; k += x->clauses[k] + header)
        histogram[x->clauses[k + 1] < 64 ? x->clauses[k + 1] : 64]++;
    int32_t limit = 64;
    for (; limit > 2 && drop >= histogram[limit]; limit--)
        drop -= histogram[limit];
    drop = limit > 2 ? drop : 0; /* of those at the limit, the oldest */
    for (int32_t l = 0; l < 2 * x->n_vars; l++)
        x->watch[l].count = 0;
    x->n_learnt = 0;
    for (int64_t size; from < x->clauses_size; from += size) {
        size = x->clauses[from] + header;
        const int32_t span = x->clauses[from + 1] < 64 ? x->clauses[from + 1] : 64;
        if (span > limit || (span == limit && drop-- > 0))
            continue;
        memmove(x->clauses + kept, x->clauses + from, (size_t)size * sizeof *x->clauses);
        const int32_t *lits = x->clauses + kept + header;
        watch(x, lits[0], (int32_t)kept, lits[1]);
        watch(x, lits[1], (int32_t)kept, lits[0]);
        kept += size;
        x->n_learnt++;
    }
    x->clauses_size = kept;
}

/* ------------------------------------------------------------------ learning from a conflict */

/* Takes true literals into the conflict; returns how many new ones are of the current level. */
static int32_t absorb(sked_i_exact *x, const sked_i_lits *lits)
{
    int32_t current = 0;
    for (int64_t k = 0; k < lits->count; k++) {
        const int32_t var = lits->at[k] >> 1;
        if (x->seen[var] || x->level[var] == 0)
            continue;
        x->seen[var] = 1;
        bump(x, var);
        if (x->level[var] == x->n_levels)
            current++;
        else
            sked_i_exact_append(x, &x->learnt, lits->at[k] ^ 1);
    }
    return current;
}

/* Is the (false) literal implied by others of the clause? */
static bool redundant(sked_i_exact *x, sked_i_lit l)
{
    const sked_i_why why = x->why[l >> 1];
    if (why.kind == WHY_NONE)
        return false;
    x->scratch.count = 0;
    explain(x, l ^ 1, why, &x->scratch);
    for (int64_t k = 0; k < x->scratch.count; k++)
        if (!x->seen[x->scratch.at[k] >> 1] && x->level[x->scratch.at[k] >> 1] > 0)
            return false;
    return true;
}

/* Drops what the rest implies and puts a literal of the highest remaining level second. */
static int32_t finish_clause(sked_i_exact *x)
{
    sked_i_lits *c = &x->learnt;
    x->conflict.count = 0; /* remembers what to unmark */
    for (int64_t k = 0; k < c->count; k++)
        sked_i_exact_append(x, &x->conflict, c->at[k]);
    int64_t kept = 1;
    for (int64_t k = 1; k < c->count; k++)
        if (!redundant(x, c->at[k]))
            c->at[kept++] = c->at[k];
    c->count = kept;
    for (int64_t k = 0; k < x->conflict.count; k++)
        x->seen[x->conflict.at[k] >> 1] = 0;
    int64_t highest = 1;
    for (int64_t k = 2; k < c->count; k++)
        if (x->level[c->at[k] >> 1] > x->level[c->at[highest] >> 1])
            highest = k;
    if (c->count == 1)
        return 0;
    const sked_i_lit l = c->at[highest];
    c->at[highest] = c->at[1];
    c->at[1] = l;
    return x->level[l >> 1];
}

/* Turns x->conflict into a clause with one literal of the current level (first unique implication point). */
static int32_t analyse(sked_i_exact *x)
{
    x->learnt.count = 0;
    sked_i_exact_append(x, &x->learnt, 0);
    int32_t open = absorb(x, &x->conflict), k = x->n_trail;
    sked_i_lit l = 0;
    for (;;) {
        do
            l = x->trail[--k];
        while (!x->seen[l >> 1] || x->level[l >> 1] != x->n_levels);
        if (--open == 0 || x->failed)
            break;
        x->seen[l >> 1] = 0;
        x->scratch.count = 0;
        explain(x, l, x->why[l >> 1], &x->scratch);
        open += absorb(x, &x->scratch);
    }
    if (x->learnt.count > 0)
        x->learnt.at[0] = l ^ 1;
    return finish_clause(x);
}

/* Learns from x->conflict and goes back; false: there is no way out, the question is answered. */
static bool recover(sked_i_exact *x)
{
    int32_t deepest = 0;
    for (int64_t k = 0; k < x->conflict.count; k++)
        if (x->level[x->conflict.at[k] >> 1] > deepest)
            deepest = x->level[x->conflict.at[k] >> 1];
    if (deepest == 0)
        return false;
    undo_to(x, deepest);
    const int32_t back = analyse(x);
    if (x->failed)
        return true;
    undo_to(x, back);
    learn(x);
    x->bump /= 0.95;
    return true;
}

/* ------------------------------------------------------------------ the search */

static int64_t luby(int64_t k)
{
    int64_t size = 1, order = 0;
    for (; size < k + 1; order++)
        size = 2 * size + 1;
    while (size - 1 != k) {
        size = (size - 1) / 2;
        order--;
        k = k % size;
    }
    return (int64_t)1 << order;
}

static void decide(sked_i_exact *x)
{
    int32_t var;
    do
        var = heap_pop(x);
    while (x->value[var] != 0);
    x->mark[x->n_levels++] = x->n_trail;
    put_all(x, 2 * var + (x->phase[var] > 0 ? 0 : 1), (sked_i_why){WHY_NONE, 0, 0});
}

/* Until an answer, a restart (both false) or a limit. */
static sked_i_verdict search(sked_i_exact *x, const sked_i_limit *limit, int64_t *conflicts)
{
    int64_t restarts = 0, until = restart_unit, keep = first_clauses, steps = 0;
    if (!sked_i_exact_root(x))
        return SKED_I_NONE;
    while (!x->failed) {
        if (!propagate(x)) {
            if (!recover(x))
                return SKED_I_NONE;
            if (++*conflicts >= x->q->conflicts || (*conflicts % 8 == 0 && sked_i_limit_reached(limit)))
                return SKED_I_UNKNOWN;
            continue;
        }
        if (x->n_open == 0)
            return SKED_I_FOUND;
        if (++steps % 128 == 0 && sked_i_limit_reached(limit))
            return SKED_I_UNKNOWN;
        if (*conflicts >= until) {
            undo_to(x, 0);
            until = *conflicts + restart_unit * luby(restarts++);
            if (x->n_learnt > keep) {
                forget(x);
                keep += keep / 10;
            }
            continue;
        }
        decide(x);
    }
    return SKED_I_UNKNOWN;
}

static sked_status prepare(sked_i_exact *x, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = x->n_vars;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, x->q->seed, 1);
    SKED_NEW0(x->value, n);
    SKED_NEW(x->phase, n);
    SKED_NEW0(x->level, n);
    SKED_NEW0(x->place, n);
    SKED_NEW0(x->why, n);
    SKED_NEW(x->trail, n);
    SKED_NEW(x->old_bound, n + 1);
    SKED_NEW(x->mark, n + 1);
    SKED_NEW0(x->watch, 2 * n);
    SKED_NEW(x->activity, n);
    SKED_NEW(x->heap, n);
    SKED_NEW(x->heap_at, n);
    SKED_NEW0(x->seen, n);
    SKED_NEW0(x->stamp, n + 1);
    x->bump = 1;
    for (int32_t v = 0; v < n; v++) {
        const int32_t i = x->var_op[v];
        const int64_t t =
            v < x->n_order ? x->lo[i] + 1 + (v - x->order_base[i]) : x->lo[i] + (v - x->slot_base[i]);
        const bool order = v < x->n_order;
        x->phase[v] = -1;
        if (x->q->hint != NULL)
            x->phase[v] = (order ? x->q->hint[i] >= t : (x->q->hint[i] - t) % x->ii == 0) ? 1 : -1;
        /* Early bounds of ops that hold something come first, until conflicts say otherwise. */
        x->activity[v] = x->slots[i] == 0 ? 0
                                          : (order ? 1e-3 : 5e-4) / (1.0 + fabs((double)t)) *
                                                (1 + 1e-3 * sked_i_rng_uniform(&rng));
        x->heap_at[v] = -1;
    }
    for (int32_t v = 0; v < n; v++)
        heap_insert(x, v);
cleanup:
    return st;
}

static void clear(sked_i_exact *x)
{
    for (int64_t k = 0; x->watch != NULL && k < 2 * (int64_t)x->n_vars; k++)
        free(x->watch[k].at);
    void *const owned[] = {
        x->lo,        x->hi,     x->order_base,  x->slot_base,  x->slots,     x->var_op,     x->lb,
        x->ub,        x->chosen, x->pool_room,   x->load,       x->part_ptr,  x->member_ptr, x->part,
        x->member,    x->value,  x->phase,       x->level,      x->place,     x->why,        x->trail,
        x->old_bound, x->mark,   x->conflict.at, x->scratch.at, x->learnt.at, x->clauses,    x->watch,
        x->activity,  x->heap,   x->heap_at,     x->seen,       x->stamp};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

sked_status sked_i_exact_solve(const sked_i_loop *loop, const sked_i_question *q, const sked_i_limit *limit,
                               sked_i_verdict *verdict, int64_t *start, int64_t *conflicts, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_exact x = {.loop = loop, .q = q, .n = loop->n, .ii = q->ii};
    bool empty = false, too_large = false;
    int64_t met = 0;
    *verdict = SKED_I_UNKNOWN;
    SKED_TRY(sked_i_exact_model(&x, &empty, &too_large, err));
    if (empty) {
        *verdict = SKED_I_NONE;
    } else if (!too_large) {
        SKED_TRY(prepare(&x, err));
        *verdict = search(&x, limit, &met);
        if (x.failed)
            SKED_TRY(sked_i_no_memory(err));
        if (*verdict == SKED_I_FOUND)
            memcpy(start, x.lb, (size_t)loop->n * sizeof *start);
    }
cleanup:
    clear(&x);
    if (conflicts != NULL)
        *conflicts = met;
    return st;
}
