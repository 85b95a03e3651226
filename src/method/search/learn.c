/* The learning solver: see learn.h. */
#include "method/search/learn.h"

#include <string.h>

/*
 * Side 2 i stands for start(i), side 2 i + 1 for -start(i); bound[side] is the largest value proven to be a
 * lower bound of it. The negation of [side >= v] is [side ^ 1 >= 1 - v].
 */
enum { by_decision = -1, by_arc = -2, by_table = -3 };
enum { none = INT32_MIN, clause_head = 3 }; /* clause: size, used since last cleaning, glue, then bounds */

typedef struct step {
    int32_t side, old, prev; /* prev: the step that made `old`, -1 */
    int32_t reason;          /* by_*, or a clause */
    int32_t from, lag;       /* by_arc: source side and lag; by_table: from is the time */
} step;

typedef struct watch {
    int32_t clause, threshold; /* look at the clause once the bound reaches this */
} watch;

typedef struct watch_list {
    watch *item;
    int64_t count, cap;
} watch_list;

typedef struct amount {
    int32_t op;
    uint64_t amount;
} amount;

struct sked_i_learner {
    sked_i_search_worker *w;
    const sked_i_core *core;
    int32_t n, makespan;
    bool failed, refuted;
    int32_t *bound, *root, *last; /* [2 n] */
    step *trail;
    int64_t trail_count, trail_cap, done; /* done: steps propagated */
    int64_t *level;                       /* first step of each decision level */
    int64_t levels, level_cap;
    watch_list *watch; /* [2 n] */
    int32_t *arena;    /* clauses */
    int64_t arena_count, arena_cap;
    int32_t *clauses;
    int64_t n_clauses, clauses_cap, max_clauses;
    sked_i_bound *conflict;
    int64_t n_conflict, conflict_cap;
    /* analysis */
    int32_t *need, *touched; /* [2 n] */
    uint8_t *listed;         /* [2 n] is in touched */
    int32_t n_touched, open; /* open: needed bounds of the current level */
    sked_i_bound *learnt;    /* [2 n] */
    amount *members;         /* [n] */
    /* time table */
    uint64_t *free_at; /* [horizon * words] */
    int32_t horizon;
    int32_t *active; /* [n_active] ops that hold something */
    int32_t n_active;
    double *score, bump; /* [n] */
};

/* ------------------------------------------------------------------ life */

bool sked_i_learner_fits(const sked_i_search_worker *w, int32_t makespan)
{
    const sked_i_core *core = &w->problem->forward;
    return w->problem->fixed == NULL && core->n <= 1500 && makespan <= 4096 &&
           (int64_t)makespan * core->words <= 1 << 16;
}

void sked_i_learner_destroy(sked_i_learner *l)
{
    if (l == NULL)
        return;
    for (int32_t s = 0; l->watch != NULL && s < 2 * l->n; s++)
        free(l->watch[s].item);
    void *const owned[] = {l->bound,    l->root,   l->last,    l->trail,   l->level,   l->watch,
                           l->arena,    l->need,   l->touched, l->learnt,  l->members, l->free_at,
                           l->conflict, l->active, l->score,   l->clauses, l->listed};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(l);
}

static bool allocate(sked_i_learner *l)
{
    const int64_t sides = 2 * (int64_t)l->n;
    l->bound = sked_i_alloc(sides, sizeof *l->bound);
    l->root = sked_i_alloc(sides, sizeof *l->root);
    l->last = sked_i_alloc(sides, sizeof *l->last);
    l->watch = sked_i_alloc_zero(sides, sizeof *l->watch);
    l->need = sked_i_alloc(sides, sizeof *l->need);
    l->touched = sked_i_alloc(sides, sizeof *l->touched);
    l->listed = sked_i_alloc_zero(sides, sizeof *l->listed);
    l->learnt = sked_i_alloc(sides + 1, sizeof *l->learnt);
    l->members = sked_i_alloc(l->n, sizeof *l->members);
    l->active = sked_i_alloc(l->n, sizeof *l->active);
    l->score = sked_i_alloc_zero(l->n, sizeof *l->score);
    l->free_at = sked_i_alloc((int64_t)l->horizon * l->core->words, sizeof *l->free_at);
    return l->bound && l->root && l->last && l->watch && l->need && l->touched && l->listed && l->learnt &&
           l->members && l->active && l->score && l->free_at;
}

