/*
 * A crew: hands that search, each with engines of its own, until the time, the evaluations or the goal ends
 * them. What they found is offered in the order of the workers, so that results do not depend on timing.
 *
 * There are two kinds of crew. Where `again` is NULL, each worker works until it is over; the first one runs
 * on the caller's thread and offers its incumbent now and then. Otherwise workers work in rounds, and the
 * best incumbent of all is offered between rounds.
 *
 * A crew is kept for the next turn of its method in the same run (sked_i_run_keep): workers, engines and
 * incumbents stay, and further workers are opened where the next turn has more threads. Between turns nothing
 * in it points to a run.
 *
 * Embed sked_i_crew as the first member of what the workers share, and sked_i_crew_worker as the first member
 * of a worker.
 */
#ifndef SKED_METHOD_CREW_H
#define SKED_METHOD_CREW_H
#include "engine/client.h"
#include "method/hands.h"

#include <stdatomic.h>
#include <stddef.h>

typedef struct sked_i_crew sked_i_crew;
typedef struct sked_i_crew_worker sked_i_crew_worker;

enum { SKED_I_CREW_TECHNIQUES = 4 };

typedef struct sked_i_crew_kind {
    const char *phase; /* for progress */
    size_t worker_size;
    const char *technique[SKED_I_CREW_TECHNIQUES]; /* names for statistics; NULL: no more */
    /* A new worker, its common part ready, the rest zero. close is called after a failure, too; NULL:
     * hand.own holds all there is. */
    sked_status (*open)(sked_i_crew_worker *w, sked_error *err);
    void (*close)(sked_i_crew_worker *w);
    /* A worker of an earlier turn: others may have found a better incumbent. NULL: the crew is never kept. */
    sked_status (*resume)(sked_i_crew_worker *w, sked_error *err);
    /* On the worker's own thread: works until sked_i_crew_over, or to the end of the round. */
    void (*work)(sked_i_crew_worker *w);
    /* Offers a solution to crew->run, or leaves it where it breaks a limit. */
    sked_status (*offer)(sked_i_crew_worker *w, const void *solution, sked_error *err);
    uint64_t (*hash)(sked_i_crew_worker *w, const void *solution); /* NULL: no elites are kept */
    sked_status (*again)(sked_i_crew *crew, bool *more,
                         sked_error *err);                     /* one more round? NULL: no rounds */
    sked_status (*finish)(sked_i_crew *crew, sked_error *err); /* last offers; NULL: none */
} sked_i_crew_kind;

/* Effort and success of one technique. */
typedef struct sked_i_crew_tally {
    int64_t calls, evaluations;
    double seconds, gain;
} sked_i_crew_tally;

/* Good solutions found on the way, for candidates. Rows are allocated as they are needed. */
typedef struct sked_i_crew_elites {
    int32_t count, capacity; /* capacity 0: not wanted */
    int32_t worst;
    double bar;   /* only lower costs are kept */
    void **row;   /* [capacity] solutions */
    double *cost; /* [capacity] */
    uint64_t *hash;
} sked_i_crew_elites;

/* The common part of a worker. Costs are doubles: exact for int32_t costs. */
struct sked_i_crew_worker {
    sked_i_hand hand;
    sked_i_client client; /* what its engines know of it */
    sked_i_crew *crew;
    sked_i_limit limit;      /* a little earlier than the run's: the last offer takes time too */
    int64_t max_evaluations; /* client.evaluations ends here */
    int64_t counted;         /* of client.evaluations, reported to the run */
    double goal;             /* costs at or below this cannot be improved */
    bool cut;                /* as of the crew, of its own starts */
    bool proved;             /* nothing costs less than the incumbent: by exhaustion */
    double best;             /* cost of the incumbent, INFINITY: none */
    void *incumbent;         /* [crew->size] */
    double least;            /* cost of anything seen, valid or not */
    double published;        /* cost last offered */
    double next_publish;     /* clock */
    sked_i_crew_elites elites;
    sked_i_value_curve curve; /* its incumbents, where the run learns of them only later: no rounds */
    sked_i_crew_tally tally[SKED_I_CREW_TECHNIQUES];
};

