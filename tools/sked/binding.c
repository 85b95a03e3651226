/* Units and registers of a schedule: how much of the time each is in use. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

/* The interval, or the makespan. */
static double period_of(const sked_problem *p, const sked_schedule *s)
{
    double end = 0;
    for (int32_t i = 0; i < s->ops; i++)
        end = fmax(end, s->start[i] + sked_graph_duration(p->graph, i));
    return s->ii > 0 ? s->ii : end;
}

/* Units of a pool in use, 0 where it is not bound; share[0..most-1]: how much of the time the first ones are.
 */
static int32_t pool_use(const sked_problem *p, const sked_schedule *s, int32_t r, double *share, int32_t most)
{
    const double period = period_of(p, s);
    int32_t units = 0;
    for (int32_t k = 0; k < most; k++)
        share[k] = 0;
    for (int32_t i = 0; i < s->ops; i++) {
        const int32_t *unit = NULL;
        const int32_t n = sked_schedule_units(p->graph, s, i, r, &unit);
        const double amount = sked_graph_demand(p->graph, i, r);
        for (int32_t k = 0; k < n; k++) {
            units = unit[k] >= units ? unit[k] + 1 : units;
            if (unit[k] < most)
                share[unit[k]] += sked_graph_duration(p->graph, i) * amount / n;
        }
    }
    for (int32_t k = 0; k < most; k++)
        share[k] /= period > 0 ? period : 1;
    return units;
}

enum { shown_units = 8 };

void print_binding(const sked_problem *p, const sked_schedule *s, const sked_binding *bound)
{
    double share[shown_units];
    printable_text name;
    for (int32_t r = 0; r < sked_graph_resource_count(p->graph); r++) {
        const int32_t units = pool_use(p, s, r, share, shown_units);
        if (units == 0)
            continue;
        printf("  units          %s, %d:", printable(sked_graph_resource_name(p->graph, r), &name),
               (int)units);
        for (int32_t k = 0; k < units && k < shown_units; k++)
            printf(" %.0f %%", 100 * share[k]);
        printf(units > shown_units ? " ...\n" : "\n");
    }
    printf("  registers      %d\n", (int)bound->registers);
    printf("  sources        %lld at inputs of units and registers, %lld before the search\n",
           (long long)bound->sources, (long long)bound->first_sources);
    if (bound->note[0])
        printf("  binding        %s\n", printable(bound->note, &name));
}

void json_binding(json_out *j, const sked_problem *p, const sked_schedule *s, const sked_binding *bound)
{
    double none[1];
    json_open(j, "binding", '{');
    json_open(j, "units", '[');
    for (int32_t r = 0; r < sked_graph_resource_count(p->graph); r++) {
        const int32_t units = pool_use(p, s, r, none, 0);
        double *share = malloc(((size_t)units + 1) * sizeof *share);
        if (share == NULL || units == 0) {
            free(share);
            continue;
        }
        pool_use(p, s, r, share, units);
        json_open(j, NULL, '{');
        json_text(j, "resource", sked_graph_resource_name(p->graph, r));
        json_number(j, "units", units);
        json_open(j, "utilisation", '[');
        for (int32_t k = 0; k < units; k++)
            json_number(j, NULL, share[k]);
        json_close(j, ']');
        json_close(j, '}');
        free(share);
    }
    json_close(j, ']');
    json_number(j, "registers", bound->registers);
    json_number(j, "sources", (double)bound->sources);
    json_number(j, "first_sources", (double)bound->first_sources);
    json_text(j, "note", bound->note[0] ? bound->note : NULL);
    json_close(j, '}');
}
