/*
 * Iterative modulo scheduling (B. R. Rau, "Iterative modulo scheduling", MICRO 1994): ops are placed by
 * priority into the first slot of an interval that is free; an op that finds none takes one by force and
 * ejects the ops that stand there, within a budget of placements.
 */
#include "engine/modulo/modulo.h"

#include <assert.h>

static const int64_t latest_start = (int64_t)1 << 52;

sked_status sked_i_ims_create(const sked_i_loop *loop, sked_i_ims **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_ims *m = sked_i_alloc_zero(1, sizeof *m);
    if (m == NULL)
        return sked_i_no_memory(err);
    m->loop = loop;
    SKED_TRY(sked_i_reservation_create(&m->arena, loop, &m->table, err));
    SKED_OWN(&m->arena, m->start, loop->n);
    SKED_OWN(&m->arena, m->last, loop->n);
    SKED_OWN0(&m->arena, m->device, loop->n);
    SKED_OWN(&m->arena, m->order, loop->n);
    SKED_OWN(&m->arena, m->rank, loop->n);
    SKED_OWN(&m->arena, m->toll, loop->n);
    SKED_OWN0(&m->arena, m->words, sked_i_set_words(loop->n));
    sked_i_set_place(&m->unplaced, loop->n, m->words);
    SKED_OWN(&m->arena, m->sort, loop->n);
    *out = m;
    return SKED_OK;
cleanup:
    sked_i_ims_destroy(m);
    return st;
}

void sked_i_ims_destroy(sked_i_ims *m)
{
    if (m == NULL)
        return;
    sked_i_arena_free(&m->arena);
    free(m);
}

/* ------------------------------------------------------------------ priorities */

static int by_key(const void *x, const void *y)
{
    const sked_i_ims_turn *a = x, *b = y;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

static double size_of(const sked_i_loop *loop, int32_t i)
{
    double share = sked_i_loop_on_device(loop, i) ? 1.0 / loop->devices : 0;
    for (int64_t u = loop->use_ptr[i]; u < loop->use_ptr[i + 1]; u++)
        share = fmax(share, (double)loop->use[u].amount / (double)loop->room[loop->use[u].pool]);
    return share * (double)loop->duration[i];
}

void sked_i_ims_order(sked_i_ims *m, const sked_i_frame *f, int kind, double noise, sked_i_rng *rng)
{
    const sked_i_loop *loop = m->loop;
    double least = INFINITY, most = -INFINITY;
    for (int32_t i = 0; i < loop->n; i++) {
        double key = (double)f->tail[i];
        if (kind == SKED_I_BY_SLACK)
            key = (double)(f->lo[i] + f->tail[i] - f->path) +
                  (loop->component_size[loop->component[i]] > 1 ? (double)f->path : 0);
        else if (kind == SKED_I_BY_START)
            key = -(double)f->lo[i];
        else if (kind == SKED_I_BY_SIZE)
            key = size_of(loop, i);
        m->sort[i] = (sked_i_ims_turn){key, i};
        least = fmin(least, key);
        most = fmax(most, key);
    }
    for (int32_t i = 0; noise > 0 && i < loop->n; i++)
        m->sort[i].key += noise * (most - least + 1) * (sked_i_rng_uniform(rng) - 0.5);
    qsort(m->sort, (size_t)loop->n, sizeof *m->sort, by_key);
    for (int32_t k = 0; k < loop->n; k++) {
        m->order[k] = m->sort[k].op;
        m->rank[m->sort[k].op] = k;
    }
}

/* ------------------------------------------------------------------ unplaced ops, by rank */

static void push(sked_i_ims *m, int32_t op)
{
    sked_i_set_add(&m->unplaced, (uint32_t)m->rank[op]);
}

static int32_t pop(sked_i_ims *m)
{
    assert(!sked_i_set_empty(&m->unplaced));
    const uint32_t rank = sked_i_set_first(&m->unplaced);
    sked_i_set_remove(&m->unplaced, rank);
    return m->order[rank];
}

/* ------------------------------------------------------------------ placing */

static int64_t crossing(const sked_i_ims *m, int64_t e, int32_t a, int32_t b)
{
    return m->loop->transfer != NULL && a != b ? m->loop->transfer[e] : 0;
}

/* Earliest start of i on a device by the ops placed before it. */
static int64_t earliest(const sked_i_ims *m, int32_t i, int32_t device)
{
    const sked_graph *g = m->loop->g;
    int64_t t = m->frame->lo[i];
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
        const int32_t from = g->pred_op[k];
        const int64_t e = g->pred_edge[k];
        if (from == i || m->start[from] < 0)
            continue;
        const int64_t s = m->start[from] + m->frame->weight[e] + crossing(m, e, m->device[from], device);
        t = s > t ? s : t;
    }
    return t;
}

