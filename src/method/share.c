/* Parts of a run for threads. */
#include "method/driver.h"

#include <assert.h>

/* The second bound belongs to the first: at a higher first one, only that of the giver holds. */
void sked_i_driver_take_bounds(sked_i_driver *d, const sked_i_driver *from)
{
    if (from->bound > d->bound)
        d->second_bound = from->second_bound;
    else if (from->bound == d->bound)
        d->second_bound = fmax(d->second_bound, from->second_bound);
    d->bound = fmax(d->bound, from->bound);
    d->least_ii = fmax(d->least_ii, from->least_ii);
}

sked_status sked_i_driver_pass_on(sked_i_run *run, const sked_schedule *s, const char *maker, sked_error *err)
{
    const char *own = run->driver->current;
    run->driver->current = maker;
    const sked_status st = sked_i_run_offer(run, s, err);
    run->driver->current = own;
    return st;
}

sked_status sked_i_share_tell(sked_i_share *share, const sked_i_run *run, sked_error *err)
{
    const sked_i_incumbents *list = &run->driver->incumbents;
    sked_i_driver_take_bounds(share->run.driver, run->driver);
    return sked_i_result_rank_precedes(sked_i_incumbents_best(list),
                                       sked_i_incumbents_best(&share->run.driver->incumbents))
               ? sked_i_driver_take_over(&share->run, &list->entry[0], err)
               : SKED_OK;
}

sked_status sked_i_share_open(const sked_i_run *run, sked_i_share *share, sked_error *err)
{
    sked_status st = SKED_OK;
    *share = (sked_i_share){.run = *run, .options = *run->options};
    share->options.threads = 1;
    share->options.progress = NULL;
    share->options.incumbent = NULL; /* the run tells what it takes over */
    share->run.options = &share->options;
    share->run.driver = NULL;
    share->run.own = NULL; /* of another thread */
    SKED_TRY(sked_i_driver_open(&share->run, sked_i_run_wanted(run), err));
    share->run.driver->current = run->driver->current;
    share->run.driver->bound = run->driver->bound;
    SKED_TRY(sked_i_share_tell(share, run, err));
    share->run.driver->n_rows = 0; /* what it took over is not its own work */
    share->run.driver->curve.count = 0;
    share->run.driver->curve.before = run->driver->evaluations;
cleanup:
    return st;
}

/* States of methods that the run has none of go over to it. */
static sked_status take_states(sked_i_driver *from, sked_i_run *run, sked_error *err)
{
    sked_i_driver *d = run->driver;
    const char *own = d->current;
    sked_status st = SKED_OK;
    for (int64_t k = 0; st == SKED_OK && k < from->n_states; k++) {
        sked_i_kept_state *s = &from->state[k];
        d->current = s->method;
        if (s->state != NULL && sked_i_run_state(run) == NULL) {
            st = sked_i_run_keep(run, s->state, s->destroy, err);
            if (st == SKED_OK)
                s->state = NULL;
        }
    }
    d->current = own;
    return st;
}

sked_status sked_i_share_join(sked_i_share *share, sked_i_run *run, sked_error *err)
{
    sked_i_driver *from = share->run.driver, *d = run->driver;
    assert(from != d && from->exchange == NULL);
    sked_status st = SKED_OK;
    const bool better = sked_i_result_rank_precedes(sked_i_incumbents_best(&from->incumbents),
                                                    sked_i_incumbents_best(&d->incumbents));
    if (sked_i_run_wanted(run) > 1 || better)
        for (int32_t k = 0; k < from->incumbents.count; k++)
            SKED_TRY(sked_i_driver_take_over(run, &from->incumbents.entry[k], err));
    sked_i_driver_take_bounds(d, from);
    for (int64_t k = 0; k < from->n_rows; k++) {
        sked_statistic row = from->row[k];
        row.offers = row.improvements = 0; /* counted when they were passed on */
        row.gain = row.technique[0] != 0 ? row.gain : 0;
        sked_i_driver_tally(run, &row);
    }
    from->n_rows = 0;
    sked_i_run_merge_curve(run, &from->curve);
    d->evaluations += from->evaluations;
    d->proved = d->proved || from->proved;
    from->evaluations = 0;
    from->curve.before = d->evaluations;
    SKED_TRY(take_states(from, run, err));
cleanup:
    return st;
}

void sked_i_share_close(sked_i_share *share)
{
    sked_i_driver_close(&share->run);
}
