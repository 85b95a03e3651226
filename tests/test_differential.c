/*
 * Every method and every bound against enumeration, on tiny random problems of every kind (question.h). No
 * bound lies above the optimum, nothing is called optimal that is not, nothing refused that has a schedule.
 * SKED_DIFFERENTIAL=FIRST,COUNT runs other problems than the short run here.
 */
#include "question.h"

/* ------------------------------------------------------------------ judging */

typedef struct tally {
    int known, possible, runs, schedules;
} tally;

static void blame(const question *x, const char *who, const char *what, double said)
{
    const sked_problem *p = &x->r.problem;
    char line[2000] = "", *at = line, *const end = line + sizeof line;
    for (int32_t i = 0; i < sked_graph_op_count(p->graph) && end - at > 60; i++)
        at += snprintf(at, (size_t)(end - at), " %g*%g@%g/%d", sked_graph_duration(p->graph, i),
                       sked_graph_memory(p->graph, i), p->fix_start ? p->fix_start[i] : NAN,
                       p->fix_device ? (int)p->fix_device[i] : -1);
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

static void judge_refusal(const question *x, const char *who, sked_status st, const sked_error *err)
{
    const bool proof = st == SKED_ERR_INFEASIBLE && strstr(err->message, "not a proof") == NULL;
    if (proof && isfinite(x->truth))
        blame(x, who, err->message, NAN);
    if (st != SKED_ERR_INFEASIBLE && st != SKED_ERR_UNSUPPORTED && st != SKED_ERR_STOPPED)
        blame(x, who, err->message, st);
}

static void judge_result(const question *x, const char *who, const sked_result *r)
{
    const bool shortest = x->r.problem.objective == SKED_OBJECTIVE_II;
    const double truth = shortest ? x->interval : x->truth;
    sked_error why = {0};
    sked_metrics m = {.size = sizeof m};
    for (int32_t k = 0; k < r->count; k++)
        if (sked_schedule_validate(&x->r.problem, r->schedule[k], &why) != SKED_OK)
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

/* Those that take a while even for a tiny problem, not on every one; modulo-list where it looks long for what
 * is not. */
static bool is_due(const char *method, const question *x)
{
    const bool slow = strcmp(method, "auto") == 0 || strcmp(method, "gaus") == 0;
    const bool some =
        strcmp(method, "gflownet") == 0 || (strcmp(method, "modulo-list") == 0 && !(x->kind & RANDOM_LOOPS));
    return x->number % (slow ? 40 : some ? 8 : 1) == 0;
}

static void run_method(const question *x, const char *method, tally *t)
{
    sked_error why = {0};
    sked_result result = {.size = sizeof result};
    sked_run_options opt;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, x->number, 0x3e7);
    sked_run_options_init(&opt);
    opt.seed = x->number;
    opt.iterations = random_int(&rng, 5, 100);
    opt.time_limit = strcmp(method, "auto") == 0 ? 0.1 : 2;
    opt.threads = x->number % 32 == 0 ? 2 : 1;
    opt.candidates = x->number % 5 == 0 ? 3 : 0;
    const sked_status st = sked_method_run(method, &x->r.problem, &opt, &result, &why);
    if (st != SKED_OK)
        judge_refusal(x, method, st, &why);
    else
        judge_result(x, method, &result);
    t->schedules += result.count;
    t->runs += st != SKED_ERR_UNSUPPORTED;
    sked_result_clear(&result);
}

static void run_methods(const question *x, tally *t)
{
    for (int k = 0; k < sked_method_count(); k++)
        if (is_due(sked_method_at(k)->name, x))
            run_method(x, sked_method_at(k)->name, t);
}

static void play(uint64_t number, tally *t)
{
    question x;
    sked_error why = {0};
    double bound;
    const char *reason = "";
    question_draw(number, &x);
    const bool interval = x.r.problem.objective == SKED_OBJECTIVE_II;
    const sked_status st = sked_problem_check(&x.r.problem, &why);
    if (st != SKED_ERR_UNSUPPORTED)
        question_answer(&x);
    t->known += !isnan(x.truth);
    t->possible += isfinite(x.truth);
    if (st != SKED_OK)
        judge_refusal(&x, "check", st, &why);
    else {
        OK(sked_problem_bound(&x.r.problem, &bound, &reason, err));
        if (!isnan(x.truth) && bound > (interval ? x.interval : x.truth) + 1e-6)
            blame(&x, reason, "bound", bound);
        run_methods(&x, t);
    }
    random_problem_free(&x.r);
}

static void methods_against_enumeration(void **state)
{
    (void)state;
    const char *given = getenv("SKED_DIFFERENTIAL");
    unsigned long long first = 0, count = CASES(200);
    tally t = {0};
    if (given != NULL)
        assert_int_equal(sscanf(given, "%llu,%llu", &first, &count), 2);
    for (uint64_t number = first; number < first + count; number++)
        play(number, &t);
    print_message("%llu problems, %d of them enumerated, %d with a schedule: %d runs, %d schedules\n", count,
                  t.known, t.possible, t.runs, t.schedules);
    assert_true(t.known > (int)count / 2 && t.possible > (int)count / 4 && t.schedules > (int)count);
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
    question x = {.truth = 12};
    tally t = {0};
    OK(sked_graph_parse("gaps", text, sizeof text - 1, NULL, &x.r.graph, err));
    sked_problem_init(&x.r.problem, x.r.graph);
    x.r.problem.devices = 1;
    x.r.problem.fix_start = start;
    assert_true(question_enumerate(&x.r.problem) == 12);
    run_methods(&x, &t);
    assert_true(t.schedules >= 8);
    random_problem_free(&x.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_between_fixed_starts),
        cmocka_unit_test(methods_against_enumeration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
