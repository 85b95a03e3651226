/*
 * Were all ranks asked for the same? A problem is compared by the files that it would be written as: whatever
 * makes two of them different is there.
 */
#include "base/hash.h"
#include "base/memory.h"
#include "dist/dist.h"
#include "formats/format.h"

/* A column as it lies in memory, or that there is none. */
static void add_column(sked_i_buffer *out, const void *column, int64_t n, size_t size)
{
    sked_i_buffer_char(out, column != NULL ? '+' : '-');
    if (column != NULL)
        sked_i_buffer_add(out, column, (size_t)n * size);
}

static sked_status describe(const sked_problem *p, sked_i_buffer *out, sked_error *err)
{
    const double numbers[] = {p->latency, p->bandwidth, p->horizon, p->ii, p->alpha, p->memory_limit};
    const int32_t whole[] = {p->devices, (int32_t)p->objective, (int32_t)p->lifetime};
    const int32_t n = sked_graph_op_count(p->graph);
    add_column(out, numbers, sizeof numbers, 1);
    add_column(out, whole, sizeof whole, 1);
    add_column(out, p->capacity, sked_graph_resource_count(p->graph), sizeof *p->capacity);
    add_column(out, p->fix_device, n, sizeof *p->fix_device);
    add_column(out, p->fix_start, n, sizeof *p->fix_start);
    if (p->machine != NULL)
        sked_i_format_of_machines(p->machine, out);
    return sked_i_format_find("native")->write(p->graph, out, err);
}

typedef struct fingerprint {
    uint64_t problem, call;
} fingerprint;

static uint64_t hash(const sked_i_buffer *text)
{
    static const sked_i_hash_key key; /* the same on all ranks */
    return sked_i_hash_bytes(key, text->data, (size_t)text->size);
}

static sked_status compare(const fingerprint *all, sked_error *err)
{
    for (int k = 1; k < sked_dist_size(); k++)
        if (all[k].call != all[0].call || all[k].problem != all[0].problem)
            return sked_i_fail(
                err, SKED_ERR_ARGUMENT,
                "rank %d was given %s than rank 0: all ranks take the same command and the same "
                "files",
                k, all[k].call != all[0].call ? "other options" : "another problem");
    return SKED_OK;
}

sked_status sked_i_dist_same(const sked_problem *p, sked_i_buffer *call, sked_error *err)
{
    sked_i_buffer problem = {0};
    sked_status st = sked_dist_size() > 1 && p != NULL ? describe(p, &problem, err) : SKED_OK;
    if (st == SKED_OK && (problem.failed || call->failed))
        st = sked_i_no_memory(err);
    st = sked_dist_agree(st, err);
    if (st == SKED_OK && sked_dist_size() > 1) {
        fingerprint *all = sked_i_alloc(sked_dist_size(), sizeof *all);
        const fingerprint mine = {hash(&problem), hash(call)};
        st = all == NULL ? sked_i_no_memory(err) : sked_i_dist_share(&mine, sizeof mine, all, err);
        if (st == SKED_OK)
            st = compare(all, err);
        free(all);
    }
    sked_i_buffer_free(&problem);
    sked_i_buffer_free(call);
    return st;
}

void sked_i_dist_add_settings(const char *const *settings, int count, sked_i_buffer *call)
{
    for (int i = 0; i < count; i++)
        sked_i_buffer_json_after(call, " ", settings[i]);
}
