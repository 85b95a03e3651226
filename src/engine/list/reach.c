/*
 * Machines on which some pairs of devices have no link: an op may only go where its data can come, and from
 * where its successors can still be reached. Every op has a set of groups of devices it may yet go to. The
 * sets are kept arc-consistent over the edges that carry data (Mackworth, Artificial Intelligence 8, 1977),
 * before a run and with every op that is placed. That finds a schedule nearly always, not always: a dead end
 * shows as x->late.
 */
#include "base/sort.h"
#include "engine/list/placer.h"

#include <assert.h>
#include <string.h>

typedef sked_i_placer placer;

struct sked_i_reach {
    int32_t groups, *group; /* [devices] those of a group have the same links, also to one another, and run */
    int32_t *first;         /* the same ops; [groups] a device of each */
    int32_t words;          /* of a set of groups */
    uint64_t *out, *into;   /* [groups * words] what a group reaches; what reaches it; itself in both */
    uint64_t *able;         /* [n * words] groups that can run the op */
    uint64_t *may;          /* [n * words] groups it may yet go to */
    uint64_t *all;          /* [words] every group */
    uint64_t *set;          /* [words] scratch */
    uint64_t *last[2];      /* [2 * words] a large set and what it reaches; and what reaches it */
    int32_t *queue;         /* [n] ops whose set has changed, a ring */
    bool *queued;           /* [n] */
    int32_t head, waiting;
};

static void add(uint64_t *set, int32_t g)
{
    set[g / 64] |= UINT64_C(1) << (g % 64);
}

static int32_t link_kind(const placer *x, int32_t d)
{
    return x->far.kind ? x->far.kind[d] : 0;
}

