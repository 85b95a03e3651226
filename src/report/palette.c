#include "report/palette.h"

#include "base/arena.h"
#include "base/memory.h"

#include <assert.h>
#include <stdio.h>

static const char *const colors[SKED_I_COLORS] = {"77aadd", "ee8866", "eedd88", "44bb99", "ffaabb",
                                                  "99ddff", "bbcc33", "aaaa00", "bbbbbb"};

const char *sked_i_palette_hex(int color)
{
    assert(color >= 0 && color < SKED_I_COLORS);
    return colors[color];
}

/* One of six ramps of the colour wheel at a light saturation; position 0..1. */
static void wheel(double position, int rgb[3])
{
    const double low = 120, high = 235, sixth = position * 6;
    const int sector = (int)sixth % 6;
    const int up = (int)(low + (high - low) * (sixth - floor(sixth)));
    const int down = (int)(high - (high - low) * (sixth - floor(sixth)));
    const int table[6][3] = {{235, up, 120},   {down, 235, 120}, {120, 235, up},
                             {120, down, 235}, {up, 120, 235},   {235, 120, down}};
    for (int k = 0; k < 3; k++)
        rgb[k] = table[sector][k];
}

const char *sked_i_palette_device(int32_t device, char buf[8])
{
    if (device < SKED_I_COLORS - 1) {
        snprintf(buf, 8, "#%s", sked_i_palette_hex(device));
        return buf;
    }
    int rgb[3];
    const double turn = device * 0.6180339887498949; /* golden ratio: neighbours are far apart */
    wheel(turn - floor(turn), rgb);
    snprintf(buf, 8, "#%02x%02x%02x", (unsigned)rgb[0] & 255, (unsigned)rgb[1] & 255, (unsigned)rgb[2] & 255);
    return buf;
}

/* The types with most ops, first seen first among equals, in rank[]; returns how many have a colour. */
static int rank_types(const int32_t *count, int32_t n_types, int32_t rank[SKED_I_COLORS])
{
    int n = 0;
    for (int32_t t = 0; t < n_types; t++) {
        int at = n;
        while (at > 0 && count[t] > count[rank[at - 1]])
            at--;
        if (at >= SKED_I_COLORS)
            continue;
        if (n < SKED_I_COLORS)
            n++;
        for (int k = n - 1; k > at; k--)
            rank[k] = rank[k - 1];
        rank[at] = t;
    }
    return n;
}

static void name_rest(sked_i_view *v, int32_t typed, int32_t untyped, int32_t others)
{
    if (others + untyped == 0)
        return;
    const char *name = typed == 0 ? "op" : others == 0 ? "untyped" : "other";
    v->legend[v->n_legend++] =
        (sked_i_legend_entry){name, others + untyped, typed == 0 ? 0 : SKED_I_COLORS - 1};
}

sked_status sked_i_view_colors(sked_i_view *v, sked_error *err)
{
    sked_status st = SKED_OK;
    const sked_graph *g = v->graph;
    int32_t *count, rank[SKED_I_COLORS], typed = 0, shown = 0;
    uint8_t *of_type;
    SKED_OWN(&v->arena, v->color, g->n_ops);
    SKED_OWN0(&v->arena, count, g->n_types);
    SKED_OWN(&v->arena, of_type, g->n_types);
    for (int32_t i = 0; i < g->n_ops; i++)
        if (g->type[i] >= 0) {
            count[g->type[i]]++;
            typed++;
        }
    int n = rank_types(count, g->n_types, rank);
    if (n == SKED_I_COLORS && (g->n_types > n || typed < g->n_ops))
        n--; /* the last colour is for the rest */
    for (int32_t t = 0; t < g->n_types; t++)
        of_type[t] = SKED_I_COLORS - 1;
    for (int k = 0; k < n; k++) {
        of_type[rank[k]] = (uint8_t)k;
        v->legend[k] = (sked_i_legend_entry){sked_i_names_at(&g->type_names, rank[k]), count[rank[k]], k};
        shown += count[rank[k]];
    }
    v->n_legend = n;
    name_rest(v, typed, g->n_ops - typed, typed - shown);
    for (int32_t i = 0; i < g->n_ops; i++)
        v->color[i] = g->type[i] >= 0 ? of_type[g->type[i]] : typed == 0 ? 0 : SKED_I_COLORS - 1;
cleanup:
    return st;
}
