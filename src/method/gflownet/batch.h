/*
 * A mini-batch: trajectories of one graph at one temperature, and their loss (backend/loss.h). By default
 * that is the log-partition variance loss
 *
 *     L = mean over s of h(zeta(s) - c),   h(r) = r^2 up to |r| = bound, then 2 bound |r| - bound^2,
 *
 * for the c that makes it least; without a bound c is mean zeta. A cold reward may put a trajectory thousands
 * of nats below the others: with the bound of Huber it counts, but no more than others do. Trajectory balance
 * is the same with a c that is given. PPO, with r the ratio of P_F of a step to what it was when the step was
 * drawn and H the entropy of the choices there, is
 *
 *     L = -mean over s and its steps of (min(r A(s), cut(r) A(s)) + entropy * H),
 *     A(s) = (log R(s) - mean log R) / (1 + deviation of log R).
 *
 * Credit by steps (variance, ppo): step t of a drawn trajectory answers for
 *
 *     G_t = sum over u >= t of lambda^(u - t) * (log R(u) - log R(u - 1) + log P_B(u) - log P_F(u)),
 *
 * log R(u) that of the makespan that step u leaves possible (partial.h), log R itself in the end; PPO leaves
 * the probabilities out. The slope of its log P_F is -2 / size * h'(G_t - mean of G_t over the batch) / 2.
 * With lambda 1 the expected gradient is that of the loss: what lies before a step does not depend on it.
 * Below 1 noise falls, and what a step does to steps far behind it counts only where the outlook shows it.
 *
 * A backward policy then learns by maximum likelihood of what was drawn, the mean of log P_B. With the loss
 * itself it would make the trajectories of good schedules unlikely: each is seen once, the others that lead
 * to it take the rest.
 *
 * The reward comes at the end of a schedule and every trajectory of the batch begins at the same state, so
 * the mean of the batch is what a critic would have to learn to say there, and no other network is needed.
 * Rewards that differ by less than a nat are left as they are: there the bonus for entropy may win.
 *
 * Every trajectory has random numbers of its own. Gradients are summed in parts, one trajectory after the
 * other, and the parts are added in order: results do not depend on threads. Most trajectories lie in some
 * long parts, the others in short ones, by which threads end at about the same time.
 */
#ifndef SKED_METHOD_GFLOWNET_BATCH_H
#define SKED_METHOD_GFLOWNET_BATCH_H
#include "base/arena.h"
#include "method/gflownet/loss.h"
#include "method/gflownet/policy.h"

enum { SKED_I_BATCH_LONG = 16, SKED_I_BATCH_PARTS = 40 };

/* What the parts do now. */
typedef struct RN(batch_pass) {
    bool replay, greedy, single; /* single: gradients of the trajectories as they are drawn */
    int32_t listed;
    uint64_t seed, first;
    const real *slope; /* [size]: add gradients; NULL: none */
    /* How the walkers fare. */
    sked_error error[SKED_I_BATCH_PARTS];
    sked_status status[SKED_I_BATCH_PARTS];
    int32_t failed[SKED_I_BATCH_PARTS]; /* the trajectory, where status is not OK */
    bool walks[SKED_I_BATCH_PARTS];     /* atomic: a thread has the walker */
    /* And the parts. */
    int32_t left[SKED_I_BATCH_PARTS]; /* atomic: trajectories that are not walked yet; below 0 counts as 0 */
    bool taken[SKED_I_BATCH_PARTS];   /* atomic: a thread adds to its gradient */
} RN(batch_pass);

typedef struct RN(batch) {
    sked_i_arena arena;
    const RN(policy) * policy;
    int32_t size, parts;
    int32_t longs, share; /* the first parts, which have so many trajectories each */
    int threads;          /* that walk at once at most: one walker for each */
    double bound; /* INFINITY where gradients are taken in a single pass, which needs a plain square */
    sked_i_loss loss;
    double centre; /* of the loss whose gradient is taken */
    sked_i_clipping ppo;
    double *log_step;              /* [size * ops] PPO: log P_F of every step as it was drawn */
    double *advantage;             /* [size] likewise, room for them */
    double *step;                  /* [3 * size * ops] credit by steps: of the trajectories */
    sked_i_trajectory *trajectory; /* [size] */
    int32_t *steps;                /* ops and devices of all of them */
    real *slope;                   /* [size] of the loss, by log P_F - log P_B */
    double *zeta;                  /* [size] room for them */
    RN(batch_pass) pass;
    bool gradients;
    RN(walker) * walker[SKED_I_BATCH_PARTS];   /* [threads] NULL: it has no memory yet */
    RN(gradient) gradient[SKED_I_BATCH_PARTS]; /* [parts] likewise, as the next two */
    /* Single pass: sums of gradients of log P_F - log P_B, plain and times (zeta - zeta of the part's first).
     */
    RN(gradient) plain[SKED_I_BATCH_PARTS], weighed[SKED_I_BATCH_PARTS];
} RN(batch);

