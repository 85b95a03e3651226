/*
 * Rounds with devices. Each item descends at a horizon a little below the incumbent's length, decodes on the
 * way and polishes what it found.
 */
#include "engine/gaus/device.h"
#include "method/gaus/gaus.h"

static const double widest = 3; /* largest sigma in cells: a mean op is as long */

typedef struct tools {
    sked_i_gaus_device_grid *grid;
    sked_i_gaus_device_decoder *decoder;
} tools;

static void destroy_tools(void *data)
{
    tools *t = data;
    if (t == NULL)
        return;
    sked_i_gaus_device_grid_destroy(t->grid);
    sked_i_gaus_device_decoder_destroy(t->decoder);
    free(t);
}

static sked_status create_tools(const sked_i_gaus_rounds *r, void **out, sked_error *err)
{
    sked_status st = SKED_OK;
    tools *t = NULL;
    SKED_NEW0(t, 1);
    SKED_TRY(sked_i_gaus_device_grid_create(r->model, &t->grid, err));
    SKED_TRY(sked_i_gaus_device_decoder_create(r->model, &t->decoder, err));
    t->decoder->limit = &r->run->limit;
    *out = t;
    return SKED_OK;
cleanup:
    destroy_tools(t);
    return st;
}

/* ------------------------------------------------------------------ rounds */

static bool offers(const sked_i_gaus_rounds *r)
{
    return r->best.value < sked_i_run_best(r->run) && sked_i_keeps_horizon(r->run->problem, r->best.value);
}

/* The run's incumbent becomes that of the rounds where it is better. */
static bool adopt(sked_i_gaus_rounds *r, const sked_schedule *s)
{
    const double value = sked_i_run_best(r->run);
    const bool better = s != NULL && value < r->best.value;
    if (better)
        sked_i_gaus_incumbent_copy(
            &r->best,
            &(sked_i_gaus_incumbent){.start = s->start,
                                     .device = s->device != NULL ? s->device : r->items[0].best.device,
                                     .value = value},
            r->n);
    return better;
}

/* The incumbent of the run, or what our own quick orders give, is where the first round begins. */
static sked_status prepare(sked_i_gaus_rounds *r, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_run *run = r->run;
    const tools *t = r->workers[0].tools;
    const double begin = sked_clock(), before = sked_i_run_best(run);
    (void)adopt(r, sked_i_run_incumbent(run));
    SKED_TRY(sked_i_gaus_device_decode_ranks(t->decoder, &r->best, err));
    sked_i_run_evaluated(run, t->decoder->decodes);
    sked_i_run_tally(run, "quick start", 1, sked_clock() - begin, t->decoder->decodes,
                     sked_i_gaus_gain(before, r->best.value));
    SKED_TRY(sked_i_gaus_rounds_offer(r, err));
    r->first = r->gradient = r->best.value;
cleanup:
    return st;
}

static void plan(sked_i_gaus_rounds *r)
{
    static const double below[] = {0.95, 0.9, 0.97, 0.93, 0.98};
    static const int starts[] = {SKED_I_GAUS_DEVICE_OPEN, SKED_I_GAUS_DEVICE_NEAR, SKED_I_GAUS_DEVICE_NEAR,
                                 SKED_I_GAUS_DEVICE_OPEN, SKED_I_GAUS_DEVICE_NEAR, SKED_I_GAUS_DEVICE_MIDDLE};
    r->count = r->most;
    const int first = sked_i_gaus_first_item(r->run, r->count);
    for (int k = 0; k < r->count; k++) {
        sked_i_gaus_item *it = &r->items[k];
        const int turn = r->round * r->count * sked_i_gaus_ranks(r->run) + first + k;
        it->start = starts[turn % 6];
        it->below = below[turn % 5];
        it->descend = r->starts > 0 && sked_i_gaus_device_model_fits(r->model);
        it->sweeps = r->set->polish ? r->set->sweeps : 0;
        it->heat = r->set->heat;
    }
}

