/* Machines: built device by device and link by link, then checked as a whole. */
#include "problem/machine.h"

#include "base/arena.h"
#include "base/sort.h"
#include "base/text.h"

#include <string.h>

/* Devices that links name one by one have a row of their own in the table of links: 16 MB at most. */
enum { MOST_GROUPS = 1024 };

struct sked_machine_builder {
    sked_machine *m;
    int64_t type_cap, speed_cap, memory_cap, links_cap;
    int64_t first_cap, entry_on_cap, time_cap, last_cap;
    int32_t *last;     /* [durations.on.count] op + 1 whose duration named it last, to find repetitions */
    sked_error failed; /* status OK while all is well */
};

#define REFUSE_FAILED(b)                                                            \
    do {                                                                            \
        if ((b)->failed.status != SKED_OK)                                          \
            return sked_i_fail(err, (b)->failed.status, "%s", (b)->failed.message); \
    } while (0)
/* Every failure goes through here, so that finish can repeat the first one. */
#define BUILDER_FAIL(b, ...) \
    (sked_i_fail(&(b)->failed, __VA_ARGS__), sked_i_fail(err, (b)->failed.status, "%s", (b)->failed.message))
#define NO_MEMORY(b) BUILDER_FAIL(b, SKED_ERR_MEMORY, "out of memory")

void sked_machine_destroy(sked_machine *m)
{
    if (m == NULL)
        return;
    sked_i_names_free(&m->device_names);
    sked_i_names_free(&m->type_names);
    sked_i_names_free(&m->ends);
    sked_i_names_free(&m->durations.ops);
    sked_i_names_free(&m->durations.on);
    sked_i_arena_free(&m->arena);
    free(m);
}

sked_status sked_machine_builder_create(const char *name, sked_machine_builder **out, sked_error *err)
{
    sked_status st = SKED_OK;
    sked_machine_builder *b = NULL;
    if (name != NULL && !sked_i_utf8_valid(name))
        return sked_i_fail(err, SKED_ERR_FORMAT, "the name of the machine is not valid UTF-8");
    SKED_NEW0(b, 1);
    SKED_NEW0(b->m, 1);
    b->m->latency = NAN;
    b->m->bandwidth = INFINITY;
    if (name != NULL && (b->m->name = sked_i_arena_strdup(&b->m->arena, name)) == NULL)
        SKED_TRY(sked_i_no_memory(err));
    *out = b;
    return SKED_OK;
cleanup:
    sked_machine_builder_destroy(b);
    return st;
}

void sked_machine_builder_destroy(sked_machine_builder *b)
{
    if (b == NULL)
        return;
    sked_machine_destroy(b->m);
    free(b);
}

static sked_status check_name(sked_machine_builder *b, const char *what, const char *name, sked_error *err)
{
    char quoted[80];
    if (name == NULL || name[0] == 0)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "a %s needs a name", what);
    if (!sked_i_utf8_valid(name))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "the %s '%s' is not valid UTF-8", what,
                            sked_i_quote(name, strlen(name), quoted, sizeof quoted));
    return SKED_OK;
}

static sked_status check_device(sked_machine_builder *b, const char *name, const char *type, double speed,
                                double memory, sked_error *err)
{
    char quoted[80];
    sked_status st = check_name(b, "device", name, err);
    if (st == SKED_OK && type != NULL)
        st = check_name(b, "device type", type, err);
    if (st != SKED_OK)
        return st;
    sked_i_quote(name, strlen(name), quoted, sizeof quoted);
    if (!(speed > 0 && speed < INFINITY))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "device '%s': speed must be a finite number above 0, not %g",
                            quoted, speed);
    if (!(memory >= 0))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "device '%s': memory must be 0 or more", quoted);
    return SKED_OK;
}

