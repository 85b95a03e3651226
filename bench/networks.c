/* Real networks on four devices and on one, values held until their readers end: suites memory and arena. */
#include "bench.h"

#include <math.h>
#include <string.h>

static sked_status run_row(const arguments *a, const char *name, int devices, network_run *run, void *totals,
                           sked_error *err)
{
    char part[300], path[1024];
    sked_graph *g = NULL;
    sked_problem p;
    sked_run_options opt;
    snprintf(part, sizeof part, "networks/%.200s.json", name);
    const sked_status st = sked_graph_read(data_path(a, part, path, sizeof path), NULL, &g, err);
    if (st != SKED_OK)
        return st;
    sked_problem_init(&p, g);
    p.devices = devices;
    p.lifetime = SKED_LIFETIME_FINISH;
    sked_run_options_init(&opt);
    opt.seed = (uint64_t)a->seed;
    opt.threads = (int)a->threads;
    opt.time_limit = isnan(a->time_limit) ? 5 : a->time_limit;
    const sked_status ran = run(name, &p, &opt, totals, err);
    sked_graph_destroy(g);
    return ran;
}

sked_status each_network(const arguments *a, const csv *networks, int devices, network_run *run, void *totals,
                         sked_error *err)
{
    sked_status st = SKED_OK;
    for (int row = 1; st == SKED_OK && row < networks->rows; row += (int)a->sample)
        st = run_row(a, csv_get(networks, row, "name"), devices, run, totals, err);
    return st;
}

sked_status network_sets(arguments *a, networks_set *run, sked_error *err)
{
    static const struct {
        const char *name;
        int devices;
    } sets[] = {{"four", 4}, {"one", 1}};
    char path[1024];
    csv networks = {0};
    sked_status st = SKED_OK;
    if (!have_data(a))
        return SKED_OK;
    print_machine(a);
    st = csv_read(data_path(a, "networks/networks.csv", path, sizeof path), &networks, err);
    for (size_t k = 0; st == SKED_OK && k < sizeof sets / sizeof *sets; k++)
        if (strncmp(sets[k].name, a->only, strlen(a->only)) == 0)
            st = run(a, &networks, sets[k].devices, err);
    csv_free(&networks);
    return st;
}
