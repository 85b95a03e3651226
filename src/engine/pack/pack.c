#include "engine/pack/pack.h"
#include "base/explog.h"
#include "base/restart.h"
#include "base/sort.h"
#include "base/thread.h"
#include "engine/pack/first_fit.h"
#include "engine/pack/tree.h"

#include <assert.h>
#include <string.h>

enum {
    keys = 3,
    ways = keys * SKED_I_TREE_RULES, /* of searching: a key and a rule */
    first_nodes = 10,                /* per box, of the shortest search */
    many = 4096 /* boxes: above, nothing is undone, and first fits take turns with that */
};

typedef struct worker {
    sked_i_arena arena;
    sked_i_tree *tree;
    sked_i_first_fit *fit;
    sked_i_keyed *item, *spare;
    int32_t *rank, *order;
    int64_t *offset;
    sked_i_limit limit;
    volatile sig_atomic_t halt;
    int64_t number; /* of its search */
    int64_t target, height;
    sked_i_tree_verdict verdict;
} worker;

typedef struct packer {
    const sked_i_boxes *x;
    const sked_i_pack_effort *e;
    worker *worker;
    int64_t *load;   /* [n] most over a section of the box */
    bool only_fits;  /* boxes over so many sections that one look at all of them takes too long */
    int64_t *offset; /* [n] of the incumbent */
    int64_t height, bound;
    double share; /* of the way from bound to height, where the next incumbent is sought */
} packer;

/* ------------------------------------------------------------------ first fits */

enum { orders = 4 };

static double first_key(const sked_i_box *b, int kind)
{
    const double length = (double)(b->last - b->first), size = (double)b->size;
    const double key[orders] = {size, length, size * length, size * size * size * length};
    return key[kind];
}

/* Boxes with the largest key first; item has them with their keys. */
static void order_boxes(const packer *p, worker *w)
{
    sked_i_sort_keyed(w->item, w->spare, p->x->n);
    for (int32_t k = 0; k < p->x->n; k++) {
        w->order[k] = (int32_t)w->item[k].value;
        w->rank[w->order[k]] = k;
    }
}

static void keep(packer *p, const worker *w)
{
    p->height = w->height;
    memcpy(p->offset, w->offset, (size_t)p->x->n * sizeof *p->offset);
}

/* The first packings: largest first by one key or another. */
static void pack_in_order(packer *p)
{
    worker *w = &p->worker[0];
    for (int kind = 0; kind < orders && (kind == 0 || !sked_i_limit_heard(&w->limit)); kind++) {
        for (int32_t i = 0; i < p->x->n; i++)
            w->item[i] = (sked_i_keyed){.key = ~sked_i_sort_key(first_key(&p->x->box[i], kind)), .value = i};
        order_boxes(p, w);
        w->height = sked_i_first_fit_run(w->fit, w->order, &w->limit, w->offset);
        if (kind == 0 || w->height < p->height)
            keep(p, w);
        if (w->height < 0)
            break;
    }
}

/* Size to some power times length, a little at random. */
static void fit_at_random(const packer *p, worker *w)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, p->e->seed, (uint64_t)w->number);
    const double power = 4 * sked_i_rng_uniform(&rng);
    for (int32_t i = 0; i < p->x->n; i++) {
        const sked_i_box *b = &p->x->box[i];
        const double key = power * sked_i_log((double)b->size) + sked_i_log((double)(b->last - b->first)) +
                           0.2 * sked_i_rng_uniform(&rng);
        w->item[i] = (sked_i_keyed){.key = ~sked_i_sort_key(key), .value = i};
    }
    order_boxes(p, w);
    w->height = sked_i_first_fit_run(w->fit, w->order, &w->limit, w->offset);
    w->verdict = SKED_I_TREE_PACKED;
}

/* ------------------------------------------------------------------ searches */

