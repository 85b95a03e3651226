/* sked schedule: a problem in, the best schedule out. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool several_methods(const arguments *a)
{
    return strchr(a->method, ',') != NULL;
}

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
    opt->together =
        a->sweep == NULL && !several_methods(a); /* those are many runs, and rank 0 makes them all */
}

static sked_status check_arguments(const arguments *a, sked_error *err)
{
    if ((a->top > 0 || a->min_distance > 0) && a->candidates == 0)
        return fail(err, SKED_ERR_ARGUMENT,
                    "--top and --min-distance choose among candidates: add --candidates K");
    if (several_methods(a) &&
        (a->sweep != NULL || a->candidates > 0 || a->statistics || a->bind >= 0 || a->curve != NULL))
        return fail(err, SKED_ERR_ARGUMENT,
                    "--method A,B,C compares one schedule of each: leave out --sweep, --candidates, "
                    "--statistics, --bind and --curve");
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

/* What is measured of the best schedule beside its metrics. */
typedef struct facts {
    double *peak, *units; /* peak memory by device, NULL: not worth a line; the most of each resource */
    registers bits;
    traffic traffic;
    model_memory model;
} facts;

static sked_status find_facts(const arguments *a, const sked_problem *p, const sked_schedule *s, facts *f,
                              sked_error *err)
{
    f->units = calloc((size_t)sked_graph_resource_count(p->graph) + 1, sizeof *f->units);
    if (f->units == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    sked_status st = sked_schedule_resource_peaks(p, s, f->units, err);
    if (st == SKED_OK)
        st = device_peaks(p, s, &f->peak, err);
    if (st == SKED_OK)
        st = pipeline_registers(p, s, &f->bits, err);
    if (st == SKED_OK)
        st = file_order_peak(a, p, &f->model.file_peak, err);
    return st == SKED_OK ? count_traffic(p, s, &f->traffic, err) : st;
}

static void clear_facts(facts *f)
{
    sked_free(f->bits.bits);
    free(f->peak);
    free(f->units);
}

/* ": MUL 4, ALU 2", the first few. */
static void print_units(const setup *s, const double *units)
{
    enum { most = 8 };
    const int32_t n = sked_graph_resource_count(s->graph);
    char x[40];
    printable_text name;
    for (int32_t r = 0; r < n && r < most; r++)
        printf("%s%s %s", r > 0 ? ", " : ": ", printable(sked_graph_resource_name(s->graph, r), &name),
               human(units[r], x, sizeof x));
    printf("%s\n", n > most ? ", ..." : "");
}

static void json_units(json_out *j, const setup *s, const double *units)
{
    json_open(j, "resource_peaks", '{');
    for (int32_t r = 0; r < sked_graph_resource_count(s->graph); r++)
        json_number(j, sked_graph_resource_name(s->graph, r), units[r]);
    json_close(j, '}');
}

static void print_json(const arguments *a, const setup *s, const sked_result *r, const sked_metrics *m,
                       const sked_diversity *d, const facts *f, const sked_binding *bound)
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
    json_devices(&j, p, f->peak);
    json_number(&j, "speedup", m->speedup);
    json_number(&j, "idle", m->idle);
    if (r->schedule[0]->ii > 0)
        json_number(&j, "ii", r->schedule[0]->ii);
    else
        json_null(&j, "ii");
    json_number(&j, "peak_memory", m->peak_memory);
    json_arena(&j, r->schedule[0], m);
    json_model_memory(&j, &f->model);
    json_registers(&j, &f->bits);
    json_number(&j, "resource", m->resource);
    json_number(&j, "communication", m->communication);
    json_number(&j, "transfer", m->transfer);
    json_number(&j, "transfers", (double)f->traffic.transfers);
    json_number(&j, "bytes_moved", f->traffic.bytes);
    json_units(&j, s, f->units);
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

/* Auto has members. Any other method that gives the schedule of one found none better than it began with. */
static void print_winner(const arguments *a, const sked_result *r)
{
    if (strcmp(r->method, a->method) == 0)
        return;
    if (strcmp(a->method, "auto") == 0)
        printf(", won by %s", r->method);
    else
        printf(": the schedule of %s, %s", r->method,
               r->optimal ? "proved optimal" : "which it began with and did not improve");
}

static void print_text(const arguments *a, const setup *s, const sked_result *r, const sked_metrics *m,
                       const sked_diversity *d, const facts *f, const sked_binding *bound)
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
    printf("  method         %s", a->method);
    print_winner(a, r);
    printf(", %.3f s, %lld evaluations\n", r->seconds, (long long)r->evaluations);
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
    print_model(&f->model);
    print_registers(&f->bits);
    print_devices(p, r->schedule[0], f->peak);
    printf("  resource       %s", human(m->resource, x, sizeof x));
    print_units(s, f->units);
    if (f->traffic.bytes > 0)
        printf("  moved          %s bytes in %lld transfer%s\n", human(f->traffic.bytes, x, sizeof x),
               (long long)f->traffic.transfers, f->traffic.transfers == 1 ? "" : "s");
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
    double memory = 0;
    for (int32_t i = 0; i < sked_graph_op_count(s->graph); i++)
        memory += sked_graph_memory(s->graph, i);
    if (s->problem.memory_limit < INFINITY && memory == 0)
        warn("no op of the graph has a memory: the limit limits nothing (see --memory)");
}

static sked_status report(const arguments *a, const setup *s, const sked_result *r, sked_error *err)
{
    sked_metrics m = {.size = sizeof m};
    sked_diversity d = {.size = sizeof d};
    facts f = {.model = {NAN, {NAN, NAN}}};
    sked_binding bound = {.size = sizeof bound};
    sked_status st = bind_all(a, &s->problem, r, &bound, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(&s->problem, r->schedule[0], &m, err);
    if (st == SKED_OK && a->candidates > 0)
        st = sked_schedules_diversity(&s->problem, (const sked_schedule *const *)r->schedule, r->count, &d,
                                      err);
    if (st == SKED_OK)
        st = write_outputs(a, s, r, &f.model, err);
    if (st == SKED_OK && a->curve != NULL)
        st = sked_curve_write(r, a->curve, err);
    if (st == SKED_OK)
        st = find_facts(a, &s->problem, r->schedule[0], &f, err);
    if (st == SKED_OK && a->json)
        print_json(a, s, r, &m, &d, &f, &bound);
    else if (st == SKED_OK && !to_stdout(a))
        print_text(a, s, r, &m, &d, &f, &bound);
    clear_facts(&f);
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
    if (st == SKED_OK && a->sweep == NULL && !several_methods(a))
        st = check_extensions(a, true, err);
    if (st == SKED_OK)
        st = load_problem(a, a->operand.at[0], &s, err);
    if (st == SKED_OK && a->start != NULL)
        st = sked_schedule_read(a->start, &s.problem, &start, err);
    opt.start = start;
    st = sked_dist_agree(st, err);
    end_on_signal(false);
    if (st == SKED_OK && !opt.together) {
        if (sked_dist_rank() == 0)
            st = a->sweep != NULL ? run_sweep(a, &s, &opt, err) : run_methods_side_by_side(a, &s, &opt, err);
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
