/*
 * The parsers that are no graph readers; those stand in src/formats/table.h. Each name x is a function
 * check_x in parsers.h, a target fuzz_x, and the folder seeds/x.
 */
#define SKED_PARSER_LIST(X) \
    X(schedule)             \
    X(fix)                  \
    X(answer)               \
    X(prior)                \
    X(measurements)         \
    X(machine)              \
    X(buffers)              \
    X(library)              \
    X(profile)              \
    X(resource_model)       \
    X(safetensors)
