/* Elite solutions of one stream: random starts, then walks from points between two of them. */
#include "engine/shop/tabu.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_shop_stream_init(sked_i_shop_stream *s, const sked_i_shop_model *m, uint64_t seed,
                                    uint64_t stream, sked_error *err)
{
    sked_status st = SKED_OK;
    *s = (sked_i_shop_stream){.best_value = INFINITY, .size = 10, .patience = 2000};
    SKED_TRY(sked_i_shop_tabu_init(&s->tabu, m, seed, stream, err));
    for (int k = 0; k < s->size; k++)
        SKED_OWN(&s->tabu.arena, s->elite[k], m->n_members);
    SKED_OWN(&s->tabu.arena, s->scratch, 3 * (int64_t)m->n + m->n_machines);
    SKED_OWN(&s->tabu.arena, s->ready, (int64_t)m->n + m->n_machines);
    SKED_OWN(&s->tabu.arena, s->best, m->n_members);
cleanup:
    return st;
}

void sked_i_shop_stream_free(sked_i_shop_stream *s)
{
    sked_i_shop_tabu_free(&s->tabu);
}

/* place[op]: position of op on its machine in a sequence. */
static void find_places(const sked_i_shop_model *m, const int32_t *sequence, int32_t *place)
{
    for (int32_t k = 0; k < m->n_members; k++)
        place[sequence[k]] = k;
}

/* Pairs i < j of x[0..n) with x[i] > x[j]; sorts x. Bottom-up merge sort, O(n log n). */
static int64_t count_inversions(int32_t *x, int32_t *buffer, int32_t n)
{
    int64_t count = 0;
    for (int32_t width = 1; width < n; width *= 2)
        for (int32_t begin = 0; begin + width < n; begin += 2 * width) {
            const int32_t middle = begin + width, end = n - middle < width ? n : middle + width;
            int32_t i = begin, j = middle, k = 0;
            while (i < middle && j < end) {
                count += x[j] < x[i] ? middle - i : 0;
                buffer[k++] = x[j] < x[i] ? x[j++] : x[i++];
            }
            while (i < middle)
                buffer[k++] = x[i++];
            memcpy(x + begin, buffer, (size_t)k * sizeof *x);
        }
    return count;
}

/* Pairs of one machine that stand in different order; place: of the other solution. scratch: [2 n]. */
static int64_t distance(const sked_i_shop_model *m, const int32_t *sequence, const int32_t *place,
                        int32_t *scratch)
{
    int64_t count = 0;
    for (int32_t k = 0; k < m->n_machines; k++) {
        const int32_t *row = sequence + m->member_ptr[k], n = m->member_ptr[k + 1] - m->member_ptr[k];
        for (int32_t i = 0; i < n; i++)
            scratch[i] = place[row[i]];
        count += count_inversions(scratch, scratch + n, n);
    }
    return count;
}

/*
 * Walks from the shop's present solution towards `goal` by swapping neighbours on a machine, random
 * ones that stand the other way there, `turns` times. A turn that would close a cycle is left for later.
 */
static void relink(sked_i_shop_stream *s, const int32_t *goal, int64_t turns, const sked_i_limit *limit)
{
    sked_i_shop *shop = s->tabu.shop;
    const sked_i_shop_model *m = shop->model;
    int32_t *place = s->scratch, *candidate = s->scratch + m->n;
    find_places(m, goal, place);
    for (bool turned = true; turned && turns > 0 && !sked_i_limit_reached(limit);) {
        int32_t count = 0;
        for (int32_t k = 0; k < m->n_members; k++) {
            const int32_t u = m->member[k], v = shop->after[u];
            if (v != m->n && place[u] > place[v])
                candidate[count++] = u;
        }
        sked_i_rng_shuffle(&s->tabu.rng, candidate, count);
        turned = false;
        for (int32_t k = 0; k < count && turns > 0; k++) {
            const int32_t u = candidate[k], v = shop->after[u];
            if (v == m->n || place[u] < place[v] ||
                !sked_i_shop_relocate(shop, (sked_i_shop_move){u, v, true}))
                continue;
            turned = true;
            turns--;
        }
    }
    sked_i_shop_times(shop, 0, m->n - 1);
}

