/* Numbers, text, options, random numbers, files, threads. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include "comma.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/explog.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/rng.h"
#include "base/sort.h"
#include "base/text.h"
#include "base/thread.h"

#include <dirent.h>
#include <float.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ numbers */

static void round_trip(double x)
{
    char text[40];
    double back;
    sked_format_number(x, text, sizeof text);
    if (!sked_parse_number(text, &back) || back != x)
        fail_msg("%.17g became %s", x, text);
    if (strtod(text, NULL) != x)
        fail_msg("%.17g became %s, which strtod reads as %.17g", x, text, strtod(text, NULL));
    char shortest[40];
    snprintf(shortest, sizeof shortest, "%.15g", x);
    if (x != floor(x) && strtod(shortest, NULL) == x && strlen(text) > strlen(shortest) + 4)
        fail_msg("%s is longer than %s", text, shortest);
}

static void random_doubles_survive(void **state)
{
    (void)state;
    sked_i_rng r;
    sked_i_rng_seed(&r, 1, 1);
    for (int i = 0; i < 100000; i++) {
        const uint64_t bits = sked_i_rng_next(&r);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            round_trip(x);
        round_trip(sked_i_rng_uniform(&r) * 1000);
        round_trip(floor(sked_i_rng_uniform(&r) * 1e6) / 1000);
    }
    static const double limits[] = {
        0,      1,          -1,        0.1,    1.0 / 3, DBL_MAX,     -DBL_MAX,  DBL_MIN,  DBL_EPSILON,
        0x1p53, 0x1p53 + 2, 0x1p-1074, 1e22,   1e23,    123456789.5, 1e15,      1e16 + 2, 1e17,
        9.5e-5, 1e-5,       9.99e-6,   0x1p63, -0x1p63, 0x1.8p1023,  0x1p-1022, 1e21,     1e-300};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        round_trip(limits[i]);
}

static void numbers_look_right(void **state)
{
    (void)state;
    static const struct {
        double x;
        const char *text;
    } want[] = {{0, "0"},
                {-0.0, "0"},
                {1, "1"},
                {-7, "-7"},
                {1e15, "1000000000000000"},
                {0.1, "0.1"},
                {-2.5, "-2.5"},
                {1e-5, "0.00001"},
                {2.5e-6, "2.5e-06"},
                {1e300, "1e+300"},
                {1.5e20, "1.5e+20"},
                {123.456, "123.456"},
                {1e16, "10000000000000000"},
                {INFINITY, "inf"},
                {-INFINITY, "-inf"},
                {NAN, "nan"},
                {0.30000000000000004, "0.30000000000000004"}};
    char text[40];
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_string_equal(sked_format_number(want[i].x, text, sizeof text), want[i].text);
}

/* The first of 15, 16 and 17 digits that strtod reads as x, as %.*e gives them. */
static void check_digits(double x)
{
    char text[40], want[40], digits[2][40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(want, sizeof want, "%.*e", precision - 1, x);
        if (strtod(want, NULL) == x)
            break;
    }
    sked_format_number(x, text, sizeof text);
    for (int k = 0; k < 2; k++) { /* without sign, point, exponent and the zeros at both ends */
        const char *s = k ? want : text;
        size_t n = 0;
        for (; *s && *s != 'e'; s++)
            if (*s >= '0' && *s <= '9' && (n > 0 || *s != '0'))
                digits[k][n++] = *s;
        while (n > 0 && digits[k][n - 1] == '0')
            n--;
        digits[k][n] = 0;
    }
    if (strcmp(digits[0], digits[1]) != 0 || strtod(text, NULL) != x)
        fail_msg("%.17g became %s, not %s", x, text, want);
}

/* Exact arithmetic and the C library agree: at random, on short decimals, beside powers of ten and of two. */
static void numbers_are_as_the_library_has_them(void **state)
{
    (void)state;
    sked_i_rng r;
    sked_i_rng_seed(&r, 5, 1);
    for (int i = 0; i < 30000; i++) {
        const double sign = i % 2 ? -1 : 1, towards = i % 4 < 2 ? INFINITY : 0;
        const int place = (int)sked_i_rng_below(&r, 24);
        check_digits(sign * ldexp(sked_i_rng_uniform(&r), 52 - (int)sked_i_rng_below(&r, 75)));
        check_digits(sign * (double)sked_i_rng_below(&r, 1000000000) / pow(10, place % 15));
        check_digits(sign * nextafter(pow(10, place - 7), towards));
        check_digits(sign * nextafter(ldexp(1, 3 * (place - 7)), towards));
        check_digits(sign * nextafter((double)sked_i_rng_below(&r, 1000) / 8, towards));
    }
}

