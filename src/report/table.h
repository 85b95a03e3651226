/* The only list of reports. Each name x is a `const sked_i_report sked_i_report_x` in a file of its own. */
#define SKED_REPORT_LIST(X) \
    X(json)                 \
    X(trace)                \
    X(machine)              \
    X(svg)                  \
    X(curve)                \
    X(progress)             \
    X(scatter)              \
    X(html)                 \
    X(dot)                  \
    X(ssp)                  \
    X(verilog)              \
    X(onnx)                 \
    X(tflite)               \
    X(csv)
