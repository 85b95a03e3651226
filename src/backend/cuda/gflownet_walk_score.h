/* Logits of the pairs of a step, the choice of one, and the gradient of its log-probability. */
#ifndef SKED_BACKEND_CUDA_GFLOWNET_WALK_SCORE_H
#define SKED_BACKEND_CUDA_GFLOWNET_WALK_SCORE_H
#include "backend/cuda/gflownet_walk_choices.h"

/* ------------------------------------------------------------------ scores */

/* Numbers that a lane has of a row: `own` neighbours, one or two. */
template <int own> __device__ static inline void load_own(const float *at, float *to)
{
    if (own == 2) {
        const float2 v = *(const float2 *)at;
        to[0] = v.x;
        to[own - 1] = v.y;
    } else {
        to[0] = *at;
    }
}
template <int own> __device__ static inline void store_own(float *at, const float *x)
{
    if (own == 2)
        *(float2 *)at = make_float2(x[0], x[own - 1]);
    else
        *at = x[0];
}
template <int own> __device__ static inline void add_own(float *at, const float *x)
{
    if (own == 2)
        add_two(at, make_float2(x[0], x[own - 1]));
    else
        add_to(at, x[0]);
}

/* Columns c on of this lane: the weights of pairs, with FiLM, and what the devices of a chunk and the state
 * give to the hidden rows, the same for all ops. */
template <int own> struct pair_columns {
    float weight[PAIR][own], out[own], device[ONCE_CHUNK_DEVICES][own];
    int32_t c;
};
__device__ static inline const float *device_row(const walk &w, int32_t column)
{
    return w.last[column] >= 0 ? w.device_part + (int64_t)column * w.w : w.far->empty_part;
}
template <int own>
__device__ static void load_columns(const walk &w, const chunk &t, int32_t first, pair_columns<own> *p)
{
    float base[own];
    *p = {};
    p->c = first + own * lane_id();
    load_own<own>(w.out + p->c, p->out);
    load_own<own>(w.base + p->c, base);
#pragma unroll
    for (int k = 0; k < PAIR; k++)
        load_own<own>(w.pair + k * w.w + p->c, p->weight[k]);
#pragma unroll
    for (int j = 0; j < ONCE_CHUNK_DEVICES; j++)
        if (j < t.devices) {
            load_own<own>(device_row(w, w.column[t.d + j]) + p->c, p->device[j]);
#pragma unroll
            for (int r = 0; r < own; r++)
                p->device[j][r] += base[r];
        }
}
template <int own>
__device__ static inline void op_row(const walk &w, const pair_columns<own> &p, int32_t op, float *row)
{
    load_own<own>(w.far->op_rows + (int64_t)op * w.w + p.c, row);
}
/* Hidden numbers of a pair before the ReLU; f: its features. */
template <int own>
__device__ static inline void hidden(const pair_columns<own> &p, const float *row, int j, const float *f,
                                     float *h)
{
#pragma unroll
    for (int r = 0; r < own; r++)
        h[r] = row[r] + p.device[j][r];
#pragma unroll
    for (int k = 0; k < PAIR; k += 4) {
        const float4 v = *(const float4 *)(f + k);
#pragma unroll
        for (int r = 0; r < own; r++)
            h[r] += (v.x * p.weight[k][r] + v.y * p.weight[k + 1][r]) +
                    (v.z * p.weight[k + 2][r] + v.w * p.weight[k + 3][r]);
    }
}

