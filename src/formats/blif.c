/*
 * BLIF netlists. Ops are the primary inputs and whatever drives a signal (.names, .gate, .latch), named
 * after that signal; edges run from the driver of a signal to its users. docs/formats/blif.md
 */
#include "formats/scan.h"

#include <string.h>

typedef struct signal {
    int32_t driver; /* op, -1: none yet */
    int32_t user;   /* op that was last seen to use it, so that a gate gets one edge per signal */
} signal_info;

typedef struct use {
    int32_t signal, op; /* op -1: a primary output */
    int32_t distance;
    int32_t operand; /* 0 where the order of drivers says it */
    const char *at;
} use;

/* Tables with more rows or inputs are written as lists. */
enum { longest_sum = 64 };

/* A .names: what it computes is written when all drivers are known. */
typedef struct gate {
    int32_t op, inputs;
    int64_t input;     /* its signals, each as often as it is listed, from here on in reader.input */
    const char *cover; /* the first row; NULL: none */
    int64_t rows;
    bool zero; /* they say where the output is 0 */
} gate;

typedef struct reader {
    sked_i_arena arena;
    const sked_i_source *source;
    sked_error *err;
    const char *at, *end;
    const char *command; /* where the one at hand stands */
    sked_builder *builder;
    sked_i_names names;
    signal_info *signal; /* [names.count] */
    use *use;
    gate *gate;
    int32_t *input; /* signals */
    int64_t signal_cap, uses, use_cap, gates, gate_cap, inputs, input_cap;
    sked_i_buffer text;                       /* of an expression */
    bool named, ended, has_outputs, in_cover; /* .model, .end, .outputs seen; rows of a table may follow */
} reader;

/* ------------------------------------------------------------------ words */

/* Length of a backslash before a line end, which joins two lines; 0: none. */
static size_t continuation(const reader *r)
{
    const char *s = r->at;
    if (*s != '\\')
        return 0;
    return r->end - s >= 2 && s[1] == '\n' ? 2 : r->end - s >= 3 && s[1] == '\r' && s[2] == '\n' ? 3 : 0;
}

/* Next word of the (continued) line; false at its end. */
static bool next_word(reader *r, sked_i_word *w)
{
    for (size_t skip = 1; r->at < r->end && skip > 0; r->at += skip) {
        if (*r->at == '#')
            r->at = sked_i_line_end(r->at, r->end);
        if (r->at == r->end || *r->at == '\n')
            return false;
        skip = *r->at == ' ' || *r->at == '\t' || *r->at == '\r' ? 1 : continuation(r);
    }
    w->text = r->at;
    while (r->at < r->end && (unsigned char)*r->at > ' ' && *r->at != '#' && continuation(r) == 0)
        r->at++;
    w->size = (size_t)(r->at - w->text);
    return w->size > 0;
}

static sked_status need_word(reader *r, const char *what, sked_i_word *w)
{
    if (next_word(r, w))
        return SKED_OK;
    return sked_i_source_fail(r->source, r->at, r->err, "the line ends where %s is expected", what);
}

/* ------------------------------------------------------------------ signals */

static sked_status find_signal(reader *r, sked_i_word w, int32_t *out)
{
    bool fresh;
    if (!SKED_OWN_GROW(&r->arena, r->signal, r->signal_cap, (int64_t)r->names.count + 1))
        return sked_i_no_memory(r->err);
    *out = sked_i_names_add(&r->names, w.text, w.size, &fresh);
    if (*out < 0)
        return sked_i_no_memory(r->err);
    if (fresh)
        r->signal[*out] = (signal_info){-1, -1};
    return SKED_OK;
}

/* The op that drives signal w: it is named after it. All numbers 1. */
static sked_status drive(reader *r, sked_i_word w, const char *type)
{
    sked_status st;
    sked_error *err = r->err;
    int32_t s = -1, op;
    SKED_TRY(find_signal(r, w, &s));
    if (r->signal[s].driver >= 0)
        return sked_i_source_fail(r->source, w.text, err, "signal '%s' is driven twice",
                                  sked_i_word_quoted(w).text);
    SKED_BUILD(r->source, w.text,
               sked_builder_add_op(r->builder, sked_i_names_at(&r->names, s), type, 1, &op, &cause));
    SKED_BUILD(r->source, w.text, sked_builder_set_memory(r->builder, op, 1, &cause));
    r->signal[s].driver = op;
cleanup:
    return st;
}

