/*
 * XML by libxml2's push parser, made safe for untrusted files: no network, no document type (hence no
 * entities to expand), nesting at most 256 deep, nothing kept but the element being read.
 */
#ifndef SKED_FORMATS_XML_H
#define SKED_FORMATS_XML_H
#include "formats/format.h"

typedef struct sked_i_xml sked_i_xml;

/* Element names come without prefix. At end, x->text holds the characters since the last start or end tag. */
typedef struct sked_i_xml_handler {
    void (*start)(sked_i_xml *x, const char *name);
    void (*end)(sked_i_xml *x, const char *name);
} sked_i_xml_handler;

struct sked_i_xml {
    const sked_i_source *source;
    const sked_i_xml_handler *handler;
    void *data; /* the handler's own */
    sked_status status;
    sked_error *err;
    sked_i_buffer text;
    void *parser;            /* libxml2's */
    const void **attributes; /* of the element being started, libxml2's five pointers each */
    int n_attributes, depth;
    char root[32];    /* name of the root element, cut where longer */
    bool root_closed; /* it has ended */
};

/* Parses all of source; the handler sees every element until the first failure. */
SKED_MUST_CHECK sked_status sked_i_xml_parse(const sked_i_source *source, const sked_i_xml_handler *handler,
                                             void *data, sked_error *err);
/* FORMAT error with file and line; the parse stops. */
#define sked_i_xml_fail(x, ...) sked_i_xml_fail_as((x), SKED_ERR_FORMAT, __VA_ARGS__)
void sked_i_xml_fail_as(sked_i_xml *x, sked_status status, const char *format, ...) SKED_PRINTF(3, 4);
/* Takes over the error of a call that knows no file (the builder). */
void sked_i_xml_pass(sked_i_xml *x, const sked_error *cause);
/* The line being read, from 1. */
int32_t sked_i_xml_line(const sked_i_xml *x);
/* In start: the attribute's value replaces the contents of out. false: there is none (or no memory). */
bool sked_i_xml_attribute(sked_i_xml *x, const char *name, sked_i_buffer *out);
/* White space at both ends removed, in place. */
void sked_i_xml_trim(sked_i_buffer *b);
#endif
