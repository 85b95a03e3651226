/* From random keys to schedules. */
#include "method/brkga/brkga.h"

#include "schedule/equal.h"

enum { key_steps = 1 << 20 };

/* ------------------------------------------------------------------ the space of keys */

void sked_i_keyspace_destroy(sked_i_keyspace *k)
{
    if (k == NULL)
        return;
    sked_i_cumulative_destroy(k->c);
    sked_i_sequencing_destroy(k->l);
    free(k->level);
    free(k);
}

static void find_ways(sked_i_keyspace *k)
{
    double longest = 0;
    if (k->l != NULL)
        sked_i_upward_ranks(&k->l->dag, k->l->m > 1 ? (k->l->m - 1.0) / k->l->m : 0, k->level);
    for (int32_t i = 0; i < k->n; i++) {
        if (k->c != NULL)
            k->level[i] = k->c->forward.tail[i];
        longest = fmax(longest, k->level[i]);
    }
    for (int32_t i = 0; i < k->n; i++)
        k->level[i] = longest > 0 ? fmax(0, k->level[i] / longest) : 0;
}

sked_status sked_i_keyspace_create(const sked_problem *p, sked_i_keyspace **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyspace *k = NULL;
    SKED_NEW0(k, 1);
    k->problem = p;
    k->n = p->graph->n_ops;
    if (k->n > (INT32_MAX - 2) / 2) {
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED, "brkga: more than %d ops", (INT32_MAX - 2) / 2);
        goto cleanup;
    }
    if (sked_i_needs_sequencing(p))
        SKED_TRY(sked_i_sequencing_create(p, &k->l, err));
    else
        SKED_TRY(sked_i_cumulative_create(p, &k->c, err));
    k->keys = (k->l ? 2 : 1) * k->n + 2;
    SKED_NEW(k->level, k->n);
    find_ways(k);
    *out = k;
    return SKED_OK;
cleanup:
    sked_i_keyspace_destroy(k);
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

void sked_i_keyspace_express(const sked_i_keyspace *k, const sked_schedule *s, float *key)
{
    double latest = 0;
    for (int32_t i = 0; i < k->n; i++)
        latest = fmax(latest, s->start[i]);
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t op = k->c ? k->c->op[i] : i;
        key[i] = latest > 0 ? (float)(1 - fmin(1, fmax(0, s->start[op]) / (1.001 * latest))) : 1;
        if (k->l != NULL)
            key[k->n + i] = key_of_device(s->device[i], k->l->m);
    }
    key[k->keys - 2] = 0;
    key[k->keys - 1] = 1;
}

void sked_i_keyspace_rule(const sked_i_keyspace *k, int which, float *key)
{
    for (int32_t i = 0; i < k->n; i++) {
        key[i] = 1;
        if (k->l != NULL)
            key[k->n + i] = 0;
    }
    key[k->keys - 2] = ((float)which + 0.5F) / 3;
    key[k->keys - 1] = 0;
}

/* ------------------------------------------------------------------ readers */

void sked_i_reader_close(sked_i_reader *r)
{
    sked_i_justifier_close(&r->justifier);
    sked_i_placer_destroy(r->placer);
    void *const owned[] = {r->rank,   r->wish,  r->core_key, r->core_start,
                           r->sorter, r->start, r->device,   r->label};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

static sked_status open_alike(sked_i_reader *r, const sked_i_limit *limit, sked_error *err)
{
    const sked_i_cumulative *c = r->space->c;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_justifier_open(&r->justifier, c, limit, err));
    SKED_NEW(r->core_key, c->n);
    SKED_NEW(r->core_start, c->n);
    SKED_NEW(r->rank, c->n);
cleanup:
    return st;
}

static sked_status open_lines(sked_i_reader *r, sked_error *err)
{
    const sked_i_sequencing *l = r->space->l;
    sked_status st = SKED_OK;
    SKED_TRY(sked_i_placer_create(&l->dag, &l->pools, l->m, true, &r->placer, err));
    SKED_NEW(r->rank, l->n);
    SKED_NEW(r->wish, l->n);
    SKED_NEW(r->sorter, 2 * (int64_t)l->n);
    SKED_NEW(r->start, l->n);
    SKED_NEW(r->device, l->n);
    SKED_NEW(r->label, l->m);
cleanup:
    return st;
}

sked_status sked_i_reader_open(sked_i_reader *r, const sked_i_keyspace *space, const sked_i_limit *limit,
                               sked_error *err)
{
    *r = (sked_i_reader){.space = space};
    return space->c != NULL ? open_alike(r, limit, err) : open_lines(r, err);
}

static int decoder_of(const sked_i_keyspace *k, float key)
{
    if (k->decoder != SKED_I_DECODE_MIXED)
        return k->decoder;
    return key < 1.0F / 3   ? SKED_I_DECODE_SERIAL
           : key < 2.0F / 3 ? SKED_I_DECODE_PARALLEL
                            : SKED_I_DECODE_INSERTION;
}

