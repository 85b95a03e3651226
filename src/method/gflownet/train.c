/*
 * Training: one update = some graphs, for each a machine, a temperature and a mini-batch of trajectories, and
 * one Adam step. Everything random in update t comes from (seed, t), so that a resumed run
 * continues as if it had never stopped.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/option.h"
#include "base/sized.h"
#include "dist/dist.h"
#include "method/gflownet/sample.h"
#include "method/gflownet/sampler_learner.h"
#include "method/gflownet/shared_update.h"
#include "method/inner.h"

#include <assert.h>
#include <string.h>

#define TRAIN_OPTIONS(X)                                                                                  \
    X(GRAPHS, "graphs", INT, "4", 1, 256, NULL, "graphs of an update, in parallel")                       \
    X(BATCH, "batch", INT, "100", 2, 100000, NULL,                                                        \
      "trajectories of each graph; fewer, down to a sixth, above 60 ops")                                 \
    X(LISTED, "listed", REAL, "0.1", 0, 1, NULL, "share of them from randomised list scheduling")         \
    X(GENTLEST, "gentlest", REAL, "2", 1e-3, 1e6, NULL,                                                   \
      "least cost in log R of a delay of a mean duration; drawn log-uniformly, it sets the temperature")  \
    X(SHARPEST, "sharpest", REAL, "300", 1e-3, 1e6, NULL, "largest such cost")                            \
    X(TRANSFERS, "transfers", REAL, "8", 0, 1000, NULL,                                                   \
      "longest mean transfer in mean durations; half of the updates have transfers; 0: none")             \
    X(UNEQUAL, "unequal", REAL, "0.25", 0, 1, NULL, "share of updates with heterogeneous devices")        \
    X(RATE, "rate", REAL, "0.001", 1e-9, 1, NULL, "learning rate after warm-up, before decay")            \
    X(ANNEAL, "anneal", INT, "0", 0, 9e15, NULL,                                                          \
      "updates in which the rate falls to a hundredth, linearly; 0: it falls slowly, without an end")     \
    X(BLEND, "blend", REAL, "1", 0, 1, NULL,                                                              \
      "with --weights-only: how far the weights lie from the start of the model to what it learnt")       \
    X(CLIP, "clip", REAL, "1", 1e-9, 1e9, NULL, "largest norm of a gradient")                             \
    X(LOSS, "loss", ENUM, "variance", 0, 0, SKED_I_LOSS_CHOICES,                                          \
      "log-partition variance, trajectory balance, or proximal policy optimisation")                      \
    X(CREDIT, "credit", ENUM, "trajectory", 0, 0, "trajectory|steps",                                     \
      "what a step answers for: the loss of its trajectory, or of what follows the step")                 \
    X(LAMBDA, "lambda", REAL, "0.6", 0, 1, NULL,                                                          \
      "credit=steps: what counts of each further step, at first; rises to 1 as the rate falls")           \
    X(LOG_Z_RATE, "log-z-rate", REAL, "0.01", 1e-9, 1, NULL,                                              \
      "tb: learning rate of log Z, with the warm-up and decay of the other one")                          \
    X(PPO_CLIP, "ppo-clip", REAL, "0.2", 1e-9, 1, NULL,                                                   \
      "ppo: how far from 1 a ratio of probabilities counts")                                              \
    X(ENTROPY, "entropy", REAL, "0.003", 0, 1000, NULL,                                                   \
      "ppo: what a nat of a step's entropy is worth at the start; it falls with the rate")                \
    X(EPOCHS, "epochs", INT, "2", 1, 1000, NULL, "ppo: steps of Adam with the trajectories of an update") \
    X(LEAST_DEVICES, "least-devices", INT, "0", 0, 1000000, NULL,                                         \
      "draw 2 or more up to --devices; 0: --devices")                                                     \
    X(LARGEST, "largest", INT, "500", 2, 10000, NULL,                                                     \
      "train on random parts of graphs with more ops than this")                                          \
    X(VALIDATE, "validate", INT, "500", 0, 1e9, NULL,                                                     \
      "updates between two looks at unseen graphs; 0: never")                                             \
    X(HELD_OUT, "held-out", INT, "8", 1, 1000, NULL, "number of those graphs")

/* What kind of model a new one is. */
enum { BACKWARD_AUTO = 2 };
#define SIZE_ROW(name, preset, least, most, help) {#name, SKED_OPTION_INT, #preset, least, most, NULL, help},
static const sked_option options[] = {
    TRAIN_OPTIONS(SKED_I_OPTION_ROW)
        SKED_I_SIZE_LIST(SIZE_ROW){"policy", SKED_OPTION_ENUM, "encode-once", 0, 0, SKED_I_POLICY_CHOICES,
                                   "encode a graph once, or every partial schedule again (the paper's)"},
    {"backward", SKED_OPTION_ENUM, "auto", 0, 0, SKED_I_BACKWARD_CHOICES "|auto",
     "backward policy; auto: learned for stepwise by whole trajectories, else uniform"},
    {"rule", SKED_OPTION_ENUM, "none", 0, 0, SKED_I_RULE_CHOICES,
     "stepwise: what the network's logits are added to; list: the rule of list scheduling"},
};
enum {
    TRAIN_OPTIONS(SKED_I_OPTION_ID) OPTION_SIZES,
    n_options = sizeof options / sizeof *options,
    OPTION_POLICY = n_options - 3,
    OPTION_BACKWARD,
    OPTION_RULE
};

