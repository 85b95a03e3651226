/*
 * Chrome's Trace Event Format: complete events ("X", with ts and dur) and pairs of begin and end ("B", "E"),
 * which nest within a thread. ONNX Runtime calls its events NAME_kernel_time, and a node without a name
 * OPERATOR_NUMBER.
 */
#include "formats/trace_profile.h"

#include <stdlib.h>
#include <string.h>

/* One run of an op. */
typedef struct sample {
    int32_t op;
    double time;
} sample;

/* A begin or an end. */
typedef struct mark {
    int64_t number; /* in the file */
    int32_t track;  /* process and thread */
    int32_t op;     /* -1: the event is no op's */
    bool begins;
    double time;
} mark;

enum { NAME, PHASE, TIME, DURATION, PROCESS, THREAD };
static const sked_i_json_fields event_fields =
    SKED_I_JSON_FIELDS("an event", false, "name", "ph", "ts", "dur", "pid", "tid");

typedef struct trace {
    sked_i_arena arena;
    sked_i_json *j;
    const sked_graph *graph;
    sample *sample;
    mark *mark;
    int64_t n_samples, sample_cap, n_marks, mark_cap;
    sked_i_names tracks;
    int32_t *ranked; /* [n_ranked] op of ONNX Runtime's number */
    int64_t n_ranked;
    /* of the event at hand */
    sked_i_buffer name, phase, process, thread;
    double time, duration;
    uint32_t seen;
} trace;

/* The events among the members of the object that comes next. */
static const char *find_member(sked_i_json *j)
{
    static const char key[] = "traceEvents";
    const char *events = NULL;
    sked_i_json_enter(j, '{', "a profile");
    while (sked_i_json_key(j)) {
        const bool named = j->key_size == sizeof key - 1 && memcmp(j->key, key, sizeof key - 1) == 0;
        const bool list = named && sked_i_json_peek(j) == '[';
        const char *const value = sked_i_json_defer(j);
        if (list && events == NULL)
            events = value;
    }
    return events;
}

const char *sked_i_trace_find(sked_i_json *j)
{
    const char *const begin = j->at;
    const char *const events = sked_i_json_peek(j) == '[' ? sked_i_json_defer(j) : find_member(j);
    sked_i_json_end(j);
    if (j->status != SKED_OK)
        return NULL;
    sked_i_json_seek(j, begin);
    return events;
}

/* ------------------------------------------------------------------ names */

/* The ops in ONNX Runtime's numbers: constants become weights before it counts. */
static void rank_ops(trace *t)
{
    const sked_graph *g = t->graph;
    t->ranked = sked_i_arena_alloc(&t->arena, g->n_ops, sizeof *t->ranked);
    if (t->ranked == NULL) {
        sked_i_json_no_memory(t->j);
        return;
    }
    for (int32_t i = 0; i < g->n_ops; i++) {
        const char *type = sked_graph_op_type(g, i);
        if (type == NULL || strcmp(type, "Constant") != 0)
            t->ranked[t->n_ranked++] = i;
    }
}

/* OPERATOR_NUMBER */
static int32_t unnamed_op(const trace *t, const char *name, size_t size)
{
    size_t digits = 0;
    int64_t rank;
    while (digits < size && name[size - digits - 1] != '_')
        digits++;
    if (digits == size || !sked_i_parse_int(name + size - digits, digits, 0, INT32_MAX, &rank) ||
        rank >= t->n_ranked)
        return -1;
    const char *type = sked_graph_op_type(t->graph, t->ranked[rank]);
    const size_t length = size - digits - 1;
    const bool same = type != NULL && strlen(type) == length && memcmp(type, name, length) == 0;
    return same ? t->ranked[rank] : -1;
}

/* The op that the event at hand is named after, or -1. */
static int32_t find_op(trace *t)
{
    sked_i_buffer *const name = &t->name;
    static const char suffix[] = "_kernel_time";
    const int64_t length = name->size - (int64_t)(sizeof suffix - 1);
    const int32_t op = sked_graph_find_op(t->graph, name->data);
    if (op >= 0 || length <= 0 || strcmp(name->data + length, suffix) != 0)
        return op;
    name->data[length] = 0;
    name->size = length;
    const int32_t named = sked_graph_find_op(t->graph, name->data);
    return named >= 0 ? named : unnamed_op(t, name->data, (size_t)length);
}

/* ------------------------------------------------------------------ events */

static void add_sample(trace *t, int32_t op, double time)
{
    if (!SKED_OWN_GROW(&t->arena, t->sample, t->sample_cap, t->n_samples + 1))
        sked_i_json_no_memory(t->j);
    else
        t->sample[t->n_samples++] = (sample){op, time};
}

static void add_mark(trace *t, int32_t op, bool begins)
{
    bool fresh;
    sked_i_buffer_char(&t->process, ' ');
    sked_i_buffer_add(&t->process, t->thread.data, (size_t)t->thread.size);
    const int32_t track =
        t->process.failed ? -1
                          : sked_i_names_add(&t->tracks, t->process.data, (size_t)t->process.size, &fresh);
    if (track < 0 || !SKED_OWN_GROW(&t->arena, t->mark, t->mark_cap, t->n_marks + 1)) {
        sked_i_json_no_memory(t->j);
        return;
    }
    t->mark[t->n_marks] = (mark){t->n_marks, track, op, begins, t->time};
    t->n_marks++;
}

