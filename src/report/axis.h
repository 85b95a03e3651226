/*
 * The axis of every picture, in reports and in what programs draw: a range, where values stand on it, and
 * round ticks. Whatever the values, pixels are finite and ticks are counted. Programs include this header as
 * well (tests/layers.py); it includes nothing of the library.
 */
#ifndef SKED_REPORT_AXIS_H
#define SKED_REPORT_AXIS_H
#include <math.h>
#include <stdbool.h>

typedef struct sked_i_axis {
    double from, to;  /* values */
    double low, high; /* their pixels */
    bool logarithmic; /* values are above 0 */
    bool whole;       /* ticks stand at whole numbers only */
} sked_i_axis;

/* An axis without values. */
static const sked_i_axis sked_i_axis_empty = {.from = INFINITY, .to = -INFINITY};
/* Its range takes in a value; NAN and infinity change nothing. */
void sked_i_axis_add(sked_i_axis *a, double value);
/* After all values: room at both ends, this share of the range. Values too close to be told apart get a range
 * of their own. */
void sked_i_axis_settle(sked_i_axis *a, double room);
/* The pixel of a value; what lies beyond the range stands at its end. */
double sked_i_axis_at(const sked_i_axis *a, double value);

enum { SKED_I_MOST_TICKS = 40 };
typedef struct sked_i_tick {
    double at; /* pixel */
    char label[40];
} sked_i_tick;
/* Steps of 1, 2 or 5 times a power of ten, as small as `most` of them in the range allow (2 or more); powers
 * of ten on a logarithmic axis that has two of them. Returns the number of ticks. */
int sked_i_axis_ticks(const sked_i_axis *a, int most, sked_i_tick tick[SKED_I_MOST_TICKS]);
#endif
