/*
 * Expected memory of live values. The value of i begins with F_i and ends with
 * G(d) = F_i(d) * prod over consumers j of F_j(d - shift): alive is F_i - G. G is 0 before the latest of the
 * windows' beginnings and 1 after the latest of their ends; consumers whose window ends before that stretch
 * do not matter, so a value with many consumers costs little more than one with few.
 */
#include "backend/cpu/gaus/terms.h"

typedef struct stretch {
    int32_t low, high; /* G is 0 before low, 1 from high on */
    int32_t active;    /* factors that move in between */
} stretch;

static bool uses(const sked_i_gaus_view *v, int64_t e)
{
    return v->edge_kind[e] != SKED_I_GAUS_EDGE_IGNORED;
}

static void widen(const sked_i_gaus_engine *s, int32_t op, int32_t shift, stretch *g)
{
    const int32_t low = s->low[op] + shift, high = low + (int32_t)(s->first[op + 1] - s->first[op]);
    g->low = low > g->low ? low : g->low;
    g->high = high > g->high ? high : g->high;
}

static void activate(const sked_i_gaus_engine *s, sked_i_gaus_part *part, int32_t op, int32_t shift,
                     stretch *g)
{
    const int32_t high = s->low[op] + shift + (int32_t)(s->first[op + 1] - s->first[op]);
    if (high <= g->low)
        return;
    part->active[g->active] = op;
    part->offset[g->active++] = shift;
}

/* false: nobody uses the value, it is never alive. */
static bool find_stretch(const sked_i_gaus_engine *s, sked_i_gaus_part *part, int32_t i, stretch *g)
{
    const sked_i_gaus_view *v = s->view;
    bool any = false;
    *g = (stretch){INT32_MIN, INT32_MIN, 0};
    widen(s, i, 0, g);
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++)
        if (uses(v, e)) {
            widen(s, v->edge_to[e], v->shift[e], g);
            any = true;
        }
    if (!any)
        return false;
    activate(s, part, i, 0, g);
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++)
        if (uses(v, e))
            activate(s, part, v->edge_to[e], v->shift[e], g);
    return true;
}

static double factor(const sked_i_gaus_engine *s, const sked_i_gaus_part *part, int32_t k, int32_t d)
{
    const sked_i_window w = sked_i_window_of(s, part->active[k]);
    return sked_i_window_cdf(&w, d - part->offset[k]);
}

static void add_change(const sked_i_gaus_engine *s, double *row, int32_t d, double mass)
{
    const int64_t place = sked_i_gaus_place(s, d);
    if (place >= 0)
        row[place] += mass;
}

void sked_i_gaus_memory(const sked_i_gaus_engine *s, sked_i_gaus_part *part, int32_t i)
{
    const double size = s->view->memory[i];
    double *row = part->change + (int64_t)s->view->profiles * s->length;
    const sked_i_window w = sked_i_window_of(s, i);
    stretch g;
    if (size == 0 || !find_stretch(s, part, i, &g))
        return;
    double before = 0;
    for (int32_t k = 0; k <= w.len; k++) {
        const double now = k < w.len ? w.cdf[k] : 1;
        add_change(s, row, w.low + k, size * (now - before));
        before = now;
    }
    before = 0;
    for (int32_t d = g.low; d <= g.high; d++) {
        double now = 1;
        for (int32_t k = 0; d < g.high && k < g.active; k++)
            now *= factor(s, part, k, d);
        add_change(s, row, d, -size * (now - before));
        before = now;
    }
}

/* Adds what moving factor k does to G at step d, priced; others: the product of the other factors. */
static void add_factor(const sked_i_gaus_engine *s, sked_i_gaus_part *part, int32_t k, int32_t d,
                       double priced)
{
    const int32_t op = part->active[k];
    const sked_i_window w = sked_i_window_of(s, op);
    const double slope = priced * sked_i_window_slope(&w, d - part->offset[k]);
    part->dmu[op] += slope;
    part->dsigma[op] += slope * sked_i_window_z(&w, d - part->offset[k]);
}

void sked_i_gaus_memory_back(const sked_i_gaus_engine *s, sked_i_gaus_part *part, int32_t i)
{
    const double size = s->view->memory[i];
    const double *row = s->adjoint + (int64_t)s->view->profiles * s->cells;
    const sked_i_window w = sked_i_window_of(s, i);
    stretch g;
    if (size == 0 || !find_stretch(s, part, i, &g))
        return;
    for (int32_t k = 0; k < w.len; k++) {
        const double slope = size * sked_i_gaus_price(s, row, w.low + k) * w.slope[k];
        part->dmu[i] -= slope;
        part->dsigma[i] -= slope * sked_i_window_z(&w, w.low + k);
    }
    for (int32_t d = g.low; d < g.high; d++) {
        const double priced = size * sked_i_gaus_price(s, row, d);
        if (priced == 0)
            continue;
        part->before[0] = 1;
        for (int32_t k = 0; k < g.active; k++)
            part->before[k + 1] = part->before[k] * factor(s, part, k, d);
        double after = 1;
        for (int32_t k = g.active; k-- > 0;) {
            add_factor(s, part, k, d, priced * part->before[k] * after);
            after *= factor(s, part, k, d);
        }
    }
}
