/* The charts of programs: ordinary ones, and that no value makes one that never ends or says nan. */
#include "../tools/cli/chart.h" /* first: cmocka has a macro fail */

#include "test.h"

#include <float.h>
#include <math.h>

static const char path[] = SKED_BINARY_DIR "/test_chart.svg";

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *s = text; (s = strstr(s, part)) != NULL; s++)
        n++;
    return n;
}

/* Two lines over the same x. Returns what was drawn; the caller frees it. */
static char *draw(const double *x, const double *y, int n, bool logarithmic)
{
    const chart_line lines[] = {{"a", "#4393c3", false, y}, {"b", "#e08214", true, x}};
    const chart_panel panel = {"title", "x", logarithmic, true, x, n, lines, 2};
    OK(write_chart(path, &panel, 1, err));
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1 << 20, 1);
    const size_t size = fread(text, 1, 1 << 20, f);
    fclose(f);
    remove(path);
    assert_true(size > 100 && size < 1 << 20);
    return text;
}

static void says(const double *x, const double *y, bool logarithmic, const char *const *labels)
{
    char *text = draw(x, y, 2, logarithmic);
    for (; *labels; labels++) {
        char part[60];
        snprintf(part, sizeof part, ">%s</text>", *labels);
        if (strstr(text, part) == NULL)
            fail_msg("no tick %s in %s", *labels, text);
    }
    free(text);
}

static void ordinary_charts(void **state)
{
    (void)state;
    const double x[] = {10, 50}, y[] = {0, 3.5}, temperature[] = {0.01, 10};
    says(x, y, false, (const char *const[]){"10", "20", "50", "40", NULL});
    says(temperature, y, true, (const char *const[]){"0.01", "0.1", "1", "10", NULL});
}

static void charts_end_whatever_they_show(void **state)
{
    (void)state;
    static const double v[] = {0,          5e-324, 1e-320,     2.3e-308, 1e-100,    1,       9e15,
                               0x1p53 - 1, 0x1p53, 0x1p53 + 2, 4.5e16,   1e100,     1.7e308, -1.7e308,
                               -4.5e16,    -1,     NAN,        INFINITY, -INFINITY, DBL_MIN, DBL_MAX};
    enum { N = sizeof v / sizeof *v };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            const double x[] = {v[i], v[k], 1}, y[] = {v[k], v[i], v[i]};
            for (int n = 0; n <= 3; n++) {
                char *text = draw(x, y, n, v[i] > 0 && v[k] > 0);
                assert_true(count_of(text, "class=\"g\"") <= 30);
                assert_int_equal(count_of(text, "nan") + count_of(text, "inf"), 0);
                free(text);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ordinary_charts),
                                       cmocka_unit_test(charts_end_whatever_they_show)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
