/* Memory limits: the same priorities, in the engine that keeps them. */
#include "method/list/list_method.h"

#include "method/memory_limits.h"

enum { planning = 4000 }; /* evaluations of orders */

static sked_status offer_decoded(sked_i_run *run, sked_i_memory_decoder *decoder,
                                 const sked_i_memory_limits *x, const sked_i_memory_wish *wish,
                                 sked_schedule *s, int32_t *device, sked_error *err)
{
    const bool fits = sked_i_memory_decode(decoder, &x->plan, wish, s->start, s->device ? s->device : device);
    sked_i_run_evaluated(run, 1);
    if (sked_i_memory_decoder_status(decoder) != SKED_OK)
        return sked_i_no_memory(err);
    return fits && sked_i_costs_latest_finish(&x->model.costs, s) <= run->problem->horizon
               ? sked_i_run_offer(run, s, err)
               : SKED_OK;
}

sked_status sked_i_list_memory_limits(sked_i_run *run, sked_i_priority priority, bool serial, int64_t tries,
                                      sked_error *err)
{
    static const int32_t windows[] = {INT32_MAX, 64, 16, 1}; /* the last alone: serial */
    const sked_problem *p = run->problem;
    const int64_t more = sked_i_run_wanted(run) > 1 ? 8 * (int64_t)sked_i_run_wanted(run) : 1;
    sked_status st = SKED_OK;
    sked_i_memory_limits x = {0};
    sked_i_dag view = {0};
    sked_i_memory_decoder *decoder = NULL;
    sked_schedule *s = NULL;
    int32_t *rank, *device;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, run->options->seed, 0);
    SKED_TRY(sked_i_memory_limits_open(run, planning, &x, err));
    SKED_TRY(sked_i_dag_make(p, run->costs, false, false, &view, err));
    SKED_TRY(sked_i_memory_decoder_create(run->own, &x.model, &decoder, err));
    SKED_TRY(sked_schedule_create(p->graph->n_ops, p->devices, &s, err));
    SKED_OWN(run->own, rank, s->ops);
    SKED_OWN(run->own, device, s->ops);
    for (int64_t k = 0; k < (tries > more ? tries : more); k++) {
        if (k > 0 &&
            (sked_i_run_over(run) || (k >= tries && sked_i_run_count(run) == sked_i_run_wanted(run))))
            break;
        SKED_TRY(sked_i_priority_rank(p, &view, priority, k == 0 || priority == SKED_I_RANDOM ? 0 : 0.2, &rng,
                                      rank, err));
        const int first = serial ? 3 : 0, end = serial ? 4 : 3;
        for (int w = first; w < end && (w == first || !sked_i_run_over(run)); w++) {
            const sked_i_memory_wish wish = {.rank = rank, .window = windows[w], .limit = &run->limit};
            SKED_TRY(offer_decoded(run, decoder, &x, &wish, s, device, err));
        }
    }
cleanup:
    sked_i_memory_limits_close(&x);
    sked_i_dag_free(&view);
    sked_schedule_destroy(s);
    return st;
}
