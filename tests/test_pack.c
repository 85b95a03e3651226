/*
 * Static buffer allocation: heights and what cannot be packed against enumeration, random problems against
 * the judge, the judge against pairs, stops, seeds and threads.
 */
#include "base/rng.h"
#include "test.h"

enum { most = 12 };

typedef struct buffers {
    int64_t count;
    double lower[most], upper[most];
    int64_t bytes[most], alignment[most], fixed[most];
} buffers;

static sked_buffer_columns columns_of(const buffers *b)
{
    return (sked_buffer_columns){.size = sizeof(sked_buffer_columns),
                                 .count = b->count,
                                 .lower = b->lower,
                                 .upper = b->upper,
                                 .bytes = b->bytes,
                                 .alignment = b->alignment,
                                 .offset = b->fixed};
}

static int64_t draw(sked_i_rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)sked_i_rng_below(rng, (uint64_t)(high - low + 1));
}

static bool meet(const buffers *b, int64_t i, int64_t k)
{
    return b->lower[i] < b->upper[k] && b->lower[k] < b->upper[i];
}

static bool overlap(const buffers *b, const int64_t *offset, int64_t i, int64_t k)
{
    return b->bytes[i] > 0 && b->bytes[k] > 0 && meet(b, i, k) && offset[i] < offset[k] + b->bytes[k] &&
           offset[k] < offset[i] + b->bytes[i];
}

/* Every offset of every buffer, one after another. */
static bool enumerate(const buffers *b, int64_t capacity, int64_t i, int64_t *offset)
{
    if (i == b->count)
        return true;
    const int64_t from = b->fixed[i] >= 0 ? b->fixed[i] : 0, to = b->fixed[i] >= 0 ? from : capacity;
    for (offset[i] = from; offset[i] <= to && offset[i] + b->bytes[i] <= capacity; offset[i] += b->alignment[i]) {
        bool clear = true;
        for (int64_t k = 0; k < i && clear; k++)
            clear = !overlap(b, offset, i, k);
        if (clear && enumerate(b, capacity, i + 1, offset))
            return true;
    }
    return false;
}

static int64_t least_height(const buffers *b)
{
    int64_t offset[most], height = 0;
    while (!enumerate(b, height, 0, offset))
        height++;
    return height;
}

static buffers draw_buffers(sked_i_rng *rng)
{
    const int64_t steps[] = {1, 1, 2, 3, 4}, aligned = draw(rng, 0, 2), fixed = draw(rng, 0, 3);
    buffers b = {.count = draw(rng, 0, 7)};
    int64_t offset[most];
    for (int64_t i = 0; i < b.count; i++) {
        b.lower[i] = (double)draw(rng, 0, 5);
        b.upper[i] = b.lower[i] + (double)draw(rng, 1, 4);
        b.bytes[i] = draw(rng, 0, 5);
        b.alignment[i] = aligned == 0 ? 1 : aligned == 1 ? 2 : steps[draw(rng, 0, 4)];
        b.fixed[i] = offset[i] = fixed == 0 && draw(rng, 0, 2) == 0 ? draw(rng, 0, 4) * b.alignment[i] : -1;
        for (int64_t k = 0; k < i && b.fixed[i] >= 0; k++)
            if (b.fixed[k] >= 0 && overlap(&b, offset, i, k))
                b.fixed[i] = -1;
    }
    return b;
}

static void agrees_with_enumeration(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 1, 0);
    for (int c = 0; c < CASES(10000); c++) {
        const buffers b = draw_buffers(&rng);
        const sked_buffer_columns columns = columns_of(&b);
        const int64_t height = least_height(&b);
        sked_packing p = {.size = sizeof p};
        sked_pack_options opt;
        sked_pack_options_init(&opt);
        opt.time_limit = INFINITY;
        opt.iterations = 1000;
        opt.seed = (uint64_t)c;
        OK(sked_pack(&columns, &opt, &p, err));
        if (p.height != height || p.lower_bound != height || !p.optimal)
            fail_msg("case %d: height %lld, bound %lld, not %lld", c, (long long)p.height,
                     (long long)p.lower_bound, (long long)height);
        sked_packing_clear(&p);
        opt.capacity = height;
        OK(sked_pack(&columns, &opt, &p, err));
        assert_int_equal(p.height, height);
        sked_packing_clear(&p);
        opt.capacity = height - 1;
        if (height > 0)
            FAILS(SKED_ERR_INFEASIBLE, "proven", sked_pack(&columns, &opt, &p, err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_enumeration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
