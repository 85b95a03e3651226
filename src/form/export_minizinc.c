/* MiniZinc: the problem in its own terms (starts, cumulative pools), for constraint solvers. */
#include "base/whole.h"
#include "form/export.h"

#include <assert.h>
#include <stdio.h>

static sked_status check_amounts(const sked_i_program *m, sked_error *err)
{
    bool fine = true;
    for (int32_t k = 0; k < m->n_pools; k++) {
        const sked_i_program_pool *q = &m->pool[k];
        fine = fine && (!q->limited || sked_i_whole(q->capacity, 1));
        for (int32_t j = 0; fine && j < q->count; j++)
            fine = sked_i_whole(q->amount[j], 1) && (!q->measured || sked_i_whole(q->load[j], 1));
    }
    for (int32_t i = 0; m->objective == SKED_OBJECTIVE_MEMORY && i < m->n; i++)
        fine = fine && sked_i_whole(m->p->graph->memory[i], 1);
    return fine ? SKED_OK
                : sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                              "MiniZinc models need demands, weights and memory that are whole numbers");
}

/* array[1..count] of int: name = [...]; of one or the other. */
static void write_array(sked_i_buffer *out, const char *name, const int32_t *whole, const double *values,
                        int32_t count)
{
    sked_i_buffer_format(out, "array[1..%d] of int: %s = [", (int)count, name);
    for (int32_t i = 0; i < count; i++) {
        sked_i_buffer_text(out, i == 0 ? "" : i % 20 ? ", " : ",\n  ");
        if (whole != NULL)
            sked_i_buffer_int(out, whole[i]);
        else
            sked_i_buffer_number(out, values[i]);
    }
    sked_i_buffer_text(out, "];\n");
}

static void write_starts(const sked_i_program *m, sked_i_buffer *out)
{
    sked_i_buffer_format(out, "int: n = %d;\nint: latest = %d;\n", (int)m->n, (int)m->latest);
    if (m->interval > 0)
        sked_i_buffer_format(out, "int: interval = %d;\n", (int)m->interval);
    write_array(out, "duration", NULL, m->p->graph->duration, m->n);
    write_array(out, "early", m->early, NULL, m->n);
    write_array(out, "late", m->late, NULL, m->n);
    sked_i_buffer_text(out, "array[1..n] of var 0..latest: start;\n"
                            "constraint forall(i in 1..n)(early[i] <= start[i] /\\ start[i] <= late[i]);\n");
    if (m->places == 1)
        return;
    sked_i_buffer_format(out, "array[1..n] of var 0..%d: device;\n", (int)m->places - 1);
    for (int32_t i = 0; m->p->fix_device && i < m->n; i++)
        if (m->p->fix_device[i] >= 0)
            sked_i_buffer_format(out, "constraint device[%d] = %d;\n", (int)i + 1, (int)m->p->fix_device[i]);
}

static void write_arcs(const sked_i_program *m, sked_i_buffer *out)
{
    for (int64_t k = 0; k < m->n_arcs; k++) {
        const sked_i_program_arc *a = &m->arc[k];
        sked_i_buffer_format(out, "constraint start[%d] >= start[%d] + %d", (int)a->to + 1, (int)a->from + 1,
                             (int)a->gap);
        if (a->transfer > 0 && m->places > 1)
            sked_i_buffer_format(out, " + %d * bool2int(device[%d] != device[%d])", (int)a->transfer,
                                 (int)a->from + 1, (int)a->to + 1);
        sked_i_buffer_text(out, ";\n");
    }
}

/* runs(i, t): how many runs of op i are under way in slot t of the interval. */
static void write_runs(const sked_i_program *m, sked_i_buffer *out)
{
    if (m->interval == 0)
        return;
    sked_i_buffer_format(
        out,
        "function var int: since(int: i, int: t) = (t + %d - start[i]) mod interval;\n"
        "function var int: runs(int: i, int: t) =\n"
        "  bool2int(since(i, t) < duration[i]) * (1 + (duration[i] - 1 - since(i, t) + latest * "
        "interval) div interval - latest);\n",
        (int)((m->latest / m->interval + 1) * m->interval));
}

/* One pool against a limit: a number, or the name of a peak. */
static void write_load(const sked_i_program *m, int32_t pool, const char *what, const char *limit,
                       sked_i_buffer *out)
{
    if (m->interval > 0)
        sked_i_buffer_format(out,
                             "constraint forall(t in 0..interval-1)(sum(k in index_set(op_%d))(%s_%d[k] * "
                             "runs(op_%d[k], t)) <= %s);\n",
                             (int)pool, what, (int)pool, (int)pool, limit);
    else
        sked_i_buffer_format(
            out,
            "constraint cumulative([start[i] | i in op_%d], [duration[i] | i in op_%d], %s_%d, "
            "%s);\n",
            (int)pool, (int)pool, what, (int)pool, limit);
}

static void write_pools(const sked_i_program *m, sked_i_buffer *out)
{
    char name[48];
    for (int32_t k = 0; k < m->n_pools; k++) {
        const sked_i_program_pool *q = &m->pool[k];
        double most = 0;
        if (q->count == 0)
            continue;
        sked_i_buffer_format(out, "array[1..%d] of int: op_%d = [", (int)q->count, (int)k);
        for (int32_t j = 0; j < q->count; j++)
            sked_i_buffer_format(out, "%s%d", j ? ", " : "", (int)q->op[j] + 1);
        sked_i_buffer_text(out, "];\n");
        if (q->limited) {
            sked_i_buffer text = {0};
            sked_i_buffer_number(&text, q->capacity);
            snprintf(name, sizeof name, "amount_%d", (int)k);
            write_array(out, name, NULL, q->amount, q->count);
            write_load(m, k, "amount", text.failed ? "0" : text.data, out);
            out->failed = out->failed || text.failed;
            sked_i_buffer_free(&text);
        }
        if (q->measured) {
            for (int32_t j = 0; j < q->count; j++)
                most +=
                    q->load[j] * (m->interval > 0 ? ceil(m->p->graph->duration[q->op[j]] / m->interval) : 1);
            snprintf(name, sizeof name, "load_%d", (int)k);
            write_array(out, name, NULL, q->load, q->count);
            sked_i_buffer_text(out, "var 0..");
            sked_i_buffer_number(out, most);
            sked_i_buffer_format(out, ": peak_%d;\n", (int)k);
            snprintf(name, sizeof name, "peak_%d", (int)k);
            write_load(m, k, "load", name, out);
        }
    }
}

