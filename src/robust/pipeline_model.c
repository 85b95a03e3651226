#include "robust/pipeline_model.h"

#include "base/explog.h"
#include "graph/graph.h"
#include "robust/solve.h"

#include <string.h>

/* A gate, and tables cover gates: by the library's delays they are ops like others. */
static bool is_table(const sked_i_path_model *m, int32_t op)
{
    return m->cuts != NULL && sked_i_is_gate(m->problem->graph, op);
}

/* The edge's value comes within the cycle, from an op and not from a register. */
static bool is_chained(const sked_graph *g, const sked_schedule *s, int64_t e)
{
    return g->edge_distance[e] == 0 &&
           (s == NULL || s->start[g->edge_to[e]] == s->start[g->edge_from[e]] + g->edge_lag[e]);
}

/* When the last value that op reads is there; of a gate also how tables come to it, of a sum its tree. */
static double latest_value(sked_i_path_model *m, const sked_schedule *s, int32_t op, int32_t *before)
{
    const sked_graph *g = m->problem->graph;
    sked_i_cuts *const cuts = is_table(m, op) ? &m->cuts[op] : NULL;
    double latest = 0;
    *before = -1;
    if (cuts != NULL)
        sked_i_cuts_begin(cuts);
    sked_i_carry_begin(g, m->tree, op);
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        const int32_t from = g->edge_from[e];
        const bool chains = is_chained(g, s, e);
        if (!sked_i_passes(g, e))
            continue;
        if (chains && m->arrival[from] > latest) {
            latest = m->arrival[from];
            *before = from;
        }
        sked_i_carry_read(&m->tree[op], chains ? m->arrival[from] : 0, chains ? from : -1,
                          chains ? &m->tree[from] : NULL);
        if (cuts != NULL) {
            const sked_i_cut value = {chains ? m->arrival[from] : 0, chains ? from : -1, 1, {from}};
            sked_i_cuts_read(cuts, &value, chains && is_table(m, from) ? &m->cuts[from] : NULL);
        }
    }
    return latest;
}

/* Of an op by itself, of the table whose output is the gate, or of the tree that ends with the sum. */
static double delay_of(const sked_i_path_model *m, int32_t op)
{
    const double own = sked_i_delay_in(m->problem->graph, op);
    if (!m->learn)
        return own * m->mean[SKED_I_PATH_OVERHEAD];
    if (m->kind[op] < 0)
        return own;
    return fmax(0, m->mean[m->kind[m->tree[op].largest]] + m->mean[SKED_I_PATH_FAN_OUT] * m->fan_out[op] +
                       m->mean[SKED_I_PATH_LEVEL] * sked_i_carry_levels(&m->tree[op]) + m->extra[op]);
}

double sked_i_path_overhead(const sked_i_path_model *m)
{
    return m->learn ? m->mean[SKED_I_PATH_OVERHEAD] : 0;
}

double sked_i_path_chain(sked_i_path_model *m, const sked_schedule *s)
{
    const sked_graph *g = m->problem->graph;
    double longest = 0;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t i = g->topo[k];
        const double latest = latest_value(m, s, i, &m->before[i]);
        double through = latest + (m->delay[i] = delay_of(m, i));
        if (m->learn && (m->tree[i].is_sum || m->tree[i].is_product)) {
            m->before[i] = m->tree[i].last;
            through = m->tree[i].latest + m->delay[i];
            m->delay[i] = fmax(0, through - latest);
        } else if (is_table(m, i)) {
            const sked_i_cut *const cut = sked_i_cuts_best(&m->cuts[i]);
            m->before[i] = cut->last;
            through = fmax(latest, cut->latest + m->delay[i]);
            m->delay[i] = through - latest;
        }
        m->arrival[i] = sked_i_is_combinational(g, i) ? through : sked_i_delay_out(g, i);
        if (fmax(through, m->arrival[i]) > longest || k == 0)
            m->last = i;
        longest = fmax(longest, fmax(through, m->arrival[i]));
    }
    return longest;
}

