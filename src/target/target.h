/*
 * A target: parts joined by '+', each one file here and one line in table.h. spec.c parses specs, target.c
 * joins the parts, replay.c runs schedules on what they make, measure.c repeats runs.
 */
#ifndef SKED_TARGET_TARGET_H
#define SKED_TARGET_TARGET_H
#include "base/arena.h"
#include "base/option.h"
#include "base/rng.h"
#include "problem/lower.h"
#include "schedule/replay.h"
#include "schedule/schedule.h"

enum { SKED_I_TARGET_OPTIONS = 16, SKED_I_TARGET_PARTS = 16 };

/* Options of the whole target, which any part may set. Columns as in base/option.h. */
#define SKED_I_TARGET_COMMON(X)                                                                          \
    X(REPEAT, "repeat", INT, "1", 1, 1000, NULL, "runs of a schedule; the median is its time")           \
    X(WARM_UP, "warm-up", INT, "0", 0, 1000, NULL, "runs before them that do not count")                 \
    X(TRACE, "trace", ENUM, "auto", 0, 0, "auto|true|false",                                             \
      "give start and finish of every op; auto: what is run gives them (threads, simgrid, a program of " \
      "command that prints them), models do not")                                                        \
    X(PARALLEL, "parallel", ENUM, "auto", 0, 0, "auto|true|false",                                       \
      "ranks of MPI measure at once, each for itself; auto: simulated targets, not threads or a command")
#define SKED_I_TARGET_COMMON_ID(id, ...) SKED_I_TARGET_##id,
enum { SKED_I_TARGET_COMMON(SKED_I_TARGET_COMMON_ID) SKED_I_TARGET_COMMON_OPTIONS };
enum { SKED_I_TRACE_AUTO, SKED_I_TRACE_TRUE, SKED_I_TRACE_FALSE };
enum { SKED_I_PARALLEL_AUTO, SKED_I_PARALLEL_TRUE, SKED_I_PARALLEL_FALSE };

/*
 * Times of measurements and traces are below the one; a measured time that is not 0 is at least the other, so
 * that speedups and their logarithms are numbers.
 */
#define SKED_I_MOST_TIME  1e100
#define SKED_I_LEAST_TIME 1e-100

/* One run of a schedule. */
typedef struct sked_i_trace {
    double time;
    double *start, *finish; /* [ops] NULL: the run gave no more than its time */
} sked_i_trace;
void sked_i_answer_trace_free(sked_i_trace *r);
/* Frees start and finish; the time stays. */
void sked_i_answer_trace_drop(sked_i_trace *r);
/*
 * measure.c. The one rule of what a run may say, whoever ran it. `timed`: the ops take time, so their run
 * does. Otherwise DEVICE; *why (may be NULL) says it of op or time.
 */
SKED_MUST_CHECK sked_status sked_i_answer_check_time(double time, bool timed, sked_error *why);
SKED_MUST_CHECK sked_status sked_i_answer_check_op(const sked_graph *g, int32_t op, double start,
                                                   double finish, sked_error *why);

typedef struct sked_i_target_part {
    const struct sked_i_target *kind;
    double setting[SKED_I_TARGET_OPTIONS];
    const char *given[SKED_I_TARGET_OPTIONS]; /* "key=value", for options that are texts */
    int n_given;
} sked_i_target_part;

