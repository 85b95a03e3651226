/*
 * The clause-learning kernel and what it stands on: restart sequence, activity heap; small models of bounds,
 * clauses, arcs, pools, alternatives and a plug-in against enumeration, with every learnt clause checked to
 * be implied; machines of one task at a time; work on heterogeneous devices; the models of search and of
 * loops on it.
 */
#include "base/activity.h"
#include "base/restart.h"
#include "brute_force.h"
#include "engine/clause/choice.h"
#include "engine/clause/clause_learner.h"
#include "engine/clause/disjunctive.h"
#include "engine/clause/pool.h"
#include "engine/clause/work.h"
#include "engine/modulo/modulo_proof.h"
#include "graph/graph.h"
#include "random_problem.h"
#include "test.h"

/* ------------------------------------------------------------------ restart sequence */

static void restarts_are_lubys(void **state)
{
    (void)state;
    const int64_t first[] = {1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, 1};
    for (int k = 0; k < 16; k++)
        assert_int_equal(sked_i_luby(k), first[k]);
    int64_t u = 1, v = 1; /* reluctant doubling (Knuth): another way to the same numbers */
    for (int64_t k = 0; k < 5000; k++) {
        assert_int_equal(sked_i_luby(k), v);
        if ((u & -u) == v)
            u++, v = 1;
        else
            v *= 2;
    }
}

/* ------------------------------------------------------------------ activity heap */

static int32_t most_active(const sked_i_activity *a, const bool *in)
{
    int32_t best = -1;
    for (int32_t v = 0; v < a->n; v++)
        if (in[v] && (best < 0 || a->score[v] > a->score[best]))
            best = v;
    return best;
}

static void heap_gives_the_most_active(void **state)
{
    (void)state;
    enum { n = 40 };
    sked_i_activity a;
    sked_i_rng rng;
    bool in[n] = {false};
    sked_i_rng_seed(&rng, 1, 0);
    assert_true(sked_i_activity_create(&a, n));
    int rescaled = 0;
    for (int step = 0; step < 60000; step++) {
        const int32_t v = random_int(&rng, 0, n - 1);
        const double bump = a.bump;
        const int what = random_int(&rng, 0, 3);
        if (what == 0) {
            sked_i_activity_insert(&a, v);
            in[v] = true;
        } else if (what == 1) {
            sked_i_activity_bump(&a, v);
        } else if (what == 2) {
            sked_i_activity_decay(&a, 0.95);
        } else if (a.count > 0) {
            const int32_t top = most_active(&a, in);
            assert_int_equal(sked_i_activity_pop(&a), top);
            in[top] = false;
        }
        rescaled += a.bump < bump;
        assert_true(sked_i_activity_ordered(&a));
    }
    assert_true(rescaled > 1);
    sked_i_activity_destroy(&a);
}

/* ------------------------------------------------------------------ small models */

enum { most_vars = 5, top = 4, most_parts = 16 };

/* A plug-in that explains itself afterwards: the sum of all variables is at most `most`. */
typedef struct sum {
    int32_t n, most, number;
    int64_t asked; /* explanations */
} sum;

/* target >= the least option that holds, or `most`. */
typedef struct rule {
    int32_t target, most, count;
    sked_i_clause_option option[3];
} rule;

typedef struct model {
    int32_t n;
    int clauses, arcs;
    sked_i_lit clause[most_parts][3];
    int size[most_parts];
    sked_i_clause_arc arc[most_parts];
    int32_t duration[most_vars], demand[most_vars], capacity; /* 0: no pool */
    sum sum;
    int rules;
    rule rule[2];
    sked_i_lit assume[2];
    int32_t n_assume;
} model;

static sked_i_lit random_lit(sked_i_rng *rng, int32_t n)
{
    const int32_t var = random_int(rng, 0, n - 1), value = random_int(rng, 1, top);
    return random_int(rng, 0, 1) ? (sked_i_lit){2 * var, value} : (sked_i_lit){2 * var + 1, 1 - value};
}

