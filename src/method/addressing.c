#include "method/addressing.h"

#include "base/arena.h"
#include "base/sized.h"
#include "base/sort.h"
#include "engine/pack/pack.h"
#include "problem/bounds.h"
#include "problem/lower.h"
#include "schedule/holdings.h"
#include "schedule/profile.h"
#include "schedule/value_curve.h"

#include <stdio.h>

enum {
    most_tightened = 8, /* rounds with lower and lower limits */
    most_rounds = 1000,
    few_rounds = 16,     /* rounds for a lower arena; with an iteration limit */
    several = 16,        /* schedules in a round of them */
    few_packings = 8,    /* rounds of packing the least of them */
    many_packings = 1000 /* rounds of packing a schedule where nothing limits them */
};

/* A run of a problem with addresses. */
typedef struct stage {
    sked_i_arena arena;
    const char *method;
    const sked_problem *asked;
    const sked_problem *p; /* with the durations of the machine's profile */
    const sked_run_options *opt;
    sked_i_costs costs;  /* of p */
    sked_i_limit limit;  /* of the whole run */
    sked_problem solved; /* what methods are given */
    sked_machine machine;
    int32_t stores;   /* devices, or 1 */
    double *memory;   /* [stores] of the devices in `solved`; NULL: they have no limits */
    double *lost;     /* [stores] by how much they are lower there */
    double lost_all;  /* likewise, of the limit of all devices */
    double *excess;   /* [stores] of the arenas of a packing */
    double within;    /* limit of all devices together, before that */
    double load;      /* sum over the devices of the most that the schedule packed last holds at a time */
    double floor;     /* the same of the first one */
    double seconds;   /* spent on packing */
    int64_t packings; /* made */
    int64_t rounds;   /* of packing a schedule; 0: until its time is over */
    bool writes_over; /* sked_i_writes_over: methods hold more than is needed */
} stage;

/* ------------------------------------------------------------------ packing */

/* The values that a schedule holds, by device. */
typedef struct shelves {
    sked_i_arena arena;
    sked_i_holdings held;
    int64_t *slot;  /* [held.count] of each; -1: it needs none. What is written over a value has its slot */
    int64_t *first; /* [stores + 1] slots by device */
    double *lower, *upper;
    int64_t *size, *alignment, *offset;
} shelves;

/* What is written over another value counts as that one: slot[k] becomes the first of the line, and its end
 * that of the last. */
static void join_lines(shelves *f)
{
    for (int64_t k = 0; k < f->held.count; k++)
        f->slot[k] = -1;
    for (int64_t k = 0, head, next; k < f->held.count; k++) {
        for (head = k; f->slot[head] < 0 && f->held.at[head].over >= 0;)
            head = f->held.at[head].over;
        head = f->slot[head] < 0 ? head : f->slot[head];
        for (int64_t i = k; f->slot[i] < 0; i = next) {
            next = f->held.at[i].over;
            f->slot[i] = head;
            f->held.at[head].end = fmax(f->held.at[head].end, f->held.at[i].end);
            if (next < 0)
                break;
        }
    }
}

/* Slots for those that are held longer than rounding lets appear, by device. Shorter than the validator has
 * it, so that what it counts is here. */
