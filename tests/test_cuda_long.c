/*
 * The stepwise policy of real sizes on a GPU against the CPU's in single precision, which is much quicker
 * than in double: long graphs, whose row tiles warps take in turn.
 */
#include "stepwise_fixture.h"

/* Log-probabilities and gradients. */
static const setting learnt[] = {
    {"layered", 50, 4, 1, DEFAULT_SIZES(LEARNED), 0.02, 8},
    {"erdos-renyi", 61, 8, 2, DEFAULT_SIZES(UNIFORM), 0.05, 4},
    {"layered", 127, 4, 3, DEFAULT_SIZES(LEARNED), 0.02, 2},
    {"layered", 129, 4, 3, DEFAULT_SIZES(LEARNED), 0.02, 2}, /* more than one tile a warp */
    {"stochastic-block", 200, 5, 4, TILES_WITH(2, 8, LEARNED, LIST), 0.05, 2},
    {"layered", 345, 8, 5, TILES(1, 16, UNIFORM), 0.05, 2},
};
/* Drawn only. */
static const setting drawn[] = {
    {"erdos-renyi", 161, 3, 6, TILES(1, 8, UNIFORM), 0.1, 4},
    {"layered", 345, 8, 7, DEFAULT_SIZES(LEARNED), 0.05, 2},
    {"tree", 450, 8, 8, TILES_WITH(1, 8, UNIFORM, LIST), 0.05, 2}, /* keys and values in global memory */
    {"layered", 530, 8, 9, TILES(1, 8, LEARNED), 0.05, 2},         /* more than 32 tiles */
};

static void test_learnt(void **state)
{
    (void)state;
    if (!patient())
        skip();
    for (size_t k = 0; k < sizeof learnt / sizeof *learnt; k++)
        check_setting(&learnt[k]);
}

static void test_drawn(void **state)
{
    (void)state;
    if (!patient())
        skip();
    for (size_t k = 0; k < sizeof drawn / sizeof *drawn; k++)
        check_drawing(&drawn[k], false, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_learnt), cmocka_unit_test(test_drawn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
