/*
 * A schedule with its profiles, moved op by op. The smoothed objective is the one of the relaxation with
 * every sigma at 0: sum over profiles of weight * tau * log sum exp(level / tau), plus alpha * communication.
 * A scan prices all places of one op at once: the cost of a place differs from its neighbour's by one cell.
 */
#include "engine/gaus/gaus_relaxation.h"

#include <assert.h>
#include <string.h>

/* A value that op i is a consumer of: from `from` on (in the time of i) i alone keeps it alive. */
struct sked_i_gaus_end {
    int32_t from;
    double size;
};

/* ------------------------------------------------------------------ creating */

sked_status sked_i_gaus_state_create(const sked_i_relaxation *m, sked_i_gaus_state **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t rows = m->profiles + 1;
    int64_t degree = 0;
    sked_i_gaus_state *s = NULL;
    assert(m->cells > 0 && (m->period == 0 || m->cells == m->period));
    for (int32_t i = 0; i < m->n; i++) {
        const int64_t in = m->g->pred_ptr[i + 1] - m->g->pred_ptr[i];
        degree = in > degree ? in : degree;
    }
    SKED_NEW0(s, 1);
    s->m = m;
    SKED_OWN(&s->arena, s->at, m->n);
    SKED_OWN(&s->arena, s->last, m->n);
    SKED_OWN(&s->arena, s->holders, m->n);
    SKED_OWN(&s->arena, s->level, rows * m->cells);
    SKED_OWN(&s->arena, s->mass, rows * m->cells);
    SKED_OWN(&s->arena, s->tau, rows);
    SKED_OWN(&s->arena, s->top, rows);
    SKED_OWN(&s->arena, s->sum, rows);
    SKED_OWN(&s->arena, s->cost, 2 * SKED_I_GAUS_FARTHEST + 1);
    SKED_OWN(&s->arena, s->ends, degree);
    *out = s;
    return SKED_OK;
cleanup:
    sked_i_gaus_state_destroy(s);
    return st;
}

void sked_i_gaus_state_destroy(sked_i_gaus_state *s)
{
    if (s == NULL)
        return;
    sked_i_arena_free(&s->arena);
    free(s);
}

/* ------------------------------------------------------------------ cells */

/* The cell of step d >= -FARTHEST. */
static inline int32_t cell_of(const sked_i_relaxation *m, int32_t d)
{
    if (m->period == 0)
        return d;
    const int32_t c = d % m->period;
    return c < 0 ? c + m->period : c;
}
static inline int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
static inline int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}
static inline int32_t next_cell(const sked_i_relaxation *m, int32_t c)
{
    return c + 1 == m->period ? 0 : c + 1;
}
/* Cells an op holds beside the full turns, which are the same wherever it starts. */
static inline int32_t span_of(const sked_i_relaxation *m, int32_t i)
{
    return m->period > 0 ? m->duration[i] % m->period : m->duration[i];
}

/*
 * Adds amount to `length` < cells from step d on. The row holds differences between a cell and the one before
 * it, so that a long life costs no more than a short one.
 */
static void add_difference(const sked_i_relaxation *m, double *row, int32_t d, int32_t length, double amount)
{
    const int32_t begin = cell_of(m, d), end = begin + length;
    assert(length >= 0 && length <= m->cells && begin >= 0);
    if (length == 0)
        return;
    row[begin] += amount;
    if (end < m->cells) {
        row[end] -= amount;
    } else if (end > m->cells) { /* folded: it continues in the first cell */
        row[0] += amount;
        row[end - m->cells] -= amount;
    }
}

static void sum_differences(const sked_i_relaxation *m, double *row)
{
    double level = 0;
    for (int32_t c = 0; c < m->cells; c++)
        row[c] = level += row[c];
}

/* Adds amount to `length` cells from step d on, and keeps the smoothed sums. */
static void add(sked_i_gaus_state *s, int32_t p, int32_t d, int32_t length, double amount)
{
    const sked_i_relaxation *m = s->m;
    double *level = s->level + (int64_t)p * m->cells, *mass = s->mass + (int64_t)p * m->cells;
    const bool priced = m->weight[p] > 0;
    assert(length >= 0 && (m->period > 0 || (d >= 0 && d + length <= m->cells)));
    for (int32_t c = cell_of(m, d); length > 0; length--, c = next_cell(m, c)) {
        level[c] += amount;
        if (!priced)
            continue;
        const double now = sked_i_gaus_state_mass(s, p, level[c]);
        s->sum[p] += now - mass[c];
        mass[c] = now;
    }
}

/* ------------------------------------------------------------------ whole schedules */

