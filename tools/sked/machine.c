/* The devices of a machine as the commands show them. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most_lines = 16, most_unknown = 5 };

const char *machine_name(const sked_machine *m, printable_text *buf)
{
    return sked_machine_name(m)[0] ? printable(sked_machine_name(m), buf) : "(unnamed)";
}

sked_status device_peaks(const sked_problem *p, const sked_schedule *s, double **peak, sked_error *err)
{
    if (p->devices == 0 || (p->machine == NULL && isinf(p->memory_limit) && s->arena == NULL))
        return SKED_OK;
    double *all = malloc((size_t)p->devices * sizeof *all);
    if (all == NULL)
        return fail(err, SKED_ERR_MEMORY, "out of memory");
    const sked_status st = sked_schedule_device_memory(p, s, all, err);
    if (st == SKED_OK)
        *peak = all;
    else
        free(all);
    return st;
}

static void print_more(int64_t shown, int64_t count)
{
    if (count > shown)
        printf("                 and %lld more\n", (long long)(count - shown));
}

void print_devices(const sked_problem *p, const sked_schedule *s, const double *peak)
{
    printable_text name;
    char device[300], x[40], y[40], z[40];
    for (int32_t d = 0; peak != NULL && d < p->devices && d < most_lines; d++) {
        sked_problem_device_name(p, d, device, sizeof device);
        printf("  device         %s, peak memory %s", printable(device, &name), human(peak[d], x, sizeof x));
        if (s->arena != NULL)
            printf(", arena %s", human((double)s->arena[d], z, sizeof z));
        if (p->machine != NULL && sked_machine_device_memory(p->machine, d) < INFINITY)
            printf(" of %s", human(sked_machine_device_memory(p->machine, d), y, sizeof y));
        printf("\n");
    }
    if (peak != NULL)
        print_more(most_lines, p->devices);
}

void json_devices(json_out *j, const sked_problem *p, const double *peak)
{
    json_number(j, "devices", p->devices);
    if (p->machine != NULL) {
        json_text(j, "machine", sked_machine_name(p->machine));
        json_open(j, "device_names", '[');
        for (int32_t d = 0; d < p->devices; d++)
            json_text(j, NULL, sked_machine_device_name(p->machine, d));
        json_close(j, ']');
    }
    if (peak == NULL)
        return;
    json_open(j, "device_memory", '[');
    for (int32_t d = 0; d < p->devices; d++)
        json_number(j, NULL, peak[d]);
    json_close(j, ']');
}

void print_arena(const sked_schedule *s, const sked_metrics *m)
{
    char x[40];
    if (s->arena != NULL)
        printf("  arena          %s\n", human(m->arena, x, sizeof x));
}

void json_arena(json_out *j, const sked_schedule *s, const sked_metrics *m)
{
    if (s->arena == NULL)
        return;
    json_number(j, "arena", m->arena);
    if (s->devices == 0)
        return;
    json_open(j, "device_arena", '[');
    for (int32_t d = 0; d < s->devices; d++)
        json_number(j, NULL, (double)s->arena[d]);
    json_close(j, ']');
}

/* ------------------------------------------------------------------ registers of a pipeline */

sked_status pipeline_registers(const sked_problem *p, const sked_schedule *s, registers *r, sked_error *err)
{
    return p->clock > 0 && s->ii == 1 ? sked_schedule_registers(p, s, &r->bits, &r->count, err) : SKED_OK;
}

void print_registers(const registers *r)
{
    char x[40];
    if (r->bits == NULL)
        return;
    printf("  registers     ");
    for (int32_t k = 0; k < r->count && k < most_lines; k++)
        printf(" %s", human(r->bits[k], x, sizeof x));
    printf("%s\n", r->count > most_lines ? " ..." : r->count == 0 ? " none" : "");
}

void json_registers(json_out *j, const registers *r)
{
    if (r->bits == NULL)
        return;
    json_open(j, "registers", '[');
    for (int32_t k = 0; k < r->count; k++)
        json_number(j, NULL, r->bits[k]);
    json_close(j, ']');
}

/* ------------------------------------------------------------------ the machine itself */

static void print_link(const char *between, double latency, double bandwidth)
{
    char x[40], y[40];
    printf("  link           %s, latency %s, bandwidth %s\n", between, human(latency, x, sizeof x),
           human(bandwidth, y, sizeof y));
}

/* Is there a pair of devices without a link? Machines of many devices are not looked through. */
static bool lacks_links(const sked_machine *m)
{
    const int32_t n = sked_machine_device_count(m);
    double latency, bandwidth;
    bool lacks = n > 1000;
    for (int32_t a = 0; a < n && !lacks; a++)
        for (int32_t b = 0; b < n && !lacks; b++)
            lacks = !sked_machine_link(m, a, b, &latency, &bandwidth);
    return lacks;
}

static void print_links(const sked_machine *m)
{
    const int64_t count = sked_machine_given_link_count(m);
    double latency, bandwidth;
    for (int64_t i = 0; i < count && i < most_lines; i++) {
        const char *from, *to;
        bool oneway;
        printable_text a, b;
        char between[2 * sizeof a + 8];
        sked_machine_given_link(m, i, &from, &to, &latency, &bandwidth, &oneway);
        snprintf(between, sizeof between, "%s %s %s", printable(from, &a), oneway ? "->" : "-",
                 printable(to, &b));
        print_link(between, latency, bandwidth);
    }
    print_more(most_lines, count);
    if (sked_machine_default_link(m, &latency, &bandwidth))
        print_link(count > 0 ? "all other pairs" : "all pairs", latency, bandwidth);
    else if (lacks_links(m))
        printf("  link           none between %s\n", count > 0 ? "other pairs" : "devices");
}

