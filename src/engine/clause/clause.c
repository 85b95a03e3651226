/* Trail, clauses, arcs, propagation. */
#include "engine/clause/clause.h"

#include <assert.h>
#include <string.h>

/* ------------------------------------------------------------------ conflicts and reasons */

void sked_i_clause_conflict_begin(sked_i_clause_solver *s)
{
    s->conflict_count = 0;
}

void sked_i_clause_conflict_add(sked_i_clause_solver *s, int32_t view, int32_t value)
{
    if (!SKED_OWN_GROW(&s->memory, s->conflict, s->conflict_cap, s->conflict_count + 1)) {
        s->failed = true;
        return;
    }
    s->conflict[s->conflict_count++] = (sked_i_lit){view, value};
}

void sked_i_clause_explain(sked_i_clause_solver *s, int32_t view, int32_t value)
{
    if (!SKED_OWN_GROW(&s->memory, s->list, s->list_cap, s->list_count + 1)) {
        s->failed = true;
        return;
    }
    s->list[s->list_count++] = (sked_i_lit){view, value};
}

void sked_i_clause_add_reason(sked_i_clause_solver *s, sked_i_clause_reason reason, sked_i_lit l,
                              int64_t entry)
{
    if (reason.kind == SKED_I_CLAUSE_BY_ARC) {
        const sked_i_clause_arc *a = &s->arc[reason.ref];
        sked_i_clause_conflict_add(s, a->from, l.value - a->offset);
        if (a->when.view >= 0)
            sked_i_clause_conflict_add(s, a->when.view, a->when.value);
    } else if (reason.kind == SKED_I_CLAUSE_BY_CLAUSE) {
        const sked_i_lit *c = sked_i_clause_literals(s, reason.ref);
        assert(c[0].view == l.view && c[0].value >= l.value); /* what a clause implies stands first in it */
        for (int32_t k = 1; k < s->arena[reason.ref]; k++)
            sked_i_clause_conflict_add(s, c[k].view ^ 1, 1 - c[k].value);
    } else if (reason.kind == SKED_I_CLAUSE_BY_LIST) {
        for (int32_t k = 0; k < reason.count; k++)
            sked_i_clause_conflict_add(s, s->list[reason.ref + k].view, s->list[reason.ref + k].value);
    } else if (reason.kind == SKED_I_CLAUSE_BY_PROPAGATOR) {
        const sked_i_clause_propagator *p = &s->propagator[reason.count];
        p->explain(s, p->self, l, reason.ref, entry);
    }
}

static void wake(sked_i_clause_solver *s, int32_t var)
{
    const int32_t *of = s->told[var].data;
    for (int64_t k = 0; k < s->told[var].count; k++)
        s->propagator[of[k]].dirty = s->propagator[of[k]].unchecked = true;
}

bool sked_i_clause_raise(sked_i_clause_solver *s, int32_t view, int32_t value, sked_i_clause_reason reason)
{
    if (s->low[view] >= value)
        return true;
    if (s->low[view ^ 1] >= 1 - value ||
        !SKED_OWN_GROW(&s->memory, s->trail, s->trail_cap, s->trail_count + 1)) {
        s->failed = s->failed || s->low[view ^ 1] < 1 - value;
        sked_i_clause_conflict_begin(s);
        sked_i_clause_add_reason(s, reason, (sked_i_lit){view, value}, s->trail_count);
        sked_i_clause_conflict_add(s, view ^ 1, 1 - value);
        return false;
    }
    assert(s->trail_count == 0 || s->trail[s->trail_count - 1].level <= s->level);
    s->trail[s->trail_count] =
        (sked_i_clause_entry){view, value, s->low[view], s->level, s->latest[view], reason};
    s->latest[view] = s->trail_count++;
    s->low[view] = value;
    wake(s, view / 2);
    return true;
}

