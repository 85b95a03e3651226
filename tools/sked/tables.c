/* sked methods, formats, targets: the library's tables, printed; and those that help shows. */
#include "cli.h"

#include <string.h>

/* An option of a method, family or target with its values and default. */
static void print_option(FILE *out, const char *indent, int column, const sked_option *o, const char *values)
{
    char label[80], text[800];
    snprintf(label, sizeof label, "%s%s", indent, o->name);
    snprintf(text, sizeof text, "%s (%s%sdefault %s)", o->help, values, values[0] ? "; " : "", o->preset);
    put_wrapped(out, label, column, text);
}

/* ---------------------------------------------------------------- tables in help */

void print_objectives(FILE *out)
{
    sked_problem p;
    sked_problem_init(&p, NULL);
    fprintf(out, "\nobjectives (--objective)\n");
#define SKED_X(name, text, help) \
    put_wrapped(out, "  " text, 21, p.objective == SKED_OBJECTIVE_##name ? help " (default)" : help);
    SKED_OBJECTIVE_LIST(SKED_X)
#undef SKED_X
}

void print_methods(FILE *out)
{
    fputc('\n', out);
    put_wrapped(out, "", 0, "methods (--method; `sked methods METHOD` lists the options for --set)");
    for (int i = 0; i < sked_method_count(); i++) {
        char label[80];
        snprintf(label, sizeof label, "  %s", sked_method_at(i)->name);
        put_wrapped(out, label, 21, sked_method_at(i)->summary);
    }
}

void print_reports(FILE *out)
{
    fprintf(out, "\noutput files (-o)\n");
    for (int i = 0; i < sked_report_count(); i++) {
        char label[80];
        snprintf(label, sizeof label, "  %s", sked_report_at(i)->extension);
        put_wrapped(out, label, 21, sked_report_at(i)->summary);
    }
}

void print_outputs(FILE *out)
{
    print_reports(out);
    put_wrapped(out, "  " CANDIDATES_EXTENSION, 21, "every candidate, one schedule object per line");
}

static void print_distribution(FILE *out, const sked_distribution_info *d)
{
    char label[80];
    snprintf(label, sizeof label, "  %s%s%s", d->name, d->arguments[0] ? ":" : "", d->arguments);
    put_wrapped(out, label, 23, d->summary);
}

void print_families(FILE *out)
{
    fprintf(out, "\nfamilies\n");
    for (int i = 0; i < sked_family_count(); i++) {
        const sked_family_info *f = sked_family_at(i);
        char label[80];
        snprintf(label, sizeof label, "  %s", f->name);
        put_wrapped(out, label, 21, f->summary);
        for (int k = 0; k < f->n_options; k++)
            print_option(out, "    --set ", 23, &f->options[k], "");
    }
    fprintf(out, "\ndistributions (DIST)\n");
    for (int i = 0; i < sked_distribution_count(); i++)
        print_distribution(out, sked_distribution_at(i));
}

/* ---------------------------------------------------------------- sked methods */

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

static void option_json(json_out *j, const sked_option *o)
{
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

static void method_json(json_out *j, const sked_method_info *m)
{
    json_open(j, NULL, '{');
    json_text(j, "name", m->name);
    json_text(j, "summary", m->summary);
    print_features(j, m->features);
    json_open(j, "options", '[');
    for (int i = 0; i < m->n_options; i++)
        option_json(j, &m->options[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void method_text(const sked_method_info *m)
{
    char title[80];
    const int size = snprintf(title, sizeof title, "%s:", m->name);
    put_wrapped(stdout, title, size + 1, m->summary);
    printf("\ntakes\n");
#define SKED_X(name, bit, text)        \
    if (m->features & SKED_CAN_##name) \
        printf("  %s\n", text);
    SKED_FEATURE_LIST(SKED_X)
#undef SKED_X
    if (m->n_options > 0)
        printf("\noptions (--set NAME=VALUE)\n");
    for (int i = 0; i < m->n_options; i++)
        print_option(stdout, "  ", 21, &m->options[i], kind_name(&m->options[i]));
}

static sked_status find_method(const char *name, const sked_method_info **out, sked_error *err)
{
    const char *names[64];
    char hint[120];
    int n = 0;
    *out = sked_method_find(name);
    if (*out != NULL)
        return SKED_OK;
    for (; n < sked_method_count() && n < 64; n++)
        names[n] = sked_method_at(n)->name;
    return fail(err, SKED_ERR_ARGUMENT, "no method is called '%.60s'%s", name,
                sked_suggest(name, names, n, hint, sizeof hint));
}

static void methods_json(const sked_method_info *one)
{
    json_out j = {.file = stdout};
    json_open(&j, NULL, '[');
    for (int i = 0; i < sked_method_count(); i++)
        if (one == NULL || one == sked_method_at(i))
            method_json(&j, sked_method_at(i));
    json_close(&j, ']');
}

static void methods_text(void)
{
    for (int i = 0; i < sked_method_count(); i++) {
        char label[80];
        snprintf(label, sizeof label, "%s", sked_method_at(i)->name);
        put_wrapped(stdout, label, 15, sked_method_at(i)->summary);
    }
    putchar('\n');
    put_wrapped(stdout, "", 0, "`sked methods METHOD` says what it takes and lists its options.");
}

sked_status run_methods(arguments *a, sked_error *err)
{
    const sked_method_info *one = NULL;
    const sked_status st = a->operand.count > 0 ? find_method(a->operand.at[0], &one, err) : SKED_OK;
    if (st != SKED_OK)
        return st;
    if (a->json)
        methods_json(one);
    else if (one != NULL)
        method_text(one);
    else
        methods_text();
    return SKED_OK;
}

/* ---------------------------------------------------------------- sked formats, targets */

static void format_text(const sked_format_info *f)
{
    char label[200];
    snprintf(label, sizeof label, "%-18s %-3s %s", f->name,
             f->reads && f->writes ? "rw"
             : f->reads            ? "r"
                                   : "w",
             f->extensions[0] ? f->extensions : "(by content)");
    put_wrapped(stdout, label, 39, f->summary);
}

sked_status run_formats(arguments *a, sked_error *err)
{
    (void)err;
    json_out j = {.file = stdout};
    if (a->json)
        json_open(&j, NULL, '[');
    for (int i = 0; i < sked_format_count(); i++) {
        const sked_format_info *f = sked_format_at(i);
        if (!a->json) {
            format_text(f);
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
    if (a->json)
        json_close(&j, ']');
    return SKED_OK;
}

static void target_text(const sked_target_info *t)
{
    char label[80];
    snprintf(label, sizeof label, "%s", t->name);
    put_wrapped(stdout, label, 13, t->summary);
    for (int k = 0; k < t->n_options; k++)
        print_option(stdout, "  ", 19, &t->options[k], "");
}

static void targets_text(void)
{
    for (int i = 0; i < sked_target_count(); i++)
        target_text(sked_target_at(i));
    fputc('\n', stdout);
    put_wrapped(stdout, "", 0,
                "Targets compose: --target noisy:strength=0.3+linear+jitter applies its parts in that order. "
                "threads, simgrid, command, torch and onnxruntime stand alone. Every target also takes, on "
                "any one of "
                "its parts,");
    for (int i = 0; i < sked_target_option_count(); i++)
        print_option(stdout, "  ", 19, sked_target_option_at(i), "");
}

/* Its own options, then those of every target. */
static void target_json(json_out *j, const sked_target_info *t)
{
    json_open(j, NULL, '{');
    json_text(j, "name", t->name);
    json_text(j, "summary", t->summary);
    json_open(j, "options", '[');
    for (int k = 0; k < t->n_options; k++)
        option_json(j, &t->options[k]);
    for (int k = 0; k < sked_target_option_count(); k++)
        option_json(j, sked_target_option_at(k));
    json_close(j, ']');
    json_close(j, '}');
}

sked_status run_targets(arguments *a, sked_error *err)
{
    (void)err;
    json_out j = {.file = stdout};
    if (!a->json) {
        targets_text();
        return SKED_OK;
    }
    json_open(&j, NULL, '[');
    for (int i = 0; i < sked_target_count(); i++)
        target_json(&j, sked_target_at(i));
    json_close(&j, ']');
    return SKED_OK;
}