static void find_last(sked_i_gaus_state *s, int32_t i)
{
    const sked_i_relaxation *m = s->m;
    int32_t last = INT32_MIN, holders = 0;
    for (int64_t e = m->g->succ_ptr[i]; e < m->g->succ_ptr[i + 1]; e++) {
        if (!sked_i_relaxation_reads(m, e))
            continue;
        const int32_t use = s->at[m->g->edge_to[e]] + m->shift[e];
        if (use > last) {
            last = use;
            holders = 0;
        }
        holders += use == last;
    }
    assert((holders > 0) == (last > INT32_MIN));
    s->last[i] = last;
    s->holders[i] = holders;
}

/* Adds amount to `length` steps from d on, as differences or levels; full turns go to every cell. */
static void add_life(sked_i_gaus_state *s, int32_t p, int32_t d, int64_t length, double amount)
{
    const sked_i_relaxation *m = s->m;
    double *row = s->level + (int64_t)p * m->cells;
    const int64_t turns = m->period > 0 ? length / m->period : 0, rest = length - turns * m->period;
    const int32_t whole = m->differences[p] ? 1 : m->period;
    assert(length >= 0 && (m->period > 0 || (d >= 0 && d + length <= m->cells)));
    for (int32_t c = 0; turns > 0 && c < whole; c++)
        row[c] += (double)turns * amount;
    if (m->differences[p]) {
        add_difference(m, row, d, (int32_t)rest, amount);
        return;
    }
    for (int32_t c = cell_of(m, d), k = 0; k < rest; k++, c = next_cell(m, c))
        row[c] += amount;
}

void sked_i_gaus_state_set(sked_i_gaus_state *s, const int32_t *at)
{
    const sked_i_relaxation *m = s->m;
    memmove(s->at, at, (size_t)m->n * sizeof *at);
    memset(s->level, 0, (size_t)(m->profiles + 1) * (size_t)m->cells * sizeof *s->level);
    s->communication = 0;
    for (int32_t i = 0; i < m->n; i++) {
        assert(s->at[i] >= m->lo[i] && s->at[i] <= m->hi[i]);
        for (int64_t u = m->use_ptr[i]; u < m->use_ptr[i + 1]; u++)
            add_life(s, m->use_profile[u], s->at[i], m->duration[i], m->use_amount[u]);
        if (m->memory[i] > 0) {
            find_last(s, i);
            if (s->last[i] > s->at[i])
                add_life(s, m->profiles, s->at[i], (int64_t)s->last[i] - s->at[i], m->memory[i]);
        }
        for (int64_t e = m->g->succ_ptr[i]; m->alpha > 0 && e < m->g->succ_ptr[i + 1]; e++)
            if (sked_i_relaxation_counts(m, e))
                s->communication += m->bytes[e] * (s->at[m->g->edge_to[e]] - s->at[i] + m->shift[e]);
    }
    for (int32_t p = 0; p <= m->profiles; p++)
        if (m->differences[p])
            sum_differences(m, s->level + (int64_t)p * m->cells);
}

void sked_i_gaus_state_load(sked_i_gaus_state *s, const double *start)
{
    for (int32_t i = 0; i < s->m->n; i++)
        s->at[i] = (int32_t)start[i];
    sked_i_gaus_state_set(s, s->at);
}

bool sked_i_gaus_state_legal(const sked_i_gaus_state *s)
{
    const sked_i_relaxation *m = s->m;
    for (int32_t i = 0; i < m->n; i++) {
        if (s->at[i] < m->lo[i] || s->at[i] > m->hi[i])
            return false;
        for (int64_t e = m->g->succ_ptr[i]; e < m->g->succ_ptr[i + 1]; e++)
            if (sked_i_relaxation_counts(m, e) && s->at[m->g->edge_to[e]] < s->at[i] + m->gap[e])
                return false;
    }
    for (int32_t p = 0; p < m->profiles; p++)
        for (int32_t c = 0; isfinite(m->capacity[p]) && c < m->cells; c++)
            if (s->level[(int64_t)p * m->cells + c] > m->capacity[p] * (1 + 1e-12))
                return false;
    return true;
}

double sked_i_gaus_state_peak(const sked_i_gaus_state *s, int32_t p)
{
    const double *row = s->level + (int64_t)p * s->m->cells;
    double most = 0;
    for (int32_t c = 0; c < s->m->cells; c++)
        most = row[c] > most ? row[c] : most;
    return most;
}

