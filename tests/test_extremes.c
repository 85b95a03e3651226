/*
 * Extreme numbers in every place of every file: each number of each seed of each parser (fuzz/parsers.h)
 * becomes 0, a denormal, 2^53 and its neighbours, the largest there is, and what is no number. Parsers owe
 * what they owe the fuzzer. What is accepted is scheduled, drawn and written: with a status that such a file
 * may cause, in time, and no text says nan or inf.
 */
#define _DEFAULT_SOURCE
#include "../fuzz/parsers.h"
#include "report/report.h"
#include "report/table.h"
#include "test.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define SKED_X(name) extern const sked_i_report sked_i_report_##name;
SKED_REPORT_LIST(SKED_X)
#undef SKED_X

static const sked_i_report *const reports[] = {
#define SKED_X(name) &sked_i_report_##name,
    SKED_REPORT_LIST(SKED_X)
#undef SKED_X
};

static const char *const extremes[] = {"0",
                                       "-0",
                                       "-0.0",
                                       "1",
                                       "-1",
                                       "0.1",
                                       "5e-324",
                                       "-5e-324",
                                       "1e-320",
                                       "2.3e-308",
                                       "1e100",
                                       "-1e100",
                                       "1.7e308",
                                       "-1.7e308",
                                       "1e309",
                                       "-1e999",
                                       "9007199254740991",
                                       "9007199254740992",
                                       "9007199254740993",
                                       "2147483647",
                                       "2147483648",
                                       "-2147483649",
                                       "9223372036854775807",
                                       "18446744073709551616",
                                       "nan",
                                       "inf",
                                       "-inf",
                                       "Infinity",
                                       "null"};
enum { n_extremes = sizeof extremes / sizeof *extremes, LIMIT = SANITIZED ? 60 : 5 };

/* ------------------------------------------------------------------ one case */

static char now[1000];                           /* what is tried */
static bool is_word;                             /* and is no number */
static int64_t cases, accepted_cases, scheduled; /* tallies */

/* Seconds of processor time are over: the case hangs. */
static void hang(int signal)
{
    (void)signal;
    (void)!write(STDOUT_FILENO, "hangs: ", 7);
    (void)!write(STDOUT_FILENO, now, strlen(now));
    (void)!write(STDOUT_FILENO, "\n", 1);
    _exit(1);
}

static void set_limit(int seconds)
{
    const struct itimerval timer = {.it_value.tv_sec = seconds};
    assert_int_equal(setitimer(ITIMER_PROF, &timer, NULL), 0);
}

/* Does `word` stand in text where a number may stand? */
static bool says(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *s = text; (s = strstr(s, word)) != NULL; s += length) {
        const unsigned char before = s > text ? (unsigned char)s[-1] : ' ', after = (unsigned char)s[length];
        if (!isalpha(before) && !isalpha(after) && before != '"' && before != '_' && after != '_')
            return true;
    }
    return false;
}

/* A word that is accepted is a name. Of DOT and GML only nan: they write a pool without a limit as inf, and
 * are read again by the check of the parser. */
static void judge_text(const char *what, sked_i_buffer *text)
{
    const bool open = strcmp(what, "dot") == 0 || strcmp(what, "gml") == 0;
    sked_i_buffer_format(text, "%c", 0);
    assert_false(text->failed);
    if (!is_word && (says(text->data, "nan") || says(text->data, "NaN") || says(text->data, "Infinity") ||
                     (!open && says(text->data, "inf"))))
        fail_msg("%s: %s says nan or inf:\n%.2000s", now, what, text->data);
}

/* What may be wrong with numbers that a file may hold: they may be too large, or leave no schedule. */
static void judge_status(const char *what, sked_status st, const sked_error *err)
{
    if (st != SKED_OK && st != SKED_ERR_UNSUPPORTED && st != SKED_ERR_INFEASIBLE && st != SKED_ERR_ARGUMENT &&
        st != SKED_ERR_STOPPED)
        fail_msg("%s: %s: status %d, %s", now, what, (int)st, err->message);
}

static void judge_number(const char *what, double x)
{
    if (isnan(x))
        fail_msg("%s: %s is not a number", now, what);
}

