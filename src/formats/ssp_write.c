/* Graphs, and schedules of them, as instances of CIRCT's static scheduling problems: docs/formats/ssp.md. */
#include "formats/ssp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
    const sked_graph *g;
    const sked_i_ssp_times *times;
    sked_i_buffer *out, text;
    sked_error *err;
    sked_i_arena arena;
    double *latency;         /* [ops] */
    int32_t *type;           /* [ops] operator type, -1: none */
    uint8_t *symbol;         /* [ops] named by a symbol: no value stands for it */
    sked_i_names kinds;      /* operator types, "name\x1flatency\x1fdelays" */
    sked_i_names type_names; /* the same as written */
    int32_t *example;        /* [kinds] an op of it */
    int64_t type_cap;
} writer;

static bool is_whole(double x)
{
    return x >= 0 && x <= INT32_MAX && x == floor(x);
}

/* UNSUPPORTED: what SSP cannot say of an op. */
static sked_status refuse_op(const writer *w, int32_t i, const char *why)
{
    char label[80];
    return sked_i_fail(w->err, SKED_ERR_UNSUPPORTED, "SSP cannot hold op '%s': %s",
                       sked_i_op_label(w->g, i, label, sizeof label), why);
}

/* ------------------------------------------------------------------ operator types */

static bool holds_units(const sked_graph *g, int32_t i)
{
    return g->demand_ptr[i] < g->demand_ptr[i + 1];
}

static bool has_delays(const sked_graph *g)
{
    return g->delay_in != NULL || g->delay_out != NULL;
}

static double delay_in(const sked_graph *g, int32_t i)
{
    return g->delay_in != NULL ? g->delay_in[i] : 0;
}

static double delay_out(const sked_graph *g, int32_t i)
{
    return g->delay_out != NULL ? g->delay_out[i] : 0;
}

/* By its out-edges; NAN: none of them says. */
static sked_status find_latency(const writer *w, int32_t i, double *out)
{
    const sked_graph *g = w->g;
    const int64_t begin = g->succ_ptr[i], end = g->succ_ptr[i + 1];
    *out = begin < end ? g->edge_lag[begin] : holds_units(g, i) ? NAN : g->duration[i];
    for (int64_t e = begin; e < end; e++)
        if (g->edge_lag[e] != *out)
            return refuse_op(w, i, "its out-edges have different lags");
    return SKED_OK;
}

/* Units take an op every cycle, one a pool. */
static sked_status check_units(const writer *w, int32_t i)
{
    const sked_graph *g = w->g;
    for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++) {
        if (g->demand_amount[k] != 1)
            return refuse_op(w, i, "it takes more or less than one unit of a pool");
        if (w->latency[i] == 0 && isfinite(g->capacity[g->demand_resource[k]]))
            return refuse_op(w, i, "it holds a unit and has lag 0");
    }
    return SKED_OK;
}

static sked_status check_op(const writer *w, int32_t i)
{
    const double latency = w->latency[i], duration = w->g->duration[i];
    if (!is_whole(latency))
        return refuse_op(w, i, "its lag is no whole number from 0 to 2147483647");
    if (holds_units(w->g, i) && duration != fmin(1, latency))
        return refuse_op(w, i, "it does not hold its unit for one cycle");
    if (!holds_units(w->g, i) && duration != latency)
        return refuse_op(w, i, "its lag is not its duration");
    if (latency == 0 && delay_in(w->g, i) != delay_out(w->g, i))
        return refuse_op(w, i, "its lag is 0 and its delays differ");
    return check_units(w, i);
}

