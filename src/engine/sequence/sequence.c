/* Device sequences: loading, timing, moves, the critical path. */
#include "engine/sequence/sequence.h"
#include "base/arena.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

#define KERNEL __attribute__((always_inline)) static inline /* one copy per kind of devices */

/* ------------------------------------------------------------------ a solution */

void sked_i_sequence_destroy(sked_i_sequence *s)
{
    if (s == NULL)
        return;
    sked_i_placer_destroy(s->placer);
    sked_i_arena_free(&s->arena);
    free(s);
}

/* Where an op runs decides how long it takes. */
static inline void settle(sked_i_sequence *s, int32_t i)
{
    const sked_i_hetero *u = s->form->hetero;
    s->own_time[i] = sked_i_hetero_time(u, i, s->device[i]);
    s->own_tail[i] = sked_i_hetero_tail(u, i, s->device[i]);
}

static sked_status create_times(sked_i_sequence *s, sked_error *err)
{
    sked_status st = SKED_OK;
    s->time = s->form->dag.duration;
    s->tail = s->form->tail;
    if (s->form->hetero == NULL)
        return SKED_OK;
    SKED_OWN(&s->arena, s->own_time, s->form->n);
    SKED_OWN(&s->arena, s->own_tail, s->form->n);
    s->time = s->own_time;
    s->tail = s->own_tail;
cleanup:
    return st;
}

sked_status sked_i_sequence_create(const sked_i_sequencing *l, sked_i_sequence **out, sked_error *err)
{
    const int64_t n = l->n, m = l->m;
    sked_status st = SKED_OK;
    sked_i_sequence *s = NULL;
    SKED_NEW0(s, 1);
    s->form = l;
    SKED_OWN(&s->arena, s->list, n);
    SKED_OWN(&s->arena, s->place, n);
    SKED_OWN(&s->arena, s->device, n);
    SKED_OWN(&s->arena, s->start, n);
    SKED_OWN(&s->arena, s->before, n + 1);
    SKED_OWN(&s->arena, s->after, n + 1);
    SKED_OWN(&s->arena, s->old_end, m);
    SKED_OWN(&s->arena, s->new_end, m);
    SKED_OWN(&s->arena, s->dirty, m);
    SKED_OWN0(&s->arena, s->touched, n);
    SKED_OWN(&s->arena, s->journal, n);
    SKED_OWN(&s->arena, s->journal_start, n);
    SKED_OWN0(&s->arena, s->ops_on, m);
    SKED_OWN(&s->arena, s->last_on, m);
    SKED_OWN(&s->arena, s->previous, n);
    SKED_OWN(&s->arena, s->trial, n);
    SKED_OWN(&s->arena, s->trial_device, n);
    SKED_OWN(&s->arena, s->sorter, 2 * n);
    SKED_TRY(create_times(s, err));
    SKED_TRY(sked_i_placer_create(&l->dag, &l->pools, l->m, true, &s->placer, err));
    *out = s;
    return SKED_OK;
cleanup:
    sked_i_sequence_destroy(s);
    return st;
}

/* ------------------------------------------------------------------ timing */

/* Below on heterogeneous devices, by the table of transfers. */
KERNEL double listed_arrival(const sked_i_sequence *s, int32_t i, int32_t d)
{
    const sked_i_hetero *u = s->form->hetero;
    const int64_t *ptr = s->form->dag.in.ptr, m = u->m;
    double t = 0;
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
        const sked_i_hetero_arc *x = &u->in[k];
        const double at = s->start[x->op] + (x->lag + x->share * s->time[x->op]) +
                          u->pass[(k * m + s->device[x->op]) * m + d];
        t = at > t ? at : t;
    }
    return t;
}

/* Below on heterogeneous devices. */
KERNEL double hetero_arrival(const sked_i_sequence *s, int32_t i, int32_t d)
{
    const sked_i_hetero *u = s->form->hetero;
    const int64_t *ptr = s->form->dag.in.ptr;
    const int32_t kind = u->link_of[d];
    double t = 0;
    if (u->pass != NULL)
        return listed_arrival(s, i, d);
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
        const sked_i_hetero_arc *x = &u->in[k];
        const int32_t from = s->device[x->op];
        double at = s->start[x->op] + (x->lag + x->share * s->time[x->op]);
        if (from != d)
            at += sked_i_hetero_pass(u, x, u->link_of[from], kind);
        t = at > t ? at : t;
    }
    return t;
}

