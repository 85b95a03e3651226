/*
 * Patterson's RCPSP files: `tasks pools`, the capacities, then per task its duration, its demand on each
 * pool, the number of its successors and their ids (from 1). Tasks 1 and n are dummies. docs/formats/rcp.md
 */
#include "formats/tasks.h"

static sked_status read_task(sked_i_tasks *t, sked_i_scan *s, sked_error *err)
{
    sked_status st;
    const int32_t id = t->count + 1;
    double x;
    SKED_TRY(sked_i_scan_number(s, "the duration of a task", &x, err));
    SKED_TRY(sked_i_tasks_add(t, x, s->at - 1, err));
    SKED_TRY(sked_i_tasks_read_demands(t, s, t->pools, err));
    SKED_TRY(sked_i_tasks_read_successors(t, s, id, err));
cleanup:
    return st;
}

static sked_status read_rcp(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    sked_status st;
    sked_i_tasks t;
    sked_i_scan s = sked_i_scan_source(source);
    int32_t n, pools;
    SKED_TRY(sked_i_tasks_init(&t, source, "a Patterson .rcp file", err));
    SKED_TRY(sked_i_scan_int(&s, "the number of tasks", 0, INT32_MAX - 2, &n, err));
    SKED_TRY(sked_i_scan_int(&s, "the number of resources", 0, INT32_MAX - 2, &pools, err));
    SKED_TRY(sked_i_tasks_read_pools(&t, &s, pools, err));
    for (int32_t i = 0; i < n; i++)
        SKED_TRY(read_task(&t, &s, err));
    SKED_TRY(sked_i_scan_end(&s, n, "tasks", err));
    SKED_TRY(sked_i_tasks_finish(&t, out, err));
cleanup:
    sked_i_tasks_free(&t);
    return st;
}

/* `n k` alone on a line, k capacities, then the dummy source: k + 1 zeros and its successors. */
static bool sniff_rcp(const char *text, size_t size)
{
    sked_i_scan s = sked_i_scan_text(text, size);
    sked_i_word w;
    int64_t n, pools;
    double x;
    if (!sked_i_scan_word(&s, &w) || !sked_i_parse_int(w.text, w.size, 2, INT32_MAX, &n))
        return false;
    s.one_line = true;
    if (!sked_i_scan_word(&s, &w) || !sked_i_parse_int(w.text, w.size, 0, 4096, &pools) ||
        sked_i_scan_word(&s, &w))
        return false;
    s.one_line = false;
    for (int64_t r = 0; r < pools; r++)
        if (!sked_i_scan_word(&s, &w) || !sked_i_parse_double(w.text, w.size, &x))
            return false;
    for (int64_t r = 0; r <= pools; r++)
        if (!sked_i_scan_word(&s, &w) || !sked_i_word_is(w, "0"))
            return false;
    return sked_i_scan_word(&s, &w) && sked_i_parse_int(w.text, w.size, 1, n, &n);
}

/* The format has no word for "unlimited": the sum of all demands on the pool never binds. */
static sked_status write_capacities(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    sked_status st = SKED_OK;
    double *total = NULL;
    SKED_NEW0(total, g->n_resources);
    for (int64_t k = 0; k < g->demand_ptr[g->n_ops]; k++)
        total[g->demand_resource[k]] += g->demand_amount[k];
    for (int32_t r = 0; r < g->n_resources; r++) {
        sked_i_buffer_number_after(out, r ? " " : "",
                                   isfinite(g->capacity[r]) ? g->capacity[r] : fmin(total[r], 0x1p1023));
    }
    sked_i_buffer_char(out, '\n');
cleanup:
    free(total);
    return st;
}

/* A dummy: no time, no demand, and as successors the ops without predecessors, or (sink) none. */
static void write_source(const sked_graph *g, sked_i_buffer *out)
{
    int32_t sources = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        sources += g->pred_ptr[i] == g->pred_ptr[i + 1];
    sked_i_buffer_char(out, '0');
    for (int32_t r = 0; r < g->n_resources; r++)
        sked_i_buffer_text(out, " 0");
    sked_i_buffer_format(out, " %d", (int)sources);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (g->pred_ptr[i] == g->pred_ptr[i + 1])
            sked_i_buffer_format(out, " %lld", (long long)i + 2);
    sked_i_buffer_char(out, '\n');
}

static void write_op(const sked_graph *g, int32_t i, sked_i_buffer *out)
{
    const int64_t begin = g->succ_ptr[i], n = g->succ_ptr[i + 1] - begin;
    int64_t k = g->demand_ptr[i];
    sked_i_buffer_number(out, g->duration[i]);
    for (int32_t r = 0; r < g->n_resources; r++) {
        const bool uses = k < g->demand_ptr[i + 1] && g->demand_resource[k] == r;
        sked_i_buffer_number_after(out, " ", uses ? g->demand_amount[k] : 0);
        k += uses;
    }
    sked_i_buffer_number_after(out, " ", n ? (double)n : 1);
    for (int64_t e = begin; e < begin + n; e++)
        sked_i_buffer_number_after(out, " ", g->edge_to[e] + 2.0);
    if (n == 0)
        sked_i_buffer_format(out, " %lld", (long long)g->n_ops + 2);
    sked_i_buffer_char(out, '\n');
}

static sked_status write_rcp(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    sked_status st = sked_i_plain_check(g, "Patterson .rcp", true, err);
    if (st != SKED_OK)
        return st;
    sked_i_buffer_format(out, "%lld %d\n", (long long)g->n_ops + 2, (int)g->n_resources);
    st = write_capacities(g, out, err);
    if (st != SKED_OK)
        return st;
    write_source(g, out);
    for (int32_t i = 0; i < g->n_ops; i++)
        write_op(g, i, out);
    for (int32_t r = 0; r < g->n_resources + 2; r++)
        sked_i_buffer_text(out, r ? " 0" : "0");
    sked_i_buffer_char(out, '\n');
    return SKED_OK;
}

const sked_i_format sked_i_format_rcp = {
    .info = {"rcp", "Patterson: resource-constrained project", ".rcp", true, true},
    .sniff = sniff_rcp,
    .read = read_rcp,
    .write = write_rcp,
};
