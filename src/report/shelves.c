#include "report/shelves.h"

#include "base/memory.h"
#include "report/axis.h"
#include "schedule/holdings.h"

#include <stdio.h>
#include <string.h>

enum { most_drawn = 4000, most_arenas = 8, font_size = 11 };
static const double tall = 220, low = 120; /* one arena; each of several */

void sked_i_shelves_free(sked_i_shelves *b)
{
    free(b->at);
    free(b->first);
    *b = (sked_i_shelves){0};
}

/* Copies come as holdings do, by op; *next: the first one of an op that was not looked at. */
static int64_t address_of(const sked_schedule *s, const sked_i_holding *h, int64_t *next)
{
    if (s->device == NULL || s->device[h->op] == h->device)
        return s->offset[h->op];
    while (*next < s->copies && s->copy_op[*next] < h->op)
        (*next)++;
    for (int64_t k = *next; k < s->copies && s->copy_op[k] == h->op; k++)
        if (s->copy_device[k] == h->device)
            return s->copy_offset[k];
    return -1;
}

sked_status sked_i_shelves_make(const sked_i_view *v, sked_i_shelves *out, sked_error *err)
{
    const sked_schedule *s = v->schedule;
    sked_status st = SKED_OK;
    sked_i_holdings held = {0};
    int64_t *place = NULL, next = 0;
    *out = (sked_i_shelves){0};
    if (s->offset == NULL)
        return SKED_OK;
    out->numbered = s->devices > 0;
    out->devices = out->numbered ? s->devices : 1;
    SKED_TRY(sked_i_holdings_make(v->problem, &v->costs, s, &held, err));
    SKED_NEW(out->at, held.count);
    SKED_NEW0(out->first, (int64_t)out->devices + 1);
    SKED_NEW(place, out->devices);
    for (int64_t k = 0; k < held.count; k++)
        out->first[held.at[k].device + 1]++;
    for (int32_t d = 0; d < out->devices; d++) {
        place[d] = out->first[d];
        out->first[d + 1] += out->first[d];
    }
    for (int64_t k = 0; k < held.count; k++) {
        const sked_i_holding *h = &held.at[k];
        const int64_t address = address_of(s, h, &next); /* -1: rounding alone holds it */
        out->at[place[h->device]++] = (sked_i_shelved){
            h->begin, h->end, address, address < 0 ? 0 : sked_i_address_size(v->graph, h->op), h->op};
    }
cleanup:
    free(place);
    sked_i_holdings_free(&held);
    return st;
}

const char *sked_i_shelves_name(const sked_i_view *v, const sked_i_shelves *b, int32_t device, char *buf,
                                size_t size)
{
    char name[200];
    if (b->numbered)
        snprintf(buf, size, "arena %s", sked_i_view_device_name(v, device, name, sizeof name));
    else
        snprintf(buf, size, "arena");
    return buf;
}

/* ------------------------------------------------------------------ pictures */

/* One arena on the page. */
typedef struct frame {
    const sked_i_panel *gantt;
    const sked_i_shelves *blocks;
    int32_t device;
    double top, height, most; /* most: its last address */
} frame;

static double y_of(const frame *f, double address)
{
    return f->top + f->height * (1 - address / f->most);
}

static void draw_block(const frame *f, const sked_i_shelved *b)
{
    const sked_i_panel *p = f->gantt;
    const sked_i_view *v = p->view;
    const double x = sked_i_panel_x(p, b->begin), width = sked_i_panel_x(p, b->end) - x;
    const double y = y_of(f, (double)(b->address + b->size)), height = y_of(f, (double)b->address) - y;
    char name[300], number[40];
    sked_graph_op_name(v->graph, b->op, name, sizeof name);
    sked_i_buffer_format(p->out, "<rect class=\"c%d\"", (int)v->color[b->op]);
    sked_i_label_draw(p->out, " x=\"~\" y=\"~\" width=\"~\" height=\"~\"><title>", x, y,
                      width > 2 ? width - 0.5 : fmax(width, 0.5),
                      height > 2 ? height - 0.5 : fmax(height, 0.5));
    sked_i_buffer_xml(p->out, name);
    sked_i_buffer_format(p->out, "&#10;size %lld at %lld", (long long)b->size, (long long)b->address);
    sked_i_buffer_format(p->out, "&#10;%s to ", sked_i_label_number(b->begin, number, sizeof number));
    sked_i_buffer_format(p->out, "%s</title></rect>\n", sked_i_label_number(b->end, number, sizeof number));
    const char *shown = height >= font_size + 1 ? sked_i_label_fit(name, font_size, width - 6) : NULL;
    if (shown == NULL)
        return;
    sked_i_label_draw(p->out, "<text class=\"n\" x=\"~\" y=\"~\">", x + width / 2, y + height / 2 + 4);
    sked_i_buffer_xml(p->out, shown);
    sked_i_buffer_text(p->out, "</text>\n");
}

