/*
 * Who learns: gradients of the lessons of an update, and Adam. One plain C table per kind, found by the
 * backend and the policy; train.c knows this header only, and no kind knows of files, progress or validation.
 *
 * An update is always this sequence of calls, from one thread:
 *
 *     start(lessons of the update)       the gradient of each lesson's loss at the parameters of now
 *     prefetch(lessons of the next one)  perhaps, and not always the next one
 *     finish(marks)                      waits; loss, log Z and norm of each
 *     add(gradient)                      only where several processes share an update
 *     update(gradient or NULL)           Adam
 *
 * and for PPO, model->epochs - 1 times, `again` in the place of start, for the same trajectories at the
 * parameters of now, with finish, add and update after it.
 *
 * fetch comes between updates only. Where start or finish fails (STOPPED included), or where train.c
 * rejects a norm, no update follows: the parameters are as before, and fetch gives those.
 *
 * The gradient of an update is
 *
 *     sum over its lessons, in order, of share * gradient,   share = min(1, clip / norm) / graphs,
 *
 * in single precision: gradient[i] += (float)share * g[i]. Several processes get the same bytes as one by
 * adding in the order of the lessons: each calls add on what the one with the lessons before it has summed,
 * and all update with the last sum.
 *
 * The norm of such a sum is at most clip but for rounding.
 *
 * Same model, settings and lessons: the same bytes, whatever threads and prefetch are.
 *
 * learner_cpu.c, learner_gpu.c: the second turns lessons into plain arrays for kernels of src/backend;
 * nothing there includes this folder.
 */
#ifndef SKED_METHOD_GFLOWNET_SAMPLER_LEARNER_H
#define SKED_METHOD_GFLOWNET_SAMPLER_LEARNER_H
#include "engine/network/sampler.h"
#include "method/gflownet/lesson.h"
#include "method/gflownet/loss.h"

enum { SKED_I_SPARE_LESSONS = 2 };
typedef struct sked_i_sampler_learner_settings {
    sked_i_loss_id loss;       /* the kind that every start has */
    double clip;               /* largest norm of a lesson's gradient */
    int graphs;                /* lessons of an update, over all processes */
    int lessons;               /* of them given to this learner: no start has more */
    int32_t batch, largest;    /* no lesson has more trajectories, or ops */
    int32_t devices;           /* nor more of these */
    int threads;               /* of the CPU that it may use */
    const sked_i_limit *limit; /* obeyed while it works; NULL: none */
    /* Makes a lesson of a coming update, or nothing where they are made: for threads that would wait, so
     * often for each lesson. NULL: nothing to do. */
    void (*spare)(void *data);
    void *spare_data;
} sked_i_sampler_learner_settings;

/* What became of a lesson. */
typedef struct sked_i_mark {
    double loss, log_z, norm; /* norm of the gradient before clipping */
    double speedup;           /* mean of the trajectories that were drawn */
    double pull;              /* tb: derivative of the loss by log Z */
    sked_i_log_z_input input; /* tb: input of the head; train.c's own */
} sked_i_mark;

typedef struct sked_i_sampler_learner_kind sked_i_sampler_learner_kind;
/* The first member of each kind's own structure. */
typedef struct sked_i_sampler_learner {
    const sked_i_sampler_learner_kind *kind;
} sked_i_sampler_learner;

struct sked_i_sampler_learner_kind {
    bool spares; /* it uses settings.spare. Else lessons are made by other threads, while this one computes */
    /* Measured: it is quicker than the CPU's. NULL: it is not asked. */
    bool (*worth)(const sked_i_layout *layout, const sked_i_sampler_learner_settings *how);
    /*
     * Begins with the model's parameters, moments and steps. The model stays the caller's and must outlive
     * the learner, which may keep everything in it or have its own copy elsewhere; model->rate and
     * model->seed are read, and model->steps is right after every update.
     */
    sked_status (*create)(sked_sampler *model, const sked_i_sampler_learner_settings *how,
                          sked_i_sampler_learner **out, sked_error *err);
    /* Waits for what is under way. The model has what the last fetch gave, or newer. */
    void (*destroy)(sked_i_sampler_learner *l);
    /* losses: [count] of the lessons. May return before anything is computed. The lessons stay until finish
     * has returned, for PPO the last one of the update. */
    sked_status (*start)(sked_i_sampler_learner *l, const sked_i_lesson *lessons, const sked_i_loss *losses,
                         int count, sked_error *err);
    /* PPO: as above. */
    sked_status (*again)(sked_i_sampler_learner *l, sked_error *err);
    /*
     * These lessons come in the next start (the same pointer and lessons[0].update), where one comes: upload
     * them, say, while the others are learnt. They stay until its finish. A failure shows in that start.
     * NULL: it has no use for them.
     */
    void (*prefetch)(sked_i_sampler_learner *l, const sked_i_lesson *lessons, int count);
    /* marks: [count] of start, all but the input. STOPPED where the limit came first; MEMORY, DEVICE, or BUG
     * where the policy gives no number. A norm may be NAN or infinite: the caller looks. */
    sked_status (*finish)(sked_i_sampler_learner *l, sked_i_mark *marks, sked_error *err);
    /* gradient[layout.total] += share * gradient of each lesson, in order. */
    sked_status (*add)(sked_i_sampler_learner *l, float *gradient, sked_error *err);
    /* One Adam step (sked_i_sampler_step) with this gradient[layout.total], or with the
     * sum over the lessons of the last start where it is NULL. May return before it is done. */
    sked_status (*update)(sked_i_sampler_learner *l, const float *gradient, sked_error *err);
    /* Parameters, moments and steps into the model. */
    sked_status (*fetch)(sked_i_sampler_learner *l, sked_error *err);
};
extern const sked_i_sampler_learner_kind sked_i_sampler_learner_cpu, sked_i_sampler_learner_gpu;

/*
 * The kind for what a user says: NULL or "auto", "cpu", "cuda" (sked_i_backend_choose). UNSUPPORTED where the
 * GPU has no kernels for a model of this kind (sked_i_gflownet_gpu_check); auto takes the CPU then.
 */
SKED_MUST_CHECK sked_status sked_i_sampler_learner_choose(const char *backend, const sked_i_layout *layout,
                                                          const sked_i_sampler_learner_settings *how,
                                                          const sked_i_sampler_learner_kind **out,
                                                          sked_error *err);
/* NULL: nothing to do. */
void sked_i_sampler_learner_destroy(sked_i_sampler_learner *l);
#endif
