/* Seeds and past crashes of the fuzz targets through their parsers, in an ordinary build. */
#define _DEFAULT_SOURCE
#include "../fuzz/parsers.h"
#include "guard.h"
#include "test.h"

#include <dirent.h>

typedef struct sample {
    char path[600];
    char *bytes;
    size_t size;
} sample;

/* Calls visit for every file of fuzz/<kind>/<parser>; returns how many. A missing folder has none. */
static int each_file(const char *kind, const parser *p,
                     void (*visit)(const parser *p, const sample *s, void *data), void *data)
{
    char folder[500];
    int count = 0;
    snprintf(folder, sizeof folder, SKED_SOURCE_DIR "/fuzz/%s/%s", kind, p->name);
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        sample s = {0};
        int64_t size = 0;
        if (e->d_name[0] == '.')
            continue;
        snprintf(s.path, sizeof s.path, "%.300s/%.250s", folder, e->d_name);
        OK(sked_i_file_read(s.path, 1 << 24, &s.bytes, &size, err));
        s.size = (size_t)size;
        visit(p, &s, data);
        free(s.bytes);
        count++;
    }
    if (d != NULL)
        closedir(d);
    return count;
}

/* Counts in *data what the parser accepts. */
static void check_file(const parser *p, const sample *s, void *data)
{
    bool accepted = false;
    const char *wrong = p->check(p, s->bytes, s->size, &accepted);
    if (wrong != NULL)
        fail_msg("%s: %s", s->path, wrong);
    *(int *)data += accepted;
}

/* A seed that is refused leads the fuzzer nowhere: at least one per parser must be accepted. */
static void test_seeds(void **state)
{
    (void)state;
    for (int i = 0; i < n_parsers; i++) {
        int accepted = 0;
        if (parsers[i].format != NULL && parsers[i].format->read == NULL)
            continue;
        each_file("seeds", &parsers[i], check_file, &accepted);
        if (accepted == 0)
            fail_msg("no seed in fuzz/seeds/%s is accepted", parsers[i].name);
    }
}

static void test_past_crashes(void **state)
{
    (void)state;
    int count = 0, accepted = 0;
    for (int i = 0; i < n_parsers; i++)
        count += each_file("regressions", &parsers[i], check_file, &accepted);
    print_message("%d past crashes\n", count);
}

/* The file and (up to two thousand of) its beginnings, each with nothing readable behind its last byte. */
static void check_guarded(const parser *p, const sample *s, void *data)
{
    guard g = guard_open(s->size);
    const size_t step = 1 + s->size / 2000;
    (void)data;
    for (size_t size = 0; size <= s->size;
         size = size < s->size && size + step > s->size ? s->size : size + step) {
        bool accepted = false;
        const char *wrong = p->check(p, guard_copy(&g, s->bytes, size), size, &accepted);
        if (wrong != NULL)
            fail_msg("%s, first %zu bytes: %s", s->path, size, wrong);
    }
    guard_close(&g);
}

static void test_nothing_is_read_behind_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < n_parsers; i++) {
        each_file("seeds", &parsers[i], check_guarded, NULL);
        each_file("regressions", &parsers[i], check_guarded, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_past_crashes),
        cmocka_unit_test(test_nothing_is_read_behind_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
