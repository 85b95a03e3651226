/* One libFuzzer target per format: SKED_FUZZ_FORMAT is its name in src/formats/table.h. */
#include "check_reader.h"

#include <stdio.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
extern const sked_i_format JOIN(sked_i_format_, SKED_FUZZ_FORMAT);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const sked_i_format *format = &JOIN(sked_i_format_, SKED_FUZZ_FORMAT);
    if (format->read == NULL)
        return 0;
    const char *wrong = check_reader(format->info.name, data, size);
    if (wrong != NULL) {
        fprintf(stderr, "%s: %s\n", format->info.name, wrong);
        abort();
    }
    return 0;
}
