/* The crew of tabu streams. */
#include "method/search/shop_search.h"

#include "engine/shop/tabu.h"
#include "method/crew.h"
#include "schedule/schedule.h"

/* What the streams share. A solution is the ops of one machine after those of the other, [n_members]. */
typedef struct shop {
    sked_i_crew crew;
    sked_i_shop_model *model;
    sked_i_shop *times;      /* of solutions to be offered */
    sked_schedule *schedule; /* likewise */
    int64_t steps;           /* of each stream in this round */
} shop;

typedef struct worker {
    sked_i_crew_worker base;
    sked_i_shop_stream stream;
} worker;

enum { technique_tabu, technique_relinking };
enum { first_steps = 1000, last_steps = 16000 };

/* ------------------------------------------------------------------ the incumbent as a start */

/* The stream goes on from the orders on the machines of a schedule. */
static sked_status seed_stream(worker *w, const sked_schedule *from, sked_error *err)
{
    const sked_i_shop_model *m = ((shop *)w->base.crew)->model;
    const sked_graph *g = w->base.crew->run->problem->graph;
    sked_status st = SKED_OK;
    int32_t *order = NULL, *sequence = NULL;
    SKED_NEW(order, m->n);
    SKED_NEW(sequence, (int64_t)m->n_members + m->n_machines);
    int32_t *fill = sequence + m->n_members;
    SKED_TRY(sked_i_schedule_order(g, from->start, order, err));
    for (int32_t k = 0; k < m->n_machines; k++)
        fill[k] = m->member_ptr[k];
    for (int32_t k = 0; k < m->n; k++)
        if (m->machine[order[k]] >= 0)
            sequence[fill[m->machine[order[k]]]++] = order[k];
    sked_i_shop_stream_seed(&w->stream, sequence);
cleanup:
    free(order);
    free(sequence);
    return st;
}

/* ------------------------------------------------------------------ streams */

static void bind_stream(worker *w)
{
    const sked_i_run *run = w->base.crew->run;
    sked_i_shop_stream *s = &w->stream;
    s->tabu.target = sked_i_run_bound(run);
    s->steps_allowed = run->options->iterations > 0 ? s->steps_done + run->options->iterations : 0;
}

static sked_status open_stream(sked_i_crew_worker *base, sked_error *err)
{
    const sked_i_run *run = base->crew->run;
    const sked_i_shop_model *m = ((shop *)base->crew)->model;
    const sked_schedule *from = sked_i_run_incumbent(run);
    worker *w = (worker *)base;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_shop_stream_init(&w->stream, m, run->options->seed, (uint64_t)base->hand.index, err));
    bind_stream(w);
    from = from != NULL ? from : run->options->start;
    if (from != NULL)
        st = seed_stream(w, from, err);
cleanup:
    return st;
}

static void close_stream(sked_i_crew_worker *base)
{
    sked_i_shop_stream_free(&((worker *)base)->stream);
}

static sked_status resume_stream(sked_i_crew_worker *base, sked_error *err)
{
    const sked_i_run *run = base->crew->run;
    worker *w = (worker *)base;
    bind_stream(w);
    if (sked_i_run_best(run) < w->stream.best_value)
        return seed_stream(w, sked_i_run_incumbent(run), err);
    return SKED_OK;
}

/* Path relinking happens inside: the stream keeps its own count. */
static void tally(worker *w, sked_i_crew_span span, int64_t links, double seconds)
{
    sked_i_crew_tally *relinking = &w->base.tally[technique_relinking];
    const double took = w->stream.link_seconds - seconds;
    relinking->calls += w->stream.links - links;
    relinking->seconds += took;
    span.clock += took;
    sked_i_crew_end(&w->base, technique_tabu, span);
}

static void work(sked_i_crew_worker *base)
{
    worker *w = (worker *)base;
    sked_i_shop_stream *s = &w->stream;
    const sked_i_crew_span span = sked_i_crew_begin(base);
    const int64_t links = s->links;
    const double seconds = s->link_seconds;
    sked_i_shop_stream_advance(s, ((shop *)base->crew)->steps, &base->limit);
    base->client.evaluations = s->steps_done;
    base->least = s->best_value;
    if (sked_i_crew_wants(base, s->best_value))
        sked_i_crew_see(base, s->best_value, s->best);
    tally(w, span, links, seconds);
}

/* Offers orders where they improve on what the run has. */
static sked_status offer(sked_i_crew_worker *base, const void *sequence, sked_error *err)
{
    sked_i_run *run = base->crew->run;
    const shop *x = (shop *)base->crew;
    if (!(base->best < sked_i_run_best(run)) || base->best > run->problem->horizon)
        return SKED_OK;
    if (!sked_i_shop_load(x->times, sequence))
        return sked_i_fail(err, SKED_ERR_BUG, "the best orders of a shop contradict its graph");
    memcpy(x->schedule->start, x->times->head, (size_t)x->schedule->ops * sizeof *x->schedule->start);
    return sked_i_run_offer(run, x->schedule, err);
}

/* Is there a stream that may take steps and could gain by them? */
static bool some_can_go_on(const sked_i_crew *crew)
{
    for (int k = 0; k < crew->active; k++) {
        const sked_i_shop_stream *s = &((worker *)sked_i_crew_member(crew, k))->stream;
        const bool steps = s->steps_allowed == 0 || s->steps_done < s->steps_allowed;
        if (steps && s->best_value > s->tabu.target)
            return true;
    }
    return false;
}

static sked_status again(sked_i_crew *crew, bool *more, sked_error *err)
{
    shop *x = (shop *)crew;
    (void)err;
    sked_i_run_progress(crew->run, crew->kind->phase);
    x->steps = x->steps < last_steps ? 2 * x->steps : x->steps;
    *more = some_can_go_on(crew) && !sked_i_run_over(crew->run) &&
            !sked_i_limit_reached(&sked_i_crew_member(crew, 0)->limit);
    return SKED_OK;
}

static const sked_i_crew_kind shop_kind = {
    .phase = "tabu search on critical blocks",
    .worker_size = sizeof(worker),
    .technique = {[technique_tabu] = "tabu", [technique_relinking] = "path relinking"},
    .open = open_stream,
    .close = close_stream,
    .resume = resume_stream,
    .work = work,
    .offer = offer,
    .again = again,
};

/* ------------------------------------------------------------------ the run */

static void drop(sked_i_crew *crew)
{
    shop *x = (shop *)crew;
    sked_i_shop_destroy(x->times);
    sked_schedule_destroy(x->schedule);
    sked_i_shop_model_destroy(x->model);
}

static sked_status make(sked_i_run *run, sked_i_crew *crew, sked_error *err)
{
    sked_status st = SKED_OK;
    shop *x = (shop *)crew;
    SKED_TRY(sked_i_shop_model_create(run->problem, &x->model, err));
    SKED_TRY(sked_i_shop_create(x->model, &x->times, err));
    SKED_TRY(sked_schedule_create(x->model->n, 0, &x->schedule, err));
    sked_i_crew_init(crew, &shop_kind, (size_t)x->model->n_members * sizeof(int32_t));
    x->steps = first_steps;
cleanup:
    return st;
}

sked_status sked_i_disjunctive_search(sked_i_run *run, sked_error *err)
{
    sked_i_crew *crew;
    const sked_status st = sked_i_crew_of_run(run, sizeof(shop), make, drop, &crew, err);
    return st == SKED_OK ? sked_i_crew_run(crew, run, sked_i_run_bound(run), err) : st;
}
