#include "method/hands.h"

#include "base/thread.h"

#include <assert.h>

static void close_hand(sked_i_hand *hand)
{
    const sked_i_hands *h = hand->hands;
    if (h->close != NULL)
        h->close(hand);
    if (h->apart)
        sked_i_share_close(&hand->share);
    sked_i_arena_free(&hand->own);
    free(hand);
}

/* Takes the next place; the array has room. */
static sked_status open_hand(sked_i_hands *h, sked_error *err)
{
    assert(h->size >= sizeof(sked_i_hand) && h->run != NULL);
    sked_status st = SKED_OK;
    sked_i_hand *hand = sked_i_alloc_zero(1, h->size);
    if (hand == NULL)
        return sked_i_no_memory(err);
    hand->hands = h;
    hand->index = h->count;
    hand->run = h->apart ? &hand->share.run : h->run;
    if (h->apart)
        st = sked_i_share_open(h->run, &hand->share, err);
    if (st == SKED_OK && h->open != NULL)
        st = h->open(hand, err);
    if (st != SKED_OK) {
        close_hand(hand);
        return st;
    }
    h->hand[h->count++] = hand;
    return SKED_OK;
}

sked_status sked_i_hands_fill(sked_i_hands *h, int count, sked_error *err)
{
    sked_status st = SKED_OK;
    if (count <= h->count)
        return SKED_OK;
    sked_i_hand **more = realloc(h->hand, (size_t)count * sizeof *more);
    if (more == NULL)
        return sked_i_no_memory(err);
    h->hand = more;
    while (st == SKED_OK && h->count < count)
        st = open_hand(h, err);
    return st;
}

static void work_one(void *data, int index)
{
    const sked_i_hands *h = data;
    h->hand[index]->status = h->work(h->hand[index], &h->hand[index]->error);
}

sked_status sked_i_hands_work(sked_i_hands *h, int count,
                              sked_status (*work)(sked_i_hand *hand, sked_error *err), sked_error *err)
{
    sked_status st = SKED_OK;
    assert(count >= 1 && count <= h->count);
    h->work = work;
    for (int k = 0; k < count; k++) {
        h->hand[k]->error = (sked_error){0};
        h->hand[k]->run = h->apart ? &h->hand[k]->share.run : h->run;
        if (h->apart)
            SKED_TRY(sked_i_share_tell(&h->hand[k]->share, h->run, err));
    }
    SKED_TRY(sked_i_parallel(count, work_one, h, err));
    for (int k = 0; k < count; k++) {
        if (h->hand[k]->status != SKED_OK)
            return sked_i_fail(err, h->hand[k]->status, "%s", h->hand[k]->error.message);
        if (h->apart)
            SKED_TRY(sked_i_share_join(&h->hand[k]->share, h->run, err));
    }
cleanup:
    return st;
}

void sked_i_hands_close(sked_i_hands *h)
{
    for (int k = 0; k < h->count; k++)
        close_hand(h->hand[k]);
    free(h->hand);
    h->hand = NULL;
    h->count = 0;
}
