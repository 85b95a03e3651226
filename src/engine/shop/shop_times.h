/* One solution of a disjunctive problem: orders per machine, heads, tails, topological order. */
#ifndef SKED_ENGINE_SHOP_SHOP_TIMES_H
#define SKED_ENGINE_SHOP_SHOP_TIMES_H
#include "base/arena.h"
#include "base/rng.h"
#include "form/shop.h"

/* One solution with its times. */
typedef struct sked_i_shop {
    sked_i_arena arena;
    const sked_i_shop_model *model;
    double *head, *tail;         /* [n + 1] earliest start; from start to the end of all that follows */
    double *job_head, *job_tail; /* [n + 1] the same over graph edges alone (one arc), for estimates */
    int32_t *before, *after;     /* [n + 1] neighbours on the machine, n: none */
    int32_t *order, *at;         /* [n] topological order and its inverse */
    int32_t *moved;              /* [n] scratch */
    uint8_t *mark;               /* [n + 1] scratch, all 0 between calls */
    double makespan;
} sked_i_shop;

/* A relocation on one machine: u right after v (forward), or v right before u; u runs before v. */
typedef struct sked_i_shop_move {
    int32_t u, v;
    bool forward;
} sked_i_shop_move;

SKED_MUST_CHECK sked_status sked_i_shop_create(const sked_i_shop_model *m, sked_i_shop **out,
                                               sked_error *err);
void sked_i_shop_destroy(sked_i_shop *s);
/* Takes machine orders; false (and undefined times) where they contradict the graph. O(ops + edges). */
bool sked_i_shop_load(sked_i_shop *s, const int32_t *sequence);
void sked_i_shop_save(const sked_i_shop *s, int32_t *sequence);
/* Random semi-greedy orders. scratch: [2 n + machines], ready: [n + machines]. */
void sked_i_shop_random(const sked_i_shop_model *m, sked_i_rng *rng, int32_t *scratch, double *ready,
                        int32_t *sequence);
/* Changes orders and topological order, not the times. false: it would close a cycle, nothing changed. */
bool sked_i_shop_relocate(sked_i_shop *s, sked_i_shop_move move);
/* Recomputes heads from position `first` and tails from position `last` of the topological order. */
void sked_i_shop_times(sked_i_shop *s, int32_t first, int32_t last);
/* Certainly acyclic, by heads and tails (sufficient, nearly necessary on critical blocks). */
bool sked_i_shop_allows(const sked_i_shop *s, sked_i_shop_move move);
/* Longest path through the moved ops after the move, nearly: Balas and Vazacopoulos. O(ops moved over). */
double sked_i_shop_estimate(const sked_i_shop *s, sked_i_shop_move move);
/* One critical path, random where there are several; path: [n], first op first. Returns its length. */
int32_t sked_i_shop_critical(const sked_i_shop *s, sked_i_rng *rng, int32_t *path);
#endif
