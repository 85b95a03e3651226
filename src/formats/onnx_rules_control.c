/*
 * Shape rules: sequences, optional values, graphs inside nodes. A sequence is known by its length and one
 * shape that holds all its tensors.
 */
#include "formats/onnx_operators.h"
#include "formats/onnx_shapes.h"

#include <string.h>

typedef sked_i_onnx_tensor tensor;
typedef sked_i_onnx_call call;
enum { max_rank = sked_i_onnx_max_rank };

/* A shape that holds both: the larger of each dimension; unknown where the ranks differ. */
static void cover(tensor *a, const tensor *b)
{
    if (a->rank != b->rank)
        a->rank = -1;
    for (int i = 0; i < a->rank; i++)
        a->dim[i] = a->dim[i] > b->dim[i] ? a->dim[i] : b->dim[i];
}

static void make_sequence(tensor *t, const tensor *element, double items)
{
    sked_i_onnx_copy(element, t);
    t->sequence = true;
    t->items = items >= 0 && items <= 0x1p40 ? (int64_t)items : 1;
}

/* ------------------------------------------------------------------ sequences */

void sked_i_onnx_rule_sequence_empty(call *c)
{
    const int64_t type = sked_i_onnx_int(c, "dtype", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    const tensor scalar = {.rank = 0};
    make_sequence(&c->out[0], &scalar, 0);
    c->out[0].type = type > 0 && type < 100 ? (int32_t)type : 0;
}

void sked_i_onnx_rule_sequence_construct(call *c)
{
    const tensor *first = sked_i_onnx_shaped(c, 0, 0);
    if (first == NULL)
        return;
    tensor all = *first;
    for (size_t k = 1; k < c->n_in; k++)
        cover(&all, c->in[k] ? c->in[k] : &(tensor){.rank = -1});
    make_sequence(&c->out[0], &all, (double)c->n_in);
}

/* An empty sequence takes the shape of what comes into it. */
void sked_i_onnx_rule_sequence_insert(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0), *more = sked_i_onnx_shaped(c, 1, 0);
    if (x == NULL || more == NULL)
        return;
    tensor all = x->items > 0 ? *x : *more;
    cover(&all, more);
    make_sequence(&c->out[0], &all, (double)x->items + 1);
}

void sked_i_onnx_rule_sequence_erase(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    if (x != NULL)
        make_sequence(&c->out[0], x, x->items > 0 ? (double)x->items - 1 : 0);
}

void sked_i_onnx_rule_sequence_at(call *c)
{
    sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[0]);
    c->out[0].sequence = false;
}

void sked_i_onnx_rule_sequence_length(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    sked_i_onnx_clear(&c->out[0]);
    double *y = x && x->sequence ? sked_i_onnx_fold(c) : NULL;
    if (y != NULL)
        y[0] = (double)x->items;
}

/* Pieces of the given sizes, or of one size; without keepdims each piece is one slice. */
void sked_i_onnx_rule_split_to_sequence(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 1), *by = sked_i_onnx_in(c, 1);
    const int axis = sked_i_onnx_axis_of(c, x, 0);
    int n = 0;
    const double *sizes = sked_i_onnx_values(c, 1, &n);
    if (axis < 0 || (by != NULL && sizes == NULL))
        return;
    const double all = (double)x->dim[axis];
    double size = 1, count = all;
    if (by != NULL && by->rank == 0) {
        size = n == 1 && sizes[0] >= 1 ? fmin(sizes[0], all) : 1;
        count = size > 0 ? ceil(all / size) : 0;
    } else if (by != NULL) {
        count = n;
        for (int i = 0; i < n; i++)
            size = fmax(i == 0 ? 0 : size, fmin(sizes[i], all));
    }
    const bool drop = by == NULL && !sked_i_onnx_int(c, "keepdims", 1);
    tensor piece = {.rank = 0};
    sked_i_onnx_splice(x, axis, 1, drop ? 0 : 1, &size, &piece);
    make_sequence(&c->out[0], &piece, count);
}

