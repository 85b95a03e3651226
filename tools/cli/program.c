#define _XOPEN_SOURCE 700
#include "program.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Other ranks print what rank 0 prints: once is enough. */
static void silence_rank(void)
{
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        dup2(nowhere, 1);
        close(nowhere);
    }
    silence_progress();
}

/* One sentence. Messages are escaped where they are made (sked_i_fail, fail). */
static void complain(const program *p, sked_status st, const sked_error *err)
{
    char label[40];
    const char *text = err->message[0] ? err->message : sked_status_text(st);
    const int size = snprintf(label, sizeof label, "%s:", p->name);
    if (isatty(2)) /* one line elsewhere: other programs read it */
        put_wrapped(stderr, label, size + 1, text);
    else
        fprintf(stderr, "%s %s\n", label, text);
}

/* The value of an option that every program may have, or NULL. A command may have another of that name. */
static const void *shared_option(const program *p, const arguments *a, const char *name, option_kind kind)
{
    for (int i = 0; i < p->n_options; i++)
        if (p->options[i].kind == kind && strcmp(p->options[i].name, name) == 0)
            return (const char *)a + p->options[i].offset;
    return NULL;
}

static void print_log(void *data, int level, const char *room, const char *line)
{
    printable_text text;
    (void)data;
    end_progress();
    fprintf(stderr, "%*s%s: %s\n", 2 * (level - 1), "", room, printable(line, &text));
}

/* --quiet and --log, the same for every command. */
static sked_status obey_shared(const program *p, const arguments *a, sked_error *err)
{
    const option_FLAG *quiet = shared_option(p, a, "quiet", KIND_FLAG);
    const option_INT *log = shared_option(p, a, "log", KIND_INT);
    if (quiet != NULL && *quiet)
        silence_progress();
    if (log != NULL && *log > 0 && !sked_log_set((int)*log, print_log, NULL))
        return fail(err, SKED_ERR_UNSUPPORTED,
                    "--log %d: this build has lines of level 1 only; `make debug` builds build/debug/sked, "
                    "which has more",
                    (int)*log);
    return SKED_OK;
}

static sked_status parse_and_run(const program *p, int argc, char **argv, arguments *a, sked_error *err)
{
    bool help = false;
    int command = -1;
    sked_status st = parse_arguments(p, argc, argv, a, &command, &help, err);
    if (st == SKED_OK && help) {
        print_help(p, stdout, command);
    } else if (st == SKED_OK) {
        catch_signals();
        sked_dist_watch(&stop_requested);
        if (p->complete != NULL)
            p->complete(a);
        st = obey_shared(p, a, err);
        if (st == SKED_OK && sked_dist_rank() == 0)
            st = check_files(p, command, a, err);
        if (p->commands[command].shared)
            st = sked_dist_agree(st, err);
        if (st == SKED_OK && (sked_dist_rank() == 0 || p->commands[command].shared))
            st = p->commands[command].run(a, err);
        end_progress();
    }
    return st == SKED_OK ? finish_output(err) : st;
}

/* The first word is a command, or asks about the program itself. */
static sked_status run_words(const program *p, int argc, char **argv, sked_error *err)
{
    if (argc < 2 && sked_dist_rank() > 0)
        return SKED_ERR_ARGUMENT;
    if (argc < 2) {
        print_help(p, stderr, -1);
        return SKED_ERR_ARGUMENT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(p, stdout, -1);
        return finish_output(err);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("%s %s\n", p->name, sked_version());
        return finish_output(err);
    }
    arguments *a = malloc(p->size);
    const sked_status st =
        a != NULL ? parse_and_run(p, argc, argv, a, err) : fail(err, SKED_ERR_MEMORY, "out of memory");
    free(a);
    return st;
}

/* Every process that mpirun begins would do the whole work where the library knows of no other. */
static sked_status check_launcher(bool *tells, sked_error *err)
{
    static const char *const launcher[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                              {"PMI_SIZE", "PMI_RANK"}}; /* Open MPI; MPICH and its kin */
    for (size_t k = 0; k < sizeof launcher / sizeof *launcher && sked_dist_size() == 1; k++) {
        const char *size = getenv(launcher[k][0]), *rank = getenv(launcher[k][1]);
        double processes;
        if (size == NULL || !sked_parse_number(size, &processes) || processes <= 1)
            continue;
        *tells = rank == NULL || strcmp(rank, "0") == 0;
        return fail(
            err, SKED_ERR_UNSUPPORTED,
            "mpirun has begun %.0f processes, but this build has no MPI of its kind: each would do the "
            "whole work; `make mpi` builds build/mpi/sked (unset %s to run them all the same)",
            processes, launcher[k][0]);
    }
    return SKED_OK;
}

int run_program(const program *p, int argc, char **argv)
{
    sked_error err = {0};
    setlocale(LC_ALL, "C"); /* whatever a library may have set: files have decimal points */
    occupy_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file past the limit is a failed write like any other, and is cleaned up */
    bool tells = true;
    sked_status st = sked_dist_begin(&argc, &argv, &err);
    if (st == SKED_OK)
        st = check_launcher(&tells, &err);
    if (st != SKED_OK) {
        if (tells)
            complain(p, st, &err);
        return (int)st;
    }
    if (sked_dist_rank() > 0)
        silence_rank();
    st = run_words(p, argc, argv, &err);
    if (sked_dist_tells(st) && argc > 1)
        complain(p, st, &err);
    sked_dist_end(st);
    return (int)st;
}
