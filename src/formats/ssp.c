/* Instances of CIRCT's static scheduling problems as graphs, with their start times: docs/formats/ssp.md. */
#include "formats/ssp.h"

#include "formats/ssp_text.h"

#include <math.h>
#include <string.h>

/* Properties that a class does not know say nothing in it. */
static const struct problem_class {
    const char *name;
    bool cyclic, shared, chaining;
} classes[] = {
    {"Problem", false, false, false},
    {"CyclicProblem", true, false, false},
    {"SharedOperatorsProblem", false, true, false},
    {"SharedResourcesProblem", false, true, false},
    {"SharedPipelinedOperatorsProblem", false, true, false},
    {"ModuloProblem", true, true, false},
    {"ChainingProblem", false, false, true},
    {"ChainingCyclicProblem", true, false, true},
    {"ChainingSharedOperatorsProblem", false, true, true},
    {"ChainingSharedResourcesProblem", false, true, true},
    {"ChainingModuloProblem", true, true, true},
};
enum { n_classes = sizeof classes / sizeof *classes };

/* ------------------------------------------------------------------ which instance */

/* By name, or else by number from 1. NULL: none. */
static const sked_i_ssp_instance *find_instance(const sked_i_ssp_text *r, const char *wanted)
{
    int64_t number = 0;
    for (int64_t i = 0; i < r->instances; i++)
        if (r->instance[i].name >= 0 && strcmp(sked_i_names_at(&r->names, r->instance[i].name), wanted) == 0)
            return &r->instance[i];
    return sked_i_parse_int(wanted, strlen(wanted), 1, r->instances, &number) ? &r->instance[number - 1]
                                                                              : NULL;
}

/* The names of the file's instances, numbers where they have none. */
static void list_instances(const sked_i_ssp_text *r, sked_i_buffer *out)
{
    for (int64_t i = 0; i < r->instances && out->size < 600; i++) {
        sked_i_buffer_text(out, i > 0 ? ", " : "");
        if (out->size > 500)
            sked_i_buffer_text(out, "...");
        else if (r->instance[i].name >= 0)
            sked_i_buffer_text(out, sked_i_quoted_text(sked_i_names_at(&r->names, r->instance[i].name)).text);
        else
            sked_i_buffer_int(out, i + 1);
        if (out->size > 500)
            break;
    }
}

static sked_status choose_instance(const sked_i_ssp_text *r, const char *wanted,
                                   const sked_i_ssp_instance **out)
{
    *out = wanted ? find_instance(r, wanted) : r->instances == 1 ? &r->instance[0] : NULL;
    if (*out != NULL)
        return SKED_OK;
    sked_i_buffer list = {0};
    list_instances(r, &list);
    sked_status st;
    if (list.failed)
        st = sked_i_no_memory(r->err);
    else if (wanted != NULL)
        st = sked_i_source_refuse(r->source, NULL, SKED_ERR_ARGUMENT, r->err,
                                  "no instance is called '%s'; the file has: %s",
                                  sked_i_quoted_text(wanted).text, list.data);
    else
        st = sked_i_source_refuse(r->source, NULL, SKED_ERR_UNSUPPORTED, r->err,
                                  "the file has %lld instances; choose one (--instance NAME): %s",
                                  (long long)r->instances, list.data);
    sked_i_buffer_free(&list);
    return st;
}

/* ------------------------------------------------------------------ the graph */

typedef struct build {
    sked_i_ssp_text *r;
    const sked_i_ssp_instance *in;
    const struct problem_class *class;
    sked_builder *b;
    sked_i_arena arena;
    sked_i_names types; /* names of operator types so far */
    int32_t *op_of;     /* [names] op with this symbol or result, -1 */
    int32_t *type_name; /* [operators] number in types, -1: not seen yet */
    int32_t *pool;      /* [resources], then [operators]: pool, -1 */
} build;

static sked_status find_class(build *x)
{
    const char *names[n_classes], *wanted = sked_i_names_at(&x->r->names, x->in->class_name);
    char hint[160];
    for (int i = 0; i < n_classes; i++) {
        names[i] = classes[i].name;
        if (strcmp(names[i], wanted) == 0)
            return x->class = &classes[i], SKED_OK;
    }
    return sked_i_source_refuse(x->r->source, x->in->at, SKED_ERR_UNSUPPORTED, x->r->err,
                                "'%s' is no class of problems that sked knows%s",
                                sked_i_quoted_text(wanted).text,
                                sked_suggest(wanted, names, n_classes, hint, sizeof hint));
}

