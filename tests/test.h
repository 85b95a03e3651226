/* What every test program includes: cmocka, the public header, and a few checks with clear messages. */
#ifndef SKED_TESTS_TEST_H
#define SKED_TESTS_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sked/sked.h"

/* The call must succeed; otherwise its message is the failure. */
#define OK(call)                                                  \
    do {                                                          \
        sked_error e_ = {0};                                      \
        sked_error *err = &e_;                                    \
        const sked_status st_ = (call);                           \
        if (st_ != SKED_OK)                                       \
            fail_msg("%s: %s (%d)", #call, e_.message, (int)st_); \
        (void)err;                                                \
    } while (0)

/* The call must fail with this status and a message that contains `part`. */
#define FAILS(want, part, call)                                                              \
    do {                                                                                     \
        sked_error e_ = {0};                                                                 \
        sked_error *err = &e_;                                                               \
        const sked_status st_ = (call);                                                      \
        (void)err;                                                                           \
        if (st_ != (want))                                                                   \
            fail_msg("%s: status %d, not %d: %s", #call, (int)st_, (int)(want), e_.message); \
        if (strstr(e_.message, (part)) == NULL)                                              \
            fail_msg("%s: message '%s' does not say '%s'", #call, e_.message, (part));       \
    } while (0)

/*
 * Under a sanitizer the same code runs on a quarter of the random problems: it looks for other faults than
 * wrong results, which the release build's tests look for, and takes many times as long.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#define CASES(n) (SANITIZED ? ((n) + 3) / 4 : (n))

#define SKIP_UNDER_SANITIZER(why)            \
    do {                                     \
        print_message("skipped: " why "\n"); \
        skip();                              \
    } while (0)
/* A test of one thread shows ThreadSanitizer nothing. */
#if defined(__SANITIZE_THREAD__)
#define ONE_THREAD() SKIP_UNDER_SANITIZER("one thread, under ThreadSanitizer")
#else
#define ONE_THREAD() (void)0
#endif
/* A long test of results, by code that shorter ones run: it shows sanitizers nothing. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define RESULTS_ONLY() SKIP_UNDER_SANITIZER("results only, under a sanitizer")
#else
#define RESULTS_ONLY() (void)0
#endif

/* SKED_SKIP=PATTERN in the environment leaves tests out by name (* and ?): see scripts/valgrind.sh.
 * SKED_ONLY=PATTERN runs no others. */
__attribute__((constructor)) static void choose_by_name(void)
{
    const char *skip_these = getenv("SKED_SKIP"), *only = getenv("SKED_ONLY");
    if (skip_these != NULL)
        cmocka_set_skip_filter(skip_these);
    if (only != NULL)
        cmocka_set_test_filter(only);
}

/* Path of the shared benchmark data, or NULL: then the test skips with a message. */
static inline const char *shared_data(void)
{
    static char path[600];
    const char *given = getenv("SKED_DATA");
    snprintf(path, sizeof path, "%s", given ? given : SKED_SOURCE_DIR "/../shared/data");
    char probe[700];
    snprintf(probe, sizeof probe, "%s/SOURCES.md", path);
    FILE *f = fopen(probe, "r");
    if (f == NULL)
        return NULL;
    fclose(f);
    return path;
}

#define NEED_SHARED_DATA()                                                        \
    do {                                                                          \
        if (shared_data() == NULL) {                                              \
            print_message("skipped: benchmark data is not beside the project\n"); \
            skip();                                                               \
        }                                                                         \
    } while (0)

/* The time alone. */
static inline sked_status measured_time(sked_target *t, const sked_schedule *s, double *time, sked_error *err)
{
    sked_measurement m = {.size = sizeof m};
    const sked_status st = sked_target_measure(t, s, &m, err);
    if (st == SKED_OK)
        *time = m.time;
    sked_measurement_clear(&m);
    return st;
}

static inline sked_machine *must_machine(const char *text)
{
    sked_machine *m = NULL;
    OK(sked_machine_parse("m.json", text, strlen(text), &m, err));
    return m;
}

static inline sked_graph *must_graph(const char *text)
{
    sked_graph *g = NULL;
    OK(sked_graph_parse("g.json", text, strlen(text), NULL, &g, err));
    return g;
}
#endif
