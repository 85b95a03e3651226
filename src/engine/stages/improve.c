/* Candidates improved one by one: justification, then a climb by moves of one op, then devices. */
#include "engine/stages/stages.h"

#include "base/arena.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/thread.h"
#include "engine/decode/justify.h"

#include <string.h>

/* What one thread works with. */
typedef struct improver {
    sked_i_arena arena;
    const struct job *job;
    sked_i_justifier justifier;
    int32_t *list, *start, *trial, *position;
    sked_status status;
    sked_error error;
} improver;

typedef struct job {
    const sked_problem *problem;
    const sked_i_stages *how;
    sked_i_cumulative *core; /* NULL: nothing is improved */
    sked_i_stages_candidate *list;
    int32_t count;
    int32_t goal; /* nothing is shorter */
} job;

static void close_improver(improver *x)
{
    sked_i_justifier_close(&x->justifier);
    sked_i_arena_free(&x->arena);
}

static sked_status open_improver(improver *x, const job *j, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_cumulative *c = j->core;
    *x = (improver){.job = j};
    if (c == NULL)
        return SKED_OK;
    SKED_TRY(sked_i_justifier_open(&x->justifier, c, j->how->limit, err));
    SKED_OWN(&x->arena, x->list, c->n);
    SKED_OWN(&x->arena, x->start, c->n);
    SKED_OWN(&x->arena, x->trial, c->n);
    SKED_OWN(&x->arena, x->position, c->n);
cleanup:
    return st;
}

/* Starts for x->list into `start`, justified. */
static int32_t decode(improver *x, int32_t *start)
{
    const int32_t makespan = sked_i_sgs_serial(x->justifier.forward, x->list, INT32_MAX, start);
    return makespan == SKED_I_ABORTED ? makespan : sked_i_justify(&x->justifier, makespan, start);
}

/* The best starts found from the schedule's own order, in x->start. */
static int32_t climb(improver *x, const sked_schedule *s, sked_i_rng *r)
{
    const job *j = x->job;
    const sked_i_cumulative *c = j->core;
    sked_i_cumulative_keys(c, s, x->trial);
    sked_i_sgs_sort(x->justifier.forward, x->trial, false, x->list);
    int32_t best = decode(x, x->start);
    for (int64_t k = 1; k < j->how->improve && best > j->goal && best != SKED_I_ABORTED; k++) {
        if (sked_i_limit_reached(j->how->limit))
            break;
        sked_i_sgs_sort(x->justifier.forward, x->start, c->forward.orderly, x->list);
        for (int32_t q = 0; q < c->n; q++)
            x->position[x->list[q]] = q;
        sked_i_sgs_shift(x->justifier.forward->core, r, x->list, x->position);
        const int32_t cost = decode(x, x->trial);
        if (cost < best) {
            best = cost;
            memcpy(x->start, x->trial, (size_t)c->n * sizeof *x->start);
        }
    }
    return best;
}

/* Takes the starts where they are no later in the end (real times are finer than the grid). */
static sked_status climb_from(improver *x, int32_t k, sked_error *err)
{
    const job *j = x->job;
    sked_i_stages_candidate *c = &j->list[k];
    sked_schedule *better = NULL;
    sked_i_rng r;
    sked_i_rng_seed(&r, j->how->seed, (uint64_t)k);
    if (climb(x, c->schedule, &r) == SKED_I_ABORTED)
        return SKED_OK;
    const sked_status st = sked_i_cumulative_schedule(j->core, x->start, &better, err);
    if (st != SKED_OK)
        return st;
    const double makespan = sked_i_schedule_makespan(j->problem->graph, better);
    if (makespan <= c->makespan) {
        memcpy(c->schedule->start, better->start, (size_t)better->ops * sizeof *better->start);
        memcpy(c->schedule->device, better->device, (size_t)better->ops * sizeof *better->device);
        c->makespan = makespan;
    }
    sked_schedule_destroy(better);
    return SKED_OK;
}

static sked_status improve_one(improver *x, int32_t k, sked_error *err)
{
    const job *j = x->job;
    sked_i_stages_candidate *c = &j->list[k];
    sked_status st = SKED_OK;
    c->delayed = j->how->local ? INFINITY : 0;
    if (sked_i_limit_reached(j->how->limit))
        return SKED_OK;
    if (j->core != NULL)
        st = climb_from(x, k, err);
    if (st == SKED_OK && j->how->local)
        st = sked_i_schedule_localise(j->problem, c->schedule, &c->delayed, err);
    return st;
}

static void work(void *data, int index)
{
    improver *x = (improver *)data + index;
    for (int32_t k = index; k < x->job->count && x->status == SKED_OK; k += x->job->how->threads)
        x->status = improve_one(x, k, &x->error);
}

/* Decoders know neither devices that differ nor transfers, and move ops that are fixed. */
static bool can_climb(const sked_problem *p)
{
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        if (sked_i_capacity(p, r) < INFINITY)
            return false;
    return p->machine == NULL && p->devices > 0 && !sked_i_has_transfers(p) && p->fix_device == NULL &&
           p->fix_start == NULL && p->ii == 0 && !sked_i_has_memory_limit(p);
}

static int32_t goal_of(const sked_i_cumulative *c, int32_t devices)
{
    const int64_t area = (c->forward.work + devices - 1) / devices;
    return area > c->forward.longest ? (int32_t)area : c->forward.longest;
}

sked_status sked_i_stages_improve(const sked_problem *p, const sked_i_stages *how,
                                  sked_i_stages_candidate *list, int32_t count, sked_error *err)
{
    sked_status st = SKED_OK;
    job j = {.problem = p, .how = how, .list = list, .count = count};
    improver *x = NULL;
    int opened = 0;
    if (p->graph->n_ops == 0)
        return SKED_OK;
    if (how->improve > 0 && can_climb(p)) {
        SKED_TRY(sked_i_cumulative_create(p, &j.core, err));
        j.goal = goal_of(j.core, p->devices);
    }
    SKED_NEW0(x, how->threads);
    for (; opened < how->threads && st == SKED_OK; opened++)
        st = open_improver(&x[opened], &j, err);
    if (st == SKED_OK)
        SKED_TRY(sked_i_parallel(how->threads, work, x, err));
    for (int k = 0; k < how->threads && st == SKED_OK; k++)
        if (x[k].status != SKED_OK)
            st = sked_i_fail(err, x[k].status, "%s", x[k].error.message);
cleanup:
    for (int k = 0; k < opened; k++)
        close_improver(&x[k]);
    free(x);
    sked_i_cumulative_destroy(j.core);
    return st;
}
