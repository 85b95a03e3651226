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

/* Cells of tables by op and device that are worth their while: they take some hundredths of a second. */
static const double most_cells = 4.2e6;

static bool able(const sked_i_hetero *u, int32_t i, int32_t d)
{
    return sked_i_hetero_time(u, i, d) < INFINITY && (u->fix == NULL || u->fix[i] < 0 || u->fix[i] == d);
}

/* Devices each op may run on, the shortest time first; of equals the lower number. */
static sked_status list_able(sked_i_hetero *u, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *items = NULL;
    int64_t count = 0;
    for (int32_t i = 0; i < u->n; i++)
        for (int32_t d = 0; d < u->m; d++)
            count += able(u, i, d);
    SKED_OWN(&u->arena, u->able_ptr, (int64_t)u->n + 1);
    SKED_OWN(&u->arena, u->able, count);
    SKED_NEW(items, 2 * (int64_t)u->m);
    u->able_ptr[0] = 0;
    for (int32_t i = 0; i < u->n; i++) {
        int32_t n = 0;
        for (int32_t d = 0; d < u->m; d++)
            if (able(u, i, d))
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

static int32_t class_of(const sked_i_hetero *u, int32_t d)
{
    return u->costs->class_of[sked_i_device_time_kind(u->costs, d)];
}

/* Large machines: lists for all ops. */
static sked_status list_devices(sked_i_hetero *u, sked_error *err)
{
    const sked_i_costs *c = u->costs;
    sked_status st = SKED_OK;
    sked_i_keyed *items = NULL;
    SKED_OWN(&u->arena, u->by_speed, u->m);
    SKED_OWN(&u->arena, u->by_class, u->m);
    SKED_OWN(&u->arena, u->speed_place, u->m);
    SKED_OWN(&u->arena, u->class_place, u->m);
    SKED_OWN(&u->arena, u->class_first, c->classes);
    SKED_NEW(items, 2 * (int64_t)u->m);
    for (int32_t d = 0; d < u->m; d++)
        items[d] = (sked_i_keyed){sked_i_sort_key(-c->machine->speed[d]), d};
    sked_i_sort_keyed(items, items + u->m, u->m);
    for (int32_t k = 0; k < u->m; k++) {
        u->by_speed[k] = (int32_t)items[k].value;
        u->speed_place[u->by_speed[k]] = k;
        items[k].key = (uint64_t)class_of(u, u->by_speed[k]);
    }
    sked_i_sort_keyed(items, items + u->m, u->m);
    for (int32_t k = u->m - 1; k >= 0; k--) {
        u->by_class[k] = (int32_t)items[k].value;
        u->class_place[u->by_class[k]] = k;
        u->class_first[class_of(u, u->by_class[k])] = k;
    }
cleanup:
    free(items);
    return st;
}

static double class_time(const sked_i_hetero *u, int32_t op, int32_t q)
{
    return sked_i_kind_time(u->costs, op, u->costs->fastest[q]);
}

/* The class after `last` in the order of the op's shortest times, of many in that of their numbers; -1: none.
 */
static int32_t class_after(const sked_i_hetero *u, int32_t op, int32_t last)
{
    enum { many = 8 };
    const int32_t classes = u->costs->classes;
    const double before = last < 0 ? -1 : class_time(u, op, last);
    int32_t next = -1;
    for (int32_t q = classes > many ? last + 1 : 0; q < classes && !(classes > many && next >= 0); q++) {
        const double t = class_time(u, op, q);
        const bool behind = classes > many || t > before || (t == before && q > last);
        if (t < INFINITY && behind && (next < 0 || t < class_time(u, op, next)))
            next = q;
    }
    return next;
}

static bool follows_speed(const sked_i_hetero *u, int32_t op)
{
    return u->costs->row == NULL || u->costs->row[op] < 0;
}

static int32_t fixed_on(const sked_i_hetero *u, int32_t op)
{
    return u->fix != NULL ? u->fix[op] : -1;
}

int32_t sked_i_hetero_choices(const sked_i_hetero *u, int32_t op)
{
    int32_t count = 0;
    if (u->able != NULL)
        return (int32_t)(u->able_ptr[op + 1] - u->able_ptr[op]);
    if (fixed_on(u, op) >= 0 || follows_speed(u, op))
        return fixed_on(u, op) >= 0 ? 1 : u->m;
    for (int32_t q = 0; q < u->costs->classes; q++)
        count += class_time(u, op, q) < INFINITY ? (int32_t)u->costs->class_size[q] : 0;
    return count;
}

int32_t sked_i_hetero_choice(const sked_i_hetero *u, int32_t op, int32_t k)
{
    assert(k >= 0 && k < sked_i_hetero_choices(u, op));
    if (u->able != NULL)
        return u->able[u->able_ptr[op] + k];
    if (fixed_on(u, op) >= 0 || follows_speed(u, op))
        return fixed_on(u, op) >= 0 ? fixed_on(u, op) : u->by_speed[k];
    int32_t q = class_after(u, op, -1);
    for (; k >= (int32_t)u->costs->class_size[q]; q = class_after(u, op, q))
        k -= (int32_t)u->costs->class_size[q];
    return u->by_class[u->class_first[q] + k];
}

int32_t sked_i_hetero_choice_of(const sked_i_hetero *u, int32_t op, int32_t device)
{
    int32_t k = 0;
    if (u->able != NULL) {
        const int32_t *list = u->able + u->able_ptr[op];
        while (k + 1 < sked_i_hetero_choices(u, op) && list[k] != device)
            k++;
        return k;
    }
    if (fixed_on(u, op) >= 0 || follows_speed(u, op))
        return fixed_on(u, op) >= 0 ? 0 : u->speed_place[device];
    const int32_t own = class_of(u, device);
    for (int32_t q = class_after(u, op, -1); q != own && q >= 0; q = class_after(u, op, q))
        k += (int32_t)u->costs->class_size[q];
    return k + u->class_place[device] - u->class_first[own];
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
                                        .links = rows->bytes[e] > 0 ? 0 : u->links * u->links};
cleanup:
    return st;
}

/* Shortest and longest time of op i where it may run; 0 where it cannot at all. */
static double own_time(const sked_i_hetero *u, int32_t i, bool longest)
{
    const int32_t d = fixed_on(u, i);
    const double t = d >= 0    ? sked_i_hetero_time(u, i, d)
                     : longest ? sked_i_longest_time(u->costs, i)
                               : sked_i_shortest_time(u->costs, i);
    return t < INFINITY ? t : 0;
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
        const double own = own_time(u, i, true);
        double longest = own;
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const sked_i_hetero_arc *x = &u->out[e];
            longest = fmax(longest, fabs(x->lag) + x->share * own + slow + x->bytes * narrow);
            u->transfer += latency + x->bytes * per_byte;
            u->orderly = u->orderly && x->lag >= 0;
        }
        u->work += own_time(u, i, false);
        u->span += longest;
        if (p->fix_start != NULL && p->fix_start[i] > latest)
            latest = p->fix_start[i];
    }
    u->span += latest;
    u->barred = 2 * u->span + 1;
    u->work = u->n > 0 ? u->work / u->n : 1;
    u->transfer = v->out.ptr[u->n] > 0 ? u->transfer / (double)v->out.ptr[u->n] : 0;
}

