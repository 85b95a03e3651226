/*
 * Clock and chaining. Small random problems are enumerated: every assignment of starts is judged here by
 * phases, from the definition, and so by the validator and by the edges that a clock is lowered to. What
 * methods find is compared with the best assignment.
 */
#define _DEFAULT_SOURCE
#include "random_problem.h"
#include "schedule/realise.h"
#include "test.h"

#include <unistd.h>

#include "problem/chaining.h"

enum { most_ops = 6, most_start = 3 };

/* ------------------------------------------------------------------ random problems */

typedef struct instance {
    sked_graph *g;
    sked_problem p;
    double scale; /* of delays */
} instance;

static int below(sked_i_rng *rng, int n)
{
    return (int)sked_i_rng_below(rng, (uint64_t)n);
}

static void set(sked_builder *b, const char *name, int64_t i, double value)
{
    OK(sked_builder_set_attribute(b, sked_attribute_find(name), i, value, err));
}

static void add_random_op(sked_builder *b, int i, double scale, sked_i_rng *rng)
{
    const int duration = below(rng, 3) > 0 ? 0 : 1 + below(rng, 2);
    const double in = scale * below(rng, 6);
    OK(sked_builder_add_op(b, NULL, NULL, duration, NULL, err));
    set(b, "delay_in", i, in);
    set(b, "delay_out", i, duration == 0 ? in : scale * below(rng, 6));
    set(b, "memory", i, below(rng, 4));
    set(b, "keep", i, below(rng, 8) == 0);
}

static void add_random_edges(sked_builder *b, int n, bool loop, sked_i_rng *rng)
{
    int64_t edges = 0;
    for (int to = 0; to < n; to++)
        for (int from = 0; from < n; from++) {
            const bool carried = from >= to;
            if (below(rng, 10) >= (carried ? loop ? 2 : 0 : 5))
                continue;
            const double lag = below(rng, 4) > 0 ? SKED_LAG_DEFAULT : below(rng, 3);
            OK(sked_builder_add_edge(
                b, &(sked_edge){from, to, lag, 0, carried ? 1 + below(rng, 2) : below(rng, 12) == 0}, err));
            set(b, "order", edges++, below(rng, 8) == 0);
        }
}

static instance random_instance(uint64_t seed, bool loop)
{
    sked_i_rng rng;
    sked_builder *b = NULL;
    sked_i_rng_seed(&rng, seed, 0);
    const int n = 2 + below(&rng, most_ops - 1);
    instance x = {.scale = below(&rng, 2) ? 1 : 0.1};
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < n; i++)
        add_random_op(b, i, x.scale, &rng);
    add_random_edges(b, n, loop, &rng);
    OK(sked_builder_finish(b, &x.g, err));
    sked_builder_destroy(b);
    sked_problem_init(&x.p, x.g);
    x.p.clock = x.scale * (5 + below(&rng, 6));
    x.p.io = below(&rng, 3) == 0 ? SKED_IO_ALIGNED : SKED_IO_FREE;
    x.p.horizon = below(&rng, 3) == 0 ? INFINITY : 1 + below(&rng, most_start);
    x.p.ii = loop ? 1 + below(&rng, 3) : 0;
    return x;
}

/* ------------------------------------------------------------------ the definition */

static double longest_end(const sked_graph *g, const double *start)
{
    double end = 0;
    for (int i = 0; i < g->n_ops; i++)
        end = fmax(end, start[i] + g->duration[i]);
    return end;
}

static bool counts(const sked_graph *g, double ii, int64_t e)
{
    return g->edge_distance[e] == 0 || ii > 0;
}

static bool reads(const sked_graph *g, int64_t e)
{
    return g->edge_order == NULL || !g->edge_order[e];
}

/* Phases of starts that keep the edges; false: some cycle is too short. */
static bool phases_of(const instance *x, double ii, const double *start, double *z)
{
    const sked_graph *g = x->g;
    bool later = true;
    for (int i = 0; i < g->n_ops; i++)
        z[i] = 0;
    for (int round = 0; later; round++) {
        later = false;
        for (int64_t e = 0; e < g->n_edges; e++) {
            const int from = g->edge_from[e], to = g->edge_to[e];
            if (!counts(g, ii, e) || !reads(g, e) ||
                start[to] + g->edge_distance[e] * ii != start[from] + g->edge_lag[e])
                continue;
            const double out =
                g->duration[from] > 0 ? sked_i_delay_out(g, from) : z[from] + sked_i_delay_in(g, from);
            later = later || out > z[to];
            z[to] = fmax(z[to], out);
        }
        for (int i = 0; i < g->n_ops; i++)
            if (fmax(z[i] + sked_i_delay_in(g, i), sked_i_delay_out(g, i)) > x->p.clock * (1 + 1e-9))
                return false;
    }
    return true;
}

