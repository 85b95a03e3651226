/* Help, manual pages and completion, all from the tables of options, commands and exit codes. */
#include "cli.h"

#include <string.h>

/* What the tables cannot say: a paragraph and examples per command. */
static const struct {
    const char *text, *examples;
} details[COMMAND_COUNT] = {
    [COMMAND_schedule] =
        {"Reads GRAPH (- is standard input), finds a schedule that keeps every rule of the problem, checks "
         "it with the "
         "independent validator and prints its value beside a proven lower bound. Ctrl-C ends the search "
         "early with "
         "the best schedule so far.",
         "sked schedule examples/cholesky.json --devices 4\n"
         "sked schedule graph.stg --devices 8 --time-limit 1 -o plan.json -o plan.svg -o plan.html\n"
         "sked schedule hal.dot --library lib.json --json\n"
         "sked schedule loop.graphml --objective ii"},
    [COMMAND_robust] =
        {"Gathers --candidates schedules, keeps the --top best by the proxy, lets the target measure those "
         "and returns the "
         "best one there. Without --method a table compares all methods that give candidates.",
         "sked robust net.json --devices 4 --target bandwidth\n"
         "sked robust net.json --devices 4 --method brkga --target 'command:./measure.sh' -o best.json"},
    [COMMAND_sample] =
        {"Draws schedules from a learned model (a GFlowNet) at a temperature: small ones give schedules that "
         "are good, large ones schedules that differ. One JSON object a line with log_prob, proxy_makespan "
         "and temperature, best first and without repeats (the names of equal devices do not count). With "
         "--local or --improve candidates within one percent of makespan stand in the order of what "
         "transfers "
         "would cost them.",
         "sked sample net.json --devices 4 -o candidates.jsonl\n"
         "sked sample net.json --devices 4 --candidates 5000 --temperature 0.05 --raw -o -"},
    [COMMAND_train] =
        {"Teaches a model to sample schedules of the graphs given: files, folders and generator families. "
         "Prints how it does on unseen graphs as it goes. Ctrl-C saves the model; --resume goes on from one. "
         "--set changes policy, batch, temperatures, sizes (docs/training.md).",
         "sked train --graphs erdos-renyi:20-50,layered:20-50 --devices 4 --minutes 60 -o model.safetensors\n"
         "sked train --graphs nets/ --devices 8 --steps 5000 --resume model.safetensors -o tuned.safetensors "
         "-o log.jsonl -o curve.svg"},
    [COMMAND_check] =
        {"Judges SCHEDULE against GRAPH from the problem's definition alone. Give the machine's transfer "
         "costs and "
         "capacities with the same options as for `sked schedule`; devices and II are the schedule's own.",
         "sked check graph.stg plan.json\n"
         "sked check net.json plan.json --latency 2 --bandwidth 1e9"},
    [COMMAND_generate] = {"Makes a graph with about N ops. With --count or a folder, files are named "
                          "FAMILY-N-SEED.json. The same seed "
                          "gives the same bytes.",
                          "sked generate layered --nodes 1000 -o graph.json\n"
                          "sked generate erdos-renyi --nodes 50 --count 100 --set p=0.1 -o graphs/"},
    [COMMAND_convert] = {"Reads IN and writes OUT; the extensions pick the formats, --from and --to override "
                         "them. With .lp, .mps or .mzn "
                         "the whole problem is written as a model for other solvers.",
                         "sked convert graph.stg graph.json\n"
                         "sked convert model.onnx - --to dot\n"
                         "sked convert hal.dot hal.lp --library lib.json --horizon 12"},
    [COMMAND_info] = {"Describes a graph, and with machine options the lower bound no schedule can beat.",
                      "sked info graph.stg --devices 4"},
    [COMMAND_bench] = {"Suites: scale (speed and memory on generated graphs, schedules a second, "
                       "gaps of the quick methods), "
                       "quality (every family of "
                       "benchmark instances within its time limit), gaus (the differentiable scheduler "
                       "beside list and fds), "
                       "gflownet (speed of training and sampling, "
                       "candidates on unseen graphs), paper (list, brkga and gflownet beside the three "
                       "tables of the GFlowNet paper), targets (how they relate to the proxy). Instances are "
                       "read from --data.",
                       "sked bench scale\n"
                       "sked bench quality --only stg --sample 4\n"
                       "sked bench paper --threads 2 --model model.safetensors"},
    [COMMAND_methods] = {"Lists the methods, or explains one of them with all its options.",
                         "sked methods\nsked methods search"},
    [COMMAND_formats] = {"Lists the file formats: r reads, w writes.", "sked formats"},
    [COMMAND_targets] = {"Lists what can measure a schedule.", "sked targets --json"},
    [COMMAND_help] = {"Explains sked or one of its commands.",
                      "sked help schedule\nsked help schedule --man | man -l -"},
};