double sked_i_gaus_state_value(const sked_i_gaus_state *s)
{
    const sked_i_relaxation *m = s->m;
    double value = m->alpha * s->communication;
    for (int32_t p = 0; p <= m->profiles; p++)
        value += m->weight[p] > 0 ? m->weight[p] * sked_i_gaus_state_peak(s, p) : 0;
    return value;
}

void sked_i_gaus_state_smooth(sked_i_gaus_state *s, double relative_tau)
{
    const sked_i_relaxation *m = s->m;
    for (int32_t p = 0; p <= m->profiles; p++) {
        const double *row = s->level + (int64_t)p * m->cells;
        if (!(m->weight[p] > 0))
            continue;
        s->top[p] = sked_i_gaus_state_peak(s, p);
        s->tau[p] = fmax(relative_tau * m->typical[p], m->largest[p] / 600);
        s->sum[p] = 0;
        for (int32_t c = 0; c < m->cells; c++)
            s->sum[p] += s->mass[(int64_t)p * m->cells + c] = sked_i_gaus_state_mass(s, p, row[c]);
        assert(s->tau[p] > 0 && s->sum[p] >= 1); /* the highest cell alone weighs 1 */
    }
}

/* ------------------------------------------------------------------ slack */

void sked_i_gaus_state_slack(const sked_i_gaus_state *s, int32_t i, int32_t reach, int32_t *lo, int32_t *hi)
{
    const sked_i_relaxation *m = s->m;
    const sked_graph *g = m->g;
    int32_t low = larger(m->lo[i], s->at[i] - reach), high = smaller(m->hi[i], s->at[i] + reach);
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
        if (sked_i_relaxation_counts(m, g->pred_edge[k]) && g->pred_op[k] != i)
            low = larger(low, s->at[g->pred_op[k]] + m->gap[g->pred_edge[k]]);
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
        if (sked_i_relaxation_counts(m, e) && g->edge_to[e] != i)
            high = smaller(high, s->at[g->edge_to[e]] - m->gap[e]);
    assert(low <= s->at[i] && s->at[i] <= high); /* or an edge is broken already */
    *lo = low;
    *hi = high;
}

/* ------------------------------------------------------------------ pricing places */

/*
 * By how much tau * log sum exp rises, as a multiple of tau, where the sum changes by `change`. The log
 * itself, not its slope: with a small tau the slope makes one step above the peak a million times as dear as
 * it is.
 */
static inline double rise_of(double change, double sum)
{
    const double x = fmax(change / sum, 1e-12 - 1);
    return fabs(x) < 1e-4 ? x * (1 - x * (0.5 - x / 3)) : sked_i_log(1 + x);
}

static void scan_communication(sked_i_gaus_state *s, int32_t i, int32_t lo, int32_t hi)
{
    const sked_i_relaxation *m = s->m;
    const sked_graph *g = m->g;
    double slope = 0;
    if (m->alpha > 0) {
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
            slope += sked_i_relaxation_counts(m, g->pred_edge[k]) ? m->bytes[g->pred_edge[k]] : 0;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            slope -= sked_i_relaxation_counts(m, e) ? m->bytes[e] : 0;
    }
    for (int32_t t = lo; t <= hi; t++)
        s->cost[t - lo] = m->alpha * slope * (t - s->at[i]);
}

/* Is step d within the cells that op i holds now? Works folded: distances are taken in turns. */
static inline bool holds(const sked_i_relaxation *m, int32_t d, int32_t start, int32_t span)
{
    const int32_t x = m->period > 0 ? cell_of(m, d - start) : d - start;
    return x >= 0 && x < span;
}

/* One use: the price of its cells without the op itself, summed over its span as the place slides. */
static void scan_load(sked_i_gaus_state *s, int32_t i, int64_t u, int32_t lo, int32_t hi)
{
    const sked_i_relaxation *m = s->m;
    const int32_t p = m->use_profile[u], span = span_of(m, i), at = s->at[i];
    const double *mass = s->mass + (int64_t)p * m->cells;
    const double grow = sked_i_exp(m->use_amount[u] / s->tau[p]);
    const double unit = m->weight[p] * s->tau[p];
    double here = 0, sum = 0;
    assert(s->tau[p] > 0 && s->sum[p] > 0 && m->use_amount[u] >= 0); /* smoothed before */
    for (int32_t d = at; d < at + span; d++)
        here += mass[cell_of(m, d)] / grow;
    for (int32_t d = lo; d < hi + span; d++) {
        const double x = mass[cell_of(m, d)];
        sum += holds(m, d, at, span) ? x / grow : x;
        if (d - span >= lo) {
            const double y = mass[cell_of(m, d - span)];
            sum -= holds(m, d - span, at, span) ? y / grow : y;
        }
        if (d - span + 1 >= lo)
            s->cost[d - span + 1 - lo] += unit * rise_of((grow - 1) * (sum - here), s->sum[p]);
    }
}