template <bool grad> __device__ static void score(const walk &w, const chunk &t)
{
    const int lane = lane_id(), mine = lane / 16 * 2 + lane / 8 % 2;
    pair_columns<2> p;
    load_columns(w, t, 0, &p);
    EACH_WARP(i, t.ops) {
        float row[2], h[2], s[ONCE_CHUNK_DEVICES] = {0, 0, 0, 0};
        op_row(w, p, w.row[t.o + i], row);
#pragma unroll
        for (int j = 0; j < ONCE_CHUNK_DEVICES; j++)
            if (j < t.devices) {
                hidden(p, row, j, w.feature + (i * ONCE_CHUNK_DEVICES + j) * PAIR, h);
                s[j] = positive(h[0]) * p.out[0] + positive(h[1]) * p.out[1];
            }
        const float sum = sum_four(s);
        if (lane % 8 == 0 && mine < t.devices) {
            const int slot = i * ONCE_CHUNK_DEVICES + mine;
            w.logit[(int64_t)(t.o + i) * w.head->n_columns + t.d + mine] =
                sum + w.straight[slot * (grad ? DIRECT + 1 : 1)];
        }
    }
}

/* The rows of devices that changed, their parts of the hidden rows; slots from `slot` on, then a barrier. */
__device__ static void multiply_devices(const walk &w, int slot, int32_t first, int32_t end)
{
    EACH(j, first, end, 1)
        times_device(w, slot + j - first, w.device + (int64_t)w.changed[j].column * w.c);
}
__device__ static void store_devices(const walk &w, int slot, int32_t first, int32_t end)
{
    EACH_THREAD(c, w.w)
        EACH(j, first, end, 1)
            w.device_part[(int64_t)w.changed[j].column * w.w + c] =
                product(w, slot + j - first, c) * w.far->scale[c];
}

/* Logits of all pairs. */
template <bool grad> __device__ static void evaluate(const walk &w)
{
    if (!few_choices(w)) /* else they were listed when the last op was appended */
        fill_choices(w);
    observe_state(w);
    observe_ops(w);
    barrier();
    const int32_t changed = w.head->n_changed;
    const int32_t now = changed < ONCE_ROWS - 1 ? changed : ONCE_ROWS - 1;
    times_state(w, 0, w.state);
    multiply_devices(w, 1, 0, now);
    observe_pairs<grad>(w, chunk_at(w, 0));
    barrier();
    EACH_THREAD(c, w.w)
        w.base[c] = product(w, 0, c) * w.far->scale[c];
    store_devices(w, 1, 0, now);
    barrier();
    EACH(j, now, changed, ONCE_ROWS) {
        const int32_t end = changed - j < ONCE_ROWS ? changed : j + ONCE_ROWS;
        multiply_devices(w, 0, j, end);
        barrier();
        store_devices(w, 0, j, end);
        barrier();
    }
    for (int32_t k = 0; k < chunk_count(w); k++) {
        const chunk t = chunk_at(w, k);
        if (k > 0) {
            observe_pairs<grad>(w, t);
            barrier();
        }
        score<grad>(w, t);
        barrier();
    }
}

/* ------------------------------------------------------------------ the choice: warp 0 */

/*
 * Turns logits into shares count * exp(logit - top), 0 below what adds anything. Returns their sum, or NAN
 * where there is no probability; *top gets the largest logit. One warp. Single precision: an error of a
 * millionth of a probability is far below what a step of training moves.
 */
__device__ static float exponentials(float *logit, const int32_t *count, int32_t columns, int32_t pairs,
                                     float *top)
{
    float most = -CUDART_INF_F, sum = 0;
    EACH_LANE(p, pairs)
        most = fmaxf(most, logit[p]);
    for (int by = WARP / 2; by > 0; by /= 2)
        most = fmaxf(most, __shfl_xor_sync(FULL, most, by));
    *top = most;
    if (!(most > -CUDART_INF_F && most < CUDART_INF_F))
        return CUDART_NAN_F;
    int32_t column = lane_id() % columns;
    const int32_t step = WARP % columns;
    EACH_LANE(p, pairs) {
        const float x = logit[p] - most;
        const float share = x > (float)ONCE_NEGLIGIBLE ? (float)count[column] * expf(x) : 0;
        logit[p] = share;
        sum += share;
        column += step;
        column -= column >= columns ? columns : 0;
    }
    return sked_i_warp_sum(sum);
}

