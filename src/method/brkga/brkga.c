/*
 * Populations of random keys. The best members stay, some are drawn at random, the rest are children of one
 * of the best and one of the others that take each key from the better parent with a probability above one
 * half. Threads are islands: each has its own population, and at fixed generations the best of one replaces
 * the worst of the next, so that the result depends on seed and threads only.
 */
#include "method/brkga/brkga.h"

#include "method/crew.h"

#include <assert.h>
#include <string.h>

#define BRKGA_OPTIONS(X)                                                                                     \
    X(DECODER, "decoder", ENUM, "mixed", 0, 0, "mixed|serial|parallel|insertion",                            \
      "serial: op by op, each where it fits first, on the device its key names; parallel: through time; "    \
      "insertion: op by op, on the device where it finishes first; mixed: a key of its own chooses")         \
    X(PRIORITY, "priority", ENUM, "mixed", 0, 0, "mixed|path|key",                                           \
      "what the key of an op scales: its bottom level, nothing (the key itself is the priority), or what a " \
      "key of "                                                                                              \
      "its own chooses")                                                                                     \
    X(POPULATION, "population", INT, "100", 4, 100000, NULL,                                                 \
      "members per thread; at least twice the candidates asked for, fewer on graphs of over 100,000 ops")    \
    X(ELITE, "elite", REAL, "0.2", 0.01, 0.5, NULL, "share of the best members that stay")                   \
    X(MUTANTS, "mutants", REAL, "0.15", 0, 0.45, NULL,                                                       \
      "share of members drawn at random in each generation")                                                 \
    X(BIAS, "bias", REAL, "0.7", 0.5, 1, NULL, "probability that a key comes from the better parent")        \
    X(PATIENCE, "patience", INT, "100", 1, 1e9, NULL,                                                        \
      "generations without a better schedule after which a population starts again; not with candidates")    \
    X(EXCHANGE, "exchange", INT, "20", 1, 1e9, NULL, "generations between exchanges of the best by threads") \
    X(JUSTIFY, "justify", BOOL, "true", 0, 0, NULL,                                                          \
      "push every schedule right, then left, before it counts; where all devices are alike")

SKED_I_OPTIONS(BRKGA_OPTIONS);

typedef struct member {
    double cost;
    uint64_t hash;
    int32_t row;
    bool repeated; /* another member is the same schedule */
} member;

/* What the islands share. */
typedef struct islands {
    sked_i_crew crew;
    sked_i_brkga_space *space;
    const double *setting;
    float *given;        /* [keys] to begin with, NULL: none */
    int32_t size;        /* of a population */
    int64_t until, last; /* generations: of this round, of the run */
    bool restarts;
} islands;

/* A worker with a population of its own. A solution is keys. */
typedef struct island {
    sked_i_crew_worker base; /* its incumbent: the best keys ever */
    const islands *shared;
    sked_i_brkga_decoder decoder;
    int32_t size;
    float *key;  /* [2 * size * keys] rows of members, then room for as many children */
    member *now; /* [size] best first */
    int64_t generation, stale;
    double best; /* since the population began */
    bool founded;
} island;

enum { technique_founding, technique_evolution };

/* ------------------------------------------------------------------ one population */

static float *row(const island *x, int32_t r)
{
    assert(r >= 0 && r < 2 * x->shared->size);
    return x->key + (int64_t)r * x->shared->space->keys;
}

static bool over(island *x)
{
    return sked_i_crew_over(&x->base.client);
}

static double decode(island *x, const float *key)
{
    const double cost = sked_i_brkga_decoder_cost(&x->decoder, key);
    x->base.client.evaluations = x->decoder.evaluations;
    if (x->decoder.status != SKED_OK)
        sked_i_crew_fail(&x->base, sked_i_no_memory(&x->base.hand.error));
    return cost;
}

static void judge(island *x, member *m)
{
    const float *key = row(x, m->row);
    m->cost = decode(x, key);
    m->hash = x->decoder.hash;
    m->repeated = false;
    if (m->cost < x->best) {
        x->best = m->cost;
        x->stale = 0;
    }
    x->base.least = fmin(x->base.least, m->cost);
    if (m->cost < x->base.best)
        sked_i_brkga_decoder_keep(&x->decoder);
    if (sked_i_crew_wants(&x->base, m->cost))
        sked_i_crew_see(&x->base, m->cost, key);
}

