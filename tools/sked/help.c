/* sked help; manual pages and completion, from the tables of commands, options and exit codes. */
#include "cli.h"

#include <string.h>

static const program *const self = &sked_program;

/* ---------------------------------------------------------------- manual pages */

/* troff: a dot or quote at the start of a line and every backslash and hyphen are special. */
static void troff(const char *s)
{
    for (bool start = true; *s; s++) {
        if (start && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            fputc(*s, stdout);
        start = *s == '\n';
    }
}

static void man_exit_codes(void)
{
    printf(".SH EXIT STATUS\n");
#define SKED_X(name, code, text) printf(".TP\n%d\n%s\n", code, text);
    SKED_STATUS_LIST(SKED_X)
#undef SKED_X
}

static void man_overview(void)
{
    printf(".TH SKED 1 \"\" \"sked %s\"\n.SH NAME\nsked \\- %s\n", sked_version(), self->summary);
    printf(".SH SYNOPSIS\n.B sked\nCOMMAND [OPTIONS]\n.SH DESCRIPTION\n");
    troff("Takes a graph of operations and a machine; gives a valid schedule with a proven gap. Results go "
          "to standard output, progress and notes to standard error.\n");
    printf(".SH COMMANDS\n");
    for (int i = 0; i < self->n_commands; i++) {
        const command_line *c = &self->commands[i];
        printf(".TP\n.B sked %s\n", c->name);
        troff(c->operands);
        printf("%s", c->operands[0] ? ": " : "");
        troff(c->help);
        printf("\n");
    }
    man_exit_codes();
}

static void man_options(int command)
{
    bool objectives = false;
    printf("\n.SH OPTIONS\n");
    for (int i = 0; i < self->n_options; i++) {
        const option_line *o = &self->options[i];
        char help[800];
        if (!takes_option(o, command))
            continue;
        printf(".TP\n.B \\-\\-");
        troff(o->name);
        printf("%s", o->value[0] ? " " : "");
        troff(o->value);
        printf("\n");
        troff(option_help(self, o, help, sizeof help));
        printf("\n");
        objectives = objectives || strcmp(o->name, "objective") == 0;
    }
    printf(".TP\n.B \\-\\-help\nprint a summary\n");
    if (!objectives)
        return;
    printf(".SH OBJECTIVES\n");
#define SKED_X(name, text, help) printf(".TP\n.B %s\n%s\n", text, help);
    SKED_OBJECTIVE_LIST(SKED_X)
#undef SKED_X
}

static void man_command(int command)
{
    const command_line *c = &self->commands[command];
    char upper[32];
    for (size_t i = 0; i <= strlen(c->name) && i < sizeof upper; i++)
        upper[i] = (char)(c->name[i] >= 'a' && c->name[i] <= 'z' ? c->name[i] - 32 : c->name[i]);
    printf(".TH SKED\\-%s 1 \"\" \"sked %s\"\n.SH NAME\nsked\\-%s \\- ", upper, sked_version(), c->name);
    troff(c->help);
    printf("\n.SH SYNOPSIS\n.B sked %s\n", c->name);
    troff(c->operands);
    printf(" [OPTIONS]\n.SH DESCRIPTION\n");
    troff(c->manual->text);
    man_options(command);
    printf(".SH EXAMPLES\n.nf\n");
    troff(c->manual->examples);
    printf("\n.fi\n");
    man_exit_codes();
    printf(".SH SEE ALSO\n.BR sked (1)\n");
}

/* ---------------------------------------------------------------- completion */

static void complete_words(const char *before, int count, const char *(*name)(int i), const char *after)
{
    printf("%sCOMPREPLY=($(compgen -W \"", before);
    for (int i = 0; i < count; i++)
        printf("%s%s", i ? " " : "", name(i));
    printf("\" -- \"$cur\"))%s", after);
}

static const char *command_name(int i)
{
    return self->commands[i].name;
}

static const char *method_name(int i)
{
    return sked_method_at(i)->name;
}

static const char *format_name(int i)
{
    return sked_format_at(i)->name;
}

static const char *family_name(int i)
{
    return sked_family_at(i)->name;
}

static const char *objective_name(int i)
{
    return sked_objective_name((sked_objective)i);
}

static void complete_options(int command)
{
    printf("        %s:-*) COMPREPLY=($(compgen -W \"", command_name(command));
    for (int i = 0; i < self->n_options; i++)
        if (takes_option(&self->options[i], command))
            printf("--%s ", self->options[i].name);
    printf("--help\" -- \"$cur\")); return ;;\n");
}

static void print_completion(void)
{
    printf("# bash completion for sked; made by `sked help --completion`\n_sked() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n");
    complete_words("        ", self->n_commands, command_name, "\n        return\n    fi\n");
    printf("    case \"$prev\" in\n");
    complete_words("        --method) ", sked_method_count(), method_name, "; return ;;\n");
    complete_words("        --from|--to) ", sked_format_count(), format_name, "; return ;;\n");
    complete_words("        --objective) ", OBJECTIVE_COUNT, objective_name, "; return ;;\n");
    printf("    esac\n    case \"${COMP_WORDS[1]}:$cur\" in\n");
    for (int c = 0; c < self->n_commands; c++)
        complete_options(c);
    complete_words("        generate:*) [ \"$COMP_CWORD\" -eq 2 ] && ", sked_family_count(), family_name,
                   " && return ;;\n");
    printf("    esac\n    COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
           "complete -o filenames -F _sked sked\n");
}

sked_status run_help(arguments *a, sked_error *err)
{
    int command = -1;
    const sked_status st =
        a->operand.count > 0 ? find_command(self, a->operand.at[0], &command, err) : SKED_OK;
    if (st != SKED_OK)
        return st;
    if (a->completion)
        print_completion();
    else if (a->man && command >= 0)
        man_command(command);
    else if (a->man)
        man_overview();
    else
        print_help(self, stdout, command);
    return SKED_OK;
}
