/* sked convert: graph files into other formats; with .lp .mps .mzn the whole problem as a model. */
#include "cli.h"

#include <string.h>

sked_status run_convert(arguments *a, sked_error *err)
{
    setup s = {0};
    end_on_signal(true);
    sked_status st = load_problem(a, a->operand.at[0], &s, err);
    const char *to = a->to, *path = a->operand.at[1];
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
