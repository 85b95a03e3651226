/* Addresses of values: the judge against steps written from the definition, methods, limits, and the file. */
#include "base/rng.h"
#include "brute_force.h"
#include "graph/attributes.h"
#include "random_problem.h"

#include <math.h>
#include <string.h>

static const unsigned kinds[] = {0,
                                 RANDOM_KEEP,
                                 RANDOM_ORDER | RANDOM_ZERO,
                                 RANDOM_DEVICES | RANDOM_KEEP | RANDOM_ORDER,
                                 RANDOM_TRANSFERS,
                                 RANDOM_TRANSFERS | RANDOM_KEEP | RANDOM_ZERO,
                                 RANDOM_RESOURCES | RANDOM_LAGS,
                                 RANDOM_UNEQUAL | RANDOM_KEEP};
enum { n_kinds = sizeof kinds / sizeof *kinds };

static void make(uint64_t seed, int low, int high, random_problem *r)
{
    sked_i_rng rng;
    random_problem_make(seed, kinds[seed % n_kinds], low, high, r);
    sked_i_rng_seed(&rng, seed, 78);
    r->problem.lifetime = random_int(&rng, 0, 3) ? SKED_LIFETIME_FINISH : SKED_LIFETIME_START;
    r->problem.offsets = true;
    r->problem.align = random_int(&rng, 0, 1) ? 1 : random_int(&rng, 2, 4);
}

/* Marks some edges: their ops may write over what they read. */
static void mark_inplace(random_problem *r, uint64_t seed)
{
    sked_i_rng rng;
    sked_builder *b = NULL;
    sked_graph *marked = NULL;
    sked_i_rng_seed(&rng, seed, 80);
    OK(sked_builder_create(&b, err));
    OK(sked_i_graph_copy(r->graph, NULL, b, err));
    for (int64_t e = 0; e < r->graph->n_edges; e++)
        if (random_int(&rng, 0, 2) > 0)
            OK(sked_i_builder_set(b, &sked_i_edge_table[sked_i_edge_inplace], e, 1, err));
    OK(sked_builder_finish(b, &marked, err));
    sked_builder_destroy(b);
    sked_graph_destroy(r->graph);
    r->problem.graph = r->graph = marked;
}

static sked_status run(const sked_problem *p, sked_result *r, sked_error *err)
{
    const sked_run_options opt = {.size = sizeof opt, .threads = 1, .time_limit = INFINITY, .iterations = 50};
    return sked_method_run("auto", p, &opt, r, err);
}

/* ------------------------------------------------------------------ the judge */

/* The address of i's value on d; -1: none. */
static int64_t address_of(const sked_schedule *s, int i, int d)
{
    if (s->device == NULL || s->device[i] == d)
        return s->offset[i];
    for (int64_t k = 0; k < s->copies; k++)
        if (s->copy_op[k] == i && s->copy_device[k] == d)
            return s->copy_offset[k];
    return -1;
}

/* Is it held there at some step from `from` on? */
static bool held_from(const brute *b, int i, int d, double from, double makespan)
{
    for (int t = (int)from; t < BRUTE_TIME; t++)
        if (brute_holds(b, i, d, t, makespan))
            return true;
    return false;
}

/* Would nothing hold u where op runs, once op has started, if op did not read it? */
static bool dies_in(brute *b, int u, int op, double makespan)
{
    const double start = b->start[op];
    bool reads[BRUTE_EDGES], inplace = false;
    const int d = b->device[op];
    if (start < 1 || !brute_holds(b, u, d, (int)start - 1, makespan) || !(brute_time(b, op) > 0))
        return false;
    memcpy(reads, b->reads, sizeof reads);
    for (int e = 0; e < b->edges; e++) {
        if (b->edge[e].from != u || b->edge[e].to != op)
            continue;
        inplace = inplace || (b->reads[e] && b->edge[e].distance == 0 && b->p->graph->edge_inplace != NULL &&
                              b->p->graph->edge_inplace[e]);
        b->reads[e] = false;
    }
    const bool dies = inplace && !held_from(b, u, d, start, makespan);
    memcpy(b->reads, reads, sizeof reads);
    return dies && sked_graph_memory(b->p->graph, u) == sked_graph_memory(b->p->graph, op);
}

