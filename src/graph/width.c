/*
 * Width of a graph by Dilworth's theorem: n minus a largest matching between ops and the ops they reach.
 * Hopcroft and Karp's phases, with layers as bit sets so that a whole word of edges is looked at in one step.
 */
#include "graph/relations.h"

#include <assert.h>
#include <string.h>

typedef struct matching {
    sked_i_arena arena;
    const sked_i_closure *c;
    int32_t *left, *right;     /* [n] partner of each op as start and as end of a pair, -1: none */
    uint64_t *layer;           /* [layers][words] ends first reached after 1, 2, ... steps */
    uint64_t *unseen, *single; /* [words] ends not reached yet; ends without a partner */
    int32_t *frontier, *next;  /* [n] starts of one layer */
    int32_t *path;             /* [layers] starts on the way down */
    int32_t *taken, *cursor;   /* [layers] end chosen at each, first word not looked at yet */
    int32_t layers;
    int64_t layer_cap, path_cap, taken_cap, cursor_cap;
} matching;

static const uint64_t *reach(const matching *m, int32_t start)
{
    return m->c->bits + start * m->c->words;
}

static void pair_up(matching *m, int32_t start, int32_t end)
{
    assert(start != end);
    m->left[start] = end;
    m->right[end] = start;
    m->single[end >> 6] &= ~((uint64_t)1 << (end & 63));
}

static bool grow_layers(matching *m)
{
    const int64_t need = (int64_t)m->layers + 1;
    return SKED_OWN_GROW(&m->arena, m->layer, m->layer_cap, need * m->c->words) &&
           SKED_OWN_GROW(&m->arena, m->path, m->path_cap, need) &&
           SKED_OWN_GROW(&m->arena, m->taken, m->taken_cap, need) &&
           SKED_OWN_GROW(&m->arena, m->cursor, m->cursor_cap, need);
}

/* Ends that the frontier reaches for the first time; true when one of them is single: then only those stay.
 */
static bool fill_layer(matching *m, int32_t frontier, uint64_t *layer)
{
    const int64_t words = m->c->words;
    memset(layer, 0, (size_t)words * sizeof *layer);
    for (int32_t k = 0; k < frontier; k++) {
        const uint64_t *row = reach(m, m->frontier[k]);
        for (int64_t w = 0; w < words; w++)
            layer[w] |= row[w];
    }
    bool done = false;
    for (int64_t w = 0; w < words; w++) {
        layer[w] &= m->unseen[w];
        m->unseen[w] &= ~layer[w];
        done = done || (layer[w] & m->single[w]);
    }
    for (int64_t w = 0; w < words && done; w++)
        layer[w] &= m->single[w];
    return done;
}

/* Layers from the starts without a partner to the nearest single ends. *found: there are such ends. */
static sked_status build_layers(matching *m, bool *found, sked_error *err)
{
    int32_t count = 0;
    memset(m->unseen, 0xff, (size_t)m->c->words * sizeof *m->unseen);
    for (int32_t i = 0; i < m->c->n; i++)
        if (m->left[i] < 0)
            m->frontier[count++] = i;
    *found = false;
    for (m->layers = 0; count > 0 && !*found; m->layers++) {
        if (!grow_layers(m))
            return sked_i_no_memory(err);
        uint64_t *layer = m->layer + m->layers * m->c->words;
        *found = fill_layer(m, count, layer);
        count = 0;
        for (int64_t w = 0; w < m->c->words; w++)
            for (uint64_t rest = layer[w]; rest && !*found; rest &= rest - 1)
                m->next[count++] = m->right[64 * w + __builtin_ctzll(rest)];
        int32_t *swap = m->frontier;
        m->frontier = m->next;
        m->next = swap;
    }
    return SKED_OK;
}

/* The next untried end of layer `depth` that path[depth] reaches, -1: none. It counts as tried. */
static int32_t next_end(matching *m, int32_t depth)
{
    assert(depth < m->layers);
    const uint64_t *row = reach(m, m->path[depth]);
    uint64_t *layer = m->layer + depth * m->c->words;
    for (int32_t w = m->cursor[depth]; w < m->c->words; w++) {
        const uint64_t both = row[w] & layer[w];
        if (both == 0)
            continue;
        m->cursor[depth] = w;
        layer[w] &= ~(both & -both);
        return 64 * w + __builtin_ctzll(both);
    }
    return -1;
}

/* Depth-first through the layers; on reaching the last one the whole path is turned over. */
static bool augment(matching *m, int32_t start)
{
    int32_t depth = 0;
    m->path[0] = start;
    m->cursor[0] = 0;
    while (depth >= 0) {
        const int32_t end = next_end(m, depth);
        if (end < 0) {
            depth--;
            continue;
        }
        m->taken[depth] = end;
        if (depth == m->layers - 1) {
            for (; depth >= 0; depth--)
                pair_up(m, m->path[depth], m->taken[depth]);
            return true;
        }
        m->path[++depth] = m->right[end];
        m->cursor[depth] = 0;
    }
    return false;
}

static int32_t match_greedily(matching *m)
{
    int32_t pairs = 0;
    for (int32_t i = 0; i < m->c->n; i++) {
        const uint64_t *row = reach(m, i);
        for (int64_t w = i >> 6; w < m->c->words && m->left[i] < 0; w++)
            if (row[w] & m->single[w])
                pair_up(m, i, (int32_t)(64 * w + __builtin_ctzll(row[w] & m->single[w])));
        pairs += m->left[i] >= 0;
    }
    return pairs;
}

sked_status sked_i_graph_width(const sked_i_closure *c, int32_t *width, sked_error *err)
{
    sked_status st = SKED_OK;
    matching m = {.c = c};
    bool found = true;
    SKED_OWN(&m.arena, m.left, c->n);
    SKED_OWN(&m.arena, m.right, c->n);
    SKED_OWN(&m.arena, m.frontier, c->n);
    SKED_OWN(&m.arena, m.next, c->n);
    SKED_OWN(&m.arena, m.unseen, c->words);
    SKED_OWN(&m.arena, m.single, c->words);
    memset(m.single, 0xff, (size_t)c->words * sizeof *m.single);
    for (int32_t i = 0; i < c->n; i++)
        m.left[i] = m.right[i] = -1;
    int32_t pairs = match_greedily(&m);
    for (;;) {
        SKED_TRY(build_layers(&m, &found, err));
        if (!found)
            break;
        for (int32_t i = 0; i < c->n; i++)
            if (m.left[i] < 0)
                pairs += augment(&m, i);
    }
    assert(pairs >= 0 && (pairs < c->n || c->n == 0)); /* the last op reaches none */
    *width = c->n - pairs;
cleanup:
    sked_i_arena_free(&m.arena);
    return st;
}
