/*
 * Lattice iCE40: the pipeline is written as Verilog, synthesised by Yosys, placed and routed by nextpnr, and
 * its critical path read from nextpnr's report. Times are nanoseconds. The trace says of an op whose value
 * goes into registers when it arrives there, from the clock edge of its cycle (start = finish); of the ops on
 * the critical path when the signal enters and leaves them; 0 of all others.
 */
#define _GNU_SOURCE
#include "formats/json.h"
#include "schedule/verilog.h"
#include "target/shell.h"
#include "target/target.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ICE40_OPTIONS(X)                                                                                    \
    X(DEVICE, "device", ENUM, "hx8k", 0, 0, "hx8k|hx1k|lp8k|lp1k|up5k", "the device, in its usual package") \
    X(TIMEOUT, "timeout", REAL, "600", 0.001, 1e6, NULL, "seconds a run may take")

SKED_I_OPTIONS(ICE40_OPTIONS);

static const char *const devices[] = {"--hx8k --package ct256", "--hx1k --package tq144",
                                      "--lp8k --package cm81", "--lp1k --package cm81",
                                      "--up5k --package sg48"};

/* ------------------------------------------------------------------ the report */

typedef struct reader {
    sked_i_json j;
    const sked_schedule *schedule;
    double first;       /* cycle of the pipeline's beginning */
    sked_i_buffer cell; /* at the end of a step */
    sked_i_buffer other;
    sked_i_trace *trace;
    double *enter, *leave; /* [ops] of the critical path that is read */
} reader;

enum { REPORT_PATHS, REPORT_NETS };
static const sked_i_json_fields report_fields =
    SKED_I_JSON_FIELDS("nextpnr's report", false, "critical_paths", "detailed_net_timings");
enum { PATH_FROM, PATH_TO, PATH_STEPS };
static const sked_i_json_fields path_fields = SKED_I_JSON_FIELDS("a path", false, "from", "to", "path");
enum { STEP_DELAY, STEP_TO };
static const sked_i_json_fields step_fields = SKED_I_JSON_FIELDS("a step", false, "delay", "to");
enum { PIN_CELL };
static const sked_i_json_fields pin_fields = SKED_I_JSON_FIELDS("a pin", false, "cell");
enum { NET_ENDPOINTS };
static const sked_i_json_fields net_fields = SKED_I_JSON_FIELDS("a net", false, "endpoints");
enum { END_CELL, END_DELAY };
static const sked_i_json_fields end_fields = SKED_I_JSON_FIELDS("an endpoint", false, "cell", "delay");

/*
 * "dut.o7$2_SB_LUT4_O_3_LC": a cell of op 7 in cycle 2 of the pipeline (-1: not said, as in that of an
 * output, "o7_SB_LUT4_O_3_LC"). -1: of no op.
 */
static int32_t op_of(const reader *r, const char *cell, int64_t *cycle)
{
    int64_t op;
    *cycle = -1;
    if (cell == NULL)
        return -1;
    cell += strncmp(cell, "dut.", 4) == 0 ? 4 : 0;
    const size_t digits = cell[0] == 'o' ? strspn(cell + 1, "0123456789") : 0;
    const char *after = cell + 1 + digits;
    if (digits == 0 || !sked_i_parse_int(cell + 1, digits, 0, r->schedule->ops - 1, &op))
        return -1;
    if (*after == '$' && !sked_i_parse_int(after + 1, strspn(after + 1, "0123456789"), 0, INT32_MAX, cycle))
        return -1; /* an input that no edge brings */
    return (int32_t)op;
}

/* The op whose result a register takes at the end of its own cycle; the cell is that register's. */
static int32_t op_before(const reader *r, const char *cell)
{
    int64_t cycle;
    const int32_t op = op_of(r, cell, &cycle);
    const size_t size = cell != NULL ? strlen(cell) : 0;
    const bool alone = size > 5 && strcmp(cell + size - 5, "DFFLC") == 0; /* no logic before it in the cell */
    if (op < 0 || (cycle >= 0 && (double)(cycle - alone) != r->schedule->start[op] - r->first))
        return -1;
    return op;
}

static void read_pin(reader *r)
{
    uint32_t seen = 0;
    sked_i_json_enter(&r->j, '{', "a pin");
    while (sked_i_json_field(&r->j, &pin_fields, &seen) >= 0)
        sked_i_json_text(&r->j, "a cell", &r->cell);
}

