#include "formats/scan.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

sked_status sked_i_text_check(const sked_i_source *source, const char *kind, sked_error *err)
{
    const char *zero = memchr(source->text, 0, source->size);
    if (zero != NULL)
        return sked_i_source_fail(source, zero, err, "a zero byte (byte %lld): %s is plain text",
                                  (long long)(zero - source->text), kind);
    const sked_i_scan s = sked_i_scan_text(source->text, source->size);
    for (const char *at = s.at; at < s.end; at++)
        if (!is_blank(*at))
            return SKED_OK;
    return sked_i_source_fail(source, source->text, err, "the file is empty, not %s", kind);
}

sked_i_scan sked_i_scan_text(const char *text, size_t size)
{
    const size_t mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return (sked_i_scan){.at = text + mark, .end = text + size};
}

sked_i_scan sked_i_scan_source(const sked_i_source *source)
{
    sked_i_scan s = sked_i_scan_text(source->text, source->size);
    s.source = source;
    return s;
}

bool sked_i_scan_word(sked_i_scan *s, sked_i_word *w)
{
    assert(s->at <= s->end);
    for (;; s->at++) {
        if (s->at < s->end && *s->at == '#')
            s->at = sked_i_line_end(s->at, s->end);
        if (s->at == s->end || (*s->at == '\n' && s->one_line))
            return false;
        if (!is_blank(*s->at))
            break;
    }
    w->text = s->at;
    while (s->at < s->end && !is_blank(*s->at))
        s->at++;
    w->size = (size_t)(s->at - w->text);
    return true;
}

const char *sked_i_line_end(const char *at, const char *end)
{
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return newline ? newline : end;
}

bool sked_i_scan_next_line(sked_i_scan *s)
{
    s->at = sked_i_line_end(s->at, s->end);
    s->at += s->at < s->end;
    return s->at < s->end;
}

sked_status sked_i_scan_line_end(sked_i_scan *s, const char *after, sked_error *err)
{
    sked_i_word w;
    const bool one_line = s->one_line;
    s->one_line = true;
    const bool more = sked_i_scan_word(s, &w);
    s->one_line = one_line;
    if (!more)
        return SKED_OK;
    return sked_i_source_fail(s->source, w.text, err, "'%s' follows %s; the line must end there",
                              sked_i_word_quoted(w).text, after);
}

sked_status sked_i_scan_end(sked_i_scan *s, int32_t count, const char *what, sked_error *err)
{
    sked_i_word w;
    if (!sked_i_scan_word(s, &w))
        return SKED_OK;
    return sked_i_source_fail(s->source, w.text, err, "'%s' follows the last of %d %s",
                              sked_i_word_quoted(w).text, (int)count, what);
}

static sked_status missing(const sked_i_scan *s, const char *what, sked_error *err)
{
    return sked_i_source_fail(s->source, s->at, err, "the %s ends where %s is expected",
                              s->at < s->end ? "line" : "file", what);
}

sked_status sked_i_word_amount(const sked_i_source *source, const char *at, sked_i_word w, const char *what,
                               double *out, sked_error *err)
{
    double x;
    if (!sked_i_parse_double(w.text, w.size, &x) || x < 0)
        return sked_i_source_fail(source, at, err, "%s must be a finite number, 0 or more, not '%s'", what,
                                  sked_i_word_quoted(w).text);
    *out = x;
    return SKED_OK;
}

static sked_status word_real(const sked_i_source *source, const char *at, sked_i_word w, const char *what,
                             double *out, sked_error *err)
{
    if (!sked_i_parse_double(w.text, w.size, out))
        return sked_i_source_fail(source, at, err, "%s must be a finite number, not '%s'", what,
                                  sked_i_word_quoted(w).text);
    return SKED_OK;
}

