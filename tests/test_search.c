/* The method `search`: against enumeration on small problems of every kind it takes, and its contracts. */
#include "brute_force.h"
#include "engine/decode/sgs.h"
#include "method/driver.h"
#include "random_problem.h"

#include <time.h>

typedef struct setup {
    int64_t iterations;
    int threads;
    uint64_t seed;
    const sked_schedule *start;
    int32_t candidates;
} setup;

static sked_status run(const sked_problem *p, setup s, sked_result *out, sked_error *err)
{
    sked_run_options opt;
    sked_run_options_init(&opt);
    opt.iterations = s.iterations;
    opt.threads = s.threads ? s.threads : 1;
    opt.seed = s.seed;
    opt.start = s.start;
    opt.candidates = s.candidates;
    opt.time_limit = 60;
    return sked_method_run("search", p, &opt, out, err);
}

/* ------------------------------------------------------------------ optimal on small problems */

typedef struct kind {
    unsigned flags;
    int low, high, count;
    int64_t iterations;
    bool times; /* judge by start times (integers, fixed decisions, negative lags), else by orders */
} kind;

static void check_kind(kind k)
{
    for (int seed = 0; seed < CASES(k.count); seed++) {
        random_problem r;
        sked_result got = {.size = sizeof got};
        random_problem_make((uint64_t)seed, k.flags, k.low, k.high, &r);
        const double want = k.times ? brute_force_times(&r.problem, 20) : brute_force_orders(&r.problem);
        if (isinf(want)) { /* the enumeration has a shorter horizon */
            random_problem_free(&r);
            continue;
        }
        OK(run(&r.problem, (setup){.iterations = k.iterations}, &got, err));
        if (fabs(got.value - want) > 1e-6 * want)
            fail_msg("kind %u seed %d: %.9g, optimal is %.9g", k.flags, seed, got.value, want);
        if (got.lower_bound > want * (1 + 1e-9))
            fail_msg("kind %u seed %d: bound %.9g above the optimum %.9g", k.flags, seed, got.lower_bound,
                     want);
        sked_result_clear(&got);
        random_problem_free(&r);
    }
}

static void test_optimal_pools(void **state)
{
    (void)state;
    ONE_THREAD();
    check_kind((kind){RANDOM_RESOURCES, 4, 7, 60, 3000, false});
    check_kind((kind){RANDOM_RESOURCES | RANDOM_LAGS | RANDOM_ZERO, 4, 7, 60, 3000, false});
    check_kind((kind){RANDOM_RESOURCES | RANDOM_REAL, 4, 7, 60, 3000, false});
    check_kind((kind){RANDOM_RESOURCES | RANDOM_REAL | RANDOM_LAGS | RANDOM_ZERO, 4, 7, 40, 3000, false});
}

static void test_optimal_devices(void **state)
{
    (void)state;
    ONE_THREAD();
    check_kind((kind){RANDOM_DEVICES, 4, 7, 40, 3000, false});
    check_kind((kind){RANDOM_DEVICES | RANDOM_RESOURCES | RANDOM_LAGS, 4, 7, 40, 3000, false});
    check_kind((kind){RANDOM_DEVICES | RANDOM_REAL | RANDOM_ZERO, 4, 7, 40, 3000, false});
}

static void test_optimal_transfers(void **state)
{
    (void)state;
    ONE_THREAD();
    check_kind((kind){RANDOM_TRANSFERS, 4, 6, 40, 20000, false});
    check_kind((kind){RANDOM_TRANSFERS | RANDOM_RESOURCES | RANDOM_LAGS, 4, 6, 40, 20000, false});
    check_kind((kind){RANDOM_TRANSFERS | RANDOM_REAL | RANDOM_ZERO, 4, 6, 40, 20000, false});
}

static void test_optimal_fixed(void **state)
{
    (void)state;
    ONE_THREAD();
    check_kind((kind){RANDOM_RESOURCES | RANDOM_FIX_START, 4, 5, 40, 5000, true});
    check_kind((kind){RANDOM_RESOURCES | RANDOM_NEGATIVE | RANDOM_HORIZON, 4, 5, 40, 5000, true});
    check_kind((kind){RANDOM_DEVICES | RANDOM_FIX_DEVICE, 4, 5, 40, 20000, true});
    check_kind((kind){RANDOM_TRANSFERS | RANDOM_FIX_DEVICE | RANDOM_FIX_START, 4, 5, 40, 20000, true});
}

