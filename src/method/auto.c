/*
 * The default: a portfolio. Quick methods first, then the improving ones share what is left of the time.
 * All members offer to one list of incumbents, so the answer is never worse than what any of them found in
 * its share.
 *
 * Members take turns on all threads. With several threads, the member that proves gets one of them from the
 * start, beside the member before it: a proof ends the run early. A member that keeps its state goes on from
 * there in its second turn.
 */
#include "form/shop.h"
#include "method/hands.h"
#include "problem/least_registers.h"

#include <string.h>

typedef struct member {
    const char *method;
    const char *setting; /* NULL: presets */
    double share;        /* of the round's time; 0: quick, runs once, in the first round */
    bool proves;         /* a refusal by it is final; with several threads it starts beside the one before */
} member;

static const member for_makespan[] = {
    {"list", NULL, 0, false},   {"list", "scheme=serial", 0, false}, {"list", "direction=backward", 0, false},
    {"heft", NULL, 0, false},   {"search", NULL, 0.85, false},       {"exact", "max-ops=200", 1, true},
    {"search", NULL, 1, false},
};
/* Small shops: exact proves most of them within seconds, and finds what tabu search misses. */
static const member for_shops[] = {
    {"list", NULL, 0, false},
    {"list", "scheme=serial", 0, false},
    {"list", "direction=backward", 0, false},
    {"search", NULL, 0.04, false},
    {"exact", NULL, 0.7, true},
    {"search", NULL, 1, false},
};
/* Larger ones it proves within minutes, if at all. */
static const member for_large_shops[] = {
    {"list", NULL, 0, false},
    {"list", "scheme=serial", 0, false},
    {"list", "direction=backward", 0, false},
    {"search", NULL, 0.1, false},
    {"exact", NULL, 0.5, true},
    {"search", NULL, 1, false},
};
/* Heterogeneous devices: exact proves many small problems within moments, and finds what annealing misses. */
static const member for_machines[] = {
    {"list", NULL, 0, false},
    {"heft", NULL, 0, false},
    {"list", "direction=backward", 0, false},
    {"heft", "device=oct", 0, false},
    {"heft", "device=critical", 0, false},
    {"heft", "device=lookahead", 0, false},
    {"search", NULL, 0.4, false},
    {"exact", "max-ops=40", 0.5, true},
    {"search", NULL, 1, false},
};
/* The same where lookahead would take long and exact has no chance. */
static const member for_large_machines[] = {
    {"list", NULL, 0, false},         {"heft", NULL, 0, false},
    {"heft", "device=oct", 0, false}, {"list", "direction=backward", 0, false},
    {"search", NULL, 1, false},
};
static const member for_shape[] = {{"list", NULL, 0, false},
                                   {"fds", NULL, 0.2, false},
                                   {"gaus", NULL, 0.7, false},
                                   {"exact", NULL, 1, true}};
static const member for_loops[] = {
    {"modulo-list", NULL, 0, false}, {"modulo-search", NULL, 0.7, false}, {"exact", NULL, 1, true}};
/* Memory limits: exact refuses several devices at once; else it proves within moments what search misses. */
static const member for_limits[] = {{"list", NULL, 0, false},
                                    {"search", NULL, 0.1, false},
                                    {"exact", "max-ops=150", 0.6, true},
                                    {"search", NULL, 1, false}};
/* Pipelined, for another objective than the interval and the length. */
static const member for_shaped_loops[] = {
    {"modulo-list", NULL, 0, false}, {"gaus", NULL, 0.8, false}, {"exact", NULL, 1, true}};

/* Registers of a pipeline that takes an input every cycle: one method proves them, clock and all. */
static const member for_pipelines[] = {{"registers", NULL, 0, true}};
/* At a longer interval it has a bound, and a start for the others. */
static const member for_whole_loops[] = {{"registers", NULL, 0, false},
                                         {"modulo-list", NULL, 0, false},
                                         {"gaus", NULL, 0.8, false},
                                         {"exact", NULL, 1, true}};

