/*
 * sked-bench paper: our rows for the three tables of "Robust Scheduling with GFlowNets" (ICLR 2023) beside
 * its figures. Every method makes candidates of its own; they go to the same stages of the one-shot pipeline,
 * or to none; the proxy keeps the top 100; three targets measure them. Each with several seeds. It says where
 * a gflownet row is below another method.
 */
#include "paper.h"

#include <string.h>

/* Static: the sums of all seeds are too large for a stack. */
static paper_table tables[] = {
    {.name = "table1",
     .title = "one real graph (rgcn_12rel, 123 ops; the paper's has 78), models trained on it alone",
     .published = paper_published1,
     .run = paper_table1},
    {.name = "table2",
     .title = "unseen graphs of 50 ops, five families, models trained on 1,000 others of two",
     .published = paper_published2,
     .run = paper_table2},
    {.name = "table3",
     .title = "networks of families that the models have not seen (the paper's: 4 graphs, 12 to 128 ops)",
     .published = paper_published3,
     .run = paper_table3},
    {.name = "random",
     .title = "graphs of 50 ops, five families, with the generators' own parameters",
     .published = paper_published2,
     .run = paper_random},
    {.name = "networks", .title = "networks of 100 to 600 ops, durations measured", .run = paper_networks},
};
enum { N_TABLES = sizeof tables / sizeof *tables };

/* Sets beside the tables. on_request: only where --only names it. */
typedef enum set_id { SET_FIGURES, SET_GENERATORS, SET_TEMPERATURE, SET_DEVICES, SET_TUNE, N_SETS } set_id;
static const char *const set_names[N_SETS] = {"figures", "generators", "temperature", "devices", "tune"};

static bool on_request(const char *set)
{
    static const char *const sets[] = {"random", "networks", "temperature", "devices", "tune"};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        if (strcmp(set, sets[k]) == 0)
            return true;
    return false;
}

static bool wanted(const arguments *a, const char *set)
{
    return a->only[0] == 0 ? !on_request(set) : strcmp(a->only, set) == 0;
}

static void print_setting(const paper_run *r, const sked_sampler *m)
{
    printable_text name;
    bool any = false;
    for (int i = 0; i < N_TABLES; i++)
        any |= wanted(r->a, tables[i].name);
    print_machine(r->a);
    printf("\n%s; %d devices, %d seed(s). Built-in model: %s, %lld parameters, %lld updates.\n",
           r->full ? "The whole protocol (--full)" : "Smaller than --full", PAPER_DEVICES, r->seeds,
           r->a->model != NULL ? printable(r->a->model, &name) : "the library's",
           (long long)sked_sampler_parameter_count(m), (long long)r->built_in);
    if (any)
        printf(
            "%d candidates of each method, top %d by the proxy; ± the standard deviation of one seed. top 1, "
            "top 100: speedup on the proxy; noisy (mean of %d draws), bandwidth, latency: best of the top %d "
            "on "
            "that target. list: one schedule; brkga, search: %d schedules built (fewer above %d ops).\n",
            PAPER_DRAWS, PAPER_TOP, PAPER_NOISES, PAPER_TOP, PAPER_EVALUATIONS, PAPER_EVALUATED_OPS);
}

static sked_status run_table(paper_run *r, paper_table *t, sked_error *err)
{
    printf("\n## %s: %s\n\n", t->name, t->title);
    const sked_status st = t->run(r, t, err);
    end_progress();
    if (st != SKED_OK || t->graphs == 0)
        return st;
    printf("\nMean of %d graph(s), %d seed(s)", t->graphs, r->seeds);
    if (t->found > 0)
        printf("; %d results are those of earlier runs (--results)", t->found);
    printf(":\n\n");
    paper_print_header();
    paper_print_cells(r, t, t->sum, t->graphs);
    paper_print_published(t);
    paper_print_verdicts(r, t);
    paper_record_table(r, t);
    fflush(stdout);
    return st;
}

static sked_status run_sets(paper_run *r, const sked_sampler *m, sked_error *err)
{
    sked_status st = SKED_OK;
    for (int i = 0; st == SKED_OK && i < N_TABLES && !stop_requested; i++)
        if (wanted(r->a, tables[i].name))
            st = run_table(r, &tables[i], err);
    for (int k = 0; st == SKED_OK && k < N_SETS && !stop_requested; k++) {
        if (!wanted(r->a, set_names[k]))
            continue;
        printf("\n## %s\n", set_names[k]);
        st = k == SET_FIGURES      ? paper_figures(r, err)
             : k == SET_GENERATORS ? paper_generators(r, err)
             : k == SET_DEVICES    ? paper_devices(r, err)
             : k == SET_TUNE       ? paper_tune(r, err)
                                   : paper_temperature(r, m, err);
    }
    return st;
}

