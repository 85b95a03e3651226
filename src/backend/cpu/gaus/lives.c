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

static void widen(const sked_i_gaus_evaluator *s, int32_t op, int32_t shift, stretch *g)
{
    assert(shift >= 0);
    const int32_t low = s->low[op] + shift, high = low + (int32_t)(s->first[op + 1] - s->first[op]);
    g->low = low > g->low ? low : g->low;
    g->high = high > g->high ? high : g->high;
}

static void activate(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t op, int32_t shift,
                     stretch *g)
{
    const sked_i_gaus_window w = sked_i_gaus_window_of(s, op);
    if (w.low + shift + w.len <= g->low)
        return;
    part->factor[g->active++] = (sked_i_gaus_factor){.op = op,
                                                     .low = w.low + shift,
                                                     .len = w.len,
                                                     .cdf = w.cdf,
                                                     .slope = w.slope,
                                                     .inverse = 1 / w.sigma,
                                                     .z0 = sked_i_gaus_window_z(&w, w.low)};
}

/* false: the value has no consumer, it is never alive. */
static bool find_stretch(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i, stretch *g)
{
    const sked_i_gaus_view *v = s->view;
    bool any = false;
    *g = (stretch){INT32_MIN, INT32_MIN, 0};
    widen(s, i, 0, g);
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++)
        if (sked_i_gaus_reads(v, e)) {
            widen(s, v->edge_to[e], v->shift[e], g);
            any = true;
        }
    if (!any)
        return false;
    activate(s, part, i, 0, g);
    for (int64_t e = v->succ_ptr[i]; e < v->succ_ptr[i + 1]; e++)
        if (sked_i_gaus_reads(v, e))
            activate(s, part, v->edge_to[e], v->shift[e], g);
    assert(g->active <= v->succ_ptr[i + 1] - v->succ_ptr[i] + 1 && g->low <= g->high);
    return true;
}

static inline double value_of(const sked_i_gaus_factor *f, int32_t d)
{
    const int32_t k = d - f->low;
    return k < 0 ? 0 : k < f->len ? f->cdf[k] : 1;
}

static void add_change(const sked_i_gaus_evaluator *s, double *row, int32_t d, double mass)
{
    const int64_t place = sked_i_gaus_change_index(s, d);
    if (place >= 0)
        row[place] += mass;
}

void sked_i_gaus_memory(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const double size = s->view->memory[i];
    double *row = part->change + (int64_t)s->view->profiles * s->length;
    const sked_i_gaus_window w = sked_i_gaus_window_of(s, i);
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
            now *= value_of(&part->factor[k], d);
        add_change(s, row, d, -size * (now - before));
        before = now;
    }
}

/* What moving each factor does to G at step d, priced: the product of the others times its slope. */
static void gather(sked_i_gaus_factor *f, int32_t active, int32_t d, double priced)
{
    double product = priced;
    assert(priced > 0 && active > 0);
    for (int32_t k = 0; k < active; k++) {
        f[k].before = product;
        f[k].now = value_of(&f[k], d);
        product *= f[k].now;
    }
    double after = 1;
    for (int32_t k = active; k-- > 0;) {
        const int32_t x = d - f[k].low;
        if (x >= 0 && x < f[k].len) {
            const double slope = f[k].before * after * f[k].slope[x];
            f[k].dmu += slope;
            f[k].dsigma += slope * (f[k].z0 + x * f[k].inverse);
        }
        after *= f[k].now;
    }
}

void sked_i_gaus_memory_back(const sked_i_gaus_evaluator *s, sked_i_gaus_part *part, int32_t i)
{
    const double size = s->view->memory[i];
    const double *row = s->adjoint + (int64_t)s->view->profiles * s->cells;
    const sked_i_gaus_window w = sked_i_gaus_window_of(s, i);
    stretch g;
    if (size == 0 || !find_stretch(s, part, i, &g))
        return;
    for (int32_t k = 0; k < w.len; k++) {
        const double slope = size * sked_i_gaus_price(s, row, w.low + k) * w.slope[k];
        part->dmu[i] -= slope;
        part->dsigma[i] -= slope * sked_i_gaus_window_z(&w, w.low + k);
    }
    for (int32_t d = g.low; d < g.high; d++) {
        const double price = sked_i_gaus_price(s, row, d);
        if (price > s->least_price)
            gather(part->factor, g.active, d, size * price);
    }
    for (int32_t k = 0; k < g.active; k++) {
        part->dmu[part->factor[k].op] += part->factor[k].dmu;
        part->dsigma[part->factor[k].op] += part->factor[k].dsigma;
    }
}
