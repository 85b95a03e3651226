/*
 * Energetic reasoning: how much work certainly falls into an interval, whatever the schedule. An item runs
 * for `length` from a start in [early, late] and holds `amount`; of it at least
 * min(length, t2 - t1, early + length - t1, t2 - late) lies in [t1, t2).
 */
#ifndef SKED_PROBLEM_ENERGY_H
#define SKED_PROBLEM_ENERGY_H
#include "base/sort.h"
#include "graph/graph.h"

typedef struct sked_i_energy_item {
    double early, late, length, amount; /* early <= late, length and amount > 0 */
} sked_i_energy_item;

typedef struct sked_i_energy {
    sked_i_arena arena;
    int32_t n;
    sked_i_energy_item *item;
    int32_t *by[4]; /* orders that the sweeps merge: by late start, late end, early + late end, early end */
    double *begin;  /* left ends that are tried, ascending */
    int32_t n_begins;
    double *step_time, *step_room; /* [2 n] room for work over time, see sked_i_energy_overfull */
    sked_i_keyed *event, *spare;   /* [2 n] for sorting */
} sked_i_energy;

/* Takes a copy of the items. budget: about this many steps a question may take; at least a few sweeps. */
SKED_MUST_CHECK sked_status sked_i_energy_init(sked_i_energy *e, const sked_i_energy_item *items, int32_t n,
                                               double budget, sked_error *err);
void sked_i_energy_free(sked_i_energy *e);
/* max over intervals of work / length: no schedule has a lower peak. */
double sked_i_energy_peak(const sked_i_energy *e);
/* max over intervals of work / capacity - length (0 if never positive): how much longer it must be. */
double sked_i_energy_excess(const sked_i_energy *e, double capacity);
/*
 * With all late starts moved by `shift`: does some interval need more than it has room for? Room at a time is
 * the capacity, or what all items that can run then hold together where that is less. Overfull means that no
 * schedule exists.
 */
bool sked_i_energy_overfull(sked_i_energy *e, double capacity, double shift);

/* Sorts numbers, drops repetitions and returns how many are left. */
int32_t sked_i_distinct(double *x, int32_t n);
#endif