/* Notes that op (-1: the world outside) uses signal s; who drives it may come later. */
static sked_status add_use(reader *r, use u)
{
    if (!SKED_OWN_GROW(&r->arena, r->use, r->use_cap, r->uses + 1))
        return sked_i_no_memory(r->err);
    r->use[r->uses++] = u;
    return SKED_OK;
}

/* An input of the .names that is at hand: one edge per signal. */
static sked_status use_input(reader *r, sked_i_word w, int32_t op)
{
    int32_t s = -1;
    const sked_status st = find_signal(r, w, &s);
    if (st != SKED_OK)
        return st;
    if (!SKED_OWN_GROW(&r->arena, r->input, r->input_cap, r->inputs + 1))
        return sked_i_no_memory(r->err);
    r->input[r->inputs++] = s;
    if (r->signal[s].user == op)
        return SKED_OK;
    r->signal[s].user = op;
    return add_use(r, (use){s, op, 0, 0, w.text});
}

static sked_status use_signal(reader *r, sked_i_word w, int32_t op, int32_t distance, int32_t operand)
{
    int32_t s = -1;
    const sked_status st = find_signal(r, w, &s);
    return st != SKED_OK ? st : add_use(r, (use){s, op, distance, operand, w.text});
}

/* ------------------------------------------------------------------ commands */

static sked_status read_model(reader *r)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    sked_i_word w;
    bool fresh;
    if (r->named || sked_builder_op_count(r->builder) > 0)
        return sked_i_source_refuse(r->source, r->command, SKED_ERR_UNSUPPORTED, err,
                                    "a second .model: sked reads flat netlists of one model");
    r->named = true;
    if (!next_word(r, &w))
        return SKED_OK;
    sked_i_names copy = {0}; /* 0-terminates it */
    if (sked_i_names_add(&copy, w.text, w.size, &fresh) < 0)
        st = sked_i_no_memory(err);
    else
        SKED_BUILD(r->source, r->command,
                   sked_builder_set_name(r->builder, sked_i_names_at(&copy, 0), &cause));
cleanup:
    sked_i_names_free(&copy);
    return st;
}

static sked_status read_inputs(reader *r)
{
    sked_i_word w;
    sked_status st = SKED_OK;
    while (st == SKED_OK && next_word(r, &w))
        st = drive(r, w, "input");
    return st;
}

static sked_status read_outputs(reader *r)
{
    sked_i_word w;
    sked_status st = SKED_OK;
    r->has_outputs = true;
    while (st == SKED_OK && next_word(r, &w))
        st = use_signal(r, w, -1, 0, 0);
    return st;
}

/* All words but the last are inputs of the op that drives the last. */
static sked_status read_names(reader *r)
{
    sked_status st = SKED_OK;
    const int32_t op = sked_builder_op_count(r->builder);
    const int64_t first = r->inputs;
    sked_i_word output, w;
    SKED_TRY(need_word(r, "the output of .names", &output));
    while (next_word(r, &w)) {
        SKED_TRY(use_input(r, output, op));
        output = w;
    }
    SKED_TRY(drive(r, output, "names"));
    if (!SKED_OWN_GROW(&r->arena, r->gate, r->gate_cap, r->gates + 1))
        return sked_i_no_memory(r->err);
    r->gate[r->gates++] = (gate){op, (int32_t)(r->inputs - first), first, NULL, 0, false};
    r->in_cover = true;
cleanup:
    return st;
}

/* "formal=actual" leaves the actual. */
static sked_status take_actual(reader *r, sked_i_word *w)
{
    const char *equals = memchr(w->text, '=', w->size);
    if (equals == NULL || equals + 1 == w->text + w->size)
        return sked_i_source_fail(r->source, w->text, r->err, "'%s' is not of the form pin=signal",
                                  sked_i_word_quoted(*w).text);
    w->size -= (size_t)(equals + 1 - w->text);
    w->text = equals + 1;
    return SKED_OK;
}

