/*
 * PSPLIB single-mode RCPSP (.sm): a form with titled sections between lines of stars. Jobs 1 and n are
 * dummies; renewable resources become pools "R1", "R2", ... docs/formats/psplib.md
 */
#include "formats/tasks.h"

#include <string.h>

typedef struct reader {
    sked_i_tasks tasks;
    sked_i_scan scan; /* line by line */
    int32_t jobs, renewable;
    bool has_jobs, has_renewable, has_precedence, has_requests, has_capacities;
} reader;

/* The line the scanner stands on, without blanks around it. */
static sked_i_word this_line(const sked_i_scan *s)
{
    const char *from = s->at, *to = sked_i_line_end(s->at, s->end);
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
        to--;
    return (sked_i_word){from, (size_t)(to - from)};
}

/* The integer behind the colon of the line; `seen` (may be NULL) makes sure that it comes once. */
static sked_status value_of(reader *r, sked_i_word line, const char *what, bool *seen, int32_t *out,
                            sked_error *err)
{
    if (seen != NULL && *seen)
        return sked_i_source_fail(r->scan.source, line.text, err, "%s is given twice", what);
    if (seen != NULL)
        *seen = true;
    const char *colon = memchr(line.text, ':', line.size);
    if (colon == NULL)
        return sked_i_source_fail(r->scan.source, line.text, err, "%s: a colon and a number are expected",
                                  what);
    r->scan.at = colon + 1;
    return sked_i_scan_int(&r->scan, what, 0, INT32_MAX - 2, out, err);
}

/* A count that must be `only` for the file to be a single-mode project. */
static sked_status only(reader *r, sked_i_word line, const char *what, int32_t allowed, sked_error *err)
{
    int32_t n;
    const sked_status st = value_of(r, line, what, NULL, &n, err);
    if (st != SKED_OK || n == allowed)
        return st;
    return sked_i_source_refuse(r->scan.source, line.text, SKED_ERR_UNSUPPORTED, err,
                                "%s is %d; sked reads projects where it is %d", what, (int)n, (int)allowed);
}

/* Rows start after the column titles (and a ruler) and end at the next line of stars. */
static bool next_row(reader *r)
{
    while (sked_i_scan_next_line(&r->scan)) {
        const sked_i_word line = this_line(&r->scan);
        if (line.size > 0 && line.text[0] == '*')
            return false;
        if (line.size > 0 && line.text[0] != '-' && !sked_i_word_starts(line, "jobnr"))
            return true;
    }
    return false;
}

/* Reads the job number that starts a row and checks that rows count up from 1. */
static sked_status row_number(reader *r, int32_t due, sked_error *err)
{
    int32_t job;
    const sked_status st = sked_i_scan_int(&r->scan, "a job number", 1, INT32_MAX - 2, &job, err);
    if (st != SKED_OK || job == due)
        return st;
    return sked_i_source_fail(r->scan.source, r->scan.at - 1, err,
                              "job %d where job %d is due: jobs count up by 1", (int)job, (int)due);
}

static sked_status precedence_row(reader *r, int32_t job, sked_error *err)
{
    sked_status st;
    int32_t modes;
    SKED_TRY(row_number(r, job, err));
    SKED_TRY(sked_i_scan_int(&r->scan, "the number of modes", 1, INT32_MAX, &modes, err));
    if (modes != 1)
        return sked_i_source_refuse(r->scan.source, r->scan.at - 1, SKED_ERR_UNSUPPORTED, err,
                                    "job %d has %d modes; sked reads single-mode projects", (int)job,
                                    (int)modes);
    SKED_TRY(sked_i_tasks_read_successors(&r->tasks, &r->scan, job, err));
    SKED_TRY(sked_i_scan_line_end(&r->scan, "the last successor", err));
cleanup:
    return st;
}

static sked_status request_row(reader *r, int32_t job, sked_error *err)
{
    sked_status st;
    int32_t mode;
    double x;
    SKED_TRY(row_number(r, job, err));
    SKED_TRY(sked_i_scan_int(&r->scan, "the mode", 1, 1, &mode, err));
    SKED_TRY(sked_i_scan_number(&r->scan, "the duration of a job", &x, err));
    SKED_TRY(sked_i_tasks_add(&r->tasks, x, r->scan.at - 1, err));
    SKED_TRY(sked_i_tasks_read_demands(&r->tasks, &r->scan, r->renewable, err));
    SKED_TRY(sked_i_scan_line_end(&r->scan, "the last demand", err));
cleanup:
    return st;
}

