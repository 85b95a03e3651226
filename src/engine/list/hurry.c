/*
 * Placing when the time is up: the ops that are left are still placed, for a schedule is better than none,
 * but each looks at a few devices only: those of its first predecessors, one for each of a few classes of
 * devices, the one of them that is free first, and the fastest. Nothing goes into gaps. O(predecessors) for
 * each op, and a logarithm.
 */
#include "engine/list/placer.h"

#include <string.h>

enum { few_classes = 8, few_predecessors = 3 };

typedef sked_i_placer placer;

/* Devices of each class, the one that is free first on top. Times may be those of a while ago. */
struct sked_i_hurry {
    int32_t classes;
    sked_i_event_heap *free; /* [classes] */
};

static int32_t class_of_device(const placer *x, int32_t d)
{
    const sked_i_costs *c = x->input.view->costs;
    return c != NULL && c->class_of != NULL ? c->class_of[sked_i_device_time_kind(c, d)] : 0;
}

/* Room for all heaps, then the devices in use, each into its own. */
static sked_status fill_heaps(placer *x, sked_i_hurry *h, sked_error *err)
{
    const int32_t m = x->input.devices;
    sked_status st = SKED_OK;
    sked_i_event *at;
    int32_t *size;
    SKED_OWN(&x->arena, at, m);
    SKED_OWN0(&x->arena, size, h->classes);
    for (int32_t d = 0; d < m; d++)
        size[class_of_device(x, d)]++;
    for (int32_t q = 0; q < h->classes; q++, at += size[q - 1])
        h->free[q] = (sked_i_event_heap){at, 0};
    for (int32_t d = 0; d < m; d++)
        if (x->how->use == NULL || x->how->use[d])
            sked_i_event_heap_push(&h->free[class_of_device(x, d)],
                                   (sked_i_event){sked_i_gaps_end(&x->gaps[d]), d});
cleanup:
    return st;
}

sked_status sked_i_placer_hurry(sked_i_placer *x, sked_error *err)
{
    const sked_i_costs *c = x->input.view->costs;
    sked_status st = SKED_OK;
    sked_i_hurry *h;
    SKED_OWN(&x->arena, h, 1);
    h->classes = c != NULL ? c->classes : 1;
    SKED_OWN(&x->arena, h->free, h->classes);
    SKED_TRY(fill_heaps(x, h, err));
    x->hurry = h;
    x->hurried = true;
    x->chosen = -1;
    while (x->pending.count > 0)
        sked_i_set_add(&x->ready, (uint32_t)x->input.rank[sked_i_event_heap_pop(&x->pending).id]);
cleanup:
    return st;
}

/* The device of the class that is free first, -1: none is in use. */
static int32_t first_free(const placer *x, int32_t q)
{
    sked_i_event_heap *heap = &x->hurry->free[q];
    while (heap->count > 0) {
        const int32_t d = heap->at[0].id;
        const double end = sked_i_gaps_end(&x->gaps[d]);
        if (heap->at[0].time == end)
            return d;
        (void)sked_i_event_heap_pop(heap);
        sked_i_event_heap_push(heap, (sked_i_event){end, d});
    }
    return -1;
}

/* The class whose fastest device runs op i in the shortest time. */
static int32_t shortest_class(const sked_i_costs *c, int32_t i)
{
    int32_t best = 0;
    for (int32_t q = 1; q < c->classes; q++)
        if (sked_i_kind_time(c, i, c->fastest[q]) < sked_i_kind_time(c, i, c->fastest[best]))
            best = q;
    return best;
}

/* Takes device d for op i where it finishes there before *best. */
static void consider(placer *x, int32_t i, int32_t d, double *best)
{
    const sked_i_costs *c = x->input.view->costs;
    double gap;
    if (d < 0 || (x->how->use != NULL && !x->how->use[d]))
        return;
    const double length = c != NULL ? sked_i_placer_time(x, i, d) : x->input.view->duration[i];
    const double from = sked_i_placer_arrival_alone(x, i, d);
    if (!(from + length < *best))
        return;
    const double behind = length > 0 ? fmax(from, sked_i_gaps_end(&x->gaps[d])) : from;
    const double t = sked_i_placer_room(x, i, length, d, behind, &gap);
    if (t + length < *best) {
        *best = t + length;
        x->device[i] = d;
        x->start[i] = t;
    }
}

static void consider_classes(placer *x, int32_t i, double *best)
{
    const sked_i_costs *c = x->input.view->costs;
    const int32_t classes = x->hurry->classes;
    if (classes <= few_classes)
        for (int32_t q = 0; q < classes; q++)
            consider(x, i, first_free(x, q), best);
    if (c == NULL || c->fastest == NULL)
        return;
    const int32_t fast = shortest_class(c, i);
    if (classes > few_classes) {
        consider(x, i, first_free(x, fast), best);
        consider(x, i, first_free(x, i % classes), best);
    }
    consider(x, i, c->kind_device[c->fastest[fast]], best);
}

bool sked_i_placer_choose_hurried(sked_i_placer *x, int32_t i)
{
    const sked_i_dag_rows *in = &x->input.view->in;
    double best = INFINITY;
    int32_t first, last;
    sked_i_placer_range(x, i, &first, &last);
    if (first == last) {
        consider(x, i, first, &best);
        return best < INFINITY;
    }
    consider_classes(x, i, &best);
    for (int64_t k = in->ptr ? in->ptr[i] : 0, n = 0; in->ptr && k < in->ptr[i + 1] && n < few_predecessors;
         k++, n++)
        consider(x, i, x->device[in->op[k]], &best);
    return best < INFINITY;
}
