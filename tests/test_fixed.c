/*
 * Fixed starts and devices against enumeration: every method and every bound on small random problems. No
 * bound lies above the optimum, nothing is called optimal that is not, nothing refused that has a schedule.
 * SKED_FIXED=FIRST,COUNT runs other problems than the short run here.
 */
#include "brute_force.h"
#include "problem/problem.h"
#include "random_problem.h"

enum { MOST = BRUTE_TIME - 1 };

typedef struct trial {
    uint64_t number;
    unsigned kind;
    random_problem r;
    sked_i_rng rng;
    double interval; /* the least; 0: not asked for */
    double truth;    /* at that interval; INFINITY: there is no schedule; NAN: not known */
} trial;

/* ------------------------------------------------------------------ drawing */

static unsigned draw_kind(sked_i_rng *rng)
{
    static const unsigned base[] = {0,
                                    RANDOM_DEVICES,
                                    RANDOM_RESOURCES,
                                    RANDOM_DEVICES | RANDOM_RESOURCES,
                                    RANDOM_TRANSFERS,
                                    RANDOM_TRANSFERS | RANDOM_RESOURCES,
                                    RANDOM_UNEQUAL,
                                    RANDOM_UNEQUAL | RANDOM_RESOURCES,
                                    RANDOM_LOOPS | RANDOM_DEVICES,
                                    RANDOM_LOOPS | RANDOM_RESOURCES,
                                    RANDOM_LOOPS | RANDOM_TRANSFERS};
    static const unsigned extra[] = {RANDOM_LAGS, RANDOM_NEGATIVE, RANDOM_ZERO, RANDOM_KEEP};
    unsigned kind = base[random_int(rng, 0, (int)(sizeof base / sizeof *base) - 1)];
    for (size_t k = 0; k < sizeof extra / sizeof *extra; k++)
        if (random_int(rng, 0, 3) == 0)
            kind |= extra[k];
    return kind;
}

/* Starts and devices that nothing says fit together, early ones: some leave no schedule, most bind. */
static void draw_fixed(trial *x)
{
    random_problem *r = &x->r;
    sked_problem *p = &r->problem;
    const int32_t n = sked_graph_op_count(r->graph);
    const bool starts = p->devices == 0 || random_int(&x->rng, 0, 3) > 0;
    const bool devices = p->devices > 0 && (!starts || random_int(&x->rng, 0, 1));
    const int latest = random_int(&x->rng, 1, 12);
    if (starts)
        r->fix_start = malloc((size_t)n * sizeof *r->fix_start);
    if (devices)
        r->fix_device = malloc((size_t)n * sizeof *r->fix_device);
    for (int32_t i = 0; i < n; i++) {
        if (starts)
            r->fix_start[i] = random_int(&x->rng, 0, 2) == 0 ? random_int(&x->rng, 0, latest) : NAN;
        if (devices)
            r->fix_device[i] = random_int(&x->rng, 0, 2) == 0 ? random_int(&x->rng, 0, p->devices - 1) : -1;
    }
    p->fix_start = r->fix_start;
    p->fix_device = r->fix_device;
}

/* No schedule needs to end later: each op waits at most for all others in turn, from the last fixed start. */
static double latest_finish(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    const int devices = p->devices > 0 ? p->devices : 1;
    double fixed = 0, sum = 0;
    for (int32_t i = 0; i < sked_graph_op_count(g); i++) {
        double time = 0;
        for (int d = 0; d < devices; d++)
            time = fmax(time, isinf(sked_problem_duration(p, i, d)) ? 0 : sked_problem_duration(p, i, d));
        fixed = p->fix_start && !isnan(p->fix_start[i]) ? fmax(fixed, p->fix_start[i]) : fixed;
        sum += time;
    }
    for (int64_t k = 0; k < sked_graph_edge_count(g); k++) {
        sked_edge e;
        double transfer = 0;
        sked_graph_edge(g, k, &e);
        for (int a = 0; a < devices; a++)
            for (int b = 0; b < devices; b++)
                if (isfinite(sked_problem_transfer(p, k, a, b)))
                    transfer = fmax(transfer, sked_problem_transfer(p, k, a, b));
        sum += fmax(0, e.lag) + transfer;
    }
    return fixed + sum;
}

