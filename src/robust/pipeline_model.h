/*
 * What a stage of a pipeline takes: an overhead (clock to output, setup, the way into and out of the first
 * and last op) and, of each op in its longest chain, a delay by type and width and one by how many ops read
 * it, which stands for routing. So a chain costs less than the sum of ops measured one by one. Ridge
 * regression around the library's delays; ops that stand out have a correction of their own.
 */
#ifndef SKED_ROBUST_PIPELINE_MODEL_H
#define SKED_ROBUST_PIPELINE_MODEL_H
#include "base/arena.h"
#include "problem/chaining.h"
#include "robust/carry_save.h"
#include "robust/covering.h"

enum {
    SKED_I_PATH_OVERHEAD,
    SKED_I_PATH_FAN_OUT,
    SKED_I_PATH_LEVEL,
    SKED_I_PATH_TYPES,
    SKED_I_PATH_MOST = 256
};

typedef struct sked_i_path_model {
    sked_i_arena arena;
    const sked_problem *problem;
    bool learn;                    /* false: the library's delays times parameter 0 */
    int32_t count;                 /* parameters: overhead, fan-out, kinds of ops */
    int32_t *kind;                 /* [ops] parameter of the op; -1: none, it has the delays of the graph */
    int32_t *example;              /* [count] an op of the kind */
    double *prior, *mean, *weight; /* [count] weight: of the prior */
    double *fan_out;               /* [ops] logarithm of the readers, base 2 */
    double *extra;                 /* [ops] what stands out */
    sked_i_cuts *cuts;             /* [ops] of gates; NULL: there are none, or tables are not counted */
    sked_i_carry *tree;            /* [ops] of sums and products */
    double *delay, *arrival; /* [ops] work space of the chain at hand: after its last input, in its cycle */
    int32_t *before;         /* [ops] the op before it in its longest chain, -1: none */
    double *matrix, *side;   /* [2 * count * count], [2 * count]: the second halves are factor and solution */
    int32_t last;            /* the op that ends the longest chain */
    double *sum, *times;     /* [ops] of weights and residuals */
} sked_i_path_model;

/* What one run said of a pipeline. */
typedef struct sked_i_path_data {
    const sked_schedule *schedule;
    const double *start, *finish; /* [ops] as target ice40 gives them */
} sked_i_path_data;

SKED_MUST_CHECK sked_status sked_i_path_open(sked_i_path_model *m, const sked_problem *p, bool learn,
                                             sked_error *err);
void sked_i_path_close(sked_i_path_model *m);
/*
 * The longest chain of a schedule (NULL: of all ops in one cycle), without the overhead; delay, arrival and
 * before are filled. O(ops + edges)
 */
double sked_i_path_chain(sked_i_path_model *m, const sked_schedule *s);
/* How far the longest chain of the schedule that sked_i_path_chain saw last may be off: a standard deviation.
 */
double sked_i_path_doubt(sked_i_path_model *m);
/* Stages whose time is near the period count most. */
static inline double sked_i_path_weight(double clock, double time)
{
    return time < clock ? time * time / (clock * clock) : clock * clock / (time * time);
}
double sked_i_path_overhead(const sked_i_path_model *m);
/* Learns from all runs. */
void sked_i_path_fit(sked_i_path_model *m, const sked_i_path_data *data, int32_t runs);
#endif