/* Sorted as by insertion, which is stable: many digits or few that differ, all alike, in runs. */
static void sorts_are_stable(void **state)
{
    (void)state;
    enum { most = 3000 };
    static sked_i_keyed got[most], spare[most];
    static const uint64_t mask[] = {~0ull, 0xff, 0xff000000000000ffull, 0x0fff00000000000full, 0x3, 0};
    sked_i_rng r;
    sked_i_rng_seed(&r, 6, 1);
    for (size_t m = 0; m < sizeof mask / sizeof *mask; m++)
        for (int64_t n = 60; n <= most; n *= 7) {
            for (int64_t i = 0; i < n; i++)
                got[i] = (sked_i_keyed){sked_i_rng_next(&r) & mask[m], i};
            sked_i_sort_keyed(got, spare, n);
            uint64_t sum = 0;
            for (int64_t i = 0; i < n; i++) {
                sum += (uint64_t)got[i].value;
                if (i > 0)
                    assert_true(got[i - 1].key < got[i].key ||
                                (got[i - 1].key == got[i].key && got[i - 1].value < got[i].value));
            }
            assert_int_equal(sum, n * (n - 1) / 2);
        }
    static const double times[] = {0, 1, -1, 0.1, -2.5, 1e300, -1e-300, INFINITY};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_true(sked_i_sort_value(sked_i_sort_key(times[i])) == times[i]);
}

static void decimals_are_read_exactly(void **state)
{
    (void)state;
    static const char *const good[] = {"0",
                                       "-0",
                                       "+1",
                                       "1.",
                                       ".5",
                                       "1e5",
                                       "1E+05",
                                       "1e-05",
                                       "123456789012345678901234567890",
                                       "0.1e1",
                                       "9007199254740993",
                                       "1e-400",
                                       "0e99999999999",
                                       "4.9e-324",
                                       "2.4e-324",
                                       "1.7976931348623157e308",
                                       "00012",
                                       "0.000000000000000000000000000000000001",
                                       "1.00000000000000011102230246251565404236316680908203125"};
    double x;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!sked_parse_number(good[i], &x) || x != strtod(good[i], NULL))
            fail_msg("%s read as %.17g", good[i], x);
    }
    sked_i_rng r;
    sked_i_rng_seed(&r, 2, 1);
    for (int i = 0; i < 50000; i++) { /* random digits, long and short, against the C library */
        char text[80];
        int n = 0;
        const int digits = 1 + (int)sked_i_rng_below(&r, 40),
                  point = (int)sked_i_rng_below(&r, (uint64_t)digits + 1);
        for (int k = 0; k < digits; k++) {
            if (k == point)
                text[n++] = '.';
            text[n++] = (char)('0' + sked_i_rng_below(&r, 10));
        }
        snprintf(text + n, sizeof text - (size_t)n, "e%d", (int)sked_i_rng_below(&r, 700) - 350);
        const bool fits = isfinite(strtod(text, NULL));
        assert_int_equal(sked_parse_number(text, &x), fits);
        if (fits && x != strtod(text, NULL))
            fail_msg("%s read as %.17g", text, x);
    }
}

static void garbage_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",      "-",     "+",        ".",     "e5",      "1e",
                                      "1e+",   "1e5x",  " 1",       "1 ",    "0x10",    "nan",
                                      "inf",   "-inf",  "1,5",      "1e309", "-1e309",  "--1",
                                      "1.2.3", "1e5.5", "infinity", "1_000", "\xc2\xbd"};
    double x = 77;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sked_parse_number(bad[i], &x) || x != 77)
            fail_msg("'%s' was taken", bad[i]);
    assert_true(sked_i_parse_double("12345", 2, &x) && x == 12); /* nothing beyond size is looked at */
    assert_true(sked_i_parse_double("1e3005", 5, &x) && x == 1e300);
    assert_true(sked_i_parse_double("12345678901234567890123e299", 25, &x) && x == 12345678901234567890123e2);
    char *zeros = malloc(2000);
    memset(zeros, '0', 2000);
    assert_true(sked_i_parse_double(zeros, 1000, &x) && x == 0);
    zeros[0] = '1'; /* 1e999 */
    assert_false(sked_i_parse_double(zeros, 1000, &x));
    assert_false(sked_i_parse_double(zeros, 1001, &x)); /* longer than anyone writes */
    free(zeros);
}