/* Latencies by pair of kinds of links. Data that has no link takes so long that no good schedule uses it. */
static sked_status copy_links(sked_i_hetero *u, sked_error *err)
{
    const sked_machine *machine = u->costs->machine;
    const int64_t pairs = (int64_t)u->links * u->links;
    sked_status st = SKED_OK;
    SKED_OWN(&u->arena, u->latency, 2 * pairs);
    SKED_OWN(&u->arena, u->bandwidth, pairs);
    for (int64_t k = 0; k < pairs; k++) {
        const bool missing = isnan(machine->link_latency[k]);
        u->latency[k] = missing ? u->barred : machine->link_latency[k];
        u->latency[pairs + k] = missing ? 0 : machine->link_latency[k];
        u->bandwidth[k] = missing ? INFINITY : machine->link_bandwidth[k];
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
                    a == b ? 0 : sked_i_hetero_pass(u, &u->in[e], u->link_of[a], u->link_of[b]);
cleanup:
    return st;
}

/* ------------------------------------------------------------------ tails */

static int32_t link_of_kind(const sked_i_hetero *u, int32_t k)
{
    return u->link_of[sked_i_kinds_device(&u->like, k)];
}

/* Least time from when the data of an arc is there on a device of kind k to the end of everything. */
static double least_rest(const sked_i_hetero *u, const sked_i_hetero_arc *x, int32_t k)
{
    const double *tail = u->tail + (int64_t)x->op * u->kinds;
    double least = tail[k];
    for (int32_t q = 0; q < u->kinds; q++) {
        const double rest =
            tail[q] + (q == k ? 0 : sked_i_hetero_pass(u, x, link_of_kind(u, k), link_of_kind(u, q)));
        least = rest < least ? rest : least;
    }
    return least;
}

/* An op cannot run where its fixed device is of another kind. */
static double may_take(const sked_i_hetero *u, int32_t i, int32_t k)
{
    return fixed_on(u, i) >= 0 && u->kind_of[u->fix[i]] != k ? INFINITY : u->time[(int64_t)i * u->kinds + k];
}

/* Every successor runs where it is best for this path alone. */
static void fill_tails(sked_i_hetero *u, const sked_i_dag *v)
{
    for (int32_t q = u->n - 1; q >= 0; q--) {
        const int32_t i = v->order[q];
        double *tail = u->tail + (int64_t)i * u->kinds;
        u->least[i] = INFINITY;
        for (int32_t k = 0; k < u->kinds; k++) {
            const double own = may_take(u, i, k);
            tail[k] = own;
            for (int64_t e = v->out.ptr[i]; own < INFINITY && e < v->out.ptr[i + 1]; e++) {
                const sked_i_hetero_arc *x = &u->out[e];
                tail[k] = fmax(tail[k], x->lag + x->share * own + least_rest(u, x, k));
            }
            u->least[i] = fmin(u->least[i], tail[k]);
        }
    }
}

/* The same without transfers: what follows an op is the same on all devices. */
static void fill_rests(sked_i_hetero *u, const sked_i_dag *v)
{
    for (int32_t q = u->n - 1; q >= 0; q--) {
        const int32_t i = v->order[q];
        double *const behind_end = &u->rest[i], *const behind_start = &u->rest[u->n + i];
        *behind_end = *behind_start = 0;
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const sked_i_hetero_arc *x = &u->out[e];
            double *const rest = x->share > 0 ? behind_end : behind_start;
            *rest = fmax(*rest, x->lag + u->least[x->op]);
        }
        u->least[i] = fmax(own_time(u, i, false) + *behind_end, *behind_start);
    }
}

