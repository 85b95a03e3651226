/*
 * The judge of packings, written from the definition alone: buffers in order of offset, and for each piece of
 * time the highest end so far. Two buffers that share bytes and time show when the upper one comes. Shares no
 * code with what finds packings.
 */
#include "base/arena.h"
#include "base/sized.h"
#include "base/sort.h"
#include "schedule/packing.h"

typedef struct judge {
    const sked_buffer_columns *b;
    const int64_t *offset;
    double *time; /* [times] endpoints, ascending; piece k is from time k to the next */
    int64_t times;
    int32_t *whole; /* [4 * times] tree over pieces: of the buffers held in all of a node, the highest; -1 */
    int32_t *part;  /* the same for those held in some of it */
} judge;

/* Pieces [from, to) of a buffer, and where the search stands. */
typedef struct span {
    int64_t from, to, node, first, last;
} span;

static int64_t end_of(const judge *j, int32_t i)
{
    return i < 0 ? -1 : j->offset[i] + j->b->bytes[i];
}

static int32_t higher(const judge *j, int32_t a, int32_t b)
{
    return end_of(j, b) > end_of(j, a) ? b : a;
}

static span half(const span *s, int side)
{
    const int64_t middle = s->first + (s->last - s->first) / 2;
    return side == 0 ? (span){s->from, s->to, 2 * s->node, s->first, middle}
                     : (span){s->from, s->to, 2 * s->node + 1, middle, s->last};
}

/* Of the buffers put so far that are held in the span, the one with the highest end. Depth: log pieces. */
static int32_t find_highest(const judge *j, span s)
{
    if (s.to <= s.first || s.last <= s.from)
        return -1;
    if (s.from <= s.first && s.last <= s.to)
        return j->part[s.node];
    const int32_t below = higher(j, find_highest(j, half(&s, 0)), find_highest(j, half(&s, 1)));
    return higher(j, j->whole[s.node], below);
}

static void put(judge *j, span s, int32_t i)
{
    if (s.to <= s.first || s.last <= s.from)
        return;
    j->part[s.node] = higher(j, j->part[s.node], i);
    if (s.from <= s.first && s.last <= s.to) {
        j->whole[s.node] = higher(j, j->whole[s.node], i);
        return;
    }
    put(j, half(&s, 0), i);
    put(j, half(&s, 1), i);
}

static int64_t piece_at(const judge *j, double time)
{
    int64_t low = 0, high = j->times;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (j->time[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static sked_status judge_buffer(judge *j, int32_t i, sked_error *err)
{
    const sked_buffer_columns *b = j->b;
    const span s = {piece_at(j, b->lower[i]), piece_at(j, b->upper[i]), 1, 0, j->times};
    if (b->alignment != NULL && j->offset[i] % b->alignment[i] != 0)
        return sked_i_fail(
            err, SKED_ERR_INVALID, "buffer '%s': offset %lld is no multiple of its alignment, %lld",
            sked_i_buffer_name(b, i).text, (long long)j->offset[i], (long long)b->alignment[i]);
    if (b->offset != NULL && b->offset[i] >= 0 && b->offset[i] != j->offset[i])
        return sked_i_fail(err, SKED_ERR_INVALID, "buffer '%s': offset %lld, but it is fixed at %lld",
                           sked_i_buffer_name(b, i).text, (long long)j->offset[i], (long long)b->offset[i]);
    if (b->bytes[i] == 0)
        return SKED_OK;
    const int32_t below = find_highest(j, s);
    if (end_of(j, below) > j->offset[i])
        return sked_i_fail(err, SKED_ERR_INVALID,
                           "buffers '%s' and '%s' overlap: bytes from %lld and from %lld",
                           sked_i_buffer_name(b, below).text, sked_i_buffer_name(b, i).text,
                           (long long)j->offset[below], (long long)j->offset[i]);
    put(j, s, i);
    return SKED_OK;
}

/* Buffers by offset into item, endpoints into time. Those that are not there are left out. */
static int64_t sort_all(judge *j, sked_i_keyed *item, sked_i_keyed *spare)
{
    const sked_buffer_columns *b = j->b;
    int64_t n = 0;
    for (int64_t i = 0; i < b->count; i++)
        if (j->offset[i] >= 0) {
            item[n++] = (sked_i_keyed){.key = sked_i_sort_key(b->lower[i])};
            item[n++] = (sked_i_keyed){.key = sked_i_sort_key(b->upper[i])};
        }
    sked_i_sort_keyed(item, spare, n);
    for (int64_t k = 0; k < n; k++)
        if (k == 0 || item[k].key != item[k - 1].key)
            j->time[j->times++] = sked_i_sort_value(item[k].key);
    n = 0;
    for (int64_t i = 0; i < b->count; i++)
        if (j->offset[i] >= 0)
            item[n++] = (sked_i_keyed){.key = (uint64_t)j->offset[i], .value = i};
    sked_i_sort_keyed(item, spare, n);
    return n;
}

sked_status sked_i_packing_judge(const sked_buffer_columns *b, const int64_t *offset, int64_t *height,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena arena = {0};
    judge j = {.b = b, .offset = offset};
    sked_i_keyed *item, *spare;
    int64_t top = 0;
    SKED_OWN(&arena, item, 2 * b->count);
    SKED_OWN(&arena, spare, 2 * b->count);
    SKED_OWN(&arena, j.time, 2 * b->count);
    const int64_t n = sort_all(&j, item, spare);
    SKED_OWN(&arena, j.whole, 4 * j.times + 4);
    SKED_OWN(&arena, j.part, 4 * j.times + 4);
    for (int64_t k = 0; k < 4 * j.times + 4; k++)
        j.whole[k] = j.part[k] = -1;
    for (int64_t k = 0; k < n; k++) {
        SKED_TRY(judge_buffer(&j, (int32_t)item[k].value, err));
        if (end_of(&j, (int32_t)item[k].value) > top)
            top = end_of(&j, (int32_t)item[k].value);
    }
    if (height != NULL)
        *height = top;
cleanup:
    sked_i_arena_free(&arena);
    return st;
}

sked_status sked_packing_validate(const sked_buffer_columns *b, const int64_t *offset, int64_t *height,
                                  sked_error *err)
{
    SKED_TAKE(sked_buffer_columns, b)
    const sked_status st = sked_i_buffers_check(b, err);
    if (st != SKED_OK)
        return st;
    for (int64_t i = 0; i < b->count; i++)
        if (offset[i] < 0 || offset[i] >= (int64_t)1 << 53)
            return sked_i_fail(err, SKED_ERR_INVALID, "buffer '%s': offset %lld is not from 0 to 2^53 - 1",
                               sked_i_buffer_name(b, i).text, (long long)offset[i]);
    return sked_i_packing_judge(b, offset, height, err);
}
