/*
 * Orders of ops that need little memory one after the other. The next op is chosen by what follows it: ops
 * are run ahead until memory is lowest (the valley); the hill on the way there and the valley decide, as in
 * Liu's rule for trees (1987). The same from the end backwards. Annealing goes on from the best of both:
 * moves take ops across the place where memory peaks, or to another device.
 */
#include "engine/memory/memory_engine.h"

#include <assert.h>
#include <string.h>

enum { look_ahead = 24, most_candidates = 256 };
static const double look_budget = 3e7; /* steps ahead in one order */

sked_status sked_i_memory_plan_make(sked_i_arena *arena, int32_t n, sked_i_memory_plan *plan, sked_error *err)
{
    sked_status st = SKED_OK;
    *plan = (sked_i_memory_plan){.excess = INFINITY, .peak = INFINITY};
    SKED_OWN(arena, plan->order, n);
    SKED_OWN0(arena, plan->device, n);
cleanup:
    return st;
}

typedef struct planner {
    sked_i_arena arena;
    const sked_i_stores *m;
    sked_i_client *client;
    sked_i_memory_plan now, *best; /* now: what is tried */
    double cost;                   /* of what annealing stands at */
    double share;                  /* of the limits that costs are counted from */
    /* evaluation */
    int32_t *place; /* [n] in the order */
    double *load;   /* [(stores + 1) * (n + 1)] the last row: all together; zeros between evaluations */
    bool cut;       /* an evaluation was not finished, for the limit was reached: there are no more */
    int32_t *last;  /* [devices] last place of a reader there */
    int32_t *stamp; /* [devices] value it is of */
    int32_t *seen;  /* [devices] devices with readers of the value at hand */
    int32_t hill;   /* place with the worst excess or the highest load */
    /* one greedy order */
    bool backward;
    int32_t *unread;  /* [n] forward: edges not read; backward: readers placed */
    int32_t *waiting; /* [n] */
    int32_t *ready;   /* [n] stack */
    int32_t n_ready;
    double live;
    int32_t *trail; /* [look_ahead] ops run ahead */
    double *used;   /* [devices] */
} planner;

/* ------------------------------------------------------------------ what an order needs */

static void hold(planner *x, int32_t device, int32_t from, int32_t to, double size)
{
    const sked_i_stores *m = x->m;
    if (from > to)
        return;
    const int64_t width = (int64_t)m->n + 1;
    double *all = x->load + m->stores * width;
    all[from] += size;
    all[to + 1] -= size;
    if (m->store_of[device] >= 0) {
        double *own = x->load + m->store_of[device] * width;
        own[from] += size;
        own[to + 1] -= size;
    }
}

/* The value of op v where it was made and where it is read; false: its data cannot reach a reader. */
static bool hold_value(planner *x, int32_t v, const int32_t *device)
{
    const sked_i_stores *m = x->m;
    const sked_graph *g = m->g;
    const int32_t at = x->place[v], home = device[v], back = m->to_finish ? 0 : 1;
    int32_t count = 0;
    bool remote = false;
    for (int64_t e = g->succ_ptr[v]; e < g->succ_ptr[v + 1]; e++) {
        const int32_t to = g->edge_to[e], d = device[to];
        if (g->edge_distance[e] > 0 || !sked_i_passes(g, e))
            continue;
        if (x->stamp[d] != v + 1) {
            x->stamp[d] = v + 1;
            x->last[d] = -1;
            x->seen[count++] = d;
        }
        x->last[d] = x->place[to] > x->last[d] ? x->place[to] : x->last[d];
        remote = remote || d != home;
        if (d != home && isinf(sked_i_transfer_time(&m->costs, g->edge_bytes[e], home, d)))
            return false;
    }
    int32_t end = m->to_finish || remote ? at : -1;
    for (int32_t k = 0; k < count; k++) {
        const int32_t d = x->seen[k], until = x->last[d] - back;
        if (d == home)
            end = until > end ? until : end;
        else
            hold(x, d, at, until, g->memory[v]);
    }
    hold(x, home, at, sked_i_stores_keeps(m, v) ? m->n - 1 : end, g->memory[v]);
    return true;
}

