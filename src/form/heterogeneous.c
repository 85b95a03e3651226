#include "form/heterogeneous.h"

#include "base/sort.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void sked_i_hetero_free(sked_i_hetero *u)
{
    sked_i_kinds_free(&u->like);
    sked_i_arena_free(&u->arena);
    *u = (sked_i_hetero){0};
}

/* ------------------------------------------------------------------ devices */

static bool able(const sked_i_hetero *u, const int32_t *fix, int32_t i, int32_t d)
{
    return sked_i_hetero_time(u, i, d) < INFINITY && (fix == NULL || fix[i] < 0 || fix[i] == d);
}

/* Devices each op may run on, the shortest time first; of equals the lower number. */
static sked_status list_able(sked_i_hetero *u, const int32_t *fix, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *items = NULL;
    int64_t count = 0;
    for (int32_t i = 0; i < u->n; i++)
        for (int32_t d = 0; d < u->m; d++)
            count += able(u, fix, i, d);
    SKED_OWN(&u->arena, u->able_ptr, (int64_t)u->n + 1);
    SKED_OWN(&u->arena, u->able, count);
    SKED_NEW(items, 2 * (int64_t)u->m);
    u->able_ptr[0] = 0;
    for (int32_t i = 0; i < u->n; i++) {
        int32_t n = 0;
        for (int32_t d = 0; d < u->m; d++)
            if (able(u, fix, i, d))
                items[n++] = (sked_i_keyed){sked_i_sort_key(sked_i_hetero_time(u, i, d)), d};
        sked_i_sort_keyed(items, items + u->m, n);
        for (int32_t k = 0; k < n; k++)
            u->able[u->able_ptr[i] + k] = (int32_t)items[k].value;
        u->able_ptr[i + 1] = u->able_ptr[i] + n;
    }
cleanup:
    free(items);
    return st;
}

/* ------------------------------------------------------------------ edges */

static sked_status copy_arcs(sked_i_hetero *u, const sked_i_dag_rows *rows, sked_i_hetero_arc **out,
                             sked_error *err)
{
    const int64_t edges = rows->ptr[u->n];
    sked_status st = SKED_OK;
    SKED_OWN(&u->arena, *out, edges);
    for (int64_t e = 0; e < edges; e++)
        (*out)[e] = (sked_i_hetero_arc){.lag = rows->given[e] ? rows->lag[e] : 0,
                                        .share = rows->given[e] ? 0 : 1,
                                        .bytes = rows->bytes[e],
                                        .op = rows->op[e],
                                        .links = rows->bytes[e] > 0 ? 0 : u->kinds * u->kinds};
cleanup:
    return st;
}

static double longest_time(const sked_i_hetero *u, int32_t i)
{
    double longest = 0;
    for (int64_t k = u->able_ptr[i]; k < u->able_ptr[i + 1]; k++)
        longest = fmax(longest, sked_i_hetero_time(u, i, u->able[k]));
    return longest;
}

/* Latency of the slowest link, and 1 / bandwidth of the narrowest. */
static void slowest_link(const sked_machine *machine, double *latency, double *per_byte)
{
    *latency = *per_byte = 0;
    for (int64_t k = 0; k < (int64_t)machine->n_link_kinds * machine->n_link_kinds; k++)
        if (!isnan(machine->link_latency[k])) {
            *latency = fmax(*latency, machine->link_latency[k]);
            *per_byte = fmax(*per_byte, 1 / machine->link_bandwidth[k]);
        }
}

/* Sums over the problem: what no list exceeds, and what one decision typically changes. */
static void measure(sked_i_hetero *u, const sked_problem *p, const sked_i_dag *v)
{
    double latency, per_byte, slow, narrow, latest = 0;
    sked_i_mean_link(u->costs, &latency, &per_byte);
    slowest_link(u->costs->machine, &slow, &narrow);
    u->orderly = true;
    for (int32_t i = 0; i < u->n; i++) {
        const double own = longest_time(u, i);
        double longest = own;
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const sked_i_hetero_arc *x = &u->out[e];
            longest = fmax(longest, fabs(x->lag) + x->share * own + slow + x->bytes * narrow);
            u->transfer += latency + x->bytes * per_byte;
            u->orderly = u->orderly && x->lag >= 0;
        }
        u->work +=
            u->able_ptr[i] < u->able_ptr[i + 1] ? sked_i_hetero_time(u, i, u->able[u->able_ptr[i]]) : 0;
        u->span += longest;
        if (p->fix_start != NULL && p->fix_start[i] > latest)
            latest = p->fix_start[i];
    }
    u->span += latest;
    u->barred = 2 * u->span + 1;
    u->work = u->n > 0 ? u->work / u->n : 1;
    u->transfer = v->out.ptr[u->n] > 0 ? u->transfer / (double)v->out.ptr[u->n] : 0;
}

