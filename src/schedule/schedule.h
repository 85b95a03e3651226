/*
 * What the parts of src/schedule offer to methods. validate.c includes none of this: it is written from
 * the definition in docs and the graph's columns alone.
 */
#ifndef SKED_SCHEDULE_SCHEDULE_H
#define SKED_SCHEDULE_SCHEDULE_H
#include "base/sort.h"
#include "problem/kinds.h"

/* INVALID: a schedule that the problem's arrays cannot be asked about; it may break any rule. O(ops). */
SKED_MUST_CHECK sked_status sked_i_schedule_check(const sked_problem *p, const sked_schedule *s,
                                                  sked_error *err);
/* Gives it room for phases, all 0, where it has none. */
SKED_MUST_CHECK sked_status sked_i_schedule_add_phases(sked_schedule *s, sked_error *err);
/* Units and registers, src/schedule/units.c. Drops those it has. */
void sked_i_schedule_unbind(sked_schedule *s);
/* Copies those of `from`, where it has any, to a schedule of the same graph that has none. */
SKED_MUST_CHECK sked_status sked_i_schedule_copy_units(const sked_schedule *from, sked_schedule *to,
                                                       sked_error *err);
/*
 * Addresses, src/schedule/addresses.c: room for those of all values and of so many copies, in place of those
 * it has. Values have none, arenas are empty. O(ops + copies + devices).
 */
SKED_MUST_CHECK sked_status sked_i_schedule_add_addresses(sked_schedule *s, int64_t copies, sked_error *err);
void sked_i_schedule_drop_addresses(sked_schedule *s);
/* Those of `from`, where it has any, in place of those of a schedule of the same graph and machine. */
SKED_MUST_CHECK sked_status sked_i_schedule_copy_addresses(const sked_schedule *from, sked_schedule *to,
                                                           sked_error *err);
/* Size of a value where it has an address: a whole number. What is beyond 2^53 the validator refuses. */
static inline int64_t sked_i_address_size(const sked_graph *g, int32_t op)
{
    return (int64_t)fmin(ceil(g->memory[op]), 0x1p53);
}
/* An address there, -1: none; the arena of the device reaches beyond it. */
static inline void sked_i_schedule_reach(sked_schedule *s, const sked_graph *g, int32_t op, int32_t device,
                                         int64_t address)
{
    const int64_t end = address + sked_i_address_size(g, op);
    if (address >= 0 && end > s->arena[device])
        s->arena[device] = end;
}
/* Sum of the devices' arenas; 0 without addresses. O(devices). */
double sked_i_schedule_arena(const sked_schedule *s);
/* Latest finish. O(ops). */
static inline double sked_i_schedule_makespan(const sked_graph *g, const sked_schedule *s)
{
    return sked_i_critical_path(g, s->start);
}

/*
 * Ops by start; equal starts (zero durations) in the graph's topological order, so that no cycle arises: as
 * targets run them. item, spare: [ops] work space. O(ops).
 */
void sked_i_schedule_sort(const sked_graph *g, const double *start, sked_i_keyed *item, sked_i_keyed *spare,
                          int32_t *order);
/* The same with work space of its own. */
SKED_MUST_CHECK sked_status sked_i_schedule_order(const sked_graph *g, const double *start, int32_t *order,
                                                  sked_error *err);

/*
 * Devices of ops for starts that never need more than `devices` of them at once: in the order of the starts
 * the one that was freed last, so that few are used and a chain stays where it is; of those that were never
 * used the lowest. Ops without duration occupy none and stand on the one that would be next. O(ops log ops).
 */
SKED_MUST_CHECK sked_status sked_i_schedule_assign(int32_t n, const double *duration, const int32_t *topo,
                                                   int32_t devices, const double *start, int32_t *device,
                                                   sked_error *err);

/* Numbers devices by their least op, so that schedules which differ in the names only are equal. */
static inline void sked_i_schedule_name_devices(sked_schedule *s, int32_t *name)
{
    sked_i_number_by_first(s->device, s->ops, name);
}
/*
 * Gives ops other devices where that costs nothing, so that less data moves between devices (local.c): every
 * start stays. Devices are numbered by their least op afterwards. Leaves pipelined schedules, fixed devices,
 * heterogeneous devices, problems with transfer cost and those with memory limits that can bind as they are.
 * *delayed (may be NULL): the makespan in the same order where a transfer takes a mean duration, and as much
 * again for the bytes of a mean edge; to compare schedules by. 0 where it did nothing.
 * O(ops + edges).
 */
SKED_MUST_CHECK sked_status sked_i_schedule_localise(const sked_problem *p, sked_schedule *s, double *delayed,
                                                     sked_error *err);
/*
 * c: the costs of p. Value and makespan as sked_schedule_measure finds them, and nothing else: for the
 * makespan no profile is built. O(ops) for the makespan.
 */
SKED_MUST_CHECK sked_status sked_i_schedule_value(const sked_problem *p, const sked_i_costs *c,
                                                  const sked_schedule *s, double *value, double *makespan,
                                                  sked_error *err);
/* Is s at least min_distance (GED, percent) from each of `others`? O(count * ops). */
SKED_MUST_CHECK sked_status sked_i_schedule_apart(const sked_problem *p, const sked_i_costs *c,
                                                  const sked_schedule *s, sked_schedule *const *others,
                                                  int32_t count, double min_distance, bool *apart,
                                                  sked_error *err);
#endif