static int written_over; /* how often the steps found it */

/* over[i]: the op whose value i writes over, -1: none. until[u][d]: when something writes over it there. */
static void find_written_over(brute *b, double makespan, int *over, double (*until)[4])
{
    for (int i = 0; i < b->n; i++) {
        over[i] = -1;
        for (int d = 0; d < 4; d++)
            until[i][d] = INFINITY;
    }
    for (int i = 0; i < b->n && brute_to_finish(b->p); i++)
        for (int u = 0; u < b->n && over[i] < 0; u++)
            if (sked_graph_memory(b->p->graph, u) > 0 && dies_in(b, u, i, makespan)) {
                written_over++;
                over[i] = u;
                until[u][b->device[i]] = b->start[i];
            }
}

/* Every address there is, and every pair of values at every step, as the definition says. */
static bool addresses_hold(const sked_problem *p, const sked_schedule *s)
{
    static brute b;
    double makespan = 0, until[BRUTE_OPS][4];
    int over[BRUTE_OPS];
    brute_load(&b, p);
    for (int i = 0; i < b.n; i++) {
        b.start[i] = s->start[i];
        b.device[i] = s->device ? s->device[i] : 0;
        b.placed[i] = true;
        makespan = fmax(makespan, b.start[i] + brute_time(&b, i));
    }
    find_written_over(&b, makespan, over, until);
    for (int i = 0; i < b.n; i++)
        if (over[i] >= 0 && address_of(s, i, b.device[i]) != address_of(s, over[i], b.device[i]))
            return false;
    for (int d = 0; d < (p->devices > 0 ? p->devices : 1); d++)
        for (int i = 0; i < b.n; i++) {
            const int64_t at = address_of(s, i, d);
            const double size = ceil(sked_graph_memory(p->graph, i));
            if (at >= 0 && at % p->align != 0)
                return false;
            for (int t = 0; t < BRUTE_TIME && size > 0; t++) {
                if (!brute_holds(&b, i, d, t, makespan) || t >= until[i][d])
                    continue;
                if (at < 0 || (double)at + size > (double)s->arena[d])
                    return false;
                for (int j = 0; j < i; j++) {
                    const double other = ceil(sked_graph_memory(p->graph, j));
                    const int64_t place = address_of(s, j, d);
                    if (other > 0 && t < until[j][d] && brute_holds(&b, j, d, t, makespan) &&
                        (double)place < (double)at + size && (double)at < (double)place + other)
                        return false;
                }
            }
        }
    return true;
}

/* One address elsewhere; the arenas follow. */
static void move_one(const sked_problem *p, sked_i_rng *rng, sked_schedule *s)
{
    const int64_t k = (int64_t)sked_i_rng_below(rng, (uint64_t)(s->ops + s->copies));
    int64_t *const moved = k < s->ops ? &s->offset[k] : &s->copy_offset[k - s->ops];
    if (*moved >= 0)
        *moved = random_int(rng, -1, 6) * (random_int(rng, 0, 3) ? p->align : 1);
    memset(s->arena, 0, (size_t)(s->devices > 0 ? s->devices : 1) * sizeof *s->arena);
    for (int d = 0; d < (s->devices > 0 ? s->devices : 1); d++)
        for (int i = 0; i < s->ops; i++) {
            const int64_t at = address_of(s, i, d);
            if (at >= 0)
                s->arena[d] =
                    (int64_t)fmax((double)s->arena[d], (double)at + ceil(sked_graph_memory(p->graph, i)));
        }
}

