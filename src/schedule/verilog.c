/*
 * A pipeline that takes an input every cycle. The value of op x in cycle c of the pipeline is the signal x$c:
 * a wire in the cycle in which x computes it, registers from there on. Ports have the names of their ops.
 */
#include "schedule/verilog.h"

#include "problem/problem.h"

#include <stdio.h>
#include <string.h>

static const int64_t widest = 1 << 20, most_registers = 1 << 24;

/* An input or an output of the module. */
typedef struct port {
    int32_t op;
    bool output, inverted;
    int64_t missing; /* the operand of op that no edge brings; -1: op's own value */
    double width;
} port;

typedef struct writer {
    sked_i_arena arena;
    const sked_problem *problem;
    const sked_graph *g;
    sked_i_buffer *out;
    int64_t *start, *ready, *last; /* [ops] cycles: it computes; its result is there; it is read last */
    uint8_t *output;               /* [ops] */
    sked_i_keyed *operand;         /* of the op at hand */
    port *port;                    /* inputs, then outputs, both by op */
    int64_t inputs, ports, room;
    int64_t operands, registers;
    bool open;    /* inputs come, and outputs leave, in the cycles of their ops */
    bool bench;   /* names are numbers, and a second module drives the first from registers */
    bool selects; /* an expression has brackets: Verilog takes them of vectors alone, of one bit too */
    sked_i_verilog_figures figures;
} writer;

/* ------------------------------------------------------------------ names */

static void put_op(writer *x, int32_t op, const char *suffix)
{
    char index[24];
    if (x->bench) {
        sked_i_buffer_format(x->out, "o%d%s", (int)op, suffix);
        return;
    }
    const char *name = x->g->op_names.count > 0 ? sked_i_names_at(&x->g->op_names, op)
                                                : sked_graph_op_name(x->g, op, index, sizeof index);
    sked_i_verilog_name(x->out, name, suffix);
}

static bool is_input(const writer *x, int32_t op)
{
    return sked_graph_verilog(x->g, op) == NULL;
}

/* The cycle from which on there is a signal of the op's value. */
static int64_t born(const writer *x, int32_t op)
{
    return !is_input(x, op) ? x->start[op] : x->open ? x->ready[op] : 0;
}

/* The value of op in a cycle. */
static void put_value(writer *x, int32_t op, int64_t cycle)
{
    char suffix[32] = "";
    if (cycle > born(x, op) || !is_input(x, op))
        snprintf(suffix, sizeof suffix, "$%lld", (long long)cycle);
    put_op(x, op, suffix);
}

/* Operand k of op, which no edge brings: an input, as it is in a cycle. */
static void put_missing(writer *x, int32_t op, int64_t k, int64_t cycle)
{
    char suffix[64] = "$";
    size_t n = 1;
    suffix[n++] = (char)('a' + k % 26);
    if (k >= 26)
        n += (size_t)snprintf(suffix + n, sizeof suffix - n, "%lld", (long long)(k / 26));
    if (cycle > 0)
        snprintf(suffix + n, sizeof suffix - n, "$%lld", (long long)cycle);
    else
        suffix[n] = 0;
    put_op(x, op, suffix);
}

static void put_range(writer *x, const char *kind, double width)
{
    sked_i_buffer_text(x->out, kind);
    if (width > 1 || x->selects)
        sked_i_buffer_format(x->out, " [%lld:0]", (long long)width - 1);
    sked_i_buffer_char(x->out, ' ');
}

/* ------------------------------------------------------------------ operands */

/* The operands that edges bring; .value: edges. Returns how many the expression needs; *folds: it has "...".
 */
static int64_t list_operands(writer *x, int32_t op, bool *folds)
{
    const char *at = sked_graph_verilog(x->g, op);
    int64_t needs = 0;
    *folds = false;
    x->operands = sked_i_operands(x->g, op, x->operand);
    for (size_t size; at != NULL && *at != 0;) {
        const int64_t part = sked_i_expression_part(&at, &size);
        *folds = *folds || part == SKED_I_EXPRESSION_REST;
        needs = part >= needs ? part + 1 : needs;
    }
    return *folds ? x->operands > 2 ? x->operands : 2 : needs;
}

