#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *sked_status_text(sked_status status)
{
    switch (status) {
#define SKED_X(name, code, text) \
    case SKED_##name:            \
        return text;
        SKED_STATUS_LIST(SKED_X)
#undef SKED_X
    }
    return "unknown status";
}

const char *sked_version(void)
{
    return SKED_VERSION;
}

int sked_version_number(void)
{
    return SKED_VERSION_NUMBER;
}

sked_status sked_i_fail(sked_error *err, sked_status status, const char *format, ...)
{
    if (err == NULL || err->status != SKED_OK)
        return status;
    char raw[2 * sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    sked_escape(raw, err->message, sizeof err->message); /* messages quote input; terminals obey it */
    err->status = status;
    return status;
}

sked_status sked_i_no_memory(sked_error *err)
{
    return sked_i_fail(err, SKED_ERR_MEMORY, "out of memory");
}
