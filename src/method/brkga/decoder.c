/* From random keys to schedules. */
#include "method/brkga/brkga.h"

#include "schedule/equal.h"

#include <string.h>

enum { key_steps = 1 << 20 };

/* ------------------------------------------------------------------ the space of keys */

void sked_i_brkga_space_destroy(sked_i_brkga_space *k)
{
    if (k == NULL)
        return;
    sked_i_cumulative_destroy(k->c);
    sked_i_sequencing_destroy(k->l);
    free(k->level);
    free(k);
}

static void find_levels(sked_i_brkga_space *k)
{
    double longest = 0;
    if (k->l != NULL)
        sked_i_upward_ranks(&k->l->dag,
                            k->l->hetero  ? 1
                            : k->l->m > 1 ? (k->l->m - 1.0) / k->l->m
                                          : 0,
                            k->level);
    for (int32_t i = 0; i < k->n; i++) {
        if (k->c != NULL)
            k->level[i] = k->c->forward.tail[i];
        longest = fmax(longest, k->level[i]);
    }
    for (int32_t i = 0; i < k->n; i++)
        k->level[i] = longest > 0 ? fmax(0, k->level[i] / longest) : 0;
}

sked_status sked_i_brkga_space_create(const sked_problem *p, const sked_i_costs *c, sked_i_brkga_space **out,
                                      sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_brkga_space *k = NULL;
    SKED_NEW0(k, 1);
    k->problem = p;
    k->n = p->graph->n_ops;
    if (k->n > (INT32_MAX - 2) / 2)
        SKED_TRY(sked_i_fail(err, SKED_ERR_UNSUPPORTED, "brkga: more than %d ops", (INT32_MAX - 2) / 2));
    if (sked_i_sequencing_needed(p))
        SKED_TRY(sked_i_sequencing_create(p, c, &k->l, err));
    else
        SKED_TRY(sked_i_cumulative_create(p, &k->c, err));
    k->keys = (k->l ? 2 : 1) * k->n + 2;
    SKED_NEW(k->level, k->n);
    find_levels(k);
    *out = k;
    return SKED_OK;
cleanup:
    sked_i_brkga_space_destroy(k);
    return st;
}

/* Half of the range of a device key: no wish. The rest is shared out to the devices. */
static int32_t wish_of(float key, int32_t m)
{
    const int32_t d = (int32_t)((key - 0.5F) * 2 * (float)m);
    return key < 0.5F ? -1 : d < m ? d : m - 1;
}

static float key_of_device(int32_t d, int32_t m)
{
    return 0.5F + 0.5F * ((float)d + 0.5F) / (float)m;
}

/*
 * Heterogeneous devices: those that can run the op share the rest, the fastest first. The square gives faster
 * ones more of it.
 */
static int32_t wish_among(const sked_i_hetero *u, int32_t op, float key)
{
    const int32_t count = sked_i_hetero_choices(u, op);
    const float x = 2 * key - 1;
    const int32_t k = (int32_t)(x * x * (float)count);
    return key < 0.5F ? -1 : sked_i_hetero_choice(u, op, k < count ? k : count - 1);
}

static float key_among(const sked_i_hetero *u, int32_t op, int32_t device)
{
    const int32_t count = sked_i_hetero_choices(u, op), k = sked_i_hetero_choice_of(u, op, device);
    return 0.5F + 0.5F * sqrtf(((float)k + 0.5F) / (float)count);
}

void sked_i_brkga_space_express(const sked_i_brkga_space *k, const sked_schedule *s, float *key)
{
    double latest = 0;
    for (int32_t i = 0; i < k->n; i++)
        latest = fmax(latest, s->start[i]);
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t op = k->c ? k->c->op[i] : i;
        key[i] = latest > 0 ? (float)(1 - fmin(1, fmax(0, s->start[op]) / (1.001 * latest))) : 1;
        if (k->l != NULL)
            key[k->n + i] = k->l->hetero ? key_among(k->l->hetero, i, s->device[i])
                                         : key_of_device(s->device[i], k->l->m);
    }
    key[k->keys - 2] = 0;
    key[k->keys - 1] = 1;
}

void sked_i_brkga_space_single(const sked_i_brkga_space *k, float *key)
{
    const sked_i_costs *c = k->l->dag.costs;
    int32_t best = 0;
    double least = INFINITY;
    for (int32_t d = 0; d < k->l->m; d++) {
        double sum = 0;
        if (!sked_i_costs_leads(c, d, k->n))
            continue;
        for (int32_t i = 0; i < k->n; i++)
            sum += fmin(sked_i_time(c, i, d), k->l->span);
        if (sum < least) {
            least = sum;
            best = d;
        }
    }
    sked_i_brkga_space_rule(k, 0, key);
    for (int32_t i = 0; i < k->n; i++)
        key[k->n + i] = sked_i_time(c, i, best) < INFINITY ? key_among(k->l->hetero, i, best) : 0;
}

