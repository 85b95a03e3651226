/*
 * Where heavy loops run: one plain C table per backend, chosen at run time by name. Nothing outside
 * src/backend/cuda sees a CUDA type. The cpu version is kept plain: it judges the others in the tests.
 */
#ifndef SKED_BACKEND_BACKEND_H
#define SKED_BACKEND_BACKEND_H
#include "backend/gaus.h"
#include "backend/gpu_policy.h"
#include "backend/kernels.h"
#include "backend/timing.h"

/*
 * Unequal devices and links for the batched simulator. Time of an op on a device of class k: table[table_row
 * * classes + k], or duration / speed[k] where it has no row; INFINITY: it cannot run there.
 */
typedef struct sked_i_batch_machine {
    int32_t classes, groups, rows;
    const int32_t *class_of, *group_of;          /* [devices] */
    const double *speed;                         /* [classes] */
    const int32_t *table_row;                    /* [ops] -1: none; NULL: no op has one */
    const double *table;                         /* [rows * classes] */
    const double *link_latency, *link_bandwidth; /* [groups * groups] from x to; latency NAN: no link */
    const double *bytes;                         /* [edges] */
    bool transfers;                              /* false: they are free */
} sked_i_batch_machine;

/* A graph as the batched simulator reads it: rows of in-edges of distance 0, ops in topological order. */
typedef struct sked_i_batch_graph {
    int32_t ops, devices;
    int64_t edges;
    const double *duration; /* [ops] */
    const int64_t *row;     /* [ops + 1] */
    const int32_t *pred;    /* [edges] */
    const double *lag;      /* [edges]; with a machine NAN where it is the time of `pred` on its device */
    const double *transfer; /* [edges] or NULL */
    const sked_i_batch_machine *machine; /* NULL: identical devices */
} sked_i_batch_graph;

typedef struct sked_i_backend {
    const char *name;
    /*
     * OK, or UNSUPPORTED/DEVICE with the reason it cannot be used on this machine. Where several processes
     * share the machine, the calling thread gets the GPU of this one (sked_i_backend_place).
     */
    sked_status (*available)(sked_error *err);
    /* Does what the first call would wait for, some 0.2 s on a GPU; on any thread. NULL: nothing. */
    void (*wake)(void);
    /*
     * makespan[b] for each of count schedules given by device[b * ops + i] and order[b * ops + k] (a
     * topological order of the ops); NAN where an order is not topological. Host memory everywhere.
     */
    sked_status (*simulate)(const sked_i_batch_graph *g, int64_t count, const int32_t *device,
                            const int32_t *order, double *makespan, sked_error *err);
    const sked_i_gaus_backend *gaus; /* the Gaussian relaxation; NULL: this backend has none */
    const sked_i_gaus_descent_backend *gaus_descent;
    const sked_i_gaus_device_backend *gaus_device; /* the same with devices; NULL: none */
    const sked_i_gaus_device_descent_backend *gaus_device_descent;
    /*
     * time[k * guesses + g] of candidate k under guess g. NULL: the caller runs them one by one
     * (robust/timing.c).
     */
    sked_status (*predict)(const sked_i_prediction *p, double *time, sked_error *err);
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
