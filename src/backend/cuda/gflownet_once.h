/*
 * The encode-once policy on a GPU: what its parts share.
 *
 * Problems of one call are numbered (lesson); their ops are rows of common matrices, their trajectories are
 * numbered through. Sums run in a fixed order, without atomics: same input, same bytes.
 *
 *   gflownet_pack.cu     problems as one block of bytes that is copied at once
 *   gflownet_encoder.cu  the encoder and the rows the walks read, and the way back to the parameters
 *   gflownet_walk*       trajectories, one thread block each, with the gradient of log P_F - log P_B of each
 *   gflownet_learn.cu    losses, sums over trajectories
 *   gflownet_policy.cu   memory and order of launches
 *   gflownet_model.cu    parameters, cutting, Adam: as for stepwise
 */
#ifndef SKED_BACKEND_CUDA_GFLOWNET_ONCE_H
#define SKED_BACKEND_CUDA_GFLOWNET_ONCE_H
#include "backend/cuda/gflownet_model.h"

enum {
    HEADS = 7,
    PAIR = SKED_I_PAIR_FEATURES,
    DIRECT = SKED_I_DIRECT_FEATURES,
    AHEAD = SKED_I_AHEAD,
    MOST_OPS = SKED_I_CHOICE_OPS,
    MOST_DEVICES = SKED_I_CHOICE_DEVICES,
    WARP = 32
};
/* As in batch.c and once_walk.c. */
#define ONCE_HEAT_SHARE  0.0625f
#define ONCE_DIRECT_CLIP 12.0f
#define ONCE_NEGLIGIBLE  (-36.0)

/* ------------------------------------------------------------------ what a walk keeps of one trajectory */

/*
 * Pieces of one trajectory's state: name, type, numbers. Early ones lie in shared memory, the rest in global
 * memory where there is no more room. n ops, k columns, g kinds, c context, w width, t = threads / 32, p =
 * pairs of a step, d = columns of a step at most; `grad` is 0 or 1.
 */
#define ONCE_PIECES(X)                                            \
    X(head, walk_head, 1)                                         \
    X(state, float, 2 * c + SKED_I_STATE_FEATURES)                \
    X(base, float, w)                                             \
    X(sum_wait, float, c)                                         \
    X(sum_device, float, c)                                       \
    X(row, int32_t, MOST_OPS)                                     \
    X(index, int32_t, MOST_OPS)                                   \
    X(op_least, double, MOST_OPS)                                 \
    X(reduce, double, 4 * t)                                      \
    X(told, walk_told, WARP)                                      \
    X(pair, float, (PAIR * w))                                    \
    X(out, float, w)                                              \
    X(feature, float, (ONCE_CHUNK * PAIR))                        \
    X(straight, float, (ONCE_CHUNK * (grad ? DIRECT + 1 : 1)))    \
    X(partial, float, ((int64_t)ONCE_ROWS * t * (c > w ? c : w))) \
    X(total_wait, float, (grad * c))                              \
    X(total_device, float, (grad * c))                            \
    X(dbase, float, (grad * w))                                   \
    X(sum_direct, float, (grad * DIRECT))                         \
    X(sum_empty, float, (grad * c))                               \
    X(sum_empty_part, float, (grad * w))                          \
    X(sum_wait_feature, float, (grad * SKED_I_WAIT_FEATURES * c)) \
    X(sum_last_feature, float, (grad * SKED_I_LAST_FEATURES * c)) \
    X(free_at, double, k)                                         \
    X(last, int32_t, k)                                           \
    X(used, int32_t, k)                                           \
    X(opened, int32_t, g)                                         \
    X(column, int32_t, d)                                         \
    X(count, int32_t, d)                                          \
    X(changed, walk_change, k + 1)                                \
    X(device_feature, float, 3 * k)                               \
    X(device, float, (k * c))                                     \
    X(device_part, float, (k * w))                                \
    X(logit, float, p)                                            \
    X(ready_time, double, n)                                      \
    X(waits, int32_t, n)                                          \
    X(ready, int32_t, n)                                          \
    X(device_of, int32_t, n)                                      \
    X(followed, uint8_t, n)                                       \
    X(device_from, float, (grad * k * c))                         \
    X(ddevice_part, float, (grad * k * w))                        \
    X(sum_pair, float, ((int64_t)grad * (PAIR + 1) * t * w))      \
    X(taken, uint8_t, k)                                          \
    X(noise, double, n)                                           \
    X(arrive, double, (moves * n * k))                            \
    X(local, double, (moves * n * k))                             \
    X(ahead, walk_ahead, (moves * MOST_OPS * AHEAD))              \
    X(op_end, double, (moves * MOST_OPS))                         \
    X(end, double, (moves * p))

