/* Packings for callers: checks around src/engine/pack, and the judge behind it. */
#include "base/arena.h"
#include "base/sized.h"
#include "engine/pack/pack.h"
#include "schedule/packing.h"

void sked_pack_options_init_sized(sked_pack_options *opt, size_t size)
{
    const sked_pack_options preset = {.capacity = -1, .align = 1, .time_limit = 5, .threads = 1};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

static sked_status check_options(const sked_pack_options *opt, sked_error *err)
{
    const int64_t most = ((int64_t)1 << 53) - 1;
    const struct {
        bool holds;
        const char *rule;
    } rules[] = {
        {opt->capacity >= -1 && opt->capacity <= most,
         "the capacity must be from 0 to 2^53 - 1, or -1 for none"},
        {opt->align >= 1 && opt->align <= most, "align must be from 1 to 2^53 - 1"},
        {opt->time_limit >= 0, "the time limit must be 0 or more"},
        {opt->threads >= 1 && opt->threads <= 1024, "threads must be from 1 to 1024"},
        {opt->iterations >= 0, "iterations must be 0 or more"},
    };
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (!rules[k].holds)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s", rules[k].rule);
    return SKED_OK;
}

/* Both alignments at once, for every buffer. */
static sked_status align_all(const sked_buffer_columns *b, int64_t align, int64_t *alignment, sked_error *err)
{
    for (int64_t i = 0; i < b->count; i++) {
        const int64_t own = b->alignment != NULL ? b->alignment[i] : 1,
                      factor = own / sked_i_pack_common(own, align);
        if (factor > (((int64_t)1 << 53) - 1) / align)
            return sked_i_fail(err, SKED_ERR_ARGUMENT,
                               "buffer '%s': alignments %lld and %lld have no common multiple "
                               "below 2^53",
                               sked_i_buffer_name(b, i).text, (long long)own, (long long)align);
        alignment[i] = factor * align;
        if (b->offset != NULL && b->offset[i] >= 0 && b->offset[i] % alignment[i] != 0)
            return sked_i_fail(err, SKED_ERR_ARGUMENT,
                               "buffer '%s': it is fixed at %lld, no multiple of %lld",
                               sked_i_buffer_name(b, i).text, (long long)b->offset[i], (long long)align);
    }
    return SKED_OK;
}

/* What is fixed must not overlap, wherever the rest lies. */
static sked_status check_fixed(const sked_buffer_columns *b, sked_error *err)
{
    sked_error why = {0};
    if (b->offset == NULL)
        return SKED_OK;
    const sked_status st = sked_i_packing_judge(b, b->offset, NULL, &why);
    if (st == SKED_ERR_INVALID)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE, "fixed %s", why.message);
    return st == SKED_OK ? st : sked_i_fail(err, st, "%s", why.message);
}

static sked_status too_high(const sked_i_packing *found, int64_t capacity, sked_error *err)
{
    if (found->infeasible)
        return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                           "proven: no packing is within %lld, it takes %lld at least", (long long)capacity,
                           (long long)found->bound);
    return sked_i_fail(
        err, SKED_ERR_INFEASIBLE,
        "no packing within %lld was found, which proves nothing: the lowest one takes %lld, and none "
        "takes less than %lld",
        (long long)capacity, (long long)found->height, (long long)found->bound);
}

static sked_status search(const sked_buffer_columns *b, const sked_pack_options *opt, int64_t *offset,
                          sked_packing *out, sked_error *err)
{
    const sked_run_options run = {
        .time_limit = opt->time_limit, .iterations = opt->iterations, .stop = opt->stop};
    const sked_i_pack_buffers buffers = {.count = b->count,
                                         .lower = b->lower,
                                         .upper = b->upper,
                                         .size = b->bytes,
                                         .alignment = b->alignment,
                                         .fixed = b->offset};
    sked_i_limit limit;
    sked_i_packing found;
    sked_i_limit_init(&limit, &run);
    const sked_i_pack_effort effort = {.capacity = opt->capacity,
                                       .seed = opt->seed,
                                       .threads = opt->threads,
                                       .iterations = opt->iterations,
                                       .limit = &limit};
    sked_status st = sked_i_pack(&buffers, &effort, offset, &found, err);
    if (st == SKED_OK && opt->capacity >= 0 && found.height > opt->capacity)
        st = too_high(&found, opt->capacity, err);
    if (st != SKED_OK)
        return st;
    *out = (sked_packing){.size = sizeof *out,
                          .count = b->count,
                          .offset = offset,
                          .height = found.height,
                          .lower_bound = found.bound,
                          .optimal = found.height == found.bound,
                          .seconds = sked_clock() - limit.begin};
    return SKED_OK;
}

static sked_status check_result(const sked_buffer_columns *b, const sked_packing *p, sked_error *err)
{
    sked_error why = {0};
    int64_t height = -1;
    const sked_status st = sked_packing_validate(b, p->offset, &height, &why);
    if (st == SKED_ERR_MEMORY)
        return sked_i_no_memory(err);
    if (st != SKED_OK || height != p->height || p->lower_bound > height)
        return sked_i_fail(err, SKED_ERR_BUG, "a packing that does not hold: %s",
                           st != SKED_OK ? why.message : "its height is another");
    return SKED_OK;
}

sked_status sked_pack(const sked_buffer_columns *b, const sked_pack_options *opt, sked_packing *out,
                      sked_error *err)
{
    SKED_TAKE(sked_buffer_columns, b)
    SKED_TAKE(sked_pack_options, opt)
    SKED_CHECK_OUTPUT(sked_packing, out);
    sked_status st = SKED_OK;
    sked_buffer_columns aligned = *b;
    sked_packing found = {0};
    int64_t *alignment = NULL, *offset = NULL;
    SKED_TRY(check_options(opt, err));
    SKED_TRY(sked_i_buffers_check(b, err));
    SKED_NEW(alignment, b->count);
    SKED_NEW(offset, b->count);
    SKED_TRY(align_all(b, opt->align, alignment, err));
    SKED_TRY(check_fixed(b, err));
    aligned.alignment = alignment;
    SKED_TRY(search(&aligned, opt, offset, &found, err));
    SKED_TRY(check_result(&aligned, &found, err));
    SKED_GIVE(out, found);
    offset = NULL;
cleanup:
    free(alignment);
    free(offset);
    return st;
}

void sked_packing_clear(sked_packing *p)
{
    const sked_packing empty = {0};
    free(p->offset);
    SKED_GIVE(p, empty);
}