sked_i_learner *sked_i_learner_create(sked_i_search_worker *w, int32_t makespan)
{
    sked_i_learner *l = sked_i_alloc_zero(1, sizeof *l);
    if (l == NULL)
        return NULL;
    const sked_i_core *core = &w->problem->forward;
    l->w = w;
    l->core = core;
    l->n = core->n;
    l->makespan = l->horizon = makespan + 1;
    l->bump = 1;
    l->max_clauses = 4000;
    if (!allocate(l)) {
        sked_i_learner_destroy(l);
        return NULL;
    }
    for (int32_t i = 0; i < l->n; i++) {
        uint64_t any = 0;
        for (int32_t k = 0; k < core->words; k++)
            any |= core->demand[(int64_t)i * core->words + k];
        if (any != 0 && core->duration[i] > 0)
            l->active[l->n_active++] = i;
        l->bound[2 * i] = core->head[i];
        l->bound[2 * i + 1] = core->tail[i] - l->makespan;
    }
    for (int32_t s = 0; s < 2 * l->n; s++) {
        l->root[s] = l->bound[s];
        l->last[s] = -1;
        l->need[s] = none;
    }
    return l;
}

bool sked_i_learner_failed(const sked_i_learner *l)
{
    return l->failed;
}

/* ------------------------------------------------------------------ trail */

static void add_conflict(sked_i_learner *l, int32_t side, int32_t value)
{
    if (!SKED_GROW(l->conflict, l->conflict_cap, l->n_conflict + 1)) {
        l->failed = true;
        return;
    }
    l->conflict[l->n_conflict++] = (sked_i_bound){side, value};
}

/* Raises a bound. False: the op has no place left (the conflict is noted), or no memory. */
static bool tighten(sked_i_learner *l, int32_t side, int32_t value, int32_t reason, int32_t from, int32_t lag)
{
    if (value <= l->bound[side])
        return true;
    if (!SKED_GROW(l->trail, l->trail_cap, l->trail_count + 1)) {
        l->failed = true;
        return false;
    }
    l->trail[l->trail_count] = (step){side, l->bound[side], l->last[side], reason, from, lag};
    l->last[side] = (int32_t)l->trail_count++;
    l->bound[side] = value;
    if (value + l->bound[side ^ 1] <= 0)
        return true;
    l->n_conflict = 0;
    add_conflict(l, side, value);
    add_conflict(l, side ^ 1, 1 - value);
    return false;
}

static inline void undo_step(sked_i_learner *l)
{
    const step *s = &l->trail[--l->trail_count];
    l->bound[s->side] = s->old;
    l->last[s->side] = s->prev;
}

static void undo_to(sked_i_learner *l, int64_t level)
{
    if (l->levels <= level)
        return;
    const int64_t keep = l->level[level];
    while (l->trail_count > keep)
        undo_step(l);
    l->levels = level;
    l->done = l->done > keep ? keep : l->done;
}

static bool open_level(sked_i_learner *l)
{
    if (!SKED_GROW(l->level, l->level_cap, l->levels + 1)) {
        l->failed = true;
        return false;
    }
    l->level[l->levels++] = l->trail_count;
    return true;
}

/* ------------------------------------------------------------------ clauses */

static inline sked_i_bound *bounds_of(const sked_i_learner *l, int32_t clause)
{
    return (sked_i_bound *)(void *)(l->arena + clause + clause_head);
}

static inline bool holds(const sked_i_learner *l, sked_i_bound b)
{
    return l->bound[b.side] >= b.value;
}

static inline bool fails(const sked_i_learner *l, sked_i_bound b)
{
    return l->bound[b.side ^ 1] >= 1 - b.value;
}