void print_usage(FILE *out)
{
    fprintf(out, "sked %s: schedules computation graphs\n\nusage: sked COMMAND [OPTIONS]\n\n",
            sked_version());
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s %-15s %s\n", command_lines[i].name, command_lines[i].operands,
                command_lines[i].help);
    fprintf(out, "\n`sked help COMMAND` explains one. Try: sked schedule GRAPH --devices 4\n");
}

static void print_family(FILE *out, const sked_family_info *f)
{
    fprintf(out, "  %-18s %s\n", f->name, f->summary);
    for (int i = 0; i < f->n_options; i++)
        fprintf(out, "    --set %-12s %s (default %s)\n", f->options[i].name, f->options[i].help,
                f->options[i].preset);
}

static void print_tables(FILE *out, int command)
{
    if (command == COMMAND_generate) {
        fprintf(out, "\nfamilies\n");
        for (int i = 0; i < sked_family_count(); i++)
            print_family(out, sked_family_at(i));
        fprintf(out, "\ndistributions (DIST)\n");
        for (int i = 0; i < sked_distribution_count(); i++) {
            const sked_distribution_info *d = sked_distribution_at(i);
            fprintf(out, "  %s%s%s  %s\n", d->name, d->arguments[0] ? ":" : "", d->arguments, d->summary);
        }
    }
    if (command == COMMAND_schedule) {
        fprintf(out, "\nmethods\n");
        for (int i = 0; i < sked_method_count(); i++)
            fprintf(out, "  %-18s %s\n", sked_method_at(i)->name, sked_method_at(i)->summary);
        fprintf(out, "\noutput files (-o)\n");
        for (int i = 0; i < sked_report_count(); i++)
            fprintf(out, "  %-18s %s\n", sked_report_at(i)->extension, sked_report_at(i)->summary);
        fprintf(out, "  %-18s every candidate, one schedule object a line\n", ".jsonl");
    }
}

void print_command_help(FILE *out, int command)
{
    const command_line *c = &command_lines[command];
    fprintf(out, "sked %s: %s\n\nusage: sked %s %s [OPTIONS]\n\n%s\n\noptions\n", c->name, c->help, c->name,
            c->operands, details[command].text);
    for (int i = 0; i < n_option_lines; i++) {
        const option_line *o = &option_lines[i];
        char left[64];
        if (!(o->commands & (1u << command)))
            continue;
        snprintf(left, sizeof left, "--%s %s", o->name, o->value);
        fprintf(out, "  %-24s %s\n", left, o->help);
    }
    print_tables(out, command);
    fprintf(out, "\nexamples\n");
    for (const char *s = details[command].examples; *s;) {
        const int n = (int)strcspn(s, "\n");
        fprintf(out, "  %.*s\n", n, s);
        s += n;
        s += *s == '\n';
    }
}

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
    printf(".TH SKED 1 \"\" \"sked %s\"\n.SH NAME\nsked \\- schedules computation graphs\n", sked_version());
    printf(".SH SYNOPSIS\n.B sked\nCOMMAND [OPTIONS]\n.SH DESCRIPTION\n");
    troff("A graph of operations and a machine in; a valid schedule with a proven gap out. Results go to "
          "standard output, "
          "progress and notes to standard error.\n");
    printf(".SH COMMANDS\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        printf(".TP\n.B sked %s\n", command_lines[i].name);
        troff(command_lines[i].operands);
        printf("%s", command_lines[i].operands[0] ? ": " : "");
        troff(command_lines[i].help);
        printf("\n");
    }
    man_exit_codes();
}

