#include "engine/gaus/best_closure.h"

#include <assert.h>

typedef struct sked_i_gaus_closure_node node;
typedef struct sked_i_gaus_closure_arc arc;

void sked_i_gaus_closure_free(sked_i_gaus_closure *c)
{
    sked_i_arena_free(&c->arena);
    *c = (sked_i_gaus_closure){0};
}

void sked_i_gaus_closure_clear(sked_i_gaus_closure *c)
{
    c->nodes = 0;
    c->arcs = 0;
    c->failed = false;
}

int32_t sked_i_gaus_closure_add(sked_i_gaus_closure *c, int64_t gain)
{
    c->failed = c->failed || !SKED_OWN_GROW(&c->arena, c->node, c->node_room, (int64_t)c->nodes + 1);
    if (c->failed)
        return 0;
    c->node[c->nodes] = (node){.supply = gain, .head = -1};
    return c->nodes++;
}

static void link_arc(sked_i_gaus_closure *c, int32_t from, int32_t to, int64_t room)
{
    c->arc[c->arcs] = (arc){.room = room, .next = c->node[from].head, .to = to};
    c->node[from].head = c->arcs++;
}

void sked_i_gaus_closure_imply(sked_i_gaus_closure *c, int32_t a, int32_t b)
{
    c->failed = c->failed || !SKED_OWN_GROW(&c->arena, c->arc, c->arc_room, c->arcs + 2);
    if (c->failed)
        return;
    assert(a != b && a < c->nodes && b < c->nodes);
    link_arc(c, a, b, INT64_MAX);
    link_arc(c, b, a, 0); /* arcs k and k ^ 1 are a pair */
}

/* Distances from what supply is left. true: some drain can still be reached. */
static bool find_levels(sked_i_gaus_closure *c)
{
    int32_t count = 0;
    bool open = false;
    for (int32_t k = 0; k < c->nodes; k++) {
        node *x = &c->node[k];
        x->level = x->supply > 0 ? 0 : -1;
        x->turn = x->head;
        if (x->supply > 0)
            c->queue[count++] = k;
    }
    for (int32_t first = 0; first < count; first++) {
        const node *x = &c->node[c->queue[first]];
        open = open || x->supply < 0;
        for (int64_t a = x->head; a >= 0; a = c->arc[a].next) {
            node *y = &c->node[c->arc[a].to];
            if (c->arc[a].room > 0 && y->level < 0) {
                y->level = x->level + 1;
                c->queue[count++] = c->arc[a].to;
            }
        }
    }
    return open;
}

/* Sends as much as possible along the path from `from` to the drain `to`. */
static void send(sked_i_gaus_closure *c, int32_t from, int32_t to, int32_t length)
{
    node *s = &c->node[from], *d = &c->node[to];
    int64_t amount = s->supply < -d->supply ? s->supply : -d->supply;
    for (int32_t k = 0; k < length; k++)
        amount = c->arc[c->path[k]].room < amount ? c->arc[c->path[k]].room : amount;
    for (int32_t k = 0; k < length; k++) {
        arc *forth = &c->arc[c->path[k]], *back = &c->arc[c->path[k] ^ 1];
        forth->room -= forth->room < INT64_MAX ? amount : 0;
        back->room += back->room < INT64_MAX ? amount : 0;
    }
    assert(amount > 0);
    s->supply -= amount;
    d->supply += amount;
}

/* An arc of x to the next level, -1: none is left. */
static int64_t next_arc(const sked_i_gaus_closure *c, node *x)
{
    for (; x->turn >= 0; x->turn = c->arc[x->turn].next) {
        const arc *a = &c->arc[x->turn];
        if (a->room > 0 && c->node[a->to].level == x->level + 1)
            break;
    }
    return x->turn;
}

/* Shortest paths from one source until none is left. */
static void drain(sked_i_gaus_closure *c, int32_t from)
{
    int32_t at = from, length = 0;
    while (c->node[from].supply > 0) {
        node *x = &c->node[at];
        const int64_t a = next_arc(c, x);
        if (x->supply < 0) {
            send(c, from, at, length);
            at = from;
            length = 0;
        } else if (a >= 0) {
            c->path[length++] = a;
            at = c->arc[a].to;
        } else if (length > 0) {
            x->level = -1; /* a dead end */
            at = c->arc[c->path[--length] ^ 1].to;
        } else {
            return;
        }
    }
}

sked_status sked_i_gaus_closure_solve(sked_i_gaus_closure *c, sked_error *err)
{
    if (c->failed || !SKED_OWN_GROW(&c->arena, c->queue, c->queue_room, (int64_t)c->nodes + 1) ||
        !SKED_OWN_GROW(&c->arena, c->path, c->path_room, (int64_t)c->nodes + 1))
        return sked_i_no_memory(err);
    while (find_levels(c))
        for (int32_t k = 0; k < c->nodes; k++)
            if (c->node[k].supply > 0 && c->node[k].level == 0)
                drain(c, k);
    return SKED_OK;
}
