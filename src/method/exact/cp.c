/* Trail, clauses, arcs, propagation. */
#include "method/exact/cp.h"

#include <string.h>

enum { header = 2, in_clause = 1, seen = 2 }; /* bits of `needed` */

static bool is_true(const sked_i_cp *cp, sked_i_lit l)
{
    return cp->low[l.view] >= l.value;
}

static bool is_false(const sked_i_cp *cp, sked_i_lit l)
{
    return cp->low[l.view ^ 1] >= 1 - l.value;
}

static sked_i_lit *literals(sked_i_cp *cp, int64_t clause)
{
    return (sked_i_lit *)(void *)(cp->arena + clause + header);
}

/* ------------------------------------------------------------------ conflicts and reasons */

void sked_i_cp_conflict_begin(sked_i_cp *cp)
{
    cp->conflict_count = 0;
}

void sked_i_cp_conflict_add(sked_i_cp *cp, int32_t view, int32_t value)
{
    if (!SKED_GROW(cp->conflict, cp->conflict_cap, cp->conflict_count + 1)) {
        cp->failed = true;
        return;
    }
    cp->conflict[cp->conflict_count++] = (sked_i_lit){view, value};
}

void sked_i_cp_explain(sked_i_cp *cp, int32_t view, int32_t value)
{
    if (!SKED_GROW(cp->list, cp->list_cap, cp->list_count + 1)) {
        cp->failed = true;
        return;
    }
    cp->list[cp->list_count++] = (sked_i_lit){view, value};
}

/* Adds the literals that imply view >= value through this reason to the conflict. */
static void add_reason(sked_i_cp *cp, sked_i_cp_reason reason, int32_t value)
{
    if (reason.kind == SKED_I_CP_ARC) {
        const sked_i_cp_arc *a = &cp->arc[reason.ref];
        sked_i_cp_conflict_add(cp, a->from, value - a->offset);
        if (a->when.view >= 0)
            sked_i_cp_conflict_add(cp, a->when.view, a->when.value);
    } else if (reason.kind == SKED_I_CP_CLAUSE) {
        const sked_i_lit *l = literals(cp, reason.ref);
        for (int32_t k = 1; k < cp->arena[reason.ref]; k++)
            sked_i_cp_conflict_add(cp, l[k].view ^ 1, 1 - l[k].value);
    } else if (reason.kind == SKED_I_CP_LIST) {
        for (int32_t k = 0; k < reason.count; k++)
            sked_i_cp_conflict_add(cp, cp->list[reason.ref + k].view, cp->list[reason.ref + k].value);
    }
}

static void mark_pools(sked_i_cp *cp, int32_t var)
{
    const int32_t *of = cp->pools_of[var].data;
    for (int64_t k = 0; k < cp->pools_of[var].count; k++)
        cp->pool[of[k]].dirty = cp->pool[of[k]].unchecked = true;
}

bool sked_i_cp_raise(sked_i_cp *cp, int32_t view, int32_t value, sked_i_cp_reason reason)
{
    if (cp->low[view] >= value)
        return true;
    if (cp->low[view ^ 1] >= 1 - value || !SKED_GROW(cp->trail, cp->trail_cap, cp->trail_count + 1)) {
        cp->failed = cp->failed || cp->low[view ^ 1] < 1 - value;
        sked_i_cp_conflict_begin(cp);
        add_reason(cp, reason, value);
        sked_i_cp_conflict_add(cp, view ^ 1, 1 - value);
        return false;
    }
    cp->trail[cp->trail_count] =
        (sked_i_cp_entry){view, value, cp->low[view], cp->level, cp->latest[view], reason};
    cp->latest[view] = cp->trail_count++;
    cp->low[view] = value;
    mark_pools(cp, view / 2);
    return true;
}

bool sked_i_cp_root_bound(sked_i_cp *cp, sked_i_lit l)
{
    if (cp->low[l.view] >= l.value)
        return true;
    if (cp->low[l.view ^ 1] >= 1 - l.value)
        return false;
    const int32_t old = cp->low[l.view];
    cp->low[l.view] = l.value;
    if (cp->level == 0 && SKED_GROW(cp->trail, cp->trail_cap, cp->trail_count + 1)) {
        /* an entry of its own, so that propagation sees it; the next restart forgets it */
        cp->trail[cp->trail_count++] = (sked_i_cp_entry){
            .view = l.view, .value = l.value, .old = old, .prev = -1, .reason = {.kind = SKED_I_CP_DECISION}};
        cp->root[l.view] = l.value;
        mark_pools(cp, l.view / 2);
        return true;
    }
    cp->failed = true;
    return false;
}

