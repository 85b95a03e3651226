/*
 * Genetic search on activity lists (Hartmann 1998; hybrid as in Valls, Ballestin, Quintanilla 2008): a child
 * takes the ends of its list from one parent and the middle from the other, every child is justified both
 * ways, and the list it leaves to its children is the order of its final starts.
 */
#include "method/search/search.h"

#include <string.h>
#include <stdio.h>
#include "method/search/learn.h"

typedef struct member {
    int32_t cost;
    bool parallel; /* decoder it was made with */
    uint64_t hash; /* of its starts */
    int32_t *list; /* [n] topological */
} member;

typedef struct population {
    sked_i_worker *w;
    int32_t n, size;
    member *member; /* [size] */
    int32_t *pool;  /* [size * n] */
    int32_t *child, *start, *position;
    uint8_t *used;
} population;

static void close_population(population *p)
{
    void *const owned[] = {p->member, p->pool, p->child, p->start, p->position, p->used};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

static bool open_population(population *p, sked_i_worker *w, int32_t size)
{
    const int64_t n = w->problem->n;
    *p = (population){.w = w, .n = w->problem->n};
    p->member = sked_i_alloc_zero(size, sizeof *p->member);
    p->pool = sked_i_alloc(size * n, sizeof *p->pool);
    p->child = sked_i_alloc(n, sizeof *p->child);
    p->start = sked_i_alloc(n, sizeof *p->start);
    p->position = sked_i_alloc(n, sizeof *p->position);
    p->used = sked_i_alloc_zero(n, sizeof *p->used);
    if (!p->member || !p->pool || !p->child || !p->start || !p->position || !p->used) {
        close_population(p);
        return false;
    }
    for (int32_t k = 0; k < size; k++)
        p->member[k].list = p->pool + k * n;
    return true;
}

/* Decodes p->child into p->start and justifies it. */
static int32_t decode(population *p, bool parallel)
{
    sked_i_worker *w = p->w;
    int32_t makespan = parallel ? sked_i_sgs_parallel(w->forward, p->child, p->start)
                                : sked_i_sgs_serial(w->forward, p->child, INT32_MAX, p->start);
    w->evaluations++;
    if (makespan == SKED_I_ABORTED)
        return SKED_I_ABORTED;
    makespan = sked_i_justify(w, makespan, p->start);
    const int32_t cost = sked_i_worker_cost(w, makespan);
    sked_i_worker_see(w, cost, p->start);
    return cost;
}

/* Keeps the child in place of the worst unless it is worse or already there. */
static void insert(population *p, int32_t cost, bool parallel, int32_t capacity)
{
    const uint64_t hash = sked_i_hash(p->start, p->n);
    int32_t worst = 0;
    for (int32_t k = 0; k < p->size; k++) {
        if (p->member[k].cost == cost && p->member[k].hash == hash)
            return;
        if (p->member[k].cost > p->member[worst].cost)
            worst = k;
    }
    if (p->size < capacity)
        worst = p->size++;
    else if (cost > p->member[worst].cost)
        return;
    member *m = &p->member[worst];
    m->cost = cost;
    m->parallel = parallel;
    m->hash = hash;
    sked_i_sgs_sort(p->w->forward, p->start, p->w->forward->core->orderly, m->list);
}

/* Latest start by longest path, blurred by up to `noise`. */
static void sample_list(population *p, double noise)
{
    const sked_i_core *core = p->w->forward->core;
    for (int32_t i = 0; i < p->n; i++) {
        const double blur = noise * (double)core->longest * sked_i_rng_uniform(&p->w->rng);
        p->w->key[i] = core->longest - core->tail[i] + (int32_t)blur;
    }
    sked_i_sgs_sort(p->w->forward, p->w->key, false, p->child);
}

static void mark_from(population *p, const int32_t *list, int32_t from, int32_t to)
{
    for (int32_t k = from; k < to; k++) {
        p->child[k] = list[k];
        p->used[list[k]] = 1;
    }
}

/* Fills child[from..to) with the first unused ops of list. */
static void fill_from(population *p, const int32_t *list, int32_t from, int32_t to)
{
    for (int32_t k = 0; from < to; k++) {
        if (p->used[list[k]])
            continue;
        p->used[list[k]] = 1;
        p->child[from++] = list[k];
    }
}

static void cross(population *p, const member *a, const member *b)
{
    sked_i_rng *r = &p->w->rng;
    int32_t x = (int32_t)sked_i_rng_below(r, (uint64_t)p->n + 1), y = (int32_t)sked_i_rng_below(r, (uint64_t)p->n + 1);
    if (x > y) {
        const int32_t t = x;
        x = y;
        y = t;
    }
    memset(p->used, 0, (size_t)p->n);
    mark_from(p, a->list, 0, x);
    fill_from(p, b->list, x, y);
    fill_from(p, a->list, y, p->n);
}

/* Moves one op to another place its predecessors and successors allow. */
static void shift_one(population *p)
{
    const sked_i_core *core = p->w->forward->core;
    sked_i_rng *r = &p->w->rng;
    const int32_t from = (int32_t)sked_i_rng_below(r, (uint64_t)p->n), i = p->child[from];
    int32_t low = 0, high = p->n - 1;
    for (int32_t k = core->pred_ptr[i]; k < core->pred_ptr[i + 1]; k++)
        low = p->position[core->pred[k].op] + 1 > low ? p->position[core->pred[k].op] + 1 : low;
    for (int32_t k = core->succ_ptr[i]; k < core->succ_ptr[i + 1]; k++)
        high = p->position[core->succ[k].op] - 1 < high ? p->position[core->succ[k].op] - 1 : high;
    const int32_t to = low + (int32_t)sked_i_rng_below(r, (uint64_t)(high - low) + 1);
    const int32_t step = to > from ? 1 : -1;
    for (int32_t k = from; k != to; k += step) {
        p->child[k] = p->child[k + step];
        p->position[p->child[k]] = k;
    }
    p->child[to] = i;
    p->position[i] = to;
}

static void mutate(population *p, int32_t moves)
{
    if (moves == 0)
        return;
    for (int32_t k = 0; k < p->n; k++)
        p->position[p->child[k]] = k;
    while (moves-- > 0)
        shift_one(p);
}

static int32_t pick(population *p)
{
    const int32_t a = (int32_t)sked_i_rng_below(&p->w->rng, (uint64_t)p->size);
    const int32_t b = (int32_t)sked_i_rng_below(&p->w->rng, (uint64_t)p->size);
    return p->member[a].cost <= p->member[b].cost ? a : b;
}

static bool flip(sked_i_rng *r, double chance)
{
    return sked_i_rng_uniform(r) < chance;
}

/* The first members: the schedule given, the priority rule itself, blurred forms of it. */
static void found(population *p, int32_t capacity)
{
    sked_i_worker *w = p->w;
    p->size = 0;
    for (int32_t k = 0; k < 3 * capacity && p->size < capacity && !sked_i_worker_over(w); k++) {
        const bool parallel = w->forward->fixed == NULL && (k & 1);
        if (k == 0 && w->seed != NULL)
            sked_i_sgs_sort(w->forward, w->seed, false, p->child);
        else
            sample_list(p, k < 3 ? 0 : 0.1 + 0.6 * sked_i_rng_uniform(&w->rng));
        const int32_t cost = decode(p, parallel);
        if (cost != SKED_I_ABORTED)
            insert(p, cost, parallel, capacity);
    }
}

/* One life of a population: until nothing has improved for a long while. */
static void evolve(population *p, int32_t capacity, int64_t patience)
{
    sked_i_worker *w = p->w;
    int32_t best = INT32_MAX;
    int64_t stale = 0;
    found(p, capacity);
    while (p->size > 1 && stale < patience && !sked_i_worker_over(w)) {
        const member *a = &p->member[pick(p)], *b = &p->member[pick(p)];
        bool parallel = a->parallel;
        cross(p, a, b);
        if (flip(&w->rng, 0.05))
            parallel = w->forward->fixed == NULL && !parallel;
        mutate(p, (int32_t)sked_i_rng_below(&w->rng, 3));
        const int32_t cost = decode(p, parallel);
        if (cost == SKED_I_ABORTED)
            break;
        stale = cost < best ? 0 : stale + 1;
        best = cost < best ? cost : best;
        insert(p, cost, parallel, capacity);
    }
}

bool sked_i_population_search(sked_i_worker *w)
{
    population p;
    const int32_t capacity = 120;
    if (!open_population(&p, w, capacity))
        return false;
    for (int32_t poor = 0; poor < 20 && !sked_i_worker_over(w);) {
        evolve(&p, capacity, 10000);
        if (getenv("LEARN") && !sked_i_worker_over(w) && sked_i_learner_fits(w, w->best)) {
            sked_i_learner *l = sked_i_learner_create(w, w->best);
            int32_t *s = malloc(sizeof *s * (size_t)w->problem->n);
            for (;;) {
                sked_i_verdict v = sked_i_learner_solve(l, w->best - 1, NULL, 0, w->best_start, 100000000, s);
                if (getenv("LEARN")[0] == 'v') fprintf(stderr, "verdict %d best %d ev %ld t %.2f\n", v, w->best, (long)w->evaluations, sked_i_limit_share(&w->limit));
                if (v == SKED_I_FOUND) {
                    int32_t ms = 0;
                    for (int32_t i = 0; i < w->problem->n; i++) { int32_t f = s[i] + w->problem->forward.duration[i]; ms = f > ms ? f : ms; }
                    ms = sked_i_justify(w, ms, s);
                    sked_i_worker_see(w, ms, s);
                } else if (v == SKED_I_REFUTED) { w->goal = w->best; break; }
                else break;
            }
            free(s);
            sked_i_learner_destroy(l);
        }
        poor = p.size < capacity / 4 ? poor + 1 : 0; /* hardly any different schedules exist */
    }
    close_population(&p);
    return true;
}
