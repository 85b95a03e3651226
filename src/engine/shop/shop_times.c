/* A shop's solution: loading, times, relocations with their checks and estimates. */
#include "engine/shop/shop_times.h"
#include "base/arena.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>

/* fmax minds NaN and is a call. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

sked_status sked_i_shop_create(const sked_i_shop_model *m, sked_i_shop **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = m->n;
    sked_i_shop *s;
    SKED_NEW0(s, 1);
    s->model = m;
    SKED_OWN0(&s->arena, s->head, n + 1);
    SKED_OWN0(&s->arena, s->tail, n + 1);
    SKED_OWN0(&s->arena, s->job_head, n + 1);
    SKED_OWN0(&s->arena, s->job_tail, n + 1);
    SKED_OWN0(&s->arena, s->before, n + 1);
    SKED_OWN0(&s->arena, s->after, n + 1);
    SKED_OWN(&s->arena, s->order, n);
    SKED_OWN(&s->arena, s->at, n);
    SKED_OWN(&s->arena, s->moved, n);
    SKED_OWN0(&s->arena, s->mark, n + 1);
    *out = s;
    s = NULL;
cleanup:
    sked_i_shop_destroy(s);
    return st;
}

void sked_i_shop_destroy(sked_i_shop *s)
{
    if (s == NULL)
        return;
    sked_i_arena_free(&s->arena);
    free(s);
}

static void link_machines(sked_i_shop *s, const int32_t *sequence)
{
    const sked_i_shop_model *m = s->model;
    for (int32_t i = 0; i <= m->n; i++)
        s->before[i] = s->after[i] = m->n;
    for (int32_t k = 0; k < m->n_machines; k++)
        for (int32_t j = m->member_ptr[k] + 1; j < m->member_ptr[k + 1]; j++) {
            s->before[sequence[j]] = sequence[j - 1];
            s->after[sequence[j - 1]] = sequence[j];
        }
}

/* Kahn's algorithm over graph and machine arcs; `moved` counts what each op still waits for. */
static bool sort_topologically(sked_i_shop *s)
{
    const sked_i_shop_model *m = s->model;
    int32_t *waits = s->moved, filled = 0;
    for (int32_t i = 0; i < m->n; i++) {
        waits[i] = (int32_t)(m->pred_ptr[i + 1] - m->pred_ptr[i]) + (s->before[i] != m->n);
        if (waits[i] == 0)
            s->order[filled++] = i;
    }
    for (int32_t k = 0; k < filled; k++) {
        const int32_t i = s->order[k], next = s->after[i];
        s->at[i] = k;
        for (int64_t e = m->succ_ptr[i]; e < m->succ_ptr[i + 1]; e++)
            if (--waits[m->succ_op[e]] == 0)
                s->order[filled++] = m->succ_op[e];
        if (next != m->n && --waits[next] == 0)
            s->order[filled++] = next;
    }
    return filled == m->n;
}

#ifndef NDEBUG
/* Every op of a machine stands once in its row. moved is scratch. */
static bool is_complete(const sked_i_shop *s, const int32_t *sequence)
{
    const sked_i_shop_model *m = s->model;
    for (int32_t i = 0; i < m->n; i++)
        s->moved[i] = 0;
    for (int32_t k = 0; k < m->n_machines; k++)
        for (int32_t j = m->member_ptr[k]; j < m->member_ptr[k + 1]; j++)
            if (m->machine[sequence[j]] != k || s->moved[sequence[j]]++ > 0)
                return false;
    return true;
}

/* `at` is the inverse of `order`, and no path through an op is longer than the makespan, up to rounding. */
static bool is_consistent(const sked_i_shop *s)
{
    double longest = 0;
    for (int32_t k = 0; k < s->model->n; k++) {
        const int32_t i = s->order[k];
        if (s->at[i] != k || (s->before[i] != s->model->n && s->at[s->before[i]] >= k))
            return false;
        longest = larger(longest, s->head[i] + s->tail[i]);
    }
    return fabs(longest - s->makespan) <= 1e-9 * longest;
}
#endif

bool sked_i_shop_load(sked_i_shop *s, const int32_t *sequence)
{
    assert(is_complete(s, sequence));
    link_machines(s, sequence);
    if (!sort_topologically(s))
        return false;
    sked_i_shop_times(s, 0, s->model->n - 1);
    assert(is_consistent(s));
    return true;
}

void sked_i_shop_save(const sked_i_shop *s, int32_t *sequence)
{
    const sked_i_shop_model *m = s->model;
    for (int32_t k = 0; k < m->n_machines; k++) {
        const int32_t begin = m->member_ptr[k], end = m->member_ptr[k + 1];
        if (begin == end)
            continue;
        int32_t op = m->member[begin];
        while (s->before[op] != m->n)
            op = s->before[op];
        for (int32_t j = begin; j < end; j++, op = s->after[op])
            sequence[j] = op;
    }
}

