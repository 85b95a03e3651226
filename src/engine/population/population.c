#include "engine/population/population.h"

#include "schedule/equal.h"

#include <assert.h>
#include <string.h>

enum { max_genes = 1 << 24, large = 5000 }; /* ops in all lists; a decode may take the time there is */

typedef struct member {
    int32_t cost;
    int64_t crowd; /* breaks ties: how much of it finishes near its end */
    bool parallel; /* decoder it was made with */
    uint64_t hash; /* of its starts */
    int32_t *list; /* [n] topological */
} member;

struct sked_i_population {
    sked_i_justifier *decode;
    sked_i_client *client;
    sked_i_population_see *see;
    const int32_t *seed; /* [n] keys of the next member to be made, NULL: none */
    int32_t n, size, capacity;
    int32_t founded;         /* lists sampled for this population so far */
    int32_t best;            /* cost within this life */
    int64_t stale, patience; /* children since it improved; the life ends at patience */
    int32_t lives, poor;     /* poor: lives in a row with hardly any different schedules */
    member *member;          /* [size] */
    int32_t *pool;           /* [size * n] */
    int32_t *child, *start, *position;
    uint8_t *used;
};
typedef sked_i_population population;

/* Long lists need more of them, and have fewer where evaluations are dear. All lists fit into memory. */
static int64_t size_for(int64_t n)
{
    const int64_t fit = max_genes / (n + 1), most = n < 60 ? 120 : 3 * n - 60, dear = 72000 / (n + 1);
    const int64_t usual = dear < 60 ? 60 : dear > most ? most : dear;
    return fit < 8 ? 8 : fit < usual ? fit : usual;
}