/* ------------------------------------------------------------------ learning */

/* By how much a stage is off what the model says. */
static double row_spread(const sked_i_path_model *m)
{
    return m->problem->clock / 20;
}

/* The op's result was seen at a register: by itself, or as the end of the critical path. */
static bool is_seen(const sked_i_path_data *d, int32_t ops, int32_t op)
{
    double last = 0;
    if (!(d->finish[op] > 0) || d->start[op] == d->finish[op])
        return d->finish[op] > 0;
    for (int32_t i = 0; i < ops; i++)
        last = d->start[i] < d->finish[i] ? fmax(last, d->finish[i]) : last;
    return d->finish[op] == last;
}

/* How often each parameter stands in the chain to op; -1 - how far it is known: the rest of the chain. */
static double features(const sked_i_path_model *m, int32_t op, double *x)
{
    double known = 0;
    memset(x, 0, (size_t)m->count * sizeof *x);
    x[SKED_I_PATH_OVERHEAD] = m->learn;
    for (int32_t i = op; i >= 0; i = sked_i_is_combinational(m->problem->graph, i) ? m->before[i] : -1) {
        const double own = i == op || sked_i_is_combinational(m->problem->graph, i)
                               ? sked_i_delay_in(m->problem->graph, i)
                               : sked_i_delay_out(m->problem->graph, i);
        if (!m->learn) {
            x[0] += own;
        } else if (m->kind[i] < 0) {
            known += own;
        } else {
            x[m->kind[m->tree[i].largest]]++;
            x[SKED_I_PATH_LEVEL] += sked_i_carry_levels(&m->tree[i]);
            x[SKED_I_PATH_FAN_OUT] += m->fan_out[i];
        }
    }
    return known;
}

static void add_row(sked_i_path_model *m, const double *x, double time, double weight)
{
    for (int64_t i = 0; i < m->count; i++) {
        if (x[i] == 0)
            continue;
        m->side[i] += weight * x[i] * time;
        for (int64_t j = 0; j <= i; j++)
            m->matrix[i * m->count + j] += weight * x[i] * x[j];
    }
}

/*
 * Stages near the period count most; of gates those that the model has near the longest, as synthesis lets
 * others come later where that saves tables.
 */
static double weight_of(const sked_i_path_model *m, int32_t op, double time, double longest)
{
    const double overhead = sked_i_path_overhead(m),
                 near = (overhead + m->arrival[op]) / (overhead + longest);
    return sked_i_path_weight(m->problem->clock, time) *
           (longest > 0 ? near * near * near * near * near * near * near * near : 1);
}

/* Rows of all runs; residuals with the parameters as they are. */
static void add_rows(sked_i_path_model *m, const sked_i_path_data *data, int32_t runs)
{
    const int32_t n = m->problem->graph->n_ops;
    double x[SKED_I_PATH_MOST];
    memset(m->sum, 0, (size_t)n * sizeof *m->sum);
    memset(m->times, 0, (size_t)n * sizeof *m->times);
    for (int32_t r = 0; r < runs; r++) {
        const double longest = sked_i_path_chain(m, data[r].schedule);
        for (int32_t i = 0; i < n; i++) {
            if (!is_seen(&data[r], n, i))
                continue;
            const double weight = weight_of(m, i, data[r].finish[i], longest),
                         time = data[r].finish[i] - features(m, i, x);
            double fitted = 0;
            for (int32_t k = 0; k < m->count; k++)
                fitted += x[k] * m->mean[k];
            m->sum[i] += weight;
            m->times[i] += weight * (time - fitted);
            add_row(m, x, time, weight);
        }
    }
}

double sked_i_path_doubt(sked_i_path_model *m)
{
    double x[SKED_I_PATH_MOST], sum = 0;
    const double *const factor = m->matrix + (int64_t)m->count * m->count;
    (void)features(m, m->last, x);
    sked_i_cholesky_forward(factor, m->count, x);
    for (int32_t k = 0; k < m->count; k++)
        sum += x[k] * x[k];
    return row_spread(m) * sqrt(sum);
}