/* As wide as the widest operand there is; without any, as the result. */
static double missing_width(const writer *x, int32_t op)
{
    double width = 0;
    for (int64_t k = 0; k < x->operands; k++)
        width = fmax(width, x->g->memory[x->g->edge_from[x->operand[k].value]]);
    return width > 0 ? width : x->g->memory[op];
}

static void put_operand(writer *x, int32_t op, int64_t k)
{
    if (k < x->operands)
        put_value(x, x->g->edge_from[x->operand[k].value], x->start[op]);
    else
        put_missing(x, op, k, x->open ? 0 : x->start[op]);
}

/* Cycle of op and step k of folding; the last step is the value itself. */
static void put_step(writer *x, int32_t op, int64_t k, int64_t last)
{
    char suffix[64];
    snprintf(suffix, sizeof suffix, k < last ? "$%lld$%lld" : "$%lld", (long long)x->start[op], (long long)k);
    put_op(x, op, suffix);
}

/* wire x$c = EXPRESSION; with "..." one for each operand but the first. */
static void put_wires(writer *x, int32_t op)
{
    bool folds;
    const int64_t needs = list_operands(x, op, &folds), last = folds ? needs - 1 : 1;
    for (int64_t k = 1; k <= last && !x->out->failed; k++) {
        put_range(x, "  wire", x->g->memory[op]);
        put_step(x, op, k, last);
        sked_i_buffer_text(x->out, " = ");
        const char *at = sked_graph_verilog(x->g, op);
        while (*at != 0) {
            size_t size;
            const char *const begin = at;
            const int64_t part = sked_i_expression_part(&at, &size);
            if (part == SKED_I_EXPRESSION_TEXT)
                sked_i_buffer_add(x->out, begin, size);
            else if (folds && part == 0 && k > 1)
                put_step(x, op, k - 1, last);
            else
                put_operand(x, op, part == SKED_I_EXPRESSION_REST ? k : part);
        }
        sked_i_buffer_text(x->out, ";\n");
    }
}

/* ------------------------------------------------------------------ cycles */

static sked_status refuse(const writer *x, int32_t op, sked_error *err, const char *why)
{
    char label[80];
    return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "Verilog: op '%s' %s",
                       sked_i_op_label(x->g, op, label, sizeof label), why);
}

static sked_status check_op(writer *x, int32_t op, sked_error *err)
{
    const sked_graph *g = x->g;
    const double width = g->memory[op];
    bool folds;
    const int64_t needs = list_operands(x, op, &folds);
    if (!(width >= 1 && width <= (double)widest) || width != floor(width))
        return refuse(x, op, err, "needs a whole `memory`, the bits of its result: 1 to 1048576");
    if (is_input(x, op) && x->operands > 0)
        return refuse(x, op, err, "reads others and says no `verilog`; an op library gives it by type");
    if (x->operands > needs)
        return refuse(x, op, err, "has more operands than its Verilog reads; \"...\" stands for all others");
    for (int64_t k = 0; k < x->operands; k++)
        if (g->edge_distance[x->operand[k].value] > 0)
            return refuse(x, op, err,
                          "reads an earlier iteration: a pipeline without state has no loop-carried edges");
    return SKED_OK;
}

static sked_status find_cycles(writer *x, const sked_schedule *s, sked_error *err)
{
    double first = INFINITY;
    for (int32_t i = 0; i < x->g->n_ops; i++)
        first = fmin(first, s->start[i]);
    for (int32_t i = 0; i < x->g->n_ops; i++) {
        const double start = s->start[i] - first, lag = sked_i_result_lag(x->g, i);
        if (start != floor(start) || lag != floor(lag) || start + lag > 1e9)
            return refuse(x, i, err, "starts, or has its result, between two cycles");
        x->start[i] = (int64_t)start;
        x->ready[i] = x->last[i] = (int64_t)(start + lag);
    }
    return SKED_OK;
}

