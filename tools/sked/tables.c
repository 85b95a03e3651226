/* sked methods, formats, targets: the library's tables, printed. */
#include "cli.h"

#include <string.h>

static void print_features(json_out *j, uint32_t features)
{
    json_open(j, "features", '[');
#define SKED_X(name, bit, text)     \
    if (features & SKED_CAN_##name) \
        json_text(j, NULL, text);
    SKED_FEATURE_LIST(SKED_X)
#undef SKED_X
    json_close(j, ']');
}

static const char *kind_name(const sked_option *o)
{
    static const char *const names[] = {"integer", "number", "true|false", "", "text"};
    return o->kind == SKED_OPTION_ENUM ? o->choices : names[o->kind];
}

static void method_json(json_out *j, const sked_method_info *m)
{
    json_open(j, NULL, '{');
    json_text(j, "name", m->name);
    json_text(j, "summary", m->summary);
    print_features(j, m->features);
    json_open(j, "options", '[');
    for (int i = 0; i < m->n_options; i++) {
        const sked_option *o = &m->options[i];
        json_open(j, NULL, '{');
        json_text(j, "name", o->name);
        json_text(j, "values", kind_name(o));
        json_text(j, "default", o->preset);
        if (o->kind == SKED_OPTION_INT || o->kind == SKED_OPTION_REAL) {
            json_number(j, "min", o->min);
            json_number(j, "max", o->max);
        }
        json_text(j, "help", o->help);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void method_text(const sked_method_info *m)
{
    printf("%s: %s\n\ntakes\n", m->name, m->summary);
#define SKED_X(name, bit, text)        \
    if (m->features & SKED_CAN_##name) \
        printf("  %s\n", text);
    SKED_FEATURE_LIST(SKED_X)
#undef SKED_X
    if (m->n_options > 0)
        printf("\noptions (--set NAME=VALUE)\n");
    for (int i = 0; i < m->n_options; i++) {
        const sked_option *o = &m->options[i];
        printf("  %-18s %s (%s; default %s)\n", o->name, o->help, kind_name(o), o->preset);
    }
}

sked_status run_methods(arguments *a, sked_error *err)
{
    const sked_method_info *one = a->n_operands ? sked_method_find(a->operand[0]) : NULL;
    if (a->n_operands && one == NULL) {
        const char *names[64];
        char hint[120];
        int n = 0;
        for (; n < sked_method_count() && n < 64; n++)
            names[n] = sked_method_at(n)->name;
        return fail(err, SKED_ERR_ARGUMENT, "no method is called '%.60s'%s", a->operand[0],
                    sked_suggest(a->operand[0], names, n, hint, sizeof hint));
    }
    if (a->json.given) {
        json_out j = {.file = stdout};
        json_open(&j, NULL, '[');
        for (int i = 0; i < sked_method_count(); i++)
            if (one == NULL || one == sked_method_at(i))
                method_json(&j, sked_method_at(i));
        json_close(&j, ']');
    } else if (one != NULL) {
        method_text(one);
    } else {
        for (int i = 0; i < sked_method_count(); i++)
            printf("%-14s %s\n", sked_method_at(i)->name, sked_method_at(i)->summary);
        printf("\n`sked methods METHOD` says what it takes and lists its options.\n");
    }
    return SKED_OK;
}

sked_status run_formats(arguments *a, sked_error *err)
{
    (void)err;
    json_out j = {.file = stdout};
    if (a->json.given)
        json_open(&j, NULL, '[');
    for (int i = 0; i < sked_format_count(); i++) {
        const sked_format_info *f = sked_format_at(i);
        if (!a->json.given) {
            printf("%-18s %-6s %-22s %s\n", f->name,
                   f->reads && f->writes ? "rw"
                   : f->reads            ? "r"
                                         : "w",
                   f->extensions[0] ? f->extensions : "(by content)", f->summary);
            continue;
        }
        json_open(&j, NULL, '{');
        json_text(&j, "name", f->name);
        json_text(&j, "summary", f->summary);
        json_text(&j, "extensions", f->extensions);
        json_bool(&j, "reads", f->reads);
        json_bool(&j, "writes", f->writes);
        json_close(&j, '}');
    }
    if (a->json.given)
        json_close(&j, ']');
    return SKED_OK;
}

sked_status run_targets(arguments *a, sked_error *err)
{
    (void)err;
    json_out j = {.file = stdout};
    if (a->json.given)
        json_open(&j, NULL, '[');
    for (int i = 0; i < sked_target_count(); i++) {
        const sked_target_info *t = sked_target_at(i);
        if (!a->json.given) {
            printf("%-12s %s\n", t->name, t->summary);
            for (int k = 0; k < t->n_options; k++)
                printf("  %-16s %s (default %s)\n", t->options[k].name, t->options[k].help,
                       t->options[k].preset);
            continue;
        }
        json_open(&j, NULL, '{');
        json_text(&j, "name", t->name);
        json_text(&j, "summary", t->summary);
        json_close(&j, '}');
    }
    if (a->json.given)
        json_close(&j, ']');
    return SKED_OK;
}