static void judge_agrees_with_steps(void **state)
{
    (void)state;
    int broken = 0, kept = 0, copies = 0;
    for (uint64_t seed = 0; seed < CASES(3000); seed++) {
        random_problem r;
        sked_i_rng rng;
        sked_result found = {.size = sizeof found};
        make(seed, 1, 7, &r);
        if (seed % 3 == 0)
            mark_inplace(&r, seed);
        sked_i_rng_seed(&rng, seed, 5);
        OK(run(&r.problem, &found, err));
        sked_schedule *s = found.schedule[0];
        assert_true(addresses_hold(&r.problem, s));
        for (int k = 0; k < 4; k++) {
            move_one(&r.problem, &rng, s);
            const bool hold = addresses_hold(&r.problem, s);
            sked_error why = {0};
            const sked_status st = sked_schedule_validate(&r.problem, s, &why);
            if ((st == SKED_OK) != hold)
                fail_msg("seed %d, move %d: %s", (int)seed, k, why.message);
            kept += hold;
            broken += !hold;
        }
        copies += s->copies > 0;
        sked_result_clear(&found);
        random_problem_free(&r);
    }
    assert_true(broken > CASES(3000) && kept > CASES(3000) && copies > CASES(3000) / 10);
    print_message("written over: %d\n", written_over);
    assert_true(written_over > CASES(3000) / 16);
}

/* ------------------------------------------------------------------ objective arena */

/* Peak memory bounds the arena, and what is said to be optimal is: no schedule's peak is lower. */
static void arena_is_at_least_the_peak(void **state)
{
    (void)state;
    int optimal = 0;
    for (uint64_t seed = 0; seed < CASES(400); seed++) {
        random_problem r;
        sked_result found = {.size = sizeof found};
        sked_metrics m = {.size = sizeof m};
        double bound;
        make(seed, 1, 5, &r);
        if (seed % 2 == 0)
            mark_inplace(&r, seed);
        sked_problem p = r.problem, peak = p;
        p.objective = SKED_OBJECTIVE_ARENA;
        p.offsets = false; /* it says so itself */
        OK(run(&p, &found, err));
        OK(sked_schedule_measure(&p, found.schedule[0], &m, err));
        OK(sked_problem_bound(&p, &bound, NULL, err));
        assert_true(m.value == m.arena && m.arena == found.value);
        assert_true(found.value >= m.peak_memory && found.value >= found.lower_bound);
        assert_true(bound <= found.lower_bound);
        assert_true(!found.optimal || found.value == found.lower_bound);
        assert_string_equal(found.statistics[found.n_statistics - 1]->method, "addresses");
        assert_true(found.n_curve == 1 && found.curve[0]->value == found.value);
        peak.objective = SKED_OBJECTIVE_MEMORY;
        peak.offsets = false;
        peak.horizon = m.makespan;
        if (found.optimal && p.machine == NULL && seed % 2 == 1)
            assert_true(brute_force_within(&peak, (int)m.makespan, 100000) >= found.value);
        optimal += found.optimal;
        sked_result_clear(&found);
        random_problem_free(&r);
    }
    assert_true(optimal > CASES(400) / 4);
}

/* ------------------------------------------------------------------ limits */

/* With addresses a limit is one of arenas. What is refuted is refuted without them; tightening finds more. */
static void arenas_keep_limits(void **state)
{
    (void)state;
    int found_some = 0, refuted = 0, again = 0;
    for (uint64_t seed = 0; seed < CASES(1500); seed++) {
        random_problem r;
        sked_i_rng rng;
        sked_result found = {.size = sizeof found};
        sked_error why = {0};
        random_problem_make(seed, kinds[seed % n_kinds] & ~(unsigned)RANDOM_UNEQUAL, 3, 8, &r);
        if (seed % 3 == 0)
            mark_inplace(&r, seed);
        sked_i_rng_seed(&rng, seed, 79);
        r.problem.offsets = true;
        r.problem.align = random_int(&rng, 1, 3);
        r.problem.memory_limit = random_int(&rng, 3, 14);
        const sked_status st = run(&r.problem, &found, &why);
        double sum = 0;
        if (st == SKED_OK) {
            OK(sked_schedule_validate(&r.problem, found.schedule[0], err));
            for (int d = 0; d < (r.problem.devices > 0 ? r.problem.devices : 1); d++)
                sum += (double)found.schedule[0]->arena[d];
            assert_true(sum <= r.problem.memory_limit && addresses_hold(&r.problem, found.schedule[0]));
            again += found.statistics[found.n_statistics - 1]->calls > 1;
            found_some++;
        } else {
            assert_int_equal(st, SKED_ERR_INFEASIBLE);
            refuted += strstr(why.message, "not a proof") == NULL;
        }
        sked_result_clear(&found);
        random_problem_free(&r);
    }
    assert_true(found_some > CASES(1500) / 4 && refuted > CASES(1500) / 10 && again > 0);
}

