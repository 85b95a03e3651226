/*
 * Annealing on lists and devices. The acceptance threshold is drawn before a move is timed, so that most
 * moves end as soon as some op shows that they exceed it.
 */
#include "method/search/transfer.h"

#include "base/explog.h"
#include "base/thread.h"
#include "schedule/equal.h"

#include <stdatomic.h>
#include <string.h>

/* Coolings in turn: from the best, from the best, from a new schedule. */
static const double heats[] = {0.2, 0.05, 0.3};
enum { n_heats = sizeof heats / sizeof *heats };
enum { n_shares = 3, max_starts = n_shares + 2 };

/* Schedules to begin with: order by key, and devices. */
typedef struct starts {
    int32_t count;
    double *key[max_starts];     /* [n] */
    int32_t *device[max_starts]; /* [n] */
} starts;

/* Good schedules met on the way, for --candidates. */
typedef struct elite {
    int32_t count, capacity;
    double *cost;
    uint64_t *hash;
    double **start;
    int32_t **device;
} elite;

typedef struct worker {
    sked_i_run *run;
    const sked_i_sequencing *form;
    const starts *starts;
    sked_i_limit limit; /* a little earlier than the run's: the last offer takes time too */
    sked_i_sequence *seq;
    sked_i_rng rng;
    int64_t evaluations, max_evaluations;
    double goal;      /* costs at or below this are optimal */
    atomic_int *halt; /* NULL: never */
    double best, least_cost;
    double *best_start;
    int32_t *best_device;
    double *key;                 /* [n] scratch */
    int32_t *label;              /* [devices] scratch */
    int32_t *chain, chain_count; /* critical ops of the sequence as it was a while ago */
    int64_t chain_age, accepted;
    elite elite;
    bool leads;
    double published, next_publish;
    sked_status status;
    sked_error error;
} worker;

/* ------------------------------------------------------------------ what was seen */

static void fail_worker(worker *w, sked_status status)
{
    if (w->status == SKED_OK)
        w->status = status;
}

static void keep_elite(worker *w)
{
    elite *e = &w->elite;
    const sked_i_sequence *s = w->seq;
    const int32_t n = w->form->n;
    int32_t worst = 0;
    for (int32_t k = 1; k < e->count; k++)
        worst = e->cost[k] > e->cost[worst] ? k : worst;
    if (e->count == e->capacity && s->cost >= e->cost[worst])
        return;
    const uint64_t hash = sked_i_hash_devices(n, s->start, s->device, w->form->m, w->label);
    for (int32_t k = 0; k < e->count; k++)
        if (e->hash[k] == hash && e->cost[k] == s->cost)
            return;
    if (e->count < e->capacity) {
        worst = e->count;
        e->start[worst] = sked_i_alloc(n, sizeof **e->start);
        e->device[worst] = sked_i_alloc(n, sizeof **e->device);
        e->count++;
        if (e->start[worst] == NULL || e->device[worst] == NULL) {
            fail_worker(w, sked_i_no_memory(&w->error));
            return;
        }
    }
    e->cost[worst] = s->cost;
    e->hash[worst] = hash;
    memcpy(e->start[worst], s->start, (size_t)n * sizeof *s->start);
    memcpy(e->device[worst], s->device, (size_t)n * sizeof *s->device);
}

/* Takes note of the sequence as it is. */
static void see(worker *w)
{
    const sked_i_sequence *s = w->seq;
    const int32_t n = w->form->n;
    w->least_cost = s->cost < w->least_cost ? s->cost : w->least_cost;
    if (s->late > 0 || (w->best == INFINITY && !sked_i_within_horizon(w->form->problem, s->start)) ||
        (s->cost > w->form->problem->horizon && w->best < INFINITY))
        return;
    if (w->elite.capacity > 0)
        keep_elite(w);
    if (s->cost >= w->best)
        return;
    w->best = s->cost;
    memcpy(w->best_start, s->start, (size_t)n * sizeof *s->start);
    memcpy(w->best_device, s->device, (size_t)n * sizeof *s->device);
    if (w->best <= w->goal && w->halt != NULL)
        atomic_store_explicit(w->halt, 1, memory_order_relaxed);
}