/* ------------------------------------------------------------------ clauses */

static int64_t bucket_of(const sked_i_cp *cp, int32_t view, int32_t threshold)
{
    const int64_t first = cp->watch_at[view], last = cp->watch_at[view + 1] - 1;
    const int64_t k = first + ((threshold - cp->watch_low[view]) >> cp->watch_shift[view]);
    return k < first ? first : k > last ? last : k;
}

/* Lays out the buckets for the root bounds there are now; called once, before the first clause. */
static bool layout_watches(sked_i_cp *cp)
{
    enum { most = 64 };
    const int32_t views = 2 * cp->n_vars;
    cp->watch_at = sked_i_alloc((int64_t)views + 1, sizeof *cp->watch_at);
    cp->watch_low = sked_i_alloc(views, sizeof *cp->watch_low);
    cp->watch_shift = sked_i_alloc(views, sizeof *cp->watch_shift);
    if (cp->watch_at == NULL || cp->watch_low == NULL || cp->watch_shift == NULL)
        return cp->failed = true, false;
    cp->watch_at[0] = 0;
    for (int32_t v = 0; v < views; v++) {
        const int64_t span = -(int64_t)cp->low[v ^ 1] - cp->low[v];
        cp->watch_low[v] = cp->low[v] + 1;
        cp->watch_shift[v] = 0;
        while (span >> cp->watch_shift[v] > most)
            cp->watch_shift[v]++;
        cp->watch_at[v + 1] = cp->watch_at[v] + (span >> cp->watch_shift[v]) + 1;
    }
    cp->watch = sked_i_alloc_zero(cp->watch_at[views], sizeof *cp->watch);
    return cp->watch != NULL || (cp->failed = true, false);
}

static bool push_watch(sked_i_cp *cp, sked_i_lit watched, sked_i_lit blocker, int64_t clause)
{
    sked_i_cp_list *w = &cp->watch[bucket_of(cp, watched.view ^ 1, 1 - watched.value)];
    if (!sked_i_grow(&w->data, &w->cap, w->count + 1, sizeof(sked_i_cp_watch)))
        return cp->failed = true, false;
    ((sked_i_cp_watch *)w->data)[w->count++] =
        (sked_i_cp_watch){1 - watched.value, blocker.view, blocker.value, clause};
    return true;
}

/* Looks for another literal to watch in place of l[1]. */
static bool find_watch(sked_i_cp *cp, sked_i_lit *l, int32_t size, int64_t clause)
{
    for (int32_t k = 2; k < size; k++)
        if (!is_false(cp, l[k])) {
            const sked_i_lit t = l[1];
            l[1] = l[k];
            l[k] = t;
            return push_watch(cp, l[1], l[0], clause);
        }
    return false;
}

static void clause_conflict(sked_i_cp *cp, const sked_i_lit *l, int32_t size)
{
    sked_i_cp_conflict_begin(cp);
    for (int32_t k = 0; k < size; k++)
        sked_i_cp_conflict_add(cp, l[k].view ^ 1, 1 - l[k].value);
}

/* What a clause does when a watched literal of it has become false. *keep: it stays in this watch list. */
static bool visit_clause(sked_i_cp *cp, int32_t view, sked_i_cp_watch *w, bool *keep)
{
    const int64_t clause = w->clause;
    sked_i_lit *l = literals(cp, clause);
    const sked_i_lit self = {view ^ 1, 1 - w->threshold};
    if (l[0].view == self.view && l[0].value == self.value) {
        l[0] = l[1];
        l[1] = self;
    }
    *keep = is_true(cp, l[0]) || !find_watch(cp, l, cp->arena[clause], clause);
    if (!*keep || cp->failed)
        return !cp->failed;
    w->blocker_view = l[0].view;
    w->blocker_value = l[0].value;
    if (is_true(cp, l[0]))
        return true;
    if (!is_false(cp, l[0]))
        return sked_i_cp_raise(cp, l[0].view, l[0].value,
                               (sked_i_cp_reason){.kind = SKED_I_CP_CLAUSE, .ref = clause});
    clause_conflict(cp, l, cp->arena[clause]);
    return false;
}

