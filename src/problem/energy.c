#include "problem/energy.h"

#include "base/arena.h"

#include <assert.h>
#include <string.h>

/* In the order of the events that a sweep merges. */
static double key_of(const sked_i_energy_item *i, int order)
{
    const double keys[] = {i->late, i->late + i->length, i->late + i->early + i->length,
                           i->early + i->length};
    return keys[order];
}

static void sort_by(const sked_i_energy *e, int order)
{
    for (int32_t k = 0; k < e->n; k++)
        e->event[k] = (sked_i_keyed){sked_i_sort_key(key_of(&e->item[k], order)), k};
    sked_i_sort_keyed(e->event, e->spare, e->n);
    for (int32_t k = 0; k < e->n; k++)
        e->by[order][k] = (int32_t)e->event[k].value;
}

static int by_number(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

int32_t sked_i_distinct(double *x, int32_t n)
{
    int32_t kept = 0;
    qsort(x, (size_t)n, sizeof *x, by_number);
    for (int32_t k = 0; k < n; k++)
        if (kept == 0 || x[k] > x[kept - 1])
            x[kept++] = x[k];
    return kept;
}

/* All early and late starts, or evenly chosen ones of them where the budget is short. */
static void choose_begins(sked_i_energy *e, double budget)
{
    int32_t count = 0;
    for (int32_t k = 0; k < e->n; k++) {
        assert(e->item[k].early <= e->item[k].late && e->item[k].length > 0 && e->item[k].amount > 0);
        e->begin[count++] = e->item[k].early;
        e->begin[count++] = e->item[k].late;
    }
    const int32_t kept = sked_i_distinct(e->begin, count);
    const double most = fmax(8, budget / (6.0 * e->n + 1));
    e->n_begins = kept > most ? (int32_t)most : kept;
    for (int32_t k = 0; kept > most && k < e->n_begins; k++)
        e->begin[k] = e->begin[(int64_t)k * kept / e->n_begins];
}

sked_status sked_i_energy_init(sked_i_energy *e, const sked_i_energy_item *items, int32_t n, double budget,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    *e = (sked_i_energy){.n = n};
    SKED_OWN(&e->arena, e->item, n);
    SKED_OWN(&e->arena, e->begin, 2 * (int64_t)n);
    SKED_OWN(&e->arena, e->step_time, 2 * (int64_t)n);
    SKED_OWN(&e->arena, e->step_room, 2 * (int64_t)n);
    SKED_OWN(&e->arena, e->event, 2 * (int64_t)n);
    SKED_OWN(&e->arena, e->spare, 2 * (int64_t)n);
    memcpy(e->item, items, (size_t)n * sizeof *items);
    for (int order = 0; order < 4; order++) {
        SKED_OWN(&e->arena, e->by[order], n);
        sort_by(e, order);
    }
    choose_begins(e, budget);
cleanup:
    if (st != SKED_OK)
        sked_i_energy_free(e);
    return st;
}

void sked_i_energy_free(sked_i_energy *e)
{
    sked_i_arena_free(&e->arena);
    *e = (sked_i_energy){0};
}

/*
 * The certain work in [t1, t2) as t2 grows: an item begins to count at max(late, t1) and counts until all it
 * certainly has after t1 is in. Four sorted lists of such times are merged.
 */
typedef struct sweep {
    const sked_i_energy *e;
    double t1, shift;
    int32_t at[4]; /* into by[] */
    double time, work, slope;
} sweep;

static double late_of(const sweep *s, const sked_i_energy_item *i)
{
    return i->late + s->shift;
}

/* Time of the event at the head of list k; items that have none there are passed over. */
static double event_time(sweep *s, int k)
{
    const sked_i_energy *e = s->e;
    for (; s->at[k] < e->n; s->at[k]++) {
        const sked_i_energy_item *i = &e->item[e->by[k][s->at[k]]];
        const double late = late_of(s, i), finish = i->early + i->length;
        if (k == 0 && late >= s->t1)
            return late;
        if (k == 1 && i->early >= s->t1)
            return late + i->length;
        if (k == 2 && i->early < s->t1 && late >= s->t1 && finish > s->t1)
            return late + i->early + i->length - s->t1;
        if (k == 3 && late < s->t1 && finish > s->t1)
            return finish;
    }
    return INFINITY;
}

static double event_amount(const sweep *s, int k)
{
    const sked_i_energy *e = s->e;
    const sked_i_energy_item *i = &e->item[e->by[k][s->at[k]]];
    if (k > 0)
        return -i->amount;
    return i->early + i->length > s->t1 ? i->amount : 0; /* nothing of it is certain after t1 */
}

static sweep sweep_from(const sked_i_energy *e, double t1, double shift)
{
    sweep s = {.e = e, .t1 = t1, .shift = shift, .time = t1};
    for (int32_t k = 0; k < e->n; k++) {
        const sked_i_energy_item *i = &e->item[k];
        if (late_of(&s, i) < t1 && i->early + i->length > t1)
            s.slope += i->amount;
    }
    return s;
}

/* On to the next event; false: there is none. work is then that of [t1, time). */
static bool sweep_next(sweep *s)
{
    int first = 0;
    double when = INFINITY;
    for (int k = 0; k < 4; k++) {
        const double t = event_time(s, k);
        if (t < when)
            when = t, first = k;
    }
    if (isinf(when))
        return false;
    s->work += s->slope * (when - s->time);
    s->time = when;
    s->slope += event_amount(s, first);
    s->at[first]++;
    return true;
}

double sked_i_energy_peak(const sked_i_energy *e)
{
    double best = 0;
    for (int32_t k = 0; k < e->n_begins; k++)
        for (sweep s = sweep_from(e, e->begin[k], 0); sweep_next(&s);)
            if (s.time > s.t1 && s.work > best * (s.time - s.t1))
                best = s.work / (s.time - s.t1);
    return best;
}

double sked_i_energy_excess(const sked_i_energy *e, double capacity)
{
    double best = 0;
    for (int32_t k = 0; k < e->n_begins; k++)
        for (sweep s = sweep_from(e, e->begin[k], 0); sweep_next(&s);)
            best = fmax(best, s.work / capacity - (s.time - s.t1));
    return best;
}

/* step_room[k]: room from the first step to step_time[k]. */
static int32_t build_room(sked_i_energy *e, double capacity, double shift)
{
    sked_i_keyed *const event = e->event;
    const int32_t n = e->n;
    int32_t steps = 0;
    for (int32_t k = 0; k < n; k++) { /* ends before begins */
        const sked_i_energy_item *i = &e->item[k];
        event[n - 1 - k] = (sked_i_keyed){sked_i_sort_key(i->late + shift + i->length), -1 - k};
        event[n + k] = (sked_i_keyed){sked_i_sort_key(i->early), k};
    }
    sked_i_sort_keyed(event, e->spare, 2 * (int64_t)n);
    double able = 0, room = 0, before = 0;
    for (int32_t k = 0; k < 2 * n; k++) {
        const int64_t id = event[k].value;
        const double time = sked_i_sort_value(event[k].key);
        if (k > 0)
            room += fmin(able, capacity) * (time - before);
        able += id >= 0 ? e->item[id].amount : -e->item[-1 - id].amount;
        e->step_time[steps] = before = time;
        e->step_room[steps++] = room;
    }
    return steps;
}

/* Room up to a time, between two steps by interpolation; *at moves on with rising times. */
static double room_until(const sked_i_energy *e, int32_t steps, double time, int32_t *at)
{
    assert(*at >= 0 && *at < steps);
    while (*at + 1 < steps && e->step_time[*at + 1] <= time)
        (*at)++;
    if (*at + 1 >= steps || time <= e->step_time[*at])
        return e->step_room[*at];
    const double span = e->step_time[*at + 1] - e->step_time[*at];
    return e->step_room[*at] +
           (e->step_room[*at + 1] - e->step_room[*at]) * ((time - e->step_time[*at]) / span);
}

bool sked_i_energy_overfull(sked_i_energy *e, double capacity, double shift)
{
    const int32_t steps = build_room(e, capacity, shift);
    int32_t left = 0;
    for (int32_t k = 0; k < e->n_begins; k++) {
        const double before = room_until(e, steps, e->begin[k], &left);
        int32_t right = left;
        for (sweep s = sweep_from(e, e->begin[k], shift); sweep_next(&s);) {
            const double room = room_until(e, steps, s.time, &right) - before;
            if (s.work > room + 1e-6 * fmax(1, fabs(s.work) * 1e-3))
                return true;
        }
    }
    return false;
}
