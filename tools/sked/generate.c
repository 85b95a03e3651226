/* sked generate: graphs of a named family, into a file or a folder. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat info;
    const size_t n = strlen(path);
    return (n > 0 && path[n - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* Creates path and the folders above it. */
static sked_status make_folders(const char *path, sked_error *err)
{
    char *copy = malloc(strlen(path) + 1);
    if (copy == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    strcpy(copy, path);
    sked_status st = SKED_OK;
    for (char *s = copy + 1; st == SKED_OK; s++) {
        if (*s != '/' && *s != 0)
            continue;
        const char end = *s;
        *s = 0;
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            st = fail(err, SKED_ERR_IO, "%s: cannot create the folder: %s", copy, strerror(errno));
        *s = end;
        if (end == 0)
            break;
    }
    free(copy);
    return st;
}

static sked_status generate_one(const arguments *a, sked_generate_options *opt, const char *path,
                                sked_error *err)
{
    sked_graph *g = NULL;
    end_on_signal(true);
    sked_status st = sked_graph_generate(a->operand.at[0], opt, &g, err);
    if (st == SKED_OK)
        st = add_back_edges(a, opt->seed, &g, err);
    begin_write(path);
    if (st == SKED_OK)
        st = sked_graph_write(g, path, strcmp(path, "-") == 0 ? "native" : NULL, err);
    sked_graph_destroy(g);
    return st;
}

static sked_status generate_many(const arguments *a, sked_generate_options *opt, const char *folder,
                                 int64_t count, sked_error *err)
{
    sked_status st = make_folders(folder, err);
    const uint64_t first = opt->seed;
    for (int64_t k = 0; st == SKED_OK && k < count; k++) {
        char path[4096];
        const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
        opt->seed = first + (uint64_t)k;
        const int n = snprintf(path, sizeof path, "%s%s%s-%d-%llu.json", folder, slash, a->operand.at[0],
                               (int)opt->nodes, (unsigned long long)opt->seed);
        if (n < 0 || (size_t)n >= sizeof path)
            return fail(err, SKED_ERR_ARGUMENT, "the path of the folder is too long");
        if (stop_requested)
            return fail(err, SKED_ERR_STOPPED, "stopped after %lld of %lld graphs", (long long)k,
                        (long long)count);
        st = generate_one(a, opt, path, err);
    }
    return st;
}

sked_status run_generate(arguments *a, sked_error *err)
{
    if (a->nodes < 0)
        return fail(err, SKED_ERR_ARGUMENT, "`sked generate` needs --nodes N");
    if (a->generated.count != 1)
        return fail(err, SKED_ERR_ARGUMENT, "`sked generate` needs one -o FILE, or -o DIR with --count");
    sked_generate_options opt = {.size = sizeof opt,
                                 .nodes = (int32_t)a->nodes,
                                 .seed = (uint64_t)a->seed,
                                 .duration = a->duration,
                                 .bytes = a->bytes,
                                 .memory = a->memory,
                                 .weight = a->weight,
                                 .demand = a->demand,
                                 .settings = a->set.at,
                                 .n_settings = a->set.count,
                                 .like = a->like};
    const char *path = a->generated.at[0];
    if (a->count > 0 || is_folder(path))
        return generate_many(a, &opt, path, a->count > 0 ? a->count : 1, err);
    return generate_one(a, &opt, path, err);
}
