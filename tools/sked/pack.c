/* sked pack: offsets for buffers with given lifetimes. */
#include "cli.h"

static void print_packing(const arguments *a, const sked_packing *p)
{
    char height[40], bound[40];
    if (!a->json) {
        printf("height %s, lower bound %s", human((double)p->height, height, sizeof height),
               human((double)p->lower_bound, bound, sizeof bound));
        if (p->optimal)
            printf(" (optimal)");
        else if (p->lower_bound > 0)
            printf(" (gap %.2f %%)", 100 * ((double)p->height / (double)p->lower_bound - 1));
        printf(", %lld buffers, %.2f s\n", (long long)p->count, p->seconds);
        return;
    }
    json_out j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "objective", "arena");
    json_number(&j, "value", (double)p->height);
    json_number(&j, "lower_bound", (double)p->lower_bound);
    json_bool(&j, "optimal", p->optimal);
    json_bool(&j, "valid", true);
    json_number(&j, "buffers", (double)p->count);
    json_number(&j, "seconds", p->seconds);
    json_number(&j, "seed", (double)a->seed);
    json_close(&j, '}');
}

static sked_status check_outputs(const arguments *a, sked_error *err)
{
    for (int i = 0; i < a->output.count; i++) {
        const char *path = a->output.at[i];
        if (strcmp(path, "-") != 0 && !ends_with(path, ".csv") && !ends_with(path, ".svg"))
            return fail(err, SKED_ERR_ARGUMENT, "-o %.200s: a packing is written as .csv or .svg", path);
        if (a->json && strcmp(path, "-") == 0)
            return fail(err, SKED_ERR_ARGUMENT, "--json and -o - both write to standard output");
    }
    return SKED_OK;
}

sked_status run_pack(arguments *a, sked_error *err)
{
    sked_buffers *buffers = NULL;
    sked_buffer_columns columns = {.size = sizeof columns};
    sked_packing p = {.size = sizeof p};
    sked_pack_options opt;
    sked_pack_options_init(&opt);
    opt.capacity = a->pack_capacity;
    opt.align = a->align;
    opt.time_limit = a->time_limit;
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.iterations = a->iterations;
    opt.stop = &stop_requested;
    end_on_signal(true);
    sked_status st = check_outputs(a, err);
    if (st == SKED_OK)
        st = sked_buffers_read(a->operand.at[0], &buffers, err);
    if (st == SKED_OK)
        st = sked_buffers_columns(buffers, &columns, err);
    end_on_signal(false);
    if (st == SKED_OK)
        st = sked_pack(&columns, &opt, &p, err);
    for (int i = 0; st == SKED_OK && i < a->output.count; i++)
        st = sked_packing_write(&columns, &p, a->output.at[i], err);
    if (st == SKED_OK && !to_stdout(a))
        print_packing(a, &p);
    sked_packing_clear(&p);
    sked_buffers_destroy(buffers);
    return st;
}
