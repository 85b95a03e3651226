/* Resource models of modulo scheduling benchmarks: docs/formats/graphml.md. */
#include "formats/resource_model.h"

#include "formats/xml.h"

#include <string.h>

static void read_number(sked_i_xml *x, sked_i_resource_model *m, const char *attribute, double otherwise,
                        double *out)
{
    *out = otherwise;
    if (!sked_i_xml_attribute(x, attribute, &m->value))
        return;
    sked_i_xml_trim(&m->value);
    if (!sked_i_parse_double(m->value.data, (size_t)m->value.size, out))
        sked_i_xml_fail(x, "resource '%s': %s is not a number", m->name.data, attribute);
}

static void start_element(sked_i_xml *x, const char *element)
{
    sked_i_resource_model *m = x->data;
    bool fresh;
    if (x->depth == 1 && strcmp(element, "ModelInformation") != 0)
        sked_i_xml_fail(x, "a resource model starts with <ModelInformation>, not <%.60s>", element);
    if (strcmp(element, "Resource") != 0)
        return;
    if (!sked_i_xml_attribute(x, "name", &m->name)) {
        sked_i_xml_fail(x, "a <Resource> without a name");
        return;
    }
    sked_i_xml_trim(&m->name);
    const int32_t i = sked_i_names_add(&m->names, m->name.data, (size_t)m->name.size, &fresh);
    if (i < 0 || !SKED_GROW(m->unit, m->unit_cap, m->names.count)) {
        sked_i_xml_fail_as(x, SKED_ERR_MEMORY, "out of memory");
        return;
    }
    if (!fresh)
        sked_i_xml_fail(x, "the resource '%.60s' is declared twice", m->name.data);
    sked_i_resource_unit *u = &m->unit[i];
    read_number(x, m, "latency", 1, &u->latency);
    read_number(x, m, "blockingTime", 1, &u->blocking);
    read_number(x, m, "limit", -1, &u->limit);
    if (u->latency < 0 || u->blocking < 0 || (u->limit < 0 && u->limit != -1))
        sked_i_xml_fail(x,
                        "resource '%.60s': latency and blockingTime are 0 or more, limit too or -1 for none",
                        m->name.data);
}

static void end_element(sked_i_xml *x, const char *element)
{
    (void)x;
    (void)element;
}

static sked_status parse_model(const sked_i_source *source, sked_i_resource_model *m, sked_error *err)
{
    static const sked_i_xml_handler handler = {start_element, end_element};
    return sked_i_xml_parse(source, &handler, m, err);
}

static sked_status read_model(const char *path, sked_i_resource_model *m, sked_error *err)
{
    static const sked_read_options none;
    char *text = NULL;
    int64_t size = 0;
    sked_status st = sked_i_file_read(path, (int64_t)1 << 30, &text, &size, err);
    const sked_i_source source = {path, text, (size_t)size, &none};
    if (st == SKED_OK)
        st = parse_model(&source, m, err);
    free(text);
    return st;
}

sked_status sked_i_resource_model_find(const sked_i_source *source, const sked_i_source *given,
                                       sked_i_resource_model *m, bool *found, sked_error *err)
{
    static const char *const endings[] = {"RM.xml", "_RM.xml"};
    *found = given != NULL || source->options->resources != NULL;
    if (given != NULL)
        return parse_model(given, m, err);
    if (*found)
        return read_model(source->options->resources, m, err);
    const char *slash = strrchr(source->name, '/'), *base = slash ? slash + 1 : source->name;
    const char *dot = strrchr(base, '.');
    const size_t stem = dot && dot != base ? (size_t)(dot - source->name) : strlen(source->name);
    sked_status st = SKED_OK;
    for (int i = 0; i < 2 && st == SKED_OK && !*found; i++) {
        sked_i_buffer path = {0};
        sked_i_buffer_add(&path, source->name, stem);
        sked_i_buffer_text(&path, endings[i]);
        if (path.failed)
            st = sked_i_no_memory(err);
        else if (sked_i_file_exists(path.data)) {
            *found = true;
            st = read_model(path.data, m, err);
        }
        sked_i_buffer_free(&path);
    }
    return st;
}

void sked_i_resource_model_free(sked_i_resource_model *m)
{
    sked_i_names_free(&m->names);
    free(m->unit);
    sked_i_buffer_free(&m->name);
    sked_i_buffer_free(&m->value);
}
