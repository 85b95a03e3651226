/*
 * The policy of the paper: the network encodes every partial schedule again (engine/network/stepper.h).
 * Devices have numbers, so a state says which op is on which device, any empty device is a choice of its own,
 * and both P_F and a learned P_B depend on the state alone.
 *
 * A model with a rule is not the paper's: its logits are sharpness * (rule of list scheduling + network), as
 * those of encode-once are, and the network sees the bottom level of what is not scheduled.
 */
#include "base/memory.h"

#include "backend/list_rule.h"
#include "base/explog.h"
#include "engine/environment/partial.h"
#include "engine/network/stepper.h"
#include "method/gflownet/policy.h"

#include <assert.h>
#include <string.h>

typedef struct RN(stepwise) {
    RN(policy) base;
    RN(stepper) * net;
    bool ruled;
    real sharpness; /* of all logits of a model with a rule, else 1 */
} RN(stepwise);

typedef struct walker {
    RN(walker) base;
    const RN(stepwise) * policy;
    const sked_i_instance *x;
    bool learned;
    sked_i_partial at;
    double *start;    /* [n] of scheduled ops */
    int32_t *changed; /* [n_changed] ops whose features are to be computed again, each once */
    uint8_t *marked;  /* [n] is in changed */
    int32_t n_changed;
    RN(step_run) * run;
    RN(choice) pair; /* [n * devices] op i * devices + d; counts are ones */
    sked_i_arena arena;
} walker;

/* ------------------------------------------------------------------ policy */

static void stepwise_destroy(RN(policy) * policy)
{
    RN(stepwise) *p = (RN(stepwise) *)policy;
    RN(stepper_destroy)(p->net);
    free(p);
}

static sked_status stepwise_create(const sked_i_instance *x, const sked_i_layout *layout,
                                   const RN(kernels) * kernels, RN(policy) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    RN(stepwise) *p = NULL;
    SKED_TRY(sked_i_instance_check_stepwise(x, layout->sizes.slots, err));
    SKED_NEW0(p, 1);
    p->base = (RN(policy)){.kind = &RN(policy_stepwise), .instance = x, .layout = layout, .kernels = kernels};
    p->ruled = layout->sizes.rule == SKED_I_RULE_LIST;
    SKED_TRY(RN(stepper_create)(layout, kernels, &x->masks, &p->net, err));
    *out = &p->base;
    p = NULL;
cleanup:
    if (p)
        stepwise_destroy(&p->base);
    return st;
}

/* One stage of one piece, both ways. */
static int one_piece(const RN(policy) * policy, int stage, int threads)
{
    (void)policy;
    (void)threads;
    return stage == 0;
}

static void stepwise_prepare(RN(policy) * policy, int stage, int piece, int pieces)
{
    RN(stepwise) *p = (RN(stepwise) *)policy;
    (void)stage;
    (void)piece;
    (void)pieces;
    double heat[SKED_I_HEAT_FEATURES];
    sked_i_instance_heat(policy->instance, policy->temperature, heat);
    RN(stepper_prepare)(p->net, policy->parameter, heat);
    p->sharpness = p->ruled ? (real)sked_i_instance_sharpness(policy->instance, policy->temperature) : 1;
}

static int64_t stepwise_gradient_size(const RN(policy) * policy)
{
    return RN(stepper_gradient_size)(((const RN(stepwise) *)policy)->net);
}

typedef struct way_back {
    RN(back) base;
    sked_status status;
    sked_error error;
} way_back;

static sked_status stepwise_back_begin(const RN(policy) * policy, RN(gradient) * g, real *dparameter,
                                       RN(back) * *out, sked_error *err)
{
    way_back *b = sked_i_alloc_zero(1, sizeof *b);
    if (b == NULL)
        return sked_i_no_memory(err);
    b->base = (RN(back)){policy, g, dparameter};
    *out = &b->base;
    return SKED_OK;
}