/* One bucket: literals whose threshold lies in (old, value] are false now. */
static bool visit_bucket(sked_i_cp *cp, sked_i_cp_list *list, int32_t view, int32_t old, int32_t value)
{
    int64_t kept = 0, k = 0;
    bool fine = true;
    for (; fine && k < list->count; k++) { /* a visit may append to this list, and so move it */
        sked_i_cp_watch w = ((sked_i_cp_watch *)list->data)[k];
        bool keep = true;
        if (w.threshold > old && w.threshold <= value && cp->low[w.blocker_view] < w.blocker_value)
            fine = visit_clause(cp, view, &w, &keep);
        if (keep)
            ((sked_i_cp_watch *)list->data)[kept++] = w;
    }
    sked_i_cp_watch *w = list->data;
    if (kept != k)
        memmove(w + kept, w + k, (size_t)(list->count - k) * sizeof *w);
    list->count -= k - kept;
    return fine;
}

static bool propagate_clauses(sked_i_cp *cp, const sked_i_cp_entry *e)
{
    const int32_t view = e->view, old = e->old, value = e->value; /* the trail may move */
    const int64_t last = bucket_of(cp, view, value);
    for (int64_t k = bucket_of(cp, view, old + 1); k <= last; k++)
        if (cp->watch[k].count > 0 && !visit_bucket(cp, &cp->watch[k], view, old, value))
            return false;
    return true;
}

/* ------------------------------------------------------------------ arcs */

static bool watch_arc(sked_i_cp *cp, int32_t view, int64_t arc)
{
    sked_i_cp_list *list = &cp->arcs_of[view];
    if (!sked_i_grow(&list->data, &list->cap, list->count + 1, sizeof arc))
        return cp->failed = true, false;
    ((int64_t *)list->data)[list->count++] = arc;
    return true;
}

static bool push_arc(sked_i_cp *cp, sked_i_cp_arc a)
{
    if (!SKED_GROW(cp->arc, cp->arc_cap, cp->arc_count + 1))
        return cp->failed = true, false;
    cp->arc[cp->arc_count] = a;
    return watch_arc(cp, a.from, cp->arc_count++);
}

bool sked_i_cp_add_arc(sked_i_cp *cp, int32_t from_var, int32_t to_var, int32_t offset, sked_i_lit when)
{
    const int64_t first = cp->arc_count;
    if (!push_arc(cp, (sked_i_cp_arc){2 * from_var, 2 * to_var, offset, when}) ||
        !push_arc(cp, (sked_i_cp_arc){2 * to_var + 1, 2 * from_var + 1, offset, when}))
        return false;
    return when.view < 0 || (watch_arc(cp, when.view, first) && watch_arc(cp, when.view, first + 1));
}

/* The arc cannot hold: its condition is false. from >= a and to <= a + offset - 1 say so. */
static bool refute_condition(sked_i_cp *cp, const sked_i_cp_arc *a)
{
    const int64_t ref = cp->list_count;
    const int32_t from = cp->low[a->from];
    sked_i_cp_explain(cp, a->from, from);
    sked_i_cp_explain(cp, a->to ^ 1, 1 - (from + a->offset));
    const sked_i_lit no = sked_i_lit_not(a->when);
    return sked_i_cp_raise(cp, no.view, no.value,
                           (sked_i_cp_reason){.kind = SKED_I_CP_LIST, .count = 2, .ref = ref});
}

static bool propagate_arcs(sked_i_cp *cp, int32_t view)
{
    for (int64_t k = 0; k < cp->arcs_of[view].count; k++) {
        const int64_t id = ((int64_t *)cp->arcs_of[view].data)[k];
        const sked_i_cp_arc *a = &cp->arc[id];
        const int32_t value = cp->low[a->from] + a->offset;
        if (cp->low[a->to] >= value)
            continue;
        if (a->when.view >= 0 && !is_true(cp, a->when)) {
            if (cp->low[a->to ^ 1] >= 1 - value && !is_false(cp, a->when) && !refute_condition(cp, a))
                return false;
            continue;
        }
        if (!sked_i_cp_raise(cp, a->to, value, (sked_i_cp_reason){.kind = SKED_I_CP_ARC, .ref = id}))
            return false;
    }
    return true;
}

static bool check_energy(sked_i_cp *cp)
{
    for (int32_t k = 0; k < cp->n_pools; k++) {
        if (!cp->pool[k].unchecked)
            continue;
        cp->pool[k].unchecked = false;
        if (!sked_i_cp_pool_energy(cp, &cp->pool[k]))
            return false;
    }
    return true;
}

