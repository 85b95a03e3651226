/* Models and problems as a backend of its own device takes them (backend/gflownet.h). */
#ifndef SKED_METHOD_GFLOWNET_DEVICE_H
#define SKED_METHOD_GFLOWNET_DEVICE_H
#include "backend/gflownet.h"
#include "method/gflownet/instance.h"
#include "method/gflownet/network/layout.h"

/* Of an encode-once model. */
void sked_i_once_shape_of(const sked_i_layout *layout, sked_i_once_shape *out);
/* The arrays stay the instance's, and so do those of its graph. */
void sked_i_once_problem_of(const sked_i_instance *x, double temperature, sked_i_once_problem *out);
#endif