static sked_status sort_values(const stage *x, const sked_schedule *s, shelves *f, sked_error *err)
{
    const double tolerance = fmin(0.5, 0.5 * sked_i_time_tolerance(x->p, &x->costs, s));
    sked_status st = SKED_OK;
    int64_t *place;
    SKED_TRY(sked_i_holdings_make(x->p, &x->costs, s, &f->held, err));
    const int64_t n = f->held.count;
    SKED_OWN0(&f->arena, place, (int64_t)x->stores + 2);
    SKED_OWN(&f->arena, f->slot, n);
    SKED_OWN(&f->arena, f->lower, n);
    SKED_OWN(&f->arena, f->upper, n);
    SKED_OWN(&f->arena, f->size, n);
    SKED_OWN(&f->arena, f->alignment, n);
    SKED_OWN(&f->arena, f->offset, n);
    join_lines(f);
    for (int64_t k = 0; k < n; k++)
        if (f->slot[k] == k && f->held.at[k].end - f->held.at[k].begin > tolerance)
            place[f->held.at[k].device + 2]++;
    for (int32_t d = 0; d < x->stores; d++)
        place[d + 2] += place[d + 1];
    int64_t *const head = f->offset; /* not yet in use */
    for (int64_t k = 0; k < n; k++) {
        const sked_i_holding *h = &f->held.at[k];
        head[k] = -1;
        if (f->slot[k] != k || !(h->end - h->begin > tolerance))
            continue;
        const int64_t at = head[k] = place[h->device + 1]++;
        f->lower[at] = h->begin;
        f->upper[at] = h->end - tolerance;
        f->size[at] = sked_i_address_size(x->p->graph, h->op);
        f->alignment[at] = x->p->align;
    }
    for (int64_t k = 0; k < n; k++)
        f->slot[k] = head[f->slot[k]];
    f->first = place;
cleanup:
    return st;
}

/* The sum over the devices of the most that is held at a time: no packing is lower. */
static sked_status find_load(stage *x, const shelves *f, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_interval *v = NULL;
    sked_i_profile held;
    x->load = 0;
    SKED_NEW(v, f->first[x->stores]);
    for (int64_t k = 0; k < f->first[x->stores]; k++)
        v[k] = (sked_i_interval){f->lower[k], f->upper[k], (double)f->size[k]};
    for (int32_t d = 0; d < x->stores; d++) {
        SKED_TRY(sked_i_profile_build(v + f->first[d], f->first[d + 1] - f->first[d], 0, 0, &held, err));
        x->load += held.peak;
        sked_i_profile_free(&held);
    }
cleanup:
    free(v);
    return st;
}

/* What the arena of a device may be; -1: the least there is. */
static int64_t capacity_of(const stage *x, int32_t d)
{
    double limit = x->p->machine != NULL ? x->p->machine->memory[d] : INFINITY;
    limit = x->stores == 1 ? fmin(limit, x->p->memory_limit) : limit;
    return limit < 0x1p53 ? (int64_t)floor(limit) : -1;
}

static sked_status pack_device(const stage *x, int32_t d, int64_t rounds, const sked_i_limit *limit,
                               shelves *f, sked_error *err)
{
    const int64_t from = f->first[d], count = f->first[d + 1] - from;
    const sked_i_pack_buffers b = {.count = count,
                                   .lower = f->lower + from,
                                   .upper = f->upper + from,
                                   .size = f->size + from,
                                   .alignment = f->alignment + from};
    const sked_i_pack_effort e = {.capacity = capacity_of(x, d),
                                  .seed = x->opt->seed,
                                  .threads = x->opt->threads,
                                  .iterations = rounds,
                                  .limit = limit};
    sked_i_packing packing;
    return count > 0 ? sked_i_pack(&b, &e, f->offset + from, &packing, err) : SKED_OK;
}

/* Into the schedule: the address of a value where it was made, those of copies by op, then by device. */
static sked_status take_addresses(const stage *x, const shelves *f, sked_schedule *s, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *copy = NULL;
    int64_t copies = 0;
    SKED_NEW(copy, 2 * f->held.count);
    for (int64_t k = 0; k < f->held.count; k++) {
        const sked_i_holding *h = &f->held.at[k];
        if (f->slot[k] >= 0 && s->device != NULL && h->device != s->device[h->op])
            copy[copies++] =
                (sked_i_keyed){(uint64_t)h->op << 32 | (uint32_t)h->device, f->offset[f->slot[k]]};
    }
    sked_i_sort_keyed(copy, copy + f->held.count, copies);
    SKED_TRY(sked_i_schedule_add_addresses(s, copies, err));
    for (int64_t k = 0; k < copies; k++) {
        s->copy_op[k] = (int32_t)(copy[k].key >> 32);
        s->copy_device[k] = (int32_t)(copy[k].key & UINT32_MAX);
        s->copy_offset[k] = copy[k].value;
    }
    for (int64_t k = 0; k < f->held.count; k++) {
        const sked_i_holding *h = &f->held.at[k];
        if (f->slot[k] < 0)
            continue;
        if (s->device == NULL || h->device == s->device[h->op])
            s->offset[h->op] = f->offset[f->slot[k]];
        sked_i_schedule_reach(s, x->p->graph, h->op, h->device, f->offset[f->slot[k]]);
    }
cleanup:
    free(copy);
    return st;
}

