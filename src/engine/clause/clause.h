/*
 * The clause-learning kernel (lazy clause generation, Ohrimenko, Stuckey, Codish 2009; for scheduling Schutt,
 * Feydy, Stuckey, Wallace 2011), on bounds of integer variables only. It knows literals, the trail, clauses,
 * conditional precedence arcs, decisions and restarts; everything else is a propagator that its user adds:
 * pools (pool.h), packed time tables (clause_learner.c), modulo slots (engine/modulo/slots.c).
 *
 * Every variable x has two views: 2x stands for x and 2x + 1 for -x, so that all reasoning is about lower
 * bounds of views. A literal (view, value) says view >= value; its negation is (view ^ 1, 1 - value). Values
 * stay within +-2^30, so sums of two fit.
 */
#ifndef SKED_ENGINE_CLAUSE_CLAUSE_H
#define SKED_ENGINE_CLAUSE_CLAUSE_H
#include "base/activity.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "engine/clause/verdict.h"

typedef struct sked_i_lit {
    int32_t view, value;
} sked_i_lit;

static inline sked_i_lit sked_i_lit_not(sked_i_lit l)
{
    return (sked_i_lit){l.view ^ 1, 1 - l.value};
}
#define SKED_I_LIT_NONE ((sked_i_lit){-1, 0})
enum { sked_i_clause_limit = 1 << 30 }; /* values stay within +- this */

typedef struct sked_i_clause_solver sked_i_clause_solver;

/* Why a bound holds: the literals in the reason imply it. */
typedef struct sked_i_clause_reason {
    enum {
        SKED_I_CLAUSE_BY_DECISION,
        SKED_I_CLAUSE_BY_ARC,
        SKED_I_CLAUSE_BY_CLAUSE,
        SKED_I_CLAUSE_BY_LIST,
        SKED_I_CLAUSE_BY_PROPAGATOR
    } kind;
    int32_t count; /* LIST: literals; PROPAGATOR: its number */
    int64_t ref;   /* arc, clause offset, list offset; PROPAGATOR: its own note */
} sked_i_clause_reason;

typedef struct sked_i_clause_entry {
    int32_t view, value, old, level;
    int64_t prev; /* earlier entry of the same view, -1: root */
    sked_i_clause_reason reason;
} sked_i_clause_entry;

/*
 * What a user of the kernel adds. Functions may be NULL, and one propagator at most follows. All of them see
 * present bounds in s->low, raise bounds by sked_i_clause_raise with a reason, and return false on a
 * conflict, which raise has noted or which they note themselves (sked_i_clause_conflict_begin, _add).
 */
typedef struct sked_i_clause_propagator {
    void *self;
    /* A variable named by tell has moved, and clauses and arcs are at a fixed point. */
    bool (*propagate)(sked_i_clause_solver *s, void *self);
    /* l has come onto the trail, its view was at `old` before; called in this order, before clauses and arcs.
     */
    bool (*follow)(sked_i_clause_solver *s, void *self, sked_i_lit l, int32_t old);
    /* l leaves the trail again; it may not have been followed yet. Not called for what became a root bound.
     */
    void (*undo)(sked_i_clause_solver *s, void *self, sked_i_lit l);
    /* At a fixed point of everything else: a costly last check. What it raises is propagated. */
    bool (*check)(sked_i_clause_solver *s, void *self);
    /*
     * Says why l holds for a BY_PROPAGATOR reason with this note: adds literals that held before trail entry
     * `before` (sked_i_clause_low_before) by sked_i_clause_conflict_add.
     */
    void (*explain)(sked_i_clause_solver *s, void *self, sked_i_lit l, int64_t note, int64_t before);
    int64_t cost;          /* of propagate and of check, in units of s->work */
    bool dirty, unchecked; /* the kernel's: propagate, check are due */
} sked_i_clause_propagator;

/* to >= from + offset whenever `when` holds (view -1: always). */
typedef struct sked_i_clause_arc {
    int32_t from, to, offset;
    sked_i_lit when;
} sked_i_clause_arc;

/* A copy where it is looked at: beside the others of its view. */
typedef struct sked_i_clause_watched_arc {
    sked_i_clause_arc arc;
    int32_t id;
} sked_i_clause_watched_arc;

typedef struct sked_i_clause_watch {
    int32_t threshold; /* the watched literal is false once the list's view reaches this */
    int32_t blocker_view, blocker_value;
    int64_t clause;
} sked_i_clause_watch;

typedef struct sked_i_clause_list {
    void *data;
    int64_t count, cap;
} sked_i_clause_list;

typedef struct sked_i_clause_level {
    int64_t begin, list; /* sizes of trail and list when it was opened */
    int64_t stamp;       /* last conflict whose clause had a literal of the level */
} sked_i_clause_level;

