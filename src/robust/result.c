/* What the loop hands over: members and their schedules, the course, the fitted model as parameters and
 * machine. */
#include "robust/robust_loop.h"

#include "base/explog.h"
#include "base/memory.h"
#include "base/sort.h"
#include "robust/posterior.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TYPES = 16 };

/* ------------------------------------------------------------------ members */

/* The measured schedules of one maker, best on the proxy first, into list[]; returns how many. */
static sked_status rank(const sked_i_rounds *l, const char *maker, sked_i_keyed *list, int32_t *count,
                        sked_error *err)
{
    *count = 0;
    for (int64_t k = 0; k < l->candidates.count; k++) {
        sked_metrics metrics = {.size = sizeof metrics};
        sked_i_candidate *e = l->candidates.entry[k];
        if (e->measured == 0 || strcmp(e->maker, maker) != 0)
            continue;
        const sked_status st = sked_schedule_measure(l->run->problem, e->schedule, &metrics, err);
        if (st != SKED_OK)
            return st;
        list[(*count)++] = (sked_i_keyed){sked_i_sort_key(-metrics.speedup), k};
    }
    sked_i_sort_keyed(list, list + *count, *count);
    return SKED_OK;
}

/* The entry hands its schedule over and remembers where it is. *least: estimate of the member's best. */
static void fill_entry(sked_i_rounds *l, sked_robust_member *m, const sked_i_keyed *x, double *least)
{
    sked_i_candidate *const e = l->candidates.entry[x->value];
    const double time = sked_i_candidates_time(e);
    const int32_t k = m->count++;
    assert(e->schedule != NULL && e->measured > 0);
    m->schedule[k] = e->schedule;
    e->schedule = NULL;
    m->proxy[k] = -sked_i_sort_value(x->key);
    m->target[k] = sked_i_robust_speedup(l->run, time);
    e->place = k;
    if (!isnan(time) && e->estimate < *least) {
        *least = e->estimate;
        m->time = time;
        m->best = k;
    }
}

static sked_status fill_member(sked_i_rounds *l, int member, const sked_i_keyed *list, int32_t count,
                               sked_robust_member *m, double *least, sked_error *err)
{
    sked_status st = SKED_OK;
    snprintf(m->label, sizeof m->label, "%s", sked_i_maker_names[member]);
    m->asked = (int32_t)fmin(INT32_MAX, (double)l->maker.asked[member]);
    m->seconds = l->maker.seconds[member];
    m->best = -1;
    m->time = INFINITY;
    SKED_NEW(m->schedule, count);
    SKED_NEW(m->proxy, count);
    SKED_NEW(m->target, count);
    for (int32_t k = 0; k < count; k++)
        fill_entry(l, m, &list[k], least);
    SKED_TRY(sked_problem_bound(l->run->problem, &m->lower_bound, NULL, err));
    SKED_TRY(sked_i_robust_diversity(l->run->problem, m, err));
cleanup:
    return st;
}

static sked_status tell_members(sked_i_rounds *l, sked_robust_result *r, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *list = NULL;
    double first = INFINITY;
    SKED_NEW(list, 2 * l->candidates.count);
    SKED_NEW0(r->member, SKED_I_LOOP_COUNT);
    for (int k = 0; k < SKED_I_LOOP_COUNT; k++) {
        int32_t count;
        double least = INFINITY;
        SKED_TRY(rank(l, sked_i_maker_names[k], list, &count, err));
        if (count == 0)
            continue;
        SKED_NEW0(r->member[r->count], 1);
        for (int32_t i = 0; i < count; i++)
            l->candidates.entry[list[i].value]->member = r->count;
        SKED_TRY(fill_member(l, k, list, count, r->member[r->count++], &least, err));
        r->winner = least < first ? r->count - 1 : r->winner;
        first = fmin(first, least);
    }
    if (r->count == 0 || r->member[r->winner]->best < 0)
        st = sked_i_fail(err, sked_i_robust_stopped(l->run) ? SKED_ERR_STOPPED : SKED_ERR_DEVICE,
                         "the target measured none of the schedules");
cleanup:
    free(list);
    return st;
}

/* ------------------------------------------------------------------ the course */

