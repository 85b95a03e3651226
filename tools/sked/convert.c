/*
 * sked convert: graph files into other formats; with .lp .mps .mzn the whole problem as a model; with
 * .machine.json the machine that a file describes.
 */
#include "cli.h"

#include <string.h>

static bool wants_machine(const char *path, const char *to)
{
    static const char ending[] = ".machine.json";
    const size_t n = strlen(path), e = sizeof ending - 1;
    return to ? strcmp(to, "machine") == 0 : n > e && strcmp(path + n - e, ending) == 0;
}

static sked_status convert_machine(const char *from, const char *to, sked_error *err)
{
    sked_machine *m = NULL;
    sked_status st = sked_machine_read(from, &m, err);
    if (st == SKED_OK)
        st = sked_machine_write(m, to, err);
    sked_machine_destroy(m);
    return st;
}

sked_status run_convert(arguments *a, sked_error *err)
{
    setup s = {0};
    const char *to = a->to, *path = a->operand.at[1];
    end_on_signal(true);
    if (wants_machine(path, to))
        return convert_machine(a->operand.at[0], path, err);
    sked_status st = load_problem(a, a->operand.at[0], &s, err);
    if (st == SKED_OK)
        st = apply_profile(&s, err);
    if (st == SKED_OK)
        st = add_back_edges(a, (uint64_t)a->seed, &s.graph, err);
    s.problem.graph = s.graph;
    if (st == SKED_OK && to == NULL && strcmp(path, "-") == 0)
        to = "native";
    begin_write(path);
    if (st == SKED_OK && sked_problem_exports(path, to))
        st = sked_problem_export(&s.problem, path, to, err);
    else if (st == SKED_OK)
        st = sked_graph_write(s.graph, path, to, err);
    clear_setup(&s);
    return st;
}