/* Search proves its optimum where times are integers and the problem is small. */
static void test_proves(void **state)
{
    (void)state;
    ONE_THREAD();
    for (int seed = 0; seed < 30; seed++) {
        random_problem r;
        sked_result got = {.size = sizeof got};
        random_problem_make((uint64_t)seed, RANDOM_RESOURCES, 12, 18, &r);
        OK(run(&r.problem, (setup){.iterations = 100000}, &got, err));
        if (!got.optimal)
            fail_msg("seed %d: %g is not proved, bound %g", seed, got.value, got.lower_bound);
        sked_result again = {.size = sizeof again};
        r.problem.horizon = got.value - 1;
        sked_error e = {0};
        assert_int_equal(run(&r.problem, (setup){.iterations = 5000, .seed = 9}, &again, &e),
                         SKED_ERR_INFEASIBLE);
        sked_result_clear(&got);
        random_problem_free(&r);
    }
}

/* ------------------------------------------------------------------ decoders */

typedef struct shape {
    int low, high; /* ops */
    double longest;
    bool real, lags;
    int pools, least, most; /* pools; range of capacities */
    int together;           /* ops with the largest demands that fit together */
} shape;

static double some(sked_i_rng *rng, double low, double high, bool real)
{
    return real ? low + (high - low) * sked_i_rng_uniform(rng) : random_int(rng, (int)low, (int)high);
}

