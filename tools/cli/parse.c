/* Command line parsing from the tables of a program. */
#include "program.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { MAX_OPTIONS = 128 };

sked_status fail(sked_error *err, sked_status status, const char *format, ...)
{
    if (err->status != SKED_OK)
        return status;
    char raw[2 * sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    sked_escape(raw, err->message, sizeof err->message);
    return err->status = status;
}

bool is_list(option_kind k)
{
    return k == KIND_LIST || k == KIND_SPECS || k == KIND_OUTPUT || k == KIND_PLACE;
}

bool is_text(option_kind k)
{
    return k == KIND_TEXT || k == KIND_READ || k == KIND_RESUME || k == KIND_SPEC || k == KIND_WRITE;
}

bool takes_option(const option_line *o, int command)
{
    return (o->commands >> command & 1) != 0;
}

sked_status find_command(const program *p, const char *word, int *out, sked_error *err)
{
    const char *names[32];
    char hint[120];
    for (int i = 0; i < p->n_commands; i++) {
        names[i] = p->commands[i].name;
        if (strcmp(names[i], word) == 0)
            return *out = i, SKED_OK;
    }
    for (int i = 0; i < p->n_moved; i++)
        if (strcmp(p->moved[i].word, word) == 0)
            return fail(err, SKED_ERR_ARGUMENT, "no %s is called '%s': %s", p->noun, word, p->moved[i].hint);
    return fail(err, SKED_ERR_ARGUMENT, "no %s is called '%.60s'%s; see `%s help`", p->noun, word,
                sked_suggest(word, names, p->n_commands, hint, sizeof hint), p->name);
}

/* A command line while it is read. */
typedef struct reader {
    const program *p;
    int command;
    arguments *a;
    bool given[MAX_OPTIONS];
} reader;

static sked_status find_option(const reader *r, const char *word, size_t size, int *out, sked_error *err)
{
    const program *p = r->p;
    const char *names[MAX_OPTIONS], *command = p->commands[r->command].name;
    char copy[64], hint[120];
    int n = 0;
    for (int i = 0; i < p->n_options; i++) {
        const option_line *o = &p->options[i];
        if (!takes_option(o, r->command))
            continue;
        if (strlen(o->name) == size && memcmp(o->name, word, size) == 0)
            return *out = i, SKED_OK;
        names[n++] = o->name;
    }
    snprintf(copy, sizeof copy, "%.*s", (int)size, word);
    return fail(err, SKED_ERR_ARGUMENT, "`%s %s` has no option --%s%s; see `%s help %s`", p->name, command,
                copy, sked_suggest(copy, names, n, hint, sizeof hint), p->name, command);
}

static sked_status parse_number(const option_line *o, const char *text, double *out, sked_error *err)
{
    const bool whole = o->kind == KIND_INT;
    char least[40], most[40];
    if (sked_parse_number(text, out) && *out >= o->least && *out <= o->most &&
        (!whole || *out == floor(*out)))
        return SKED_OK;
    return fail(err, SKED_ERR_ARGUMENT, "--%s expects %s from %s to %s, not '%.60s'", o->name,
                whole ? "a whole number" : "a number", sked_format_number(o->least, least, sizeof least),
                sked_format_number(o->most, most, sizeof most), text);
}

static sked_status add_value(const option_line *o, value_list *v, const char *text, sked_error *err)
{
    if (v->count == MAX_VALUES)
        return fail(err, SKED_ERR_ARGUMENT, "--%s is given more than %d times", o->name, MAX_VALUES);
    v->at[v->count++] = text;
    return SKED_OK;
}

static sked_status store(reader *r, int which, const char *text, sked_error *err)
{
    const option_line *o = &r->p->options[which];
    void *field = (char *)r->a + o->offset;
    double number;
    if (is_list(o->kind))
        return add_value(o, field, text, err);
    if (r->given[which])
        return fail(err, SKED_ERR_ARGUMENT, "--%s is given twice", o->name);
    r->given[which] = true;
    if (o->kind == KIND_FLAG)
        *(option_FLAG *)field = true;
    if (is_text(o->kind))
        *(option_TEXT *)field = text;
    if (o->kind == KIND_FLAG || is_text(o->kind))
        return SKED_OK;
    const sked_status st = parse_number(o, text, &number, err);
    if (st == SKED_OK && o->kind == KIND_INT)
        *(option_INT *)field = (int64_t)number;
    else if (st == SKED_OK)
        *(option_REAL *)field = number;
    return st;
}

/* --name, --name=value, --name value, -o value. Moves *i past what it took. */
static sked_status take_option(reader *r, int argc, char **argv, int *i, sked_error *err)
{
    const char *word = argv[*i], *text = NULL;
    int which = 0;
    sked_status st;
    if (word[1] == 'o') {
        st = find_option(r, "output", 6, &which, err);
        if (word[2] != 0)
            text = word + 2;
    } else if (word[1] == '-') {
        const size_t size = strcspn(word + 2, "=");
        st = find_option(r, word + 2, size, &which, err);
        if (word[2 + size] == '=')
            text = word + 3 + size;
    } else {
        return fail(err, SKED_ERR_ARGUMENT, "no option is called '%s'; options are --long, and -o FILE",
                    word);
    }
    if (st != SKED_OK)
        return st;
    const option_line *o = &r->p->options[which];
    if (o->kind == KIND_FLAG && text != NULL)
        return fail(err, SKED_ERR_ARGUMENT, "--%s takes no value", o->name);
    if (o->kind != KIND_FLAG && text == NULL) {
        if (*i + 1 >= argc)
            return fail(err, SKED_ERR_ARGUMENT, "--%s needs a value: --%s %s", o->name, o->name, o->value);
        text = argv[++*i];
    }
    return store(r, which, text, err);
}

sked_status parse_arguments(const program *p, int argc, char **argv, arguments *a, int *command, bool *help,
                            sked_error *err)
{
    reader r = {.p = p, .a = a};
    value_list *operand = (value_list *)((char *)a + p->operands);
    memcpy(a, p->presets, p->size);
    *help = false;
    sked_status st = find_command(p, argv[1], &r.command, err);
    const command_line *c = &p->commands[r.command];
    *command = r.command;
    bool options = true;
    for (int i = 2; st == SKED_OK && i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0))
            return *help = true, SKED_OK;
        else if (options && argv[i][0] == '-' && argv[i][1] != 0)
            st = take_option(&r, argc, argv, &i, err);
        else if (operand->count < c->most)
            operand->at[operand->count++] = argv[i];
        else
            st = fail(err, SKED_ERR_ARGUMENT, "`%s %s` does not take '%.80s'; usage: %s %s %s", p->name,
                      c->name, argv[i], p->name, c->name, c->operands);
    }
    if (st == SKED_OK && operand->count < c->least)
        st = fail(err, SKED_ERR_ARGUMENT, "`%s %s` needs %s; see `%s help %s`", p->name, c->name, c->operands,
                  p->name, c->name);
    return st;
}
