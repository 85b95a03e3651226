/* Schedules for guesses: members run on the problem as a guess has it. */
#ifndef SKED_ROBUST_MAKE_H
#define SKED_ROBUST_MAKE_H
#include "robust/candidates.h"
#include "robust/robust.h"

/* Members of the loop, in the order of their turns. */
#define SKED_I_LOOP_MEMBERS(X) \
    X(SEARCH, "search")        \
    X(BRKGA, "brkga")          \
    X(GFLOWNET, "gflownet")
enum {
#define SKED_X(name, text) SKED_I_LOOP_##name,
    SKED_I_LOOP_MEMBERS(SKED_X)
#undef SKED_X
        SKED_I_LOOP_COUNT
};

typedef struct sked_i_maker {
    const sked_i_robust_run *run;
    const sked_i_model *model;
    bool refuses[SKED_I_LOOP_COUNT];  /* the member does not take the problem */
    int64_t asked[SKED_I_LOOP_COUNT]; /* schedules asked for */
    double seconds[SKED_I_LOOP_COUNT];
    uint64_t turn;
} sked_i_maker;

/* Their labels. */
extern const char *const sked_i_maker_names[SKED_I_LOOP_COUNT];
/*
 * Members make schedules for `guesses` guesses (the mean of all, then draws by weight) in about `seconds`
 * (INFINITY: until their iterations end), and the candidates take them in. Where no member takes the problem:
 * the first cause. candidates: predictions are those of b.
 */
SKED_MUST_CHECK sked_status sked_i_maker_turn(sked_i_maker *m, sked_i_candidate_set *candidates,
                                              const sked_i_belief *b, int guesses, double seconds,
                                              sked_i_rng *rng, sked_error *err);
#endif
