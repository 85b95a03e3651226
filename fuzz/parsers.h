/*
 * Every parser of untrusted bytes, and what must hold whatever they are. Shared by the fuzz targets and by
 * the test that feeds seeds and past crashes through the parsers of an ordinary build. A check hands the
 * bytes on as they lie: nothing may be read behind them.
 */
#ifndef SKED_FUZZ_PARSERS_H
#define SKED_FUZZ_PARSERS_H
#include "engine/network/sampler.h"
#include "formats/format.h"
#include "formats/table.h"
#include "robust/prior.h"
#include "robust/record.h"
#include "table.h"
#include "target/answer.h"

#include <stdlib.h>
#include <string.h>

#define SKED_X(name) extern const sked_i_format sked_i_format_##name;
SKED_FORMAT_LIST(SKED_X)
#undef SKED_X

typedef struct parser {
    const char *name; /* the folder of its seeds */
    /* NULL, or what is wrong with how these bytes are parsed. *accepted: they were no error. */
    const char *(*check)(const struct parser *p, const char *bytes, size_t size, bool *accepted);
    const sked_i_format *format; /* NULL: no graph reader */
} parser;

/* What all parsers owe their callers when they refuse bytes. */
static inline const char *check_status(sked_status st, const sked_error *err, bool *accepted)
{
    *accepted = st == SKED_OK;
    if (st == SKED_OK)
        return NULL;
    if (st != err->status || strncmp(err->message, "input:", 6) != 0)
        return "an error without the file's name";
    if (st != SKED_ERR_FORMAT && st != SKED_ERR_UNSUPPORTED && st != SKED_ERR_INVALID)
        return "a status that a broken file must not cause";
    return NULL;
}

/* ------------------------------------------------------------------ graph readers */

/* Formats that hold everything a graph has: writing and reading again must give an equal graph. */
static const char *const exact_formats[] = {"native", "dot", "gml"};

/* NULL, or what is wrong with writing g as `format` and reading it again. */
static inline const char *check_round_trip(const sked_graph *g, const char *format)
{
    const sked_read_options opt = {.size = sizeof opt, .format = format};
    const sked_i_format *f = sked_i_format_find(format);
    sked_i_buffer text = {0};
    sked_error err = {0};
    sked_graph *again = NULL;
    const char *wrong = NULL;
    if (f == NULL || f->write == NULL)
        return "an exact format has no writer";
    if (f->write(g, &text, &err) != SKED_OK || text.failed)
        wrong = "the graph reads but cannot be written";
    else if (sked_graph_parse("input", text.data, (size_t)text.size, &opt, &again, &err) != SKED_OK)
        wrong = "what was written does not read";
    else if (!sked_graph_equal(g, again))
        wrong = "what was written reads as another graph";
    sked_graph_destroy(again);
    sked_i_buffer_free(&text);
    return wrong;
}

static inline const char *check_format(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    const sked_read_options opt = {.size = sizeof opt, .format = p->format->info.name};
    sked_error err = {0};
    sked_graph *g = NULL;
    if (p->format->read == NULL)
        return NULL;
    if (p->format->sniff != NULL)
        p->format->sniff(bytes, size);
    const sked_status st = sked_graph_parse("input", bytes, size, &opt, &g, &err);
    const char *wrong = check_status(st, &err, accepted);
    if (st == SKED_ERR_INVALID)
        wrong = "a graph is malformed or unsupported, never invalid";
    for (size_t i = 0; g != NULL && wrong == NULL && i < sizeof exact_formats / sizeof *exact_formats; i++)
        wrong = check_round_trip(g, exact_formats[i]);
    sked_graph_destroy(g);
    return wrong;
}

/* ------------------------------------------------------------------ files beside a graph */

/* The graph that seeds of schedule, fix, library and profile speak of. */
static inline sked_graph *seed_graph(void)
{
    static const char text[] =
        "{\"format\":\"sked-graph-1\",\"name\":\"g\","
        "\"resources\":[{\"name\":\"mul\",\"capacity\":2}],"
        "\"ops\":[{\"name\":\"a\",\"type\":\"Mul\",\"duration\":2,\"demand\":{\"mul\":1}},"
        "{\"name\":\"b\",\"type\":\"Add\",\"duration\":0.5,\"memory\":8},"
        "{\"name\":\"c\",\"duration\":3}],"
        "\"edges\":[[\"a\",\"b\"],{\"from\":\"b\",\"to\":\"c\",\"bytes\":8}]}";
    const sked_read_options opt = {.size = sizeof opt, .format = "native"};
    sked_graph *g = NULL;
    return sked_graph_parse("graph", text, sizeof text - 1, &opt, &g, NULL) == SKED_OK ? g : NULL;
}

