/* Training on several ranks: outcomes of all lessons, and one sum of gradients. */
#include "method/gflownet/shared_update.h"

#include "base/memory.h"
#include "dist/dist.h"

#include <assert.h>
#include <string.h>

typedef struct sked_i_rank_report {
    sked_error error;
    sked_i_rank_view view;
    int first, count;
    sked_i_mark marks[SKED_I_LESSONS];
} sked_i_rank_report;
typedef sked_i_rank_report report;

sked_status sked_i_ranks_open(bool together, int lessons, int64_t total, sked_i_ranks *out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int rank = sked_dist_rank(), ranks = sked_dist_size();
    *out = (sked_i_ranks){.lessons = lessons, .count = lessons, .sharing = 1, .total = total};
    if (!together || ranks == 1)
        return SKED_OK;
    out->sharing = ranks < lessons ? ranks : lessons;
    out->first = rank < out->sharing ? lessons * rank / out->sharing : lessons;
    out->count = rank < out->sharing ? lessons * (rank + 1) / out->sharing - out->first : 0;
    assert(out->count > 0 || rank >= out->sharing);
    SKED_NEW(out->gradient, total);
    SKED_NEW(out->reports, (int64_t)ranks + 1); /* the last: room for one's own */
cleanup:
    return st;
}

void sked_i_ranks_close(sked_i_ranks *r)
{
    free(r->gradient);
    free(r->reports);
}

/* A failure says more than a stop, and ranks speak in turn. NULL: all went well. */
static const sked_error *first_failure(const report *reports, int ranks)
{
    const sked_error *found = NULL;
    for (int k = 0; k < ranks; k++) {
        const sked_error *e = &reports[k].error;
        const bool more =
            found == NULL || (found->status == SKED_ERR_STOPPED && e->status != SKED_ERR_STOPPED);
        if (e->status != SKED_OK && more)
            found = e;
    }
    return found;
}

sked_status sked_i_ranks_agree(sked_i_ranks *r, sked_status status, sked_i_mark *marks,
                               sked_i_rank_view *view, sked_error *err)
{
    const int ranks = sked_dist_size();
    if (r->reports == NULL)
        return status;
    report *mine = &r->reports[ranks];
    memset(mine, 0, sizeof *mine);
    if (status != SKED_OK)
        mine->error = *err;
    mine->error.status = status;
    mine->view = *view;
    mine->first = r->first;
    mine->count = r->count;
    if (status == SKED_OK)
        memcpy(mine->marks, marks + r->first, (size_t)r->count * sizeof *marks);
    const sked_status st = sked_i_dist_share(mine, sizeof *mine, r->reports, err);
    if (st != SKED_OK)
        return st;
    const sked_error *failure = first_failure(r->reports, ranks);
    if (failure != NULL) {
        *err = *failure;
        return failure->status;
    }
    for (int k = 0; k < ranks; k++)
        memcpy(marks + r->reports[k].first, r->reports[k].marks, (size_t)r->reports[k].count * sizeof *marks);
    *view = r->reports[0].view;
    return SKED_OK;
}

sked_status sked_i_ranks_sum(sked_i_ranks *r, sked_i_sampler_learner *l, const float **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int rank = sked_dist_rank(), last = r->sharing - 1;
    const int64_t size = r->total * (int64_t)sizeof *r->gradient;
    *out = r->gradient;
    if (r->reports == NULL)
        return SKED_OK;
    if (rank == 0)
        memset(r->gradient, 0, (size_t)size);
    else if (rank <= last)
        SKED_TRY(sked_i_dist_read(rank - 1, SKED_I_MAIL_GRADIENT, r->gradient, size, err));
    if (rank <= last)
        SKED_TRY(l->kind->add(l, r->gradient, err));
    if (rank < last)
        SKED_TRY(sked_i_dist_send(rank + 1, SKED_I_MAIL_GRADIENT, r->gradient, size, err));
    if (rank != last)
        return sked_i_dist_read(last, SKED_I_MAIL_GRADIENT, r->gradient, size, err);
    for (int k = 0; k < sked_dist_size(); k++)
        if (k != last)
            SKED_TRY(sked_i_dist_send(k, SKED_I_MAIL_GRADIENT, r->gradient, size, err));
cleanup:
    return st;
}