/* gradients: some will be taken. */
SKED_MUST_CHECK sked_status RN(batch_create)(const RN(policy) * p, int32_t size, int threads, bool gradients,
                                             RN(batch) * *out, sked_error *err);
void RN(batch_destroy)(RN(batch) * b);
/*
 * New trajectories for the prepared policy: the first `listed` from randomised list scheduling, the others
 * drawn from it (or, with greedy, its likeliest). Trajectory k takes its random numbers from stream
 * first + k of the seed. STOPPED where the instance's limit came first: the makespan of trajectories that are
 * not complete is NAN.
 */
SKED_MUST_CHECK sked_status RN(batch_sample)(RN(batch) * b, int32_t listed, bool greedy, uint64_t seed,
                                             uint64_t first, sked_error *err);
/* The same trajectories again: log-probabilities under the parameters of now. */
SKED_MUST_CHECK sked_status RN(batch_replay)(RN(batch) * b, sked_error *err);
/* From now on; a new batch has the variance loss. MEMORY: the loss is as before. */
SKED_MUST_CHECK sked_status RN(batch_set_loss)(RN(batch) * b, const sked_i_loss *loss, sked_error *err);
/* Loss of the trajectories as last walked (PPO: with a gradient); *centre gets c, the estimate of log Z. */
double RN(batch_loss)(const RN(batch) * b, double *centre);
/* Trajectory balance: the derivative of the loss by log Z. 0 for others, which do not learn it. */
double RN(batch_pull)(const RN(batch) * b);
/* Mean speedup of the trajectories that were drawn from the policy, after `listed` others (or of all). */
double RN(batch_speedup)(const RN(batch) * b, int32_t listed);
/*
 * One update's worth, in pieces for callers with threads of their own: new trajectories as batch_sample draws
 * them, and the gradient of their loss. In this order, what is called "pieces" at once on any threads:
 *
 *     batch_draw; pieces batch_walk, as many as b->threads; batch_check
 *     batch_second, and where that says so: pieces batch_walk, likewise; batch_check
 *     pieces batch_gather(0..count - 1 of any count); the way back of gradient[0] (policy.h)
 *
 * A policy of single_pass walks once: the gradient of a trajectory is taken as it is drawn, and with g(s) for
 * it
 *
 *     dL = -2 / size * (sum over s of zeta(s) g(s) - mean zeta * sum over s of g(s))
 */
void RN(batch_draw)(RN(batch) * b, int32_t listed, uint64_t seed, uint64_t first);
/*
 * Walks trajectories until there is none that another thread is not at. thread: 0 or more, and where it can
 * be the same one for both passes: it begins with what it may have in its cache. Without gradients any thread
 * takes any trajectory, with them those of one part after another.
 */
void RN(batch_walk)(RN(batch) * b, int thread);
/* How the walks ended. */
SKED_MUST_CHECK sked_status RN(batch_check)(const RN(batch) * b, sked_error *err);
/* The trajectories are drawn. true: their gradients take a second pass. */
bool RN(batch_second)(RN(batch) * b);
/* Instead of drawing: the second pass once more, of the same trajectories under the parameters of now. */
void RN(batch_again)(RN(batch) * b);
/* Adds the parts up in gradient[0], piece by piece of its block. */
void RN(batch_gather)(RN(batch) * b, int32_t piece, int32_t count);
/* Memory for parts and walkers, ahead, in pieces 0 to parts + threads - 1; else it is made by the first
 * thread that needs it. */
SKED_MUST_CHECK sked_status RN(batch_open)(RN(batch) * b, int32_t piece, sked_error *err);
/* Frees it, in count pieces; all of it is made again where it is needed once more. */
void RN(batch_close)(RN(batch) * b, int32_t piece, int32_t count);
#endif
