#include "schedule/realise.h"

#include "base/clock.h"
#include "schedule/schedule.h"

#include <assert.h>

/*
 * Devices: those of the short form are the machine file's, in its order, and lowering gives neither ops nor
 * devices other numbers. A step that does not keep this comes first, and gives the schedule its own memory.
 */
static sked_status judge(const sked_i_lowered *x, sked_i_realised *r, sked_error *err)
{
    return sked_schedule_validate(x->asked, r->schedule, err);
}

/* Lowering changes no objective: the costs of the run say what the schedule is worth. */
static sked_status measure(const sked_i_lowered *x, sked_i_realised *r, sked_error *err)
{
    return sked_i_schedule_value(&x->problem, &x->costs, r->schedule, &r->value, &r->makespan, err);
}

static const struct step {
    const char *name;
    sked_status (*apply)(const sked_i_lowered *x, sked_i_realised *r, sked_error *err);
} steps[] = {
    {"validate", judge},
    {"value", measure},
};
static_assert(sizeof steps / sizeof *steps == SKED_I_REALISE_STEPS, "a time for every step");

const char *sked_i_realise_step(int k)
{
    assert(k >= 0 && k < SKED_I_REALISE_STEPS);
    return steps[k].name;
}

sked_status sked_i_realise(const sked_i_lowered *x, const sked_schedule *s, sked_i_realised *out,
                           sked_error *err)
{
    sked_status st = SKED_OK;
    double from = sked_clock();
    *out = (sked_i_realised){.schedule = s};
    for (int k = 0; st == SKED_OK && k < SKED_I_REALISE_STEPS; k++) {
        st = steps[k].apply(x, out, err);
        const double now = sked_clock();
        out->seconds[k] = now - from;
        from = now;
    }
    return st;
}