/* Out of a random handful of ready ops the one that can start first goes next, everywhere appended. */
void sked_i_shop_random(const sked_i_shop_model *m, sked_i_rng *rng, int32_t *scratch, double *ready,
                        int32_t *sequence)
{
    enum { handful = 5 };
    int32_t *waits = scratch, *list = scratch + m->n, count = 0;
    double *machine_free = ready + m->n;
    for (int32_t k = 0; k < m->n_machines; k++)
        machine_free[k] = 0;
    for (int32_t i = 0; i < m->n; i++) {
        ready[i] = 0;
        waits[i] = (int32_t)(m->pred_ptr[i + 1] - m->pred_ptr[i]);
        if (waits[i] == 0)
            list[count++] = i;
    }
    int32_t *fill = m->n_machines > 0 ? scratch + 2 * (int64_t)m->n : NULL;
    for (int32_t k = 0; k < m->n_machines; k++)
        fill[k] = m->member_ptr[k];
    while (count > 0) {
        int32_t pick = -1;
        double first = INFINITY;
        for (int t = 0; t < handful; t++) {
            const int32_t j = (int32_t)sked_i_rng_below(rng, (uint64_t)count), k = m->machine[list[j]];
            const double at = k < 0 ? ready[list[j]] : larger(ready[list[j]], machine_free[k]);
            if (at < first)
                first = at, pick = j;
        }
        assert(pick >= 0);
        const int32_t i = list[pick];
        list[pick] = list[--count];
        if (m->machine[i] >= 0) {
            sequence[fill[m->machine[i]]++] = i;
            machine_free[m->machine[i]] = first + m->duration[i];
        }
        for (int64_t e = m->succ_ptr[i]; e < m->succ_ptr[i + 1]; e++) {
            const int32_t to = m->succ_op[e];
            ready[to] = larger(ready[to], first + m->succ_lag[e]);
            if (--waits[to] == 0)
                list[count++] = to;
        }
    }
}

void sked_i_shop_times(sked_i_shop *s, int32_t first, int32_t last)
{
    const sked_i_shop_model *m = s->model;
    const double *duration = m->duration;
    double *head = s->head, *tail = s->tail;
    assert(first >= 0 && last < m->n);
    for (int32_t k = first; k < m->n; k++) {
        const int32_t i = s->order[k], b = s->before[i];
        double t = 0;
        for (int64_t e = m->pred_ptr[i]; e < m->pred_ptr[i + 1]; e++) {
            const double x = head[m->pred_op[e]] + m->pred_lag[e];
            t = x > t ? x : t;
        }
        s->job_head[i] = t;
        const double x = head[b] + duration[b];
        head[i] = x > t ? x : t;
    }
    for (int32_t k = last; k >= 0; k--) {
        const int32_t i = s->order[k];
        double t = duration[i];
        for (int64_t e = m->succ_ptr[i]; e < m->succ_ptr[i + 1]; e++) {
            const double x = tail[m->succ_op[e]] + m->succ_lag[e];
            t = x > t ? x : t;
        }
        s->job_tail[i] = t;
        const double x = tail[s->after[i]] + duration[i];
        tail[i] = x > t ? x : t;
    }
    double longest = 0;
    for (int32_t k = 0; k < m->n_ends; k++) {
        const double x = head[m->end[k]] + duration[m->end[k]];
        longest = x > longest ? x : longest;
    }
    s->makespan = longest;
}

/* Takes op out of its machine's order and puts it after `left` (n: at the front, before `right`). */
static void relink(sked_i_shop *s, int32_t op, int32_t left, int32_t right)
{
    const int32_t none = s->model->n, b = s->before[op], a = s->after[op];
    s->after[b] = a;
    s->before[a] = b;
    s->before[op] = left;
    s->after[op] = right;
    s->after[left] = op;
    s->before[right] = op;
    s->before[none] = s->after[none] = none;
}

/* Does op i come right after a marked one, or (backward) right before? */
static inline bool meets_marked(const sked_i_shop *s, int32_t i, bool forward)
{
    const sked_i_shop_model *m = s->model;
    const int64_t *ptr = forward ? m->pred_ptr : m->succ_ptr;
    const int32_t *op = forward ? m->pred_op : m->succ_op;
    bool found = s->mark[forward ? s->before[i] : s->after[i]];
    for (int64_t e = ptr[i]; e < ptr[i + 1]; e++)
        found = found || s->mark[op[e]];
    return found;
}

/*
 * u now runs right after v, or (backward) v right before u. In the window of the topological order between
 * them, the op that moves and what depends on it (what it depends on) move behind (before) the other; if that
 * one depends on it, too, there is a cycle.
 */
static inline bool shift(sked_i_shop *s, int32_t u, int32_t v, bool forward)
{
    const int32_t op = forward ? u : v, other = forward ? v : u, step = forward ? 1 : -1;
    const int32_t first = s->at[op], last = s->at[other];
    int32_t count = 0, write = first;
    s->mark[op] = 1;
    s->moved[count++] = op;
    for (int32_t k = first + step; k != last; k += step)
        if (meets_marked(s, s->order[k], forward)) {
            s->mark[s->order[k]] = 1;
            s->moved[count++] = s->order[k];
        }
    const bool cycle = meets_marked(s, other, forward);
    for (int32_t k = first + step; !cycle && k != last + step; k += step)
        if (!s->mark[s->order[k]]) {
            s->at[s->order[k]] = write;
            s->order[write] = s->order[k];
            write += step;
        }
    for (int32_t k = 0; k < count; k++) {
        s->mark[s->moved[k]] = 0;
        if (!cycle) {
            s->at[s->moved[k]] = write;
            s->order[write] = s->moved[k];
            write += step;
        }
    }
    return !cycle;
}

