/* Candidates without repeats, ranked. */
#include "engine/stages/stages.h"

#include "base/arena.h"
#include "base/sort.h"
#include "schedule/equal.h"

#include <string.h>

/* An order of a list: the keys change, the values are places in it. */
typedef struct ranking {
    sked_i_stages_candidate *list;
    sked_i_keyed *order, *spare; /* [count] */
    int32_t count;
} ranking;

/* Stable, from place `first` on: by `delayed`, or by makespan. */
static void sort_by(ranking *r, bool delayed, int32_t first)
{
    for (int32_t k = first; k < r->count; k++) {
        const sked_i_stages_candidate *c = &r->list[r->order[k].value];
        r->order[k].key = sked_i_sort_key(delayed ? c->delayed : c->makespan);
    }
    sked_i_sort_keyed(r->order + first, r->spare, r->count - first);
}

/* Where all are as delayed, this is the order of the makespans. */
static void sort_by_steps(ranking *r)
{
    sort_by(r, true, 0);
    sort_by(r, false, 0);
    const double best = r->count > 0 ? r->list[r->order[0].value].makespan : 0;
    if (r->count < 2 || !(best > 0))
        return;
    sort_by(r, true, 1);
    for (int32_t k = 1; k < r->count; k++)
        r->order[k].key = sked_i_sort_key(floor(100 * (r->list[r->order[k].value].makespan / best - 1)));
    sked_i_sort_keyed(r->order + 1, r->spare, r->count - 1);
}

/* Keeps the first of each, in the order of the list. label: [devices] */
static void drop_repeats(ranking *r, bool interchangeable, int32_t *label)
{
    int32_t kept = 0;
    for (int32_t k = 0; k < r->count; k++) {
        const sked_schedule *s = r->list[k].schedule;
        r->order[k] =
            (sked_i_keyed){sked_i_schedule_hash_devices(s->ops, s->start, s->device, s->devices, label), k};
    }
    sked_i_sort_keyed(r->order, r->spare, r->count);
    for (int32_t k = 0; k < r->count; k++) {
        const sked_schedule *s = r->list[r->order[k].value].schedule;
        bool fresh = true;
        for (int32_t j = kept - 1; j >= 0 && fresh && r->order[j].key == r->order[k].key; j--)
            fresh = !sked_i_schedule_equal(r->list[r->order[j].value].schedule, s, interchangeable);
        if (fresh)
            r->order[kept++] = r->order[k];
    }
    for (int32_t k = 0; k < kept; k++)
        r->order[k].key = (uint64_t)r->order[k].value;
    sked_i_sort_keyed(r->order, r->spare, kept);
    r->count = kept;
}

/* Puts the list into its order and destroys what is not in it. next: [count of the list] */
static void apply(const ranking *r, sked_i_stages_candidate *next, int32_t *count)
{
    for (int32_t k = 0; k < r->count; k++) {
        next[k] = r->list[r->order[k].value];
        r->list[r->order[k].value].schedule = NULL;
    }
    for (int32_t k = 0; k < *count; k++)
        sked_schedule_destroy(r->list[k].schedule);
    memcpy(r->list, next, (size_t)r->count * sizeof *next);
    *count = r->count;
}

static sked_status rank(const sked_problem *p, sked_i_stages_candidate *list, int32_t *count, sked_error *err)
{
    sked_status st = SKED_OK;
    ranking r = {.list = list, .count = *count};
    sked_i_arena arena = {0};
    sked_i_stages_candidate *next;
    int32_t *label;
    SKED_OWN(&arena, r.order, *count);
    SKED_OWN(&arena, r.spare, *count);
    SKED_OWN(&arena, next, *count);
    SKED_OWN(&arena, label, p->devices);
    drop_repeats(&r, p->machine == NULL, label);
    sort_by_steps(&r);
    apply(&r, next, count);
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

sked_status sked_i_stages_pass(const sked_problem *p, const sked_i_stages *how, sked_i_stages_candidate *list,
                               int32_t *count, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_TRY(rank(p, list, count, err));
    if (how->improve <= 0 && !how->local)
        return SKED_OK;
    SKED_TRY(sked_i_stages_improve(p, how, list, *count, err));
    SKED_TRY(rank(p, list, count, err)); /* different ones may have become the same */
cleanup:
    return st;
}