static int stepwise_back_pieces(const RN(back) * b, int stage, int threads)
{
    return one_piece(b->policy, stage, threads);
}

static void stepwise_back_run(RN(back) * generic, int stage, int piece, int pieces)
{
    way_back *b = (way_back *)generic;
    (void)stage;
    (void)piece;
    (void)pieces;
    b->status = RN(stepper_grad)(((const RN(stepwise) *)generic->policy)->net, generic->gradient->block,
                                 generic->dparameter, &b->error);
}

static sked_status stepwise_back_end(RN(back) * generic, sked_error *err)
{
    way_back *b = (way_back *)generic;
    const sked_status st =
        b->status == SKED_OK ? SKED_OK : sked_i_fail(err, b->status, "%s", b->error.message);
    free(b);
    return st;
}

/* ------------------------------------------------------------------ walker */

static void stepwise_walker_destroy(RN(walker) * generic)
{
    walker *w = (walker *)generic;
    sked_i_partial_clear(&w->at);
    RN(step_run_destroy)(w->run);
    sked_i_arena_free(&w->arena);
    free(w);
}

static sked_status fill_walker(walker *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int64_t n = w->x->n, pairs = n * w->x->devices;
    SKED_TRY(sked_i_partial_init(&w->at, w->x, err));
    SKED_TRY(RN(step_run_create)(w->policy->net, &w->run, err));
    SKED_OWN(&w->arena, w->start, n);
    SKED_OWN(&w->arena, w->changed, n);
    SKED_OWN0(&w->arena, w->marked, n);
    SKED_OWN(&w->arena, w->pair.logit, pairs);
    SKED_OWN(&w->arena, w->pair.logp, pairs);
    SKED_OWN(&w->arena, w->pair.dlogp, pairs);
    SKED_OWN(&w->arena, w->pair.dlogit, pairs);
    SKED_OWN(&w->arena, w->pair.count, pairs);
    for (int64_t i = 0; i < pairs; i++)
        w->pair.count[i] = 1;
cleanup:
    return st;
}

static sked_status stepwise_walker_create(const RN(policy) * p, RN(walker) * *out, sked_error *err)
{
    sked_status st = SKED_OK;
    walker *w = NULL;
    SKED_NEW0(w, 1);
    w->base.policy = p;
    w->policy = (const RN(stepwise) *)p;
    w->x = p->instance;
    w->learned = p->layout->sizes.backward == SKED_I_BACKWARD_LEARNED;
    SKED_TRY(fill_walker(w, err));
    *out = &w->base;
    w = NULL;
cleanup:
    if (w)
        stepwise_walker_destroy(&w->base);
    return st;
}

/* ------------------------------------------------------------------ the state and its features */

static void mark(walker *w, int32_t op)
{
    if (w->marked[op])
        return;
    w->marked[op] = 1;
    w->changed[w->n_changed++] = op;
}

static bool removable(const walker *w, int32_t op)
{
    const int32_t d = w->at.device_of[op];
    return d >= 0 && w->at.last[d] == op && !w->at.followed[op];
}

static void fill_features(const walker *w, int32_t op)
{
    const int32_t d = w->at.device_of[op], inputs = w->base.policy->layout->inputs;
    real *f = w->run->feature + (int64_t)op * inputs;
    memset(f, 0, (size_t)inputs * sizeof *f);
    f[0] = (real)w->x->duration[op];
    f[1] = d >= 0 ? (real)w->start[op] : w->policy->ruled ? (real)-w->x->tail[op] : -1;
    f[2] = d < 0 && w->at.waits[op] == 0;
    f[3] = removable(w, op);
    f[4] = d >= 0;
    f[5] = (real)sked_i_log(w->x->devices);
    if (d >= 0)
        f[SKED_I_STEP_FEATURES + d] = 1;
}

