#include "engine/binding/binding.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Steps of the search for fewer units, and items that a pool, or all registers, may have. */
static const int64_t colour_effort = 200000, most_items = 1 << 22;

/* ------------------------------------------------------------------ lifetimes */

static bool passes_value(const sked_i_bind *b, int64_t e)
{
    const sked_graph *g = b->problem->graph;
    return !(g->edge_order != NULL && g->edge_order[e]) && !(g->edge_distance[e] > 0 && b->schedule->ii == 0);
}

/* When the value of op is there: for its first reader. */
static double value_begin(const sked_i_bind *b, int32_t op)
{
    const sked_graph *g = b->problem->graph;
    double lag = INFINITY;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (passes_value(b, e))
            lag = fmin(lag, g->edge_lag[e]);
    return b->schedule->start[op] + fmax(0, isfinite(lag) ? lag : g->duration[op]);
}

/* How old the value is when the reader at the end of e starts. */
static double read_age(const sked_i_bind *b, int64_t e, double begin)
{
    const sked_graph *g = b->problem->graph;
    return b->schedule->start[g->edge_to[e]] + g->edge_distance[e] * b->schedule->ii - begin;
}

static double value_life(const sked_i_bind *b, int32_t op)
{
    const sked_graph *g = b->problem->graph;
    const double begin = value_begin(b, op);
    double life = 0;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (passes_value(b, e))
            life = fmax(life, read_age(b, e, begin));
    return g->memory[op] > 0 && life > b->slack ? life : 0;
}

/* Registers that a value passes until it has this age: it stays in each for an interval at most. */
static double registers_by(const sked_i_bind *b, double age)
{
    return b->schedule->ii > 0 ? ceil((age - b->slack) / b->schedule->ii) : 1;
}

/* ------------------------------------------------------------------ items */

/* Pools with whole amounts alone have units. */
static bool has_units(const sked_i_bind *b, int32_t r)
{
    const sked_graph *g = b->problem->graph;
    double sum = 0;
    for (int64_t k = g->user_ptr[r]; k < g->user_ptr[r + 1]; k++) {
        if (g->user_amount[k] != floor(g->user_amount[k]))
            return false;
        sum += g->user_amount[k];
    }
    return sum <= (double)most_items;
}

/* An op that takes longer than the interval meets itself: it takes several units in turn, one an iteration.
 */
static double items_of_demand(const sked_i_bind *b, int32_t op, double amount)
{
    const double turns = b->schedule->ii > 0 ? registers_by(b, b->problem->graph->duration[op]) : 1;
    return amount * fmax(1, turns);
}

static sked_status count_items(sked_i_bind *b, sked_error *err)
{
    const sked_graph *g = b->problem->graph;
    sked_status st = SKED_OK;
    double items = 0;
    uint8_t *bound = NULL;
    SKED_OWN(&b->arena, bound, g->n_resources);
    SKED_OWN(&b->arena, b->unit_item, g->demand_ptr[g->n_ops] + 1);
    SKED_OWN(&b->arena, b->register_item, (int64_t)g->n_ops + 1);
    for (int32_t r = 0; r < g->n_resources; r++)
        bound[r] = has_units(b, r);
    for (int32_t i = 0; i < g->n_ops && items <= (double)most_items; i++)
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++) {
            b->unit_item[k] = (int32_t)items;
            items += bound[g->demand_resource[k]] ? items_of_demand(b, i, g->demand_amount[k]) : 0;
        }
    b->unit_item[g->demand_ptr[g->n_ops]] = (int32_t)items;
    for (int32_t i = 0; i <= g->n_ops && items <= (double)most_items; i++) {
        const double life = i < g->n_ops ? value_life(b, i) : 0;
        b->register_item[i] = (int32_t)items;
        items += life > 0 ? registers_by(b, life) : 0;
    }
    if (items > (double)most_items)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "binding: more than %lld units and registers to be given", (long long)most_items);
    b->items = (int32_t)items;
cleanup:
    return st;
}

/* Units that are taken in turn belong to their op alone. */
static void fill_units(sked_i_bind *b)
{
    const sked_graph *g = b->problem->graph;
    const double ii = b->schedule->ii;
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++)
            for (int32_t m = b->unit_item[k]; m < b->unit_item[k + 1]; m++) {
                const double span = ii > 0 ? fmin(ii, g->duration[i]) : g->duration[i];
                b->item[m] =
                    (sked_i_bind_item){{b->schedule->start[i], span - b->slack}, g->demand_resource[k], 0};
            }
}

/* Register number q of a value: the value moves on to the next one after an interval. */
static sked_i_arc register_arc(const sked_i_bind *b, double begin, double life, int32_t q)
{
    const double ii = b->schedule->ii;
    return (sked_i_arc){begin, (ii > 0 ? fmin(ii, life - q * ii) : life) - b->slack};
}

/* Values of one size share registers. */
static sked_status fill_registers(sked_i_bind *b, sked_error *err)
{
    const sked_graph *g = b->problem->graph;
    sked_status st = SKED_OK;
    sked_i_names widths = {0};
    b->groups = g->n_resources;
    for (int32_t i = 0; i < g->n_ops; i++) {
        bool fresh;
        char width[40];
        const double life = value_life(b, i), begin = value_begin(b, i);
        sked_format_number(g->memory[i], width, sizeof width);
        const int32_t w = sked_i_names_add(&widths, width, strlen(width), &fresh);
        if (w < 0) {
            st = sked_i_no_memory(err);
            break;
        }
        for (int32_t m = b->register_item[i]; m < b->register_item[i + 1]; m++)
            b->item[m] = (sked_i_bind_item){register_arc(b, begin, life, m - b->register_item[i]),
                                            g->n_resources + w, 0};
    }
    b->groups += widths.count;
    sked_i_names_free(&widths);
    return st;
}

