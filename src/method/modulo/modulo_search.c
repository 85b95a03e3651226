/*
 * modulo-search: the least initiation interval, then the shortest schedule at it, with proofs where they
 * can be had. Iterative modulo scheduling with perturbed orders finds schedules; a clause-learning decision
 * procedure (modulo_proof.c) refutes intervals and lengths, or finds what the former missed.
 *
 * Several threads take several questions at once: other intervals and lengths, or the same one by proof, by
 * heuristics and with other seeds. A batch of questions ends when all are answered or their efforts, which
 * are counted and not timed, are spent; answers are taken in a fixed order.
 */
#include "method/hands.h"
#include "method/modulo/modulo_method.h"

#include <assert.h>
#include <stdio.h>

enum { most_threads = 64 };

#define MODULO_SEARCH_OPTIONS(X)                                                                             \
    X(NOISE, "noise", REAL, "0.3", 0, 10, NULL, "perturbation of the priorities, as a share of their range") \
    X(TRIES, "tries", INT, "8", 0, 1e6, NULL, "heuristic attempts per round")                                \
    X(CONFLICTS, "conflicts", INT, "1000", 0, 1e9, NULL,                                                     \
      "conflicts of the exact search in the first round (grows every round; 0: no exact search)")

SKED_I_OPTIONS(MODULO_SEARCH_OPTIONS);

/* What one thread is asked in one batch. */
typedef struct task {
    enum { LOOK, SHORTEN, SETTLE } kind;
    int64_t ii;
    bool orders, exact;     /* LOOK: by which means */
    int64_t bound, length;  /* SHORTEN: proven bound; SETTLE: the length in question */
    sked_i_verdict verdict; /* answer of LOOK and SETTLE */
} task;

typedef struct searcher {
    sked_i_hand hand; /* of a helper */
    sked_i_run *run;
    task task;
    int threads; /* 1: no helpers */
    sked_i_hands helpers;
    const sked_i_loop *loop;
    sked_i_frame *frame;
    sked_i_ims *ims;
    sked_i_rng rng;
    int64_t *lo, *hi, *start; /* [ops] windows and answers of the exact search */
    int64_t *hint;            /* [ops] the best schedule */
    int64_t ii, length;       /* of the best schedule; SKED_I_FAR: none */
    int64_t left;             /* iterations */
    double effort;            /* grows by rounds */
    bool bounded;             /* a horizon or fixed starts narrow the windows */
} searcher;

static bool is_over(const searcher *s)
{
    return s->left <= 0 || sked_i_run_over(s->run);
}

/* The interval in question when the problem leaves none to choose. */
static int64_t given_ii(const searcher *s)
{
    if (!s->loop->pipelined)
        return s->loop->max_ii;
    return s->run->problem->ii > 0 ? (int64_t)s->run->problem->ii : 0;
}

/* Remembers the best the run has. */
static void recall(searcher *s)
{
    if (sked_i_run_incumbent(s->run) == NULL)
        return;
    const sked_schedule *best = sked_i_run_incumbent(s->run);
    s->ii = s->loop->pipelined ? (int64_t)best->ii : s->loop->max_ii;
    s->length = (int64_t)sked_i_schedule_makespan(s->loop->g, best);
    for (int32_t i = 0; i < s->loop->n; i++)
        s->hint[i] = (int64_t)best->start[i];
}

/* Shortens and offers what the engine holds. */
static sked_status offer(searcher *s, sked_error *err)
{
    sked_i_ims_compact(s->ims, true, &s->run->limit);
    if (s->ims->table->failed)
        return sked_i_no_memory(err);
    sked_i_run_evaluated(s->run, 1);
    const sked_status st =
        sked_i_modulo_offer(s->loop, s->run, s->frame->ii, s->ims->start, s->ims->device, err);
    if (st == SKED_OK)
        recall(s);
    return st;
}

/* ------------------------------------------------------------------ heuristic attempts */

