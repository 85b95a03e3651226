/* Devices for given starts that keep data where it is. */
#include "base/memory.h"
#include "method/gflownet/improve.h"

/* At one time: what ends, then ops without duration, then what starts. */
enum { ENDS, PASSES, STARTS };

typedef struct moment {
    double time;
    double tail;  /* longest way to the end: of ops that start together the most urgent chooses first */
    int32_t rank; /* in the graph's topological order */
    int32_t op;
    int kind;
} moment;

static int by_moment(const void *x, const void *y)
{
    const moment *a = x, *b = y;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind - b->kind;
    if (a->kind == STARTS && a->tail != b->tail)
        return a->tail > b->tail ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Free devices as a list, freed first at its head; busy ones have next = BUSY. */
enum { END = -1, BUSY = -2 };
typedef struct free_list {
    int32_t first, last;
    int32_t *next, *before; /* [devices] */
} free_list;

static void put(free_list *f, int32_t d)
{
    f->next[d] = END;
    f->before[d] = f->last;
    *(f->last != END ? &f->next[f->last] : &f->first) = d;
    f->last = d;
}

static void take(free_list *f, int32_t d)
{
    const int32_t before = f->before[d], next = f->next[d];
    *(before != END ? &f->next[before] : &f->first) = next;
    *(next != END ? &f->before[next] : &f->last) = before;
    f->next[d] = BUSY;
}

/*
 * The free device of the predecessor whose result comes last: what came earlier can travel meanwhile. Of
 * results at the same time, the one with most bytes. END where no predecessor's device is free.
 */
static int32_t nearest(const sked_graph *g, int32_t op, const double *start, const int32_t *device,
                       const free_list *f)
{
    int32_t best = END;
    double latest = -INFINITY, most = 0;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        const double ready = start[g->pred_op[k]] + g->edge_lag[e];
        if (g->edge_distance[e] > 0 || f->next[device[g->pred_op[k]]] == BUSY || ready < latest ||
            (ready == latest && g->edge_bytes[e] <= most))
            continue;
        best = device[g->pred_op[k]];
        latest = ready;
        most = g->edge_bytes[e];
    }
    return best;
}

static int64_t list_moments(const sked_graph *g, const sked_schedule *s, const double *tail, moment *m)
{
    int64_t count = 0;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        const double duration = g->duration[i];
        m[count++] = (moment){s->start[i], tail[i], k, i, duration > 0 ? STARTS : PASSES};
        if (duration > 0)
            m[count++] = (moment){s->start[i] + duration, 0, k, i, ENDS};
    }
    qsort(m, (size_t)count, sizeof *m, by_moment);
    return count;
}

/* False: more ops run at once than there are devices. */
static bool assign(const sked_graph *g, const double *start, const moment *m, int64_t count, free_list *f,
                   int32_t *device)
{
    for (int64_t k = 0; k < count; k++) {
        const int32_t i = m[k].op;
        if (m[k].kind == ENDS) {
            put(f, device[i]);
            continue;
        }
        const int32_t near = nearest(g, i, start, device, f);
        device[i] = near != END ? near : f->first;
        if (device[i] == END && m[k].kind == STARTS)
            return false;
        if (m[k].kind == STARTS)
            take(f, device[i]);
        else if (device[i] == END)
            device[i] = 0; /* it takes no time: any will do */
    }
    return true;
}

sked_status sked_i_keep_local(const sked_problem *p, sked_schedule *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = p->graph;
    const int32_t devices = s->devices < s->ops ? s->devices : s->ops;
    moment *m = NULL;
    double *tail = NULL;
    int32_t *device = NULL;
    free_list f = {.first = END, .last = END};
    SKED_NEW(m, 2 * (int64_t)s->ops);
    SKED_NEW(tail, s->ops);
    SKED_NEW0(device, s->ops);
    SKED_NEW(f.next, devices);
    SKED_NEW(f.before, devices);
    for (int32_t d = 0; d < devices; d++)
        put(&f, d);
    sked_i_tails(g, tail);
    if (assign(g, s->start, m, list_moments(g, s, tail, m), &f, device))
        for (int32_t i = 0; i < s->ops; i++)
            s->device[i] = device[i];
cleanup:
    free(m);
    free(tail);
    free(device);
    free(f.next);
    free(f.before);
    return st;
}
