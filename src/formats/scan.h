/*
 * What the text readers share: words and numbers with messages that name line and rule, and refusal of
 * files that are no text. A scanner only moves forward, so every reader built on it is linear in its input.
 */
#ifndef SKED_FORMATS_SCAN_H
#define SKED_FORMATS_SCAN_H
#include "formats/format.h"

/* Deepest nesting any reader follows. Generous for real files, small enough for every stack. */
enum { SKED_I_MAX_DEPTH = 128 };

typedef struct sked_i_word {
    const char *text; /* [size], inside the source; not 0-terminated */
    size_t size;
} sked_i_word;

typedef struct sked_i_scan {
    const sked_i_source *source; /* NULL while sniffing: then only the word functions may be used */
    const char *at, *end;
    bool one_line; /* words stop at the end of the line instead of crossing it */
} sked_i_scan;

/* FORMAT where the text holds nothing but blanks, or a zero byte. `kind` names the format: "an STG file". */
SKED_MUST_CHECK sked_status sked_i_text_check(const sked_i_source *source, const char *kind, sked_error *err);

/* A scanner over text[0..size); a byte order mark is skipped. */
sked_i_scan sked_i_scan_text(const char *text, size_t size);
sked_i_scan sked_i_scan_source(const sked_i_source *source);
/* Next run of non-blank bytes; '#' at the start of a word hides the rest of its line. false: none left. */
bool sked_i_scan_word(sked_i_scan *s, sked_i_word *w);
/* The next '\n' from `at` on, or end. */
const char *sked_i_line_end(const char *at, const char *end);
/* Moves to the start of the next line; false at the end of the text. */
bool sked_i_scan_next_line(sked_i_scan *s);
/* No word follows "the last of <count> <what>". */
SKED_MUST_CHECK sked_status sked_i_scan_end(sked_i_scan *s, int32_t count, const char *what, sked_error *err);
/* The rest of the line holds no word. */
SKED_MUST_CHECK sked_status sked_i_scan_line_end(sked_i_scan *s, const char *after, sked_error *err);
/* The next word is a finite number, 0 or more. `what` names it in messages. */
SKED_MUST_CHECK sked_status sked_i_scan_number(sked_i_scan *s, const char *what, double *out,
                                               sked_error *err);
/* The next word is an integer in lo..hi. */
SKED_MUST_CHECK sked_status sked_i_scan_int(sked_i_scan *s, const char *what, int32_t lo, int32_t hi,
                                            int32_t *out, sked_error *err);

bool sked_i_word_is(sked_i_word w, const char *text);       /* the same bytes */
bool sked_i_word_starts(sked_i_word w, const char *prefix); /* begins so, letters of either case */
sked_i_quoted sked_i_word_quoted(sked_i_word w);            /* for messages */

/* w is a finite number, 0 or more; `what` names it, `at` is where the message points. */
SKED_MUST_CHECK sked_status sked_i_word_amount(const sked_i_source *source, const char *at, sked_i_word w,
                                               const char *what, double *out, sked_error *err);

/*
 * Where `key` is an attribute of ops or edges: w is its value, which goes to value[its number], and its bit
 * into *given, which may be NULL. Other keys are none of ours: OK.
 */
SKED_MUST_CHECK sked_status sked_i_word_attribute(const sked_i_source *source, const char *at,
                                                  sked_i_word key, sked_i_word w, bool of_edges,
                                                  double *value, uint32_t *given, sked_error *err);

/* Number of an integer id in a table of ids in decimal: added (-1: no memory), or looked up (-1: none). */
int32_t sked_i_id_add(sked_i_names *ids, int64_t id, bool *fresh);
int32_t sked_i_id_find(const sked_i_names *ids, int64_t id);

/*
 * UNSUPPORTED where g needs what the plainest formats cannot say: loop-carried edges, lags that differ
 * from the duration of `from`, and (resources false) demands. `kind` names the format: "STG".
 */
SKED_MUST_CHECK sked_status sked_i_plain_check(const sked_graph *g, const char *kind, bool resources,
                                               sked_error *err);
#endif
