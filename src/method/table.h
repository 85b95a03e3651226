/* The only list of methods. Each name x is a `const sked_i_method sked_i_method_x`; underscores print as '-'.
 */
#define SKED_METHOD_LIST(X) \
    X(auto)                 \
    X(list)                 \
    X(heft)                 \
    X(modulo_list)          \
    X(search)               \
    X(brkga)                \
    X(fds)                  \
    X(modulo_search)        \
    X(registers)            \
    X(exact)                \
    X(gflownet)             \
    X(gaus)
