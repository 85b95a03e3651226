/*
 * Set "devices": how much of what a row reaches on bandwidth and latency lies in its starts, and how much in
 * the device that an op gets among those that are free. The proxy does not distinguish these. The candidates
 * of each method as made, on its own devices; then with the same starts and devices drawn at random; then
 * with the same starts and the device left idle the shortest, which is the rule of list scheduling here.
 */
#include "paper.h"

#include <stdlib.h>

typedef enum rule { OWN, AT_RANDOM, LAST_FREE, RULES } rule;
static const char *const rule_names[RULES] = {"its own", "at random", "left idle the shortest"};
static const int sources[] = {PAPER_LIST,     PAPER_RANDOM_LIST, PAPER_BRKGA,
                              PAPER_PPO_ONCE, PAPER_ONCE,        PAPER_PPO_STEPWISE,
                              PAPER_STEPWISE, PAPER_PPO_RULE,    PAPER_RULE};
enum { N_SOURCES = sizeof sources / sizeof *sources };

/* Targets: bandwidth, latency. */
enum { FIRST = PAPER_bandwidth - PAPER_noisy, LOOKED = PAPER_TARGETS - FIRST };
typedef struct shares {
    double best[LOOKED], mean[LOOKED]; /* speedups over the candidates */
    double data, tight;                /* shares of data and of tight edges between devices */
} shares;

/* ---------------------------------------------------------------- devices for given starts */

