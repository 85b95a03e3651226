#include "engine/pack/tree.h"
#include "engine/pack/skyline.h"

#include <assert.h>
#include <string.h>

enum {
    few = 1024,         /* boxes of a part for which every section is looked at closely */
    failures = 1 << 16, /* remembered */
    steps_per_look = 1 << 18,
    raised = INT32_MAX /* as a rank */
};

/* A part of the boxes, those of some sections, and what was last done about it. */
typedef struct frame {
    sked_i_skyline_mark mark;
    int32_t from, to;    /* open[from..to) */
    int32_t first, last; /* its sections */
    int32_t section;     /* branched on */
    int32_t rank; /* of the box placed there last; raised: none, its floor was raised; -1: nothing yet */
    int32_t rest; /* open[rest..) and sections from next on are to be packed yet */
    int32_t next;
    uint64_t hash;
} frame;

/* Capacities within which no packing has what is above these floors. */
typedef struct failure {
    uint64_t hash;
    int64_t capacity;
} failure;

struct sked_i_tree {
    const sked_i_boxes *x;
    const sked_i_tree_run *run;
    sked_i_skyline sky;
    int32_t *open; /* [n] the boxes of a part stand together */
    frame *frame;
    int64_t n_frames, cap;
    sked_i_arena *arena;
    failure *failed;
    int64_t nodes, steps, next_look;
    bool over;
};

sked_status sked_i_tree_make(const sked_i_boxes *x, sked_i_arena *arena, sked_i_tree **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_tree *t;
    SKED_OWN0(arena, t, 1);
    t->x = x;
    t->arena = arena;
    SKED_OWN(arena, t->open, x->n);
    SKED_OWN0(arena, t->failed, failures);
    SKED_TRY(sked_i_skyline_make(x, arena, &t->sky, err));
    *out = t;
cleanup:
    return st;
}

/* ------------------------------------------------------------------ what is known to fail */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* The open boxes of a part and the floors below them: all that decides whether it can be packed. Not 0. */
static uint64_t hash_part(const sked_i_tree *t, const frame *f)
{
    uint64_t hash = 1;
    for (int32_t q = f->from; q < f->to; q++)
        hash += mix((uint64_t)t->open[q] + 1);
    for (int32_t s = f->first; s < f->last; s++)
        hash = mix(hash + (uint64_t)t->sky.floor[s]) + (uint64_t)s;
    return hash | UINT64_C(1) << 63;
}

static bool is_known(const sked_i_tree *t, uint64_t hash)
{
    const failure *k = &t->failed[hash % failures];
    return k->hash == hash && k->capacity >= t->run->capacity;
}

/* ------------------------------------------------------------------ where to branch */

/* The end of the niche that begins at section s, or s where none does. */
static int32_t end_of_niche(const sked_i_tree *t, const frame *f, int32_t s)
{
    const int64_t *floor = t->sky.floor;
    int32_t end = s + 1;
    while (end < f->last && floor[end] == floor[s])
        end++;
    const bool low = (s == f->first || floor[s - 1] > floor[s]) && (end == f->last || floor[end] > floor[s]);
    return low ? end : s;
}

static bool goes_before(const sked_i_tree *t, int32_t a, int32_t b)
{
    const sked_i_skyline *k = &t->sky;
    if (b < 0)
        return true;
    const int64_t slack_a = k->ceiling - k->floor[a] - k->left[a],
                  slack_b = k->ceiling - k->floor[b] - k->left[b];
    const int32_t answers_a = k->resting[a] + (slack_a > 0), answers_b = k->resting[b] + (slack_b > 0);
    if (answers_a != answers_b)
        return answers_a < answers_b;
    if (t->run->rule == SKED_I_TREE_LOWEST && k->floor[a] != k->floor[b])
        return k->floor[a] < k->floor[b];
    return slack_a < slack_b;
}

