/*
 * Populations of random keys. The best members stay, some are drawn anew, the rest are children of one of
 * the best and one of the others that take each key from the better parent with a probability above one
 * half. Threads are islands: each has its own population, and at fixed generations the best of one replaces
 * the worst of the next, so that the result depends on seed and threads only.
 */
#include "method/brkga/brkga.h"

#include "base/thread.h"

#include <stdatomic.h>
#include <string.h>

enum {
    opt_decoder,
    opt_priority,
    opt_population,
    opt_elite,
    opt_mutants,
    opt_bias,
    opt_patience,
    opt_exchange,
    opt_justify,
    n_options
};

static const sked_option options[n_options] = {
    {"decoder", SKED_OPTION_ENUM, "mixed", 0, 0, "mixed|serial|parallel|insertion",
     "serial: op by op, each where it fits first, on the device its key names; parallel: through time; "
     "insertion: op by op, on the device where it finishes first; mixed: a key of its own chooses"},
    {"priority", SKED_OPTION_ENUM, "mixed", 0, 0, "mixed|path|key",
     "what the key of an op scales: its longest way to the end, nothing (the key itself is the priority), or "
     "what a key of its own chooses"},
    {"population", SKED_OPTION_INT, "100", 4, 100000, NULL,
     "members per thread; at least twice the candidates asked for, fewer on graphs of over 100,000 ops"},
    {"elite", SKED_OPTION_REAL, "0.2", 0.01, 0.5, NULL, "share of the best members that stay"},
    {"mutants", SKED_OPTION_REAL, "0.15", 0, 0.45, NULL, "share of members drawn anew in each generation"},
    {"bias", SKED_OPTION_REAL, "0.7", 0.5, 1, NULL, "probability that a key comes from the better parent"},
    {"patience", SKED_OPTION_INT, "100", 1, 1e9, NULL,
     "generations without a better schedule after which a population starts again; not with candidates"},
    {"exchange", SKED_OPTION_INT, "20", 1, 1e9, NULL, "generations between exchanges of the best by threads"},
    {"justify", SKED_OPTION_BOOL, "true", 0, 0, NULL,
     "push every schedule right, then left, before it counts; where all devices are alike"},
};

typedef struct member {
    double cost;
    uint64_t hash;
    int32_t row;
    bool repeated; /* another member is the same schedule */
} member;

typedef struct island {
    const sked_i_keyspace *space;
    const double *setting;
    sked_i_limit limit;
    sked_i_reader reader;
    sked_i_rng rng;
    int32_t size;
    float *key;  /* [2 * size * keys] rows of members, then room for as many children */
    member *now; /* [size] best first */
    int64_t generation, stop_at, stale;
    double best, goal; /* best: since the population began */
    float *best_key;   /* [keys] of the best ever */
    double best_ever;
    bool founded, restarts;
    const float *given; /* [keys] to begin with, NULL: none */
    atomic_int *halt;   /* NULL: never */
} island;

/* ------------------------------------------------------------------ one population */

static float *row(const island *x, int32_t r)
{
    return x->key + (int64_t)r * x->space->keys;
}

static bool over(const island *x)
{
    if (x->best_ever <= x->goal || x->reader.status != SKED_OK || sked_i_limit_reached(&x->limit))
        return true;
    return x->halt != NULL && atomic_load_explicit(x->halt, memory_order_relaxed);
}

static void judge(island *x, member *m)
{
    const float *key = row(x, m->row);
    m->cost = sked_i_reader_cost(&x->reader, key);
    m->hash = x->reader.hash;
    m->repeated = false;
    if (m->cost < x->best) {
        x->best = m->cost;
        x->stale = 0;
    }
    if (m->cost >= x->best_ever)
        return;
    x->best_ever = m->cost;
    memcpy(x->best_key, key, (size_t)x->space->keys * sizeof *key);
    if (x->best_ever <= x->goal && x->halt != NULL)
        atomic_store_explicit(x->halt, 1, memory_order_relaxed);
}

