/* sked robust with target ice40: the least pipeline whose critical path, as measured, meets the clock. */
#include "cli.h"

#include <math.h>
#include <string.h>

static sked_status check_pipeline(const arguments *a, sked_error *err)
{
    const char *const wrong = a->devices > 0          ? "--devices"
                              : a->machine != NULL    ? "--machine"
                              : a->one_shot           ? "--one-shot"
                              : a->prior != NULL      ? "--prior"
                              : a->robust_log != NULL ? "--log"
                              : a->robust_resume      ? "--resume"
                                                      : NULL;
    if (wrong != NULL)
        return fail(err, SKED_ERR_ARGUMENT, "%s is for targets with devices, not for ice40", wrong);
    if (!(a->clock > 0))
        return fail(err, SKED_ERR_ARGUMENT, "target ice40 needs --clock T, in nanoseconds");
    return check_extensions(a, false, err);
}

/* Names of the ops on the critical path, in the order of the schedule's chain. */
static void print_critical(const sked_problem *p, const sked_pipeline_result *r)
{
    const int32_t n = sked_graph_op_count(p->graph);
    printf("critical path");
    for (int32_t i = 0, told = 0; i < n; i++) {
        char name[200];
        printable_text text;
        if (!r->critical[i])
            continue;
        if (told++ == 12) {
            printf(" ...");
            break;
        }
        printf(" %s", printable(sked_graph_op_name(p->graph, i, name, sizeof name), &text));
    }
    printf("\n");
}

static void print_pipeline(const sked_problem *p, const sked_pipeline_result *r)
{
    const sked_pipeline_trial *w = &r->trial[r->winner];
    printf("%s %.17g, critical path %.2f ns: %s %g ns\n", sked_objective_name(p->objective), w->value,
           w->time, r->met ? "meets" : "the best reached, and misses", p->clock);
    printf("  expected      %.2f ns\n", w->expected);
    printf("  stages        ");
    for (int32_t k = 0; k < r->stages; k++)
        printf("%.2f%s", r->stage[k], k + 1 < r->stages ? " " : " ns\n");
    printf("  ");
    print_critical(p, r);
    printf("  measured      %d", (int)r->trials);
    printf(r->failures > 0 ? ", %d failed" : "", (int)r->failures);
    printf("\n\n%4s %12s %10s %10s\n", "run", sked_objective_name(p->objective), "expected", "measured");
    for (int32_t k = 0; k < r->trials; k++)
        printf("%4d %12.17g %10.2f %10.2f%s\n", (int)k + 1, r->trial[k].value, r->trial[k].expected,
               r->trial[k].time,
               k == r->winner                 ? "  <- winner"
               : r->trial[k].time <= p->clock ? "  meets"
                                              : "");
    printf("\n%-24s %10s %10s\n", "fitted", "library", "measured");
    for (int32_t k = 0; k < r->parameters && k < 40; k++) {
        printable_text text;
        printf("%-24s %10.3f %10.3f\n", printable(r->parameter[k].name, &text), r->parameter[k].prior[2],
               r->parameter[k].mean);
    }
}

static void json_pipeline(const arguments *a, const sked_problem *p, const sked_pipeline_result *r)
{
    const sked_pipeline_trial *w = &r->trial[r->winner];
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "target", r->target);
    json_text(&j, "objective", sked_objective_name(p->objective));
    json_number(&j, "value", w->value);
    json_number(&j, "clock", p->clock);
    json_number(&j, "target_time", w->time);
    json_bool(&j, "met", r->met);
    json_number(&j, "measurements", r->trials);
    json_number(&j, "failures", r->failures);
    json_number(&j, "seconds", r->seconds);
    json_number(&j, "seed", (double)a->seed);
    json_open(&j, "stages", '[');
    for (int32_t k = 0; k < r->stages; k++)
        json_number(&j, NULL, r->stage[k]);
    json_close(&j, ']');
    json_open(&j, "critical_path", '[');
    for (int32_t i = 0; i < sked_graph_op_count(p->graph); i++) {
        char name[200];
        if (r->critical[i])
            json_text(&j, NULL, sked_graph_op_name(p->graph, i, name, sizeof name));
    }
    json_close(&j, ']');
    json_open(&j, "runs", '[');
    for (int32_t k = 0; k < r->trials; k++) {
        json_open(&j, NULL, '{');
        json_number(&j, "value", r->trial[k].value);
        json_number(&j, "expected", r->trial[k].expected);
        json_number(&j, "time", r->trial[k].time);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_open(&j, "model", '{');
    for (int32_t k = 0; k < r->parameters; k++)
        json_number(&j, r->parameter[k].name, r->parameter[k].mean);
    json_close(&j, '}');
    json_close(&j, '}');
}

/* Files have the delays that were fitted: with these the winner is a valid schedule of its clock. */
static sked_status write_pipeline(const arguments *a, const sked_problem *p, const sked_pipeline_result *r,
                                  sked_error *err)
{
    sked_problem fitted = *p;
    sked_report_data data;
    sked_status st = SKED_OK;
    fitted.graph = r->graph;
    fitted.clock = r->clock;
    sked_report_data_init(&data);
    data.problem = &fitted;
    data.schedule = r->trial[r->winner].schedule;
    data.method = "robust";
    data.seconds = r->seconds;
    data.seed = (uint64_t)a->seed;
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st =
            sked_report_write(&data, a->output.at[i], strcmp(a->output.at[i], "-") == 0 ? "json" : NULL, err);
    return st;
}

sked_status robust_pipeline(arguments *a, const sked_robust_options *opt, sked_error *err)
{
    setup s = {0};
    sked_pipeline_result r = {.size = sizeof r};
    sked_status st = check_pipeline(a, err);
    if (st != SKED_OK)
        return st;
    end_on_signal(true);
    st = load_problem(a, a->operand.at[0], &s, err);
    end_on_signal(false);
    if (st == SKED_OK) {
        s.problem.ii = 1;
        if (a->objective == NULL)
            s.problem.objective = SKED_OBJECTIVE_MEMORY;
        st = sked_robust_pipeline(&s.problem, a->target, opt, !a->own_delays, &r, err);
    }
    end_progress();
    if (st == SKED_OK)
        st = write_pipeline(a, &s.problem, &r, err);
    if (st == SKED_OK && a->json)
        json_pipeline(a, &s.problem, &r);
    else if (st == SKED_OK && !to_stdout(a))
        print_pipeline(&s.problem, &r);
    sked_pipeline_result_clear(&r);
    clear_setup(&s);
    return st;
}
