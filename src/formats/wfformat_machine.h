/* The machines of a WfFormat file: nodes with cores, a clock and memory. docs/formats/wfformat.md. */
#ifndef SKED_FORMATS_WFFORMAT_MACHINE_H
#define SKED_FORMATS_WFFORMAT_MACHINE_H
#include "formats/json.h"

typedef struct sked_i_wfnode {
    double cores, memory; /* 1 and INFINITY where not given */
    double clock;         /* MHz; NAN: not given */
} sked_i_wfnode;

typedef struct sked_i_wfnodes {
    sked_i_names names;
    sked_i_wfnode *node; /* [names.count] */
    int64_t cap;
} sked_i_wfnodes;

/* Reads the list at `place` (NULL: none); failures are j's. Free in any case. */
void sked_i_wfnodes_read(sked_i_json *j, const char *place, sked_i_wfnodes *nodes);
void sked_i_wfnodes_free(sked_i_wfnodes *nodes);
/* Do two nodes state different clocks? O(nodes). */
bool sked_i_wfnodes_differ(const sked_i_wfnodes *nodes);
/* A device per core; speeds are relative to the first node that states a clock. */
SKED_MUST_CHECK sked_status sked_i_wfnodes_machine(const sked_i_source *source, const sked_i_wfnodes *nodes,
                                                   const char *name, sked_machine **out, sked_error *err);
#endif
