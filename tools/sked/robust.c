/* sked robust: learns the machine while it measures schedules on it, or measures candidates in one shot. */
#include "cli.h"

#include <math.h>
#include <string.h>

enum { most_parameters = 40 }; /* lines of text */

/* ------------------------------------------------------------------ options */

/* Options that one of the two ways does not have differ from their presets only by mistake. */
static const char *misplaced(const arguments *a)
{
    const arguments *const p = sked_program.presets;
    if (!a->one_shot)
        return a->robust_method != NULL                        ? "--method"
               : a->robust_candidates != p->robust_candidates  ? "--candidates"
               : a->robust_top != p->robust_top                ? "--top"
               : a->robust_distance != p->robust_distance      ? "--min-distance"
               : strcmp(a->robust_local, p->robust_local) != 0 ? "--local"
               : a->robust_improve != p->robust_improve        ? "--improve"
                                                               : NULL;
    return a->measurements != p->measurements ? "--measurements"
           : a->prior != NULL                 ? "--prior"
           : a->robust_resume != NULL         ? "--resume"
           : a->robust_log != NULL            ? "--log"
                                              : NULL;
}

static bool wants_machine(const arguments *a)
{
    bool wanted = false;
    for (int i = 0; i < a->output.count; i++)
        wanted = wanted || ends_with(a->output.at[i], ".machine.json");
    return wanted;
}

static sked_status check_arguments(const arguments *a, sked_error *err)
{
    const char *wrong = misplaced(a);
    if (a->clock > 0 || a->io != NULL || a->objective != NULL || a->horizon < INFINITY || a->own_delays)
        return fail(
            err, SKED_ERR_ARGUMENT,
            "--clock, --io, --objective, --horizon and --own-delays are for pipelines: --target ice40");
    if (a->target == NULL || (a->devices == 0 && a->machine == NULL))
        return fail(err, SKED_ERR_ARGUMENT,
                    "`sked robust` needs --devices N or --machine FILE, and --target T (see `sked targets`)");
    if (wrong != NULL && a->one_shot)
        return fail(err, SKED_ERR_ARGUMENT, "%s is for the loop; --one-shot measures --top of each method",
                    wrong);
    if (wrong != NULL)
        return fail(err, SKED_ERR_ARGUMENT, "%s is for --one-shot; the loop chooses what it measures", wrong);
    if (strcmp(a->robust_local, "on") != 0 && strcmp(a->robust_local, "off") != 0)
        return fail(err, SKED_ERR_ARGUMENT, "--local is on or off, not '%.60s'", a->robust_local);
    if (a->one_shot && wants_machine(a))
        return fail(err, SKED_ERR_ARGUMENT,
                    "--one-shot fits no machine: .machine.json is written by the loop");
    if (a->robust_log != NULL && strcmp(a->robust_log, "-") == 0)
        return fail(err, SKED_ERR_ARGUMENT,
                    "measurements are written to a file; standard output has the result");
    return check_extensions(a, false, err);
}

static void warn_user(void *data, const char *message)
{
    (void)data;
    warn("%s", message);
}

/* What the target runs where: a note for each line. */
static void tell_target(void *data, const char *about)
{
    const arguments *a = data;
    while (*about) {
        const int size = (int)strcspn(about, "\n");
        warn("target %.*s: %.*s", (int)strcspn(a->target, ":,+"), a->target, size, about);
        about += size + (about[size] != 0);
    }
}

/* What was told of the loop so far. */
typedef struct follower {
    int32_t budget, told;
} follower;

/* A line for each measurement: share is that of the budget, value the best time. */
static void follow(void *data, const char *phase, double share, double value, double bound)
{
    follower *f = data;
    char time[40];
    const int32_t made = f->budget > 0 && isfinite(share) ? (int32_t)lround(share * f->budget) : 0;
    if (made > f->told)
        progress_line("measured %*d of %d, best time %s", f->budget > 99 ? 6 : 2, (int)made, (int)f->budget,
                      isfinite(value) ? human(value, time, sizeof time) : "-");
    f->told = made > f->told ? made : f->told;
    show_progress(NULL, phase, share, value, bound);
}

static void fill_options(const arguments *a, sked_robust_options *opt, follower *f)
{
    sked_robust_options_init(opt);
    opt->one_shot = a->one_shot;
    opt->measurements = (int32_t)a->measurements;
    opt->prior = a->prior;
    opt->resume = a->robust_resume;
    opt->log = a->robust_log;
    opt->method = a->robust_method;
    opt->model = a->model;
    opt->settings = a->set.at;
    opt->n_settings = a->set.count;
    opt->candidates = (int32_t)a->robust_candidates;
    opt->top = (int32_t)a->robust_top;
    opt->min_distance = a->robust_distance;
    opt->local = strcmp(a->robust_local, "on") == 0;
    opt->improve = a->robust_improve;
    opt->time_limit = a->robust_time;
    opt->iterations = a->iterations;
    opt->seed = (uint64_t)a->seed;
    opt->threads = (int)a->threads;
    opt->backend = a->backend;
    opt->stop = &stop_requested;
    f->budget = a->one_shot ? 0 : opt->measurements;
    opt->progress = follow;
    opt->progress_data = f;
    opt->warning = warn_user;
    opt->note = tell_target;
    opt->note_data = (void *)a;
    opt->together = true;
}

