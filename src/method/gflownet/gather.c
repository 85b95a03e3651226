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
    sked_i_draw draw;
    double log_prob, makespan, temperature;
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

static void pack(const sked_samples *s, const sked_i_draw *draw, int32_t k, char *row)
{
    const sked_schedule *from = s->schedule[k];
    const size_t starts = (size_t)from->ops * sizeof *from->start;
    const drawn d = {draw[k], s->log_prob[k], s->makespan[k], s->temperature[k]};
    memcpy(row, &d, sizeof d);
    memcpy(row + sizeof d, from->start, starts);
    memcpy(row + sizeof d + starts, from->device, (size_t)from->ops * sizeof *from->device);
}

static sked_status send_draws(const sked_problem *p, const sked_samples *s, const sked_i_draw *draw,
                              sked_error *err)
{
    const int32_t most = rows_at_once(p);
    const size_t size = row_size(p);
    sked_status st = SKED_OK;
    char *message = sked_i_alloc(1, sizeof(head) + (size_t)(most < s->count ? most : s->count) * size);
    if (message == NULL)
        return sked_i_no_memory(err);
    for (int32_t done = 0; st == SKED_OK;) {
        const int32_t left = s->count - done, now = left < most ? left : most;
        const head h = {.count = now, .last = now == left};
        memcpy(message, &h, sizeof h);
        for (int32_t k = 0; k < now; k++)
            pack(s, draw, done + k, message + sizeof h + (size_t)k * size);
        st = sked_i_dist_send(0, SKED_I_MAIL_DRAWS, message, (int64_t)(sizeof h + (size_t)now * size), err);
        done += now;
        if (h.last)
            break;
    }
    free(message);
    return st;
}

static sked_status unpack(const sked_problem *p, const char *row, sked_samples *s, sked_i_draw *draw,
                          sked_error *err)
{
    drawn d;
    sked_schedule *to = NULL;
    const sked_status st = sked_schedule_create(p->graph->n_ops, p->devices, &to, err);
    if (st != SKED_OK)
        return st;
    const size_t starts = (size_t)to->ops * sizeof *to->start;
    memcpy(&d, row, sizeof d);
    memcpy(to->start, row + sizeof d, starts);
    memcpy(to->device, row + sizeof d + starts, (size_t)to->ops * sizeof *to->device);
    s->schedule[s->count] = to;
    s->log_prob[s->count] = d.log_prob;
    s->makespan[s->count] = d.makespan;
    s->temperature[s->count] = d.temperature;
    draw[s->count++] = d.draw;
    return SKED_OK;
}

/* One message. *last: no more come from this rank. */
static sked_status take_draws(const sked_problem *p, int from, sked_samples *s, sked_i_draw *draw,
                              int32_t room, bool *last, sked_error *err)
{
    void *message = NULL;
    int64_t bytes = 0;
    head h = {0};
    sked_status st = sked_i_dist_receive(from, SKED_I_MAIL_DRAWS, true, &message, &bytes, err);
    if (st != SKED_OK)
        return st;
    if (bytes >= (int64_t)sizeof h)
        memcpy(&h, message, sizeof h);
    if (h.count < 0 || h.count > room - s->count ||
        bytes != (int64_t)(sizeof h + (size_t)h.count * row_size(p)))
        st = sked_i_fail(err, SKED_ERR_BUG, "rank %d sent draws of %lld bytes", from, (long long)bytes);
    for (int32_t k = 0; k < h.count && st == SKED_OK; k++)
        st = unpack(p, (const char *)message + sizeof h + (size_t)k * row_size(p), s, draw, err);
    *last = h.last;
    free(message);
    return st;
}

/* A draw with all that belongs to it. */
typedef struct whole {
    drawn d;
    sked_schedule *schedule;
} whole;

static int by_number(const void *x, const void *y)
{
    const int32_t a = ((const whole *)x)->d.draw.number, b = ((const whole *)y)->d.draw.number;
    return (a > b) - (a < b);
}

static sked_status put_in_order(sked_samples *s, sked_i_draw *draw, sked_error *err)
{
    whole *all = sked_i_alloc(s->count, sizeof *all);
    if (all == NULL)
        return sked_i_no_memory(err);
    for (int32_t k = 0; k < s->count; k++)
        all[k] = (whole){{draw[k], s->log_prob[k], s->makespan[k], s->temperature[k]}, s->schedule[k]};
    qsort(all, (size_t)s->count, sizeof *all, by_number);
    for (int32_t k = 0; k < s->count; k++) {
        draw[k] = all[k].d.draw;
        s->log_prob[k] = all[k].d.log_prob;
        s->makespan[k] = all[k].d.makespan;
        s->temperature[k] = all[k].d.temperature;
        s->schedule[k] = all[k].schedule;
    }
    free(all);
    return SKED_OK;
}

sked_status sked_i_draws_gather(const sked_problem *p, sked_status status, sked_samples *s, sked_i_draw *draw,
                                int32_t room, sked_error *err)
{
    const int rank = sked_dist_rank();
    sked_status st = sked_dist_agree(rank > 0 && status == SKED_ERR_STOPPED ? SKED_OK : status, err);
    if (st != SKED_OK)
        return st;
    if (rank > 0) {
        st = send_draws(p, s, draw, err);
        while (s->count > 0)
            sked_schedule_destroy(s->schedule[--s->count]);
        return st;
    }
    for (int k = 1; k < sked_dist_size(); k++)
        for (bool last = false; st == SKED_OK && !last;)
            st = take_draws(p, k, s, draw, room, &last, err);
    return st == SKED_OK ? put_in_order(s, draw, err) : st;
}
