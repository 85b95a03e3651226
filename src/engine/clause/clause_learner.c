/* The learning solver on packed words: see learner.h. */
#include "engine/clause/clause_learner.h"
#include "base/arena.h"
#include "base/restart.h"

#include <assert.h>
#include <string.h>

enum { restart_unit = 100 };

typedef struct member {
    int32_t op;
    uint64_t amount;
} member;

struct sked_i_learner {
    sked_i_arena arena;
    sked_i_clause_solver *solver;
    sked_i_client *client;
    const sked_i_core *core;
    int32_t n, makespan;
    bool refuted;
    /* time table */
    int32_t number;    /* of its propagator */
    uint64_t *free_at; /* [makespan at first * words] */
    int32_t *active;   /* [n_active] ops that hold something */
    int32_t n_active;
    member *members; /* [n] */
};

/* ------------------------------------------------------------------ explanations */

static inline bool must_run(const sked_i_learner *l, int32_t i, int32_t t, int64_t before)
{
    const sked_i_clause_solver *s = l->solver;
    return -sked_i_clause_low_before(s, 2 * i + 1, before) <= t &&
           t < sked_i_clause_low_before(s, 2 * i, before) + l->core->duration[i];
}

/* The ops other than i that had to run at time t before a trail entry, into members; returns how many. */
static int32_t collect_running(sked_i_learner *l, int32_t t, int32_t i, int64_t before)
{
    int32_t count = 0;
    for (int32_t q = 0; q < l->n_active; q++)
        if (l->active[q] != i && must_run(l, l->active[q], t, before))
            l->members[count++].op = l->active[q];
    return count;
}

/* The pool that lacks room for the members and op i (i < 0: without), and how much they need. */
static const sked_i_core_field *lacking(const sked_i_learner *l, int32_t count, int32_t i, uint64_t *used)
{
    for (int32_t k = 0; k < l->core->fields; k++) {
        const sked_i_core_field *f = &l->core->field[k];
        *used = i < 0 ? 0 : sked_i_amount(l->core, f, i);
        for (int32_t q = 0; q < count; q++)
            *used += sked_i_amount(l->core, f, l->members[q].op);
        if (*used > f->capacity)
            return f;
    }
    return NULL;
}

/* Is it proven without decisions that the op runs at t? */
static bool runs_at_root(const sked_i_learner *l, int32_t j, int32_t t)
{
    const int32_t *root = l->solver->root;
    return root[2 * j] > t - l->core->duration[j] && root[2 * j + 1] >= -t;
}

/*
 * Bounds that make a pool overfull at time t, with op i (or without, i < 0): enough of the ops that must
 * run then. Ops whose part is proven at the root cost nothing and stay; others go while the rest suffices.
 */
static void explain_time(sked_i_learner *l, int32_t t, int32_t i, int64_t before)
{
    uint64_t used;
    const int32_t count = collect_running(l, t, i, before);
    const sked_i_core_field *f = lacking(l, count, i, &used);
    assert(f != NULL);
    uint64_t spare = used - f->capacity - 1;
    for (int32_t k = 0; k < count; k++) {
        const int32_t j = l->members[k].op;
        const uint64_t a = sked_i_amount(l->core, f, j);
        if (a == 0 || runs_at_root(l, j, t))
            continue;
        if (a <= spare) {
            spare -= a;
            continue;
        }
        sked_i_clause_conflict_add(l->solver, 2 * j, t - l->core->duration[j] + 1);
        sked_i_clause_conflict_add(l->solver, 2 * j + 1, -t);
    }
}

