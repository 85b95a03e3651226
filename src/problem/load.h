/*
 * Work on devices of several kinds, divided as if ops could be cut: least T with x >= 0, sum over kinds of
 * x[op][kind] = 1, sum over ops of time * x <= T * devices of the kind. Any prices of the kinds prove
 * T >= (sum over ops of the least price * time) / (sum of price * devices): the dual of that linear program.
 */
#ifndef SKED_PROBLEM_LOAD_H
#define SKED_PROBLEM_LOAD_H
#include <stdint.h>

typedef struct sked_i_load {
    int64_t rows; /* ops, or sums of ops whose times have the same proportions */
    int32_t kinds;
    const double *time;  /* [rows * kinds] INFINITY: not there, but somewhere */
    const double *count; /* [kinds] devices, above 0 */
} sked_i_load;

/*
 * Improves the prices by `steps` multiplicative steps (Plotkin, Shmoys, Tardos 1995) and returns the best
 * bound met. price: [kinds] gets the best one, its largest entry 1. scratch: [2 * kinds]. O(steps * rows *
 * kinds), and the same for the same input on every machine.
 */
double sked_i_load_bound(const sked_i_load *l, int32_t steps, double *price, double *scratch);
#endif
