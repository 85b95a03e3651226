/*
 * sked-bench real: schedules that run, on this machine (threads) and on a platform of SimGrid; and,
 * simulated, a machine of which the proxy misses one factor alone: who learns must not lose there. Every
 * method gets the same scheduling time and the same number of measurements; the loop too. Winners are then
 * measured again, in turn, so that no method profits from a lucky run. Beside it: how far off the proxy is,
 * what the loop expected before each measurement, and what its fitted model says afterwards. Tables are
 * Markdown.
 */
#include "graphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPS = 50,
    MEASUREMENTS = 20,
    QUICK_MEASUREMENTS = 4,
    CANDIDATES = 1000,
    QUICK_CANDIDATES = 50,
    ROUNDS = 5, /* in which winners are measured again */
};
static const double seconds_each = 5, quick_seconds = 0.2;

static double seconds_of(const arguments *a)
{
    return !isnan(a->time_limit) ? a->time_limit : a->quick ? quick_seconds : seconds_each;
}

static int graphs_of(const arguments *a)
{
    return RANDOM_FAMILIES * (a->seeds > 0 ? (int)a->seeds : 1);
}

static int32_t measurements_of(const arguments *a)
{
    return a->quick ? QUICK_MEASUREMENTS : MEASUREMENTS;
}

typedef struct set {
    const char *name, *target;
    const char *judge;   /* measures the winners; NULL: the target does */
    const char *machine; /* file; NULL: as many devices as there are cores */
    /* Of the graphs. A result takes about half of a mean op to get to another core, or cluster: transfers
     * matter, and do not rule. */
    const char *bytes;
} set;

static const set sets[] = {
    {"threads", "threads:kind=arithmetic", NULL, NULL, "exponential:1000000"},
    {"memory", "threads:kind=memory", NULL, NULL, "exponential:1000000"},
    {"simgrid", "simgrid:examples/platforms/two-clusters.xml", NULL,
     "examples/platforms/two-clusters.machine.json", "exponential:5000000"},
    {"factor", "noisy:model=type,strength=0.7+jitter:strength=0.05,run=0.05,trace=true",
     "noisy:model=type,strength=0.7", NULL, "exponential:1000000"},
};
enum { N_SETS = sizeof sets / sizeof *sets };

/* Who takes part. The first is one schedule, measured once; the last the loop. */
static const char *const names[] = {"list, one", "list", "brkga", "search", "gflownet", "loop"};
enum { PLAYERS = sizeof names / sizeof *names, LOOP = PLAYERS - 1 };

typedef struct player {
    sked_result one;        /* of the first */
    sked_robust_result all; /* of the others */
    bool away;              /* it cannot take this machine */
    double time;            /* of its best schedule, measured again */
    double proxy;           /* of the same one there */
} player;

/* Relative deviations from what was measured: sums of their logarithms' sizes. */
typedef struct errors {
    double proxy, expected, fitted;
    int n, n_expected;
} errors;

typedef struct table {
    const set *set;
    sked_machine *machine;
    int32_t devices;
    double ratio[PLAYERS];                  /* sums of logarithms: time of the first over that of each */
    double proxy[PLAYERS];                  /* likewise on the proxy */
    double lead[PLAYERS], squares[PLAYERS]; /* of the loop over each: sum of logarithms, of their squares */
    int ahead[PLAYERS]; /* graphs on which it is more than a hundredth faster than the loop */
    int away[PLAYERS];  /* graphs that it cannot take */
    int graphs;
    int measured; /* schedules that the loop had time to measure, on all graphs */
    errors errors;
} table;

/* ---------------------------------------------------------------- one graph */

static const sked_schedule *best_of(const player *x)
{
    if (x->all.count == 0)
        return x->one.schedule[0];
    const sked_robust_member *m = x->all.member[x->all.winner];
    return m->schedule[m->best];
}

static sked_status make_one(const arguments *a, const sked_problem *p, sked_result *out, sked_error *err)
{
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.stop = &stop_requested;
    return sked_method_run(names[1], p, &opt, out, err);
}

