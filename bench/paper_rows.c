/* One graph, one method, one set of stages, one seed: the one-shot pipeline, then targets and diversity. */
#include "paper.h"

#include <string.h>

#define SETTINGS(...) \
    {                 \
        __VA_ARGS__   \
    }
const paper_method paper_methods[PAPER_METHODS] = {
#define X(id, label, method, settings, candidates, evaluations, learner) \
    {label, method, settings, candidates, evaluations, learner},
    PAPER_METHOD_LIST(X)
#undef X
};
const paper_stage paper_stages[PAPER_STAGES] = {
    {"as made", false, 0}, {"local", true, 0}, {"local, improve=5", true, 5}};
const char *const paper_targets[PAPER_TARGETS] = {"noisy", "bandwidth", "latency"};

bool paper_is_gflownet(int method)
{
    return strncmp(paper_methods[method].label, "gflownet", strlen("gflownet")) == 0;
}

sked_status paper_gather(const paper_run *r, const sked_problem *p, const paper_method *who,
                         const paper_stage *stage, const char *model, int seed, sked_robust_result *out,
                         sked_error *err)
{
    sked_robust_options opt;
    const double ops = fmax(sked_graph_op_count(p->graph), PAPER_EVALUATED_OPS);
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    opt.method = who->method;
    opt.model = model;
    opt.settings = who->settings;
    while (opt.n_settings < PAPER_MOST_SETTINGS && who->settings[opt.n_settings] != NULL)
        opt.n_settings++;
    opt.candidates = who->candidates;
    opt.top = PAPER_TOP;
    opt.local = stage->local;
    opt.improve = stage->improve;
    opt.seed = (uint64_t)r->a->seed + (uint64_t)seed;
    opt.threads = (int)r->a->threads;
    opt.time_limit = INFINITY;
    opt.stop = &stop_requested;
    opt.backend = r->a->backend;
    if (who->evaluations > 0)
        opt.iterations = (int64_t)ceil(PAPER_EVALUATIONS * PAPER_EVALUATED_OPS / ops / who->evaluations);
    return sked_robust(p, "proxy", &opt, out, err);
}

/* Best speedup on the target, mean over its seeds. */
static sked_status measure_target(const sked_problem *p, const sked_robust_member *m, const char *target,
                                  int seeds, double *speedup, sked_error *err)
{
    sked_status st = SKED_OK;
    *speedup = 0;
    for (int k = 0; st == SKED_OK && k < seeds; k++) {
        sked_target *t = NULL;
        double best = INFINITY;
        st = sked_target_create(target, p, (uint64_t)k, &t, err);
        for (int32_t i = 0; st == SKED_OK && i < m->count; i++) {
            sked_measurement said = {.size = sizeof said};
            if ((st = sked_target_measure(t, m->schedule[i], &said, err)) == SKED_OK)
                best = fmin(best, said.time);
            sked_measurement_clear(&said);
        }
        if (st == SKED_OK)
            *speedup += (best > 0 ? sked_target_work(t) / best : 1) / seeds;
        sked_target_destroy(t);
    }
    return st;
}

/* The three diversities, times in units that make the mean duration one half, as in the random graphs. */
static sked_status measure_diversity(const sked_problem *p, const sked_robust_member *m, paper_row *out,
                                     sked_error *err)
{
    sked_graph_info info = {.size = sizeof info};
    sked_diversity d = {.size = sizeof d};
    sked_status st = sked_graph_describe(p->graph, &info, err);
    const double unit = st == SKED_OK && info.work > 0 ? 2 * info.work / info.ops : 1;
    for (int32_t k = 0; st == SKED_OK && k < m->count; k++)
        for (int32_t i = 0; i < m->schedule[k]->ops; i++)
            m->schedule[k]->start[i] /= unit;
    if (st == SKED_OK)
        st = sked_schedules_diversity(p, (const sked_schedule *const *)m->schedule, m->count, &d, err);
    out->figure[PAPER_ged] = d.ged;
    out->figure[PAPER_d_inv] = d.d_inv;
    out->figure[PAPER_d_sen] = d.d_sen;
    return st;
}