static void draw(island *x, int32_t r)
{
    float *key = row(x, r);
    for (int32_t q = 0; q < x->shared->space->keys; q++)
        key[q] = (float)(sked_i_rng_next(&x->base.client.rng) >> 40) * 0x1p-24F;
}

static int by_cost(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->repeated != y->repeated)
        return x->repeated ? 1 : -1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Best first; of equal schedules all but one go to the end, so that the best are all different. */
static void rank_members(island *x)
{
    for (int32_t k = 0; k < x->size; k++)
        x->now[k].repeated = false;
    qsort(x->now, (size_t)x->size, sizeof *x->now, by_cost);
    bool any = false;
    for (int32_t k = 1; k < x->size; k++) {
        x->now[k].repeated = x->now[k].cost == x->now[k - 1].cost && x->now[k].hash == x->now[k - 1].hash;
        any = any || x->now[k].repeated;
    }
    if (any)
        qsort(x->now, (size_t)x->size, sizeof *x->now, by_cost);
}

/*
 * The first members: the plain rules, the schedule given or the best of an earlier population, the rest at
 * random.
 */
static void found(island *x)
{
    const sked_i_brkga_space *space = x->shared->space;
    const sked_i_crew_span span = sked_i_crew_begin(&x->base);
    const float *from = x->founded ? x->base.incumbent : x->shared->given;
    x->best = INFINITY;
    x->stale = 0;
    for (int32_t k = 0; k < x->size; k++) {
        const bool late = k > 0 && sked_i_limit_reached(&x->base.limit);
        x->base.cut = late;
        if (late || (x->base.best < INFINITY && over(x))) {
            x->size = k; /* all there will be */
            break;
        }
        x->now[k] = (member){.row = k};
        if (k == 3 && from != NULL)
            memcpy(row(x, k), from, (size_t)space->keys * sizeof *from);
        else if (k < 3)
            sked_i_brkga_space_rule(space, k, row(x, k));
        else if (k == 4 && space->l != NULL && space->l->hetero != NULL)
            sked_i_brkga_space_single(space, row(x, k));
        else
            draw(x, k);
        judge(x, &x->now[k]);
    }
    x->founded = true;
    rank_members(x);
    sked_i_crew_end(&x->base, technique_founding, span);
}

static void cross(island *x, const float *better, const float *other, float *child)
{
    const uint64_t bias = (uint64_t)(x->shared->setting[OPTION_BIAS] * 65536);
    uint64_t bits = 0;
    for (int32_t q = 0; q < x->shared->space->keys; q++) {
        bits = q % 4 == 0 ? sked_i_rng_next(&x->base.client.rng) : bits >> 16;
        child[q] = (bits & 0xffff) < bias ? better[q] : other[q];
    }
}

static int32_t share_of(const island *x, int option, int32_t least)
{
    const int32_t count = (int32_t)(x->shared->setting[option] * x->size);
    return count > least ? count : least;
}

/* Children are made beside the members, for all of which may be parents of several. */
static void breed(island *x, int32_t elite, int32_t children)
{
    const int32_t keys = x->shared->space->keys;
    float *const fresh = x->key + (int64_t)x->size * keys;
    sked_i_rng *rng = &x->base.client.rng;
    for (int32_t k = 0; k < children; k++) {
        const int32_t a = (int32_t)sked_i_rng_below(rng, (uint64_t)elite);
        const int32_t b = elite + (int32_t)sked_i_rng_below(rng, (uint64_t)(x->size - elite));
        cross(x, row(x, x->now[a].row), row(x, x->now[b].row), fresh + (int64_t)k * keys);
    }
    for (int32_t k = elite; k < x->size; k++) {
        member *m = &x->now[k];
        if (k < elite + children)
            memcpy(row(x, m->row), fresh + (int64_t)(k - elite) * keys, (size_t)keys * sizeof *fresh);
        else
            draw(x, m->row);
        m->cost = INFINITY;
    }
}

/* The next generation. */
static void advance(island *x)
{
    const int32_t elite = share_of(x, OPTION_ELITE, 1), mutants = share_of(x, OPTION_MUTANTS, 0);
    const sked_i_crew_span span = sked_i_crew_begin(&x->base);
    x->generation++;
    x->stale++;
    breed(x, elite, x->size - elite - mutants);
    for (int32_t k = elite; k < x->size && !over(x); k++)
        judge(x, &x->now[k]);
    rank_members(x);
    sked_i_crew_end(&x->base, technique_evolution, span);
}

