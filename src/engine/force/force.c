/*
 * Placing by force. An op that may start anywhere in its window is spread evenly over it; the sum over all
 * ops is the distribution of loads. The force of a start is what the distribution there exceeds the mean
 * of the window by, plus what it does to the windows of the op's direct neighbours. The op and start of least
 * force come next, and windows and distribution follow.
 *
 * Distributions are kept as differences: a window that changes costs O(1) per demand, and sums over any
 * stretch are read from running sums that are rebuilt before each placement.
 *
 * For objective memory an op stands for its value, which lives from the middle of the op's window to the
 * latest middle of its readers' windows.
 */
#include "engine/force/force.h"

#include "base/arena.h"
#include "base/thread.h"
#include "engine/list/list.h"

#include <assert.h>
#include <string.h>

enum { max_starts = 512 };
/* Forces of one placement below which one thread is faster than several: about 0.1 ms. */
static const int64_t least_shared_work = 30000;

typedef struct force {
    sked_i_arena arena;
    sked_i_steps *x;
    const sked_i_limit *limit;
    int32_t pools;
    int64_t row;           /* steps + 3 */
    double *bend;          /* [pools * row] second differences of the distribution; first ones for memory */
    double *sum, *sums;    /* [pools * row] of the distribution below a step; of those */
    double *scale;         /* [pools] 1 / highest load */
    int32_t *early, *late; /* [n] windows as they are now */
    int32_t *middle, *end; /* [n] memory: of window; of value */
    int32_t *stack, depth;
    uint8_t *stacked;
} force;

/* ------------------------------------------------------------------ distributions */

static void spread(force *f, int32_t i, double sign)
{
    const sked_i_pools *q = &f->x->loads;
    const int32_t e = f->early[i], l = f->late[i], d = f->x->length[i];
    for (int64_t k = sked_i_pools_first(q, i); k < sked_i_pools_end(q, i); k++) {
        double *bend = f->bend + q->pool[k] * f->row;
        const double share = sign * q->amount[k] / (l - e + 1);
        bend[e] += share;
        bend[l + 1] -= share;
        bend[e + d] -= share;
        bend[l + 1 + d] += share;
    }
}

/* Takes the value of op i out (sign -1) of the distribution of memory, or puts it in. */
static void spread_value(force *f, int32_t i, double sign)
{
    const double size = f->x->uses.size[i];
    if (f->end[i] > f->middle[i]) {
        f->bend[f->middle[i]] += sign * size;
        f->bend[f->end[i]] -= sign * size;
    }
}

