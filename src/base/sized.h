/*
 * Structs that callers allocate begin with `size_t size`, as their compiler knew it, so that they can grow at
 * their end (docs/api.md). A public function takes its inputs and gives its outputs through these.
 */
#ifndef SKED_BASE_SIZED_H
#define SKED_BASE_SIZED_H
#include "base/status.h"

/* x of `size` bytes: the presets, as far as both know them; size set, the rest zero. */
void sked_i_sized_init(void *x, size_t size, const void *preset, size_t known);
/*
 * A caller's struct of another version as this one knows it: copied into `own`, which holds the presets.
 * NULL and ARGUMENT where `in` was never initialised, or sets fields that this version does not know.
 */
const void *sked_i_sized_read(const void *in, void *own, size_t known, const char *type, sked_error *err);
/* Before the work: has the caller initialised the output? */
SKED_MUST_CHECK sked_status sked_i_sized_check(const void *out, const char *type, sked_error *err);
/* After it: as much of `own` as the caller knows; what only the caller knows becomes zero. */
void sked_i_sized_write(void *out, const void *own, size_t known);

/* At the begin of a function that returns a status: x, of whatever version, becomes one of this version. */
#define SKED_TAKE_AS(type, x, preset, from)                                  \
    type x##_own;                                                            \
    if ((x) == NULL || (x)->size != sizeof(type)) {                          \
        preset;                                                              \
        (x) = sked_i_sized_read((from), &x##_own, sizeof(type), #type, err); \
        if ((x) == NULL)                                                     \
            return SKED_ERR_ARGUMENT;                                        \
    }
/* Options: NULL means presets. */
#define SKED_TAKE(type, x) SKED_TAKE_AS(type, x, type##_init(&x##_own), (x) ? (x) : &x##_own)
#define SKED_CHECK_OUTPUT(type, out)                          \
    do {                                                      \
        if (sked_i_sized_check((out), #type, err) != SKED_OK) \
            return SKED_ERR_ARGUMENT;                         \
    } while (0)
/* Does the caller's struct have this field? Memory is handed only to callers that will free it. */
#define SKED_KNOWS(x, field) \
    ((x)->size >= (size_t)((const char *)&(x)->field - (const char *)(x)) + sizeof(x)->field)
#define SKED_GIVE(out, own) sked_i_sized_write((out), &(own), sizeof(own))
#endif
