/* sked schedule: a problem in, the best schedule out. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fill_options(const arguments *a, sked_run_options *opt)
{
    sked_run_options_init(opt);
    opt->seed = sked_dist_seed(a->seed.given ? (uint64_t)a->seed.number : 0);
    opt->threads = a->threads.given ? (int)a->threads.number : 1;
    opt->time_limit = a->time_limit.given ? a->time_limit.number : 5;
    opt->iterations = a->iterations.given ? (int64_t)a->iterations.number : 0;
    opt->settings = a->set.list;
    opt->n_settings = a->set.n_list;
    opt->candidates = a->candidates.given ? (int32_t)a->candidates.number : 0;
    opt->top = a->top.given ? (int32_t)a->top.number : 0;
    opt->min_distance = a->min_distance.given ? a->min_distance.number : 0;
    opt->stop = &stop_requested;
    opt->progress = a->quiet.given || sked_dist_rank() > 0 ? NULL : show_progress;
    opt->record = a->record.text;
}

static sked_status check_arguments(const arguments *a, sked_error *err)
{
    if ((a->top.given || a->min_distance.given) && !a->candidates.given)
        return fail(err, SKED_ERR_ARGUMENT,
                    "--top and --min-distance choose among candidates: add --candidates K");
    if (a->sweep.given && a->candidates.given)
        return fail(err, SKED_ERR_ARGUMENT, "--sweep gives one schedule per point: leave --candidates out");
    if (a->sweep.given && a->record.given)
        return fail(err, SKED_ERR_ARGUMENT, "--record takes one run: leave --sweep out");
    if (a->record.given && !ends_with(a->record.text, ".jsonl") && !ends_with(a->record.text, ".svg"))
        return fail(err, SKED_ERR_ARGUMENT, "--record %.200s: a descent is written as .jsonl or .svg",
                    a->record.text);
    if (a->backend.given && strcmp(a->backend.text, "cpu") != 0) {
        if (strcmp(a->backend.text, "cuda") != 0)
            return fail(err, SKED_ERR_ARGUMENT, "--backend is cpu or cuda, not '%.60s'", a->backend.text);
        return fail(err, SKED_ERR_UNSUPPORTED, "no method of this build computes on CUDA; use --backend cpu");
    }
    return SKED_OK;
}

static double gap_of(const sked_result *r)
{
    if (r->optimal || r->value <= r->lower_bound)
        return 0;
    return r->lower_bound > 0 ? (r->value - r->lower_bound) / r->lower_bound : INFINITY;
}

static void print_json(const arguments *a, const setup *s, const sked_result *r, const sked_metrics *m,
                       const sked_diversity *d)
{
    const sked_problem *p = &s->problem;
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "method", a->method.given ? a->method.text : "auto");
    json_text(&j, "winner", r->method);
    json_text(&j, "graph", sked_graph_name(s->graph));
    json_text(&j, "objective", sked_objective_name(p->objective));
    json_number(&j, "value", r->value);
    json_number(&j, "makespan", m->makespan);
    json_number(&j, "lower_bound", r->lower_bound);
    json_number(&j, "gap", gap_of(r));
    json_bool(&j, "optimal", r->optimal);
    json_bool(&j, "valid", true);
    json_number(&j, "seconds", r->seconds);
    json_number(&j, "seed", a->seed.given ? a->seed.number : 0);
    json_number(&j, "threads", a->threads.given ? a->threads.number : 1);
    json_number(&j, "devices", p->devices);
    json_number(&j, "speedup", m->speedup);
    json_number(&j, "idle", m->idle);
    if (r->schedule[0]->ii > 0)
        json_number(&j, "ii", r->schedule[0]->ii);
    else
        json_null(&j, "ii");
    json_number(&j, "peak_memory", m->peak_memory);
    json_number(&j, "resource", m->resource);
    json_number(&j, "communication", m->communication);
    json_number(&j, "transfer", m->transfer);
    json_number(&j, "evaluations", (double)r->evaluations);
    if (a->candidates.given) {
        json_number(&j, "candidates", r->count);
        json_number(&j, "ged", d->ged);
        json_number(&j, "d_inv", d->d_inv);
        json_number(&j, "d_sen", d->d_sen);
    }
    if (r->note[0])
        json_text(&j, "note", r->note);
    json_close(&j, '}');
}

static void print_text(const arguments *a, const setup *s, const sked_result *r, const sked_metrics *m,
                       const sked_diversity *d)
{
    const sked_problem *p = &s->problem;
    char x[40], y[40];
    printf("%s %s", sked_objective_name(p->objective), human(r->value, x, sizeof x));
    if (p->objective == SKED_OBJECTIVE_II)
        printf(", length %s", human(m->makespan, x, sizeof x));
    if (r->optimal)
        printf(" (optimal)\n");
    else if (isfinite(gap_of(r)))
        printf(" (bound %s, gap %.2f %%)\n", human(r->lower_bound, y, sizeof y), 100 * gap_of(r));
    else
        printf(" (bound %s)\n", human(r->lower_bound, y, sizeof y));
    printf("  graph          %s, %d ops, %lld edges\n", sked_graph_name(s->graph),
           (int)sked_graph_op_count(s->graph), (long long)sked_graph_edge_count(s->graph));
    printf("  method         %s%s%s, %.3f s, %lld evaluations\n", a->method.given ? a->method.text : "auto",
           strcmp(r->method, a->method.given ? a->method.text : "auto") ? ", won by " : "",
           strcmp(r->method, a->method.given ? a->method.text : "auto") ? r->method : "", r->seconds,
           (long long)r->evaluations);
    if (p->devices > 0)
        printf("  devices        %d, speedup %.4g, idle %.1f %%\n", (int)p->devices, m->speedup,
               100 * m->idle);
    if (p->objective != SKED_OBJECTIVE_MAKESPAN && p->objective != SKED_OBJECTIVE_II)
        printf("  makespan       %s\n", human(m->makespan, x, sizeof x));
    if (r->schedule[0]->ii > 0 && p->objective != SKED_OBJECTIVE_II)
        printf("  ii             %s\n", human(r->schedule[0]->ii, x, sizeof x));
    printf("  peak memory    %s\n", human(m->peak_memory, x, sizeof x));
    printf("  resource       %s\n", human(m->resource, x, sizeof x));
    printf("  communication  %s\n", human(m->communication, x, sizeof x));
    if (a->candidates.given)
        printf("  candidates     %d, GED %.1f %%, d_inv %.4g, d_sen %.4g\n", (int)r->count, d->ged, d->d_inv,
               d->d_sen);
    if (r->note[0])
        printf("  note           %s\n", r->note);
}

static sked_status write_outputs(const arguments *a, const setup *s, const sked_result *r, sked_error *err)
{
    for (int i = 0; i < a->output.n_list; i++) {
        const char *path = a->output.list[i];
        sked_report_data data;
        sked_report_data_init(&data);
        data.problem = &s->problem;
        data.schedule = r->schedule[0];
        data.method = r->method;
        data.lower_bound = r->lower_bound;
        data.optimal = r->optimal;
        data.seconds = r->seconds;
        data.seed = a->seed.given ? (uint64_t)a->seed.number : 0;
        sked_status st;
        if (ends_with(path, ".jsonl"))
            st = sked_schedules_write(&s->problem, (const sked_schedule *const *)r->schedule, r->count, path,
                                      err);
        else
            st = sked_report_write(&data, path, strcmp(path, "-") == 0 ? "json" : NULL, err);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}

/* Refuses an output nobody can write before the search begins, not after. */
static sked_status check_outputs(const arguments *a, sked_error *err)
{
    for (int i = 0; i < a->output.n_list; i++) {
        bool known = strcmp(a->output.list[i], "-") == 0 || ends_with(a->output.list[i], ".jsonl");
        for (int k = 0; !known && k < sked_report_count(); k++)
            known = ends_with(a->output.list[i], sked_report_at(k)->extension);
        if (!known)
            return fail(err, SKED_ERR_ARGUMENT,
                        "-o %.200s: the extension picks the writer: .json .jsonl .trace.json .svg .html .dot",
                        a->output.list[i]);
    }
    return SKED_OK;
}

