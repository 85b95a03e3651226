#include "engine/list/memory_sweep.h"

#include <assert.h>
#include <string.h>

enum { looks = 16 };
typedef sked_i_memory_sweep sweep;

enum { not_ready, on_its_way, other, eager, started };

/* ------------------------------------------------------------------ one sweep */

static void admit(sweep *x, int32_t i, double now)
{
    assert(x->waiting[i] == 0 && x->phase[i] != started);
    x->admitted++;
    if (x->arrival[i] > now) {
        x->phase[i] = on_its_way;
        sked_i_event_heap_push(&x->pending, (sked_i_event){x->arrival[i], i});
    } else if (x->growth[i] <= 0) {
        x->phase[i] = eager;
        x->stack[x->depth++] = i;
    } else {
        x->phase[i] = other;
        sked_i_set_add(&x->others, (uint32_t)x->urgency[i]);
    }
}

/* Starting op i would now take `size` less than before. */
static void relieve(sweep *x, int32_t i, double size)
{
    x->growth[i] -= size;
    if (x->phase[i] == other && x->growth[i] <= 0) {
        sked_i_set_remove(&x->others, (uint32_t)x->urgency[i]);
        x->phase[i] = eager;
        x->stack[x->depth++] = i;
    }
}

/* Forward: the value is born. Its inputs lose a reader, and die with the last. */
static void change_forward(sweep *x, int32_t i)
{
    const sked_i_uses *u = x->u;
    x->memory += u->size[i];
    for (int64_t k = u->input_ptr[i]; k < u->input_ptr[i + 1]; k++) {
        const int32_t q = u->input[k];
        assert(x->left[q] > 0);
        x->last[q] ^= i;
        if (--x->left[q] == 0)
            x->memory -= u->size[q];
        else if (x->left[q] == 1)
            relieve(x, x->last[q], u->size[q]);
    }
}

/* Backward: the value ends. Its inputs are alive from here down, those that were not already. */
static void change_backward(sweep *x, int32_t i)
{
    const sked_i_uses *u = x->u;
    x->memory -= u->size[i];
    for (int64_t k = u->input_ptr[i]; k < u->input_ptr[i + 1]; k++) {
        const int32_t q = u->input[k];
        if (x->left[q]++ > 0)
            continue;
        x->memory += u->size[q];
        for (int64_t r = u->reader_ptr[q]; r < u->reader_ptr[q + 1]; r++)
            if (x->phase[u->reader[r]] != started)
                relieve(x, u->reader[r], u->size[q]);
    }
}

static void begin(sweep *x, int32_t i, double now)
{
    if (x->phase[i] == other)
        sked_i_set_remove(&x->others, (uint32_t)x->urgency[i]);
    x->phase[i] = started;
    const double t = fmax(now, x->arrival[i]);
    x->start[i] = t;
    if (x->backward)
        change_backward(x, i);
    else
        change_forward(x, i);
    for (int64_t e = x->next.ptr[i]; e < x->next.ptr[i + 1]; e++) {
        const int32_t to = x->next.op[e];
        x->arrival[to] = fmax(x->arrival[to], t + x->next.lag[e]);
        if (--x->waiting[to] == 0)
            admit(x, to, now);
    }
}

static void begin_eager(sweep *x, double now)
{
    while (x->depth > 0) {
        const int32_t i = x->stack[--x->depth];
        if (x->phase[i] == eager)
            begin(x, i, now);
    }
}

static void begin_forced(sweep *x, double now)
{
    for (; x->first_open < x->v->n; x->first_open++) {
        const int32_t i = x->urgent[x->first_open];
        if (x->phase[i] == started)
            continue;
        if (x->late[i] > now)
            return;
        begin(x, i, now);
    }
}

/* The most urgent ops that the budget has room for; at most `looks` others are passed over. */
static void begin_within_budget(sweep *x, double now)
{
    int32_t passed[looks];
    int n = 0;
    while (n < looks && !sked_i_set_empty(&x->others)) {
        const int32_t i = x->urgent[sked_i_set_first(&x->others)];
        if (x->memory + x->growth[i] > x->budget) {
            sked_i_set_remove(&x->others, (uint32_t)x->urgency[i]);
            passed[n++] = i;
            continue;
        }
        begin(x, i, now);
        begin_eager(x, now);
    }
    for (int k = 0; k < n; k++)
        if (x->phase[passed[k]] == other)
            sked_i_set_add(&x->others, (uint32_t)x->urgency[passed[k]]);
}