typedef struct plan {
    const member *members;
    int count;
} plan;

#define PLAN(list) ((plan){list, (int)(sizeof(list) / sizeof *(list))})

/* Ops of small shops, and of those that are worth a proof at all. */
static const int32_t small_shop = 160, large_shop = 250;

/* What lookahead costs on heterogeneous devices, and what is quick: about a tenth of a second. */
static const double quick_work = 2e6;

static double lookahead_work(const sked_problem *p)
{
    return ((double)p->graph->n_ops + (double)p->graph->n_edges) * p->devices * p->devices;
}

static bool is_pipeline(const sked_problem *p)
{
    return p->ii == 1 && sked_i_registers_fit(p);
}

static plan choose(const sked_problem *p)
{
    const bool length = p->objective == SKED_OBJECTIVE_II || p->objective == SKED_OBJECTIVE_MAKESPAN;
    if (sked_i_registers_fit(p))
        return p->clock > 0 ? PLAN(for_pipelines) : PLAN(for_whole_loops);
    if (p->ii != 0 || p->objective == SKED_OBJECTIVE_II)
        return length ? PLAN(for_loops) : PLAN(for_shaped_loops);
    if (sked_i_has_memory_limit(p))
        return PLAN(for_limits);
    if (p->objective == SKED_OBJECTIVE_MAKESPAN && p->machine != NULL)
        return lookahead_work(p) <= quick_work ? PLAN(for_machines) : PLAN(for_large_machines);
    if (p->graph->n_ops <= large_shop && sked_i_shop_model_fits(p))
        return p->graph->n_ops <= small_shop ? PLAN(for_shops) : PLAN(for_large_shops);
    return p->objective == SKED_OBJECTIVE_MAKESPAN ? PLAN(for_makespan) : PLAN(for_shape);
}

/* A member that does not take the problem, or found nothing, leaves the others their turn. */
static bool may_go_on(sked_status st)
{
    return st == SKED_OK || st == SKED_ERR_UNSUPPORTED || st == SKED_ERR_INFEASIBLE || st == SKED_ERR_STOPPED;
}

/* What the members said while there was no schedule; the first of each kind, a proof before others. */
typedef struct answers {
    sked_error none;    /* INFEASIBLE */
    sked_error refusal; /* UNSUPPORTED */
    bool tried;         /* some member took the problem */
    bool stopped;       /* one of them ran out of time */
} answers;

static void hear(answers *a, const member *m, sked_status st, const sked_error *why)
{
    a->tried = a->tried || st != SKED_ERR_UNSUPPORTED;
    a->stopped = a->stopped || st == SKED_ERR_STOPPED;
    if (st == SKED_ERR_INFEASIBLE && (a->none.status == SKED_OK || m->proves))
        a->none = *why;
    if (st == SKED_ERR_UNSUPPORTED && a->refusal.status == SKED_OK)
        a->refusal = *why;
}

/* A run without a schedule. Where every member refuses the problem, so does auto, in the words of the first:
 * it is the one made for such problems. */
static sked_status conclude(const answers *a, sked_error *err)
{
    if (a->none.status != SKED_OK)
        return sked_i_fail(err, a->none.status, "%s", a->none.message);
    if (!a->tried && a->refusal.status != SKED_OK)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%s", a->refusal.message);
    if (a->stopped)
        return sked_i_fail(err, SKED_ERR_STOPPED, "stopped before any method had a first schedule");
    return SKED_OK; /* the driver says what is missing */
}

/*
 * A quick member gets a moment even when the time is up: some schedule is better than none. So does search:
 * where ops and devices are so many that nothing is quick, it has one device to begin with.
 */
static bool owes_schedule(const sked_i_run *run, const member *m)
{
    const bool quick = m->share == 0 || strcmp(m->method, "search") == 0;
    return quick && sked_i_run_incumbent(run) == NULL && !sked_i_limit_halted(&run->limit);
}

