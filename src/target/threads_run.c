/* One run of a schedule on pinned threads. */
#define _GNU_SOURCE
#include "target/threads.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An op while it runs; a cache line each, so that waiting for one does not slow down its neighbours. */
typedef struct record {
    uint64_t *result;
    uint64_t value; /* of what it wrote, from all that it read */
    double start, finish;
    int64_t sweeps;
    uint32_t done; /* atomic */
} record;
enum { line = 64 };
_Static_assert(sizeof(record) <= line, "a record fits a cache line");

typedef struct run {
    sked_i_threads *threads;
    const sked_graph *graph;
    sked_i_queues queues;
    unsigned char *records; /* [ops] of `line` bytes */
    uint64_t number;
    sked_i_limit limit;
    int spins;         /* looks at a flag before the processor is offered to others */
    double begin;      /* when all threads were there */
    uint32_t ready;    /* atomic: threads that are */
    uint32_t go, over; /* atomic: the run has begun; it is given up */
    uint32_t refused;  /* atomic: a thread could not be pinned */
    uint32_t late;     /* atomic: a thread gave up, for a stop or the deadline */
} run;

typedef struct worker {
    run *run;
    int32_t device;
    pthread_t thread;
} worker;

static record *record_of(const run *r, int32_t op)
{
    return (record *)(void *)(r->records + (size_t)op * line);
}

/* ------------------------------------------------------------------ values */

static const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t mix(uint64_t value, uint64_t more)
{
    value = (value ^ more) * UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 29;
}

static void write_result(uint64_t *result, int64_t words, uint64_t value)
{
    for (int64_t k = 0; k < words; k++)
        result[k] = value + (uint64_t)k * step;
}

static uint64_t read_result(const uint64_t *result, int64_t words)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < words; k++)
        sum += result[k];
    return sum;
}

/* What read_result finds where write_result has put that value. */
static uint64_t sum_of(uint64_t value, int64_t words)
{
    const uint64_t n = (uint64_t)words;
    assert(words > 0);
    const uint64_t pairs = n % 2 ? n * ((n - 1) / 2) : n / 2 * (n - 1);
    return n * value + pairs * step;
}

/* The value of op i: from what it reads now, or (again) from what its producers wrote. */
static uint64_t value_of(const run *r, int32_t i, bool again)
{
    const sked_graph *g = r->graph;
    uint64_t value = mix(r->number, (uint64_t)i);
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
        const int64_t e = g->pred_edge[k];
        if (g->edge_distance[e] != 0)
            continue;
        const record *from = record_of(r, g->pred_op[k]);
        const int64_t words = sked_i_threads_words(r->threads, sked_i_queue_edge_read(g, e));
        value = mix(value, again ? sum_of(from->value, words) : read_result(from->result, words));
    }
    return value;
}

static sked_status check_values(const run *r, sked_error *err)
{
    char name[64];
    for (int32_t i = 0; i < r->graph->n_ops; i++)
        if (value_of(r, i, true) != record_of(r, i)->value)
            return sked_i_fail(err, SKED_ERR_DEVICE,
                               "target threads: op '%s' read other bytes than its producers wrote",
                               sked_graph_op_name(r->graph, i, name, sizeof name));
    return SKED_OK;
}

/* ------------------------------------------------------------------ on the threads */

static bool is_over(const run *r)
{
    return __atomic_load_n(&r->over, __ATOMIC_RELAXED) != 0 || sked_i_limit_stopped(&r->limit);
}

/* Waits as runtimes on a core of their own do: looks at the flag, and after a while yields between looks. */
static bool wait_for(const run *r, const uint32_t *flag)
{
    for (int look = 0; __atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0;) {
        if (is_over(r))
            return false;
        if (look < r->spins) {
            look++;
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        } else {
            if (sked_i_limit_reached(&r->limit))
                return false;
            sched_yield();
        }
    }
    return true;
}

