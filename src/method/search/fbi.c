/* Forward-backward improvement. */
#include "method/search/search.h"

int32_t sked_i_justify(sked_i_worker *w, int32_t makespan, int32_t *start)
{
    const sked_i_core *core = w->forward->core;
    const int32_t n = core->n;
    if (w->forward->fixed != NULL)
        return makespan;
    for (int32_t i = 0; i < n; i++)
        w->key[n - 1 - i] = makespan - start[i] - core->duration[i];
    sked_i_sgs_sort(w->mirror, w->key, w->mirror->core->orderly, w->list);
    const int32_t back = sked_i_sgs_serial(w->mirror, w->list, INT32_MAX, w->start);
    if (back == SKED_I_ABORTED)
        return makespan;
    for (int32_t i = 0; i < n; i++)
        w->key[i] = back - w->start[n - 1 - i] - core->duration[i];
    sked_i_sgs_sort(w->forward, w->key, core->orderly, w->list);
    const int32_t forth = sked_i_sgs_serial(w->forward, w->list, INT32_MAX, w->start);
    w->evaluations += 2;
    if (forth > makespan) /* aborted, or an order without proof (negative lags) that got worse */
        return makespan;
    for (int32_t i = 0; i < n; i++)
        start[i] = w->start[i];
    return forth;
}
