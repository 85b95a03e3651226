#include "report/comparison.h"

#include "report/page.h"

#include <assert.h>

/* Tell apart with the common kinds of colour blindness, and their forms differ too. */
static const char *const colors[SKED_I_MARKS] = {"808890", "4393c3", "e08214", "9970ab", "1b9e77"};

int sked_i_mark_of(const sked_robust_result *c, int k)
{
    int earlier = 0;
    assert(k >= 0 && k < c->count);
    for (int i = 0; i < k; i++)
        earlier += c->member[i]->count > 1;
    return c->member[k]->count > 1 ? 1 + earlier % (SKED_I_MARKS - 1) : 0;
}

const char *sked_i_mark_color(int mark)
{
    assert(mark >= 0 && mark < SKED_I_MARKS);
    return colors[mark];
}

int32_t sked_i_mark_stride(const sked_robust_member *s)
{
    return (s->count + SKED_I_MOST_POINTS - 1) / SKED_I_MOST_POINTS + (s->count == 0);
}

/* Best on the proxy; the first is, but nothing here relies on it. 0 without candidates. */
static double best_on_proxy(const sked_robust_member *s)
{
    double best = 0;
    for (int32_t k = 0; k < s->count; k++)
        best = fmax(best, s->proxy[k]);
    return best;
}

/* Best on the target, NAN where nothing was measured. */
static double best_on_target(const sked_robust_member *s)
{
    return s->best >= 0 ? s->target[s->best] : NAN;
}

static void add_points(sked_i_buffer *b, const char *name, const sked_robust_member *s, const double *value)
{
    const int32_t stride = sked_i_mark_stride(s);
    sked_i_buffer_format(b, ",\n\"%s\":[", name);
    for (int32_t k = 0; k < s->count; k += stride) {
        if (k > 0)
            sked_i_buffer_char(b, ',');
        sked_i_buffer_digits(b, value[k], 7);
    }
    sked_i_buffer_char(b, ']');
}

static void add_member(sked_i_buffer *b, const sked_robust_result *c, int k, bool points)
{
    const sked_robust_member *s = c->member[k];
    const int mark = sked_i_mark_of(c, k);
    sked_i_buffer_text(b, k > 0 ? ",\n{\"name\":" : "{\"name\":");
    sked_i_buffer_json(b, s->label);
    sked_i_buffer_format(
        b, ",\"color\":\"#%s\",\"form\":%d,\"count\":%d,\"stride\":%d,\"best\":%d,\"failed\":%d",
        sked_i_mark_color(mark), mark, (int)s->count, (int)sked_i_mark_stride(s), (int)s->best,
        (int)s->failures);
    sked_i_page_member(b, "proxySpeedup", best_on_proxy(s));
    sked_i_page_member(b, "targetSpeedup", best_on_target(s));
    sked_i_page_member(b, "bestProxy", s->best >= 0 ? s->proxy[s->best] : NAN);
    sked_i_page_member(b, "ged", s->ged);
    sked_i_page_member(b, "dInv", s->d_inv);
    sked_i_page_member(b, "dSen", s->d_sen);
    sked_i_page_member(b, "seconds", s->seconds);
    if (points) {
        add_points(b, "proxy", s, s->proxy);
        add_points(b, "target", s, s->target);
    }
    sked_i_buffer_char(b, '}');
}

void sked_i_comparison_members(const sked_robust_result *c, bool points, sked_i_buffer *out)
{
    sked_i_buffer_format(out, "\"winner\":%d,\"methods\":[", c->winner);
    for (int k = 0; k < c->count; k++)
        add_member(out, c, k, points);
    sked_i_buffer_char(out, ']');
}

void sked_i_comparison_json(const sked_robust_result *c, sked_i_buffer *out)
{
    sked_i_buffer_text(out, "{\"target\":");
    sked_i_buffer_json(out, c->target);
    sked_i_buffer_char(out, ',');
    sked_i_comparison_members(c, true, out);
    sked_i_buffer_char(out, '}');
}
