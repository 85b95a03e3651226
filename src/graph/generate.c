#include "graph/generate.h"

#include "base/option.h"
#include "base/sized.h"
#include "base/text.h"
#include "graph/distribution.h"
#include "graph/graph.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPTIONS = 16, MOST_DEMANDS = 16 };

static const sked_i_family *const families[] = {
#define SKED_FAMILY(name) &sked_i_family_##name,
#include "graph/families/table.h"
#undef SKED_FAMILY
};

int sked_family_count(void)
{
    return COUNT_OF(families);
}

const sked_family_info *sked_family_at(int i)
{
    return i >= 0 && i < COUNT_OF(families) ? &families[i]->info : NULL;
}

void sked_generate_options_init_sized(sked_generate_options *opt, size_t size)
{
    const sked_generate_options preset = {.nodes = 100};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

/* ------------------------------------------------------------------ plans */

void sked_i_draft_edge(sked_i_draft *p, int32_t from, int32_t to)
{
    assert(from >= 0 && to >= 0);
    if (p->failed || !SKED_OWN_GROW(&p->arena, p->from, p->from_cap, p->n_edges + 1) ||
        !SKED_OWN_GROW(&p->arena, p->to, p->to_cap, p->n_edges + 1)) {
        p->failed = true;
        return;
    }
    p->from[p->n_edges] = from;
    p->to[p->n_edges++] = to;
}

void sked_i_draft_carried(sked_i_draft *p, int32_t from, int32_t to, int32_t distance)
{
    if (p->failed || !SKED_OWN_GROW(&p->arena, p->distance, p->distance_cap, p->n_edges + 1)) {
        p->failed = true;
        return;
    }
    p->distance[p->n_edges] = distance;
    sked_i_draft_edge(p, from, to);
}

sked_status sked_i_draft_reserve(sked_i_draft *p, double edges, const char *cause, sked_error *err)
{
    if (edges > SKED_I_MOST_EDGES)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s gives about %.3g edges, the limit is %.3g", cause,
                           edges, SKED_I_MOST_EDGES);
    const int64_t n = (int64_t)edges;
    return SKED_OWN_GROW(&p->arena, p->from, p->from_cap, n) && SKED_OWN_GROW(&p->arena, p->to, p->to_cap, n)
               ? SKED_OK
               : sked_i_no_memory(err);
}

/*
 * Sorts the edges by `from` (counting sort, stable) into ptr and new to and distance columns; `from` is
 * implied and freed, because at 10 million ops every column counts.
 */
static sked_status sort_plan(sked_i_draft *p, int64_t **rows, sked_error *err)
{
    sked_status st = SKED_OK;
    int64_t *ptr;
    int32_t *to, *distance = NULL;
    SKED_OWN0(&p->arena, ptr, (int64_t)p->n + 1);
    SKED_OWN(&p->arena, to, p->n_edges);
    if (p->distance != NULL)
        SKED_OWN(&p->arena, distance, p->n_edges);
    for (int64_t e = 0; e < p->n_edges; e++)
        ptr[p->from[e] + 1]++;
    for (int32_t i = 0; i < p->n; i++)
        ptr[i + 1] += ptr[i];
    for (int64_t e = 0; e < p->n_edges; e++) {
        const int64_t k = ptr[p->from[e]]++;
        to[k] = p->to[e];
        if (distance != NULL)
            distance[k] = p->distance[e];
    }
    memmove(ptr + 1, ptr, (size_t)p->n * sizeof *ptr);
    ptr[0] = 0;
    assert(ptr[p->n] == p->n_edges);
    sked_i_arena_drop(&p->arena, p->from);
    sked_i_arena_drop(&p->arena, p->to);
    sked_i_arena_drop(&p->arena, p->distance);
    p->from = NULL;
    p->to = to;
    p->distance = distance;
    *rows = ptr;
cleanup:
    return st;
}

