/*
 * What sked and sked-bench share: a command line and its help, both from tables, output and progress.
 * A program lists its commands and its options once, as X-macros (tools/sked/cli.h, bench/bench.h), and hands
 * the tables to run_program. Public API only.
 */
#ifndef SKED_CLI_PROGRAM_H
#define SKED_CLI_PROGRAM_H
#include "sked/sked.h"

#include <stdio.h>

/* ---------------------------------------------------------------- tables */

/* Values of an option that may be repeated, or operands. */
enum { MAX_VALUES = 256 };
typedef struct value_list {
    const char *at[MAX_VALUES];
    int count;
} value_list;

/* The field of an option of kind K has type option_K. */
typedef bool option_FLAG;
typedef const char *option_TEXT, *option_READ, *option_RESUME, *option_WRITE, *option_SPEC;
typedef int64_t option_INT;
typedef double option_REAL;
typedef value_list option_LIST, option_OUTPUT, option_PLACE, option_SPECS;
/*
 * Kinds from READ on name files, and every option that does has one of them: check_files looks at them all.
 * READ: a file that is read. RESUME: the same, and the command may go on in it. SPEC, SPECS: text, a list of
 * texts, that may name files to read. WRITE: a file that is written. OUTPUT: a list of these. PLACE: a list
 * of files or folders to write to.
 */
typedef enum option_kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_INT,
    KIND_REAL,
    KIND_LIST,
    KIND_READ,
    KIND_RESUME,
    KIND_SPEC,
    KIND_SPECS,
    KIND_WRITE,
    KIND_OUTPUT,
    KIND_PLACE
} option_kind;
bool is_list(option_kind k);
bool is_text(option_kind k); /* one */

/* Each program completes this type: `value_list operand`, then OPTION_LIST(OPTION_FIELD). */
typedef struct arguments arguments;

typedef struct option_line {
    const char *name, *value, *help;
    option_kind kind;
    double least, most; /* INT, REAL */
    unsigned commands;  /* bit i: command i takes it. Lines of one name share no command */
    size_t offset;      /* of its field in arguments */
} option_line;

/*
 * Expansions of an option list X(field, kind, name, value, preset, least, most, commands, help).
 * Help shows the preset. One that is NULL, "" or out of range stands for "not given" and is not shown;
 * INFINITY is shown as unlimited.
 */