static void draw(island *x, int32_t r)
{
    float *key = row(x, r);
    for (int32_t q = 0; q < x->space->keys; q++)
        key[q] = (float)(sked_i_rng_next(&x->rng) >> 40) * 0x1p-24F;
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

/* The first members: the schedule given, the plain rules, the best of an earlier population; the rest by lot.
 */
static void found(island *x)
{
    const bool again = x->founded;
    x->best = INFINITY;
    x->stale = 0;
    for (int32_t k = 0; k < x->size; k++) {
        const float *from = again ? x->best_key : x->given;
        if (x->best_ever < INFINITY && over(x)) {
            x->size = k; /* all there will be */
            break;
        }
        x->now[k] = (member){.row = k};
        if (k == 3 && from != NULL)
            memcpy(row(x, k), from, (size_t)x->space->keys * sizeof *from);
        else if (k < 3)
            sked_i_keyspace_rule(x->space, k, row(x, k));
        else
            draw(x, k);
        judge(x, &x->now[k]);
    }
    x->founded = true;
    rank_members(x);
}

static void cross(island *x, const float *better, const float *other, float *child)
{
    const uint64_t bias = (uint64_t)(x->setting[opt_bias] * 65536);
    uint64_t bits = 0;
    for (int32_t q = 0; q < x->space->keys; q++) {
        bits = q % 4 == 0 ? sked_i_rng_next(&x->rng) : bits >> 16;
        child[q] = (bits & 0xffff) < bias ? better[q] : other[q];
    }
}

static int32_t share_of(const island *x, int option, int32_t least)
{
    const int32_t count = (int32_t)(x->setting[option] * x->size);
    return count > least ? count : least;
}

/* The next generation. Children are made beside the members, for all of which may be parents of several. */
static void advance(island *x)
{
    const int32_t elite = share_of(x, opt_elite, 1), mutants = share_of(x, opt_mutants, 0);
    const int32_t children = x->size - elite - mutants, keys = x->space->keys;
    float *const fresh = x->key + (int64_t)x->size * keys;
    x->generation++;
    x->stale++;
    for (int32_t k = 0; k < children; k++) {
        const int32_t a = (int32_t)sked_i_rng_below(&x->rng, (uint64_t)elite);
        const int32_t b = elite + (int32_t)sked_i_rng_below(&x->rng, (uint64_t)(x->size - elite));
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
    for (int32_t k = elite; k < x->size && !over(x); k++)
        judge(x, &x->now[k]);
    rank_members(x);
}

static void live(void *data, int index)
{
    island *x = (island *)data + index;
    if (!x->founded)
        found(x);
    while (x->generation < x->stop_at && !over(x)) {
        if (x->restarts && x->stale >= (int64_t)x->setting[opt_patience])
            found(x);
        advance(x);
    }
}

/* ------------------------------------------------------------------ islands */

static void close_island(island *x)
{
    sked_i_reader_close(&x->reader);
    free(x->key);
    free(x->now);
    free(x->best_key);
}

static int32_t population_size(const sked_i_run *run, const sked_i_keyspace *space)
{
    const double wanted = sked_i_run_wanted(run) > 1 ? 2.0 * sked_i_run_wanted(run) : 0,
                 room = 0x1p26 / space->keys;
    const double size = fmin(fmax(run->setting[opt_population], wanted), room);
    return size < 4 ? 4 : size > 200000 ? 200000 : (int32_t)size;
}

static sked_status open_island(island *x, const sked_i_run *run, const sked_i_keyspace *space, int index,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    *x = (island){.space = space, .setting = run->setting, .limit = run->limit, .best = INFINITY};
    x->best_ever = INFINITY;
    x->size = population_size(run, space);
    x->restarts = sked_i_run_wanted(run) == 1;
    x->goal = -1;
    if (sked_i_run_wanted(run) == 1)
        x->goal = (sked_i_run_bound(run) +
                   (sked_i_problem_integral(run->problem) ? 0 : 1e-9 * fabs(sked_i_run_bound(run)))) *
                  (space->c ? space->c->scale : 1);
    sked_i_rng_seed(&x->rng, run->options->seed, (uint64_t)index);
    SKED_TRY(sked_i_reader_open(&x->reader, space, &x->limit, err));
    SKED_NEW(x->key, 2 * (int64_t)x->size * space->keys);
    SKED_NEW(x->now, x->size);
    SKED_NEW(x->best_key, space->keys);
cleanup:
    return st;
}

/* The best of each island takes the place of the worst of the next. */
static void exchange(island *islands, int count)
{
    const size_t bytes = (size_t)islands[0].space->keys * sizeof(float);
    for (int k = 0; k < count && count > 1; k++) {
        const island *from = &islands[k];
        island *to = &islands[(k + 1) % count];
        member *worst = &to->now[to->size - 1];
        if (!(from->best_ever < INFINITY))
            continue;
        const int32_t place = worst->row;
        *worst = (member){.cost = from->now[0].cost, .hash = from->now[0].hash, .row = place};
        memcpy(row(to, place), row(from, from->now[0].row), bytes);
    }
    for (int k = 0; k < count && count > 1; k++)
        rank_members(&islands[k]);
}

/* Offers the best there is if it is news, and leaves time for the offers at the end. */
static sked_status publish(sked_i_run *run, island *islands, int count, double *published, sked_error *err)
{
    island *best = &islands[0];
    for (int k = 1; k < count; k++)
        best = islands[k].best_ever < best->best_ever ? &islands[k] : best;
    if (!(best->best_ever < *published))
        return SKED_OK;
    *published = best->best_ever;
    const double begin = sked_clock();
    const sked_i_limit limit = best->limit;
    best->limit.deadline = INFINITY; /* what is good enough to be offered is read to its end */
    best->limit.stop = NULL;
    const double cost = sked_i_reader_cost(&best->reader, best->best_key);
    best->limit = limit;
    const sked_status st =
        cost < INFINITY ? sked_i_reader_offer(&best->reader, run, err) : best->reader.status;
    const double took = sked_clock() - begin,
                 members = fmin(sked_i_run_wanted(run), (double)count * best->size);
    const double spare = fmin(2 * took * members, 0.4 * (run->limit.deadline - run->limit.begin));
    for (int k = 0; k < count; k++)
        islands[k].limit.deadline = run->limit.deadline - spare;
    sked_i_run_progress(run, "brkga");
    return st;
}

/*
 * With candidates: all members, the best of every island first, as far as the time goes. Those that the time
 * limit left unread are read now.
 */
static sked_status offer_members(sked_i_run *run, island *islands, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t most = 0;
    /* a population that was paid for is not thrown away for a few milliseconds: that much more is allowed */
    const double now = sked_clock(), limit = run->limit.deadline - run->limit.begin;
    const double end =
        fmax(now, fmin(run->limit.deadline, now + 1)) + fmax(0.05, isinf(limit) ? 0 : 0.05 * limit);
    for (int q = 0; q < count; q++)
        most = islands[q].size > most ? islands[q].size : most;
    for (int32_t k = 0; k < most && sked_i_run_wanted(run) > 1; k++)
        for (int q = 0; q < count; q++) {
            island *x = &islands[q];
            if (k >= x->size || x->now[k].repeated)
                continue;
            if (sked_i_run_incumbent(run) != NULL && sked_clock() > end)
                return SKED_OK;
            x->limit.deadline = INFINITY;
            x->limit.stop = NULL;
            if (sked_i_reader_cost(&x->reader, row(x, x->now[k].row)) < INFINITY)
                SKED_TRY(sked_i_reader_offer(&x->reader, run, err));
        }
cleanup:
    return st;
}

static sked_status evolve(sked_i_run *run, island *islands, int count, sked_error *err)
{
    const int64_t iterations = run->options->iterations, last = iterations > 0 ? iterations : INT64_MAX;
    const int64_t step = (int64_t)run->setting[opt_exchange];
    sked_status st = SKED_OK;
    double published = INFINITY;
    bool done = false;
    for (int64_t until = 0; !done; until = last - until > step ? until + step : last) {
        for (int k = 0; k < count; k++)
            islands[k].stop_at = until;
        SKED_TRY(sked_i_parallel(count, live, islands, err));
        SKED_TRY(publish(run, islands, count, &published, err));
        done = until == last;
        for (int k = 0; k < count; k++) {
            if (islands[k].reader.status != SKED_OK)
                return sked_i_no_memory(err);
            done = done || over(&islands[k]);
        }
        if (!done)
            exchange(islands, count);
    }
    SKED_TRY(offer_members(run, islands, count, err));
cleanup:
    return st;
}

static sked_status none_found(const sked_i_run *run, double least, sked_error *err)
{
    const sked_problem *p = run->problem;
    if (sked_i_run_incumbent(run) != NULL || least == INFINITY)
        return SKED_OK;
    return sked_i_fail(err, SKED_ERR_INFEASIBLE, "none found: no schedule kept %s (not a proof)",
                       p->fix_start == NULL    ? "the horizon"
                       : p->horizon < INFINITY ? "all fixed starts and the horizon"
                                               : "all fixed starts");
}

static sked_status take_start(sked_i_run *run, const sked_i_keyspace *space, float **given, sked_error *err)
{
    const sked_schedule *s = run->options->start;
    const sked_status st = sked_i_run_offer_start(run, err);
    if (st != SKED_OK)
        return st;
    if ((*given = sked_i_alloc(space->keys, sizeof **given)) == NULL)
        return sked_i_no_memory(err);
    sked_i_keyspace_express(space, s, *given);
    return SKED_OK;
}

static sked_status brkga_run(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    const int threads = run->options->threads;
    const bool shared_halt = threads > 1 && run->options->iterations == 0;
    atomic_int halt = 0;
    double least = INFINITY;
    int opened = 0;
    float *given = NULL;
    sked_i_keyspace *space = NULL;
    island *islands = NULL;
    SKED_TRY(sked_i_keyspace_create(run->problem, &space, err));
    space->decoder = (int)run->setting[opt_decoder];
    space->weigh = (int)run->setting[opt_priority];
    space->justify = run->setting[opt_justify] != 0;
    if (run->options->start != NULL)
        SKED_TRY(take_start(run, space, &given, err));
    SKED_NEW(islands, threads);
    while (opened < threads) {
        st = open_island(&islands[opened], run, space, opened, err);
        islands[opened].halt = shared_halt ? &halt : NULL;
        islands[opened].given = given;
        opened++;
        if (st != SKED_OK)
            goto cleanup;
    }
    if (!(sked_i_run_incumbent(run) != NULL && sked_i_run_over(run)))
        SKED_TRY(evolve(run, islands, threads, err));
    for (int k = 0; k < threads; k++) {
        sked_i_run_evaluated(run, islands[k].reader.evaluations);
        least = fmin(least, islands[k].best_ever);
    }
    SKED_TRY(none_found(run, least, err));
cleanup:
    for (int k = 0; k < opened; k++)
        close_island(&islands[k]);
    free(islands);
    free(given);
    sked_i_keyspace_destroy(space);
    return st;
}

const sked_i_method sked_i_method_brkga = {
    .info = {.name = "brkga",
             .summary = "biased random-key genetic algorithm; its last population gives many candidates",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_HORIZON |
                         SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_CANDIDATES | SKED_CAN_ANYTIME |
                         SKED_CAN_MAKESPAN,
             .options = options,
             .n_options = n_options},
    .run = brkga_run,
};
