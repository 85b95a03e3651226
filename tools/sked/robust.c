/*
 * sked robust: many candidates, the proxy keeps the best k, the target measures those, the best there wins.
 * Without --method every method that gives candidates takes part and a table compares them.
 */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct contender {
    const char *label, *method, *setting; /* setting NULL: presets */
    bool many;                            /* false: one schedule, for comparison */
} contender;

static const contender contenders[] = {
    {"list", "list", NULL, false},        {"random list", "list", "priority=random", true},
    {"brkga", "brkga", NULL, true},       {"search", "search", NULL, true},
    {"gflownet", "gflownet", NULL, true},
};
enum { n_contenders = sizeof contenders / sizeof *contenders };

/* What one contender reached. */
typedef struct standing {
    const contender *who;
    sked_result result;
    double *proxy, *target; /* [result.count] speedups; target: NAN where it was not measured */
    double least;           /* time of the best on the target, INFINITY where none was measured */
    int32_t winner;         /* index of that; -1: none */
    int32_t failures;
    double seconds;
    sked_diversity diversity;
} standing;

static void clear_standing(standing *s)
{
    sked_result_clear(&s->result);
    free(s->proxy);
    free(s->target);
}

static int32_t draws_of(const arguments *a)
{
    return (int32_t)a->draws;
}

static int32_t top_of(const arguments *a)
{
    return (int32_t)a->robust_top;
}

static sked_status gather(const arguments *a, const sked_problem *p, standing *s, sked_error *err)
{
    sked_run_options opt;
    const char *settings[MAX_VALUES + 2];
    char model[4200];
    int n = 0;
    sked_run_options_init(&opt);
    if (s->who->setting != NULL)
        settings[n++] = s->who->setting;
    snprintf(model, sizeof model, "model=%.4100s", a->model != NULL ? a->model : "");
    if (a->model != NULL && strcmp(s->who->method, "gflownet") == 0)
        settings[n++] = model;
    for (int i = 0; i < a->set.count; i++)
        settings[n++] = a->set.at[i];
    opt.settings = settings;
    opt.n_settings = n;
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.time_limit = a->time_limit;
    if (s->who->many) {
        opt.candidates = draws_of(a);
        opt.top = top_of(a);
    }
    opt.min_distance = a->min_distance;
    opt.stop = &stop_requested;
    opt.progress = a->quiet ? NULL : show_progress;
    return sked_method_run(s->who->method, p, &opt, &s->result, err);
}

/* Speedups of all candidates on the proxy. */
static sked_status measure_proxy(const sked_problem *p, standing *s, sked_error *err)
{
    const sked_result *r = &s->result;
    sked_status st = SKED_OK;
    s->proxy = calloc((size_t)r->count + 1, sizeof *s->proxy);
    s->target = calloc((size_t)r->count + 1, sizeof *s->target);
    if (s->proxy == NULL || s->target == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    for (int32_t k = 0; st == SKED_OK && k < r->count; k++) {
        sked_metrics m;
        st = sked_schedule_measure(p, r->schedule[k], &m, err);
        s->proxy[k] = m.speedup;
        s->target[k] = NAN;
    }
    return st;
}

/* The target's word on every kept candidate; one that fails is reported and left out, never lost. */
static sked_status measure_target(const arguments *a, sked_target_run *target, standing *s, sked_error *err)
{
    const sked_result *r = &s->result;
    for (int32_t k = 0; k < r->count && !stop_requested; k++) {
        sked_error why = {0};
        double time;
        const sked_status st = sked_target_measure(target, r->schedule[k], &time, &why);
        if (st != SKED_OK && st != SKED_ERR_DEVICE)
            return fail(err, st, "%s", why.message);
        if (st == SKED_ERR_DEVICE) {
            warn("candidate %d of %s was not measured: %s", (int)k, s->who->label, why.message);
            s->failures++;
            continue;
        }
        s->target[k] = time > 0 ? sked_target_work(target) / time : 1;
        if (s->winner < 0 || time < s->least) {
            s->winner = k;
            s->least = time;
        }
        if (!a->quiet)
            show_progress(NULL, "measuring", (double)(k + 1) / r->count, NAN, NAN);
    }
    return SKED_OK;
}

static sked_status run_contender(const arguments *a, const sked_problem *p, sked_target_run *target,
                                 standing *s, sked_error *err)
{
    const double begin = sked_clock();
    s->winner = -1;
    s->least = INFINITY;
    sked_status st = gather(a, p, s, err);
    if (st == SKED_OK)
        st = measure_proxy(p, s, err);
    if (st == SKED_OK)
        st = measure_target(a, target, s, err);
    if (st == SKED_OK)
        st = sked_schedules_diversity(p, (const sked_schedule *const *)s->result.schedule, s->result.count,
                                      &s->diversity, err);
    s->seconds = sked_clock() - begin;
    return st;
}

static double target_speedup(const standing *s)
{
    return s->winner >= 0 ? s->target[s->winner] : NAN;
}

static void print_table(const arguments *a, const standing *all, int count, const standing *best)
{
    char x[40];
    printf("target %s\n%-12s %11s %8s %9s %8s %8s %8s %9s\n", a->target, "method", "candidates", "proxy",
           "target", "GED [%]", "d_inv", "d_sen", "seconds");
    for (int i = 0; i < count; i++) {
        const standing *s = &all[i];
        char reached[20] = "-", note[60] = "";
        if (s->winner >= 0)
            snprintf(reached, sizeof reached, "%.3f", target_speedup(s));
        if (s->failures > 0)
            snprintf(note, sizeof note, "  (%d not measured)", (int)s->failures);
        printf("%-12s %11d %8.3f %9s %8.2f %8.4g %8.4g %9.3f%s%s\n", s->who->label, (int)s->result.count,
               s->proxy[0], reached, s->diversity.ged, s->diversity.d_inv, s->diversity.d_sen, s->seconds,
               s == best ? "  <- winner" : "", note);
    }
    printf("proxy: speedup of the best candidate there; target: of the best one measured. Winner: time %s\n",
           human(best->least, x, sizeof x));
}

static void print_json(const arguments *a, const sked_problem *p, const standing *s, double proxy_makespan)
{
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "method", s->who->label);
    json_text(&j, "target", a->target);
    json_number(&j, "candidates", s->who->many ? draws_of(a) : 1);
    json_number(&j, "top", s->result.count);
    json_number(&j, "proxy_speedup", s->proxy[0]);
    json_number(&j, "target_speedup", target_speedup(s));
    json_number(&j, "ged", s->diversity.ged);
    json_number(&j, "d_inv", s->diversity.d_inv);
    json_number(&j, "d_sen", s->diversity.d_sen);
    json_number(&j, "seconds", s->seconds);
    json_number(&j, "seed", (double)a->seed);
    json_number(&j, "failures", s->failures);
    json_open(&j, "winner", '{');
    json_number(&j, "rank", s->winner);
    json_number(&j, "makespan", proxy_makespan);
    json_number(&j, "target_time", s->least);
    json_number(&j, "lower_bound", s->result.lower_bound);
    json_bool(&j, "valid", true);
    json_number(&j, "devices", p->devices);
    json_close(&j, '}');
    json_close(&j, '}');
}

