#include "base/sized.h"

#include <string.h>

/* No struct of any version is larger: what says so was never initialised. */
static const size_t largest = 1 << 16;

static size_t size_of(const void *x)
{
    size_t size;
    memcpy(&size, x, sizeof size);
    return size;
}

static size_t shared(size_t size, size_t known)
{
    return size < known ? size : known;
}

void sked_i_sized_init(void *x, size_t size, const void *preset, size_t known)
{
    memset(x, 0, size);
    memcpy(x, preset, shared(size, known));
    memcpy(x, &size, sizeof size);
}

sked_status sked_i_sized_check(const void *out, const char *type, sked_error *err)
{
    const size_t size = out ? size_of(out) : 0;
    if (size >= sizeof size && size <= largest)
        return SKED_OK;
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: its size is not set; call %s_init first", type, type);
}

const void *sked_i_sized_read(const void *in, void *own, size_t known, const char *type, sked_error *err)
{
    if (sked_i_sized_check(in, type, err) != SKED_OK)
        return NULL;
    const size_t size = size_of(in);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)in)[i] != 0) {
            sked_i_fail(err, SKED_ERR_ARGUMENT,
                        "%s: it sets fields of a later version than " SKED_VERSION ", that of this library",
                        type);
            return NULL;
        }
    memmove(own, in, shared(size, known));
    memcpy(own, &known, sizeof known);
    return own;
}

void sked_i_sized_write(void *out, const void *own, size_t known)
{
    const size_t size = size_of(out);
    memset(out, 0, size);
    memcpy(out, own, shared(size, known));
    memcpy(out, &size, sizeof size);
}
