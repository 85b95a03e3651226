/* The chosen op joins the schedule: times, ready ops, versions of waiting ops and of devices. */
#ifndef SKED_BACKEND_CUDA_GFLOWNET_WALK_APPEND_H
#define SKED_BACKEND_CUDA_GFLOWNET_WALK_APPEND_H
#include "backend/cuda/gflownet_walk_choices.h"

/* ------------------------------------------------------------------ appending an op */

/* Takes the chosen op out of the ready ones: thread `at` of `by`; wait() lets all of them finish reading. */
template <class W> __device__ static void pop(const walk &w, int32_t at, int32_t by, W wait)
{
    const int32_t last = w.head->n_ready - 1;
    for (int32_t i = w.head->at + at; i - at < last; i += by) {
        const int32_t next = i < last ? w.ready[i + 1] : 0;
        wait();
        if (i < last)
            w.ready[i] = next;
    }
    wait();
    if (at == 0)
        w.head->n_ready = last;
    wait();
}
struct wait_warp {
    __device__ void operator()() const
    {
        __syncwarp();
    }
};
struct wait_walk {
    __device__ void operator()() const
    {
        barrier();
    }
};

__device__ static void tell(const walk &w, int32_t e, walk_told *told)
{
    const once_lesson *x = w.x;
    const int32_t to = x->succ_op[e], waits = w.waits[to] - 1;
    const double lag = isnan(x->lag[e]) ? time_of(w, w.head->op, w.head->place) : x->lag[e];
    const double before = w.ready_time[to], there = w.head->start + lag, after = later(before, there);
    told->op = to;
    told->edge = e;
    told->there = there;
    told->before[0] = (float)before;
    told->before[1] = 0;
    told->before[2] = (float)(before + x->tail[to]);
    told->after[0] = (float)after;
    told->after[1] = waits == 0;
    told->after[2] = (float)(after + x->tail[to]);
    w.ready_time[to] = after;
    w.waits[to] = waits;
}

/* Successors along the edges from `first` on, up to 32: times and new ready ops. Warp 0. */
__device__ static void tell_successors(const walk &w, int32_t first, int32_t end)
{
    const int lane = lane_id();
    const int32_t e = first + lane;
    bool ready = false;
    if (!w.x->twice) {
        if (e < end)
            tell(w, e, &w.told[lane]);
    } else {
        EACH(k, 0, WARP, 1) {
            if (k == lane && e < end)
                tell(w, e, &w.told[lane]);
            __syncwarp();
        }
    }
    if (e < end)
        ready = w.told[lane].after[1] > 0;
    const unsigned set = __ballot_sync(FULL, ready);
    const int32_t count = w.head->n_ready;
    if (ready)
        w.ready[count + __popc(set & ((1u << lane) - 1))] = w.told[lane].op;
    __syncwarp();
    if (lane == 0) {
        w.head->n_ready = count + __popc(set);
        w.head->n_told = end - first < WARP ? end - first : WARP;
    }
}

/* A device changes: notes its features before and after. */
__device__ static void note_change(const walk &w, int32_t at, int32_t q, int32_t after_op, float fresh)
{
    walk_change *change = &w.changed[at];
    float *feature = w.device_feature + 3 * (int64_t)q;
    change->column = q;
    change->before_op = w.last[q];
    change->after_op = after_op;
    for (int k = 0; k < SKED_I_LAST_FEATURES; k++)
        change->before[k] = feature[k];
    feature[0] = (float)w.free_at[q];
    feature[1] = fresh;
    feature[2] = w.x->pace[w.x->kind_of[q]];
    for (int k = 0; k < SKED_I_LAST_FEATURES; k++)
        change->after[k] = feature[k];
}

/* Predecessors are followed now; devices that end in one change, and the op's own device last. One warp. */
__device__ static void place_op(const walk &w)
{
    const once_lesson *x = w.x;
    walk_head *h = w.head;
    const int lane = lane_id();
    const int32_t op = h->op, d = h->place, end = x->pred_ptr[op + 1];
    int32_t changed = 0;
#pragma unroll 1
    for (int32_t e = x->pred_ptr[op] + lane; e - lane < end; e += WARP) {
        bool shows = false;
        int32_t its = 0, from = 0;
        if (e < end && !w.followed[x->pred_op[e]]) {
            from = x->pred_op[e];
            its = w.device_of[from];
            w.followed[from] = 1;
            shows = its != d && w.last[its] == from;
        }
        const unsigned set = __ballot_sync(FULL, shows);
        if (shows)
            note_change(w, changed + __popc(set & ((1u << lane) - 1)), its, from, 0);
        changed += __popc(set);
    }
    __syncwarp();
    if (lane != 0)
        return;
    const double free_at = w.free_at[d];
    w.free_at[d] = h->start + time_of(w, op, d);
    note_change(w, changed, d, op, 1);
    if (w.last[d] < 0) {
        w.used[h->n_used++] = d;
        w.opened[x->kind_of[d]]++;
    }
    w.last[d] = op;
    w.device_of[op] = d;
    h->makespan = later(w.free_at[d], h->makespan);
    h->busy += w.free_at[d] - free_at;
    h->work_left -= x->duration[op];
    h->left--;
    h->step++;
    h->n_changed = changed + 1;
}

