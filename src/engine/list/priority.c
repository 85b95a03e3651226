/* Priorities: which of two ops that could start now should. */
#include "engine/list/list.h"

#include "base/memory.h"
#include "base/sort.h"

#include <math.h>

enum {
    exact_limit = 4096, /* ops up to which descendants are counted exactly: 2 MiB of bits */
    sketches = 16       /* numbers kept per op to estimate them beyond: standard error 27 % */
};

void sked_i_upward_ranks(const sked_i_dag *v, double share, double *up)
{
    const double *transfer = share > 0 ? v->out.transfer : NULL;
    for (int32_t k = v->n - 1; k >= 0; k--) {
        const int32_t i = v->order[k];
        double longest = v->duration[i];
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const double lag = v->plain ? v->duration[i] : v->out.lag[e];
            const double t = lag + (transfer ? share * transfer[e] : 0) + up[v->out.op[e]];
            longest = t > longest ? t : longest;
        }
        up[i] = longest;
    }
}

/* Rows of bits, one bit per descendant. O(ops * edges / 64), for small graphs. */
static sked_status count_descendants(const sked_i_dag *v, double *count, sked_error *err)
{
    const int64_t words = ((int64_t)v->n + 63) / 64;
    uint64_t *bits = sked_i_alloc_zero((int64_t)v->n * words, sizeof *bits);
    if (bits == NULL)
        return sked_i_no_memory(err);
    for (int32_t k = v->n - 1; k >= 0; k--) {
        const int32_t i = v->order[k];
        uint64_t *const row = bits + i * words;
        int64_t sum = 0;
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++) {
            const int32_t to = v->out.op[e];
            const uint64_t *const below = bits + to * words;
            for (int64_t w = 0; w < words; w++)
                row[w] |= below[w];
            row[to / 64] |= UINT64_C(1) << (to % 64);
        }
        for (int64_t w = 0; w < words; w++)
            sum += __builtin_popcountll(row[w]);
        count[i] = (double)sum;
    }
    free(bits);
    return SKED_OK;
}

/*
 * Size estimation after Cohen (J. Computer and System Sciences 55, 1997): every op draws exponential
 * numbers; the least number among an op and its descendants has a mean of one over their count. O((ops +
 * edges) * sketches).
 */
static sked_status estimate_descendants(const sked_i_dag *v, double *count, sked_error *err)
{
    float(*least)[sketches] = sked_i_alloc(v->n, sizeof *least);
    if (least == NULL)
        return sked_i_no_memory(err);
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 0, 0); /* part of the priority's definition, not of the run */
    for (int32_t i = 0; i < v->n; i++)
        for (int s = 0; s < sketches; s++)
            least[i][s] = (float)sked_i_rng_exponential(&rng);
    for (int32_t k = v->n - 1; k >= 0; k--) {
        const int32_t i = v->order[k];
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++)
            for (int s = 0; s < sketches; s++)
                least[i][s] = fminf(least[i][s], least[v->out.op[e]][s]);
        float sum = 0;
        for (int s = 0; s < sketches; s++)
            sum += least[i][s];
        count[i] = (sketches - 1) / (double)sum;
    }
    free(least);
    return SKED_OK;
}

/* With fixed starts the critical path ends at them: least latest start first, then the longest tail. */
static bool by_deadline(const sked_problem *p, const sked_i_dag *v, sked_i_priority kind)
{
    return kind == SKED_I_CRITICAL_PATH && p->fix_start != NULL && v->order == p->graph->topo;
}

/* Latest starts that keep horizon and fixed starts when every op takes its mean time. */
static void mean_latest_starts(const sked_problem *p, const sked_i_dag *v, double *latest)
{
    for (int32_t k = v->n - 1; k >= 0; k--) {
        const int32_t i = v->order[k];
        double t = p->horizon - v->duration[i];
        for (int64_t e = v->out.ptr[i]; e < v->out.ptr[i + 1]; e++)
            t = fmin(t, latest[v->out.op[e]] - v->out.lag[e]);
        latest[i] = p->fix_start[i] < t ? p->fix_start[i] : t;
    }
}

/* key[i]: larger is better. */
static sked_status fill_keys(const sked_problem *p, const sked_i_dag *v, sked_i_priority kind,
                             sked_i_rng *rng, double *key, sked_error *err)
{
    if (kind == SKED_I_MOST_OPS)
        return v->n <= exact_limit ? count_descendants(v, key, err) : estimate_descendants(v, key, err);
    if (by_deadline(p, v, kind)) {
        if (v->costs != NULL)
            mean_latest_starts(p, v, key);
        else
            sked_i_latest_starts(p, p->horizon, key);
        for (int32_t i = 0; i < v->n; i++)
            key[i] = -key[i];
        return SKED_OK;
    }
    for (int32_t i = 0; i < v->n; i++)
        switch (kind) {
        case SKED_I_SHORTEST:
            key[i] = -v->duration[i];
            break;
        case SKED_I_LONGEST:
            key[i] = v->duration[i];
            break;
        case SKED_I_MOST_SUCCESSORS:
            key[i] = (double)(v->out.ptr[i + 1] - v->out.ptr[i]);
            break;
        case SKED_I_CRITICAL_PATH:
        case SKED_I_MOST_OPS:
        case SKED_I_RANDOM:
            key[i] = sked_i_rng_uniform(rng);
            break;
        }
    return SKED_OK;
}

