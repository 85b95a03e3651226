#include "robust/record.h"

#include "base/memory.h"
#include "formats/json.h"
#include "schedule/fingerprint.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Files of version 1 do not tell all machines apart. */
static const char format_id[] = "sked-measurements-2", earlier_id[] = "sked-measurements-1";

/* ------------------------------------------------------------------ writing */

void sked_i_record_write_head(const sked_i_record_head *h, sked_i_buffer *out)
{
    sked_i_buffer_format(out, "{\"format\":\"%s\",\"graph\":", format_id);
    sked_i_buffer_json(out, sked_graph_name(h->problem->graph));
    sked_i_buffer_format(out, ",\"problem\":\"%016llx\",\"devices\":%d,\"target\":",
                         (unsigned long long)sked_i_fingerprint_problem(h->problem),
                         (int)h->problem->devices);
    sked_i_buffer_json(out, h->target);
    sked_i_buffer_format(out, ",\"seed\":\"%llu\"}\n", (unsigned long long)h->seed);
}

/* whole or x [n], the other NULL. key: with what stands before it. */
static void write_column(sked_i_buffer *out, const char *key, const int32_t *whole, const double *x,
                         int32_t n)
{
    assert((whole == NULL) != (x == NULL));
    sked_i_buffer_format(out, "%s:[", key);
    for (int32_t i = 0; i < n; i++) {
        if (i > 0)
            sked_i_buffer_char(out, ',');
        if (whole != NULL)
            sked_i_buffer_int(out, whole[i]);
        else
            sked_i_buffer_number(out, x[i]);
    }
    sked_i_buffer_char(out, ']');
}

void sked_i_record_write_line(const sked_schedule *s, const int32_t *order, const char *method,
                              const sked_measurement *said, const char *failure, sked_i_buffer *out)
{
    write_column(out, "{\"device\"", s->device, NULL, s->ops);
    write_column(out, ",\"order\"", order, NULL, s->ops);
    sked_i_buffer_text(out, ",\"method\":");
    sked_i_buffer_json(out, method);
    if (failure != NULL) {
        sked_i_buffer_text(out, ",\"failure\":");
        sked_i_buffer_json(out, failure);
    } else {
        sked_i_buffer_text(out, ",\"time\":");
        sked_i_buffer_number(out, said->time);
        sked_i_buffer_text(out, ",\"deviation\":");
        sked_i_buffer_number(out, said->deviation);
        sked_i_buffer_format(out, ",\"runs\":%d", (int)said->runs);
        if (said->start != NULL && said->finish != NULL) {
            write_column(out, ",\"start\"", NULL, said->start, s->ops);
            write_column(out, ",\"finish\"", NULL, said->finish, s->ops);
        }
    }
    sked_i_buffer_text(out, "}\n");
}

/* ------------------------------------------------------------------ reading */

enum { HEAD_FORMAT, HEAD_GRAPH, HEAD_PROBLEM, HEAD_DEVICES, HEAD_TARGET, HEAD_SEED };
static const char *const head_keys[] = {"format", "graph", "problem", "devices", "target", "seed"};
static const sked_i_json_fields head_fields = {"the first line", head_keys, 6, true};

enum {
    LINE_DEVICE,
    LINE_ORDER,
    LINE_METHOD,
    LINE_FAILURE,
    LINE_TIME,
    LINE_DEVIATION,
    LINE_RUNS,
    LINE_START,
    LINE_FINISH
};
static const char *const line_keys[] = {"device",    "order", "method", "failure", "time",
                                        "deviation", "runs",  "start",  "finish"};
static const sked_i_json_fields line_fields = {"a measurement", line_keys, 9, true};

typedef struct reader {
    sked_i_json j;
    const sked_i_record_head *head;
    const char *const *methods;
    int n_methods;
    sked_i_buffer text;
    uint64_t seed;
    bool *seen; /* [ops] */
} reader;

static void check_hash(reader *r)
{
    char own[32];
    snprintf(own, sizeof own, "%016llx", (unsigned long long)sked_i_fingerprint_problem(r->head->problem));
    sked_i_json_text(&r->j, "\"problem\"", &r->text);
    if (r->j.status == SKED_OK && strcmp(r->text.data, own) != 0)
        sked_i_json_fail_as(&r->j, SKED_ERR_ARGUMENT,
                            "these measurements are of another graph, machine or problem");
}

static void check_target(reader *r)
{
    char quoted[80], wanted[80];
    const char *want = r->head->target;
    sked_i_json_text(&r->j, "the target", &r->text);
    if (r->j.status == SKED_OK && strcmp(r->text.data, want) != 0)
        sked_i_json_fail_as(&r->j, SKED_ERR_ARGUMENT, "the target is '%s', not '%s'",
                            sked_i_quote(r->text.data, (size_t)r->text.size, quoted, sizeof quoted),
                            sked_i_quote(want, strlen(want), wanted, sizeof wanted));
}

