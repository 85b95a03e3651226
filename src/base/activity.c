/* Activities and their heap: see activity.h. */
#include "base/activity.h"
#include "base/memory.h"

#include <assert.h>

static const double most = 1e100;

bool sked_i_activity_create(sked_i_activity *a, int32_t n)
{
    *a = (sked_i_activity){.n = n, .bump = 1};
    a->score = sked_i_alloc_zero(n, sizeof *a->score);
    a->heap = sked_i_alloc(n, sizeof *a->heap);
    a->at = sked_i_alloc(n, sizeof *a->at);
    for (int32_t v = 0; a->at != NULL && v < n; v++)
        a->at[v] = -1;
    return a->score != NULL && a->heap != NULL && a->at != NULL;
}

void sked_i_activity_destroy(sked_i_activity *a)
{
    free(a->score);
    free(a->heap);
    free(a->at);
    *a = (sked_i_activity){0};
}

static bool before(const sked_i_activity *a, int32_t x, int32_t y)
{
    const double of_x = a->score[x], of_y = a->score[y];
    return of_x > of_y || (of_x == of_y && x < y);
}

static void put(sked_i_activity *a, int32_t at, int32_t var)
{
    a->heap[at] = var;
    a->at[var] = at;
}

static void move_up(sked_i_activity *a, int32_t at)
{
    const int32_t var = a->heap[at];
    for (; at > 0 && before(a, var, a->heap[(at - 1) / 2]); at = (at - 1) / 2)
        put(a, at, a->heap[(at - 1) / 2]);
    put(a, at, var);
}

static void move_down(sked_i_activity *a, int32_t at)
{
    const int32_t var = a->heap[at];
    for (int32_t child; (child = 2 * at + 1) < a->count; at = child) {
        if (child + 1 < a->count && before(a, a->heap[child + 1], a->heap[child]))
            child++;
        if (!before(a, a->heap[child], var))
            break;
        put(a, at, a->heap[child]);
    }
    put(a, at, var);
}

void sked_i_activity_push(sked_i_activity *a, int32_t var)
{
    assert(a->at[var] < 0 && a->count < a->n);
    put(a, a->count++, var);
    move_up(a, a->at[var]);
}

int32_t sked_i_activity_pop(sked_i_activity *a)
{
    assert(a->count > 0);
    const int32_t top = a->heap[0];
    a->at[top] = -1;
    if (--a->count > 0) {
        put(a, 0, a->heap[a->count]);
        move_down(a, 0);
    }
    return top;
}

/* Scaled down, tiny activities become equal, and then numbers decide: the heap is built again. */
static void rescale(sked_i_activity *a)
{
    for (int32_t v = 0; v < a->n; v++)
        a->score[v] /= most;
    a->bump /= most;
    for (int32_t at = a->count / 2; at-- > 0;)
        move_down(a, at);
    assert(sked_i_activity_ordered(a));
}

void sked_i_activity_bump(sked_i_activity *a, int32_t var)
{
    assert(var >= 0 && var < a->n && a->bump > 0);
    a->score[var] += a->bump;
    if (a->at[var] >= 0)
        move_up(a, a->at[var]);
    if (a->score[var] > most)
        rescale(a);
}

bool sked_i_activity_ordered(const sked_i_activity *a)
{
    for (int32_t k = 0; k < a->count; k++)
        if (a->at[a->heap[k]] != k || (k > 0 && before(a, a->heap[k], a->heap[(k - 1) / 2])))
            return false;
    return true;
}