/* Where no edge says, the latency is that of another op of the type. */
static sked_status find_latencies(writer *w)
{
    const sked_graph *g = w->g;
    sked_status st = SKED_OK;
    sked_error *err = w->err;
    double *common = NULL;
    SKED_OWN(&w->arena, w->latency, g->n_ops);
    SKED_OWN(&w->arena, common, g->n_types);
    for (int32_t t = 0; t < g->n_types; t++)
        common[t] = NAN;
    for (int32_t i = 0; i < g->n_ops; i++) {
        SKED_TRY(find_latency(w, i, &w->latency[i]));
        if (g->type[i] >= 0 && isnan(common[g->type[i]]))
            common[g->type[i]] = w->latency[i];
    }
    for (int32_t i = 0; i < g->n_ops; i++) {
        if (isnan(w->latency[i]) && g->duration[i] > 0 && g->type[i] >= 0)
            w->latency[i] = common[g->type[i]];
        if (isnan(w->latency[i]))
            w->latency[i] = g->duration[i];
        SKED_TRY(check_op(w, i));
    }
cleanup:
    return st;
}

/* A name that no operator type has yet: that of the ops' type, or with numbers behind it. */
static bool name_type(writer *w, const char *base, double latency)
{
    bool fresh = false;
    for (int64_t n = -1; !fresh; n++) {
        w->text.size = 0;
        sked_i_buffer_text(&w->text, base);
        if (n >= 0)
            sked_i_buffer_number_after(&w->text, "_", latency);
        if (n > 0)
            sked_i_buffer_format(&w->text, "_%lld", (long long)n);
        if (w->text.failed ||
            sked_i_names_add(&w->type_names, w->text.data, (size_t)w->text.size, &fresh) < 0)
            return false;
    }
    return true;
}

/* An operator type for each type, latency and delay; none for what has none of them. */
static sked_status find_type(writer *w, int32_t i)
{
    const sked_graph *g = w->g;
    bool fresh;
    char base[40];
    w->type[i] = -1;
    if (g->type[i] < 0 && w->latency[i] == 0 && !holds_units(g, i) && !has_delays(g))
        return SKED_OK;
    snprintf(base, sizeof base, "_%d", (int)w->latency[i]);
    const char *name = g->type[i] >= 0 ? sked_graph_op_type(g, i) : base;
    w->text.size = 0;
    sked_i_buffer_text(&w->text, name);
    sked_i_buffer_number_after(&w->text, "\x1f", w->latency[i]);
    sked_i_buffer_number_after(&w->text, "\x1f", delay_in(g, i));
    sked_i_buffer_number_after(&w->text, "\x1f", delay_out(g, i));
    if (!w->text.failed)
        w->type[i] = sked_i_names_add(&w->kinds, w->text.data, (size_t)w->text.size, &fresh);
    if (w->type[i] < 0 || !SKED_OWN_GROW(&w->arena, w->example, w->type_cap, w->kinds.count) ||
        (fresh && !name_type(w, name, w->latency[i])))
        return sked_i_no_memory(w->err);
    if (fresh)
        w->example[w->type[i]] = i;
    return SKED_OK;
}

/* ------------------------------------------------------------------ names */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A string of MLIR. */
static void write_string(sked_i_buffer *out, const char *text)
{
    sked_i_buffer_char(out, '"');
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if (*s >= ' ' && *s < 0x7f && *s != '"' && *s != '\\')
            sked_i_buffer_char(out, (char)*s);
        else
            sked_i_buffer_format(out, "\\%02X", (unsigned)*s);
    sked_i_buffer_char(out, '"');
}

static void write_symbol(sked_i_buffer *out, const char *name)
{
    const char *s = name;
    while (is_letter(*s) || (s > name && (is_digit(*s) || *s == '$' || *s == '.')))
        s++;
    sked_i_buffer_char(out, '@');
    if (s > name && *s == 0)
        sked_i_buffer_text(out, name);
    else
        write_string(out, name);
}

/* %0 or %name */
static bool is_value(const char *name)
{
    const char *s = name + (*name == '%');
    const bool number = is_digit(*s);
    if (s == name || !(number || is_letter(*s)))
        return false;
    while (is_digit(*s) || (!number && is_letter(*s)))
        s++;
    return *s == 0;
}

/* Ops that a graph does not name are values by their number. */
static const char *op_name(const sked_graph *g, int32_t i, char buf[24])
{
    snprintf(buf, 24, "%%%d", (int)i);
    return g->op_names.count > 0 ? sked_i_names_at(&g->op_names, i) : buf;
}