/* Lets the network know what changed; the gradients of what was go on their way first. */
static void refresh(walker *w, RN(gradient) * gradient)
{
    if (gradient)
        RN(step_run_settle)(w->run, w->n_changed, w->changed, gradient->block);
    for (int32_t k = 0; k < w->n_changed; k++) {
        fill_features(w, w->changed[k]);
        w->marked[w->changed[k]] = 0;
    }
    RN(step_run_change)(w->run, w->n_changed, w->changed);
    w->n_changed = 0;
}

static void reset(walker *w)
{
    sked_i_partial_reset(&w->at);
    memset(w->marked, 0, (size_t)w->x->n);
    w->n_changed = 0;
    for (int32_t i = 0; i < w->x->n; i++) {
        fill_features(w, i);
        w->changed[w->n_changed++] = i;
    }
    RN(step_run_change)(w->run, w->n_changed, w->changed);
    w->n_changed = 0;
}

static void append(walker *w, int32_t index, int32_t d)
{
    assert(w->n_changed == 0); /* the network knows the state before */
    const sked_graph *g = w->x->graph;
    const int32_t before = w->at.last[d], op = sked_i_partial_pop(&w->at, index);
    const double start = sked_i_later(w->at.free_at[d], w->at.ready_time[op]);
    mark(w, op);
    if (before >= 0 && removable(w, before))
        mark(w, before);
    for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
        if (g->edge_distance[g->pred_edge[k]] == 0) {
            if (removable(w, g->pred_op[k]))
                mark(w, g->pred_op[k]);
            w->at.followed[g->pred_op[k]] = 1;
        }
    for (int64_t e = g->succ_ptr[op]; e < g->succ_ptr[op + 1]; e++)
        if (g->edge_distance[e] == 0) {
            sked_i_partial_arrive(&w->at, e, d, start);
            if (w->at.waits[g->edge_to[e]] == 0)
                mark(w, g->edge_to[e]);
        }
    w->start[op] = start;
    sked_i_partial_place(&w->at, op, d, start);
}

/* ------------------------------------------------------------------ probabilities */

/* Ops to add, then ops that could be removed (not before the first step); false: nothing is asked. */
static bool list_rows(walker *w)
{
    RN(step_run) *r = w->run;
    r->n_forward = w->at.n_ready;
    r->n_back = 0;
    memcpy(r->rows, w->at.ready, (size_t)w->at.n_ready * sizeof *r->rows);
    for (int32_t d = 0; w->learned && d < w->x->devices; d++)
        if (w->at.last[d] >= 0 && !w->at.followed[w->at.last[d]])
            r->rows[r->n_forward + r->n_back++] = w->at.last[d];
    return r->n_forward + r->n_back > 0;
}

static sked_i_rule_frame frame_of(const walker *w)
{
    const sked_i_partial *p = &w->at;
    double least_free = INFINITY, first_ready = INFINITY, top_tail = 0, critical = 0;
    for (int32_t d = 0; d < w->x->devices; d++)
        least_free = p->free_at[d] < least_free ? p->free_at[d] : least_free;
    for (int32_t i = 0; i < p->n_ready; i++) {
        const double data = p->ready_time[p->ready[i]], tail = w->x->tail[p->ready[i]];
        first_ready = data < first_ready ? data : first_ready;
        top_tail = sked_i_later(top_tail, tail);
        critical = sked_i_later(critical, sked_i_later(data, least_free) + tail);
    }
    return sked_i_rule_frame_of(w->x->unit, least_free, p->makespan, first_ready, top_tail, critical);
}

/* Adds the rule to the logits, and makes them as sharp as the temperature asks. */
static void add_rule(walker *w)
{
    const sked_i_rule_frame f = frame_of(w);
    const int32_t devices = w->x->devices;
    for (int32_t i = 0; i < w->at.n_ready; i++)
        for (int32_t d = 0; d < devices; d++) {
            const int32_t op = w->at.ready[i];
            real *logit = w->pair.logit + (int64_t)i * devices + d;
            *logit += (real)sked_i_rule_score(&f, w->at.ready_time[op], w->at.free_at[d], w->x->tail[op]);
            *logit *= w->policy->sharpness;
        }
}