static void begin_walk(sked_i_shop_stream *s, const sked_i_limit *limit)
{
    sked_i_shop *shop = s->tabu.shop;
    const sked_i_shop_model *m = shop->model;
    sked_i_rng *rng = &s->tabu.rng;
    if (s->n_elites < s->size) {
        int32_t *sequence = s->scratch + 2 * (int64_t)m->n + m->n_machines;
        sked_i_shop_random(m, rng, s->scratch, s->ready, sequence);
        (void)sked_i_shop_load(shop, sequence);
    } else {
        assert(s->n_elites == s->size);
        const int32_t a = (int32_t)sked_i_rng_below(rng, (uint64_t)s->size);
        int32_t b = (int32_t)sked_i_rng_below(rng, (uint64_t)s->size - 1);
        b += b >= a;
        const double begin = sked_clock();
        find_places(m, s->elite[b], s->scratch);
        const int64_t apart = distance(m, s->elite[a], s->scratch, s->scratch + m->n);
        (void)sked_i_shop_load(shop, s->elite[a]);
        relink(s, s->elite[b], (int64_t)((double)apart * (0.3 + 0.4 * sked_i_rng_uniform(rng))), limit);
        s->links++;
        s->link_seconds += sked_clock() - begin;
    }
    sked_i_shop_tabu_begin(&s->tabu);
    s->walking = true;
}

/* The walk's best takes the place of the elite it resembles, or of the worst one if it is better. */
static void end_walk(sked_i_shop_stream *s)
{
    const sked_i_shop_tabu *t = &s->tabu;
    const sked_i_shop_model *m = t->shop->model;
    const size_t bytes = (size_t)m->n_members * sizeof(int32_t);
    s->walking = false;
    int32_t where = s->n_elites;
    if (s->n_elites == s->size) {
        where = 0;
        for (int32_t k = 1; k < s->size; k++)
            where = s->value[k] > s->value[where] ? k : where;
        find_places(m, t->best_sequence, s->scratch);
        for (int32_t k = 0; k < s->size; k++)
            if (distance(m, s->elite[k], s->scratch, s->scratch + m->n) <= m->n_members / 20)
                where = k;
        if (t->best >= s->value[where]) {
            s->idle++;
            return;
        }
    } else {
        s->n_elites++;
    }
    assert(where < s->size && isfinite(t->best));
    s->idle = 0;
    s->value[where] = t->best;
    memcpy(s->elite[where], t->best_sequence, bytes);
}

static void note_best(sked_i_shop_stream *s)
{
    const sked_i_shop_tabu *t = &s->tabu;
    if (t->best >= s->best_value)
        return;
    s->best_value = t->best;
    memcpy(s->best, t->best_sequence, (size_t)t->shop->model->n_members * sizeof *s->best);
}

void sked_i_shop_stream_seed(sked_i_shop_stream *s, const int32_t *sequence)
{
    if (s->walking)
        end_walk(s);
    if (!sked_i_shop_load(s->tabu.shop, sequence))
        return;
    sked_i_shop_tabu_begin(&s->tabu);
    note_best(s);
    s->walking = true;
}

void sked_i_shop_stream_advance(sked_i_shop_stream *s, int64_t steps, const sked_i_limit *limit)
{
    sked_i_shop_tabu *t = &s->tabu;
    if (s->steps_allowed > 0 && steps > s->steps_allowed - s->steps_done)
        steps = s->steps_allowed - s->steps_done;
    while (steps > 0 && s->best_value > t->target && !sked_i_limit_reached(limit)) {
        if (!s->walking)
            begin_walk(s, limit);
        const int64_t left = t->improved_at + s->patience - t->step, chunk = left < steps ? left : steps;
        const int64_t before = t->step;
        const bool more = sked_i_shop_tabu_walk(t, chunk, limit);
        steps -= t->step - before + 1;
        s->steps_done += t->step - before + 1;
        note_best(s);
        if (!more || t->step >= t->improved_at + s->patience)
            end_walk(s);
        if (s->idle > 3 * s->size) { /* nothing new between these elites: others */
            s->n_elites = 0;
            s->idle = 0;
        }
    }
}
