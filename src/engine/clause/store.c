/*
 * A value is certainly held from the latest start of its maker until one of its readers lets go at the
 * earliest. No other may be held so that it overlaps a stretch where these leave no room for it. Explanations
 * are pointwise, as in pool.c: at one time, enough values with one reader each.
 */
#include "engine/clause/store.h"

#include <assert.h>

/* The certain load from this time to the next step's; the last holds for ever. */
typedef struct step {
    int32_t time;
    double load; /* before the sums: what comes or goes */
} step;

typedef struct store {
    double capacity;
    sked_i_clause_values v;
    step *step; /* [2 count] */
} store;

typedef void (*adder)(sked_i_clause_solver *, int32_t, int32_t);

static inline int32_t first_start(const sked_i_clause_solver *s, int32_t var)
{
    return s->low[2 * var];
}

static inline int32_t last_start(const sked_i_clause_solver *s, int32_t var)
{
    return -s->low[2 * var + 1];
}

/* The reader that lets go last, by earliest starts. */
static sked_i_clause_reader last_reader(const sked_i_clause_solver *s, const store *x,
                                        const sked_i_clause_value *v)
{
    assert(v->first < v->end);
    sked_i_clause_reader last = x->v.reader[v->first];
    for (int64_t k = v->first + 1; k < v->end; k++) {
        const sked_i_clause_reader r = x->v.reader[k];
        if (first_start(s, r.var) + r.offset > first_start(s, last.var) + last.offset)
            last = r;
    }
    return last;
}

static int32_t certain_end(const sked_i_clause_solver *s, const store *x, const sked_i_clause_value *v)
{
    const sked_i_clause_reader r = last_reader(s, x, v);
    return first_start(s, r.var) + r.offset;
}

static int by_time(const void *x, const void *y)
{
    const step *a = x, *b = y;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->load > b->load) - (a->load < b->load); /* what goes makes room for what comes */
}

/* Certain load as steps of different times. Returns their number; *peak: the highest. */
static int64_t build_profile(const sked_i_clause_solver *s, store *x, double *peak)
{
    int64_t n = 0, count = 0;
    double load = 0;
    int32_t held = 0;
    for (int64_t k = 0; k < x->v.count; k++) {
        const sked_i_clause_value *v = &x->v.value[k];
        const int32_t begin = last_start(s, v->maker), end = certain_end(s, x, v);
        if (begin >= end)
            continue;
        x->step[n++] = (step){begin, v->size};
        x->step[n++] = (step){end, -v->size};
    }
    qsort(x->step, (size_t)n, sizeof *x->step, by_time);
    *peak = 0;
    for (int64_t k = 0; k < n; k++) {
        const step e = x->step[k];
        held += e.load > 0 ? 1 : -1;
        load = held == 0 ? 0 : load + e.load;
        count -= count > 0 && x->step[count - 1].time == e.time;
        x->step[count++] = (step){e.time, load};
        *peak = load > *peak ? load : *peak;
    }
    return count;
}

/* Values other than `except` that are certainly held at `time` and take more than `room`. */
static void explain_load(sked_i_clause_solver *s, const store *x, int32_t time, double room,
                         const sked_i_clause_value *except, adder add)
{
    double sum = 0;
    for (int64_t k = 0; k < x->v.count && !(sum > room); k++) {
        const sked_i_clause_value *v = &x->v.value[k];
        const sked_i_clause_reader r = last_reader(s, x, v);
        if (v == except || last_start(s, v->maker) > time || first_start(s, r.var) + r.offset <= time)
            continue;
        sum += v->size;
        add(s, 2 * v->maker + 1, -time);
        add(s, 2 * r.var, time + 1 - r.offset);
    }
}

