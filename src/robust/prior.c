#include "robust/prior.h"

#include "base/explog.h"
#include "base/memory.h"
#include "formats/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char format_id[] = "sked-prior-1";
static const double most_spread = 10;

enum { TOP_FORMAT, TOP_PARAMETERS };
static const char *const top_keys[] = {"format", "parameters"};
static const sked_i_json_fields top_fields = {"a prior", top_keys, 2, true};

enum { ONE_MEDIAN, ONE_SPREAD, ONE_VALUE };
static const char *const one_keys[] = {"median", "spread", "value"};
static const sked_i_json_fields one_fields = {"a parameter", one_keys, 3, true};

typedef struct reader {
    sked_i_json j;
    sked_i_model *m;
    sked_i_names names; /* of the vector's parameters up to the ops, as results call them */
    sked_i_names given; /* in the file so far */
    sked_i_buffer text;
} reader;

/* {"median": 5, "spread": 0.5} or {"value": 5}: median and spread, 0 for a value that is known. */
static void read_one(reader *r, double *median, double *spread)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    *spread = 0;
    sked_i_json_enter(j, '{', "a parameter");
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, &one_fields, &seen)) >= 0;)
        *(k == ONE_SPREAD ? spread : median) = sked_i_json_number(j, one_keys[k]);
    if (j->status != SKED_OK)
        return;
    j->token = begin;
    const bool known = SKED_I_JSON_HAS(seen, ONE_VALUE);
    if (known == SKED_I_JSON_HAS(seen, ONE_MEDIAN) || known == SKED_I_JSON_HAS(seen, ONE_SPREAD))
        sked_i_json_fail(j, "a parameter has \"median\" and \"spread\", or a \"value\"");
    else if (!known && !(*median > 0))
        sked_i_json_fail(j, "a median must be above 0");
    else if (!known && !(*spread > 0 && *spread <= most_spread))
        sked_i_json_fail(j, "a spread is of the logarithm: above 0 and at most %g", most_spread);
    else if (!(*median >= 0))
        sked_i_json_fail(j, "a value must be 0 or more");
}

/* A link or start-up that is known to cost nothing: too little to matter. */
static double log_of(const sked_i_model *m, double x)
{
    return sked_i_model_log(fmax(x, 1e-12 * m->time_scale));
}

static void set_parameter(sked_i_model *m, int64_t k, double median, double spread)
{
    const bool inverse = k >= m->links && k < m->at_start_up; /* bandwidths are times per byte here */
    m->mean[k] = inverse ? -sked_i_model_log(median) : log_of(m, median);
    m->spread[k] = spread;
}

/* "latency" and "bandwidth" alone: of all links. */
static bool set_all_links(sked_i_model *m, const char *name, double median, double spread)
{
    const bool latency = strcmp(name, "latency") == 0;
    if (!latency && strcmp(name, "bandwidth") != 0)
        return false;
    for (int32_t k = 0; k < m->links; k++)
        set_parameter(m, latency ? k : m->links + k, median, spread);
    return true;
}

/* Spreads and noise have ranges; a median outside would leave nothing to draw. */
static void set_normal(reader *r, sked_i_log_normal *n, double low, double high, double median, double spread)
{
    if (spread == 0 && median < low)
        median = low;
    if (!(median >= low && median <= high))
        sked_i_json_fail(&r->j, "'%s' must be from %g to %g", r->text.data, low, high);
    else
        *n = (sked_i_log_normal){sked_i_log(median), spread};
}

static void fail_unknown(reader *r)
{
    const char *names[64];
    char quoted[80], hint[120];
    int n = 0;
    for (int32_t k = 0; k < r->names.count && n < 60; k++)
        names[n++] = sked_i_names_at(&r->names, k);
    names[n++] = "latency";
    names[n++] = "bandwidth";
    names[n++] = "op factors";
    names[n++] = "noise";
    sked_i_json_fail(&r->j, "no parameter of this problem is called '%s'%s",
                     sked_i_quote(r->text.data, (size_t)r->text.size, quoted, sizeof quoted),
                     sked_suggest(r->text.data, names, n, hint, sizeof hint));
}

/* The name into r->text. */
static void read_name(reader *r)
{
    bool fresh = true;
    r->text.size = 0;
    sked_i_buffer_add(&r->text, r->j.key, r->j.key_size);
    if (r->text.failed || sked_i_names_add(&r->given, r->j.key, r->j.key_size, &fresh) < 0)
        sked_i_json_no_memory(&r->j);
    else if (!fresh)
        sked_i_json_fail(&r->j, "a parameter is given twice");
}

static void read_parameter(reader *r)
{
    double median = 0, spread = 0;
    read_name(r);
    if (r->j.status == SKED_OK)
        read_one(r, &median, &spread);
    if (r->j.status != SKED_OK)
        return;
    if (strncmp(r->text.data, "bandwidth", 9) == 0 && !(median > 0)) {
        sked_i_json_fail(&r->j, "a bandwidth must be above 0");
        return;
    }
    int64_t at = sked_i_names_find(&r->names, r->text.data, (size_t)r->text.size);
    if (at < 0 && r->text.size >= SKED_I_MODEL_NAME)
        at = sked_i_model_find(r->m, r->text.data);
    if (strcmp(r->text.data, "op factors") == 0)
        set_normal(r, &r->m->op_spread, sked_i_least_op_spread, sked_i_most_op_spread, median, spread);
    else if (strcmp(r->text.data, "noise") == 0)
        set_normal(r, &r->m->noise, sked_i_least_noise, sked_i_most_noise, median, spread);
    else if (at >= 0)
        set_parameter(r->m, at, median, spread);
    else if (!set_all_links(r->m, r->text.data, median, spread))
        fail_unknown(r);
}

static void read_top(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    sked_i_json_enter(j, '{', "a prior");
    for (int k; (k = sked_i_json_field(j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_PARAMETERS) {
            sked_i_json_enter(j, '{', "\"parameters\"");
            while (sked_i_json_key(j))
                read_parameter(r);
            continue;
        }
        sked_i_json_text(j, "\"format\"", &r->text);
        if (j->status == SKED_OK && strcmp(r->text.data, format_id) != 0)
            sked_i_json_fail(j, "the format is not '%s'", format_id);
    }
    sked_i_json_end(j);
    if (j->status == SKED_OK && !(SKED_I_JSON_HAS(seen, TOP_FORMAT) && SKED_I_JSON_HAS(seen, TOP_PARAMETERS)))
        sked_i_json_fail(j, "a prior needs \"format\": \"%s\" and \"parameters\"", format_id);
}

sked_status sked_i_prior_parse(const char *name, const char *text, size_t size, sked_i_model *m,
                               sked_error *err)
{
    static const sked_read_options none;
    const sked_i_source source = {name, text, size, &none};
    reader r = {.m = m};
    sked_i_json_begin(&r.j, &source, err);
    sked_status st = sked_i_model_names(m, &r.names, err);
    if (st == SKED_OK) {
        read_top(&r);
        st = r.j.status;
    }
    sked_i_names_free(&r.names);
    sked_i_names_free(&r.given);
    sked_i_buffer_free(&r.text);
    sked_i_json_free(&r.j);
    return st;
}

sked_status sked_i_prior_read(const char *path, sked_i_model *m, sked_error *err)
{
    sked_i_json_file file;
    sked_status st = sked_i_json_load(path, &file, err);
    if (st == SKED_OK)
        st = sked_i_prior_parse(file.name, file.text, file.size, m, err);
    free(file.text);
    return st;
}
