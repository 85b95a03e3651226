/* Unequal devices and links in the placer, the priorities, and the methods list, heft and brkga. */
#include "brute_force.h"
#include "random_problem.h"
#include "test.h"

#include <string.h>

enum { unequal = RANDOM_UNEQUAL };

static const struct {
    const char *name;
    unsigned flags;
} kinds[] = {
    {"plain", unequal},
    {"real", unequal | RANDOM_REAL},
    {"zero", unequal | RANDOM_ZERO},
    {"lags", unequal | RANDOM_LAGS},
    {"negative", unequal | RANDOM_LAGS | RANDOM_NEGATIVE},
    {"pools", unequal | RANDOM_RESOURCES},
    {"pools, all lags, zero", unequal | RANDOM_RESOURCES | RANDOM_LAGS | RANDOM_NEGATIVE | RANDOM_ZERO},
    {"pools, real", unequal | RANDOM_RESOURCES | RANDOM_REAL | RANDOM_LAGS | RANDOM_ZERO},
    {"fixed devices", unequal | RANDOM_FIX_DEVICE},
    {"fixed devices, pools", unequal | RANDOM_FIX_DEVICE | RANDOM_RESOURCES | RANDOM_LAGS},
    {"fixed starts", unequal | RANDOM_FIX_START},
    {"fixed starts and devices", unequal | RANDOM_FIX_START | RANDOM_FIX_DEVICE | RANDOM_REAL},
    {"fixed starts, pools", unequal | RANDOM_FIX_START | RANDOM_RESOURCES | RANDOM_ZERO},
    {"horizon", unequal | RANDOM_HORIZON},
    {"horizon, all", unequal | RANDOM_HORIZON | RANDOM_RESOURCES | RANDOM_LAGS | RANDOM_REAL},
};
enum { n_kinds = sizeof kinds / sizeof *kinds };

static bool takes(const char *method, unsigned flags)
{
    const uint32_t can = sked_method_find(method)->features;
    const bool fixed = flags & (RANDOM_FIX_START | RANDOM_FIX_DEVICE);
    return (!fixed || can & SKED_CAN_FIX) && (!(flags & RANDOM_HORIZON) || can & SKED_CAN_HORIZON);
}

/* One run; what it gives is valid and never below the optimum (NAN: not known). Returns its makespan. */
static double run(const char *method, const char *const *settings, int n_settings, const sked_problem *p,
                  uint64_t seed, const char *name, double optimum)
{
    sked_run_options opt;
    sked_result result = {.size = sizeof result};
    sked_error why = {0};
    double value = INFINITY;
    sked_run_options_init(&opt);
    opt.seed = seed;
    opt.iterations = 3;
    opt.settings = settings;
    opt.n_settings = n_settings;
    const sked_status st = sked_method_run(method, p, &opt, &result, &why);
    if (st == SKED_OK) {
        value = result.value;
        if (value < optimum - 1e-9)
            fail_msg("%s, %s, seed %d: %g below the optimum %g", method, name, (int)seed, value, optimum);
        for (int32_t k = 0; k < result.count; k++)
            OK(sked_schedule_validate(p, result.schedule[k], err));
    } else if (st != SKED_ERR_INFEASIBLE)
        fail_msg("%s, %s, seed %d: %s", method, name, (int)seed, why.message);
    sked_result_clear(&result);
    return value;
}

/* The least makespan, where enumeration can say it; NAN elsewhere. */
static double optimum_of(const random_problem *r, unsigned flags)
{
    const unsigned limits = RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_HORIZON | RANDOM_NEGATIVE;
    return flags & limits ? NAN : brute_force_orders(&r->problem);
}

/* Every choice of one option of a method, or one that stands for any. text: room for 8. Returns how many. */
static int choices_of(const sked_option *option, char (*text)[100])
{
    int count = 0;
    if (option->kind == SKED_OPTION_BOOL)
        for (; count < 2; count++)
            snprintf(text[count], sizeof *text, "%s=%s", option->name, count ? "yes" : "no");
    else if (option->kind == SKED_OPTION_ENUM)
        for (const char *c = option->choices; *c; count++) {
            const int n = (int)strcspn(c, "|");
            assert_in_range(count, 0, 7);
            snprintf(text[count], sizeof *text, "%s=%.*s", option->name, n, c);
            c += n + (c[n] == '|');
        }
    else
        snprintf(text[count++], sizeof *text, "%s=%s", option->name, option->preset);
    return count;
}

/* Every pair of choices of the first options of a method, on one problem. Returns how many found none. */
static int run_choices(const char *method, const random_problem *r, uint64_t seed, const char *name,
                       double optimum, int *runs)
{
    const sked_method_info *info = sked_method_find(method);
    char a[8][100], b[8][100];
    int none = 0;
    for (int o = 0; o < info->n_options; o++) {
        const int n_a = choices_of(&info->options[o], a);
        const int n_b = choices_of(&info->options[(o + 1) % info->n_options], b);
        for (int k = 0; k < n_a * n_b; k++) {
            const char *settings[] = {a[k / n_b], b[k % n_b]};
            none += isinf(run(method, settings, 2, &r->problem, seed, name, optimum));
            ++*runs;
        }
    }
    return none;
}

/* Options and limits in all combinations: valid, and not below the optimum. */
static void options_and_limits(void **state)
{
    (void)state;
    static const char *const methods[] = {"list", "heft", "brkga"};
    for (int m = 0; m < 3; m++)
        for (int k = 0; k < n_kinds; k++) {
            int runs = 0, none = 0;
            if (!takes(methods[m], kinds[k].flags))
                continue;
            for (uint64_t seed = 0; seed < 30; seed++) {
                random_problem r;
                random_problem_make(seed, kinds[k].flags, 1, 5, &r);
                none +=
                    run_choices(methods[m], &r, seed, kinds[k].name, optimum_of(&r, kinds[k].flags), &runs);
                random_problem_free(&r);
            }
            fprintf(stderr, "%s %s: %d of %d\n", methods[m], kinds[k].name, none, runs);
            const bool limited = kinds[k].flags & (RANDOM_FIX_DEVICE | RANDOM_FIX_START | RANDOM_HORIZON);
            if (none > (limited ? runs / 10 : 0))
                fail_msg("%s, %s: %d of %d runs found no schedule", methods[m], kinds[k].name, none, runs);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