/* Raises a view, since beside the load at `time` there is no room for v; `why`: v would be held then. */
static bool push(sked_i_clause_solver *s, const store *x, const sked_i_clause_value *v, int32_t time,
                 sked_i_lit why, sked_i_lit raised)
{
    const int64_t ref = s->list_count;
    sked_i_clause_explain(s, why.view, why.value);
    explain_load(s, x, time, x->capacity - v->size, v, sked_i_clause_explain);
    return sked_i_clause_raise_listed(s, raised, ref);
}

static inline int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* A maker that starts before a full stretch would be held over it: it starts later. */
static bool filter_maker(sked_i_clause_solver *s, const store *x, const sked_i_clause_value *v, int64_t count)
{
    const int32_t latest = last_start(s, v->maker);
    for (int64_t k = 0; k < count && x->step[k].time < latest; k++) {
        const int32_t end = k + 1 < count ? least(x->step[k + 1].time, latest) : latest;
        while (x->step[k].load + v->size > x->capacity && first_start(s, v->maker) < end) {
            const sked_i_clause_reader r = last_reader(s, x, v);
            const int32_t time = least(end, first_start(s, r.var) + r.offset) - 1;
            if (time < x->step[k].time || time < first_start(s, v->maker))
                break;
            if (!push(s, x, v, time, (sked_i_lit){2 * r.var, time + 1 - r.offset},
                      (sked_i_lit){2 * v->maker, time + 1}))
                return false;
        }
    }
    return true;
}

/* What has certainly started is let go before the next full stretch. */
static bool filter_readers(sked_i_clause_solver *s, const store *x, const sked_i_clause_value *v,
                           int64_t count)
{
    const int32_t end = certain_end(s, x, v), latest = last_start(s, v->maker);
    for (int64_t k = 0; k < count; k++) {
        const int32_t from = end > latest ? end : latest;
        const int32_t time = x->step[k].time > from ? x->step[k].time : from;
        if (!(x->step[k].load + v->size > x->capacity) || (k + 1 < count && time >= x->step[k + 1].time))
            continue;
        for (int64_t q = v->first; q < v->end; q++) {
            const sked_i_clause_reader r = x->v.reader[q];
            if (last_start(s, r.var) + r.offset > time &&
                !push(s, x, v, time, (sked_i_lit){2 * v->maker + 1, -time},
                      (sked_i_lit){2 * r.var + 1, r.offset - time}))
                return false;
        }
        break;
    }
    return true;
}

static bool propagate(sked_i_clause_solver *s, void *self)
{
    double peak;
    store *x = self;
    const int64_t count = build_profile(s, x, &peak);
    if (peak > x->capacity) {
        int64_t k = 0;
        while (!(x->step[k].load > x->capacity))
            k++;
        sked_i_clause_conflict_begin(s);
        explain_load(s, x, x->step[k].time, x->capacity, NULL, sked_i_clause_conflict_add);
        return false;
    }
    for (int64_t k = 0; k < x->v.count; k++) {
        const sked_i_clause_value *v = &x->v.value[k];
        if (peak + v->size > x->capacity &&
            (!filter_maker(s, x, v, count) || !filter_readers(s, x, v, count)))
            return false;
    }
    return true;
}

bool sked_i_clause_add_store(sked_i_clause_solver *s, double capacity, sked_i_clause_values values)
{
    int32_t number;
    store *x = sked_i_arena_alloc(&s->memory, 1, sizeof *x);
    step *steps = sked_i_arena_alloc(&s->memory, 2 * values.count + 1, sizeof *steps);
    if (x == NULL || steps == NULL)
        return s->failed = true, false;
    *x = (store){.capacity = capacity, .v = values, .step = steps};
    const sked_i_clause_propagator plug = {
        .self = x, .propagate = propagate, .cost = 2 * values.count + values.n_readers};
    bool fine = sked_i_clause_add_propagator(s, plug, &number);
    for (int64_t k = 0; fine && k < values.count; k++)
        fine = sked_i_clause_tell(s, number, values.value[k].maker);
    for (int64_t k = 0; fine && k < values.n_readers; k++)
        fine = sked_i_clause_tell(s, number, values.reader[k].var);
    return fine;
}