static model random_model(uint64_t seed)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, seed, 7);
    model m = {.n = random_int(&rng, 2, most_vars)};
    m.clauses = random_int(&rng, 0, 12);
    m.arcs = random_int(&rng, 0, 4);
    for (int k = 0; k < m.clauses; k++) {
        m.size[k] = random_int(&rng, 1, 3);
        for (int j = 0; j < m.size[k]; j++)
            m.clause[k][j] = random_lit(&rng, m.n);
    }
    for (int k = 0; k < m.arcs; k++) {
        const int32_t from = random_int(&rng, 0, m.n - 1);
        m.arc[k] =
            (sked_i_clause_arc){from, (from + random_int(&rng, 1, m.n - 1)) % m.n, random_int(&rng, -1, 3),
                                random_int(&rng, 0, 1) ? random_lit(&rng, m.n) : SKED_I_LIT_NONE};
    }
    m.capacity = random_int(&rng, 0, 3);
    for (int32_t i = 0; i < m.n; i++) {
        m.duration[i] = random_int(&rng, 1, 3);
        m.demand[i] = m.capacity > 0 ? random_int(&rng, 1, m.capacity) : 0;
    }
    m.sum = (sum){.n = m.n, .most = random_int(&rng, m.n, m.n * top)};
    m.n_assume = random_int(&rng, 0, 2);
    for (int k = 0; k < m.n_assume; k++)
        m.assume[k] = random_lit(&rng, m.n);
    m.rules = random_int(&rng, 0, 2);
    for (int k = 0; k < m.rules; k++) {
        rule *r = &m.rule[k];
        const bool down = random_int(&rng, 0, 1);
        *r = (rule){2 * random_int(&rng, 0, m.n - 1) + down,
                    down ? random_int(&rng, -3, 0) : random_int(&rng, 1, top),
                    random_int(&rng, 1, 3),
                    {{{0, 0}, 0, 0}}};
        for (int j = 0; j < r->count; j++)
            r->option[j] = (sked_i_clause_option){
                random_lit(&rng, m.n), 2 * random_int(&rng, 0, m.n - 1) + down, random_int(&rng, -1, 2)};
    }
    return m;
}

static bool holds(sked_i_lit l, const int32_t *value)
{
    return (l.view & 1 ? -value[l.view / 2] : value[l.view / 2]) >= l.value;
}

static bool clause_holds(const sked_i_lit *l, int size, const int32_t *value)
{
    bool any = false;
    for (int k = 0; k < size; k++)
        any = any || holds(l[k], value);
    return any;
}

static bool pool_holds(const model *m, const int32_t *value)
{
    for (int t = 0; m->capacity > 0 && t < top + 4; t++) {
        int32_t load = 0;
        for (int32_t i = 0; i < m->n; i++)
            load += value[i] <= t && t < value[i] + m->duration[i] ? m->demand[i] : 0;
        if (load > m->capacity)
            return false;
    }
    return true;
}

static int32_t view_value(int32_t view, const int32_t *value)
{
    return view & 1 ? -value[view / 2] : value[view / 2];
}

static bool rule_holds(const rule *r, const int32_t *value)
{
    int32_t least = r->most;
    for (int k = 0; k < r->count; k++) {
        const int32_t v = view_value(r->option[k].view, value) + r->option[k].offset;
        if (holds(r->option[k].on, value) && v < least)
            least = v;
    }
    return view_value(r->target, value) >= least;
}

static bool is_solution(const model *m, const int32_t *value)
{
    int32_t total = 0;
    for (int32_t i = 0; i < m->n; i++)
        total += value[i];
    bool fine = total <= m->sum.most && pool_holds(m, value);
    for (int k = 0; fine && k < m->clauses; k++)
        fine = clause_holds(m->clause[k], m->size[k], value);
    for (int k = 0; fine && k < m->arcs; k++) {
        const sked_i_clause_arc *a = &m->arc[k];
        fine = (a->when.view >= 0 && !holds(a->when, value)) || value[a->to] >= value[a->from] + a->offset;
    }
    for (int k = 0; fine && k < m->rules; k++)
        fine = rule_holds(&m->rule[k], value);
    return fine;
}

/* Calls `see` for every solution; returns how many there are. */
static int64_t enumerate(const model *m, void (*see)(void *, const int32_t *), void *data)
{
    int32_t value[most_vars] = {0};
    int64_t count = 0;
    for (;;) {
        if (is_solution(m, value)) {
            count++;
            if (see != NULL)
                see(data, value);
        }
        int32_t i = 0;
        while (i < m->n && value[i] == top)
            value[i++] = 0;
        if (i == m->n)
            return count;
        value[i]++;
    }
}

static int32_t rest_before(const sum *m, const sked_i_clause_solver *s, int32_t var, int64_t before)
{
    int32_t rest = 0;
    for (int32_t i = 0; i < m->n; i++)
        rest += i == var ? 0 : sked_i_clause_low_before(s, 2 * i, before);
    return rest;
}

static bool sum_propagate(sked_i_clause_solver *s, void *self)
{
    const sum *m = self;
    for (int32_t i = 0; i < m->n; i++) {
        const int32_t room = m->most - rest_before(m, s, i, INT64_MAX);
        if (!sked_i_clause_raise(
                s, 2 * i + 1, -room,
                (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_PROPAGATOR, .count = m->number, .ref = 17}))
            return false;
    }
    return true;
}

static void sum_explain(sked_i_clause_solver *s, void *self, sked_i_lit l, int64_t note, int64_t before)
{
    sum *m = self;
    m->asked++;
    assert_int_equal(note, 17);
    assert_true(m->most - rest_before(m, s, l.view / 2, before) <= -l.value);
    for (int32_t i = 0; i < m->n; i++)
        if (i != l.view / 2)
            sked_i_clause_conflict_add(s, 2 * i, sked_i_clause_low_before(s, 2 * i, before));
}

