/*
 * libsked from C: build a graph, schedule it on two devices, print the plan.
 *   cc embed.c $(pkg-config --cflags --libs sked) -o embed
 */
#include <sked/sked.h>

#include <stdio.h>

/* load -> (left, right) -> join */
static sked_status build(sked_graph **out, sked_error *err)
{
    static const struct {
        const char *name;
        double duration;
    } ops[] = {{"load", 1}, {"left", 3}, {"right", 2}, {"join", 1}};
    static const int edges[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    sked_builder *b = NULL;
    sked_status st = sked_builder_create(&b, err);
    for (int i = 0; st == SKED_OK && i < 4; i++)
        st = sked_builder_add_op(b, ops[i].name, NULL, ops[i].duration, NULL, err);
    for (int i = 0; st == SKED_OK && i < 4; i++) {
        const sked_edge edge = {.from = edges[i][0], .to = edges[i][1], .lag = SKED_LAG_DEFAULT};
        st = sked_builder_add_edge(b, &edge, err);
    }
    if (st == SKED_OK)
        st = sked_builder_finish(b, out, err);
    sked_builder_destroy(b);
    return st;
}

int main(void)
{
    sked_error err = SKED_ERROR_INIT;
    sked_graph *graph = NULL;
    sked_problem problem;
    sked_result result;
    sked_result_init(&result);
    sked_status st = build(&graph, &err);
    if (st == SKED_OK) {
        sked_problem_init(&problem, graph);
        problem.devices = 2;
        st = sked_method_run("auto", &problem, NULL, &result, &err);
    }
    for (int32_t i = 0; st == SKED_OK && i < result.schedule[0]->ops; i++) {
        char name[64];
        printf("%-6s starts at %g on device %d\n", sked_graph_op_name(graph, i, name, sizeof name),
               result.schedule[0]->start[i], (int)result.schedule[0]->device[i]);
    }
    if (st == SKED_OK)
        printf("makespan %g, lower bound %g\n", result.value, result.lower_bound);
    else
        fprintf(stderr, "%s\n", err.message);
    sked_result_clear(&result);
    sked_graph_destroy(graph);
    return (int)st;
}
