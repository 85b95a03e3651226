/*
 * FlatBuffers, read in place: what an untrusted file takes. Debian has the FlatBuffers library for C++ only,
 * and a model needs five small tables, so this is our own. Every offset is checked where it is followed. The
 * first thing that is wrong is remembered in `status`; from then on every table and list is empty, so callers
 * look at it once after a loop.
 */
#ifndef SKED_FORMATS_FLATBUFFER_H
#define SKED_FORMATS_FLATBUFFER_H
#include "formats/format.h"

typedef struct sked_i_flat {
    const sked_i_source *source;
    const char *kind; /* "a TFLite model", for messages */
    double budget;    /* bytes of lists that may still be followed: tables may share lists, a file may not ask
                         for    more work than its size */
    sked_status status;
    sked_error *err;
} sked_i_flat;

typedef struct sked_i_flat_table {
    int64_t at, vtable; /* bytes into the file; at 0: there is none, all its fields are absent */
    int fields;
    int64_t size;
} sked_i_flat_table;

typedef struct sked_i_flat_list {
    int64_t at; /* the first element */
    int64_t count;
} sked_i_flat_list;

/* The root table. */
sked_i_flat_table sked_i_flat_begin(sked_i_flat *f, const sked_i_source *source, const char *kind,
                                    sked_error *err);
/* FORMAT with the byte and the rule; the first one counts. */
void sked_i_flat_broken(sked_i_flat *f, int64_t at, const char *rule);

/* `width` (1, 2, 4 or 8) bytes of the file, which are there. */
uint64_t sked_i_flat_bytes(const sked_i_flat *f, int64_t at, int width);
/* Where the field of `width` bytes stands; 0: it is absent. */
int64_t sked_i_flat_field(sked_i_flat *f, sked_i_flat_table t, int field, int width);
uint64_t sked_i_flat_number(sked_i_flat *f, sked_i_flat_table t, int field, int width, uint64_t otherwise);
sked_i_flat_table sked_i_flat_child(sked_i_flat *f, sked_i_flat_table t, int field);
/* Elements of `width` bytes; offsets of tables have 4. */
sked_i_flat_list sked_i_flat_vector(sked_i_flat *f, sked_i_flat_table t, int field, int width);
/* Element i of a list of tables. */
sked_i_flat_table sked_i_flat_element(sked_i_flat *f, sked_i_flat_list list, int64_t i);
/* Element i of a list of int32. */
static inline int32_t sked_i_flat_int(const sked_i_flat *f, sked_i_flat_list list, int64_t i)
{
    return (int32_t)sked_i_flat_bytes(f, list.at + 4 * i, 4);
}
#endif