/* Log-probabilities of all pairs i * devices + d into w->pair.logp. */
static bool evaluate_forward(walker *w)
{
    const int32_t devices = w->x->devices, slots = w->base.policy->layout->sizes.slots;
    for (int64_t i = 0; i < w->at.n_ready; i++)
        memcpy(w->pair.logit + i * devices, w->run->logit + i * slots, (size_t)devices * sizeof(real));
    if (w->policy->ruled)
        add_rule(w);
    w->pair.n = w->at.n_ready * devices;
    return w->base.policy->kernels->log_softmax(w->pair.n, w->pair.logit, w->pair.count, w->pair.logp);
}

/* slope * d logp[chosen], or what PPO makes of it, into the gradient of the logits. */
static void forward_grad(walker *w, sked_i_trajectory *t, int32_t step, int32_t chosen, real slope)
{
    const int32_t devices = w->x->devices, slots = w->base.policy->layout->sizes.slots;
    memset(w->run->dlogit, 0, (size_t)w->at.n_ready * (size_t)slots * sizeof(real));
    RN(choice_grad)(&w->pair, w->base.policy->kernels, t, step, chosen, slope);
    for (int64_t i = 0; i < w->at.n_ready; i++)
        for (int32_t d = 0; d < devices; d++)
            w->run->dlogit[i * slots + d] = w->policy->sharpness * w->pair.dlogit[i * devices + d];
}

