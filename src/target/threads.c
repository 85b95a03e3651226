/* The target `threads`: options, the memory it takes, and how long a sweep lasts here. */
#define _GNU_SOURCE
#include "target/threads.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS_OPTIONS(X)                                                                                   \
    X(UNIT, "unit", REAL, "0", 0, 1e9, NULL,                                                                 \
      "seconds of a duration of 1; 0: so that a mean op takes 0.2 ms, on graphs of more than 500 ops less, " \
      "but at least 0.02 ms")                                                                                \
    X(KIND, "kind", ENUM, "auto", 0, 0, "auto|arithmetic|memory",                                            \
      "what ops do: arithmetic in the cache, or memory streams; auto: by the type of the op")                \
    X(SCALE, "memory-scale", REAL, "1", 0, 1e9, NULL, "bytes that are moved for each byte of the graph")     \
    X(LIMIT, "memory-limit", REAL, "0", 0, 1e18, NULL,                                                       \
      "bytes that all results together may take; 0: half of this machine's memory")                          \
    X(TIMEOUT, "timeout", REAL, "60", 0.001, 1e9, NULL, "seconds a run may take")                            \
    X(OVERSUBSCRIBE, "oversubscribe", BOOL, "false", 0, 0, NULL,                                             \
      "more devices than this machine has hardware threads: several share one")

SKED_I_OPTIONS(THREADS_OPTIONS);

enum { KIND_AUTO, KIND_ARITHMETIC, KIND_MEMORY };

/* ------------------------------------------------------------------ memory */

static void area_free(sked_i_threads_area *a)
{
    if (a->data != NULL)
        munmap(a->data, a->size);
    *a = (sked_i_threads_area){0};
}

sked_status sked_i_threads_area_fit(sked_i_threads_area *a, size_t size, sked_error *err)
{
    if (a->data != NULL && a->size == size)
        return SKED_OK;
    area_free(a);
    if (size == 0)
        return SKED_OK;
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return sked_i_no_memory(err);
    *a = (sked_i_threads_area){.data = data, .size = size};
    return SKED_OK;
}

static void close_threads(sked_target *t)
{
    sked_i_threads *x = t->state;
    if (x == NULL)
        return;
    for (int32_t d = 0; d < x->devices; d++) {
        if (x->result != NULL)
            area_free(&x->result[d]);
        if (x->array != NULL)
            area_free(&x->array[d]);
    }
    sked_i_arena_free(&x->arena);
    free(x);
    t->state = NULL;
}

/* ------------------------------------------------------------------ what is asked for */

static void choose_kinds(sked_i_threads *x, const sked_graph *g, int wish)
{
    for (int32_t i = 0; i < g->n_ops; i++)
        x->kind[i] = wish == KIND_AUTO ? (unsigned char)sked_i_busy_kind_of(sked_graph_op_type(g, i))
                                       : wish == KIND_MEMORY;
}

static bool has_memory_kind(const sked_i_threads *x, const sked_graph *g)
{
    return g->n_ops > 0 && memchr(x->kind, SKED_I_BUSY_MEMORY, (size_t)g->n_ops) != NULL;
}

/* A mean op of 0.2 ms is long beside the microsecond that devices take to see each other's results. */
static double choose_unit(const sked_target *t, double wish)
{
    const double n = t->problem.graph->n_ops, mean = t->work / fmax(1, n);
    const double all = 0.1, longest = 2e-4, shortest = 2e-5; /* seconds */
    if (wish > 0 || !(mean > 0))
        return wish > 0 ? wish : 1;
    return fmax(shortest, fmin(longest, all / n)) / mean;
}

/* Pieces of the array that busy work sweeps over: twice the caches, so that a stream comes from memory. */
static int64_t pieces_of(const sked_i_threads *x, bool streams)
{
    const double most = 256 << 20, unknown = 32 << 20;
    const double cache = x->cores.cache > 0 ? x->cores.cache : unknown;
    return streams ? (int64_t)(fmin(most, 2 * cache) / (SKED_I_BUSY_PIECE * sizeof(double))) + 1 : 1;
}

static sked_status check_devices(const sked_i_threads *x, bool oversubscribe, sked_error *err)
{
    enum { most_in_turn = 64 }; /* threads that wait look at flags: thousands of them stop a machine */
    if (x->devices <= x->cores.count || (oversubscribe && x->devices / most_in_turn < x->cores.count))
        return SKED_OK;
    if (oversubscribe)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "%d devices on %d hardware threads: threads:oversubscribe=true puts up to %d on each",
            (int)x->devices, x->cores.count, most_in_turn);
    return sked_i_fail(
        err, SKED_ERR_UNSUPPORTED,
        "%d devices, but this process may use %d hardware threads (%d cores): take fewer devices, or "
        "threads:oversubscribe=true",
        (int)x->devices, x->cores.count, x->cores.distinct);
}

/* Refuses a unit that makes runs of years out of a slip: no schedule can be shorter than the ops' share. */
static sked_status check_length(const sked_i_threads *x, const sked_target *t, sked_error *err)
{
    double seconds = 0;
    for (int32_t i = 0; i < t->problem.graph->n_ops; i++)
        seconds += sked_i_shortest_time(&t->replay->costs, i) * x->unit;
    if (seconds / x->devices <= x->timeout)
        return SKED_OK;
    return sked_i_fail(
        err, SKED_ERR_UNSUPPORTED,
        "a run takes %.3g s at least (a duration of 1 is %.3g s), more than the %.3g s allowed; "
        "see unit and timeout of target threads",
        seconds / x->devices, x->unit, x->timeout);
}

