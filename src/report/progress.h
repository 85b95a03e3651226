/*
 * Value over time: incumbent and bound of one run, as data for the page's section "progress" and as a picture
 * of its own.
 */
#ifndef SKED_REPORT_PROGRESS_H
#define SKED_REPORT_PROGRESS_H
#include "base/text.h"
#include "report/report.h"

/* Is there anything to see? One point is none. */
bool sked_i_progress_known(const sked_report_data *data);
/* One JSON object for a section of kind "progress". */
void sked_i_progress_json(const sked_report_data *data, sked_i_buffer *out);
#endif
