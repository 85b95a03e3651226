/* Candidates drawn from a model given by its file, in the form methods give theirs. */
#ifndef SKED_TOOLS_CANDIDATES_H
#define SKED_TOOLS_CANDIDATES_H
#include "cli.h"

/* Draws, keeps the best `top` (0: all) and validates them. out ends with sked_result_clear. */
sked_status draw_candidates(const sked_sampler *m, const sked_problem *p, const sked_sample_options *opt,
                            int32_t top, sked_result *out, sked_error *err);
#endif