static bool is_marked(const sked_graph *g, int32_t op)
{
    return (g->output != NULL && g->output[op]) || (g->output_not != NULL && g->output_not[op]);
}

/* Until when each value is read, and from when on all outputs can be there. */
static sked_status find_lives(writer *x, sked_error *err)
{
    const sked_graph *g = x->g;
    for (int64_t e = 0; e < g->n_edges; e++) {
        const int32_t from = g->edge_from[e];
        const int64_t read = x->start[g->edge_to[e]];
        if (!sked_i_passes(g, e))
            continue;
        if (read < born(x, from))
            return refuse(x, from, err, "is read before it starts");
        x->last[from] = read > x->last[from] ? read : x->last[from];
    }
    bool marked = false;
    for (int32_t i = 0; i < g->n_ops; i++)
        marked = marked || is_marked(g, i);
    for (int32_t i = 0; i < g->n_ops; i++) {
        x->output[i] = is_marked(g, i) || sked_graph_keep(g, i) || (!marked && sked_i_is_output(g, i));
        if (x->output[i] && x->ready[i] > x->figures.latency)
            x->figures.latency = x->ready[i];
    }
    return SKED_OK;
}

static sked_status add_port(writer *x, port p, sked_error *err)
{
    if (!SKED_OWN_GROW(&x->arena, x->port, x->room, x->ports + 1))
        return sked_i_no_memory(err);
    x->port[x->ports++] = p;
    return SKED_OK;
}

static sked_status list_ports(writer *x, sked_error *err)
{
    const sked_graph *g = x->g;
    sked_status st = SKED_OK;
    for (int32_t i = 0; i < g->n_ops; i++) {
        bool folds;
        const int64_t needs = list_operands(x, i, &folds);
        if (is_input(x, i))
            SKED_TRY(add_port(x, (port){i, .missing = -1, .width = g->memory[i]}, err));
        for (int64_t k = x->operands; k < needs; k++)
            SKED_TRY(add_port(x, (port){i, .missing = k, .width = missing_width(x, i)}, err));
    }
    x->inputs = x->ports;
    for (int32_t i = 0; i < g->n_ops; i++) {
        const bool turned = g->output_not != NULL && g->output_not[i],
                   as_is = (g->output != NULL && g->output[i]) || sked_graph_keep(g, i) || !turned;
        for (int inverted = !as_is; x->output[i] && inverted <= turned; inverted++)
            SKED_TRY(add_port(x, (port){i, true, inverted, -1, g->memory[i]}, err));
    }
cleanup:
    return st;
}

/* The cycle in which the op of an input takes it. */
static int64_t taken(const writer *x, const port *p)
{
    return p->missing < 0 || x->open ? 0 : x->start[p->op];
}

/* Registers, and what they are for; outputs live to the end. */
static sked_status count_registers(writer *x, sked_error *err)
{
    sked_i_verilog_figures *f = &x->figures;
    for (int32_t i = 0; i < x->g->n_ops; i++) {
        const double width = x->g->memory[i];
        const int64_t read = x->last[i], from = born(x, i);
        if (x->output[i] && f->latency > read && !x->open)
            x->last[i] = f->latency;
        f->between += width * (double)(read - x->ready[i]);
        *(is_input(x, i) ? &f->aligning : &f->inside) += width * (double)(x->ready[i] - from);
        f->aligning += width * (double)(x->last[i] - read);
        x->registers += x->last[i] - from;
    }
    for (int64_t k = 0; k < x->inputs; k++) {
        f->aligning += x->port[k].width * (double)taken(x, &x->port[k]);
        x->registers += taken(x, &x->port[k]);
    }
    if (x->registers > most_registers)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "Verilog: more than %lld registers",
                           (long long)most_registers);
    return SKED_OK;
}