static void draw(const sked_problem *p, const sked_result *r)
{
    sked_report_data data;
    sked_report_data_init(&data);
    data.problem = p;
    data.schedule = r->schedule[0];
    data.method = r->method;
    data.lower_bound = r->lower_bound;
    for (size_t k = 0; k < sizeof reports / sizeof *reports; k++) {
        sked_i_buffer text = {0};
        sked_error why = {0};
        const bool page = strcmp(reports[k]->info.name, "html") == 0; /* its script speaks of NaN */
        const sked_status st = reports[k]->write(&data, &text, &why);
        judge_status(reports[k]->info.name, st, &why);
        if (st == SKED_OK && !page)
            judge_text(reports[k]->info.name, &text);
        sked_i_buffer_free(&text);
    }
}

static void schedule(const sked_problem *p, const char *method, int32_t candidates)
{
    sked_run_options opt;
    sked_result r = {.size = sizeof r};
    sked_error why = {0};
    sked_metrics m = {.size = sizeof m};
    sked_run_options_init(&opt);
    opt.iterations = 3;
    opt.time_limit = 0.5;
    opt.candidates = candidates;
    const sked_status st = sked_method_run(method, p, &opt, &r, &why);
    judge_status(method, st, &why);
    if (st == SKED_OK) {
        scheduled++;
        judge_number("value", r.value);
        judge_number("bound", r.lower_bound);
        OK(sked_schedule_measure(p, r.schedule[0], &m, err));
        judge_number("communication", m.communication);
        judge_number("speedup", m.speedup);
        draw(p, &r);
    }
    sked_result_clear(&r);
}

static void use_problem(sked_problem *p, bool all)
{
    double bound;
    sked_error why = {0};
    const sked_status st = sked_problem_bound(p, &bound, NULL, &why);
    judge_status("bound", st, &why);
    if (st == SKED_OK)
        judge_number("bound", bound);
    for (int k = 0; all && k < sked_method_count(); k++)
        schedule(p, sked_method_at(k)->name, k % 3);
    if (!all)
        schedule(p, "list", 0);
}

/* Without devices, with two, and for another objective. */
static void use_graph(const sked_graph *g, const sked_machine *m, bool all)
{
    sked_problem p;
    sked_problem_init(&p, g);
    p.machine = m;
    p.devices = m != NULL ? sked_machine_device_count(m) : 0;
    if (p.devices > 8)
        return;
    use_problem(&p, all);
    p.objective =
        cases % 8 == 0 ? SKED_OBJECTIVE_MEMORY : SKED_OBJECTIVE_RESOURCE; /* its bound takes a while */
    use_problem(&p, false);
    if (m == NULL) {
        p.objective = SKED_OBJECTIVE_MAKESPAN;
        p.devices = 2;
        p.latency = 1;
        use_problem(&p, all);
    }
}

static void write_graph(const sked_graph *g)
{
    for (int i = 0; i < n_parsers; i++) {
        const sked_i_format *f = parsers[i].format;
        sked_i_buffer text = {0};
        sked_error why = {0};
        if (f == NULL || f->write == NULL)
            continue;
        const sked_status st = f->write(g, &text, &why);
        judge_status(f->info.name, st, &why);
        if (st == SKED_OK)
            judge_text(f->info.name, &text);
        sked_i_buffer_free(&text);
    }
}

/* What the command would do with a file that a parser accepts. */
static void use(const parser *p, const char *bytes, size_t size)
{
    sked_graph *g = seed_graph(), *other = NULL;
    sked_machine *m = NULL;
    sked_error why = {0};
    if (p->format != NULL) {
        const sked_read_options opt = {.size = sizeof opt, .format = p->format->info.name};
        OK(sked_graph_parse("input", bytes, size, &opt, &other, err));
    } else if (strcmp(p->name, "library") == 0)
        OK(sked_i_library_parse("input", bytes, size, g, &other, err));
    else if (strcmp(p->name, "profile") == 0)
        OK(sked_i_durations_parse_profile("input", bytes, size, g, &other, err));
    else if (strcmp(p->name, "machine") == 0) {
        OK(sked_machine_parse("input", bytes, size, &m, err));
        judge_status("profile", sked_graph_profiled(g, m, &other, &why), &why);
    }
    if (other != NULL && sked_graph_op_count(other) < 200) {
        write_graph(other);
        use_graph(other, m, p->format != NULL && strcmp(p->name, "native") == 0);
    }
    sked_graph_destroy(other);
    sked_graph_destroy(g);
    sked_machine_destroy(m);
}

