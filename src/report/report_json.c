/* The schedule itself, in the native format. */
#include "formats/format.h"
#include "report/report.h"

static sked_status json_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    return sked_i_native_schedule_write(data->problem, data->schedule, out, err);
}

const sked_i_report sked_i_report_json = {{"json", ".json", "schedule (sked-schedule-1)"}, json_write, true};