/* A random graph of this shape; some ops take no time, some demand nothing. */
static sked_graph *shape_graph(shape k, sked_i_rng *rng)
{
    const int n = random_int(rng, k.low, k.high);
    int capacity[16];
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int r = 0; r < k.pools; r++) {
        capacity[r] = random_int(rng, k.least, k.most);
        OK(sked_builder_add_resource(b, (char[]){(char)('A' + r), 0}, capacity[r], NULL, err));
    }
    for (int i = 0; i < n; i++) {
        int32_t op;
        const double d = random_int(rng, 0, 19) == 0 ? 0 : some(rng, 1, k.longest, k.real);
        OK(sked_builder_add_op(b, NULL, NULL, d, &op, err));
        for (int r = 0; r < k.pools; r++)
            if (random_int(rng, 0, 5) > 0)
                OK(sked_builder_add_demand(
                    b, op, r, random_int(rng, 0, (capacity[r] + k.together - 1) / k.together), err));
        for (int e = random_int(rng, 0, 3); e > 0 && i > 0; e--) {
            const int32_t from = (int32_t)sked_i_rng_below(rng, (uint64_t)i);
            const sked_edge edge = {
                .from = from, .to = op, .lag = k.lags ? some(rng, -2, k.longest, k.real) : SKED_LAG_DEFAULT};
            OK(sked_builder_add_edge(b, &edge, err));
        }
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* What a field has in use at a time, of the ops placed so far. */
static uint64_t in_use(const sked_i_core *core, const sked_i_core_field *f, const bool *placed,
                       const int32_t *start, int32_t time)
{
    uint64_t sum = 0;
    for (int32_t j = 0; j < core->n; j++)
        if (placed[j] && start[j] <= time && time < start[j] + core->duration[j])
            sum += sked_i_amount(core, f, j);
    return sum;
}

static bool fits_at(const sked_i_core *core, int32_t i, const bool *placed, const int32_t *start, int32_t t)
{
    for (int32_t j = -1; j < core->n; j++) { /* room changes for the worse at t and where ops start */
        const int32_t at = j < 0 ? t : start[j];
        if (j >= 0 && (!placed[j] || at < t || at >= t + core->duration[i]))
            continue;
        for (int32_t f = 0; f < core->fields; f++)
            if (in_use(core, &core->field[f], placed, start, at) + sked_i_amount(core, &core->field[f], i) >
                core->field[f].capacity)
                return false;
    }
    return true;
}

/* The serial scheme as it is defined: every op at the first time that its predecessors and the room allow. */
static void decode_naive(const sked_i_core *core, const int32_t *list, int32_t *start)
{
    bool placed[256] = {false};
    for (int32_t k = 0; k < core->n; k++) {
        const int32_t i = list[k];
        int32_t t = 0;
        for (int32_t e = core->pred_ptr[i]; e < core->pred_ptr[i + 1]; e++)
            if (start[core->pred[e].op] + core->pred[e].lag > t)
                t = start[core->pred[e].op] + core->pred[e].lag;
        while (core->duration[i] > 0 && !fits_at(core, i, placed, start, t)) {
            int32_t next = INT32_MAX; /* room comes only where ops end */
            for (int32_t j = 0; j < core->n; j++)
                if (placed[j] && start[j] + core->duration[j] > t && start[j] + core->duration[j] < next)
                    next = start[j] + core->duration[j];
            t = next;
        }
        start[i] = t;
        placed[i] = true;
    }
}

static void check_list(sked_i_sgs *s, sked_i_sgs *plain, const int32_t *list, bool naive)
{
    const int32_t n = s->core->n;
    int32_t got[512], want[512], other[512];
    const int32_t makespan = sked_i_sgs_serial(s, list, INT32_MAX, got);
    assert_int_equal(sked_i_sgs_serial(plain, list, INT32_MAX, other), makespan);
    assert_memory_equal(got, other, (size_t)n * sizeof *got);
    if (naive) {
        decode_naive(s->core, list, want);
        assert_memory_equal(got, want, (size_t)n * sizeof *got);
    }
    for (int32_t i = 0; i < n; i++)
        assert_true(got[i] + s->core->duration[i] <= makespan);
    if (makespan > 0)
        assert_int_equal(sked_i_sgs_serial(s, list, makespan - 1, other), SKED_I_ABORTED);
    const int32_t both = sked_i_sgs_parallel(s, list, got);
    uint32_t *const need = s->need;
    s->need = NULL;
    assert_int_equal(sked_i_sgs_parallel(s, list, other), both);
    s->need = need;
    assert_memory_equal(got, other, (size_t)n * sizeof *got);
}

static void check_core(const sked_i_core *core, sked_i_rng *rng, bool naive)
{
    const sked_i_limit limit = {.deadline = INFINITY};
    sked_i_sgs *s = NULL, *plain = NULL;
    int32_t key[512], list[512];
    OK(sked_i_sgs_create(core, &limit, NULL, &s, err));
    OK(sked_i_sgs_create(core, &limit, NULL, &plain, err));
    OK(sked_i_sgs_use_plain(plain, err));
    for (int k = 0; k < 3; k++) {
        const double blur = k * (core->longest + 1.0) / 2;
        for (int32_t i = 0; i < core->n; i++)
            key[i] = core->longest - core->tail[i] + (int32_t)(blur * sked_i_rng_uniform(rng));
        for (int32_t i = 0; i < core->n; i++)
            key[i] = key[i] < 0 ? 0 : key[i];
        sked_i_sgs_sort(s, key, false, list);
        check_list(s, plain, list, naive);
    }
    sked_i_sgs_destroy(s);
    sked_i_sgs_destroy(plain);
}

static void check_shape(shape k, int count, bool naive)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 1, (uint64_t)k.longest);
    for (int seed = 0; seed < CASES(count); seed++) {
        sked_problem p;
        sked_i_cumulative *c = NULL;
        sked_graph *g = shape_graph(k, &rng);
        sked_problem_init(&p, g);
        p.devices = random_int(&rng, 0, 2) == 0 ? random_int(&rng, 1, 6) : 0;
        OK(sked_i_cumulative_create(&p, &c, err));
        check_core(&c->forward, &rng, naive);
        check_core(&c->mirror, &rng, naive);
        sked_i_cumulative_destroy(c);
        sked_graph_destroy(g);
    }
}

/* Every form of timeline against the definition, and on larger problems against each other. */
static void test_decoders(void **state)
{
    (void)state;
    ONE_THREAD();
    static const double longest[] = {3, 10, 40, 3000};
    for (int k = 0; k < 4; k++) {
        check_shape((shape){1, 24, longest[k], false, false, 2, 2, 9, 2}, 250, true);
        check_shape((shape){1, 24, longest[k], true, true, 1, 2, 6000, 2}, 150, true);
        check_shape((shape){1, 24, longest[k], false, true, 3, 2, 2000, 2}, 150, true);   /* wide amounts */
        check_shape((shape){1, 24, longest[k], false, false, 12, 20, 90, 2}, 150, true);  /* several words */
        check_shape((shape){100, 400, longest[k], false, false, 1, 3, 60, 2}, 40, false); /* many at once */
        check_shape((shape){100, 400, longest[k], true, false, 4, 3, 60, 2}, 40, false);
        check_shape((shape){100, 400, longest[k], false, true, 3, 3, 2000, 2}, 40, false);
        check_shape((shape){200, 500, longest[k], true, false, 1, 1000, 6000, 40}, 40, false);
        check_shape((shape){200, 500, longest[k], false, false, 1, 100, 600, 40}, 40, false);
    }
}