/* Perturbed orders within the frame's windows; *found: the engine holds a schedule. */
static sked_status try_orders(searcher *s, bool *found, sked_error *err)
{
    const double *setting = s->run->setting;
    const int64_t budget = (int64_t)fmin(1e15, (2 + 4 * s->effort) * (s->loop->n + 1.0));
    *found = false;
    for (int k = 0; k < (int)setting[OPTION_TRIES] && !is_over(s) && !*found; k++) {
        const int kind = k < 4 ? k : (int)sked_i_rng_below(&s->rng, 4);
        s->left--;
        sked_i_run_evaluated(s->run, 1);
        s->ims->aligned = k < 2 || sked_i_rng_below(&s->rng, 2) == 1;
        sked_i_ims_order(s->ims, s->frame, kind, setting[OPTION_NOISE] * sked_i_rng_uniform(&s->rng),
                         &s->rng);
        *found = sked_i_ims_run(s->ims, s->frame, budget, k % 2 ? &s->rng : NULL, &s->run->limit);
        if (s->ims->table->failed)
            return sked_i_no_memory(err);
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ is an interval possible at all? */

/*
 * Only recurrences tie residues together: between components, whole intervals can always be added. So it
 * is enough to ask for residues with every recurrence in order, each within the times one anchor op leaves
 * it. One anchor stands at 0, since turning a schedule around the interval changes nothing.
 */
static void set_distances(searcher *s, const int32_t *anchor, bool backward, int64_t *at)
{
    const sked_i_loop *loop = s->loop;
    const sked_graph *g = loop->g;
    for (int32_t i = 0; i < loop->n; i++)
        at[i] = anchor[loop->component[i]] == i ? 0 : -SKED_I_FAR;
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t k = 0; k < loop->n; k++) {
            const int32_t i = g->topo[backward ? loop->n - 1 - k : k];
            for (int64_t e = g->succ_ptr[i]; e < g->succ_ptr[i + 1]; e++) {
                const int32_t from = backward ? g->edge_to[e] : i, to = backward ? i : g->edge_to[e];
                if (loop->component[from] != loop->component[to] || at[from] <= -SKED_I_FAR / 2 ||
                    at[from] + s->frame->weight[e] <= at[to])
                    continue;
                at[to] = at[from] + s->frame->weight[e];
                moved = true;
            }
        }
    }
}

/* Windows of the residue question. anchor: [components] scratch. */
static void set_residue_windows(searcher *s, int32_t *anchor)
{
    const sked_i_loop *loop = s->loop;
    int32_t largest = -1;
    for (int32_t i = loop->n; i-- > 0;) {
        const int32_t c = loop->component[i];
        anchor[c] = i;
        if (largest < 0 || loop->component_size[c] >= loop->component_size[largest])
            largest = c;
    }
    set_distances(s, anchor, false, s->lo);
    set_distances(s, anchor, true, s->hi);
    for (int32_t i = 0; i < loop->n; i++)
        s->hi[i] = (loop->component[i] == largest ? 0 : s->frame->ii - 1) - s->hi[i];
}

/* Shifts each component by whole intervals (by any time where it holds no pool) until all edges hold. */
static void unfold(searcher *s, int64_t *start)
{
    const sked_i_loop *loop = s->loop;
    const sked_graph *g = loop->g;
    const int64_t ii = s->frame->ii;
    int64_t *shift = s->lo; /* [components], windows are no longer needed */
    int64_t *unit = s->hi;
    for (int32_t c = 0; c < loop->n_components; c++) {
        shift[c] = -SKED_I_FAR;
        unit[c] = 1;
    }
    for (int32_t i = 0; i < loop->n; i++)
        if (loop->use_ptr[i + 1] > loop->use_ptr[i] || sked_i_loop_on_device(loop, i))
            unit[loop->component[i]] = ii;
    /* Components come in topological order from the last to the first; ops of one need not be together. */
    int64_t *need = shift;
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t k = 0; k < loop->n; k++) {
            const int32_t i = g->topo[k], c = loop->component[i];
            int64_t least = loop->release[i] - start[i];
            for (int64_t j = g->pred_ptr[i]; j < g->pred_ptr[i + 1]; j++) {
                const int32_t from = g->pred_op[j];
                const int64_t e = g->pred_edge[j];
                if (loop->component[from] == c || need[loop->component[from]] <= -SKED_I_FAR / 2)
                    continue;
                const int64_t t = start[from] + need[loop->component[from]] + s->frame->weight[e] - start[i];
                least = t > least ? t : least;
            }
            const int64_t turns = least > 0 ? (least + unit[c] - 1) / unit[c] : -(-least / unit[c]);
            if (turns * unit[c] > need[c]) {
                need[c] = turns * unit[c];
                moved = true;
            }
        }
    }
    for (int32_t i = 0; i < loop->n; i++)
        start[i] += shift[loop->component[i]];
}

