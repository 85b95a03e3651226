/*
 * Bounds by alternatives: a view is at least the least of view + offset over the options that are not
 * excluded. Heads and tails of ops that may run on several devices are such bounds. One propagator holds all
 * of them; it is the one that follows the trail.
 */
#ifndef SKED_ENGINE_CLAUSE_CHOICE_H
#define SKED_ENGINE_CLAUSE_CHOICE_H
#include "engine/clause/clause.h"

typedef struct sked_i_clause_option {
    sked_i_lit on; /* excluded where this is false */
    int32_t view, offset;
} sked_i_clause_option;

typedef struct sked_i_clause_choices sked_i_clause_choices;

/* In the solver's memory. NULL: no memory. */
sked_i_clause_choices *sked_i_clause_choices_create(sked_i_clause_solver *s);
/*
 * target >= min(most, least option). In every solution some option holds, or none bounds the target: then
 * `most` must be in its range. Options are copied. false: no memory.
 */
bool sked_i_clause_choices_add(sked_i_clause_choices *c, int32_t target, int32_t most,
                               const sked_i_clause_option *option, int32_t count);
/* Adds the propagator. No more may be added. false: no memory (s->failed). */
bool sked_i_clause_choices_plug(sked_i_clause_choices *c);
#endif