static inline bool same_schedule_bytes(const sked_schedule *a, const sked_schedule *b)
{
    const size_t n = (size_t)a->ops;
    if (a->ops != b->ops || a->devices != b->devices || a->ii != b->ii)
        return false;
    for (size_t i = 0; i < n; i++)
        if (a->start[i] != b->start[i] || (a->device != NULL && a->device[i] != b->device[i]))
            return false;
    return true;
}

static inline bool same_addresses(const sked_schedule *a, const sked_schedule *b)
{
    if ((a->offset == NULL) != (b->offset == NULL) || a->copies != b->copies)
        return false;
    for (int32_t i = 0; a->offset != NULL && i < a->ops; i++)
        if (a->offset[i] != b->offset[i])
            return false;
    for (int64_t k = 0; k < a->copies; k++)
        if (a->copy_op[k] != b->copy_op[k] || a->copy_device[k] != b->copy_device[k] ||
            a->copy_offset[k] != b->copy_offset[k])
            return false;
    return true;
}

static inline const char *check_schedule_again(const sked_problem *p, const sked_schedule *s)
{
    sked_i_buffer text = {0};
    sked_schedule *again = NULL;
    const char *wrong = NULL;
    if (sked_i_native_schedule_write(p, s, &text, NULL) != SKED_OK)
        wrong = "the schedule reads but cannot be written";
    else if (sked_schedule_parse("input", text.data, (size_t)text.size, p, &again, NULL) != SKED_OK)
        wrong = "the schedule written does not read";
    else if (!same_schedule_bytes(s, again) || !same_addresses(s, again))
        wrong = "the schedule written reads as another";
    sked_schedule_destroy(again);
    sked_i_buffer_free(&text);
    return wrong;
}

static inline const char *check_schedule(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    sked_graph *g = seed_graph();
    sked_schedule *s = NULL;
    sked_error err = {0};
    sked_problem problem;
    (void)p;
    sked_problem_init(&problem, g);
    const char *wrong =
        check_status(sked_schedule_parse("input", bytes, size, &problem, &s, &err), &err, accepted);
    if (s != NULL && wrong == NULL)
        wrong = check_schedule_again(&problem, s);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
    return wrong;
}

static inline const char *check_fix(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    sked_graph *g = seed_graph();
    int32_t *device = NULL;
    double *start = NULL;
    sked_error err = {0};
    sked_problem problem;
    (void)p;
    sked_problem_init(&problem, g);
    const char *wrong =
        check_status(sked_fix_parse("input", bytes, size, &problem, &device, &start, &err), &err, accepted);
    for (int32_t i = 0; *accepted && i < sked_graph_op_count(g); i++)
        if (device[i] < -1 || isinf(start[i]))
            wrong = "a fixed device or start that no op can have";
    sked_free(device);
    sked_free(start);
    sked_graph_destroy(g);
    return wrong;
}

/* A prior that is accepted leaves every parameter a place to be drawn from. */
static inline const char *check_prior(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    sked_graph *g = seed_graph();
    sked_i_model m = {0};
    sked_error err = {0};
    sked_problem problem;
    const char *wrong = "the fuzzer's own problem";
    (void)p;
    sked_problem_init(&problem, g);
    problem.devices = 2;
    if (sked_i_model_open(&m, &problem, NULL) == SKED_OK)
        wrong = check_status(sked_i_prior_parse("input", bytes, size, &m, &err), &err, accepted);
    for (int64_t k = 0; *accepted && k < m.count; k++)
        if (!(fabs(m.mean[k]) < 1e4 && m.spread[k] >= 0 && m.spread[k] <= 10))
            wrong = "a prior that nothing can be drawn from";
    sked_i_model_close(&m);
    sked_graph_destroy(g);
    return wrong;
}

static inline sked_status check_measurement(void *data, sked_i_record_line *line, sked_error *err)
{
    (void)err;
    for (int32_t i = 0; i < line->schedule->ops; i++)
        if (line->schedule->device[i] < 0 || line->schedule->device[i] > 1 ||
            !(line->schedule->start[i] >= 0))
            *(const char **)data = "a schedule that cannot be";
    if (!line->failed && !(line->said.time >= 0 && line->said.time < 1e100))
        *(const char **)data = "a time that cannot be";
    return SKED_OK;
}

