/*
 * A small constraint solver that learns from conflicts (lazy clause generation, Ohrimenko, Stuckey, Codish
 * 2009; for scheduling Schutt, Feydy, Stuckey, Wallace 2011), on bounds of integer variables only.
 *
 * Every variable x has two views: 2x stands for x and 2x + 1 for -x, so that all reasoning is about lower
 * bounds of views. A literal (view, value) says view >= value; its negation is (view ^ 1, 1 - value). Values
 * stay within +-2^30, so sums of two fit.
 */
#ifndef SKED_ENGINE_CP_CP_H
#define SKED_ENGINE_CP_CP_H
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"

#include <math.h>

typedef struct sked_i_lit {
    int32_t view, value;
} sked_i_lit;

static inline sked_i_lit sked_i_lit_not(sked_i_lit l)
{
    return (sked_i_lit){l.view ^ 1, 1 - l.value};
}
#define SKED_I_LIT_NONE ((sked_i_lit){-1, 0})
enum { sked_i_cp_limit = 1 << 30 }; /* values stay within +- this */

/* Why a bound holds: the literals in the reason imply it. */
typedef struct sked_i_cp_reason {
    enum { SKED_I_CP_DECISION, SKED_I_CP_ARC, SKED_I_CP_CLAUSE, SKED_I_CP_LIST } kind;
    int32_t count; /* LIST */
    int64_t ref;   /* arc, clause offset, list offset */
} sked_i_cp_reason;

typedef struct sked_i_cp_entry {
    int32_t view, value, old, level;
    int64_t prev; /* earlier entry of the same view, -1: root */
    sked_i_cp_reason reason;
} sked_i_cp_entry;

/* to >= from + offset whenever `when` holds (view -1: always). */
typedef struct sked_i_cp_arc {
    int32_t from, to, offset;
    sked_i_lit when;
} sked_i_cp_arc;

typedef struct sked_i_cp_watch {
    int32_t threshold; /* the watched literal is false once the list's view reaches this */
    int32_t blocker_view, blocker_value;
    int64_t clause;
} sked_i_cp_watch;

typedef struct sked_i_cp_list {
    void *data;
    int64_t count, cap;
} sked_i_cp_list;

/* Ops on one pool: at no time may the demands of running ops exceed the capacity. */
typedef struct sked_i_cp_task {
    int32_t var, duration;
    double demand;
} sked_i_cp_task;
typedef struct sked_i_cp_pool {
    double capacity;
    int32_t count;
    sked_i_cp_task *task;        /* largest demand first */
    int32_t *by_begin, *by_end;  /* orders by latest start, earliest finish; kept nearly sorted */
    int32_t *by_last, *by_mixed; /* by latest finish, and by latest plus earliest finish */
    bool dirty, unchecked;       /* time-table, energy */
    int64_t asked, found;        /* energy checks, and overloads they found */
} sked_i_cp_pool;

typedef struct sked_i_cp {
    int32_t n_vars, n_pools, n_starts; /* variables 0 .. n_starts - 1 are start times */
    int32_t *low, *root;               /* [views] now, and with no decisions */
    int64_t *latest;                   /* [views] last trail entry, -1: root */
    sked_i_cp_entry *trail;
    int64_t trail_count, trail_cap, queue;
    int64_t *level_begin, *level_list; /* trail and list sizes at the start of each level */
    int64_t *level_stamp;              /* last conflict whose clause had a literal of the level */
    int64_t level_cap, level_cap2, level_cap3;
    int32_t level;
    sked_i_lit *list; /* explanations of pools */
    int64_t list_count, list_cap;
    int32_t *arena; /* clauses: size, glue, then literals as pairs */
    int64_t arena_count, arena_cap;
    int64_t *learnt; /* offsets */
    int64_t learnt_count, learnt_cap, learnt_limit;
    /* Watches of a view lie in buckets by threshold, so that a rise visits only what it makes false. */
    sked_i_cp_list *watch;            /* [watch_at[views]] sked_i_cp_watch */
    int64_t *watch_at;                /* [views + 1] first bucket */
    int32_t *watch_low, *watch_shift; /* [views] bucket of threshold t: (t - low) >> shift */
    sked_i_cp_arc *arc;
    int64_t arc_count, arc_cap;
    sked_i_cp_list *arcs_of; /* [views] int64_t: arcs to look at when this view rises */
    sked_i_cp_pool *pool;
    sked_i_cp_list *pools_of; /* [vars] int32_t */
    /* conflict analysis */
    sked_i_lit *conflict;
    int64_t conflict_count, conflict_cap;
    int32_t *need; /* [views] value wanted, where needed[view] */
    uint8_t *needed;
    int32_t *touched; /* [views] */
    int32_t touched_count;
    sked_i_lit *clause; /* the clause being learned */
    int64_t clause_cap;
    /* search */
    double *activity, bump;
    int32_t objective; /* variable decided last, -1: none */
    int32_t *heap, *heap_at, heap_count;
    int32_t *phase; /* [vars] value in the last solution or attempt */
    bool has_phase;
    int64_t conflicts, decisions;
    int64_t work, work_end; /* propagation done so far, and where to pause: the clock of parallel rounds */
    sked_i_rng rng;
    /* clauses of few levels for other solvers of the same model: size, then literals, as pairs of words */
    bool shares;
    sked_i_lit *outbox;
    int64_t outbox_count, outbox_cap;
    /* pools' scratch */
    struct sked_i_cp_block *block;
    bool failed; /* out of memory: everything ends */
} sked_i_cp;

