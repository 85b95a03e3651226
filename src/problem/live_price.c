/*
 * What a schedule must pay at given prices is the least of a function of all starts and ends of lives. A
 * start or end is a variable; its label says how many of the moments have passed by then. A value pays the
 * sum of the prices up to its end, less those up to its start: terms of one variable each. What is left are
 * pairs: one label is no less than another and a step.
 *
 * Messages along the pairs shift cost from one variable to another, variable by variable in an order near the
 * topological one, forwards and backwards in turn (sequential tree-reweighted message passing, Kolmogorov
 * 2006). A variable gives each pair ahead of it the same part of all it knows, less what came from there:
 *
 *     own terms + messages from behind + pairs ahead
 *         = (1 - parts) * belief + sum over pairs ahead of (part * belief - message from ahead + pair)
 *
 * where belief is the own terms and all messages. Each bracket is at least its minimum over the variable's
 * own label, which is the message that goes ahead. So the minima taken out in one sweep add up to a lower
 * bound, whatever the messages and prices were before it: prices may change between sweeps, and messages
 * stay.
 *
 * Prices rise at moments where a schedule read off the messages has more alive than it pays for, and fall
 * elsewhere (multiplicative weights).
 */
#include "problem/live_price.h"

#include "base/arena.h"
#include "base/explog.h"

#include <assert.h>
#include <string.h>

/* The start of an op, or the end of the life of its value. */
typedef struct variable {
    int32_t low, high; /* labels */
    double factor;     /* it pays factor * sum of the prices up to its label */
} variable;

/* label of `above` >= label of `below` + step. */
typedef struct pair {
    int32_t below, above;
    int32_t step;
    double flow; /* of the cost that it carries at equal prices */
    int64_t at;  /* of its message, [labels of the variable that it goes to] */
} pair;

typedef struct pricing {
    sked_i_arena arena;
    const sked_graph *g;
    const sked_i_priced_moments *m;
    int32_t n, n_pairs;               /* of variables, in the order of sweeps; of pairs */
    int32_t phases;                   /* moments of different prices */
    int32_t *start, *end;             /* [ops] variables of a value; end -1: it is never alive */
    variable *var;                    /* [n] */
    pair *pair;                       /* [n_pairs] */
    int32_t *ahead_ptr[2], *ahead[2]; /* pairs of each variable to earlier ones (0), and to later ones (1) */
    double room;                      /* of the messages */
    double *message;                  /* [room] */
    double *belief, *share;           /* [moments + 1] by label from the lowest of the variable at hand */
    double *paid;                     /* [moments + 1] sum of the prices up to a label */
    double *price, *tilt;             /* [phases] tilt: logarithm of the price, but for a constant */
    int32_t *label;                   /* [n] of a schedule read off the messages */
    double *change, *load;            /* [moments + 1] and [phases] what is alive in that schedule */
    double last;                      /* the last op does not start before */
    double magnitude;                 /* of what a sweep adds up */
} pricing;

/* ------------------------------------------------------------------ labels */

static int32_t label_of(const sked_i_priced_moments *m, double time)
{
    return (int32_t)fmax(0, fmin(m->count, floor((time - m->first) / m->spacing) + 1));
}

static int32_t step_of(const sked_i_priced_moments *m, double shift)
{
    return (int32_t)fmax(-m->count, fmin(m->count, floor((shift - m->slack) / m->spacing)));
}

static double interval_of(const sked_i_priced_moments *m)
{
    return m->phases * m->spacing;
}

/* When the life of v ends if ops start at start[]; kept values live until the last op starts. */
static double end_time(const pricing *x, int32_t v, const double *start)
{
    const sked_graph *g = x->g;
    double end = start[v];
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++)
        if (sked_i_edge_counts(g, x->m->phases > 0, e) && sked_i_passes(g, e))
            end = fmax(end, start[g->edge_to[e]] + g->edge_distance[e] * interval_of(x->m));
    return g->keep != NULL && g->keep[v] && x->m->phases == 0 ? fmax(end, x->last) : end;
}

