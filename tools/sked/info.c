/* sked info: what is in a graph, and what no schedule can beat. */
#include "cli.h"

#include <math.h>

static void print_json(const setup *s, const sked_graph_info *g, double bound, const char *why)
{
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "graph", sked_graph_name(s->graph));
    json_number(&j, "ops", g->ops);
    json_number(&j, "edges", (double)g->edges);
    json_number(&j, "carried_edges", (double)g->carried_edges);
    json_number(&j, "redundant_edges", g->redundant_edges < 0 ? NAN : (double)g->redundant_edges);
    json_number(&j, "sources", g->sources);
    json_number(&j, "sinks", g->sinks);
    json_number(&j, "isolated", g->isolated);
    json_number(&j, "types", g->types);
    json_number(&j, "depth", g->depth);
    json_number(&j, "width", g->width);
    json_bool(&j, "width_exact", g->width_exact);
    json_number(&j, "work", g->work);
    json_number(&j, "critical_path", g->critical_path);
    json_number(&j, "memory", g->memory);
    json_number(&j, "bytes", g->bytes);
    json_number(&j, "weight", g->weight);
    json_bool(&j, "integral", g->integral);
    json_open(&j, "resources", '[');
    for (int32_t r = 0; r < g->resources; r++) {
        json_open(&j, NULL, '{');
        json_text(&j, "name", sked_graph_resource_name(s->graph, r));
        json_number(&j, "capacity", s->capacity ? s->capacity[r] : sked_graph_capacity(s->graph, r));
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_number(&j, "devices", s->problem.devices);
    if (s->machine != NULL)
        json_machine(&j, &s->problem);
    json_text(&j, "objective", sked_objective_name(s->problem.objective));
    json_number(&j, "lower_bound", bound);
    json_text(&j, "bound_by", why);
    json_close(&j, '}');
}

static void print_text(const setup *s, const sked_graph_info *g, double bound, const char *why)
{
    char x[40];
    printable_text name;
    printf("%s\n", sked_graph_name(s->graph)[0] ? printable(sked_graph_name(s->graph), &name) : "(unnamed)");
    printf("  ops            %d (%d sources, %d sinks, %d isolated, %d types)\n", (int)g->ops,
           (int)g->sources, (int)g->sinks, (int)g->isolated, (int)g->types);
    printf("  edges          %lld", (long long)g->edges);
    if (g->carried_edges > 0)
        printf(", %lld loop-carried", (long long)g->carried_edges);
    if (g->redundant_edges >= 0)
        printf(", %lld implied by others", (long long)g->redundant_edges);
    printf("\n  depth          %d\n  width          %d%s\n", (int)g->depth, (int)g->width,
           g->width_exact ? "" : " or more");
    printf("  work           %s\n", human(g->work, x, sizeof x));
    printf("  critical path  %s", human(g->critical_path, x, sizeof x));
    if (g->critical_path > 0)
        printf(" (parallelism %.3g)", g->work / g->critical_path);
    printf("\n  memory         %s\n", human(g->memory, x, sizeof x));
    printf("  bytes          %s\n", human(g->bytes, x, sizeof x));
    for (int32_t r = 0; r < g->resources; r++)
        printf("  resource       %s, capacity %s\n", printable(sked_graph_resource_name(s->graph, r), &name),
               human(s->capacity ? s->capacity[r] : sked_graph_capacity(s->graph, r), x, sizeof x));
    if (s->machine != NULL)
        print_machine(&s->problem);
    printf("  lower bound    %s %s (%s)\n", sked_objective_name(s->problem.objective),
           human(bound, x, sizeof x), why);
    if (g->carried_edges > 0 && s->problem.objective != SKED_OBJECTIVE_II)
        printf("  loop           see the least initiation interval with --objective ii\n");
}

sked_status run_info(arguments *a, sked_error *err)
{
    setup s = {0};
    sked_graph_info g = {.size = sizeof g};
    double bound = NAN;
    const char *why = "";
    end_on_signal(true);
    sked_status st = load_problem(a, a->operand.at[0], &s, err);
    if (st == SKED_OK)
        st = apply_profile(&s, err);
    if (st == SKED_OK)
        st = sked_graph_describe(s.graph, &g, err);
    if (st == SKED_OK)
        st = sked_problem_check(&s.problem, err);
    if (st == SKED_OK)
        st = sked_problem_bound(&s.problem, &bound, &why, err);
    if (st == SKED_OK)
        warn_unknown_names(&s.problem);
    if (st == SKED_OK && a->json)
        print_json(&s, &g, bound, why);
    else if (st == SKED_OK)
        print_text(&s, &g, bound, why);
    clear_setup(&s);
    return st;
}
