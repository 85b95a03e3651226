/* The machine that `sked robust` fitted, with its profile of durations: for `sked schedule --machine`. */
#include "formats/format.h"
#include "report/report.h"

static sked_status machine_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    if (data->robust == NULL || data->robust->machine == NULL)
        return sked_i_fail(
            err, SKED_ERR_UNSUPPORTED,
            "a fitted machine comes from measuring: `sked robust` writes it, without --one-shot");
    sked_i_format_of_machines(data->robust->machine, out);
    return SKED_OK;
}

const sked_i_report sked_i_report_machine = {
    {"machine", ".machine.json", "machine that `sked robust` fitted, with its profile (sked-machine-1)"},
    machine_write,
    true};
