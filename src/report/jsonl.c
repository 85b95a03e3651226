/* Several schedules in one file, one object a line. */
#include "formats/format.h"
#include "report/report.h"

/* Line breaks only ever stand between values (inside strings they are escaped): they become spaces. */
static void flatten(char *text, int64_t size)
{
    for (int64_t i = 0; i < size; i++)
        if (text[i] == '\n')
            text[i] = ' ';
}

/* One schedule as one line; `more` (",\"key\":value" or "") goes before the closing brace. */
static sked_status add_line(const sked_problem *p, const sked_schedule *s, const char *more,
                            sked_i_buffer *all, sked_error *err)
{
    sked_i_buffer one = {0};
    sked_status st = sked_schedule_validate(p, s, err);
    if (st == SKED_OK)
        st = sked_i_schedule_write(p->graph, s, &one, err);
    while (st == SKED_OK && one.size > 0 && one.data[one.size - 1] != '}')
        one.size--;
    if (st == SKED_OK && one.size > 0) {
        flatten(one.data, one.size);
        sked_i_buffer_add(all, one.data, (size_t)one.size - 1);
        sked_i_buffer_text(all, more);
        sked_i_buffer_text(all, "}\n");
    }
    sked_i_buffer_free(&one);
    return st;
}

static sked_status write_lines(sked_i_buffer *all, sked_status st, const char *path, sked_error *err)
{
    if (st == SKED_OK && all->failed)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = sked_i_file_write(path, all->data ? all->data : "", all->size, err);
    sked_i_buffer_free(all);
    return st;
}

sked_status sked_schedules_write(const sked_problem *p, const sked_schedule *const *s, int32_t count,
                                 const char *path, sked_error *err)
{
    sked_i_buffer all = {0};
    sked_status st = SKED_OK;
    for (int32_t k = 0; st == SKED_OK && k < count; k++)
        st = add_line(p, s[k], "", &all, err);
    return write_lines(&all, st, path, err);
}

static int32_t best_of(const sked_samples *s)
{
    int32_t best = 0;
    for (int32_t k = 1; k < s->count; k++)
        best = s->makespan[k] < s->makespan[best] ? k : best;
    return best;
}

static void add_field(sked_i_buffer *out, const char *name, double x)
{
    sked_i_buffer_format(out, ",\"%s\":", name);
    sked_i_buffer_number(out, x);
}

sked_status sked_samples_write(const sked_samples *s, const sked_problem *p, double temperature,
                               const char *path, sked_error *err)
{
    sked_i_buffer all = {0}, more = {0};
    sked_status st = SKED_OK;
    const int32_t best = best_of(s);
    for (int32_t k = 0; st == SKED_OK && k < s->count; k++) {
        const sked_schedule *pair[2] = {s->schedule[best], s->schedule[k]};
        sked_diversity d;
        st = sked_schedules_diversity(p, pair, 2, &d, err);
        if (st != SKED_OK)
            break;
        more.size = 0;
        add_field(&more, "log_prob", s->log_prob[k]);
        add_field(&more, "proxy_makespan", s->makespan[k]);
        add_field(&more, "temperature", temperature);
        add_field(&more, "ged", d.ged);
        add_field(&more, "d_inv", d.d_inv);
        add_field(&more, "d_sen", d.d_sen);
        st = more.failed ? sked_i_no_memory(err) : add_line(p, s->schedule[k], more.data, &all, err);
    }
    sked_i_buffer_free(&more);
    return write_lines(&all, st, path, err);
}