/* A stop is heard within one decode of a thousand ops, where every event may look at all of them. */
static void test_decode_hears_a_stop(void **state)
{
    (void)state;
    enum { ops = 1000 };
    static int32_t list[ops], start[ops];
    volatile sig_atomic_t stop = 0;
    const sked_i_limit limit = {.deadline = INFINITY, .stop = &stop};
    const sked_generate_options how = {.size = sizeof how, .nodes = ops, .seed = 1, .duration = "int:1,9"};
    sked_graph *g = NULL;
    sked_i_cumulative *c = NULL;
    sked_i_sgs *s = NULL;
    sked_problem p;
    OK(sked_graph_generate("layered", &how, &g, err));
    sked_problem_init(&p, g);
    p.devices = 1;
    OK(sked_i_cumulative_create(&p, &c, err));
    OK(sked_i_sgs_create(&c->forward, &limit, NULL, &s, err));
    assert_int_equal(c->n, ops);
    for (int32_t i = 0; i < ops; i++)
        list[i] = i;
    for (stop = 0; stop < 2; stop++)
        assert_int_equal(sked_i_sgs_parallel(s, list, start) == SKED_I_ABORTED, stop);
    sked_i_sgs_destroy(s);
    sked_i_cumulative_destroy(c);
    sked_graph_destroy(g);
}

/* Keys of every size, with many alike and in clusters: ascending, ties by number. */
static void test_sort(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 3, 0);
    const sked_i_limit limit = {.deadline = INFINITY};
    for (int round = 0; round < 300; round++) {
        sked_i_core core = {.n = random_int(&rng, 1, 400), .words = 1};
        int32_t key[400], list[400], zero[401] = {0};
        uint64_t none[400] = {0};
        core.pred_ptr = core.succ_ptr = core.duration = core.tail = core.kind = zero;
        core.demand = core.full = core.guard = none;
        sked_i_sgs *s = NULL;
        OK(sked_i_sgs_create(&core, &limit, NULL, &s, err));
        const int bits = random_int(&rng, 0, 30), spread = random_int(&rng, 0, 8);
        for (int32_t i = 0; i < core.n; i++) {
            key[i] = (int32_t)(sked_i_rng_below(&rng, (uint64_t)1 << bits));
            if (round % 3 == 0) /* clusters */
                key[i] = (key[i] & ~0xffff) | (int32_t)sked_i_rng_below(&rng, (uint64_t)1 << spread);
        }
        sked_i_sgs_sort(s, key, true, list);
        for (int32_t k = 1; k < core.n; k++)
            assert_true(key[list[k - 1]] < key[list[k]] ||
                        (key[list[k - 1]] == key[list[k]] && list[k - 1] < list[k]));
        sked_i_sgs_destroy(s);
    }
}

/* ------------------------------------------------------------------ contracts */

static bool same(const sked_result *a, const sked_result *b)
{
    if (a->count != b->count || a->value != b->value || a->evaluations != b->evaluations)
        return false;
    for (int32_t k = 0; k < a->count; k++) {
        const sked_schedule *x = a->schedule[k], *y = b->schedule[k];
        if (memcmp(x->start, y->start, (size_t)x->ops * sizeof *x->start) != 0)
            return false;
        if (x->device && memcmp(x->device, y->device, (size_t)x->ops * sizeof *x->device) != 0)
            return false;
    }
    return true;
}

static void test_deterministic(void **state)
{
    (void)state;
    static const unsigned kinds[] = {RANDOM_RESOURCES, RANDOM_DEVICES | RANDOM_REAL, RANDOM_TRANSFERS};
    for (int k = 0; k < 3; k++)
        for (int threads = 1; threads <= 3; threads++) {
            random_problem r;
            sked_result a = {.size = sizeof a}, b = {.size = sizeof b};
            random_problem_make(7, kinds[k], 40, 50, &r);
            const setup s = {.iterations = 4000, .threads = threads, .seed = 3, .candidates = 5};
            OK(run(&r.problem, s, &a, err));
            OK(run(&r.problem, s, &b, err));
            assert_true(same(&a, &b));
            sked_result_clear(&a);
            sked_result_clear(&b);
            random_problem_free(&r);
        }
}

