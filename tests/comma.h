/* A locale with a decimal comma: one of the machine's, or one made here by localedef. */
#ifndef SKED_TESTS_COMMA_H
#define SKED_TESTS_COMMA_H
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>

/* The program's locale is one, as after setlocale(LC_ALL, ""); false where none can be had. */
static inline bool set_comma(void)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE",
                                             "pl_PL.UTF-8"};
    for (size_t i = 0; i < sizeof with_comma / sizeof *with_comma; i++)
        if (setlocale(LC_ALL, with_comma[i]) != NULL)
            return true;
    if (system("mkdir -p '" SKED_BINARY_DIR "/locale' && localedef -i de_DE -f UTF-8 '" SKED_BINARY_DIR
               "/locale/de_DE.UTF-8' >/dev/null 2>&1") == -1)
        return false;
    setenv("LOCPATH", SKED_BINARY_DIR "/locale", 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

#define NEED_COMMA()                                                                                  \
    do {                                                                                              \
        if (!set_comma()) {                                                                           \
            print_message(                                                                            \
                "skipped: there is no locale with a decimal comma, and localedef cannot make one\n"); \
            skip();                                                                                   \
        }                                                                                             \
    } while (0)
#endif
