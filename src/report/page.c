#include "report/page.h"

#include <math.h>
#include <string.h>

/* Made from the files in page/ by cmake/embed.cmake. */
extern const char sked_i_embed_page[], sked_i_embed_style[], sked_i_embed_script[];

void sked_i_page_number(sked_i_buffer *b, double x)
{
    if (isfinite(x))
        sked_i_buffer_number(b, x);
    else
        sked_i_buffer_text(b, "null");
}

void sked_i_page_member(sked_i_buffer *b, const char *name, double x)
{
    sked_i_buffer_format(b, ",\"%s\":", name);
    sked_i_page_number(b, x);
}

/* "<" cannot stand in JSON outside strings; as \u003c it cannot end the script block either. */
static void add_json(sked_i_buffer *out, const sked_i_buffer *json)
{
    out->failed = out->failed || json->failed;
    for (const char *s = json->data, *end = s + json->size; s < end;) {
        const char *less = memchr(s, '<', (size_t)(end - s));
        const char *stop = less ? less : end;
        sked_i_buffer_add(out, s, (size_t)(stop - s));
        if (less != NULL)
            sked_i_buffer_text(out, "\\u003c");
        s = less ? less + 1 : end;
    }
}

static void add_sections(sked_i_buffer *out, const sked_i_page_section *sections, int count)
{
    for (int k = 0; k < count; k++) {
        sked_i_buffer_text(out, "<script type=\"application/json\" class=\"sked-section\" data-kind=\"");
        sked_i_buffer_xml(out, sections[k].kind);
        sked_i_buffer_text(out, "\">\n");
        add_json(out, &sections[k].json);
        sked_i_buffer_text(out, "\n</script>\n");
    }
}

/* The template names what goes where: {{title}}, {{style}}, {{sections}}, {{script}}. */
void sked_i_page_write(sked_i_buffer *out, const char *title, const sked_i_page_section *sections, int count)
{
    for (const char *s = sked_i_embed_page; *s;) {
        const char *open = strstr(s, "{{");
        if (open == NULL) {
            sked_i_buffer_text(out, s);
            break;
        }
        sked_i_buffer_add(out, s, (size_t)(open - s));
        if (strncmp(open, "{{title}}", 9) == 0)
            sked_i_buffer_xml(out, title);
        else if (strncmp(open, "{{style}}", 9) == 0)
            sked_i_buffer_text(out, sked_i_embed_style);
        else if (strncmp(open, "{{sections}}", 12) == 0)
            add_sections(out, sections, count);
        else if (strncmp(open, "{{script}}", 10) == 0)
            sked_i_buffer_text(out, sked_i_embed_script);
        s = strstr(open, "}}") + 2;
    }
}