static inline int32_t later(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int32_t sooner(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Latest reader of the value of op i, `without` left out (-1: none). */
static int32_t end_of_value(const force *f, int32_t i, int32_t without)
{
    const sked_i_uses *u = &f->x->uses;
    int32_t end = f->middle[i];
    for (int64_t k = u->reader_ptr[i]; k < u->reader_ptr[i + 1]; k++)
        if (u->reader[k] != without)
            end = later(end, f->middle[u->reader[k]]);
    return end;
}

/* Running sums of loads, or of memory: sum[k] over the steps below k, sums[k] over those. */
static void sum_up(force *f)
{
    for (int32_t r = 0; r < f->pools; r++) {
        const double *bend = f->bend + r * f->row;
        double *sum = f->sum + r * f->row, *sums = f->sums + r * f->row;
        double slope = 0, level = 0, peak = 0;
        sum[0] = sums[0] = 0;
        for (int32_t k = 0; k + 1 < f->row; k++) {
            slope += bend[k];
            level = f->x->memory ? slope : level + slope;
            sum[k + 1] = sum[k] + level;
            sums[k + 1] = sums[k] + sum[k];
            peak = level > peak ? level : peak;
        }
        f->scale[r] = peak > 0 ? 1 / peak : 0;
    }
}

static void set_window(force *f, int32_t i, int32_t e, int32_t l)
{
    assert(f->early[i] <= e && e <= l && l <= f->late[i]); /* windows only shrink, and none becomes empty */
    sked_i_steps *x = f->x;
    const sked_i_uses *u = &x->uses;
    if (!x->memory) {
        spread(f, i, -1);
        f->early[i] = e;
        f->late[i] = l;
        spread(f, i, 1);
        return;
    }
    spread_value(f, i, -1);
    f->early[i] = e;
    f->late[i] = l;
    f->middle[i] = e + (l - e) / 2;
    f->end[i] = end_of_value(f, i, -1);
    spread_value(f, i, 1);
    for (int64_t k = u->input_ptr[i]; k < u->input_ptr[i + 1]; k++) {
        const int32_t q = u->input[k];
        const int32_t end = f->middle[i] >= f->end[q] ? f->middle[i] : end_of_value(f, q, -1);
        if (end == f->end[q])
            continue;
        spread_value(f, q, -1);
        f->end[q] = end;
        spread_value(f, q, 1);
    }
}

/* ------------------------------------------------------------------ forces on loads */

/* Mean load under op i when its start is spread over e..l. */
static inline double mean_load(const force *f, int32_t i, int32_t e, int32_t l)
{
    const sked_i_pools *q = &f->x->loads;
    const int32_t d = f->x->length[i];
    double total = 0;
    for (int64_t k = sked_i_pools_first(q, i); k < sked_i_pools_end(q, i); k++) {
        const double *sums = f->sums + q->pool[k] * f->row;
        total +=
            q->amount[k] * f->scale[q->pool[k]] * (sums[l + d + 1] - sums[e + d] - sums[l + 1] + sums[e]);
    }
    return total / (l - e + 1);
}

static double force_on_loads(const force *f, int32_t i, int32_t t)
{
    const sked_i_steps *x = f->x;
    const sked_i_dag_rows *out = &x->dag.out, *in = &x->dag.in;
    double sum = mean_load(f, i, t, t) - mean_load(f, i, f->early[i], f->late[i]);
    for (int64_t k = out->ptr[i]; k < out->ptr[i + 1]; k++) {
        const int32_t j = out->op[k], e = later(f->early[j], t + x->out_lag[k]), l = f->late[j];
        if (e > f->early[j])
            sum += mean_load(f, j, e, l) - mean_load(f, j, f->early[j], l);
        if (x->out_sent[k])
            sum += x->alpha * (0.5 * ((double)e + l) - t);
    }
    for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
        const int32_t j = in->op[k], e = f->early[j], l = sooner(f->late[j], t - x->in_lag[k]);
        if (l < f->late[j])
            sum += mean_load(f, j, e, l) - mean_load(f, j, e, f->late[j]);
        if (x->in_sent[k])
            sum += x->alpha * (t - 0.5 * ((double)e + l));
    }
    return sum;
}

/* ------------------------------------------------------------------ forces on values */

static inline double memory_between(const force *f, int32_t begin, int32_t end)
{
    return end > begin ? f->sum[end] - f->sum[begin] : 0;
}

/* others[k]: end of the k-th input without op i. */
static double force_on_values(const force *f, int32_t i, int32_t t, const int32_t *others)
{
    const sked_i_steps *x = f->x;
    const sked_i_uses *u = &x->uses;
    const sked_i_dag_rows *out = &x->dag.out, *in = &x->dag.in;
    int32_t end = later(f->end[i], t);
    double sum = 0;
    for (int64_t k = out->ptr[i]; k < out->ptr[i + 1]; k++) {
        const int32_t j = out->op[k], e = later(f->early[j], t + x->out_lag[k]);
        const int32_t middle = e + (f->late[j] - e) / 2;
        end = later(end, middle);
        sum -= u->size[j] * memory_between(f, f->middle[j], sooner(middle, f->end[j]));
    }
    sum += u->size[i] * (memory_between(f, t, end) - memory_between(f, f->middle[i], f->end[i]));
    for (int64_t k = u->input_ptr[i]; k < u->input_ptr[i + 1]; k++) {
        const int32_t q = u->input[k], dies = later(others[k - u->input_ptr[i]], t);
        sum +=
            u->size[q] * (memory_between(f, f->middle[q], dies) - memory_between(f, f->middle[q], f->end[q]));
    }
    for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
        const int32_t j = in->op[k], l = sooner(f->late[j], t - x->in_lag[k]);
        const int32_t middle = f->early[j] + (l - f->early[j]) / 2;
        sum += u->size[j] * memory_between(f, middle, f->middle[j]);
    }
    return sum;
}

/* ------------------------------------------------------------------ placing */