static bool keeps_edges(const sked_graph *g, double ii, const double *start)
{
    for (int64_t e = 0; e < g->n_edges; e++)
        if (counts(g, ii, e) &&
            start[g->edge_to[e]] + g->edge_distance[e] * ii < start[g->edge_from[e]] + g->edge_lag[e])
            return false;
    return true;
}

static bool is_valid(const instance *x, double ii, const double *start)
{
    double z[most_ops];
    for (int i = 0; x->p.io == SKED_IO_ALIGNED && i < x->g->n_ops; i++)
        if (x->g->pred_ptr[i] == x->g->pred_ptr[i + 1] && start[i] != 0)
            return false;
    return longest_end(x->g, start) <= x->p.horizon && keeps_edges(x->g, ii, start) &&
           phases_of(x, ii, start, z);
}

/* Peak memory by lifetime result, cycle by cycle. */
static double memory_of(const instance *x, double ii, const double *start)
{
    const sked_graph *g = x->g;
    double level[64] = {0}, peak = 0;
    const double end = longest_end(g, start);
    for (int i = 0; i < g->n_ops; i++) {
        double least = INFINITY, last = -1;
        bool read = false;
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
            if (!reads(g, e))
                continue;
            read = true;
            least = fmin(least, g->edge_lag[e]);
            if (counts(g, ii, e))
                last = fmax(last, start[g->edge_to[e]] + g->edge_distance[e] * ii);
        }
        if (sked_graph_keep(g, i) || (x->p.io == SKED_IO_ALIGNED && !read))
            last = fmax(last, end);
        for (double t = start[i] + (read ? fmax(0, least) : g->duration[i]); t < last; t++)
            level[(int)(ii > 0 ? fmod(t, ii) : t)] += g->memory[i];
    }
    for (int k = 0; k < 64; k++)
        peak = fmax(peak, level[k]);
    return peak;
}

/* The next assignment; false: that was the last one. */
static bool next(double *start, int n)
{
    for (int i = 0; i < n; i++) {
        if (++start[i] <= most_start)
            return true;
        start[i] = 0;
    }
    return false;
}

/* ------------------------------------------------------------------ validator and edges */

/* Every assignment that keeps horizon, inputs and edges: do phases, validator and lowered edges agree? */
static void compare(const instance *x, double ii, const sked_graph *lowered)
{
    double start[most_ops + 1] = {0}, z[most_ops];
    const int n = x->g->n_ops;
    sked_schedule s = {.ops = n, .ii = ii, .start = start};
    sked_problem p = x->p;
    p.ii = ii;
    do {
        bool asked = longest_end(x->g, start) <= x->p.horizon;
        for (int i = 0; x->p.io == SKED_IO_ALIGNED && i < n; i++)
            asked = asked && (x->g->pred_ptr[i] < x->g->pred_ptr[i + 1] || start[i] == 0);
        start[n] = longest_end(x->g, start);
        const bool valid = is_valid(x, ii, start);
        if (asked)
            assert_int_equal(keeps_edges(lowered, ii, start), valid);
        if (valid != (sked_schedule_validate(&p, &s, NULL) == SKED_OK))
            fail_msg("the validator says otherwise");
        if (!valid)
            continue;
        assert_true(phases_of(x, ii, start, z));
        s.phase = z;
        OK(sked_schedule_validate(&p, &s, err));
        double same[most_ops];
        OK(sked_schedule_phases(&p, &s, same, err));
        for (int i = 0; i < n; i++)
            assert_true(same[i] == z[i]);
        z[0] += x->scale * 0.5;
        FAILS(SKED_ERR_INVALID, "is said to begin", sked_schedule_validate(&p, &s, err));
        s.phase = NULL;
    } while (next(start, n));
}