static void find_loads(packer *p)
{
    const int64_t most_spans = (int64_t)1 << 27;
    int64_t spans = 0;
    for (int32_t i = 0; i < p->x->n; i++)
        spans += p->x->box[i].last - p->x->box[i].first;
    p->only_fits = spans > most_spans;
    if (p->only_fits)
        return;
    for (int32_t i = 0; i < p->x->n; i++) {
        p->load[i] = 0;
        for (int32_t s = p->x->box[i].first; s < p->x->box[i].last; s++)
            p->load[i] = p->x->load[s] > p->load[i] ? p->x->load[s] : p->load[i];
    }
}

static double key_of(const packer *p, int32_t i, int kind)
{
    const sked_i_box *b = &p->x->box[i];
    const double length = (double)(b->last - b->first) / p->x->sections,
                 size = (double)b->size / (double)p->bound;
    const double key[keys] = {100 * (double)p->load[i] / (double)p->bound + length, length, length * size};
    return key[kind];
}

/* Boxes by key, but for the first searches of each kind a little at random. */
static void rank_boxes(const packer *p, worker *w, int kind, bool blur)
{
    sked_i_rng rng;
    sked_i_rng_seed(&rng, p->e->seed, (uint64_t)w->number);
    for (int32_t i = 0; i < p->x->n; i++) {
        const double factor = blur ? 0.9 + 0.2 * sked_i_rng_uniform(&rng) : 1;
        w->item[i] = (sked_i_keyed){.key = ~sked_i_sort_key(factor * key_of(p, i, kind)), .value = i};
    }
    order_boxes(p, w);
}

static int64_t goal_of(const packer *p)
{
    return p->e->capacity > p->bound ? p->e->capacity : p->bound;
}

static bool is_done(const packer *p)
{
    return p->height <= goal_of(p) || (p->e->capacity >= 0 && p->bound > p->e->capacity);
}

/* Searches at the goal take turns with those for what is a little better than the incumbent. */
static int64_t target_of(const packer *p, int64_t number)
{
    const int64_t unit = p->x->unit, goal = goal_of(p), units = (p->height - goal - 1) / unit;
    if (p->e->capacity >= 0 || number % 2 == 0)
        return goal / unit * unit;
    return goal / unit * unit + (int64_t)((double)units * p->share) * unit;
}

static int64_t height_of(const sked_i_boxes *x, const int64_t *offset)
{
    int64_t height = 0;
    for (int32_t i = 0; i < x->n; i++)
        if (offset[i] + x->box[i].size > height)
            height = offset[i] + x->box[i].size;
    return height;
}

static void search(void *data, int index)
{
    packer *p = data;
    worker *w = &p->worker[index];
    const int64_t turn = p->e->capacity >= 0 ? w->number : w->number / 2;
    const int way = (int)(turn % ways);
    if (p->only_fits || (p->x->n > many && w->number % 2 == 1)) {
        fit_at_random(p, w);
        return;
    }
    rank_boxes(p, w, way % keys, turn >= ways);
    const sked_i_tree_run run = {.capacity = w->target,
                                 .nodes = first_nodes * (int64_t)p->x->n * sked_i_luby(turn / ways),
                                 .dive = p->x->n > many,
                                 .rule = way / keys,
                                 .rank = w->rank,
                                 .limit = &w->limit};
    w->verdict = sked_i_tree_search(w->tree, &run, w->offset);
    if (w->verdict != SKED_I_TREE_PACKED)
        return;
    w->height = height_of(p->x, w->offset);
    for (int k = index + 1; k < p->e->threads && w->height <= goal_of(p); k++)
        sked_i_ask_stop(&p->worker[k].halt);
}

/* What a search found out. true: it is all that was wanted, and what later ones say does not count. */
static bool learn(packer *p, const worker *w)
{
    const int64_t unit = p->x->unit;
    if (w->verdict == SKED_I_TREE_NONE && w->target >= p->bound)
        p->bound = w->target + unit;
    if (w->verdict == SKED_I_TREE_PACKED && w->height < p->height)
        keep(p, w);
    if (w->target > goal_of(p) && w->verdict == SKED_I_TREE_PACKED)
        p->share /= 2;
    else if (w->number % (2 * ways) == 2 * ways - 1)
        p->share = p->share < 0.9 ? (1 + p->share) / 2 : 0.25;
    return is_done(p);
}