sked_status sked_machine_builder_add_device(sked_machine_builder *b, const char *name, const char *type,
                                            double speed, double memory, int32_t *id, sked_error *err)
{
    REFUSE_FAILED(b);
    sked_machine *m = b->m;
    char quoted[80];
    bool fresh;
    const sked_status st = check_device(b, name, type, speed, memory, err);
    if (st != SKED_OK)
        return st;
    const int64_t need = (int64_t)m->n_devices + 1;
    if (need == INT32_MAX || !SKED_OWN_GROW(&m->arena, m->type, b->type_cap, need) ||
        !SKED_OWN_GROW(&m->arena, m->speed, b->speed_cap, need) ||
        !SKED_OWN_GROW(&m->arena, m->memory, b->memory_cap, need))
        return NO_MEMORY(b);
    const int32_t d = sked_i_names_add(&m->device_names, name, strlen(name), &fresh);
    if (d < 0)
        return NO_MEMORY(b);
    if (!fresh)
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "two devices are called '%s'",
                            sked_i_quote(name, strlen(name), quoted, sizeof quoted));
    m->type[d] = type ? sked_i_names_add(&m->type_names, type, strlen(type), &fresh) : -1;
    if (type != NULL && m->type[d] < 0)
        return NO_MEMORY(b);
    m->speed[d] = speed;
    m->memory[d] = memory;
    m->n_devices++;
    if (id != NULL)
        *id = d;
    return SKED_OK;
}

static sked_status check_link(sked_machine_builder *b, double latency, double bandwidth, sked_error *err)
{
    if (!(latency >= 0 && latency < INFINITY))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "a link's latency must be a finite number, 0 or more");
    if (!(bandwidth > 0))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "a link's bandwidth must be above 0");
    return SKED_OK;
}

sked_status sked_machine_builder_add_link(sked_machine_builder *b, const char *from, const char *to,
                                          double latency, double bandwidth, bool oneway, sked_error *err)
{
    REFUSE_FAILED(b);
    sked_machine *m = b->m;
    bool fresh;
    sked_status st = check_name(b, "link's end", from, err);
    if (st == SKED_OK)
        st = check_name(b, "link's end", to, err);
    if (st == SKED_OK)
        st = check_link(b, latency, bandwidth, err);
    if (st != SKED_OK)
        return st;
    if (!SKED_OWN_GROW(&m->arena, m->links, b->links_cap, m->n_links + 1))
        return NO_MEMORY(b);
    const int32_t a = sked_i_names_add(&m->ends, from, strlen(from), &fresh);
    const int32_t z = a < 0 ? -1 : sked_i_names_add(&m->ends, to, strlen(to), &fresh);
    if (z < 0)
        return NO_MEMORY(b);
    m->links[m->n_links++] = (sked_i_link){a, z, latency, bandwidth, oneway};
    return SKED_OK;
}

sked_status sked_machine_builder_set_link(sked_machine_builder *b, double latency, double bandwidth,
                                          sked_error *err)
{
    REFUSE_FAILED(b);
    const sked_status st = check_link(b, latency, bandwidth, err);
    if (st == SKED_OK) {
        b->m->latency = latency;
        b->m->bandwidth = bandwidth;
    }
    return st;
}

/* ------------------------------------------------------------------ durations */

static sked_status check_duration(sked_machine_builder *b, const char *op, const char *on, double time,
                                  sked_error *err)
{
    char quoted[80];
    if (op == NULL || !sked_i_utf8_valid(op))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "the name of an op in the durations is not valid UTF-8");
    const sked_status st = on != NULL ? check_name(b, "device or type in the durations", on, err) : SKED_OK;
    if (st == SKED_OK && !(time >= 0 && (time < INFINITY || on != NULL)))
        return BUILDER_FAIL(b, SKED_ERR_FORMAT, "the duration of op '%s' must be a finite number, 0 or more",
                            sked_i_quote(op, strlen(op), quoted, sizeof quoted));
    return st;
}

