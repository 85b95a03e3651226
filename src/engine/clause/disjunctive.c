/*
 * Everything is written for earliest starts. Latest finishes are the earliest starts of the mirrored problem,
 * in which time runs backwards: task i starts at -(start + duration) there (direction 1).
 */
#include "engine/clause/disjunctive.h"

#include <assert.h>

typedef struct machine {
    sked_i_clause_machine m;
    int32_t number;       /* of its propagator */
    int32_t *order[2];    /* by earliest start, in both directions; kept nearly sorted */
    int32_t *early, *end; /* [count] earliest start and latest finish in the direction at hand */
    int32_t *sum;         /* [count] work of the tasks from a place of the order on */
    int32_t *open;        /* [count] tasks whose order with this one is not known */
    int32_t longest;      /* duration of those that have such */
} machine;

/* ------------------------------------------------------------------ both directions */

static inline int32_t view_of(const machine *x, int32_t i, int way)
{
    return 2 * x->m.var[i] + way;
}

/* start in this direction = view + shift */
static inline int32_t shift_of(const machine *x, int32_t i, int way)
{
    return way ? -x->m.duration[i] : 0;
}

static inline sked_i_lit before(const machine *x, int32_t i, int32_t j, int way)
{
    return way ? x->m.before[(int64_t)j * x->m.count + i] : x->m.before[(int64_t)i * x->m.count + j];
}

static inline bool holds(const sked_i_clause_solver *s, sked_i_lit l)
{
    return l.view < 0 ? l.value > 0 : s->low[l.view] >= l.value;
}

static sked_i_lit starts_from(const machine *x, int32_t i, int way, int32_t time)
{
    return (sked_i_lit){view_of(x, i, way), time - shift_of(x, i, way)};
}

static sked_i_lit ends_by(const machine *x, int32_t i, int way, int32_t time)
{
    return (sked_i_lit){view_of(x, i, way) ^ 1, shift_of(x, i, way) + x->m.duration[i] - time};
}

