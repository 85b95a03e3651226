/*
 * The (op, device) pairs among which one step chooses, and the rule of list scheduling on them. All ready ops
 * and all devices, up to a bound: above it those that list scheduling would take first, so that a step costs
 * the same whatever the size of the graph.
 */
#ifndef SKED_ENGINE_ENVIRONMENT_CHOICES_H
#define SKED_ENGINE_ENVIRONMENT_CHOICES_H
#include "engine/environment/partial.h"

/* Pair i * n_columns + d is op row[i] on column[d]. */
typedef struct sked_i_choices {
    sked_i_arena arena;
    int32_t index[SKED_I_CHOICE_OPS]; /* in the ready ops of the partial schedule, ascending */
    int32_t row[SKED_I_CHOICE_OPS];   /* the ops themselves */
    int32_t *column; /* [n_columns] used ones as they were opened, then an empty one of each kind */
    int32_t *count;  /* [n_columns] devices it stands for */
    int32_t n_ops, n_columns;
    double least_free, most_free; /* over the columns */
    double first_ready, top_tail; /* over all ready ops: earliest data, longest path to the end */
    double critical;              /* the same: latest end of a path that starts as early as it can */
} sked_i_choices;

SKED_MUST_CHECK sked_status sked_i_choices_init(sked_i_choices *c, const sked_i_instance *x, sked_error *err);
void sked_i_choices_clear(sked_i_choices *c);
/* O(ready ops * log SKED_I_CHOICE_OPS + used devices + kinds). */
void sked_i_choices_fill(sked_i_choices *c, const sked_i_partial *p);
/*
 * List scheduling by p->noise. Equal devices without transfers: the pair of earliest start, then of largest
 * noise. Else the largest noise less what it is delayed there, against a mean duration right away (dynamic
 * levels). Of equals the first. No more than `most` devices are opened where those can run some op.
 */
int32_t sked_i_choices_list(const sked_i_choices *c, const sked_i_partial *p, int32_t most);
/*
 * Makespan of list scheduling by bottom level; with transfers or heterogeneous devices the best over m, m /
 * 2, ..., 1 devices. For an instance in any unit of time whose masks and features may be missing.
 */
SKED_MUST_CHECK sked_status sked_i_choices_list_makespan(const sked_i_instance *x, double *out,
                                                         sked_error *err);
#endif
