/* The table of methods and the driver that runs, judges and ranks. */
#include "method/method.h"

#include "base/sized.h"
#include "base/text.h"
#include "method/table.h"

#include <stdio.h>
#include <string.h>

#define SKED_X(name) extern const sked_i_method sked_i_method_##name;
SKED_METHOD_LIST(SKED_X)
#undef SKED_X

static const sked_i_method *const methods[] = {
#define SKED_X(name) &sked_i_method_##name,
    SKED_METHOD_LIST(SKED_X)
#undef SKED_X
};
enum { n_methods = sizeof methods / sizeof *methods, max_settings = 64 };

int sked_method_count(void)
{
    return n_methods;
}

const sked_method_info *sked_method_at(int i)
{
    return i >= 0 && i < n_methods ? &methods[i]->info : NULL;
}

static const sked_i_method *find(const char *name)
{
    for (int i = 0; i < n_methods; i++)
        if (strcmp(methods[i]->info.name, name) == 0)
            return methods[i];
    return NULL;
}

const sked_method_info *sked_method_find(const char *name)
{
    const sked_i_method *m = find(name);
    return m ? &m->info : NULL;
}

void sked_run_options_init_sized(sked_run_options *opt, size_t size)
{
    const sked_run_options preset = {.threads = 1, .time_limit = 5};
    sked_i_sized_init(opt, size, &preset, sizeof preset);
}

static sked_status unknown_method(const char *name, sked_error *err)
{
    const char *names[n_methods + 1] = {NULL};
    char hint[120];
    for (int i = 0; i < n_methods; i++)
        names[i] = methods[i]->info.name;
    return sked_i_fail(err, SKED_ERR_ARGUMENT, "no method is called '%s'%s; see `sked methods`", name,
                       sked_i_suggest(name, names, n_methods, hint, sizeof hint));
}

/* What the problem and the options ask of a method. */
static uint32_t needed_features(const sked_problem *p, const sked_run_options *opt)
{
    static const uint32_t objective[] = {
#define SKED_X(name, text, help) SKED_CAN_##name,
        SKED_OBJECTIVE_LIST(SKED_X)
#undef SKED_X
    };
    uint32_t need = objective[p->objective];
    need |= p->devices > 0 ? SKED_CAN_DEVICES : 0;
    need |= sked_i_has_transfers(p) ? SKED_CAN_TRANSFERS : 0;
    need |= p->ii != 0 || p->objective == SKED_OBJECTIVE_II ? SKED_CAN_LOOPS : 0;
    need |= p->horizon < INFINITY ? SKED_CAN_HORIZON : 0;
    need |= opt->start != NULL ? SKED_CAN_START : 0;
    need |= p->fix_device != NULL || p->fix_start != NULL ? SKED_CAN_FIX : 0;
    need |= opt->candidates > 1 ? SKED_CAN_CANDIDATES : 0;
    need |= opt->record != NULL ? SKED_CAN_RECORD : 0;
    for (int32_t r = 0; r < p->graph->n_resources; r++)
        need |= sked_i_capacity(p, r) < INFINITY ? SKED_CAN_RESOURCES : 0;
    return need;
}

