/*
 * Objective memory: least memory first.
 *
 * Time goes from event to event. An op starts as soon as it may when that frees at least as much as its
 * result takes; any other op waits for its latest start, or starts before it while the memory in use stays
 * within a budget, the most urgent first. Budgets are found by bisection. The same is done from the end
 * backwards (a value is then born with its first consumer and dies with its op), and the plain earliest and
 * latest schedules are offered too, so the result is never worse than those.
 */
#include "base/heap.h"
#include "base/set.h"
#include "method/list/list.h"

#include <string.h>

enum { budgets = 10, looks = 16 };

typedef struct sweep {
    const sked_i_dag *v;
    const sked_i_uses *u;
    sked_i_dag_rows next; /* edges in the direction of time */
    bool backward;
    const double *early, *late; /* windows in the direction of time */
    const int32_t *urgent;      /* ops by latest start */
    const int32_t *urgency;     /* their place there */
    double budget;
    /* state */
    double *arrival, *growth; /* growth: of memory when the op starts now */
    int32_t *waiting;
    int32_t *left, *last; /* forward: readers not started, and their xor; backward: left is 0 while unborn */
    uint8_t *phase;
    int32_t *stack;
    int32_t depth, first_open;
    sked_i_event_heap pending;
    sked_i_set others;
    uint64_t *words;
    double memory, peak;
    double *start;
    int32_t admitted; /* since the last look at the clock */
} sweep;

enum { not_ready, on_its_way, other, eager, started };

/* ------------------------------------------------------------------ one sweep */

static void admit(sweep *x, int32_t i, double now)
{
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

/* There is a schedule, and no time for another one. */
static bool is_over(const sked_i_run *run)
{
    return sked_i_run_incumbent(run) != NULL && sked_i_run_over(run);
}

/* Fills x->start for the budget and returns the peak; INFINITY: it was broken off. O((ops + edges) log ops).
 */
static double run_sweep(const sked_i_run *run, sweep *x, double budget)
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
            if (is_over(run))
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

/* ------------------------------------------------------------------ all of them */

static void sweep_free(sweep *x)
{
    void *const owned[] = {x->arrival, x->growth, x->waiting,    x->left,  x->last,
                           x->phase,   x->stack,  x->pending.at, x->words, x->start};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

static sked_status sweep_make(const sked_i_dag *v, const sked_i_uses *u, sweep *x, sked_error *err)
{
    const int32_t n = v->n;
    sked_status st = SKED_OK;
    *x = (sweep){.v = v, .u = u};
    SKED_NEW(x->arrival, n);
    SKED_NEW(x->growth, n);
    SKED_NEW(x->waiting, n);
    SKED_NEW(x->left, n);
    SKED_NEW(x->last, n);
    SKED_NEW(x->phase, n);
    SKED_NEW(x->stack, n);
    SKED_NEW(x->pending.at, n);
    SKED_NEW(x->words, sked_i_set_words(n));
    SKED_NEW(x->start, n);
    sked_i_set_place(&x->others, n, x->words);
cleanup:
    return st;
}

/* Lazily first, then budgets between the bound and the best peak so far. */
static sked_status offer_budgets(sked_i_run *run, const sked_i_windows *w, sweep *x, sked_error *err)
{
    sked_status st = SKED_OK;
    double low = sked_i_run_bound(run), best = INFINITY, budget = -INFINITY;
    for (int k = 0; k < budgets && !is_over(run); k++) {
        const double peak = run_sweep(run, x, budget);
        if (peak == INFINITY)
            break;
        if (peak < best || sked_i_run_wanted(run) > 1)
            SKED_TRY(sked_i_offer_starts(run, w, x->start, err));
        if (peak < best)
            best = peak;
        else
            low = budget;
        if (!w->limited) /* what was offered says more than the sweep itself */
            best = fmin(best, sked_i_run_best(run));
        budget = low + 0.5 * (best - low);
        if (!(budget < best))
            break;
    }
cleanup:
    return st;
}

/* urgent: ops by key, predecessors in the direction of time first among equals. */
static sked_status sort_urgent(const sked_i_dag *v, const double *key, int32_t *urgency, int32_t *urgent,
                               sked_error *err)
{
    const sked_status st = sked_i_rank_by_key(v, key, urgency, err);
    for (int32_t i = 0; st == SKED_OK && i < v->n; i++)
        urgent[urgency[i]] = i;
    return st;
}

static sked_status sweep_both_ways(sked_i_run *run, const sked_i_windows *w, sked_i_dag *v, sked_error *err)
{
    const int32_t n = v->n;
    sked_status st = SKED_OK;
    sked_i_uses u = {0};
    sweep x = {0};
    int32_t *urgent = NULL, *urgency = NULL, *reversed = NULL;
    double *down = NULL;
    SKED_TRY(sked_i_uses_make(run->problem->graph, v, &u, err));
    SKED_TRY(sweep_make(v, &u, &x, err));
    SKED_NEW(urgent, n);
    SKED_NEW(urgency, n);
    SKED_NEW(reversed, n);
    SKED_NEW(down, 2 * (int64_t)n);
    SKED_TRY(sort_urgent(v, w->late, urgency, urgent, err));
    x.urgent = urgent;
    x.urgency = urgency;
    x.early = w->early;
    x.late = w->late;
    x.next = v->out;
    SKED_TRY(offer_budgets(run, w, &x, err));
    for (int32_t i = 0; i < n; i++) {
        down[i] = -w->late[i];
        down[n + i] = -w->early[i];
        reversed[i] = v->order[n - 1 - i];
    }
    sked_i_dag turned = *v;
    turned.order = reversed;
    SKED_TRY(sort_urgent(&turned, down + n, urgency, urgent, err));
    x.backward = true;
    x.early = down;
    x.late = down + n;
    x.next = v->in;
    SKED_TRY(offer_budgets(run, w, &x, err));
cleanup:
    sked_i_uses_free(&u);
    sweep_free(&x);
    free(urgent);
    free(urgency);
    free(reversed);
    free(down);
    return st;
}

sked_status sked_i_list_memory(sked_i_run *run, const sked_problem *plan, const sked_i_windows *w,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_dag v = {0};
    bool ordered = true; /* no op may start before its predecessor */
    SKED_TRY(sked_i_offer_starts(run, w, w->early, err));
    SKED_TRY(sked_i_offer_starts(run, w, w->late, err));
    SKED_TRY(sked_i_dag_make(plan, NULL, false, true, &v, err));
    for (int64_t e = 0; e < v.out.ptr[v.n]; e++)
        ordered = ordered && v.out.lag[e] >= 0;
    if (ordered)
        SKED_TRY(sweep_both_ways(run, w, &v, err));
cleanup:
    sked_i_dag_free(&v);
    return st;
}
