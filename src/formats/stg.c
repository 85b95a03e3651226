/*
 * Standard Task Graphs: a count, then one task after another as `id duration predecessors id id ...`,
 * comments after '#'. The first and last task are dummies. docs/formats/stg.md
 */
#include "formats/tasks.h"

static sked_status read_task(sked_i_tasks *t, sked_i_scan *s, sked_error *err)
{
    sked_status st;
    int32_t id, n, from;
    double duration;
    SKED_TRY(sked_i_scan_int(s, "a task id", 0, INT32_MAX - 2, &id, err));
    if (t->count == 0 && id <= 1)
        t->first_id = id;
    if (id != t->first_id + t->count)
        return sked_i_source_fail(t->source, s->at - 1, err,
                                  "task %d where task %d is due: ids count up by 1", (int)id,
                                  (int)(t->first_id + t->count));
    const char *at = s->at - 1;
    SKED_TRY(sked_i_scan_number(s, "the duration of a task", &duration, err));
    SKED_TRY(sked_i_tasks_add(t, duration, at, err));
    SKED_TRY(sked_i_scan_int(s, "the number of predecessors", 0, INT32_MAX, &n, err));
    for (int32_t k = 0; k < n; k++) {
        SKED_TRY(sked_i_scan_int(s, "a predecessor", 0, INT32_MAX, &from, err));
        SKED_TRY(sked_i_tasks_add_link(t, from, id, s->at - 1, err));
    }
cleanup:
    return st;
}

/*
 * The header counts the two dummies in some files and not in others. Where it does, the last task must be
 * one; otherwise the file has lost its last two lines.
 */
static sked_status check_count(const sked_i_tasks *t, int32_t promised, const char *end, sked_error *err)
{
    const int64_t extra = (int64_t)t->count - promised;
    if (extra == 2 || (extra == 0 && (!sked_i_tasks_is_source(t) || sked_i_tasks_is_sink(t) || t->count < 2)))
        return SKED_OK;
    return sked_i_source_fail(t->source, end, err,
                              "%d tasks, but the first line promises %d (with or without the two dummies)",
                              (int)t->count, (int)promised);
}

static sked_status read_stg(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    sked_status st;
    sked_i_tasks t;
    sked_i_scan s = sked_i_scan_source(source);
    sked_i_word w;
    int32_t promised;
    SKED_TRY(sked_i_tasks_init(&t, source, "an STG file", err));
    SKED_TRY(sked_i_scan_int(&s, "the number of tasks", 0, INT32_MAX, &promised, err));
    for (sked_i_scan ahead = s; sked_i_scan_word(&ahead, &w); ahead = s)
        SKED_TRY(read_task(&t, &s, err));
    SKED_TRY(check_count(&t, promised, s.at, err));
    SKED_TRY(sked_i_tasks_finish(&t, out, err));
cleanup:
    sked_i_tasks_free(&t);
    return st;
}

/* A lone count, then the dummy source `0 0 0`. */
static bool sniff_stg(const char *text, size_t size)
{
    static const char *const source[] = {"0", "0", "0"};
    sked_i_scan s = sked_i_scan_text(text, size);
    sked_i_word w;
    int64_t n;
    if (!sked_i_scan_word(&s, &w) || !sked_i_parse_int(w.text, w.size, 0, INT32_MAX, &n))
        return false;
    s.one_line = true;
    if (sked_i_scan_word(&s, &w) || !sked_i_scan_next_line(&s))
        return false;
    for (int i = 0; i < 3; i++)
        if (!sked_i_scan_word(&s, &w) || !sked_i_word_is(w, source[i]))
            return false;
    return !sked_i_scan_word(&s, &w);
}

/* The predecessors of op i as ids, or the source where it has none. */
static void write_preds(const sked_graph *g, int32_t i, sked_i_buffer *out)
{
    const int64_t begin = g->pred_ptr[i], n = g->pred_ptr[i + 1] - begin;
    sked_i_buffer_int(out, n ? n : 1);
    for (int64_t k = 0; k < n; k++)
        sked_i_buffer_number_after(out, " ", g->pred_op[begin + k] + 1.0);
    sked_i_buffer_text(out, n ? "\n" : " 0\n");
}

static void write_sink(const sked_graph *g, sked_i_buffer *out)
{
    int32_t sinks = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        sinks += g->succ_ptr[i] == g->succ_ptr[i + 1];
    sked_i_buffer_format(out, "%lld 0 %d", (long long)g->n_ops + 1, (int)sinks);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (g->succ_ptr[i] == g->succ_ptr[i + 1])
            sked_i_buffer_number_after(out, " ", i + 1.0);
    sked_i_buffer_char(out, '\n');
}

static sked_status write_stg(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    const sked_status st = sked_i_plain_check(g, "STG", false, err);
    if (st != SKED_OK)
        return st;
    sked_i_buffer_format(out, "%d\n0 0 0\n", (int)g->n_ops);
    for (int32_t i = 0; i < g->n_ops; i++) {
        sked_i_buffer_int(out, (int64_t)i + 1);
        sked_i_buffer_number_after(out, " ", g->duration[i]);
        sked_i_buffer_char(out, ' ');
        write_preds(g, i, out);
    }
    write_sink(g, out);
    return SKED_OK;
}

const sked_i_format sked_i_format_stg = {
    .info = {"stg", "Standard Task Graph: durations and predecessors", ".stg", true, true},
    .sniff = sniff_stg,
    .read = read_stg,
    .write = write_stg,
};