/* Latest start of i by the ops placed after it and its window. */
static int64_t latest(const sked_i_ims *m, int32_t i)
{
    const sked_graph *g = m->loop->g;
    int64_t t = m->frame->hi[i];
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
        const int32_t to = g->edge_to[e];
        if (to == i || m->start[to] < 0)
            continue;
        const int64_t s = m->start[to] - m->frame->weight[e] - crossing(m, e, m->device[i], m->device[to]);
        t = s < t ? s : t;
    }
    return t;
}

static void put(sked_i_ims *m, int32_t i, int32_t device, int64_t start)
{
    m->start[i] = start;
    m->device[i] = device;
    sked_i_reservation_add(m->table, i, device, start);
}

static void take(sked_i_ims *m, int32_t i)
{
    assert(m->start[i] >= 0);
    sked_i_reservation_remove(m->table, i, m->device[i], m->start[i]);
    m->start[i] = -1;
}

static void eject(sked_i_ims *m, int32_t i)
{
    take(m, i);
    push(m, i);
}

/* The devices op i may take: first and count. Ops without a hold stay on one unless transfers cost. */
static int32_t device_range(const sked_i_ims *m, int32_t i, int32_t *first)
{
    const sked_i_loop *loop = m->loop;
    *first = 0;
    if (loop->devices == 0)
        return 1;
    if (loop->p->fix_device != NULL && loop->p->fix_device[i] >= 0) {
        *first = loop->p->fix_device[i];
        return 1;
    }
    return loop->duration[i] > 0 || loop->transfer != NULL ? loop->devices : 1;
}

/* How many ops like i the tightest of its pools takes at once. */
static int64_t lanes_of(const sked_i_loop *loop, int32_t i)
{
    int64_t lanes = sked_i_loop_on_device(loop, i) ? 1 : SKED_I_FAR;
    for (int64_t u = loop->use_ptr[i]; u < loop->use_ptr[i + 1]; u++) {
        const int64_t fits = loop->room[loop->use[u].pool] / loop->use[u].amount;
        lanes = fits < lanes ? fits : lanes;
    }
    return lanes;
}

/*
 * A pool of `lanes` is full without gaps when ops of one length stand end to end through all its turns:
 * at the multiples of the length, folded. From folded time `at`, the wait for the next of them.
 */
static int64_t wait_for_multiple(int64_t at, int64_t length, int64_t lanes, int64_t ii)
{
    int64_t best = ii - at;
    for (int64_t k = 0; k < lanes && k < length; k++) {
        const int64_t over = (at + k * ii) % length, wait = over > 0 ? length - over : 0;
        if (at + wait + k * ii + length <= lanes * ii && wait < best)
            best = wait;
    }
    return best;
}

/* Like sked_i_reservation_fit; when aligned, on those multiples where one is free. */
static int64_t fit(const sked_i_ims *m, int32_t i, int32_t device, int64_t early)
{
    const int64_t length = m->loop->duration[i], ii = m->frame->ii;
    const int64_t first = sked_i_reservation_fit(m->table, i, device, early);
    if (!m->aligned || length < 2 || first < 0 || length > ii)
        return first;
    const int64_t lanes = lanes_of(m->loop, i);
    for (int64_t delay = first; delay < ii && lanes < length && lanes < 64;) {
        const int64_t wait = wait_for_multiple((early + delay) % ii, length, lanes, ii);
        if (wait == 0)
            return delay;
        const int64_t more =
            delay + wait < ii ? sked_i_reservation_fit(m->table, i, device, early + delay + wait) : -1;
        if (more < 0)
            break;
        delay += wait + more;
    }
    return first;
}

/* First free slot over all devices within one interval and the window; false: none. */
static bool find_slot(const sked_i_ims *m, int32_t i, int32_t *device, int64_t *start)
{
    int32_t first;
    const int32_t count = device_range(m, i, &first);
    bool found = false;
    for (int32_t d = first; d < first + count; d++) {
        const int64_t early = earliest(m, i, d);
        if (early > m->frame->hi[i] || (found && early >= *start))
            continue;
        const int64_t delay = fit(m, i, d, early);
        if (delay < 0 || early + delay > m->frame->hi[i] || (found && early + delay >= *start))
            continue;
        *start = early + delay;
        *device = d;
        found = true;
        if (delay == 0 && m->loop->transfer == NULL)
            break; /* no device can do better */
    }
    return found;
}