static sked_status offer(const worker *w, double *start, int32_t *device, sked_error *err)
{
    const sked_schedule s = {.ops = w->form->n, .devices = w->form->m, .start = start, .device = device};
    return sked_i_run_offer(w->run, &s, err);
}

/* Offers the best if it is news. What it cost is set aside for the offer at the end. */
static void publish(worker *w, double now)
{
    if (w->best >= w->published || w->status != SKED_OK)
        return;
    fail_worker(w, offer(w, w->best_start, w->best_device, &w->error));
    w->published = w->best;
    sked_i_run_progress(w->run, "search");
    const double cost = sked_clock() - now;
    w->next_publish = now + 0.05 + 20 * cost;
    w->limit.deadline = w->run->limit.deadline - 1.5 * cost;
}

static bool over(worker *w)
{
    if (w->evaluations >= w->max_evaluations || w->best <= w->goal || w->status != SKED_OK)
        return true;
    if (w->halt != NULL && atomic_load_explicit(w->halt, memory_order_relaxed))
        return true;
    if (sked_i_limit_stopped(&w->limit))
        return true;
    if (w->evaluations % 16 != 0 && w->form->n < 2000)
        return false;
    const double now = sked_clock();
    if (w->leads && now >= w->next_publish)
        publish(w, now);
    return now >= w->limit.deadline;
}

/* ------------------------------------------------------------------ moves */

static int32_t below(worker *w, int32_t n)
{
    return (int32_t)sked_i_rng_below(&w->rng, (uint64_t)n);
}

static bool pinned(const worker *w, int32_t i)
{
    const int32_t *fix = w->form->problem->fix_device;
    return fix != NULL && fix[i] >= 0;
}

static int32_t pick_op(worker *w)
{
    if (w->chain_count == 0 || (w->accepted > 0 && w->chain_age > 16 + w->form->n / 8)) {
        w->chain_count = sked_i_sequence_critical(w->seq, &w->rng, w->chain);
        w->chain_age = w->accepted = 0;
    }
    w->chain_age++;
    return below(w, 10) < 6 ? w->chain[below(w, w->chain_count)] : below(w, w->form->n);
}

/* A device for op i: that of a neighbour in the graph, or any. */
static int32_t pick_device(worker *w, int32_t i)
{
    const sked_i_sequencing *l = w->form;
    const int64_t *in = l->dag.in.ptr + i, *out = l->dag.out.ptr + i;
    const int64_t before = in[1] - in[0], degree = before + out[1] - out[0];
    if (degree > 0 && below(w, 2) == 0) {
        const int64_t k = (int64_t)sked_i_rng_below(&w->rng, (uint64_t)degree);
        return w->seq->device[k < before ? l->in[in[0] + k].op : l->out[out[0] + k - before].op];
    }
    return below(w, l->m);
}

/* Moves the place past one to a few ops of device d, either way. */
static void pick_place(worker *w, sked_i_move *move, int32_t d, int32_t least)
{
    const sked_i_sequence *s = w->seq;
    int32_t low, high, passed = least + (below(w, 2) ? 0 : below(w, 4)), at = move->from;
    const int32_t step = below(w, 2) ? 1 : -1;
    sked_i_sequence_range(s, move->from, &low, &high);
    for (int32_t k = move->from + step; passed > 0 && k >= low && k <= high; k += step)
        if (s->device[s->list[k]] == d) {
            at = k;
            passed--;
        }
    move->to = at;
}

