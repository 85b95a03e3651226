/*
 * An update of training shared by the ranks of sked_dist (sked_train_options: together). Each has some of the
 * lessons; gradients are added in the order of the lessons, one rank after the other, so that the model has
 * the same bytes whatever the number of ranks is. Ranks beyond the number of lessons only follow.
 */
#ifndef SKED_METHOD_GFLOWNET_SHARED_UPDATE_H
#define SKED_METHOD_GFLOWNET_SHARED_UPDATE_H
#include "method/gflownet/sampler_learner.h"

typedef struct sked_i_ranks {
    int lessons;      /* of an update, over all ranks */
    int first, count; /* those of this rank: none where there are more ranks than lessons */
    /* the rest is ranks.c's own */
    int sharing;     /* ranks that have lessons; 1: nothing is shared */
    float *gradient; /* [total] */
    int64_t total;
    struct sked_i_rank_report *reports; /* one a rank; NULL: the others know nothing of this training */
} sked_i_ranks;

/* What the user sees of an update: its first lesson. */
typedef struct sked_i_rank_view {
    int32_t ops;
    double temperature;
} sked_i_rank_view;

/* together: every rank opens one alike. Close it after a failure, too. */
SKED_MUST_CHECK sked_status sked_i_ranks_open(bool together, int lessons, int64_t total, sked_i_ranks *out,
                                              sked_error *err);
void sked_i_ranks_close(sked_i_ranks *r);
/*
 * Every rank says how its lessons ended: the first failure, one other than a stop if there is any, becomes
 * that of all. Otherwise marks[lessons], in which this rank has filled in its own, and the view of lesson 0
 * are complete on all.
 */
SKED_MUST_CHECK sked_status sked_i_ranks_agree(sked_i_ranks *r, sked_status status, sked_i_mark *marks,
                                               sked_i_rank_view *view, sked_error *err);
/* The sum over all lessons, for the learner's update. NULL: its own sum is all there is. */
SKED_MUST_CHECK sked_status sked_i_ranks_sum(sked_i_ranks *r, sked_i_sampler_learner *l, const float **out,
                                             sked_error *err);
#endif
