#include "method/incumbents.h"

#include "base/memory.h"
#include "schedule/equal.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <string.h>

sked_status sked_i_incumbents_open(sked_i_incumbents *pool, const sked_problem *p, int32_t capacity,
                                   sked_error *err)
{
    sked_status st = SKED_OK;
    assert(capacity >= 1);
    *pool = (sked_i_incumbents){.capacity = capacity, .interchangeable = p->machine == NULL};
    SKED_NEW(pool->entry, capacity);
cleanup:
    return st;
}

void sked_i_incumbents_close(sked_i_incumbents *pool)
{
    for (int32_t k = 0; k < pool->count; k++)
        sked_schedule_destroy(pool->entry[k].schedule);
    free(pool->entry);
    *pool = (sked_i_incumbents){0};
}

static bool already_there(const sked_i_incumbents *pool, int32_t place, const sked_schedule *s,
                          sked_i_result_rank rank)
{
    for (int32_t j = place - 1; j >= 0 && !sked_i_result_rank_precedes(pool->entry[j].rank, rank); j--)
        if (sked_i_schedule_equal(pool->entry[j].schedule, s, pool->interchangeable))
            return true;
    return false;
}

sked_status sked_i_incumbents_insert(sked_i_incumbents *pool, const sked_schedule *s, sked_i_result_rank rank,
                                     const char *maker, bool *kept, sked_error *err)
{
    int32_t place = pool->count;
    *kept = false;
    while (place > 0 && sked_i_result_rank_precedes(rank, pool->entry[place - 1].rank))
        place--;
    if (place == pool->capacity || already_there(pool, place, s, rank))
        return SKED_OK;
    sked_schedule *copy = NULL;
    const sked_status st = sked_schedule_clone(s, &copy, err);
    if (st != SKED_OK)
        return st;
    if (pool->count == pool->capacity)
        sked_schedule_destroy(pool->entry[--pool->count].schedule);
    memmove(pool->entry + place + 1, pool->entry + place,
            (size_t)(pool->count - place) * sizeof *pool->entry);
    pool->entry[place] = (sked_i_incumbent){copy, rank, maker};
    pool->count++;
    *kept = true;
    assert(place == 0 || !sked_i_result_rank_precedes(rank, pool->entry[place - 1].rank));
    return SKED_OK;
}

sked_status sked_i_incumbents_choose(sked_i_incumbents *pool, const sked_problem *p, const sked_i_costs *c,
                                     int32_t top, double min_distance, sked_schedule **chosen, int32_t *count,
                                     sked_error *err)
{
    assert(top <= pool->count);
    int32_t n = 0;
    for (int32_t i = 0; i < pool->count && n < top; i++) {
        bool apart;
        const sked_status st =
            sked_i_schedule_apart(p, c, pool->entry[i].schedule, chosen, n, min_distance, &apart, err);
        if (st != SKED_OK)
            return st;
        if (apart)
            chosen[n++] = pool->entry[i].schedule;
    }
    for (int32_t i = 0, j = 0; i < pool->count; i++) {
        if (j < n && pool->entry[i].schedule == chosen[j])
            j++;
        else
            sked_schedule_destroy(pool->entry[i].schedule);
    }
    pool->count = 0;
    *count = n;
    return SKED_OK;
}
