/*
 * A schedule prepared for drawing: rows and bars, colours, slack and the critical chain. Every picture
 * reads it; none computes these again.
 *
 * Rows. With devices: one row per device. Without: one group of rows per resource, its ops packed into as
 * few rows as the sweep needs, and a last group of packed rows for ops that hold nothing. An op with
 * demands on several resources has one bar in each group. Pipelined schedules are packed modulo II, so
 * that the bars of all iterations fit the same rows.
 */
#ifndef SKED_REPORT_VIEW_H
#define SKED_REPORT_VIEW_H
#include "base/arena.h"
#include "problem/costs.h"
#include "schedule/schedule.h"

enum {
    SKED_I_COLORS = 9,      /* eight types, the last is for all others */
    SKED_I_MAX_COPIES = 4,  /* further iterations shown of a pipelined schedule */
    SKED_I_FREE_ROWS = -1,  /* sked_i_view_group.resource: ops that hold nothing */
    SKED_I_DEVICE_ROWS = -2 /* one row per device */
};

typedef struct sked_i_view_group {
    int32_t resource; /* or SKED_I_FREE_ROWS, SKED_I_DEVICE_ROWS */
    int32_t first_row, n_rows;
} sked_i_view_group;

typedef struct sked_i_bar {
    double start, finish;
    double demand; /* of the group's resource; 1 elsewhere */
    int32_t op, row;
    int32_t lanes; /* > 1: longer than II, iteration k is in row + k mod lanes */
} sked_i_bar;

/* What made an op of the critical chain wait for the one before it. */
typedef enum sked_i_chain_link {
    SKED_I_LINK_NONE, /* first of the chain */
    SKED_I_LINK_EDGE,
    SKED_I_LINK_DEVICE,
    SKED_I_LINK_RESOURCE
} sked_i_chain_link;

typedef struct sked_i_chain_op {
    int32_t op;
    sked_i_chain_link link; /* to the previous op of the chain */
    int64_t edge;           /* of SKED_I_LINK_EDGE, else -1 */
} sked_i_chain_op;

typedef struct sked_i_legend_entry {
    const char *name; /* type; "other", "untyped" or "op" */
    int32_t ops;
    int color;
} sked_i_legend_entry;

typedef struct sked_i_view {
    sked_i_arena arena;
    const sked_report_data *data;
    const sked_graph *graph;
    sked_graph
        *timed; /* heterogeneous devices: the graph with the times of this schedule; NULL: the problem's */
    const sked_problem *problem;
    sked_i_costs costs; /* of it */
    const sked_schedule *schedule;
    double makespan;
    double tolerance; /* two times this close are equal: 0 where all times are integers */
    int32_t copies;   /* iterations shown after the first; 0: not pipelined */
    double last;      /* where the last bar ends */
    bool in_cycles;   /* a clock at interval 1: one iteration, ops where they stand in their cycle */

    sked_i_view_group *group;
    int32_t n_groups, n_rows;
    int32_t *row_group;  /* [n_rows] */
    int32_t *row_device; /* [n_rows] with devices: the device of a row; idle ones among very many have none */
    sked_i_bar *bar;     /* by row, then start */
    int64_t n_bars;
    int64_t *row_ptr; /* [n_rows + 1] into bar */
    int64_t *op_bar;  /* [n_ops] one bar of each op */

    uint8_t *color; /* [n_ops] 0 .. SKED_I_COLORS - 1 */
    sked_i_legend_entry legend[SKED_I_COLORS];
    int n_legend;

    double *slack;          /* [n_ops], see sked_i_view_slack */
    sked_i_chain_op *chain; /* in time order; ends with an op that finishes last */
    int32_t n_chain;
    uint8_t *critical; /* [n_ops] 1: on the chain */
} sked_i_view;

/* O((ops + edges + demands) log ops). The view borrows data; end it with sked_i_view_free. */
SKED_MUST_CHECK sked_status sked_i_view_init(sked_i_view *v, const sked_report_data *data, sked_error *err);
void sked_i_view_free(sked_i_view *v);

/* "device 3", or the name it has in the machine, cut to 40 characters. Returns buf. */
const char *sked_i_view_device_name(const sked_i_view *v, int32_t device, char *buf, size_t size);
/* The machine's name; "" where it has none. */
static inline const char *sked_i_view_machine_name(const sked_i_view *v)
{
    return v->problem->machine != NULL ? sked_machine_name(v->problem->machine) : "";
}
/* That, "mul 2/4" or "free 1", at most 40 characters of a resource's name. Returns buf. */
const char *sked_i_view_row_name(const sked_i_view *v, int32_t row, char *buf, size_t size);
/* "devices", the resource's name, "no resource", or "lane" where the graph has no resources at all. */
const char *sked_i_view_group_name(const sked_i_view *v, const sked_i_view_group *group);
/* Devices and pools with a limit: the order in their rows binds, and unused time there is idle. */
static inline bool sked_i_view_limited(const sked_i_view *v, const sked_i_view_group *group)
{
    return group->resource == SKED_I_DEVICE_ROWS ||
           (group->resource >= 0 && sked_i_capacity(v->problem, group->resource) < INFINITY);
}
/* The row of bar b in iteration k. */
static inline int32_t sked_i_bar_row(const sked_i_bar *b, int32_t iteration)
{
    return b->row + iteration % b->lanes;
}
/* From when to when an op is drawn. */
void sked_i_view_drawn(const sked_i_view *v, int32_t op, double *begin, double *end);
static inline double sked_i_view_finish(const sked_i_view *v, int32_t op)
{
    return v->schedule->start[op] + v->graph->duration[op];
}
/* Last moment drawn: the makespan and the copies after it. At least 1 for an empty schedule. */
double sked_i_view_end(const sked_i_view *v);

/* Parts of init, each in a file of its own. */
SKED_MUST_CHECK sked_status sked_i_view_rows(sked_i_view *v, sked_error *err);   /* rows.c */
SKED_MUST_CHECK sked_status sked_i_view_colors(sked_i_view *v, sked_error *err); /* palette.c */
/*
 * slack[i]: how much later i could start, everything after it moving along, without a later makespan;
 * the edges of this iteration and the order in every row that stands for a device or for a resource with a
 * limit are kept (critical.c).
 */
SKED_MUST_CHECK sked_status sked_i_view_slack(sked_i_view *v, sked_error *err);
/*
 * The chain of ops that explains the makespan, from the op that finishes last backwards (critical.c). It
 * ends at an op that waited for nothing. Pipelined: an op that waited for a slot of the interval is linked
 * to its latest predecessor.
 */
SKED_MUST_CHECK sked_status sked_i_view_chain(sked_i_view *v, sked_error *err);
#endif
