#include "engine/clause/choice.h"

#include <assert.h>

typedef struct rule {
    int32_t target, most;
    int64_t begin, end; /* options */
} rule;

struct sked_i_clause_choices {
    sked_i_clause_solver *solver;
    rule *rule;
    int64_t n_rules, rule_cap;
    sked_i_clause_option *option;
    int64_t n_options, option_cap;
    int64_t *at;    /* [views + 1] into woken */
    int64_t *woken; /* rules to look at when the view rises */
    int32_t number;
};

sked_i_clause_choices *sked_i_clause_choices_create(sked_i_clause_solver *s)
{
    sked_i_clause_choices *c = sked_i_arena_alloc_zero(&s->memory, 1, sizeof *c);
    if (c != NULL)
        c->solver = s;
    return c;
}

bool sked_i_clause_choices_add(sked_i_clause_choices *c, int32_t target, int32_t most,
                               const sked_i_clause_option *option, int32_t count)
{
    if (!SKED_OWN_GROW(&c->solver->memory, c->rule, c->rule_cap, c->n_rules + 1) ||
        !SKED_OWN_GROW(&c->solver->memory, c->option, c->option_cap, c->n_options + count))
        return false;
    assert(c->at == NULL); /* not laid out yet */
    c->rule[c->n_rules++] = (rule){target, most, c->n_options, c->n_options + count};
    for (int32_t k = 0; k < count; k++)
        c->option[c->n_options++] = option[k];
    return true;
}

/* ------------------------------------------------------------------ propagation */

static bool apply(sked_i_clause_solver *s, const sked_i_clause_choices *c, int64_t number)
{
    const rule *r = &c->rule[number];
    int32_t least = r->most;
    s->work += r->end - r->begin;
    for (int64_t k = r->begin; k < r->end; k++) {
        const sked_i_clause_option *o = &c->option[k];
        const int32_t value = s->low[o->view] + o->offset;
        if (value <= s->low[r->target] && !sked_i_clause_false(s, o->on))
            return true;
        if (value < least && !sked_i_clause_false(s, o->on))
            least = value;
    }
    return sked_i_clause_raise(
        s, r->target, least,
        (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_PROPAGATOR, .count = c->number, .ref = number});
}

static bool follow(sked_i_clause_solver *s, void *self, sked_i_lit l, int32_t old)
{
    const sked_i_clause_choices *c = self;
    (void)old;
    for (int64_t k = c->at[l.view]; k < c->at[l.view + 1]; k++)
        if (!apply(s, c, c->woken[k]))
            return false;
    return true;
}

/* Every option is excluded, or high enough; an exclusion is the more general reason. */
static void explain(sked_i_clause_solver *s, void *self, sked_i_lit l, int64_t note, int64_t before)
{
    const sked_i_clause_choices *c = self;
    const rule *r = &c->rule[note];
    for (int64_t k = r->begin; k < r->end; k++) {
        const sked_i_clause_option *o = &c->option[k];
        const sked_i_lit no = sked_i_lit_not(o->on);
        if (s->root[o->view] >= l.value - o->offset)
            continue;
        if (sked_i_clause_low_before(s, no.view, before) >= no.value)
            sked_i_clause_conflict_add(s, no.view, no.value);
        else
            sked_i_clause_conflict_add(s, o->view, l.value - o->offset);
    }
}

/* ------------------------------------------------------------------ watches */

static void count_watch(int64_t *at, int64_t *woken, int32_t view, int64_t number)
{
    if (woken == NULL)
        at[view + 1]++;
    else
        woken[at[view]++] = number;
}

static void watch_all(const sked_i_clause_choices *c, int64_t *at, int64_t *woken)
{
    for (int64_t r = 0; r < c->n_rules; r++)
        for (int64_t k = c->rule[r].begin; k < c->rule[r].end; k++) {
            count_watch(at, woken, c->option[k].view, r);
            count_watch(at, woken, c->option[k].on.view ^ 1, r);
        }
}

static bool lay_out(sked_i_clause_choices *c)
{
    const int64_t views = 2 * (int64_t)c->solver->n_vars;
    c->at = sked_i_arena_alloc_zero(&c->solver->memory, views + 2, sizeof *c->at);
    c->woken = sked_i_arena_alloc(&c->solver->memory, 2 * c->n_options, sizeof *c->woken);
    if (c->at == NULL || c->woken == NULL)
        return false;
    watch_all(c, c->at, NULL);
    for (int64_t v = 0; v < views; v++)
        c->at[v + 1] += c->at[v];
    watch_all(c, c->at, c->woken); /* moves every begin to its end, which is the begin of the next */
    for (int64_t v = views; v > 0; v--)
        c->at[v] = c->at[v - 1];
    c->at[0] = 0;
    return true;
}

bool sked_i_clause_choices_plug(sked_i_clause_choices *c)
{
    const sked_i_clause_propagator plug = {.self = c, .follow = follow, .explain = explain};
    c->solver->failed = c->solver->failed || !lay_out(c);
    return !c->solver->failed && sked_i_clause_add_propagator(c->solver, plug, &c->number);
}