/* Places where a capacity would be exceeded cost INFINITY. */
static void scan_capacity(sked_i_gaus_state *s, int32_t i, int64_t u, int32_t lo, int32_t hi)
{
    const sked_i_relaxation *m = s->m;
    const int32_t p = m->use_profile[u], span = span_of(m, i), at = s->at[i];
    const double *level = s->level + (int64_t)p * m->cells;
    const double amount = m->use_amount[u], room = m->capacity[p] * (1 + 1e-13) - amount;
    int32_t blocked = lo - 1; /* the last step seen that has no room */
    for (int32_t d = lo; d < hi + span; d++) {
        const double x = level[cell_of(m, d)] - (holds(m, d, at, span) ? amount : 0);
        if (x > room)
            blocked = d;
        if (d - span + 1 >= lo && blocked > d - span && d - span + 1 != at)
            s->cost[d - span + 1 - lo] = INFINITY;
    }
}

/* When the value of q ends but for its consumer i: latest other use, INT32_MIN without one. */
static int32_t end_without(const sked_i_gaus_state *s, int32_t q, int32_t i, int32_t shift)
{
    const sked_i_relaxation *m = s->m;
    int32_t last = INT32_MIN;
    if (s->at[i] + shift < s->last[q] || (s->holders[q] > 1 && !m->multi[q]))
        return s->last[q];
    for (int64_t e = m->g->succ_ptr[q]; e < m->g->succ_ptr[q + 1]; e++)
        if (sked_i_relaxation_reads(m, e) && m->g->edge_to[e] != i)
            last = larger(last, s->at[m->g->edge_to[e]] + m->shift[e]);
    return last;
}

static int by_from(const void *x, const void *y)
{
    const struct sked_i_gaus_end *a = x, *b = y;
    return (a->from > b->from) - (a->from < b->from);
}

static void sort_ends(struct sked_i_gaus_end *ends, int32_t count)
{
    if (count > 24) {
        qsort(ends, (size_t)count, sizeof *ends, by_from);
        return;
    }
    for (int32_t k = 1; k < count; k++)
        for (int32_t j = k; j > 0 && ends[j].from < ends[j - 1].from; j--) {
            const struct sked_i_gaus_end x = ends[j];
            ends[j] = ends[j - 1];
            ends[j - 1] = x;
        }
}

/* The values that may end with i, by the step from which on it alone keeps them. Parallel edges count once.
 */
static int32_t collect_ends(sked_i_gaus_state *s, int32_t i)
{
    const sked_i_relaxation *m = s->m;
    const sked_graph *g = m->g;
    int32_t count = 0;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1];) {
        const int32_t q = g->pred_op[k];
        int32_t shift = -1;
        for (; k < g->pred_ptr[i + 1] && g->pred_op[k] == q; k++)
            if (sked_i_relaxation_reads(m, g->pred_edge[k]) && m->shift[g->pred_edge[k]] > shift)
                shift = m->shift[g->pred_edge[k]];
        if (shift < 0 || m->memory[q] == 0)
            continue;
        int32_t end = end_without(s, q, i, shift);
        if (q != i && end < s->at[q])
            end = s->at[q];
        s->ends[count++] = (struct sked_i_gaus_end){end == INT32_MIN ? end : end - shift, m->memory[q]};
    }
    assert(count <= g->pred_ptr[i + 1] - g->pred_ptr[i]);
    sort_ends(s->ends, count);
    return count;
}

static double factor_of(const sked_i_gaus_state *s, double amount)
{
    const double x = amount / s->tau[s->m->profiles];
    return sked_i_exp(x < -700 ? -700 : x > 700 ? 700 : x) - 1;
}

/* Later: each step passed frees the op's own value and keeps those alone that end with it. */
static void scan_later(sked_i_gaus_state *s, int32_t i, int32_t lo, int32_t hi, int32_t count, double unit)
{
    const sked_i_relaxation *m = s->m;
    const double *mass = s->mass + (int64_t)m->profiles * m->cells;
    double net = -m->memory[i], sum = 0;
    int32_t k = 0;
    bool own = true;
    double factor = factor_of(s, net);
    for (int32_t d = s->at[i]; d < hi; d++) {
        bool changed = false;
        for (; k < count && s->ends[k].from <= d; k++, changed = true)
            net += s->ends[k].size;
        if (own && m->memory[i] > 0 && d >= s->last[i]) {
            net += m->memory[i];
            own = false;
            changed = true;
        }
        if (changed)
            factor = factor_of(s, net);
        sum += mass[cell_of(m, d)] * factor;
        s->cost[d + 1 - lo] += unit * rise_of(sum, s->sum[m->profiles]);
    }
}

