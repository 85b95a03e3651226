/* sked robust: many candidates, the proxy keeps the best k, the target measures those, the best there wins.
 */
#include "cli.h"

#include <math.h>
#include <string.h>

static void warn_user(void *data, const char *message)
{
    (void)data;
    warn("%s", message);
}

static void fill_options(const arguments *a, sked_robust_options *opt)
{
    sked_robust_options_init(opt);
    opt->method = a->robust_method;
    opt->model = a->model;
    opt->settings = a->set.at;
    opt->n_settings = a->set.count;
    opt->candidates = (int32_t)a->draws;
    opt->top = (int32_t)a->robust_top;
    opt->min_distance = a->min_distance;
    opt->time_limit = a->time_limit;
    opt->seed = (uint64_t)a->seed;
    opt->threads = (int)a->threads;
    opt->stop = &stop_requested;
    opt->progress = show_progress;
    opt->warning = warn_user;
}

static double target_speedup(const sked_robust_member *m)
{
    return m->best >= 0 ? m->target[m->best] : NAN;
}

static void print_table(const sked_robust_result *r)
{
    char x[40];
    printable_text target;
    printf("target %s\n%-12s %11s %8s %9s %8s %8s %8s %9s\n", printable(r->target, &target), "method",
           "candidates", "proxy", "target", "GED [%]", "d_inv", "d_sen", "seconds");
    for (int i = 0; i < r->count; i++) {
        const sked_robust_member *m = r->member[i];
        char reached[20] = "-", note[60] = "";
        if (m->best >= 0)
            snprintf(reached, sizeof reached, "%.3f", target_speedup(m));
        if (m->failures > 0)
            snprintf(note, sizeof note, "  (%d not measured)", (int)m->failures);
        printf("%-12s %11d %8.3f %9s %8.2f %8.4g %8.4g %9.3f%s%s\n", m->label, (int)m->count, m->proxy[0],
               reached, m->ged, m->d_inv, m->d_sen, m->seconds, i == r->winner ? "  <- winner" : "", note);
    }
    printf("proxy: speedup of the best candidate there; target: of the best one measured. Winner: time %s\n",
           human(r->member[r->winner]->time, x, sizeof x));
}

static void print_json(const arguments *a, const sked_problem *p, const sked_robust_result *r,
                       double proxy_makespan)
{
    const sked_robust_member *m = r->member[r->winner];
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "method", m->label);
    json_text(&j, "target", r->target);
    json_number(&j, "candidates", m->asked);
    json_number(&j, "top", m->count);
    json_number(&j, "proxy_speedup", m->proxy[0]);
    json_number(&j, "target_speedup", target_speedup(m));
    json_number(&j, "ged", m->ged);
    json_number(&j, "d_inv", m->d_inv);
    json_number(&j, "d_sen", m->d_sen);
    json_number(&j, "seconds", m->seconds);
    json_number(&j, "seed", (double)a->seed);
    json_number(&j, "failures", m->failures);
    json_open(&j, "winner", '{');
    json_number(&j, "rank", m->best);
    json_number(&j, "makespan", proxy_makespan);
    json_number(&j, "target_time", m->time);
    json_number(&j, "lower_bound", m->lower_bound);
    json_bool(&j, "valid", true);
    json_devices(&j, p, NULL);
    json_close(&j, '}');
    json_close(&j, '}');
}

/* The files asked for: the winner's schedule, and in pages and scatter pictures what it won against. */
static sked_status write_files(const arguments *a, const sked_problem *p, const sked_robust_result *r,
                               sked_error *err)
{
    const sked_robust_member *m = r->member[r->winner];
    sked_status st = SKED_OK;
    sked_report_data data;
    sked_report_data_init(&data);
    data.problem = p;
    data.schedule = m->schedule[m->best];
    data.method = m->label;
    data.lower_bound = m->lower_bound;
    data.seconds = m->seconds;
    data.seed = (uint64_t)a->seed;
    data.robust = r;
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st =
            sked_report_write(&data, a->output.at[i], strcmp(a->output.at[i], "-") == 0 ? "json" : NULL, err);
    return st;
}

static sked_status deliver(const arguments *a, const sked_problem *p, const sked_robust_result *r,
                           sked_error *err)
{
    const sked_robust_member *m = r->member[r->winner];
    sked_metrics metrics = {.size = sizeof metrics};
    sked_status st = sked_schedule_measure(p, m->schedule[m->best], &metrics, err);
    if (st == SKED_OK)
        st = write_files(a, p, r, err);
    if (st != SKED_OK)
        return st;
    if (a->json)
        print_json(a, p, r, metrics.makespan);
    else
        print_table(r);
    return SKED_OK;
}

sked_status run_robust(arguments *a, sked_error *err)
{
    setup s = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    if (a->target == NULL || (a->devices == 0 && a->machine == NULL))
        return fail(err, SKED_ERR_ARGUMENT,
                    "`sked robust` needs --devices N or --machine FILE, and --target T (see `sked targets`)");
    fill_options(a, &opt);
    end_on_signal(true);
    sked_status st = load_problem(a, a->operand.at[0], &s, err);
    end_on_signal(false);
    if (st == SKED_OK)
        st = sked_robust(&s.problem, a->target, &opt, &r, err);
    end_progress();
    if (st == SKED_OK)
        st = deliver(a, &s.problem, &r, err);
    sked_robust_result_clear(&r);
    clear_setup(&s);
    return st;
}