/* Brings op i and some of its neighbours in the graph onto device d. */
static void gather_neighbours(worker *w, sked_i_move *move, int32_t i, int32_t d)
{
    const sked_i_sequencing *l = w->form;
    for (int32_t tries = 1 + below(w, SKED_I_MOVE_OPS - 1); tries > 0; tries--) {
        const int64_t *in = l->dag.in.ptr + i, *out = l->dag.out.ptr + i;
        const int64_t before = in[1] - in[0], degree = before + out[1] - out[0];
        if (degree == 0)
            return;
        const int64_t k = (int64_t)sked_i_rng_below(&w->rng, (uint64_t)degree);
        const int32_t j = k < before ? l->in[in[0] + k].op : l->out[out[0] + k - before].op;
        bool taken = pinned(w, j) || w->seq->device[j] == d;
        for (int32_t q = 0; q < move->count; q++)
            taken = taken || move->op[q] == j;
        if (!taken) {
            move->op[move->count] = j;
            move->device[move->count++] = d;
        }
        if (below(w, 2))
            i = j;
    }
}

/* Exchanges the devices of the op and another that stands near it in the list. */
static void swap_devices(worker *w, sked_i_move *move, int32_t i)
{
    const sked_i_sequence *s = w->seq;
    const int32_t reach = 2 * w->form->m, at = s->place[i] - reach + below(w, 2 * reach + 1);
    if (at < 0 || at >= w->form->n)
        return;
    const int32_t j = s->list[at];
    if (s->device[i] == s->device[j] || pinned(w, i) || pinned(w, j))
        return;
    move->count = 2;
    move->op[0] = i;
    move->op[1] = j;
    move->device[0] = s->device[j];
    move->device[1] = s->device[i];
}

/* Puts a move together; false where it would change nothing. */
static bool pick_move(worker *w, sked_i_move *move)
{
    const int32_t i = pick_op(w), own = w->seq->device[i], kind = below(w, 100);
    *move = (sked_i_move){.from = w->seq->place[i], .to = w->seq->place[i]};
    if (kind < 35 || w->form->m == 1 || pinned(w, i)) {
        pick_place(w, move, own, 1);
    } else if (kind < 85) {
        const int32_t d = pick_device(w, i);
        pick_place(w, move, d, 0);
        if (d != own) {
            move->count = 1;
            move->op[0] = i;
            move->device[0] = d;
            if (kind >= 75)
                gather_neighbours(w, move, i, d);
        }
    } else {
        swap_devices(w, move, i);
    }
    return move->from != move->to || move->count > 0;
}

/* ------------------------------------------------------------------ annealing */

static void load_start(worker *w, int32_t k)
{
    sked_i_sequence_load(w->seq, w->starts->key[k], w->starts->device[k]);
    w->evaluations++;
    w->chain_count = 0;
    see(w);
}

/* Earliest finish in a blurred order of the longest way to the end. */
static void build_start(worker *w)
{
    const sked_i_sequencing *l = w->form;
    sked_i_upward_ranks(&l->dag, sked_i_rng_uniform(&w->rng), w->key);
    for (int32_t i = 0; i < l->n; i++)
        w->key[i] *= -1 + 0.3 * sked_i_rng_uniform(&w->rng);
    sked_i_sequence_build(w->seq, w->key);
    w->evaluations++;
    w->chain_count = 0;
    see(w);
}

static void load_best(worker *w)
{
    if (w->best == INFINITY)
        return;
    sked_i_sequence_load(w->seq, w->best_start, w->best_device);
    w->chain_count = 0;
}

/* One cooling, from `hot` to `cold` in `length` evaluations. */
static void anneal(worker *w, int64_t length, double hot, double cold)
{
    const double step = log(cold / hot) / (double)length;
    int64_t accepted = 0;
    double heat = hot;
    for (int64_t k = 0; k < length && !over(w); k++) {
        sked_i_move move;
        if (k % 64 == 0)
            heat = hot * sked_i_exp(step * (double)k);
        w->evaluations++;
        if (!pick_move(w, &move))
            continue;
        const double limit = w->seq->cost + heat * sked_i_rng_exponential(&w->rng), before = w->seq->cost;
        if (!sked_i_sequence_try(w->seq, &move, limit))
            continue;
        w->accepted++;
        if (++accepted % (16 + w->form->n / 4) == 0)
            sked_i_sequence_sort(w->seq);
        if (w->seq->cost < before || w->elite.capacity > 0)
            see(w);
        if (w->seq->status != SKED_OK)
            fail_worker(w, sked_i_no_memory(&w->error));
    }
}

