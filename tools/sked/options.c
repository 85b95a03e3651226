/* Command line parsing from the option table. */
#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

const option_line option_lines[] = {
#define X(field, kind, name, v, least, most, commands, help) \
    {name, v, help, KIND_##kind, least, most, commands, offsetof(arguments, field)},
    OPTION_LIST(X)
#undef X
};
const int n_option_lines = sizeof option_lines / sizeof *option_lines;

const command_line command_lines[COMMAND_COUNT] = {
#define X(name, operands, least, most, help) {#name, operands, help, least, most, run_##name},
    COMMAND_LIST(X)
#undef X
};

sked_status fail(sked_error *err, sked_status status, const char *format, ...)
{
    if (err->status != SKED_OK)
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return err->status = status;
}

static sked_status find_command(const char *word, int *command, sked_error *err)
{
    const char *names[COMMAND_COUNT];
    char hint[120];
    for (int i = 0; i < COMMAND_COUNT; i++) {
        names[i] = command_lines[i].name;
        if (strcmp(names[i], word) == 0)
            return *command = i, SKED_OK;
    }
    return fail(err, SKED_ERR_ARGUMENT, "no command is called '%s'%s; see `sked help`", word,
                sked_suggest(word, names, COMMAND_COUNT, hint, sizeof hint));
}

static sked_status find_option(const char *word, size_t size, int command, const option_line **out,
                               sked_error *err)
{
    const char *names[128];
    char copy[64], hint[120];
    int n = 0;
    for (int i = 0; i < n_option_lines; i++) {
        const option_line *o = &option_lines[i];
        if (!(o->commands & (1u << command)))
            continue;
        if (strlen(o->name) == size && memcmp(o->name, word, size) == 0)
            return *out = o, SKED_OK;
        names[n++] = o->name;
    }
    snprintf(copy, sizeof copy, "%.*s", (int)size, word);
    return fail(err, SKED_ERR_ARGUMENT, "`sked %s` has no option --%s%s; see `sked help %s`",
                command_lines[command].name, copy, sked_suggest(copy, names, n, hint, sizeof hint),
                command_lines[command].name);
}

static sked_status store(const option_line *o, const char *text, arguments *a, sked_error *err)
{
    option_value *v = (option_value *)((char *)a + o->offset);
    if (o->kind == KIND_LIST) {
        if (v->n_list == MAX_LIST)
            return fail(err, SKED_ERR_ARGUMENT, "--%s is given more than %d times", o->name, MAX_LIST);
        v->list[v->n_list++] = text;
        v->given = true;
        return SKED_OK;
    }
    if (v->given)
        return fail(err, SKED_ERR_ARGUMENT, "--%s is given twice", o->name);
    v->given = true;
    v->text = text;
    if (o->kind == KIND_FLAG || o->kind == KIND_TEXT)
        return SKED_OK;
    const bool whole = o->kind == KIND_INT;
    if (!sked_parse_number(text, &v->number) || v->number < o->least || v->number > o->most ||
        (whole && v->number != floor(v->number))) {
        char least[40], most[40];
        return fail(err, SKED_ERR_ARGUMENT, "--%s wants %s from %s to %s, not '%.60s'", o->name,
                    whole ? "a whole number" : "a number", sked_format_number(o->least, least, sizeof least),
                    sked_format_number(o->most, most, sizeof most), text);
    }
    return SKED_OK;
}

/* --name, --name=value, --name value, -o value. Moves *i past what it took. */
static sked_status take_option(int argc, char **argv, int *i, arguments *a, sked_error *err)
{
    const char *word = argv[*i];
    const option_line *o = NULL;
    const char *text = NULL;
    sked_status st;
    if (word[1] == 'o') {
        st = find_option("output", 6, a->command, &o, err);
        if (word[2] != 0)
            text = word + 2;
    } else if (word[1] == '-') {
        const size_t size = strcspn(word + 2, "=");
        st = find_option(word + 2, size, a->command, &o, err);
        if (word[2 + size] == '=')
            text = word + 3 + size;
    } else {
        return fail(err, SKED_ERR_ARGUMENT, "no option is called '%s'; options are --long, and -o FILE",
                    word);
    }
    if (st != SKED_OK)
        return st;
    if (o->kind == KIND_FLAG && text != NULL)
        return fail(err, SKED_ERR_ARGUMENT, "--%s takes no value", o->name);
    if (o->kind != KIND_FLAG && text == NULL) {
        if (*i + 1 >= argc)
            return fail(err, SKED_ERR_ARGUMENT, "--%s wants a value: --%s %s", o->name, o->name, o->value);
        text = argv[++*i];
    }
    return store(o, text, a, err);
}

sked_status parse_arguments(int argc, char **argv, arguments *a, bool *help, sked_error *err)
{
    memset(a, 0, sizeof *a);
    *help = false;
    sked_status st = find_command(argv[1], &a->command, err);
    const command_line *c = &command_lines[a->command];
    bool options = true;
    for (int i = 2; st == SKED_OK && i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0))
            return *help = true, SKED_OK;
        else if (options && argv[i][0] == '-' && argv[i][1] != 0)
            st = take_option(argc, argv, &i, a, err);
        else if (a->n_operands < c->most)
            a->operand[a->n_operands++] = argv[i];
        else
            st = fail(err, SKED_ERR_ARGUMENT, "`sked %s` does not take '%.80s'; usage: sked %s %s", c->name,
                      argv[i], c->name, c->operands);
    }
    if (st == SKED_OK && a->n_operands < c->least)
        st = fail(err, SKED_ERR_ARGUMENT, "`sked %s` wants %s; see `sked help %s`", c->name, c->operands,
                  c->name);
    return st;
}
