#include "graph/distribution.h"

#include "base/explog.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double cut(double x)
{
    return x > 0 ? x : 0;
}

enum { CONST, UNIFORM, INT, NORMAL, LOGNORMAL, EXPONENTIAL, CHOICE, MIXTURE };

static const struct kind {
    sked_distribution_info info;
    int least, most; /* numbers it takes */
} kinds[] = {
    [CONST] = {{"const", "V", "always V"}, 1, 1},
    [UNIFORM] = {{"uniform", "LO,HI", "real numbers, LO <= x < HI"}, 2, 2},
    [INT] = {{"int", "LO,HI", "whole numbers, LO and HI included"}, 2, 2},
    [NORMAL] = {{"normal", "MEAN,SD", "normal, negative values become 0"}, 2, 2},
    [LOGNORMAL] = {{"lognormal", "MU,SIGMA",
                    "exp of a normal with mean MU (-100..100) and deviation SIGMA (0..20)"},
                   2,
                   2},
    [EXPONENTIAL] = {{"exponential", "MEAN", "exponential"}, 1, 1},
    [CHOICE] = {{"choice", "A,B,...", "one of up to 32 values, all equally likely"},
                1,
                SKED_I_DISTRIBUTION_ARGS},
    [MIXTURE] = {{"mixture", "",
                  "of four normals: means 0.5, 1, 3, 5, deviations 0.5, 1, 1, 1; negative values become 0"},
                 0,
                 0},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static bool all_in(const sked_i_distribution *d, double lo, double hi)
{
    for (int i = 0; i < d->count; i++)
        if (!(d->arg[i] >= lo && d->arg[i] <= hi))
            return false;
    return true;
}

static bool fits(const sked_i_distribution *d)
{
    static const double largest = 1e18;
    const double *a = d->arg;
    switch (d->kind) {
    case UNIFORM:
        return all_in(d, 0, largest) && a[0] <= a[1];
    case INT:
        return all_in(d, 0, 0x1p53 - 1) && a[0] <= a[1] && a[0] == floor(a[0]) && a[1] == floor(a[1]);
    case NORMAL:
        return all_in(d, -largest, largest) && a[1] >= 0;
    case LOGNORMAL: /* exp stays finite: no draw is 9 deviations out */
        return all_in(d, -100, 100) && a[1] >= 0 && a[1] <= 20;
    default:
        return all_in(d, 0, largest);
    }
}

int sked_distribution_count(void)
{
    return N_KINDS;
}

const sked_distribution_info *sked_distribution_at(int i)
{
    return i >= 0 && i < N_KINDS ? &kinds[i].info : NULL;
}

static int find_kind(const char *text, size_t size)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strlen(kinds[i].info.name) == size && memcmp(kinds[i].info.name, text, size) == 0)
            return i;
    return -1;
}

static sked_status unknown(const char *what, const char *text, sked_error *err)
{
    const char *names[N_KINDS];
    char word[40], hint[80];
    for (int i = 0; i < N_KINDS; i++)
        names[i] = kinds[i].info.name;
    sked_i_quote(text, strcspn(text, ":"), word, sizeof word);
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: no distribution is called '%s'%s", what, word,
                       sked_suggest(word, names, N_KINDS, hint, sizeof hint));
}

/* Numbers separated by commas up to the end of the text. */
static bool parse_numbers(const char *s, sked_i_distribution *d)
{
    for (;;) {
        const size_t n = strcspn(s, ",");
        if (d->count == SKED_I_DISTRIBUTION_ARGS || !sked_i_parse_double(s, n, &d->arg[d->count]))
            return false;
        d->count++;
        if (s[n] == 0)
            return true;
        s += n + 1;
    }
}

sked_status sked_i_distribution_parse(const char *what, const char *text, sked_i_distribution *out,
                                      sked_error *err)
{
    const size_t n = strcspn(text, ":");
    sked_i_distribution d = {.kind = find_kind(text, n)};
    if (d.kind < 0)
        return unknown(what, text, err);
    const struct kind *kind = &kinds[d.kind];
    if ((text[n] == ':' && !parse_numbers(text + n + 1, &d)) || d.count < kind->least ||
        d.count > kind->most || !fits(&d))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "%s: '%s' is not of the form %s%s%s  %s (numbers are finite, 0 or more, "
                           "at most 1e18, the smaller first)",
                           what, sked_i_quoted_text(text).text, kind->info.name,
                           kind->info.arguments[0] ? ":" : "", kind->info.arguments, kind->info.summary);
    *out = d;
    return SKED_OK;
}

/* Memory of the layered graphs of Gagrani et al. 2022. */
static double draw_mixture(sked_i_rng *r)
{
    static const double mean[] = {0.5, 1, 3, 5}, deviation[] = {0.5, 1, 1, 1};
    const uint64_t k = sked_i_rng_below(r, 4);
    return cut(mean[k] + deviation[k] * sked_i_rng_normal(r));
}

double sked_i_distribution_draw(const sked_i_distribution *d, sked_i_rng *r)
{
    const double *a = d->arg;
    assert(d->kind >= 0 && d->kind < N_KINDS && d->count >= kinds[d->kind].least);
    switch (d->kind) {
    case CONST:
        return a[0];
    case UNIFORM:
        return a[0] + (a[1] - a[0]) * sked_i_rng_uniform(r);
    case INT:
        return a[0] + (double)sked_i_rng_below(r, (uint64_t)(a[1] - a[0]) + 1);
    case NORMAL:
        return cut(a[0] + a[1] * sked_i_rng_normal(r));
    case LOGNORMAL:
        return sked_i_exp(a[0] + a[1] * sked_i_rng_normal(r));
    case EXPONENTIAL:
        return a[0] * sked_i_rng_exponential(r);
    case CHOICE:
        return a[sked_i_rng_below(r, (uint64_t)d->count)];
    default:
        return draw_mixture(r);
    }
}
