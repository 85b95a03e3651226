/* Machines at random: what a sampler is trained for, and what it draws for where the machine is not known. */
#ifndef SKED_ENGINE_ENVIRONMENT_MACHINES_H
#define SKED_ENGINE_ENVIRONMENT_MACHINES_H
#include "base/rng.h"
#include "engine/environment/platform.h"

typedef struct sked_i_machine_law {
    int32_t least_devices, most_devices;
    double transfers; /* longest mean transfer of an edge, in mean durations; 0: none */
    double unequal;   /* share of machines with heterogeneous devices */
} sked_i_machine_law;

/*
 * Three of four machines have transfers, log-uniform from 1/16 mean durations up. Edges get bytes, one size
 * for each producer, where the graph has none. Heterogeneous devices: two to four kinds that differ in speed,
 * by op as well, and sometimes in the ops they can run. Clear in any case.
 */
SKED_MUST_CHECK sked_status sked_i_law_draw_machine(const sked_i_machine_law *law, const sked_graph *g,
                                                    sked_i_rng *rng, sked_i_platform *out, sked_error *err);
/*
 * Links over which the transfer of an edge takes `transfer` mean durations on average, some of that at random
 * latency and the rest by its bytes, where there are any.
 */
void sked_i_law_draw_links(sked_i_platform *p, int64_t edges, double transfer, sked_i_rng *rng);
#endif