double sked_i_price_room(const sked_graph *g, const sked_i_priced_moments *m)
{
    double room = 0;
    for (int32_t v = 0; v < g->n_ops; v++) {
        const int64_t edges = g->succ_ptr[v + 1] - g->succ_ptr[v] + g->pred_ptr[v + 1] - g->pred_ptr[v];
        const double width = label_of(m, m->late[v] + m->slack) - label_of(m, m->early[v] - m->slack) + 1;
        room += (double)edges * width;
    }
    return room;
}

/* ------------------------------------------------------------------ variables */

/* Starts in topological order, each end behind the last of its readers. */
static sked_status number_variables(pricing *x, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = x->g;
    int32_t *place, *first, *next, *by;
    SKED_OWN(&x->arena, place, g->n_ops);
    SKED_OWN(&x->arena, first, g->n_ops); /* lists of the values whose ends stand behind an op */
    SKED_OWN(&x->arena, next, g->n_ops);
    SKED_OWN(&x->arena, by, g->n_ops);
    for (int32_t k = 0; k < g->n_ops; k++) {
        place[g->topo[k]] = k;
        first[k] = -1;
    }
    for (int32_t v = 0; v < g->n_ops; v++) {
        int32_t last = v;
        by[v] = sked_i_life_ended_by(g, x->m->phases > 0, v);
        for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++)
            if (sked_i_edge_counts(g, x->m->phases > 0, e) && sked_i_passes(g, e) &&
                place[g->edge_to[e]] > place[last])
                last = g->edge_to[e];
        next[v] = first[last];
        if (by[v] == SKED_I_OWN_END)
            first[last] = v;
    }
    for (int32_t k = 0; k < g->n_ops; k++) {
        x->start[g->topo[k]] = x->n++;
        for (int32_t v = first[g->topo[k]]; v >= 0; v = next[v])
            x->end[v] = x->n++;
    }
    for (int32_t v = 0; v < g->n_ops; v++)
        if (by[v] != SKED_I_OWN_END)
            x->end[v] = by[v] >= 0 ? x->start[by[v]] : -1;
cleanup:
    return st;
}

static bool has_own_end(const pricing *x, int32_t v)
{
    return x->end[v] >= 0 && sked_i_life_ended_by(x->g, x->m->phases > 0, v) == SKED_I_OWN_END;
}

/* false: a window is empty. */
static bool set_labels(pricing *x)
{
    const sked_i_priced_moments *m = x->m;
    x->last = -INFINITY;
    for (int32_t v = 0; v < x->g->n_ops; v++)
        x->last = fmax(x->last, m->early[v]);
    for (int32_t v = 0; v < x->g->n_ops; v++) {
        variable *start = &x->var[x->start[v]];
        start->low = label_of(m, m->early[v] - m->slack);
        start->high = label_of(m, m->late[v] + m->slack);
        if (start->low > start->high)
            return false;
        if (has_own_end(x, v)) {
            variable *end = &x->var[x->end[v]];
            end->low = label_of(m, end_time(x, v, m->early) - m->slack);
            end->high = label_of(m, end_time(x, v, m->late) + m->slack);
        }
    }
    for (int32_t v = 0; v < x->g->n_ops; v++)
        if (x->end[v] >= 0) {
            x->var[x->start[v]].factor -= x->g->memory[v];
            x->var[x->end[v]].factor += x->g->memory[v];
        }
    return true;
}

/* ------------------------------------------------------------------ pairs */

static void add_pair(pricing *x, int32_t below, int32_t above, double shift, double flow)
{
    assert(below != above && x->n_pairs < 2 * x->g->n_edges + x->g->n_ops);
    x->pair[x->n_pairs++] =
        (pair){.below = below, .above = above, .step = step_of(x->m, shift), .flow = flow};
}

/* The order that each edge asks for, and every end after what it ends. */
static void list_pairs(pricing *x, const sked_i_life_flow *f)
{
    const sked_graph *g = x->g;
    const double interval = interval_of(x->m);
    for (int32_t v = 0; v < g->n_ops; v++) {
        const bool own = has_own_end(x, v);
        if (own)
            add_pair(x, x->start[v], x->end[v], 0, f->own[v]);
        for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
            const int32_t reader = x->start[g->edge_to[e]];
            const double shift = g->edge_distance[e] * interval;
            if (!sked_i_edge_counts(g, x->m->phases > 0, e))
                continue;
            if (reader != x->start[v])
                add_pair(x, x->start[v], reader, g->edge_lag[e] - shift, f->order[e]);
            if (own && sked_i_passes(g, e))
                add_pair(x, reader, x->end[v], shift, f->read[e]);
        }
    }
}

