#include "formats/xml.h"

#include <assert.h>
#include <libxml/parser.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { max_depth = 256, max_attributes = 256 };

#if LIBXML_VERSION >= 21200
typedef const xmlError *error_pointer;
#else
typedef xmlErrorPtr error_pointer;
#endif

int32_t sked_i_xml_line(const sked_i_xml *x)
{
    const xmlParserCtxtPtr parser = x->parser;
    return parser && parser->input ? parser->input->line : 0;
}

static void fail_with(sked_i_xml *x, sked_status status, const char *message)
{
    if (x->status != SKED_OK)
        return;
    x->status = status;
    if (status == SKED_ERR_MEMORY)
        sked_i_no_memory(x->err);
    else
        sked_i_fail(x->err, status, "%s:%d: %s", x->source->name, (int)sked_i_xml_line(x), message);
    /* No more callbacks. Not xmlStopParser: it frees the buffer that the attributes of this tag point into.
     */
    if (x->parser != NULL)
        ((xmlParserCtxtPtr)x->parser)->disableSAX = 1;
}

void sked_i_xml_fail_as(sked_i_xml *x, sked_status status, const char *format, ...)
{
    char message[700];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fail_with(x, status, message);
}

void sked_i_xml_pass(sked_i_xml *x, const sked_error *cause)
{
    fail_with(x, cause->status, cause->message);
}

bool sked_i_xml_attribute(sked_i_xml *x, const char *name, sked_i_buffer *out)
{
    for (int i = 0; i < x->n_attributes && x->status == SKED_OK; i++) {
        const void **a = x->attributes + 5 * i; /* local name, prefix, URI, value, its end */
        if (strcmp(a[0], name) != 0)
            continue;
        out->size = 0;
        sked_i_buffer_add(out, a[3], (size_t)((const char *)a[4] - (const char *)a[3]));
        if (out->failed)
            fail_with(x, SKED_ERR_MEMORY, "");
        return !out->failed;
    }
    return false;
}

void sked_i_xml_trim(sked_i_buffer *b)
{
    static const char space[] = " \t\r\n";
    if (b->size == 0)
        return;
    while (b->size > 0 && strchr(space, b->data[b->size - 1]) != NULL)
        b->data[--b->size] = 0;
    const size_t lead = strspn(b->data, space);
    memmove(b->data, b->data + lead, (size_t)b->size - lead + 1);
    b->size -= (int64_t)lead;
}

static void clear_text(sked_i_xml *x)
{
    x->text.size = 0;
    if (x->text.data != NULL)
        x->text.data[0] = 0;
}

static void on_start(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int n_namespaces, const xmlChar **namespaces, int n_attributes, int n_defaulted,
                     const xmlChar **attributes)
{
    sked_i_xml *x = user;
    (void)prefix, (void)uri, (void)n_namespaces, (void)namespaces, (void)n_defaulted;
    if (x->status != SKED_OK)
        return;
    if (x->depth == max_depth) { /* libxml2 counts only where it builds a tree */
        sked_i_xml_fail(x, "nested deeper than %d levels", max_depth);
        return;
    }
    if (x->depth++ == 0)
        snprintf(x->root, sizeof x->root, "%s", (const char *)name);
    clear_text(x);
    x->attributes = (const void **)attributes;
    x->n_attributes = n_attributes;
    x->handler->start(x, (const char *)name);
    x->n_attributes = 0;
}

static void on_end(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    sked_i_xml *x = user;
    (void)prefix, (void)uri;
    if (x->status != SKED_OK)
        return;
    assert(x->depth > 0);
    x->handler->end(x, (const char *)name);
    clear_text(x);
    x->root_closed = --x->depth == 0;
}

static void on_text(void *user, const xmlChar *text, int size)
{
    sked_i_xml *x = user;
    if (x->status != SKED_OK)
        return;
    sked_i_buffer_add(&x->text, (const char *)text, (size_t)size);
    if (x->text.failed)
        fail_with(x, SKED_ERR_MEMORY, "");
}

static void on_document_type(void *user, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
    (void)name, (void)external, (void)system;
    sked_i_xml_fail_as(user, SKED_ERR_UNSUPPORTED, "a <!DOCTYPE> is not accepted: it could declare entities");
}

/* A closing tag too many after the root, as in one published benchmark, loses nothing. */
static bool stray_end(const sked_i_xml *x, const xmlError *error)
{
    static const char tag[] = "</graphml>";
    const char *end = x->source->text + x->source->size;
    while (end > x->source->text && strchr(" \t\r\n", end[-1]) != NULL)
        end--;
    return x->root_closed && strcmp(x->root, "graph") == 0 && error->code == XML_ERR_DOCUMENT_END &&
           (size_t)(end - x->source->text) > sizeof tag - 1 &&
           memcmp(end - (sizeof tag - 1), tag, sizeof tag - 1) == 0;
}

