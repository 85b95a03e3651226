/* Tabu search over N7 moves on one critical path per step. */
#include "engine/shop/tabu.h"

#include <assert.h>

typedef struct choice {
    sked_i_shop_move move, fallback;
    double value;
    uint64_t ties, blocked; /* moves as good as `move`; tabu moves seen */
} choice;

sked_status sked_i_shop_tabu_init(sked_i_shop_tabu *t, const sked_i_shop_model *m, uint64_t seed,
                                  uint64_t stream, sked_error *err)
{
    sked_status st = SKED_OK;
    *t = (sked_i_shop_tabu){.best = INFINITY, .target = -INFINITY};
    sked_i_rng_seed(&t->rng, seed, stream);
    SKED_TRY(sked_i_shop_create(m, &t->shop, err));
    SKED_OWN0(&t->arena, t->until, m->pair_mask + 1);
    SKED_OWN(&t->arena, t->path, m->n);
    SKED_OWN(&t->arena, t->best_sequence, m->n_members);
    const int32_t machines = m->n_machines > 0 ? m->n_machines : 1, users = m->n_members / machines;
    t->tenure_low = 10 + users / machines;
    t->tenure_span = (users <= 2 * machines ? 4 : 5) * t->tenure_low / 10 + 1;
cleanup:
    return st;
}

void sked_i_shop_tabu_free(sked_i_shop_tabu *t)
{
    sked_i_shop_destroy(t->shop);
    sked_i_arena_free(&t->arena);
}

static void note_best(sked_i_shop_tabu *t)
{
    t->best = t->shop->makespan;
    t->improved_at = t->step;
    sked_i_shop_save(t->shop, t->best_sequence);
}

void sked_i_shop_tabu_begin(sked_i_shop_tabu *t)
{
    t->step += t->tenure_low + t->tenure_span + 1; /* old marks have run out */
    note_best(t);
}

static inline int64_t *mark_of(const sked_i_shop_tabu *t, int32_t first, int32_t second)
{
    const sked_i_shop_model *m = t->shop->model;
    return &t->until[(m->pair_row[first] + m->rank[second]) & m->pair_mask];
}

/* Would the move bring back an order that was given up a short while ago? */
static bool is_tabu(const sked_i_shop_tabu *t, sked_i_shop_move move)
{
    const int32_t op = move.forward ? move.u : move.v, end = move.forward ? move.v : move.u;
    const int32_t *next = move.forward ? t->shop->after : t->shop->before;
    for (int32_t x = next[op];; x = next[x]) {
        if (*(move.forward ? mark_of(t, x, op) : mark_of(t, op, x)) > t->step)
            return true;
        if (x == end)
            return false;
    }
}

static void consider(sked_i_shop_tabu *t, choice *c, int32_t u, int32_t v, bool forward)
{
    const sked_i_shop_move move = {u, v, forward};
    if (!sked_i_shop_allows(t->shop, move))
        return;
    const double value = sked_i_shop_estimate(t->shop, move);
    if (value >= t->best && is_tabu(t, move)) {
        if (sked_i_rng_below(&t->rng, ++c->blocked) == 0)
            c->fallback = move;
        return;
    }
    if (value > c->value || (value == c->value && sked_i_rng_below(&t->rng, ++c->ties) != 0))
        return;
    if (value < c->value)
        c->ties = 1;
    c->value = value;
    c->move = move;
}

/*
 * Moves within a block b[0..k]. Ops go behind its end or before its front (N6); its first and last op also
 * go to places inside (N7). Moves at the front of the first block and the end of the last cannot shorten
 * this path, but leaving them out searched worse.
 */
static void scan_block(sked_i_shop_tabu *t, choice *c, const int32_t *b, int32_t k)
{
    consider(t, c, b[0], b[k], true);
    if (k == 1)
        return;
    consider(t, c, b[0], b[k], false);
    for (int32_t i = 1; i < k; i++) {
        consider(t, c, b[i], b[k], true);
        consider(t, c, b[0], b[i], false);
        consider(t, c, b[0], b[i], true);
        consider(t, c, b[i], b[k], false);
    }
}

static void scan_path(sked_i_shop_tabu *t, choice *c, int32_t length)
{
    const sked_i_shop *s = t->shop;
    for (int32_t i = 0, j; i < length; i = j + 1) {
        for (j = i; j + 1 < length && s->after[t->path[j]] == t->path[j + 1]; j++)
            continue;
        if (j > i)
            scan_block(t, c, t->path + i, j - i);
    }
}

/* Every pair the move turns round may not turn back for a while. */
static void forbid_return(sked_i_shop_tabu *t, sked_i_shop_move move)
{
    const sked_i_shop *s = t->shop;
    const int64_t until =
        t->step + t->tenure_low + (int64_t)sked_i_rng_below(&t->rng, (uint64_t)t->tenure_span);
    const int32_t op = move.forward ? move.u : move.v, end = move.forward ? move.v : move.u;
    const int32_t *next = move.forward ? s->after : s->before;
    for (int32_t x = next[op];; x = next[x]) {
        *(move.forward ? mark_of(t, op, x) : mark_of(t, x, op)) = until;
        if (x == end)
            return;
    }
}

static bool take_step(sked_i_shop_tabu *t)
{
    sked_i_shop *s = t->shop;
    choice c = {.value = INFINITY};
    scan_path(t, &c, sked_i_shop_critical(s, &t->rng, t->path));
    t->step++;
    if (isinf(c.value)) {
        if (c.blocked == 0)
            return false;
        c.move = c.fallback;
    }
    const int32_t first = s->at[c.move.u], last = s->at[c.move.v];
    forbid_return(t, c.move);
    if (!sked_i_shop_relocate(s, c.move))
        return false;
    assert(s->at[c.move.u] >= first && s->at[c.move.v] <= last); /* what was moved stayed in the window */
    sked_i_shop_times(s, first, last);
    if (s->makespan < t->best)
        note_best(t);
    return true;
}

bool sked_i_shop_tabu_walk(sked_i_shop_tabu *t, int64_t steps, const sked_i_limit *limit)
{
    const int64_t every = 1 + 4096 / (1 + t->shop->model->n); /* steps between looks at the clock */
    for (int64_t k = 0; k < steps; k++) {
        if (k % every == 0 && sked_i_limit_reached(limit))
            return true;
        if (t->best <= t->target || !take_step(t))
            return false;
    }
    return true;
}