/* Where ops and stores are many, looks at the limit now and then. */
static bool is_cut(planner *x, int32_t store)
{
    enum { steps_between_looks = 1 << 20 };
    const int32_t between = 1 + steps_between_looks / (x->m->n + 1);
    x->cut = x->cut || ((store + 1) % between == 0 && sked_i_client_over(x->client));
    return x->cut;
}

/*
 * Peak and excess of x->now; returns a cost that also counts for how long limits are exceeded. INFINITY: data
 * cannot pass, or the limit was reached.
 */
static double evaluate(planner *x)
{
    const sked_i_stores *m = x->m;
    const int64_t width = (int64_t)m->n + 1;
    double cost = 0, worst = -INFINITY;
    bool linked = !x->cut;
    x->client->evaluations++;
    memset(x->stamp, 0, (size_t)m->devices * sizeof *x->stamp);
    for (int32_t k = 0; k < m->n; k++)
        x->place[x->now.order[k]] = k;
    for (int32_t i = 0; i < m->n && !x->cut; i++)
        if (m->g->memory[i] > 0)
            linked = hold_value(x, i, x->now.device) && linked;
    x->now.excess = linked ? 0 : INFINITY;
    for (int32_t s = 0; s <= m->stores && !is_cut(x, s); s++) {
        double *row = x->load + s * width, sum = 0, peak = 0, over = 0;
        const bool all = s == m->stores;
        const double limit = all ? m->total >= 0 ? m->limit[m->total] : INFINITY : m->limit[s];
        const double goal = x->share * limit;
        if (s == m->total)
            continue; /* the last row says the same */
        for (int32_t k = 0; k < m->n; k++) {
            sum += row[k];
            over += sum > goal ? sum - goal : 0;
            peak = sum > peak ? sum : peak;
            if ((limit < INFINITY ? sum - limit : sum * 1e-12) > worst) {
                worst = limit < INFINITY ? sum - limit : sum * 1e-12;
                x->hill = k;
            }
        }
        x->now.excess += fmax(0, peak - limit);
        cost += fmax(0, peak - goal) + over / (m->n + 1);
        x->now.peak = peak;
        memset(row, 0, (size_t)width * sizeof *row);
    }
    if (x->cut)
        x->now.excess = INFINITY;
    return linked && !x->cut ? cost : INFINITY;
}

/* Evaluates x->now and keeps it where it is the best so far. */
static double consider(planner *x)
{
    const double cost = evaluate(x);
    const sked_i_memory_plan *now = &x->now;
    sked_i_memory_plan *best = x->best;
    if (now->excess < best->excess || (now->excess == best->excess && now->peak < best->peak)) {
        memcpy(best->order, now->order, (size_t)x->m->n * sizeof *best->order);
        memcpy(best->device, now->device, (size_t)x->m->n * sizeof *best->device);
        best->excess = now->excess;
        best->peak = now->peak;
    }
    return cost;
}

static bool is_done(planner *x)
{
    return (x->best->excess == 0 && x->share == 1) || sked_i_client_over(x->client);
}

/* ------------------------------------------------------------------ greedy orders */

/* Edges from `from` at place k of op's in-edges on: they stand together. *end: the place behind them. */
static int32_t same_source(const sked_graph *g, int32_t op, int64_t k, int64_t *end)
{
    int32_t count = 0;
    int64_t j = k;
    for (; j < g->pred_ptr[op + 1] && g->pred_op[j] == g->pred_op[k]; j++)
        count += g->edge_distance[g->pred_edge[j]] == 0 && sked_i_passes(g, g->pred_edge[j]);
    *end = j;
    return count;
}

/* Does the value take room at all? Under lifetime start a value without readers is not held. */
static double own_size(const planner *x, int32_t i)
{
    const sked_graph *g = x->m->g;
    return x->m->to_finish || g->succ_ptr[i] < g->succ_ptr[i + 1] ? g->memory[i] : 0;
}

