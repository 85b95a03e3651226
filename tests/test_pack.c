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
    for (offset[i] = from; offset[i] <= to && offset[i] + b->bytes[i] <= capacity;
         offset[i] += b->alignment[i]) {
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

/* ------------------------------------------------------------------ the judge */

static bool holds(const buffers *b, const int64_t *offset)
{
    for (int64_t i = 0; i < b->count; i++) {
        if (offset[i] < 0 || offset[i] % b->alignment[i] != 0 ||
            (b->fixed[i] >= 0 && b->fixed[i] != offset[i]))
            return false;
        for (int64_t k = 0; k < i; k++)
            if (overlap(b, offset, i, k))
                return false;
    }
    return true;
}

static void judge_agrees_with_pairs(void **state)
{
    (void)state;
    sked_i_rng rng;
    int valid = 0;
    sked_i_rng_seed(&rng, 2, 0);
    for (int c = 0; c < CASES(20000); c++) {
        const buffers b = draw_buffers(&rng);
        const sked_buffer_columns columns = columns_of(&b);
        int64_t offset[most], height = -1, top = 0;
        for (int64_t i = 0; i < b.count; i++) {
            offset[i] = draw(&rng, 0, 9) == 0 && b.fixed[i] < 0 ? draw(&rng, -1, 20)
                        : b.fixed[i] >= 0                       ? b.fixed[i]
                                                                : draw(&rng, 0, 6) * b.alignment[i];
            top = offset[i] + b.bytes[i] > top ? offset[i] + b.bytes[i] : top;
        }
        const sked_status st = sked_packing_validate(&columns, offset, &height, NULL);
        if (st != (holds(&b, offset) ? SKED_OK : SKED_ERR_INVALID) || (st == SKED_OK && height != top))
            fail_msg("case %d: status %d, height %lld", c, (int)st, (long long)height);
        valid += st == SKED_OK;
    }
    assert_in_range(valid, CASES(20000) / 10, 9 * CASES(20000) / 10);
}

/* ------------------------------------------------------------------ larger ones */

enum { many = 400 };
static double lower[many], upper[many];
static int64_t bytes[many];

static sked_buffer_columns draw_many(void)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 3, 0);
    for (int i = 0; i < many; i++) {
        lower[i] = (double)draw(&rng, 0, 300);
        upper[i] = lower[i] + (double)draw(&rng, 1, 1 + 60 * (i % 3));
        bytes[i] = draw(&rng, 1, 1000);
    }
    return (sked_buffer_columns){
        .size = sizeof(sked_buffer_columns), .count = many, .lower = lower, .upper = upper, .bytes = bytes};
}

static sked_packing pack_many(int threads, uint64_t seed)
{
    const sked_buffer_columns columns = draw_many();
    sked_packing p = {.size = sizeof p};
    sked_pack_options opt;
    sked_pack_options_init(&opt);
    opt.time_limit = INFINITY;
    opt.iterations = 12;
    opt.threads = threads;
    opt.seed = seed;
    OK(sked_pack(&columns, &opt, &p, err));
    return p;
}

static void same_seed_and_threads_same_offsets(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        sked_packing a = pack_many(threads, 5), b = pack_many(threads, 5);
        assert_memory_equal(a.offset, b.offset, many * sizeof *a.offset);
        assert_int_equal(a.lower_bound, b.lower_bound);
        sked_packing_clear(&a);
        sked_packing_clear(&b);
    }
}

static void stop_gives_the_incumbent(void **state)
{
    (void)state;
    const sked_buffer_columns columns = draw_many();
    const volatile sig_atomic_t stop = 1;
    sked_packing p = {.size = sizeof p};
    sked_pack_options opt;
    sked_pack_options_init(&opt);
    opt.time_limit = INFINITY;
    opt.stop = &stop;
    OK(sked_pack(&columns, &opt, &p, err));
    assert_true(p.height >= p.lower_bound && p.lower_bound > 0);
    sked_packing_clear(&p);
    opt.capacity = 1;
    FAILS(SKED_ERR_INFEASIBLE, "proven", sked_pack(&columns, &opt, &p, err));
    assert_null(p.offset);
}

/* Each within its capacity, on one thread, as published with the instances. */
static void hard_instances(void **state)
{
    (void)state;
    RESULTS_ONLY();
    NEED_SHARED_DATA();
    for (char name = 'A'; name <= 'F'; name++) {
        char path[700];
        sked_buffers *b = NULL;
        sked_buffer_columns columns = {.size = sizeof columns};
        sked_packing p = {.size = sizeof p};
        sked_pack_options opt;
        sked_pack_options_init(&opt);
        opt.capacity = 1048576;
        opt.time_limit = 60;
        snprintf(path, sizeof path, "%s/buffers/minimalloc_%c.csv", shared_data(), name);
        OK(sked_buffers_read(path, &b, err));
        OK(sked_buffers_columns(b, &columns, err));
        OK(sked_pack(&columns, &opt, &p, err));
        assert_true(p.height <= 1048576);
        sked_packing_clear(&p);
        sked_buffers_destroy(b);
    }
}

/* ------------------------------------------------------------------ files */

static void refuses(const char *text, const char *part)
{
    sked_buffers *b = NULL;
    FAILS(SKED_ERR_FORMAT, part, sked_buffers_parse("b.csv", text, strlen(text), &b, err));
    assert_null(b);
}

static void malformed_tables(void **state)
{
    (void)state;
    refuses("", "empty");
    refuses("id,lower,upper\n", "b.csv:1: the header lacks the column 'size'");
    refuses("id,lower,upper,size,id\n", "b.csv:1: the header has the column 'id' twice");
    refuses("id,lower,upper,size,colour\n", "'colour'");
    refuses("id,lower,upper,size\na,0,1\n", "b.csv:2: 3 fields, but the header has 4 columns");
    refuses("id,lower,upper,size\na,0,1,4\na,0,1,4\n", "b.csv:3: the id 'a' is there twice");
    refuses("id,lower,upper,size\n,0,1,4\n", "without an id");
    refuses("id,lower,upper,size\n\"a\",0,1,4\n", "quote");
    refuses("id,lower,upper,size\na,0,0,4\n", "lower must be below upper");
    refuses("id,lower,upper,size\na,0,nan,4\n", "upper 'nan' is no finite number");
    refuses("id,lower,upper,size\na,0,1,-4\n", "size '-4' is no whole number");
    refuses("id,lower,upper,size\na,0,1,9007199254740992\n", "2^53 - 1");
    refuses("id,lower,upper,size,alignment\na,0,1,4,0\n", "alignment '0'");
    refuses("id,lower,upper,size,alignment,offset\na,0,1,4,4,6\n",
            "offset 6 is no multiple of the alignment, 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_enumeration),
        cmocka_unit_test(judge_agrees_with_pairs),
        cmocka_unit_test(same_seed_and_threads_same_offsets),
        cmocka_unit_test(stop_gives_the_incumbent),
        cmocka_unit_test(hard_instances),
        cmocka_unit_test(malformed_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
