/*
 * Random problems, random options, all methods, against the validator and, where the problem is tiny, against
 * enumeration, for as long as one likes: `make soak MINUTES=60`. Every round follows from its number alone,
 * so
 *
 *     build/tests/soak MINUTES [FIRST_ROUND] [FOLDER]
 *
 * repeats it. The first disagreement ends the run: the problem is left in FOLDER, with the command that shows
 * it.
 */
#define _POSIX_C_SOURCE 200809L
#include "base/clock.h"
#include "question.h"

#include <signal.h>

enum { MOST_SETTINGS = 8 };

typedef struct round_ {
    uint64_t number;
    unsigned kind;
    random_problem r;
    const sked_method_info *method;
    sked_run_options opt;
    char setting[MOST_SETTINGS][96];
    const char *settings[MOST_SETTINGS];
    double interval, truth; /* as in question.h */
} round_;

typedef struct tally {
    int64_t rounds, runs, refused, none, judged, compared, repeated;
} tally;

static const char *folder = ".";
static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* ------------------------------------------------------------------ a round */

/* Flags that go together, and those that any of them may have. */
static unsigned draw_kind(sked_i_rng *rng)
{
    static const unsigned base[] = {0,
                                    RANDOM_DEVICES,
                                    RANDOM_RESOURCES,
                                    RANDOM_DEVICES | RANDOM_RESOURCES,
                                    RANDOM_TRANSFERS,
                                    RANDOM_TRANSFERS | RANDOM_RESOURCES,
                                    RANDOM_UNEQUAL,
                                    RANDOM_UNEQUAL,
                                    RANDOM_UNEQUAL | RANDOM_RESOURCES,
                                    RANDOM_LOOPS,
                                    RANDOM_LOOPS | RANDOM_RESOURCES,
                                    RANDOM_LOOPS | RANDOM_DEVICES};
    static const unsigned extra[] = {RANDOM_LAGS, RANDOM_NEGATIVE,  RANDOM_HORIZON,
                                     RANDOM_REAL, RANDOM_ZERO,      RANDOM_FIX_DEVICE,
                                     RANDOM_KEEP, RANDOM_FIX_START, RANDOM_STORES};
    unsigned kind = base[random_int(rng, 0, (int)(sizeof base / sizeof *base) - 1)];
    for (size_t k = 0; k < sizeof extra / sizeof *extra; k++)
        if (random_int(rng, 0, 4) == 0)
            kind |= extra[k];
    if (kind & RANDOM_UNEQUAL) /* fixed devices may be ones that cannot run the op */
        kind &= ~(unsigned)(RANDOM_FIX_DEVICE | RANDOM_FIX_START);
    return kind;
}

/* An objective that makes sense for it, an interval, limits of memory. */
static void draw_limits(sked_i_rng *rng, round_ *x)
{
    sked_problem *p = &x->r.problem;
    if (x->kind & RANDOM_LOOPS && random_int(rng, 0, 1)) {
        const bool find = random_int(rng, 0, 1);
        p->ii = find ? SKED_II_AUTO : random_int(rng, 3, 12);
        p->objective = find ? SKED_OBJECTIVE_II : SKED_OBJECTIVE_MAKESPAN;
    } else if (random_int(rng, 0, 2) == 0) {
        p->objective = (sked_objective)random_int(rng, SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_COST);
        if (isinf(p->horizon)) {
            double start[64] = {0};
            p->horizon = ceil(random_serial_starts(p, start));
        }
    }
    p->lifetime = (sked_lifetime)random_int(rng, 0, 2);
    if (p->ii == 0 && p->objective != SKED_OBJECTIVE_II && random_int(rng, 0, 4) == 0) {
        double memory = 0;
        for (int32_t i = 0; i < sked_graph_op_count(p->graph); i++)
            memory += sked_graph_memory(p->graph, i);
        p->memory_limit = ceil(memory * (0.3 + 0.9 * sked_i_rng_uniform(rng)));
    }
}

/* One of "a|b|c". */
static void draw_choice(sked_i_rng *rng, const char *choices, char *out, size_t size)
{
    int count = 1;
    for (const char *s = choices; *s; s++)
        count += *s == '|';
    const char *s = choices;
    for (int skip = random_int(rng, 0, count - 1); skip > 0; s++)
        skip -= *s == '|';
    snprintf(out, size, "%.*s", (int)strcspn(s, "|"), s);
}

