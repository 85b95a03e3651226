/* One libFuzzer target per parser: SKED_FUZZ_PARSER is its name in the list of parsers.h. */
#include "parsers.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const parser *find(const char *name)
{
    for (int i = 0; i < n_parsers; i++)
        if (strcmp(parsers[i].name, name) == 0)
            return &parsers[i];
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const parser *p = find(SKED_FUZZ_PARSER);
    bool accepted = false;
    char *bytes = malloc(size); /* exactly as large: AddressSanitizer sees the first byte read too far */
    if (p == NULL)
        abort();
    if (bytes == NULL)
        return -1;
    memcpy(bytes, data, size);
    const char *wrong = p->check(p, bytes, size, &accepted);
    free(bytes);
    if (wrong != NULL) {
        fprintf(stderr, "%s: %s\n", p->name, wrong);
        abort();
    }
    return 0;
}
