/* Every backend on this machine against the simulator, on random graphs, sizes and orders. */
#include "test.h"

#include "base/rng.h"
#include "graph/graph.h"

#include <math.h>

enum { most_ops = 200 };

static sked_graph *random_graph(sked_i_rng *r, int32_t n)
{
    sked_builder *b = NULL;
    sked_graph *g = NULL;
    OK(sked_builder_create(&b, err));
    for (int32_t i = 0; i < n; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, (double)sked_i_rng_below(r, 20), NULL, err));
        if (sked_i_rng_below(r, 3) == 0) /* nothing without a machine */
            OK(sked_builder_add_duration(b, i, sked_i_rng_below(r, 2) ? "d1" : "a",
                                         sked_i_rng_below(r, 9) ? (double)sked_i_rng_below(r, 30) : INFINITY,
                                         err));
    }
    for (int32_t i = 1; i < n; i++)
        for (uint64_t k = sked_i_rng_below(r, 4); k > 0; k--) {
            const sked_edge edge = {(int32_t)sked_i_rng_below(r, (uint64_t)i), i,
                                    sked_i_rng_below(r, 4) ? SKED_LAG_DEFAULT
                                                           : (double)sked_i_rng_below(r, 9),
                                    (double)sked_i_rng_below(r, 9), 0};
            OK(sked_builder_add_edge(b, &edge, err));
        }
    OK(sked_builder_finish(b, &g, err));
    sked_builder_destroy(b);
    return g;
}

/* A random topological order: repeatedly one of the ready ops. */
static void random_order(sked_i_rng *r, const sked_graph *g, int32_t *order)
{
    int32_t waiting[most_ops], ready[most_ops], n_ready = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        if ((waiting[i] = (int32_t)(g->pred_ptr[i + 1] - g->pred_ptr[i])) == 0)
            ready[n_ready++] = i;
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t pick = (int32_t)sked_i_rng_below(r, (uint64_t)n_ready);
        const int32_t i = order[k] = ready[pick];
        ready[pick] = ready[--n_ready];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (--waiting[g->edge_to[e]] == 0)
                ready[n_ready++] = g->edge_to[e];
    }
}

/* Devices of three types with any speed; some pairs have a link, one way or both, others the common one or
 * none. */
static sked_machine *random_machine(sked_i_rng *r, int32_t devices)
{
    static const char *const types[] = {"a", "b", "c"};
    sked_machine_builder *b = NULL;
    sked_machine *m = NULL;
    char name[2][16];
    OK(sked_machine_builder_create("node", &b, err));
    for (int32_t d = 0; d < devices; d++) {
        snprintf(name[0], sizeof name[0], "d%d", (int)d);
        OK(sked_machine_builder_add_device(b, name[0], types[sked_i_rng_below(r, 3)],
                                           0.5 + sked_i_rng_uniform(r), INFINITY, NULL, err));
    }
    for (int32_t d = 1; d < devices; d++) {
        snprintf(name[0], sizeof name[0], "d%d", (int)d);
        snprintf(name[1], sizeof name[1], "d%d", (int)sked_i_rng_below(r, (uint64_t)d));
        OK(sked_machine_builder_add_link(b, name[0], name[1], (double)sked_i_rng_below(r, 4),
                                         1 + sked_i_rng_uniform(r), sked_i_rng_below(r, 2), err));
    }
    if (sked_i_rng_below(r, 2))
        OK(sked_machine_builder_set_link(b, 1, 0.5 + sked_i_rng_uniform(r), err));
    OK(sked_machine_builder_finish(b, &m, err));
    sked_machine_builder_destroy(b);
    return m;
}

static void compare(sked_i_rng *r, const char *backend, bool unequal)
{
    const int32_t n = 1 + (int32_t)sked_i_rng_below(r, most_ops),
                  count = 1 + (int32_t)sked_i_rng_below(r, 300);
    const bool transfers = sked_i_rng_below(r, 2) != 0;
    sked_graph *g = random_graph(r, n);
    sked_problem p;
    sked_simulator *sim = NULL;
    sked_problem_init(&p, g);
    p.devices = 1 + (int32_t)sked_i_rng_below(r, 9);
    p.latency = (double)sked_i_rng_below(r, 3);
    p.bandwidth = 2;
    sked_machine *machine = NULL;
    if (unequal)
        p.machine = machine = random_machine(r, p.devices);
    int32_t *device = malloc(sizeof(int32_t) * (size_t)n * (size_t)count),
            *order = malloc(sizeof(int32_t) * (size_t)n * (size_t)count);
    double *want = malloc(sizeof(double) * (size_t)count), *got = malloc(sizeof(double) * (size_t)count);
    for (int32_t b = 0; b < count; b++) {
        random_order(r, g, order + (size_t)b * (size_t)n);
        for (int32_t i = 0; i < n; i++)
            device[b * n + i] = (int32_t)sked_i_rng_below(r, (uint64_t)p.devices);
    }
    OK(sked_simulator_create(&p, &sim, err));
    sked_simulator_run(sim, count, device, order, transfers, want, NULL);
    OK(sked_simulator_batch(sim, backend, count, device, order, transfers, got, err));
    for (int32_t b = 0; b < count; b++)
        assert_true(want[b] == got[b]);
    sked_simulator_destroy(sim);
    sked_machine_destroy(machine);
    free(device);
    free(order);
    free(want);
    free(got);
    sked_graph_destroy(g);
}

static void test_cpu(void **state)
{
    sked_i_rng r;
    (void)state;
    sked_i_rng_seed(&r, 1, 0);
    for (int k = 0; k < 100; k++)
        compare(&r, "cpu", k % 2);
}

static void test_cuda(void **state)
{
    sked_i_rng r;
    sked_error why = {0};
    sked_simulator *sim = NULL;
    sked_problem p;
    (void)state;
    sked_i_rng_seed(&r, 2, 0);
    sked_graph *g = random_graph(&r, 1);
    sked_problem_init(&p, g);
    p.devices = 1;
    const int32_t zero = 0;
    double out;
    OK(sked_simulator_create(&p, &sim, err));
    const sked_status st = sked_simulator_batch(sim, "cuda", 1, &zero, &zero, false, &out, &why);
    sked_simulator_destroy(sim);
    sked_graph_destroy(g);
    if (st == SKED_ERR_UNSUPPORTED || st == SKED_ERR_DEVICE) {
        print_message("skipped: %s\n", why.message);
        skip();
    }
    for (int k = 0; k < 100; k++)
        compare(&r, "cuda", k % 2);
}

static void test_unknown(void **state)
{
    sked_i_rng r;
    sked_simulator *sim = NULL;
    sked_problem p;
    (void)state;
    sked_i_rng_seed(&r, 3, 0);
    sked_graph *g = random_graph(&r, 2);
    sked_problem_init(&p, g);
    p.devices = 1;
    const int32_t device[] = {0, 0}, order[] = {0, 1};
    double out;
    OK(sked_simulator_create(&p, &sim, err));
    FAILS(SKED_ERR_ARGUMENT, "opencl",
          sked_simulator_batch(sim, "opencl", 1, device, order, false, &out, err));
    sked_simulator_destroy(sim);
    sked_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_cuda),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