bool sked_i_clause_root_bound(sked_i_clause_solver *s, sked_i_lit l)
{
    if (s->low[l.view] >= l.value)
        return true;
    if (s->low[l.view ^ 1] >= 1 - l.value)
        return false;
    assert(s->level == 0);
    const int32_t old = s->low[l.view];
    s->low[l.view] = l.value;
    if (SKED_OWN_GROW(&s->memory, s->trail, s->trail_cap, s->trail_count + 1)) {
        /* an entry of its own, so that propagation sees it; the next restart forgets it */
        s->trail[s->trail_count++] = (sked_i_clause_entry){.view = l.view,
                                                           .value = l.value,
                                                           .old = old,
                                                           .prev = -1,
                                                           .reason = {.kind = SKED_I_CLAUSE_BY_DECISION}};
        s->root[l.view] = l.value;
        wake(s, l.view / 2);
        return true;
    }
    s->failed = true;
    return false;
}

/* ------------------------------------------------------------------ clauses */

static int64_t bucket_of(const sked_i_clause_solver *s, int32_t view, int32_t threshold)
{
    const int64_t first = s->watch_at[view], last = s->watch_at[view + 1] - 1;
    const int64_t k = first + ((threshold - s->watch_low[view]) >> s->watch_shift[view]);
    return k < first ? first : k > last ? last : k;
}

/* Lays out the buckets for the root bounds there are now; called once, before the first clause. */
bool sked_i_clause_layout(sked_i_clause_solver *s)
{
    enum { most = 64 };
    const int32_t views = 2 * s->n_vars;
    s->watch_at = sked_i_arena_alloc(&s->memory, (int64_t)views + 1, sizeof *s->watch_at);
    s->watch_low = sked_i_arena_alloc(&s->memory, views, sizeof *s->watch_low);
    s->watch_shift = sked_i_arena_alloc(&s->memory, views, sizeof *s->watch_shift);
    if (s->watch_at == NULL || s->watch_low == NULL || s->watch_shift == NULL)
        return s->failed = true, false;
    s->watch_at[0] = 0;
    for (int32_t v = 0; v < views; v++) {
        const int64_t span = -(int64_t)s->low[v ^ 1] - s->low[v];
        s->watch_low[v] = s->low[v] + 1;
        s->watch_shift[v] = 0;
        while (span >> s->watch_shift[v] > most)
            s->watch_shift[v]++;
        s->watch_at[v + 1] = s->watch_at[v] + (span >> s->watch_shift[v]) + 1;
    }
    s->watch = sked_i_arena_alloc_zero(&s->memory, s->watch_at[views], sizeof *s->watch);
    return s->watch != NULL || (s->failed = true, false);
}

bool sked_i_clause_push_watch(sked_i_clause_solver *s, sked_i_lit watched, sked_i_lit blocker, int64_t clause)
{
    sked_i_clause_list *w = &s->watch[bucket_of(s, watched.view ^ 1, 1 - watched.value)];
    if (!sked_i_arena_grow(&s->memory, &w->data, &w->cap, w->count + 1, sizeof(sked_i_clause_watch)))
        return s->failed = true, false;
    ((sked_i_clause_watch *)w->data)[w->count++] =
        (sked_i_clause_watch){1 - watched.value, blocker.view, blocker.value, clause};
    return true;
}

/* Looks for another literal to watch in place of l[1]. */
static bool find_watch(sked_i_clause_solver *s, sked_i_lit *l, int32_t size, int64_t clause)
{
    for (int32_t k = 2; k < size; k++)
        if (!sked_i_clause_false(s, l[k])) {
            const sked_i_lit t = l[1];
            l[1] = l[k];
            l[k] = t;
            return sked_i_clause_push_watch(s, l[1], l[0], clause);
        }
    return false;
}

static void clause_conflict(sked_i_clause_solver *s, const sked_i_lit *l, int32_t size)
{
    sked_i_clause_conflict_begin(s);
    for (int32_t k = 0; k < size; k++)
        sked_i_clause_conflict_add(s, l[k].view ^ 1, 1 - l[k].value);
}