enum { ONCE_CHUNK = 128, ONCE_CHUNK_DEVICES = 4, ONCE_ROWS = 4 };
/* Threads of a walk. */
enum { ONCE_FEWER = 128, ONCE_MORE = 256 };
/* Width and context. */
enum { ONCE_WIDE = SKED_I_GPU_WIDTH };
static_assert((int)SKED_I_GPU_CONTEXT == (int)SKED_I_GPU_WIDTH, "a lane has two columns of either");
/*
 * Where all that counts fits, the weights of state and devices lie in shared memory for all walks of a block,
 * with rows so far apart that both they and their transpose are read without conflicts of banks.
 */
enum { ONCE_STATES = 2 * ONCE_WIDE + SKED_I_STATE_FEATURES, ONCE_STRIDE = ONCE_WIDE + 1 };
enum { ONCE_WEIGHTS = (ONCE_STATES + ONCE_WIDE) * ONCE_STRIDE * 4 }; /* bytes */
/* Walks of 128 threads that share a block then at most, as registers allow: without and with gradients. */
enum { ONCE_SIDE = 4, ONCE_SIDE_GRAD = 5 };

/* Numbers of the walk itself. */
struct walk_head {
    double makespan, busy, work_left, log_forward, log_backward;
    double value; /* PPO: the loss of the steps so far */
    double least_free, most_free, first_ready, top_tail, critical, start;
    double reach;  /* latest end of a placed op and of all that must follow it */
    double chance; /* the random number of the next choice */
    uint64_t rng[4];
    int32_t n_ready, n_used, left, step, most, status;
    int32_t n_ops, n_columns, n_changed, n_told, n_versions;
    int32_t op, place, at; /* the chosen op, its column, where it is among the ready ones */
};
/* When the two best columns have the other data of a successor and are free: ahead.h. */
struct walk_ahead {
    double first, second;
    int32_t best;
};
/* What changed for an unscheduled op by the data of an edge: its features before and after. */
struct walk_told {
    int32_t op, edge;
    float before[SKED_I_WAIT_FEATURES], after[SKED_I_WAIT_FEATURES];
    double there; /* the data where it was made */
};

/* A device whose last op or its features change. before_op -1: it was empty. */
struct walk_change {
    int32_t column, before_op, after_op;
    float before[SKED_I_LAST_FEATURES], after[SKED_I_LAST_FEATURES];
};

enum {
#define X(name, type, numbers) ONCE_PIECE_##name,
    ONCE_PIECES(X)
#undef X
        ONCE_N_PIECES,
    ONCE_LAST_INSIDE = ONCE_PIECE_ddevice_part
};

/* ------------------------------------------------------------------ a problem on the device */