/* Latencies by pair of kinds. Data that has no link takes so long that no good schedule uses it. */
static sked_status copy_links(sked_i_hetero *u, sked_error *err)
{
    const int64_t pairs = (int64_t)u->kinds * u->kinds;
    sked_status st = SKED_OK;
    SKED_OWN(&u->arena, u->latency, 2 * pairs);
    SKED_OWN(&u->arena, u->bandwidth, pairs);
    for (int64_t k = 0; k < pairs; k++) {
        double latency, bandwidth;
        sked_i_kinds_link(&u->like, u->costs, (int32_t)(k / u->kinds), (int32_t)(k % u->kinds), &latency,
                          &bandwidth);
        const bool missing = isnan(latency);
        u->latency[k] = missing ? u->barred : latency;
        u->latency[pairs + k] = missing ? 0 : latency;
        u->bandwidth[k] = missing ? INFINITY : bandwidth;
    }
cleanup:
    return st;
}

/* Transfers by edge and pair of devices, where all of them stay in a cache. */
static sked_status list_passes(sked_i_hetero *u, int64_t edges, sked_error *err)
{
    const double large = 1 << 16;
    const int64_t m = u->m;
    sked_status st = SKED_OK;
    if ((double)edges * (double)m * (double)m > large)
        return SKED_OK;
    SKED_OWN(&u->arena, u->pass, edges * m * m);
    for (int64_t e = 0; e < edges; e++)
        for (int32_t a = 0; a < m; a++)
            for (int32_t b = 0; b < m; b++)
                u->pass[(e * m + a) * m + b] =
                    a == b ? 0 : sked_i_hetero_pass(u, &u->in[e], u->kind_of[a], u->kind_of[b]);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ tails */

/* Least time from when the data of an arc is there on a device of kind k to the end of everything. */
static double least_rest(const sked_i_hetero *u, const sked_i_hetero_arc *x, int32_t k)
{
    const double *tail = u->tail + (int64_t)x->op * u->kinds;
    double least = tail[k];
    for (int32_t q = 0; q < u->kinds; q++) {
        const double rest = tail[q] + (q == k ? 0 : sked_i_hetero_pass(u, x, k, q));
        least = rest < least ? rest : least;
    }
    return least;
}

/* An op cannot run where its fixed device is of another kind. */
static double may_take(const sked_i_hetero *u, const int32_t *fix, int32_t i, int32_t k)
{
    return fix != NULL && fix[i] >= 0 && u->kind_of[fix[i]] != k ? INFINITY
                                                                 : u->time[(int64_t)i * u->kinds + k];
}

/* Every successor runs where it is best for this path alone, or on large machines without transfers. */
static sked_status find_tails(sked_i_hetero *u, const sked_i_dag *v, const int32_t *fix, sked_error *err)
{
    const double large = 1e8;
    const bool wide = (double)v->out.ptr[u->n] * u->kinds * u->kinds > large;
    sked_status st = SKED_OK;
    double *least = NULL; /* over the kinds */
    SKED_OWN(&u->arena, u->tail, (int64_t)u->n * u->kinds);
    SKED_NEW(least, u->n);
    for (int32_t q = u->n - 1; q >= 0; q--) {
        const int32_t i = v->order[q];
        double *tail = u->tail + (int64_t)i * u->kinds;
        least[i] = INFINITY;
        for (int32_t k = 0; k < u->kinds; k++) {
            const double own = may_take(u, fix, i, k);
            tail[k] = own;
            for (int64_t e = v->out.ptr[i]; own < INFINITY && e < v->out.ptr[i + 1]; e++) {
                const sked_i_hetero_arc *x = &u->out[e];
                const double rest = wide ? least[x->op] : least_rest(u, x, k);
                tail[k] = fmax(tail[k], x->lag + x->share * own + rest);
            }
            least[i] = fmin(least[i], tail[k]);
        }
    }
cleanup:
    free(least);
    return st;
}

sked_status sked_i_hetero_make(const sked_problem *p, const sked_i_dag *v, sked_i_hetero *u, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(v->costs != NULL && v->costs->machine != NULL && v->in.ptr != NULL);
    *u = (sked_i_hetero){.costs = v->costs, .n = v->n, .m = p->devices};
    SKED_TRY(sked_i_kinds_make(u->costs, NULL, false, &u->like, err));
    u->kinds = u->like.count;
    u->kind_of = u->like.of;
    SKED_OWN(&u->arena, u->time, (int64_t)u->n * u->kinds);
    sked_i_kinds_times(&u->like, u->costs, u->time);
    SKED_TRY(list_able(u, p->fix_device, err));
    SKED_TRY(copy_arcs(u, &v->in, &u->in, err));
    SKED_TRY(copy_arcs(u, &v->out, &u->out, err));
    measure(u, p, v);
    SKED_TRY(copy_links(u, err));
    SKED_TRY(list_passes(u, v->in.ptr[u->n], err));
    SKED_TRY(find_tails(u, v, p->fix_device, err));
cleanup:
    return st;
}