static sked_status tell_course(sked_i_rounds *l, sked_robust_result *r, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW0(r->measurement, l->trials);
    for (int64_t k = 0; k < l->trials; k++) {
        const sked_i_trial *t = &l->trial[k];
        double mean, deviation;
        assert(t->entry->member < r->count && t->entry->measured > 0);
        sked_i_candidates_expect(t->entry, &l->belief, &mean, &deviation);
        r->member[t->entry->member]->failures += isnan(t->time);
        r->measurement[k] = (sked_robust_measurement){.member = t->entry->member,
                                                      .candidate = t->entry->place,
                                                      .time = t->time,
                                                      .deviation = t->deviation,
                                                      .expected = t->expected,
                                                      .fitted = sked_i_exp(fmin(mean, 700)),
                                                      .best = t->best,
                                                      .again = t->again,
                                                      .resumed = t->resumed};
    }
    r->measurements = (int32_t)l->trials;
    r->failures = l->failures;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ parameters */

static const double quantile[5] = {0.05, 0.25, 0.5, 0.75, 0.95};
/* The same quantiles of the standard normal distribution. */
static const double normal[5] = {-1.6448536269514722, -0.6744897501960817, 0, 0.6744897501960817,
                                 1.6448536269514722};

/* The square of what it gives is a number, too. */
static double exp_within(double x)
{
    return sked_i_exp(fmax(-300, fmin(300, x)));
}

/*
 * A parameter from its logarithm in every guess: `row` of guess i is data[i * stride]. inverse: the user
 * knows 1 / it. list: room for two of each particle.
 */
static void describe(sked_robust_parameter *p, const sked_i_log_normal *prior, const sked_i_belief *b,
                     const double *data, int64_t stride, bool inverse, sked_i_keyed *list)
{
    double mean = 0, squares = 0, below = 0;
    const double sign = inverse ? -1 : 1;
    for (int k = 0; k < 5; k++)
        p->prior[k] = exp_within(sign * prior->mean + prior->spread * normal[k]);
    for (int32_t i = 0; i < b->particles; i++) {
        const double value = exp_within(sign * data[i * stride]);
        list[i] = (sked_i_keyed){sked_i_sort_key(value), i};
        mean += b->weight[i] * value;
    }
    for (int32_t i = 0; i < b->particles; i++) {
        const double value = sked_i_sort_value(list[i].key);
        squares += b->weight[i] * (value - mean) * (value - mean);
    }
    sked_i_sort_keyed(list, list + b->particles, b->particles);
    int32_t at = 0;
    for (int k = 0; k < 5; k++) {
        while (at < b->particles - 1 && below + b->weight[list[at].value] < quantile[k])
            below += b->weight[list[at++].value];
        p->posterior[k] = sked_i_sort_value(list[at].key);
    }
    p->mean = mean;
    p->spread = sqrt(squares);
}

typedef struct teller {
    const sked_i_rounds *l;
    sked_robust_result *r;
    sked_i_keyed *list; /* [2 * particles] */
    sked_i_names names; /* of the vector's parameters */
} teller;

/* One of the vector's parameters. */
static void tell_parameter(teller *t, int64_t k)
{
    const sked_i_belief *b = &t->l->belief;
    const sked_i_log_normal prior = {t->l->model.mean[k], t->l->model.spread[k]};
    sked_robust_parameter *p = &t->r->parameter[t->r->parameters++];
    snprintf(p->name, sizeof p->name, "%s", sked_i_names_at(&t->names, (int32_t)k));
    describe(p, &prior, b, b->guess + k, t->l->model.count,
             k >= t->l->model.links && k < t->l->model.at_start_up, t->list);
}

/* One that stands behind the links of a particle. */
static void tell_behind(teller *t, const char *name, int which, const sked_i_log_normal *prior)
{
    const sked_i_belief *b = &t->l->belief;
    sked_robust_parameter *p = &t->r->parameter[t->r->parameters++];
    snprintf(p->name, sizeof p->name, "%s", name);
    describe(p, prior, b, b->particle + b->links + which, b->dimension, false, t->list);
}

/* The types of most ops: chosen [types]. list: room for two of each. */
static void choose_types(const sked_i_model *m, sked_i_keyed *list, bool *chosen)
{
    for (int32_t k = 0; k < m->types; k++)
        list[k] = (sked_i_keyed){(uint64_t)m->ops, k}; /* minus its ops */
    for (int32_t i = 0; i < m->ops; i++)
        list[m->type_of[i]].key--;
    sked_i_sort_keyed(list, list + m->types, m->types);
    for (int32_t n = 0; n < MOST_TYPES && n < m->types; n++)
        chosen[list[n].value] = list[n].key < (uint64_t)m->ops;
}

static sked_status tell_parameters(sked_i_rounds *l, sked_robust_result *r, sked_error *err)
{
    const sked_i_model *m = &l->model;
    sked_status st = SKED_OK;
    sked_i_arena work = {0};
    teller t = {.l = l, .r = r};
    sked_i_keyed *types;
    bool *chosen;
    SKED_OWN(&work, t.list, 2 * (int64_t)l->belief.particles);
    SKED_OWN(&work, types, 2 * (int64_t)m->types);
    SKED_OWN0(&work, chosen, m->types);
    SKED_NEW0(r->parameter, m->at_start_up + 5 + MOST_TYPES + m->kinds);
    choose_types(m, types, chosen);
    SKED_TRY(sked_i_model_names(m, &t.names, err));
    for (int32_t k = 0; k < m->links; k++) {
        tell_parameter(&t, k);
        tell_parameter(&t, m->links + k);
    }
    tell_parameter(&t, m->at_start_up);
    tell_parameter(&t, m->at_warm);
    if (l->belief.trace.read > 0)
        tell_parameter(&t, m->at_read);
    for (int32_t k = 0; k < m->types; k++)
        if (chosen[k])
            tell_parameter(&t, m->at_type + k);
    for (int32_t k = 0; m->kinds > 1 && k < m->kinds; k++)
        tell_parameter(&t, m->at_kind + k);
    tell_behind(&t, "op factors", SKED_I_OP_SPREAD, &m->op_spread);
    tell_behind(&t, "noise", SKED_I_NOISE, &m->noise);
    r->noise = r->parameter[r->parameters - 1].mean;
cleanup:
    sked_i_names_free(&t.names);
    sked_i_arena_free(&work);
    return st;
}

/* ------------------------------------------------------------------ the fitted machine */

typedef struct fitted {
    const sked_i_model *m;
    const sked_i_rates *rates;
    sked_machine_builder *b;
} fitted;

static sked_status add_devices(const fitted *f, sked_error *err)
{
    const sked_machine *from = f->m->problem->machine;
    sked_status st = SKED_OK;
    for (int32_t d = 0; st == SKED_OK && d < f->m->costs.devices; d++) {
        char name[32];
        snprintf(name, sizeof name, "%d", (int)d);
        st = from == NULL ? sked_machine_builder_add_device(f->b, name, NULL, 1, INFINITY, NULL, err)
                          : sked_machine_builder_add_device(f->b, sked_machine_device_name(from, d),
                                                            sked_machine_device_type(from, d),
                                                            from->speed[d] / f->rates->kind[f->m->kind_of[d]],
                                                            from->memory[d], NULL, err);
    }
    return st;
}

/* What was learnt of the link between two devices; as it was given where there is none. */
static void take_link(const fitted *f, int32_t from, int32_t to, double *latency, double *bandwidth)
{
    const int32_t link = from < 0 || to < 0 ? -1 : sked_i_model_link(f->m, from, to);
    if (link < 0)
        return;
    *latency = f->rates->latency[link];
    *bandwidth = 1 / f->rates->per_byte[link];
}

/* The link of pairs without one of their own: as the first pair that has it shows. */
static sked_status add_common_link(const fitted *f, sked_error *err)
{
    const sked_machine *m = f->m->problem->machine;
    double latency = m->latency, bandwidth = m->bandwidth;
    if (isnan(latency))
        return SKED_OK;
    for (int64_t k = 0; k < (int64_t)m->n_link_kinds * m->n_link_kinds; k++)
        if (m->link_latency[k] == m->latency && m->link_bandwidth[k] == m->bandwidth &&
            f->m->link_of[k] >= 0) {
            latency = f->rates->latency[f->m->link_of[k]];
            bandwidth = 1 / f->rates->per_byte[f->m->link_of[k]];
            break;
        }
    return sked_machine_builder_set_link(f->b, latency, bandwidth, err);
}

static sked_status add_links(const fitted *f, sked_error *err)
{
    const sked_machine *m = f->m->problem->machine;
    if (m == NULL)
        return sked_machine_builder_set_link(f->b, f->rates->latency[0], 1 / f->rates->per_byte[0], err);
    sked_status st = add_common_link(f, err);
    for (int64_t i = 0; st == SKED_OK && i < sked_machine_given_link_count(m); i++) {
        const char *from, *to;
        double latency, bandwidth;
        bool oneway;
        sked_machine_given_link(m, i, &from, &to, &latency, &bandwidth, &oneway);
        const int32_t a = sked_i_model_device(m, from, -1), b = sked_i_model_device(m, to, a);
        take_link(f, a, b, &latency, &bandwidth);
        st = sked_machine_builder_add_link(f->b, from, to, latency, bandwidth, oneway, err);
    }
    return st;
}

/* A time for each device or type that the graph names for the op. */
static sked_status add_times_by_device(const fitted *f, int32_t op, const char *name, bool *any,
                                       sked_error *err)
{
    const sked_graph *g = f->m->problem->graph;
    sked_status st = SKED_OK;
    for (int64_t k = g->on_ptr[op]; st == SKED_OK && k < g->on_ptr[op + 1]; k++) {
        const int32_t kind = f->m->on_kind != NULL ? f->m->on_kind[g->on_name[k]] : -1;
        const double base = g->on_duration[k];
        if (kind < 0)
            continue;
        const double time =
            base > 0 ? (base + f->rates->start_up) * f->rates->factor[op] * f->rates->kind[kind] : base;
        st = sked_machine_builder_add_duration(f->b, name, sked_i_names_at(&g->on_names, g->on_name[k]), time,
                                               err);
        *any = true;
    }
    return st;
}

/* Durations as they were learnt: a profile that a schedule on this machine can use. */
static sked_status add_profile(const fitted *f, sked_error *err)
{
    const sked_graph *g = f->m->problem->graph;
    sked_status st = SKED_OK;
    for (int32_t i = 0; st == SKED_OK && i < g->n_ops; i++) {
        char number[16];
        bool any = false;
        const double base = g->duration[i];
        const double kind = f->m->problem->machine == NULL ? f->rates->kind[0] : 1;
        const char *name = g->op_names.count > 0 ? sked_i_names_at(&g->op_names, i)
                                                 : sked_graph_op_name(g, i, number, sizeof number);
        if (g->on_ptr != NULL)
            st = add_times_by_device(f, i, name, &any, err);
        if (st == SKED_OK && !any && base > 0)
            st = sked_machine_builder_add_duration(
                f->b, name, NULL, (base + f->rates->start_up) * f->rates->factor[i] * kind, err);
    }
    return st;
}

static sked_status build_machine(const sked_i_model *m, const double *parameter, sked_i_rates *rates,
                                 sked_machine **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_machine_builder *b = NULL;
    sked_i_model_rates(m, parameter, rates);
    sked_i_model_state(m, rates);
    SKED_TRY(sked_machine_builder_create("fitted", &b, err));
    const fitted f = {m, rates, b};
    SKED_TRY(add_devices(&f, err));
    SKED_TRY(add_links(&f, err));
    SKED_TRY(add_profile(&f, err));
    SKED_TRY(sked_machine_builder_finish(b, out, err));
cleanup:
    sked_machine_builder_destroy(b);
    return st;
}

/* Does a method take the machine? Whether a schedule on it keeps a promise or a limit is another question. */
static sked_status check_machine(const sked_problem *p, const sked_machine *m, sked_error *err)
{
    sked_problem q = *p;
    q.machine = m;
    q.latency = 0;
    q.bandwidth = q.horizon = q.memory_limit = INFINITY;
    const sked_status st = sked_problem_check(&q, err);
    return st == SKED_ERR_INFEASIBLE ? SKED_OK : st;
}

/*
 * What was learnt, as far as a machine can say it: targets may have told of times that no problem can add up.
 * Then what is farther from the prior than `far` is cut off there, as little as will do.
 */
static sked_status tell_machine(sked_i_rounds *l, sked_robust_result *r, sked_error *err)
{
    static const double far[] = {INFINITY, 64, 16, 4, 1, 0};
    const sked_i_model *m = &l->model;
    sked_status st = SKED_OK;
    sked_i_arena work = {0};
    sked_i_rates rates;
    sked_error why = {0};
    double *mean;
    SKED_OWN(&work, mean, m->count);
    SKED_TRY(sked_i_rates_open(&rates, &work, m, err));
    sked_i_belief_mean(&l->belief, mean);
    for (size_t k = 0; k < sizeof far / sizeof *far && r->machine == NULL; k++) {
        for (int64_t i = 0; i < m->count; i++)
            mean[i] = fmax(m->mean[i] - far[k], fmin(mean[i], m->mean[i] + far[k]));
        why = (sked_error){0};
        st = build_machine(m, mean, &rates, &r->machine, &why);
        if (st == SKED_OK)
            st = check_machine(l->run->problem, r->machine, &why);
        if (st == SKED_ERR_MEMORY)
            SKED_TRY(sked_i_no_memory(err));
        if (st == SKED_OK && k > 0)
            sked_i_robust_warn(l->run->opt,
                               "the fitted machine is cut off at %g times what was expected: the "
                               "times measured are more than a machine can say",
                               sked_i_exp(far[k]));
        if (st != SKED_OK) {
            sked_machine_destroy(r->machine);
            r->machine = NULL;
        }
    }
    if (st != SKED_OK)
        sked_i_robust_warn(l->run->opt, "there is no fitted machine: %s", why.message);
    st = SKED_OK;
cleanup:
    sked_i_arena_free(&work);
    return st;
}

sked_status sked_i_rounds_tell(sked_i_rounds *l, sked_robust_result *r, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_candidates_predict(&l->candidates, &l->belief, &l->limit, err));
    sked_i_candidates_estimate(&l->candidates, &l->belief);
    SKED_TRY(tell_members(l, r, err));
    SKED_TRY(tell_course(l, r, err));
    SKED_TRY(tell_parameters(l, r, err));
    SKED_TRY(tell_machine(l, r, err));
cleanup:
    return st;
}
