/*
 * The rule of list scheduling as a score of (op, device) pairs, for a policy that starts from it: plain
 * arithmetic, compiled for the CPU and for the GPU. Equal devices without transfers. encode-once starts from
 * the same rule, with weights that it learns (once_walk.c).
 */
#ifndef SKED_BACKEND_LIST_RULE_H
#define SKED_BACKEND_LIST_RULE_H

#ifdef __CUDACC__
#define SKED_I_RULE_ANYWHERE __host__ __device__
#else
#define SKED_I_RULE_ANYWHERE
#endif

/* What the pairs of one partial schedule are measured against. */
typedef struct sked_i_rule_frame {
    double least_free; /* over the devices */
    double earliest;   /* start of any pair */
    double top_tail;   /* longest path to the end from a ready op */
    double bound;      /* end that some path reaches already, or that list scheduling reached (1) */
    double per_unit;   /* 1 / mean duration; 0: there is none */
} sked_i_rule_frame;

SKED_I_RULE_ANYWHERE static inline double sked_i_rule_later(double a, double b)
{
    return a > b ? a : b;
}
/* In mean durations, but no more than a dozen: further away is as bad. */
SKED_I_RULE_ANYWHERE static inline double sked_i_rule_units(const sked_i_rule_frame *f, double time)
{
    const double most = 12, units = time * f->per_unit;
    return units < most ? units : most;
}

/* From minima and maxima: latest: of the devices; first_ready: of the data of ready ops; critical: of their
 * earliest ends. */
SKED_I_RULE_ANYWHERE static inline sked_i_rule_frame sked_i_rule_frame_of(double unit, double least_free,
                                                                          double latest, double first_ready,
                                                                          double top_tail, double critical)
{
    sked_i_rule_frame f;
    f.least_free = least_free;
    f.earliest = sked_i_rule_later(first_ready, least_free);
    f.top_tail = top_tail;
    f.bound = sked_i_rule_later(sked_i_rule_later(critical, latest), 1);
    f.per_unit = unit > 0 ? 1 / unit : 0;
    return f;
}

/* Earliest start first, then the longest path to the end, then the device that waits least. */
SKED_I_RULE_ANYWHERE static inline double sked_i_rule_score(const sked_i_rule_frame *f, double data,
                                                            double free_at, double tail)
{
    const double start = sked_i_rule_later(data, free_at), soonest = sked_i_rule_later(data, f->least_free);
    const double gap = sked_i_rule_units(f, f->top_tail - tail);
    const double beyond = sked_i_rule_later(0, start + tail - f->bound);
    return -2 * sked_i_rule_units(f, start - f->earliest) - 0.5 * sked_i_rule_units(f, start - soonest) -
           0.1 * gap - 0.2 * gap / (1 + gap) - 0.2 * sked_i_rule_units(f, start - free_at) -
           0.2 * sked_i_rule_units(f, beyond);
}
#endif
