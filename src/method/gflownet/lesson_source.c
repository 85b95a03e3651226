#define _POSIX_C_SOURCE 200809L
#include "method/gflownet/lesson_source.h"

#include "base/arena.h"
#include "base/explog.h"
#include "base/text.h"
#include "graph/distribution.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* One item of the spec: graphs that were read, or a family, a range of sizes and a distribution. */
typedef struct item {
    sked_graph **graph;
    int64_t count, cap;
    const char *family;
    int64_t least, most;
    char *duration; /* NULL: the family's own */
} item;

struct sked_i_graph_source {
    item *items;
    int count;
};

static void clear_item(item *it)
{
    for (int64_t k = 0; k < it->count; k++)
        sked_graph_destroy(it->graph[k]);
    free(it->graph);
    free(it->duration);
}

void sked_i_lesson_source_close(sked_i_graph_source *s)
{
    if (s == NULL)
        return;
    for (int k = 0; k < s->count; k++)
        clear_item(&s->items[k]);
    free(s->items);
    free(s);
}

static sked_status add_file(item *it, const char *path, sked_error *err)
{
    sked_graph *g = NULL;
    sked_status st = sked_graph_read(path, NULL, &g, err);
    if (st == SKED_OK && sked_graph_op_count(g) == 0)
        st = sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: an empty graph teaches nothing", path);
    if (st == SKED_OK && !SKED_GROW(it->graph, it->cap, it->count + 1))
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        it->graph[it->count++] = g;
    else
        sked_graph_destroy(g);
    return st;
}

/* Every file that reads as a graph, in the order of their names. */
static sked_status add_folder(item *it, const char *path, sked_error *err)
{
    struct dirent **entry = NULL;
    sked_status st = SKED_OK;
    const int count = scandir(path, &entry, NULL, alphasort);
    if (count < 0)
        return sked_i_fail(err, SKED_ERR_IO, "%s: the folder cannot be read", path);
    for (int k = 0; k < count; k++) {
        char name[4096];
        struct stat info;
        sked_error why = {0};
        const int length = snprintf(name, sizeof name, "%s/%s", path, entry[k]->d_name);
        if (st == SKED_OK && length > 0 && length < (int)sizeof name && stat(name, &info) == 0 &&
            S_ISREG(info.st_mode)) {
            const sked_status one = add_file(it, name, &why);
            if (one == SKED_ERR_MEMORY || one == SKED_ERR_IO)
                st = sked_i_fail(err, one, "%s", why.message);
        }
        free(entry[k]);
    }
    free(entry);
    if (st == SKED_OK && it->count == 0)
        st = sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: no file in this folder reads as a graph", path);
    return st;
}

static const char *family_name(const char *text, size_t size)
{
    for (int i = 0; i < sked_family_count(); i++) {
        const char *name = sked_family_at(i)->name;
        if (strlen(name) == size && memcmp(name, text, size) == 0)
            return name;
    }
    return NULL;
}

/* LEAST-MOST or OPS, size characters. */
static sked_status parse_sizes(item *it, const char *text, size_t size, sked_error *err)
{
    const char *dash = memchr(text, '-', size);
    const size_t first = dash ? (size_t)(dash - text) : size;
    char shown[80];
    bool good = sked_i_parse_int(text, first, 2, 1000000, &it->least);
    it->most = it->least;
    if (good && dash)
        good = sked_i_parse_int(dash + 1, size - first - 1, it->least, 1000000, &it->most);
    return good ? SKED_OK
                : sked_i_fail(err, SKED_ERR_ARGUMENT, "'%s': sizes are LEAST-MOST, 2 to 1000000 ops",
                              sked_i_quote(text, size, shown, sizeof shown));
}

/* A distribution of durations. Commas part the items of a spec, so / stands for them. */
static sked_status parse_duration(item *it, const char *text, sked_error *err)
{
    sked_i_distribution checked;
    if ((it->duration = sked_i_strdup(text)) == NULL)
        return sked_i_no_memory(err);
    for (char *c = it->duration; *c; c++)
        if (*c == '/')
            *c = ',';
    return sked_i_distribution_parse("duration", it->duration, &checked, err);
}

