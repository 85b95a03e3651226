/* Errors inside the library. */
#ifndef SKED_BASE_STATUS_H
#define SKED_BASE_STATUS_H
#include "sked/sked.h"

/* Fills err (first cause wins, NULL is fine) and returns status. */
sked_status sked_i_fail(sked_error *err, sked_status status, const char *format, ...) SKED_PRINTF(3, 4);
/* The one sentence for a failed allocation. */
sked_status sked_i_no_memory(sked_error *err);

/* Leaves through the function's cleanup label when a call fails. Needs a local `sked_status st`. */
#define SKED_TRY(call)     \
    do {                   \
        st = (call);       \
        if (st != SKED_OK) \
            goto cleanup;  \
    } while (0)
#endif