/* max(0, base + f . weight) of one column. */
__device__ static inline float version(float base, const float *f, const float *weight, int32_t c,
                                       int32_t stride)
{
    return positive(base + f[0] * weight[c] + f[1] * weight[stride + c] + f[2] * weight[2 * stride + c]);
}

/* The scheduled op waits no more. */
template <bool grad> __device__ static void leave(const walk &w)
{
    const int32_t op = w.head->op;
    const double ready = w.ready_time[op];
    const float f[SKED_I_WAIT_FEATURES] = {(float)ready, 1, (float)(ready + w.x->tail[op])};
    EACH_THREAD_FROM(c, w.c, w.threads / 2)
    {
        const float y = version(w.far->wait_rows[(int64_t)op * w.c + c], f, w.far->wait_feature, c, w.c);
        w.sum_wait[c] -= y;
        if (grad && y > 0) { /* its last version ends: the gradient is the total since it began */
            const float total = w.total_wait[c];
            add_to(w.far->dwait + (int64_t)op * w.c + c, total);
            for (int k = 0; k < SKED_I_WAIT_FEATURES; k++)
                w.sum_wait_feature[k * w.c + c] += f[k] * total;
        }
    }
}

/* Versions of the ops told end, and others begin: a version's gradient is the total at its end less that at
 * its begin, so where both are on only their features differ. */
template <bool grad> __device__ static void hear(const walk &w)
{
    const int32_t told = w.head->n_told, stride = w.c;
    EACH_THREAD_FROM(c, stride, w.threads / 2)
    {
        float sum = w.sum_wait[c], feature[SKED_I_WAIT_FEATURES] = {0, 0, 0};
        const float total = grad ? w.total_wait[c] : 0;
        EACH(k, 0, told, 1) {
            const walk_told *t = &w.told[k];
            const float row = w.far->wait_rows[(int64_t)t->op * stride + c];
            const float before = version(row, t->before, w.far->wait_feature, c, stride);
            const float after = version(row, t->after, w.far->wait_feature, c, stride);
            sum = sum - before + after;
            if (grad) {
                const float ends = before > 0 ? total : 0, begins = after > 0 ? total : 0;
                if (ends != begins)
                    add_to(w.far->dwait + (int64_t)t->op * stride + c, ends - begins);
                for (int j = 0; j < SKED_I_WAIT_FEATURES; j++)
                    feature[j] += t->before[j] * ends - t->after[j] * begins;
            }
        }
        w.sum_wait[c] = sum;
        for (int j = 0; grad && j < SKED_I_WAIT_FEATURES; j++)
            w.sum_wait_feature[j * stride + c] += feature[j];
    }
}

/* The data of the edges told, on every column. */
__device__ static void spread(const walk &w)
{
    const once_lesson *x = w.x;
    const int32_t from = w.head->place, kind = x->kind_of[from];
    const int32_t many = w.head->n_told * w.k;
    /* Two edges to the same op wait for each other: the same thread takes a column of all edges. */
    const int32_t begin = (int32_t)threadIdx.x, by = w.threads;
    for (int32_t i = begin; i < (x->twice ? w.k : many); i += by)
        for (int32_t t = x->twice ? 0 : i / w.k; t < (x->twice ? w.head->n_told : i / w.k + 1); t++) {
            const walk_told *told = &w.told[t];
            const int32_t q = x->twice ? i : i % w.k;
            const int64_t link = (int64_t)kind * x->kinds + x->kind_of[q];
            double *arrive = w.arrive + (int64_t)told->op * w.k + q;
            const double at = q == from
                                  ? told->there
                                  : told->there + x->latency[link] + x->bytes[told->edge] * x->per_byte[link];
            *arrive = later(at, *arrive);
            if (q == from)
                w.local[(int64_t)told->op * w.k + q] += x->share[told->edge];
        }
}

/* A version of a device ends: its gradient to the row of its last op, and rows for the weights. */
__device__ static void device_end_grad(const walk &w, const walk_change *t, int slot, int32_t number)
{
    const int64_t q = t->column, row = (int64_t)w.number * 2 * w.x->n + number;
    EACH_THREAD(c, w.c) {
        const float y = w.device[q * w.c + c];
        const float dy = w.total_device[c] - w.device_from[q * w.c + c] + product(w, slot, c);
        w.x->versions[row * w.c + c] = y;
        if (y > 0) {
            add_to(w.far->dlast + (int64_t)t->before_op * w.c + c, dy);
            for (int k = 0; k < SKED_I_LAST_FEATURES; k++)
                w.sum_last_feature[k * w.c + c] += t->before[k] * dy;
        }
    }
}

