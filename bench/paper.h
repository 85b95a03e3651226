/*
 * What the files of `sked-bench paper` share: our rows for the tables of "Robust Scheduling with GFlowNets"
 * (ICLR 2023), the models that some rows train first, and how rows are printed and recorded.
 */
#ifndef SKED_BENCH_PAPER_H
#define SKED_BENCH_PAPER_H
#include "graphs.h"

#include <math.h>

enum {
    PAPER_DEVICES = 4,
    PAPER_DRAWS = 1000,
    PAPER_TOP = 100,
    PAPER_NOISES = 5,          /* noisy: the mean over this many sets of true durations */
    PAPER_EVALUATIONS = 75000, /* complete schedules that brkga and search build, */
    PAPER_EVALUATED_OPS = 100, /* fewer in proportion above this many ops */
    PAPER_POPULATION = 2 * PAPER_DRAWS,
    PAPER_MOST_SEEDS = 20,
};

/* ---------------------------------------------------------------- the run */

/* What becomes of models that are missing. */
typedef enum paper_training_of { PAPER_TRAIN_AUTO, PAPER_TRAIN_ONLY, PAPER_TRAIN_NEVER } paper_training_of;

/* Results of single runs, those of --results and those of this one. */
typedef struct paper_results {
    struct paper_result *at;
    size_t count, room;
    FILE *file; /* NULL: without --results */
} paper_results;

typedef struct paper_run {
    const arguments *a;
    int seeds;
    bool full, stepwise;
    paper_training_of train;
    int64_t built_in; /* updates of the built-in model */
    paper_results results;
    json_out json; /* where results are recorded, one object a line; file NULL: nowhere */
    file_out file;
} paper_run;

/* Begins an object of the given kind on a line of its own; paper_record_end ends it. Only where json.file. */
void paper_record(paper_run *r, const char *kind);
void paper_record_numbers(paper_run *r, const char *key, const double *x, int n);
void paper_record_end(paper_run *r);

/* ---------------------------------------------------------------- who takes part: the only list */

/*
 * Id, label, method, settings, candidates, schedules that one of its iterations builds (0: it ends by
 * itself), the learner that makes its model.
 */
#define PAPER_METHOD_LIST(X)                                                                                 \
    X(LIST, "list", "list", SETTINGS("priority=critical-path"), 1, 0, -1)                                    \
    X(RANDOM_LIST, "random list", "list", SETTINGS("priority=random"), PAPER_DRAWS, 0, -1)                   \
    X(BRKGA, "brkga", "brkga", SETTINGS(NULL), PAPER_DRAWS, PAPER_POPULATION, -1)                            \
    X(SEARCH, "search", "search", SETTINGS(NULL), PAPER_DRAWS, 1, -1)                                        \
    X(BUILT_IN, "gflownet, built in", "gflownet", SETTINGS("prior=true"), PAPER_DRAWS, 0, -1)                \
    X(PPO_ONCE, "ppo, encode-once", "gflownet", SETTINGS("prior=false", "temperature=0.25"), PAPER_DRAWS, 0, \
      PAPER_LEARNER_PPO_ONCE)                                                                                \
    X(PPO_STEPWISE, "ppo, stepwise", "gflownet", SETTINGS("prior=false", "temperature=0.25"), PAPER_DRAWS,   \
      0, PAPER_LEARNER_PPO_STEPWISE)                                                                         \
    X(PPO_RULE, "ppo, rule + stepwise", "gflownet", SETTINGS("prior=false", "temperature=0.25"),             \
      PAPER_DRAWS, 0, PAPER_LEARNER_PPO_RULE)                                                                \
    X(ONCE, "gflownet, encode-once", "gflownet", SETTINGS("prior=false", "temperature=0.005"), PAPER_DRAWS,  \
      0, PAPER_LEARNER_ONCE)                                                                                 \
    X(STEPWISE, "gflownet, stepwise", "gflownet", SETTINGS("prior=false", "temperature=0.005"), PAPER_DRAWS, \
      0, PAPER_LEARNER_STEPWISE)                                                                             \
    X(RULE, "gflownet, rule + stepwise", "gflownet", SETTINGS("prior=false", "temperature=0.005"),           \
      PAPER_DRAWS, 0, PAPER_LEARNER_RULE)
