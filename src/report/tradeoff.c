#include "report/tradeoff.h"

#include "report/page.h"

static void add_point(const sked_sweep_point *p, sked_i_buffer *b)
{
    sked_i_buffer_format(b, "{\"found\":%s,\"pareto\":%s", p->found ? "true" : "false",
                         p->pareto ? "true" : "false");
    sked_i_page_member(b, "at", p->at);
    if (p->found) {
        sked_i_page_member(b, "x", p->x);
        sked_i_page_member(b, "y", p->y);
    }
    sked_i_buffer_char(b, '}');
}

void sked_i_tradeoff_json(const sked_sweep_result *t, sked_i_buffer *b)
{
    sked_i_buffer_text(b, "{\"parameter\":");
    sked_i_buffer_json(b, t->parameter);
    sked_i_buffer_text(b, ",\"x\":");
    sked_i_buffer_json(b, t->x);
    sked_i_buffer_text(b, ",\"y\":");
    sked_i_buffer_json(b, t->y);
    sked_i_buffer_format(b, ",\"shown\":%d,\n\"points\":[", t->knee);
    for (int k = 0; k < t->count; k++) {
        if (k > 0)
            sked_i_buffer_text(b, ",\n");
        add_point(t->point[k], b);
    }
    sked_i_buffer_text(b, "]}");
}
