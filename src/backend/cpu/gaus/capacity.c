/* Load above capacity: half its square, summed over the cells. */
#include "backend/cpu/gaus/terms.h"

double sked_i_gaus_overuse(const double *profile, int32_t cells, double capacity)
{
    double sum = 0;
    for (int32_t d = 0; d < cells; d++)
        if (profile[d] > capacity)
            sum += 0.5 * (profile[d] - capacity) * (profile[d] - capacity);
    return sum;
}

void sked_i_gaus_overuse_back(const double *profile, int32_t cells, double capacity, double weight,
                              double *adjoint)
{
    for (int32_t d = 0; d < cells; d++)
        if (profile[d] > capacity)
            adjoint[d] += weight * (profile[d] - capacity);
}
