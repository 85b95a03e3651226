/* Help from the tables of a program. */
#include "program.h"

#include <math.h>
#include <string.h>

/* The preset as it would be typed; "" where it stands for "not given". */
static const char *preset_text(const program *p, const option_line *o, char *buf, size_t size)
{
    const void *field = (const char *)p->presets + o->offset;
    double x = NAN;
    if (is_text(o->kind) && *(const option_TEXT *)field != NULL)
        return *(const option_TEXT *)field;
    if (o->kind == KIND_INT)
        x = (double)*(const option_INT *)field;
    if (o->kind == KIND_REAL)
        x = *(const option_REAL *)field;
    if (isinf(x))
        return "unlimited";
    return x >= o->least && x <= o->most ? sked_format_number(x, buf, size) : "";
}

const char *option_help(const program *p, const option_line *o, char *buf, size_t size)
{
    char number[40];
    const char *preset = preset_text(p, o, number, sizeof number);
    if (preset[0] != 0)
        snprintf(buf, size, "%s (default %s)", o->help, preset);
    else
        snprintf(buf, size, "%s", o->help);
    return buf;
}

/* A little more than the longest command with its operands. */
static int command_column(const program *p)
{
    size_t most = 0;
    for (int i = 0; i < p->n_commands; i++) {
        const size_t n = strlen(p->commands[i].operands);
        most = n > most ? n : most;
    }
    return 14 + (int)most;
}

static void print_overview(const program *p, FILE *out)
{
    char line[200];
    snprintf(line, sizeof line, "%s %s: %s", p->name, sked_version(), p->summary);
    put_wrapped(out, "", 0, line);
    fprintf(out, "\nusage: %s %s [OPTIONS]\n\n", p->name, p->operand);
    for (int i = 0; i < p->n_commands; i++) {
        const command_line *c = &p->commands[i];
        snprintf(line, sizeof line, c->operands[0] ? "  %-9s %s" : "  %s", c->name, c->operands);
        put_wrapped(out, line, command_column(p), c->help);
    }
    fputc('\n', out);
    put_wrapped(out, "", 0, p->hint);
}

static void print_options(const program *p, FILE *out, int command)
{
    for (int i = 0; i < p->n_options; i++) {
        const option_line *o = &p->options[i];
        char left[80], help[800];
        if (!takes_option(o, command))
            continue;
        snprintf(left, sizeof left, "  --%s%s%s", o->name, o->value[0] ? " " : "", o->value);
        put_wrapped(out, left, 27, option_help(p, o, help, sizeof help));
    }
}

static void print_command(const program *p, FILE *out, int command)
{
    const command_line *c = &p->commands[command];
    char line[600];
    snprintf(line, sizeof line, "%s %s: %s", p->name, c->name, c->help);
    put_wrapped(out, "", 0, line);
    fprintf(out, "\nusage: %s %s %s%s[OPTIONS]\n\n", p->name, c->name, c->operands,
            c->operands[0] ? " " : "");
    put_wrapped(out, "", 0, c->manual->text);
    fputs("\noptions\n", out);
    print_options(p, out, command);
    put_wrapped(out, "  --help", 27, "print this text");
    if (c->manual->tables != NULL)
        c->manual->tables(out);
    fputs("\nexamples\n", out);
    for (const char *s = c->manual->examples; *s;) {
        const int n = (int)strcspn(s, "\n");
        put_example(out, s, n);
        s += n;
        s += *s == '\n';
    }
}

void print_help(const program *p, FILE *out, int command)
{
    if (command < 0)
        print_overview(p, out);
    else
        print_command(p, out, command);
}
