/*
 * Set "tune": the three losses with one budget. Each gets as many trainings of as many updates, on the graphs
 * that the models of table 2 learn from, and is judged on validation graphs that no table uses.
 */
#include "paper.h"

#include <stdlib.h>
#include <string.h>

enum { RATES = 3, EACH = 2, TRIALS = 1 + RATES * EACH * EACH };
static const char *const rates[RATES] = {"rate=0.0003", "rate=0.001", "rate=0.003"};

/* A loss, the temperatures it is trained and drawn at, and what is tried beside the rate. */
static const struct contender {
    const char *name, *loss;
    double coldest, warmest, drawn;
    const char *first[EACH], *second[EACH];
} contenders[] = {
    {"variance",
     "loss=variance",
     0.01,
     1,
     0.005,
     {"clip=0.3", "clip=10"},
     {"backward=uniform", "backward=learned"}},
    {"tb", "loss=tb", 0.01, 1, 0.005, {"log-z-rate=0.003", "log-z-rate=0.1"}, {"clip=1", "clip=10"}},
    {"ppo", "loss=ppo", 0.25, 0.25, 0.25, {"entropy=0.003", "entropy=0.03"}, {"epochs=2", "epochs=6"}},
};
enum { CONTENDERS = sizeof contenders / sizeof *contenders };
static const char *const policies[] = {"policy=encode-once", "policy=stepwise"};

/* One training and what its draws reach, the mean over the validation graphs. */
typedef struct trial {
    paper_pupil pupil;
    double top1, top100, ged;
    int64_t updates;
} trial;

/* Trial 0 is the default. */
static trial make_trial(const struct contender *c, const char *policy, int i)
{
    trial t = {.pupil = {.name = c->name, .policy = policy, .settings = {c->loss}}};
    t.pupil.coldest = c->coldest;
    t.pupil.warmest = c->warmest;
    if (i > 0) {
        t.pupil.settings[1] = rates[(i - 1) % RATES];
        t.pupil.settings[2] = c->first[(i - 1) / RATES % EACH];
        t.pupil.settings[3] = c->second[(i - 1) / RATES / EACH];
    }
    return t;
}

/* ---------------------------------------------------------------- validation */

enum { GRAPHS = 10, FIRST_GRAPH = 50 }; /* table 2 tests on those before */

static int graph_count(const paper_run *r)
{
    return (GRAPHS + (int)r->a->sample - 1) / (int)r->a->sample;
}

static sked_status draw_graph(const paper_run *r, const sked_sampler *m, double temperature, int i, trial *t,
                              sked_error *err)
{
    sked_graph *g = NULL;
    sked_graph_info info = {.size = sizeof info};
    sked_problem p;
    sked_sample_options how;
    sked_samples s = {.size = sizeof s};
    sked_diversity d = {.size = sizeof d};
    const int count = graph_count(r);
    sked_sample_options_init(&how);
    how.count = PAPER_DRAWS;
    how.temperature = temperature;
    how.seed = (uint64_t)r->a->seed;
    how.threads = (int)r->a->threads;
    how.stop = &stop_requested;
    how.backend = r->a->backend;
    sked_status st = random_graph_like(FIRST_GRAPH + i, "paper", &g, err);
    sked_problem_init(&p, g);
    p.devices = PAPER_DEVICES;
    if (st == SKED_OK)
        st = sked_graph_describe(g, &info, err);
    if (st == SKED_OK)
        st = sked_sampler_sample(m, &p, &how, &s, err);
    const int32_t kept = s.count < PAPER_TOP ? s.count : PAPER_TOP;
    if (st == SKED_OK)
        st = sked_schedules_diversity(&p, (const sked_schedule *const *)s.schedule, kept, &d, err);
    for (int32_t k = 0; st == SKED_OK && k < kept; k++)
        t->top100 += info.work / s.makespan[k] / kept / count;
    if (st == SKED_OK && kept > 0)
        t->top1 += info.work / s.makespan[0] / count;
    t->ged += d.ged / count;
    sked_samples_clear(&s);
    sked_graph_destroy(g);
    return st;
}

static sked_status validate(const paper_run *r, const char *model, double temperature, trial *t,
                            sked_error *err)
{
    sked_sampler *m = NULL;
    sked_status st = sked_sampler_read(model, &m, err);
    t->updates = st == SKED_OK ? sked_sampler_steps(m) : 0;
    for (int i = 0; st == SKED_OK && i < graph_count(r) && !stop_requested; i++)
        st = draw_graph(r, m, temperature, i, t, err);
    sked_sampler_destroy(m);
    return st;
}

