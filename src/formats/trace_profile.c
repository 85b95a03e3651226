/*
 * Chrome's Trace Event Format: complete events ("X", with ts and dur) and pairs of begin and end ("B", "E"),
 * which nest within a thread. Our own traces say the unit of time that a schedule counts in; there an event's
 * args have the op's time in that unit, and the device it was measured on.
 */
#include "formats/trace_profile.h"

#include "formats/trace_names.h"

#include <stdlib.h>
#include <string.h>

/* A begin or an end. */
typedef struct mark {
    int64_t number; /* in the file */
    int32_t track;  /* process and thread */
    int32_t op;     /* -1: the event is no op's */
    bool begins;
    double time;
} mark;

enum { NAME, PHASE, TIME, DURATION, PROCESS, THREAD, ARGS };
static const sked_i_json_fields event_fields =
    SKED_I_JSON_FIELDS("an event", false, "name", "ph", "ts", "dur", "pid", "tid", "args");
enum { OWN_TIME, DEVICE, OPERATOR };
static const sked_i_json_fields args_fields =
    SKED_I_JSON_FIELDS("args of an event", false, "duration", "device", "op_name");

typedef struct trace {
    sked_i_arena arena;
    sked_i_json *j;
    sked_i_observed *measured;
    sked_i_trace_names names;
    bool own;     /* one of ours */
    bool kernels; /* it has events of ONNX Runtime's nodes */
    mark *mark;
    int64_t n_marks, mark_cap;
    sked_i_names tracks;
    /* of the event at hand */
    sked_i_buffer name, phase, process, thread, device, op_type;
    double time, duration, own_time;
    uint32_t seen, args_seen;
} trace;

static bool is_key(const sked_i_json *j, const char *key)
{
    return j->key_size == strlen(key) && memcmp(j->key, key, j->key_size) == 0;
}

/* Does the object that comes next say a unit of time? */
static bool says_unit(sked_i_json *j)
{
    bool says = false;
    sked_i_json_enter(j, '{', "\"otherData\"");
    while (sked_i_json_key(j)) {
        says = says || is_key(j, "time unit");
        sked_i_json_skip(j);
    }
    return says;
}

/* What is of use among the members of the object that comes next. */
static sked_i_trace_place find_members(sked_i_json *j)
{
    sked_i_trace_place place = {.events = NULL};
    sked_i_json_enter(j, '{', "a profile");
    while (sked_i_json_key(j)) {
        const bool list = is_key(j, "traceEvents") && sked_i_json_peek(j) == '[';
        const bool other = is_key(j, "otherData") && sked_i_json_peek(j) == '{';
        if (other) {
            place.own = says_unit(j) || place.own;
            continue;
        }
        const char *const value = sked_i_json_defer(j);
        if (list && place.events == NULL)
            place.events = value;
    }
    return place;
}

sked_i_trace_place sked_i_trace_find(sked_i_json *j)
{
    const char *const begin = j->at;
    sked_i_trace_place place = {.events = NULL};
    if (sked_i_json_peek(j) == '[')
        place.events = sked_i_json_defer(j);
    else
        place = find_members(j);
    sked_i_json_end(j);
    if (j->status != SKED_OK)
        return (sked_i_trace_place){.events = NULL};
    sked_i_json_seek(j, begin);
    return place;
}

/* ------------------------------------------------------------------ events */

static void add_sample(trace *t, int32_t op, const char *on, double time)
{
    if (!sked_i_observed_add(t->measured, op, on, time))
        sked_i_json_no_memory(t->j);
}

