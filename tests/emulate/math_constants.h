/* The constants of CUDA's header that the kernels use. */
#ifndef SKED_TESTS_EMULATE_MATH_CONSTANTS_H
#define SKED_TESTS_EMULATE_MATH_CONSTANTS_H
#define CUDART_INF   __builtin_inf()
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN   __builtin_nan("")
#define CUDART_NAN_F __builtin_nanf("")
#endif
