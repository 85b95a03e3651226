#include "robust/solve.h"

#include "base/explog.h"

#include <assert.h>
#include <math.h>

bool sked_i_cholesky(double *a, int32_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0 && sum < INFINITY))
                return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

void sked_i_cholesky_forward(const double *a, int32_t n, double *x)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            x[i] -= a[i * n + k] * x[k];
        x[i] /= a[i * n + i];
    }
}

void sked_i_cholesky_solve(const double *a, int32_t n, double *x)
{
    sked_i_cholesky_forward(a, n, x);
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < n; k++)
            x[i] -= a[k * n + i] * x[k];
        x[i] /= a[i * n + i];
    }
}

double sked_i_cholesky_log_det(const double *a, int32_t n)
{
    double sum = 0;
    assert(n == 0 || a[0] > 0); /* a factor, not the matrix that was none */
    for (int64_t i = 0; i < n; i++)
        sum += sked_i_log(a[i * n + i]);
    return 2 * sum;
}