/* Where to go by force: the earliest time, or one past the last try; wraps in a bounded window. */
static int64_t forced_start(const sked_i_ims *m, int32_t i, int64_t early)
{
    const int64_t lo = m->frame->lo[i], hi = m->frame->hi[i];
    const int64_t from = early <= hi ? early : lo;
    const int64_t t = m->last[i] < from ? from : m->last[i] + 1;
    return t <= hi ? t : from;
}

/* The device to force: least earliest start, then the one whose holder matters least. */
static int32_t forced_device(const sked_i_ims *m, int32_t i, int64_t *early)
{
    int32_t first, best = 0, best_rank = -1;
    const int32_t count = device_range(m, i, &first);
    *early = SKED_I_FAR;
    for (int32_t d = first; d < first + count; d++) {
        const int64_t t = earliest(m, i, d);
        const int32_t blocker =
            count > 1 ? sked_i_reservation_blocker(m->table, i, d, t, m->start, m->rank) : -1;
        const int32_t rank = blocker >= 0 ? m->rank[blocker] : m->loop->n;
        if (t < *early || (t == *early && rank > best_rank)) {
            *early = t;
            best = d;
            best_rank = rank;
        }
    }
    return best;
}

/* Tolls of placed neighbours whose edges i at `start` on the device breaks; with `ejects` they are ejected.
 */
static double break_edges(sked_i_ims *m, int32_t i, int32_t device, int64_t start, bool ejects)
{
    const sked_graph *g = m->loop->g;
    const int64_t out = g->succ_ptr[i + 1] - g->succ_ptr[i], in = g->pred_ptr[i + 1] - g->pred_ptr[i];
    double sum = 0;
    for (int64_t k = 0; k < out + in; k++) {
        const bool after = k < out;
        const int64_t row = after ? g->succ_ptr[i] + k : g->pred_ptr[i] + k - out;
        const int64_t e = after ? row : g->pred_edge[row];
        const int32_t q = after ? g->edge_to[e] : g->pred_op[row];
        if (q == i || m->start[q] < 0)
            continue;
        const int64_t gap = after ? m->start[q] - start : start - m->start[q];
        if (gap >= m->frame->weight[e] + crossing(m, e, device, m->device[q]))
            continue;
        sum += m->toll[q];
        if (ejects)
            eject(m, q);
    }
    return sum;
}

/* The cheapest of a number of random places in the window, one interval from the earliest at most. */
static void cheapest_place(sked_i_ims *m, int32_t i, sked_i_rng *rng, int32_t *device, int64_t *start)
{
    enum { places = 16 };
    int32_t first;
    const int32_t count = device_range(m, i, &first);
    const int64_t early = earliest(m, i, first), lo = m->frame->lo[i], hi = m->frame->hi[i];
    const int64_t from = early <= hi ? early : lo;
    const int64_t to = hi - lo < from - lo + m->frame->ii ? hi : from + m->frame->ii - 1;
    double best = INFINITY;
    m->toll[i] += m->toll[i] < 1000000;
    for (int k = 0; k < places; k++) {
        /* half of them keep the edges of the ops before it */
        const int64_t begin = k % 2 ? from : lo;
        const int64_t t = k == 0 ? from : begin + (int64_t)sked_i_rng_below(rng, (uint64_t)(to - begin + 1));
        const int32_t d = first + (int32_t)sked_i_rng_below(rng, (uint64_t)count);
        const double toll =
            break_edges(m, i, d, t, false) + sked_i_reservation_toll(m->table, i, d, t, m->start, m->toll);
        if (toll < best) {
            best = toll;
            *start = t;
            *device = d;
        }
    }
}

static bool place(sked_i_ims *m, int32_t i, sked_i_rng *rng)
{
    int32_t device = 0;
    int64_t start = 0, early;
    if (!find_slot(m, i, &device, &start)) {
        if (rng != NULL) {
            cheapest_place(m, i, rng, &device, &start);
        } else {
            device = forced_device(m, i, &early);
            start = forced_start(m, i, early);
            m->last[i] = start;
        }
        if (start > latest_start)
            return false;
        for (int32_t b; (b = sked_i_reservation_blocker(m->table, i, device, start, m->start, m->toll)) >= 0;)
            eject(m, b);
    }
    assert(start >= 0 && m->start[i] < 0);
    put(m, i, device, start);
    (void)break_edges(m, i, device, start, true);
    return !m->table->failed;
}

