/* Schedules (sked-schedule-1) and fixed decisions (sked-fix-1): docs/formats/schedule.md and fix.md. */
#include "base/memory.h"
#include "formats/format.h"
#include "formats/json.h"
#include "problem/chaining.h"
#include "problem/lower.h"
#include "schedule/schedule.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char schedule_id[] = "sked-schedule-1";
static const char fix_id[] = "sked-fix-1";
static const int64_t most_address = INT64_C(1) << 53;

/* What reading either file shares: the graph its op names belong to, and which ops have come. */
typedef struct reader {
    sked_i_json j;
    const sked_problem *problem;
    const sked_graph *graph;
    sked_i_costs costs;
    sked_i_buffer text;
    uint8_t *seen; /* [ops] */
    sked_schedule *schedule;
    double latest; /* finish so far */
    sked_i_arena arena;
    const char **units, **registers; /* [ops] where they stand; NULL: no op has any */
    struct owned *list;              /* units, or registers, as they come */
    int64_t listed, list_cap;
    int64_t *offset;    /* [ops] -1: none given; NULL: no op has any */
    sked_i_keyed *copy; /* op and device, with an address */
    int64_t copies, copy_cap;
    int32_t *fix_device;
    double *fix_start;
} reader;

enum { TOP_FORMAT, TOP_DEVICES, TOP_MAKESPAN, TOP_II, TOP_NAMES, TOP_OPS, TOP_ARENA, TOP_TRANSFERS };
static const char *const top_keys[] = {"format",       "devices", "makespan", "ii",
                                       "device_names", "ops",     "arena",    "transfers"};
static const sked_i_json_fields top_fields = {"a schedule", top_keys, 8, false};

enum { OP_NAME, OP_DEVICE, OP_START, OP_FINISH, OP_PHASE, OP_UNITS, OP_REGISTERS, OP_OFFSET };
static const char *const op_keys[] = {"name",  "device", "start",     "finish",
                                      "phase", "units",  "registers", "offset"};
static const sked_i_json_fields op_fields = {"a scheduled op", op_keys, 8, false};
static const sked_i_json_fields fixed_fields = {"a fixed op", op_keys, 3, true};

enum { TRANSFER_OP, TRANSFER_TO, TRANSFER_OFFSET };
static const char *const transfer_keys[] = {"op", "to", "offset"};
static const sked_i_json_fields transfer_fields = {"a transfer", transfer_keys, 3, false};

enum { FIX_FORMAT, FIX_OPS };
static const char *const fix_keys[] = {"format", "ops"};
static const sked_i_json_fields fix_fields = {"a sked-fix-1 file", fix_keys, 2, true};

/* One op entry of the file. */
typedef struct entry {
    int32_t op;
    uint32_t has;
    double device, start, finish, phase;
    int64_t offset;
    const char *units, *registers; /* where they stand; NULL: not given */
} entry;

/* A unit of a demand, or a register of an op. */
typedef struct owned {
    int64_t owner;
    int32_t number;
} owned;

static void read_format(reader *r, const char *wanted)
{
    char quoted[80];
    sked_i_json_text(&r->j, "\"format\"", &r->text);
    if (r->j.status == SKED_OK && strcmp(r->text.data, wanted) != 0)
        sked_i_json_fail(&r->j, "the format is '%s', not '%s'",
                         sked_i_quote(r->text.data, (size_t)r->text.size, quoted, sizeof quoted), wanted);
}

static bool is_index(double x, int32_t count)
{
    return x >= 0 && x < count && x == floor(x);
}

/* The op that a name (or, as a number, an index) stands for; `unknown` is the status where it is none. */
static int32_t read_op_name(reader *r, sked_status unknown)
{
    sked_i_json *j = &r->j;
    char quoted[80];
    if (sked_i_json_peek(j) == '0') {
        const double index = sked_i_json_number(j, "an op's name");
        if (!is_index(index, r->graph->n_ops))
            sked_i_json_fail_as(j, unknown, "the graph has no op number %.17g", index);
        return j->status == SKED_OK ? (int32_t)index : -1;
    }
    sked_i_json_text(j, "an op's name", &r->text);
    if (j->status != SKED_OK)
        return -1;
    const int32_t op = sked_graph_find_op(r->graph, r->text.data);
    if (op < 0)
        sked_i_json_fail_as(j, unknown, "the graph has no op called '%s'",
                            sked_i_quote(r->text.data, (size_t)r->text.size, quoted, sizeof quoted));
    return op;
}