struct once_lesson {
    int32_t n, devices, kinds, columns, count, listed, words;
    int32_t first_row, first_walk;                /* of all */
    int32_t choices;                              /* columns of a step at most */
    bool transfers, picky, greedy, replay, twice; /* twice: some op has two edges to the same op */
    double work, unit, per_unit, temperature;
    float sharpness, trust, heat[SKED_I_HEAT_FEATURES];
    uint64_t seed, first;
    const int32_t *kind_size, *kind_first, *quickest, *kind_of;
    const float *pace; /* [kinds] squashed */
    const double *latency, *per_byte, *time, *duration, *least, *tail, *lag, *share, *bytes;
    const int32_t *waits, *succ_ptr, *succ_op, *pred_ptr, *pred_op;
    const int32_t
        *ahead; /* [n, AHEAD] successors that are looked at, then -1; with transfers, as the next two */
    const double *ahead_lag, *ahead_hop;
    const uint64_t *masks; /* [HEADS, n, words] */
    uint64_t *turned;      /* the same by key; with gradients */
    int32_t *op, *device;  /* [count, n] trajectories */
    sked_i_loss law;
    double *log_step; /* [count, n] log P_F of the steps; NULL: not wanted */
    double *credit;   /* [count] PPO: what the ratio of a step counts */
    /* [count, n] credit by steps: what the state after a step leaves possible (partial.h); log P_B - log P_F
     * of the step, and for gradients its slope. NULL: a step counts what its trajectory does. */
    double *outlook, *flow;
    /* State of a trajectory. */
    char *global; /* [count * layout.stride] */
    char *saved;  /* [count * layout.shared_bytes], between two launches */
    /* With gradients, per trajectory. */
    float *dop, *dwait, *dlast;  /* [count, n, width or context] */
    float *states, *dbases;      /* [count, n, 2 c + STATE], [count, n, w] rows of steps */
    float *versions, *dversions; /* [count, 2 n, c], [count, 2 n, w] rows of devices as they were */
    float *small;                /* [count, once_small] */
    float *sums;                 /* [once_sums] over the trajectories */
};

/* The small gradients of a trajectory, in this order: numbers of each. */
#define ONCE_SMALL(X)                        \
    X(pair, PAIR *w)                         \
    X(out, w)                                \
    X(direct, DIRECT)                        \
    X(wait_feature, SKED_I_WAIT_FEATURES *c) \
    X(last_feature, SKED_I_LAST_FEATURES *c) \
    X(empty, c)                              \
    X(empty_part, w)
/* The weights whose gradients are products over all rows of steps or versions. */
#define ONCE_PRODUCTS(X)                                 \
    X(state_weight, (2 * c + SKED_I_STATE_FEATURES) * w) \
    X(device_weight, (c * w))

struct once_small {
#define X(name, numbers) int32_t name;
    ONCE_SMALL(X)
    int32_t small; /* numbers so far: of one trajectory */
    ONCE_PRODUCTS(X)
#undef X
    int32_t total; /* of the sums of a lesson, beside the rows */
};
static inline once_small once_small_of(void)
{
    const int32_t w = ONCE_WIDE, c = ONCE_WIDE;
    once_small at = {};
    int32_t used = 0;
#define X(name, numbers) \
    at.name = used;      \
    used += (numbers);
    ONCE_SMALL(X)
    at.small = used;
    ONCE_PRODUCTS(X)
#undef X
    at.total = used;
    return at;
}

/*
 * Where the pieces of a trajectory's state are, the same for all problems of a call: in shared memory, or -1
 * - it in units of 16 bytes in global memory. `inside`: all up to ONCE_LAST_INSIDE are in shared memory, and
 * so are weights; `blocks` of `side` walks each then, which take others when they are done. Otherwise a block
 * is a walk.
 */
struct once_layout {
    int32_t offset[ONCE_N_PIECES];
    int32_t shared_bytes;
    bool inside;
    int32_t blocks, side;
    int64_t stride;
};