/* Where transfers cost, the incumbent is the warm start of the improving members. */
static sked_status run_in_turn(sked_i_run *run, const member *m, double budget, sked_error *why)
{
    enum { moment_ms = 40 };
    const bool warm = m->share > 0 && sked_i_has_transfers(run->problem);
    const sked_schedule *incumbent = sked_i_run_incumbent(run);
    sked_schedule *start = NULL;
    sked_status st = SKED_OK;
    if (warm && incumbent != NULL)
        st = sked_schedule_clone(incumbent, &start, why);
    const sked_i_member turn = {.method = m->method,
                                .setting = m->setting,
                                .seconds = budget,
                                .grace = owes_schedule(run, m) ? 1e-3 * moment_ms : 0,
                                .start = start};
    if (st == SKED_OK)
        st = sked_i_run_member(run, &turn, why);
    sked_schedule_destroy(start);
    return st;
}

/* ------------------------------------------------------------------ two members at a time */

typedef struct side {
    sked_i_hand hand;
    const member *m;
    sked_status status;
    sked_error why;
} side;

typedef struct pair {
    const member *first;
    double seconds;
    volatile sig_atomic_t halt; /* what both sides look at */
    bool hasty;                 /* one may end the other */
} pair;

/* Nothing is left for the other side to do, or it had better go on with all threads. */
static bool ends_both(const side *s)
{
    const sked_i_run *run = s->hand.run;
    if (s->status == SKED_ERR_INFEASIBLE || s->status == SKED_ERR_UNSUPPORTED)
        return s->m->proves;
    return sked_i_run_proved(run) || (sked_i_run_over(run) && !sked_i_limit_reached(&run->limit));
}

static sked_status open_side(sked_i_hand *hand, sked_error *err)
{
    pair *p = hand->hands->owner;
    (void)err;
    ((side *)hand)->m = p->first + hand->index;
    hand->share.run.limit.halt = &p->halt;
    hand->share.options.threads = hand->index == 0 ? hand->hands->run->options->threads - 1 : 1;
    return SKED_OK;
}

static sked_status run_side(sked_i_hand *hand, sked_error *err)
{
    side *s = (side *)hand;
    pair *p = hand->hands->owner;
    const sked_i_member turn = {.method = s->m->method, .setting = s->m->setting, .seconds = p->seconds};
    s->status = sked_i_run_member(hand->run, &turn, &s->why);
    if (p->hasty && ends_both(s))
        sked_i_ask_stop(&p->halt);
    return may_go_on(s->status) ? SKED_OK : sked_i_fail(err, s->status, "%s", s->why.message);
}

/*
 * `first` on all threads but one, the one after it, which proves, on that; what they find is taken in this
 * order. *refuted: it has proved that there is no schedule.
 */
static sked_status run_beside(sked_i_run *run, const member *first, double seconds, bool *refuted,
                              answers *said, sked_error *err)
{
    sked_status st = SKED_OK;
    pair p = {.first = first, .seconds = seconds, .hasty = run->options->iterations == 0};
    sked_i_hands sides = {.run = run, .apart = true, .size = sizeof(side), .open = open_side, .owner = &p};
    SKED_TRY(sked_i_hands_fill(&sides, 2, err));
    SKED_TRY(sked_i_hands_work(&sides, 2, run_side, err));
    for (int k = 0; k < 2; k++) {
        const side *s = (const side *)sides.hand[k];
        hear(said, s->m, s->status, &s->why);
        *refuted = s->status == SKED_ERR_INFEASIBLE && k == 1;
    }
cleanup:
    sked_i_hands_close(&sides);
    return st;
}

/* ------------------------------------------------------------------ rounds */

static bool precedes_proof(plan todo, int i)
{
    return todo.members[i].share > 0 && i + 1 < todo.count && todo.members[i + 1].proves;
}

static const double short_share = 0.2;

/*
 * Is this the member that the proving one shall start beside? A short turn is worth waiting for: a proof is
 * faster from its schedule, on all threads.
 */
