#include "base/thread.h"

#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>

typedef struct share {
    pthread_t thread;
    void (*work)(void *data, int index);
    void *data;
    int index;
    bool started;
} share;

static void *run_share(void *argument)
{
    share *s = argument;
    s->work(s->data, s->index);
    return NULL;
}

sked_status sked_i_parallel(int count, void (*work)(void *data, int index), void *data, sked_error *err)
{
    if (count == 1) {
        work(data, 0);
        return SKED_OK;
    }
    share *shares = sked_i_alloc_zero(count, sizeof *shares);
    if (shares == NULL)
        return sked_i_no_memory(err);
    for (int i = 0; i < count; i++) {
        shares[i] = (share){.work = work, .data = data, .index = i};
        shares[i].started = i > 0 && pthread_create(&shares[i].thread, NULL, run_share, &shares[i]) == 0;
    }
    for (int i = 0; i < count; i++)
        if (!shares[i].started)
            work(data, i); /* the caller takes the first, and what no thread could be had for */
    for (int i = 0; i < count; i++)
        if (shares[i].started)
            pthread_join(shares[i].thread, NULL);
    free(shares);
    return SKED_OK;
}

/* ------------------------------------------------------------------ teams */

typedef struct member {
    sked_i_team *team;
    pthread_t thread;
    int index;
    bool started;
} member;

struct sked_i_team {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    int count;
    int busy;      /* atomic: members at work, the caller not counted */
    uint64_t turn; /* atomic: counts stretches of work */
    bool over;
    void (*work)(void *data, int index);
    void *data;
    member *members; /* [count], 0: the caller */
};

/*
 * A thread looks that often for work before it sleeps: for about a millisecond. Waking one takes up to a
 * tenth of that, and more on a virtual machine. Where others want the processor it lets them have it
 * meanwhile.
 */
enum { LOOKS = 20000 };

static void pause_briefly(int look)
{
    enum { looks_between_yields = 64 };
    if (look % looks_between_yields == looks_between_yields - 1)
        sched_yield();
#if defined(__x86_64__) || defined(__i386__)
    else
        __builtin_ia32_pause();
#endif
}

/* Waits for a turn after `seen`, and returns it; the same one where the team is over. */
static uint64_t next_turn(sked_i_team *t, uint64_t seen)
{
    uint64_t turn = seen;
    for (int k = 0; k < LOOKS && turn == seen; k++) {
        pause_briefly(k);
        turn = __atomic_load_n(&t->turn, __ATOMIC_ACQUIRE);
    }
    if (turn != seen)
        return turn;
    pthread_mutex_lock(&t->lock);
    while ((turn = __atomic_load_n(&t->turn, __ATOMIC_ACQUIRE)) == seen && !t->over)
        pthread_cond_wait(&t->begin, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return turn;
}

static void *serve(void *argument)
{
    member *m = argument;
    sked_i_team *t = m->team;
    for (uint64_t seen = 0, turn; (turn = next_turn(t, seen)) != seen; seen = turn) {
        t->work(t->data, m->index);
        if (__atomic_sub_fetch(&t->busy, 1, __ATOMIC_ACQ_REL) > 0)
            continue;
        pthread_mutex_lock(&t->lock);
        pthread_cond_signal(&t->end);
        pthread_mutex_unlock(&t->lock);
    }
    return NULL;
}

sked_status sked_i_team_create(int count, sked_i_team **out, sked_error *err)
{
    sked_i_team *t = sked_i_alloc_zero(1, sizeof *t);
    member *members = sked_i_alloc_zero(count, sizeof *members);
    if (t == NULL || members == NULL) {
        free(t);
        free(members);
        return sked_i_no_memory(err);
    }
    t->count = count;
    t->members = members;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begin, NULL);
    pthread_cond_init(&t->end, NULL);
    for (int i = 1; i < count; i++) {
        members[i] = (member){.team = t, .index = i};
        members[i].started = pthread_create(&members[i].thread, NULL, serve, &members[i]) == 0;
    }
    *out = t;
    return SKED_OK;
}

