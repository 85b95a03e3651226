/* Units and registers of a schedule: docs/binding.md. */
#include "schedule/schedule.h"

#include <assert.h>
#include <string.h>

void sked_i_schedule_unbind(sked_schedule *s)
{
    free(s->unit_at);
    free(s->unit);
    free(s->register_at);
    free(s->registers);
    s->unit_at = s->register_at = NULL;
    s->unit = s->registers = NULL;
}

static sked_status copy_lists(int64_t count, const int64_t *at, const int32_t *list, int64_t **to_at,
                              int32_t **to_list, sked_error *err)
{
    sked_status st = SKED_OK;
    if (at == NULL)
        return SKED_OK;
    SKED_NEW(*to_at, count + 1);
    SKED_NEW(*to_list, at[count]);
    memcpy(*to_at, at, ((size_t)count + 1) * sizeof *at);
    memcpy(*to_list, list, (size_t)at[count] * sizeof *list);
cleanup:
    return st;
}

sked_status sked_i_schedule_copy_units(const sked_schedule *from, sked_schedule *to, sked_error *err)
{
    const sked_status st = copy_lists(from->demands, from->unit_at, from->unit, &to->unit_at, &to->unit, err);
    to->demands = from->demands;
    return st == SKED_OK ? copy_lists(from->ops, from->register_at, from->registers, &to->register_at,
                                      &to->registers, err)
                         : st;
}

int32_t sked_schedule_units(const sked_graph *g, const sked_schedule *s, int32_t op, int32_t resource,
                            const int32_t **units)
{
    for (int64_t k = g->demand_ptr[op]; s->unit_at != NULL && k < g->demand_ptr[op + 1]; k++)
        if (g->demand_resource[k] == resource) {
            *units = s->unit + s->unit_at[k];
            return (int32_t)(s->unit_at[k + 1] - s->unit_at[k]);
        }
    return 0;
}

int32_t sked_schedule_op_registers(const sked_schedule *s, int32_t op, const int32_t **registers)
{
    if (s->register_at == NULL)
        return 0;
    *registers = s->registers + s->register_at[op];
    return (int32_t)(s->register_at[op + 1] - s->register_at[op]);
}