static sked_status search_on(packer *p, sked_error *err)
{
    const int threads = p->e->threads;
    int64_t number = 0;
    for (int64_t round = 0; !is_done(p) && (p->e->iterations == 0 || round < p->e->iterations); round++) {
        if (sked_i_limit_heard(p->e->limit))
            break;
        for (int k = 0; k < threads; k++, number++) {
            p->worker[k].number = number;
            p->worker[k].target = target_of(p, number);
            p->worker[k].halt = 0;
        }
        const sked_status st = sked_i_parallel(threads, search, p, err);
        if (st != SKED_OK)
            return st;
        for (int k = 0; k < threads && !learn(p, &p->worker[k]); k++)
            ;
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ the whole */

static sked_status make_worker(const packer *p, worker *w, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = p->x->n;
    SKED_OWN(&w->arena, w->item, n);
    SKED_OWN(&w->arena, w->spare, n);
    SKED_OWN(&w->arena, w->rank, n);
    SKED_OWN(&w->arena, w->order, n);
    SKED_OWN(&w->arena, w->offset, n);
    SKED_TRY(sked_i_tree_make(p->x, &w->arena, &w->tree, err));
    SKED_TRY(sked_i_first_fit_make(p->x, &w->arena, &w->fit, err));
    w->limit = p->e->limit != NULL ? *p->e->limit : (sked_i_limit){.deadline = INFINITY};
    w->limit.halt = &w->halt;
cleanup:
    return st;
}

static sked_status improve(packer *p, sked_i_arena *arena, sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_OWN0(arena, p->worker, p->e->threads);
    SKED_OWN(arena, p->load, p->x->n);
    SKED_OWN(arena, p->offset, p->x->n);
    for (int k = 0; k < p->e->threads; k++)
        SKED_TRY(make_worker(p, &p->worker[k], err));
    pack_in_order(p);
    if (p->height < 0 || is_done(p) || p->e->iterations == SKED_I_PACK_FIRST_FITS)
        goto cleanup;
    find_loads(p);
    SKED_TRY(search_on(p, err));
cleanup:
    for (int k = 0; k < p->e->threads && p->worker != NULL; k++)
        sked_i_arena_free(&p->worker[k].arena);
    return st;
}

/* What has size 0 lies at 0, or where it is fixed. */
static void hand_over(const sked_i_pack_buffers *b, const packer *p, int64_t *offset, sked_i_packing *out)
{
    int64_t height = p->height;
    for (int64_t i = 0; i < b->count; i++) {
        offset[i] = b->fixed != NULL && b->fixed[i] >= 0 ? b->fixed[i] : 0;
        height = offset[i] + b->size[i] > height ? offset[i] + b->size[i] : height;
    }
    for (int32_t i = 0; i < p->x->n; i++)
        offset[p->x->box[i].buffer] = p->offset[i];
    out->height = height;
}

sked_status sked_i_pack(const sked_i_pack_buffers *b, const sked_i_pack_effort *e, int64_t *offset,
                        sked_i_packing *out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_i_arena arena = {0};
    sked_i_boxes x;
    packer p = {.x = &x, .e = e, .share = 0.5};
    assert(e->threads >= 1);
    SKED_TRY(sked_i_boxes_make(b, &arena, &x, err));
    p.bound = x.bound;
    SKED_TRY(improve(&p, &arena, err));
    *out = (sked_i_packing){.height = -1, .bound = p.bound, .infeasible = true};
    if (p.height >= 0) {
        hand_over(b, &p, offset, out);
        out->infeasible = e->capacity >= 0 && p.bound > e->capacity;
    }
cleanup:
    sked_i_arena_free(&arena);
    return st;
}