static bool add_watch(sked_i_learner *l, sked_i_bound b, int32_t clause)
{
    watch_list *list = &l->watch[b.side ^ 1];
    if (!SKED_GROW(list->item, list->cap, list->count + 1)) {
        l->failed = true;
        return false;
    }
    list->item[list->count++] = (watch){clause, 1 - b.value};
    return true;
}

static void note_clause_conflict(sked_i_learner *l, int32_t clause)
{
    const sked_i_bound *b = bounds_of(l, clause);
    l->n_conflict = 0;
    for (int32_t k = 0; k < l->arena[clause]; k++)
        add_conflict(l, b[k].side ^ 1, 1 - b[k].value);
}

/* Finds another bound to watch in place of b[1]. */
static bool move_watch(sked_i_learner *l, int32_t clause, sked_i_bound *b)
{
    const int32_t size = l->arena[clause];
    for (int32_t k = 2; k < size; k++) {
        if (fails(l, b[k]))
            continue;
        const sked_i_bound t = b[1];
        b[1] = b[k];
        b[k] = t;
        return add_watch(l, b[1], clause);
    }
    return false;
}

/* Visits the clauses that watch a bound which has just failed. */
static bool propagate_clauses(sked_i_learner *l, int32_t side)
{
    watch_list *list = &l->watch[side];
    int64_t kept = 0, k = 0;
    bool ok = true;
    for (; k < list->count && ok; k++) {
        const watch at = list->item[k];
        if (at.threshold > l->bound[side]) {
            list->item[kept++] = at;
            continue;
        }
        sked_i_bound *b = bounds_of(l, at.clause);
        if (b[0].side == (side ^ 1) && b[0].value == 1 - at.threshold) {
            b[0] = b[1];
            b[1] = (sked_i_bound){side ^ 1, 1 - at.threshold};
        }
        if (holds(l, b[0]) || !move_watch(l, at.clause, b))
            list->item[kept++] = at;
        else
            continue;
        if (holds(l, b[0]))
            continue;
        if (fails(l, b[0])) {
            note_clause_conflict(l, at.clause);
            ok = false;
        } else {
            ok = tighten(l, b[0].side, b[0].value, at.clause, 0, 0);
        }
    }
    for (; k < list->count; k++)
        list->item[kept++] = list->item[k];
    list->count = kept;
    return ok && !l->failed;
}

static int32_t add_clause(sked_i_learner *l, const sked_i_bound *b, int32_t size, int32_t glue)
{
    const int64_t at = l->arena_count, need = at + clause_head + 2 * (int64_t)size;
    if (need > INT32_MAX || !SKED_GROW(l->arena, l->arena_cap, need) ||
        !SKED_GROW(l->clauses, l->clauses_cap, l->n_clauses + 1)) {
        l->failed = true;
        return -1;
    }
    l->arena_count = need;
    l->arena[at] = size;
    l->arena[at + 1] = 1;
    l->arena[at + 2] = glue;
    memcpy(l->arena + at + clause_head, b, (size_t)size * sizeof *b);
    l->clauses[l->n_clauses++] = (int32_t)at;
    if (size > 1 && !(add_watch(l, b[0], (int32_t)at) && add_watch(l, b[1], (int32_t)at)))
        return -1;
    return (int32_t)at;
}

/* Brings bounds that have not failed to the front of a clause; returns how many, -1: one holds. */
static int32_t sort_clause(const sked_i_learner *l, int32_t clause)
{
    sked_i_bound *b = bounds_of(l, clause);
    int32_t open = 0;
    for (int32_t k = 0; k < l->arena[clause]; k++) {
        if (holds(l, b[k]))
            return -1;
        if (fails(l, b[k]))
            continue;
        const sked_i_bound t = b[open];
        b[open++] = b[k];
        b[k] = t;
    }
    return open;
}