/* Steps of a path; returns its length, and in enter and leave when it is in which op. */
static double read_steps(reader *r)
{
    sked_i_json *j = &r->j;
    double time = 0;
    int64_t cycle;
    for (int32_t i = 0; i < r->schedule->ops; i++)
        r->enter[i] = r->leave[i] = 0;
    sked_i_json_enter(j, '[', "a path");
    for (int64_t k = 0; sked_i_json_more(j); k++) {
        uint32_t seen = 0;
        double delay = 0;
        sked_i_json_enter(j, '{', "a step");
        for (int f; (f = sked_i_json_field(j, &step_fields, &seen)) >= 0;)
            if (f == STEP_DELAY)
                delay = sked_i_json_number(j, "a delay");
            else
                read_pin(r);
        const int32_t op = k > 0 && j->status == SKED_OK ? op_of(r, r->cell.data, &cycle) : -1;
        if (op >= 0 && r->leave[op] == 0)
            r->enter[op] = time;
        time += delay;
        if (op >= 0)
            r->leave[op] = time;
    }
    return time;
}

/* A path from a clock edge to one counts; the longest is the answer. */
static void read_path(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    bool clocked = true;
    double time = 0;
    sked_i_json_enter(j, '{', "a path");
    for (int f; (f = sked_i_json_field(j, &path_fields, &seen)) >= 0;) {
        if (f == PATH_STEPS) {
            time = read_steps(r);
        } else {
            sked_i_json_text(j, "an end of a path", &r->other);
            clocked = clocked && j->status == SKED_OK && strstr(r->other.data, "edge") != NULL;
        }
    }
    if (j->status != SKED_OK || !clocked || time <= r->trace->time)
        return;
    r->trace->time = time;
    memcpy(r->trace->start, r->enter, (size_t)r->schedule->ops * sizeof *r->enter);
    memcpy(r->trace->finish, r->leave, (size_t)r->schedule->ops * sizeof *r->leave);
}

static void read_endpoint(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    double delay = 0;
    r->cell.size = 0;
    sked_i_json_enter(j, '{', "an endpoint");
    for (int f; (f = sked_i_json_field(j, &end_fields, &seen)) >= 0;)
        if (f == END_DELAY)
            delay = sked_i_json_number(j, "a delay");
        else
            sked_i_json_text(j, "a cell", &r->cell);
    const int32_t op = j->status == SKED_OK ? op_before(r, r->cell.data) : -1;
    if (op < 0 || (r->trace->finish[op] > r->trace->start[op]) || delay <= r->trace->finish[op])
        return; /* the critical path says more of it */
    r->trace->start[op] = r->trace->finish[op] = delay;
}

static sked_status read_report(reader *r, const sked_i_source *source, sked_error *err)
{
    sked_i_json *j = &r->j;
    const char *paths = NULL, *nets = NULL;
    uint32_t seen = 0;
    sked_i_json_begin(j, source, err);
    sked_i_json_enter(j, '{', "nextpnr's report");
    for (int f; (f = sked_i_json_field(j, &report_fields, &seen)) >= 0;)
        *(f == REPORT_PATHS ? &paths : &nets) = sked_i_json_defer(j);
    while (sked_i_json_each(j, paths, "\"critical_paths\"", "path"))
        read_path(r);
    while (sked_i_json_each(j, nets, "\"detailed_net_timings\"", "net")) {
        seen = 0;
        sked_i_json_enter(j, '{', "a net");
        while (sked_i_json_field(j, &net_fields, &seen) >= 0) {
            sked_i_json_enter(j, '[', "endpoints");
            while (sked_i_json_more(j))
                read_endpoint(r);
        }
    }
    return j->status;
}

static sked_status read_answer(const sked_target *t, const sked_schedule *s, const char *text, size_t size,
                               sked_i_trace *out, sked_error *err)
{
    static const sked_read_options no_options;
    const sked_i_source source = {"nextpnr's report", text, size, &no_options};
    sked_i_trace trace = {0};
    reader r = {.schedule = s, .first = INFINITY, .trace = &trace};
    sked_error cause = {0};
    sked_status st = SKED_OK;
    SKED_NEW0(trace.start, s->ops);
    SKED_NEW0(trace.finish, s->ops);
    SKED_NEW(r.enter, s->ops);
    SKED_NEW(r.leave, s->ops);
    for (int32_t i = 0; i < s->ops; i++)
        r.first = fmin(r.first, s->start[i]);
    st = read_report(&r, &source, &cause);
    if (st != SKED_OK)
        st = sked_i_fail(err, st == SKED_ERR_MEMORY ? st : SKED_ERR_DEVICE, "target %s: %s",
                         t->part[0].kind->info.name, cause.message);
    else if (!(trace.time > 0))
        st = sked_i_fail(err, SKED_ERR_DEVICE, "nextpnr's report has no path between registers");
    if (st == SKED_OK) {
        *out = trace;
        trace = (sked_i_trace){0};
    }
cleanup:
    sked_i_json_free(&r.j);
    sked_i_buffer_free(&r.cell);
    sked_i_buffer_free(&r.other);
    free(r.enter);
    free(r.leave);
    sked_i_answer_trace_free(&trace);
    return st;
}