/* What running op i next adds to memory at its time (*hill) and leaves behind (returned). */
static double growth(const planner *x, int32_t i, double *hill)
{
    const sked_graph *g = x->m->g;
    const bool keeps = sked_i_stores_keeps(x->m, i), read = g->succ_ptr[i] < g->succ_ptr[i + 1];
    double freed = 0, taken = 0;
    int64_t end;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k = end) {
        const int32_t u = g->pred_op[k], count = same_source(g, i, k, &end);
        if (count == 0 || sked_i_stores_keeps(x->m, u))
            continue;
        if (x->backward)
            taken += x->unread[u] == 0 ? g->memory[u] : 0;
        else
            freed += x->unread[u] == count ? g->memory[u] : 0;
    }
    if (x->backward) {
        const bool alive = x->unread[i] > 0 || keeps;
        *hill = taken + (alive ? 0 : own_size(x, i));
        return taken - (alive ? g->memory[i] : 0);
    }
    *hill = own_size(x, i) - (x->m->to_finish ? 0 : freed);
    return (read || keeps ? g->memory[i] : 0) - freed;
}

/* Runs op i (by = 1) or takes that back (-1). New ready ops go on the stack; the caller cuts it back. */
static void step(planner *x, int32_t i, int by)
{
    const sked_graph *g = x->m->g;
    const int64_t *ptr = x->backward ? g->pred_ptr : g->succ_ptr;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
        if (g->edge_distance[g->pred_edge[k]] == 0 && sked_i_passes(g, g->pred_edge[k]))
            x->unread[g->pred_op[k]] += x->backward ? by : -by;
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
        const int64_t e = x->backward ? g->pred_edge[k] : k;
        const int32_t to = x->backward ? g->pred_op[k] : g->edge_to[k];
        if (g->edge_distance[e] > 0)
            continue;
        x->waiting[to] -= by;
        assert(x->waiting[to] >= 0);
        if (by > 0 && x->waiting[to] == 0)
            x->ready[x->n_ready++] = to;
    }
}

/* Hill and valley of running op i and what it makes ready, least growth first. */
static void look(planner *x, int32_t i, double *hill, double *valley)
{
    const int32_t base = x->n_ready;
    int32_t steps = 0;
    double sum = 0, highest = -INFINITY;
    *hill = -INFINITY;
    *valley = INFINITY;
    for (int32_t op = i; op >= 0 && steps < look_ahead;) {
        const int32_t before = x->n_ready;
        double top;
        const double net = growth(x, op, &top);
        highest = fmax(highest, sum + top);
        sum += net;
        if (sum < *valley) {
            *valley = sum;
            *hill = highest;
        }
        step(x, op, 1);
        x->trail[steps++] = op;
        op = -1;
        double least = INFINITY;
        for (int32_t k = before; k < x->n_ready; k++) {
            const double next = growth(x, x->ready[k], &top);
            if (next < least) {
                least = next;
                op = x->ready[k];
            }
        }
        if (sum <= 0)
            break; /* low enough */
    }
    while (steps > 0)
        step(x, x->trail[--steps], -1);
    x->n_ready = base;
}

/* Profitable ones by the lowest hill; else those that fall most from their hill. Less is better. */
static double score(double hill, double valley, double noise, sked_i_rng *rng)
{
    const double factor = noise > 0 ? 1 + noise * (sked_i_rng_uniform(rng) - 0.5) : 1;
    return valley <= 0 ? -1 / (1 + fmax(0, hill) * factor) : (valley - hill) * 1e-30 + valley * factor;
}

