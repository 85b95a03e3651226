#include "formats/onnx_shapes.h"

#include "formats/durations.h"
#include "formats/onnx_operators.h"

#include <string.h>

typedef sked_i_onnx_tensor tensor;
typedef sked_i_onnx_call call;
typedef sked_i_onnx_scope scope;
typedef sked_i_onnx_shapes shapes;

enum { max_calls = 24 }; /* functions inside functions */

/* ------------------------------------------------------------------ scopes */

int32_t sked_i_onnx_scope_add(scope *s, const char *name)
{
    bool fresh = false;
    const int32_t i = sked_i_names_add(&s->names, name, strlen(name), &fresh);
    if (i < 0 || !SKED_GROW(s->tensor, s->cap, s->names.count))
        return -1;
    if (fresh)
        s->tensor[i] = (tensor){.rank = -1, .producer = -1};
    return i;
}

bool sked_i_onnx_scope_state(scope *s, Onnx__ValueInfoProto *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t t = sked_i_onnx_scope_add(s, list[i]->name ? list[i]->name : "");
        if (t < 0)
            return false;
        sked_i_onnx_from_type(list[i]->type, &s->tensor[t]);
    }
    return true;
}

/* A sparse one: its values name it, and its own dimensions are the shape. */
static void from_sparse(const Onnx__SparseTensorProto *weight, tensor *t)
{
    t->type = weight->values->data_type;
    t->value = NULL;
    sked_i_onnx_from_dims(weight->dims, weight->n_dims, t);
    t->stated = t->rank >= 0;
}

bool sked_i_onnx_scope_weights(scope *s, sked_i_onnx_arena *arena, const Onnx__GraphProto *g,
                               int32_t producer)
{
    for (size_t i = 0; i < g->n_initializer + g->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *sparse =
            i < g->n_initializer ? NULL : g->sparse_initializer[i - g->n_initializer];
        const Onnx__TensorProto *weight = sparse ? sparse->values : g->initializer[i];
        if (weight == NULL)
            continue;
        const int32_t t = sked_i_onnx_scope_add(s, weight->name ? weight->name : "");
        if (t < 0)
            return false;
        s->tensor[t].producer = producer;
        if (sparse != NULL)
            from_sparse(sparse, &s->tensor[t]);
        else
            sked_i_onnx_from_constant(weight, arena, &s->tensor[t]);
    }
    return true;
}

void sked_i_onnx_scope_free(scope *s)
{
    sked_i_names_free(&s->names);
    free(s->tensor);
}

/* The tensor of this name here or in a graph around; NULL: none. */
static tensor *find(const scope *s, const char *name)
{
    const size_t size = strlen(name);
    for (; size > 0 && s != NULL; s = s->outer) {
        const int32_t i = sked_i_names_find(&s->names, name, size);
        if (i >= 0)
            return &s->tensor[i];
    }
    return NULL;
}

/* ------------------------------------------------------------------ functions of the model */

static bool full_name(const char *domain, const char *name, sked_i_buffer *text)
{
    text->size = 0;
    sked_i_buffer_text(text, domain && strcmp(domain, "ai.onnx") != 0 ? domain : "");
    sked_i_buffer_char(text, '.');
    sked_i_buffer_text(text, name ? name : "");
    return !text->failed;
}

sked_status sked_i_onnx_shapes_begin(shapes *s, const Onnx__ModelProto *model, double size, sked_error *err)
{
    sked_i_buffer text = {0};
    *s = (shapes){.model = model, .budget = 1e5 + 16 * size};
    bool ok = sked_i_onnx_index_create(&s->operators);
    for (size_t i = 0; i < model->n_functions && ok; i++) {
        bool fresh = false;
        const Onnx__FunctionProto *f = model->functions[i];
        ok = full_name(f->domain, f->name, &text);
        const int32_t k = ok ? sked_i_names_add(&s->functions, text.data, (size_t)text.size, &fresh) : -1;
        ok = k >= 0 && SKED_GROW(s->function_at, s->function_cap, s->functions.count);
        if (ok && fresh)
            s->function_at[k] = (int32_t)i;
    }
    sked_i_buffer_free(&text);
    return ok ? SKED_OK : sked_i_no_memory(err);
}

void sked_i_onnx_shapes_free(shapes *s)
{
    sked_i_arena_free(&s->arena.chunks);
    sked_i_names_free(&s->operators.names);
    sked_i_names_free(&s->functions);
    free(s->function_at);
}

