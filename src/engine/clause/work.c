#include "engine/clause/work.h"

#include <string.h>

typedef struct work {
    int32_t n, m, prices;
    int32_t *x, *head, *last, *time, *price;
    int64_t *least;    /* [n] the cheapest run of each op at the prices at hand */
    int32_t *begin;    /* [n] earliest start */
    int32_t *end;      /* [n] latest finish */
    int32_t *by_begin; /* [n] latest first; kept nearly sorted */
} work;

/* Ops within [from, to) at prices `price`: `slack` is what the devices offer beyond their cost. */
typedef struct span {
    int32_t from, to;
    int64_t slack;
    const int32_t *price;
} span;

static bool excluded(const sked_i_clause_solver *s, int32_t x)
{
    return x < 0 || s->low[2 * x + 1] >= 0;
}

static int32_t finish(const sked_i_clause_solver *s, const work *w, int64_t c)
{
    return -s->low[2 * w->last[c] + 1] + w->time[c];
}

static void read_windows(const sked_i_clause_solver *s, work *w)
{
    for (int32_t i = 0; i < w->n; i++) {
        w->begin[i] = s->low[2 * i];
        w->end[i] = INT32_MIN;
        for (int64_t c = (int64_t)i * w->m; c < (int64_t)(i + 1) * w->m; c++)
            if (!excluded(s, w->x[c]) && finish(s, w, c) > w->end[i])
                w->end[i] = finish(s, w, c);
    }
    for (int32_t k = 1; k < w->n; k++) { /* insertion: little moves from one call to the next */
        const int32_t i = w->by_begin[k];
        int32_t j = k;
        for (; j > 0 && w->begin[w->by_begin[j - 1]] < w->begin[i]; j--)
            w->by_begin[j] = w->by_begin[j - 1];
        w->by_begin[j] = i;
    }
}

static void read_costs(const sked_i_clause_solver *s, work *w, const int32_t *price)
{
    for (int32_t i = 0; i < w->n; i++) {
        int64_t least = INT64_MAX;
        for (int32_t k = 0; k < w->m; k++) {
            const int64_t c = (int64_t)i * w->m + k, cost = (int64_t)price[k] * w->time[c];
            if (cost < least && !excluded(s, w->x[c]))
                least = cost;
        }
        w->least[i] = least == INT64_MAX ? 0 : least;
    }
}

static bool within(const work *w, int32_t i, const span *z)
{
    return w->begin[i] >= z->from && w->end[i] <= z->to;
}

/* ------------------------------------------------------------------ reasons */

/* Why op i costs its least within the span. */
static void blame_op(sked_i_clause_solver *s, const work *w, int32_t i, const span *z,
                     void (*add)(sked_i_clause_solver *, int32_t, int32_t))
{
    add(s, 2 * i, z->from);
    for (int32_t k = 0; k < w->m; k++) {
        const int64_t c = (int64_t)i * w->m + k;
        if (w->x[c] < 0)
            continue;
        const int32_t latest = w->time[c] - z->to; /* of the view -last */
        if ((int64_t)z->price[k] * w->time[c] >= w->least[i] && s->root[2 * w->last[c] + 1] >= latest)
            continue;
        if (excluded(s, w->x[c]))
            add(s, 2 * w->x[c] + 1, 0);
        else
            add(s, 2 * w->last[c] + 1, latest);
    }
}

/* The same for all ops but one. */
static void blame_all(sked_i_clause_solver *s, const work *w, int32_t but, const span *z,
                      void (*add)(sked_i_clause_solver *, int32_t, int32_t))
{
    for (int32_t i = 0; i < w->n; i++)
        if (i != but && w->least[i] > 0 && within(w, i, z))
            blame_op(s, w, i, z, add);
}

/* ------------------------------------------------------------------ spans */

/* The tightest span that ends at `to`. */
static span tightest(const work *w, const int32_t *price, int64_t rate, int32_t to)
{
    span best = {0, to, INT64_MAX, price};
    int64_t cost = 0;
    for (int32_t k = 0; k < w->n; k++) {
        const int32_t i = w->by_begin[k];
        if (w->end[i] > to || w->least[i] == 0)
            continue;
        cost += w->least[i];
        const int64_t slack = rate * (to - w->begin[i]) - cost;
        if (slack < best.slack) {
            best.slack = slack;
            best.from = w->begin[i];
        }
    }
    return best;
}

