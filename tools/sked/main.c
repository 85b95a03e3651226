#define _XOPEN_SOURCE 700
#include "cli.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

/*
 * A stream that is closed at start leaves its number to the next file opened, and what is meant for the
 * stream would land in that file. Each gets a place that refuses the use made of it instead.
 */
static void occupy_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return;
}

/* One sentence on one line: file names and words of the user may hold anything, terminals obey it. */
static void complain(sked_status st, const sked_error *err)
{
    char text[sizeof err->message + 80];
    snprintf(text, sizeof text, "%s", err->message[0] ? err->message : sked_status_text(st));
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    fprintf(stderr, "sked: %s\n", text);
}

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
    return st == SKED_OK ? finish_output(err) : st;
}

int main(int argc, char **argv)
{
    sked_error err = {0};
    occupy_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file past the limit is a failed write like any other, and is cleaned up */
    sked_status st = sked_dist_begin(&argc, &argv, &err);
    if (st != SKED_OK) {
        complain(st, &err);
        return (int)st;
    }
    st = run_command(argc, argv, &err);
    if (st != SKED_OK && argc > 1 && sked_dist_rank() == 0)
        complain(st, &err);
    sked_dist_end(st);
    return (int)st;
}