int sked_train_option_count(void)
{
    return n_options;
}

const sked_option *sked_train_option_at(int i)
{
    return i >= 0 && i < n_options ? &options[i] : NULL;
}

void sked_train_options_init_sized(sked_train_options *opt, size_t size)
{
    const sked_train_options preset = {.devices = 4, .minutes = INFINITY, .threads = 1};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

/* A graph that is looked at but not trained on, and what others reach there. */
typedef struct held_out {
    sked_graph *graph;
    double list, brkga; /* speedups */
} held_out;

typedef struct trainer {
    sked_i_arena arena;
    const sked_train_options *opt;
    double set[n_options];
    sked_i_limit limit;
    sked_i_graph_source *source;
    sked_sampler *model;
    sked_i_lesson_law law;
    sked_i_lesson_queue *queue;
    const sked_i_sampler_learner_kind *kind;
    sked_i_sampler_learner *learner;
    sked_i_ranks ranks;  /* who has which lessons */
    sked_i_mark *marks;  /* [ranks.lessons] */
    sked_i_loss *losses; /* [ranks.count] of this rank's lessons */
    float *before;       /* [3 * total] PPO: the model before the update under way */
    bool undone;         /* the model is what was before an update that failed; the learner's is not */
    bool validates;      /* and writes checkpoints */
    held_out *held;
    int32_t n_held;
} trainer;

static sked_status baseline(const trainer *t, const sked_graph *g, const char *method, double *speedup,
                            sked_error *err)
{
    sked_problem p;
    sked_run_options run;
    sked_schedule *found = NULL;
    sked_metrics m = {.size = sizeof m};
    sked_problem_init(&p, g);
    p.devices = t->opt->devices;
    sked_run_options_init(&run);
    run.time_limit = INFINITY;
    run.iterations = 50;
    run.stop = t->opt->stop;
    sked_status st = sked_i_inner_run(method, &p, &run, &found, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(&p, found, &m, err);
    if (st == SKED_OK)
        *speedup = m.speedup;
    sked_schedule_destroy(found);
    return st;
}

/* Random streams: below 2^62 trajectories, then held-out graphs, from 2^63 the updates. */
static sked_status hold_out(trainer *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const bool wanted = t->validates && t->set[OPTION_VALIDATE] > 0;
    const int32_t count = wanted ? (int32_t)t->set[OPTION_HELD_OUT] : 0;
    SKED_OWN0(&t->arena, t->held, count);
    for (int32_t k = 0; k < count; k++) {
        held_out *h = &t->held[t->n_held++];
        sked_i_rng rng;
        sked_i_rng_seed(&rng, t->opt->seed, (UINT64_C(1) << 62) + (uint64_t)k);
        SKED_TRY(sked_i_lesson_source_draw(t->source, (int32_t)t->set[OPTION_LARGEST], &rng, &h->graph, err));
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
    how.backend = t->opt->backend;
    how.stop = t->opt->stop;
    const sked_i_costs costs = sked_i_costs_of_equal(&problem);
    sked_status st = sked_i_sample(t->model, &problem, &costs, &how, &s, err);
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
    /* a stop: the model counts, not what was being measured */
    return t->opt->output ? sked_sampler_write(t->model, t->opt->output, true, err) : SKED_OK;
}

/* What progress says of an update; an error where it must not be made. */
static sked_status look_at_marks(const trainer *t, sked_train_progress *p, sked_error *err)
{
    const int count = t->ranks.lessons;
    for (int k = 0; k < count; k++) {
        if (!isfinite(t->marks[k].norm))
            return sked_i_fail(err, SKED_ERR_BUG, "the gradient of update %lld is not finite; lower the rate",
                               (long long)t->model->steps + 1);
        p->norm += t->marks[k].norm / count;
        p->loss += t->marks[k].loss / count;
        p->speedup += t->marks[k].speedup / count;
    }
    return SKED_OK;
}

/* Of the next update, if they are there already. */
static sked_status prefetch(trainer *t, sked_error *err)
{
    const sked_i_lesson *lessons;
    const int64_t next = t->model->steps + 1;
    if (t->kind->prefetch == NULL || !sked_i_lesson_queue_ready(t->queue, next))
        return SKED_OK;
    const sked_status st = sked_i_lesson_queue_at(t->queue, next, &lessons, err);
    if (st == SKED_OK)
        t->kind->prefetch(t->learner, lessons, t->ranks.count);
    return st;
}

static sked_i_loss loss_of(const trainer *t, const sked_i_lesson *l)
{
    sked_i_log_z_input in;
    sked_i_loss loss = {.kind = t->model->loss,
                        .by_steps = t->set[OPTION_CREDIT] > 0,
                        .lambda = 1 - (1 - t->set[OPTION_LAMBDA]) * sked_i_sampler_decay(t->model),
                        .clip = t->set[OPTION_PPO_CLIP],
                        .entropy = t->set[OPTION_ENTROPY] * sked_i_sampler_decay(t->model)};
    if (loss.kind == SKED_I_LOSS_TB) {
        sked_i_loss_look_log_z(l->instance, l->temperature, &in);
        loss.log_z = sked_i_log_z_value(t->model->log_z, &in);
    }
    return loss;
}

/* The gradient of this rank's lessons is under way: of new trajectories, or once more of those there are. */
static sked_status start(trainer *t, const sked_i_lesson *lessons, sked_error *err)
{
    if (t->model->epoch > 0)
        return t->kind->again(t->learner, err);
    for (int k = 0; k < t->ranks.count; k++)
        t->losses[k] = loss_of(t, &lessons[k]);
    const sked_status st = t->kind->start(t->learner, lessons, t->losses, t->ranks.count, err);
    return st == SKED_OK ? prefetch(t, err) : st;
}

/* Parameters and moments. */
static size_t bytes_of(const sked_sampler *m)
{
    return SKED_I_SAMPLER_BLOCKS * (size_t)m->layout.total * sizeof *m->parameter;
}

/* PPO: the model as it is before an update, for one that fails half-way. */
static sked_status remember(trainer *t, sked_error *err)
{
    const sked_sampler *m = t->model;
    if (t->before == NULL || m->epoch > 0)
        return SKED_OK;
    const sked_status st = t->kind->fetch(t->learner, err);
    memcpy(t->before, m->parameter, bytes_of(m));
    return st;
}

/* The lessons of this rank. STOPPED where the limit is reached, for a rank without lessons, too. */
static sked_status learn(trainer *t, sked_i_rank_view *view, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_mark *marks = t->marks + t->ranks.first;
    const sked_i_lesson *lessons;
    if (sked_i_limit_reached(&t->limit))
        return sked_i_limit_fail(err);
    SKED_TRY(remember(t, err));
    if (t->ranks.count == 0)
        return SKED_OK;
    SKED_TRY(sked_i_lesson_queue_at(t->queue, t->model->steps, &lessons, err));
    SKED_TRY(start(t, lessons, err));
    SKED_TRY(t->kind->finish(t->learner, marks, err));
    for (int k = 0; k < t->ranks.count && t->model->loss == SKED_I_LOSS_TB; k++)
        sked_i_loss_look_log_z(lessons[k].instance, lessons[k].temperature, &marks[k].input);
    *view = (sked_i_rank_view){lessons[0].graph->n_ops, lessons[0].temperature};
    if (t->model->epoch + 1 == t->model->epochs)
        sked_i_lesson_queue_release(t->queue);
cleanup:
    return st;
}

/* Trajectory balance: the head of log Z takes a step, too; a: that of the other parameters. */
static void learn_log_z(const trainer *t, const sked_i_adam *a)
{
    sked_i_adam own = *a;
    own.rate *= t->set[OPTION_LOG_Z_RATE] / t->model->rate;
    double parameter[SKED_I_LOG_Z_TOTAL], gradient[SKED_I_LOG_Z_TOTAL] = {0};
    for (int i = 0; i < SKED_I_LOG_Z_TOTAL; i++)
        parameter[i] = t->model->log_z->parameter[i];
    for (int k = 0; k < t->ranks.lessons; k++)
        sked_i_log_z_grad(parameter, &t->marks[k].input, t->marks[k].pull / t->ranks.lessons, gradient);
    sked_i_sampler_step_log_z(t->model, &own, gradient);
}

/* One step of Adam; p describes the last one of an update. */
static sked_status step(trainer *t, sked_train_progress *p, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_rank_view view = {0};
    sked_train_progress now = {0};
    const sked_i_adam adam = sked_i_sampler_adam(t->model);
    const float *gradient;
    SKED_TRY(sked_i_ranks_agree(&t->ranks, learn(t, &view, err), t->marks, &view, err));
    SKED_TRY(look_at_marks(t, &now, err));
    now.ops = view.ops;
    now.temperature = view.temperature;
    now.log_z = t->marks[0].log_z;
    now.rate = sked_i_sampler_rate(t->model);
    *p = now;
    SKED_TRY(sked_i_ranks_sum(&t->ranks, t->learner, &gradient, err));
    SKED_TRY(t->kind->update(t->learner, gradient, err));
    if (t->model->loss == SKED_I_LOSS_TB)
        learn_log_z(t, &adam);
cleanup:
    return st;
}

/* The model as it was before an update that failed half-way. */
static void undo(trainer *t)
{
    sked_sampler *m = t->model;
    if (m->epoch == 0)
        return;
    assert(t->before != NULL);
    memcpy(m->parameter, t->before, bytes_of(m));
    m->epoch = 0;
    t->undone = true;
}

static sked_status update(trainer *t, sked_train_progress *p, sked_error *err)
{
    sked_status st;
    do
        st = step(t, p, err);
    while (st == SKED_OK && t->model->epoch > 0);
    if (st != SKED_OK)
        undo(t);
    p->step = t->model->steps;
    return st;
}

/* What was learnt last into the model. */
static sked_status fetch(trainer *t, sked_error *err)
{
    return t->undone ? SKED_OK : t->kind->fetch(t->learner, err);
}

/* After a failure: what this run has learnt before it is not lost, where it can be had and written. */
static void rescue(trainer *t, int64_t begun)
{
    sked_error unused = {0};
    if (t->opt->output && t->model->steps > begun && fetch(t, &unused) == SKED_OK)
        (void)!sked_sampler_write(t->model, t->opt->output, true, &unused);
}

static sked_status loop(trainer *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t every = (int64_t)t->set[OPTION_VALIDATE], begun = t->model->steps;
    while (t->opt->steps == 0 || t->model->steps < t->opt->steps) {
        sked_train_progress p = {0};
        sked_error why = {0};
        st = update(t, &p, &why);
        if (st == SKED_ERR_STOPPED) { /* the limit; an update that was not finished has changed nothing */
            st = SKED_OK;
            break;
        }
        if (st != SKED_OK) {
            rescue(t, begun);
            return sked_i_fail(err, st, "%s", why.message);
        }
        if (t->validates && every > 0 && t->model->steps % every == 0) {
            SKED_TRY(fetch(t, err));
            SKED_TRY(validate(t, &p, err));
        }
        p.seconds = sked_clock() - t->limit.begin;
        if (t->opt->progress)
            t->opt->progress(t->opt->progress_data, &p);
    }
    SKED_TRY(fetch(t, err));
    if (t->opt->output)
        SKED_TRY(sked_sampler_write(t->model, t->opt->output, true, err));
cleanup:
    return st;
}

static sked_status set_loss(trainer *t, sked_i_loss_id loss, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_sampler *m = t->model;
    m->loss = loss;
    m->epochs = loss == SKED_I_LOSS_PPO ? (int32_t)t->set[OPTION_EPOCHS] : 1;
    if (m->epochs > 1)
        SKED_OWN(&t->arena, t->before, SKED_I_SAMPLER_BLOCKS * m->layout.total);
    if (loss == SKED_I_LOSS_TB)
        return sked_i_sampler_open_log_z(m, err);
    free(m->log_z); /* of the training before: it would no longer fit what continues without it */
    m->log_z = NULL;
cleanup:
    return st;
}

static sked_status open_model(trainer *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const int backward = (int)t->set[OPTION_BACKWARD];
    const sked_i_loss_id loss = (sked_i_loss_id)t->set[OPTION_LOSS];
    sked_i_sizes sizes;
    int at = OPTION_SIZES;
#define SKED_X(name, preset, least, most, help) sizes.name = (int32_t)t->set[at++];
    SKED_I_SIZE_LIST(SKED_X)
#undef SKED_X
    sizes.policy = (sked_i_policy_id)t->set[OPTION_POLICY];
    const bool learns =
        sizes.policy == SKED_I_POLICY_STEPWISE && loss != SKED_I_LOSS_PPO && t->set[OPTION_CREDIT] == 0;
    sizes.backward = backward != BACKWARD_AUTO ? (sked_i_backward_id)backward
                     : learns                  ? SKED_I_BACKWARD_LEARNED
                                               : SKED_I_BACKWARD_UNIFORM;
    sizes.rule = (sked_i_rule_id)t->set[OPTION_RULE];
    if (t->opt->resume) {
        SKED_TRY(sked_sampler_read(t->opt->resume, &t->model, err));
    } else {
        SKED_TRY(sked_i_sampler_create(&sizes, &t->model, err));
        sked_i_sampler_start(t->model, t->opt->seed);
    }
    t->model->rate = t->set[OPTION_RATE];
    t->model->anneal = (int64_t)t->set[OPTION_ANNEAL];
    const int32_t largest = sked_i_lesson_source_largest(t->source, (int32_t)t->set[OPTION_LARGEST]);
    t->model->largest = largest > t->model->largest ? largest : t->model->largest;
    SKED_TRY(set_loss(t, loss, err));
cleanup:
    return st;
}

static void make_a_lesson(void *data)
{
    sked_i_lesson_queue_help(((trainer *)data)->queue);
}

static sked_i_sampler_learner_settings settings_of(trainer *t)
{
    return (sked_i_sampler_learner_settings){.loss = t->model->loss,
                                             .clip = t->set[OPTION_CLIP],
                                             .graphs = t->ranks.lessons,
                                             .lessons = t->ranks.count > 0 ? t->ranks.count : 1,
                                             .batch = (int32_t)t->set[OPTION_BATCH],
                                             .largest = (int32_t)t->set[OPTION_LARGEST],
                                             .devices = t->opt->devices,
                                             .threads = t->opt->threads,
                                             .limit = &t->limit,
                                             .spare = make_a_lesson,
                                             .spare_data = t};
}

/* The paper's policy knows equal devices without transfers only. */
static sked_i_machine_law machines_of(const trainer *t)
{
    const int32_t most = t->opt->devices, given = (int32_t)t->set[OPTION_LEAST_DEVICES];
    const bool plain = t->model->layout.sizes.policy == SKED_I_POLICY_STEPWISE;
    return (sked_i_machine_law){.least_devices = given == 0 || given > most ? most : given,
                                .most_devices = most,
                                .transfers = plain ? 0 : t->set[OPTION_TRANSFERS],
                                .unequal = plain ? 0 : t->set[OPTION_UNEQUAL]};
}

/* Lessons are made by idle threads of a learner, two updates ahead, so that it can prefetch; or by threads of
 * the queue, two for each. */
static sked_status open_queue(trainer *t, sked_error *err)
{
    const int threads = t->kind->spares ? 0 : t->opt->threads, count = t->ranks.count;
    if (count == 0)
        return SKED_OK;
    const sked_i_lesson_plan plan = {.update = t->model->steps,
                                     .last = t->opt->steps > 0 ? t->opt->steps : INT64_MAX,
                                     .first = t->ranks.first,
                                     .count = count,
                                     .ahead = t->kind->spares ? 3 : 2 + (2 * threads + count - 1) / count,
                                     .threads = threads};
    const bool own = t->model->loss == SKED_I_LOSS_PPO; /* it learns from trajectories of its own only */
    t->law = (sked_i_lesson_law){.source = t->source,
                                 .seed = t->opt->seed,
                                 .largest = (int32_t)t->set[OPTION_LARGEST],
                                 .batch = (int32_t)t->set[OPTION_BATCH],
                                 .listed = own ? 0 : t->set[OPTION_LISTED],
                                 .gentlest = t->set[OPTION_GENTLEST],
                                 .sharpest = t->set[OPTION_SHARPEST],
                                 .machine = machines_of(t),
                                 .limit = &t->limit};
    return sked_i_lesson_queue_create(&t->law, &plan, &t->queue, err);
}

static sked_status check(const trainer *t, sked_error *err)
{
    if (t->opt->graphs == NULL)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "training needs graphs");
    if (t->set[OPTION_GENTLEST] > t->set[OPTION_SHARPEST])
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "gentlest is above sharpest");
    if (t->set[OPTION_LOSS] == SKED_I_LOSS_PPO && t->set[OPTION_BACKWARD] == SKED_I_BACKWARD_LEARNED)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "loss=ppo has no use for backward=learned");
    if (t->set[OPTION_POLICY] != SKED_I_POLICY_STEPWISE && t->set[OPTION_RULE] != SKED_I_RULE_NONE)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "rule is for policy=stepwise: encode-once always starts from list scheduling");
    if (t->opt->output != NULL) /* now, not after hours */
        return sked_file_check(t->opt->output, err);
    return SKED_OK;
}

