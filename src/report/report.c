/* The table of reports and the one way they reach a file. */
#include "report/report.h"

#include "base/sized.h"
#include "problem/lower.h"
#include "report/svg.h"
#include "report/table.h"

#include <string.h>
#include <strings.h>

#define SKED_X(name) extern const sked_i_report sked_i_report_##name;
SKED_REPORT_LIST(SKED_X)
#undef SKED_X

static const sked_i_report *const reports[] = {
#define SKED_X(name) &sked_i_report_##name,
    SKED_REPORT_LIST(SKED_X)
#undef SKED_X
};
enum { n_reports = sizeof reports / sizeof *reports };

int sked_report_count(void)
{
    return n_reports;
}

const sked_report_info *sked_report_at(int i)
{
    return i >= 0 && i < n_reports ? &reports[i]->info : NULL;
}

static const sked_i_report *by_name(const char *name)
{
    for (int i = 0; i < n_reports; i++)
        if (strcmp(reports[i]->info.name, name) == 0)
            return reports[i];
    return NULL;
}

void sked_report_data_init_sized(sked_report_data *data, size_t size)
{
    const sked_report_data preset = {.lower_bound = NAN};
    sked_i_sized_init(data, size, &preset, sizeof preset);
}

/* The longest extension that matches decides: x.trace.json is a trace. */
static const sked_i_report *by_extension(const char *path)
{
    const sked_i_report *best = NULL;
    const size_t length = strlen(path);
    for (int i = 0; i < n_reports; i++) {
        const size_t n = strlen(reports[i]->info.extension);
        if (n <= length && strcasecmp(path + length - n, reports[i]->info.extension) == 0 &&
            (best == NULL || n > strlen(best->info.extension)))
            best = reports[i];
    }
    return best;
}

static sked_status no_report(const char *path, const char *format, sked_error *err)
{
    sked_i_buffer list = {0};
    for (int i = 0; i < n_reports; i++)
        sked_i_buffer_format(&list, "%s%s", i ? " " : "",
                             format ? reports[i]->info.name : reports[i]->info.extension);
    const sked_status st =
        list.failed
            ? sked_i_no_memory(err)
            : sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: no report %s; known are: %s", path,
                          format ? "of that name" : "for this extension", list.data ? list.data : "none");
    sked_i_buffer_free(&list);
    return st;
}

/* Validated once, drawn, written. The data is of this version. */
static sked_status write(const sked_i_report *r, const sked_report_data *data, const char *path,
                         sked_error *err)
{
    sked_status st = data->validated ? SKED_OK : sked_schedule_validate(data->problem, data->schedule, err);
    if (st != SKED_OK)
        return st;
    sked_i_buffer text = {0};
    st = r->write(data, &text, err);
    if (st == SKED_OK && text.failed)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = r->save ? sked_i_file_save(path, text.data, text.size, err)
                     : sked_i_file_write(path, text.data, text.size, err);
    sked_i_buffer_free(&text);
    return st;
}

/* Calls fn with data of whatever version as this one knows it. */
static sked_status with(const sked_report_data *data,
                        sked_status (*fn)(void *, const sked_report_data *, sked_error *), void *context,
                        sked_error *err)
{
    SKED_TAKE(sked_report_data, data)
    sked_report_data known = *data;
    const sked_problem *problem = data->problem;
    const sked_robust_result *robust = data->robust;
    const sked_sweep_result *sweep = data->sweep;
    SKED_TAKE_PROBLEM(problem)
    SKED_TAKE(sked_robust_result, robust)
    SKED_TAKE(sked_sweep_result, sweep)
    known.problem = problem;
    known.robust = data->robust ? robust : NULL;
    known.sweep = data->sweep ? sweep : NULL;
    return fn(context, &known, err);
}

typedef struct destination {
    const char *path, *format;
} destination;

static sked_status write_there(void *context, const sked_report_data *data, sked_error *err)
{
    const destination *to = context;
    const sked_i_report *r = to->format ? by_name(to->format) : by_extension(to->path);
    return r ? write(r, data, to->path, err) : no_report(to->path, to->format, err);
}

sked_status sked_report_write(const sked_report_data *data, const char *path, const char *format,
                              sked_error *err)
{
    return with(data, write_there, &(destination){path, format}, err);
}

static sked_status reach(void *page, const sked_report_data *data, sked_error *err)
{
    const sked_status st =
        data->validated ? SKED_OK : sked_schedule_validate(data->problem, data->schedule, err);
    return st == SKED_OK ? sked_i_svg_reach(page, data, err) : st;
}

static sked_status add(void *page, const sked_report_data *data, sked_error *err)
{
    return sked_i_svg_add(page, data, err);
}

sked_status sked_report_write_all(const sked_report_data *const *data, int32_t count, const char *path,
                                  sked_error *err)
{
    enum { most = 100 };
    const sked_i_report *const r = by_extension(path);
    sked_i_svg_page page = {.named = true};
    sked_i_buffer text = {0};
    sked_status st = SKED_OK;
    if (count < 1 || count > most || r == NULL || strcmp(r->info.name, "svg") != 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: 1 to %d schedules are drawn together as .svg", path,
                           most);
    for (int32_t k = 0; k < count && st == SKED_OK; k++)
        st = with(data[k], reach, &page, err);
    for (int32_t k = 0; k < count && st == SKED_OK; k++)
        st = with(data[k], add, &page, err);
    st = sked_i_svg_end(&page, st == SKED_OK ? sked_graph_name(data[0]->problem->graph) : "", st, &text, err);
    if (st == SKED_OK && text.failed)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = sked_i_file_write(path, text.data, text.size, err);
    sked_i_buffer_free(&text);
    return st;
}
