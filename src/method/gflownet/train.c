/*
 * Training: one update = some graphs, for each a machine, a temperature and a mini-batch of trajectories, and
 * one Adam step. Everything random in update t comes from (seed, t), so that a resumed run goes on as if it
 * had never stopped.
 */
#include "method/gflownet/train.h"
#include "backend/backend.h"

#include "base/clock.h"
#include "base/explog.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/thread.h"
#include "method/gflownet/batch.h"
#include "method/gflownet/checkpoint.h"
#include "method/gflownet/machines.h"
#include "method/gflownet/sample.h"
#include "method/gflownet/source.h"

#include <string.h>

enum { MOST_GRAPHS = 256 };
#define TRAIN_OPTIONS(X)                                                                                 \
    X(GRAPHS, "graphs", INT, "4", 1, 256, NULL, "graphs of an update, in parallel")                      \
    X(BATCH, "batch", INT, "100", 2, 100000, NULL,                                                       \
      "trajectories of each graph; fewer, down to a sixth, above 60 ops")                                \
    X(LISTED, "listed", REAL, "0.1", 0, 1, NULL, "share of them from randomised list scheduling")        \
    X(GENTLEST, "gentlest", REAL, "2", 1e-3, 1e6, NULL,                                                  \
      "least cost in log R of a delay of a mean duration; drawn log-uniformly, it sets the temperature") \
    X(SHARPEST, "sharpest", REAL, "300", 1e-3, 1e6, NULL, "largest such cost")                           \
    X(TRANSFERS, "transfers", REAL, "8", 0, 1000, NULL,                                                  \
      "longest mean transfer in mean durations; half of the updates have transfers; 0: none")            \
    X(UNEQUAL, "unequal", REAL, "0.25", 0, 1, NULL, "share of updates with unequal devices")             \
    X(RATE, "rate", REAL, "0.001", 1e-9, 1, NULL, "learning rate after warm-up, before decay")           \
    X(CLIP, "clip", REAL, "1", 1e-9, 1e9, NULL, "largest norm of a gradient")                            \
    X(LEAST_DEVICES, "least-devices", INT, "0", 0, 1000000, NULL,                                        \
      "draw 2 or more up to --devices; 0: --devices")                                                    \
    X(LARGEST, "largest", INT, "500", 2, 10000, NULL,                                                    \
      "train on random parts of graphs with more ops than this")                                         \
    X(VALIDATE, "validate", INT, "500", 0, 1e9, NULL,                                                    \
      "updates between two looks at unseen graphs; 0: never")                                            \
    X(HELD_OUT, "held-out", INT, "8", 1, 1000, NULL, "number of those graphs")

/* What kind of model a new one is. */
enum { BACKWARD_AUTO = 2 };
#define SIZE_ROW(name, preset, least, most, help) {#name, SKED_OPTION_INT, #preset, least, most, NULL, help},
static const sked_option options[] = {
    TRAIN_OPTIONS(SKED_I_OPTION_ROW)
        SKED_I_SIZE_LIST(SIZE_ROW){"policy", SKED_OPTION_ENUM, "encode-once", 0, 0, SKED_I_POLICY_CHOICES,
                                   "encode a graph once, or every partial schedule again (the paper's)"},
    {"backward", SKED_OPTION_ENUM, "auto", 0, 0, SKED_I_BACKWARD_CHOICES "|auto",
     "backward policy; auto: uniform for encode-once, learned for stepwise"},
};
enum {
    TRAIN_OPTIONS(SKED_I_OPTION_ID) OPTION_SIZES,
    n_options = sizeof options / sizeof *options,
    OPTION_POLICY = n_options - 2,
    OPTION_BACKWARD
};

const sked_option *sked_i_train_options(int *count)
{
    *count = n_options;
    return options;
}

/* A graph that is looked at but not trained on, and what others reach there. */
typedef struct held_out {
    sked_graph *graph;
    double list, brkga; /* speedups */
} held_out;

