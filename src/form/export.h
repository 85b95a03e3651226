/* Writers of problems for other solvers: one file per syntax, chosen in export.c. */
#ifndef SKED_FORM_EXPORT_H
#define SKED_FORM_EXPORT_H
#include "base/text.h"
#include "form/program.h"

/* CPLEX LP (export_lp.c) and free MPS (export_mps.c), from the linear rows. */
SKED_MUST_CHECK sked_status sked_i_export_lp(const sked_i_program *m, const sked_i_mip *mip,
                                             sked_i_buffer *out, sked_error *err);
SKED_MUST_CHECK sked_status sked_i_export_mps(const sked_i_program *m, const sked_i_mip *mip,
                                              sked_i_buffer *out, sked_error *err);
/* MiniZinc (export_minizinc.c), from the description; mip is NULL. UNSUPPORTED: amounts that are not whole.
 */
SKED_MUST_CHECK sked_status sked_i_export_minizinc(const sked_i_program *m, const sked_i_mip *mip,
                                                   sked_i_buffer *out, sked_error *err);
#endif