/* A device: a number, or the name of one of the machine. */
static double read_device(reader *r, sked_status unknown)
{
    sked_i_json *j = &r->j;
    char quoted[80];
    if (sked_i_json_peek(j) != '"')
        return sked_i_json_number(j, "device");
    sked_i_json_text(j, "a device", &r->text);
    const bool named = j->status == SKED_OK && r->problem->machine != NULL;
    const int32_t d = named ? sked_machine_find_device(r->problem->machine, r->text.data) : -1;
    if (d < 0 && j->status == SKED_OK)
        sked_i_json_fail_as(j, unknown,
                            named ? "the machine has no device '%s'"
                                  : "device '%s' has a name, but there is no machine with names",
                            sked_i_quote(r->text.data, (size_t)r->text.size, quoted, sizeof quoted));
    return d;
}

static int64_t read_address(reader *r)
{
    return sked_i_json_integer(&r->j, "an offset", 0, most_address);
}

/* Reads one element of "ops" and marks its op as seen. false: failed. */
static bool read_entry(reader *r, const sked_i_json_fields *fields, sked_status broken, entry *e)
{
    sked_i_json *j = &r->j;
    char label[80];
    *e = (entry){.op = -1};
    sked_i_json_enter(j, '{', fields->owner);
    const char *begin = j->token;
    for (int k; (k = sked_i_json_field(j, fields, &e->has)) >= 0;) {
        if (k == OP_NAME)
            e->op = read_op_name(r, broken);
        else if (sked_i_json_null(j))
            e->has &= ~(1u << k); /* null: as if the key were not there */
        else if (k == OP_DEVICE)
            e->device = read_device(r, broken);
        else if (k == OP_UNITS || k == OP_REGISTERS)
            *(k == OP_UNITS ? &e->units : &e->registers) = sked_i_json_defer(j);
        else if (k == OP_OFFSET)
            e->offset = read_address(r);
        else
            *(k == OP_START    ? &e->start
              : k == OP_FINISH ? &e->finish
                               : &e->phase) = sked_i_json_number(j, op_keys[k]);
    }
    if (j->status != SKED_OK)
        return false;
    j->token = begin;
    if (!SKED_I_JSON_HAS(e->has, OP_NAME))
        return sked_i_json_fail(j, "%s without \"name\"", fields->owner), false;
    assert(e->op >= 0 && e->op < r->graph->n_ops);
    if (r->seen[e->op])
        return sked_i_json_fail_as(j, broken, "op '%s' comes twice",
                                   sked_i_op_label(r->graph, e->op, label, sizeof label)),
               false;
    r->seen[e->op] = 1;
    return true;
}

