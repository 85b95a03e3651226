/* What draws become: schedules, their log-probabilities, what they say of log Z. */
#include "method/gflownet/draws.h"
#include "base/memory.h"
#include "base/thread.h"

#include <math.h>

/*
 * Automatic temperatures: what a delay of one mean duration costs in log R. Each gets a share of the draws.
 */
static const double kappas[] = {60, 200, 600};
enum { n_kappas = sizeof kappas / sizeof *kappas };
_Static_assert(n_kappas + 1 == sked_i_most_rungs, "a part for each, and the likeliest");

/* When the data of an edge is on a device, in a schedule that has its beginning. */
static double arrival(const sked_i_costs *c, const sked_schedule *s, int64_t e, int32_t device)
{
    const int32_t from = c->graph->edge_from[e], there = s->device[from];
    return s->start[from] + sked_i_lag(c, e, there) +
           sked_i_transfer_time(c, c->graph->edge_bytes[e], there, device);
}

/* Starts again in the problem's own units, so that integers stay exact. name, free_at: [devices] */
static void fill_schedule(const sked_i_costs *c, const sked_i_instance *x, const sked_i_trajectory *t,
                          int32_t *name, double *free_at, sked_schedule *s)
{
    const sked_graph *g = c->graph;
    for (int32_t i = 0; i < g->n_ops; i++) {
        s->start[i] = 0;
        s->device[t->op[i]] = x->real_of[t->device[i]];
        free_at[s->device[t->op[i]]] = 0;
    }
    for (int32_t k = 0; k < g->n_ops; k++) {
        const int32_t op = t->op[k], device = s->device[op];
        double start = free_at[device];
        for (int64_t j = g->pred_ptr[op]; j < g->pred_ptr[op + 1]; j++)
            if (g->edge_distance[g->pred_edge[j]] == 0)
                start = fmax(start, arrival(c, s, g->pred_edge[j], device));
        s->start[op] = start;
        free_at[device] = start + sked_i_time(c, op, device);
    }
    if (c->machine == NULL)
        sked_i_schedule_name_devices(s, name);
}

/* A thread's share of the schedules. */
static sked_status make_schedules(const sked_i_taking *t, int thread, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_i_instance *x = t->instance;
    const sked_i_costs *costs = t->drawing->costs;
    sked_samples *out = t->drawing->out;
    int32_t *name = NULL;
    double *free_at = NULL;
    SKED_NEW(name, x->devices);
    SKED_NEW(free_at, x->devices);
    const int32_t end = (int32_t)((int64_t)t->count * (thread + 1) / t->threads);
    for (int32_t k = (int32_t)((int64_t)t->count * thread / t->threads); k < end; k++) {
        sked_schedule *s = NULL;
        SKED_TRY(sked_schedule_create(x->n, x->devices, &s, err));
        fill_schedule(costs, x, t->drawn[k], name, free_at, s);
        out->schedule[t->first + k] = s;
        out->makespan[t->first + k] = sked_i_costs_latest_finish(costs, s);
    }
cleanup:
    free(name);
    free(free_at);
    return st;
}

static void make_share(void *data, int thread)
{
    sked_i_taking *t = data;
    t->status[thread] = make_schedules(t, thread, &t->error[thread]);
}

sked_status sked_i_taking_make(sked_i_taking *t, sked_error *err)
{
    enum { ops_of_a_thread = 5000 }; /* some 0.1 ms */
    sked_status st = SKED_OK;
    const int64_t shares = 1 + (int64_t)t->count * t->instance->n / ops_of_a_thread;
    t->threads = shares < t->drawing->opt->threads ? (int)shares : t->drawing->opt->threads;
    SKED_NEW0(t->status, t->threads);
    SKED_NEW0(t->error, t->threads);
    t->drawing->out->count = t->first + t->count; /* what is not there is NULL, for clearing too */
    SKED_TRY(sked_i_parallel(t->threads, make_share, t, err));
    for (int k = 0; k < t->threads; k++)
        if (t->status[k] != SKED_OK) {
            st = sked_i_fail(err, t->status[k], "%s", t->error[k].message);
            goto cleanup;
        }
cleanup:
    free(t->status);
    free(t->error);
    return st;
}

void sked_i_taking_note(sked_i_taking *t, double temperature, int32_t count,
                        const sked_i_trajectory *trajectory)
{
    sked_i_drawing *d = t->drawing;
    for (int32_t k = 0; k < count; k++) {
        if (isnan(trajectory[k].makespan))
            continue; /* interrupted */
        const double zeta = sked_i_loss_zeta(t->instance, temperature, &trajectory[k]);
        const int32_t at = t->first + t->count;
        d->out->log_prob[at] = trajectory[k].log_forward;
        d->out->temperature[at] = temperature;
        d->zetas[at] = zeta;
        t->drawn[t->count++] = &trajectory[k];
        d->zeta += zeta;
        d->square += zeta * zeta;
    }
}

bool sked_i_drawing_goes_on(const sked_sample_options *opt, const sked_i_limit *limit, int32_t done,
                            int32_t total)
{
    if (opt->progress != NULL && done > 0)
        opt->progress(opt->progress_data, "sampling", (double)done / total, NAN, NAN);
    return done < total && (done == 0 || !sked_i_limit_reached(limit));
}

int sked_i_drawing_rungs(const sked_i_drawing *d, const sked_i_instance *x, int32_t first, int32_t end,
                         sked_i_rung *out)
{
    const bool given = d->opt->temperature > 0 || d->opt->greedy;
    const int parts = given ? 1 : n_kappas;
    const int32_t random = given || end - first <= parts ? end : end - 1;
    for (int k = 0; k < parts; k++)
        out[k] = (sked_i_rung){
            d->opt->temperature > 0 ? d->opt->temperature : sked_i_instance_temperature(x, kappas[k]),
            first + (int32_t)((int64_t)(random - first) * (k + 1) / parts), d->opt->greedy};
    if (random == end)
        return parts;
    out[parts] = (sked_i_rung){out[parts - 1].temperature, end, true};
    return parts + 1;
}

void sked_i_drawing_spread(sked_i_drawing *d, int32_t count)
{
    sked_samples *out = d->out;
    out->log_z = d->zeta / count;
    out->spread = sqrt(fmax(0, d->square / count - out->log_z * out->log_z));
}
