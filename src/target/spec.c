/*
 * Specs: "PART+PART", where a part is "NAME" or "NAME:key=value,key=value". A part that takes free text
 * stands alone: "NAME,key=value:TEXT".
 */
#include "target/target.h"

#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const sked_option common[] = {SKED_I_TARGET_COMMON(SKED_I_OPTION_ROW)};

int sked_target_option_count(void)
{
    return SKED_I_TARGET_COMMON_OPTIONS;
}

const sked_option *sked_target_option_at(int i)
{
    return i >= 0 && i < SKED_I_TARGET_COMMON_OPTIONS ? &common[i] : NULL;
}

/* Size of the first part. A '+' before a digit belongs to a number: 1e+3. */
static size_t part_size(const char *spec, size_t end)
{
    size_t n = 0;
    while (n < end && !(spec[n] == '+' && !isdigit((unsigned char)spec[n + 1]) && spec[n + 1] != '.'))
        n++;
    return n;
}

/* The settings of one part, its own and common ones. */
static sked_status split(sked_target *t, const char *text, size_t size, sked_i_target_part *p,
                         sked_error *err)
{
    char *at = sked_i_arena_alloc_zero(&t->arena, (int64_t)size + 1, 1);
    if (at == NULL)
        return sked_i_no_memory(err);
    memcpy(at, text, size);
    while (*at) {
        if (p->n_given == SKED_I_TARGET_OPTIONS)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "a target takes %d options at most",
                               (int)SKED_I_TARGET_OPTIONS);
        p->given[p->n_given++] = at;
        at += strcspn(at, ",");
        if (*at == ',')
            *at++ = 0;
    }
    return SKED_OK;
}

static bool names(const sked_i_target_part *p, const char *option)
{
    const size_t n = strlen(option);
    for (int k = 0; k < p->n_given; k++)
        if (strncmp(p->given[k], option, n) == 0 && p->given[k][n] == '=')
            return true;
    return false;
}

/* A kind that really runs schedules has its own presets of how often. */
static void take_presets(sked_target *t, const sked_i_target *kind)
{
    if (kind->repeat > 0)
        t->common[SKED_I_TARGET_REPEAT] = kind->repeat;
    if (kind->warm_up > 0)
        t->common[SKED_I_TARGET_WARM_UP] = kind->warm_up;
}

/* `given`: bits of the common options that parts before this one have set. */
static sked_status take_settings(sked_target *t, sked_i_target_part *part, unsigned *given, sked_error *err)
{
    const sked_target_info *info = &part->kind->info;
    enum { room = (int)SKED_I_TARGET_OPTIONS + (int)SKED_I_TARGET_COMMON_OPTIONS };
    sked_option table[room];
    double value[room];
    const int own = info->n_options, all = own + SKED_I_TARGET_COMMON_OPTIONS;
    assert(own <= SKED_I_TARGET_OPTIONS);
    for (int i = 0; i < all; i++)
        table[i] = i < own ? info->options[i] : common[i - own];
    const sked_status st =
        sked_i_options_parse(info->name, table, all, part->given, part->n_given, value, err);
    if (st != SKED_OK)
        return st;
    take_presets(t, part->kind);
    for (int i = 0; i < own; i++)
        part->setting[i] = value[i];
    for (int i = 0; i < SKED_I_TARGET_COMMON_OPTIONS; i++) {
        if (!names(part, common[i].name))
            continue;
        if (*given >> i & 1u)
            return sked_i_fail(err, SKED_ERR_ARGUMENT,
                               "option %s is of the whole target; one part of it can set it, not two",
                               common[i].name);
        *given |= 1u << i;
        t->common[i] = value[own + i];
    }
    return SKED_OK;
}

static sked_status add_part(sked_target *t, const char *text, size_t size, sked_error *err)
{
    char name[64];
    const sked_i_target *kind;
    snprintf(name, sizeof name, "%.*s", (int)(size < 60 ? size : 60), text);
    if (size == 0)
        return sked_i_fail(err, SKED_ERR_ARGUMENT,
                           "a target is a name, or names joined by '+'; see `sked targets`");
    const sked_status st = sked_i_target_find(name, &kind, err);
    if (st != SKED_OK)
        return st;
    for (int k = 0; k < t->n_parts; k++)
        if (t->part[k].kind == kind)
            return sked_i_fail(err, SKED_ERR_ARGUMENT, "'%s' comes twice in the target", name);
    assert(t->n_parts < SKED_I_TARGET_PARTS); /* no name twice */
    t->part[t->n_parts++].kind = kind;
    return SKED_OK;
}

static sked_status stands_alone(const sked_i_target *kind, sked_error *err)
{
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "target '%s' stands alone; '+' joins it to nothing",
                       kind->info.name);
}

/* One part of `size` bytes. */
static sked_status parse_part(sked_target *t, const char *text, size_t size, unsigned *given, sked_error *err)
{
    const size_t n = strcspn(text, ",:"), name = n < size ? n : size;
    sked_status st = add_part(t, text, name, err);
    if (st != SKED_OK)
        return st;
    sked_i_target_part *const part = &t->part[t->n_parts - 1];
    const char *options = name < size ? text + name + 1 : text + size;
    if (part->kind->free_text)
        return stands_alone(part->kind, err);
    if (name < size && text[name] == ',')
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "options of a target stand behind a colon: %s:%.*s",
                           part->kind->info.name, (int)(size - name < 100 ? size - name - 1 : 100), options);
    st = split(t, options, (size_t)(text + size - options), part, err);
    return st == SKED_OK ? take_settings(t, part, given, err) : st;
}

/* "NAME,key=value,...:TEXT" */
static sked_status parse_free_text(sked_target *t, const char *spec, sked_error *err)
{
    const size_t name = strcspn(spec, ",:"), head = strcspn(spec, ":");
    unsigned given = 0;
    sked_status st = add_part(t, spec, name, err);
    if (st == SKED_OK &&
        (t->argument = sked_i_arena_strdup(&t->arena, spec[head] == ':' ? spec + head + 1 : "")) == NULL)
        st = sked_i_no_memory(err);
    if (st == SKED_OK)
        st =
            split(t, name < head ? spec + name + 1 : "", name < head ? head - name - 1 : 0, &t->part[0], err);
    return st == SKED_OK ? take_settings(t, &t->part[0], &given, err) : st;
}

/* Does the spec begin with a part that takes all the rest? */
static bool takes_free_text(const char *spec, size_t first)
{
    char name[64];
    const sked_i_target *kind = NULL;
    const size_t n = strcspn(spec, ",:"), head = strcspn(spec, ":");
    snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), spec);
    return first >= head && sked_i_target_find(name, &kind, NULL) == SKED_OK && kind->free_text;
}

sked_status sked_i_target_parse(const char *spec, sked_target *t, sked_error *err)
{
    const size_t size = strlen(spec);
    unsigned given = 0;
    sked_status st =
        sked_i_options_parse("a target", common, SKED_I_TARGET_COMMON_OPTIONS, NULL, 0, t->common, err);
    if (st == SKED_OK && takes_free_text(spec, part_size(spec, size)))
        return parse_free_text(t, spec, err);
    for (size_t at = 0; st == SKED_OK && at <= size;) {
        const size_t n = part_size(spec + at, size - at);
        st = parse_part(t, spec + at, n, &given, err);
        at += n + 1;
    }
    for (int k = 0; st == SKED_OK && t->n_parts > 1 && k < t->n_parts; k++)
        if (t->part[k].kind->run != NULL)
            st = stands_alone(t->part[k].kind, err);
    return st;
}