static bool propagate(sked_i_cp *cp)
{
    while (!cp->failed) {
        while (cp->queue < cp->trail_count) {
            const sked_i_cp_entry *e = &cp->trail[cp->queue++];
            const int32_t view = e->view;
            if (!propagate_clauses(cp, e) || !propagate_arcs(cp, view))
                return false;
        }
        int32_t k = 0;
        while (k < cp->n_pools && !cp->pool[k].dirty)
            k++;
        if (k == cp->n_pools)
            return check_energy(cp);
        cp->pool[k].dirty = false;
        if (!sked_i_cp_pool_propagate(cp, &cp->pool[k]))
            return false;
    }
    return false;
}

/* ------------------------------------------------------------------ levels */

static bool open_level(sked_i_cp *cp)
{
    if (!SKED_GROW(cp->level_begin, cp->level_cap, cp->level + 2) ||
        !SKED_GROW(cp->level_list, cp->level_cap2, cp->level + 2) ||
        !SKED_GROW(cp->level_stamp, cp->level_cap3, cp->level + 2))
        return cp->failed = true, false;
    cp->level++;
    cp->level_stamp[cp->level] = -1;
    cp->level_begin[cp->level] = cp->trail_count;
    cp->level_list[cp->level] = cp->list_count;
    return true;
}

static void heap_insert(sked_i_cp *cp, int32_t var);

/* What holds with no decisions holds for ever: it leaves the trail. */
static void settle_root(sked_i_cp *cp)
{
    for (int64_t k = 0; k < cp->trail_count; k++) {
        cp->root[cp->trail[k].view] = cp->low[cp->trail[k].view];
        cp->latest[cp->trail[k].view] = -1;
    }
    cp->trail_count = cp->queue = 0;
    cp->list_count = 0;
}

static void back_to(sked_i_cp *cp, int32_t level)
{
    if (cp->level <= level)
        return;
    const int64_t keep = cp->level_begin[level + 1];
    for (int64_t k = cp->trail_count - 1; k >= keep; k--) {
        const sked_i_cp_entry *e = &cp->trail[k];
        cp->low[e->view] = e->old;
        cp->latest[e->view] = e->prev;
        heap_insert(cp, e->view / 2);
    }
    cp->trail_count = cp->queue = keep;
    cp->list_count = cp->level_list[level + 1];
    cp->level = level;
    for (int32_t k = 0; k < cp->n_pools; k++)
        cp->pool[k].dirty = cp->pool[k].unchecked = false; /* done before the level was opened */
}

void sked_i_cp_restart(sked_i_cp *cp)
{
    back_to(cp, 0);
}

/* ------------------------------------------------------------------ activity heap, largest first */

static bool hotter(const sked_i_cp *cp, int32_t a, int32_t b)
{
    return cp->activity[a] > cp->activity[b] || (cp->activity[a] == cp->activity[b] && a < b);
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

static void heap_insert(sked_i_cp *cp, int32_t var)
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
    add_reason(cp, cp->trail[k].reason, cp->need[view]);
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
        add_reason(cp, e->reason, l.value);
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
    const int64_t need = cp->arena_count + header + 2 * (int64_t)size;
    if (!SKED_GROW(cp->arena, cp->arena_cap, need) ||
        !SKED_GROW(cp->learnt, cp->learnt_cap, cp->learnt_count + 1))
        return cp->failed = true, false;
    *ref = cp->arena_count;
    cp->arena[*ref] = size;
    cp->arena[*ref + 1] = glue;
    memcpy(literals(cp, *ref), cp->clause, (size_t)size * sizeof *cp->clause);
    cp->arena_count = need;
    cp->learnt[cp->learnt_count++] = *ref;
    return push_watch(cp, cp->clause[0], cp->clause[1], *ref) &&
           push_watch(cp, cp->clause[1], cp->clause[0], *ref);
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
    back_to(cp, top);
    int32_t back, glue;
    const sked_i_lit uip = find_uip(cp);
    const int32_t size = build_clause(cp, uip, &back, &glue);
    int64_t ref = -1;
    back_to(cp, back);
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
        const sked_i_lit *l = literals(cp, from);
        (void)(push_watch(cp, l[0], l[1], write) && push_watch(cp, l[1], l[0], write));
        const int64_t length = header + 2 * (int64_t)cp->arena[from];
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
    return open_level(cp) &&
           sked_i_cp_raise(cp, l.view, l.value, (sked_i_cp_reason){.kind = SKED_I_CP_DECISION});
}

/* The next decision; false: everything is fixed. */
static bool next_decision(sked_i_cp *cp, sked_i_lit assume, bool by_time, sked_i_lit *out)
{
    if (cp->level == 0 && assume.view >= 0 && !is_true(cp, assume))
        return *out = assume, true;
    int32_t x = by_time ? earliest(cp) : hottest(cp);
    if (x < 0)
        x = hottest(cp);
    if (x < 0)
        return false;
    *out = choose_value(cp, x, by_time);
    heap_insert(cp, x); /* it may take several decisions */
    return true;
}

