/* Addresses of values as a schedule keeps them: docs/addresses.md. */
#include "schedule/schedule.h"

#include <string.h>

static int64_t arenas_of(const sked_schedule *s)
{
    return s->devices > 0 ? s->devices : 1;
}

void sked_i_schedule_drop_addresses(sked_schedule *s)
{
    free(s->offset);
    free(s->copy_op);
    free(s->copy_device);
    free(s->copy_offset);
    free(s->arena);
    s->offset = s->copy_offset = s->arena = NULL;
    s->copy_op = s->copy_device = NULL;
    s->copies = 0;
}

sked_status sked_i_schedule_add_addresses(sked_schedule *s, int64_t copies, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_schedule fresh = {.copies = copies};
    SKED_NEW(fresh.offset, s->ops);
    SKED_NEW(fresh.copy_op, copies);
    SKED_NEW(fresh.copy_device, copies);
    SKED_NEW(fresh.copy_offset, copies);
    SKED_NEW0(fresh.arena, arenas_of(s));
    for (int32_t i = 0; i < s->ops; i++)
        fresh.offset[i] = -1;
    sked_i_schedule_drop_addresses(s);
    s->offset = fresh.offset;
    s->copies = copies;
    s->copy_op = fresh.copy_op;
    s->copy_device = fresh.copy_device;
    s->copy_offset = fresh.copy_offset;
    s->arena = fresh.arena;
    return SKED_OK;
cleanup:
    sked_i_schedule_drop_addresses(&fresh);
    return st;
}

sked_status sked_i_schedule_copy_addresses(const sked_schedule *from, sked_schedule *to, sked_error *err)
{
    if (from->offset == NULL)
        return SKED_OK;
    const sked_status st = sked_i_schedule_add_addresses(to, from->copies, err);
    if (st != SKED_OK)
        return st;
    const size_t n = (size_t)from->copies;
    memcpy(to->offset, from->offset, (size_t)from->ops * sizeof *to->offset);
    memcpy(to->copy_op, from->copy_op, n * sizeof *to->copy_op);
    memcpy(to->copy_device, from->copy_device, n * sizeof *to->copy_device);
    memcpy(to->copy_offset, from->copy_offset, n * sizeof *to->copy_offset);
    memcpy(to->arena, from->arena, (size_t)arenas_of(from) * sizeof *to->arena);
    return SKED_OK;
}

double sked_i_schedule_arena(const sked_schedule *s)
{
    double sum = 0;
    for (int64_t d = 0; s->arena != NULL && d < arenas_of(s); d++)
        sum += (double)s->arena[d];
    return sum;
}
