/* One libFuzzer target per parser: the program under the name fuzz_X runs parser X of the list of parsers.h.
 */
#include "parsers.h"

#include <stdio.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const parser *target;

static const parser *find(const char *name)
{
    for (int i = 0; i < n_parsers; i++)
        if (strcmp(parsers[i].name, name) == 0)
            return &parsers[i];
    return NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *path = (*argv)[0], *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    (void)argc;
    target = strncmp(name, "fuzz_", 5) == 0 ? find(name + 5) : NULL;
    if (target == NULL) {
        fprintf(stderr, "%s: no parser of this name; call me fuzz_NAME\n", name);
        exit(2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const parser *p = target;
    bool accepted = false;
    char *bytes = malloc(size); /* exactly as large: AddressSanitizer sees the first byte read too far */
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
