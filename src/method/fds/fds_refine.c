/*
 * Refinement: ops are taken in a random order, and each goes to the start, between its neighbours, that makes
 * the sum over steps of (load / highest load)^p least. p grows from pass to pass up to where only the
 * highest steps count; equal starts are drawn at random, so that ops move along plateaus. When that gains
 * nothing any more, it begins again at the best schedule with some ops moved at random.
 *
 * Several threads refine side by side, each with its own lots, and hand each other the best schedule after a
 * fixed number of passes.
 */
#include "method/fds/fds.h"
#include "method/hands.h"

#include <assert.h>
#include <string.h>

enum { most_squarings = 5, dry_passes = 4, passes_of_round = 32 };

typedef struct refiner {
    sked_i_hand hand;
    sked_i_steps *x;
    sked_i_steps own; /* with several threads: a copy of x with starts of its own, for the hand */
    int64_t passes;   /* left */
    int64_t round;    /* of these, until the next exchange */
    int dry;          /* passes without a gain */
    sked_i_rng rng;
    int squarings; /* p = 2^squarings */
    double thrift; /* what communication counts times alpha: at random, for loads are counted by powers */
    int32_t pools;
    double *level; /* [pools * steps] loads, or memory */
    double *peak;  /* [pools] */
    double *price; /* [steps + 1] of the starts of one op */
    double *join;  /* [steps + 1] memory: inputs that live on from this step */
    int32_t *order;
} refiner;

static inline double power(double x, int squarings)
{
    for (; squarings > 0; squarings--)
        x *= x;
    return x;
}

static void hold(refiner *r, int32_t i, double sign)
{
    assert(r->x->start[i] >= 0 && r->x->start[i] + r->x->length[i] <= r->x->steps);
    const sked_i_pools *q = &r->x->loads;
    for (int64_t k = sked_i_pools_first(q, i); k < sked_i_pools_end(q, i); k++) {
        double *level = r->level + (int64_t)q->pool[k] * r->x->steps + r->x->start[i];
        for (int32_t s = 0; s < r->x->length[i]; s++)
            level[s] += sign * q->amount[k];
    }
}

static int32_t end_of_value(const sked_i_steps *x, int32_t i, int32_t without)
{
    const sked_i_uses *u = &x->uses;
    int32_t end = x->start[i];
    for (int64_t k = u->reader_ptr[i]; k < u->reader_ptr[i + 1]; k++)
        if (u->reader[k] != without && x->start[u->reader[k]] > end)
            end = x->start[u->reader[k]];
    return end;
}

static void live(refiner *r, int32_t begin, int32_t end, double size)
{
    for (int32_t s = begin; s < end; s++)
        r->level[s] += size;
}

static void build_levels(refiner *r)
{
    const sked_i_steps *x = r->x;
    memset(r->level, 0, (size_t)r->pools * (size_t)x->steps * sizeof *r->level);
    for (int32_t i = 0; i < x->n; i++) {
        if (x->memory)
            live(r, x->start[i], end_of_value(x, i, -1), x->uses.size[i]);
        else
            hold(r, i, 1);
    }
}

static void find_peaks(refiner *r)
{
    for (int32_t p = 0; p < r->pools; p++) {
        const double *level = r->level + (int64_t)p * r->x->steps;
        r->peak[p] = 0;
        for (int32_t s = 0; s < r->x->steps; s++)
            r->peak[p] = level[s] > r->peak[p] ? level[s] : r->peak[p];
    }
}

/* Starts that op i may take while all others stay. */
static void range(const sked_i_steps *x, int32_t i, int32_t *low, int32_t *high)
{
    const sked_i_dag_rows *out = &x->dag.out, *in = &x->dag.in;
    int32_t a = x->first[i], b = x->last[i];
    for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
        const int32_t t = x->start[in->op[k]] + x->in_lag[k];
        a = t > a ? t : a;
    }
    for (int64_t k = out->ptr[i]; k < out->ptr[i + 1]; k++) {
        const int32_t t = x->start[out->op[k]] - x->out_lag[k];
        b = t < b ? t : b;
    }
    *low = a;
    *high = b;
}

/* Cheapest of the prices of starts a..b; among equals at random. */
static int32_t choose(refiner *r, int32_t a, int32_t b)
{
    const double *price = r->price - a;
    assert(a <= b);
    double least = INFINITY;
    int32_t best = a;
    uint64_t equal = 0;
    for (int32_t t = a; t <= b; t++) {
        const double slack = 1e-9 * fabs(least);
        if (price[t] < least - (isinf(least) ? 0 : slack)) {
            least = price[t];
            best = t;
            equal = 1;
        } else if (price[t] <= least + slack && sked_i_rng_below(&r->rng, ++equal) == 0) {
            best = t;
        }
    }
    return best;
}

/* ------------------------------------------------------------------ loads */