static int32_t choose_section(const sked_i_tree *t, const frame *f)
{
    int32_t best = -1;
    for (int32_t s = f->first; s < f->last; s++)
        for (const int32_t end = end_of_niche(t, f, s); s < end; s++)
            if (goes_before(t, s, best))
                best = s;
    return best;
}

/* Where nothing that rests over the section is next there: the lowest floor it can have. INT64_MAX: none. */
static int64_t next_floor(const sked_i_tree *t, const frame *f)
{
    const sked_i_skyline *k = &t->sky;
    const int64_t floor = k->floor[f->section];
    sked_i_box niche = {.first = f->section, .last = f->section + 1};
    int64_t next = INT64_MAX;
    while (niche.first > f->first && k->floor[niche.first - 1] == floor)
        niche.first--;
    while (niche.last < f->last && k->floor[niche.last] == floor)
        niche.last++;
    for (int32_t q = f->from; q < f->to; q++) {
        const sked_i_box *b = &t->x->box[t->open[q]];
        const int64_t least = k->least[t->open[q]];
        if (b->first <= f->section && f->section < b->last) {
            if (least > floor && least < next)
                next = least;
        } else if (least + b->room < next && sked_i_boxes_meet(b, &niche)) {
            next = least + b->room;
        }
    }
    return next;
}

/* ------------------------------------------------------------------ the search */

/* NULL: no memory. */
static frame *enter(sked_i_tree *t, const frame *part)
{
    if (!SKED_OWN_GROW(t->arena, t->frame, t->cap, t->n_frames + 1)) {
        t->over = true;
        return NULL;
    }
    t->frame[t->n_frames] = *part;
    return &t->frame[t->n_frames++];
}

/* A part with boxes: whether it may have a packing. */
static bool begin(sked_i_tree *t, frame *f)
{
    const int32_t n = f->to - f->from;
    t->steps += n + (f->last - f->first);
    f->mark = sked_i_skyline_now(&t->sky);
    f->rank = -1;
    f->hash = n <= few ? hash_part(t, f) : 0;
    if (n <= few &&
        (!sked_i_skyline_fits(&t->sky, t->open + f->from, n, f->first, f->last) || is_known(t, f->hash)))
        return false;
    f->section = choose_section(t, f);
    return true;
}

/* The box with the next rank among those that rest over the section; open[..] index, -1: none. */
static int32_t next_box(const sked_i_tree *t, const frame *f)
{
    const sked_i_skyline *k = &t->sky;
    int32_t best = -1;
    for (int32_t q = f->from; q < f->to; q++) {
        const int32_t box = t->open[q], rank = t->run->rank[box];
        const sked_i_box *b = &t->x->box[box];
        if (k->least[box] == k->floor[f->section] && b->first <= f->section && f->section < b->last &&
            rank > f->rank && (best < 0 || rank < t->run->rank[t->open[best]]))
            best = q;
    }
    return best;
}

/* Places the next box of the part. false: there is none. */
static bool place_next(sked_i_tree *t, frame *f, bool *fits)
{
    const int32_t at = next_box(t, f), last = f->to - 1;
    if (at < 0)
        return false;
    const int32_t box = t->open[at];
    t->open[at] = t->open[last];
    t->open[last] = box;
    f->rank = t->run->rank[box];
    *fits = sked_i_skyline_place(&t->sky, box, t->open + f->from, last - f->from);
    return true;
}

/* The same for no box at all, which comes after them. */
static bool raise_floor(sked_i_tree *t, frame *f, bool *fits)
{
    const sked_i_skyline *k = &t->sky;
    if (f->rank == raised)
        return false;
    const int64_t next = next_floor(t, f);
    f->rank = raised;
    if (next == INT64_MAX || next > k->ceiling - k->left[f->section])
        return false;
    *fits = sked_i_skyline_raise(&t->sky, f->section, next, t->open + f->from, f->to - f->from);
    return true;
}

