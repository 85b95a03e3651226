/*
 * Tiny random problems of every kind, and what is true of them, by enumeration that shares nothing with the
 * engines (brute_force.h): real times, fixed starts and devices that nothing says fit together, lags of all
 * signs, kept values, lifetimes, loops, machines with one-way links, durations by device, memory limits,
 * every objective. All follows from the number.
 */
#ifndef SKED_TESTS_QUESTION_H
#define SKED_TESTS_QUESTION_H
#include "brute_force.h"
#include "problem/problem.h"
#include "random_problem.h"

enum { QUESTION_LATEST = BRUTE_TIME - 1 };

typedef struct question {
    uint64_t number;
    unsigned kind;
    random_problem r;
    sked_i_rng rng;
    double interval; /* the least; 0: not asked for */
    double truth;    /* at that interval; INFINITY: there is no schedule; NAN: not known */
} question;

/* ------------------------------------------------------------------ drawing */

static inline unsigned question_kind(sked_i_rng *rng)
{
    static const unsigned base[] = {0,
                                    RANDOM_DEVICES,
                                    RANDOM_RESOURCES,
                                    RANDOM_DEVICES | RANDOM_RESOURCES,
                                    RANDOM_TRANSFERS,
                                    RANDOM_TRANSFERS | RANDOM_RESOURCES,
                                    RANDOM_UNEQUAL,
                                    RANDOM_UNEQUAL | RANDOM_STORES,
                                    RANDOM_UNEQUAL | RANDOM_RESOURCES,
                                    RANDOM_LOOPS | RANDOM_DEVICES,
                                    RANDOM_LOOPS | RANDOM_RESOURCES,
                                    RANDOM_LOOPS | RANDOM_TRANSFERS};
    static const unsigned extra[] = {RANDOM_LAGS, RANDOM_NEGATIVE, RANDOM_ZERO, RANDOM_KEEP};
    unsigned kind = base[random_int(rng, 0, (int)(sizeof base / sizeof *base) - 1)];
    for (size_t k = 0; k < sizeof extra / sizeof *extra; k++)
        if (random_int(rng, 0, 3) == 0)
            kind |= extra[k];
    return kind;
}

/* Starts and devices that nothing says fit together, early ones: some leave no schedule, most bind. */
static inline void question_fix(question *q)
{
    random_problem *r = &q->r;
    sked_problem *p = &r->problem;
    const int32_t n = sked_graph_op_count(r->graph);
    const bool starts = p->devices == 0 || random_int(&q->rng, 0, 3) > 0;
    const bool devices = p->devices > 0 && (!starts || random_int(&q->rng, 0, 1));
    const int latest = random_int(&q->rng, 1, 12);
    if (starts)
        r->fix_start = malloc((size_t)n * sizeof *r->fix_start);
    if (devices)
        r->fix_device = malloc((size_t)n * sizeof *r->fix_device);
    for (int32_t i = 0; i < n; i++) {
        if (starts)
            r->fix_start[i] = random_int(&q->rng, 0, 2) == 0 ? random_int(&q->rng, 0, latest) : NAN;
        if (devices)
            r->fix_device[i] = random_int(&q->rng, 0, 2) == 0 ? random_int(&q->rng, 0, p->devices - 1) : -1;
    }
    p->fix_start = r->fix_start;
    p->fix_device = r->fix_device;
}

static inline void question_ask(question *q)
{
    sked_problem *p = &q->r.problem;
    double memory = 0;
    for (int32_t i = 0; i < sked_graph_op_count(p->graph); i++)
        memory += sked_graph_memory(p->graph, i);
    p->lifetime = (sked_lifetime)random_int(&q->rng, 0, 2);
    if (q->kind & RANDOM_LOOPS) {
        const int which = random_int(&q->rng, 0, 3);
        p->ii = which < 2 ? random_int(&q->rng, 3, 8) : which == 2 ? 0 : SKED_II_AUTO;
        p->objective = which == 3 ? SKED_OBJECTIVE_II : SKED_OBJECTIVE_MAKESPAN;
        if (which == 1 && random_int(&q->rng, 0, 1))
            p->objective = (sked_objective)random_int(&q->rng, SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_COST);
    } else {
        if (random_int(&q->rng, 0, 2) == 0)
            p->objective = (sked_objective)random_int(&q->rng, SKED_OBJECTIVE_RESOURCE, SKED_OBJECTIVE_COST);
        if (random_int(&q->rng, 0, 3) == 0)
            p->memory_limit = ceil(memory * (0.3 + 0.9 * sked_i_rng_uniform(&q->rng)));
    }
    if ((p->objective != SKED_OBJECTIVE_MAKESPAN && p->objective != SKED_OBJECTIVE_II) ||
        random_int(&q->rng, 0, 3) == 0)
        p->horizon = random_int(&q->rng, 4, 14);
    if (p->objective == SKED_OBJECTIVE_COST && random_int(&q->rng, 0, 1))
        p->alpha = 0.5 * random_int(&q->rng, 0, 6);
}

