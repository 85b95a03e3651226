/* Graphs of one regular shape: chains, fork-join phases, trees, the FFT. */
#include "graph/generate.h"

/* ------------------------------------------------------------------ chain */

static const sked_option chain_options[] = {
    {"chains", SKED_OPTION_INT, "1", 1, 1e9, NULL, "independent chains that share the ops evenly"},
};

static sked_status lay_out_chain(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = p->nodes, asked = (int64_t)p->value[0], chains = asked < n ? asked : n;
    SKED_TRY(sked_i_draft_reserve(p, (double)n, "chain: nodes", err));
    for (int64_t c = 0; c < chains; c++)
        for (int64_t i = n * c / chains + 1; i < n * (c + 1) / chains; i++)
            sked_i_draft_edge(p, (int32_t)(i - 1), (int32_t)i);
cleanup:
    return st;
}

const sked_i_family sked_i_family_chain = {
    .info = {"chain", "one op after the other, in one or several chains", chain_options,
             COUNT_OF(chain_options), "int:1,10"},
    .lay_out = lay_out_chain,
};

/* ------------------------------------------------------------------ fork-join */

enum { FJ_WIDTH, FJ_LENGTH };
static const sked_option fork_join_options[] = {
    {"width", SKED_OPTION_INT, "8", 1, 1e9, NULL, "parallel branches of a phase"},
    {"length", SKED_OPTION_INT, "1", 1, 1e9, NULL, "ops in a branch"},
};

enum { SYNC, WORK };
static const sked_i_draft_kind fork_join_kinds[] = {{"Sync", 1, -1}, {"Work", 1, -1}};

/* One phase of `body` ops between two sync ops; the second one is returned. */
static int32_t add_phase(sked_i_draft *p, int32_t fork, int32_t first, int64_t body, int64_t length)
{
    const int32_t join = (int32_t)(first + body);
    for (int64_t k = 0; k < body; k++) {
        const int32_t op = (int32_t)(first + k);
        p->kind[op] = WORK;
        sked_i_draft_edge(p, k % length == 0 ? fork : op - 1, op);
        if (k % length == length - 1 || k == body - 1)
            sked_i_draft_edge(p, op, join);
    }
    if (body == 0)
        sked_i_draft_edge(p, fork, join);
    return join;
}

static sked_status lay_out_fork_join(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t length = (int64_t)p->value[FJ_LENGTH], phase = (int64_t)p->value[FJ_WIDTH] * length;
    SKED_OWN0(&p->arena, p->kind, p->n);
    p->kinds = fork_join_kinds;
    SKED_TRY(sked_i_draft_reserve(p, 2.0 * p->n, "fork-join: nodes", err));
    for (int32_t sync = 0; sync < p->n - 1;) {
        const int64_t left = (int64_t)p->n - sync - 2; /* but for the join */
        sync = add_phase(p, sync, sync + 1, phase < left ? phase : left, length);
    }
cleanup:
    return st;
}

const sked_i_family sked_i_family_fork_join = {
    .info = {"fork-join", "phases of parallel branches between ops that wait for all", fork_join_options,
             COUNT_OF(fork_join_options), "int:1,10"},
    .lay_out = lay_out_fork_join,
};

/* ------------------------------------------------------------------ tree */

enum { TREE_ARITY, TREE_DIRECTION };
static const sked_option tree_options[] = {
    {"arity", SKED_OPTION_INT, "2", 1, 1e9, NULL, "children of an op"},
    {"direction", SKED_OPTION_ENUM, "in", 0, 0, "in|out",
     "in: from the leaves to the root; out: from the root"},
};

enum { LEAF, INNER };
static const sked_i_draft_kind tree_kinds[] = {{"Leaf", 1, -1}, {"Inner", 1, -1}};

static sked_status lay_out_tree(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = p->nodes, arity = (int64_t)p->value[TREE_ARITY];
    const bool in = p->value[TREE_DIRECTION] == 0;
    SKED_OWN0(&p->arena, p->kind, p->n);
    p->kinds = tree_kinds;
    SKED_TRY(sked_i_draft_reserve(p, (double)n, "tree: nodes", err));
    for (int64_t i = 1; i < n; i++) { /* numbered as in a heap, backwards where edges go to the root */
        const int64_t parent = (i - 1) / arity, a = in ? n - 1 - i : parent, b = in ? n - 1 - parent : i;
        p->kind[in ? b : a] = INNER;
        sked_i_draft_edge(p, (int32_t)a, (int32_t)b);
    }
cleanup:
    return st;
}

const sked_i_family sked_i_family_tree = {
    .info = {"tree", "a complete tree towards its root (a reduction) or away from it", tree_options,
             COUNT_OF(tree_options), "int:1,10"},
    .lay_out = lay_out_tree,
};

/* ------------------------------------------------------------------ fft */

static const sked_i_draft_kind fft_kinds[] = {{"Butterfly", 1, -1}};

/* The butterfly of stage `stage` that gives point x: x without its bit `stage`. */
static int64_t butterfly_of(int64_t x, int stage)
{
    return (x >> (stage + 1) << stage) | (x & (((int64_t)1 << stage) - 1));
}

static sked_status lay_out_fft(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    int stages = 1;
    while (((int64_t)stages + 1) << stages <= p->nodes)
        stages++;
    const int64_t half = (int64_t)1 << (stages - 1); /* butterflies of a stage */
    p->n = (int32_t)(stages * half);
    p->kinds = fft_kinds;
    SKED_TRY(sked_i_draft_reserve(p, 2.0 * p->n, "fft: nodes", err));
    for (int s = 1; s < stages; s++)
        for (int64_t b = 0; b < half; b++) {
            const int64_t x = (b >> s << (s + 1)) | (b & (((int64_t)1 << s) - 1)), y = x | (int64_t)1 << s;
            const int64_t op = s * half + b, before = (s - 1) * half;
            sked_i_draft_edge(p, (int32_t)(before + butterfly_of(x, s - 1)), (int32_t)op);
            sked_i_draft_edge(p, (int32_t)(before + butterfly_of(y, s - 1)), (int32_t)op);
        }
cleanup:
    return st;
}

const sked_i_family sked_i_family_fft = {
    .info = {"fft", "the butterflies of a radix-2 fast Fourier transform: k stages of 2^(k-1)", NULL, 0,
             NULL},
    .bytes = "const:1",
    .memory = "const:2",
    .lay_out = lay_out_fft,
};