/* The next answer for the part that does not fail at once. false: there is none. */
static bool answer(sked_i_tree *t, frame *f)
{
    bool fits = false;
    while (!fits) {
        sked_i_skyline_undo(&t->sky, f->mark);
        if (!place_next(t, f, &fits) && !raise_floor(t, f, &fits))
            return false;
        t->steps += f->to - f->from;
        if (t->sky.full || (!fits && t->run->dive))
            t->over = true;
        if (t->over)
            return false;
    }
    f->rest = f->from;
    f->next = f->first;
    return true;
}

/* The boxes of open[from..to) that are held before `section` go first; where the others begin. */
static int32_t split(sked_i_tree *t, int32_t from, int32_t to, int32_t section)
{
    for (int32_t q = from; q < to; q++)
        if (t->x->box[t->open[q]].first < section) {
            const int32_t box = t->open[q];
            t->open[q] = t->open[from];
            t->open[from++] = box;
        }
    return from;
}

/* The next of the parts into which the open boxes of f fall. false: all were packed. */
static bool next_part(sked_i_tree *t, frame *f, frame *part)
{
    const sked_i_skyline *k = &t->sky;
    const int32_t to = f->to - (f->rank != raised);
    if (f->rest == to)
        return false;
    while (k->left[f->next] == 0)
        f->next++;
    *part = (frame){.from = f->rest, .to = to, .first = f->next, .last = f->next + 1};
    while (part->last < f->last && k->crossing[part->last] > 0)
        part->last++;
    if (part->last < f->last)
        part->to = split(t, part->from, to, part->last);
    f->rest = part->to;
    f->next = part->last;
    return true;
}

/* Whether the search must end before the next node. */
static bool is_over(sked_i_tree *t)
{
    t->over = t->over || t->sky.full || t->nodes++ >= t->run->nodes;
    if (t->steps >= t->next_look) {
        t->next_look = t->steps + steps_per_look;
        t->over = t->over || sked_i_limit_heard(t->run->limit);
    }
    return t->over;
}

/* The last part has no answer any more: what it was begun for failed. */
static void give_up(sked_i_tree *t, const frame *f)
{
    if (!t->over && f->hash != 0)
        t->failed[f->hash % failures] = (failure){.hash = f->hash, .capacity = t->run->capacity};
    t->n_frames--;
}

/* Goes down while the last answer fits, and takes the next one where it does not. */
static sked_i_tree_verdict search(sked_i_tree *t)
{
    bool fits = true;
    while (t->n_frames > 0 && !is_over(t)) {
        frame *f = &t->frame[t->n_frames - 1], part;
        if (fits && !next_part(t, f, &part)) {
            t->n_frames--;
            continue;
        }
        if (fits && (fits = begin(t, &part)) && (f = enter(t, &part)) == NULL)
            break;
        t->over = t->over || (!fits && t->run->dive);
        fits = answer(t, f);
        if (!fits)
            give_up(t, f);
    }
    if (t->over)
        return SKED_I_TREE_OPEN;
    return fits ? SKED_I_TREE_PACKED : SKED_I_TREE_NONE;
}

sked_i_tree_verdict sked_i_tree_search(sked_i_tree *t, const sked_i_tree_run *run, int64_t *offset)
{
    const frame all = {.to = t->x->n, .last = t->x->sections, .rank = raised};
    t->run = run;
    t->over = false;
    t->nodes = t->steps = t->next_look = 0;
    t->n_frames = 0;
    for (int32_t i = 0; i < t->x->n; i++)
        t->open[i] = i;
    if (!sked_i_skyline_clear(&t->sky, run->capacity, !run->dive, t->open))
        return SKED_I_TREE_NONE;
    if (enter(t, &all) == NULL)
        return SKED_I_TREE_OPEN;
    const sked_i_tree_verdict verdict = search(t);
    if (verdict == SKED_I_TREE_PACKED)
        memcpy(offset, t->sky.least, (size_t)t->x->n * sizeof *offset);
    return verdict;
}
