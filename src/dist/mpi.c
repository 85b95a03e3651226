/* Several processes over MPI: independent seeds, one winner. Nothing is exchanged while they search. */
#include "sked/sked.h"

#ifdef SKED_WITH_MPI

#include "base/memory.h"
#include "base/sized.h"
#include "schedule/schedule.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size = 1;

sked_status sked_dist_begin(int *argc, char ***argv, sked_error *err)
{
    if (MPI_Init(argc, argv) != MPI_SUCCESS)
        return sked_i_fail(err, SKED_ERR_DEVICE, "MPI cannot be started");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return SKED_OK;
}

void sked_dist_end(sked_status status)
{
    (void)status;
    MPI_Finalize();
}

int sked_dist_rank(void)
{
    return rank;
}

int sked_dist_size(void)
{
    return size;
}

uint64_t sked_dist_seed(uint64_t seed)
{
    return seed + (uint64_t)rank * 0x9e3779b97f4a7c15u;
}

/* What every rank tells all others about its outcome. */
typedef struct outcome {
    double status, value, makespan, bound, evaluations, optimal;
} outcome;

static bool better(const outcome *a, const outcome *b)
{
    if ((a->status == SKED_OK) != (b->status == SKED_OK))
        return a->status == SKED_OK;
    return a->value != b->value ? a->value < b->value : a->makespan < b->makespan;
}

/* Moves the winner's best schedule to rank 0. */
static sked_status move_schedule(const sked_problem *p, int winner, sked_result *r, sked_error *err)
{
    const int32_t n = p->graph->n_ops;
    sked_schedule *s = NULL;
    sked_status st = SKED_OK;
    if (rank == winner) {
        s = r->schedule[0];
        MPI_Send(&s->ii, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Send(s->start, n, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
        if (s->device != NULL)
            MPI_Send(s->device, n, MPI_INT32_T, 0, 3, MPI_COMM_WORLD);
        MPI_Send(r->method, (int)sizeof r->method, MPI_CHAR, 0, 4, MPI_COMM_WORLD);
        return SKED_OK;
    }
    sked_result fresh = {.size = sizeof fresh};
    SKED_TRY(sked_schedule_create(n, p->devices, &s, err));
    SKED_NEW(fresh.schedule, 1);
    MPI_Recv(&s->ii, 1, MPI_DOUBLE, winner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(s->start, n, MPI_DOUBLE, winner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (s->device != NULL)
        MPI_Recv(s->device, n, MPI_INT32_T, winner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(fresh.method, (int)sizeof fresh.method, MPI_CHAR, winner, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    SKED_TRY(sked_schedule_validate(p, s, err));
    fresh.schedule[0] = s;
    fresh.count = 1;
    fresh.seconds = r->seconds;
    fresh.build_seconds = r->build_seconds;
    sked_result_clear(r);
    *r = fresh;
    return SKED_OK;
cleanup: /* without room for it rank 0 cannot take part any more: the processes end together */
    sked_schedule_destroy(s);
    free(fresh.schedule);
    return st;
}

static sked_status describe(const sked_problem *p, sked_status status, const sked_result *r, outcome *out,
                            sked_error *err)
{
    sked_metrics m = {.size = sizeof m};
    outcome o = {.status = status, .value = INFINITY, .makespan = INFINITY, .bound = -INFINITY};
    *out = o;
    if (status != SKED_OK)
        return status;
    const sked_status st = sked_schedule_measure(p, r->schedule[0], &m, err);
    if (st != SKED_OK)
        return out->status = st;
    o.value = r->value;
    o.makespan = m.makespan;
    o.bound = r->lower_bound;
    o.evaluations = (double)r->evaluations;
    o.optimal = r->optimal;
    *out = o;
    return SKED_OK;
}

/* The same with structs of this version. */
static sked_status find_best(const sked_problem *p, sked_status status, sked_result *r, sked_error *err)
{
    outcome mine;
    status = describe(p, status, r, &mine, err);
    outcome *all = sked_i_alloc(size, sizeof *all);
    if (all == NULL)
        return sked_i_no_memory(err);
    enum { fields = sizeof mine / sizeof(double) };
    MPI_Allgather(&mine, fields, MPI_DOUBLE, all, fields, MPI_DOUBLE, MPI_COMM_WORLD);
    int winner = 0;
    double bound = -INFINITY, evaluations = 0, optimal = 0;
    for (int k = 0; k < size; k++) {
        winner = better(&all[k], &all[winner]) ? k : winner;
        bound = all[k].bound > bound ? all[k].bound : bound;
        evaluations += all[k].evaluations;
    }
    for (int k = 0; k < size; k++)
        optimal = all[k].optimal && all[k].value == all[winner].value ? 1 : optimal;
    const outcome best = all[winner];
    free(all);
    if (best.status != SKED_OK)
        return status;
    sked_status st = SKED_OK;
    if (winner != 0 && (rank == 0 || rank == winner))
        st = move_schedule(p, winner, r, err);
    if (rank == 0 && st == SKED_OK) {
        r->value = best.value;
        r->lower_bound = bound;
        r->evaluations = (int64_t)evaluations;
        r->optimal = optimal != 0;
        if (err != NULL)
            *err = (sked_error){0};
    }
    return rank == 0 ? st : SKED_OK;
}

sked_status sked_dist_best(const sked_problem *p, sked_status status, sked_result *r, sked_error *err)
{
    if (size == 1)
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

#endif