/* Drops the second of two edges between the same ops with the same distance. seen: [n], the last row. */
static void drop_twins(sked_i_draft *p, int64_t *ptr, int32_t *seen)
{
    int64_t kept = 0;
    memset(seen, 0xff, (size_t)p->n * sizeof *seen);
    for (int32_t i = 0; i < p->n; i++) {
        const int64_t begin = ptr[i], end = ptr[i + 1];
        ptr[i] = kept;
        for (int64_t k = begin; k < end; k++) {
            if (seen[p->to[k]] == i && (p->distance == NULL || p->distance[k] == 0))
                continue;
            if (p->distance == NULL || p->distance[k] == 0)
                seen[p->to[k]] = i;
            if (p->distance != NULL)
                p->distance[kept] = p->distance[k];
            p->to[kept++] = p->to[k];
        }
    }
    ptr[p->n] = p->n_edges = kept;
}

/* ------------------------------------------------------------------ columns */

/* Each column draws from a stream of its own, so that changing one leaves the others as they are. */
enum { STREAM_EDGES = 1, STREAM_DURATION, STREAM_BYTES, STREAM_MEMORY, STREAM_WEIGHT, STREAM_DEMAND };
/* Seeds of graphs that are drawn again; demands have the streams from STREAM_DEMAND on. */
enum { STREAM_AGAIN = STREAM_DEMAND + MOST_DEMANDS };

typedef struct column {
    bool used;
    sked_i_distribution d;
    sked_i_rng rng;
} column;

typedef struct demand {
    char name[64];
    double capacity;
    column amount;
} demand;

typedef struct columns {
    column duration, bytes, memory, weight;
    demand demand[MOST_DEMANDS];
    int n_demands;
} columns;

static sked_status open_column(const char *what, const char *text, const char *preset, uint64_t seed,
                               uint64_t stream, column *out, sked_error *err)
{
    if (text == NULL)
        text = preset;
    out->used = text != NULL;
    if (text == NULL)
        return SKED_OK;
    sked_i_rng_seed(&out->rng, seed, stream);
    return sked_i_distribution_parse(what, text, &out->d, err);
}

static double draw(column *c)
{
    return sked_i_distribution_draw(&c->d, &c->rng);
}

/* One "RES:capacity:distribution". */
static sked_status parse_demand(const char *text, size_t size, uint64_t seed, int index, demand *out,
                                sked_error *err)
{
    char word[200], what[100];
    const char *colon = memchr(text, ':', size);
    const char *second = colon ? memchr(colon + 1, ':', size - (size_t)(colon + 1 - text)) : NULL;
    const size_t n = colon ? (size_t)(colon - text) : 0;
    if (second == NULL || n == 0 || n >= sizeof out->name || size >= sizeof word)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "demand: '%s' is not of the form RESOURCE:capacity:distribution",
                           sked_i_quoted_bytes(text, size).text);
    memcpy(out->name, text, n);
    out->name[n] = 0;
    const size_t digits = (size_t)(second - colon - 1);
    if (digits == 3 && memcmp(colon + 1, "inf", 3) == 0)
        out->capacity = INFINITY;
    else if (!sked_i_parse_double(colon + 1, digits, &out->capacity) || out->capacity < 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "demand: the capacity of '%s' must be a number, 0 or more, or inf", out->name);
    memcpy(word, second + 1, size - (size_t)(second + 1 - text));
    word[size - (size_t)(second + 1 - text)] = 0;
    snprintf(what, sizeof what, "demand %s", out->name);
    return open_column(what, word, NULL, seed, STREAM_DEMAND + (uint64_t)index, &out->amount, err);
}

static sked_status parse_demands(const char *text, uint64_t seed, columns *c, sked_error *err)
{
    while (text != NULL && *text) {
        const size_t n = strcspn(text, ";");
        if (c->n_demands == MOST_DEMANDS)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "demand: more than %d resources", MOST_DEMANDS);
        const sked_status st = parse_demand(text, n, seed, c->n_demands, &c->demand[c->n_demands], err);
        if (st != SKED_OK)
            return st;
        c->n_demands++;
        text += n + (text[n] == ';');
    }
    return SKED_OK;
}