static void live(sked_i_crew_worker *base)
{
    island *x = (island *)base;
    if (!x->founded)
        found(x);
    while (x->generation < x->shared->until && !over(x)) {
        if (x->shared->restarts && x->stale >= (int64_t)x->shared->setting[OPTION_PATIENCE])
            found(x);
        advance(x);
    }
}

/* ------------------------------------------------------------------ islands */

static void close_island(sked_i_crew_worker *base)
{
    sked_i_brkga_decoder_close(&((island *)base)->decoder);
}

static sked_status open_island(sked_i_crew_worker *base, sked_error *err)
{
    sked_status st = SKED_OK;
    island *x = (island *)base;
    x->shared = (islands *)base->crew;
    x->size = x->shared->size;
    x->best = INFINITY;
    SKED_TRY(sked_i_brkga_decoder_open(&x->decoder, x->shared->space, &base->limit, err));
    SKED_OWN(&base->hand.own, x->key, 2 * (int64_t)x->size * x->shared->space->keys);
    SKED_OWN(&base->hand.own, x->now, x->size);
cleanup:
    return st;
}

/*
 * What is good enough to be offered is decoded to its end. After a stop, and when the time is up, there is no
 * time for that: the incumbent is as it was decoded when it was found.
 */
static sked_status offer(sked_i_crew_worker *base, const void *key, sked_error *err)
{
    island *x = (island *)base;
    const sked_i_limit limit = base->limit;
    if (key == base->incumbent && sked_i_limit_reached(&limit)) {
        sked_i_brkga_decoder_recall(&x->decoder);
        return sked_i_brkga_decoder_offer(&x->decoder, base->crew->run, err);
    }
    base->limit.deadline = INFINITY;
    base->limit.stop = NULL;
    const double cost = decode(x, key);
    base->limit = limit;
    if (cost < INFINITY)
        return sked_i_brkga_decoder_offer(&x->decoder, base->crew->run, err);
    return x->decoder.status == SKED_OK ? SKED_OK : sked_i_no_memory(err);
}

/* The best of each island takes the place of the worst of the next. */
static void exchange(const sked_i_crew *crew)
{
    const int count = crew->active;
    for (int k = 0; k < count && count > 1; k++) {
        const island *from = (island *)sked_i_crew_member(crew, k);
        island *to = (island *)sked_i_crew_member(crew, (k + 1) % count);
        member *worst = &to->now[to->size - 1];
        if (!(from->base.best < INFINITY))
            continue;
        const int32_t place = worst->row;
        *worst = (member){.cost = from->now[0].cost, .hash = from->now[0].hash, .row = place};
        memcpy(row(to, place), row(from, from->now[0].row), crew->size);
    }
    for (int k = 0; k < count && count > 1; k++)
        rank_members((island *)sked_i_crew_member(crew, k));
}

/* An incumbent that another rank has sent takes the place of the worst of the first island. */
static void settle(const sked_i_crew *crew)
{
    island *x = (island *)sked_i_crew_member(crew, 0);
    member *worst = &x->now[x->size - 1];
    sked_i_brkga_space_express(((const islands *)crew)->space, sked_i_run_incumbent(crew->run),
                               row(x, worst->row));
    judge(x, worst);
    rank_members(x);
}

/* Exchanges the best unless this was the last round. */
static sked_status again(sked_i_crew *crew, bool *more, sked_error *err)
{
    islands *all = (islands *)crew;
    const int64_t step = (int64_t)all->setting[OPTION_EXCHANGE];
    sked_status st = SKED_OK;
    *more = all->until != all->last;
    for (int k = 0; k < crew->active; k++)
        *more = *more && !over((island *)sked_i_crew_member(crew, k));
    if (!*more)
        return SKED_OK;
    exchange(crew);
    const double before = sked_i_run_best(crew->run);
    if (all->last == INT64_MAX || all->until >= all->last / 2) /* populations grow apart first */
        SKED_TRY(sked_i_run_exchange(crew->run, err));
    *more = !sked_i_run_over(crew->run);
    if (*more && sked_i_run_best(crew->run) < before)
        settle(crew);
    if (*more)
        all->until = all->last - all->until > step ? all->until + step : all->last;
cleanup:
    return st;
}