/* The type at path `ref` in a scope, -1: none there. */
static int32_t look_in(build *x, const sked_i_ssp_kinds *k, const char *scope, size_t size, const char *ref)
{
    sked_i_buffer *text = &x->r->text;
    text->size = 0;
    sked_i_buffer_add(text, scope, size);
    sked_i_buffer_char(text, SKED_I_SSP_PATH_MARK);
    sked_i_buffer_text(text, ref);
    return text->failed ? -1 : sked_i_names_find(&k->paths, text->data, (size_t)text->size);
}

/* In the instance's library, in the instance, then outwards. */
static int32_t find_kind(build *x, const sked_i_ssp_kinds *k, int32_t library, int32_t path)
{
    const sked_i_names *names = &x->r->names;
    const char *ref = sked_i_names_at(names, path), *own = sked_i_names_at(names, x->in->path);
    const char *scope = sked_i_names_at(names, x->in->scope);
    const char *name = x->in->name >= 0 ? sked_i_names_at(names, x->in->name) : "";
    const size_t n = strlen(name);
    int32_t found = -1;
    if (library >= 0)
        found = look_in(x, k, sked_i_names_at(names, library), strlen(sked_i_names_at(names, library)), ref);
    if (found < 0)
        found = look_in(x, k, own, strlen(own), ref);
    if (found < 0 && n > 0 && strncmp(ref, name, n) == 0 && ref[n] == SKED_I_SSP_PATH_MARK)
        found = look_in(x, k, own, strlen(own), ref + n + 1);
    for (size_t size = strlen(scope); found < 0; size--) {
        if (scope[size] == 0 || scope[size] == SKED_I_SSP_PATH_MARK)
            found = look_in(x, k, scope, size, ref);
        if (size == 0)
            break;
    }
    return found;
}

static sked_status resolve(build *x, const sked_i_ssp_kinds *k, int32_t library,
                           const sked_i_ssp_reference *ref, const char *what, int32_t *out)
{
    *out = find_kind(x, k, library, ref->path);
    if (x->r->text.failed)
        return sked_i_no_memory(x->r->err);
    if (*out >= 0)
        return SKED_OK;
    const sked_i_word w = {ref->at, strcspn(ref->at, ">,] \t\r\n")};
    return sked_i_source_fail(x->r->source, ref->at, x->r->err, "no %s is called '%s'", what,
                              sked_i_word_quoted(w).text);
}

/* `leaf`, or where it is taken with a number behind it that makes it new, in x->r->text. */
static const char *number_name(build *x, const char *leaf, int64_t number)
{
    sked_i_buffer *text = &x->r->text;
    text->size = 0;
    sked_i_buffer_text(text, leaf);
    if (number > 0)
        sked_i_buffer_format(text, "_%lld", (long long)number);
    return text->failed ? NULL : text->data;
}

/* The pool of a kind, added where it is new. Two of one name get numbers. */
static sked_status find_pool(build *x, const sked_i_ssp_kind *k, int32_t *pool, int64_t number)
{
    sked_status st = SKED_OK;
    sked_error *err = x->r->err;
    const char *leaf = sked_i_names_at(&x->r->names, k->leaf);
    const double limit = isnan(k->value[SKED_I_SSP_LIMIT]) ? INFINITY : k->value[SKED_I_SSP_LIMIT];
    if (*pool >= 0)
        return SKED_OK;
    for (int64_t n = 0;; n = n > 0 ? n + 1 : number + 1) {
        const char *name = number_name(x, leaf, n);
        if (name == NULL)
            return sked_i_no_memory(err);
        if (sked_builder_find_resource(x->b, name) >= 0)
            continue;
        SKED_BUILD(x->r->source, k->at, sked_builder_add_resource(x->b, name, limit, pool, &cause));
        break;
    }
cleanup:
    return st;
}

