/* The loop of a run, and from starts in whole numbers to offers and bounds of the run. */
#include "method/modulo/modulo_method.h"

static void destroy_loop(void *state)
{
    sked_i_loop_destroy(state);
}

sked_status sked_i_modulo_loop_of_run(sked_i_run *run, const sked_i_loop **out, sked_error *err)
{
    sked_i_loop *loop = sked_i_run_state(run);
    sked_status st = SKED_OK;
    if (loop == NULL) {
        SKED_TRY(sked_i_loop_create(run->problem, &loop, err));
        SKED_TRY(sked_i_run_keep(run, loop, destroy_loop, err));
    }
    *out = loop;
    return SKED_OK;
cleanup:
    sked_i_loop_destroy(loop);
    return st;
}

sked_status sked_i_modulo_offer(const sked_i_loop *loop, sked_i_run *run, int64_t ii, const int64_t *start,
                                const int32_t *device, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(loop->n, loop->devices, &s, err);
    if (st != SKED_OK)
        return st;
    s->ii = loop->pipelined ? (double)ii : 0;
    for (int32_t i = 0; i < loop->n; i++) {
        s->start[i] = (double)start[i];
        if (s->device != NULL)
            s->device[i] = device != NULL ? device[i] : 0;
    }
    st = sked_i_run_offer(run, s, err);
    sked_schedule_destroy(s);
    return st;
}

void sked_i_modulo_note_frame(const sked_i_loop *loop, const sked_i_frame *f, sked_i_run *run, int64_t bound)
{
    const sked_problem *p = run->problem;
    if (p->objective == SKED_OBJECTIVE_II && (double)f->ii == sked_i_run_bound(run))
        sked_i_run_raise_length(run, (double)bound);
    if (p->objective == SKED_OBJECTIVE_MAKESPAN && (!loop->pipelined || p->ii > 0))
        sked_i_run_raise_bound(run, (double)bound);
}
