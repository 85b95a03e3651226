/* One search stream: tabu search from elite to elite. */
#ifndef SKED_ENGINE_SHOP_TABU_H
#define SKED_ENGINE_SHOP_TABU_H
#include "base/clock.h"
#include "engine/shop/shop_times.h"

enum { sked_i_shop_elites = 30 };

/* Tabu search on the blocks of critical paths; can be continued. */
typedef struct sked_i_shop_tabu {
    sked_i_arena arena;
    sked_i_shop *shop;
    sked_i_rng rng;
    int64_t *until; /* [pair_mask + 1]: up to this step the order (row before column) may not return */
    int64_t step, improved_at;
    int32_t tenure_low, tenure_span;
    int32_t *path;          /* [n] */
    int32_t *best_sequence; /* [n_members] of the current walk */
    double best;            /* its makespan */
    double target;          /* proven bound: nothing to gain below it */
} sked_i_shop_tabu;

SKED_MUST_CHECK sked_status sked_i_shop_tabu_init(sked_i_shop_tabu *t, const sked_i_shop_model *m,
                                                  uint64_t seed, uint64_t stream, sked_error *err);
void sked_i_shop_tabu_free(sked_i_shop_tabu *t);
/* A new walk from the shop's present solution. */
void sked_i_shop_tabu_begin(sked_i_shop_tabu *t);
/* Up to `steps` steps; false when the walk is stuck or has found the target. */
bool sked_i_shop_tabu_walk(sked_i_shop_tabu *t, int64_t steps, const sked_i_limit *limit);

typedef struct sked_i_shop_stream {
    sked_i_shop_tabu tabu;
    int32_t *elite[sked_i_shop_elites]; /* sequences */
    double value[sked_i_shop_elites];
    int32_t n_elites, size; /* size: how many this shop should have */
    int64_t patience;       /* steps without improvement that end a walk */
    int64_t idle;           /* walks since the elites last changed */
    bool walking;
    int32_t *scratch; /* [3 n + machines] */
    double *ready;    /* [n + machines] */
    int32_t *best;    /* sequence of the best solution of this stream */
    double best_value;
    int64_t steps_done, steps_allowed; /* steps_allowed 0: no limit */
    int64_t links;                     /* walks begun by path relinking so far ... */
    double link_seconds;               /* ... and the time of the relinking */
} sked_i_shop_stream;

SKED_MUST_CHECK sked_status sked_i_shop_stream_init(sked_i_shop_stream *s, const sked_i_shop_model *m,
                                                    uint64_t seed, uint64_t stream, sked_error *err);
void sked_i_shop_stream_free(sked_i_shop_stream *s);
/* Ends the walk and goes on from a known solution; ignored where it contradicts the graph. */
void sked_i_shop_stream_seed(sked_i_shop_stream *s, const int32_t *sequence);
/* About `steps` more tabu steps, fewer at the limit or the target. */
void sked_i_shop_stream_advance(sked_i_shop_stream *s, int64_t steps, const sked_i_limit *limit);
#endif