static sked_status name_type(build *x, int32_t type)
{
    bool fresh = false;
    const char *leaf = sked_i_names_at(&x->r->names, x->r->operators.kind[type].leaf);
    for (int64_t n = 0; x->type_name[type] < 0 && !fresh; n = n > 0 ? n + 1 : type + 1) {
        const char *name = number_name(x, leaf, n);
        const int32_t i = name ? sked_i_names_add(&x->types, name, strlen(name), &fresh) : -1;
        if (i < 0)
            return sked_i_no_memory(x->r->err);
        if (fresh)
            x->type_name[type] = i;
    }
    return SKED_OK;
}

static sked_status check_type(const build *x, const sked_i_ssp_op *op, const sked_i_ssp_kind *k)
{
    const sked_i_quoted name = sked_i_quoted_text(sked_i_names_at(&x->r->names, k->leaf));
    const double *v = k->value;
    if (isnan(v[SKED_I_SSP_LATENCY]))
        return sked_i_source_fail(x->r->source, op->at, x->r->err, "operator type '%s' has no latency",
                                  name.text);
    if (x->class->chaining && (isnan(v[SKED_I_SSP_INC_DELAY]) || isnan(v[SKED_I_SSP_OUT_DELAY])))
        return sked_i_source_fail(x->r->source, k->at, x->r->err,
                                  "operator type '%s' of a %s needs incDelay and outDelay", name.text,
                                  x->class->name);
    if (x->class->chaining && v[SKED_I_SSP_LATENCY] == 0 &&
        v[SKED_I_SSP_INC_DELAY] != v[SKED_I_SSP_OUT_DELAY])
        return sked_i_source_fail(x->r->source, k->at, x->r->err,
                                  "operator type '%s' has latency 0, so incDelay and outDelay must be equal",
                                  name.text);
    return SKED_OK;
}

/* Of classes with delays. */
static sked_status add_delays(build *x, int32_t op, const sked_i_ssp_op *o, int32_t type)
{
    sked_i_ssp_text *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const double *v = type >= 0 && x->class->chaining ? r->operators.kind[type].value : NULL;
    if (v == NULL || (v[SKED_I_SSP_INC_DELAY] == 0 && v[SKED_I_SSP_OUT_DELAY] == 0))
        return SKED_OK;
    SKED_BUILD(r->source, o->at,
               sked_builder_set_attribute(x->b, &sked_i_op_table[sked_i_op_delay_in].info, op,
                                          v[SKED_I_SSP_INC_DELAY], &cause));
    SKED_BUILD(r->source, o->at,
               sked_builder_set_attribute(x->b, &sked_i_op_table[sked_i_op_delay_out].info, op,
                                          v[SKED_I_SSP_OUT_DELAY], &cause));
cleanup:
    return st;
}

/* The pools that an op holds for a cycle each: those it uses, and that of its operator type. */
static sked_status add_demands(build *x, int32_t op, const sked_i_ssp_op *o, int32_t type, double latency)
{
    sked_i_ssp_text *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    for (int64_t i = o->use; x->class->shared && i < o[1].use; i++) {
        const sked_i_ssp_reference *u = &r->use[i];
        int32_t k = -1;
        SKED_TRY(resolve(x, &r->resources, x->in->resources, u, "resource type", &k));
        if (latency == 0 && !isnan(r->resources.kind[k].value[SKED_I_SSP_LIMIT]))
            return sked_i_source_fail(r->source, o->at, err,
                                      "an op of latency 0 uses a resource with a limit");
        SKED_TRY(find_pool(x, &r->resources.kind[k], &x->pool[k], k));
        SKED_BUILD(r->source, o->at, sked_builder_add_demand(x->b, op, x->pool[k], 1, &cause));
    }
    if (!x->class->shared || type < 0 || isnan(r->operators.kind[type].value[SKED_I_SSP_LIMIT]))
        return SKED_OK;
    if (latency == 0)
        return sked_i_source_fail(r->source, o->at, err, "an operator type of latency 0 has a limit");
    int32_t *pool = &x->pool[r->resources.paths.count + type];
    SKED_TRY(find_pool(x, &r->operators.kind[type], pool, type));
    SKED_BUILD(r->source, o->at, sked_builder_add_demand(x->b, op, *pool, 1, &cause));
cleanup:
    return st;
}