/* A value an option allows: near its preset or near its ends, small enough to end soon. */
static bool draw_value(sked_i_rng *rng, const sked_option *o, char *out, size_t size)
{
    const double preset = atof(o->preset), most = fmin(o->max, fmax(4 * preset, o->min + 4));
    switch (o->kind) {
    case SKED_OPTION_BOOL:
        snprintf(out, size, "%s", random_int(rng, 0, 1) ? "true" : "false");
        return true;
    case SKED_OPTION_ENUM:
        draw_choice(rng, o->choices, out, size);
        return true;
    case SKED_OPTION_INT:
        snprintf(out, size, "%.0f",
                 floor(o->min + sked_i_rng_uniform(rng) * (fmin(most, o->min + 40) - o->min)));
        return true;
    case SKED_OPTION_REAL:
        snprintf(out, size, "%.17g", o->min + sked_i_rng_uniform(rng) * (most - o->min));
        return true;
    default:
        return false; /* files and texts */
    }
}

static void draw_settings(sked_i_rng *rng, round_ *x)
{
    char value[64];
    for (int k = 0; k < x->method->n_options && x->opt.n_settings < MOST_SETTINGS; k++) {
        const sked_option *o = &x->method->options[k];
        if (random_int(rng, 0, 3) > 0 || !draw_value(rng, o, value, sizeof value))
            continue;
        const int i = x->opt.n_settings++;
        snprintf(x->setting[i], sizeof x->setting[i], "%s=%s", o->name, value);
        x->settings[i] = x->setting[i];
    }
    x->opt.settings = x->settings;
}

/* Does the method take the coarse features of the problem? */
static bool could_take(const round_ *x)
{
    static const uint32_t objective[] = {
#define SKED_X(name, text, help) SKED_CAN_##name,
        SKED_OBJECTIVE_LIST(SKED_X)
#undef SKED_X
    };
    const sked_problem *p = &x->r.problem;
    uint32_t need = objective[p->objective];
    need |= p->devices > 0 ? SKED_CAN_DEVICES : 0;
    need |= x->kind & RANDOM_UNEQUAL ? SKED_CAN_MACHINES : 0;
    need |= x->kind & RANDOM_TRANSFERS ? SKED_CAN_TRANSFERS : 0;
    need |= x->kind & RANDOM_RESOURCES ? SKED_CAN_RESOURCES : 0;
    need |= p->ii != 0 ? SKED_CAN_LOOPS : 0;
    need |= sked_i_has_memory_limit(p) ? SKED_CAN_LIMITS : 0;
    need |= p->fix_start != NULL || p->fix_device != NULL ? SKED_CAN_FIX : 0;
    return (x->method->features & need) == need;
}

/* Proofs and portfolios end by the clock, all else by iterations. */
static bool is_clocked(const sked_method_info *m)
{
    return m->features & SKED_CAN_EXACT || strcmp(m->name, "auto") == 0;
}

/* What is true is known of most of these. */
static void draw_tiny(uint64_t number, round_ *x)
{
    question q;
    sked_error why = {0};
    question_draw(number, &q);
    if (sked_problem_check(&q.r.problem, &why) != SKED_ERR_UNSUPPORTED)
        question_answer(&q);
    x->kind = q.kind;
    x->r = q.r;
    x->interval = q.interval;
    x->truth = q.truth;
}

static void draw_large(sked_i_rng *rng, uint64_t number, round_ *x)
{
    x->kind = draw_kind(rng);
    random_problem_make(number, x->kind, 1, 40, &x->r);
    draw_limits(rng, x);
}

static void draw_round(uint64_t number, round_ *x)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, number, 0x50a4);
    *x = (round_){.number = number, .truth = NAN};
    if (random_int(&rng, 0, 9) < 7)
        draw_tiny(number, x);
    else
        draw_large(&rng, number, x);
    for (int k = 0; k < 6 && (x->method == NULL || !could_take(x)); k++) /* refusals are worth a look, too */
        x->method = sked_method_at(random_int(&rng, 0, sked_method_count() - 1));
    sked_run_options_init(&x->opt);
    x->opt.seed = number;
    x->opt.time_limit = is_clocked(x->method) ? 2 : 60;
    x->opt.iterations = random_int(&rng, 1, 30);
    x->opt.threads = random_int(&rng, 0, 4) == 0 ? 2 : 1;
    x->opt.candidates = random_int(&rng, 0, 3) == 0 ? random_int(&rng, 2, 6) : 0;
    draw_settings(&rng, x);
}