static void read_windows(const sked_i_clause_solver *s, machine *x, int way)
{
    int32_t *order = x->order[way];
    for (int32_t i = 0; i < x->m.count; i++) {
        const int32_t view = view_of(x, i, way), shift = shift_of(x, i, way);
        x->early[i] = s->low[view] + shift;
        x->end[i] = x->m.duration[i] + shift - s->low[view ^ 1];
    }
    for (int32_t k = 1; k < x->m.count; k++) { /* insertion: little moves from one call to the next */
        const int32_t i = order[k];
        int32_t j = k;
        for (; j > 0 && x->early[order[j - 1]] > x->early[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

/* ------------------------------------------------------------------ orders known */

/* When all that come before task i can be done; takes them off its open ones. */
static int32_t done_before(const sked_i_clause_solver *s, machine *x, int32_t i, int way)
{
    const int32_t *order = x->order[way];
    int32_t done = INT32_MIN;
    for (int32_t k = 0; k < x->m.count; k++) {
        const int32_t j = order[k];
        if (j == i || !holds(s, before(x, j, i, way)))
            continue;
        done = (done > x->early[j] ? done : x->early[j]) + x->m.duration[j];
        x->open[i]--;
    }
    return done;
}

static bool wait_for_all(sked_i_clause_solver *s, machine *x, int way)
{
    read_windows(s, x, way);
    for (int32_t i = 0; i < x->m.count; i++) {
        const int32_t done = done_before(s, x, i, way);
        if (done <= x->early[i])
            continue;
        const sked_i_lit l = starts_from(x, i, way, done);
        if (!sked_i_clause_raise(
                s, l.view, l.value,
                (sked_i_clause_reason){.kind = SKED_I_CLAUSE_BY_PROPAGATOR, .count = x->number, .ref = i}))
            return false;
    }
    return true;
}

/* Tasks that came before task i at a trail entry, into order by earliest start then; returns how many. */
static int32_t collect_before(const sked_i_clause_solver *s, machine *x, int32_t i, int way, int64_t entry,
                              int32_t *order)
{
    int32_t count = 0;
    for (int32_t j = 0; j < x->m.count; j++) {
        const sked_i_lit l = before(x, j, i, way);
        if (j == i || (l.view < 0 ? l.value == 0 : sked_i_clause_low_before(s, l.view, entry) < l.value))
            continue;
        x->early[j] = sked_i_clause_low_before(s, view_of(x, j, way), entry) + shift_of(x, j, way);
        int32_t k = count++;
        for (; k > 0 && x->early[order[k - 1]] > x->early[j]; k--)
            order[k] = order[k - 1];
        order[k] = j;
    }
    return count;
}

/* The fewest tasks, latest first, that keep the literal's task waiting so long; each only as late as needed.
 */
static void explain(sked_i_clause_solver *s, void *self, sked_i_lit l, int64_t note, int64_t entry)
{
    machine *x = self;
    const int way = l.view & 1;
    const int32_t i = (int32_t)note, time = l.value + shift_of(x, i, way);
    int32_t *order = x->sum, work = 0;
    const int32_t count = collect_before(s, x, i, way, entry, order);
    int32_t first = count;
    do {
        assert(first > 0);
        work += x->m.duration[order[--first]];
    } while (x->early[order[first]] + work < time);
    for (int32_t k = first; k < count; k++) {
        const sked_i_lit order_of = before(x, order[k], i, way);
        const sked_i_lit start = starts_from(x, order[k], way, time - work);
        if (order_of.view >= 0)
            sked_i_clause_conflict_add(s, order_of.view, order_of.value);
        sked_i_clause_conflict_add(s, start.view, start.value);
    }
}

static bool propagate(sked_i_clause_solver *s, void *self)
{
    machine *x = self;
    for (int32_t i = 0; i < x->m.count; i++)
        x->open[i] = x->m.count - 1;
    return wait_for_all(s, x, 0) && wait_for_all(s, x, 1);
}

/* ------------------------------------------------------------------ edge finding */

/* Tasks that must end by `end`, from place `first` of the order on: their work, and the earliest start. */
typedef struct span {
    int32_t first, begin, end, work;
} span;

static bool in_span(const machine *x, int32_t j, const span *z)
{
    return x->end[j] <= z->end;
}

/* All tasks of the span lie within a window as wide as it may be, `excess` beyond what is needed. */
static void explain_span(sked_i_clause_solver *s, const machine *x, int way, const span *z, int32_t with,
                         int32_t excess, void (*add)(sked_i_clause_solver *, int32_t, int32_t))
{
    const int32_t *order = x->order[way], begin = z->begin - excess / 2, end = z->end + excess - excess / 2;
    for (int32_t k = z->first; k < x->m.count; k++) {
        const int32_t j = order[k];
        if (!in_span(x, j, z))
            continue;
        const sked_i_lit a = starts_from(x, j, way, begin), b = ends_by(x, j, way, end);
        add(s, a.view, a.value);
        add(s, b.view, b.value);
    }
    if (with >= 0) {
        const sked_i_lit a = starts_from(x, with, way, begin);
        add(s, a.view, a.value);
    }
}

/* Task i and the span do not fit before its end: all of the span come before i. */
static bool put_after(sked_i_clause_solver *s, const machine *x, int way, const span *z, int32_t i)
{
    const int32_t excess = z->begin + z->work + x->m.duration[i] - z->end - 1;
    int64_t ref = -1;
    for (int32_t k = z->first; k < x->m.count; k++) {
        const int32_t j = x->order[way][k];
        const sked_i_lit l = before(x, j, i, way);
        if (!in_span(x, j, z) || holds(s, l))
            continue;
        if (l.view < 0) {
            sked_i_clause_conflict_begin(s);
            explain_span(s, x, way, z, i, excess, sked_i_clause_conflict_add);
            return false;
        }
        if (ref < 0) {
            ref = s->list_count;
            explain_span(s, x, way, z, i, excess, sked_i_clause_explain);
        }
        if (!sked_i_clause_raise_listed(s, l, ref))
            return false;
    }
    return true;
}

/* Work of tasks that must end by `end`, from every place of the order on; the worst span of them. */
static span add_up(machine *x, int way, int32_t end)
{
    span worst = {.end = end, .begin = INT32_MIN / 2};
    int32_t work = 0;
    for (int32_t k = x->m.count; k-- > 0;) {
        const int32_t j = x->order[way][k];
        if (x->end[j] <= end) {
            work += x->m.duration[j];
            if (x->early[j] + work > worst.begin + worst.work)
                worst = (span){k, x->early[j], end, work};
        }
        x->sum[k] = work;
    }
    return worst;
}

/* Tasks that must end by `end` against each of the others. */
static bool find_edges(sked_i_clause_solver *s, machine *x, int way, int32_t end)
{
    const span worst = add_up(x, way, end);
    if (worst.begin + worst.work > end) {
        sked_i_clause_conflict_begin(s);
        explain_span(s, x, way, &worst, -1, worst.begin + worst.work - end - 1, sked_i_clause_conflict_add);
        return false;
    }
    if (worst.begin + worst.work + x->longest <= end)
        return true; /* the spans below are no tighter than the worst */
    span tight = {.end = end, .begin = INT32_MIN / 2};
    for (int32_t k = 0; k < x->m.count; k++) {
        const int32_t i = x->order[way][k];
        if (x->end[i] <= end) {
            if (x->early[i] + x->sum[k] > tight.begin + tight.work)
                tight = (span){k, x->early[i], end, x->sum[k]};
            continue;
        }
        if (x->open[i] == 0)
            continue;
        const span late = {k, x->early[i], end, x->sum[k]};
        const span *z = late.begin + late.work >= tight.begin + tight.work ? &late : &tight;
        if (z->begin + z->work + x->m.duration[i] > end && !put_after(s, x, way, z, i))
            return false;
    }
    return true;
}

/* Once all orders are known the arcs say everything. */
static bool check(sked_i_clause_solver *s, void *self)
{
    machine *x = self;
    x->longest = 0;
    for (int32_t i = 0; i < x->m.count; i++)
        if (x->open[i] > 0 && x->m.duration[i] > x->longest)
            x->longest = x->m.duration[i];
    if (x->longest == 0)
        return true;
    for (int way = 0; way < 2; way++) {
        read_windows(s, x, way);
        for (int32_t k = 0; k < x->m.count; k++)
            if (!find_edges(s, x, way, x->end[k]))
                return false;
    }
    return true;
}

/* ------------------------------------------------------------------ life */

bool sked_i_clause_machine_create(sked_i_clause_solver *s, sked_i_clause_machine *m, int32_t count)
{
    const int64_t cells = (int64_t)count * count;
    *m = (sked_i_clause_machine){.count = count};
    m->var = sked_i_arena_alloc(&s->memory, count, sizeof *m->var);
    m->duration = sked_i_arena_alloc(&s->memory, count, sizeof *m->duration);
    m->before = sked_i_arena_alloc(&s->memory, cells, sizeof *m->before);
    for (int64_t k = 0; m->before && k < cells; k++)
        m->before[k] = SKED_I_LIT_NEVER;
    s->failed = s->failed || !m->var || !m->duration || !m->before;
    return !s->failed;
}

static machine *create(sked_i_arena *memory, sked_i_clause_machine m)
{
    machine *x = sked_i_arena_alloc_zero(memory, 1, sizeof *x);
    int32_t *rows = sked_i_arena_alloc_zero(memory, 6 * (int64_t)m.count, sizeof *rows);
    if (x == NULL || rows == NULL)
        return NULL;
    *x = (machine){.m = m, .order = {rows, rows + m.count}};
    x->early = rows + 2 * (int64_t)m.count;
    x->end = x->early + m.count;
    x->sum = x->end + m.count;
    x->open = x->sum + m.count;
    for (int32_t i = 0; i < m.count; i++)
        x->order[0][i] = x->order[1][i] = i;
    return x;
}

static bool tell_all(sked_i_clause_solver *s, const machine *x)
{
    bool fine = true;
    for (int32_t i = 0; fine && i < x->m.count; i++) {
        fine = sked_i_clause_tell(s, x->number, x->m.var[i]);
        for (int32_t j = 0; fine && j < i; j++) {
            const sked_i_lit l = x->m.before[(int64_t)i * x->m.count + j];
            fine = l.view < 0 || sked_i_clause_tell(s, x->number, l.view / 2);
        }
    }
    return fine;
}

bool sked_i_clause_add_machine(sked_i_clause_solver *s, sked_i_clause_machine m)
{
    machine *x = create(&s->memory, m);
    if (x == NULL)
        return s->failed = true, false;
    const sked_i_clause_propagator plug = {.self = x,
                                           .propagate = propagate,
                                           .check = check,
                                           .explain = explain,
                                           .cost = (int64_t)m.count * m.count};
    return sked_i_clause_add_propagator(s, plug, &x->number) && tell_all(s, x);
}