/* What a clause does when a watched literal of it has become false. *keep: it stays in this watch list. */
static bool visit_clause(sked_i_clause_solver *s, int32_t view, sked_i_clause_watch *w, bool *keep)
{
    const int64_t clause = w->clause;
    sked_i_lit *l = sked_i_clause_literals(s, clause);
    const sked_i_lit self = {view ^ 1, 1 - w->threshold};
    if (l[0].view == self.view && l[0].value == self.value) {
        l[0] = l[1];
        l[1] = self;
    }
    assert(l[1].view == self.view && l[1].value == self.value); /* one of the first two is watched here */
    *keep = sked_i_clause_true(s, l[0]) || !find_watch(s, l, s->arena[clause], clause);
    if (!*keep || s->failed)
        return !s->failed;
    w->blocker_view = l[0].view;
    w->blocker_value = l[0].value;
    if (sked_i_clause_true(s, l[0]))
        return true;
    if (!sked_i_clause_false(s, l[0]))
        return sked_i_clause_raise(s, l[0].view, l[0].value,
                                   (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_CLAUSE, .ref = clause});
    clause_conflict(s, l, s->arena[clause]);
    return false;
}

/* One bucket: literals whose threshold lies in (old, value] are false now. */
static bool visit_bucket(sked_i_clause_solver *s, sked_i_clause_list *list, int32_t view, int32_t old,
                         int32_t value)
{
    int64_t kept = 0, k = 0;
    bool fine = true;
    for (; fine && k < list->count; k++) { /* a visit may append to this list, and so move it */
        sked_i_clause_watch w = ((sked_i_clause_watch *)list->data)[k];
        bool keep = true;
        if (w.threshold > old && w.threshold <= value && s->low[w.blocker_view] < w.blocker_value)
            fine = visit_clause(s, view, &w, &keep);
        if (keep)
            ((sked_i_clause_watch *)list->data)[kept++] = w;
    }
    sked_i_clause_watch *w = list->data;
    if (kept != k)
        memmove(w + kept, w + k, (size_t)(list->count - k) * sizeof *w);
    list->count -= k - kept;
    return fine;
}

static bool propagate_clauses(sked_i_clause_solver *s, int64_t entry)
{
    const sked_i_clause_entry *e = &s->trail[entry];
    const int32_t view = e->view, old = e->old, value = e->value; /* the trail may move */
    const int64_t last = bucket_of(s, view, value);
    for (int64_t k = bucket_of(s, view, old + 1); k <= last; k++)
        if (s->watch[k].count > 0 && !visit_bucket(s, &s->watch[k], view, old, value))
            return false;
    return true;
}

/* ------------------------------------------------------------------ arcs */

static bool watch_arc(sked_i_clause_solver *s, int32_t view, int64_t arc)
{
    sked_i_clause_list *list = &s->arcs_of[view];
    const sked_i_clause_watched_arc copy = {s->arc[arc], (int32_t)arc};
    if (arc > INT32_MAX ||
        !sked_i_arena_grow(&s->memory, &list->data, &list->cap, list->count + 1, sizeof copy))
        return s->failed = true, false;
    ((sked_i_clause_watched_arc *)list->data)[list->count++] = copy;
    return true;
}

static bool push_arc(sked_i_clause_solver *s, sked_i_clause_arc a)
{
    if (!SKED_OWN_GROW(&s->memory, s->arc, s->arc_cap, s->arc_count + 1))
        return s->failed = true, false;
    s->arc[s->arc_count] = a;
    return watch_arc(s, a.from, s->arc_count++);
}

bool sked_i_clause_add_arc(sked_i_clause_solver *s, int32_t from_var, int32_t to_var, int32_t offset,
                           sked_i_lit when)
{
    const int64_t first = s->arc_count;
    if (!push_arc(s, (sked_i_clause_arc){2 * from_var, 2 * to_var, offset, when}) ||
        !push_arc(s, (sked_i_clause_arc){2 * to_var + 1, 2 * from_var + 1, offset, when}))
        return false;
    return when.view < 0 || (watch_arc(s, when.view, first) && watch_arc(s, when.view, first + 1));
}