/* One greedy order into x->now.order, devices as they are. */
static void build_order(planner *x, bool backward, double noise)
{
    const sked_graph *g = x->m->g;
    const int32_t n = x->m->n;
    const double afford = look_budget / look_ahead / (n + 1.0);
    const int32_t most = afford < 4 ? 4 : afford > most_candidates ? most_candidates : (int32_t)afford;
    const int64_t *ptr = backward ? g->succ_ptr : g->pred_ptr;
    x->backward = backward;
    x->n_ready = 0;
    memset(x->unread, 0, (size_t)n * sizeof *x->unread);
    memset(x->waiting, 0, (size_t)n * sizeof *x->waiting);
    for (int64_t e = 0; e < g->n_edges; e++)
        if (g->edge_distance[e] == 0) {
            x->waiting[backward ? g->edge_from[e] : g->edge_to[e]]++;
            x->unread[g->edge_from[e]] += !backward && sked_i_passes(g, e);
        }
    for (int32_t k = n - 1; k >= 0; k--)
        if (ptr[g->topo[k]] == ptr[g->topo[k] + 1] || x->waiting[g->topo[k]] == 0)
            x->ready[x->n_ready++] = g->topo[k];
    bool hurried = false; /* the time is up: the rest depth first, without looking */
    for (int32_t at = 0; at < n; at++) {
        int32_t best = x->n_ready - 1;
        double least = INFINITY;
        hurried = hurried || (at % 256 == 255 && sked_i_client_over(x->client));
        const int32_t end = x->n_ready <= most ? 0 : x->n_ready - most;
        for (int32_t k = x->n_ready - 1; !hurried && k >= end && x->n_ready > 1; k--) {
            double hill, valley;
            look(x, x->ready[k], &hill, &valley);
            const double s = score(hill, valley, noise, &x->client->rng);
            if (s < least) {
                least = s;
                best = k;
            }
        }
        assert(x->n_ready > 0); /* the graph has no cycles */
        const int32_t op = x->ready[best];
        memmove(x->ready + best, x->ready + best + 1, (size_t)(--x->n_ready - best) * sizeof *x->ready);
        step(x, op, 1);
        x->now.order[backward ? n - 1 - at : at] = op;
    }
}

/* ------------------------------------------------------------------ devices */

/* Everything on device d, ops that cannot run there on the first that can. */
static void use_device(planner *x, int32_t d)
{
    const sked_i_stores *m = x->m;
    for (int32_t i = 0; i < m->n; i++) {
        int32_t other = d;
        for (int32_t k = 0; k < m->devices && !sked_i_stores_able(m, i, other); k++)
            other = k;
        x->now.device[i] = other;
    }
}

/* Room left on a device when every value that has been given it stays. */
static double room_of(const sked_i_stores *m, const double *used, int32_t d)
{
    return m->store_of[d] >= 0 ? m->limit[m->store_of[d]] - used[d] : INFINITY;
}

/*
 * Along the order: each op on the device of its predecessor that was placed last, while `share` of the limits
 * has room for all values that it keeps or reads; else on the device with the most room.
 */
static void fill_devices(planner *x, double share)
{
    const sked_i_stores *m = x->m;
    const sked_graph *g = m->g;
    int32_t *device = x->now.device;
    double *used = x->used;
    memset(used, 0, (size_t)m->devices * sizeof *used);
    for (int32_t k = 0; k < m->n; k++) {
        const int32_t i = x->now.order[k];
        int32_t want = k > 0 ? device[x->now.order[k - 1]] : 0;
        for (int64_t j = g->pred_ptr[i]; j < g->pred_ptr[i + 1]; j++)
            want = g->edge_distance[g->pred_edge[j]] == 0 ? device[g->pred_op[j]] : want;
        const double size = g->memory[i] * (sked_i_stores_keeps(m, i) ? 1 : share);
        if (!sked_i_stores_able(m, i, want) || room_of(m, used, want) < size) {
            int32_t most = -1;
            for (int32_t d = 0; d < m->devices; d++)
                if (sked_i_stores_able(m, i, d) && (most < 0 || room_of(m, used, d) > room_of(m, used, most)))
                    most = d;
            want = most;
        }
        device[i] = want;
        used[want] += size;
    }
}

/* ------------------------------------------------------------------ annealing */

/* Places between which op may stand: behind its predecessors, before its successors. */
static void range_of(const planner *x, int32_t op, int32_t *low, int32_t *high)
{
    const sked_graph *g = x->m->g;
    *low = 0;
    *high = x->m->n - 1;
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
        if (g->edge_distance[g->pred_edge[k]] == 0 && x->place[g->pred_op[k]] >= *low)
            *low = x->place[g->pred_op[k]] + 1;
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (g->edge_distance[e] == 0 && x->place[g->edge_to[e]] <= *high)
            *high = x->place[g->edge_to[e]] - 1;
}

