#include "cli.h"

#include <string.h>

/* The first word is a command, or asks about sked itself. */
static sked_status run_command(int argc, char **argv, sked_error *err)
{
    static arguments a; /* large: lists of every repeatable option */
    bool help = false;
    if (argc < 2) {
        print_usage(stderr);
        return SKED_ERR_ARGUMENT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return finish_output(err);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sked %s\n", sked_version());
        return finish_output(err);
    }
    sked_status st = parse_arguments(argc, argv, &a, &help, err);
    if (st == SKED_OK && help) {
        print_command_help(stdout, a.command);
    } else if (st == SKED_OK) {
        catch_interrupts();
        st = command_lines[a.command].run(&a, err);
        end_progress();
    }
    if (st == SKED_OK)
        st = finish_output(err);
    if (st != SKED_OK && sked_dist_rank() == 0)
        fprintf(stderr, "sked: %s\n", err->message[0] ? err->message : sked_status_text(st));
    return st;
}

int main(int argc, char **argv)
{
    sked_error err = {0};
    sked_status st = sked_dist_begin(&argc, &argv, &err);
    if (st != SKED_OK) {
        fprintf(stderr, "sked: %s\n", err.message);
        return (int)st;
    }
    st = run_command(argc, argv, &err);
    sked_dist_end(st);
    return (int)st;
}