/*
 * With candidates: all members, the best of every island first, as far as time permits. Those that the time
 * limit left undecoded are decoded now.
 */
static sked_status offer_members(sked_i_crew *crew, sked_error *err)
{
    const sked_i_run *run = crew->run;
    const islands *all = (islands *)crew;
    sked_status st = SKED_OK;
    /* a population that was paid for is not thrown away for a few milliseconds: that much more is allowed */
    const double now = sked_clock(), limit = run->limit.deadline - run->limit.begin;
    const double end =
        fmax(now, fmin(run->limit.deadline, now + 1)) + fmax(0.05, isinf(limit) ? 0 : 0.05 * limit);
    for (int32_t k = 0; k < all->size && sked_i_run_wanted(run) > 1; k++)
        for (int q = 0; q < crew->active; q++) {
            island *x = (island *)sked_i_crew_member(crew, q);
            if (k >= x->size || x->now[k].repeated)
                continue;
            if (sked_i_run_incumbent(run) != NULL && (sked_clock() > end || sked_i_crew_late(crew, now)))
                return SKED_OK;
            SKED_TRY(offer(&x->base, row(x, x->now[k].row), err));
        }
cleanup:
    return st;
}

static const sked_i_crew_kind island_kind = {
    .phase = "brkga",
    .worker_size = sizeof(island),
    .technique = {[technique_founding] = "founding", [technique_evolution] = "evolution"},
    .open = open_island,
    .close = close_island,
    .work = live,
    .offer = offer,
    .again = again,
    .finish = offer_members,
};

/* ------------------------------------------------------------------ the run */

static int32_t population_size(const sked_i_run *run, const sked_i_brkga_space *space)
{
    const double wanted = sked_i_run_wanted(run) > 1 ? 2.0 * sked_i_run_wanted(run) : 0,
                 room = 0x1p26 / space->keys;
    const double size = fmin(fmax(run->setting[OPTION_POPULATION], wanted), room);
    return size < 4 ? 4 : size > 200000 ? 200000 : (int32_t)size;
}

static sked_status take_start(sked_i_run *run, islands *all, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_run_offer_start(run, err));
    SKED_OWN(&all->crew.own, all->given, all->space->keys);
    sked_i_brkga_space_express(all->space, run->options->start, all->given);
cleanup:
    return st;
}

static sked_status open_islands(sked_i_run *run, islands *all, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t iterations = run->options->iterations;
    SKED_TRY(sked_i_brkga_space_create(run->problem, run->costs, &all->space, err));
    sked_i_brkga_space *space = all->space;
    space->decoder = (int)run->setting[OPTION_DECODER];
    space->weigh = (int)run->setting[OPTION_PRIORITY];
    space->justify = run->setting[OPTION_JUSTIFY] != 0;
    sked_i_crew_init(&all->crew, &island_kind, (size_t)space->keys * sizeof(float));
    all->crew.scale = space->c != NULL ? space->c->scale : 1;
    all->crew.whole = space->c != NULL && space->c->exact;
    all->crew.fixed = run->problem->fix_start != NULL;
    all->setting = run->setting;
    all->size = population_size(run, space);
    all->crew.last_offers = fmin(sked_i_run_wanted(run), (double)run->options->threads * all->size);
    all->last = iterations > 0 ? iterations : INT64_MAX;
    all->restarts = sked_i_run_wanted(run) == 1;
cleanup:
    return st;
}

static sked_status run_brkga(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    islands all = {0};
    SKED_TRY(open_islands(run, &all, err));
    if (run->options->start != NULL)
        SKED_TRY(take_start(run, &all, err));
    if (sked_i_run_incumbent(run) == NULL || !sked_i_run_over(run))
        st = sked_i_crew_run(&all.crew, run, sked_i_crew_goal(&all.crew, run), err);
cleanup:
    sked_i_crew_close(&all.crew);
    sked_i_brkga_space_destroy(all.space);
    return st;
}

const sked_i_method sked_i_method_brkga = {
    .info = {.name = "brkga",
             .summary = "biased random-key genetic algorithm; its last population gives many candidates",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_CANDIDATES | SKED_CAN_ANYTIME |
                         SKED_CAN_MACHINES | SKED_CAN_MAKESPAN,
             .options = options,
             .n_options = n_options},
    .run = run_brkga,
};
