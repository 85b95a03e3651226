/* What is known of the machine before anything is measured, from a file (docs/formats/prior.md). */
#ifndef SKED_ROBUST_PRIOR_H
#define SKED_ROBUST_PRIOR_H
#include "robust/model.h"

/* Changes the priors that the file names. IO, FORMAT. */
SKED_MUST_CHECK sked_status sked_i_prior_read(const char *path, sked_i_model *m, sked_error *err);
SKED_MUST_CHECK sked_status sked_i_prior_parse(const char *name, const char *text, size_t size,
                                               sked_i_model *m, sked_error *err);
/* Ranges of the spread of the ops' factors and of the noise. */
static const double sked_i_least_op_spread = 1e-3, sked_i_most_op_spread = 1;
static const double sked_i_least_noise = 3e-4, sked_i_most_noise = 1;
#endif