/* Adds to price[t - a] what holding `amount` of pool p from t on costs. */
static void price_pool(refiner *r, int32_t i, int32_t p, double amount, int32_t a, int32_t b)
{
    const double peak = fmax(r->peak[p], amount), scale = 1 / peak;
    const double *level = r->level + (int64_t)p * r->x->steps;
    const int32_t d = r->x->length[i];
    double window = 0;
    for (int32_t s = a; s < b + d; s++) { /* slides; what leaves is computed once more */
        window += power((level[s] + amount) * scale, r->squarings) - power(level[s] * scale, r->squarings);
        if (s - d >= a)
            window -= power((level[s - d] + amount) * scale, r->squarings) -
                      power(level[s - d] * scale, r->squarings);
        if (s - d + 1 >= a)
            r->price[s - d + 1 - a] += peak * window;
    }
}

static void price_communication(refiner *r, int32_t i, int32_t a, int32_t b)
{
    const sked_i_steps *x = r->x;
    int64_t slope = 0;
    for (int64_t k = x->dag.in.ptr[i]; k < x->dag.in.ptr[i + 1]; k++)
        slope += x->in_sent[k];
    for (int64_t k = x->dag.out.ptr[i]; k < x->dag.out.ptr[i + 1]; k++)
        slope -= x->out_sent[k];
    for (int32_t t = a; t <= b; t++)
        r->price[t - a] += r->thrift * x->alpha * (double)slope * (t - a);
}

static bool move_load(refiner *r, int32_t i, int32_t a, int32_t b)
{
    sked_i_steps *x = r->x;
    const sked_i_pools *q = &x->loads;
    const int32_t before = x->start[i];
    hold(r, i, -1);
    for (int32_t t = a; t <= b; t++)
        r->price[t - a] = 0;
    for (int64_t k = sked_i_pools_first(q, i); k < sked_i_pools_end(q, i); k++)
        price_pool(r, i, q->pool[k], q->amount[k], a, b);
    if (x->alpha > 0)
        price_communication(r, i, a, b);
    x->start[i] = choose(r, a, b);
    hold(r, i, 1);
    return x->start[i] != before;
}

/* ------------------------------------------------------------------ memory */

/*
 * Steps a..b-1 hold, for a start t: below t the inputs that only op i keeps alive, from t on its own value.
 * join[s - a] is first what more inputs live on from step s, then their sum.
 */
static bool move_value(refiner *r, int32_t i, int32_t a, int32_t b)
{
    sked_i_steps *x = r->x;
    const sked_i_uses *u = &x->uses;
    const int32_t before = x->start[i];
    const double scale = r->peak[0] > 0 ? 1 / r->peak[0] : 0;
    double inputs = 0, price = 0;
    live(r, before, b, -u->size[i]);
    for (int32_t s = a; s <= b; s++)
        r->join[s - a] = 0;
    for (int64_t k = u->input_ptr[i]; k < u->input_ptr[i + 1]; k++) {
        const int32_t q = u->input[k], end = end_of_value(x, q, i), from = end > a ? end : a;
        live(r, from, before, -u->size[q]);
        if (from < b)
            r->join[from - a] += u->size[q];
    }
    for (int32_t s = a; s < b; s++)
        price += power((r->level[s] + u->size[i]) * scale, r->squarings);
    r->price[0] = price;
    for (int32_t s = a; s < b; s++) {
        inputs += r->join[s - a];
        price += power((r->level[s] + inputs) * scale, r->squarings) -
                 power((r->level[s] + u->size[i]) * scale, r->squarings);
        r->price[s + 1 - a] = price;
    }
    x->start[i] = choose(r, a, b);
    live(r, x->start[i], b, u->size[i]);
    inputs = 0;
    for (int32_t s = a; s < x->start[i]; s++) {
        inputs += r->join[s - a];
        r->level[s] += inputs;
    }
    return x->start[i] != before;
}

/* ------------------------------------------------------------------ passes */

static int32_t run_pass(refiner *r)
{
    sked_i_steps *x = r->x;
    int32_t moved = 0;
    sked_i_rng_shuffle(&r->rng, r->order, x->n);
    for (int32_t k = 0; k < x->n; k++) {
        const int32_t i = r->order[k];
        int32_t a, b;
        range(x, i, &a, &b);
        if (a >= b)
            continue;
        moved += x->memory ? move_value(r, i, a, b) : move_load(r, i, a, b);
        if (k % 256 == 0 && sked_i_limit_reached(&r->hand.run->limit))
            break;
    }
    return moved;
}

static bool refinable(const sked_i_steps *x)
{
    for (int64_t k = 0; x->memory && k < x->dag.out.ptr[x->n]; k++)
        if (x->out_lag[k] < 0)
            return false; /* a value might end before it begins */
    return x->steps > 0;
}

/* Goes back to the best schedule, unless another method made it and it lies outside these steps. */
static void return_to_best(refiner *r)
{
    sked_i_steps *x = r->x;
    if (sked_i_run_incumbent(r->hand.run) == NULL)
        return;
    const double *start = sked_i_run_incumbent(r->hand.run)->start;
    for (int32_t i = 0; i < x->n; i++)
        if (!(floor(start[i] / x->unit) + x->length[i] <= x->steps) || fmod(start[i], x->unit) != 0)
            return;
    for (int32_t i = 0; i < x->n; i++)
        x->start[i] = (int32_t)floor(start[i] / x->unit);
}

