/* The problem as an instance of CIRCT's, with start times: docs/formats/ssp.md. */
#include "formats/ssp.h"
#include "report/report.h"

static sked_status ssp_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    const sked_i_ssp_times times = {data->schedule->start, data->schedule->phase, data->schedule->ii};
    if (data->schedule->devices > 0)
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED, "SSP cannot hold a schedule on devices");
    return sked_i_ssp_write(data->problem->graph, &times, out, err);
}

const sked_i_report sked_i_report_ssp = {
    {"ssp", ".mlir", "CIRCT SSP instance with start times"}, ssp_write, true};