void sked_i_threads_touch(sked_i_threads_area *a)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile unsigned char *data = a->data;
    for (size_t k = 0; k < a->size && !a->touched; k += page)
        data[k] = 0;
    a->touched = true;
}

/* The last one to come lets all of them go. */
static bool begin_together(run *r)
{
    if (__atomic_add_fetch(&r->ready, 1, __ATOMIC_ACQ_REL) == (uint32_t)r->threads->devices) {
        r->begin = sked_clock();
        __atomic_store_n(&r->go, 1, __ATOMIC_RELEASE);
    }
    return wait_for(r, &r->go);
}

static bool wait_for_inputs(const run *r, int32_t i)
{
    const sked_graph *g = r->graph;
    for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++)
        if (g->edge_distance[g->pred_edge[k]] == 0 && !wait_for(r, &record_of(r, g->pred_op[k])->done))
            return false;
    return true;
}

static bool run_op(const run *r, int32_t i, int32_t device)
{
    sked_i_threads *const x = r->threads;
    record *const o = record_of(r, i);
    assert(!o->done && o->result != NULL);
    if (!wait_for_inputs(r, i))
        return false;
    o->start = sked_clock();
    o->value = value_of(r, i, false);
    if (!sked_i_busy_run(&x->busy[device], x->kind[i], o->sweeps, &r->limit))
        return false;
    write_result(o->result, sked_i_threads_words(x, sked_i_queue_result_size(r->graph, i)), o->value);
    o->finish = sked_clock();
    __atomic_store_n(&o->done, 1, __ATOMIC_RELEASE);
    return true;
}

