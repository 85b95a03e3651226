/*
 * Serial generation: ops come in order of preference, predecessors first, and each goes where it fits first.
 * Pools are timelines. Devices are one more pool while they are all alike to an op; where transfers or fixed
 * devices distinguish them, each has gaps of its own. Heterogeneous devices take the same way through the
 * ops, but list_heterogeneous.c says when data arrives and which device is best. Identical devices could be
 * its one kind: 100,000 ops in layers on 8 devices with transfers then take 0.116 s instead of 0.098.
 */
#include "engine/list/placer.h"
#include "schedule/schedule.h"

#include <string.h>

typedef sked_i_placer placer;

void sked_i_placer_destroy(sked_i_placer *x)
{
    if (x == NULL)
        return;
    sked_i_arena_free(&x->arena);
    free(x);
}

static sked_status create_pools(placer *x, sked_error *err)
{
    const sked_i_pools *q = x->input.pools;
    sked_status st = SKED_OK;
    int64_t *uses;
    SKED_OWN0(&x->arena, uses, q->count);
    SKED_OWN0(&x->arena, x->pool, q->count);
    for (int32_t i = 0; i < x->input.view->n; i++)
        for (int64_t k = sked_i_pools_first(q, i); k < sked_i_pools_end(q, i); k++)
            uses[q->pool[k]]++;
    for (int32_t r = 0; r < q->count; r++)
        SKED_TRY(sked_i_timeline_init(&x->arena, &x->pool[r], uses[r], err));
cleanup:
    return st;
}

static sked_status create_gaps(placer *x, sked_error *err)
{
    const int32_t m = x->input.devices;
    sked_status st = SKED_OK;
    SKED_OWN0(&x->arena, x->gaps, m);
    SKED_OWN(&x->arena, x->local, m);
    SKED_OWN(&x->arena, x->seen, m);
    for (int32_t d = 0; d < m; d++)
        if (!sked_i_gaps_init(&x->arena, &x->gaps[d]))
            st = sked_i_no_memory(err);
cleanup:
    return st;
}

sked_status sked_i_placer_create(const sked_i_dag *v, const sked_i_pools *pools, int32_t devices,
                                 bool by_device, sked_i_placer **out, sked_error *err)
{
    sked_status st = SKED_OK;
    placer *x = NULL;
    SKED_NEW0(x, 1);
    assert(v->costs == NULL || (by_device && devices > 0 && v->in.ptr != NULL));
    x->input = (sked_i_list_input){.view = v, .pools = pools, .devices = devices};
    x->by_device = by_device && devices > 0;
    x->shortest = INFINITY;
    SKED_OWN(&x->arena, x->arrival, v->n);
    SKED_OWN(&x->arena, x->waiting, v->n);
    SKED_OWN(&x->arena, x->by_rank, v->n);
    SKED_OWN(&x->arena, x->words, sked_i_set_words(v->n));
    SKED_OWN(&x->arena, x->pending.at, v->n);
    sked_i_set_place(&x->ready, v->n, x->words);
    SKED_TRY(create_pools(x, err));
    if (x->by_device)
        SKED_TRY(create_gaps(x, err));
    for (int32_t i = 0; v->costs == NULL && i < v->n; i++)
        if (v->duration[i] > 0 && v->duration[i] < x->shortest)
            x->shortest = v->duration[i];
    if (v->costs != NULL)
        SKED_TRY(sked_i_placer_open_heterogeneous(x, err));
    *out = x;
    return SKED_OK;
cleanup:
    sked_i_placer_destroy(x);
    return st;
}

/* Forgets the last run. */
static void reset(placer *x)
{
    const sked_i_dag *v = x->input.view;
    for (int32_t r = 0; r < x->input.pools->count; r++)
        sked_i_timeline_reset(&x->pool[r]);
    for (int32_t d = 0; x->by_device && d < x->input.devices; d++) {
        sked_i_gaps_reset(&x->gaps[d]);
        x->seen[d] = -1;
    }
    for (int32_t i = 0; x->how->lookahead && i < v->n; i++)
        x->device[i] = -1; /* not placed */
    x->late = x->now = 0;
    x->next_device = 0;
    x->hurry = NULL;
    x->chosen = -1;
    x->pending.count = 0;
    memset(x->words, 0, (size_t)sked_i_set_words(v->n) * sizeof *x->words);
    for (int32_t i = 0; i < v->n; i++) {
        assert(x->input.rank[i] >= 0 && x->input.rank[i] < v->n);
        x->by_rank[x->input.rank[i]] = i;
        x->arrival[i] = x->input.release ? x->input.release[i] : 0;
        x->waiting[i] = (int32_t)(v->in_ptr[i + 1] - v->in_ptr[i]);
    }
}

