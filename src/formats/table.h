/* The only list of formats. Each name x is a `const sked_i_format sked_i_format_x` in a file of its own. */
#define SKED_FORMAT_LIST(X) \
    X(stg)                  \
    X(psplib)               \
    X(rcp)                  \
    X(jobshop)              \
    X(dot)                  \
    X(gml)                  \
    X(blif)                 \
    X(regal)
