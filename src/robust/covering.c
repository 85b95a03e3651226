#include "robust/covering.h"

#include <string.h>

bool sked_i_is_gate(const sked_graph *g, int32_t op)
{
    const int64_t begin = g->pred_ptr[op], end = g->pred_ptr[op + 1];
    if (g->memory[op] != 1 || sked_graph_verilog(g, op) == NULL || end - begin > SKED_I_CUT_INPUTS)
        return false;
    for (int64_t k = begin; k < end; k++)
        if (g->memory[g->pred_op[k]] != 1)
            return false;
    return true;
}

static bool reads(const sked_i_cut *c, int32_t op)
{
    for (int32_t k = 0; k < c->inputs; k++)
        if (c->input[k] == op)
            return true;
    return false;
}

/* Inputs of b that a lacks join it; false where they are too many. */
static bool join(sked_i_cut *a, const sked_i_cut *b)
{
    for (int32_t k = 0; k < b->inputs; k++) {
        if (reads(a, b->input[k]))
            continue;
        if (a->inputs == SKED_I_CUT_INPUTS)
            return false;
        a->input[a->inputs++] = b->input[k];
    }
    if (b->latest > a->latest || a->last < 0) {
        a->latest = b->latest;
        a->last = b->last;
    }
    return true;
}

static bool is_better(const sked_i_cut *a, const sked_i_cut *b)
{
    return a->latest != b->latest ? a->latest < b->latest : a->inputs < b->inputs;
}

/* Earlier ones go first, then smaller ones; a cut whose inputs another one reads too says nothing new. */
static void keep(sked_i_cuts *cuts, const sked_i_cut *c)
{
    int32_t at = cuts->count;
    for (int32_t k = 0; k < cuts->count; k++) {
        int32_t shared = 0;
        for (int32_t i = 0; i < cuts->at[k].inputs; i++)
            shared += reads(c, cuts->at[k].input[i]);
        if (shared == cuts->at[k].inputs && !is_better(c, &cuts->at[k]))
            return;
    }
    while (at > 1 && is_better(c, &cuts->at[at - 1]))
        at--;
    if (at == SKED_I_CUTS)
        return;
    cuts->count += cuts->count < SKED_I_CUTS;
    memmove(&cuts->at[at + 1], &cuts->at[at], (size_t)(cuts->count - 1 - at) * sizeof *c);
    cuts->at[at] = *c;
}

void sked_i_cuts_begin(sked_i_cuts *cuts)
{
    cuts->count = 1;
    cuts->at[0] = (sked_i_cut){.last = -1};
}

void sked_i_cuts_read(sked_i_cuts *cuts, const sked_i_cut *value, const sked_i_cuts *behind)
{
    const sked_i_cuts before = *cuts;
    cuts->count = 1;
    (void)join(&cuts->at[0], value); /* a gate has no more than a table */
    for (int32_t a = 0; a < before.count; a++)
        for (int32_t b = a > 0 ? -1 : 0; b < (behind != NULL ? behind->count : 0); b++) {
            sked_i_cut c = before.at[a];
            if (join(&c, b < 0 ? value : &behind->at[b]))
                keep(cuts, &c);
        }
}

const sked_i_cut *sked_i_cuts_best(const sked_i_cuts *cuts)
{
    return cuts->count > 1 && is_better(&cuts->at[1], &cuts->at[0]) ? &cuts->at[1] : &cuts->at[0];
}
