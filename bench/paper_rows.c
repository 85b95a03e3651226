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

static bool has_gpu(const char *method)
{
    const sked_method_info *info = sked_method_find(method);
    return info != NULL && info->features & SKED_CAN_CUDA;
}

sked_status paper_make(const paper_run *r, const sked_problem *p, const paper_method *who, const char *model,
                       int seed, paper_pool *out, sked_error *err)
{
    char file[PAPER_PATH + 10];
    const char *settings[PAPER_MOST_SETTINGS + 1];
    const double ops = fmax(sked_graph_op_count(p->graph), PAPER_EVALUATED_OPS), begin = sked_clock();
    sked_run_options opt;
    sked_run_options_init(&opt);
    for (; opt.n_settings < PAPER_MOST_SETTINGS && who->settings[opt.n_settings] != NULL; opt.n_settings++)
        settings[opt.n_settings] = who->settings[opt.n_settings];
    if (model != NULL) {
        snprintf(file, sizeof file, "model=%s", model);
        settings[opt.n_settings++] = file;
    }
    opt.settings = settings;
    opt.candidates = who->candidates;
    opt.seed = (uint64_t)r->a->seed + (uint64_t)seed;
    opt.threads = (int)r->a->threads;
    opt.time_limit = INFINITY;
    opt.stop = &stop_requested;
    opt.backend = has_gpu(who->method) ? r->a->backend : "cpu";
    if (who->evaluations > 0)
        opt.iterations = (int64_t)ceil(PAPER_EVALUATIONS * PAPER_EVALUATED_OPS / ops / who->evaluations);
    *out = (paper_pool){.made = {.size = sizeof out->made}};
    const sked_status st = sked_method_run(who->method, p, &opt, &out->made, err);
    out->seconds = sked_clock() - begin;
    return st;
}

void paper_pool_clear(paper_pool *x)
{
    sked_result_clear(&x->made);
    *x = (paper_pool){.made = {.size = sizeof x->made}};
}

sked_status paper_pass(const paper_run *r, const sked_problem *p, const paper_pool *from,
                       const paper_stage *stage, int seed, sked_robust_result *out, sked_error *err)
{
    sked_robust_options opt;
    sked_robust_options_init(&opt);
    opt.one_shot = true;
    opt.given = (const sked_schedule *const *)from->made.schedule;
    opt.n_given = from->made.count;
    opt.top = PAPER_TOP;
    opt.local = stage->local;
    opt.improve = stage->improve;
    opt.seed = (uint64_t)r->a->seed + (uint64_t)seed;
    opt.threads = (int)r->a->threads;
    opt.time_limit = INFINITY;
    opt.stop = &stop_requested;
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

static sked_status run_one(const paper_run *r, const sked_problem *p, const paper_pool *from,
                           const paper_stage *stage, int seed, paper_row *out, sked_error *err)
{
    sked_robust_result result = {.size = sizeof result};
    *out = (paper_row){0};
    const double begin = sked_clock();
    sked_status st = paper_pass(r, p, from, stage, seed, &result, err);
    if (st != SKED_OK)
        return st;
    const sked_robust_member *m = result.member[0];
    out->seconds = from->seconds + sked_clock() - begin;
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

/* What the method makes, unless *pool has it from an earlier stage. */
static sked_status fill_pool(paper_run *r, paper_table *t, const sked_problem *p, int method, int seed,
                             paper_pool *pool, sked_error *err)
{
    const paper_method *who = &paper_methods[method];
    const char *model = method == PAPER_BUILT_IN ? r->a->model : NULL;
    sked_status st = SKED_OK;
    if (pool->made.count > 0)
        return SKED_OK;
    if (who->learner >= 0)
        st = paper_table_model(r, t, who->learner, seed, &model, err);
    return st == SKED_OK ? paper_make(r, p, who, model, seed, pool, err) : st;
}

/* As an earlier run has left it in the results, or made now. */
static sked_status make_row(paper_run *r, paper_table *t, const sked_problem *p, const char *graph,
                            int method, int stage, int seed, paper_pool *pool, paper_row *out,
                            sked_error *err)
{
    const int learner = paper_methods[method].learner;
    paper_result x = {.trained = paper_row_updates(r, t, method)};
    paper_result_key(r, t->name, method, x.trained, seed, stage, graph, x.key);
    if (paper_results_find(r, &x)) {
        t->found++;
        *out = x.row;
        return SKED_OK;
    }
    sked_status st = fill_pool(r, t, p, method, seed, pool, err);
    if (st == SKED_OK)
        st = run_one(r, p, pool, &paper_stages[stage], seed, &x.row, err);
    if (learner >= 0)
        x.trained = t->trained[learner][seed];
    if (st == SKED_OK && !stop_requested)
        st = paper_results_add(r, &x, err);
    *out = x.row;
    return st;
}

/* One method with one seed: every stage passes on the same candidates. here: [PAPER_STAGES] */
static sked_status run_stages(paper_run *r, paper_table *t, const sked_problem *p, const char *graph,
                              int method, int seed, paper_cell *here, sked_error *err)
{
    paper_pool pool = {.made = {.size = sizeof pool.made}};
    sked_status st = SKED_OK;
    for (int stage = 0; stage < PAPER_STAGES && st == SKED_OK && !stop_requested; stage++)
        st = make_row(r, t, p, graph, method, stage, seed, &pool, &here[stage].seed[seed], err);
    paper_pool_clear(&pool);
    return st;
}

static void add_cells(paper_table *t, paper_cell (*here)[PAPER_STAGES], int seeds)
{
    for (int method = 0; method < PAPER_METHODS; method++)
        for (int stage = 0; stage < PAPER_STAGES; stage++)
            for (int seed = 0; seed < seeds; seed++)
                add_row(&t->sum[method][stage].seed[seed], &here[method][stage].seed[seed]);
}

sked_status paper_graph(paper_run *r, const sked_graph *g, const char *label, paper_table *t, sked_error *err)
{
    static paper_cell here[PAPER_METHODS][PAPER_STAGES]; /* too large for a stack */
    const int all = PAPER_METHODS * r->seeds;
    sked_problem p;
    sked_problem_init(&p, g);
    p.devices = PAPER_DEVICES;
    for (int k = 0; k < all; k++) {
        const int method = k / r->seeds, seed = k % r->seeds;
        if (!paper_takes_part(r, t, method) || seed >= paper_row_seeds(r, t, method))
            continue;
        const sked_status st = run_stages(r, t, &p, label, method, seed, here[method], err);
        if (stop_requested || st != SKED_OK)
            return stop_requested ? SKED_OK : st;
        show_progress(NULL, t->name, t->begin + t->width * (k + 1) / all, NAN, NAN);
    }
    add_cells(t, here, r->seeds);
    t->graphs++;
    if (r->a->list) {
        printf("\n%s, %d ops\n\n", label, (int)sked_graph_op_count(g));
        paper_print_header();
        paper_print_cells(r, t, here, 1);
    }
    return SKED_OK;
}