/* On large machines without transfers. */
static sked_status find_tails(sked_i_hetero *u, const sked_i_dag *v, sked_error *err)
{
    const double large = 2e7;
    const bool wide = u->time == NULL || (double)v->out.ptr[u->n] * u->kinds * u->kinds > large;
    sked_status st = SKED_OK;
    SKED_OWN(&u->arena, u->least, u->n);
    if (wide)
        SKED_OWN(&u->arena, u->rest, 2 * (int64_t)u->n);
    else
        SKED_OWN(&u->arena, u->tail, (int64_t)u->n * u->kinds);
    if (wide)
        fill_rests(u, v);
    else
        fill_tails(u, v);
cleanup:
    return st;
}

sked_status sked_i_hetero_make(const sked_problem *p, const sked_i_dag *v, sked_i_hetero *u, sked_error *err)
{
    sked_status st = SKED_OK;
    assert(v->costs != NULL && v->costs->machine != NULL && v->in.ptr != NULL);
    *u = (sked_i_hetero){.costs = v->costs, .n = v->n, .m = p->devices, .fix = p->fix_device};
    SKED_TRY(sked_i_kinds_make(u->costs, NULL, false, &u->like, err));
    u->kinds = u->like.count;
    u->kind_of = u->like.of;
    u->links = u->costs->machine->n_link_kinds;
    u->link_of = u->costs->machine->link_kind;
    if ((double)u->n * u->kinds <= most_cells) {
        SKED_OWN(&u->arena, u->time, (int64_t)u->n * u->kinds);
        sked_i_kinds_times(&u->like, u->costs, u->time);
    }
    SKED_TRY((double)u->n * u->m <= most_cells ? list_able(u, err) : list_devices(u, err));
    SKED_TRY(copy_arcs(u, &v->in, &u->in, err));
    SKED_TRY(copy_arcs(u, &v->out, &u->out, err));
    measure(u, p, v);
    SKED_TRY(copy_links(u, err));
    SKED_TRY(list_passes(u, v->in.ptr[u->n], err));
    SKED_TRY(find_tails(u, v, err));
cleanup:
    return st;
}