static void test_time_limit(void **state)
{
    (void)state;
    ONE_THREAD();
    for (int k = 0; k < 2; k++) {
        random_problem r;
        sked_result got = {.size = sizeof got};
        sked_run_options opt;
        random_problem_make(5, k ? RANDOM_TRANSFERS : RANDOM_RESOURCES, 60, 64, &r);
        sked_run_options_init(&opt);
        opt.time_limit = 0.3;
        opt.candidates = 20;            /* keeps it running past the bound */
        const clock_t before = clock(); /* of this process: the machine may be busy with other tests */
        OK(sked_method_run("search", &r.problem, &opt, &got, err));
        assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 0.4);
        sked_result_clear(&got);
        random_problem_free(&r);
    }
}

/* However short the search, the schedule given comes back or a better one. */
static void test_warm_start(void **state)
{
    (void)state;
    ONE_THREAD();
    static const unsigned kinds[] = {RANDOM_RESOURCES, RANDOM_DEVICES | RANDOM_REAL, RANDOM_TRANSFERS};
    for (int k = 0; k < 3; k++)
        for (int seed = 0; seed < 20; seed++) {
            random_problem r;
            sked_result good = {.size = sizeof good}, got = {.size = sizeof got};
            random_problem_make((uint64_t)seed, kinds[k], 20, 40, &r);
            OK(run(&r.problem, (setup){.iterations = 3000}, &good, err));
            OK(run(&r.problem, (setup){.iterations = 1, .seed = 5, .start = good.schedule[0]}, &got, err));
            assert_true(got.value <= good.value);
            sked_result_clear(&got);
            good.schedule[0]->start[0] += 0.25; /* and an impossible one is refused */
            good.schedule[0]->start[r.problem.graph ? sked_graph_op_count(r.graph) - 1 : 0] = -1;
            FAILS(SKED_ERR_INVALID, "the schedule to start from is not valid",
                  run(&r.problem, (setup){.iterations = 1, .start = good.schedule[0]}, &got, err));
            sked_result_clear(&good);
            random_problem_free(&r);
        }
}

static void test_candidates(void **state)
{
    (void)state;
    ONE_THREAD();
    static const unsigned kinds[] = {RANDOM_RESOURCES, RANDOM_TRANSFERS};
    for (int k = 0; k < 2; k++) {
        random_problem r;
        sked_result got = {.size = sizeof got};
        random_problem_make(11, kinds[k], 30, 40, &r);
        OK(run(&r.problem, (setup){.iterations = 20000, .candidates = 25}, &got, err));
        assert_int_equal(got.count, 25);
        for (int32_t a = 0; a < got.count; a++)
            for (int32_t b = 0; b < a; b++)
                assert_true(memcmp(got.schedule[a]->start, got.schedule[b]->start,
                                   (size_t)got.schedule[a]->ops * sizeof(double)) != 0 ||
                            (got.schedule[a]->device != NULL &&
                             memcmp(got.schedule[a]->device, got.schedule[b]->device,
                                    (size_t)got.schedule[a]->ops * sizeof(int32_t)) != 0));
        sked_result_clear(&got);
        random_problem_free(&r);
    }
}