/* False: the model contradicts itself before any search. */
static bool build(model *m, uint64_t seed, sked_i_clause_solver **out)
{
    sked_i_clause_solver *s = NULL;
    bool fine = true;
    OK(sked_i_clause_create(m->n, m->n, seed, &s, err));
    *out = s;
    for (int32_t i = 0; i < m->n; i++) {
        assert_true(sked_i_clause_root_bound(s, (sked_i_lit){2 * i, 0}));
        assert_true(sked_i_clause_root_bound(s, (sked_i_lit){2 * i + 1, -top}));
    }
    for (int k = 0; k < m->arcs; k++)
        assert_true(sked_i_clause_add_arc(s, m->arc[k].from, m->arc[k].to, m->arc[k].offset, m->arc[k].when));
    if (m->capacity > 0) {
        sked_i_clause_task *task = sked_i_arena_alloc(&s->memory, m->n, sizeof *task);
        assert_non_null(task);
        for (int32_t i = 0; i < m->n; i++)
            task[i] = (sked_i_clause_task){i, m->duration[i], m->demand[i]};
        assert_true(sked_i_clause_add_pool(s, m->capacity, task, m->n));
    }
    sked_i_clause_choices *choices = sked_i_clause_choices_create(s);
    assert_non_null(choices);
    for (int k = 0; k < m->rules; k++)
        assert_true(sked_i_clause_choices_add(choices, m->rule[k].target, m->rule[k].most, m->rule[k].option,
                                              m->rule[k].count));
    assert_true(sked_i_clause_choices_plug(choices));
    const sked_i_clause_propagator plug = {
        .self = &m->sum, .propagate = sum_propagate, .explain = sum_explain, .cost = 1};
    assert_true(sked_i_clause_add_propagator(s, plug, &m->sum.number));
    for (int32_t i = 0; i < m->n; i++)
        assert_true(sked_i_clause_tell(s, m->sum.number, i));
    for (int k = 0; fine && k < m->clauses; k++)
        fine = sked_i_clause_add(s, m->clause[k], m->size[k], 1);
    assert_false(s->failed);
    return fine;
}

/* Every solution keeps the root bounds and satisfies every clause. */
static void check_implied(void *data, const int32_t *value)
{
    const sked_i_clause_solver *s = data;
    for (int32_t v = 0; v < 2 * s->n_vars; v++)
        assert_true(holds((sked_i_lit){v, s->root[v]}, value));
    for (int64_t k = 0; k < s->learnt_count; k++)
        assert_true(clause_holds(sked_i_clause_literals(s, s->learnt[k]), s->arena[s->learnt[k]], value));
}

static sked_i_verdict solve(sked_i_clause_solver *s, const model *m, int32_t n_assume, int64_t conflicts)
{
    const sked_i_clause_budget b = {.assume = m->assume, .n_assume = n_assume, .conflicts = conflicts};
    sked_i_verdict v = SKED_I_UNDECIDED;
    for (int k = 0; v == SKED_I_UNDECIDED && k < 1000; k++)
        v = sked_i_clause_solve(s, &b);
    assert_int_not_equal(v, SKED_I_UNDECIDED);
    return v;
}

typedef struct wanted {
    const model *m;
    int64_t count;
} wanted;

static void count_assumed(void *data, const int32_t *value)
{
    wanted *w = data;
    bool all = true;
    for (int k = 0; k < w->m->n_assume; k++)
        all = all && holds(w->m->assume[k], value);
    w->count += all;
}

static void check_found(sked_i_clause_solver *s, const model *m, int32_t n_assume)
{
    int32_t value[most_vars];
    for (int32_t i = 0; i < m->n; i++) {
        value[i] = s->low[2 * i];
        assert_int_equal(value[i], -s->low[2 * i + 1]);
    }
    assert_true(is_solution(m, value));
    for (int k = 0; k < n_assume; k++)
        assert_true(holds(m->assume[k], value));
    sked_i_clause_restart(s);
    assert_int_equal(s->level, 0);
}

/* Under the assumptions, then without, the answers are those of enumeration. */
static void check_answers(sked_i_clause_solver *s, model *m, int64_t conflicts)
{
    wanted w = {m, 0};
    const int64_t all = enumerate(m, count_assumed, &w);
    sked_i_verdict v = solve(s, m, m->n_assume, conflicts);
    if (v == SKED_I_FOUND)
        check_found(s, m, m->n_assume);
    assert_int_equal(v == SKED_I_FOUND, w.count > 0);
    assert_true(v != SKED_I_REFUTED || all == 0);
    enumerate(m, check_implied, s);
    v = solve(s, m, 0, conflicts);
    assert_int_equal(v, all > 0 ? SKED_I_FOUND : SKED_I_REFUTED);
    if (v == SKED_I_FOUND)
        check_found(s, m, 0);
    enumerate(m, check_implied, s);
}