/* At the root, after propagation: drops clauses that hold or were not used lately, and packs the rest. */
static void clean_clauses(sked_i_learner *l)
{
    int64_t kept = 0, to = 0;
    for (int32_t s = 0; s < 2 * l->n; s++)
        l->watch[s].count = 0;
    for (int64_t k = 0; k < l->n_clauses; k++) {
        const int32_t at = l->clauses[k], size = l->arena[at];
        const bool recent = k >= l->n_clauses - l->n_clauses / 4;
        if (!(l->arena[at + 1] > 0 || l->arena[at + 2] <= 3 || recent) || sort_clause(l, at) < 2)
            continue;
        l->arena[at + 1] = 0;
        memmove(l->arena + to, l->arena + at, (size_t)(clause_head + 2 * size) * sizeof *l->arena);
        l->clauses[kept++] = (int32_t)to;
        const sked_i_bound *b = bounds_of(l, (int32_t)to);
        if (!(add_watch(l, b[0], (int32_t)to) && add_watch(l, b[1], (int32_t)to)))
            return;
        to += clause_head + 2 * size;
    }
    if (kept > l->max_clauses * 3 / 4)
        l->max_clauses += l->max_clauses / 4;
    l->n_clauses = kept;
    l->arena_count = to;
}

/* ------------------------------------------------------------------ precedence */

static bool propagate_arcs(sked_i_learner *l, int32_t side)
{
    const sked_i_core *core = l->core;
    const int32_t i = side >> 1, from = l->bound[side];
    const int32_t *ptr = side & 1 ? core->pred_ptr : core->succ_ptr;
    const sked_i_arc *arc = side & 1 ? core->pred : core->succ;
    for (int32_t k = ptr[i]; k < ptr[i + 1]; k++)
        if (!tighten(l, 2 * arc[k].op + (side & 1), from + arc[k].lag, by_arc, side, arc[k].lag))
            return false;
    return true;
}

