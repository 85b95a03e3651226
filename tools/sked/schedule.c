/* sked schedule: a problem in, the best schedule out. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fill_options(const arguments *a, sked_run_options *opt)
{
    sked_run_options_init(opt);
    opt->seed = sked_dist_seed((uint64_t)a->seed);
    opt->threads = (int)a->threads;
    opt->time_limit = a->time_limit;
    opt->iterations = a->iterations;
    opt->settings = a->set.at;
    opt->n_settings = a->set.count;
    opt->candidates = (int32_t)a->candidates;
    opt->top = (int32_t)a->top;
    opt->min_distance = a->min_distance;
    opt->stop = &stop_requested;
    opt->progress = show_progress;
    opt->backend = a->backend;
    opt->together = a->sweep == NULL; /* each point of a sweep is a run, and rank 0 makes them all */
}

static sked_status check_arguments(const arguments *a, sked_error *err)
{
    if ((a->top > 0 || a->min_distance > 0) && a->candidates == 0)
        return fail(err, SKED_ERR_ARGUMENT,
                    "--top and --min-distance choose among candidates: add --candidates K");
    if (a->sweep != NULL && a->candidates > 0)
        return fail(err, SKED_ERR_ARGUMENT, "--sweep finds one schedule per point: leave out --candidates");
    if (a->sweep != NULL && a->statistics)
        return fail(err, SKED_ERR_ARGUMENT, "--statistics takes one run: leave out --sweep");
    if (a->sweep != NULL && a->bind >= 0)
        return fail(err, SKED_ERR_ARGUMENT, "--bind takes one run: leave out --sweep");
    if (a->sweep != NULL && a->curve != NULL)
        return fail(err, SKED_ERR_ARGUMENT, "--curve takes one run: leave out --sweep");
    if (a->curve != NULL && !ends_with(a->curve, ".jsonl"))
        return fail(err, SKED_ERR_ARGUMENT, "--curve %.200s: value over time is written as .jsonl", a->curve);
    return SKED_OK;
}

static double gap_of(const sked_result *r)
{
    if (r->optimal || r->value <= r->lower_bound)
        return 0;
    return r->lower_bound > 0 ? (r->value - r->lower_bound) / r->lower_bound : INFINITY;
}

