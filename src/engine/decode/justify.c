#include "engine/decode/justify.h"

#include <assert.h>

sked_status sked_i_justifier_open(sked_i_justifier *j, const sked_i_cumulative *c, const sked_i_limit *limit,
                                  sked_error *err)
{
    sked_status st = SKED_OK;
    *j = (sked_i_justifier){0};
    SKED_TRY(sked_i_sgs_create(&c->forward, limit, c->fixed, &j->forward, err));
    SKED_TRY(sked_i_sgs_create(&c->mirror, limit, NULL, &j->mirror, err));
    SKED_OWN(&j->arena, j->list, c->n);
    SKED_OWN(&j->arena, j->start, c->n);
    SKED_OWN(&j->arena, j->key, c->n);
cleanup:
    return st;
}

void sked_i_justifier_close(sked_i_justifier *j)
{
    sked_i_sgs_destroy(j->forward);
    sked_i_sgs_destroy(j->mirror);
    sked_i_arena_free(&j->arena);
    *j = (sked_i_justifier){0};
}

int32_t sked_i_justify(sked_i_justifier *j, int32_t makespan, int32_t *start)
{
    const sked_i_core *core = j->forward->core;
    const int32_t n = core->n;
    assert(makespan != SKED_I_ABORTED);
    if (j->forward->fixed != NULL)
        return makespan;
    for (int32_t i = 0; i < n; i++)
        j->key[n - 1 - i] = makespan - start[i] - core->duration[i];
    sked_i_sgs_sort(j->mirror, j->key, j->mirror->core->orderly, j->list);
    const int32_t back = sked_i_sgs_serial(j->mirror, j->list, INT32_MAX, j->start);
    if (back == SKED_I_ABORTED)
        return makespan;
    for (int32_t i = 0; i < n; i++)
        j->key[i] = back - j->start[n - 1 - i] - core->duration[i];
    sked_i_sgs_sort(j->forward, j->key, core->orderly, j->list);
    const int32_t forth = sked_i_sgs_serial(j->forward, j->list, INT32_MAX, j->start);
    j->evaluations += 2;
    if (forth > makespan) /* aborted, or an order without proof (negative lags) that got worse */
        return makespan;
    for (int32_t i = 0; i < n; i++)
        start[i] = j->start[i];
    return forth;
}

int32_t sked_i_justifier_cost(const sked_i_justifier *j, int32_t makespan)
{
    if (j->forward->fixed == NULL || j->forward->late == 0)
        return makespan;
    const int64_t cost = j->forward->steps + makespan + j->forward->late;
    return cost < INT32_MAX - 1 ? (int32_t)cost : INT32_MAX - 1;
}
