/* The models of the rows that learn: trained here, kept in a folder, continued where a run was stopped. */
#define _POSIX_C_SOURCE 200809L
#include "paper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SETTINGS(...) \
    {                 \
        __VA_ARGS__   \
    }
static const paper_pupil learners[PAPER_LEARNERS] = {
#define X(id, name, policy, settings, coldest, warmest) {name, policy, settings, coldest, warmest},
    PAPER_LEARNER_LIST(X)
#undef X
};

static bool is_stepwise(const paper_pupil *who)
{
    return strcmp(who->policy, "policy=stepwise") == 0;
}

bool paper_pupil_on(const paper_run *r, const paper_pupil *who)
{
    return r->stepwise || !is_stepwise(who);
}

static bool has_setting(const paper_pupil *who, const char *setting)
{
    for (int k = 0; k < PAPER_MOST_SETTINGS && who->settings[k] != NULL; k++)
        if (strcmp(who->settings[k], setting) == 0)
            return true;
    return false;
}

/* The paper's policy begins from nothing, all others as list scheduling. */
static bool has_rule(const paper_pupil *who)
{
    return has_setting(who, "rule=list");
}

int64_t paper_updates(const paper_run *r, const paper_training *t, const paper_pupil *who)
{
    if (is_stepwise(who) && !has_rule(who) && r->a->stepwise_updates > 0)
        return r->a->stepwise_updates;
    return r->a->updates > 0 ? r->a->updates : t->updates[r->full];
}

