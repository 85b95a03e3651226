#include "base/thread.h"

#include "base/memory.h"

#include <pthread.h>

typedef struct job {
    pthread_t thread;
    void (*work)(void *data, int index);
    void *data;
    int index;
    bool started;
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    j->work(j->data, j->index);
    return NULL;
}

sked_status sked_i_parallel(int count, void (*work)(void *data, int index), void *data, sked_error *err)
{
    if (count == 1) {
        work(data, 0);
        return SKED_OK;
    }
    job *jobs = sked_i_alloc_zero(count, sizeof *jobs);
    if (jobs == NULL)
        return sked_i_no_memory(err);
    for (int i = 0; i < count; i++) {
        jobs[i] = (job){.work = work, .data = data, .index = i};
        jobs[i].started = i > 0 && pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]) == 0;
    }
    for (int i = 0; i < count; i++)
        if (!jobs[i].started)
            work(data, i); /* the caller takes the first, and what no thread could be had for */
    for (int i = 0; i < count; i++)
        if (jobs[i].started)
            pthread_join(jobs[i].thread, NULL);
    free(jobs);
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
    int count, busy;
    uint64_t turn; /* counts stretches of work */
    bool over;
    void (*work)(void *data, int index);
    void *data;
    member *members; /* [count], 0: the caller */
};

static void *serve(void *argument)
{
    member *m = argument;
    sked_i_team *t = m->team;
    pthread_mutex_lock(&t->lock);
    for (uint64_t seen = 0;; seen = t->turn) {
        while (t->turn == seen && !t->over)
            pthread_cond_wait(&t->begin, &t->lock);
        if (t->over)
            break;
        pthread_mutex_unlock(&t->lock);
        t->work(t->data, m->index);
        pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            pthread_cond_signal(&t->end);
    }
    pthread_mutex_unlock(&t->lock);
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

void sked_i_team_run(sked_i_team *t, void (*work)(void *data, int index), void *data)
{
    pthread_mutex_lock(&t->lock);
    t->work = work;
    t->data = data;
    for (int i = 1; i < t->count; i++)
        t->busy += t->members[i].started;
    t->turn++;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < t->count; i++)
        if (!t->members[i].started)
            work(data, i);
    pthread_mutex_lock(&t->lock);
    while (t->busy > 0)
        pthread_cond_wait(&t->end, &t->lock);
    pthread_mutex_unlock(&t->lock);
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
