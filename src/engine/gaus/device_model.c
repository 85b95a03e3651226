/* The problem for the relaxation with devices. */
#include "engine/gaus/device.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

static const double per_op = 3;            /* cells per mean duration: finer did not pay */
static const int32_t most_cells = 1 << 13; /* along the horizon; all rows together at most 2^23 */
static const double most_shares = 0x1p25;  /* ops * devices */
static const double most_pairs = 0x1p26;   /* edges * kinds^2 on unequal devices */

/* ------------------------------------------------------------------ what does not depend on the horizon */

/* Earliest starts; fixed ones stay where they are. */
static void set_heads(sked_i_gaus_device_model *b)
{
    const sked_i_dag *v = &b->form->dag;
    memset(b->head, 0, (size_t)b->n * sizeof *b->head);
    for (int32_t k = 0; k < b->n; k++) {
        const int32_t i = v->order[k];
        if (b->p->fix_start != NULL && !isnan(b->p->fix_start[i]))
            b->head[i] = b->p->fix_start[i];
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++)
            b->head[v->out.op[e]] = fmax(b->head[v->out.op[e]], b->head[i] + v->out.lag[e]);
        b->mean += v->duration[i] / b->n;
    }
}

/* The same on unequal devices: every op on the fastest it may use, transfers aside. */
static void set_heads_unequal(sked_i_gaus_device_model *b)
{
    const sked_i_dag *v = &b->form->dag;
    const sked_i_unequal *u = b->form->unequal;
    memset(b->head, 0, (size_t)b->n * sizeof *b->head);
    b->mean = u->work;
    for (int32_t k = 0; k < b->n; k++) {
        const int32_t i = v->order[k];
        const double time = sked_i_unequal_time(u, i, u->able[u->able_ptr[i]]);
        if (b->p->fix_start != NULL && !isnan(b->p->fix_start[i]))
            b->head[i] = b->p->fix_start[i];
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const sked_i_unequal_arc *x = &u->out[e];
            b->head[x->op] = fmax(b->head[x->op], b->head[i] + x->lag + x->share * time);
        }
    }
}

static sked_status set_arcs(sked_i_gaus_device_model *b, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_unequal *u = b->form->unequal;
    const int64_t edges = b->form->dag.out.ptr[b->n];
    SKED_NEW(b->bytes, edges);
    SKED_NEW(b->follows, edges);
    SKED_NEW(b->links, edges);
    for (int64_t e = 0; e < edges; e++) {
        assert(u->out[e].op == b->form->dag.out.op[e]);
        b->bytes[e] = u->out[e].bytes;
        b->follows[e] = u->out[e].share;
        b->links[e] = u->out[e].links;
    }
cleanup:
    return st;
}

static sked_status set_uses(sked_i_gaus_device_model *b, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_pools *q = &b->form->pools;
    int64_t count = 0;
    SKED_NEW(b->use_ptr, (int64_t)b->n + 1);
    for (int32_t i = 0; i < b->n; i++)
        count += sked_i_pools_end(q, i) - sked_i_pools_first(q, i);
    SKED_NEW(b->use_pool, count);
    SKED_NEW(b->use_amount, count);
    count = 0;
    for (int32_t i = 0; i < b->n; i++) {
        b->use_ptr[i] = count;
        for (int64_t k = sked_i_pools_first(q, i); k < sked_i_pools_end(q, i); k++) {
            if (!(q->amount[k] > 0) || !(q->capacity[q->pool[k]] > 0))
                continue; /* without capacity the op takes no time wherever it can run */
            b->use_pool[count] = q->pool[k];
            b->use_amount[count++] = q->amount[k] / q->capacity[q->pool[k]];
        }
    }
    b->use_ptr[b->n] = count;
cleanup:
    return st;
}

sked_status sked_i_gaus_device_model_create(const sked_problem *p, const sked_i_costs *c,
                                            sked_i_gaus_device_model **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_gaus_device_model *b = NULL;
    SKED_NEW0(b, 1);
    *b = (sked_i_gaus_device_model){.p = p, .n = p->graph->n_ops, .m = p->devices};
    SKED_TRY(sked_i_sequencing_create(p, c, &b->form, err));
    SKED_NEW(b->head, b->n);
    if (b->form->unequal != NULL) {
        set_heads_unequal(b);
        SKED_TRY(set_arcs(b, err));
    } else {
        set_heads(b);
    }
    SKED_TRY(set_uses(b, err));
    *out = b;
    return SKED_OK;
cleanup:
    sked_i_gaus_device_model_destroy(b);
    return st;
}

void sked_i_gaus_device_model_destroy(sked_i_gaus_device_model *b)
{
    if (b == NULL)
        return;
    sked_i_sequencing_destroy(b->form);
    free(b->head);
    free(b->use_ptr);
    free(b->use_pool);
    free(b->use_amount);
    free(b->bytes);
    free(b->follows);
    free(b->links);
    free(b);
}

/* At least 64 cells for every device and pool. */
bool sked_i_gaus_device_model_fits(const sked_i_gaus_device_model *b)
{
    const double rows = (double)b->m + b->form->pools.count;
    const double kinds = b->form->unequal != NULL ? b->form->unequal->kinds : 0;
    return (double)b->n * b->m <= most_shares && rows * 64 <= 0x1p23 &&
           (double)b->form->dag.out.ptr[b->n] * kinds * kinds <= most_pairs;
}

