/* The picture of a robust run: every candidate by its speedup on the proxy and on the target. */
#include "report/comparison.h"
#include "report/plot.h"

static void find_ranges(const sked_robust_result *c, sked_i_axis *x, sked_i_axis *y)
{
    *x = *y = sked_i_axis_empty;
    for (int m = 0; m < c->count; m++)
        for (int32_t k = 0; k < c->member[m]->count; k++)
            if (!isnan(c->member[m]->target[k])) {
                sked_i_axis_add(x, c->member[m]->proxy[k]);
                sked_i_axis_add(y, c->member[m]->target[k]);
            }
    sked_i_plot_place(x, y);
}

static void draw_points(sked_i_buffer *b, const sked_robust_result *c, const sked_i_axis *x,
                        const sked_i_axis *y)
{
    for (int m = 0; m < c->count; m++) {
        const sked_robust_member *s = c->member[m];
        const int mark = sked_i_mark_of(c, m);
        sked_i_buffer_format(b, "<g class=\"p\" fill=\"#%s\">", sked_i_mark_color(mark));
        for (int32_t k = 0; k < s->count; k += sked_i_mark_stride(s))
            if (!isnan(s->target[k]))
                sked_i_plot_form(b, mark, sked_i_axis_at(x, s->proxy[k]), sked_i_axis_at(y, s->target[k]),
                                 s->count == 1 ? 5 : 3.5);
        sked_i_buffer_text(b, "</g>\n");
    }
}

static sked_status scatter_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    const sked_robust_result *c = data->robust;
    sked_i_axis x, y;
    char speedup[200];
    if (c == NULL || c->count == 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                           "a scatter picture shows candidates on a target: `sked robust` writes it");
    const sked_robust_member *s = c->member[c->winner];
    find_ranges(c, &x, &y);
    sked_i_plot_begin(out, data, "Candidates on proxy and target", "speedup on the proxy",
                      sked_i_plot_speedup(c, speedup, sizeof speedup));
    sked_i_plot_grid(out, &x, &y);
    draw_points(out, c, &x, &y);
    if (s->best >= 0)
        sked_i_plot_winner(out, c, sked_i_axis_at(&x, s->proxy[s->best]),
                           sked_i_axis_at(&y, s->target[s->best]));
    sked_i_plot_legend(out, c);
    sked_i_buffer_text(out, "</svg>\n");
    return SKED_OK;
}

const sked_i_report sked_i_report_scatter = {
    {"scatter", ".scatter.svg", "candidates of `sked robust` by their speedups on proxy and target"},
    scatter_write,
    false};
