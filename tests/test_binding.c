/* Units and registers: colours against enumeration, bindings against the validator and a count of their own.
 */
#include "base/rng.h"
#include "engine/binding/binding.h"
#include "formats/format.h"
#include "schedule/schedule.h"
#include "test.h"

#include <math.h>

/* ------------------------------------------------------------------ colours */

/* Can arcs k.. be coloured with so many colours? One after another, no cleverness. */
static bool colourable(const sked_i_arc *arc, int n, double period, int colours, int *colour, int k)
{
    if (k == n)
        return true;
    for (int c = 0; c < colours; c++) {
        bool fits = true;
        for (int m = 0; m < k; m++)
            fits = fits && (colour[m] != c || !sked_i_arcs_overlap(&arc[m], &arc[k], period));
        colour[k] = c;
        if (fits && colourable(arc, n, period, colours, colour, k + 1))
            return true;
    }
    return false;
}

/* Do they share one of the quarters of a step? */
static bool meet(const sked_i_arc *a, const sked_i_arc *b, double period)
{
    for (double t = 0.125; t < a->length; t += 0.25)
        for (double u = 0.125; u < b->length; u += 0.25) {
            const double x = a->start + t, y = b->start + u;
            if (period > 0 ? fabs(fmod(x, period) - fmod(y, period)) < 0.01 : fabs(x - y) < 0.01)
                return true;
        }
    return false;
}

static void check_colours(const sked_i_arc *arc, int n, double period)
{
    int32_t colour[16], colours;
    int trial[16], fewest = n > 0;
    OK(sked_i_colour(arc, n, period, 1000000, colour, &colours, err));
    while (!colourable(arc, n, period, fewest, trial, 0))
        fewest++;
    assert_int_equal(colours, fewest);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            assert_int_equal(sked_i_arcs_overlap(&arc[i], &arc[k], period), meet(&arc[i], &arc[k], period));
            if (i != k && sked_i_arcs_overlap(&arc[i], &arc[k], period))
                assert_int_not_equal(colour[i], colour[k]);
            assert_in_range(colour[i], 0, colours - 1);
        }
}

static void test_colours(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 7, 0);
    for (int round = 0; round < CASES(3000); round++) {
        sked_i_arc arc[16];
        const int n = (int)sked_i_rng_below(&rng, 9);
        const double period = round % 3 ? 1 + (double)sked_i_rng_below(&rng, 6) : 0;
        for (int i = 0; i < n; i++) {
            const double most = period > 0 ? period : 5;
            arc[i].start = (double)sked_i_rng_below(&rng, 60) / 4;
            arc[i].length = (double)sked_i_rng_below(&rng, (uint64_t)(4 * most) + 1) / 4;
        }
        check_colours(arc, n, period);
    }
    /* five arcs of two fifths each: at most two at once, but three colours */
    const sked_i_arc odd[] = {{0, 2}, {1, 2}, {2, 2}, {3, 2}, {4, 2}};
    int32_t colour[5], colours;
    OK(sked_i_colour(odd, 5, 5, 1000, colour, &colours, err));
    assert_int_equal(colours, 3);
}

/* ------------------------------------------------------------------ schedules */

static double draw(sked_i_rng *rng, uint64_t n)
{
    return (double)sked_i_rng_below(rng, n);
}

/* Ops of up to 4 steps on two pools; values of two sizes; some edges back. */
static sked_graph *random_graph(sked_i_rng *rng, int n, bool loop)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_builder_add_resource(b, "A", 3, NULL, err));
    OK(sked_builder_add_resource(b, "B", 4, NULL, err));
    OK(sked_builder_add_resource(b, "C", 2.5, NULL, err));
    for (int i = 0; i < n; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, draw(rng, 4), NULL, err));
        OK(sked_builder_set_memory(b, i, 8 * draw(rng, 3), err));
        if (draw(rng, 4) > 0)
            OK(sked_builder_add_demand(b, i, 0, 1, err));
        if (draw(rng, 3) > 0)
            OK(sked_builder_add_demand(b, i, 1, 1 + draw(rng, 2), err));
        if (draw(rng, 4) == 0)
            OK(sked_builder_add_demand(b, i, 2, 0.5, err));
        for (int k = 0; k < 2 && i > 0; k++) {
            const sked_edge edge = {(int32_t)draw(rng, (uint64_t)i), i,
                                    draw(rng, 2) > 0 ? NAN : 1 + draw(rng, 4), 0, 0};
            OK(sked_builder_add_edge(b, &edge, err));
        }
        const sked_edge back = {i, (int32_t)draw(rng, (uint64_t)i + 1), NAN, 0, 1 + (int32_t)draw(rng, 2)};
        if (loop && draw(rng, 4) == 0)
            OK(sked_builder_add_edge(b, &back, err));
    }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