void sked_i_memory_shift(int32_t *order, int32_t from, int32_t to)
{
    const int32_t op = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, (size_t)(to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (size_t)(from - to) * sizeof *order);
    order[to] = op;
}

/* Takes an op from one place to another; the places are those of the last evaluation. */
static void move_op(planner *x, int32_t *from, int32_t *to)
{
    sked_i_rng *rng = &x->client->rng;
    const int32_t n = x->m->n, reach = 1 + n / 8;
    int32_t low, high, at = (int32_t)sked_i_rng_below(rng, (uint64_t)n);
    if (sked_i_rng_below(rng, 2) == 0) { /* near the hill */
        at = x->hill - reach + (int32_t)sked_i_rng_below(rng, 2 * (uint64_t)reach + 1);
        at = at < 0 ? 0 : at >= n ? n - 1 : at;
    }
    range_of(x, x->now.order[at], &low, &high);
    const uint64_t kind = sked_i_rng_below(rng, 3);
    const bool before = at <= x->hill;
    if (kind == 0 && before &&
        high > x->hill) /* over the hill, no further than needed or as far as it goes */
        *to = sked_i_rng_below(rng, 2) ? high : x->hill + 1 > n - 1 ? n - 1 : x->hill + 1;
    else if (kind == 0 && !before && low <= x->hill)
        *to = sked_i_rng_below(rng, 2) ? low : x->hill;
    else
        *to = low + (int32_t)sked_i_rng_below(rng, (uint64_t)(high - low) + 1);
    *to = *to < low ? low : *to > high ? high : *to;
    *from = at;
}

static int32_t other_device(planner *x, int32_t op)
{
    const sked_i_stores *m = x->m;
    const int32_t d = (int32_t)sked_i_rng_below(&x->client->rng, (uint64_t)m->devices);
    return sked_i_stores_able(m, op, d) ? d : x->now.device[op];
}

/* Where limits are of devices, ops change them, now and then with all that follow them in the order. */
static void move_devices(planner *x, int32_t *was, int32_t *first, int32_t *count)
{
    const int32_t n = x->m->n;
    sked_i_rng *rng = &x->client->rng;
    *first = (int32_t)sked_i_rng_below(rng, (uint64_t)n);
    *count = sked_i_rng_below(rng, 2) ? 1 : 1 + (int32_t)sked_i_rng_below(rng, 32);
    *count = *count > n - *first ? n - *first : *count;
    const int32_t d = other_device(x, x->now.order[*first]);
    for (int32_t k = 0; k < *count; k++) {
        const int32_t op = x->now.order[*first + k];
        was[k] = x->now.device[op];
        x->now.device[op] = sked_i_stores_able(x->m, op, d) ? d : was[k];
    }
}

static void anneal(planner *x, int64_t until)
{
    int32_t was[32], from = 0, to = 0, first = 0, count = 0;
    const bool places = x->m->devices > 1 && x->m->stores > (x->m->total >= 0);
    const int64_t begin = x->client->evaluations;
    memcpy(x->now.order, x->best->order, (size_t)x->m->n * sizeof *x->now.order);
    memcpy(x->now.device, x->best->device, (size_t)x->m->n * sizeof *x->now.device);
    x->cost = consider(x);
    const double heat = 0.02 * x->cost;
    while (x->client->evaluations < until && !is_done(x)) {
        const bool moves = places && sked_i_rng_below(&x->client->rng, 2) == 0;
        const double left = (double)(until - x->client->evaluations) / (double)(until - begin);
        if (moves)
            move_devices(x, was, &first, &count);
        else {
            move_op(x, &from, &to);
            sked_i_memory_shift(x->now.order, from, to);
        }
        const int32_t hill = x->hill;
        const double cost = consider(x);
        if (cost <= x->cost + heat * left * sked_i_rng_exponential(&x->client->rng)) {
            x->cost = cost;
            continue;
        }
        for (int32_t k = 0; moves && k < count; k++)
            x->now.device[x->now.order[first + k]] = was[k];
        if (!moves)
            sked_i_memory_shift(x->now.order, to, from);
        for (int32_t k = 0; k < x->m->n; k++)
            x->place[x->now.order[k]] = k;
        x->hill = hill;
    }
}