sked_i_population *sked_i_population_create(sked_i_arena *arena, sked_i_justifier *decode,
                                            sked_i_client *client, sked_i_population_see *see)
{
    const int64_t n = decode->forward->core->n, size = size_for(n);
    population *p = sked_i_arena_alloc_zero(arena, 1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->decode = decode;
    p->client = client;
    p->see = see;
    p->n = (int32_t)n;
    p->capacity = (int32_t)size;
    p->patience = 10000;
    p->best = INT32_MAX;
    p->member = sked_i_arena_alloc_zero(arena, size, sizeof *p->member);
    p->pool = sked_i_arena_alloc(arena, size * n, sizeof *p->pool);
    p->child = sked_i_arena_alloc(arena, n, sizeof *p->child);
    p->start = sked_i_arena_alloc(arena, n, sizeof *p->start);
    p->position = sked_i_arena_alloc(arena, n, sizeof *p->position);
    p->used = sked_i_arena_alloc_zero(arena, n, sizeof *p->used);
    if (!p->member || !p->pool || !p->child || !p->start || !p->position || !p->used)
        return NULL;
    for (int32_t k = 0; k < size; k++)
        p->member[k].list = p->pool + k * n;
    return p;
}

#ifndef NDEBUG
/* Every op stands once in the list, after its predecessors. position is scratch. */
static bool is_topological(const population *p, const int32_t *list)
{
    const sked_i_core *core = p->decode->forward->core;
    for (int32_t i = 0; i < p->n; i++)
        p->position[i] = -1;
    for (int32_t k = 0; k < p->n; k++) {
        const int32_t i = list[k];
        for (int32_t q = core->pred_ptr[i]; q < core->pred_ptr[i + 1]; q++)
            if (p->position[core->pred[q].op] < 0)
                return false;
        if (p->position[i] >= 0)
            return false;
        p->position[i] = k;
    }
    return true;
}
#endif

/* Forward-backward improvement, counted. start is changed in place; returns the makespan. */
static int32_t justify(population *p, int32_t makespan, int32_t *start)
{
    const int64_t before = p->decode->evaluations;
    makespan = sked_i_justify(p->decode, makespan, start);
    p->client->evaluations += p->decode->evaluations - before;
    return makespan;
}

/* Decodes p->child into p->start and justifies it. */
static int32_t decode(population *p, bool parallel)
{
    sked_i_sgs *forward = p->decode->forward;
    assert(is_topological(p, p->child));
    int32_t makespan = parallel ? sked_i_sgs_parallel(forward, p->child, p->start)
                                : sked_i_sgs_serial(forward, p->child, INT32_MAX, p->start);
    p->client->evaluations++;
    if (makespan == SKED_I_ABORTED)
        return SKED_I_ABORTED;
    if (p->n > large)
        p->see(p->client, sked_i_justifier_cost(p->decode, makespan), p->start);
    makespan = justify(p, makespan, p->start);
    const int32_t cost = sked_i_justifier_cost(p->decode, makespan);
    p->see(p->client, cost, p->start);
    return cost;
}

/* Makespans form plateaus; of two equal ones the one with less to do near its end is closer to a shorter. */
static int64_t crowd_of(const population *p, int32_t cost)
{
    const sked_i_core *core = p->decode->forward->core;
    const int32_t late = cost - cost / 8 - 2;
    int64_t sum = 0;
    for (int32_t i = 0; i < p->n; i++) {
        const int32_t past = p->start[i] + core->duration[i] - late;
        sum += past > 0 ? past : 0;
    }
    return sum;
}

static bool is_worse(const member *a, const member *b)
{
    return a->cost > b->cost || (a->cost == b->cost && a->crowd > b->crowd);
}

/* Keeps the child in place of the worst unless it is worse or already there. */
static void insert(population *p, int32_t cost, bool parallel)
{
    const uint64_t hash = sked_i_schedule_hash_steps(p->start, p->n);
    member child = {.cost = cost, .crowd = crowd_of(p, cost), .parallel = parallel, .hash = hash};
    int32_t worst = 0;
    for (int32_t k = 0; k < p->size; k++) {
        if (p->member[k].cost == cost && p->member[k].hash == hash)
            return;
        if (is_worse(&p->member[k], &p->member[worst]))
            worst = k;
    }
    if (p->size < p->capacity)
        worst = p->size++;
    else if (is_worse(&child, &p->member[worst]))
        return;
    child.list = p->member[worst].list;
    p->member[worst] = child;
    /* An op fixed too early stands before its predecessors: then the starts are in no topological order. */
    const sked_i_sgs *forward = p->decode->forward;
    sked_i_sgs_sort(p->decode->forward, p->start, forward->core->orderly && forward->fixed == NULL,
                    child.list);
}

/* Latest start by longest path, blurred by up to `noise`. */
static void sample_list(population *p, double noise)
{
    const sked_i_core *core = p->decode->forward->core;
    for (int32_t i = 0; i < p->n; i++) {
        const double blur = noise * (double)core->longest * sked_i_rng_uniform(&p->client->rng);
        p->decode->key[i] = core->longest - core->tail[i] + (int32_t)blur;
    }
    sked_i_sgs_sort(p->decode->forward, p->decode->key, false, p->child);
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
    sked_i_rng *r = &p->client->rng;
    int32_t x = (int32_t)sked_i_rng_below(r, (uint64_t)p->n + 1),
            y = (int32_t)sked_i_rng_below(r, (uint64_t)p->n + 1);
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

static void mutate(population *p, int32_t moves)
{
    if (moves == 0)
        return;
    for (int32_t k = 0; k < p->n; k++)
        p->position[p->child[k]] = k;
    while (moves-- > 0)
        sked_i_sgs_shift(p->decode->forward->core, &p->client->rng, p->child, p->position);
}

static int32_t pick(population *p)
{
    assert(p->size > 0 && p->size <= p->capacity);
    const int32_t a = (int32_t)sked_i_rng_below(&p->client->rng, (uint64_t)p->size);
    const int32_t b = (int32_t)sked_i_rng_below(&p->client->rng, (uint64_t)p->size);
    return is_worse(&p->member[a], &p->member[b]) ? b : a;
}

/* The next first member: the schedule given, the priority rule itself, blurred forms of it. */
static bool found_one(population *p)
{
    const int32_t k = p->founded++;
    const bool parallel = p->decode->forward->fixed == NULL && p->seed == NULL && !(k & 1);
    if (p->seed != NULL)
        sked_i_sgs_sort(p->decode->forward, p->seed, false, p->child);
    else
        sample_list(p, k < 3 ? 0 : 0.1 + 0.6 * sked_i_rng_uniform(&p->client->rng));
    p->seed = NULL;
    const int32_t cost = decode(p, parallel);
    if (cost == SKED_I_ABORTED)
        return false;
    insert(p, cost, parallel);
    return true;
}

static bool breed(population *p)
{
    sked_i_rng *r = &p->client->rng;
    const member *a = &p->member[pick(p)], *b = &p->member[pick(p)];
    bool parallel = a->parallel;
    cross(p, a, b);
    if (sked_i_rng_uniform(r) < 0.05)
        parallel = p->decode->forward->fixed == NULL && !parallel;
    mutate(p, (int32_t)sked_i_rng_below(r, 3));
    const int32_t cost = decode(p, parallel);
    if (cost == SKED_I_ABORTED)
        return false;
    p->stale = cost < p->best ? 0 : p->stale + 1;
    p->best = cost < p->best ? cost : p->best;
    insert(p, cost, parallel);
    return true;
}

static void begin_life(population *p)
{
    p->poor = p->size < p->capacity / 4 ? p->poor + 1 : 0;
    p->size = p->founded = 0;
    p->stale = 0;
    p->best = INT32_MAX;
    p->lives++;
}

bool sked_i_population_renew(sked_i_population *p)
{
    if (p->stale < p->capacity)
        return false;
    begin_life(p);
    return true;
}

bool sked_i_population_run(sked_i_population *p, int64_t evaluations)
{
    const int64_t until = p->client->evaluations + evaluations;
    while (p->client->evaluations < until && !sked_i_client_over(p->client)) {
        if (p->seed != NULL || (p->size < p->capacity && p->founded < 3 * p->capacity)) {
            if (!found_one(p))
                return true;
        } else if (p->size < 2 || p->stale >= p->patience) {
            begin_life(p);
        } else if (!breed(p)) {
            return true;
        }
    }
    const bool rich = p->poor < 20;
    p->poor = rich ? p->poor : 0; /* the next call has as many lives again */
    return rich;
}

void sked_i_population_seed(sked_i_population *p, const int32_t *key)
{
    p->seed = key;
}

static int32_t makespan_of(const sked_i_core *core, const int32_t *start)
{
    int32_t latest = 0;
    for (int32_t i = 0; i < core->n; i++)
        latest = start[i] + core->duration[i] > latest ? start[i] + core->duration[i] : latest;
    return latest;
}

void sked_i_population_adopt(sked_i_population *p, int32_t *start)
{
    const int32_t makespan = justify(p, makespan_of(p->decode->forward->core, start), start);
    p->see(p->client, makespan, start);
    memcpy(p->start, start, (size_t)p->n * sizeof *start);
    insert(p, makespan, false);
}

bool sked_i_population_draw(sked_i_population *p, int32_t cost, int32_t *start)
{
    if (p->size == 0)
        return false;
    const int32_t first = (int32_t)sked_i_rng_below(&p->client->rng, (uint64_t)p->size);
    for (int32_t k = 0; k < p->size; k++) {
        const member *m = &p->member[(first + k) % p->size];
        if (m->cost != cost)
            continue;
        p->client->evaluations++;
        return sked_i_sgs_serial(p->decode->forward, m->list, INT32_MAX, start) <= cost;
    }
    return false;
}
