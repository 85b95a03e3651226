/*
 * The TFLite model that was scheduled, with its operators in the order of the schedule and a plan of the
 * arena of TFLite Micro: docs/formats/tflite.md.
 */
#include "engine/pack/pack.h"
#include "formats/tflite.h"
#include "report/rewrite.h"

#include <math.h>
#include <string.h>

/* Bytes that TFLite Micro aligns tensors to; rounds of search, of which few are needed before the bound. */
enum { unit = 16, rounds = 1000 };

typedef struct planner {
    sked_i_arena arena;
    sked_i_tflite m;
    double *lower, *upper; /* [tensors] when it is held, operator k from k + 1 to k + 2; upper 0: never */
    int64_t *size;         /* in units */
    int32_t *offset;       /* [tensors] */
} planner;

static void hold(planner *p, int32_t t, int64_t from, int64_t to)
{
    const int32_t maker = t >= 0 ? p->m.tensor[t].maker : SKED_I_TFLITE_UNMADE;
    if (maker < 0 && maker != SKED_I_TFLITE_INPUT)
        return;
    if (p->upper[t] == 0)
        p->lower[t] = (double)from;
    p->upper[t] = (double)to;
}

/* As TFLite Micro has it: inputs of the model from the beginning, its results to the end. */
static sked_status find_lifetimes(planner *p, const int32_t *order, sked_error *err)
{
    sked_i_tflite *m = &p->m;
    sked_status st = SKED_OK;
    const int64_t n = m->operators.count;
    SKED_OWN0(&p->arena, p->lower, m->tensors.count);
    SKED_OWN0(&p->arena, p->upper, m->tensors.count);
    for (int64_t k = 0; k < m->inputs.count; k++)
        hold(p, sked_i_flat_int(&m->flat, m->inputs, k), 0, 1);
    for (int64_t k = 0; k < n; k++) {
        const sked_i_tflite_operator o = sked_i_tflite_operator_at(m, order[k]);
        for (int64_t j = 0; j < o.outputs.count; j++)
            hold(p, sked_i_flat_int(&m->flat, o.outputs, j), k + 1, k + 2);
        for (int64_t j = 0; j < o.inputs.count; j++)
            hold(p, sked_i_flat_int(&m->flat, o.inputs, j), k + 1, k + 2);
    }
    for (int64_t k = 0; k < m->outputs.count; k++)
        hold(p, sked_i_flat_int(&m->flat, m->outputs, k), n + 1, n + 2);
    st = m->flat.status;
cleanup:
    return st;
}

/* What has a place in the arena, one behind the other; offset[t]: its number, -1 where t has none. */
static int64_t gather(planner *p)
{
    int64_t count = 0;
    for (int64_t t = 0; t < p->m.tensors.count; t++) {
        p->offset[t] = p->upper[t] > 0 && p->m.tensor[t].bytes > 0 ? (int32_t)count : -1;
        if (p->offset[t] < 0)
            continue;
        p->lower[count] = p->lower[t]; /* count <= t */
        p->upper[count] = p->upper[t];
        p->size[count++] = (int64_t)ceil(p->m.tensor[t].bytes / unit);
    }
    return count;
}

/* Lays the tensors out for an order. *height: of the arena, in bytes. */
static sked_status place(planner *p, const int32_t *order, double *height, sked_error *err)
{
    const int64_t n = p->m.tensors.count;
    const sked_i_pack_effort effort = {.capacity = -1, .threads = 1, .iterations = rounds};
    sked_status st = SKED_OK;
    int64_t *found;
    sked_i_packing packing;
    SKED_TRY(find_lifetimes(p, order, err));
    SKED_OWN(&p->arena, p->size, n);
    SKED_OWN(&p->arena, p->offset, n);
    SKED_OWN(&p->arena, found, n);
    const sked_i_pack_buffers buffers = {gather(p), p->lower, p->upper, p->size, NULL, NULL};
    SKED_TRY(sked_i_pack(&buffers, &effort, found, &packing, err));
    *height = unit * (double)packing.height;
    for (int64_t t = 0; *height <= INT32_MAX && t < n; t++)
        if (p->offset[t] >= 0)
            p->offset[t] = (int32_t)(unit * found[p->offset[t]]);
cleanup:
    return st;
}

static sked_status plan(planner *p, const sked_i_rewrite *model, double arena[2], sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *same;
    SKED_TRY(sked_i_tflite_open(&model->source, &p->arena, &p->m, err));
    SKED_OWN(&p->arena, same, p->m.operators.count);
    for (int32_t k = 0; k < p->m.operators.count; k++)
        same[k] = k;
    SKED_TRY(place(p, same, &arena[1], err));
    SKED_TRY(place(p, model->order, &arena[0], err));
    if (arena[0] > INT32_MAX)
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%s: its tensors need an arena of 2 GiB or more",
                         model->source.name);
cleanup:
    return st;
}

static sked_status tflite_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    planner p = {0};
    sked_i_rewrite model;
    double arena[2];
    sked_status st = sked_i_rewrite_begin(data, "tflite", &model, err);
    if (st == SKED_OK)
        st = plan(&p, &model, arena, err);
    if (st == SKED_OK)
        st = sked_i_tflite_write(&p.m, model.order, p.offset, out, err);
    if (st == SKED_OK && data->arena != NULL)
        memcpy(data->arena, arena, sizeof arena);
    sked_i_arena_free(&p.arena);
    sked_i_rewrite_free(&model);
    return st;
}

const sked_i_report sked_i_report_tflite = {
    {"tflite", ".tflite",
     "TFLite model that was read, in the order of the schedule, with a plan of its arena"},
    tflite_write,
    true};