/* Where the op holds pools it does so for a cycle: units are pipelined. */
static sked_status add_op(build *x, const sked_i_ssp_op *o, double *lag)
{
    sked_i_ssp_text *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    int32_t type = -1, op;
    double latency = 0;
    if (o->type.path >= 0) {
        SKED_TRY(resolve(x, &r->operators, x->in->library, &o->type, "operator type", &type));
        SKED_TRY(check_type(x, o, &r->operators.kind[type]));
        SKED_TRY(name_type(x, type));
        latency = r->operators.kind[type].value[SKED_I_SSP_LATENCY];
    }
    const bool limited = type >= 0 && !isnan(r->operators.kind[type].value[SKED_I_SSP_LIMIT]);
    const bool holds = x->class->shared && (limited || o[1].use > o->use);
    const double duration = holds ? fmin(1, latency) : latency;
    const char *name = o->name >= 0 ? sked_i_names_at(&r->names, o->name) : NULL;
    *lag = latency == duration ? SKED_LAG_DEFAULT : latency;
    SKED_BUILD(r->source, o->at,
               sked_builder_add_op(x->b, name != NULL && name[0] == '@' ? name + 1 : name,
                                   type >= 0 ? sked_i_names_at(&x->types, x->type_name[type]) : NULL,
                                   duration, &op, &cause));
    SKED_TRY(add_delays(x, op, o, type));
    SKED_TRY(add_demands(x, op, o, type, latency));
cleanup:
    return st;
}

static sked_status add_edges(build *x, const sked_i_ssp_op *o, int32_t to, const double *lag)
{
    sked_i_ssp_text *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    for (int64_t i = o->dep; i < o[1].dep; i++) {
        const sked_i_ssp_dependence *d = &r->dep[i];
        const int32_t from = x->op_of[d->source];
        const char *name = sked_i_names_at(&r->names, d->source);
        if (from < 0)
            return sked_i_source_fail(r->source, d->at, err, "no operation of the instance defines '%s'",
                                      sked_i_quoted_text(name).text);
        if (x->class->chaining && x->class->cyclic && name[0] == '%' && d->distance > 0)
            return sked_i_source_fail(r->source, d->at, err,
                                      "a distance between values: write '@name', an auxiliary dependence");
        const sked_edge edge = {from, to, lag[from], 0, x->class->cyclic ? (int32_t)d->distance : 0};
        SKED_BUILD(r->source, d->at, sked_builder_add_edge(x->b, &edge, &cause));
    }
cleanup:
    return st;
}

static sked_status define(build *x, int32_t name, int32_t op, const char *at)
{
    if (x->op_of[name] >= 0 && x->op_of[name] != op)
        return sked_i_source_fail(x->r->source, at, x->r->err, "'%s' is defined twice",
                                  sked_i_quoted_text(sked_i_names_at(&x->r->names, name)).text);
    x->op_of[name] = op;
    return SKED_OK;
}

/* Which op has which symbol and which results. */
static sked_status define_names(build *x)
{
    const sked_i_ssp_text *r = x->r;
    sked_status st = SKED_OK;
    for (int64_t i = x->in->op; i < x->in[1].op && st == SKED_OK; i++)
        if (r->op[i].name >= 0)
            st = define(x, r->op[i].name, (int32_t)(i - x->in->op), r->op[i].at);
    for (int64_t i = x->in->result; i < x->in[1].result && st == SKED_OK; i++)
        st = define(x, r->result[i].name, (int32_t)(r->result[i].op - x->in->op), r->result[i].at);
    return st;
}

static sked_status prepare(build *x)
{
    const sked_i_ssp_text *r = x->r;
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const int64_t n = r->names.count, types = r->operators.paths.count, pools = r->resources.paths.count;
    SKED_OWN(&x->arena, x->op_of, n);
    SKED_OWN(&x->arena, x->type_name, types);
    SKED_OWN(&x->arena, x->pool, types + pools);
    memset(x->op_of, -1, (size_t)n * sizeof *x->op_of);
    memset(x->type_name, -1, (size_t)types * sizeof *x->type_name);
    memset(x->pool, -1, (size_t)(types + pools) * sizeof *x->pool);
    SKED_TRY(define_names(x));
    for (int32_t k = 0; x->class->shared && k < pools; k++)
        if (r->resources.kind[k].library == x->in->resources)
            SKED_TRY(find_pool(x, &r->resources.kind[k], &x->pool[k], k));
cleanup:
    return st;
}