/* From the best schedule: some ops go anywhere they may. */
static void kick(refiner *r)
{
    sked_i_steps *x = r->x;
    const uint64_t n = (uint64_t)x->n;
    return_to_best(r);
    for (uint64_t k = 1 + sked_i_rng_below(&r->rng, 2 + n / 8); k > 0; k--) {
        const int32_t i = (int32_t)sked_i_rng_below(&r->rng, n);
        int32_t a, b;
        range(x, i, &a, &b);
        if (a < b)
            x->start[i] = a + (int32_t)sked_i_rng_below(&r->rng, (uint64_t)(b - a) + 1);
    }
    r->thrift = ldexp(1, (int)sked_i_rng_below(&r->rng, 6) - 3);
    r->squarings = 1 + (int)sked_i_rng_below(&r->rng, most_squarings - 1);
}

/* Passes until the round is done or the time is up. */
static sked_status refine(refiner *r, sked_error *err)
{
    sked_i_steps *x = r->x;
    for (; r->passes > 0 && r->round > 0 && !sked_i_run_over(r->hand.run); r->passes--, r->round--) {
        const double best = sked_i_run_best(r->hand.run);
        build_levels(r);
        find_peaks(r);
        const bool still = run_pass(r) == 0 && r->squarings == most_squarings;
        const sked_status st = sked_i_fds_offer(r->hand.run, x, err);
        if (st != SKED_OK)
            return st;
        r->dry = sked_i_run_best(r->hand.run) < best || r->squarings < most_squarings ? 0 : r->dry + 1;
        r->squarings += r->squarings < most_squarings;
        if (still || r->dry >= dry_passes) {
            kick(r);
            r->dry = 0;
        }
    }
    return SKED_OK;
}

static sked_status work(sked_i_hand *hand, sked_error *err)
{
    return refine((refiner *)hand, err);
}

static sked_status copy_steps(refiner *r, sked_error *err)
{
    const sked_i_steps *x = r->x;
    sked_status st = SKED_OK;
    r->own = *x;
    r->x = &r->own;
    SKED_OWN(&r->hand.own, r->own.start, x->n);
    SKED_OWN(&r->hand.own, r->own.offer, x->n);
    memcpy(r->own.start, x->start, (size_t)x->n * sizeof *x->start);
cleanup:
    return st;
}

static sked_status open_refiner(sked_i_hand *hand, sked_error *err)
{
    refiner *r = (refiner *)hand;
    sked_i_steps *x = hand->hands->owner;
    sked_status st = SKED_OK;
    r->x = x;
    r->squarings = 1;
    r->thrift = 1;
    r->pools = x->memory ? 1 : x->loads.count;
    sked_i_rng_seed(&r->rng, hand->run->options->seed, (uint64_t)hand->index);
    SKED_OWN(&r->hand.own, r->level, (int64_t)r->pools * x->steps);
    SKED_OWN(&r->hand.own, r->peak, r->pools);
    SKED_OWN(&r->hand.own, r->price, (int64_t)x->steps + 1);
    SKED_OWN(&r->hand.own, r->join, (int64_t)x->steps + 1);
    SKED_OWN(&r->hand.own, r->order, x->n);
    for (int32_t i = 0; i < x->n; i++)
        r->order[i] = i;
    if (hand->hands->apart)
        st = copy_steps(r, err);
cleanup:
    return st;
}

/* Rounds of all refiners until none has passes left; one alone needs none. */
static sked_status refine_all(sked_i_hands *h, sked_error *err)
{
    sked_status st = SKED_OK;
    for (bool more = true; more && !(h->apart && sked_i_run_over(h->run));) {
        more = false;
        for (int k = 0; k < h->count; k++)
            ((refiner *)h->hand[k])->round = h->apart ? passes_of_round : INT64_MAX;
        SKED_TRY(sked_i_hands_work(h, h->count, work, err));
        for (int k = 0; k < h->count && h->apart; k++)
            more = more || ((refiner *)h->hand[k])->passes > 0;
        if (h->apart)
            sked_i_run_progress(h->run, "fds");
    }
cleanup:
    return st;
}

sked_status sked_i_fds_refine(sked_i_run *run, sked_i_steps *x, int64_t passes, sked_error *err)
{
    sked_status st = SKED_OK;
    const int threads = run->options->threads;
    sked_i_hands hands = {
        .run = run, .apart = threads > 1, .size = sizeof(refiner), .open = open_refiner, .owner = x};
    if (x->n == 0 || !refinable(x))
        return SKED_OK;
    SKED_TRY(sked_i_hands_fill(&hands, threads, err));
    for (int k = 0; k < threads; k++)
        ((refiner *)hands.hand[k])->passes = passes / threads + (k < passes % threads);
    st = refine_all(&hands, err);
cleanup:
    sked_i_hands_close(&hands);
    return st;
}