/* FAMILY:SIZES[:DIST]; family is set. */
static sked_status parse_family(item *it, const char *text, sked_error *err)
{
    const char *sizes = strchr(text, ':') + 1, *more = strchr(sizes, ':');
    sked_status st = parse_sizes(it, sizes, more ? (size_t)(more - sizes) : strlen(sizes), err);
    return st == SKED_OK && more ? parse_duration(it, more + 1, err) : st;
}

/* FAMILY:SIZES of a family that there is not: the generator says so and suggests another. */
static sked_status refuse_family(const char *text, size_t size, sked_error *err)
{
    char name[80];
    sked_generate_options how;
    sked_graph *g = NULL;
    sked_generate_options_init(&how);
    snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name), text);
    return sked_graph_generate(name, &how, &g, err);
}

static sked_status open_item(item *it, const char *text, sked_error *err)
{
    struct stat info;
    const char *colon = strchr(text, ':');
    it->family = colon ? family_name(text, (size_t)(colon - text)) : NULL;
    if (it->family != NULL)
        return parse_family(it, text, err);
    const bool exists = stat(text, &info) == 0;
    if (colon != NULL && !exists)
        return refuse_family(text, (size_t)(colon - text), err);
    return exists && S_ISDIR(info.st_mode) ? add_folder(it, text, err) : add_file(it, text, err);
}

sked_status sked_i_lesson_source_open(const char *spec, sked_i_graph_source **out, sked_error *err)
{
    sked_status st = SKED_OK;
    char *copy = NULL;
    int items = 1;
    sked_i_graph_source *s = NULL;
    SKED_NEW0(s, 1);
    if ((copy = sked_i_strdup(spec)) == NULL) {
        st = sked_i_no_memory(err);
        goto cleanup;
    }
    for (const char *c = spec; *c; c++)
        items += *c == ',';
    SKED_NEW0(s->items, items);
    for (char *at = copy, *next; at != NULL; at = next) {
        next = strchr(at, ',');
        if (next != NULL)
            *next++ = 0;
        SKED_TRY(open_item(&s->items[s->count++], at, err));
    }
    *out = s;
    s = NULL;
cleanup:
    free(copy);
    sked_i_lesson_source_close(s);
    return st;
}

/* Log-uniform: as many graphs of 20 to 40 ops as of 200 to 400. */
static int32_t draw_size(int64_t least, int64_t most, sked_i_rng *rng)
{
    const double low = sked_i_log((double)least), high = sked_i_log((double)most + 1);
    const int64_t drawn = (int64_t)sked_i_exp(low + sked_i_rng_uniform(rng) * (high - low));
    return (int32_t)(drawn < least ? least : drawn > most ? most : drawn);
}

static sked_status draw_family(const item *it, sked_i_rng *rng, sked_graph **out, sked_error *err)
{
    sked_generate_options how;
    sked_generate_options_init(&how);
    how.nodes = draw_size(it->least, it->most, rng);
    how.seed = sked_i_rng_next(rng) >> 12;
    how.duration = it->duration;
    return sked_graph_generate(it->family, &how, out, err);
}

int32_t sked_i_lesson_source_largest(const sked_i_graph_source *s, int32_t largest)
{
    int64_t most = 0;
    for (int i = 0; i < s->count; i++) {
        const item *it = &s->items[i];
        most = it->family != NULL && it->most > most ? it->most : most;
        for (int64_t k = 0; k < it->count; k++)
            most = it->graph[k]->n_ops > most ? it->graph[k]->n_ops : most;
    }
    return most < largest ? (int32_t)most : largest;
}

