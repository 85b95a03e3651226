#include "method/inner.h"

#include "method/driver.h"
#include "problem/bounds.h"

sked_status sked_i_inner_run(const char *method, const sked_problem *p, const sked_run_options *opt,
                             sked_schedule **out, sked_error *err)
{
    const sked_i_method *m = sked_i_method_find(method);
    sked_i_run run = {.problem = p, .options = opt};
    sked_status st = SKED_OK;
    if (m == NULL)
        return sked_i_method_unknown(method, err);
    sked_i_limit_init(&run.limit, opt);
    SKED_TRY(sked_problem_check(p, err));
    SKED_TRY(sked_i_method_check(m, p, opt, err));
    SKED_TRY(sked_i_driver_open(&run, 1, err));
    SKED_TRY(sked_problem_bound(p, &run.driver->bound, NULL, err));
    SKED_TRY(sked_i_driver_run(&run, m, opt->settings, opt->n_settings, err));
    if (sked_i_run_incumbent(&run) == NULL)
        st = sked_i_fail(err, SKED_ERR_INFEASIBLE, "%s found no schedule", method);
    else
        st = sked_schedule_clone(sked_i_run_incumbent(&run), out, err);
cleanup:
    sked_i_driver_close(&run);
    return st;
}