/* A section of one row per job. */
static sked_status rows(reader *r, const char *title, bool *seen,
                        sked_status (*row)(reader *, int32_t, sked_error *), sked_error *err)
{
    int32_t job = 0;
    if (*seen || !r->has_jobs || !r->has_renewable)
        return sked_i_source_fail(r->scan.source, r->scan.at, err,
                                  *seen ? "a second section '%s'"
                                        : "section '%s' before the numbers of jobs and renewable resources",
                                  title);
    *seen = true;
    while (next_row(r)) {
        const sked_status st = row(r, ++job, err);
        if (st != SKED_OK)
            return st;
    }
    if (job == r->jobs)
        return SKED_OK;
    return sked_i_source_fail(r->scan.source, r->scan.at, err,
                              "section '%s' has %d rows, but the file promises %d jobs", title, (int)job,
                              (int)r->jobs);
}

static sked_status capacities(reader *r, sked_error *err)
{
    sked_status st = SKED_OK;
    if (r->has_capacities || !r->has_renewable)
        return sked_i_source_fail(r->scan.source, r->scan.at, err, "resource availabilities %s",
                                  r->has_capacities ? "given twice" : "before the number of resources");
    r->has_capacities = true;
    sked_i_scan_next_line(&r->scan); /* the titles */
    sked_i_scan_next_line(&r->scan);
    SKED_TRY(sked_i_tasks_read_pools(&r->tasks, &r->scan, r->renewable, err));
    SKED_TRY(sked_i_scan_line_end(&r->scan, "the last capacity", err));
cleanup:
    return st;
}

static sked_status read_line(reader *r, sked_i_word line, sked_error *err)
{
    if (sked_i_word_starts(line, "projects"))
        return only(r, line, "the number of projects", 1, err);
    if (sked_i_word_starts(line, "jobs"))
        return value_of(r, line, "the number of jobs", &r->has_jobs, &r->jobs, err);
    if (sked_i_word_starts(line, "- renewable"))
        return value_of(r, line, "the number of renewable resources", &r->has_renewable, &r->renewable, err);
    if (sked_i_word_starts(line, "- nonrenewable"))
        return only(r, line, "the number of nonrenewable resources", 0, err);
    if (sked_i_word_starts(line, "- doubly"))
        return only(r, line, "the number of doubly constrained resources", 0, err);
    if (sked_i_word_starts(line, "PRECEDENCE"))
        return rows(r, "PRECEDENCE RELATIONS", &r->has_precedence, precedence_row, err);
    if (sked_i_word_starts(line, "REQUESTS"))
        return rows(r, "REQUESTS/DURATIONS", &r->has_requests, request_row, err);
    if (sked_i_word_starts(line, "RESOURCEAVAIL") || sked_i_word_starts(line, "RESOURCE AVAIL"))
        return capacities(r, err);
    return SKED_OK; /* horizon, seeds, project dates: nothing a schedule needs */
}

static sked_status check_complete(const reader *r, sked_error *err)
{
    const struct {
        bool seen;
        const char *title;
    } part[] = {
        {r->has_jobs, "jobs (incl. supersource/sink)"}, {r->has_renewable, "- renewable"},
        {r->has_precedence, "PRECEDENCE RELATIONS"},    {r->has_requests, "REQUESTS/DURATIONS"},
        {r->has_capacities, "RESOURCEAVAILABILITIES"},
    };
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (!part[i].seen)
            return sked_i_source_fail(r->scan.source, r->scan.at, err, "the file ends without its part '%s'",
                                      part[i].title);
    return SKED_OK;
}

static sked_status read_psplib(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    sked_status st;
    reader r = {.scan = sked_i_scan_source(source)};
    r.scan.one_line = true;
    SKED_TRY(sked_i_tasks_init(&r.tasks, source, "a PSPLIB file", err));
    do
        SKED_TRY(read_line(&r, this_line(&r.scan), err));
    while (sked_i_scan_next_line(&r.scan));
    SKED_TRY(check_complete(&r, err));
    SKED_TRY(sked_i_tasks_finish(&r.tasks, out, err));
cleanup:
    sked_i_tasks_free(&r.tasks);
    return st;
}

static bool sniff_psplib(const char *text, size_t size)
{
    sked_i_scan s = sked_i_scan_text(text, size);
    do
        if (sked_i_word_starts(this_line(&s), "jobs (incl."))
            return true;
    while (sked_i_scan_next_line(&s));
    return false;
}

const sked_i_format sked_i_format_psplib = {
    .info = {"psplib", "PSPLIB: single-mode resource-constrained project", ".sm", true, false},
    .sniff = sniff_psplib,
    .read = read_psplib,
};