static sked_schedule *make_schedule(sked_problem *p, bool loop)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_schedule *s = NULL;
    sked_run_options_init(&opt);
    opt.iterations = 20;
    if (loop) {
        p->ii = SKED_II_AUTO;
        p->objective = SKED_OBJECTIVE_II;
    }
    OK(sked_method_run(loop ? "modulo-list" : "list", p, &opt, &r, err));
    OK(sked_schedule_clone(r.schedule[0], &s, err));
    sked_result_clear(&r);
    if (loop)
        p->ii = s->ii;
    return s;
}

static void bind(const sked_problem *p, sked_schedule *s, int64_t iterations, sked_binding *out)
{
    sked_bind_options opt;
    sked_bind_options_init(&opt);
    opt.iterations = iterations;
    opt.time_limit = INFINITY;
    sked_binding_init(out);
    OK(sked_schedule_bind(p, &opt, s, out, err));
    OK(sked_schedule_validate(p, s, err));
}

/* Units of a pool that are in use. */
static int units_of(const sked_graph *g, const sked_schedule *s, int32_t r)
{
    int most = 0;
    for (int32_t i = 0; i < s->ops; i++) {
        const int32_t *unit = NULL;
        const int n = sked_schedule_units(g, s, i, r, &unit);
        for (int k = 0; k < n; k++)
            most = unit[k] + 1 > most ? unit[k] + 1 : most;
    }
    return most;
}

/* Fewest units that do, by enumeration; those of ops that take longer than the interval stand for themselves.
 */
static int fewest_units(const sked_graph *g, const sked_schedule *s, int32_t r)
{
    sked_i_arc arc[64];
    int n = 0, trial[64], fewest = 0;
    for (int32_t i = 0; i < s->ops; i++) {
        const double d = sked_graph_duration(g, i), turns = s->ii > 0 && d > s->ii ? ceil(d / s->ii) : 1;
        for (int k = 0; k < turns * sked_graph_demand(g, i, r); k++)
            arc[n++] = (sked_i_arc){s->start[i], s->ii > 0 ? fmin(d, s->ii) : d};
    }
    if (n > 0)
        fewest = 1;
    while (!colourable(arc, n, s->ii, fewest, trial, 0))
        fewest++;
    return fewest;
}

static void test_units(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 11, 0);
    int bound = 0, unbound = 0;
    for (int round = 0; round < CASES(400); round++) {
        const bool loop = round % 2;
        sked_graph *g = random_graph(&rng, 2 + (int)draw(&rng, 7), loop);
        sked_problem p;
        sked_binding out;
        sked_problem_init(&p, g);
        sked_schedule *s = make_schedule(&p, loop);
        bind(&p, s, 200, &out);
        for (int32_t r = 0; r < 2; r++) {
            const int fewest = fewest_units(g, s, r), used = units_of(g, s, r);
            const bool fits = fewest <= sked_graph_capacity(g, r);
            assert_int_equal(used, fits ? fewest : 0);
            bound += fits;
            unbound += !fits;
        }
        assert_int_equal(units_of(g, s, 2), 0); /* halves of units are not units */
        assert_true(out.sources <= out.first_sources);
        sked_schedule_destroy(s);
        sked_graph_destroy(g);
    }
    assert_true(bound > 300 && unbound > 0);
}

/* ------------------------------------------------------------------ sources */

/* What an input reads: a register, a unit or an op, as one number each. */
static int64_t source_of(const sked_problem *p, const sked_schedule *s, int64_t e)
{
    const sked_graph *g = p->graph;
    sked_edge edge, other;
    double first = INFINITY;
    sked_graph_edge(g, e, &edge);
    for (int64_t k = 0; k < sked_graph_edge_count(g); k++) {
        sked_graph_edge(g, k, &other);
        if (other.from == edge.from && (other.distance == 0 || s->ii > 0))
            first = fmin(first, fmax(0, other.lag));
    }
    const double age = s->start[edge.to] + edge.distance * s->ii - s->start[edge.from] - first;
    const int32_t *list = NULL;
    if (age > 0 && sked_graph_memory(g, edge.from) > 0) {
        assert_true(sked_schedule_op_registers(s, edge.from, &list) > 0);
        return 1000 + list[s->ii > 0 ? (int)ceil(age / s->ii) - 1 : 0];
    }
    for (int32_t r = 0; r < 2; r++)
        if (sked_graph_demand(g, edge.from, r) > 0)
            return sked_schedule_units(g, s, edge.from, r, &list) > 0 ? 100 * r + list[0] : 2000 + edge.from;
    return 2000 + edge.from;
}