/*
 * When op i can start on device d as far as its data goes. A twin for speed: identical devices as one kind
 * take 5.1 s instead of 3.8 for 300,000 moves (search, layered graph of 2,000 ops, 4 devices with transfers).
 */
KERNEL double arrival(const sked_i_sequence *s, int32_t i, int32_t d, bool hetero)
{
    const sked_i_sequencing *l = s->form;
    double t = 0;
    if (hetero)
        return hetero_arrival(s, i, d);
    for (int64_t k = l->dag.in.ptr[i]; k < l->dag.in.ptr[i + 1]; k++) {
        const sked_i_sequencing_arc *x = &l->in[k];
        const double at = s->start[x->op] + (s->device[x->op] == d ? x->here : x->away);
        t = at > t ? at : t;
    }
    return t;
}

/* When each device has run what stands before place k. Looks back until every device in use was met. */
static void ends_before(const sked_i_sequence *s, int32_t k, double *end)
{
    const double *duration = s->time;
    int32_t missing = 0;
    for (int32_t d = 0; d < s->form->m; d++) {
        end[d] = -1;
        missing += s->ops_on[d] > 0;
    }
    while (--k >= 0 && missing > 0) {
        const int32_t i = s->list[k], d = s->device[i];
        if (end[d] < 0 && duration[i] > 0) {
            end[d] = s->start[i] + duration[i];
            missing--;
        }
    }
    for (int32_t d = 0; d < s->form->m; d++)
        end[d] = end[d] < 0 ? 0 : end[d];
}

/* Brings `before` and `after` up to date where starts at places first..last have changed. */
static void refresh_finishes(sked_i_sequence *s, int32_t first, int32_t last)
{
    const double *duration = s->time;
    const int32_t n = s->form->n;
    for (int32_t k = first; k < n; k++) {
        const double f = s->start[s->list[k]] + duration[s->list[k]];
        const double latest = f > s->before[k] ? f : s->before[k];
        if (k > last && latest == s->before[k + 1])
            break;
        s->before[k + 1] = latest;
    }
    for (int32_t k = last; k >= 0; k--) {
        const double f = s->start[s->list[k]] + duration[s->list[k]];
        const double latest = f > s->after[k + 1] ? f : s->after[k + 1];
        if (k < first && latest == s->after[k])
            break;
        s->after[k] = latest;
    }
}

static void time_all(sked_i_sequence *s)
{
    const double *duration = s->time;
    const int32_t n = s->form->n;
    double *end = s->new_end;
    memset(s->ops_on, 0, (size_t)s->form->m * sizeof *s->ops_on);
    for (int32_t d = 0; d < s->form->m; d++)
        end[d] = 0;
    for (int32_t k = 0; k < n; k++) {
        const int32_t i = s->list[k], d = s->device[i];
        const double t = arrival(s, i, d, s->form->hetero != NULL);
        s->start[i] = duration[i] > 0 && end[d] > t ? end[d] : t;
        if (duration[i] > 0) {
            end[d] = s->start[i] + duration[i];
            s->ops_on[d]++;
        }
    }
    s->before[0] = s->after[n] = 0;
    refresh_finishes(s, 0, n - 1);
    s->cost = s->before[n];
}

/* Places ops in order of rank on given devices, or where they finish first, into the trial arrays. */
static bool place_trial(sked_i_sequence *s, const int32_t *rank, const int32_t *device,
                        const sked_i_limit *limit)
{
    const sked_i_place how = {.fix_device = device,
                              .fix_start = s->form->problem->fix_start,
                              .by_device = true,
                              .insertion = true,
                              .limit = limit};
    sked_error err = {0};
    s->status = sked_i_placer_run(s->placer, rank, NULL, &how, s->trial, s->trial_device, &s->late, &err);
    return s->status == SKED_OK;
}

/* Times everything with pools or fixed starts, into the trial arrays. Returns the cost. */
static double time_trial(sked_i_sequence *s)
{
    const sked_i_sequencing *l = s->form;
    double latest = 0;
    if (!place_trial(s, s->place, s->device, NULL))
        return INFINITY;
    for (int32_t i = 0; i < l->n; i++)
        latest = fmax(latest, s->trial[i] + s->time[i]);
    return s->late > 0 ? latest + l->span + s->late : latest;
}

static void take_trial(sked_i_sequence *s, double cost)
{
    double *const old = s->start;
    s->start = s->trial;
    s->trial = old;
    s->cost = cost;
}

