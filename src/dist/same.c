/* Were all ranks asked for the same? */
#include "base/hash.h"
#include "base/memory.h"
#include "dist/dist.h"
#include "schedule/fingerprint.h"

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
    sked_status st = sked_dist_agree(call->failed ? sked_i_no_memory(err) : SKED_OK, err);
    if (st == SKED_OK && sked_dist_size() > 1) {
        fingerprint *all = sked_i_alloc(sked_dist_size(), sizeof *all);
        const fingerprint mine = {p != NULL ? sked_i_fingerprint_problem(p) : 0, hash(call)};
        st = all == NULL ? sked_i_no_memory(err) : sked_i_dist_share(&mine, sizeof mine, all, err);
        if (st == SKED_OK)
            st = compare(all, err);
        free(all);
    }
    sked_i_buffer_free(call);
    return st;
}

void sked_i_dist_add_settings(const char *const *settings, int count, sked_i_buffer *call)
{
    for (int i = 0; i < count; i++)
        sked_i_buffer_json_after(call, " ", settings[i]);
}