static void edges_stand_for_phases(void **state)
{
    (void)state;
    int compared = 0;
    for (int k = 0; k < CASES(1200); k++) {
        instance x = random_instance((uint64_t)k, k % 2 == 1);
        sked_i_lowered low = {0};
        x.p.objective =
            k % 3 ? SKED_OBJECTIVE_MAKESPAN : SKED_OBJECTIVE_MEMORY; /* with an end, where aligned */
        if (k % 4 == 3)
            x.p.ii = SKED_II_AUTO;
        const sked_status st = sked_problem_check(&x.p, NULL);
        assert_true(st == SKED_OK || st == SKED_ERR_INFEASIBLE);
        double start[most_ops] = {0};
        bool any = false;
        do
            any = any || is_valid(&x, x.p.ii > 0 ? x.p.ii : x.p.ii < 0 ? 3 : 0, start);
        while (next(start, x.g->n_ops));
        assert_true(!any || st == SKED_OK);
        if (st == SKED_OK) {
            sked_i_min_ii least;
            OK(sked_i_problem_min_ii(&x.p, &least, err));
            OK(sked_i_lower(&x.p, &low, err));
            assert_true(low.problem.clock == 0 && low.problem.io == SKED_IO_FREE);
            for (int ii = 1; ii <= 3 && x.p.ii < 0; ii++)
                if (ii >= least.recurrence)
                    compare(&x, ii, low.problem.graph);
            if (x.p.ii >= 0)
                compare(&x, x.p.ii, low.problem.graph);
            compared++;
        }
        sked_i_lowered_free(&low);
        sked_graph_destroy(x.g);
    }
    assert_true(compared > CASES(1200) / 3);
}

/* ------------------------------------------------------------------ methods */

static double value_of(const instance *x, double ii, const double *start)
{
    return x->p.objective == SKED_OBJECTIVE_MEMORY ? memory_of(x, ii, start) : longest_end(x->g, start);
}

/* The best of all assignments; INFINITY: none is valid. */
static double best_of(const instance *x, double ii)
{
    double start[most_ops] = {0}, best = INFINITY;
    do
        if (is_valid(x, ii, start))
            best = fmin(best, value_of(x, ii, start));
    while (next(start, x->g->n_ops));
    return best;
}

static void check_result(const instance *x, const sked_result *r, double best, bool exact)
{
    const sked_schedule *s = r->schedule[0];
    assert_int_equal(s->ops, x->g->n_ops);
    assert_non_null(s->phase);
    OK(sked_schedule_validate(&x->p, s, err));
    assert_true(is_valid(x, s->ii, s->start));
    sked_metrics m = {.size = sizeof m};
    OK(sked_schedule_measure(&x->p, s, &m, err));
    assert_true(r->value == value_of(x, s->ii, s->start) && m.value == r->value);
    assert_true(r->value >= best && r->lower_bound <= best);
    if (r->optimal || exact)
        assert_true(r->value == best);
}

static void run_method(const instance *x, const sked_method_info *m, double best, int *runs)
{
    sked_result r = {.size = sizeof r};
    sked_error e = {0};
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.time_limit = INFINITY;
    opt.iterations = 300;
    const sked_status st = sked_method_run(m->name, &x->p, &opt, &r, &e);
    if (st == SKED_OK) {
        check_result(x, &r, best, strcmp(m->name, "exact") == 0 && r.optimal);
        runs[0]++;
        runs[1] += r.optimal;
    } else if (st == SKED_ERR_INFEASIBLE) {
        assert_true(isinf(best) || strstr(e.message, "not a proof") != NULL);
    } else {
        assert_int_equal(st, SKED_ERR_UNSUPPORTED);
    }
    sked_result_clear(&r);
}

static void methods_keep_the_clock(void **state)
{
    (void)state;
    int runs[2] = {0};
    for (int k = 0; k < CASES(240); k++) {
        instance x = random_instance(5000 + (uint64_t)k, k % 2 == 1);
        x.p.objective = k % 3 ? SKED_OBJECTIVE_MEMORY : SKED_OBJECTIVE_MAKESPAN;
        x.p.horizon = most_start; /* as far as the enumeration goes */
        const double best = sked_problem_check(&x.p, NULL) == SKED_OK ? best_of(&x, x.p.ii) : INFINITY;
        for (int m = 0; m < sked_method_count(); m++)
            if (strcmp(sked_method_at(m)->name, "gflownet") != 0)
                run_method(&x, sked_method_at(m), best, runs);
        sked_graph_destroy(x.g);
    }
    assert_true(runs[0] > CASES(240) && runs[1] > CASES(240) / 2);
}