#define OPTION_FIELD(field, kind, ...)                       option_##kind field;
#define OPTION_PRESET(field, kind, name, value, preset, ...) .field = preset,
#define OPTION_LINE(field, kind, name, value, preset, least, most, commands, help) \
    {name, value, help, KIND_##kind, least, most, commands, offsetof(arguments, field)},
/* Preset of a LIST. */
#define NO_VALUES  \
    {              \
        .count = 0 \
    }

/* What help says of a command beside its options. */
typedef struct manual {
    const char *text, *examples; /* a paragraph; lines */
    void (*tables)(FILE *out);   /* tables after the options, or NULL */
} manual;

typedef struct command_line {
    const char *name, *operands,
        *help;       /* operands: files are GRAPH, SCHEDULE, A, B, IN and OUT (check_files) */
    int least, most; /* operands */
    sked_status (*run)(arguments *a, sked_error *err);
    const manual *manual;
    bool shared; /* the processes of several ranks work on it together; false: rank 0 does it alone */
} command_line;

/* A word that is no command but looks like one, and what to say about it. */
typedef struct moved_word {
    const char *word, *hint;
} moved_word;

typedef struct program {
    const char *name, *summary;
    const char *noun, *operand; /* a command as a word and in the usage: "command", "COMMAND" */
    const char *hint;           /* last line of the overview */
    const command_line *commands;
    int n_commands;
    const option_line *options;
    int n_options;
    const arguments *presets;
    size_t size, operands; /* of arguments; offset of its list of operands */
    const moved_word *moved;
    int n_moved;
    void (*complete)(arguments *a); /* options that stand for others where those are left out; or NULL */
} program;

/* Parses the command line, runs the command and returns the exit code. Main is this call. */
int run_program(const program *p, int argc, char **argv);

/*
 * parse.c: fills a from presets and argv; ARGUMENT with one sentence otherwise. *help: --help was asked for.
 */
sked_status parse_arguments(const program *p, int argc, char **argv, arguments *a, int *command, bool *help,
                            sked_error *err);
sked_status find_command(const program *p, const char *word, int *out, sked_error *err);
bool takes_option(const option_line *o, int command);
/*
 * files.c: before any work, whatever the spelling and links of either kind: ARGUMENT where two outputs are
 * one file or an output is a file that is read, IO where one cannot be written. Run for every command.
 */
sked_status check_files(const program *p, int command, const arguments *a, sked_error *err);

/* ---------------------------------------------------------------- help and text */

/* help.c. command -1: the overview. */
void print_help(const program *p, FILE *out, int command);
/* Help of an option with its preset: "seconds per run (default 5)". Returns buf. */
const char *option_help(const program *p, const option_line *o, char *buf, size_t size);

/* text.c: COLUMNS, else the width of the terminal behind out, else 80. */
int text_width(FILE *out);
/*
 * Label, then text from `column` on, wrapped at the width with its lines aligned. A label that reaches the
 * column, or a column beyond half of the width, puts the text on lines of its own.
 */
void put_wrapped(FILE *out, const char *label, int column, const char *text);
/* A shell command, wrapped with backslashes. */
void put_example(FILE *out, const char *line, int size);

/* ---------------------------------------------------------------- progress */

/*
 * progress.c: signals. SIGINT, SIGTERM and SIGHUP ask to stop (stop_requested); a SIGINT or SIGTERM one
 * second after the first or later ends the program. While a command has nothing to lose, since it reads, or
 * computes what it prints only at the end, the first one ends it at once with the status STOPPED.
 */
extern volatile sig_atomic_t stop_requested;
void catch_signals(void);
void end_on_signal(bool at_once);
/* A file is about to be written: the write is finished first. A stream leaves no half file and can be left.
 */
void begin_write(const char *path);

/* progress.c: a bar on a terminal, silent otherwise. */
void silence_progress(void); /* --quiet: no bar, no notes */
void show_progress(void *data, const char *phase, double share, double value, double bound);
void end_progress(void);
/* A line that stays above the bar, on a terminal. Numbers and our own words only: it is not escaped. */
void progress_line(const char *format, ...) SKED_PRINTF(1, 2);
void warn(const char *format, ...) SKED_PRINTF(1, 2);

/* ---------------------------------------------------------------- output */

/* print.c: JSON values one after another; text tables. */
typedef struct json_out {
    FILE *file;
    int depth;
    bool first;
    bool line; /* the whole value on one line */
} json_out;
void json_open(json_out *j, const char *key, char bracket);
void json_close(json_out *j, char bracket);
void json_number(json_out *j, const char *key, double x);       /* null where not finite */
void json_text(json_out *j, const char *key, const char *text); /* null where NULL */
void json_bool(json_out *j, const char *key, bool b);
void json_null(json_out *j, const char *key);
/* A number for people: six digits, integers plain. */
const char *human(double x, char *buf, size_t size);
bool ends_with(const char *text, const char *end);
/*
 * A name from outside for text output: escaped, cut after some 300 bytes. Everything printed that comes from
 * a file or from the command line goes through this, json_text, warn or fail.
 */
typedef struct printable_text {
    char text[304];
} printable_text;
const char *printable(const char *name, printable_text *buf);
/* A file written piece by piece into `file`, which reaches the disk at once and complete, or not at all. */
typedef struct file_out {
    FILE *file;
    char *text;
    size_t size;
} file_out;
sked_status file_begin(file_out *o, sked_error *err);
/* Writes the file if st is OK and nothing failed; ends o either way. Returns the first failure. */
sked_status file_end(file_out *o, const char *path, sked_status st, sked_error *err);
/* Everything printed has arrived, or an IO error. */
sked_status finish_output(sked_error *err);

sked_status fail(sked_error *err, sked_status status, const char *format, ...) SKED_PRINTF(3, 4);
#endif