static void on_error(void *user, error_pointer error)
{
    sked_i_xml *x = user;
    char message[300];
    if (error->code == XML_ERR_NO_MEMORY) {
        fail_with(x, SKED_ERR_MEMORY, "");
        return;
    }
    if (error->level < XML_ERR_ERROR || stray_end(x, error))
        return;
    snprintf(message, sizeof message, "%s", error->message ? error->message : "malformed XML");
    message[strcspn(message, "\n")] = 0;
    sked_i_xml_fail(x, "%s", message);
}

/* Behind the end of a construct that begins at s, "-->" and the like, or the end of the text. */
static const char *skip_to(const char *s, const char *end, const char *mark)
{
    const size_t size = strlen(mark);
    for (; (size_t)(end - s) >= size; s++)
        if (memcmp(s, mark, size) == 0)
            return s + size;
    return end;
}

static bool begins(const char *s, const char *end, const char *word)
{
    return (size_t)(end - s) >= strlen(word) && memcmp(s, word, strlen(word)) == 0;
}

/* From '<' of a tag to behind its '>'; *equals counts the signs outside of quotes, one for each attribute. */
static const char *scan_tag(const char *s, const char *end, int *equals)
{
    char quote = 0;
    for (*equals = 0; s < end; s++) {
        if (quote == 0 && *s == '>')
            return s + 1;
        if (quote == 0 && (*s == '"' || *s == '\''))
            quote = *s;
        else if (*s == quote)
            quote = 0;
        else
            *equals += quote == 0 && *s == '=';
    }
    return end;
}

/*
 * libxml2 compares the attributes of a tag pair by pair before handing them over, so that a tag with very
 * many must not reach it. Encodings of two bytes only put zeros between these signs.
 */
static bool tags_are_small(sked_i_xml *x)
{
    const char *s = x->source->text, *end = s + x->source->size;
    while (s < end && (s = memchr(s, '<', (size_t)(end - s))) != NULL) {
        int equals = 0;
        if (begins(s, end, "<!--"))
            s = skip_to(s + 4, end, "-->");
        else if (begins(s, end, "<![CDATA["))
            s = skip_to(s, end, "]]>");
        else if (begins(s, end, "<?"))
            s = skip_to(s, end, "?>");
        else
            s = scan_tag(s, end, &equals);
        if (equals > max_attributes) {
            sked_i_xml_fail_as(x, SKED_ERR_UNSUPPORTED, "a tag has more than %d attributes", max_attributes);
            return false;
        }
    }
    return true;
}

/* Feeds the text in pieces: libxml2 counts in int, and small pieces keep its own buffer small. */
static void feed(sked_i_xml *x)
{
    enum { piece = 1 << 16 };
    const char *s = x->source->text;
    if (x->source->size == 0)
        sked_i_xml_fail(x, "the file is empty");
    for (size_t left = x->source->size; left > 0 && x->status == SKED_OK;) {
        const size_t n = left < piece ? left : piece;
        if (xmlParseChunk(x->parser, s, (int)n, 0) == XML_ERR_NO_MEMORY)
            fail_with(x, SKED_ERR_MEMORY, "");
        s += n;
        left -= n;
    }
    if (x->status == SKED_OK && xmlParseChunk(x->parser, "", 0, 1) == XML_ERR_NO_MEMORY)
        fail_with(x, SKED_ERR_MEMORY, "");
    if (!x->root_closed)
        sked_i_xml_fail(x, "the document is not complete");
}

sked_status sked_i_xml_parse(const sked_i_source *source, const sked_i_xml_handler *handler, void *data,
                             sked_error *err)
{
    xmlSAXHandler sax = {.initialized = XML_SAX2_MAGIC,
                         .startElementNs = on_start,
                         .endElementNs = on_end,
                         .characters = on_text,
                         .ignorableWhitespace = on_text,
                         .cdataBlock = on_text,
                         .internalSubset = on_document_type,
                         .serror = on_error};
    sked_i_xml x = {.source = source, .handler = handler, .data = data, .err = err};
    /* Some errors (encodings, memory) know no parser and would be printed: for this thread they come to us.
     */
    const xmlStructuredErrorFunc old_handler = xmlStructuredError;
    void *const old_context = xmlStructuredErrorContext;
    xmlSetStructuredErrorFunc(&x, on_error);
    xmlParserCtxtPtr parser = xmlCreatePushParserCtxt(&sax, &x, NULL, 0, NULL);
    x.parser = parser;
    if (parser == NULL) {
        fail_with(&x, SKED_ERR_MEMORY, "");
    } else {
        /* NOENT only turns "&amp;" into "&": without a document type there is nothing else to expand. */
        xmlCtxtUseOptions(parser, XML_PARSE_NONET | XML_PARSE_NOENT);
        if (tags_are_small(&x))
            feed(&x);
        if (parser->myDoc != NULL)
            xmlFreeDoc(parser->myDoc);
        xmlFreeParserCtxt(parser);
    }
    xmlSetStructuredErrorFunc(old_context, old_handler);
    if (x.status != SKED_OK)
        xmlResetLastError(); /* this thread's copy of what err says already */
    sked_i_buffer_free(&x.text);
    return x.status;
}
