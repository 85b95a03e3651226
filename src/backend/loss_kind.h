/*
 * The losses that a sampler is trained by, of the trajectories of one problem; batch.h of the method has the
 * formulas.
 */
#ifndef SKED_BACKEND_LOSS_KIND_H
#define SKED_BACKEND_LOSS_KIND_H

typedef enum sked_i_loss_id {
    SKED_I_LOSS_VARIANCE, /* the spread of zeta, the paper's: no log Z is needed */
    SKED_I_LOSS_TB,       /* trajectory balance (Malkin and others 2022): zeta against a learned log Z */
    SKED_I_LOSS_PPO       /* proximal policy optimisation (Schulman and others 2017) of the same reward */
} sked_i_loss_id;
#define SKED_I_LOSS_CHOICES "variance|tb|ppo"

typedef struct sked_i_loss {
    sked_i_loss_id kind;
    double log_z;   /* tb: of this graph, machine and temperature */
    double clip;    /* ppo: a ratio of probabilities counts from 1 - clip to 1 + clip */
    double entropy; /* ppo: what a nat of the mean entropy of a step is worth */
} sked_i_loss;
#endif