static int32_t width(const variable *v)
{
    return v->high - v->low + 1;
}

/* Pairs by their variables, to earlier ones and to later ones, and a place for each message. */
static void sort_pairs(pricing *x)
{
    int64_t room = 0;
    for (int32_t k = 0; k < x->n_pairs; k++) {
        pair *p = &x->pair[k];
        const int32_t a = width(&x->var[p->below]), b = width(&x->var[p->above]);
        p->at = room;
        room += a > b ? a : b;
        const int32_t one = p->below < p->above ? p->below : p->above, other = p->below + p->above - one;
        x->ahead_ptr[0][other + 2]++;
        x->ahead_ptr[1][one + 2]++;
    }
    x->room = (double)room;
    for (int side = 0; side < 2; side++) {
        int32_t *ptr = x->ahead_ptr[side];
        for (int32_t i = 0; i < x->n; i++)
            ptr[i + 2] += ptr[i + 1];
        for (int32_t k = 0; k < x->n_pairs; k++) {
            const pair *p = &x->pair[k];
            const bool below = (p->below < p->above) == (side == 1);
            x->ahead[side][ptr[(below ? p->below : p->above) + 1]++] = k;
        }
    }
}

/* ------------------------------------------------------------------ sweeps */

static int32_t clamp(int32_t k, int32_t low, int32_t high)
{
    return k < low ? low : k > high ? high : k;
}

/* The lowest label of `above` that goes with label k of `below`. */
static int32_t least_above(const pricing *x, const pair *p, int32_t k)
{
    const variable *a = &x->var[p->below], *b = &x->var[p->above];
    return k == a->low ? b->low : clamp(k + p->step, b->low, b->high);
}

/* The highest label of `below` that goes with label k of `above`. */
static int32_t most_below(const pricing *x, const pair *p, int32_t k)
{
    const variable *a = &x->var[p->below], *b = &x->var[p->above];
    return k == b->high ? a->high : clamp(k - p->step, a->low, a->high);
}

/* out[k - to->low] = in[k + shift - from->low] - base for all labels k of `to`, with the ends of `in` beyond.
 */
static void shift_message(const variable *from, const variable *to, int32_t shift, const double *restrict in,
                          double base, double *restrict out)
{
    const int32_t first = clamp(from->low - shift, to->low, to->high + 1),
                  end = clamp(from->high - shift + 1, first, to->high + 1);
    for (int32_t k = to->low; k < first; k++)
        out[k - to->low] = in[0] - base;
    for (int32_t k = first; k < end; k++)
        out[k - to->low] = in[k + shift - from->low] - base;
    for (int32_t k = end; k <= to->high; k++)
        out[k - to->low] = in[from->high - from->low] - base;
}

/* From variable i, whose belief is at hand, over pair p. Returns the minimum, taken out of the message. */
static double send(pricing *x, const pair *p, int32_t i, double part)
{
    const variable *a = &x->var[p->below], *b = &x->var[p->above];
    const int32_t last = width(&x->var[i]) - 1;
    double *message = x->message + p->at, *share = x->share;
    assert(i == p->below || i == p->above);
    for (int32_t k = 0; k <= last; k++)
        share[k] = part * x->belief[k] - message[k];
    if (i == p->below) {
        for (int32_t k = 1; k <= last; k++)
            share[k] = share[k] < share[k - 1] ? share[k] : share[k - 1];
        shift_message(a, b, -p->step, share, share[last], message);
        message[b->high - b->low] = 0;
        return share[last];
    }
    for (int32_t k = last; k-- > 0;)
        share[k] = share[k] < share[k + 1] ? share[k] : share[k + 1];
    shift_message(b, a, p->step, share, share[0], message);
    message[0] = 0;
    return share[0];
}

