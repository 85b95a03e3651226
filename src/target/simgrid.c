/*
 * A schedule on a SimGrid platform. The program sked-simgrid (tools/simgrid) runs it: SimGrid has one engine
 * for each process and may end the process on errors. So every run is a process of its own, which makes
 * measurements repeatable and lets several threads and ranks measure at once.
 */
#define _GNU_SOURCE
#include "base/file.h"
#include "target/answer.h"
#include "target/queues.h"
#include "target/shell.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef SKED_LIBEXEC
#error "SKED_LIBEXEC: the folder where sked-simgrid is installed"
#endif

#define SIMGRID_OPTIONS(X)                                                                                   \
    X(HOSTS, "hosts", TEXT, "auto", 0, 0, NULL,                                                              \
      "host of each device, A/B/B; auto: hosts called as the devices of the machine are, else the first of " \
      "the platform by name")                                                                                \
    X(UNIT, "unit", REAL, "1", 1e-18, 1e18, NULL, "seconds of a duration of 1")                              \
    X(SPEED, "speed", REAL, "0", 0, 1e30, NULL,                                                              \
      "flop/s of the host that durations are for; 0: of the first device's; a machine file says it itself")  \
    X(TIMEOUT, "timeout", REAL, "60", 0.001, 1e6, NULL, "seconds a run may take")                            \
    X(PROGRAM, "program", TEXT, "auto", 0, 0, NULL,                                                          \
      "the program sked-simgrid; auto: beside sked, or where it was installed")

SKED_I_OPTIONS(SIMGRID_OPTIONS);

/* t->state: the command for the shell, all but the plan. */
static void close_simgrid(sked_target *t)
{
    free(t->state);
    t->state = NULL;
}

static const char *text_of(const sked_target *t, int option)
{
    return sked_i_option_text(&options[option], t->part[0].setting[option], t->part[0].given);
}

/* ------------------------------------------------------------------ the program */

/* The folder of the library where that is linked, or of the command; one found in PATH has none in its name.
 */
static void own_folder(char *path, size_t size)
{
    Dl_info info;
    path[0] = 0;
    if (dladdr(options, &info) != 0 && info.dli_fname != NULL && strchr(info.dli_fname, '/') != NULL) {
        snprintf(path, size, "%s", info.dli_fname);
    } else {
        const ssize_t n = readlink("/proc/self/exe", path, size - 1);
        path[n > 0 ? n : 0] = 0;
    }
    char *slash = strrchr(path, '/');
    *(slash != NULL ? slash : path) = 0;
}