typedef struct sked_i_clause_stats {
    int64_t conflicts, decisions, propagations; /* propagations: trail entries followed */
    int64_t restarts, learnt, reduced;          /* clauses stored, and forgotten again */
} sked_i_clause_stats;

struct sked_i_clause_solver {
    sked_i_arena memory;      /* also for what propagators keep: until the solver is destroyed */
    int32_t n_vars, n_starts; /* variables 0 .. n_starts - 1 are start times */
    int32_t *low, *root;      /* [views] now, and with no decisions */
    int64_t *latest;          /* [views] last trail entry, -1: root */
    sked_i_clause_entry *trail;
    int64_t trail_count, trail_cap, queue;
    sked_i_clause_level *levels; /* [level + 1] */
    int64_t level_cap;
    int32_t level;    /* decisions now */
    sked_i_lit *list; /* explanations given at once */
    int64_t list_count, list_cap;
    int32_t *arena; /* clauses: size, glue, then literals as pairs */
    int64_t arena_count, arena_cap;
    int64_t *learnt; /* offsets */
    int64_t learnt_count, learnt_cap, learnt_limit;
    int64_t n_kept; /* of them never forgotten */
    /* Watches of a view lie in buckets by threshold, so that a rise visits only what it makes false. */
    sked_i_clause_list *watch;        /* [watch_at[views]] sked_i_clause_watch */
    int64_t *watch_at;                /* [views + 1] first bucket */
    int32_t *watch_low, *watch_shift; /* [views] bucket of threshold t: (t - low) >> shift */
    sked_i_clause_arc *arc;
    int64_t arc_count, arc_cap;
    sked_i_clause_list *arcs_of; /* [views] watched arcs, to look at when this view rises */
    sked_i_clause_propagator *propagator;
    int64_t n_propagators, propagator_cap, follower; /* follower: the one that follows, -1 */
    sked_i_clause_list *told;                        /* [vars] int32_t: propagators to call when it moves */
    /* conflict analysis */
    sked_i_lit *conflict;
    int64_t conflict_count, conflict_cap;
    int32_t *need; /* [views] value wanted, where needed[view] */
    uint8_t *needed;
    int32_t *touched; /* [views] */
    int32_t touched_count;
    sked_i_lit *clause; /* [views + 1] the clause being learnt */
    /* search */
    sked_i_activity activity;       /* open variables */
    int32_t objective;              /* variable decided last, -1: none */
    int32_t decide_from, decide_to; /* others are never decided: their least values are a solution then */
    int32_t *phase;                 /* [vars] value in the last solution, or where to look first */
    bool has_phase;
    sked_i_clause_stats stats;
    int64_t work, work_end; /* propagation done so far, and where to pause: the clock of parallel rounds */
    sked_i_rng rng;
    /* clauses of few levels for other solvers of the same model: size, then literals, as pairs of words */
    bool shares;
    sked_i_lit *outbox;
    int64_t outbox_count, outbox_cap;
    bool refuted; /* no solution exists, and that stays so */
    bool failed;  /* out of memory: everything ends */
};

/* What a search may use, and where it begins. */
typedef struct sked_i_clause_budget {
    const sked_i_lit *assume; /* tried as the first decisions, in this order */
    int32_t n_assume;
    bool by_time;              /* decide the earliest start first, each as early as it can be */
    int64_t conflicts;         /* at most */
    const sked_i_limit *limit; /* asked at every decision; NULL: none */
    bool (*over)(void *self);  /* asked after every conflict: true ends the search; NULL: none */
    void *self;
} sked_i_clause_budget;

SKED_MUST_CHECK sked_status sked_i_clause_create(int32_t n_vars, int32_t n_starts, uint64_t seed,
                                                 sked_i_clause_solver **out, sked_error *err);
void sked_i_clause_destroy(sked_i_clause_solver *s);
/* At the root only. false: no memory (s->failed) or no value left. */
bool sked_i_clause_root_bound(sked_i_clause_solver *s, sked_i_lit l);
static inline bool sked_i_clause_root_range(sked_i_clause_solver *s, int32_t var, int32_t low, int32_t high)
{
    return sked_i_clause_root_bound(s, (sked_i_lit){2 * var, low}) &&
           sked_i_clause_root_bound(s, (sked_i_lit){2 * var + 1, -high});
}
/* to >= from + offset when `when`. Both directions are propagated, and `when` is refuted. */
bool sked_i_clause_add_arc(sked_i_clause_solver *s, int32_t from_var, int32_t to_var, int32_t offset,
                           sked_i_lit when);
/*
 * self must stay (s->memory is a place for it); *number (may be NULL) is the propagator's number. It is due
 * at once, and whenever a variable moves that tell names. false: no memory (s->failed).
 */
