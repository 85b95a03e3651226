/* What ranks exchange at the end: the best result, failures, and which of them reports these. */
#include "dist/dist.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/sized.h"
#include "problem/lower.h"
#include "schedule/schedule.h"
#include "schedule/value_curve.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

uint64_t sked_dist_seed(uint64_t seed)
{
    return seed + (uint64_t)sked_dist_rank() * 0x9e3779b97f4a7c15u;
}

sked_status sked_i_dist_read(int from, sked_i_mail kind, void *data, int64_t size, sked_error *err)
{
    assert(from != sked_dist_rank() && size >= 0);
    void *message = NULL;
    int64_t bytes = 0;
    sked_status st = sked_i_dist_receive(from, kind, true, &message, &bytes, err);
    if (st == SKED_OK && bytes != size)
        st = sked_i_fail(
            err, SKED_ERR_ARGUMENT,
            "rank %d sent %lld bytes, not %lld: all ranks take the same command and the same files", from,
            (long long)bytes, (long long)size);
    if (st == SKED_OK)
        memcpy(data, message, (size_t)size);
    free(message);
    return st;
}

sked_status sked_i_dist_send_schedule(int to, sked_i_mail kind, const sked_schedule *s, sked_error *err)
{
    sked_status st = sked_i_dist_send(to, kind, s->start, s->ops * (int64_t)sizeof *s->start, err);
    if (st == SKED_OK && s->device != NULL)
        st = sked_i_dist_send(to, kind, s->device, s->ops * (int64_t)sizeof *s->device, err);
    return st;
}

sked_status sked_i_dist_read_schedule(int from, sked_i_mail kind, sked_schedule *s, sked_error *err)
{
    sked_status st = sked_i_dist_read(from, kind, s->start, s->ops * (int64_t)sizeof *s->start, err);
    if (st == SKED_OK && s->device != NULL)
        st = sked_i_dist_read(from, kind, s->device, s->ops * (int64_t)sizeof *s->device, err);
    return st;
}

