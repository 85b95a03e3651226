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

/* What a picture adds to the same text. Types stand in `type` then, for the picture has labels of its own. */
typedef struct sked_i_dot_picture {
    const void *data;
    const uint8_t *op, *edge;                                            /* 0: it is left out */
    void (*before)(const void *data, sked_i_buffer *out);                /* statements before the ops */
    void (*behind)(const void *data, sked_i_buffer *out);                /* and behind the edges */
    void (*of_op)(const void *data, int32_t op, sked_i_buffer *out);     /* ", key=value" ... */
    void (*of_edge)(const void *data, int64_t edge, sked_i_buffer *out); /* " [key=value]" */
} sked_i_dot_picture;
/* picture NULL: the graph alone. */
void sked_i_dot_draw(const sked_graph *g, const sked_i_dot_picture *picture, sked_i_buffer *out);
/* An op by its name; text as written inside quotes. */
void sked_i_dot_name(const sked_graph *g, int32_t op, sked_i_buffer *out);
void sked_i_dot_text(sked_i_buffer *out, const char *text);
#endif