/* ------------------------------------------------------------------ examples */

static const char diamond[] =
    "{\"format\": \"sked-graph-1\", \"ops\": [{\"name\": \"a\", \"duration\": 1, \"memory\": 4},"
    "{\"name\": \"b\", \"duration\": 1, \"memory\": 7.5}, {\"name\": \"c\", \"duration\": 1, \"memory\": 4},"
    "{\"name\": \"d\", \"duration\": 1, \"memory\": 12, \"keep\": true}],"
    "\"edges\": [[\"a\", \"b\"], [\"a\", \"c\"], [\"b\", \"d\"], [\"c\", \"d\"]]}";

static void sizes_are_whole_and_aligned(void **state)
{
    (void)state;
    sked_graph *g = must_graph(diamond);
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_problem_init(&p, g);
    p.devices = 1;
    p.objective = SKED_OBJECTIVE_ARENA;
    OK(run(&p, &r, err));
    assert_true(r.value == 24 && r.optimal && r.lower_bound == 24); /* 23.5 are held at a time */
    sked_result_clear(&r);
    p.align = 16;
    OK(run(&p, &r, err));
    for (int i = 0; i < 4; i++)
        assert_true(r.schedule[0]->offset[i] % 16 == 0);
    assert_true(r.value == 36 && !r.optimal);
    sked_result_clear(&r);
    sked_graph_destroy(g);
}

/* a, b and c have one place: b writes over a, c over b. d reads c and cannot. */
static void a_chain_has_one_place(void **state)
{
    (void)state;
    sked_graph *g = must_graph(
        "{\"format\": \"sked-graph-1\", \"ops\": [{\"name\": \"a\", \"duration\": 1, \"memory\": 5},"
        "{\"name\": \"b\", \"duration\": 1, \"memory\": 5}, {\"name\": \"c\", \"duration\": 1, \"memory\": "
        "5},"
        "{\"name\": \"d\", \"duration\": 1, \"memory\": 2}], \"edges\": ["
        "{\"from\": \"a\", \"to\": \"b\", \"inplace\": true}, {\"from\": \"b\", \"to\": \"c\", \"inplace\": "
        "true},"
        "{\"from\": \"c\", \"to\": \"d\", \"inplace\": true}]}");
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_metrics m = {.size = sizeof m};
    sked_problem_init(&p, g);
    p.devices = 1;
    p.objective = SKED_OBJECTIVE_ARENA;
    OK(run(&p, &r, err));
    OK(sked_schedule_measure(&p, r.schedule[0], &m, err));
    const int64_t *at = r.schedule[0]->offset;
    assert_true(r.value == 7 && m.peak_memory == 7 && at[0] == at[1] && at[1] == at[2] && at[3] != at[2]);
    r.schedule[0]->offset[1] = 100;
    r.schedule[0]->arena[0] = 105;
    FAILS(SKED_ERR_INVALID, "'b' is written over that of 'a' and has another address",
          sked_schedule_validate(&p, r.schedule[0], err));
    sked_result_clear(&r);
    p.objective = SKED_OBJECTIVE_MAKESPAN;
    p.offsets = true;
    p.memory_limit = 7; /* without addresses 10 are held */
    OK(run(&p, &r, err));
    sked_result_clear(&r);
    p.offsets = false;
    FAILS(SKED_ERR_INFEASIBLE, "need 10", run(&p, &r, err));
    sked_graph_destroy(g);
}

/* A schedule of the diamond on two devices: what is said of it, and the file. */
static sked_status parse(const sked_problem *p, const char *more, const char *ops, const char *transfers,
                         sked_error *err)
{
    char text[1000];
    sked_schedule *s = NULL;
    snprintf(text, sizeof text,
             "{\"format\": \"sked-schedule-1\", \"devices\": 2%s, \"ops\": [%s], \"transfers\": [%s]}", more,
             ops, transfers);
    sked_status st = sked_schedule_parse("s.json", text, strlen(text), p, &s, err);
    if (st == SKED_OK)
        st = sked_schedule_validate(p, s, err);
    sked_schedule_destroy(s);
    return st;
}

