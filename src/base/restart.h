/*
 * Lengths of the runs between restarts, 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: within a constant factor and a
 * logarithm of the best fixed length, whatever that is (Luby, Sinclair, Zuckerman 1993).
 */
#ifndef SKED_BASE_RESTART_H
#define SKED_BASE_RESTART_H
#include <stdint.h>

/* Element k >= 0 of the sequence. O(log k). */
int64_t sked_i_luby(int64_t k);
#endif