/* Dependences with a distance refer to symbols, so ops with such successors have no values. */
static bool needs_symbol(const sked_graph *g, int32_t i)
{
    char buf[24];
    for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++)
        if (g->edge_distance[e] > 0)
            return true;
    return !is_value(op_name(g, i, buf));
}

static void write_name(writer *w, int32_t i)
{
    char buf[24];
    const char *name = op_name(w->g, i, buf);
    if (w->symbol[i])
        write_symbol(w->out, name);
    else
        sked_i_buffer_text(w->out, name);
}

/* ------------------------------------------------------------------ the text */

static const char *class_of(const sked_graph *g, const sked_i_ssp_times *times)
{
    static const char *const names[2][2][2] = {
        {{"Problem", "ChainingProblem"}, {"CyclicProblem", "ChainingCyclicProblem"}},
        {{"SharedOperatorsProblem", "ChainingSharedOperatorsProblem"},
         {"ModuloProblem", "ChainingModuloProblem"}}};
    return names[g->n_resources > 0][g->n_carried > 0 || times->ii > 0][has_delays(g)];
}

/* A floating-point number of MLIR has a point, and its exponent stands behind digits after that. */
static void write_real(sked_i_buffer *out, const char *before, double x)
{
    char digits[40];
    sked_i_buffer_text(out, before);
    sked_format_number(x, digits, sizeof digits);
    const size_t n = strcspn(digits, "e");
    sked_i_buffer_add(out, digits, n);
    sked_i_buffer_text(out, memchr(digits, '.', n) != NULL ? "" : ".0");
    sked_i_buffer_text(out, digits + n);
    sked_i_buffer_char(out, '>');
}

static void write_type(writer *w, int32_t t)
{
    const int32_t i = w->example[t];
    sked_i_buffer_text(w->out, "    operator_type ");
    write_symbol(w->out, sked_i_names_at(&w->type_names, t));
    sked_i_buffer_format(w->out, " [latency<%d>", (int)w->latency[i]);
    if (has_delays(w->g)) {
        write_real(w->out, ", incDelay<", delay_in(w->g, i));
        write_real(w->out, ", outDelay<", delay_out(w->g, i));
    }
    sked_i_buffer_text(w->out, "]\n");
}

static sked_status write_head(writer *w)
{
    const sked_graph *g = w->g;
    const double ii = w->times->ii;
    sked_i_buffer_text(w->out, "ssp.instance ");
    if (sked_graph_name(g)[0] != 0) {
        write_symbol(w->out, sked_graph_name(g));
        sked_i_buffer_char(w->out, ' ');
    }
    sked_i_buffer_format(w->out, "of \"%s\" ", class_of(g, w->times));
    if (!is_whole(ii))
        return sked_i_fail(w->err, SKED_ERR_UNSUPPORTED,
                           "SSP cannot hold the interval %.17g: it counts cycles", ii);
    if (ii > 0)
        sked_i_buffer_format(w->out, "[II<%d>] ", (int)ii);
    sked_i_buffer_text(w->out, "{\n  library {\n");
    for (int32_t t = 0; t < w->kinds.count; t++)
        write_type(w, t);
    return SKED_OK;
}

static sked_status write_pools(writer *w)
{
    const sked_graph *g = w->g;
    sked_i_buffer_text(w->out, "  }\n  resource {\n");
    for (int32_t r = 0; r < g->n_resources; r++) {
        const char *name = sked_graph_resource_name(g, r);
        sked_i_buffer_text(w->out, "    resource_type ");
        write_symbol(w->out, name);
        if (isfinite(g->capacity[r]) && !is_whole(g->capacity[r]))
            return sked_i_fail(w->err, SKED_ERR_UNSUPPORTED,
                               "SSP cannot hold the capacity %.17g of '%s': it counts units", g->capacity[r],
                               sked_i_quoted_text(name).text);
        if (isfinite(g->capacity[r]))
            sked_i_buffer_format(w->out, " [limit<%d>]", (int)g->capacity[r]);
        sked_i_buffer_char(w->out, '\n');
    }
    sked_i_buffer_text(w->out, "  }\n  graph {\n");
    return SKED_OK;
}

