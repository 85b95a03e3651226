/*
 * A small problem of the differentiable scheduler with devices, its gradients by central differences, and
 * sums for expectations by sampling. The test that includes this has constants OPS, DEVICES, ROWS and CELLS.
 */
#ifndef SKED_TESTS_GAUS_FIXTURE_H
#define SKED_TESTS_GAUS_FIXTURE_H
#include "backend/backend.h"
#include "base/rng.h"
#include "engine/gaus/device.h"
#include "test.h"

#include <math.h>

typedef struct fixture {
    sked_i_gaus_device_kinds kinds;
    sked_i_gaus_device_view view;
    sked_i_gaus_device_terms terms;
    sked_i_gaus_device_evaluator *evaluator;
    double mu[OPS], sigma[OPS], share[OPS * DEVICES];
    double dmu[OPS], dsigma[OPS], dshare[OPS * DEVICES];
    sked_i_gaus_device_point at, gradient;
} fixture;

/* The view is there; able: may the op run on the device? NULL: any. */
static void start_fixture(fixture *f, int threads, bool (*able)(int op, int device))
{
    sked_i_rng rng;
    f->at = (sked_i_gaus_device_point){f->mu, f->sigma, f->share};
    f->gradient = (sked_i_gaus_device_point){f->dmu, f->dsigma, f->dshare};
    sked_i_rng_seed(&rng, 11, 0);
    for (int i = 0; i < OPS; i++) {
        double sum = 0;
        f->mu[i] = 0.4 + 9 * sked_i_rng_uniform(&rng);
        f->sigma[i] = 0.3 + 1.1 * sked_i_rng_uniform(&rng);
        for (int d = 0; d < DEVICES; d++)
            sum += f->share[i * DEVICES + d] =
                able == NULL || able(i, d) ? 0.1 + sked_i_rng_uniform(&rng) : 0;
        for (int d = 0; d < DEVICES; d++)
            f->share[i * DEVICES + d] /= sum;
    }
    OK(sked_i_gaus_device_cpu.create(&f->view, threads, &f->evaluator, err));
}

static void close_fixture(fixture *f)
{
    sked_i_gaus_device_cpu.destroy(f->evaluator);
}

static sked_i_gaus_value evaluate(fixture *f)
{
    sked_i_gaus_value value;
    OK(sked_i_gaus_device_cpu.evaluate(f->evaluator, &f->terms, &f->at, &f->gradient, &value, err));
    return value;
}

/* ------------------------------------------------------------------ gradients */

static double difference(fixture *f, double *x)
{
    const double was = *x, h = 1e-5;
    *x = was + h;
    const double up = evaluate(f).total;
    *x = was - h;
    const double down = evaluate(f).total;
    *x = was;
    return (up - down) / (2 * h);
}

/* Shares that are 0 because the op cannot run there have no gradient. */
static void check_all(fixture *f, const char *what, double *x, const double *gradient, int count,
                      double *seen)
{
    for (int k = 0; k < count; k++) {
        evaluate(f);
        if (x[k] == 0)
            continue;
        const double claimed = gradient[k], measured = difference(f, &x[k]);
        *seen = fmax(*seen, fabs(claimed));
        if (fabs(claimed - measured) > 2e-5 * (1 + fabs(measured)))
            fail_msg("%s %d: gradient %.9g, differences say %.9g", what, k, claimed, measured);
    }
}

/* shares: they count, too. */
static void check_gradient(fixture *f, const char *what, bool shares)
{
    double mu = 0, sigma = 0, share = 0;
    check_all(f, "mu", f->mu, f->dmu, OPS, &mu);
    check_all(f, "sigma", f->sigma, f->dsigma, OPS, &sigma);
    check_all(f, "share", f->share, f->dshare, OPS * DEVICES, &share);
    if (!(mu > 1e-3 && sigma > 1e-3 && (!shares || share > 1e-3)))
        fail_msg("%s: no gradient at all", what);
}

/* ------------------------------------------------------------------ expectations by sampling */

typedef struct sample_sums {
    double load[ROWS][CELLS], shortfall, late;
} sample_sums;

static void add_busy(double *row, double begin, double end, double amount)
{
    for (int c = 0; c < CELLS; c++)
        row[c] += amount * fmax(0, fmin(end, c + 1) - fmax(begin, c));
}

static void near(const char *what, double sampled, double expected, double tolerance)
{
    if (!(fabs(sampled - expected) <= tolerance))
        fail_msg("%s: sampled %.6g, expectation %.6g", what, sampled, expected);
}
#endif