/* Asks the exact search about the interval of the frame. FOUND: the engine holds a schedule. */
static sked_status ask_interval(searcher *s, sked_i_verdict *verdict, sked_error *err)
{
    sked_status st = SKED_OK;
    int32_t *anchor = NULL;
    int64_t met = 0;
    SKED_NEW(anchor, s->loop->n_components);
    set_residue_windows(s, anchor);
    const sked_i_modulo_question q = {.ii = s->frame->ii,
                                      .lo = s->lo,
                                      .hi = s->hi,
                                      .weight = s->frame->weight,
                                      .inside = true,
                                      .conflicts = (int64_t)(s->run->setting[OPTION_CONFLICTS] * s->effort),
                                      .seed = sked_i_rng_next(&s->rng)};
    s->left--;
    SKED_TRY(sked_i_modulo_decide(s->loop, &q, &s->run->limit, verdict, s->start, &met, err));
    sked_i_run_evaluated(s->run, met);
    if (*verdict != SKED_I_FOUND)
        goto cleanup;
    unfold(s, s->start);
    *verdict = SKED_I_UNDECIDED;
    for (int32_t i = 0; i < s->loop->n; i++)
        if (s->start[i] > s->frame->hi[i])
            goto cleanup;
    if (sked_i_ims_assign(s->ims, s->frame, s->start))
        *verdict = SKED_I_FOUND;
cleanup:
    free(anchor);
    return st;
}

/* Asks for starts within the frame's windows. FOUND: the engine holds them. */
static sked_status ask_windows(searcher *s, sked_i_verdict *verdict, sked_error *err)
{
    int64_t met = 0;
    const sked_i_modulo_question q = {.ii = s->frame->ii,
                                      .lo = s->frame->lo,
                                      .hi = s->frame->hi,
                                      .weight = s->frame->weight,
                                      .hint =
                                          s->length < SKED_I_FAR && s->ii == s->frame->ii ? s->hint : NULL,
                                      .conflicts = (int64_t)(s->run->setting[OPTION_CONFLICTS] * s->effort),
                                      .seed = sked_i_rng_next(&s->rng)};
    s->left--;
    const sked_status st = sked_i_modulo_decide(s->loop, &q, &s->run->limit, verdict, s->start, &met, err);
    sked_i_run_evaluated(s->run, met);
    if (st == SKED_OK && *verdict == SKED_I_FOUND && !sked_i_ims_assign(s->ims, s->frame, s->start))
        *verdict = SKED_I_UNDECIDED;
    return st;
}

/* One look at one interval. FOUND: the engine holds a schedule. REFUTED: proven that there is none. */
static sked_status look_at(searcher *s, const task *t, sked_i_verdict *verdict, sked_error *err)
{
    bool found = false;
    sked_status st = SKED_OK;
    *verdict = SKED_I_UNDECIDED;
    if (!sked_i_frame_set(s->loop, s->frame, t->ii, SKED_I_FAR)) {
        *verdict = SKED_I_REFUTED;
        return SKED_OK;
    }
    if (t->orders)
        st = try_orders(s, &found, err);
    if (st != SKED_OK)
        return st;
    if (found)
        *verdict = SKED_I_FOUND;
    else if (t->exact && s->run->setting[OPTION_CONFLICTS] > 0 && !sked_i_limit_reached(&s->run->limit))
        st = ask_interval(s, verdict, err);
    if (st == SKED_OK && t->exact && s->bounded && *verdict == SKED_I_UNDECIDED &&
        !sked_i_limit_reached(&s->run->limit))
        st = ask_windows(s, verdict, err);
    return st;
}

/* ------------------------------------------------------------------ questions in batches */