/* The op of the literal could not run at time `note`, and could not end before it (or start after it). */
static void explain(sked_i_clause_solver *s, void *self, sked_i_lit lit, int64_t note, int64_t before)
{
    sked_i_learner *l = self;
    const int32_t t = (int32_t)note, i = lit.view / 2;
    sked_i_clause_conflict_add(s, lit.view, lit.view & 1 ? -t : t - l->core->duration[i] + 1);
    explain_time(l, t, i, before);
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

/* What is free beside the parts ops must occupy. False: more than there is. */
static bool build_table(sked_i_learner *l)
{
    const sked_i_core *core = l->core;
    const int32_t w = core->words, *low = l->solver->low;
    for (int32_t t = 0; t < l->makespan; t++)
        for (int32_t k = 0; k < w; k++)
            l->free_at[(int64_t)t * w + k] = core->full[k];
    for (int32_t q = 0; q < l->n_active; q++) {
        const int32_t i = l->active[q], end = low[2 * i] + core->duration[i];
        for (int32_t t = -low[2 * i + 1]; t < end; t++) {
            bool over = false;
            for (int32_t k = 0; k < w; k++) {
                uint64_t *at = &l->free_at[(int64_t)t * w + k];
                *at -= core->demand[(int64_t)i * w + k];
                over = over || (*at & core->guard[k]) != core->guard[k];
            }
            if (!over)
                continue;
            sked_i_clause_conflict_begin(l->solver);
            explain_time(l, t, -1, INT64_MAX);
            return false;
        }
    }
    return true;
}

static inline bool push(sked_i_learner *l, int32_t view, int32_t value, int32_t t)
{
    return sked_i_clause_raise(
        l->solver, view, value,
        (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_PROPAGATOR, .count = l->number, .ref = t});
}

/* Pushes op i right past the last time within reach that has no room for it. */
static bool push_right(sked_i_learner *l, int32_t i)
{
    const int32_t d = l->core->duration[i], *low = l->solver->low;
    for (;;) {
        const int32_t first = low[2 * i], latest = -low[2 * i + 1];
        int32_t t = (first + d < latest ? first + d : latest) - 1;
        while (t >= first && room(l, t, i))
            t--;
        if (t < first)
            return true;
        if (!push(l, 2 * i, t + 1, t))
            return false;
    }
}

static bool push_left(sked_i_learner *l, int32_t i)
{
    const int32_t d = l->core->duration[i], *low = l->solver->low;
    for (;;) {
        const int32_t end = low[2 * i] + d, latest = -low[2 * i + 1];
        int32_t t = end > latest ? end : latest;
        while (t < latest + d && room(l, t, i))
            t++;
        if (t >= latest + d)
            return true;
        if (!push(l, 2 * i + 1, d - t, t))
            return false;
    }
}

static bool propagate(sked_i_clause_solver *s, void *self)
{
    sked_i_learner *l = self;
    if (!build_table(l))
        return false;
    for (int32_t q = 0; q < l->n_active; q++) {
        const int32_t i = l->active[q];
        if (s->low[2 * i] + s->low[2 * i + 1] < 0 && !(push_right(l, i) && push_left(l, i)))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ life */

bool sked_i_learner_fits(const sked_i_cumulative *problem, int32_t makespan)
{
    const sked_i_core *core = &problem->forward;
    return problem->fixed == NULL && core->n <= 1500 && makespan <= 4096 &&
           (int64_t)makespan * core->words <= 1 << 16;
}

void sked_i_learner_destroy(sked_i_learner *l)
{
    if (l == NULL)
        return;
    sked_i_clause_destroy(l->solver);
    sked_i_arena_free(&l->arena);
    free(l);
}

static void find_active(sked_i_learner *l)
{
    const sked_i_core *core = l->core;
    for (int32_t i = 0; i < l->n; i++) {
        uint64_t any = 0;
        for (int32_t k = 0; k < core->words; k++)
            any |= core->demand[(int64_t)i * core->words + k];
        if (any != 0 && core->duration[i] > 0)
            l->active[l->n_active++] = i;
    }
}

/* False: no memory, or no schedule is so short (refuted). */
static bool bound_makespan(sked_i_learner *l, int32_t makespan)
{
    for (int32_t i = 0; i < l->n && !l->refuted && makespan < l->makespan; i++)
        l->refuted =
            !sked_i_clause_root_bound(l->solver, (sked_i_lit){2 * i + 1, l->core->tail[i] - makespan}) &&
            !l->solver->failed;
    l->makespan = makespan < l->makespan ? makespan : l->makespan;
    return !l->refuted && !l->solver->failed;
}

static bool build_model(sked_i_learner *l)
{
    const sked_i_core *core = l->core;
    const sked_i_clause_propagator plug = {.self = l, .propagate = propagate, .explain = explain};
    bool fine = sked_i_clause_add_propagator(l->solver, plug, &l->number);
    for (int32_t i = 0; fine && i < l->n; i++) {
        fine = sked_i_clause_root_bound(l->solver, (sked_i_lit){2 * i, core->head[i]});
        for (int32_t k = core->succ_ptr[i]; fine && k < core->succ_ptr[i + 1]; k++)
            fine = sked_i_clause_add_arc(l->solver, i, core->succ[k].op, core->succ[k].lag, SKED_I_LIT_NONE);
    }
    for (int32_t q = 0; fine && q < l->n_active; q++)
        fine = sked_i_clause_tell(l->solver, l->number, l->active[q]);
    return fine;
}

sked_i_learner *sked_i_learner_create(const sked_i_core *core, int32_t makespan, sked_i_client *client)
{
    sked_error ignored;
    sked_i_learner *l = sked_i_alloc_zero(1, sizeof *l);
    if (l == NULL)
        return NULL;
    *l = (sked_i_learner){.client = client, .core = core, .n = core->n, .makespan = INT32_MAX};
    l->active = sked_i_arena_alloc(&l->arena, l->n, sizeof *l->active);
    l->members = sked_i_arena_alloc(&l->arena, l->n, sizeof *l->members);
    l->free_at = sked_i_arena_alloc(&l->arena, ((int64_t)makespan + 1) * core->words, sizeof *l->free_at);
    if (l->active && l->members && l->free_at &&
        sked_i_clause_create(l->n, l->n, 0, &l->solver, &ignored) == SKED_OK) {
        find_active(l);
        if (build_model(l) && (bound_makespan(l, makespan) || l->refuted))
            return l;
    }
    sked_i_learner_destroy(l);
    return NULL;
}

bool sked_i_learner_failed(const sked_i_learner *l)
{
    return l->solver->failed;
}

sked_i_clause_stats sked_i_learner_stats(const sked_i_learner *l)
{
    return l->solver->stats;
}

/* ------------------------------------------------------------------ search */

static bool count_conflict(void *self)
{
    sked_i_client *client = self;
    client->evaluations++;
    return sked_i_client_over(client);
}

static void follow_guide(sked_i_learner *l, const int32_t *guide)
{
    memcpy(l->solver->phase, guide, (size_t)l->n * sizeof *guide);
    l->solver->has_phase = true;
}

static void take_solution(sked_i_learner *l, int32_t *start)
{
    for (int32_t i = 0; i < l->n; i++)
        start[i] = l->solver->low[2 * i];
    sked_i_clause_restart(l->solver);
}

sked_i_verdict sked_i_learner_solve(sked_i_learner *l, int32_t makespan, const sked_i_lit *assume,
                                    int32_t n_assume, const int32_t *guide, int64_t conflicts, int32_t *start)
{
    sked_i_clause_solver *s = l->solver;
    const int64_t end = s->stats.conflicts + conflicts;
    sked_i_clause_budget b = {
        .assume = assume, .n_assume = n_assume, .over = count_conflict, .self = l->client};
    sked_i_verdict v = SKED_I_UNDECIDED;
    if (!bound_makespan(l, makespan))
        return s->failed ? SKED_I_UNDECIDED : SKED_I_REFUTED;
    follow_guide(l, guide);
    for (int64_t round = 0; v == SKED_I_UNDECIDED && !s->failed; round++) {
        b.conflicts = restart_unit * sked_i_luby(round);
        if (s->stats.conflicts + b.conflicts > end)
            b.conflicts = end - s->stats.conflicts;
        if (b.conflicts <= 0)
            break;
        v = sked_i_clause_solve(s, &b);
        if (v == SKED_I_UNDECIDED && sked_i_client_over(l->client))
            break;
    }
    if (v == SKED_I_FOUND)
        take_solution(l, start);
    return v;
}
