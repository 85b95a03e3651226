/*
 * What times schedules for speed against the reference, src/schedule/replay.c, on random plans: random
 * graphs, machines, transfers, devices and orders. The robust loop's model is in test_loop_model.c; what the
 * GPU times is compared with the CPU's forms in test_cuda_*.c.
 */
#include "engine/environment/partial.h"
#include "engine/sequence/moves.h"
#include "problem/costs.h"
#include "random_problem.h"
#include "schedule/replay.h"
#include "whole_batch.h"

enum { most_ops = 40 };

static const unsigned kinds[] = {RANDOM_DEVICES, RANDOM_TRANSFERS,
                                 RANDOM_TRANSFERS | RANDOM_LAGS | RANDOM_REAL, RANDOM_UNEQUAL,
                                 RANDOM_UNEQUAL | RANDOM_LAGS | RANDOM_REAL};
enum { n_kinds = sizeof kinds / sizeof *kinds };

typedef struct plan {
    random_problem r;
    sked_i_rng rng;
    sked_i_replay *reference;
    int32_t order[most_ops], device[most_ops];
    double start[most_ops];
} plan;

static void open_plan(plan *x, uint64_t seed, unsigned kind)
{
    random_problem_make(seed, kind, 2, most_ops, &x->r);
    sked_i_rng_seed(&x->rng, seed, 11);
    OK(sked_i_replay_create(&x->r.problem, &(sked_i_replay_rules){0}, &x->reference, err));
}

static void close_plan(plan *x)
{
    sked_i_replay_destroy(x->reference);
    random_problem_free(&x->r);
}

/* A random topological order on random devices; at times some of it is turned, which the graph may not allow.
 */
static void draw_plan(plan *x, bool turn)
{
    const sked_graph *g = x->r.graph;
    int32_t waiting[most_ops], ready[most_ops], n_ready = 0;
    for (int32_t i = 0; i < g->n_ops; i++) {
        x->device[i] = random_int(&x->rng, 0, x->reference->costs.devices - 1);
        if ((waiting[i] = (int32_t)(g->pred_ptr[i + 1] - g->pred_ptr[i])) == 0)
            ready[n_ready++] = i;
    }
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t pick = random_int(&x->rng, 0, n_ready - 1), i = x->order[k] = ready[pick];
        ready[pick] = ready[--n_ready];
        for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
            if (--waiting[g->edge_to[e]] == 0)
                ready[n_ready++] = g->edge_to[e];
    }
    const int32_t a = random_int(&x->rng, 0, g->n_ops - 1), b = random_int(&x->rng, 0, g->n_ops - 1),
                  i = x->order[a];
    if (turn) {
        x->order[a] = x->order[b];
        x->order[b] = i;
    }
}

static void same(double is, double wanted, double within)
{
    if (is != wanted && !(fabs(is - wanted) <= within * fabs(wanted)))
        fail_msg("%.17g, not %.17g", is, wanted);
}

/* To the bit, with transfers and without. A time without end is one there too. */
static void simulator_is_the_reference(void **state)
{
    (void)state;
    int ends = 0, endless = 0;
    for (uint64_t seed = 0; seed < 100 * n_kinds; seed++) {
        plan x;
        sked_simulator *sim = NULL;
        double start[most_ops], makespan;
        open_plan(&x, seed, kinds[seed % n_kinds] | (seed % 2 ? RANDOM_ZERO : 0));
        OK(sked_simulator_create(&x.r.problem, &sim, err));
        for (int k = 0; k < 10; k++) {
            draw_plan(&x, k >= 7);
            sked_simulator_run(sim, 1, x.device, x.order, k % 2, &makespan, start);
            same(makespan, sked_i_replay_order(x.reference, x.device, x.order, k % 2, x.start), 0);
            for (int32_t i = 0; isfinite(makespan) && i < x.r.graph->n_ops; i++)
                same(start[i], x.start[i], 0);
            ends += isfinite(makespan);
            endless += isinf(makespan);
        }
        sked_simulator_destroy(sim);
        close_plan(&x);
    }
    assert_true(ends > 2000 && endless > 200);
}