static inline const char *check_measurements(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    static const char *const methods[] = {"search"};
    sked_graph *g = seed_graph();
    sked_error err = {0};
    sked_problem problem;
    const char *odd = NULL;
    int64_t good = 0;
    uint64_t seed;
    (void)p;
    sked_problem_init(&problem, g);
    problem.devices = 2;
    const sked_i_record_head head = {&problem, "linear", 0};
    const sked_status st = sked_i_record_parse("input", bytes, size, &head, methods, 1, check_measurement,
                                               &odd, &good, &seed, &err);
    const char *wrong = st == SKED_ERR_ARGUMENT ? NULL : check_status(st, &err, accepted);
    if (*accepted && (good < 1 || good > (int64_t)size))
        odd = "more whole lines than bytes";
    sked_graph_destroy(g);
    return wrong != NULL ? wrong : odd;
}

/* What a measuring program printed; a trace that is accepted has sane times for every op. */
static inline const char *check_answer(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    static const char devices[] = "{\"format\":\"sked-machine-1\",\"latency\":1,"
                                  "\"devices\":[{\"name\":\"cpu\"},{\"name\":\"gpu 0\"}]}";
    sked_graph *g = seed_graph();
    sked_machine *m = NULL;
    sked_schedule *s = NULL;
    sked_i_trace r = {0};
    sked_error err = {0};
    sked_problem problem;
    const char *wrong = "the fuzzer's own schedule";
    (void)p;
    sked_problem_init(&problem, g);
    if (sked_machine_parse("machine", devices, sizeof devices - 1, &m, NULL) == SKED_OK &&
        sked_schedule_create(sked_graph_op_count(g), 2, &s, NULL) == SKED_OK) {
        problem.machine = m;
        s->device[0] = s->device[2] = 0;
        s->device[1] = 1;
        wrong = check_status(sked_i_answer_read("input", bytes, size, &problem, s, true, &r, &err), &err,
                             accepted);
    }
    if (*accepted && !(r.time > 0 && r.time < 1e100))
        wrong = "a time that cannot be";
    for (int32_t i = 0; *accepted && r.start != NULL && i < s->ops; i++)
        if (!(r.start[i] >= 0 && r.finish[i] >= r.start[i] && r.finish[i] < 1e100))
            wrong = "an op that runs at no time";
    sked_i_answer_trace_free(&r);
    sked_schedule_destroy(s);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
    return wrong;
}

/* Every pair that a machine accepts has a link that makes sense, and what is written reads as the same. */
static inline const char *check_links(const sked_machine *m)
{
    const int32_t n = sked_machine_device_count(m) < 8 ? sked_machine_device_count(m) : 8;
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b < n; b++) {
            double latency, bandwidth;
            if (sked_machine_link(m, a, b, &latency, &bandwidth) &&
                !(latency >= 0 && latency < INFINITY && bandwidth > 0))
                return "a link that no data can use";
        }
    return NULL;
}

/* A graph with the machine's profile is a graph like any other. */
static inline const char *check_profiled(const sked_machine *m)
{
    sked_graph *g = seed_graph(), *changed = NULL;
    sked_error err = {0};
    const char *wrong = NULL;
    if (sked_graph_profiled(g, m, &changed, &err) == SKED_OK)
        wrong = check_round_trip(changed, "native");
    else
        wrong = "a profile that no graph takes";
    sked_graph_destroy(changed);
    sked_graph_destroy(g);
    return wrong;
}

static inline const char *check_machine(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    sked_machine *m = NULL, *again = NULL;
    sked_i_buffer text = {0};
    sked_error err = {0};
    (void)p;
    const char *wrong = check_status(sked_machine_parse("input", bytes, size, &m, &err), &err, accepted);
    if (m != NULL && wrong == NULL)
        wrong = check_links(m);
    if (m != NULL && wrong == NULL)
        wrong = check_profiled(m);
    if (m != NULL && wrong == NULL) {
        sked_i_format_of_machines(m, &text);
        if (text.failed || sked_machine_parse("input", text.data, (size_t)text.size, &again, NULL) != SKED_OK)
            wrong = "the machine written does not read";
        else if (sked_machine_device_count(m) != sked_machine_device_count(again) ||
                 sked_machine_given_link_count(m) != sked_machine_given_link_count(again) ||
                 sked_machine_duration_count(m) != sked_machine_duration_count(again))
            wrong = "the machine written reads as another";
    }
    sked_i_buffer_free(&text);
    sked_machine_destroy(again);
    sked_machine_destroy(m);
    return wrong;
}