#define OPS(a, b)                                                                                          \
    "{\"name\": \"a\", \"start\": 0, \"device\": 0" a "}, {\"name\": \"b\", \"start\": 1, \"device\": 0" b \
    "}, {\"name\": \"c\", \"start\": 1, \"device\": 1, \"offset\": 20}, "                                  \
    "{\"name\": \"d\", \"start\": 2, \"device\": 1, \"offset\": 0}"
#define AT(x)     ", \"offset\": " x
#define GOOD      OPS(AT("0"), AT("4"))
#define COPIES(x) "{\"op\": \"a\", \"to\": 1, \"offset\": 0}, {\"op\": \"b\", \"to\": 1, \"offset\": " x "}"

static void file_is_judged(void **state)
{
    (void)state;
    sked_graph *g = must_graph(diamond);
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = 2;
    p.offsets = true;
    OK(parse(&p, "", GOOD, COPIES("12"), err));
    OK(parse(&p, ", \"arena\": [12, 24]", GOOD, COPIES("12"), err));
    OK(parse(&p, ", \"arena\": null", GOOD, COPIES("12") ", {\"op\": \"c\", \"to\": 0, \"start\": 5}", err));
    FAILS(SKED_ERR_INVALID, "arena 1 is said to be 25",
          parse(&p, ", \"arena\": [12, 25]", GOOD, COPIES("12"), err));
    FAILS(SKED_ERR_INVALID, "arenas of 1 devices", parse(&p, ", \"arena\": [12]", GOOD, COPIES("12"), err));
    FAILS(SKED_ERR_INVALID, "arena 2", parse(&p, ", \"arena\": [12, 24, 0]", GOOD, COPIES("12"), err));
    FAILS(SKED_ERR_INVALID, "'a' and 'b' overlap at address 3 of device 0 at time 1",
          parse(&p, "", OPS(AT("0"), AT("3")), COPIES("12"), err));
    FAILS(SKED_ERR_INVALID, "'b' and 'd' overlap at address 11 of device 1 at time 2",
          parse(&p, "", GOOD, COPIES("11"), err));
    FAILS(SKED_ERR_INVALID, "'b' is held on device 1 and has no address",
          parse(&p, "", GOOD, "{\"op\": \"a\", \"to\": 1, \"offset\": 0}", err));
    FAILS(SKED_ERR_INVALID, "'a' is held on device 0 and has no address",
          parse(&p, "", OPS("", AT("4")), COPIES("12"), err));
    FAILS(SKED_ERR_INVALID, "copy of op 'a' on device 1 comes twice",
          parse(&p, "", GOOD, COPIES("12") ", {\"op\": \"a\", \"to\": 1, \"offset\": 4}", err));
    FAILS(SKED_ERR_INVALID, "goes to device 2",
          parse(&p, "", GOOD, "{\"op\": \"a\", \"to\": 2, \"offset\": 4}", err));
    FAILS(SKED_ERR_FORMAT, "needs \"op\" and \"to\"",
          parse(&p, "", GOOD, "{\"op\": \"a\", \"offset\": 4}", err));
    FAILS(SKED_ERR_FORMAT, "an offset must be a whole number", parse(&p, "", OPS(AT("0.5"), ""), "", err));
    FAILS(SKED_ERR_FORMAT, "an offset must be a whole number", parse(&p, "", OPS(AT("-1"), ""), "", err));
    p.align = 8;
    FAILS(SKED_ERR_INVALID, "has address 4, which is no multiple of 8",
          parse(&p, "", GOOD, COPIES("12"), err));
    p.align = 1;
    p.memory_limit = 36;
    OK(parse(&p, "", GOOD, COPIES("12"), err));
    p.memory_limit = 35.5;
    FAILS(SKED_ERR_INVALID, "all arenas together are 36", parse(&p, "", GOOD, COPIES("12"), err));
    sked_graph_destroy(g);
}

