/*
 * Genetic search on activity lists (Hartmann 1998; hybrid as in Valls, Ballestin, Quintanilla 2008): a child
 * takes the ends of its list from one parent and the middle from the other, every child is justified both
 * ways, and the list it leaves to its children is the order of its final starts.
 */
#ifndef SKED_ENGINE_POPULATION_POPULATION_H
#define SKED_ENGINE_POPULATION_POPULATION_H
#include "engine/client.h"
#include "engine/decode/justify.h"

typedef struct sked_i_population sked_i_population;

/* Called for every schedule: cost is its makespan, or more than any makespan where fixed starts are missed.
 */
typedef void sked_i_population_see(sked_i_client *client, int32_t cost, const int32_t *start);

/* In the arena; decode and client must stay. NULL: no memory. Memory O(ops * members). */
sked_i_population *sked_i_population_create(sked_i_arena *arena, sked_i_justifier *decode,
                                            sked_i_client *client, sked_i_population_see *see);
/* Goes on for about so many evaluations. False: hardly any different schedules exist, more is useless. */
bool sked_i_population_run(sked_i_population *p, int64_t evaluations);
/*
 * The next member to be made decodes ops in the order of these keys (starts of a schedule found elsewhere).
 * key: [n], must stay until then.
 */
void sked_i_population_seed(sked_i_population *p, const int32_t *key);
/* Justifies a valid schedule found elsewhere (start: [n], changed in place), sees and adds it. */
void sked_i_population_adopt(sked_i_population *p, int32_t *start);
/* Begins a new life where as many children as it has members have not improved it. Returns whether. */
bool sked_i_population_renew(sked_i_population *p);
/* Starts of a random member of this cost. False: there is none. */
bool sked_i_population_draw(sked_i_population *p, int32_t cost, int32_t *start);
#endif
