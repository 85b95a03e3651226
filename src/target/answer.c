#include "target/answer.h"

#include "formats/json.h"

#include <assert.h>
#include <string.h>

enum { TOP_TIME, TOP_OPS };
static const char *const top_keys[] = {"time", "ops"};
static const sked_i_json_fields top_fields = {"an answer", top_keys, 2, false};
enum { OP_NAME, OP_START, OP_FINISH, OP_DEVICE };
static const char *const op_keys[] = {"name", "start", "finish", "device"};
static const sked_i_json_fields op_fields = {"an op", op_keys, 4, false};

typedef struct reader {
    sked_i_json j;
    const sked_problem *problem;
    const sked_schedule *schedule;
    sked_i_buffer text;
    sked_i_trace trace; /* start NAN: the op has not come */
} reader;

/* ------------------------------------------------------------------ a number */

static bool is_break(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ';' || c == ':' || c == '=';
}

/* The last number in the text. */
static bool find_number(const char *text, size_t size, double *out)
{
    for (size_t end = size; end > 0;) {
        size_t begin = end;
        while (begin > 0 && !is_break(text[begin - 1]))
            begin--;
        if (begin < end && sked_i_parse_double(text + begin, end - begin, out))
            return true;
        end = begin > 0 ? begin - 1 : 0;
    }
    return false;
}

static size_t without_space(const char *text, size_t size)
{
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r' || text[size - 1] == ' ' ||
                        text[size - 1] == '\t'))
        size--;
    return size;
}

static size_t line_begin(const char *text, size_t size)
{
    while (size > 0 && text[size - 1] != '\n')
        size--;
    return size;
}

/* Brackets that a line opens, less those that it closes; of JSON, whose strings end within their line. */
static int64_t open_brackets(const char *s, const char *end)
{
    int64_t open = 0;
    for (bool quoted = false; s < end; s++) {
        if (quoted && *s == '\\' && s + 1 < end)
            s++;
        else if (*s == '"')
            quoted = !quoted;
        else if (!quoted)
            open += (*s == '{' || *s == '[') - (*s == '}' || *s == ']');
    }
    return open;
}

/*
 * The line that begins with '{' from which on all brackets close: the last thing printed begins there. Where
 * there is none, the first line that begins so, for what is wrong with it; `size`: there is none of these.
 */
static size_t find_object(const char *text, size_t size)
{
    size_t found = size;
    int64_t open = 0;
    for (size_t end = size, at; end > 0; end = at > 0 ? at - 1 : 0) {
        at = line_begin(text, end);
        open += open_brackets(text + at, text + end);
        found = text[at] == '{' ? at : found;
        if (found == at && open == 0)
            break;
    }
    return found;
}

/*
 * Is the text from its line at `object` on one object, well-formed or not? It is none where the last line is
 * another one, has a number, and nothing that looks like JSON.
 */
static bool is_object(const char *text, size_t object, size_t end)
{
    const size_t line = line_begin(text, end);
    double number;
    if (object == end || line <= object)
        return object < end;
    for (size_t k = line; k < end; k++)
        if (memchr("\"{}[]", text[k], 5) != NULL)
            return true;
    return !find_number(text + line, end - line, &number);
}

/* ------------------------------------------------------------------ an object */

/* A number below `count`, or a name that find(r) turns into one; otherwise INVALID with `unknown`. */
static int32_t read_id(reader *r, const char *number, const char *name, int64_t count,
                       int32_t (*find)(const reader *r), const char *unknown)
{
    sked_i_json *j = &r->j;
    char quoted[80];
    if (sked_i_json_peek(j) == '0')
        return (int32_t)sked_i_json_integer(j, number, 0, count - 1);
    sked_i_json_text(j, name, &r->text);
    if (j->status != SKED_OK)
        return -1;
    const int32_t id = find(r);
    if (id < 0)
        sked_i_json_fail_as(j, SKED_ERR_INVALID, "%s called '%s'", unknown,
                            sked_i_quote(r->text.data, (size_t)r->text.size, quoted, sizeof quoted));
    return id;
}

static int32_t find_op(const reader *r)
{
    return sked_graph_find_op(r->problem->graph, r->text.data);
}

static int32_t find_device(const reader *r)
{
    const sked_machine *m = r->problem->machine;
    return m != NULL ? sked_machine_find_device(m, r->text.data) : -1;
}

typedef struct entry {
    int32_t op, device; /* -1: not said */
    double start, finish;
} entry;