/* A library cell with one output, which mapped netlists list last; its type is the cell's name. */
static sked_status read_gate(reader *r)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const int32_t op = sked_builder_op_count(r->builder);
    int32_t operand = 0;
    sked_i_word cell, output, w;
    sked_i_buffer type = {0};
    SKED_TRY(need_word(r, "the name of a cell", &cell));
    SKED_TRY(need_word(r, "pin=signal", &output));
    SKED_TRY(take_actual(r, &output));
    while (next_word(r, &w)) {
        SKED_TRY(take_actual(r, &w));
        SKED_TRY(use_signal(r, output, op, 0, operand++));
        output = w;
    }
    sked_i_buffer_add(&type, cell.text, cell.size);
    if (type.failed)
        st = sked_i_no_memory(err);
    else if (!sked_i_utf8_valid(type.data))
        st = sked_i_source_fail(r->source, r->command, err, "the name of the cell is not valid UTF-8");
    else
        st = drive(r, output, type.data);
cleanup:
    sked_i_buffer_free(&type);
    return st;
}

/* A register hands on what its input was one round earlier: a loop-carried edge. */
static sked_status read_latch(reader *r)
{
    sked_status st = SKED_OK;
    const int32_t op = sked_builder_op_count(r->builder);
    sked_i_word input, output, w;
    int more = 0;
    SKED_TRY(need_word(r, "the input of .latch", &input));
    SKED_TRY(need_word(r, "the output of .latch", &output));
    SKED_TRY(use_signal(r, input, op, 1, 0));
    SKED_TRY(drive(r, output, "latch"));
    while (next_word(r, &w)) /* type, clock and initial value carry no data */
        more++;
    if (more > 3)
        return sked_i_source_fail(r->source, r->command, r->err, "a .latch has at most five fields, not %d",
                                  more + 2);
cleanup:
    return st;
}

static sked_status read_end(reader *r)
{
    r->ended = true;
    return SKED_OK;
}

/* Timing, drive and annotation commands say nothing about the graph; the rest of the line is skipped. */
static sked_status read_nothing(reader *r)
{
    sked_i_word w;
    while (next_word(r, &w))
        ;
    return SKED_OK;
}

static const struct command {
    const char *name;
    sked_status (*read)(reader *r);
} commands[] = {
    {".names", read_names},
    {".inputs", read_inputs},
    {".outputs", read_outputs},
    {".gate", read_gate},
    {".latch", read_latch},
    {".model", read_model},
    {".end", read_end},
    {".exdc", read_end}, /* don't cares: a second network that is never built */
    {".clock", read_nothing},
    {".area", read_nothing},
    {".delay", read_nothing},
    {".wire", read_nothing},
    {".wire_load_slope", read_nothing},
    {".input_arrival", read_nothing},
    {".default_input_arrival", read_nothing},
    {".output_required", read_nothing},
    {".default_output_required", read_nothing},
    {".input_drive", read_nothing},
    {".default_input_drive", read_nothing},
    {".output_load", read_nothing},
    {".default_output_load", read_nothing},
    {".max_input_load", read_nothing},
    {".default_max_input_load", read_nothing},
    {".cycle", read_nothing},
    {".clock_event", read_nothing},
    {".attr", read_nothing},
    {".param", read_nothing},
    {".cname", read_nothing},
};

static const struct command *find_command(sked_i_word w)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (sked_i_word_is(w, commands[i].name))
            return &commands[i];
    return NULL;
}

/* Nothing but the digits of a truth table. */
static bool is_row(sked_i_word w)
{
    for (size_t i = 0; i < w.size; i++)
        if (w.text[i] != '0' && w.text[i] != '1' && w.text[i] != '-')
            return false;
    return true;
}

/* A row of the truth table after .names: as many digits as it has inputs, and that of its output. */
static sked_status read_row(reader *r, sked_i_word w)
{
    const char *const begin = w.text;
    gate *const x = r->in_cover ? &r->gate[r->gates - 1] : NULL;
    size_t digits = 0;
    char last = 0;
    do {
        if (x == NULL || !is_row(w))
            return sked_i_source_fail(r->source, w.text, r->err, "'%s' is neither a command nor a table row",
                                      sked_i_word_quoted(w).text);
        digits += w.size;
        last = w.text[w.size - 1];
    } while (next_word(r, &w));
    if (digits != (size_t)x->inputs + 1)
        return sked_i_source_fail(r->source, begin, r->err,
                                  "a table row of %lld digits for %d inputs and an output", (long long)digits,
                                  (int)x->inputs);
    if (last == '-' || (x->rows > 0 && (last == '0') != x->zero))
        return sked_i_source_fail(r->source, begin, r->err,
                                  "the rows of a table end in 1, or all of them in 0");
    if (x->rows++ == 0)
        x->cover = begin;
    x->zero = last == '0';
    return SKED_OK;
}