/* ------------------------------------------------------------------ groups */

/* Gives the items of a group their first colours. list: theirs. */
static sked_status colour_group(sked_i_bind *b, int32_t r, const int32_t *list, int32_t n, sked_i_arc *arc,
                                int32_t *colour, sked_error *err)
{
    sked_i_bind_group *const group = &b->group[r];
    const int32_t pools = b->problem->graph->n_resources;
    for (int32_t k = 0; k < n; k++)
        arc[k] = b->item[list[k]].arc;
    const sked_status st =
        sked_i_colour(arc, n, b->schedule->ii, colour_effort, colour, &group->colours, err);
    if (st != SKED_OK)
        return st;
    for (int32_t k = 0; k < n; k++)
        b->item[list[k]].colour = colour[k];
    if (r < pools && group->colours > sked_i_capacity(b->problem, r))
        group->colours = 0;
    return SKED_OK;
}

static sked_status colour_groups(sked_i_bind *b, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena arena = {0};
    int32_t *first, *list, *colour, node = 0;
    sked_i_arc *arc;
    SKED_OWN0(&b->arena, b->group, b->groups);
    SKED_OWN0(&arena, first, (int64_t)b->groups + 2);
    SKED_OWN(&arena, list, b->items);
    SKED_OWN(&arena, colour, b->items);
    SKED_OWN(&arena, arc, b->items);
    for (int32_t m = 0; m < b->items; m++)
        first[b->item[m].group + 2]++;
    for (int32_t r = 0; r < b->groups; r++)
        first[r + 2] += first[r + 1];
    for (int32_t m = 0; m < b->items; m++)
        list[first[b->item[m].group + 1]++] = m;
    for (int32_t r = 0; r < b->groups; r++) {
        SKED_TRY(colour_group(b, r, list + first[r], first[r + 1] - first[r], arc, colour, err));
        b->group[r].node = node;
        node += b->group[r].colours;
    }
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

/* ------------------------------------------------------------------ links */

static bool is_bound(const sked_i_bind *b, int32_t item)
{
    return b->group[b->item[item].group].colours > 0;
}

/* What computes op: its first unit, else the op itself. */
static int32_t maker(const sked_i_bind *b, int32_t op)
{
    const sked_graph *g = b->problem->graph;
    const int32_t first = b->unit_item[g->demand_ptr[op]], end = b->unit_item[g->demand_ptr[op + 1]];
    return first < end && is_bound(b, first) ? first : -1 - op;
}

static void add_link(sked_i_bind *b, int32_t source, int32_t sink, int32_t input)
{
    b->link[b->links++] = (sked_i_bind_link){source, sink, input};
}

/* Operands come from a register, or straight from what made them where they are read as they appear. */
static sked_status make_links(sked_i_bind *b, sked_error *err)
{
    const sked_graph *g = b->problem->graph;
    sked_status st = SKED_OK;
    sked_i_keyed *operand = NULL;
    SKED_NEW(operand, 2 * g->n_edges);
    SKED_OWN(&b->arena, b->link, g->n_edges + b->items);
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int64_t k = 0, count = sked_i_operands(g, i, operand); k < count; k++) {
            const int64_t e = operand[k].value;
            const int32_t from = g->edge_from[e], first = b->register_item[from];
            if (!passes_value(b, e))
                continue;
            const double age = read_age(b, e, value_begin(b, from));
            const bool stored = first < b->register_item[from + 1] && age > b->slack;
            add_link(b, stored ? first + (int32_t)registers_by(b, age) - 1 : maker(b, from), maker(b, i),
                     (int32_t)k);
        }
    for (int32_t i = 0; i < g->n_ops; i++)
        for (int32_t m = b->register_item[i]; m < b->register_item[i + 1]; m++)
            add_link(b, m > b->register_item[i] ? m - 1 : maker(b, i), m, 0);
cleanup:
    free(operand);
    return st;
}

/* As exact as the validator. */
static double find_slack(const sked_i_bind *b)
{
    const sked_graph *g = b->problem->graph;
    const double *start = b->schedule->start;
    bool whole = g->integral && b->schedule->ii == floor(b->schedule->ii);
    double scale = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        whole = whole && start[i] == floor(start[i]);
        scale = fmax(scale, start[i] + g->duration[i]);
    }
    return whole ? 0 : 1e-9 * scale;
}

sked_status sked_i_bind_make(sked_i_bind *b, const sked_problem *p, const sked_schedule *s, sked_error *err)
{
    sked_status st = SKED_OK;
    *b = (sked_i_bind){.problem = p, .schedule = s};
    if (s->devices > 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "binding is for problems without devices");
    b->slack = find_slack(b);
    SKED_TRY(count_items(b, err));
    SKED_OWN(&b->arena, b->item, b->items);
    fill_units(b);
    SKED_TRY(fill_registers(b, err));
    SKED_TRY(colour_groups(b, err));
    SKED_TRY(make_links(b, err));
cleanup:
    return st;
}

void sked_i_bind_free(sked_i_bind *b)
{
    sked_i_arena_free(&b->arena);
}
