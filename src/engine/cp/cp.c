/* Trail, clauses, arcs, propagation. */
#include "engine/cp/cp.h"

#include <string.h>

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
void sked_i_cp_add_reason(sked_i_cp *cp, sked_i_cp_reason reason, int32_t value)
{
    if (reason.kind == SKED_I_CP_ARC) {
        const sked_i_cp_arc *a = &cp->arc[reason.ref];
        sked_i_cp_conflict_add(cp, a->from, value - a->offset);
        if (a->when.view >= 0)
            sked_i_cp_conflict_add(cp, a->when.view, a->when.value);
    } else if (reason.kind == SKED_I_CP_CLAUSE) {
        const sked_i_lit *l = sked_i_cp_literals(cp, reason.ref);
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
        sked_i_cp_add_reason(cp, reason, value);
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
bool sked_i_cp_layout(sked_i_cp *cp)
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

bool sked_i_cp_push_watch(sked_i_cp *cp, sked_i_lit watched, sked_i_lit blocker, int64_t clause)
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
        if (!sked_i_cp_false(cp, l[k])) {
            const sked_i_lit t = l[1];
            l[1] = l[k];
            l[k] = t;
            return sked_i_cp_push_watch(cp, l[1], l[0], clause);
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
    sked_i_lit *l = sked_i_cp_literals(cp, clause);
    const sked_i_lit self = {view ^ 1, 1 - w->threshold};
    if (l[0].view == self.view && l[0].value == self.value) {
        l[0] = l[1];
        l[1] = self;
    }
    *keep = sked_i_cp_true(cp, l[0]) || !find_watch(cp, l, cp->arena[clause], clause);
    if (!*keep || cp->failed)
        return !cp->failed;
    w->blocker_view = l[0].view;
    w->blocker_value = l[0].value;
    if (sked_i_cp_true(cp, l[0]))
        return true;
    if (!sked_i_cp_false(cp, l[0]))
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
        if (a->when.view >= 0 && !sked_i_cp_true(cp, a->when)) {
            if (cp->low[a->to ^ 1] >= 1 - value && !sked_i_cp_false(cp, a->when) && !refute_condition(cp, a))
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
        cp->work += 2 * (int64_t)cp->pool[k].count;
        if (!sked_i_cp_pool_energy(cp, &cp->pool[k]))
            return false;
    }
    return true;
}

bool sked_i_cp_propagate(sked_i_cp *cp)
{
    while (!cp->failed) {
        while (cp->queue < cp->trail_count) {
            const sked_i_cp_entry *e = &cp->trail[cp->queue++];
            const int32_t view = e->view;
            cp->work += 1 + cp->arcs_of[view].count;
            if (!propagate_clauses(cp, e) || !propagate_arcs(cp, view))
                return false;
        }
        int32_t k = 0;
        while (k < cp->n_pools && !cp->pool[k].dirty)
            k++;
        if (k == cp->n_pools)
            return check_energy(cp);
        cp->pool[k].dirty = false;
        cp->work += 2 * (int64_t)cp->pool[k].count;
        if (!sked_i_cp_pool_propagate(cp, &cp->pool[k]))
            return false;
    }
    return false;
}

/* ------------------------------------------------------------------ levels */

bool sked_i_cp_open_level(sked_i_cp *cp)
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

/* What holds with no decisions holds for ever: it leaves the trail. */
void sked_i_cp_settle(sked_i_cp *cp)
{
    for (int64_t k = 0; k < cp->trail_count; k++) {
        cp->root[cp->trail[k].view] = cp->low[cp->trail[k].view];
        cp->latest[cp->trail[k].view] = -1;
    }
    cp->trail_count = cp->queue = 0;
    cp->list_count = 0;
}

void sked_i_cp_back_to(sked_i_cp *cp, int32_t level)
{
    if (cp->level <= level)
        return;
    const int64_t keep = cp->level_begin[level + 1];
    for (int64_t k = cp->trail_count - 1; k >= keep; k--) {
        const sked_i_cp_entry *e = &cp->trail[k];
        cp->low[e->view] = e->old;
        cp->latest[e->view] = e->prev;
        sked_i_cp_wake(cp, e->view / 2);
    }
    cp->trail_count = cp->queue = keep;
    cp->list_count = cp->level_list[level + 1];
    cp->level = level;
    for (int32_t k = 0; k < cp->n_pools; k++)
        cp->pool[k].dirty = cp->pool[k].unchecked = false; /* done before the level was opened */
}

void sked_i_cp_restart(sked_i_cp *cp)
{
    sked_i_cp_back_to(cp, 0);
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
    cp->work_end = INT64_MAX;
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
    void *const arrays[] = {cp->low,        cp->root,        cp->latest,      cp->trail,    cp->level_begin,
                            cp->level_list, cp->list,        cp->arena,       cp->learnt,   cp->watch,
                            cp->arc,        cp->arcs_of,     cp->pool,        cp->pools_of, cp->need,
                            cp->needed,     cp->touched,     cp->clause,      cp->conflict, cp->activity,
                            cp->heap,       cp->heap_at,     cp->phase,       cp->block,    cp->watch_at,
                            cp->watch_low,  cp->watch_shift, cp->level_stamp, cp->outbox,   cp};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        free(arrays[k]);
}