static void test_horizon(void **state)
{
    (void)state;
    ONE_THREAD();
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "R", 3, NULL, err));
    for (int i = 0; i < 3; i++) { /* pairs never fit together, so 6 is the least; the area bound says 4 */
        int32_t op;
        OK(sked_builder_add_op(b, NULL, NULL, 2, &op, err));
        OK(sked_builder_add_demand(b, op, 0, 2, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    sked_problem p;
    sked_result got = {.size = sizeof got};
    sked_problem_init(&p, g);
    p.horizon = 5;
    sked_error e = {0};
    assert_int_equal(run(&p, (setup){.iterations = 5000}, &got, &e), SKED_ERR_INFEASIBLE);
    p.horizon = 6;
    OK(run(&p, (setup){.iterations = 5000}, &got, err));
    assert_true(got.value == 6 && got.optimal);
    sked_result_clear(&got);
    sked_graph_destroy(g);
}

/* No ops, one op, ops that need nothing. */
static void test_trivial(void **state)
{
    (void)state;
    for (int n = 0; n < 3; n++)
        for (int devices = 0; devices < 3; devices++) {
            sked_builder *b = NULL;
            sked_graph *g = NULL;
            OK(sked_builder_create(&b, err));
            for (int i = 0; i < n; i++)
                OK(sked_builder_add_op(b, NULL, NULL, i, NULL, err));
            OK(sked_builder_finish(b, &g, err));
            sked_builder_destroy(b);
            sked_problem p;
            sked_result got = {.size = sizeof got};
            sked_problem_init(&p, g);
            p.devices = devices;
            OK(run(&p, (setup){.iterations = 100, .candidates = 3}, &got, err));
            assert_true(got.value == (n > 1 ? 1 : 0));
            sked_result_clear(&got);
            p.latency = devices > 1 ? 1 : 0;
            OK(run(&p, (setup){.iterations = 100}, &got, err));
            assert_true(got.value == (n > 1 ? 1 : 0));
            sked_result_clear(&got);
            sked_graph_destroy(g);
        }
}

/* ------------------------------------------------------------------ turns */

typedef struct turns {
    int64_t iterations[2]; /* of each turn; 0: no such turn */
    int threads[2];
    bool shared; /* the first turn happens in a share of the run */
} turns;

typedef struct outcome {
    double value;
    int64_t evaluations;
    bool proved, kept; /* kept: the second turn went on with the state of the first */
    double start[64];
} outcome;

static void take_turn(sked_i_run *run, sked_run_options *opt, const turns *t, int k)
{
    const char *const none[] = {NULL};
    opt->iterations = t->iterations[k];
    opt->threads = t->threads[k];
    OK(sked_i_driver_run(run, sked_i_method_find("search"), none, 0, err));
}

static void take_shared_turn(sked_i_run *run, const turns *t)
{
    sked_i_share share;
    OK(sked_i_share_open(run, &share, err));
    take_turn(&share.run, &share.options, t, 0);
    OK(sked_i_share_join(&share, run, err));
    sked_i_share_close(&share);
}

static void *state_of_search(sked_i_run *run)
{
    run->driver->current = "search";
    return sked_i_run_state(run);
}

static outcome run_turns(const sked_problem *p, const turns *t)
{
    sked_run_options opt;
    sked_i_lowered low;
    OK(sked_i_lower(p, &low, err));
    sked_i_run run = sked_i_run_of(&low, &opt);
    double bound;
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    sked_i_limit_init(&run.limit, &opt);
    run.limit.paced = false;
    OK(sked_i_driver_open(&run, 1, err));
    OK(sked_problem_bound(p, &bound, NULL, err));
    sked_i_run_raise_bound(&run, bound);
    if (t->shared)
        take_shared_turn(&run, t);
    else
        take_turn(&run, &opt, t, 0);
    void *first = state_of_search(&run);
    assert_non_null(first);
    if (t->iterations[1] > 0 && !sked_i_run_proved(&run))
        take_turn(&run, &opt, t, 1);
    const sked_schedule *s = sked_i_run_incumbent(&run);
    outcome out = {.value = sked_i_run_best(&run), .evaluations = sked_i_run_evaluations(&run)};
    out.proved = sked_i_run_proved(&run);
    out.kept = state_of_search(&run) == first;
    OK(sked_schedule_validate(p, s, err));
    memcpy(out.start, s->start, (size_t)s->ops * sizeof *s->start);
    sked_i_driver_close(&run);
    sked_i_lowered_free(&low);
    return out;
}

/* An interrupted cooling goes on: two turns are one long one. */
static void test_annealing_goes_on(void **state)
{
    (void)state;
    ONE_THREAD();
    for (int seed = 0; seed < 6; seed++) {
        random_problem r;
        random_problem_make((uint64_t)seed, RANDOM_TRANSFERS, 30, 40, &r);
        const outcome two = run_turns(&r.problem, &(turns){{5003, 7010}, {1, 1}, false});
        const outcome one = run_turns(&r.problem, &(turns){{12013}, {1}, false});
        const outcome less = run_turns(&r.problem, &(turns){{7010}, {1}, false});
        assert_true(two.kept && two.value == one.value && two.value <= less.value);
        assert_int_equal(two.evaluations, one.evaluations);
        assert_memory_equal(two.start, one.start, sizeof one.start);
        random_problem_free(&r);
    }
}

/* What was learnt stays: proofs that one turn is too short for, and that starting afresh would never end. */
static void test_learning_goes_on(void **state)
{
    (void)state;
    ONE_THREAD();
    int once = 0, twice = 0;
    for (int seed = 0; seed < 30; seed++) {
        random_problem r;
        random_problem_make((uint64_t)seed, RANDOM_RESOURCES, 25, 35, &r);
        const outcome one = run_turns(&r.problem, &(turns){{3000}, {1}, false});
        const outcome two = run_turns(&r.problem, &(turns){{3000, 3000}, {1, 1}, false});
        assert_true(two.kept && two.value <= one.value);
        once += one.proved;
        twice += two.proved;
        random_problem_free(&r);
    }
    if (twice <= once)
        fail_msg("%d proofs in one turn, %d in two", once, twice);
}

/* A turn in a share with fewer threads, then one with more: the crew grows. And the other way round. */
static void test_state_moves(void **state)
{
    (void)state;
    static const unsigned kinds[] = {RANDOM_RESOURCES, RANDOM_TRANSFERS, RANDOM_RESOURCES | RANDOM_REAL};
    for (int k = 0; k < 3; k++)
        for (int most = 1; most <= 3; most++) {
            random_problem r;
            random_problem_make(11, kinds[k], 40, 50, &r);
            const turns up = {{900, 900}, {1, most}, true}, down = {{900, 900}, {most, 1}, false};
            const outcome a = run_turns(&r.problem, &up), b = run_turns(&r.problem, &up);
            assert_true(a.kept && a.value == b.value && a.evaluations == b.evaluations);
            assert_memory_equal(a.start, b.start, sizeof a.start);
            assert_true(run_turns(&r.problem, &down).kept);
            random_problem_free(&r);
        }
}

/* A portfolio runs search twice and says what its techniques did. */
static void test_auto_statistics(void **state)
{
    (void)state;
    random_problem r;
    sked_run_options opt;
    sked_result got = {.size = sizeof got};
    bool genetic = false;
    random_problem_make(3, RANDOM_RESOURCES, 55, 60, &r);
    sked_run_options_init(&opt);
    opt.iterations = 3000;
    opt.threads = 2;
    opt.candidates = 4; /* keeps it running past the bound */
    OK(sked_method_run("auto", &r.problem, &opt, &got, err));
    for (int32_t k = 0; k < got.n_statistics; k++) {
        const sked_statistic *x = got.statistics[k];
        if (strcmp(x->method, "search") != 0)
            continue;
        if (x->technique[0] == 0)
            assert_true(x->calls >= 2);
        else
            assert_true(x->calls > 0 && x->seconds >= 0 && x->evaluations >= 0 && x->gain >= 0);
        genetic = genetic || (strcmp(x->technique, "genetic") == 0 && x->evaluations > 0);
    }
    assert_true(genetic);
    sked_result_clear(&got);
    random_problem_free(&r);
}

/* Real times are rounded to a grid and back; a negative lag must survive both ways. */
static void negative_lags_between_real_times(void **state)
{
    (void)state;
    ONE_THREAD();
    for (uint64_t seed = 0; seed < 60; seed++) {
        random_problem r;
        sked_run_options opt;
        sked_result out = {.size = sizeof out};
        random_problem_make(seed,
                            RANDOM_LAGS | RANDOM_NEGATIVE | RANDOM_REAL | (seed % 2 ? RANDOM_RESOURCES : 0),
                            20, 40, &r);
        sked_run_options_init(&opt);
        opt.iterations = 10;
        OK(sked_method_run("search", &r.problem, &opt, &out, err));
        sked_result_clear(&out);
        random_problem_free(&r);
        random_problem_make(seed, RANDOM_NEGATIVE | RANDOM_REAL | RANDOM_FIX_START | RANDOM_DEVICES, 5, 20,
                            &r);
        sked_error err = {0};
        const sked_status st = sked_method_run("search", &r.problem, &opt, &out, &err);
        assert_true(st == SKED_OK || st == SKED_ERR_UNSUPPORTED || st == SKED_ERR_INFEASIBLE);
        sked_result_clear(&out);
        random_problem_free(&r);
    }
}

/* An op that is fixed before its predecessors can end: starts are then in no topological order. */
static void fixed_too_early(void **state)
{
    (void)state;
    ONE_THREAD();
    static const char text[] =
        "{\"format\":\"sked-graph-1\",\"resources\":[{\"name\":\"R0\",\"capacity\":1},{\"name\":\"R1\","
        "\"capacity\""
        ":2}],\"ops\":[{\"duration\":1,\"demand\":{\"R0\":1}},{\"duration\":3,\"demand\":{\"R0\":1,\"R1\":2}}"
        ",{\"d"
        "uration\":2,\"demand\":{\"R1\":1}},{\"duration\":0,\"demand\":{\"R0\":1}},{\"duration\":3,"
        "\"demand\":{\""
        "R0\":1}},{\"duration\":3,\"demand\":{\"R0\":1}},{\"duration\":1,\"demand\":{\"R1\":1}},{"
        "\"duration\":2}"
        ",{\"duration\":1,\"demand\":{\"R1\":2}},{\"duration\":2,\"demand\":{\"R1\":1}},{\"duration\":1,"
        "\"demand"
        "\":{\"R0\":1}}],\"edges\":[[0,3],[0,10],[1,2],[1,4],[1,0],[1,7],[1,3],[1,10],[2,4],[2,0],[2,7"
        "],[2,3],[2,5],[3,10],[3,5],[4,0],[5,9],[6,2],[6,3],[6,10],[6,5],[7,3],[7,10],[8,4],[8,0]"
        ",[8,3]]}";
    sked_graph *g = NULL;
    sked_problem p;
    double fix[11];
    OK(sked_graph_parse("fixed.json", text, sizeof text - 1, NULL, &g, err));
    sked_problem_init(&p, g);
    for (int i = 0; i < 11; i++)
        fix[i] = i == 2 ? 4 : NAN;
    p.fix_start = fix;
    for (uint64_t seed = 0; seed < 100; seed++) {
        sked_run_options opt;
        sked_result r = {.size = sizeof r};
        sked_run_options_init(&opt);
        opt.time_limit = INFINITY;
        opt.iterations = 4;
        opt.seed = seed;
        OK(sked_method_run("exact", &p, &opt, &r, err)); /* its warm start is a search */
        OK(sked_schedule_validate(&p, r.schedule[0], err));
        sked_result_clear(&r);
    }
    sked_graph_destroy(g);
}

/* A project of n ops that no bound proves soon: every op holds of four tight pools. */
static sked_graph *hard_project(int32_t n)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 1, 0);
    OK(sked_builder_create(&b, err));
    for (int r = 0; r < 4; r++)
        OK(sked_builder_add_resource(b, names[r], 13, NULL, err));
    for (int32_t i = 0; i < n; i++) {
        int32_t id;
        OK(sked_builder_add_op(b, NULL, NULL, random_int(&rng, 1, 10), &id, err));
        for (int r = 0; r < 4; r++)
            OK(sked_builder_add_demand(b, id, r, random_int(&rng, 1, 9), err));
        for (int k = 0; i > 8 && k < 2; k++) {
            const int32_t from = i - random_int(&rng, 4 * k + 1, 4 * k + 4);
            OK(sked_builder_add_edge(b, &(sked_edge){from, i, NAN, 0, 0}, err));
        }
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* Conflicts as a share of all evaluations. */
static double learning_share(int32_t n, int64_t iterations)
{
    sked_graph *g = hard_project(n);
    sked_problem p;
    sked_result r = {.size = sizeof r};
    double conflicts = 0;
    sked_problem_init(&p, g);
    OK(run(&p, (setup){.iterations = iterations}, &r, err));
    for (int32_t k = 0; k < r.n_statistics; k++)
        if (strcmp(r.statistics[k]->technique, "clause learning") == 0)
            conflicts = (double)r.statistics[k]->evaluations;
    const double share = conflicts / (double)r.evaluations;
    sked_result_clear(&r);
    sked_graph_destroy(g);
    return share;
}

/* An incumbent of few ops that stands leaves learning much of the effort. */
static void test_standing_incumbent(void **state)
{
    (void)state;
    const double few = learning_share(40, 40000), more = learning_share(41, 40000);
    if (!(few > 3 * more))
        fail_msg("conflicts: %g of the evaluations on few ops, %g on more", few, more);
}

/* One of more ops does so later, one of many never. */
static void test_incumbent_standing_for_long(void **state)
{
    (void)state;
    RESULTS_ONLY();
    const double more = learning_share(64, 750000), many = learning_share(65, 120000);
    if (!(more > 2 * many))
        fail_msg("conflicts: %g of the evaluations on 64 ops, %g on 65", more, many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_too_early),
        cmocka_unit_test(negative_lags_between_real_times),
        cmocka_unit_test(test_optimal_pools),
        cmocka_unit_test(test_optimal_devices),
        cmocka_unit_test(test_optimal_transfers),
        cmocka_unit_test(test_optimal_fixed),
        cmocka_unit_test(test_proves),
        cmocka_unit_test(test_standing_incumbent),
        cmocka_unit_test(test_incumbent_standing_for_long),
        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_decode_hears_a_stop),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_warm_start),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_horizon),
        cmocka_unit_test(test_trivial),
        cmocka_unit_test(test_annealing_goes_on),
        cmocka_unit_test(test_learning_goes_on),
        cmocka_unit_test(test_state_moves),
        cmocka_unit_test(test_auto_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