static sked_status check_options(const sked_train_options *opt, sked_error *err)
{
    const sked_i_range ranges[] = {
        {"devices", opt->devices, 1, SKED_I_MOST_DEVICES},
        {"steps", (double)opt->steps, 0, INFINITY},
        {"minutes", opt->minutes, 0, INFINITY},
        {"threads", opt->threads, 1, SKED_I_MOST_THREADS},
    };
    return sked_i_options_check(ranges, sizeof ranges / sizeof *ranges, opt->settings, opt->n_settings, err);
}

static sked_status open_trainer(trainer *t, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_train_options *opt = t->opt;
    sked_run_options clock;
    SKED_TRY(check_options(opt, err));
    SKED_TRY(sked_i_options_parse("train", options, n_options, opt->settings, opt->n_settings, t->set, err));
    SKED_TRY(check(t, err));
    sked_run_options_init(&clock);
    clock.time_limit = opt->minutes * 60;
    clock.stop = opt->stop;
    SKED_TRY(sked_i_lesson_source_open(opt->graphs, &t->source, err));
    SKED_TRY(open_model(t, err));
    SKED_TRY(
        sked_i_ranks_open(opt->together, (int)t->set[OPTION_GRAPHS], t->model->layout.total, &t->ranks, err));
    SKED_OWN0(&t->arena, t->marks, t->ranks.lessons);
    SKED_OWN(&t->arena, t->losses, t->ranks.count);
    const sked_i_sampler_learner_settings how = settings_of(t);
    SKED_TRY(sked_i_sampler_learner_choose(opt->backend, &t->model->layout, &how, &t->kind, err));
    SKED_TRY(hold_out(t, err));
    sked_i_limit_init(&t->limit, &clock);
    SKED_TRY(open_queue(t, err));
    SKED_TRY(t->kind->create(t->model, &how, &t->learner, err));
cleanup:
    return st;
}

