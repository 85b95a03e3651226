/* sked convert: graph files into other formats; with .lp .mps .mzn the whole problem as a model. */
#include "cli.h"

#include <string.h>

sked_status run_convert(arguments *a, sked_error *err)
{
    setup s = {0};
    const char *to = a->to, *path = a->operand.at[1];
    sked_status st = check_output(a, path, err);
    if (st == SKED_OK)
        st = load_problem(a, a->operand.at[0], &s, err);
    if (st == SKED_OK && to == NULL && strcmp(path, "-") == 0)
        to = "native";
    if (st == SKED_OK && sked_problem_exports(path, to))
        st = sked_problem_export(&s.problem, path, to, err);
    else if (st == SKED_OK)
        st = sked_graph_write(s.graph, path, to, err);
    clear_setup(&s);
    return st;
}