static bool linked(const placer *x, int32_t from, int32_t to)
{
    return !isnan(x->far.latency[(int64_t)link_kind(x, from) * x->far.kinds + link_kind(x, to)]);
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

/* What tells groups apart: the kind of links and the class of times; of a kind without links in it the
 * device. */
static uint64_t group_key(const placer *x, int32_t d)
{
    const sked_i_costs *c = x->input.view->costs;
    const int32_t q = c->class_of ? c->class_of[sked_i_device_time_kind(c, d)] : 0;
    return ((uint64_t)link_kind(x, d) << 32) + (uint32_t)(linked(x, d, d) ? q : d);
}

static sked_status find_groups(placer *x, sked_i_reach *r, sked_error *err)
{
    const int32_t m = x->input.devices;
    sked_status st = SKED_OK;
    sked_i_keyed *at = NULL;
    SKED_OWN(&x->arena, r->group, m);
    SKED_OWN(&x->arena, r->first, m);
    SKED_NEW(at, 2 * (int64_t)m);
    for (int32_t d = 0; d < m; d++)
        at[d] = (sked_i_keyed){.key = group_key(x, d), .value = d};
    sked_i_sort_keyed(at, at + m, m);
    for (int32_t k = 0; k < m; k++) {
        if (k == 0 || at[k].key != at[k - 1].key)
            r->first[r->groups++] = (int32_t)at[k].value;
        r->group[at[k].value] = r->groups - 1;
    }
    r->words = (r->groups + 63) / 64;
cleanup:
    free(at);
    return st;
}

static void fill_links(const placer *x, sked_i_reach *r)
{
    for (int32_t g = 0; g < r->groups; g++)
        for (int32_t h = 0; h < r->groups; h++) {
            if (g == h || linked(x, r->first[g], r->first[h]))
                add(r->out + (int64_t)g * r->words, h);
            if (g == h || linked(x, r->first[h], r->first[g]))
                add(r->into + (int64_t)g * r->words, h);
        }
}

/* Ops that the graph gives no durations by device can run on all devices. */
static void fill_able(const placer *x, sked_i_reach *r)
{
    const sked_i_costs *c = x->input.view->costs;
    for (int32_t g = 0; g < r->groups; g++)
        add(r->all, g);
    for (int32_t i = 0; i < x->input.view->n; i++) {
        uint64_t *able = r->able + (int64_t)i * r->words;
        const bool any =
            (c->row == NULL || c->row[i] < 0) && !x->far.instant[sked_i_pools_class(x->input.pools, i)];
        if (any)
            memcpy(able, r->all, (size_t)r->words * sizeof *able);
        for (int32_t g = 0; !any && g < r->groups; g++)
            if (sked_i_placer_time(x, i, r->first[g]) < INFINITY)
                add(able, g);
    }
}

sked_status sked_i_reach_create(sked_i_placer *x, sked_i_reach **out, sked_error *err)
{
    const int32_t n = x->input.view->n;
    sked_status st = SKED_OK;
    sked_i_reach *r;
    if (!is_needed(x))
        return SKED_OK;
    SKED_OWN0(&x->arena, r, 1);
    SKED_TRY(find_groups(x, r, err));
    SKED_OWN0(&x->arena, r->out, (int64_t)r->groups * r->words);
    SKED_OWN0(&x->arena, r->into, (int64_t)r->groups * r->words);
    SKED_OWN0(&x->arena, r->able, (int64_t)n * r->words);
    SKED_OWN(&x->arena, r->may, (int64_t)n * r->words);
    SKED_OWN0(&x->arena, r->all, r->words);
    SKED_OWN(&x->arena, r->set, r->words);
    SKED_OWN0(&x->arena, r->last[0], 2 * (int64_t)r->words);
    SKED_OWN0(&x->arena, r->last[1], 2 * (int64_t)r->words);
    SKED_OWN(&x->arena, r->queue, n);
    SKED_OWN0(&x->arena, r->queued, n);
    fill_links(x, r);
    fill_able(x, r);
    *out = r;
cleanup:
    return st;
}

/* Union of rows of out or into over a set of groups, into r->set. Many ops have the same large set. */
static void spread(placer *x, const uint64_t *from, const uint64_t *rows)
{
    enum { large = 16 };
    const sked_i_reach *r = x->reach;
    const size_t bytes = (size_t)r->words * sizeof *r->set;
    uint64_t *last = r->last[rows == r->into];
    int64_t count = 0;
    if (memcmp(from, last, bytes) == 0) {
        memcpy(r->set, last + r->words, bytes);
        return;
    }
    memset(r->set, 0, bytes);
    for (int32_t v = 0; v < r->words; v++)
        for (uint64_t left = from[v]; left != 0; left &= left - 1, count++) {
            const uint64_t *row = rows + (64 * (int64_t)v + __builtin_ctzll(left)) * r->words;
            for (int32_t w = 0; w < r->words; w++)
                r->set[w] |= row[w];
        }
    x->pace.steps += count * r->words / 8;
    if (count >= large) {
        memcpy(last, from, bytes);
        memcpy(last + r->words, r->set, bytes);
    }
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
static void revise(placer *x, int32_t i, const sked_i_dag_rows *rows, const uint64_t *reached)
{
    sked_i_reach *r = x->reach;
    bool known = false;
    for (int64_t e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
        if (!(rows->bytes[e] > 0))
            continue;
        if (!known)
            spread(x, r->may + (int64_t)i * r->words, reached);
        known = true;
        if (narrow(r->may + (int64_t)rows->op[e] * r->words, r->set, r->words))
            push(r, x->input.view->n, rows->op[e]);
    }
}

/* Until no set changes, or the time is up: then sets stay larger than they might be. */
static void propagate(placer *x)
{
    const sked_i_dag *v = x->input.view;
    sked_i_reach *r = x->reach;
    while (r->waiting > 0) {
        const int32_t i = r->queue[r->head];
        r->head = (r->head + 1) % v->n;
        r->waiting--;
        r->queued[i] = false;
        if (x->pace.over || sked_i_pace_over(&x->pace, r->words))
            continue;
        revise(x, i, &v->out, r->out);
        revise(x, i, &v->in, r->into);
    }
}

/* Where op i may go before any is placed, into r->set: its fixed device, or those in use. false: anywhere. */
static bool find_open(const placer *x, int32_t i)
{
    const bool fixed = x->how->fix_start != NULL && !isnan(x->how->fix_start[i]);
    const int32_t pinned = fixed ? x->device[i] : x->how->fix_device ? x->how->fix_device[i] : -1;
    if (pinned < 0 && x->how->use == NULL)
        return false;
    memset(x->reach->set, 0, (size_t)x->reach->words * sizeof *x->reach->set);
    if (pinned >= 0)
        add(x->reach->set, x->reach->group[pinned]);
    for (int32_t d = 0; pinned < 0 && d < x->input.devices; d++)
        if (x->how->use[d])
            add(x->reach->set, x->reach->group[d]);
    return true;
}

void sked_i_reach_reset(sked_i_placer *x)
{
    const sked_i_dag *v = x->input.view;
    sked_i_reach *r = x->reach;
    memcpy(r->may, r->able, (size_t)v->n * (size_t)r->words * sizeof *r->may);
    for (int32_t k = 0; k < v->n; k++) {
        const int32_t i = v->order[k];
        if (find_open(x, i))
            narrow(r->may + (int64_t)i * r->words, r->set, r->words);
        push(r, v->n, i);
    }
    propagate(x);
}

bool sked_i_reach_allows(const sked_i_placer *x, int32_t i, int32_t d)
{
    const int32_t g = x->reach->group[d];
    return x->reach->may[(int64_t)i * x->reach->words + g / 64] >> (g % 64) & 1;
}

void sked_i_reach_placed(sked_i_placer *x, int32_t i)
{
    sked_i_reach *r = x->reach;
    uint64_t *may = r->may + (int64_t)i * r->words;
    memset(r->set, 0, (size_t)r->words * sizeof *r->set);
    add(r->set, r->group[x->device[i]]);
    if (memcmp(may, r->set, (size_t)r->words * sizeof *may) == 0)
        return;
    memcpy(may, r->set, (size_t)r->words * sizeof *may);
    push(r, x->input.view->n, i);
    propagate(x);
}

/* Has a device of kind g links both ways with devices of the kinds in use? */
static bool links_with(const sked_machine *m, int32_t g, const int32_t *kind, int32_t kinds)
{
    bool linked = true;
    for (int32_t k = 0; linked && k < kinds; k++)
        linked = !isnan(m->link_latency[(int64_t)g * m->n_link_kinds + kind[k]]) &&
                 !isnan(m->link_latency[(int64_t)kind[k] * m->n_link_kinds + g]);
    return linked;
}

sked_status sked_i_linked_devices(const sked_i_costs *c, int32_t first, bool *use, sked_error *err)
{
    const sked_machine *m = c->machine;
    sked_status st = SKED_OK;
    int32_t *kind = NULL, kinds = 0;
    bool *used = NULL;
    SKED_NEW(kind, m->n_link_kinds);
    SKED_NEW0(used, m->n_link_kinds);
    kind[kinds++] = m->link_kind[first];
    used[m->link_kind[first]] = true;
    for (int32_t d = 0; d < c->devices; d++) {
        const int32_t g = m->link_kind[d];
        use[d] = d == first || links_with(m, g, kind, kinds);
        if (use[d] && !used[g])
            kind[kinds++] = g;
        used[g] = used[g] || use[d];
    }
cleanup:
    free(kind);
    free(used);
    return st;
}