static void kernel_meets_enumeration(void **state)
{
    (void)state;
    int64_t explained = 0, learnt = 0, found = 0, refuted = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        model m = random_model(seed);
        sked_i_clause_solver *s;
        if (build(&m, seed, &s))
            check_answers(s, &m, seed % 2 ? 1 : 100);
        else
            assert_int_equal(enumerate(&m, NULL, NULL), 0);
        explained += m.sum.asked;
        learnt += s->stats.learnt - m.clauses > 0;
        found += s->has_phase;
        refuted += !s->has_phase;
        sked_i_clause_destroy(s);
    }
    assert_true(explained > 100 && found > 500 && refuted > 500); /* the models are worth their name */
    assert_true(learnt > 10);
}

/* A second solver that is handed all bounds and clauses of a first one gives the same answer. */
static void shared_clauses_are_implied(void **state)
{
    (void)state;
    int64_t shared = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        model m = random_model(seed), same = m;
        sked_i_clause_solver *s, *other;
        const bool fine = build(&m, seed, &s);
        assert_int_equal(build(&same, seed, &other), fine);
        s->shares = true;
        if (fine) {
            sked_i_clause_perturb(s);
            if (solve(s, &m, 0, 10) == SKED_I_FOUND)
                sked_i_clause_restart(s);
            shared += s->outbox_count > 0;
            if (sked_i_clause_import(other, s))
                check_answers(other, &same, 10);
            else
                assert_int_equal(enumerate(&m, NULL, NULL), 0);
        }
        sked_i_clause_destroy(s);
        sked_i_clause_destroy(other);
    }
    assert_true(shared > 20);
}

/* ------------------------------------------------------------------ work on heterogeneous devices */

enum {
    work_ops = 3,
    work_devices = 2,
    work_cells = work_ops * work_devices,
    work_vars = work_ops + 3 * work_cells
};

/* Starts, x, heads, latest starts; the last two equal the start. */
typedef struct work_case {
    int32_t last_start, time[work_cells], x[work_cells], head[work_cells], last[work_cells],
        price[3 * work_devices];
} work_case;

static work_case random_work(sked_i_rng *rng)
{
    work_case w = {.last_start = random_int(rng, 1, 3), .price = {1, 0, 0, 1}};
    for (int32_t c = 0; c < work_cells; c++) {
        w.time[c] = random_int(rng, 0, 3);
        w.x[c] = work_ops + c;
        w.head[c] = work_ops + work_cells + c;
        w.last[c] = work_ops + 2 * work_cells + c;
    }
    w.price[4] = random_int(rng, 0, 5);
    w.price[5] = random_int(rng, 0, 5);
    return w;
}

static void work_bound(sked_i_clause_solver *s, int32_t var, int32_t high)
{
    assert_true(sked_i_clause_root_bound(s, (sked_i_lit){2 * var, 0}));
    assert_true(sked_i_clause_root_bound(s, (sked_i_lit){2 * var + 1, -high}));
}

static sked_i_clause_solver *build_work(const work_case *w, uint64_t seed)
{
    sked_i_clause_solver *s = NULL;
    OK(sked_i_clause_create(work_vars, work_ops, seed, &s, err));
    for (int32_t v = 0; v < work_vars; v++)
        work_bound(s, v, v >= work_ops && v < work_ops + work_cells ? 1 : w->last_start);
    for (int32_t c = 0; c < work_cells; c++)
        for (int side = 0; side < 2; side++) {
            const int32_t i = c / work_devices, other = side ? w->head[c] : w->last[c];
            assert_true(sked_i_clause_add_arc(s, i, other, 0, SKED_I_LIT_NONE));
            assert_true(sked_i_clause_add_arc(s, other, i, 0, SKED_I_LIT_NONE));
        }
    const sked_i_clause_work_model work = {work_ops, work_devices, w->x,     w->head,
                                           w->last,  w->time,      w->price, 3};
    assert_true(sked_i_clause_add_work(s, &work));
    for (int32_t i = 0; i < work_ops; i++) {
        const sked_i_lit a = {2 * w->x[2 * i], 1}, b = {2 * w->x[2 * i + 1], 1};
        const sked_i_lit some[] = {a, b}, one[] = {sked_i_lit_not(a), sked_i_lit_not(b)};
        assert_true(sked_i_clause_add(s, some, 2, sked_i_clause_for_ever));
        assert_true(sked_i_clause_add(s, one, 2, sked_i_clause_for_ever));
    }
    return s;
}

/* No two ops overlap on their device. */
static bool work_fits(const work_case *w, const int32_t *start, const int32_t *device)
{
    bool fine = true;
    for (int32_t i = 0; i < work_ops; i++)
        for (int32_t j = 0; j < work_ops; j++) {
            const int32_t d = w->time[i * work_devices + device[i]],
                          e = w->time[j * work_devices + device[j]];
            if (i != j && device[i] == device[j] && d > 0 && e > 0)
                fine = fine && (start[i] + d <= start[j] || start[j] + e <= start[i]);
        }
    return fine;
}