static double draw(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

typedef struct placed {
    double start;
    int32_t op;
} placed;

static int by_start(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start ? 1 : x->op - y->op;
}

static int32_t choose(rule how, const double *free_from, double start, double slack, uint64_t *state)
{
    int32_t at = -1, count = 0;
    for (int32_t d = 0; d < PAPER_DEVICES; d++) {
        if (free_from[d] > start + slack)
            continue;
        count++;
        if (at < 0 || (how == LAST_FREE ? free_from[d] > free_from[at] : draw(state) * count < 1))
            at = d;
    }
    return at;
}

/* Keeps the starts; no more ops than devices run at a time, so one is always free. */
static sked_status reassign(const sked_problem *p, sked_schedule *s, rule how, uint64_t *state,
                            sked_error *err)
{
    double free_from[PAPER_DEVICES] = {0}, slack = 0;
    placed *order = malloc((size_t)s->ops * sizeof *order);
    if (order == NULL && s->ops > 0)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    for (int32_t i = 0; i < s->ops; i++) {
        order[i] = (placed){s->start[i], i};
        slack = fmax(slack, 1e-9 * s->start[i]);
    }
    qsort(order, (size_t)s->ops, sizeof *order, by_start);
    for (int32_t k = 0; k < s->ops; k++) {
        const int32_t i = order[k].op, d = choose(how, free_from, s->start[i], slack, state);
        s->device[i] = d >= 0 ? d : s->device[i];
        free_from[s->device[i]] = s->start[i] + sked_graph_duration(p->graph, i);
    }
    free(order);
    return sked_schedule_validate(p, s, err);
}

/* ---------------------------------------------------------------- one method on one graph */

/* Data between devices, and edges between them whose consumer starts as its producer ends. */
static void add_crossing(const sked_graph *g, const sked_schedule *s, double weight, shares *out)
{
    double bytes[2] = {0}, edges[2] = {0}, tight[2] = {0}; /* all, between devices */
    for (int64_t k = 0; k < sked_graph_edge_count(g); k++) {
        sked_edge e;
        sked_graph_edge(g, k, &e);
        const double finish = s->start[e.from] + sked_graph_duration(g, e.from);
        const bool waited = s->start[e.to] - finish <= 1e-9 * finish;
        const bool crosses = s->device[e.from] != s->device[e.to];
        bytes[0] += e.bytes;
        bytes[1] += crosses ? e.bytes : 0;
        edges[0]++;
        edges[1] += crosses;
        tight[0] += waited;
        tight[1] += waited && crosses;
    }
    const double *data = bytes[0] > 0 ? bytes : edges; /* targets draw bytes where a graph has none */
    out->data += data[0] > 0 ? weight * data[1] / data[0] : 0;
    out->tight += tight[0] > 0 ? weight * tight[1] / tight[0] : 0;
}

static sked_status measure(const sked_problem *p, const sked_robust_member *m, const char *target, int which,
                           shares *out, sked_error *err)
{
    sked_target *t = NULL;
    sked_status st = sked_target_create(target, p, 0, &t, err);
    for (int32_t i = 0; st == SKED_OK && i < m->count; i++) {
        sked_measurement said = {.size = sizeof said};
        if ((st = sked_target_measure(t, m->schedule[i], &said, err)) == SKED_OK) {
            const double speedup = said.time > 0 ? sked_target_work(t) / said.time : 1;
            out->best[which] = fmax(out->best[which], speedup);
            out->mean[which] += speedup / m->count;
        }
        sked_measurement_clear(&said);
    }
    sked_target_destroy(t);
    return st;
}

static sked_status look(const sked_problem *p, const sked_robust_member *m, rule how, uint64_t seed,
                        shares *out, sked_error *err)
{
    sked_status st = SKED_OK;
    uint64_t state = seed;
    *out = (shares){0};
    for (int32_t i = 0; st == SKED_OK && i < m->count; i++) {
        if (how != OWN)
            st = reassign(p, m->schedule[i], how, &state, err);
        add_crossing(p->graph, m->schedule[i], 1.0 / m->count, out);
    }
    for (int t = 0; st == SKED_OK && t < LOOKED; t++)
        st = measure(p, m, paper_targets[FIRST + t], t, out, err);
    return st;
}

static void add_shares(shares *sum, const shares *x, double weight)
{
    for (int t = 0; t < LOOKED; t++) {
        sum->best[t] += weight * x->best[t];
        sum->mean[t] += weight * x->mean[t];
    }
    sum->data += weight * x->data;
    sum->tight += weight * x->tight;
}

/* ---------------------------------------------------------------- a set of graphs */

typedef struct lot {
    const char *name;
    const paper_training *how;
    shares sum[N_SOURCES][RULES];
    int graphs;
} lot;

static bool takes_part(const paper_run *r, int source)
{
    const int learner = paper_methods[source].learner;
    return paper_row_wanted(r, paper_methods[source].label) &&
           (learner < 0 || paper_pupil_on(r, paper_learner(learner)));
}

static sked_status add_method(const paper_run *r, lot *l, const sked_problem *p, int k, int seed,
                              sked_error *err)
{
    char model[PAPER_PATH] = "";
    const paper_method *who = &paper_methods[sources[k]];
    paper_pool pool = {.made = {.size = sizeof pool.made}};
    sked_robust_result result = {.size = sizeof result};
    sked_status st = SKED_OK;
    if (who->learner >= 0) {
        const paper_pupil *pupil = paper_learner(who->learner);
        st = paper_train(r, l->how, pupil, seed, paper_updates(r, l->how, pupil), NULL, model, err);
    }
    if (st == SKED_OK)
        st = paper_make(r, p, who, who->learner < 0 ? NULL : model, seed, &pool, err);
    if (st == SKED_OK)
        st = paper_pass(r, p, &pool, &paper_stages[0], seed, &result, err);
    for (int how = 0; st == SKED_OK && how < RULES; how++) { /* own devices first: the others replace them */
        shares x;
        st = look(p, result.member[0], (rule)how, (uint64_t)r->a->seed + (uint64_t)seed, &x, err);
        if (st == SKED_OK)
            add_shares(&l->sum[k][how], &x, 1);
    }
    sked_robust_result_clear(&result);
    paper_pool_clear(&pool);
    return st;
}

static sked_status add_graph(const paper_run *r, lot *l, const sked_graph *g, sked_error *err)
{
    sked_problem p;
    sked_status st = SKED_OK;
    sked_problem_init(&p, g);
    p.devices = PAPER_DEVICES;
    for (int k = 0; k < N_SOURCES; k++)
        for (int s = 0; s < r->seeds && st == SKED_OK && !stop_requested; s++)
            if (takes_part(r, sources[k]))
                st = add_method(r, l, &p, k, s, err);
    l->graphs++;
    return st;
}

static void print_lot(paper_run *r, const lot *l)
{
    printf(
        "\n### %s, %d graph(s), %d seed(s)\n\n| method | devices | bandwidth, best | mean | latency, best | "
        "mean | data between devices [%%] | tight edges between devices [%%] "
        "|\n|---|---|---|---|---|---|---|---|\n",
        l->name, l->graphs, r->seeds);
    for (int k = 0; k < N_SOURCES; k++)
        for (int how = 0; how < RULES && takes_part(r, sources[k]); how++) {
            shares x = {0};
            add_shares(&x, &l->sum[k][how], 1.0 / (l->graphs * r->seeds));
            printf("| %s | %s | %.3f | %.3f | %.3f | %.3f | %.1f | %.1f |\n", paper_methods[sources[k]].label,
                   rule_names[how], x.best[0], x.mean[0], x.best[1], x.mean[1], 100 * x.data, 100 * x.tight);
        }
    fflush(stdout);
}

static sked_status run_table1(paper_run *r, sked_error *err)
{
    char path[600];
    paper_training how;
    sked_graph *g = NULL;
    if (!have_data(r->a))
        return SKED_OK;
    lot l = {.name = "The graph of table 1", .how = &how};
    sked_status st = paper_training1(r, path, sizeof path, &how, &g, err);
    if (st == SKED_OK)
        st = add_graph(r, &l, g, err);
    if (st == SKED_OK && !stop_requested)
        print_lot(r, &l);
    sked_graph_destroy(g);
    return st;
}

static sked_status run_table2(paper_run *r, sked_error *err)
{
    enum { GRAPHS = 10 };
    char spec[PAPER_SPEC];
    paper_training how;
    lot l = {.name = "Graphs of table 2", .how = &how};
    sked_status st = paper_training2(r, spec, sizeof spec, &how, err);
    for (int i = 0; st == SKED_OK && i < GRAPHS && !stop_requested; i++) {
        sked_graph *g = NULL;
        if (paper_skipped(r, i))
            continue;
        st = random_graph_like(PAPER_STRIDE2 * i, "paper", &g, err);
        if (st == SKED_OK)
            st = add_graph(r, &l, g, err);
        sked_graph_destroy(g);
    }
    if (st == SKED_OK && !stop_requested)
        print_lot(r, &l);
    return st;
}

sked_status paper_devices(paper_run *r, sked_error *err)
{
    printf("\nCandidates as made, the top %d of %d; the same starts on other devices. Speedups of the best "
           "and of the "
           "mean candidate. Data: bytes, or edges where a graph has none. An edge is tight where its "
           "consumer starts as its producer ends.\n",
           PAPER_TOP, PAPER_DRAWS);
    const sked_status st = run_table1(r, err);
    return st == SKED_OK && !stop_requested ? run_table2(r, err) : st;
}