/* Text, or a number as text: both occur as ids and names. Anything else counts as none. */
static void read_word(sked_i_json *j, const char *what, sked_i_buffer *out)
{
    const char kind = sked_i_json_peek(j);
    if (kind == '"') {
        sked_i_json_text(j, what, out);
    } else if (kind == '0') {
        sked_i_buffer_number(out, sked_i_json_number(j, what));
    } else {
        sked_i_json_skip(j);
    }
}

static void read_fields(trace *t)
{
    sked_i_json *j = t->j;
    sked_i_buffer *const word[] = {
        [NAME] = &t->name, [PHASE] = &t->phase, [PROCESS] = &t->process, [THREAD] = &t->thread};
    t->seen = 0;
    for (size_t k = 0; k < sizeof word / sizeof *word; k++)
        if (word[k] != NULL) {
            word[k]->size = 0;
            sked_i_buffer_text(word[k], "");
        }
    sked_i_json_enter(j, '{', "an event of a trace");
    for (int k; (k = sked_i_json_field(j, &event_fields, &t->seen)) >= 0;)
        if (k == TIME)
            t->time = sked_i_json_number(j, "\"ts\"");
        else if (k == DURATION)
            t->duration = sked_i_json_number(j, "\"dur\"");
        else
            read_word(j, event_fields.names[k], word[k]);
    if (t->name.failed || t->phase.failed || t->process.failed || t->thread.failed)
        sked_i_json_no_memory(t->j);
}

static void read_event(trace *t)
{
    read_fields(t);
    if (t->j->status != SKED_OK || t->phase.size != 1)
        return;
    const char phase = t->phase.data[0];
    const int32_t op = find_op(t);
    if (phase == 'X' && op >= 0) {
        if (!SKED_I_JSON_HAS(t->seen, DURATION) || t->duration < 0)
            sked_i_json_fail(t->j, "a complete event of an op needs a \"dur\" of 0 or more");
        else
            add_sample(t, op, t->duration);
    } else if (phase == 'B' || phase == 'E') {
        if (!SKED_I_JSON_HAS(t->seen, TIME))
            sked_i_json_fail(t->j, "an event that begins or ends something needs a \"ts\"");
        else
            add_mark(t, op, phase == 'B');
    }
}

/* ------------------------------------------------------------------ durations */

static int by_track(const void *x, const void *y)
{
    const mark *a = x, *b = y;
    return a->track != b->track ? (a->track > b->track) - (a->track < b->track)
                                : (a->number > b->number) - (a->number < b->number);
}

/* An end closes the last open begin of its track; what is never closed, or never was open, says nothing. */
static void match_marks(trace *t)
{
    int64_t open = 0; /* marks [first, open) of the track at hand */
    int64_t first = 0;
    if (t->n_marks > 0)
        qsort(t->mark, (size_t)t->n_marks, sizeof *t->mark, by_track);
    for (int64_t i = 0; i < t->n_marks; i++) {
        const mark m = t->mark[i];
        if (open > first && t->mark[open - 1].track != m.track)
            first = open;
        if (m.begins) {
            t->mark[open++] = m; /* never beyond i */
            continue;
        }
        if (open == first)
            continue;
        const mark b = t->mark[--open];
        if (b.op >= 0 && m.time < b.time)
            sked_i_json_fail(t->j, "an event of op %d ends before it begins", (int)b.op);
        else if (b.op >= 0)
            add_sample(t, b.op, m.time - b.time);
    }
}

static int by_op(const void *x, const void *y)
{
    const sample *a = x, *b = y;
    return a->op != b->op ? (a->op > b->op) - (a->op < b->op) : (a->time > b->time) - (a->time < b->time);
}

static void take_medians(trace *t, double *duration)
{
    if (t->n_samples == 0) {
        sked_i_json_fail(t->j, "no event of the trace has the name of an op");
        return;
    }
    qsort(t->sample, (size_t)t->n_samples, sizeof *t->sample, by_op);
    for (int64_t i = 0, end; i < t->n_samples; i = end) {
        for (end = i + 1; end < t->n_samples && t->sample[end].op == t->sample[i].op; end++)
            continue;
        const int64_t n = end - i, low = i + (n - 1) / 2, high = i + n / 2;
        duration[t->sample[i].op] = t->sample[low].time / 2 + t->sample[high].time / 2;
    }
}

void sked_i_trace_read(sked_i_json *j, const char *events, const sked_graph *g, double *duration)
{
    trace t = {.j = j, .graph = g};
    rank_ops(&t);
    while (sked_i_json_each(j, events, "a trace", "event"))
        read_event(&t);
    if (j->status == SKED_OK)
        match_marks(&t);
    if (j->status == SKED_OK)
        take_medians(&t, duration);
    sked_i_arena_free(&t.arena);
    sked_i_names_free(&t.tracks);
    sked_i_buffer_free(&t.name);
    sked_i_buffer_free(&t.phase);
    sked_i_buffer_free(&t.process);
    sked_i_buffer_free(&t.thread);
}