/* Each device has its share of the time that is left until `deadline`, and so many rounds (0: no bound). */
static sked_status pack(stage *x, sked_schedule *s, double deadline, int64_t rounds, sked_error *err)
{
    const double begin = sked_clock();
    sked_status st = SKED_OK;
    shelves f = {0};
    sked_i_limit limit = x->limit;
    SKED_TRY(sort_values(x, s, &f, err));
    SKED_TRY(find_load(x, &f, err));
    for (int32_t d = 0; d < x->stores; d++) {
        const double now = sked_clock();
        limit.deadline = now + fmax(0, deadline - now) / (x->stores - d);
        SKED_TRY(pack_device(x, d, rounds, &limit, &f, err));
    }
    SKED_TRY(take_addresses(x, &f, s, err));
cleanup:
    sked_i_holdings_free(&f.held);
    sked_i_arena_free(&f.arena);
    x->seconds += sked_clock() - begin;
    x->floor = x->packings++ == 0 ? x->load : x->floor;
    return st;
}

/* By how much arenas are beyond the limits of memory; all: those of all devices together. */
static bool fits(stage *x, const sked_schedule *s, double *all)
{
    bool fit = true;
    *all = fmax(0, sked_i_schedule_arena(s) - x->p->memory_limit);
    for (int32_t d = 0; d < x->stores; d++) {
        const double limit = x->p->machine != NULL ? x->p->machine->memory[d] : INFINITY;
        x->excess[d] = fmax(0, (double)s->arena[d] - limit);
        fit = fit && x->excess[d] == 0;
    }
    return fit && *all == 0;
}

/* ------------------------------------------------------------------ rounds */

static sked_status open_stage(stage *x, sked_error *err)
{
    const sked_problem *p = x->p;
    sked_status st = SKED_OK;
    x->stores = p->devices > 0 ? p->devices : 1;
    sked_i_limit_init(&x->limit, x->opt);
    SKED_TRY(sked_i_costs_make(p, &x->costs, err));
    SKED_OWN0(&x->arena, x->lost, x->stores);
    SKED_OWN(&x->arena, x->excess, x->stores);
    x->within = p->memory_limit;
    x->rounds = x->opt->iterations > 0 || !isinf(x->opt->time_limit) ? x->opt->iterations : many_packings;
    x->writes_over = sked_i_writes_over(p);
    x->solved = *p;
    x->solved.lifetime = sked_i_lifetime(p);
    x->solved.offsets = false;
    x->solved.objective = p->objective == SKED_OBJECTIVE_ARENA ? SKED_OBJECTIVE_MEMORY : p->objective;
    if (sked_i_has_device_memory(p)) {
        SKED_OWN(&x->arena, x->memory, x->stores);
        x->machine = *p->machine;
        x->machine.memory = x->memory;
        x->solved.machine = &x->machine;
    }
cleanup:
    return st;
}

