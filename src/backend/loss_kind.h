/*
 * The losses that a sampler is trained by, of the trajectories of one problem; batch.h of the method has the
 * formulas.
 */
#ifndef SKED_BACKEND_LOSS_KIND_H
#define SKED_BACKEND_LOSS_KIND_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum sked_i_loss_id {
    SKED_I_LOSS_VARIANCE, /* the spread of zeta, the paper's: no log Z is needed */
    SKED_I_LOSS_TB,       /* trajectory balance (Malkin and others 2022): zeta against a learned log Z */
    SKED_I_LOSS_PPO       /* proximal policy optimisation (Schulman and others 2017) of the same reward */
} sked_i_loss_id;
#define SKED_I_LOSS_CHOICES "variance|tb|ppo"

typedef struct sked_i_loss {
    sked_i_loss_id kind;
    double log_z;   /* tb: of this graph, machine and temperature */
    bool by_steps;  /* a step answers for what follows it, not for the whole trajectory (batch.h) */
    double lambda;  /* by_steps: what counts of the step after next, and so on */
    double clip;    /* ppo: a ratio of probabilities counts from 1 - clip to 1 + clip */
    double entropy; /* ppo: what a nat of the mean entropy of a step is worth */
} sked_i_loss;

/*
 * PPO: from log R of the trajectories of a batch to what the ratio of a step of each counts in the loss
 * (batch.h), -A(s) by the number of all steps; in place.
 */
static inline void sked_i_advantages(int32_t count, int32_t steps, double *reward)
{
    double mean = 0, square = 0;
    for (int32_t k = 0; k < count; k++)
        mean += reward[k] / count;
    for (int32_t k = 0; k < count; k++)
        square += (reward[k] - mean) * (reward[k] - mean) / count;
    const double unit = (1 + sqrt(square)) * count * steps;
    for (int32_t k = 0; k < count; k++)
        reward[k] = (mean - reward[k]) / unit;
}
#endif