/* ------------------------------------------------------------------ the module */

static void put_port(writer *x, const port *p)
{
    if (p->missing >= 0)
        put_missing(x, p->op, p->missing, 0);
    else
        put_op(x, p->op, p->inverted ? "$not" : p->output && is_input(x, p->op) ? "$out" : "");
}

static void put_ports(writer *x)
{
    for (int64_t k = 0; k < x->ports && !x->out->failed; k++) {
        put_range(x, x->port[k].output ? ",\n  output" : ",\n  input", x->port[k].width);
        put_port(x, &x->port[k]);
    }
}

static void put_outputs(writer *x)
{
    for (int64_t k = x->inputs; k < x->ports && !x->out->failed; k++) {
        const port *const p = &x->port[k];
        sked_i_buffer_text(x->out, "  assign ");
        put_port(x, p);
        sked_i_buffer_text(x->out, p->inverted ? " = ~" : " = ");
        put_value(x, p->op, x->open ? x->ready[p->op] : x->figures.latency);
        sked_i_buffer_text(x->out, ";\n");
    }
}

/* A register of each cycle after `from`: declared, or what it takes. */
static void put_chain(writer *x, int32_t op, int64_t missing, int64_t from, int64_t to, bool declare,
                      double width)
{
    for (int64_t c = from + 1; c <= to && !x->out->failed; c++)
        for (int64_t at = c; at >= (declare ? c : c - 1); at--) {
            if (at == c && declare)
                put_range(x, "  reg", width);
            else
                sked_i_buffer_text(x->out, at == c ? "    " : " <= ");
            if (missing >= 0)
                put_missing(x, op, missing, at);
            else
                put_value(x, op, at);
            sked_i_buffer_text(x->out, declare || at < c ? ";\n" : "");
        }
}

static void put_registers(writer *x, bool declare)
{
    int64_t k = 0;
    for (int32_t i = 0; i < x->g->n_ops && !x->out->failed; i++) {
        put_chain(x, i, -1, born(x, i), x->last[i], declare, x->g->memory[i]);
        for (; k < x->inputs && x->port[k].op == i; k++)
            put_chain(x, i, x->port[k].missing, 0, taken(x, &x->port[k]), declare, x->port[k].width);
    }
}

static void put_module(writer *x)
{
    const sked_graph *g = x->g;
    const sked_i_verilog_figures *f = &x->figures;
    const char *const own = g->name != NULL && g->name[0] != 0 ? g->name : "pipeline";
    const char *const name = x->bench ? "dut" : own;
    sked_i_buffer_format(
        x->out,
        "/* A pipeline that takes an input every cycle, written by sked. Bits of registers: %.0f"
        " between ops,\n   %.0f inside ops, %.0f that delay inputs and outputs. */\nmodule ",
        f->between, f->inside, f->aligning);
    sked_i_verilog_name(x->out, name, "");
    sked_i_buffer_text(x->out, " (\n  input clk");
    put_ports(x);
    sked_i_buffer_format(x->out, "\n);\n  localparam LATENCY = %lld;\n", (long long)f->latency);
    put_registers(x, true);
    for (int32_t k = 0; k < g->n_ops && !x->out->failed; k++)
        if (!is_input(x, g->topo[k]))
            put_wires(x, g->topo[k]);
    if (x->registers > 0) {
        sked_i_buffer_text(x->out, "  always @(posedge clk) begin\n");
        put_registers(x, false);
        sked_i_buffer_text(x->out, "  end\n");
    }
    put_outputs(x);
    sked_i_buffer_text(x->out, "endmodule\n");
}

/* ------------------------------------------------------------------ the bench */

/*
 * Four pins: bits are shifted into registers before the inputs, and out of registers behind the outputs. They
 * hold still now and then, so that synthesis cannot take them for registers of the pipeline. Wires have the
 * names of ops, and so will what synthesis makes of them.
 */