/* Those that would be below 0 are 0, and the others without them again. */
static void solve(sked_i_path_model *m, double *copy, double *x)
{
    const int32_t n = m->count;
    bool out[SKED_I_PATH_MOST] = {false};
    for (int32_t again = 0, changed = 1; changed && again <= n; again++) {
        memcpy(copy, m->matrix, (size_t)n * (size_t)n * sizeof *copy);
        memcpy(x, m->side, (size_t)n * sizeof *x);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++)
                if (out[i] || out[j])
                    copy[i * n + j] = i == j;
        for (int32_t i = 0; i < n; i++)
            x[i] = out[i] ? 0 : x[i];
        if (!sked_i_cholesky(copy, n))
            return;
        sked_i_cholesky_solve(copy, n, x);
        changed = 0;
        for (int32_t i = 0; i < n; i++)
            if (x[i] < 0) {
                out[i] = true;
                changed = 1;
            }
    }
    for (int32_t i = 0; i < n; i++)
        m->mean[i] = fmax(0, x[i]);
}

/* Rows that say nothing are what is believed before. */
static void begin_rows(sked_i_path_model *m)
{
    const int32_t n = m->count;
    memset(m->matrix, 0, (size_t)n * (size_t)n * sizeof *m->matrix);
    for (int32_t i = 0; i < n; i++) {
        m->matrix[(int64_t)i * n + i] = m->weight[i];
        m->side[i] = m->weight[i] * m->prior[i];
    }
}

static void factor(sked_i_path_model *m)
{
    const size_t cells = (size_t)m->count * (size_t)m->count;
    memcpy(m->matrix + cells, m->matrix, cells * sizeof *m->matrix);
    if (!sked_i_cholesky(m->matrix + cells, m->count)) /* numbers beyond reason: no doubt is known */
        for (size_t k = 0; k < cells; k++)
            m->matrix[cells + k] = k % ((size_t)m->count + 1) == 0;
}

/* Half of what an op was off, which may be the fault of others in its chain, and a quarter of its delay at
 * most. */
static double extra_of(const sked_i_path_model *m, int32_t op)
{
    const double off = m->times[op] / (2 * (m->sum[op] + 1)),
                 most = m->kind[op] >= 0 ? m->mean[m->kind[op]] / 4 : 0;
    return fmax(-most, fmin(most, off));
}

/* Chains are the longest by the parameters so far, so a few rounds. */
void sked_i_path_fit(sked_i_path_model *m, const sked_i_path_data *data, int32_t runs)
{
    enum { rounds = 6 };
    const int32_t n = m->count;
    for (int k = 0; k < rounds && runs > 0; k++) {
        begin_rows(m);
        add_rows(m, data, runs);
        solve(m, m->matrix + (int64_t)n * n, m->side + n);
        for (int32_t i = 0; m->learn && i < m->problem->graph->n_ops; i++)
            m->extra[i] = extra_of(m, i);
    }
    factor(m);
}

/* ------------------------------------------------------------------ opening */

/* Of one type, width and number of operands, where that says how much there is to do; or two gates. */
static bool same_kind(const sked_graph *g, int32_t a, int32_t b)
{
    if (sked_i_is_gate(g, a) || sked_i_is_gate(g, b))
        return sked_i_is_gate(g, a) && sked_i_is_gate(g, b);
    const char *const verilog = sked_graph_verilog(g, a);
    const bool folds = verilog != NULL && strstr(verilog, "...") != NULL;
    const int64_t many = g->pred_ptr[a + 1] - g->pred_ptr[a], others = g->pred_ptr[b + 1] - g->pred_ptr[b];
    return g->type[a] == g->type[b] && g->memory[a] == g->memory[b] &&
           (!folds || many == others || (many <= 2 && others <= 2));
}

