/* A report: one file here, one line in table.h. Writers fill a buffer; report.c validates and writes. */
#ifndef SKED_REPORT_REPORT_H
#define SKED_REPORT_REPORT_H
#include "base/file.h"
#include "schedule/schedule.h"

typedef struct sked_i_report {
    sked_report_info info;
    sked_status (*write)(const sked_report_data *data, sked_i_buffer *out, sked_error *err);
    bool save; /* the schedule itself: to disk (sked_i_file_save). Pictures can be drawn again */
} sked_i_report;
#endif