static int64_t count_work(const work_case *w)
{
    const int32_t starts = w->last_start + 1;
    int64_t count = 0;
    for (int32_t code = 0; code < starts * starts * starts * 8; code++) {
        const int32_t t = code / 8;
        const int32_t start[] = {t % starts, t / starts % starts, t / starts / starts};
        const int32_t device[] = {code & 1, code >> 1 & 1, code >> 2 & 1};
        count += work_fits(w, start, device);
    }
    return count;
}

/* Excludes the solution at hand. False: nothing is left. */
static bool block_work(sked_i_clause_solver *s, const int32_t *start, const int32_t *device)
{
    sked_i_lit l[3 * work_ops];
    for (int32_t i = 0; i < work_ops; i++) {
        l[3 * i] = (sked_i_lit){2 * i, start[i] + 1};
        l[3 * i + 1] = (sked_i_lit){2 * i + 1, 1 - start[i]};
        l[3 * i + 2] = (sked_i_lit){2 * (work_ops + i * work_devices + device[i]) + 1, 0};
    }
    sked_i_clause_restart(s);
    return sked_i_clause_add(s, l, 3 * work_ops, sked_i_clause_for_ever);
}

/*
 * All solutions one after the other: the propagator loses none that keeps the devices, and none comes twice,
 * though everything that may be forgotten is forgotten at once.
 */
static void work_loses_nothing(void **state)
{
    (void)state;
    int64_t conflicts = 0, less = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        sked_i_rng rng;
        sked_i_rng_seed(&rng, seed, 5);
        const work_case w = random_work(&rng);
        sked_i_clause_solver *s = build_work(&w, seed);
        const sked_i_clause_budget b = {.conflicts = 100000};
        int64_t met = 0, all = 0;
        s->learnt_limit = 0;
        for (sked_i_verdict v = SKED_I_UNDECIDED; v != SKED_I_REFUTED;) {
            v = sked_i_clause_solve(s, &b);
            if (v != SKED_I_FOUND)
                continue;
            int32_t start[work_ops], device[work_ops];
            for (int32_t i = 0; i < work_ops; i++) {
                start[i] = s->low[2 * i];
                device[i] = s->low[2 * w.x[i * work_devices]] == 0;
            }
            met += work_fits(&w, start, device);
            assert_true(++all <= 512);
            v = block_work(s, start, device) ? v : SKED_I_REFUTED;
        }
        assert_int_equal(met, count_work(&w));
        const int64_t starts = w.last_start + 1;
        less += all < starts * starts * starts * 8;
        conflicts += s->stats.conflicts;
        sked_i_clause_destroy(s);
    }
    assert_true(conflicts > 1000 && less > 100); /* it does say something */
}

/* ------------------------------------------------------------------ machines */

enum { tasks = 4, task_pairs = tasks * (tasks - 1) / 2, last_time = 8, machine_vars = tasks + task_pairs };

/* Tasks on one machine: windows, clauses over starts; a fixed order for some pairs. */
typedef struct machine_case {
    int32_t duration[tasks], early[tasks], late[tasks];
    bool fixed[tasks][tasks]; /* the row's comes before the column's, whatever happens */
    int clauses;
    sked_i_lit clause[4][2];
} machine_case;

static machine_case random_tasks(uint64_t seed)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, seed, 9);
    machine_case c = {.clauses = random_int(&rng, 0, 4)};
    for (int32_t i = 0; i < tasks; i++) {
        c.duration[i] = random_int(&rng, 1, 3);
        c.early[i] = random_int(&rng, 0, 3);
        c.late[i] = random_int(&rng, c.early[i], last_time);
        for (int32_t j = i + 1; j < tasks; j++)
            c.fixed[i][j] = random_int(&rng, 0, 5) == 0;
    }
    for (int32_t i = 0; i < tasks; i++) /* a path orders its ends as well */
        for (int32_t j = i + 1; j < tasks; j++)
            for (int32_t k = j + 1; k < tasks; k++)
                c.fixed[i][k] = c.fixed[i][k] || (c.fixed[i][j] && c.fixed[j][k]);
    for (int k = 0; k < c.clauses; k++)
        for (int j = 0; j < 2; j++)
            c.clause[k][j] = random_lit(&rng, tasks);
    return c;
}

/* The variable of the pair i < j: 1 where i comes first. */
static int32_t pair_var(int32_t i, int32_t j)
{
    int32_t var = tasks;
    for (int32_t a = 0; a < tasks; a++)
        for (int32_t b = a + 1; b < tasks; b++, var++)
            if (a == i && b == j)
                return var;
    return -1;
}