static sked_status build_graph(sked_i_ssp_text *r, const sked_i_ssp_instance *in, sked_graph **out)
{
    build x = {.r = r, .in = in};
    sked_status st;
    sked_error *err = r->err;
    double *lag = NULL;
    const int32_t n = (int32_t)(in[1].op - in->op);
    SKED_TRY(find_class(&x));
    SKED_TRY(sked_i_source_begin(r->source, in->name >= 0 ? sked_i_names_at(&r->names, in->name) : NULL, &x.b,
                                 err));
    SKED_TRY(prepare(&x));
    SKED_OWN(&x.arena, lag, n);
    for (int32_t i = 0; i < n; i++)
        SKED_TRY(add_op(&x, &r->op[in->op + i], &lag[i]));
    for (int32_t i = 0; i < n; i++)
        SKED_TRY(add_edges(&x, &r->op[in->op + i], i, lag));
    SKED_BUILD(r->source, in->at, sked_builder_finish(x.b, out, &cause));
cleanup:
    sked_builder_destroy(x.b);
    sked_i_names_free(&x.types);
    sked_i_arena_free(&x.arena);
    return st;
}

static sked_status read_ssp(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    sked_i_ssp_text r;
    const sked_i_ssp_instance *in = NULL;
    sked_status st = sked_i_ssp_text_read(&r, source, err);
    if (st == SKED_OK)
        st = choose_instance(&r, source->options->instance, &in);
    if (st == SKED_OK)
        st = build_graph(&r, in, out);
    sked_i_ssp_text_free(&r);
    return st;
}

/* ------------------------------------------------------------------ start times */

static sked_status take_times(const sked_i_ssp_text *r, const sked_i_ssp_instance *in, const sked_graph *g,
                              double *start)
{
    char label[80];
    const int64_t n = in[1].op - in->op;
    if (n != g->n_ops)
        return sked_i_source_refuse(r->source, in->at, SKED_ERR_INVALID, r->err,
                                    "the instance has %lld ops, the graph %d", (long long)n, (int)g->n_ops);
    for (int64_t i = 0; i < n; i++) {
        const sked_i_ssp_op *o = &r->op[in->op + i];
        const char *name = o->name >= 0 ? sked_i_names_at(&r->names, o->name) : NULL;
        const int32_t op = name ? sked_graph_find_op(g, name + (name[0] == '@')) : (int32_t)i;
        if (op < 0)
            return sked_i_source_refuse(r->source, o->at, SKED_ERR_INVALID, r->err,
                                        "the graph has no op called '%s'", sked_i_quoted_text(name).text);
        if (isnan(o->value[SKED_I_SSP_TIME]))
            return sked_i_source_refuse(r->source, o->at, SKED_ERR_INVALID, r->err,
                                        "op '%s' has no start time, t<>",
                                        sked_i_op_label(g, op, label, sizeof label));
        start[op] = o->value[SKED_I_SSP_TIME];
    }
    return SKED_OK;
}

/* Of the instance that is called like the graph, or of the only one. Phases follow from times. */
static sked_status read_times(const sked_i_source *source, const sked_graph *g, double *start, double *ii,
                              sked_error *err)
{
    sked_i_ssp_text r;
    sked_status st = sked_i_ssp_text_read(&r, source, err);
    if (st == SKED_OK) {
        const sked_i_ssp_instance *in = find_instance(&r, sked_graph_name(g));
        if (in == NULL)
            st = choose_instance(&r, NULL, &in);
        if (st == SKED_OK)
            st = take_times(&r, in, g, start);
        if (st == SKED_OK)
            *ii = isnan(in->value[SKED_I_SSP_II]) ? 0 : in->value[SKED_I_SSP_II];
    }
    sked_i_ssp_text_free(&r);
    return st;
}

static sked_status write_ssp(const sked_graph *g, sked_i_buffer *out, sked_error *err)
{
    const sked_i_ssp_times none = {0};
    return sked_i_ssp_write(g, &none, out, err);
}

const sked_i_format sked_i_format_ssp = {
    .info = {"ssp", "CIRCT's static scheduling problems, with start times", ".mlir", true, true},
    .sniff = sked_i_ssp_text_sniff,
    .read = read_ssp,
    .write = write_ssp,
    .times = read_times,
};
