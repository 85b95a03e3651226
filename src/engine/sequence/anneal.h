/*
 * Annealing on device sequences, with moves around the critical path. The acceptance threshold is drawn
 * before a move is timed, so that most moves end as soon as some op shows that they exceed it. A cooling that
 * was interrupted can go on.
 */
#ifndef SKED_ENGINE_SEQUENCE_ANNEAL_H
#define SKED_ENGINE_SEQUENCE_ANNEAL_H
#include "engine/client.h"
#include "engine/sequence/sequence.h"

typedef struct sked_i_anneal sked_i_anneal;

/* Called for solutions that were accepted. */
typedef void sked_i_anneal_see(sked_i_client *client, const sked_i_sequence *s);

/*
 * One annealing, for one thread; form, client and limit must stay. see_all: it sees every solution, not only
 * those that are better than the one before. Schedules that take long to build obey the limit.
 */
SKED_MUST_CHECK sked_status sked_i_anneal_create(const sked_i_sequencing *form, sked_i_client *client,
                                                 sked_i_anneal_see *see, bool see_all,
                                                 const sked_i_limit *limit, sked_i_anneal **out,
                                                 sked_error *err);
void sked_i_anneal_destroy(sked_i_anneal *a);
/* Takes on a schedule (start and device: [n]). Not an evaluation, not seen. */
void sked_i_anneal_load(sked_i_anneal *a, const double *start, const int32_t *device);
/* The same, evaluated and seen. Returns its cost. */
double sked_i_anneal_try(sked_i_anneal *a, const double *start, const int32_t *device);
/* Takes on a new schedule: earliest finish in order of bottom level, blurred at random. */
void sked_i_anneal_build(sked_i_anneal *a);
/* A new cooling, from `hot` to `cold` in `length` evaluations. */
void sked_i_anneal_begin(sked_i_anneal *a, int64_t length, double hot, double cold);
/* Goes on with the cooling. False: the client said that it is over, or memory ran out. */
bool sked_i_anneal_run(sked_i_anneal *a);
/* MEMORY: it ran out on the way. */
sked_status sked_i_anneal_status(const sked_i_anneal *a);
#endif
