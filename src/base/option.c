#include "base/option.h"

#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool parse_bool(const char *text, double *value)
{
    static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no", "off", "0"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, yes[i]) == 0)
            return *value = 1, true;
        if (strcmp(text, no[i]) == 0)
            return *value = 0, true;
    }
    return false;
}

static bool parse_choice(const char *choices, const char *text, double *value)
{
    const size_t n = strlen(text);
    int index = 0;
    for (const char *s = choices; *s; index++) {
        const size_t length = strcspn(s, "|");
        if (length == n && memcmp(s, text, n) == 0)
            return *value = index, true;
        s += length;
        s += *s == '|';
    }
    return false;
}

static sked_status parse_value(const char *owner, const sked_option *o, const char *text, double *value,
                               sked_error *err)
{
    switch (o->kind) {
    case SKED_OPTION_BOOL:
        if (parse_bool(text, value))
            return SKED_OK;
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: %s wants true or false, not '%s'", owner, o->name,
                           text);
    case SKED_OPTION_ENUM:
        if (parse_choice(o->choices, text, value))
            return SKED_OK;
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: %s wants one of %s, not '%s'", owner, o->name,
                           o->choices, text);
    case SKED_OPTION_TEXT:
        *value = 0;
        return SKED_OK;
    case SKED_OPTION_INT:
    case SKED_OPTION_REAL:
        break;
    }
    double x;
    const bool integer = o->kind == SKED_OPTION_INT;
    if (!sked_parse_number(text, &x) || x < o->min || x > o->max || (integer && x != floor(x)))
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: %s wants %s from %g to %g, not '%s'", owner, o->name,
                           integer ? "a whole number" : "a number", o->min, o->max, text);
    *value = x;
    return SKED_OK;
}

static sked_status unknown(const char *owner, const sked_option *table, int count, const char *setting,
                           sked_error *err)
{
    char word[64], hint[120];
    const char *names[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(setting, "="), setting);
    int n = 0;
    for (; n < count && n < 64; n++)
        names[n] = table[n].name;
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s has no option '%s'%s", owner, word,
                       sked_suggest(word, names, n, hint, sizeof hint));
}

sked_status sked_i_options_check(const sked_i_range *range, size_t count, const char *const *settings,
                                 int n_settings, sked_error *err)
{
    for (size_t k = 0; k < count; k++) {
        const sked_i_range *r = &range[k];
        if (r->value >= r->least && r->value <= r->most)
            continue;
        if (r->most >= INT32_MAX)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s must be %g or more, not %g", r->name, r->least,
                               r->value);
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s must be from %g to %g, not %g", r->name, r->least,
                           r->most, r->value);
    }
    bool there = n_settings >= 0 && (n_settings == 0 || settings != NULL);
    for (int k = 0; there && k < n_settings; k++)
        there = settings[k] != NULL;
    return there ? SKED_OK
                 : sked_i_fail(err, SKED_ERR_ARGUMENT, "settings are not as many as n_settings says");
}

sked_status sked_i_options_parse(const char *owner, const sked_option *table, int count,
                                 const char *const *settings, int n_settings, double *values, sked_error *err)
{
    for (int i = 0; i < count; i++) {
        const sked_status st = parse_value(owner, &table[i], table[i].preset, &values[i], err);
        if (st != SKED_OK)
            return st;
    }
    for (int k = 0; k < n_settings; k++) {
        const char *equals = strchr(settings[k], '=');
        const size_t n = equals ? (size_t)(equals - settings[k]) : strlen(settings[k]);
        int i = 0;
        while (i < count && (strlen(table[i].name) != n || memcmp(table[i].name, settings[k], n) != 0))
            i++;
        if (i == count)
            return unknown(owner, table, count, settings[k], err);
        if (equals == NULL)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: option %s needs a value (%s=...)", owner,
                               table[i].name, table[i].name);
        const sked_status st = parse_value(owner, &table[i], equals + 1, &values[i], err);
        if (st != SKED_OK)
            return st;
        if (table[i].kind == SKED_OPTION_TEXT)
            values[i] = k + 1;
    }
    return SKED_OK;
}

const char *sked_i_option_text(const sked_option *o, double value, const char *const *settings)
{
    assert(o->kind == SKED_OPTION_TEXT && value >= 0);
    return value == 0 ? o->preset : strchr(settings[(int)value - 1], '=') + 1;
}
