/* Units and registers for a schedule that is there: limits and outputs around src/engine/binding. */
#include "base/sized.h"
#include "base/text.h"
#include "engine/binding/binding.h"
#include "problem/lower.h"
#include "schedule/schedule.h"

#include <stdio.h>

typedef struct limits {
    sked_i_client client; /* first: `over` has nothing else */
    const sked_bind_options *opt;
    double begin;
} limits;

/* The clock is asked now and then. */
static bool is_over(sked_i_client *client)
{
    const limits *const l = (const limits *)client;
    const sked_bind_options *opt = l->opt;
    if ((opt->iterations > 0 && client->evaluations >= opt->iterations) ||
        (opt->stop != NULL && *opt->stop != 0))
        return true;
    return client->evaluations % 16 == 0 && sked_clock() - l->begin >= opt->time_limit;
}

void sked_bind_options_init_sized(sked_bind_options *opt, size_t size)
{
    const sked_bind_options preset = {.time_limit = 1};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

/* Colours of the items of each of n lists; those of groups without colours are left out. */
static sked_status take_lists(const sked_i_bind *b, const int32_t *item, int64_t n, int32_t base,
                              int64_t **at, int32_t **list, sked_error *err)
{
    sked_status st = SKED_OK;
    int64_t count = 0;
    SKED_NEW(*at, n + 1);
    SKED_NEW(*list, (int64_t)item[n] - item[0]);
    for (int64_t k = 0; k < n; k++) {
        (*at)[k] = count;
        for (int32_t m = item[k]; m < item[k + 1]; m++) {
            const sked_i_bind_group *group = &b->group[b->item[m].group];
            if (group->colours > 0)
                (*list)[count++] = b->item[m].colour + (base < 0 ? 0 : group->node - base);
        }
    }
    (*at)[n] = count;
cleanup:
    return st;
}

/* Units count within their pool, registers through all widths. */
static sked_status take_units(const sked_i_bind *b, sked_schedule *s, sked_error *err)
{
    const sked_graph *g = b->problem->graph;
    const int32_t base = b->groups > g->n_resources ? b->group[g->n_resources].node : 0;
    sked_status st = SKED_OK;
    sked_i_schedule_unbind(s);
    s->demands = g->demand_ptr[g->n_ops];
    SKED_TRY(take_lists(b, b->unit_item, s->demands, -1, &s->unit_at, &s->unit, err));
    SKED_TRY(take_lists(b, b->register_item, g->n_ops, base, &s->register_at, &s->registers, err));
cleanup:
    if (st != SKED_OK)
        sked_i_schedule_unbind(s);
    return st;
}

static void tell(const sked_i_bind *b, sked_binding *out)
{
    const sked_graph *g = b->problem->graph;
    for (int32_t r = g->n_resources; r < b->groups; r++)
        out->registers += b->group[r].colours;
    out->sources = b->cost;
    out->first_sources = b->first_cost;
    out->iterations = b->moves;
    for (int32_t r = 0; r < g->n_resources && out->note[0] == 0; r++)
        if (b->group[r].colours == 0 && g->user_ptr[r] < g->user_ptr[r + 1])
            snprintf(out->note, sizeof out->note, "pool '%s' has no units: %s",
                     sked_i_quoted_text(sked_graph_resource_name(g, r)).text,
                     "amounts are not whole, or units that stay the same need more than its capacity");
}

sked_status sked_schedule_bind(const sked_problem *p, const sked_bind_options *opt, sked_schedule *s,
                               sked_binding *out, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    SKED_TAKE(sked_bind_options, opt)
    SKED_CHECK_OUTPUT(sked_binding, out);
    sked_binding found = {.size = sizeof found};
    limits l = {.client = {.over = is_over}, .opt = opt, .begin = sked_clock()};
    sked_i_bind b = {0};
    sked_status st = SKED_OK;
    if (opt->iterations < 0 || !(opt->time_limit >= 0))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "limits of a binding must be 0 or more");
    SKED_TRY(sked_schedule_validate(p, s, err));
    sked_i_rng_seed(&l.client.rng, opt->seed, 0);
    SKED_TRY(sked_i_bind_make(&b, p, s, err));
    SKED_TRY(sked_i_bind_improve(&b, &l.client, err));
    SKED_TRY(take_units(&b, s, err));
    tell(&b, &found);
    SKED_GIVE(out, found);
cleanup:
    sked_i_bind_free(&b);
    return st;
}
