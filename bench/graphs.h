/* The graphs of `sked-bench paper` and `sked-bench targets`. */
#ifndef SKED_BENCH_GRAPHS_H
#define SKED_BENCH_GRAPHS_H
#include "bench.h"

enum { RANDOM_FAMILIES = 5, RANDOM_GRAPHS = 5 * RANDOM_FAMILIES };
/* Graph i of RANDOM_GRAPHS, 50 ops. The families take turns, so that every N-th still shows all of them. */
const char *random_family(int i);
sked_status random_graph(int i, sked_graph **out, sked_error *err);
/* The same of another set of parameters (`sked generate --like`). */
sked_status random_graph_like(int i, const char *like, sked_graph **out, sked_error *err);

enum { MOST_REAL_OPS = 500 };
/* Real graphs: number 0 is the one nearest to the paper's 78 ops that has parallel branches. */
int real_graph_count(void);
const char *real_graph_name(int i);
/*
 * Reads real graph i; *out stays NULL where it has more than MOST_REAL_OPS ops or nothing to run in parallel
 * (work below 1.05 critical paths: one device is as good as four). With --list it says so.
 */
sked_status real_graph(const arguments *a, int i, sked_graph **out, sked_error *err);

/* Networks with measured durations: their list, networks.csv, whose rows from 1 on are one each. */
enum { LEAST_NETWORK_OPS = 100, MOST_NETWORK_OPS = 600 };
sked_status networks_read(const arguments *a, csv *out, sked_error *err);
/* It has as many ops, and work of 1.05 critical paths at least. */
bool network_fits(const csv *list, int row);
const char *network_path(const arguments *a, const csv *list, int row, char *buf, size_t size);
sked_status network_graph(const arguments *a, const csv *list, int row, sked_graph **out, sked_error *err);
#endif
