/* sked train: teaches a GFlowNet. -o takes the model (.safetensors), a log (.jsonl) and a curve (.svg). */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include "../cli/chart.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a look at held-out graphs found: a row of the curve. */
enum { P_STEP, P_TOP1, P_TOP100, P_MEAN, P_LIST, P_BRKGA, P_GED, P_SPREAD, POINT_COLUMNS };
typedef struct point {
    double at[POINT_COLUMNS];
} point;

typedef struct session {
    const arguments *a;
    const char *model, *log_path, *curve;
    int log;               /* descriptor, -1: not begun */
    sked_error log_failed; /* by the first line that could not be written */
    point *points;
    size_t n_points, cap;
    double smooth; /* running mean of the loss */
    double shown;  /* when the last line was printed */
    bool no_memory;
} session;

static sked_status pick_outputs(session *s, sked_error *err)
{
    for (int i = 0; i < s->a->output.count; i++) {
        const char *path = s->a->output.at[i];
        const char **slot = ends_with(path, ".safetensors") ? &s->model
                            : ends_with(path, ".jsonl")     ? &s->log_path
                            : ends_with(path, ".svg")       ? &s->curve
                                                            : NULL;
        if (slot == NULL)
            return fail(
                err, SKED_ERR_ARGUMENT,
                "`sked train` writes .safetensors (model), .jsonl (log) and .svg (curve), not '%.200s'",
                path);
        if (*slot != NULL)
            return fail(err, SKED_ERR_ARGUMENT, "-o %.200s and -o %.200s are of one kind; one is written",
                        *slot, path);
        *slot = path;
    }
    if (s->model == NULL)
        return fail(err, SKED_ERR_ARGUMENT, "`sked train` needs -o MODEL.safetensors");
    if (s->a->steps == 0 && isinf(s->a->minutes))
        return fail(err, SKED_ERR_ARGUMENT, "`sked train` needs --steps or --minutes");
    return SKED_OK;
}

static void keep_point(session *s, const sked_train_progress *p)
{
    if (s->n_points == s->cap) {
        const size_t cap = s->cap ? 2 * s->cap : 64;
        point *more = realloc(s->points, cap * sizeof *more);
        if (more == NULL) {
            s->no_memory = true;
            return;
        }
        s->points = more;
        s->cap = cap;
    }
    s->points[s->n_points++] =
        (point){{(double)p->step, p->top1, p->top100, p->mean, p->list, p->brkga, p->ged, p->spread}};
}

/* ---------------------------------------------------------------- the log */

/*
 * The one file that grows while the command runs, so that it can be watched: every line is one write, and a
 * process that dies leaves whole lines. A new log replaces the old one, in one step, when its first line
 * comes; one that is resumed, a pipe or a device goes on. True: the line is there.
 */
