/* The schedule as a pipelined module: docs/formats/verilog.md. */
#include "report/report.h"
#include "schedule/verilog.h"

static sked_status verilog_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    return sked_i_verilog_write(data->problem, data->schedule, false, NULL, out, err);
}

const sked_i_report sked_i_report_verilog = {
    {"verilog", ".v", "Verilog of a pipeline that takes an input every cycle"}, verilog_write, true};