/* A schedule, which has starts, is timed as its orders are. */
static void starts_are_an_order(void **state)
{
    (void)state;
    int timed = 0;
    for (uint64_t seed = 0; seed < 40 * n_kinds; seed++) {
        plan x;
        sked_schedule *s = NULL;
        sked_error why;
        double time;
        open_plan(&x, seed, kinds[seed % n_kinds]);
        draw_plan(&x, false);
        OK(sked_schedule_create(x.r.graph->n_ops, x.reference->costs.devices, &s, err));
        memcpy(s->device, x.device, (size_t)s->ops * sizeof *s->device);
        for (int32_t k = 0; k < s->ops; k++)
            s->start[x.order[k]] = k;
        const double makespan = sked_i_replay_order(x.reference, x.device, x.order, true, x.start);
        const sked_status st = sked_i_replay_run(x.reference, s, NULL, &time, &why);
        assert_true((st == SKED_OK) == isfinite(makespan));
        if (st == SKED_OK)
            assert_true(time == makespan);
        timed += st == SKED_OK;
        sked_schedule_destroy(s);
        close_plan(&x);
    }
    assert_true(timed > 100);
}

static void check_sequence(plan *x, const sked_i_sequence *s)
{
    same(s->cost, sked_i_replay_order(x->reference, s->device, s->list, true, x->start), 1e-12);
    for (int32_t i = 0; i < s->form->n; i++)
        same(s->start[i], x->start[i], 1e-12);
}

/* Lists as they are loaded, and after every move. Ops without duration wait for no device there. */
static void sequences_are_timed_right(void **state)
{
    (void)state;
    int compared = 0;
    for (uint64_t seed = 0; seed < 60 * n_kinds; seed++) {
        plan x;
        sked_i_sequencing *form = NULL;
        sked_i_sequence *s = NULL;
        sked_i_moves moves;
        if (!(kinds[seed % n_kinds] & (RANDOM_TRANSFERS | RANDOM_UNEQUAL)))
            continue;
        open_plan(&x, seed, kinds[seed % n_kinds]);
        OK(sked_i_sequencing_create(&x.r.problem, &x.reference->costs, &form, err));
        OK(sked_i_sequence_create(form, &s, err));
        OK(sked_i_moves_open(s, &x.rng, &moves, err));
        draw_plan(&x, false);
        for (int32_t k = 0; k < form->n; k++) {
            x.start[x.order[k]] = k;
            if (x.r.problem.machine != NULL &&
                !isfinite(sked_i_time(&x.reference->costs, x.order[k], x.device[x.order[k]])))
                x.device[x.order[k]] = 0; /* which can run every op */
        }
        sked_i_sequence_load(s, x.start, x.device);
        for (int k = 0; k < 100; k++) {
            sked_i_sequence_move m;
            if (s->cost <= form->valid) { /* else data passes where there is no link */
                check_sequence(&x, s);
                compared++;
            }
            if (sked_i_moves_pick(&moves, &m))
                moves.moved += sked_i_sequence_try(s, &m, s->cost * (1 + 0.4 * sked_i_rng_uniform(&x.rng)));
        }
        sked_i_sequence_destroy(s);
        sked_i_sequencing_destroy(form);
        close_plan(&x);
    }
    assert_true(compared > 5000);
}

/* Partial schedules grown at random, in units of the instance's scale. */
static void partial_schedules_are_timed_right(void **state)
{
    (void)state;
    int compared = 0;
    for (uint64_t seed = 0; seed < 60 * n_kinds; seed++) {
        plan x;
        sked_i_instance *instance = NULL;
        sked_i_partial p = {0};
        sked_error why;
        double start[most_ops];
        open_plan(&x, seed, kinds[seed % n_kinds] | (seed % 2 ? RANDOM_ZERO : 0));
        if (instance_of(&x.r.problem, &instance, &why) != SKED_OK) { /* a link is missing */
            close_plan(&x);
            continue;
        }
        OK(sked_i_partial_init(&p, instance, err));
        sked_i_partial_reset(&p);
        for (int32_t k = 0; p.n_ready > 0; k++) {
            const int32_t at = random_int(&x.rng, 0, p.n_ready - 1), i = x.order[k] = p.ready[at];
            int32_t column;
            do
                column = random_int(&x.rng, 0, instance->columns - 1);
            while (!isfinite(sked_i_instance_time(instance, i, column)));
            x.device[i] = instance->real_of[column];
            start[i] = instance->scale * sked_i_partial_start(&p, i, column);
            sked_i_partial_append(&p, at, column);
        }
        same(instance->scale * p.makespan, sked_i_replay_order(x.reference, x.device, x.order, true, x.start),
             1e-9);
        for (int32_t i = 0; i < instance->n; i++)
            same(start[i], x.start[i], 1e-9);
        compared++;
        sked_i_partial_clear(&p);
        sked_i_instance_destroy(instance);
        close_plan(&x);
    }
    assert_true(compared > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulator_is_the_reference), cmocka_unit_test(starts_are_an_order),
        cmocka_unit_test(sequences_are_timed_right), cmocka_unit_test(partial_schedules_are_timed_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
