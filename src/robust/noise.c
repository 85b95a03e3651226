/*
 * How much of what measurements say is noise. Times of one schedule that was measured again show the noise of
 * a measurement; what guesses missed of schedules before they were measured is that and their own error.
 */
#include "base/explog.h"
#include "base/memory.h"
#include "base/sort.h"
#include "robust/robust_loop.h"

#include <assert.h>
#include <math.h>

enum { MOST_FAILURES = 2 };
/* Of a normal variable: variance over the median of its square. */
static const double variance_of_median = 2.198;
/* Least share of a miss that is the guesses' own. */
static const double least_own = 0.05;
/* A contender this many deviations behind is none. */
static const double clearly_behind = 2;

/* Sum of squared deviations of times measured again from their means, in logarithms. *degrees: of freedom. */
static double sum_repeats(const sked_i_rounds *l, int64_t *degrees)
{
    double sum = 0;
    *degrees = 0;
    for (int64_t k = 0; k < l->trials; k++) {
        const sked_i_trial *t = &l->trial[k];
        if (isnan(t->time) || !(t->time > 0) || t->entry->times < 2)
            continue;
        const double x = sked_i_model_log(t->time / sked_i_candidates_time(t->entry));
        sum += x * x;
        *degrees += t->again;
    }
    return sum;
}

/* Variance of what guesses missed; INFINITY: none was measured. One far miss does not count for more. */
static double miss_variance(const sked_i_rounds *l)
{
    sked_i_keyed *square = sked_i_alloc(2 * l->trials, sizeof *square);
    double found = INFINITY;
    int64_t n = 0;
    for (int64_t k = 1; square != NULL && k < l->trials; k++) { /* before the first there is only the prior */
        const sked_i_trial *t = &l->trial[k];
        if (t->again || t->resumed || !(t->time > 0) || !(t->expected > 0))
            continue;
        const double x = sked_i_model_log(t->time / t->expected);
        square[n++] = (sked_i_keyed){sked_i_sort_key(x * x), k};
    }
    if (n > 0) {
        sked_i_sort_keyed(square, square + n, n);
        found = variance_of_median * sked_i_sort_value(square[n / 2].key);
    }
    free(square);
    return found;
}

void sked_i_rounds_weigh(sked_i_rounds *l)
{
    int64_t degrees;
    const double sum = sum_repeats(l, &degrees), missed = l->stale ? INFINITY : miss_variance(l);
    l->candidates.repeat = l->candidates.miss = 0;
    if (missed < INFINITY)
        sked_i_belief_know_noise(&l->belief, sqrt(missed));
    if (missed < INFINITY && l->noisy == 1) { /* until repeats say more, half of a miss is noise */
        l->candidates.repeat = fmin(missed, (sum + missed / 2) / (double)(degrees + 1));
        l->candidates.miss = fmax(missed - l->candidates.repeat, least_own * missed);
    }
    sked_i_candidates_estimate(&l->candidates, &l->belief);
}

/* The measured entry other than `best` that may yet be the fastest; NULL: none. */
static sked_i_candidate *find_rival(const sked_i_rounds *l, const sked_i_candidate *best)
{
    sked_i_candidate *rival = NULL;
    double least = INFINITY;
    for (int64_t k = 0; k < l->candidates.count; k++) {
        sked_i_candidate *e = l->candidates.entry[k];
        const double low = e->times > 0 && e != best ? e->estimate * sked_i_exp(-e->deviation) : INFINITY;
        if (low < least && e->measured - e->times < MOST_FAILURES) {
            least = low;
            rival = e;
        }
    }
    return rival;
}

sked_i_candidate *sked_i_rounds_contender(const sked_i_rounds *l)
{
    sked_i_candidate *best = sked_i_candidates_best(&l->candidates);
    if (l->noisy == 0 || best == NULL)
        return NULL;
    if (best->measured < 2)
        return best;
    sked_i_candidate *rival = find_rival(l, best);
    if (rival == NULL)
        return NULL;
    assert(rival != best && best->times > 0 && rival->times > 0);
    const double apart = sked_i_model_log(rival->estimate / best->estimate);
    if (apart >
        clearly_behind * sqrt(best->deviation * best->deviation + rival->deviation * rival->deviation))
        return NULL;
    return rival->deviation < best->deviation && best->measured - best->times < MOST_FAILURES ? best : rival;
}