/* The arc cannot hold: its condition is false. from >= a and to <= a + offset - 1 say so. */
static bool refute_condition(sked_i_clause_solver *s, const sked_i_clause_arc *a)
{
    const int64_t ref = s->list_count;
    const int32_t from = s->low[a->from];
    sked_i_clause_explain(s, a->from, from);
    sked_i_clause_explain(s, a->to ^ 1, 1 - (from + a->offset));
    return sked_i_clause_raise_listed(s, sked_i_lit_not(a->when), ref);
}

static bool propagate_arcs(sked_i_clause_solver *s, int32_t view)
{
    const sked_i_clause_watched_arc *of = s->arcs_of[view].data;
    for (int64_t k = 0; k < s->arcs_of[view].count; k++) {
        const sked_i_clause_arc *a = &of[k].arc;
        const int32_t value = s->low[a->from] + a->offset;
        if (s->low[a->to] >= value)
            continue;
        if (a->when.view >= 0 && !sked_i_clause_true(s, a->when)) {
            if (s->low[a->to ^ 1] >= 1 - value && !sked_i_clause_false(s, a->when) && !refute_condition(s, a))
                return false;
            continue;
        }
        if (!sked_i_clause_raise(s, a->to, value,
                                 (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_ARC, .ref = of[k].id}))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ propagators */

bool sked_i_clause_add_propagator(sked_i_clause_solver *s, sked_i_clause_propagator p, int32_t *number)
{
    assert(p.follow == NULL || s->follower < 0);
    if (!SKED_OWN_GROW(&s->memory, s->propagator, s->propagator_cap, s->n_propagators + 1))
        return s->failed = true, false;
    p.dirty = p.propagate != NULL;
    p.unchecked = p.check != NULL;
    s->follower = p.follow != NULL ? s->n_propagators : s->follower;
    if (number != NULL)
        *number = (int32_t)s->n_propagators;
    s->propagator[s->n_propagators++] = p;
    return true;
}

bool sked_i_clause_tell(sked_i_clause_solver *s, int32_t number, int32_t var)
{
    sked_i_clause_list *list = &s->told[var];
    if (!sked_i_arena_grow(&s->memory, &list->data, &list->cap, list->count + 1, sizeof number))
        return s->failed = true, false;
    ((int32_t *)list->data)[list->count++] = number;
    return true;
}

static bool follow(sked_i_clause_solver *s, const sked_i_clause_entry *e)
{
    const sked_i_clause_propagator *p = &s->propagator[s->follower];
    return p->follow(s, p->self, (sked_i_lit){e->view, e->value}, e->old);
}

static bool check_all(sked_i_clause_solver *s)
{
    for (int64_t k = 0; k < s->n_propagators; k++) {
        sked_i_clause_propagator *p = &s->propagator[k];
        if (p->check == NULL || !p->unchecked)
            continue;
        p->unchecked = false;
        s->work += p->cost;
        if (!p->check(s, p->self))
            return false;
    }
    return true;
}

bool sked_i_clause_propagate(sked_i_clause_solver *s)
{
    while (!s->failed) {
        while (s->queue < s->trail_count) {
            const sked_i_clause_entry *e = &s->trail[s->queue++];
            const int32_t view = e->view;
            s->stats.propagations++;
            s->work += 1 + s->arcs_of[view].count;
            if (s->follower >= 0 && !follow(s, e))
                return false;
            if (!propagate_clauses(s, s->queue - 1) || !propagate_arcs(s, view))
                return false;
        }
        int64_t k = 0;
        while (k < s->n_propagators && !s->propagator[k].dirty)
            k++;
        if (k == s->n_propagators) {
            if (!check_all(s))
                return false;
            if (s->queue == s->trail_count)
                return true;
            continue; /* a check has raised something */
        }
        sked_i_clause_propagator *p = &s->propagator[k];
        p->dirty = false;
        s->work += p->cost;
        if (!p->propagate(s, p->self))
            return false;
    }
    return false;
}

/* ------------------------------------------------------------------ levels */

bool sked_i_clause_open_level(sked_i_clause_solver *s)
{
    if (!SKED_OWN_GROW(&s->memory, s->levels, s->level_cap, s->level + 2))
        return s->failed = true, false;
    s->levels[++s->level] = (sked_i_clause_level){s->trail_count, s->list_count, -1};
    return true;
}

/* What holds with no decisions holds for ever: it leaves the trail. */
void sked_i_clause_settle(sked_i_clause_solver *s)
{
    for (int64_t k = 0; k < s->trail_count; k++) {
        s->root[s->trail[k].view] = s->low[s->trail[k].view];
        s->latest[s->trail[k].view] = -1;
    }
    s->trail_count = s->queue = 0;
    s->list_count = 0;
}

void sked_i_clause_undo(sked_i_clause_solver *s)
{
    const sked_i_clause_entry *e = &s->trail[--s->trail_count];
    assert(s->low[e->view] == e->value && e->old < e->value && s->latest[e->view] == s->trail_count);
    s->low[e->view] = e->old;
    s->latest[e->view] = e->prev;
    if (sked_i_clause_decides(s, e->view / 2))
        sked_i_activity_insert(&s->activity, e->view / 2);
    if (s->follower < 0)
        return;
    const sked_i_clause_propagator *p = &s->propagator[s->follower];
    if (p->undo != NULL)
        p->undo(s, p->self, (sked_i_lit){e->view, e->value});
}

void sked_i_clause_back_to(sked_i_clause_solver *s, int32_t level)
{
    if (s->level <= level)
        return;
    const int64_t keep = s->levels[level + 1].begin;
    while (s->trail_count > keep)
        sked_i_clause_undo(s);
    s->queue = keep;
    s->list_count = s->levels[level + 1].list;
    s->level = level;
    for (int64_t k = 0; k < s->n_propagators; k++) /* done before the level was opened */
        s->propagator[k].dirty = s->propagator[k].unchecked = false;
}

void sked_i_clause_restart(sked_i_clause_solver *s)
{
    sked_i_clause_back_to(s, 0);
}

/* ------------------------------------------------------------------ life */

sked_status sked_i_clause_create(int32_t n_vars, int32_t n_starts, uint64_t seed, sked_i_clause_solver **out,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t views = 2 * (int64_t)n_vars;
    sked_i_clause_solver *s;
    SKED_NEW0(s, 1);
    s->n_vars = n_vars;
    s->n_starts = n_starts;
    s->objective = -1;
    s->decide_to = n_vars;
    s->follower = -1;
    s->learnt_limit = 3000;
    s->work_end = INT64_MAX;
    sked_i_rng_seed(&s->rng, seed, 0);
    SKED_OWN0(&s->memory, s->low, views);
    SKED_OWN0(&s->memory, s->root, views);
    SKED_OWN(&s->memory, s->latest, views);
    SKED_OWN0(&s->memory, s->arcs_of, views);
    SKED_OWN0(&s->memory, s->told, n_vars);
    SKED_OWN0(&s->memory, s->need, views);
    SKED_OWN0(&s->memory, s->needed, views);
    SKED_OWN(&s->memory, s->touched, views);
    SKED_OWN(&s->memory, s->clause, views + 1);
    if (!sked_i_activity_create(&s->activity, n_vars))
        SKED_TRY(sked_i_no_memory(err));
    SKED_OWN0(&s->memory, s->phase, n_vars);
    for (int64_t v = 0; v < views; v++) {
        s->latest[v] = -1;
        s->low[v] = s->root[v] = -sked_i_clause_limit;
    }
    *out = s;
    s = NULL;
cleanup:
    sked_i_clause_destroy(s);
    return st;
}

void sked_i_clause_destroy(sked_i_clause_solver *s)
{
    if (s == NULL)
        return;
    sked_i_activity_destroy(&s->activity);
    sked_i_arena_free(&s->memory);
    free(s);
}
