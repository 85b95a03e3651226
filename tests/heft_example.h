/*
 * The ten tasks on three processors of Topcuoglu, Hariri and Wu (2002), figure 2 and table 1: HEFT needs 80,
 * the optimum is 73. Graph and machine are the caller's.
 */
#ifndef SKED_TESTS_HEFT_EXAMPLE_H
#define SKED_TESTS_HEFT_EXAMPLE_H
#include "test.h"

#include <math.h>

static inline void heft_example(sked_graph **graph, sked_machine **machine, sked_problem *problem)
{
    static const double time[10][3] = {{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17},  {12, 13, 10},
                                       {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16}};
    static const int edge[15][3] = {{0, 1, 18}, {0, 2, 12}, {0, 3, 9},  {0, 4, 11}, {0, 5, 14},
                                    {1, 7, 19}, {1, 8, 16}, {2, 6, 23}, {3, 7, 27}, {3, 8, 23},
                                    {4, 8, 13}, {5, 7, 15}, {6, 9, 17}, {7, 9, 11}, {8, 9, 13}};
    static const char *const name[] = {"P1", "P2", "P3"};
    sked_builder *b = NULL;
    sked_machine_builder *m = NULL;
    OK(sked_builder_create(&b, err));
    OK(sked_machine_builder_create("three", &m, err));
    for (int d = 0; d < 3; d++)
        OK(sked_machine_builder_add_device(m, name[d], NULL, 1, INFINITY, NULL, err));
    OK(sked_machine_builder_set_link(m, 0, 1, err));
    for (int i = 0; i < 10; i++) {
        OK(sked_builder_add_op(b, NULL, NULL, 1, NULL, err));
        for (int d = 0; d < 3; d++)
            OK(sked_builder_add_duration(b, i, name[d], time[i][d], err));
    }
    for (int e = 0; e < 15; e++) {
        const sked_edge x = {edge[e][0], edge[e][1], NAN, edge[e][2], 0};
        OK(sked_builder_add_edge(b, &x, err));
    }
    OK(sked_builder_finish(b, graph, err));
    OK(sked_machine_builder_finish(m, machine, err));
    sked_builder_destroy(b);
    sked_machine_builder_destroy(m);
    sked_problem_init(problem, *graph);
    problem->machine = *machine;
    problem->devices = 3;
}
#endif
