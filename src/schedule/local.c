/*
 * Reassigns devices for given starts. Equal devices can be exchanged wherever several are free: no op moves,
 * so the makespan stays, but an op that finds its data where it runs need not wait for them on a machine
 * whose transfers cost more than the problem says.
 *
 * One pass goes through time and gives each op, of the devices free at its start, the one that holds most of
 * its data; later passes also look at where its consumers went in the pass before. An edge counts by its
 * bytes, plus one mean edge for the transfer itself, and less the more time there is between the two ops.
 */
#include "base/arena.h"
#include "base/sort.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <string.h>

enum { PASSES = 4 };

typedef struct localiser {
    sked_i_arena arena;
    const sked_graph *g;
    const sked_schedule *s;
    int32_t m;
    double *weight;       /* [edges] what it costs to part the two ops */
    double *wait;         /* [edges] time that a transfer takes on the imagined machine */
    sked_i_keyed *moment; /* [2 ops] starts (op) and finishes (~op) in the order of time */
    sked_i_keyed *spare;  /* [2 ops] for sorting */
    int64_t moments;
    int32_t *newer,
        *older;       /* [m + 1] free devices as a ring, in the order they were freed; m is its anchor */
    uint8_t *free;    /* [m] */
    double *score;    /* [m] */
    double *tail;     /* [ops] bottom levels */
    int32_t *urgent;  /* [ops] largest bottom level first */
    int32_t *order;   /* [ops] in the order of the moments */
    sked_graph timed; /* g, whose edges wait */
    sked_simulator *machine; /* the imagined one */
    int32_t *device, *last;  /* [ops] of this pass, of the pass before */
} localiser;

static double finish_of(const localiser *x, int32_t op)
{
    return x->s->start[op] + x->g->duration[op];
}

static void weigh_edges(localiser *x)
{
    const sked_graph *g = x->g;
    double bytes = 0, work = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        bytes += g->edge_bytes[e];
    for (int32_t i = 0; i < g->n_ops; i++)
        work += g->duration[i];
    const double mean_bytes = bytes > 0 ? bytes / (double)g->n_edges : 1;
    const double mean_time = work > 0 ? work / g->n_ops : 1;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const double between = fmax(0, x->s->start[g->edge_to[e]] - finish_of(x, g->edge_from[e]));
        const double size = g->edge_distance[e] != 0 ? 0 : 1 + g->edge_bytes[e] / mean_bytes;
        x->weight[e] = size / (1 + between / mean_time);
        x->wait[e] = size * mean_time;
    }
}

/* Largest bottom level first. */
static void rank_ops(localiser *x)
{
    const sked_graph *g = x->g;
    sked_i_tails(g, x->tail);
    for (int32_t k = 0; k < g->n_ops; k++)
        x->moment[k] = (sked_i_keyed){sked_i_sort_key(-x->tail[g->topo[k]]), g->topo[k]};
    sked_i_sort_keyed(x->moment, x->spare, g->n_ops);
    for (int32_t k = 0; k < g->n_ops; k++)
        x->urgent[k] = (int32_t)x->moment[k].value;
}

/*
 * At one time: finishes, then ops that take no time, both in topological order, then the others, the most
 * urgent first: it has the first choice.
 */
static void order_moments(localiser *x)
{
    const sked_graph *g = x->g;
    for (int kind = 0; kind < 3; kind++)
        for (int32_t k = 0; k < g->n_ops; k++) {
            const int32_t op = kind == 2 ? x->urgent[k] : g->topo[k];
            const bool lasts = finish_of(x, op) > x->s->start[op];
            if (lasts != (kind != 1))
                continue;
            const double time = kind == 0 ? finish_of(x, op) : x->s->start[op];
            assert(x->moments < 2 * (int64_t)g->n_ops);
            x->moment[x->moments++] = (sked_i_keyed){sked_i_sort_key(time), kind == 0 ? ~(int64_t)op : op};
        }
    sked_i_sort_keyed(x->moment, x->spare, x->moments);
}

static void release(localiser *x, int32_t d)
{
    x->older[d] = x->older[x->m];
    x->newer[d] = x->m;
    x->newer[x->older[d]] = d;
    x->older[x->m] = d;
    x->free[d] = 1;
}

static void occupy(localiser *x, int32_t d)
{
    assert(x->free[d]);
    x->newer[x->older[d]] = x->newer[d];
    x->older[x->newer[d]] = x->older[d];
    x->free[d] = 0;
}

/* Adds to what device d holds for an op, -1: nowhere yet, and keeps the free device that holds most. */
static void credit(localiser *x, int32_t d, double weight, int32_t *best)
{
    if (d < 0)
        return;
    x->score[d] += weight;
    if (x->free[d] && x->score[d] > (*best < x->m ? x->score[*best] : 0))
        *best = d;
}

/*
 * The free device with most of op's data; without any, the one free for longest, so that those freed just now
 * stay for the ops that find their data there. m: none is free.
 */