/* Best start of op i and its force; wide windows are sampled evenly. others: scratch [n]. */
static double best_start(const force *f, int32_t i, int32_t *others, int32_t *best)
{
    const sked_i_steps *x = f->x;
    const int32_t e = f->early[i], width = f->late[i] - e + 1;
    const int32_t count = width < max_starts ? width : max_starts;
    double least = INFINITY;
    for (int64_t k = x->memory ? x->uses.input_ptr[i] : 0; x->memory && k < x->uses.input_ptr[i + 1]; k++) {
        const int32_t q = x->uses.input[k];
        others[k - x->uses.input_ptr[i]] = f->middle[i] < f->end[q] ? f->end[q] : end_of_value(f, q, i);
    }
    for (int32_t c = 0; c < count; c++) {
        const int32_t t = count < 2 ? e : e + (int32_t)((int64_t)c * (width - 1) / (count - 1));
        const double at = x->memory ? force_on_values(f, i, t, others) : force_on_loads(f, i, t);
        if (at < least) {
            least = at;
            *best = t;
        }
    }
    return least;
}

static void push(force *f, int32_t i)
{
    if (!f->stacked[i])
        f->stack[f->depth++] = i;
    f->stacked[i] = 1;
}

/* Narrows the windows of all ops that op i's new window reaches. */
static void propagate(force *f, int32_t i)
{
    const sked_i_steps *x = f->x;
    const sked_i_dag_rows *out = &x->dag.out, *in = &x->dag.in;
    f->depth = 0;
    push(f, i);
    while (f->depth > 0) {
        i = f->stack[--f->depth];
        f->stacked[i] = 0;
        for (int64_t k = out->ptr[i]; k < out->ptr[i + 1]; k++) {
            const int32_t j = out->op[k], e = f->early[i] + x->out_lag[k];
            if (e > f->early[j]) {
                set_window(f, j, e, f->late[j]);
                push(f, j);
            }
        }
        for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
            const int32_t j = in->op[k], l = f->late[i] - x->in_lag[k];
            if (l < f->late[j]) {
                set_window(f, j, f->early[j], l);
                push(f, j);
            }
        }
    }
}

/* Ops that have a choice, least choice first. */
static sked_status order_ops(force *f, int32_t *order, int32_t *count, sked_error *err)
{
    sked_status st = SKED_OK;
    double *width;
    int32_t *rank;
    const int32_t n = f->x->n;
    *count = 0;
    SKED_OWN(&f->arena, width, n);
    SKED_OWN(&f->arena, rank, n);
    for (int32_t i = 0; i < n; i++)
        width[i] = (double)f->late[i] - f->early[i];
    SKED_TRY(sked_i_rank_by_key(&f->x->dag, width, rank, err));
    for (int32_t i = 0; i < n; i++)
        order[rank[i]] = i;
    for (int32_t k = 0; k < n; k++)
        if (width[order[k]] > 0)
            order[(*count)++] = order[k];
cleanup:
    return st;
}

/* Starts of op i to look at, times the neighbours each of them concerns. */
static int64_t work_of(const force *f, int32_t i)
{
    const sked_i_dag_rows *out = &f->x->dag.out, *in = &f->x->dag.in;
    const int64_t degree = out->ptr[i + 1] - out->ptr[i] + in->ptr[i + 1] - in->ptr[i];
    return sooner(f->late[i] - f->early[i] + 1, max_starts) * (1 + degree);
}

/* Ops looked at per placement, so that all of it takes some seconds. */
static int32_t default_neighbourhood(const force *f, const int32_t *order, int32_t count)
{
    double work = 1;
    for (int32_t k = 0; k < count; k++)
        work += (double)work_of(f, order[k]);
    const double share = 5e8 / (work * fmax(1, count));
    return share >= 1 ? count : (int32_t)fmax(1, share * count);
}

/* The least force among some ops: where in the order, which start. */
typedef struct choice {
    int32_t at, start;
    double least;
} choice;

typedef struct placing {
    force *f;
    int threads;
    sked_i_team *team;
    int32_t *order, held;
    int32_t *others; /* [threads * n] scratch */
    choice *choices; /* [threads] */
} placing;

/* The best of every `step`-th op in the order; among equals the first. */
static void compare(placing *p, int first, int step)
{
    choice best = {-1, 0, INFINITY};
    int32_t *others = p->others + (int64_t)first * p->f->x->n;
    for (int32_t k = first; k < p->held; k += step) {
        int32_t t = 0;
        if (k % 16 == 0 && sked_i_limit_reached(p->f->limit))
            break;
        const double at = best_start(p->f, p->order[k], others, &t);
        if (at < best.least)
            best = (choice){k, t, at};
    }
    p->choices[first] = best;
}