/* Exact between whole numbers, else to 1e-9 of the larger. */
static bool same_time(double a, double b)
{
    if (a == b)
        return true;
    if (a == floor(a) && b == floor(b))
        return false;
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void take_device(reader *r, const entry *e, const char *label)
{
    sked_schedule *s = r->schedule;
    if (s->devices == 0 && SKED_I_JSON_HAS(e->has, OP_DEVICE))
        sked_i_json_fail_as(&r->j, SKED_ERR_INVALID, "op '%s' has a device, but the schedule has none",
                            label);
    if (s->devices == 0)
        return;
    if (!SKED_I_JSON_HAS(e->has, OP_DEVICE))
        sked_i_json_fail_as(&r->j, SKED_ERR_INVALID, "op '%s' has no device", label);
    else if (!is_index(e->device, s->devices))
        sked_i_json_fail_as(&r->j, SKED_ERR_INVALID, "op '%s' is on device %.17g; the devices are 0 to %d",
                            label, e->device, (int)s->devices - 1);
    else
        s->device[e->op] = (int32_t)e->device;
}

/* With a clock; a file that says some phases says all, or the others are 0. */
static void take_phase(reader *r, const entry *e)
{
    if (!SKED_I_JSON_HAS(e->has, OP_PHASE) || !(r->problem->clock > 0))
        return;
    sked_i_json_check(&r->j, sked_i_schedule_add_phases(r->schedule, &r->j.cause));
    if (r->j.status == SKED_OK)
        r->schedule->phase[e->op] = e->phase;
}

/* Notes where an op's units or registers stand. */
static void take_place(reader *r, const char ***places, int32_t op, const char *place)
{
    if (place == NULL || r->j.status != SKED_OK)
        return;
    if (*places == NULL)
        *places = sked_i_arena_alloc_zero(&r->arena, r->graph->n_ops, sizeof **places);
    if (*places == NULL)
        sked_i_json_no_memory(&r->j);
    else
        (*places)[op] = place;
}

static void take_offset(reader *r, const entry *e)
{
    const int32_t n = r->graph->n_ops;
    if (!SKED_I_JSON_HAS(e->has, OP_OFFSET) || r->j.status != SKED_OK)
        return;
    if (r->offset == NULL && (r->offset = sked_i_arena_alloc(&r->arena, n, sizeof *r->offset)) != NULL)
        for (int32_t i = 0; i < n; i++)
            r->offset[i] = -1;
    if (r->offset == NULL)
        sked_i_json_no_memory(&r->j);
    else
        r->offset[e->op] = e->offset;
}

/* One element of "transfers": the copy of a value on another device. Without an address it is ignored. */
static void read_transfer(reader *r)
{
    sked_i_json *j = &r->j;
    uint32_t has = 0;
    int32_t op = -1;
    double to = 0;
    int64_t offset = 0;
    sked_i_json_enter(j, '{', transfer_fields.owner);
    for (int k; (k = sked_i_json_field(j, &transfer_fields, &has)) >= 0;) {
        if (k == TRANSFER_OP)
            op = read_op_name(r, SKED_ERR_INVALID);
        else if (k == TRANSFER_TO)
            to = read_device(r, SKED_ERR_INVALID);
        else if (sked_i_json_null(j))
            has &= ~(1u << k);
        else
            offset = read_address(r);
    }
    if (j->status != SKED_OK || !SKED_I_JSON_HAS(has, TRANSFER_OFFSET))
        return;
    if (!SKED_I_JSON_HAS(has, TRANSFER_OP) || !SKED_I_JSON_HAS(has, TRANSFER_TO))
        sked_i_json_fail(j, "a transfer with an offset needs \"op\" and \"to\"");
    else if (!is_index(to, r->schedule->devices))
        sked_i_json_fail_as(j, SKED_ERR_INVALID, "a transfer goes to device %.17g; the devices are 0 to %d",
                            to, (int)r->schedule->devices - 1);
    else if (!SKED_OWN_GROW(&r->arena, r->copy, r->copy_cap, r->copies + 1))
        sked_i_json_no_memory(j);
    else
        r->copy[r->copies++] = (sked_i_keyed){(uint64_t)op << 32 | (uint32_t)to, offset};
}

static void read_scheduled_op(reader *r)
{
    entry e;
    char label[80];
    if (!read_entry(r, &op_fields, SKED_ERR_INVALID, &e))
        return;
    sked_i_op_label(r->graph, e.op, label, sizeof label);
    if (!SKED_I_JSON_HAS(e.has, OP_START)) {
        sked_i_json_fail(&r->j, "op '%s' has no start", label);
        return;
    }
    take_device(r, &e, label);
    if (r->j.status != SKED_OK)
        return;
    const double duration = sked_i_time_in(&r->costs, r->schedule, e.op), finish = e.start + duration;
    if (SKED_I_JSON_HAS(e.has, OP_FINISH) && !same_time(e.finish, finish))
        sked_i_json_fail_as(&r->j, SKED_ERR_INVALID,
                            "op '%s' starts at %.17g and takes %.17g, so it cannot finish at %.17g", label,
                            e.start, duration, e.finish);
    r->schedule->start[e.op] = e.start;
    take_phase(r, &e);
    take_place(r, &r->units, e.op, e.units);
    take_place(r, &r->registers, e.op, e.registers);
    take_offset(r, &e);
    if (finish > r->latest)
        r->latest = finish;
}

static void read_items(reader *r, const char *place, const char *key, void (*read_item)(reader *r))
{
    char what[40];
    snprintf(what, sizeof what, "entry of %s", key);
    if (sked_i_json_section(&r->j, place, key, what))
        while (sked_i_json_item(&r->j))
            read_item(r);
}

static void check_complete(reader *r)
{
    char label[80];
    for (int32_t i = 0; i < r->graph->n_ops && r->j.status == SKED_OK; i++)
        if (!r->seen[i]) {
            r->j.item = NULL;
            sked_i_json_fail_as(&r->j, SKED_ERR_INVALID, "op '%s' is not in the schedule",
                                sked_i_op_label(r->graph, i, label, sizeof label));
        }
}

static void add_owned(reader *r, int64_t owner, const char *what)
{
    const int32_t number = (int32_t)sked_i_json_integer(&r->j, what, 0, INT32_MAX);
    if (!SKED_OWN_GROW(&r->arena, r->list, r->list_cap, r->listed + 1))
        sked_i_json_no_memory(&r->j);
    else
        r->list[r->listed++] = (owned){owner, number};
}

/* 1 or [0, 1] */
static void read_numbers(reader *r, int64_t owner, const char *what)
{
    if (sked_i_json_peek(&r->j) != '[') {
        add_owned(r, owner, what);
        return;
    }
    sked_i_json_enter(&r->j, '[', what);
    while (sked_i_json_more(&r->j))
        add_owned(r, owner, what);
}

/* {"MUL": 1} */
static void read_units(reader *r, int32_t op)
{
    const sked_graph *g = r->graph;
    sked_i_json *j = &r->j;
    char label[80];
    sked_i_json_enter(j, '{', "\"units\"");
    while (sked_i_json_key(j)) {
        if (!sked_i_json_key_text(j, &r->text))
            return;
        const int32_t pool = sked_graph_find_resource(g, r->text.data);
        int64_t k = g->demand_ptr[op];
        while (k < g->demand_ptr[op + 1] && g->demand_resource[k] != pool)
            k++;
        if (k == g->demand_ptr[op + 1])
            sked_i_json_fail_as(j, SKED_ERR_INVALID, "op '%s' holds nothing of a pool '%s'",
                                sked_i_op_label(g, op, label, sizeof label),
                                sked_i_quoted_bytes(r->text.data, (size_t)r->text.size).text);
        else
            read_numbers(r, k, "a unit");
    }
}

/* The list by owner, those of one in the order in which they came. */
static sked_status sort_owned(const reader *r, int64_t owners, int64_t **at, int32_t **numbers,
                              sked_error *err)
{
    sked_status st = SKED_OK;
    SKED_NEW(*numbers, r->listed);
    SKED_NEW0(*at, owners + 2);
    for (int64_t k = 0; k < r->listed; k++)
        (*at)[r->list[k].owner + 2]++;
    for (int64_t k = 0; k < owners; k++)
        (*at)[k + 2] += (*at)[k + 1];
    for (int64_t k = 0; k < r->listed; k++)
        (*numbers)[(*at)[r->list[k].owner + 1]++] = r->list[k].number;
cleanup:
    return st;
}

static sked_status read_binding(reader *r, sked_error *err)
{
    sked_schedule *s = r->schedule;
    const int64_t demands = r->graph->demand_ptr[r->graph->n_ops];
    sked_status st = r->j.status;
    for (int32_t i = 0; i < s->ops && r->units != NULL && r->j.status == SKED_OK; i++)
        if (r->units[i] != NULL) {
            sked_i_json_seek(&r->j, r->units[i]);
            read_units(r, i);
        }
    SKED_TRY(r->j.status);
    s->demands = demands;
    if (r->units != NULL)
        SKED_TRY(sort_owned(r, demands, &s->unit_at, &s->unit, err));
    r->listed = 0;
    for (int32_t i = 0; i < s->ops && r->registers != NULL && r->j.status == SKED_OK; i++)
        if (r->registers[i] != NULL) {
            sked_i_json_seek(&r->j, r->registers[i]);
            read_numbers(r, i, "a register");
        }
    SKED_TRY(r->j.status);
    if (r->registers != NULL)
        SKED_TRY(sort_owned(r, s->ops, &s->register_at, &s->registers, err));
cleanup:
    return st;
}

/* Arenas that the addresses make; the file's own must be the same. */
static void take_arenas(reader *r, const char *place)
{
    sked_schedule *s = r->schedule;
    sked_i_json *j = &r->j;
    const int32_t devices = s->devices > 0 ? s->devices : 1;
    int32_t d = 0;
    for (int32_t i = 0; i < s->ops; i++)
        sked_i_schedule_reach(s, r->graph, i, s->device ? s->device[i] : 0, s->offset[i]);
    for (int64_t k = 0; k < s->copies; k++)
        sked_i_schedule_reach(s, r->graph, s->copy_op[k], s->copy_device[k], s->copy_offset[k]);
    if (place == NULL)
        return;
    sked_i_json_seek(j, place);
    sked_i_json_enter(j, '[', "\"arena\"");
    for (; sked_i_json_more(j); d++) {
        const int64_t said = sked_i_json_integer(j, "an arena", 0, 2 * most_address);
        if (j->status == SKED_OK && (d >= devices || said != s->arena[d]))
            sked_i_json_fail_as(j, SKED_ERR_INVALID,
                                "arena %d is said to be %lld, but its addresses reach %lld", (int)d,
                                (long long)said, (long long)(d < devices ? s->arena[d] : 0));
    }
    if (j->status == SKED_OK && d < devices)
        sked_i_json_fail_as(j, SKED_ERR_INVALID, "there are arenas of %d devices, and %d devices", (int)d,
                            (int)devices);
}

static sked_status read_addresses(reader *r, const char *arena, const char *transfers, sked_error *err)
{
    sked_schedule *s = r->schedule;
    sked_status st = SKED_OK;
    sked_i_keyed *spare = NULL;
    char label[80];
    if (transfers != NULL)
        read_items(r, transfers, "\"transfers\"", read_transfer);
    SKED_TRY(r->j.status);
    if (r->offset == NULL && r->copies == 0 && arena == NULL)
        return SKED_OK;
    SKED_NEW(spare, r->copies);
    sked_i_sort_keyed(r->copy, spare, r->copies);
    SKED_TRY(sked_i_schedule_add_addresses(s, r->copies, err));
    if (r->offset != NULL)
        memcpy(s->offset, r->offset, (size_t)s->ops * sizeof *s->offset);
    for (int64_t k = 0; k < r->copies; k++) {
        s->copy_op[k] = (int32_t)(r->copy[k].key >> 32);
        s->copy_device[k] = (int32_t)(r->copy[k].key & UINT32_MAX);
        s->copy_offset[k] = r->copy[k].value;
        if (k > 0 && r->copy[k].key == r->copy[k - 1].key)
            SKED_TRY(sked_i_json_fail_as(
                &r->j, SKED_ERR_INVALID, "the copy of op '%s' on device %d comes twice",
                sked_i_op_label(r->graph, s->copy_op[k], label, sizeof label), (int)s->copy_device[k]));
    }
    take_arenas(r, arena);
    st = r->j.status;
cleanup:
    free(spare);
    return st;
}

/* "device_names", where a file has them: those of the machine. */
static void check_names(reader *r, const char *place)
{
    sked_i_json *j = &r->j;
    const sked_machine *m = r->problem->machine;
    char said[80], known[80];
    if (place == NULL || m == NULL || j->status != SKED_OK)
        return;
    sked_i_json_seek(j, place);
    sked_i_json_enter(j, '[', "\"device_names\"");
    for (int32_t d = 0; sked_i_json_more(j); d++) {
        sked_i_json_text(j, "a device's name", &r->text);
        const char *name = d < m->n_devices ? sked_machine_device_name(m, d) : "";
        if (j->status == SKED_OK && strcmp(name, r->text.data) != 0)
            sked_i_json_fail_as(j, SKED_ERR_INVALID,
                                "device %d is called '%s' in the schedule and '%s' in the machine", (int)d,
                                sked_i_quote(r->text.data, (size_t)r->text.size, said, sizeof said),
                                sked_i_quote(name, strlen(name), known, sizeof known));
    }
}

typedef struct claims {
    const char *ops, *names, *arena, *transfers; /* where they stand */
    double devices, makespan, ii;
} claims;

static void read_claims(reader *r, claims *c)
{
    sked_i_json *j = &r->j;
    uint32_t seen = 0;
    *c = (claims){.makespan = NAN};
    sked_i_json_enter(j, '{', "a schedule");
    for (int k; (k = sked_i_json_field(j, &top_fields, &seen)) >= 0;) {
        if (k == TOP_FORMAT)
            read_format(r, schedule_id);
        else if (k == TOP_OPS || k == TOP_NAMES)
            *(k == TOP_OPS ? &c->ops : &c->names) = sked_i_json_defer(j);
        else if (sked_i_json_null(j))
            continue;
        else if (k == TOP_ARENA || k == TOP_TRANSFERS)
            *(k == TOP_ARENA ? &c->arena : &c->transfers) = sked_i_json_defer(j);
        else if (k == TOP_DEVICES)
            c->devices = (double)sked_i_json_integer(j, "\"devices\"", 0, SKED_I_MOST_DEVICES);
        else
            *(k == TOP_II ? &c->ii : &c->makespan) = sked_i_json_number(j, top_keys[k]);
        if (c->ii < 0)
            sked_i_json_fail(j, "\"ii\" must be null, 0 or more");
    }
    sked_i_json_end(j);
    if (!SKED_I_JSON_HAS(seen, TOP_FORMAT) || c->ops == NULL)
        sked_i_json_fail(j, "a schedule needs \"format\": \"%s\" and \"ops\"", schedule_id);
}

static sked_status read_schedule(reader *r, sked_error *err)
{
    claims c;
    sked_status st = SKED_OK;
    read_claims(r, &c);
    check_names(r, c.names);
    SKED_TRY(r->j.status);
    if (r->problem->machine != NULL && c.devices != r->problem->machine->n_devices)
        SKED_TRY(sked_i_json_fail_as(&r->j, SKED_ERR_INVALID,
                                     "the schedule is for %d devices, the machine has %d", (int)c.devices,
                                     (int)r->problem->machine->n_devices));
    SKED_TRY(sked_i_costs_make(r->problem, &r->costs, err));
    SKED_TRY(sked_schedule_create(r->graph->n_ops, (int32_t)c.devices, &r->schedule, err));
    r->schedule->ii = c.ii;
    read_items(r, c.ops, "\"ops\"", read_scheduled_op);
    check_complete(r);
    SKED_TRY(r->j.status);
    if (!isnan(c.makespan) && !same_time(c.makespan, r->latest))
        sked_i_json_fail_as(&r->j, SKED_ERR_INVALID,
                            "the makespan is said to be %.17g, but the latest finish is %.17g", c.makespan,
                            r->latest);
    SKED_TRY(read_binding(r, err));
    SKED_TRY(read_addresses(r, c.arena, c.transfers, err));
    st = r->j.status;
cleanup:
    return st;
}

static void release(reader *r)
{
    sked_i_json_free(&r->j);
    sked_i_buffer_free(&r->text);
    sked_i_costs_free(&r->costs);
    free(r->seen);
    sked_schedule_destroy(r->schedule);
    free(r->fix_device);
    free(r->fix_start);
    sked_i_arena_free(&r->arena);
}

/* A text by `read`; the caller takes what it wants and releases r, whatever the status. */
static sked_status parse(const char *name, const char *text, size_t size, const sked_problem *p,
                         sked_status (*read)(reader *r, sked_error *err), reader *r, sked_error *err)
{
    static const sked_read_options none;
    const sked_i_source source = {name, text, size, &none};
    *r = (reader){.problem = p, .graph = p->graph};
    sked_i_json_begin(&r->j, &source, err);
    r->seen = sked_i_alloc_zero(p->graph->n_ops, sizeof *r->seen);
    return r->seen != NULL ? read(r, err) : sked_i_no_memory(err);
}

/* A graph's file that holds start times as well. */
static sked_status parse_times(const sked_i_format *format, const sked_i_source *source, const sked_graph *g,
                               sked_schedule **out, sked_error *err)
{
    sked_schedule *s = NULL;
    sked_status st = sked_schedule_create(g->n_ops, 0, &s, err);
    if (st == SKED_OK)
        st = format->times(source, g, s->start, &s->ii, err);
    if (st == SKED_OK)
        *out = s;
    else
        sked_schedule_destroy(s);
    return st;
}

sked_status sked_schedule_parse(const char *name, const char *text, size_t size, const sked_problem *p,
                                sked_schedule **out, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    static const sked_read_options none;
    const sked_i_format *format = sked_i_format_with_times(text, size);
    reader r;
    if (format != NULL)
        return parse_times(format, &(sked_i_source){name, text, size, &none}, p->graph, out, err);
    const sked_status st = parse(name, text, size, p, read_schedule, &r, err);
    if (st == SKED_OK) {
        *out = r.schedule;
        r.schedule = NULL;
    }
    release(&r);
    return st;
}

sked_status sked_schedule_read(const char *path, const sked_problem *p, sked_schedule **out, sked_error *err)
{
    sked_i_json_file file;
    sked_status st = sked_i_json_load(path, &file, err);
    if (st == SKED_OK)
        st = sked_schedule_parse(file.name, file.text, file.size, p, out, err);
    free(file.text);
    return st;
}

static void write_machine(const sked_machine *m, sked_i_buffer *out)
{
    sked_i_buffer_text(out, ",\"machine\":");
    sked_i_buffer_json(out, sked_machine_name(m));
    sked_i_buffer_text(out, ",\"device_names\":[");
    for (int32_t d = 0; d < m->n_devices; d++) {
        sked_i_buffer_text(out, d ? "," : "");
        sked_i_buffer_json(out, sked_machine_device_name(m, d));
    }
    sked_i_buffer_char(out, ']');
}

/* One number, or a list of several. */
static void write_numbers(const int32_t *numbers, int64_t count, bool list, sked_i_buffer *out)
{
    sked_i_buffer_text(out, list ? "[" : "");
    for (int64_t k = 0; k < count; k++) {
        sked_i_buffer_text(out, k ? "," : "");
        sked_i_buffer_int(out, numbers[k]);
    }
    sked_i_buffer_text(out, list ? "]" : "");
}

static void write_binding(const sked_graph *g, const sked_schedule *s, int32_t op, sked_i_buffer *out)
{
    const char *before = ",\"units\":{";
    for (int64_t k = g->demand_ptr[op]; s->unit_at != NULL && k < g->demand_ptr[op + 1]; k++) {
        const int64_t count = s->unit_at[k + 1] - s->unit_at[k];
        if (count == 0)
            continue;
        sked_i_buffer_json_after(out, before, sked_graph_resource_name(g, g->demand_resource[k]));
        sked_i_buffer_char(out, ':');
        write_numbers(s->unit + s->unit_at[k], count, count > 1, out);
        before = ",";
    }
    sked_i_buffer_text(out, before[1] == 0 ? "}" : "");
    if (s->register_at == NULL || s->register_at[op] == s->register_at[op + 1])
        return;
    sked_i_buffer_text(out, ",\"registers\":");
    write_numbers(s->registers + s->register_at[op], s->register_at[op + 1] - s->register_at[op], true, out);
}

static void write_name(const sked_graph *g, int32_t op, sked_i_buffer *out)
{
    char index[24];
    sked_i_buffer_json(out, g->op_names.count ? sked_i_names_at(&g->op_names, op)
                                              : sked_graph_op_name(g, op, index, sizeof index));
}

/* phase NULL: there is no clock. */
static void write_op(const sked_graph *g, const sked_schedule *s, int32_t i, double time, const double *phase,
                     sked_i_buffer *out)
{
    sked_i_buffer_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
    write_name(g, i, out);
    sked_i_buffer_text(out, ",\"start\":");
    sked_i_buffer_number(out, s->start[i]);
    sked_i_buffer_text(out, ",\"finish\":");
    sked_i_buffer_number(out, s->start[i] + time);
    if (s->device != NULL) {
        sked_i_buffer_text(out, ",\"device\":");
        sked_i_buffer_int(out, s->device[i]);
    }
    if (phase != NULL)
        sked_i_buffer_number_after(out, ",\"phase\":", phase[i]);
    write_binding(g, s, i, out);
    if (s->offset != NULL && s->offset[i] >= 0) {
        sked_i_buffer_text(out, ",\"offset\":");
        sked_i_buffer_int(out, s->offset[i]);
    }
    sked_i_buffer_char(out, '}');
}

static void write_arenas(const sked_schedule *s, sked_i_buffer *out)
{
    for (int32_t d = 0; s->offset != NULL && d < (s->devices > 0 ? s->devices : 1); d++) {
        sked_i_buffer_text(out, d ? "," : ",\"arena\":[");
        sked_i_buffer_int(out, s->arena[d]);
    }
    sked_i_buffer_text(out, s->offset != NULL ? "]" : "");
}

static void write_transfers(const sked_graph *g, const sked_schedule *s, sked_i_buffer *out)
{
    for (int64_t k = 0; k < s->copies; k++) {
        sked_i_buffer_text(out, k ? ",\n{\"op\":" : ",\n\"transfers\":[\n{\"op\":");
        write_name(g, s->copy_op[k], out);
        sked_i_buffer_text(out, ",\"to\":");
        sked_i_buffer_int(out, s->copy_device[k]);
        sked_i_buffer_text(out, ",\"offset\":");
        sked_i_buffer_int(out, s->copy_offset[k]);
        sked_i_buffer_char(out, '}');
    }
    sked_i_buffer_text(out, s->copies > 0 ? "\n]" : "");
}

sked_status sked_i_native_schedule_write(const sked_problem *p, const sked_schedule *s, sked_i_buffer *out,
                                         sked_error *err)
{
    const sked_graph *g = p->graph;
    sked_status st = SKED_OK;
    sked_i_costs c = {0};
    double *phase = NULL;
    if (p->clock > 0) {
        SKED_NEW(phase, s->ops);
        SKED_TRY(sked_i_clock_phases(p, s, phase, err));
    }
    SKED_TRY(sked_i_costs_make(p, &c, err));
    sked_i_buffer_format(out, "{\"format\":\"%s\",\"graph\":", schedule_id);
    sked_i_buffer_json(out, sked_graph_name(g));
    sked_i_buffer_format(out, ",\"devices\":%d", (int)s->devices);
    if (p->machine != NULL)
        write_machine(p->machine, out);
    sked_i_buffer_text(out, ",\"makespan\":");
    sked_i_buffer_number(out, sked_i_costs_latest_finish(&c, s));
    sked_i_buffer_text(out, ",\"ii\":");
    if (s->ii > 0)
        sked_i_buffer_number(out, s->ii);
    else
        sked_i_buffer_text(out, "null");
    write_arenas(s, out);
    sked_i_buffer_text(out, ",\n\"ops\":[");
    for (int32_t i = 0; i < s->ops; i++)
        write_op(g, s, i, sked_i_time_in(&c, s, i), phase, out);
    sked_i_buffer_text(out, "\n]");
    write_transfers(g, s, out);
    sked_i_buffer_text(out, "}\n");
    st = out->failed ? sked_i_no_memory(err) : SKED_OK;
cleanup:
    sked_i_costs_free(&c);
    free(phase);
    return st;
}

static void read_fixed_op(reader *r)
{
    entry e;
    char label[80];
    if (!read_entry(r, &fixed_fields, SKED_ERR_FORMAT, &e))
        return;
    if (SKED_I_JSON_HAS(e.has, OP_START))
        r->fix_start[e.op] = e.start;
    if (!SKED_I_JSON_HAS(e.has, OP_DEVICE))
        return;
    if (!is_index(e.device, INT32_MAX))
        sked_i_json_fail(&r->j, "op '%s': a device is a whole number, 0 or more, not %.17g",
                         sked_i_op_label(r->graph, e.op, label, sizeof label), e.device);
    else
        r->fix_device[e.op] = (int32_t)e.device;
}

static sked_status read_fix(reader *r, sked_error *err)
{
    sked_status st = SKED_OK;
    const int32_t n = r->graph->n_ops;
    const char *ops = NULL;
    uint32_t seen = 0;
    sked_i_json_enter(&r->j, '{', "a fix file");
    for (int k; (k = sked_i_json_field(&r->j, &fix_fields, &seen)) >= 0;) {
        if (k == FIX_FORMAT)
            read_format(r, fix_id);
        else
            ops = sked_i_json_defer(&r->j);
    }
    sked_i_json_end(&r->j);
    if (!SKED_I_JSON_HAS(seen, FIX_FORMAT) || ops == NULL)
        sked_i_json_fail(&r->j, "fixed decisions need \"format\": \"%s\" and \"ops\"", fix_id);
    SKED_TRY(r->j.status);
    SKED_NEW(r->fix_device, n);
    SKED_NEW(r->fix_start, n);
    for (int32_t i = 0; i < n; i++) {
        r->fix_device[i] = -1;
        r->fix_start[i] = NAN;
    }
    read_items(r, ops, "\"ops\"", read_fixed_op);
    st = r->j.status;
cleanup:
    return st;
}

sked_status sked_fix_parse(const char *name, const char *text, size_t size, const sked_problem *p,
                           int32_t **fix_device, double **fix_start, sked_error *err)
{
    SKED_TAKE_PROBLEM(p)
    reader r;
    const sked_status st = parse(name, text, size, p, read_fix, &r, err);
    if (st == SKED_OK) {
        *fix_device = r.fix_device;
        *fix_start = r.fix_start;
        r.fix_device = NULL;
        r.fix_start = NULL;
    }
    release(&r);
    return st;
}

sked_status sked_fix_read(const char *path, const sked_problem *p, int32_t **fix_device, double **fix_start,
                          sked_error *err)
{
    sked_i_json_file file;
    sked_status st = sked_i_json_load(path, &file, err);
    if (st == SKED_OK)
        st = sked_fix_parse(file.name, file.text, file.size, p, fix_device, fix_start, err);
    free(file.text);
    return st;
}