void print_machine(const sked_problem *p)
{
    const sked_machine *m = p->machine;
    const int32_t count = sked_machine_device_count(m);
    printable_text name;
    char x[40];
    printf("  machine        %s, %d device%s\n", machine_name(m, &name), (int)count, count == 1 ? "" : "s");
    for (int32_t d = 0; d < count && d < most_lines; d++) {
        const char *type = sked_machine_device_type(m, d);
        printf("  device         %s", printable(sked_machine_device_name(m, d), &name));
        if (type != NULL)
            printf(" (%s)", printable(type, &name));
        printf(", speed %s", human(sked_machine_device_speed(m, d), x, sizeof x));
        printf(", memory %s\n", human(sked_machine_device_memory(m, d), x, sizeof x));
    }
    print_more(most_lines, count);
    print_links(m);
    if (sked_machine_duration_count(m) > 0)
        printf("  profile        %lld duration%s\n", (long long)sked_machine_duration_count(m),
               sked_machine_duration_count(m) == 1 ? "" : "s");
}

static void json_links(json_out *j, const sked_machine *m)
{
    json_open(j, "links", '[');
    for (int64_t i = 0; i < sked_machine_given_link_count(m); i++) {
        const char *from, *to;
        double latency, bandwidth;
        bool oneway;
        sked_machine_given_link(m, i, &from, &to, &latency, &bandwidth, &oneway);
        json_open(j, NULL, '{');
        json_text(j, "from", from);
        json_text(j, "to", to);
        json_number(j, "latency", latency);
        json_number(j, "bandwidth", bandwidth);
        json_bool(j, "oneway", oneway);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void json_machine(json_out *j, const sked_problem *p)
{
    const sked_machine *m = p->machine;
    double latency = NAN, bandwidth = NAN;
    const bool others = sked_machine_default_link(m, &latency, &bandwidth);
    json_open(j, "machine", '{');
    json_text(j, "name", sked_machine_name(m));
    json_number(j, "latency", others ? latency : NAN);
    json_number(j, "bandwidth", others ? bandwidth : NAN);
    json_open(j, "devices", '[');
    for (int32_t d = 0; d < sked_machine_device_count(m); d++) {
        json_open(j, NULL, '{');
        json_text(j, "name", sked_machine_device_name(m, d));
        json_text(j, "type", sked_machine_device_type(m, d));
        json_number(j, "speed", sked_machine_device_speed(m, d));
        json_number(j, "memory", sked_machine_device_memory(m, d));
        json_close(j, '}');
    }
    json_close(j, ']');
    json_links(j, m);
    json_number(j, "durations", (double)sked_machine_duration_count(m));
    json_close(j, '}');
}

/* ------------------------------------------------------------------ unknown names */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The types of all devices, sorted; NULL: no memory. */
static const char **sorted_types(const sked_machine *m, int32_t *count)
{
    const int32_t n = sked_machine_device_count(m);
    const char **type = malloc(((size_t)n + 1) * sizeof *type);
    *count = 0;
    for (int32_t d = 0; type != NULL && d < n; d++)
        if (sked_machine_device_type(m, d) != NULL)
            type[(*count)++] = sked_machine_device_type(m, d);
    if (type != NULL)
        qsort(type, (size_t)*count, sizeof *type, by_text);
    return type;
}

/* The first few of the names found, for one warning. */
typedef struct unknown {
    char list[1200];
    size_t used;
    int64_t count;
} unknown;

static void add_unknown(unknown *x, const char *name)
{
    printable_text text;
    if (x->count++ < most_unknown)
        x->used += (size_t)snprintf(x->list + x->used, sizeof x->list - x->used, "%s'%.200s'",
                                    x->used ? ", " : "", printable(name, &text));
}

static const char *and_others(const unknown *x)
{
    return x->count > most_unknown ? " and others" : "";
}

/* Names of devices in the graph's durations. */
static void warn_unknown_devices(const sked_problem *p)
{
    unknown x = {.used = 0};
    int32_t types = 0;
    const char **type = sorted_types(p->machine, &types);
    for (int32_t i = 0; type != NULL && i < sked_graph_duration_name_count(p->graph); i++) {
        const char *name = sked_graph_duration_name(p->graph, i);
        if (sked_machine_find_device(p->machine, name) < 0 &&
            bsearch(&name, type, (size_t)types, sizeof *type, by_text) == NULL)
            add_unknown(&x, name);
    }
    free(type);
    if (x.count > 0)
        warn("the graph has durations for %s%s, which no device or type of the machine is called", x.list,
             and_others(&x));
}

/* Names of ops in the machine's profile. Those of one op stand side by side. */
static void warn_unknown_ops(const sked_problem *p)
{
    unknown x = {.used = 0};
    const char *op, *on, *last = NULL;
    double time;
    for (int64_t i = 0; i < sked_machine_duration_count(p->machine); i++) {
        sked_machine_duration(p->machine, i, &op, &on, &time);
        if (op != last && sked_graph_find_op(p->graph, op) < 0)
            add_unknown(&x, op);
        last = op;
    }
    if (x.count > 0)
        warn("the machine has durations of %s%s, which no op of the graph is called", x.list, and_others(&x));
}

void warn_unknown_names(const sked_problem *p)
{
    if (p->machine == NULL)
        return;
    warn_unknown_devices(p);
    warn_unknown_ops(p);
}
