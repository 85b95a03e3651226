/*
 * The number type of the neural network: float in the library. The gradient tests compile the same sources
 * once more with SKED_REAL_DOUBLE, under other names, so that both can be linked together.
 */
#ifndef SKED_BACKEND_REAL_H
#define SKED_BACKEND_REAL_H
#include <stdint.h>

#ifdef SKED_REAL_DOUBLE
typedef double real;
#define RN(name) sked_i_##name##_f64
#else
typedef float real;
#define RN(name) sked_i_##name##_f32
#endif
#endif
