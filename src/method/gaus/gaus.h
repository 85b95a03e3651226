/*
 * The method `gaus`: policy over the Gaussian relaxations of engine/gaus (docs/methods/gaus.md).
 *
 *   gaus.c       options, quick starts, and which part takes the problem
 *   rounds.c     rounds of descents and polish: one driver, one table per relaxation
 *   steps.c      the table of the time-step relaxation
 *   devices.c    the table of the relaxation with devices
 *   pipelined.c  initiation interval and horizon
 *   kept.c       models that stay for the next turn in the same run
 */
#ifndef SKED_METHOD_GAUS_GAUS_H
#define SKED_METHOD_GAUS_GAUS_H
#include "engine/gaus/device.h"
#include "engine/gaus/incumbent.h"
#include "engine/gaus/steps.h"
#include "engine/gaus/tuning.h"
#include "method/method.h"

/* The options of a run, read once. */
typedef struct sked_i_gaus_settings {
    int starts;   /* descents of the first round; 0: no descent */
    int patience; /* rounds without progress before it stops */
    bool polish;
    double sweeps, heat;       /* of the polish */
    int32_t steps, every;      /* as the user has them, whatever the backend makes of them in: */
    sked_i_gaus_tuning tuning; /* one thread, no goal */
} sked_i_gaus_settings;

/* Threads of one evaluation where `jobs` descents run at a time: those left over, on graphs worth forking. */
int sked_i_gaus_threads(const sked_i_run *run, int jobs);
/*
 * Lowers *count, the descents at a time, to what has room on the backend. Where not one has: DEVICE, or the
 * CPU takes its place where the user left the choice to sked.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_fit(const sked_i_run *run, const sked_i_gaus_view *view,
                                            sked_i_gaus_tuning *tuning, int *count, sked_error *err);
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

/*
 * The first of `count` items of a rank among those of all ranks that make this run together, as if they were
 * one rank with as many items: ranks begin with different starts. Else 0.
 */
int sked_i_gaus_first_item(const sked_i_run *run, int count);
/* How many ranks make this run. */
int sked_i_gaus_ranks(const sked_i_run *run);

/* ------------------------------------------------------------------ models */

/*
 * The time-step model of this interval (0: not pipelined) and latest step, from an earlier turn where it is
 * the same. *out NULL with OK: the windows prove that nothing fits. It stays until another one is asked for.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_steps_model(sked_i_run *run, int64_t ii, int64_t latest,
                                                    const sked_i_gaus_model **out, sked_error *err);
/* The model with devices, likewise. It stays to the end of the run. */
SKED_MUST_CHECK sked_status sked_i_gaus_devices_model(sked_i_run *run, const sked_i_gaus_device_model **out,
                                                      sked_error *err);

/* ------------------------------------------------------------------ rounds */

typedef struct sked_i_gaus_rounds sked_i_gaus_rounds;

/* A start, a descent from it, and a polish of what that found. */
typedef struct sked_i_gaus_item {
    int start;       /* kind of start, in the relaxation's own numbers */
    bool from_best;  /* starts from the incumbent of the rounds instead */
    bool varied;     /* other rate and sigmas than those of the same start before it */
    bool means_only; /* time steps: it descends without Gaussians */
    bool descend;
    double below;        /* devices: horizon of the descent as a share of the incumbent's length */
    double sweeps, heat; /* of the polish; no sweeps: no polish */
    /* results */
    sked_i_gaus_incumbent best;
    double gradient; /* its value before the polish */
    double seconds;  /* of the descent */
} sked_i_gaus_item;

/* What one technique has done since the run was told. */
typedef struct sked_i_gaus_effort {
    int64_t calls, evaluations;
    double seconds;
} sked_i_gaus_effort;

typedef struct sked_i_gaus_worker {
    void *tools;         /* of the relaxation */
    int64_t evaluations; /* schedules made since the run was told */
    int64_t steps;       /* gradient steps likewise */
    sked_i_gaus_effort descent, polish;
    sked_i_gaus_effort means;   /* time steps: what of the descents was on the means alone */
    sked_i_gaus_effort regions; /* time steps: what of the polish moved whole regions */
    sked_i_value_curve curve;   /* what its items find in this round */
    sked_status status;
    sked_error error;
} sked_i_gaus_worker;