static sked_status play(const arguments *a, const sked_problem *p, const char *target, int who, player *out,
                        sked_error *err)
{
    static const char *const random[] = {"priority=random"};
    sked_robust_options opt;
    if (who == 0)
        return make_one(a, p, &out->one, err);
    sked_robust_options_init(&opt);
    opt.one_shot = who != LOOP;
    opt.method = who != LOOP ? names[who] : NULL;
    opt.settings = random;
    opt.n_settings = who == 1 ? 1 : 0;
    opt.measurements = measurements_of(a);
    opt.candidates = a->quick ? QUICK_CANDIDATES : CANDIDATES;
    opt.top = measurements_of(a);
    opt.model = a->model;
    opt.time_limit = seconds_of(a);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.stop = &stop_requested;
    return sked_robust(p, target, &opt, &out->all, err);
}

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static sked_status measure_again(sked_target *t, player *players, sked_error *err)
{
    double time[PLAYERS][ROUNDS];
    sked_status st = SKED_OK;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; st == SKED_OK && i < PLAYERS; i++) {
            sked_measurement m = {.size = sizeof m};
            if (players[i].away)
                continue;
            st = sked_target_measure(t, best_of(&players[i]), &m, err);
            time[i][round] = m.time;
            sked_measurement_clear(&m);
        }
    for (int i = 0; st == SKED_OK && i < PLAYERS; i++) {
        if (players[i].away)
            continue;
        qsort(time[i], ROUNDS, sizeof *time[i], by_value);
        players[i].time = time[i][ROUNDS / 2];
    }
    return st;
}

/* What the winners promise on the proxy, which no load of the machine disturbs. */
static sked_status ask_proxy(const sked_problem *p, player *players, sked_error *err)
{
    sked_target *t = NULL;
    sked_status st = sked_target_create("proxy", p, 0, &t, err);
    for (int i = 0; st == SKED_OK && i < PLAYERS; i++) {
        sked_measurement m = {.size = sizeof m};
        if (players[i].away)
            continue;
        st = sked_target_measure(t, best_of(&players[i]), &m, err);
        players[i].proxy = m.time;
        sked_measurement_clear(&m);
    }
    sked_target_destroy(t);
    return st;
}

/* How far the models were off in the measurements of the loop. */
static void add_errors(const sked_robust_result *r, double work, errors *e)
{
    for (int32_t k = 0; k < r->measurements; k++) {
        const sked_robust_measurement *m = &r->measurement[k];
        if (isnan(m->time))
            continue;
        e->proxy += fabs(log(work / r->member[m->member]->proxy[m->candidate] / m->time));
        e->fitted += fabs(log(m->fitted / m->time));
        e->n++;
        if (k > 0) { /* before the first there is nothing but the prior */
            e->expected += fabs(log(m->expected / m->time));
            e->n_expected++;
        }
    }
}

static void add_graph(const arguments *a, const char *label, const player *players, table *t)
{
    if (a->list) {
        end_progress();
        printf("| %-24.24s |", label);
    }
    for (int i = 0; i < PLAYERS; i++) {
        const double ratio = players[i].away ? NAN : players[0].time / players[i].time;
        t->ratio[i] += players[i].away ? 0 : log(ratio);
        t->proxy[i] += players[i].away ? 0 : log(players[0].proxy / players[i].proxy);
        const double lead = players[i].away ? 0 : log(players[i].time / players[LOOP].time);
        t->lead[i] += lead;
        t->squares[i] += lead * lead;
        t->ahead[i] += !players[i].away && players[i].time < 0.99 * players[LOOP].time;
        t->away[i] += players[i].away;
        if (a->list)
            printf(" %9.3f |", ratio);
    }
    if (a->list)
        printf("\n");
    t->graphs++;
}