static void integers_to_the_limits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t lo, hi, want;
        bool ok;
    } tries[] = {{"0", 0, 0, 0, true},
                 {"-5", -5, 5, -5, true},
                 {"+5", -5, 5, 5, true},
                 {"6", -5, 5, 0, false},
                 {"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX, true},
                 {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, true},
                 {"9223372036854775808", INT64_MIN, INT64_MAX, 0, false},
                 {"-9223372036854775809", INT64_MIN, INT64_MAX, 0, false},
                 {"99999999999999999999999", INT64_MIN, INT64_MAX, 0, false},
                 {"000000000000000000000000012", 0, 20, 12, true},
                 {"1.0", 0, 20, 0, false},
                 {"1e1", 0, 20, 0, false},
                 {"", 0, 20, 0, false},
                 {"-", -20, 20, 0, false},
                 {"1 ", 0, 20, 0, false}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        int64_t x = 77;
        const bool ok = sked_i_parse_int(tries[i].text, strlen(tries[i].text), tries[i].lo, tries[i].hi, &x);
        if (ok != tries[i].ok || x != (ok ? tries[i].want : 77))
            fail_msg("'%s': %d, %lld", tries[i].text, ok, (long long)x);
    }
}

static void locale_changes_nothing(void **state)
{
    (void)state;
    NEED_COMMA();
    char text[40], plain[40];
    double x;
    sked_format_number(0.30000000000000004, text, sizeof text);
    const bool read = sked_parse_number("3.0000000000000000000004e-1", &x);
    snprintf(plain, sizeof plain, "%.1f", 0.5);
    setlocale(LC_ALL, "C");
    assert_string_equal(plain, "0,5");
    assert_string_equal(text, "0.30000000000000004");
    assert_true(read && x == 0.3);
}

/* ------------------------------------------------------------------ text */

static void buffers_escape(void **state)
{
    (void)state;
    static const struct {
        const char *in, *json, *xml;
    } want[] = {
        {"", "\"\"", ""},
        {"plain", "\"plain\"", "plain"},
        {"a\"b\\c\n\t\r", "\"a\\\"b\\\\c\\n\\t\\r\"", "a&quot;b\\c&#10;&#9;&#13;"},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc2\x9b\xe2\x80\xae", "\"\\u009b\\u202e\"",
         "\xc2\x9b\xe2\x80\xae"}, /* C1, a change of direction */
        {"\xef\xbf\xbe\xef\xbf\xbf", "\"\\ufffe\\uffff\"", "\xef\xbf\xbd\xef\xbf\xbd"}, /* not in XML */
        {"\xf0\x9f\xbf\xbe", "\"\\ud83f\\udffe\"", "\xf0\x9f\xbf\xbe"},
        {"<a & 'b'>", "\"<a & 'b'>\"", "&lt;a &amp; &#39;b&#39;&gt;"},
        {"gr\xc3\xbc\xc3\x9f\xf0\x9f\x98\x80", "\"gr\xc3\xbc\xc3\x9f\xf0\x9f\x98\x80\"",
         "gr\xc3\xbc\xc3\x9f\xf0\x9f\x98\x80"},
        {"\xff", "\"\xef\xbf\xbd\"", "\xef\xbf\xbd"},
        {"x\xc3", "\"x\xef\xbf\xbd\"", "x\xef\xbf\xbd"},                          /* cut short */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* above U+10FFFF */
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        sked_i_buffer b = {0};
        sked_i_buffer_json(&b, want[i].in);
        assert_string_equal(b.data, want[i].json);
        sked_i_buffer_free(&b);
        sked_i_buffer_text(&b, "");
        sked_i_buffer_xml(&b, want[i].in);
        assert_string_equal(b.data, want[i].xml);
        assert_int_equal(b.size, strlen(b.data));
        assert_false(b.failed);
        sked_i_buffer_free(&b);
    }
}

static void buffers_grow(void **state)
{
    (void)state;
    sked_i_buffer b = {0};
    for (int i = 0; i < 100000; i++)
        sked_i_buffer_char(&b, (char)('a' + i % 26));
    assert_int_equal(b.size, 100000);
    for (int i = 0; i < 100000; i++)
        assert_true(b.data[i] == 'a' + i % 26);
    sked_i_buffer_free(&b);
    assert_null(b.data);
    sked_i_buffer_int(&b, INT64_MIN);
    sked_i_buffer_char(&b, ' ');
    sked_i_buffer_int(&b, 0);
    sked_i_buffer_char(&b, ' ');
    sked_i_buffer_int(&b, INT64_MAX);
    sked_i_buffer_format(&b, " %d%s", 7, "x");
    sked_i_buffer_number(&b, 0.5);
    assert_string_equal(b.data, "-9223372036854775808 0 9223372036854775807 7x0.5");
    sked_i_buffer_free(&b);
}

