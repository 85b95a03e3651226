/* Several processes on one machine take its GPUs in turn. */
#include "backend/backend.h"
#include "test.h"

/* The fourth process of a machine with fewer GPUs than that shares one. */
static void test_a_process_beyond_the_gpus_shares_one(void **state)
{
    const sked_i_backend *b = NULL;
    (void)state;
    sked_error why = {0};
    if (sked_i_backend_find("cuda", &b, &why) != SKED_OK) {
        print_message("skipped: %s\n", why.message);
        skip();
    }
    sked_i_backend_set_place(3);
    OK(sked_i_backend_find("cuda", &b, err));
    sked_i_backend_set_place(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_process_beyond_the_gpus_shares_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