static void work(void *data, int index)
{
    worker *w = (worker *)data + index;
    int32_t best = 0;
    double cost = INFINITY;
    for (int32_t k = 0; k < w->starts->count && !(k > 0 && over(w)); k++) {
        load_start(w, k);
        if (w->seq->cost < cost) {
            cost = w->seq->cost;
            best = k;
        }
    }
    if (!over(w))
        load_start(w, best);
    int64_t length = 2000 + 100 * (int64_t)w->form->n;
    for (int cycle = 0; w->form->n > 1 && !over(w); cycle++) {
        anneal(w, length, heats[cycle % n_heats] * w->form->scale, 0.01 * w->form->scale);
        if (cycle % n_heats == n_heats - 1)
            length *= 2;
        if (cycle % n_heats == n_heats - 2)
            build_start(w);
        else
            load_best(w);
    }
}

/* ------------------------------------------------------------------ starts */

static sked_status add_start(const sked_i_sequencing *l, starts *s, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t k = s->count++;
    SKED_NEW(s->key[k], l->n);
    SKED_NEW(s->device[k], l->n);
cleanup:
    return st;
}

static void free_starts(starts *s)
{
    for (int32_t k = 0; k < s->count; k++) {
        free(s->key[k]);
        free(s->device[k]);
    }
}

/* Earliest finish in order of the longest way to the end, transfers counted in several ways; one device. */
static sked_status make_starts(const sked_i_run *run, const sked_i_sequencing *l, starts *s, sked_error *err)
{
    const sked_problem *p = l->problem;
    const double share[n_shares] = {(l->m - 1.0) / l->m, 1, 0};
    const sked_i_place how = {
        .fix_device = p->fix_device, .fix_start = p->fix_start, .by_device = true, .insertion = true};
    sked_status st = SKED_OK;
    sked_i_placer *placer = NULL;
    double *up = NULL, late;
    int32_t *rank = NULL;
    SKED_NEW(up, l->n);
    SKED_NEW(rank, l->n);
    SKED_TRY(sked_i_placer_create(&l->dag, &l->pools, l->m, true, &placer, err));
    for (int k = 0; k < n_shares; k++) {
        SKED_TRY(add_start(l, s, err));
        sked_i_upward_ranks(&l->dag, share[k], up);
        for (int32_t i = 0; i < l->n; i++)
            up[i] = -up[i];
        SKED_TRY(sked_i_rank_by_key(&l->dag, up, rank, err));
        SKED_TRY(sked_i_placer_run(placer, rank, NULL, &how, s->key[k], s->device[k], &late, err));
    }
    SKED_TRY(add_start(l, s, err));
    for (int32_t i = 0; i < l->n; i++) {
        s->key[n_shares][i] = up[i];
        s->device[n_shares][i] = p->fix_device && p->fix_device[i] >= 0 ? p->fix_device[i] : 0;
    }
    if (run->options->start != NULL) {
        SKED_TRY(add_start(l, s, err));
        memcpy(s->key[n_shares + 1], run->options->start->start, (size_t)l->n * sizeof *up);
        memcpy(s->device[n_shares + 1], run->options->start->device, (size_t)l->n * sizeof *rank);
    }
cleanup:
    sked_i_placer_destroy(placer);
    free(up);
    free(rank);
    return st;
}

/* ------------------------------------------------------------------ the run */