sked_status sked_i_lesson_source_draw(const sked_i_graph_source *s, int32_t largest, sked_i_rng *rng,
                                      sked_graph **out, sked_error *err)
{
    const item *it = &s->items[sked_i_rng_below(rng, (uint64_t)s->count)];
    sked_graph *g = NULL;
    const sked_graph *whole = NULL;
    sked_status st = SKED_OK;
    if (it->family != NULL) {
        SKED_TRY(draw_family(it, rng, &g, err));
        whole = g;
    } else {
        whole = it->graph[sked_i_rng_below(rng, (uint64_t)it->count)];
    }
    if (whole == g && g->n_ops <= largest) {
        *out = g;
        return SKED_OK;
    }
    const int32_t least = largest / 16 > 20 ? largest / 16 : largest < 20 ? largest : 20;
    const int32_t drawn = draw_size(least, largest, rng);
    SKED_TRY(sked_i_lesson_source_graph_part(whole, whole->n_ops <= largest ? whole->n_ops : drawn, rng, out,
                                             err));
cleanup:
    sked_graph_destroy(g);
    return st;
}

/* ------------------------------------------------------------------ parts */

typedef struct growth {
    sked_i_arena arena;
    const sked_graph *g;
    int32_t *inside;   /* [n] new number, -1: outside */
    uint8_t *waiting;  /* [n] on the frontier already, or inside */
    int32_t *frontier; /* neighbours of what is inside */
    int32_t *chosen;   /* ops in the order they came in */
    int32_t n_frontier, count;
} growth;

static void reach(growth *w, int32_t op)
{
    if (!w->waiting[op])
        w->frontier[w->n_frontier++] = op;
    w->waiting[op] = 1;
}

static void take_in(growth *w, int32_t op)
{
    const sked_graph *g = w->g;
    w->inside[op] = w->count;
    w->chosen[w->count++] = op;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        reach(w, g->edge_to[e]);
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
        reach(w, g->pred_op[k]);
}

static void grow(growth *w, int32_t ops, sked_i_rng *rng)
{
    while (w->count < ops) {
        if (w->n_frontier == 0) { /* the component is used up: begin another */
            int32_t op = (int32_t)sked_i_rng_below(rng, (uint64_t)w->g->n_ops);
            while (w->waiting[op])
                op = (op + 1) % w->g->n_ops;
            reach(w, op);
        }
        const int32_t at = (int32_t)sked_i_rng_below(rng, (uint64_t)w->n_frontier);
        const int32_t op = w->frontier[at];
        w->frontier[at] = w->frontier[--w->n_frontier];
        take_in(w, op);
    }
}

static sked_status build_part(const growth *w, sked_graph **out, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = w->g;
    sked_builder *b = NULL;
    SKED_TRY(sked_builder_create(&b, err));
    for (int32_t k = 0; k < w->count; k++)
        SKED_TRY(sked_builder_add_op(b, NULL, NULL, g->duration[w->chosen[k]], NULL, err));
    for (int32_t k = 0; k < w->count; k++)
        for (int64_t e = g->succ_ptr[w->chosen[k]]; e < g->succ_ptr[w->chosen[k] + 1]; e++) {
            const sked_edge edge = {k, w->inside[g->edge_to[e]],
                                    g->edge_lag_given[e] ? g->edge_lag[e] : SKED_LAG_DEFAULT,
                                    g->edge_bytes[e], 0};
            if (edge.to >= 0 && g->edge_distance[e] == 0)
                SKED_TRY(sked_builder_add_edge(b, &edge, err));
        }
    SKED_TRY(sked_builder_finish(b, out, err));
cleanup:
    sked_builder_destroy(b);
    return st;
}

sked_status sked_i_lesson_source_graph_part(const sked_graph *g, int32_t ops, sked_i_rng *rng,
                                            sked_graph **out, sked_error *err)
{
    sked_status st = SKED_OK;
    growth w = {.g = g};
    assert(ops >= 1 && ops <= g->n_ops);
    SKED_OWN(&w.arena, w.inside, g->n_ops);
    SKED_OWN0(&w.arena, w.waiting, g->n_ops);
    SKED_OWN(&w.arena, w.frontier, g->n_ops);
    SKED_OWN(&w.arena, w.chosen, ops);
    for (int32_t i = 0; i < g->n_ops; i++)
        w.inside[i] = -1;
    grow(&w, ops, rng);
    SKED_TRY(build_part(&w, out, err));
cleanup:
    sked_i_arena_free(&w.arena);
    return st;
}