/* ------------------------------------------------------------------ the file that shows it */

static void write_fixed(const round_ *x, const char *path)
{
    const random_problem *r = &x->r;
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return;
    fprintf(f, "{\"format\":\"sked-fix-1\",\"ops\":[");
    for (int32_t i = 0; i < sked_graph_op_count(r->graph); i++) {
        fprintf(f, "%s{\"name\":%d", i ? "," : "", (int)i);
        if (r->fix_device && r->fix_device[i] >= 0)
            fprintf(f, ",\"device\":%d", (int)r->fix_device[i]);
        if (r->fix_start && !isnan(r->fix_start[i]))
            fprintf(f, ",\"start\":%.17g", r->fix_start[i]);
        fprintf(f, "}");
    }
    fprintf(f, "]}\n");
    fclose(f);
}

static void print_command(const round_ *x, const char *stem)
{
    const sked_problem *p = &x->r.problem;
    printf("sked schedule %s.json --method %s --objective %s --seed %llu --iterations %lld --threads %d",
           stem, x->method->name, sked_objective_name(p->objective), (unsigned long long)x->opt.seed,
           (long long)x->opt.iterations, x->opt.threads);
    if (x->r.machine != NULL)
        printf(" --machine %s.machine.json", stem);
    else if (p->devices > 0)
        printf(" --devices %d --latency %.17g", (int)p->devices, p->latency);
    if (p->bandwidth < INFINITY)
        printf(" --bandwidth %.17g", p->bandwidth);
    if (p->horizon < INFINITY)
        printf(" --horizon %.17g", p->horizon);
    if (p->ii != 0)
        p->ii > 0 ? printf(" --ii %.17g", p->ii) : printf(" --ii auto");
    if (p->memory_limit < INFINITY)
        printf(" --memory-limit %.17g", p->memory_limit);
    if (p->objective == SKED_OBJECTIVE_COST)
        printf(" --alpha %.17g", p->alpha);
    if (p->lifetime != SKED_LIFETIME_AUTO)
        printf(" --lifetime %s", sked_lifetime_name(p->lifetime));
    if (x->opt.candidates > 1)
        printf(" --candidates %d", (int)x->opt.candidates);
    if (x->r.fix_device != NULL || x->r.fix_start != NULL)
        printf(" --fix %s.fix.json", stem);
    for (int k = 0; k < x->opt.n_settings; k++)
        printf(" --set %s", x->settings[k]);
    printf("\n");
}

static void disagree(const round_ *x, const char *format, ...) SKED_PRINTF(2, 3);
static void disagree(const round_ *x, const char *format, ...)
{
    char stem[500], path[600];
    va_list args;
    snprintf(stem, sizeof stem, "%s/soak-%llu", folder, (unsigned long long)x->number);
    snprintf(path, sizeof path, "%s.json", stem);
    if (sked_graph_write(x->r.graph, path, NULL, NULL) != SKED_OK)
        printf("%s could not be written\n", path);
    snprintf(path, sizeof path, "%s.machine.json", stem);
    if (x->r.machine != NULL && sked_machine_write(x->r.machine, path, NULL) != SKED_OK)
        printf("%s could not be written\n", path);
    snprintf(path, sizeof path, "%s.fix.json", stem);
    if (x->r.fix_device != NULL || x->r.fix_start != NULL)
        write_fixed(x, path);
    printf("\nround %llu: ", (unsigned long long)x->number);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    print_command(x, stem);
    exit(1);
}

static const round_ *playing;

/* A crash is a disagreement, too. The process is lost anyway, so the handler may do what handlers may not. */
static void crash(int signal)
{
    struct sigaction preset = {.sa_handler = SIG_DFL};
    sigaction(signal, &preset, NULL);
    disagree(playing, "signal %d", signal);
}

static void catch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction act = {.sa_handler = crash, .sa_flags = SA_NODEFER};
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        sigaction(signals[k], &act, NULL);
}

/* ------------------------------------------------------------------ judging */

static double slack(double x)
{
    return 1e-6 * fmax(1, fabs(x));
}