/* One graph of an update. */
typedef struct lesson {
    float *gradient;
    double loss, log_z, temperature;
    int32_t ops;
    sked_status status;
    sked_error error;
} lesson;

typedef struct trainer {
    const sked_train_options *opt;
    double set[n_options];
    sked_i_limit limit;
    sked_i_graph_source *source;
    sked_sampler *model;
    float *gradient;
    lesson *lesson;
    int n_lessons;
    held_out *held;
    int32_t n_held;
} trainer;

static sked_status baseline(const trainer *t, const sked_graph *g, const char *method, double *speedup,
                            sked_error *err)
{
    sked_problem p;
    sked_run_options run;
    sked_result result = {.size = sizeof result};
    sked_metrics m = {.size = sizeof m};
    sked_problem_init(&p, g);
    p.devices = t->opt->devices;
    sked_run_options_init(&run);
    run.time_limit = INFINITY;
    run.iterations = 50;
    run.stop = t->opt->stop;
    sked_status st = sked_method_run(method, &p, &run, &result, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(&p, result.schedule[0], &m, err);
    if (st == SKED_OK)
        *speedup = m.speedup;
    sked_result_clear(&result);
    return st;
}

/* Random streams: below 2^62 trajectories, then held-out graphs, from 2^63 the updates. */
static sked_status hold_out(trainer *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t count = t->set[OPTION_VALIDATE] > 0 ? (int32_t)t->set[OPTION_HELD_OUT] : 0;
    SKED_NEW0(t->held, count);
    for (int32_t k = 0; k < count; k++) {
        held_out *h = &t->held[t->n_held++];
        sked_i_rng rng;
        sked_i_rng_seed(&rng, t->opt->seed, (UINT64_C(1) << 62) + (uint64_t)k);
        SKED_TRY(sked_i_source_draw(t->source, (int32_t)t->set[OPTION_LARGEST], &rng, &h->graph, err));
        SKED_TRY(baseline(t, h->graph, "list", &h->list, err));
        SKED_TRY(baseline(t, h->graph, "brkga", &h->brkga, err));
    }
cleanup:
    return st;
}

/* Adds what the model reaches on one held-out graph to the sums in p. */
static sked_status look(const trainer *t, const held_out *h, sked_train_progress *p, sked_error *err)
{
    sked_problem problem;
    sked_sample_options how;
    sked_samples s = {.size = sizeof s};
    sked_diversity diversity = {.size = sizeof diversity};
    double work = 0, top = 0, all = 0;
    sked_problem_init(&problem, h->graph);
    problem.devices = t->opt->devices;
    sked_sample_options_init(&how);
    how.count = 300;
    how.threads = t->opt->threads;
    how.seed = t->opt->seed;
    how.stop = t->opt->stop;
    sked_status st = sked_i_sample(t->model, &problem, &how, &s, err);
    if (st != SKED_OK)
        return st;
    for (int32_t i = 0; i < h->graph->n_ops; i++)
        work += h->graph->duration[i];
    const int32_t kept = s.count < 100 ? s.count : 100;
    for (int32_t k = 0; k < s.count; k++) {
        const double speedup = s.makespan[k] > 0 ? work / s.makespan[k] : 1;
        all += speedup / s.count;
        top += k < kept ? speedup / kept : 0;
        p->top1 += k == 0 ? speedup / t->n_held : 0;
    }
    st = sked_schedules_diversity(&problem, (const sked_schedule *const *)s.schedule, kept, &diversity, err);
    p->top100 += top / t->n_held;
    p->mean += all / t->n_held;
    p->ged += diversity.ged / t->n_held;
    p->spread += s.spread / t->n_held;
    p->list += h->list / t->n_held;
    p->brkga += h->brkga / t->n_held;
    sked_samples_clear(&s);
    return st;
}

static sked_status validate(trainer *t, sked_train_progress *p, sked_error *err)
{
    sked_status st = SKED_OK;
    p->validated = t->n_held > 0;
    for (int32_t k = 0; k < t->n_held && p->validated; k++) {
        sked_error why = {0};
        st = look(t, &t->held[k], p, &why);
        if (st != SKED_OK && st != SKED_ERR_STOPPED)
            return sked_i_fail(err, st, "%s", why.message);
        p->validated = st == SKED_OK;
    }
    st = SKED_OK; /* a stop: the model counts, not what was being measured */
    if (t->opt->output)
        SKED_TRY(sked_i_checkpoint_write(t->model, t->opt->output, true, err));
cleanup:
    return st;
}

/* Of all lessons in the order they are given. */
static uint64_t lesson_number(const trainer *t, int index)
{
    return (uint64_t)t->model->steps * MOST_GRAPHS + (uint64_t)index;
}

/* The machine of a lesson. The paper's policy knows equal devices without transfers only. */
static sked_status draw_machine(const trainer *t, const sked_graph *g, sked_i_rng *rng, sked_i_platform *out,
                                sked_error *err)
{
    const int32_t most = t->opt->devices, given = (int32_t)t->set[OPTION_LEAST_DEVICES];
    const bool plain = t->model->layout.sizes.policy == SKED_I_POLICY_STEPWISE;
    const sked_i_machine_law law = {.least_devices = given == 0 || given > most ? most : given,
                                    .most_devices = most,
                                    .transfers = plain ? 0 : t->set[OPTION_TRANSFERS],
                                    .unequal = plain ? 0 : t->set[OPTION_UNEQUAL]};
    return sked_i_machine_draw(&law, g, rng, out, err);
}

/* About the same work for graphs of all sizes; the variance of a loss needs some trajectories. */
static int32_t batch_of(const trainer *t, int32_t ops)
{
    enum { full_up_to = 60, least_share = 6 };
    const int32_t batch = (int32_t)t->set[OPTION_BATCH],
                  least = batch / least_share > 2 ? batch / least_share : 2;
    const int64_t fit = ops > full_up_to ? (int64_t)batch * full_up_to / ops : batch;
    return fit > least ? (int32_t)fit : least;
}

static double draw_temperature(const trainer *t, const sked_i_instance *x, sked_i_rng *rng)
{
    const double low = sked_i_log(t->set[OPTION_GENTLEST]), high = sked_i_log(t->set[OPTION_SHARPEST]);
    return sked_i_instance_temperature(x, sked_i_exp(low + (high - low) * sked_i_rng_uniform(rng)));
}

/* Loss and gradient of one mini-batch. */
static sked_status learn(const trainer *t, const sked_graph *g, sked_i_rng *rng, int index, lesson *l,
                         sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_platform platform = {0};
    sked_i_instance *x = NULL;
    sked_i_policy_f32 *policy = NULL;
    sked_i_batch_f32 *b = NULL;
    const sked_sampler *m = t->model;
    const int32_t batch = batch_of(t, g->n_ops);
    const int threads = t->opt->threads > t->n_lessons ? t->opt->threads / t->n_lessons : 1;
    SKED_TRY(draw_machine(t, g, rng, &platform, err));
    SKED_TRY(sked_i_instance_on(g, &platform, &t->limit, &x, err));
    l->temperature = draw_temperature(t, x, rng);
    SKED_TRY(sked_i_policy_create_f32(x, &m->layout, sked_i_backend_cpu.nn, &policy, err));
    SKED_TRY(sked_i_batch_create_f32(policy, batch, threads, true, &b, err));
    sked_i_policy_prepare_f32(policy, m->parameter, l->temperature);
    memset(l->gradient, 0, (size_t)m->layout.total * sizeof *l->gradient);
    SKED_TRY(sked_i_batch_learn_f32(b, (int32_t)(t->set[OPTION_LISTED] * batch), t->opt->seed,
                                    (lesson_number(t, index) + 1) << 20, l->gradient, err));
    l->loss = sked_i_batch_loss_f32(b, &l->log_z);
cleanup:
    sked_i_platform_clear(&platform);
    sked_i_batch_destroy_f32(b);
    sked_i_policy_destroy_f32(policy);
    sked_i_instance_destroy(x);
    return st;
}

/* Lesson `index` of the update: a graph, a machine and a temperature from random numbers of its own. */
static sked_status give_lesson(const trainer *t, int index, lesson *l, sked_error *err)
{
    sked_i_rng rng;
    sked_graph *g = NULL;
    sked_i_rng_seed(&rng, t->opt->seed, (UINT64_C(1) << 63) + lesson_number(t, index));
    sked_status st = sked_i_source_draw(t->source, (int32_t)t->set[OPTION_LARGEST], &rng, &g, err);
    if (st != SKED_OK)
        return st;
    l->ops = g->n_ops;
    st = learn(t, g, &rng, index, l, err);
    sked_graph_destroy(g);
    return st;
}

static void give_lessons(void *data, int thread)
{
    trainer *t = data;
    const int threads = t->opt->threads < t->n_lessons ? t->opt->threads : t->n_lessons;
    for (int k = thread; k < t->n_lessons; k += threads)
        t->lesson[k].status = give_lesson(t, k, &t->lesson[k], &t->lesson[k].error);
}

/* The mean of the lessons' gradients, each cut to the largest norm first, so that none outweighs the others.
 */
static sked_status add_lessons(trainer *t, sked_train_progress *p, sked_error *err)
{
    const int64_t total = t->model->layout.total;
    memset(t->gradient, 0, (size_t)total * sizeof *t->gradient);
    for (int k = 0; k < t->n_lessons; k++) {
        const lesson *l = &t->lesson[k];
        double square = 0;
        for (int64_t i = 0; i < total; i++)
            square += (double)l->gradient[i] * l->gradient[i];
        const double norm = sqrt(square), clip = t->set[OPTION_CLIP];
        if (!isfinite(norm))
            return sked_i_fail(err, SKED_ERR_BUG, "the gradient of update %lld is not finite; lower the rate",
                               (long long)t->model->steps + 1);
        const float share = (float)((norm > clip ? clip / norm : 1) / t->n_lessons);
        for (int64_t i = 0; i < total; i++)
            t->gradient[i] += share * l->gradient[i];
        p->norm += norm / t->n_lessons;
        p->loss += l->loss / t->n_lessons;
    }
    return SKED_OK;
}

static sked_status update(trainer *t, sked_train_progress *p, sked_error *err)
{
    const int threads = t->opt->threads < t->n_lessons ? t->opt->threads : t->n_lessons;
    sked_status st = sked_i_parallel(threads, give_lessons, t, err);
    for (int k = 0; k < t->n_lessons && st == SKED_OK; k++)
        if (t->lesson[k].status != SKED_OK)
            st = sked_i_fail(err, t->lesson[k].status, "%s", t->lesson[k].error.message);
    if (st == SKED_OK)
        st = add_lessons(t, p, err);
    if (st != SKED_OK)
        return st;
    p->ops = t->lesson[0].ops;
    p->temperature = t->lesson[0].temperature;
    p->log_z = t->lesson[0].log_z;
    p->rate = sked_i_sampler_rate(t->model);
    sked_i_sampler_update(t->model, t->gradient, t->set[OPTION_CLIP]);
    p->step = t->model->steps;
    return SKED_OK;
}

static bool over(const trainer *t)
{
    return sked_i_limit_reached(&t->limit) || (t->opt->steps > 0 && t->model->steps >= t->opt->steps);
}

static sked_status loop(trainer *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t every = (int64_t)t->set[OPTION_VALIDATE];
    while (!over(t)) {
        sked_train_progress p = {0};
        sked_error why = {0};
        st = update(t, &p, &why);
        if (st == SKED_ERR_STOPPED) { /* an update that was not finished has changed nothing */
            st = SKED_OK;
            break;
        }
        if (st != SKED_OK)
            return sked_i_fail(err, st, "%s", why.message);
        if (every > 0 && t->model->steps % every == 0)
            SKED_TRY(validate(t, &p, err));
        p.seconds = sked_clock() - t->limit.begin;
        if (t->opt->progress)
            t->opt->progress(t->opt->progress_data, &p);
    }
    if (t->opt->output)
        SKED_TRY(sked_i_checkpoint_write(t->model, t->opt->output, true, err));
cleanup:
    return st;
}

static sked_status open_model(trainer *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const int backward = (int)t->set[OPTION_BACKWARD];
    sked_i_sizes sizes;
    int at = OPTION_SIZES;
#define SKED_X(name, preset, least, most, help) sizes.name = (int32_t)t->set[at++];
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
    sizes.policy = (sked_i_policy_id)t->set[OPTION_POLICY];
    sizes.backward = backward != BACKWARD_AUTO                ? (sked_i_backward_id)backward
                     : sizes.policy == SKED_I_POLICY_STEPWISE ? SKED_I_BACKWARD_LEARNED
                                                              : SKED_I_BACKWARD_UNIFORM;
    if (t->opt->resume) {
        SKED_TRY(sked_i_checkpoint_read(t->opt->resume, &t->model, err));
    } else {
        SKED_TRY(sked_i_sampler_create(&sizes, &t->model, err));
        sked_i_sampler_start(t->model, t->opt->seed);
    }
    t->model->rate = t->set[OPTION_RATE];
    SKED_NEW(t->gradient, t->model->layout.total);
    t->n_lessons = (int)t->set[OPTION_GRAPHS];
    SKED_NEW0(t->lesson, t->n_lessons);
    for (int k = 0; k < t->n_lessons; k++)
        SKED_NEW(t->lesson[k].gradient, t->model->layout.total);
cleanup:
    return st;
}

static sked_status check(const trainer *t, sked_error *err)
{
    if (t->opt->graphs == NULL || t->opt->devices < 1 || t->opt->threads < 1 || !(t->opt->minutes >= 0))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "training needs graphs, a device and a thread at least");
    if (t->set[OPTION_GENTLEST] > t->set[OPTION_SHARPEST])
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "gentlest is above sharpest");
    if (t->opt->output != NULL) /* now, not after hours */
        return sked_file_check(t->opt->output, err);
    return SKED_OK;
}

sked_status sked_i_train(const sked_train_options *opt, sked_sampler **out, sked_error *err)
{
    sked_status st = SKED_OK;
    trainer t = {.opt = opt};
    sked_run_options clock;
    SKED_TRY(sked_i_options_parse("train", options, n_options, opt->settings, opt->n_settings, t.set, err));
    SKED_TRY(check(&t, err));
    sked_run_options_init(&clock);
    clock.time_limit = opt->minutes * 60;
    clock.stop = opt->stop;
    SKED_TRY(sked_i_source_open(opt->graphs, &t.source, err));
    SKED_TRY(open_model(&t, err));
    SKED_TRY(hold_out(&t, err));
    sked_i_limit_init(&t.limit, &clock);
    SKED_TRY(loop(&t, err));
    *out = t.model;
    t.model = NULL;
cleanup:
    for (int32_t k = 0; k < t.n_held; k++)
        sked_graph_destroy(t.held[k].graph);
    free(t.held);
    for (int k = 0; k < t.n_lessons && t.lesson != NULL; k++)
        free(t.lesson[k].gradient);
    free(t.lesson);
    free(t.gradient);
    sked_i_sampler_destroy(t.model);
    sked_i_source_close(t.source);
    return st;
}
