/* A target: one file here, one line in table.h. target.c parses specs and replays schedules. */
#ifndef SKED_TARGET_TARGET_H
#define SKED_TARGET_TARGET_H
#include "base/memory.h"
#include "base/option.h"
#include "base/rng.h"
#include "schedule/schedule.h"

enum { SKED_I_TARGET_OPTIONS = 16 };

struct sked_target {
    const struct sked_i_target *target;
    sked_problem asked;   /* as the user gave it */
    sked_problem problem; /* what the target really runs: its own graph, latency, bandwidth */
    sked_graph *graph;    /* owned; NULL: the problem's own */
    sked_graph *plain;    /* owned: of a machine in its short form; NULL: the problem's own */
    sked_simulator *simulator;
    double work;
    double setting[SKED_I_TARGET_OPTIONS];
    char *argument;                    /* of command: what stands behind the colon */
    int32_t *order;                    /* [ops] work space */
    double *start;                     /* [ops] */
    const volatile sig_atomic_t *stop; /* ends a measurement that is under way; NULL: none */
};

typedef struct sked_i_target {
    sked_target_info info;
    bool free_text; /* what stands behind the colon is no option list */
    /* Fills t->graph and t->problem (latency, bandwidth, graph); settings are parsed. NULL: nothing to do. */
    sked_status (*open)(sked_target *t, uint64_t seed, sked_error *err);
    /* NULL: replay the schedule on t->problem. */
    sked_status (*measure)(sked_target *t, const sked_schedule *s, double *time, sked_error *err);
} sked_i_target;

/* From now on a stop ends measurements of t: STOPPED. stop must stay. */
void sked_i_target_listen(sked_target *t, const volatile sig_atomic_t *stop);
#endif