/* ------------------------------------------------------------------ the search */

static sked_status planner_make(planner *x, sked_error *err)
{
    const sked_i_stores *m = x->m;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_memory_plan_make(&x->arena, m->n, &x->now, err));
    SKED_OWN(&x->arena, x->place, m->n);
    SKED_OWN0(&x->arena, x->load, ((int64_t)m->stores + 1) * ((int64_t)m->n + 1));
    SKED_OWN(&x->arena, x->last, m->devices);
    SKED_OWN(&x->arena, x->stamp, m->devices);
    SKED_OWN(&x->arena, x->seen, m->devices);
    SKED_OWN(&x->arena, x->unread, m->n);
    SKED_OWN(&x->arena, x->waiting, m->n);
    SKED_OWN(&x->arena, x->ready, m->n);
    SKED_OWN(&x->arena, x->trail, look_ahead);
    SKED_OWN(&x->arena, x->used, m->devices);
cleanup:
    return st;
}

/* The order at hand on one device after the other, and spread over devices by their limits. */
static void try_devices(planner *x)
{
    enum { most_single = 16 };
    const sked_i_stores *m = x->m;
    const double shares[] = {0, 0.1, 0.3, 1};
    for (int32_t d = 0; d < m->devices && d < most_single && (d == 0 || !is_done(x)); d++) {
        use_device(x, d);
        (void)consider(x);
        if (m->stores == (m->total >= 0) && x->m->costs.machine == NULL && m->p->fix_device == NULL)
            return; /* all alike */
    }
    for (size_t k = 0; k < sizeof shares / sizeof *shares && m->devices > 1 && !is_done(x); k++) {
        fill_devices(x, shares[k]);
        (void)consider(x);
    }
}

/* Room below the limit is room for ops beside one another: where the plan fits, its peak is lowered. */
static void lower_peak(planner *x, int64_t effort)
{
    enum { steps = 2000000, rounds = 3 };
    const sked_i_stores *m = x->m;
    const int64_t most = steps / (m->n + 1), each = (effort / 16 < most ? effort / 16 : most) / rounds;
    for (int k = 0; k < rounds && m->stores == 1 && m->total == 0 && x->best->excess == 0; k++) {
        x->share = 0.97 * x->best->peak / m->limit[0];
        if (x->share > 0.5 && !sked_i_client_over(x->client))
            anneal(x, x->client->evaluations + each);
    }
}

/* A known schedule one op after the other, on its own devices and on others. */
static void try_known(planner *x, const int32_t *order, const int32_t *device)
{
    const size_t bytes = (size_t)x->m->n * sizeof *order;
    memcpy(x->now.order, order, bytes);
    if (device != NULL) {
        memcpy(x->now.device, device, bytes);
        (void)consider(x);
    }
    try_devices(x);
}

sked_status sked_i_memory_plan_find(const sked_i_stores *m, sked_i_client *client, int64_t effort,
                                    const int32_t *order, const int32_t *device, sked_i_memory_plan *plan,
                                    sked_error *err)
{
    enum {
        always = 6,
        noisy = 12
    }; /* orders for a low peak, though one fits; further ones where none does */
    sked_status st = SKED_OK;
    planner x = {.m = m, .client = client, .best = plan, .share = 1};
    const int64_t until = client->evaluations + effort;
    SKED_TRY(planner_make(&x, err));
    memcpy(plan->order, m->g->topo, (size_t)m->n * sizeof *plan->order); /* until there is a better one */
    plan->excess = plan->peak = INFINITY;
    if (order != NULL)
        try_known(&x, order, device);
    for (int k = 0; k < 2 + noisy && client->evaluations <= until; k++) {
        if (k > 0 && (sked_i_client_over(client) || (k >= always && is_done(&x))))
            break;
        build_order(&x, k % 2 == 1, k < 2 ? 0 : 0.1 * k);
        try_devices(&x);
    }
    while (client->evaluations < until && !is_done(&x)) {
        const int64_t left = until - client->evaluations;
        anneal(&x, client->evaluations + (left < 20000 ? left : 20000));
    }
    lower_peak(&x, effort);
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}