/* Of op in the profile: the last one there, which has no entry yet or others by device; -1: refused. */
static int32_t take_op(sked_machine_builder *b, const char *op, bool by_device, sked_error *err)
{
    sked_i_machine_durations *x = &b->m->durations;
    char quoted[80];
    bool fresh;
    if (!SKED_OWN_GROW(&b->m->arena, x->first, b->first_cap, (int64_t)x->ops.count + 1))
        return (void)NO_MEMORY(b), -1;
    const int32_t id = sked_i_names_add(&x->ops, op, strlen(op), &fresh);
    if (id < 0)
        return (void)NO_MEMORY(b), -1;
    if (fresh)
        x->first[id] = x->n;
    else if (id != x->ops.count - 1 || !by_device || x->entry_on[x->first[id]] < 0)
        return (void)BUILDER_FAIL(b, SKED_ERR_FORMAT, "op '%s' has durations twice",
                                  sked_i_quote(op, strlen(op), quoted, sizeof quoted)),
               -1;
    return id;
}

/* Of `on` in the profile, named by that op for the first time; -1: refused. */
static int32_t take_on(sked_machine_builder *b, int32_t op, const char *on, sked_error *err)
{
    sked_i_machine_durations *x = &b->m->durations;
    char quoted[80];
    bool fresh;
    if (!SKED_OWN_GROW(&b->m->arena, b->last, b->last_cap, (int64_t)x->on.count + 1))
        return (void)NO_MEMORY(b), -1;
    const int32_t id = sked_i_names_add(&x->on, on, strlen(on), &fresh);
    if (id < 0)
        return (void)NO_MEMORY(b), -1;
    if (!fresh && b->last[id] == op + 1)
        return (void)BUILDER_FAIL(b, SKED_ERR_FORMAT, "an op has two durations on '%s'",
                                  sked_i_quote(on, strlen(on), quoted, sizeof quoted)),
               -1;
    b->last[id] = op + 1;
    return id;
}

sked_status sked_machine_builder_add_duration(sked_machine_builder *b, const char *op, const char *on,
                                              double time, sked_error *err)
{
    REFUSE_FAILED(b);
    sked_i_machine_durations *x = &b->m->durations;
    const sked_status st = check_duration(b, op, on, time, err);
    if (st != SKED_OK)
        return st;
    if (!SKED_OWN_GROW(&b->m->arena, x->entry_on, b->entry_on_cap, x->n + 1) ||
        !SKED_OWN_GROW(&b->m->arena, x->time, b->time_cap, x->n + 1))
        return NO_MEMORY(b);
    const int32_t id = take_op(b, op, on != NULL, err);
    const int32_t where = id >= 0 && on != NULL ? take_on(b, id, on, err) : -1;
    if (id < 0 || (on != NULL && where < 0))
        return b->failed.status;
    x->entry_on[x->n] = where;
    x->time[x->n++] = time;
    return SKED_OK;
}

/* Every name that durations are given for is a device or a type. */
static sked_status check_profile(const sked_machine *m, sked_error *err)
{
    char quoted[80];
    for (int32_t i = 0; i < m->durations.on.count; i++) {
        const char *name = sked_i_names_at(&m->durations.on, i);
        if (sked_i_names_find(&m->device_names, name, strlen(name)) < 0 &&
            sked_i_names_find(&m->type_names, name, strlen(name)) < 0)
            return sked_i_fail(err, SKED_ERR_FORMAT,
                               "a duration is given on '%s', which is no device and no type of one",
                               sked_i_quote(name, strlen(name), quoted, sizeof quoted));
    }
    return SKED_OK;
}

/* ------------------------------------------------------------------ from links to a table */

/* What the ends of links are: a device, or else a type. */
typedef struct resolver {
    sked_i_arena arena;
    sked_machine *m;
    int32_t *device, *type;      /* [ends] -1: it is the other */
    int32_t *type_ptr, *of_kind; /* kinds by type: [types + 2], [kinds] */
    int32_t *kind_type;          /* [kinds] */
} resolver;

