#include "method/record.h"

#include "base/file.h"
#include "base/memory.h"

#include <string.h>

enum { max_steps = 1024, max_ops = 64 };

static bool ends_in(const char *path, const char *extension)
{
    const size_t n = strlen(path), k = strlen(extension);
    return n >= k && strcmp(path + n - k, extension) == 0;
}

sked_status sked_i_recording_create(const char *path, const sked_problem *p, sked_i_recording **out,
                                    sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = sked_graph_op_count(p->graph);
    sked_i_recording *r = NULL;
    if (!ends_in(path, ".jsonl") && !ends_in(path, ".svg"))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%.200s: a descent is written as .jsonl or .svg", path);
    SKED_NEW0(r, 1);
    r->problem = p;
    r->ops = n < max_ops ? n : max_ops;
    r->stride = 1;
    SKED_NEW(r->op, max_ops);
    SKED_NEW(r->steps, max_steps);
    SKED_NEW(r->mean, max_steps * max_ops);
    SKED_NEW(r->spread, max_steps * max_ops);
    for (int32_t k = 0; k < r->ops; k++)
        r->op[k] = (int32_t)((int64_t)k * n / r->ops);
    *out = r;
    r = NULL;
cleanup:
    sked_i_recording_destroy(r);
    return st;
}

void sked_i_recording_destroy(sked_i_recording *r)
{
    if (r == NULL)
        return;
    free(r->op);
    free(r->steps);
    free(r->mean);
    free(r->spread);
    free(r);
}

/* Every second step goes. */
static void thin(sked_i_recording *r)
{
    const size_t row = (size_t)r->ops;
    for (int k = 0; k < r->count / 2; k++) {
        const size_t to = (size_t)k * row, from = 2 * to;
        r->steps[k] = r->steps[2 * k];
        r->steps[k].restart = r->steps[2 * k].restart || (k > 0 && r->steps[2 * k - 1].restart);
        memmove(r->mean + to, r->mean + from, row * sizeof *r->mean);
        memmove(r->spread + to, r->spread + from, row * sizeof *r->spread);
    }
    r->count /= 2;
    r->stride *= 2;
}

void sked_i_recording_keep(sked_i_recording *r, const sked_i_record_step *step, const double *mean,
                           const double *spread)
{
    if (step->step % r->stride != 0 && !step->restart)
        return;
    if (r->count == max_steps)
        thin(r);
    const size_t first = (size_t)r->count * (size_t)r->ops;
    r->steps[r->count++] = *step;
    for (int32_t k = 0; k < r->ops; k++) {
        r->mean[first + (size_t)k] = mean[r->op[k]];
        r->spread[first + (size_t)k] = spread[r->op[k]];
    }
}

/* ------------------------------------------------------------------ JSON lines */

static void add_number(sked_i_buffer *b, double x)
{
    if (isfinite(x))
        sked_i_buffer_number(b, x);
    else
        sked_i_buffer_text(b, "null");
}

static void add_field(sked_i_buffer *b, const char *key, double x)
{
    sked_i_buffer_format(b, ", \"%s\": ", key);
    add_number(b, x);
}

static void add_column(sked_i_buffer *b, const char *key, const double *x, int32_t n)
{
    sked_i_buffer_format(b, ", \"%s\": [", key);
    for (int32_t k = 0; k < n; k++) {
        sked_i_buffer_text(b, k > 0 ? ", " : "");
        add_number(b, round(1e6 * x[k]) / 1e6);
    }
    sked_i_buffer_char(b, ']');
}

static void add_step(sked_i_buffer *b, const sked_i_recording *r, int k)
{
    static const char *const rules[SKED_I_RECORD_RULES] = {"dependencies", "recurrences", "latency",
                                                           "capacities"};
    const sked_i_record_step *t = &r->steps[k];
    const size_t first = (size_t)k * (size_t)r->ops;
    sked_i_buffer_format(b, "{\"step\": %lld, \"restart\": %s", (long long)t->step,
                         t->restart ? "true" : "false");
    add_field(b, "objective", t->objective);
    add_field(b, "best", t->best);
    for (int v = 0; v < SKED_I_RECORD_RULES; v++)
        add_field(b, rules[v], t->violation[v]);
    add_column(b, "mean", r->mean + first, r->ops);
    add_column(b, "spread", r->spread + first, r->ops);
    sked_i_buffer_text(b, "}\n");
}

/* The first line names the ops, then one line a step. */
static void add_lines(const sked_i_recording *r, sked_i_buffer *b)
{
    const sked_graph *g = r->problem->graph;
    char name[300];
    sked_i_buffer_text(b, "{\"graph\": ");
    sked_i_buffer_json(b, sked_graph_name(g));
    sked_i_buffer_text(b, ", \"objective\": ");
    sked_i_buffer_json(b, sked_objective_name(r->problem->objective));
    sked_i_buffer_text(b, ", \"ops\": [");
    for (int32_t k = 0; k < r->ops; k++) {
        sked_i_buffer_text(b, k > 0 ? ", " : "");
        sked_i_buffer_json(b, sked_graph_op_name(g, r->op[k], name, sizeof name));
    }
    sked_i_buffer_text(b, "]}\n");
    for (int k = 0; k < r->count; k++)
        add_step(b, r, k);
}

sked_status sked_i_recording_write(const sked_i_recording *r, const char *path, bool *written,
                                   sked_error *err)
{
    sked_i_buffer text = {0};
    *written = r->count > 0 && r->ops > 0;
    if (!*written)
        return SKED_OK;
    if (ends_in(path, ".svg"))
        sked_i_recording_draw(r, &text);
    else
        add_lines(r, &text);
    const sked_status st =
        text.failed ? sked_i_no_memory(err) : sked_i_file_write(path, text.data, text.size, err);
    sked_i_buffer_free(&text);
    return st;
}