/* Nodes that ran make better examples than what else a trace of ONNX Runtime holds. */
static void add_stranger(trace *t, bool kernel)
{
    if (kernel && !t->kernels) {
        sked_i_names_free(&t->measured->strangers);
        t->kernels = true;
    }
    if (kernel == t->kernels && t->name.size > 0 &&
        !sked_i_observed_stranger(t->measured, t->name.data, (size_t)t->name.size))
        sked_i_json_no_memory(t->j);
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

static void clear(sked_i_buffer *word)
{
    word->size = 0;
    sked_i_buffer_text(word, "");
}

static void read_args(trace *t)
{
    sked_i_json *j = t->j;
    if (sked_i_json_peek(j) != '{') {
        sked_i_json_skip(j);
        return;
    }
    sked_i_json_enter(j, '{', "args of an event");
    for (int k; (k = sked_i_json_field(j, &args_fields, &t->args_seen)) >= 0;)
        if (k == OPERATOR)
            read_word(j, "\"op_name\"", &t->op_type);
        else if (!t->own)
            sked_i_json_skip(j);
        else if (k == DEVICE)
            read_word(j, "\"device\"", &t->device);
        else
            t->own_time = sked_i_json_number(j, "\"duration\"");
}

static void read_fields(trace *t)
{
    sked_i_json *j = t->j;
    sked_i_buffer *const word[] = {
        [NAME] = &t->name, [PHASE] = &t->phase, [PROCESS] = &t->process, [THREAD] = &t->thread};
    t->seen = t->args_seen = 0;
    for (size_t k = 0; k < sizeof word / sizeof *word; k++)
        if (word[k] != NULL)
            clear(word[k]);
    clear(&t->device);
    clear(&t->op_type);
    sked_i_json_enter(j, '{', "an event of a trace");
    for (int k; (k = sked_i_json_field(j, &event_fields, &t->seen)) >= 0;)
        if (k == TIME)
            t->time = sked_i_json_number(j, "\"ts\"");
        else if (k == DURATION)
            t->duration = sked_i_json_number(j, "\"dur\"");
        else if (k == ARGS)
            read_args(t);
        else
            read_word(j, event_fields.names[k], word[k]);
    if (t->name.failed || t->phase.failed || t->process.failed || t->thread.failed || t->device.failed ||
        t->op_type.failed)
        sked_i_json_no_memory(t->j);
}

/* A complete event of an op. */
static void take_event(trace *t, int32_t op)
{
    const bool exact = t->own && SKED_I_JSON_HAS(t->args_seen, OWN_TIME);
    const bool placed = t->own && SKED_I_JSON_HAS(t->args_seen, DEVICE);
    const double time = exact ? t->own_time : t->duration;
    if (!SKED_I_JSON_HAS(t->seen, DURATION) || time < 0)
        sked_i_json_fail(t->j, "a complete event of an op needs a \"dur\" of 0 or more");
    else
        add_sample(t, op, placed ? t->device.data : NULL, time);
}

static void read_event(trace *t)
{
    bool kernel = false;
    read_fields(t);
    if (t->j->status != SKED_OK || t->phase.size != 1)
        return;
    const char phase = t->phase.data[0];
    const int32_t op = sked_i_trace_op(&t->names, &t->name, t->op_type.data, &kernel);
    if (phase == 'X' && op >= 0) {
        take_event(t, op);
    } else if (phase == 'X') {
        add_stranger(t, kernel);
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
            add_sample(t, b.op, NULL, m.time - b.time);
    }
}

void sked_i_trace_read(sked_i_json *j, const sked_i_trace_place *place, sked_i_observed *m)
{
    trace t = {.j = j, .measured = m, .own = place->own, .names.graph = m->graph};
    if (!sked_i_trace_names_begin(&t.names))
        sked_i_json_no_memory(j);
    while (sked_i_json_each(j, place->events, "a trace", "event"))
        read_event(&t);
    if (j->status == SKED_OK)
        match_marks(&t);
    if (j->status == SKED_OK && m->n == 0)
        sked_i_json_fail(j, "no event of the trace has the name of an op");
    for (int32_t at = 0, op; j->status == SKED_OK && (op = sked_i_trace_inside(&t.names, &at)) >= 0;)
        add_sample(&t, op, NULL, 0);
    sked_i_arena_free(&t.arena);
    sked_i_arena_free(&t.names.arena);
    sked_i_names_free(&t.tracks);
    sked_i_buffer *const word[] = {&t.name, &t.phase, &t.process, &t.thread, &t.device, &t.op_type};
    for (size_t k = 0; k < sizeof word / sizeof *word; k++)
        sked_i_buffer_free(word[k]);
}
