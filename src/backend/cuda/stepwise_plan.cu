/* Plans of the stepwise kernels: what a block has in shared memory and what not, blocks, passes. */
#include "backend/cuda/stepwise_host.h"

#include <limits.h>

/* The next `count` numbers: in shared memory while there is room, else in the block's piece. */
static int64_t place(step_kernel_plan *p, size_t most, int64_t count)
{
    const size_t bytes = (size_t)(count + 3) / 4 * 4 * sizeof(float);
    if (p->shared + bytes <= most) {
        p->shared += bytes;
        return (int64_t)((p->shared - bytes) / sizeof(float));
    }
    p->stride += (int64_t)(bytes / sizeof(float));
    return -1 - (p->stride - (int64_t)(bytes / sizeof(float)));
}

/* The same in shared memory or nowhere: -1. What is small enough to leave room for others. */
static int64_t place_inside(step_kernel_plan *p, size_t most, int64_t count)
{
    const size_t bytes = (size_t)(count + 3) / 4 * 4 * sizeof(float);
    return p->shared + bytes <= most ? place(p, most, count) : -1;
}

/* Numbers of `kinds` of mail. */
static int64_t mail_size(int64_t kinds, int tiles)
{
    return kinds * step_mail_lanes(tiles) * (int64_t)(sizeof(step_tile) / sizeof(float));
}

/* A warp a tile, for problems of up to so many ops: false where they do not fit. */
static bool plan_tiles(const step_device *d, int ops, bool gradient, step_kernel_plan *p)
{
    const step_net *z = &d->net;
    const int64_t n = ops, table = z->n_matrices * (int64_t)(sizeof(step_matrix) / sizeof(int));
    const int tiles = step_tiles_of(ops);
    *p = {};
    p->places.small = place_inside(p, d->most_shared, table + 4 * n);
    p->places.wide = place_inside(p, d->most_shared, n * z->slots);
    p->places.mail = place_inside(p, d->most_shared, mail_size(gradient ? MAIL_KINDS : MAIL_SLOPE, tiles));
    p->places.sums = place_inside(p, d->most_shared, gradient ? 2 * TILE_HEADS * tiles * STEP_TILE : 0);
    if (n > TILE_OPS || p->places.small < 0 || p->places.wide < 0 || p->places.mail < 0 || p->places.sums < 0)
        return false;
    p->places.masks = place_inside(p, d->most_shared, 2 * SKED_I_HEADS * n * ((n + 63) / 64));
    p->places.tables = gradient ? -1 : place_inside(p, d->most_shared, 12 * n + 3 * z->slots);
    p->threads = (int)step_most_of(tiles, gradient ? 1 : 2) * SKED_STEP_WARP; /* two warps choose */
    return true;
}

/* Blocks of such a kernel that a processor takes at once. */
static int resident_long(const step_device *d, const step_kernel_plan *p)
{
    const int64_t threads = LONG_WARPS * SKED_STEP_WARP / p->threads,
                  shared = (int64_t)((d->most_shared + 1024) / (p->shared + 1024));
    return (int)step_most_of(threads < shared ? threads : shared, 1);
}

/* And where warps take tiles in turn. What all of them read is in shared memory first. */
static void plan_long(const step_device *d, int ops, bool gradient, step_kernel_plan *p)
{
    const step_net *z = &d->net;
    const int64_t n = ops, table = z->n_matrices * (int64_t)(sizeof(step_matrix) / sizeof(int));
    const int tiles = step_tiles_of(ops), turns = (tiles + LONG_WARPS - 1) / LONG_WARPS;
    *p = {};
    p->turns = true;
    p->places.small = place(p, d->most_shared, table + 4 * n);
    p->places.wide = place(p, d->most_shared, n * z->slots);
    p->places.sums = place(p, d->most_shared, gradient ? 2 * TILE_HEADS * tiles * STEP_TILE : 0);
    p->places.mail =
        place(p, d->most_shared, mail_size((gradient ? MAIL_KINDS : MAIL_SLOPE) - MAIL_KEY, tiles));
    p->places.masks = place_inside(p, d->most_shared, 2 * SKED_I_HEADS * n * ((n + 63) / 64));
    p->places.tables = -1;
    p->places.x = place(p, 0, (int64_t)tiles * LONG_ROW * SKED_STEP_WARP * 4);
    p->places.narrow = place(p, 0, mail_size(1, tiles));
    p->threads = (int)step_most_of((tiles + turns - 1) / turns, gradient ? 1 : 2) * SKED_STEP_WARP;
    p->blocks = d->processors * resident_long(d, p);
}

