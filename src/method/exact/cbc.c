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

/* CBC should end a little early on its own: then what it has found is not lost. */
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

/* In the child. A record that never comes shows the parent that something went wrong. */
static void work(void *data, int pipe)
{
    const job *j = data;
    sked_error err = {0};
    reply *r = sked_i_alloc_zero((int64_t)reply_size(j->mip), 1);
    if (r == NULL)
        return;
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

static sked_status take_reply(sked_i_run *run, const sked_i_program *m, const sked_i_mip *mip, const reply *r,
                              answer *out, sked_error *err)
{
    sked_status st = SKED_OK;
    if (r->status != SKED_OK)
        return sked_i_fail(err, (sked_status)r->status, "CBC ran out of memory");
    *out = (answer)r->answer;
    if (r->found)
        st = offer(run, m, mip, r->value, err);
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

/* The child's reply; NULL: the time is up, a stop was asked for, or the child has died. */
static const reply *await(sked_i_run *run, sked_i_child *child)
{
    sked_i_child_news news = SKED_I_CHILD_WAITING;
    while (news == SKED_I_CHILD_WAITING && !is_over(run)) {
        const double left = run->limit.deadline - sked_clock();
        news = sked_i_child_wait(child, fmin(0.02, fmax(0.001, left)));
        sked_i_run_progress(run, "CBC");
    }
    return news == SKED_I_CHILD_RECORD ? (const reply *)(const void *)child->record : NULL;
}

/* The answer of a child. Without one CBC is not asked: nothing could stop it. */
static sked_status ask(sked_i_run *run, const sked_i_program *m, const sked_i_mip *mip, double cutoff,
                       answer *out, sked_error *err)
{
    job j = {.run = run, .mip = mip, .cutoff = cutoff};
    sked_i_child child = {0};
    sked_status st = SKED_OK;
    if (!sked_i_child_start(&child, reply_size(mip), work, &j))
        return sked_i_run_incumbent(run) != NULL
                   ? SKED_OK
                   : sked_i_fail(err, SKED_ERR_STOPPED, "no process could be started for CBC");
    const reply *r = await(run, &child);
    if (r != NULL)
        st = take_reply(run, m, mip, r, out, err);
    sked_i_child_end(&child);
    return st;
}

/* The smallest step between two values of the objective: with whole numbers 1, else nearly nothing. */
static double value_step(const sked_problem *p)
{
    const bool whole_cost = p->objective != SKED_OBJECTIVE_COST || p->alpha == floor(p->alpha);
    return p->graph->integral && whole_cost ? 1 : 1e-6;
}

/* One model: proves the best that ends by `latest` and is below the cutoff, or that there is none. */
static sked_status solve_problem(sked_i_run *run, const sked_problem *p, double latest, double cutoff,
                                 int64_t max_columns, answer *out, sked_error *err)
{
    sked_error why = {0};
    sked_i_program *m = NULL;
    sked_i_mip *mip = NULL;
    sked_status st = sked_i_program_create(p, latest, &m, &why);
    *out = st == SKED_ERR_INFEASIBLE ? REFUTED : STOPPED;
    sked_i_run_progress(run, "CBC");
    if (st != SKED_OK) /* its windows may refute it */
        return st == SKED_ERR_INFEASIBLE ? SKED_OK : sked_i_fail(err, st, "%s", why.message);
    st = sked_i_mip_create(m, max_columns, &mip, err);
    if (st == SKED_OK)
        st = ask(run, m, mip, cutoff, out, err);
    sked_i_mip_destroy(mip);
    sked_i_program_destroy(m);
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

/* Smallest interval first; at it, the shortest schedule. */
static sked_status solve_intervals(sked_i_run *run, int64_t max_columns, sked_error *err)
{
    const double most = fmax(1, sked_i_program_serial_length(run->problem));
    sked_problem p = *run->problem;
    answer a = REFUTED;
    for (p.ii = fmax(1, sked_i_run_bound(run)); a == REFUTED && p.ii <= most && !sked_i_run_over(run);
         p.ii++) {
        const bool known = sked_i_run_incumbent(run) != NULL && sked_i_run_best(run) <= p.ii;
        const double latest = known ? sked_i_run_best_length(run) - 1 : INFINITY;
        const sked_status st = solve_problem(run, &p, latest, INFINITY, max_columns, &a, err);
        if (st != SKED_OK)
            return st;
        if (a == REFUTED && known)
            a = PROVED; /* nothing shorter at the interval of the best schedule */
        if (a == REFUTED)
            sked_i_run_raise_bound(run, p.ii + 1);
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