struct sked_i_crew {
    const sked_i_crew_kind *kind;
    sked_i_arena own;                /* arrays that the workers share */
    void (*drop)(sked_i_crew *crew); /* frees what else they share; NULL: nothing */
    size_t size;                     /* bytes of a solution */
    double scale;                    /* cost = time * scale */
    bool whole;                      /* and times are whole numbers */
    double reserve;                  /* seconds set aside until the first offer shows what one costs */
    double last_offers;              /* at the end of a turn; 1 unless many members are offered then */
    int64_t clock_mask;              /* the clock is read where evaluations & clock_mask is 0 */
    bool fixed;                      /* starts are fixed: for messages */
    bool cut;                        /* the time was up before all starts were made: no proof of anything */
    sked_i_run *run;                 /* of this turn; NULL between turns */
    bool halts;                      /* the first worker to meet the goal ends all */
    atomic_int halt;
    double published; /* rounds: cost last offered */
    double goal;      /* of this turn */
    sked_i_hands hands;
    int active; /* workers of this turn */
};

static inline sked_i_crew_worker *sked_i_crew_worker_of(sked_i_client *client)
{
    return (sked_i_crew_worker *)((char *)client - offsetof(sked_i_crew_worker, client));
}

static inline sked_i_crew_worker *sked_i_crew_member(const sked_i_crew *crew, int k)
{
    return (sked_i_crew_worker *)crew->hands.hand[k];
}

/* Prepares a crew of zeros without workers, of costs = times and no reserve. size: bytes of a solution. */
void sked_i_crew_init(sked_i_crew *crew, const sked_i_crew_kind *kind, size_t size);
/* Workers first, then drop, then own. */
void sked_i_crew_close(sked_i_crew *crew);
/*
 * The crew that the method has kept in this run, or a new one of `size` bytes, all zero, that make fills and
 * the run keeps. drop is called after a failure, too.
 */
SKED_MUST_CHECK sked_status sked_i_crew_of_run(
    sked_i_run *run, size_t size, sked_status (*make)(sked_i_run *run, sked_i_crew *crew, sked_error *err),
    void (*drop)(sked_i_crew *crew), sked_i_crew **out, sked_error *err);
/*
 * One turn on run->options->threads threads. goal: a cost that cannot be improved; ignored where candidates
 * are wanted. Where `again` is NULL, the run's iterations are evaluations and are split among the workers.
 * INFEASIBLE: no solution was valid.
 */
SKED_MUST_CHECK sked_status sked_i_crew_run(sked_i_crew *crew, sked_i_run *run, double goal, sked_error *err);

/* Lower bound of the run as a cost, with room for rounding where times are not integers. */
double sked_i_crew_goal(const sked_i_crew *crew, const sked_i_run *run);

/* True when the worker must return what it has; the client's `over`. Offers news now and then. */
bool sked_i_crew_over(sked_i_client *client);
/* A stop leaves a moment, from `begin` on, to hand over candidates beside the incumbent: it is over. */
bool sked_i_crew_late(const sked_i_crew *crew, double begin);
/* Takes note of a valid solution, copied. */
void sked_i_crew_see(sked_i_crew_worker *w, double cost, const void *solution);
/* Would sked_i_crew_see keep it? */
static inline bool sked_i_crew_wants(const sked_i_crew_worker *w, double cost)
{
    return cost < w->best || cost < w->elites.bar;
}
/* The first failure stays. */
void sked_i_crew_fail(sked_i_crew_worker *w, sked_status status);

/* Statistics: what a technique did between begin and end. Two looks at the clock. */
typedef struct sked_i_crew_span {
    double clock, best;
    int64_t evaluations;
} sked_i_crew_span;
sked_i_crew_span sked_i_crew_begin(const sked_i_crew_worker *w);
void sked_i_crew_end(sked_i_crew_worker *w, int technique, sked_i_crew_span span);
#endif