static int64_t maker_of(const sked_graph *g, const sked_schedule *s, int32_t op)
{
    const int32_t *list = NULL;
    for (int32_t r = 0; r < 2; r++)
        if (sked_graph_demand(g, op, r) > 0)
            return sked_schedule_units(g, s, op, r, &list) > 0 ? 100 * r + list[0] : 2000 + op;
    return 2000 + op;
}

/* Distinct pairs of a source and an input. */
static int64_t count_sources(const sked_problem *p, const sked_schedule *s)
{
    const sked_graph *g = p->graph;
    int64_t pair[400], n = 0, distinct = 0;
    for (int32_t i = 0; i < s->ops; i++)
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
            if (g->edge_distance[g->pred_edge[k]] == 0 || s->ii > 0)
                pair[n++] = source_of(p, s, g->pred_edge[k]) * 1000000 + maker_of(g, s, i) * 100 +
                            (k - g->pred_ptr[i]);
    for (int32_t i = 0; i < s->ops; i++) {
        const int32_t *list = NULL;
        const int m = sked_schedule_op_registers(s, i, &list);
        for (int k = 0; k < m; k++)
            pair[n++] =
                (k ? 1000 + list[k - 1] : maker_of(g, s, i)) * 1000000 + (int64_t)(1000 + list[k]) * 100;
    }
    for (int64_t k = 0; k < n; k++) {
        bool fresh = true;
        for (int64_t m = 0; m < k; m++)
            fresh = fresh && pair[m] != pair[k];
        distinct += fresh;
    }
    return distinct;
}

static void test_sources(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 13, 0);
    int64_t before = 0, after = 0;
    for (int round = 0; round < CASES(300); round++) {
        const bool loop = round % 2;
        sked_graph *g = random_graph(&rng, 4 + (int)draw(&rng, 12), loop);
        sked_problem p;
        sked_binding out;
        sked_problem_init(&p, g);
        sked_schedule *s = make_schedule(&p, loop), *twin = NULL;
        bind(&p, s, 2000, &out);
        assert_int_equal(out.sources, count_sources(&p, s));
        OK(sked_schedule_clone(s, &twin, err));
        OK(sked_schedule_validate(&p, twin, err));
        assert_int_equal(count_sources(&p, twin), out.sources);
        before += out.first_sources;
        after += out.sources;
        sked_schedule_destroy(s);
        sked_schedule_destroy(twin);
        sked_graph_destroy(g);
    }
    print_message("sources %d, %d after the search\n", (int)before, (int)after);
    assert_true(after < before);
}

/* ------------------------------------------------------------------ judge and files */

static const char chain[] =
    "{\"format\":\"sked-graph-1\",\"resources\":[{\"name\":\"U\",\"capacity\":2}],\"ops\":["
    "{\"name\":\"a\",\"duration\":2,\"memory\":8,\"demand\":{\"U\":1}},"
    "{\"name\":\"b\",\"duration\":2,\"memory\":8,\"demand\":{\"U\":1}},"
    "{\"name\":\"c\",\"duration\":1,\"memory\":4,\"demand\":{\"U\":2}},"
    "{\"name\":\"d\",\"duration\":5,\"memory\":4}],\"edges\":[[\"a\",\"c\"],[\"b\",\"c\"],[\"a\",\"d\"],["
    "\"c\",\"d\"]]}";

static const char *const broken[][2] = {
    {"\"units\":{\"U\":0},\"registers\":[0]}", NULL}, /* as it should be: see below */
    {"\"units\":{\"U\":1},\"registers\":[0]}", "unit 1 of U has two owners at time"},
    {"\"units\":{\"U\":2},\"registers\":[0]}", "op 'a' has unit 2 of 'U', whose capacity is 2"},
    {"\"units\":{\"U\":[0,1]},\"registers\":[0]}", "op 'a' has 2 units of 'U', and needs 1"},
    {"\"registers\":[0]}", "only some ops have units of 'U': op 'b' has some"},
    {"\"units\":{\"U\":0}}", "the value of op 'a' has 0 registers, and needs 1"},
    {"\"units\":{\"U\":0},\"registers\":[1]}", "register 1 has two owners"},
    {"\"units\":{\"U\":0},\"registers\":[0,1]}", "the value of op 'a' has 2 registers, and needs 1"},
    {"\"units\":{\"V\":0}}", "op 'a' holds nothing of a pool 'V'"},
    {"\"units\":{\"U\":-1}}", "a unit"},
};