typedef enum sked_i_cp_answer { SKED_I_CP_SAT, SKED_I_CP_UNSAT, SKED_I_CP_UNKNOWN } sked_i_cp_answer;

SKED_MUST_CHECK sked_status sked_i_cp_create(int32_t n_vars, int32_t n_starts, uint64_t seed, sked_i_cp **out,
                                             sked_error *err);
void sked_i_cp_destroy(sked_i_cp *cp);
/* At the root only. false: no memory (cp->failed) or no value left. */
bool sked_i_cp_root_bound(sked_i_cp *cp, sked_i_lit l);
/* to >= from + offset when `when`. Both directions are propagated, and `when` is refuted. */
bool sked_i_cp_add_arc(sked_i_cp *cp, int32_t from_var, int32_t to_var, int32_t offset, sked_i_lit when);
/* Takes the tasks over. */
bool sked_i_cp_add_pool(sked_i_cp *cp, double capacity, sked_i_cp_task *task, int32_t count);
/*
 * Searches until a solution (then low[2x] is the value of x and the caller calls sked_i_cp_restart), a proof
 * that none exists, the number of conflicts, work_end, or the limit. assume: tried as the first decision;
 * where it is refuted the root bounds say so and the answer is UNKNOWN. The answer UNSAT is final.
 */
sked_i_cp_answer sked_i_cp_solve(sked_i_cp *cp, sked_i_lit assume, bool by_time, int64_t conflicts,
                                 const sked_i_limit *limit);
void sked_i_cp_restart(sked_i_cp *cp);
/* Orders variables by lot before the first conflict: another search of the same space. */
void sked_i_cp_shake(sked_i_cp *cp);
/*
 * Takes over the root bounds and the outbox of another solver of the same model whose objective is bounded
 * no tighter. Both at the root, after a first solve. false: no solution is left, or no memory (cp->failed).
 */
bool sked_i_cp_import(sked_i_cp *cp, const sked_i_cp *from);

/* ------------------------------------------------------------------ inside: what the cp*.c files share */

enum { sked_i_cp_header = 2 }; /* words before the literals of a clause */

static inline bool sked_i_cp_true(const sked_i_cp *cp, sked_i_lit l)
{
    return cp->low[l.view] >= l.value;
}
static inline bool sked_i_cp_false(const sked_i_cp *cp, sked_i_lit l)
{
    return cp->low[l.view ^ 1] >= 1 - l.value;
}
static inline sked_i_lit *sked_i_cp_literals(sked_i_cp *cp, int64_t clause)
{
    return (sked_i_lit *)(void *)(cp->arena + clause + sked_i_cp_header);
}

/* A conflict is a list of literals that hold and cannot hold together. */
void sked_i_cp_conflict_begin(sked_i_cp *cp);
void sked_i_cp_conflict_add(sked_i_cp *cp, int32_t view, int32_t value);
/* Adds what implies view >= value through this reason to the conflict list. */
void sked_i_cp_add_reason(sked_i_cp *cp, sked_i_cp_reason reason, int32_t value);
/* One more literal of an explanation; a LIST reason then names where they begin and how many they are. */
void sked_i_cp_explain(sked_i_cp *cp, int32_t view, int32_t value);
/* A new lower bound of a view; false on conflict. */
bool sked_i_cp_raise(sked_i_cp *cp, int32_t view, int32_t value, sked_i_cp_reason reason);
/* Everything that follows; false on conflict. */
bool sked_i_cp_propagate(sked_i_cp *cp);
/* Time-table (cp_pool.c); false on conflict. */
bool sked_i_cp_pool_propagate(sked_i_cp *cp, sked_i_cp_pool *pool);
/* False: some interval is overfull (cp_energy.c). Needs the orders of a finished pool_propagate. */
bool sked_i_cp_pool_energy(sked_i_cp *cp, sked_i_cp_pool *pool);

/* Watch buckets for the root bounds there are now; once, before the first clause. */
bool sked_i_cp_layout(sked_i_cp *cp);
bool sked_i_cp_push_watch(sked_i_cp *cp, sked_i_lit watched, sked_i_lit blocker, int64_t clause);
bool sked_i_cp_open_level(sked_i_cp *cp);
void sked_i_cp_back_to(sked_i_cp *cp, int32_t level);
/* What holds with no decisions holds for ever: it leaves the trail. */
void sked_i_cp_settle(sked_i_cp *cp);
/* The variable may be decided again (cp_search.c). */
void sked_i_cp_wake(sked_i_cp *cp, int32_t var);
#endif