static bool propagate_trail(sked_i_learner *l)
{
    while (l->done < l->trail_count) {
        const int32_t side = l->trail[l->done++].side;
        if (!propagate_arcs(l, side) || !propagate_clauses(l, side))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ time table */

static inline bool room(const sked_i_learner *l, int32_t t, int32_t i)
{
    const sked_i_core *core = l->core;
    const int32_t w = core->words;
    for (int32_t k = 0; k < w; k++)
        if (!sked_i_fits(l->free_at[(int64_t)t * w + k], core->demand[(int64_t)i * w + k], core->guard[k]))
            return false;
    return true;
}

/* The pool that lacks room at time t for op i (i < 0: is overdrawn as it is). */
static const sked_i_field *lacking(const sked_i_learner *l, int32_t t, int32_t i)
{
    const sked_i_core *core = l->core;
    for (int32_t k = 0; k < core->fields; k++) {
        const sked_i_field *f = &core->field[k];
        uint64_t used = i < 0 ? 0 : sked_i_amount(core, f, i);
        for (int32_t q = 0; q < l->n_active; q++) {
            const int32_t j = l->active[q];
            if (j != i && -l->bound[2 * j + 1] <= t && t < l->bound[2 * j] + core->duration[j])
                used += sked_i_amount(core, f, j);
        }
        if (used > f->capacity)
            return f;
    }
    return NULL;
}

/*
 * Bounds that make the pool overfull at time t, with op i (or without, i < 0): enough of the ops that must
 * run then. Ops whose part is proven at the root cost nothing and stay; others go while the rest suffices.
 */
static void explain_time(sked_i_learner *l, int32_t t, int32_t i,
                         void (*add)(sked_i_learner *, int32_t, int32_t))
{
    const sked_i_core *core = l->core;
    const sked_i_field *f = lacking(l, t, i);
    if (f == NULL)
        return;
    uint64_t used = i < 0 ? 0 : sked_i_amount(core, f, i);
    int32_t count = 0;
    for (int32_t q = 0; q < l->n_active; q++) {
        const int32_t j = l->active[q];
        if (j == i || -l->bound[2 * j + 1] > t || t >= l->bound[2 * j] + core->duration[j])
            continue;
        const uint64_t a = sked_i_amount(core, f, j);
        if (a == 0)
            continue;
        used += a;
        if (l->root[2 * j] < t - core->duration[j] + 1 || l->root[2 * j + 1] < -t)
            l->members[count++] = (amount){j, a};
    }
    uint64_t spare = used - f->capacity - 1;
    for (int32_t k = 0; k < count; k++) {
        const int32_t j = l->members[k].op;
        if (l->members[k].amount <= spare) {
            spare -= l->members[k].amount;
            continue;
        }
        add(l, 2 * j, t - core->duration[j] + 1);
        add(l, 2 * j + 1, -t);
    }
}

/* What is free beside the parts ops must occupy. False: more than there is. */
static bool build_table(sked_i_learner *l)
{
    const sked_i_core *core = l->core;
    const int32_t w = core->words;
    for (int32_t t = 0; t < l->makespan; t++)
        for (int32_t k = 0; k < w; k++)
            l->free_at[(int64_t)t * w + k] = core->full[k];
    for (int32_t q = 0; q < l->n_active; q++) {
        const int32_t i = l->active[q], end = l->bound[2 * i] + core->duration[i];
        for (int32_t t = -l->bound[2 * i + 1]; t < end; t++) {
            bool over = false;
            for (int32_t k = 0; k < w; k++) {
                uint64_t *at = &l->free_at[(int64_t)t * w + k];
                *at -= core->demand[(int64_t)i * w + k];
                over = over || (*at & core->guard[k]) != core->guard[k];
            }
            if (!over)
                continue;
            l->n_conflict = 0;
            explain_time(l, t, -1, add_conflict);
            return false;
        }
    }
    return true;
}

/* Pushes op i right past the last time within reach that has no room for it. */
static bool push_right(sked_i_learner *l, int32_t i)
{
    const int32_t d = l->core->duration[i];
    for (;;) {
        const int32_t low = l->bound[2 * i], latest = -l->bound[2 * i + 1];
        int32_t t = (low + d < latest ? low + d : latest) - 1;
        while (t >= low && room(l, t, i))
            t--;
        if (t < low)
            return true;
        if (!tighten(l, 2 * i, t + 1, by_table, t, 0))
            return false;
    }
}

static bool push_left(sked_i_learner *l, int32_t i)
{
    const int32_t d = l->core->duration[i];
    for (;;) {
        const int32_t end = l->bound[2 * i] + d, latest = -l->bound[2 * i + 1];
        int32_t t = end > latest ? end : latest;
        while (t < latest + d && room(l, t, i))
            t++;
        if (t >= latest + d)
            return true;
        if (!tighten(l, 2 * i + 1, d - t, by_table, t, 0))
            return false;
    }
}

static bool propagate(sked_i_learner *l)
{
    for (;;) {
        if (!propagate_trail(l))
            return false;
        const int64_t before = l->trail_count;
        if (!build_table(l))
            return false;
        for (int32_t q = 0; q < l->n_active; q++) {
            const int32_t i = l->active[q];
            if (l->bound[2 * i] + l->bound[2 * i + 1] < 0 && !(push_right(l, i) && push_left(l, i)))
                return false;
        }
        if (l->trail_count == before)
            return true;
    }
}

/* ------------------------------------------------------------------ learning */

/* The bound of a side when the current level was opened. */
static int32_t before_level(const sked_i_learner *l, int32_t side)
{
    int32_t value = l->bound[side];
    for (int32_t k = l->last[side]; k >= 0 && k >= l->level[l->levels - 1]; k = l->trail[k].prev)
        value = l->trail[k].old;
    return value;
}

static void require(sked_i_learner *l, int32_t side, int32_t value)
{
    if (value <= l->root[side] || value <= l->need[side])
        return;
    const int32_t before = before_level(l, side);
    if (!l->listed[side]) {
        l->listed[side] = 1;
        l->touched[l->n_touched++] = side;
    }
    l->open += (value > before) - (l->need[side] != none && l->need[side] > before);
    l->need[side] = value;
    l->score[side >> 1] += l->bump;
}

/* Replaces a needed bound by what implied it. The step is already undone. */
static void explain_step(sked_i_learner *l, const step *s, int32_t value)
{
    const int32_t i = s->side >> 1;
    if (s->reason == by_arc) {
        require(l, s->from, value - s->lag);
    } else if (s->reason == by_table) {
        if (s->side & 1)
            require(l, s->side, -s->from);
        else
            require(l, s->side, s->from - l->core->duration[i] + 1);
        explain_time(l, s->from, i, require);
    } else {
        const sked_i_bound *b = bounds_of(l, s->reason);
        l->arena[s->reason + 1]++;
        for (int32_t k = 1; k < l->arena[s->reason]; k++)
            require(l, b[k].side ^ 1, 1 - b[k].value);
    }
}

/* Undoes steps until one needed bound of the current level is left; returns its side. */
static int32_t find_cause(sked_i_learner *l)
{
    for (;;) {
        const step s = l->trail[l->trail_count - 1];
        const int32_t value = l->need[s.side];
        const bool needed = value != none && s.old < value;
        if (needed && l->open == 1)
            return s.side;
        undo_step(l);
        if (!needed)
            continue;
        l->open--;
        l->need[s.side] = none; /* stays in touched; may be needed again with a smaller value */
        explain_step(l, &s, value);
    }
}

/* Level at which side reached value. */
static int64_t level_of(const sked_i_learner *l, int32_t side, int32_t value)
{
    int32_t k = l->last[side];
    while (k >= 0 && l->trail[k].old >= value)
        k = l->trail[k].prev;
    int64_t low = 0, high = l->levels; /* levels opened at or before step k */
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (l->level[middle] <= k)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The clause: not all of the needed bounds. The cause first, the latest of the others second. */
static int32_t collect(sked_i_learner *l, int32_t cause, int64_t *back)
{
    int32_t size = 1;
    *back = 0;
    l->learnt[0] = (sked_i_bound){cause ^ 1, 1 - l->need[cause]};
    l->need[cause] = none;
    for (int32_t k = 0; k < l->n_touched; k++) {
        const int32_t side = l->touched[k];
        l->listed[side] = 0;
        if (l->need[side] == none)
            continue;
        const int64_t level = level_of(l, side, l->need[side]);
        l->learnt[size] = (sked_i_bound){side ^ 1, 1 - l->need[side]};
        l->need[side] = none;
        if (level > *back) {
            const sked_i_bound t = l->learnt[1];
            l->learnt[1] = l->learnt[size];
            l->learnt[size] = t;
            *back = level;
        }
        size++;
    }
    l->n_touched = 0;
    return size;
}

static void forget(sked_i_learner *l)
{
    for (int32_t k = 0; k < l->n_touched; k++) {
        l->need[l->touched[k]] = none;
        l->listed[l->touched[k]] = 0;
    }
    l->n_touched = l->open = 0;
}

/* Needs the bounds of the noted conflict; leaves levels that have no part in it. False: refuted. */
static bool begin_analysis(sked_i_learner *l)
{
    for (; l->levels > 0; undo_to(l, l->levels - 1)) {
        for (int64_t k = 0; k < l->n_conflict; k++)
            require(l, l->conflict[k].side, l->conflict[k].value);
        if (l->open > 0)
            return true;
        forget(l);
    }
    return false;
}

/* Learns from the noted conflict and goes back. False: the problem is refuted, or no memory. */
static bool learn(sked_i_learner *l)
{
    if (l->failed)
        return false;
    if (!begin_analysis(l)) {
        l->refuted = true;
        return false;
    }
    int64_t back;
    const int32_t size = collect(l, find_cause(l), &back);
    l->open = 0;
    undo_to(l, back);
    int32_t clause = by_decision;
    if (size > 1 && (clause = add_clause(l, l->learnt, size, size)) < 0)
        return false;
    l->bump *= 1 / 0.95;
    if (l->bump > 1e100) {
        for (int32_t i = 0; i < l->n; i++)
            l->score[i] *= 1e-100;
        l->bump *= 1e-100;
    }
    if (!tighten(l, l->learnt[0].side, l->learnt[0].value, clause, 0, 0)) {
        l->refuted = l->levels == 0 && !l->failed;
        return l->levels > 0 && !l->failed; /* the noted conflict is learned from next */
    }
    return true;
}

/* ------------------------------------------------------------------ search */

/* Root bounds never come back. False: refuted. */
static bool settle_root(sked_i_learner *l, int32_t makespan)
{
    undo_to(l, 0);
    if (makespan < l->makespan) {
        l->makespan = makespan;
        for (int32_t i = 0; i < l->n; i++)
            if (!tighten(l, 2 * i + 1, l->core->tail[i] - makespan, by_decision, 0, 0))
                return false;
    }
    if (!propagate(l))
        return false;
    for (int32_t s = 0; s < 2 * l->n; s++) {
        l->root[s] = l->bound[s];
        l->last[s] = -1;
    }
    l->trail_count = l->done = 0;
    return true;
}

/* The unsettled op with the highest score, kept near its place in the guide. False: all are settled. */
static bool decide(sked_i_learner *l, const int32_t *guide, sked_i_bound *out)
{
    int32_t best = -1;
    for (int32_t i = 0; i < l->n; i++)
        if (l->bound[2 * i] + l->bound[2 * i + 1] < 0 &&
            (best < 0 || l->score[i] > l->score[best] ||
             (l->score[i] == l->score[best] && l->bound[2 * i] < l->bound[2 * best])))
            best = i;
    if (best < 0)
        return false;
    const int32_t low = l->bound[2 * best], high = -l->bound[2 * best + 1], near = guide[best];
    if (near >= high)
        *out = (sked_i_bound){2 * best, high};
    else
        *out = (sked_i_bound){2 * best + 1, -(near > low ? near : low)};
    return true;
}

/* Opens levels until a conflict shows or nothing is left to decide. */
static sked_i_verdict descend(sked_i_learner *l, const sked_i_bound *assume, int32_t n_assume,
                              const int32_t *guide)
{
    int32_t assumed = 0;
    while (propagate(l)) {
        sked_i_bound next;
        while (assumed < n_assume && holds(l, assume[assumed]))
            assumed++;
        if (assumed < n_assume) {
            if (fails(l, assume[assumed]))
                return SKED_I_NARROW;
            next = assume[assumed];
        } else if (!decide(l, guide, &next)) {
            return SKED_I_FOUND;
        }
        if (!open_level(l) || !tighten(l, next.side, next.value, by_decision, 0, 0))
            return SKED_I_UNDECIDED;
    }
    return SKED_I_UNDECIDED;
}

/* Luby's sequence 1 1 2 1 1 2 4 ... */
static int64_t luby(int64_t k)
{
    int64_t size = 1, power = 1;
    while (size < k + 1) {
        size = 2 * size + 1;
        power *= 2;
    }
    while (size - 1 != k) {
        size = (size - 1) / 2;
        power /= 2;
        k %= size;
    }
    return power;
}

sked_i_verdict sked_i_learner_solve(sked_i_learner *l, int32_t makespan, const sked_i_bound *assume,
                                    int32_t n_assume, const int32_t *guide, int64_t conflicts, int32_t *start)
{
    int64_t used = 0, until = 0;
    for (int64_t round = 0; !l->refuted && !l->failed && used < conflicts; round++) {
        if (!settle_root(l, makespan)) {
            l->refuted = !l->failed;
            break;
        }
        if (l->n_clauses > l->max_clauses)
            clean_clauses(l);
        until = used + 100 * luby(round);
        while (used < until && used < conflicts) {
            const sked_i_verdict v = descend(l, assume, n_assume, guide);
            if (v == SKED_I_FOUND) {
                for (int32_t i = 0; i < l->n; i++)
                    start[i] = l->bound[2 * i];
            }
            if (v != SKED_I_UNDECIDED)
                return v;
            used++;
            sked_i_search_count(l->w, 1);
            if (!learn(l))
                break;
            if (sked_i_search_over(l->w))
                return SKED_I_UNDECIDED;
        }
    }
    return l->refuted ? SKED_I_REFUTED : SKED_I_UNDECIDED;
}