/* ------------------------------------------------------------------ members */

static double target_speedup(const sked_robust_member *m)
{
    return m->best >= 0 ? m->target[m->best] : NAN;
}

static double proxy_speedup(const sked_robust_member *m)
{
    double best = NAN;
    for (int32_t k = 0; k < m->count; k++)
        best = fmax(best, m->proxy[k]);
    return best;
}

static int32_t measured(const sked_robust_member *m)
{
    int32_t n = 0;
    for (int32_t k = 0; k < m->count; k++)
        n += !isnan(m->target[k]);
    return n;
}

static const char *end_text(sked_robust_end end)
{
    static const char *const text[] = {[SKED_ROBUST_BUDGET] = "budget",
                                       [SKED_ROBUST_TIME] = "time",
                                       [SKED_ROBUST_SETTLED] = "settled",
                                       [SKED_ROBUST_STOPPED] = "stopped"};
    return text[end];
}

/* ------------------------------------------------------------------ text */

static const char *fixed(double x, int digits, char *buf, size_t size)
{
    snprintf(buf, size, isfinite(x) ? "%.*f" : "-", digits, x);
    return buf;
}

static void print_members(const sked_robust_result *r)
{
    printf("\n%-12s %10s %8s %8s %8s %8s %8s %8s %8s\n", "method", "candidates", "measured", "proxy",
           "target", "GED [%]", "d_inv", "d_sen", "seconds");
    for (int i = 0; i < r->count; i++) {
        const sked_robust_member *m = r->member[i];
        char proxy[20], target[20], note[60] = "";
        if (m->failures > 0)
            snprintf(note, sizeof note, "  (%d not measured)", (int)m->failures);
        printf("%-12s %10d %8d %8s %8s %8.2f %8.4g %8.4g %8.3f%s%s\n", m->label, (int)m->count,
               (int)measured(m), fixed(proxy_speedup(m), 3, proxy, sizeof proxy),
               fixed(target_speedup(m), 3, target, sizeof target), m->ged, m->d_inv, m->d_sen, m->seconds,
               i == r->winner ? "  <- winner" : "", note);
    }
    printf("proxy: speedup of the best candidate there; target: of the best one measured\n");
}

/* 1, 2, 5, 10, 20, 50, ..., and the last. */
static int32_t next_mark(int32_t at, int32_t last)
{
    int32_t lead = at, next;
    while (lead >= 10)
        lead /= 10;
    next = lead == 2 ? at / 2 * 5 : at * 2;
    return next < last || at == last ? next : last;
}

static void print_curve(const sked_robust_result *r)
{
    char x[20];
    printf("\nbest after   ");
    for (int32_t n = 1; n <= r->measurements; n = next_mark(n, r->measurements))
        printf(" %7d", (int)n);
    printf("\nspeedup      ");
    for (int32_t n = 1; n <= r->measurements; n = next_mark(n, r->measurements))
        printf(" %7s", fixed(r->measurement[n - 1].best, 3, x, sizeof x));
    printf("\n");
}

static void print_parameters(const sked_robust_result *r)
{
    char mean[40], spread[40], low[40], high[40];
    printf("\n%-24s %12s %12s   %s\n", "fitted", "mean", "spread", "90 % of the prior");
    for (int32_t i = 0; i < r->parameters && i < most_parameters; i++) {
        const sked_robust_parameter *p = &r->parameter[i];
        printable_text name;
        printf("%-24s %12s %12s   %s .. %s\n", printable(p->name, &name), human(p->mean, mean, sizeof mean),
               human(p->spread, spread, sizeof spread), human(p->prior[0], low, sizeof low),
               human(p->prior[4], high, sizeof high));
    }
    if (r->parameters > most_parameters)
        printf("and %d more; --json has them all\n", (int)(r->parameters - most_parameters));
}

static void print_winner(const sked_robust_result *r)
{
    static const char *const why[] = {[SKED_ROBUST_BUDGET] = "the budget is spent",
                                      [SKED_ROBUST_TIME] = "the time is over",
                                      [SKED_ROBUST_SETTLED] = "nothing promises more",
                                      [SKED_ROBUST_STOPPED] = "stopped"};
    const sked_robust_member *m = r->member[r->winner];
    char time[40];
    printable_text target;
    printf("target %s\n", printable(r->target, &target));
    printf("winner       time %s, speedup %.3f there and %.3f on the proxy, by %s\n",
           human(m->time, time, sizeof time), target_speedup(m), m->proxy[m->best], m->label);
    printf("measured     %d times", (int)r->measurements);
    if (r->failures > 0)
        printf(r->one_shot ? ", %d of them left out" : ", %d failed", (int)r->failures);
    if (isfinite(r->noise))
        printf(", noise %.2g %%", 100 * r->noise);
    if (!r->one_shot || r->end == SKED_ROBUST_STOPPED)
        printf("; %s", why[r->end]);
    printf("\n");
}

