/* The only list of formats. Each name x is a `const sked_i_format sked_i_format_x` in a file of its own. */
#define SKED_FORMAT_LIST(X) \
    X(native)               \
    X(stg)                  \
    X(psplib)               \
    X(rcp)                  \
    X(jobshop)              \
    X(node_link)            \
    X(dnn_partitioning)     \
    X(wfformat)             \
    X(dot)                  \
    X(graphml)              \
    X(onnx)                 \
    X(tflite)               \
    X(gml)                  \
    X(blif)                 \
    X(aiger)                \
    X(ssp)