/* ------------------------------------------------------------------ where data is when */

static bool fixed_start(const placer *x, int32_t i)
{
    return x->how->fix_start != NULL && !isnan(x->how->fix_start[i]);
}

/* Gathers what op i needs to know of its predecessors; O(predecessors). */
static void gather(placer *x, int32_t i)
{
    const sked_i_dag_rows *in = &x->input.view->in;
    const double floor_time = x->input.release ? x->input.release[i] : 0;
    x->remote[0] = x->remote[1] = floor_time;
    x->remote_device = -1;
    for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
        const int32_t q = in->op[k], d = x->device[q];
        const double here = x->start[q] + in->lag[k], away = here + in->transfer[k];
        if (x->seen[d] != i || here > x->local[d])
            x->local[d] = here;
        x->seen[d] = i;
        sked_i_placer_note(x->remote, &x->remote_device, d, away);
    }
}

/* When the data of op i, gathered before, is on device d. */
static double arrival_on(const placer *x, int32_t i, int32_t d)
{
    if (x->input.view->out.transfer == NULL)
        return x->arrival[i];
    const double away = d == x->remote_device ? x->remote[1] : x->remote[0];
    return x->seen[d] == i && x->local[d] > away ? x->local[d] : away;
}

static double earliest_arrival(placer *x, int32_t i)
{
    if (x->input.view->costs != NULL)
        return sked_i_placer_earliest(x, i);
    if (x->input.view->out.transfer == NULL)
        return x->arrival[i];
    const sked_i_dag_rows *in = &x->input.view->in;
    const int64_t first = in->ptr[i], end = in->ptr[i + 1];
    double best = INFINITY;
    gather(x, i);
    for (int64_t k = first; k < end && end - first < x->input.devices; k++)
        best = fmin(best, arrival_on(x, i, x->device[in->op[k]]));
    if (end - first < x->input.devices) /* to all devices without a predecessor the data takes as long */
        return fmin(best, x->remote[0]);
    for (int32_t d = 0; d < x->input.devices; d++)
        best = fmin(best, arrival_on(x, i, d));
    return best;
}

double sked_i_placer_arrival_alone(const sked_i_placer *x, int32_t i, int32_t d)
{
    const sked_i_dag_rows *in = &x->input.view->in;
    if (x->input.view->costs != NULL)
        return sked_i_placer_arrival_hetero(x, i, d);
    if (x->input.view->out.transfer == NULL)
        return x->arrival[i];
    double latest = x->input.release ? x->input.release[i] : 0;
    for (int64_t k = in->ptr[i]; k < in->ptr[i + 1]; k++) {
        const double here = x->start[in->op[k]] + in->lag[k];
        latest = fmax(latest, x->device[in->op[k]] == d ? here : here + in->transfer[k]);
    }
    return latest;
}

/* ------------------------------------------------------------------ where there is room */

/* Earliest start from t on identical devices; d -1: they are a pool. */
static double first_room(const placer *x, int32_t i, int32_t d, double t, double *gap)
{
    return sked_i_placer_room(x, i, x->input.view->duration[i], d, t, gap);
}

/* Time of op i on its device. */
static inline double length_of(const placer *x, int32_t i)
{
    const sked_i_dag *v = x->input.view;
    return v->costs == NULL ? v->duration[i] : sked_i_time(v->costs, i, x->device[i]);
}

/* Books op i at x->start[i] (and its device). false: no memory. */
static bool book(placer *x, int32_t i)
{
    const sked_i_pools *q = x->input.pools;
    const double length = length_of(x, i), begin = x->start[i];
    const int32_t c = sked_i_pools_class(q, i);
    assert(begin >= 0 && begin < INFINITY);
    if (!(length > 0))
        return true;
    assert(!x->by_device || (x->device[i] >= 0 && x->device[i] < x->input.devices));
    for (int64_t k = q->class_ptr[c]; k < q->class_ptr[c + 1]; k++)
        sked_i_timeline_use(&x->pool[q->pool[k]], begin, begin + length, q->amount[k]);
    return !x->by_device ||
           sked_i_gaps_take(&x->gaps[x->device[i]], begin, length, x->shortest, !x->how->insertion);
}

