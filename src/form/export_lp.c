/* CPLEX LP format: readable, and read by most solvers. */
#include "form/export.h"

enum { terms_per_line = 8 };

static void add_term(sked_i_buffer *out, const sked_i_mip *mip, int64_t col, double value, int64_t k)
{
    char name[48];
    if (k > 0 && k % terms_per_line == 0)
        sked_i_buffer_text(out, "\n  ");
    sked_i_buffer_text(out, value < 0 ? " - " : " + ");
    if (fabs(value) != 1) {
        sked_i_buffer_number(out, fabs(value));
        sked_i_buffer_char(out, ' ');
    }
    sked_i_buffer_text(out, sked_i_mip_column_name(mip, col, name));
}

static void write_objective(const sked_i_mip *mip, sked_i_buffer *out)
{
    int64_t k = 0;
    sked_i_buffer_text(out, "Minimize\n value:");
    for (int64_t c = 0; c < mip->n_cols; c++)
        if (mip->col_cost[c] != 0)
            add_term(out, mip, c, mip->col_cost[c], k++);
    if (mip->offset != 0) { /* a constant: a column fixed at 1 */
        sked_i_buffer_text(out, mip->offset < 0 ? " - " : " + ");
        sked_i_buffer_number(out, fabs(mip->offset));
        sked_i_buffer_text(out, " one");
    }
    sked_i_buffer_text(out, "\nSubject To\n");
}

/* One side of a row; rows bounded on both sides appear twice. An empty row keeps a term of factor 0. */
static void write_row(const sked_i_mip *mip, int64_t r, const char *suffix, const char *sense, double side,
                      sked_i_buffer *out)
{
    char name[48];
    sked_i_buffer_format(out, " r%lld%s:", (long long)r, suffix);
    for (int64_t k = mip->row_begin[r]; k < mip->row_begin[r + 1]; k++)
        add_term(out, mip, mip->entry_col[k], mip->entry_value[k], k - mip->row_begin[r]);
    if (mip->row_begin[r] == mip->row_begin[r + 1])
        sked_i_buffer_format(out, " 0 %s", sked_i_mip_column_name(mip, 0, name));
    sked_i_buffer_format(out, " %s ", sense);
    sked_i_buffer_number(out, side);
    sked_i_buffer_char(out, '\n');
}

static void write_rows(const sked_i_mip *mip, sked_i_buffer *out)
{
    for (int64_t r = 0; r < mip->n_rows; r++) {
        const double low = mip->row_low[r], high = mip->row_high[r];
        if (low == high) {
            write_row(mip, r, "", "=", low, out);
            continue;
        }
        if (isfinite(low))
            write_row(mip, r, isfinite(high) ? "l" : "", ">=", low, out);
        if (isfinite(high))
            write_row(mip, r, isfinite(low) ? "h" : "", "<=", high, out);
    }
}

static void write_bounds(const sked_i_mip *mip, sked_i_buffer *out)
{
    char name[48];
    sked_i_buffer_text(out, "Bounds\n");
    for (int64_t c = 0; c < mip->n_cols; c++) {
        sked_i_buffer_char(out, ' ');
        sked_i_buffer_number(out, mip->col_low[c]);
        sked_i_buffer_format(out, " <= %s", sked_i_mip_column_name(mip, c, name));
        if (isfinite(mip->col_high[c])) {
            sked_i_buffer_text(out, " <= ");
            sked_i_buffer_number(out, mip->col_high[c]);
        }
        sked_i_buffer_char(out, '\n');
    }
    if (mip->offset != 0)
        sked_i_buffer_text(out, " one = 1\n");
    sked_i_buffer_text(out, "Generals\n");
    for (int64_t c = 0; c < mip->n_cols; c++)
        if (mip->integer[c])
            sked_i_buffer_format(out, " %s\n", sked_i_mip_column_name(mip, c, name));
    sked_i_buffer_text(out, "End\n");
}

sked_status sked_i_export_lp(const sked_i_program *m, const sked_i_mip *mip, sked_i_buffer *out,
                             sked_error *err)
{
    (void)err;
    sked_i_buffer_format(
        out, "\\ %d ops. x_i_t = 1: op i (from 0, in the order of the graph) starts at time t%s%s\n",
        (int)m->n, m->interval > 0 ? " of the interval; k_i: full intervals before it" : "",
        m->places > 1 ? "; x_i_t_d: on device d" : "");
    write_objective(mip, out);
    write_rows(mip, out);
    write_bounds(mip, out);
    return SKED_OK;
}