bool sked_i_shop_relocate(sked_i_shop *s, sked_i_shop_move move)
{
    assert(s->model->machine[move.u] == s->model->machine[move.v] && s->at[move.u] < s->at[move.v]);
    const int32_t op = move.forward ? move.u : move.v, left = s->before[op], right = s->after[op];
    if (move.forward)
        relink(s, op, move.v, s->after[move.v]);
    else
        relink(s, op, s->before[move.u], move.u);
    if (move.forward ? shift(s, move.u, move.v, true) : shift(s, move.u, move.v, false))
        return true;
    relink(s, op, left, right);
    return false;
}

/* A path a -> b would force both inequalities the wrong way (additions round monotonically). */
static bool surely_no_path(const sked_i_shop *s, int32_t a, int32_t b)
{
    if (a == b)
        return false;
    const double lag = s->model->least_lag[a];
    return s->head[b] < s->head[a] + lag || s->tail[a] < s->tail[b] + lag;
}

bool sked_i_shop_allows(const sked_i_shop *s, sked_i_shop_move move)
{
    const sked_i_shop_model *m = s->model;
    bool fine = true;
    if (move.forward)
        for (int64_t e = m->succ_ptr[move.u]; fine && e < m->succ_ptr[move.u + 1]; e++)
            fine = surely_no_path(s, m->succ_op[e], move.v);
    else
        for (int64_t e = m->pred_ptr[move.v]; fine && e < m->pred_ptr[move.v + 1]; e++)
            fine = surely_no_path(s, move.u, m->pred_op[e]);
    return fine;
}

/*
 * Every path through the changed stretch leaves it somewhere, by a graph arc or along the machine behind its
 * last op: one pass over heads, adding the way out at each op, sees them all.
 */
static double estimate_forward(const sked_i_shop *s, int32_t u, int32_t v)
{
    const double *duration = s->model->duration;
    const int32_t after_v = s->after[v], before_u = s->before[u];
    double longest = 0, head = s->head[before_u] + duration[before_u];
    for (int32_t x = s->after[u];; x = s->after[x]) {
        head = larger(head, s->job_head[x]);
        longest = larger(longest, head + s->job_tail[x]);
        head += duration[x];
        if (x == v)
            break;
    }
    const double tail = larger(s->job_tail[u], duration[u] + s->tail[after_v]);
    return larger(longest, larger(head, s->job_head[u]) + tail);
}

/* The same from the other side: one pass over tails, adding the way in. */
static double estimate_backward(const sked_i_shop *s, int32_t u, int32_t v)
{
    const double *duration = s->model->duration;
    const int32_t before_u = s->before[u], after_v = s->after[v];
    const double head_v = larger(s->head[before_u] + duration[before_u], s->job_head[v]);
    double longest = 0, t = s->tail[after_v];
    for (int32_t x = s->before[v];; x = s->before[x]) {
        t = larger(t + duration[x], s->job_tail[x]);
        longest = larger(longest, s->job_head[x] + t);
        if (x == u)
            break;
    }
    return larger(longest, head_v + larger(duration[v] + t, s->job_tail[v]));
}

double sked_i_shop_estimate(const sked_i_shop *s, sked_i_shop_move move)
{
    return move.forward ? estimate_forward(s, move.u, move.v) : estimate_backward(s, move.u, move.v);
}

int32_t sked_i_shop_critical(const sked_i_shop *s, sked_i_rng *rng, int32_t *path)
{
    const sked_i_shop_model *m = s->model;
    int32_t op = -1, length = 0;
    uint64_t ties = 0;
    for (int32_t k = 0; k < m->n_ends; k++)
        if (s->head[m->end[k]] + m->duration[m->end[k]] == s->makespan &&
            (ties++ == 0 || sked_i_rng_below(rng, ties) == 0))
            op = m->end[k];
    while (op >= 0) {
        path[length++] = op;
        const int32_t b = s->before[op];
        int32_t next = -1;
        ties = 0;
        if (s->head[op] > 0 && b != m->n && s->head[b] + m->duration[b] == s->head[op])
            next = b, ties = 1;
        for (int64_t e = m->pred_ptr[op]; s->head[op] > 0 && e < m->pred_ptr[op + 1]; e++)
            if (s->head[m->pred_op[e]] + m->pred_lag[e] == s->head[op] &&
                (ties++ == 0 || sked_i_rng_below(rng, ties) == 0))
                next = m->pred_op[e];
        op = next;
    }
    for (int32_t i = 0, j = length - 1; i < j; i++, j--) {
        const int32_t t = path[i];
        path[i] = path[j];
        path[j] = t;
    }
    return length;
}