static sked_status resolve_ends(resolver *x, sked_error *err)
{
    const sked_machine *m = x->m;
    char quoted[80];
    for (int32_t i = 0; i < m->ends.count; i++) {
        const char *name = sked_i_names_at(&m->ends, i);
        x->device[i] = sked_i_names_find(&m->device_names, name, strlen(name));
        x->type[i] = x->device[i] >= 0 ? -1 : sked_i_names_find(&m->type_names, name, strlen(name));
        if (x->device[i] < 0 && x->type[i] < 0)
            return sked_i_fail(err, SKED_ERR_FORMAT,
                               "a link names '%s', which is no device and no type of one",
                               sked_i_quote(name, strlen(name), quoted, sizeof quoted));
    }
    for (int64_t k = 0; k < m->n_links; k++)
        if (m->links[k].from == m->links[k].to && x->device[m->links[k].from] >= 0) {
            const char *name = sked_i_names_at(&m->ends, m->links[k].from);
            return sked_i_fail(err, SKED_ERR_FORMAT, "a link joins device '%s' with itself",
                               sked_i_quote(name, strlen(name), quoted, sizeof quoted));
        }
    return SKED_OK;
}

/* No pair of ends twice in one direction. O(links). */
static sked_status check_repetitions(resolver *x, sked_error *err)
{
    const sked_machine *m = x->m;
    sked_status st = SKED_OK;
    sked_i_keyed *key, *spare;
    char from[80], to[80];
    int64_t n = 0;
    SKED_OWN(&x->arena, key, 2 * m->n_links);
    SKED_OWN(&x->arena, spare, 2 * m->n_links);
    for (int64_t k = 0; k < m->n_links; k++) {
        const sked_i_link *l = &m->links[k];
        key[n++] = (sked_i_keyed){(uint64_t)l->from << 32 | (uint32_t)l->to, k};
        if (!l->oneway && l->from != l->to)
            key[n++] = (sked_i_keyed){(uint64_t)l->to << 32 | (uint32_t)l->from, k};
    }
    sked_i_sort_keyed(key, spare, n);
    for (int64_t k = 1; k < n && st == SKED_OK; k++)
        if (key[k].key == key[k - 1].key) {
            const char *a = sked_i_names_at(&m->ends, (int32_t)(key[k].key >> 32));
            const char *z = sked_i_names_at(&m->ends, (int32_t)(uint32_t)key[k].key);
            st = sked_i_fail(err, SKED_ERR_FORMAT, "the link from '%s' to '%s' is given twice",
                             sked_i_quote(a, strlen(a), from, sizeof from),
                             sked_i_quote(z, strlen(z), to, sizeof to));
        }
cleanup:
    return st;
}

/* A kind for every device that a link names, and one for the others of each type (and of none). */
static sked_status make_kinds(resolver *x, sked_error *err)
{
    sked_machine *m = x->m;
    sked_status st = SKED_OK;
    int32_t *common; /* [types + 1] kind of the unnamed devices of a type, -1: none yet */
    const int32_t types = m->type_names.count;
    SKED_OWN(&x->arena, common, (int64_t)types + 1);
    SKED_OWN(&m->arena, m->link_kind, m->n_devices);
    for (int32_t t = 0; t <= types; t++)
        common[t] = -1;
    for (int32_t d = 0; d < m->n_devices; d++)
        m->link_kind[d] = -1;
    for (int32_t i = 0; i < m->ends.count; i++)
        if (x->device[i] >= 0)
            m->link_kind[x->device[i]] = m->n_link_kinds++;
    for (int32_t d = 0; d < m->n_devices; d++) {
        int32_t *const g = &common[m->type[d] < 0 ? types : m->type[d]];
        if (m->link_kind[d] < 0)
            m->link_kind[d] = *g < 0 ? (*g = m->n_link_kinds++) : *g;
    }
    if (m->n_link_kinds > MOST_GROUPS)
        st = sked_i_fail(err, SKED_ERR_UNSUPPORTED,
                         "links of %d devices or types, more than %d; links between types serve many devices",
                         (int)m->n_link_kinds, (int)MOST_GROUPS);
cleanup:
    return st;
}

