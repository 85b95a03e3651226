/* Which problem is this? */
#ifndef SKED_SCHEDULE_FINGERPRINT_H
#define SKED_SCHEDULE_FINGERPRINT_H
#include "sked/sked.h"

/*
 * Equal for equal problems, on every machine and rank. It covers every field but the names of graph and
 * machine, which are those of files: a field that it leaves out is one by which one problem passes for
 * another. O(ops + edges + devices + kinds of links squared).
 */
uint64_t sked_i_fingerprint_problem(const sked_problem *p);
#endif
