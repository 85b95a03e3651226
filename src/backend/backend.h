/*
 * Where heavy loops run: one plain C table per backend, chosen at run time by name. Nothing outside
 * src/backend/cuda sees a CUDA type. The cpu version is kept plain: it judges the others in the tests.
 */
#ifndef SKED_BACKEND_BACKEND_H
#define SKED_BACKEND_BACKEND_H
#include "backend/gaussian.h"
#include "backend/gpu_policy.h"
#include "backend/kernels.h"

typedef struct sked_i_backend {
    const char *name;
    /*
     * OK, or UNSUPPORTED/DEVICE with the reason it cannot be used on this machine. Where several processes
     * share the machine, the calling thread gets the GPU of this one (sked_i_backend_place).
     */
    sked_status (*available)(sked_error *err);
    /* Does what the first call would wait for, some 0.2 s on a GPU; on any thread. NULL: nothing. */
    void (*wake)(void);
    const sked_i_gaus_descent_backend *gaus_descent; /* of the Gaussian relaxation */
    const sked_i_kernels_f32 *nn; /* operators of the neural network; NULL: this backend has none */
    const sked_i_gpu_policy *once, *stepwise; /* the policies of gflownet, whole; NULL: none */
} sked_i_backend;

/* The backend of that name, available on this machine; ARGUMENT, UNSUPPORTED or DEVICE otherwise. */
SKED_MUST_CHECK sked_status sked_i_backend_find(const char *name, const sked_i_backend **out,
                                                sked_error *err);
/*
 * The same for what a user says: NULL or "auto" is cuda where this build and this machine have it and the
 * work is `worth` it (the caller's measured rule), else cpu.
 */
SKED_MUST_CHECK sked_status sked_i_backend_choose(const char *name, bool worth, const sked_i_backend **out,
                                                  sked_error *err);
/*
 * Which of the processes on this machine this one is, 0 unless sked_dist_begin has said otherwise. A backend
 * with several GPUs takes the one of that number, modulo theirs.
 */
void sked_i_backend_set_place(int place);
int sked_i_backend_place(void);
extern const sked_i_backend sked_i_backend_cpu;
#ifdef SKED_WITH_CUDA
extern const sked_i_backend sked_i_backend_cuda;
#endif
#endif
