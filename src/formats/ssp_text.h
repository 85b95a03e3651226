/*
 * The text of a file of static scheduling problems: its instances, operations and types as they stand there.
 * A file is read whole, since types may stand behind their users.
 */
#ifndef SKED_FORMATS_SSP_TEXT_H
#define SKED_FORMATS_SSP_TEXT_H
#include "formats/scan.h"

/* Properties of all kinds of things; NAN: not given. */
enum {
    SKED_I_SSP_II,
    SKED_I_SSP_LATENCY,
    SKED_I_SSP_LIMIT,
    SKED_I_SSP_INC_DELAY,
    SKED_I_SSP_OUT_DELAY,
    SKED_I_SSP_DISTANCE,
    SKED_I_SSP_TIME,
    SKED_I_SSP_PHASE,
    SKED_I_SSP_VALUES
};

/* Between the names of a path, Lib::Opr. */
#define SKED_I_SSP_PATH_MARK '\x1f'

/* An operator type or a resource type. Its number in its table of paths is its number here. */
typedef struct sked_i_ssp_kind {
    const char *at;
    int32_t leaf, library; /* own name; path of the library */
    double value[SKED_I_SSP_VALUES];
} sked_i_ssp_kind;

typedef struct sked_i_ssp_kinds {
    sked_i_names paths;
    sked_i_ssp_kind *kind; /* [paths.count] */
    int64_t cap;
} sked_i_ssp_kinds;

/* To a type, by path. */
typedef struct sked_i_ssp_reference {
    const char *at;
    int32_t path;
} sked_i_ssp_reference;

typedef struct sked_i_ssp_dependence {
    const char *at;
    int32_t source; /* "%0" or "@op" */
    double distance;
} sked_i_ssp_dependence;

typedef struct sked_i_ssp_result {
    const char *at;
    int32_t name, op;
} sked_i_ssp_result;

typedef struct sked_i_ssp_op {
    const char *at;
    sked_i_ssp_reference type; /* path -1: none */
    int32_t name;              /* symbol, else first result; -1: none */
    int64_t use, dep;          /* the first one; they end where those of the next begin */
    double value[SKED_I_SSP_VALUES];
} sked_i_ssp_op;

typedef struct sked_i_ssp_instance {
    const char *at;
    int32_t name, path, scope; /* name -1: none; scope: path of what it stands in */
    int32_t class_name, library, resources;
    int64_t op, result; /* the first one; they end where those of the next begin */
    double value[SKED_I_SSP_VALUES];
} sked_i_ssp_instance;

typedef struct sked_i_ssp_text {
    sked_i_arena arena;
    const sked_i_source *source;
    sked_error *err;
    sked_status status; /* the first failure; `at` is then at the end */
    const char *at, *end;
    sked_i_names names; /* symbols, results, paths */
    sked_i_buffer text, scope;
    sked_i_ssp_kinds operators, resources;
    sked_i_ssp_instance *instance; /* each array has one more behind its last: where that ends */
    sked_i_ssp_op *op;
    sked_i_ssp_reference *use;
    sked_i_ssp_dependence *dep;
    sked_i_ssp_result *result;
    int64_t instances, ops, uses, deps, results;
    int64_t instance_cap, op_cap, use_cap, dep_cap, result_cap;
} sked_i_ssp_text;

/* Reads all of a source; free in any case. FORMAT where it is no such file or holds no instance. O(size). */
SKED_MUST_CHECK sked_status sked_i_ssp_text_read(sked_i_ssp_text *r, const sked_i_source *source,
                                                 sked_error *err);
void sked_i_ssp_text_free(sked_i_ssp_text *r);
/* Begins as such a file does? */
bool sked_i_ssp_text_sniff(const char *text, size_t size);
#endif
