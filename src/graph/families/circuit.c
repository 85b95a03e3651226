/*
 * Arithmetic circuits of and-gates (inverters are free, as in AIGER): an array multiplier and an array
 * divider. Their shapes are those of large logic benchmarks: a multiplier is wide and as deep as its operands
 * are long, a divider is as deep as their square.
 */
#include "graph/generate.h"

#include <assert.h>

enum { CIRCUIT_KIND };
enum { MULTIPLIER, DIVIDER };
static const sked_option circuit_options[] = {
    {"kind", SKED_OPTION_ENUM, "multiplier", 0, 0, "multiplier|divider",
     "an array multiplier, or a restoring array divider"},
};

enum { INPUT, AND };
static const sked_i_draft_kind circuit_kinds[] = {{"input", 1, -1}, {"and", 1, -1}};

enum { zero = -1 }; /* the constant, which no op gives */

static int32_t add_gate(sked_i_draft *p, int32_t a, int32_t b)
{
    if (a == zero && b == zero)
        return zero;
    const int32_t op = p->n++;
    assert(op < p->nodes);
    p->kind[op] = AND;
    if (a != zero)
        sked_i_draft_edge(p, a, op);
    if (b != zero)
        sked_i_draft_edge(p, b, op);
    return op;
}

/* a xor b of three and-gates; a and b themselves is the first of them. */
static int32_t add_xor(sked_i_draft *p, int32_t a, int32_t b, int32_t *both)
{
    *both = zero;
    if (a == zero || b == zero)
        return a == zero ? b : a;
    *both = add_gate(p, a, b);
    return add_gate(p, *both, add_gate(p, a, b));
}

/* Sum and carry of three bits: seven and-gates. */
static int32_t add_adder(sked_i_draft *p, int32_t a, int32_t b, int32_t c, int32_t *carry)
{
    int32_t first, second;
    const int32_t half = add_xor(p, a, b, &first), sum = add_xor(p, half, c, &second);
    *carry = first == zero ? second : second == zero ? first : add_gate(p, first, second);
    return sum;
}

static void add_inputs(sked_i_draft *p, int32_t *bit, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        bit[k] = p->n++;
        p->kind[bit[k]] = INPUT;
    }
}

/* Rows of partial products, each added to the sum of those before it; the carries run along the row. */
static void lay_out_multiplier(sked_i_draft *p, int32_t *bit, int64_t bits)
{
    int32_t *a = bit, *b = bit + bits, *sum = bit + 2 * bits; /* sum: [bits] without the finished low bits */
    add_inputs(p, a, 2 * bits);
    for (int64_t k = 0; k < bits; k++)
        sum[k] = add_gate(p, a[k], b[0]);
    int32_t top = zero;
    for (int64_t row = 1; row < bits; row++) {
        int32_t carry = zero;
        for (int64_t k = 0; k < bits; k++) {
            const int32_t above = k + 1 < bits ? sum[k + 1] : top;
            sum[k] = add_adder(p, above, add_gate(p, a[k], b[row]), carry, &carry);
        }
        top = carry;
    }
}

/* Each row takes the divisor away from the remainder and keeps the old one where that is too much. */
static void lay_out_divider(sked_i_draft *p, int32_t *bit, int64_t bits)
{
    int32_t *number = bit, *divisor = bit + bits, *rest = bit + 2 * bits, *less = bit + 3 * bits;
    add_inputs(p, number, 2 * bits);
    for (int64_t k = 0; k < bits; k++)
        rest[k] = zero;
    for (int64_t row = 0; row < bits; row++) {
        int32_t borrow = zero;
        for (int64_t k = bits - 1; k > 0; k--)
            rest[k] = rest[k - 1];
        rest[0] = number[bits - 1 - row];
        for (int64_t k = 0; k < bits; k++)
            less[k] = add_adder(p, rest[k], divisor[k], borrow, &borrow);
        for (int64_t k = 0; k < bits; k++) { /* a multiplexer: three and-gates */
            const int32_t keep = add_gate(p, rest[k], borrow), take = add_gate(p, less[k], borrow);
            rest[k] = add_gate(p, keep, take);
        }
    }
}

static int64_t most_ops(int kind, int64_t bits)
{
    return kind == MULTIPLIER ? 2 * bits + 8 * bits * bits : 2 * bits + 10 * bits * bits;
}

static sked_status lay_out_circuit(sked_i_draft *p, sked_error *err)
{
    sked_status st = SKED_OK;
    const int kind = (int)p->value[CIRCUIT_KIND];
    int64_t bits = 0;
    int32_t *bit;
    while (most_ops(kind, bits + 1) <= p->nodes)
        bits++;
    p->n = 0;
    p->kinds = circuit_kinds;
    SKED_OWN0(&p->arena, p->kind, p->nodes);
    SKED_OWN(&p->arena, bit, bits > 0 ? 4 * bits : p->nodes);
    SKED_TRY(sked_i_draft_reserve(p, 2.0 * (double)most_ops(kind, bits), "circuit: nodes", err));
    if (bits == 0) /* too few ops for one bit */
        add_inputs(p, bit, p->nodes);
    else if (kind == MULTIPLIER)
        lay_out_multiplier(p, bit, bits);
    else
        lay_out_divider(p, bit, bits);
cleanup:
    return st;
}

const sked_i_family sked_i_family_circuit = {
    .info = {"circuit", "an arithmetic circuit of and-gates: an array multiplier or divider", circuit_options,
             COUNT_OF(circuit_options), NULL},
    .bytes = "const:1",
    .memory = "const:1",
    .lay_out = lay_out_circuit,
};
