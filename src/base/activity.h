/*
 * Which variable to decide next: the one that took part in conflicts most, recent ones counting more
 * (VSIDS; Moskewicz et al. 2001). Open variables lie in a binary heap by activity; equal ones by number, so
 * that the order never depends on how the heap came about.
 */
#ifndef SKED_BASE_ACTIVITY_H
#define SKED_BASE_ACTIVITY_H
#include <stdbool.h>
#include <stdint.h>

typedef struct sked_i_activity {
    int32_t n, count;
    double bump;   /* what a bump adds now */
    double *score; /* [n] may be set before the first insert */
    int32_t *heap; /* [count] variables, the most active first */
    int32_t *at;   /* [n] place in the heap, -1: not in it */
} sked_i_activity;

/* n variables of activity 0, none in the heap. False: no memory (destroy is fine then). */
bool sked_i_activity_create(sked_i_activity *a, int32_t n);
void sked_i_activity_destroy(sked_i_activity *a);

/* O(log n). bump raises the activity by what decay makes grow; all are scaled down before they overflow. */
void sked_i_activity_push(sked_i_activity *a, int32_t var); /* var is not in the heap */
void sked_i_activity_bump(sked_i_activity *a, int32_t var);
/* Takes the most active variable out of the heap, which must not be empty. O(log n). */
int32_t sked_i_activity_pop(sked_i_activity *a);
/* True where the heap is one; for assertions at rare moments and for tests. O(n). */
bool sked_i_activity_ordered(const sked_i_activity *a);

/* Puts a variable into the heap unless it is there. */
static inline void sked_i_activity_insert(sked_i_activity *a, int32_t var)
{
    if (a->at[var] < 0)
        sked_i_activity_push(a, var);
}

/* Makes all later bumps larger: earlier ones count for less. */
static inline void sked_i_activity_decay(sked_i_activity *a, double factor)
{
    a->bump /= factor;
}
#endif