static sked_status check_rows(const arguments *a, sked_error *err)
{
    if (strcmp(a->only, set_names[SET_TUNE]) == 0)
        return paper_tune_check(a, err);
    for (int k = 0; k < PAPER_METHODS; k++)
        if (strstr(paper_methods[k].label, a->rows) != NULL)
            return SKED_OK;
    return fail(err, SKED_ERR_ARGUMENT, "--rows: no method of the tables has this in its name");
}

static sked_status check(const arguments *a, sked_error *err)
{
    bool any = false;
    for (int i = 0; i < N_TABLES; i++)
        any |= wanted(a, tables[i].name);
    for (int k = 0; k < N_SETS; k++)
        any |= wanted(a, set_names[k]);
    if (!any)
        return fail(
            err, SKED_ERR_ARGUMENT,
            "the sets of this suite are table1, table2, table3, figures, generators, random, networks, "
            "temperature, devices and tune");
    if (strcmp(a->train, "only") == 0 && strncmp(a->only, "table", 5) != 0 && strcmp(a->only, "tune") != 0)
        return fail(err, SKED_ERR_ARGUMENT, "--train only: add --only table1, table2, table3 or tune");
    const sked_status st = check_rows(a, err);
    if (st != SKED_OK)
        return st;
    if (a->output.count > 0 && strcmp(a->only, "temperature") != 0)
        return fail(err, SKED_ERR_ARGUMENT,
                    "-o draws the set temperature of this suite: add --only temperature");
    return SKED_OK;
}

static sked_status read_train(const char *word, paper_training_of *out, sked_error *err)
{
    static const char *const words[] = {
        [PAPER_TRAIN_AUTO] = "auto", [PAPER_TRAIN_ONLY] = "only", [PAPER_TRAIN_NEVER] = "never"};
    for (int k = 0; k < 3; k++)
        if (strcmp(word, words[k]) == 0) {
            *out = (paper_training_of)k;
            return SKED_OK;
        }
    return fail(err, SKED_ERR_ARGUMENT, "--train: give auto, only or never");
}

/* The first line of a record: where its figures come from. */
static void record_run(paper_run *r)
{
    char name[256];
    paper_record(r, "run");
    json_text(&r->json, "version", sked_version());
    json_text(&r->json, "processor", processor_name(name, sizeof name));
    json_text(&r->json, "only", r->a->only);
    json_bool(&r->json, "full", r->full);
    json_bool(&r->json, "stepwise", r->stepwise);
    json_number(&r->json, "seed", (double)r->a->seed);
    json_number(&r->json, "seeds", r->seeds);
    json_number(&r->json, "threads", (double)r->a->threads);
    json_text(&r->json, "backend", r->a->backend);
    paper_record_end(r);
}

sked_status bench_paper(arguments *a, sked_error *err)
{
    enum { USUAL_SEEDS = 2, FULL_SEEDS = 5 };
    sked_sampler *m = NULL;
    const double begin = sked_clock();
    paper_run r = {.a = a, .full = a->full, .stepwise = a->full || a->stepwise, .json = {.line = true}};
    r.seeds = a->seeds > 0 ? (int)a->seeds : a->full ? FULL_SEEDS : USUAL_SEEDS;
    sked_status st = check(a, err);
    if (st == SKED_OK)
        st = read_train(a->train, &r.train, err);
    if (st == SKED_OK)
        st = sked_sampler_read(a->model, &m, err);
    r.built_in = st == SKED_OK ? sked_sampler_steps(m) : 0;
    if (st == SKED_OK && a->results != NULL)
        st = paper_results_open(&r, a->results, err);
    if (st == SKED_OK && a->json != NULL)
        st = file_begin(&r.file, err);
    if (st != SKED_OK) {
        paper_results_close(&r);
        sked_sampler_destroy(m);
        return st;
    }
    r.json.file = r.file.file;
    if (r.json.file != NULL)
        record_run(&r);
    print_setting(&r, m);
    st = run_sets(&r, m, err);
    if (st == SKED_ERR_STOPPED && stop_requested)
        st = SKED_OK; /* inside a draw: what was printed before it counts */
    printf("\n%.1f s in all\n", sked_clock() - begin);
    paper_results_close(&r);
    sked_sampler_destroy(m);
    if (r.json.file == NULL)
        return st;
    sked_error why = {0}; /* what is done by then is recorded, whatever came after it */
    const sked_status written = file_end(&r.file, a->json, SKED_OK, &why);
    return st != SKED_OK || written == SKED_OK ? st : fail(err, written, "%s", why.message);
}