static void sort_list(sked_i_sequence *s, const double *key)
{
    const int32_t n = s->form->n;
    sked_i_keyed *items = s->sorter;
    for (int32_t k = 0; k < n; k++)
        items[k] = (sked_i_keyed){sked_i_sort_key(key[s->list[k]]), s->list[k]};
    sked_i_sort_keyed(items, items + n, n);
    for (int32_t k = 0; k < n; k++) {
        s->list[k] = (int32_t)items[k].value;
        s->place[s->list[k]] = k;
    }
}

#ifndef NDEBUG
/* place is the inverse of list, and no op stands before one of its predecessors. */
static bool is_topological(const sked_i_sequence *s)
{
    const sked_i_sequencing *l = s->form;
    for (int32_t k = 0; k < l->n; k++) {
        const int32_t i = s->list[k];
        if (s->place[i] != k)
            return false;
        for (int64_t q = l->dag.in.ptr[i]; q < l->dag.in.ptr[i + 1]; q++)
            if (s->place[l->dag.in.op[q]] >= k)
                return false;
    }
    return true;
}
#endif

/*
 * The starts, each at least those of its predecessors, in s->trial: a fixed op keeps its time in a schedule
 * where a predecessor starts later.
 */
static const double *behind_predecessors(sked_i_sequence *s, const double *start)
{
    const sked_i_sequencing *l = s->form;
    for (int32_t k = 0; k < l->n; k++) {
        const int32_t i = l->dag.order[k];
        s->trial[i] = start[i];
        for (int64_t q = l->dag.in.ptr[i]; q < l->dag.in.ptr[i + 1]; q++)
            s->trial[i] = fmax(s->trial[i], s->trial[l->dag.in.op[q]]);
    }
    return s->trial;
}

/* Orders the list by starts; ties stay as they are. */
static void sort_by_start(sked_i_sequence *s, const double *start)
{
    sort_list(s, s->form->problem->fix_start != NULL ? behind_predecessors(s, start) : start);
    assert(is_topological(s));
}

void sked_i_sequence_sort(sked_i_sequence *s)
{
    if (!s->form->orderly)
        return;
    sort_by_start(s, s->start);
    if (s->form->plain) {
        s->before[0] = s->after[s->form->n] = 0;
        refresh_finishes(s, 0, s->form->n - 1);
    }
}

void sked_i_sequence_load(sked_i_sequence *s, const double *start, const int32_t *device)
{
    const sked_i_sequencing *l = s->form;
    memcpy(s->list, l->dag.order, (size_t)l->n * sizeof *s->list);
    memcpy(s->device, device, (size_t)l->n * sizeof *device);
    for (int32_t i = 0; l->hetero != NULL && i < l->n; i++)
        settle(s, i);
    for (int32_t k = 0; k < l->n; k++)
        s->place[s->list[k]] = k;
    if (l->orderly)
        sort_by_start(s, start);
    if (l->plain)
        time_all(s);
    else
        take_trial(s, time_trial(s));
}

void sked_i_sequence_build(sked_i_sequence *s, const double *key)
{
    const sked_i_sequencing *l = s->form;
    memcpy(s->list, l->dag.order, (size_t)l->n * sizeof *s->list);
    sort_list(s, key);
    if (place_trial(s, s->place, l->problem->fix_device, s->limit)) {
        memcpy(s->start, s->trial, (size_t)l->n * sizeof *s->start);
        sked_i_sequence_load(s, s->start, s->trial_device);
    } else if (s->status == SKED_ERR_STOPPED) { /* back to what it was */
        memcpy(s->trial_device, s->device, (size_t)l->n * sizeof *s->device);
        sked_i_sequence_load(s, s->start, s->trial_device);
        s->status = SKED_OK;
    }
}

/* ------------------------------------------------------------------ moves */

void sked_i_sequence_range(const sked_i_sequence *s, int32_t from, int32_t *low, int32_t *high)
{
    const sked_i_sequencing *l = s->form;
    const int32_t i = s->list[from];
    int32_t first = 0, last = l->n - 1;
    for (int64_t k = l->dag.in.ptr[i]; k < l->dag.in.ptr[i + 1]; k++) {
        const int32_t at = s->place[l->dag.in.op[k]] + 1;
        first = at > first ? at : first;
    }
    for (int64_t k = l->dag.out.ptr[i]; k < l->dag.out.ptr[i + 1]; k++) {
        const int32_t at = s->place[l->dag.out.op[k]] - 1;
        last = at < last ? at : last;
    }
    assert(first <= from && from <= last);
    *low = first;
    *high = last;
}