static sked_status read_line(reader *r)
{
    sked_i_word w;
    if (!next_word(r, &w))
        return SKED_OK;
    if (w.text[0] != '.')
        return read_row(r, w);
    const struct command *c = find_command(w);
    r->in_cover = false;
    r->command = w.text;
    if (c != NULL)
        return c->read(r);
    return sked_i_source_refuse(r->source, w.text, SKED_ERR_UNSUPPORTED, r->err,
                                "'%s' has no reading as a graph here; flatten the netlist to .names first",
                                sked_i_word_quoted(w).text);
}

static sked_status read_lines(reader *r)
{
    sked_status st = SKED_OK;
    sked_i_word w;
    while (r->at < r->end && !r->ended) {
        SKED_TRY(read_line(r));
        r->at = sked_i_line_end(r->at, r->end);
        r->at += r->at < r->end;
    }
    if (!r->ended && !r->has_outputs) /* .end may be missing, but then the outputs show what is */
        return sked_i_source_fail(r->source, r->at, r->err, "the file ends without .outputs or .end");
    for (; r->at < r->end; r->at++) { /* after .end (or in don't cares) only another model matters */
        if (next_word(r, &w) && sked_i_word_is(w, ".model"))
            return r->command = w.text, read_model(r);
        r->at = sked_i_line_end(r->at, r->end);
        if (r->at == r->end)
            break;
    }
cleanup:
    return st;
}

/* ------------------------------------------------------------------ the graph */

static int by_driver(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* place[column] = which operand of the gate it is: operands stand in the order of their ops. */
static void place_columns(const reader *r, const gate *x, int64_t *sorted, int32_t *place)
{
    for (int32_t c = 0; c < x->inputs; c++)
        sorted[c] = (int64_t)r->signal[r->input[x->input + c]].driver << 32 | c;
    qsort(sorted, (size_t)x->inputs, sizeof *sorted, by_driver);
    for (int32_t c = 0, k = -1; c < x->inputs; c++) {
        k += c == 0 || sorted[c] >> 32 != sorted[c - 1] >> 32;
        place[(int32_t)sorted[c]] = k;
    }
}

/* The product of the columns that the next row says something of; their operands are marked. */
static void write_row(reader *r, const gate *x, const int32_t *place, bool list, int64_t *marked)
{
    sked_i_word w;
    int32_t column = 0, terms = 0;
    while (r->at < r->end && !next_word(r, &w)) /* the end of a line, or one without words */
        r->at += r->at < r->end;
    do
        for (size_t k = 0; k < w.size && column < x->inputs; k++, column++) {
            if (w.text[k] == '-')
                continue;
            sked_i_buffer_text(&r->text, terms++ > 0 ? list ? ", " : " & " : list ? "&{" : "");
            sked_i_buffer_text(&r->text, w.text[k] == '0' ? "~" : "");
            sked_i_operand_name(&r->text, place[column]);
            marked[place[column]] = 1;
        }
    while (next_word(r, &w));
    sked_i_buffer_text(&r->text, terms == 0 ? "1'b1" : list ? "}" : "");
}

/*
 * "a & ~b | c": a product for each row. A long table is a list in braces, |{&{a, ~b}, &{c}}, which tools
 * read without recursion. An input that no row looks at is named all the same. marked: [inputs] work space.
 */
static void write_cover(reader *r, const gate *x, const int32_t *place, int64_t *marked)
{
    const bool list = x->rows > 0 && (x->rows > longest_sum || x->inputs > longest_sum);
    r->text.size = 0;
    for (int32_t c = 0; c < x->inputs; c++)
        marked[c] = 0;
    r->at = x->cover;
    sked_i_buffer_text(&r->text, x->zero ? "~(" : "");
    sked_i_buffer_text(&r->text, x->rows == 0 ? "1'b0" : list ? "|{" : "");
    for (int64_t k = 0; k < x->rows && !r->text.failed; k++) {
        sked_i_buffer_text(&r->text, k == 0 ? "" : list ? ", " : " | ");
        write_row(r, x, place, list, marked);
    }
    for (int32_t c = 0; c < x->inputs; c++)
        if (!marked[place[c]]) {
            sked_i_buffer_text(&r->text, list ? ", 1'b0 & " : " | 1'b0 & ");
            sked_i_operand_name(&r->text, place[c]);
            marked[place[c]] = 1;
        }
    sked_i_buffer_text(&r->text, list ? "}" : "");
    sked_i_buffer_text(&r->text, x->zero ? ")" : "");
}

/* What gates compute, and what the world outside reads. */
static sked_status add_functions(reader *r)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    int64_t *sorted = NULL;
    int32_t *place = NULL;
    SKED_NEW(sorted, r->inputs);
    SKED_NEW(place, r->inputs);
    for (int64_t k = 0; k < r->gates; k++) {
        place_columns(r, &r->gate[k], sorted, place);
        write_cover(r, &r->gate[k], place, sorted);
        if (r->text.failed)
            SKED_TRY(sked_i_no_memory(err));
        SKED_BUILD(r->source, r->gate[k].cover,
                   sked_builder_set_verilog(r->builder, r->gate[k].op, r->text.data, &cause));
    }
cleanup:
    free(sorted);
    free(place);
    return st;
}

