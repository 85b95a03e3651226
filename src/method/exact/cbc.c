/*
 * Models by time steps, solved by CBC through its C interface. CBC cannot be stopped within a relaxation, so
 * it runs in a child process that is ended when the time is up or a stop is asked for.
 */
#include "base/child.h"
#include "engine/branch/branch.h"
#include "form/program.h"
#include "method/exact/exact.h"

#include <coin/Cbc_C_Interface.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(CoinBigIndex) == sizeof(int32_t), "CBC counts entries with int");

typedef enum answer { PROVED, REFUTED, STOPPED } answer;

/* What CBC is asked, and what it says. */
typedef struct job {
    const sked_i_run *run;
    const sked_i_mip *mip;
    double cutoff; /* only better objective values count; INFINITY: any */
    double most;   /* the objective may be no larger; INFINITY: any */
    double share;  /* > 0: cuts the gap between low and high at this share, until it is closed */
    double low, high, step;
} job;
typedef struct reply {
    int32_t status; /* sked_status */
    int32_t answer;
    int32_t found, unused; /* found: value is a solution */
    double bound;          /* proved */
    double value[];        /* [columns] */
} reply;

static sked_status load(Cbc_Model *cbc, const sked_i_mip *mip, sked_error *err)
{
    sked_i_mip_columns c = {0};
    const sked_status st = sked_i_mip_transpose(mip, &c, err);
    if (st == SKED_OK) {
        Cbc_loadProblem(cbc, (int)mip->n_cols, (int)mip->n_rows, c.begin, c.row, c.value, mip->col_low,
                        mip->col_high, mip->col_cost, mip->row_low, mip->row_high);
        for (int64_t k = 0; k < mip->n_cols; k++)
            if (mip->integer[k])
                Cbc_setInteger(cbc, (int)k);
    }
    sked_i_mip_columns_free(&c);
    return st;
}

/* CBC should end by itself a little early: then what it has found is not lost. */
static double seconds_for(const sked_i_run *run)
{
    const double left = run->limit.deadline - sked_clock();
    return fmax(0.01, left - fmin(0.1 * left, 0.3));
}

static void configure(Cbc_Model *cbc, const sked_i_run *run)
{
    char text[40];
    Cbc_setLogLevel(cbc, 0);
    Cbc_setParameter(cbc, "timeMode", "elapsed");
    Cbc_setAllowableGap(cbc, 0);
    Cbc_setAllowableFractionGap(cbc, 0);
    snprintf(text, sizeof text, "%d", (int)(run->options->seed % 1000000000) + 1);
    Cbc_setParameter(cbc, "randomCbcSeed", text);
    if (isfinite(run->limit.deadline))
        Cbc_setMaximumSeconds(cbc, seconds_for(run));
    if (run->options->iterations > 0 && run->options->iterations < INT32_MAX)
        Cbc_setMaximumNodes(cbc, (int)run->options->iterations);
}

/* Forbids objective values above `most`. */
static sked_status cap_objective(Cbc_Model *cbc, const sked_i_mip *mip, double most, sked_error *err)
{
    int *column = sked_i_alloc(mip->n_cols, sizeof *column), count = 0;
    double *cost = sked_i_alloc(mip->n_cols, sizeof *cost);
    for (int64_t k = 0; column && cost && k < mip->n_cols; k++)
        if (mip->col_cost[k] != 0) {
            column[count] = (int)k;
            cost[count++] = mip->col_cost[k];
        }
    if (count > 0)
        Cbc_addRow(cbc, "most", count, column, cost, 'L', most - mip->offset);
    const bool fine = column && cost;
    free(column);
    free(cost);
    return fine ? SKED_OK : sked_i_no_memory(err);
}

/* CBC says "infeasible" too where its time ran out before the first relaxation was solved; `end` is that
 * time. */
static bool is_refuted(Cbc_Model *cbc, double end)
{
    return Cbc_isProvenInfeasible(cbc) && Cbc_secondaryStatus(cbc) != 4 && sked_clock() < end;
}

