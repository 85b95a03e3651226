/*
 * The draws of one run of sked_sampler_sample: the schedules they become (draws.c), and how a GPU
 * makes them (draws_gpu.c). sample.c decides what is drawn.
 */
#ifndef SKED_METHOD_GFLOWNET_DRAWS_H
#define SKED_METHOD_GFLOWNET_DRAWS_H
#include "engine/network/sampler.h"
#include "method/gflownet/batch.h"
#include "method/gflownet/gflownet_gpu.h"
#include "schedule/schedule.h"

/* Draws of one problem as they come: for it, or for machines that it may have. */
typedef struct sked_i_drawing {
    const sked_sampler *model;
    const sked_problem *problem;
    const sked_sample_options *opt;
    const sked_i_limit *limit;
    const sked_i_gpu_policy *policy; /* where there is a GPU model */
    sked_i_gpu_model *gpu;           /* NULL: the CPU */
    const sked_i_costs *costs;
    sked_samples *out;
    double zeta, square; /* sums over the draws of one part */
    double *zetas;       /* [draws wanted] */
    int32_t first_part;  /* draws of the first one, over all ranks */
    bool together;       /* ranks share the draws: those of others are left out, count passes over them */
    bool stopped;
} sked_i_drawing;

/* Trajectories that become the schedules from number `first` of the samples on. */
typedef struct sked_i_taking {
    sked_i_drawing *drawing;
    const sked_i_instance *instance;
    const sked_i_trajectory **drawn; /* [count] */
    int32_t first, count;
    int threads;
    sked_status *status; /* [threads] */
    sked_error *error;   /* [threads] */
} sked_i_taking;

/* Draws up to number `until` at one temperature. */
typedef struct sked_i_rung {
    double temperature;
    int32_t until;
    bool greedy; /* the likeliest action at every step */
} sked_i_rung;
enum { sked_i_most_rungs = 4 };

/* Notes the complete ones of `count` trajectories of a temperature. */
void sked_i_taking_note(sked_i_taking *t, double temperature, int32_t count,
                        const sked_i_trajectory *trajectory);
/* Schedules of the trajectories in t->drawn, on as many threads as are worth their start. */
SKED_MUST_CHECK sked_status sked_i_taking_make(sked_i_taking *t, sked_error *err);
/* Reports progress; whether there is more to draw, and time for it. */
bool sked_i_drawing_goes_on(const sked_sample_options *opt, const sked_i_limit *limit, int32_t done,
                            int32_t total);
/*
 * The draws of a machine from `first` to `end`: at the temperature given, or parts by kappa, each colder, and
 * where temperature is 0 the likeliest schedule as the last. How many parts: at most sked_i_most_rungs.
 */
int sked_i_drawing_rungs(const sked_i_drawing *d, const sked_i_instance *x, int32_t first, int32_t end,
                         sked_i_rung *out);
/* What the first `count` draws, those of a part, say of log Z. */
void sked_i_drawing_spread(sked_i_drawing *d, int32_t count);
/* The GPU of the chosen backend, with the model there; none where the CPU is chosen. */
SKED_MUST_CHECK sked_status sked_i_drawing_open(sked_i_drawing *d, sked_error *err);
void sked_i_drawing_close(sked_i_drawing *d);
/* The draws of a machine, all temperatures side by side; large numbers of draws piece by piece. */
SKED_MUST_CHECK sked_status sked_i_drawing_on_gpu(sked_i_drawing *d, const sked_i_instance *x, int32_t first,
                                                  int32_t end, int32_t total, sked_error *err);
#endif
