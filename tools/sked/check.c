/* sked check: the independent validator on a file. */
#include "cli.h"

#include <stdlib.h>

static void print_verdict(const arguments *a, const setup *s, const sked_schedule *schedule,
                          const sked_metrics *m, const double *peak)
{
    char x[40];
    printable_text name;
    if (!a->json) {
        printf("valid: %d ops, makespan %s", (int)schedule->ops, human(m->makespan, x, sizeof x));
        if (schedule->devices > 0)
            printf(", %d devices", (int)schedule->devices);
        if (s->machine != NULL)
            printf(" of %s", machine_name(s->machine, &name));
        if (schedule->ii > 0)
            printf(", II %s", human(schedule->ii, x, sizeof x));
        printf("\n");
        print_arena(schedule, m);
        print_devices(&s->problem, schedule, peak);
        return;
    }
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_bool(&j, "valid", true);
    json_text(&j, "graph", sked_graph_name(s->graph));
    json_number(&j, "makespan", m->makespan);
    json_devices(&j, &s->problem, peak);
    if (schedule->ii > 0)
        json_number(&j, "ii", schedule->ii);
    else
        json_null(&j, "ii");
    json_number(&j, "speedup", m->speedup);
    json_number(&j, "peak_memory", m->peak_memory);
    json_arena(&j, schedule, m);
    json_number(&j, "resource", m->resource);
    json_number(&j, "communication", m->communication);
    json_close(&j, '}');
}

sked_status run_check(arguments *a, sked_error *err)
{
    setup s = {0};
    sked_schedule *schedule = NULL;
    sked_metrics m = {.size = sizeof m};
    double *peak = NULL;
    end_on_signal(true);
    sked_status st = load_problem(a, a->operand.at[0], &s, err);
    if (st == SKED_OK)
        st = sked_schedule_read(a->operand.at[1], &s.problem, &schedule, err);
    if (st == SKED_OK) {
        if (s.machine == NULL)
            s.problem.devices = schedule->devices;
        s.problem.ii = schedule->ii;
        st = sked_schedule_validate(&s.problem, schedule, err);
    }
    if (st == SKED_OK)
        st = sked_schedule_measure(&s.problem, schedule, &m, err);
    if (st == SKED_OK)
        st = device_peaks(&s.problem, schedule, &peak, err);
    if (st == SKED_OK)
        print_verdict(a, &s, schedule, &m, peak);
    if (st == SKED_ERR_INVALID && a->json) {
        json_out j = {.file = stdout};
        json_open(&j, NULL, '{');
        json_bool(&j, "valid", false);
        json_text(&j, "rule", err->message);
        json_close(&j, '}');
    }
    free(peak);
    sked_schedule_destroy(schedule);
    clear_setup(&s);
    return st;
}
