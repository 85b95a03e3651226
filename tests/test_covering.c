/* Gates in tables of four inputs: the depth by priority cuts against all sets of four values that cut. */
#include "robust/covering.h"

#include "base/rng.h"
#include "random_problem.h"

enum { inputs = 5, gates = 9, nodes = inputs + gates };

typedef struct netlist {
    int reads[nodes]; /* how many values a gate reads; 0: an input */
    int32_t from[nodes][SKED_I_CUT_INPUTS];
} netlist;

static netlist random_netlist(sked_i_rng *rng)
{
    netlist x = {.reads = {0}};
    for (int i = inputs; i < nodes; i++) {
        x.reads[i] = random_int(rng, 0, 5) == 0 ? 4 : random_int(rng, 1, 3);
        for (int k = 0; k < x.reads[i]; k++)
            x.from[i][k] = random_int(rng, k > 0 ? 0 : i > 8 ? i - 4 : 0, i - 1); /* chains of some length */
    }
    return x;
}

/* Can the gate be computed from the values in the set alone? */
static bool is_cut(const netlist *x, unsigned set, int op)
{
    for (int k = 0; k < x->reads[op]; k++)
        if (!(set >> x->from[op][k] & 1) &&
            (x->reads[x->from[op][k]] == 0 || !is_cut(x, set, x->from[op][k])))
            return false;
    return true;
}

static int least_level(const netlist *x, const int *level, int op)
{
    int least = nodes;
    for (unsigned set = 1; set < 1U << op; set++) {
        int size = 0, deepest = 0;
        for (int i = 0; i < op; i++)
            if (set >> i & 1) {
                size++;
                deepest = level[i] > deepest ? level[i] : deepest;
            }
        if (size <= SKED_I_CUT_INPUTS && deepest + 1 < least && is_cut(x, set, op))
            least = deepest + 1;
    }
    return least;
}

static void test_depth(void **state)
{
    (void)state;
    sked_i_rng rng;
    sked_i_rng_seed(&rng, 26, 0);
    int seen = 0;
    for (int c = 0; c < CASES(300); c++) {
        const netlist x = random_netlist(&rng);
        sked_i_cuts cuts[nodes];
        int least[nodes] = {0};
        double level[nodes] = {0};
        for (int i = inputs; i < nodes; i++) {
            sked_i_cuts_begin(&cuts[i]);
            for (int k = 0; k < x.reads[i]; k++) {
                const int32_t from = x.from[i][k];
                const sked_i_cut value = {level[from], from, 1, {from}};
                sked_i_cuts_read(&cuts[i], &value, x.reads[from] > 0 ? &cuts[from] : NULL);
            }
            const sked_i_cut *const best = sked_i_cuts_best(&cuts[i]);
            unsigned set = 0;
            for (int k = 0; k < best->inputs; k++)
                set |= 1U << best->input[k];
            assert_true(is_cut(&x, set, i));
            assert_true(best->last >= 0 && (set >> best->last & 1) && level[best->last] == best->latest);
            level[i] = best->latest + 1;
            least[i] = least_level(&x, least, i);
            assert_int_equal(level[i], least[i]);
            seen++;
        }
    }
    print_message("%d gates\n", seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_depth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