static sked_status open_columns(const sked_i_family *f, const sked_generate_options *o, columns *c,
                                sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(
        open_column("duration", o->duration, f->info.duration, o->seed, STREAM_DURATION, &c->duration, err));
    SKED_TRY(open_column("bytes", o->bytes, f->bytes, o->seed, STREAM_BYTES, &c->bytes, err));
    SKED_TRY(open_column("memory", o->memory, f->memory, o->seed, STREAM_MEMORY, &c->memory, err));
    SKED_TRY(open_column("weight", o->weight, NULL, o->seed, STREAM_WEIGHT, &c->weight, err));
    SKED_TRY(parse_demands(o->demand, o->seed, c, err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the graph */

static sked_status add_resources(const sked_i_draft *p, const columns *c, sked_builder *b, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int r = 0; r < c->n_demands; r++) {
        if (sked_builder_find_resource(b, c->demand[r].name) >= 0)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "demand: resource '%s' is given twice",
                               c->demand[r].name);
        SKED_TRY(sked_builder_add_resource(b, c->demand[r].name, c->demand[r].capacity, NULL, err));
    }
    for (int r = 0; r < p->n_pools && c->n_demands == 0; r++)
        SKED_TRY(sked_builder_add_resource(b, p->pool[r].name, p->pool[r].capacity, NULL, err));
cleanup:
    return st;
}

/* What one op takes: as asked for (never more than there is, so every op can run), else by its kind. */
static sked_status add_demands(const sked_i_draft *p, const sked_i_draft_kind *kind, columns *c,
                               sked_builder *b, int32_t op, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int r = 0; r < c->n_demands; r++) {
        const double amount = draw(&c->demand[r].amount);
        SKED_TRY(sked_builder_add_demand(b, op, r, fmin(amount, c->demand[r].capacity), err));
    }
    if (c->n_demands == 0 && p->n_pools > 0 && kind->pool >= 0)
        SKED_TRY(sked_builder_add_demand(b, op, kind->pool, 1, err));
cleanup:
    return st;
}

static sked_status add_ops(const sked_i_draft *p, columns *c, sked_builder *b, sked_error *err)
{
    static const sked_i_draft_kind plain = {NULL, 1, -1};
    sked_status st = SKED_OK;
    SKED_TRY(add_resources(p, c, b, err));
    for (int32_t i = 0; i < p->n; i++) {
        const sked_i_draft_kind *kind = p->kinds ? &p->kinds[p->kind ? p->kind[i] : 0] : &plain;
        const double duration = c->duration.used ? draw(&c->duration) : kind->duration;
        SKED_TRY(sked_builder_add_op(b, NULL, kind->type, duration, NULL, err));
        if (c->memory.used)
            SKED_TRY(sked_builder_set_memory(b, i, draw(&c->memory), err));
        if (c->weight.used)
            SKED_TRY(sked_builder_set_weight(b, i, draw(&c->weight), err));
        SKED_TRY(add_demands(p, kind, c, b, i, err));
    }
cleanup:
    return st;
}

static sked_status add_edges(sked_i_draft *p, const int64_t *ptr, columns *c, sked_builder *b,
                             sked_error *err)
{
    sked_status st = SKED_OK;
    for (int32_t i = 0; i < p->n; i++)
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
            const sked_edge e = {.from = i,
                                 .to = p->to[k],
                                 .lag = NAN,
                                 .bytes = c->bytes.used ? draw(&c->bytes) : 0,
                                 .distance = p->distance ? p->distance[k] : 0};
            SKED_TRY(sked_builder_add_edge(b, &e, err));
        }
cleanup:
    return st;
}

static sked_status build(sked_i_draft *p, columns *c, const char *name, sked_graph **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_builder *b = NULL;
    int64_t *ptr = NULL;
    int32_t *seen;
    SKED_TRY(sort_plan(p, &ptr, err));
    SKED_OWN(&p->arena, seen, p->n);
    drop_twins(p, ptr, seen);
    sked_i_arena_drop(&p->arena, seen);
    SKED_TRY(sked_builder_create(&b, err));
    SKED_TRY(sked_builder_set_name(b, name, err));
    SKED_TRY(sked_i_builder_reserve(b, p->n, p->n_edges, err));
    SKED_TRY(add_ops(p, c, b, err));
    SKED_TRY(add_edges(p, ptr, c, b, err));
    sked_i_arena_free(&p->arena); /* before finish, which needs the room */
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    return st;
}