/* a and b run at 0 and 1, c at 4, d at 6: a lives from 2 to 6, b from 3 to 4, c from 5 to 6. */
static void test_judge(void **state)
{
    (void)state;
    sked_graph *g = must_graph(chain);
    sked_problem p;
    sked_problem_init(&p, g);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char text[1000];
        sked_schedule *s = NULL;
        sked_error e = {0};
        snprintf(text, sizeof text,
                 "{\"format\":\"sked-schedule-1\",\"ops\":[{\"name\":\"a\",\"start\":0,%s,"
                 "{\"name\":\"b\",\"start\":1,\"units\":{\"U\":1},\"registers\":[1]},"
                 "{\"name\":\"c\",\"start\":4,\"units\":{\"U\":[0,1]},\"registers\":[2]},"
                 "{\"name\":\"d\",\"start\":6}]}",
                 broken[i][0]);
        sked_status st = sked_schedule_parse("file", text, strlen(text), &p, &s, &e);
        if (st == SKED_OK)
            st = sked_schedule_validate(&p, s, &e);
        if (broken[i][1] == NULL ? st != SKED_OK : st == SKED_OK || strstr(e.message, broken[i][1]) == NULL)
            fail_msg("%s: %d '%s'", broken[i][0], (int)st, e.message);
        sked_schedule_destroy(s);
    }
    sked_graph_destroy(g);
}

static void test_widths(void **state)
{
    (void)state;
    sked_graph *g = must_graph(chain);
    sked_problem p;
    sked_schedule *s = NULL;
    sked_problem_init(&p, g);
    static const char text[] =
        "{\"format\":\"sked-schedule-1\",\"ops\":[{\"name\":0,\"start\":0,\"registers\":0},"
        "{\"name\":1,\"start\":1,\"registers\":1},"
        "{\"name\":2,\"start\":4,\"registers\":[1]},{\"name\":3,\"start\":6}]}";
    OK(sked_schedule_parse("file", text, sizeof text - 1, &p, &s, err));
    FAILS(SKED_ERR_INVALID, "register 1 holds the values of ops 'b' and 'c', whose sizes differ",
          sked_schedule_validate(&p, s, err));
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

static void test_files(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 17, 0);
    for (int round = 0; round < CASES(60); round++) {
        sked_graph *g = random_graph(&rng, 8, round % 2);
        sked_problem p;
        sked_binding out;
        sked_i_buffer one = {0}, two = {0};
        sked_schedule *read = NULL;
        sked_problem_init(&p, g);
        sked_schedule *s = make_schedule(&p, round % 2);
        bind(&p, s, 50, &out);
        OK(sked_i_native_schedule_write(&p, s, &one, err));
        OK(sked_schedule_parse("file", one.data, (size_t)one.size, &p, &read, err));
        OK(sked_schedule_validate(&p, read, err));
        OK(sked_i_native_schedule_write(&p, read, &two, err));
        assert_string_equal(one.data, two.data);
        sked_i_buffer_free(&one);
        sked_i_buffer_free(&two);
        sked_schedule_destroy(s);
        sked_schedule_destroy(read);
        sked_graph_destroy(g);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    sked_graph *g = must_graph(chain);
    sked_problem p;
    sked_schedule *s = NULL;
    sked_binding out = {.size = sizeof out};
    sked_bind_options opt;
    sked_problem_init(&p, g);
    sked_bind_options_init(&opt);
    OK(sked_schedule_create(4, 0, &s, err));
    FAILS(SKED_ERR_INVALID, "", sked_schedule_bind(&p, &opt, s, &out, err));
    opt.iterations = -1;
    FAILS(SKED_ERR_ARGUMENT, "limits", sked_schedule_bind(&p, &opt, s, &out, err));
    sked_schedule_destroy(s);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours),  cmocka_unit_test(test_units),  cmocka_unit_test(test_sources),
        cmocka_unit_test(test_judge),    cmocka_unit_test(test_widths), cmocka_unit_test(test_files),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
