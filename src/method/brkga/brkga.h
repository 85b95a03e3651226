/*
 * `brkga`: biased random-key genetic algorithm (Goncalves and Resende, Journal of Heuristics 17, 2011).
 *
 *   brkga.c    populations, islands, the method
 *   decoder.c  from random keys to a schedule
 */
#ifndef SKED_METHOD_BRKGA_BRKGA_H
#define SKED_METHOD_BRKGA_BRKGA_H
#include "engine/decode/justify.h"
#include "engine/sequence/sequence.h"
#include "method/method.h"

/* In the order of the options' choices. */
enum { SKED_I_DECODE_MIXED, SKED_I_DECODE_SERIAL, SKED_I_DECODE_PARALLEL, SKED_I_DECODE_INSERTION };
enum { SKED_I_WEIGH_MIXED, SKED_I_WEIGH_PATH, SKED_I_WEIGH_KEY };

/*
 * The problem as keys in 0..1: one per op for its priority, where devices differ one more per op for its
 * device, then one that chooses the decoder and one that says what a priority key means. Shared by threads.
 */
typedef struct sked_i_brkga_space {
    const sked_problem *problem;
    int32_t n, keys;
    int decoder, weigh; /* options */
    bool justify;
    sked_i_cumulative *c; /* devices all alike; else NULL and */
    sked_i_sequencing *l;
    double *level; /* [n] bottom level as a share of the largest; numbered as c or l */
} sked_i_brkga_space;

SKED_MUST_CHECK sked_status sked_i_brkga_space_create(const sked_problem *p, const sked_i_costs *c,
                                                      sked_i_brkga_space **out, sked_error *err);
void sked_i_brkga_space_destroy(sked_i_brkga_space *k);
/* Keys that decode to a schedule like s, up to rounding of ties. */
void sked_i_brkga_space_express(const sked_i_brkga_space *k, const sked_schedule *s, float *key);
/* Keys of the plain rule: largest bottom level first, devices by earliest finish. which: 0..2 decoder. */
void sked_i_brkga_space_rule(const sked_i_brkga_space *k, int which, float *key);
/* Heterogeneous devices: everything on the one device that takes the least time for it. */
void sked_i_brkga_space_single(const sked_i_brkga_space *k, float *key);

/* What keys were decoded to. */
typedef struct sked_i_brkga_decoded {
    int32_t *core_start; /* devices alike; else */
    double *start;
    int32_t *device;
    double late;   /* what fixed starts are missed by */
    double latest; /* finish; devices that differ */
} sked_i_brkga_decoded;

/* Decodes keys; one per thread. What was decoded last can be offered. */
typedef struct sked_i_brkga_decoder {
    sked_i_arena arena;
    const sked_i_brkga_space *space;
    sked_i_justifier justifier; /* devices alike */
    sked_i_placer *placer;
    int32_t *rank, *wish, *core_key;
    sked_i_keyed *sorter; /* [2 n] */
    sked_i_brkga_decoded at, kept;
    int32_t *label;
    int64_t evaluations;
    uint64_t hash;
    sked_status status;
    const sked_i_limit *limit;
} sked_i_brkga_decoder;

SKED_MUST_CHECK sked_status sked_i_brkga_decoder_open(sked_i_brkga_decoder *d,
                                                      const sked_i_brkga_space *space,
                                                      const sked_i_limit *limit, sked_error *err);
void sked_i_brkga_decoder_close(sked_i_brkga_decoder *d);
/* Makespan; more where fixed starts are missed; INFINITY where the limit was reached meanwhile. */
double sked_i_brkga_decoder_cost(sked_i_brkga_decoder *d, const float *key);
/* Keeps what was decoded last, in the place of what was kept before. O(ops). */
void sked_i_brkga_decoder_keep(sked_i_brkga_decoder *d);
/* What was kept is what was decoded last. O(ops). */
void sked_i_brkga_decoder_recall(sked_i_brkga_decoder *d);
/* Offers the schedule decoded last if it keeps horizon and fixed starts. */
SKED_MUST_CHECK sked_status sked_i_brkga_decoder_offer(const sked_i_brkga_decoder *d, sked_i_run *run,
                                                       sked_error *err);
#endif