/* The device on which op i can start first; among equals the one left idle the shortest. */
static void choose_device(placer *x, int32_t i)
{
    int32_t first, last;
    double best = INFINITY, idle_since = -1;
    sked_i_placer_range(x, i, &first, &last);
    if (x->input.view->out.transfer != NULL)
        gather(x, i);
    for (int32_t d = first; d <= last; d++) {
        double gap = 0;
        const double from = arrival_on(x, i, d);
        if (from > best)
            continue;
        const double t = first_room(x, i, d, from, &gap);
        if (t < best || (t == best && gap > idle_since)) {
            best = t;
            idle_since = gap;
            x->device[i] = d;
        }
    }
    x->start[i] = best;
}

/* ------------------------------------------------------------------ the order of ops */

static void make_ready(placer *x, int32_t i)
{
    if (x->how->stepped && x->hurry == NULL) {
        const double t = earliest_arrival(x, i);
        if (t > x->now) {
            sked_i_event_heap_push(&x->pending, (sked_i_event){t, i});
            return;
        }
    }
    sked_i_set_add(&x->ready, (uint32_t)x->input.rank[i]);
}

/* Ops whose data is there by now. */
static int32_t wake(placer *x)
{
    int32_t count = 0;
    for (; x->pending.count > 0 && x->pending.at[0].time <= x->now; count++)
        sked_i_set_add(&x->ready, (uint32_t)x->input.rank[sked_i_event_heap_pop(&x->pending).id]);
    return count;
}

/* Moves the clock of a stepped run to when a device is free and something is ready. */
static void step(placer *x)
{
    double first_free = INFINITY;
    for (int32_t d = 0; d < x->input.devices; d++)
        first_free = fmin(first_free, sked_i_gaps_end(&x->gaps[d]));
    x->now = fmax(x->now, first_free);
    if (sked_i_set_empty(&x->ready) && x->pending.count > 0)
        x->now = fmax(x->now, x->pending.at[0].time);
    wake(x);
}

/*
 * The same on heterogeneous devices, where a slow device may stay free for ever: the clock stands at the
 * start of the best ready op, and whatever has its data by then competes with it.
 */
static void step_hetero(placer *x)
{
    if (sked_i_set_empty(&x->ready))
        x->now = fmax(x->now, x->pending.at[0].time);
    wake(x);
    for (double late = x->late; x->pending.count > 0; x->late = late) {
        const int32_t i = x->by_rank[sked_i_set_first(&x->ready)];
        sked_i_placer_choose(x, i);
        x->chosen = i;
        x->now = fmax(x->now, x->start[i]);
        if (wake(x) == 0 || x->by_rank[sked_i_set_first(&x->ready)] == i)
            return;
    }
    x->chosen = -1; /* another one has come before it */
}

static void tell_successors(placer *x, int32_t i)
{
    const sked_i_dag_rows *out = &x->input.view->out;
    for (int64_t e = out->ptr[i]; e < out->ptr[i + 1]; e++) {
        const int32_t to = out->op[e];
        const double t = x->start[i] + out->lag[e];
        x->arrival[to] = t > x->arrival[to] ? t : x->arrival[to];
        assert(x->waiting[to] > 0);
        if (--x->waiting[to] == 0)
            make_ready(x, to);
    }
}

static double beyond(double late, double t)
{
    return late <= 0 || (late < 0.5 && late <= 1e-12 * fmax(1, t)) ? 0 : late;
}

static double lateness_hetero(placer *x, int32_t i, double t)
{
    const double from = sked_i_placer_arrival_alone(x, i, x->device[i]);
    return isinf(from) ? 1 + length_of(x, i) : beyond(from - t, t);
}

/* What op i misses its fixed start by; 0 within rounding, integers exactly. */
static double lateness(placer *x, int32_t i)
{
    const double t = x->start[i];
    if (x->input.view->costs != NULL)
        return lateness_hetero(x, i, t);
    if (x->by_device && x->input.view->out.transfer != NULL)
        gather(x, i);
    return beyond((x->by_device ? arrival_on(x, i, x->device[i]) : x->arrival[i]) - t, t);
}