static void put_bench(writer *x)
{
    int64_t inputs = 0, outputs = 0;
    sked_i_buffer_text(x->out, "module bench(input clk, input go, input d, output q);\n");
    for (int64_t k = x->inputs; k < x->ports && !x->out->failed; k++) {
        put_range(x, "  wire", x->port[k].width);
        put_port(x, &x->port[k]);
        sked_i_buffer_text(x->out, ";\n");
        outputs += (int64_t)x->port[k].width;
    }
    sked_i_buffer_text(x->out, "  dut dut(.clk(clk)");
    for (int64_t k = 0; k < x->ports && !x->out->failed; k++) {
        const int64_t from = inputs;
        sked_i_buffer_text(x->out, ", .");
        put_port(x, &x->port[k]);
        sked_i_buffer_char(x->out, '(');
        if (k < x->inputs) {
            inputs += (int64_t)x->port[k].width;
            sked_i_buffer_format(x->out, "in[%lld:%lld]", (long long)(inputs - 1), (long long)from);
        } else {
            put_port(x, &x->port[k]);
        }
        sked_i_buffer_char(x->out, ')');
    }
    sked_i_buffer_format(
        x->out,
        ");\n  reg [%lld:0] in;\n  reg [%lld:0] held, shifted;\n  always @(posedge clk) begin\n"
        "    if (go)\n      in <= {in, d};\n    held <= {",
        inputs > 0 ? (long long)inputs - 1 : 0, (long long)outputs - 1);
    for (int64_t k = x->inputs; k < x->ports && !x->out->failed; k++) {
        sked_i_buffer_text(x->out, k > x->inputs ? ", " : "");
        put_port(x, &x->port[k]);
    }
    sked_i_buffer_text(
        x->out, "};\n    shifted <= go ? held : shifted >> 1;\n  end\n  assign q = shifted[0];\nendmodule\n");
}

static sked_status allocate(writer *x, sked_error *err)
{
    const int32_t n = x->g->n_ops;
    int64_t most = 0;
    sked_status st = SKED_OK;
    for (int32_t i = 0; i < n; i++)
        most = x->g->pred_ptr[i + 1] - x->g->pred_ptr[i] > most ? x->g->pred_ptr[i + 1] - x->g->pred_ptr[i]
                                                                : most;
    SKED_OWN(&x->arena, x->start, n);
    SKED_OWN(&x->arena, x->ready, n);
    SKED_OWN(&x->arena, x->last, n);
    SKED_OWN(&x->arena, x->output, n);
    SKED_OWN(&x->arena, x->operand, 2 * most);
cleanup:
    return st;
}

sked_status sked_i_verilog_write(const sked_problem *p, const sked_schedule *s, bool bench,
                                 sked_i_verilog_figures *figures, sked_i_buffer *out, sked_error *err)
{
    writer x = {
        .problem = p, .g = p->graph, .out = out, .bench = bench, .open = bench && p->io == SKED_IO_FREE};
    sked_status st = SKED_OK;
    if (s->devices > 0 || s->ii != 1)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "Verilog is a pipeline that takes an input every cycle: it goes with --ii 1, without devices");
    SKED_TRY(allocate(&x, err));
    for (int32_t k = 0; k < x.g->verilog_names.count; k++)
        x.selects = x.selects || strchr(sked_i_names_at(&x.g->verilog_names, k), '[') != NULL;
    for (int32_t i = 0; i < x.g->n_ops; i++)
        SKED_TRY(check_op(&x, i, err));
    SKED_TRY(find_cycles(&x, s, err));
    SKED_TRY(find_lives(&x, err));
    SKED_TRY(list_ports(&x, err));
    SKED_TRY(count_registers(&x, err));
    put_module(&x);
    if (bench)
        put_bench(&x);
    if (out->failed)
        SKED_TRY(sked_i_no_memory(err));
    if (figures != NULL)
        *figures = x.figures;
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}