/* Objective ii: the least interval at which some assignment is valid. */
static void intervals_are_the_least(void **state)
{
    (void)state;
    int found = 0;
    for (int k = 0; k < CASES(150); k++) {
        instance x = random_instance(9000 + (uint64_t)k, true);
        x.p.horizon = most_start;
        x.p.objective = SKED_OBJECTIVE_II;
        x.p.ii = SKED_II_AUTO;
        double least = 1;
        while (least <= 8 && isinf(best_of(&x, least)))
            least++;
        static const char *const names[] = {"auto", "modulo-list", "modulo-search"};
        for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
            sked_result r = {.size = sizeof r};
            sked_run_options opt;
            sked_run_options_init(&opt);
            opt.iterations = 2000;
            opt.time_limit = INFINITY;
            const sked_status st = sked_method_run(names[m], &x.p, &opt, &r, NULL);
            assert_true(st == SKED_OK ? r.value >= least && r.lower_bound <= least
                                      : st == SKED_ERR_INFEASIBLE);
            assert_true(st != SKED_OK || !r.optimal || r.value == least);
            assert_true(st != SKED_OK || is_valid(&x, r.schedule[0]->ii, r.schedule[0]->start));
            found += st == SKED_OK && r.optimal;
            sked_result_clear(&r);
        }
        sked_graph_destroy(x.g);
    }
    assert_true(found > CASES(150) / 2);
}

/* ------------------------------------------------------------------ what is refused */

static void refused(const char *ops, const char *edges, double clock, sked_status status, const char *part)
{
    char text[2000];
    snprintf(text, sizeof text, "{\"ops\":[%s],\"edges\":[%s]}", ops, edges);
    sked_graph *g = must_graph(text);
    sked_problem p;
    sked_problem_init(&p, g);
    p.clock = clock;
    FAILS(status, part, sked_problem_check(&p, err));
    double bound;
    const char *why;
    if (status != SKED_ERR_ARGUMENT)
        assert_true(sked_problem_bound(&p, &bound, &why, NULL) != SKED_OK);
    sked_graph_destroy(g);
}

static void what_has_no_clock_is_refused(void **state)
{
    (void)state;
    static const char one[] = "{\"name\":\"a\",\"duration\":0,\"delay\":3}";
    refused(one, "", 2, SKED_ERR_INFEASIBLE,
            "op 'a' has a delay of 3, the clock period is 2; a period of 3 would");
    refused("{\"name\":\"a\",\"duration\":1,\"delay\":{\"out\":7}}", "", 2, SKED_ERR_INFEASIBLE,
            "op 'a' has a delay of 7");
    refused("{\"name\":\"a\",\"duration\":0,\"delay\":{\"in\":1}}", "", 2, SKED_ERR_UNSUPPORTED,
            "op 'a' has duration 0 and so no register");
    refused("{\"name\":\"a\",\"duration\":0.5}", "", 2, SKED_ERR_UNSUPPORTED, "whole numbers of cycles");
    refused("{\"duration\":0},{\"duration\":0}", "{\"from\":0,\"to\":1,\"lag\":0.5}", 2, SKED_ERR_UNSUPPORTED,
            "whole");
    refused(one, "", -1, SKED_ERR_ARGUMENT, "the clock must be");
    refused(one, "", NAN, SKED_ERR_ARGUMENT, "the clock must be");
    refused(one, "", INFINITY, SKED_ERR_ARGUMENT, "the clock must be");
    sked_graph *g = must_graph("{\"ops\":[{\"duration\":0,\"delay\":1}],\"edges\":[]}");
    sked_problem p;
    sked_problem_init(&p, g);
    p.clock = 5;
    p.devices = 2;
    FAILS(SKED_ERR_UNSUPPORTED, "a clock goes without devices", sked_problem_check(&p, err));
    p.clock = 0;
    p.lifetime = SKED_LIFETIME_RESULT;
    FAILS(SKED_ERR_UNSUPPORTED, "lifetime result goes without devices", sked_problem_check(&p, err));
    p.lifetime = SKED_LIFETIME_START;
    p.io = SKED_IO_ALIGNED;
    FAILS(SKED_ERR_UNSUPPORTED, "aligned inputs and outputs go without devices", sked_problem_check(&p, err));
    p.devices = 0;
    p.fix_start = &(const double){2};
    FAILS(SKED_ERR_INFEASIBLE, "with aligned inputs it starts at 0", sked_problem_check(&p, err));
    p.io = (sked_io)7;
    FAILS(SKED_ERR_ARGUMENT, "no such io", sked_problem_check(&p, err));
    sked_graph_destroy(g);
}

