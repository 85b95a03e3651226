/* The exact decision: builds the model in the clause-learning kernel and searches it with restarts. */
#include "engine/modulo/modulo_proof.h"
#include "base/restart.h"

#include <math.h>

enum { restart_unit = 100 };

/* Windows, edges, slots. *empty: the root bounds contradict one another. */
static bool build_solver(sked_i_modulo_exact *x, bool *empty)
{
    const sked_graph *g = x->loop->g;
    sked_i_clause_solver *s = x->solver;
    bool fine = sked_i_modulo_add_slots(x);
    for (int32_t v = 0; fine && v < x->n_vars; v++) {
        const int64_t width = v < x->n ? x->hi[v] - x->lo[v] : 1;
        fine = sked_i_clause_root_range(s, v, 0, (int32_t)width);
    }
    for (int64_t e = 0; fine && e < g->n_edges; e++) {
        const int32_t i = g->edge_from[e], j = g->edge_to[e];
        if (i == j || !sked_i_modulo_edge_counts(x, e) || x->hi[i] + x->q->weight[e] <= x->lo[j])
            continue;
        const int64_t offset = x->lo[i] + x->q->weight[e] - x->lo[j];
        fine = sked_i_clause_add_arc(s, i, j, (int32_t)offset, SKED_I_LIT_NONE);
    }
    *empty = !fine && !s->failed;
    return !s->failed;
}

/* Ops that hold something come first, early ones before late ones, until conflicts say otherwise. */
static void order_variables(sked_i_modulo_exact *x)
{
    sked_i_clause_solver *s = x->solver;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, x->q->seed, 1);
    for (int32_t v = 0; v < x->n_vars; v++) {
        const int32_t i = x->var_op[v];
        const bool order = v < x->n;
        const int64_t t = order ? x->lo[i] + 1 : x->lo[i] + (v - x->slot_base[i]);
        if (x->slots[i] > 0)
            s->activity.score[v] =
                (order ? 1e-3 : 5e-4) / (1.0 + fabs((double)t)) * (1 + 1e-3 * sked_i_rng_uniform(&rng));
        if (x->q->hint == NULL)
            continue;
        const int64_t ahead = x->q->hint[i] - x->lo[i], last = x->hi[i] - x->lo[i];
        s->phase[v] = !order      ? (x->q->hint[i] - t) % x->ii == 0
                      : ahead < 0 ? 0
                                  : (int32_t)(ahead < last ? ahead : last);
        s->has_phase = true;
    }
}

sked_i_verdict sked_i_modulo_search(sked_i_modulo_exact *x, const sked_i_limit *limit)
{
    sked_i_clause_solver *s = x->solver;
    sked_i_verdict v = SKED_I_UNDECIDED;
    sked_i_clause_budget b = {.limit = limit};
    for (int64_t k = 0; v == SKED_I_UNDECIDED && !s->failed; k++) {
        const int64_t left = x->q->conflicts - s->stats.conflicts, length = restart_unit * sked_i_luby(k);
        b.conflicts = left < length ? left : length;
        if (left <= 0 || sked_i_limit_reached(limit))
            break;
        v = sked_i_clause_solve(s, &b);
    }
    return v;
}

void sked_i_modulo_close(sked_i_modulo_exact *x)
{
    sked_i_arena_free(&x->arena);
    sked_i_clause_destroy(x->solver);
}

sked_status sked_i_modulo_open(sked_i_modulo_exact *x, const sked_i_loop *loop,
                               const sked_i_modulo_question *q, bool *empty, sked_error *err)
{
    sked_status st = SKED_OK;
    bool too_large = false;
    *x = (sked_i_modulo_exact){.loop = loop, .q = q, .n = loop->n, .ii = q->ii};
    *empty = false;
    SKED_TRY(sked_i_modulo_model(x, empty, &too_large, err));
    if (*empty || too_large)
        return SKED_OK;
    SKED_TRY(sked_i_clause_create(x->n_vars, x->n, q->seed, &x->solver, err));
    order_variables(x);
    if (!build_solver(x, empty))
        SKED_TRY(sked_i_no_memory(err));
cleanup:
    return st;
}

sked_status sked_i_modulo_decide(const sked_i_loop *loop, const sked_i_modulo_question *q,
                                 const sked_i_limit *limit, sked_i_verdict *verdict, int64_t *start,
                                 int64_t *conflicts, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_modulo_exact x;
    bool empty;
    *verdict = SKED_I_UNDECIDED;
    SKED_TRY(sked_i_modulo_open(&x, loop, q, &empty, err));
    if (empty)
        *verdict = SKED_I_REFUTED;
    else if (x.solver != NULL)
        *verdict = sked_i_modulo_search(&x, limit);
    if (x.solver != NULL && x.solver->failed)
        SKED_TRY(sked_i_no_memory(err));
    for (int32_t i = 0; *verdict == SKED_I_FOUND && i < loop->n; i++)
        start[i] = x.lo[i] + x.solver->low[2 * i];
cleanup:
    if (conflicts != NULL)
        *conflicts = x.solver != NULL ? x.solver->stats.conflicts : 0;
    sked_i_modulo_close(&x);
    return st;
}
