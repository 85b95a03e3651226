#include "report/course.h"

#include "report/comparison.h"
#include "report/page.h"

#include <assert.h>

enum { most_parameters = 200 }; /* rows of the page's table */

bool sked_i_course_known(const sked_robust_result *r)
{
    return !r->one_shot && r->measurements > 0;
}

int32_t sked_i_course_stride(const sked_robust_result *r)
{
    assert(sked_i_course_known(r)); /* a stride of 0 would never end */
    return (r->measurements + SKED_I_MOST_POINTS - 1) / SKED_I_MOST_POINTS;
}

double sked_i_course_work(const sked_robust_result *r)
{
    const sked_robust_member *m = r->member[r->winner];
    return m->best >= 0 ? m->target[m->best] * m->time : NAN;
}

static void add_measurement(sked_i_buffer *b, const sked_robust_result *r, double work, int32_t i)
{
    const sked_robust_measurement *x = &r->measurement[i];
    sked_i_buffer_format(b, "%s{\"number\":%d,\"method\":%d,\"again\":%s,\"resumed\":%s", i > 0 ? ",\n" : "",
                         (int)i + 1, (int)x->member, x->again ? "true" : "false",
                         x->resumed ? "true" : "false");
    sked_i_page_member(b, "time", x->time);
    sked_i_page_member(b, "deviation", x->deviation);
    sked_i_page_member(b, "speedup", sked_i_course_work(r) / x->time);
    sked_i_page_member(b, "best", x->best);
    sked_i_page_member(b, "proxy", work / r->member[x->member]->proxy[x->candidate]);
    sked_i_page_member(b, "expected", x->expected);
    sked_i_page_member(b, "fitted", x->fitted);
    sked_i_buffer_char(b, '}');
}

static void add_quantiles(sked_i_buffer *b, const char *name, const double q[5])
{
    sked_i_buffer_format(b, ",\"%s\":[", name);
    for (int i = 0; i < 5; i++) {
        if (i > 0)
            sked_i_buffer_char(b, ',');
        sked_i_page_number(b, q[i]);
    }
    sked_i_buffer_char(b, ']');
}

static void add_parameter(sked_i_buffer *b, const sked_robust_parameter *p, bool first)
{
    sked_i_buffer_text(b, first ? "{\"name\":" : ",\n{\"name\":");
    sked_i_buffer_json(b, p->name);
    sked_i_page_member(b, "mean", p->mean);
    sked_i_page_member(b, "spread", p->spread);
    add_quantiles(b, "prior", p->prior);
    add_quantiles(b, "posterior", p->posterior);
    sked_i_buffer_char(b, '}');
}

void sked_i_course_json(const sked_robust_result *r, double work, sked_i_buffer *out)
{
    static const char *const ends[] = {[SKED_ROBUST_BUDGET] = "the budget is spent",
                                       [SKED_ROBUST_TIME] = "the time is over",
                                       [SKED_ROBUST_SETTLED] = "nothing promises more",
                                       [SKED_ROBUST_STOPPED] = "stopped"};
    const int32_t stride = sked_i_course_stride(r), last = r->measurements - 1;
    sked_i_buffer_text(out, "{\"target\":");
    sked_i_buffer_json(out, r->target);
    sked_i_buffer_format(out, ",\"count\":%d,\"failures\":%d,\"end\":\"%s\"", (int)r->measurements,
                         (int)r->failures, ends[r->end]);
    sked_i_page_member(out, "noise", r->noise);
    sked_i_buffer_text(out, ",\n\"measurements\":[");
    for (int32_t i = 0; i <= last; i = i == last || i + stride < last ? i + stride : last)
        add_measurement(out, r, work, i);
    sked_i_buffer_format(out, "],\n\"parameterCount\":%d,\"parameters\":[", (int)r->parameters);
    for (int32_t i = 0; i < r->parameters && i < most_parameters; i++)
        add_parameter(out, &r->parameter[i], i == 0);
    sked_i_buffer_text(out, "],\n");
    sked_i_comparison_members(r, false, out);
    sked_i_buffer_char(out, '}');
}
