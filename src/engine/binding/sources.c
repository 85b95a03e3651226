/* Local search: two colours are swapped along a chain of items that overlap, which keeps every colouring
 * valid. */
#include "engine/binding/binding.h"

#include <assert.h>
#include <string.h>

/* How many links join a source and an input. A slot stays with its pair until the table is built again. */
typedef struct pair {
    uint64_t source, sink; /* sink 0: free */
    int32_t count;
} pair;

typedef struct search {
    sked_i_bind *b;
    sked_i_arena arena;
    pair *pairs; /* [mask + 1] */
    uint64_t mask;
    int64_t used;         /* slots */
    int64_t *at;          /* [items + 1] */
    int32_t *links;       /* links of each item, at either end */
    int32_t *members;     /* items by group */
    int32_t *chain;       /* [items] items to be swapped */
    uint8_t *chained;     /* [items] */
    uint8_t *moved;       /* [links] */
    int32_t *moved_links; /* [links] */
    int32_t *movable;     /* items in groups of several colours, with links */
    int32_t n_movable;
} search;

/* Number of a unit, a register or an op among all of them. */
static uint64_t node_of(const sked_i_bind *b, int32_t end)
{
    if (end < 0)
        return (uint64_t)b->items - (uint64_t)end;
    return (uint64_t)b->group[b->item[end].group].node + (uint64_t)b->item[end].colour;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

static void add(search *x, const sked_i_bind_link *l, int32_t count)
{
    sked_i_bind *const b = x->b;
    const uint64_t source = node_of(b, l->source);
    const uint64_t sink = (node_of(b, l->sink) + 1) << 32 | (uint32_t)l->input;
    uint64_t k = mix(mix(sink) + source) & x->mask;
    while (x->pairs[k].sink != 0 && (x->pairs[k].sink != sink || x->pairs[k].source != source))
        k = (k + 1) & x->mask;
    pair *const slot = &x->pairs[k];
    x->used += slot->sink == 0;
    slot->source = source;
    slot->sink = sink;
    b->cost -= slot->count > 0;
    slot->count += count;
    b->cost += slot->count > 0;
    assert(slot->count >= 0);
}

static void count_all(search *x)
{
    memset(x->pairs, 0, (x->mask + 1) * sizeof *x->pairs);
    x->used = x->b->cost = 0;
    for (int64_t l = 0; l < x->b->links; l++)
        add(x, &x->b->link[l], 1);
}

/* Links of each item, and items by group. */
static sked_status index_items(search *x, sked_error *err)
{
    sked_i_bind *const b = x->b;
    sked_status st = SKED_OK;
    SKED_OWN0(&x->arena, x->at, (int64_t)b->items + 2);
    SKED_OWN(&x->arena, x->links, 2 * b->links);
    SKED_OWN(&x->arena, x->members, b->items);
    for (int64_t l = 0; l < b->links; l++)
        for (int k = 0; k < 2; k++) {
            const int32_t end = k ? b->link[l].source : b->link[l].sink;
            if (end >= 0)
                x->at[end + 2]++;
        }
    for (int32_t m = 0; m < b->items; m++)
        x->at[m + 2] += x->at[m + 1];
    for (int64_t l = 0; l < b->links; l++)
        for (int k = 0; k < 2; k++) {
            const int32_t end = k ? b->link[l].source : b->link[l].sink;
            if (end >= 0)
                x->links[x->at[end + 1]++] = (int32_t)l;
        }
    for (int32_t m = 0; m < b->items; m++)
        b->group[b->item[m].group].count++;
    for (int32_t r = 1; r < b->groups; r++)
        b->group[r].first = b->group[r - 1].first + b->group[r - 1].count;
    for (int32_t r = 0; r < b->groups; r++)
        b->group[r].count = 0;
    for (int32_t m = 0; m < b->items; m++) {
        sked_i_bind_group *const group = &b->group[b->item[m].group];
        x->members[group->first + group->count++] = m;
        if (group->colours > 1 && x->at[m] < x->at[m + 1])
            x->movable[x->n_movable++] = m;
    }
cleanup:
    return st;
}

static sked_status prepare(search *x, sked_error *err)
{
    const sked_i_bind *const b = x->b;
    sked_status st = SKED_OK;
    for (x->mask = 63; (int64_t)x->mask < 8 * b->links;)
        x->mask = 2 * x->mask + 1;
    SKED_OWN(&x->arena, x->pairs, (int64_t)x->mask + 1);
    SKED_OWN(&x->arena, x->chain, b->items);
    SKED_OWN0(&x->arena, x->chained, b->items);
    SKED_OWN0(&x->arena, x->moved, b->links);
    SKED_OWN(&x->arena, x->moved_links, b->links);
    SKED_OWN(&x->arena, x->movable, b->items);
    SKED_TRY(index_items(x, err));
    count_all(x);
cleanup:
    return st;
}

/* The items of either colour that overlap, one after another, with the first. Returns their number. */
static int32_t find_chain(search *x, int32_t first, int32_t other)
{
    const sked_i_bind *const b = x->b;
    const sked_i_bind_group *const group = &b->group[b->item[first].group];
    const int32_t both[2] = {b->item[first].colour, other};
    int32_t n = 1;
    x->chain[0] = first;
    x->chained[first] = 1;
    for (int32_t k = 0; k < n; k++) {
        const sked_i_bind_item *const at = &b->item[x->chain[k]];
        const int32_t wanted = at->colour == both[0] ? both[1] : both[0];
        for (int32_t q = group->first; q < group->first + group->count; q++) {
            const int32_t m = x->members[q];
            if (b->item[m].colour != wanted || x->chained[m] ||
                !sked_i_arcs_overlap(&at->arc, &b->item[m].arc, b->schedule->ii))
                continue;
            x->chained[m] = 1;
            x->chain[n++] = m;
        }
    }
    for (int32_t k = 0; k < n; k++)
        x->chained[x->chain[k]] = 0;
    return n;
}

/* Links at the items of the chain, each once, taken out of the count. */
static int32_t take_links(search *x, int32_t n)
{
    int32_t count = 0;
    for (int32_t k = 0; k < n; k++)
        for (int64_t q = x->at[x->chain[k]]; q < x->at[x->chain[k] + 1]; q++) {
            const int32_t l = x->links[q];
            if (x->moved[l])
                continue;
            x->moved[l] = 1;
            x->moved_links[count++] = l;
            add(x, &x->b->link[l], -1);
        }
    return count;
}

static void swap_chain(search *x, int32_t n, int32_t one, int32_t other)
{
    const int32_t links = take_links(x, n);
    for (int32_t k = 0; k < n; k++) {
        int32_t *const colour = &x->b->item[x->chain[k]].colour;
        *colour = *colour == one ? other : one;
    }
    for (int32_t k = 0; k < links; k++) {
        add(x, &x->b->link[x->moved_links[k]], 1);
        x->moved[x->moved_links[k]] = 0;
    }
    if (x->used > (int64_t)(x->mask / 2))
        count_all(x);
}

sked_status sked_i_bind_improve(sked_i_bind *b, sked_i_client *client, sked_error *err)
{
    search x = {.b = b};
    sked_status st = prepare(&x, err);
    b->first_cost = b->cost;
    while (st == SKED_OK && x.n_movable > 0 && !sked_i_client_over(client)) {
        const int32_t first = x.movable[sked_i_rng_below(&client->rng, (uint64_t)x.n_movable)];
        const int32_t one = b->item[first].colour, colours = b->group[b->item[first].group].colours;
        const int32_t other =
            (one + 1 + (int32_t)sked_i_rng_below(&client->rng, (uint64_t)colours - 1)) % colours;
        const int64_t before = b->cost;
        const int32_t n = find_chain(&x, first, other);
        swap_chain(&x, n, one, other);
        if (b->cost > before)
            swap_chain(&x, n, one, other);
        client->evaluations++;
        b->moves++;
    }
    sked_i_arena_free(&x.arena);
    return st;
}
