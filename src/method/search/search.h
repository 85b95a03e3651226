/*
 * The method `search` and the forms it searches in: cumulative (portfolio.c), device sequences (transfer.c)
 * and shops (disjunctive.c). Each form has a crew of its own kind, kept for the method's next turn in a run.
 */
#ifndef SKED_METHOD_SEARCH_SEARCH_H
#define SKED_METHOD_SEARCH_SEARCH_H
#include "engine/decode/justify.h"
#include "method/crew.h"

/* A worker on the cumulative form: decoders and the techniques in turn. */
typedef struct sked_i_search_worker {
    sked_i_crew_worker base; /* a solution: starts [n] in core time */
    const sked_i_cumulative *problem;
    sked_i_justifier decode;
    struct sked_i_portfolio *portfolio; /* NULL: not begun */
    const int32_t *seed;                /* [n] keys of a schedule found elsewhere, NULL: none */
} sked_i_search_worker;

/* Makespan of the incumbent, INT32_MAX: none. */
static inline int32_t sked_i_search_best(const sked_i_search_worker *w)
{
    return w->base.best < INT32_MAX ? (int32_t)w->base.best : INT32_MAX;
}
/* Takes note of a schedule: cost is its makespan, or more than any makespan where it is not valid. */
void sked_i_search_see(sked_i_client *client, int32_t cost, const int32_t *start);

/*
 * The techniques in turn, each with a share of the effort that grows with its success. It can go on in a
 * later turn.
 */
typedef struct sked_i_portfolio sked_i_portfolio;
/* Its techniques; search.c names them. */
enum { SKED_I_SEARCH_GENETIC, SKED_I_SEARCH_LEARNING, SKED_I_SEARCH_WINDOWS, SKED_I_SEARCH_TECHNIQUES };
/* In the worker's arena. NULL: no memory. */
sked_i_portfolio *sked_i_portfolio_create(sked_i_search_worker *w);
void sked_i_portfolio_close(sked_i_portfolio *p); /* NULL is fine */
/* Until the worker is over or nothing is left to find. False: no memory. */
bool sked_i_portfolio_run(sked_i_portfolio *p);
/* Before a later turn: a population that no longer improves begins again. Returns whether. */
bool sked_i_portfolio_renew(sked_i_portfolio *p);
#endif
