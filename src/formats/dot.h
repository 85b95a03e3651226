/* Parts of the DOT format in dot.c: the words of the language (dot_lex.c), and the writer (dot_write.c). */
#ifndef SKED_FORMATS_DOT_H
#define SKED_FORMATS_DOT_H
#include "formats/scan.h"

/* A token is its own character, or one of these. */
typedef enum sked_i_dot_kind {
    SKED_I_DOT_END = 256,
    SKED_I_DOT_ID,
    SKED_I_DOT_ARROW, /* -> */
    SKED_I_DOT_LINE,  /* -- */
    SKED_I_DOT_NODE,  /* keywords, in either case */
    SKED_I_DOT_EDGE,
    SKED_I_DOT_GRAPH,
    SKED_I_DOT_DIGRAPH,
    SKED_I_DOT_SUBGRAPH,
    SKED_I_DOT_STRICT,
} sked_i_dot_kind;

typedef struct sked_i_dot_lexer {
    const sked_i_source *source;
    const char *next, *end;
    int kind;             /* of the current token */
    const char *at;       /* where it starts */
    sked_i_word text;     /* of an ID, without quotes and escapes; valid until the next token */
    sked_i_buffer joined; /* holds it where the source does not */
} sked_i_dot_lexer;

/* Moves to the next token; after the last one kind stays END. */
SKED_MUST_CHECK sked_status sked_i_dot_next(sked_i_dot_lexer *l, sked_error *err);
/* As sked_i_format.write. */
SKED_MUST_CHECK sked_status sked_i_dot_write(const sked_graph *g, sked_i_buffer *out, sked_error *err);
#endif
