#include "schedule/value_curve.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/sized.h"

#include <assert.h>
#include <stdio.h>

static const double apart = 1e-3; /* of the time: closer points are one */

/* Is the schedule of a better than that of b? The interval counts first. */
static bool precedes(const sked_curve_point *a, const sked_curve_point *b)
{
    if (isinf(a->value) || isinf(b->value))
        return a->value < b->value;
    return a->ii != b->ii ? a->ii < b->ii : a->value < b->value;
}

/* What is worse than before stays as it was: bounds and counts never fall, schedules never get worse. */
static void append(sked_i_value_curve *c, sked_curve_point p)
{
    if (p.method[0] == 0 && c->method != NULL)
        snprintf(p.method, sizeof p.method, "%s", c->method);
    p.bound = fmax(p.bound, c->bound);
    const sked_curve_point *last = c->count > 0 ? &c->point[c->count - 1] : NULL;
    if (last != NULL && !precedes(&p, last)) {
        if (!(p.bound > last->bound))
            return;
        p.value = last->value;
        p.ii = last->ii;
    }
    if (last != NULL) {
        p.bound = fmax(p.bound, last->bound);
        p.evaluations = p.evaluations > last->evaluations ? p.evaluations : last->evaluations;
    }
    if (c->count > 1 && p.seconds < (1 + apart) * c->point[c->count - 2].seconds)
        c->count--;
    else if (!SKED_GROW(c->point, c->capacity, c->count + 1)) {
        c->failed = true;
        return;
    }
    c->point[c->count++] = p;
}

void sked_i_value_curve_note(sked_i_value_curve *c, const sked_curve_point *now)
{
    sked_curve_point p = *now;
    p.seconds = sked_clock() - c->begin;
    p.evaluations += c->before;
    append(c, p);
}

/* A thread's value as the validated incumbent allows it: never better, and equal but for rounding is equal.
 */
static double admit(const sked_curve_point *p, const sked_curve_point *best)
{
    if (!precedes(p, best))
        return p->value;
    return p->ii == best->ii && best->value - p->value <= 1e-9 * fabs(best->value) ? best->value : INFINITY;
}

void sked_i_value_curve_merge(sked_i_value_curve *c, sked_i_value_curve *thread, const sked_curve_point *best)
{
    c->failed = c->failed || thread->failed;
    if (thread->count == 0)
        return;
    sked_i_value_curve all = *c;
    all.point = NULL;
    all.count = all.capacity = 0;
    for (int64_t i = 0, k = 0; i < c->count || k < thread->count;) {
        const bool own =
            k == thread->count || (i < c->count && c->point[i].seconds <= thread->point[k].seconds);
        sked_curve_point p = own ? c->point[i++] : thread->point[k++];
        if (!own)
            p.value = admit(&p, best);
        append(&all, p);
    }
    thread->count = 0;
    free(c->point);
    *c = all;
}

sked_status sked_i_value_curve_give(sked_i_value_curve *c, sked_result *r, sked_error *err)
{
    sked_curve_point **rows = sked_i_alloc(c->count, sizeof *rows);
    assert(r->n_curve == 0);
    if (rows == NULL || c->failed || c->count > INT32_MAX) {
        free(rows);
        return sked_i_no_memory(err);
    }
    for (int64_t i = 0; i < c->count; i++)
        rows[i] = &c->point[i];
    r->curve = rows;
    r->n_curve = (int32_t)c->count;
    if (c->count > 0) { /* they go with the first */
        c->point = NULL;
        c->count = c->capacity = 0;
    }
    return SKED_OK;
}

void sked_i_value_curve_take(sked_i_value_curve *c, sked_result *r)
{
    *c = (sked_i_value_curve){0};
    if (r->n_curve > 0)
        c->point = r->curve[0];
    c->count = c->capacity = r->n_curve;
    free(r->curve);
    r->curve = NULL;
    r->n_curve = 0;
}

void sked_i_value_curve_free(sked_i_value_curve *c)
{
    free(c->point);
    *c = (sked_i_value_curve){0};
}

/* ------------------------------------------------------------------ as JSON lines */

static void add_number(sked_i_buffer *b, const char *key, double x)
{
    sked_i_buffer_format(b, ", \"%s\": ", key);
    if (isfinite(x))
        sked_i_buffer_number(b, x);
    else
        sked_i_buffer_text(b, "null");
}

static void add_line(sked_i_buffer *b, const sked_curve_point *p)
{
    sked_i_buffer_text(b, "{\"seconds\": ");
    sked_i_buffer_number(b, round(1e6 * p->seconds) / 1e6);
    sked_i_buffer_format(b, ", \"evaluations\": %lld", (long long)p->evaluations);
    add_number(b, "value", p->value);
    add_number(b, "bound", p->bound);
    if (p->ii > 0)
        add_number(b, "ii", p->ii);
    sked_i_buffer_text(b, ", \"method\": ");
    sked_i_buffer_json(b, p->method);
    sked_i_buffer_text(b, "}\n");
}

sked_status sked_curve_write(const sked_result *r, const char *path, sked_error *err)
{
    sked_i_buffer text = {0};
    SKED_TAKE(sked_result, r)
    for (int32_t i = 0; i < r->n_curve; i++)
        add_line(&text, r->curve[i]);
    const sked_status st = text.failed
                               ? sked_i_no_memory(err)
                               : sked_i_file_write(path, text.data != NULL ? text.data : "", text.size, err);
    sked_i_buffer_free(&text);
    return st;
}
