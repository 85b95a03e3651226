/*
 * Hands: the workers of a method, one a thread. They work in stretches; between these only the caller's
 * thread runs, and what they did is taken in the order of their numbers, so that results do not depend on
 * timing. For proofs, descents, refinements, sides of a portfolio; a crew (crew.h) is hands that search for
 * solutions.
 *
 * Embed sked_i_hand as the first member of a worker.
 */
#ifndef SKED_METHOD_HANDS_H
#define SKED_METHOD_HANDS_H
#include "method/method.h"

typedef struct sked_i_hands sked_i_hands;

/* The common part of a worker. */
typedef struct sked_i_hand {
    sked_i_hands *hands;
    int index;
    sked_i_run *run;    /* its own (one thread) where the hands are apart, else that of all */
    sked_status status; /* of its last stretch */
    sked_error error;
    sked_i_share share; /* where the hands are apart */
    sked_i_arena own;   /* arrays of the worker, freed after close */
} sked_i_hand;

/* The first five are the user's to set. */
struct sked_i_hands {
    sked_i_run *run;
    bool apart;  /* each offers into a run of its own, joined after each stretch */
    size_t size; /* bytes of a worker */
    /* A new worker, its common part ready, the rest zero. close is called after a failure, too; NULL:
     * neither. */
    sked_status (*open)(sked_i_hand *hand, sked_error *err);
    void (*close)(sked_i_hand *hand);
    void *owner;        /* what the workers share, for the user alone */
    sked_i_hand **hand; /* [count] */
    int count;
    sked_status (*work)(sked_i_hand *hand, sked_error *err); /* of this stretch */
};

/* Opens workers until there are `count`. After a failure those opened before stay. */
SKED_MUST_CHECK sked_status sked_i_hands_fill(sked_i_hands *h, int count, sked_error *err);
/*
 * One stretch: work(hand) for the first `count` hands, each on a thread of its own (count = 1: on the
 * caller's). Where they are apart, each learns first what the run knows, and the run takes over what each has
 * found. The first failure by number is the result; nothing of later hands is taken over then.
 */
SKED_MUST_CHECK sked_status sked_i_hands_work(sked_i_hands *h, int count,
                                              sked_status (*work)(sked_i_hand *hand, sked_error *err),
                                              sked_error *err);
void sked_i_hands_close(sked_i_hands *h);
#endif