static void near_names_are_suggested(void **state)
{
    (void)state;
    static const char *const names[] = {"list", "heft", "search", "modulo-list"};
    char buf[80];
    assert_string_equal(sked_suggest("lsit", names, 4, buf, sizeof buf), " (did you mean 'list'?)");
    assert_string_equal(sked_suggest("serch", names, 4, buf, sizeof buf), " (did you mean 'search'?)");
    assert_string_equal(sked_suggest("modulolist", names, 4, buf, sizeof buf),
                        " (did you mean 'modulo-list'?)");
    assert_string_equal(sked_suggest("zzzzzz", names, 4, buf, sizeof buf), "");
    assert_string_equal(sked_suggest("", names, 4, buf, sizeof buf), "");
    assert_string_equal(sked_suggest("x", names, 0, buf, sizeof buf), "");
    char word[5000];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = 0;
    (void)sked_suggest(word, names, 4, buf, sizeof buf); /* must stay within its table */
}

static void quotes_are_short_and_printable(void **state)
{
    (void)state;
    char buf[80], tiny[8], text[200];
    assert_string_equal(sked_i_quote("a\nb\x7f", 4, buf, sizeof buf), "a\\nb\\x7f");
    memset(text, 'x', sizeof text);
    assert_int_equal(strlen(sked_i_quote(text, sizeof text, buf, sizeof buf)), 63);
    assert_string_equal(buf + 60, "...");
    assert_true(strlen(sked_i_quote(text, sizeof text, tiny, sizeof tiny)) < sizeof tiny);
    memset(text, 'x', 59);
    memcpy(text + 59, "\xc3\xbc\xc3\xbc\xc3\xbc", 6); /* the cut would fall into the first of them */
    sked_i_quote(text, 65, buf, sizeof buf);
    assert_string_equal(buf + 59, "...");
}

/* What terminals obey, or what is no UTF-8, is shown by its number; the rest stays. */
static void escapes(void **state)
{
    (void)state;
    static const char *const want[][2] = {
        {"plain \xc3\xbc \xf0\x9f\x98\x80 \\ \"'", "plain \xc3\xbc \xf0\x9f\x98\x80 \\ \"'"},
        {"\x1b[31m\a\n\t\r\x7f", "\\x1b[31m\\x07\\n\\t\\r\\x7f"},
        {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0"},
        {"\xff\xc3(\xed\xa0\x80\xc0\xaf", "\\xff\\xc3(\\xed\\xa0\\x80\\xc0\\xaf"},
        {"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf",
         "\\u2028\\u2029\\u202a\\u202e\xe2\x80\xaf"},
        {"\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8f\xd8\x9c", "\\u2066\\u2069\\u200f\\u061c"},
        {"\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbf", "\\ufffe\\uffff\xef\xbf\xbd\\U0010ffff"},
        {"cut \xe2\x80", "cut \\xe2\\x80"},
    };
    char buf[200], tiny[8];
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_string_equal(sked_escape(want[i][0], buf, sizeof buf), want[i][1]);
        char again[200];
        assert_string_equal(sked_escape(buf, again, sizeof again), want[i][1]); /* twice is as good as once */
    }
    assert_string_equal(sked_escape("1234567", tiny, sizeof tiny), "1234567");
    assert_string_equal(sked_escape("12345678", tiny, sizeof tiny), "1234...");
    assert_string_equal(sked_escape("123\x1b\x1b", tiny, sizeof tiny), "123..."); /* no half escape */
    assert_string_equal(sked_escape("12", tiny, 1), "");
    assert_string_equal(sked_escape("1234", tiny, 3), "..");
}