/* Op i cannot run on device k: the span would cost too much. */
static bool exclude(sked_i_clause_solver *s, const work *w, int32_t i, int64_t c, const span *z)
{
    const int64_t ref = s->list_count;
    blame_all(s, w, i, z, sked_i_clause_explain);
    sked_i_clause_explain(s, 2 * w->head[c], z->from);
    sked_i_clause_explain(s, 2 * w->last[c] + 1, w->time[c] - z->to);
    return sked_i_clause_raise_listed(s, (sked_i_lit){2 * w->x[c] + 1, 0}, ref);
}

/* Devices too expensive for an op that would run within the span there. */
static bool filter(sked_i_clause_solver *s, const work *w, const span *z)
{
    for (int32_t i = 0; i < w->n; i++) {
        const int64_t had = within(w, i, z) ? w->least[i] : 0;
        for (int32_t k = 0; k < w->m; k++) {
            const int64_t c = (int64_t)i * w->m + k;
            if (excluded(s, w->x[c]) || (int64_t)z->price[k] * w->time[c] - had <= z->slack ||
                s->low[2 * w->head[c]] < z->from || finish(s, w, c) > z->to)
                continue;
            if (!exclude(s, w, i, c, z))
                return false;
        }
    }
    return true;
}

static bool check_prices(sked_i_clause_solver *s, work *w, const int32_t *price)
{
    int64_t rate = 0;
    for (int32_t k = 0; k < w->m; k++)
        rate += price[k];
    read_costs(s, w, price);
    for (int32_t k = 0; k < w->n; k++) {
        if (w->least[k] == 0)
            continue;
        const span z = tightest(w, price, rate, w->end[k]);
        if (z.slack < 0) {
            sked_i_clause_conflict_begin(s);
            blame_all(s, w, -1, &z, sked_i_clause_conflict_add);
            return false;
        }
        if (!filter(s, w, &z))
            return false;
    }
    return true;
}

static bool propagate(sked_i_clause_solver *s, void *self)
{
    work *w = self;
    read_windows(s, w);
    for (int32_t k = 0; k < w->prices; k++) {
        const int64_t before = s->trail_count;
        if (!check_prices(s, w, w->price + (int64_t)k * w->m))
            return false;
        if (s->trail_count > before)
            return true; /* others have something to say first; they wake this one again */
    }
    return true;
}

/* ------------------------------------------------------------------ life */

static int32_t *copy(sked_i_arena *memory, const int32_t *from, int64_t count)
{
    int32_t *to = sked_i_arena_alloc(memory, count, sizeof *to);
    if (to != NULL && count > 0)
        memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static work *create(sked_i_arena *memory, const sked_i_clause_work_model *model)
{
    const int64_t n = model->ops, cells = n * model->devices;
    work *w = sked_i_arena_alloc(memory, 1, sizeof *w);
    int32_t *rows = sked_i_arena_alloc(memory, 3 * n, sizeof *rows);
    if (w == NULL || rows == NULL)
        return NULL;
    *w = (work){.n = model->ops, .m = model->devices, .prices = model->prices};
    w->x = copy(memory, model->x, cells);
    w->head = copy(memory, model->head, cells);
    w->last = copy(memory, model->last, cells);
    w->time = copy(memory, model->time, cells);
    w->price = copy(memory, model->price, (int64_t)model->prices * model->devices);
    w->least = sked_i_arena_alloc(memory, n, sizeof *w->least);
    w->begin = rows;
    w->end = rows + n;
    w->by_begin = rows + 2 * n;
    for (int32_t i = 0; i < n; i++)
        w->by_begin[i] = i;
    return w->x && w->head && w->last && w->time && w->price && w->least ? w : NULL;
}

bool sked_i_clause_add_work(sked_i_clause_solver *s, const sked_i_clause_work_model *model)
{
    int32_t number;
    work *w = create(&s->memory, model);
    if (w == NULL)
        return s->failed = true, false;
    const sked_i_clause_propagator plug = {
        .self = w, .propagate = propagate, .cost = (int64_t)w->n * w->prices};
    bool fine = sked_i_clause_add_propagator(s, plug, &number);
    for (int32_t i = 0; fine && i < w->n; i++)
        fine = sked_i_clause_tell(s, number, i);
    for (int64_t c = 0; fine && c < (int64_t)w->n * w->m; c++)
        if (w->x[c] >= 0)
            fine = sked_i_clause_tell(s, number, w->x[c]);
    return fine;
}