/* ---------------------------------------------------------------- the table */

static int best_first(const void *a, const void *b)
{
    const trial *x = a, *y = b;
    return x->top100 > y->top100 ? -1 : x->top100 < y->top100;
}

static void print_trial(paper_run *r, const trial *t)
{
    char settings[200] = "default";
    size_t used = 0;
    for (int k = 1; k < PAPER_MOST_SETTINGS && t->pupil.settings[k] != NULL; k++)
        used += (size_t)snprintf(settings + used, sizeof settings - used, "%s%s", k > 1 ? " " : "",
                                 t->pupil.settings[k]);
    printf("| %s | %s | %lld | %.4f | %.4f | %.1f |\n", t->pupil.name, settings, (long long)t->updates,
           t->top100, t->top1, t->ged);
    fflush(stdout);
    if (r->json.file == NULL)
        return;
    paper_record(r, "tune");
    json_text(&r->json, "policy", t->pupil.policy);
    json_text(&r->json, "loss", t->pupil.name);
    json_text(&r->json, "settings", settings);
    json_number(&r->json, "updates", (double)t->updates);
    json_number(&r->json, "top100", t->top100);
    json_number(&r->json, "top1", t->top1);
    json_number(&r->json, "ged", t->ged);
    paper_record_end(r);
}

/* Trials of all losses take turns: where the time ends early, all have as many. */
static sked_status train_all(paper_run *r, const paper_training *how, const char *policy, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int k = 0; k < TRIALS * CONTENDERS && st == SKED_OK && !stop_requested; k++) {
        char model[PAPER_PATH];
        const trial t = make_trial(&contenders[k % CONTENDERS], policy, k / CONTENDERS);
        if (!paper_row_wanted(r, t.pupil.name))
            continue;
        st = paper_train(r, how, &t.pupil, 0, paper_updates(r, how, &t.pupil), NULL, model, err);
    }
    return st;
}

/* With --train never, those whose model is missing are left out. */
static sked_status judge_all(paper_run *r, const paper_training *how, const struct contender *c,
                             const char *policy, sked_error *err)
{
    trial trials[TRIALS] = {0};
    sked_status st = SKED_OK;
    int count = 0;
    for (int i = 0; i < TRIALS && st == SKED_OK && !stop_requested; i++) {
        char model[PAPER_PATH] = "";
        sked_error missing = {0};
        trial t = make_trial(c, policy, i);
        const paper_pupil *who = &t.pupil;
        if (paper_train(r, how, who, 0, paper_updates(r, how, who), NULL, model, &missing) != SKED_OK) {
            warn("%s", missing.message);
            continue;
        }
        st = validate(r, model, c->drawn, &t, err);
        trials[count++] = t;
    }
    qsort(trials, (size_t)count, sizeof *trials, best_first);
    for (int i = 0; i < count && st == SKED_OK && !stop_requested; i++)
        print_trial(r, &trials[i]);
    return st;
}

sked_status paper_tune_check(const arguments *a, sked_error *err)
{
    for (int k = 0; k < CONTENDERS; k++)
        if (strstr(contenders[k].name, a->rows) != NULL)
            return SKED_OK;
    return fail(err, SKED_ERR_ARGUMENT, "--rows: the losses are variance, tb and ppo");
}

sked_status paper_tune(paper_run *r, sked_error *err)
{
    char spec[PAPER_SPEC];
    paper_training how;
    sked_status st = paper_training2(r, spec, sizeof spec, &how, err);
    how.name = "tune";
    for (int p = 0; p < (r->stepwise ? 2 : 1) && st == SKED_OK && !stop_requested; p++) {
        if (r->train != PAPER_TRAIN_NEVER)
            st = train_all(r, &how, policies[p], err);
        if (st != SKED_OK || r->train == PAPER_TRAIN_ONLY)
            continue;
        printf("\n### %s: %d trainings of each loss, %d validation graphs, the best first\n\n"
               "| loss | settings | updates | top 100 | top 1 | GED [%%] |\n|---|---|---|---|---|---|\n",
               policies[p] + strlen("policy="), TRIALS, graph_count(r));
        for (int k = 0; k < CONTENDERS && st == SKED_OK && !stop_requested; k++)
            if (paper_row_wanted(r, contenders[k].name))
                st = judge_all(r, &how, &contenders[k], policies[p], err);
    }
    return st;
}