static void begin_turn(sked_i_team *t, void (*work)(void *data, int index), void *data)
{
    int busy = 0;
    for (int i = 1; i < t->count; i++)
        busy += t->members[i].started;
    t->work = work;
    t->data = data;
    __atomic_store_n(&t->busy, busy, __ATOMIC_RELAXED);
    pthread_mutex_lock(&t->lock);
    __atomic_add_fetch(&t->turn, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
}

static void end_turn(sked_i_team *t)
{
    for (int k = 0; k < LOOKS && __atomic_load_n(&t->busy, __ATOMIC_ACQUIRE) > 0; k++)
        pause_briefly(k);
    pthread_mutex_lock(&t->lock);
    while (__atomic_load_n(&t->busy, __ATOMIC_ACQUIRE) > 0)
        pthread_cond_wait(&t->end, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void sked_i_team_run(sked_i_team *t, void (*work)(void *data, int index), void *data)
{
    begin_turn(t, work, data);
    for (int i = 0; i < t->count; i++)
        if (!t->members[i].started)
            work(data, i);
    end_turn(t);
}

void sked_i_team_destroy(sked_i_team *t)
{
    if (t == NULL)
        return;
    pthread_mutex_lock(&t->lock);
    t->over = true;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    for (int i = 1; i < t->count; i++)
        if (t->members[i].started)
            pthread_join(t->members[i].thread, NULL);
    pthread_cond_destroy(&t->begin);
    pthread_cond_destroy(&t->end);
    pthread_mutex_destroy(&t->lock);
    free(t->members);
    free(t);
}

/* ------------------------------------------------------------------ jobs */

/* Where a job is. */
typedef struct place {
    uint64_t ticket; /* atomic: stage, pieces of it, the next piece: 16, 24 and 24 bits */
    int left;        /* atomic: pieces of the stage that are not done */
} place;

typedef struct workshop {
    const sked_i_team_jobs *jobs;
    place *place; /* [count] */
    int open;     /* atomic: jobs that are not done */
    int sleepers; /* atomic */
    pthread_mutex_t lock;
    pthread_cond_t change;
} workshop;

static int next_of(uint64_t ticket)
{
    return (int)(ticket & (SKED_I_TEAM_PIECES - 1));
}

static int pieces_of(uint64_t ticket)
{
    return (int)(ticket >> 24 & (SKED_I_TEAM_PIECES - 1));
}

/* Puts up the pieces of a stage, or closes the job. */
static void put_up(workshop *w, int job, int stage)
{
    const int pieces = w->jobs->pieces(w->jobs->data, job, stage);
    place *p = &w->place[job];
    assert(stage < SKED_I_TEAM_STAGES && pieces >= 0 && pieces < SKED_I_TEAM_PIECES);
    if (pieces > 0) {
        __atomic_store_n(&p->left, pieces, __ATOMIC_RELAXED);
        __atomic_store_n(&p->ticket, (uint64_t)stage << 48 | (uint64_t)pieces << 24, __ATOMIC_SEQ_CST);
    } else {
        __atomic_sub_fetch(&w->open, 1, __ATOMIC_SEQ_CST);
    }
    if (__atomic_load_n(&w->sleepers, __ATOMIC_SEQ_CST) > 0) {
        pthread_mutex_lock(&w->lock);
        pthread_cond_broadcast(&w->change);
        pthread_mutex_unlock(&w->lock);
    }
}

/* A job with a piece to be had, or -1. */
static int look(workshop *w, uint64_t *ticket)
{
    for (int job = 0; job < w->jobs->count; job++) {
        *ticket = __atomic_load_n(&w->place[job].ticket, __ATOMIC_SEQ_CST);
        if (next_of(*ticket) < pieces_of(*ticket))
            return job;
    }
    return -1;
}

/* Until there may be something to do. */
static void sleep_a_while(workshop *w)
{
    uint64_t ticket;
    pthread_mutex_lock(&w->lock);
    __atomic_add_fetch(&w->sleepers, 1, __ATOMIC_SEQ_CST);
    if (look(w, &ticket) < 0 && __atomic_load_n(&w->open, __ATOMIC_SEQ_CST) > 0)
        pthread_cond_wait(&w->change, &w->lock);
    __atomic_sub_fetch(&w->sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&w->lock);
}

static void do_jobs(void *data, int index)
{
    workshop *w = data;
    for (int idle = 0; __atomic_load_n(&w->open, __ATOMIC_ACQUIRE) > 0;) {
        uint64_t ticket;
        const int job = look(w, &ticket);
        if (job < 0) {
            pause_briefly(idle);
            if (++idle >= LOOKS)
                sleep_a_while(w);
        } else if (__atomic_compare_exchange_n(&w->place[job].ticket, &ticket, ticket + 1, false,
                                               __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            const int stage = (int)(ticket >> 48);
            idle = 0;
            w->jobs->run(w->jobs->data, job, stage, next_of(ticket), index);
            if (__atomic_sub_fetch(&w->place[job].left, 1, __ATOMIC_ACQ_REL) == 0)
                put_up(w, job, stage + 1);
        }
    }
}

sked_status sked_i_team_work(sked_i_team *t, const sked_i_team_jobs *jobs, sked_error *err)
{
    workshop w = {.jobs = jobs, .open = jobs->count};
    w.place = sked_i_alloc_zero(jobs->count, sizeof *w.place);
    if (w.place == NULL)
        return sked_i_no_memory(err);
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.change, NULL);
    for (int job = 0; job < jobs->count; job++)
        put_up(&w, job, 0);
    sked_i_team_run(t, do_jobs, &w);
    pthread_cond_destroy(&w.change);
    pthread_mutex_destroy(&w.lock);
    free(w.place);
    return SKED_OK;
}
