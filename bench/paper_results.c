/*
 * Results of the tables, one line for each graph, method, seed and set of stages, in the file of --results: a
 * run that was stopped goes on, and several runs share the work. Comma-separated; the first columns say what
 * was run and are the key.
 */
#include "paper.h"

#include <stdlib.h>
#include <string.h>

static const char *const header = "version,table,method,updates,seed,stages,graph,trained"
#define X(field, name, judged) "," #field
    PAPER_COLUMN_LIST(X)
#undef X
        ",kept,seconds\n";

/* ---------------------------------------------------------------- keys */

static size_t add_word(char *text, size_t used, const char *word)
{
    for (; *word && used + 2 < PAPER_KEY; word++)
        text[used++] = *word == ',' ? ';' : *word;
    text[used++] = ',';
    text[used] = 0;
    return used;
}

static size_t add_number(char *text, size_t used, long long x)
{
    char word[30];
    snprintf(word, sizeof word, "%lld", x);
    return add_word(text, used, word);
}

void paper_result_key(const paper_run *r, const char *table, int method, int64_t updates, int seed, int stage,
                      const char *graph, char *key)
{
    size_t used = add_word(key, 0, sked_version());
    used = add_word(key, used, table);
    used = add_word(key, used, paper_methods[method].label);
    used = add_number(key, used, updates);
    used = add_number(key, used, (long long)r->a->seed + seed);
    if (graph == NULL)
        return;
    used = add_word(key, used, paper_stages[stage].name);
    add_word(key, used, graph);
}

bool paper_results_find(const paper_run *r, paper_result *x)
{
    const paper_results *all = &r->results;
    const uint32_t hash = paper_hash(PAPER_HASH, x->key);
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].hash == hash && strcmp(all->at[i].key, x->key) == 0) {
            *x = all->at[i];
            return true;
        }
    return false;
}

int64_t paper_results_trained(const paper_run *r, const char *prefix)
{
    const paper_results *all = &r->results;
    for (size_t i = 0; i < all->count; i++)
        if (strncmp(all->at[i].key, prefix, strlen(prefix)) == 0)
            return all->at[i].trained;
    return 0;
}

/* ---------------------------------------------------------------- the file */

static sked_status keep(paper_results *all, const paper_result *x, sked_error *err)
{
    if (all->count == all->room) {
        const size_t room = all->room > 0 ? 2 * all->room : 1024;
        paper_result *more = realloc(all->at, room * sizeof *more);
        if (more == NULL)
            return fail(err, SKED_ERR_MEMORY, "out of memory");
        all->at = more;
        all->room = room;
    }
    all->at[all->count] = *x;
    all->at[all->count++].hash = paper_hash(PAPER_HASH, x->key);
    return SKED_OK;
}

static sked_status read_line(paper_results *all, const char *path, const csv *c, int row, sked_error *err)
{
    static const char *const key[] = {"version", "table", "method", "updates", "seed", "stages", "graph"};
    paper_result x = {.trained = (int64_t)csv_number(c, row, "trained")};
    size_t used = 0;
    for (size_t k = 0; k < sizeof key / sizeof *key; k++)
        used = add_word(x.key, used, csv_get(c, row, key[k]));
#define X(field, name, judged) x.row.figure[PAPER_##field] = csv_number(c, row, #field);
    PAPER_COLUMN_LIST(X)
#undef X
    x.row.candidates = csv_number(c, row, "kept");
    x.row.seconds = csv_number(c, row, "seconds");
    bool whole = isfinite(x.row.candidates) && isfinite(x.row.seconds);
    for (int k = 0; k < PAPER_COLUMNS; k++)
        whole = whole && isfinite(x.row.figure[k]);
    if (!whole)
        return fail(err, SKED_ERR_FORMAT, "%s, line %d: not a line of results", path, row + 1);
    return keep(all, &x, err);
}

/* Files of several runs may have been joined: a header can stand anywhere. */
static sked_status read_lines(paper_results *all, const char *path, sked_error *err)
{
    csv c = {0};
    sked_status st = csv_read(path, &c, err);
    for (int i = 1; st == SKED_OK && i < c.rows; i++)
        if (strcmp(csv_get(&c, i, "table"), "table") != 0)
            st = read_line(all, path, &c, i, err);
    csv_free(&c);
    return st;
}

static bool is_filled(const char *path)
{
    FILE *file = fopen(path, "r");
    const bool filled = file != NULL && fgetc(file) != EOF;
    if (file != NULL)
        fclose(file);
    return filled;
}

sked_status paper_results_open(paper_run *r, const char *path, sked_error *err)
{
    paper_results *all = &r->results;
    const bool filled = is_filled(path);
    if ((all->file = fopen(path, "a")) == NULL)
        return fail(err, SKED_ERR_IO, "%s: cannot be written", path);
    if (filled)
        return read_lines(all, path, err);
    fputs(header, all->file);
    return fflush(all->file) == 0 ? SKED_OK : fail(err, SKED_ERR_IO, "%s: cannot be written", path);
}

void paper_results_close(paper_run *r)
{
    paper_results *all = &r->results;
    if (all->file != NULL)
        fclose(all->file);
    free(all->at);
    *all = (paper_results){0};
}

/* One write a line, at the end of the file: lines of several processes do not mix. */
sked_status paper_results_add(paper_run *r, const paper_result *x, sked_error *err)
{
    char line[PAPER_KEY + 40 + 30 * (PAPER_COLUMNS + 2)];
    FILE *file = r->results.file;
    if (file == NULL)
        return SKED_OK;
    size_t used = (size_t)snprintf(line, sizeof line, "%s%lld", x->key, (long long)x->trained);
    for (int k = 0; k < PAPER_COLUMNS; k++)
        used += (size_t)snprintf(line + used, sizeof line - used, ",%.17g", x->row.figure[k]);
    used += (size_t)snprintf(line + used, sizeof line - used, ",%.17g,%.17g\n", x->row.candidates,
                             x->row.seconds);
    if (fwrite(line, 1, used, file) != used || fflush(file) != 0)
        return fail(err, SKED_ERR_IO, "the file of --results cannot be written");
    return keep(&r->results, x, err);
}