/* Delays and lags from the ends of their ranges neither hang nor overflow. */
static void hostile_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *ops, *edges;
        double clock;
    } list[] = {
        {"{\"duration\":0,\"delay\":1e308},{\"duration\":0,\"delay\":1e308}", "[0,1]", 1.7e308},
        {"{\"duration\":0,\"delay\":1e-308},{\"duration\":0,\"delay\":1e-308}", "[0,1]", 1e-308},
        {"{\"duration\":0,\"delay\":1},{\"duration\":0,\"delay\":1}",
         "{\"from\":0,\"to\":1,\"lag\":9e15},{\"from\":1,\"to\":0,\"lag\":9e15,\"distance\":2147483647}",
         1.5},
        {"{\"duration\":0,\"delay\":1e-9},{\"duration\":0,\"delay\":1e-9}",
         "[0,1],{\"from\":1,\"to\":0,\"lag\":1,\"distance\":1}", 1},
        {"{\"duration\":0,\"delay\":1}", "{\"from\":0,\"to\":0,\"lag\":2147483647,\"distance\":2147483647}",
         1e6},
        {"{\"duration\":0},{\"duration\":0}", "[0,1],{\"from\":1,\"to\":0,\"lag\":1,\"distance\":1}", 1},
    };
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        for (int way = 0; way < 3; way++) {
            char text[1000];
            snprintf(text, sizeof text, "{\"ops\":[%s],\"edges\":[%s]}", list[k].ops, list[k].edges);
            sked_graph *g = must_graph(text);
            sked_result r = {.size = sizeof r};
            sked_run_options opt;
            sked_problem p;
            sked_problem_init(&p, g);
            p.clock = list[k].clock;
            p.ii = way == 0 ? 0 : way == 1 ? 1 : SKED_II_AUTO;
            sked_run_options_init(&opt);
            opt.iterations = 10;
            opt.time_limit = INFINITY;
            sked_error e = {0};
            const sked_status st = sked_method_run("auto", &p, &opt, &r, &e);
            if (st != SKED_OK && st != SKED_ERR_INFEASIBLE && st != SKED_ERR_UNSUPPORTED)
                fail_msg("case %d, %d: %s", (int)k, way, e.message);
            sked_result_clear(&r);
            sked_graph_destroy(g);
        }
}

/* ------------------------------------------------------------------ large circuits */