static double next_event(sweep *x)
{
    while (x->pending.count > 0 && x->phase[x->pending.at[0].id] == started)
        sked_i_event_heap_pop(&x->pending);
    const double data = x->pending.count > 0 ? x->pending.at[0].time : INFINITY;
    return x->first_open < x->v->n ? fmin(data, x->late[x->urgent[x->first_open]]) : data;
}

static void reset(sweep *x)
{
    const int32_t n = x->v->n;
    const sked_i_uses *u = x->u;
    x->memory = x->peak = 0;
    x->depth = x->first_open = x->pending.count = 0;
    memset(x->words, 0, (size_t)sked_i_set_words(n) * sizeof *x->words);
    memset(x->phase, not_ready, (size_t)n);
    memset(x->waiting, 0, (size_t)n * sizeof *x->waiting);
    for (int32_t i = 0; i < n; i++) {
        x->arrival[i] = x->early[i];
        x->left[i] = x->backward ? 0 : (int32_t)(u->reader_ptr[i + 1] - u->reader_ptr[i]);
        x->last[i] = 0;
        x->growth[i] = x->backward ? -u->size[i] : u->size[i];
        for (int64_t e = x->next.ptr[i]; e < x->next.ptr[i + 1]; e++)
            x->waiting[x->next.op[e]]++;
    }
    for (int32_t i = 0; i < n; i++)
        for (int64_t r = u->reader_ptr[i]; r < u->reader_ptr[i + 1]; r++) {
            x->last[i] ^= u->reader[r];
            if (x->backward)
                x->growth[u->reader[r]] += u->size[i];
            else if (x->left[i] == 1)
                x->growth[u->reader[r]] -= u->size[i];
        }
}

double sked_i_memory_sweep_run(sweep *x, double budget, const sked_i_limit *limit)
{
    enum { ops_between_looks = 1 << 14 };
    reset(x);
    x->budget = budget;
    double now = -INFINITY;
    for (int32_t i = 0; i < x->v->n; i++)
        if (x->waiting[i] == 0)
            admit(x, i, now);
    while ((now = next_event(x)) < INFINITY) {
        if (x->admitted >= ops_between_looks) {
            x->admitted = 0;
            if (sked_i_limit_heard(limit))
                return INFINITY;
        }
        while (x->pending.count > 0 && x->pending.at[0].time <= now) {
            const int32_t i = sked_i_event_heap_pop(&x->pending).id;
            if (x->phase[i] == on_its_way)
                admit(x, i, now);
        }
        begin_forced(x, now);
        begin_eager(x, now);
        begin_within_budget(x, now);
        x->peak = fmax(x->peak, x->memory);
    }
    for (int32_t i = 0; x->backward && i < x->v->n; i++)
        x->start[i] = fmax(-x->start[i], -x->late[i]); /* rounding may not pass the window */
    return x->peak;
}

sked_status sked_i_memory_sweep_make(sked_i_arena *arena, const sked_i_dag *v, const sked_i_uses *u, sweep *x,
                                     sked_error *err)
{
    const int32_t n = v->n;
    sked_status st = SKED_OK;
    *x = (sweep){.v = v, .u = u};
    SKED_OWN(arena, x->arrival, n);
    SKED_OWN(arena, x->growth, n);
    SKED_OWN(arena, x->waiting, n);
    SKED_OWN(arena, x->left, n);
    SKED_OWN(arena, x->last, n);
    SKED_OWN(arena, x->phase, n);
    SKED_OWN(arena, x->stack, n);
    SKED_OWN(arena, x->pending.at, n);
    SKED_OWN(arena, x->words, sked_i_set_words(n));
    SKED_OWN(arena, x->start, n);
    sked_i_set_place(&x->others, n, x->words);
cleanup:
    return st;
}