/* Heuristic attempts at something shorter than the best: halves the gap to the bound until that fails. */
static sked_status shorten(searcher *s, int64_t bound, sked_error *err)
{
    sked_status st = SKED_OK;
    int64_t hope = bound; /* nothing below it is tried */
    while (st == SKED_OK && hope < s->length && !is_over(s)) {
        const int64_t target = hope + (s->length - 1 - hope) / 2;
        bool found = false;
        if (sked_i_frame_limit(s->loop, s->frame, target))
            st = try_orders(s, &found, err);
        if (st == SKED_OK && found)
            st = offer(s, err);
        if (!found)
            hope = target + 1;
    }
    return st;
}

/* Is there a schedule of this length? */
static sked_status settle(searcher *s, int64_t length, sked_i_verdict *verdict, sked_error *err)
{
    sked_status st = SKED_OK;
    *verdict = SKED_I_REFUTED;
    if (sked_i_frame_limit(s->loop, s->frame, length))
        st = ask_windows(s, verdict, err);
    if (st == SKED_OK && *verdict == SKED_I_FOUND)
        st = offer(s, err);
    if (st == SKED_OK && *verdict == SKED_I_REFUTED)
        sked_i_modulo_note_frame(s->loop, s->frame, s->run, length + 1);
    return st;
}

static sked_status answer(searcher *s, task *t, sked_error *err)
{
    if (t->kind == LOOK) {
        const sked_status st = look_at(s, t, &t->verdict, err);
        return st == SKED_OK && t->verdict == SKED_I_FOUND ? offer(s, err) : st;
    }
    if (s->frame->ii != t->ii && !sked_i_frame_set(s->loop, s->frame, t->ii, SKED_I_FAR))
        return SKED_OK;
    return t->kind == SHORTEN ? shorten(s, t->bound, err) : settle(s, t->length, &t->verdict, err);
}

static sked_status work(sked_i_hand *hand, sked_error *err)
{
    searcher *s = (searcher *)hand;
    recall(s);
    s->task.verdict = SKED_I_UNDECIDED;
    return is_over(s) ? SKED_OK : answer(s, &s->task, err);
}

/* Answers tasks 0 .. threads - 1, in place. */
static sked_status answer_all(searcher *s, task *tasks, sked_error *err)
{
    assert(s->threads >= 1 && s->threads <= most_threads);
    if (s->threads == 1)
        return answer(s, tasks, err);
    for (int k = 0; k < s->threads; k++) {
        searcher *h = (searcher *)s->helpers.hand[k];
        h->task = tasks[k];
        h->effort = s->effort;
        h->left = s->left / s->threads + (k < s->left % s->threads);
    }
    const int64_t left = s->left;
    const sked_status st = sked_i_hands_work(&s->helpers, s->threads, work, err);
    s->left = 0;
    for (int k = 0; k < s->threads; k++) {
        const searcher *h = (const searcher *)s->helpers.hand[k];
        tasks[k] = h->task;
        s->left += h->left;
    }
    s->left = left == INT64_MAX ? left : s->left;
    recall(s);
    return st;
}

/*
 * Looks at `count` intervals from `first` on, verdict: [count]. Threads beyond their number double up: the
 * first two on an interval are its proof and the heuristics, and so on with other seeds.
 */
static sked_status look_at_all(searcher *s, int64_t first, int64_t count, sked_i_verdict *verdict,
                               sked_error *err)
{
    task tasks[most_threads];
    const bool proves = s->run->setting[OPTION_CONFLICTS] > 0;
    for (int k = 0; k < s->threads; k++) {
        const int64_t at = k % count, turn = k / count;
        const bool alone = at + count >= s->threads;
        tasks[k] = (task){.kind = LOOK, .ii = first + at};
        tasks[k].exact = alone || turn % 2 == 0;
        tasks[k].orders = alone || turn % 2 == 1 || !proves;
        verdict[at] = SKED_I_UNDECIDED;
    }
    const sked_status st = answer_all(s, tasks, err);
    for (int k = 0; k < s->threads; k++)
        if (tasks[k].verdict != SKED_I_UNDECIDED)
            verdict[k % count] = tasks[k].verdict;
    return st;
}

/* ------------------------------------------------------------------ the least interval */

/*
 * A given interval is refuted: looks for the least one above it that works, for the message. Only those
 * right above are tried; the first that is not refuted is worth naming only if it has a schedule.
 */
