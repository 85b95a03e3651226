/* Free MPS: the oldest format that every solver reads. */
#include "form/export.h"

#include "base/memory.h"

#include <assert.h>

static void write_rows(const sked_i_mip *mip, sked_i_buffer *out)
{
    sked_i_buffer_text(out, "ROWS\n N value\n");
    for (int64_t r = 0; r < mip->n_rows; r++) {
        const double low = mip->row_low[r], high = mip->row_high[r];
        sked_i_buffer_format(out, " %c r%lld\n",
                             low == high      ? 'E'
                             : isfinite(high) ? 'L'
                                              : 'G',
                             (long long)r);
    }
}

static void write_entry(sked_i_buffer *out, const char *column, int64_t row, double value)
{
    sked_i_buffer_format(out, " %s ", column);
    if (row < 0)
        sked_i_buffer_text(out, "value ");
    else
        sked_i_buffer_format(out, "r%lld ", (long long)row);
    sked_i_buffer_number(out, value);
    sked_i_buffer_char(out, '\n');
}

static void write_columns(const sked_i_mip *mip, const sked_i_mip_columns *t, sked_i_buffer *out)
{
    bool integer = false;
    char name[48];
    sked_i_buffer_text(out, "COLUMNS\n");
    for (int64_t c = 0; c < mip->n_cols; c++) {
        if (mip->integer[c] != integer)
            sked_i_buffer_format(out, " MARKER%lld 'MARKER' '%s'\n", (long long)c,
                                 integer ? "INTEND" : "INTORG");
        integer = mip->integer[c];
        const char *column = sked_i_mip_column_name(mip, c, name);
        if (mip->col_cost[c] != 0 || t->begin[c] == t->begin[c + 1])
            write_entry(out, column, -1, mip->col_cost[c]);
        for (int32_t k = t->begin[c]; k < t->begin[c + 1]; k++)
            write_entry(out, column, t->row[k], t->value[k]);
    }
    if (integer)
        sked_i_buffer_text(out, " MARKERZ 'MARKER' 'INTEND'\n");
}

static void write_sides(const sked_i_mip *mip, sked_i_buffer *out)
{
    sked_i_buffer_text(out, "RHS\n");
    if (mip->offset != 0)
        write_entry(out, "RHS", -1, -mip->offset); /* the constant, with its sign turned, by convention */
    for (int64_t r = 0; r < mip->n_rows; r++) {
        const double side = isfinite(mip->row_high[r]) ? mip->row_high[r] : mip->row_low[r];
        if (side != 0)
            write_entry(out, "RHS", r, side);
    }
    sked_i_buffer_text(out, "RANGES\n");
    for (int64_t r = 0; r < mip->n_rows; r++)
        if (isfinite(mip->row_low[r]) && isfinite(mip->row_high[r]) && mip->row_low[r] < mip->row_high[r])
            write_entry(out, "RANGE", r, mip->row_high[r] - mip->row_low[r]);
}

static void write_bound(sked_i_buffer *out, const char *kind, const char *column, double value)
{
    sked_i_buffer_format(out, " %s BOUND %s ", kind, column);
    sked_i_buffer_number(out, value);
    sked_i_buffer_char(out, '\n');
}

static void write_bounds(const sked_i_mip *mip, sked_i_buffer *out)
{
    char name[48];
    sked_i_buffer_text(out, "BOUNDS\n");
    for (int64_t c = 0; c < mip->n_cols; c++) {
        const char *column = sked_i_mip_column_name(mip, c, name);
        if (mip->col_low[c] != 0)
            write_bound(out, "LO", column, mip->col_low[c]);
        if (isfinite(mip->col_high[c]))
            write_bound(out, "UP", column, mip->col_high[c]);
        else
            sked_i_buffer_format(out, " PL BOUND %s\n",
                                 column); /* else 1 for whole columns in some readers */
    }
    sked_i_buffer_text(out, "ENDATA\n");
}

sked_status sked_i_export_mps(const sked_i_program *m, const sked_i_mip *mip, sked_i_buffer *out,
                              sked_error *err)
{
    sked_i_mip_columns t = {0};
    assert(mip != NULL);
    const sked_status st = sked_i_mip_transpose(mip, &t, err);
    if (st != SKED_OK)
        return st;
    sked_i_buffer_format(out, "* %d ops; x_i_t = 1: op i (from 0) starts at time t\nNAME sked\n", (int)m->n);
    write_rows(mip, out);
    write_columns(mip, &t, out);
    write_sides(mip, out);
    write_bounds(mip, out);
    sked_i_mip_columns_free(&t);
    return SKED_OK;
}