/* Groups listed by the type of their devices. */
static sked_status list_kinds(resolver *x, sked_error *err)
{
    const sked_machine *m = x->m;
    sked_status st = SKED_OK;
    SKED_OWN(&x->arena, x->kind_type, m->n_link_kinds);
    SKED_OWN(&x->arena, x->of_kind, m->n_link_kinds);
    SKED_OWN0(&x->arena, x->type_ptr, (int64_t)m->type_names.count + 2);
    SKED_OWN0(&x->m->arena, x->m->link_kind_size, m->n_link_kinds);
    for (int32_t d = 0; d < m->n_devices; d++) {
        x->kind_type[m->link_kind[d]] = m->type[d];
        m->link_kind_size[m->link_kind[d]]++;
    }
    for (int32_t g = 0; g < m->n_link_kinds; g++)
        if (x->kind_type[g] >= 0)
            x->type_ptr[x->kind_type[g] + 2]++;
    for (int32_t t = 0; t < m->type_names.count; t++)
        x->type_ptr[t + 2] += x->type_ptr[t + 1];
    for (int32_t g = 0; g < m->n_link_kinds; g++)
        if (x->kind_type[g] >= 0)
            x->of_kind[x->type_ptr[x->kind_type[g] + 1]++] = g;
cleanup:
    return st;
}

static void set_pair(sked_machine *m, int32_t from, int32_t to, const sked_i_link *l)
{
    const int64_t at = (int64_t)from * m->n_link_kinds + to;
    m->link_latency[at] = l->latency;
    m->link_bandwidth[at] = l->bandwidth;
}

/* The kinds an end stands for: list[0..count-1]. */
static int32_t kinds_of(const resolver *x, int32_t end, const int32_t **list)
{
    if (x->device[end] >= 0) {
        *list = &x->m->link_kind[x->device[end]];
        return 1;
    }
    *list = x->of_kind + x->type_ptr[x->type[end]];
    return x->type_ptr[x->type[end] + 1] - x->type_ptr[x->type[end]];
}

static void apply_link(resolver *x, const sked_i_link *l)
{
    const int32_t *from, *to;
    const int32_t n_from = kinds_of(x, l->from, &from), n_to = kinds_of(x, l->to, &to);
    for (int32_t i = 0; i < n_from; i++)
        for (int32_t j = 0; j < n_to; j++) {
            set_pair(x->m, from[i], to[j], l);
            if (!l->oneway)
                set_pair(x->m, to[j], from[i], l);
        }
}

/* Links between types first, those that name devices over them. As pairs come once, O(kinds^2 + links). */
static sked_status fill_table(resolver *x, sked_error *err)
{
    sked_machine *m = x->m;
    sked_status st = SKED_OK;
    const int64_t cells = (int64_t)m->n_link_kinds * m->n_link_kinds;
    SKED_OWN(&m->arena, m->link_latency, cells);
    SKED_OWN(&m->arena, m->link_bandwidth, cells);
    for (int64_t k = 0; k < cells; k++) {
        m->link_latency[k] = m->latency;
        m->link_bandwidth[k] = m->bandwidth;
    }
    for (int named = 0; named <= 2; named++)
        for (int64_t k = 0; k < m->n_links; k++)
            if ((x->device[m->links[k].from] >= 0) + (x->device[m->links[k].to] >= 0) == named)
                apply_link(x, &m->links[k]);
cleanup:
    return st;
}

static sked_status resolve(sked_machine *m, sked_error *err)
{
    resolver x = {.m = m};
    sked_status st = SKED_OK;
    if (m->n_devices == 0)
        return sked_i_fail(err, SKED_ERR_FORMAT, "a machine needs at least one device");
    SKED_OWN(&x.arena, x.device, m->ends.count);
    SKED_OWN(&x.arena, x.type, m->ends.count);
    SKED_TRY(check_profile(m, err));
    SKED_TRY(resolve_ends(&x, err));
    SKED_TRY(check_repetitions(&x, err));
    SKED_TRY(make_kinds(&x, err));
    SKED_TRY(list_kinds(&x, err));
    SKED_TRY(fill_table(&x, err));
cleanup:
    sked_i_arena_free(&x.arena);
    return st;
}