/* A method that cannot take the machine stays away; the first and the loop can. */
static sked_status play_all(const arguments *a, const sked_problem *p, const char *target, player *players,
                            sked_error *err)
{
    sked_status st = SKED_OK;
    for (int i = 0; st == SKED_OK && i < PLAYERS; i++) {
        sked_error why = {0};
        st = play(a, p, target, i, &players[i], &why);
        players[i].away = st == SKED_ERR_UNSUPPORTED && i > 0 && i < LOOP;
        if (players[i].away)
            st = SKED_OK;
        else if (st != SKED_OK)
            *err = why;
    }
    return st;
}

static sked_status run_graph(const arguments *a, const sked_problem *p, const char *label, table *t,
                             sked_error *err)
{
    const char *target = t->set->target, *spec = t->set->judge != NULL ? t->set->judge : target;
    player players[PLAYERS];
    sked_target *judge = NULL;
    sked_status st = SKED_OK;
    for (int i = 0; i < PLAYERS; i++)
        players[i] = (player){.one = {.size = sizeof players[i].one}, .all = {.size = sizeof players[i].all}};
    st = play_all(a, p, target, players, err);
    if (st == SKED_OK)
        st = sked_target_create(spec, p, (uint64_t)a->seed, &judge, err);
    if (st == SKED_OK)
        st = measure_again(judge, players, err);
    if (st == SKED_OK)
        st = ask_proxy(p, players, err);
    if (st == SKED_OK) {
        add_errors(&players[LOOP].all, sked_target_work(judge), &t->errors);
        t->measured += players[LOOP].all.measurements;
        add_graph(a, label, players, t);
    }
    sked_target_destroy(judge);
    for (int i = 0; i < PLAYERS; i++) {
        sked_result_clear(&players[i].one);
        sked_robust_result_clear(&players[i].all);
    }
    return st;
}

/* ---------------------------------------------------------------- sets */

/* The machine, or as many devices as the target takes, --devices at most. 0: it cannot run here, and this
 * says why. */
static int32_t find_devices(const arguments *a, const sked_graph *g, table *t)
{
    sked_problem p;
    sked_error why = {0};
    int32_t least = 2;
    sked_problem_init(&p, g);
    if (t->set->machine != NULL && sked_machine_read(t->set->machine, &t->machine, &why) != SKED_OK) {
        printf("skipped, not in the source folder: %s\n", why.message);
        return 0;
    }
    p.machine = t->machine;
    p.devices = t->machine != NULL ? sked_machine_device_count(t->machine) : (int32_t)a->devices;
    if (t->machine != NULL)
        least = p.devices;
    for (; p.devices >= least; p.devices--) {
        sked_target *target = NULL;
        sked_error error = {0};
        const bool works = sked_target_create(t->set->target, &p, 0, &target, &error) == SKED_OK;
        sked_target_destroy(target);
        if (works)
            return p.devices;
        if (why.message[0] == 0)
            why = error;
    }
    printf("skipped: %s\n", why.message);
    return 0;
}

static void print_means(const char *label, const table *t, const double *sums)
{
    printf("| %-24s |", label);
    for (int i = 0; i < PLAYERS; i++)
        printf(" %9.3f |", t->away[i] < t->graphs ? exp(sums[i] / (t->graphs - t->away[i])) : NAN);
    printf("\n");
}

/* How far the loop leads, graph by graph, and how sure that is. */
static void print_leads(const table *t)
{
    for (int i = 0; i < LOOP; i++) {
        const int n = t->graphs - t->away[i];
        if (n == 0)
            continue;
        const double mean = t->lead[i] / n;
        printf("The loop is %.3f times as fast as %s", exp(mean), names[i]);
        if (n > 1)
            printf(", standard error %.3f", sqrt(fmax(0, t->squares[i] / n - mean * mean) / (n - 1)));
        if (t->ahead[i] > 0)
            printf("; behind it on %d of %d graphs (by more than 1 %%)", t->ahead[i], n);
        printf(".\n");
    }
}

