#include "schedule/fingerprint.h"

#include "graph/attributes.h"
#include "graph/graph.h"
#include "problem/machine.h"
#include "problem/problem.h"
#include "schedule/equal.h"

#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t h, int64_t x)
{
    return sked_i_schedule_hash_mix(h, (uint64_t)x);
}

/* Equal numbers mix alike: there is one 0 and one NAN. */
static uint64_t mix_double(uint64_t h, double x)
{
    const double y = isnan(x) ? NAN : x + 0.0;
    int64_t bits;
    memcpy(&bits, &y, sizeof bits);
    return mix(h, bits);
}

/* Numbers of names mean something beside the names alone. */
static uint64_t mix_names(uint64_t h, const sked_i_names *names)
{
    h = mix(h, names->count);
    for (int32_t k = 0; k < names->count; k++) {
        for (const char *s = sked_i_names_at(names, k); *s; s++)
            h = mix(h, (uint8_t)*s);
        h = mix(h, -1);
    }
    return h;
}

/* A column that there is only where it is used counts by what it says, so that new ones change nothing. */
static uint64_t mix_attributes(uint64_t h, const sked_graph *g, const sked_i_attribute *table, int attributes,
                               int64_t count)
{
    for (int k = 0; k < attributes; k++)
        for (int64_t i = 0; i < count; i++) {
            const double x = sked_i_attribute_get(g, &table[k], i);
            if (!table[k].when_used)
                h = mix_double(h, x);
            else if (!sked_i_attribute_same(x, table[k].info.preset))
                h = mix_double(mix(mix(h, k), i), x);
        }
    return h;
}

/* All but its name, which is that of a file. */
static uint64_t mix_graph(uint64_t h, const sked_graph *g)
{
    const sked_i_names *const names[] = {&g->op_names, &g->type_names, &g->resource_names, &g->on_names,
                                         &g->verilog_names};
    h = mix(mix(h, g->n_ops), g->n_edges);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        h = mix_names(h, names[k]);
    h = mix_attributes(h, g, sked_i_op_table, sked_i_op_attributes, g->n_ops);
    h = mix_attributes(h, g, sked_i_edge_table, sked_i_edge_attributes, g->n_edges);
    for (int64_t e = 0; e < g->n_edges; e++)
        h = mix(mix(h, g->edge_from[e]), g->edge_to[e]);
    for (int32_t i = 0; i < g->n_ops; i++) {
        h = mix(mix(h, g->type[i]), g->demand_ptr[i + 1]);
        h = g->verilog != NULL ? mix(h, g->verilog[i]) : h;
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++)
            h = mix_double(mix(h, g->demand_resource[k]), g->demand_amount[k]);
        for (int64_t k = g->on_ptr ? g->on_ptr[i] : 0; g->on_ptr && k < g->on_ptr[i + 1]; k++)
            h = mix_double(mix(mix(h, i), g->on_name[k]), g->on_duration[k]);
    }
    return h;
}

/* All but its name, and its profile, which the graph has already. Links count where they are, and are not. */
static uint64_t mix_machine(uint64_t h, const sked_machine *m)
{
    h = mix_names(mix_names(h, &m->device_names), &m->type_names);
    h = mix_double(mix_double(mix(h, m->n_link_kinds), m->latency), m->bandwidth);
    for (int32_t d = 0; d < m->n_devices; d++) {
        h = mix_double(mix_double(h, m->speed[d]), m->memory[d]);
        h = mix(mix(h, m->type[d]), m->link_kind[d]);
    }
    for (int64_t k = 0; k < (int64_t)m->n_link_kinds * m->n_link_kinds; k++)
        h = mix_double(mix_double(h, m->link_latency[k]), m->link_bandwidth[k]);
    return h;
}

uint64_t sked_i_fingerprint_problem(const sked_problem *p)
{
    const double number[] = {p->latency, p->bandwidth,    p->horizon, p->ii,
                             p->alpha,   p->memory_limit, p->clock};
    uint64_t h = mix_graph(SKED_I_HASH_SEED, p->graph);
    h = mix(mix(mix(mix(h, p->devices), p->objective), p->lifetime), p->io);
    if (p->offsets || p->align != 1) /* records from before there were addresses stay what they are */
        h = mix(mix(h, p->align), p->offsets);
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        h = mix_double(h, number[k]);
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        h = mix_double(h, sked_i_capacity(p, r));
    for (int32_t i = 0; i < p->graph->n_ops; i++)
        h = mix_double(mix(h, p->fix_device != NULL && p->fix_device[i] >= 0 ? p->fix_device[i] : -1),
                       p->fix_start != NULL ? p->fix_start[i] : NAN);
    return p->machine != NULL ? mix_machine(h, p->machine) : h;
}