static const sked_i_family *find_family(const char *name, sked_error *err)
{
    const char *names[COUNT_OF(families)];
    char quoted[80], hint[120];
    for (int i = 0; i < COUNT_OF(families); i++) {
        if (strcmp(families[i]->info.name, name) == 0)
            return families[i];
        names[i] = families[i]->info.name;
    }
    sked_i_quote(name, strlen(name), quoted, sizeof quoted);
    sked_i_fail(err, SKED_ERR_ARGUMENT, "no family of graphs is called '%s'%s", quoted,
                sked_suggest(quoted, names, COUNT_OF(families), hint, sizeof hint));
    return NULL;
}

/* ------------------------------------------------------------------ graphs like those of a publication */

/* A parameter; scaled: its value is for 50 ops and falls with their number, so that degrees stay. */
typedef struct parameter {
    const char *option; /* NULL: none */
    double value;
    bool scaled;
} parameter;

typedef struct like {
    const char *name, *family;
    parameter value[2];
    double parallelism; /* graphs with less work per critical path are drawn again */
} like;

/*
 * paper: table 2 of "Robust Scheduling with GFlowNets" (ICLR 2023), which prints no parameters but says that
 * its graphs allow a speedup of 3 at least, and what list scheduling reaches. layered is published; the
 * others have the density, about 8 neighbours of an op, at which list comes nearest (docs/generators.md).
 */
static const like lines[] = {
    {"paper", "erdos-renyi", {{"p", 0.163, true}}, 3},
    {"paper", "layered", {{0}}, 3},
    {"paper", "stochastic-block", {{"p-in", 0.3, true}, {"p-out", 0.12, true}}, 3},
    {"paper", "watts-strogatz", {{"k", 8, false}}, 3},
    {"paper", "barabasi-albert", {{"m", 4, false}}, 3},
};
enum { N_LINES = sizeof lines / sizeof *lines };

/* The line of a set for the family. */
static sked_status find_like(const char *name, const char *family, const like **out, sked_error *err)
{
    const char *names[N_LINES];
    char quoted[80], hint[120];
    bool known = false;
    for (int i = 0; i < N_LINES; i++) {
        names[i] = lines[i].name;
        if (strcmp(lines[i].name, name) != 0)
            continue;
        known = true;
        if (strcmp(lines[i].family, family) == 0) {
            *out = &lines[i];
            return SKED_OK;
        }
    }
    sked_i_quote(name, strlen(name), quoted, sizeof quoted);
    if (known)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: the set '%s' has no graphs of this family", family,
                           quoted);
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "no set of parameters is called '%s'%s", quoted,
                       sked_suggest(quoted, names, N_LINES, hint, sizeof hint));
}

/* Sets the values that were not given, and marks them as given. */
static void apply_like(const like *l, const sked_option *options, int n_options, int32_t nodes, double *value,
                       bool *given)
{
    for (int k = 0; k < 2 && l->value[k].option != NULL; k++)
        for (int i = 0; i < n_options; i++) {
            const parameter *p = &l->value[k];
            if (given[i] || strcmp(options[i].name, p->option) != 0)
                continue;
            const double scale = p->scaled && nodes > 0 ? 50.0 / nodes : 1;
            value[i] = fmin(options[i].max, p->value * scale);
            given[i] = true;
        }
}

/* ------------------------------------------------------------------ one or several graphs */

/* The options that settings name; called after they have been parsed, so every name is known. */
static void find_given(const sked_family_info *f, const sked_generate_options *o, bool *given)
{
    for (int i = 0; i < f->n_options; i++) {
        const size_t n = strlen(f->options[i].name);
        given[i] = false;
        for (int k = 0; k < o->n_settings; k++)
            given[i] =
                given[i] || (strncmp(o->settings[k], f->options[i].name, n) == 0 && o->settings[k][n] == '=');
    }
}

