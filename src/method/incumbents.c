#include "method/incumbents.h"

#include "base/memory.h"
#include "schedule/equal.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_incumbents_open(sked_i_incumbents *list, const sked_problem *p, int32_t capacity,
                                   sked_error *err)
{
    sked_status st = SKED_OK;
    assert(capacity >= 1);
    *list = (sked_i_incumbents){.capacity = capacity, .interchangeable = p->machine == NULL};
    SKED_NEW(list->entry, capacity);
cleanup:
    return st;
}

void sked_i_incumbents_close(sked_i_incumbents *list)
{
    for (int32_t k = 0; k < list->count; k++)
        sked_schedule_destroy(list->entry[k].schedule);
    free(list->entry);
    *list = (sked_i_incumbents){0};
}

static bool already_there(const sked_i_incumbents *list, int32_t place, const sked_schedule *s,
                          sked_i_result_rank rank)
{
    for (int32_t j = place - 1; j >= 0 && !sked_i_result_rank_precedes(list->entry[j].rank, rank); j--)
        if (sked_i_schedule_equal(list->entry[j].schedule, s, list->interchangeable))
            return true;
    return false;
}

sked_status sked_i_incumbents_insert(sked_i_incumbents *list, const sked_schedule *s, sked_i_result_rank rank,
                                     const char *maker, bool *kept, sked_error *err)
{
    int32_t place = list->count;
    *kept = false;
    while (place > 0 && sked_i_result_rank_precedes(rank, list->entry[place - 1].rank))
        place--;
    if (place == list->capacity || already_there(list, place, s, rank))
        return SKED_OK;
    sked_schedule *copy = NULL;
    const sked_status st = sked_schedule_clone(s, &copy, err);
    if (st != SKED_OK)
        return st;
    if (list->count == list->capacity)
        sked_schedule_destroy(list->entry[--list->count].schedule);
    memmove(list->entry + place + 1, list->entry + place,
            (size_t)(list->count - place) * sizeof *list->entry);
    list->entry[place] = (sked_i_incumbent){copy, rank, maker};
    list->count++;
    *kept = true;
    assert(place == 0 || !sked_i_result_rank_precedes(rank, list->entry[place - 1].rank));
    return SKED_OK;
}

sked_status sked_i_incumbents_choose(sked_i_incumbents *list, const sked_problem *p, const sked_i_costs *c,
                                     int32_t top, double min_distance, sked_schedule **chosen, int32_t *count,
                                     sked_error *err)
{
    assert(top <= list->count);
    int32_t n = 0;
    for (int32_t i = 0; i < list->count && n < top; i++) {
        bool apart;
        const sked_status st =
            sked_i_schedule_apart(p, c, list->entry[i].schedule, chosen, n, min_distance, &apart, err);
        if (st != SKED_OK)
            return st;
        if (apart)
            chosen[n++] = list->entry[i].schedule;
    }
    for (int32_t i = 0, j = 0; i < list->count; i++) {
        if (j < n && list->entry[i].schedule == chosen[j])
            j++;
        else
            sked_schedule_destroy(list->entry[i].schedule);
    }
    list->count = 0;
    *count = n;
    return SKED_OK;
}