static void print_statistics_json(json_out *j, const sked_result *r)
{
    json_open(j, "statistics", '[');
    for (int32_t i = 0; i < r->n_statistics; i++) {
        const sked_statistic *row = r->statistics[i];
        json_open(j, NULL, '{');
        json_text(j, "method", row->method);
        json_text(j, "technique", row->technique[0] ? row->technique : NULL);
        json_number(j, "calls", (double)row->calls);
        json_number(j, "seconds", row->seconds);
        json_number(j, "evaluations", (double)row->evaluations);
        json_number(j, "offers", (double)row->offers);
        json_number(j, "improvements", (double)row->improvements);
        json_number(j, "gain", row->gain);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* A method's own row, then its techniques indented below it. */
static void print_statistics(const sked_result *r)
{
    printf("  %-24s %8s %9s %13s %7s %9s %12s\n", "statistics", "calls", "seconds", "evaluations", "offers",
           "incumbent", "gain");
    for (int32_t i = 0; i < r->n_statistics; i++) {
        const sked_statistic *row = r->statistics[i];
        char gain[40], name[60];
        snprintf(name, sizeof name, "%s%s", row->technique[0] ? "  " : "",
                 row->technique[0] ? row->technique : row->method);
        printf("  %-24s %8lld %9.3f %13lld", name, (long long)row->calls, row->seconds,
               (long long)row->evaluations);
        if (row->technique[0])
            printf(" %7s %9s", "", "");
        else
            printf(" %7lld %9lld", (long long)row->offers, (long long)row->improvements);
        printf(" %12s\n", human(row->gain, gain, sizeof gain));
    }
}

static void print_json(const arguments *a, const setup *s, const sked_result *r, const sked_metrics *m,
                       const sked_diversity *d, const double *peak, const model_memory *model,
                       const registers *bits, const sked_binding *bound)
{
    const sked_problem *p = &s->problem;
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "method", a->method);
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
    json_number(&j, "seed", (double)a->seed);
    json_number(&j, "threads", (double)a->threads);
    json_devices(&j, p, peak);
    json_number(&j, "speedup", m->speedup);
    json_number(&j, "idle", m->idle);
    if (r->schedule[0]->ii > 0)
        json_number(&j, "ii", r->schedule[0]->ii);
    else
        json_null(&j, "ii");
    json_number(&j, "peak_memory", m->peak_memory);
    json_arena(&j, r->schedule[0], m);
    json_model_memory(&j, model);
    json_registers(&j, bits);
    json_number(&j, "resource", m->resource);
    json_number(&j, "communication", m->communication);
    json_number(&j, "transfer", m->transfer);
    json_number(&j, "evaluations", (double)r->evaluations);
    if (a->candidates > 0) {
        json_number(&j, "candidates", r->count);
        json_number(&j, "ged", d->ged);
        json_number(&j, "d_inv", d->d_inv);
        json_number(&j, "d_sen", d->d_sen);
    }
    if (a->bind >= 0)
        json_binding(&j, &s->problem, r->schedule[0], bound);
    if (r->note[0])
        json_text(&j, "note", r->note);
    if (a->statistics)
        print_statistics_json(&j, r);
    json_close(&j, '}');
}

static void print_text(const arguments *a, const setup *s, const sked_result *r, const sked_metrics *m,
                       const sked_diversity *d, const double *peak, const model_memory *model,
                       const registers *bits, const sked_binding *bound)
{
    const sked_problem *p = &s->problem;
    char x[40], y[40];
    printable_text name;
    printf("%s %s", sked_objective_name(p->objective), human(r->value, x, sizeof x));
    if (p->objective == SKED_OBJECTIVE_II)
        printf(", length %s", human(m->makespan, x, sizeof x));
    if (r->optimal)
        printf(" (optimal)\n");
    else if (isfinite(gap_of(r)))
        printf(" (bound %s, gap %.2f %%)\n", human(r->lower_bound, y, sizeof y), 100 * gap_of(r));
    else
        printf(" (bound %s)\n", human(r->lower_bound, y, sizeof y));
    printf("  graph          %s, %d ops, %lld edges\n", printable(sked_graph_name(s->graph), &name),
           (int)sked_graph_op_count(s->graph), (long long)sked_graph_edge_count(s->graph));
    const bool member = strcmp(r->method, a->method) != 0;
    printf("  method         %s%s%s, %.3f s, %lld evaluations\n", a->method, member ? ", won by " : "",
           member ? r->method : "", r->seconds, (long long)r->evaluations);
    if (p->devices > 0)
        printf("  devices        %d, speedup %.4g, idle %.1f %%\n", (int)p->devices, m->speedup,
               100 * m->idle);
    if (p->machine != NULL)
        printf("  machine        %s\n", machine_name(p->machine, &name));
    if (p->objective != SKED_OBJECTIVE_MAKESPAN && p->objective != SKED_OBJECTIVE_II)
        printf("  makespan       %s\n", human(m->makespan, x, sizeof x));
    if (r->schedule[0]->ii > 0 && p->objective != SKED_OBJECTIVE_II)
        printf("  ii             %s\n", human(r->schedule[0]->ii, x, sizeof x));
    printf("  peak memory    %s", human(m->peak_memory, x, sizeof x));
    if (p->memory_limit < INFINITY)
        printf(" of %s", human(p->memory_limit, x, sizeof x));
    printf("\n");
    print_arena(r->schedule[0], m);
    print_model(model);
    print_registers(bits);
    print_devices(p, r->schedule[0], peak);
    printf("  resource       %s\n", human(m->resource, x, sizeof x));
    printf("  communication  %s\n", human(m->communication, x, sizeof x));
    if (a->candidates > 0)
        printf("  candidates     %d, GED %.1f %%, d_inv %.4g, d_sen %.4g\n", (int)r->count, d->ged, d->d_inv,
               d->d_sen);
    if (a->bind >= 0)
        print_binding(p, r->schedule[0], bound);
    if (r->note[0])
        printf("  note           %s\n", printable(r->note, &name));
    if (a->statistics)
        print_statistics(r);
}

static sked_status write_outputs(const arguments *a, const setup *s, const sked_result *r,
                                 model_memory *model, sked_error *err)
{
    for (int i = 0; i < a->output.count; i++) {
        const char *path = a->output.at[i];
        sked_report_data data;
        sked_report_data_init(&data);
        data.problem = &s->problem;
        data.schedule = r->schedule[0];
        data.source = a->operand.at[0];
        data.arena = model->arena;
        data.method = r->method;
        data.lower_bound = r->lower_bound;
        data.optimal = r->optimal;
        data.seconds = r->seconds;
        data.seed = (uint64_t)a->seed;
        data.curve = r->curve;
        data.n_curve = r->n_curve;
        data.validated = true;
        sked_status st;
        if (ends_with(path, CANDIDATES_EXTENSION))
            st = sked_schedules_write(&s->problem, (const sked_schedule *const *)r->schedule, r->count, path,
                                      err);
        else
            st = sked_report_write(&data, path, strcmp(path, "-") == 0 ? "json" : NULL, err);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}

/* The best schedule, and with --candidates the others. bound: of the best. */
static sked_status bind_all(const arguments *a, const sked_problem *p, const sked_result *r,
                            sked_binding *bound, sked_error *err)
{
    sked_bind_options opt;
    sked_status st = SKED_OK;
    sked_bind_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.time_limit = a->bind;
    opt.iterations = a->iterations;
    opt.stop = &stop_requested;
    for (int32_t k = r->count - 1; a->bind >= 0 && k >= 0 && st == SKED_OK; k--)
        st = sked_schedule_bind(p, &opt, r->schedule[k], bound, err);
    return st;
}

static void warn_about(const setup *s)
{
    bool limited = s->problem.devices > 0 || s->problem.memory_limit < INFINITY;
    for (int32_t r = 0; r < sked_graph_resource_count(s->graph); r++)
        limited = limited || isfinite(s->capacity ? s->capacity[r] : sked_graph_capacity(s->graph, r));
    if (!limited && s->problem.objective == SKED_OBJECTIVE_MAKESPAN)
        warn("no devices and no finite resources: nothing limits parallel work (see --devices)");
}

static sked_status report(const arguments *a, const setup *s, const sked_result *r, sked_error *err)
{
    sked_metrics m = {.size = sizeof m};
    sked_diversity d = {.size = sizeof d};
    registers bits = {0};
    sked_binding bound = {.size = sizeof bound};
    model_memory model = {NAN, {NAN, NAN}};
    double *peak = NULL;
    sked_status st = bind_all(a, &s->problem, r, &bound, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(&s->problem, r->schedule[0], &m, err);
    if (st == SKED_OK && a->candidates > 0)
        st = sked_schedules_diversity(&s->problem, (const sked_schedule *const *)r->schedule, r->count, &d,
                                      err);
    if (st == SKED_OK)
        st = write_outputs(a, s, r, &model, err);
    if (st == SKED_OK && a->curve != NULL)
        st = sked_curve_write(r, a->curve, err);
    if (st == SKED_OK)
        st = device_peaks(&s->problem, r->schedule[0], &peak, err);
    if (st == SKED_OK)
        st = file_order_peak(a, &s->problem, &model.file_peak, err);
    if (st == SKED_OK)
        st = pipeline_registers(&s->problem, r->schedule[0], &bits, err);
    if (st == SKED_OK && a->json)
        print_json(a, s, r, &m, &d, peak, &model, &bits, &bound);
    else if (st == SKED_OK && !to_stdout(a))
        print_text(a, s, r, &m, &d, peak, &model, &bits, &bound);
    sked_free(bits.bits);
    free(peak);
    return st;
}

sked_status run_schedule(arguments *a, sked_error *err)
{
    setup s = {0};
    sked_schedule *start = NULL;
    sked_result r = {.size = sizeof r};
    sked_run_options opt;
    fill_options(a, &opt);
    end_on_signal(true);
    sked_status st = check_arguments(a, err);
    if (st == SKED_OK && a->sweep == NULL)
        st = check_extensions(a, true, err);
    if (st == SKED_OK)
        st = load_problem(a, a->operand.at[0], &s, err);
    if (st == SKED_OK && a->start != NULL)
        st = sked_schedule_read(a->start, &s.problem, &start, err);
    opt.start = start;
    st = sked_dist_agree(st, err);
    end_on_signal(false);
    if (st == SKED_OK && a->sweep != NULL) {
        st = sked_dist_rank() == 0 ? run_sweep(a, &s, &opt, err) : SKED_OK;
        sked_schedule_destroy(start);
        clear_setup(&s);
        return st;
    }
    const bool agreed = st == SKED_OK;
    if (agreed)
        st = sked_method_run(a->method, &s.problem, &opt, &r, err);
    end_progress();
    if (st == SKED_OK)
        warn_about(&s);
    if (agreed)
        st = sked_dist_best(&s.problem, st, &r, err);
    if (st == SKED_OK && sked_dist_rank() == 0)
        st = report(a, &s, &r, err);
    sked_result_clear(&r);
    sked_schedule_destroy(start);
    clear_setup(&s);
    return st;
}
