/* A trained or growing model: parameters, and the optimiser's memory of their gradients. */
#ifndef SKED_ENGINE_NETWORK_SAMPLER_H
#define SKED_ENGINE_NETWORK_SAMPLER_H
#include "backend/loss_kind.h"
#include "engine/network/log_z.h"

enum { SKED_I_SAMPLER_BLOCKS = 3 }; /* parameters and both moments */
struct sked_sampler {
    sked_i_layout layout;
    float *parameter; /* [layout.total], and the moments behind them: one block */
    float *moment1;   /* Adam's means of gradient and squared gradient */
    float *moment2;
    int64_t steps;         /* updates so far */
    int32_t largest;       /* ops of the largest graphs it has learnt from; 0: not known */
    int32_t epochs, epoch; /* Adam's steps of an update, and those of the one under way */
    sked_i_loss_id loss;   /* of the last training */
    sked_i_log_z *log_z;   /* trajectory balance: what it learns beside the policy; or NULL */
    uint64_t seed;
    double rate; /* learning rate before warm-up and decay */
    int64_t
        anneal; /* updates in which it falls to a hundredth, linearly; 0: it falls as the square root says */
};

SKED_MUST_CHECK sked_status sked_i_sampler_create(const sked_i_sizes *sizes, sked_sampler **out,
                                                  sked_error *err);
/* A model from the bytes of its file (checkpoint.c); `name` stands for the file in messages. */
SKED_MUST_CHECK sked_status sked_i_sampler_parse(const char *name, const char *bytes, int64_t size,
                                                 sked_sampler **out, sked_error *err);
/*
 * What the learnt part of a logit counts on a graph of so many ops, the rest is list scheduling: 1 up to the
 * largest of training, then less. On real networks ten times as large the network alone was up to 30 % worse
 * than the rule.
 */
double sked_i_sampler_trust(const sked_sampler *m, int32_t ops);
/* Initial values from the seed. */
void sked_i_sampler_start(sked_sampler *m, uint64_t seed);
/*
 * Weights that lie `share` of the way from the model's start to what it has learnt. Below 1 they do better on
 * kinds of graphs that were not learnt from, at little cost on the others (Wortsman and others 2022, for
 * images).
 */
SKED_MUST_CHECK sked_status sked_i_sampler_blend(sked_sampler *m, double share, sked_error *err);
/* What Adam (Kingma and Ba 2015, default constants, bias correction) does with gradient g of a parameter w:
 * m1 = b1 m1 + (1 - b1) g,  m2 = b2 m2 + (1 - b2) g g,  w -= rate (m1 / left1) / (sqrt(m2 / left2) + 1e-8).
 */
typedef struct sked_i_adam {
    double b1, b2, left1, left2, rate;
} sked_i_adam;
/* The numbers of the model's next step, the one after model->steps others. */
sked_i_adam sked_i_sampler_adam(const sked_sampler *m);
/* Of all n numbers, in lanes of a fixed order. */
double sked_i_gradient_norm(int64_t n, const float *gradient);
/* The step with cut * gradient for the parameters first to end - 1; m->steps stays. */
void sked_i_sampler_step(sked_sampler *m, const sked_i_adam *a, const float *gradient, double cut,
                         int64_t first, int64_t end);
/* A step of Adam was made: the last one of an update completes it. */
void sked_i_sampler_advance(sked_sampler *m);
/* Of the next step: it rises over the first 100, then falls with the square root of the steps after some
 * thousands, or as m->anneal says. */
double sked_i_sampler_rate(const sked_sampler *m);
/* The same without warm-up, by what it is at the start. */
double sked_i_sampler_decay(const sked_sampler *m);
/* Trajectory balance from now on: a head of log Z, if there is none yet. */
SKED_MUST_CHECK sked_status sked_i_sampler_open_log_z(sked_sampler *m, sked_error *err);
/* One step of Adam for the head. */
void sked_i_sampler_step_log_z(sked_sampler *m, const sked_i_adam *a, const double *gradient);
#endif