static bool to_stdout(const arguments *a)
{
    for (int i = 0; i < a->output.n_list; i++)
        if (strcmp(a->output.list[i], "-") == 0)
            return true;
    return false;
}

static void warn_about(const arguments *a, const setup *s)
{
    bool limited = s->problem.devices > 0;
    for (int32_t r = 0; r < sked_graph_resource_count(s->graph); r++)
        limited = limited || isfinite(s->capacity ? s->capacity[r] : sked_graph_capacity(s->graph, r));
    if (!limited && s->problem.objective == SKED_OBJECTIVE_MAKESPAN)
        warn(a, "no devices and no finite resources: nothing limits parallel work (see --devices)");
}

static sked_status report(const arguments *a, const setup *s, const sked_result *r, sked_error *err)
{
    sked_metrics m = {.size = sizeof m};
    sked_diversity d = {.size = sizeof d};
    sked_status st = sked_schedule_measure(&s->problem, r->schedule[0], &m, err);
    if (st == SKED_OK && a->candidates.given)
        st = sked_schedules_diversity(&s->problem, (const sked_schedule *const *)r->schedule, r->count, &d,
                                      err);
    if (st == SKED_OK)
        st = write_outputs(a, s, r, err);
    if (st != SKED_OK)
        return st;
    if (a->json.given)
        print_json(a, s, r, &m, &d);
    else if (!to_stdout(a))
        print_text(a, s, r, &m, &d);
    return SKED_OK;
}

sked_status run_schedule(arguments *a, sked_error *err)
{
    setup s = {0};
    sked_schedule *start = NULL;
    sked_result r = {.size = sizeof r};
    sked_run_options opt;
    fill_options(a, &opt);
    sked_status st = check_arguments(a, err);
    if (st == SKED_OK && !a->sweep.given)
        st = check_outputs(a, err);
    if (st == SKED_OK)
        st = load_problem(a, a->operand[0], &s, err);
    if (st == SKED_OK && a->start.given)
        st = sked_schedule_read(a->start.text, s.graph, &start, err);
    opt.start = start;
    if (st == SKED_OK && a->sweep.given) {
        st = run_sweep(a, &s, &opt, err);
        sked_schedule_destroy(start);
        clear_setup(&s);
        return st;
    }
    if (st == SKED_OK)
        st = sked_method_run(a->method.given ? a->method.text : "auto", &s.problem, &opt, &r, err);
    end_progress();
    if (st == SKED_OK && a->record.given && !r.recorded)
        warn(a, "--record: no descent took place, nothing is written (the first schedule met the bound?)");
    if (st == SKED_OK)
        warn_about(a, &s);
    if (s.graph != NULL)
        st = sked_dist_best(&s.problem, st, &r, err);
    if (st == SKED_OK && sked_dist_rank() == 0)
        st = report(a, &s, &r, err);
    sked_result_clear(&r);
    sked_schedule_destroy(start);
    clear_setup(&s);
    return st;
}
