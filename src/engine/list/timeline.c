#include "engine/list/timeline.h"

#include <assert.h>
#include <math.h>

typedef sked_i_timeline_node tnode;

enum { none = -1 };

static uint32_t scatter(uint32_t x)
{
    uint64_t z = (x + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(z >> 32);
}

static int32_t new_node(sked_i_timeline *tl, double time, double used)
{
    const int32_t i = tl->count++;
    tl->node[i] = (tnode){time, used, used, used, 0, none, none, scatter((uint32_t)i)};
    return i;
}

sked_status sked_i_timeline_init(sked_i_arena *arena, sked_i_timeline *tl, int64_t uses, sked_error *err)
{
    sked_status st = SKED_OK;
    if (uses >= INT32_MAX / 2)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "more than %d ops on one resource", INT32_MAX / 2);
    SKED_OWN(arena, tl->node, 2 * uses + 1);
    sked_i_timeline_reset(tl);
cleanup:
    return st;
}

void sked_i_timeline_reset(sked_i_timeline *tl)
{
    tl->count = 0;
    tl->root = new_node(tl, 0, 0);
}

static void refresh(sked_i_timeline *tl, int32_t i)
{
    tnode *const x = &tl->node[i];
    x->least = x->most = x->used;
    for (int side = 0; side < 2; side++) {
        const int32_t c = side ? x->right : x->left;
        if (c == none)
            continue;
        const tnode *const y = &tl->node[c];
        x->least = fmin(x->least, y->least + y->add);
        x->most = fmax(x->most, y->most + y->add);
    }
}

/* Hands the pending sum of node i down to its children. */
static void push_down(sked_i_timeline *tl, int32_t i)
{
    tnode *const x = &tl->node[i];
    if (x->add == 0)
        return;
    x->used += x->add;
    x->least += x->add;
    x->most += x->add;
    if (x->left != none)
        tl->node[x->left].add += x->add;
    if (x->right != none)
        tl->node[x->right].add += x->add;
    x->add = 0;
}

/* Splits the tree at i into times below `time` and the rest. Depth is O(log n) expected. */
static void split(sked_i_timeline *tl, int32_t i, double time, int32_t *below, int32_t *rest)
{
    if (i == none) {
        *below = *rest = none;
        return;
    }
    push_down(tl, i);
    tnode *const x = &tl->node[i];
    if (x->time < time) {
        split(tl, x->right, time, &x->right, rest);
        *below = i;
    } else {
        split(tl, x->left, time, below, &x->left);
        *rest = i;
    }
    refresh(tl, i);
}

static int32_t insert(sked_i_timeline *tl, int32_t at, int32_t fresh)
{
    tnode *const x = &tl->node[fresh];
    if (at == none)
        return fresh;
    tnode *const y = &tl->node[at];
    push_down(tl, at);
    if (x->order > y->order) {
        split(tl, at, x->time, &x->left, &x->right);
        refresh(tl, fresh);
        return fresh;
    }
    if (x->time < y->time)
        y->left = insert(tl, y->left, fresh);
    else
        y->right = insert(tl, y->right, fresh);
    refresh(tl, at);
    return at;
}

/* Step that holds at `time`: its beginning, and the amount used. */
static double step_at(const sked_i_timeline *tl, double time, double *used)
{
    double sum = 0, begin = 0;
    for (int32_t i = tl->root; i != none;) {
        const tnode *const x = &tl->node[i];
        sum += x->add;
        if (x->time <= time) {
            begin = x->time;
            *used = x->used + sum;
            i = x->right;
        } else
            i = x->left;
    }
    return begin;
}

static void ensure_step(sked_i_timeline *tl, double time)
{
    double used = 0;
    if (step_at(tl, time, &used) == time)
        return;
    const int32_t fresh = new_node(tl, time, used);
    tl->root = insert(tl, tl->root, fresh);
}

/* Adds to all steps in [begin, end) below node i; low, high: whether i's subtree lies above, below them. */
static void add_between(sked_i_timeline *tl, int32_t i, double begin, double end, double amount, bool low,
                        bool high)
{
    if (i == none)
        return;
    tnode *const x = &tl->node[i];
    if (low && high) {
        x->add += amount;
        return;
    }
    push_down(tl, i);
    const bool after = x->time >= begin, before = x->time < end;
    if (after)
        add_between(tl, x->left, begin, end, amount, low, high || before);
    if (before)
        add_between(tl, x->right, begin, end, amount, low || after, high);
    if (after && before)
        x->used += amount;
    refresh(tl, i);
}

void sked_i_timeline_use(sked_i_timeline *tl, double begin, double end, double amount)
{
    assert(begin >= 0 && begin <= end); /* equal: so late that the time between is lost */
    ensure_step(tl, begin);
    ensure_step(tl, end);
    add_between(tl, tl->root, begin, end, amount, false, false);
}

/* First step after `time` that uses at most limit (or, with above, more), its beginning; INFINITY: none. */
static double next_step(const sked_i_timeline *tl, int32_t i, double sum, double time, double limit,
                        bool above)
{
    while (i != none) {
        const tnode *const x = &tl->node[i];
        sum += x->add;
        if (above ? !(x->most + sum > limit) : !(x->least + sum <= limit))
            return INFINITY;
        if (x->time > time) {
            const double left = next_step(tl, x->left, sum, time, limit, above);
            if (left < INFINITY)
                return left;
            if (above ? x->used + sum > limit : x->used + sum <= limit)
                return x->time;
        }
        i = x->right;
    }
    return INFINITY;
}

double sked_i_timeline_fit(const sked_i_timeline *tl, double from, double length, double limit)
{
    double used = 0, t = from;
    assert(from >= 0 && length > 0);
    step_at(tl, t, &used);
    if (used > limit)
        t = next_step(tl, tl->root, 0, t, limit, false);
    for (;;) {
        const double full = next_step(tl, tl->root, 0, t, limit, true);
        if (t + length <= full)
            return t;
        t = next_step(tl, tl->root, 0, full, limit, false);
    }
}