/* The first of the largest. */
__device__ static int32_t likeliest(const float *logit, int32_t pairs)
{
    float best = -CUDART_INF_F;
    int32_t at = 0x7fffffff;
    EACH_LANE(p, pairs)
        if (logit[p] > best) {
            best = logit[p];
            at = p;
        }
    for (int by = WARP / 2; by > 0; by /= 2) {
        const float its = __shfl_xor_sync(FULL, best, by);
        const int32_t where = __shfl_xor_sync(FULL, at, by);
        if (its > best || (its == best && where < at)) {
            best = its;
            at = where;
        }
    }
    return at < pairs ? at : 0;
}

/* An index by its share of `sum`. */
__device__ static int32_t draw(const walk &w, const float *share, float sum, int32_t pairs)
{
    const int lane = lane_id();
    float rest = (float)(w.head->chance * sum);
    EACH_LANE_TOGETHER(p, pairs) {
        const float mine = p < pairs ? share[p] : 0;
        float until = mine;
        for (int by = 1; by < WARP; by *= 2) {
            const float more = __shfl_up_sync(FULL, until, (unsigned)by);
            until += lane >= by ? more : 0;
        }
        const unsigned hit = __ballot_sync(FULL, mine > 0 && rest < until);
        if (hit != 0)
            return p - lane + __ffs((int)hit) - 1;
        rest -= __shfl_sync(FULL, until, WARP - 1);
    }
    return likeliest(share, pairs); /* rounding left a rest */
}

/* The pair of list scheduling (sked_i_choices_list): least first key, then second, then the first pair. */
__device__ static int32_t list_pair(const walk &w, bool used_only, int32_t pairs)
{
    const once_lesson *x = w.x;
    const bool plain = !w.transfers && w.equal;
    double first = CUDART_INF, second = CUDART_INF;
    int32_t at = 0x7fffffff;
    EACH_LANE(p, pairs) {
        const int32_t op = w.row[p / w.head->n_columns], q = w.column[p % w.head->n_columns];
        const double time = time_of(w, op, q);
        if ((used_only && w.last[q] < 0) || !(time < CUDART_INF))
            continue;
        const double start = later(data_at(w, op, q), w.free_at[q]);
        const double one = plain ? start : start + time - x->duration[op] - w.noise[op];
        const double two = plain ? -w.noise[op] : 0;
        if (at == 0x7fffffff || one < first || (one == first && two < second)) {
            first = one;
            second = two;
            at = p;
        }
    }
    for (int by = WARP / 2; by > 0; by /= 2) {
        const double one = __shfl_xor_sync(FULL, first, by), two = __shfl_xor_sync(FULL, second, by);
        const int32_t where = __shfl_xor_sync(FULL, at, by);
        if (one < first || (one == first && (two < second || (two == second && where < at)))) {
            first = one;
            second = two;
            at = where;
        }
    }
    return at < pairs ? at : -1;
}

__device__ static int32_t replayed(const walk &w, int32_t pairs)
{
    const int32_t op = w.far->op[w.head->step], column = w.far->device_step[w.head->step];
    EACH_LANE_TOGETHER(p, pairs) {
        const bool hit = p < pairs && w.row[p / w.head->n_columns] == op &&
                         w.column[p % w.head->n_columns] == column && w.logit[p] > -CUDART_INF_F;
        const unsigned set = __ballot_sync(FULL, hit);
        if (set != 0)
            return p - lane_id() + __ffs((int)set) - 1;
    }
    return -1;
}

/* A pair that is chosen whatever the probabilities are; -1: none is legal. */
__device__ static int32_t choose(const walk &w, int32_t pairs)
{
    if (w.x->replay)
        return replayed(w, pairs);
    if (w.x->greedy)
        return likeliest(w.logit, pairs);
    const int32_t within = w.head->n_used >= w.head->most ? list_pair(w, true, pairs) : -1;
    return within >= 0 ? within : list_pair(w, false, pairs);
}

