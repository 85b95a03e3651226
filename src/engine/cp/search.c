/* Learning from conflicts, decisions, restarts, forgetting. */
#include "engine/cp/cp.h"

#include <string.h>

enum { in_clause = 1, seen = 2 }; /* bits of `needed` */
enum { shared_glue = 2, shared_size = 12, outbox_room = 1 << 13 };

/* ------------------------------------------------------------------ activity heap, largest first */

static bool hotter(const sked_i_cp *cp, int32_t a, int32_t b)
{
    const double of_a = cp->activity[a], of_b = cp->activity[b];
    return of_a > of_b || (of_a == of_b && a < b);
}

static void heap_put(sked_i_cp *cp, int32_t at, int32_t var)
{
    cp->heap[at] = var;
    cp->heap_at[var] = at;
}

static void heap_up(sked_i_cp *cp, int32_t at)
{
    const int32_t var = cp->heap[at];
    for (; at > 0 && hotter(cp, var, cp->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_put(cp, at, cp->heap[(at - 1) / 2]);
    heap_put(cp, at, var);
}

static void heap_down(sked_i_cp *cp, int32_t at)
{
    const int32_t var = cp->heap[at];
    for (int32_t child; (child = 2 * at + 1) < cp->heap_count; at = child) {
        if (child + 1 < cp->heap_count && hotter(cp, cp->heap[child + 1], cp->heap[child]))
            child++;
        if (!hotter(cp, cp->heap[child], var))
            break;
        heap_put(cp, at, cp->heap[child]);
    }
    heap_put(cp, at, var);
}

void sked_i_cp_wake(sked_i_cp *cp, int32_t var)
{
    if (cp->heap_at[var] >= 0)
        return;
    heap_put(cp, cp->heap_count++, var);
    heap_up(cp, cp->heap_at[var]);
}

static int32_t heap_pop(sked_i_cp *cp)
{
    const int32_t var = cp->heap[0];
    cp->heap_at[var] = -1;
    if (--cp->heap_count > 0) {
        heap_put(cp, 0, cp->heap[cp->heap_count]);
        heap_down(cp, 0);
    }
    return var;
}

static void bump(sked_i_cp *cp, int32_t var)
{
    cp->activity[var] += cp->bump;
    if (cp->activity[var] > 1e100) {
        for (int32_t k = 0; k < cp->n_vars; k++)
            cp->activity[k] *= 1e-100;
        cp->bump *= 1e-100;
    }
    if (cp->heap_at[var] >= 0)
        heap_up(cp, cp->heap_at[var]);
}

/* ------------------------------------------------------------------ learning */

/* The entry that first made view >= value true; -1: the root. */
static int64_t entry_of(const sked_i_cp *cp, int32_t view, int32_t value)
{
    int64_t k = cp->latest[view];
    while (k >= 0 && cp->trail[k].old >= value)
        k = cp->trail[k].prev;
    return k;
}

static int32_t level_of(const sked_i_cp *cp, sked_i_lit l)
{
    const int64_t k = entry_of(cp, l.view, l.value);
    return k < 0 ? 0 : cp->trail[k].level;
}

/* Wants view >= value; returns how many more wanted literals of the present level there are. */
static int want(sked_i_cp *cp, int32_t view, int32_t value)
{
    if (cp->root[view] >= value)
        return 0;
    const int64_t begin = cp->level_begin[cp->level];
    const bool here = entry_of(cp, view, value) >= begin;
    if (!(cp->needed[view] & in_clause)) {
        if (!(cp->needed[view] & seen))
            cp->touched[cp->touched_count++] = view;
        cp->needed[view] = in_clause | seen;
        cp->need[view] = value;
        bump(cp, view / 2);
        return here;
    }
    if (cp->need[view] >= value)
        return 0;
    const bool was_here = entry_of(cp, view, cp->need[view]) >= begin;
    cp->need[view] = value;
    return here && !was_here;
}

/*
 * Is every literal of the reason of (view, need) implied by wanted ones? Then it adds nothing to the clause.
 * Only ones that held earlier count: a later, stronger bound may itself rest on this literal.
 */
static bool redundant(sked_i_cp *cp, int32_t view)
{
    const int64_t k = entry_of(cp, view, cp->need[view]);
    if (k < 0 || cp->trail[k].reason.kind == SKED_I_CP_DECISION)
        return false;
    cp->conflict_count = 0;
    sked_i_cp_add_reason(cp, cp->trail[k].reason, cp->need[view]);
    for (int64_t j = 0; j < cp->conflict_count; j++) {
        const sked_i_lit l = cp->conflict[j];
        if (cp->root[l.view] < l.value && !((cp->needed[l.view] & in_clause) && cp->need[l.view] >= l.value &&
                                            entry_of(cp, l.view, cp->need[l.view]) < k))
            return false;
    }
    return true;
}

/* Walks the trail back to the first unique implication point; leaves it out of `needed`, returns it. */
static sked_i_lit find_uip(sked_i_cp *cp)
{
    int open = 0;
    for (int64_t k = 0; k < cp->conflict_count; k++)
        open += want(cp, cp->conflict[k].view, cp->conflict[k].value);
    for (int64_t k = cp->trail_count - 1;; k--) {
        const sked_i_cp_entry *e = &cp->trail[k];
        if (!(cp->needed[e->view] & in_clause) || cp->need[e->view] <= e->old)
            continue;
        const sked_i_lit l = {e->view, cp->need[e->view]};
        if (--open == 0)
            return l;
        cp->needed[e->view] = seen;
        cp->conflict_count = 0;
        sked_i_cp_add_reason(cp, e->reason, l.value);
        for (int64_t j = 0; j < cp->conflict_count; j++)
            open += want(cp, cp->conflict[j].view, cp->conflict[j].value);
    }
}

/* Fills cp->clause: the negated implication point first, then one of the highest other level. glue: levels.
 */
static int32_t build_clause(sked_i_cp *cp, sked_i_lit uip, int32_t *back, int32_t *glue)
{
    int32_t size = 1, best = 0;
    *back = 0;
    *glue = 1;
    cp->clause[0] = sked_i_lit_not(uip);
    for (int32_t k = 0; k < cp->touched_count; k++) {
        const int32_t view = cp->touched[k];
        if (!(cp->needed[view] & in_clause) || view == uip.view || redundant(cp, view))
            continue;
        const sked_i_lit l = {view, cp->need[view]};
        const int32_t level = level_of(cp, l);
        *glue += cp->level_stamp[level] != cp->conflicts;
        cp->level_stamp[level] = cp->conflicts;
        if (level > *back) {
            *back = level;
            best = size;
        }
        cp->clause[size++] = sked_i_lit_not(l);
    }
    if (best > 1) {
        const sked_i_lit t = cp->clause[1];
        cp->clause[1] = cp->clause[best];
        cp->clause[best] = t;
    }
    for (int32_t k = 0; k < cp->touched_count; k++)
        cp->needed[cp->touched[k]] = 0;
    cp->touched_count = 0;
    return size;
}

static bool store_clause(sked_i_cp *cp, int32_t size, int32_t glue, int64_t *ref)
{
    const int64_t need = cp->arena_count + sked_i_cp_header + 2 * (int64_t)size;
    if (!SKED_GROW(cp->arena, cp->arena_cap, need) ||
        !SKED_GROW(cp->learnt, cp->learnt_cap, cp->learnt_count + 1))
        return cp->failed = true, false;
    *ref = cp->arena_count;
    cp->arena[*ref] = size;
    cp->arena[*ref + 1] = glue;
    memcpy(sked_i_cp_literals(cp, *ref), cp->clause, (size_t)size * sizeof *cp->clause);
    cp->arena_count = need;
    cp->learnt[cp->learnt_count++] = *ref;
    return sked_i_cp_push_watch(cp, cp->clause[0], cp->clause[1], *ref) &&
           sked_i_cp_push_watch(cp, cp->clause[1], cp->clause[0], *ref);
}

/* Keeps the clause just built for other solvers where it is short and of few levels. */
static void share_clause(sked_i_cp *cp, int32_t size, int32_t glue)
{
    const int64_t end = cp->outbox_count + 1 + size;
    if (!cp->shares || glue > shared_glue || size > shared_size || end > outbox_room)
        return;
    if (!SKED_GROW(cp->outbox, cp->outbox_cap, end)) {
        cp->failed = true;
        return;
    }
    cp->outbox[cp->outbox_count] = (sked_i_lit){size, glue};
    memcpy(cp->outbox + cp->outbox_count + 1, cp->clause, (size_t)size * sizeof *cp->clause);
    cp->outbox_count = end;
}

/* Conflict at hand: learns a clause, goes back and asserts it. false: no solution (or no memory). */
static bool learn(sked_i_cp *cp)
{
    int32_t top = 0;
    for (int64_t k = 0; k < cp->conflict_count; k++) {
        const int32_t level = level_of(cp, cp->conflict[k]);
        top = level > top ? level : top;
    }
    if (top == 0 || cp->failed)
        return false;
    sked_i_cp_back_to(cp, top);
    int32_t back, glue;
    const sked_i_lit uip = find_uip(cp);
    const int32_t size = build_clause(cp, uip, &back, &glue);
    int64_t ref = -1;
    share_clause(cp, size, glue);
    sked_i_cp_back_to(cp, back);
    sked_i_cp_reason reason = {.kind = SKED_I_CP_DECISION};
    if (size > 1) {
        if (!store_clause(cp, size, glue, &ref))
            return false;
        reason = (sked_i_cp_reason){.kind = SKED_I_CP_CLAUSE, .ref = ref};
    }
    cp->bump /= 0.95;
    return sked_i_cp_raise(cp, sked_i_lit_not(uip).view, sked_i_lit_not(uip).value, reason);
}

/* ------------------------------------------------------------------ forgetting */

typedef struct ranked {
    int64_t ref;
    int32_t glue;
} ranked;

static int by_glue(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->glue != b->glue)
        return (a->glue > b->glue) - (a->glue < b->glue);
    return (a->ref < b->ref) - (a->ref > b->ref); /* younger first */
}

/* At the root: keeps the youngest quarter of the learned clauses and, up to half, those of few levels,
 * rebuilds the watches. */
static bool forget(sked_i_cp *cp)
{
    ranked *rank = sked_i_alloc(cp->learnt_count, sizeof *rank);
    int32_t *arena = sked_i_alloc(cp->arena_count, sizeof *arena);
    if (rank == NULL || arena == NULL) {
        free(rank);
        free(arena);
        return cp->failed = true, false;
    }
    const int64_t young = cp->learnt_count - cp->learnt_count / 4;
    int64_t write = 0, kept = 0;
    for (int64_t k = 0; k < cp->learnt_count; k++)
        rank[k] = (ranked){cp->learnt[k], k >= young ? 0 : cp->arena[cp->learnt[k] + 1]};
    qsort(rank, (size_t)cp->learnt_count, sizeof *rank, by_glue);
    const int64_t keep = cp->learnt_count / 2;
    for (int64_t k = keep; k < cp->learnt_count; k++)
        cp->arena[rank[k].ref] = -cp->arena[rank[k].ref];
    for (int64_t k = 0; k < cp->watch_at[2 * cp->n_vars]; k++)
        cp->watch[k].count = 0;
    for (int64_t k = 0; k < cp->learnt_count && !cp->failed; k++) {
        const int64_t from = cp->learnt[k];
        if (cp->arena[from] < 0)
            continue;
        const sked_i_lit *l = sked_i_cp_literals(cp, from);
        (void)(sked_i_cp_push_watch(cp, l[0], l[1], write) && sked_i_cp_push_watch(cp, l[1], l[0], write));
        const int64_t length = sked_i_cp_header + 2 * (int64_t)cp->arena[from];
        memcpy(arena + write, cp->arena + from, (size_t)length * sizeof *arena);
        cp->learnt[kept++] = write;
        write += length;
    }
    memcpy(cp->arena, arena, (size_t)write * sizeof *arena);
    cp->arena_count = write;
    cp->learnt_count = kept;
    cp->learnt_limit += cp->learnt_limit / 10;
    free(rank);
    free(arena);
    return !cp->failed;
}

/* ------------------------------------------------------------------ search */

static bool is_fixed(const sked_i_cp *cp, int32_t var)
{
    return cp->low[2 * var] == -cp->low[2 * var + 1];
}

/* The start that can come first; ties: the most urgent. */
static int32_t earliest(const sked_i_cp *cp)
{
    int32_t best = -1;
    for (int32_t x = 0; x < cp->n_starts; x++) {
        if (is_fixed(cp, x))
            continue;
        if (best < 0 || cp->low[2 * x] < cp->low[2 * best] ||
            (cp->low[2 * x] == cp->low[2 * best] && cp->low[2 * x + 1] > cp->low[2 * best + 1]))
            best = x;
    }
    return best;
}

static int32_t hottest(sked_i_cp *cp)
{
    while (cp->heap_count > 0) {
        const int32_t var = heap_pop(cp);
        if (!is_fixed(cp, var) && var != cp->objective)
            return var;
    }
    return cp->objective >= 0 && !is_fixed(cp, cp->objective) ? cp->objective : -1;
}

/* x <= v for the value it had in the last solution, or its least value. */
static sked_i_lit choose_value(const sked_i_cp *cp, int32_t x, bool by_time)
{
    const int32_t low = cp->low[2 * x], high = -cp->low[2 * x + 1];
    int32_t v = low;
    if (!by_time && x != cp->objective && cp->has_phase && cp->phase[x] > low)
        v = cp->phase[x] < high ? cp->phase[x] : high;
    if (v == high)
        return (sked_i_lit){2 * x, high}; /* x >= high fixes it there */
    return (sked_i_lit){2 * x + 1, -v};
}

static bool decide(sked_i_cp *cp, sked_i_lit l)
{
    cp->decisions++;
    return sked_i_cp_open_level(cp) &&
           sked_i_cp_raise(cp, l.view, l.value, (sked_i_cp_reason){.kind = SKED_I_CP_DECISION});
}

/* The next decision; false: everything is fixed. */
static bool next_decision(sked_i_cp *cp, sked_i_lit assume, bool by_time, sked_i_lit *out)
{
    if (cp->level == 0 && assume.view >= 0 && !sked_i_cp_true(cp, assume))
        return *out = assume, true;
    int32_t x = by_time ? earliest(cp) : hottest(cp);
    if (x < 0)
        x = hottest(cp);
    if (x < 0)
        return false;
    *out = choose_value(cp, x, by_time);
    sked_i_cp_wake(cp, x); /* it may take several decisions */
    return true;
}

static void refill_heap(sked_i_cp *cp)
{
    for (int32_t x = 0; x < cp->n_vars; x++)
        if (!is_fixed(cp, x))
            sked_i_cp_wake(cp, x);
}

sked_i_cp_answer sked_i_cp_solve(sked_i_cp *cp, sked_i_lit assume, bool by_time, int64_t conflicts,
                                 const sked_i_limit *limit)
{
    const int64_t end = cp->conflicts + conflicts;
    if (cp->watch == NULL && !sked_i_cp_layout(cp))
        return SKED_I_CP_UNKNOWN;
    refill_heap(cp);
    for (;;) {
        if (!sked_i_cp_propagate(cp)) {
            cp->conflicts++;
            if (cp->failed)
                return SKED_I_CP_UNKNOWN;
            if (cp->level == 0 || !learn(cp))
                return cp->failed ? SKED_I_CP_UNKNOWN : SKED_I_CP_UNSAT;
            continue;
        }
        if (cp->level == 0) {
            sked_i_cp_settle(cp);
            if (cp->learnt_count > cp->learnt_limit && !forget(cp))
                return SKED_I_CP_UNKNOWN;
            if (assume.view >= 0 && sked_i_cp_false(cp, assume))
                return SKED_I_CP_UNKNOWN;
        }
        if (cp->conflicts >= end || cp->work >= cp->work_end || sked_i_limit_reached(limit)) {
            sked_i_cp_back_to(cp, 0);
            return SKED_I_CP_UNKNOWN;
        }
        sked_i_lit l;
        if (!next_decision(cp, assume, by_time, &l)) {
            for (int32_t x = 0; x < cp->n_vars; x++)
                cp->phase[x] = cp->low[2 * x];
            cp->has_phase = true;
            return SKED_I_CP_SAT;
        }
        if (!decide(cp, l))
            return SKED_I_CP_UNKNOWN; /* no memory: a decision contradicts nothing */
    }
}

/* ------------------------------------------------------------------ several solvers of one model */

void sked_i_cp_shake(sked_i_cp *cp)
{
    for (int32_t x = 0; x < cp->n_vars; x++)
        cp->activity[x] = sked_i_rng_uniform(&cp->rng);
}

/* Adds a clause at the root: without what is false there, and not at all where it holds anyway. */
static bool add_clause(sked_i_cp *cp, const sked_i_lit *l, int32_t size, int32_t glue)
{
    int32_t count = 0;
    int64_t ref;
    for (int32_t k = 0; k < size; k++) {
        if (sked_i_cp_true(cp, l[k]))
            return true;
        if (!sked_i_cp_false(cp, l[k]))
            cp->clause[count++] = l[k];
    }
    if (count == 0)
        return false;
    return count == 1 ? sked_i_cp_root_bound(cp, cp->clause[0]) : store_clause(cp, count, glue, &ref);
}

bool sked_i_cp_import(sked_i_cp *cp, const sked_i_cp *from)
{
    bool fine = true;
    for (int32_t v = 0; fine && v < 2 * cp->n_vars; v++)
        fine = sked_i_cp_root_bound(cp, (sked_i_lit){v, from->root[v]});
    for (int64_t k = 0; fine && k < from->outbox_count; k += 1 + from->outbox[k].view)
        fine = add_clause(cp, from->outbox + k + 1, from->outbox[k].view, from->outbox[k].value);
    return fine;
}