struct sked_target {
    sked_i_arena arena;
    sked_i_target_part part[SKED_I_TARGET_PARTS]; /* in the order of the spec */
    int n_parts;
    double common[SKED_I_TARGET_COMMON_OPTIONS];
    sked_problem problem;      /* what the target runs: the user's, as the parts have changed it */
    sked_i_lowered profiled;   /* the user's, with the durations of the machine's profile */
    sked_graph *graph;         /* owned; NULL: that of the problem */
    sked_machine *machine;     /* likewise */
    sked_i_replay_rules rules; /* set by contention and cache */
    double jitter,
        run_jitter; /* set by jitter: deviations of the logarithms of each duration, of a whole run */
    sked_i_replay *replay;
    double *factor;      /* [ops] of the run at hand; NULL: there is no jitter */
    uint64_t seed, runs; /* runs so far, warm-up and all */
    double work;
    char *argument;                    /* of command and simgrid: what stands behind the colon */
    void *state;                       /* of a kind that runs schedules itself; its `close` frees it */
    sked_i_buffer about;               /* what runs where; parts add lines of their own */
    const volatile sig_atomic_t *stop; /* ends what is under way; NULL: none */
    sked_measure_fn measure;           /* of callback.c: the caller's own function; NULL: there is none */
    void *measure_data;
};

typedef struct sked_i_target {
    sked_target_info info;
    bool free_text;      /* what stands behind the colon is no option list */
    bool pipelines;      /* measures schedules with an interval of 1, without devices, against a clock */
    bool simulated;      /* it has a `run`, and yet several processes may measure at once */
    int repeat, warm_up; /* presets of its own for these common options; 0: those of all */
    /*
     * Changes t->problem (through sked_i_target_take_graph, ..._take_machine), the rules or the jitter. Parts
     * come in the order of the spec. NULL: nothing to do.
     */
    sked_status (*open)(sked_target *t, const double *setting, sked_error *err);
    /* After every part was opened: what depends on all of them. NULL: nothing to do. */
    sked_status (*complete)(sked_target *t, sked_error *err);
    /* After that, when t->replay and t->work are there: what `run` needs. NULL: nothing. */
    sked_status (*prepare)(sked_target *t, const double *setting, sked_error *err);
    /* Frees t->state. It may be NULL. */
    void (*close)(sked_target *t);
    /* One run, trace and all; NULL: replay the schedule on t->problem. Such a kind stands alone. */
    sked_status (*run)(sked_target *t, const double *setting, const sked_schedule *s, sked_i_trace *out,
                       sked_error *err);
} sked_i_target;

/* A type of device that is none of a CPU, or NULL: such devices have no counterpart in threads. */
const char *sked_i_target_other_type(const sked_target *t);
/* The table: the member of that name; ARGUMENT with the nearest one. */
SKED_MUST_CHECK sked_status sked_i_target_find(const char *name, const sked_i_target **out, sked_error *err);
/* spec.c. Fills parts, common options and argument from a spec. */
SKED_MUST_CHECK sked_status sked_i_target_parse(const char *spec, sked_target *t, sked_error *err);
/* The graph (machine) that the parts have made so far is replaced by this one, which t owns from now on. */
void sked_i_target_take_graph(sked_target *t, sked_graph *graph);
void sked_i_target_take_machine(sked_target *t, sked_machine *machine);
/* transfer.c. Do transfers take time? If not, they get the preset costs of `linear`. */
SKED_MUST_CHECK sked_status sked_i_target_need_transfers(sked_target *t, sked_error *err);
/* jitter.c. Fills t->factor for the run at hand and returns the factor of the whole of it. */
double sked_i_jitter_draw(sked_target *t);

/* callback.c. A target whose runs are calls of a function, on its own kind that no spec can name. */
SKED_MUST_CHECK sked_status sked_i_target_create_callback(sked_measure_fn measure, void *data,
                                                          const sked_problem *p,
                                                          const volatile sig_atomic_t *stop,
                                                          sked_target **out, sked_error *err);
/* target.c. t has its parts: makes it ready for p. */
SKED_MUST_CHECK sked_status sked_i_target_prepare(sked_target *t, const sked_problem *p, sked_error *err);

/* May several processes measure at once? */
bool sked_i_target_parallel(const sked_target *t);
/* The next measurement is the one after `number` others: simulated noise is that of its number. */
void sked_i_target_seek(sked_target *t, int64_t number);
#endif