/* Adds the messages from one side to the belief. */
static void add_messages(pricing *x, int32_t i, int side)
{
    const int32_t labels = width(&x->var[i]);
    for (int32_t j = x->ahead_ptr[side][i]; j < x->ahead_ptr[side][i + 1]; j++) {
        const double *message = x->message + x->pair[x->ahead[side][j]].at;
        for (int32_t k = 0; k < labels; k++)
            x->belief[k] += message[k];
    }
}

/* The label of least cost for the variables after i that goes with those chosen before it. */
static void choose(pricing *x, int32_t i)
{
    const variable *v = &x->var[i];
    int32_t low = v->low, high = v->high;
    for (int32_t j = x->ahead_ptr[0][i]; j < x->ahead_ptr[0][i + 1]; j++) {
        const pair *p = &x->pair[x->ahead[0][j]];
        if (p->above == i) {
            const int32_t least = least_above(x, p, x->label[p->below]);
            low = least > low ? least : low;
        } else {
            const int32_t most = most_below(x, p, x->label[p->above]);
            high = most < high ? most : high;
        }
    }
    x->label[i] = low;
    for (int32_t k = low + 1; k <= high; k++)
        if (x->belief[k - v->low] < x->belief[x->label[i] - v->low])
            x->label[i] = k;
}

/* Takes out what is certain of one variable and sends the rest ahead. */
static double pass(pricing *x, int32_t i, int ahead)
{
    const variable *v = &x->var[i];
    const int32_t labels = width(v), *ptr = x->ahead_ptr[ahead], *back = x->ahead_ptr[1 - ahead];
    const int32_t n_ahead = ptr[i + 1] - ptr[i], n_back = back[i + 1] - back[i];
    const double part = 1 / fmax(1, fmax(n_ahead, n_back));
    double least = INFINITY, sum;
    for (int32_t k = 0; k < labels; k++)
        x->belief[k] = v->factor * x->paid[v->low + k];
    add_messages(x, i, 1);
    if (ahead == 1)
        choose(x, i);
    add_messages(x, i, 0);
    for (int32_t k = 0; k < labels; k++)
        least = x->belief[k] < least ? x->belief[k] : least;
    sum = n_ahead < n_back || n_ahead == 0 ? (1 - n_ahead * part) * least : 0;
    x->magnitude += fabs(sum);
    for (int32_t j = ptr[i]; j < ptr[i + 1]; j++) {
        const double taken = send(x, &x->pair[x->ahead[ahead][j]], i, part);
        x->magnitude += fabs(taken);
        sum += taken;
    }
    return sum;
}

/* One sweep. false: stopped before its end. */
static bool sweep(pricing *x, int ahead, sked_i_bound_effort *effort, double *bound)
{
    double sum = 0;
    x->magnitude = 0;
    for (int32_t k = 0; k < x->n; k++) {
        if ((k & 255) == 0 && sked_i_limit_heard(effort->limit))
            return false;
        sum += pass(x, ahead == 1 ? k : x->n - 1 - k, ahead);
    }
    effort->work -= x->room;
    *bound = fmax(*bound, sum - 1e-12 * x->magnitude); /* the sums are rounded */
    return true;
}

/* ------------------------------------------------------------------ prices */

static void set_prices(pricing *x)
{
    const int32_t phases = x->phases;
    double most = -INFINITY, sum = 0;
    for (int32_t k = 0; k < phases; k++)
        most = fmax(most, x->tilt[k]);
    for (int32_t k = 0; k < phases; k++) {
        x->price[k] = sked_i_exp(fmax(-700, x->tilt[k] - most));
        sum += x->price[k];
    }
    assert(sum >= 1); /* the dearest moment counts 1 */
    for (int32_t k = 0; k < phases; k++)
        x->price[k] /= sum;
    x->paid[0] = 0;
    for (int32_t k = 0; k < x->m->count; k++)
        x->paid[k + 1] = x->paid[k] + x->price[k % phases];
}