static void close_worker(worker *w)
{
    sked_i_sequence_destroy(w->seq);
    for (int32_t k = 0; k < w->elite.count; k++) {
        free(w->elite.start[k]);
        free(w->elite.device[k]);
    }
    void *const owned[] = {w->best_start, w->best_device, w->chain,       w->key,         w->label,
                           w->elite.cost, w->elite.hash,  w->elite.start, w->elite.device};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

static sked_status open_worker(worker *w, sked_i_run *run, const sked_i_sequencing *l, const starts *s,
                               int index, sked_error *err)
{
    sked_status st = SKED_OK;
    const int threads = run->options->threads;
    const int64_t iterations = run->options->iterations;
    *w = (worker){.run = run, .form = l, .starts = s, .limit = run->limit, .leads = index == 0};
    w->best = w->least_cost = w->published = INFINITY;
    w->max_evaluations = INT64_MAX;
    if (iterations > 0)
        w->max_evaluations = iterations / threads + (index < iterations % threads);
    w->goal = -1;
    if (sked_i_run_wanted(run) == 1)
        w->goal = sked_i_run_bound(run) +
                  (sked_i_problem_integral(l->problem) ? 0 : 1e-9 * fabs(sked_i_run_bound(run)));
    sked_i_rng_seed(&w->rng, run->options->seed, (uint64_t)index);
    SKED_TRY(sked_i_sequence_create(l, &w->seq, err));
    SKED_NEW(w->best_start, l->n);
    SKED_NEW(w->best_device, l->n);
    SKED_NEW(w->chain, l->n);
    SKED_NEW(w->key, l->n);
    SKED_NEW(w->label, l->m);
    if (sked_i_run_wanted(run) > 1) {
        SKED_NEW(w->elite.cost, sked_i_run_wanted(run));
        SKED_NEW(w->elite.hash, sked_i_run_wanted(run));
        SKED_NEW0(w->elite.start, sked_i_run_wanted(run));
        SKED_NEW0(w->elite.device, sked_i_run_wanted(run));
        w->elite.capacity = sked_i_run_wanted(run);
    }
cleanup:
    return st;
}

static sked_status none_found(const sked_i_sequencing *l, double least, sked_error *err)
{
    if (least == INFINITY)
        return SKED_OK; /* stopped before a first schedule: the driver says so */
    if (l->problem->fix_start != NULL)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                           "none found: no schedule met all fixed starts%s (not a proof)",
                           l->problem->horizon < INFINITY ? " and the horizon" : "");
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "none found: the horizon is %g, the shortest schedule seen takes %g (not a proof)",
                       l->problem->horizon, least);
}

/* Takes what the workers found, first worker first, so that ties do not depend on timing. */
static sked_status merge(sked_i_run *run, const sked_i_sequencing *l, worker *workers, int count,
                         sked_error *err)
{
    sked_status st = SKED_OK;
    double least = INFINITY;
    for (int k = 0; k < count; k++) {
        worker *w = &workers[k];
        sked_i_run_evaluated(run, w->evaluations);
        least = fmin(least, w->least_cost);
        if (w->status != SKED_OK)
            return sked_i_fail(err, w->status, "%s", w->error.message);
        if (w->best < w->published)
            SKED_TRY(offer(w, w->best_start, w->best_device, err));
        for (int32_t e = 0; e < w->elite.count; e++)
            SKED_TRY(offer(w, w->elite.start[e], w->elite.device[e], err));
    }
    if (sked_i_run_incumbent(run) == NULL)
        return none_found(l, least, err);
cleanup:
    return st;
}

sked_status sked_i_transfer_search(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    const int threads = run->options->threads;
    atomic_int halt = 0;
    int opened = 0;
    sked_i_sequencing *l = NULL;
    starts first = {0};
    worker *workers = NULL;
    SKED_TRY(sked_i_sequencing_create(run->problem, &l, err));
    SKED_TRY(make_starts(run, l, &first, err));
    SKED_NEW(workers, threads);
    while (opened < threads) {
        st = open_worker(&workers[opened], run, l, &first, opened, err);
        workers[opened].halt = run->options->iterations > 0 || threads == 1 ? NULL : &halt;
        opened++;
        if (st != SKED_OK)
            goto cleanup;
    }
    SKED_TRY(sked_i_parallel(threads, work, workers, err));
    SKED_TRY(merge(run, l, workers, threads, err));
cleanup:
    for (int k = 0; k < opened; k++)
        close_worker(&workers[k]);
    free(workers);
    free_starts(&first);
    sked_i_sequencing_destroy(l);
    return st;
}
