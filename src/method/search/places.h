/* Solutions of crews that choose devices: starts and then devices, [n] each. */
#ifndef SKED_METHOD_SEARCH_PLACES_H
#define SKED_METHOD_SEARCH_PLACES_H
#include "method/crew.h"
#include "schedule/equal.h"

static inline size_t sked_i_places_size(int32_t n)
{
    return (size_t)n * (sizeof(double) + sizeof(int32_t));
}

static inline double *sked_i_places_start(const void *solution)
{
    return (double *)solution;
}

static inline int32_t *sked_i_places_device(const void *solution, int32_t n)
{
    return (int32_t *)(void *)(sked_i_places_start(solution) + n);
}

/* label: [devices] scratch. */
static inline uint64_t sked_i_places_hash(const void *solution, int32_t n, int32_t devices, int32_t *label)
{
    return sked_i_schedule_hash_devices(n, sked_i_places_start(solution), sked_i_places_device(solution, n),
                                        devices, label);
}

SKED_MUST_CHECK static inline sked_status sked_i_places_offer(sked_i_run *run, const void *solution,
                                                              sked_error *err)
{
    const int32_t n = run->problem->graph->n_ops;
    const sked_schedule s = {.ops = n,
                             .devices = run->problem->devices,
                             .start = sked_i_places_start(solution),
                             .device = run->problem->devices > 0 ? sked_i_places_device(solution, n) : NULL};
    return sked_i_run_offer(run, &s, err);
}
#endif