/* Buffers that are accepted can be packed, or it is said why not; what is packed holds. */
static inline const char *check_buffers(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    sked_buffers *b = NULL;
    sked_buffer_columns columns = {.size = sizeof columns};
    sked_packing packing = {.size = sizeof packing};
    sked_pack_options opt;
    sked_error err = {0};
    (void)p;
    sked_pack_options_init(&opt);
    opt.time_limit = 0;
    const char *wrong = check_status(sked_buffers_parse("input", bytes, size, &b, &err), &err, accepted);
    if (*accepted) {
        sked_status st = sked_buffers_columns(b, &columns, &err);
        if (st == SKED_OK)
            st = sked_pack(&columns, &opt, &packing, &err);
        if (st != SKED_OK && st != SKED_ERR_INFEASIBLE && strstr(err.message, "add up") == NULL)
            wrong = "buffers that cannot be packed";
    }
    sked_packing_clear(&packing);
    sked_buffers_destroy(b);
    return wrong;
}

/* Both make a graph of a graph; what they make must be a graph like any other. */
static inline const char *check_applied(sked_status (*parse)(const char *name, const char *text, size_t size,
                                                             const sked_graph *g, sked_graph **out,
                                                             sked_error *err),
                                        const char *bytes, size_t size, bool *accepted)
{
    sked_graph *g = seed_graph(), *changed = NULL;
    sked_error err = {0};
    const char *wrong = check_status(parse("input", bytes, size, g, &changed, &err), &err, accepted);
    if (changed != NULL && wrong == NULL)
        wrong = check_round_trip(changed, "native");
    sked_graph_destroy(changed);
    sked_graph_destroy(g);
    return wrong;
}

static inline const char *check_library(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    (void)p;
    return check_applied(sked_i_library_parse, bytes, size, accepted);
}

static inline const char *check_profile(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    (void)p;
    return check_applied(sked_i_durations_parse_profile, bytes, size, accepted);
}

static inline const char *check_resource_model(const parser *p, const char *bytes, size_t size,
                                               bool *accepted)
{
    static const char text[] = "<graphml><graph edgedefault=\"directed\" id=\"\">"
                               "<node id=\"1\"><data key=\"uses_resource\">Mult</data></node>"
                               "<node id=\"2\"><data key=\"uses_resource\">Add</data></node>"
                               "<edge source=\"1\" target=\"2\"><data key=\"delay\">1</data></edge>"
                               "</graph></graphml>";
    static const sked_read_options none = {.size = sizeof none};
    const sked_i_source source = {"input", text, sizeof text - 1, &none},
                        model = {"model", bytes, size, &none};
    sked_graph *g = NULL;
    sked_error err = {0};
    (void)p;
    const char *wrong = check_status(sked_i_graphml_parse(&source, &model, &g, &err), &err, accepted);
    if (g != NULL && wrong == NULL)
        wrong = check_round_trip(g, "native");
    sked_graph_destroy(g);
    return wrong;
}

/* ------------------------------------------------------------------ models */

static inline const char *check_safetensors(const parser *p, const char *bytes, size_t size, bool *accepted)
{
    sked_sampler *m = NULL;
    sked_error err = {0};
    (void)p;
    const char *wrong =
        check_status(sked_i_sampler_parse("input", bytes, (int64_t)size, &m, &err), &err, accepted);
    if (m != NULL && wrong == NULL &&
        sked_sampler_parameter_count(m) * (int64_t)sizeof(float) > (int64_t)size)
        wrong = "a model with more numbers than its file";
    sked_sampler_destroy(m);
    return wrong;
}

/* ------------------------------------------------------------------ the list */

static const parser parsers[] = {
#define SKED_X(name) {#name, check_format, &sked_i_format_##name},
    SKED_FORMAT_LIST(SKED_X)
#undef SKED_X
#define SKED_X(name) {#name, check_##name, NULL},
        SKED_PARSER_LIST(SKED_X)
#undef SKED_X
};
enum { n_parsers = sizeof parsers / sizeof *parsers };
#endif