static void order_pair(sked_i_clause_solver *s, const machine_case *c, sked_i_clause_machine *m, int32_t i,
                       int32_t j)
{
    const int32_t x = pair_var(i, j);
    work_bound(s, x, 1);
    if (c->fixed[i][j]) {
        m->before[i * tasks + j] = SKED_I_LIT_ALWAYS;
        assert_true(sked_i_clause_add_arc(s, i, j, c->duration[i], SKED_I_LIT_NONE));
        assert_true(sked_i_clause_root_bound(s, (sked_i_lit){2 * x, 1}));
        return;
    }
    m->before[i * tasks + j] = (sked_i_lit){2 * x, 1};
    m->before[j * tasks + i] = (sked_i_lit){2 * x + 1, 0};
    assert_true(sked_i_clause_add_arc(s, i, j, c->duration[i], m->before[i * tasks + j]));
    assert_true(sked_i_clause_add_arc(s, j, i, c->duration[j], m->before[j * tasks + i]));
}

static bool build_machine(const machine_case *c, uint64_t seed, sked_i_clause_solver **out)
{
    sked_i_clause_machine m;
    sked_i_clause_solver *s = NULL;
    bool fine = true;
    OK(sked_i_clause_create(machine_vars, tasks, seed, &s, err));
    *out = s;
    assert_true(sked_i_clause_machine_create(s, &m, tasks));
    for (int32_t i = 0; i < tasks; i++) {
        assert_true(sked_i_clause_root_bound(s, (sked_i_lit){2 * i, c->early[i]}));
        assert_true(sked_i_clause_root_bound(s, (sked_i_lit){2 * i + 1, -c->late[i]}));
        m.var[i] = i;
        m.duration[i] = c->duration[i];
    }
    for (int32_t i = 0; i < tasks; i++)
        for (int32_t j = i + 1; j < tasks; j++)
            order_pair(s, c, &m, i, j);
    assert_true(sked_i_clause_add_machine(s, m));
    for (int k = 0; fine && k < c->clauses; k++)
        fine = sked_i_clause_add(s, c->clause[k], 2, sked_i_clause_for_ever);
    assert_false(s->failed);
    return fine;
}

/* Do the starts keep everything? Fills in the orders. */
static bool machine_holds(const machine_case *c, int32_t *value)
{
    bool fine = true;
    for (int32_t i = 0; i < tasks; i++)
        fine = fine && value[i] >= c->early[i] && value[i] <= c->late[i];
    for (int32_t i = 0; fine && i < tasks; i++)
        for (int32_t j = i + 1; fine && j < tasks; j++) {
            const bool first = value[i] + c->duration[i] <= value[j];
            fine = first || (!c->fixed[i][j] && value[j] + c->duration[j] <= value[i]);
            value[pair_var(i, j)] = first;
        }
    for (int k = 0; fine && k < c->clauses; k++)
        fine = clause_holds(c->clause[k], 2, value);
    return fine;
}

/* All solutions; each must keep root bounds and clauses of s (NULL: not asked). */
static int64_t count_machine(const machine_case *c, const sked_i_clause_solver *s)
{
    int32_t value[machine_vars] = {0};
    int64_t count = 0;
    for (;;) {
        if (machine_holds(c, value)) {
            count++;
            if (s != NULL)
                check_implied((void *)(uintptr_t)s, value);
        }
        int32_t i = 0;
        while (i < tasks && value[i] == last_time)
            value[i++] = 0;
        if (i == tasks)
            return count;
        value[i]++;
    }
}

/* Excludes the starts at hand, so that the search goes on until nothing is left. */
static bool block_starts(sked_i_clause_solver *s)
{
    sked_i_lit l[2 * tasks];
    for (int32_t i = 0; i < tasks; i++) {
        l[2 * i] = (sked_i_lit){2 * i, s->low[2 * i] + 1};
        l[2 * i + 1] = (sked_i_lit){2 * i + 1, 1 - s->low[2 * i]};
    }
    sked_i_clause_restart(s);
    return sked_i_clause_add(s, l, 2 * tasks, sked_i_clause_for_ever);
}

/* Every solution is met once, and what is learnt before one is excluded holds in all. */
static void machine_meets_enumeration(void **state)
{
    (void)state;
    enum { most = 60 };
    int64_t conflicts = 0, found = 0, refuted = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        const machine_case c = random_tasks(seed);
        const sked_i_clause_budget b = {.conflicts = 100000};
        sked_i_clause_solver *s;
        int64_t met = 0;
        bool left = build_machine(&c, seed, &s);
        if (left && sked_i_clause_solve(s, &b) != SKED_I_FOUND)
            left = false;
        else
            sked_i_clause_restart(s);
        const int64_t all = count_machine(&c, s);
        assert_true(left || all == 0);
        while (left && sked_i_clause_solve(s, &b) == SKED_I_FOUND) {
            int32_t value[machine_vars];
            for (int32_t i = 0; i < tasks; i++)
                value[i] = s->low[2 * i];
            assert_true(machine_holds(&c, value));
            left = ++met < most && block_starts(s);
        }
        assert_int_equal(met, all > most ? most : all);
        conflicts += s->stats.conflicts;
        found += all > 0;
        refuted += all == 0;
        sked_i_clause_destroy(s);
    }
    assert_true(conflicts > 3000 && found > 300 && refuted > 300);
}