/* The method runs in a share of the time that is left; again: with other random numbers. */
static sked_status solve(stage *x, int round, double share, int32_t candidates, sked_result *r,
                         sked_error *err)
{
    sked_run_options opt = *x->opt;
    opt.candidates = candidates;
    opt.time_limit = fmax(0, share * (x->limit.deadline - sked_clock()));
    opt.seed += (uint64_t)round;
    opt.together = opt.together && round == 0; /* ranks need not take the same number of rounds */
    x->solved.memory_limit = fmax(0, x->within - x->lost_all);
    for (int32_t d = 0; x->memory != NULL && d < x->stores; d++)
        x->memory[d] = fmax(0, x->p->machine->memory[d] - x->lost[d]);
    return sked_method_run(x->method, &x->solved, &opt, r, err);
}

/* Packs what a method found and keeps what fits. *lost_all: of the best of them, by how much all are beyond.
 */
static sked_status keep_fitting(stage *x, sked_result *r, double share, double *lost_all, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t kept = 0;
    for (int32_t k = r->count - 1; st == SKED_OK && k >= 0; k--) { /* the best one last: its excess is told */
        const double now = sked_clock();
        st = pack(x, r->schedule[k], now + share * (x->limit.deadline - now) / (k + 1), x->rounds, err);
        if (st == SKED_OK && !fits(x, r->schedule[k], lost_all)) {
            sked_schedule_destroy(r->schedule[k]);
            r->schedule[k] = NULL;
        }
    }
    for (int32_t k = 0; k < r->count; k++)
        if (r->schedule[k] != NULL)
            r->schedule[kept++] = r->schedule[k];
    r->count = kept;
    return st;
}

static sked_status none_fits(const stage *x, double most, sked_error *err)
{
    if (sked_i_limit_reached(&x->limit))
        return sked_i_fail(err, SKED_ERR_STOPPED,
                           "stopped before a schedule whose addresses keep the memory limits was found");
    if (isinf(most))
        return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                           "no schedule whose addresses keep the memory limits was found (not a proof)");
    return sked_i_fail(
        err, SKED_ERR_INFEASIBLE,
        "no schedule whose addresses keep the memory limits was found (not a proof); the arenas "
        "of the best one exceed them by %.15g in sum",
        most);
}

/* The limits of the next round: lower by what packing lost; or, where a round found nothing, by half of that.
 * Methods do not know what is written over what: while they find nothing, limits are wider. Returns what
 * packing lost in sum. */
static double tighten(stage *x, bool found, double lost_all)
{
    static const double wider = 0.25;
    const bool none = x->writes_over && x->packings == 0;
    double sum = lost_all;
    x->lost_all = found ? x->lost_all + lost_all : none ? x->lost_all - wider * x->within : x->lost_all / 2;
    for (int32_t d = 0; d < x->stores; d++) {
        const double memory = x->memory != NULL ? x->p->machine->memory[d] : 0;
        x->lost[d] = found ? x->lost[d] + x->excess[d] : none ? x->lost[d] - wider * memory : x->lost[d] / 2;
        sum += found ? x->excess[d] : 0;
    }
    return sum;
}

/* *bound: of the problem without addresses, whose limits are those asked for. */
static sked_status find(stage *x, sked_result *r, double *bound, sked_error *err)
{
    double least = INFINITY, lost_all = 0;
    for (int round = 0; round < most_tightened; round++) {
        sked_error why = {0};
        sked_status st = solve(x, round, round == 0 ? 0.8 : 0.5, x->opt->candidates, r, &why);
        const bool final = round == 0 && !(x->writes_over && st == SKED_ERR_INFEASIBLE);
        if (st != SKED_OK && (final || (st != SKED_ERR_INFEASIBLE && st != SKED_ERR_STOPPED)))
            return sked_i_fail(err, st, "%s", why.message);
        const bool found = st == SKED_OK;
        if (round == 0 && found)
            *bound = r->lower_bound;
        if (found && (st = keep_fitting(x, r, 0.5, &lost_all, err)) != SKED_OK)
            return st;
        if (found && r->count > 0)
            return SKED_OK;
        sked_result_clear(r);
        const double lost = tighten(x, found, lost_all);
        least = found ? fmin(least, lost) : least;
        if (sked_i_limit_reached(&x->limit))
            break;
    }
    return none_fits(x, least, err);
}

