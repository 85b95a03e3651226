/* What the rounds of the loop and the telling of its result share. */
#ifndef SKED_ROBUST_ROBUST_LOOP_H
#define SKED_ROBUST_ROBUST_LOOP_H
#include "base/file.h"
#include "robust/make.h"
#include "robust/record.h"

/* One measurement, in the order they were made. */
typedef struct sked_i_trial {
    sked_i_candidate *entry;
    double time; /* NAN: it failed, or was absurd */
    double deviation, expected, best;
    bool again, resumed;
} sked_i_trial;

typedef struct sked_i_rounds {
    const sked_i_robust_run *run;
    sked_i_model model;
    sked_i_belief belief;
    sked_i_candidate_set candidates;
    sked_i_maker maker;
    sked_i_append record; /* closed: nothing is written */
    sked_i_rng rng;
    sked_i_limit limit; /* a stop, no deadline */
    sked_i_trial *trial;
    int64_t trials, trials_cap;
    int64_t asked;          /* schedules that the target was asked for */
    double measuring;       /* seconds that do not count */
    double begin, learning; /* seconds: when it began; what the last update took */
    int32_t failures;
    char failure[1100]; /* why the last one failed */
    bool stale;         /* the guesses have not learnt from the last measurements */
    int noisy;          /* 1: measurements of one schedule differ, 0: they do not, -1: unknown */
} sked_i_rounds;

/* noise.c. Weighs the noise of measurements against the model, and estimates what was measured. */
void sked_i_rounds_weigh(sked_i_rounds *l);
/* Which of the best is to be measured again; NULL: none needs it, or the target repeats itself exactly. */
sked_i_candidate *sked_i_rounds_contender(const sked_i_rounds *l);
/* Members, measurements, parameters and the fitted machine. */
SKED_MUST_CHECK sked_status sked_i_rounds_tell(sked_i_rounds *l, sked_robust_result *r, sked_error *err);
#endif