static void check_format(reader *r)
{
    sked_i_json_text(&r->j, "the format", &r->text);
    if (r->j.status == SKED_OK && strcmp(r->text.data, earlier_id) == 0)
        sked_i_json_fail(&r->j, "%s does not say which machine was measured: measure again", earlier_id);
    else if (r->j.status == SKED_OK && strcmp(r->text.data, format_id) != 0)
        sked_i_json_fail(&r->j, "the format is not '%s'", format_id);
}

static void read_seed(reader *r)
{
    sked_i_json_text(&r->j, "\"seed\"", &r->text);
    if (r->j.status == SKED_OK && !sked_i_parse_unsigned(r->text.data, (size_t)r->text.size, &r->seed))
        sked_i_json_fail(&r->j, "a seed is a whole number from 0 to 2^64 - 1, as text");
}

static void read_head(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    sked_i_json_enter(j, '{', "the first line");
    for (int k; (k = sked_i_json_field(j, &head_fields, &seen)) >= 0;) {
        if (k == HEAD_FORMAT)
            check_format(r);
        else if (k == HEAD_PROBLEM)
            check_hash(r);
        else if (k == HEAD_TARGET)
            check_target(r);
        else if (k == HEAD_SEED)
            read_seed(r);
        else
            sked_i_json_skip(j);
    }
    sked_i_json_end(j);
    if (j->status == SKED_OK && (!SKED_I_JSON_HAS(seen, HEAD_FORMAT) ||
                                 !SKED_I_JSON_HAS(seen, HEAD_PROBLEM) || !SKED_I_JSON_HAS(seen, HEAD_TARGET)))
        sked_i_json_fail(j, "the first line needs \"format\": \"%s\", \"problem\" and \"target\"", format_id);
}

/* One entry for each op: read(r, data, i) reads the i-th. */
static void read_column(reader *r, const char *what, void (*read)(reader *r, void *data, int32_t i),
                        void *data)
{
    const int32_t ops = r->head->problem->graph->n_ops;
    int32_t i = 0;
    sked_i_json_enter(&r->j, '[', what);
    while (sked_i_json_more(&r->j) && r->j.status == SKED_OK) {
        if (i == ops) {
            sked_i_json_fail(&r->j, "%s has more entries than the graph has ops, %d", what, (int)ops);
            return;
        }
        read(r, data, i++);
    }
    if (r->j.status == SKED_OK && i < ops)
        sked_i_json_fail(&r->j, "%s has %d entries for %d ops", what, (int)i, (int)ops);
}

static void read_device(reader *r, void *data, int32_t i)
{
    sked_i_record_line *line = data;
    line->schedule->device[i] =
        (int32_t)sked_i_json_integer(&r->j, "a device", 0, r->head->problem->devices - 1);
}

static void read_place(reader *r, void *data, int32_t i)
{
    sked_i_record_line *line = data;
    const int32_t op = (int32_t)sked_i_json_integer(&r->j, "an op", 0, r->head->problem->graph->n_ops - 1);
    if (r->j.status != SKED_OK)
        return;
    if (r->seen[op])
        sked_i_json_fail(&r->j, "op %d stands twice in \"order\"", (int)op);
    r->seen[op] = true;
    line->schedule->start[op] = i;
}

static double read_amount(reader *r, const char *what)
{
    const double x = sked_i_json_number(&r->j, what);
    if (r->j.status == SKED_OK && !(x >= 0 && x < SKED_I_MOST_TIME))
        sked_i_json_fail(&r->j, "%s must be a number from 0 to 1e100", what);
    return x;
}

static double read_time(reader *r)
{
    sked_error why = {0};
    const double x = sked_i_json_number(&r->j, "\"time\"");
    if (r->j.status == SKED_OK && sked_i_answer_check_time(x, false, &why) != SKED_OK)
        sked_i_json_fail(&r->j, "%s", why.message);
    return x;
}

static void read_moment(reader *r, void *data, int32_t i)
{
    ((double *)data)[i] = read_amount(r, "a traced time");
}

static void read_method(reader *r, sked_i_record_line *line)
{
    sked_i_json_text(&r->j, "\"method\"", &r->text);
    for (int k = 0; r->j.status == SKED_OK && k < r->n_methods; k++)
        if (strcmp(r->text.data, r->methods[k]) == 0)
            line->method = k;
}

static void read_trace(reader *r, double **moment, const char *what)
{
    if (r->j.status == SKED_OK &&
        (*moment = sked_i_alloc(r->head->problem->graph->n_ops, sizeof **moment)) == NULL)
        sked_i_json_no_memory(&r->j);
    else
        read_column(r, what, read_moment, *moment);
}