sked_status sked_i_dist_share(const void *mine, int64_t size, void *all, sked_error *err)
{
    const int rank = sked_dist_rank(), ranks = sked_dist_size();
    char *const rows = all;
    assert(rank >= 0 && rank < ranks && size > 0);
    sked_status st = SKED_OK;
    memcpy(rows + rank * size, mine, (size_t)size);
    for (int k = 0; k < ranks; k++)
        if (k != rank)
            SKED_TRY(sked_i_dist_send(k, SKED_I_MAIL_SHARE, mine, size, err));
    for (int k = 0; k < ranks; k++)
        if (k != rank)
            SKED_TRY(sked_i_dist_read(k, SKED_I_MAIL_SHARE, rows + k * size, size, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ failures */

sked_status sked_dist_agree(sked_status status, sked_error *err)
{
    const int ranks = sked_dist_size();
    sked_error mine = {.status = status}, *all = NULL;
    if (ranks == 1)
        return status;
    if (status != SKED_OK && err != NULL)
        mine = *err;
    all = sked_i_alloc(ranks, sizeof *all);
    if (all == NULL)
        return sked_i_no_memory(err);
    sked_status st = sked_i_dist_share(&mine, sizeof mine, all, err);
    for (int k = 0; k < ranks && st == SKED_OK; k++) {
        st = all[k].status;
        if (st != SKED_OK && err != NULL)
            *err = all[k];
    }
    free(all);
    return st;
}

/* How long a rank that failed waits for the others to come to their ends; after that it ends the job. */
static const double patience = 1;
static bool others_are_missing;
static sked_status failure_of_another; /* OK: none */

/* The outcome of another rank. False: it did not come in time. */
static bool receive_outcome(int from, double deadline, sked_status *status)
{
    void *message = NULL;
    int64_t bytes = 0;
    for (;; sked_i_pause(0.0005)) {
        if (sked_i_dist_receive(from, SKED_I_MAIL_END, false, &message, &bytes, NULL) != SKED_OK)
            return false;
        if (message != NULL)
            break;
        if (sked_clock() > deadline)
            return false;
    }
    if (bytes > 0)
        memcpy(status, message, sizeof *status);
    free(message);
    return true;
}

bool sked_dist_tells(sked_status status)
{
    const int rank = sked_dist_rank(), ranks = sked_dist_size();
    const double deadline = status == SKED_OK ? INFINITY : sked_clock() + patience;
    bool another = false;
    for (int k = 0; k < ranks; k++)
        if (k != rank && sked_i_dist_send(k, SKED_I_MAIL_END, &status, status == SKED_OK ? 0 : sizeof status,
                                          NULL) != SKED_OK)
            others_are_missing = true;
    for (int k = 0; k < ranks && !others_are_missing; k++) {
        sked_status other = SKED_OK;
        others_are_missing = k != rank && !receive_outcome(k, deadline, &other);
        another = another || (other != SKED_OK && k < rank);
        failure_of_another = other != SKED_OK ? other : failure_of_another;
    }
    return status != SKED_OK && (others_are_missing || !another);
}

void sked_dist_end(sked_status status)
{
    if (others_are_missing)
        sked_i_dist_abort(status);
    sked_i_dist_finish(status != SKED_OK ? status : failure_of_another);
}

/* ------------------------------------------------------------------ the best result */

/* The outcome of a rank, sent to all others. */
typedef struct outcome {
    double status, value, makespan, bound, evaluations, optimal, ops, devices;
} outcome;

static bool better(const outcome *a, const outcome *b)
{
    if ((a->status == SKED_OK) != (b->status == SKED_OK))
        return a->status == SKED_OK;
    return a->value != b->value ? a->value < b->value : a->makespan < b->makespan;
}

/* The winner's result on its way to rank 0, before its best schedule. */
typedef struct delivery {
    double ii;
    int64_t copies; /* with addresses, -1: it has none */
    char method[sizeof((sked_result *)0)->method];
} delivery;

/* The arrays of a schedule's addresses, and their sizes. */
enum { address_arrays = 5 };
typedef struct row {
    void *data;
    int64_t size;
} row;

static void list_addresses(const sked_schedule *s, row rows[address_arrays])
{
    const int64_t arenas = s->devices > 0 ? s->devices : 1;
    const row all[address_arrays] = {{s->offset, s->ops * (int64_t)sizeof *s->offset},
                                     {s->arena, arenas * (int64_t)sizeof *s->arena},
                                     {s->copy_op, s->copies * (int64_t)sizeof *s->copy_op},
                                     {s->copy_device, s->copies * (int64_t)sizeof *s->copy_device},
                                     {s->copy_offset, s->copies * (int64_t)sizeof *s->copy_offset}};
    memcpy(rows, all, sizeof all);
}

static sked_status send_addresses(const sked_schedule *s, sked_error *err)
{
    row rows[address_arrays];
    sked_status st = SKED_OK;
    list_addresses(s, rows);
    for (int k = 0; st == SKED_OK && s->offset != NULL && k < address_arrays; k++)
        if (rows[k].size > 0)
            st = sked_i_dist_send(0, SKED_I_MAIL_SCHEDULE, rows[k].data, rows[k].size, err);
    return st;
}

static sked_status read_addresses(int from, int64_t copies, sked_schedule *s, sked_error *err)
{
    row rows[address_arrays];
    sked_status st = copies >= 0 ? sked_i_schedule_add_addresses(s, copies, err) : SKED_OK;
    list_addresses(s, rows);
    for (int k = 0; st == SKED_OK && copies >= 0 && k < address_arrays; k++)
        if (rows[k].size > 0)
            st = sked_i_dist_read(from, SKED_I_MAIL_SCHEDULE, rows[k].data, rows[k].size, err);
    return st;
}

static sked_status send_best(const sked_result *r, sked_error *err)
{
    const sked_schedule *s = r->schedule[0];
    delivery d = {.ii = s->ii, .copies = s->offset != NULL ? s->copies : -1};
    assert(sked_dist_rank() > 0 && r->count > 0);
    memcpy(d.method, r->method, sizeof d.method);
    sked_status st = sked_i_dist_send(0, SKED_I_MAIL_SCHEDULE, &d, sizeof d, err);
    if (st == SKED_OK)
        st = sked_i_dist_send_schedule(0, SKED_I_MAIL_SCHEDULE, s, err);
    return st == SKED_OK ? send_addresses(s, err) : st;
}

/* Rank 0 puts it in the place of its own result. */
static sked_status take_best(const sked_problem *p, int winner, sked_result *r, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_schedule *s = NULL;
    delivery d;
    sked_result fresh = {.size = sizeof fresh, .seconds = r->seconds, .build_seconds = r->build_seconds};
    assert(winner > 0 && sked_dist_rank() == 0);
    SKED_TRY(sked_schedule_create(p->graph->n_ops, p->devices, &s, err));
    SKED_NEW(fresh.schedule, 1);
    SKED_TRY(sked_i_dist_read(winner, SKED_I_MAIL_SCHEDULE, &d, sizeof d, err));
    SKED_TRY(sked_i_dist_read_schedule(winner, SKED_I_MAIL_SCHEDULE, s, err));
    SKED_TRY(read_addresses(winner, d.copies, s, err));
    s->ii = d.ii;
    snprintf(fresh.method, sizeof fresh.method, "%s", d.method);
    SKED_TRY(sked_schedule_validate(p, s, err));
    fresh.schedule[0] = s;
    fresh.count = 1;
    fresh.curve = r->curve;
    fresh.n_curve = r->n_curve;
    r->curve = NULL;
    r->n_curve = 0;
    sked_result_clear(r);
    *r = fresh;
    return SKED_OK;
cleanup:
    sked_schedule_destroy(s);
    free(fresh.schedule);
    return st;
}

static sked_status describe(const sked_problem *p, sked_status status, const sked_result *r, outcome *out,
                            sked_error *err)
{
    double value, makespan;
    sked_i_costs c = {0};
    *out = (outcome){.status = status, .value = INFINITY, .makespan = INFINITY, .bound = -INFINITY};
    if (status != SKED_OK)
        return status;
    sked_status st = sked_i_costs_make(p, &c, err);
    if (st == SKED_OK)
        st = sked_i_schedule_value(p, &c, r->schedule[0], &value, &makespan, err);
    sked_i_costs_free(&c);
    out->status = st;
    if (st != SKED_OK)
        return st;
    *out = (outcome){.value = r->value,
                     .makespan = makespan,
                     .bound = r->lower_bound,
                     .evaluations = (double)r->evaluations,
                     .optimal = r->optimal,
                     .ops = r->schedule[0]->ops,
                     .devices = r->schedule[0]->devices};
    return SKED_OK;
}

/* The first of the best, with the best bound, the evaluations and the proofs of all. */
static int sum_up(const outcome *all, int ranks, outcome *best)
{
    int winner = 0;
    double bound = -INFINITY, evaluations = 0, optimal = 0;
    assert(ranks > 0);
    for (int k = 0; k < ranks; k++) {
        winner = better(&all[k], &all[winner]) ? k : winner;
        bound = fmax(bound, all[k].bound);
        evaluations += all[k].evaluations;
    }
    for (int k = 0; k < ranks; k++)
        optimal = all[k].optimal && all[k].value == all[winner].value ? 1 : optimal;
    *best = all[winner];
    best->bound = bound;
    best->evaluations = evaluations;
    best->optimal = optimal;
    return winner;
}

/* The curve of rank 0, where it has one, ends with what all ranks know. */
static sked_status end_curve(sked_result *r, sked_error *err)
{
    sked_i_value_curve c;
    if (r->n_curve == 0)
        return SKED_OK;
    sked_i_value_curve_take(&c, r);
    c.begin = sked_clock() - r->seconds;
    c.method = r->method;
    sked_i_value_curve_note(&c, &(sked_curve_point){.evaluations = r->evaluations,
                                                    .value = r->value,
                                                    .bound = r->lower_bound,
                                                    .ii = r->schedule[0]->ii});
    const sked_status st = sked_i_value_curve_give(&c, r, err);
    sked_i_value_curve_free(&c);
    return st;
}

/* The same with structs of this version. */
static sked_status find_best(const sked_problem *p, sked_status status, sked_result *r, sked_error *err)
{
    const int rank = sked_dist_rank();
    outcome mine, best, *all = sked_i_alloc(sked_dist_size(), sizeof *all);
    status = describe(p, status, r, &mine, err);
    if (all == NULL)
        return sked_i_no_memory(err);
    sked_status st = sked_i_dist_share(&mine, sizeof mine, all, err);
    const int winner = st == SKED_OK ? sum_up(all, sked_dist_size(), &best) : 0;
    free(all);
    if (st != SKED_OK || best.status != SKED_OK)
        return st != SKED_OK ? st : status;
    if (winner != 0 && (best.ops != p->graph->n_ops || best.devices != p->devices) && best.status == SKED_OK)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "rank %d has a schedule of another problem", winner);
    if (winner != 0 && rank == winner)
        st = send_best(r, err);
    if (winner != 0 && rank == 0)
        st = take_best(p, winner, r, err);
    if (rank == 0 && st == SKED_OK) {
        r->value = best.value;
        r->lower_bound = best.bound;
        r->evaluations = (int64_t)best.evaluations;
        r->optimal = best.optimal != 0;
        if (err != NULL)
            *err = (sked_error){0};
        st = end_curve(r, err);
    }
    return st;
}

sked_status sked_dist_best(const sked_problem *p, sked_status status, sked_result *r, sked_error *err)
{
    if (sked_dist_size() == 1)
        return status;
    SKED_TAKE_PROBLEM(p)
    SKED_CHECK_OUTPUT(sked_result, r);
    const sked_result *given = r;
    SKED_TAKE(sked_result, given)
    sked_result own = *given;
    const sked_status st = find_best(p, status, &own, err);
    SKED_GIVE(r, own);
    return st;
}
