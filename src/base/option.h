/* Typed options: one table line gives name, type, range, default and help. */
#ifndef SKED_BASE_OPTION_H
#define SKED_BASE_OPTION_H
#include "base/status.h"

/*
 * Fills values[i] for every option of the table: its preset, or what "name=value" in settings says.
 * INT, REAL: the number. BOOL: 0 or 1 (true/false, yes/no, on/off, 1/0). ENUM: index of the choice.
 * TEXT: 0 for the preset, or the number of the setting, from 1 (sked_i_option_text). `owner` names the method
 * in messages. Unknown names and values out of range: ARGUMENT.
 */
SKED_MUST_CHECK sked_status sked_i_options_parse(const char *owner, const sked_option *table, int count,
                                                 const char *const *settings, int n_settings, double *values,
                                                 sked_error *err);
/* A number among a caller's options, and what it may be. */
typedef struct sked_i_range {
    const char *name;
    double value, least, most;
} sked_i_range;
enum { SKED_I_MOST_OPTIONS = 64, SKED_I_MOST_THREADS = 1024, SKED_I_MOST_CANDIDATES = 1000000 };
/* ARGUMENT: the first of them that is out of its range, or settings that are not there. */
SKED_MUST_CHECK sked_status sked_i_options_check(const sked_i_range *range, size_t count,
                                                 const char *const *settings, int n_settings,
                                                 sked_error *err);

/*
 * Options as one list, LIST(X), with the columns ID, name, kind, preset, min, max, choices, help. Makes
 * `enum { OPTION_ID, ..., n_options }` and the table `options` from it; values are in the same order.
 */
#define SKED_I_OPTIONS(LIST)                   \
    enum { LIST(SKED_I_OPTION_ID) n_options }; \
    static const sked_option options[n_options] = {LIST(SKED_I_OPTION_ROW)}
#define SKED_I_OPTION_ID(id, ...) OPTION_##id,
#define SKED_I_OPTION_ROW(id, name, kind, preset, min, max, choices, help) \
    {name, SKED_OPTION_##kind, preset, min, max, choices, help},

/* The text of a TEXT option that was parsed to `value`. */
const char *sked_i_option_text(const sked_option *o, double value, const char *const *settings);
#endif
