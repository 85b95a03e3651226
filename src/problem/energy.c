#include "problem/energy.h"

#include "base/memory.h"

typedef struct key {
    double value;
    int32_t id;
} key;

static int by_value(const void *x, const void *y)
{
    const key *a = x, *b = y;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

typedef enum order { BY_LATE, BY_END, BY_MIXED, BY_FINISH, BY_EARLY } order;

static double key_of(const sked_i_energy_item *i, order o)
{
    switch (o) {
    case BY_LATE:
        return i->late;
    case BY_END:
        return i->late + i->length;
    case BY_MIXED:
        return i->late + i->early + i->length;
    case BY_FINISH:
        return i->early + i->length;
    case BY_EARLY:
        break;
    }
    return i->early;
}

static void sort_by(const sked_i_energy *e, order o, int32_t *out, key *scratch)
{
    for (int32_t k = 0; k < e->n; k++)
        scratch[k] = (key){key_of(&e->item[k], o), k};
    qsort(scratch, (size_t)e->n, sizeof *scratch, by_value);
    for (int32_t k = 0; k < e->n; k++)
        out[k] = scratch[k].id;
}

static int by_number(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* All early and late starts, or evenly chosen ones of them where the budget is short. */
static void choose_begins(sked_i_energy *e, double budget)
{
    int32_t count = 0;
    for (int32_t k = 0; k < e->n; k++) {
        e->begin[count++] = e->item[k].early;
        e->begin[count++] = e->item[k].late;
    }
    qsort(e->begin, (size_t)count, sizeof *e->begin, by_number);
    int32_t kept = 0;
    for (int32_t k = 0; k < count; k++)
        if (kept == 0 || e->begin[k] > e->begin[kept - 1])
            e->begin[kept++] = e->begin[k];
    const double most = fmax(8, budget / (6.0 * e->n + 1));
    e->n_begins = kept;
    if (kept > most) {
        const int32_t wanted = (int32_t)most;
        for (int32_t k = 0; k < wanted; k++)
            e->begin[k] = e->begin[(int64_t)k * kept / wanted];
        e->n_begins = wanted;
    }
}

sked_status sked_i_energy_init(sked_i_energy *e, const sked_i_energy_item *items, int32_t n, double budget,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    *e = (sked_i_energy){.n = n};
    SKED_NEW(e->item, n);
    SKED_NEW(e->by_late, n);
    SKED_NEW(e->by_end, n);
    SKED_NEW(e->by_mixed, n);
    SKED_NEW(e->by_finish, n);
    SKED_NEW(e->begin, 2 * (int64_t)n);
    SKED_NEW(e->step_time, 2 * (int64_t)n + 1);
    SKED_NEW(e->step_room, 2 * (int64_t)n + 1);
    key *scratch;
    SKED_NEW(scratch, 2 * (int64_t)n + 1);
    e->scratch = scratch;
    for (int32_t k = 0; k < n; k++)
        e->item[k] = items[k];
    sort_by(e, BY_LATE, e->by_late, scratch);
    sort_by(e, BY_END, e->by_end, scratch);
    sort_by(e, BY_MIXED, e->by_mixed, scratch);
    sort_by(e, BY_FINISH, e->by_finish, scratch);
    choose_begins(e, budget);
cleanup:
    if (st != SKED_OK)
        sked_i_energy_free(e);
    return st;
}

void sked_i_energy_free(sked_i_energy *e)
{
    void *const arrays[] = {e->item,  e->by_late,   e->by_end,    e->by_mixed, e->by_finish,
                            e->begin, e->step_time, e->step_room, e->scratch};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        free(arrays[k]);
    *e = (sked_i_energy){0};
}

/*
 * The certain work in [t1, t2) as t2 grows: an item begins to count at max(late, t1) and counts until all it
 * certainly has after t1 is in. Four sorted lists of such times are merged.
 */
typedef struct sweep {
    const sked_i_energy *e;
    double t1, shift;
    int32_t at[4]; /* into by_late, by_end, by_mixed, by_finish */
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
        if (k == 0) {
            const sked_i_energy_item *i = &e->item[e->by_late[s->at[0]]];
            if (late_of(s, i) >= s->t1)
                return late_of(s, i);
        } else if (k == 1) {
            const sked_i_energy_item *i = &e->item[e->by_end[s->at[1]]];
            if (i->early >= s->t1)
                return late_of(s, i) + i->length;
        } else if (k == 2) {
            const sked_i_energy_item *i = &e->item[e->by_mixed[s->at[2]]];
            if (i->early < s->t1 && late_of(s, i) >= s->t1 && i->early + i->length > s->t1)
                return late_of(s, i) + i->early + i->length - s->t1;
        } else {
            const sked_i_energy_item *i = &e->item[e->by_finish[s->at[3]]];
            if (late_of(s, i) < s->t1 && i->early + i->length > s->t1)
                return i->early + i->length;
        }
    }
    return INFINITY;
}

static double event_amount(const sweep *s, int k)
{
    const sked_i_energy *e = s->e;
    const int32_t *const lists[] = {e->by_late, e->by_end, e->by_mixed, e->by_finish};
    const sked_i_energy_item *i = &e->item[lists[k][s->at[k]]];
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
    key *event = e->scratch;
    int32_t steps = 0;
    for (int32_t k = 0; k < e->n; k++) {
        event[2 * k] = (key){e->item[k].early, k};
        event[2 * k + 1] = (key){e->item[k].late + shift + e->item[k].length, -1 - k};
    }
    qsort(event, 2 * (size_t)e->n, sizeof *event, by_value);
    double able = 0, room = 0;
    for (int32_t k = 0; k < 2 * e->n; k++) {
        if (k > 0)
            room += fmin(able, capacity) * (event[k].value - event[k - 1].value);
        able += event[k].id >= 0 ? e->item[event[k].id].amount : -e->item[-1 - event[k].id].amount;
        e->step_time[steps] = event[k].value;
        e->step_room[steps++] = room;
    }
    return steps;
}

/* Room up to a time, between two steps by interpolation; *at moves on with rising times. */
static double room_until(const sked_i_energy *e, int32_t steps, double time, int32_t *at)
{
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
