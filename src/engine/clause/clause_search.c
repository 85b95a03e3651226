/* Learning from conflicts, decisions, restarts, forgetting. */
#include "engine/clause/clause.h"

#include "base/logging.h"

#include <assert.h>
#include <string.h>

enum { in_clause = 1, seen = 2 }; /* bits of `needed` */
enum { shared_glue = 2, shared_size = 12, outbox_room = 1 << 13 };

/* ------------------------------------------------------------------ learning */

/* The entry that first made view >= value true; -1: the root. */
static int64_t entry_of(const sked_i_clause_solver *s, int32_t view, int32_t value)
{
    int64_t k = s->latest[view];
    while (k >= 0 && s->trail[k].old >= value)
        k = s->trail[k].prev;
    return k;
}

static int32_t level_of(const sked_i_clause_solver *s, sked_i_lit l)
{
    const int64_t k = entry_of(s, l.view, l.value);
    return k < 0 ? 0 : s->trail[k].level;
}

/* Wants view >= value; returns how many more wanted literals of the present level there are. */
static int want(sked_i_clause_solver *s, int32_t view, int32_t value)
{
    if (s->root[view] >= value)
        return 0;
    const int64_t begin = s->levels[s->level].begin;
    const bool here = entry_of(s, view, value) >= begin;
    if (!(s->needed[view] & in_clause)) {
        if (!(s->needed[view] & seen))
            s->touched[s->touched_count++] = view;
        s->needed[view] = in_clause | seen;
        s->need[view] = value;
        sked_i_activity_bump(&s->activity, view / 2);
        return here;
    }
    if (s->need[view] >= value)
        return 0;
    const bool was_here = entry_of(s, view, s->need[view]) >= begin;
    s->need[view] = value;
    return here && !was_here;
}

/* Did the noted literals hold before the entry they explain? For assertions. */
static inline bool reason_holds(const sked_i_clause_solver *s, int64_t entry)
{
    for (int64_t k = 0; k < s->conflict_count; k++)
        if (sked_i_clause_low_before(s, s->conflict[k].view, entry) < s->conflict[k].value)
            return false;
    return true;
}

/*
 * Is every literal of the reason of (view, need) implied by wanted ones? Then it adds nothing to the clause.
 * Only ones that held earlier count: a later, stronger bound may itself rest on this literal.
 */
static bool redundant(sked_i_clause_solver *s, int32_t view)
{
    const int64_t k = entry_of(s, view, s->need[view]);
    if (k < 0 || s->trail[k].reason.kind == SKED_I_CLAUSE_BY_DECISION)
        return false;
    s->conflict_count = 0;
    sked_i_clause_add_reason(s, s->trail[k].reason, (sked_i_lit){view, s->need[view]}, k);
    assert(reason_holds(s, k));
    for (int64_t j = 0; j < s->conflict_count; j++) {
        const sked_i_lit l = s->conflict[j];
        if (s->root[l.view] < l.value && !((s->needed[l.view] & in_clause) && s->need[l.view] >= l.value &&
                                           entry_of(s, l.view, s->need[l.view]) < k))
            return false;
    }
    return true;
}

/*
 * Takes entries off the trail back to the first unique implication point, so that reasons are explained with
 * the bounds they were found with; leaves it out of `needed`, returns it.
 */
static sked_i_lit find_uip(sked_i_clause_solver *s)
{
    int open = 0;
    for (int64_t k = 0; k < s->conflict_count; k++)
        open += want(s, s->conflict[k].view, s->conflict[k].value);
    for (;; sked_i_clause_undo(s)) {
        assert(open > 0 && s->trail_count > s->levels[s->level].begin);
        const sked_i_clause_entry *e = &s->trail[s->trail_count - 1];
        if (!(s->needed[e->view] & in_clause) || s->need[e->view] <= e->old)
            continue;
        const sked_i_lit l = {e->view, s->need[e->view]};
        if (--open == 0)
            return l;
        s->needed[e->view] = seen;
        s->conflict_count = 0;
        sked_i_clause_add_reason(s, e->reason, l, s->trail_count - 1);
        assert(reason_holds(s, s->trail_count - 1));
        for (int64_t j = 0; j < s->conflict_count; j++)
            open += want(s, s->conflict[j].view, s->conflict[j].value);
    }
}

/* Fills s->clause: the negated implication point first, then one of the highest other level. glue: levels.
 */
