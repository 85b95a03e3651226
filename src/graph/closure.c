/* Transitive closure as bit rows, and the relations between ops that follow from it. */
#include "graph/relations.h"

#include <assert.h>
#include <string.h>

/* Blocks are computed in a compact buffer, then copied out: strided rows would miss a page each. */
static void fill_blocks(const sked_i_relation_dag *d, sked_i_closure *c, uint64_t *rows)
{
    const int columns = 64 * SKED_I_SWEEP_WORDS;
    for (int64_t first = 0; first < c->n; first += columns) {
        const int64_t end = first + columns < c->n ? first + columns : c->n, word = first / 64;
        const int64_t words = c->words - word < SKED_I_SWEEP_WORDS ? c->words - word : SKED_I_SWEEP_WORDS;
        const sked_i_relation_sweep s = {
            .dag = d, .redundant = c->redundant, .column = (int32_t)first, .end = (int32_t)end};
        sked_i_sweep_bits(&s, rows);
        for (int64_t p = 0; p < end; p++)
            memcpy(c->bits + p * c->words + word, rows + p * SKED_I_SWEEP_WORDS,
                   (size_t)words * sizeof *rows);
    }
}

sked_status sked_i_closure_create(const sked_graph *g, int64_t max_bytes, sked_i_closure **out,
                                  sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = g->n_ops, words = (n + 63) / 64, bytes = n * words * 8;
    const int64_t limit = max_bytes > 0 ? max_bytes : SKED_I_CLOSURE_LIMIT;
    if (bytes > limit)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "the transitive closure of %d ops takes %lld bytes, the limit is %lld", (int)n,
                           (long long)bytes, (long long)limit);
    sked_i_relation_dag d = {0};
    uint64_t *rows = NULL;
    sked_i_closure *c = NULL;
    SKED_NEW0(c, 1);
    c->n = (int32_t)n;
    c->words = words;
    SKED_OWN0(&c->arena, c->bits, n * words);
    SKED_OWN0(&c->arena, c->redundant, g->n_edges);
    SKED_OWN(&c->arena, c->position, n);
    SKED_OWN(&c->arena, c->order, n);
    SKED_NEW(rows, n * SKED_I_SWEEP_WORDS);
    SKED_TRY(sked_i_relation_dag_create(g, &d, err));
    fill_blocks(&d, c, rows);
    memcpy(c->position, d.position, (size_t)n * sizeof *c->position);
    memcpy(c->order, d.order, (size_t)n * sizeof *c->order);
    *out = c;
    c = NULL;
cleanup:
    sked_i_relation_dag_clear(&d);
    free(rows);
    sked_i_closure_destroy(c);
    return st;
}

void sked_i_closure_destroy(sked_i_closure *c)
{
    if (c != NULL)
        sked_i_arena_free(&c->arena);
    free(c);
}

bool sked_i_relations_fill(const sked_graph *g, const sked_i_closure *c, const sked_i_limit *limit,
                           uint8_t *relation)
{
    const int64_t n = c->n;
    assert(c->n == g->n_ops);
    memset(relation, SKED_I_RELATION_INCOMPARABLE, (size_t)(n * n));
    for (int64_t i = 0; i < n; i++) {
        const uint64_t *row = sked_i_closure_row(c, (int32_t)i);
        if (i % 64 == 0 && sked_i_limit_heard(limit))
            return false;
        relation[i * n + i] = SKED_I_RELATION_SELF;
        for (int64_t w = 0; w < c->words; w++)
            for (uint64_t rest = row[w]; rest; rest &= rest - 1) {
                const int64_t j = c->order[64 * w + __builtin_ctzll(rest)];
                relation[i * n + j] = SKED_I_RELATION_PATH;
                relation[j * n + i] = SKED_I_RELATION_PATH_REVERSE;
            }
    }
    for (int kept = 0; kept < 2; kept++) /* of parallel edges the kept one decides */
        for (int64_t e = 0; e < g->n_edges; e++) {
            if (g->edge_distance[e] > 0 || c->redundant[e] == kept)
                continue;
            const int64_t i = g->edge_from[e], j = g->edge_to[e];
            relation[i * n + j] = kept ? SKED_I_RELATION_REDUCTION : SKED_I_RELATION_EDGE;
            relation[j * n + i] = kept ? SKED_I_RELATION_REDUCTION_REVERSE : SKED_I_RELATION_EDGE_REVERSE;
        }
    return true;
}