static void compare_share(void *data, int index)
{
    placing *p = data;
    compare(p, index, p->threads);
}

/* Whatever the number of threads, the answer is that of one. */
static choice choose_next(placing *p, int64_t work)
{
    if (p->threads == 1 || work < least_shared_work) {
        compare(p, 0, 1);
        return p->choices[0];
    }
    sked_i_team_run(p->team, compare_share, p);
    choice best = p->choices[0];
    for (int k = 1; k < p->threads; k++) {
        const choice c = p->choices[k];
        if (c.at >= 0 && (c.least < best.least || (c.least == best.least && c.at < best.at)))
            best = c;
    }
    return best;
}

/* Drops what has no choice left from the ops held; returns the work of comparing the others. */
static int64_t drop_settled(placing *p)
{
    const force *f = p->f;
    int64_t work = 0;
    for (int32_t k = 0; k < p->held; k++) {
        const int32_t i = p->order[k];
        if (f->early[i] == f->late[i])
            p->order[k--] = p->order[--p->held];
        else
            work += work_of(f, i);
    }
    return work;
}

/*
 * Places the ops in order[0..count): of the first `near` that are still open the one of least force. Those
 * in order[0..held) are open or done; the rest waits.
 */
static void place_by_force(placing *p, int32_t count, int32_t near)
{
    force *f = p->f;
    int32_t next = 0;
    while (p->held > 0 || next < count) {
        while (p->held < near && next < count)
            p->order[p->held++] = p->order[next++];
        if (sked_i_limit_reached(f->limit))
            return;
        sum_up(f);
        const choice c = choose_next(p, drop_settled(p));
        if (c.at < 0)
            continue;
        const int32_t i = p->order[c.at];
        set_window(f, i, c.start, c.start);
        propagate(f, i);
        p->order[c.at] = p->order[--p->held];
    }
}

static sked_status open_placing(placing *p, force *f, int threads, sked_error *err)
{
    sked_status st = SKED_OK;
    *p = (placing){.f = f, .threads = threads};
    SKED_OWN(&f->arena, p->others, (int64_t)threads * f->x->n);
    SKED_OWN(&f->arena, p->choices, threads);
    SKED_OWN(&f->arena, p->order, f->x->n);
    if (threads > 1)
        SKED_TRY(sked_i_team_create(threads, &p->team, err));
cleanup:
    return st;
}

static void begin(force *f)
{
    const sked_i_steps *x = f->x;
    memcpy(f->early, x->first, (size_t)x->n * sizeof *f->early);
    memcpy(f->late, x->last, (size_t)x->n * sizeof *f->late);
    for (int32_t i = 0; i < x->n; i++) {
        if (x->memory)
            f->middle[i] = f->early[i] + (f->late[i] - f->early[i]) / 2;
        else
            spread(f, i, 1);
    }
    for (int32_t i = 0; x->memory && i < x->n; i++) {
        f->end[i] = end_of_value(f, i, -1);
        spread_value(f, i, 1);
    }
}

sked_status sked_i_force_place(sked_i_steps *x, const sked_i_limit *limit, int threads, int32_t neighbourhood,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    force f = {.x = x, .limit = limit, .pools = x->memory ? 1 : x->loads.count, .row = (int64_t)x->steps + 3};
    placing p = {0};
    int32_t count;
    SKED_OWN0(&f.arena, f.bend, f.pools * f.row);
    SKED_OWN(&f.arena, f.sum, f.pools * f.row);
    SKED_OWN(&f.arena, f.sums, f.pools * f.row);
    SKED_OWN(&f.arena, f.scale, f.pools);
    SKED_OWN(&f.arena, f.early, x->n);
    SKED_OWN(&f.arena, f.late, x->n);
    SKED_OWN(&f.arena, f.middle, x->n);
    SKED_OWN(&f.arena, f.end, x->n);
    SKED_OWN(&f.arena, f.stack, x->n);
    SKED_OWN0(&f.arena, f.stacked, x->n);
    SKED_TRY(open_placing(&p, &f, threads, err));
    begin(&f);
    SKED_TRY(order_ops(&f, p.order, &count, err));
    place_by_force(&p, count, neighbourhood > 0 ? neighbourhood : default_neighbourhood(&f, p.order, count));
    memcpy(x->start, f.early, (size_t)x->n * sizeof *x->start);
cleanup:
    sked_i_team_destroy(p.team);
    sked_i_arena_free(&f.arena);
    return st;
}
