/*
 * What `sked robust` compared, as data for the page's section "robust" (comparison.c) and as a picture of its
 * own (scatter.c).
 */
#ifndef SKED_REPORT_COMPARISON_H
#define SKED_REPORT_COMPARISON_H
#include "base/text.h"
#include "report/report.h"

enum { SKED_I_MARKS = 5, SKED_I_MOST_POINTS = 4000 }; /* points drawn of one method */

/* Number of the marks of method k: 0 for a single schedule, 1 .. SKED_I_MARKS - 1 for several. */
int sked_i_mark_of(const sked_robust_result *c, int k);
/* Their colour: hex digits, readable on white and on black. */
const char *sked_i_mark_color(int mark);
/* Candidates are drawn with this stride, so that no picture grows without bound. */
int32_t sked_i_mark_stride(const sked_robust_member *s);

/* Members "winner":2,"methods":[...] of a JSON object; points: with those to draw. */
void sked_i_comparison_members(const sked_robust_result *c, bool points, sked_i_buffer *out);
/* One JSON object for a section of kind "robust". */
void sked_i_comparison_json(const sked_robust_result *c, sked_i_buffer *out);
#endif