/* 0 comes first. By path: a key takes up to half of the op's longest way to the end from it. */
static inline double urgency(const sked_i_keyspace *k, const float *key, int32_t i, bool by_path)
{
    return by_path ? 1 - k->level[i] * (1 + (double)key[i]) / 2 : 1 - (double)key[i];
}

static bool by_path(const sked_i_keyspace *k, const float *key)
{
    return k->weigh == SKED_I_WEIGH_MIXED ? key[k->keys - 1] < 0.5F : k->weigh == SKED_I_WEIGH_PATH;
}

static double cost_alike(sked_i_reader *r, const float *key)
{
    const sked_i_keyspace *k = r->space;
    const bool path = by_path(k, key),
               parallel = k->c->fixed == NULL && decoder_of(k, key[k->keys - 2]) == SKED_I_DECODE_PARALLEL;
    for (int32_t i = 0; i < k->n; i++)
        r->core_key[i] = (int32_t)(urgency(k, key, i, path) * (key_steps - 1));
    sked_i_sgs_sort(r->justifier.forward, r->core_key, false, r->rank);
    int32_t makespan = parallel
                           ? sked_i_sgs_parallel(r->justifier.forward, r->rank, r->core_start)
                           : sked_i_sgs_serial(r->justifier.forward, r->rank, SKED_I_ABORTED, r->core_start);
    r->evaluations++;
    if (makespan == SKED_I_ABORTED)
        return INFINITY;
    r->justifier.evaluations = 0;
    if (k->justify)
        makespan = sked_i_justify(&r->justifier, makespan, r->core_start);
    r->evaluations += r->justifier.evaluations;
    r->late = k->c->fixed != NULL ? (double)r->justifier.forward->late : 0;
    r->hash = sked_i_hash_steps(r->core_start, k->n);
    return sked_i_justifier_cost(&r->justifier, makespan);
}

static void rank_ops(sked_i_reader *r, const float *key)
{
    const sked_i_keyspace *k = r->space;
    const bool path = by_path(k, key);
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t op = k->l->dag.order[i];
        r->sorter[i] = (sked_i_keyed){(uint64_t)(urgency(k, key, op, path) * (key_steps - 1)), op};
    }
    sked_i_sort_keyed(r->sorter, r->sorter + k->n, k->n);
    for (int32_t q = 0; q < k->n; q++)
        r->rank[r->sorter[q].value] = q;
}

/* serial: each op where its key wishes; parallel: through time; insertion: where it finishes first. */
static double cost_lines(sked_i_reader *r, const float *key)
{
    const sked_i_keyspace *k = r->space;
    const sked_i_sequencing *l = k->l;
    const int decoder = decoder_of(k, key[k->keys - 2]);
    const bool stepped = decoder == SKED_I_DECODE_PARALLEL && k->problem->fix_start == NULL;
    const sked_i_place how = {.fix_device = r->wish,
                              .fix_start = k->problem->fix_start,
                              .by_device = true,
                              .insertion = !stepped,
                              .stepped = stepped};
    sked_error err = {0};
    double latest = 0;
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t fixed = k->problem->fix_device ? k->problem->fix_device[i] : -1;
        const int32_t wish = decoder == SKED_I_DECODE_SERIAL ? wish_of(key[k->n + i], l->m) : -1;
        r->wish[i] = fixed >= 0 ? fixed : wish;
    }
    rank_ops(r, key);
    r->evaluations++;
    r->status = sked_i_placer_run(r->placer, r->rank, NULL, &how, r->start, r->device, &r->late, &err);
    if (r->status != SKED_OK)
        return INFINITY;
    for (int32_t i = 0; i < k->n; i++)
        latest = fmax(latest, r->start[i] + l->dag.duration[i]);
    r->hash = sked_i_hash_devices(k->n, r->start, r->device, l->m, r->label);
    return r->late > 0 ? latest + l->span + r->late : latest;
}

double sked_i_reader_cost(sked_i_reader *r, const float *key)
{
    return r->space->c != NULL ? cost_alike(r, key) : cost_lines(r, key);
}

sked_status sked_i_reader_offer(const sked_i_reader *r, sked_i_run *run, sked_error *err)
{
    const sked_i_keyspace *k = r->space;
    sked_schedule *made = NULL;
    sked_schedule s = {.ops = k->n, .devices = k->problem->devices, .start = r->start, .device = r->device};
    sked_status st = SKED_OK;
    if (r->late > 0)
        return SKED_OK;
    if (k->c != NULL) {
        SKED_TRY(sked_i_cumulative_schedule(k->c, r->core_start, &made, err));
        s = *made;
    }
    if (sked_i_within_horizon(k->problem, s.start))
        SKED_TRY(sked_i_run_offer(run, &s, err));
cleanup:
    sked_schedule_destroy(made);
    return st;
}