sked_status sked_machine_builder_finish(sked_machine_builder *b, sked_machine **out, sked_error *err)
{
    REFUSE_FAILED(b);
    const sked_status st = resolve(b->m, &b->failed);
    if (st != SKED_OK)
        return sked_i_fail(err, st, "%s", b->failed.message);
    *out = b->m;
    b->m = NULL;
    sked_i_fail(&b->failed, SKED_ERR_ARGUMENT, "the machine was handed over");
    return SKED_OK;
}

/* ------------------------------------------------------------------ questions */

const char *sked_machine_name(const sked_machine *m)
{
    return m->name ? m->name : "";
}

int32_t sked_machine_device_count(const sked_machine *m)
{
    return m->n_devices;
}

const char *sked_machine_device_name(const sked_machine *m, int32_t device)
{
    return sked_i_names_at(&m->device_names, device);
}

const char *sked_machine_device_type(const sked_machine *m, int32_t device)
{
    return m->type[device] < 0 ? NULL : sked_i_names_at(&m->type_names, m->type[device]);
}

double sked_machine_device_speed(const sked_machine *m, int32_t device)
{
    return m->speed[device];
}

double sked_machine_device_memory(const sked_machine *m, int32_t device)
{
    return m->memory[device];
}

int32_t sked_machine_find_device(const sked_machine *m, const char *name)
{
    return sked_i_names_find(&m->device_names, name, strlen(name));
}

int64_t sked_machine_given_link_count(const sked_machine *m)
{
    return m->n_links;
}

void sked_machine_given_link(const sked_machine *m, int64_t i, const char **from, const char **to,
                             double *latency, double *bandwidth, bool *oneway)
{
    const sked_i_link *l = &m->links[i];
    *from = sked_i_names_at(&m->ends, l->from);
    *to = sked_i_names_at(&m->ends, l->to);
    *latency = l->latency;
    *bandwidth = l->bandwidth;
    *oneway = l->oneway;
}

bool sked_machine_default_link(const sked_machine *m, double *latency, double *bandwidth)
{
    *latency = m->latency;
    *bandwidth = m->bandwidth;
    return !isnan(m->latency);
}

bool sked_machine_link(const sked_machine *m, int32_t from, int32_t to, double *latency, double *bandwidth)
{
    const int64_t at = sked_i_machine_pair(m, from, to);
    const bool same = from == to;
    *latency = same ? 0 : m->link_latency[at];
    *bandwidth = same ? INFINITY : m->link_bandwidth[at];
    return !isnan(*latency);
}

bool sked_i_machine_one_link(const sked_machine *m, double *latency, double *bandwidth)
{
    bool found = false;
    *latency = 0;
    *bandwidth = INFINITY;
    for (int32_t a = 0; a < m->n_link_kinds; a++)
        for (int32_t b = 0; b < m->n_link_kinds; b++) {
            const int64_t at = (int64_t)a * m->n_link_kinds + b;
            if (a == b && m->link_kind_size[a] < 2)
                continue; /* no pair */
            if (isnan(m->link_latency[at]) ||
                (found && (m->link_latency[at] != *latency || m->link_bandwidth[at] != *bandwidth)))
                return false;
            *latency = m->link_latency[at];
            *bandwidth = m->link_bandwidth[at];
            found = true;
        }
    return true;
}

const sked_problem *sked_i_problem_settle(const sked_problem *p, sked_problem *own, sked_error *err)
{
    if (p->machine == NULL || p->devices == p->machine->n_devices)
        return sked_i_problem_check_ranges(p, err) == SKED_OK ? p : NULL;
    if (p->devices != 0) {
        sked_i_fail(err, SKED_ERR_ARGUMENT, "the machine has %d devices, the problem says %d",
                    (int)p->machine->n_devices, (int)p->devices);
        return NULL;
    }
    if (p != own)
        *own = *p;
    own->devices = p->machine->n_devices;
    return sked_i_problem_check_ranges(own, err) == SKED_OK ? own : NULL;
}