const paper_pupil *paper_learner(int learner)
{
    return &learners[learner];
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

/* ---------------------------------------------------------------- several processes */

static const char *lock_path(const char *path, char *buf, size_t size)
{
    snprintf(buf, size, "%s.lock", path);
    return buf;
}

/* A record lock: it ends with the process, however that ends. */
sked_status paper_lock(const char *path, bool wait, int *lock, sked_error *err)
{
    char name[PAPER_PATH + 10];
    const struct timespec pause = {.tv_nsec = 50000000};
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *lock = -1;
    const int file = open(lock_path(path, name, sizeof name), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return fail(err, SKED_ERR_IO, "%s: %s", name, strerror(errno));
    while (fcntl(file, F_SETLK, &whole) != 0) {
        const bool busy = errno == EACCES || errno == EAGAIN;
        if (busy && wait && !stop_requested) {
            nanosleep(&pause, NULL);
            continue;
        }
        const sked_status st = busy ? SKED_OK : fail(err, SKED_ERR_IO, "%s: %s", name, strerror(errno));
        close(file);
        return st;
    }
    *lock = file;
    return SKED_OK;
}

void paper_unlock(const char *path, int lock)
{
    char name[PAPER_PATH + 10];
    unlink(lock_path(path, name, sizeof name));
    close(lock);
}

/* ---------------------------------------------------------------- one model */

/* As the paper trains: one graph an update, 100 trajectories of the policy, equal devices without transfers.
 */
enum { COMMON = 6, MOST_SET = COMMON + 4 + PAPER_MOST_SETTINGS + 1 };
typedef struct lesson_settings {
    char coldest[60], warmest[60], anneal[60];
    const char *at[MOST_SET];
    int count;
} lesson_settings;

static void list_settings(const paper_training *t, const paper_pupil *who, int64_t updates,
                          lesson_settings *out)
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
    out->at[out->count++] = who->policy;
    for (int k = 0; k < PAPER_MOST_SETTINGS && who->settings[k] != NULL; k++)
        out->at[out->count++] = who->settings[k];
    snprintf(out->anneal, sizeof out->anneal, "anneal=%lld", (long long)updates);
    if (has_setting(who, "credit=steps")) /* its lambda rises as the rate falls */
        out->at[out->count++] = out->anneal;
    if (t->setting != NULL)
        out->at[out->count++] = t->setting;
}

uint32_t paper_hash(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* Names of files without their folders: graphs may lie elsewhere on another machine. */
static uint32_t mix_names(uint32_t hash, const char *graphs)
{
    while (*graphs) {
        const size_t length = strcspn(graphs, ",");
        size_t from = length;
        while (from > 0 && graphs[from - 1] != '/')
            from--;
        for (size_t k = from; k < length; k++)
            hash = (hash ^ (unsigned char)graphs[k]) * 16777619u;
        graphs += length + (graphs[length] == ',');
    }
    return hash;
}

/* The name carries all that the model depends on: another setting is another file. */
static sked_status name_model(const paper_run *r, const paper_training *t, const paper_pupil *who,
                              const lesson_settings *set, const char *backend, uint64_t seed, int64_t updates,
                              char *path, sked_error *err)
{
    uint32_t hash = mix_names(paper_hash(PAPER_HASH, sked_version()), t->graphs);
    for (int k = 0; k < set->count; k++)
        hash = paper_hash(hash, set->at[k]);
    const sked_status st = paper_folder(r, "", path, err);
    if (st != SKED_OK)
        return st;
    const size_t used = strlen(path);
    snprintf(path + used, PAPER_PATH - used, "/%s-%s-%s-%llu-%lld-%08x.safetensors", t->name, who->name,
             backend, (unsigned long long)seed, (long long)updates, (unsigned)hash);
    return SKED_OK;
}

int64_t paper_updates_of(const char *path)
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

/* The model that is there, by any backend: first the one of --backend. */
static sked_status find_model(const paper_run *r, const paper_training *t, const paper_pupil *who,
                              const lesson_settings *set, uint64_t seed, int64_t updates, char *path,
                              sked_error *err)
{
    const char *const backends[] = {"cuda", "cpu", "auto", r->a->backend};
    for (int k = 3; k >= 0; k--) {
        const sked_status st = name_model(r, t, who, set, backends[k], seed, updates, path, err);
        if (st != SKED_OK || paper_updates_of(path) > 0)
            return st;
    }
    return fail(err, SKED_ERR_IO, "%s: there is no such model; --train only makes it", path);
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

/* Up to `updates`, if the file has not as many. */
static sked_status train_model(const paper_run *r, const paper_training *t, const paper_pupil *who,
                               const lesson_settings *set, uint64_t seed, int64_t updates, const char *from,
                               const char *path, sked_error *err)
{
    sked_train_options opt;
    sked_sampler *m = NULL;
    const int64_t done = paper_updates_of(path);
    news n = {who->name, done, updates};
    if (done >= updates)
        return SKED_OK;
    sked_train_options_init(&opt);
    opt.graphs = t->graphs;
    opt.devices = PAPER_DEVICES;
    opt.steps = updates;
    opt.seed = seed;
    opt.threads = (int)r->a->threads;
    opt.settings = set->at;
    opt.n_settings = set->count;
    opt.resume = done > 0 ? path : from;
    opt.output = path;
    opt.stop = &stop_requested;
    opt.progress = tell;
    opt.progress_data = &n;
    opt.backend = r->a->backend;
    const sked_status st = sked_train(&opt, &m, err);
    sked_sampler_destroy(m);
    end_progress();
    return st;
}

sked_status paper_train(const paper_run *r, const paper_training *t, const paper_pupil *who, int seed,
                        int64_t updates, const char *from, char *path, sked_error *err)
{
    lesson_settings set;
    int lock = -1;
    const uint64_t number = (uint64_t)r->a->seed + (uint64_t)seed;
    list_settings(t, who, updates, &set);
    if (r->train == PAPER_TRAIN_NEVER)
        return find_model(r, t, who, &set, number, updates, path, err);
    sked_status st = name_model(r, t, who, &set, r->a->backend, number, updates, path, err);
    if (st == SKED_OK)
        st = paper_lock(path, r->train != PAPER_TRAIN_ONLY, &lock, err);
    if (st != SKED_OK || lock < 0)
        return st;
    st = train_model(r, t, who, &set, number, updates, from, path, err);
    paper_unlock(path, lock);
    return st;
}

/* ---------------------------------------------------------------- those of a table */

sked_status paper_table_model(const paper_run *r, paper_table *t, int learner, int seed, const char **path,
                              sked_error *err)
{
    const paper_pupil *who = paper_learner(learner);
    char *file = t->model[learner][seed];
    *path = file;
    if (file[0] != 0)
        return SKED_OK;
    const sked_status st = paper_train(r, t->how, who, seed, paper_updates(r, t->how, who), NULL, file, err);
    if (st != SKED_OK)
        file[0] = 0;
    else
        t->trained[learner][seed] = paper_updates_of(file);
    return st;
}

/*
 * The model of one row and seed, which may wait where there are results of it. With --train never, the first
 * seed that has neither is the end of its row.
 */
static sked_status learn_one(const paper_run *r, paper_table *t, int method, int seed, sked_error *err)
{
    const int k = paper_methods[method].learner;
    char prefix[PAPER_KEY];
    const char *path;
    sked_error missing = {0};
    sked_status st = SKED_OK;
    if (t->seeds[k] < seed)
        return SKED_OK;
    paper_result_key(r, t->name, method, paper_row_updates(r, t, method), seed, 0, NULL, prefix);
    if ((t->trained[k][seed] = paper_results_trained(r, prefix)) == 0)
        st = paper_table_model(r, t, k, seed, &path, &missing);
    if (st != SKED_OK)
        return r->train == PAPER_TRAIN_NEVER && seed > 0 ? SKED_OK : fail(err, st, "%s", missing.message);
    t->seeds[k] = seed + 1;
    return SKED_OK;
}

/* Seeds first: where the time ends early, the models of the first seeds are whole. */
sked_status paper_table_learn(paper_run *r, paper_table *t, const paper_training *how, sked_error *err)
{
    sked_status st = SKED_OK;
    const double begin = sked_clock();
    t->how = how;
    for (int s = 0; s < r->seeds; s++)
        for (int k = 0; k < PAPER_METHODS && st == SKED_OK && !stop_requested; k++)
            if (paper_methods[k].learner >= 0 && paper_takes_part(r, t, k))
                st = learn_one(r, t, k, s, err);
    if (st == SKED_OK)
        printf("Models of this table: updates of 100 trajectories (fewer above 60 ops), kappa %.3g / "
               "temperature; %.1f s of training or reading.\n",
               how->sharpness, sked_clock() - begin);
    return st;
}