static void print_table(const table *t)
{
    char label[40];
    snprintf(label, sizeof label, "geometric mean of %d", t->graphs);
    print_means(label, t, t->ratio);
    print_means("the same on the proxy", t, t->proxy);
    printf("\n");
    print_leads(t);
    const errors *e = &t->errors;
    printf("The loop made %.1f measurements a graph.\n", (double)t->measured / t->graphs);
    printf("Off what was measured, in the mean: proxy %.1f %%, the loop's model before each measurement %.1f "
           "%%, fitted to all "
           "of them %.1f %%.\n",
           100 * (exp(e->proxy / e->n) - 1), 100 * (exp(e->expected / fmax(1, e->n_expected)) - 1),
           100 * (exp(e->fitted / e->n) - 1));
    fflush(stdout);
}

static void print_head(const table *t)
{
    printf("%d devices, target %s. Times faster than list, one:\n\n| %-24s |", (int)t->devices,
           t->set->target, "graph");
    for (int k = 0; k < PLAYERS; k++)
        printf(" %9s |", names[k]);
    printf("\n|---|");
    for (int k = 0; k < PLAYERS; k++)
        printf("---|");
    printf("\n");
}

static sked_status run_one(const arguments *a, int i, table *t, sked_error *err)
{
    const sked_generate_options how = {.size = sizeof how,
                                       .nodes = OPS,
                                       .seed = 90000 + (uint64_t)a->seed + (uint64_t)(i / RANDOM_FAMILIES),
                                       .bytes = t->set->bytes};
    sked_graph *g = NULL;
    sked_problem p;
    sked_status st = sked_graph_generate(random_family(i), &how, &g, err);
    if (st != SKED_OK)
        return st;
    if (t->graphs == 0 && (t->devices = find_devices(a, g, t)) > 0)
        print_head(t);
    sked_problem_init(&p, g);
    p.devices = t->devices;
    p.machine = t->machine;
    if (t->devices > 0)
        st = run_graph(a, &p, random_family(i), t, err);
    sked_graph_destroy(g);
    return st;
}

static sked_status run_set(const arguments *a, const set *s, sked_error *err)
{
    table t = {.set = s, .devices = -1};
    sked_status st = SKED_OK;
    printf("\n%s: ", s->name);
    for (int i = 0; st == SKED_OK && t.devices != 0 && i < graphs_of(a) && !stop_requested; i++) {
        if (i % a->sample == 0 && !(a->quick && t.graphs > 0))
            st = run_one(a, i, &t, err);
        show_progress(NULL, s->name, (i + 1.0) / graphs_of(a), NAN, NAN);
    }
    end_progress();
    if (stop_requested) /* the graph it came in is lost, those before it are not */
        st = SKED_OK;
    if (st == SKED_OK && t.graphs > 0)
        print_table(&t);
    sked_machine_destroy(t.machine);
    return st;
}

/* ---------------------------------------------------------------- the suite */

static bool wanted(const arguments *a, const set *s)
{
    return a->only[0] == 0 || strcmp(a->only, s->name) == 0;
}

sked_status bench_real(arguments *a, sked_error *err)
{
    const double begin = sked_clock();
    sked_status st = SKED_OK;
    bool any = false;
    for (int i = 0; i < N_SETS; i++)
        any = any || wanted(a, &sets[i]);
    if (!any)
        return fail(err, SKED_ERR_ARGUMENT, "the sets of this suite are threads, memory, simgrid and factor");
    print_machine(a);
    printf("\nGraphs of %d ops; %g s of scheduling and %d measurements for each method and the loop; winners "
           "measured again %d "
           "times in turn.\n",
           OPS, seconds_of(a), (int)measurements_of(a), ROUNDS);
    for (int i = 0; st == SKED_OK && i < N_SETS; i++)
        if (wanted(a, &sets[i]) && !stop_requested)
            st = run_set(a, &sets[i], err);
    printf("\n%.1f s in all\n", sked_clock() - begin);
    return st;
}