/* Turns shares into the gradient of the logits by the logp of the chosen one, times slope. */
__device__ static void logit_grad(float *share, int32_t pairs, float sum, int32_t chosen, float slope)
{
    const float scale = slope / sum;
    EACH_LANE(p, pairs)
        share[p] = (p == chosen ? slope : 0) - share[p] * scale;
}

/*
 * The same for PPO (policy.c): the ratio to what the step was drawn with is cut, and entropy counts. A share
 * is that of all devices that are the same choice.
 */
__device__ static void clipped_grad(const walk &w, int32_t pairs, float sum, int32_t chosen, float logp)
{
    const once_lesson *x = w.x;
    const int64_t at = (int64_t)w.number * x->n + w.head->step;
    const float slope = (float)(x->flow != NULL ? x->flow[at] : x->credit[w.number]);
    const float bonus = (float)x->law.entropy;
    const double away = logp - x->log_step[at];
    const double ratio = exp(away < 20 ? away : 20), bound = slope < 0 ? 1 + x->law.clip : 1 - x->law.clip;
    const bool cut = slope < 0 ? ratio > bound : ratio < bound;
    const float own = cut ? 0 : (float)(slope * ratio);
    float entropy = 0;
    EACH_LANE(p, pairs)
        entropy -= w.logit[p] > 0 ? w.logit[p] / sum * logf(w.logit[p] / sum) : 0;
    entropy = sked_i_warp_sum(entropy);
    EACH_LANE(p, pairs) {
        const float share = w.logit[p] / sum;
        const float spread = share > 0 ? bonus * share * (logf(share) + entropy) : 0;
        w.logit[p] = (p == chosen ? own : 0) - own * share + spread;
    }
    if (lane_id() == 0)
        w.head->value += slope * (cut ? bound : ratio) - x->law.entropy * entropy;
}

/* The choice of a step, of which the rest can wait: -1, none is legal; and what log P_F follows from. */
struct choice {
    int32_t pair;
    float logit, share, top, sum; /* logit, where it does not follow from the share */
    bool drawn;
};
__device__ static float log_forward_of(const walk &w, const choice &c)
{
    const float logit =
        c.drawn ? c.top + logf(c.share / (float)w.count[c.pair % w.head->n_columns]) : c.logit;
    return logit - c.top - logf(c.sum);
}

/* One pair of all, and the gradient of its log P_F; one warp. */
template <bool grad> __device__ static choice decide(const walk &w)
{
    walk_head *h = w.head;
    const int32_t pairs = h->n_ops * h->n_columns;
    choice c = {};
    c.drawn = !w.x->replay && !w.x->greedy && !listed(w);
    c.pair = c.drawn ? 0 : choose(w, pairs);
    c.logit = c.pair >= 0 ? w.logit[c.pair] : 0;
    __syncwarp();
    c.sum = exponentials(w.logit, w.count, h->n_columns, pairs, &c.top);
    __syncwarp();
    if (isnan(c.sum) || c.pair < 0) {
        if (lane_id() == 0)
            h->status = isnan(c.sum) ? GPU_WALK_NO_PROBABILITY : GPU_WALK_NOT_LEGAL;
        return c;
    }
    if (c.drawn)
        c.pair = draw(w, w.logit, c.sum, pairs);
    c.share = w.logit[c.pair];
    __syncwarp();
    if (grad && w.x->law.kind == SKED_I_LOSS_PPO)
        clipped_grad(w, pairs, c.sum, c.pair, log_forward_of(w, c));
    else if (grad)
        logit_grad(w.logit, pairs, c.sum, c.pair,
                   w.x->flow == NULL ? 1 : (float)w.x->flow[(int64_t)w.number * w.x->n + h->step]);
    return c;
}

