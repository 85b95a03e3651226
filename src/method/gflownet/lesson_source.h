/* Where training graphs come from: files, folders, generators, and random parts of large graphs. */
#ifndef SKED_METHOD_GFLOWNET_LESSON_SOURCE_H
#define SKED_METHOD_GFLOWNET_LESSON_SOURCE_H
#include "base/rng.h"
#include "graph/graph.h"

typedef struct sked_i_graph_source sked_i_graph_source;
/* spec as in sked_train_options. Files are read now. ARGUMENT, or the reader's error. */
SKED_MUST_CHECK sked_status sked_i_lesson_source_open(const char *spec, sked_i_graph_source **out,
                                                      sked_error *err);
void sked_i_lesson_source_close(sked_i_graph_source *s);
/*
 * A graph of its own for the caller: an item of the spec, each as likely, then a graph of it. Above `largest`
 * ops a random connected part of at most that many, at least 20 or a 16th of that. Sizes are log-uniform.
 */
SKED_MUST_CHECK sked_status sked_i_lesson_source_draw(const sked_i_graph_source *s, int32_t largest,
                                                      sked_i_rng *rng, sked_graph **out, sked_error *err);
/* Ops of the largest graph that it draws. */
int32_t sked_i_lesson_source_largest(const sked_i_graph_source *s, int32_t largest);
/* Ops grown from a random one, at random along edges either way, with the edges between them. */
SKED_MUST_CHECK sked_status sked_i_lesson_source_graph_part(const sked_graph *g, int32_t ops, sked_i_rng *rng,
                                                            sked_graph **out, sked_error *err);
#endif
