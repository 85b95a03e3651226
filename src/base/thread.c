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