void sked_i_onnx_rule_concat_from_sequence(call *c)
{
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    const bool stack = sked_i_onnx_int(c, "new_axis", 0) != 0;
    const int rank = x ? x->rank + (stack ? 1 : 0) : 0;
    const int axis = x ? sked_i_onnx_axis((double)sked_i_onnx_int(c, "axis", 0), rank) : -1;
    if (axis < 0)
        return;
    const double items = x->sequence ? (double)x->items : 1, own = stack ? 1 : (double)x->dim[axis];
    sked_i_onnx_splice(x, axis, stack ? 0 : 1, 1, &(double){own * items}, &c->out[0]);
}

/* ------------------------------------------------------------------ optional values */

/* Optional and OptionalGetElement: what is inside; an empty one states its type. */
void sked_i_onnx_rule_optional(call *c)
{
    const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, "type");
    if (sked_i_onnx_in(c, 0) != NULL)
        sked_i_onnx_copy(sked_i_onnx_in(c, 0), &c->out[0]);
    else if (a != NULL)
        sked_i_onnx_from_type(a->tp, &c->out[0]);
}

void sked_i_onnx_rule_has_element(call *c)
{
    sked_i_onnx_clear(&c->out[0]);
}

/* ------------------------------------------------------------------ graphs inside */

/* A graph inside the node, and room for what goes in and comes out. */
typedef struct body {
    sked_i_arena arena;
    const Onnx__GraphProto *graph;
    tensor *formal, *result; /* [n_input] of unknown shape, [n_output] */
    const tensor **given;    /* [n_input] pointers to formal */
} body;

/* The graph of this attribute; false: there is none, or out of memory. */
static bool open_body(call *c, const char *name, body *b)
{
    const Onnx__AttributeProto *a = sked_i_onnx_attribute(c, name);
    if (a == NULL || a->g == NULL)
        return false;
    *b = (body){.graph = a->g};
    b->result = sked_i_arena_alloc(&b->arena, (int64_t)a->g->n_output, sizeof *b->result);
    b->formal = sked_i_arena_alloc(&b->arena, (int64_t)a->g->n_input, sizeof *b->formal);
    b->given = sked_i_arena_alloc(&b->arena, (int64_t)a->g->n_input, sizeof *b->given);
    if (b->result == NULL || b->formal == NULL || b->given == NULL) {
        c->shapes->no_memory = true;
        sked_i_arena_free(&b->arena);
        return false;
    }
    for (size_t k = 0; k < a->g->n_input; k++) {
        b->formal[k] = (tensor){.rank = -1, .producer = -1};
        b->given[k] = &b->formal[k];
    }
    return true;
}

/* Infers it; the time it takes. */
static double run_body(call *c, const body *b)
{
    return sked_i_onnx_body(c, b->graph, b->given, b->graph->n_input, b->result, b->graph->n_output);
}

/* A known condition chooses; else each output is the larger of the two. */
static void take_branch(call *c, const char *name, bool only)
{
    body b;
    if (!open_body(c, name, &b))
        return;
    const double time = sked_i_onnx_body(c, b.graph, NULL, 0, b.result, b.graph->n_output);
    c->time = isnan(c->time) || only || time > c->time ? time : c->time;
    for (size_t k = 0; k < c->n_out && k < b.graph->n_output; k++)
        if (only || c->out[k].rank < 0 || sked_i_onnx_bytes(&b.result[k]) > sked_i_onnx_bytes(&c->out[k])) {
            c->out[k] = b.result[k];
            c->out[k].value = only ? b.result[k].value : NULL;
        }
    sked_i_arena_free(&b.arena);
}

void sked_i_onnx_rule_branch(call *c)
{
    const double choice = sked_i_onnx_scalar(c, 0, NAN);
    if (isnan(choice) || choice != 0)
        take_branch(c, "then_branch", !isnan(choice));
    if (isnan(choice) || choice == 0)
        take_branch(c, "else_branch", !isnan(choice));
}

/* What comes into the body of a loop: shapes only, as values change from turn to turn. */
static void pass(const tensor *t, tensor *formal)
{
    if (t != NULL)
        *formal = *t;
    formal->value = NULL;
    formal->stated = false;
}

/* out is `element` with a dimension of `count` before dimension `axis`. */
static void stack(const tensor *element, double axis, double count, tensor *out)
{
    out->type = element->type;
    const int at = element->rank < 0 ? -1 : sked_i_onnx_axis(axis, element->rank + 1);
    if (at >= 0)
        sked_i_onnx_splice(element, at, 0, 1, &count, out);
}

