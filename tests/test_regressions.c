/* Seeds and past crashes of the fuzz targets through their readers, in an ordinary build. */
#include "../fuzz/check_reader.h"
#include "formats/table.h"
#include "test.h"

#include <dirent.h>

#define SKED_X(name) extern const sked_i_format sked_i_format_##name;
SKED_FORMAT_LIST(SKED_X)
#undef SKED_X

static const struct {
    const char *folder;
    const sked_i_format *format;
} formats[] = {
#define SKED_X(name) {#name, &sked_i_format_##name},
    SKED_FORMAT_LIST(SKED_X)
#undef SKED_X
};

static void check_file(const sked_i_format *format, const char *path)
{
    char *text = NULL;
    int64_t size = 0;
    OK(sked_i_file_read(path, 1 << 24, &text, &size, err));
    const char *wrong = check_reader(format->info.name, text, (size_t)size);
    if (wrong != NULL)
        fail_msg("%s: %s", path, wrong);
    free(text);
}

/* Every file of fuzz/<kind>/<folder>; returns how many. A missing folder has none. */
static int check_folder(const char *kind, const char *folder, const sked_i_format *format)
{
    char path[1000];
    int count = 0;
    snprintf(path, sizeof path, SKED_SOURCE_DIR "/fuzz/%s/%s", kind, folder);
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, SKED_SOURCE_DIR "/fuzz/%s/%s/%s", kind, folder, e->d_name);
        check_file(format, path);
        count++;
    }
    if (d != NULL)
        closedir(d);
    return count;
}

static void test_seeds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].format->read != NULL &&
            check_folder("seeds", formats[i].folder, formats[i].format) == 0)
            fail_msg("format '%s' has no seeds in fuzz/seeds/%s", formats[i].format->info.name,
                     formats[i].folder);
}

/* A seed that does not read leads the fuzzer nowhere: at least one per format must. */
static void test_seeds_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const sked_read_options opt = {.size = sizeof opt, .format = formats[i].format->info.name};
        char path[1000];
        int good = 0;
        if (formats[i].format->read == NULL)
            continue;
        snprintf(path, sizeof path, SKED_SOURCE_DIR "/fuzz/seeds/%s", formats[i].folder);
        DIR *d = opendir(path);
        for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
            sked_graph *g = NULL;
            sked_error err = {0};
            snprintf(path, sizeof path, SKED_SOURCE_DIR "/fuzz/seeds/%s/%s", formats[i].folder, e->d_name);
            if (e->d_name[0] == '.')
                continue;
            if (sked_graph_read(path, &opt, &g, &err) == SKED_OK)
                good++;
            else
                print_message("%s\n", err.message);
            sked_graph_destroy(g);
        }
        if (d != NULL)
            closedir(d);
        if (good == 0)
            fail_msg("no seed of format '%s' reads", opt.format);
    }
}

static void test_past_crashes(void **state)
{
    (void)state;
    int count = 0;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        count += check_folder("regressions", formats[i].folder, formats[i].format);
    print_message("%d past crashes\n", count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_seeds_read),
        cmocka_unit_test(test_past_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