/* The files asked for: the winner's schedule, and in pages and scatter pictures what it won against. */
static sked_status write_files(const arguments *a, const sked_problem *p, const standing *all, int count,
                               const standing *best, sked_error *err)
{
    sked_standing rows[n_contenders];
    const sked_comparison comparison = {
        .target = a->target, .standing = rows, .count = count, .winner = (int)(best - all)};
    const sked_report_data data = {.problem = p,
                                   .schedule = best->result.schedule[best->winner],
                                   .method = best->who->label,
                                   .lower_bound = best->result.lower_bound,
                                   .seconds = best->seconds,
                                   .seed = (uint64_t)a->seed,
                                   .comparison = &comparison};
    sked_status st = SKED_OK;
    for (int i = 0; i < count; i++)
        rows[i] = (sked_standing){.method = all[i].who->label,
                                  .count = all[i].result.count,
                                  .proxy = all[i].proxy,
                                  .target = all[i].target,
                                  .best = all[i].winner,
                                  .diversity = all[i].diversity,
                                  .seconds = all[i].seconds};
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st =
            sked_report_write(&data, a->output.at[i], strcmp(a->output.at[i], "-") == 0 ? "json" : NULL, err);
    return st;
}

static sked_status deliver(const arguments *a, const sked_problem *p, const standing *all, int count,
                           sked_error *err)
{
    const standing *best = &all[0];
    sked_metrics m;
    for (int i = 1; i < count; i++)
        best = all[i].least < best->least ? &all[i] : best;
    if (best->winner < 0)
        return fail(err, stop_requested ? SKED_ERR_STOPPED : SKED_ERR_DEVICE,
                    "the target measured none of the candidates");
    sked_status st = sked_schedule_measure(p, best->result.schedule[best->winner], &m, err);
    if (st == SKED_OK)
        st = write_files(a, p, all, count, best, err);
    if (st != SKED_OK)
        return st;
    if (a->json)
        print_json(a, p, best, m.makespan);
    else
        print_table(a, all, count, best);
    return SKED_OK;
}

/* The contenders this build has, or the one asked for. */
static int choose(const arguments *a, const contender **out)
{
    static contender own;
    int n = 0;
    for (int i = 0; i < n_contenders; i++)
        if (sked_method_find(contenders[i].method) != NULL)
            out[n++] = &contenders[i];
    if (a->robust_method == NULL)
        return n;
    for (int i = 0; i < n; i++)
        if (out[i]->many && strcmp(out[i]->method, a->robust_method) == 0)
            return out[0] = out[i], 1;
    own = (contender){a->robust_method, a->robust_method, NULL, true};
    out[0] = &own;
    return 1;
}

sked_status run_robust(arguments *a, sked_error *err)
{
    setup s = {0};
    sked_target_run *target = NULL;
    standing all[n_contenders] = {0};
    const contender *who[n_contenders];
    const int count = choose(a, who);
    if (a->target == NULL || a->devices == 0)
        return fail(err, SKED_ERR_ARGUMENT,
                    "`sked robust` needs --devices N and --target T (see `sked targets`)");
    sked_status st = load_problem(a, a->operand.at[0], &s, err);
    if (st == SKED_OK)
        st = sked_target_open(a->target, &s.problem, (uint64_t)a->seed, &target, err);
    int ran = 0;
    for (; st == SKED_OK && ran < count && !(ran > 0 && stop_requested); ran++) {
        all[ran].who = who[ran];
        st = run_contender(a, &s.problem, target, &all[ran], err);
    }
    end_progress();
    if (st == SKED_OK)
        st = deliver(a, &s.problem, all, ran, err);
    for (int i = 0; i < ran; i++)
        clear_standing(&all[i]);
    sked_target_close(target);
    clear_setup(&s);
    return st;
}