/* The plan for the gradients of problems of so many row tiles. */
void sked_i_step_plan_states(const step_device *d, int tiles, step_kernel_plan *p)
{
    if (!plan_tiles(d, tiles * STEP_TILE, true, p))
        plan_long(d, tiles * STEP_TILE, true, p);
}

static int64_t states_of(const step_problem *p)
{
    return (int64_t)p->batch * (p->ops + 1);
}

static int64_t row_tiles_of(const step_problem *p)
{
    return states_of(p) * step_tiles_of(p->ops);
}

/*
 * How many row tiles are kept at once, and the parts of a problem's sum: the memory is that of the device,
 * not what is free of it, for the order of sums depends on it.
 */
static void plan_pass(step_device *d)
{
    const size_t most = (size_t)3 << 30, share = d->memory / 8 < most ? d->memory / 8 : most;
    const size_t tile = (size_t)SKED_STEP_WARP * ((size_t)step_kept_tiles(d->net) * sizeof(step_tile) +
                                                  (size_t)step_kept_scales(d->net) * sizeof(float2));
    const int parts = d->graphs < 32 ? 32 / d->graphs : 1;
    d->pass_tiles = step_most_of((int64_t)(share / tile), 1);
    for (int k = 0; k < d->count; k++) {
        d->problem[k].first_block = k * parts;
        d->problem[k].n_blocks = parts;
    }
    d->parts = d->count * parts;
}

/*
 * Where the pass that begins at state `from` ends: it takes whole problems while they fit. One that fits no
 * pass is cut on its own, evenly, so that its sum does not depend on the others. *taken: its row tiles.
 */
int64_t sked_i_step_end_of_pass(const step_device *d, int64_t from, int64_t *taken)
{
    int64_t past = 0, end = from;
    *taken = 0;
    for (int k = 0; k < d->count; k++) {
        const step_problem *p = &d->problem[k];
        const int64_t states = states_of(p), tiles = row_tiles_of(p);
        past += states;
        if (past <= from)
            continue;
        if (tiles > d->pass_tiles && end == from) {
            const int64_t at_once = step_most_of(d->pass_tiles / step_tiles_of(p->ops), 1),
                          passes = (states + at_once - 1) / at_once, size = (states + passes - 1) / passes;
            *taken = size * step_tiles_of(p->ops);
            return from + size < past ? from + size : past;
        }
        if (*taken + tiles > d->pass_tiles)
            break;
        *taken += tiles;
        end = past;
    }
    return end;
}

int64_t sked_i_step_states(const step_device *d)
{
    int64_t states = 0;
    for (int k = 0; k < d->count; k++)
        states += states_of(&d->problem[k]);
    return states;
}

/* Row tiles of the largest pass. */
int64_t sked_i_step_largest_pass(const step_device *d)
{
    const int64_t states = d->pass_tiles > 0 ? sked_i_step_states(d) : 0;
    int64_t most = 0, taken;
    for (int64_t from = 0; from < states; most = step_most_of(most, taken))
        from = sked_i_step_end_of_pass(d, from, &taken);
    return most;
}