enum {
#define X(id, ...) PAPER_##id,
    PAPER_METHOD_LIST(X)
#undef X
        PAPER_METHODS
};

enum { PAPER_MOST_SETTINGS = 5 };
typedef struct paper_method {
    const char *label, *method, *settings[PAPER_MOST_SETTINGS];
    int32_t candidates;
    int32_t evaluations;
    int learner; /* -1: none */
} paper_method;
extern const paper_method paper_methods[PAPER_METHODS];
/* Not one of the rivals: ppo is, though it draws from the same networks. */
bool paper_is_gflownet(int method);

typedef struct paper_stage {
    const char *name;
    bool local;
    int improve;
} paper_stage;
enum { PAPER_STAGES = 3 };
extern const paper_stage paper_stages[PAPER_STAGES];

/* ---------------------------------------------------------------- figures */

/* A column is one figure of a row; `judged`: gflownet should not be below the others there. */
#define PAPER_COLUMN_LIST(X)        \
    X(top1, "top 1", true)          \
    X(top100, "top 100", false)     \
    X(noisy, "noisy", true)         \
    X(bandwidth, "bandwidth", true) \
    X(latency, "latency", true)     \
    X(ged, "GED [%]", false)        \
    X(d_inv, "d_inv", false)        \
    X(d_sen, "d_sen", false)
enum {
#define X(field, name, judged) PAPER_##field,
    PAPER_COLUMN_LIST(X)
#undef X
        PAPER_COLUMNS
};
enum { PAPER_TARGETS = 3 }; /* columns from PAPER_noisy on */
extern const char *const paper_targets[PAPER_TARGETS];

typedef struct paper_row {
    double figure[PAPER_COLUMNS];
    double candidates, seconds;
} paper_row;

/* What one method has reached on one graph with one seed and one set of stages. */
enum { PAPER_KEY = 200 };
typedef struct paper_result {
    char key[PAPER_KEY]; /* version, table, method, updates asked for, seed, stages, graph */
    uint32_t hash;       /* of the key */
    int64_t trained;     /* updates that the model has; 0: none */
    paper_row row;
} paper_result;
/* Reads the results of a file, which is made where it is missing; new ones go to its end. */
sked_status paper_results_open(paper_run *r, const char *path, sked_error *err);
void paper_results_close(paper_run *r);
/* key: [PAPER_KEY]. Without a graph (NULL) it is what the keys of all stages and graphs begin with. */
void paper_result_key(const paper_run *r, const char *table, int method, int64_t updates, int seed, int stage,
                      const char *graph, char *key);
/* Fills in the result with that key, if there is one. Time: linear in their number. */
bool paper_results_find(const paper_run *r, paper_result *x);
/* Updates of the model behind a result whose key begins so; 0: there is none. */
int64_t paper_results_trained(const paper_run *r, const char *prefix);
/* Does nothing without --results. */
sked_status paper_results_add(paper_run *r, const paper_result *x, sked_error *err);

/* One method with one set of stages: sums over graphs, for each seed. */
typedef struct paper_cell {
    paper_row seed[PAPER_MOST_SEEDS];
} paper_cell;

/* A row as published; NAN: the paper has none. */
typedef struct paper_published {
    const char *method;
    double figure[PAPER_COLUMNS], deviation[PAPER_COLUMNS];
} paper_published;
enum { PAPER_PUBLISHED = 4 };

/* ---------------------------------------------------------------- models */

/* Id, name, policy, settings beside it (those of ppo: docs/training.md), range of temperatures it is trained
 * at. */
/* The paper's policy from nothing learns by steps (docs/training.md), as scripts/train-paper.sh does, and so
 * does ppo; the rate falls to the end. */