/* The model and all lessons, as kernels take them. */
struct once_model {
    once_layout layout;
    sked_i_gpu_shape shape;
    const float *parameter;
    const float *state_turned, *device_turned; /* [w, 2 c], [w, c] */
    once_small at;
    const once_lesson *lesson; /* [lessons] */
    int32_t lessons, rows, walks;
    const int32_t *row_lesson;  /* [rows] */
    const int32_t *walk_lesson; /* [walks] */
    /* Per lesson. */
    float *heat1, *heat2; /* [lessons, temperature] */
    float *film;          /* [lessons, layers, 2, mlp] */
    float *scale, *shift; /* [lessons, width] */
    float *out;           /* [lessons, width] */
    float *direct;        /* [lessons, DIRECT] */
    float *empty;         /* [lessons, context] after the ReLU */
    float *empty_part;    /* [lessons, width] */
    float *first_sum;     /* [lessons, context] */
    /* Per row. */
    float *plain, *op;  /* [rows, width] before and after FiLM */
    float *wait, *last; /* [rows, context] */
    /* Per trajectory. */
    double *log_forward, *log_backward, *makespan; /* [walks] */
    int32_t *status;                               /* [walks] gpu_walk_status */
    int32_t *n_versions;                           /* [walks] */
    double *slope; /* [walks] of the loss by what the walk took the gradient of */
    double *value; /* [walks] PPO: the loss */
};

/* What the encoder keeps for its gradient. */
struct once_layer {
    float *in, *norm1, *stat1, *qkv, *mixed, *lse, *middle, *norm2, *stat2, *hidden, *active;
    /* Gradients: of the output, before FiLM's scale, of both normalisations, after attention, of qkv. */
    float *dout, *dfilmed, *dnorm2, *dmiddle, *dqkv, *dnorm1;
};
struct once_encoder {
    const float *feature; /* [rows, STATIC] */
    once_layer layer[SKED_I_MAX_LAYERS];
    float *last, *stat, *out; /* [rows, dim], [rows, 2], [rows, dim] */
    /* Gradients. */
    float *dplain, *dwait, *dlast; /* [rows, width], [rows, context] each */
    float *dembedding, *dinput;    /* [rows, dim] */
    float *dmixed;                 /* [rows, heads * head], of one layer at a time */
    float *dfilm;                  /* [lessons, layers + 1, 2, mlp or width] */
    float *gradient;               /* [lessons, total] */
};

/* ------------------------------------------------------------------ the parts */

/* Packs a problem: pointers of the lesson lead into device memory. */
void once_pack_lesson(gpu_pack *p, const sked_i_gpu_walks *w, once_lesson *l);
/* Lays the state of a trajectory out so that it holds those of any lesson; `shared` bytes are there for it.
 */
once_layout once_lay_out(int32_t threads, bool grad, int32_t shared, int32_t lessons,
                         const once_lesson *lesson);

struct once_launch {
    cudaStream_t stream;
    const sked_i_limit *limit;
    bool pause; /* large: wait now and then and look at the limit */
};
/* STOPPED at the limit. */
sked_status once_encode(const once_model *m, const once_encoder *e, const once_launch *how, sked_error *err);
sked_status once_encode_grad(const once_model *m, const once_encoder *e, const once_launch *how,
                             sked_error *err);
void once_turn_weights(const once_model *m, cudaStream_t stream);
/* Steps `from` to `until` of all trajectories. */
void once_walk_launch(const once_model *m, int32_t threads, bool grad, int32_t from, int32_t until,
                      cudaStream_t stream);
sked_status once_walk_setup(int32_t shared, sked_error *err);
/* loss: [lessons, ONCE_LOSSES]; fills m->slope. */
enum { ONCE_LOSS, ONCE_CENTRE, ONCE_SPEEDUP, ONCE_PULL, ONCE_LOSSES };
void once_loss_launch(const once_model *m, double *loss, cudaStream_t stream);
/* Credit by steps: slopes in the place of what the draw left in `flow`. */
void once_credit_launch(const once_model *m, cudaStream_t stream);
/*
 * Rows and weights summed over the trajectories; partial: [lessons, ONCE_SPLITS, at.total - at.small]. So
 * many blocks share the trajectories of a problem, however many problems there are.
 */
enum { ONCE_SPLITS = 32 };
void once_sum_launch(const once_model *m, float *partial, cudaStream_t stream);
#endif