/* The largest ones by their area on the page; *hidden: how many are left. */
static sked_status draw_blocks(const frame *f, int64_t *hidden, sked_error *err)
{
    const int64_t from = f->blocks->first[f->device], count = f->blocks->first[f->device + 1] - from;
    sked_status st = SKED_OK;
    sked_i_keyed *item = NULL;
    SKED_NEW(item, 2 * count);
    for (int64_t k = 0; k < count; k++) {
        const sked_i_shelved *b = &f->blocks->at[from + k];
        item[k] = (sked_i_keyed){sked_i_sort_key(-(b->end - b->begin) * (double)b->size), from + k};
    }
    sked_i_sort_keyed(item, item + count, count);
    for (int64_t k = 0; k < count && k < most_drawn; k++)
        if (f->blocks->at[item[k].value].size > 0)
            draw_block(f, &f->blocks->at[item[k].value]);
    *hidden = count > most_drawn ? count - most_drawn : 0;
    free(item);
cleanup:
    return st;
}

static void draw_frame(const frame *f)
{
    const sked_i_panel *p = f->gantt;
    sked_i_tick tick[SKED_I_MOST_TICKS];
    const sked_i_axis a = {.to = f->most, .low = f->top + f->height, .high = f->top, .whole = true};
    const int n = sked_i_axis_ticks(&a, 4, tick);
    sked_i_label_draw(p->out, "<rect class=\"h0\" x=\"~\" y=\"~\" width=\"~\" height=\"~\"/>\n", p->left,
                      f->top, p->width, f->height);
    for (int i = 0; i < n; i++) {
        sked_i_label_draw(p->out, "<path class=\"g\" d=\"M~ ~H~\"/>\n", p->left, tick[i].at,
                          p->left + p->width);
        sked_i_panel_text(p->out, "m e", p->left - 10, tick[i].at + 4, tick[i].label);
    }
}

/* "arena device 0 · 38 · peak ..." over its picture. Returns where that ends. */
static sked_status draw_arena(frame *f, double *bottom, sked_error *err)
{
    const sked_i_panel *p = f->gantt;
    const int64_t arena = p->view->schedule->arena[f->device];
    char name[280], number[40], text[400];
    int64_t hidden = 0;
    snprintf(text, sizeof text, "%s \xc2\xb7 %s",
             sked_i_shelves_name(p->view, f->blocks, f->device, name, sizeof name),
             sked_i_label_number((double)arena, number, sizeof number));
    sked_i_panel_text(p->out, "t", p->left, f->top - 6, text);
    f->most = (double)(arena > 0 ? arena : 1);
    draw_frame(f);
    const sked_status st = draw_blocks(f, &hidden, err);
    *bottom = f->top + f->height;
    if (hidden > 0) {
        snprintf(text, sizeof text, "the %lld smallest values are not drawn", (long long)hidden);
        sked_i_panel_text(p->out, "m", p->left, *bottom + 14, text);
        *bottom += 18;
    }
    return st;
}

sked_status sked_i_shelves_draw(const sked_i_panel *gantt, double top, double *bottom, sked_error *err)
{
    sked_i_shelves b;
    char text[80];
    int32_t drawn = 0, used = 0;
    *bottom = top;
    sked_status st = sked_i_shelves_make(gantt->view, &b, err);
    const int64_t *const arena = gantt->view->schedule->arena;
    for (int32_t d = 0; d < b.devices; d++)
        used += arena[d] > 0;
    for (int32_t d = 0; st == SKED_OK && d < b.devices && drawn < most_arenas; d++) {
        frame f = {gantt, &b, d, *bottom + 34, used > 1 ? low : tall, 1};
        if (arena[d] == 0)
            continue;
        drawn++;
        st = draw_arena(&f, bottom, err);
    }
    if (used > drawn && st == SKED_OK) {
        snprintf(text, sizeof text, "and %d more", (int)(used - drawn));
        sked_i_panel_text(gantt->out, "m", gantt->left, *bottom + 18, text);
        *bottom += 22;
    }
    sked_i_shelves_free(&b);
    return st;
}
