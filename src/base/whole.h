/* Which numbers are whole, for all that turns times into integers. */
#ifndef SKED_BASE_WHOLE_H
#define SKED_BASE_WHOLE_H
#include <math.h>
#include <stdbool.h>

/*
 * Is x * scale whole, and exact as a double? A decimal fraction is not exact in binary: times a scale above 1
 * it may be off by a part in 1e12.
 */
static inline bool sked_i_whole(double x, double scale)
{
    const double y = fabs(x) * scale;
    return y < 0x1p53 && fabs(y - rint(y)) <= (scale > 1 ? 1e-12 * y : 0);
}
#endif
