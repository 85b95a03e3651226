/* Backends by name, in a build with CUDA and without, on a machine with a GPU and without. */
#include "test.h"

#include "backend/backend.h"

static void test_cpu(void **state)
{
    (void)state;
    const sked_i_backend *b = NULL;
    OK(sked_i_backend_find("cpu", &b, err));
    assert_ptr_equal(b, &sked_i_backend_cpu);
    b = NULL;
    OK(sked_i_backend_choose("auto", false, &b, err)); /* not worth a GPU */
    assert_ptr_equal(b, &sked_i_backend_cpu);
}

static void test_cuda(void **state)
{
    (void)state;
    const sked_i_backend *b = NULL, *best = NULL;
    sked_error why = {0};
    const sked_status st = sked_i_backend_find("cuda", &b, &why);
    OK(sked_i_backend_choose(NULL, true, &best, err));
    if (st == SKED_ERR_UNSUPPORTED || st == SKED_ERR_DEVICE) {
        assert_ptr_equal(best, &sked_i_backend_cpu);
        assert_non_null(strstr(why.message, "CUDA"));
        print_message("skipped: %s\n", why.message);
        skip();
    }
    assert_int_equal(st, SKED_OK);
    assert_string_equal(b->name, "cuda");
    assert_ptr_equal(best, b);
}

static void test_unknown(void **state)
{
    (void)state;
    const sked_i_backend *b = NULL;
    FAILS(SKED_ERR_ARGUMENT, "opencl", sked_i_backend_find("opencl", &b, err));
    assert_null(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_cuda),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