#define PAPER_STEPS "credit=steps", "lambda=0.6", "batch=32"
#define PAPER_LEARNER_LIST(X)                                                                               \
    X(PPO_ONCE, "ppo-once", "policy=encode-once", SETTINGS("loss=ppo", "rate=0.003"), 0.25, 0.25)           \
    X(PPO_STEPWISE, "ppo-stepwise", "policy=stepwise", SETTINGS("loss=ppo", "rate=0.003", PAPER_STEPS),     \
      0.01, 0.01)                                                                                           \
    X(ONCE, "encode-once", "policy=encode-once", SETTINGS("loss=variance"), 0.01, 1)                        \
    X(STEPWISE, "stepwise", "policy=stepwise", SETTINGS("backward=uniform", PAPER_STEPS), 0.00125, 0.0125)  \
    X(PPO_RULE, "ppo-rule", "policy=stepwise", SETTINGS("loss=ppo", "rate=0.003", "rule=list"), 0.25, 0.25) \
    X(RULE, "rule", "policy=stepwise", SETTINGS("loss=variance", "rule=list"), 0.01, 1)
enum {
#define X(id, ...) PAPER_LEARNER_##id,
    PAPER_LEARNER_LIST(X)
#undef X
        PAPER_LEARNERS
};

enum { PAPER_PATH = 700 };
/* What a set of models learns from. */
typedef struct paper_training {
    const char *name;    /* of its files */
    const char *graphs;  /* as in sked_train_options */
    const char *setting; /* one more, or NULL */
    double
        sharpness; /* mean of (speedup of list)^2 / ops: kappa times temperature (docs/methods/gflownet.md) */
    int64_t updates[2]; /* usual, --full */
} paper_training;

/* One model of a training: a policy, a loss, a range of temperatures. */
typedef struct paper_pupil {
    const char *name, *policy;
    const char *settings[PAPER_MOST_SETTINGS];
    double coldest, warmest; /* temperatures */
} paper_pupil;
/* As --updates says, or --stepwise-updates for stepwise without a rule; else of the training. */
int64_t paper_updates(const paper_run *r, const paper_training *t, const paper_pupil *who);
/* Whether this run has its rows: encode-once always, stepwise with --full or --stepwise. */
bool paper_pupil_on(const paper_run *r, const paper_pupil *who);
const paper_pupil *paper_learner(int learner);
/*
 * Trains up to `updates`, going on from the model in file `from` (NULL: from none), or takes the model that
 * an earlier run has left in the folder of --models; path (another than from) gets its file. A stop leaves a
 * model of fewer updates, which the next run continues. Where another process trains the same model,
 * --train only goes on to the next one and others wait. With --train never the model is one that is there, of
 * any backend and any number of updates: IO where there is none.
 */
sked_status paper_train(const paper_run *r, const paper_training *t, const paper_pupil *who, int seed,
                        int64_t updates, const char *from, char *path, sked_error *err);
/* FNV-1a: goes on from `hash`, at first PAPER_HASH. */
#define PAPER_HASH 2166136261u
uint32_t paper_hash(uint32_t hash, const char *text);
/* Updates of the model in a file; 0: there is none. */
int64_t paper_updates_of(const char *path);
/* --models/part, the folder made where it is missing. */
sked_status paper_folder(const paper_run *r, const char *part, char *path, sked_error *err);
/*
 * Holds path.lock against other processes until paper_unlock, or until this one ends. *lock stays -1 where
 * another has it and `wait` is false, or where a stop came while waiting.
 */
sked_status paper_lock(const char *path, bool wait, int *lock, sked_error *err);
void paper_unlock(const char *path, int lock);
/* (Speedup of list scheduling)^2 / ops of one graph. */
sked_status paper_sharpness(const sked_graph *g, double *out, sked_error *err);

/* ---------------------------------------------------------------- tables */

typedef struct paper_table {
    const char *name, *title;
    const paper_published *published; /* [PAPER_PUBLISHED]; NULL: no such table there */
    /* Trains what its rows need, then calls paper_graph for each graph. */
    sked_status (*run)(paper_run *r, struct paper_table *t, sked_error *err);
    paper_cell sum[PAPER_METHODS][PAPER_STAGES];
    char model[PAPER_LEARNERS][PAPER_MOST_SEEDS][PAPER_PATH]; /* "": not trained or not needed so far */
    const paper_training *how; /* NULL: rows that need a model of their own are left out */
    int64_t trained[PAPER_LEARNERS][PAPER_MOST_SEEDS]; /* updates that the models have */
    int seeds[PAPER_LEARNERS]; /* with a model or results: all, or with --train never the first ones */
    int graphs;
    int found;           /* results of the file of --results */
    double begin, width; /* share of the set done before this graph, and what it adds */
} paper_table;