static sked_status run_one(const paper_run *r, const sked_problem *p, const paper_method *who,
                           const paper_stage *stage, const char *model, int seed, paper_row *out,
                           sked_error *err)
{
    sked_robust_result result = {.size = sizeof result};
    *out = (paper_row){0};
    const double begin = sked_clock();
    sked_status st = paper_gather(r, p, who, stage, model, seed, &result, err);
    if (st != SKED_OK)
        return st;
    const sked_robust_member *m = result.member[0];
    out->seconds = sked_clock() - begin;
    out->candidates = m->count;
    out->figure[PAPER_top1] = m->proxy[0];
    for (int32_t k = 0; k < m->count; k++)
        out->figure[PAPER_top100] += m->proxy[k] / m->count;
    for (int t = 0; st == SKED_OK && t < PAPER_TARGETS; t++)
        st = measure_target(p, m, paper_targets[t], t == 0 ? PAPER_NOISES : 1, &out->figure[PAPER_noisy + t],
                            err);
    if (st == SKED_OK)
        st = measure_diversity(p, m, out, err); /* last: it rescales the schedules */
    sked_robust_result_clear(&result);
    return st;
}

static void add_row(paper_row *sum, const paper_row *r)
{
    for (int c = 0; c < PAPER_COLUMNS; c++)
        sum->figure[c] += r->figure[c];
    sum->candidates += r->candidates;
    sum->seconds += r->seconds;
}

bool paper_takes_part(const paper_run *r, const paper_table *t, int method)
{
    const int learner = paper_methods[method].learner;
    return paper_row_wanted(r, paper_methods[method].label) &&
           (learner < 0 || (t->how != NULL && paper_pupil_on(r, paper_learner(learner))));
}

bool paper_row_wanted(const paper_run *r, const char *name)
{
    return strstr(name, r->a->rows) != NULL;
}

int64_t paper_row_updates(const paper_run *r, const paper_table *t, int method)
{
    const int learner = paper_methods[method].learner;
    if (learner >= 0)
        return paper_updates(r, t->how, paper_learner(learner));
    return method == PAPER_BUILT_IN ? r->built_in : 0;
}

int paper_row_seeds(const paper_run *r, const paper_table *t, int method)
{
    const int learner = paper_methods[method].learner;
    return learner < 0 ? r->seeds : t->seeds[learner];
}

void paper_progress(paper_table *t, int done, int count)
{
    t->begin = (double)done / count;
    t->width = 1.0 / count;
    show_progress(NULL, t->name, t->begin, NAN, NAN);
}

bool paper_skipped(const paper_run *r, int index)
{
    return index % r->a->sample != 0;
}

/* As an earlier run has left it in the results, or made now. */
static sked_status make_row(paper_run *r, paper_table *t, const sked_problem *p, const char *graph,
                            int method, int stage, int seed, paper_row *out, sked_error *err)
{
    const paper_method *who = &paper_methods[method];
    const char *model = r->a->model;
    paper_result x = {.trained = paper_row_updates(r, t, method)};
    sked_status st = SKED_OK;
    paper_result_key(r, t->name, method, x.trained, seed, stage, graph, x.key);
    if (paper_results_find(r, &x)) {
        t->found++;
    } else {
        if (who->learner >= 0)
            st = paper_table_model(r, t, who->learner, seed, &model, err);
        if (st == SKED_OK)
            st = run_one(r, p, who, &paper_stages[stage], model, seed, &x.row, err);
        if (who->learner >= 0)
            x.trained = t->trained[who->learner][seed];
        if (st == SKED_OK && !stop_requested)
            st = paper_results_add(r, &x, err);
    }
    *out = x.row;
    return st;
}

sked_status paper_graph(paper_run *r, const sked_graph *g, const char *label, paper_table *t, sked_error *err)
{
    static paper_cell here[PAPER_METHODS][PAPER_STAGES]; /* too large for a stack */
    const int seeds = r->seeds, all = PAPER_METHODS * PAPER_STAGES * seeds;
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = PAPER_DEVICES;
    for (int k = 0; k < all; k++) {
        const int method = k / seeds / PAPER_STAGES, stage = k / seeds % PAPER_STAGES, seed = k % seeds;
        if (!paper_takes_part(r, t, method) || seed >= paper_row_seeds(r, t, method))
            continue;
        const sked_status st =
            make_row(r, t, &p, label, method, stage, seed, &here[method][stage].seed[seed], err);
        if (stop_requested || st != SKED_OK)
            return stop_requested ? SKED_OK : st;
        show_progress(NULL, t->name, t->begin + t->width * (k + 1) / all, NAN, NAN);
    }
    for (int k = 0; k < all; k++)
        add_row(&t->sum[k / seeds / PAPER_STAGES][k / seeds % PAPER_STAGES].seed[k % seeds],
                &here[k / seeds / PAPER_STAGES][k / seeds % PAPER_STAGES].seed[k % seeds]);
    t->graphs++;
    if (r->a->list) {
        printf("\n%s, %d ops\n\n", label, (int)sked_graph_op_count(g));
        paper_print_header();
        paper_print_cells(r, t, here, 1);
    }
    return SKED_OK;
}