/* An item in progress, in a worker's thread: it reads the rounds but does not change them. */
typedef struct sked_i_gaus_task {
    const sked_i_gaus_rounds *rounds;
    sked_i_gaus_worker *worker;
    sked_i_gaus_item *item;
    sked_i_gaus_tuning tuning; /* of this descent; begin may change it */
    sked_i_limit limit;        /* of the phase in progress */
    sked_i_rng rng;
} sked_i_gaus_task;

/* One relaxation as the rounds see it. */
typedef struct sked_i_gaus_relaxation {
    const char *phase;       /* shown as progress */
    const char *polish_name; /* in the statistics */
    double descent_share;    /* of an item's time where a polish follows */
    bool needs_incumbent;    /* without a first schedule there is nothing to do */
    sked_status (*create_tools)(const sked_i_gaus_rounds *r, void **out, sked_error *err);
    void (*destroy_tools)(void *tools); /* NULL is fine */
    /* Sets the first incumbent and what else the first round needs; may lower r->starts. */
    sked_status (*prepare)(sked_i_gaus_rounds *r, sked_error *err);
    /* Sets r->count <= r->most and what every item does in round r->round. */
    void (*plan)(sked_i_gaus_rounds *r);
    /* item->best.value is INFINITY before begin. polish: only where item->sweeps > 0. */
    void (*begin)(sked_i_gaus_task *t);
    sked_status (*descend)(sked_i_gaus_task *t, sked_error *err);
    sked_status (*polish)(sked_i_gaus_task *t, sked_error *err);
    /* May the incumbent be offered? NULL: always. */
    bool (*offers)(const sked_i_gaus_rounds *r);
    /* Takes a valid schedule that another rank has found as incumbent, where the relaxation knows it and it
     * is better. */
    bool (*adopt)(sked_i_gaus_rounds *r, const sked_schedule *s);
    /* The note. why: what stopped the rounds. */
    void (*explain)(const sked_i_gaus_rounds *r, const char *why);
} sked_i_gaus_relaxation;

struct sked_i_gaus_rounds {
    /* set by the caller */
    sked_i_run *run;
    const sked_i_gaus_settings *set;
    const sked_i_gaus_relaxation *relaxation;
    const void *model; /* of the relaxation */
    sked_i_gaus_tuning tuning;
    bool with_devices;         /* incumbents have devices */
    int more_patience;         /* rounds without progress beyond those of the settings */
    int32_t period;            /* initiation interval of the schedules, 0: not pipelined */
    int starts, threads, most; /* descents of the first round; workers; items of a round at most */
    /* kept by the rounds */
    int32_t n;
    int round, count;            /* items of this round */
    double share;                /* of the time left: what this round may take; plan may change it */
    sked_i_gaus_worker *workers; /* [threads] */
    sked_i_gaus_item *items;     /* [most] */
    sked_i_gaus_incumbent best;
    const double *list; /* [n] starts of a schedule for the first round, NULL: none */
    double first;       /* value of the quick schedules */
    double gradient;    /* best value that a descent alone gave */
    int best_start;     /* the kind of start that the incumbent goes back to */
    double deadline;    /* of this round */
};

/*
 * Runs rounds until the time, the bound, the iterations or the patience ends them. Threads take the items of
 * a round in turn; what they found is compared in the order of the items, so a seed and a number of threads
 * give one result.
 */
SKED_MUST_CHECK sked_status sked_i_gaus_rounds_run(sked_i_gaus_rounds *r, sked_error *err);
/* For prepare: offers the incumbent where the relaxation lets it. */
SKED_MUST_CHECK sked_status sked_i_gaus_rounds_offer(sked_i_gaus_rounds *r, sked_error *err);

/* ------------------------------------------------------------------ who takes which problem */

/* steps.c: loads, memory, communication within the model's horizon and interval. */
SKED_MUST_CHECK sked_status sked_i_gaus_run_steps(sked_i_run *run, const sked_i_gaus_settings *set,
                                                  const sked_i_gaus_model *m, sked_error *err);
/* devices.c: objective makespan with devices, or with times that are not whole. */
SKED_MUST_CHECK sked_status sked_i_gaus_run_devices(sked_i_run *run, const sked_i_gaus_settings *set,
                                                    sked_error *err);
/* pipelined.c: settles interval and horizon; then steps. */
SKED_MUST_CHECK sked_status sked_i_gaus_run_horizon(sked_i_run *run, const sked_i_gaus_settings *set,
                                                    sked_error *err);
#endif