static void draw_question(trial *x)
{
    sked_problem *p = &x->r.problem;
    double memory = 0;
    for (int32_t i = 0; i < sked_graph_op_count(p->graph); i++)
        memory += sked_graph_memory(p->graph, i);
    p->lifetime = (sked_lifetime)random_int(&x->rng, 0, 2);
    if (x->kind & RANDOM_LOOPS) {
        const int which = random_int(&x->rng, 0, 3);
        p->ii = which < 2 ? random_int(&x->rng, 3, 8) : which == 2 ? 0 : SKED_II_AUTO;
        p->objective = which == 3 ? SKED_OBJECTIVE_II : SKED_OBJECTIVE_MAKESPAN;
    } else if (random_int(&x->rng, 0, 2) == 0) {
        p->objective = (sked_objective)random_int(&x->rng, SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_COST);
    } else if (random_int(&x->rng, 0, 3) == 0) {
        p->memory_limit = ceil(memory * (0.3 + 0.9 * sked_i_rng_uniform(&x->rng)));
    }
    if ((p->objective != SKED_OBJECTIVE_MAKESPAN && p->objective != SKED_OBJECTIVE_II) ||
        random_int(&x->rng, 0, 3) == 0)
        p->horizon = random_int(&x->rng, 4, 14);
}

/* ------------------------------------------------------------------ what is true */

/* NAN where a schedule may end later than enumeration looks. At an interval, ops move by whole intervals. */
static double enumerate(const sked_problem *p)
{
    const double turns = p->ii > 0 ? (sked_graph_op_count(p->graph) + 1) * p->ii : 0;
    const double enough = fmin(latest_finish(p) + turns, p->horizon);
    const double best = brute_force_times(p, (int)fmin(enough, MOST));
    return isinf(best) && enough > MOST ? NAN : best;
}

static void find_truth(trial *x)
{
    sked_problem p = x->r.problem;
    if (p.ii != SKED_II_AUTO && p.objective != SKED_OBJECTIVE_II) {
        x->truth = enumerate(&p);
        return;
    }
    p.objective = SKED_OBJECTIVE_MAKESPAN; /* the least interval, and the shortest schedule at it */
    for (int ii = 1; ii <= 40; ii++) {
        p.ii = ii;
        x->truth = enumerate(&p);
        x->interval = ii;
        if (!isinf(x->truth))
            return;
    }
    x->truth = NAN;
}

/* ------------------------------------------------------------------ judging */

static void blame(const trial *x, const char *who, const char *what, double said)
{
    const sked_problem *p = &x->r.problem;
    char line[2000] = "", *at = line, *const end = line + sizeof line;
    for (int32_t i = 0; i < sked_graph_op_count(p->graph) && end - at > 60; i++)
        at += snprintf(at, (size_t)(end - at), " %g@%g/%d", sked_graph_duration(p->graph, i),
                       p->fix_start ? p->fix_start[i] : NAN, p->fix_device ? (int)p->fix_device[i] : -1);
    for (int64_t k = 0; k < sked_graph_edge_count(p->graph) && end - at > 60; k++) {
        sked_edge e;
        sked_graph_edge(p->graph, k, &e);
        at += snprintf(at, (size_t)(end - at), " %d->%d lag %g bytes %g distance %d,", (int)e.from, (int)e.to,
                       e.lag, e.bytes, (int)e.distance);
    }
    fail_msg("problem %llu (kind %u), %s: %s %g, the optimum is %g (interval %g); %s, devices %d, latency "
             "%g, bandwidth %g, horizon %g, ii %g, memory %g, lifetime %s, ops%s",
             (unsigned long long)x->number, x->kind, who, what, said, x->truth, x->interval,
             sked_objective_name(p->objective), (int)p->devices, p->latency, p->bandwidth, p->horizon, p->ii,
             p->memory_limit, sked_lifetime_name(p->lifetime), line);
}

static void judge_refusal(const trial *x, const char *who, sked_status st, const sked_error *err)
{
    const bool proof = st == SKED_ERR_INFEASIBLE && strstr(err->message, "not a proof") == NULL;
    if (proof && isfinite(x->truth))
        blame(x, who, err->message, NAN);
    if (st != SKED_ERR_INFEASIBLE && st != SKED_ERR_UNSUPPORTED && st != SKED_ERR_STOPPED)
        blame(x, who, err->message, st);
}

static void judge_result(const trial *x, const char *who, const sked_result *r)
{
    const bool shortest = x->r.problem.objective == SKED_OBJECTIVE_II;
    const double truth = shortest ? x->interval : x->truth;
    sked_error why = {0};
    sked_metrics m = {.size = sizeof m};
    if (sked_schedule_validate(&x->r.problem, r->schedule[0], &why) != SKED_OK)
        blame(x, who, why.message, r->value);
    OK(sked_schedule_measure(&x->r.problem, r->schedule[0], &m, err));
    if (isnan(x->truth))
        return;
    if (r->value < truth - 1e-6 || m.value != r->value)
        blame(x, who, "value", r->value);
    if (r->lower_bound > truth + 1e-6)
        blame(x, who, "bound", r->lower_bound);
    if (r->optimal && (r->value > truth + 1e-6 || (shortest && m.makespan > x->truth + 1e-6)))
        blame(x, who, "called optimal:", shortest ? m.makespan : r->value);
}