static void print_text(const sked_robust_result *r)
{
    print_winner(r);
    if (!r->one_shot)
        print_curve(r);
    if (r->parameters > 0)
        print_parameters(r);
    print_members(r);
}

/* ------------------------------------------------------------------ JSON */

static void json_curve(json_out *j, const sked_robust_result *r)
{
    json_open(j, "curve", '[');
    for (int32_t i = 0; i < r->measurements; i++)
        json_number(j, NULL, r->measurement[i].best);
    json_close(j, ']');
}

static void json_model(json_out *j, const sked_robust_result *r)
{
    json_open(j, "model", '{');
    for (int32_t i = 0; i < r->parameters; i++) {
        json_open(j, r->parameter[i].name, '{');
        json_number(j, "mean", r->parameter[i].mean);
        json_number(j, "spread", r->parameter[i].spread);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_winner(json_out *j, const sked_problem *p, const sked_robust_result *r, double makespan)
{
    const sked_robust_member *m = r->member[r->winner];
    json_open(j, "winner", '{');
    json_text(j, "method", m->label);
    json_number(j, "rank", m->best);
    json_number(j, "makespan", makespan);
    json_number(j, "target_time", m->time);
    json_number(j, "lower_bound", m->lower_bound);
    json_bool(j, "valid", true);
    json_devices(j, p, NULL);
    json_close(j, '}');
}

static void json_members(json_out *j, const sked_robust_result *r)
{
    json_open(j, "methods", '[');
    for (int32_t i = 0; i < r->count; i++) {
        const sked_robust_member *m = r->member[i];
        json_open(j, NULL, '{');
        json_text(j, "method", m->label);
        json_number(j, "candidates", m->asked);
        json_number(j, "measured", measured(m));
        json_number(j, "left_out", m->failures);
        json_number(j, "proxy_speedup", proxy_speedup(m));
        json_number(j, "target_speedup", target_speedup(m));
        json_number(j, "ged", m->ged);
        json_number(j, "d_inv", m->d_inv);
        json_number(j, "d_sen", m->d_sen);
        json_number(j, "seconds", m->seconds);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void print_json(const arguments *a, const sked_problem *p, const sked_robust_result *r,
                       double proxy_makespan)
{
    const sked_robust_member *m = r->member[r->winner];
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "target", r->target);
    json_number(&j, "measurements", r->measurements);
    json_number(&j, "failures", r->failures);
    json_number(&j, "target_speedup", target_speedup(m));
    json_number(&j, "target_time", m->time);
    json_number(&j, "proxy_speedup", m->proxy[m->best]);
    json_number(&j, "seconds", r->seconds);
    json_number(&j, "seed", (double)a->seed);
    json_text(&j, "end", end_text(r->end));
    json_number(&j, "noise", r->noise);
    json_curve(&j, r);
    if (!r->one_shot)
        json_model(&j, r);
    json_winner(&j, p, r, proxy_makespan);
    json_members(&j, r);
    json_close(&j, '}');
}

/* ------------------------------------------------------------------ the command */

/* The files asked for: the winner's schedule, what it won against, and the machine that was fitted. */
static sked_status write_files(const arguments *a, const sked_problem *p, const sked_robust_result *r,
                               sked_error *err)
{
    const sked_robust_member *m = r->member[r->winner];
    sked_status st = SKED_OK;
    sked_report_data data;
    sked_report_data_init(&data);
    data.problem = p;
    data.schedule = m->schedule[m->best];
    data.source = a->operand.at[0];
    data.method = m->label;
    data.lower_bound = m->lower_bound;
    data.seconds = r->seconds;
    data.seed = (uint64_t)a->seed;
    data.robust = r;
    for (int i = 0; st == SKED_OK && i < a->output.count; i++) {
        st =
            sked_report_write(&data, a->output.at[i], strcmp(a->output.at[i], "-") == 0 ? "json" : NULL, err);
        data.validated = true; /* by the report before */
    }
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
    else if (!to_stdout(a))
        print_text(r);
    return SKED_OK;
}

sked_status run_robust(arguments *a, sked_error *err)
{
    setup s = {0};
    follower f = {0};
    sked_robust_options opt;
    sked_robust_result r = {.size = sizeof r};
    sked_status st = SKED_OK;
    if (a->target != NULL && sked_target_takes_pipelines(a->target)) {
        fill_options(a, &opt, &f);
        opt.progress = show_progress;
        return robust_pipeline(a, &opt, err);
    }
    st = check_arguments(a, err);
    if (st != SKED_OK)
        return st;
    fill_options(a, &opt, &f);
    end_on_signal(true);
    st = load_problem(a, a->operand.at[0], &s, err);
    st = sked_dist_agree(st, err);
    end_on_signal(false);
    if (st == SKED_OK)
        st = sked_robust(&s.problem, a->target, &opt, &r, err);
    end_progress();
    if (st == SKED_OK && sked_dist_rank() == 0)
        st = deliver(a, &s.problem, &r, err);
    sked_robust_result_clear(&r);
    clear_setup(&s);
    return st;
}