static void man_command(int command)
{
    const command_line *c = &command_lines[command];
    char upper[32];
    for (size_t i = 0; i <= strlen(c->name) && i < sizeof upper; i++)
        upper[i] = (char)(c->name[i] >= 'a' && c->name[i] <= 'z' ? c->name[i] - 32 : c->name[i]);
    printf(".TH SKED\\-%s 1 \"\" \"sked %s\"\n.SH NAME\nsked\\-%s \\- ", upper, sked_version(), c->name);
    troff(c->help);
    printf("\n.SH SYNOPSIS\n.B sked %s\n", c->name);
    troff(c->operands);
    printf(" [OPTIONS]\n.SH DESCRIPTION\n");
    troff(details[command].text);
    printf("\n.SH OPTIONS\n");
    for (int i = 0; i < n_option_lines; i++) {
        const option_line *o = &option_lines[i];
        if (!(o->commands & (1u << command)))
            continue;
        printf(".TP\n.B \\-\\-");
        troff(o->name);
        printf(" ");
        troff(o->value);
        printf("\n");
        troff(o->help);
        printf("\n");
    }
    printf(".SH EXAMPLES\n.nf\n");
    troff(details[command].examples);
    printf("\n.fi\n");
    man_exit_codes();
    printf(".SH SEE ALSO\n.BR sked (1)\n");
}

static void print_completion(void)
{
    printf("# bash completion for sked; made by `sked help --completion`\n_sked() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("%s%s", i ? " " : "", command_lines[i].name);
    printf("\" -- \"$cur\"))\n        return\n    fi\n    case \"$prev\" in\n        --method) "
           "COMPREPLY=($(compgen -W \"");
    for (int i = 0; i < sked_method_count(); i++)
        printf("%s%s", i ? " " : "", sked_method_at(i)->name);
    printf("\" -- \"$cur\")); return ;;\n        --from|--to) COMPREPLY=($(compgen -W \"");
    for (int i = 0; i < sked_format_count(); i++)
        printf("%s%s", i ? " " : "", sked_format_at(i)->name);
    printf("\" -- \"$cur\")); return ;;\n        --objective) COMPREPLY=($(compgen -W \"makespan resource "
           "memory cost ii\" -- "
           "\"$cur\")); return ;;\n    esac\n    case \"${COMP_WORDS[1]}:$cur\" in\n");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        printf("        %s:-*) COMPREPLY=($(compgen -W \"", command_lines[c].name);
        for (int i = 0; i < n_option_lines; i++)
            if (option_lines[i].commands & (1u << c))
                printf("--%s ", option_lines[i].name);
        printf("--help\" -- \"$cur\")); return ;;\n");
    }
    printf("        generate:*) [ \"$COMP_CWORD\" -eq 2 ] && COMPREPLY=($(compgen -W \"");
    for (int i = 0; i < sked_family_count(); i++)
        printf("%s%s", i ? " " : "", sked_family_at(i)->name);
    printf("\" -- \"$cur\")) && return ;;\n    esac\n    COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
           "complete -o filenames -F _sked sked\n");
}

sked_status run_help(arguments *a, sked_error *err)
{
    int command = -1;
    for (int i = 0; a->n_operands && i < COMMAND_COUNT; i++)
        if (strcmp(command_lines[i].name, a->operand[0]) == 0)
            command = i;
    if (a->n_operands && command < 0)
        return fail(err, SKED_ERR_ARGUMENT, "no command is called '%.60s'; see `sked help`", a->operand[0]);
    if (a->completion.given)
        print_completion();
    else if (a->man.given && command >= 0)
        man_command(command);
    else if (a->man.given)
        man_overview();
    else if (command >= 0)
        print_command_help(stdout, command);
    else
        print_usage(stdout);
    return SKED_OK;
}
