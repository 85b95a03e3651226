/* Profiles: {"op": duration, ...} and traces (trace_profile.h). docs/formats/library.md. */
#include "formats/observed.h"

#include "formats/trace_profile.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const sked_read_options no_options;

/* ------------------------------------------------------------------ what was measured */

bool sked_i_observed_add(sked_i_observed *m, int32_t op, const char *on, double time)
{
    bool fresh;
    if (m->type != NULL)
        on = m->type;
    const int32_t id = on != NULL ? sked_i_names_add(&m->on, on, strlen(on), &fresh) : -1;
    if ((on != NULL && id < 0) || !SKED_OWN_GROW(&m->arena, m->time, m->cap, m->n + 1))
        return false;
    m->time[m->n++] = (sked_i_observed_time){op, id, time};
    return true;
}

bool sked_i_observed_stranger(sked_i_observed *m, const char *name, size_t size)
{
    bool fresh;
    return m->strangers.count == sked_i_observed_shown ||
           sked_i_names_add(&m->strangers, name, size, &fresh) >= 0;
}

static int by_place(const void *x, const void *y)
{
    const sked_i_observed_time *a = x, *b = y;
    return a->op != b->op   ? (a->op > b->op) - (a->op < b->op)
           : a->on != b->on ? (a->on > b->on) - (a->on < b->on)
                            : (a->time > b->time) - (a->time < b->time);
}

void sked_i_observed_settle(sked_i_observed *m)
{
    int64_t kept = 0;
    if (m->n > 0)
        qsort(m->time, (size_t)m->n, sizeof *m->time, by_place);
    for (int64_t i = 0, end; i < m->n; i = end) {
        const sked_i_observed_time first = m->time[i];
        for (end = i + 1; end < m->n && m->time[end].op == first.op && m->time[end].on == first.on; end++)
            continue;
        const int64_t n = end - i;
        const double low = m->time[i + (n - 1) / 2].time, high = m->time[i + n / 2].time;
        m->time[kept++] = (sked_i_observed_time){first.op, first.on, low / 2 + high / 2};
    }
    m->n = kept;
}

/* ------------------------------------------------------------------ {"op": duration, ...} */

static void read_profile(sked_i_json *j, sked_i_observed *m, uint8_t *seen, sked_i_buffer *name)
{
    char label[80];
    sked_i_json_enter(j, '{', "a profile");
    while (sked_i_json_key(j)) {
        if (!sked_i_json_key_text(j, name))
            return;
        const int32_t op = sked_graph_find_op(m->graph, name->data);
        sked_i_quote(name->data, (size_t)name->size, label, sizeof label);
        if (op < 0 || seen[op]) {
            sked_i_json_fail(j, op < 0 ? "the graph has no op called '%s'" : "op '%s' comes twice", label);
            return;
        }
        seen[op] = 1;
        const double time = sked_i_json_number(j, "a duration");
        if (time < 0)
            sked_i_json_fail(j, "the duration of op '%s' must be 0 or more", label);
        if (!sked_i_observed_add(m, op, NULL, time))
            sked_i_json_no_memory(j);
    }
    sked_i_json_end(j);
}

/* ------------------------------------------------------------------ into the graph */

/* What the profile says of a device comes in place of what the graph says of it; the rest stays. */
static sked_status copy_op(const sked_i_observed *m, int32_t op, int64_t first, int64_t end,
                           const int32_t *of_name, int32_t *last, sked_builder *b, sked_error *err)
{
    const sked_graph *g = m->graph;
    const bool all = first < end && m->time[first].on < 0;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_graph_copy_op(g, op, all ? m->time[first].time : g->duration[op], b, err));
    for (int64_t k = first + all; k < end; k++) {
        last[m->time[k].on] = op + 1;
        SKED_TRY(
            sked_builder_add_duration(b, op, sked_i_names_at(&m->on, m->time[k].on), m->time[k].time, err));
    }
    for (int64_t k = g->on_ptr ? g->on_ptr[op] : 0; g->on_ptr && k < g->on_ptr[op + 1]; k++) {
        const int32_t on = of_name[g->on_name[k]];
        if (on < 0 || last[on] != op + 1)
            SKED_TRY(sked_builder_add_duration(b, op, sked_i_names_at(&g->on_names, g->on_name[k]),
                                               g->on_duration[k], err));
    }
cleanup:
    return st;
}