/* A third without fixed decisions: more methods take them. Free with random_problem_free(&q->r). */
static inline void question_draw(uint64_t number, question *q)
{
    *q = (question){.number = number, .truth = NAN};
    sked_i_rng_seed(&q->rng, number, 0xf1);
    q->kind = question_kind(&q->rng);
    const bool real = number % 7 == 0, loops = !real && q->kind & RANDOM_LOOPS;
    if (real) /* then orders are enumerated, which takes the plain ones */
        q->kind = RANDOM_REAL | (q->kind & ~(unsigned)(RANDOM_LOOPS | RANDOM_NEGATIVE | RANDOM_STORES));
    random_problem_make(number, q->kind, loops || number % 2 ? 2 : 4, loops ? 3 : 5, &q->r);
    if ((q->kind & RANDOM_DEVICES) &&
        random_int(&q->rng, 0, 1)) /* fixed starts leave gaps that are too short */
        q->r.problem.devices = 1;
    if (real)
        return;
    if (number % 3 > 0)
        question_fix(q);
    question_ask(q);
}

/* ------------------------------------------------------------------ what is true */

/* No shortest schedule ends later: each op waits at most for all others in turn, from the last fixed start.
 */
static inline double question_end(const sked_problem *p)
{
    const sked_graph *g = p->graph;
    const int devices = p->devices > 0 ? p->devices : 1;
    double fixed = 0, sum = 0;
    for (int32_t i = 0; i < sked_graph_op_count(g); i++) {
        double time = 0;
        for (int d = 0; d < devices; d++)
            time = fmax(time, isinf(sked_problem_duration(p, i, d)) ? 0 : sked_problem_duration(p, i, d));
        fixed = p->fix_start && !isnan(p->fix_start[i]) ? fmax(fixed, p->fix_start[i]) : fixed;
        sum += time;
    }
    for (int64_t k = 0; k < sked_graph_edge_count(g); k++) {
        sked_edge e;
        double transfer = 0;
        sked_graph_edge(g, k, &e);
        for (int a = 0; a < devices; a++)
            for (int b = 0; b < devices; b++)
                if (isfinite(sked_problem_transfer(p, k, a, b)))
                    transfer = fmax(transfer, sked_problem_transfer(p, k, a, b));
        sum += fmax(0, e.lag) + transfer;
    }
    return fixed + sum;
}

/* NAN where a schedule may end later than enumeration looks, or it would take long. At an interval, ops move
 * by whole intervals. */
static inline double question_enumerate(const sked_problem *p)
{
    const double turns = p->ii > 0 ? (sked_graph_op_count(p->graph) + 1) * p->ii : 0;
    const bool shortest =
        p->objective == SKED_OBJECTIVE_MAKESPAN; /* others may gain by waiting, to their horizon */
    const double enough = shortest ? fmin(question_end(p) + turns, p->horizon) : p->horizon;
    const double best = brute_force_within(p, (int)fmin(enough, QUESTION_LATEST), 200000);
    return isinf(best) && enough > QUESTION_LATEST ? NAN : best;
}

/* Does the other enumeration take it, too? */
static inline bool question_is_plain(const question *q)
{
    const sked_problem *p = &q->r.problem;
    return p->objective == SKED_OBJECTIVE_MAKESPAN && p->ii == 0 && isinf(p->horizon) &&
           p->fix_start == NULL && p->fix_device == NULL && !sked_i_has_memory_limit(p) &&
           !(q->kind & RANDOM_NEGATIVE);
}

static inline void question_answer(question *q)
{
    sked_problem p = q->r.problem;
    if (q->kind & RANDOM_REAL) {
        q->truth = brute_force_orders(&p);
        return;
    }
    if (p.ii != SKED_II_AUTO && p.objective != SKED_OBJECTIVE_II) {
        q->truth = question_enumerate(&p);
        if (question_is_plain(q) && !isnan(q->truth) && brute_force_orders(&p) != q->truth)
            fail_msg("problem %llu: enumeration of starts says %g, of orders %g",
                     (unsigned long long)q->number, q->truth, brute_force_orders(&p));
        return;
    }
    p.objective = SKED_OBJECTIVE_MAKESPAN; /* the least interval, and the shortest schedule at it */
    for (int ii = 1; ii <= 40; ii++) {
        p.ii = ii;
        q->truth = question_enumerate(&p);
        q->interval = ii;
        if (!isinf(q->truth))
            return;
    }
    q->truth = NAN;
}
#endif