/* What is proved where CBC was stopped: nothing beyond the cutoff, and nothing where it answers 1e50. */
static double bound_of(Cbc_Model *cbc, const job *j)
{
    const double best = Cbc_getBestPossibleObjValue(cbc);
    return fabs(best) < 1e49 ? fmin(best + j->mip->offset - 1e-6, j->cutoff) : -INFINITY;
}

/* Loads, solves, fills the reply. */
static sked_status ask_cbc(const job *j, reply *r, sked_error *err)
{
    const sked_i_mip *mip = j->mip;
    Cbc_Model *cbc = Cbc_newModel();
    if (cbc == NULL)
        return sked_i_no_memory(err);
    sked_status st = load(cbc, mip, err);
    if (st == SKED_OK && isfinite(j->most))
        st = cap_objective(cbc, mip, j->most, err);
    if (st == SKED_OK) {
        const double end = sked_clock() + seconds_for(j->run);
        configure(cbc, j->run);
        if (isfinite(j->cutoff))
            Cbc_setCutoff(cbc, j->cutoff - mip->offset);
        (void)Cbc_solve(cbc);
        const bool proved = Cbc_isProvenOptimal(cbc);
        const double *value = Cbc_getColSolution(cbc);
        r->answer = proved ? PROVED : is_refuted(cbc, end) ? REFUTED : STOPPED;
        r->found = value != NULL && (proved || Cbc_numberSavedSolutions(cbc) > 0);
        r->bound = bound_of(cbc, j);
        if (r->found)
            memcpy(r->value, value, (size_t)mip->n_cols * sizeof *value);
    }
    Cbc_deleteModel(cbc);
    return st;
}

static size_t reply_size(const sked_i_mip *mip)
{
    return sizeof(reply) + (size_t)mip->n_cols * sizeof(double);
}

static double objective_of(const sked_i_mip *mip, const double *value)
{
    double sum = mip->offset;
    for (int64_t k = 0; k < mip->n_cols; k++)
        sum += mip->col_cost[k] * value[k];
    return sum;
}

/* Asks for values within a share of the gap until that is closed, or one question is too hard. */
static void cut_gap(job j, reply *r, int pipe)
{
    sked_error err = {0};
    while (j.low < j.high && r->status == SKED_OK) {
        const double steps = floor((j.high - j.low) / j.step + 0.5);
        j.most = j.low + floor((steps - 1) * j.share) * j.step;
        r->status = ask_cbc(&j, r, &err);
        if (r->found)
            j.high = fmin(j.high, nearbyint(objective_of(j.mip, r->value) / j.step) * j.step);
        if (r->answer != STOPPED) /* the least within the cap is the least of all */
            j.low = r->answer == PROVED ? j.high : j.most + j.step;
        r->bound = j.low;
        const bool done = r->answer == STOPPED && !r->found;
        if (!sked_i_child_send(pipe, r, reply_size(j.mip)) || done)
            break;
    }
}

/* In the child. A record that never comes tells the parent that something went wrong. */
static void work(void *data, int pipe)
{
    const job *j = data;
    sked_error err = {0};
    reply *r = sked_i_alloc_zero((int64_t)reply_size(j->mip), 1);
    if (r == NULL)
        return;
    if (j->share > 0) {
        cut_gap(*j, r, pipe);
        return;
    }
    r->status = ask_cbc(j, r, &err);
    (void)!sked_i_child_send(pipe, r, reply_size(j->mip));
}

static sked_status offer(sked_i_run *run, const sked_i_program *m, const sked_i_mip *mip, const double *value,
                         sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(m->n, m->p->devices, &s, err);
    if (st != SKED_OK)
        return st;
    sked_i_mip_decode(m, mip, value, s);
    if (m->p->devices > 0 && m->places == 1)
        st = sked_i_branch_devices(m->p, s, err);
    if (st == SKED_OK)
        st = sked_i_run_offer(run, s, err);
    sked_i_run_evaluated(run, 1);
    sked_schedule_destroy(s);
    return st;
}

