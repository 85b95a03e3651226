/*
 * A method of your own, registered at run time: again and again it places all ops in a topological order,
 * each on the device that is free first, or now and then on one at random. cc own_method.c $(pkg-config
 * --cflags --libs sked) -o own_method
 *   ./own_method recommender.json
 */
#include <sked/sked.h>

#include <stdio.h>
#include <stdlib.h>

/* What one attempt works with. */
typedef struct bench {
    sked_columns graph;
    int32_t *order;  /* [ops] topological */
    int64_t *first;  /* [ops + 1] where the edges of each op begin */
    double *ready;   /* [ops] when the results that it reads are there */
    double *free_at; /* [devices] */
    sked_schedule *schedule;
} bench;

static void clear(bench *b)
{
    free(b->order);
    free(b->first);
    free(b->ready);
    free(b->free_at);
    sked_schedule_destroy(b->schedule);
}

static sked_status prepare(const sked_problem *p, bench *b, sked_error *err)
{
    sked_columns_init(&b->graph);
    sked_status st = sked_graph_columns(p->graph, &b->graph, err);
    if (st == SKED_OK)
        st = sked_schedule_create(b->graph.ops, p->devices, &b->schedule, err);
    if (st != SKED_OK)
        return st;
    const size_t n = (size_t)b->graph.ops + 1; /* never 0 */
    b->order = malloc(n * sizeof *b->order);
    b->first = calloc(n, sizeof *b->first);
    b->ready = malloc(n * sizeof *b->ready);
    b->free_at = malloc((size_t)p->devices * sizeof *b->free_at);
    if (b->order == NULL || b->first == NULL || b->ready == NULL || b->free_at == NULL)
        return SKED_ERR_MEMORY;
    sked_graph_topological(p->graph, b->order);
    for (int64_t e = 0; e < b->graph.edges; e++) /* edges are sorted by the op that they leave */
        b->first[b->graph.from[e] + 1]++;
    for (size_t i = 1; i < n; i++)
        b->first[i] += b->first[i - 1];
    return SKED_OK;
}

static int32_t choose(const bench *b, double chance, uint64_t *random)
{
    int32_t best = 0;
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    const uint32_t draw = (uint32_t)(*random >> 32);
    if (draw < chance * UINT32_MAX)
        return (int32_t)(draw % (uint32_t)b->schedule->devices);
    for (int32_t d = 1; d < b->schedule->devices; d++)
        best = b->free_at[d] < b->free_at[best] ? d : best;
    return best;
}

static void place_all(bench *b, double chance, uint64_t *random)
{
    sked_schedule *s = b->schedule;
    memset(b->ready, 0, (size_t)s->ops * sizeof *b->ready);
    memset(b->free_at, 0, (size_t)s->devices * sizeof *b->free_at);
    for (int32_t k = 0; k < s->ops; k++) {
        const int32_t op = b->order[k], device = choose(b, chance, random);
        s->device[op] = device;
        s->start[op] = fmax(b->ready[op], b->free_at[device]);
        b->free_at[device] = s->start[op] + b->graph.duration[op];
        for (int64_t e = b->first[op]; e < b->first[op + 1]; e++) {
            double *ready = &b->ready[b->graph.to[e]];
            if (b->graph.distance[e] == 0) /* others bind only where iterations overlap */
                *ready = fmax(*ready, s->start[op] + b->graph.lag[e]);
        }
    }
}

static sked_status run_scatter(void *data, sked_run *run, sked_error *err)
{
    const sked_run_options *asked = sked_run_options_of(run);
    uint64_t random = asked->seed;
    int64_t attempts = 0;
    bench b = {0};
    (void)data;
    sked_status st = prepare(sked_run_problem(run), &b, err);
    while (st == SKED_OK && !sked_run_over(run) && (asked->iterations == 0 || attempts < asked->iterations)) {
        place_all(&b, attempts == 0 ? 0 : sked_run_setting(run, 0), &random);
        st = sked_run_offer(run, b.schedule, err);
        sked_run_evaluated(run, 1);
        attempts++;
    }
    clear(&b);
    return st;
}

/* Features that are not named need not be thought of: problems that need them are refused. */
static const sked_option options[] = {
    {"chance", SKED_OPTION_REAL, "0.1", 0, 1, NULL, "of an op that its device is drawn"},
};

int main(int argc, char **argv)
{
    sked_error err = SKED_ERROR_INIT;
    sked_graph *graph = NULL;
    sked_problem problem;
    sked_result result;
    sked_method scatter;
    sked_result_init(&result);
    sked_method_init(&scatter);
    scatter.name = "scatter";
    scatter.summary = "topological order, some devices at random";
    scatter.features = SKED_CAN_DEVICES | SKED_CAN_MAKESPAN | SKED_CAN_ANYTIME;
    scatter.options = options;
    scatter.n_options = 1;
    scatter.run = run_scatter;
    sked_run_options how;
    sked_run_options_init(&how);
    how.iterations = 2000;
    sked_status st = sked_method_register(&scatter, &err);
    if (st == SKED_OK)
        st = sked_graph_read(argc > 1 ? argv[1] : "recommender.json", NULL, &graph, &err);
    if (st == SKED_OK) {
        sked_problem_init(&problem, graph);
        problem.devices = 4;
        st = sked_method_run("scatter", &problem, &how, &result, &err);
    }
    if (st == SKED_OK)
        printf("%s: makespan %g, lower bound %g, after %lld schedules\n", result.method, result.value,
               result.lower_bound, (long long)result.evaluations);
    else
        fprintf(stderr, "%s\n", err.message);
    sked_result_clear(&result);
    sked_graph_destroy(graph);
    return (int)st;
}
