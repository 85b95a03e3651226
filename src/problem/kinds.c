#include "problem/kinds.h"

#include "base/arena.h"
#include "base/sort.h"

void sked_i_kinds_free(sked_i_kinds *k)
{
    sked_i_arena_free(&k->arena);
    *k = (sked_i_kinds){0};
}

/* Numbers kinds by their key. */
static void number_by_time(sked_i_kinds *k, const sked_i_keyed *item, int32_t devices)
{
    for (int32_t j = 0; j < devices; j++) {
        k->count += j == 0 || item[j].key != item[j - 1].key;
        k->of[item[j].value] = k->count - 1;
    }
}

void sked_i_number_by_first(int32_t *number, int32_t n, int32_t *name)
{
    int32_t names = 0;
    for (int32_t i = 0; i < n; i++)
        name[number[i]] = -1;
    for (int32_t i = 0; i < n; i++) {
        int32_t *const given = &name[number[i]];
        *given = *given < 0 ? names++ : *given;
        number[i] = *given;
    }
}

static void list_members(sked_i_kinds *k, int32_t devices)
{
    for (int32_t d = 0; d < devices; d++)
        k->size[k->of[d]]++;
    for (int32_t j = 0, at = 0; j < k->count; at += k->size[j++])
        k->first[j] = at;
    for (int32_t d = 0; d < devices; d++)
        k->device[k->first[k->of[d]]++] = d;
    for (int32_t j = 0; j < k->count; j++)
        k->first[j] -= k->size[j];
}

sked_status sked_i_kinds_make(const sked_i_costs *c, const int32_t *apart, bool by_time, sked_i_kinds *out,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *item = NULL;
    int32_t *name = NULL;
    *out = (sked_i_kinds){0};
    SKED_OWN(&out->arena, out->of, c->devices);
    SKED_OWN0(&out->arena, out->size, c->devices);
    SKED_OWN(&out->arena, out->first, c->devices);
    SKED_OWN(&out->arena, out->device, c->devices);
    SKED_NEW(item, 2 * (int64_t)c->devices);
    SKED_NEW(name, c->devices);
    if (apart == NULL && c->machine != NULL)
        apart = c->machine->link_kind;
    for (int32_t d = 0; d < c->devices; d++)
        item[d] = (sked_i_keyed){
            (uint64_t)sked_i_device_time_kind(c, d) << 32 | (uint32_t)(apart != NULL ? apart[d] : 0), d};
    sked_i_sort_keyed(item, item + c->devices, c->devices);
    number_by_time(out, item, c->devices);
    if (!by_time)
        sked_i_number_by_first(out->of, c->devices, name);
    list_members(out, c->devices);
cleanup:
    free(item);
    free(name);
    return st;
}

void sked_i_kinds_times(const sked_i_kinds *k, const sked_i_costs *c, double *time)
{
    for (int32_t i = 0; i < c->graph->n_ops; i++)
        for (int32_t j = 0; j < k->count; j++)
            time[(int64_t)i * k->count + j] = sked_i_time(c, i, sked_i_kinds_device(k, j));
}

void sked_i_kinds_link(const sked_i_kinds *k, const sked_i_costs *c, int32_t from, int32_t to,
                       double *latency, double *bandwidth)
{
    *latency = c->latency;
    *bandwidth = c->bandwidth;
    if (c->machine == NULL)
        return;
    const int64_t at =
        sked_i_machine_pair(c->machine, sked_i_kinds_device(k, from), sked_i_kinds_device(k, to));
    *latency = c->machine->link_latency[at];
    *bandwidth = c->machine->link_bandwidth[at];
}
