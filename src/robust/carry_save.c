#include "robust/carry_save.h"

#include "problem/chaining.h"

#include <string.h>

/* The one operator of an expression like "a + ..."; 0: there are others, or none. */
static char operator_of(const char *verilog)
{
    const char *const names = "ab. ", *const at = verilog + strspn(verilog, names);
    return *at != 0 && strchr("+-*", *at) != NULL && at[1 + strspn(at + 1, names)] == 0 ? *at : 0;
}

/* The op that alone reads the value of op; -1: none, or several do. */
static int32_t only_reader(const sked_graph *g, int32_t op)
{
    const bool one = g->succ_ptr[op + 1] - g->succ_ptr[op] == 1;
    return one && sked_i_passes(g, g->succ_ptr[op]) ? g->edge_to[g->succ_ptr[op]] : -1;
}

void sked_i_carry_of(const sked_graph *g, sked_i_carry *tree)
{
    for (int32_t i = 0; i < g->n_ops; i++) {
        const char *const verilog = sked_graph_verilog(g, i);
        const char what = verilog != NULL && sked_i_is_combinational(g, i) ? operator_of(verilog) : 0;
        tree[i].is_product = what == '*';
        tree[i].is_sum = what != 0 && what != '*';
    }
    for (int32_t i = 0; i < g->n_ops; i++) {
        const int32_t reader = only_reader(g, i);
        tree[i].merges = (tree[i].is_sum || tree[i].is_product) && reader >= 0 && tree[reader].is_sum;
    }
}

void sked_i_carry_begin(const sked_graph *g, sked_i_carry *tree, int32_t op)
{
    const double operands = (double)(g->pred_ptr[op + 1] - g->pred_ptr[op]);
    sked_i_carry *const t = &tree[op];
    t->most = fmax(2, operands);
    t->operands = t->most;
    t->largest = op;
    t->latest = 0;
    t->last = -1;
    if (t->is_product) {
        t->most = g->memory[op];
        for (int64_t k = g->pred_ptr[op]; k < g->pred_ptr[op + 1]; k++)
            t->most = fmin(t->most, g->memory[g->pred_op[k]]);
        t->operands = t->most;
    }
}

void sked_i_carry_read(sked_i_carry *t, double time, int32_t from, const sked_i_carry *behind)
{
    if (t->is_sum && behind != NULL && behind->merges) {
        t->operands += behind->operands - 1;
        if (behind->most > t->most) {
            t->most = behind->most;
            t->largest = behind->largest;
        }
        time = behind->latest;
        from = behind->last;
    }
    if (time > t->latest) {
        t->latest = time;
        t->last = from;
    }
}

/* Three operands become two. */
static int32_t levels(double operands)
{
    int32_t n = 0;
    for (; operands > 2 && n < 100; n++)
        operands = ceil(operands * 2 / 3);
    return n;
}

int32_t sked_i_carry_levels(const sked_i_carry *t)
{
    return levels(t->operands) - levels(t->most);
}
