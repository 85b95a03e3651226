/*
 * The method `gaus`: policy over the Gaussian relaxation of engine/gaus (docs/methods/gaus.md).
 *
 *   gaus.c       options and quick starts
 *   pipelined.c  initiation interval and horizon
 *   rounds.c     rounds of descents and polish, and the hands that make them
 *   items.c      what the items of a round are, and what each does
 */
#ifndef SKED_METHOD_GAUS_GAUS_H
#define SKED_METHOD_GAUS_GAUS_H
#include "engine/gaus/gaus_relaxation.h"
#include "method/hands.h"

/* The options of a run, read once. */
typedef struct sked_i_gaus_settings {
    int starts;   /* descents of the first round; 0: no descent */
    int patience; /* rounds without progress before it stops */
    bool polish;
    double sweeps, heat;       /* of the polish */
    int32_t steps, every;      /* as the user has them, whatever the backend makes of them in: */
    sked_i_gaus_tuning tuning; /* one thread, no goal */
} sked_i_gaus_settings;

/* So many times the steps, and as many between legalisations. */
void sked_i_gaus_lengthen(sked_i_gaus_tuning *t, int32_t times);
/* By how much a value fell; a first schedule gains nothing. */
static inline double sked_i_gaus_gain(double before, double after)
{
    return before < INFINITY && after < before ? before - after : 0;
}

/*
 * A quick method's schedule to start from, in a share of the time left; one that does not take the problem or
 * finds nothing is no error.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_quick_start(sked_i_run *run, const char *method, double share,
                                                    sked_error *err);
/* pipelined.c: settles interval and horizon, then runs rounds. */
SKED_MUST_CHECK sked_status sked_i_gaus_run_horizon(sked_i_run *run, const sked_i_gaus_settings *set,
                                                    sked_error *err);

/* ------------------------------------------------------------------ rounds */

/* A start, a descent from it, and a polish of what that found. */
typedef struct sked_i_gaus_item {
    int start;       /* kind of start, SKED_I_GAUS_START_* */
    bool from_best;  /* starts from the incumbent of the rounds instead */
    bool varied;     /* other rate and sigmas than those of the same start before it */
    bool means_only; /* it descends without Gaussians */
    bool descend;
    double sweeps, heat; /* of the polish; no sweeps: no polish */
    /* results */
    sked_i_gaus_incumbent best;
    double gradient; /* its value before the polish */
} sked_i_gaus_item;

/* What one technique has done since the last tally. */
typedef struct sked_i_gaus_effort {
    int64_t calls, evaluations;
    double seconds;
} sked_i_gaus_effort;

typedef struct sked_i_gaus_worker {
    sked_i_hand hand;
    sked_i_arena arena;
    sked_i_gaus_legaliser *legaliser;
    double *mu;          /* [n] where Gaussians start from */
    double *means;       /* [n] those that descend alone */
    int64_t evaluations; /* schedules made since the last tally */
    int64_t steps;       /* gradient steps likewise */
    sked_i_gaus_effort descent, polish;
    sked_i_gaus_effort means_alone; /* what of the descents was on the means alone */
    sked_i_gaus_effort regions;     /* what of the polish moved whole regions */
    sked_i_value_curve curve;       /* what its items find in this round */
} sked_i_gaus_worker;

typedef struct sked_i_gaus_rounds {
    sked_i_arena arena;
    sked_i_hands hands; /* the workers */
    sked_i_run *run;
    const sked_i_gaus_settings *set;
    const sked_i_relaxation *model;
    sked_i_gaus_tuning tuning;
    int more_patience;       /* rounds without progress beyond those of the settings */
    int starts;              /* descents of the first round; prepare may lower it */
    int threads, most;       /* workers; items of a round at most */
    int round, count;        /* items of this round */
    double share;            /* of the time left: what this round may take */
    double deadline;         /* of this round */
    sked_i_gaus_item *items; /* [most] */
    sked_i_gaus_incumbent best;
    const double *list; /* [n] starts of a schedule for the first round, NULL: none */
    double *near;       /* [n] starts of least communication, where they stand for list; NULL: they do not */
    bool alone;         /* the means descend without Gaussians, for want of time or of use */
    bool polishes;      /* not even these: the incumbent is polished from the start */
    double gradient;    /* best value that a descent alone gave */
    int best_start;     /* the kind of start that led to the incumbent */
} sked_i_gaus_rounds;

static inline sked_i_gaus_worker *sked_i_gaus_worker_at(const sked_i_gaus_rounds *r, int k)
{
    return (sked_i_gaus_worker *)r->hands.hand[k];
}

/*
 * Runs rounds until the time, the bound, the iterations or the patience ends them. Threads take the items of
 * a round in turn; what they found is compared in the order of the items, so a seed and a number of threads
 * give one result.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_run_rounds(sked_i_run *run, const sked_i_gaus_settings *set,
                                                   const sked_i_relaxation *m, sked_error *err);
/* Offers the incumbent of the rounds to the run. */
SKED_MUST_CHECK sked_status sked_i_gaus_offer_best(sked_i_gaus_rounds *r, sked_error *err);

/* ------------------------------------------------------------------ items */

/* A schedule becomes the incumbent of the rounds where it is one of this model, and better. */
bool sked_i_gaus_adopt(sked_i_gaus_rounds *r, const sked_schedule *s);
/* The first incumbent, and how many starts the time allows. */
SKED_MUST_CHECK sked_status sked_i_gaus_prepare(sked_i_gaus_rounds *r, sked_error *err);
/* Sets r->count <= r->most, r->share, and what every item does in round r->round. */
void sked_i_gaus_plan(sked_i_gaus_rounds *r);
/* Item `index` of this round: start, descent, polish. The rounds do not change meanwhile. */
SKED_MUST_CHECK sked_status sked_i_gaus_run_item(const sked_i_gaus_rounds *r, sked_i_gaus_worker *w,
                                                 int index, sked_error *err);
/* The note. why: what stopped the rounds. */
void sked_i_gaus_explain(const sked_i_gaus_rounds *r, const char *why);
#endif