static sked_status word_int(const sked_i_source *source, const char *at, sked_i_word w, const char *what,
                            int32_t lo, int32_t hi, int32_t *out, sked_error *err)
{
    int64_t x;
    if (!sked_i_parse_int(w.text, w.size, lo, hi, &x))
        return sked_i_source_fail(source, at, err, "%s must be an integer from %d to %d, not '%s'", what,
                                  (int)lo, (int)hi, sked_i_word_quoted(w).text);
    *out = (int32_t)x;
    return SKED_OK;
}

sked_status sked_i_word_attribute(const sked_i_source *source, const char *at, sked_i_word key, sked_i_word w,
                                  bool of_edges, double *value, uint32_t *given, sked_error *err)
{
    const sked_i_attribute *table = of_edges ? sked_i_edge_table : sked_i_op_table;
    const int count = of_edges ? (int)sked_i_edge_attributes : (int)sked_i_op_attributes;
    const int k = sked_i_attribute_number(table, count, key.text, key.size);
    if (k < 0)
        return SKED_OK;
    const char *what = table[k].info.name;
    int32_t whole = 0;
    sked_status st;
    if (given != NULL)
        *given |= (uint32_t)1 << k;
    if (table[k].info.kind == SKED_ATTRIBUTE_REAL)
        return word_real(source, at, w, what, &value[k], err);
    if (table[k].info.kind != SKED_ATTRIBUTE_COUNT)
        return sked_i_word_amount(source, at, w, what, &value[k], err);
    st = word_int(source, at, w, what, 0, INT32_MAX, &whole, err);
    if (st == SKED_OK)
        value[k] = whole;
    return st;
}

sked_status sked_i_scan_number(sked_i_scan *s, const char *what, double *out, sked_error *err)
{
    sked_i_word w;
    if (!sked_i_scan_word(s, &w))
        return missing(s, what, err);
    return sked_i_word_amount(s->source, w.text, w, what, out, err);
}

sked_status sked_i_scan_int(sked_i_scan *s, const char *what, int32_t lo, int32_t hi, int32_t *out,
                            sked_error *err)
{
    sked_i_word w;
    if (!sked_i_scan_word(s, &w))
        return missing(s, what, err);
    return word_int(s->source, w.text, w, what, lo, hi, out, err);
}

bool sked_i_word_is(sked_i_word w, const char *text)
{
    return strlen(text) == w.size && memcmp(w.text, text, w.size) == 0;
}

bool sked_i_word_starts(sked_i_word w, const char *prefix)
{
    const size_t n = strlen(prefix);
    return w.size >= n && strncasecmp(w.text, prefix, n) == 0;
}

sked_i_quoted sked_i_word_quoted(sked_i_word w)
{
    return sked_i_quoted_bytes(w.text, w.size);
}

int32_t sked_i_id_add(sked_i_names *ids, int64_t id, bool *fresh)
{
    char buf[24], *const end = buf + sizeof buf, *s = sked_i_decimal(id, end);
    return sked_i_names_add(ids, s, (size_t)(end - s), fresh);
}

int32_t sked_i_id_find(const sked_i_names *ids, int64_t id)
{
    char buf[24], *const end = buf + sizeof buf, *s = sked_i_decimal(id, end);
    return sked_i_names_find(ids, s, (size_t)(end - s));
}

sked_status sked_i_plain_check(const sked_graph *g, const char *kind, bool resources, sked_error *err)
{
    char from[80], to[80];
    for (int64_t e = 0; e < g->n_edges; e++) {
        const bool carried = g->edge_distance[e] > 0;
        if (!carried && g->edge_lag[e] == g->duration[g->edge_from[e]])
            continue;
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%s cannot hold the %s of edge %s -> %s", kind,
                           carried ? "distance" : "lag",
                           sked_i_op_label(g, g->edge_from[e], from, sizeof from),
                           sked_i_op_label(g, g->edge_to[e], to, sizeof to));
    }
    if (!resources && g->n_ops > 0 && g->demand_ptr[g->n_ops] > 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "%s cannot hold resource demands", kind);
    return SKED_OK;
}