static sked_status check_features(const sked_i_method *m, const sked_problem *p, const sked_run_options *opt,
                                  sked_error *err)
{
    const uint32_t missing = needed_features(p, opt) & ~m->info.features;
#define SKED_X(id, bit, text)                                                                          \
    if (missing & SKED_CAN_##id)                                                                       \
        return sked_i_fail(err, SKED_ERR_UNSUPPORTED,                                                  \
                           "method '%s' does not take %s; `sked methods` says which do", m->info.name, \
                           text);
    SKED_FEATURE_LIST(SKED_X)
#undef SKED_X
    return SKED_OK;
}

double sked_i_run_best(const sked_i_run *run)
{
    return run->n_kept > 0 ? run->key[0][0] : INFINITY;
}

void sked_i_run_raise_bound(sked_i_run *run, double bound)
{
    if (bound > run->bound)
        run->bound = bound;
}

/* The interval is free and not the objective: the smallest one comes first, then the objective. */
static bool interval_first(const sked_problem *p)
{
    return p->ii == SKED_II_AUTO && p->objective != SKED_OBJECTIVE_II;
}

/* What ranks a schedule: interval where that comes first, objective, tie-break. */
typedef struct rank {
    double by[3];
} rank;

static rank rank_of(const sked_problem *p, const sked_schedule *s, const double key[2])
{
    return (rank){{interval_first(p) ? s->ii : 0, key[0], key[1]}};
}

static rank best_rank(const sked_i_run *run)
{
    return run->n_kept > 0 ? rank_of(run->problem, run->kept[0], run->key[0])
                           : (rank){{INFINITY, INFINITY, INFINITY}};
}

static bool precedes(rank a, rank b)
{
    int k = 0;
    while (k < 2 && a.by[k] == b.by[k])
        k++;
    return a.by[k] < b.by[k];
}

static bool meets_bound(const sked_i_run *run)
{
    if (run->n_kept == 0 || (interval_first(run->problem) && run->kept[0]->ii > run->least_ii))
        return false;
    const double value = run->key[0][0], slack = run->problem->graph->integral ? 0 : 1e-9 * fabs(value);
    if (!(value <= run->bound + slack))
        return false;
    return run->problem->objective != SKED_OBJECTIVE_II || run->key[0][1] <= run->second_bound;
}

bool sked_i_run_over(const sked_i_run *run)
{
    if (sked_i_limit_reached(&run->limit))
        return true;
    return run->max_kept == 1 && meets_bound(run);
}

void sked_i_run_progress(sked_i_run *run, const char *phase)
{
    if (run->options->progress != NULL)
        run->options->progress(run->options->progress_data, phase, sked_i_limit_share(&run->limit),
                               run->n_kept ? run->key[0][0] : NAN, run->bound);
}

/* Same schedule up to the names of identical devices? */
static bool same_schedule(const sked_schedule *a, const sked_schedule *b)
{
    for (int32_t i = 0; i < a->ops; i++)
        if (a->start[i] != b->start[i])
            return false;
    if (a->device == NULL)
        return a->ii == b->ii;
    int32_t there[256], back[256];
    if (a->devices > 256)
        return memcmp(a->device, b->device, (size_t)a->ops * sizeof *a->device) == 0;
    for (int k = 0; k < a->devices; k++)
        there[k] = back[k] = -1;
    for (int32_t i = 0; i < a->ops; i++) {
        const int32_t x = a->device[i], y = b->device[i];
        if (there[x] < 0 && back[y] < 0) {
            there[x] = y;
            back[y] = x;
        }
        if (there[x] != y || back[y] != x)
            return false;
    }
    return a->ii == b->ii;
}

static sked_status judge(sked_i_run *run, const sked_schedule *s, sked_error *err)
{
    sked_error why = {0};
    if (sked_schedule_validate(run->problem, s, &why) != SKED_OK)
        return sked_i_fail(err, why.status == SKED_ERR_MEMORY ? SKED_ERR_MEMORY : SKED_ERR_BUG,
                           "method '%s' made an invalid schedule: %s", run->current, why.message);
    sked_metrics m = {.size = sizeof m};
    sked_status st = sked_schedule_measure(run->problem, s, &m, err);
    if (st != SKED_OK)
        return st;
    const double key[2] = {m.value, m.makespan};
    const rank own = rank_of(run->problem, s, key);
    int32_t k = run->n_kept;
    while (k > 0 && precedes(own, rank_of(run->problem, run->kept[k - 1], run->key[k - 1])))
        k--;
    if (k == run->max_kept)
        return SKED_OK;
    for (int32_t j = k - 1; j >= 0 && run->key[j][0] == key[0] && run->key[j][1] == key[1]; j--)
        if (same_schedule(run->kept[j], s))
            return SKED_OK;
    sked_schedule *copy = NULL;
    if ((st = sked_schedule_clone(s, &copy, err)) != SKED_OK)
        return st;
    if (run->n_kept == run->max_kept)
        sked_schedule_destroy(run->kept[--run->n_kept]);
    memmove(run->kept + k + 1, run->kept + k, (size_t)(run->n_kept - k) * sizeof *run->kept);
    memmove(run->key + k + 1, run->key + k, (size_t)(run->n_kept - k) * sizeof *run->key);
    run->kept[k] = copy;
    run->key[k][0] = key[0];
    run->key[k][1] = key[1];
    run->n_kept++;
    return SKED_OK;
}

sked_status sked_i_run_offer(sked_i_run *run, const sked_schedule *s, sked_error *err)
{
    const double begin = sked_clock();
    const sked_status st = judge(run, s, err);
    run->judging += sked_clock() - begin;
    return st;
}

/* ------------------------------------------------------------------ parts of a run, for threads */

/* The second bound belongs to the first: at a higher first one, only that of the giver holds. */
static void take_bounds(sked_i_run *run, const sked_i_run *from)
{
    if (from->bound > run->bound)
        run->second_bound = from->second_bound;
    else if (from->bound == run->bound)
        run->second_bound = fmax(run->second_bound, from->second_bound);
    sked_i_run_raise_bound(run, from->bound);
    run->least_ii = fmax(run->least_ii, from->least_ii);
}

sked_status sked_i_share_tell(sked_i_share *share, const sked_i_run *run, sked_error *err)
{
    take_bounds(&share->run, run);
    return precedes(best_rank(run), best_rank(&share->run)) ? sked_i_run_offer(&share->run, run->kept[0], err)
                                                            : SKED_OK;
}

sked_status sked_i_share_open(const sked_i_run *run, sked_i_share *share, sked_error *err)
{
    sked_status st = SKED_OK;
    *share = (sked_i_share){.run = {.problem = run->problem,
                                    .setting = run->setting,
                                    .settings = run->settings,
                                    .limit = run->limit,
                                    .bound = run->bound,
                                    .second_bound = run->second_bound,
                                    .least_ii = run->least_ii,
                                    .max_kept = run->max_kept,
                                    .current = run->current},
                            .options = *run->options};
    share->options.threads = 1;
    share->options.progress = NULL;
    share->run.options = &share->options;
    memcpy(share->run.won, run->won, sizeof run->won);
    SKED_NEW(share->run.kept, run->max_kept + 1);
    SKED_NEW(share->run.key, run->max_kept + 1);
    SKED_TRY(sked_i_share_tell(share, run, err));
cleanup:
    return st;
}

sked_status sked_i_share_join(sked_i_share *share, sked_i_run *run, sked_error *err)
{
    sked_i_run *from = &share->run;
    sked_status st = SKED_OK;
    const bool better = precedes(best_rank(from), best_rank(run));
    if (better && from->winner[0] != 0) {
        memcpy(run->winner, from->winner, sizeof run->winner);
        memcpy(run->won, from->won, sizeof run->won);
    }
    if (run->max_kept > 1 || better)
        for (int32_t k = 0; k < from->n_kept; k++)
            SKED_TRY(sked_i_run_offer(run, from->kept[k], err));
    take_bounds(run, from);
    run->evaluations += from->evaluations;
    run->exhausted = run->exhausted || from->exhausted;
    from->evaluations = 0;
cleanup:
    return st;
}

static void drop_kept(sked_i_run *run)
{
    for (int32_t k = 0; k < run->n_kept; k++)
        sked_schedule_destroy(run->kept[k]);
    free(run->kept);
    free(run->key);
    run->kept = NULL;
    run->key = NULL;
    run->n_kept = 0;
}

void sked_i_share_close(sked_i_share *share)
{
    drop_kept(&share->run);
}

/* ------------------------------------------------------------------ running */

static sked_status run_method(const sked_i_method *m, sked_i_run *run, const char *const *settings,
                              int n_settings, sked_error *err)
{
    double values[max_settings];
    sked_status st = sked_i_options_parse(m->info.name, m->info.options, m->info.n_options, settings,
                                          n_settings, values, err);
    if (st != SKED_OK)
        return st;
    const char *outer = run->current;
    run->current = m->info.name;
    run->setting = values;
    run->settings = settings;
    st = m->run(run, err);
    run->current = outer;
    rank won;
    const rank best = best_rank(run);
    memcpy(won.by, run->won, sizeof won.by);
    if (precedes(best, won)) { /* members inside have named themselves for what is theirs */
        snprintf(run->winner, sizeof run->winner, "%s", m->info.name);
        memcpy(run->won, best.by, sizeof run->won);
    }
    return st;
}

sked_status sked_i_run_member(sked_i_run *run, const char *method, const char *const *settings,
                              int n_settings, double seconds, sked_error *err)
{
    const sked_i_method *m = find(method);
    if (m == NULL)
        return unknown_method(method, err);
    /* one schedule more is welcome, and a start has been offered already: only the problem itself must fit */
    const sked_run_options plain = {0};
    sked_status st = check_features(m, run->problem, &plain, err);
    if (st != SKED_OK)
        return st;
    const double *outer = run->setting;
    const char *const *outer_settings = run->settings;
    const sked_i_limit limit = run->limit;
    const double until = sked_clock() + seconds;
    if (until < run->limit.deadline)
        run->limit.deadline = until;
    st = run_method(m, run, settings, n_settings, err);
    run->limit = limit;
    run->setting = outer;
    run->settings = outer_settings;
    return st;
}

/* Moves what the run kept into the result, at least min_distance apart, at most `top`. */
static sked_status deliver(sked_i_run *run, sked_result *out, sked_error *err)
{
    const sked_run_options *opt = run->options;
    const int32_t top = opt->top > 0 && opt->top < run->n_kept ? opt->top : run->n_kept;
    sked_schedule **chosen = sked_i_alloc(top, sizeof *chosen);
    if (chosen == NULL)
        return sked_i_no_memory(err);
    int32_t count = 0;
    for (int32_t i = 0; i < run->n_kept && count < top; i++) {
        bool apart = true;
        for (int32_t j = 0; apart && opt->min_distance > 0 && j < count; j++) {
            const sked_schedule *pair[2] = {chosen[j], run->kept[i]};
            sked_diversity d = {.size = sizeof d};
            const sked_status st = sked_schedules_diversity(run->problem, pair, 2, &d, err);
            if (st != SKED_OK) {
                free(chosen);
                return st;
            }
            apart = d.ged >= opt->min_distance;
        }
        if (apart)
            chosen[count++] = run->kept[i];
    }
    for (int32_t i = 0, j = 0; i < run->n_kept; i++) {
        if (j < count && run->kept[i] == chosen[j])
            j++;
        else
            sked_schedule_destroy(run->kept[i]);
    }
    run->n_kept = 0;
    out->schedule = chosen;
    out->count = count;
    return SKED_OK;
}

static sked_status finish(const sked_i_method *m, sked_i_run *run, double begin, sked_result *out,
                          sked_error *err)
{
    if (run->n_kept == 0) {
        if (sked_i_limit_reached(&run->limit))
            return sked_i_fail(err, SKED_ERR_STOPPED, "stopped before '%s' had a first schedule",
                               m->info.name);
        return sked_i_fail(err, SKED_ERR_INFEASIBLE,
                           "method '%s' found no schedule that keeps all limits (not a proof)", m->info.name);
    }
    sked_result r = {.value = run->key[0][0], .lower_bound = run->bound, .evaluations = run->evaluations};
    r.optimal = run->exhausted || meets_bound(run);
    if (run->exhausted && run->problem->objective != SKED_OBJECTIVE_II)
        r.lower_bound = r.value;
    snprintf(r.method, sizeof r.method, "%s", run->winner[0] ? run->winner : m->info.name);
    snprintf(r.note, sizeof r.note, "%s", run->note);
    sked_status st = SKED_OK;
    if (run->recording != NULL)
        st = sked_i_recording_write(run->recording, run->options->record, &r.recorded, err);
    if (st == SKED_OK)
        st = deliver(run, &r, err);
    if (st != SKED_OK)
        return st;
    r.seconds = sked_clock() - begin;
    r.build_seconds = run->build_seconds;
    SKED_GIVE(out, r);
    return SKED_OK;
}

sked_status sked_method_run(const char *method, const sked_problem *p, const sked_run_options *opt,
                            sked_result *out, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    SKED_TAKE(sked_run_options, opt)
    SKED_CHECK_OUTPUT(sked_result, out);
    const sked_i_method *m = find(method);
    if (m == NULL)
        return unknown_method(method, err);
    const double begin = sked_clock();
    sked_i_run run = {
        .problem = p, .options = opt, .second_bound = -INFINITY, .won = {INFINITY, INFINITY, INFINITY}};
    sked_i_limit_init(&run.limit, opt);
    run.max_kept = opt->candidates > 1 ? opt->candidates : 1;
    sked_status st = SKED_OK;
    SKED_TRY(sked_problem_check(p, err));
    SKED_TRY(check_features(m, p, opt, err));
    if (opt->record != NULL)
        SKED_TRY(sked_i_recording_create(opt->record, p, &run.recording, err));
    SKED_NEW(run.kept, run.max_kept + 1);
    SKED_NEW(run.key, run.max_kept + 1);
    SKED_TRY(sked_problem_bound(p, &run.bound, NULL, err));
    if (interval_first(p)) {
        sked_i_min_ii least = {0};
        SKED_TRY(sked_i_problem_min_ii(p, &least, err));
        run.least_ii = fmax(least.recurrence, least.resource);
    }
    const double called = sked_clock();
    st = run_method(m, &run, opt->settings, opt->n_settings, err);
    run.build_seconds = sked_clock() - called - run.judging;
    if (st == SKED_OK || (st == SKED_ERR_STOPPED && run.n_kept > 0))
        st = finish(m, &run, begin, out, err);
cleanup:
    drop_kept(&run);
    sked_i_recording_destroy(run.recording);
    return st;
}

void sked_result_clear(sked_result *r)
{
    for (int32_t i = 0; i < r->count; i++)
        sked_schedule_destroy(r->schedule[i]);
    free(r->schedule);
    const sked_result empty = {0};
    SKED_GIVE(r, empty);
}