/* What a loop carries has the shape that a turn makes, or where that is unknown the one it began with. */
static void carry(const tensor *initial, const tensor *made, tensor *out)
{
    const tensor *t = made->rank >= 0 || initial == NULL ? made : initial;
    *out = *t;
    out->value = NULL;
}

/* Inputs: trips, condition, carried...; body: turn, condition, carried... -> condition, carried...,
 * stacked... */
void sked_i_onnx_rule_loop(call *c)
{
    body b;
    if (!open_body(c, "body", &b))
        return;
    const double trips = fmax(0, sked_i_onnx_scalar(c, 0, 1)); /* symbolic: 1 */
    for (size_t k = 0; k < b.graph->n_input; k++) {
        pass(k >= 2 ? sked_i_onnx_in(c, k) : NULL, &b.formal[k]);
        b.formal[k].rank = k < 2 ? 0 : b.formal[k].rank;
        b.formal[k].type = k == 0   ? ONNX__TENSOR_PROTO__DATA_TYPE__INT64
                           : k == 1 ? ONNX__TENSOR_PROTO__DATA_TYPE__BOOL
                                    : b.formal[k].type;
    }
    const size_t carried = c->n_in > 2 ? c->n_in - 2 : 0;
    c->time = run_body(c, &b) * trips;
    for (size_t k = 0; k < c->n_out && k + 1 < b.graph->n_output; k++)
        if (k < carried)
            carry(sked_i_onnx_in(c, k + 2), &b.result[k + 1], &c->out[k]);
        else
            stack(&b.result[k + 1], 0, trips, &c->out[k]);
    sked_i_arena_free(&b.arena);
}

/* The slice of scan input t that a turn sees; its axis has *trips entries. */
static void take_slice(const tensor *t, double axis, tensor *formal, double *trips)
{
    const int at = sked_i_onnx_known(t) ? sked_i_onnx_axis(axis, t->rank) : -1;
    pass(t, formal);
    formal->rank = -1;
    if (at < 0)
        return;
    *trips = (double)t->dim[at];
    sked_i_onnx_splice(t, at, 1, 0, NULL, formal);
}

/* Inputs: states..., scanned...; body: states..., slices... -> states..., slices of the outputs... */
void sked_i_onnx_rule_scan(call *c)
{
    body b;
    const int64_t scanned = sked_i_onnx_int(c, "num_scan_inputs", 0);
    const Onnx__AttributeProto *in_axes = sked_i_onnx_attribute(c, "scan_input_axes");
    const Onnx__AttributeProto *out_axes = sked_i_onnx_attribute(c, "scan_output_axes");
    if (scanned < 0 || (uint64_t)scanned > c->n_in || !open_body(c, "body", &b))
        return;
    const size_t states = c->n_in - (size_t)scanned;
    if (b.graph->n_input == c->n_in) { /* operator set 8 had one input more */
        double trips = 1;
        for (size_t k = 0; k < c->n_in; k++)
            if (k < states)
                pass(c->in[k], &b.formal[k]);
            else
                take_slice(c->in[k], sked_i_onnx_list_at(in_axes, k - states, 0), &b.formal[k], &trips);
        c->time = run_body(c, &b) * trips;
        for (size_t k = 0; k < c->n_out && k < b.graph->n_output; k++)
            if (k < states)
                carry(c->in[k], &b.result[k], &c->out[k]);
            else
                stack(&b.result[k], sked_i_onnx_list_at(out_axes, k - states, 0), trips, &c->out[k]);
    }
    sked_i_arena_free(&b.arena);
}

/* Every output is a sequence as long as the first input. */
void sked_i_onnx_rule_sequence_map(call *c)
{
    body b;
    const tensor *x = sked_i_onnx_shaped(c, 0, 0);
    if (x == NULL || !open_body(c, "body", &b))
        return;
    const double items = x->sequence ? (double)x->items : 1;
    for (size_t k = 0; k < b.graph->n_input; k++) {
        pass(sked_i_onnx_in(c, k), &b.formal[k]);
        b.formal[k].sequence = false;
    }
    c->time = items * run_body(c, &b);
    for (size_t k = 0; k < c->n_out && k < b.graph->n_output; k++) {
        make_sequence(&c->out[k], &b.result[k], items);
        c->out[k].type = b.result[k].type;
    }
    sked_i_arena_free(&b.arena);
}