static bool starts_beside(const sked_i_run *run, plan todo, int i)
{
    return run->options->threads > 1 && precedes_proof(todo, i) && todo.members[i].share > short_share;
}

/*
 * Seconds of a turn. A short one before a proof does not grow with the limit for ever: what it has not found
 * in its share of this time would not help a proof that takes as long.
 */
static double budget_of(plan todo, int i, double left)
{
    static const double most_shared = 12.5;
    const double share = todo.members[i].share;
    const bool brief = precedes_proof(todo, i) && share < short_share;
    return (brief ? fmin(left, most_shared) : left) * (share > 0 ? share : 1);
}

static sked_status run_round(sked_i_run *run, plan todo, int round, double seconds, bool *any, answers *said,
                             sked_error *err)
{
    const double end = sked_clock() + seconds;
    *any = false;
    for (int i = 0; i < todo.count && !sked_i_run_proved(run); i++) {
        const member *m = &todo.members[i];
        sked_error why = {0};
        if (m->share == 0 && round > 0)
            continue;
        if (sked_i_run_over(run) && !owes_schedule(run, m))
            continue;
        double left = end - sked_clock();
        if (!(left > 0) && !owes_schedule(run, m))
            continue;
        if (round == 0 && starts_beside(run, todo, i)) {
            bool refuted = false;
            const sked_status both = run_beside(run, m, 0.5 * left, &refuted, said, err);
            if (both != SKED_OK || refuted || sked_i_run_proved(run) || sked_i_run_over(run))
                return both;
            *any = true;
            left = end - sked_clock();
        }
        const double budget = budget_of(todo, i, left), turn = sked_clock() + budget;
        const sked_status st = run_in_turn(run, m, budget, &why);
        if (!may_go_on(st))
            return sked_i_fail(err, st, "%s", why.message);
        /* One that ends before its time, without a schedule, has nothing more to try. */
        const bool more = sked_i_run_incumbent(run) != NULL || sked_clock() >= turn;
        *any = *any || (st == SKED_OK && m->share > 0 && more);
        hear(said, m, st, &why);
        const sked_status told = sked_i_run_exchange(run, err);
        if (told != SKED_OK)
            return told;
    }
    return SKED_OK;
}

static sked_status run_auto(sked_i_run *run, sked_error *err)
{
    const plan todo = choose(run->problem);
    const bool endless = isinf(run->limit.deadline);
    answers said = {0};
    sked_status st = SKED_OK;
    bool any = true;
    if (run->options->start != NULL)
        st = sked_i_run_offer_start(run, err);
    for (int round = 0; st == SKED_OK && any && !sked_i_run_proved(run); round++) {
        if (round > 0 && sked_i_run_over(run))
            break;
        const double seconds = !endless                       ? run->limit.deadline - sked_clock()
                               : run->options->iterations > 0 ? INFINITY
                                                              : 10 * pow(2, round);
        st = run_round(run, todo, round, seconds, &any, &said, err);
        if (run->options->iterations > 0 ||
            (said.none.status != SKED_OK && sked_i_run_incumbent(run) == NULL))
            break; /* every member has had its iterations */
    }
    return st == SKED_OK && sked_i_run_incumbent(run) == NULL ? conclude(&said, err) : st;
}

const sked_i_method sked_i_method_auto = {
    .info = {.name = "auto",
             .summary = "portfolio: quick methods first, then improving ones in turn until the time limit",
             .features = SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_LOOPS |
                         SKED_CAN_HORIZON | SKED_CAN_START | SKED_CAN_FIX | SKED_CAN_CANDIDATES |
                         SKED_CAN_ANYTIME | SKED_CAN_EXACT | SKED_CAN_MAKESPAN | SKED_CAN_RESOURCE |
                         SKED_CAN_MEMORY | SKED_CAN_COST | SKED_CAN_II | SKED_CAN_MACHINES | SKED_CAN_LIMITS |
                         SKED_CAN_CUDA},
    .takes_clock = is_pipeline,
    .run = run_auto};
