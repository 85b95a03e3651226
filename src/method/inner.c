#include "method/inner.h"

#include "method/driver.h"

sked_status sked_i_inner_run(const char *method, const sked_problem *p, const sked_run_options *opt,
                             sked_schedule **out, sked_error *err)
{
    const sked_i_method *m = sked_i_method_find(method);
    if (m == NULL)
        return sked_i_method_unknown(method, err);
    const bool locked = sked_i_costs_lock(false); /* another problem than that of the run outside */
    sked_i_lowered low = {0};
    sked_i_run run = sked_i_run_of(&low, opt);
    sked_status st = SKED_OK;
    sked_i_limit_init(&run.limit, opt);
    SKED_TRY(sked_problem_check(p, err));
    SKED_TRY(sked_i_lower(p, &low, err));
    SKED_TRY(sked_i_method_check(m, run.problem, opt, err));
    SKED_TRY(sked_i_driver_open(&run, 1, err));
    SKED_TRY(sked_problem_bound(p, &run.driver->bound, NULL, err));
    SKED_TRY(sked_i_driver_run(&run, m, opt->settings, opt->n_settings, err));
    if (sked_i_run_incumbent(&run) == NULL)
        st = sked_i_fail(err, SKED_ERR_INFEASIBLE, "%s found no schedule", method);
    else
        st = sked_schedule_clone(sked_i_run_incumbent(&run), out, err);
cleanup:
    sked_i_driver_close(&run);
    sked_i_lowered_free(&low);
    sked_i_costs_lock(locked);
    return st;
}
