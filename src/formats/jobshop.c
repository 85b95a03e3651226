/*
 * Job shops: comments after '#', `jobs machines`, then per job one `machine duration` pair per machine, in
 * the order the job visits them. Ops are "j<job>.o<step>", pools "m<machine>". docs/formats/jobshop.md
 */
#include "formats/scan.h"

#include <stdio.h>

static sked_status read_op(sked_builder *b, sked_i_scan *s, int32_t job, int32_t step, int32_t machines,
                           sked_error *err)
{
    sked_status st;
    int32_t machine, op;
    double duration;
    char name[32], type[16];
    SKED_TRY(sked_i_scan_int(s, "a machine", 0, machines - 1, &machine, err));
    SKED_TRY(sked_i_scan_number(s, "the duration of an op", &duration, err));
    snprintf(name, sizeof name, "j%d.o%d", (int)job, (int)step);
    snprintf(type, sizeof type, "m%d", (int)machine);
    SKED_BUILD(s->source, s->at - 1, sked_builder_add_op(b, name, type, duration, &op, &cause));
    SKED_BUILD(s->source, s->at - 1, sked_builder_add_demand(b, op, machine, 1, &cause));
    const sked_edge edge = {op - 1, op, NAN, 0, 0};
    if (step > 0)
        SKED_BUILD(s->source, s->at - 1, sked_builder_add_edge(b, &edge, &cause));
cleanup:
    return st;
}

/* One pool per machine. The header is believed only as far as the file could hold what it promises. */
static sked_status read_header(sked_builder *b, sked_i_scan *s, int32_t *jobs, int32_t *machines,
                               sked_error *err)
{
    sked_status st;
    char name[16];
    SKED_TRY(sked_i_scan_int(s, "the number of jobs", 1, INT32_MAX, jobs, err));
    SKED_TRY(sked_i_scan_int(s, "the number of machines", 1, INT32_MAX, machines, err));
    const int64_t least = 4; /* bytes of one pair: two digits, two blanks */
    if (*machines > (s->end - s->at + 1) / least / *jobs)
        return sked_i_source_fail(s->source, s->at - 1, err,
                                  "the file is too short for %d jobs on %d machines", (int)*jobs,
                                  (int)*machines);
    for (int32_t m = 0; m < *machines; m++) {
        snprintf(name, sizeof name, "m%d", (int)m);
        SKED_BUILD(s->source, s->at - 1, sked_builder_add_resource(b, name, 1, NULL, &cause));
    }
cleanup:
    return st;
}

static sked_status read_jobshop(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    sked_status st;
    sked_builder *b = NULL;
    sked_i_scan s = sked_i_scan_source(source);
    int32_t jobs, machines;
    SKED_TRY(sked_i_text_check(source, "a job-shop file", err));
    SKED_TRY(sked_i_source_begin(source, NULL, &b, err));
    SKED_TRY(read_header(b, &s, &jobs, &machines, err));
    for (int32_t j = 0; j < jobs; j++)
        for (int32_t k = 0; k < machines; k++)
            SKED_TRY(read_op(b, &s, j, k, machines, err));
    SKED_TRY(sked_i_scan_end(&s, jobs, "jobs", err));
    SKED_BUILD(source, NULL, sked_builder_finish(b, out, &cause));
cleanup:
    sked_builder_destroy(b);
    return st;
}

/* Two numbers alone on a line, then a line with exactly two numbers per machine. */
static bool sniff_jobshop(const char *text, size_t size)
{
    sked_i_scan s = sked_i_scan_text(text, size);
    sked_i_word w;
    int64_t jobs, machines, x;
    if (!sked_i_scan_word(&s, &w) || !sked_i_parse_int(w.text, w.size, 1, INT32_MAX, &jobs))
        return false;
    s.one_line = true;
    if (!sked_i_scan_word(&s, &w) || !sked_i_parse_int(w.text, w.size, 1, INT32_MAX, &machines) ||
        sked_i_scan_word(&s, &w) || !sked_i_scan_next_line(&s))
        return false;
    int64_t numbers = 0;
    while (sked_i_scan_word(&s, &w)) {
        if (s.at < s.end && !sked_i_parse_int(w.text, w.size, 0, INT32_MAX, &x))
            return false;
        numbers++;
    }
    const bool cut = s.at == s.end; /* a long line may go on past what is seen here */
    return numbers == 2 * machines || (cut && numbers > 0 && numbers < 2 * machines);
}

const sked_i_format sked_i_format_jobshop = {
    .info = {"jobshop", "job shop: machine and duration pairs per job", ".txt .jsp", true, false},
    .sniff = sniff_jobshop,
    .read = read_jobshop,
};
