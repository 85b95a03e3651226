#include "schedule/packing.h"

#include <stdio.h>

sked_i_quoted sked_i_buffer_name(const sked_buffer_columns *b, int64_t i)
{
    char number[24];
    if (b->name != NULL)
        return sked_i_quoted_text(b->name[i]);
    snprintf(number, sizeof number, "%lld", (long long)i);
    return sked_i_quoted_text(number);
}

static sked_status check_buffer(const sked_buffer_columns *b, int64_t i, sked_error *err)
{
    const int64_t most = ((int64_t)1 << 53) - 1, alignment = b->alignment != NULL ? b->alignment[i] : 1,
                  offset = b->offset != NULL ? b->offset[i] : -1;
    const struct {
        bool holds;
        const char *rule;
    } rules[] = {
        {isfinite(b->lower[i]) && isfinite(b->upper[i]), "lower and upper must be finite"},
        {b->lower[i] < b->upper[i], "lower must be below upper"},
        {b->bytes[i] >= 0 && b->bytes[i] <= most, "the size must be from 0 to 2^53 - 1"},
        {alignment >= 1 && alignment <= most, "the alignment must be from 1 to 2^53 - 1"},
        {offset >= -1 && offset <= most, "the offset must be from 0 to 2^53 - 1, or -1 where it is free"},
        {offset < 0 || alignment < 1 || offset % alignment == 0,
         "the offset must be a multiple of the alignment"},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (!rules[k].holds)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "buffer '%s': %s", sked_i_buffer_name(b, i).text,
                               rules[k].rule);
    return SKED_OK;
}

sked_status sked_i_buffers_check(const sked_buffer_columns *b, sked_error *err)
{
    sked_status st = SKED_OK;
    if (b->count < 0 || b->count > INT32_MAX)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "the number of buffers must be from 0 to 2^31 - 1, not %lld", (long long)b->count);
    if (b->count > 0 && (b->lower == NULL || b->upper == NULL || b->bytes == NULL))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "buffers need the columns lower, upper and bytes");
    for (int64_t i = 0; i < b->count && st == SKED_OK; i++)
        st = check_buffer(b, i, err);
    return st;
}