static void devices_have_arenas_of_their_own(void **state)
{
    (void)state;
    sked_graph *g = must_graph(diamond);
    sked_machine *m = must_machine("{\"format\": \"sked-machine-1\", \"latency\": 0, \"devices\": ["
                                   "{\"name\": \"x\", \"memory\": 11}, {\"name\": \"y\", \"memory\": 24}]}");
    sked_problem p;
    sked_problem_init(&p, g);
    p.machine = m;
    p.devices = 2;
    p.offsets = true;
    FAILS(SKED_ERR_INVALID, "hold", parse(&p, "", GOOD, COPIES("12"), err));
    sked_result r = {.size = sizeof r};
    OK(run(&p, &r, err));
    assert_true(r.schedule[0]->arena[0] <= 11 && r.schedule[0]->arena[1] <= 24);
    sked_result_clear(&r);
    sked_machine_destroy(m);
    sked_graph_destroy(g);
}

static void what_has_no_addresses_is_refused(void **state)
{
    (void)state;
    sked_graph *g = must_graph(diamond);
    sked_problem p;
    sked_result r = {.size = sizeof r};
    sked_problem_init(&p, g);
    p.objective = SKED_OBJECTIVE_ARENA;
    p.ii = 2;
    FAILS(SKED_ERR_UNSUPPORTED, "pipelined", run(&p, &r, err));
    p.ii = 0;
    p.lifetime = SKED_LIFETIME_RESULT;
    FAILS(SKED_ERR_UNSUPPORTED, "lifetime result", run(&p, &r, err));
    p.lifetime = SKED_LIFETIME_AUTO;
    p.align = 0;
    FAILS(SKED_ERR_ARGUMENT, "align must be from 1", run(&p, &r, err));
    p.align = (int64_t)1 << 31;
    FAILS(SKED_ERR_ARGUMENT, "align must be from 1", run(&p, &r, err));
    p.align = 1;
    FAILS(SKED_ERR_UNSUPPORTED, "no addresses", sked_problem_export(&p, "-", "lp", err));
    sked_schedule *s = NULL;
    sked_metrics m = {.size = sizeof m};
    OK(sked_schedule_create(4, 0, &s, err));
    for (int i = 0; i < 4; i++)
        s->start[i] = i;
    FAILS(SKED_ERR_INVALID, "the schedule has none", sked_schedule_validate(&p, s, err));
    OK(sked_schedule_measure(&p, s, &m, err));
    assert_true(isinf(m.value) && m.arena == 0);
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
    g = must_graph("{\"format\": \"sked-graph-1\", \"ops\": [{\"name\": \"a\", \"duration\": 1, \"memory\": "
                   "1e17}], \"edges\": []}");
    p.graph = g;
    FAILS(SKED_ERR_UNSUPPORTED, "less than 2^53", run(&p, &r, err));
    sked_graph_destroy(g);
}

/* A clone has the addresses, too. */
static void addresses_are_copied(void **state)
{
    (void)state;
    random_problem r;
    sked_result found = {.size = sizeof found};
    sked_schedule *copy = NULL;
    make(4, 6, 6, &r);
    OK(run(&r.problem, &found, err));
    const sked_schedule *s = found.schedule[0];
    OK(sked_schedule_clone(s, &copy, err));
    assert_memory_equal(copy->offset, s->offset, (size_t)s->ops * sizeof *s->offset);
    assert_true(copy->copies == s->copies);
    OK(sked_schedule_validate(&r.problem, copy, err));
    sked_schedule_destroy(copy);
    sked_result_clear(&found);
    random_problem_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge_agrees_with_steps),
        cmocka_unit_test(arena_is_at_least_the_peak),
        cmocka_unit_test(arenas_keep_limits),
        cmocka_unit_test(sizes_are_whole_and_aligned),
        cmocka_unit_test(a_chain_has_one_place),
        cmocka_unit_test(file_is_judged),
        cmocka_unit_test(devices_have_arenas_of_their_own),
        cmocka_unit_test(what_has_no_addresses_is_refused),
        cmocka_unit_test(addresses_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