static void read_value(reader *r, int key, sked_i_record_line *line)
{
    if (key == LINE_DEVICE) {
        read_column(r, "\"device\"", read_device, line);
    } else if (key == LINE_ORDER) {
        memset(r->seen, 0, (size_t)r->head->problem->graph->n_ops * sizeof *r->seen);
        read_column(r, "\"order\"", read_place, line);
    } else if (key == LINE_METHOD) {
        read_method(r, line);
    } else if (key == LINE_FAILURE) {
        sked_i_json_text(&r->j, "\"failure\"", &r->text);
        line->failed = true;
    } else if (key == LINE_RUNS) {
        line->said.runs = (int32_t)sked_i_json_integer(&r->j, "\"runs\"", 1, 1000000000);
    } else if (key == LINE_TIME) {
        line->said.time = read_time(r);
    } else if (key == LINE_DEVIATION) {
        line->said.deviation = read_amount(r, "\"deviation\"");
    } else {
        const bool start = key == LINE_START;
        read_trace(r, start ? &line->said.start : &line->said.finish, start ? "\"start\"" : "\"finish\"");
    }
}

static void check_line(reader *r, const sked_i_record_line *line, uint32_t seen)
{
    sked_i_json *j = &r->j;
    const int32_t ops = r->head->problem->graph->n_ops;
    if (j->status != SKED_OK)
        return;
    if (!SKED_I_JSON_HAS(seen, LINE_DEVICE) || !SKED_I_JSON_HAS(seen, LINE_ORDER) || line->method < 0)
        sked_i_json_fail(j, "a measurement needs \"device\", \"order\" and a known \"method\"");
    else if (line->failed == SKED_I_JSON_HAS(seen, LINE_TIME))
        sked_i_json_fail(j, "a measurement has either a \"time\" or a \"failure\"");
    else if (SKED_I_JSON_HAS(seen, LINE_START) != SKED_I_JSON_HAS(seen, LINE_FINISH))
        sked_i_json_fail(j, "a trace has both \"start\" and \"finish\"");
    for (int32_t i = 0; j->status == SKED_OK && line->said.start != NULL && i < ops; i++)
        if (line->said.finish[i] < line->said.start[i])
            sked_i_json_fail(j, "the trace ends op %d before it starts", (int)i);
}

static sked_status read_line(reader *r, sked_i_record_take take, void *data, sked_error *err)
{
    sked_i_json *j = &r->j;
    sked_i_record_line line = {.method = -1, .said = {.size = sizeof line.said, .runs = 1}};
    uint32_t seen = 0;
    sked_error cause = {0};
    sked_status st =
        sked_schedule_create(r->head->problem->graph->n_ops, r->head->problem->devices, &line.schedule, err);
    if (st != SKED_OK)
        return st;
    sked_i_json_enter(j, '{', "a measurement");
    for (int k; (k = sked_i_json_field(j, &line_fields, &seen)) >= 0;)
        read_value(r, k, &line);
    sked_i_json_end(j);
    check_line(r, &line, seen);
    st = j->status;
    if (st == SKED_OK && (st = take(data, &line, &cause)) != SKED_OK)
        sked_i_json_pass(j, &cause);
    sked_schedule_destroy(line.schedule);
    sked_measurement_clear(&line.said);
    return st;
}

sked_status sked_i_record_parse(const char *name, const char *text, size_t size, const sked_i_record_head *h,
                                const char *const *methods, int n_methods, sked_i_record_take take,
                                void *data, int64_t *good, uint64_t *seed, sked_error *err)
{
    static const sked_read_options none;
    const sked_i_source source = {name, text, size, &none};
    reader r = {.head = h, .methods = methods, .n_methods = n_methods, .seed = h->seed};
    sked_status st = SKED_OK;
    size_t at = 0;
    bool first = true;
    sked_i_json_begin(&r.j, &source, err);
    SKED_NEW0(r.seen, h->problem->graph->n_ops);
    while (st == SKED_OK && at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        if (end == NULL) /* cut off while it was written */
            break;
        r.j.at = text + at;
        r.j.end = end;
        r.j.token = text + at;
        if (first)
            read_head(&r);
        st = first ? r.j.status : read_line(&r, take, data, err);
        first = false;
        at = (size_t)(end - text) + 1;
    }
    if (st == SKED_OK && first)
        st = sked_i_source_fail(&source, text, err, "no whole line of measurements");
    if (st == SKED_OK) {
        *good = (int64_t)at;
        *seed = r.seed;
    }
cleanup:
    free(r.seen);
    sked_i_buffer_free(&r.text);
    sked_i_json_free(&r.j);
    return st;
}