static void refill_heap(sked_i_cp *cp)
{
    for (int32_t x = 0; x < cp->n_vars; x++)
        if (!is_fixed(cp, x))
            heap_insert(cp, x);
}

sked_i_cp_answer sked_i_cp_solve(sked_i_cp *cp, sked_i_lit assume, bool by_time, int64_t conflicts,
                                 const sked_i_limit *limit)
{
    const int64_t end = cp->conflicts + conflicts;
    if (cp->watch == NULL && !layout_watches(cp))
        return SKED_I_CP_UNKNOWN;
    refill_heap(cp);
    for (;;) {
        if (!propagate(cp)) {
            cp->conflicts++;
            if (cp->failed)
                return SKED_I_CP_UNKNOWN;
            if (cp->level == 0 || !learn(cp))
                return cp->failed ? SKED_I_CP_UNKNOWN : SKED_I_CP_UNSAT;
            continue;
        }
        if (cp->level == 0) {
            settle_root(cp);
            if (cp->learnt_count > cp->learnt_limit && !forget(cp))
                return SKED_I_CP_UNKNOWN;
            if (assume.view >= 0 && is_false(cp, assume))
                return SKED_I_CP_UNKNOWN;
        }
        if (cp->conflicts >= end || sked_i_limit_reached(limit)) {
            back_to(cp, 0);
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

/* ------------------------------------------------------------------ life */

sked_status sked_i_cp_create(int32_t n_vars, int32_t n_starts, uint64_t seed, sked_i_cp **out,
                             sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t views = 2 * (int64_t)n_vars;
    sked_i_cp *cp;
    SKED_NEW0(cp, 1);
    cp->n_vars = n_vars;
    cp->n_starts = n_starts;
    cp->bump = 1;
    cp->objective = -1;
    cp->learnt_limit = 3000;
    sked_i_rng_seed(&cp->rng, seed, 0);
    SKED_NEW0(cp->low, views);
    SKED_NEW0(cp->root, views);
    SKED_NEW(cp->latest, views);
    SKED_NEW0(cp->arcs_of, views);
    SKED_NEW0(cp->pools_of, n_vars);
    SKED_NEW0(cp->need, views);
    SKED_NEW0(cp->needed, views);
    SKED_NEW(cp->touched, views);
    SKED_NEW(cp->clause, views + 1);
    SKED_NEW0(cp->activity, n_vars);
    SKED_NEW(cp->heap, n_vars);
    SKED_NEW(cp->heap_at, n_vars);
    SKED_NEW0(cp->phase, n_vars);
    for (int64_t v = 0; v < views; v++) {
        cp->latest[v] = -1;
        cp->low[v] = cp->root[v] = -sked_i_cp_limit;
    }
    for (int32_t x = 0; x < n_vars; x++)
        cp->heap_at[x] = -1;
    *out = cp;
    cp = NULL;
cleanup:
    sked_i_cp_destroy(cp);
    return st;
}

void sked_i_cp_destroy(sked_i_cp *cp)
{
    if (cp == NULL)
        return;
    for (int64_t v = 0; v < 2 * (int64_t)cp->n_vars; v++) {
        if (cp->arcs_of)
            free(cp->arcs_of[v].data);
        if (cp->pools_of && v % 2 == 0)
            free(cp->pools_of[v / 2].data);
    }
    for (int64_t k = 0; cp->watch && k < cp->watch_at[2 * (int64_t)cp->n_vars]; k++)
        free(cp->watch[k].data);
    for (int32_t k = 0; k < cp->n_pools; k++) {
        free(cp->pool[k].task);
        free(cp->pool[k].by_begin);
        free(cp->pool[k].by_end);
        free(cp->pool[k].by_last);
        free(cp->pool[k].by_mixed);
    }
    void *const arrays[] = {
        cp->low,     cp->root,   cp->latest,  cp->trail,    cp->level_begin, cp->level_list,  cp->list,
        cp->arena,   cp->learnt, cp->watch,   cp->arc,      cp->arcs_of,     cp->pool,        cp->pools_of,
        cp->need,    cp->needed, cp->touched, cp->clause,   cp->conflict,    cp->activity,    cp->heap,
        cp->heap_at, cp->phase,  cp->block,   cp->watch_at, cp->watch_low,   cp->watch_shift, cp->level_stamp,
        cp};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        free(arrays[k]);
}