/* ------------------------------------------------------------------ the tools */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

/* The tools print to a log; the report, or the last words of the log, are what comes out. */
static void write_command(const sked_target *t, const double *setting, sked_i_buffer *out)
{
    sked_i_buffer_text(
        out, "cd \"$1\" && export TMPDIR=\"$1\" && if yosys -q -p 'read_verilog p.v; synth_ice40 -top bench "
             "-json p.json' >log 2>&1 && nextpnr-ice40 -q ");
    sked_i_buffer_text(out, devices[(int)setting[OPTION_DEVICE]]);
    sked_i_buffer_text(out,
                       " --json p.json --report r.json --detailed-timing-report --timing-allow-fail --freq ");
    sked_i_buffer_digits(out, fmax(1, fmin(1e3 / t->problem.clock, 1e4)), 6);
    sked_i_buffer_format(out, " --seed %llu >>log 2>&1; then cat r.json; else grep -m 1 -a -i error log; fi",
                         (unsigned long long)(1 + (t->seed + t->runs) % 1000000));
}

static sked_status run_tools(const sked_target *t, const double *setting, const char *folder,
                             sked_i_buffer *text, sked_error *err)
{
    sked_i_buffer command = {0};
    write_command(t, setting, &command);
    const sked_i_shell_command p = {.command = command.failed ? ":" : command.data,
                                    .file = folder,
                                    .folder = true,
                                    .timeout = setting[OPTION_TIMEOUT],
                                    .stop = t->stop};
    const sked_i_shell_end end = sked_i_shell_run(&p, text);
    const char *wrong = sked_i_shell_complaint(end);
    sked_status st = SKED_OK;
    if (command.failed || text->failed)
        st = sked_i_no_memory(err);
    else if (wrong != NULL)
        st = sked_i_fail(err, end == SKED_I_SHELL_STOPPED ? SKED_ERR_STOPPED : SKED_ERR_DEVICE,
                         "yosys and nextpnr-ice40: the run %s", wrong);
    else if (text->size == 0 || text->data[0] != '{')
        st = sked_i_fail(err, SKED_ERR_DEVICE, "yosys and nextpnr-ice40 made no design: %s",
                         sked_i_quoted_text(text->data != NULL ? text->data : "").text);
    sked_i_buffer_free(&command);
    return st;
}

static sked_status run(sked_target *t, const double *setting, const sked_schedule *s, sked_i_trace *out,
                       sked_error *err)
{
    char folder[] = "/tmp/sked-ice40-XXXXXX", path[64];
    sked_i_buffer module = {0}, text = {0};
    sked_status st = SKED_OK;
    bool made = false;
    SKED_TRY(sked_i_verilog_write(&t->problem, s, true, NULL, &module, err));
    made = mkdtemp(folder) != NULL;
    if (!made)
        SKED_TRY(sked_i_fail(err, SKED_ERR_IO, "cannot create a temporary folder in /tmp"));
    snprintf(path, sizeof path, "%s/p.v", folder);
    SKED_TRY(sked_i_file_write(path, module.data, (size_t)module.size, err));
    SKED_TRY(run_tools(t, setting, folder, &text, err));
    SKED_TRY(read_answer(t, s, text.data, (size_t)text.size, out, err));
cleanup:
    if (made)
        (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    sked_i_buffer_free(&module);
    sked_i_buffer_free(&text);
    return st;
}

/* Names the package of what is missing, before anything is scheduled. */
static sked_status prepare(sked_target *t, const double *setting, sked_error *err)
{
    (void)setting;
    sked_i_buffer text = {0};
    const sked_i_shell_command p = {
        .command = "for p in yosys nextpnr-ice40; do command -v $p >/dev/null || printf \"$p \"; done",
        .file = "",
        .timeout = 60,
        .stop = t->stop};
    const sked_i_shell_end end = sked_i_shell_run(&p, &text);
    sked_status st = SKED_OK;
    if (end == SKED_I_SHELL_STOPPED)
        st = sked_i_fail(err, SKED_ERR_STOPPED, "stopped");
    else if (end != SKED_I_SHELL_DONE || text.size > 0)
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                         "target ice40 runs yosys and nextpnr-ice40; not installed here (Debian packages of "
                         "the same names): %s",
                         text.data != NULL ? text.data : "a shell");
    sked_i_buffer_free(&text);
    return st;
}

const sked_i_target sked_i_target_ice40 = {.info = {"ice40",
                                                    "pipelines on a Lattice iCE40: Verilog, yosys and "
                                                    "nextpnr-ice40; the critical path, in ns; stands alone",
                                                    options, sizeof options / sizeof *options},
                                           .pipelines = true,
                                           .prepare = prepare,
                                           .run = run};
