/*
 * Machines on which some pairs of devices have no link: an op may only go where its data can come, and from
 * where its successors can still be reached. Every op has a set of devices it may yet go to. The sets are
 * kept arc-consistent over the edges that carry data (Mackworth, Artificial Intelligence 8, 1977), before a
 * run and with every op that is placed. That finds a schedule nearly always, not always: a dead end shows as
 * x->late.
 */
#include "engine/list/placer.h"

#include <assert.h>
#include <string.h>

typedef sked_i_placer placer;

struct sked_i_reach {
    int32_t words;        /* of a set of devices */
    uint64_t *out, *into; /* [devices * words] what a device reaches; what reaches it; itself in both */
    uint64_t *able;       /* [n * words] devices that can run the op */
    uint64_t *may;        /* [n * words] devices it may yet go to */
    uint64_t *set;        /* [words] scratch */
    int32_t *queue;       /* [n] ops whose set has changed, a ring */
    bool *queued;         /* [n] */
    int32_t head, waiting;
};

static void add(uint64_t *set, int32_t d)
{
    set[d / 64] |= UINT64_C(1) << (d % 64);
}

static bool has(const uint64_t *set, int32_t d)
{
    return set[d / 64] >> (d % 64) & 1;
}

/* Is there an edge with data, and a pair of devices without a link? */
static bool is_needed(const placer *x)
{
    const sked_i_dag *v = x->input.view;
    const sked_i_arrivals *a = &x->far;
    bool missing = false, data = false;
    for (int64_t k = 0; k < (int64_t)a->kinds * a->kinds; k++)
        missing = missing || isnan(a->latency[k]);
    for (int64_t k = 0; missing && !data && k < v->out.ptr[v->n]; k++)
        data = v->out.bytes[k] > 0;
    return missing && data;
}

static void fill_sets(const placer *x, sked_i_reach *r)
{
    const sked_i_arrivals *a = &x->far;
    const int32_t m = x->input.devices;
    for (int32_t d = 0; d < m; d++)
        for (int32_t e = 0; e < m; e++) {
            const int32_t from = a->kind ? a->kind[d] : 0, to = a->kind ? a->kind[e] : 0;
            if (d != e && isnan(a->latency[(int64_t)from * a->kinds + to]))
                continue;
            add(r->out + (int64_t)d * r->words, e);
            add(r->into + (int64_t)e * r->words, d);
        }
    for (int32_t i = 0; i < x->input.view->n; i++)
        for (int32_t d = 0; d < m; d++)
            if (sked_i_placer_time(x, i, d) < INFINITY)
                add(r->able + (int64_t)i * r->words, d);
}

sked_status sked_i_reach_create(sked_i_placer *x, sked_i_reach **out, sked_error *err)
{
    const int32_t m = x->input.devices, n = x->input.view->n;
    sked_status st = SKED_OK;
    sked_i_reach *r;
    if (!is_needed(x))
        return SKED_OK;
    SKED_OWN0(&x->arena, r, 1);
    r->words = (m + 63) / 64;
    SKED_OWN0(&x->arena, r->out, (int64_t)m * r->words);
    SKED_OWN0(&x->arena, r->into, (int64_t)m * r->words);
    SKED_OWN0(&x->arena, r->able, (int64_t)n * r->words);
    SKED_OWN(&x->arena, r->may, (int64_t)n * r->words);
    SKED_OWN(&x->arena, r->set, r->words);
    SKED_OWN(&x->arena, r->queue, n);
    SKED_OWN0(&x->arena, r->queued, n);
    fill_sets(x, r);
    *out = r;
cleanup:
    return st;
}

/* Union of rows of out or into over a set of devices, into r->set. */
static void spread(const sked_i_reach *r, const uint64_t *from, const uint64_t *rows, int32_t devices)
{
    memset(r->set, 0, (size_t)r->words * sizeof *r->set);
    for (int32_t d = 0; d < devices; d++)
        for (int32_t w = 0; has(from, d) && w < r->words; w++)
            r->set[w] |= rows[(int64_t)d * r->words + w];
}