/* What is known of the gradient of a device's part of the hidden rows goes to the weights' rows. */
__device__ static void device_end_rows(const walk &w, const walk_change *t, int32_t number)
{
    const int64_t q = t->column, row = (int64_t)w.number * 2 * w.x->n + number;
    EACH_THREAD_FROM(c, w.w, w.threads - 2 * WARP)
    {
        float *part = w.ddevice_part + q * w.w + c;
        w.x->dversions[row * w.w + c] = *part;
        *part *= w.far->scale[c];
    }
}

/* The first part of ending the versions of the devices in w.changed that had one. */
__device__ static void end_rows(const walk &w)
{
    const int32_t changed = w.head->n_changed;
    int32_t number = w.head->n_versions;
    EACH(j, 0, changed, 1)
        if (w.changed[j].before_op >= 0)
            device_end_rows(w, &w.changed[j], number++);
}
/* The second, after a barrier: all threads. Its numbers are there for the threads that have their columns. */
__device__ static void end_devices(const walk &w)
{
    const int32_t changed = w.head->n_changed;
    int32_t number = w.head->n_versions;
    EACH(j, 0, changed, ONCE_ROWS) {
        const int32_t end = changed - j < ONCE_ROWS ? changed : j + ONCE_ROWS;
        if (j > 0)
            barrier();
        EACH(i, j, end, 1)
            if (w.changed[i].before_op >= 0)
                devices_back(w, i - j, w.ddevice_part + (int64_t)w.changed[i].column * w.w);
        barrier();
        EACH(i, j, end, 1)
            if (w.changed[i].before_op >= 0)
                device_end_grad(w, &w.changed[i], i - j, number++);
    }
    if (threadIdx.x == 0)
        w.head->n_versions = number;
}

/* New rows of the devices that changed. */
template <bool grad> __device__ static void begin_devices(const walk &w)
{
    EACH_THREAD(c, w.c) {
        float sum = w.sum_device[c];
        EACH(j, 0, w.head->n_changed, 1) {
            const walk_change *t = &w.changed[j];
            float *y = w.device + (int64_t)t->column * w.c + c;
            if (t->before_op >= 0)
                sum -= *y;
            *y = version(w.far->last_rows[(int64_t)t->after_op * w.c + c], t->after, w.far->last_feature, c,
                         w.c);
            sum += *y;
            if (grad)
                w.device_from[(int64_t)t->column * w.c + c] = w.total_device[c];
        }
        w.sum_device[c] = sum;
    }
#pragma unroll 1
    for (int32_t j = 0; grad && j < w.head->n_changed; j++)
        fill(w, w.ddevice_part + (int64_t)w.changed[j].column * w.w, w.w, 0.0f);
}

/* log P_B where all ops that could be removed are as likely; one warp. */
template <bool grad> __device__ static void look_back(const walk &w)
{
    int32_t count = 0;
    EACH_LANE(k, w.head->n_used)
        count += !w.followed[w.last[w.used[k]]];
    count = sked_i_warp_sum(count);
    if (lane_id() != 0)
        return;
    w.head->log_backward -= logf((float)count);
    if (!grad && w.x->flow != NULL)
        w.x->flow[(int64_t)w.number * w.x->n + w.head->step - 1] -= logf((float)count);
}

/* What depends on the new partial schedule alone, while other warps end versions: the choices of the next
 * step, the backward policy, and what is drawn by. */
template <bool grad> __device__ static void look_ahead(const walk &w)
{
    if (warp_id() == 0 && w.head->left > 0 && few_choices(w))
        list_choices(w);
    if (warp_id() == 1) {
        look_back<grad>(w);
        draw_chance(w);
    }
}

template <bool grad> __device__ static void append(const walk &w)
{
    const once_lesson *x = w.x;
    const int32_t op = w.head->op, first = x->succ_ptr[op], end = x->succ_ptr[op + 1];
    const bool many = w.head->n_ops == MOST_OPS; /* the ready ops change already while others get here */
    if (many)
        pop(w, (int32_t)threadIdx.x, w.threads, wait_walk());
    else if (warp_id() == 0)
        pop(w, lane_id(), WARP, wait_warp());
    if (warp_id() == 1)
        place_op(w);
    leave<grad>(w);
    EACH(e, first, end, WARP) {
        if (warp_id() == 0)
            tell_successors(w, e, end);
        barrier();
        hear<grad>(w);
        if (w.transfers)
            spread(w);
        if (e + WARP < end)
            barrier();
    }
    if (first == end)
        barrier();
    look_ahead<grad>(w);
    if (grad) {
        end_rows(w);
        barrier();
        end_devices(w);
    }
    begin_devices<grad>(w);
    barrier();
}
#endif