/* In the build folder the program stands beside the command; installed, in libexec of the same prefix. */
static bool find_nearby(char *path, size_t size)
{
    static const char *const places[] = {"", "/../libexec/sked", "/../../libexec/sked"};
    char folder[2048];
    own_folder(folder, sizeof folder);
    for (size_t k = 0; folder[0] != 0 && k < sizeof places / sizeof *places; k++) {
        snprintf(path, size, "%s%s/sked-simgrid", folder, places[k]);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static sked_status find_program(const sked_target *t, char *path, size_t size, sked_error *err)
{
    const char *given = text_of(t, OPTION_PROGRAM);
    if (strcmp(given, "auto") != 0) {
        snprintf(path, size, "%s", given);
        if (access(path, X_OK) == 0)
            return SKED_OK;
        return sked_i_fail(err, SKED_ERR_IO, "target simgrid: %s is no program", given);
    }
    if (find_nearby(path, size))
        return SKED_OK;
    snprintf(path, size, "%s/sked-simgrid", SKED_LIBEXEC);
    if (access(path, X_OK) == 0)
        return SKED_OK;
    return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                       "target simgrid is not part of this installation: install SimGrid (Debian: "
                       "libsimgrid-dev) and build sked again, or name the program sked-simgrid in program=");
}

/* ------------------------------------------------------------------ the plan */

static bool is_plain(const char *text)
{
    return text[0] != 0 && strpbrk(text, "\n\r") == NULL;
}

/* The lines of hosts that every plan has: "A/B/B", or the names of the machine's devices. */
static sked_status write_hosts(const sked_target *t, sked_i_buffer *out, sked_error *err)
{
    const char *given = text_of(t, OPTION_HOSTS);
    const sked_machine *m = t->problem.machine;
    const int32_t devices = t->replay->costs.devices;
    int32_t n = 0;
    if (strcmp(given, "auto") != 0) {
        sked_i_buffer_text(out, "hosts 1\n");
        for (const char *at = given; *at; n++) {
            const size_t size = strcspn(at, "/");
            sked_i_buffer_format(out, "%.*s\n", (int)size, at);
            at += size + (at[size] == '/');
        }
        if (n != devices || !is_plain(given))
            return sked_i_fail(err, SKED_ERR_ARGUMENT,
                               "target simgrid: hosts= names %d hosts, and there are %d devices", (int)n,
                               (int)devices);
        return SKED_OK;
    }
    for (int32_t d = 0; m != NULL && d < devices; d++)
        n += is_plain(sked_machine_device_name(m, d));
    sked_i_buffer_format(out, "hosts %d\n", m != NULL && n == devices ? 2 : 0);
    for (int32_t d = 0; m != NULL && n == devices && d < devices; d++)
        sked_i_buffer_format(out, "%s\n", sked_machine_device_name(m, d));
    return SKED_OK;
}

static void write_head(const sked_target *t, const double *setting, sked_i_buffer *out)
{
    const bool own_times = t->problem.machine != NULL;
    sked_i_buffer_format(out, "sked-simgrid-1\nplatform %s\nunit ", t->argument);
    sked_i_buffer_number(out, setting[OPTION_UNIT]);
    sked_i_buffer_text(out, "\nspeed ");
    sked_i_buffer_number(out, own_times ? -1 : setting[OPTION_SPEED]);
    sked_i_buffer_format(out, "\ndevices %d\n", (int)t->replay->costs.devices);
}

static void write_line(sked_i_buffer *out, int32_t a, int32_t b, double amount)
{
    sked_i_buffer_format(out, "%d %d ", (int)a, (int)b);
    sked_i_buffer_number(out, amount);
    sked_i_buffer_char(out, '\n');
}

/* Without a schedule: a plan with no ops, to see whether platform and hosts are there. */
static sked_status write_plan(const sked_target *t, const double *setting, const sked_schedule *s,
                              sked_i_buffer *out, sked_error *err)
{
    const sked_graph *g = t->problem.graph;
    sked_i_queues q = {0};
    sked_status st = SKED_OK;
    write_head(t, setting, out);
    SKED_TRY(write_hosts(t, out, err));
    if (s == NULL) {
        sked_i_buffer_text(out, "ops 0\nedges 0\n");
        goto cleanup;
    }
    SKED_TRY(sked_i_queues_make(t, s, &q, err));
    const int32_t *position = sked_i_replay_positions(t->replay);
    sked_i_buffer_format(out, "ops %d\n", (int)s->ops);
    for (int32_t i = 0; i < s->ops; i++) {
        const int32_t d = s->device[i], before = position[i] > 0 ? q.op[q.ptr[d] + position[i] - 1] : -1;
        write_line(out, d, before, sked_i_time(&t->replay->costs, i, d));
    }
    int64_t edges = 0;
    for (int64_t e = 0; e < g->n_edges; e++)
        edges += g->edge_distance[e] == 0;
    sked_i_buffer_format(out, "edges %lld\n", (long long)edges);
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0)
            write_line(out, g->edge_from[e], g->edge_to[e], sked_i_queue_edge_read(g, e));
cleanup:
    sked_i_queues_free(&q);
    return st == SKED_OK && out->failed ? sked_i_no_memory(err) : st;
}

/* ------------------------------------------------------------------ runs */

/* Begins the last line that is not empty, and ends it there. */
static const char *last_line(sked_i_buffer *text)
{
    char *end = text->data + text->size;
    while (end > text->data && (end[-1] == '\n' || end[-1] == ' '))
        *--end = 0;
    char *line = end;
    while (line > text->data && line[-1] != '\n')
        line--;
    return line;
}

/* What the program says of itself when it fails. */
static sked_status report_failure(const sked_target *t, sked_i_buffer *text, sked_error *err)
{
    const char *line = text->size > 0 ? last_line(text) : "";
    if (strstr(line, "error while loading shared libraries") != NULL) /* of a package without SimGrid */
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "target simgrid needs SimGrid: install it (Debian: libsimgrid-dev): %.300s", line);
    const bool devices = strncmp(line, "devices: ", 9) == 0;
    return sked_i_fail(err, devices ? SKED_ERR_ARGUMENT : SKED_ERR_FORMAT, "%.200s: SimGrid: %.300s",
                       t->argument, line[0] ? line : "ended with an error");
}

/* Runs the program on a plan that lies in `path`. */
static sked_status call(const sked_target *t, const double *setting, const char *path, sked_i_buffer *text,
                        sked_error *err)
{
    const sked_i_shell_command p = {
        .command = t->state, .file = path, .timeout = setting[OPTION_TIMEOUT], .stop = t->stop};
    const sked_i_shell_end end = sked_i_shell_run(&p, text);
    const char *wrong = sked_i_shell_complaint(end);
    if (text->failed)
        return sked_i_no_memory(err);
    if (end == SKED_I_SHELL_FAILED)
        return report_failure(t, text, err);
    if (wrong == NULL)
        return SKED_OK;
    return sked_i_fail(err, end == SKED_I_SHELL_STOPPED ? SKED_ERR_STOPPED : SKED_ERR_DEVICE,
                       "the program sked-simgrid %s", wrong);
}