static int32_t choose(localiser *x, int32_t op, bool again)
{
    const sked_graph *g = x->g;
    int32_t best = x->m;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
        credit(x, x->device[g->pred_op[k]], x->weight[g->pred_edge[k]], &best);
    for (int64_t e = g->succ_ptr[op]; again && e < g->succ_ptr[op + 1]; e++)
        credit(x, x->last[g->edge_to[e]], x->weight[e], &best);
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
        if (x->device[g->pred_op[k]] >= 0)
            x->score[x->device[g->pred_op[k]]] = 0;
    for (int64_t e = g->succ_ptr[op]; again && e < g->succ_ptr[op + 1]; e++)
        x->score[x->last[g->edge_to[e]]] = 0;
    return best < x->m ? best : x->newer[x->m];
}

/* false: at some moment no device is free, so the starts do not fit the machine. */
static bool sweep(localiser *x, bool again)
{
    x->older[x->m] = x->newer[x->m] = x->m;
    for (int32_t d = x->m - 1; d >= 0; d--)
        release(x, d);
    for (int32_t i = 0; i < x->g->n_ops; i++)
        x->device[i] = -1;
    for (int64_t k = 0; k < x->moments; k++) {
        const int64_t at = x->moment[k].value;
        if (at < 0) {
            release(x, x->device[~at]);
            continue;
        }
        const int32_t op = (int32_t)at, d = choose(x, op, again);
        if (d == x->m)
            return false;
        x->device[op] = d;
        if (finish_of(x, op) > x->s->start[op])
            occupy(x, d);
    }
    return true;
}

/*
 * The makespan with these devices and the order of the starts on a machine where a transfer takes a mean
 * duration, and as much again for the bytes of a mean edge.
 */
static double replay(localiser *x, const int32_t *device)
{
    double makespan;
    sked_simulator_run(x->machine, 1, device, x->order, true, &makespan, NULL);
    return makespan;
}

/* Bytes of its edges are times there. */
static sked_status open_machine(localiser *x, sked_error *err)
{
    sked_problem p;
    int32_t n = 0;
    for (int64_t k = 0; k < x->moments; k++)
        if (x->moment[k].value >= 0)
            x->order[n++] = (int32_t)x->moment[k].value;
    x->timed = *x->g;
    x->timed.edge_bytes = x->wait;
    sked_problem_init(&p, &x->timed);
    p.devices = x->m;
    p.bandwidth = 1;
    return sked_simulator_create(&p, &x->machine, err);
}

/* The caller closes x, whatever the status. */
static sked_status open_localiser(localiser *x, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = x->g;
    SKED_OWN(&x->arena, x->weight, g->n_edges);
    SKED_OWN(&x->arena, x->wait, g->n_edges);
    SKED_OWN(&x->arena, x->moment, 2 * (int64_t)g->n_ops);
    SKED_OWN(&x->arena, x->spare, 2 * (int64_t)g->n_ops);
    SKED_OWN(&x->arena, x->newer, x->m + 1);
    SKED_OWN(&x->arena, x->older, x->m + 1);
    SKED_OWN0(&x->arena, x->free, x->m);
    SKED_OWN0(&x->arena, x->score, x->m);
    SKED_OWN(&x->arena, x->tail, g->n_ops);
    SKED_OWN(&x->arena, x->urgent, g->n_ops);
    SKED_OWN(&x->arena, x->order, g->n_ops);
    SKED_OWN(&x->arena, x->device, g->n_ops);
    SKED_OWN(&x->arena, x->last, g->n_ops);
    weigh_edges(x);
    rank_ops(x);
    order_moments(x);
    SKED_TRY(open_machine(x, err));
cleanup:
    return st;
}

/* The devices of the pass with the shortest replay, into device; how long that is. */
static double best_of_passes(localiser *x, int32_t *device)
{
    double least = replay(x, device);
    for (int pass = 0; pass < PASSES && sweep(x, pass > 0); pass++) {
        const double now = replay(x, x->device);
        if (now < least)
            memcpy(device, x->device, (size_t)x->g->n_ops * sizeof *device);
        least = fmin(least, now);
        int32_t *const swap = x->last;
        x->last = x->device;
        x->device = swap;
    }
    return least;
}

sked_status sked_i_schedule_localise(const sked_problem *p, sked_schedule *s, double *delayed,
                                     sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = p->graph;
    localiser x = {.g = g, .s = s, .m = s->devices < g->n_ops ? s->devices : g->n_ops};
    int32_t *name;
    if (delayed != NULL)
        *delayed = 0;
    if (s->ii != 0 || sked_i_has_transfers(p) || p->fix_device != NULL || sked_i_has_memory_limit(p) ||
        x.m < 2)
        return SKED_OK;
    SKED_OWN(&x.arena, name, s->devices);
    sked_i_schedule_name_devices(s, name); /* there may be more devices than ops */
    SKED_TRY(open_localiser(&x, err));
    const double least = best_of_passes(&x, s->device);
    sked_i_schedule_name_devices(s, name);
    if (delayed != NULL)
        *delayed = least;
cleanup:
    sked_simulator_destroy(x.machine);
    sked_i_arena_free(&x.arena);
    return st;
}