/* One model and the child that works on it. */
typedef struct question {
    sked_problem p; /* what m refers to */
    sked_i_program *m;
    sked_i_mip *mip;
    job job;
    sked_i_child child;
    bool refuted; /* already by its windows */
} question;

static void close_question(question *q)
{
    sked_i_child_end(&q->child);
    sked_i_mip_destroy(q->mip);
    sked_i_program_destroy(q->m);
}

static sked_status open_question(sked_i_run *run, const sked_problem *p, double latest, double cutoff,
                                 int64_t max_columns, question *q, sked_error *err)
{
    sked_error why = {0};
    *q = (question){.p = *p, .job = {.run = run, .cutoff = cutoff, .most = INFINITY}};
    const sked_status st = sked_i_program_create(&q->p, latest, &q->m, &why);
    q->refuted = st == SKED_ERR_INFEASIBLE;
    if (st != SKED_OK)
        return q->refuted ? SKED_OK : sked_i_fail(err, st, "%s", why.message);
    const sked_status made = sked_i_mip_create(q->m, max_columns, &q->mip, err);
    q->job.mip = q->mip;
    return made;
}

static sked_status take_reply(sked_i_run *run, const question *q, const reply *r, answer *out,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    if (r->status != SKED_OK)
        return sked_i_fail(err, (sked_status)r->status, "CBC ran out of memory");
    *out = (answer)r->answer;
    if (r->found)
        st = offer(run, q->m, q->mip, r->value, err);
    if (st == SKED_OK && *out == STOPPED && run->problem->objective != SKED_OBJECTIVE_II)
        sked_i_run_raise_bound(run, r->bound);
    return st;
}

/* Time is up: a little later than the limit says, for CBC's last word on what it has found. */
static bool is_over(const sked_i_run *run)
{
    sked_i_limit late = run->limit;
    late.deadline += fmin(0.2, 0.04 * (late.deadline - late.begin));
    return sked_i_limit_reached(&late);
}

/* News of one of some children; WAITING: the time is up, a stop was asked for, or none is left. */
static sked_i_child_news await(sked_i_run *run, sked_i_child *children, int count, int *who)
{
    while (!is_over(run)) {
        bool any = false;
        for (int k = 0; k < count; k++)
            any = any || children[k].pid > 0;
        if (!any)
            break;
        const double left = run->limit.deadline - sked_clock();
        const sked_i_child_news news = sked_i_child_wait(children, count, fmin(0.02, fmax(0.001, left)), who);
        if (news != SKED_I_CHILD_WAITING)
            return news;
        sked_i_run_progress(run, "CBC");
    }
    return SKED_I_CHILD_WAITING;
}

static bool start(question *q)
{
    return q->refuted || sked_i_child_start(&q->child, reply_size(q->mip), work, &q->job);
}

/* The answer to a question that was started, or (no child to be had) is answered here. */
static sked_status finish(sked_i_run *run, question *q, answer *out, sked_error *err)
{
    int who;
    reply *own = NULL;
    sked_status st = SKED_OK;
    *out = q->refuted ? REFUTED : STOPPED;
    if (q->refuted)
        return SKED_OK;
    if (q->child.pid > 0) {
        if (await(run, &q->child, 1, &who) == SKED_I_CHILD_RECORD)
            st = take_reply(run, q, (const reply *)(const void *)q->child.record, out, err);
        return st;
    }
    own = sked_i_alloc_zero((int64_t)reply_size(q->mip), 1);
    if (own == NULL)
        return sked_i_no_memory(err);
    SKED_TRY(ask_cbc(&q->job, own, err));
    SKED_TRY(take_reply(run, q, own, out, err));
cleanup:
    free(own);
    return st;
}

/* The smallest step between two values of the objective: with whole numbers 1, else nearly nothing. */
static double value_step(const sked_problem *p)
{
    const bool whole_cost = p->objective != SKED_OBJECTIVE_COST || p->alpha == floor(p->alpha);
    return p->graph->integral && whole_cost ? 1 : 1e-6;
}

/* ------------------------------------------------------------------ several children on one model */

