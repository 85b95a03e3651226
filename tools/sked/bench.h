/* What the benchmark suites share. */
#ifndef SKED_TOOLS_BENCH_H
#define SKED_TOOLS_BENCH_H
#include "cli.h"

/* One line that says where the figures come from: version, processor, seed, threads. */
void print_machine(const arguments *a);
const char *data_folder(const arguments *a);
/* Is the folder of benchmark instances there? Says so on standard output where not. */
bool have_data(const arguments *a);
/* data/part, in buf. */
const char *data_path(const arguments *a, const char *part, char *buf, size_t size);

/* Comma-separated rows with a header; fields may not contain commas or quotes. */
typedef struct csv {
    char *text;
    char **field; /* [rows * columns], row-major, the header is row 0 */
    int rows, columns;
} csv;
sked_status csv_read(const char *path, csv *out, sked_error *err);
void csv_free(csv *c);
const char *csv_get(const csv *c, int row, const char *column); /* "" where there is none */
double csv_number(const csv *c, int row, const char *column);   /* NAN where it is none */

/* bench_quality.c: reads a graph with an op library given as JSON text ("": none). */
sked_status read_with_library(const char *file, const char *library, sked_graph **g, sked_error *err);
/* "MUL:2 ALU:1" and the kind of library into an op library: MUL and DIV take two steps, all else one. */
void express_library(const char *kind, const char *limits, char *out, size_t size);

/* bench_search.c: a part of bench_scale. */
sked_status bench_search(const arguments *a, uint64_t seed, sked_error *err);

sked_status bench_scale(arguments *a, sked_error *err);
sked_status bench_quality(arguments *a, sked_error *err);
sked_status bench_gaus(arguments *a, sked_error *err);
sked_status bench_gflownet(arguments *a, sked_error *err);
sked_status bench_paper(arguments *a, sked_error *err);
sked_status bench_targets(arguments *a, sked_error *err);
#endif