static bool begin_log(session *s, const char *line, size_t size)
{
    struct stat info;
    const bool there = stat(s->log_path, &info) == 0;
    const bool fresh = !there || (S_ISREG(info.st_mode) && s->a->resume == NULL);
    if (fresh && sked_file_write(s->log_path, line, size, &s->log_failed) != SKED_OK)
        return false;
    s->log = open(s->log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (s->log < 0)
        fail(&s->log_failed, SKED_ERR_IO, "%s: cannot write: %s", s->log_path, strerror(errno));
    return fresh;
}

static void add_line(session *s, const char *line, size_t size)
{
    if (s->log_failed.status != SKED_OK || (s->log < 0 && begin_log(s, line, size)))
        return;
    while (size > 0 && s->log_failed.status == SKED_OK) {
        const ssize_t n = write(s->log, line, size);
        if (n < 0 && errno != EINTR)
            fail(&s->log_failed, SKED_ERR_IO, "%s: cannot write: %s", s->log_path, strerror(errno));
        line += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

static void log_update(session *s, const sked_train_progress *p)
{
    char line[800], seen[400] = "";
    if (p->validated)
        snprintf(seen, sizeof seen,
                 ",\"top1\":%.6g,\"top100\":%.6g,\"mean\":%.6g,\"ged\":%.6g,\"spread\":%.6g,\"list\":%.6g,"
                 "\"brkga\":%.6g",
                 p->top1, p->top100, p->mean, p->ged, p->spread, p->list, p->brkga);
    const int size =
        snprintf(line, sizeof line,
                 "{\"step\":%lld,\"seconds\":%.3f,\"loss\":%.6g,\"log_z\":%.6g,\"norm\":%.6g,\"rate\":%.6g,"
                 "\"ops\":%d,\"temperature\":%.6g,\"speedup\":%.6g%s}\n",
                 (long long)p->step, p->seconds, p->loss, p->log_z, p->norm, p->rate, (int)p->ops,
                 p->temperature, p->speedup, seen);
    add_line(s, line, (size_t)size);
}

/* Of a run without updates it is there, too. */
static sked_status close_log(session *s, sked_status st, sked_error *err)
{
    struct stat info;
    if (st == SKED_OK && s->log_path != NULL && s->log < 0 && stat(s->log_path, &info) != 0)
        add_line(s, "", 0);
    if (s->log >= 0 && close(s->log) != 0)
        fail(&s->log_failed, SKED_ERR_IO, "%s: cannot write: %s", s->log_path, strerror(errno));
    return st == SKED_OK && s->log_failed.status != SKED_OK
               ? fail(err, s->log_failed.status, "%s", s->log_failed.message)
               : st;
}

/* ---------------------------------------------------------------- progress */

static void on_update(void *data, const sked_train_progress *p)
{
    session *s = data;
    end_on_signal(false); /* from now on there is a model to save */
    s->smooth = p->step > 1 && s->smooth > 0 ? 0.98 * s->smooth + 0.02 * p->loss : p->loss;
    if (s->log_path != NULL)
        log_update(s, p);
    if (p->validated)
        keep_point(s, p);
    if (s->a->quiet)
        return;
    if (p->validated)
        fprintf(
            stderr,
            "step %lld  %.0f s  loss %.4g  top 1 %.3f  top 100 %.3f  mean %.3f  GED %.1f  log Z spread %.3g  "
            "(list %.3f, brkga %.3f)\n",
            (long long)p->step, p->seconds, s->smooth, p->top1, p->top100, p->mean, p->ged, p->spread,
            p->list, p->brkga);
    else if (p->seconds - s->shown >= 10)
        fprintf(stderr, "step %lld  %.0f s  loss %.4g  log Z %.4g\n", (long long)p->step, p->seconds,
                s->smooth, p->log_z);
    else
        return;
    s->shown = p->seconds;
}

/* ---------------------------------------------------------------- the curve */

static sked_status write_curve(const session *s, sked_error *err)
{
    const size_t n = s->n_points;
    double *column = calloc((n + 1) * POINT_COLUMNS, sizeof *column); /* [POINT_COLUMNS][n] */
    if (column == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < POINT_COLUMNS; c++)
            column[(size_t)c * n + i] = s->points[i].at[c];
    const chart_line speedups[] = {{"top 1", "#4393c3", false, column + P_TOP1 * n},
                                   {"top 100", "#1b9e77", false, column + P_TOP100 * n},
                                   {"mean", "#9970ab", false, column + P_MEAN * n},
                                   {"list", "#808890", true, column + P_LIST * n},
                                   {"brkga", "#e08214", true, column + P_BRKGA * n}};
    const chart_line spread[] = {{"GED of the top 100 [%]", "#4393c3", false, column + P_GED * n},
                                 {"log Z spread", "#e08214", false, column + P_SPREAD * n}};
    const chart_panel panels[] = {
        {"Speedup on held-out graphs", "updates", false, false, column + P_STEP * n, (int)n, speedups, 5},
        {"Diversity and error there", "updates", false, false, column + P_STEP * n, (int)n, spread, 2}};
    const sked_status st = write_chart(s->curve, panels, 2, err);
    free(column);
    return st;
}

/* ---------------------------------------------------------------- the command */

static void fill_train_options(const arguments *a, const session *s, sked_train_options *opt)
{
    sked_train_options_init(opt);
    opt->graphs = a->graphs;
    opt->devices = (int32_t)a->train_devices;
    opt->steps = a->steps;
    opt->minutes = a->minutes;
    opt->seed = (uint64_t)a->seed;
    opt->threads = (int)a->threads;
    opt->backend = a->backend;
    opt->settings = a->set.at;
    opt->n_settings = a->set.count;
    opt->resume = a->resume;
    opt->output = s->model;
    opt->stop = &stop_requested;
    opt->together = true;
}

static void print_configuration(const arguments *a, const sked_train_options *opt)
{
    printable_text text;
    fprintf(stderr, "train: graphs %s, devices %d, seed %llu, threads %d", printable(opt->graphs, &text),
            (int)opt->devices, (unsigned long long)opt->seed, opt->threads);
    if (sked_dist_size() > 1)
        fprintf(stderr, ", ranks %d", sked_dist_size());
    if (opt->resume)
        fprintf(stderr, ", resume %s", printable(opt->resume, &text));
    for (int i = 0; i < a->set.count; i++)
        fprintf(stderr, ", %s", printable(a->set.at[i], &text));
    fputc('\n', stderr);
}

/* What follows training. The model is on disk already; a broken log is the last thing to complain about. */
static sked_status deliver(session *s, const sked_sampler *m, sked_error *err)
{
    printable_text name;
    sked_status st = s->no_memory ? fail(err, SKED_ERR_MEMORY, "out of memory") : SKED_OK;
    if (st == SKED_OK && s->curve)
        st = write_curve(s, err);
    if (st == SKED_OK && s->a->weights_only)
        st = sked_sampler_write(m, s->model, false, err);
    if (st == SKED_OK)
        printf("%s: %lld parameters after %lld updates\n", printable(s->model, &name),
               (long long)sked_sampler_parameter_count(m), (long long)sked_sampler_steps(m));
    return st;
}

sked_status run_train(arguments *a, sked_error *err)
{
    session s = {.a = a, .log = -1};
    sked_train_options opt;
    sked_sampler *m = NULL;
    sked_status st = a->graphs != NULL ? pick_outputs(&s, err)
                                       : fail(err, SKED_ERR_ARGUMENT, "`sked train` needs --graphs SPEC");
    const bool first = sked_dist_rank() == 0; /* the rank that writes and reports */
    s.log_path = first ? s.log_path : NULL;
    fill_train_options(a, &s, &opt);
    opt.progress = on_update;
    opt.progress_data = &s;
    if (st == SKED_OK && first && !a->quiet)
        print_configuration(a, &opt);
    end_on_signal(first); /* the others leave it to the first whether there is a model to save */
    if (st == SKED_OK)
        st = sked_train(&opt, &m, err);
    end_on_signal(false);
    if (st == SKED_OK && first)
        st = deliver(&s, m, err);
    st = close_log(&s, st, err);
    sked_sampler_destroy(m);
    free(s.points);
    return st;
}