/* Ops of one type and width are of a kind; what no delay is known of, and inputs, have none of their own. */
static void find_kinds(sked_i_path_model *m)
{
    const sked_graph *g = m->problem->graph;
    for (int32_t i = 0; i < g->n_ops; i++) {
        int32_t k = SKED_I_PATH_TYPES;
        m->kind[i] = -1;
        if (!sked_i_is_combinational(g, i) || sked_graph_verilog(g, i) == NULL)
            continue;
        while (k < m->count && !same_kind(g, m->example[k], i))
            k++;
        if (k == SKED_I_PATH_MOST)
            k--; /* more kinds than can be told apart share the last */
        if (k == m->count) {
            m->example[m->count++] = i;
            m->prior[k] = 0;
        }
        m->kind[i] = k;
        m->prior[k] = fmax(m->prior[k], sked_i_delay_in(g, i));
        if (m->tree[i].is_sum) /* most of what it takes is its carry, and the way to it */
            m->prior[SKED_I_PATH_LEVEL] = fmax(m->prior[SKED_I_PATH_LEVEL], m->prior[k] / 4);
    }
}

/* How far parameters may be from the library's: wide. In units of a deviation of a row, a twentieth of the
 * clock. */
static void set_priors(sked_i_path_model *m)
{
    const double row = row_spread(m);
    for (int32_t k = 0; k < m->count; k++) {
        const double spread = k == SKED_I_PATH_OVERHEAD  ? m->problem->clock / 2
                              : k == SKED_I_PATH_FAN_OUT ? m->problem->clock / 40
                                                         : fmax(m->prior[k], m->problem->clock / 50);
        m->weight[k] = row * row / (spread * spread);
        m->mean[k] = m->prior[k];
    }
    if (!m->learn) {
        m->count = 1;
        m->prior[0] = m->mean[0] = 1;
        m->weight[0] = row * row;
    }
}

sked_status sked_i_path_open(sked_i_path_model *m, const sked_problem *p, bool learn, sked_error *err)
{
    const sked_graph *g = p->graph;
    const int64_t most = SKED_I_PATH_MOST;
    sked_status st = SKED_OK;
    *m = (sked_i_path_model){.problem = p, .learn = learn, .count = SKED_I_PATH_TYPES};
    SKED_OWN(&m->arena, m->kind, g->n_ops);
    SKED_OWN(&m->arena, m->fan_out, g->n_ops);
    SKED_OWN0(&m->arena, m->extra, g->n_ops);
    SKED_OWN(&m->arena, m->delay, g->n_ops);
    SKED_OWN(&m->arena, m->arrival, g->n_ops);
    SKED_OWN(&m->arena, m->before, g->n_ops);
    SKED_OWN(&m->arena, m->sum, g->n_ops);
    SKED_OWN(&m->arena, m->times, g->n_ops);
    SKED_OWN0(&m->arena, m->example, most);
    SKED_OWN0(&m->arena, m->prior, most);
    SKED_OWN0(&m->arena, m->mean, most);
    SKED_OWN0(&m->arena, m->weight, most);
    SKED_OWN0(&m->arena, m->side, 2 * most);
    SKED_OWN0(&m->arena, m->tree, g->n_ops);
    sked_i_carry_of(g, m->tree);
    find_kinds(m);
    for (int32_t i = 0; learn && m->cuts == NULL && i < g->n_ops; i++)
        if (sked_i_is_gate(g, i))
            SKED_OWN(&m->arena, m->cuts, g->n_ops);
    SKED_OWN0(&m->arena, m->matrix, 2 * (int64_t)m->count * m->count);
    for (int32_t i = 0; i < g->n_ops; i++)
        m->fan_out[i] =
            sked_i_log(fmax(1, (double)(g->succ_ptr[i + 1] - g->succ_ptr[i]))) / 0.6931471805599453;
    set_priors(m);
    begin_rows(m);
    factor(m);
cleanup:
    return st;
}

void sked_i_path_close(sked_i_path_model *m)
{
    sked_i_arena_free(&m->arena);
}