/* What is alive in the schedule read off the messages, by phases. Returns what it pays. */
static double add_up(pricing *x)
{
    const sked_graph *g = x->g;
    double alive = 0, pays = 0;
    memset(x->change, 0, ((size_t)x->m->count + 1) * sizeof *x->change);
    memset(x->load, 0, (size_t)x->phases * sizeof *x->load);
    for (int32_t v = 0; v < g->n_ops; v++) {
        if (x->end[v] < 0)
            continue;
        const int32_t start = x->label[x->start[v]], end = x->label[x->end[v]];
        x->change[start] += end > start ? g->memory[v] : 0;
        x->change[end] -= end > start ? g->memory[v] : 0;
    }
    for (int32_t k = 0; k < x->m->count; k++) {
        alive += x->change[k];
        x->load[k % x->phases] += alive;
        pays += alive * x->price[k % x->phases];
    }
    return pays;
}

static void move_prices(pricing *x, double pays, double step)
{
    for (int32_t k = 0; k < x->phases; k++)
        x->tilt[k] += step * (x->load[k] / pays - 1);
    set_prices(x);
}

/* Messages to the earlier variables that give the bound of the flow at equal prices, in the first sweep. */
static void begin_messages(pricing *x)
{
    for (int32_t k = 0; k < x->n_pairs; k++) {
        const pair *p = &x->pair[k];
        const bool below = p->below < p->above;
        const variable *v = &x->var[below ? p->below : p->above];
        for (int32_t label = v->low; label <= v->high; label++)
            x->message[p->at + label - v->low] = (below ? p->flow : -p->flow) * x->paid[label];
    }
}

/* Sweeps to and fro until the work is done, or a hundred of them have gained next to nothing. */
static void improve(pricing *x, sked_i_bound_effort *effort, double *bound)
{
    enum { patience = 50 };
    double mark = 0;
    set_prices(x);
    begin_messages(x);
    for (int round = 0; effort->work > 0; round++) {
        if (!sweep(x, 1, effort, bound))
            break;
        const double pays = add_up(x);
        if (!sweep(x, 0, effort, bound) || !(pays > 0))
            break;
        move_prices(x, pays, 0.2 / (1 + round / 50.0));
        if (round % patience == patience - 1) {
            if (*bound < mark * (1 + 1e-3))
                break;
            mark = *bound;
        }
    }
}

/* ------------------------------------------------------------------ opening */

static sked_status open_pricing(pricing *x, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = x->g;
    const int64_t labels = (int64_t)x->m->count + 1, pairs = 2 * g->n_edges + g->n_ops;
    x->phases = x->m->phases > 0 ? x->m->phases : x->m->count;
    SKED_OWN(&x->arena, x->start, g->n_ops);
    SKED_OWN(&x->arena, x->end, g->n_ops);
    SKED_TRY(number_variables(x, err));
    SKED_OWN0(&x->arena, x->var, x->n);
    SKED_OWN(&x->arena, x->pair, pairs);
    for (int side = 0; side < 2; side++) {
        SKED_OWN0(&x->arena, x->ahead_ptr[side], (int64_t)x->n + 2);
        SKED_OWN(&x->arena, x->ahead[side], pairs);
    }
    SKED_OWN(&x->arena, x->label, x->n);
    SKED_OWN(&x->arena, x->belief, labels);
    SKED_OWN(&x->arena, x->share, labels);
    SKED_OWN(&x->arena, x->paid, labels);
    SKED_OWN(&x->arena, x->change, labels);
    SKED_OWN(&x->arena, x->price, x->phases);
    SKED_OWN0(&x->arena, x->tilt, x->phases);
    SKED_OWN(&x->arena, x->load, x->phases);
cleanup:
    return st;
}

sked_status sked_i_price_bound(const sked_graph *g, const sked_i_priced_moments *m,
                               const sked_i_life_flow *flow, sked_i_bound_effort *effort, double *bound,
                               sked_error *err)
{
    sked_status st = SKED_OK;
    pricing x = {.g = g, .m = m};
    double best = 0;
    assert(m->count > 0 && m->spacing > 0);
    SKED_TRY(open_pricing(&x, err));
    if (set_labels(&x)) {
        list_pairs(&x, flow);
        sort_pairs(&x);
        SKED_OWN(&x.arena, x.message, (int64_t)x.room);
        improve(&x, effort, &best);
    }
    *bound = best;
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}
