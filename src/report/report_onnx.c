/* The ONNX model that was scheduled, with its nodes in the order of the schedule: docs/formats/onnx.md. */
#include "formats/onnx_wire.h"
#include "report/rewrite.h"

static sked_status onnx_write(const sked_report_data *data, sked_i_buffer *out, sked_error *err)
{
    sked_i_rewrite m;
    sked_status st = sked_i_rewrite_begin(data, "onnx", &m, err);
    if (st == SKED_OK)
        st = sked_i_onnx_write(&m.source, data->problem->graph->n_ops, m.order, out, err);
    sked_i_rewrite_free(&m);
    return st;
}

const sked_i_report sked_i_report_onnx = {
    {"onnx", ".onnx", "ONNX model that was read, its nodes in the order of the schedule"}, onnx_write, true};
