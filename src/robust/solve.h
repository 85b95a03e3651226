/* Small dense symmetric systems. Written here because the library links no linear algebra and needs no more.
 */
#ifndef SKED_ROBUST_SOLVE_H
#define SKED_ROBUST_SOLVE_H
#include <stdbool.h>
#include <stdint.h>

/* The lower triangle of a[n * n], positive definite, becomes its Cholesky factor; false: it is not. O(n^3).
 */
bool sked_i_cholesky(double *a, int32_t n);
/* x[n], right side, becomes the solution; a as sked_i_cholesky left it. O(n^2). */
void sked_i_cholesky_solve(const double *a, int32_t n, double *x);
/* x becomes L^-1 x. */
void sked_i_cholesky_forward(const double *a, int32_t n, double *x);
/* Logarithm of the determinant of the matrix before it was factored. */
double sked_i_cholesky_log_det(const double *a, int32_t n);
#endif
