/*
 * sked-bench quality: every family of benchmark instances within its time limit, our figures beside the
 * published ones, as Markdown. One row per set; --only picks one, --sample thins it out.
 */
#define _DEFAULT_SOURCE
#include "bench.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One instance: where it is, on which machine, and what is known of it. */
typedef struct instance {
    char path[512];
    char library[2600]; /* op library as JSON text; "" = none */
    int32_t devices;
    sked_objective objective;
    double reference;  /* best known; NAN: the lower bound is the reference */
    double reference2; /* best known length at the best II; NAN: none */
    bool proven;
} instance;

typedef struct tally {
    int n, met, proven, met_proven, optimal, second, second_met;
    double gap, seconds;
} tally;

typedef struct set {
    const char *name, *title;
    double limit;
    const char *peer; /* what others published */
    /* Fills the list; returns the number of instances. */
    sked_status (*list)(const arguments *a, const char *name, instance **out, int *count, sked_error *err);
} set;

static sked_status grow(instance **list, int count, sked_error *err)
{
    if (count % 64 != 0)
        return SKED_OK;
    instance *bigger = realloc(*list, ((size_t)count + 64) * sizeof **list);
    if (bigger == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    *list = bigger;
    return SKED_OK;
}

static sked_status add(instance **list, int *count, const instance *one, sked_error *err)
{
    const sked_status st = grow(list, *count, err);
    if (st == SKED_OK)
        (*list)[(*count)++] = *one;
    return st;
}

static sked_status list_stg(const arguments *a, const char *name, instance **out, int *count, sked_error *err)
{
    csv c = {0};
    char path[600], part[300];
    const char *folder = name + strlen("stg-");
    sked_status st = csv_read(data_path(a, "stg/ref_makespan.csv", path, sizeof path), &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        instance one = {.devices = (int32_t)csv_number(&c, i, "m"),
                        .reference = csv_number(&c, i, "ub"),
                        .reference2 = NAN,
                        .proven = csv_number(&c, i, "proven") == 1};
        const char *file = csv_get(&c, i, "file");
        if (strncmp(file, folder, strlen(folder)) != 0 || file[strlen(folder)] != '/')
            continue;
        snprintf(part, sizeof part, "stg/%s", file);
        data_path(a, part, one.path, sizeof one.path);
        st = add(out, count, &one, err);
    }
    csv_free(&c);
    return st;
}

static sked_status list_psplib(const arguments *a, const char *name, instance **out, int *count,
                               sked_error *err)
{
    csv c = {0};
    char path[600], part[300];
    snprintf(part, sizeof part, "psplib/best_known_%s.csv", name);
    sked_status st = csv_read(data_path(a, part, path, sizeof path), &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        instance one = {.reference = csv_number(&c, i, "ub"),
                        .reference2 = NAN,
                        .proven = csv_number(&c, i, "proven") == 1};
        snprintf(part, sizeof part, "psplib/%s/%s", name, csv_get(&c, i, "file"));
        data_path(a, part, one.path, sizeof one.path);
        st = add(out, count, &one, err);
    }
    csv_free(&c);
    return st;
}

static sked_status list_patterson(const arguments *a, const char *name, instance **out, int *count,
                                  sked_error *err)
{
    csv c = {0};
    char path[600], part[300];
    (void)name;
    sked_status st = csv_read(data_path(a, "rcpsp_patterson/optimum.csv", path, sizeof path), &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        instance one = {.reference = csv_number(&c, i, "optimum"), .reference2 = NAN, .proven = true};
        snprintf(part, sizeof part, "rcpsp_patterson/%s", csv_get(&c, i, "problem"));
        data_path(a, part, one.path, sizeof one.path);
        if (access(one.path, R_OK) == 0)
            st = add(out, count, &one, err);
    }
    csv_free(&c);
    return st;
}

static int by_path(const void *x, const void *y)
{
    return strcmp(((const instance *)x)->path, ((const instance *)y)->path);
}

static sked_status list_tpch(const arguments *a, const char *name, instance **out, int *count,
                             sked_error *err)
{
    char path[600], part[300];
    DIR *folder = opendir(data_path(a, "tpch", path, sizeof path));
    sked_status st = SKED_OK;
    if (folder == NULL)
        return fail(err, SKED_ERR_IO, "%s: cannot be opened", path);
    for (const struct dirent *d; st == SKED_OK && (d = readdir(folder)) != NULL;) {
        instance one = {.reference = NAN, .reference2 = NAN};
        if (strncmp(d->d_name, name, strlen(name)) != 0 || d->d_name[strlen(name)] != '-')
            continue;
        snprintf(part, sizeof part, "tpch/%.200s", d->d_name);
        data_path(a, part, one.path, sizeof one.path);
        st = add(out, count, &one, err);
    }
    closedir(folder);
    qsort(*out, (size_t)*count, sizeof **out, by_path);
    return st;
}

static sked_status list_jobshop(const arguments *a, const char *name, instance **out, int *count,
                                sked_error *err)
{
    csv c = {0};
    char path[600], part[300];
    const bool classic = strcmp(name, "jobshop") == 0;
    sked_status st = csv_read(data_path(a, "jobshop/best_known.csv", path, sizeof path), &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        const char *file = csv_get(&c, i, "instance");
        instance one = {.reference = csv_number(&c, i, "ub"),
                        .reference2 = NAN,
                        .proven = csv_number(&c, i, "proven") == 1};
        const bool known = !strncmp(file, "ft", 2) || !strncmp(file, "la", 2) || !strncmp(file, "abz", 3) ||
                           !strncmp(file, "orb", 3);
        if (known != classic)
            continue;
        snprintf(part, sizeof part, "jobshop/%s.txt", file);
        data_path(a, part, one.path, sizeof one.path);
        st = add(out, count, &one, err);
    }
    csv_free(&c);
    return st;
}

void express_library(const char *kind, const char *limits, char *out, size_t size)
{
    char types[2000] = "", units[400] = "";
    size_t used = 0, unit_used = 0;
    const bool pooled = strcmp(kind, "MUL_ALU") == 0;
    bool divides = false; /* a library that names DIV itself */
    for (const char *s = limits; *s;) {
        const int name = (int)strcspn(s, ":"), all = (int)strcspn(s, " ");
        const bool mul = name == 3 && strncasecmp(s, "mul", 3) == 0,
                   div = name == 3 && strncasecmp(s, "div", 3) == 0;
        unit_used += (size_t)snprintf(units + unit_used, sizeof units - unit_used, "%s\"%.*s\":%.*s",
                                      unit_used ? "," : "", name, s, all - name - 1, s + name + 1);
        if (!pooled || mul)
            used += (size_t)snprintf(types + used, sizeof types - used,
                                     "\"%.*s\":{\"duration\":%d,\"demand\":{\"%.*s\":1}},", name, s,
                                     mul || div ? 2 : 1, name, s);
        divides = divides || div;
        s += all;
        s += *s == ' ';
    }
    const char *alu = pooled ? ",\"demand\":{\"ALU\":1}" : "";
    if (!divides)
        snprintf(types + used, sizeof types - used, "\"div\":{\"duration\":2%s},", alu);
    snprintf(out, size, "{\"types\":{%s\"*\":{\"duration\":1%s}},\"resources\":{%s}}", types, alu, units);
}

static sked_status list_express(const arguments *a, const char *name, instance **out, int *count,
                                sked_error *err)
{
    csv c = {0};
    char path[600], part[300];
    (void)name;
    sked_status st = csv_read(data_path(a, "express_dfg/ref_rc_latency.csv", path, sizeof path), &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        instance one = {.reference = csv_number(&c, i, "best_latency"),
                        .reference2 = NAN,
                        .proven = csv_number(&c, i, "proven") == 1};
        express_library(csv_get(&c, i, "library"), csv_get(&c, i, "resource_limits"), one.library,
                        sizeof one.library);
        snprintf(part, sizeof part, "express_dfg/%s.dot", csv_get(&c, i, "dfg"));
        data_path(a, part, one.path, sizeof one.path);
        st = add(out, count, &one, err);
    }
    csv_free(&c);
    return st;
}

static sked_status list_modulo(const arguments *a, const char *name, instance **out, int *count,
                               sked_error *err)
{
    csv c = {0};
    char path[600], part[300];
    (void)name;
    sked_status st = csv_read(data_path(a, "modulo/ref_II.csv", path, sizeof path), &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++) {
        instance one = {.objective = SKED_OBJECTIVE_II,
                        .reference = csv_number(&c, i, "II_best"),
                        .reference2 = csv_number(&c, i, "schedule_length_at_II_best"),
                        .proven = csv_number(&c, i, "II_proven") == 1};
        snprintf(part, sizeof part, "modulo/%s", csv_get(&c, i, "graph"));
        data_path(a, part, one.path, sizeof one.path);
        st = add(out, count, &one, err);
    }
    csv_free(&c);
    return st;
}

static const set sets[] = {
    {"stg-50", "STG, 50 tasks on 2, 4, 8, 16 devices", 1, "-", list_stg},
    {"stg-100", "STG, 100 tasks", 1, "-", list_stg},
    {"j30", "PSPLIB j30", 2, "0.00-0.02 %: heuristics at 50,000 schedules", list_psplib},
    {"j60", "PSPLIB j60", 5, "-", list_psplib},
    {"j120", "PSPLIB j120", 10, "-", list_psplib},
    {"patterson", "Patterson projects", 1, "-", list_patterson},
    {"tpch-50", "TPC-H 50", 5, "2.2 % in 247 s on a V100; CP-SAT 2.0 % in 24 h", list_tpch},
    {"tpch-100", "TPC-H 100", 5, "1.0 % in 2.3 s on a V100", list_tpch},
    {"tpch-150", "TPC-H 150", 5, "0.6 % in 6.5 s on a V100", list_tpch},
    {"jobshop", "job shops ft, la, abz, orb", 5, "-", list_jobshop},
    {"jobshop-hard", "job shops swv, ta", 5, "-", list_jobshop},
    {"express", "HLS data-flow graphs", 2, "-", list_express},
    {"modulo", "loops, smallest II", 5, "-", list_modulo},
};
enum { n_sets = sizeof sets / sizeof *sets };

sked_status read_with_library(const char *file, const char *library, sked_graph **g, sked_error *err)
{
    char path[] = "/tmp/sked-library-XXXXXX";
    sked_read_options opt = {.size = sizeof opt};
    if (library[0] == 0)
        return sked_graph_read(file, NULL, g, err);
    const int fd = mkstemp(path);
    if (fd < 0)
        return fail(err, SKED_ERR_IO, "cannot create a temporary file");
    const size_t size = strlen(library);
    const bool written = write(fd, library, size) == (ssize_t)size;
    close(fd);
    opt.library = path;
    const sked_status st =
        written ? sked_graph_read(file, &opt, g, err) : fail(err, SKED_ERR_IO, "cannot write");
    unlink(path);
    return st;
}

static void count_result(const instance *one, const sked_result *r, double length, tally *t)
{
    const double reference = isfinite(one->reference) ? one->reference : r->lower_bound;
    const double slack = 1e-9 * fabs(reference);
    const bool met = r->value <= reference + slack;
    t->n++;
    t->met += met;
    t->proven += one->proven;
    t->met_proven += one->proven && met;
    t->optimal += r->optimal;
    t->second += !isnan(one->reference2);
    t->second_met += met && length <= one->reference2 + slack;
    t->gap += r->value / reference - 1;
    t->seconds += r->seconds;
}

static double limit_of(const arguments *a, const set *s)
{
    return isnan(a->time_limit) ? s->limit : a->time_limit;
}

static sked_status run_instance(const arguments *a, const set *s, const instance *one, tally *t,
                                sked_error *err)
{
    sked_graph *g = NULL;
    sked_result r = {.size = sizeof r};
    sked_problem p;
    sked_run_options opt;
    sked_metrics m = {.size = sizeof m};
    sked_status st = read_with_library(one->path, one->library, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.devices = one->devices;
    p.objective = one->objective;
    p.ii = one->objective == SKED_OBJECTIVE_II ? SKED_II_AUTO : 0;
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.time_limit = limit_of(a, s);
    opt.stop = &stop_requested;
    st = sked_method_run(a->method, &p, &opt, &r, err);
    if (st == SKED_OK)
        st = sked_schedule_measure(&p, r.schedule[0], &m, err);
    if (st == SKED_OK)
        count_result(one, &r, m.makespan, t);
    if (st == SKED_OK && a->list)
        printf("  %-60s m=%d value %g reference %g bound %g %s %.2f s %s\n", one->path, (int)one->devices,
               r.value, one->reference, r.lower_bound, r.optimal ? "optimal" : "", r.seconds, r.method);
    sked_result_clear(&r);
    sked_graph_destroy(g);
    return st;
}

static void print_head(const arguments *a)
{
    print_machine(a);
    printf(
        "\nMethod %s. Gap: mean above the best known value (TPC-H: above our lower bound). Met: best known "
        "values reached. Proved: by sked itself.\n\n",
        a->method);
    printf("| %-36s | %9s | limit | gap | met | of the proven optima | proved | seconds | peer |\n",
           "instances", "n");
    printf("|---|---|---|---|---|---|---|---|---|\n");
}

static void print_row(const set *s, const tally *t, int count, double limit)
{
    char n[32], met[80], proven[32] = "-";
    snprintf(n, sizeof n, t->n < count ? "%d of %d" : "%d", t->n, count);
    const int used = snprintf(met, sizeof met, "%d", t->met);
    if (t->second > 0)
        snprintf(met + used, sizeof met - (size_t)used, "; least length %d of %d", t->second_met, t->second);
    if (t->proven > 0)
        snprintf(proven, sizeof proven, "%.1f %%", 100.0 * t->met_proven / t->proven);
    printf("| %-36s | %9s | %2g s | %.2f %% | %s | %s | %.1f %% | %.2f | %s |\n", s->title, n, limit,
           100 * t->gap / t->n, met, proven, 100.0 * t->optimal / t->n, t->seconds / t->n, s->peer);
}

static sked_status run_set(const arguments *a, const set *s, sked_error *err)
{
    instance *list = NULL;
    int count = 0;
    tally t = {0};
    sked_status st = s->list(a, s->name, &list, &count, err);
    for (int i = 0; st == SKED_OK && i < count && !stop_requested; i += (int)a->sample) {
        st = run_instance(a, s, &list[i], &t, err);
        show_progress(NULL, s->name, (double)(i + 1) / count, NAN, NAN);
    }
    end_progress();
    if (st == SKED_OK && t.n > 0)
        print_row(s, &t, count, limit_of(a, s));
    fflush(stdout);
    free(list);
    return st;
}

sked_status bench_quality(arguments *a, sked_error *err)
{
    sked_status st = SKED_OK;
    int run = 0;
    if (!have_data(a))
        return SKED_OK;
    print_head(a);
    for (int i = 0; st == SKED_OK && i < n_sets; i++) {
        if (strncmp(sets[i].name, a->only, strlen(a->only)) != 0)
            continue;
        st = run_set(a, &sets[i], err);
        run++;
    }
    if (st == SKED_OK && run == 0)
        st = fail(err, SKED_ERR_ARGUMENT, "no set begins with '%.60s'", a->only);
    return st;
}