void sked_i_brkga_space_rule(const sked_i_brkga_space *k, int which, float *key)
{
    for (int32_t i = 0; i < k->n; i++) {
        key[i] = 1;
        if (k->l != NULL)
            key[k->n + i] = 0;
    }
    key[k->keys - 2] = ((float)which + 0.5F) / 3;
    key[k->keys - 1] = 0;
}

/* ------------------------------------------------------------------ decoders */

static sked_status open_decoded(sked_i_brkga_decoder *d, sked_i_brkga_decoded *x, sked_error *err)
{
    const sked_i_brkga_space *k = d->space;
    sked_status st = SKED_OK;
    if (k->c != NULL) {
        SKED_OWN(&d->arena, x->core_start, k->n);
    } else {
        SKED_OWN(&d->arena, x->start, k->n);
        SKED_OWN(&d->arena, x->device, k->n);
    }
cleanup:
    return st;
}

void sked_i_brkga_decoder_close(sked_i_brkga_decoder *d)
{
    sked_i_justifier_close(&d->justifier);
    sked_i_placer_destroy(d->placer);
    sked_i_arena_free(&d->arena);
}

static sked_status open_alike(sked_i_brkga_decoder *d, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_justifier_open(&d->justifier, d->space->c, d->limit, err));
    SKED_OWN(&d->arena, d->core_key, d->space->n);
cleanup:
    return st;
}

static sked_status open_sequencing(sked_i_brkga_decoder *d, sked_error *err)
{
    const sked_i_sequencing *l = d->space->l;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_placer_create(&l->dag, &l->pools, l->m, true, &d->placer, err));
    SKED_OWN(&d->arena, d->wish, l->n);
    SKED_OWN(&d->arena, d->sorter, 2 * (int64_t)l->n);
    SKED_OWN(&d->arena, d->label, l->m);
cleanup:
    return st;
}

sked_status sked_i_brkga_decoder_open(sked_i_brkga_decoder *d, const sked_i_brkga_space *space,
                                      const sked_i_limit *limit, sked_error *err)
{
    sked_status st = SKED_OK;
    *d = (sked_i_brkga_decoder){.space = space, .limit = limit};
    SKED_TRY(open_decoded(d, &d->at, err));
    SKED_TRY(open_decoded(d, &d->kept, err));
    SKED_OWN(&d->arena, d->rank, space->n);
    st = space->c != NULL ? open_alike(d, err) : open_sequencing(d, err);
cleanup:
    return st;
}

static void copy_decoded(const sked_i_brkga_space *k, const sked_i_brkga_decoded *from,
                         sked_i_brkga_decoded *to)
{
    if (k->c != NULL) {
        memcpy(to->core_start, from->core_start, (size_t)k->n * sizeof *to->core_start);
    } else {
        memcpy(to->start, from->start, (size_t)k->n * sizeof *to->start);
        memcpy(to->device, from->device, (size_t)k->n * sizeof *to->device);
    }
    to->late = from->late;
    to->latest = from->latest;
}

void sked_i_brkga_decoder_keep(sked_i_brkga_decoder *d)
{
    copy_decoded(d->space, &d->at, &d->kept);
}

void sked_i_brkga_decoder_recall(sked_i_brkga_decoder *d)
{
    copy_decoded(d->space, &d->kept, &d->at);
}

static int decoder_of(const sked_i_brkga_space *k, float key)
{
    if (k->decoder != SKED_I_DECODE_MIXED)
        return k->decoder;
    return key < 1.0F / 3   ? SKED_I_DECODE_SERIAL
           : key < 2.0F / 3 ? SKED_I_DECODE_PARALLEL
                            : SKED_I_DECODE_INSERTION;
}

/* 0 comes first. By path: a key takes up to half of the op's bottom level from it. */
static inline double urgency(const sked_i_brkga_space *k, const float *key, int32_t i, bool by_path)
{
    return by_path ? 1 - k->level[i] * (1 + (double)key[i]) / 2 : 1 - (double)key[i];
}

static bool by_path(const sked_i_brkga_space *k, const float *key)
{
    return k->weigh == SKED_I_WEIGH_MIXED ? key[k->keys - 1] < 0.5F : k->weigh == SKED_I_WEIGH_PATH;
}

static double cost_alike(sked_i_brkga_decoder *d, const float *key)
{
    const sked_i_brkga_space *k = d->space;
    const bool path = by_path(k, key),
               parallel = k->c->fixed == NULL && decoder_of(k, key[k->keys - 2]) == SKED_I_DECODE_PARALLEL;
    for (int32_t i = 0; i < k->n; i++)
        d->core_key[i] = (int32_t)(urgency(k, key, i, path) * (key_steps - 1));
    sked_i_sgs_sort(d->justifier.forward, d->core_key, false, d->rank);
    int32_t makespan =
        parallel ? sked_i_sgs_parallel(d->justifier.forward, d->rank, d->at.core_start)
                 : sked_i_sgs_serial(d->justifier.forward, d->rank, SKED_I_ABORTED, d->at.core_start);
    d->evaluations++;
    if (makespan == SKED_I_ABORTED)
        return INFINITY;
    d->justifier.evaluations = 0;
    if (k->justify)
        makespan = sked_i_justify(&d->justifier, makespan, d->at.core_start);
    d->evaluations += d->justifier.evaluations;
    d->at.late = k->c->fixed != NULL ? (double)d->justifier.forward->late : 0;
    d->hash = sked_i_schedule_hash_steps(d->at.core_start, k->n);
    return sked_i_justifier_cost(&d->justifier, makespan);
}