/* ------------------------------------------------------------------ one item */

static void begin(sked_i_gaus_task *t)
{
    const sked_i_gaus_rounds *r = t->rounds;
    const tools *own = t->worker->tools;
    const double goal = fmin(r->best.value, r->run->problem->horizon);
    if (!t->item->descend)
        return;
    sked_i_gaus_device_grid_set(own->grid, fmax(sked_i_run_bound(r->run), goal * t->item->below));
    if (t->item->start == SKED_I_GAUS_DEVICE_NEAR && r->round > 0) { /* nearer than in the first round */
        t->tuning.sigma_most *= 0.25 + 0.75 * sked_i_rng_uniform(&t->rng);
        t->tuning.rate *= 0.25 + 0.75 * sked_i_rng_uniform(&t->rng);
    }
}

static sked_status descend(sked_i_gaus_task *t, sked_error *err)
{
    const tools *own = t->worker->tools;
    const int64_t before = own->decoder->decodes;
    const sked_status st =
        sked_i_gaus_device_descend(own->grid, own->decoder, &t->tuning, t->item->start, &t->rounds->best,
                                   &t->rng, &t->limit, &t->item->best, err);
    t->worker->evaluations += own->decoder->decodes - before;
    return st;
}

/* From what the descent found, or from the incumbent. */
static sked_status polish(sked_i_gaus_task *t, sked_error *err)
{
    const sked_i_gaus_rounds *r = t->rounds;
    const tools *own = t->worker->tools;
    sked_i_gaus_item *it = t->item;
    const double moves = it->sweeps * r->n * (1 + r->round);
    if (it->best.value == INFINITY)
        sked_i_gaus_incumbent_copy(&it->best, &r->best, r->n);
    if (it->descend && t->limit.paced) /* no longer than the descent took */
        t->limit.deadline = fmin(t->limit.deadline, sked_clock() + it->seconds);
    return sked_i_gaus_device_polish(own->decoder, (int64_t)fmin(moves, 1e15), it->heat, &t->rng, &t->limit,
                                     sked_i_run_bound(r->run), &it->best, err);
}

static void explain(const sked_i_gaus_rounds *r, const char *why)
{
    (void)why;
    sked_i_run_note(r->run, "quick orders %g, with the gradient %g, with moves %g", r->first, r->gradient,
                    r->best.value);
}

static const sked_i_gaus_relaxation relaxation = {.phase = "gradient and moves",
                                                  .polish_name = "moves",
                                                  .descent_share = 0.7,
                                                  .needs_incumbent = true,
                                                  .create_tools = create_tools,
                                                  .destroy_tools = destroy_tools,
                                                  .prepare = prepare,
                                                  .plan = plan,
                                                  .begin = begin,
                                                  .descend = descend,
                                                  .polish = polish,
                                                  .offers = offers,
                                                  .adopt = adopt,
                                                  .explain = explain};

sked_status sked_i_gaus_run_devices(sked_i_run *run, const sked_i_gaus_settings *set, sked_error *err)
{
    const sked_i_gaus_device_model *model = NULL;
    sked_i_gaus_rounds r = {.run = run,
                            .set = set,
                            .relaxation = &relaxation,
                            .tuning = set->tuning,
                            .with_devices = true,
                            .starts = set->starts,
                            .share = 1,
                            .threads = run->options->threads,
                            .most = set->starts > 0 ? set->starts : 1};
    r.tuning.goal = sked_i_run_bound(run);
    r.tuning.sigma_most = fmin(r.tuning.sigma_most, widest);
    r.threads = r.threads < r.most ? r.threads : r.most;
    if (run->limit.paced && isfinite(run->limit.deadline))
        r.most = r.threads; /* a descent wants its steps: one after the other, as many as the time allows */
    sked_status st = sked_i_gaus_devices_model(run, &model, err);
    r.model = model;
    if (st == SKED_OK)
        st = sked_i_gaus_rounds_run(&r, err);
    return st;
}