static void try_bytes(const parser *p, const char *bytes, size_t size)
{
    bool accepted = false;
    set_limit(LIMIT);
    const char *wrong = p->check(p, bytes, size, &accepted);
    if (wrong != NULL)
        fail_msg("%s: %s", now, wrong);
    if (accepted)
        use(p, bytes, size);
    cases++;
    accepted_cases += accepted;
}

/* ------------------------------------------------------------------ all cases */

/* The end of the number at s, or s. */
static const char *number_end(const char *s, const char *end)
{
    const char *t = s + (*s == '-');
    if (t >= end || !isdigit((unsigned char)*t))
        return s;
    while (t < end && (isdigit((unsigned char)*t) || *t == '.'))
        t++;
    if (t + 1 < end && (*t == 'e' || *t == 'E') &&
        (isdigit((unsigned char)t[1]) || t[1] == '-' || t[1] == '+'))
        for (t += 2; t < end && isdigit((unsigned char)*t);)
            t++;
    return t;
}

static void try_number(const parser *p, const char *path, const char *bytes, size_t size, size_t at,
                       size_t length)
{
    char *const text = malloc(size + 64);
    assert_non_null(text);
    for (int k = 0; k < n_extremes; k++) {
        const size_t n = strlen(extremes[k]);
        if (SANITIZED && (at + (size_t)k) % 8 != 0)
            continue;
        memcpy(text, bytes, at);
        memcpy(text + at, extremes[k], n);
        memcpy(text + at + n, bytes + at + length, size - at - length);
        snprintf(now, sizeof now, "%s, byte %zu: %.*s is %s", path, at, (int)length, bytes + at, extremes[k]);
        is_word = strpbrk(extremes[k], "ainulf") != NULL;
        try_bytes(p, text, size - length + n);
    }
    free(text);
}

static int try_file(const parser *p, const char *path)
{
    char *bytes = NULL;
    int64_t size = 0;
    int numbers = 0;
    OK(sked_i_file_read(path, 1 << 24, &bytes, &size, err));
    const bool text = memchr(bytes, 0, (size_t)size) == NULL;
    for (const char *s = bytes, *end = bytes + size; text && s < end;) {
        const bool inside = s > bytes && (isalnum((unsigned char)s[-1]) || s[-1] == '_' || s[-1] == '.');
        const char *const after = inside ? s : number_end(s, end);
        if (after > s) {
            numbers++;
            try_number(p, path, bytes, (size_t)size, (size_t)(s - bytes), (size_t)(after - s));
        }
        s = after > s ? after : s + 1;
    }
    free(bytes);
    return numbers;
}

/* Seeds of this parser; how many numbers they have. */
static int try_parser(const parser *p)
{
    char folder[500], path[800];
    int numbers = 0;
    snprintf(folder, sizeof folder, SKED_SOURCE_DIR "/fuzz/seeds/%s", p->name);
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%.400s/%.255s", folder, e->d_name);
            numbers += try_file(p, path);
        }
    if (d != NULL)
        closedir(d);
    return numbers;
}

static void every_number_of_every_file(void **state)
{
    (void)state;
    signal(SIGPROF, hang);
    for (int i = 0; i < n_parsers; i++) {
        const int numbers = try_parser(&parsers[i]);
        const bool binary = strcmp(parsers[i].name, "onnx") == 0 || strcmp(parsers[i].name, "tflite") == 0 ||
                            strcmp(parsers[i].name, "safetensors") == 0;
        if (numbers == 0 && !binary)
            fail_msg("the seeds of %s have no numbers", parsers[i].name);
    }
    set_limit(0);
    print_message("%lld files, %lld accepted, %lld schedules\n", (long long)cases, (long long)accepted_cases,
                  (long long)scheduled);
    assert_true(accepted_cases > cases / 10 && scheduled > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_every_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