static void rank_ops(sked_i_brkga_decoder *d, const float *key)
{
    const sked_i_brkga_space *k = d->space;
    const bool path = by_path(k, key);
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t op = k->l->dag.order[i];
        d->sorter[i] = (sked_i_keyed){(uint64_t)(urgency(k, key, op, path) * (key_steps - 1)), op};
    }
    sked_i_sort_keyed(d->sorter, d->sorter + k->n, k->n);
    for (int32_t q = 0; q < k->n; q++)
        d->rank[d->sorter[q].value] = q;
}

/* Every schedule has a hash of its own: heterogeneous devices are not interchangeable. */
static uint64_t hash_hetero(const sked_i_brkga_decoder *d)
{
    uint64_t h = SKED_I_HASH_SEED;
    for (int32_t i = 0; i < d->space->n; i++) {
        uint64_t bits;
        memcpy(&bits, &d->at.start[i], sizeof bits);
        h = sked_i_schedule_hash_mix(h, bits ^ (uint64_t)d->at.device[i]);
    }
    return h;
}

static int32_t wish_for(const sked_i_brkga_space *k, const float *key, int32_t i)
{
    const sked_i_hetero *u = k->l->hetero;
    return u ? wish_among(u, i, key[k->n + i]) : wish_of(key[k->n + i], k->l->m);
}

/* serial: each op where its key wishes; parallel: through time; insertion: where it finishes first. */
static double cost_sequencing(sked_i_brkga_decoder *d, const float *key)
{
    const sked_i_brkga_space *k = d->space;
    const sked_i_sequencing *l = k->l;
    const int decoder = decoder_of(k, key[k->keys - 2]);
    const bool stepped = decoder == SKED_I_DECODE_PARALLEL && k->problem->fix_start == NULL;
    const sked_i_place how = {.fix_device = d->wish,
                              .fix_start = k->problem->fix_start,
                              .by_device = true,
                              .insertion = !stepped,
                              .stepped = stepped,
                              .limit = d->limit,
                              .hurry = d->evaluations == 0};
    sked_error err = {0};
    double latest = 0;
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t fixed = k->problem->fix_device ? k->problem->fix_device[i] : -1;
        const int32_t wish = decoder == SKED_I_DECODE_SERIAL ? wish_for(k, key, i) : -1;
        d->wish[i] = fixed >= 0 ? fixed : wish;
    }
    rank_ops(d, key);
    d->evaluations++;
    d->status =
        sked_i_placer_run(d->placer, d->rank, NULL, &how, d->at.start, d->at.device, &d->at.late, &err);
    if (d->status == SKED_ERR_STOPPED) { /* as good as not decoded */
        d->status = SKED_OK;
        d->at.late = INFINITY;
        return INFINITY;
    }
    if (d->status != SKED_OK)
        return INFINITY;
    for (int32_t i = 0; i < k->n; i++)
        latest = fmax(latest, d->at.start[i] + (l->hetero ? sked_i_time(l->dag.costs, i, d->at.device[i])
                                                          : l->dag.duration[i]));
    d->at.latest = latest;
    d->hash = l->hetero ? hash_hetero(d)
                        : sked_i_schedule_hash_devices(k->n, d->at.start, d->at.device, l->m, d->label);
    return d->at.late > 0 ? latest + l->span + d->at.late : latest;
}

double sked_i_brkga_decoder_cost(sked_i_brkga_decoder *d, const float *key)
{
    return d->space->c != NULL ? cost_alike(d, key) : cost_sequencing(d, key);
}

sked_status sked_i_brkga_decoder_offer(const sked_i_brkga_decoder *d, sked_i_run *run, sked_error *err)
{
    const sked_i_brkga_space *k = d->space;
    sked_schedule *made = NULL;
    sked_schedule s = {
        .ops = k->n, .devices = k->problem->devices, .start = d->at.start, .device = d->at.device};
    sked_status st = SKED_OK;
    if (d->at.late > 0)
        return SKED_OK;
    if (k->c != NULL) {
        SKED_TRY(sked_i_cumulative_schedule(k->c, d->at.core_start, &made, err));
        s = *made;
    }
    if (k->c != NULL ? sked_i_within_horizon(k->problem, s.start)
                     : sked_i_keeps_horizon(k->problem, d->at.latest))
        SKED_TRY(sked_i_run_offer(run, &s, err));
cleanup:
    sked_schedule_destroy(made);
    return st;
}