static void run_methods(trial *x, int *runs)
{
    static const char *const all[] = {"list", "search",      "brkga",         "exact",     "fds",
                                      "gaus", "modulo-list", "modulo-search", "registers", "auto"};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        sked_error why = {0};
        sked_result result = {.size = sizeof result};
        sked_run_options opt;
        const bool slow = strcmp(all[k], "auto") == 0 || strcmp(all[k], "gaus") == 0;
        if (slow && x->number % 40 != 0)
            continue;
        sked_run_options_init(&opt);
        opt.seed = x->number;
        opt.iterations = random_int(&x->rng, 5, 200);
        opt.time_limit = slow ? 0.2 : 2;
        opt.threads = x->number % 32 == 0 ? 2 : 1;
        const sked_status st = sked_method_run(all[k], &x->r.problem, &opt, &result, &why);
        if (st != SKED_OK)
            judge_refusal(x, all[k], st, &why);
        else
            judge_result(x, all[k], &result);
        *runs += st == SKED_OK;
        sked_result_clear(&result);
    }
}

/* Every method that takes fixed decisions is among those above. */
static void all_methods_are_tried(void **state)
{
    (void)state;
    int count = 0;
    for (int k = 0; k < sked_method_count(); k++)
        count += (sked_method_at(k)->features & SKED_CAN_FIX) != 0;
    assert_int_equal(count, 10);
}

static void play(uint64_t number, int *known, int *runs)
{
    trial x = {.number = number};
    sked_error why = {0};
    double bound;
    const char *reason = "";
    sked_i_rng_seed(&x.rng, number, 0xf1);
    x.kind = draw_kind(&x.rng);
    const bool loops = x.kind & RANDOM_LOOPS;
    random_problem_make(number, x.kind, loops || number % 2 ? 2 : 4, loops ? 3 : 5, &x.r);
    if ((x.kind & RANDOM_DEVICES) &&
        random_int(&x.rng, 0, 1)) /* fixed starts leave gaps that are too short */
        x.r.problem.devices = 1;
    draw_fixed(&x);
    draw_question(&x);
    const sked_status st = sked_problem_check(&x.r.problem, &why);
    if (st != SKED_ERR_UNSUPPORTED) {
        find_truth(&x);
        *known += !isnan(x.truth);
    }
    if (st != SKED_OK)
        judge_refusal(&x, "check", st, &why);
    else {
        const bool interval = x.r.problem.objective == SKED_OBJECTIVE_II;
        OK(sked_problem_bound(&x.r.problem, &bound, &reason, err));
        if (!isnan(x.truth) && bound > (interval ? x.interval : x.truth) + 1e-6)
            blame(&x, reason, "bound", bound);
        run_methods(&x, runs);
    }
    random_problem_free(&x.r);
}

static void fixed_decisions_against_enumeration(void **state)
{
    (void)state;
    const char *given = getenv("SKED_FIXED");
    unsigned long long first = 0, count = CASES(200);
    int known = 0, runs = 0;
    if (given != NULL)
        assert_int_equal(sscanf(given, "%llu,%llu", &first, &count), 2);
    for (uint64_t number = first; number < first + count; number++)
        play(number, &known, &runs);
    print_message("%llu problems, %d of them enumerated, %d schedules\n", count, known, runs);
    assert_true(known > (int)count / 2 && runs > (int)count);
}

/*
 * Fixed starts leave gaps that nothing fills: the schedule outlasts one op after the other, which a method
 * took for the largest interval worth a look.
 */
static void gaps_between_fixed_starts(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\":\"sked-graph-1\",\"ops\":[{\"name\":\"0\",\"duration\":3},{\"name\":\"1\",\"duration\":"
        "2},"
        "{\"name\":\"2\",\"duration\":2},{\"name\":\"3\",\"duration\":2},{\"name\":\"4\",\"duration\":2}],"
        "\"edges\":[{\"from\":\"0\",\"to\":\"3\",\"lag\":0}]}";
    const double start[] = {NAN, 0, NAN, NAN, 6};
    trial x = {.truth = 12};
    int runs = 0, known = 0;
    OK(sked_graph_parse("gaps", text, sizeof text - 1, NULL, &x.r.graph, err));
    sked_problem_init(&x.r.problem, x.r.graph);
    x.r.problem.devices = 1;
    x.r.problem.fix_start = start;
    assert_true(enumerate(&x.r.problem) == 12);
    sked_i_rng_seed(&x.rng, 0, 0);
    run_methods(&x, &runs);
    assert_true(runs >= 4);
    random_problem_free(&x.r);
    play(845, &known, &runs);
    assert_int_equal(known, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_methods_are_tried),
        cmocka_unit_test(gaps_between_fixed_starts),
        cmocka_unit_test(fixed_decisions_against_enumeration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
