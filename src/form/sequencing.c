#include "form/sequencing.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void sked_i_sequencing_destroy(sked_i_sequencing *l)
{
    if (l == NULL)
        return;
    sked_i_dag_free(&l->dag);
    sked_i_pools_free(&l->pools);
    sked_i_arena_free(&l->arena);
    if (l->hetero != NULL)
        sked_i_hetero_free(l->hetero);
    free(l->hetero);
    free(l);
}

static void pack_links(const sked_i_dag_rows *rows, int64_t count, sked_i_sequencing_arc *link)
{
    for (int64_t k = 0; k < count; k++)
        link[k] = (sked_i_sequencing_arc){
            rows->lag[k], rows->lag[k] + (rows->transfer ? rows->transfer[k] : 0), rows->op[k]};
}

/* Sums over the problem that steer the search. */
static void measure(sked_i_sequencing *l)
{
    const sked_i_dag *v = &l->dag;
    const int64_t edges = v->out.ptr[v->n];
    double work = 0, transfer = 0, latest = 0;
    l->orderly = true;
    for (int32_t i = 0; i < v->n; i++) {
        double longest = v->duration[i];
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            longest = fmax(longest, fabs(l->out[e].away));
            transfer += l->out[e].away - l->out[e].here;
            l->orderly = l->orderly && l->out[e].here >= 0;
        }
        work += v->duration[i];
        l->span += longest;
        if (l->problem->fix_start != NULL && l->problem->fix_start[i] > latest)
            latest = l->problem->fix_start[i];
    }
    l->span += latest;
    l->scale = v->n > 0 ? work / v->n : 1;
    l->scale += edges > 0 ? fmin(transfer / (double)edges, 4 * l->scale) : 0;
}

/* Identical devices. */
static sked_status make_identical(sked_i_sequencing *l, sked_error *err)
{
    const int64_t edges = l->dag.out.ptr[l->n];
    sked_status st = SKED_OK;
    SKED_OWN(&l->arena, l->in, edges);
    SKED_OWN(&l->arena, l->out, edges);
    pack_links(&l->dag.in, edges, l->in);
    pack_links(&l->dag.out, edges, l->out);
    sked_i_tails(l->problem->graph, l->tail);
    l->valid = INFINITY;
    measure(l);
cleanup:
    return st;
}

static sked_status make_hetero(sked_i_sequencing *l, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW0(l->hetero, 1);
    SKED_TRY(sked_i_hetero_make(l->problem, &l->dag, l->hetero, err));
    const sked_i_hetero *u = l->hetero;
    memcpy(l->tail, u->least, (size_t)l->n * sizeof *l->tail);
    l->span = u->span;
    l->valid = 0.5 * (u->span + u->barred);
    l->scale = u->work + fmin(u->transfer, 4 * u->work);
    l->orderly = u->orderly;
cleanup:
    return st;
}

sked_status sked_i_sequencing_create(const sked_problem *p, const sked_i_costs *c, sked_i_sequencing **out,
                                     sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_sequencing *l = NULL;
    assert(p->devices > 0);
    SKED_NEW0(l, 1);
    l->problem = p;
    l->n = p->graph->n_ops;
    l->m = p->devices;
    SKED_TRY(sked_i_dag_make(p, c, false, true, &l->dag, err));
    SKED_TRY(sked_i_pools_make(p, false, &l->pools, err));
    SKED_OWN(&l->arena, l->tail, l->n);
    l->plain = p->fix_start == NULL && l->pools.class_ptr[l->pools.n_classes] == 0;
    SKED_TRY(p->machine == NULL ? make_identical(l, err) : make_hetero(l, err));
    *out = l;
    return SKED_OK;
cleanup:
    sked_i_sequencing_destroy(l);
    return st;
}