/* First fits of other schedules, then more for the least of them; it takes the place of r's where its arena
 * is less. */
static sked_status try_others(stage *x, sked_result *others, sked_result *r, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t least = 0;
    for (int32_t k = 0; st == SKED_OK && k < others->count; k++) {
        st = pack(x, others->schedule[k], x->limit.deadline, SKED_I_PACK_FIRST_FITS, err);
        if (st == SKED_OK &&
            sked_i_schedule_arena(others->schedule[k]) < sked_i_schedule_arena(others->schedule[least]))
            least = k;
    }
    sked_schedule *const s = others->schedule[least];
    const double now = sked_clock();
    if (st == SKED_OK)
        st = pack(x, s, now + (x->limit.deadline - now) / 8, few_packings, err);
    if (st == SKED_OK && sked_i_schedule_arena(s) < sked_i_schedule_arena(r->schedule[0])) {
        others->schedule[least] = r->schedule[0];
        r->schedule[0] = s;
        snprintf(r->method, sizeof r->method, "%s", others->method);
    }
    return st;
}

/* Schedules within a limit of memory, from what the first one holds to the arena; every other time several of
 * little memory. */
static sked_status find_others(const stage *x, int round, double arena, sked_result *others, sked_error *err)
{
    enum { limits = 4 };
    stage other = *x;
    if (round % 2 == 1) {
        other.method = "list";
        other.within = x->floor + (arena - x->floor) * (round / 2 % limits) / limits;
        other.solved.objective = SKED_OBJECTIVE_MAKESPAN;
    }
    return solve(&other, round, 0.3, several, others, err);
}

/* Where packing lost something, other schedules may be as good and lose less. */
static sked_status lower_arena(stage *x, sked_result *r, sked_error *err)
{
    const int rounds = x->rounds > 0 ? few_rounds : most_rounds;
    sked_status st = SKED_OK;
    for (int round = 1; round < rounds && st == SKED_OK; round++) {
        const double arena = sked_i_schedule_arena(r->schedule[0]);
        sked_error why = {0};
        sked_result others = {.size = sizeof others};
        if (arena <= x->floor || sked_i_limit_reached(&x->limit))
            break;
        st = find_others(x, round, arena, &others, &why);
        const bool none = st == SKED_ERR_INFEASIBLE || st == SKED_ERR_STOPPED || st == SKED_ERR_UNSUPPORTED;
        if (st == SKED_OK)
            st = try_others(x, &others, r, err);
        else
            st = none ? SKED_OK : sked_i_fail(err, st, "%s", why.message);
        sked_result_clear(&others);
    }
    return st;
}

/* ------------------------------------------------------------------ the result */

/* By arena; equal ones stay in their order. */
static sked_status sort_by_arena(sked_result *r, sked_error *err)
{
    const int64_t n = r->count;
    sked_status st = SKED_OK;
    sked_i_keyed *item = NULL;
    sked_schedule **sorted = NULL;
    SKED_NEW(item, 2 * n);
    SKED_NEW(sorted, n);
    for (int64_t k = 0; k < n; k++)
        item[k] = (sked_i_keyed){sked_i_sort_key(sked_i_schedule_arena(r->schedule[k])), k};
    sked_i_sort_keyed(item, item + n, n);
    for (int64_t k = 0; k < n; k++)
        sorted[k] = r->schedule[item[k].value];
    free(r->schedule);
    r->schedule = sorted;
cleanup:
    free(item);
    return st;
}

/* Values of the curve are those of schedules without addresses: of objective arena the last one is known. */
static sked_status end_curve(const stage *x, sked_result *r, sked_error *err)
{
    sked_i_value_curve c;
    if (!SKED_KNOWS(r, curve))
        return SKED_OK;
    sked_i_value_curve_take(&c, r);
    sked_i_value_curve_free(&c);
    c = (sked_i_value_curve){.begin = x->limit.begin, .method = r->method};
    sked_i_value_curve_note(
        &c, &(sked_curve_point){.evaluations = r->evaluations, .value = r->value, .bound = r->lower_bound});
    const sked_status st = sked_i_value_curve_give(&c, r, err);
    sked_i_value_curve_free(&c);
    return st;
}

