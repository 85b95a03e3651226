/*
 * What must hold for any bytes given to a reader. Shared by the fuzz targets and by the test that feeds
 * seeds and past crashes through the readers of an ordinary build.
 */
#ifndef SKED_FUZZ_CHECK_READER_H
#define SKED_FUZZ_CHECK_READER_H
#include "formats/format.h"

#include <stdlib.h>
#include <string.h>

/* Formats that hold everything a graph has: writing and reading again must give an equal graph. */
static const char *const exact_formats[] = {"native", "dot", "gml"};

/* NULL, or what is wrong with writing g as `format` and reading it again. */
static inline const char *check_round_trip(const sked_graph *g, const char *format)
{
    const sked_read_options opt = {.size = sizeof opt, .format = format};
    const sked_i_format *f = sked_i_format_find(format);
    sked_i_buffer text = {0};
    sked_error err = {0};
    sked_graph *again = NULL;
    const char *wrong = NULL;
    if (f == NULL || f->write == NULL)
        return "an exact format has no writer";
    if (f->write(g, &text, &err) != SKED_OK || text.failed)
        wrong = "the graph reads but cannot be written";
    else if (sked_graph_parse("input", text.data, (size_t)text.size, &opt, &again, &err) != SKED_OK)
        wrong = "what was written does not read";
    else if (!sked_graph_equal(g, again))
        wrong = "what was written reads as another graph";
    sked_graph_destroy(again);
    sked_i_buffer_free(&text);
    return wrong;
}

/* NULL, or what is wrong with how `format` reads these bytes. */
static inline const char *check_reader(const char *format, const void *data, size_t size)
{
    const sked_read_options opt = {.size = sizeof opt, .format = format};
    const char *wrong = NULL;
    sked_error err = {0};
    sked_graph *g = NULL;
    char *text = malloc(size + 1); /* readers may count on a zero behind the text, and on nothing else */
    if (text == NULL)
        return NULL;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = 0;
    const sked_status st = sked_graph_parse("input", text, size, &opt, &g, &err);
    free(text);
    if (st != SKED_OK && (st != err.status || strncmp(err.message, "input:", 6) != 0))
        wrong = "an error without the file's name";
    if (st != SKED_OK && st != SKED_ERR_FORMAT && st != SKED_ERR_UNSUPPORTED)
        wrong = "a status that a broken file must not cause";
    for (size_t i = 0; g != NULL && wrong == NULL && i < sizeof exact_formats / sizeof *exact_formats; i++)
        wrong = check_round_trip(g, exact_formats[i]);
    sked_graph_destroy(g);
    return wrong;
}
#endif
