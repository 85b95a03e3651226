/*
 * Energetic overload check with explanation: an interval into which more work certainly falls than the pool
 * has room for refutes the present bounds. The time-table sees only ops that certainly run at a moment; this
 * sees ops that certainly run somewhere in between. Costs O(ops^2) a call, so it is asked less often where it
 * seldom finds anything.
 */
#include "engine/clause/pool.h"

#include <math.h>

enum { trial = 500, rare = 64, most_tasks = 400 };

typedef struct window {
    int32_t early, late, duration;
    double demand;
} window;

static window window_of(const sked_i_clause_solver *s, const sked_i_clause_task *t)
{
    return (window){s->low[2 * t->var], -s->low[2 * t->var + 1], t->duration, t->demand};
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Least time an op runs in [t1, t2). */
static int32_t share_in(const window *w, int32_t t1, int32_t t2)
{
    const int32_t a = smaller(w->duration, t2 - t1);
    const int32_t b = smaller(w->early + w->duration - t1, t2 - w->late);
    const int32_t least = smaller(a, b);
    return least > 0 ? least : 0;
}

/* Says why: of each op only as much as is needed to pass the room; ops that are not needed are left out. */
static void explain_overload(sked_i_clause_solver *s, const sked_i_clause_pool *p, int32_t t1, int32_t t2,
                             double excess)
{
    sked_i_clause_conflict_begin(s);
    for (int32_t k = p->count - 1; k >= 0; k--) { /* small demands first: most ops can be dropped */
        const window w = window_of(s, &p->task[k]);
        int32_t share = share_in(&w, t1, t2);
        if (share == 0)
            continue;
        int32_t spare = (int32_t)(ceil(excess / w.demand) - 1); /* keeps the sum above the room */
        spare = spare < 0 ? 0 : smaller(spare, share);
        excess -= spare * w.demand;
        share -= spare;
        if (share == 0)
            continue;
        sked_i_clause_conflict_add(s, 2 * p->task[k].var, t1 + share - w.duration);
        sked_i_clause_conflict_add(s, 2 * p->task[k].var + 1, share - t2);
    }
}

/* Slope changes of the certain work in [t1, t2) as t2 grows, in four lists that are merged. */
typedef struct front {
    const sked_i_clause_solver *s;
    const sked_i_clause_pool *p;
    int32_t t1;
    int32_t at[4];
} front;

static int32_t next_event(front *f, int list, double *change)
{
    const sked_i_clause_pool *p = f->p;
    const int32_t *const order[] = {p->by_begin, p->by_last, p->by_mixed, p->by_end};
    for (; f->at[list] < p->count; f->at[list]++) {
        const window w = window_of(f->s, &p->task[order[list][f->at[list]]]);
        const int32_t left = w.early + w.duration - f->t1;
        *change = list == 0 ? w.demand : -w.demand;
        if (left <= 0)
            continue;
        if (list == 0 && w.late >= f->t1)
            return w.late;
        if (list == 1 && w.early >= f->t1)
            return w.late + w.duration;
        if (list == 2 && w.early < f->t1 && w.late >= f->t1)
            return w.late + left;
        if (list == 3 && w.late < f->t1)
            return f->t1 + left;
    }
    return INT32_MAX;
}

/* First t2 at which [t1, t2) is overfull; false: none. */
static bool scan_from(const sked_i_clause_solver *s, const sked_i_clause_pool *p, int32_t t1, int32_t *t2,
                      double *excess)
{
    front f = {.s = s, .p = p, .t1 = t1};
    double work = 0, slope = 0;
    int32_t time = t1;
    for (int32_t k = 0; k < p->count; k++) {
        const window w = window_of(s, &p->task[k]);
        if (w.late < t1 && w.early + w.duration > t1)
            slope += w.demand;
    }
    for (;;) {
        int32_t when = INT32_MAX;
        int list = 0;
        double change = 0, c;
        for (int k = 0; k < 4; k++) {
            const int32_t t = next_event(&f, k, &c);
            if (t < when)
                when = t, list = k, change = c;
        }
        if (when == INT32_MAX)
            return false;
        work += slope * (when - time);
        time = when;
        slope += change;
        f.at[list]++;
        *excess = work - p->capacity * (time - t1);
        if (*excess > 1e-6) {
            *t2 = time;
            return true;
        }
    }
}

/* Insertion sort of orders that change little between calls. */
static void sort_order(const sked_i_clause_solver *s, const sked_i_clause_pool *p, int32_t *order, bool mixed)
{
    for (int32_t k = 1; k < p->count; k++) {
        const int32_t id = order[k];
        const window w = window_of(s, &p->task[id]);
        const int64_t key = (int64_t)w.late + w.duration + (mixed ? w.early : 0);
        int32_t j = k;
        for (; j > 0; j--) {
            const window v = window_of(s, &p->task[order[j - 1]]);
            if ((int64_t)v.late + v.duration + (mixed ? v.early : 0) <= key)
                break;
            order[j] = order[j - 1];
        }
        order[j] = id;
    }
}

bool sked_i_clause_energy(sked_i_clause_solver *s, void *pool)
{
    sked_i_clause_pool *p = pool;
    p->asked++;
    if (p->count > most_tasks || (p->asked > trial && p->found * 16 < p->asked && p->asked % rare != 0))
        return true;
    sort_order(s, p, p->by_last, false);
    sort_order(s, p, p->by_mixed, true);
    int32_t last = INT32_MIN;
    for (int32_t k = 0; k < p->count; k++) {
        const int32_t t1 = s->low[2 * p->task[k].var];
        int32_t t2;
        double excess;
        if (t1 == last || !scan_from(s, p, t1, &t2, &excess)) {
            last = t1;
            continue;
        }
        p->found++;
        explain_overload(s, p, t1, t2, excess);
        return false;
    }
    return true;
}