/* The last start of task i is `late`; everything follows without a decision. */
static sked_i_verdict settle_machine(const machine_case *c, sked_i_clause_solver **out)
{
    const sked_i_clause_budget none = {.conflicts = 0};
    assert_true(build_machine(c, 0, out));
    return sked_i_clause_solve(*out, &none);
}

static void edges_are_found(void **state)
{
    (void)state;
    sked_i_clause_solver *s;
    /* the first two fill [0, 7) so far that the third cannot begin before both are done, nor the fourth */
    const machine_case after = {.duration = {3, 3, 2, 2}, .late = {4, 4, 30, 30}};
    assert_int_equal(settle_machine(&after, &s), SKED_I_UNDECIDED);
    assert_int_equal(s->root[2 * 2], 6);
    assert_int_equal(s->root[2 * 3], 6);
    sked_i_clause_destroy(s);
    /* the same backwards: the last two must begin from 3 on and end by 10 */
    const machine_case earlier = {.duration = {2, 2, 3, 3}, .early = {0, 0, 3, 3}, .late = {8, 8, 7, 7}};
    assert_int_equal(settle_machine(&earlier, &s), SKED_I_UNDECIDED);
    assert_int_equal(-s->root[1], 2);
    assert_int_equal(-s->root[3], 2);
    sked_i_clause_destroy(s);
    /* more work than time, though any two fit */
    const machine_case overfull = {.duration = {3, 3, 3, 1}, .late = {5, 5, 5, 30}};
    assert_int_equal(settle_machine(&overfull, &s), SKED_I_REFUTED);
    assert_int_equal(s->stats.decisions, 0);
    sked_i_clause_destroy(s);
}

/* ------------------------------------------------------------------ packed time table */

static bool never(sked_i_client *client)
{
    (void)client;
    return false;
}

/* The least makespan by asking for ever shorter schedules, each near the last. */
static int32_t least_makespan(const sked_i_cumulative *c, int64_t conflicts)
{
    int32_t guide[BRUTE_OPS] = {0}, start[BRUTE_OPS], best = c->forward.span;
    sked_i_client client = {.over = never};
    sked_i_learner *l = sked_i_learner_create(&c->forward, best, &client);
    assert_non_null(l);
    for (int tries = 0; tries < 100000; tries++) {
        const sked_i_verdict v = sked_i_learner_solve(l, best - 1, NULL, 0, guide, conflicts, start);
        assert_false(sked_i_learner_failed(l));
        if (v == SKED_I_REFUTED)
            break;
        if (v == SKED_I_UNDECIDED)
            continue;
        assert_int_equal(v, SKED_I_FOUND);
        best = 0;
        for (int32_t i = 0; i < c->n; i++) {
            guide[i] = start[i];
            best = start[i] + c->forward.duration[i] > best ? start[i] + c->forward.duration[i] : best;
        }
    }
    const int64_t uncounted = sked_i_learner_stats(l).conflicts - client.evaluations;
    assert_true(uncounted == 0 || uncounted == 1); /* the one that refutes */
    sked_i_learner_destroy(l);
    return best;
}

static void learner_meets_brute_force(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 250; seed++) {
        random_problem r;
        sked_i_cumulative *c = NULL;
        random_problem_make(seed, RANDOM_RESOURCES | (seed % 2 ? RANDOM_LAGS : 0), 2, 7, &r);
        OK(sked_i_cumulative_create(&r.problem, &c, err));
        assert_true(c->exact);
        assert_true(sked_i_learner_fits(c, c->forward.span));
        const double best = brute_force_orders(&r.problem);
        assert_int_equal(least_makespan(c, seed % 3 ? 1000 : 1) / c->scale, best);
        sked_i_cumulative_destroy(c);
        random_problem_free(&r);
    }
}

/* ------------------------------------------------------------------ loops */

/* Starts within the windows, edge and pool rules checked one by one. */
static bool loop_holds(const sked_i_loop *loop, const sked_i_modulo_question *q, const int64_t *start)
{
    for (int64_t e = 0; e < loop->g->n_edges; e++)
        if (start[loop->g->edge_to[e]] < start[loop->g->edge_from[e]] + q->weight[e])
            return false;
    for (int32_t pool = 0; pool < loop->n_resources; pool++)
        for (int64_t cell = 0; cell < q->ii; cell++) {
            int64_t load = 0;
            for (int32_t i = 0; i < loop->n; i++)
                for (int64_t u = loop->use_ptr[i]; u < loop->use_ptr[i + 1]; u++)
                    for (int64_t t = start[i]; loop->use[u].pool == pool && t < start[i] + loop->duration[i];
                         t++)
                        load += t % q->ii == cell ? loop->use[u].amount : 0;
            if (load > loop->room[pool])
                return false;
        }
    return true;
}