static void judge_schedules(const round_ *x, const sked_result *r)
{
    const sked_problem *p = &x->r.problem;
    for (int32_t k = 0; k < r->count; k++) {
        sked_error err = {0};
        sked_metrics m = {.size = sizeof m};
        if (sked_schedule_validate(p, r->schedule[k], &err) != SKED_OK)
            disagree(x, "schedule %d is not valid: %s", (int)k, err.message);
        if (sked_schedule_measure(p, r->schedule[k], &m, &err) != SKED_OK)
            disagree(x, "schedule %d cannot be measured: %s", (int)k, err.message);
        if (k == 0 && fabs(m.value - r->value) > slack(m.value))
            disagree(x, "the value is said to be %.12g, but is %.12g", r->value, m.value);
        if (m.value < r->lower_bound - slack(m.value))
            disagree(x, "the bound %.12g (%s) is above the value %.12g", r->lower_bound, r->method, m.value);
    }
}

static void compare_with_truth(const round_ *x, const sked_result *r)
{
    const double truth = x->r.problem.objective == SKED_OBJECTIVE_II ? x->interval : x->truth;
    if (r->value < truth - slack(truth))
        disagree(x, "the value %.12g is below the optimum %.12g", r->value, truth);
    if (r->lower_bound > truth + slack(truth))
        disagree(x, "the bound %.12g is above the optimum %.12g", r->lower_bound, truth);
    if (r->optimal && r->value > truth + slack(truth))
        disagree(x, "the value %.12g is called optimal, the optimum is %.12g", r->value, truth);
}

/* What a method may answer instead of a schedule. */
static void judge_refusal(const round_ *x, sked_status st, const sked_error *err, tally *t)
{
    const bool proof = st == SKED_ERR_INFEASIBLE && strstr(err->message, "not a proof") == NULL;
    if (proof && isfinite(x->truth))
        disagree(x, "refused as infeasible (%s), but %.12g is possible", err->message, x->truth);
    if (st == SKED_ERR_INFEASIBLE || st == SKED_ERR_STOPPED)
        t->none++;
    else if (st == SKED_ERR_UNSUPPORTED)
        t->refused++;
    else
        disagree(x, "status %d: %s", (int)st, err->message);
}

/* Without a clock the same again gives the same bytes. */
static void run_again(round_ *x, const sked_result *r)
{
    sked_error err = {0};
    sked_result again = {.size = sizeof again};
    if (sked_method_run(x->method->name, &x->r.problem, &x->opt, &again, &err) != SKED_OK)
        disagree(x, "the same run again fails: %s", err.message);
    for (int32_t i = 0; i < r->schedule[0]->ops; i++)
        if (again.schedule[0]->start[i] != r->schedule[0]->start[i] ||
            (r->schedule[0]->device && again.schedule[0]->device[i] != r->schedule[0]->device[i]))
            disagree(x, "the same run again gives another schedule");
    sked_result_clear(&again);
}

static void play(round_ *x, tally *t)
{
    sked_error err = {0};
    sked_result r = {.size = sizeof r};
    const sked_status st = sked_method_run(x->method->name, &x->r.problem, &x->opt, &r, &err);
    t->rounds++;
    if (st != SKED_OK) {
        judge_refusal(x, st, &err, t);
        return;
    }
    t->runs++;
    t->judged += r.count;
    judge_schedules(x, &r);
    if (!isnan(x->truth)) {
        t->compared++;
        compare_with_truth(x, &r);
    }
    if (!is_clocked(x->method) && r.seconds < 0.2 && x->number % 4 == 0) {
        t->repeated++;
        run_again(x, &r);
    }
    sked_result_clear(&r);
}

static void report(const tally *t, double seconds)
{
    printf(
        "\r%lld rounds in %.0f min: %lld runs, %lld schedules judged, %lld compared with enumeration, %lld "
        "repeated; %lld refused, %lld without a schedule",
        (long long)t->rounds, seconds / 60, (long long)t->runs, (long long)t->judged, (long long)t->compared,
        (long long)t->repeated, (long long)t->refused, (long long)t->none);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const double minutes = argc > 1 ? atof(argv[1]) : 1, begin = sked_clock();
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    tally t = {0};
    double shown = 0;
    folder = argc > 3 ? argv[3] : folder;
    signal(SIGINT, interrupt);
    catch_crashes();
    for (uint64_t number = first; !interrupted && sked_clock() - begin < 60 * minutes; number++) {
        round_ x;
        draw_round(number, &x);
        playing = &x;
        play(&x, &t);
        random_problem_free(&x.r);
        if (sked_clock() - shown > 10)
            report(&t, (shown = sked_clock()) - begin);
    }
    report(&t, sked_clock() - begin);
    printf("\nno disagreement\n");
    return 0;
}