/* Values first, then symbols: auxiliary dependences. */
static void write_dependences(writer *w, int32_t i)
{
    const sked_graph *g = w->g;
    const char *comma = "";
    sked_i_buffer_char(w->out, '(');
    for (int symbols = 0; symbols < 2; symbols++)
        for (int64_t k = g->pred_ptr[i]; k < g->pred_ptr[i + 1]; k++) {
            if (w->symbol[g->pred_op[k]] != symbols)
                continue;
            sked_i_buffer_text(w->out, comma);
            write_name(w, g->pred_op[k]);
            if (g->edge_distance[g->pred_edge[k]] > 0)
                sked_i_buffer_format(w->out, " [dist<%d>]", (int)g->edge_distance[g->pred_edge[k]]);
            comma = ", ";
        }
    sked_i_buffer_char(w->out, ')');
}

static void write_uses(writer *w, int32_t i)
{
    const sked_graph *g = w->g;
    for (int64_t k = g->demand_ptr[i]; k < g->demand_ptr[i + 1]; k++) {
        sked_i_buffer_text(w->out, k == g->demand_ptr[i] ? " uses[" : ", ");
        write_symbol(w->out, sked_graph_resource_name(g, g->demand_resource[k]));
    }
    sked_i_buffer_text(w->out, holds_units(g, i) ? "]" : "");
}

static sked_status write_op(writer *w, int32_t i)
{
    const sked_graph *g = w->g;
    const bool anonymous = g->op_names.count == 0 && g->succ_ptr[i] == g->succ_ptr[i + 1];
    sked_i_buffer_text(w->out, "    ");
    if (!w->symbol[i] && !anonymous) {
        write_name(w, i);
        sked_i_buffer_text(w->out, " = ");
    }
    sked_i_buffer_text(w->out, "operation<");
    if (w->type[i] >= 0)
        write_symbol(w->out, sked_i_names_at(&w->type_names, w->type[i]));
    sked_i_buffer_char(w->out, '>');
    if (w->symbol[i]) {
        sked_i_buffer_char(w->out, ' ');
        write_name(w, i);
    }
    write_dependences(w, i);
    write_uses(w, i);
    if (w->times->start != NULL && !is_whole(w->times->start[i]))
        return refuse_op(w, i, "it starts at a time that is no whole number from 0 to 2147483647");
    if (w->times->start != NULL) {
        sked_i_buffer_format(w->out, " [t<%d>", (int)w->times->start[i]);
        if (w->times->phase != NULL && has_delays(g))
            write_real(w->out, ", z<", w->times->phase[i]);
        sked_i_buffer_char(w->out, ']');
    }
    sked_i_buffer_char(w->out, '\n');
    return SKED_OK;
}

static sked_status write_instance(writer *w)
{
    const sked_graph *g = w->g;
    sked_status st = SKED_OK;
    sked_error *err = w->err;
    SKED_TRY(find_latencies(w));
    SKED_OWN(&w->arena, w->type, g->n_ops);
    SKED_OWN(&w->arena, w->symbol, g->n_ops);
    for (int32_t i = 0; i < g->n_ops; i++) {
        w->symbol[i] = needs_symbol(g, i);
        SKED_TRY(find_type(w, i));
    }
    SKED_TRY(write_head(w));
    SKED_TRY(write_pools(w));
    for (int32_t i = 0; i < g->n_ops; i++)
        SKED_TRY(write_op(w, i));
    sked_i_buffer_text(w->out, "  }\n}\n");
cleanup:
    return st;
}

sked_status sked_i_ssp_write(const sked_graph *g, const sked_i_ssp_times *times, sked_i_buffer *out,
                             sked_error *err)
{
    writer w = {.g = g, .times = times, .out = out, .err = err};
    const sked_status st = write_instance(&w);
    sked_i_buffer_free(&w.text);
    sked_i_names_free(&w.kinds);
    sked_i_names_free(&w.type_names);
    sked_i_arena_free(&w.arena);
    return st;
}
