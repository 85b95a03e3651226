/*
 * Tiled matrix factorisations. A task waits for the last writer of each tile it reads and of the tile it
 * changes. Durations are in b^3 / 3 operations for tiles of b x b, memory and bytes in tiles.
 */
#include "graph/generate.h"

#include <assert.h>

typedef struct tiles {
    sked_i_draft *plan;
    int32_t size;    /* tiles in a row */
    int32_t *writer; /* [size * size] last task that changed the tile, -1: none */
    int32_t next;    /* task */
} tiles;

static int64_t tile(const tiles *t, int32_t row, int32_t column)
{
    return (int64_t)row * t->size + column;
}

/* A task that reads tiles a and b (-1: none) and changes c. */
static void add_task(tiles *t, uint8_t kind, int64_t a, int64_t b, int64_t c)
{
    const int64_t needed[] = {a, b, c};
    const int32_t op = t->next++;
    assert(op < t->plan->n && c >= 0);
    t->plan->kind[op] = kind;
    for (int i = 0; i < 3; i++)
        if (needed[i] >= 0 && t->writer[needed[i]] >= 0)
            sked_i_draft_edge(t->plan, t->writer[needed[i]], op);
    t->writer[c] = op;
}

/* The largest matrix whose tasks are at most nodes, and room for it. */
static sked_status open_tiles(sked_i_draft *p, int64_t (*tasks)(int64_t), const sked_i_draft_kind *kinds,
                              tiles *t, sked_error *err)
{
    sked_status st = SKED_OK;
    *t = (tiles){.plan = p, .size = 1};
    while (tasks(t->size + 1) <= p->nodes)
        t->size++;
    p->n = (int32_t)tasks(t->size);
    p->kinds = kinds;
    SKED_OWN0(&p->arena, p->kind, p->n);
    SKED_OWN(&p->arena, t->writer, (int64_t)t->size * t->size);
    for (int64_t i = 0; i < (int64_t)t->size * t->size; i++)
        t->writer[i] = -1;
    SKED_TRY(sked_i_draft_reserve(p, 3.0 * p->n, "nodes", err));
cleanup:
    return st;
}

/* ------------------------------------------------------------------ cholesky */

enum { POTRF, TRSM, SYRK, GEMM };
static const sked_i_draft_kind cholesky_kinds[] = {
    {"POTRF", 1, -1}, {"TRSM", 3, -1}, {"SYRK", 3, -1}, {"GEMM", 6, -1}};

static int64_t cholesky_tasks(int64_t t)
{
    return t * (t + 1) * (t + 2) / 6;
}

static sked_status lay_out_cholesky(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    tiles t;
    SKED_TRY(open_tiles(p, cholesky_tasks, cholesky_kinds, &t, err));
    for (int32_t k = 0; k < t.size; k++) {
        add_task(&t, POTRF, -1, -1, tile(&t, k, k));
        for (int32_t i = k + 1; i < t.size; i++)
            add_task(&t, TRSM, tile(&t, k, k), -1, tile(&t, i, k));
        for (int32_t i = k + 1; i < t.size; i++) {
            add_task(&t, SYRK, tile(&t, i, k), -1, tile(&t, i, i));
            for (int32_t j = k + 1; j < i; j++)
                add_task(&t, GEMM, tile(&t, i, k), tile(&t, j, k), tile(&t, i, j));
        }
    }
cleanup:
    return st;
}

const sked_i_family sked_i_family_cholesky = {
    .info = {"cholesky", "tiled Cholesky factorisation: t(t+1)(t+2)/6 tasks for t x t tiles", NULL, 0, NULL},
    .bytes = "const:1",
    .memory = "const:1",
    .lay_out = lay_out_cholesky,
};

/* ------------------------------------------------------------------ lu */

enum { GETRF, LU_TRSM, LU_GEMM };
static const sked_i_draft_kind lu_kinds[] = {{"GETRF", 2, -1}, {"TRSM", 3, -1}, {"GEMM", 6, -1}};

static int64_t lu_tasks(int64_t t)
{
    return t * (t + 1) * (2 * t + 1) / 6;
}

static sked_status lay_out_lu(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    tiles t;
    SKED_TRY(open_tiles(p, lu_tasks, lu_kinds, &t, err));
    for (int32_t k = 0; k < t.size; k++) {
        add_task(&t, GETRF, -1, -1, tile(&t, k, k));
        for (int32_t i = k + 1; i < t.size; i++) {
            add_task(&t, LU_TRSM, tile(&t, k, k), -1, tile(&t, k, i));
            add_task(&t, LU_TRSM, tile(&t, k, k), -1, tile(&t, i, k));
        }
        for (int32_t i = k + 1; i < t.size; i++)
            for (int32_t j = k + 1; j < t.size; j++)
                add_task(&t, LU_GEMM, tile(&t, i, k), tile(&t, k, j), tile(&t, i, j));
    }
cleanup:
    return st;
}

const sked_i_family sked_i_family_lu = {
    .info = {"lu", "tiled LU factorisation without pivoting: t(t+1)(2t+1)/6 tasks for t x t tiles", NULL, 0,
             NULL},
    .bytes = "const:1",
    .memory = "const:1",
    .lay_out = lay_out_lu,
};
