/*
 * One self-contained HTML file out of sections. A section is a kind and its data as JSON; a script under
 * page/ registers what draws a kind (Sked.section in core.js). New panels are a new kind: nothing here
 * changes.
 */
#ifndef SKED_REPORT_PAGE_H
#define SKED_REPORT_PAGE_H
#include "base/text.h"

typedef struct sked_i_page_section {
    const char *kind;   /* letters, digits, '-' */
    sked_i_buffer json; /* one valid JSON value */
} sked_i_page_section;

/* A number, null where it is not finite; _member: behind ,"name": */
void sked_i_page_number(sked_i_buffer *b, double x);
void sked_i_page_member(sked_i_buffer *b, const char *name, double x);
/* Appends the page to out; out->failed says whether memory sufficed. */
void sked_i_page_write(sked_i_buffer *out, const char *title, const sked_i_page_section *sections, int count);
#endif
