/* A pipeline that takes an input every cycle, as data for the page's section "pipeline". */
#ifndef SKED_REPORT_PIPELINE_H
#define SKED_REPORT_PIPELINE_H
#include "base/text.h"
#include "report/view.h"

/* With a clock, at interval 1, and no more stages than a picture can show. */
bool sked_i_pipeline_known(const sked_report_data *data);
/* Ops and longest delay of each stage, and the register bits after it. O(ops + edges) */
SKED_MUST_CHECK sked_status sked_i_pipeline_json(const sked_report_data *data, sked_i_buffer *b,
                                                 sked_error *err);
#endif