static sked_status apply(sked_i_observed *m, sked_graph **out, sked_error *err)
{
    const sked_graph *g = m->graph;
    sked_builder *b = NULL;
    int32_t *of_name = NULL, *last = NULL;
    sked_status st = SKED_OK;
    SKED_OWN(&m->arena, of_name, g->on_names.count);
    SKED_OWN0(&m->arena, last, m->on.count);
    for (int32_t k = 0; k < g->on_names.count; k++) {
        const char *name = sked_i_names_at(&g->on_names, k);
        of_name[k] = sked_i_names_find(&m->on, name, strlen(name));
    }
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_i_graph_copy_begin(g, b, err));
    for (int64_t op = 0, first = 0, end; op < g->n_ops; op++, first = end) {
        for (end = first; end < m->n && m->time[end].op == op; end++)
            continue;
        SKED_TRY(copy_op(m, (int32_t)op, first, end, of_name, last, b, err));
    }
    SKED_TRY(sked_i_graph_copy_edges(g, b, err));
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    return st;
}

/* ------------------------------------------------------------------ what it covers */

static void add_example(sked_i_buffer *out, int i, const char *name)
{
    sked_i_buffer_format(out, "%s'%s'", i > 0 ? ", " : "", sked_i_quoted_text(name).text);
}

static void add_unmeasured(const sked_i_observed *m, sked_i_buffer *out)
{
    const sked_graph *g = m->graph;
    int shown = 0;
    char label[80];
    for (int64_t op = 0, k = 0; op < g->n_ops && shown < sked_i_observed_shown; op++) {
        while (k < m->n && m->time[k].op < op)
            k++;
        if (g->duration[op] > 0 && (k == m->n || m->time[k].op != op)) {
            sked_i_op_label(g, (int32_t)op, label, sizeof label);
            sked_i_buffer_format(out, "%s'%s'", shown++ > 0 ? ", " : "", label);
        }
    }
}

/* "3 of 29 ops measured", and below nine of ten names of both sides. Ops without a duration need none. */
static sked_status note_coverage(const sked_i_observed *m, const char *name, const sked_read_options *opt,
                                 sked_error *err)
{
    int64_t measured = 0, ops = 0;
    sked_i_buffer text = {0};
    if (opt->note == NULL)
        return SKED_OK;
    for (int64_t k = 0; k < m->n; k++)
        if (k == 0 || m->time[k].op != m->time[k - 1].op) {
            measured++;
            ops += m->graph->duration[m->time[k].op] == 0;
        }
    for (int32_t i = 0; i < m->graph->n_ops; i++)
        ops += m->graph->duration[i] > 0;
    sked_i_buffer_format(&text, "%.300s: %lld of %lld ops measured", name, (long long)measured,
                         (long long)ops);
    if (10 * measured < 9 * ops) {
        sked_i_buffer_text(&text, "; the others keep their durations: ");
        add_unmeasured(m, &text);
        if (m->strangers.count > 0)
            sked_i_buffer_text(&text, "; names in it that no op has: ");
        for (int32_t k = 0; k < m->strangers.count; k++)
            add_example(&text, k, sked_i_names_at(&m->strangers, k));
    }
    const sked_status st = text.failed ? sked_i_no_memory(err) : SKED_OK;
    if (st == SKED_OK)
        opt->note(opt->note_data, text.data);
    sked_i_buffer_free(&text);
    return st;
}

sked_status sked_i_observed_parse(const char *name, const char *text, size_t size, const char *type,
                                  const sked_read_options *opt, const sked_graph *g, sked_graph **out,
                                  sked_error *err)
{
    const sked_i_source source = {name, text, size, &no_options};
    sked_i_observed m = {.graph = g, .type = type};
    sked_i_json j = {0};
    sked_i_buffer key = {0};
    uint8_t *seen = NULL;
    sked_status st = SKED_OK;
    SKED_OWN0(&m.arena, seen, g->n_ops);
    sked_i_json_begin(&j, &source, err);
    const sked_i_trace_place trace = sked_i_trace_find(&j);
    if (trace.events != NULL)
        sked_i_trace_read(&j, &trace, &m);
    else
        read_profile(&j, &m, seen, &key);
    SKED_TRY(j.status);
    sked_i_observed_settle(&m);
    SKED_TRY(apply(&m, out, err));
    st = note_coverage(&m, name, opt, err);
    if (st != SKED_OK) {
        sked_graph_destroy(*out);
        *out = NULL;
    }
cleanup:
    sked_i_names_free(&m.on);
    sked_i_names_free(&m.strangers);
    sked_i_arena_free(&m.arena);
    sked_i_buffer_free(&key);
    sked_i_json_free(&j);
    return st;
}

sked_status sked_i_durations_parse_profile(const char *name, const char *text, size_t size,
                                           const sked_graph *g, sked_graph **out, sked_error *err)
{
    return sked_i_observed_parse(name, text, size, NULL, &no_options, g, out, err);
}