/* ------------------------------------------------------------------ one horizon */

static sked_status open_kinds(sked_i_gaus_device_grid *g, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_gaus_device_model *b = g->model;
    const sked_i_unequal *u = b->form->unequal;
    const int64_t pairs = (int64_t)u->kinds * u->kinds;
    SKED_NEW(g->time, (int64_t)b->n * u->kinds);
    SKED_NEW(g->latency, 2 * pairs);
    SKED_NEW(g->per_byte, pairs);
    g->kinds = (sked_i_gaus_device_kinds){.count = u->kinds,
                                          .of = u->kind_of,
                                          .time = g->time,
                                          .latency = g->latency,
                                          .per_byte = g->per_byte,
                                          .bytes = b->bytes,
                                          .follows = b->follows,
                                          .links = b->links};
    g->view.kinds = &g->kinds;
cleanup:
    return st;
}

sked_status sked_i_gaus_device_grid_create(const sked_i_gaus_device_model *b, sked_i_gaus_device_grid **out,
                                           sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_dag *v = &b->form->dag;
    const int64_t edges = v->out.ptr[b->n];
    sked_i_gaus_device_grid *g = NULL;
    SKED_NEW0(g, 1);
    g->model = b;
    SKED_NEW(g->lo, b->n);
    SKED_NEW(g->hi, b->n);
    SKED_NEW(g->duration, b->n);
    SKED_NEW(g->lag, edges);
    if (v->out.transfer != NULL && b->m > 1 && b->form->unequal == NULL)
        SKED_NEW(g->transfer, edges);
    g->view = (sked_i_gaus_device_view){.ops = b->n,
                                        .devices = b->m,
                                        .pools = b->form->pools.count,
                                        .duration = g->duration,
                                        .succ_ptr = v->out.ptr,
                                        .edge_to = v->out.op,
                                        .lag = g->lag,
                                        .transfer = g->transfer,
                                        .use_ptr = b->use_ptr,
                                        .use_pool = b->use_pool,
                                        .use_amount = b->use_amount};
    if (b->form->unequal != NULL)
        SKED_TRY(open_kinds(g, err));
    *out = g;
    return SKED_OK;
cleanup:
    sked_i_gaus_device_grid_destroy(g);
    return st;
}

void sked_i_gaus_device_grid_destroy(sked_i_gaus_device_grid *g)
{
    if (g == NULL)
        return;
    free(g->lo);
    free(g->hi);
    free(g->duration);
    free(g->lag);
    free(g->transfer);
    free(g->time);
    free(g->latency);
    free(g->per_byte);
    free(g);
}

/* Times and links in cells. A transfer as long as twice the horizon is as good as none. */
static void set_kinds(sked_i_gaus_device_grid *g, double scale)
{
    const sked_i_gaus_device_model *b = g->model;
    const sked_i_unequal *u = b->form->unequal;
    const int64_t pairs = (int64_t)u->kinds * u->kinds;
    for (int64_t k = 0; k < (int64_t)b->n * u->kinds; k++)
        g->time[k] = u->time[k] < INFINITY ? fmin(u->time[k] * scale, 0x1p26) : INFINITY;
    for (int64_t k = 0; k < 2 * pairs; k++)
        g->latency[k] = fmin(u->latency[k] * scale, 0x1p26);
    for (int64_t k = 0; k < pairs; k++)
        g->per_byte[k] = scale / u->bandwidth[k];
    for (int64_t e = 0; e < b->form->dag.out.ptr[b->n]; e++)
        g->lag[e] = fmax(-0x1p26, fmin(0x1p26, u->out[e].lag * scale));
    g->kinds.longest = 2.0 * g->view.cells;
}

void sked_i_gaus_device_grid_set(sked_i_gaus_device_grid *g, double horizon)
{
    const sked_i_gaus_device_model *b = g->model;
    const sked_i_dag *v = &b->form->dag;
    const double rows = (double)b->m + b->form->pools.count;
    const double most = fmin(most_cells, floor(0x1p23 / fmax(1, rows)));
    const double wish = b->mean > 0 && horizon > 0 ? ceil(per_op * horizon / b->mean) : 1;
    g->view.cells = (int32_t)fmax(64, fmin(most, wish));
    assert(g->view.cells >= 64);
    g->horizon = horizon;
    g->width = horizon > 0 ? horizon / g->view.cells : 1;
    const double scale = 1 / g->width;
    for (int32_t i = 0; i < b->n; i++) {
        const bool fixed = b->p->fix_start != NULL && !isnan(b->p->fix_start[i]);
        g->duration[i] = fmin(v->duration[i] * scale, 0x1p26);
        g->lo[i] = fmin(b->head[i] * scale, 0x1p26);
        g->hi[i] = fixed ? g->lo[i] : fmax(g->lo[i], (horizon - b->form->tail[i]) * scale);
        assert(g->lo[i] <= g->hi[i] && g->duration[i] >= 0);
    }
    if (g->view.kinds != NULL) {
        set_kinds(g, scale);
        return;
    }
    for (int64_t e = 0; e < v->out.ptr[b->n]; e++) {
        g->lag[e] = fmax(-0x1p26, fmin(0x1p26, v->out.lag[e] * scale));
        if (g->transfer != NULL)
            g->transfer[e] = fmin(0x1p26, v->out.transfer[e] * scale);
    }
}
