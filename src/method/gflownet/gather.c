/* Draws on their way to rank 0, some at a time. */
#include "method/gflownet/gather.h"

#include "base/memory.h"
#include "dist/dist.h"
#include "schedule/schedule.h"

#include <string.h>

/* Ops of the draws in one message: some ten megabytes. */
enum { ops_at_once = 1000000 };

/* Before the draws of a message. */
typedef struct head {
    int32_t count;
    bool last; /* no message of this part follows */
} head;

typedef struct drawn {
    int32_t number;
    double log_prob, makespan, temperature, zeta;
} drawn;

sked_i_draw_range sked_i_draws_of_rank(bool together, int32_t from, int32_t end)
{
    const int64_t rank = together ? sked_dist_rank() : 0, ranks = together ? sked_dist_size() : 1;
    const int64_t count = end - from;
    return (sked_i_draw_range){from + (int32_t)(count * rank / ranks),
                               from + (int32_t)(count * (rank + 1) / ranks)};
}

static size_t row_size(const sked_problem *p)
{
    return sizeof(drawn) + (size_t)p->graph->n_ops * (sizeof(double) + sizeof(int32_t));
}

static int32_t rows_at_once(const sked_problem *p)
{
    const int32_t ops = p->graph->n_ops;
    return ops < ops_at_once ? ops_at_once / (ops + 1) + 1 : 1;
}

static void pack(const sked_samples *s, const double *zeta, int32_t k, char *row)
{
    const sked_schedule *from = s->schedule[k];
    const size_t starts = (size_t)from->ops * sizeof *from->start;
    const drawn d = {k, s->log_prob[k], s->makespan[k], s->temperature[k], zeta[k]};
    memcpy(row, &d, sizeof d);
    memcpy(row + sizeof d, from->start, starts);
    memcpy(row + sizeof d + starts, from->device, (size_t)from->ops * sizeof *from->device);
}

static sked_status send_draws(const sked_problem *p, const sked_samples *s, const double *zeta,
                              sked_error *err)
{
    const int32_t most = rows_at_once(p);
    const size_t size = row_size(p);
    sked_status st = SKED_OK;
    char *message = sked_i_alloc(1, sizeof(head) + (size_t)(most < s->count ? most : s->count) * size);
    if (message == NULL)
        return sked_i_no_memory(err);
    for (int32_t k = 0; st == SKED_OK && k <= s->count;) {
        head h = {0};
        for (; k < s->count && h.count < most; k++)
            if (s->schedule[k] != NULL)
                pack(s, zeta, k, message + sizeof h + (size_t)h.count++ * size);
        h.last = k == s->count;
        k += h.last; /* done */
        memcpy(message, &h, sizeof h);
        st = sked_i_dist_send(0, SKED_I_MAIL_DRAWS, message, (int64_t)(sizeof h + (size_t)h.count * size),
                              err);
    }
    free(message);
    return st;
}

static sked_status unpack(const sked_problem *p, const char *row, sked_samples *s, double *zeta, int32_t room,
                          sked_error *err)
{
    drawn d;
    sked_schedule *to = NULL;
    memcpy(&d, row, sizeof d);
    if (d.number < 0 || d.number >= room || s->schedule[d.number] != NULL)
        return sked_i_fail(err, SKED_ERR_BUG, "another rank sent draw %d", (int)d.number);
    const sked_status st = sked_schedule_create(p->graph->n_ops, p->devices, &to, err);
    if (st != SKED_OK)
        return st;
    const size_t starts = (size_t)to->ops * sizeof *to->start;
    memcpy(to->start, row + sizeof d, starts);
    memcpy(to->device, row + sizeof d + starts, (size_t)to->ops * sizeof *to->device);
    s->schedule[d.number] = to;
    s->log_prob[d.number] = d.log_prob;
    s->makespan[d.number] = d.makespan;
    s->temperature[d.number] = d.temperature;
    zeta[d.number] = d.zeta;
    return SKED_OK;
}

/* One message. *last: no more come from this rank. */
static sked_status take_draws(const sked_problem *p, int from, sked_samples *s, double *zeta, int32_t room,
                              bool *last, sked_error *err)
{
    void *message = NULL;
    int64_t bytes = 0;
    head h = {0};
    sked_status st = sked_i_dist_receive(from, SKED_I_MAIL_DRAWS, true, &message, &bytes, err);
    if (st != SKED_OK)
        return st;
    if (bytes >= (int64_t)sizeof h)
        memcpy(&h, message, sizeof h);
    if (h.count < 0 || bytes != (int64_t)(sizeof h + (size_t)h.count * row_size(p)))
        st = sked_i_fail(err, SKED_ERR_BUG, "rank %d sent draws of %lld bytes", from, (long long)bytes);
    for (int32_t k = 0; k < h.count && st == SKED_OK; k++)
        st = unpack(p, (const char *)message + sizeof h + (size_t)k * row_size(p), s, zeta, room, err);
    *last = h.last;
    free(message);
    return st;
}

/* Where a stop has left gaps, those behind move up. */
static void close_gaps(sked_samples *s, double *zeta, int32_t room)
{
    int32_t kept = 0;
    for (int32_t k = 0; k < room; k++) {
        if (s->schedule[k] == NULL)
            continue;
        sked_schedule *moved = s->schedule[k];
        s->schedule[k] = NULL;
        s->schedule[kept] = moved;
        s->log_prob[kept] = s->log_prob[k];
        s->makespan[kept] = s->makespan[k];
        s->temperature[kept] = s->temperature[k];
        zeta[kept++] = zeta[k];
    }
    s->count = kept;
}

sked_status sked_i_draws_gather(const sked_problem *p, sked_status status, sked_samples *s, double *zeta,
                                int32_t room, sked_error *err)
{
    const int rank = sked_dist_rank();
    sked_status st = sked_dist_agree(rank > 0 && status == SKED_ERR_STOPPED ? SKED_OK : status, err);
    if (st != SKED_OK)
        return st;
    if (rank > 0) {
        st = send_draws(p, s, zeta, err);
        while (s->count > 0)
            sked_schedule_destroy(s->schedule[--s->count]);
        return st;
    }
    s->count = room; /* for clearing: what is not there is NULL */
    for (int k = 1; k < sked_dist_size(); k++)
        for (bool last = false; st == SKED_OK && !last;)
            st = take_draws(p, k, s, zeta, room, &last, err);
    close_gaps(s, zeta, room);
    return st;
}
