/*
 * Work on heterogeneous devices as a propagator: for any prices of devices, ops that must run within [a, b)
 * cost at least the sum of their cheapest (price times time), and the devices offer no more than the sum of
 * prices times b - a. The price of one device alone gives the plain overload check of that device.
 */
#ifndef SKED_ENGINE_CLAUSE_WORK_H
#define SKED_ENGINE_CLAUSE_WORK_H
#include "engine/clause/clause.h"

enum { sked_i_clause_most_price = 1 << 12 };

/* Per op and device: [ops * devices], row by row. Op i is variable i. */
typedef struct sked_i_clause_work_model {
    int32_t ops, devices;
    const int32_t *x;     /* 0/1 variable: runs there; -1: never */
    const int32_t *head;  /* variable: no earlier start than this should it run there */
    const int32_t *last;  /* variable: no later start */
    const int32_t *time;  /* where x >= 0 */
    const int32_t *price; /* [prices * devices] from 0 to sked_i_clause_most_price */
    int32_t prices;
} sked_i_clause_work_model;

/* Everything is copied. false: no memory (s->failed). */
bool sked_i_clause_add_work(sked_i_clause_solver *s, const sked_i_clause_work_model *model);
#endif
