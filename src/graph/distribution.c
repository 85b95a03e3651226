#include "graph/distribution.h"

#include "base/explog.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double cut(double x)
{
    return x > 0 ? x : 0;
}

static double draw_const(const sked_i_distribution *d, sked_i_rng *r)
{
    (void)r;
    return d->arg[0];
}

static double draw_uniform(const sked_i_distribution *d, sked_i_rng *r)
{
    return d->arg[0] + (d->arg[1] - d->arg[0]) * sked_i_rng_uniform(r);
}

static double draw_int(const sked_i_distribution *d, sked_i_rng *r)
{
    return d->arg[0] + (double)sked_i_rng_below(r, (uint64_t)(d->arg[1] - d->arg[0]) + 1);
}

static double draw_normal(const sked_i_distribution *d, sked_i_rng *r)
{
    return cut(d->arg[0] + d->arg[1] * sked_i_rng_normal(r));
}

static double draw_lognormal(const sked_i_distribution *d, sked_i_rng *r)
{
    return sked_i_exp(d->arg[0] + d->arg[1] * sked_i_rng_normal(r));
}

static double draw_exponential(const sked_i_distribution *d, sked_i_rng *r)
{
    return d->arg[0] * sked_i_rng_exponential(r);
}

static double draw_choice(const sked_i_distribution *d, sked_i_rng *r)
{
    return d->arg[sked_i_rng_below(r, (uint64_t)d->count)];
}

/* Memory of the layered graphs of Gagrani et al. 2022. */
static double draw_mixture(const sked_i_distribution *d, sked_i_rng *r)
{
    static const double mean[] = {0.5, 1, 3, 5}, deviation[] = {0.5, 1, 1, 1};
    const uint64_t k = sked_i_rng_below(r, 4);
    (void)d;
    return cut(mean[k] + deviation[k] * sked_i_rng_normal(r));
}

static bool all_in(const sked_i_distribution *d, double lo, double hi)
{
    for (int i = 0; i < d->count; i++)
        if (!(d->arg[i] >= lo && d->arg[i] <= hi))
            return false;
    return true;
}

#define LARGEST 1e18

static bool check_amounts(const sked_i_distribution *d)
{
    return all_in(d, 0, LARGEST);
}

static bool check_range(const sked_i_distribution *d)
{
    return all_in(d, 0, LARGEST) && d->arg[0] <= d->arg[1];
}

static bool check_int(const sked_i_distribution *d)
{
    return all_in(d, 0, 0x1p53 - 1) && d->arg[0] <= d->arg[1] && d->arg[0] == floor(d->arg[0]) &&
           d->arg[1] == floor(d->arg[1]);
}

static bool check_normal(const sked_i_distribution *d)
{
    return all_in(d, -LARGEST, LARGEST) && d->arg[1] >= 0;
}

static bool check_lognormal(const sked_i_distribution *d) /* exp stays finite: no draw is 9 deviations out */
{
    return all_in(d, -100, 100) && d->arg[1] >= 0 && d->arg[1] <= 20;
}

static const struct kind {
    sked_distribution_info info;
    int least, most; /* numbers it takes */
    bool (*check)(const sked_i_distribution *d);
    double (*draw)(const sked_i_distribution *d, sked_i_rng *r);
} kinds[] = {
    {{"const", "V", "always V"}, 1, 1, check_amounts, draw_const},
    {{"uniform", "LO,HI", "real numbers, LO <= x < HI"}, 2, 2, check_range, draw_uniform},
    {{"int", "LO,HI", "whole numbers, LO and HI included"}, 2, 2, check_int, draw_int},
    {{"normal", "MEAN,SD", "normal, negative values become 0"}, 2, 2, check_normal, draw_normal},
    {{"lognormal", "MU,SIGMA", "exp of a normal with mean MU (-100..100) and deviation SIGMA (0..20)"},
     2,
     2,
     check_lognormal,
     draw_lognormal},
    {{"exponential", "MEAN", "exponential"}, 1, 1, check_amounts, draw_exponential},
    {{"choice", "A,B,...", "one of up to 32 values, all equally likely"},
     1,
     SKED_I_DISTRIBUTION_ARGS,
     check_amounts,
     draw_choice},
    {{"mixture", "",
      "of four normals: means 0.5, 1, 3, 5, deviations 0.5, 1, 1, 1; negative values become 0"},
     0,
     0,
     check_amounts,
     draw_mixture},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

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
                       sked_i_suggest(word, names, N_KINDS, hint, sizeof hint));
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
    char quoted[80];
    if (d.kind < 0)
        return unknown(what, text, err);
    const struct kind *kind = &kinds[d.kind];
    if ((text[n] == ':' && !parse_numbers(text + n + 1, &d)) || d.count < kind->least ||
        d.count > kind->most || !kind->check(&d))
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "%s: '%s' is not of the form %s%s%s  %s (numbers are finite, 0 or more, "
                           "at most 1e18, the smaller first)",
                           what, sked_i_quote(text, strlen(text), quoted, sizeof quoted), kind->info.name,
                           kind->info.arguments[0] ? ":" : "", kind->info.arguments, kind->info.summary);
    *out = d;
    return SKED_OK;
}

double sked_i_distribution_draw(const sked_i_distribution *d, sked_i_rng *r)
{
    return kinds[d->kind].draw(d, r);
}