/*
 * Credit by steps: log P_F of the next step, and what the state before it leaves possible, as
 * sked_i_partial_outlook has it. One thread.
 */
__device__ static void note_credit(const walk &w, float logp)
{
    const walk_head *h = w.head;
    const int64_t at = (int64_t)w.number * w.x->n + h->step;
    w.x->flow[at] = -logp;
    if (h->step > 0)
        w.x->outlook[at - 1] =
            later(later(h->makespan, h->reach), later((h->busy + h->work_left) / w.k, h->critical));
}

/* Notes the chosen pair and what it means; one thread. */
template <bool grad> __device__ static void take_choice(const walk &w, const choice &c)
{
    walk_head *h = w.head;
    const int32_t i = c.pair / h->n_columns;
    const float logp = log_forward_of(w, c);
    h->at = w.index[i];
    h->op = w.row[i];
    h->place = w.column[c.pair - i * h->n_columns];
    h->start = later(data_at(w, h->op, h->place), w.free_at[h->place]);
    h->log_forward += logp;
    if (!grad && w.x->flow != NULL)
        note_credit(w, logp);
    h->reach = later(h->reach, h->start + w.x->tail[h->op]);
    w.far->op[h->step] = h->op;
    w.far->device_step[h->step] = h->place;
    if (!grad && w.x->log_step != NULL)
        w.x->log_step[(int64_t)w.number * w.x->n + h->step] = logp;
}

/* ------------------------------------------------------------------ gradient of a step */

/* Gradients of the columns of a lane, by all pairs of a chunk that its warp has. */
template <int own> struct pair_sums {
    float weight[PAIR][own], out[own], device[ONCE_CHUNK_DEVICES][own];
};
/* One pair with the slope dlogit of its logit: adds to d and to the row of its op. */
template <int own>
__device__ static inline void pair_grad(const pair_columns<own> &p, const float *row, int j, const float *f,
                                        float dlogit, pair_sums<own> *d, float *drow)
{
    float h[own], dh[own];
    hidden(p, row, j, f, h);
#pragma unroll
    for (int r = 0; r < own; r++) {
        dh[r] = h[r] > 0 ? dlogit * p.out[r] : 0;
        d->out[r] += dlogit * positive(h[r]);
        drow[r] += dh[r];
        d->device[j][r] += dh[r];
    }
#pragma unroll
    for (int k = 0; k < PAIR; k++)
#pragma unroll
        for (int r = 0; r < own; r++)
            d->weight[k][r] += f[k] * dh[r];
}

/* Where the sums of a chunk go: those of weights to the walk's, those of devices to w.partial. */
template <int own> __device__ static void add_sums(const walk &w, int32_t c, const pair_sums<own> &d)
{
    float *sums = w.sum_pair + (int64_t)warp_id() * (PAIR + 1) * w.w + c;
#pragma unroll
    for (int k = 0; k < PAIR + 1; k++) {
        const float *add = k < PAIR ? d.weight[k < PAIR ? k : 0] : d.out;
        float sum[own];
        if (w.pairs_outside) {
            add_own<own>(sums + k * w.w, add);
            continue;
        }
        load_own<own>(sums + k * w.w, sum);
#pragma unroll
        for (int r = 0; r < own; r++)
            sum[r] += add[r];
        store_own<own>(sums + k * w.w, sum);
    }
#pragma unroll
    for (int j = 0; j < ONCE_CHUNK_DEVICES; j++)
        store_own<own>(share_at(w, j, warp_id(), c), d.device[j]);
}

/*
 * Adds what the pairs of a chunk say: op rows, weights, devices. Columns from `first` on, `own` a lane: with
 * one of them registers suffice where walks share a block, with two it is less work.
 */