/* Whatever a message quotes, it comes out printable, and it is cut between characters. */
static void messages_are_printable(void **state)
{
    (void)state;
    char name[1500];
    sked_error e = {0};
    (void)sked_i_fail(&e, SKED_ERR_FORMAT, "op '%s'", "\x1b]0;x\a\xff\xc2\x9b");
    assert_string_equal(e.message, "op '\\x1b]0;x\\x07\\xff\\u009b'");
    for (int shift = 0; shift < 3; shift++) {
        memset(name, 'x', sizeof name);
        for (size_t i = (size_t)shift; i + 3 < sizeof name; i += 3)
            memcpy(name + i, "\xe2\x82\xac", 3);
        name[sizeof name - 1 - 2] = 0;
        e = (sked_error){0};
        (void)sked_i_fail(&e, SKED_ERR_FORMAT, "%s", name);
        assert_true(sked_i_utf8_valid(e.message));
        assert_non_null(strstr(e.message, "..."));
        assert_null(strchr(e.message, '\\'));
    }
}

/* ------------------------------------------------------------------ status, memory, options */

static void first_cause_wins(void **state)
{
    (void)state;
    sked_error e = {0};
    assert_int_equal(sked_i_fail(&e, SKED_ERR_IO, "first %d", 1), SKED_ERR_IO);
    assert_int_equal(sked_i_fail(&e, SKED_ERR_BUG, "second"), SKED_ERR_BUG);
    assert_int_equal(e.status, SKED_ERR_IO);
    assert_string_equal(e.message, "first 1");
    assert_int_equal(sked_i_fail(NULL, SKED_ERR_IO, "nobody listens"), SKED_ERR_IO);
    e = (sked_error){0};
    sked_i_fail(&e, SKED_ERR_IO, "%2000s", "long");
    assert_int_equal(strlen(e.message), sizeof e.message - 1);
    assert_string_equal(sked_status_text(SKED_ERR_FORMAT), "malformed input");
    assert_string_equal(sked_status_text((sked_status)999), "unknown status");
    assert_string_equal(sked_version(), SKED_VERSION);
}

static void sizes_never_overflow(void **state)
{
    (void)state;
    assert_null(sked_i_alloc(INT64_MAX, 16));
    assert_null(sked_i_alloc(-1, 1));
    assert_null(sked_i_alloc_zero(INT64_MAX, 16));
    assert_null(sked_i_alloc_zero(-1, 1));
    double *a = NULL;
    int64_t cap = 0;
    assert_true(SKED_GROW(a, cap, 3));
    assert_true(cap >= 3);
    double *const before = a;
    const int64_t cap_before = cap;
    assert_false(SKED_GROW(a, cap, INT64_MAX));
    assert_ptr_equal(a, before);
    assert_int_equal(cap, cap_before);
    free(a);
    void *one = sked_i_alloc(0, 8);
    assert_non_null(one);
    free(one);
}

static const sked_option table[] = {
    {"count", SKED_OPTION_INT, "3", 1, 10, NULL, ""},    {"rate", SKED_OPTION_REAL, "0.5", 0, 1, NULL, ""},
    {"fast", SKED_OPTION_BOOL, "false", 0, 0, NULL, ""}, {"mode", SKED_OPTION_ENUM, "b", 0, 0, "a|b|cc", ""},
    {"file", SKED_OPTION_TEXT, "none", 0, 0, NULL, ""},
};

static sked_status parse_one(const char *setting, double *value, sked_error *err)
{
    return sked_i_options_parse("thing", table, 5, &setting, setting ? 1 : 0, value, err);
}

/* The text after the first '='; the last setting of the name counts. */
static void options_of_text(void **state)
{
    (void)state;
    static const char *const settings[] = {"file=first", "count=2", "file=a=b"};
    double v[5];
    OK(parse_one(NULL, v, err));
    assert_string_equal(sked_i_option_text(&table[4], v[4], NULL), "none");
    OK(sked_i_options_parse("thing", table, 5, settings, 3, v, err));
    assert_string_equal(sked_i_option_text(&table[4], v[4], settings), "a=b");
    OK(sked_i_options_parse("thing", table, 5, settings, 2, v, err));
    assert_string_equal(sked_i_option_text(&table[4], v[4], settings), "first");
}

