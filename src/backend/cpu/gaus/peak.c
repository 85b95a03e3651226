/* The largest value of a profile, smoothed: tau * log sum exp(E / tau). */
#include "backend/cpu/gaus/terms.h"
#include "base/explog.h"

#include <assert.h>

static double largest(const double *profile, int32_t cells)
{
    double most = profile[0];
    for (int32_t d = 1; d < cells; d++)
        most = profile[d] > most ? profile[d] : most;
    return most;
}

/* exp(x) for x <= 0, 0 where it cannot matter. */
static double falling(double x)
{
    return x > -700 ? sked_i_exp(x) : 0;
}

double sked_i_gaus_peak(const double *profile, int32_t cells, double tau)
{
    const double most = largest(profile, cells);
    assert(tau > 0);
    double sum = 0;
    for (int32_t d = 0; d < cells; d++)
        sum += falling((profile[d] - most) / tau);
    return most + tau * sked_i_log(sum);
}

void sked_i_gaus_peak_back(const double *profile, int32_t cells, double tau, double weight, double *adjoint)
{
    const double peak = sked_i_gaus_peak(profile, cells, tau);
    for (int32_t d = 0; d < cells; d++)
        adjoint[d] += weight * falling((profile[d] - peak) / tau);
}