enum { most_children = 16 };

typedef struct siblings {
    sked_i_child child[most_children]; /* 0: the whole model; the others cut the gap */
    reply *found[most_children]; /* last solution of each, offered at the end where results must repeat */
    int count;
    bool repeats, solved; /* solved: child 0 has an answer */
    answer answer;
} siblings;

/* What child `who` has sent. */
static sked_status take_record(sked_i_run *run, const question *q, siblings *c, int who, sked_error *err)
{
    const reply *r = (const reply *)(const void *)c->child[who].record;
    answer ignored;
    if (r->status != SKED_OK)
        return sked_i_fail(err, (sked_status)r->status, "CBC ran out of memory");
    if (who == 0) {
        c->answer = (answer)r->answer;
        c->solved = c->answer != STOPPED;
    }
    if (who > 0 || c->answer == STOPPED)
        sked_i_run_raise_bound(run, r->bound);
    if (!r->found)
        return SKED_OK;
    if (!c->repeats)
        return take_reply(run, q, r, &ignored, err);
    if (c->found[who] == NULL && (c->found[who] = sked_i_alloc((int64_t)reply_size(q->mip), 1)) == NULL)
        return sked_i_no_memory(err);
    memcpy(c->found[who], r, reply_size(q->mip));
    return SKED_OK;
}

/* Is nothing left to prove? With results that must repeat, all children end by themselves first. */
static bool is_settled(const sked_i_run *run, const siblings *c)
{
    return !c->repeats && (c->solved || (sked_i_run_incumbent(run) != NULL &&
                                         sked_i_run_best(run) <= sked_i_run_bound(run)));
}

static sked_status lead_siblings(sked_i_run *run, const question *q, siblings *c, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_child_news news = SKED_I_CHILD_RECORD;
    while (news != SKED_I_CHILD_WAITING && !is_settled(run, c)) {
        int who;
        news = await(run, c->child, c->count, &who);
        if (news == SKED_I_CHILD_RECORD)
            SKED_TRY(take_record(run, q, c, who, err));
    }
    for (int k = 0; k < c->count; k++)
        if (c->found[k] != NULL)
            SKED_TRY(offer(run, q->m, q->mip, c->found[k]->value, err));
cleanup:
    return st;
}

/* All threads on one model with whole objective values. */
static sked_status solve_together(sked_i_run *run, question *q, answer *out, sked_error *err)
{
    static const double shares[] = {0.125, 0.5, 0.875, 0.25, 0.75};
    const int threads = run->options->threads;
    siblings c = {.count = threads < most_children ? threads : most_children, .answer = STOPPED};
    c.repeats = run->options->iterations > 0;
    job jobs[most_children];
    for (int k = 0; k < c.count; k++) {
        jobs[k] = q->job;
        jobs[k].share = k > 0 ? shares[(k - 1) % (int)(sizeof shares / sizeof *shares)] : 0;
        jobs[k].low = ceil(sked_i_run_bound(run));
        jobs[k].high = sked_i_run_best(run);
        jobs[k].step = 1;
        (void)sked_i_child_start(&c.child[k], reply_size(q->mip), work, &jobs[k]);
    }
    sked_status st = c.child[0].pid > 0 ? lead_siblings(run, q, &c, err) : finish(run, q, &c.answer, err);
    *out = sked_i_run_incumbent(run) != NULL && sked_i_run_best(run) <= sked_i_run_bound(run) ? PROVED
                                                                                              : c.answer;
    for (int k = 0; k < c.count; k++) {
        sked_i_child_end(&c.child[k]);
        free(c.found[k]);
    }
    return st;
}

/* One model: proves the best, or that there is none. */
static sked_status solve_problem(sked_i_run *run, const sked_problem *p, double latest, double cutoff,
                                 int64_t max_columns, answer *out, sked_error *err)
{
    question q;
    sked_status st = open_question(run, p, latest, cutoff, max_columns, &q, err);
    sked_i_run_progress(run, "CBC");
    const bool gap =
        p->objective != SKED_OBJECTIVE_II && sked_i_run_incumbent(run) != NULL && value_step(p) == 1;
    if (st == SKED_OK && run->options->threads > 1 && gap && !q.refuted)
        st = solve_together(run, &q, out, err);
    else if (st == SKED_OK) {
        (void)start(&q);
        st = finish(run, &q, out, err);
    }
    close_question(&q);
    return st;
}