static int32_t build_clause(sked_i_clause_solver *s, sked_i_lit uip, int32_t *back, int32_t *glue)
{
    int32_t size = 1, best = 0;
    *back = 0;
    *glue = 1;
    s->clause[0] = sked_i_lit_not(uip);
    for (int32_t k = 0; k < s->touched_count; k++) {
        const int32_t view = s->touched[k];
        if (!(s->needed[view] & in_clause) || view == uip.view || redundant(s, view))
            continue;
        const sked_i_lit l = {view, s->need[view]};
        const int32_t level = level_of(s, l);
        assert(level > 0 && level < s->level);
        *glue += s->levels[level].stamp != s->stats.conflicts;
        s->levels[level].stamp = s->stats.conflicts;
        if (level > *back) {
            *back = level;
            best = size;
        }
        s->clause[size++] = sked_i_lit_not(l);
    }
    if (best > 1) {
        const sked_i_lit t = s->clause[1];
        s->clause[1] = s->clause[best];
        s->clause[best] = t;
    }
    for (int32_t k = 0; k < s->touched_count; k++)
        s->needed[s->touched[k]] = 0;
    s->touched_count = 0;
    return size;
}

static bool store_clause(sked_i_clause_solver *s, int32_t size, int32_t glue, int64_t *ref)
{
    const int64_t need = s->arena_count + sked_i_clause_header + 2 * (int64_t)size;
    if (!SKED_OWN_GROW(&s->memory, s->arena, s->arena_cap, need) ||
        !SKED_OWN_GROW(&s->memory, s->learnt, s->learnt_cap, s->learnt_count + 1))
        return s->failed = true, false;
    *ref = s->arena_count;
    s->arena[*ref] = size;
    s->arena[*ref + 1] = glue;
    memcpy(sked_i_clause_literals(s, *ref), s->clause, (size_t)size * sizeof *s->clause);
    s->arena_count = need;
    s->learnt[s->learnt_count++] = *ref;
    s->n_kept += glue == sked_i_clause_for_ever;
    s->stats.learnt++;
    return sked_i_clause_push_watch(s, s->clause[0], s->clause[1], *ref) &&
           sked_i_clause_push_watch(s, s->clause[1], s->clause[0], *ref);
}

/* Keeps the clause just built for other solvers where it is short and of few levels. */
static void share_clause(sked_i_clause_solver *s, int32_t size, int32_t glue)
{
    const int64_t end = s->outbox_count + 1 + size;
    if (!s->shares || glue > shared_glue || size > shared_size || end > outbox_room)
        return;
    if (!SKED_OWN_GROW(&s->memory, s->outbox, s->outbox_cap, end)) {
        s->failed = true;
        return;
    }
    s->outbox[s->outbox_count] = (sked_i_lit){size, glue};
    memcpy(s->outbox + s->outbox_count + 1, s->clause, (size_t)size * sizeof *s->clause);
    s->outbox_count = end;
}