static sked_status add_statistics(const stage *x, sked_result *r, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_statistic *rows = NULL, **list = NULL;
    const int32_t n = r->n_statistics;
    if (!SKED_KNOWS(r, statistics))
        return SKED_OK;
    SKED_NEW(rows, (int64_t)n + 1);
    SKED_NEW(list, (int64_t)n + 1);
    for (int32_t k = 0; k <= n; k++) {
        list[k] = &rows[k];
        rows[k] =
            k < n ? *r->statistics[k]
                  : (sked_statistic){
                        .method = "addresses", .technique = "", .calls = x->packings, .seconds = x->seconds};
    }
    if (n > 0)
        free(r->statistics[0]);
    free(r->statistics);
    r->statistics = list;
    r->n_statistics = n + 1;
    return SKED_OK;
cleanup:
    free(rows);
    return st;
}

/* What methods know of a problem without addresses holds for the one with them: the bound, but no proof.
 * Where ops write over values, not even that. */
static sked_status conclude(const stage *x, double bound, sked_result *r, sked_error *err)
{
    const bool least = x->p->objective == SKED_OBJECTIVE_ARENA;
    const sked_i_bound_effort effort = {.work = SKED_I_BOUND_WORK, .limit = &x->limit};
    double makespan;
    sked_status st = SKED_OK;
    if (x->writes_over)
        SKED_TRY(sked_i_problem_bound(x->p, &x->costs, &effort, &bound, NULL, err));
    const bool other = least || x->writes_over || bound != r->lower_bound;
    r->lower_bound = least ? ceil(bound) : bound;
    if (least)
        SKED_TRY(sort_by_arena(r, err));
    if (other) {
        SKED_TRY(sked_i_schedule_value(x->p, &x->costs, r->schedule[0], &r->value, &makespan, err));
        r->optimal = r->value <= r->lower_bound;
        SKED_TRY(end_curve(x, r, err));
    }
    SKED_TRY(add_statistics(x, r, err));
    for (int32_t k = 0; k < r->count; k++) {
        sked_error why = {0};
        st = sked_schedule_validate(x->asked, r->schedule[k], &why);
        if (st != SKED_OK)
            SKED_TRY(sked_i_fail(err, st == SKED_ERR_MEMORY ? st : SKED_ERR_BUG,
                                 "an invalid schedule has addresses: %s", why.message));
    }
    r->build_seconds += x->seconds;
    r->seconds = sked_clock() - x->limit.begin;
cleanup:
    return st;
}

sked_status sked_i_addresses_run(const char *method, const sked_problem *p, const sked_run_options *opt,
                                 sked_result *out, sked_error *err)
{
    stage x = {.method = method, .asked = p, .opt = opt};
    sked_result r = {.size = out->size < sizeof r ? out->size : sizeof r};
    double bound = 0;
    const sked_status checked = sked_problem_check(p, err);
    if (checked != SKED_OK)
        return checked;
    SKED_TAKE_PROBLEM(p)
    sked_status st = SKED_OK;
    x.p = p;
    SKED_TRY(open_stage(&x, err));
    SKED_TRY(find(&x, &r, &bound, err));
    if (p->objective == SKED_OBJECTIVE_ARENA && r.count == 1)
        SKED_TRY(lower_arena(&x, &r, err));
    SKED_TRY(conclude(&x, bound, &r, err));
    SKED_GIVE(out, r);
    r = (sked_result){.size = r.size};
cleanup:
    sked_result_clear(&r);
    sked_i_costs_free(&x.costs);
    sked_i_arena_free(&x.arena);
    return st;
}
