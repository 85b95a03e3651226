/*
 * The numbers that ops and edges carry. A line of these lists is all that the builder, the graph and its
 * copies, equality, every format that carries attributes, and Python need (sked_attribute_at). Attributes of
 * another shape (durations by device, demands) have code of their own.
 *
 * X(name, kind, preset, column, meaning)
 *   name    in files, at most 15 characters; the graph's column, for edges with edge_ before it
 *   kind    of sked_attribute_kind: what values it takes, and the C type of its column
 *   preset  what an op or edge has that says nothing; NAN: the meaning says
 *   column  ALWAYS: a graph has it. USED: only where a value differs from the preset, else it is NULL
 */
#ifndef SKED_GRAPH_ATTRIBUTES_H
#define SKED_GRAPH_ATTRIBUTES_H
#include "base/status.h"

#include <math.h>

#ifndef SKED_I_MORE_OP_ATTRIBUTES /* tests/test_attributes.c has some of its own */
#define SKED_I_MORE_OP_ATTRIBUTES(X)
#define SKED_I_MORE_EDGE_ATTRIBUTES(X)
#endif

#define SKED_I_OP_ATTRIBUTES(X)                                                                \
    X(duration, AMOUNT, 1, ALWAYS, "time that the op takes")                                   \
    X(memory, AMOUNT, 0, ALWAYS, "size of the value that it makes")                            \
    X(weight, AMOUNT, 1, ALWAYS, "weight of its load in the objective resource")               \
    X(keep, FLAG, 0, USED, "its value stays in memory to the end")                             \
    X(delay_in, AMOUNT, 0, USED, "time from its inputs to its first register, or through it")  \
    X(delay_out, AMOUNT, 0, USED, "time from its last register to its outputs, or through it") \
    X(output, FLAG, 0, USED, "its value is a result of the graph")                             \
    X(output_not, FLAG, 0, USED, "the inverse of its value is a result of the graph")          \
    SKED_I_MORE_OP_ATTRIBUTES(X)

#define SKED_I_EDGE_ATTRIBUTES(X)                                                           \
    X(lag, REAL, NAN, ALWAYS, "start to start; by default the duration of the first op")    \
    X(bytes, AMOUNT, 0, ALWAYS, "amount that passes")                                       \
    X(distance, COUNT, 0, ALWAYS, "iterations that it crosses")                             \
    X(order, FLAG, 0, USED, "it orders its ops and passes no value")                        \
    X(operand, COUNT, 0, USED, "operands of an op stand by this number, then by their ops") \
    X(inplace, FLAG, 0, USED, "its second op may write its result over the value")          \
    SKED_I_MORE_EDGE_ATTRIBUTES(X)

#define SKED_I_TYPE_AMOUNT double
#define SKED_I_TYPE_REAL   double
#define SKED_I_TYPE_COUNT  int32_t
#define SKED_I_TYPE_FLAG   uint8_t

enum {
#define SKED_X(name, kind, preset, column, meaning) sked_i_op_##name,
    SKED_I_OP_ATTRIBUTES(SKED_X)
#undef SKED_X
        sked_i_op_attributes, /* how many there are */
};
enum {
#define SKED_X(name, kind, preset, column, meaning) sked_i_edge_##name,
    SKED_I_EDGE_ATTRIBUTES(SKED_X)
#undef SKED_X
        sked_i_edge_attributes,
};

enum { sked_i_attribute_longest = 15 }; /* characters of a name */

typedef struct sked_i_attribute {
    sked_attribute_info info;
    size_t column;  /* offset of the column's pointer in a graph */
    size_t size;    /* of its elements */
    bool when_used; /* the column may be NULL: all are the preset */
} sked_i_attribute;
/* By the numbers above. */
extern const sked_i_attribute sked_i_op_table[sked_i_op_attributes],
    sked_i_edge_table[sked_i_edge_attributes];

/* The column of an attribute in a graph. */
static inline void **sked_i_column(const sked_graph *g, const sked_i_attribute *a)
{
    return (void **)((char *)(uintptr_t)g + a->column);
}
/* Element i of a column; the preset where that is NULL. */
double sked_i_attribute_at(const void *column, const sked_i_attribute *a, int64_t i);
/* What the graph says of op or edge i: the preset where it says nothing, so NAN for a lag that follows. */
double sked_i_attribute_get(const sked_graph *g, const sked_i_attribute *a, int64_t i);
/* The same for all attributes of an op or edge; bit k: number k is worth a word, for it is not the preset. */
uint32_t sked_i_op_said(const sked_graph *g, int32_t op, double *value);
uint32_t sked_i_edge_said(const sked_graph *g, int64_t e, double *value);
bool sked_i_attribute_same(double x, double y); /* NAN is NAN */
/* Is x a value of that kind? *rule, which may be NULL: what one must be. */
bool sked_i_attribute_fits(const sked_i_attribute *a, double x, const char **rule);
/* Writes x, which fits, into a column. */
void sked_i_attribute_put(void *column, const sked_i_attribute *a, int64_t i, double x);
/* The number of the attribute of that name, or -1. */
int sked_i_attribute_number(const sked_i_attribute *table, int count, const char *name, size_t size);

/* As sked_builder_set_attribute. */
SKED_MUST_CHECK sked_status sked_i_builder_set(sked_builder *b, const sked_i_attribute *a, int64_t i,
                                               double x, sked_error *err);
/* value[sked_i_op_attributes] of an op that has been added, all but its duration. */
SKED_MUST_CHECK sked_status sked_i_builder_set_values(sked_builder *b, int32_t op, const double *value,
                                                      sked_error *err);
/* Adds an edge with value[sked_i_edge_attributes]. */
SKED_MUST_CHECK sked_status sked_i_builder_add_edge(sked_builder *b, int32_t from, int32_t to,
                                                    const double *value, sked_error *err);
/* What says nothing has. */
void sked_i_op_presets(double *value);
void sked_i_edge_presets(double *value);
#endif