/* A square of gates, each of which reads those above it and to its left, as the cells of a multiplier do. */
static sked_graph *array_of(int side)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int i = 0; i < side * side; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 0, NULL, err));
        OK(sked_builder_set_memory(b, i, 1, err));
        set(b, "delay_in", i, 1);
        set(b, "delay_out", i, 1);
        if (i >= side)
            OK(sked_builder_add_edge(b, &(sked_edge){i - side, i, SKED_LAG_DEFAULT, 0, 0}, err));
        if (i % side > 0)
            OK(sked_builder_add_edge(b, &(sked_edge){i - 1, i, SKED_LAG_DEFAULT, 0, 0}, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* The least end by the edges that a clock is lowered to, as the validator passes it. */
static double least_end(const sked_problem *p, int64_t *edges)
{
    sked_i_lowered low;
    sked_schedule *s = NULL;
    OK(sked_problem_check(p, err));
    OK(sked_i_lower(p, &low, err));
    OK(sked_schedule_create(p->graph->n_ops, 0, &s, err));
    sked_i_heads(low.problem.graph, s->start);
    OK(sked_schedule_validate(p, s, err));
    const double end = longest_end(p->graph, s->start);
    *edges = low.problem.graph->n_edges - p->graph->n_edges;
    sked_i_lowered_free(&low);
    sked_schedule_destroy(s);
    return end;
}

/* Fifty thousand gates: pairs few enough to list, and fewer with a horizon. */
static void large_circuits_are_lowered(void **state)
{
    (void)state;
    enum { side = SANITIZED ? 70 : 224, levels = 10 };
    const double stages = (2 * side - 2) / levels;
    sked_graph *g = array_of(side);
    sked_problem p;
    int64_t all, few;
    sked_problem_init(&p, g);
    p.clock = levels;
    assert_true(least_end(&p, &all) == stages);
    p.horizon = stages;
    assert_true(least_end(&p, &few) == stages);
    assert_true(all <= (int64_t)side * side * (levels + 1) && few < all);
    p.horizon = stages - 1;
    FAILS(SKED_ERR_INFEASIBLE, "would admit it", sked_problem_check(&p, err));
    sked_graph_destroy(g);
}

/* Every gate a cycle apart from thousands of others: refused, with the number and what would help. */
static void too_many_pairs_are_refused(void **state)
{
    (void)state;
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    enum { wide = 2100 };
    OK(sked_builder_create(&b, err));
    for (int i = 0; i <= 2 * wide; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 0, NULL, err));
        set(b, "delay_in", i, 1);
        set(b, "delay_out", i, 1);
    }
    for (int i = 0; i < wide; i++) {
        OK(sked_builder_add_edge(b, &(sked_edge){i, wide, SKED_LAG_DEFAULT, 0, 0}, err));
        OK(sked_builder_add_edge(b, &(sked_edge){wide, wide + 1 + i, SKED_LAG_DEFAULT, 0, 0}, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem p;
    sked_problem_init(&p, g);
    p.clock = 2;
    FAILS(SKED_ERR_UNSUPPORTED, "more than 4194304 pairs of ops a cycle apart", sked_problem_check(&p, err));
    p.clock = 1;
    OK(sked_problem_check(&p, err));
    p.clock = 3;
    OK(sked_problem_check(&p, err));
    sked_graph_destroy(g);
}

static double run_express(const char *method, const sked_problem *p, bool *proved)
{
    sked_result r = {.size = sizeof r};
    sked_run_options run;
    sked_run_options_init(&run);
    run.time_limit = 2;
    OK(sked_method_run(method, p, &run, &r, err));
    OK(sked_schedule_validate(p, r.schedule[0], err));
    const double value = r.value;
    *proved = r.lower_bound == r.value;
    sked_result_clear(&r);
    return value;
}

/*
 * Products in units of two cycles, everything else between registers: never above `list`, and proved where
 * there are fewer than 60 ops.
 */
static void express_sweeps(void **state)
{
    (void)state;
    RESULTS_ONLY();
    NEED_SHARED_DATA();
    static const char *const names[] = {"hal",
                                        "ewf",
                                        "arf",
                                        "fir1",
                                        "cosine1",
                                        "horner_bezier_surf_dfg__12",
                                        "collapse_pyr_dfg__113",
                                        "feedback_points_dfg__7",
                                        "h2v2_smooth_downsample_dfg__6",
                                        "write_bmp_header_dfg__7",
                                        "matmul_dfg__3",
                                        "interpolate_aux_dfg__12"};
    static const char text[] = "{\"types\": {\"mul\": {\"duration\": 1, \"latency\": 2, \"demand\": "
                               "{\"MUL\": 1}, \"delay\": {\"in\": 2, \"out\": 1}}, "
                               "\"*\": {\"duration\": 0, \"delay\": 2}}, \"resources\": {\"MUL\": 2}}";
    char path[800], library[] = "/tmp/sked-test-library-XXXXXX";
    const int fd = mkstemp(library);
    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1);
    close(fd);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (double clock = 2; clock <= 8; clock += 3) {
            sked_graph *g = NULL;
            sked_problem p;
            bool proved, unused;
            snprintf(path, sizeof path, "%s/express_dfg/%s.dot", shared_data(), names[k]);
            OK(sked_graph_read(
                path, &(sked_read_options){.size = sizeof(sked_read_options), .library = library}, &g, err));
            sked_problem_init(&p, g);
            p.clock = clock;
            const double best = run_express("auto", &p, &proved), list = run_express("list", &p, &unused);
            if (best > list || (g->n_ops < 60 && !proved))
                fail_msg("%s at %g: %g, %s; list %g", names[k], clock, best, proved ? "proved" : "not proved",
                         list);
            sked_graph_destroy(g);
        }
    unlink(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_stand_for_phases),
        cmocka_unit_test(methods_keep_the_clock),
        cmocka_unit_test(intervals_are_the_least),
        cmocka_unit_test(what_has_no_clock_is_refused),
        cmocka_unit_test(hostile_numbers),
        cmocka_unit_test(large_circuits_are_lowered),
        cmocka_unit_test(too_many_pairs_are_refused),
        cmocka_unit_test(express_sweeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
