/* The only list of targets. Each name x is a `const sked_i_target sked_i_target_x`. */
#define SKED_TARGET_LIST(X) \
    X(proxy)                \
    X(noisy)                \
    X(bandwidth)            \
    X(latency)              \
    X(linear)               \
    X(contention)           \
    X(cache)                \
    X(jitter)               \
    X(threads)              \
    X(simgrid)              \
    X(command)              \
    X(torch)                \
    X(onnxruntime)          \
    X(ice40)