static const Onnx__FunctionProto *find_function(shapes *s, const Onnx__NodeProto *node)
{
    if (s->functions.count == 0)
        return NULL;
    sked_i_buffer text = {0};
    const bool ok = full_name(node->domain, node->op_type, &text);
    const int32_t k = ok ? sked_i_names_find(&s->functions, text.data, (size_t)text.size) : -1;
    s->no_memory = s->no_memory || !ok;
    sked_i_buffer_free(&text);
    return k >= 0 ? s->model->functions[s->function_at[k]] : NULL;
}

/* ------------------------------------------------------------------ bodies */

static double list_price(Onnx__ValueInfoProto *const *list, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += 1 + (list[i]->name ? (double)strlen(list[i]->name) : 0);
    return total;
}

/* What a graph inside states; its nodes are paid for when they are reached. */
static double graph_price(const Onnx__GraphProto *g)
{
    double total = list_price(g->input, g->n_input) + list_price(g->output, g->n_output) +
                   list_price(g->value_info, g->n_value_info);
    for (size_t i = 0; i < g->n_initializer; i++)
        total += 8 + (g->initializer[i]->name ? (double)strlen(g->initializer[i]->name) : 0);
    return total + 8 * (double)g->n_sparse_initializer + (double)g->n_node;
}

/* Inside a function every name and number is paid for: it may be walked again and again. */
static double price(const Onnx__NodeProto *node)
{
    double total = 1;
    for (size_t i = 0; i < node->n_input; i++)
        total += 1 + (double)strlen(node->input[i]);
    for (size_t i = 0; i < node->n_output; i++)
        total += 1 + (double)strlen(node->output[i]);
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *a = node->attribute[i];
        total += 1 + (double)(a->n_ints + a->n_floats + a->n_strings + (a->has_s ? a->s.len : 0));
        total += a->g ? graph_price(a->g) : 0;
    }
    return total;
}

/* Pays for all nodes before the first name of theirs is looked at again; false: it is not worth it. */
static bool pay(shapes *s, Onnx__NodeProto *const *node, size_t count)
{
    for (size_t i = 0; i < count && s->depth > 0 && s->budget > 0; i++)
        s->budget -= price(node[i]);
    return s->depth == 0 || s->budget > 0;
}

static double infer(shapes *s, scope *here, const call *caller, const Onnx__NodeProto *node);

/* The sum of what the nodes take; NAN: unknown. */
static double run_nodes(shapes *s, scope *inside, const call *caller, Onnx__NodeProto *const *node,
                        size_t count)
{
    double time = 0;
    if (!pay(s, node, count))
        return NAN;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < node[i]->n_output; k++)
            if (node[i]->output[k][0] && sked_i_onnx_scope_add(inside, node[i]->output[k]) < 0)
                s->no_memory = true;
    for (size_t i = 0; i < count && !s->no_memory; i++)
        time += infer(s, inside, caller, node[i]);
    return time;
}

/* Formal input `name` stands for `given`. */
static bool bind(scope *inside, const char *name, const tensor *given)
{
    const int32_t i = sked_i_onnx_scope_add(inside, name);
    if (i >= 0 && given != NULL && given->rank >= 0) {
        inside->tensor[i] = *given;
        inside->tensor[i].producer = -1;
    } else if (i >= 0 && given != NULL && inside->tensor[i].type == 0) {
        inside->tensor[i].type = given->type;
    }
    return i >= 0;
}

double sked_i_onnx_body(call *c, const Onnx__GraphProto *g, const tensor *const *given, size_t n_given,
                        tensor *result, size_t n_result)
{
    scope inside = {.outer = c->scope};
    bool ok = sked_i_onnx_scope_state(&inside, g->input, g->n_input) &&
              sked_i_onnx_scope_state(&inside, g->value_info, g->n_value_info) &&
              sked_i_onnx_scope_state(&inside, g->output, g->n_output) &&
              sked_i_onnx_scope_weights(&inside, &c->shapes->arena, g, -1);
    for (size_t k = 0; k < g->n_input && k < n_given && ok; k++)
        ok = bind(&inside, g->input[k]->name ? g->input[k]->name : "", given[k]);
    c->shapes->no_memory = c->shapes->no_memory || !ok;
    const double time = ok ? run_nodes(c->shapes, &inside, c->caller, g->node, g->n_node) : 0;
    for (size_t k = 0; k < n_result; k++) {
        const char *name = k < g->n_output ? g->output[k]->name : NULL;
        const tensor *t = name ? find(&inside, name) : NULL;
        const tensor *around = t != NULL && t->rank < 0 ? find(inside.outer, name) : NULL;
        t = around ? around : t; /* an output may be a tensor that was made outside */
        result[k] = t ? *t : (tensor){.rank = -1};
    }
    sked_i_onnx_scope_free(&inside);
    return time;
}