/* "device gpu0 on host node-1, ..." for the first few, of the names that the program printed, one a line. */
static void tell(sked_target *t, const char *names, double unit)
{
    enum { most = 8 };
    const int32_t devices = t->replay->costs.devices;
    bool same = true;
    char name[64];
    sked_i_buffer_format(&t->about, "devices are hosts of %.200s: ", t->argument);
    for (int32_t d = 0; d < devices && *names; d++) {
        const int size = (int)strcspn(names, "\n");
        sked_problem_device_name(&t->problem, d, name, sizeof name);
        same = same && strlen(name) == (size_t)size && strncmp(name, names, (size_t)size) == 0;
        if (d < most)
            sked_i_buffer_format(&t->about, "%s%s on %s", d > 0 ? ", " : "", sked_i_quoted_text(name).text,
                                 sked_i_quoted_bytes(names, (size_t)size).text);
        names += size + (names[size] != 0);
    }
    sked_i_buffer_text(&t->about, devices > most ? ", ...; a duration of 1 is " : "; a duration of 1 is ");
    sked_i_buffer_number(&t->about, unit);
    sked_i_buffer_text(&t->about, " s of simulated time (unit=)");
    if (t->problem.machine != NULL && !same && strcmp(text_of(t, OPTION_HOSTS), "auto") == 0)
        sked_i_buffer_text(&t->about,
                           "\nnot all devices have a host of their name: they take the platform's first "
                           "hosts by name (hosts=)");
}

/* s == NULL: only looks whether it would work. */
static sked_status simulate(sked_target *t, const double *setting, const sked_schedule *s, sked_i_trace *out,
                            sked_error *err)
{
    char path[] = SKED_I_SHELL_FILE;
    sked_i_buffer plan = {0}, text = {0};
    sked_status st = SKED_OK;
    SKED_TRY(write_plan(t, setting, s, &plan, err));
    SKED_TRY(sked_i_shell_file(&plan, path, err));
    st = call(t, setting, path, &text, err);
    unlink(path);
    if (st == SKED_OK && s == NULL)
        tell(t, text.size > 0 ? text.data : "", setting[OPTION_UNIT]);
    else if (st == SKED_OK)
        st = sked_i_answer_read("sked-simgrid", text.data, (size_t)text.size, &t->problem, s, t->work > 0,
                                out, err);
cleanup:
    sked_i_buffer_free(&plan);
    sked_i_buffer_free(&text);
    return st;
}

/* DEVICE where another schedule may do better: the loop continues after it. */
static sked_status run(sked_target *t, const double *setting, const sked_schedule *s, sked_i_trace *out,
                       sked_error *err)
{
    sked_error cause = {0};
    const sked_status st = simulate(t, setting, s, out, &cause);
    const bool wrong = st == SKED_ERR_FORMAT || st == SKED_ERR_ARGUMENT || st == SKED_ERR_INVALID;
    return st == SKED_OK ? st : sked_i_fail(err, wrong ? SKED_ERR_DEVICE : st, "%s", cause.message);
}

static sked_status check_platform(const sked_target *t, sked_error *err)
{
    const size_t size = strlen(t->argument);
    if (size < 5 || strcmp(t->argument + size - 4, ".xml") != 0 || !is_plain(t->argument))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "target simgrid wants a platform file: simgrid:PLATFORM.xml");
    if (access(t->argument, R_OK) != 0)
        return sked_i_fail(err, SKED_ERR_IO, "%s: cannot read it", t->argument);
    if (t->problem.machine != NULL && t->part[0].setting[OPTION_SPEED] > 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "target simgrid: on a machine its own times hold; speed= does nothing there");
    return SKED_OK;
}

static sked_status prepare(sked_target *t, const double *setting, sked_error *err)
{
    char path[4096];
    sked_i_buffer command = {0};
    sked_status st = SKED_OK;
    SKED_TRY(check_platform(t, err));
    SKED_TRY(sked_i_queues_check_lags(t->problem.graph, "simgrid", err));
    SKED_TRY(find_program(t, path, sizeof path, err));
    sked_i_shell_quote(&command, path);
    sked_i_buffer_text(&command, " \"$1\" 2>&1");
    if (command.failed)
        SKED_TRY(sked_i_no_memory(err));
    t->state = command.data;
    command.data = NULL;
    SKED_TRY(simulate(t, setting, NULL, NULL, err));
cleanup:
    free(command.data);
    return st;
}

const sked_i_target sked_i_target_simgrid = {
    .info =
        {"simgrid",
         "simgrid:PLATFORM.xml runs the schedule on a platform of SimGrid: devices are hosts, transfers "
         "share "
         "links; stands alone; options before the colon: simgrid,unit=0.001:node.xml; it needs the program "
         "sked-simgrid, which is built where SimGrid is installed (libsimgrid-dev)",
         options, n_options},
    .free_text = true,
    .simulated = true,
    .prepare = prepare,
    .close = close_simgrid,
    .run = run};