#ifndef NDEBUG
static bool may_take(const sked_i_sequence *s, int32_t from, int32_t to)
{
    int32_t low, high;
    sked_i_sequence_range(s, from, &low, &high);
    return low <= to && to <= high;
}
#endif

static void shift(sked_i_sequence *s, int32_t from, int32_t to)
{
    const int32_t i = s->list[from], step = to > from ? 1 : -1;
    for (int32_t k = from; k != to; k += step) {
        s->list[k] = s->list[k + step];
        s->place[s->list[k]] = k;
    }
    s->list[to] = i;
    s->place[i] = to;
}

/* Exchanges the devices in the move with those of the ops: doing it twice undoes it. */
static void exchange_devices(sked_i_sequence *s, sked_i_sequence_move *move)
{
    for (int32_t q = 0; q < move->count; q++) {
        const int32_t i = move->op[q], d = s->device[i];
        assert(move->device[q] >= 0 && move->device[q] < s->form->m);
        s->ops_on[d] -= s->time[i] > 0;
        s->device[i] = move->device[q];
        if (s->form->hetero != NULL)
            settle(s, i);
        s->ops_on[s->device[i]] += s->time[i] > 0;
        move->device[q] = d;
    }
}

static inline void touch_successors(sked_i_sequence *s, int32_t i, int32_t *last)
{
    const sked_i_sequencing *l = s->form;
    for (int64_t k = l->dag.out.ptr[i]; k < l->dag.out.ptr[i + 1]; k++) {
        const int32_t j = l->dag.out.op[k];
        s->touched[j] = s->touch;
        *last = s->place[j] > *last ? s->place[j] : *last;
    }
}

static int32_t mark_dirty(sked_i_sequence *s)
{
    int32_t count = 0;
    for (int32_t d = 0; d < s->form->m; d++)
        count += s->dirty[d] = s->new_end[d] != s->old_end[d];
    return count;
}

/*
 * Times again from place `lo`; old_end and new_end hold for hi + 1 before the move and for lo, and nothing
 * behind `reach` is touched yet. Returns the place at which everything was as before again, or -1 where the
 * limit is exceeded.
 */
KERNEL int32_t retime(sked_i_sequence *s, int32_t lo, int32_t hi, int32_t reach, double limit, bool hetero,
                      double *latest)
{
    const sked_i_sequencing *l = s->form;
    const double *duration = s->time;
    double top = s->before[lo];
    int32_t dirty = l->m, last = reach > hi ? reach : hi, k;
    for (int32_t d = 0; d < l->m; d++)
        s->dirty[d] = 1;
    for (k = lo; k < l->n; k++) {
        if (k == hi + 1)
            dirty = mark_dirty(s);
        if (k > last && dirty == 0)
            break;
        const int32_t i = s->list[k], d = s->device[i];
        const double old = s->start[i];
        if (k > hi && s->touched[i] != s->touch && !s->dirty[d]) {
            if (duration[i] > 0)
                s->new_end[d] = s->old_end[d] = old + duration[i];
            top = old + duration[i] > top ? old + duration[i] : top;
            continue;
        }
        double t = arrival(s, i, d, hetero);
        t = duration[i] > 0 && s->new_end[d] > t ? s->new_end[d] : t;
        if (t + s->tail[i] > limit)
            return -1;
        if (t != old) {
            s->journal[s->journal_count] = i;
            s->journal_start[s->journal_count++] = old;
            s->start[i] = t;
            touch_successors(s, i, &last);
        }
        top = t + duration[i] > top ? t + duration[i] : top;
        if (!(duration[i] > 0))
            continue;
        s->new_end[d] = t + duration[i];
        if (k > hi) {
            s->old_end[d] = old + duration[i];
            dirty += (s->new_end[d] != s->old_end[d]) - s->dirty[d];
            s->dirty[d] = s->new_end[d] != s->old_end[d];
        }
    }
    *latest = top > s->after[k] ? top : s->after[k];
    return *latest > limit ? -1 : k;
}

