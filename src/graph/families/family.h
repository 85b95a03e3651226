/* Declares what families/table.h lists. */
#ifndef SKED_GRAPH_FAMILIES_FAMILY_H
#define SKED_GRAPH_FAMILIES_FAMILY_H
#include "graph/generate.h"

#define SKED_FAMILY(name) extern const sked_i_family sked_i_family_##name;
#include "graph/families/table.h"
#undef SKED_FAMILY

#define COUNT_OF(a) ((int)(sizeof(a) / sizeof *(a)))
#endif
