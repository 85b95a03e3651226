/* Fits, rounds of parallel streams, offers. */
#include "method/search/disjunctive.h"

#include "base/thread.h"
#include "engine/shop/tabu.h"

#include <string.h>

static bool plain_makespan(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    if (p->objective != SKED_OBJECTIVE_MAKESPAN || p->devices != 0 || p->ii != 0)
        return false;
    for (int32_t i = 0; p->fix_start != NULL && i < g->n_ops; i++)
        if (!isnan(p->fix_start[i]))
            return false;
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0 && g->edge_lag[e] < 0)
            return false;
    return true;
}

bool sked_i_disjunctive_fits(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    if (g->n_ops == 0 || g->n_resources == 0 || !plain_makespan(p))
        return false;
    uint8_t *binds = sked_i_alloc(g->n_resources, sizeof *binds);
    double *scratch = sked_i_alloc(3 * (int64_t)g->n_resources, sizeof *scratch);
    bool fits = binds != NULL && scratch != NULL && sked_i_shop_classify(p, binds, scratch);
    bool any = false;
    for (int32_t i = 0; fits && i < g->n_ops; i++) {
        const int32_t r = sked_i_shop_resource(p, binds, i);
        any = any || r >= 0;
        fits = r != -2;
    }
    free(binds);
    free(scratch);
    return fits && any;
}

typedef struct crew {
    sked_i_shop_stream *streams;
    const sked_i_limit *limit;
    int64_t steps;
} crew;

static void advance(void *data, int index)
{
    crew *c = data;
    sked_i_shop_stream_advance(&c->streams[index], c->steps, c->limit);
}

/* The machine orders of a schedule, by start and then by topological order. */
typedef struct by_start_key {
    double start;
    int32_t at, op;
} by_start_key;

static int by_start(const void *x, const void *y)
{
    const by_start_key *a = x, *b = y;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static sked_status seed_streams(const sked_problem *p, const sked_i_shop_model *m, const sked_schedule *from,
                                sked_i_shop_stream *streams, int threads, sked_error *err)
{
    sked_status st = SKED_OK;
    by_start_key *keys = NULL;
    int32_t *sequence = NULL;
    if (from == NULL || from->ops != m->n)
        return SKED_OK;
    SKED_NEW(keys, m->n);
    SKED_NEW(sequence, (int64_t)m->n_members + m->n_machines);
    int32_t *fill = sequence + m->n_members;
    for (int32_t k = 0; k < m->n; k++)
        keys[k] = (by_start_key){from->start[p->graph->topo[k]], k, p->graph->topo[k]};
    qsort(keys, (size_t)m->n, sizeof *keys, by_start);
    for (int32_t k = 0; k < m->n_machines; k++)
        fill[k] = m->member_ptr[k];
    for (int32_t k = 0; k < m->n; k++)
        if (m->machine[keys[k].op] >= 0)
            sequence[fill[m->machine[keys[k].op]]++] = keys[k].op;
    for (int t = 0; t < threads; t++)
        sked_i_shop_stream_seed(&streams[t], sequence);
cleanup:
    free(keys);
    free(sequence);
    return st;
}

/* Offers the best of all streams (the first of equals) where it improves on what the run has. */
static sked_status offer_best(sked_i_run *run, sked_i_shop_stream *streams, int threads, sked_i_shop *shop,
                              sked_schedule *schedule, sked_error *err)
{
    int best = 0;
    for (int t = 1; t < threads; t++)
        best = streams[t].best_value < streams[best].best_value ? t : best;
    const double value = streams[best].best_value;
    if (!(value < sked_i_run_best(run)) || value > run->problem->horizon)
        return SKED_OK;
    if (!sked_i_shop_load(shop, streams[best].best))
        return sked_i_fail(err, SKED_ERR_BUG, "the best orders of a shop contradict its graph");
    memcpy(schedule->start, shop->head, (size_t)schedule->ops * sizeof *schedule->start);
    return sked_i_run_offer(run, schedule, err);
}

static bool steps_left(const sked_i_shop_stream *streams, int threads)
{
    for (int t = 0; t < threads; t++)
        if (streams[t].steps_allowed == 0 || streams[t].steps_done < streams[t].steps_allowed)
            return true;
    return false;
}

static sked_status run_rounds(sked_i_run *run, crew *c, int threads, sked_i_shop *shop,
                              sked_schedule *schedule, sked_error *err)
{
    sked_status st = SKED_OK;
    c->steps = 1000;
    do {
        SKED_TRY(sked_i_parallel(threads, advance, c, err));
        SKED_TRY(offer_best(run, c->streams, threads, shop, schedule, err));
        sked_i_run_progress(run, "tabu search on critical blocks");
        c->steps = c->steps < 16000 ? 2 * c->steps : c->steps;
    } while (!sked_i_run_over(run) && steps_left(c->streams, threads));
cleanup:
    for (int t = 0; t < threads; t++)
        sked_i_run_evaluated(run, c->streams[t].steps_done);
    return st;
}

sked_status sked_i_disjunctive_search(sked_i_run *run, sked_error *err)
{
    const sked_run_options *opt = run->options;
    const int threads = opt->threads > 1 ? opt->threads : 1;
    sked_status st = SKED_OK;
    sked_i_shop_model *model = NULL;
    sked_i_shop_stream *streams = NULL;
    sked_i_shop *shop = NULL;
    sked_schedule *schedule = NULL;
    SKED_TRY(sked_i_shop_model_create(run->problem, &model, err));
    SKED_NEW0(streams, threads);
    SKED_TRY(sked_i_shop_create(model, &shop, err));
    SKED_TRY(sked_schedule_create(model->n, 0, &schedule, err));
    for (int t = 0; t < threads; t++) {
        SKED_TRY(sked_i_shop_stream_init(&streams[t], model, opt->seed, (uint64_t)t, err));
        streams[t].tabu.target = sked_i_run_bound(run);
        streams[t].steps_allowed = opt->iterations;
    }
    SKED_TRY(seed_streams(run->problem, model,
                          sked_i_run_incumbent(run) != NULL ? sked_i_run_incumbent(run) : opt->start, streams,
                          threads, err));
    crew c = {.streams = streams, .limit = &run->limit};
    st = run_rounds(run, &c, threads, shop, schedule, err);
cleanup:
    for (int t = 0; streams != NULL && t < threads; t++)
        sked_i_shop_stream_free(&streams[t]);
    free(streams);
    sked_i_shop_destroy(shop);
    sked_schedule_destroy(schedule);
    sked_i_shop_model_destroy(model);
    return st;
}