static sked_status refuse_interval(searcher *s, sked_error *err)
{
    enum { above = 16 };
    const int64_t given = given_ii(s);
    char hint[80] = "";
    for (int64_t ii = given + 1; ii <= given + above && !sked_i_limit_reached(&s->run->limit); ii++) {
        sked_i_verdict verdict;
        const task t = {.ii = ii, .orders = true, .exact = true};
        const sked_status st = look_at(s, &t, &verdict, err);
        if (st != SKED_OK)
            return st;
        if (verdict == SKED_I_FOUND)
            snprintf(hint, sizeof hint, "; an interval of %lld would do", (long long)ii);
        if (verdict == SKED_I_FOUND)
            break;
    }
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "the search proved that no schedule has an initiation interval of %lld%s%s",
                       (long long)given, s->bounded ? " within the horizon and the fixed starts" : "", hint);
}

static sked_status refuse_horizon(const searcher *s, sked_error *err)
{
    return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                       "the search proved that no schedule finishes by the horizon of %g%s, at whatever "
                       "interval; a later horizon may help",
                       s->run->problem->horizon,
                       s->run->problem->fix_start ? " with these fixed starts" : "");
}

/* A first schedule at the one interval there is, with growing effort until it is found or refuted. */
static sked_status find_first(searcher *s, int64_t ii, sked_error *err)
{
    for (s->effort = 1; s->length == SKED_I_FAR && !is_over(s); s->effort *= 2) {
        sked_i_verdict verdict;
        const sked_status st = look_at_all(s, ii, 1, &verdict, err);
        if (st != SKED_OK)
            return st;
        if (verdict == SKED_I_REFUTED)
            return s->loop->pipelined && s->run->problem->ii > 0 ? refuse_interval(s, err)
                                                                 : refuse_horizon(s, err);
        sked_i_run_progress(s->run, "first schedule");
    }
    return SKED_OK;
}

/*
 * No interval given, and the list method found nothing, so a horizon or fixed starts are in the way: if any
 * interval works, the largest one does.
 */
static sked_status find_any(searcher *s, sked_error *err)
{
    return s->length < SKED_I_FAR ? SKED_OK : find_first(s, s->loop->max_ii, err);
}

/* Half of the time or of the iterations is gone; without either limit, effort has grown far. */
static bool half_spent(const searcher *s)
{
    const int64_t all = s->run->options->iterations;
    const double share = sked_i_limit_share(&s->run->limit);
    return all > 0 && s->left < all / 2 ? true : isnan(share) ? s->effort >= 256 : share > 0.5;
}