/* Sorts ops by -key, then by -second (NULL: not), then in the view's order. */
static sked_status rank_by(const sked_i_dag *v, const double *key, const double *second, int32_t *rank,
                           sked_error *err)
{
    sked_i_keyed *items = sked_i_alloc(2 * (int64_t)v->n, sizeof *items);
    if (items == NULL)
        return sked_i_no_memory(err);
    sked_i_keyed *const spare = items + v->n;
    for (int32_t k = 0; k < v->n; k++)
        items[k] = (sked_i_keyed){second ? sked_i_sort_key(-second[v->order[k]]) : 0, v->order[k]};
    if (second)
        sked_i_sort_keyed(items, spare, v->n);
    for (int32_t k = 0; k < v->n; k++)
        items[k].key = sked_i_sort_key(-key[items[k].value]);
    sked_i_sort_keyed(items, spare, v->n);
    for (int32_t k = 0; k < v->n; k++)
        rank[items[k].value] = k;
    free(items);
    return SKED_OK;
}

/*
 * By length of tail, largest first, then by number of successors, in words that hold both and the place of
 * the op: 36 bits of the tail with a million ops, exact for integers below 2^36. Half the memory of rank_by.
 */
static sked_status rank_by_path(const sked_i_dag *v, const double *tail, int32_t *rank, sked_error *err)
{
    enum { few_bits = 8, most = (1 << few_bits) - 1 };
    uint64_t *items = sked_i_alloc(2 * (int64_t)v->n, sizeof *items);
    double longest = 0;
    int place_bits = 1;
    if (items == NULL)
        return sked_i_no_memory(err);
    uint64_t *const spare = items + v->n;
    while (v->n >> place_bits > 0)
        place_bits++;
    for (int32_t i = 0; i < v->n; i++)
        longest = tail[i] > longest ? tail[i] : longest;
    const double steps = (double)((UINT64_C(1) << (64 - few_bits - place_bits)) - 1);
    const bool whole = longest < steps; /* then one step may be 1, which keeps integers apart */
    const double scale = whole && longest > 1 ? floor(steps / longest) : steps / longest;
    for (int32_t k = 0; k < v->n; k++) {
        const int32_t i = v->order[k];
        const int64_t successors = v->out.ptr[i + 1] - v->out.ptr[i];
        const uint64_t few = (uint64_t)(most - (successors < most ? successors : most));
        const double below = (longest - tail[i]) * scale;
        const uint64_t step = below > 0 ? below < steps ? (uint64_t)below : (uint64_t)steps : 0;
        items[k] = (step << few_bits | few) << place_bits | (uint64_t)k;
    }
    sked_i_sort_words(items, spare, v->n, place_bits);
    for (int32_t k = 0; k < v->n; k++)
        rank[v->order[items[k] & ((UINT64_C(1) << place_bits) - 1)]] = k;
    free(items);
    return SKED_OK;
}

sked_status sked_i_rank_by_key(const sked_i_dag *v, const double *key, int32_t *rank, sked_error *err)
{
    sked_status st = SKED_OK;
    double *down = NULL;
    SKED_NEW(down, v->n);
    for (int32_t i = 0; i < v->n; i++)
        down[i] = -key[i];
    SKED_TRY(rank_by(v, down, NULL, rank, err));
cleanup:
    free(down);
    return st;
}

static void add_noise(double *key, int32_t n, double noise, sked_i_rng *rng)
{
    for (int32_t i = 0; noise > 0 && i < n; i++)
        key[i] *= 1 + noise * (2 * sked_i_rng_uniform(rng) - 1);
}

sked_status sked_i_priority_rank(const sked_problem *p, const sked_i_dag *v, sked_i_priority kind,
                                 double noise, sked_i_rng *rng, int32_t *rank, sked_error *err)
{
    sked_status st = SKED_OK;
    double *tail = NULL, *key = NULL;
    SKED_NEW(tail, v->n);
    sked_i_upward_ranks(v, 0, tail);
    if (kind == SKED_I_CRITICAL_PATH && !by_deadline(p, v, kind)) {
        add_noise(tail, v->n, noise, rng);
        SKED_TRY(rank_by_path(v, tail, rank, err));
    } else {
        SKED_NEW(key, v->n);
        SKED_TRY(fill_keys(p, v, kind, rng, key, err));
        add_noise(key, v->n, noise, rng);
        SKED_TRY(rank_by(v, key, kind == SKED_I_RANDOM ? NULL : tail, rank, err));
    }
cleanup:
    free(tail);
    free(key);
    return st;
}
