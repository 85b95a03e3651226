/* Packings as files: CSV, and the picture of the arena, time across and addresses up. */
#include "base/sized.h"
#include "base/sort.h"
#include "report/label.h"
#include "report/palette.h"
#include "report/plot.h"
#include "schedule/packing.h"

#include <stdio.h>
#include <strings.h>

/* ------------------------------------------------------------------ CSV */

static sked_status write_csv(const sked_buffer_columns *b, const sked_packing *p, sked_i_buffer *out,
                             sked_error *err)
{
    sked_i_buffer_text(out, b->alignment != NULL ? "id,lower,upper,size,alignment,offset\n"
                                                 : "id,lower,upper,size,offset\n");
    for (int64_t i = 0; i < b->count; i++) {
        if (b->name != NULL && strpbrk(b->name[i], ",\"\r\n") != NULL)
            return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "buffer '%s': a CSV file takes no such name",
                               sked_i_buffer_name(b, i).text);
        if (b->name != NULL)
            sked_i_buffer_text(out, b->name[i]);
        else
            sked_i_buffer_int(out, i);
        sked_i_buffer_char(out, ',');
        sked_i_buffer_number(out, b->lower[i]);
        sked_i_buffer_char(out, ',');
        sked_i_buffer_number(out, b->upper[i]);
        const int64_t whole[] = {b->bytes[i], b->alignment != NULL ? b->alignment[i] : 0, p->offset[i]};
        for (int k = 0; k < 3; k++)
            if (k != 1 || b->alignment != NULL) {
                sked_i_buffer_char(out, ',');
                sked_i_buffer_int(out, whole[k]);
            }
        sked_i_buffer_char(out, '\n');
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ picture */

enum { most_drawn = 10000 }; /* the largest ones: a picture shows no more */

/* The unit that leaves at most four digits to the labels of an axis up to `most` bytes. */
static const char *unit_of(double most, double *unit)
{
    static const char *const name[] = {"bytes", "kB", "MB", "GB", "TB"};
    int k = 0;
    for (*unit = 1; k < 4 && most / *unit >= 10000; k++)
        *unit *= 1000;
    return name[k];
}

static void draw_buffer(sked_i_buffer *out, const sked_buffer_columns *b, const sked_packing *p, int64_t i,
                        const sked_i_axis *x, const sked_i_axis *y)
{
    const double left = sked_i_axis_at(x, b->lower[i]), right = sked_i_axis_at(x, b->upper[i]);
    double unit;
    unit_of((double)p->height, &unit);
    const double bottom = sked_i_axis_at(y, (double)p->offset[i] / unit),
                 top = sked_i_axis_at(y, (double)(p->offset[i] + b->bytes[i]) / unit);
    char number[24], text[80];
    snprintf(number, sizeof number, "%lld", (long long)i);
    const char *name = sked_i_label_cut(b->name != NULL ? b->name[i] : number, 40, text, sizeof text);
    sked_i_buffer_format(out, "<g fill=\"#%s\">", sked_i_palette_hex((int)(i % SKED_I_COLORS)));
    sked_i_label_draw(out, "<rect class=\"k\" x=\"~\" y=\"~\" width=\"~\" height=\"~\"/></g>", left, top,
                      right - left, bottom - top);
    if (bottom - top >= 12 && sked_i_label_width(name, 10) <= right - left - 4) {
        sked_i_label_draw(out, "<text class=\"n mi\" x=\"~\" y=\"~\">", (left + right) / 2,
                          (top + bottom) / 2 + 3.5);
        sked_i_buffer_xml(out, name);
        sked_i_buffer_text(out, "</text>");
    }
    sked_i_buffer_char(out, '\n');
}

/* The largest ones first. */
static sked_status draw_buffers(sked_i_buffer *out, const sked_buffer_columns *b, const sked_packing *p,
                                const sked_i_axis *x, const sked_i_axis *y, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_keyed *item, *spare = NULL;
    SKED_NEW(item, b->count);
    SKED_NEW(spare, b->count);
    for (int64_t i = 0; i < b->count; i++) {
        const double area = (b->upper[i] - b->lower[i]) * (double)b->bytes[i];
        item[i] = (sked_i_keyed){.key = ~sked_i_sort_key(area), .value = i};
    }
    sked_i_sort_keyed(item, spare, b->count);
    for (int64_t k = 0; k < b->count && k < most_drawn; k++)
        if (b->bytes[item[k].value] > 0)
            draw_buffer(out, b, p, item[k].value, x, y);
cleanup:
    free(item);
    free(spare);
    return st;
}

static sked_status write_svg(const sked_buffer_columns *b, const sked_packing *p, sked_i_buffer *out,
                             sked_error *err)
{
    sked_i_axis x = sked_i_axis_empty, y = sked_i_axis_empty;
    char title[200], height[40], bound[40], label[40];
    double unit;
    snprintf(label, sizeof label, "address, %s", unit_of((double)p->height, &unit));
    for (int64_t i = 0; i < b->count; i++) {
        sked_i_axis_add(&x, b->lower[i]);
        sked_i_axis_add(&x, b->upper[i]);
    }
    sked_i_axis_add(&y, 0);
    sked_i_axis_add(&y, (double)p->height / unit);
    sked_i_plot_place(&x, &y);
    snprintf(title, sizeof title, "Arena of %lld buffers: height %s, lower bound %s", (long long)b->count,
             sked_i_label_number((double)p->height, height, sizeof height),
             sked_i_label_number((double)p->lower_bound, bound, sizeof bound));
    sked_i_plot_page(out, "", title, "time", label);
    sked_i_buffer_text(out,
                       "<style>.k{stroke:#1f2328;stroke-width:.3}.n{font-size:10px;fill:#1f2328}</style>\n");
    sked_i_plot_grid(out, &x, &y);
    const sked_status st = draw_buffers(out, b, p, &x, &y, err);
    const double at = sked_i_axis_at(&y, (double)p->lower_bound / unit);
    sked_i_label_draw(out, "<path class=\"lb\" d=\"M~ ~H~\"/>\n</svg>\n", x.low, at, x.high);
    return st;
}

/* ------------------------------------------------------------------ either */

static bool ends_in(const char *path, const char *extension)
{
    const size_t length = strlen(path), n = strlen(extension);
    return length >= n && strcasecmp(path + length - n, extension) == 0;
}

sked_status sked_packing_write(const sked_buffer_columns *b, const sked_packing *p, const char *path,
                               sked_error *err)
{
    SKED_TAKE(sked_buffer_columns, b)
    SKED_TAKE(sked_packing, p)
    sked_i_buffer out = {0};
    const bool picture = ends_in(path, ".svg");
    if (!picture && strcmp(path, "-") != 0 && !ends_in(path, ".csv"))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: a packing is written as .csv or .svg", path);
    if (p->count != b->count)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "a packing of %lld buffers, not of %lld",
                           (long long)p->count, (long long)b->count);
    sked_status st = sked_packing_validate(b, p->offset, NULL, err);
    if (st == SKED_OK)
        st = picture ? write_svg(b, p, &out, err) : write_csv(b, p, &out, err);
    if (st == SKED_OK && out.failed)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st = sked_i_file_write(path, out.data, out.size, err);
    sked_i_buffer_free(&out);
    return st;
}