static sked_status conclude(sked_i_run *run, answer a, sked_error *err)
{
    if (a == STOPPED)
        return SKED_OK;
    if (sked_i_run_incumbent(run) == NULL)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE, "proved by CBC: no schedule keeps all limits");
    sked_i_run_prove(run);
    return SKED_OK;
}

/* ------------------------------------------------------------------ intervals */

/* Opens and starts the question of one interval. *known: there is a schedule at it, shorter ones count. */
static sked_status start_interval(sked_i_run *run, double ii, int64_t max_columns, question *q, bool *known,
                                  sked_error *err)
{
    sked_problem p = *run->problem;
    p.ii = ii;
    *known = sked_i_run_incumbent(run) != NULL && sked_i_run_best(run) <= ii;
    const double length = *known ? sked_i_run_best_length(run) : INFINITY;
    const sked_status st = open_question(run, &p, length - 1, INFINITY, max_columns, q, err);
    if (st == SKED_OK)
        (void)start(q);
    return st;
}

/* As many intervals as there are threads, from `ii` on; the first that is not refuted decides. */
static sked_status solve_some(sked_i_run *run, double ii, int count, int64_t max_columns, answer *out,
                              sked_error *err)
{
    question q[most_children] = {0};
    bool known[most_children];
    sked_status st = SKED_OK;
    int opened = 0;
    *out = REFUTED;
    for (bool more = true; opened < count && more; opened++) {
        SKED_TRY(start_interval(run, ii + opened, max_columns, &q[opened], &known[opened], err));
        more = !known[opened];
    }
    for (int k = 0; k < opened && *out == REFUTED; k++) {
        SKED_TRY(finish(run, &q[k], out, err));
        if (*out == REFUTED && known[k])
            *out = PROVED; /* nothing shorter at the interval of the best schedule */
        if (*out == REFUTED)
            sked_i_run_raise_bound(run, ii + k + 1);
    }
cleanup:
    for (int k = 0; k < count; k++)
        close_question(&q[k]);
    return st;
}

/* Smallest interval first; at it, the shortest schedule. */
static sked_status solve_intervals(sked_i_run *run, int64_t max_columns, sked_error *err)
{
    const double most = fmax(1, sked_i_serial_length(run->problem));
    const int threads = run->options->threads, count = threads < most_children ? threads : most_children;
    answer a = REFUTED;
    for (double ii = fmax(1, sked_i_run_bound(run)); a == REFUTED && ii <= most && !sked_i_run_over(run);
         ii += count) {
        sked_i_run_progress(run, "CBC");
        const sked_status st = solve_some(run, ii, count, max_columns, &a, err);
        if (st != SKED_OK)
            return st;
    }
    return conclude(run, a, err);
}

sked_status sked_i_exact_cbc(sked_i_run *run, int64_t max_columns, sked_error *err)
{
    const sked_problem *p = run->problem;
    if (p->objective == SKED_OBJECTIVE_II && !(p->ii > 0))
        return solve_intervals(run, max_columns, err);
    const double best = sked_i_run_best(run);
    const bool length = p->objective == SKED_OBJECTIVE_MAKESPAN;
    const double latest = length ? best - 1
                          : p->objective == SKED_OBJECTIVE_II && sked_i_run_incumbent(run) != NULL
                              ? sked_i_run_best_length(run) - 1
                              : INFINITY;
    const double cutoff = length || p->objective == SKED_OBJECTIVE_II ? INFINITY : best - 0.5 * value_step(p);
    answer a = STOPPED;
    const sked_status st = solve_problem(run, p, latest, cutoff, max_columns, &a, err);
    return st == SKED_OK ? conclude(run, a, err) : st;
}