/* A call of one of the model's functions: its body sees its inputs only, and its caller's attributes. */
static void run_function(call *c, const Onnx__FunctionProto *f)
{
    shapes *s = c->shapes;
    scope inside = {0};
    bool ok = true;
    if (s->depth >= max_calls || s->budget <= 0)
        return;
    s->depth++;
    for (size_t k = 0; k < f->n_input && ok; k++)
        ok = bind(&inside, f->input[k], k < c->n_in ? c->in[k] : NULL);
    s->no_memory = s->no_memory || !ok;
    c->time = ok ? run_nodes(s, &inside, c, f->node, f->n_node) : NAN;
    for (size_t k = 0; k < f->n_output && k < c->n_out; k++) {
        const tensor *t = find(&inside, f->output[k]);
        c->out[k] = t ? *t : c->out[k];
    }
    sked_i_onnx_scope_free(&inside);
    s->depth--;
}

/* ------------------------------------------------------------------ one node */

static double cost(const call *c, const sked_i_onnx_operator *row)
{
    if (!isnan(c->time))
        return fmin(c->time, 0x1p53);
    if (row == NULL || c->n_out == 0)
        return 1;
    if (row->work == SKED_I_ONNX_FREE)
        return 0;
    double made = 0, read = 0;
    for (size_t i = 0; i < c->n_in; i++)
        read += c->in[i] ? sked_i_onnx_bytes(c->in[i]) : 0;
    for (size_t i = 0; i < c->n_out; i++)
        made += sked_i_onnx_bytes(&c->out[i]);
    const double moved = row->work == SKED_I_ONNX_COPY ? 2 * made : made + read;
    const double computed = isnan(c->flops) ? sked_i_onnx_elements(&c->out[0]) : c->flops;
    return isnan(computed) ? 1 : sked_i_duration_estimate(computed, moved);
}

/* The graph's tensor takes what a rule found; a shape that the file states stays. */
static void settle(const tensor *found, tensor *t)
{
    if (t->type == 0)
        t->type = found->type;
    if (!t->stated && found->rank >= 0) {
        t->rank = found->rank;
        memcpy(t->dim, found->dim, sizeof t->dim);
        t->sequence = found->sequence;
        t->items = found->items;
    }
    t->value = sked_i_onnx_elements(found) == sked_i_onnx_elements(t) ? found->value : NULL;
}

static void apply(call *c, const sked_i_onnx_operator *row)
{
    const Onnx__FunctionProto *function = find_function(c->shapes, c->node);
    if (function != NULL)
        run_function(c, function);
    else if (row != NULL && c->n_out > 0)
        row->rule(c);
    for (size_t k = 0; function == NULL && row != NULL && k < c->n_out; k++)
        if (c->out[k].type == 0)
            c->out[k].type = sked_i_onnx_output_type(c, row, k);
}

static double infer(shapes *s, scope *here, const call *caller, const Onnx__NodeProto *node)
{
    const sked_i_onnx_operator *row = sked_i_onnx_operator_find(&s->operators, node);
    const tensor **in = sked_i_alloc((int64_t)node->n_input, sizeof *in);
    tensor *out = sked_i_alloc((int64_t)node->n_output, sizeof *out);
    call c = {.shapes = s, .scope = here, .caller = caller, .node = node, .arena = &s->arena};
    double time = 1;
    if (in == NULL || out == NULL) {
        s->no_memory = true;
    } else {
        for (size_t k = 0; k < node->n_input; k++)
            in[k] = find(here, node->input[k]);
        for (size_t k = 0; k < node->n_output; k++)
            out[k] = (tensor){.rank = -1, .producer = -1};
        c.in = in, c.n_in = node->n_input, c.out = out, c.n_out = node->n_output;
        c.flops = c.time = NAN;
        apply(&c, row);
        for (size_t k = 0; k < node->n_output; k++) {
            const int32_t i = sked_i_names_find(&here->names, node->output[k], strlen(node->output[k]));
            if (i >= 0 && node->output[k][0])
                settle(&out[k], &here->tensor[i]);
            out[k] = i >= 0 ? here->tensor[i] : out[k]; /* what the file states counts in the cost too */
        }
        time = cost(&c, row);
        s->no_memory = s->no_memory || s->arena.no_memory;
    }
    free(in);
    free(out);
    return time;
}

double sked_i_onnx_infer(shapes *s, scope *here, const Onnx__NodeProto *node)
{
    return infer(s, here, NULL, node);
}