static double memory_here(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static sked_status check_memory(const sked_i_threads *x, const sked_graph *g, double limit, sked_error *err)
{
    const double most = limit > 0 ? limit : memory_here() / 2;
    double total = 0;
    for (int32_t i = 0; i < g->n_ops; i++)
        total += fmax(64, sked_i_queue_result_size(g, i) * x->scale);
    for (int32_t d = 0; d < x->devices; d++)
        total += (double)x->busy[d].pieces * SKED_I_BUSY_PIECE * sizeof(double);
    if (total <= most)
        return SKED_OK;
    return sked_i_fail(
        err, SKED_ERR_UNSUPPORTED,
        "the results of all ops and the streams of %d devices take %.4g MB, more than the %.4g MB "
        "allowed here; see memory-scale and memory-limit of target threads",
        (int)x->devices, total / 1e6, most / 1e6);
}

/* ------------------------------------------------------------------ calibration */

typedef struct calibration {
    sked_i_threads *threads;
    bool streams;
    sked_i_limit limit;
} calibration;

static void calibrate(void *data)
{
    const calibration *c = data;
    sked_i_threads *const x = c->threads;
    sked_i_threads_touch(&x->array[0]);
    x->sweep[SKED_I_BUSY_ARITHMETIC] = sked_i_busy_calibrate(&x->busy[0], SKED_I_BUSY_ARITHMETIC, &c->limit);
    if (c->streams)
        x->sweep[SKED_I_BUSY_MEMORY] = sked_i_busy_calibrate(&x->busy[0], SKED_I_BUSY_MEMORY, &c->limit);
}

static sked_status make_busy(sked_i_threads *x, const sked_target *t, double limit, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = t->problem.graph;
    calibration c = {
        .threads = x, .streams = has_memory_kind(x, g), .limit = {.deadline = INFINITY, .stop = t->stop}};
    for (int32_t d = 0; d < x->devices; d++)
        x->busy[d].pieces = pieces_of(x, c.streams);
    SKED_TRY(check_memory(x, g, limit, err));
    for (int32_t d = 0; d < x->devices; d++) {
        const size_t size = (size_t)x->busy[d].pieces * SKED_I_BUSY_PIECE * sizeof(double);
        SKED_TRY(sked_i_threads_area_fit(&x->array[d], size, err));
        x->busy[d].array = x->array[d].data;
    }
    assert(x->cores.count > 0);
    SKED_TRY(sked_i_threads_pinned(x->cores.place[0], calibrate, &c, err));
    if (sked_i_limit_stopped(&c.limit))
        st = sked_i_fail(err, SKED_ERR_STOPPED, "the measurement was stopped");
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the target */

static void tell(sked_target *t, const sked_i_threads *x)
{
    const char *other = sked_i_target_other_type(t);
    char unit[40];
    sked_i_digits(x->unit, 3, unit);
    sked_i_buffer_format(&t->about, "%d device%s on %d hardware thread%s of this machine: ", (int)x->devices,
                         x->devices == 1 ? " is a pinned thread" : "s are pinned threads", x->cores.count,
                         x->cores.count == 1 ? "" : "s");
    sked_i_buffer_format(&t->about,
                         "they work for the ops' times, not with their code; a duration of 1 takes %s s "
                         "(unit=), and times are in the graph's unit",
                         unit);
    if (other != NULL)
        sked_i_buffer_format(&t->about,
                             "\ndevices of type '%s' have no counterpart: CPU threads stand for them",
                             sked_i_quoted_text(other).text);
}

static sked_status prepare(sked_target *t, const double *setting, sked_error *err)
{
    const sked_graph *g = t->problem.graph;
    sked_status st = SKED_OK;
    sked_i_threads *x = NULL;
    SKED_TRY(sked_i_queues_check_lags(g, "threads", err));
    SKED_NEW0(x, 1);
    t->state = x;
    x->devices = t->replay->costs.devices;
    x->scale = setting[OPTION_SCALE];
    x->unit = choose_unit(t, setting[OPTION_UNIT]);
    x->timeout = setting[OPTION_TIMEOUT];
    SKED_TRY(sked_i_cores_find(&x->cores, &x->arena, err));
    SKED_TRY(check_devices(x, setting[OPTION_OVERSUBSCRIBE] != 0, err));
    SKED_TRY(check_length(x, t, err));
    SKED_OWN(&x->arena, x->kind, g->n_ops);
    SKED_OWN0(&x->arena, x->result, x->devices);
    SKED_OWN0(&x->arena, x->array, x->devices);
    SKED_OWN0(&x->arena, x->busy, x->devices);
    choose_kinds(x, g, (int)setting[OPTION_KIND]);
    SKED_TRY(make_busy(x, t, setting[OPTION_LIMIT], err));
    tell(t, x);
cleanup:
    return st;
}

static sked_status run(sked_target *t, const double *setting, const sked_schedule *s, sked_i_trace *out,
                       sked_error *err)
{
    (void)setting;
    return sked_i_threads_run(t, t->state, s, t->runs, out, err);
}

const sked_i_target sked_i_target_threads = {
    .info =
        {"threads",
         "runs the schedule on this machine: a device is a pinned thread, ops work for their durations, "
         "write "
         "results of their memory and read those of others; stands alone; repeat is 5 and warm-up 1 unless "
         "given" SKED_I_CORES_NOTE,
         options, n_options},
    .repeat = 5,
    .warm_up = 1,
    .prepare = prepare,
    .close = close_threads,
    .run = run};