static void choose_blocks(const step_device *d, step_draw_plan *p, int resident)
{
    const int64_t most = (int64_t)d->processors * resident;
    p->kernel.blocks = (int)(p->trajectories < most ? p->trajectories : most);
}

/* How schedules are drawn. Blocks that a processor does not take at once wait for others to end. */
static void plan_tile_draw(const step_device *d, step_draw_plan *p)
{
    const int threads = p->kernel.threads;
    const int roomy = SKED_STEP_THREADS / threads, dense = TILE_RESIDENT * TILE_FEW / threads;
    const int64_t few = (int64_t)d->processors * roomy, many = (int64_t)d->processors * dense;
    const bool fewer_rounds = (p->trajectories - 1) / many < (p->trajectories - 1) / few;
    p->how = threads <= TILE_FEW && fewer_rounds ? STEP_DRAW_DENSE : STEP_DRAW_TILES;
    choose_blocks(d, p, p->how == STEP_DRAW_DENSE ? dense : roomy);
}

/* Blocks that drew a long trajectory first draw a short one after it. */
static void order_turns(step_device *d)
{
    for (int k = 0; k < d->count; k++) {
        int at = k;
        for (; at > 0 && d->problem[d->problem[at - 1].turn].ops < d->problem[k].ops; at--)
            d->problem[at].turn = d->problem[at - 1].turn;
        d->problem[at].turn = k;
    }
}

/* Problems of least .. most ops, of all that are loaded. */
static step_draw_plan plan_for(const step_device *d, step_drawing how, int least, int most)
{
    step_draw_plan p = {{}, how, least, most, 0, 0};
    for (int k = 0; k < d->count; k++) {
        const step_problem *problem = &d->problem[k];
        if (problem->ops < least || problem->ops > most)
            continue;
        p.ops = problem->ops > p.ops ? problem->ops : p.ops;
        p.trajectories += problem->batch;
    }
    return p;
}

/* Where a warp has a tile each, and longer ones. That depends on nothing else that is loaded. */
static void plan_tile_draws(step_device *d)
{
    step_draw_plan *const each = &d->draw[0], *const turns = &d->draw[1];
    int low = 0, high = TILE_OPS;
    while (low < high) { /* the most ops that fit */
        const int middle = (low + high + 1) / 2;
        if (plan_tiles(d, middle, false, &each->kernel))
            low = middle;
        else
            high = middle - 1;
    }
    *each = plan_for(d, STEP_DRAW_TILES, 0, low);
    *turns = plan_for(d, STEP_DRAW_LONG, low + 1, INT_MAX);
    if (each->ops > 0 && plan_tiles(d, each->ops, false, &each->kernel))
        plan_tile_draw(d, each);
    if (turns->ops > 0) {
        plan_long(d, turns->ops, false, &turns->kernel);
        choose_blocks(d, turns, resident_long(d, &turns->kernel));
    }
}

void sked_i_step_plan(step_device *d)
{
    d->most_ops = 1;
    d->trajectories = 0;
    for (int k = 0; k < d->count; k++) {
        d->most_ops = d->problem[k].ops > d->most_ops ? d->problem[k].ops : d->most_ops;
        d->trajectories += d->problem[k].batch;
    }
    order_turns(d);
    d->parts = 0;
    d->pass_tiles = 0;
    plan_tile_draws(d);
    if (d->gradients)
        plan_pass(d);
}

/* Numbers in global memory that blocks of any kernel have of their own. */
int64_t sked_i_step_scratch_size(const step_device *d)
{
    int64_t most = 0;
    for (const step_draw_plan &p : d->draw)
        most = step_most_of(most, p.kernel.blocks * p.kernel.stride);
    for (int k = 0; k < d->count && d->gradients; k++) {
        step_kernel_plan states;
        sked_i_step_plan_states(d, step_tiles_of(d->problem[k].ops), &states);
        most = step_most_of(most, states.blocks * states.stride);
    }
    return most;
}