static void scan_earlier(sked_i_gaus_state *s, int32_t i, int32_t lo, int32_t count, double unit)
{
    const sked_i_relaxation *m = s->m;
    const double *mass = s->mass + (int64_t)m->profiles * m->cells;
    double net = 0, sum = 0, factor = 0;
    int32_t k = 0;
    bool own = false, changed = true;
    for (; k < count && s->ends[k].from < s->at[i]; k++)
        net -= s->ends[k].size;
    for (int32_t d = s->at[i] - 1; d >= lo; d--) {
        for (; k > 0 && s->ends[k - 1].from > d; k--, changed = true)
            net += s->ends[k - 1].size;
        if (!own && m->memory[i] > 0 && d < s->last[i]) {
            net += m->memory[i];
            own = true;
            changed = true;
        }
        if (changed)
            factor = factor_of(s, net);
        changed = false;
        sum += mass[cell_of(m, d)] * factor;
        s->cost[d - lo] += unit * rise_of(sum, s->sum[m->profiles]);
    }
}

void sked_i_gaus_state_scan(sked_i_gaus_state *s, int32_t i, int32_t lo, int32_t hi)
{
    const sked_i_relaxation *m = s->m;
    assert(lo <= s->at[i] && s->at[i] <= hi && hi - lo <= 2 * SKED_I_GAUS_FARTHEST);
    scan_communication(s, i, lo, hi);
    if (m->weight[m->profiles] > 0) {
        const double unit = m->weight[m->profiles] * s->tau[m->profiles];
        const int32_t count = collect_ends(s, i);
        scan_later(s, i, lo, hi, count, unit);
        scan_earlier(s, i, lo, count, unit);
    }
    for (int64_t u = m->use_ptr[i]; u < m->use_ptr[i + 1]; u++) {
        if (m->weight[m->use_profile[u]] > 0)
            scan_load(s, i, u, lo, hi);
        if (isfinite(m->capacity[m->use_profile[u]]))
            scan_capacity(s, i, u, lo, hi);
    }
}

/* ------------------------------------------------------------------ moving */

/* The value of i lives from `from` to `to` as well; where `to` is earlier, no longer from `to` to `from`. */
static void lengthen_life(sked_i_gaus_state *s, int32_t i, int32_t from, int32_t to)
{
    if (to > from)
        add(s, s->m->profiles, from, to - from, s->m->memory[i]);
    else
        add(s, s->m->profiles, to, from - to, -s->m->memory[i]);
}

void sked_i_gaus_state_move(sked_i_gaus_state *s, int32_t i, int32_t to)
{
    const sked_i_relaxation *m = s->m;
    const sked_graph *g = m->g;
    const int32_t from = s->at[i];
    assert(to >= m->lo[i] && to <= m->hi[i]);
    assert(m->memory[i] == 0 || s->holders[i] >= 1); /* a value that counts has a consumer */
    if (m->memory[i] > 0)
        lengthen_life(s, i, smaller(to, s->last[i]), smaller(from, s->last[i]));
    s->at[i] = to;
    for (int64_t u = m->use_ptr[i]; u < m->use_ptr[i + 1]; u++) {
        add(s, m->use_profile[u], from, span_of(m, i), -m->use_amount[u]);
        add(s, m->use_profile[u], to, span_of(m, i), m->use_amount[u]);
    }
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        const int32_t q = g->pred_op[k];
        if (!sked_i_relaxation_counts(m, e))
            continue;
        if (m->alpha > 0)
            s->communication += m->bytes[e] * (to - from);
        if (m->memory[q] == 0 || !sked_i_relaxation_reads(m, e))
            continue;
        const int32_t before = s->last[q], was = from + m->shift[e], is = to + m->shift[e];
        if (is > before) {
            s->last[q] = is;
            s->holders[q] = 1;
        } else if (was < before) {
            s->holders[q] += is == before;
        } else if (s->holders[q] > 1 && !m->multi[q]) {
            s->holders[q] -= is < before;
        } else {
            find_last(s, q);
        }
        assert(s->holders[q] >= 1);
        lengthen_life(s, q, larger(before, s->at[q]), larger(s->last[q], s->at[q]));
    }
    for (int64_t e = g->succ_ptr[i]; m->alpha > 0 && e < g->succ_ptr[i + 1]; e++)
        if (sked_i_relaxation_counts(m, e))
            s->communication -= m->bytes[e] * (to - from);
}