/* Takes from a set what is not in the other, unless nothing would stay. True: it became smaller. */
static bool narrow(uint64_t *set, const uint64_t *other, int32_t words)
{
    bool any = false, fewer = false;
    for (int32_t w = 0; w < words; w++) {
        any = any || (set[w] & other[w]) != 0;
        fewer = fewer || (set[w] & ~other[w]) != 0;
    }
    for (int32_t w = 0; any && fewer && w < words; w++)
        set[w] &= other[w];
    return any && fewer;
}

static void push(sked_i_reach *r, int32_t n, int32_t i)
{
    if (r->queued[i])
        return;
    assert(r->waiting < n);
    r->queued[i] = true;
    r->queue[(r->head + r->waiting++) % n] = i;
}

/* Takes from the sets at the other ends of an op's edges what its own set does not reach. */
static void revise(const placer *x, int32_t i, const sked_i_dag_rows *rows, const uint64_t *reached)
{
    sked_i_reach *r = x->reach;
    bool known = false;
    for (int64_t e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
        if (!(rows->bytes[e] > 0))
            continue;
        if (!known)
            spread(r, r->may + (int64_t)i * r->words, reached, x->input.devices);
        known = true;
        if (narrow(r->may + (int64_t)rows->op[e] * r->words, r->set, r->words))
            push(r, x->input.view->n, rows->op[e]);
    }
}

/* Until no set changes. */
static void propagate(const placer *x)
{
    const sked_i_dag *v = x->input.view;
    sked_i_reach *r = x->reach;
    while (r->waiting > 0) {
        const int32_t i = r->queue[r->head];
        r->head = (r->head + 1) % v->n;
        r->waiting--;
        r->queued[i] = false;
        revise(x, i, &v->out, r->out);
        revise(x, i, &v->in, r->into);
    }
}

/* The devices op i may go to before any is placed, into r->set: its fixed one, or those in use. */
static void find_open(const placer *x, int32_t i)
{
    const bool fixed = x->how->fix_start != NULL && !isnan(x->how->fix_start[i]);
    const int32_t pinned = fixed ? x->device[i] : x->how->fix_device ? x->how->fix_device[i] : -1;
    memset(x->reach->set, 0, (size_t)x->reach->words * sizeof *x->reach->set);
    for (int32_t d = 0; d < x->input.devices; d++)
        if (pinned == d || (pinned < 0 && (x->how->use == NULL || x->how->use[d])))
            add(x->reach->set, d);
}

void sked_i_reach_reset(sked_i_placer *x)
{
    const sked_i_dag *v = x->input.view;
    sked_i_reach *r = x->reach;
    memcpy(r->may, r->able, (size_t)v->n * (size_t)r->words * sizeof *r->may);
    for (int32_t k = 0; k < v->n; k++) {
        const int32_t i = v->order[k];
        find_open(x, i);
        narrow(r->may + (int64_t)i * r->words, r->set, r->words);
        push(r, v->n, i);
    }
    propagate(x);
}

const uint64_t *sked_i_reach_choices(const sked_i_placer *x, int32_t i)
{
    return x->reach->may + (int64_t)i * x->reach->words;
}

void sked_i_reach_placed(sked_i_placer *x, int32_t i)
{
    sked_i_reach *r = x->reach;
    uint64_t *may = r->may + (int64_t)i * r->words;
    memset(r->set, 0, (size_t)r->words * sizeof *r->set);
    add(r->set, x->device[i]);
    if (memcmp(may, r->set, (size_t)r->words * sizeof *may) == 0)
        return;
    memcpy(may, r->set, (size_t)r->words * sizeof *may);
    push(r, x->input.view->n, i);
    propagate(x);
}

void sked_i_linked_devices(const sked_i_costs *c, int32_t first, bool *use)
{
    for (int32_t d = 0; d < c->devices; d++)
        use[d] = d == first;
    for (int32_t d = 0; d < c->devices; d++) {
        bool linked = true;
        for (int32_t e = 0; linked && e < c->devices; e++)
            linked = !use[e] || (sked_i_transfer_time(c, 1, d, e) < INFINITY &&
                                 sked_i_transfer_time(c, 1, e, d) < INFINITY);
        use[d] = linked;
    }
}
