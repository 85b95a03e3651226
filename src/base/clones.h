/*
 * For functions with hot loops: the compiler makes an AVX2 version beside the plain one, and the loader
 * picks. Both give the same bits (-ffp-contract=off).
 */
#ifndef SKED_BASE_CLONES_H
#define SKED_BASE_CLONES_H
/* Not under sanitizers: the loader picks before their own memory is set up. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SKED_I_HAS_CLONES 1
#define SKED_I_CLONES     __attribute__((target_clones("avx2", "default")))
#else
#define SKED_I_HAS_CLONES 0
#define SKED_I_CLONES
#endif
#endif