static bool try_plain(sked_i_sequence *s, sked_i_sequence_move *move, double limit)
{
    int32_t lo = move->from < move->to ? move->from : move->to;
    int32_t hi = move->from < move->to ? move->to : move->from, reach = 0;
    double latest = 0;
    for (int32_t q = 0; q < move->count; q++) {
        const int32_t at = s->place[move->op[q]];
        lo = at < lo ? at : lo;
        hi = at > hi ? at : hi;
    }
    ends_before(s, hi + 1, s->old_end);
    ends_before(s, lo, s->new_end);
    shift(s, move->from, move->to);
    exchange_devices(s, move);
    s->touch++;
    s->journal_count = 0;
    for (int32_t q = 0; q < move->count; q++)
        touch_successors(s, move->op[q], &reach);
    const int32_t stop = s->form->hetero == NULL ? retime(s, lo, hi, reach, limit, false, &latest)
                                                 : retime(s, lo, hi, reach, limit, true, &latest);
    if (stop >= 0) {
        s->cost = latest;
        refresh_finishes(s, lo, stop - 1);
        return true;
    }
    for (int32_t q = 0; q < s->journal_count; q++)
        s->start[s->journal[q]] = s->journal_start[q];
    exchange_devices(s, move);
    shift(s, move->to, move->from);
    return false;
}

bool sked_i_sequence_try(sked_i_sequence *s, sked_i_sequence_move *move, double limit)
{
    assert(move->count <= SKED_I_SEQUENCE_MOVE_OPS && may_take(s, move->from, move->to));
    if (s->form->plain)
        return try_plain(s, move, limit);
    const double late = s->late;
    shift(s, move->from, move->to);
    exchange_devices(s, move);
    const double cost = time_trial(s);
    if (cost <= limit) {
        take_trial(s, cost);
        sked_i_sequence_sort(s);
        return true;
    }
    s->late = late;
    exchange_devices(s, move);
    shift(s, move->to, move->from);
    return false;
}

/* ------------------------------------------------------------------ the critical path */

/* When the data of the k-th entry of the predecessor rows is on device d. */
static double data_from(const sked_i_sequence *s, int64_t k, int32_t d)
{
    const sked_i_sequencing *l = s->form;
    const int32_t q = l->dag.in.op[k], from = s->device[q];
    if (l->hetero == NULL)
        return s->start[q] + (from == d ? l->in[k].here : l->in[k].away);
    const sked_i_hetero *u = l->hetero;
    const sked_i_hetero_arc *x = &u->in[k];
    const double at = s->start[q] + (x->lag + x->share * s->time[q]);
    return from == d ? at : at + sked_i_hetero_pass(u, x, u->link_of[from], u->link_of[d]);
}

/* An op that decides when i starts, or -1; at random among several. previous: the op before i on its device.
 */
static int32_t blocker(const sked_i_sequence *s, int32_t i, int32_t previous, sked_i_rng *rng)
{
    const sked_i_sequencing *l = s->form;
    const double t = s->start[i];
    int32_t found = -1;
    uint64_t seen = 0;
    if (previous >= 0 && s->time[i] > 0 && s->start[previous] + s->time[previous] == t) {
        found = previous;
        seen = 1;
    }
    for (int64_t k = l->dag.in.ptr[i]; k < l->dag.in.ptr[i + 1]; k++)
        if (data_from(s, k, s->device[i]) == t && sked_i_rng_below(rng, ++seen) == 0)
            found = l->dag.in.op[k];
    for (int32_t k = s->place[i] - 1; found < 0 && !l->plain && t > 0 && k >= 0; k--)
        if (s->start[s->list[k]] + s->time[s->list[k]] == t) /* its pools became free then */
            found = s->list[k];
    return found;
}

int32_t sked_i_sequence_critical(sked_i_sequence *s, sked_i_rng *rng, int32_t *chain)
{
    const sked_i_sequencing *l = s->form;
    int32_t *last = s->last_on, *previous = s->previous, count = 0, at = -1;
    double latest = -1;
    for (int32_t d = 0; d < l->m; d++)
        s->ops_on[d] = 0;
    for (int32_t k = 0; k < l->n; k++) {
        const int32_t i = s->list[k], d = s->device[i];
        previous[i] = -1;
        if (s->start[i] + s->time[i] > latest) {
            latest = s->start[i] + s->time[i];
            at = i;
        }
        if (!(s->time[i] > 0))
            continue;
        previous[i] = s->ops_on[d]++ > 0 ? last[d] : -1;
        last[d] = i;
    }
    while (at >= 0 && count < l->n) {
        chain[count++] = at;
        at = blocker(s, at, previous[at], rng);
    }
    assert(count > 0);
    return count;
}
