/* The models of the rows that learn: trained here, kept in a folder, continued where a run was stopped. */
#define _POSIX_C_SOURCE 200809L
#include "paper.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define SETTINGS(...) \
    {                 \
        __VA_ARGS__   \
    }
static const struct learner {
    paper_pupil pupil;
    bool full; /* with --full only */
} learners[PAPER_LEARNERS] = {
#define X(id, name, settings, coldest, warmest, full) {{name, settings, coldest, warmest}, full},
    PAPER_LEARNER_LIST(X)
#undef X
};

bool paper_learner_on(const paper_run *r, int learner)
{
    return r->full || !learners[learner].full;
}

int64_t paper_updates(const paper_run *r, const paper_training *t)
{
    return r->a->updates > 0 ? r->a->updates : t->updates[r->full];
}

const paper_pupil *paper_learner(int learner)
{
    return &learners[learner].pupil;
}

sked_status paper_folder(const paper_run *r, const char *part, char *path, sked_error *err)
{
    const int length = snprintf(path, PAPER_PATH, "%s%s%s", r->a->models, part[0] ? "/" : "", part);
    if (length < 0 || length >= PAPER_PATH - 100) /* room for the names of files */
        return fail(err, SKED_ERR_ARGUMENT, "the path of --models is too long");
    for (char *s = path + 1;; s++) {
        const char end = *s;
        if (end != '/' && end != 0)
            continue;
        *s = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fail(err, SKED_ERR_IO, "%s: cannot create the folder: %s", path, strerror(errno));
        *s = end;
        if (end == 0)
            return SKED_OK;
    }
}

sked_status paper_sharpness(const sked_graph *g, double *out, sked_error *err)
{
    sked_problem p;
    sked_result list = {.size = sizeof list};
    sked_metrics m = {.size = sizeof m};
    sked_problem_init(&p, g);
    p.devices = PAPER_DEVICES;
    sked_status st = sked_method_run("list", &p, NULL, &list, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(&p, list.schedule[0], &m, err);
    if (st == SKED_OK)
        *out = m.speedup * m.speedup / sked_graph_op_count(g);
    sked_result_clear(&list);
    return st;
}

/* ---------------------------------------------------------------- one model */

/* As the paper trains: one graph an update, 100 trajectories of the policy, equal devices without transfers.
 */
enum { COMMON = 6, MOST_SET = COMMON + 2 + PAPER_MOST_SETTINGS + 1 };
typedef struct lesson_settings {
    char coldest[60], warmest[60];
    const char *at[MOST_SET];
    int count;
} lesson_settings;

static void list_settings(const paper_training *t, const paper_pupil *who, lesson_settings *out)
{
    static const char *const common[COMMON] = {"graphs=1",    "batch=100", "listed=0",
                                               "transfers=0", "unequal=0", "validate=0"};
    out->count = 0;
    for (int k = 0; k < COMMON; k++)
        out->at[out->count++] = common[k];
    snprintf(out->warmest, sizeof out->warmest, "gentlest=%.6g", t->sharpness / who->warmest);
    snprintf(out->coldest, sizeof out->coldest, "sharpest=%.6g", t->sharpness / who->coldest);
    out->at[out->count++] = out->warmest;
    out->at[out->count++] = out->coldest;
    for (int k = 0; k < PAPER_MOST_SETTINGS && who->settings[k] != NULL; k++)
        out->at[out->count++] = who->settings[k];
    if (t->setting != NULL)
        out->at[out->count++] = t->setting;
}

static uint32_t mix(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u; /* FNV-1a */
    return hash;
}

/* The name carries all that the model depends on: another setting is another file. */
static sked_status name_model(const paper_run *r, const paper_training *t, const paper_pupil *who,
                              const lesson_settings *set, uint64_t seed, int64_t updates, char *path,
                              sked_error *err)
{
    uint32_t hash = mix(mix(2166136261u, sked_version()), t->graphs);
    for (int k = 0; k < set->count; k++)
        hash = mix(hash, set->at[k]);
    const sked_status st = paper_folder(r, "", path, err);
    if (st != SKED_OK)
        return st;
    const size_t used = strlen(path);
    snprintf(path + used, PAPER_PATH - used, "/%s-%s-%s-%llu-%lld-%08x.safetensors", t->name, who->name,
             r->a->backend, (unsigned long long)seed, (long long)updates, (unsigned)hash);
    return SKED_OK;
}

static int64_t updates_of(const char *path)
{
    sked_sampler *m = NULL;
    sked_error unused = {0};
    struct stat info;
    if (stat(path, &info) != 0 || sked_sampler_read(path, &m, &unused) != SKED_OK)
        return 0;
    const int64_t updates = sked_sampler_steps(m);
    sked_sampler_destroy(m);
    return updates;
}

typedef struct news {
    const char *name;
    int64_t from, to;
} news;

static void tell(void *data, const sked_train_progress *p)
{
    const news *n = data;
    show_progress(NULL, n->name, (double)(p->step - n->from) / (double)(n->to - n->from), NAN, NAN);
}

sked_status paper_train(const paper_run *r, const paper_training *t, const paper_pupil *who, int seed,
                        int64_t updates, const char *from, char *path, sked_error *err)
{
    sked_train_options opt;
    lesson_settings set;
    sked_sampler *m = NULL;
    const uint64_t number = (uint64_t)r->a->seed + (uint64_t)seed;
    list_settings(t, who, &set);
    sked_status st = name_model(r, t, who, &set, number, updates, path, err);
    if (st != SKED_OK)
        return st;
    const int64_t done = updates_of(path);
    news n = {who->name, done, updates};
    if (done >= updates)
        return SKED_OK;
    sked_train_options_init(&opt);
    opt.graphs = t->graphs;
    opt.devices = PAPER_DEVICES;
    opt.steps = updates;
    opt.seed = number;
    opt.threads = (int)r->a->threads;
    opt.settings = set.at;
    opt.n_settings = set.count;
    opt.resume = done > 0 ? path : from;
    opt.output = path;
    opt.stop = &stop_requested;
    opt.progress = tell;
    opt.progress_data = &n;
    opt.backend = r->a->backend;
    st = sked_train(&opt, &m, err);
    sked_sampler_destroy(m);
    end_progress();
    return st;
}

sked_status paper_table_learn(paper_run *r, paper_table *t, const paper_training *how, sked_error *err)
{
    sked_status st = SKED_OK;
    const double begin = sked_clock();
    t->learns = true;
    t->updates = paper_updates(r, how);
    for (int k = 0; k < PAPER_LEARNERS; k++)
        for (int s = 0; s < r->seeds && paper_learner_on(r, k) && st == SKED_OK && !stop_requested; s++)
            st = paper_train(r, how, paper_learner(k), s, t->updates, NULL, t->model[k][s], err);
    if (st == SKED_OK)
        printf(
            "Models of this table: %lld updates of 100 trajectories each, kappa %.3g / temperature, %.1f s "
            "of training or reading.\n",
            (long long)t->updates, how->sharpness, sked_clock() - begin);
    return st;
}
