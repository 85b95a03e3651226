/* Times of many schedules under many guesses of the machine: the GPU beside robust/timing.c. */
#include "backend/backend.h"
#include "random_problem.h"
#include "robust/timing.h"

enum { LINKS = 5, GROUPS = 3 };

static double *draw_row(sked_i_rng *rng, int64_t count)
{
    double *row = malloc((size_t)(count + 1) * sizeof *row);
    assert_non_null(row);
    for (int64_t k = 0; k < count; k++)
        row[k] = 0.1 + sked_i_rng_uniform(rng);
    return row;
}

static sked_i_rates draw_rates(sked_i_rng *rng, int32_t ops, bool sized)
{
    return (sked_i_rates){.latency = draw_row(rng, LINKS),
                          .per_byte = draw_row(rng, LINKS),
                          .start_up = sked_i_rng_uniform(rng),
                          .warm = 0.5 + 0.5 * sked_i_rng_uniform(rng),
                          .read = sked_i_rng_uniform(rng),
                          .factor = draw_row(rng, ops),
                          .kind = draw_row(rng, GROUPS),
                          .size = sized ? draw_row(rng, ops) : NULL};
}

/* Ops in their own order on three devices; each has as many in-edges as in every other schedule. */
static void draw_timing(sked_i_rng *rng, int32_t ops, sked_i_timing *t)
{
    int32_t last[3] = {-1, -1, -1};
    int64_t edges = 0;
    *t = (sked_i_timing){.ops = ops,
                         .order = malloc((size_t)ops * sizeof *t->order),
                         .before = malloc((size_t)ops * sizeof *t->before),
                         .kind = malloc((size_t)ops * sizeof *t->kind),
                         .base = draw_row(rng, ops),
                         .share = draw_row(rng, ops),
                         .remote = draw_row(rng, ops),
                         .row = malloc((size_t)(ops + 1) * sizeof *t->row),
                         .edge = malloc((size_t)(3 * ops + 1) * sizeof *t->edge)};
    for (int32_t i = 0; i < ops; i++) {
        const int device = random_int(rng, 0, 2);
        t->order[i] = i;
        t->before[i] = last[device];
        t->kind[i] = device % GROUPS;
        last[device] = i;
        t->row[i] = edges;
        for (int k = i > 0 ? i % 4 : 0; k > 0; k--)
            t->edge[edges++] = (sked_i_timing_edge){.from = random_int(rng, 0, i - 1),
                                                    .link = random_int(rng, -1, LINKS - 1),
                                                    .bytes = 3 * sked_i_rng_uniform(rng),
                                                    .lag = k % 2 == 0 ? NAN : sked_i_rng_uniform(rng)};
    }
    t->row[ops] = edges;
}

static void free_rates(sked_i_rates *r)
{
    free(r->latency);
    free(r->per_byte);
    free(r->factor);
    free(r->kind);
    free(r->size);
}

static void compare(int32_t ops, int guesses, int candidates, bool sized)
{
    sked_i_rng rng;
    sked_i_timing *timing = calloc((size_t)candidates, sizeof *timing);
    const sked_i_timing **list = calloc((size_t)candidates, sizeof *list);
    sked_i_rates *rates = calloc((size_t)guesses, sizeof *rates);
    double *time = calloc((size_t)candidates * (size_t)guesses, sizeof *time);
    sked_i_timing_work w;
    const sked_i_backend *cuda;
    sked_i_rng_seed(&rng, 31, (uint64_t)ops);
    OK(sked_i_backend_find("cuda", &cuda, err));
    OK(sked_i_timing_work_open(&w, ops, err));
    for (int g = 0; g < guesses; g++)
        rates[g] = draw_rates(&rng, ops, sized);
    for (int k = 0; k < candidates; k++) {
        draw_timing(&rng, ops, &timing[k]);
        list[k] = &timing[k];
    }
    const sked_i_prediction p = {ops, LINKS, GROUPS, guesses, candidates, list, rates};
    OK(cuda->predict(&p, time, err));
    for (int k = 0; k < candidates; k++)
        for (int g = 0; g < guesses; g++) {
            const double cpu = sked_i_timing_run(&timing[k], &rates[g], &w), there = time[k * guesses + g];
            if (!(fabs(cpu - there) <= 1e-12 * cpu) || !(cpu > 0))
                fail_msg("candidate %d, guess %d: %.17g on the CPU, %.17g on the GPU", k, g, cpu, there);
        }
    for (int k = 0; k < candidates; k++)
        sked_i_timing_close(&timing[k]);
    for (int g = 0; g < guesses; g++)
        free_rates(&rates[g]);
    sked_i_timing_work_close(&w);
    free(timing);
    free(list);
    free(rates);
    free(time);
}

static void test_predictions(void **state)
{
    (void)state;
    compare(1, 1, 1, false);
    compare(30, 7, 5, false);
    compare(40, 96, 9, true);
    compare(17, 130, 3, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_predictions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