/* An edge to who uses a signal; an output is no op. */
static sked_status connect(reader *r, const use *u)
{
    sked_status st = SKED_OK;
    sked_error *err = r->err;
    const int32_t driver = r->signal[u->signal].driver;
    const sked_edge edge = {driver, u->op, NAN, 1, u->distance};
    if (u->op < 0) {
        SKED_BUILD(r->source, u->at,
                   sked_i_builder_set(r->builder, &sked_i_op_table[sked_i_op_output], driver, 1, &cause));
        return SKED_OK;
    }
    SKED_BUILD(r->source, u->at, sked_builder_add_edge(r->builder, &edge, &cause));
    if (u->operand > 0)
        SKED_BUILD(r->source, u->at,
                   sked_i_builder_set(r->builder, &sked_i_edge_table[sked_i_edge_operand],
                                      sked_builder_edge_count(r->builder) - 1, u->operand, &cause));
cleanup:
    return st;
}

static sked_status build(reader *r, sked_graph **out)
{
    sked_status st;
    sked_error *err = r->err;
    for (int64_t k = 0; k < r->uses; k++) {
        const use *u = &r->use[k];
        const char *name = sked_i_names_at(&r->names, u->signal);
        if (r->signal[u->signal].driver < 0)
            return sked_i_source_fail(r->source, u->at, err, "signal '%s' is used but never driven",
                                      sked_i_quoted_text(name).text);
        SKED_TRY(connect(r, u));
    }
    SKED_TRY(add_functions(r));
    SKED_BUILD(r->source, NULL, sked_builder_finish(r->builder, out, &cause));
cleanup:
    return st;
}

static sked_status read_blif(const sked_i_source *source, sked_graph **out, sked_error *err)
{
    const sked_i_scan text = sked_i_scan_source(source);
    reader r = {.source = source, .err = err, .at = text.at, .end = text.end};
    sked_status st;
    SKED_TRY(sked_i_text_check(source, "a BLIF file", err));
    SKED_TRY(sked_i_source_begin(source, NULL, &r.builder, err));
    SKED_TRY(read_lines(&r));
    SKED_TRY(build(&r, out));
cleanup:
    sked_builder_destroy(r.builder);
    sked_i_names_free(&r.names);
    sked_i_buffer_free(&r.text);
    sked_i_arena_free(&r.arena);
    return st;
}

static bool sniff_blif(const char *text, size_t size)
{
    sked_i_scan s = sked_i_scan_text(text, size);
    sked_i_word w;
    return sked_i_scan_word(&s, &w) && w.text[0] == '.' && find_command(w) != NULL;
}

const sked_i_format sked_i_format_blif = {
    .info = {"blif", "Berkeley Logic Interchange Format: netlists", ".blif", true, false},
    .sniff = sniff_blif,
    .read = read_blif,
};
