/* sked-bench scale, the part of the method `search`: schedules a second on problems of every kind. */
#define _DEFAULT_SOURCE
#include "bench.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const char two_pools[] = "A:8:int:1,4;B:6:int:1,4";
static const char four_pools[] = "A:8:int:1,4;B:6:int:1,4;C:9:int:1,6;D:5:int:0,3";

/* A generated graph, or a file of the benchmark data. */
typedef struct rate_case {
    const char *what, *family, *file;
    int32_t nodes, devices;
    const char *duration, *demand, *bytes;
    int64_t evaluations; /* about a second's */
} rate_case;

static const rate_case cases[] = {
    {"4 devices, 1 to 10", "layered", NULL, 50, 4, "int:1,10", NULL, NULL, 500000},
    {"2 pools, 1 to 10", "layered", NULL, 50, 0, "int:1,10", two_pools, NULL, 500000},
    {"8 devices, 1 to 10", "layered", NULL, 500, 8, "int:1,10", NULL, NULL, 50000},
    {"8 devices, 1 to 1000", "layered", NULL, 500, 8, "int:1,1000", NULL, NULL, 50000},
    {"8 devices, real", "layered", NULL, 500, 8, "uniform:1,10", NULL, NULL, 50000},
    {"2 pools, 1 to 10", "layered", NULL, 500, 0, "int:1,10", two_pools, NULL, 50000},
    {"2 pools, 1 to 1000", "layered", NULL, 500, 0, "int:1,1000", two_pools, NULL, 50000},
    {"2 pools, real", "layered", NULL, 500, 0, "uniform:1,10", two_pools, NULL, 50000},
    {"4 pools, 1 to 10", "layered", NULL, 500, 0, "int:1,10", four_pools, NULL, 50000},
    {"4 pools, 1 to 1000", "layered", NULL, 500, 0, "int:1,1000", four_pools, NULL, 50000},
    {"2 pools, real", "erdos-renyi", NULL, 500, 0, "uniform:1,10", two_pools, NULL, 50000},
    {"4 pools, 1 to 1000", "erdos-renyi", NULL, 500, 0, "int:1,1000", four_pools, NULL, 50000},
    {"4 devices, transfers", "layered", NULL, 500, 4, "int:1,10", NULL, "int:1,10", 200000},
    {"4 devices, transfers", "erdos-renyi", NULL, 500, 4, "int:1,10", NULL, "int:1,10", 200000},
    {"4 pools", "j120", "psplib/j120/j12026_1.sm", 0, 0, NULL, NULL, NULL, 200000},
    {"1 pool, real", "tpch-50", "tpch/tpch-50-2.json", 0, 0, NULL, NULL, NULL, 25000},
    {"1 pool, real", "tpch-100", "tpch/tpch-100-0.json", 0, 0, NULL, NULL, NULL, 10000},
};

static sked_status get_graph(const arguments *a, const rate_case *c, uint64_t seed, sked_graph **out,
                             sked_error *err)
{
    char path[1024];
    const sked_generate_options opt = {.size = sizeof opt,
                                       .nodes = c->nodes,
                                       .seed = seed,
                                       .duration = c->duration,
                                       .demand = c->demand,
                                       .bytes = c->bytes};
    if (c->file != NULL)
        return sked_graph_read(data_path(a, c->file, path, sizeof path), NULL, out, err);
    return sked_graph_generate(c->family, &opt, out, err);
}

/* Two candidates are asked for, so that the run goes on where the first schedule meets the bound. */
static sked_status time_search(const sked_graph *g, const rate_case *c, uint64_t seed, double *rate,
                               sked_error *err)
{
    sked_problem p;
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_problem_init(&p, g);
    p.devices = c->devices;
    if (c->bytes != NULL)
        p.bandwidth = 1;
    sked_run_options_init(&opt);
    opt.time_limit = 60;
    opt.iterations = c->evaluations;
    opt.seed = seed;
    opt.candidates = 2;
    const clock_t begin = clock();
    const sked_status st = sked_method_run("search", &p, &opt, &r, err);
    if (st == SKED_OK)
        *rate = (double)r.evaluations * CLOCKS_PER_SEC / fmax(1, (double)(clock() - begin));
    sked_result_clear(&r);
    return st;
}

sked_status bench_search(const arguments *a, uint64_t seed, sked_error *err)
{
    printf(
        "\nsearch, schedules a second of processor time, one core, start and checks counted; with transfers "
        "moves tried\n(must: 100,000 on 50 ops, 10,000 on 500)\n");
    printf("%-12s %-24s %8s %8s %14s %12s\n", "graph", "machine and durations", "ops", "edges", "schedules/s",
           "ns per op");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rate_case *c = &cases[i];
        sked_graph *g = NULL;
        double rate = 0;
        if (c->file != NULL && !have_data(a))
            break;
        sked_status st = get_graph(a, c, seed, &g, err);
        if (st == SKED_OK)
            st = time_search(g, c, seed, &rate, err);
        if (st == SKED_OK)
            printf("%-12s %-24s %8d %8lld %14.0f %12.1f\n", c->family, c->what, (int)sked_graph_op_count(g),
                   (long long)sked_graph_edge_count(g), rate, 1e9 / rate / sked_graph_op_count(g));
        fflush(stdout);
        sked_graph_destroy(g);
        if (st != SKED_OK)
            return st;
    }
    return SKED_OK;
}