static void options_are_typed(void **state)
{
    (void)state;
    double v[5];
    OK(parse_one(NULL, v, err));
    assert_true(v[0] == 3 && v[1] == 0.5 && v[2] == 0 && v[3] == 1);
    OK(parse_one("count=10", v, err));
    assert_true(v[0] == 10);
    OK(parse_one("rate=1e-3", v, err));
    assert_true(v[1] == 0.001);
    OK(parse_one("mode=cc", v, err));
    assert_true(v[3] == 2);
    static const char *const yes[] = {"fast=true", "fast=yes", "fast=on", "fast=1"};
    for (int i = 0; i < 4; i++) {
        OK(parse_one(yes[i], v, err));
        assert_true(v[2] == 1);
    }
    static const char *const bad[][2] = {{"count=0", "count wants a whole number from 1 to 10"},
                                         {"count=11", "count"},
                                         {"count=2.5", "count"},
                                         {"count=", "count"},
                                         {"count", "needs a value"},
                                         {"rate=2", "rate wants a number from 0 to 1"},
                                         {"rate=nan", "rate"},
                                         {"fast=maybe", "fast wants true or false"},
                                         {"mode=c", "mode wants one of a|b|cc"},
                                         {"mode=", "mode"},
                                         {"mode=a|b", "mode"},
                                         {"cuont=3", "did you mean 'count'"},
                                         {"", "no option ''"},
                                         {"=3", "no option ''"},
                                         {"countx=3", "thing has no option 'countx'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(SKED_ERR_ARGUMENT, bad[i][1], parse_one(bad[i][0], v, err));
    const char *const twice[] = {"count=4", "count=5"}; /* the last one counts */
    OK(sked_i_options_parse("thing", table, 4, twice, 2, v, err));
    assert_true(v[0] == 5);
}

/* ------------------------------------------------------------------ random numbers */

static void random_numbers_are_fixed(void **state)
{
    (void)state;
    static const uint64_t first[] = {0x23ca20b1d75c8474u, 0x5a6c4b90b6736ce6u, 0xdaab6e86e12bab73u,
                                     0x983f9cbd948b543bu};
    static const uint64_t other[] = {0x1bd909043b93d499u, 0xf1c3cb00e97dcc25u, 0x96873c371034b7bbu,
                                     0xe62e6de9ccc25068u};
    sked_i_rng r;
    sked_i_rng_seed(&r, 0, 0);
    for (int i = 0; i < 4; i++)
        assert_true(sked_i_rng_next(&r) == first[i]);
    sked_i_rng_seed(&r, 42, 7);
    for (int i = 0; i < 4; i++)
        assert_true(sked_i_rng_next(&r) == other[i]);
}

static void random_numbers_are_uniform(void **state)
{
    (void)state;
    const int n = 200000;
    sked_i_rng r;
    double sum = 0, squares = 0, normal = 0, normal_squares = 0, exponential = 0;
    int64_t count[7] = {0};
    sked_i_rng_seed(&r, 3, 3);
    for (int i = 0; i < n; i++) {
        const double u = sked_i_rng_uniform(&r), z = sked_i_rng_normal(&r), x = sked_i_rng_exponential(&r);
        const uint64_t k = sked_i_rng_below(&r, 7);
        assert_true(u >= 0 && u < 1 && k < 7 && x >= 0 && isfinite(z));
        count[k]++;
        sum += u;
        squares += u * u;
        normal += z;
        normal_squares += z * z;
        exponential += x;
    }
    assert_true(fabs(sum / n - 0.5) < 0.004 && fabs(squares / n - 1.0 / 3) < 0.004);
    assert_true(fabs(normal / n) < 0.012 && fabs(normal_squares / n - 1) < 0.02);
    assert_true(fabs(exponential / n - 1) < 0.012);
    for (int k = 0; k < 7; k++)
        assert_true(fabs((double)count[k] - n / 7.0) < 900);
    assert_true(sked_i_rng_below(&r, 1) == 0);
    for (int i = 0; i < 1000; i++) { /* where a plain remainder would be badly biased */
        const uint64_t big = (uint64_t)3 << 62;
        assert_true(sked_i_rng_below(&r, big) < big);
    }
}

static void shuffles_are_fair(void **state)
{
    (void)state;
    int seen[6] = {0};
    sked_i_rng r;
    sked_i_rng_seed(&r, 4, 4);
    for (int i = 0; i < 60000; i++) {
        int32_t a[3] = {0, 1, 2};
        sked_i_rng_shuffle(&r, a, 3);
        assert_int_equal((1 << a[0]) | (1 << a[1]) | (1 << a[2]), 7);
        seen[a[0] * 2 + (a[1] > a[2])]++;
    }
    for (int k = 0; k < 6; k++)
        assert_true(abs(seen[k] - 10000) < 500);
}

static void log_and_exp_are_close(void **state)
{
    (void)state;
    sked_i_rng r;
    sked_i_rng_seed(&r, 5, 5);
    assert_true(sked_i_log(1) == 0 && sked_i_exp(0) == 1 && sked_i_exp_quick(0) == 1);
    for (int i = 0; i < 100000; i++) {
        const double y = 1400 * sked_i_rng_uniform(&r) - 700,
                     x = exp(y / 2) * sked_i_rng_uniform(&r) + DBL_MIN;
        assert_true(fabs(sked_i_exp(y) / exp(y) - 1) < 3e-15);
        assert_true(fabs(sked_i_exp_quick(y) / exp(y) - 1) < 3e-15);
        assert_true(fabs(sked_i_log(x) - log(x)) <= 3e-16 * (fabs(log(x)) + 1));
        const double u = 1 - sked_i_rng_uniform(&r);
        assert_true(fabs(sked_i_log(u) - log(u)) <= 4e-16 * fabs(log(u)));
    }
}

/* ------------------------------------------------------------------ files, threads */

static char folder[] = "/tmp/sked-base-XXXXXX";

static const char *inside(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int entries(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(inside("file"));
    return rmdir(folder); /* fails where a test left something behind */
}

static void files_appear_whole(void **state)
{
    (void)state;
    char *data;
    int64_t size;
    OK(sked_i_file_write(inside("file"), "first", 5, err));
    OK(sked_i_file_write(inside("file"), "second\0x", 8, err));
    OK(sked_i_file_read(inside("file"), 100, &data, &size, err));
    assert_int_equal(size, 8);
    assert_memory_equal(data, "second\0x", 9);
    free(data);
    assert_int_equal(entries(), 1);
    struct stat info;
    const mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(inside("file"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
    assert_true(sked_i_file_exists(inside("file")));
    assert_false(sked_i_file_exists(inside("none")));
    assert_false(sked_i_file_exists(folder));
    FAILS(SKED_ERR_FORMAT, "limit is 7", sked_i_file_read(inside("file"), 7, &data, &size, err));
    OK(sked_i_file_write(inside("file"), "", 0, err));
    OK(sked_i_file_read(inside("file"), 0, &data, &size, err));
    assert_int_equal(size, 0);
    assert_int_equal(data[0], 0);
    free(data);
}

static void io_errors_are_said(void **state)
{
    (void)state;
    char *data;
    int64_t size;
    FAILS(SKED_ERR_IO, "no-such-folder/x: cannot create",
          sked_i_file_write(inside("no-such-folder/x"), "a", 1, err));
    FAILS(SKED_ERR_IO, "none: cannot open: No such file",
          sked_i_file_read(inside("none"), 10, &data, &size, err));
    FAILS(SKED_ERR_IO, "is a directory", sked_i_file_read(folder, 10, &data, &size, err));
    FAILS(SKED_ERR_IO, "cannot", sked_i_file_write(folder, "a", 1, err));
    FAILS(SKED_ERR_IO, "/dev/full: cannot write: No space", sked_i_file_write("/dev/full", "a", 1, err));
    assert_int_equal(mkdir(inside("locked"), 0500), 0);
    if (geteuid() != 0) /* root may write anywhere */
        FAILS(SKED_ERR_IO, "cannot create", sked_i_file_write(inside("locked/x"), "a", 1, err));
    assert_int_equal(rmdir(inside("locked")), 0);
    OK(sked_i_file_write("/dev/null", "a", 1, err));
}

typedef struct shared_work {
    sked_i_rng rng[8];
    double sum[8];
} shared_work;

static void add_up(void *data, int index)
{
    shared_work *w = data;
    sked_i_rng_seed(&w->rng[index], 9, (uint64_t)index);
    w->sum[index] = 0;
    for (int i = 0; i < 10000; i++)
        w->sum[index] += sked_i_rng_uniform(&w->rng[index]);
}

static void threads_give_one_result(void **state)
{
    (void)state;
    shared_work a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    OK(sked_i_parallel(8, add_up, &a, err));
    for (int i = 0; i < 8; i++)
        add_up(&b, i);
    assert_memory_equal(a.sum, b.sum, sizeof a.sum);
    OK(sked_i_parallel(1, add_up, &a, err));
    assert_memory_equal(a.sum, b.sum, sizeof a.sum);
    OK(sked_i_parallel(0, add_up, NULL, err));
}

static void limits_are_kept(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 0;
    sked_run_options o = {.time_limit = INFINITY, .stop = &stop};
    sked_i_limit limit;
    sked_i_limit_init(&limit, &o);
    assert_false(sked_i_limit_reached(&limit));
    assert_true(isnan(sked_i_limit_share(&limit)));
    stop = 1;
    assert_true(sked_i_limit_reached(&limit));
    o = (sked_run_options){.time_limit = 0.005};
    sked_i_limit_init(&limit, &o);
    assert_false(sked_i_limit_reached(&limit));
    while (!sked_i_limit_reached(&limit))
        assert_in_range((int)(1000 * sked_i_limit_share(&limit)), 0, 1000);
    assert_true(sked_clock() - limit.begin >= 0.005);
    assert_true(sked_i_limit_share(&limit) == 1);
}

/* Arrays of an arena grow, go early or stay, in any order, and keep what they hold. */
static void arenas_own_arrays(void **state)
{
    (void)state;
    enum { arrays = 40, rounds = 4000 };
    sked_i_arena a = {0};
    int32_t *array[arrays] = {0};
    int64_t cap[arrays] = {0}, size[arrays] = {0};
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 7, 0);
    for (int k = 0; k < rounds; k++) {
        const int i = (int)sked_i_rng_below(&rng, arrays), what = (int)sked_i_rng_below(&rng, 8);
        if (what == 0) {
            sked_i_arena_drop(&a, array[i]);
            array[i] = NULL;
            cap[i] = size[i] = 0;
        } else if (what == 1) {
            array[i] = sked_i_arena_shrink(&a, array[i], size[i], sizeof *array[i]);
            cap[i] = size[i];
        } else {
            assert_true(SKED_OWN_GROW(&a, array[i], cap[i], size[i] + 1));
            array[i][size[i]] = (int32_t)(1000 * i + size[i]);
            size[i]++;
        }
        const sked_i_arena moved = a;
        a = moved;
    }
    for (int i = 0; i < arrays; i++)
        for (int64_t k = 0; k < size[i]; k++)
            assert_int_equal(array[i][k], 1000 * i + k);
    const unsigned char *zero = sked_i_arena_alloc_zero(&a, 100, 1);
    for (int k = 0; k < 100; k++)
        assert_int_equal(zero[k], 0);
    assert_string_equal(sked_i_arena_strdup(&a, "text"), "text");
    assert_int_equal((uintptr_t)sked_i_arena_alloc(&a, 0, 8) % 16, 0);
    sked_i_arena_free(&a);
    assert_null(a.last);
    sked_i_arena_free(&a);
}

static void arenas_refuse_what_cannot_be(void **state)
{
    (void)state;
    sked_i_arena a = {0};
    double *x = NULL;
    int64_t cap = 0;
    assert_null(sked_i_arena_alloc(&a, -1, 8));
    assert_null(sked_i_arena_alloc(&a, INT64_MAX / 8, 8));
    assert_null(sked_i_arena_alloc(&a, INT64_MAX, 8));
    assert_null(sked_i_arena_alloc_zero(&a, INT64_MAX - 15, 1));
    assert_true(SKED_OWN_GROW(&a, x, cap, 1));
    x[0] = 3;
    assert_false(SKED_OWN_GROW(&a, x, cap, INT64_MAX / 8));
    assert_false(SKED_OWN_GROW(&a, x, cap, INT64_MAX));
    assert_true(x[0] == 3 && cap < 100);
    sked_i_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_doubles_survive),
        cmocka_unit_test(numbers_look_right),
        cmocka_unit_test(numbers_are_as_the_library_has_them),
        cmocka_unit_test(sorts_are_stable),
        cmocka_unit_test(decimals_are_read_exactly),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(integers_to_the_limits),
        cmocka_unit_test(locale_changes_nothing),
        cmocka_unit_test(buffers_escape),
        cmocka_unit_test(buffers_grow),
        cmocka_unit_test(arenas_own_arrays),
        cmocka_unit_test(arenas_refuse_what_cannot_be),
        cmocka_unit_test(near_names_are_suggested),
        cmocka_unit_test(quotes_are_short_and_printable),
        cmocka_unit_test(escapes),
        cmocka_unit_test(messages_are_printable),
        cmocka_unit_test(first_cause_wins),
        cmocka_unit_test(sizes_never_overflow),
        cmocka_unit_test(options_of_text),
        cmocka_unit_test(options_are_typed),
        cmocka_unit_test(random_numbers_are_fixed),
        cmocka_unit_test(random_numbers_are_uniform),
        cmocka_unit_test(shuffles_are_fair),
        cmocka_unit_test(log_and_exp_are_close),
        cmocka_unit_test_setup_teardown(files_appear_whole, make_folder, NULL),
        cmocka_unit_test_setup_teardown(io_errors_are_said, NULL, remove_folder),
        cmocka_unit_test(threads_give_one_result),
        cmocka_unit_test(limits_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