bool sked_i_clause_add_propagator(sked_i_clause_solver *s, sked_i_clause_propagator p, int32_t *number);
bool sked_i_clause_tell(sked_i_clause_solver *s, int32_t number, int32_t var);
/*
 * Searches until a solution (then low[2x] is the value of x and the caller calls sked_i_clause_restart), a
 * proof that none exists at all or under the assumptions, or the end of the budget or of s->work_end. The
 * answer REFUTED is final. What was learnt stays. Back at the root unless FOUND.
 */
sked_i_verdict sked_i_clause_solve(sked_i_clause_solver *s, const sked_i_clause_budget *budget);
void sked_i_clause_restart(sked_i_clause_solver *s);
/* Orders variables at random before the first conflict: another search of the same space. */
void sked_i_clause_perturb(sked_i_clause_solver *s);
/*
 * Adds a clause that every solution must satisfy, at the root, once every variable has its bounds. glue: the
 * less, the longer it is kept. false: as import.
 */
enum { sked_i_clause_for_ever = -1 }; /* a glue */
bool sked_i_clause_add(sked_i_clause_solver *s, const sked_i_lit *l, int32_t size, int32_t glue);
/*
 * Takes over the root bounds and the outbox of another solver of the same model whose objective is bounded
 * no tighter. Both at the root, after a first solve. false: no solution is left, or no memory (s->failed).
 */
bool sked_i_clause_import(sked_i_clause_solver *s, const sked_i_clause_solver *from);

/* ------------------------------------------------------------------ for propagators */

static inline bool sked_i_clause_true(const sked_i_clause_solver *s, sked_i_lit l)
{
    return s->low[l.view] >= l.value;
}
static inline bool sked_i_clause_false(const sked_i_clause_solver *s, sked_i_lit l)
{
    return s->low[l.view ^ 1] >= 1 - l.value;
}
/* The bound of a view before a trail entry. O(later entries of the view). */
static inline int32_t sked_i_clause_low_before(const sked_i_clause_solver *s, int32_t view, int64_t entry)
{
    int32_t low = s->low[view];
    for (int64_t k = s->latest[view]; k >= entry; k = s->trail[k].prev)
        low = s->trail[k].old;
    return low;
}

/* May the search decide it? */
static inline bool sked_i_clause_decides(const sked_i_clause_solver *s, int32_t var)
{
    return var >= s->decide_from && var < s->decide_to;
}

/* A conflict is a list of literals that hold and cannot hold together. */
void sked_i_clause_conflict_begin(sked_i_clause_solver *s);
void sked_i_clause_conflict_add(sked_i_clause_solver *s, int32_t view, int32_t value);
/* One more literal of an explanation; a LIST reason then names where they begin and how many they are. */
void sked_i_clause_explain(sked_i_clause_solver *s, int32_t view, int32_t value);
/* A new lower bound of a view; false on conflict. */
bool sked_i_clause_raise(sked_i_clause_solver *s, int32_t view, int32_t value, sked_i_clause_reason reason);
/* The same for what the explanation that began at s->list[ref] implies. */
static inline bool sked_i_clause_raise_listed(sked_i_clause_solver *s, sked_i_lit l, int64_t ref)
{
    return sked_i_clause_raise(s, l.view, l.value,
                               (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_LIST,
                                                      .count = (int32_t)(s->list_count - ref),
                                                      .ref = ref});
}

/* ------------------------------------------------------------------ inside: clause.c and clause_search.c */

enum { sked_i_clause_header = 2 }; /* words before the literals of a clause */

static inline sked_i_lit *sked_i_clause_literals(const sked_i_clause_solver *s, int64_t clause)
{
    return (sked_i_lit *)(void *)(s->arena + clause + sked_i_clause_header);
}
/* Adds what implies l through this reason to the conflict list; l came or would come as trail entry `entry`.
 */
void sked_i_clause_add_reason(sked_i_clause_solver *s, sked_i_clause_reason reason, sked_i_lit l,
                              int64_t entry);
/* Everything that follows; false on conflict. */
bool sked_i_clause_propagate(sked_i_clause_solver *s);
/* Watch buckets for the root bounds there are now; once, before the first clause. */
bool sked_i_clause_layout(sked_i_clause_solver *s);
bool sked_i_clause_push_watch(sked_i_clause_solver *s, sked_i_lit watched, sked_i_lit blocker,
                              int64_t clause);
bool sked_i_clause_open_level(sked_i_clause_solver *s);
void sked_i_clause_back_to(sked_i_clause_solver *s, int32_t level);
/* Takes the last entry off the trail; back_to must follow. */
void sked_i_clause_undo(sked_i_clause_solver *s);
/* What holds with no decisions holds for ever: it leaves the trail. */
void sked_i_clause_settle(sked_i_clause_solver *s);
#endif
