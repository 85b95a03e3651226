/*
 * Files that a command reads and writes, as its tables name them, looked at before it works: two outputs are
 * not one file, and none takes the place of what is read. Paths are compared by what they name, however
 * spelt.
 */
#include "program.h"

#include <string.h>

typedef struct named_file {
    const char *option, *path; /* option: with its dashes, or the word of an operand */
    option_kind kind;
    const char *value; /* of the option's line: names an extension where there is one */
    int number;        /* of the file in the command line */
} named_file;

typedef struct visit {
    const program *p;
    int command, count;
    const arguments *a;
    sked_status (*look)(struct visit *v, const named_file *f, sked_error *err);
    const named_file *given; /* the output that others are compared with */
} visit;

static bool is_written(option_kind k)
{
    return k == KIND_WRITE || k == KIND_OUTPUT || k == KIND_PLACE;
}

static sked_status visit_one(visit *v, named_file f, const char *path, sked_error *err)
{
    f.path = path;
    f.number = v->count++;
    return v->look(v, &f, err);
}

/* Every part of a text that may name a file. */
static sked_status visit_parts(visit *v, const named_file *f, const char *text, sked_error *err)
{
    sked_status st = SKED_OK;
    while (st == SKED_OK && *text) {
        char part[4096];
        const size_t n = strcspn(text, ",:;=+ ");
        if (n > 0 && n < sizeof part) {
            memcpy(part, text, n);
            part[n] = 0;
            st = visit_one(v, *f, part, err);
        }
        text += n + (text[n] != 0);
    }
    return st;
}

static sked_status visit_option(visit *v, const option_line *o, sked_error *err)
{
    const void *field = (const char *)v->a + o->offset;
    char name[64];
    named_file f = {.option = name, .kind = o->kind, .value = o->value};
    sked_status st = SKED_OK;
    snprintf(name, sizeof name, "--%s", o->name);
    const bool list = is_list(o->kind), parts = o->kind == KIND_SPEC || o->kind == KIND_SPECS;
    const value_list one = {{list ? NULL : *(const option_TEXT *)field}, 1};
    const value_list *values = list ? field : &one;
    for (int i = 0; st == SKED_OK && i < values->count; i++)
        if (values->at[i] != NULL)
            st = parts ? visit_parts(v, &f, values->at[i], err) : visit_one(v, f, values->at[i], err);
    return st;
}

/* The i-th operand, by its word in the usage: GRAPH, SCHEDULE, BUFFERS and IN are read, OUT is written. */
static sked_status visit_operand(visit *v, const char *word, size_t size, const char *path, sked_error *err)
{
    static const struct {
        const char *word;
        option_kind kind;
    } roles[] = {{"GRAPH", KIND_READ},
                 {"SCHEDULE", KIND_READ},
                 {"BUFFERS", KIND_READ},
                 {"IN", KIND_READ},
                 {"OUT", KIND_WRITE}};
    for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
        if (strlen(roles[k].word) == size && strncmp(word, roles[k].word, size) == 0)
            return visit_one(v, (named_file){.option = roles[k].word, .kind = roles[k].kind, .value = ""},
                             path, err);
    return SKED_OK;
}

static sked_status visit_files(visit *v, sked_error *err)
{
    const value_list *operands = (const value_list *)((const char *)v->a + v->p->operands);
    const char *word = v->p->commands[v->command].operands;
    sked_status st = SKED_OK;
    for (int i = 0; st == SKED_OK && i < operands->count; i++) {
        const size_t n = strcspn(word, " ");
        st = visit_operand(v, word, n, operands->at[i], err);
        word += n + (word[n] != 0);
    }
    for (int i = 0; st == SKED_OK && i < v->p->n_options; i++)
        if (v->p->options[i].kind >= KIND_READ && takes_option(&v->p->options[i], v->command))
            st = visit_option(v, &v->p->options[i], err);
    return st;
}

/* "-" is standard output for what is written, standard input for what is read. */
static const char *path_of(const named_file *f)
{
    const bool stream = strcmp(f->path, "-") == 0;
    return !stream ? f->path : is_written(f->kind) ? "/dev/stdout" : "/dev/stdin";
}

/*
 * A command that goes on from a file may put what comes after in its place: as the file that grows (WRITE),
 * or as an output of the extension that the option's value names.
 */
static bool goes_on(const named_file *from, const named_file *to)
{
    const char *extension = strchr(from->value, '.');
    return from->kind == KIND_RESUME &&
           (to->kind == KIND_WRITE || (extension != NULL && ends_with(to->path, extension)));
}

static sked_status compare(visit *v, const named_file *other, sked_error *err)
{
    const named_file *f = v->given;
    const bool written = is_written(other->kind);
    const bool standard = strcmp(f->path, "-") == 0;
    if ((written ? other->number <= f->number : standard || goes_on(other, f)) ||
        !sked_file_same(path_of(f), path_of(other)))
        return SKED_OK;
    if (written)
        return fail(err, SKED_ERR_ARGUMENT,
                    "%s %.300s and %s %.300s are one file; one would replace the other", f->option, f->path,
                    other->option, other->path);
    return fail(err, SKED_ERR_ARGUMENT,
                "%.300s: the result would replace the input %.300s; choose another name", f->path,
                strcmp(other->path, "-") == 0 ? "(standard input)" : other->path);
}

static sked_status look_at_output(visit *v, const named_file *f, sked_error *err)
{
    visit others = {.p = v->p, .command = v->command, .a = v->a, .look = compare, .given = f};
    if (!is_written(f->kind))
        return SKED_OK;
    const sked_status st = visit_files(&others, err);
    return st == SKED_OK && f->kind != KIND_PLACE ? sked_file_check(f->path, err) : st;
}

sked_status check_files(const program *p, int command, const arguments *a, sked_error *err)
{
    visit outputs = {.p = p, .command = command, .a = a, .look = look_at_output};
    return visit_files(&outputs, err);
}
