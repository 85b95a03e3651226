/*
 * The course of the loop of `sked robust`: its measurements and what they taught, as data for the page's
 * section "loop" (course.c) and as a picture of its own (curve.c).
 */
#ifndef SKED_REPORT_COURSE_H
#define SKED_REPORT_COURSE_H
#include "base/text.h"
#include "report/report.h"

/* Is there one? The one-shot pipeline and results without measurements have none. */
bool sked_i_course_known(const sked_robust_result *r);
/* Measurements are drawn with this stride, and the last one always. */
int32_t sked_i_course_stride(const sked_robust_result *r);
/* Work on the target: a speedup there is this over the time. NAN: nothing was measured. */
double sked_i_course_work(const sked_robust_result *r);
/* One JSON object for a section of kind "loop". work: on the proxy, as above. */
void sked_i_course_json(const sked_robust_result *r, double work, sked_i_buffer *out);
#endif