static bool book_hetero_at(placer *x, int32_t i, double t)
{
    x->start[i] = t;
    if (sked_i_placer_fit(x, i, t))
        return book(x, i);
    x->late += 1 + length_of(x, i);
    return true;
}

/* A fixed start takes its place, on the first device with room where it is free; without room it is late. */
static bool book_at(placer *x, int32_t i, double t)
{
    const int32_t pinned = x->by_device && x->how->fix_device ? x->how->fix_device[i] : -1;
    double gap;
    if (x->input.view->costs != NULL)
        return book_hetero_at(x, i, t);
    int32_t d = pinned >= 0 ? pinned : x->by_device ? 0 : -1;
    while (pinned < 0 && x->by_device && d + 1 < x->input.devices && first_room(x, i, d, t, &gap) > t)
        d++;
    x->start[i] = t;
    if (x->by_device)
        x->device[i] = d;
    if (first_room(x, i, d, t, &gap) == t)
        return book(x, i);
    x->late += x->input.view->duration[i];
    return true;
}

/* The time is up: a fixed start takes the next device with room after the one taken last. */
static bool book_next(placer *x, int32_t i, double t)
{
    double gap;
    x->start[i] = t;
    for (int32_t k = 0; k < x->input.devices; k++) {
        const int32_t d = x->next_device;
        const double length =
            x->input.view->costs != NULL ? sked_i_placer_time(x, i, d) : x->input.view->duration[i];
        x->next_device = d + 1 < x->input.devices ? d + 1 : 0;
        if (sked_i_pace_over(&x->pace, 1))
            return false;
        if (isinf(length) || sked_i_placer_room(x, i, length, d, t, &gap) > t)
            continue;
        x->device[i] = d;
        return book(x, i);
    }
    return book_at(x, i, t);
}

/* Once the time is up, what is left may be made in a hurry: with a bound on looks of its own. */
static bool may_hurry(placer *x)
{
    enum { looks_in_a_hurry = 64 }; /* for each op, where none of the few devices serves it */
    if (!x->how->hurry || x->how->lookahead || sked_i_limit_halted(x->how->limit))
        return false;
    x->pace.over = false;
    x->pace.owed = true;
    x->pace.free_steps = x->pace.steps + looks_in_a_hurry * (int64_t)x->input.view->n;
    return true;
}

/* Fixed starts are booked before anything else, first those that cannot move to another device. */
static bool book_fixed(placer *x)
{
    bool hurried = false;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < x->input.view->n; i++) {
            const bool pinned = x->by_device && x->how->fix_device && x->how->fix_device[i] >= 0;
            const bool wide = x->by_device && !pinned;
            if (!fixed_start(x, i) || pinned != (pass == 0))
                continue;
            if (!hurried && sked_i_pace_over(&x->pace, wide ? x->input.devices : 1)) {
                hurried = true;
                if (!may_hurry(x))
                    return false;
            }
            if (!(hurried && wide ? book_next : book_at)(x, i, x->how->fix_start[i]))
                return false;
        }
    return true;
}

static bool place_op(placer *x, int32_t i)
{
    double gap;
    if (fixed_start(x, i)) {
        x->late += lateness(x, i);
        return true;
    }
    if (x->hurry != NULL && sked_i_placer_choose_hurried(x, i))
        return book(x, i);
    if (x->hurry != NULL && sked_i_pace_over(&x->pace, x->input.devices))
        return false;
    if (x->input.view->costs != NULL) {
        if (x->chosen != i)
            sked_i_placer_choose(x, i);
    } else if (x->by_device)
        choose_device(x, i);
    else
        x->start[i] = first_room(x, i, -1, x->arrival[i], &gap);
    return book(x, i);
}

/* Looks that the next op takes, at devices and at links; eight of these take as long as one of those. */
static int64_t looks_of_op(const placer *x)
{
    enum { links_in_a_look = 8 };
    return x->input.devices + x->far.kinds / links_in_a_look;
}

/* Is the time up? Then the rest may be placed in a hurry. false: give up. */
static bool keeps_time(placer *x)
{
    if (!x->by_device || x->hurry != NULL || !(x->pace.over || sked_i_pace_over(&x->pace, looks_of_op(x))))
        return true;
    return may_hurry(x) && sked_i_placer_hurry(x, NULL) == SKED_OK;
}

