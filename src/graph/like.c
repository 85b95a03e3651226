#include "graph/like.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

/*
 * paper: table 2 of "Robust Scheduling with GFlowNets" (ICLR 2023), which prints no parameters but says that
 * its graphs allow a speedup of 3 at least, and what list scheduling reaches. layered is published; the
 * others have the density, about 8 neighbours of an op, at which list comes nearest (docs/generators.md).
 */
static const sked_i_like lines[] = {
    {"paper", "erdos-renyi", {{"p", 0.163, true}}, 3},
    {"paper", "layered", {{0}}, 3},
    {"paper", "stochastic-block", {{"p-in", 0.3, true}, {"p-out", 0.12, true}}, 3},
    {"paper", "watts-strogatz", {{"k", 8, false}}, 3},
    {"paper", "barabasi-albert", {{"m", 4, false}}, 3},
};
enum { N_LINES = sizeof lines / sizeof *lines };

sked_status sked_i_like_find(const char *name, const char *family, const sked_i_like **out, sked_error *err)
{
    const char *names[N_LINES];
    char quoted[80], hint[120];
    bool known = false;
    for (int i = 0; i < N_LINES; i++) {
        names[i] = lines[i].name;
        if (strcmp(lines[i].name, name) != 0)
            continue;
        known = true;
        if (strcmp(lines[i].family, family) == 0) {
            *out = &lines[i];
            return SKED_OK;
        }
    }
    sked_i_quote(name, strlen(name), quoted, sizeof quoted);
    if (known)
        return sked_i_fail(err, SKED_ERR_ARGUMENT, "%s: the set '%s' has no graphs of this family", family,
                           quoted);
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "no set of parameters is called '%s'%s", quoted,
                       sked_i_suggest(quoted, names, N_LINES, hint, sizeof hint));
}

void sked_i_like_apply(const sked_i_like *l, const sked_option *options, int n_options, int32_t nodes,
                       double *value, bool *given)
{
    for (int k = 0; k < 2 && l->value[k].option != NULL; k++)
        for (int i = 0; i < n_options; i++) {
            const sked_i_like_value *p = &l->value[k];
            if (given[i] || strcmp(options[i].name, p->option) != 0)
                continue;
            const double scale = p->scaled && nodes > 0 ? 50.0 / nodes : 1;
            value[i] = fmin(options[i].max, p->value * scale);
            given[i] = true;
        }
}