/* The first rank writes, validates and reports; the others learn and follow. */
static sked_train_options options_of_rank(const sked_train_options *opt)
{
    sked_train_options own = *opt;
    if (opt->together && sked_dist_rank() > 0) {
        own.output = NULL;
        own.progress = NULL;
    }
    return own;
}

static sked_status check_ranks(const trainer *t, sked_error *err)
{
    const sked_train_options *opt = t->opt;
    sked_i_buffer call = {0};
    sked_i_buffer_format(&call, "train %d %lld %llu ", (int)opt->devices, (long long)opt->steps,
                         (unsigned long long)opt->seed);
    sked_i_buffer_number(&call, opt->minutes);
    sked_i_buffer_json(&call, opt->graphs);
    sked_i_dist_add_settings(opt->settings, opt->n_settings, &call);
    sked_i_buffer_add(&call, (const char *)t->model->parameter,
                      (size_t)t->model->layout.total * sizeof *t->model->parameter);
    return sked_i_dist_same(NULL, &call, err);
}

sked_status sked_train(const sked_train_options *given, sked_sampler **out, sked_error *err)
{
    SKED_TAKE(sked_train_options, given)
    const sked_train_options opt = options_of_rank(given);
    trainer t = {.opt = &opt, .validates = !opt.together || sked_dist_rank() == 0};
    sked_error why = {0};
    sked_status st = open_trainer(&t, &why);
    if (opt.together)
        st = sked_dist_agree(st, &why);
    if (opt.together && st == SKED_OK)
        st = check_ranks(&t, &why);
    if (st == SKED_OK)
        st = loop(&t, err);
    else
        st = sked_i_fail(err, st, "%s", why.message);
    if (st == SKED_OK && t.set[OPTION_BLEND] < 1) /* what was written for going on with is complete */
        st = sked_i_sampler_blend(t.model, t.set[OPTION_BLEND], err);
    sked_i_sampler_learner_destroy(t.learner);
    sked_i_lesson_queue_destroy(t.queue);
    for (int32_t k = 0; k < t.n_held; k++)
        sked_graph_destroy(t.held[k].graph);
    sked_i_arena_free(&t.arena);
    sked_i_ranks_close(&t.ranks);
    if (st == SKED_OK)
        *out = t.model;
    else
        sked_sampler_destroy(t.model);
    sked_i_lesson_source_close(t.source);
    return st;
}