/* Conflict at hand: learns a clause, goes back and asserts it. false: no solution (or no memory). */
static bool learn(sked_i_clause_solver *s)
{
    int32_t top = 0;
    for (int64_t k = 0; k < s->conflict_count; k++) {
        const int32_t level = level_of(s, s->conflict[k]);
        top = level > top ? level : top;
    }
    if (top == 0 || s->failed)
        return false;
    sked_i_clause_back_to(s, top);
    int32_t back, glue;
    const sked_i_lit uip = find_uip(s);
    const int32_t size = build_clause(s, uip, &back, &glue);
    int64_t ref = -1;
    share_clause(s, size, glue);
    assert(back < s->level);
    sked_i_clause_back_to(s, back);
    sked_i_clause_reason reason = {.kind = SKED_I_CLAUSE_BY_DECISION};
    if (size > 1) {
        if (!store_clause(s, size, glue, &ref))
            return false;
        reason = (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_CLAUSE, .ref = ref};
    }
    sked_i_activity_decay(&s->activity, 0.95);
    return sked_i_clause_raise(s, sked_i_lit_not(uip).view, sked_i_lit_not(uip).value, reason);
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

/* At the root: keeps the youngest quarter of the learned clauses and, up to half, those of few levels, beside
 * those of the model; rebuilds the watches. */
static bool forget(sked_i_clause_solver *s)
{
    ranked *rank = sked_i_alloc(s->learnt_count, sizeof *rank);
    int32_t *arena = sked_i_alloc(s->arena_count, sizeof *arena);
    if (rank == NULL || arena == NULL) {
        free(rank);
        free(arena);
        return s->failed = true, false;
    }
    const int64_t young = s->learnt_count - (s->learnt_count - s->n_kept) / 4;
    int64_t write = 0, kept = 0;
    for (int64_t k = 0; k < s->learnt_count; k++)
        rank[k] = (ranked){s->learnt[k], s->arena[s->learnt[k] + 1]};
    for (int64_t k = young; k < s->learnt_count; k++)
        rank[k].glue = rank[k].glue < 0 ? rank[k].glue : 0;
    qsort(rank, (size_t)s->learnt_count, sizeof *rank, by_glue);
    const int64_t keep = s->n_kept + (s->learnt_count - s->n_kept) / 2;
    for (int64_t k = keep; k < s->learnt_count; k++)
        s->arena[rank[k].ref] = -s->arena[rank[k].ref];
    for (int64_t k = 0; k < s->watch_at[2 * s->n_vars]; k++)
        s->watch[k].count = 0;
    for (int64_t k = 0; k < s->learnt_count && !s->failed; k++) {
        const int64_t from = s->learnt[k];
        if (s->arena[from] < 0)
            continue;
        const sked_i_lit *l = sked_i_clause_literals(s, from);
        (void)(sked_i_clause_push_watch(s, l[0], l[1], write) &&
               sked_i_clause_push_watch(s, l[1], l[0], write));
        const int64_t length = sked_i_clause_header + 2 * (int64_t)s->arena[from];
        memcpy(arena + write, s->arena + from, (size_t)length * sizeof *arena);
        s->learnt[kept++] = write;
        write += length;
    }
    memcpy(s->arena, arena, (size_t)write * sizeof *arena);
    s->arena_count = write;
    s->stats.reduced += s->learnt_count - kept;
    s->learnt_count = kept;
    s->learnt_limit += s->learnt_limit / 10;
    free(rank);
    free(arena);
    return !s->failed;
}

/* ------------------------------------------------------------------ search */

static bool is_fixed(const sked_i_clause_solver *s, int32_t var)
{
    return s->low[2 * var] == -s->low[2 * var + 1];
}

/* The start that can come first; ties: the most urgent. */
static int32_t earliest(const sked_i_clause_solver *s)
{
    int32_t best = -1;
    for (int32_t x = 0; x < s->n_starts; x++) {
        if (is_fixed(s, x))
            continue;
        if (best < 0 || s->low[2 * x] < s->low[2 * best] ||
            (s->low[2 * x] == s->low[2 * best] && s->low[2 * x + 1] > s->low[2 * best + 1]))
            best = x;
    }
    return best;
}

static int32_t hottest(sked_i_clause_solver *s)
{
    while (s->activity.count > 0) {
        const int32_t var = sked_i_activity_pop(&s->activity);
        if (!is_fixed(s, var) && var != s->objective)
            return var;
    }
    return s->objective >= 0 && !is_fixed(s, s->objective) ? s->objective : -1;
}

/* x <= v for the value it had in the last solution, or its least value. */
static sked_i_lit choose_value(const sked_i_clause_solver *s, int32_t x, bool by_time)
{
    const int32_t low = s->low[2 * x], high = -s->low[2 * x + 1];
    int32_t v = low;
    if (!by_time && x != s->objective && s->has_phase && s->phase[x] > low)
        v = s->phase[x] < high ? s->phase[x] : high;
    if (v == high)
        return (sked_i_lit){2 * x, high}; /* x >= high fixes it there */
    return (sked_i_lit){2 * x + 1, -v};
}

static bool decide(sked_i_clause_solver *s, sked_i_lit l)
{
    s->stats.decisions++;
    return sked_i_clause_open_level(s) &&
           sked_i_clause_raise(s, l.view, l.value, (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_DECISION});
}

/* The next decision; FOUND: everything is fixed, NARROW: an assumption is false, UNDECIDED: *out is it. */
static sked_i_verdict next_decision(sked_i_clause_solver *s, const sked_i_clause_budget *b, int32_t *assumed,
                                    sked_i_lit *out)
{
    for (; *assumed < b->n_assume; ++*assumed) {
        const sked_i_lit l = b->assume[*assumed];
        if (sked_i_clause_false(s, l))
            return SKED_I_NARROW;
        if (!sked_i_clause_true(s, l))
            return *out = l, SKED_I_UNDECIDED;
    }
    int32_t x = b->by_time ? earliest(s) : hottest(s);
    if (x < 0)
        x = hottest(s);
    if (x < 0)
        return SKED_I_FOUND;
    *out = choose_value(s, x, b->by_time);
    sked_i_activity_insert(&s->activity, x); /* it may take several decisions */
    return SKED_I_UNDECIDED;
}

static void refill_heap(sked_i_clause_solver *s)
{
    for (int32_t x = 0; x < s->n_vars; x++)
        if (!is_fixed(s, x) && sked_i_clause_decides(s, x))
            sked_i_activity_insert(&s->activity, x);
}

/* Learns from the conflict at hand. UNDECIDED: the search may go on. */
static sked_i_verdict resolve(sked_i_clause_solver *s, const sked_i_clause_budget *b, bool *over)
{
    s->stats.conflicts++;
    if (s->failed)
        return *over = true, SKED_I_UNDECIDED;
    if (s->level == 0 || !learn(s)) {
        *over = true;
        return s->failed ? SKED_I_UNDECIDED : SKED_I_REFUTED;
    }
    *over = b->over != NULL && b->over(b->self);
    return SKED_I_UNDECIDED;
}

/* At the root, when all is propagated. false: no memory. */
static bool tidy(sked_i_clause_solver *s)
{
    assert(sked_i_activity_ordered(&s->activity));
    sked_i_clause_settle(s);
    return s->learnt_count - s->n_kept <= s->learnt_limit || forget(s);
}

static bool spent(const sked_i_clause_solver *s, const sked_i_clause_budget *b, int64_t end)
{
    return s->stats.conflicts >= end || s->work >= s->work_end ||
           (b->limit != NULL && sked_i_limit_reached(b->limit));
}

/* Until an answer; the caller goes back to the root. */
static sked_i_verdict descend(sked_i_clause_solver *s, const sked_i_clause_budget *b)
{
    const int64_t end = s->stats.conflicts + b->conflicts;
    sked_i_verdict v = SKED_I_UNDECIDED;
    int32_t assumed = 0;
    for (bool over = false; !over;) {
        if (!sked_i_clause_propagate(s)) {
            v = resolve(s, b, &over);
            assumed = 0;
            continue;
        }
        if ((s->level == 0 && !tidy(s)) || spent(s, b, end))
            break;
        sked_i_lit l;
        v = next_decision(s, b, &assumed, &l);
        over = v != SKED_I_UNDECIDED || !decide(s, l); /* no memory: a decision contradicts nothing */
    }
    return v;
}

sked_i_verdict sked_i_clause_solve(sked_i_clause_solver *s, const sked_i_clause_budget *budget)
{
    if (s->refuted)
        return SKED_I_REFUTED;
    if (s->watch == NULL && !sked_i_clause_layout(s))
        return SKED_I_UNDECIDED;
    refill_heap(s);
    const sked_i_verdict v = descend(s, budget);
    if (v != SKED_I_FOUND) {
        sked_i_clause_back_to(s, 0);
        s->stats.restarts += v == SKED_I_UNDECIDED;
        SKED_LOG(2, "clause", "restart %lld: %lld conflicts, %lld decisions, %lld clauses",
                 (long long)s->stats.restarts, (long long)s->stats.conflicts, (long long)s->stats.decisions,
                 (long long)s->learnt_count);
        s->refuted = v == SKED_I_REFUTED;
        return v;
    }
    for (int32_t x = 0; x < s->n_vars; x++)
        s->phase[x] = s->low[2 * x];
    s->has_phase = true;
    return SKED_I_FOUND;
}

/* ------------------------------------------------------------------ several solvers of one model */

void sked_i_clause_perturb(sked_i_clause_solver *s)
{
    for (int32_t x = 0; x < s->n_vars; x++)
        s->activity.score[x] = sked_i_rng_uniform(&s->rng);
}

/* Without what is false at the root, and not at all where it holds anyway. */
bool sked_i_clause_add(sked_i_clause_solver *s, const sked_i_lit *l, int32_t size, int32_t glue)
{
    int32_t count = 0;
    int64_t ref;
    assert(s->level == 0);
    if (s->watch == NULL && !sked_i_clause_layout(s))
        return false;
    for (int32_t k = 0; k < size; k++) {
        if (sked_i_clause_true(s, l[k]))
            return true;
        if (!sked_i_clause_false(s, l[k]))
            s->clause[count++] = l[k];
    }
    if (count == 0)
        return false;
    return count == 1 ? sked_i_clause_root_bound(s, s->clause[0]) : store_clause(s, count, glue, &ref);
}

bool sked_i_clause_import(sked_i_clause_solver *s, const sked_i_clause_solver *from)
{
    bool fine = true;
    for (int32_t v = 0; fine && v < 2 * s->n_vars; v++)
        fine = sked_i_clause_root_bound(s, (sked_i_lit){v, from->root[v]});
    for (int64_t k = 0; fine && k < from->outbox_count; k += 1 + from->outbox[k].view)
        fine = sked_i_clause_add(s, from->outbox + k + 1, from->outbox[k].view, from->outbox[k].value);
    return fine;
}
