/* Pools as propagators of the clause-learning kernel: time table, and now and then an energy check. */
#ifndef SKED_ENGINE_CLAUSE_POOL_H
#define SKED_ENGINE_CLAUSE_POOL_H
#include "engine/clause/clause.h"

typedef struct sked_i_clause_task {
    int32_t var, duration;
    double demand;
} sked_i_clause_task;

typedef struct sked_i_clause_block {
    int32_t begin, end;
    double load;
} sked_i_clause_block;

typedef struct sked_i_clause_pool {
    double capacity;
    int32_t count;
    sked_i_clause_task *task;    /* largest demand first */
    int32_t *by_begin, *by_end;  /* orders by latest start, earliest finish; kept nearly sorted */
    int32_t *by_last, *by_mixed; /* by latest finish, and by latest plus earliest finish */
    int64_t asked, found;        /* energy checks, and overloads they found */
    sked_i_clause_block *block;  /* [2 count] scratch */
} sked_i_clause_pool;

/*
 * At no time may the demands of running tasks exceed the capacity. The tasks must stay (s->memory is a place
 * for them); they are sorted. false: no memory (s->failed).
 */
bool sked_i_clause_add_pool(sked_i_clause_solver *s, double capacity, sked_i_clause_task *task,
                            int32_t count);

/* Some interval holds more work than the pool has room for: false, and the conflict says why (energy.c).
 * Needs the orders of a finished time-table pass. */
bool sked_i_clause_energy(sked_i_clause_solver *s, void *pool);
#endif