/* The models of all learners and seeds that have no results; with --train only that is all a table does. */
sked_status paper_table_learn(paper_run *r, paper_table *t, const paper_training *how, sked_error *err);
/* The file of one of them; trained now where that was put off. */
sked_status paper_table_model(const paper_run *r, paper_table *t, int learner, int seed, const char **path,
                              sked_error *err);
/* Whether --rows admits a row of this name. */
bool paper_row_wanted(const paper_run *r, const char *name);
/* Updates that the model of a row is asked to have; 0: it has none. */
int64_t paper_row_updates(const paper_run *r, const paper_table *t, int method);
bool paper_takes_part(const paper_run *r, const paper_table *t, int method);
/* Seeds of a row. */
int paper_row_seeds(const paper_run *r, const paper_table *t, int method);
/* Every method, stage and seed on one graph, added to the table's sums. A stop on the way leaves it out. */
/* label: another for each graph of the table. */
sked_status paper_graph(paper_run *r, const sked_graph *g, const char *label, paper_table *t,
                        sked_error *err);
void paper_progress(paper_table *t, int done, int count);
/* What a method makes of one problem; the stages pass it on. paper_pool_clear frees it. */
typedef struct paper_pool {
    sked_result made;
    double seconds;
} paper_pool;
sked_status paper_make(const paper_run *r, const sked_problem *p, const paper_method *who, const char *model,
                       int seed, paper_pool *out, sked_error *err);
void paper_pool_clear(paper_pool *x);
/* The pipeline, from these candidates on. Its target is the proxy: the others measure what it keeps. */
sked_status paper_pass(const paper_run *r, const sked_problem *p, const paper_pool *from,
                       const paper_stage *stage, int seed, sked_robust_result *out, sked_error *err);
bool paper_skipped(const paper_run *r, int index);

/* What the models of a table learn from; how->graphs points to path or spec. Table 1: and its graph. */
enum { PAPER_SPEC = 2 * PAPER_PATH, PAPER_STRIDE2 = 5 /* of the test graphs of table 2, without --full */ };
sked_status paper_training1(const paper_run *r, char *path, size_t size, paper_training *how,
                            sked_graph **out, sked_error *err);
sked_status paper_training2(const paper_run *r, char *spec, size_t size, paper_training *how,
                            sked_error *err);
sked_status paper_table1(paper_run *r, paper_table *t, sked_error *err);
sked_status paper_table2(paper_run *r, paper_table *t, sked_error *err);
sked_status paper_table3(paper_run *r, paper_table *t, sked_error *err);
sked_status paper_random(paper_run *r, paper_table *t, sked_error *err);
sked_status paper_networks(paper_run *r, paper_table *t, sked_error *err);
extern const paper_published paper_published1[PAPER_PUBLISHED], paper_published2[PAPER_PUBLISHED],
    paper_published3[PAPER_PUBLISHED];

/* paper_print.c */
void paper_print_header(void);
void paper_print_cells(const paper_run *r, const paper_table *t, paper_cell (*cells)[PAPER_STAGES],
                       int graphs);
void paper_print_published(const paper_table *t);
/* Where a gflownet row is below the best of the others with the same stages, in so many words. */
void paper_print_verdicts(const paper_run *r, const paper_table *t);
void paper_record_table(paper_run *r, const paper_table *t);
double paper_over_seeds(const paper_cell *c, int column, int graphs, int seeds, double *deviation);

/* ---------------------------------------------------------------- other sets */

sked_status paper_figures(paper_run *r, sked_error *err);
sked_status paper_generators(paper_run *r, sked_error *err);
sked_status paper_temperature(paper_run *r, const sked_sampler *m, sked_error *err);
sked_status paper_devices(paper_run *r, sked_error *err);
sked_status paper_tune(paper_run *r, sked_error *err);
/* Whether --rows leaves a loss. */
sked_status paper_tune_check(const arguments *a, sked_error *err);
#endif