/* log P_B of removing `op`, and with want_grad slope times its gradient by the logits. */
static sked_status look_back(walker *w, int32_t op, bool want_grad, real slope, double *logp, sked_error *err)
{
    const RN(kernels) *k = w->base.policy->kernels;
    RN(step_run) *r = w->run;
    int32_t chosen = 0;
    if (!w->learned) {
        *logp = -sked_i_log(sked_i_partial_removable(&w->at));
        return SKED_OK;
    }
    if (!k->log_softmax(r->n_back, r->back_logit, w->pair.count, w->pair.logp))
        return RN(no_probability)(w->x->n - w->at.left, w->x->n, err);
    while (r->rows[r->n_forward + chosen] != op)
        chosen++;
    *logp = w->pair.logp[chosen];
    if (want_grad) {
        memset(w->pair.dlogp, 0, (size_t)r->n_back * sizeof(real));
        memset(r->dback, 0, (size_t)r->n_back * sizeof(real));
        w->pair.dlogp[chosen] = slope;
        k->log_softmax_grad(r->n_back, w->pair.logp, w->pair.count, w->pair.dlogp, r->dback);
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ walks */

/* The pair of earliest start, then of the largest noise, then the first. */
static int32_t list_pair(const walker *w)
{
    const sked_i_partial *p = &w->at;
    const int32_t devices = w->x->devices;
    int32_t best = 0;
    double best_start = INFINITY, best_rank = 0;
    for (int32_t i = 0; i < p->n_ready; i++)
        for (int32_t d = 0; d < devices; d++) {
            const double start = sked_i_partial_start(p, p->ready[i], d), rank = p->noise[p->ready[i]];
            if (start < best_start || (start == best_start && rank > best_rank)) {
                best = i * devices + d;
                best_start = start;
                best_rank = rank;
            }
        }
    return best;
}

/* List scheduling starts empty devices in a random order: to the policy they are not the same. */
static int32_t list_choice(const walker *w, sked_i_rng *rng)
{
    const int32_t devices = w->x->devices, chosen = list_pair(w);
    int32_t empty = 0;
    if (w->at.last[chosen % devices] >= 0)
        return chosen;
    for (int32_t d = 0; d < devices; d++)
        empty += w->at.last[d] < 0;
    int32_t skip = (int32_t)sked_i_rng_below(rng, (uint64_t)empty), d = 0;
    while (w->at.last[d] >= 0 || skip-- > 0)
        d++;
    return chosen / devices * devices + d;
}

static int32_t replayed(const walker *w, int32_t op, int32_t device)
{
    for (int32_t i = 0; i < w->at.n_ready && device >= 0 && device < w->x->devices; i++)
        if (w->at.ready[i] == op)
            return i * w->x->devices + device;
    return -1;
}

static int32_t choose(const walker *w, sked_i_walk_kind kind, sked_i_rng *rng, const sked_i_trajectory *t,
                      int32_t step)
{
    if (kind == SKED_I_WALK_LIST)
        return list_choice(w, rng);
    return kind == SKED_I_WALK_REPLAY ? replayed(w, t->op[step], t->device[step])
                                      : RN(choose)(&w->pair, kind, rng);
}

/* The next action of the trajectory, on logits that are there; *chosen is its pair. */
static sked_status go_forward(walker *w, sked_i_walk_kind kind, sked_i_rng *rng, sked_i_trajectory *t,
                              int32_t step, int32_t *chosen, sked_error *err)
{
    if (!evaluate_forward(w))
        return RN(no_probability)(w->x->n - w->at.left, w->x->n, err);
    *chosen = choose(w, kind, rng, t, step);
    const sked_status st = RN(note_choice)(&w->pair, kind, step, *chosen, t, err);
    if (st != SKED_OK)
        return st;
    t->op[step] = w->at.ready[*chosen / w->x->devices];
    t->device[step] = *chosen % w->x->devices;
    return SKED_OK;
}

static sked_status stepwise_walk(RN(walker) * generic, sked_i_walk_kind kind, sked_i_rng *rng, real slope,
                                 RN(gradient) * gradient, sked_i_trajectory *t, sked_error *err)
{
    sked_status st = SKED_OK;
    walker *w = (walker *)generic;
    const int32_t n = w->x->n;
    t->log_forward = t->log_backward = t->objective = t->entropy = 0;
    if (gradient)
        SKED_TRY(RN(step_run_want_grad)(w->run, err));
    reset(w);
    if (kind == SKED_I_WALK_LIST)
        sked_i_partial_draw_noise(&w->at, rng);
    for (int32_t step = 0; step <= n; step++) {
        const bool asked = list_rows(w);
        int32_t chosen = 0;
        double back = 0;
        if (sked_i_limit_heard(w->x->limit))
            SKED_TRY(sked_i_limit_fail(err));
        if (asked)
            RN(step_run_forward)(w->run);
        if (step > 0)
            SKED_TRY(look_back(w, t->op[step - 1], gradient != NULL, (real)sked_i_back_slope(t, slope), &back,
                               err));
        if (step > 0)
            sked_i_note_back(t, step - 1, back);
        if (step < n)
            SKED_TRY(go_forward(w, kind, rng, t, step, &chosen, err));
        if (gradient && step < n)
            forward_grad(w, t, step, chosen, slope);
        if (gradient && asked)
            RN(step_run_backward)(w->run, gradient->block);
        if (step < n) {
            append(w, chosen / w->x->devices, chosen % w->x->devices);
            if (gradient == NULL)
                sked_i_note_step(t, step, &w->at);
            refresh(w, gradient);
        }
    }
    if (gradient)
        RN(step_run_settle)(w->run, n, w->run->all, gradient->block);
    t->makespan = w->at.makespan;
cleanup:
    return st;
}

const RN(policy_kind) RN(policy_stepwise) = {
    .single_pass = true,
    .create = stepwise_create,
    .destroy = stepwise_destroy,
    .prepare_pieces = one_piece,
    .prepare = stepwise_prepare,
    .gradient_size = stepwise_gradient_size,
    .back_begin = stepwise_back_begin,
    .back_pieces = stepwise_back_pieces,
    .back_run = stepwise_back_run,
    .back_end = stepwise_back_end,
    .walker_create = stepwise_walker_create,
    .walker_destroy = stepwise_walker_destroy,
    .walk = stepwise_walk,
};