static void take_entry(reader *r, const entry *e)
{
    sked_i_json *j = &r->j;
    char label[80];
    sked_error why = {0};
    sked_i_op_label(r->problem->graph, e->op, label, sizeof label);
    assert(e->op >= 0 && e->op < r->problem->graph->n_ops);
    if (!isnan(r->trace.start[e->op]))
        sked_i_json_fail_as(j, SKED_ERR_INVALID, "op '%s' comes twice", label);
    else if (e->device >= 0 && e->device != r->schedule->device[e->op])
        sked_i_json_fail_as(j, SKED_ERR_INVALID, "op '%s' ran on device %d; the schedule has it on %d", label,
                            (int)e->device, (int)r->schedule->device[e->op]);
    else if (sked_i_answer_check_op(r->problem->graph, e->op, e->start, e->finish, &why) != SKED_OK)
        sked_i_json_fail_as(j, SKED_ERR_INVALID, "%s", why.message);
    else {
        r->trace.start[e->op] = e->start;
        r->trace.finish[e->op] = e->finish;
    }
}

static void read_entry(reader *r)
{
    sked_i_json *j = &r->j;
    const uint32_t needed = 1u << OP_NAME | 1u << OP_START | 1u << OP_FINISH;
    uint32_t seen = 0;
    entry e = {.op = -1, .device = -1};
    sked_i_json_enter(j, '{', "an op");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &op_fields, &seen)) >= 0;) {
        if (k == OP_NAME)
            e.op = read_id(r, "the number of an op", "an op's name", r->problem->graph->n_ops, find_op,
                           "the graph has no op");
        else if (k == OP_DEVICE)
            e.device = sked_i_json_null(j) ? -1
                                           : read_id(r, "\"device\"", "\"device\"", r->schedule->devices,
                                                     find_device, "there is no device");
        else
            *(k == OP_START ? &e.start : &e.finish) = sked_i_json_number(j, op_keys[k]);
    }
    if (j->status != SKED_OK)
        return;
    j->token = begin;
    if ((seen & needed) != needed)
        sked_i_json_fail(j, "an op needs \"name\", \"start\" and \"finish\"");
    else
        take_entry(r, &e);
}

static void check_complete(reader *r)
{
    const sked_graph *g = r->problem->graph;
    char label[80];
    for (int32_t i = 0; i < g->n_ops && r->j.status == SKED_OK; i++)
        if (isnan(r->trace.start[i])) {
            r->j.item = NULL;
            sked_i_json_fail_as(&r->j, SKED_ERR_INVALID, "op '%s' is not in the trace",
                                sked_i_op_label(g, i, label, sizeof label));
        }
}

static sked_status read_trace(reader *r, const char *ops, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = r->problem->graph->n_ops;
    SKED_NEW(r->trace.start, n);
    SKED_NEW(r->trace.finish, n);
    for (int32_t i = 0; i < n; i++)
        r->trace.start[i] = NAN;
    if (sked_i_json_section(&r->j, ops, "\"ops\"", "op"))
        while (sked_i_json_item(&r->j))
            read_entry(r);
    check_complete(r);
    st = r->j.status;
cleanup:
    return st;
}

static sked_status read_object(reader *r, sked_error *err)
{
    sked_i_json *j = &r->j;
    const char *ops = NULL;
    uint32_t seen = 0;
    sked_i_json_enter(j, '{', "an answer");
    for (int k; (k = sked_i_json_field(j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_TIME)
            r->trace.time = sked_i_json_number(j, "\"time\"");
        else if (!sked_i_json_null(j))
            ops = sked_i_json_defer(j);
    }
    sked_i_json_end(j);
    if (!SKED_I_JSON_HAS(seen, TOP_TIME))
        sked_i_json_fail(j, "an answer needs \"time\"");
    return j->status != SKED_OK || ops == NULL ? j->status : read_trace(r, ops, err);
}

/* Lines in messages count from the begin of the object. */
static sked_status parse_object(reader *r, const char *name, const char *text, size_t size, sked_error *err)
{
    static const sked_read_options none;
    const sked_i_source source = {name, text, size, &none};
    sked_i_json_begin(&r->j, &source, err);
    const sked_status st = read_object(r, err);
    sked_i_json_free(&r->j);
    sked_i_buffer_free(&r->text);
    return st;
}

sked_status sked_i_answer_read(const char *name, const char *text, size_t size, const sked_problem *p,
                               const sked_schedule *s, bool timed, sked_i_trace *out, sked_error *err)
{
    reader r = {.problem = p, .schedule = s};
    sked_error why = {0};
    const size_t end = without_space(text, size), at = find_object(text, end);
    sked_status st = SKED_OK;
    if (is_object(text, at, end))
        st = parse_object(&r, name, text + at, end - at, err);
    else if (!find_number(text, end, &r.trace.time))
        st = sked_i_fail(err, SKED_ERR_FORMAT, "%s: no time was printed", name);
    if (st == SKED_OK && sked_i_answer_check_time(r.trace.time, timed, &why) != SKED_OK)
        st = sked_i_fail(err, SKED_ERR_INVALID, "%s: %s", name, why.message);
    if (st == SKED_OK)
        *out = r.trace;
    else
        sked_i_answer_trace_free(&r.trace);
    return st;
}
