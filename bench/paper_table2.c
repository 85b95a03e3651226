/*
 * Table 2: 50 test graphs of five families, ten of each, and models trained on 1,000 others, half of them
 * erdos-renyi, half layered; all of 50 ops. Both sets are those of `--like paper` (docs/generators.md).
 */
#include "paper.h"

enum { TEST_GRAPHS = 50, TRAINING_GRAPHS = 500 /* of each of the two families */ };
static const char *const training_families[] = {"erdos-renyi", "layered"};
enum { N_FAMILIES = sizeof training_families / sizeof *training_families };

/* Training graphs have seeds from here on; those of the tests (graphs.c) are others. */
static const uint64_t first_seed = 10000;

/* A file that is right stays as it is: another process may be training with it. */
static bool is_written(const sked_graph *g, const char *path)
{
    sked_graph *there = NULL;
    sked_error unused = {0};
    const bool same = sked_graph_read(path, NULL, &there, &unused) == SKED_OK && sked_graph_equal(g, there);
    sked_graph_destroy(there);
    return same;
}

/* *lock: that of the folder, taken for the first file that has to be written. */
static sked_status write_missing(const sked_graph *g, const char *path, const char *folder, int *lock,
                                 sked_error *err)
{
    if (is_written(g, path))
        return SKED_OK;
    const sked_status st = *lock < 0 ? paper_lock(folder, true, lock, err) : SKED_OK;
    return st != SKED_OK || *lock < 0 || is_written(g, path) ? st : sked_graph_write(g, path, NULL, err);
}

static sked_status write_graph(const char *family, int i, const char *folder, int *lock, double *sharpness,
                               sked_error *err)
{
    sked_generate_options how;
    sked_graph *g = NULL;
    char path[PAPER_PATH + 60];
    double own = 0;
    sked_generate_options_init(&how);
    how.nodes = 50;
    how.seed = first_seed + (uint64_t)i;
    how.like = "paper";
    snprintf(path, sizeof path, "%s/%s-%03d.json", folder, family, i);
    sked_status st = sked_graph_generate(family, &how, &g, err);
    if (st == SKED_OK)
        st = paper_sharpness(g, &own, err);
    if (st == SKED_OK)
        st = write_missing(g, path, folder, lock, err);
    *sharpness += own / (N_FAMILIES * TRAINING_GRAPHS);
    sked_graph_destroy(g);
    return st;
}

static sked_status write_family(const paper_run *r, const char *family, char *folder, double *sharpness,
                                sked_error *err)
{
    char part[60];
    int lock = -1;
    snprintf(part, sizeof part, "table2-%s", family);
    sked_status st = paper_folder(r, part, folder, err);
    for (int i = 0; i < TRAINING_GRAPHS && st == SKED_OK && !stop_requested; i++)
        st = write_graph(family, i, folder, &lock, sharpness, err);
    if (lock >= 0)
        paper_unlock(folder, lock);
    return st;
}

/* Two folders of 500 files: two items of `--graphs`, each drawn as often. */
static sked_status write_graphs(const paper_run *r, char *spec, size_t size, double *sharpness,
                                sked_error *err)
{
    sked_status st = SKED_OK;
    size_t used = 0;
    *sharpness = 0;
    for (int f = 0; f < N_FAMILIES && st == SKED_OK; f++) {
        char folder[PAPER_PATH] = "";
        st = write_family(r, training_families[f], folder, sharpness, err);
        used += (size_t)snprintf(spec + used, size - used, "%s%s", f > 0 ? "," : "", folder);
    }
    return st;
}

/* A folder with a comma in its name would be two items. */
static sked_status check_models(const paper_run *r, sked_error *err)
{
    for (const char *s = r->a->models; *s; s++)
        if (*s == ',')
            return fail(err, SKED_ERR_ARGUMENT, "--models: the path may have no comma");
    return SKED_OK;
}

sked_status paper_training2(const paper_run *r, char *spec, size_t size, paper_training *how, sked_error *err)
{
    *how = (paper_training){.name = "table2", .graphs = spec, .updates = {600, 10000}};
    const sked_status st = check_models(r, err);
    return st == SKED_OK ? write_graphs(r, spec, size, &how->sharpness, err) : st;
}

static const char *name_graph(int i, char *buf, size_t size)
{
    snprintf(buf, size, "%s %d", random_family(i), i);
    return buf;
}

sked_status paper_table2(paper_run *r, paper_table *t, sked_error *err)
{
    char spec[PAPER_SPEC];
    paper_training how;
    const int stride = r->full ? 1 : PAPER_STRIDE2, count = r->train == PAPER_TRAIN_ONLY ? 0 : TEST_GRAPHS;
    sked_status st = paper_training2(r, spec, sizeof spec, &how, err);
    if (st == SKED_OK && !stop_requested)
        st = paper_table_learn(r, t, &how, err);
    for (int i = 0; st == SKED_OK && i < count && !stop_requested; i++) {
        sked_graph *g = NULL;
        char name[60];
        paper_progress(t, i, TEST_GRAPHS);
        if (i % stride != 0 || paper_skipped(r, i / stride))
            continue;
        st = random_graph_like(i, "paper", &g, err);
        if (st == SKED_OK)
            st = paper_graph(r, g, name_graph(i, name, sizeof name), t, err);
        sked_graph_destroy(g);
    }
    return st;
}

/* Set "random": the generators' own parameters and the built-in model. */
sked_status paper_random(paper_run *r, paper_table *t, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int i = 0; st == SKED_OK && i < RANDOM_GRAPHS && !stop_requested; i++) {
        sked_graph *g = NULL;
        char name[60];
        paper_progress(t, i, RANDOM_GRAPHS);
        if (paper_skipped(r, i))
            continue;
        st = random_graph(i, &g, err);
        if (st == SKED_OK)
            st = paper_graph(r, g, name_graph(i, name, sizeof name), t, err);
        sked_graph_destroy(g);
    }
    return st;
}