static void write_devices(const sked_i_program *m, sked_i_buffer *out)
{
    if (m->places == 1)
        return;
    if (m->interval > 0)
        sked_i_buffer_format(
            out,
            "constraint forall(d in 0..%d, t in 0..interval-1)(sum(i in 1..n)(bool2int(device[i] "
            "= d) * runs(i, t)) <= 1);\n",
            (int)m->places - 1);
    else
        sked_i_buffer_text(
            out, "constraint forall(i, j in 1..n where i < j /\\ duration[i] > 0 /\\ duration[j] > 0)(\n"
                 "  device[i] != device[j] \\/ start[i] + duration[i] <= start[j] \\/ start[j] + "
                 "duration[j] <= start[i]);\n");
}

static void write_memory(const sked_i_program *m, sked_i_buffer *out)
{
    const sked_graph *g = m->p->graph;
    double most = 0;
    for (int32_t i = 0; i < m->n; i++)
        most += g->memory[i];
    write_array(out, "memory", NULL, g->memory, m->n);
    sked_i_buffer_text(out, "array[1..n] of set of int: consumers = [");
    for (int32_t i = 0; i < m->n; i++) {
        bool first = true;
        sked_i_buffer_text(out, i ? ", {" : "{");
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            if (g->edge_distance[e] > 0 || !sked_i_passes(g, e))
                continue;
            sked_i_buffer_format(out, "%s%d", first ? "" : ", ", (int)g->edge_to[e] + 1);
            first = false;
        }
        sked_i_buffer_text(out, "}");
    }
    sked_i_buffer_text(out, "];\nvar 0..");
    sked_i_buffer_number(out, most);
    sked_i_buffer_text(out,
                       ": memory_peak;\n"
                       "constraint forall(t in 0..latest)(sum(i in 1..n where memory[i] > 0)(memory[i] * "
                       "bool2int(start[i] <= t /\\ exists(j in consumers[i])(start[j] > t))) <= "
                       "memory_peak);\n");
}

static void write_peaks(const sked_i_program *m, sked_i_buffer *out)
{
    bool any = false;
    for (int32_t k = 0; k < m->n_pools; k++)
        if (m->pool[k].measured && m->pool[k].count > 0) {
            sked_i_buffer_format(out, "%speak_%d", any ? " + " : "", (int)k);
            any = true;
        }
    sked_i_buffer_text(out, any ? "" : "0");
}

static void write_cost(const sked_i_program *m, sked_i_buffer *out)
{
    sked_i_buffer_text(out, "var int: communication = 0");
    for (int64_t k = 0; k < m->n_arcs; k++)
        if (m->arc[k].counted)
            sked_i_buffer_format(out, "\n  + start[%d] - start[%d] + %lld", (int)m->arc[k].to + 1,
                                 (int)m->arc[k].from + 1, (long long)m->arc[k].distance * m->interval);
    sked_i_buffer_text(out, ";\nsolve minimize ");
    write_peaks(m, out);
    sked_i_buffer_text(out, " + ");
    sked_i_buffer_number(out, m->p->alpha);
    sked_i_buffer_text(out, " * communication;\n");
}

static void write_objective(const sked_i_program *m, sked_i_buffer *out)
{
    switch (m->objective) {
    case SKED_OBJECTIVE_MAKESPAN:
    case SKED_OBJECTIVE_II:
        sked_i_buffer_text(out, "var 0..latest: makespan;\n"
                                "constraint forall(i in 1..n)(start[i] + duration[i] <= makespan);\n"
                                "solve minimize makespan;\n");
        return;
    case SKED_OBJECTIVE_MEMORY:
        write_memory(m, out);
        sked_i_buffer_text(out, "solve minimize memory_peak;\n");
        return;
    case SKED_OBJECTIVE_COST:
        write_cost(m, out);
        return;
    case SKED_OBJECTIVE_RESOURCE:
    case SKED_OBJECTIVE_ARENA: /* refused by sked_i_program_create */
        break;
    }
    sked_i_buffer_text(out, "solve minimize ");
    write_peaks(m, out);
    sked_i_buffer_text(out, ";\n");
}

sked_status sked_i_export_minizinc(const sked_i_program *m, const sked_i_mip *mip, sked_i_buffer *out,
                                   sked_error *err)
{
    assert(mip == NULL); /* the model in its own terms, without rows */
    (void)mip;
    const sked_status st = check_amounts(m, err);
    if (st != SKED_OK)
        return st;
    sked_i_buffer_text(out,
                       "% Ops are numbered from 1 in the order of the graph.\ninclude \"cumulative.mzn\";\n");
    write_starts(m, out);
    write_arcs(m, out);
    write_runs(m, out);
    write_pools(m, out);
    write_devices(m, out);
    write_objective(m, out);
    sked_i_buffer_text(out, "output [\"start = \", show(start), \"\\n\"];\n");
    return SKED_OK;
}