static bool place_all(placer *x)
{
    const int32_t n = x->input.view->n;
    for (int32_t i = 0; i < n; i++)
        if (x->waiting[i] == 0)
            make_ready(x, i);
    for (int32_t placed = 0; placed < n; placed++) {
        if (x->how->stepped && x->hurry == NULL && x->input.view->costs != NULL)
            step_hetero(x);
        else if (x->how->stepped && x->hurry == NULL)
            step(x);
        if (!keeps_time(x))
            return false;
        const int32_t i = x->by_rank[sked_i_set_first(&x->ready)];
        sked_i_set_remove(&x->ready, (uint32_t)x->input.rank[i]);
        if (!place_op(x, i))
            return false;
        if (x->input.view->costs != NULL && x->how->stepped)
            x->now = fmax(x->now, x->start[i]);
        if (x->reach != NULL && x->hurry == NULL)
            sked_i_reach_placed(x, i);
        tell_successors(x, i);
    }
    return true;
}

/* Looks at devices that are moderate; none where the run before took too many. */
static int64_t free_steps(const placer *x)
{
    const int64_t moderate = SKED_I_LIST_FREE_STEPS * (int64_t)x->input.view->n;
    return x->hurried ? 0 : moderate < SKED_I_LIST_MOST_FREE ? moderate : SKED_I_LIST_MOST_FREE;
}

sked_status sked_i_placer_run(sked_i_placer *x, const int32_t *rank, const double *release,
                              const sked_i_place *how, double *start, int32_t *device, double *late,
                              sked_error *err)
{
    x->input.rank = rank;
    x->input.release = release;
    x->how = how;
    assert(!(how->lookahead && how->stepped));
    x->start = start;
    x->device = device;
    x->pace = (sked_i_pace){.limit = how->limit, .free_steps = free_steps(x), .owed = how->hurry};
    reset(x);
    if (how->fix_start != NULL && !book_fixed(x))
        return x->pace.over ? sked_i_limit_fail(err) : sked_i_no_memory(err);
    /* a stop, or the time that is up: the rest in a hurry, at once */
    x->pace = (sked_i_pace){.limit = how->limit, .free_steps = free_steps(x), .steps = x->pace.steps};
    if (x->reach != NULL)
        sked_i_reach_reset(x);
    if (!place_all(x))
        return x->pace.over ? sked_i_limit_fail(err) : sked_i_no_memory(err);
    *late = x->late;
    return SKED_OK;
}

/* Dead ends where links are missing: again on devices that all have links, set by set until one serves. */
static sked_status place_linked(placer *x, const sked_i_list_input *input, const sked_i_place *how,
                                double *start, int32_t *device, double *late, sked_error *err)
{
    const int32_t m = input->devices;
    sked_status st = SKED_OK;
    bool *tried, *use;
    sked_i_place again = *how;
    SKED_OWN0(&x->arena, tried, m);
    SKED_OWN(&x->arena, use, m);
    again.use = use;
    for (int32_t d = 0; d<m && * late> 0; d++) {
        if (tried[d])
            continue;
        SKED_TRY(sked_i_linked_devices(input->view->costs, d, use, err));
        for (int32_t e = 0; e < m; e++)
            tried[e] = tried[e] || use[e];
        SKED_TRY(sked_i_placer_run(x, input->rank, input->release, &again, start, device, late, err));
    }
cleanup:
    return st;
}

sked_status sked_i_list_place(const sked_i_list_input *input, const sked_i_place *how, double *start,
                              int32_t *device, bool *fits, sked_error *err)
{
    sked_status st = SKED_OK;
    placer *x = NULL;
    double late = 0;
    SKED_TRY(sked_i_placer_create(input->view, input->pools, input->devices, how->by_device, &x, err));
    SKED_TRY(sked_i_placer_run(x, input->rank, input->release, how, start, device, &late, err));
    if (late > 0 && x->reach != NULL)
        SKED_TRY(place_linked(x, input, how, start, device, &late, err));
    *fits = late == 0;
    if (*fits && input->devices > 0 && !x->by_device)
        SKED_TRY(sked_i_schedule_assign(input->view->n, input->view->duration, input->view->order,
                                        input->devices, start, device, err));
cleanup:
    sked_i_placer_destroy(x);
    return st;
}
