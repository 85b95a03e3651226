/*
 * Loop bodies for modulo scheduling: loads, stores, multiplications and additions on three kinds of units,
 * values used within the iteration and, along back edges of distance 1 and more, in later ones. Every cycle
 * has a positive distance and every op fits its pool, so a large enough initiation interval is feasible.
 */
#include "graph/generate.h"

#include <math.h>

enum { WINDOW, RECURRENCES, DISTANCE, PORTS, MULTIPLIERS, ALUS };
static const sked_option options[] = {
    {"window", SKED_OPTION_INT, "16", 1, 1e9, NULL, "an op uses results of at most so many ops before it"},
    {"recurrences", SKED_OPTION_REAL, "0.1", 0, 1, NULL, "back edges per op (at least one in all)"},
    {"distance", SKED_OPTION_INT, "2", 1, 1000, NULL, "largest distance of a back edge, in iterations"},
    {"ports", SKED_OPTION_INT, "2", 1, 1e9, NULL, "capacity of MEM, for loads and stores"},
    {"multipliers", SKED_OPTION_INT, "2", 1, 1e9, NULL, "capacity of MUL"},
    {"alus", SKED_OPTION_INT, "2", 1, 1e9, NULL, "capacity of ALU, for additions"},
};

enum { LOAD, STORE, MUL, ADD };
static const sked_i_draft_kind kinds[] = {{"Load", 2, 0}, {"Store", 1, 0}, {"Mul", 3, 1}, {"Add", 1, 2}};

/* A quarter loads, an eighth stores, a quarter multiplications, the rest additions; the first op loads. */
static uint8_t draw_kind(sked_i_draft *p, int32_t op)
{
    static const uint8_t mix[] = {LOAD, LOAD, STORE, MUL, MUL, ADD, ADD, ADD};
    return op == 0 ? LOAD : mix[sked_i_rng_below(&p->rng, 8)];
}

/* One of the ops `nearest` to `window` places before op. */
static int32_t draw_before(sked_i_draft *p, int32_t op, int64_t nearest)
{
    const int64_t window = (int64_t)p->value[WINDOW], reach = op < window ? op : window;
    return (int32_t)(op - nearest - (int64_t)sked_i_rng_below(&p->rng, (uint64_t)(reach + 1 - nearest)));
}

/* An earlier op that has a result, -1 where a few draws find none. */
static int32_t draw_input(sked_i_draft *p, int32_t op)
{
    for (int attempt = 0; attempt < 8 && op > 0; attempt++) {
        const int32_t input = draw_before(p, op, 1);
        if (p->kind[input] != STORE)
            return input;
    }
    return -1;
}

static void add_inputs(sked_i_draft *p, int32_t op)
{
    const uint8_t kind = p->kind[op];
    const int inputs = kind == LOAD ? (int)sked_i_rng_below(&p->rng, 2) : kind == STORE ? 1 : 2;
    for (int i = 0; i < inputs; i++) {
        const int32_t input = draw_input(p, op);
        if (input >= 0)
            sked_i_draft_carried(p, input, op, 0);
    }
}

static sked_status lay_out(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    p->kinds = kinds;
    p->pool[0] = (sked_i_draft_pool){"MEM", p->value[PORTS]};
    p->pool[1] = (sked_i_draft_pool){"MUL", p->value[MULTIPLIERS]};
    p->pool[2] = (sked_i_draft_pool){"ALU", p->value[ALUS]};
    p->n_pools = 3;
    SKED_OWN(&p->arena, p->kind, p->n);
    for (int32_t op = 0; op < p->n; op++) {
        p->kind[op] = draw_kind(p, op);
        add_inputs(p, op);
    }
    const int64_t back = (int64_t)fmax(1, floor(p->value[RECURRENCES] * p->n + 0.5));
    for (int64_t k = 0; k < back; k++) {
        const int32_t op = (int32_t)sked_i_rng_below(&p->rng, (uint64_t)p->n);
        const int32_t distance = 1 + (int32_t)sked_i_rng_below(&p->rng, (uint64_t)p->value[DISTANCE]);
        sked_i_draft_carried(p, op, draw_before(p, op, 0), distance);
    }
cleanup:
    return st;
}

const sked_i_family sked_i_family_loop = {
    .info = {"loop", "a loop body with back edges on limited units: a modulo scheduling problem", options,
             COUNT_OF(options), NULL},
    .bytes = "const:1",
    .memory = "const:1",
    .lay_out = lay_out,
};