/* The starts as values of the model's variables keep its root bounds and clauses. */
static void check_starts(const sked_i_modulo_exact *x, const int64_t *start, int32_t *value)
{
    for (int32_t i = 0; i < x->n; i++) {
        value[i] = (int32_t)(start[i] - x->lo[i]);
        for (int32_t k = 0; k < x->slots[i]; k++)
            value[x->slot_base[i] + k] = value[i] % x->ii == k;
    }
    check_implied(x->solver, value);
}

/* How many starts answer the question; x: those must be solutions of the model, NULL: it has none. */
static int64_t count_starts(const sked_i_loop *loop, const sked_i_modulo_question *q,
                            const sked_i_modulo_exact *x)
{
    int64_t start[BRUTE_OPS], count = 0;
    int32_t *value = x != NULL ? calloc((size_t)x->n_vars, sizeof *value) : NULL;
    memcpy(start, q->lo, (size_t)loop->n * sizeof *start);
    for (int32_t i = 0; i < loop->n;) {
        if (loop_holds(loop, q, start)) {
            count++;
            if (x != NULL)
                check_starts(x, start, value);
        }
        for (i = 0; i < loop->n && start[i] == q->hi[i]; i++)
            start[i] = q->lo[i];
        if (i < loop->n)
            start[i]++;
    }
    free(value);
    return count;
}

typedef struct tally {
    int64_t asked, found, conflicts;
} tally;

/* One question about windows of up to three turns. */
static void ask(const sked_i_loop *loop, int64_t ii, sked_i_rng *rng, tally *t)
{
    int64_t lo[BRUTE_OPS], hi[BRUTE_OPS], hint[BRUTE_OPS], weight[BRUTE_EDGES], start[BRUTE_OPS], met = 0;
    const sked_i_limit limit = {.deadline = INFINITY};
    for (int32_t i = 0; i < loop->n; i++) {
        lo[i] = random_int(rng, 0, 3);
        hi[i] = lo[i] + random_int(rng, 0, ii < 4 || loop->n == 3 ? 3 * (int)ii : 8);
        hint[i] = random_int(rng, 0, 12);
    }
    for (int64_t e = 0; e < loop->g->n_edges; e++)
        weight[e] = loop->lag[e] - loop->g->edge_distance[e] * ii;
    const sked_i_modulo_question q = {.ii = ii,
                                      .lo = lo,
                                      .hi = hi,
                                      .weight = weight,
                                      .hint = random_int(rng, 0, 1) ? hint : NULL,
                                      .conflicts = 100000,
                                      .seed = sked_i_rng_next(rng)};
    sked_i_modulo_exact x;
    bool empty;
    OK(sked_i_modulo_open(&x, loop, &q, &empty, err));
    if (!empty && random_int(rng, 0, 1))
        sked_i_clause_perturb(x.solver); /* slots before starts */
    sked_i_verdict v = empty ? SKED_I_REFUTED : sked_i_modulo_search(&x, &limit);
    if (v == SKED_I_FOUND)
        sked_i_clause_restart(x.solver);
    assert_int_equal(v, count_starts(loop, &q, empty ? NULL : &x) > 0 ? SKED_I_FOUND : SKED_I_REFUTED);
    sked_i_modulo_close(&x);
    OK(sked_i_modulo_decide(loop, &q, &limit, &v, start, &met, err));
    for (int32_t i = 0; v == SKED_I_FOUND && i < loop->n; i++)
        assert_true(lo[i] <= start[i] && start[i] <= hi[i]);
    assert_true(v == SKED_I_REFUTED || loop_holds(loop, &q, start));
    t->asked++;
    t->found += v == SKED_I_FOUND;
    t->conflicts += met;
}

static void loops_meet_enumeration(void **state)
{
    (void)state;
    tally t = {0};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        random_problem r;
        sked_i_loop *loop = NULL;
        sked_i_rng rng;
        sked_i_rng_seed(&rng, seed, 3);
        random_problem_make(seed, RANDOM_RESOURCES | RANDOM_LOOPS | (seed % 2 ? RANDOM_LAGS : 0), 3, 5, &r);
        r.problem.objective = SKED_OBJECTIVE_II;
        OK(sked_i_loop_create(&r.problem, &loop, err));
        for (int64_t ii = loop->min_ii; ii < loop->min_ii + 2; ii++)
            ask(loop, ii, &rng, &t);
        sked_i_loop_destroy(loop);
        random_problem_free(&r);
    }
    assert_true(t.conflicts > 2000 && t.found > 500 && t.asked - t.found > 500); /* they are worth asking */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restarts_are_lubys),       cmocka_unit_test(heap_gives_the_most_active),
        cmocka_unit_test(kernel_meets_enumeration), cmocka_unit_test(shared_clauses_are_implied),
        cmocka_unit_test(work_loses_nothing),       cmocka_unit_test(machine_meets_enumeration),
        cmocka_unit_test(edges_are_found),          cmocka_unit_test(learner_meets_brute_force),
        cmocka_unit_test(loops_meet_enumeration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