/* One graph of the seed; name: what it is called. */
static sked_status generate_once(const sked_i_family *f, const sked_generate_options *opt,
                                 const double *value, const bool *given, uint64_t name, sked_graph **out,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    char text[80];
    columns c = {0};
    sked_i_draft plan = {.nodes = opt->nodes, .n = opt->nodes, .value = value, .given = given};
    SKED_TRY(open_columns(f, opt, &c, err));
    sked_i_rng_seed(&plan.rng, opt->seed, STREAM_EDGES);
    if (opt->nodes > 0)
        SKED_TRY(f->lay_out(&plan, err));
    if (plan.failed) {
        st = sked_i_no_memory(err);
        goto cleanup;
    }
    snprintf(text, sizeof text, "%s-%d-%llu", f->info.name, (int)plan.n, (unsigned long long)name);
    SKED_TRY(build(&plan, &c, text, out, err));
cleanup:
    sked_i_arena_free(&plan.arena);
    return st;
}

static sked_status is_parallel(const sked_graph *g, double least, bool *out, sked_error *err)
{
    sked_status st = SKED_OK;
    double *head = NULL, work = 0;
    SKED_NEW(head, g->n_ops);
    sked_i_heads(g, head);
    for (int32_t i = 0; i < g->n_ops; i++)
        work += g->duration[i];
    *out = work >= least * sked_i_critical_path(g, head);
cleanup:
    free(head);
    return st;
}

/* Graphs of seeds that follow from the given one, that one first, until one is parallel enough. */
static sked_status generate_parallel(const sked_i_family *f, const sked_generate_options *opt,
                                     const double *value, const bool *given, double least, sked_graph **out,
                                     sked_error *err)
{
    enum { ATTEMPTS = 1000 };
    sked_generate_options one = *opt;
    sked_i_rng seeds;
    sked_i_rng_seed(&seeds, opt->seed, STREAM_AGAIN);
    for (int k = 0; k < ATTEMPTS; k++) {
        sked_graph *g = NULL;
        bool good = false;
        sked_status st = generate_once(f, &one, value, given, opt->seed, &g, err);
        if (st == SKED_OK)
            st = is_parallel(g, least, &good, err);
        if (st == SKED_OK && good) {
            *out = g;
            return SKED_OK;
        }
        sked_graph_destroy(g);
        if (st != SKED_OK)
            return st;
        one.seed = sked_i_rng_next(&seeds);
    }
    return sked_i_fail(err, SKED_ERR_ARGUMENT,
                       "%s: none of %d graphs of %d ops has work of %g critical paths, as '%s' asks",
                       f->info.name, ATTEMPTS, (int)opt->nodes, least, opt->like);
}

sked_status sked_graph_generate(const char *family, const sked_generate_options *opt, sked_graph **out,
                                sked_error *err)
{
    SKED_TAKE(sked_generate_options, opt)
    sked_status st = SKED_OK;
    double value[MOST_OPTIONS];
    bool given[MOST_OPTIONS];
    const like *set = NULL;
    const sked_i_family *f = find_family(family, err);
    if (f == NULL)
        return SKED_ERR_ARGUMENT;
    const sked_i_range nodes = {"nodes", opt->nodes, 0, INT32_MAX};
    SKED_TRY(sked_i_options_check(&nodes, 1, opt->settings, opt->n_settings, err));
    SKED_TRY(sked_i_options_parse(family, f->info.options, f->info.n_options, opt->settings, opt->n_settings,
                                  value, err));
    find_given(&f->info, opt, given);
    if (opt->like == NULL)
        return generate_once(f, opt, value, given, opt->seed, out, err);
    SKED_TRY(find_like(opt->like, family, &set, err));
    apply_like(set, f->info.options, f->info.n_options, opt->nodes, value, given);
    SKED_TRY(generate_parallel(f, opt, value, given, set->parallelism, out, err));
cleanup:
    return st;
}