static void *serve(void *argument)
{
    const worker *w = argument;
    run *const r = w->run;
    sked_i_threads *const x = r->threads;
    if (!sked_i_cores_pin(x->cores.place[w->device % x->cores.count])) {
        __atomic_store_n(&r->refused, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&r->over, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    sked_i_threads_touch(&x->result[w->device]);
    sked_i_threads_touch(&x->array[w->device]);
    bool done = begin_together(r);
    for (int32_t k = r->queues.ptr[w->device]; done && k < r->queues.ptr[w->device + 1]; k++)
        done = run_op(r, r->queues.op[k], w->device);
    if (!done)
        __atomic_store_n(&r->late, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* ------------------------------------------------------------------ before and after */

/* Words of an op's result, in whole cache lines. */
static int64_t room_of(const run *r, int32_t op)
{
    return (sked_i_threads_words(r->threads, sked_i_queue_result_size(r->graph, op)) + 7) / 8 * 8;
}

/* Where results lie: those of a device in the order of its queue. */
static sked_status place_results(run *r, sked_error *err)
{
    sked_i_threads *const x = r->threads;
    const sked_i_queues *q = &r->queues;
    for (int32_t d = 0; d < x->devices; d++) {
        int64_t words = 0;
        for (int32_t k = q->ptr[d]; k < q->ptr[d + 1]; k++)
            words += room_of(r, q->op[k]);
        const sked_status st = sked_i_threads_area_fit(&x->result[d], (size_t)words * 8, err);
        if (st != SKED_OK)
            return st;
        uint64_t *at = x->result[d].data;
        for (int32_t k = q->ptr[d]; k < q->ptr[d + 1]; at += room_of(r, q->op[k++]))
            record_of(r, q->op[k])->result = at;
    }
    return SKED_OK;
}

static sked_status make_records(run *r, const sked_target *t, const sked_schedule *s, sked_error *err)
{
    const sked_i_threads *x = r->threads;
    const size_t size = ((size_t)s->ops + 1) * line;
    r->records = aligned_alloc(line, size);
    if (r->records == NULL)
        return sked_i_no_memory(err);
    memset(r->records, 0, size);
    for (int32_t i = 0; i < s->ops; i++) {
        const double seconds = sked_i_time(&t->replay->costs, i, s->device[i]) * x->unit;
        record_of(r, i)->sweeps = (int64_t)fmin(1e18, round(seconds / x->sweep[x->kind[i]]));
    }
    return place_results(r, err);
}

static sked_status run_threads(run *r, sked_error *err)
{
    const int32_t devices = r->threads->devices;
    int32_t started = 0;
    worker *workers = sked_i_alloc_zero(devices, sizeof *workers);
    if (workers == NULL)
        return sked_i_no_memory(err);
    for (; started < devices; started++) {
        workers[started] = (worker){.run = r, .device = started};
        if (pthread_create(&workers[started].thread, NULL, serve, &workers[started]) != 0)
            break;
    }
    if (started < devices)
        __atomic_store_n(&r->over, 1, __ATOMIC_RELAXED);
    for (int32_t d = 0; d < started; d++)
        pthread_join(workers[d].thread, NULL);
    free(workers);
    if (started < devices || r->refused)
        return sked_i_fail(err, SKED_ERR_DEVICE, "target threads: the system refuses %s",
                           r->refused ? "to pin a thread" : "a thread");
    if (sked_i_limit_stopped(&r->limit))
        return sked_i_fail(err, SKED_ERR_STOPPED, "the measurement was stopped");
    if (r->late)
        return sked_i_fail(err, SKED_ERR_DEVICE, "target threads: the run took more than %g s (timeout)",
                           r->threads->timeout);
    return SKED_OK;
}

static sked_status take_trace(const run *r, sked_i_trace *out, sked_error *err)
{
    const double unit = r->threads->unit;
    sked_status st = SKED_OK;
    sked_i_trace trace = {0};
    SKED_NEW(trace.start, r->graph->n_ops);
    SKED_NEW(trace.finish, r->graph->n_ops);
    for (int32_t i = 0; i < r->graph->n_ops; i++) {
        trace.start[i] = (record_of(r, i)->start - r->begin) / unit;
        trace.finish[i] = (record_of(r, i)->finish - r->begin) / unit;
        trace.time = fmax(trace.time, trace.finish[i]);
    }
    *out = trace;
    return SKED_OK;
cleanup:
    sked_i_answer_trace_free(&trace);
    return st;
}

sked_status sked_i_threads_run(sked_target *t, sked_i_threads *x, const sked_schedule *s, uint64_t number,
                               sked_i_trace *out, sked_error *err)
{
    enum {
        spins = 4096,
        spins_in_turn = 16
    }; /* where threads share a core, spinning keeps another from working */
    sked_status st = SKED_OK;
    run r = {.threads = x,
             .graph = t->problem.graph,
             .number = number,
             .limit = {.deadline = sked_clock() + x->timeout, .stop = t->stop}};
    r.spins = x->devices > x->cores.count ? spins_in_turn : spins;
    SKED_TRY(sked_i_queues_make(t, s, &r.queues, err));
    SKED_TRY(make_records(&r, t, s, err));
    SKED_TRY(run_threads(&r, err));
    SKED_TRY(check_values(&r, err));
    SKED_TRY(take_trace(&r, out, err));
cleanup:
    sked_i_queues_free(&r.queues);
    free(r.records);
    return st;
}

typedef struct errand {
    int place;
    bool pinned;
    void (*work)(void *data);
    void *data;
} errand;

static void *run_errand(void *argument)
{
    errand *e = argument;
    e->pinned = sked_i_cores_pin(e->place);
    if (e->pinned)
        e->work(e->data);
    return NULL;
}

sked_status sked_i_threads_pinned(int place, void (*work)(void *data), void *data, sked_error *err)
{
    errand e = {.place = place, .work = work, .data = data};
    pthread_t thread;
    const bool started = pthread_create(&thread, NULL, run_errand, &e) == 0;
    if (started)
        pthread_join(thread, NULL);
    if (!e.pinned)
        return sked_i_fail(err, SKED_ERR_DEVICE, "target threads: the system refuses %s",
                           started ? "to pin a thread" : "a thread");
    return SKED_OK;
}
