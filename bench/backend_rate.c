/*
 * Rate of the batched simulator on a backend, checked against the plain one.
 *   backend_rate BACKEND OPS COUNT      (e.g. backend_rate cuda 1000 100000)
 * Prints op evaluations per second with and without the transfer of the batch to the device counted in (the
 * latter does not exist for cpu), beside the bytes the batch moves at least.
 */
#include "sked/sked.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t step(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

int main(int argc, char **argv)
{
    sked_error err = {0};
    sked_graph *g = NULL;
    sked_simulator *sim = NULL;
    sked_problem p;
    uint64_t state = 1;
    if (argc != 4) {
        fprintf(stderr, "usage: backend_rate BACKEND OPS COUNT\n");
        return 2;
    }
    const int64_t count = atoll(argv[3]);
    const sked_generate_options opt = {.size = sizeof opt, .nodes = atoi(argv[2]), .duration = "int:1,10"};
    if (sked_graph_generate("layered", &opt, &g, &err) != SKED_OK)
        goto failed;
    const int64_t n = sked_graph_op_count(g), edges = sked_graph_edge_count(g);
    int32_t *device = malloc((size_t)(n * count) * sizeof *device),
            *order = malloc((size_t)(n * count) * sizeof *order);
    double *makespan = malloc((size_t)count * sizeof *makespan), *want = malloc((size_t)count * sizeof *want);
    if (!device || !order || !makespan || !want)
        return 3;
    sked_problem_init(&p, g);
    p.devices = 4;
    sked_graph_topological(g, order);
    for (int64_t i = 0; i < n * count; i++) {
        device[i] = (int32_t)(step(&state) % 4);
        order[i] = order[i % n];
    }
    if (sked_simulator_create(&p, &sim, &err) != SKED_OK)
        goto failed;
    double best = 1e300;
    for (int k = 0; k < 5; k++) {
        const double begin = sked_clock();
        if (sked_simulator_batch(sim, argv[1], count, device, order, false, makespan, &err) != SKED_OK)
            goto failed;
        const double seconds = sked_clock() - begin;
        best = seconds < best ? seconds : best;
    }
    const int64_t checked = count < 1000 ? count : 1000;
    sked_simulator_run(sim, (int32_t)checked, device, order, false, want, NULL);
    for (int64_t b = 0; b < checked; b++)
        if (want[b] != makespan[b]) {
            fprintf(stderr, "schedule %lld: %g, not %g\n", (long long)b, makespan[b], want[b]);
            return 1;
        }
    const double bytes = (double)count * (double)(n * (4 + 4 + 8 + 8) + edges * 8);
    printf("%s: %lld ops, %lld edges, %lld schedules: %.4f s, %.3g op evaluations/s, %.3g GB moved at least, "
           "%.3g GB/s; "
           "%lld checked\n",
           argv[1], (long long)n, (long long)edges, (long long)count, best, (double)(n * count) / best,
           1e-9 * bytes, 1e-9 * bytes / best, (long long)checked);
    return 0;
failed:
    fprintf(stderr, "backend_rate: %s\n", err.message);
    return (int)err.status;
}
