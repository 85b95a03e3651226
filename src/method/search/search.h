/*
 * What the techniques of the method `search` share: one worker per thread with its decoders, its random
 * numbers and the best it has seen. Techniques are functions that improve a worker's best until they run
 * dry or their share of evaluations is used.
 */
#ifndef SKED_METHOD_SEARCH_SEARCH_H
#define SKED_METHOD_SEARCH_SEARCH_H
#include "engine/decode/justify.h"
#include "method/method.h"

#include <stdatomic.h>

/* Good schedules found on the way, for --candidates. Rows are allocated as they are needed. */
typedef struct sked_i_elite {
    int32_t count, capacity; /* capacity 0: not wanted */
    int32_t **start;         /* [capacity] rows of n */
    int32_t *cost;
    uint64_t *hash;
} sked_i_elite;

typedef struct sked_i_worker {
    sked_i_run *run;
    const sked_i_cumulative *problem;
    sked_i_limit limit;      /* a little earlier than the run's: the last offer takes time too */
    sked_i_justifier decode; /* decoders and justification */
    sked_i_rng rng;
    int64_t evaluations, max_evaluations; /* complete decodes */
    int32_t goal;                         /* makespans at or below this are optimal */
    atomic_int *halt;                     /* set by the worker that met the goal; NULL: never */
    bool proved;                          /* nothing is shorter than the best: by exhaustion */
    int32_t best;                         /* INT32_MAX: none */
    int32_t *best_start;                  /* [n] */
    int32_t least_cost;                   /* of anything seen, valid or not */
    const int32_t *seed;                  /* [n] starts to begin with, NULL: none */
    sked_i_elite elite;
    /* The first worker runs on the caller's thread and offers as it goes. */
    bool leads;
    int32_t published;   /* makespan last offered */
    double next_publish; /* clock */
    sked_status status;  /* first failure */
    sked_error error;
} sked_i_worker;

/* True when the worker must return what it has. Offers news now and then; call it once per evaluation. */
bool sked_i_worker_over(sked_i_worker *w);
/* Takes note of a schedule: cost is its makespan, or more than any makespan where it is not valid. */
void sked_i_worker_see(sked_i_worker *w, int32_t cost, const int32_t *start);

/* Forward-backward improvement, counted. start is changed in place; returns the makespan. */
static inline int32_t sked_i_worker_justify(sked_i_worker *w, int32_t makespan, int32_t *start)
{
    const int64_t before = w->decode.evaluations;
    makespan = sked_i_justify(&w->decode, makespan, start);
    w->evaluations += w->decode.evaluations - before;
    return makespan;
}

/* Genetic search on activity lists (population.c). NULL: no memory. */
typedef struct sked_i_population sked_i_population;
sked_i_population *sked_i_population_create(sked_i_worker *w);
void sked_i_population_destroy(sked_i_population *p);
/* Goes on for about so many evaluations. False: hardly any different schedules exist, more is useless. */
bool sked_i_population_run(sked_i_population *p, int64_t evaluations);
/* Adds a schedule found elsewhere. */
void sked_i_population_add(sked_i_population *p, int32_t cost, const int32_t *start);
/* Starts of a random member of this cost. False: there is none. */
bool sked_i_population_draw(sked_i_population *p, int32_t cost, int32_t *start);

/*
 * The techniques in turn (portfolio.c), each with a share of the effort that grows with its success, until
 * the worker is over or nothing is left to find. False: no memory.
 */
bool sked_i_portfolio_run(sked_i_worker *w);
#endif