/* Intervals below the best, in rounds of growing effort, until all are refuted or half the time is gone. */
static sked_status search_interval(searcher *s, sked_error *err)
{
    enum { at_once = 8 };
    int64_t bound = s->loop->min_ii; /* proven */
    for (s->effort = 1; bound < s->ii && !is_over(s); s->effort *= 2) {
        bool all_refuted = true, found = false;
        int64_t count = 1;
        for (int64_t ii = bound; ii < s->ii && ii < bound + at_once && !found && !is_over(s); ii += count) {
            sked_i_verdict verdict[at_once];
            count = ii + s->threads < s->ii ? s->threads : s->ii - ii;
            count = ii + count < bound + at_once ? count : bound + at_once - ii;
            const sked_status st = look_at_all(s, ii, count, verdict, err);
            if (st != SKED_OK)
                return st;
            for (int64_t k = 0; k < count; k++) {
                all_refuted = all_refuted && verdict[k] == SKED_I_REFUTED;
                if (all_refuted)
                    bound = ii + k + 1;
                found = found || verdict[k] == SKED_I_FOUND;
            }
        }
        if (s->run->problem->objective == SKED_OBJECTIVE_II)
            sked_i_run_raise_bound(s->run, (double)bound);
        else if (s->run->problem->ii == SKED_II_AUTO)
            sked_i_run_raise_interval(s->run, (double)bound);
        sked_i_run_progress(s->run, "initiation interval");
        if (sked_i_run_incumbent(s->run) != NULL && half_spent(s))
            break;
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ the shortest schedule at one interval */

enum { AT_HEURISTICS, AT_LOW, AT_HIGH, AT_MIDDLE, n_lengths };

/* The next question of a round; false: it has no point. */
static bool ask_next(const searcher *s, int which, int64_t bound, task *t)
{
    t->kind = which == AT_HEURISTICS ? SHORTEN : SETTLE;
    t->bound = bound;
    t->length = which == AT_LOW ? bound : which == AT_HIGH ? s->length - 1 : bound + (s->length - bound) / 2;
    if (which == AT_HEURISTICS)
        return true;
    return s->run->setting[OPTION_CONFLICTS] > 0 && (which == AT_LOW || bound + 1 < s->length);
}

/* One batch of a round's questions from *next on; threads left over try more heuristics. */
static sked_status ask_lengths(searcher *s, int64_t ii, int *next, int64_t *bound, sked_error *err)
{
    task tasks[most_threads];
    int count = 0;
    for (; *next < n_lengths && count < s->threads; ++*next) {
        tasks[count] = (task){.ii = ii};
        count += ask_next(s, *next, *bound, &tasks[count]);
    }
    if (count == 0)
        return SKED_OK;
    for (; count < s->threads; count++)
        tasks[count] = (task){.kind = SHORTEN, .ii = ii, .bound = *bound};
    const sked_status st = answer_all(s, tasks, err);
    for (int k = 0; k < s->threads; k++)
        if (tasks[k].kind == SETTLE && tasks[k].verdict == SKED_I_REFUTED && tasks[k].length >= *bound)
            *bound = tasks[k].length + 1;
    return st;
}

/* Lengths between the bound and the best: from below, in the middle, just below the best, in rounds. */
static sked_status search_length(searcher *s, int64_t ii, sked_error *err)
{
    sked_status st = SKED_OK;
    if (!sked_i_frame_set(s->loop, s->frame, ii, SKED_I_FAR))
        return SKED_OK;
    int64_t bound;
    st = sked_i_frame_length(s->loop, s->frame, &bound, err);
    if (st != SKED_OK)
        return st;
    sked_i_modulo_note_frame(s->loop, s->frame, s->run, bound);
    for (s->effort = 1; st == SKED_OK && bound < s->length && !is_over(s); s->effort *= 1.5) {
        for (int next = 0; st == SKED_OK && next < n_lengths && bound < s->length && !is_over(s);)
            st = ask_lengths(s, ii, &next, &bound, err);
        sked_i_run_progress(s->run, "schedule length");
    }
    if (bound >= s->length && s->run->problem->objective != SKED_OBJECTIVE_II && given_ii(s) > 0)
        sked_i_run_prove(s->run);
    return st;
}

/* More schedules at the best interval for those who asked for several: perturbed orders, a little longer. */
static sked_status collect(searcher *s, sked_error *err)
{
    sked_status st = SKED_OK;
    int64_t tries = 100 + 50 * (int64_t)sked_i_run_wanted(s->run);
    if (s->length >= SKED_I_FAR || !sked_i_frame_set(s->loop, s->frame, s->ii, SKED_I_FAR))
        return SKED_OK;
    for (; tries > 0 && sked_i_run_count(s->run) < sked_i_run_wanted(s->run) && !is_over(s) && st == SKED_OK;
         tries--) {
        bool found = false;
        st = try_orders(s, &found, err);
        if (st == SKED_OK && found)
            st = offer(s, err);
    }
    return st;
}

/* ------------------------------------------------------------------ the run */

/* Offers the schedule to start from where it is valid for this problem. */
static sked_status take_start(searcher *s, sked_error *err)
{
    const sked_schedule *start = s->run->options->start;
    if (start == NULL)
        return SKED_OK;
    sked_error why = {0};
    const sked_status st = sked_i_run_offer_start(s->run, &why);
    if (st == SKED_ERR_INVALID) {
        sked_i_run_note(s->run, "the start schedule breaks a rule and was not used");
        return SKED_OK;
    }
    if (st != SKED_OK)
        return sked_i_fail(err, st, "%s", why.message);
    for (int32_t i = 0; i < s->loop->n; i++)
        if (start->start[i] != floor(start->start[i]))
            return SKED_OK; /* good as it is, but not a base for whole times */
    recall(s);
    return SKED_OK;
}

static sked_status search_all(searcher *s, sked_error *err)
{
    sked_status st = take_start(s, err);
    const int64_t given = given_ii(s);
    if (s->loop->pipelined && given > 0 && s->run->problem->objective == SKED_OBJECTIVE_II)
        sked_i_run_raise_bound(s->run, (double)given);
    if (st == SKED_OK && given > 0)
        st = find_first(s, given, err);
    if (st == SKED_OK && given == 0) {
        const sked_i_climb_settings set = {SKED_I_BY_HEIGHT, 8, 4, true};
        st = sked_i_modulo_climb(s->run, s->loop, s->frame, s->ims, &set, err);
        recall(s);
        if (st == SKED_OK)
            st = find_any(s, err);
        if (st == SKED_OK)
            st = search_interval(s, err);
    }
    if (st == SKED_OK && s->length < SKED_I_FAR)
        st = search_length(s, s->ii, err);
    if (st == SKED_OK && sked_i_run_wanted(s->run) > 1)
        st = collect(s, err);
    return st;
}

static void close_searcher(searcher *s)
{
    sked_i_ims_destroy(s->ims);
    sked_i_frame_destroy(s->frame);
    sked_i_arena_free(&s->hand.own); /* the caller's searcher is no hand */
}

static sked_status open_searcher(searcher *s, sked_i_run *run, const sked_i_loop *loop, int index,
                                 sked_error *err)
{
    sked_status st = SKED_OK;
    s->run = run;
    s->loop = loop;
    s->threads = 1;
    s->ii = s->length = SKED_I_FAR;
    s->bounded = run->problem->horizon < INFINITY || run->problem->fix_start != NULL;
    s->left = run->options->iterations > 0 ? run->options->iterations : INT64_MAX;
    sked_i_rng_seed(&s->rng, run->options->seed, (uint64_t)index);
    SKED_TRY(sked_i_frame_create(loop, &s->frame, err));
    SKED_TRY(sked_i_ims_create(loop, &s->ims, err));
    SKED_OWN(&s->hand.own, s->lo, loop->n);
    SKED_OWN(&s->hand.own, s->hi, loop->n);
    SKED_OWN(&s->hand.own, s->start, loop->n);
    SKED_OWN(&s->hand.own, s->hint, loop->n);
cleanup:
    return st;
}

static sked_status open_helper(sked_i_hand *hand, sked_error *err)
{
    return open_searcher((searcher *)hand, hand->run, hand->hands->owner, hand->index, err);
}

static void close_helper(sked_i_hand *hand)
{
    close_searcher((searcher *)hand);
}

static sked_status run_search(sked_i_run *run, sked_error *err)
{
    sked_status st = SKED_OK;
    const int wanted = run->options->threads, threads = wanted < most_threads ? wanted : most_threads;
    searcher s = {.threads = 1};
    const sked_i_loop *loop = NULL;
    SKED_TRY(sked_i_modulo_loop_of_run(run, &loop, err));
    SKED_TRY(open_searcher(&s, run, loop, 0, err));
    s.helpers = (sked_i_hands){.run = run,
                               .apart = true,
                               .size = sizeof(searcher),
                               .open = open_helper,
                               .close = close_helper,
                               .owner = (void *)loop};
    if (threads > 1)
        SKED_TRY(sked_i_hands_fill(&s.helpers, threads, err));
    s.threads = threads;
    SKED_TRY(search_all(&s, err));
cleanup:
    sked_i_hands_close(&s.helpers);
    close_searcher(&s);
    return st;
}

const sked_i_method sked_i_method_modulo_search = {
    .info = {"modulo-search",
             "pipelined loops: the least interval, then the shortest schedule, with proofs where possible",
             SKED_CAN_DEVICES | SKED_CAN_TRANSFERS | SKED_CAN_RESOURCES | SKED_CAN_LOOPS | SKED_CAN_HORIZON |
                 SKED_CAN_FIX | SKED_CAN_START | SKED_CAN_CANDIDATES | SKED_CAN_ANYTIME | SKED_CAN_EXACT |
                 SKED_CAN_MAKESPAN | SKED_CAN_II,
             options, n_options},
    .run = run_search,
};