template <int own> __device__ static void score_grad(const walk &w, const chunk &t, int32_t first)
{
    pair_columns<own> p;
    pair_sums<own> d = {};
    load_columns(w, t, first, &p);
    EACH(i, w.warps - 1 - warp_id(), t.ops, w.warps) { /* the first warp has something else to do */
        const int32_t op = w.row[t.o + i];
        float row[own], drow[own] = {};
        op_row(w, p, op, row);
#pragma unroll
        for (int j = 0; j < ONCE_CHUNK_DEVICES; j++)
            if (j < t.devices)
                pair_grad(p, row, j, w.feature + (i * ONCE_CHUNK_DEVICES + j) * PAIR,
                          w.logit[(int64_t)(t.o + i) * w.head->n_columns + t.d + j], &d, drow);
        add_own<own>(w.far->dop + (int64_t)op * w.w + p.c, drow);
    }
    add_sums(w, p.c, d);
}
__device__ static void score_grads(const walk &w, const chunk &t)
{
    const bool many = w.threads > ONCE_FEWER;
    EACH(first, 0, w.w, many ? 2 * WARP : WARP)
        if (many)
            score_grad<2>(w, t, first);
        else
            score_grad<1>(w, t, first);
}

/* Sums of the weights that lead straight to a logit; each warp some of them. */
__device__ static void straight_grad(const walk &w, const chunk &t)
{
    EACH_WARP(k, DIRECT) {
        float sum = 0;
        EACH_LANE(s, t.ops * ONCE_CHUNK_DEVICES)
            if (s % ONCE_CHUNK_DEVICES < t.devices)
                sum += w.logit[(int64_t)(t.o + s / ONCE_CHUNK_DEVICES) * w.head->n_columns + t.d +
                               s % ONCE_CHUNK_DEVICES] *
                       w.straight[s * (DIRECT + 1) + 1 + k];
        sum = sked_i_warp_sum(sum);
        if (lane_id() == 0)
            w.sum_direct[k] += sum;
    }
}

/* From w.partial to the parts of devices, used or empty, and to the state's part. */
__device__ static void device_grad(const walk &w, const chunk &t)
{
    EACH_THREAD(c, w.w)
        for (int j = 0; j < t.devices; j++) {
            const int32_t q = w.column[t.d + j];
            const float sum = product(w, j, c);
            float *part = w.last[q] >= 0 ? w.ddevice_part + (int64_t)q * w.w : w.sum_empty_part;
            part[c] += sum;
            w.dbase[c] += sum;
        }
}

/* d of a pooled state, by product slot 0, to the running totals and the empty devices. */
__device__ static void state_grad(const walk &w, float waiting, float empties)
{
    const float devices = (float)w.x->devices;
    EACH_THREAD_FROM(c, w.c, w.threads / 2)
    {
        const float each = product(w, 0, w.c + c) / devices;
        w.total_wait[c] += product(w, 0, c) / waiting;
        w.total_device[c] += each;
        w.sum_empty[c] += each * empties;
    }
}

__device__ static void step_grad(const walk &w)
{
    const int32_t chunks = chunk_count(w), states = ONCE_STATES;
    const int64_t step = (int64_t)w.number * w.x->n + w.head->step;
    /* One warp appends the op already while others are at the end of this. */
    const float left = (float)w.head->left, empties = (float)(w.x->devices - w.head->n_used);
    fill(w, w.dbase, w.w, 0.0f);
    EACH(k, 0, chunks, 1) {
        const chunk t = chunk_at(w, k);
        if (chunks > 1) {
            barrier();
            observe_pairs<true>(w, t);
            barrier();
        }
        straight_grad(w, t);
        score_grads(w, t);
        barrier();
        device_grad(w, t);
    }
    float *state = w.x->states + step * states, *dbase = w.x->dbases + step * w.w;
    EACH_THREAD(c, states)
        state[c] = w.state[c];
    EACH_THREAD(c, w.w) {
        dbase[c] = w.dbase[c];
        w.dbase[c] *= w.far->scale[c];
    }
    barrier();
    state_back(w, 0, w.dbase);
    barrier();
    state_grad(w, left, empties);
}
#endif