bool sked_i_ims_run(sked_i_ims *m, const sked_i_frame *f, int64_t budget, sked_i_rng *rng,
                    const sked_i_limit *limit)
{
    m->frame = f;
    sked_i_reservation_clear(m->table, f->ii);
    for (int32_t i = 0; i < m->loop->n; i++) {
        m->start[i] = m->last[i] = -1;
        m->toll[i] = rng != NULL ? 1 : m->loop->n - m->rank[i];
        sked_i_set_add(&m->unplaced, (uint32_t)i);
    }
    for (int64_t step = 0; !sked_i_set_empty(&m->unplaced); step++)
        if (step >= budget || ((step & 255) == 255 && sked_i_limit_reached(limit)) || !place(m, pop(m), rng))
            return false;
    return true;
}

/* ------------------------------------------------------------------ compacting */

int64_t sked_i_ims_length(const sked_i_ims *m)
{
    int64_t length = 0;
    for (int32_t i = 0; i < m->loop->n; i++)
        if (m->start[i] + m->loop->duration[i] > length)
            length = m->start[i] + m->loop->duration[i];
    return length;
}

/* Ops by start, or by falling finish. */
static void sort_ops(sked_i_ims *m, bool backward)
{
    for (int32_t i = 0; i < m->loop->n; i++)
        m->sort[i] =
            (sked_i_ims_turn){(double)(backward ? m->start[i] + m->loop->duration[i] : -m->start[i]), i};
    qsort(m->sort, (size_t)m->loop->n, sizeof *m->sort, by_key);
}

/* Moves every op to its earliest slot on its device; true when something moved. */
static bool move_left(sked_i_ims *m, const sked_i_limit *limit)
{
    bool moved = false;
    sort_ops(m, false);
    for (int32_t k = 0; k < m->loop->n; k++) {
        const int32_t i = m->sort[k].op;
        const int64_t was = m->start[i];
        if ((k & 255) == 255 && sked_i_limit_reached(limit))
            return false;
        take(m, i);
        const int64_t early = earliest(m, i, m->device[i]);
        const int64_t delay = sked_i_reservation_fit(m->table, i, m->device[i], early);
        const int64_t to = delay >= 0 && early + delay < was ? early + delay : was;
        put(m, i, m->device[i], to);
        moved = moved || to < was;
    }
    return moved;
}

/* Moves every op to its latest slot that ends by `length`. */
static void move_right(sked_i_ims *m, int64_t length, const sked_i_limit *limit)
{
    sort_ops(m, true);
    for (int32_t k = 0; k < m->loop->n; k++) {
        const int32_t i = m->sort[k].op;
        const int64_t was = m->start[i];
        if ((k & 255) == 255 && sked_i_limit_reached(limit))
            return;
        take(m, i);
        int64_t late = latest(m, i);
        late = length - m->loop->duration[i] < late ? length - m->loop->duration[i] : late;
        const int64_t delay = sked_i_reservation_fit_before(m->table, i, m->device[i], late);
        put(m, i, m->device[i], delay >= 0 && late - delay > was ? late - delay : was);
    }
}

void sked_i_ims_compact(sked_i_ims *m, bool both, const sked_i_limit *limit)
{
    enum { rounds = 8 };
    int64_t length = SKED_I_FAR;
    for (int round = 0; round < rounds && !m->table->failed; round++) {
        for (int pass = 0; pass < rounds && move_left(m, limit); pass++)
            continue;
        const int64_t now = sked_i_ims_length(m);
        if (now >= length || !both || now == m->frame->path || round + 1 == rounds)
            break;
        length = now;
        move_right(m, length, limit);
    }
}

/* Do the edges hold with the devices chosen? Only transfers can break them here. */
static bool edges_hold(const sked_i_ims *m)
{
    const sked_graph *g = m->loop->g;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t i = g->edge_from[e], j = g->edge_to[e];
        if (m->start[j] < m->start[i] + m->frame->weight[e] + crossing(m, e, m->device[i], m->device[j]))
            return false;
    }
    return true;
}

bool sked_i_ims_assign(sked_i_ims *m, const sked_i_frame *f, const int64_t *start)
{
    m->frame = f;
    sked_i_reservation_clear(m->table, f->ii);
    for (int32_t i = 0; i < m->loop->n; i++) { /* fixed devices first, then by folded start */
        int32_t first;
        const bool fixed = device_range(m, i, &first) == 1;
        m->sort[i] = (sked_i_ims_turn){fixed ? 1 : -(double)(start[i] % f->ii), i};
    }
    qsort(m->sort, (size_t)m->loop->n, sizeof *m->sort, by_key);
    for (int32_t k = 0; k < m->loop->n; k++) {
        const int32_t i = m->sort[k].op;
        int32_t d;
        const int32_t count = device_range(m, i, &d), last = d + count;
        while (d < last && sked_i_reservation_fit(m->table, i, d, start[i]) != 0)
            d++;
        if (d == last || m->table->failed)
            return false;
        put(m, i, d, start[i]);
    }
    return edges_hold(m);
}
